/* deciding.c - see deciding.h: cause.c's answer for each step of a graph, and the same the other way round.
 *
 * Steps are numbered: calls, then operations, in the order of the graph. A wait has its waiter's number.
 */
#include "deciding.h"

#include <stdlib.h>

#include "graph.h"

struct sonde_deciding {
    struct sonde_recorded recorded;
    struct sonde__cp_graph g;
    uint32_t *index_of;      /* [lane id]: of its thread or queue, plus one */
    uint32_t *near;          /* [lane id]: place behind what was asked for last: of its operations, or of its calls here */
    struct deciding_call {   /* those that waited, or that ended waits; by thread, then entry */
        uint64_t enter;
        uint32_t step;
    } *calls;
    uint32_t *calls_first;   /* [thread]; one more is their end */
    link *cause;             /* [step]: the step that decided */
    uint32_t *first;         /* [step]: its first of `waits`; one more is their end */
    uint32_t *waits;         /* numbers */
};

/* By its row: times of the graph may have been moved. */
static uint64_t begin_of(const struct sonde__cp_graph *g, uint32_t step)
{
    return step < g->call_count ? g->calls[step].enter : g->op_rows[step - g->call_count].start;
}

/* An operation whose row begins no later than what it waited for (by no more than the clocks' error) has no wait to show. */
static link cause_of_op(const struct sonde__cp_graph *g, uint32_t op)
{
    const struct sonde__cp_cause cause = sonde__cp_op_cause(g, op);
    const bool submission = cause.kind == CP_CALL && cause.id + 1 == g->ops[op].call;
    const uint32_t step = cause.id + (cause.kind == CP_OPERATION ? g->call_count : 0);
    if ((cause.kind != CP_OPERATION && cause.kind != CP_CALL) || submission || begin_of(g, step) >= g->op_rows[op].start)
        return 0;
    return step + 1;
}

static link cause_of_call(const struct sonde__cp_graph *g, uint32_t call)
{
    const struct sonde__cp_cause cause = sonde__cp_call_cause(g, call, g->calls[call].leave);
    if (cause.kind != CP_OPERATION && cause.kind != CP_CALL)
        return 0;
    return cause.id + 1 + (cause.kind == CP_OPERATION ? g->call_count : 0);
}

static int find_causes(struct sonde_deciding *d)
{
    const struct sonde__cp_graph *g = &d->g;
    const size_t steps = (size_t)g->call_count + g->op_count;
    uint32_t kept = 0;
    d->cause = malloc((steps + 1) * sizeof *d->cause);
    d->first = calloc(steps + 2, sizeof *d->first);
    d->waits = malloc((steps + 1) * sizeof *d->waits);
    if (!d->cause || !d->first || !d->waits || steps >= UINT32_MAX)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < steps; i++) {
        d->cause[i] = i < g->call_count ? cause_of_call(g, i) : cause_of_op(g, i - g->call_count);
        if (d->cause[i])
            d->first[d->cause[i] - 1]++;
    }
    for (size_t i = 0; i <= steps; i++) { /* ends of the parts, from which they are filled backwards */
        kept += d->first[i];
        d->first[i] = kept;
    }
    for (size_t i = steps; i-- > 0;)
        if (d->cause[i])
            d->waits[--d->first[d->cause[i] - 1]] = (uint32_t)i + 1;
    return 0;
}

static bool takes_part(const struct sonde_deciding *d, uint32_t step)
{
    return d->cause[step] || d->first[step + 1] > d->first[step];
}

static int list_calls(struct sonde_deciding *d)
{
    const struct sonde__cp_graph *g = &d->g;
    uint32_t kept = 0;
    d->calls_first = calloc(g->thread_count + 2, sizeof *d->calls_first);
    for (uint32_t i = 0; i < g->call_count && d->calls_first; i++)
        d->calls_first[g->calls[i].thread] += takes_part(d, i);
    for (uint32_t t = 0; t <= g->thread_count && d->calls_first; t++) {
        kept += d->calls_first[t];
        d->calls_first[t] = kept;
    }
    d->calls = malloc((kept + 1) * sizeof *d->calls);
    if (!d->calls_first || !d->calls)
        return SONDE_ENOMEM;
    for (uint32_t i = g->call_count; i-- > 0;)
        if (takes_part(d, i))
            d->calls[--d->calls_first[g->calls[i].thread]] = (struct deciding_call){g->calls[i].enter, i};
    return 0;
}

