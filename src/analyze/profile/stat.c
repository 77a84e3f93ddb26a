/* stat.c - merging of accumulators.
 *
 * An accumulator has the sum of n durations and their squared distances to the mean, m2; of both follows the sum of their
 * squares, m2 + sum^2 / n, and of that and the sum of all durations their standard deviation. As whole numbers of 128
 * bits nothing is cancelled. Percentiles: nearest rank in the merged log-scale histogram (sixteen equal
 * parts per octave), linear within a part.
 */
#include "stat.h"

#include <math.h>

enum { PARTS = 16 }; /* of a square nanosecond */

static int merge_histogram(struct sonde_stat *stat, struct sonde_arena *arena,
                           const struct sonde_process *process, const struct sonde_row_profile *row)
{
    for (uint32_t octave = 0; octave < 40; octave++) {
        uint32_t id = row->histogram[octave];
        if (id == 0 || id >= process->histogram_count)
            continue;
        if (!stat->bins)
            stat->bins = sonde_arena_alloc(arena, SONDE_STAT_BINS * sizeof *stat->bins);
        if (!stat->bins)
            return SONDE_ENOMEM;
        for (uint32_t part = 0; part < 16; part++)
            stat->bins[octave * 16 + part] += process->histograms[id].count[part];
    }
    return 0;
}

static void merge_times(struct sonde_stat *stat, const struct sonde_stat *more)
{
    if (!stat->timed || more->min_ns < stat->min_ns)
        stat->min_ns = more->min_ns;
    if (!stat->timed || more->max_ns > stat->max_ns)
        stat->max_ns = more->max_ns;
    stat->timed += more->timed;
    stat->sum_ns += more->sum_ns;
    stat->squares += more->squares;
}

static sonde_stat_squares squares_of(const struct sonde_row_profile *row, uint64_t timed)
{
    const double distances = row->m2 * PARTS;
    const sonde_stat_squares sum = row->sum_ns;
    return (distances > 0 && distances < 0x1p120 ? (sonde_stat_squares)(distances + 0.5) : 0) + (PARTS * sum * sum + timed / 2) / timed;
}

int sonde_stat_join(struct sonde_stat *stat, struct sonde_arena *arena, const struct sonde_stat *more)
{
    stat->count += more->count;
    stat->failed += more->failed;
    stat->bytes += more->bytes;
    stat->enqueue_queued_ns += more->enqueue_queued_ns;
    stat->queued_submit_ns += more->queued_submit_ns;
    stat->submit_start_ns += more->submit_start_ns;
    if (more->timed)
        merge_times(stat, more);
    if (!arena || !more->bins)
        return 0;
    if (!stat->bins && !(stat->bins = sonde_arena_alloc(arena, SONDE_STAT_BINS * sizeof *stat->bins)))
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < SONDE_STAT_BINS; i++)
        stat->bins[i] += more->bins[i];
    return 0;
}

int sonde_stat_add_row(struct sonde_stat *stat, struct sonde_arena *arena,
                       const struct sonde_process *process, const struct sonde_row_profile *row)
{
    /* Every API call (lane 0) has host times; only operations may lack them. */
    const uint64_t timed = row->lane == 0 ? row->count : row->timed;
    sonde_stat_join(stat, NULL,
                    &(struct sonde_stat){
                        .count = row->count,
                        .timed = timed,
                        .failed = row->failed,
                        .bytes = row->bytes,
                        .sum_ns = row->sum_ns,
                        .min_ns = row->min_ns,
                        .max_ns = row->max_ns,
                        .squares = timed ? squares_of(row, timed) : 0,
                        .enqueue_queued_ns = row->enqueue_queued_ns,
                        .queued_submit_ns = row->queued_submit_ns,
                        .submit_start_ns = row->submit_start_ns,
                    });
    return arena ? merge_histogram(stat, arena, process, row) : 0;
}

double sonde_stat_mean(const struct sonde_stat *stat)
{
    return stat->timed ? (double)stat->sum_ns / (double)stat->timed : 0;
}

double sonde_stat_stddev(const struct sonde_stat *stat)
{
    const sonde_stat_squares sum = stat->sum_ns, of_mean = stat->timed ? PARTS * sum * sum / stat->timed : 0;
    return stat->timed > 1 && stat->squares > of_mean ? sqrt((double)(stat->squares - of_mean) / PARTS / (double)stat->timed) : 0;
}

void sonde_stat_bin(uint32_t bin, double *from_ns, double *to_ns)
{
    const double octave = ldexp(1.0, (int)(bin / 16)), width = octave / 16;
    *from_ns = octave + (bin % 16) * width;
    *to_ns = *from_ns + width;
}

bool sonde_stat_percentile(const struct sonde_stat *stat, double fraction, double *ns)
{
    uint64_t total = 0;
    for (uint32_t i = 0; stat->bins && i < SONDE_STAT_BINS; i++)
        total += stat->bins[i];
    if (!total || !stat->timed)
        return false;
    double rank = ceil(fraction * (double)total), before = 0;
    if (rank < 1)
        rank = 1;
    for (uint32_t i = 0; i < SONDE_STAT_BINS; i++) {
        double here = (double)stat->bins[i];
        if (here > 0 && before + here >= rank) {
            double low, high;
            sonde_stat_bin(i, &low, &high);
            double value = low + (high - low) * (rank - before - 0.5) / here; /* the middle of its place */
            *ns = fmin(fmax(value, (double)stat->min_ns), (double)stat->max_ns);
            return true;
        }
        before += here;
    }
    return false;
}
