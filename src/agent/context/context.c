/* context.c - from a stack to a node of the calling context tree.
 *
 * A context is the path of frame ids from the outermost frame to the API
 * call. The thread keeps its last path with the node of every prefix: the new
 * path's common prefix costs a comparison, only the rest is looked up. Python
 * frames take the place of the interpreter's evaluation loop, which runs them.
 * Paths that are put together frame by frame are in context_merge.c, and open
 * ranges, which come last, in ranges.c.
 */
#include "context.h"

#include <string.h>

#include "agent/stack/python_state.h"
#include "agent/state/state.h"
#include "context_merge.h"
#include "guest/hot.h"
#include "replay.h"

#define TRAILS_AFTER  64   /* calls before a thread gets memory for trails: most threads make few */

/* Of the hooks' way: a second caller (the samples') must not make them calls. */
#define HOT inline __attribute__((always_inline))

SONDE__HOT_DATA static void (*_Atomic watch_calls)(uint32_t context);

/* How many of native[] the last walk has left valid. */
static HOT uint32_t native_same(struct sonde_thread *t)
{
    const struct sonde_stack *s = &t->stack;
    if (t->native_length > s->shared)
        t->native_length = s->shared;
    if (s->end != SONDE_UNWIND_OUTERMOST || s->generation != t->frame_generation)
        t->native_length = 0;
    t->frame_generation = s->generation;
    return t->native_length;
}

/* Frame ids of the native stack, outermost first, into t->native. Returns how
 * many of the outer ones are as they were. */
static uint32_t native_frames(struct sonde_thread *t)
{
    struct sonde_stack *s = &t->stack;
    uint32_t n = s->count, same = native_same(t);
    for (uint32_t d = same; d < n; d++)
        t->native[d] = sonde__frame_of_pc(s->pc[n - 1 - d]);
    while (n > 0 && t->native[n - 1] == SONDE_FRAME_ID_SKIP)
        n--;
    t->native_length = s->count; /* native[] is valid that far; the path uses n */
    return same < n ? same : n;
}

static HOT uint32_t usable_length(const struct sonde_thread *t)
{
    uint32_t n = t->stack.count;
    while (n > 0 && t->native[n - 1] == SONDE_FRAME_ID_SKIP)
        n--;
    return n;
}

static int python_frames(struct sonde_thread *t)
{
    if (!sonde__python_attached())
        return 0;
    int n = sonde__python_walk(t->python, (int)(sizeof t->python / sizeof *t->python));
    sonde__count(&t->count.python_walks, 1);
    if (__builtin_expect(n < 0, 0)) {
        sonde__count(&t->count.python_failed, 1);
        sonde_note("Python stacks end here: %s", sonde__python_why_off());
        return 0;
    }
    uint32_t *version = &sonde__agent.header->python_version; /* any thread */
    if (__builtin_expect(n > 0 && !__atomic_load_n(version, __ATOMIC_RELAXED), 0))
        __atomic_store_n(version, sonde__python_version(), __ATOMIC_RELAXED);
    return n;
}

static void check_stack(struct sonde_thread *t)
{
    if (!t->check)
        t->check = sonde__heap_get(&sonde__agent.heap, sizeof *t->check);
    if (!t->check)
        return;
    sonde__unwind_full(t->check);
    const struct sonde_stack *a = &t->stack, *b = t->check;
    if (a->end == SONDE_UNWIND_CUT || b->end == SONDE_UNWIND_CUT)
        return; /* cut at different places: not comparable from the outermost */
    /* The innermost frames are this file's own and differ by call site; compare
     * from the outermost inwards, up to the caller of sonde__context. */
    uint32_t n = a->count < b->count ? a->count : b->count;
    bool equal = a->count + 1 >= b->count && b->count + 1 >= a->count;
    for (uint32_t d = 1; equal && d + 2 < n; d++)
        equal = a->pc[a->count - d] == b->pc[b->count - d] && a->cfa[a->count - d] == b->cfa[b->count - d];
    sonde__count(&t->count.unwind_checked, 1);
    if (!equal) {
        sonde__count(&t->count.unwind_mismatched, 1);
        t->stack.count = t->stack.shared = 0;
    }
}

