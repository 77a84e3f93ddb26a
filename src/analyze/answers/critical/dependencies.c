/* dependencies.c - the edges of the graph (graph.h) around one operation or call, both ways.
 *
 * What had to finish before it: the same rules as cause.c, which picks of them the one that finished last; here all are told.
 * Of "all earlier work" of an in-order queue its last operation stands for the rest, which ended before; of an out-of-order
 * queue all do that no barrier stands for.
 *
 * What waited for it is found the other way round, by the same conditions: y is after x where x is before y. The tests check
 * that of every pair.
 */
#include "dependencies.h"

#include <pthread.h>
#include <stdlib.h>

#include "analyze/model/recorded.h"
#include "analyze/trace/trace.h"
#include "graph.h"

struct edge {
    bool is_call;        /* the other end */
    uint32_t id, reasons;
    uint64_t time;       /* when it had finished */
    uint64_t moment;     /* after: when what waited went on */
    bool inferred;
};
struct edges {
    const struct sonde__cp_graph *g;
    SONDE_VECTOR(struct edge) list;
    int rc;
};

static void add(struct edges *e, bool is_call, uint32_t id, enum sonde_dependency_reason reason, uint64_t time, uint64_t moment,
                bool inferred)
{
    if (!e->rc)
        e->rc = sonde_vector_push(&e->list, (struct edge){
                                                .is_call = is_call,
                                                .id = id,
                                                .reasons = 1u << reason,
                                                .time = time < moment ? time : moment,
                                                .moment = moment,
                                                .inferred = inferred,
                                            });
}

/* ---- what both ways have in common --------------------------------------------------------- */

/* An operation or a call that may have waited. */
struct waiter {
    bool is_call;
    uint32_t id;
    uint64_t at;         /* when it went on */
};

static struct waiter waiter_op(const struct sonde__cp_graph *g, uint32_t op)
{
    return (struct waiter){false, op, g->ops[op].start};
}

static struct waiter waiter_call(const struct sonde__cp_graph *g, uint32_t call)
{
    return (struct waiter){true, call, g->calls[call].leave};
}

/* May `op` have been waited for: did it end in time, and begin earlier? */
static bool can_precede(const struct sonde__cp_graph *g, uint32_t op, const struct waiter *w)
{
    if (g->ops[op].end > w->at + g->bound)
        return false;
    if (!w->is_call)
        return sonde__cp_began_earlier(g, op, w->id);
    return g->ops[op].start < w->at || (g->ops[op].start == w->at && g->ops[op].call != w->id + 1);
}

static bool set_can_precede(const struct sonde__cp_graph *g, uint32_t call, const struct waiter *w)
{
    return g->calls[call].enter <= w->at && !(w->is_call && g->calls[call].thread == g->calls[w->id].thread);
}

static enum sonde_dependency_reason reason_of(const struct sonde__cp_graph *g, const struct sonde__cp_wait *wait, const struct waiter *w)
{
    if (!w->is_call && wait->what != CP_OP)
        return sonde_op_kind_is(g->ops[w->id].kind, SONDE_KIND_AFTER_ALL) ? SONDE_DEPENDENCY_BARRIER : SONDE_DEPENDENCY_EVENT;
    switch (wait->what) {
    case CP_OP:
        return w->is_call ? SONDE_DEPENDENCY_CALL_WAIT : SONDE_DEPENDENCY_WAIT_LIST;
    case CP_LANE: /* an event was recorded before the call */
        return wait->until > g->calls[w->id].enter ? SONDE_DEPENDENCY_CALL_QUEUE : SONDE_DEPENDENCY_EVENT;
    default:
        return SONDE_DEPENDENCY_CALL_DEVICE;
    }
}

static enum sonde_dependency_reason reason_of_order(const struct sonde__cp_graph *g, uint32_t op)
{
    return g->lanes[g->ops[op].lane].out_of_order ? SONDE_DEPENDENCY_BARRIER : SONDE_DEPENDENCY_QUEUE;
}

