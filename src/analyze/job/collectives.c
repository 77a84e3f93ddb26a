/* collectives.c - see collectives.h. */
#include "collectives.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/nccl.h"
#include "analyze/model/recorded.h"
#include "analyze/trace/trace.h"
#include "base/map.h"
#include "base/text.h"

enum kind {
    ALL,       /* all need all */
    FROM_ROOT, /* all need the root */
    TO_ROOT,   /* the root needs all others */
    PAIR,      /* who receives needs who sends */
};

struct one {
    uint64_t enter_ns, start_ns, end_ns, correlation;
    uint32_t process, lane, comm, rank, name, host; /* comm, name, host: interned */
    uint32_t size;                                  /* of the communicator */
    uint32_t kind;
    uint32_t from, to;                              /* ranks of a pair; else both UINT32_MAX */
    uint32_t root;
    bool whole;                                     /* nothing of its process's trace is missing */
    size_t told;                                    /* of the waits: its place there */
};

struct gathering {
    const struct sonde_measurement *m;
    struct sonde_needs *needs;     /* asked for; NULL: bounds are, of */
    struct sonde__clocks *clocks;
    struct sonde__matching *matching;  /* with needs: waits are asked for, of */
    sonde__matched_list *waits;
    struct sonde_map apart;            /* communicators with ranks on hosts whose clocks are not known */
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

/* What is told of it whether it can be matched or not. Ranks of processes that no launcher gave a number have the communicator's. */
static int tell(struct gathering *g, const struct sonde_process *p, const struct one *one, const struct sonde_row_op *op)
{
    struct sonde__matching *k = g->matching;
    struct sonde_text comm = {0};
    sonde_text_format(&comm, "%s, %u rank%s", sonde_intern_get(&g->words, one->comm), one->size, one->size == 1 ? "" : "s");
    const struct sonde__matched told = {
        .enter_ns = op->start_ns,
        .leave_ns = op->end_ns,
        .posted_ns = op->start_ns,
        .bytes = op->bytes,
        .process = one->process,
        .lane = one->lane,
        .node = sonde_profile_locate(k->profile, one->process, op->node),
        .rank = p->header.rank ? p->header.rank - 1 : one->rank,
        .peer = UINT32_MAX,
        .comm = sonde_intern_text(k->comms, sonde_text_get(&comm)),
        .host = one->host,
        .for_rank = UINT32_MAX,
        .nccl = true,
    };
    sonde_text_fini(&comm);
    return sonde_vector_push(g->waits, told);
}

static void tell_kind(struct gathering *g, const struct one *one)
{
    static const uint32_t kinds[] = {[ALL] = SONDE_MESSAGE_ALL_TO_ALL, [FROM_ROOT] = SONDE_MESSAGE_FROM_ROOT, [TO_ROOT] = SONDE_MESSAGE_TO_ROOT};
    g->waits->items[one->told].kind = one->kind != PAIR ? kinds[one->kind] : one->rank == one->from ? SONDE_MESSAGE_SEND
                                                                                                    : SONDE_MESSAGE_RECEIVE;
}

/* Of a communicator of which some rank's clock is not known, nothing is told. */
static int leave_apart(struct gathering *g, const struct one *one)
{
    g->matching->apart++;
    return sonde_map_put(&g->apart, one->comm, 1) ? SONDE_ENOMEM : 0;
}

static int take(void *user, uint32_t lane, const void *stored)
{
    struct gathering *g = user;
    const struct sonde_row_op *op = stored;
    const struct sonde_process *p = &g->m->processes[g->like.process];
    const struct sonde_row_frame *frame = sonde_process_frame(p, op->node);
    struct one one = g->like;
    int rc = 0;
    (void)lane;
    if (op->kind != SONDE_OP_COLLECTIVE || !sonde_op_has_times(op->flags, op->start_ns, op->end_ns))
        return 0;
    if (g->waits) {
        one.told = g->waits->count;
        rc = tell(g, p, &one, op);
        if (rc || !sonde_needs_reach(g->needs, one.process))
            return rc ? rc : leave_apart(g, &one);
    }
    if (!set_kind(g, &one, frame ? sonde_process_string(p, frame->name) : "", op->work && op->work < p->work_count ? p->works[op->work].peer : 0))
        return 0;
    if (g->waits)
        tell_kind(g, &one);
    one.enter_ns = op->enter_ns;
    one.start_ns = g->needs ? sonde_needs_time(g->needs, one.process, op->start_ns) : op->start_ns;
    one.end_ns = g->needs ? sonde_needs_time(g->needs, one.process, op->end_ns) : op->end_ns;
    one.correlation = op->correlation;
    return sonde_vector_push(&g->all, one);
}

int sonde__trace_is_whole(const struct sonde_measurement *m, const struct sonde_process *p, bool *whole)
{
    struct sonde_recorded recorded = {0};
    const int rc = sonde_recorded_compute(m, p, &recorded);
    *whole = !recorded.pauses.count && !p->damaged_chunks && !p->header.message_rows_dropped;
    sonde_recorded_fini(&recorded);
    return rc;
}

static int read_lane(struct gathering *g, uint32_t process, uint32_t lane)
{
    const struct sonde_process *p = &g->m->processes[process];
    struct sonde_nccl_rank rank;
    if (!sonde_nccl_rank(p, lane, &rank) || (g->needs && !g->waits && !sonde_needs_reach(g->needs, process)))
        return 0;
    g->bound_ns = p->header.clock_bound_ns > g->bound_ns ? p->header.clock_bound_ns : g->bound_ns;
    g->like = (struct one){
        .process = process,
        .lane = lane,
        .rank = rank.rank,
        .size = rank.size,
        .comm = sonde_intern_bytes(&g->words, rank.name, rank.length),
        .host = sonde__clocks_host(g->clocks, p->name),
    };
    int rc = sonde_process_load(p, SONDE_LOAD_ALL); /* what kernels are called */
    rc = rc ? rc : sonde__trace_is_whole(g->m, p, &g->like.whole);
    for (int cause = 0; cause < SONDE_DROP_COUNT; cause++)
        g->like.whole &= !p->header.ledger.dropped[cause];
    return rc ? rc : sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP, .lane = lane}, take, g);
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

