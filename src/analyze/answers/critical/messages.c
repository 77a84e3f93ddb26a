/* messages.c - MPI and NCCL in the graph: calls of MPI are calls of their threads, and what they and NCCL's kernels waited for lies in other processes.
 *
 * A call of MPI that calls the GPU's runtime is in pieces around those calls, as calls of a thread follow each other.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/trace/trace.h"

/* ---- calls ------------------------------------------------------------------------------------ */

struct span {
    uint64_t enter, leave;
    uint32_t node, thread;
};

struct reading {
    const struct sonde__cp_loading *l;
    SONDE_VECTOR(struct span) spans; /* by thread, then entry; none lies in another */
    struct ahead {
        size_t next, end;
        uint64_t from;
    } *threads; /* [thread]: its next spans; what is before `from` is told */
    sonde__cp_loaded_calls pieces;
};

static int take(void *user, uint32_t lane, const void *batch)
{
    struct reading *r = user;
    const struct sonde_row_message *row = batch;
    const uint32_t thread = r->l->thread_of[lane];
    if (!thread || row->leave_ns <= row->enter_ns || row->enter_ns < r->l->g->from)
        return 0;
    return sonde_vector_push(&r->spans, (struct span){row->enter_ns, row->leave_ns, row->node, thread - 1});
}

/* Of those that begin together the longest comes first. */
static int by_thread(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->enter != b->enter)
        return a->enter < b->enter ? -1 : 1;
    return a->leave > b->leave ? -1 : a->leave < b->leave;
}

static void keep_outermost(struct reading *r)
{
    struct span *spans = r->spans.items;
    size_t kept = 0;
    qsort(spans, r->spans.count, sizeof *spans, by_thread);
    for (size_t i = 0; i < r->spans.count; i++)
        if (!kept || spans[kept - 1].thread != spans[i].thread || spans[kept - 1].leave <= spans[i].enter)
            spans[kept++] = spans[i];
    r->spans.count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct ahead *ahead = &r->threads[spans[i].thread];
        if (!ahead->end)
            ahead->next = i;
        ahead->end = i + 1;
    }
}

/* A thread's spans, as far as they are before `until`. */
static int cut(struct reading *r, uint32_t thread, uint64_t until)
{
    struct ahead *ahead = &r->threads[thread];
    int rc = 0;
    while (ahead->next < ahead->end && r->spans.items[ahead->next].enter < until && !rc) {
        const struct span *span = &r->spans.items[ahead->next];
        const uint64_t from = span->enter > ahead->from ? span->enter : ahead->from, to = span->leave < until ? span->leave : until;
        if (from < to)
            rc = sonde_vector_push(&r->pieces, (struct sonde__cp_loaded_call){
                                                   .call = {.enter = from, .leave = to, .node = span->node, .thread = thread & 0x3fffffff, .message = 1}});
        if (span->leave > until)
            break;
        ahead->next++;
    }
    return rc;
}

static int by_enter(const void *left, const void *right)
{
    const struct sonde__cp_loaded_call *a = left, *b = right;
    return a->call.enter < b->call.enter ? -1 : a->call.enter > b->call.enter;
}

static int add_pieces(struct reading *r, sonde__cp_loaded_calls *calls)
{
    int rc = 0;
    keep_outermost(r);
    for (size_t i = 0; i < calls->count && !rc; i++) {
        const struct sonde__cp_call *call = &calls->items[i].call;
        rc = cut(r, call->thread, call->enter);
        r->threads[call->thread].from = call->leave;
    }
    for (uint32_t t = 0; t < r->l->g->thread_count && !rc; t++)
        rc = cut(r, t, UINT64_MAX);
    if (!rc && r->pieces.count)
        qsort(r->pieces.items, r->pieces.count, sizeof *r->pieces.items, by_enter);
    for (size_t i = 0; i < r->pieces.count && !rc; i++)
        rc = sonde_vector_push(calls, r->pieces.items[i]);
    return rc;
}