/* Does a barrier of an out-of-order queue wait for all before it, as later operations wait for it? Then it stands for them. */
static bool stands_for_all(const struct sonde__cp_graph *g, uint32_t op)
{
    const uint32_t lane = g->ops[op].lane;
    uint32_t i, end;
    if (!sonde_op_kind_is(g->ops[op].kind, SONDE_KIND_BEFORE_ALL) || !g->ops[op].waits)
        return false;
    end = sonde__cp_waits(g->op_waits, g->op_wait_count, op, &i);
    for (; i < end; i++)
        if (g->op_waits[i].what == CP_LANE && g->op_waits[i].id == lane)
            return true;
    return false;
}

/* ---- what it waited for ------------------------------------------------------------------------ */

/* All of a lane that was enqueued before `until`. */
static void add_lane(struct edges *e, uint32_t lane, uint64_t until, const struct waiter *w, enum sonde_dependency_reason reason, bool inferred)
{
    const struct sonde__cp_graph *g = e->g;
    const struct sonde__cp_lane *q = &g->lanes[lane];
    for (uint32_t ended = sonde__cp_ended(g, lane, w->at + g->bound); ended > 0; ended--) {
        const uint32_t op = sonde__cp_nth_to_end(q, ended - 1);
        if (sonde__cp_enqueued(g, op) >= until)
            continue;
        if (can_precede(g, op, w))
            add(e, false, op, reason, g->ops[op].end, w->at, inferred);
        if (!q->out_of_order || stands_for_all(g, op))
            break;
    }
}

static void add_wait(struct edges *e, const struct sonde__cp_wait *wait, const struct waiter *w)
{
    const struct sonde__cp_graph *g = e->g;
    const enum sonde_dependency_reason reason = reason_of(g, wait, w);
    uint32_t lane, end;
    if (wait->what == CP_SET) {
        if (set_can_precede(g, wait->id, w))
            add(e, true, wait->id, SONDE_DEPENDENCY_USER_EVENT, g->calls[wait->id].leave, w->at, false);
        return;
    }
    if (wait->what == CP_OP) {
        if (can_precede(g, wait->id, w))
            add(e, false, wait->id, reason, g->ops[wait->id].end, w->at, wait->inferred);
        return;
    }
    end = sonde__cp_covered(g, wait, &lane);
    for (; lane < end; lane++)
        if (sonde__cp_covers(g, wait, lane))
            add_lane(e, lane, wait->until, w, reason, wait->inferred);
}

static void before_op(struct edges *e, uint32_t id)
{
    const struct sonde__cp_graph *g = e->g;
    const struct sonde__cp_op *op = &g->ops[id];
    const struct waiter w = waiter_op(g, id);
    uint32_t i, end = op->waits ? sonde__cp_waits(g->op_waits, g->op_wait_count, id, &i) : (i = 0);
    if (op->before)
        add(e, false, op->before - 1, reason_of_order(g, id), g->ops[op->before - 1].end, w.at, false);
    for (; i < end; i++)
        add_wait(e, &g->op_waits[i], &w);
    for (end = sonde__cp_default_lanes(g, op->lane, &i); i < end; i++)
        if (sonde__cp_in_step(g, op->lane, i))
            add_lane(e, i, sonde__cp_enqueued(g, id), &w, SONDE_DEPENDENCY_DEFAULT_STREAM, false);
    if (op->call)
        add(e, true, op->call - 1, SONDE_DEPENDENCY_SUBMISSION, sonde__cp_submitted(g, id), w.at, false);
}

static void before_call(struct edges *e, uint32_t id)
{
    const struct sonde__cp_graph *g = e->g;
    const struct waiter w = waiter_call(g, id);
    uint32_t i, end = g->calls[id].waits ? sonde__cp_waits(g->call_waits, g->call_wait_count, id, &i) : (i = 0);
    for (; i < end; i++)
        add_wait(e, &g->call_waits[i], &w);
}

/* ---- what waited for it --------------------------------------------------------------------------- */

/* An operation, and when it is told where all earlier work of its lane is waited for. */
struct awaited {
    uint32_t id, lane;
    uint32_t place;      /* in the order of ends */
    link barrier;        /* out-of-order: the next that stands for it */
};

