/* messages.c - see messages.h. */
#include "messages.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "analyze/trace/trace.h"
#include "base/map.h"
#include "late.h"
#include "needs.h"

/* A row, with what of it is the same in all ranks. */
struct one {
    uint64_t enter_ns, leave_ns, posted_ns, bytes;
    uint32_t process, lane, node; /* node: of the profile's tree */
    uint32_t rank, peer;          /* peer UINT32_MAX: none */
    uint32_t comm, tag, host;     /* interned */
    uint32_t kind;
    uint32_t for_rank;            /* for whom it waited: */
    uint64_t wait_ns;
    enum sonde_message_wait wait;
};

struct making {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde_messages *out;
    struct sonde_intern hosts;
    SONDE_VECTOR(struct one) all;
    struct sonde_map looks;  /* process and entry of calls that looked for a message -> index + 1 */
    struct sonde_intern functions;
    struct sonde_map collectives; /* function and communicator -> index + 1 */
    uint32_t process, rank, host; /* whose rows are read */
    struct sonde_needs *needs;    /* NULL: not wanted */
    struct sonde_message_partners *partners; /* NULL: not wanted; of one call: */
    uint32_t of_process, of_lane;
    uint64_t at_ns;
};

#define CHAIN_MAX 16  /* ranks that wait for each other, one after the other, are followed so far */

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* ---- reading ---------------------------------------------------------------------------- */

static int take(void *user, uint32_t lane, const void *batch)
{
    struct making *k = user;
    const struct sonde_row_message *row = batch;
    const struct sonde_process *p = &k->m->processes[k->process];
    const struct one one = {
        .enter_ns = row->enter_ns,
        .leave_ns = row->leave_ns > row->enter_ns ? row->leave_ns : row->enter_ns,
        .posted_ns = row->posted_ns && row->posted_ns < row->enter_ns ? row->posted_ns : row->enter_ns,
        .bytes = row->bytes,
        .process = k->process,
        .lane = lane,
        .node = sonde_profile_locate(k->profile, k->process, row->node),
        .rank = k->rank,
        .peer = row->peer - 1,
        .comm = sonde_intern_text(&k->out->comms, sonde_process_string(p, row->comm)),
        .tag = row->tag,
        .host = k->host,
        .kind = row->kind < SONDE_MESSAGE_KINDS ? row->kind : SONDE_MESSAGE_CALL,
        .for_rank = UINT32_MAX,
    };
    return sonde_vector_push(&k->all, one);
}

static int read_all(struct making *k)
{
    int rc = 0;
    for (k->process = 0; k->process < k->m->process_count && !rc; k->process++) {
        const struct sonde_process *p = &k->m->processes[k->process];
        k->out->lost += p->header.message_rows_dropped;
        if (!p->header.rank)
            continue;
        k->rank = p->header.rank - 1;
        k->host = sonde_intern_bytes(&k->hosts, p->name, sonde_host_length(p->name));
        rc = k->host ? sonde_trace_each(p, &(struct sonde_trace_stored){.table = SONDE_TABLE_MESSAGE}, take, k) : SONDE_ENOMEM;
    }
    return rc;
}

/* ---- one to one -------------------------------------------------------------------------------- */

static bool is_sent(const struct one *one)
{
    return one->kind == SONDE_MESSAGE_SEND;
}

static uint32_t from(const struct one *one)
{
    return is_sent(one) ? one->rank : one->peer;
}

static uint32_t to(const struct one *one)
{
    return is_sent(one) ? one->peer : one->rank;
}

/* Of the same two ranks, communicator and tag, sends first, each in the order in which they were begun. */
static int same_way(const struct one *a, const struct one *b)
{
    int order = by_number(a->comm, b->comm);
    order = order ? order : by_number(from(a), from(b));
    order = order ? order : by_number(to(a), to(b));
    return order ? order : by_number(a->tag, b->tag);
}

static int by_way(const void *left, const void *right)
{
    const struct one *a = *(struct one *const *)left, *b = *(struct one *const *)right;
    int order = same_way(a, b);
    order = order ? order : by_number(!is_sent(a), !is_sent(b));
    order = order ? order : by_number(a->posted_ns, b->posted_ns);
    return order ? order : (a < b ? -1 : a > b);
}

