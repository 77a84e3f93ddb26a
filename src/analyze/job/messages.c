/* messages.c - see messages.h. */
#include "messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "late.h"
#include "matching.h"

struct making {
    struct sonde__matching matching;
    struct sonde_messages *out;
    struct sonde_intern functions;
    struct sonde_map collectives; /* function and communicator -> index + 1 */
};

#define CHAIN_MAX 16 /* ranks that wait for each other, one after the other, are followed so far */

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static int by_call(const void *left, const void *right)
{
    const struct sonde__matched *a = left, *b = right;
    int order = by_number(a->rank, b->rank);
    order = order ? order : by_number(a->process, b->process);
    order = order ? order : by_number(a->lane, b->lane);
    order = order ? order : by_number(a->enter_ns, b->enter_ns);
    return order ? order : by_number(b->wait_ns, a->wait_ns); /* of one call, what it waited for last comes first */
}

static bool same_call(const struct sonde__matched *a, const struct sonde__matched *b)
{
    return a->process == b->process && a->lane == b->lane && a->enter_ns == b->enter_ns;
}

static void add_message(struct sonde_message_rank *r, const struct sonde__matched *one)
{
    if (sonde__matched_is_sent(one)) {
        r->sent++;
        r->sent_bytes += one->bytes;
    } else if (one->kind == SONDE_MESSAGE_RECEIVE) {
        r->received++;
        r->received_bytes += one->bytes;
    }
}

static struct sonde_message_rank *rank_of(struct making *k, const struct sonde__matched *one)
{
    struct sonde_messages *out = k->out;
    struct sonde_message_rank *last = out->ranks.count ? &out->ranks.items[out->ranks.count - 1] : NULL;
    if (last && last->rank == one->rank)
        return last;
    const struct sonde_live_header *h = &k->matching.m->processes[one->process].header;
    if (sonde_vector_push(&out->ranks, (struct sonde_message_rank){.rank = one->rank, .wall_ns = h->stop_ns > h->start_ns ? h->stop_ns - h->start_ns : 0}))
        return NULL;
    return &out->ranks.items[out->ranks.count - 1];
}

static int by_place(const void *left, const void *right)
{
    const struct sonde__matched *a = *(struct sonde__matched *const *)left, *b = *(struct sonde__matched *const *)right;
    int order = by_number(a->wait, b->wait);
    order = order ? order : by_number(a->node, b->node);
    return order ? order : by_number(a->rank, b->rank);
}

/* Whose waits of one place are longest, added up; or, `for_whom`, for whom they are. */
static int largest(struct sonde__matched **list, size_t count, bool for_whom, uint32_t *rank, uint64_t *ns)
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

static bool is_chosen(const struct sonde__matched *one, const struct chosen *c)
{
    return (c->node == UINT32_MAX || (one->node == c->node && one->wait == c->kind)) && (c->rank == UINT32_MAX || one->rank == c->rank) && one->for_rank == c->for_rank;
}

/* A span of the waiter's clock, by that of whom it waited for. */
static struct sonde__late_span by_other(const struct sonde__clocks *clocks, const struct sonde__matched *one, struct sonde__late_span span)
{
    return (struct sonde__late_span){sonde__clocks_move(clocks, one->host, span.from_ns, one->for_host), sonde__clocks_move(clocks, one->host, span.to_ns, one->for_host)};
}

/* As time, merged, in *out, by the clock of whom was waited for; it replaces what was there, which is by that of who waited: as far as it lies within that. */
static int spans_of(const struct sonde__clocks *clocks, struct sonde__matched **waiting, size_t count, const struct chosen *c, struct sonde__late_span **out, size_t *span_count)
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
            rc = sonde_vector_push(&spans, by_other(clocks, waiting[i], all));
        for (size_t k = sonde__late_after(before, before_count, all.from_ns); before && k < before_count && before[k].from_ns < all.to_ns && !rc; k++)
            rc = sonde_vector_push(&spans, by_other(clocks, waiting[i], sonde__late_cut(before[k], all)));
    }
    free(before);
    *out = spans.items;
    *span_count = spans.count ? sonde__late_merge(spans.items, spans.count) : 0;
    return rc;
}

