/* python_replay.h - are the calling thread's Python frames as they were? (replay.h) */
#ifndef SONDE_AGENT_PYTHON_REPLAY_H
#define SONDE_AGENT_PYTHON_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

/* Sums of words: each pair is mixed by a key of its own, so that places count. */
#define SONDE__SUM_KEY UINT64_C(0x9e3779b97f4a7c15)
#define SONDE__SUM_STEP UINT64_C(0xd6e8feb86659fd93)

static inline uint64_t sonde__sum_of(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * (b ^ UINT64_C(0xff51afd7ed558ccd));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Can it be told so? From 3.12 on, where code objects are numbered, with the GIL. */
bool sonde__python_replayable(void);

/* Where the frames lie that a walk reads, innermost first; the interpreter's own
 * have their lowest bit set. -1: too many, or one whose code has no number. */
int sonde__python_places(uintptr_t *place, int max);

/* Are the frames linked as then? Adds to *sum what a walk would read in them. */
bool sonde__python_replay(const uintptr_t *place, uint32_t count, uint64_t *sum);

#endif
