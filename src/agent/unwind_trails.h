/* unwind_trails.h - ways outwards that this thread's walks have gone before.
 *
 * A loop calls from the same few hundred places in the same order. A trail is
 * the frames of one walk, from the innermost to where it met the stack of the
 * walk before. The next walk follows the trail that came after the last one,
 * or the last one that began at the same stack pointer, as long as the stack
 * bears it out: each return-address slot and saved frame pointer slot must hold
 * what it held. That is the proof of unwind.h, of another stack than the last;
 * its loads do not wait for each other, as those of the rules do, and a trail's
 * frames lie side by side in memory. Only frames found by plain rules are kept,
 * and a trail dies with the module generation. Lossy: the oldest is overwritten.
 */
#ifndef SONDE_AGENT_UNWIND_TRAILS_H
#define SONDE_AGENT_UNWIND_TRAILS_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_TRAIL_FRAMES 50u
#define SONDE_TRAIL_PYTHONS 24u
#define SONDE_TRAILS_BLOCK 65536u
#define SONDE_TRAILS_BLOCKS 32u /* 2 MiB of a thread's trails */
#define SONDE_TRAILS_BEGINS 1024u

struct sonde_trail_frame {
    uintptr_t pc, fp;
    uint32_t  cfa, fp_slot; /* above `base`; fp_slot 0: none */
};
/* The caller's (known.c): the context that the trail led to, and what else that depends on. */
struct sonde_trail_place {
    uint32_t epoch;  /* 0: none */
    uint32_t outer;  /* frames of the last stack from where the trail met it, that one included */
    uint32_t parent; /* node of those */
    uint32_t api, leaf, pythons;
    struct { uint64_t key; uintptr_t place; } python[SONDE_TRAIL_PYTHONS]; /* outermost first */
};
struct sonde_trail {
    uint64_t  generation;
    uintptr_t base;  /* CFA of frame 0 */
    uint32_t  count; /* frames; 0: not used yet */
    uint32_t  next;  /* trail that came after this one */
    struct sonde_trail_frame frame[SONDE_TRAIL_FRAMES];
    struct sonde_trail_place place;
};
#define SONDE_TRAILS_PER_BLOCK ((uint32_t)(SONDE_TRAILS_BLOCK / sizeof(struct sonde_trail)))

struct sonde_trails {
    void    *(*more)(void);             /* gives a block of SONDE_TRAILS_BLOCK bytes, or NULL */
    uint64_t followed;                  /* frames that were taken from trails */
    uint32_t last, used, turn, blocks;  /* trails are numbered from 1 */
    uint32_t full;                      /* no more blocks */
    uint32_t here;                      /* the trail of the last walk, when it is all of the new frames; 0: none */
    uint32_t epoch;                     /* the caller's */
    uint32_t begins[SONDE_TRAILS_BEGINS]; /* by base: the last trail from there */
    struct sonde_trail *block[SONDE_TRAILS_BLOCKS];
};

static inline struct sonde_trail *sonde__trail(const struct sonde_trails *t, uint32_t number)
{
    return &t->block[(number - 1) / SONDE_TRAILS_PER_BLOCK][(number - 1) % SONDE_TRAILS_PER_BLOCK];
}

static inline uint32_t sonde__trail_begins(uintptr_t base)
{
    return (uint32_t)((base >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 54) % SONDE_TRAILS_BEGINS;
}

/* A place for a new trail, 0 when there is none: of memory not used yet, else the oldest's. */
uint32_t sonde__trail_new(struct sonde_trails *t);

#endif
