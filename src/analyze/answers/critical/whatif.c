/* whatif.c - how long the run would have taken with one thing twice as fast.
 *
 * The program is replayed forwards over its dependencies, in the order in which
 * it happened: each call and operation begins when the last of what it waits for
 * has ended, and lasts as long as it did, or half as long when it is the thing
 * asked about. This is Hollingsworth's critical path zeroing (IEEE TPDS 9(10),
 * 1998) with a half instead of nothing, and on the whole graph, so that a path
 * beside the critical one limits what is saved. docs/critical-path.md, "Twice
 * as fast", says what is kept and what is taken as free.
 *
 * Several things are replayed at once: `count` columns, the last of them with
 * nothing changed.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 9 }; /* eight things and the run as it was */

struct state {                  /* of a thread; times as they would have been */
    link call;                  /* that it is in, or was in last */
    bool begun, inside;
    uint64_t at;                /* its last event, as it was */
    uint64_t now[COLUMNS];      /* the same, as it would have been */
    uint32_t sleep;             /* its next sleep */
};

struct queue {                  /* a lane */
    uint32_t next;              /* its next operation, of all */
    uint64_t *peaks;            /* out-of-order: latest end of its first operations [n][columns] */
};

struct replay {                 /* of one process */
    struct replayed *all;
    struct sonde__cp_book *b;
    const struct sonde__cp_graph *g;
    const uint32_t *things;     /* [column] */
    uint32_t count, columns;
    uint64_t *ended;            /* [operation][column] */
    uint64_t *left;             /* [call][column] */
    double *parts;              /* [pool][thing]: of its host code */
    struct state *threads;
    struct queue *queues;
    uint64_t shorter[COLUMNS]; /* of the host code that is being looked at */
};

struct replayed {               /* of all */
    struct sonde__cp_run *run;
    struct replay *list;        /* [process of the run] */
    uint32_t count;             /* things */
    struct event {
        uint64_t at;
        uint32_t kind, id, process;
    } *heap; /* what is next, of each thread and lane */
    uint32_t events;
    uint64_t last[COLUMNS];
    uint64_t *met;              /* [meeting][column]: of those who came so far the last */
    struct coming {
        uint64_t ns;
        uint32_t process, thread;
        size_t meeting;
    } *comings;                /* of threads; by time */
    size_t coming_count, come; /* come: so many are done */
    struct begun {
        uint32_t process, op;
        size_t meeting;
    } *begins; /* of kernels; by process, operation */
    size_t begin_count;
};

/* What comes first of what happens at one time: a call leaves before what it enqueued
 * starts, and what has no length has ended when the call that waited for it leaves. */
enum {
    MEETS, /* an operation that waited for other processes ends */
    LEAVES,
    STARTS_AND_ENDS,
    LEAVES_WAIT,
    BEGINS,
    WAKES,
    ENTERS,
    STARTS,
};

/* ---- what happens next -------------------------------------------------------------- */

static bool sooner(const struct event *a, const struct event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return a->process != b->process ? a->process < b->process : a->id < b->id;
}

