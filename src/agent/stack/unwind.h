/* unwind.h - the native call stack of the calling thread.
 *
 * A frame is (pc, cfa): the return address and the canonical frame address of
 * the function it returns into. The walker interprets the modules' call frame
 * information (.eh_frame) and keeps, per pc, the resulting rule in a
 * process-wide lock-free table, so a step is two loads. It takes no lock,
 * makes no system call on the thread's own stack, and allocates nothing.
 *
 * Re-use: a thread keeps its last stack. While walking, a fresh frame whose
 * (pc, cfa) equals a frame of the last stack is the same activation as far as
 * the rules can tell; the outer frames are then proved, one by one, by comparing
 * each return-address slot with the value it had, and the frame pointer where
 * the next frame's place comes from it. By induction over the rules the rest is
 * equal: a rule depends on pc and the module generation alone, and gives the
 * addresses of both slots from sp alone, or from fp too (FROM_FP). Where it does
 * not, the frame pointer may be another than then: code without frame pointers
 * keeps its own values there. Frames found in any other way (CFA read from
 * memory, signal frames, other registers, guesses) are stepped to again and
 * compared. The first difference continues the fresh walk there. Until it meets
 * the last stack, a walk is proved in the same way against what earlier walks
 * found (unwind_trails.h), where the caller gives memory for it.
 *
 * The thread's own stack costs no system call in the steady state (its pages
 * are probed once). On other stacks (coroutines, alternate signal stacks) each
 * page that a walk touches costs one (0.1 to 0.4 us): they may vanish any time.
 */
#ifndef SONDE_AGENT_STACK_UNWIND_H
#define SONDE_AGENT_STACK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_STACK_MAX 1024 /* frames kept of one stack; outer ones are cut */

enum sonde_unwind_end {
    SONDE_UNWIND_OUTERMOST, /* reached the thread's first frame (return address undefined, or 0) */
    SONDE_UNWIND_CUT,       /* deeper than SONDE_STACK_MAX */
    SONDE_UNWIND_LOST,      /* no rule and no guess: outer frames are missing */
};

struct sonde_stack {         /* one per thread slot, in mapped memory (not on the thread's stack) */
    uint32_t count;          /* frames, innermost first */
    uint32_t shared;         /* the outer `shared` frames were proved equal to those of the last walk */
    uint32_t guessed;        /* frames found by frame pointer or scanning, without a rule */
    uint8_t end;             /* enum sonde_unwind_end */
    struct sonde_trails *trails; /* the caller's, zeroed but for `more`; NULL: none */
    uint64_t generation;     /* module generation of the walk */
    uintptr_t pc[SONDE_STACK_MAX];
    uintptr_t cfa[SONDE_STACK_MAX];     /* value of sp after returning into pc */
    uintptr_t fp[SONDE_STACK_MAX];      /* value of the frame pointer there; of shared frames only if the next one's place comes from it */
    uintptr_t fp_slot[SONDE_STACK_MAX]; /* where fp was saved by the inner function, 0 = not saved; low 3 bits and the highest private */
    uint32_t id[SONDE_STACK_MAX];       /* for the caller: frame id; kept for shared frames */
    struct {
        uintptr_t pc, cfa, fp, fp_slot;
    } fresh[SONDE_STACK_MAX]; /* private: the frames of a walk until it meets the last one */
};

/* Map the rule table. 0 or SONDE_ENOMEM. Once per process; again in a forked child does no harm. */
int sonde__unwind_init(void);

/* Walk the calling thread's stack, from the caller of this function outwards,
 * into *stack, which holds the last walk (zeroed the first time). On return
 * the outer `shared` entries (the last ones) are as they were, ids included;
 * the inner ones are new, with id = 0. Preserves errno. NULL.
 *
 * `known`: if the frames are those of a whole trail whose `known` is set, *stack
 * stays as it is, and that trail is returned; the caller calls sonde__trail_came,
 * or walks all the same. */
struct sonde_trail *sonde__unwind(struct sonde_stack *stack, bool known);

/* The same, without re-use: for checking (compare pc and cfa). */
void sonde__unwind_full(struct sonde_stack *stack);

/* In a signal handler: from the place that the signal interrupted, whose frame
 * is exact: `pc` is the next instruction to run. `share`: as sonde__unwind. */
struct sonde_place {
    uintptr_t pc, sp, fp;
};
void sonde__unwind_interrupted(struct sonde_stack *stack, const struct sonde_place *at, bool share);

/* Modules were loaded or unloaded: every rule learnt so far is void. Any thread. */
void sonde__unwind_modules_changed(void);
uint64_t sonde__unwind_generation(void);

/* First address of the function around pc by its FDE, 0 when unknown. Lock-free. */
uintptr_t sonde__unwind_function_start(uintptr_t pc);

#endif
