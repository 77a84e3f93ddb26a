/* thread.c - a thread's context as a function of time, constant piece by piece.
 *
 * docs/blame.md, "What a thread does". Inside an API call it is the call's own
 * stack. Between two calls, and the waits in functions of the C library, in which it is not
 * active, it is what gaps.h says: a sample's, or left to the pool of the gap.
 *
 * What is known outside of the window, on both sides, is known here too, so
 * that the result does not depend on where windows end.
 */
#include "thread.h"

struct builder {
    const struct sonde_trace_lane *lane;
    const struct sonde__thread_rule *rule;
    struct sonde__thread_scratch *scratch;
    struct sonde__gathered *gathered;
    size_t at;                               /* in scratch->active, which is outside of calls */
    uint32_t sample;                         /* first that may lie in the next gap */
    size_t idle;                             /* first of rule->idle that may meet the next segment */
    uint32_t wait;                           /* first of the lane's that may be of the next call */
    sonde__segments *out, *sleeps;
};

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
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
static int active_by_calls(const struct sonde_trace_lane *lane, const struct sonde__thread_rule *rule, sonde__spans *out)
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
static int active_by_samples(const struct sonde_trace_lane *lane, const struct sonde__thread_rule *rule, sonde__spans *out)
{
    const struct sonde_row_sample *sample;
    int rc = 0;
    for (uint32_t i = 0; (sample = sonde_trace_sample(lane, i)) && !rc; i++)
        rc = add_span(rule, out, minus(sample->time_ns, rule->period_ns), plus(sample->time_ns, rule->period_ns));
    return rc;
}

/* While it lives, but for the times that it slept. Who is preempted would go on. */
static int active_by_switches(const struct sonde_trace_lane *lane, const struct sonde__thread_rule *rule, sonde__spans *out)
{
    uint64_t at = rule->alive_from;
    int rc = 0;
    for (uint32_t i = 0; i < lane->switch_count && !rc; i++) {
        const struct sonde_row_switch *away = &lane->switches[i];
        if (away->flags & SONDE_SWITCH_PREEMPTED && away->in_ns != UINT64_MAX)
            continue;
        if (away->out_ns > at)
            rc = add_span(rule, out, at, away->out_ns);
        const uint64_t in_ns = sonde__time_back(lane, i);
        at = in_ns > at ? in_ns : at;
    }
    return rc || at >= rule->alive_to ? rc : add_span(rule, out, at, rule->alive_to);
}

static int find_active(const struct sonde_trace_lane *lane, const struct sonde__thread_rule *rule, sonde__spans *out)
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
    while (b->at < b->scratch->active.count && b->scratch->active.items[b->at].to <= from)
        b->at++;
    for (size_t i = b->at; i < b->scratch->active.count && b->scratch->active.items[i].from < to && !rc; i++) {
        const struct sonde__span *span = &b->scratch->active.items[i];
        rc = add_segment(b, from > span->from ? from : span->from, to < span->to ? to : span->to, segment);
    }
    return rc;
}

/* What it slept in with a name: it went on to call the runtime. */
static int add_sleep(struct builder *b, const struct sonde__stop *stop)
{
    const uint64_t from = stop->row->enter_ns > b->rule->from_ns ? stop->row->enter_ns : b->rule->from_ns;
    const uint64_t to = stop->row->leave_ns < b->rule->to_ns ? stop->row->leave_ns : b->rule->to_ns;
    return from >= to || !stop->next_ns
               ? 0
               : sonde_vector_push(b->sleeps,
                                   (struct sonde__segment){
                                       .from = from,
                                       .to = to,
                                       .node = stop->row->node,
                                       .source = SONDE_BLAME_EXACT,
                                       .next_ns = stop->next_ns,
                                   });
}

