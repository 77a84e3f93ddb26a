/* pair.h - small lossy caches that many threads read without a lock, and one writes.
 *
 * An entry is (key mixed with value, value), so a torn one matches no key: a
 * miss, never a wrong answer (the lock-less transposition table of Hyatt and
 * Mann, ICGA Journal 25, 2002). Only table.c and frame.c include this.
 */
#ifndef SONDE_GUEST_PAIR_H
#define SONDE_GUEST_PAIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/map.h"

struct pair { _Atomic uint64_t mixed, value; };
struct pairs { struct pair *at; uint32_t mask; }; /* a power of two of them, minus 1 */

/* Multiplied, because values are small numbers: two of them xored into a key
 * could make another key out of a torn pair. */
static inline uint64_t mix(uint64_t key, uint64_t value)
{
    return key ^ value * 0x9e3779b97f4a7c15ull;
}

static inline bool pair_find(struct pairs cache, uint64_t key, uint64_t *value)
{
    for (uint32_t i = (uint32_t)sonde__map_hash(key), n = 0; n < 4; i++, n++) {
        struct pair *p = &cache.at[i & cache.mask];
        uint64_t v = atomic_load_explicit(&p->value, memory_order_relaxed);
        if ((atomic_load_explicit(&p->mixed, memory_order_relaxed)) == mix(key, v)) {
            *value = v;
            return true;
        }
    }
    return false;
}

/* Under table_lock. A full neighbourhood loses its first entry. */
static inline void pair_put(struct pairs cache, uint64_t key, uint64_t value)
{
    uint32_t i = (uint32_t)sonde__map_hash(key);
    struct pair *p = &cache.at[i & cache.mask];
    for (uint32_t n = 0; n < 4; n++) {
        struct pair *q = &cache.at[(i + n) & cache.mask];
        if (!atomic_load_explicit(&q->mixed, memory_order_relaxed)) {
            p = q;
            break;
        }
    }
    atomic_store_explicit(&p->value, value, memory_order_relaxed);
    atomic_store_explicit(&p->mixed, mix(key, value), memory_order_relaxed);
}

#endif
