/* gaps.c - a gap between two API calls in pieces: where a sample tells the context, and where none does.
 *
 * docs/developers/sampling.md, "Between API calls". Ways are measured in the thread's own
 * time: while it is off the processor its context does not change. What a sample
 * stands for beyond a period lies before it: its thread was in the kernel, or
 * waited for a tick. Of the rest, between two
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

/* ---- stops ---------------------------------------------------------------------------------- */

static const struct sonde_row_call *as_call(const struct sonde_row_sleep *sleep, struct sonde_row_call *room)
{
    *room = (struct sonde_row_call){.enter_ns = sleep->from_ns, .leave_ns = sleep->to_ns, .node = sleep->node};
    return room;
}

void sonde__stops_begin(struct sonde__stops *s, const struct sonde_trace_lane *lane)
{
    const struct sonde_row_call *before = lane->call_before, *after = lane->call_after;
    *s = (struct sonde__stops){.lane = lane, .done = before ? before->leave_ns : 0};
    s->before = lane->sleep_before && (!before || before->leave_ns < lane->sleep_before->to_ns)
                    ? as_call(lane->sleep_before, &s->rooms[0])
                    : before;
    s->after = lane->sleep_after && (!after || after->enter_ns > lane->sleep_after->from_ns)
                   ? as_call(lane->sleep_after, &s->rooms[1])
                   : after;
}

bool sonde__stops_next(struct sonde__stops *s, struct sonde__stop *stop)
{
    const struct sonde_trace_lane *lane = s->lane;
    const struct sonde_row_call *call = s->call < lane->call_count ? &lane->calls[s->call] : lane->call_after;
    while (s->sleep < lane->sleep_count && lane->sleeps[s->sleep].to_ns <= s->done)
        s->sleep++;
    if (s->sleep < lane->sleep_count) { /* what of it lies in calls is theirs */
        const struct sonde_row_sleep *sleep = &lane->sleeps[s->sleep];
        struct sonde_row_call *room = &s->rooms[2 + s->odd];
        const uint64_t from = most(sleep->from_ns, s->done), limit = call ? call->enter_ns : UINT64_MAX;
        if (from < limit) {
            *room = (struct sonde_row_call){.enter_ns = from, .leave_ns = least(sleep->to_ns, limit), .node = sleep->node};
            *stop = (struct sonde__stop){room, true, call ? call->enter_ns : 0};
            s->done = room->leave_ns;
            s->odd = !s->odd;
            return true;
        }
    }
    if (s->call == lane->call_count)
        return false;
    *stop = (struct sonde__stop){call, false, 0};
    s->done = most(s->done, call->leave_ns);
    s->call++;
    return true;
}

/* ---- the thread's own time --------------------------------------------------------------- */

/* The first call entered, and the first sample taken, after `at_ns`; UINT64_MAX: none. */
static uint64_t next_call(const struct sonde_trace_lane *lane, uint64_t at_ns)
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
    return low < lane->call_count                                   ? lane->calls[low].enter_ns
           : lane->call_after && lane->call_after->enter_ns > at_ns ? lane->call_after->enter_ns
                                                                    : UINT64_MAX;
}

static uint64_t next_sample(const struct sonde_trace_lane *lane, uint64_t at_ns)
{
    uint32_t low = 0, high = lane->sample_count + (lane->sample_before != NULL) + (lane->sample_after != NULL);
    const uint32_t count = high;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sonde_trace_sample(lane, middle)->time_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? sonde_trace_sample(lane, low)->time_ns : UINT64_MAX;
}

/* A thread that never came back has ended; where threads share a lane, the next one shows that this is over. */
uint64_t sonde__time_back(const struct sonde_trace_lane *lane, uint32_t i)
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
static uint32_t switch_from(const struct sonde_trace_lane *lane, uint64_t at_ns)
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
static uint64_t run_on(const struct sonde_trace_lane *lane, uint64_t at_ns, uint64_t ns)
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
static uint64_t run_back(const struct sonde_trace_lane *lane, uint64_t at_ns, uint64_t ns)
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

static uint64_t ran_between(const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t ns = to_ns - from_ns;
    for (uint32_t i = switch_from(lane, from_ns); i < lane->switch_count && lane->switches[i].out_ns < to_ns; i++) {
        const struct sonde_row_switch *away = &lane->switches[i];
        ns = minus(ns, minus(least(sonde__time_back(lane, i), to_ns), most(away->out_ns, from_ns)));
    }
    return ns;
}

/* ---- what a sample holds --------------------------------------------------------------------- */

struct held { uint64_t from, to, open_ns; };

#define STANDS_MOST (1ull << 40) /* 18 minutes: more is damage */

/* What a sample stands for: a period and, if it came late, what its thread has used since that. Less than a period says
 * only that the timer went on where another thread's had stopped. */
static uint64_t stands_ns(const struct sonde__gap *gap, const struct sonde_row_sample *sample)
{
    return most(gap->period_ns, least(sample->cpu_ns, STANDS_MOST));
}

static uint64_t late_ns(const struct sonde__gap *gap, const struct sonde_row_sample *sample)
{
    return stands_ns(gap, sample) - gap->period_ns;
}