static void count_walk(struct sonde_thread *t)
{
    sonde__count(&t->count.unwinds, 1);
    if (__builtin_expect(t->stack.end != SONDE_UNWIND_OUTERMOST, 0))
        sonde__count(t->stack.end == SONDE_UNWIND_CUT ? &t->count.unwind_truncated : &t->count.unwind_failed, 1);
}

static uint32_t api_node(struct sonde_thread *t, uint32_t node, uint32_t api)
{
    return api == SONDE_API_NONE ? node : sonde__context_child(t, node, sonde__frame_of_api(api));
}

/* ---- the usual case: the whole stack, Python frames with places ---- */

#define TOKEN_PYTHON SONDE_TOKEN_PYTHON
#define TOKEN_FRAME  (1ull << 62) /* with a frame's id; addresses end far below */

/* Keys of the Python frames. Returns how many of the outer ones are as they were, in whole groups. */
static HOT uint32_t python_same(struct sonde_thread *t, uint32_t count)
{
    uint32_t same = 0, known = t->resumable ? t->known_pythons : 0;
    for (uint32_t k = 0; k < count; k++) {
        const struct sonde_pyframe *f = &t->python[count - 1 - k];
        uint64_t key = sonde__python_token(f);
        uintptr_t place = f->stack | f->entry;
        if (same == k && k < known && t->known_python[k].key == key && t->known_python[k].place == place) {
            same++;
            continue;
        }
        t->known_python[k].key = key;
        t->known_python[k].place = place;
    }
    t->known_pythons = count;
    while (same > 0 && same < count && !t->python[count - 1 - same].entry)
        same--;
    return same;
}

/* The native frame from which on the tokens may differ from the last ones. */
static uint32_t first_changed(const struct sonde_thread *t, uint32_t shared, uint32_t python_shared, uint32_t count)
{
    const struct sonde_stack *s = &t->stack;
    uint32_t d = t->resumable ? shared : 0;
    while (d > 0 && t->python_before[d] > python_shared)
        d--;
    /* The next group belongs further in, or it has moved to where nothing else has changed. */
    if (d > 0 && t->python_before[d] < count &&
        t->python[count - 1 - t->python_before[d]].stack >= s->cfa[s->count - d])
        d = 0;
    return d;
}

/* The native frame from which on a link that has come, gone or moved makes a difference. */
static HOT uint32_t first_linked(struct sonde_thread *t, uint32_t d)
{
    const struct sonde_stack *s = &t->stack;
    const struct sonde_ranges *r = &t->ranges;
    if (t->resumable && t->known_link.frame == r->link_frame && t->known_link.name == r->link_name &&
        t->known_link.within == r->link_within)
        return d;
    if (t->resumable && (t->known_link.frame | t->known_link.name) && t->known_link.before < d)
        d = t->known_link.before;
    while (sonde__has_link(t) && d > 0 && s->cfa[s->count - d] < r->link_within)
        d--;
    t->known_link.frame = r->link_frame;
    t->known_link.name = r->link_name;
    t->known_link.within = r->link_within;
    t->known_link.before = SONDE_STACK_MAX + 1; /* make_tokens says where */
    return d;
}

static HOT uint32_t link_tokens(struct sonde_thread *t, uint32_t n, uint32_t d)
{
    if (t->ranges.link_frame)
        t->token[n++] = TOKEN_FRAME | t->ranges.link_frame;
    if (t->ranges.link_name)
        t->token[n++] = TOKEN_FRAME | t->ranges.link_name;
    t->known_link.before = d;
    return n;
}

static HOT uint32_t group_tokens(struct sonde_thread *t, uint32_t n, uint32_t *k, uint32_t count)
{
    do
        t->token[n++] = t->known_python[(*k)++].key;
    while (*k < count && !t->python[count - 1 - *k].entry);
    return n;
}

