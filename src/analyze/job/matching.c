/* matching.c - see matching.h. */
#include "matching.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/trace/trace.h"
#include "collectives.h"

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* ---- reading ---------------------------------------------------------------------------- */

static bool is_single(uint32_t kind)
{
    return kind == SONDE_MESSAGE_SEND || kind == SONDE_MESSAGE_RECEIVE;
}

/* Only what two hosts have between them aligns their clocks: of most jobs little. */
static bool aligns_nothing(const struct sonde__matching *k, const struct sonde_row_message *row)
{
    uint64_t host;
    return row->kind == SONDE_MESSAGE_CALL || (is_single(row->kind) && sonde_map_get(&k->by_rank, row->peer, &host) && host == k->host);
}

static int take(void *user, uint32_t lane, const void *batch)
{
    struct sonde__matching *k = user;
    const struct sonde_row_message *row = batch;
    const struct sonde_process *p = &k->m->processes[k->process];
    if (!k->profile && aligns_nothing(k, row))
        return 0;
    const struct sonde__matched one = {
        .enter_ns = row->enter_ns,
        .leave_ns = row->leave_ns > row->enter_ns ? row->leave_ns : row->enter_ns,
        .posted_ns = row->posted_ns && row->posted_ns < row->enter_ns ? row->posted_ns : row->enter_ns,
        .bytes = row->bytes,
        .process = k->process,
        .lane = lane,
        .node = k->profile ? sonde_profile_locate(k->profile, k->process, row->node) : 0,
        .rank = k->rank,
        .peer = row->peer - 1,
        .comm = sonde_intern_text(k->comms, sonde_process_string(p, row->comm)),
        .tag = row->tag,
        .host = k->host,
        .kind = row->kind < SONDE_MESSAGE_KINDS ? row->kind : SONDE_MESSAGE_CALL,
        .for_rank = UINT32_MAX,
    };
    return sonde_vector_push(&k->all, one);
}

static int find_hosts(struct sonde__matching *k)
{
    int rc = 0;
    for (uint32_t i = 0; i < k->m->process_count && !rc; i++) {
        const struct sonde_process *p = &k->m->processes[i];
        const uint32_t host = sonde__clocks_host(k->clocks, p->name);
        uint64_t other;
        const bool several = sonde_map_get(&k->by_rank, p->header.rank, &other) && other != host;
        rc = !host || (p->header.rank && sonde_map_put(&k->by_rank, p->header.rank, several ? 0 : host)) ? SONDE_ENOMEM : 0;
    }
    return rc;
}

static int read_all(struct sonde__matching *k)
{
    int rc = k->profile ? 0 : find_hosts(k);
    for (k->process = 0; k->process < k->m->process_count && !rc; k->process++) {
        const struct sonde_process *p = &k->m->processes[k->process];
        k->lost += p->header.message_rows_dropped;
        if (!p->header.rank)
            continue;
        k->rank = p->header.rank - 1;
        k->host = sonde__clocks_host(k->clocks, p->name);
        rc = k->host ? sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_MESSAGE}, take, k) : SONDE_ENOMEM;
    }
    k->hosts = k->clocks->names.count;
    for (uint32_t i = 0; i < k->m->process_count && !rc; i++) /* what has no rank may still be one of NCCL's */
        rc = sonde__clocks_host(k->clocks, k->m->processes[i].name) ? 0 : SONDE_ENOMEM;
    return rc;
}

/* ---- one to one -------------------------------------------------------------------------------- */

static uint32_t from(const struct sonde__matched *one)
{
    return sonde__matched_is_sent(one) ? one->rank : one->peer;
}

static uint32_t to(const struct sonde__matched *one)
{
    return sonde__matched_is_sent(one) ? one->peer : one->rank;
}

/* Of the same two ranks, communicator and tag, sends first, each in the order in which they were begun. */
static int same_way(const struct sonde__matched *a, const struct sonde__matched *b)
{
    int order = by_number(a->comm, b->comm);
    order = order ? order : by_number(from(a), from(b));
    order = order ? order : by_number(to(a), to(b));
    return order ? order : by_number(a->tag, b->tag);
}

