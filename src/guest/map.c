/* map.c - see map.h. */
#include "guest/map.h"

#include <string.h>

#include "guest/memory.h"

#define FIRST_BYTES 16384u /* of a map in pages of its own */

static void put(struct sonde_map *m, uint64_t key, uint64_t value)
{
    uint32_t i = (uint32_t)sonde__map_hash(key) & m->mask;
    while (m->entries[i].key)
        i = (i + 1) & m->mask;
    m->entries[i] = (struct sonde_map_entry){key, value};
    m->count++;
}

void sonde__map_lend(struct sonde_map *m, struct sonde_map_entry *entries, uint32_t capacity)
{
    memset(entries, 0, capacity * sizeof *entries);
    *m = (struct sonde_map){.entries = entries, .mask = capacity - 1, .lent = true};
}

static struct sonde_map_entry *entries_get(struct sonde_heap *heap, uint32_t capacity)
{
    const size_t bytes = (size_t)capacity * sizeof(struct sonde_map_entry);
    if (!heap)
        return capacity <= SONDE_MAP_MAX ? sonde__pages_get(bytes) : NULL;
    struct sonde_map_entry *fresh = sonde__heap_get(heap, bytes);
    return fresh ? memset(fresh, 0, bytes) : NULL;
}

static void entries_put(struct sonde_heap *heap, struct sonde_map_entry *entries, uint32_t capacity)
{
    const size_t bytes = (size_t)capacity * sizeof *entries;
    if (heap)
        sonde__heap_put(heap, entries, bytes);
    else
        sonde__pages_put(entries, bytes);
}

static bool grow(struct sonde_map *m, struct sonde_heap *heap)
{
    const struct sonde_map old = *m;
    const uint32_t old_capacity = old.entries ? old.mask + 1 : 0;
    const uint32_t first = (heap ? SONDE_HEAP_BLOCK : FIRST_BYTES) / sizeof *m->entries;
    const uint32_t capacity = old_capacity * 2 > first ? old_capacity * 2 : first;
    struct sonde_map_entry *fresh = entries_get(heap, capacity);
    if (!fresh)
        return false;
    *m = (struct sonde_map){.entries = fresh, .mask = capacity - 1};
    for (uint32_t i = 0; i < old_capacity; i++)
        if (old.entries[i].key)
            put(m, old.entries[i].key, old.entries[i].value);
    if (old.entries && !old.lent)
        entries_put(heap, old.entries, old_capacity);
    return true;
}

bool sonde__map_room(struct sonde_map *m, struct sonde_heap *heap)
{
    return (m->entries && m->count < m->mask / 2) || grow(m, heap) ||
           (m->entries && m->count < m->mask - m->mask / 8);
}

bool sonde__map_add(struct sonde_map *m, struct sonde_heap *heap, uint64_t key, uint64_t value)
{
    if (!sonde__map_room(m, heap))
        return false;
    put(m, key, value);
    return true;
}

static void take_out(struct sonde_map *m, uint32_t hole)
{
    for (uint32_t i = (hole + 1) & m->mask; m->entries[i].key; i = (i + 1) & m->mask) {
        const uint32_t home = (uint32_t)sonde__map_hash(m->entries[i].key) & m->mask;
        if (((i - home) & m->mask) >= ((i - hole) & m->mask)) { /* may move back to the hole */
            m->entries[hole] = m->entries[i];
            hole = i;
        }
    }
    m->entries[hole] = (struct sonde_map_entry){0};
    m->count--;
}

bool sonde__map_take(struct sonde_map *m, uint64_t key, uint64_t *value)
{
    const uint64_t *known = sonde__map_find(m, key);
    if (!known)
        return false;
    if (value)
        *value = *known;
    take_out(m, (uint32_t)((size_t)((const char *)known - (const char *)m->entries) / sizeof *m->entries));
    return true;
}

/* ---- with a lock ----------------------------------------------------------------- */

bool sonde__shared_map_get(struct sonde_shared_map *m, uint64_t key, uint64_t *value)
{
    sonde__lock(&m->lock);
    const uint64_t *known = key ? sonde__map_find(&m->map, key) : NULL;
    if (known)
        *value = *known;
    sonde__unlock(&m->lock);
    return known != NULL;
}

bool sonde__shared_map_put(struct sonde_shared_map *m, uint64_t key, uint64_t value)
{
    sonde__lock(&m->lock);
    uint64_t *known = key ? sonde__map_find(&m->map, key) : NULL;
    if (known)
        *known = value;
    const bool done = known || (key && sonde__map_add(&m->map, NULL, key, value));
    sonde__unlock(&m->lock);
    return done;
}

bool sonde__shared_map_take(struct sonde_shared_map *m, uint64_t key, uint64_t *value)
{
    sonde__lock(&m->lock);
    const bool known = key && sonde__map_take(&m->map, key, value);
    sonde__unlock(&m->lock);
    return known;
}

void sonde__shared_map_sweep(struct sonde_shared_map *m, bool (*gone)(const struct sonde_map_entry *entry, void *user), void *user)
{
    sonde__lock(&m->lock);
    for (uint32_t i = 0; m->map.entries && i <= m->map.mask;)
        if (m->map.entries[i].key && gone(&m->map.entries[i], user))
            take_out(&m->map, i); /* another may have moved here: look again */
        else
            i++;
    sonde__unlock(&m->lock);
}