/* `waiter` could not go on before `ns`, when `other` began what it needed. */
static void waits(struct one *waiter, enum sonde_message_wait wait, uint64_t ns, const struct one *other)
{
    const uint64_t until_ns = ns < waiter->leave_ns ? ns : waiter->leave_ns;
    if (until_ns <= waiter->enter_ns)
        return;
    waiter->wait = wait;
    waiter->wait_ns = until_ns - waiter->enter_ns;
    waiter->for_rank = other->rank;
}

/* ---- who needed whom --------------------------------------------------------------------------- */

/* `one` began at `ns` what the latest meeting is about. */
static int add_point(struct making *k, const struct one *one, uint64_t ns)
{
    return sonde__needs_point(k->needs, (struct sonde_need_point){.process = one->process, .lane = one->lane, .ns = ns});
}

/* `waiter` could not go on before the latest meeting. */
static int add_need(struct making *k, const struct one *waiter)
{
    return sonde__needs_add(k->needs, (struct sonde_need){.process = waiter->process, .lane = waiter->lane, .enter_ns = waiter->enter_ns}, waiter->leave_ns);
}

/* One thread needed another. */
static int add_single(struct making *k, const struct one *waiter, const struct one *also, const struct one *other, uint64_t ns)
{
    int rc = sonde__needs_meet(k->needs);
    rc = rc ? rc : add_point(k, other, ns);
    rc = rc ? rc : add_need(k, waiter);
    return rc || !also ? rc : add_need(k, also);
}

/* ---- who belongs to one call -------------------------------------------------------------------- */

/* It is the one, or ends what that began. */
static bool is_asked_for(const struct making *k, const struct one *one)
{
    return k->partners && one->process == k->of_process && one->lane == k->of_lane && (one->enter_ns == k->partners->enter_ns || one->posted_ns == k->partners->enter_ns);
}

/* `waiter`: whose waiting is told, `own` or the call that looked for it. */
static int add_partner(struct making *k, const struct one *own, const struct one *waiter, const struct one *other)
{
    const bool own_waits = waiter->wait_ns && waiter->for_rank == other->rank, other_waits = other->wait_ns && other->for_rank == own->rank;
    k->partners->wait_ns = waiter->wait_ns > k->partners->wait_ns ? waiter->wait_ns : k->partners->wait_ns;
    return sonde_vector_push(&k->partners->items, (struct sonde_message_partner){
                                                      .process = other->process,
                                                      .lane = other->lane,
                                                      .rank = other->rank,
                                                      .node = other->node,
                                                      .kind = own->kind,
                                                      .enter_ns = other->enter_ns,
                                                      .leave_ns = other->leave_ns,
                                                      .bytes = own->bytes,
                                                      .tag = own->tag,
                                                      .decided = own_waits,
                                                      .waited = other_waits,
                                                  });
}

static int add_partners(struct making *k, const struct one *sent, const struct one *received, const struct one *look)
{
    const bool looked = look && look->enter_ns == k->partners->enter_ns;
    int rc = is_asked_for(k, sent) ? add_partner(k, sent, sent, received) : 0;
    return rc || !is_asked_for(k, received) ? rc : add_partner(k, received, looked ? look : received, sent);
}

/* All others of what all do together. */
static int add_all_partners(struct making *k, struct one **calls, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++)
        for (size_t other = 0; is_asked_for(k, calls[i]) && other < count && !rc; other++)
            rc = other == i ? 0 : add_partner(k, calls[i], calls[i], calls[other]);
    return rc;
}

static uint64_t key_of(uint32_t process, uint64_t enter_ns)
{
    return sonde_hash_mix(process + 1, enter_ns);
}

/* They wait for what is received later; what only begins a receive does not. */
static bool is_look(const struct making *k, const struct one *one)
{
    const char *name = k->profile->nodes.items[one->node].name;
    return one->kind == SONDE_MESSAGE_CALL && (strcmp(name, "MPI_Mprobe") == 0 || strcmp(name, "MPI_Probe") == 0);
}

static int keep_looks(struct making *k)
{
    int rc = 0;
    for (size_t i = 0; i < k->all.count && !rc; i++)
        if (is_look(k, &k->all.items[i]))
            rc = sonde_map_put(&k->looks, key_of(k->all.items[i].process, k->all.items[i].enter_ns), i + 1);
    return rc ? SONDE_ENOMEM : 0;
}

