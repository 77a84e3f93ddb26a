/* blame_thread.c - a thread's context as a function of time, constant piece by piece.
 *
 * docs/blame.md, "What a thread does". Inside an API call it is the call's own
 * stack. Between two calls each instant takes the nearest of what is known: a
 * sample, or one of the two calls, of which it can only be said that what their
 * stacks share was active. So a sample holds half the way to its neighbours,
 * and no further than two periods. Ways are measured in the thread's own time:
 * while it is off the processor its context does not change.
 *
 * What is known outside of the window, on both sides, is known here too, so
 * that the result does not depend on where windows end.
 */
#include "blame_thread.h"

enum { HOLD_PERIODS = 2 };

struct builder {
    const struct sonde_time_lane    *lane;
    const struct sonde__thread_rule *rule;
    const sonde__spans              *active; /* outside of calls */
    size_t                           at;     /* in `active` */
    uint32_t                         sample; /* first that may lie in the next gap */
    size_t                           idle;   /* first of rule->idle that may meet the next segment */
    sonde__segments                 *out;
};

/* ---- samples, with those around the window ------------------------------------------------ */

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
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

/* When it came back. A thread that never did has ended; where threads share a lane, the next one
 * shows that this is over. */
static uint64_t back_at(const struct sonde_time_lane *lane, uint32_t i)
{
    const struct sonde_row_switch *away = &lane->switches[i];
    uint64_t at_ns = UINT64_MAX;
    if (away->in_ns != UINT64_MAX)
        return away->in_ns;
    if (i + 1 < lane->switch_count)
        at_ns = lane->switches[i + 1].out_ns;
    const uint64_t call = next_call(lane, away->out_ns), sample = next_sample(lane, away->out_ns);
    at_ns = call < at_ns ? call : at_ns;
    return sample < at_ns ? sample : at_ns;
}

/* The first switch that ends after `at_ns`. */
static uint32_t switch_from(const struct sonde_time_lane *lane, uint64_t at_ns)
{
    uint32_t low = 0, high = lane->switch_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (back_at(lane, middle) <= at_ns)
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
        if (ran >= ns || back_at(lane, i) == UINT64_MAX)
            break;
        ns -= ran;
        at_ns = back_at(lane, i);
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
        const uint64_t ran = minus(at_ns, back_at(lane, i));
        if (ran >= ns)
            break;
        ns -= ran;
        at_ns = away->out_ns < at_ns ? away->out_ns : at_ns;
    }
    return minus(at_ns, ns);
}

static uint64_t ran_between(const struct sonde_time_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t ns = to_ns - from_ns;
    for (uint32_t i = switch_from(lane, from_ns); i < lane->switch_count && lane->switches[i].out_ns < to_ns; i++) {
        const struct sonde_row_switch *away = &lane->switches[i];
        const uint64_t out = away->out_ns > from_ns ? away->out_ns : from_ns;
        const uint64_t in = back_at(lane, i) < to_ns ? back_at(lane, i) : to_ns;
        ns = minus(ns, minus(in, out));
    }
    return ns;
}

/* Half the way from one instant to a later one. */
static uint64_t half_way(const struct sonde_time_lane *lane, uint64_t from_ns, uint64_t to_ns)
{
    return run_on(lane, from_ns, ran_between(lane, from_ns, to_ns) / 2);
}

/* ---- when it was active, outside of calls ------------------------------------------------- */

static int add_span(const struct sonde__thread_rule *rule, sonde__spans *spans, uint64_t from, uint64_t to)
{
    from = from > rule->from_ns ? from : rule->from_ns;
    to = to < rule->to_ns ? to : rule->to_ns;
    if (spans->count && from <= spans->items[spans->count - 1].to) {
        struct sonde__span *last = &spans->items[spans->count - 1];
        last->to = to > last->to ? to : last->to;
        return 0;
    }
    return from < to ? sonde_vector_push(spans, (struct sonde__span){from, to}) : 0;
}

/* Between the first and the last call. */
static int active_by_calls(const struct sonde_time_lane *lane, const struct sonde__thread_rule *rule, sonde__spans *out)
{
    uint64_t from = rule->from_ns, to = rule->to_ns;
    if (!lane->call_before) {
        if (!lane->call_count)
            return 0;
        from = lane->calls[0].enter_ns;
    }
    if (!lane->call_after) {
        if (!lane->call_count)
            return 0;
        to = lane->calls[lane->call_count - 1].leave_ns;
    }
    return add_span(rule, out, from, to);
}

/* Within one period of a sample. */
static int active_by_samples(const struct sonde_time_lane *lane, const struct sonde__thread_rule *rule, sonde__spans *out)
{
    const struct sonde_row_sample *sample;
    int rc = 0;
    for (uint32_t i = 0; (sample = sonde_time_sample(lane, i)) && !rc; i++)
        rc = add_span(rule, out, minus(sample->time_ns, rule->period_ns), plus(sample->time_ns, rule->period_ns));
    return rc;
}

/* While it lives, but for the times that it slept. Who is preempted would go on. */
static int active_by_switches(const struct sonde_time_lane *lane, const struct sonde__thread_rule *rule, sonde__spans *out)
{
    uint64_t at = rule->alive_from;
    int rc = 0;
    for (uint32_t i = 0; i < lane->switch_count && !rc; i++) {
        const struct sonde_row_switch *away = &lane->switches[i];
        if (away->flags & SONDE_SWITCH_PREEMPTED && away->in_ns != UINT64_MAX)
            continue;
        if (away->out_ns > at)
            rc = add_span(rule, out, at, away->out_ns);
        const uint64_t in_ns = back_at(lane, i);
        at = in_ns > at ? in_ns : at;
    }
    return rc || at >= rule->alive_to ? rc : add_span(rule, out, at, rule->alive_to);
}

