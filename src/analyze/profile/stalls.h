/* stalls.h - where warps of kernels were when the device was sampled, and why they did not go on (record --pc), by function, line and instruction.
 * docs/stalls.md.
 */
#ifndef SONDE_ANALYZE_PROFILE_STALLS_H
#define SONDE_ANALYZE_PROFILE_STALLS_H

#include "profile.h"

struct sonde_stall_reason {
    const char *name;          /* as NVIDIA names it */
    uint64_t samples, idle;    /* idle: of these, in whose cycle the scheduler issued nothing */
};

/* Samples of a function, of one of its lines or of one of its instructions. */
struct sonde_stall_sum {
    uint32_t process, device;  /* device: of its process, from 1; 0 not known */
    const char *function;      /* as its source has it; a kernel, or what it calls */
    const char *file;          /* "" unknown; of a function, too */
    uint32_t line;             /* 0 unknown; of a function, too */
    uint64_t code, offset;     /* of an instruction: a piece of code, and bytes from the function's beginning, */
    const char *text;          /* and what it is; "" not known */
    uint64_t samples, issued, idle; /* issued: of these, in which the warp went on */
    size_t first_reason, reason_count; /* the others, most samples first */
};

/* Samples of a kernel by its calling contexts: divided by the time that it took in each, where it has several. */
struct sonde_stall_context {
    const char *function;
    uint32_t leaf;             /* tree node */
    uint64_t operations, device_ns;
    double samples;
    bool exact;                /* it has no other */
};

struct sonde_stalls {
    SONDE_VECTOR(struct sonde_stall_sum) functions, lines, instructions; /* most samples first */
    SONDE_VECTOR(struct sonde_stall_reason) reasons; /* of these, one after the other */
    SONDE_VECTOR(struct sonde_stall_context) contexts; /* most samples first */
    struct sonde_stall_sum all; /* of all code: its samples and reasons alone */
    uint64_t samples, elsewhere, dropped, lost; /* samples: of instructions; enum sonde_stall_kind has the others */
    uint32_t cycles;           /* between two samples of a multiprocessor: the most that any process asked for */
    struct sonde_intern names; /* private */
};

/* Ready when zeroed. 0, or SONDE_ENOMEM; sonde_stalls_fini in both cases. `m` and `profile` must outlive it. */
int sonde_stalls_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_stalls *out);
void sonde_stalls_fini(struct sonde_stalls *stalls);

/* What a reason means, in a few words; NULL: NVIDIA has a new one. */
const char *sonde_stall_meaning(const char *reason);

#endif