/* The call that looked for what was received later; NULL: none. */
static struct one *look_of(struct making *k, const struct one *one)
{
    uint64_t at;
    if (one->posted_ns == one->enter_ns || !sonde_map_get(&k->looks, key_of(one->process, one->posted_ns), &at))
        return NULL;
    struct one *look = &k->all.items[at - 1];
    return look->process == one->process && look->enter_ns == one->posted_ns ? look : NULL;
}

static int match(struct making *k, struct one *sent, struct one *received)
{
    struct one *look = look_of(k, received);
    int rc = 0;
    if (sent->host != received->host) {
        k->out->apart++;
        return 0;
    }
    waits(received, SONDE_MESSAGE_WAIT_LATE_SENDER, sent->enter_ns, sent);
    if (look)
        waits(look, SONDE_MESSAGE_WAIT_LATE_SENDER, sent->enter_ns, sent);
    const bool late = received->posted_ns > sent->enter_ns && received->posted_ns <= sent->leave_ns; /* else it did not wait for that */
    if (late)
        waits(sent, SONDE_MESSAGE_WAIT_LATE_RECEIVER, received->posted_ns, received);
    if (k->partners)
        rc = add_partners(k, sent, received, look);
    if (k->needs)
        rc = add_single(k, received, look, sent, sent->enter_ns);
    return rc || !k->needs || !late ? rc : add_single(k, sent, NULL, received, received->posted_ns);
}

static int pair_of(struct making *k, const struct one *one, bool new)
{
    if (new && sonde_vector_push(&k->out->pairs, (struct sonde_message_pair){.from = from(one), .to = to(one)}))
        return SONDE_ENOMEM;
    struct sonde_message_pair *pair = &k->out->pairs.items[k->out->pairs.count - 1];
    pair->count++;
    pair->bytes += one->bytes;
    pair->largest = one->bytes > pair->largest ? one->bytes : pair->largest;
    return 0;
}

static int by_pair(const void *left, const void *right)
{
    const struct one *a = *(struct one *const *)left, *b = *(struct one *const *)right;
    const int order = by_number(from(a), from(b));
    return order ? order : by_number(to(a), to(b));
}

static int match_all(struct making *k, struct one **list, size_t count)
{
    qsort(list, count, sizeof *list, by_way);
    for (size_t i = 0, n; i < count; i += n) {
        size_t sends = 0;
        for (n = 0; i + n < count && !same_way(list[i], list[i + n]); n++)
            sends += is_sent(list[i + n]);
        const size_t receives = n - sends, both = sends < receives ? sends : receives;
        for (size_t j = 0; j < both; j++)
            if (match(k, list[i + j], list[i + sends + j]))
                return SONDE_ENOMEM;
        k->out->alone += sends + receives - 2 * both;
        k->out->messages += sends > receives ? sends : receives;
    }
    qsort(list, count, sizeof *list, by_pair);
    for (size_t i = 0, last = SIZE_MAX; i < count; i++) {
        if (!is_sent(list[i]))
            continue;
        if (pair_of(k, list[i], last == SIZE_MAX || by_pair(&list[last], &list[i])))
            return SONDE_ENOMEM;
        last = i;
    }
    return 0;
}

/* ---- all of a communicator ----------------------------------------------------------------------------- */

static int by_comm(const void *left, const void *right)
{
    const struct one *a = *(struct one *const *)left, *b = *(struct one *const *)right;
    int order = by_number(a->comm, b->comm);
    order = order ? order : by_number(a->rank, b->rank);
    order = order ? order : by_number(a->posted_ns, b->posted_ns);
    return order ? order : (a < b ? -1 : a > b);
}

/* Who of the `count` calls needed which of them: all of all, all of the root, the root of all others. */
static int add_meeting(struct making *k, struct one **calls, size_t count, const struct one *root)
{
    const uint32_t kind = calls[0]->kind;
    const bool from_root = kind == SONDE_MESSAGE_FROM_ROOT, to_root = kind == SONDE_MESSAGE_TO_ROOT;
    if (kind == SONDE_MESSAGE_PREFIX || ((from_root || to_root) && !root) || (to_root && count < 2))
        return 0;
    int rc = sonde__needs_meet(k->needs);
    for (size_t i = 0; i < count && !rc; i++)
        if (from_root ? calls[i] == root : !to_root || calls[i] != root)
            rc = add_point(k, calls[i], calls[i]->posted_ns);
    for (size_t i = 0; i < count && !rc; i++)
        if (to_root ? calls[i] == root : calls[i] != root)
            rc = add_need(k, calls[i]);
    return rc;
}

