/* load.c - the rows of one process as the graph of graph.h.
 *
 * Calls come first, in the order of their entries; then each queue's operations,
 * which find their call by its entry (a call and its operations carry the same
 * time). Times that contradict an order by no more than the clocks' bound are
 * moved to agree with it.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/api.h"
#include "analyze/model/runtimes.h"
#include "analyze/trace/trace.h"
#include "base/map.h"

struct loaded_op {
    struct sonde__cp_op op;
    struct sonde__cp_row row;
    uint64_t enter;
};

struct loader {
    struct sonde__cp_loading l;
    struct sonde_progress *progress;
    uint64_t *call_keys;                /* [call]: correlation */
    uint64_t *enters;                   /* [call]: the same as in its row, close together: an operation looks for its call */
    double rate;                        /* calls per ns, around the one that was found last */
    sonde__cp_loaded_calls calls;
    SONDE_VECTOR(struct loaded_op) ops; /* of one lane */
    uint32_t lane;                      /* that is being read: thread or queue, by index */
    bool named;                         /* WAIT rows may name operations */
    struct sonde_map classes;           /* API node -> enum sonde_api_class */
    size_t op_room;                     /* of the graph's */
    uint32_t near;                      /* call that was found last: the next operation's is mostly beside it */
};

/* ---- calls ---------------------------------------------------------------------- */

static int add_calls(void *user, const struct sonde_trace_window *w)
{
    const struct loader *l = user;
    const struct sonde_trace_lane *lane = &w->lanes[0];
    const uint32_t thread = l->l.thread_of[lane->lane];
    sonde__cp_loaded_calls *calls = w->state;
    int rc = 0;
    for (uint32_t i = 0; i < lane->call_count && thread && !rc; i++) {
        const struct sonde_row_call *row = &lane->calls[i];
        if (row->leave_ns >= row->enter_ns && row->enter_ns >= w->from_ns)
            rc = sonde_vector_push(calls,
                                   (struct sonde__cp_loaded_call){
                                       .correlation = row->correlation,
                                       .call = {
                                           .enter = row->enter_ns,
                                           .leave = row->leave_ns,
                                           .node = row->node,
                                           .thread = (thread - 1) & 0x3fffffff,
                                           .after = row->lane,
                                       },
                                   });
    }
    return rc;
}

static int by_enter(const void *left, const void *right)
{
    const struct sonde__cp_loaded_call *a = left, *b = right;
    if (a->call.enter != b->call.enter)
        return a->call.enter < b->call.enter ? -1 : 1;
    return a->call.leave < b->call.leave ? -1 : a->call.leave > b->call.leave;
}

static void merge_two(const struct sonde__cp_loaded_call *from, size_t first, size_t middle, size_t last, struct sonde__cp_loaded_call *to)
{
    size_t a = first, b = middle;
    for (size_t i = first; i < last; i++)
        to[i] = a < middle && (b == last || by_enter(&from[a], &from[b]) <= 0) ? from[a++] : from[b++];
}

/* Two threads become one, until there is one. `ends` are where those of each thread end. */
static int merge_threads(struct loader *l, size_t *ends, uint32_t threads)
{
    struct sonde__cp_loaded_call *from = l->calls.items, *to = threads > 1 ? malloc((l->calls.count + 1) * sizeof *to) : NULL;
    if (threads > 1 && !to)
        return SONDE_ENOMEM;
    while (threads > 1) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < threads; i += 2) {
            const size_t last = i + 1 < threads ? ends[i + 1] : ends[i];
            merge_two(from, i ? ends[i - 1] : 0, ends[i], last, to);
            ends[kept++] = last;
        }
        threads = kept;
        struct sonde__cp_loaded_call *other = from;
        from = to;
        to = other;
    }
    l->calls.items = from;
    l->calls.capacity = l->calls.count + 1;
    free(to);
    return 0;
}