int sonde__cp_add_message_calls(const struct sonde__cp_loading *l, sonde__cp_loaded_calls *calls)
{
    struct reading r = {.l = l};
    int rc = sonde_trace_each(l->g->process, &(struct sonde_trace_stored){.table = SONDE_TABLE_MESSAGE, .from_ns = l->g->from}, take, &r);
    if (!rc && r.spans.count) {
        r.threads = calloc(l->g->thread_count + 1, sizeof *r.threads);
        rc = r.threads ? add_pieces(&r, calls) : SONDE_ENOMEM;
    }
    sonde_vector_fini(&r.spans);
    sonde_vector_fini(&r.pieces);
    free(r.threads);
    return rc;
}

/* ---- who waited for other processes: calls, and kernels of NCCL ---------------------------------------------- */

/* The thread of a lane, from 1; 0: there is none. Threads are in the order of their lanes. */
static link thread_of(const struct sonde__cp_graph *g, uint32_t lane)
{
    uint32_t low = 0, high = g->thread_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (g->threads[middle].lane < lane)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->thread_count && g->threads[low].lane == lane ? low + 1 : 0;
}

/* The kernel that ran so, on whatever queue: its start may have been moved by the clocks' bound. */
static link kernel_of(const struct sonde__cp_graph *g, uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < g->lane_count; i++) {
        const struct sonde__cp_lane *q = &g->lanes[i];
        uint32_t low = q->first, high = q->first + q->count;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if (g->ops[middle].start < start)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < q->first + q->count && g->ops[low].start <= start + g->bound; low++)
            if (g->ops[low].end == end && sonde__cp_category(g->ops[low].kind) == SONDE_PATH_KERNEL)
                return low + 1;
    }
    return 0;
}

/* The piece of the call that could not be left before: where it waited the one that the meeting ended in. */
static link piece_of(const struct sonde__cp_graph *g, const struct sonde_need *need)
{
    const link thread = thread_of(g, need->lane);
    const link call = thread ? sonde__cp_call_at(g, thread - 1, need->until_ns > need->enter_ns ? need->until_ns - 1 : need->enter_ns) : 0;
    return call && g->calls[call - 1].message && g->calls[call - 1].leave >= need->until_ns ? call : 0;
}

/* Points as the run numbers them; a meeting of which one is not in the run has none left. */
static void number_points(struct sonde__cp_run *run, const uint32_t *number)
{
    for (size_t m = 0; m < run->needs.meetings.count; m++) {
        struct sonde_need_meeting *meeting = &run->needs.meetings.items[m];
        bool whole = true;
        for (size_t i = meeting->first; i < meeting->first + meeting->count; i++) {
            struct sonde_need_point *point = &run->needs.points.items[i];
            point->process = number[point->process];
            const struct sonde__cp_graph *g = &run->list[point->process].g;
            const link at = point->end_ns ? kernel_of(g, point->ns, point->end_ns) : thread_of(g, point->lane);
            point->lane = at - 1;
            whole &= at != 0;
        }
        if (!whole)
            meeting->count = 0;
    }
}

static int by_target(const void *left, const void *right)
{
    const struct sonde__cp_wait *a = left, *b = right;
    return a->target < b->target ? -1 : a->target > b->target;
}

typedef SONDE_VECTOR(struct sonde__cp_wait) waits;

/* `add` to those that there are, which stay sorted. */
static int join(struct sonde__cp_wait **list, uint32_t *count, const waits *add)
{
    const size_t all = *count + add->count;
    struct sonde__cp_wait *to = add->count ? realloc(*list, all * sizeof *to) : *list;
    if (!add->count)
        return 0;
    if (!to || all > UINT32_MAX)
        return SONDE_ENOMEM;
    memcpy(to + *count, add->items, add->count * sizeof *to);
    qsort(to, all, sizeof *to, by_target);
    *list = to;
    *count = (uint32_t)all;
    return 0;
}