static int by_way(const void *left, const void *right)
{
    const struct sonde__matched *a = *(struct sonde__matched *const *)left, *b = *(struct sonde__matched *const *)right;
    int order = same_way(a, b);
    order = order ? order : by_number(!sonde__matched_is_sent(a), !sonde__matched_is_sent(b));
    order = order ? order : by_number(a->posted_ns, b->posted_ns);
    return order ? order : (a < b ? -1 : a > b);
}

/* By the clock of `own`. */
static uint64_t here(const struct sonde__matching *k, const struct sonde__matched *own, const struct sonde__matched *other, uint64_t ns)
{
    return sonde__clocks_move(k->clocks, other->host, ns, own->host);
}

/* `waiter` could not go on before `ns`, when `other` began what it needed. */
static void waits(const struct sonde__matching *k, struct sonde__matched *waiter, enum sonde_message_wait wait, uint64_t ns, const struct sonde__matched *other)
{
    ns = here(k, waiter, other, ns);
    const uint64_t until_ns = ns < waiter->leave_ns ? ns : waiter->leave_ns;
    if (until_ns <= waiter->enter_ns)
        return;
    waiter->wait = wait;
    waiter->wait_ns = until_ns - waiter->enter_ns;
    waiter->for_rank = other->rank;
    waiter->for_host = other->host;
}

static uint64_t key_of(uint32_t process, uint64_t enter_ns)
{
    return sonde_hash_mix(process + 1, enter_ns);
}

/* They wait for what is received later; what only begins a receive does not. */
static bool is_look(const struct sonde__matching *k, const struct sonde__matched *one)
{
    const char *name = k->profile->nodes.items[one->node].name;
    return one->kind == SONDE_MESSAGE_CALL && (strcmp(name, "MPI_Mprobe") == 0 || strcmp(name, "MPI_Probe") == 0);
}

static int keep_looks(struct sonde__matching *k)
{
    int rc = 0;
    for (size_t i = 0; i < k->all.count && !rc; i++)
        if (is_look(k, &k->all.items[i]))
            rc = sonde_map_put(&k->looks, key_of(k->all.items[i].process, k->all.items[i].enter_ns), i + 1);
    return rc ? SONDE_ENOMEM : 0;
}

/* The call that looked for what was received later; NULL: none. */
static struct sonde__matched *look_of(struct sonde__matching *k, const struct sonde__matched *one)
{
    uint64_t at;
    if (one->posted_ns == one->enter_ns || !sonde_map_get(&k->looks, key_of(one->process, one->posted_ns), &at))
        return NULL;
    struct sonde__matched *look = &k->all.items[at - 1];
    return look->process == one->process && look->enter_ns == one->posted_ns ? look : NULL;
}

static int match(struct sonde__matching *k, struct sonde__matched *sent, struct sonde__matched *received)
{
    struct sonde__matched *look = look_of(k, received);
    if (k->aligns)
        return sent->host == received->host ? 0 : sonde__clocks_before(k->clocks, sent->host, sent->enter_ns, received->host, received->leave_ns);
    if (!sonde__clocks_agree(k->clocks, sent->host, received->host)) {
        k->apart++;
        return 0;
    }
    waits(k, received, SONDE_MESSAGE_WAIT_LATE_SENDER, sent->enter_ns, sent);
    if (look)
        waits(k, look, SONDE_MESSAGE_WAIT_LATE_SENDER, sent->enter_ns, sent);
    if (here(k, sent, received, received->posted_ns) <= sent->leave_ns) /* else it did not wait for that */
        waits(k, sent, SONDE_MESSAGE_WAIT_LATE_RECEIVER, received->posted_ns, received);
    return k->pair ? k->pair(k->user, sent, received, look) : 0;
}