/* The parts' calls, one thread's after the other's. */
static int join_threads(struct loader *l, const struct sonde_trace_reader *trace)
{
    sonde__cp_loaded_calls *parts = trace->states;
    size_t *ends = malloc((trace->part_count + 1) * sizeof *ends);
    size_t count = 0;
    for (uint32_t i = 0; i < trace->part_count && ends; i++)
        ends[i] = count += parts[i].count;
    l->calls.items = malloc((count + 1) * sizeof *l->calls.items);
    l->calls.capacity = count + 1;
    int rc = ends && l->calls.items ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < trace->part_count && !rc; i++) {
        if (parts[i].count)
            memcpy(l->calls.items + l->calls.count, parts[i].items, parts[i].count * sizeof *parts[i].items);
        l->calls.count = ends[i];
        sonde_vector_fini(&parts[i]);
    }
    rc = rc ? rc : merge_threads(l, ends, trace->part_count);
    free(ends);
    return rc;
}

static int add_messages(struct loader *l)
{
    const size_t count = l->calls.count;
    const int rc = sonde__cp_add_message_calls(&l->l, &l->calls);
    return rc || l->calls.count == count ? rc : merge_threads(l, (size_t[]){count, l->calls.count}, 2);
}

static int read_calls(struct loader *l)
{
    const struct sonde_trace_options wanted = {
        .tables = SONDE_READ_CALLS,
        .from_ns = l->l.g->from,
        .by_lane = true,
        .state_bytes = sizeof(sonde__cp_loaded_calls),
        .progress = l->progress,
    };
    struct sonde_trace_reader trace = {0};
    int rc = sonde_trace_open(l->l.g->process, &wanted, &trace);
    if (!rc)
        rc = sonde_trace_read(&trace, add_calls, l);
    if (!rc)
        rc = join_threads(l, &trace);
    if (!rc && !l->l.g->for_rows)
        rc = add_messages(l);
    for (uint32_t i = 0; i < trace.part_count; i++)
        sonde_vector_fini((sonde__cp_loaded_calls *)sonde_trace_state(&trace, i));
    sonde_trace_close(&trace);
    return rc;
}

/* A thread's calls follow each other: one that begins within the one before is cut there. */
static int link_calls(struct sonde__cp_graph *g)
{
    for (uint32_t i = 0; i < g->call_count; i++) {
        struct sonde__cp_call *call = &g->calls[i];
        struct sonde__cp_thread *t = &g->threads[call->thread];
        call->after = 0;
        t->calls++;
        call->before = t->last;
        if (t->last) {
            struct sonde__cp_call *before = &g->calls[t->last - 1];
            before->after = i + 1;
            before->leave = before->leave > call->enter ? call->enter : before->leave;
        } else {
            t->first = i + 1;
        }
        t->last = i + 1;
    }
    g->listed = malloc((g->call_count + 1) * sizeof *g->listed);
    if (!g->listed)
        return SONDE_ENOMEM;
    for (uint32_t t = 0, at = 0; t < g->thread_count; at += g->threads[t++].calls)
        g->threads[t].first_listed = g->threads[t].listed_until = at;
    for (uint32_t i = 0; i < g->call_count; i++)
        g->listed[g->threads[g->calls[i].thread].listed_until++] = i;
    return 0;
}

/* Calls that wait by their name are remembered with their queue: what follows may have no WAIT rows. */
static int note_blocked(struct loader *l, uint32_t index, uint32_t lane)
{
    uint32_t node = l->l.g->calls[index].node;
    uint64_t class;
    if (l->l.g->calls[index].message)
        return 0;
    if (!sonde_map_get(&l->classes, node, &class)) {
        class = sonde_api_class_of_node(l->l.g->process, node);
        if (sonde_map_put(&l->classes, node, class))
            return SONDE_ENOMEM;
    }
    return class == SONDE_API_WAITS ? sonde_vector_push(&l->l.blocked, (struct sonde__cp_blocked){index, lane}) : 0;
}

/* ---- threads of the runtime that call the program back ----------------------------------------- */

