/* oracle.h - compares the walker with libunwind's unw_step, frame by frame. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far libunwind is believed. */
enum oracle_mode {
    ORACLE_EXACT,  /* every frame of libunwind, and no other */
    ORACLE_GUESS,  /* there are frames without description: the frames further
                      out than `beyond` must agree, the others may be guessed */
    ORACLE_NONE,   /* only shared walk against full walk */
};

struct oracle {
    enum oracle_mode   mode;
    uintptr_t          beyond;  /* ORACLE_GUESS: stack address */
    uint64_t           walks, shared, frames, mismatches, guessed;
    struct sonde_stack last;    /* the stack that sharing works on */
    struct sonde_stack full;
    bool               quiet;
};

struct oracle *oracle_create(void);
void           oracle_destroy(struct oracle *o);

/* Walk here three ways (shared, full, libunwind) and compare pc and sp of every
 * frame. Returns true when all agree; otherwise counts and prints. */
bool oracle_check(struct oracle *o);
/* The same with libunwind left out: fast. */
bool oracle_check_self(struct oracle *o);

#ifdef __cplusplus
}
#endif
#endif
