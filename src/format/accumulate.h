/* accumulate.h - how durations are added up in a row of PROFILE: by the agent as they come, and by who makes the rows anew of a trace (last.c).
 *
 * Mean and variance are Welford's (Knuth, TAOCP vol. 2, 4.2.2, eq. 15-16). Durations go into a histogram of sixteen equal parts per octave; a
 * percentile read from it is within 3.2 %.
 */
#ifndef SONDE_FORMAT_ACCUMULATE_H
#define SONDE_FORMAT_ACCUMULATE_H

#include "rows.h"

/* `min_ns` starts as UINT64_MAX. */
static inline void sonde_accumulate(struct sonde_row_profile *row, uint64_t ns)
{
    row->timed++;
    row->sum_ns += ns;
    if (ns < row->min_ns)
        row->min_ns = ns;
    if (ns > row->max_ns)
        row->max_ns = ns;
    const double distance = (double)ns - row->mean_ns;
    row->mean_ns += distance / (double)row->timed;
    row->m2 += distance * ((double)ns - row->mean_ns);
}

/* In which octave, and which part of it, a duration counts. */
static inline unsigned sonde_histogram_octave(uint64_t ns, unsigned *part)
{
    const unsigned octave = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
    *part = octave >= 4 ? (unsigned)(ns >> (octave - 4)) & 15u : (unsigned)(ns << (4 - octave)) & 15u;
    if (octave <= 39)
        return octave;
    *part = 15;
    return 39;
}

/* The parts of an operation's delay between its call and its start; unknown ones are 0. */
static inline uint64_t sonde_span(uint64_t from, uint64_t to)
{
    return from && to > from ? to - from : 0;
}
static inline void sonde_accumulate_delays(struct sonde_row_profile *row, uint64_t enter_ns, uint64_t queued_ns, uint64_t submit_ns, uint64_t start_ns)
{
    row->enqueue_queued_ns += sonde_span(enter_ns, queued_ns);
    row->queued_submit_ns += sonde_span(queued_ns, submit_ns);
    row->submit_start_ns += sonde_span(submit_ns, start_ns);
}

#endif
