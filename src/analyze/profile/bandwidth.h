/* bandwidth.h - what kernels moved between a device and its memory, and how near they were to what the memory and the multiprocessors' pipes can: of
 * counters, by launch (record --counters) or over time (--counter-series). docs/counters.md, "In other views".
 */
#ifndef SONDE_ANALYZE_PROFILE_BANDWIDTH_H
#define SONDE_ANALYZE_PROFILE_BANDWIDTH_H

#include "counter_series.h"
#include "counters.h"
#include "profile.h"

/* Of all launches of one name on one device that were measured. */
struct sonde_bandwidth {
    uint32_t process, device; /* device: of its process, from 1 */
    const char *kernel;       /* the profile's */
    uint64_t operations;
    double bytes, ns;         /* read and written, and the time of these launches; 0: not known */
    double share;             /* of the memory's peak, by time, 0 to 1; negative: not known */
    const char *pipe;         /* of the multiprocessors, the one nearest to its peak: "fma", "tensor"; of the metric's name, of `pipe_length` bytes */
    int pipe_length;
    double pipe_share;        /* how near; negative: not known */
};

struct sonde_bandwidths { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_bandwidth) items;
    struct sonde_counters counters;             /* of which: by launch, */
    struct sonde_counters_over_time over_time;  /* or over time, where nothing was counted by launch */
};

/* Empty where nothing was counted. 0, or SONDE_ENOMEM; fini in both cases. */
int sonde_bandwidths_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_bandwidths *out);
void sonde_bandwidths_fini(struct sonde_bandwidths *bandwidths);

/* NULL: nothing is known of it. */
const struct sonde_bandwidth *sonde_bandwidth_of(const struct sonde_bandwidths *all, uint32_t process, uint32_t device, const char *kernel);
/* The same of a name on all devices; false: nothing is known. */
bool sonde_bandwidth_sum(const struct sonde_bandwidths *all, const char *kernel, struct sonde_bandwidth *sum);

#endif
