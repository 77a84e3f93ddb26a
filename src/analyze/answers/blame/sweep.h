/* sweep.h - intervals, and the share of idle time that falls to each active thread. Private to blame.
 *
 * The share of one thread of k in an idle instant is 1/k. Shares are counted in
 * units of 1/SONDE__UNITS of a nanosecond, an integer per instant, so that sums
 * do not depend on where time was cut or who added them up: exact for up to 16
 * active threads, within k/2^29 beyond.
 */
#ifndef SONDE_ANALYZE_ANSWERS_BLAME_SWEEP_H
#define SONDE_ANALYZE_ANSWERS_BLAME_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

__extension__ typedef unsigned __int128 sonde__units;
#define SONDE__UNITS (720720ull << 10) /* 720720 is the least common multiple of 1 to 16 */

struct sonde__span { uint64_t from, to; };                      /* [from, to) */
typedef SONDE_VECTOR(struct sonde__span) sonde__spans;

/* Sort by `from`, in linear time; those with the same stay in their order. */
int sonde__spans_sort(sonde__spans *spans, sonde__spans *scratch);
/* What [from, to) has that the spans, which are sorted, do not cover, appended to `gaps`. */
int sonde__spans_gaps(const sonde__spans *spans, uint64_t from, uint64_t to, sonde__spans *gaps);
/* What two lists of gaps have in common; each in order and disjoint. Appended to `both`. */
int sonde__spans_meet(const sonde__spans *one, const sonde__spans *other, sonde__spans *both);

/* Idle intervals of a longer time that is looked at piece by piece. */
struct sonde__idle {         /* ready when zeroed: of no time at all */
    uint64_t length;
    bool busy;               /* at least once; else length is all idle */
    uint64_t head, tail;     /* idle at its begin and end */
    uint64_t count, longest; /* intervals between two busy times */
};
/* Of [from, to), which is idle in these gaps alone. */
struct sonde__idle sonde__idle_of(const sonde__spans *gaps, uint64_t from, uint64_t to);
/* `a`, then `b` right after it. */
struct sonde__idle sonde__idle_join(struct sonde__idle a, struct sonde__idle b);
uint64_t sonde__idle_count(const struct sonde__idle *idle);
uint64_t sonde__idle_longest(const struct sonde__idle *idle);

/* ---- shares: who was active while a scope was idle ----------------------------------------
 *
 * A scope (a device, or all of them) is idle at times; a thread is active at
 * times, in a slot (a context, whatever that is to the caller). While k threads are active, each
 * gets 1/k of the idle time of every scope that is idle then, for its slot. Beside that, a slot has
 * the whole of it: how long the scope was idle while a thread was in the slot, added up over threads.
 */
#define SONDE__INACTIVE UINT32_MAX

/* Idle time in which no thread is active goes to the thread that sleeps, with a name, and ends it:
 * of those asleep, the one that calls the runtime first. */
struct sonde__sleeper {
    uint64_t next_ns;
    uint32_t slot;
};

struct sonde__sweep { /* ready when zeroed; scopes and threads set by init */
    uint32_t scopes, threads;
    uint32_t width;              /* scopes, rounded up to whole vectors */
    sonde__spans events;         /* of one time range: `from` the time, `to` who (32 bits) and what (32 bits) */
    sonde__spans scratch;
    uint64_t *idle_now;          /* [width]: all ones while idle */
    uint64_t *level;             /* [2][width]: of shares, of the whole; see sweep.c */
    uint32_t *slot;              /* [thread] */
    SONDE_VECTOR(struct sonde__sleeper) sleepers; /* of this time range */
    uint32_t *sleeper;           /* [thread]: in sleepers, or SONDE__INACTIVE */
    uint32_t *asleep, asleep_count; /* [thread]: those that are */
    uint32_t active;             /* threads */
    uint64_t rate, clock;        /* units per ns of each of them; its integral */
    uint64_t time;               /* ns in which any was active */
    uint64_t *recent;            /* [slot][2][width]: of this time range; 64 bits do (see sweep.c) */
    uint8_t *touched;            /* [slot]: it is in touched_slots */
    uint32_t slot_room;
    SONDE_VECTOR(uint32_t) touched_slots;
    sonde__units *units;         /* [slot][scopes]: the result */
    uint64_t *whole;             /* [slot][scopes]: the whole, in ns */
    sonde__units *nobody;        /* [scopes]: idle while no thread was active */
};

int sonde__sweep_init(struct sonde__sweep *sweep, uint32_t scopes, uint32_t threads);
void sonde__sweep_fini(struct sonde__sweep *sweep);
/* From `at` on thread `thread` is in `slot`, or SONDE__INACTIVE. */
static inline int sonde__sweep_thread(struct sonde__sweep *sweep, uint64_t at, uint32_t thread, uint32_t slot)
{
    return sonde_vector_push(&sweep->events, (struct sonde__span){at, (uint64_t)(sweep->scopes + thread) << 32 | slot});
}
/* From `at` on the scope is idle, or (false) busy. */
static inline int sonde__sweep_scope(struct sonde__sweep *sweep, uint64_t at, uint32_t scope, bool idle)
{
    return sonde_vector_push(&sweep->events, (struct sonde__span){at, (uint64_t)scope << 32 | idle});
}
/* From `at` on it sleeps in `slot` and will call the runtime at `next_ns`; or (SONDE__INACTIVE) it does not sleep. */
static inline int sonde__sweep_sleep(struct sonde__sweep *sweep, uint64_t at, uint32_t thread, uint32_t slot, uint64_t next_ns)
{
    const uint32_t what = slot == SONDE__INACTIVE ? slot : (uint32_t)sweep->sleepers.count;
    if (slot != SONDE__INACTIVE && sonde_vector_push(&sweep->sleepers, (struct sonde__sleeper){next_ns, slot}))
        return -1;
    return sonde_vector_push(&sweep->events, (struct sonde__span){at, (uint64_t)(sweep->scopes + sweep->threads + thread) << 32 | what});
}
/* Add up the events since the last run; all scopes begin busy, all threads inactive,
 * and so they end. Slots are below `slots`. */
int sonde__sweep_run(struct sonde__sweep *sweep, uint32_t slots);

#endif
