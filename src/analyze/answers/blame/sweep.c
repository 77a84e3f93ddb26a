/* sweep.c - times in order by radix sort; what they leave idle; shares of it.
 *
 * Sorting: times of a window differ in few bits, mostly 20 to 30, which two or three
 * passes of a radix sort put in order without one comparison (Knuth, TAOCP vol.
 * 3, 5.2.5, algorithm R). Spans that come in order, as those of one queue, are
 * only looked at.
 */
#include "sweep.h"

#include <string.h>

enum {
    FEW = 48,
    DIGIT_BITS_MOST = 13,
    DIGITS_MOST = 64 / DIGIT_BITS_MOST + 1,
};

/* ---- spans ---------------------------------------------------------------------------- */

static void sort_few(struct sonde__span *spans, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct sonde__span span = spans[i];
        size_t at = i;
        for (; at && spans[at - 1].from > span.from; at--)
            spans[at] = spans[at - 1];
        spans[at] = span;
    }
}

static int make_room(sonde__spans *spans, size_t count)
{
    if (spans->capacity >= count)
        return 0;
    struct sonde__span *items = realloc(spans->items, count * sizeof *items);
    if (!items)
        return SONDE_ENOMEM;
    spans->items = items;
    spans->capacity = count;
    return 0;
}

/* How many spans have which digit; then where the first of them goes. */
static void count_digits(const sonde__spans *spans, uint64_t least, unsigned digits, unsigned bits, uint32_t *places)
{
    const uint32_t radix = 1u << bits;
    for (size_t i = 0; i < spans->count; i++) {
        uint64_t at = spans->items[i].from - least;
        for (unsigned d = 0; d < digits; d++, at >>= bits)
            places[d * radix + (at & (radix - 1))]++;
    }
    for (unsigned d = 0; d < digits; d++) {
        uint32_t sum = 0;
        for (uint32_t i = d * radix; i < (d + 1) * radix; i++) {
            const uint32_t count = places[i];
            places[i] = sum;
            sum += count;
        }
    }
}

