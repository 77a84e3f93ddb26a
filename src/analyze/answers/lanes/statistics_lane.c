/* statistics_lane.c - the time of one lane in one window, divided among calling contexts.
 *
 * Queues: of k operations that run at once each has 1/k of the time (what only
 * orders others runs nowhere). With
 * V(t), the integral of 1/k, an operation's share is V(end) - V(start): a heap
 * of ends makes it O(n log k).
 *
 * Threads: inside calls, the innermost one, and inside waits in functions of the C library, these.
 * Outside of them, time off the CPU as the kernel told it, and what samples say (gaps.h).
 */
#include <stdlib.h>

#include "base/kinds.h"
#include "statistics_lane.h"

static struct sonde__node_share *share_of(struct sonde__shares *s, uint32_t node)
{
    uint64_t at;
    if (sonde_map_get(&s->by_node, node, &at))
        return &s->nodes.items[at];
    at = s->nodes.count;
    if (sonde_map_put(&s->by_node, node, at) || sonde_vector_push(&s->nodes, (struct sonde__node_share){.node = node})) {
        s->rc = SONDE_ENOMEM;
        return NULL;
    }
    return &s->nodes.items[at];
}

void sonde__shares_fini(struct sonde__shares *s)
{
    sonde_map_fini(&s->by_node);
    sonde_vector_fini(&s->nodes);
    sonde_vector_fini(&s->heap);
    sonde_vector_fini(&s->open);
    sonde__gathered_fini(&s->gathered);
    sonde_vector_fini(&s->around);
    sonde_map_fini(&s->by_around);
    sonde_vector_fini(&s->left);
    sonde_vector_fini(&s->pieces);
    sonde_vector_fini(&s->samples);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- pauses ---------------------------------------------------------------------------- */

/* [from, to) in the parts in which recording was off, and those in which it was not, in order. */
static void divide(const struct sonde_recorded *recorded, uint64_t from, uint64_t to,
                   void (*part)(void *user, uint64_t from, uint64_t to, bool paused), void *user)
{
    for (size_t i = sonde_recorded_pause(recorded, from); i < recorded->pauses.count && from < to; i++) {
        const uint64_t off = least(to, most(from, recorded->pauses.items[i].from_ns));
        const uint64_t on = least(to, recorded->pauses.items[i].to_ns);
        if (off > from)
            part(user, from, off, false);
        if (on > off)
            part(user, off, on, true);
        from = most(from, on);
    }
    if (from < to)
        part(user, from, to, false);
}

/* ---- queues ---------------------------------------------------------------------------- */

struct queue {
    struct sonde__shares *s;
    const struct sonde__lane_life *life;
    uint64_t now;
    double share;
};

static void heap_push(struct sonde__shares *s, struct sonde__running r)
{
    if (sonde_vector_push(&s->heap, r)) {
        s->rc = SONDE_ENOMEM;
        return;
    }
    struct sonde__running *h = s->heap.items;
    size_t at = s->heap.count - 1;
    for (; at && h[(at - 1) / 2].end_ns > r.end_ns; at = (at - 1) / 2)
        h[at] = h[(at - 1) / 2];
    h[at] = r;
}

static struct sonde__running heap_pop(struct sonde__shares *s)
{
    struct sonde__running *h = s->heap.items, first = h[0], last = h[--s->heap.count];
    size_t at = 0, count = s->heap.count;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && h[child + 1].end_ns < h[child].end_ns;
        if (h[child].end_ns >= last.end_ns)
            break;
        h[at] = h[child];
    }
    if (count)
        h[at] = last;
    return first;
}

static void add_idle(void *user, uint64_t from, uint64_t to, bool paused)
{
    const struct queue *q = user;
    q->s->other[0][paused ? SONDE_SHARE_PAUSED : SONDE_SHARE_IDLE] += (double)(to - from);
}

/* Time goes on to `to`; what ends until then gets its share. */
static void advance(struct queue *q, uint64_t to)
{
    struct sonde__shares *s = q->s;
    while (s->heap.count && s->heap.items[0].end_ns <= to) {
        q->share += (double)(s->heap.items[0].end_ns - q->now) / (double)s->heap.count;
        q->now = s->heap.items[0].end_ns;
        struct sonde__running done = heap_pop(s);
        struct sonde__node_share *node = share_of(s, done.node);
        if (node)
            node->queue_ns += q->share - done.before;
    }
    if (s->heap.count)
        q->share += (double)(to - q->now) / (double)s->heap.count;
    else {
        divide(q->life->recorded, q->now, to, add_idle, q);
        q->share = 0; /* small numbers stay exact */
    }
    q->now = to;
}

