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
#include "agent.h"

#include <stdlib.h>
#include <string.h>

#include "guest/once.h"

#define FRAMES_MAX  4096u
#define ACROSS_MAX  1024u /* open at once of those that may end on another thread */
#define ACROSS_TRY    64u /* places tried for a new one */

static_assert(sizeof(struct sonde_row_range) == 5 * sizeof(uint64_t), "copied by words");

/* Pushed by this thread while it had no slot, because recording was off. They
 * lie outside of all that it has pushed since. */
static __thread uint32_t outer __attribute__((tls_model("initial-exec")));

static bool is_recording(void)
{
    return sonde__flag && atomic_load_explicit(sonde__flag, memory_order_relaxed) == SONDE_FLAG_ON;
}

static bool is_off(void)
{
    return sonde__flag && atomic_load_explicit(sonde__flag, memory_order_relaxed) == SONDE_FLAG_OFF;
}

/* While recording is off, ranges of threads that have a slot are followed. */
static struct sonde_thread *thread_here(void)
{
    struct sonde_thread *t = sonde__self;
    if (is_off() || (t && is_recording()))
        return atomic_load_explicit(&sonde__agent.state, memory_order_relaxed) == SONDE_ON ? t : NULL;
    bool first = atomic_load(&sonde__agent.state) == SONDE_NEW;
    t = sonde__enter();
    if (first && t)
        sonde__agent.early = true;
    return t;
}

bool sonde_enter(void)
{
    if (!is_recording() && !is_off())
        thread_here();
    return atomic_load_explicit(&sonde__agent.state, memory_order_relaxed) == SONDE_ON;
}

/* ---- rows -------------------------------------------------------------------------- */

static struct sonde_row_range row_of(const struct sonde_range *range, uint64_t begin_ns, uint16_t flags)
{
    return (struct sonde_row_range){
        .begin_ns = begin_ns, .payload = range->payload, .name = range->name, .domain = range->domain,
        .category = range->category, .payload_type = range->payload_type, .flags = flags};
}

static void words_store(_Atomic uint64_t *words, const struct sonde_row_range *row)
{
    uint64_t plain[5];
    memcpy(plain, row, sizeof plain);
    for (int i = 0; i < 5; i++)
        atomic_store_explicit(&words[i], plain[i], memory_order_relaxed);
}