/* Pieces of a gap in which there are samples, or may be. */
static int add_pieces(struct builder *b, const struct sonde__gap *gap, const struct sonde__segment *left)
{
    struct sonde__thread_scratch *scratch = b->scratch;
    uint32_t pair = 0;
    int rc = sonde__gap_pieces(gap, &b->sample, &scratch->pieces, &scratch->samples);
    rc = rc ? rc : sonde__gathered_pair(b->gathered, sonde__pair_of(b->lane->lane, gap->before, gap->after), &pair);
    rc = rc ? rc : sonde__gathered_add(b->gathered, pair, &scratch->samples);
    for (size_t i = 0; i < scratch->pieces.count && !rc; i++) {
        const struct sonde__piece *piece = &scratch->pieces.items[i];
        const struct sonde__segment sampled = {.node = piece->node, .after = pair, .source = SONDE_BLAME_SAMPLED};
        rc = add_active(b, piece->from, piece->to, piece->sampled ? &sampled : left);
    }
    return rc;
}

/* From the end of `before` to the entry of `after`; NULL: there is none. */
static int add_gap(struct builder *b, const struct sonde_row_call *before, const struct sonde_row_call *after)
{
    const uint64_t begin = before ? before->leave_ns : 0, end = after ? after->enter_ns : UINT64_MAX;
    const struct sonde__gap gap = {
        .lane = b->lane,
        .before = before,
        .after = after,
        .from_ns = b->rule->from_ns,
        .to_ns = b->rule->to_ns,
        .period_ns = b->rule->period_ns,
    };
    const struct sonde__pair pair = sonde__pair_of(b->lane->lane, before, after);
    const struct sonde__segment left = {
        .node = pair.before, .after = pair.after, .source = b->rule->known ? SONDE_BLAME_INFERRED : SONDE_BLAME_UNCOVERED};
    if (begin >= end || begin >= b->rule->to_ns || end <= b->rule->from_ns)
        return 0;
    return sonde__gap_is_sampled(&gap, &b->sample) ? add_pieces(b, &gap, &left) : add_active(b, begin, end, &left);
}

/* The call that it is in, from where the one before has ended. */
static int add_call(struct builder *b, const struct sonde_row_call *before, const struct sonde_row_call *call)
{
    const struct sonde_trace_lane *lane = b->lane;
    const uint64_t from = before && before->leave_ns > call->enter_ns ? before->leave_ns : call->enter_ns;
    bool waits = false;
    for (; b->wait < lane->wait_count && lane->waits[b->wait].enter_ns <= call->enter_ns; b->wait++)
        waits |= lane->waits[b->wait].enter_ns == call->enter_ns && !lane->waits[b->wait].waiter;
    return add_segment(b, from, call->leave_ns,
                       &(struct sonde__segment){.node = call->node, .source = SONDE_BLAME_EXACT, .waits = waits});
}

int sonde__thread_segments(const struct sonde_trace_lane *lane, const struct sonde__thread_rule *rule,
                           struct sonde__thread_scratch *scratch, struct sonde__gathered *gathered, sonde__segments *out)
{
    struct builder b = {.lane = lane, .rule = rule, .scratch = scratch, .gathered = gathered, .out = out, .sleeps = &scratch->sleeps};
    struct sonde__stops stops;
    struct sonde__stop stop;
    sonde__stops_begin(&stops, lane);
    scratch->sleeps.count = 0;
    const struct sonde_row_call *before = stops.before;
    int rc = find_active(lane, rule, &scratch->active);

    while (!rc && sonde__stops_next(&stops, &stop)) {
        if (before && stop.row->leave_ns < before->leave_ns) /* within another: damage */
            continue;
        rc = add_gap(&b, before, stop.row);
        rc = rc ? rc : (stop.slept ? add_sleep(&b, &stop) : add_call(&b, before, stop.row));
        before = stop.row;
    }
    return rc ? rc : add_gap(&b, before, stops.after);
}

void sonde__thread_scratch_fini(struct sonde__thread_scratch *scratch)
{
    sonde_vector_fini(&scratch->active);
    sonde_vector_fini(&scratch->sleeps);
    sonde_vector_fini(&scratch->pieces);
    sonde_vector_fini(&scratch->samples);
}
