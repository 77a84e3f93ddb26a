/* tallies.h - counters of the CPU by calling context and by routine, and in all (record --cpu-counters). docs/counters.md, "Of the CPU". */
#ifndef SONDE_ANALYZE_PROFILE_TALLIES_H
#define SONDE_ANALYZE_PROFILE_TALLIES_H

#include "profile.h"

/* A counter of a process. */
struct sonde_tally {
    uint32_t process;
    const char *name;        /* perf's */
    uint64_t period;         /* a sample each so many */
    uint64_t count;          /* counted, in all of its threads */
    uint64_t samples;        /* taken: */
    uint64_t sampled;        /* so much is in calling contexts; the rest is in no sample */
    uint64_t lost;           /* samples that were lost */
    uint64_t enabled_ns, running_ns; /* of all threads: how long it should have been counted, and was */
};

/* What of it was counted in one place. */
struct sonde_tally_part {
    uint32_t tally;          /* index */
    uint32_t node;           /* tree node: the innermost frame; of a routine in all of its contexts, the one with the most */
    uint64_t samples, count, most;
    double error;            /* standard error of count */
};

struct sonde_tallies {
    SONDE_VECTOR(struct sonde_tally) all;
    SONDE_VECTOR(struct sonde_tally_part) contexts, routines; /* by counter, in the order of `all`; most first */
};

/* Ready when zeroed. 0, or SONDE_ENOMEM; sonde_tallies_fini in both cases. */
int sonde_tallies_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_tallies *out);
void sonde_tallies_fini(struct sonde_tallies *tallies);

#endif