/* Does the runtime, further out, run the code that made the call? */
static bool is_called_back(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_node *row = sonde_process_node(p, node, NULL);
    bool program = false;
    for (; row; row = row->parent ? sonde_process_node(p, row->parent, NULL) : NULL) {
        const struct sonde_row_frame *frame = row->frame < p->frame_count ? &p->frames[row->frame] : NULL;
        if (!frame || (frame->kind != SONDE_FRAME_NATIVE && frame->kind != SONDE_FRAME_PYTHON))
            continue;
        const char *module = frame->kind == SONDE_FRAME_NATIVE ? sonde_process_string(p, p->modules[frame->module].path) : "";
        if (program && sonde_is_gpu_runtime(module))
            return true;
        program |= frame->kind == SONDE_FRAME_PYTHON || sonde_origin_of("", module, "") != SONDE_ORIGIN_RUNTIME;
    }
    return false;
}

/* Such a thread makes no call but from callbacks. */
static int find_called_back(struct sonde__cp_graph *g)
{
    struct sonde_map known = {0};
    int rc = 0;
    for (uint32_t t = 0; t < g->thread_count && !rc; t++) {
        struct sonde__cp_thread *thread = &g->threads[t];
        thread->calls_back = thread->first != 0;
        for (link c = thread->first; c && thread->calls_back && !rc; c = g->calls[c - 1].after) {
            uint64_t back;
            if (!sonde_map_get(&known, g->calls[c - 1].node, &back)) {
                back = is_called_back(g->process, g->calls[c - 1].node);
                rc = sonde_map_put(&known, g->calls[c - 1].node, back);
            }
            thread->calls_back = back;
        }
    }
    sonde_map_fini(&known);
    return rc;
}

static int load_calls(struct loader *l)
{
    struct sonde__cp_graph *g = l->l.g;
    int rc = read_calls(l);
    if (rc || l->calls.count > UINT32_MAX - 1)
        return rc ? rc : SONDE_ENOMEM;
    g->call_count = (uint32_t)l->calls.count;
    g->calls = malloc((l->calls.count + 1) * sizeof *g->calls);
    l->call_keys = malloc((l->calls.count + 1) * sizeof *l->call_keys);
    l->enters = malloc((l->calls.count + 1) * sizeof *l->enters);
    if (!g->calls || !l->call_keys || !l->enters)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < g->call_count && !rc; i++) {
        g->calls[i] = l->calls.items[i].call;
        l->call_keys[i] = l->calls.items[i].correlation;
        l->enters[i] = g->calls[i].enter;
        rc = note_blocked(l, i, g->calls[i].after);
    }
    sonde_vector_fini(&l->calls);
    rc = rc ? rc : link_calls(g);
    return rc ? rc : find_called_back(g);
}

/* Where a call entered at `enter` may be. */
static uint32_t guess(const struct loader *l, uint64_t enter)
{
    const uint32_t count = l->l.g->call_count, near = l->near;
    const double ahead = enter > l->enters[near] ? (double)(enter - l->enters[near]) * l->rate : 0;
    return ahead < (double)(count - near) ? near + (uint32_t)ahead : count - 1;
}

/* What a later operation will look at: nearly all of the search's time is memory's. */
static void fetch(const struct loader *l, uint64_t enter)
{
    if (!l->l.g->call_count)
        return;
    const uint32_t at = guess(l, enter);
    __builtin_prefetch(&l->enters[at]);
    __builtin_prefetch(&l->call_keys[at]);
}

/* The first call entered at or after `enter`. Operations of a queue come in order, and so do their calls, with those
 * of other queues in between, about as many as before. */