struct added { waits calls, ops; }; /* of a process */

static int add_need(struct sonde__cp_run *run, const struct sonde_need *need, uint32_t at, struct added *added)
{
    struct sonde__cp_graph *g = &run->list[at].g;
    const link target = need->end_ns ? kernel_of(g, need->enter_ns, need->end_ns) : piece_of(g, need);
    if (!target || !run->needs.meetings.items[need->meeting].count)
        return 0;
    if (need->end_ns)
        g->ops[target - 1].waits = 1;
    else
        g->calls[target - 1].waits = 1;
    return sonde_vector_push(need->end_ns ? &added->ops : &added->calls,
                             (struct sonde__cp_wait){.until = need->until_ns, .target = target - 1, .id = (uint32_t)need->meeting, .what = CP_MEETING});
}

static int resolve(struct sonde__cp_run *run, const uint32_t *number)
{
    struct added *added = calloc(run->count + 1, sizeof *added);
    int rc = added && run->needs.meetings.count <= UINT32_MAX ? 0 : SONDE_ENOMEM;
    number_points(run, number);
    for (size_t i = 0; i < run->needs.list.count && !rc; i++) {
        const struct sonde_need *need = &run->needs.list.items[i];
        rc = add_need(run, need, number[need->process], &added[number[need->process]]);
    }
    for (uint32_t i = 0; i < run->count && !rc; i++) {
        struct sonde__cp_graph *g = &run->list[i].g;
        rc = join(&g->call_waits, &g->call_wait_count, &added[i].calls);
        rc = rc ? rc : join(&g->op_waits, &g->op_wait_count, &added[i].ops);
    }
    for (uint32_t i = 0; i < run->count && added; i++) {
        sonde_vector_fini(&added[i].calls);
        sonde_vector_fini(&added[i].ops);
    }
    free(added);
    return rc;
}

/* number[process]: its place in the run, or UINT32_MAX; list: which. Returns how many. */
static uint32_t number_processes(const struct sonde_needs *needs, uint32_t process_count, uint32_t *number, uint32_t *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < process_count; i++)
        number[i] = UINT32_MAX;
    for (size_t i = 0; i < needs->points.count; i++)
        number[needs->points.items[i].process] = 0;
    for (size_t i = 0; i < needs->list.count; i++)
        number[needs->list.items[i].process] = 0;
    for (uint32_t i = 0; i < process_count; i++)
        if (number[i] != UINT32_MAX) {
            number[i] = count;
            list[count++] = i;
        }
    return count;
}

/* Ranks, not processes: children have the rank, too. */
static int count_apart(const struct sonde_measurement *m, struct sonde__cp_run *run)
{
    struct sonde_map seen = {0};
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        const uint32_t rank = m->processes[i].header.rank;
        uint64_t once;
        if (!rank || sonde_needs_reach(&run->needs, i) || sonde_map_get(&seen, rank, &once))
            continue;
        run->apart++;
        rc = sonde_map_put(&seen, rank, 1);
    }
    sonde_map_fini(&seen);
    return rc;
}

int sonde__cp_open_job(const struct sonde_measurement *m, const struct sonde_profile *profile, uint64_t max_rows,
                       struct sonde_progress *progress, struct sonde__cp_run *run)
{
    uint32_t *number = malloc((m->process_count + 1) * sizeof *number), *list = malloc((m->process_count + 1) * sizeof *list);
    int rc = number && list ? sonde_needs_find(m, profile, &run->needs) : SONDE_ENOMEM;
    const uint32_t count = rc ? 0 : number_processes(&run->needs, m->process_count, number, list);
    rc = rc ? rc : count_apart(m, run);
    if (count > 1)
        rc = sonde__cp_open(m, profile, list, count, max_rows, progress, run);
    if (count > 1 && !rc)
        rc = resolve(run, number);
    free(number);
    free(list);
    return rc;
}
