/* ranges.c - open ranges in a calling context.
 *
 * Ranges (run/range.c) stand in the path where they were opened: after the frames
 * that have been on the stack ever since. At first these are all frames of the
 * call that opened the range; with each context their number shrinks to what
 * the stack has in common with the one before. Two frames of one function at
 * the first difference count as common: it has made another call, that is all.
 *
 * A context is found without ranges first, as any other, in the ways that are fast
 * (replay.h). What it is among the open ones, and what becomes of their places, is
 * a function of its node and of these: each one's frame, its place, and its anchor,
 * which is the node of the frames before its place. A 64-bit sum says all that of an
 * open range and the outer ones; the thread's paths (paths.h) say what a node and a sum
 * led to. Two different sums are equal with a probability of 2^-64.
 */
#include "context.h"

#include "agent/state/state.h"
#include "agent/store/store.h"

#define AMONG (UINT32_MAX - 1) /* as a path's parent, which is no node: what a node is among ranges */
#define STAYS UINT32_MAX       /* as a place: no range has moved */

/* What a context led to. */
struct outcome {
    uint32_t node;          /* of the context with its ranges; of a range that is opened: its anchor, */
    uint32_t depth;         /* and its place */
    uint32_t place, anchor; /* where ranges go that stood further in */
};

/* A stack as frames: with links, and without. */
struct frames {
    uint32_t count, api, stack_count; /* api: 0 none */
    uint32_t *frame, *stack;
};

static uint64_t sum_of(const struct sonde_thread *t, uint32_t i)
{
    const struct sonde_open_range *o = &t->open[i];
    const uint64_t outer = i ? t->open[i - 1].sum : 0;
    return sonde__map_hash(sonde__map_hash(outer + ((uint64_t)o->frame << 32 | o->place)) + o->anchor);
}

static void sum_up(struct sonde_thread *t, uint32_t from)
{
    for (const uint32_t n = sonde__open_ranges(t); from < n; from++)
        t->open[from].sum = sum_of(t, from);
}

/* Ranges that stand further in than `place` were left by the call that opened them. */
static void move(struct sonde_thread *t, uint32_t place, uint32_t anchor)
{
    const uint32_t n = sonde__open_ranges(t);
    uint32_t i = n;
    while (i > 0 && t->open[i - 1].place > place) { /* outer ones stand no deeper than inner ones */
        t->open[i - 1].place = place;
        t->open[i - 1].anchor = anchor;
        i--;
    }
    sum_up(t, i);
}

static const struct sonde_row_frame *row_of(uint32_t frame)
{
    return sonde__table_find(SONDE_TABLE_FRAME, sizeof(struct sonde_row_frame), frame);
}

static uintptr_t pc_of(const struct sonde_row_frame *f)
{
    if (f->kind == SONDE_FRAME_UNKNOWN)
        return f->flags & SONDE_FRAME_ADDRESS ? f->offset : 0;
    const struct sonde_row_module *m =
        f->kind == SONDE_FRAME_NATIVE ? sonde__table_find(SONDE_TABLE_MODULE, sizeof *m, f->module) : NULL;
    return m ? m->base + f->offset : 0;
}

static bool same_function(uint32_t a, uint32_t b)
{
    const struct sonde_row_frame *x = row_of(a), *y = row_of(b);
    if (!x || !y)
        return false;
    if (x->kind == SONDE_FRAME_PYTHON || y->kind == SONDE_FRAME_PYTHON)
        return x->kind == y->kind && x->module == y->module;
    const uintptr_t p = pc_of(x), q = pc_of(y), start = p && q ? sonde__unwind_function_start(p) : 0;
    return start && start == sonde__unwind_function_start(q);
}

/* The frames of `node`, without an API call's. */
static struct frames frames_of(struct sonde_thread *t, uint32_t node)
{
    const uint32_t most = SONDE_PATH_MAX - SONDE_RANGES_MAX;
    struct frames f = {.frame = t->path, .stack = t->range_stack};
    uint32_t depth = 0;
    for (uint32_t n = node; n && depth < most; n = sonde__node_parent(n))
        depth++;
    f.count = depth;
    for (uint32_t n = node; depth > 0; n = sonde__node_parent(n))
        f.frame[--depth] = sonde__node_frame(n);
    const struct sonde_row_frame *last = f.count ? row_of(f.frame[f.count - 1]) : NULL;
    if (last && last->kind == SONDE_FRAME_API)
        f.api = f.frame[--f.count];
    return f;
}

static bool is_link(const struct sonde_thread *t, uint32_t frame)
{
    return frame == t->ranges.link_frame || frame == t->ranges.link_name;
}

static void without_links(struct sonde_thread *t, struct frames *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (!is_link(t, f->frame[i]))
            f->stack[f->stack_count++] = f->frame[i];
}

/* The node of a node's outer frames: `up` of them are left out. */
static uint32_t outer_node(uint32_t node, uint32_t up)
{
    for (; up > 0 && node; up--)
        node = sonde__node_parent(node);
    return node;
}