static int find_active(const struct sonde_time_lane *lane, const struct sonde__thread_rule *rule, sonde__spans *out)
{
    out->count = 0;
    switch (rule->rule) {
    case SONDE_BLAME_BY_SWITCHES: return active_by_switches(lane, rule, out);
    case SONDE_BLAME_BY_SAMPLES: return active_by_samples(lane, rule, out);
    default: return active_by_calls(lane, rule, out);
    }
}

/* ---- contexts --------------------------------------------------------------------------------- */

/* Where it meets no time that is asked for, the segment before it goes on: that is one less. */
static inline int add_segment(struct builder *b, uint64_t from, uint64_t to, const struct sonde__segment *segment)
{
    from = from > b->rule->from_ns ? from : b->rule->from_ns;
    to = to < b->rule->to_ns ? to : b->rule->to_ns;
    if (from >= to)
        return 0;
    if (b->rule->idle) {
        while (b->idle < b->rule->idle->count && b->rule->idle->items[b->idle].to <= from)
            b->idle++;
        if (b->idle == b->rule->idle->count || b->rule->idle->items[b->idle].from >= to) {
            struct sonde__segment *last = b->out->count ? &b->out->items[b->out->count - 1] : NULL;
            if (last && last->to == from)
                last->to = to;
            return 0;
        }
    }
    if (sonde_vector_push(b->out, *segment))
        return SONDE_ENOMEM;
    b->out->items[b->out->count - 1].from = from;
    b->out->items[b->out->count - 1].to = to;
    return 0;
}

/* The parts of [from, to), which lies outside of calls, in which the thread was active. */
static int add_active(struct builder *b, uint64_t from, uint64_t to, const struct sonde__segment *segment)
{
    int rc = 0;
    while (b->at < b->active->count && b->active->items[b->at].to <= from)
        b->at++;
    for (size_t i = b->at; i < b->active->count && b->active->items[i].from < to && !rc; i++) {
        const struct sonde__span *span = &b->active->items[i];
        rc = add_segment(b, from > span->from ? from : span->from, to < span->to ? to : span->to, segment);
    }
    return rc;
}

/* From the end of `before` to the entry of `after`; NULL: there is none. */
static int add_gap(struct builder *b, const struct sonde_row_call *before, const struct sonde_row_call *after)
{
    const uint64_t hold = HOLD_PERIODS * b->rule->period_ns;
    const uint64_t begin = before ? before->leave_ns : 0, end = after ? after->enter_ns : UINT64_MAX;
    const struct sonde__segment inferred = {
        .node = before ? before->node : 0, .after = after ? after->node : 0, .edge = !before || !after,
        .source = b->rule->known ? SONDE_BLAME_INFERRED : SONDE_BLAME_UNCOVERED};
    const struct sonde_row_sample *sample, *next;
    uint64_t at = begin, left = begin;
    bool bounded = before != NULL; /* something is known at `left` */
    int rc = 0;

    if (begin >= end || begin >= b->rule->to_ns || end <= b->rule->from_ns)
        return 0;
    while ((sample = sonde_time_sample(b->lane, b->sample)) && sample->time_ns < begin)
        b->sample++;
    for (; sample && sample->time_ns <= end && !rc; sample = next, b->sample++) {
        const uint64_t now = sample->time_ns;
        next = sonde_time_sample(b->lane, b->sample + 1);
        const uint64_t reach = run_back(b->lane, now, hold), half = bounded ? half_way(b->lane, left, now) : 0;
        const uint64_t from = half > reach ? half : reach;
        const bool followed = next && next->time_ns <= end;
        uint64_t to = run_on(b->lane, now, hold);
        if (followed || after) {
            const uint64_t middle = half_way(b->lane, now, followed ? next->time_ns : end);
            to = middle < to ? middle : to;
        }
        if (from > at)
            rc = add_active(b, at, from, &inferred);
        if (!rc)
            rc = add_active(b, from, to, &(struct sonde__segment){.node = sample->node, .source = SONDE_BLAME_SAMPLED});
        at = to;
        left = now;
        bounded = true;
    }
    return rc || at >= end ? rc : add_active(b, at, end, &inferred);
}

int sonde__thread_segments(const struct sonde_time_lane *lane, const struct sonde__thread_rule *rule,
                           sonde__spans *scratch, sonde__segments *out)
{
    struct builder b = {.lane = lane, .rule = rule, .active = scratch, .out = out};
    const struct sonde_row_call *before = lane->call_before;
    uint32_t wait = 0;
    int rc = find_active(lane, rule, scratch);

    for (uint32_t i = 0; i < lane->call_count && !rc; i++) {
        const struct sonde_row_call *call = &lane->calls[i];
        bool waits = false;
        if (before && call->leave_ns < before->leave_ns) /* within another: damage */
            continue;
        for (; wait < lane->wait_count && lane->waits[wait].enter_ns <= call->enter_ns; wait++)
            waits |= lane->waits[wait].enter_ns == call->enter_ns && !lane->waits[wait].waiter;
        rc = add_gap(&b, before, call);
        const uint64_t from = before && before->leave_ns > call->enter_ns ? before->leave_ns : call->enter_ns;
        if (!rc)
            rc = add_segment(&b, from, call->leave_ns,
                             &(struct sonde__segment){.node = call->node, .source = SONDE_BLAME_EXACT, .waits = waits});
        before = call;
    }
    return rc ? rc : add_gap(&b, before, lane->call_after);
}