/* Tokens from native frame `d` on, as merge_by_place puts frames. Returns how many there are in all. */
static HOT uint32_t make_tokens(struct sonde_thread *t, uint32_t d, uint32_t count)
{
    const struct sonde_stack *s = &t->stack;
    uint32_t n = d ? t->token_before[d] : 0, k = d ? t->python_before[d] : 0;
    bool link = sonde__has_link(t) && d <= t->known_link.before;
    for (; d < s->count; d++) {
        uint32_t i = s->count - 1 - d;
        t->token_before[d] = (uint16_t)n;
        t->python_before[d] = (uint16_t)k;
        while (k < count && d && t->python[count - 1 - k].stack >= s->cfa[i + 1])
            n = group_tokens(t, n, &k, count); /* its native frame was lost, or is on another stack */
        if (__builtin_expect(link && s->cfa[i] < t->ranges.link_within, 0)) {
            n = link_tokens(t, n, d);
            link = false;
        }
        if (k < count && t->python[count - 1 - k].stack >= s->cfa[i])
            n = group_tokens(t, n, &k, count);
        else
            t->token[n++] = s->pc[i];
    }
    t->token_before[d] = (uint16_t)n;
    t->python_before[d] = (uint16_t)k;
    while (k < count)
        n = group_tokens(t, n, &k, count);
    return link ? link_tokens(t, n, d) : n;
}

/* Nodes of the tokens from number `n` on, of which `k` Python frames lie outside. Returns the API node. */
static uint32_t look_up(struct sonde_thread *t, uint32_t n, uint32_t end, uint32_t k, uint32_t count, uint32_t api)
{
    uint32_t node = n ? t->node[n - 1] : 0;
    for (; n < end; n++) {
        uint64_t token = t->token[n];
        if (token & TOKEN_PYTHON) {
            if (token != TOKEN_PYTHON)
                node = sonde__context_child(t, node, sonde__frame_of_python(&t->python[count - 1 - k]));
            k++;
        } else if (token & TOKEN_FRAME) {
            node = sonde__context_child(t, node, (uint32_t)token);
        } else {
            uint32_t frame = sonde__frame_of_pc((uintptr_t)token);
            if (frame != SONDE_FRAME_ID_EVAL)
                node = sonde__context_child(t, node, frame);
        }
        t->node[n] = node;
    }
    return api_node(t, node, api);
}

/* As look_up, of a path that is not known; it is kept unless something was folded. */
static uint32_t look_up_new(struct sonde_thread *t, const struct sonde_path_key *key, uint32_t n, uint32_t k,
                            uint32_t count)
{
    uint64_t folded = atomic_load_explicit(&t->count.folded, memory_order_relaxed);
    uint32_t leaf = look_up(t, n, n + key->count, k, count, key->api);
    if (atomic_load_explicit(&t->count.folded, memory_order_relaxed) == folded)
        sonde__paths_put(&t->paths, &sonde__agent.heap, key, &t->node[n], leaf);
    return leaf;
}

static uint32_t usual_context(struct sonde_thread *t, uint32_t api, uint32_t count, bool same_modules)
{
    t->resumable &= same_modules;
    uint32_t python_shared = python_same(t, count);
    uint32_t d = first_linked(t, first_changed(t, t->stack.shared, python_shared, count));
    uint32_t n = d ? t->token_before[d] : 0, k = d ? t->python_before[d] : 0;
    uint32_t end = make_tokens(t, d, count);
    struct sonde_path_key key = {.parent = n ? t->node[n - 1] : 0, .api = api, .count = end - n, .word = &t->token[n]};
    t->resumable = true;
    if (!key.count)
        return look_up(t, n, end, k, count, api);
    const struct sonde_path *path = sonde__paths_find(&t->paths, &key, t->stack.generation);
    if (!path)
        return look_up_new(t, &key, n, k, count);
    memcpy(&t->node[n], sonde__path_nodes(path), path->count * sizeof *t->node);
    return path->leaf;
}

static uint32_t merged_context(struct sonde_thread *t, uint32_t api, int python)
{
    const uint32_t length = sonde__context_merged(t, usable_length(t), python);
    return api_node(t, sonde__context_path(t, t->path, length), api);
}

