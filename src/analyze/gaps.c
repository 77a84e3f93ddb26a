/* gaps.c - a gap between two API calls in pieces: where a sample tells the context, and where none does.
 *
 * docs/sampling.md, "Between API calls". Ways are measured in the thread's own
 * time: while it is off the processor its context does not change. Between two
 * samples of one gap each instant takes the nearer one, no further than two
 * periods away. From a sample to the gap's end it holds for half a period: for
 * more it does not stand, and where the gap is over before, the rest is open.
 *
 * A piece depends on the samples next to it and on nothing else, so that the
 * result does not depend on where windows end.
 */
#include "gaps.h"

#include <stdlib.h>

enum { HOLD_PERIODS = 2 };

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- the thread's own time --------------------------------------------------------------- */

/* The first call entered, and the first sample taken, after `at_ns`; UINT64_MAX: none. */
static uint64_t next_call(const struct sonde_time_lane *lane, uint64_t at_ns)
{
    uint32_t low = 0, high = lane->call_count;
    if (lane->call_before && lane->call_before->enter_ns > at_ns)
        return lane->call_before->enter_ns;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (lane->calls[middle].enter_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lane->call_count ? lane->calls[low].enter_ns
           : lane->call_after && lane->call_after->enter_ns > at_ns ? lane->call_after->enter_ns : UINT64_MAX;
}

static uint64_t next_sample(const struct sonde_time_lane *lane, uint64_t at_ns)
{
    uint32_t low = 0, high = lane->sample_count + (lane->sample_before != NULL) + (lane->sample_after != NULL);
    const uint32_t count = high;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sonde_time_sample(lane, middle)->time_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? sonde_time_sample(lane, low)->time_ns : UINT64_MAX;
}

/* A thread that never came back has ended; where threads share a lane, the next one shows that this is over. */
uint64_t sonde__time_back(const struct sonde_time_lane *lane, uint32_t i)
{
    const struct sonde_row_switch *away = &lane->switches[i];
    uint64_t at_ns = UINT64_MAX;
    if (away->in_ns != UINT64_MAX)
        return away->in_ns;
    if (i + 1 < lane->switch_count)
        at_ns = lane->switches[i + 1].out_ns;
    return least(at_ns, least(next_call(lane, away->out_ns), next_sample(lane, away->out_ns)));
}

/* The first switch that ends after `at_ns`. */
static uint32_t switch_from(const struct sonde_time_lane *lane, uint64_t at_ns)
{
    uint32_t low = 0, high = lane->switch_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sonde__time_back(lane, middle) <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* When it has run for `ns` from `at_ns` on; the first such instant. */
static uint64_t run_on(const struct sonde_time_lane *lane, uint64_t at_ns, uint64_t ns)
{
    for (uint32_t i = switch_from(lane, at_ns); i < lane->switch_count; i++) {
        const struct sonde_row_switch *away = &lane->switches[i];
        const uint64_t ran = minus(away->out_ns, at_ns);
        if (ran >= ns || sonde__time_back(lane, i) == UINT64_MAX)
            break;
        ns -= ran;
        at_ns = sonde__time_back(lane, i);
    }
    return plus(at_ns, ns);
}

/* The same backwards: the last instant from which on it ran for `ns` until `at_ns`. */
static uint64_t run_back(const struct sonde_time_lane *lane, uint64_t at_ns, uint64_t ns)
{
    uint32_t i = switch_from(lane, at_ns);
    i += i < lane->switch_count && lane->switches[i].out_ns < at_ns;
    while (i-- > 0) {
        const struct sonde_row_switch *away = &lane->switches[i];
        const uint64_t ran = minus(at_ns, sonde__time_back(lane, i));
        if (ran >= ns)
            break;
        ns -= ran;
        at_ns = least(away->out_ns, at_ns);
    }
    return minus(at_ns, ns);
}

static uint64_t ran_between(const struct sonde_time_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t ns = to_ns - from_ns;
    for (uint32_t i = switch_from(lane, from_ns); i < lane->switch_count && lane->switches[i].out_ns < to_ns; i++) {
        const struct sonde_row_switch *away = &lane->switches[i];
        ns = minus(ns, minus(least(sonde__time_back(lane, i), to_ns), most(away->out_ns, from_ns)));
    }
    return ns;
}

/* Half the way from one instant to a later one. */
static uint64_t half_way(const struct sonde_time_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
    return run_on(lane, from_ns, ran_between(lane, from_ns, to_ns) / 2);
}

/* ---- what a sample holds --------------------------------------------------------------------- */

struct held { uint64_t from, to, open_ns; };

/* A neighbour in the gap; one that landed in a hook tells that there was one, and no context. */
static const struct sonde_row_sample *in_gap(const struct sonde_row_sample *sample, uint64_t begin, uint64_t end)
{
    return sample && sample->time_ns >= begin && sample->time_ns <= end ? sample : NULL;
}

static bool is_hook(const struct sonde_row_sample *sample)
{
    return sample->flags & SONDE_SAMPLE_DEFERRED;
}

static void hold_back(const struct sonde__gap *gap, uint64_t at_ns, const struct sonde_row_sample *earlier, uint64_t begin,
                      struct held *held)
{
    const uint64_t half = gap->period_ns / 2;
    if (earlier && !is_hook(earlier)) {
        held->from = most(half_way(gap->lane, earlier->time_ns, at_ns), run_back(gap->lane, at_ns, HOLD_PERIODS * gap->period_ns));
        return;
    }
    begin = earlier ? earlier->time_ns : begin;
    held->from = most(run_back(gap->lane, at_ns, half), begin);
    if (earlier || gap->before)
        held->open_ns += minus(half, ran_between(gap->lane, begin, at_ns));
}

static void hold_on(const struct sonde__gap *gap, uint64_t at_ns, const struct sonde_row_sample *later, uint64_t end,
                    struct held *held)
{
    const uint64_t half = gap->period_ns / 2;
    if (later && !is_hook(later)) {
        held->to = least(half_way(gap->lane, at_ns, later->time_ns), run_on(gap->lane, at_ns, HOLD_PERIODS * gap->period_ns));
        return;
    }
    end = later ? later->time_ns : end;
    held->to = least(run_on(gap->lane, at_ns, half), end);
    if (later || gap->after)
        held->open_ns += minus(half, ran_between(gap->lane, at_ns, end));
}

/* ---- pieces ----------------------------------------------------------------------------------- */

static int add_piece(const struct sonde__gap *gap, sonde__pieces *pieces, uint64_t from, uint64_t to, uint32_t node, bool sampled)
{
    from = most(from, gap->from_ns);
    to = least(to, gap->to_ns);
    return from < to ? sonde_vector_push(pieces, (struct sonde__piece){from, to, node, sampled}) : 0;
}

bool sonde__gap_is_sampled(const struct sonde__gap *gap, uint32_t *first)
{
    const uint64_t begin = gap->before ? gap->before->leave_ns : 0, end = gap->after ? gap->after->enter_ns : UINT64_MAX;
    const struct sonde_row_sample *sample;
    while ((sample = sonde_time_sample(gap->lane, *first)) && sample->time_ns < begin)
        ++*first;
    return gap->period_ns && in_gap(sample, begin, end);
}

int sonde__gap_pieces(const struct sonde__gap *gap, uint32_t *first, sonde__pieces *pieces, sonde__gap_samples *samples)
{
    const uint64_t begin = gap->before ? gap->before->leave_ns : 0, end = gap->after ? gap->after->enter_ns : UINT64_MAX;
    const struct sonde_row_sample *earlier = NULL, *sample = NULL, *later;
    uint64_t at = begin;
    int rc = 0;

    pieces->count = samples->count = 0;
    if (sonde__gap_is_sampled(gap, first))
        sample = sonde_time_sample(gap->lane, *first);
    for (; sample && !rc; earlier = sample, sample = later) {
        later = in_gap(sonde_time_sample(gap->lane, ++*first), begin, end);
        if (is_hook(sample))
            continue;
        struct held held = {.open_ns = 0};
        hold_back(gap, sample->time_ns, earlier, begin, &held);
        hold_on(gap, sample->time_ns, later, end, &held);
        rc = add_piece(gap, pieces, at, held.from, 0, false);
        rc = rc ? rc : add_piece(gap, pieces, most(at, held.from), held.to, sample->node, true);
        at = most(at, held.to);
        if (sample->time_ns >= gap->to_ns) /* those that follow reach less far back */
            break;
        if (!rc && sample->time_ns >= gap->from_ns)
            rc = sonde_vector_push(samples, (struct sonde__gap_sample){sample->node, held.open_ns});
    }
    return rc ? rc : add_piece(gap, pieces, at, end, 0, false);
}

/* ---- periods --------------------------------------------------------------------------------------- */

enum { PERIODS_MOST = 8 };

/* Where samples wait for a tick that finds the thread running, each stands for more than the period. */
uint64_t *sonde__sample_periods(const struct sonde_process *p)
{
    const uint64_t asked = p->header.cpu_rate_hz ? 1000000000u / p->header.cpu_rate_hz : 0;
    uint64_t *periods = calloc((size_t)p->lane_count + 1, sizeof *periods);
    uint64_t *counts = calloc((size_t)p->lane_count + 1, sizeof *counts);
    for (uint32_t i = 1; i < p->profile_count && periods && counts; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        if (row->lane && row->lane < p->lane_count && p->lanes[row->lane].kind == SONDE_LANE_KIND_THREAD) {
            periods[row->lane] += row->sum_ns;
            counts[row->lane] += row->count;
        }
    }
    for (uint32_t i = 0; i < p->lane_count && periods && counts; i++) {
        periods[i] = counts[i] ? periods[i] / counts[i] : 0;
        periods[i] = least(most(periods[i], asked), PERIODS_MOST * asked);
    }
    if (!counts) {
        free(periods);
        periods = NULL;
    }
    free(counts);
    return periods;
}

/* ---- lives ----------------------------------------------------------------------------------------- */

/* As far as it existed. */
static void widen(struct sonde__alive *alive, const struct sonde_row_lane *lane, uint64_t period_ns)
{
    const uint64_t first = alive->from, last = alive->to;
    alive->from = minus(first, period_ns);
    alive->from = lane->start_ns > alive->from && lane->start_ns <= first ? lane->start_ns : alive->from;
    alive->to = plus(last, period_ns);
    alive->to = lane->end_ns >= last && lane->end_ns < alive->to ? lane->end_ns : alive->to;
}

/* A thread that runs has a sample in each period. What came before its first row is not known: it may have slept
 * since before its switches were recorded. */
struct sonde__alive *sonde__find_alive(const struct sonde_process *p)
{
    const uint64_t period_ns = p->header.cpu_rate_hz ? 1000000000u / p->header.cpu_rate_hz : 0;
    struct sonde__alive *lives = calloc((size_t)p->lane_count + 1, sizeof *lives);
    for (uint32_t i = 0; i < p->lane_count && lives; i++)
        lives[i].from = UINT64_MAX;
    for (uint32_t i = 0; i < p->trace_count && lives; i++) {
        const struct sonde_chunk_ref *t = &p->traces[i];
        if ((t->table != SONDE_TABLE_CALL && t->table != SONDE_TABLE_SAMPLE && t->table != SONDE_TABLE_SWITCH) || t->lane >= p->lane_count)
            continue;
        struct sonde__alive *alive = &lives[t->lane];
        alive->from = least(alive->from, t->time_min);
        alive->to = most(alive->to, t->time_max);
        alive->known |= t->table != SONDE_TABLE_SWITCH;
    }
    for (uint32_t i = 0; i < p->lane_count && lives; i++)
        widen(&lives[i], &p->lanes[i], period_ns);
    return lives;
}