static int number_lanes(struct sonde_deciding *d)
{
    const struct sonde__cp_graph *g = &d->g;
    d->index_of = calloc(g->process->lane_count + 1, sizeof *d->index_of);
    d->near = calloc(g->process->lane_count + 1, sizeof *d->near);
    if (!d->index_of || !d->near)
        return SONDE_ENOMEM;
    for (uint32_t i = 0; i < g->lane_count; i++)
        d->index_of[g->lanes[i].lane] = i + 1;
    for (uint32_t i = 0; i < g->thread_count; i++)
        d->index_of[g->threads[i].lane] = i + 1;
    return 0;
}

int sonde_deciding_find(const struct sonde_measurement *m, uint32_t process, uint64_t max_rows, struct sonde_progress *progress,
                        struct sonde_deciding **out)
{
    struct sonde_deciding *d = *out = calloc(1, sizeof *d);
    if (!d)
        return SONDE_ENOMEM;
    d->g.for_rows = true;
    int rc = sonde_recorded_compute(m, &m->processes[process], &d->recorded);
    rc = rc ? rc : sonde__cp_load(&m->processes[process], &d->recorded, max_rows ? max_rows : SONDE_CRITICAL_ROWS, progress, &d->g);
    rc = rc ? rc : number_lanes(d);
    rc = rc ? rc : find_causes(d);
    rc = rc ? rc : list_calls(d);
    if (rc) {
        sonde_deciding_destroy(d);
        *out = NULL;
    }
    return rc;
}

void sonde_deciding_destroy(struct sonde_deciding *d)
{
    if (!d)
        return;
    sonde__cp_fini(&d->g);
    sonde_recorded_fini(&d->recorded);
    free(d->index_of);
    free(d->near);
    free(d->calls);
    free(d->calls_first);
    free(d->cause);
    free(d->first);
    free(d->waits);
    free(d);
}

static struct sonde_decided tell(const struct sonde_deciding *d, uint32_t step)
{
    return (struct sonde_decided){
        .wait = d->cause[step] ? step + 1 : 0,
        .ended = d->waits + d->first[step],
        .ended_count = d->first[step + 1] - d->first[step],
    };
}

struct sonde_decided sonde_deciding_of_op(struct sonde_deciding *d, uint32_t lane, const struct sonde_row_op *row)
{
    const struct sonde__cp_graph *g = &d->g;
    const uint32_t index = lane < g->process->lane_count ? d->index_of[lane] : 0;
    if (!index || g->process->lanes[lane].kind != SONDE_LANE_KIND_QUEUE || !sonde_op_has_times(row->flags, row->start_ns, row->end_ns))
        return (struct sonde_decided){0};
    const struct sonde__cp_lane *q = &g->lanes[index - 1];
    const struct sonde__cp_row *next = d->near[lane] < q->count ? &g->op_rows[q->first + d->near[lane]] : NULL;
    const bool is_next = next && next->start == row->start_ns && next->end == row->end_ns && next->correlation == row->correlation;
    const link op = is_next ? q->first + d->near[lane] + 1 : sonde__cp_op_of_row(g, index - 1, row);
    if (!op)
        return (struct sonde_decided){0};
    d->near[lane] = op - q->first;
    return tell(d, g->call_count + op - 1);
}

struct sonde_decided sonde_deciding_of_call(struct sonde_deciding *d, uint32_t lane, uint64_t enter_ns)
{
    const struct sonde__cp_graph *g = &d->g;
    const uint32_t index = lane < g->process->lane_count ? d->index_of[lane] : 0;
    if (!index || g->process->lanes[lane].kind != SONDE_LANE_KIND_THREAD)
        return (struct sonde_decided){0};
    uint32_t low = d->calls_first[index - 1], high = d->calls_first[index];
    const uint32_t near = low + d->near[lane];
    if ((near == high || d->calls[near].enter >= enter_ns) && (near == low || d->calls[near - 1].enter < enter_ns))
        low = high = near;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (d->calls[middle].enter < enter_ns)
            low = middle + 1;
        else
            high = middle;
    }
    const bool known = low < d->calls_first[index] && d->calls[low].enter == enter_ns;
    d->near[lane] = low + known - d->calls_first[index - 1];
    return known ? tell(d, d->calls[low].step) : (struct sonde_decided){0};
}
