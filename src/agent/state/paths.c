/* paths.c - see paths.h. */
#include "paths.h"

#include <string.h>

#define SLOTS      (SONDE_HEAP_BLOCK / sizeof(struct sonde_path_slot))
#define WAYS       4u  /* one cache line */
#define WORTH_IT   64u /* misses before a thread gets memory for this: most threads make few calls */

static uint64_t hash_of(const struct sonde_path_key *key)
{
    uint64_t a = ((uint64_t)key->parent << 32 | key->api) + 1, b = key->count;
    uint32_t i = 0;
    for (; i + 1 < key->count; i += 2) { /* two chains, because the multiplications' latency is what costs */
        a = (a ^ key->word[i]) * 0x9e3779b97f4a7c15ull;
        a ^= a >> 32;
        b = (b ^ key->word[i + 1]) * 0xd6e8feb86659fd93ull;
        b ^= b >> 32;
    }
    if (i < key->count)
        a ^= key->word[i];
    a = (a ^ b * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull;
    return a ^ a >> 32;
}

static bool is_it(const struct sonde_path_slot *s, const struct sonde_path_key *key)
{
    const struct sonde_path *p = s->path;
    return s->hash == key->hash && p && p->parent == key->parent && p->api == key->api && p->count == key->count &&
           memcmp(p->word, key->word, key->count * sizeof *key->word) == 0;
}

static struct sonde_path_slot *set_of(const struct sonde_paths *p, const struct sonde_path_key *key)
{
    return &p->slot[key->hash % SLOTS / WAYS * WAYS];
}

const struct sonde_path *sonde__paths_find(struct sonde_paths *p, struct sonde_path_key *key, uint64_t generation)
{
    if (__builtin_expect(p->generation != generation, 0)) {
        sonde__paths_forget(p);
        p->generation = generation;
    }
    if (!p->slot)
        return NULL;
    key->hash = hash_of(key);
    const struct sonde_path_slot *s = set_of(p, key);
    for (unsigned i = 0; i < WAYS; i++)
        if (is_it(&s[i], key))
            return s[i].path;
    return NULL;
}

void sonde__paths_forget(struct sonde_paths *p)
{
    if (p->slot)
        memset(p->slot, 0, SONDE_HEAP_BLOCK);
    p->current = p->used = 0;
}

/* What lies in this block is about to be overwritten. */
static void clear_block(struct sonde_paths *p, const unsigned char *block)
{
    for (size_t i = 0; i < SLOTS; i++) {
        const unsigned char *at = (const unsigned char *)p->slot[i].path;
        if (at >= block && at < block + SONDE_HEAP_BLOCK)
            p->slot[i] = (struct sonde_path_slot){0};
    }
}

static bool next_block(struct sonde_paths *p, struct sonde_heap *heap)
{
    uint32_t next = p->blocks ? p->current + 1 : 0;
    if (next == p->blocks && !p->full && p->blocks < SONDE_PATHS_BLOCKS) {
        p->block[next] = sonde__heap_get_spare(heap);
        p->full = !p->block[next];
        p->blocks += !p->full;
    }
    if (!p->blocks)
        return false;
    p->current = next < p->blocks ? next : 0;
    p->used = 0;
    clear_block(p, p->block[p->current]);
    return true;
}

static struct sonde_path *room(struct sonde_paths *p, struct sonde_heap *heap, size_t bytes)
{
    if ((!p->blocks || p->used + bytes > SONDE_HEAP_BLOCK) && !next_block(p, heap))
        return NULL;
    struct sonde_path *path = (struct sonde_path *)(void *)(p->block[p->current] + p->used);
    p->used += (uint32_t)bytes;
    return path;
}

static bool make_slots(struct sonde_paths *p, struct sonde_heap *heap)
{
    if (p->full || ++p->missed < WORTH_IT)
        return false;
    p->slot = sonde__heap_get_spare(heap);
    p->full = !p->slot;
    if (p->slot)
        memset(p->slot, 0, SONDE_HEAP_BLOCK);
    return false; /* the key has no hash yet: the next one */
}

void sonde__paths_put(struct sonde_paths *p, struct sonde_heap *heap, const struct sonde_path_key *key,
                      const uint32_t *nodes, uint32_t leaf)
{
    if (!p->slot && !make_slots(p, heap))
        return;
    size_t bytes = sizeof(struct sonde_path) + key->count * (sizeof *key->word + (nodes ? sizeof *nodes : 0));
    struct sonde_path *path = room(p, heap, (bytes + 7) & ~(size_t)7);
    if (!path)
        return;
    *path = (struct sonde_path){.parent = key->parent, .api = key->api, .count = key->count, .leaf = leaf};
    memcpy(path->word, key->word, key->count * sizeof *key->word);
    if (nodes)
        memcpy(path->word + key->count, nodes, key->count * sizeof *nodes);
    struct sonde_path_slot *s = set_of(p, key);
    memmove(&s[1], &s[0], (WAYS - 1) * sizeof *s);
    s[0] = (struct sonde_path_slot){key->hash, path};
}
