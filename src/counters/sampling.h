/* sampling.h - what one device counts over time, whoever uses it, by CUPTI's PM sampling: the device notes its counters at each interval, and whoever
 * samples it takes the notes from time to time. docs/counters.md.
 *
 * What was found on an H100 (driver 580, CUDA 13.0): samples have times of CUPTI's clock; the first of each start is older than it; a set with a
 * metric whose unit the machine lacks (NVLink on one with a single device) gives no samples at all, and no error, unless CUPTI is told which there are; no
 * memory of the device is taken. Of two counters of the multiprocessors some of both is lost in long samples (docs/counters.md); of one alone
 * nothing. Reading takes a millisecond a call, and 20 to 40 us a sample. One program at a time can sample a device.
 *
 * Threads: one at a time for each device.
 */
#ifndef SONDE_COUNTERS_SAMPLING_H
#define SONDE_COUNTERS_SAMPLING_H

#include "metrics.h"

#include <cupti_pmsampling.h>

struct sonde_sampling { /* ready when zeroed */
    struct sonde_metrics metrics;     /* those that the device has */
    CUpti_PmSampling_Object *object;
    uint64_t interval_ns;
    uint8_t *availability, *image;
    size_t availability_bytes, image_bytes;
    bool started, first;
};

/* From one time of CUPTI's clock to another, in ns; a value for each of the metrics. */
typedef void sonde_sampling_fn(void *user, uint64_t from, uint64_t to, const double *values);

/* After sonde__metrics_begin: find CUPTI's functions. NULL, or why not (in `room`). */
const char *sonde__sampling_begin(char *room, size_t size);
/* Half a second. `ordinal`: CUDA's number of the device; `list`: of metrics and sets, with commas. Ends early, and false, once `is_over` (NULL: never) is true. False:
 * nothing is sampled, and a note says why; end. */
bool sonde__sampling_open(struct sonde_sampling *d, uint32_t ordinal, const char *list, uint64_t interval_ns, bool (*is_over)(void));
/* All that the device has noted since. False: it cannot be read any more, and a note says why; end. */
bool sonde__sampling_take(struct sonde_sampling *d, sonde_sampling_fn *sample, void *user);
/* The last samples are handed over, and the device is let go of; `metrics` stay. */
void sonde__sampling_stop(struct sonde_sampling *d, sonde_sampling_fn *sample, void *user);
/* The same, and all memory is given back; zeroed again. */
void sonde__sampling_end(struct sonde_sampling *d, sonde_sampling_fn *sample, void *user);

#endif