static uint32_t first_entered(struct loader *l, uint64_t enter)
{
    const uint32_t count = l->l.g->call_count, near = l->near;
    const uint64_t *enters = l->enters;
    if (!count)
        return 0;
    uint32_t low = guess(l, enter), high = low;
    if (enters[low] >= enter) { /* it is not behind `high` */
        for (uint32_t step = 1; low && enters[low] >= enter; step *= 2) {
            high = low;
            low = low > step ? low - step : 0;
        }
    } else {
        for (uint32_t step = 1; high < count && enters[high] < enter; step *= 2) {
            low = high;
            high = count - high > step ? high + step : count;
        }
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (enters[middle] < enter)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < count && low > near && enters[low] > enters[near])
        l->rate = (double)(low - near) / (double)(enters[low] - enters[near]);
    l->near = low < count ? low : count - 1;
    return low;
}

/* The call entered at `enter` that made the operation `correlation`: that very
 * one, or for a call's second operation the one of the same thread (the high
 * bits of a correlation). */
static link find_call(struct loader *l, uint64_t enter, uint64_t correlation)
{
    const struct sonde__cp_graph *g = l->l.g;
    link same_thread = 0;
    for (uint32_t at = first_entered(l, enter); at < g->call_count && l->enters[at] == enter; at++) {
        if (l->call_keys[at] == correlation)
            return at + 1;
        if (l->call_keys[at] && l->call_keys[at] >> 40 == correlation >> 40 && l->call_keys[at] < correlation)
            same_thread = at + 1;
    }
    return same_thread;
}

/* ---- operations ------------------------------------------------------------------- */

/* Not work of a queue: a synchronization is its call, a collective its kernel. */
static bool left_out(uint16_t kind)
{
    return sonde_op_kind_is(kind, SONDE_KIND_CALL | SONDE_KIND_COLLECTIVE) || kind >= SONDE_OP_KIND_COUNT;
}

static int add_op(struct loader *l, const struct sonde_trace_op *row)
{
    struct sonde__cp_graph *g = l->l.g;
    if (sonde_op_kind_is(row->kind, SONDE_KIND_POINT))
        return sonde_vector_push(&l->l.points, (struct sonde__cp_point){row->correlation, row->enter_ns, l->lane});
    if (left_out(row->kind))
        return 0;
    if (!sonde_op_has_times(row->flags, row->start_ns, row->end_ns)) {
        g->no_times++;
        return 0;
    }
    struct loaded_op op = {
        .row = {row->correlation, row->start_ns, row->end_ns},
        .enter = row->enter_ns,
        .op = {
            .start = row->start_ns,
            .end = row->end_ns,
            .node = row->node,
            .lane = l->lane & 0xffffff,
            .kind = row->kind & 0x7f,
        },
    };
    if (op.op.start < row->enter_ns && row->enter_ns - op.op.start <= g->bound)
        op.op.start = row->enter_ns;
    if (op.op.end < op.op.start)
        op.op.end = op.op.start;
    return sonde_vector_push(&l->ops, op);
}

static int by_start(const void *left, const void *right)
{
    const struct loaded_op *a = left, *b = right;
    if (a->op.start != b->op.start)
        return a->op.start < b->op.start ? -1 : 1;
    if (a->op.end != b->op.end)
        return a->op.end < b->op.end ? -1 : 1;
    return a->enter < b->enter ? -1 : a->enter > b->enter;
}

static bool in_order(const struct loader *l)
{
    for (size_t i = 1; i < l->ops.count; i++)
        if (by_start(&l->ops.items[i - 1], &l->ops.items[i]) > 0)
            return false;
    return true;
}

enum { AHEAD = 4 }; /* operations */

static int make_room(struct loader *l, size_t more)
{
    struct sonde__cp_graph *g = l->l.g;
    const size_t wanted = g->op_count + more;
    if (wanted <= l->op_room)
        return 0;
    l->op_room = wanted > 2 * l->op_room ? wanted : 2 * l->op_room;
    struct sonde__cp_op *ops = wanted < UINT32_MAX ? realloc(g->ops, l->op_room * sizeof *ops) : NULL;
    g->ops = ops ? ops : g->ops;
    struct sonde__cp_row *rows = ops && g->for_rows ? realloc(g->op_rows, l->op_room * sizeof *rows) : NULL;
    g->op_rows = rows ? rows : g->op_rows;
    return ops && (rows || !g->for_rows) ? 0 : SONDE_ENOMEM;
}