static uint32_t context_of_walk(struct sonde_thread *t, uint32_t api)
{
    bool same_modules = t->stack.generation == t->frame_generation;
    int python = python_frames(t);
    bool attached = sonde__python_attached();
    if (t->stack.end == SONDE_UNWIND_OUTERMOST && (python <= 0 || t->python[python - 1].stack)) {
        native_same(t);
        uint64_t folded = atomic_load_explicit(&t->count.folded, memory_order_relaxed);
        uint32_t node = usual_context(t, api, python > 0 ? (uint32_t)python : 0, same_modules);
        bool again = sonde__python_attached() != attached;
        if (__builtin_expect(!again, 1) && atomic_load_explicit(&t->count.folded, memory_order_relaxed) == folded)
            sonde__known_keep(t, api, python > 0 ? (uint32_t)python : 0, node);
        if (__builtin_expect(sonde__agent.config.check && !again, 0)) {
            native_frames(t);
            sonde__count(&t->count.unwind_mismatched, !sonde__context_same(merged_context(t, api, python), node));
        }
        if (__builtin_expect(!again, 1))
            return node;
        sonde__paths_forget(&t->paths); /* one of these frames was the interpreter's first */
    }
    native_frames(t);
    if (sonde__python_attached() != attached)
        python = python_frames(t);
    t->resumable = false;
    return merged_context(t, api, python);
}

/* ---- samples ----------------------------------------------------------------- */

#define TOKEN_EXACT (1ull << 61) /* with the interrupted place, which is no return address */

/* While there are many different places, each counts by itself; then its function does. */
static uint32_t frame_of_place(uintptr_t pc)
{
    const struct sonde_agent *a = &sonde__agent;
    if (atomic_load_explicit(&a->sampled_nodes, memory_order_relaxed) >= a->sampled_nodes_max) {
        uintptr_t start = sonde__unwind_function_start(pc);
        pc = start ? start : pc;
    }
    return sonde__frame_of_place(pc);
}

static uint32_t frame_of_token(struct sonde_thread *t, uint64_t token, uint32_t *k, uint32_t count)
{
    if (token == TOKEN_PYTHON) {
        ++*k;
        return SONDE_FRAME_ID_EVAL;
    }
    if (token & TOKEN_PYTHON)
        return sonde__frame_of_python(&t->python[count - 1 - (*k)++]);
    if (token & TOKEN_FRAME)
        return (uint32_t)token;
    return token & TOKEN_EXACT ? frame_of_place((uintptr_t)(token & ~TOKEN_EXACT)) : sonde__frame_of_pc((uintptr_t)token);
}

/* What a walk through code without a description takes for a pc may be anything. */
static bool all_are_tokens(const struct sonde_stack *s)
{
    uintptr_t all = 0;
    for (uint32_t i = 0; i < s->count; i++)
        all |= s->pc[i];
    return all < TOKEN_EXACT;
}

/* As usual_context, without an API call and without paths: samples differ too much. */
static uint32_t usual_sample(struct sonde_thread *t, uint32_t count, bool exact)
{
    const uint64_t folded = atomic_load_explicit(&t->count.folded, memory_order_relaxed);
    native_same(t);
    t->resumable = false;
    python_same(t, count);
    first_linked(t, 0);
    uint32_t end = make_tokens(t, 0, count), node = 0, k = 0, n = t->token_before[t->stack.count - 1];
    while (n < end && t->token[n] != t->stack.pc[0]) /* it is not there when it is the interpreter's loop */
        n++;
    if (n < end && exact)
        t->token[n] |= TOKEN_EXACT;
    for (n = 0; n < end; n++) {
        uint32_t frame = frame_of_token(t, t->token[n], &k, count);
        if (frame && frame != SONDE_FRAME_ID_EVAL)
            node = sonde__context_child(t, node, frame);
        if (!frame || sonde__handler.missed)
            return node; /* the nearest that is known */
        t->node[n] = node;
    }
    /* A call may make nodes that a sample must not. */
    t->resumable = atomic_load_explicit(&t->count.folded, memory_order_relaxed) == folded;
    return node;
}