void sonde__queue_shares(struct sonde__shares *s, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns,
                         const struct sonde__lane_life *life)
{
    struct queue q = {.s = s, .life = life, .now = from_ns};
    s->heap.count = 0;
    s->no_times += lane->untimed_count;
    for (uint32_t i = 0; i < lane->op_count && !s->rc; i++) {
        const struct sonde_trace_op *op = &lane->ops[i];
        uint64_t start = most(op->start_ns, from_ns), end = least(op->end_ns, to_ns);
        if (start >= end || sonde_op_kind_group(op->kind) == SONDE_GROUP_ORDER)
            continue;
        advance(&q, start);
        heap_push(s, (struct sonde__running){end, q.share, op->node});
    }
    advance(&q, to_ns);
}

/* ---- threads ------------------------------------------------------------------------------ */

struct thread {
    struct sonde__shares *s;
    const struct sonde_trace_lane *lane;
    const struct sonde__lane_life *life;
    uint32_t next_switch, sample; /* both move forward only */
    uint64_t now;
    const struct sonde_row_call *before; /* the call that left last */
    struct sonde__gap gap;        /* that `now` is in, when outside of calls */
    uint32_t pair;                /* of the gap */
    size_t piece;                 /* of the gap's, moves forward only */
};

static void add_other(struct thread *t, enum sonde_share_kind kind, uint64_t from, uint64_t to)
{
    t->s->other[1][kind] += (double)(to - from);
}

static void add_node(struct thread *t, uint32_t node, uint64_t from, uint64_t to)
{
    struct sonde__node_share *share = from < to ? share_of(t->s, node) : NULL;
    if (share)
        share->thread_ns += (double)(to - from);
}

/* Time around a sample. */
static void add_around(struct thread *t, uint32_t node, uint64_t ns)
{
    struct sonde__shares *s = t->s;
    const uint64_t key = (uint64_t)t->pair << 32 | node;
    uint64_t at;
    if (!sonde_map_get(&s->by_around, key, &at)) {
        at = s->around.count;
        if (sonde_vector_push(&s->around, (struct sonde__around_share){t->pair, node, 0}) || sonde_map_put(&s->by_around, key, at)) {
            s->rc = SONDE_ENOMEM;
            return;
        }
    }
    s->around.items[at].ns += (double)ns;
}

static void add_left(struct thread *t, uint64_t ns)
{
    while (t->s->left.count <= t->pair && !t->s->rc)
        t->s->rc = sonde_vector_push(&t->s->left, 0);
    if (!t->s->rc)
        t->s->left.items[t->pair] += (double)ns;
}

/* No sample reaches there: those of gaps like it tell, where it is known to have run. */
static void add_lively(struct thread *t, uint64_t from, uint64_t to)
{
    const uint64_t begin = most(from, least(to, t->life->alive.from)), end = most(begin, least(to, t->life->alive.to));
    add_other(t, SONDE_SHARE_OUTSIDE, from, begin);
    add_left(t, end - begin);
    add_other(t, SONDE_SHARE_OUTSIDE, end, to);
}

/* From the call that left last to `after`; NULL: there is none. */
static void begin_gap(struct thread *t, const struct sonde_row_call *after, uint64_t from_ns, uint64_t to_ns)
{
    struct sonde__shares *s = t->s;
    t->gap = (struct sonde__gap){
        .lane = t->lane,
        .before = t->before,
        .after = after,
        .from_ns = from_ns,
        .to_ns = to_ns,
        .period_ns = t->life->period_ns,
    };
    t->piece = 0;
    if (!t->life->period_ns)
        return;
    int rc = sonde__gap_pieces(&t->gap, &t->sample, &s->pieces, &s->samples);
    rc = rc ? rc : sonde__gathered_pair(&s->gathered, sonde__pair_of(t->lane->lane, t->before, after), &t->pair);
    rc = rc ? rc : sonde__gathered_add(&s->gathered, t->pair, &s->samples);
    s->rc = s->rc ? s->rc : rc;
}

