/* statistics_lane.c - the time of one lane in one window, divided among calling contexts.
 *
 * Queues: of k operations that run at once each has 1/k of the time (what only
 * orders others runs nowhere). With
 * V(t), the integral of 1/k, an operation's share is V(end) - V(start): a heap
 * of ends makes it O(n log k).
 *
 * Threads: what analyze/samples/activity.h says of each instant.
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
    sonde__gathered_fini(&s->gathered);
    sonde_vector_fini(&s->around);
    sonde_map_fini(&s->by_around);
    sonde_vector_fini(&s->left);
    sonde__walk_fini(&s->walk);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- queues ---------------------------------------------------------------------------- */

struct queue {
    struct sonde__shares *s;
    const struct sonde__life *life;
    uint64_t now;
    sonde__share_units share;
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
        q->share += (sonde__share_units)(s->heap.items[0].end_ns - q->now) * SONDE__SHARE_UNITS / s->heap.count;
        q->now = s->heap.items[0].end_ns;
        struct sonde__running done = heap_pop(s);
        struct sonde__node_share *node = share_of(s, done.node);
        if (node)
            node->queue += q->share - done.before;
    }
    if (s->heap.count)
        q->share += (sonde__share_units)(to - q->now) * SONDE__SHARE_UNITS / s->heap.count;
    else {
        sonde_recorded_divide(q->life->recorded, q->now, to, add_idle, q);
        q->share = 0;
    }
    q->now = to;
}

void sonde__queue_shares(struct sonde__shares *s, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns,
                         const struct sonde__life *life)
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

/* Time around a sample. */
static int add_around(struct sonde__shares *s, uint32_t node, uint64_t ns)
{
    const uint64_t key = (uint64_t)s->pair << 32 | node;
    uint64_t at;
    if (!sonde_map_get(&s->by_around, key, &at)) {
        at = s->around.count;
        if (sonde_vector_push(&s->around, (struct sonde__around_share){s->pair, node, 0}) || sonde_map_put(&s->by_around, key, at))
            return SONDE_ENOMEM;
    }
    s->around.items[at].ns += (double)ns;
    return 0;
}

static int add_left(struct sonde__shares *s, uint64_t ns)
{
    while (s->left.count <= s->pair)
        if (sonde_vector_push(&s->left, 0))
            return SONDE_ENOMEM;
    s->left.items[s->pair] += (double)ns;
    return 0;
}

static int add_gap(void *user, const struct sonde__gap *gap, const sonde__gap_samples *samples)
{
    struct sonde__shares *s = user;
    const int rc = sonde__gathered_pair(&s->gathered, sonde__pair_of(gap->lane->lane, gap->before, gap->after), &s->pair);
    return rc ? rc : sonde__gathered_add(&s->gathered, s->pair, samples);
}

static int add_activity(void *user, const struct sonde__activity *a)
{
    static const enum sonde_share_kind other[] = {
        [SONDE__OFF_CPU] = SONDE_SHARE_OFF,
        [SONDE__UNKNOWN] = SONDE_SHARE_OUTSIDE,
        [SONDE__NOT_ALIVE] = SONDE_SHARE_ABSENT,
        [SONDE__STARTING] = SONDE_SHARE_BEFORE,
        [SONDE__NOT_RECORDED] = SONDE_SHARE_PAUSED,
    };
    struct sonde__shares *s = user;
    const uint64_t ns = a->to_ns - a->from_ns;
    struct sonde__node_share *share;
    switch (a->kind) {
    case SONDE__IN_CALL:
    case SONDE__IN_WAIT:
        if (!(share = share_of(s, a->node)))
            return SONDE_ENOMEM;
        share->thread_ns += (double)ns;
        return 0;
    case SONDE__SAMPLED:
        return add_around(s, a->node, ns);
    case SONDE__UNREACHED:
        return add_left(s, ns);
    default:
        s->other[1][other[a->kind]] += (double)ns;
        return 0;
    }
}

void sonde__thread_shares(struct sonde__shares *s, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns,
                          const struct sonde__life *life)
{
    s->walk.user = s;
    s->walk.each = add_activity;
    s->walk.gap = add_gap;
    const int rc = sonde__walk_thread(&s->walk, lane, from_ns, to_ns, life);
    s->rc = s->rc ? s->rc : rc;
}