/* The `count` calls that belong together. */
static int match_calls(struct making *k, struct one **calls, size_t count)
{
    struct sonde_messages *out = k->out;
    const struct one *last = calls[0], *before = NULL, *root = NULL; /* before: of those that are no root, the last */
    bool mixed = false, apart = false;
    for (size_t i = 0; i < count; i++) {
        const struct one *c = calls[i];
        mixed |= c->kind != calls[0]->kind || c->peer != calls[0]->peer;
        apart |= c->host != calls[0]->host;
        last = c->posted_ns > last->posted_ns ? c : last;
        if (c->rank == c->peer)
            root = c;
        else if (!before || c->posted_ns > before->posted_ns)
            before = c;
    }
    out->mixed += mixed ? count : 0;
    out->apart += !mixed && apart ? count : 0;
    for (size_t i = 0; i < count && !mixed && !apart; i++) {
        struct one *c = calls[i];
        if (c->kind == SONDE_MESSAGE_BARRIER || c->kind == SONDE_MESSAGE_ALL_TO_ALL)
            waits(c, c->kind == SONDE_MESSAGE_BARRIER ? SONDE_MESSAGE_WAIT_BARRIER : SONDE_MESSAGE_WAIT_ALL_TO_ALL, last->posted_ns, last);
        else if (c->kind == SONDE_MESSAGE_FROM_ROOT && root && c != root)
            waits(c, SONDE_MESSAGE_WAIT_LATE_ROOT, root->posted_ns, root);
        else if (c->kind == SONDE_MESSAGE_TO_ROOT && c == root && before)
            waits(c, SONDE_MESSAGE_WAIT_EARLY_ROOT, before->posted_ns, before);
    }
    if (k->partners && !mixed && !apart)
        return add_all_partners(k, calls, count);
    return k->needs && !mixed && !apart ? add_meeting(k, calls, count, root) : 0;
}

/* `begin`: [ranks + 1], where each rank's calls on one communicator begin. */
static int match_comm(struct making *k, struct one **list, size_t count)
{
    SONDE_VECTOR(size_t) begin = {0};
    SONDE_VECTOR(struct one *) calls = {0};
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++)
        if (!i || list[i]->rank != list[i - 1]->rank)
            rc = sonde_vector_push(&begin, i);
    rc = rc ? rc : sonde_vector_push(&begin, count);
    for (size_t nth = 0; !rc; nth++) {
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

static int match_collectives(struct making *k, struct one **list, size_t count)
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

/* ---- sums ---------------------------------------------------------------------------------------------- */

static int by_call(const void *left, const void *right)
{
    const struct one *a = left, *b = right;
    int order = by_number(a->rank, b->rank);
    order = order ? order : by_number(a->process, b->process);
    order = order ? order : by_number(a->lane, b->lane);
    order = order ? order : by_number(a->enter_ns, b->enter_ns);
    return order ? order : by_number(b->wait_ns, a->wait_ns); /* of one call, what it waited for last comes first */
}

static bool same_call(const struct one *a, const struct one *b)
{
    return a->process == b->process && a->lane == b->lane && a->enter_ns == b->enter_ns;
}

static void add_message(struct sonde_message_rank *r, const struct one *one)
{
    if (is_sent(one)) {
        r->sent++;
        r->sent_bytes += one->bytes;
    } else if (one->kind == SONDE_MESSAGE_RECEIVE) {
        r->received++;
        r->received_bytes += one->bytes;
    }
}

static struct sonde_message_rank *rank_of(struct making *k, const struct one *one)
{
    struct sonde_messages *out = k->out;
    struct sonde_message_rank *last = out->ranks.count ? &out->ranks.items[out->ranks.count - 1] : NULL;
    if (last && last->rank == one->rank)
        return last;
    const struct sonde_live_header *h = &k->m->processes[one->process].header;
    if (sonde_vector_push(&out->ranks, (struct sonde_message_rank){.rank = one->rank, .wall_ns = h->stop_ns > h->start_ns ? h->stop_ns - h->start_ns : 0}))
        return NULL;
    return &out->ranks.items[out->ranks.count - 1];
}

static int by_place(const void *left, const void *right)
{
    const struct one *a = *(struct one *const *)left, *b = *(struct one *const *)right;
    int order = by_number(a->wait, b->wait);
    order = order ? order : by_number(a->node, b->node);
    return order ? order : by_number(a->rank, b->rank);
}

/* Whose waits of one place are longest, added up; or, `for_whom`, for whom they are. */
static int largest(struct one **list, size_t count, bool for_whom, uint32_t *rank, uint64_t *ns)
{
    struct sonde_map sums = {0};
    int rc = 0;
    *ns = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        const uint32_t who = for_whom ? list[i]->for_rank : list[i]->rank;
        uint64_t sum = 0;
        sonde_map_get(&sums, (uint64_t)who + 1, &sum);
        sum += list[i]->wait_ns;
        rc = sonde_map_put(&sums, (uint64_t)who + 1, sum);
        if (sum > *ns || (sum == *ns && who < *rank)) {
            *ns = sum;
            *rank = who;
        }
    }
    sonde_map_fini(&sums);
    return rc ? SONDE_ENOMEM : 0;
}

