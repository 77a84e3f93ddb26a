/* paths.h - which context nodes a sequence of frames led to, per thread.
 *
 * A program runs the same few hundred paths again and again. A path here is
 * the node that it starts from, the API function, and one word per frame: a
 * return address, the key of a Python frame, or a link's frame. An entry holds
 * the words themselves, so a hit is proved by comparing them, and the node
 * after each. All entries die with the module generation. Lossy: a set of four
 * entries keeps the last ones, memory is used round robin.
 */
#ifndef SONDE_AGENT_STATE_PATHS_H
#define SONDE_AGENT_STATE_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/heap.h"

#define SONDE_PATHS_BLOCKS 32u /* 2 MiB of a thread's paths */

struct sonde_path { /* then count words, then, if they were given, count nodes */
    uint32_t parent, api, count, leaf;
    uint64_t word[];
};
struct sonde_path_slot {
    uint64_t hash;
    struct sonde_path *path;
};
struct sonde_paths {
    struct sonde_path_slot *slot;              /* NULL until needed */
    unsigned char *block[SONDE_PATHS_BLOCKS];
    uint32_t blocks, current, used;            /* taken; the one in use, and bytes in it */
    uint32_t missed;                           /* while there are no slots */
    bool full;                                 /* no more blocks */
    uint64_t generation;
};

struct sonde_path_key {
    uint32_t parent, api, count;
    const uint64_t *word;
    uint64_t hash; /* set by sonde__paths_find */
};

static inline const uint32_t *sonde__path_nodes(const struct sonde_path *p)
{
    return (const uint32_t *)(p->word + p->count);
}

/* NULL: not known. */
const struct sonde_path *sonde__paths_find(struct sonde_paths *p, struct sonde_path_key *key, uint64_t generation);
/* After a find that failed: keep what it led to, if there is room. `nodes` may be NULL. */
void sonde__paths_put(struct sonde_paths *p, struct sonde_heap *heap, const struct sonde_path_key *key,
                      const uint32_t *nodes, uint32_t leaf);
void sonde__paths_forget(struct sonde_paths *p);

#endif
