/* oracle.h - compares the walker with libunwind's unw_step, frame by frame. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/stack/unwind.h"
#include "agent/stack/unwind_trails.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRAIL_BLOCKS 6u

struct oracle {
    uint64_t walks, shared, frames, mismatches, guessed, known;
    struct sonde_stack last;    /* the stack that sharing works on */
    struct sonde_trails trails; /* of it */
    void *room[TRAIL_BLOCKS];
    unsigned given;
    struct sonde_stack full;
    struct sonde_trail trail;  /* what was known before the last walk, when it is_known */
    bool is_known;
    bool quiet;
};

struct oracle *oracle_create(void);
void oracle_destroy(struct oracle *o);

/* Walk here four ways (known, shared, full, libunwind) and compare pc and sp of every
 * frame. Returns true when all agree; otherwise counts and prints. */
bool oracle_check(struct oracle *o);
/* The same with libunwind left out: fast. */
bool oracle_check_self(struct oracle *o);

/* Modules changed: libunwind does not notice by itself. */
void oracle_modules_changed(void);

/* For callers that do not know the struct (Python). */
uint64_t oracle_walks(const struct oracle *o);
uint64_t oracle_shared(const struct oracle *o);
uint64_t oracle_mismatches(const struct oracle *o);

#ifdef __cplusplus
}
#endif
#endif
