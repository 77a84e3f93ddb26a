/* replay.h - the context of a call before which all is as it was.
 *
 * A walk is a function of the words that it reads: on the stack, those that a
 * trail says (unwind_trails.h); in the interpreter, those that link its frames and
 * tell their code and place (python_replay.c). A replay lists where these lie,
 * and holds two 64-bit sums of what they were. It begins at the stack pointer
 * where it began, so if the words are those, the trail, the Python frames and
 * with them the context are those, and nothing is looked up. The sums take the
 * words' places by position; two different stacks have equal sums with a
 * probability of 2^-64. SONDE_CHECK compares with a full walk.
 *
 * What it is for: caches. A program's own work and its driver leave little of
 * ours in them from one call to the next, and a hook then costs what it waits
 * for memory. A replay is a header of one line and, for 64 native and 16 Python
 * frames, four more, side by side; its loads do not wait for each other; and as
 * the next one is mostly that which came next before, it is fetched when
 * the call before it ends.
 */
#ifndef SONDE_AGENT_CONTEXT_REPLAY_H
#define SONDE_AGENT_CONTEXT_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/state/thread.h"

#define SONDE_REPLAY_WORDS 400u
#define SONDE_REPLAY_PYTHONS 96u

struct sonde_replay {
    uint64_t stack, rest;         /* the sums */
    uintptr_t here;               /* frame address of sonde__context */
    uint64_t generation;          /* of modules */
    struct sonde_replay *next[2]; /* that came after it */
    uint32_t node, trail;
    uint32_t top;                 /* the last word is below here + top */
    uint16_t words, pythons;      /* pythons: and SONDE_REPLAY_ATTACHED */
    uint16_t at[];                /* words above `here`; then, in a multiple of 8 bytes, what python_replay.h needs */
};
#define SONDE_REPLAY_ATTACHED 0x8000u /* an interpreter is known */

/* The node of this call, 0 when that cannot be told so. `here`: the frame address of sonde__context. */
uint32_t sonde__replay(struct sonde_thread *t, uint32_t api, uintptr_t here);
/* The same when the stack is known to be a trail. */
uint32_t sonde__replay_of(struct sonde_thread *t, struct sonde_trail *trail, uint32_t api);
/* Keep what led to `node`, and that it came now; `number` is the trail's. */
void sonde__replay_keep(struct sonde_thread *t, struct sonde_trail *trail, uint32_t number, uint32_t api, uint32_t node,
                        uintptr_t here);

/* What a call needs at its begin: fetched when the one before ends. (Always inline: gcc takes a function that does nothing
 * but fetch for one without effect, and drops its calls.) */
static inline __attribute__((always_inline)) void sonde__replay_fetch(const struct sonde_replay *last)
{
    const char *next = last ? (const char *)last->next[0] : NULL;
    if (!next)
        return;
    for (unsigned line = 0; line < 5; line++)
        __builtin_prefetch(next + 64 * line);
}

#endif
