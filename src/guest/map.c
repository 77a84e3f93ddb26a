/* map.c - see map.h. */
#include "guest/map.h"

#include <string.h>

static void put(struct sonde_map *m, uint64_t key, uint32_t value)
{
    uint32_t i = (uint32_t)sonde__map_hash(key) & m->mask;
    while (m->entries[i].key)
        i = (i + 1) & m->mask;
    m->entries[i] = (struct sonde_map_entry){key, value, 0};
    m->count++;
}

void sonde__map_lend(struct sonde_map *m, struct sonde_map_entry *entries, uint32_t capacity)
{
    memset(entries, 0, capacity * sizeof *entries);
    *m = (struct sonde_map){.entries = entries, .mask = capacity - 1, .lent = true};
}

static bool grow(struct sonde_map *m, struct sonde_heap *heap)
{
    const struct sonde_map old = *m;
    const uint32_t block = SONDE_HEAP_BLOCK / sizeof *m->entries;
    const uint32_t capacity = old.entries && (old.mask + 1) * 2 > block ? (old.mask + 1) * 2 : block;
    size_t bytes = (size_t)capacity * sizeof *m->entries;
    struct sonde_map_entry *fresh = sonde__heap_get(heap, bytes);
    if (!fresh)
        return false;
    memset(fresh, 0, bytes);
    *m = (struct sonde_map){.entries = fresh, .mask = capacity - 1};
    if (old.entries) {
        for (uint32_t i = 0; i <= old.mask; i++)
            if (old.entries[i].key)
                put(m, old.entries[i].key, old.entries[i].value);
        if (!old.lent)
            sonde__heap_put(heap, old.entries, ((size_t)old.mask + 1) * sizeof *old.entries);
    }
    return true;
}

bool sonde__map_room(struct sonde_map *m, struct sonde_heap *heap)
{
    return (m->entries && m->count < m->mask / 2) || grow(m, heap) ||
           (m->entries && m->count < m->mask - m->mask / 8);
}

bool sonde__map_add(struct sonde_map *m, struct sonde_heap *heap, uint64_t key, uint32_t value)
{
    if (!sonde__map_room(m, heap))
        return false;
    put(m, key, value);
    return true;
}
