/* context_merge.c - the path of a context, put together frame by frame: native frames, Python's, ranges and a link.
 *
 * The usual case, which needs none of this, is in context.c.
 *
 * Ranges (range.c) stand in the path where they were opened: after the frames
 * that have been on the stack ever since. At first these are all frames of the
 * call that opened the range; with each context their number shrinks to what
 * the stack has in common with the one before. Two frames of one function at
 * the first difference count as common: it has made another call, that is all.
 */
#include "context_merge.h"

#include "context.h"

#define CODE_PYTHON (1ull << 63) /* in range_code: of a code object, not a pc */

/* Put `frame` at position `i` of the path; true while nothing has changed. */
static bool path_put(struct sonde_thread *t, uint32_t i, uint32_t frame, bool same)
{
    if (same && i < t->path_length && t->path[i] == frame)
        return true;
    t->path[i] = frame;
    t->node[i] = sonde__context_child(t, i ? t->node[i - 1] : 0, frame);
    return false;
}

/* One path under construction. */
struct merge {
    struct sonde_thread *t;
    uint32_t length;
    bool same;  /* as long as last time */
    int next;   /* outermost Python frame that is not in the path yet; -1 none */
    bool ranges, stack_only;     /* follow range_stack; and make no path */
    bool stack_same;             /* range_stack is as last time so far */
    bool link, link_here;        /* a link waits for its place, which is before the next frame */
    uint32_t open, range;        /* ranges: open, and in the path so far */
    uint32_t stack;              /* frames of range_stack so far */
};

static void put(struct merge *m, uint32_t frame)
{
    if (m->length >= SONDE_PATH_MAX - 2)
        return;
    m->same = path_put(m->t, m->length, frame, m->same);
    m->length++;
}

static bool same_function(uint64_t a, uint64_t b)
{
    if ((a | b) & CODE_PYTHON)
        return a == b;
    uintptr_t start = a && b ? sonde__unwind_function_start((uintptr_t)a) : 0;
    return start && start == sonde__unwind_function_start((uintptr_t)b);
}

/* What lies deeper than `place` in the stack was left by the call that opened these ranges. */
static void cut_ranges(struct sonde_thread *t, uint32_t place)
{
    uint32_t n = sonde__open_ranges(t);
    while (n-- > 0 && t->open[n].place > place) /* outer ranges stand no deeper than inner ones */
        t->open[n].place = place;
}

/* Frame number m->stack, `frame`, against what was there last time. */
static void follow_stack(struct merge *m, uint32_t frame, uint64_t code)
{
    struct sonde_thread *t = m->t;
    uint32_t i = m->stack;
    bool known = i < t->ranges.stack_length;
    if (m->stack_same && known && t->range_stack[i] == frame)
        return;
    if (m->stack_same && m->open && t->open[m->open - 1].place > i)
        cut_ranges(t, i + (known && same_function(t->range_code[i], code)));
    m->stack_same = false;
    t->range_stack[i] = frame;
    t->range_code[i] = code;
}

/* The ranges whose place has come. */
static void put_ranges(struct merge *m)
{
    const struct sonde_thread *t = m->t;
    while (m->range < m->open && t->open[m->range].place <= m->stack)
        put(m, t->open[m->range++].frame);
}

static void put_link(struct merge *m)
{
    m->link = m->link_here = false;
    if (m->t->ranges.link_frame)
        put(m, m->t->ranges.link_frame);
    if (m->t->ranges.link_name)
        put(m, m->t->ranges.link_name);
}

/* A frame of the stack, outermost first. */
static void put_frame(struct merge *m, uint32_t frame, uint64_t code)
{
    if (m->ranges && m->stack < SONDE_PATH_MAX) {
        follow_stack(m, frame, code);
        if (!m->stack_only)
            put_ranges(m);
        m->stack++;
    }
    if (m->link_here)
        put_link(m);
    if (!m->stack_only)
        put(m, frame);
}

/* The next group of Python frames: those run by one C call of the eval loop. */
static void put_group(struct merge *m)
{
    const struct sonde_pyframe *python = m->t->python;
    do {
        if (python[m->next].code) /* else the call is entering or leaving its only frame */
            put_frame(m, sonde__frame_of_python(&python[m->next]), python[m->next].code | CODE_PYTHON);
        m->next--;
    } while (m->next >= 0 && !python[m->next].entry);
}