/* A neighbour in the gap; one that landed in a hook tells that there was one, and no context. */
static const struct sonde_row_sample *in_gap(const struct sonde_row_sample *sample, uint64_t begin, uint64_t end)
{
    return sample && sample->time_ns >= begin && sample->time_ns <= end ? sample : NULL;
}

/* In a hook, or as its thread ended: not where a timer found it. */
static bool is_no_place(const struct sonde_row_sample *sample)
{
    return sample->flags & (SONDE_SAMPLE_DEFERRED | SONDE_SAMPLE_REST);
}

/* Where one sample's time ends and the next one's begins. */
static uint64_t border(const struct sonde__gap *gap, const struct sonde_row_sample *earlier, const struct sonde_row_sample *later)
{
    const uint64_t ran_ns = ran_between(gap->lane, earlier->time_ns, later->time_ns);
    return run_on(gap->lane, earlier->time_ns, minus(ran_ns, late_ns(gap, later)) / 2);
}

static void hold_back(const struct sonde__gap *gap, const struct sonde_row_sample *sample, const struct sonde_row_sample *earlier,
                      uint64_t begin, struct held *held)
{
    const uint64_t at_ns = sample->time_ns, late = late_ns(gap, sample), own = gap->period_ns / 2 + late;
    if (earlier && !is_no_place(earlier)) {
        held->from = most(border(gap, earlier, sample), run_back(gap->lane, at_ns, HOLD_PERIODS * gap->period_ns + late));
        return;
    }
    begin = earlier ? earlier->time_ns : begin;
    held->from = most(run_back(gap->lane, at_ns, own), begin);
    if (earlier || gap->before)
        held->open_ns += minus(own, ran_between(gap->lane, begin, at_ns));
}

static void hold_on(const struct sonde__gap *gap, const struct sonde_row_sample *sample, const struct sonde_row_sample *later,
                    uint64_t end, struct held *held)
{
    const uint64_t at_ns = sample->time_ns, half = gap->period_ns / 2;
    if (later && !is_no_place(later)) {
        held->to = least(border(gap, sample, later), run_on(gap->lane, at_ns, HOLD_PERIODS * gap->period_ns));
        return;
    }
    end = later ? later->time_ns : end;
    held->to = least(run_on(gap->lane, at_ns, half), end);
    if (later || gap->after)
        held->open_ns += minus(half, ran_between(gap->lane, at_ns, end));
}

/* Of what it stands for all but the part beyond a period that lies in its own gap: the thread was there all that time. */
static uint64_t unsure_ns(const struct sonde__gap *gap, const struct sonde_row_sample *sample, uint64_t from_ns)
{
    return stands_ns(gap, sample) - least(late_ns(gap, sample), ran_between(gap->lane, from_ns, sample->time_ns));
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
    while ((sample = sonde_trace_sample(gap->lane, *first)) && sample->time_ns < begin)
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
        sample = sonde_trace_sample(gap->lane, *first);
    for (; sample && !rc; earlier = sample, sample = later) {
        later = in_gap(sonde_trace_sample(gap->lane, ++*first), begin, end);
        if (sample->flags & SONDE_SAMPLE_REST && sample->time_ns >= gap->from_ns && sample->time_ns < gap->to_ns)
            rc = sonde_vector_push(samples, (struct sonde__gap_sample){.node = sample->node, .cpu_ns = sample->cpu_ns, .rest = true});
        if (is_no_place(sample))
            continue;
        struct held held = {.open_ns = 0};
        hold_back(gap, sample, earlier, begin, &held);
        hold_on(gap, sample, later, end, &held);
        rc = add_piece(gap, pieces, at, held.from, 0, false);
        rc = rc ? rc : add_piece(gap, pieces, most(at, held.from), held.to, sample->node, true);
        at = most(at, held.to);
        if (sample->time_ns >= gap->to_ns) /* those that follow reach less far back */
            break;
        if (!rc && sample->time_ns >= gap->from_ns)
            rc = sonde_vector_push(samples,
                                   (struct sonde__gap_sample){
                                       .node = sample->node,
                                       .open_ns = held.open_ns,
                                       .stands_ns = stands_ns(gap, sample),
                                       .cpu_ns = sample->cpu_ns,
                                       .unsure_ns = unsure_ns(gap, sample, held.from),
                                   });
    }
    return rc ? rc : add_piece(gap, pieces, at, end, 0, false);
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
    const uint64_t period_ns = sonde__sample_period(p);
    struct sonde__alive *lives = calloc((size_t)p->lane_count + 1, sizeof *lives);
    struct sonde_trace_extent *known = sonde_trace_extents(p, SONDE_READ_CALLS | SONDE_READ_SAMPLES | SONDE_READ_SLEEPS);
    struct sonde_trace_extent *away = sonde_trace_extents(p, SONDE_READ_SWITCHES);
    for (uint32_t i = 0; i < p->lane_count && lives && known && away; i++) {
        lives[i] = (struct sonde__alive){least(known[i].from_ns, away[i].from_ns), most(known[i].to_ns, away[i].to_ns), known[i].rows > 0};
        widen(&lives[i], &p->lanes[i], period_ns);
    }
    if (!known || !away)
        free(lives), lives = NULL;
    free(known);
    free(away);
    return lives;
}