static int match_all(struct sonde__matching *k, struct sonde__matched **list, size_t count)
{
    int rc = 0;
    qsort(list, count, sizeof *list, by_way);
    for (size_t i = 0, n; i < count && !rc; i += n) {
        size_t sends = 0;
        for (n = 0; i + n < count && !same_way(list[i], list[i + n]); n++)
            sends += sonde__matched_is_sent(list[i + n]);
        const size_t receives = n - sends, fewer = sends < receives ? sends : receives, both = k->aligns && sends != receives ? 0 : fewer;
        for (size_t j = 0; j < both && !rc; j++)
            rc = match(k, list[i + j], list[i + sends + j]);
        k->alone += sends + receives - 2 * both;
        k->messages += sends > receives ? sends : receives;
    }
    return rc;
}

/* ---- all of a communicator ----------------------------------------------------------------------------- */

static int by_comm(const void *left, const void *right)
{
    const struct sonde__matched *a = *(struct sonde__matched *const *)left, *b = *(struct sonde__matched *const *)right;
    int order = by_number(a->comm, b->comm);
    order = order ? order : by_number(a->rank, b->rank);
    order = order ? order : by_number(a->posted_ns, b->posted_ns);
    return order ? order : (a < b ? -1 : a > b);
}

/* Did `a` come after `b`? Of two hosts that do not agree there is no telling. */
static bool later(const struct sonde__matching *k, const struct sonde__matched *a, const struct sonde__matched *b)
{
    return sonde__clocks_agree(k->clocks, a->host, b->host) && a->posted_ns > here(k, a, b, b->posted_ns);
}

/* Of those that need each other: none leaves before the others have come. Each with the first is enough. */
static int align_calls(struct sonde__matching *k, struct sonde__matched **calls, size_t count)
{
    const uint32_t kind = calls[0]->kind;
    int rc = 0;
    for (size_t i = 0; i < count && !rc && kind != SONDE_MESSAGE_PREFIX; i++) {
        const bool from_root = kind == SONDE_MESSAGE_FROM_ROOT, to_root = kind == SONDE_MESSAGE_TO_ROOT;
        const struct sonde__matched *one = calls[i], *other = calls[0];
        for (size_t r = 0; (from_root || to_root) && r < count; r++)
            other = calls[r]->rank == calls[r]->peer ? calls[r] : other;
        if (one->host == other->host || ((from_root || to_root) && other->rank != other->peer))
            continue;
        if (!to_root)
            rc = sonde__clocks_before(k->clocks, other->host, other->posted_ns, one->host, one->leave_ns);
        if (!rc && !from_root)
            rc = sonde__clocks_before(k->clocks, one->host, one->posted_ns, other->host, other->leave_ns);
    }
    return rc;
}

/* The `count` calls that belong together. */
static int match_calls(struct sonde__matching *k, struct sonde__matched **calls, size_t count)
{
    const struct sonde__matched *last = calls[0], *before = NULL, *root = NULL; /* before: of those that are no root, the last */
    bool mixed = false, apart = false;
    for (size_t i = 0; i < count; i++) {
        const struct sonde__matched *c = calls[i];
        mixed |= c->kind != calls[0]->kind || c->peer != calls[0]->peer;
        apart |= !sonde__clocks_agree(k->clocks, c->host, calls[0]->host);
        last = later(k, c, last) ? c : last;
        if (c->rank == c->peer)
            root = c;
        else if (!before || later(k, c, before))
            before = c;
    }
    if (k->aligns)
        return mixed ? 0 : align_calls(k, calls, count);
    k->mixed += mixed ? count : 0;
    k->apart += !mixed && apart ? count : 0;
    if (mixed || apart)
        return 0;
    for (size_t i = 0; i < count; i++) {
        struct sonde__matched *c = calls[i];
        if (c->kind == SONDE_MESSAGE_BARRIER || c->kind == SONDE_MESSAGE_ALL_TO_ALL)
            waits(k, c, c->kind == SONDE_MESSAGE_BARRIER ? SONDE_MESSAGE_WAIT_BARRIER : SONDE_MESSAGE_WAIT_ALL_TO_ALL, last->posted_ns, last);
        else if (c->kind == SONDE_MESSAGE_FROM_ROOT && root && c != root)
            waits(k, c, SONDE_MESSAGE_WAIT_LATE_ROOT, root->posted_ns, root);
        else if (c->kind == SONDE_MESSAGE_TO_ROOT && c == root && before)
            waits(k, c, SONDE_MESSAGE_WAIT_EARLY_ROOT, before->posted_ns, before);
    }
    return k->together ? k->together(k->user, calls, count, root) : 0;
}