static unsigned bit_length(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* As few passes as possible, with no more digits than spans. */
static int sort_digits(sonde__spans *spans, sonde__spans *scratch, uint64_t least, uint64_t most)
{
    uint32_t places[DIGITS_MOST << DIGIT_BITS_MOST];
    const unsigned length = bit_length(most - least), size = bit_length(spans->count);
    const unsigned widest = size < DIGIT_BITS_MOST ? size : DIGIT_BITS_MOST;
    const unsigned digits = (length + widest - 1) / widest, bits = (length + digits - 1) / digits;

    if (spans->count > UINT32_MAX || make_room(scratch, spans->count))
        return SONDE_ENOMEM;
    memset(places, 0, ((size_t)digits << bits) * sizeof *places);
    count_digits(spans, least, digits, bits, places);
    for (unsigned d = 0; d < digits; d++) {
        uint32_t *place = places + ((size_t)d << bits);
        for (size_t i = 0; i < spans->count; i++)
            scratch->items[place[(spans->items[i].from - least) >> d * bits & ((1u << bits) - 1)]++] = spans->items[i];
        scratch->count = spans->count;
        const sonde__spans swap = *spans;
        *spans = *scratch;
        *scratch = swap;
    }
    return 0;
}

int sonde__spans_sort(sonde__spans *spans, sonde__spans *scratch)
{
    uint64_t least = UINT64_MAX, most = 0, last = 0;
    bool sorted = true;
    for (size_t i = 0; i < spans->count; i++) {
        const uint64_t from = spans->items[i].from;
        sorted &= from >= last;
        last = from;
        least = from < least ? from : least;
        most = from > most ? from : most;
    }
    if (sorted)
        return 0;
    if (spans->count > FEW)
        return sort_digits(spans, scratch, least, most);
    sort_few(spans->items, spans->count);
    return 0;
}

int sonde__spans_gaps(const sonde__spans *spans, uint64_t from, uint64_t to, sonde__spans *gaps)
{
    uint64_t busy = from;
    int rc = 0;
    for (size_t i = 0; i < spans->count && busy < to && !rc; i++) {
        const struct sonde__span *s = &spans->items[i];
        if (s->from > busy)
            rc = sonde_vector_push(gaps, (struct sonde__span){busy, s->from < to ? s->from : to});
        busy = s->to > busy ? s->to : busy;
    }
    return busy < to && !rc ? sonde_vector_push(gaps, (struct sonde__span){busy, to}) : rc;
}

int sonde__spans_meet(const sonde__spans *one, const sonde__spans *other, sonde__spans *both)
{
    size_t i = 0, k = 0;
    int rc = 0;
    while (i < one->count && k < other->count && !rc) {
        const struct sonde__span *a = &one->items[i], *b = &other->items[k];
        const uint64_t from = a->from > b->from ? a->from : b->from, to = a->to < b->to ? a->to : b->to;
        if (from < to)
            rc = sonde_vector_push(both, (struct sonde__span){from, to});
        if (a->to < b->to)
            i++;
        else
            k++;
    }
    return rc;
}

/* ---- idle intervals ------------------------------------------------------------------------ */

struct sonde__idle sonde__idle_of(const sonde__spans *gaps, uint64_t from, uint64_t to)
{
    struct sonde__idle idle = {.length = to - from, .busy = true};
    for (size_t i = 0; i < gaps->count; i++) {
        const struct sonde__span *gap = &gaps->items[i];
        const uint64_t ns = gap->to - gap->from;
        if (ns == idle.length) {
            idle.busy = false;
        } else if (gap->from == from) {
            idle.head = ns;
        } else if (gap->to == to) {
            idle.tail = ns;
        } else {
            idle.count++;
            idle.longest = ns > idle.longest ? ns : idle.longest;
        }
    }
    return idle;
}

struct sonde__idle sonde__idle_join(struct sonde__idle a, struct sonde__idle b)
{
    const uint64_t between = (a.busy ? a.tail : a.length) + (b.busy ? b.head : b.length);
    struct sonde__idle both = {
        .length = a.length + b.length,
        .busy = a.busy || b.busy,
        .count = a.count + b.count,
        .longest = a.longest > b.longest ? a.longest : b.longest,
    };
    if (a.busy && b.busy && between) {
        both.count++;
        both.longest = between > both.longest ? between : both.longest;
    }
    both.head = a.busy ? a.head : (b.busy ? between : 0);
    both.tail = b.busy ? b.tail : (a.busy ? between : 0);
    return both;
}

uint64_t sonde__idle_count(const struct sonde__idle *idle)
{
    return idle->busy ? idle->count + (idle->head > 0) + (idle->tail > 0) : idle->length > 0;
}

uint64_t sonde__idle_longest(const struct sonde__idle *idle)
{
    uint64_t longest = idle->busy ? idle->longest : idle->length;
    longest = idle->head > longest ? idle->head : longest;
    return idle->tail > longest ? idle->tail : longest;
}

/* ---- shares ---------------------------------------------------------------------------------
 *
 * One pass over the events in order of time, for all scopes at once. `clock` is the integral of
 * 1/k up to now; the integral of idle/k of a scope is `level`, and while it is idle the clock
 * more. What a thread's slot gets is that integral when it ends less what it was when it began. The
 * whole goes the same way, with the time in place of the clock.
 * So the cost of an event does not depend on how many threads or slots there are, a change of a
 * scope is one number, and a change of a thread one addition per scope.
 *
 * All shares of all threads together are at most the idle time, so that 64 bits
 * do for times up to SPAN_MOST (and what they pass on the way may wrap around); what a longer one
 * without an event adds goes straight to where there is room for it, so that a time that is far
 * off (a damaged row) costs no more than another.
 */

typedef uint64_t vector __attribute__((vector_size(16), aligned(8)));
enum { LANES = sizeof(vector) / sizeof(uint64_t) };
#define SPAN_MOST (UINT64_MAX / SONDE__UNITS)

int sonde__sweep_init(struct sonde__sweep *sweep, uint32_t scopes, uint32_t threads)
{
    const uint32_t width = (scopes + LANES - 1) / LANES * LANES;
    sweep->scopes = scopes;
    sweep->threads = threads;
    sweep->width = width;
    sweep->idle_now = calloc(width, sizeof *sweep->idle_now);
    sweep->level = calloc((size_t)width * 2, sizeof *sweep->level);
    sweep->slot = malloc(((size_t)threads + 1) * sizeof *sweep->slot);
    sweep->sleeper = malloc(((size_t)threads + 1) * sizeof *sweep->sleeper);
    sweep->asleep = malloc(((size_t)threads + 1) * sizeof *sweep->asleep);
    sweep->nobody = calloc(scopes, sizeof *sweep->nobody);
    if (!sweep->idle_now || !sweep->level || !sweep->slot || !sweep->sleeper || !sweep->asleep || !sweep->nobody)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < threads; i++)
        sweep->slot[i] = sweep->sleeper[i] = SONDE__INACTIVE;
    return 0;
}

