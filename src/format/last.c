/* last.c - a process of which the last seconds were recorded (SONDE_RECORDED_LAST), as a trace of these and the profile that belongs to it.
 *
 * The agent keeps what came last, and the counters as they were at times before (table BASE); its profile is of all of the run. What ended before the first
 * of these times is taken out, counters become what was added since, and the profile, the devices' busy times and the lanes' counts are made anew of the
 * rows that are left: so each number is of the same time.
 */
#include "files.h"

#include <stdlib.h>
#include <string.h>

#include "accumulate.h"
#include "base/kinds.h"
#include "base/map.h"
#include "base/vector.h"
#include "tables.h"

#define BEHIND_NS 1000000000u /* that the header's time may be, at the most */

struct interval {
    uint64_t start, end;
    uint32_t device;
    bool kernel;
};

struct making {
    struct sonde__live *live;
    struct sonde_row_base base; /* at_ns 0: all is recorded */
    struct sonde_map index;     /* node << 32 | lane -> row of `profiles` */
    SONDE_VECTOR(struct sonde_row_profile) profiles;
    SONDE_VECTOR(struct sonde_row_histogram) histograms;
    SONDE_VECTOR(struct interval) busy;
    struct sonde_ledger counted; /* of the rows that are left */
    uint64_t samples, clipped_ns; /* CPU time that samples stand for, and that was before */
    uint64_t stop_ns;             /* of the header, as it was */
};

/* ---- what is left ------------------------------------------------------------------------------ */

static uint64_t time_at(const uint8_t *row, uint16_t offset)
{
    uint64_t ns;
    memcpy(&ns, row + offset, sizeof ns);
    return ns;
}

/* What never ended is of now. An operation without times is where its call was entered. */
static bool is_recent(const struct sonde_table_info *t, const uint8_t *row, uint64_t since_ns)
{
    const uint64_t to = time_at(row, t->to);
    if (t->trace == SONDE_TRACE_OP) {
        const struct sonde_row_op *op = (const void *)row;
        return (op->flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME) ? op->enter_ns : op->end_ns) >= since_ns;
    }
    return !to || to >= since_ns;
}

static void keep_recent(struct sonde__live_segment *s, const struct sonde_table_info *t, uint64_t since_ns)
{
    const uint32_t width = t->row_bytes;
    uint32_t kept = 0, before = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint8_t *row = s->rows + (size_t)i * width;
        if (!is_recent(t, row, since_ns)) {
            before += !kept;
            continue;
        }
        memmove(s->rows + (size_t)kept++ * width, row, width);
    }
    s->header.first += before;
    s->header.used = s->count = kept;
    memcpy(s->block, &s->header, sizeof s->header);
}

/* The header is written more rarely than rows. */
static void follow_time(struct making *m, const struct sonde__live_segment *s, const struct sonde_table_info *t)
{
    struct sonde_live_header *h = &m->live->header;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint64_t to_ns = time_at(s->rows + (size_t)i * t->row_bytes, t->to);
        h->stop_ns = to_ns > h->stop_ns && to_ns < m->stop_ns + BEHIND_NS ? to_ns : h->stop_ns;
    }
}

/* A thread's first sample stands for CPU time since the one before: what of it must have been before the recording is none of it. */
static void clip_samples(struct making *m, const struct sonde__live_segment *s, uint64_t since_ns)
{
    struct sonde_row_sample *samples = (void *)s->rows;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint64_t most_ns = samples[i].time_ns - since_ns;
        if (samples[i].cpu_ns <= most_ns)
            continue;
        m->clipped_ns += samples[i].cpu_ns - most_ns;
        samples[i].cpu_ns = most_ns;
    }
}

/* ---- the profile of it ---------------------------------------------------------------------------- */

static struct sonde_row_profile *row_for(struct making *m, uint32_t node, uint32_t lane)
{
    const uint64_t key = (uint64_t)node << 32 | lane;
    uint64_t at;
    if (!sonde_map_get(&m->index, key, &at)) {
        at = m->profiles.count;
        if (sonde_map_put(&m->index, key, at) || sonde_vector_push(&m->profiles, (struct sonde_row_profile){.node = node, .lane = lane, .min_ns = UINT64_MAX}))
            return NULL;
    }
    return &m->profiles.items[at];
}

