/* host.c - what a thread's host code was: between two calls it has no stack of its own.
 *
 * Samples say it, and the pools of gaps like it (gaps.h); where there are none, it is
 * taken to be in the deepest function that the stacks of both calls share
 * (docs/critical-path.md, "Call paths").
 */
#include "analyze/samples/between.h"
#include "graph.h"

#include <stdlib.h>

/* ---- gaps --------------------------------------------------------------------------------------- */

/* A gap, as gaps.h wants it. */
struct gap {
    struct sonde_trace_lane lane;
    struct sonde_row_call before, after;
    struct sonde__gap of;
};

static struct sonde_row_call row_of(const struct sonde__cp_graph *g, link call)
{
    const struct sonde__cp_call *c = &g->calls[call - 1];
    return (struct sonde_row_call){.enter_ns = c->enter, .leave_ns = c->leave, .node = c->node};
}

/* How many of the thread's waits begin before `at`. */
static uint32_t waits_before(const struct sonde__cp_graph *g, const struct sonde__cp_thread *t, uint64_t at)
{
    uint32_t low = 0, high = t->waits;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (g->waits[t->first_wait + middle].enter_ns < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where the thread waits right before `at`: NULL, it does not. */
static const struct sonde_row_call *wait_at(const struct sonde__cp_graph *g, uint32_t thread, uint64_t at)
{
    const struct sonde__cp_thread *t = &g->threads[thread];
    const uint32_t count = waits_before(g, t, at);
    const struct sonde_row_call *last = count ? &g->waits[t->first_wait + count - 1] : NULL;
    return last && last->leave_ns >= at ? last : NULL;
}

/* The one right before `at`, after the call `before`. */
static void find_gap(const struct sonde__cp_book *b, uint32_t thread, link before, uint64_t at, struct gap *gap)
{
    const struct sonde__cp_graph *g = b->g;
    const struct sonde__cp_thread *t = &g->threads[thread];
    const link after = before ? g->calls[before - 1].after : t->first;
    const uint32_t wait = waits_before(g, t, at);
    *gap = (struct gap){.lane = {.lane = t->lane, .sample_count = t->samples, .switch_count = t->switches}};
    if (t->samples)
        gap->lane.samples = g->samples + t->first_sample;
    if (t->switches)
        gap->lane.switches = g->switches + t->first_switch;
    gap->of = (struct sonde__gap){.lane = &gap->lane, .to_ns = UINT64_MAX, .period_ns = sonde__sample_period(g->process)};
    if (before) {
        gap->before = row_of(g, before);
        gap->of.before = &gap->before;
    }
    if (after) {
        gap->after = row_of(g, after);
        gap->of.after = &gap->after;
    }
    if (wait && (!before || g->waits[t->first_wait + wait - 1].leave_ns > gap->before.leave_ns))
        gap->of.before = &g->waits[t->first_wait + wait - 1];
    if (wait < t->waits && (!after || g->waits[t->first_wait + wait].enter_ns < gap->after.enter_ns))
        gap->of.after = &g->waits[t->first_wait + wait];
}

/* Number of the thread's first sample at or after `at`. */
static uint32_t first_from(const struct sonde_trace_lane *lane, uint64_t at)
{
    uint32_t low = 0, high = lane->sample_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (lane->samples[middle].time_ns < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- pools -------------------------------------------------------------------------------------- */

/* Each gap that has samples, once. */
static int gather_thread(struct sonde__cp_book *b, uint32_t thread, struct sonde__gathered *gathered)
{
    const struct sonde__cp_graph *g = b->g;
    const struct sonde__cp_thread *t = &g->threads[thread];
    int rc = 0;
    for (uint32_t i = 0; i < t->samples && !rc;) {
        const uint64_t at = g->samples[t->first_sample + i].time_ns;
        const link before = sonde__cp_call_at(g, thread, at);
        uint32_t first = i, pair;
        struct gap gap;
        i++;
        if ((before && at < g->calls[before - 1].leave) || wait_at(g, thread, at + 1))
            continue;
        find_gap(b, thread, before, at + 1, &gap);
        rc = sonde__gap_pieces(&gap.of, &first, &b->pieces, &b->found);
        rc = rc ? rc : sonde__gathered_pair(gathered, sonde__pair_of(t->lane, gap.of.before, gap.of.after), &pair);
        rc = rc ? rc : sonde__gathered_add(gathered, pair, &b->found);
        i = first > i ? first : i;
    }
    return rc;
}

int sonde__cp_make_pools(struct sonde__cp_book *b)
{
    struct sonde__gathered gathered = {0}, *const parts[] = {&gathered};
    int rc = 0;
    for (uint32_t t = 0; t < b->g->thread_count && !rc; t++)
        rc = gather_thread(b, t, &gathered);
    rc = rc ? rc : sonde__pools_make(&b->pools, parts, 1, b->profile, b->process, NULL);
    sonde__gathered_fini(&gathered);
    b->share_things = malloc((b->pools.shares.count + 1) * sizeof *b->share_things);
    if (!b->share_things)
        rc = SONDE_ENOMEM;
    for (size_t i = 0; i < b->pools.shares.count && !rc; i++) {
        b->share_things[i] = sonde__cp_thing(b, SONDE_PATH_HOST, b->pools.shares.items[i].node);
        rc = b->out->rc;
    }
    return rc;
}

/* ---- contexts -------------------------------------------------------------------------------------- */

/* Of a gap: what the stacks around it share, and its pool. */
static uint64_t between(struct sonde__cp_book *b, const struct gap *gap)
{
    const bool edge = !gap->of.before || !gap->of.after; /* these are of one thread each */
    const struct sonde__pair pair = sonde__pair_of(gap->lane.lane, gap->of.before, gap->of.after);
    const uint32_t left = gap->of.before ? gap->of.before->node : 0, right = gap->of.after ? gap->of.after->node : 0;
    const uint32_t process = b->process;
    const uint64_t key = (uint64_t)left << 32 | right;
    uint64_t found;
    if (!sonde_map_get(&b->between, key, &found)) {
        found = left && right ? sonde__between_calls(b->profile, b->g->process, process, left, right)
                              : sonde__cp_outermost(b, sonde_profile_locate(b->profile, process, left ? left : right));
        found |= edge ? 0 : (uint64_t)sonde__pools_find(&b->pools, pair, b->profile, process) << 32;
        if (sonde_map_put(&b->between, key, found))
            b->out->rc = SONDE_ENOMEM;
    }
    return edge ? (uint32_t)found | (uint64_t)sonde__pools_find(&b->pools, pair, b->profile, process) << 32 : found;
}

uint32_t sonde__cp_between(struct sonde__cp_book *b, uint32_t thread, link before, uint64_t at)
{
    struct gap gap;
    find_gap(b, thread, before, at, &gap);
    return (uint32_t)between(b, &gap);
}

struct spans {
    uint64_t from, at; /* what is left: [from, at] */
    const struct sonde_recorded *recorded;
    sonde__cp_span_fn fn;
    void *user;
};

/* Down to `to`, in one category. */
static void tell(struct spans *s, uint64_t to, struct sonde__cp_span span)
{
    if (to >= s->at)
        return;
    span.from = to;
    span.to = s->at;
    s->fn(s->user, &span);
    s->at = to;
}

/* Recorded host code, and what came before the process was recorded. */
static void tell_recorded(struct spans *s, uint64_t to, struct sonde__cp_span span)
{
    span.category = SONDE_PATH_HOST;
    tell(s, to > s->recorded->start_ns ? to : s->recorded->start_ns, span);
    span.category = SONDE_PATH_START;
    tell(s, to, span);
}

static void down_to(struct spans *s, uint64_t to, struct sonde__cp_span span)
{
    const struct sonde_pause *pauses = s->recorded->pauses.items;
    size_t i = sonde_recorded_pause(s->recorded, s->at);
    to = to < s->from ? s->from : to;
    for (i += i < s->recorded->pauses.count; i-- > 0 && pauses[i].to_ns > to && s->at > to;) {
        tell_recorded(s, pauses[i].to_ns, span);
        span.category = SONDE_PATH_PAUSED;
        tell(s, pauses[i].from_ns > to ? pauses[i].from_ns : to, span);
    }
    tell_recorded(s, to, span);
}

/* What of [from, s->at] lies in the gap. */
static void tell_gap(struct sonde__cp_book *b, struct spans *s, struct gap *gap, uint64_t from)
{
    const uint64_t begin = gap->of.before ? gap->of.before->leave_ns : 0;
    const uint64_t around = between(b, gap);
    const uint32_t pool = (uint32_t)(around >> 32);
    gap->of.from_ns = from;
    gap->of.to_ns = s->at;
    uint32_t first = first_from(&gap->lane, from);
    first -= first && gap->lane.samples[first - 1].time_ns >= begin; /* it may reach over */
    if (sonde__gap_pieces(&gap->of, &first, &b->pieces, &b->found))
        b->out->rc = SONDE_ENOMEM;
    for (size_t i = b->pieces.count; i-- > 0 && !b->out->rc;) {
        const struct sonde__piece *piece = &b->pieces.items[i];
        if (piece->sampled)
            down_to(s, piece->from,
                    (struct sonde__cp_span){
                        .node = sonde_profile_locate(b->profile, b->process, piece->node),
                        .pool = pool,
                        .known = CP_SAMPLED,
                    });
        else
            down_to(s, piece->from,
                    (struct sonde__cp_span){
                        .node = (uint32_t)around,
                        .pool = pool,
                        .known = pool ? CP_POOLED : CP_INFERRED,
                    });
    }
}

void sonde__cp_host_spans(struct sonde__cp_book *b, uint32_t thread, link before, uint64_t from, uint64_t to,
                          sonde__cp_span_fn fn, void *user)
{
    struct spans s = {from, to, b->g->recorded, fn, user};
    while (s.at > from && !b->out->rc) {
        const struct sonde_row_call *wait = wait_at(b->g, thread, s.at);
        struct gap gap;
        if (wait) {
            s.at = wait->enter_ns > from ? wait->enter_ns : from;
            continue;
        }
        find_gap(b, thread, before, s.at, &gap);
        const bool goes_on = gap.of.before && gap.of.before != &gap.before && gap.of.before->leave_ns > from;
        tell_gap(b, &s, &gap, goes_on ? gap.of.before->leave_ns : from);
        if (!goes_on)
            break;
        s.at = gap.of.before->leave_ns;
    }
}
