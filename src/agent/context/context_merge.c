/* context_merge.c - the path of a context, put together frame by frame: native frames, Python's, and a link.
 *
 * The usual case, which needs none of this, is in context.c; open ranges come afterwards (ranges.c).
 */
#include "context_merge.h"

#include "context.h"

/* One path under construction. */
struct merge {
    struct sonde_thread *t;
    uint32_t length;
    int next;             /* outermost Python frame that is not in the path yet; -1 none */
    bool link, link_here; /* a link waits for its place, which is before the next frame */
};

static void put(struct merge *m, uint32_t frame)
{
    if (m->length < SONDE_PATH_MAX - SONDE_RANGES_MAX)
        m->t->path[m->length++] = frame;
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
static void put_frame(struct merge *m, uint32_t frame)
{
    if (m->link_here)
        put_link(m);
    put(m, frame);
}

/* The next group of Python frames: those run by one C call of the eval loop. */
static void put_group(struct merge *m)
{
    const struct sonde_pyframe *python = m->t->python;
    do {
        if (python[m->next].code) /* else the call is entering or leaving its only frame */
            put_frame(m, sonde__frame_of_python(&python[m->next]));
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
            put_frame(m, frame);
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
            put_frame(m, t->native[d]);
        else if (groups == evals--) {
            put_group(m);
            groups--;
        }
    }
}

uint32_t sonde__context_merged(struct sonde_thread *t, uint32_t native_length, int python_count)
{
    struct merge m = {.t = t, .next = python_count - 1, .link = sonde__has_link(t)};
    if (t->stack.end != SONDE_UNWIND_OUTERMOST)
        put_frame(&m, sonde__frame_of_kind(SONDE_FRAME_CUT));
    if (python_count > 0 && t->python[m.next].stack)
        merge_by_place(&m, native_length);
    else
        merge_by_count(&m, native_length);
    while (m.next >= 0)
        put_group(&m);
    if (m.link)
        put_link(&m);
    return m.length;
}