/* Move the operations of one lane into the graph, with their calls. */
static int take_lane(struct loader *l, struct sonde__cp_lane *lane)
{
    struct sonde__cp_graph *g = l->l.g;
    if (make_room(l, l->ops.count))
        return SONDE_ENOMEM;
    if (l->ops.count && !in_order(l)) /* where times were moved */
        qsort(l->ops.items, l->ops.count, sizeof *l->ops.items, by_start);
    lane->first = g->op_count;
    lane->count = (uint32_t)l->ops.count;
    for (size_t i = 0; i < l->ops.count; i++) {
        struct sonde__cp_op *op = &g->ops[g->op_count];
        if (i + AHEAD < l->ops.count)
            fetch(l, l->ops.items[i + AHEAD].enter);
        *op = l->ops.items[i].op;
        if (g->for_rows)
            g->op_rows[g->op_count] = l->ops.items[i].row;
        op->call = find_call(l, l->ops.items[i].enter, l->ops.items[i].row.correlation);
        if (l->named && sonde_vector_push(&l->l.keys, (struct sonde__cp_key){l->ops.items[i].row.correlation, g->op_count}))
            return SONDE_ENOMEM;
        g->op_count++;
    }
    l->ops.count = 0;
    return 0;
}

/* ---- order within a queue ------------------------------------------------------------ */

static int by_end(const void *left, const void *right, void *user)
{
    const struct sonde__cp_op *ops = user;
    const uint32_t *a = left, *b = right;
    if (ops[*a].end != ops[*b].end)
        return ops[*a].end < ops[*b].end ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

static int sort_by_end(struct sonde__cp_graph *g, struct sonde__cp_lane *lane)
{
    bool sorted = true;
    for (uint32_t i = 1; i < lane->count && sorted; i++)
        sorted = g->ops[lane->first + i].end >= g->ops[lane->first + i - 1].end;
    if (sorted)
        return 0;
    lane->by_end = malloc(lane->count * sizeof *lane->by_end);
    if (!lane->by_end)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < lane->count; i++)
        lane->by_end[i] = lane->first + i;
    qsort_r(lane->by_end, lane->count, sizeof *lane->by_end, by_end, g->ops);
    return 0;
}

/* In-order queues: each operation comes after the last that ended by its start.
 * Usually that is the one before; nodes of a graph may run side by side. */
static int order_lane(struct sonde__cp_graph *g, struct sonde__cp_lane *lane)
{
    struct sonde__cp_op *ops = g->ops + lane->first;
    for (uint32_t i = 1; i < lane->count && !lane->out_of_order; i++)
        if (ops[i].start < ops[i - 1].end && ops[i - 1].end - ops[i].start <= g->bound) {
            ops[i].start = ops[i - 1].end;
            ops[i].end = ops[i].end < ops[i].start ? ops[i].start : ops[i].end;
        }
    int rc = sort_by_end(g, lane);
    if (rc || lane->out_of_order)
        return rc;
    uint32_t ended = 0; /* in the order of ends */
    for (uint32_t i = 0; i < lane->count; i++) {
        link best = 0;
        if (!lane->by_end) {
            best = i && ops[i - 1].end <= ops[i].start ? lane->first + i : 0;
        } else {
            while (ended < lane->count && g->ops[lane->by_end[ended]].end <= ops[i].start)
                ended++;
            for (uint32_t k = ended; k > 0 && !best; k--) /* skips itself and what only looks earlier */
                best = lane->by_end[k - 1] < lane->first + i ? lane->by_end[k - 1] + 1 : 0;
        }
        ops[i].before = best;
    }
    return 0;
}

/* ---- lanes --------------------------------------------------------------------------- */

