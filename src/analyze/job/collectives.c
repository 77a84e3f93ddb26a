/* collectives.c - which kernels of NCCL needed which: no rank's kernel ends before those of all ranks have begun.
 *
 * The k-th collective that a rank asked of a communicator is the k-th of the others, since NCCL wants all ranks to call in the same order
 * (NCCL's manual, "Using multiple NCCL communicators concurrently", and its "Group calls"); the k-th that one sends another is the k-th that this one
 * receives of it. What is taken to belong together was so by the times, too: no kernel ended before those that it needed had begun. Where
 * ranks were not recorded from the same call on, that is mostly not so, and nothing is said of these.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/nccl.h"
#include "analyze/model/rank.h"
#include "analyze/trace/trace.h"
#include "base/map.h"
#include "needs.h"

enum kind {
    ALL,       /* all need all */
    FROM_ROOT, /* all need the root */
    TO_ROOT,   /* the root needs all others */
    PAIR,      /* who receives needs who sends */
};

struct one {
    uint64_t enter_ns, start_ns, end_ns, correlation;
    uint32_t process, lane, comm, rank, name, host; /* comm, name, host: interned */
    uint32_t kind;
    uint32_t from, to;                              /* ranks of a pair; else both UINT32_MAX */
    uint32_t root;
};

struct gathering {
    const struct sonde_measurement *m;
    struct sonde_intern words;
    SONDE_VECTOR(struct one) all;
    struct one like;   /* of the lane that is read: what all of its operations have in common */
    uint64_t bound_ns; /* of the clocks of all processes */
};

/* What is known of the root, or of a pair's other end, is its rank from 1; 0: there is none, or nobody told. */
static bool set_kind(struct gathering *g, struct one *one, const char *name, uint32_t peer)
{
    const bool sends = sonde_nccl_is(name, "Send"), receives = sonde_nccl_is(name, "Recv");
    const bool rooted = sonde_nccl_is(name, "Broadcast") || sonde_nccl_is(name, "Reduce");
    if ((sends || receives || rooted) && !peer)
        return false;
    one->kind = sends || receives ? PAIR : !rooted                     ? ALL
                                       : sonde_nccl_is(name, "Reduce") ? TO_ROOT
                                                                       : FROM_ROOT;
    one->root = rooted ? peer - 1 : UINT32_MAX;
    one->from = one->to = UINT32_MAX;
    if (one->kind == PAIR) {
        one->from = sends ? one->rank : peer - 1;
        one->to = sends ? peer - 1 : one->rank;
    }
    one->name = sonde_intern_text(&g->words, one->kind == PAIR ? "Send" : name);
    return true;
}

static int take(void *user, uint32_t lane, const void *stored)
{
    struct gathering *g = user;
    const struct sonde_row_op *op = stored;
    const struct sonde_process *p = &g->m->processes[g->like.process];
    const struct sonde_row_frame *frame = sonde_process_frame(p, op->node);
    struct one one = g->like;
    (void)lane;
    if (op->kind != SONDE_OP_COLLECTIVE || !sonde_op_has_times(op->flags, op->start_ns, op->end_ns) ||
        !set_kind(g, &one, frame ? sonde_process_string(p, frame->name) : "", op->work && op->work < p->work_count ? p->works[op->work].peer : 0))
        return 0;
    one.enter_ns = op->enter_ns;
    one.start_ns = op->start_ns;
    one.end_ns = op->end_ns;
    one.correlation = op->correlation;
    return sonde_vector_push(&g->all, one);
}

static int read_lane(struct gathering *g, uint32_t process, uint32_t lane)
{
    const struct sonde_process *p = &g->m->processes[process];
    struct sonde_nccl_rank rank;
    if (!sonde_nccl_rank(p, lane, &rank))
        return 0;
    g->bound_ns = p->header.clock_bound_ns > g->bound_ns ? p->header.clock_bound_ns : g->bound_ns;
    g->like = (struct one){
        .process = process,
        .lane = lane,
        .rank = rank.rank,
        .comm = sonde_intern_bytes(&g->words, rank.name, rank.length),
        .host = sonde_intern_bytes(&g->words, p->name, sonde_host_length(p->name)),
    };
    return sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP, .lane = lane}, take, g);
}

static int read_all(struct gathering *g)
{
    int rc = 0;
    for (uint32_t i = 0; i < g->m->process_count && !rc; i++)
        for (uint32_t lane = 1; lane < g->m->processes[i].lane_count && !rc; lane++)
            rc = read_lane(g, i, lane);
    return rc;
}