static bool same_asked(const struct one *a, const struct one *b)
{
    return a->name == b->name && a->root == b->root;
}

/* The same was asked for, and (but that a root may be done before others begin) it was done at the same time. */
static bool belong_together(const struct gathering *g, const struct one *const *calls, size_t count)
{
    uint64_t begun_ns = 0, ended_ns = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!same_asked(calls[i], calls[0]))
            return false;
        if (is_needed(calls[i]))
            begun_ns = calls[i]->start_ns > begun_ns ? calls[i]->start_ns : begun_ns;
        if (has_need(calls[i]))
            ended_ns = calls[i]->end_ns < ended_ns ? calls[i]->end_ns : ended_ns;
    }
    return begun_ns && ended_ns != UINT64_MAX && begun_ns <= ended_ns + 2 * g->bound_ns + sonde__clocks_bound(g->clocks);
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

/* Until the last began that it needs, if that was not its own rank's. */
static void set_wait(struct gathering *g, const struct one *waiter, const struct one *last)
{
    static const enum sonde_message_wait reasons[] = {
        [ALL] = SONDE_MESSAGE_WAIT_ALL_TO_ALL,
        [FROM_ROOT] = SONDE_MESSAGE_WAIT_LATE_ROOT,
        [TO_ROOT] = SONDE_MESSAGE_WAIT_EARLY_ROOT,
        [PAIR] = SONDE_MESSAGE_WAIT_LATE_SENDER,
    };
    struct sonde__matched *told = &g->waits->items[waiter->told], *other = &g->waits->items[last->told];
    const uint64_t until_ns = last->start_ns < waiter->end_ns ? last->start_ns : waiter->end_ns;
    if (until_ns <= waiter->start_ns || other->rank == told->rank)
        return;
    told->wait = reasons[waiter->kind];
    told->wait_ns = until_ns - waiter->start_ns;
    told->for_rank = other->rank;
    told->for_host = other->host;
}

static void add_waits(struct gathering *g, const struct one *const *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct one *last = NULL;
        for (size_t other = 0; other < count && has_need(calls[i]); other++)
            if (other != i && is_needed(calls[other]) && (!last || calls[other]->start_ns > last->start_ns))
                last = calls[other];
        if (last)
            set_wait(g, calls[i], last);
    }
}

/* What belongs together, as of MPI. */
static int tell_others(struct gathering *g, const struct one *const *calls, size_t count)
{
    const struct sonde__matching *k = g->matching;
    SONDE_VECTOR(struct sonde__matched *) list = {0};
    const struct sonde__matched *root = NULL;
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        struct sonde__matched *told = &g->waits->items[calls[i]->told];
        root = calls[i]->rank == calls[i]->root ? told : root;
        rc = sonde_vector_push(&list, told);
    }
    if (rc || calls[0]->kind != PAIR) {
        rc = rc || !k->together ? rc : k->together(k->user, list.items, count, root);
    } else if (k->pair) {
        const size_t sent = is_needed(calls[0]) ? 0 : 1;
        rc = k->pair(k->user, list.items[sent], list.items[1 - sent], NULL);
    }
    sonde_vector_fini(&list);
    return rc;
}

