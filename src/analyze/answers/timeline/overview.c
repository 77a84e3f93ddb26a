/* overview.c - how busy each device was in each pixel of the whole run: the union of its operations, of all queues.
 *
 * Windows of the trace do not overlap, so that what is busy in them adds up; several are read side by side, and sums of
 * integers do not depend on their order.
 */
#include <stdlib.h>

#include "analyze/answers/blame/sweep.h"
#include "analyze/trace/trace.h"
#include "own.h"

enum { ROWS_MOST = 4000000 };

struct sweep {
    struct sonde_overview *out;
    const uint64_t *bounds;   /* [pixels + 1] */
    const struct sonde_trace_reader *trace;
    size_t first;             /* of out->devices: those of the process follow */
    int64_t origin_ns;
};

struct part { /* of what one thread reads: state of the trace, zero at first */
    sonde__spans spans, scratch;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The pixel of an instant of the run, from `low` on. */
static uint32_t pixel_of(const struct sweep *s, uint32_t low, uint64_t at_ns)
{
    uint32_t high = s->out->pixels - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (s->bounds[middle] <= at_ns)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Several threads may add to one pixel. */
static void add_to_pixel(const struct sweep *s, size_t device, uint32_t pixel, uint64_t busy_ns)
{
    if (busy_ns)
        __atomic_fetch_add(&s->out->devices.items[s->first + device].busy_ns[pixel], busy_ns, __ATOMIC_RELAXED);
}

/* The union of some intervals on the process's axis, which are sorted. */
static void add_union(const struct sweep *s, size_t device, const sonde__spans *spans)
{
    uint64_t done = 0, sum = 0; /* the union's end; of the pixel */
    uint32_t pixel = 0;
    for (size_t i = 0; i < spans->count; i++) {
        uint64_t from = most(done, sonde__common_ns(s->origin_ns, spans->items[i].from));
        const uint64_t to = least(s->out->to_ns, sonde__common_ns(s->origin_ns, spans->items[i].to));
        while (from < to) {
            if (from >= s->bounds[pixel + 1]) {
                add_to_pixel(s, device, pixel, sum);
                pixel = pixel_of(s, pixel + 1, from);
                sum = 0;
            }
            const uint64_t end = least(to, s->bounds[pixel + 1]);
            sum += end - from;
            done = from = end;
        }
    }
    add_to_pixel(s, device, pixel, sum);
}

/* ---- by operations --------------------------------------------------------------------------------- */

static int add_device(const struct sweep *s, struct part *part, size_t index, const struct sonde_trace_device *device,
                      const struct sonde_trace_window *w)
{
    int rc = 0;
    part->spans.count = 0;
    if (device->until_ns > w->from_ns)
        rc = sonde_vector_push(&part->spans, (struct sonde__span){w->from_ns, least(device->until_ns, w->to_ns)});
    for (const struct sonde_trace_spans *block = device->spans; block && !rc; block = block->next)
        for (uint32_t i = 0; i < block->count && !rc; i++)
            rc = sonde_vector_push(&part->spans, (struct sonde__span){block->items[i].start_ns, least(block->items[i].end_ns, w->to_ns)});
    rc = rc ? rc : sonde__spans_sort(&part->spans, &part->scratch);
    if (!rc)
        add_union(s, index, &part->spans);
    return rc;
}

static int each_window(void *user, const struct sonde_trace_window *w)
{
    const struct sweep *s = user;
    int rc = 0;
    for (uint32_t i = 0; i < s->trace->device_count && !rc; i++)
        rc = add_device(s, w->state, i, &w->devices[i], w);
    return rc;
}

static int push_device(struct sonde_overview *out, uint32_t process, uint32_t device)
{
    struct sonde_overview_device made = {process, device, calloc(out->pixels, sizeof *made.busy_ns)};
    if (made.busy_ns && !sonde_vector_push(&out->devices, made))
        return 0;
    free(made.busy_ns);
    return SONDE_ENOMEM;
}

static int add_operations(struct sweep *s, const struct sonde_process *p, uint32_t process)
{
    const struct sonde_trace_options options = {.tables = SONDE_READ_OPS, .op_times = true, .state_bytes = sizeof(struct part)};
    struct sonde_trace_reader trace = {0};
    int rc = sonde_trace_open(p, &options, &trace);
    s->trace = &trace;
    for (uint32_t i = 0; i < trace.device_count && !rc; i++)
        rc = push_device(s->out, process, trace.devices[i].device);
    rc = rc ? rc : sonde_trace_read(&trace, each_window, s);
    for (uint32_t i = 0; i < trace.part_count; i++) {
        struct part *part = sonde_trace_state(&trace, i);
        sonde_vector_fini(&part->spans);
        sonde_vector_fini(&part->scratch);
    }
    sonde_trace_close(&trace);
    return rc;
}

/* ---- by chunks -------------------------------------------------------------------------------------- */

static int add_chunks(const struct sweep *s, const struct sonde_process *p, uint32_t process)
{
    bool *done = calloc((size_t)p->trace_count + 1, sizeof *done);
    struct part part = {0};
    size_t devices = 0;
    int rc = done ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < p->trace_count && !rc; i++) { /* devices in the order of their first lanes */
        const uint32_t device = p->lanes[p->traces[i].lane].device;
        if (p->traces[i].table != SONDE_TABLE_OP || done[i])
            continue;
        part.spans.count = 0;
        for (uint32_t k = i; k < p->trace_count && !rc; k++) {
            const struct sonde_chunk_ref *t = &p->traces[k];
            if (t->table != SONDE_TABLE_OP || p->lanes[t->lane].device != device)
                continue;
            done[k] = true;
            rc = sonde_vector_push(&part.spans, (struct sonde__span){t->time_min, most(t->time_min, t->time_max)});
        }
        rc = rc ? rc : push_device(s->out, process, device);
        rc = rc ? rc : sonde__spans_sort(&part.spans, &part.scratch);
        if (!rc)
            add_union(s, devices++, &part.spans);
    }
    sonde_vector_fini(&part.spans);
    sonde_vector_fini(&part.scratch);
    free(done);
    return rc;
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

int sonde_overview_compute(const struct sonde_measurement *m, uint32_t pixels, bool exact, uint64_t rows_most,
                           struct sonde_overview *out, struct sonde_diag *diag)
{
    uint64_t begin, end;
    if (!pixels || pixels > SONDE_TIMELINE_PIXELS)
        return sonde_diag_set(diag, SONDE_EINVALID, m->path, "the picture must be 1 to %d pixels wide, of", (int)SONDE_TIMELINE_PIXELS);
    sonde_run_range(m, &begin, &end);
    const uint64_t rows = sonde_trace_rows(m, SONDE_READ_OPS);
    out->pixels = pixels;
    out->to_ns = end > begin ? end - begin : 1; /* no length is known */
    out->partial = !exact && rows > (rows_most ? rows_most : ROWS_MOST);
    out->read_rows = out->partial ? 0 : rows;
    uint64_t *bounds = malloc(((size_t)pixels + 1) * sizeof *bounds);
    int rc = bounds ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i <= pixels && !rc; i++)
        bounds[i] = sonde_overview_at(out, i);
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        const struct sonde_process *p = &m->processes[i];
        const int64_t origin = (int64_t)(begin - p->header.wall_offset_ns);
        struct sweep s = {.out = out, .bounds = bounds, .first = out->devices.count, .origin_ns = origin > INT64_MIN ? origin : -INT64_MAX};
        rc = out->partial ? add_chunks(&s, p, i) : add_operations(&s, p, i);
    }
    free(bounds);
    return rc ? sonde_diag_set(diag, rc, m->path, "cannot draw devices of") : 0;
}

void sonde_overview_fini(struct sonde_overview *overview)
{
    for (size_t i = 0; i < overview->devices.count; i++)
        free(overview->devices.items[i].busy_ns);
    sonde_vector_fini(&overview->devices);
}