static int add_time(struct making *m, struct sonde_row_profile *row, uint64_t ns)
{
    unsigned part;
    const unsigned octave = sonde_histogram_octave(ns, &part);
    sonde_accumulate(row, ns);
    if (!row->histogram[octave]) {
        if (sonde_vector_push(&m->histograms, (struct sonde_row_histogram){{0}}))
            return SONDE_ENOMEM;
        row->histogram[octave] = (uint32_t)m->histograms.count;
    }
    m->histograms.items[row->histogram[octave] - 1].count[part]++;
    return 0;
}

static int add_op(struct making *m, const struct sonde_row_op *op, uint32_t lane, struct sonde_row_lane *of)
{
    struct sonde_row_profile *row = row_for(m, op->node, lane);
    if (!row)
        return SONDE_ENOMEM;
    row->count++;
    row->bytes += op->bytes;
    row->work = op->work ? op->work : row->work;
    row->failed += (op->flags & SONDE_OP_FAILED) != 0;
    m->counted.done++;
    m->counted.failed += (op->flags & SONDE_OP_FAILED) != 0;
    m->counted.no_times += (op->flags & SONDE_OP_NO_TIMES) != 0;
    m->counted.bad_time += (op->flags & SONDE_OP_BAD_TIME) != 0;
    m->counted.early_in_bound += (op->flags & SONDE_OP_EARLY) != 0;
    if (of) {
        of->seen++;
        of->done++;
        of->bad_time += (op->flags & SONDE_OP_BAD_TIME) != 0;
    }
    if (op->flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME))
        return 0;
    sonde_accumulate_delays(row, op->enter_ns, op->queued_ns, op->submit_ns, op->start_ns);
    const int rc = add_time(m, row, op->end_ns - op->start_ns);
    if (rc || !of || of->device >= SONDE_BUSY_DEVICES || sonde_op_kind_group(op->kind) == SONDE_GROUP_ORDER)
        return rc;
    return sonde_vector_push(&m->busy, (struct interval){op->start_ns, op->end_ns, of->device, sonde_op_kind_group(op->kind) == SONDE_GROUP_KERNEL});
}

static int add_call(struct making *m, const struct sonde_row_call *call)
{
    struct sonde_row_profile *row = row_for(m, call->node, 0);
    if (!row)
        return SONDE_ENOMEM;
    row->count++;
    m->counted.api_calls++;
    return add_time(m, row, call->leave_ns - call->enter_ns);
}

/* Samples and sleeps have no histogram. */
static int add_cpu(struct making *m, uint32_t node, uint32_t lane, uint64_t ns)
{
    struct sonde_row_profile *row = row_for(m, node, lane);
    if (!row)
        return SONDE_ENOMEM;
    row->count++;
    sonde_accumulate(row, ns);
    return 0;
}

static struct sonde_row_lane *lane_at(const struct sonde__live *live, uint32_t lane)
{
    for (uint32_t i = 0; i < live->count; i++) {
        const struct sonde__live_segment *s = &live->segments[i];
        if (s->header.table == SONDE_TABLE_LANE && lane >= s->header.first && lane - s->header.first < s->count)
            return (struct sonde_row_lane *)(void *)s->rows + (lane - s->header.first);
    }
    return NULL;
}

static int add_rows(struct making *m, const struct sonde__live_segment *s)
{
    struct sonde_row_lane *of = lane_at(m->live, s->header.owner);
    int rc = 0;
    for (uint32_t i = 0; i < s->count && !rc; i++) {
        const void *row = s->rows + (size_t)i * s->header.row_bytes;
        const struct sonde_row_sample *sample = row;
        const struct sonde_row_sleep *sleep = row;
        switch (s->header.table) {
        case SONDE_TABLE_OP: rc = add_op(m, row, s->header.owner, of); break;
        case SONDE_TABLE_CALL: rc = add_call(m, row); break;
        case SONDE_TABLE_SAMPLE:
            m->samples++;
            rc = add_cpu(m, sample->node, s->header.owner, sample->cpu_ns);
            break;
        case SONDE_TABLE_SLEEP: rc = add_cpu(m, sleep->node, 0, sleep->to_ns - sleep->from_ns); break;
        default: return 0;
        }
    }
    return rc;
}