static struct awaited awaited_op(const struct sonde__cp_graph *g, uint32_t id)
{
    const struct sonde__cp_lane *q = &g->lanes[g->ops[id].lane];
    struct awaited a = {.id = id, .lane = g->ops[id].lane};
    while (sonde__cp_nth_to_end(q, a.place) != id)
        a.place++;
    for (uint32_t n = a.place + 1; n < q->count && q->out_of_order && !a.barrier; n++)
        if (stands_for_all(g, sonde__cp_nth_to_end(q, n)))
            a.barrier = sonde__cp_nth_to_end(q, n) + 1;
    return a;
}

/* Is it one of those that add_lane tells? */
static bool is_told(const struct sonde__cp_graph *g, const struct awaited *a, uint64_t until, const struct waiter *w)
{
    const struct sonde__cp_lane *q = &g->lanes[a->lane];
    const uint64_t limit = w->at + g->bound;
    if (sonde__cp_enqueued(g, a->id) >= until || !can_precede(g, a->id, w))
        return false;
    if (q->out_of_order)
        return !a->barrier || g->ops[a->barrier - 1].end > limit || sonde__cp_enqueued(g, a->barrier - 1) >= until;
    for (uint32_t n = a->place + 1; n < q->count; n++) {
        const uint32_t next = sonde__cp_nth_to_end(q, n);
        if (g->ops[next].end > limit)
            return true;
        if (sonde__cp_enqueued(g, next) < until)
            return false;
    }
    return true;
}

static void offer(struct edges *e, const struct awaited *a, const struct sonde__cp_wait *wait, const struct waiter *w)
{
    const struct sonde__cp_graph *g = e->g;
    const bool named = wait->what == CP_OP && wait->id == a->id && can_precede(g, a->id, w);
    const bool covered = wait->what != CP_OP && wait->what != CP_SET && sonde__cp_covers(g, wait, a->lane) && is_told(g, a, wait->until, w);
    if (named || covered)
        add(e, w->is_call, w->id, reason_of(g, wait, w), g->ops[a->id].end, w->at, wait->inferred);
}

/* Operations of other lanes of its context that wait without saying so. */
static void after_by_default(struct edges *e, const struct awaited *a)
{
    const struct sonde__cp_graph *g = e->g;
    for (uint32_t lane = 0; lane < g->lane_count; lane++) {
        const struct sonde__cp_lane *q = &g->lanes[lane];
        uint32_t first, end = sonde__cp_default_lanes(g, lane, &first);
        if (a->lane < first || a->lane >= end || !sonde__cp_in_step(g, lane, a->lane))
            continue;
        for (uint32_t id = q->first; id < q->first + q->count; id++) {
            const struct waiter w = waiter_op(g, id);
            if (is_told(g, a, sonde__cp_enqueued(g, id), &w))
                add(e, false, id, SONDE_DEPENDENCY_DEFAULT_STREAM, g->ops[a->id].end, w.at, false);
        }
    }
}

static void after_op(struct edges *e, uint32_t id)
{
    const struct sonde__cp_graph *g = e->g;
    const struct awaited a = awaited_op(g, id);
    const struct sonde__cp_lane *q = &g->lanes[a.lane];
    for (uint32_t other = q->first; other < q->first + q->count; other++)
        if (g->ops[other].before == id + 1)
            add(e, false, other, reason_of_order(g, other), g->ops[id].end, g->ops[other].start, false);
    for (uint32_t i = 0; i < g->op_wait_count; i++) {
        const struct waiter w = waiter_op(g, g->op_waits[i].target);
        offer(e, &a, &g->op_waits[i], &w);
    }
    for (uint32_t i = 0; i < g->call_wait_count; i++) {
        const struct waiter w = waiter_call(g, g->call_waits[i].target);
        offer(e, &a, &g->call_waits[i], &w);
    }
    after_by_default(e, &a);
}

/* Those that wait for a user event that the call completed. */
static void after_set(struct edges *e, uint32_t id, const struct sonde__cp_wait *wait, const struct waiter *w)
{
    if (wait->what == CP_SET && wait->id == id && set_can_precede(e->g, id, w))
        add(e, w->is_call, w->id, SONDE_DEPENDENCY_USER_EVENT, e->g->calls[id].leave, w->at, false);
}

