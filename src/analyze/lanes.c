/* lanes.c - one pass over each lane's trace.
 *
 * An in-order queue's operations come in order and do not overlap, so their
 * union grows at its end; only out-of-order queues need the sort.
 */
#include "lanes.h"

#include <stdlib.h>

int sonde_union_add(struct sonde_union *u, uint64_t start, uint64_t end)
{
    if (u->closed.count) {
        struct sonde_interval *last = &u->closed.items[u->closed.count - 1];
        if (start >= last->start && start <= last->end) {
            last->end = end > last->end ? end : last->end;
            return 0;
        }
        u->sorted_lost |= start < last->start;
    }
    return sonde_vector_push(&u->closed, (struct sonde_interval){start, end});
}

static int by_start(const void *left, const void *right)
{
    const struct sonde_interval *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void merge(struct sonde_union *u)
{
    size_t count = 0;
    qsort(u->closed.items, u->closed.count, sizeof *u->closed.items, by_start);
    for (size_t i = 0; i < u->closed.count; i++) {
        struct sonde_interval next = u->closed.items[i];
        if (count && next.start <= u->closed.items[count - 1].end) {
            if (next.end > u->closed.items[count - 1].end)
                u->closed.items[count - 1].end = next.end;
        } else {
            u->closed.items[count++] = next;
        }
    }
    u->closed.count = count;
}

uint64_t sonde_union_finish(struct sonde_union *u, uint64_t *longest_gap)
{
    uint64_t sum = 0;
    *longest_gap = 0;
    if (u->sorted_lost)
        merge(u);
    for (size_t i = 0; i < u->closed.count; i++) {
        sum += u->closed.items[i].end - u->closed.items[i].start;
        uint64_t gap = i ? u->closed.items[i].start - u->closed.items[i - 1].end : 0;
        *longest_gap = gap > *longest_gap ? gap : *longest_gap;
    }
    return sum;
}

void sonde_union_fini(struct sonde_union *u)
{
    sonde_vector_fini(&u->closed);
}

/* ---- the scan -------------------------------------------------------------------------- */

struct scan {
    struct sonde_lane_use *use;
    struct sonde_progress *progress;
    struct sonde_union     intervals;
};

static int add_interval(struct scan *s, uint64_t start, uint64_t end)
{
    if (!s->use->timed || start < s->use->first_ns)
        s->use->first_ns = start;
    if (!s->use->timed || end > s->use->last_ns)
        s->use->last_ns = end;
    s->use->timed = true;
    return sonde_union_add(&s->intervals, start, end);
}

static int add_ops(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    struct scan *s = user;
    const struct sonde_row_op *op = rows;
    int rc = 0;
    (void)lane;
    for (uint32_t i = 0; i < count && !rc; i++)
        if (!(op[i].flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME)) && op[i].end_ns >= op[i].start_ns)
            rc = add_interval(s, op[i].start_ns, op[i].end_ns);
    s->use->traced += count;
    sonde_progress_add(s->progress, count);
    return rc;
}

static int add_calls(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    struct scan *s = user;
    const struct sonde_row_call *call = rows;
    int rc = 0;
    (void)lane;
    for (uint32_t i = 0; i < count && !rc; i++) {
        if (call[i].leave_ns < call[i].enter_ns)
            continue;
        s->use->sum_ns += call[i].leave_ns - call[i].enter_ns;
        rc = add_interval(s, call[i].enter_ns, call[i].leave_ns);
    }
    s->use->traced += count;
    sonde_progress_add(s->progress, count);
    return rc;
}

static void add_profile(struct sonde_lane_use *uses, const struct sonde_process *p)
{
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        /* On a thread's lane it is CPU time of samples. */
        if (row->lane && row->lane < p->lane_count && p->lanes[row->lane].kind != SONDE_LANE_KIND_THREAD) {
            uses[row->lane - 1].count += row->count;
            uses[row->lane - 1].sum_ns += row->sum_ns;
        }
    }
}

static int scan_lane(const struct sonde_process *p, struct sonde_progress *progress, struct sonde_lane_use *use)
{
    struct scan s = {.use = use, .progress = progress};
    bool queue = p->lanes[use->lane].kind == SONDE_LANE_KIND_QUEUE;
    int rc = sonde_process_trace(p, queue ? SONDE_TABLE_OP : SONDE_TABLE_CALL, use->lane, 0, UINT64_MAX,
                                 queue ? add_ops : add_calls, &s);
    if (!queue)
        use->count = use->traced;
    use->busy_ns = sonde_union_finish(&s.intervals, &use->longest_gap_ns);
    sonde_union_fini(&s.intervals);
    return rc;
}

static int add_process(struct sonde_lanes *out, const struct sonde_process *p, struct sonde_progress *progress,
                       uint32_t index)
{
    size_t first = out->items.count;
    int rc = 0;
    for (uint32_t lane = 1; lane < p->lane_count && !rc; lane++)
        rc = sonde_vector_push(&out->items, (struct sonde_lane_use){.process = index, .lane = lane});
    if (rc || out->items.count == first)
        return rc;
    add_profile(&out->items.items[first], p);
    for (uint32_t i = 0; i < p->trace_count; i++)
        if (p->traces[i].table == SONDE_TABLE_RANGE && p->traces[i].lane) /* 0: damage */
            out->items.items[first + p->traces[i].lane - 1].ranges += p->traces[i].count;
    for (size_t i = first; i < out->items.count && !rc; i++)
        rc = scan_lane(p, progress, &out->items.items[i]);
    return rc;
}

uint64_t sonde_trace_rows(const struct sonde_measurement *m, enum sonde_table table)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < m->process_count; i++)
        for (uint32_t k = 0; k < m->processes[i].trace_count; k++)
            rows += m->processes[i].traces[k].table == table ? m->processes[i].traces[k].count : 0;
    return rows;
}

int sonde_lanes_compute(const struct sonde_measurement *m, struct sonde_progress *progress, struct sonde_lanes *out)
{
    int rc = 0;
    sonde_progress_expect(progress, sonde_trace_rows(m, SONDE_TABLE_OP) + sonde_trace_rows(m, SONDE_TABLE_CALL));
    for (uint32_t i = 0; i < m->process_count && !rc; i++)
        rc = add_process(out, &m->processes[i], progress, i);
    return rc;
}

void sonde_lanes_fini(struct sonde_lanes *lanes)
{
    sonde_vector_fini(&lanes->items);
}