/* Where ranges go that stand where the stack is not as it was. */
static void follow(struct sonde_thread *t, const struct frames *f, struct outcome *o)
{
    const uint32_t n = sonde__open_ranges(t);
    const struct sonde_open_range *inner = n ? &t->open[n - 1] : NULL;
    uint32_t common = 0;
    o->place = STAYS;
    o->anchor = 0;
    if (!inner)
        return;
    uint32_t *was = t->range_anchor, node = inner->anchor;
    for (uint32_t d = inner->place; d > 0; d--, node = sonde__node_parent(node))
        was[d - 1] = sonde__node_frame(node);
    while (common < inner->place && common < f->stack_count && sonde__frame_same(was[common], f->stack[common]))
        common++;
    if (common == inner->place)
        return;
    o->place = common;
    o->anchor = outer_node(inner->anchor, inner->place - common);
    const uint32_t differs = common < f->stack_count ? f->stack[common] : 0;
    if (!differs || !same_function(was[common], differs))
        return;
    const uint32_t other = sonde__context_child(t, o->anchor, differs);
    if (other == o->anchor) /* no room */
        return;
    o->anchor = other;
    o->place++;
}

/* The open ranges among f->frame. From the innermost frame outwards, so that it is done in place. */
static void insert(struct sonde_thread *t, struct frames *f)
{
    uint32_t ranges = sonde__open_ranges(t), stack = f->stack_count, from = f->count, to = from + ranges;
    f->count = to;
    while (from > 0) {
        stack -= !is_link(t, f->frame[from - 1]);
        while (ranges > 0 && t->open[ranges - 1].place > stack)
            f->frame[--to] = t->open[--ranges].frame;
        f->frame[--to] = f->frame[--from];
    }
    while (ranges > 0)
        f->frame[--to] = t->open[--ranges].frame;
}

/* As it is put together; the ranges that have to move are moved. */
static struct outcome look(struct sonde_thread *t, uint32_t node, bool opens)
{
    struct outcome o;
    struct frames f = frames_of(t, node);
    without_links(t, &f);
    follow(t, &f, &o);
    if (o.place != STAYS)
        move(t, o.place, o.anchor);
    if (opens) {
        o.node = f.stack_count == f.count && !f.api ? node : sonde__context_path(t, f.stack, f.stack_count);
        o.depth = f.stack_count;
        return o;
    }
    insert(t, &f);
    o.node = sonde__context_path(t, f.frame, f.count);
    o.depth = 0;
    if (f.api)
        o.node = sonde__context_child(t, o.node, f.api);
    return o;
}

static struct outcome outcome_of(struct sonde_thread *t, uint32_t node, bool opens)
{
    const uint32_t n = sonde__open_ranges(t);
    const uint64_t word[] = {n ? t->open[n - 1].sum : 0, (uint64_t)node << 1 | opens, n};
    struct sonde_path_key key = {.parent = AMONG, .count = sizeof word / sizeof *word, .word = word};
    const struct sonde_path *path = sonde__paths_find(&t->paths, &key, t->paths.generation);
    struct outcome o, told = {0};
    if (path) {
        const uint32_t *value = sonde__path_nodes(path);
        told = (struct outcome){.node = path->leaf, .depth = value[0], .place = value[1], .anchor = value[2]};
        if (__builtin_expect(!sonde__agent.config.check, 1)) {
            if (told.place != STAYS)
                move(t, told.place, told.anchor);
            return told;
        }
    }
    const uint64_t folded = atomic_load_explicit(&t->count.folded, memory_order_relaxed);
    o = look(t, node, opens);
    if (path)
        sonde__count(&t->count.unwind_mismatched, o.depth != told.depth || o.place != told.place ||
                                                      !sonde__context_same(o.node, told.node) ||
                                                      !sonde__context_same(o.anchor, told.anchor));
    else if (atomic_load_explicit(&t->count.folded, memory_order_relaxed) == folded)
        sonde__paths_put(&t->paths, &sonde__agent.heap, &key, (const uint32_t[]){o.depth, o.place, o.anchor}, o.node);
    return o;
}

uint32_t sonde__ranges_context(struct sonde_thread *t, uint32_t node)
{
    return outcome_of(t, node, false).node;
}

void sonde__ranges_open(struct sonde_thread *t, uint32_t depth, uint32_t node, uint32_t frame)
{
    const struct outcome o = outcome_of(t, node, true);
    struct sonde_open_range *range = &t->open[depth];
    range->frame = frame;
    range->place = o.depth;
    range->anchor = o.node;
    range->sum = sum_of(t, depth);
}

void sonde__ranges_closed(struct sonde_thread *t, uint32_t from)
{
    sum_up(t, from);
}

uint32_t sonde__ranges_sample(struct sonde_thread *t, uint32_t count)
{
    struct frames f = {.count = count, .frame = t->path, .stack = t->range_stack};
    struct outcome o;
    without_links(t, &f);
    follow(t, &f, &o);
    if (sonde__handler.missed)
        return 0;
    if (o.place != STAYS)
        move(t, o.place, o.anchor);
    insert(t, &f);
    return sonde__context_path(t, f.frame, f.count);
}