/* All frames first: when one cannot be had, nothing of the ranges has moved. */
static uint32_t unusual_sample(struct sonde_thread *t, int python, bool exact)
{
    struct sonde_stack *s = &t->stack;
    uint32_t n = s->count;
    for (uint32_t d = native_same(t); d < n && !sonde__handler.missed; d++)
        t->native[d] = d + 1 < n || !exact ? sonde__frame_of_pc(s->pc[n - 1 - d]) : frame_of_place(s->pc[0]);
    for (int i = 0; i < python && !sonde__handler.missed; i++)
        if (t->python[i].code)
            sonde__frame_of_python(&t->python[i]);
    if (sonde__handler.missed)
        return 0;
    t->native_length = n;
    t->resumable = false;
    const uint32_t length = sonde__context_merged(t, usable_length(t), python);
    return sonde__open_ranges(t) ? sonde__ranges_sample(t, length) : sonde__context_path(t, t->path, length);
}

static void check_sample(struct sonde_thread *t, const struct sonde_place *at)
{
    const struct sonde_stack *a = &t->stack, *b = t->check;
    if (!b)
        return; /* until a hook has made it */
    sonde__unwind_interrupted(t->check, at, false);
    bool equal = a->count == b->count && a->end == b->end &&
                 !memcmp(a->pc, b->pc, a->count * sizeof *a->pc) && !memcmp(a->cfa, b->cfa, a->count * sizeof *a->cfa);
    sonde__count(&t->count.unwind_checked, 1);
    sonde__count(&t->count.unwind_mismatched, !equal);
}

/* `exact`: the place was interrupted; else it is a return address. */
static uint32_t node_of_place(struct sonde_thread *t, const struct sonde_place *at, bool exact)
{
    sonde__unwind_interrupted(&t->stack, at, true);
    count_walk(t);
    if (__builtin_expect(sonde__agent.config.check, 0))
        check_sample(t, at);
    struct sonde__python_care care = {.torn = false};
    sonde__python_care = &care;
    int python = sonde__python_attached() ? sonde__python_walk_interrupted(t->python, SONDE_PYTHON_MAX) : 0;
    uint32_t node = 0;
    if (python < 0)
        care.torn = true;
    else if (!sonde__open_ranges(t) && t->stack.end == SONDE_UNWIND_OUTERMOST &&
             (python == 0 || t->python[python - 1].stack) && all_are_tokens(&t->stack))
        node = usual_sample(t, (uint32_t)python, exact);
    else
        node = unusual_sample(t, python, exact);
    sonde__python_care = NULL;
    sonde__handler.missed |= care.torn;
    if (sonde__handler.missed) { /* what is kept of this walk is not whole */
        t->native_length = 0;
        t->resumable = false;
    }
    return node;
}

uint32_t sonde__context_sample(struct sonde_thread *t, const struct sonde_place *at)
{
    return node_of_place(t, at, true);
}

/* From the caller on, which is ours as a return address, and so in no context. */
__attribute__((noinline)) uint32_t sonde__context_sleep(struct sonde_thread *t, uint32_t which, const char *name)
{
    const uintptr_t *own = __builtin_frame_address(0);
    const struct sonde_place caller = {.pc = own[1], .sp = (uintptr_t)(own + 2), .fp = own[0]};
    const uint32_t frame = sonde__frame_of_sleep(which, name);
    const uint32_t node = frame ? node_of_place(t, &caller, false) : 0;
    return node && !sonde__handler.missed ? sonde__context_child(t, node, frame) : 0;
}

__attribute__((noinline)) uint32_t sonde__context_routine(struct sonde_thread *t, uintptr_t routine)
{
    const uintptr_t *own = __builtin_frame_address(0);
    const struct sonde_place caller = {.pc = own[1], .sp = (uintptr_t)(own + 2), .fp = own[0]};
    const uint32_t node = node_of_place(t, &caller, false);
    const uint32_t frame = node && !sonde__handler.missed ? frame_of_place(routine) : 0;
    return frame && frame < SONDE_FRAME_ID_EVAL ? sonde__context_child(t, node, frame) : 0;
}

