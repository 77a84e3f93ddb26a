/* map.c - open addressing with linear probing; half full at most. The mixer is
 * splitmix64's finalizer (Steele, Lea, Flood, OOPSLA 2014, figure 16). */
#include "map.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/error.h>

/* The two must not meet as they are: numbers and addresses are so alike that they would cancel (1 and 2 are 2 and 1).
 * The multiplier is odd and without pattern; the rest is the finalizer of splitmix64. */
uint64_t sonde_hash_mix(uint64_t hash, uint64_t word)
{
    uint64_t z = (hash * 0xd6e8feb86659fd93ull ^ word) + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

void sonde_map_fini(struct sonde_map *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

static struct sonde_map_slot *find(const struct sonde_map *map, uint64_t key)
{
    size_t at = sonde_hash_mix(0, key) & map->mask;
    while (map->slots[at].used && map->slots[at].key != key)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

static int grow(struct sonde_map *map)
{
    size_t size = map->slots ? (map->mask + 1) * 2 : 64;
    struct sonde_map larger = {calloc(size, sizeof *larger.slots), map->count, size - 1};
    if (!larger.slots)
        return SONDE_ENOMEM;
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used)
            *find(&larger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = larger;
    return 0;
}

int sonde_map_put(struct sonde_map *map, uint64_t key, uint64_t value)
{
    if ((!map->slots || map->count * 2 >= map->mask) && grow(map))
        return SONDE_ENOMEM;
    struct sonde_map_slot *slot = find(map, key);
    map->count += !slot->used;
    *slot = (struct sonde_map_slot){key, value, true};
    return 0;
}

bool sonde_map_get(const struct sonde_map *map, uint64_t key, uint64_t *value)
{
    if (!map->slots)
        return false;
    const struct sonde_map_slot *slot = find(map, key);
    if (slot->used)
        *value = slot->value;
    return slot->used;
}

/* ---- interned strings -------------------------------------------------- */

static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = length, word;
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        hash = sonde_hash_mix(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, length);
    return sonde_hash_mix(hash, word);
}

void sonde_intern_fini(struct sonde_intern *intern)
{
    sonde_arena_fini(&intern->arena);
    sonde_map_fini(&intern->first);
    free(intern->items);
    memset(intern, 0, sizeof *intern);
}

static bool room(struct sonde_intern *intern)
{
    if (intern->count < intern->capacity)
        return true;
    uint32_t wanted = intern->capacity ? intern->capacity * 2 : 64;
    void *moved = realloc(intern->items, wanted * sizeof *intern->items);
    if (!moved)
        return false;
    intern->items = moved;
    intern->capacity = wanted;
    return true;
}

/* 0: it is not there. `first`: of its hash. */
static uint32_t interned(const struct sonde_intern *intern, uint64_t hash, const char *bytes, size_t length, uint64_t *first)
{
    sonde_map_get(&intern->first, hash, first);
    for (uint32_t id = (uint32_t)*first; id; id = intern->items[id - 1].next) {
        const struct sonde_intern_item *item = &intern->items[id - 1];
        if (item->length == length && !memcmp(item->bytes, bytes, length))
            return id;
    }
    return 0;
}

uint32_t sonde_intern_bytes(struct sonde_intern *intern, const char *bytes, size_t length)
{
    uint64_t hash = hash_bytes(bytes, length), first = 0;
    const uint32_t known = interned(intern, hash, bytes, length, &first);
    if (known)
        return known;
    const char *copy = room(intern) ? sonde_arena_copy(&intern->arena, bytes, length) : NULL;
    if (!copy || sonde_map_put(&intern->first, hash, intern->count + 1))
        return 0;
    intern->items[intern->count++] =
        (struct sonde_intern_item){copy, (uint32_t)length, (uint32_t)first};
    return intern->count;
}

uint32_t sonde_intern_text(struct sonde_intern *intern, const char *text)
{
    return text && *text ? sonde_intern_bytes(intern, text, strlen(text)) : 0;
}

uint32_t sonde_intern_find(const struct sonde_intern *intern, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    uint64_t first = 0;
    return length ? interned(intern, hash_bytes(text, length), text, length, &first) : 0;
}

const char *sonde_intern_get(const struct sonde_intern *intern, uint32_t id)
{
    return id && id <= intern->count ? intern->items[id - 1].bytes : "";
}