/* ---- what is told beside it ------------------------------------------------------------------------ */

static void forget_counts(const struct sonde__live_segment *s)
{
    struct sonde_row_lane *lanes = (void *)s->rows;
    for (uint32_t i = 0; i < s->count; i++) {
        lanes[i].seen = lanes[i].done = lanes[i].bad_time = 0;
        memset(lanes[i].dropped, 0, sizeof lanes[i].dropped); /* since then is not known of a lane */
    }
}

static uint64_t not_before(uint64_t ns, uint64_t since_ns)
{
    return ns && ns < since_ns ? since_ns : ns;
}

/* What was freed before is none of it; what was there already is there, and may be used, from the beginning. */
static void cut_objects(const struct sonde__live_segment *s, uint64_t since_ns)
{
    struct sonde_row_object *objects = (void *)s->rows;
    for (uint32_t i = 0; i < s->count; i++) {
        if (objects[i].free_ns && objects[i].free_ns < since_ns)
            objects[i].kind = SONDE_OBJECT_NONE;
        objects[i].alloc_ns = objects[i].alloc_ns < since_ns ? since_ns : objects[i].alloc_ns;
        objects[i].first_use_ns = not_before(objects[i].first_use_ns, since_ns);
        objects[i].last_use_ns = not_before(objects[i].last_use_ns, since_ns);
    }
}

static void cut_pauses(const struct sonde__live_segment *s, uint64_t since_ns)
{
    struct sonde_row_pause *pauses = (void *)s->rows;
    for (uint32_t i = 0; i < s->count; i++) {
        pauses[i].from_ns = pauses[i].from_ns < since_ns ? since_ns : pauses[i].from_ns;
        pauses[i].to_ns = not_before(pauses[i].to_ns, since_ns);
    }
}

