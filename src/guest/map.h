/* map.h - open-addressing map from a 64-bit key to a 64-bit value; keys are never 0, and nobody may ask for that.
 *
 * For one thread at a time: its own, or under a lock of the caller's; sonde_shared_map
 * brings the lock. What hooks look up while others add is in records.h, which takes no lock and so removes nothing.
 *
 * Linear probing, load at most 1/2 while there is memory; removal by shifting
 * back (Knuth, TAOCP vol. 3, 6.4, algorithm R). Grows by doubling, out of a heap
 * (always the same) or, where that is NULL, in pages of its own up to SONDE_MAP_MAX entries.
 */
#ifndef SONDE_GUEST_MAP_H
#define SONDE_GUEST_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/heap.h"

#define SONDE_MAP_MAX (4u << 20) /* 64 MiB */

struct sonde_map_entry { uint64_t key, value; };
struct sonde_map { /* all 0: empty */
    struct sonde_map_entry *entries;
    uint32_t mask, count; /* capacity - 1 */
    bool lent;            /* the entries are not of the heap */
};

static inline uint64_t sonde__map_hash(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15ull; /* Knuth's multiplicative hashing, TAOCP vol. 3, 6.4 */
    return key ^ key >> 32;
}

/* Pointer to the value of a key, until the next change; NULL: it is not there. */
static inline uint64_t *sonde__map_find(const struct sonde_map *m, uint64_t key)
{
    if (!m->entries)
        return NULL;
    for (uint32_t i = (uint32_t)sonde__map_hash(key) & m->mask;; i = (i + 1) & m->mask) {
        if (m->entries[i].key == key)
            return &m->entries[i].value;
        if (!m->entries[i].key)
            return NULL;
    }
}

/* An empty map that begins in `entries`, `capacity` of them: a power of two. */
void sonde__map_lend(struct sonde_map *m, struct sonde_map_entry *entries, uint32_t capacity);

/* Room for one more key, so that the next add succeeds. False when memory is spent. */
bool sonde__map_room(struct sonde_map *m, struct sonde_heap *heap);
/* Add a key that is not there. False when memory is spent. */
bool sonde__map_add(struct sonde_map *m, struct sonde_heap *heap, uint64_t key, uint64_t value);
/* Remove a key. False: it was not there; else its value in *value, which may be NULL. */
bool sonde__map_take(struct sonde_map *m, uint64_t key, uint64_t *value);

/* With a lock of its own, held for a few loads, and in pages of its own. Any thread. */
struct sonde_shared_map { /* all 0: empty */
    struct sonde_lock lock;
    struct sonde_map map;
};

/* False: it is not there. Nothing is where the key is 0. */
bool sonde__shared_map_get(struct sonde_shared_map *m, uint64_t key, uint64_t *value);
/* A new key or a new value. False: key 0, no memory, or the bound was reached. */
bool sonde__shared_map_put(struct sonde_shared_map *m, uint64_t key, uint64_t value);
bool sonde__shared_map_take(struct sonde_shared_map *m, uint64_t key, uint64_t *value);
/* Remove every entry of which `gone` says so, under the lock. */
void sonde__shared_map_sweep(struct sonde_shared_map *m, bool (*gone)(const struct sonde_map_entry *entry, void *user), void *user);

#endif
