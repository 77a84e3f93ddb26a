/* range.c - ranges and marks that the program names, and links to where work was prepared.
 *
 * An open range is a frame in the calling contexts of its thread (context.c
 * finds its place) and, when it has ended, a row on the thread's lane. In the
 * steady state pushing and popping take no lock, allocate nothing and make no
 * system call: a push costs a walk of the stack, a pop next to nothing.
 *
 * The first range of a process starts the agent, as a hooked call does: a
 * program that names its phases does so before its first device call.
 */
#include "range_rows.h"

#include "agent/context/context.h"
#include "agent/state/clock.h"
#include "agent/store/store.h"
#include "guest/once.h"
#include "run.h"

#define FRAMES_MAX  4096u
#define ACROSS_TRY    64u /* places tried for a new one */

static bool is_off(void)
{
    return sonde__flag && atomic_load_explicit(sonde__flag, memory_order_relaxed) == SONDE_FLAG_OFF;
}

/* While recording is off, ranges of threads that have a slot are followed. */
static struct sonde_thread *thread_here(void)
{
    struct sonde_thread *t = sonde__self;
    if (is_off() || (t && sonde__is_recording()))
        return atomic_load_explicit(&sonde__agent.state, memory_order_relaxed) == SONDE_ON ? t : NULL;
    bool first = atomic_load(&sonde__agent.state) == SONDE_NEW;
    t = sonde__enter();
    if (first && t)
        sonde__agent.early = true;
    return t;
}

bool sonde_enter(void)
{
    if (!sonde__is_recording() && !is_off())
        thread_here();
    return atomic_load_explicit(&sonde__agent.state, memory_order_relaxed) == SONDE_ON;
}

/* ---- rows -------------------------------------------------------------------------- */

static struct sonde_row_range row_of(const struct sonde_range *range, uint64_t begin_ns, uint16_t flags)
{
    return (struct sonde_row_range){
        .begin_ns = begin_ns,
        .payload = range->payload,
        .name = range->name,
        .domain = range->domain,
        .category = range->category,
        .payload_type = range->payload_type,
        .flags = flags,
    };
}

/* ---- frames ------------------------------------------------------------------------- */

/* Bounded, so that names with numbers in them do not fill the tree: later ones share a frame. */
static uint32_t frame_of(uint32_t domain, uint32_t name)
{
    uint64_t key = ((uint64_t)(0x1000000u + (domain & 0xffffff)) << 32 | name) * 2 + 1; /* above all links */
    uint32_t id;
    if (sonde__frame_find(key, &id))
        return id;
    uint32_t before = atomic_fetch_add_explicit(&sonde__agent.range_frames, 1, memory_order_relaxed);
    if (before == FRAMES_MAX)
        sonde_note("more than %u range names: the others share one frame", FRAMES_MAX);
    if (!name || before >= FRAMES_MAX) {
        name = sonde_string(SONDE_RANGE_OTHER, sizeof SONDE_RANGE_OTHER - 1);
        domain = 0;
        key = (0x1000000ull << 32 | name) * 2 + 1;
    }
    return sonde__frame_intern(key, (struct sonde_row_frame){.kind = SONDE_FRAME_RANGE, .module = domain, .name = name});
}

/* ---- nested ranges ------------------------------------------------------------------- */

static uint32_t depth_of(const struct sonde_thread *t)
{
    return atomic_load_explicit(&t->ranges.depth, memory_order_relaxed);
}

static void open_range(struct sonde_thread *t, uint32_t depth, const struct sonde_range *range)
{
    struct sonde_open_range *o = &t->open[depth];
    sonde__ranges_open(t, depth, sonde__context(t, SONDE_API_NONE), frame_of(range->domain, range->name));
    o->domain = range->domain;
    o->name = range->name;
    o->recorded = sonde__is_recording();
    struct sonde_row_range row = row_of(range, sonde_now_ns(), 0);
    sonde__range_store(o->row, &row);
}

void sonde_range_push(const struct sonde_range *range)
{
    static struct sonde_once said;
    uint64_t ticks = sonde__ticks();
    struct sonde_thread *t = thread_here();
    if (!t) {
        sonde__ranges_outer++;
        sonde__range_lost(NULL);
        return;
    }
    if (t->busy) {
        t->ranges.ignored++;
        sonde__range_lost(t);
        return;
    }
    sonde__busy(t, SONDE_BUSY);
    uint32_t depth = depth_of(t);
    if (depth < SONDE_RANGES_MAX)
        open_range(t, depth, range);
    else
        sonde__range_lost(t);
    if (depth == SONDE_RANGES_MAX && sonde__once(&said))
        sonde_note("ranges nested deeper than %u: the inner ones are left out", SONDE_RANGES_MAX);
    atomic_store_explicit(&t->ranges.depth, depth + 1, memory_order_release);
    sonde__busy(t, 0);
    sonde__count(&t->count.hook_ticks, sonde__ticks() - ticks);
}

