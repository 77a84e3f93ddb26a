/* cause.c - which of all that had to finish first finished last. docs/critical-path.md, "Dependencies". */
#include "graph.h"

#include <stdlib.h>

uint64_t sonde__cp_enqueued(const struct sonde__cp_graph *g, uint32_t op)
{
    return g->ops[op].call ? g->calls[g->ops[op].call - 1].enter : 0;
}

/* Its start may have been moved forwards, to agree with its call and with the one before it. */
link sonde__cp_op_of_row(const struct sonde__cp_graph *g, uint32_t lane, const struct sonde_row_op *row)
{
    const struct sonde__cp_lane *q = &g->lanes[lane];
    uint32_t low = q->first, high = q->first + q->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (g->ops[middle].start < row->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < q->first + q->count && g->ops[low].start <= row->start_ns + 2 * g->bound; low++) {
        const struct sonde__cp_row *known = &g->op_rows[low];
        if (known->start == row->start_ns && known->end == row->end_ns && known->correlation == row->correlation)
            return low + 1;
    }
    return 0;
}

link sonde__cp_called_back(const struct sonde__cp_graph *g, uint32_t thread, uint64_t from, uint64_t at)
{
    link best = 0;
    for (uint32_t i = 0; i < g->lane_count && g->threads[thread].calls_back; i++) {
        const link op = sonde__cp_latest(g, i, UINT64_MAX, at);
        if (op && g->ops[op - 1].end > from && (!best || g->ops[op - 1].end > g->ops[best - 1].end))
            best = op;
    }
    return best;
}

link sonde__cp_call_at(const struct sonde__cp_graph *g, uint32_t thread, uint64_t at)
{
    const uint32_t *listed = g->listed + g->threads[thread].first_listed;
    uint32_t low = 0, high = g->threads[thread].calls;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (g->calls[listed[middle]].enter <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? listed[low - 1] + 1 : 0;
}

uint32_t sonde__cp_waits(const struct sonde__cp_wait *waits, uint32_t count, uint32_t target, uint32_t *first)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (waits[middle].target < target)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    while (low < count && waits[low].target == target)
        low++;
    return low;
}

