/* lanes.c - one pass over each lane's trace, several lanes at a time.
 *
 * An in-order queue's operations come in order, so their union grows at its end
 * and takes no memory; lanes where one began before an earlier one are read
 * again, with the memory for a sort.
 */
#include "lanes.h"

#include <stdlib.h>

#include "base/kinds.h"
#include "base/map.h"
#include "base/parallel.h"

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

struct scan { /* of one lane */
    struct sonde_lane_use *use;
    /* While the intervals come in order, their union is its last interval and the sum of those before. */
    struct sonde_interval  last;
    bool                   disordered;
    struct sonde_union    *all; /* the second time, when they did not; else NULL */
};

static inline int add_interval(struct scan *s, uint64_t start, uint64_t end)
{
    struct sonde_lane_use *use = s->use;
    if (s->all)
        return sonde_union_add(s->all, start, end);
    if (!use->timed)
        s->last = (struct sonde_interval){start, start};
    use->first_ns = !use->timed || start < use->first_ns ? start : use->first_ns;
    use->last_ns = !use->timed || end > use->last_ns ? end : use->last_ns;
    use->timed = true;
    if (start > s->last.end) {
        const uint64_t gap = start - s->last.end;
        use->longest_gap_ns = gap > use->longest_gap_ns ? gap : use->longest_gap_ns;
        use->busy_ns += s->last.end - s->last.start;
        s->last = (struct sonde_interval){start, end};
    }
    s->disordered |= start < s->last.start;
    s->last.end = end > s->last.end ? end : s->last.end;
    return 0;
}

static int add_ops(struct scan *s, const struct sonde_row_op *op, uint32_t count)
{
    int rc = 0;
    for (uint32_t i = 0; i < count && !rc; i++)
        if (!(op[i].flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME)) && op[i].end_ns >= op[i].start_ns &&
            sonde_op_kind_group(op[i].kind) != SONDE_GROUP_ORDER)
            rc = add_interval(s, op[i].start_ns, op[i].end_ns);
    return rc;
}

static int add_calls(struct scan *s, const struct sonde_row_call *call, uint32_t count)
{
    int rc = 0;
    for (uint32_t i = 0; i < count && !rc; i++) {
        if (call[i].leave_ns < call[i].enter_ns)
            continue;
        s->use->sum_ns += s->all ? 0 : call[i].leave_ns - call[i].enter_ns;
        rc = add_interval(s, call[i].enter_ns, call[i].leave_ns);
    }
    return rc;
}

static const uint64_t op_fields = SONDE_FIELD(sonde_row_op, start_ns) | SONDE_FIELD(sonde_row_op, end_ns) |
                                  SONDE_FIELD(sonde_row_op, flags) | SONDE_FIELD(sonde_row_op, kind);
static const uint64_t call_fields = SONDE_FIELD(sonde_row_call, enter_ns) | SONDE_FIELD(sonde_row_call, leave_ns);

struct work { /* of one process, by several threads */
    const struct sonde_process *process;
    struct sonde_progress      *progress;
    struct sonde_lane_use      *uses;  /* [lane - 1] */
    uint32_t                   *first; /* [lane]: its first chunk in process->traces */
    uint32_t lanes, lanes_per_task;
};

static unsigned table_of(const struct sonde_process *p, uint32_t lane)
{
    return p->lanes[lane].kind == SONDE_LANE_KIND_QUEUE ? SONDE_TABLE_OP : SONDE_TABLE_CALL;
}

static int scan_chunks(const struct work *w, struct sonde_chunk_reader *reader, struct scan *s)
{
    const struct sonde_process *p = w->process;
    const unsigned table = table_of(p, s->use->lane);
    int rc = 0;
    for (uint32_t i = w->first[s->use->lane]; i < p->trace_count && !rc; i++) {
        const struct sonde_chunk_ref *chunk = &p->traces[i];
        if (chunk->table != table || chunk->lane != s->use->lane)
            break;
        const void *rows = sonde_chunk_reader_fields(reader, p, i, table == SONDE_TABLE_OP ? op_fields : call_fields);
        if (rows)
            rc = table == SONDE_TABLE_OP ? add_ops(s, rows, chunk->count) : add_calls(s, rows, chunk->count);
        if (s->all)
            continue;
        s->use->traced += rows ? chunk->count : 0;
        sonde_progress_add(w->progress, chunk->count);
    }
    return rc;
}