/* `begin`: [ranks + 1], where each rank's calls on one communicator begin. */
static int match_comm(struct sonde__matching *k, struct sonde__matched **list, size_t count)
{
    SONDE_VECTOR(size_t) begin = {0};
    SONDE_VECTOR(struct sonde__matched *) calls = {0};
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++)
        if (!i || list[i]->rank != list[i - 1]->rank)
            rc = sonde_vector_push(&begin, i);
    rc = rc ? rc : sonde_vector_push(&begin, count);
    bool as_many = true;
    for (size_t r = 0; r + 1 < begin.count && !rc; r++)
        as_many &= begin.items[r + 1] - begin.items[r] == begin.items[1] - begin.items[0];
    for (size_t nth = 0; !rc && (as_many || !k->aligns); nth++) {
        calls.count = 0;
        for (size_t r = 0; r + 1 < begin.count && !rc; r++)
            if (begin.items[r] + nth < begin.items[r + 1])
                rc = sonde_vector_push(&calls, list[begin.items[r] + nth]);
        if (!calls.count)
            break;
        rc = rc ? rc : match_calls(k, calls.items, calls.count);
    }
    sonde_vector_fini(&begin);
    sonde_vector_fini(&calls);
    return rc;
}

static int match_collectives(struct sonde__matching *k, struct sonde__matched **list, size_t count)
{
    int rc = 0;
    qsort(list, count, sizeof *list, by_comm);
    for (size_t i = 0, n; i < count && !rc; i += n) {
        for (n = 1; i + n < count && list[i + n]->comm == list[i]->comm; n++)
            ;
        rc = list[i]->comm ? match_comm(k, &list[i], n) : 0;
    }
    return rc;
}

int sonde__matching_read(struct sonde__matching *k)
{
    const int rc = read_all(k);
    return rc || !k->profile ? rc : keep_looks(k);
}

static int match_both(struct sonde__matching *k)
{
    SONDE_VECTOR(struct sonde__matched *) single = {0}, common = {0};
    int rc = 0;
    for (size_t i = 0; i < k->all.count && !rc; i++) {
        struct sonde__matched *one = &k->all.items[i];
        if (sonde__matched_is_collective(one))
            rc = sonde_vector_push(&common, one);
        else if (one->kind != SONDE_MESSAGE_CALL && one->peer != UINT32_MAX)
            rc = sonde_vector_push(&single, one);
    }
    rc = rc || !single.count ? rc : match_all(k, single.items, single.count);
    rc = rc || !common.count ? rc : match_collectives(k, common.items, common.count);
    sonde_vector_fini(&single);
    sonde_vector_fini(&common);
    return rc;
}

/* Is it certain which belong together, the n-th of each? */
static int are_whole(const struct sonde__matching *k, bool *whole)
{
    int rc = 0;
    *whole = true;
    for (uint32_t i = 0; i < k->m->process_count && *whole && !rc; i++)
        if (k->m->processes[i].header.rank)
            rc = sonde__trace_is_whole(k->m, &k->m->processes[i], whole);
    return rc;
}

/* No clock is set by what may belong to another. */
int sonde__matching_align(struct sonde__matching *k)
{
    bool whole;
    int rc = are_whole(k, &whole);
    k->aligns = true;
    rc = rc || !whole ? rc : match_both(k);
    k->aligns = false;
    k->messages = k->alone = 0;
    rc = rc ? rc : sonde__collective_bounds(k->m, k->clocks);
    return rc ? rc : sonde__clocks_align(k->clocks);
}

int sonde__matching_match(struct sonde__matching *k)
{
    const int rc = k->clocks->names.count > 1 ? sonde__matching_align(k) : 0;
    return rc ? rc : match_both(k);
}

void sonde__matching_fini(struct sonde__matching *k)
{
    sonde_vector_fini(&k->all);
    sonde_map_fini(&k->looks);
    sonde_map_fini(&k->by_rank);
}