/* Where each group says in which native frame its eval loop is (3.10 on). */
static void merge_by_place(struct merge *m, uint32_t native_length)
{
    const struct sonde_stack *s = &m->t->stack;
    const struct sonde_pyframe *python = m->t->python;
    for (uint32_t d = 0; d < native_length; d++) {
        uint32_t i = s->count - 1 - d, frame = m->t->native[d];
        uintptr_t outer_cfa = d ? s->cfa[i + 1] : UINTPTR_MAX;
        while (m->next >= 0 && python[m->next].stack >= outer_cfa)
            put_group(m); /* its native frame was lost, or is on another stack */
        m->link_here = m->link && s->cfa[i] < m->t->ranges.link_within;
        if (m->next >= 0 && python[m->next].stack >= s->cfa[i])
            put_group(m);
        else if (frame != SONDE_FRAME_ID_SKIP && frame != SONDE_FRAME_ID_EVAL)
            put_frame(m, frame, s->pc[i]);
    }
}

/* Without places (3.9): native frames of the eval loop and groups pair up from
 * the innermost, so that a native walk that lost its outer part leaves the
 * extra Python frames outermost. */
static void merge_by_count(struct merge *m, uint32_t native_length)
{
    const struct sonde_thread *t = m->t;
    uint32_t evals = 0, groups = 0;
    for (uint32_t d = 0; d < native_length; d++)
        evals += t->native[d] == SONDE_FRAME_ID_EVAL;
    for (int k = 0; k <= m->next; k++)
        groups += t->python[k].entry || k == m->next;
    for (; groups > evals; groups--)
        put_group(m);
    for (uint32_t d = 0; d < native_length; d++) {
        uint32_t i = t->stack.count - 1 - d;
        m->link_here = m->link && t->stack.cfa[i] < t->ranges.link_within;
        if (t->native[d] == SONDE_FRAME_ID_SKIP)
            continue;
        if (t->native[d] != SONDE_FRAME_ID_EVAL)
            put_frame(m, t->native[d], t->stack.pc[i]);
        else if (groups == evals--) {
            put_group(m);
            groups--;
        }
    }
}

/* The frames are all in it: ranges that none of them came after, and a link without a place. */
static uint32_t end_path(struct merge *m)
{
    if (m->ranges) {
        cut_ranges(m->t, m->stack);
        m->t->ranges.stack_length = m->stack;
    }
    if (m->ranges && !m->stack_only)
        put_ranges(m);
    if (m->link)
        put_link(m);
    return m->length;
}

uint32_t sonde__context_merged(struct sonde_thread *t, uint32_t native_length, int python_count, bool stack_only)
{
    t->ranges.steady = false;
    struct merge m = {
        .t = t,
        .same = true,
        .next = python_count - 1,
        .stack_only = stack_only,
        .open = sonde__open_ranges(t),
        .ranges = stack_only || sonde__open_ranges(t),
        .stack_same = true,
        .link = !stack_only && sonde__has_link(t),
    };
    if (t->stack.end != SONDE_UNWIND_OUTERMOST)
        put_frame(&m, sonde__frame_of_kind(SONDE_FRAME_CUT), 0);
    if (python_count > 0 && t->python[m.next].stack)
        merge_by_place(&m, native_length);
    else
        merge_by_count(&m, native_length);
    while (m.next >= 0)
        put_group(&m);
    return end_path(&m);
}

uint32_t sonde__context_ranged(struct sonde_thread *t, uint32_t native_length, uint32_t same)
{
    struct merge m = {.t = t, .same = true, .next = -1, .open = sonde__open_ranges(t), .ranges = true, .stack_same = true};
    uint32_t d = 0;
    for (; t->ranges.steady && d < same; d++)
        m.stack += t->native[d] < SONDE_FRAME_ID_EVAL; /* else it has no place in the path */
    while (m.range < m.open && t->open[m.range].place < m.stack)
        m.range++;
    m.length = m.stack + m.range;
    for (; d < native_length; d++)
        if (t->native[d] < SONDE_FRAME_ID_EVAL)
            put_frame(&m, t->native[d], t->stack.pc[t->stack.count - 1 - d]);
    t->ranges.steady = true;
    return end_path(&m);
}