static void push(struct replay *from, uint64_t at, uint32_t kind, uint32_t id)
{
    struct replayed *r = from->all;
    uint32_t i = r->events++;
    const struct event event = {at, kind, id, (uint32_t)(from - r->list)};
    for (; i && sooner(&event, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
        r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = event;
}

static struct event pop(struct replayed *r)
{
    const struct event top = r->heap[0], last = r->heap[--r->events];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < r->events; i = child) {
        child += child + 1 < r->events && sooner(&r->heap[child + 1], &r->heap[child]);
        if (!sooner(&r->heap[child], &last))
            break;
        r->heap[i] = r->heap[child];
    }
    r->heap[i] = last;
    return top;
}

/* What the thread does after the call that it was in last. */
static void push_thread(struct replay *r, uint32_t thread)
{
    const struct sonde__cp_thread *t = &r->g->threads[thread];
    struct state *s = &r->threads[thread];
    const link next = s->call ? r->g->calls[s->call - 1].after : t->first;
    if (s->inside) {
        const struct sonde__cp_call *call = &r->g->calls[s->call - 1];
        push(r, call->leave, call->waits ? LEAVES_WAIT : LEAVES, thread);
        return;
    }
    if (!s->begun) {
        push(r, t->start_ns, BEGINS, thread);
        return;
    }
    const uint64_t enter = next ? r->g->calls[next - 1].enter : UINT64_MAX;
    if (s->sleep < t->first_sleep + t->sleeps && r->g->sleeps[s->sleep].in <= enter)
        push(r, r->g->sleeps[s->sleep].in, WAKES, thread);
    else if (next)
        push(r, enter, ENTERS, thread);
}

static void push_lane(struct replay *r, uint32_t lane)
{
    const struct sonde__cp_lane *q = &r->g->lanes[lane];
    if (r->queues[lane].next == q->first + q->count)
        return;
    const struct sonde__cp_op *op = &r->g->ops[r->queues[lane].next];
    push(r, op->start, op->end > op->start ? STARTS : STARTS_AND_ENDS, lane);
}

/* ---- how long --------------------------------------------------------------------------- */

static uint64_t halved(const struct replay *r, uint32_t column, uint32_t thing, uint64_t ns)
{
    return column < r->count && r->things[column] == thing ? ns - ns / 2 : ns;
}

static void later(uint64_t *time, uint64_t other)
{
    *time = *time > other ? *time : other;
}

/* a + (to - from), where `to` may be a little earlier (clocks). */
static uint64_t moved(uint64_t a, uint64_t from, uint64_t to)
{
    return to >= from ? a + (to - from) : (a > from - to ? a - (from - to) : 0);
}

static void shorten(void *user, const struct sonde__cp_span *span)
{
    struct replay *r = user;
    if (span->category == SONDE_PATH_HOST && span->known == CP_POOLED) {
        for (uint32_t k = 0; k < r->count; k++)
            r->shorter[k] += (uint64_t)((double)(span->to - span->from) * r->parts[(size_t)(span->pool - 1) * r->count + k] / 2);
        return;
    }
    const uint32_t thing = sonde__cp_thing(r->b, span->category, span->node);
    for (uint32_t k = 0; k < r->count; k++)
        r->shorter[k] += r->things[k] == thing ? (span->to - span->from) / 2 : 0;
}

/* By how much the thread's host code in [from, to] is shorter, into r->shorter. */
static void host_code(struct replay *r, uint32_t thread, uint64_t from, uint64_t to)
{
    const struct state *s = &r->threads[thread];
    memset(r->shorter, 0, sizeof r->shorter);
    bool asked = false;
    for (uint32_t k = 0; k < r->count; k++)
        asked |= sonde__cp_of_host(r->b->out->path->things.items[r->things[k]].category);
    if (asked && to > from)
        sonde__cp_host_spans(r->b, thread, s->call, from, to, shorten, r);
}

/* ---- waits -------------------------------------------------------------------------------- */

/* Fold what an operation or call waited for into `out`; operations that have not
 * started yet cannot have been waited for. */
static bool started(const struct replay *r, uint32_t op)
{
    return op < r->queues[r->g->ops[op].lane].next;
}

static void after_op(const struct replay *r, uint32_t op, uint64_t out[COLUMNS])
{
    if (started(r, op))
        for (uint32_t k = 0; k < r->columns; k++)
            later(&out[k], r->ended[(size_t)op * r->columns + k]);
}

/* All of a lane enqueued before `until`: of an in-order queue the last of them; of another, all. */
static void after_lane(const struct replay *r, uint32_t lane, uint64_t until, uint64_t limit, uint64_t out[COLUMNS])
{
    const struct sonde__cp_lane *q = &r->g->lanes[lane];
    const struct queue *queue = &r->queues[lane];
    uint32_t n = queue->next;
    while (n > q->first && (sonde__cp_enqueued(r->g, n - 1) >= until || r->g->ops[n - 1].end > limit ||
                            (queue->peaks && r->g->ops[n - 1].start >= until))) {
        if (queue->peaks && sonde__cp_enqueued(r->g, n - 1) < until && r->g->ops[n - 1].end <= limit)
            after_op(r, n - 1, out);
        n--;
    }
    if (n == q->first)
        return;
    const uint64_t *end = queue->peaks ? queue->peaks + (size_t)(n - 1 - q->first) * r->columns
                                       : r->ended + (size_t)(n - 1) * r->columns;
    for (uint32_t k = 0; k < r->columns; k++)
        later(&out[k], end[k]);
}

/* What a call had done by `at`; `lag` after it has left. */
static void after_call(const struct replay *r, uint32_t index, uint64_t at, uint64_t lag, uint64_t out[COLUMNS])
{
    const struct sonde__cp_call *call = &r->g->calls[index];
    const struct state *s = &r->threads[call->thread];
    const uint32_t thing = sonde__cp_thing(r->b, sonde__cp_call_category(call), call->node);
    for (uint32_t k = 0; k < r->columns; k++)
        if (call->leave <= at)
            later(&out[k], r->left[(size_t)index * r->columns + k] + lag);
        else if (s->inside && s->call == index + 1)
            later(&out[k], s->now[k] + halved(r, k, thing, at > call->enter ? at - call->enter : 0));
}

/* All have come to it, since this one leaves; who comes later by the clocks did not keep it. */
static void after_meeting(const struct replay *r, uint32_t meeting, uint64_t out[COLUMNS])
{
    for (uint32_t k = 0; k < r->columns; k++)
        later(&out[k], r->all->met[(size_t)meeting * r->columns + k]);
}

static void after_waits(const struct replay *r, const struct sonde__cp_wait *waits, uint32_t count, uint32_t target,
                        uint64_t at, bool meetings, uint64_t out[COLUMNS])
{
    const struct sonde__cp_graph *g = r->g;
    const uint64_t limit = at + g->bound;
    uint32_t i, end = sonde__cp_waits(waits, count, target, &i);
    for (; i < end; i++) {
        const struct sonde__cp_wait *w = &waits[i];
        if (w->what == CP_SET) {
            after_call(r, w->id, at, 0, out);
            continue;
        }
        if (w->what == CP_MEETING) {
            if (meetings)
                after_meeting(r, w->id, out);
            continue;
        }
        if (w->what == CP_OP) {
            if (g->ops[w->id].end <= limit)
                after_op(r, w->id, out);
            continue;
        }
        uint32_t lane, last = sonde__cp_covered(g, w, &lane);
        for (; lane < last; lane++)
            if (sonde__cp_covers(g, w, lane))
                after_lane(r, lane, w->until, limit, out);
    }
}

/* ---- where a thread is ------------------------------------------------------------------------ */

/* Where the thread would have been when it was at `at` within its call: its leave, or earlier. */
static void within(struct replay *r, uint32_t thread, uint64_t at, uint64_t out[COLUMNS])
{
    const struct state *s = &r->threads[thread];
    const uint32_t index = s->call - 1;
    const struct sonde__cp_call *call = &r->g->calls[index];
    const uint32_t thing = sonde__cp_thing(r->b, sonde__cp_call_category(call), call->node);
    const struct sonde__cp_cause cause = sonde__cp_call_cause(r->g, index, at);
    uint64_t done[COLUMNS] = {0};
    if (call->waits)
        after_waits(r, r->g->call_waits, r->g->call_wait_count, index, at, true, done);
    if (cause.kind == CP_OPERATION)
        after_op(r, cause.id, done);
    for (uint32_t k = 0; k < r->columns; k++) {
        if (cause.kind) { /* it waited: what is its own came after */
            const uint64_t end = cause.kind == CP_OPERATION ? r->g->ops[cause.id].end : cause.time;
            const uint64_t now = s->now[k] > done[k] ? s->now[k] : done[k];
            out[k] = at >= end ? now + halved(r, k, thing, at - end) : moved(now, end, at);
        } else {
            out[k] = s->now[k] + halved(r, k, thing, at - call->enter);
            later(&out[k], done[k]);
        }
    }
}

/* The same anywhere; `at` is not before its last event. */
static void position(struct replay *r, uint32_t thread, uint64_t at, uint64_t out[COLUMNS])
{
    const struct state *s = &r->threads[thread];
    if (s->inside) {
        within(r, thread, at, out);
        return;
    }
    const link op = sonde__cp_called_back(r->g, thread, s->at, at);
    const uint64_t from = op ? r->g->ops[op - 1].end : s->at, *now = op ? r->ended + (size_t)(op - 1) * r->columns : s->now;
    host_code(r, thread, from, at > from ? at : from);
    for (uint32_t k = 0; k < r->columns; k++)
        out[k] = moved(now[k], from, at) - (k < r->count ? r->shorter[k] : 0);
}

/* ---- events ----------------------------------------------------------------------------------- */

/* A thread begins where the main one is then, which is taken to have made it. */
static void begins(struct replay *r, uint32_t thread, uint64_t at)
{
    struct state *s = &r->threads[thread];
    for (uint32_t k = 0; k < r->columns; k++)
        s->now[k] = at;
    if (!r->g->from && r->g->main && thread != r->g->main - 1 && r->threads[r->g->main - 1].begun)
        position(r, r->g->main - 1, at, s->now);
    s->at = at;
    s->begun = true;
}

static void enters(struct replay *r, uint32_t thread, uint64_t at)
{
    struct state *s = &r->threads[thread];
    const link call = s->call ? r->g->calls[s->call - 1].after : r->g->threads[thread].first;
    position(r, thread, at, s->now);
    s->at = at;
    s->call = call;
    s->inside = true;
}

static void leaves(struct replay *r, uint32_t thread, uint64_t at)
{
    struct state *s = &r->threads[thread];
    within(r, thread, at, s->now);
    for (uint32_t k = 0; k < r->columns; k++) {
        r->left[(size_t)(s->call - 1) * r->columns + k] = s->now[k];
        later(&r->all->last[k], s->now[k]);
    }
    s->at = at;
    s->inside = false;
}

static void wakes(struct replay *r, uint32_t thread, uint64_t at)
{
    struct state *s = &r->threads[thread];
    const struct sonde__cp_sleep *sleep = &r->g->sleeps[s->sleep++];
    const uint64_t out = sleep->out > s->at ? sleep->out : s->at;
    const link op = sonde__cp_called_back(r->g, thread, out, at); /* it slept until that had ended */
    position(r, thread, out, s->now);
    if (op) {
        for (uint32_t k = 0; k < r->columns; k++)
            s->now[k] = moved(r->ended[(size_t)(op - 1) * r->columns + k], r->g->ops[op - 1].end, at);
    } else if (sleep->waker) {
        uint64_t woken[COLUMNS];
        position(r, sleep->waker - 1, sleep->woken, woken);
        for (uint32_t k = 0; k < r->columns; k++)
            s->now[k] = woken[k] + (at - sleep->woken) > s->now[k] ? woken[k] + (at - sleep->woken) : s->now[k];
    } else {
        for (uint32_t k = 0; k < r->columns; k++)
            s->now[k] += at - out;
    }
    s->at = at;
}

/* When the call had submitted the operation, and what of its launch delay counts. */
static void submitted(struct replay *r, const struct sonde__cp_op *op, bool decides, uint64_t begin[COLUMNS])
{
    const struct sonde__cp_call *call = &r->g->calls[op->call - 1];
    const struct state *s = &r->threads[call->thread];
    const uint32_t api = sonde__cp_thing(r->b, sonde__cp_call_category(call), call->node);
    const uint32_t delay = sonde__cp_thing(r->b, SONDE_PATH_LAUNCH, op->node);
    for (uint32_t k = 0; k < r->columns; k++) {
        if (call->leave <= op->start) {
            const uint64_t lag = decides ? halved(r, k, delay, op->start - call->leave) : 0;
            later(&begin[k], r->left[(size_t)(op->call - 1) * r->columns + k] + lag);
        } else if (s->inside && s->call == op->call) {
            later(&begin[k], s->now[k] + (decides ? halved(r, k, api, op->start - call->enter) : 0));
        }
    }
}

static bool needs_others(const struct replay *r, uint32_t op)
{
    bool found = false;
    uint32_t i, end = r->g->ops[op].waits ? sonde__cp_waits(r->g->op_waits, r->g->op_wait_count, op, &i) : 0;
    for (i = end ? i : 0; i < end && !found; i++)
        found = r->g->op_waits[i].what == CP_MEETING;
    return found;
}

static int begun_order(const void *left, const void *right)
{
    const struct begun *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

/* Others may have waited for that. */
static void has_begun(struct replay *r, uint32_t op, const uint64_t begin[COLUMNS])
{
    const struct replayed *all = r->all;
    const struct begun wanted = {.process = (uint32_t)(r - all->list), .op = op};
    size_t low = 0, high = all->begin_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (begun_order(&all->begins[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < all->begin_count && begun_order(&all->begins[low], &wanted) == 0; low++)
        for (uint32_t k = 0; k < r->columns; k++)
            later(&all->met[all->begins[low].meeting * r->columns + k], begin[k]);
}

static void starts(struct replay *r, uint32_t lane)
{
    const struct sonde__cp_graph *g = r->g;
    const uint32_t index = r->queues[lane].next;
    const struct sonde__cp_op *op = &g->ops[index];
    const struct sonde__cp_cause cause = sonde__cp_op_cause(g, index);
    const uint32_t thing = sonde__cp_thing(r->b, sonde__cp_category(op->kind), op->node);
    const uint32_t gap = sonde__cp_thing(r->b, SONDE_PATH_GAP, op->node);
    uint64_t begin[COLUMNS] = {0};
    if (op->before)
        after_op(r, op->before - 1, begin);
    if (op->waits)
        after_waits(r, g->op_waits, g->op_wait_count, index, op->start, false, begin);
    uint32_t other, last = sonde__cp_default_lanes(g, op->lane, &other);
    for (; other < last; other++)
        if (sonde__cp_in_step(g, op->lane, other))
            after_lane(r, other, sonde__cp_enqueued(g, index), op->start + g->bound, begin);
    if (op->call)
        submitted(r, op, cause.kind == CP_CALL && cause.id == op->call - 1, begin);
    if (cause.kind == CP_CALL && cause.id != op->call - 1)
        after_call(r, cause.id, op->start, op->start - cause.time, begin);
    const bool others = needs_others(r, index);
    for (uint32_t k = 0; k < r->columns; k++) {
        if (cause.kind == CP_OPERATION && started(r, cause.id)) {
            const uint64_t end = g->ops[cause.id].end, ended = r->ended[(size_t)cause.id * r->columns + k];
            later(&begin[k], op->start >= end ? ended + halved(r, k, gap, op->start - end) : moved(ended, end, op->start));
        } else if (cause.kind == CP_NOTHING) {
            begin[k] = op->start;
        }
        const uint64_t end = begin[k] + halved(r, k, thing, op->end - op->start);
        r->ended[(size_t)index * r->columns + k] = end;
        if (!others)
            later(&r->all->last[k], end);
        if (r->queues[lane].peaks) {
            uint64_t *peak = r->queues[lane].peaks + (size_t)(index - g->lanes[lane].first) * r->columns;
            peak[k] = end;
            if (index > g->lanes[lane].first)
                later(&peak[k], peak[(ptrdiff_t)k - (ptrdiff_t)r->columns]);
        }
    }
    r->queues[lane].next++;
    has_begun(r, index, begin);
    if (others)
        push(r, op->end, MEETS, index);
}

/* Until it ends it may have waited: what is its own came after that. */
static void ends_met(struct replay *r, uint32_t index)
{
    const struct sonde__cp_op *op = &r->g->ops[index];
    const struct sonde__cp_cause met = sonde__cp_op_met(r->g, index, op->end);
    const uint32_t thing = sonde__cp_thing(r->b, sonde__cp_category(op->kind), op->node);
    uint64_t done[COLUMNS] = {0};
    uint32_t i, end = sonde__cp_waits(r->g->op_waits, r->g->op_wait_count, index, &i);
    for (; i < end; i++)
        if (r->g->op_waits[i].what == CP_MEETING)
            after_meeting(r, r->g->op_waits[i].id, done);
    for (uint32_t k = 0; k < r->columns; k++) {
        uint64_t *ended = &r->ended[(size_t)index * r->columns + k];
        const uint64_t begin = *ended - halved(r, k, thing, op->end - op->start);
        if (met.kind)
            *ended = (begin > done[k] ? begin : done[k]) + halved(r, k, thing, op->end - met.time);
        else
            later(ended, done[k]);
        later(&r->all->last[k], *ended);
    }
}

/* What part of each pool's host code each thing is. */
static int find_parts(struct replay *r)
{
    const struct sonde__pools *pools = &r->b->pools;
    r->parts = calloc(pools->pools.count * r->count + 1, sizeof *r->parts);
    for (size_t i = 0; i < pools->pools.count && r->parts; i++)
        for (uint32_t s = pools->pools.items[i].first; s < pools->pools.items[i].first + pools->pools.items[i].count; s++)
            for (uint32_t k = 0; k < r->count; k++)
                r->parts[i * r->count + k] += r->b->share_things[s] == r->things[k] ? pools->shares.items[s].part : 0;
    return r->parts ? 0 : SONDE_ENOMEM;
}

/* ---- a replay ------------------------------------------------------------------------------------ */

static int prepare(struct replay *r)
{
    const struct sonde__cp_graph *g = r->g;
    r->ended = calloc((size_t)g->op_count * r->columns + 1, sizeof *r->ended);
    r->left = calloc((size_t)g->call_count * r->columns + 1, sizeof *r->left);
    r->threads = calloc(g->thread_count + 1, sizeof *r->threads);
    r->queues = calloc(g->lane_count + 1, sizeof *r->queues);
    if (!r->ended || !r->left || !r->threads || !r->queues || find_parts(r))
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < g->lane_count; i++) {
        r->queues[i].next = g->lanes[i].first;
        if (g->lanes[i].out_of_order) {
            r->queues[i].peaks = calloc((size_t)g->lanes[i].count * r->columns + 1, sizeof *r->queues[i].peaks);
            if (!r->queues[i].peaks)
                return SONDE_ENOMEM;
        }
        push_lane(r, i);
    }
    for (uint32_t t = 0; t < g->thread_count; t++) {
        r->threads[t].sleep = g->threads[t].first_sleep;
        push_thread(r, t);
    }
    return 0;
}

static int coming_order(const void *left, const void *right)
{
    const struct coming *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->meeting < b->meeting ? -1 : a->meeting > b->meeting;
}

/* Who comes when to which meeting. */
static int prepare_meetings(struct replayed *all, uint32_t columns)
{
    const struct sonde_needs *needs = &all->run->needs;
    all->met = calloc(needs->meetings.count * columns + 1, sizeof *all->met);
    all->comings = malloc((needs->points.count + 1) * sizeof *all->comings);
    all->begins = malloc((needs->points.count + 1) * sizeof *all->begins);
    if (!all->met || !all->comings || !all->begins)
        return SONDE_ENOMEM;
    for (size_t m = 0; m < needs->meetings.count; m++)
        for (size_t i = 0; i < needs->meetings.items[m].count; i++) {
            const struct sonde_need_point *p = &needs->points.items[needs->meetings.items[m].first + i];
            if (p->end_ns)
                all->begins[all->begin_count++] = (struct begun){p->process, p->lane, m};
            else
                all->comings[all->coming_count++] = (struct coming){p->ns, p->process, p->lane, m};
        }
    if (all->begin_count)
        qsort(all->begins, all->begin_count, sizeof *all->begins, begun_order);
    if (all->coming_count)
        qsort(all->comings, all->coming_count, sizeof *all->comings, coming_order);
    return 0;
}

static int prepare_all(struct replayed *all, const uint32_t *things)
{
    struct sonde__cp_run *run = all->run;
    const uint32_t columns = all->count + 1;
    size_t events = 1;
    for (uint32_t i = 0; i < run->count; i++)
        events += run->list[i].g.thread_count + run->list[i].g.lane_count;
    events += run->needs.list.count; /* ends of operations that waited for other processes */
    all->list = calloc(run->count + 1, sizeof *all->list);
    all->heap = calloc(events, sizeof *all->heap);
    int rc = all->list && all->heap ? prepare_meetings(all, columns) : SONDE_ENOMEM;
    for (uint32_t i = 0; i < run->count && !rc; i++) {
        all->list[i] = (struct replay){.all = all, .b = &run->list[i].book, .g = &run->list[i].g, .things = things, .count = all->count, .columns = columns};
        rc = prepare(&all->list[i]);
    }
    return rc;
}

/* Who comes to a meeting by `at`, which is before anybody leaves it then. */
static void come(struct replayed *all, uint64_t at)
{
    for (; all->come < all->coming_count && all->comings[all->come].ns <= at; all->come++) {
        const struct coming *coming = &all->comings[all->come];
        struct replay *r = &all->list[coming->process];
        uint64_t now[COLUMNS] = {0};
        if (coming->ns >= r->threads[coming->thread].at && r->threads[coming->thread].begun)
            position(r, coming->thread, coming->ns, now);
        for (uint32_t k = 0; k < r->columns; k++)
            later(&all->met[coming->meeting * r->columns + k], now[k]);
    }
}

static void happens(struct replay *r, const struct event *event)
{
    if (event->kind == MEETS) {
        ends_met(r, event->id);
        return;
    }
    if (event->kind == STARTS || event->kind == STARTS_AND_ENDS) {
        starts(r, event->id);
        push_lane(r, event->id);
        return;
    }
    if (event->kind == BEGINS)
        begins(r, event->id, event->at);
    else if (event->kind == ENTERS)
        enters(r, event->id, event->at);
    else if (event->kind == LEAVES || event->kind == LEAVES_WAIT)
        leaves(r, event->id, event->at);
    else
        wakes(r, event->id, event->at);
    push_thread(r, event->id);
}

static void end(struct replay *r)
{
    for (uint32_t i = 0; r->queues && i < r->g->lane_count; i++)
        free(r->queues[i].peaks);
    free(r->ended);
    free(r->left);
    free(r->parts);
    free(r->threads);
    free(r->queues);
}

/* Replay the run; all->last is when it would have ended, by column. */
static int replay(struct replayed *all, const uint32_t *things)
{
    int rc = prepare_all(all, things);
    while (!rc && all->events && !all->run->out.rc) {
        const struct event event = pop(all);
        come(all, event.at);
        happens(&all->list[event.process], &event);
    }
    for (uint32_t i = 0; i < all->run->count && all->list; i++)
        if (all->list[i].all)
            end(&all->list[i]);
    free(all->list);
    free(all->heap);
    free(all->met);
    free(all->comings);
    free(all->begins);
    return rc ? rc : all->run->out.rc;
}

/* Things that are replayed at once: as many as memory for their times is meant for. */
static uint32_t at_once(const struct sonde__cp_run *run)
{
    const uint64_t bytes = 768ull << 20;
    uint64_t each = (run->needs.meetings.count + 1) * sizeof(uint64_t);
    for (uint32_t i = 0; i < run->count; i++)
        each += ((uint64_t)run->list[i].g.op_count + run->list[i].g.call_count) * sizeof(uint64_t);
    return bytes / each > COLUMNS ? COLUMNS - 1 : (bytes / each > 2 ? (uint32_t)(bytes / each) - 1 : 1);
}

int sonde__cp_evaluate(struct sonde__cp_run *run, const uint32_t *things, uint32_t count)
{
    const uint32_t most = at_once(run);
    int rc = 0;
    for (uint32_t first = 0; first < count && !rc; first += most) {
        const uint32_t now = count - first < most ? count - first : most;
        struct replayed all = {.run = run, .count = now};
        rc = replay(&all, things + first);
        for (uint32_t k = 0; k < now && !rc; k++) {
            struct sonde_path_thing *thing = &run->out.path->things.items[things[first + k]];
            thing->evaluated = true;
            thing->saving_ns = all.last[now] > all.last[k] ? all.last[now] - all.last[k] : 0;
            if (thing->saving_ns > thing->ns / 2) /* an operation cut by the clocks' bound */
                thing->saving_ns = thing->ns / 2;
        }
    }
    return rc;
}

int sonde__cp_replay(struct sonde__cp_run *run, uint64_t *end)
{
    struct replayed all = {.run = run};
    const int rc = replay(&all, NULL);
    *end = all.last[0];
    return rc;
}
