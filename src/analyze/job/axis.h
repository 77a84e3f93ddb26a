/* axis.h - one time axis for the processes of all hosts.
 *
 * Each host has a clock of its own, and its wall clock is as right as its administrator keeps it. Where ranks waited for each other, that tells
 * how far apart the clocks are (clocks.h): a process's wall_offset_ns then leads to the wall clock of one of the hosts, in the middle of the run exactly
 * to within the clocks' bound, elsewhere as far as they drift apart until there.
 *
 * Threads: one, right after opening.
 */
#ifndef SONDE_ANALYZE_JOB_AXIS_H
#define SONDE_ANALYZE_JOB_AXIS_H

#include "format/reader.h"

/* As sonde_measurement_open, with one axis. Jobs on one host, and those with more than SONDE_AXIS_ROWS messages and collectives, are left as they are but
 * that processes of one host have one offset, since they have one clock. */
int sonde_measurement_open_job(const char *path, struct sonde_measurement **out, struct sonde_diag *diag);
/* The same, as sonde_measurement_open_heads: of several hosts, with the strings that messages need, and the tables of ranks that have NCCL's collectives. */
int sonde_measurement_open_job_heads(const char *path, struct sonde_measurement **out, struct sonde_diag *diag);
#define SONDE_AXIS_ROWS 10000000u /* all of them are read before anything is shown */

#endif