static struct sonde_row_range words_load(_Atomic uint64_t *words)
{
    struct sonde_row_range row;
    uint64_t plain[5];
    for (int i = 0; i < 5; i++)
        plain[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
    memcpy(&row, plain, sizeof row);
    return row;
}

/* A row that will be missing in the trace, of a thread with slot `t` or without
 * one. Not sonde__count: a signal handler may come here within it. */
static void lose(struct sonde_thread *t)
{
    if (sonde__agent.config.trace && is_recording())
        atomic_fetch_add_explicit(t ? &t->ranges.lost : &sonde__agent.ranges_lost, 1, memory_order_relaxed);
}

static void send(struct sonde_thread *t, const struct sonde_row_range *row, uint32_t lane)
{
    if (!sonde__agent.config.trace)
        return;
    struct sonde_range_event *e = sonde__channel_slot(&t->ranges.ended);
    if (__builtin_expect(!e, 0)) {
        lose(t);
        return;
    }
    *e = (struct sonde_range_event){.row = *row, .lane = lane};
    sonde__channel_publish(&t->ranges.ended);
}

static _Atomic uint32_t frames; /* made so far */

/* ---- frames ------------------------------------------------------------------------- */

/* Bounded, so that names with numbers in them do not fill the tree: later ones share a frame. */
static uint32_t frame_of(uint32_t domain, uint32_t name)
{
    uint64_t key = ((uint64_t)(0x1000000u + (domain & 0xffffff)) << 32 | name) * 2 + 1; /* above all links */
    uint32_t id;
    if (sonde__frame_find(key, &id))
        return id;
    uint32_t before = atomic_fetch_add_explicit(&frames, 1, memory_order_relaxed);
    if (before == FRAMES_MAX)
        sonde_note("more than %u names of ranges: the others share one frame", FRAMES_MAX);
    if (!name || before >= FRAMES_MAX) {
        name = sonde_string(SONDE_RANGE_OTHER, sizeof SONDE_RANGE_OTHER - 1);
        domain = 0;
        key = (0x1000000ull << 32 | name) * 2 + 1;
    }
    return sonde__frame_intern(key, (struct sonde_row_frame){.kind = SONDE_FRAME_RANGE, .module = domain,
                                                             .name = name});
}

/* ---- nested ranges ------------------------------------------------------------------- */

static uint32_t depth_of(const struct sonde_thread *t)
{
    return atomic_load_explicit(&t->ranges.depth, memory_order_relaxed);
}

/* What lies deeper than `place` in the stack was left by the call that opened these ranges. */
void sonde__ranges_cut(struct sonde_thread *t, uint32_t place)
{
    uint32_t n = depth_of(t);
    if (n > SONDE_RANGES_MAX)
        n = SONDE_RANGES_MAX;
    while (n-- > 0 && t->open[n].place > place) /* outer ranges stand no deeper than inner ones */
        t->open[n].place = place;
}

static void open_range(struct sonde_thread *t, uint32_t depth, const struct sonde_range *range)
{
    struct sonde_open_range *o = &t->open[depth];
    if (depth == 0)
        t->ranges.stack_length = 0;
    sonde__context_stack(t);
    o->place = t->ranges.stack_length;
    o->frame = frame_of(range->domain, range->name);
    o->domain = range->domain;
    o->name = range->name;
    o->recorded = is_recording();
    struct sonde_row_range row = row_of(range, sonde_now_ns(), 0);
    words_store(o->row, &row);
}

void sonde_range_push(const struct sonde_range *range)
{
    static struct sonde_once said;
    uint64_t ticks = sonde__ticks();
    struct sonde_thread *t = thread_here();
    if (!t) {
        outer++;
        lose(NULL);
        return;
    }
    if (t->busy) {
        t->ranges.ignored++;
        lose(t);
        return;
    }
    sonde__busy(t, SONDE_BUSY);
    uint32_t depth = depth_of(t);
    if (depth < SONDE_RANGES_MAX)
        open_range(t, depth, range);
    else
        lose(t);
    if (depth == SONDE_RANGES_MAX && sonde__once(&said))
        sonde_note("ranges are nested deeper than %u: the inner ones are left out", SONDE_RANGES_MAX);
    atomic_store_explicit(&t->ranges.depth, depth + 1, memory_order_release);
    sonde__busy(t, 0);
    sonde__count(&t->count.hook_ticks, sonde__ticks() - ticks);
}

/* Take range `i` out of the open ones; ranges of other domains may be inside it. */
static void end_range(struct sonde_thread *t, uint32_t i, uint32_t depth)
{
    if (t->open[i].recorded || is_recording()) {
        struct sonde_row_range row = words_load(t->open[i].row);
        row.end_ns = sonde_now_ns();
        send(t, &row, t->lane);
    }
    for (; i + 1 < depth; i++) {
        struct sonde_open_range *to = &t->open[i], *from = &t->open[i + 1];
        struct sonde_row_range row = words_load(from->row);
        words_store(to->row, &row);
        to->frame = from->frame;
        to->place = from->place;
        to->domain = from->domain;
        to->name = from->name;
        to->recorded = from->recorded;
    }
    t->ranges.steady = false;
    atomic_store_explicit(&t->ranges.depth, depth - 1, memory_order_release);
}

uint32_t sonde_range_pop(uint32_t domain)
{
    uint64_t ticks = sonde__ticks();
    /* A forked child does not start the agent to close what its parent opened. */
    struct sonde_thread *t = is_recording() || is_off() ? sonde__self : NULL;
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
        outer -= outer > 0; /* else nobody pushed it: nothing to pop */
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
    if (!t || t->busy || !is_recording()) {
        lose(t);
        return;
    }
    sonde__busy(t, SONDE_BUSY);
    uint64_t now = sonde_now_ns();
    struct sonde_row_range row = row_of(mark, now, SONDE_RANGE_MARK);
    row.end_ns = now;
    send(t, &row, t->lane);
    sonde__busy(t, 0);
}

/* ---- ranges that may end on another thread ---------------------------------------------- */

#define TAKEN 1u /* a place whose row is being written or read */

static struct across {
    _Atomic uint64_t id; /* 0 free, TAKEN, else the range's: number << 10 | place */
    _Atomic uint64_t row[5];
    _Atomic uint32_t lane;
} across[ACROSS_MAX];
static _Atomic uint64_t across_number = 1;

uint64_t sonde_range_start(const struct sonde_range *range)
{
    struct sonde_thread *t = thread_here();
    if (!t || t->busy || !is_recording()) {
        lose(t);
        return 0;
    }
    struct sonde_row_range row = row_of(range, sonde_now_ns(), SONDE_RANGE_ACROSS);
    uint64_t number = atomic_fetch_add_explicit(&across_number, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < ACROSS_TRY; i++) {
        uint64_t place = (number + i) % ACROSS_MAX, empty = 0;
        struct across *a = &across[place];
        if (atomic_load_explicit(&a->id, memory_order_relaxed) ||
            !atomic_compare_exchange_strong_explicit(&a->id, &empty, TAKEN, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        words_store(a->row, &row);
        atomic_store_explicit(&a->lane, t->lane, memory_order_relaxed);
        atomic_store_explicit(&a->id, number << 10 | place, memory_order_release);
        return number << 10 | place;
    }
    lose(t);
    return 0;
}

uint32_t sonde_range_end(uint64_t id)
{
    struct across *a = &across[id % ACROSS_MAX];
    if (id <= TAKEN || !(is_recording() || is_off()) ||
        !atomic_compare_exchange_strong_explicit(&a->id, &id, TAKEN, memory_order_acquire, memory_order_relaxed))
        return 0;
    struct sonde_row_range row = words_load(a->row);
    uint32_t lane = atomic_load_explicit(&a->lane, memory_order_relaxed);
    atomic_store_explicit(&a->id, 0, memory_order_release);
    struct sonde_thread *t = thread_here();
    if (!t || t->busy) {
        lose(t);
        return row.name;
    }
    sonde__busy(t, SONDE_BUSY);
    row.end_ns = sonde_now_ns();
    send(t, &row, lane);
    sonde__busy(t, 0);
    return row.name;
}

/* ---- links ---------------------------------------------------------------------------------- */

void sonde_link(uint32_t context, uint32_t name, const void *within)
{
    /* A thread that only ends a link has nothing to say. */
    struct sonde_thread *t = (context || name) && is_recording() ? thread_here() : sonde__self;
    if (!t || t->busy || !is_recording())
        return;
    sonde__busy(t, SONDE_BUSY);
    t->ranges.link_frame = context ? sonde__frame_of_link(context) : 0;
    t->ranges.link_name = name ? frame_of(0, name) : 0;
    t->ranges.link_within = (uintptr_t)within;
    sonde__busy(t, 0);
}

uint32_t sonde_last_context(void)
{
    const struct sonde_thread *t = is_recording() ? sonde__self : NULL;
    return t ? t->last_context : 0;
}

void sonde__ranges_of_ended(struct sonde_thread *t)
{
    uint32_t n = depth_of(t) < SONDE_RANGES_MAX ? depth_of(t) : SONDE_RANGES_MAX;
    for (uint32_t i = 0; i < n; i++) {
        struct sonde_row_range row = words_load(t->open[i].row);
        send(t, &row, t->lane);
    }
    atomic_store(&t->ranges.depth, 0);
}

/* ---- the monitor's side ------------------------------------------------------------------------ */

static void count_lost(struct sonde_thread *t)
{
    uint64_t lost = atomic_load_explicit(&t->ranges.lost, memory_order_relaxed);
    if (lost != t->ranges.counted)
        sonde__trace_lost(t->lane, SONDE_TABLE_RANGE, SONDE_DROP_CHANNEL_FULL, lost - t->ranges.counted);
    t->ranges.counted = lost;
}

void sonde__ranges_drain(struct sonde_thread *t)
{
    for (uint64_t n = sonde__channel_waiting(&t->ranges.ended); n > 0; n--) {
        const struct sonde_range_event *e = sonde__channel_peek(&t->ranges.ended);
        sonde__trace_row(e->lane, SONDE_TABLE_RANGE, &e->row);
        sonde__channel_next(&t->ranges.ended);
    }
    count_lost(t);
    const uint64_t of_none = atomic_load_explicit(&sonde__agent.ranges_lost, memory_order_relaxed);
    if (of_none)
        sonde__trace_lost(0, SONDE_TABLE_RANGE, SONDE_DROP_CHANNEL_FULL, atomic_exchange(&sonde__agent.ranges_lost, 0));
}

static void last_of_thread(struct sonde_thread *t)
{
    uint32_t n = atomic_load_explicit(&t->ranges.depth, memory_order_acquire);
    for (uint32_t i = 0; i < n && i < SONDE_RANGES_MAX; i++) {
        const struct sonde_row_range row = words_load(t->open[i].row);
        sonde__trace_row(t->lane, SONDE_TABLE_RANGE, &row);
    }
}

void sonde__ranges_last(void)
{
    struct sonde_agent *a = &sonde__agent;
    for (uint32_t i = 1; i <= atomic_load(&a->thread_count); i++) {
        struct sonde_thread *t = atomic_load(&a->threads[i]);
        last_of_thread(t);
        count_lost(t);
    }
    for (uint32_t i = 0; i < ACROSS_MAX; i++)
        if (atomic_load_explicit(&across[i].id, memory_order_acquire) > TAKEN) {
            const struct sonde_row_range row = words_load(across[i].row);
            sonde__trace_row(atomic_load(&across[i].lane), SONDE_TABLE_RANGE, &row);
        }
}

void sonde__ranges_forget(void)
{
    for (uint32_t i = 0; i < ACROSS_MAX; i++)
        atomic_store(&across[i].id, 0);
    atomic_store(&frames, 0);
    outer = 0;
}
