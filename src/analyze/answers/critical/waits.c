/* waits.c - what calls and operations of a process waited for: WAIT rows,
 * barriers of out-of-order queues, and what must be inferred. docs/critical-path.md,
 * "Dependencies", says what each rule is.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

typedef SONDE_VECTOR(struct sonde__cp_wait) waits;

struct resolver {
    const struct sonde__cp_loading *l;
    struct sonde__cp_graph *g;
    waits calls, ops;
    uint32_t thread;
    bool calls_say;       /* at least one call says what it waited for */
    struct sonde_map sets; /* number of a user event -> the call that completed it */
    bool sets_known;
};

/* ---- names of operations ----------------------------------------------------------- */

static size_t first_key(const struct sonde__cp_loading *l, uint64_t correlation)
{
    size_t low = 0, high = l->keys.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->keys.items[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of the operations of one correlation (a graph has many) the one that ended last. */
static link find_op(const struct sonde__cp_loading *l, uint64_t correlation)
{
    link best = 0;
    for (size_t i = first_key(l, correlation); i < l->keys.count && l->keys.items[i].correlation == correlation; i++)
        if (!best || l->g->ops[l->keys.items[i].op].end > l->g->ops[best - 1].end)
            best = l->keys.items[i].op + 1;
    return best;
}

static const struct sonde__cp_point *find_point(const struct sonde__cp_loading *l, uint64_t correlation)
{
    size_t low = 0, high = l->points.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->points.items[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->points.count && l->points.items[low].correlation == correlation ? &l->points.items[low] : NULL;
}

/* The first operation that was enqueued to a lane after `enter`: it is what a wait put into the queue holds back. */
static link next_in_lane(const struct sonde__cp_graph *g, uint32_t lane, uint64_t enter)
{
    const struct sonde__cp_lane *q = &g->lanes[lane];
    uint32_t low = q->first, high = q->first + q->count;
    while (low < high) { /* what is enqueued later starts later */
        uint32_t middle = low + (high - low) / 2;
        if (g->ops[middle].start <= enter)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < q->first + q->count; low++)
        if (sonde__cp_enqueued(g, low) > enter)
            return low + 1;
    return 0;
}

/* ---- rows --------------------------------------------------------------------------- */

static link call_of(const struct resolver *r, uint64_t enter)
{
    link call = sonde__cp_call_at(r->g, r->thread, enter);
    return call && r->g->calls[call - 1].enter == enter ? call : 0;
}

/* What is named, into `wait`; false when it is not there. */
static bool name_awaited(const struct resolver *r, const struct sonde_row_wait *row, struct sonde__cp_wait *wait)
{
    const uint32_t lanes = r->g->process->lane_count;
    uint64_t set;
    if (row->awaited & SONDE_WAIT_USER_EVENT) {
        if (!sonde_map_get(&r->sets, row->awaited, &set))
            return false;
        wait->what = CP_SET;
        wait->id = (uint32_t)set;
        return true;
    }
    if (row->awaited) {
        const link op = find_op(r->l, row->awaited);
        const struct sonde__cp_point *point = op ? NULL : find_point(r->l, row->awaited);
        if (op) {
            wait->what = CP_OP;
            wait->id = op - 1;
        } else if (point) { /* an event: all that its queue had before it was recorded */
            wait->what = CP_LANE;
            wait->id = point->lane;
            wait->until = point->enter;
        }
        return op || point;
    }
    if (row->lane) {
        const uint32_t lane = row->lane < lanes ? r->l->queue_of[row->lane] : 0;
        wait->what = CP_LANE;
        wait->id = lane - 1;
        return lane > 0;
    }
    wait->what = row->device ? CP_DEVICE : CP_PROCESS;
    wait->id = row->device;
    return true;
}

static int add_row(struct resolver *r, const struct sonde_row_wait *row)
{
    struct sonde__cp_wait wait = {.until = row->enter_ns + (row->waiter == 0)};
    if (row->waiter & SONDE_WAIT_USER_EVENT || !name_awaited(r, row, &wait))
        return 0;
    if (row->waiter == 0) {
        const link call = call_of(r, row->enter_ns);
        r->calls_say = true;
        wait.target = call - 1;
        return call ? sonde_vector_push(&r->calls, wait) : 0;
    }
    const struct sonde__cp_point *point = find_point(r->l, row->waiter);
    const link op = point ? next_in_lane(r->g, point->lane, point->enter) : 0;
    if (op) {
        wait.target = op - 1;
        return sonde_vector_push(&r->ops, wait);
    }
    int rc = 0;
    const size_t count = r->l->keys.count;
    const struct sonde__cp_key *keys = r->l->keys.items;
    for (size_t i = first_key(r->l, row->waiter); i < count && keys[i].correlation == row->waiter && !rc; i++) {
        wait.target = keys[i].op;
        if (wait.what != CP_OP || wait.id != wait.target)
            rc = sonde_vector_push(&r->ops, wait);
    }
    return rc;
}

/* Which call completed which user event; the first that did. */
static int add_set(struct resolver *r, const struct sonde_row_wait *row)
{
    const link call = row->waiter & SONDE_WAIT_USER_EVENT ? call_of(r, row->enter_ns) : 0;
    uint64_t known;
    return call && !sonde_map_get(&r->sets, row->waiter, &known) ? sonde_map_put(&r->sets, row->waiter, call - 1) : 0;
}

static int add_rows(void *user, const struct sonde_trace_window *w)
{
    struct resolver *r = user;
    const struct sonde_trace_lane *lane = &w->lanes[0];
    const uint32_t thread = r->l->thread_of[lane->lane];
    int rc = 0;
    r->thread = thread - 1;
    for (uint32_t i = 0; i < lane->wait_count && thread && !rc; i++)
        rc = r->sets_known ? add_row(r, &lane->waits[i]) : add_set(r, &lane->waits[i]);
    return rc;
}

/* ---- barriers of out-of-order queues ---------------------------------------------------- */

static int by_enqueue(const void *left, const void *right, void *user)
{
    const uint32_t *a = left, *b = right;
    uint64_t at = sonde__cp_enqueued(user, *a), bt = sonde__cp_enqueued(user, *b);
    return at < bt ? -1 : (at > bt ? 1 : (*a < *b ? -1 : *a > *b));
}

/* A barrier or marker without a wait list waits for all before it; what follows a barrier waits for it. */
static int add_barriers(struct resolver *r, struct sonde__cp_lane *lane)
{
    struct sonde__cp_op *ops = r->g->ops;
    uint32_t *order = malloc((lane->count + 1) * sizeof *order);
    link barrier = 0;
    int rc = order ? 0 : SONDE_ENOMEM;
    for (uint32_t i = 0; i < lane->count && !rc; i++)
        order[i] = lane->first + i;
    if (!rc)
        qsort_r(order, lane->count, sizeof *order, by_enqueue, r->g);
    for (uint32_t i = 0; i < lane->count && !rc; i++) {
        struct sonde__cp_op *op = &ops[order[i]];
        if (barrier && ops[barrier - 1].end <= op->start)
            op->before = barrier;
        if (sonde_op_kind_is(op->kind, SONDE_KIND_AFTER_ALL) && !op->waits)
            rc = sonde_vector_push(&r->ops,
                                   (struct sonde__cp_wait){
                                       .target = order[i],
                                       .what = CP_LANE,
                                       .id = (uint32_t)(lane - r->g->lanes),
                                       .until = sonde__cp_enqueued(r->g, order[i]),
                                   });
        barrier = sonde_op_kind_is(op->kind, SONDE_KIND_BEFORE_ALL) ? order[i] + 1 : barrier;
    }
    free(order);
    return rc;
}

/* ---- what must be inferred ---------------------------------------------------------------- */

/* A call that waits by its name and says not for what: the latest operation that it can have been. */
static int infer_by_name(struct resolver *r, const struct sonde__cp_blocked *blocked)
{
    const struct sonde__cp_call *call = &r->g->calls[blocked->call];
    const uint32_t lane = blocked->lane < r->g->process->lane_count ? r->l->queue_of[blocked->lane] : 0;
    link best = 0;
    if (call->waits)
        return 0;
    for (uint32_t i = 0; i < r->g->lane_count; i++) {
        link op = lane && i + 1 != lane ? 0 : sonde__cp_latest(r->g, i, call->enter + 1, call->leave + r->g->bound);
        if (op && (!best || r->g->ops[op - 1].end > r->g->ops[best - 1].end))
            best = op;
    }
    if (!best || r->g->ops[best - 1].end <= call->enter)
        return 0;
    return sonde_vector_push(&r->calls, (struct sonde__cp_wait){
                                            .target = blocked->call, .what = CP_OP, .id = best - 1, .inferred = 1});
}

/* Where no call says what it waited for: a copy that ended within its call is taken to have been waited for. */
static int infer_blocking_copies(struct resolver *r)
{
    int rc = 0;
    for (uint32_t i = 0; i < r->g->op_count && !rc && !r->calls_say; i++) {
        const struct sonde__cp_op *op = &r->g->ops[i];
        const struct sonde__cp_call *call = op->call ? &r->g->calls[op->call - 1] : NULL;
        if (call && sonde_op_kind_is(op->kind, SONDE_KIND_CAN_BLOCK) && op->end > call->enter && op->end <= call->leave)
            rc = sonde_vector_push(&r->calls, (struct sonde__cp_wait){
                                                  .target = op->call - 1, .what = CP_OP, .id = i, .inferred = 1});
    }
    return rc;
}

/* ---- all together --------------------------------------------------------------------------- */

static int by_target(const void *left, const void *right)
{
    const struct sonde__cp_wait *a = left, *b = right;
    return a->target < b->target ? -1 : a->target > b->target;
}

static void finish(waits *from, struct sonde__cp_wait **to, uint32_t *count)
{
    if (from->count)
        qsort(from->items, from->count, sizeof *from->items, by_target);
    *to = from->items;
    *count = (uint32_t)from->count;
}

static int collect(struct resolver *r)
{
    struct sonde__cp_graph *g = r->g;
    const struct sonde_trace_options wanted = {.tables = SONDE_READ_WAITS, .from_ns = g->from, .by_lane = true, .threads = 1};
    int rc = sonde_trace_pass(g->process, &wanted, add_rows, r);
    r->sets_known = true;
    rc = rc ? rc : sonde_trace_pass(g->process, &wanted, add_rows, r);
    for (size_t i = 0; i < r->ops.count; i++)
        g->ops[r->ops.items[i].target].waits = 1;
    for (size_t i = 0; i < r->calls.count; i++)
        g->calls[r->calls.items[i].target].waits = 1;
    for (uint32_t i = 0; i < g->lane_count && !rc; i++)
        if (g->lanes[i].out_of_order)
            rc = add_barriers(r, &g->lanes[i]);
    for (size_t i = 0; i < r->l->blocked.count && !rc; i++)
        rc = infer_by_name(r, &r->l->blocked.items[i]);
    if (!rc)
        rc = infer_blocking_copies(r);
    for (size_t i = 0; i < r->ops.count; i++)
        g->ops[r->ops.items[i].target].waits = 1;
    for (size_t i = 0; i < r->calls.count; i++)
        g->calls[r->calls.items[i].target].waits = 1;
    return rc;
}

int sonde__cp_add_waits(struct sonde__cp_loading *l)
{
    struct resolver r = {.l = l, .g = l->g};
    int rc = collect(&r);
    sonde_map_fini(&r.sets);
    finish(&r.calls, &l->g->call_waits, &l->g->call_wait_count);
    finish(&r.ops, &l->g->op_waits, &l->g->op_wait_count);
    return rc;
}
