/* collectives.c - which kernels of NCCL needed which: no rank's kernel ends before those of all ranks have begun.
 *
 * The k-th collective that a rank asked of a communicator is the k-th of the others, since NCCL wants all ranks to call in the same order
 * (NCCL's manual, "Using multiple NCCL communicators concurrently", and its "Group calls"); the k-th that one sends another is the k-th that this one
 * receives of it. What is taken to belong together was so by the times, too: the kernels ran at the same time, for a moment at least. Where
 * ranks were not recorded from the same call on, that is not so, and nothing is said of these.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "analyze/trace/trace.h"
#include "base/map.h"
#include "needs.h"

struct one {
    uint64_t enter_ns, start_ns, end_ns, correlation, bytes;
    uint32_t process, lane, comm, rank, name, host; /* comm, name, host: interned */
    uint32_t from, to;                              /* one to one: ranks; else both UINT32_MAX */
};

struct gathering {
    const struct sonde_measurement *m;
    struct sonde_intern words;
    SONDE_VECTOR(struct one) all;
    uint32_t process, host;
    uint64_t bound_ns; /* of the clocks of all processes */
};

/* "NCCL default_pg 0x5f3a rank 0 of 2": all but the rank is the communicator's. 0: it is no such lane. */
static uint32_t comm_of(struct gathering *g, const char *lane, uint32_t *rank)
{
    const char *at = NULL;
    char text[512];
    uint32_t size;
    if (strncmp(lane, "NCCL ", 5) != 0)
        return 0;
    for (const char *next = lane; (next = strstr(next, " rank ")); next++)
        at = next;
    if (!at || sscanf(at, " rank %u of %u", rank, &size) != 2)
        return 0;
    snprintf(text, sizeof text, "%u %.*s", size, (int)(at - lane), lane);
    return sonde_intern_text(&g->words, text);
}

static const char *name_of(const struct sonde_process *p, uint32_t node)
{
    const struct sonde_row_node *row = sonde_process_node(p, node, NULL);
    return row && row->frame < p->frame_count ? sonde_process_string(p, p->frames[row->frame].name) : "";
}

static bool is_called(const char *name, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(name, word, length) == 0 && (name[length] == ' ' || !name[length]);
}

static int take(void *user, uint32_t lane, const void *stored)
{
    struct gathering *g = user;
    const struct sonde_row_op *op = stored;
    const struct sonde_process *p = &g->m->processes[g->process];
    if (op->kind != SONDE_OP_COLLECTIVE || !sonde_op_has_times(op->flags, op->start_ns, op->end_ns) || lane >= p->lane_count)
        return 0;
    const char *name = name_of(p, op->node);
    const bool sends = is_called(name, "Send"), receives = is_called(name, "Recv");
    const uint32_t peer = op->work && op->work < p->work_count ? p->works[op->work].peer : 0;
    struct one one = {
        .enter_ns = op->enter_ns,
        .start_ns = op->start_ns,
        .end_ns = op->end_ns,
        .correlation = op->correlation,
        .bytes = op->bytes,
        .process = g->process,
        .lane = lane,
        .host = g->host,
        .from = UINT32_MAX,
        .to = UINT32_MAX,
    };
    one.comm = comm_of(g, sonde_process_string(p, p->lanes[lane].name), &one.rank);
    /* Of these a rank need not wait for all: who is the root is not known. */
    if (!one.comm || is_called(name, "Broadcast") || is_called(name, "Reduce") || ((sends || receives) && !peer))
        return 0;
    one.name = sonde_intern_text(&g->words, sends || receives ? "SendRecv" : name);
    if (sends || receives) {
        one.from = sends ? one.rank : peer - 1;
        one.to = sends ? peer - 1 : one.rank;
    }
    return sonde_vector_push(&g->all, one);
}

static int read_all(struct gathering *g)
{
    int rc = 0;
    for (g->process = 0; g->process < g->m->process_count && !rc; g->process++) {
        const struct sonde_process *p = &g->m->processes[g->process];
        bool any = false;
        for (uint32_t i = 1; i < p->lane_count && !any; i++)
            any = strncmp(sonde_process_string(p, p->lanes[i].name), "NCCL ", 5) == 0;
        if (!any)
            continue;
        g->host = sonde_intern_bytes(&g->words, p->name, sonde_host_length(p->name));
        g->bound_ns = p->header.clock_bound_ns > g->bound_ns ? p->header.clock_bound_ns : g->bound_ns;
        rc = sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP}, take, g);
    }
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

static bool belong_together(const struct gathering *g, const struct one *const *calls, size_t count)
{
    uint64_t begun_ns = 0, ended_ns = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (calls[i]->name != calls[0]->name || calls[i]->host != calls[0]->host)
            return false;
        begun_ns = calls[i]->start_ns > begun_ns ? calls[i]->start_ns : begun_ns;
        ended_ns = calls[i]->end_ns < ended_ns ? calls[i]->end_ns : ended_ns;
    }
    return begun_ns <= ended_ns + 2 * g->bound_ns;
}

/* One to one only who receives needs the other. */
static int add_meeting(struct sonde_needs *out, const struct one *const *calls, size_t count)
{
    int rc = sonde__needs_meet(out);
    for (size_t i = 0; i < count && !rc; i++)
        if (calls[i]->from == UINT32_MAX || calls[i]->rank == calls[i]->from)
            rc = sonde__needs_point(out, (struct sonde_need_point){calls[i]->process, calls[i]->lane, calls[i]->start_ns, calls[i]->end_ns});
    for (size_t i = 0; i < count && !rc; i++)
        if (calls[i]->from == UINT32_MAX || calls[i]->rank == calls[i]->to)
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
