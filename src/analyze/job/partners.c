/* partners.c - see partners.h. */
#include "partners.h"

#include <stdlib.h>

#include "analyze/model/nccl.h"
#include "analyze/trace/trace.h"
#include "collectives.h"
#include "matching.h"

struct search {
    const struct sonde_profile *profile;
    struct sonde_message_partners *out;
    uint32_t process, lane;
    uint64_t at_ns;
};

/* It is the one, or ends what that began. */
static bool is_asked_for(const struct search *s, const struct sonde__matched *one)
{
    return one->process == s->process && one->lane == s->lane && (one->enter_ns == s->out->enter_ns || one->posted_ns == s->out->enter_ns);
}

/* `waiter`: whose waiting is told, `own` or the call that looked for it. */
static int add(struct sonde_message_partners *out, const struct sonde__matched *own, const struct sonde__matched *waiter, const struct sonde__matched *other)
{
    const bool own_waits = waiter->wait_ns && waiter->for_rank == other->rank, other_waits = other->wait_ns && other->for_rank == own->rank;
    out->wait_ns = waiter->wait_ns > out->wait_ns ? waiter->wait_ns : out->wait_ns;
    return sonde_vector_push(&out->items, (struct sonde_message_partner){
                                              .process = other->process,
                                              .lane = other->lane,
                                              .rank = other->rank,
                                              .node = other->node,
                                              .kind = own->kind,
                                              .enter_ns = other->enter_ns,
                                              .leave_ns = other->leave_ns,
                                              .bytes = own->bytes,
                                              .tag = own->nccl || sonde__matched_is_collective(own) ? UINT32_MAX : own->tag,
                                              .decided = own_waits,
                                              .waited = other_waits,
                                          });
}

static int add_pair(void *user, struct sonde__matched *sent, struct sonde__matched *received, struct sonde__matched *look)
{
    const struct search *s = user;
    const bool looked = look && look->enter_ns == s->out->enter_ns;
    int rc = is_asked_for(s, sent) ? add(s->out, sent, sent, received) : 0;
    return rc || !is_asked_for(s, received) ? rc : add(s->out, received, looked ? look : received, sent);
}

/* All others of what all do together. */
static int add_all(void *user, struct sonde__matched *const *calls, size_t count, const struct sonde__matched *root)
{
    const struct search *s = user;
    int rc = 0;
    (void)root;
    for (size_t i = 0; i < count && !rc; i++)
        for (size_t other = 0; is_asked_for(s, calls[i]) && other < count && !rc; other++)
            rc = other == i ? 0 : add(s->out, calls[i], calls[i], calls[other]);
    return rc;
}

/* The innermost that the lane was in then is the one. */
static void consider(const struct search *s, uint32_t node, uint64_t enter_ns, uint64_t leave_ns)
{
    if (enter_ns > s->at_ns || leave_ns < s->at_ns || (s->out->node && enter_ns < s->out->enter_ns))
        return;
    s->out->node = node;
    s->out->enter_ns = enter_ns;
    s->out->leave_ns = leave_ns;
}

static void find_call(const struct search *s, const struct sonde__matching *k)
{
    for (size_t i = 0; i < k->all.count; i++) {
        const struct sonde__matched *one = &k->all.items[i];
        if (one->process == s->process && one->lane == s->lane)
            consider(s, one->node, one->enter_ns, one->leave_ns);
    }
}

static int take_collective(void *user, uint32_t lane, const void *stored)
{
    const struct search *s = user;
    const struct sonde_row_op *op = stored;
    (void)lane;
    if (op->kind == SONDE_OP_COLLECTIVE && sonde_op_has_times(op->flags, op->start_ns, op->end_ns))
        consider(s, sonde_profile_locate(s->profile, s->process, op->node), op->start_ns, op->end_ns);
    return 0;
}

static int by_rank(const void *left, const void *right)
{
    const struct sonde_message_partner *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->enter_ns != b->enter_ns)
        return a->enter_ns < b->enter_ns ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* What belongs together is looked through once it is known which is asked for. */
static int search_all(struct search *s, struct sonde__matching *k)
{
    const struct sonde_process *p = &k->m->processes[s->process];
    sonde__matched_list nccl = {0};
    struct sonde_nccl_rank rank;
    const bool is_nccl = sonde_nccl_rank(p, s->lane, &rank);
    int rc = sonde__matching_read(k);
    if (is_nccl)
        rc = rc ? rc : sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_OP, .lane = s->lane}, take_collective, s);
    else
        find_call(s, k);
    if (s->out->node)
        rc = rc ? rc : sonde__matching_match(k);
    if (s->out->node && is_nccl)
        rc = rc ? rc : sonde__collective_waits(k, &nccl);
    sonde_vector_fini(&nccl);
    return rc;
}

int sonde_message_partners_find(const struct sonde_measurement *m, const struct sonde_profile *profile, uint32_t process, uint32_t lane, uint64_t at_ns,
                                struct sonde_message_partners *out)
{
    struct search search = {.profile = profile, .out = out, .process = process, .lane = lane, .at_ns = at_ns};
    struct sonde_intern comms = {0};
    struct sonde__clocks clocks = {0};
    struct sonde__matching k = {.m = m, .profile = profile, .comms = &comms, .clocks = &clocks, .pair = add_pair, .together = add_all, .user = &search};
    const int rc = search_all(&search, &k);
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, by_rank);
    sonde__matching_fini(&k);
    sonde_intern_fini(&comms);
    sonde__clocks_fini(&clocks);
    return rc;
}

void sonde_message_partners_fini(struct sonde_message_partners *partners)
{
    sonde_vector_fini(&partners->items);
}