static void *trails_block(void)
{
    return sonde__heap_get_spare(&sonde__agent.heap);
}

static __attribute__((noinline)) void begin_trails(struct sonde_thread *t)
{
    if (atomic_load_explicit(&t->count.unwinds, memory_order_relaxed) < TRAILS_AFTER)
        return;
    t->trails.more = trails_block;
    t->stack.trails = &t->trails;
}

static inline void count_replay(struct sonde_thread *t)
{
    sonde__count(&t->count.unwinds, 1);
    sonde__count(&t->count.python_walks, sonde__python_is_attached());
}

/* The node of a stack that a trail tells, 0 when none does. Unless that is all, the stack has been
 * walked on return. One call of sonde__unwind, for its frame is the first of the stack. */
static inline uint32_t known_context(struct sonde_thread *t, uint32_t api, bool and_walk, uintptr_t here)
{
    struct sonde_stack *s = &t->stack;
    struct sonde_trail *trail;
    bool may = s->trails;
    uint32_t node = 0;
    while ((trail = sonde__unwind(s, may))) {
        if (!and_walk && (node = sonde__replay_of(t, trail, api))) {
            sonde__trail_came(&t->trails);
            count_replay(t);
            return node;
        }
        int python = python_frames(t);
        node = sonde__known_node(t, trail, api, python > 0 ? (uint32_t)python : 0);
        if (node)
            sonde__replay_keep(t, trail, t->trails.here, api, node, here);
        if (node && !and_walk) {
            sonde__trail_came(&t->trails);
            sonde__count(&t->count.unwinds, 1);
            return node;
        }
        may = false;
    }
    count_walk(t);
    if (!node)
        t->replay = NULL;
    return node;
}

/* Where no replay tells the context, or, as `known`, it is to be compared. A light agent, which keeps no replays, always comes here. */
static __attribute__((noinline)) uint32_t context_by_trail(struct sonde_thread *t, uint32_t api, uint32_t known, bool check,
                                                           uintptr_t here)
{
    if (sonde__agent.config.light)
        return api_node(t, 0, api);
    if (__builtin_expect(!t->stack.trails, 0))
        begin_trails(t);
    if (t->replay)
        t->trails.last = t->replay->trail;
    uint32_t node = known_context(t, api, check, here);
    if (__builtin_expect(!node || check, 0)) {
        const uint32_t told = node;
        node = context_of_walk(t, api);
        sonde__count(&t->count.unwind_mismatched, (told && !sonde__context_same(told, node)) || (known && !sonde__context_same(known, node)));
    }
    if (__builtin_expect(check, 0)) {
        t->check_in = sonde__agent.config.check ? 1 : SONDE_CHECK_EVERY;
        check_stack(t);
    }
    return node;
}

__attribute__((noinline, hot)) uint32_t sonde__context(struct sonde_thread *t, uint32_t api)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const bool check = --t->check_in == 0;
    uint32_t node = sonde__replay(t, api, here);
    if (__builtin_expect(!node || check, 0))
        node = context_by_trail(t, api, node, check, here);
    else
        count_replay(t);
    if (api == SONDE_API_NONE)
        return node;
    if (__builtin_expect(atomic_load_explicit(&t->ranges.depth, memory_order_relaxed), 0) && !sonde__agent.config.light)
        node = sonde__ranges_context(t, node);
    t->last_context = node;
    void (*watch)(uint32_t context) = atomic_load_explicit(&watch_calls, memory_order_relaxed);
    if (__builtin_expect(watch != NULL, 0))
        watch(node);
    return node;
}

void sonde_watch_calls(void (*watch)(uint32_t context))
{
    atomic_store(&watch_calls, watch);
}

uint32_t sonde_call_operation(const struct sonde_call *call, enum sonde_op_kind kind, uint32_t name)
{
    return sonde__context_op(call->thread, call->node, kind, name);
}

uint32_t sonde_call_context(const struct sonde_call *call)
{
    return call->node;
}