static int scan_lane(const struct work *w, struct sonde_chunk_reader *reader, struct sonde_lane_use *use)
{
    struct scan s = {.use = use};
    struct sonde_union all = {0};
    int rc = scan_chunks(w, reader, &s);
    use->busy_ns += s.last.end - s.last.start;
    if (!rc && s.disordered) {
        s.all = &all;
        rc = scan_chunks(w, reader, &s);
        use->busy_ns = sonde_union_finish(&all, &use->longest_gap_ns);
        sonde_union_fini(&all);
    }
    if (table_of(w->process, use->lane) == SONDE_TABLE_CALL)
        use->count = use->traced;
    return rc;
}

static int scan_some(void *user, uint32_t task)
{
    const struct work *w = user;
    struct sonde_chunk_reader *reader = sonde_chunk_reader_create();
    int rc = reader ? 0 : SONDE_ENOMEM;
    for (uint32_t i = task * w->lanes_per_task; i < (task + 1) * w->lanes_per_task && i < w->lanes && !rc; i++)
        rc = scan_lane(w, reader, &w->uses[i]);
    sonde_chunk_reader_destroy(reader);
    return rc;
}

static int scan_process(struct work *w)
{
    const struct sonde_process *p = w->process;
    w->lanes = p->lane_count - 1;
    w->lanes_per_task = 1 + w->lanes / 256; /* few enough readers, many enough tasks */
    w->first = malloc(p->lane_count * sizeof *w->first);
    if (!w->first)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < p->lane_count; i++)
        w->first[i] = UINT32_MAX;
    for (uint32_t i = p->trace_count; i-- > 0;)
        if (p->traces[i].table == table_of(p, p->traces[i].lane))
            w->first[p->traces[i].lane] = i;
    int rc = sonde_parallel_run(sonde_parallel_threads(), (w->lanes + w->lanes_per_task - 1) / w->lanes_per_task, scan_some, w);
    free(w->first);
    return rc;
}

/* Markers, barriers and waits keep a queue busy with nothing. */
static bool occupies(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_node *row = sonde_process_node(p, node, NULL);
    const struct sonde_row_frame *frame = row && row->frame < p->frame_count ? &p->frames[row->frame] : NULL;
    return !frame || frame->kind != SONDE_FRAME_OP || sonde_op_kind_group(frame->op) != SONDE_GROUP_ORDER;
}

static void add_profile(struct sonde_lane_use *uses, const struct sonde_process *p)
{
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        /* On a thread's lane it is CPU time of samples. */
        if (row->lane && row->lane < p->lane_count && p->lanes[row->lane].kind != SONDE_LANE_KIND_THREAD) {
            uses[row->lane - 1].count += row->count;
            uses[row->lane - 1].sum_ns += occupies(p, row->node) ? row->sum_ns : 0;
        }
    }
}

/* ---- waits in functions of the C library: few, since short ones are not recorded ---------------- */

struct waits {
    struct sonde_lane_use *uses; /* [lane - 1] */
    uint32_t lanes;
    struct sonde_map index;      /* lane << 32 | node -> what it has */
    SONDE_VECTOR(uint64_t) ns;
};

static int add_wait(struct waits *w, struct sonde_lane_use *use, const struct sonde_row_sleep *row)
{
    const uint64_t key = (uint64_t)use->lane << 32 | row->node, ns = row->to_ns - row->from_ns;
    uint64_t at;
    if (!sonde_map_get(&w->index, key, &at)) {
        at = w->ns.count;
        if (sonde_vector_push(&w->ns, 0) || sonde_map_put(&w->index, key, at))
            return SONDE_ENOMEM;
    }
    w->ns.items[at] += ns;
    use->waits++;
    use->waited_ns += ns;
    if (w->ns.items[at] > use->wait_ns) {
        use->wait = row->node;
        use->wait_ns = w->ns.items[at];
    }
    return 0;
}

static int add_waits(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    struct waits *w = user;
    const struct sonde_row_sleep *row = rows;
    int rc = 0;
    for (uint32_t i = 0; i < count && lane && lane <= w->lanes && !rc; i++)
        if (row[i].to_ns > row[i].from_ns)
            rc = add_wait(w, &w->uses[lane - 1], &row[i]);
    return rc;
}

static int scan_waits(const struct sonde_process *p, struct sonde_lane_use *uses)
{
    struct waits w = {.uses = uses, .lanes = p->lane_count - 1};
    const int rc = sonde_process_trace(p, SONDE_TABLE_SLEEP, 0, 0, UINT64_MAX, add_waits, &w);
    sonde_map_fini(&w.index);
    sonde_vector_fini(&w.ns);
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
    struct work w = {.process = p, .progress = progress, .uses = &out->items.items[first]};
    rc = scan_waits(p, w.uses);
    return rc ? rc : scan_process(&w);
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
