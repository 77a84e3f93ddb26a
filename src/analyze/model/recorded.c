/* recorded.c - see recorded.h. */
#include "recorded.h"

#include <stdlib.h>

#include "analyze/trace/trace.h"

uint64_t sonde_process_begin(const struct sonde_process *p)
{
    return p->header.exec_ns && p->header.exec_ns < p->header.start_ns ? p->header.exec_ns : p->header.start_ns;
}

void sonde_run_range(const struct sonde_measurement *m, uint64_t *begin_ns, uint64_t *end_ns)
{
    *begin_ns = UINT64_MAX;
    *end_ns = 0;
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_process *p = &m->processes[i];
        uint64_t begin = sonde_process_begin(p) + p->header.wall_offset_ns, end = p->header.stop_ns + p->header.wall_offset_ns;
        *begin_ns = begin < *begin_ns ? begin : *begin_ns;
        *end_ns = end > *end_ns ? end : *end_ns;
    }
}

uint64_t sonde_process_instant(const struct sonde_process *p, uint64_t run_begin_ns, uint64_t at_ns)
{
    const uint64_t wall_ns = at_ns > UINT64_MAX - run_begin_ns ? UINT64_MAX : run_begin_ns + at_ns;
    return wall_ns > p->header.wall_offset_ns ? wall_ns - p->header.wall_offset_ns : 0;
}

static void find_life(const struct sonde_process *p, struct sonde_recorded *r)
{
    const bool known = p->header.stop_ns > p->header.start_ns; /* else a header that was lost */
    const struct sonde_trace_extent seen = sonde_trace_extent(p, known ? SONDE_READ_CALLS : SONDE_READ_ALL);
    r->begin_ns = known ? sonde_process_begin(p) : seen.from_ns;
    r->start_ns = known ? p->header.start_ns : seen.from_ns;
    r->end_ns = known && p->header.stop_ns > seen.to_ns ? p->header.stop_ns : seen.to_ns;
    r->end_ns = r->end_ns > r->begin_ns ? r->end_ns : r->begin_ns;
    r->before_cpu_ns = known ? p->header.cpu.before_ns : 0;
}

/* ---- pauses -------------------------------------------------------------------- */

static int add_pause(struct sonde_recorded *r, uint64_t from_ns, uint64_t to_ns)
{
    from_ns = from_ns < r->begin_ns ? r->begin_ns : from_ns;
    to_ns = !to_ns || to_ns > r->end_ns ? r->end_ns : to_ns;
    return from_ns < to_ns ? sonde_vector_push(&r->pauses, (struct sonde_pause){from_ns, to_ns}) : 0;
}

static int stored_pauses(const struct sonde_process *p, struct sonde_recorded *r)
{
    int rc = 0;
    for (uint32_t i = 1; i < p->pause_count && !rc; i++)
        if (p->pauses[i].from_ns)
            rc = add_pause(r, p->pauses[i].from_ns, p->pauses[i].to_ns);
    return rc;
}

/* Measurements without PAUSE rows: what was asked for says where recording began and ended;
 * with --start-off the first call and the last. */
static int options_pauses(const struct sonde_measurement *m, const struct sonde_process *p, struct sonde_recorded *r)
{
    const json_t *options = json_object_get(m->manifest, "options");
    const uint64_t delay_ns = (uint64_t)json_integer_value(json_object_get(options, "delay_ns"));
    const uint64_t duration_ns = (uint64_t)json_integer_value(json_object_get(options, "duration_ns"));
    uint64_t first = r->start_ns + delay_ns, last = duration_ns ? first + duration_ns : UINT64_MAX;
    int rc = 0;
    if (json_is_true(json_object_get(options, "start_off"))) {
        const struct sonde_trace_extent calls = sonde_trace_extent(p, SONDE_READ_CALLS);
        first = calls.from_ns > first && calls.from_ns <= r->end_ns ? calls.from_ns : first;
        last = calls.to_ns && calls.to_ns < last ? calls.to_ns : last;
    }
    if (first > r->start_ns)
        rc = add_pause(r, r->begin_ns, first);
    return rc || last >= r->end_ns ? rc : add_pause(r, last, 0);
}