static int longest_place(const void *left, const void *right)
{
    const struct sonde_message_place *a = left, *b = right;
    const int order = by_number(b->ns, a->ns);
    return order ? order : by_number(a->node, b->node);
}

/* Waits of a list. */
struct chosen {
    enum sonde_message_wait kind;
    uint32_t node, rank, for_rank; /* UINT32_MAX: any */
};

static bool is_chosen(const struct one *one, const struct chosen *c)
{
    return (c->node == UINT32_MAX || (one->node == c->node && one->wait == c->kind)) && (c->rank == UINT32_MAX || one->rank == c->rank) && one->for_rank == c->for_rank;
}

/* As time, merged, in *out, which replaces what was there; where something was, as far as it lies within that. */
static int spans_of(struct one **waiting, size_t count, const struct chosen *c, struct sonde__late_span **out, size_t *span_count)
{
    struct sonde__late_span *before = *out;
    const size_t before_count = *span_count;
    SONDE_VECTOR(struct sonde__late_span) spans = {0};
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        const struct sonde__late_span all = {waiting[i]->enter_ns, waiting[i]->enter_ns + waiting[i]->wait_ns};
        if (!is_chosen(waiting[i], c))
            continue;
        if (!before)
            rc = sonde_vector_push(&spans, all);
        for (size_t k = sonde__late_after(before, before_count, all.from_ns); before && k < before_count && before[k].from_ns < all.to_ns && !rc; k++)
            rc = sonde_vector_push(&spans, sonde__late_cut(before[k], all));
    }
    free(before);
    *out = spans.items;
    *span_count = spans.count ? sonde__late_merge(spans.items, spans.count) : 0;
    return rc;
}

/* Did it wait itself, most of that time? Then in which call, and for whom, longest. */
static bool waited_itself(struct one **waiting, size_t count, const struct sonde__late_span *spans, size_t span_count, struct sonde_message_doing *doing,
                          uint32_t *for_rank)
{
    uint64_t sum = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        if (waiting[i]->rank != doing->rank)
            continue;
        const uint64_t ns = sonde__late_within(spans, span_count, waiting[i]->enter_ns, waiting[i]->enter_ns + waiting[i]->wait_ns);
        sum += ns;
        if (ns > most) {
            most = ns;
            doing->node = waiting[i]->node;
            *for_rank = waiting[i]->for_rank;
        }
    }
    if (2 * sum <= sonde__late_within(spans, span_count, 0, UINT64_MAX))
        return false;
    doing->cause = SONDE_MESSAGE_CAUSE_MESSAGES;
    doing->ns = sum;
    return true;
}

/* From the rank that was waited for, along those for which it waited itself, to one that did something. */
static int find_cause(struct making *k, struct one **waiting, size_t count, struct sonde_message_place *place)
{
    struct sonde__late_span *spans = NULL;
    size_t span_count = 0;
    struct chosen chosen = {.kind = place->kind, .node = place->node, .rank = UINT32_MAX, .for_rank = place->for_rank};
    int rc = spans_of(waiting, count, &chosen, &spans, &span_count);
    for (int link = 0; link < CHAIN_MAX && !rc && span_count; link++) {
        struct sonde_message_doing doing = {.rank = chosen.for_rank};
        uint32_t next = UINT32_MAX;
        const bool itself = waited_itself(waiting, count, spans, span_count, &doing, &next);
        if (!itself) {
            doing = (struct sonde_message_doing){.rank = chosen.for_rank};
            rc = sonde__late_find(k->m, k->profile, spans, span_count, &doing);
        }
        if (!link)
            place->doing = doing;
        place->root = doing;
        if (!itself)
            break;
        chosen = (struct chosen){.node = UINT32_MAX, .rank = doing.rank, .for_rank = next};
        rc = rc ? rc : spans_of(waiting, count, &chosen, &spans, &span_count);
    }
    free(spans);
    return rc;
}