static void after_call(struct edges *e, uint32_t id)
{
    const struct sonde__cp_graph *g = e->g;
    for (uint32_t op = 0; op < g->op_count; op++)
        if (g->ops[op].call == id + 1)
            add(e, false, op, SONDE_DEPENDENCY_SUBMISSION, sonde__cp_submitted(g, op), g->ops[op].start, false);
    for (uint32_t i = 0; i < g->op_wait_count; i++) {
        const struct waiter w = waiter_op(g, g->op_waits[i].target);
        after_set(e, id, &g->op_waits[i], &w);
    }
    for (uint32_t i = 0; i < g->call_wait_count; i++) {
        const struct waiter w = waiter_call(g, g->call_waits[i].target);
        after_set(e, id, &g->call_waits[i], &w);
    }
}

/* ---- the answer --------------------------------------------------------------------------------------- */

static int by_id(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->is_call != b->is_call)
        return a->is_call ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int latest_first(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    return a->time != b->time ? (a->time > b->time ? -1 : 1) : by_id(left, right);
}

static int by_moment(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    return a->moment != b->moment ? (a->moment < b->moment ? -1 : 1) : by_id(left, right);
}

/* Two reasons to wait for one thing are one dependency; it is inferred where no row says any of them. */
static void join(struct edges *e)
{
    struct edge *list = e->list.items;
    size_t kept = 0;
    if (e->list.count)
        qsort(list, e->list.count, sizeof *list, by_id);
    for (size_t i = 0; i < e->list.count; i++) {
        if (!kept || by_id(&list[kept - 1], &list[i]) != 0) {
            list[kept++] = list[i];
            continue;
        }
        list[kept - 1].reasons |= list[i].reasons;
        list[kept - 1].inferred &= list[i].inferred;
        list[kept - 1].time = list[i].time > list[kept - 1].time ? list[i].time : list[kept - 1].time;
    }
    e->list.count = kept;
}

static struct sonde_dependency_step step_of(const struct sonde__cp_graph *g, bool is_call, uint32_t id)
{
    if (is_call) {
        const struct sonde__cp_call *call = &g->calls[id];
        return (struct sonde_dependency_step){true, g->threads[call->thread].lane, call->node, g->call_keys[id], call->enter, call->leave};
    }
    const struct sonde__cp_op *op = &g->ops[id];
    const struct sonde__cp_row *row = &g->op_rows[id];
    return (struct sonde_dependency_step){false, g->lanes[op->lane].lane, op->node, row->correlation, row->start, row->end};
}

static struct sonde__cp_cause cause_of(const struct sonde__cp_graph *g, bool is_call, uint32_t id)
{
    return is_call ? sonde__cp_call_cause(g, id, g->calls[id].leave) : sonde__cp_op_cause(g, id);
}

/* Until when could something else have finished, and had not decided? A call that nothing held up would have been by what finishes
 * within it. */
static uint64_t limit_of(const struct sonde__cp_graph *g, const struct sonde__cp_cause *cause, bool is_call, uint32_t waiter)
{
    if (cause->kind == CP_NOTHING)
        return is_call ? g->calls[waiter].enter : g->ops[waiter].start;
    if (!is_call && cause->kind == CP_CALL && cause->id + 1 == g->ops[waiter].call)
        return sonde__cp_submitted(g, waiter); /* which is not after the cause's time */
    return cause->time;
}

/* Of two that depend, where `cause` decided for the one that waited. */
static struct sonde_dependency dependency_of(const struct sonde__cp_graph *g, const struct edge *told, const struct sonde__cp_cause *cause,
                                             bool is_call, uint32_t waiter, bool other_is_call, uint32_t other)
{
    const uint64_t limit = limit_of(g, cause, is_call, waiter);
    const bool decided = cause->kind == (other_is_call ? CP_CALL : CP_OPERATION) && cause->id == other;
    return (struct sonde_dependency){
        .step = step_of(g, told->is_call, told->id),
        .reasons = told->reasons,
        .inferred = told->inferred,
        .decided = decided,
        .slack_ns = decided || told->time > limit ? 0 : limit - told->time,
    };
}

