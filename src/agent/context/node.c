/* node.c - nodes of the calling context tree: made, found, and compared. */
#include "context.h"

#include <string.h>

#include "agent/state/state.h"
#include "agent/store/store.h"

#define NODE_RUN 64 /* node ids a thread takes at once */

/* A run of node ids for this thread; rows that stay zero are no nodes. */
static bool node_run(struct sonde_thread *t)
{
    struct sonde_agent *a = &sonde__agent;
    const uint32_t room = SONDE_SEGMENT_ROOM / sizeof(struct sonde_row_node) / NODE_RUN * NODE_RUN;
    if (!sonde__room_await() || !sonde__lock_or_miss(&a->table_lock))
        return false;
    struct sonde_segment *s = a->node_segment;
    if (!s || s->used >= room)
        s = sonde__room_get(SONDE_TABLE_NODE, 0, 0, sizeof(struct sonde_row_node));
    if (s) {
        a->node_segment = s;
        t->node_next = (uint32_t)s->first + s->used;
        t->node_end = t->node_next + NODE_RUN;
        __atomic_store_n(&s->used, s->used + NODE_RUN, __ATOMIC_RELEASE);
    }
    sonde__unlock(&a->table_lock);
    return s != NULL;
}

static struct sonde_row_node *node_row(uint32_t id)
{
    unsigned char *segment =
        sonde__agent.pool.base + (size_t)(id >> SONDE_NODE_SHIFT) * SONDE_SEGMENT_BYTES;
    return (struct sonde_row_node *)(segment + SONDE_SEGMENT_HEADER) + (id & ((1u << SONDE_NODE_SHIFT) - 1));
}

/* May a sample make a node? What samples take of the memory that new contexts
 * are made in is bounded. */
static __attribute__((noinline, cold)) bool sampled_node(struct sonde_thread *t)
{
    struct sonde_agent *a = &sonde__agent;
    if (sonde__handler.missed)
        return false;
    if (atomic_load_explicit(&a->sampled_nodes, memory_order_relaxed) >= 2 * a->sampled_nodes_max) {
        sonde__count(&t->count.folded, 1);
        return false;
    }
    atomic_fetch_add_explicit(&a->sampled_nodes, 1, memory_order_relaxed);
    return true;
}

__attribute__((hot)) uint32_t sonde__context_child(struct sonde_thread *t, uint32_t parent, uint32_t frame)
{
    if (__builtin_expect(frame == SONDE_FRAME_ID_SKIP, 0))
        return parent;
    uint64_t key = (uint64_t)parent << 32 | frame;
    const uint64_t *known = sonde__map_find(&t->children, key);
    if (__builtin_expect(known != NULL, 1))
        return (uint32_t)*known;
    if (__builtin_expect(sonde__handler.on, 0) && !sampled_node(t))
        return parent;
    t->own.new_at = atomic_load_explicit(&t->count.calls, memory_order_relaxed);
    if (!frame || (t->node_next == t->node_end && !node_run(t)) ||
        !sonde__map_add(&t->children, &sonde__agent.heap, key, t->node_next)) {
        if (!sonde__handler.on || !sonde__handler.missed) /* a sample that is missed has lost no context */
            sonde__count(&t->count.folded, 1);
        return parent;
    }
    struct sonde_row_node *row = node_row(t->node_next);
    row->parent = parent;
    __atomic_store_n(&row->frame, frame, __ATOMIC_RELEASE);
    return t->node_next++;
}

uint32_t sonde__context_path(struct sonde_thread *t, const uint32_t *frame, uint32_t count)
{
    uint32_t node = 0;
    for (uint32_t i = 0; i < count; i++)
        node = sonde__context_child(t, node, frame[i]);
    return node;
}

__attribute__((hot)) uint32_t sonde__context_op(struct sonde_thread *t, uint32_t api_node, enum sonde_op_kind kind, uint32_t name)
{
    if (t->last_op_key_kind != (uint32_t)kind || t->last_op_key_name != name || !t->last_op_frame) {
        t->last_op_frame = sonde__frame_of_op(kind, name);
        t->last_op_key_kind = (uint32_t)kind;
        t->last_op_key_name = name;
    }
    uint32_t node = sonde__context_child(t, api_node, t->last_op_frame);
    return __builtin_expect(node == api_node, 0) ? sonde__agent.folded_node[kind] : node;
}

/* Where the monitor makes nodes; NULL: no room. */
static struct sonde_thread *thread_of_reports(void)
{
    struct sonde_agent *a = &sonde__agent;
    if (!a->reports && (a->reports = sonde__heap_get(&a->heap, sizeof *a->reports)))
        memset(a->reports, 0, offsetof(struct sonde_thread, native));
    return a->reports;
}

uint32_t sonde__context_report(uint32_t parent, uint32_t origin, enum sonde_op_kind kind, uint32_t name)
{
    struct sonde_thread *t = thread_of_reports();
    if (!t)
        return sonde__agent.folded_node[kind];
    if (origin)
        parent = sonde__context_child(t, parent, sonde__frame_of_link(origin));
    return sonde__context_op(t, parent, kind, name);
}

uint32_t sonde__node_parent(uint32_t node)
{
    return node_row(node)->parent;
}

uint32_t sonde__node_frame(uint32_t node)
{
    return node_row(node)->frame;
}

bool sonde__frame_same(uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    const struct sonde_row_frame *x = sonde__table_find(SONDE_TABLE_FRAME, sizeof *x, a);
    const struct sonde_row_frame *y = sonde__table_find(SONDE_TABLE_FRAME, sizeof *y, b);
    return x && y && memcmp(x, y, sizeof *x) == 0;
}

/* Frames may have several numbers, since the cache of them is lossy (guest/pairs.h): contexts are the same when their code is. */
bool sonde__context_same(uint32_t a, uint32_t b)
{
    for (; a && b && a != b; a = node_row(a)->parent, b = node_row(b)->parent)
        if (!sonde__frame_same(node_row(a)->frame, node_row(b)->frame))
            return false;
    return a == b;
}