void sonde__sweep_fini(struct sonde__sweep *sweep)
{
    sonde_vector_fini(&sweep->events);
    sonde_vector_fini(&sweep->scratch);
    sonde_vector_fini(&sweep->touched_slots);
    free(sweep->idle_now);
    free(sweep->level);
    free(sweep->slot);
    sonde_vector_fini(&sweep->sleepers);
    free(sweep->sleeper);
    free(sweep->asleep);
    free(sweep->recent);
    free(sweep->touched);
    free(sweep->units);
    free(sweep->whole);
    free(sweep->nobody);
    *sweep = (struct sonde__sweep){0};
}

/* Room for `count` items of `bytes` more than before; what is new is zero. */
static int widen(void **items, size_t before, size_t count, size_t bytes)
{
    char *wider = realloc(*items, count * bytes);
    if (!wider)
        return SONDE_ENOMEM;
    memset(wider + before * bytes, 0, (count - before) * bytes);
    *items = wider;
    return 0;
}

static int make_slots(struct sonde__sweep *s, uint32_t slots)
{
    if (slots <= s->slot_room)
        return 0;
    const size_t room = (size_t)slots + slots / 2 + 64;
    if (widen((void **)&s->recent, s->slot_room, room, s->width * 2 * sizeof *s->recent) ||
        widen((void **)&s->touched, s->slot_room, room, sizeof *s->touched) ||
        widen((void **)&s->units, s->slot_room, room, s->scopes * sizeof *s->units) ||
        widen((void **)&s->whole, s->slot_room, room, s->scopes * sizeof *s->whole))
        return SONDE_ENOMEM;
    s->slot_room = (uint32_t)room;
    return 0;
}

/* The integrals up to now to a slot that ends, or off one that begins. */
static inline void credit(struct sonde__sweep *s, uint32_t slot, bool ends)
{
    const vector *level = (const vector *)s->level, *idle = (const vector *)s->idle_now;
    vector *sum = (vector *)(s->recent + (size_t)slot * 2 * s->width);
    const uint32_t vectors = s->width / LANES;
    for (uint32_t i = 0; i < vectors; i++) {
        const vector share = level[i] + (idle[i] & s->clock), whole = level[vectors + i] + (idle[i] & s->time);
        sum[i] = ends ? sum[i] + share : sum[i] - share;
        sum[vectors + i] = ends ? sum[vectors + i] + whole : sum[vectors + i] - whole;
    }
}

static int begin_slot(struct sonde__sweep *s, uint32_t slot)
{
    credit(s, slot, false);
    if (s->touched[slot])
        return 0;
    s->touched[slot] = 1;
    return sonde_vector_push(&s->touched_slots, slot);
}

/* What 64 bits held goes where there is room for more. */
static int settle(struct sonde__sweep *s)
{
    int rc = 0;
    for (uint32_t i = 0; i < s->threads; i++)
        if (s->slot[i] != SONDE__INACTIVE)
            credit(s, s->slot[i], true);
    for (size_t i = 0; i < s->touched_slots.count; i++) {
        const uint32_t slot = s->touched_slots.items[i];
        uint64_t *recent = s->recent + (size_t)slot * 2 * s->width;
        for (uint32_t k = 0; k < s->scopes; k++) {
            s->units[(size_t)slot * s->scopes + k] += recent[k];
            s->whole[(size_t)slot * s->scopes + k] += recent[s->width + k];
        }
        memset(recent, 0, s->width * 2 * sizeof *recent);
        s->touched[slot] = 0;
    }
    s->touched_slots.count = 0;
    s->clock = s->time = 0;
    memset(s->level, 0, s->width * 2 * sizeof *s->level);
    for (uint32_t i = 0; i < s->threads && !rc; i++)
        if (s->slot[i] != SONDE__INACTIVE)
            rc = begin_slot(s, s->slot[i]);
    return rc;
}