/* One begins before another ends that needs it; of those on one host that says nothing. Device times are right to within the bound of their process. */
static int add_bound(const struct gathering *g, const struct one *needed, const struct one *by)
{
    if (!is_needed(needed) || !has_need(by) || needed->host == by->host)
        return 0;
    return sonde__clocks_before(g->clocks, needed->host, needed->start_ns - g->bound_ns, by->host, by->end_ns + g->bound_ns);
}

/* Each with the root, or with the first, is enough. */
static int add_bounds(const struct gathering *g, const struct one *const *calls, size_t count)
{
    const struct one *other = calls[0];
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        other = calls[i]->rank == calls[i]->root ? calls[i] : other;
    for (size_t i = 0; i < count && !rc; i++) {
        rc = add_bound(g, calls[i], other);
        rc = rc ? rc : add_bound(g, other, calls[i]);
    }
    return rc;
}

/* `begin`: [ranks + 1], where each rank's kernels begin. Have all ranks as many, of which each nth asked for the same, and is none missing? */
static bool are_all_there(const struct one *all, const size_t *begin, size_t ranks)
{
    bool there = ranks == (all->kind == PAIR ? 2 : all->size);
    for (size_t r = 0; r < ranks && there; r++) {
        there = all[begin[r]].whole && begin[r + 1] - begin[r] == begin[1] - begin[0];
        for (size_t i = 0; begin[r] + i < begin[r + 1] && there; i++)
            there = same_asked(&all[begin[r] + i], &all[begin[0] + i]);
    }
    return there;
}

static int add(struct gathering *g, const struct one *const *calls, size_t count)
{
    if (!g->needs)
        return add_bounds(g, calls, count);
    if (g->waits) {
        uint64_t apart;
        if (sonde_map_get(&g->apart, calls[0]->comm, &apart))
            return 0;
        if (belong_together(g, calls, count)) {
            add_waits(g, calls, count);
            return tell_others(g, calls, count);
        }
        g->matching->mixed += count;
        return 0;
    }
    return belong_together(g, calls, count) ? add_meeting(g->needs, calls, count) : 0;
}

/* All of one way; each rank's in their order. */
static int match_way(struct gathering *g, const struct one *all, size_t count)
{
    SONDE_VECTOR(size_t) begin = {0};
    SONDE_VECTOR(const struct one *) calls = {0};
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++)
        if (!i || all[i].rank != all[i - 1].rank)
            rc = sonde_vector_push(&begin, i);
    const size_t ranks = begin.count;
    rc = rc ? rc : sonde_vector_push(&begin, count);
    const bool told = !rc && ranks > 1 && (g->needs || are_all_there(all, begin.items, ranks));
    for (size_t nth = 0; !rc && told; nth++) {
        calls.count = 0;
        for (size_t r = 0; r < ranks && !rc; r++)
            if (begin.items[r] + nth < begin.items[r + 1])
                rc = sonde_vector_push(&calls, &all[begin.items[r] + nth]);
        if (calls.count < ranks)
            break;
        rc = rc ? rc : add(g, calls.items, calls.count);
    }
    sonde_vector_fini(&begin);
    sonde_vector_fini(&calls);
    return rc;
}

static int match_all(struct gathering *g)
{
    int rc = read_all(g);
    struct one *all = g->all.items;
    if (g->all.count)
        qsort(all, g->all.count, sizeof *all, by_way);
    for (size_t i = 0, n; i < g->all.count && !rc; i += n) {
        for (n = 1; i + n < g->all.count && same_way(&all[i], &all[i + n]) == 0; n++)
            ;
        rc = match_way(g, &all[i], n);
    }
    sonde_vector_fini(&g->all);
    sonde_map_fini(&g->apart);
    sonde_intern_fini(&g->words);
    return rc;
}

int sonde__collective_bounds(const struct sonde_measurement *m, struct sonde__clocks *clocks)
{
    return match_all(&(struct gathering){.m = m, .clocks = clocks});
}

int sonde__collective_needs(const struct sonde_measurement *m, struct sonde_needs *out)
{
    return match_all(&(struct gathering){.m = m, .needs = out, .clocks = &out->clocks});
}

int sonde__collective_waits(struct sonde__matching *k, sonde__matched_list *out)
{
    struct sonde_needs needs = {.clocks = *k->clocks}; /* lent: all hosts are there */
    int rc = 0;
    for (uint32_t i = 0; i < k->m->process_count && !rc; i++)
        rc = sonde_vector_push(&needs.hosts, sonde__clocks_host(&needs.clocks, k->m->processes[i].name));
    rc = rc ? rc : match_all(&(struct gathering){.m = k->m, .needs = &needs, .clocks = &needs.clocks, .matching = k, .waits = out});
    sonde_vector_fini(&needs.hosts);
    return rc;
}