static int by_from(const void *left, const void *right)
{
    const struct sonde_pause *a = left, *b = right;
    return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

/* In order and apart. Recording that was off at the start was not wanted before either. */
static void tidy(struct sonde_recorded *r)
{
    size_t kept = 0;
    struct sonde_pause *pauses = r->pauses.items;
    if (r->pauses.count)
        qsort(pauses, r->pauses.count, sizeof *pauses, by_from);
    for (size_t i = 0; i < r->pauses.count; i++) {
        if (kept && pauses[i].from_ns <= pauses[kept - 1].to_ns)
            pauses[kept - 1].to_ns = pauses[i].to_ns > pauses[kept - 1].to_ns ? pauses[i].to_ns : pauses[kept - 1].to_ns;
        else
            pauses[kept++] = pauses[i];
    }
    r->pauses.count = kept;
    if (kept && pauses[0].from_ns <= r->start_ns) {
        pauses[0].from_ns = r->start_ns = r->begin_ns;
        r->before_cpu_ns = 0;
    }
    for (size_t i = 0; i < kept; i++)
        r->paused_ns += pauses[i].to_ns - pauses[i].from_ns;
}

int sonde_recorded_compute(const struct sonde_measurement *m, const struct sonde_process *p, struct sonde_recorded *out)
{
    find_life(p, out);
    int rc = p->pause_count > 1 ? stored_pauses(p, out) : options_pauses(m, p, out);
    if (!rc)
        tidy(out);
    return rc;
}

static uint64_t clamp(uint64_t at_ns, uint64_t from_ns, uint64_t to_ns)
{
    return at_ns < from_ns ? from_ns : (at_ns > to_ns ? to_ns : at_ns);
}

int sonde_recorded_clip(const struct sonde_recorded *r, uint64_t from_ns, uint64_t to_ns, struct sonde_recorded *out)
{
    int rc = 0;
    *out = (struct sonde_recorded){
        .begin_ns = clamp(r->begin_ns, from_ns, to_ns),
        .start_ns = clamp(r->start_ns, from_ns, to_ns),
        .end_ns = clamp(r->end_ns, from_ns, to_ns),
        .before_cpu_ns = from_ns <= r->begin_ns && r->start_ns <= to_ns ? r->before_cpu_ns : 0,
    };
    for (size_t i = sonde_recorded_pause(r, from_ns); i < r->pauses.count && !rc; i++) {
        const struct sonde_pause *whole = &r->pauses.items[i];
        const struct sonde_pause pause = {clamp(whole->from_ns, from_ns, to_ns), clamp(whole->to_ns, from_ns, to_ns)};
        if (pause.from_ns >= pause.to_ns)
            break;
        rc = sonde_vector_push(&out->pauses, pause);
        out->paused_ns += pause.to_ns - pause.from_ns;
    }
    return rc;
}

void sonde_recorded_fini(struct sonde_recorded *recorded)
{
    sonde_vector_fini(&recorded->pauses);
}

uint64_t sonde_recorded_ns(const struct sonde_recorded *recorded)
{
    return recorded->end_ns - recorded->begin_ns - recorded->paused_ns;
}

size_t sonde_recorded_pause(const struct sonde_recorded *recorded, uint64_t at_ns)
{
    size_t low = 0, high = recorded->pauses.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (recorded->pauses.items[middle].to_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void sonde_recorded_divide(const struct sonde_recorded *recorded, uint64_t from_ns, uint64_t to_ns,
                           void (*part)(void *user, uint64_t from_ns, uint64_t to_ns, bool paused), void *user)
{
    for (size_t i = sonde_recorded_pause(recorded, from_ns); i < recorded->pauses.count && from_ns < to_ns; i++) {
        const struct sonde_pause *pause = &recorded->pauses.items[i];
        uint64_t off = from_ns > pause->from_ns ? from_ns : pause->from_ns, on = to_ns < pause->to_ns ? to_ns : pause->to_ns;
        off = to_ns < off ? to_ns : off;
        if (off > from_ns)
            part(user, from_ns, off, false);
        if (on > off)
            part(user, off, on, true);
        from_ns = from_ns > on ? from_ns : on;
    }
    if (from_ns < to_ns)
        part(user, from_ns, to_ns, false);
}