/* On the CPU, or nobody says that it was not. */
static void add_running(struct thread *t, uint64_t from, uint64_t to)
{
    if (!t->life->period_ns) {
        add_other(t, SONDE_SHARE_OUTSIDE, from, to);
        return;
    }
    for (; t->piece < t->s->pieces.count && from < to; t->piece += from < to) {
        const struct sonde__piece *piece = &t->s->pieces.items[t->piece];
        const uint64_t end = least(to, piece->to);
        if (end <= from)
            continue;
        if (piece->sampled)
            add_around(t, piece->node, end - from);
        else
            add_lively(t, from, end);
        from = end;
    }
    if (from < to) /* calls of a damaged trace, within or before each other */
        add_other(t, SONDE_SHARE_OUTSIDE, from, to);
}

static void add_alive(struct thread *t, uint64_t from, uint64_t to)
{
    const struct sonde_row_switch *away = t->lane->switches;
    uint64_t last;
    while (t->next_switch < t->lane->switch_count && away[t->next_switch].in_ns <= from)
        t->next_switch++;
    for (uint32_t i = t->next_switch; i < t->lane->switch_count && away[i].out_ns < to && from < to; i++) {
        if (away[i].out_ns > from)
            add_running(t, from, away[i].out_ns);
        from = most(from, away[i].out_ns);
        last = least(to, away[i].in_ns);
        if (last > from)
            add_other(t, SONDE_SHARE_OFF, from, last);
        from = most(from, last);
    }
    if (from < to)
        add_running(t, from, to);
}

/* Before its lane begins; the program's first part has no lanes yet. */
static void add_early(void *user, uint64_t from, uint64_t to, bool paused)
{
    const struct sonde_recorded *r = ((struct thread *)user)->life->recorded;
    const uint64_t begin = least(to, most(from, r->begin_ns)), start = least(to, most(begin, r->start_ns));
    if (paused) {
        add_other(user, SONDE_SHARE_PAUSED, from, to);
        return;
    }
    add_other(user, SONDE_SHARE_ABSENT, from, begin);
    add_other(user, SONDE_SHARE_BEFORE, begin, start);
    add_other(user, SONDE_SHARE_ABSENT, start, to);
}

static void add_lived(void *user, uint64_t from, uint64_t to, bool paused)
{
    if (paused)
        add_other(user, SONDE_SHARE_PAUSED, from, to);
    else
        add_alive(user, from, to);
}

/* Time goes on to `to`, within the innermost open call or outside of all. */
static void step(struct thread *t, uint64_t to)
{
    const uint64_t from = t->now;
    if (to <= from)
        return;
    t->now = to;
    if (t->s->open.count) {
        add_node(t, t->s->open.items[t->s->open.count - 1].call->node, from, to);
        return;
    }
    const uint64_t begin = least(to, most(from, t->life->from_ns)), end = most(begin, least(to, t->life->to_ns));
    divide(t->life->recorded, from, begin, add_early, t);
    divide(t->life->recorded, begin, end, add_lived, t);
    add_other(t, SONDE_SHARE_ABSENT, end, to);
}

/* Calls that are over by `to`, innermost first. */
static void leave_until(struct thread *t, uint64_t to)
{
    while (t->s->open.count && t->s->open.items[t->s->open.count - 1].leave_ns <= to) {
        step(t, t->s->open.items[t->s->open.count - 1].leave_ns);
        t->before = t->s->open.items[--t->s->open.count].call;
    }
}

void sonde__thread_shares(struct sonde__shares *s, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns,
                          const struct sonde__lane_life *life)
{
    struct sonde__stops stops;
    struct sonde__stop stop;
    sonde__stops_begin(&stops, lane);
    struct thread t = {.s = s, .lane = lane, .life = life, .now = from_ns, .before = stops.before};
    s->open.count = 0;
    while (!s->rc && sonde__stops_next(&stops, &stop)) {
        const struct sonde_row_call *call = stop.row;
        if (call->leave_ns < call->enter_ns || call->leave_ns < from_ns || call->enter_ns >= to_ns)
            continue;
        leave_until(&t, call->enter_ns);
        if (!s->open.count && call->enter_ns > t.now)
            begin_gap(&t, call, from_ns, to_ns);
        step(&t, most(from_ns, call->enter_ns));
        if (sonde_vector_push(&s->open, (struct sonde__open_call){call->leave_ns, call}))
            s->rc = SONDE_ENOMEM;
    }
    leave_until(&t, to_ns);
    if (!s->open.count && t.now < to_ns)
        begin_gap(&t, stops.after, from_ns, to_ns);
    step(&t, to_ns);
}