static int sum_places(struct making *k, struct one **waiting, size_t count)
{
    int rc = 0;
    if (!count)
        return 0;
    qsort(waiting, count, sizeof *waiting, by_place);
    for (size_t i = 0, n; i < count && !rc; i += n) {
        struct sonde_message_place place = {.node = waiting[i]->node, .kind = waiting[i]->wait};
        for (n = 0; i + n < count && waiting[i + n]->wait == place.kind && waiting[i + n]->node == place.node; n++)
            place.ns += waiting[i + n]->wait_ns;
        place.count = n;
        rc = largest(&waiting[i], n, false, &place.most_rank, &place.most_ns);
        rc = rc ? rc : largest(&waiting[i], n, true, &place.for_rank, &place.for_ns);
        rc = rc ? rc : sonde_vector_push(&k->out->places, place);
    }
    if (k->out->places.count)
        qsort(k->out->places.items, k->out->places.count, sizeof *k->out->places.items, longest_place);
    for (size_t i = 0; i < k->out->places.count && i < SONDE_MESSAGE_CAUSES && !rc; i++)
        rc = find_cause(k, waiting, count, &k->out->places.items[i]);
    return rc;
}

static bool is_collective(const struct one *one)
{
    return one->kind > SONDE_MESSAGE_RECEIVE;
}

static int longest_collective(const void *left, const void *right)
{
    const struct sonde_message_collective *a = left, *b = right;
    int order = by_number(b->ns, a->ns);
    order = order ? order : strcmp(a->function, b->function);
    return order ? order : strcmp(a->comm, b->comm);
}

static int sum_collective(struct making *k, const struct one *one)
{
    struct sonde_messages *out = k->out;
    const char *function = k->profile->nodes.items[one->node].name;
    const uint64_t key = ((uint64_t)sonde_intern_text(&k->functions, function) << 32 | one->comm) + 1;
    uint64_t at;
    if (!sonde_map_get(&k->collectives, key, &at)) {
        at = out->collectives.count + 1;
        if (sonde_map_put(&k->collectives, key, at) ||
            sonde_vector_push(&out->collectives, (struct sonde_message_collective){.function = function, .comm = sonde_intern_get(&out->comms, one->comm)}))
            return SONDE_ENOMEM;
    }
    struct sonde_message_collective *c = &out->collectives.items[at - 1];
    c->count++;
    c->bytes += one->bytes;
    c->ns += one->leave_ns - one->enter_ns;
    c->wait_ns += one->wait_ns;
    return 0;
}

/* Calls by rank; of a call that has several rows the first one stands for all. */
static int sum_all(struct making *k)
{
    SONDE_VECTOR(struct one *) waiting = {0};
    const struct one *call = NULL;
    uint64_t until_ns = 0; /* calls may lie within others of their thread: the library calls itself */
    int rc = 0;
    if (k->all.count)
        qsort(k->all.items, k->all.count, sizeof *k->all.items, by_call);
    for (size_t i = 0; i < k->all.count && !rc; i++) {
        struct one *one = &k->all.items[i];
        struct sonde_message_rank *r = rank_of(k, one);
        if (!r)
            rc = SONDE_ENOMEM;
        if (rc)
            break;
        add_message(r, one);
        rc = is_collective(one) ? sum_collective(k, one) : 0;
        if (call && same_call(call, one))
            continue;
        if (!call || call->process != one->process || call->lane != one->lane)
            until_ns = 0;
        call = one;
        const uint64_t from_ns = one->enter_ns > until_ns ? one->enter_ns : until_ns;
        r->calls_ns += one->leave_ns > from_ns ? one->leave_ns - from_ns : 0;
        until_ns = one->leave_ns > until_ns ? one->leave_ns : until_ns;
        if (!one->wait_ns)
            continue;
        r->wait_ns[one->wait] += one->wait_ns;
        rc = rc ? rc : sonde_vector_push(&waiting, one);
    }
    rc = rc ? rc : sum_places(k, waiting.items, waiting.count);
    if (k->out->collectives.count)
        qsort(k->out->collectives.items, k->out->collectives.count, sizeof *k->out->collectives.items, longest_collective);
    sonde_vector_fini(&waiting);
    return rc;
}