/* Take range `i` out of the open ones; ranges of other domains may be inside it. */
static void end_range(struct sonde_thread *t, uint32_t i, uint32_t depth)
{
    if (t->open[i].recorded || sonde__is_recording()) {
        struct sonde_row_range row = sonde__range_load(t->open[i].row);
        row.end_ns = sonde_now_ns();
        sonde__range_send(t, &row, t->lane);
    }
    const uint32_t first = i;
    for (; i + 1 < depth; i++) {
        struct sonde_open_range *to = &t->open[i], *from = &t->open[i + 1];
        struct sonde_row_range row = sonde__range_load(from->row);
        sonde__range_store(to->row, &row);
        to->frame = from->frame;
        to->place = from->place;
        to->anchor = from->anchor;
        to->domain = from->domain;
        to->name = from->name;
        to->recorded = from->recorded;
    }
    atomic_store_explicit(&t->ranges.depth, depth - 1, memory_order_release);
    sonde__ranges_closed(t, first);
}

uint32_t sonde_range_pop(uint32_t domain)
{
    uint64_t ticks = sonde__ticks();
    /* A forked child does not start the agent to close what its parent opened. */
    struct sonde_thread *t = sonde__is_recording() || is_off() ? sonde__self : NULL;
    uint32_t depth = t ? depth_of(t) : 0, i = depth, name;
    if (t && t->ranges.ignored) {
        t->ranges.ignored--;
        return 0;
    }
    if (depth > SONDE_RANGES_MAX) {
        atomic_store_explicit(&t->ranges.depth, depth - 1, memory_order_release);
        return 0;
    }
    while (i > 0 && t->open[i - 1].domain != domain)
        i--;
    if (!i) {
        sonde__ranges_outer -= sonde__ranges_outer > 0; /* else nobody pushed it: nothing to pop */
        return 0;
    }
    sonde__busy(t, SONDE_BUSY);
    name = t->open[i - 1].name;
    end_range(t, i - 1, depth);
    sonde__busy(t, 0);
    sonde__count(&t->count.hook_ticks, sonde__ticks() - ticks);
    return name;
}

void sonde_mark(const struct sonde_range *mark)
{
    struct sonde_thread *t = thread_here();
    if (!t || t->busy || !sonde__is_recording()) {
        sonde__range_lost(t);
        return;
    }
    sonde__busy(t, SONDE_BUSY);
    uint64_t now = sonde_now_ns();
    struct sonde_row_range row = row_of(mark, now, SONDE_RANGE_MARK);
    row.end_ns = now;
    sonde__range_send(t, &row, t->lane);
    sonde__busy(t, 0);
}

/* ---- ranges that may end on another thread ---------------------------------------------- */

static _Atomic uint64_t across_number = 1;

uint64_t sonde_range_start(const struct sonde_range *range)
{
    struct sonde_thread *t = thread_here();
    if (!t || t->busy || !sonde__is_recording()) {
        sonde__range_lost(t);
        return 0;
    }
    struct sonde_row_range row = row_of(range, sonde_now_ns(), SONDE_RANGE_ACROSS);
    uint64_t number = atomic_fetch_add_explicit(&across_number, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < ACROSS_TRY; i++) {
        uint64_t place = (number + i) % SONDE_ACROSS_MAX, empty = 0;
        struct sonde_across *a = &sonde__across[place];
        if (atomic_load_explicit(&a->id, memory_order_relaxed) ||
            !atomic_compare_exchange_strong_explicit(&a->id, &empty, SONDE_ACROSS_TAKEN, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        sonde__range_store(a->row, &row);
        atomic_store_explicit(&a->lane, t->lane, memory_order_relaxed);
        atomic_store_explicit(&a->id, number << 10 | place, memory_order_release);
        return number << 10 | place;
    }
    sonde__range_lost(t);
    return 0;
}

uint32_t sonde_range_end(uint64_t id)
{
    struct sonde_across *a = &sonde__across[id % SONDE_ACROSS_MAX];
    if (id <= SONDE_ACROSS_TAKEN || !(sonde__is_recording() || is_off()) ||
        !atomic_compare_exchange_strong_explicit(&a->id, &id, SONDE_ACROSS_TAKEN, memory_order_acquire, memory_order_relaxed))
        return 0;
    struct sonde_row_range row = sonde__range_load(a->row);
    uint32_t lane = atomic_load_explicit(&a->lane, memory_order_relaxed);
    atomic_store_explicit(&a->id, 0, memory_order_release);
    struct sonde_thread *t = thread_here();
    if (!t || t->busy) {
        sonde__range_lost(t);
        return row.name;
    }
    sonde__busy(t, SONDE_BUSY);
    row.end_ns = sonde_now_ns();
    sonde__range_send(t, &row, lane);
    sonde__busy(t, 0);
    return row.name;
}

/* ---- links ---------------------------------------------------------------------------------- */

void sonde_link(uint32_t context, uint32_t name, const void *within)
{
    /* A thread that only ends a link has nothing to say. */
    struct sonde_thread *t = (context || name) && sonde__is_recording() ? thread_here() : sonde__self;
    if (!t || t->busy || !sonde__is_recording())
        return;
    sonde__busy(t, SONDE_BUSY);
    t->ranges.link_frame = context ? sonde__frame_of_link(context) : 0;
    t->ranges.link_name = name ? frame_of(0, name) : 0;
    t->ranges.link_within = (uintptr_t)within;
    sonde__busy(t, 0);
}

uint32_t sonde_last_context(void)
{
    const struct sonde_thread *t = sonde__is_recording() ? sonde__self : NULL;
    return t ? t->last_context : 0;
}
