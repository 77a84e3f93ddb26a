/* counters.h - counters of the hardware by operation in its calling context, and by kernel (record --counters). docs/counters.md. */
#ifndef SONDE_ANALYZE_PROFILE_COUNTERS_H
#define SONDE_ANALYZE_PROFILE_COUNTERS_H

#include "profile.h"

/* What a metric was for some operations of one name. */
struct sonde_counted {
    uint32_t leaf;             /* tree node: the operation in its context; of a kernel in all of them, the first */
    uint32_t process, device;  /* device: of its process, from 1 */
    const char *kernel;
    const char *metric, *unit; /* as the device's maker names them; unit "": none, or not known */
    uint64_t operations;       /* that have a value */
    double sum, least, most;
    bool adds_up;              /* the sum means something: it is a count */
};

struct sonde_counters {
    SONDE_VECTOR(struct sonde_counted) contexts, kernels; /* in the order in which they were first seen; metrics of one stand together */
    uint64_t missed;           /* operations without values */
    uint64_t operations;       /* with some */
};

/* Ready when zeroed. 0, or SONDE_ENOMEM; sonde_counters_fini in both cases. */
int sonde_counters_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_counters *out);
void sonde_counters_fini(struct sonde_counters *counters);

#endif
