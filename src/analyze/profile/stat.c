/* stat.c - merging of accumulators.
 *
 * Mean and squared distances: Chan, Golub, LeVeque, "Updating formulae and a
 * pairwise algorithm for computing sample variances", Stanford CS-79-773,
 * 1979, equations 2.1a and 2.1b. Percentiles: nearest rank in the merged
 * log-scale histogram (sixteen equal parts per octave), linear within a part.
 */
#include "stat.h"

#include <math.h>

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

static void merge_times(struct sonde_stat *stat, const struct sonde_row_profile *row, uint64_t timed)
{
    double a = (double)stat->timed, b = (double)timed;
    double delta = row->mean_ns - stat->mean_ns;
    if (!stat->timed || row->min_ns < stat->min_ns)
        stat->min_ns = row->min_ns;
    if (!stat->timed || row->max_ns > stat->max_ns)
        stat->max_ns = row->max_ns;
    stat->mean_ns += delta * b / (a + b);
    stat->m2 += row->m2 + delta * delta * a * b / (a + b);
    stat->timed += timed;
    stat->sum_ns += row->sum_ns;
}

int sonde_stat_add_row(struct sonde_stat *stat, struct sonde_arena *arena,
                       const struct sonde_process *process, const struct sonde_row_profile *row)
{
    /* Every API call (lane 0) has host times; only operations may lack them. */
    uint64_t timed = row->lane == 0 ? row->count : row->timed;
    stat->count += row->count;
    stat->failed += row->failed;
    stat->bytes += row->bytes;
    stat->enqueue_queued_ns += row->enqueue_queued_ns;
    stat->queued_submit_ns += row->queued_submit_ns;
    stat->submit_start_ns += row->submit_start_ns;
    if (timed)
        merge_times(stat, row, timed);
    return arena ? merge_histogram(stat, arena, process, row) : 0;
}

double sonde_stat_stddev(const struct sonde_stat *stat)
{
    return stat->timed > 1 && stat->m2 > 0 ? sqrt(stat->m2 / (double)stat->timed) : 0;
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