uint32_t sonde__cp_ended(const struct sonde__cp_graph *g, uint32_t lane, uint64_t limit)
{
    const struct sonde__cp_lane *q = &g->lanes[lane];
    uint32_t low = 0, high = q->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (g->ops[sonde__cp_nth_to_end(q, middle)].end <= limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

link sonde__cp_latest(const struct sonde__cp_graph *g, uint32_t lane, uint64_t until, uint64_t limit)
{
    const struct sonde__cp_lane *q = &g->lanes[lane];
    uint32_t ended = sonde__cp_ended(g, lane, limit);
    while (ended > 0 && sonde__cp_enqueued(g, sonde__cp_nth_to_end(q, ended - 1)) >= until)
        ended--;
    return ended ? sonde__cp_nth_to_end(q, ended - 1) + 1 : 0;
}

bool sonde__cp_in_step(const struct sonde__cp_graph *g, uint32_t lane, uint32_t other)
{
    const struct sonde__cp_lane *a = &g->lanes[lane], *b = &g->lanes[other];
    return lane != other && a->context == b->context && (a->legacy || b->legacy) && !a->non_blocking && !b->non_blocking;
}

uint32_t sonde__cp_default_lanes(const struct sonde__cp_graph *g, uint32_t lane, uint32_t *first)
{
    const struct sonde__cp_lane *q = &g->lanes[lane];
    *first = q->legacy ? 0 : q->default_lane - 1;
    return q->legacy ? g->lane_count : (q->default_lane ? q->default_lane : *first);
}

uint32_t sonde__cp_covered(const struct sonde__cp_graph *g, const struct sonde__cp_wait *w, uint32_t *first)
{
    const bool one = w->what == CP_LANE && !g->lanes[w->id].legacy;
    *first = one ? w->id : 0;
    return one ? w->id + 1 : g->lane_count;
}

bool sonde__cp_covers(const struct sonde__cp_graph *g, const struct sonde__cp_wait *w, uint32_t lane)
{
    if (w->what == CP_LANE) /* the legacy default stream stands for those that go with it */
        return lane == w->id || (g->lanes[w->id].legacy && sonde__cp_in_step(g, w->id, lane));
    return w->what == CP_PROCESS || g->lanes[lane].device == w->id;
}

/* Keep the later of `best` and `op`, if it can have been waited for by `at`. */
static void offer(const struct sonde__cp_graph *g, link op, uint64_t at, bool inferred, struct sonde__cp_cause *best)
{
    if (!op || g->ops[op - 1].end > at + g->bound)
        return;
    uint64_t time = g->ops[op - 1].end < at ? g->ops[op - 1].end : at;
    if (best->kind == CP_NOTHING || time > best->time)
        *best = (struct sonde__cp_cause){CP_OPERATION, op - 1, time, inferred};
}

static void offer_wait(const struct sonde__cp_graph *g, const struct sonde__cp_wait *w, uint64_t at,
                       struct sonde__cp_cause *best)
{
    if (w->what == CP_OP) {
        offer(g, w->id + 1, at, w->inferred, best);
        return;
    }
    uint32_t i, end = sonde__cp_covered(g, w, &i);
    for (; i < end; i++)
        if (sonde__cp_covers(g, w, i))
            offer(g, sonde__cp_latest(g, i, w->until, at + g->bound), at, w->inferred, best);
}

/* The same of a call that completed a user event. */
static void offer_set(const struct sonde__cp_graph *g, const struct sonde__cp_wait *w, uint64_t at, struct sonde__cp_cause *best)
{
    const struct sonde__cp_call *call = &g->calls[w->id];
    if (call->enter <= at && (best->kind == CP_NOTHING || call->leave > best->time))
        *best = (struct sonde__cp_cause){CP_CALL, w->id, call->leave < at ? call->leave : at, false};
}

bool sonde__cp_began_earlier(const struct sonde__cp_graph *g, uint32_t op, uint32_t other)
{
    const struct sonde__cp_op *a = &g->ops[op], *b = &g->ops[other];
    if (a->start != b->start)
        return a->start < b->start;
    return a->end != b->end ? a->end < b->end : op < other;
}

static void keep_earlier(const struct sonde__cp_graph *g, uint32_t op, const struct sonde__cp_cause *one,
                         struct sonde__cp_cause *best)
{
    if (one->kind && sonde__cp_began_earlier(g, one->id, op) && (best->kind == CP_NOTHING || one->time > best->time))
        *best = *one;
}

/* A call that left before the start had submitted by then. One that waits may
 * have been waiting for what came before; all that is certain is that it did
 * not submit before it was entered. One that does not wait submitted last. */
uint64_t sonde__cp_submitted(const struct sonde__cp_graph *g, uint32_t index)
{
    const struct sonde__cp_op *op = &g->ops[index];
    const struct sonde__cp_call *call = &g->calls[op->call - 1];
    return call->leave <= op->start ? call->leave : (call->waits ? call->enter : op->start);
}

struct sonde__cp_cause sonde__cp_op_cause(const struct sonde__cp_graph *g, uint32_t index)
{
    const struct sonde__cp_op *op = &g->ops[index];
    struct sonde__cp_cause best = {.kind = CP_NOTHING};
    offer(g, op->before, op->start, false, &best);
    if (op->waits) {
        uint32_t at, end = sonde__cp_waits(g->op_waits, g->op_wait_count, index, &at);
        for (; at < end; at++) {
            struct sonde__cp_cause one = {.kind = CP_NOTHING};
            if (g->op_waits[at].what == CP_SET)
                offer_set(g, &g->op_waits[at], op->start, &best);
            if (g->op_waits[at].what == CP_SET || g->op_waits[at].what == CP_MEETING)
                continue;
            offer_wait(g, &g->op_waits[at], op->start, &one);
            keep_earlier(g, index, &one, &best);
        }
    }
    uint32_t lane, last = sonde__cp_default_lanes(g, op->lane, &lane);
    for (; lane < last; lane++) {
        struct sonde__cp_cause one = {.kind = CP_NOTHING};
        if (sonde__cp_in_step(g, op->lane, lane))
            offer(g, sonde__cp_latest(g, lane, sonde__cp_enqueued(g, index), op->start + g->bound), op->start, false, &one);
        keep_earlier(g, index, &one, &best);
    }
    if (!op->call)
        return best;
    const struct sonde__cp_call *call = &g->calls[op->call - 1];
    const uint64_t submitted = sonde__cp_submitted(g, index);
    if (best.kind == CP_NOTHING || submitted > best.time)
        best = (struct sonde__cp_cause){CP_CALL, op->call - 1, call->leave <= op->start ? call->leave : op->start, false};
    return best;
}

static void offer_meeting(const struct sonde__cp_wait *w, uint64_t from, uint64_t at, struct sonde__cp_cause *best)
{
    if (w->until > from && w->until <= at && (best->kind == CP_NOTHING || w->until > best->time))
        *best = (struct sonde__cp_cause){CP_ELSEWHERE, w->id, w->until, false};
}

struct sonde__cp_cause sonde__cp_op_met(const struct sonde__cp_graph *g, uint32_t index, uint64_t at)
{
    struct sonde__cp_cause best = {.kind = CP_NOTHING};
    uint32_t i, end = g->ops[index].waits ? sonde__cp_waits(g->op_waits, g->op_wait_count, index, &i) : 0;
    for (i = end ? i : 0; i < end; i++)
        if (g->op_waits[i].what == CP_MEETING)
            offer_meeting(&g->op_waits[i], g->ops[index].start, at, &best);
    return best;
}

struct sonde__cp_cause sonde__cp_call_cause(const struct sonde__cp_graph *g, uint32_t index, uint64_t at)
{
    const struct sonde__cp_call *call = &g->calls[index];
    struct sonde__cp_cause best = {.kind = CP_NOTHING};
    if (call->waits) {
        uint32_t i, end = sonde__cp_waits(g->call_waits, g->call_wait_count, index, &i);
        for (; i < end; i++) {
            struct sonde__cp_cause one = {.kind = CP_NOTHING};
            if (g->call_waits[i].what == CP_SET) {
                offer_set(g, &g->call_waits[i], at, &one);
                if (one.kind && g->calls[one.id].thread != call->thread && one.time > call->enter &&
                    (best.kind == CP_NOTHING || one.time > best.time))
                    best = one;
                continue;
            }
            if (g->call_waits[i].what == CP_MEETING) {
                offer_meeting(&g->call_waits[i], call->enter, at, &best);
                continue;
            }
            offer_wait(g, &g->call_waits[i], at, &one);
            /* Its own operation, without length, must not lead back here. */
            bool earlier = one.kind && (g->ops[one.id].start < at ||
                                        (g->ops[one.id].start == at && g->ops[one.id].call != index + 1));
            if (earlier && one.time > call->enter && (best.kind == CP_NOTHING || one.time > best.time))
                best = one;
        }
    }
    return best;
}
