/* unwind_trails.h - stacks that this thread's walks have found before, whole.
 *
 * A loop calls from the same few hundred places in the same order. A trail is
 * the frames of one walk, from the innermost to the outermost. The next walk
 * follows the trail that came after the last one, or one that began at the same
 * stack pointer, as long as the stack bears it out, entry by entry. That is the
 * proof of unwind.h, of another stack than the last; its loads do not wait for
 * each other, as those of the rules do, and a trail's entries lie side by side
 * in memory. By induction: the frame before is (pc, cfa) as it was, so its rule
 * is; from that, the next frame's cfa and slot follow,
 *   plain rule on sp                     without more,
 *   plain rule on fp                     if fp is what it was (FROM_FP: that is
 *                                        cfa - 16; AFTER_FP: as an entry FP says),
 *   CFA read from memory (realigned      if fp is, and the word read is as an
 *   stacks)                              entry WORD says (AFTER_WORD),
 * and its pc is in its return address slot, which is compared. The frame pointer
 * itself may be anything where no rule uses it: most code keeps its own values
 * there. Frames found in any other way end the trail, which then is not whole;
 * a trail dies with the module generation. Lossy: the oldest is overwritten.
 */
#ifndef SONDE_AGENT_STACK_UNWIND_TRAILS_H
#define SONDE_AGENT_STACK_UNWIND_TRAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_TRAIL_ENTRIES 160u
#define SONDE_TRAILS_BLOCK 65536u
#define SONDE_TRAILS_BLOCKS 32u /* 2 MiB of a thread's trails */
#define SONDE_TRAILS_BEGINS 1024u
#define SONDE_TRAILS_RELUCTANT 8u /* once all memory is used, one new trail in so many is kept */

enum {
    /* low bits of an entry's fp_slot */
    SONDE_TRAIL_FROM_FP = 1,
    SONDE_TRAIL_AFTER_FP = 2,
    SONDE_TRAIL_AFTER_WORD = 3,
    SONDE_TRAIL_FP = 4,   /* no frame: `pc` is what the frame pointer has to be */
    SONDE_TRAIL_WORD = 5, /* no frame: `pc` is what the word below `cfa` has to be */
};
struct sonde_trail_entry {
    uintptr_t pc;
    uint32_t cfa, fp_slot; /* above `base`; fp_slot 0: none */
};
struct sonde_replay;
struct sonde_trail {
    uint64_t generation;
    uint64_t serial;  /* of the thread's trails: which frames these are */
    uintptr_t base;   /* CFA of frame 0, less 8, so that no slot is at 0 */
    uint32_t count;   /* entries; 0: not used yet */
    uint32_t frames;  /* 0: not whole */
    uint32_t top;     /* the highest cfa of an entry */
    uint32_t next;    /* trail that came after this one */
    uint32_t other;   /* an older one that began at the same place, perhaps */
    bool known;       /* the caller's: it has kept something for this trail, */
    uint32_t replay_epoch; /* and this, of that epoch (replay.h) */
    struct sonde_replay *replay;
    struct sonde_trail_entry entry[SONDE_TRAIL_ENTRIES];
};
#define SONDE_TRAILS_PER_BLOCK ((uint32_t)(SONDE_TRAILS_BLOCK / sizeof(struct sonde_trail)))

struct sonde_trails {
    void *(*more)(void);                /* gives a block of SONDE_TRAILS_BLOCK bytes, or NULL */
    uint64_t followed;                  /* entries that were taken from trails */
    uint64_t serial;
    uint32_t last, used, turn, blocks;  /* trails are numbered from 1 */
    uint32_t full, refused;             /* no more blocks; since then */
    uint32_t here;                      /* the trail that the last stack is, whole; 0: none */
    uint32_t begins[SONDE_TRAILS_BEGINS]; /* by CFA of frame 0: the last trail from there */
    struct sonde_trail *block[SONDE_TRAILS_BLOCKS];
};

static inline struct sonde_trail *sonde__trail(const struct sonde_trails *t, uint32_t number)
{
    return &t->block[(number - 1) / SONDE_TRAILS_PER_BLOCK][(number - 1) % SONDE_TRAILS_PER_BLOCK];
}

static inline uint32_t sonde__trail_begins(uintptr_t cfa)
{
    return (uint32_t)((cfa >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 54) % SONDE_TRAILS_BEGINS;
}

/* The last walk or known stack was `here`. */
static inline void sonde__trail_came(struct sonde_trails *t)
{
    if (t->last && sonde__trail(t, t->last)->next != t->here)
        sonde__trail(t, t->last)->next = t->here;
    t->last = t->here;
}

/* Keep a stack that is not empty, or its inner part as far as a trail can go. 0: there is no place. */
struct sonde_stack;
uint32_t sonde__trail_keep(struct sonde_trails *t, const struct sonde_stack *s);

#endif
