/* map.h - open-addressing map from a 64-bit key to a 32-bit value, one writer.
 *
 * Keys are never 0 and never removed. Grows by doubling out of the agent's
 * heap. Linear probing, load at most 1/2.
 */
#ifndef SONDE_GUEST_MAP_H
#define SONDE_GUEST_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/heap.h"

struct sonde_map_entry { uint64_t key; uint32_t value, spare; };
struct sonde_map {
    struct sonde_map_entry *entries;
    uint32_t mask, count; /* capacity - 1 */
    bool lent;            /* the entries are not of the heap */
};

static inline uint64_t sonde__map_hash(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15ull; /* Knuth's multiplicative hashing, TAOCP vol. 3, 6.4 */
    return key ^ key >> 32;
}

/* Pointer to the value of a key, or NULL. */
static inline uint32_t *sonde__map_find(const struct sonde_map *m, uint64_t key)
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

/* Room for one more key, so that the next add succeeds. False when the heap is spent. */
bool sonde__map_room(struct sonde_map *m, struct sonde_heap *heap);
/* Add a key that is not there. False when the heap is spent. */
bool sonde__map_add(struct sonde_map *m, struct sonde_heap *heap, uint64_t key, uint32_t value);

#endif
