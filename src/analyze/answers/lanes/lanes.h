/* lanes.h - how each time line was used: threads with their API calls, queues with their operations.
 */
#ifndef SONDE_ANALYZE_ANSWERS_LANES_LANES_H
#define SONDE_ANALYZE_ANSWERS_LANES_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

struct sonde_lane_use {
    uint32_t process, lane;
    uint64_t count;             /* queue: operations in the profile; thread: API calls in the trace */
    uint64_t traced;            /* rows found in the trace */
    uint64_t ranges;            /* thread: ranges and marks that the program named, in the trace */
    uint64_t sum_ns;            /* queue: sum of durations in the profile, but of what only orders others; thread: time inside API calls */
    bool timed;                 /* busy, gap, first and last are known: the trace has times */
    uint64_t busy_ns;           /* union of the same intervals */
    uint64_t first_ns, last_ns; /* on the process's time axis */
    uint64_t longest_gap_ns;    /* between two intervals */
    uint64_t waits, waited_ns;  /* thread: in functions of the C library, outside of API calls (SLEEP rows) */
    uint32_t wait;              /* node of the process: the context with most of that; 0 none */
    uint64_t wait_ns;           /* what it has */
};

struct sonde_lanes { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_lane_use) items; /* by process, lane */
};

/* Scan the traces of every process; rows are the unit of `progress` (may be NULL).
 * 0 or a negative error of reading. */
int sonde_lanes_compute(const struct sonde_measurement *m, struct sonde_progress *progress, struct sonde_lanes *out);
void sonde_lanes_fini(struct sonde_lanes *lanes);

#endif
