/* sync.h - host time of API calls that waited for the device, also of those that do other things too.
 *
 * A call waits when it is one of those that are there for it (api.h), or when
 * the trace says so of this very call (WAIT rows): a blocking copy, a release
 * that finishes its queue.
 */
#ifndef SONDE_ANALYZE_SYNC_H
#define SONDE_ANALYZE_SYNC_H

#include "base/progress.h"
#include "profile.h"

/* Exclusive nanoseconds by tree node; reads the trace of processes that have
 * WAIT rows. Array in *out (caller frees). 0 or a negative code. */
int sonde_sync_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                       struct sonde_progress *progress, double **out);

#endif
