/* sync.h - host time of API calls that waited for the device, also of those that do other things too.
 *
 * A call waits when it is one of those that are there for it (api.h), or when
 * the trace says so of this very call (WAIT rows): a blocking copy, a release
 * that finishes its queue.
 */
#ifndef SONDE_ANALYZE_ANSWERS_LANES_SYNC_H
#define SONDE_ANALYZE_ANSWERS_LANES_SYNC_H

#include "analyze/metrics/values.h"
#include "analyze/trace/trace.h"
#include "base/progress.h"

/* Did the call return only after what a WAIT row names? Calls in the order of their entry; *next is 0 before the first. */
static inline bool sonde_call_waited(const struct sonde_trace_lane *lane, const struct sonde_row_call *call, uint32_t *next)
{
    bool waited = false;
    for (; *next < lane->wait_count && lane->waits[*next].enter_ns <= call->enter_ns; (*next)++)
        waited |= lane->waits[*next].enter_ns == call->enter_ns && !lane->waits[*next].waiter;
    return waited;
}

/* Exclusive nanoseconds by tree node; reads the trace of processes that have
 * WAIT rows. Array in *out (caller frees). 0 or a negative code. */
int sonde_sync_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                       struct sonde_progress *progress, double **out);
/* The same by process: appended. */
int sonde_sync_values(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_progress *progress, sonde_context_values *out);

#endif