/* Of the threads asleep the one that calls first; of several, the first by number. NULL: none. */
static const struct sonde__sleeper *first_to_call(const struct sonde__sweep *s)
{
    const struct sonde__sleeper *first = NULL;
    uint32_t thread = 0;
    for (uint32_t i = 0; i < s->asleep_count; i++) {
        const struct sonde__sleeper *one = &s->sleepers.items[s->sleeper[s->asleep[i]]];
        if (!first || one->next_ns < first->next_ns || (one->next_ns == first->next_ns && s->asleep[i] < thread)) {
            first = one;
            thread = s->asleep[i];
        }
    }
    return first;
}

/* Time in which no thread was active. */
static void pass_alone(struct sonde__sweep *s, uint64_t ns)
{
    const struct sonde__sleeper *first = ns ? first_to_call(s) : NULL;
    sonde__units *units = first ? s->units + (size_t)first->slot * s->scopes : s->nobody;
    for (uint32_t i = 0; i < s->scopes; i++) {
        units[i] += s->idle_now[i] ? (sonde__units)SONDE__UNITS * ns : 0;
        if (first && s->idle_now[i])
            s->whole[(size_t)first->slot * s->scopes + i] += ns;
    }
}

static void change_sleep(struct sonde__sweep *s, uint32_t thread, uint32_t sleeper)
{
    const uint32_t before = s->sleeper[thread];
    s->sleeper[thread] = sleeper;
    if (before == SONDE__INACTIVE && sleeper != SONDE__INACTIVE)
        s->asleep[s->asleep_count++] = thread;
    if (before == SONDE__INACTIVE || sleeper != SONDE__INACTIVE)
        return;
    uint32_t i = 0;
    while (s->asleep[i] != thread)
        i++;
    s->asleep[i] = s->asleep[--s->asleep_count];
}

/* Any time, right after settle(). */
static void leap(struct sonde__sweep *s, uint64_t ns, uint64_t rate)
{
    for (uint32_t i = 0; i < s->threads; i++)
        for (uint32_t k = 0; k < s->scopes && s->slot[i] != SONDE__INACTIVE; k++)
            if (s->idle_now[k]) {
                s->units[(size_t)s->slot[i] * s->scopes + k] += (sonde__units)rate * ns;
                s->whole[(size_t)s->slot[i] * s->scopes + k] += ns;
            }
}

static void change_scope(struct sonde__sweep *s, uint32_t scope, bool idle)
{
    uint64_t *share = &s->level[scope], *whole = &s->level[s->width + scope];
    *share += s->idle_now[scope] & s->clock;
    *whole += s->idle_now[scope] & s->time;
    s->idle_now[scope] = idle ? UINT64_MAX : 0;
    *share -= s->idle_now[scope] & s->clock;
    *whole -= s->idle_now[scope] & s->time;
}

static int change_thread(struct sonde__sweep *s, uint32_t thread, uint32_t slot)
{
    const uint32_t before = s->slot[thread];
    s->slot[thread] = slot;
    if (before != SONDE__INACTIVE)
        credit(s, before, true);
    if ((before == SONDE__INACTIVE) != (slot == SONDE__INACTIVE)) {
        s->active += before == SONDE__INACTIVE ? 1 : UINT32_MAX;
        s->rate = s->active ? SONDE__UNITS / s->active : 0;
    }
    return slot == SONDE__INACTIVE ? 0 : begin_slot(s, slot);
}

int sonde__sweep_run(struct sonde__sweep *s, uint32_t slots)
{
    int rc = make_slots(s, slots);
    uint64_t now, begun;
    if (!rc)
        rc = sonde__spans_sort(&s->events, &s->scratch);
    now = begun = s->events.count ? s->events.items[0].from : 0;
    for (size_t i = 0; i < s->events.count && !rc; i++) {
        const struct sonde__span *event = &s->events.items[i];
        const uint64_t passed = event->from - now;
        const uint32_t who = (uint32_t)(event->to >> 32), what = (uint32_t)event->to;
        if (event->from - begun > SPAN_MOST) {
            rc = settle(s);
            begun = now;
        }
        if (!s->active) {
            pass_alone(s, passed);
        } else if (passed > SPAN_MOST) {
            leap(s, passed, s->rate);
            begun = event->from;
        } else {
            s->clock += s->rate * passed;
            s->time += passed;
        }
        now = event->from;
        if (who < s->scopes)
            change_scope(s, who, what);
        else if (who >= s->scopes + s->threads)
            change_sleep(s, who - s->scopes - s->threads, what);
        else
            rc = rc ? rc : change_thread(s, who - s->scopes, what);
    }
    s->events.count = s->sleepers.count = 0;
    return rc ? rc : settle(s);
}
