/* collectives.h - which kernels of NCCL needed which: no rank's kernel ends before those of all ranks have begun.
 *
 * The k-th collective that a rank asked of a communicator is the k-th of the others, since NCCL wants all ranks to call in the same order
 * (NCCL's manual, "Using multiple NCCL communicators concurrently", and its "Group calls"); the k-th that one sends another is the k-th that this one
 * receives of it.
 */
#ifndef SONDE_ANALYZE_JOB_COLLECTIVES_H
#define SONDE_ANALYZE_JOB_COLLECTIVES_H

#include "matching.h"
#include "needs.h"

/* What that says of the clocks of hosts (to be aligned then). Of a communicator, or two ranks that send each other, only where all kernels of all
 * of them are there: else the k-th of one may be another of the next. 0, SONDE_ENOMEM, or an error of reading. */
int sonde__collective_bounds(const struct sonde_measurement *m, struct sonde__clocks *clocks);
/* All of them, those that could be matched with their waits (messages.h); what is called in `k` is called for these, too. `k` was matched; `out` zeroed.
 * The same errors, and what was called returned (non-zero stops). */
int sonde__collective_waits(struct sonde__matching *k, sonde__matched_list *out);
/* Was recording never off, and is no message missing, so that the n-th of one kind is the n-th that the process did? Of operations the ledger tells.
 * The same errors. */
int sonde__trace_is_whole(const struct sonde_measurement *m, const struct sonde_process *p, bool *whole);
/* What is taken to belong together was so by the times, too: no kernel ended before those that it needed had begun. Where ranks were not recorded from
 * the same call on, that is mostly not so, and nothing is said of these. The same errors. */
int sonde__collective_needs(const struct sonde_measurement *m, struct sonde_needs *out);

#endif