/* ---- which belong together ------------------------------------------------------------------------- */

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Of one communicator, and between the same two ranks. */
static int same_way(const struct one *a, const struct one *b)
{
    int order = by_number(a->comm, b->comm);
    order = order ? order : by_number(a->from, b->from);
    return order ? order : by_number(a->to, b->to);
}

static int by_way(const void *left, const void *right)
{
    const struct one *a = left, *b = right;
    int order = same_way(a, b);
    order = order ? order : by_number(a->rank, b->rank);
    order = order ? order : by_number(a->enter_ns, b->enter_ns);
    order = order ? order : by_number(a->start_ns, b->start_ns);
    return order ? order : by_number(a->correlation, b->correlation);
}

static bool is_needed(const struct one *one)
{
    return one->kind == ALL || (one->kind == PAIR ? one->rank == one->from : (one->rank == one->root) == (one->kind == FROM_ROOT));
}

static bool has_need(const struct one *one)
{
    return one->kind == ALL || (one->kind == PAIR ? one->rank == one->to : (one->rank == one->root) == (one->kind == TO_ROOT));
}

/* The same was asked for, by ranks of one host, and (but that a root may be done before others begin) it was done at the same time. */
static bool belong_together(const struct gathering *g, const struct one *const *calls, size_t count)
{
    uint64_t begun_ns = 0, ended_ns = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (calls[i]->name != calls[0]->name || calls[i]->host != calls[0]->host || calls[i]->root != calls[0]->root)
            return false;
        if (is_needed(calls[i]))
            begun_ns = calls[i]->start_ns > begun_ns ? calls[i]->start_ns : begun_ns;
        if (has_need(calls[i]))
            ended_ns = calls[i]->end_ns < ended_ns ? calls[i]->end_ns : ended_ns;
    }
    return begun_ns && ended_ns != UINT64_MAX && begun_ns <= ended_ns + 2 * g->bound_ns;
}

static int add_meeting(struct sonde_needs *out, const struct one *const *calls, size_t count)
{
    int rc = sonde__needs_meet(out);
    for (size_t i = 0; i < count && !rc; i++)
        if (is_needed(calls[i]))
            rc = sonde__needs_point(out, (struct sonde_need_point){calls[i]->process, calls[i]->lane, calls[i]->start_ns, calls[i]->end_ns});
    for (size_t i = 0; i < count && !rc; i++)
        if (has_need(calls[i]))
            rc = sonde__needs_add(out, (struct sonde_need){.process = calls[i]->process, .lane = calls[i]->lane, .enter_ns = calls[i]->start_ns, .end_ns = calls[i]->end_ns},
                                  calls[i]->end_ns);
    return rc;
}

/* All of one way; each rank's in their order. */
static int match_way(const struct gathering *g, const struct one *all, size_t count, struct sonde_needs *out)
{
    SONDE_VECTOR(size_t) begin = {0};
    SONDE_VECTOR(const struct one *) calls = {0};
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++)
        if (!i || all[i].rank != all[i - 1].rank)
            rc = sonde_vector_push(&begin, i);
    const size_t ranks = begin.count;
    rc = rc ? rc : sonde_vector_push(&begin, count);
    for (size_t nth = 0; !rc && ranks > 1; nth++) {
        calls.count = 0;
        for (size_t r = 0; r < ranks && !rc; r++)
            if (begin.items[r] + nth < begin.items[r + 1])
                rc = sonde_vector_push(&calls, &all[begin.items[r] + nth]);
        if (calls.count < ranks)
            break;
        if (!rc && belong_together(g, calls.items, calls.count))
            rc = add_meeting(out, calls.items, calls.count);
    }
    sonde_vector_fini(&begin);
    sonde_vector_fini(&calls);
    return rc;
}

int sonde__collective_needs(const struct sonde_measurement *m, struct sonde_needs *out)
{
    struct gathering g = {.m = m};
    int rc = read_all(&g);
    struct one *all = g.all.items;
    if (g.all.count)
        qsort(all, g.all.count, sizeof *all, by_way);
    for (size_t i = 0, n; i < g.all.count && !rc; i += n) {
        for (n = 1; i + n < g.all.count && same_way(&all[i], &all[i + n]) == 0; n++)
            ;
        rc = match_way(&g, &all[i], n, out);
    }
    sonde_vector_fini(&g.all);
    sonde_intern_fini(&g.words);
    return rc;
}