static int by_start(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

struct cover { /* a union of intervals that come by their start */
    uint64_t sum, end;
};

static void cover(struct cover *c, const struct interval *i)
{
    const uint64_t start = i->start > c->end ? i->start : c->end;
    c->sum += i->end > start ? i->end - start : 0;
    c->end = i->end > c->end ? i->end : c->end;
}

static void set_busy(struct making *m, uint64_t since_ns)
{
    struct sonde_live_header *h = &m->live->header;
    memset(h->device_busy, 0, sizeof h->device_busy);
    memset(h->device_group, 0, sizeof h->device_group);
    if (m->busy.count)
        qsort(m->busy.items, m->busy.count, sizeof *m->busy.items, by_start);
    for (size_t i = 0, next; i < m->busy.count; i = next) {
        const uint32_t device = m->busy.items[i].device;
        struct cover all = {0, since_ns}, kernels = all, copies = all;
        h->device_busy[device].first_ns = m->busy.items[i].start > since_ns ? m->busy.items[i].start : since_ns;
        for (next = i; next < m->busy.count && m->busy.items[next].device == device; next++) {
            cover(&all, &m->busy.items[next]);
            cover(m->busy.items[next].kernel ? &kernels : &copies, &m->busy.items[next]);
        }
        h->device_busy[device].count = next - i;
        h->device_busy[device].last_ns = all.end;
        h->device_busy[device].busy_ns = all.sum;
        h->device_group[device].kernel_ns = kernels.sum;
        h->device_group[device].copy_ns = copies.sum;
    }
}

/* Both are counters; what is none, and set again, does not matter. */
static void subtract(void *from, const void *what, size_t bytes)
{
    uint64_t *a = from;
    const uint64_t *b = what;
    for (size_t i = 0; i < bytes / sizeof *a; i++)
        a[i] = a[i] > b[i] ? a[i] - b[i] : 0;
}

static uint64_t lost(const struct sonde_ledger *l)
{
    uint64_t sum = l->unmatched;
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        sum += sonde_drop_loses_operation(cause) ? l->dropped[cause] : 0;
    return sum;
}

/* Here the profile is of the rows: what found no room for its row is in no number. */
static void lose_rows(struct sonde_ledger *l)
{
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        if (!sonde_drop_loses_operation(cause)) {
            l->dropped[SONDE_DROP_CHANNEL_FULL] += l->dropped[cause];
            l->dropped[cause] = 0;
        }
    l->calls_dropped += l->call_rows_dropped;
    l->call_rows_dropped = 0;
}

static void set_header(struct making *m)
{
    struct sonde_live_header *h = &m->live->header;
    struct sonde_ledger *l = &h->ledger;
    const uint64_t ended = l->done + lost(l), in_flight = l->seen > ended ? l->seen - ended : 0;
    const uint64_t threads = h->cpu.threads, threads_missed = h->cpu.threads_missed; /* how many there are */
    subtract(l, &m->base.ledger, sizeof *l);
    subtract(&h->cpu, &m->base.cpu, sizeof h->cpu);
    subtract(&h->series_rows_dropped, &m->base.series_rows_dropped, sizeof h->series_rows_dropped);
    subtract(&h->message_rows_dropped, &m->base.message_rows_dropped, sizeof h->message_rows_dropped);
    h->cpu.threads = threads;
    h->cpu.threads_missed = threads_missed;
    h->cpu.sampled_ns -= m->clipped_ns < h->cpu.sampled_ns ? m->clipped_ns : h->cpu.sampled_ns;
    h->held_us -= h->held_us < m->base.held_us ? h->held_us : (uint32_t)m->base.held_us;
    lose_rows(l);
    l->done = m->counted.done;
    l->seen = l->done + in_flight + lost(l);
    l->failed = m->counted.failed;
    l->no_times = m->counted.no_times;
    l->bad_time = m->counted.bad_time;
    l->early_in_bound = m->counted.early_in_bound;
    l->api_calls = m->counted.api_calls + l->calls_dropped;
    h->cpu.samples = m->samples + h->cpu.sample_rows_dropped;
    l->busy_clipped_ns = 0;
    h->start_ns = m->base.at_ns;
    h->exec_ns = 0; /* what the program did before is no part of it */
    h->cpu.before_ns = 0;
}

/* When the first row of all traces ended; the header's last time where there is none. */
static uint64_t first_time(const struct sonde__live *live)
{
    uint64_t first_ns = live->header.stop_ns;
    for (uint32_t i = 0; i < live->count; i++) {
        const struct sonde__live_segment *s = &live->segments[i];
        const struct sonde_table_info *t = sonde_table_info(s->header.table);
        for (uint32_t k = 0; sonde_table_is_trace(s->header.table) && k < s->count; k++) {
            const uint64_t to_ns = time_at(s->rows + (size_t)k * t->row_bytes, t->to);
            first_ns = to_ns > live->header.start_ns && to_ns < first_ns ? to_ns : first_ns;
        }
    }
    return first_ns;
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

/* The first time of which the counters are known; 0 where that is the agent's start, or there are none yet. The header's own time may be a little older. Where
 * all times are damaged what is there is of no known time: then it begins with the first row, and no counter is believed. */
static void find_base(struct making *m)
{
    struct sonde_live_header *h = &m->live->header;
    bool some = false;
    for (uint32_t i = 0; i < m->live->count; i++) {
        const struct sonde__live_segment *s = &m->live->segments[i];
        const struct sonde_row_base *rows = (const void *)s->rows;
        if (s->header.table != SONDE_TABLE_BASE)
            continue;
        some = true;
        for (uint32_t k = 0; k < s->count; k++)
            if (rows[k].at_ns >= h->start_ns && rows[k].at_ns < h->stop_ns + BEHIND_NS && (!m->base.at_ns || rows[k].at_ns < m->base.at_ns))
                m->base = rows[k];
    }
    if (some && !m->base.at_ns) {
        m->live->damaged++;
        m->base = (struct sonde_row_base){first_time(m->live), h->ledger, h->cpu, h->series_rows_dropped, h->message_rows_dropped, h->held_us};
    }
    h->stop_ns = m->base.at_ns > h->stop_ns ? m->base.at_ns : h->stop_ns;
    m->base.at_ns = m->base.at_ns == h->start_ns ? 0 : m->base.at_ns;
}

static bool is_made_anew(unsigned table, bool all)
{
    return table == SONDE_TABLE_BASE || (!all && (table == SONDE_TABLE_PROFILE || table == SONDE_TABLE_HISTOGRAM));
}

static void take_out(struct sonde__live *live, bool all)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < live->count; i++)
        if (!live->segments[i].count || is_made_anew(live->segments[i].header.table, all))
            free(live->segments[i].block);
        else
            live->segments[kept++] = live->segments[i];
    live->count = kept;
}

