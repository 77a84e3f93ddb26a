/* messages.c - see messages.h. */
#include "messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/recorded.h"
#include "analyze/model/steps.h"
#include "collectives.h"
#include "late.h"
#include "limits.h"
#include "matching.h"

typedef SONDE_VECTOR(struct sonde__matched *) waiting_list;
typedef SONDE_VECTOR(struct sonde__late_span) span_list;

struct making {
    struct sonde__matching matching;
    const struct sonde_message_window *window; /* NULL: the whole run */
    sonde__matched_list nccl;
    struct sonde_messages *out;
    struct sonde_intern functions;
    struct sonde_map collectives; /* function and communicator -> index + 1 */
    waiting_list waiting;         /* once for each call, or kernel, that waited */
    waiting_list together;        /* of what ranks did together */
    sonde_steps steps;
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

/* Mostly the one that was asked for last. */
/* The window by a process's own clock. */
static struct sonde__late_span window_of(const struct making *k, uint32_t process)
{
    const uint64_t offset = k->matching.m->processes[process].header.wall_offset_ns;
    if (!k->window)
        return (struct sonde__late_span){0, UINT64_MAX};
    return (struct sonde__late_span){k->window->from_ns > offset ? k->window->from_ns - offset : 0, k->window->to_ns > offset ? k->window->to_ns - offset : 0};
}

static void keep_window(const struct making *k, sonde__matched_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct sonde__late_span window = window_of(k, list->items[i].process);
        if (list->items[i].enter_ns >= window.from_ns && list->items[i].enter_ns < window.to_ns)
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static struct sonde_message_rank *rank_of(struct making *k, const struct sonde__matched *one)
{
    struct sonde_messages *out = k->out;
    for (size_t i = out->ranks.count; i-- > 0;)
        if (out->ranks.items[i].rank == one->rank)
            return &out->ranks.items[i];
    const struct sonde_live_header *h = &k->matching.m->processes[one->process].header;
    const struct sonde__late_span wall = sonde__late_cut((struct sonde__late_span){h->start_ns, h->stop_ns}, window_of(k, one->process));
    if (sonde_vector_push(&out->ranks, (struct sonde_message_rank){.rank = one->rank, .wall_ns = wall.to_ns > wall.from_ns ? wall.to_ns - wall.from_ns : 0}))
        return NULL;
    return &out->ranks.items[out->ranks.count - 1];
}

/* What MPI does in one place is told of all its communicators together. */
static uint32_t place_comm(const struct sonde__matched *one)
{
    return one->nccl ? one->comm : 0;
}

/* A call that waited for its receiver: was its message one of those that do? */
static void add_large(struct making *k, const struct sonde__matched *one)
{
    const uint64_t limit = sonde__limit_of(&k->matching.m->processes[one->process], one->host != one->for_host);
    if (one->wait != SONDE_MESSAGE_WAIT_LATE_RECEIVER)
        return;
    k->out->unlimited_ns += limit ? 0 : one->wait_ns;
    k->out->large_ns += limit && one->bytes >= limit ? one->wait_ns : 0;
}

static int by_place(const void *left, const void *right)
{
    const struct sonde__matched *a = *(struct sonde__matched *const *)left, *b = *(struct sonde__matched *const *)right;
    int order = by_number(a->wait, b->wait);
    order = order ? order : by_number(a->node, b->node);
    order = order ? order : by_number(place_comm(a), place_comm(b));
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
    uint32_t node, comm, rank, for_rank; /* node (with comm), rank: UINT32_MAX: any */
    bool nccl;
};

static bool is_chosen(const struct sonde__matched *one, const struct chosen *c)
{
    const bool there = c->node == UINT32_MAX ? one->nccl == c->nccl : one->node == c->node && one->wait == c->kind && place_comm(one) == c->comm;
    return there && (c->rank == UINT32_MAX || one->rank == c->rank) && one->for_rank == c->for_rank;
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

/* Did it wait itself, in MPI or in NCCL, most of that time? Then in which call, and for whom, longest. */
static bool waited_itself(const waiting_list *list, bool nccl, const struct sonde__late_span *spans, size_t span_count, struct sonde_message_doing *doing,
                          uint32_t *for_rank)
{
    struct sonde__matched *const *waiting = list->items;
    uint64_t sum = 0, most = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (waiting[i]->rank != doing->rank || waiting[i]->nccl != nccl)
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

static int find_late(const struct making *k, const struct sonde__late_span *spans, size_t span_count, struct sonde_message_doing *doing)
{
    span_list idle = {0};
    int rc = 0;
    for (size_t i = 0; i < k->waiting.count && !rc; i++) {
        const struct sonde__matched *one = k->waiting.items[i];
        if (one->nccl && one->rank == doing->rank)
            rc = sonde_vector_push(&idle, (struct sonde__late_span){one->enter_ns, one->enter_ns + one->wait_ns});
    }
    idle.count = idle.count ? sonde__late_merge(idle.items, idle.count) : 0;
    rc = rc ? rc : sonde__late_find(k->matching.m, k->matching.profile, spans, span_count, idle.items, idle.count, doing);
    sonde_vector_fini(&idle);
    return rc;
}

/* What doing->rank did while others waited for it, in NCCL or in MPI; true: it waited itself, `next` says how. Its kernel was late for what its device did, which
 * has its code run ahead, or since it was launched late; in MPI it was late for what its threads did, where they did anything. */
static int what_it_did(const struct making *k, bool nccl, const struct sonde__late_span *spans, size_t span_count, struct sonde_message_doing *doing,
                       struct chosen *next, bool *itself)
{
    const uint32_t rank = doing->rank;
    *next = (struct chosen){.node = UINT32_MAX, .rank = rank, .nccl = nccl};
    *itself = waited_itself(&k->waiting, nccl, spans, span_count, doing, &next->for_rank);
    if (!*itself && nccl) {
        next->nccl = false;
        *itself = waited_itself(&k->waiting, false, spans, span_count, doing, &next->for_rank);
    }
    if (*itself)
        return 0;
    *doing = (struct sonde_message_doing){.rank = rank};
    const int rc = find_late(k, spans, span_count, doing);
    if (nccl || (doing->cause == SONDE_MESSAGE_CAUSE_CODE && 2 * doing->ns > sonde__late_within(spans, span_count, 0, UINT64_MAX)))
        return rc;
    struct sonde_message_doing waited = {.rank = rank};
    next->nccl = true;
    *itself = !rc && waited_itself(&k->waiting, true, spans, span_count, &waited, &next->for_rank);
    *doing = *itself ? waited : *doing;
    return rc;
}

/* From the rank that was waited for, along those for which it waited itself, to one that did something. */
static int find_cause(struct making *k, uint32_t comm, struct sonde_message_place *place)
{
    struct sonde__matched **waiting = k->waiting.items;
    const size_t count = k->waiting.count;
    struct sonde__late_span *spans = NULL;
    size_t span_count = 0;
    struct chosen chosen = {.kind = place->kind, .node = place->node, .comm = comm, .nccl = *place->comm != 0, .rank = UINT32_MAX, .for_rank = place->for_rank};
    int rc = spans_of(k->matching.clocks, waiting, count, &chosen, &spans, &span_count);
    for (int link = 0; link < CHAIN_MAX && !rc && span_count; link++) {
        struct sonde_message_doing doing = {.rank = chosen.for_rank};
        struct chosen next;
        bool itself;
        rc = what_it_did(k, chosen.nccl, spans, span_count, &doing, &next, &itself);
        if (!link)
            place->doing = doing;
        place->root = doing;
        if (!itself)
            break;
        chosen = next;
        rc = rc ? rc : spans_of(k->matching.clocks, waiting, count, &chosen, &spans, &span_count);
    }
    free(spans);
    return rc;
}

/* ---- shares ---------------------------------------------------------------------------------------------- */

static int push_span(span_list *list, struct sonde__late_span span)
{
    return span.to_ns > span.from_ns ? sonde_vector_push(list, span) : 0;
}

/* When a rank was in its steps; merged. */
static int steps_of(const struct making *k, uint32_t rank, span_list *out)
{
    int rc = 0;
    for (size_t i = 0; i < k->steps.count && k->out->step && !rc; i++) {
        const struct sonde_step *step = &k->steps.items[i];
        if (step->name == k->out->step && k->matching.m->processes[step->process].header.rank == rank + 1)
            rc = push_span(out, sonde__late_cut((struct sonde__late_span){step->begin_ns, step->end_ns}, window_of(k, step->process)));
    }
    out->count = out->count ? sonde__late_merge(out->items, out->count) : 0;
    return rc;
}

/* Of several processes the longest. */
static int recorded_of(const struct making *k, uint32_t process, uint64_t *ns)
{
    const struct sonde_measurement *m = k->matching.m;
    int rc = 0;
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        struct sonde_recorded recorded = {0}, clipped = {0};
        if (i != process && (!m->processes[process].header.rank || m->processes[i].header.rank != m->processes[process].header.rank))
            continue;
        const struct sonde__late_span window = window_of(k, i);
        rc = sonde_recorded_compute(m, &m->processes[i], &recorded);
        rc = rc ? rc : sonde_recorded_clip(&recorded, window.from_ns, window.to_ns, &clipped);
        const uint64_t own_ns = sonde_recorded_ns(&clipped);
        *ns = own_ns > *ns ? own_ns : *ns;
        sonde_recorded_fini(&recorded);
        sonde_recorded_fini(&clipped);
    }
    return rc;
}

/* How much of its time the rank waited that did so most: of its steps, else of what was recorded. `list` is of the place, by rank. */
static int find_share(const struct making *k, struct sonde__matched *const *list, size_t count, struct sonde_message_place *place)
{
    span_list waited = {0}, steps = {0};
    uint32_t process = 0;
    int rc = steps_of(k, place->most_rank, &steps);
    for (size_t i = 0; i < count && !rc; i++)
        if (list[i]->rank == place->most_rank) {
            process = list[i]->process;
            rc = sonde_vector_push(&waited, (struct sonde__late_span){list[i]->enter_ns, list[i]->enter_ns + list[i]->wait_ns});
        }
    waited.count = waited.count ? sonde__late_merge(waited.items, waited.count) : 0;
    place->share_of_ns = sonde__late_within(steps.items, steps.count, 0, UINT64_MAX);
    if (!steps.count)
        rc = rc ? rc : recorded_of(k, process, &place->share_of_ns);
    for (size_t i = 0; i < waited.count; i++)
        place->share_ns += steps.count ? sonde__late_within(steps.items, steps.count, waited.items[i].from_ns, waited.items[i].to_ns)
                                       : waited.items[i].to_ns - waited.items[i].from_ns;
    sonde_vector_fini(&waited);
    sonde_vector_fini(&steps);
    return rc;
}

/* Of ranks with ranges each has to have them twice. */
static int find_steps(struct making *k)
{
    SONDE_VECTOR(sonde_steps) runs = {0};
    struct sonde_intern *names = &k->out->step_names;
    int rc = sonde_steps_read(k->matching.m, names, &k->steps);
    for (size_t i = 0; i < k->steps.count && !rc; i++) {
        if (!i || k->steps.items[i].process != k->steps.items[i - 1].process)
            rc = sonde_vector_push(&runs, (sonde_steps){.items = &k->steps.items[i]});
        if (!rc)
            runs.items[runs.count - 1].count++;
    }
    if (!rc && runs.count)
        k->out->step = sonde_steps_choose(runs.items, (uint32_t)runs.count, names->count);
    sonde_vector_fini(&runs);
    return rc;
}

static int sum_places(struct making *k)
{
    struct sonde__matched **waiting = k->waiting.items;
    const size_t count = k->waiting.count;
    int rc = 0;
    if (!count)
        return 0;
    qsort(waiting, count, sizeof *waiting, by_place);
    for (size_t i = 0, n; i < count && !rc; i += n) {
        struct sonde_message_place place = {.node = waiting[i]->node, .kind = waiting[i]->wait, .comm = ""};
        if (waiting[i]->nccl)
            place.comm = sonde_intern_get(&k->out->comms, waiting[i]->comm);
        for (n = 0; i + n < count && waiting[i + n]->wait == place.kind && waiting[i + n]->node == place.node && place_comm(waiting[i + n]) == place_comm(waiting[i]); n++)
            place.ns += waiting[i + n]->wait_ns;
        place.count = n;
        rc = largest(&waiting[i], n, false, &place.most_rank, &place.most_ns);
        rc = rc ? rc : largest(&waiting[i], n, true, &place.for_rank, &place.for_ns);
        rc = rc ? rc : find_share(k, &waiting[i], n, &place);
        rc = rc ? rc : sonde_vector_push(&k->out->places, place);
    }
    if (k->out->places.count)
        qsort(k->out->places.items, k->out->places.count, sizeof *k->out->places.items, longest_place);
    for (size_t i = 0; i < k->out->places.count && i < SONDE_MESSAGE_CAUSES && !rc; i++) {
        const char *comm = k->out->places.items[i].comm;
        rc = find_cause(k, *comm ? sonde_intern_text(&k->out->comms, comm) : 0, &k->out->places.items[i]);
    }
    return rc;
}

/* ---- what ranks did together ------------------------------------------------------------------------------- */

static int longest_collective(const void *left, const void *right)
{
    const struct sonde_message_collective *a = left, *b = right;
    int order = by_number(b->ns, a->ns);
    order = order ? order : strcmp(a->function, b->function);
    return order ? order : strcmp(a->comm, b->comm);
}

static uint64_t collective_key(struct making *k, const struct sonde__matched *one)
{
    return ((uint64_t)sonde_intern_text(&k->functions, k->matching.profile->nodes.items[one->node].name) << 32 | one->comm) + 1;
}

/* `again`: of one kernel, whose time counts once. */
static int sum_collective(struct making *k, struct sonde__matched *one, bool again)
{
    struct sonde_messages *out = k->out;
    const char *function = k->matching.profile->nodes.items[one->node].name;
    const uint64_t key = collective_key(k, one);
    uint64_t at;
    if (!sonde_map_get(&k->collectives, key, &at)) {
        at = out->collectives.count + 1;
        if (sonde_map_put(&k->collectives, key, at) ||
            sonde_vector_push(&out->collectives, (struct sonde_message_collective){.function = function, .comm = sonde_intern_get(&out->comms, one->comm), .nccl = one->nccl}))
            return SONDE_ENOMEM;
    }
    struct sonde_message_collective *c = &out->collectives.items[at - 1];
    c->count++;
    c->bytes += one->bytes;
    if (again)
        return 0;
    c->ns += one->leave_ns - one->enter_ns;
    c->wait_ns += one->wait_ns;
    return one->wait_ns ? sonde_vector_push(&k->together, one) : 0;
}

static int by_collective(const void *left, const void *right, void *user)
{
    struct sonde__matched *const *a = left, *const *b = right;
    const int order = by_number(collective_key(user, *a), collective_key(user, *b));
    return order ? order : by_number((*a)->rank, (*b)->rank);
}

/* Who waited most in each, and for whom. */
static int find_most(struct making *k)
{
    struct sonde__matched **list = k->together.items;
    const size_t count = k->together.count;
    int rc = 0;
    if (count)
        qsort_r(list, count, sizeof *list, by_collective, k);
    for (size_t i = 0, n; i < count && !rc; i += n) {
        const uint64_t key = collective_key(k, list[i]);
        uint64_t at = 0;
        for (n = 1; i + n < count && collective_key(k, list[i + n]) == key; n++)
            ;
        if (!sonde_map_get(&k->collectives, key, &at))
            continue;
        struct sonde_message_collective *c = &k->out->collectives.items[at - 1];
        rc = largest(&list[i], n, false, &c->most_rank, &c->most_ns);
        rc = rc ? rc : largest(&list[i], n, true, &c->for_rank, &c->for_ns);
    }
    return rc;
}

/* ---- NCCL ------------------------------------------------------------------------------------------------ */

static int by_kernel(const void *left, const void *right)
{
    const struct sonde__matched *a = left, *b = right;
    int order = by_number(a->rank, b->rank);
    order = order ? order : by_number(a->process, b->process);
    order = order ? order : by_number(a->enter_ns, b->enter_ns);
    order = order ? order : by_number(a->leave_ns, b->leave_ns);
    order = order ? order : by_number(b->wait_ns, a->wait_ns);
    return order ? order : by_number(a->node, b->node);
}

static bool same_kernel(const struct sonde__matched *a, const struct sonde__matched *b)
{
    return a->rank == b->rank && a->process == b->process && a->enter_ns == b->enter_ns && a->leave_ns == b->leave_ns;
}

/* What several of a kernel waited for counts once: where it was longest. */
static int take_kernel(struct making *k, struct sonde__matched *list, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        bool again = false;
        for (size_t before = 0; before < i && !again; before++)
            again = collective_key(k, &list[before]) == collective_key(k, &list[i]);
        rc = sum_collective(k, &list[i], again);
    }
    return rc || !list->wait_ns ? rc : sonde_vector_push(&k->waiting, list);
}

static uint64_t length_of(span_list *spans)
{
    if (!spans->count)
        return 0;
    spans->count = sonde__late_merge(spans->items, spans->count);
    return sonde__late_within(spans->items, spans->count, 0, UINT64_MAX);
}

/* Kernels of one rank and one process: they may run side by side. */
static int sum_kernels(struct making *k, const struct sonde__matched *list, size_t count)
{
    struct sonde_message_rank *r = rank_of(k, list);
    span_list ran = {0}, waited = {0};
    int rc = r ? 0 : SONDE_ENOMEM;
    for (size_t i = 0; i < count && !rc; i++) {
        rc = sonde_vector_push(&ran, (struct sonde__late_span){list[i].enter_ns, list[i].leave_ns});
        if (!rc && list[i].wait_ns)
            rc = sonde_vector_push(&waited, (struct sonde__late_span){list[i].enter_ns, list[i].enter_ns + list[i].wait_ns});
    }
    if (!rc) {
        r->nccl_ns += length_of(&ran);
        r->nccl_wait_ns += length_of(&waited);
    }
    sonde_vector_fini(&ran);
    sonde_vector_fini(&waited);
    return rc;
}

static int by_rank(const void *left, const void *right)
{
    const struct sonde_message_rank *a = left, *b = right;
    return by_number(a->rank, b->rank);
}

static int sum_nccl(struct making *k)
{
    struct sonde__matched *list = k->nccl.items;
    const size_t count = k->nccl.count;
    int rc = 0;
    k->out->nccl = count > 0;
    if (count)
        qsort(list, count, sizeof *list, by_kernel);
    for (size_t i = 0, n; i < count && !rc; i += n) {
        for (n = 1; i + n < count && same_kernel(&list[i], &list[i + n]); n++)
            ;
        rc = take_kernel(k, &list[i], n);
    }
    for (size_t i = 0, n; i < count && !rc; i += n) {
        for (n = 1; i + n < count && list[i].rank == list[i + n].rank && list[i].process == list[i + n].process; n++)
            ;
        rc = sum_kernels(k, &list[i], n);
    }
    if (k->out->ranks.count)
        qsort(k->out->ranks.items, k->out->ranks.count, sizeof *k->out->ranks.items, by_rank);
    return rc;
}

/* ---- MPI ------------------------------------------------------------------------------------------------- */

/* Calls by rank; of a call that has several rows the first one stands for all. */
static int sum_mpi(struct making *k)
{
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
        rc = sonde__matched_is_collective(one) ? sum_collective(k, one, false) : 0;
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
        add_large(k, one);
        rc = rc ? rc : sonde_vector_push(&k->waiting, one);
    }
    return rc;
}

static int sum_all(struct making *k)
{
    int rc = k->waiting.count ? find_steps(k) : 0;
    rc = rc ? rc : sum_places(k);
    rc = rc ? rc : find_most(k);
    if (k->out->collectives.count)
        qsort(k->out->collectives.items, k->out->collectives.count, sizeof *k->out->collectives.items, longest_collective);
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

/* ---- all of it ---------------------------------------------------------------------------------------- */

static struct making begin(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde__clocks *clocks, struct sonde_messages *out)
{
    return (struct making){.matching = {.m = m, .profile = profile, .comms = &out->comms, .clocks = clocks}, .out = out};
}

static void end(struct making *k)
{
    sonde__matching_fini(&k->matching);
    sonde__clocks_fini(k->matching.clocks);
    sonde_vector_fini(&k->nccl);
    sonde_vector_fini(&k->waiting);
    sonde_vector_fini(&k->together);
    sonde_vector_fini(&k->steps);
    sonde_map_fini(&k->collectives);
    sonde_intern_fini(&k->functions);
}

/* Who waited, and how long each rank did. */
static int find_waiting(struct making *k)
{
    int rc = sonde__matching_read(&k->matching);
    rc = rc ? rc : sonde__matching_match(&k->matching);
    rc = rc ? rc : sonde__collective_waits(&k->matching, &k->nccl);
    if (!rc && k->window) {
        keep_window(k, &k->matching.all);
        keep_window(k, &k->nccl);
    }
    rc = rc ? rc : sum_mpi(k);
    return rc ? rc : sum_nccl(k);
}

int sonde_messages_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_message_window *window,
                           struct sonde_messages *out)
{
    struct sonde__clocks clocks = {0};
    struct making k = begin(m, profile, &clocks, out);
    k.window = window;
    int rc = find_waiting(&k);
    rc = rc ? rc : sum_pairs(&k);
    rc = rc ? rc : sum_all(&k);
    rc = rc ? rc : sonde__limits_read(m, out);
    out->messages = window ? 0 : k.matching.messages;
    for (size_t i = 0; window && i < out->pairs.count; i++)
        out->messages += out->pairs.items[i].count;
    out->apart = k.matching.apart;
    out->alone = k.matching.alone;
    out->lost = k.matching.lost;
    out->mixed = k.matching.mixed;
    out->hosts = k.matching.hosts;
    out->clock_bound_ns = sonde__clocks_bound(&clocks);
    const char *hosts[2];
    for (int i = 0; i < 2 && sonde__clocks_contradict(&clocks, &hosts[0], &hosts[1]); i++)
        snprintf(out->contradict[i], sizeof out->contradict[i], "%s", hosts[i]);
    end(&k);
    return rc;
}

int sonde_message_values(const struct sonde_measurement *m, const struct sonde_profile *profile, sonde_context_values *out)
{
    struct sonde_messages messages = {0};
    struct sonde__clocks clocks = {0};
    struct making k = begin(m, profile, &clocks, &messages);
    int rc = find_waiting(&k);
    for (size_t i = 0; i < k.waiting.count && !rc; i++) {
        const struct sonde__matched *one = k.waiting.items[i];
        rc = sonde_vector_push(out, (struct sonde_context_value){one->process, one->node, (double)one->wait_ns});
    }
    end(&k);
    sonde_messages_fini(&messages);
    return rc;
}

void sonde_messages_fini(struct sonde_messages *messages)
{
    sonde_vector_fini(&messages->ranks);
    sonde_vector_fini(&messages->pairs);
    sonde_vector_fini(&messages->places);
    sonde_vector_fini(&messages->collectives);
    sonde_vector_fini(&messages->limits);
    sonde_intern_fini(&messages->comms);
    sonde_intern_fini(&messages->step_names);
    sonde_intern_fini(&messages->texts);
}