/* Did it wait itself, most of that time? Then in which call, and for whom, longest. */
static bool waited_itself(struct sonde__matched **waiting, size_t count, const struct sonde__late_span *spans, size_t span_count, struct sonde_message_doing *doing,
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
static int find_cause(struct making *k, struct sonde__matched **waiting, size_t count, struct sonde_message_place *place)
{
    struct sonde__late_span *spans = NULL;
    size_t span_count = 0;
    struct chosen chosen = {.kind = place->kind, .node = place->node, .rank = UINT32_MAX, .for_rank = place->for_rank};
    int rc = spans_of(k->matching.clocks, waiting, count, &chosen, &spans, &span_count);
    for (int link = 0; link < CHAIN_MAX && !rc && span_count; link++) {
        struct sonde_message_doing doing = {.rank = chosen.for_rank};
        uint32_t next = UINT32_MAX;
        const bool itself = waited_itself(waiting, count, spans, span_count, &doing, &next);
        if (!itself) {
            doing = (struct sonde_message_doing){.rank = chosen.for_rank};
            rc = sonde__late_find(k->matching.m, k->matching.profile, spans, span_count, &doing);
        }
        if (!link)
            place->doing = doing;
        place->root = doing;
        if (!itself)
            break;
        chosen = (struct chosen){.node = UINT32_MAX, .rank = doing.rank, .for_rank = next};
        rc = rc ? rc : spans_of(k->matching.clocks, waiting, count, &chosen, &spans, &span_count);
    }
    free(spans);
    return rc;
}

static int sum_places(struct making *k, struct sonde__matched **waiting, size_t count)
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

static int longest_collective(const void *left, const void *right)
{
    const struct sonde_message_collective *a = left, *b = right;
    int order = by_number(b->ns, a->ns);
    order = order ? order : strcmp(a->function, b->function);
    return order ? order : strcmp(a->comm, b->comm);
}

static int sum_collective(struct making *k, const struct sonde__matched *one)
{
    struct sonde_messages *out = k->out;
    const char *function = k->matching.profile->nodes.items[one->node].name;
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
    SONDE_VECTOR(struct sonde__matched *) waiting = {0};
    const struct sonde__matched *call = NULL;
    uint64_t until_ns = 0; /* calls may lie within others of their thread: the library calls itself */
    int rc = 0;
    if (k->matching.all.count)
        qsort(k->matching.all.items, k->matching.all.count, sizeof *k->matching.all.items, by_call);
    for (size_t i = 0; i < k->matching.all.count && !rc; i++) {
        struct sonde__matched *one = &k->matching.all.items[i];
        struct sonde_message_rank *r = rank_of(k, one);
        if (!r)
            rc = SONDE_ENOMEM;
        if (rc)
            break;
        add_message(r, one);
        rc = sonde__matched_is_collective(one) ? sum_collective(k, one) : 0;
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

/* ---- pairs -------------------------------------------------------------------------------------------- */

static int by_pair(const void *left, const void *right)
{
    const struct sonde__matched *a = *(struct sonde__matched *const *)left, *b = *(struct sonde__matched *const *)right;
    const int order = by_number(a->rank, b->rank);
    return order ? order : by_number(a->peer, b->peer);
}

static int most_bytes(const void *left, const void *right)
{
    const struct sonde_message_pair *a = left, *b = right;
    int order = by_number(b->bytes, a->bytes);
    order = order ? order : by_number(a->from, b->from);
    return order ? order : by_number(a->to, b->to);
}

static int sum_pairs(struct making *k)
{
    struct sonde_messages *out = k->out;
    SONDE_VECTOR(struct sonde__matched *) sent = {0};
    int rc = 0;
    for (size_t i = 0; i < k->matching.all.count && !rc; i++) {
        struct sonde__matched *one = &k->matching.all.items[i];
        if (sonde__matched_is_sent(one) && one->peer != UINT32_MAX)
            rc = sonde_vector_push(&sent, one);
    }
    if (sent.count)
        qsort(sent.items, sent.count, sizeof *sent.items, by_pair);
    for (size_t i = 0; i < sent.count && !rc; i++) {
        const struct sonde__matched *one = sent.items[i];
        if (!i || by_pair(&sent.items[i - 1], &sent.items[i]))
            rc = sonde_vector_push(&out->pairs, (struct sonde_message_pair){.from = one->rank, .to = one->peer});
        if (rc)
            break;
        struct sonde_message_pair *pair = &out->pairs.items[out->pairs.count - 1];
        pair->count++;
        pair->bytes += one->bytes;
        pair->largest = one->bytes > pair->largest ? one->bytes : pair->largest;
    }
    if (out->pairs.count)
        qsort(out->pairs.items, out->pairs.count, sizeof *out->pairs.items, most_bytes);
    sonde_vector_fini(&sent);
    return rc;
}

int sonde_messages_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_messages *out)
{
    struct sonde__clocks clocks = {0};
    struct making k = {.matching = {.m = m, .profile = profile, .comms = &out->comms, .clocks = &clocks}, .out = out};
    int rc = sonde__matching_read(&k.matching);
    rc = rc ? rc : sonde__matching_match(&k.matching);
    rc = rc ? rc : sum_pairs(&k);
    rc = rc ? rc : sum_all(&k);
    out->messages = k.matching.messages;
    out->apart = k.matching.apart;
    out->alone = k.matching.alone;
    out->lost = k.matching.lost;
    out->mixed = k.matching.mixed;
    out->hosts = k.matching.hosts;
    out->clock_bound_ns = sonde__clocks_bound(&clocks);
    const char *hosts[2];
    for (int i = 0; i < 2 && sonde__clocks_contradict(&clocks, &hosts[0], &hosts[1]); i++)
        snprintf(out->contradict[i], sizeof out->contradict[i], "%s", hosts[i]);
    sonde__matching_fini(&k.matching);
    sonde__clocks_fini(&clocks);
    sonde_map_fini(&k.collectives);
    sonde_intern_fini(&k.functions);
    return rc;
}

void sonde_messages_fini(struct sonde_messages *messages)
{
    sonde_vector_fini(&messages->ranks);
    sonde_vector_fini(&messages->pairs);
    sonde_vector_fini(&messages->places);
    sonde_vector_fini(&messages->collectives);
    sonde_intern_fini(&messages->comms);
}