/* Rows of a table that has none, with ids from 1. */
static int put_table(struct sonde__live *live, enum sonde_table table, const void *rows, size_t count)
{
    const uint32_t width = sonde_row_bytes(table), room = SONDE_SEGMENT_ROOM / width;
    for (size_t at = 0; at < count; at += room) {
        const uint32_t part = count - at < room ? (uint32_t)(count - at) : room;
        struct sonde__live_segment s = {
            .header = {.magic = SONDE_SEGMENT_MAGIC, .table = (uint16_t)table, .used = part, .first = at + 1, .row_bytes = width},
            .count = part,
            .block = malloc(SONDE_SEGMENT_HEADER + (size_t)part * width),
        };
        if (!s.block)
            return SONDE_ENOMEM;
        s.rows = s.block + SONDE_SEGMENT_HEADER;
        memcpy(s.block, &s.header, sizeof s.header);
        memcpy(s.rows, (const uint8_t *)rows + at * width, (size_t)part * width);
        if (sonde__live_add(live, &s)) {
            free(s.block);
            return SONDE_ENOMEM;
        }
    }
    return 0;
}

static int make(struct making *m)
{
    struct sonde__live *live = m->live;
    int rc = 0;
    for (uint32_t i = 0; i < live->count; i++) {
        struct sonde__live_segment *s = &live->segments[i];
        if (sonde_table_is_trace(s->header.table)) {
            keep_recent(s, sonde_table_info(s->header.table), m->base.at_ns);
            follow_time(m, s, sonde_table_info(s->header.table));
        }
        switch (s->header.table) {
        case SONDE_TABLE_SAMPLE: clip_samples(m, s, m->base.at_ns); break;
        case SONDE_TABLE_OBJECT: cut_objects(s, m->base.at_ns); break;
        case SONDE_TABLE_PAUSE: cut_pauses(s, m->base.at_ns); break;
        case SONDE_TABLE_LANE: forget_counts(s); break;
        default: break;
        }
    }
    for (uint32_t i = 0; i < live->count && !rc; i++)
        rc = add_rows(m, &live->segments[i]);
    if (rc)
        return rc;
    set_busy(m, m->base.at_ns);
    set_header(m);
    take_out(live, false);
    rc = put_table(live, SONDE_TABLE_PROFILE, m->profiles.items, m->profiles.count);
    return rc ? rc : put_table(live, SONDE_TABLE_HISTOGRAM, m->histograms.items, m->histograms.count);
}

int sonde__live_last(struct sonde__live *live)
{
    struct making m = {.live = live};
    int rc = 0;
    if (!live->header_valid || live->header.trace != SONDE_RECORDED_LAST)
        return 0;
    m.stop_ns = live->header.stop_ns;
    find_base(&m);
    if (m.base.at_ns)
        rc = make(&m);
    else
        take_out(live, true);
    live->header.trace = SONDE_RECORDED_TRACE;
    sonde_map_fini(&m.index);
    sonde_vector_fini(&m.profiles);
    sonde_vector_fini(&m.histograms);
    sonde_vector_fini(&m.busy);
    return rc;
}