static int tell_before(struct edges *e, bool is_call, uint32_t id, uint32_t limit, struct sonde_dependencies_of *of)
{
    const struct sonde__cp_graph *g = e->g;
    const struct sonde__cp_cause cause = cause_of(g, is_call, id);
    join(e);
    struct edge *list = e->list.items;
    if (e->list.count)
        qsort(list, e->list.count, sizeof *list, latest_first);
    for (size_t i = 0; i < e->list.count && cause.kind != CP_NOTHING; i++)
        if (list[i].is_call == (cause.kind == CP_CALL) && list[i].id == cause.id) { /* the first, of those at one time */
            const struct edge deciding = list[i];
            for (size_t k = i; k > 0; k--)
                list[k] = list[k - 1];
            list[0] = deciding;
            break;
        }
    int rc = e->rc;
    for (size_t i = 0; i < e->list.count && i < limit && !rc; i++)
        rc = sonde_vector_push(&of->before, dependency_of(g, &list[i], &cause, is_call, id, list[i].is_call, list[i].id));
    of->before_left_out = e->list.count - of->before.count;
    of->has_delay = !is_call && cause.kind != CP_NOTHING;
    of->delay_ns = of->has_delay ? g->ops[id].start - cause.time : 0;
    return rc;
}

static int tell_after(struct edges *e, bool is_call, uint32_t id, uint32_t limit, struct sonde_dependencies_of *of)
{
    const struct sonde__cp_graph *g = e->g;
    join(e);
    struct edge *list = e->list.items;
    if (e->list.count)
        qsort(list, e->list.count, sizeof *list, by_moment);
    int rc = e->rc;
    for (size_t i = 0; i < e->list.count && i < limit && !rc; i++) {
        const struct sonde__cp_cause cause = cause_of(g, list[i].is_call, list[i].id);
        rc = sonde_vector_push(&of->after, dependency_of(g, &list[i], &cause, list[i].is_call, list[i].id, is_call, id));
    }
    of->after_left_out = e->list.count - of->after.count;
    return rc;
}

static int tell(const struct sonde__cp_graph *g, bool is_call, uint32_t id, uint32_t limit, struct sonde_dependencies_of *of)
{
    struct edges before = {.g = g}, after = {.g = g};
    of->step = step_of(g, is_call, id);
    if (is_call) {
        before_call(&before, id);
        after_call(&after, id);
    } else {
        before_op(&before, id);
        after_op(&after, id);
    }
    int rc = tell_before(&before, is_call, id, limit, of);
    rc = rc ? rc : tell_after(&after, is_call, id, limit, of);
    sonde_vector_fini(&before.list);
    sonde_vector_fini(&after.list);
    return rc;
}

/* ---- questions ------------------------------------------------------------------------------------------ */

struct sonde_dependencies {
    const struct sonde_measurement *m;
    uint64_t max_rows;
    pthread_mutex_t lock;
    /* The process that was asked about last; UINT32_MAX: none. */
    uint32_t process;
    struct sonde_recorded recorded;
    struct sonde__cp_graph g;
};

int sonde_dependencies_create(const struct sonde_measurement *m, uint64_t max_rows, struct sonde_dependencies **out)
{
    struct sonde_dependencies *d = *out = calloc(1, sizeof *d);
    if (!d)
        return SONDE_ENOMEM;
    d->m = m;
    d->max_rows = max_rows;
    d->process = UINT32_MAX;
    pthread_mutex_init(&d->lock, NULL);
    return 0;
}

static void forget(struct sonde_dependencies *d)
{
    sonde__cp_fini(&d->g);
    sonde_recorded_fini(&d->recorded);
    d->recorded = (struct sonde_recorded){0};
    d->process = UINT32_MAX;
}

