/* counter_series.h - counters of devices over time (record --counter-series), and which operations they are of. docs/counters.md, "Over time".
 *
 * A sample is what a counter was from one time to another, whoever used the device. Where one of this process's operations ran
 * meanwhile, all of it counts for that one; where several did, each gets the part of its time in the sample of all their times there. What
 * each got at least and at most comes with it: all of the samples that it had to itself, and all of those in which it ran.
 */
#ifndef SONDE_ANALYZE_PROFILE_COUNTER_SERIES_H
#define SONDE_ANALYZE_PROFILE_COUNTER_SERIES_H

#include "profile.h"

/* One counter of one device. */
struct sonde_counter_series {
    uint32_t process, lane, device; /* device: of its process, from 1; 0 unknown */
    const char *metric, *unit;      /* as the device's maker names them; unit "": none, or not known */
    bool adds_up;                   /* a count: what follows are sums and rates; else a mean over time, and values */
    uint64_t samples, known_ns;     /* time that samples tell of */
    double sum;                     /* of a count */
    double mean, most;              /* of a count per second */
    double idle;                    /* of a count, what was counted while nothing of this process ran there */
};

/* What operations of one name got of it. */
struct sonde_counter_part {
    size_t series;                  /* index below */
    const char *name;               /* of the kernel, or kind of operation; of constants and the profile */
    uint32_t leaf;                  /* tree node of one of them */
    uint64_t operations, ns;        /* that lie in samples, and their time there */
    double value, least, most;      /* of a count sums; else the mean while they ran, and the least and most of samples */
};

struct sonde_counters_over_time {
    SONDE_VECTOR(struct sonde_counter_series) series; /* by process and lane */
    SONDE_VECTOR(struct sonde_counter_part) parts;    /* by series; those with the most time first */
};

/* Ready when zeroed. 0, or SONDE_ENOMEM; fini in both cases. */
int sonde_counters_over_time_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_counters_over_time *out);
void sonde_counters_over_time_fini(struct sonde_counters_over_time *out);

#endif
