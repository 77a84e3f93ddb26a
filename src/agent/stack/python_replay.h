/* python_replay.h - are the calling thread's Python frames as they were? (replay.h) */
#ifndef SONDE_AGENT_STACK_PYTHON_REPLAY_H
#define SONDE_AGENT_STACK_PYTHON_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

/* Sums of words: each pair is mixed by a key of its own, so that places count. */
#define SONDE__SUM_KEY UINT64_C(0x9e3779b97f4a7c15)
#define SONDE__SUM_STEP UINT64_C(0xd6e8feb86659fd93)

static inline uint64_t sonde__sum_of(uint64_t a, uint64_t b)
{
    b ^= UINT64_C(0xff51afd7ed558ccd);
#if defined __x86_64__ /* gcc 12 keeps the two halves of a product in memory */
    uint64_t low, high;
    __asm__("mulq %3" : "=a"(low), "=d"(high) : "%0"(a), "r"(b) : "cc");
    return low ^ high;
#else
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#endif
}

/* Can it be told so? From 3.12 on, where code objects are numbered, with the GIL. */
bool sonde__python_replayable(void);

/* 3.12: where the innermost call of the eval loop, whose frame lies on this thread's stack, keeps which Python frame is
 * innermost. While that call has not returned and no other has begun within it, this is the place to look, and the
 * interpreter need not be asked (a thread that has gone to another interpreter and runs no Python in it is still taken to
 * be where it was). 0: it keeps none. */
uintptr_t sonde__python_current(void);

/* Where the frames lie that a walk reads, innermost first; the interpreter's own
 * have their lowest bit set. -1: too many, or one whose code has no number. */
int sonde__python_places(uintptr_t *place, int max);

/* Are the frames linked as then? Adds to *sum what a walk would read in them. `current`: as sonde__python_current said
 * in that call of the eval loop; 0: the interpreter is asked. */
bool sonde__python_replay(const uintptr_t *place, uint32_t count, uintptr_t current, uint64_t *sum);

#endif