void sonde_dependencies_destroy(struct sonde_dependencies *d)
{
    if (!d)
        return;
    forget(d);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* With the lock held. */
static int load(struct sonde_dependencies *d, uint32_t process, struct sonde_dependencies_of *of)
{
    const struct sonde_process *p = &d->m->processes[process];
    int rc = 0;
    if (d->process != process) {
        forget(d);
        d->g.for_rows = true;
        rc = sonde_recorded_compute(d->m, p, &d->recorded);
        rc = rc ? rc : sonde__cp_load(p, &d->recorded, d->max_rows, NULL, &d->g);
        d->process = process;
    }
    if (rc)
        forget(d);
    of->dropped = p->header.ledger.call_rows_dropped || p->header.cpu.wait_rows_dropped;
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        of->dropped |= p->header.ledger.dropped[cause] > 0;
    return rc;
}

static link find_op(const struct sonde__cp_graph *g, uint32_t lane, const struct sonde_row_op *row)
{
    for (uint32_t i = 0; i < g->lane_count; i++)
        if (g->lanes[i].lane == lane)
            return sonde__cp_op_of_row(g, i, row);
    return 0;
}

static enum sonde_dependency_unknown why_unknown(const struct sonde__cp_graph *g, const struct sonde_row_op *row)
{
    if (sonde_op_kind_is(row->kind, SONDE_KIND_POINT))
        return SONDE_DEPENDENCY_POINT;
    if (sonde_op_kind_is(row->kind, SONDE_KIND_CALL))
        return SONDE_DEPENDENCY_SYNCHRONIZE;
    if (sonde_op_kind_is(row->kind, SONDE_KIND_COLLECTIVE))
        return SONDE_DEPENDENCY_COLLECTIVE;
    if (!sonde_op_has_times(row->flags, row->start_ns, row->end_ns))
        return SONDE_DEPENDENCY_UNTIMED;
    return row->start_ns < g->from ? SONDE_DEPENDENCY_EARLIER : SONDE_DEPENDENCY_UNREAD;
}

static int answer_op(const struct sonde__cp_graph *g, uint32_t lane, const struct sonde_row_op *row, uint32_t limit,
                     struct sonde_dependencies_of *of)
{
    const link op = sonde_op_has_times(row->flags, row->start_ns, row->end_ns) ? find_op(g, lane, row) : 0;
    if (op)
        return tell(g, false, op - 1, limit, of);
    of->unknown = why_unknown(g, row);
    of->step = (struct sonde_dependency_step){false, lane, row->node, row->correlation, row->start_ns, row->end_ns};
    return 0;
}

int sonde_dependencies_of_op(struct sonde_dependencies *d, uint32_t process, uint32_t lane, const struct sonde_row_op *row,
                             uint32_t limit, struct sonde_dependencies_of *of)
{
    pthread_mutex_lock(&d->lock);
    int rc = load(d, process, of);
    rc = rc ? rc : answer_op(&d->g, lane, row, limit, of);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static int answer_call(const struct sonde__cp_graph *g, uint32_t lane, uint64_t at_ns, uint32_t limit, struct sonde_dependencies_of *of)
{
    link call = 0;
    for (uint32_t t = 0; t < g->thread_count; t++)
        if (g->threads[t].lane == lane)
            call = sonde__cp_call_at(g, t, at_ns);
    if (call && (at_ns < g->calls[call - 1].leave || at_ns == g->calls[call - 1].enter))
        return tell(g, true, call - 1, limit, of);
    if (at_ns >= g->from)
        return SONDE_ENOTFOUND;
    of->unknown = SONDE_DEPENDENCY_EARLIER;
    of->step = (struct sonde_dependency_step){.is_call = true, .lane = lane, .begin_ns = at_ns, .end_ns = at_ns};
    return 0;
}

int sonde_dependencies_of_call(struct sonde_dependencies *d, uint32_t process, uint32_t lane, uint64_t at_ns, uint32_t limit,
                               struct sonde_dependencies_of *of)
{
    pthread_mutex_lock(&d->lock);
    int rc = load(d, process, of);
    rc = rc ? rc : answer_call(&d->g, lane, at_ns, limit, of);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

void sonde_dependencies_of_fini(struct sonde_dependencies_of *of)
{
    sonde_vector_fini(&of->before);
    sonde_vector_fini(&of->after);
}

/* ---- words ------------------------------------------------------------------------------------------------ */

const char *sonde_dependency_reason_name(enum sonde_dependency_reason reason)
{
    static const char *const names[] = {
#define X(name, json, text) json,
        SONDE_DEPENDENCY_MAP(X)
#undef X
    };
    return names[reason];
}

const char *sonde_dependency_unknown_name(enum sonde_dependency_unknown unknown)
{
    static const char *const names[] = {
        NULL,
#define X(name, json, text) json,
        SONDE_DEPENDENCY_UNKNOWN_MAP(X)
#undef X
    };
    return names[unknown];
}
