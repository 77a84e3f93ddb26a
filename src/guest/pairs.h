/* pairs.h - lossy caches from 64-bit keys to 64-bit values, read and written without a lock.
 *
 * A pair is (key mixed with value, value), so one that two threads have torn matches no
 * key: a miss, never a wrong answer (the lock-less transposition table of Hyatt and Mann,
 * ICGA Journal 25, 2002). Four of them, one cache line, are for each hash; a full line
 * loses one. What was written before a value was put is seen by who finds it: most values are
 * numbers of rows. What must not be lost is in map.h or records.h. The stack walker's rules
 * (unwind_rules.h) are apart: there a key is read back out of its pair, to see which are of old modules.
 *
 * Threads: any; but no two at once that write about one key, unless either's value will do.
 */
#ifndef SONDE_GUEST_PAIRS_H
#define SONDE_GUEST_PAIRS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/map.h"

struct sonde_pair { _Atomic uint64_t mixed, value; }; /* all 0: empty */

/* Multiplied, because values are small numbers: two of them xored into a key
 * could make another key out of a torn pair. */
static inline uint64_t sonde__pair_mix(uint64_t key, uint64_t value)
{
    return key ^ value * 0x9e3779b97f4a7c15ull;
}

/* Is it of this key? Its value, whether or not. */
static inline bool sonde__pair_read(const struct sonde_pair *p, uint64_t key, uint64_t *value)
{
    *value = atomic_load_explicit(&p->value, memory_order_relaxed);
    return atomic_load_explicit(&p->mixed, memory_order_acquire) == sonde__pair_mix(key, *value);
}

static inline void sonde__pair_write(struct sonde_pair *p, uint64_t key, uint64_t value)
{
    atomic_store_explicit(&p->value, value, memory_order_relaxed);
    atomic_store_explicit(&p->mixed, sonde__pair_mix(key, value), memory_order_release);
}

struct sonde_pairs {
    struct sonde_pair *at;
    uint32_t mask;
}; /* a power of two of them, minus 1; on a cache line */
enum { SONDE_PAIR_WAYS = 4 };

static inline struct sonde_pair *sonde__pairs_line(struct sonde_pairs cache, uint64_t key)
{
    return &cache.at[(uint32_t)sonde__map_hash(key) & cache.mask & ~(SONDE_PAIR_WAYS - 1u)];
}

static inline bool sonde__pairs_find(struct sonde_pairs cache, uint64_t key, uint64_t *value)
{
    const struct sonde_pair *line = sonde__pairs_line(cache, key);
    for (uint32_t n = 0; n < SONDE_PAIR_WAYS; n++) {
        uint64_t found;
        if (sonde__pair_read(&line[n], key, &found)) {
            *value = found;
            return true;
        }
    }
    return false;
}

/* Keep a key's value; in its old place, if it has one. */
static inline void sonde__pairs_put(struct sonde_pairs cache, uint64_t key, uint64_t value)
{
    struct sonde_pair *line = sonde__pairs_line(cache, key), *p = NULL, *empty = NULL;
    for (uint32_t n = 0; n < SONDE_PAIR_WAYS && !p; n++) {
        uint64_t old;
        if (sonde__pair_read(&line[n], key, &old))
            p = &line[n];
        else if (!empty && !atomic_load_explicit(&line[n].mixed, memory_order_relaxed))
            empty = &line[n];
    }
    if (!p)
        p = empty ? empty : &line[sonde__map_hash(key) % SONDE_PAIR_WAYS];
    sonde__pair_write(p, key, value);
}

static inline void sonde__pairs_drop(struct sonde_pairs cache, uint64_t key)
{
    struct sonde_pair *line = sonde__pairs_line(cache, key);
    uint64_t old;
    for (uint32_t n = 0; n < SONDE_PAIR_WAYS; n++)
        if (sonde__pair_read(&line[n], key, &old))
            sonde__pair_write(&line[n], 0, 0);
}

#endif