static int most_bytes(const void *left, const void *right)
{
    const struct sonde_message_pair *a = left, *b = right;
    int order = by_number(b->bytes, a->bytes);
    order = order ? order : by_number(a->from, b->from);
    return order ? order : by_number(a->to, b->to);
}

static int match_both(struct making *k)
{
    SONDE_VECTOR(struct one *) single = {0}, common = {0};
    int rc = 0;
    for (size_t i = 0; i < k->all.count && !rc; i++) {
        struct one *one = &k->all.items[i];
        if (is_collective(one))
            rc = sonde_vector_push(&common, one);
        else if (one->kind != SONDE_MESSAGE_CALL && one->peer != UINT32_MAX)
            rc = sonde_vector_push(&single, one);
    }
    rc = rc || !single.count ? rc : match_all(k, single.items, single.count);
    rc = rc || !common.count ? rc : match_collectives(k, common.items, common.count);
    if (k->out->pairs.count)
        qsort(k->out->pairs.items, k->out->pairs.count, sizeof *k->out->pairs.items, most_bytes);
    sonde_vector_fini(&single);
    sonde_vector_fini(&common);
    return rc;
}

/* The innermost that the thread was in then. */
static bool find_call(struct making *k, uint64_t at_ns)
{
    struct sonde_message_partners *out = k->partners;
    for (size_t i = 0; i < k->all.count; i++) {
        const struct one *one = &k->all.items[i];
        if (one->process != k->of_process || one->lane != k->of_lane || one->enter_ns > at_ns || one->leave_ns < at_ns || (out->node && one->enter_ns < out->enter_ns))
            continue;
        out->node = one->node;
        out->enter_ns = one->enter_ns;
        out->leave_ns = one->leave_ns;
    }
    return out->node != 0;
}

static int make(struct making *k)
{
    int rc = read_all(k);
    rc = rc ? rc : keep_looks(k);
    if (!rc && k->partners && !find_call(k, k->at_ns))
        k->all.count = 0;
    rc = rc ? rc : match_both(k);
    rc = rc || k->needs || k->partners ? rc : sum_all(k);
    sonde_vector_fini(&k->all);
    sonde_map_fini(&k->looks);
    sonde_map_fini(&k->collectives);
    sonde_intern_fini(&k->functions);
    sonde_intern_fini(&k->hosts);
    return rc;
}

int sonde_messages_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_messages *out)
{
    return make(&(struct making){.m = m, .profile = profile, .out = out});
}

int sonde__message_needs(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_needs *out)
{
    struct sonde_messages messages = {0};
    const int rc = make(&(struct making){.m = m, .profile = profile, .out = &messages, .needs = out});
    sonde_messages_fini(&messages);
    return rc;
}

static int by_rank(const void *left, const void *right)
{
    const struct sonde_message_partner *a = left, *b = right;
    const int order = by_number(a->rank, b->rank);
    return order ? order : by_number(a->enter_ns, b->enter_ns);
}

int sonde_message_partners_find(const struct sonde_measurement *m, const struct sonde_profile *profile, uint32_t process, uint32_t lane, uint64_t at_ns,
                                struct sonde_message_partners *out)
{
    struct sonde_messages messages = {0};
    const int rc = make(&(struct making){.m = m, .profile = profile, .out = &messages, .partners = out, .of_process = process, .of_lane = lane, .at_ns = at_ns});
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, by_rank);
    sonde_messages_fini(&messages);
    return rc;
}

void sonde_message_partners_fini(struct sonde_message_partners *partners)
{
    sonde_vector_fini(&partners->items);
}

void sonde_messages_fini(struct sonde_messages *messages)
{
    sonde_vector_fini(&messages->ranks);
    sonde_vector_fini(&messages->pairs);
    sonde_vector_fini(&messages->places);
    sonde_vector_fini(&messages->collectives);
    sonde_intern_fini(&messages->comms);
}