static int find_lanes(struct loader *l)
{
    struct sonde__cp_graph *g = l->l.g;
    const struct sonde_process *p = g->process;
    g->lanes = calloc(p->lane_count + 1, sizeof *g->lanes);
    g->threads = calloc(p->lane_count + 1, sizeof *g->threads);
    l->l.thread_of = calloc(p->lane_count + 1, sizeof *l->l.thread_of);
    l->l.queue_of = calloc(p->lane_count + 1, sizeof *l->l.queue_of);
    if (!g->lanes || !g->threads || !l->l.thread_of || !l->l.queue_of || p->lane_count >= 1u << 24)
        return SONDE_ENOMEM;
    for (uint32_t i = 1; i < p->lane_count; i++) {
        const struct sonde_row_lane *row = &p->lanes[i];
        if (row->kind == SONDE_LANE_KIND_THREAD) {
            l->l.thread_of[i] = g->thread_count + 1;
            g->threads[g->thread_count++] = (struct sonde__cp_thread){
                .lane = i, .start_ns = row->start_ns, .end_ns = row->threads > 1 ? 0 : row->end_ns};
        } else if (row->kind == SONDE_LANE_KIND_QUEUE) {
            l->l.queue_of[i] = g->lane_count + 1;
            g->lanes[g->lane_count++] = (struct sonde__cp_lane){
                .lane = i,
                .device = row->device,
                .context = row->context,
                .out_of_order = row->flags & SONDE_LANE_OUT_OF_ORDER,
                .legacy = row->flags & SONDE_LANE_LEGACY,
                .non_blocking = row->flags & SONDE_LANE_NON_BLOCKING,
            };
        }
    }
    for (uint32_t i = 0; i < g->lane_count; i++)
        for (uint32_t k = 0; k < g->lane_count && g->lanes[i].legacy; k++)
            if (sonde__cp_in_step(g, i, k))
                g->lanes[k].default_lane = i + 1;
    return 0;
}

/* The thread with the process's own id; else the one that called first. */
static void find_main(struct sonde__cp_graph *g)
{
    for (uint32_t t = 0; t < g->thread_count && !g->main; t++)
        if (g->process->lanes[g->threads[t].lane].tid == g->process->header.pid)
            g->main = t + 1;
    if (!g->main && g->call_count)
        g->main = g->calls[0].thread + 1;
}

/* ---- all together --------------------------------------------------------------------- */

