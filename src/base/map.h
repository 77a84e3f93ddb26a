/* map.h - a hash map from 64-bit keys to 64-bit values, and interned byte strings. */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"

struct sonde_map { /* ready when zeroed */
    struct sonde_map_slot {
        uint64_t key, value;
        bool used;
    } *slots;
    size_t count, mask;
};

void sonde_map_fini(struct sonde_map *map);
/* Set the value of `key`. 0 or SONDE_ENOMEM. */
int sonde_map_put(struct sonde_map *map, uint64_t key, uint64_t value);
/* The value of `key` into *value; false (and *value untouched) when there is none. */
bool sonde_map_get(const struct sonde_map *map, uint64_t key, uint64_t *value);

/* Mixes a word into a hash, for keys of several words. The first `hash` may be a word, too: which of two it is counts. */
uint64_t sonde_hash_mix(uint64_t hash, uint64_t word);

struct sonde_intern { /* ready when zeroed; ids count from 1 in the order of first sight */
    struct sonde_arena arena;
    struct sonde_intern_item {
        const char *bytes;
        uint32_t length, next;
    } *items; /* [id - 1] */
    uint32_t count, capacity;
    struct sonde_map first; /* hash -> first id with it; `next` links the rest */
};

void sonde_intern_fini(struct sonde_intern *intern);
/* Id of a byte string; equal strings, equal ids. 0 when out of memory. */
uint32_t sonde_intern_bytes(struct sonde_intern *intern, const char *bytes, size_t length);
/* The same for a NUL-terminated string; NULL and "" give 0. */
uint32_t sonde_intern_text(struct sonde_intern *intern, const char *text);
/* Id of a string that is there already; 0: it is not. */
uint32_t sonde_intern_find(const struct sonde_intern *intern, const char *text);
/* NUL-terminated string of an id; "" for 0. Valid until fini. */
const char *sonde_intern_get(const struct sonde_intern *intern, uint32_t id);

#endif
