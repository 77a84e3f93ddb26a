/* stat.h - merged statistics of many accumulators (struct sonde_row_profile).
 *
 * docs/report.md says how each number is computed. Threads: one at a time per struct.
 */
#ifndef SONDE_ANALYZE_PROFILE_STAT_H
#define SONDE_ANALYZE_PROFILE_STAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "format/reader.h"

#define SONDE_STAT_BINS (40 * 16)

/* Sums are whole numbers, so that they do not depend on the order in which they were added up. */
__extension__ typedef unsigned __int128 sonde_stat_squares; /* sixteenths of a square nanosecond */

struct sonde_stat {          /* ready when zeroed */
    uint64_t count;          /* operations or calls */
    uint64_t timed;          /* of those, with times; all durations below are of these */
    uint64_t failed;
    uint64_t bytes;
    uint64_t sum_ns;
    uint64_t min_ns, max_ns; /* meaningful when timed > 0 */
    sonde_stat_squares squares; /* of the durations */
    uint64_t enqueue_queued_ns, queued_submit_ns, submit_start_ns; /* sums: parts of the queue delay */
    uint64_t *bins;          /* SONDE_STAT_BINS counts, or NULL: no histogram kept */
};

/* Merge another of the same operations or calls; with an arena its histogram, too. 0 or SONDE_ENOMEM. */
int sonde_stat_join(struct sonde_stat *stat, struct sonde_arena *arena, const struct sonde_stat *more);

/* Merge one accumulator of `process`. With an arena the histogram is merged
 * too; NULL leaves it out. 0 or SONDE_ENOMEM. */
int sonde_stat_add_row(struct sonde_stat *stat, struct sonde_arena *arena,
                       const struct sonde_process *process, const struct sonde_row_profile *row);

/* The durations that bin `bin` counts: from_ns <= d < to_ns, and in the last one longer ones too. */
void sonde_stat_bin(uint32_t bin, double *from_ns, double *to_ns);

/* Mean of the durations; 0 when timed == 0. */
double sonde_stat_mean(const struct sonde_stat *stat);

/* Standard deviation of the durations (of the whole, not of a sample); 0 when timed < 2. */
double sonde_stat_stddev(const struct sonde_stat *stat);

/* Duration that `fraction` (0..1) of the timed ones do not exceed. False when
 * unknown: nothing timed, or no histogram. */
bool sonde_stat_percentile(const struct sonde_stat *stat, double fraction, double *ns);

#endif