static int by_correlation(const void *left, const void *right)
{
    const struct sonde__cp_key *a = left, *b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static int point_order(const void *left, const void *right)
{
    const struct sonde__cp_point *a = left, *b = right;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

/* One queue after the other. */
static int add_ops(void *user, const struct sonde_trace_window *w)
{
    struct loader *l = user;
    struct sonde__cp_graph *g = l->l.g;
    const struct sonde_trace_lane *lane = &w->lanes[0];
    int rc = 0;
    if (!l->l.queue_of[lane->lane])
        return 0;
    l->lane = l->l.queue_of[lane->lane] - 1;
    for (uint32_t i = 0; i < lane->op_count && !rc; i++)
        if (lane->ops[i].start_ns >= w->from_ns)
            rc = add_op(l, &lane->ops[i]);
    for (uint32_t i = 0; i < lane->untimed_count && !rc; i++)
        if (lane->untimed[i].start_ns >= g->from)
            rc = add_op(l, &lane->untimed[i]);
    if (rc || w->to_ns != UINT64_MAX)
        return rc;
    rc = take_lane(l, &g->lanes[l->lane]);
    return rc ? rc : order_lane(g, &g->lanes[l->lane]);
}

static int load_ops(struct loader *l)
{
    struct sonde__cp_graph *g = l->l.g;
    const struct sonde_trace_options wanted = {
        .tables = SONDE_READ_OPS,
        .from_ns = g->from,
        .by_lane = true,
        .threads = 1,
        .progress = l->progress,
        .op_fields = SONDE_FIELD(sonde_row_op, enter_ns) | SONDE_FIELD(sonde_row_op, correlation) | SONDE_FIELD(sonde_row_op, node),
    };
    /* At once where all are wanted: memory that grows leaves holes. */
    int rc = make_room(l, g->from ? 0 : sonde_trace_extent(g->process, SONDE_READ_OPS).rows);
    rc = rc ? rc : sonde_trace_pass(g->process, &wanted, add_ops, l);
    if (l->l.keys.count)
        qsort(l->l.keys.items, l->l.keys.count, sizeof *l->l.keys.items, by_correlation);
    if (l->l.points.count)
        qsort(l->l.points.items, l->l.points.count, sizeof *l->l.points.items, point_order);
    return rc;
}

static void find_ends(struct sonde__cp_graph *g)
{
    g->begin = g->from ? g->from : g->recorded->begin_ns;
    for (uint32_t i = 0; i < g->call_count; i++) {
        g->begin = g->calls[i].enter < g->begin ? g->calls[i].enter : g->begin;
        g->end = g->calls[i].leave > g->end ? g->calls[i].leave : g->end;
    }
    for (uint32_t i = 0; i < g->op_count; i++) {
        g->begin = g->ops[i].start < g->begin ? g->ops[i].start : g->begin;
        g->end = g->ops[i].end > g->end ? g->ops[i].end : g->end;
    }
    g->end = g->end < g->begin ? g->begin : g->end;
    for (uint32_t t = 0; t < g->thread_count; t++) {
        struct sonde__cp_thread *thread = &g->threads[t];
        const uint64_t enter = thread->first ? g->calls[thread->first - 1].enter : UINT64_MAX;
        thread->start_ns = thread->start_ns > enter ? enter : thread->start_ns;
        if (thread->start_ns < g->begin || g->from || !g->main || t == g->main - 1)
            thread->start_ns = g->begin;
    }
}

static int load(struct loader *l, uint64_t max_rows)
{
    struct sonde__cp_graph *g = l->l.g;
    g->from = sonde_trace_last(g->process, SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_MESSAGES, max_rows);
    int rc = find_lanes(l);
    if (!rc)
        rc = load_calls(l);
    if (rc)
        return rc;
    l->named = sonde_trace_extent(g->process, SONDE_READ_WAITS).rows;
    rc = load_ops(l);
    if (rc)
        return rc;
    find_main(g);
    find_ends(g);
    rc = sonde__cp_add_waits(&l->l);
    if (rc || g->for_rows)
        return rc;
    return sonde__cp_load_cpu(&l->l);
}

int sonde__cp_load(const struct sonde_process *p, const struct sonde_recorded *recorded, uint64_t max_rows,
                   struct sonde_progress *progress, struct sonde__cp_graph *g)
{
    struct loader l = {.l = {.g = g}, .progress = progress};
    g->process = p;
    g->recorded = recorded;
    g->bound = p->header.clock_bound_ns;
    int rc = load(&l, max_rows);
    sonde_vector_fini(&l.calls);
    sonde_vector_fini(&l.ops);
    sonde_vector_fini(&l.l.keys);
    sonde_vector_fini(&l.l.points);
    sonde_vector_fini(&l.l.blocked);
    sonde_map_fini(&l.classes);
    free(l.l.thread_of);
    free(l.l.queue_of);
    if (g->for_rows)
        g->call_keys = l.call_keys;
    else
        free(l.call_keys);
    free(l.enters);
    return rc;
}

void sonde__cp_fini(struct sonde__cp_graph *g)
{
    for (uint32_t i = 0; i < g->lane_count; i++)
        free(g->lanes[i].by_end);
    free(g->calls);
    free(g->listed);
    free(g->ops);
    free(g->op_rows);
    free(g->call_keys);
    free(g->lanes);
    free(g->threads);
    free(g->call_waits);
    free(g->op_waits);
    free(g->samples);
    free(g->switches);
    free(g->sleeps);
    free(g->waits);
    memset(g, 0, sizeof *g);
}
