/* lanes.c - how the lanes were used: of each, window by window, several lanes at a time. */
#include "lanes.h"

#include <stdlib.h>

#include "analyze/trace/each.h"
#include "analyze/trace/trace.h"
#include "base/kinds.h"
#include "base/map.h"

/* ---- the trace --------------------------------------------------------------------------- */

struct part { /* a lane */
    struct { uint64_t from, to; } last; /* of the union of its intervals: what came before is in the sums */
    struct sonde_map waits;             /* node -> nanoseconds */
};

/* Intervals come in the order of their starts. */
static void add_interval(struct sonde_lane_use *use, struct part *part, uint64_t from, uint64_t to)
{
    if (!use->timed) {
        use->first_ns = part->last.from = part->last.to = from;
        use->timed = true;
    }
    if (from > part->last.to) {
        const uint64_t gap = from - part->last.to;
        use->longest_gap_ns = gap > use->longest_gap_ns ? gap : use->longest_gap_ns;
        use->busy_ns += part->last.to - part->last.from;
        part->last.from = from;
        part->last.to = to;
    }
    part->last.to = to > part->last.to ? to : part->last.to;
    use->last_ns = part->last.to;
}

static int add_wait(struct sonde_lane_use *use, struct part *part, const struct sonde_row_sleep *row)
{
    uint64_t ns = 0;
    sonde_map_get(&part->waits, row->node, &ns);
    ns += row->to_ns - row->from_ns;
    use->waits++;
    use->waited_ns += row->to_ns - row->from_ns;
    if (ns > use->wait_ns) {
        use->wait = row->node;
        use->wait_ns = ns;
    }
    return sonde_map_put(&part->waits, row->node, ns);
}

/* Rows count in the window that they begin in. */
static int each_window(void *user, const struct sonde_trace_window *w)
{
    const struct sonde_trace_lane *lane = &w->lanes[0];
    const bool queue = lane->kind == SONDE_LANE_KIND_QUEUE;
    int rc = 0;
    if (!lane->lane) /* damage */
        return 0;
    struct sonde_lane_use *use = &((struct sonde_lane_use *)user)[lane->lane - 1];
    for (uint32_t i = 0; i < lane->op_count && queue; i++) {
        const struct sonde_trace_op *op = &lane->ops[i];
        if (op->start_ns < w->from_ns)
            continue;
        use->traced++;
        if (sonde_op_kind_group(op->kind) != SONDE_GROUP_ORDER)
            add_interval(use, w->state, op->start_ns, op->end_ns);
    }
    use->traced += queue ? lane->untimed_count : 0;
    for (uint32_t i = 0; i < lane->call_count && !queue; i++) {
        const struct sonde_row_call *call = &lane->calls[i];
        if (call->enter_ns < w->from_ns)
            continue;
        use->traced++;
        if (call->leave_ns < call->enter_ns)
            continue;
        use->sum_ns += call->leave_ns - call->enter_ns;
        add_interval(use, w->state, call->enter_ns, call->leave_ns);
    }
    for (uint32_t i = 0; i < lane->sleep_count && !rc; i++)
        if (lane->sleeps[i].from_ns >= w->from_ns)
            rc = add_wait(use, w->state, &lane->sleeps[i]);
    return rc;
}

static int add_trace(struct sonde_lane_use *uses, const struct sonde_process *p, struct sonde_progress *progress)
{
    const struct sonde_trace_options options = {
        .tables = SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_SLEEPS,
        .by_lane = true,
        .state_bytes = sizeof(struct part),
        .op_fields = SONDE_FIELD(sonde_row_op, kind),
        .call_fields = SONDE_FIELD(sonde_row_call, enter_ns),
        .progress = progress,
    };
    struct sonde_trace_reader trace = {0};
    int rc = sonde_trace_open(p, &options, &trace);
    if (!rc)
        rc = sonde_trace_read(&trace, each_window, uses);
    for (uint32_t i = 0; i < trace.part_count; i++) {
        struct part *part = sonde_trace_state(&trace, i);
        sonde_map_fini(&part->waits);
        if (!trace.lanes[i].lane)
            continue;
        struct sonde_lane_use *use = &uses[trace.lanes[i].lane - 1];
        use->busy_ns += part->last.to - part->last.from;
        use->count = trace.lanes[i].kind == SONDE_LANE_KIND_QUEUE ? use->count : use->traced;
    }
    sonde_trace_close(&trace);
    return rc;
}

/* ---- all of it --------------------------------------------------------------------------------- */

/* Markers, barriers and waits keep a queue busy with nothing. */
static bool occupies(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_frame *frame = sonde_process_frame(p, node);
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

struct computing {
    const struct sonde_measurement *m;
    struct sonde_progress *progress;
    struct sonde_lanes *out;
};

static int find(void *user, uint32_t process, struct sonde_text *found)
{
    const struct computing *c = user;
    const struct sonde_process *p = &c->m->processes[process];
    SONDE_VECTOR(struct sonde_lane_use) uses = {0};
    int rc = 0;
    for (uint32_t lane = 1; lane < p->lane_count && !rc; lane++)
        rc = sonde_vector_push(&uses, (struct sonde_lane_use){.process = process, .lane = lane});
    if (!rc && uses.count) {
        struct sonde_trace_extent *ranges = sonde_trace_extents(p, SONDE_READ_RANGES);
        for (uint32_t lane = 1; lane < p->lane_count && ranges; lane++)
            uses.items[lane - 1].ranges = ranges[lane].rows;
        rc = ranges ? 0 : SONDE_ENOMEM;
        free(ranges);
        add_profile(uses.items, p);
        rc = rc ? rc : add_trace(uses.items, p, c->progress);
    }
    sonde_found_put_vector(found, &uses);
    sonde_vector_fini(&uses);
    return rc;
}

static int add(void *user, uint32_t process, struct sonde_found *found)
{
    const struct computing *c = user;
    SONDE_VECTOR(struct sonde_lane_use) uses = {0};
    int rc = 0;
    sonde_found_get_vector(found, &uses);
    for (size_t i = 0; i < uses.count && !rc; i++) /* counters over time are no lanes of anybody's */
        if (!sonde_lane_is_series(&c->m->processes[process].lanes[uses.items[i].lane]))
            rc = sonde_vector_push(&c->out->items, uses.items[i]);
    sonde_vector_fini(&uses);
    return rc;
}

int sonde_lanes_compute(const struct sonde_measurement *m, struct sonde_progress *progress, struct sonde_lanes *out)
{
    struct computing c = {m, progress, out};
    return sonde_each_process(m, &(struct sonde_each){.find = find, .add = add}, &c);
}

void sonde_lanes_fini(struct sonde_lanes *lanes)
{
    sonde_vector_fini(&lanes->items);
}
