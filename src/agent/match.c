/* match.c - runtimes that report: submissions by key, and the completions that name them.
 *
 * A submission waits in a hash table (linear probing; deletion by shifting back:
 * Knuth, TAOCP vol. 3, 6.4, algorithm R) until its completion comes. One that
 * makes many operations (a graph) stays until it has been quiet for long. A
 * completion may overtake its submission, whose call has not returned or whose
 * channel has not been emptied yet; it waits in a list, and is tried again at
 * every turn. An operation that stands over another one (a collective over its
 * kernel) waits with it and shares its fate; one that comes late finds the times
 * among those of the last completions. All under harvest_lock; completions on
 * the monitor thread only.
 */
#include "agent.h"

#include <string.h>

#define ENTRIES_FIRST 4096u
#define MANY_KEPT     1024u         /* submissions of many that are never given up */
#define QUIET_NS      10000000000u  /* others are when nothing came for so long */
#define EARLY_NS      30000000000u  /* a completion waits so long for its submission */
#define DONE_KEPT     1024u         /* completions, by the low bits of their keys */

struct submission {
    struct sonde_event event;
    uint64_t heard_ns;          /* of many: when the last completion came */
    struct submission *next;    /* of many: oldest first; or in the free list */
    bool heard;                 /* a completion came */
    struct submission *over;    /* operations that stand over this one */
};

struct early {
    struct early *next;
    uint64_t since_ns;
    struct sonde_completion completion;
};

struct entry { uint64_t key; struct submission *submission; };

static struct {
    struct entry *entries;
    uint32_t mask, count;
    uint32_t many_count;
    uint64_t silent;               /* of many, all that there were: nothing came yet */
    struct submission *many, **many_tail, *submission_free;
    struct early *early, **early_tail, *early_free;
    struct sonde_thread *contexts; /* where nodes of reported operations are made */
    struct { uint64_t key; struct sonde_times times; enum sonde_poll result; } done[DONE_KEPT];
} M;

/* ---- the table ------------------------------------------------------------------ */

static struct entry *find(uint64_t key)
{
    if (!M.entries)
        return NULL;
    for (uint32_t i = (uint32_t)sonde__map_hash(key) & M.mask; M.entries[i].key; i = (i + 1) & M.mask)
        if (M.entries[i].key == key)
            return &M.entries[i];
    return NULL;
}

static void put(uint64_t key, struct submission *s)
{
    uint32_t i = (uint32_t)sonde__map_hash(key) & M.mask;
    while (M.entries[i].key)
        i = (i + 1) & M.mask;
    M.entries[i] = (struct entry){key, s};
    M.count++;
}

static bool grow(void)
{
    const struct entry *old = M.entries;
    uint32_t old_room = old ? M.mask + 1 : 0, room = old ? old_room * 2 : ENTRIES_FIRST;
    struct entry *fresh = sonde__heap_get(&sonde__agent.heap, room * sizeof *fresh);
    if (!fresh)
        return false;
    memset(fresh, 0, room * sizeof *fresh);
    M.entries = fresh;
    M.mask = room - 1;
    M.count = 0;
    for (uint32_t i = 0; i < old_room; i++)
        if (old[i].key)
            put(old[i].key, old[i].submission);
    if (old)
        sonde__heap_put(&sonde__agent.heap, (void *)(uintptr_t)old, old_room * sizeof *old);
    return true;
}

static void take_out(struct entry *e)
{
    uint32_t hole = (uint32_t)(e - M.entries);
    for (uint32_t i = (hole + 1) & M.mask; M.entries[i].key; i = (i + 1) & M.mask) {
        uint32_t home = (uint32_t)sonde__map_hash(M.entries[i].key) & M.mask;
        if (((i - home) & M.mask) >= ((i - hole) & M.mask)) { /* may move back to the hole */
            M.entries[hole] = M.entries[i];
            hole = i;
        }
    }
    M.entries[hole] = (struct entry){0};
    M.count--;
}

/* Fresh ones of `bytes` for an empty free list: a block cut up. */
#define REFILL(list, type)                                                              \
    do {                                                                                \
        type *block_ = (list) ? NULL : sonde__heap_get(&sonde__agent.heap, SONDE_HEAP_BLOCK); \
        for (size_t i_ = 0; block_ && i_ < SONDE_HEAP_BLOCK / sizeof *block_; i_++) {   \
            block_[i_].next = (list);                                                   \
            (list) = &block_[i_];                                                       \
        }                                                                               \
    } while (0)

/* ---- submissions ------------------------------------------------------------------ */

static void drop(const struct sonde_event *e)
{
    if (e->flags & SONDE_EVENT_MANY)
        return;
    sonde__agent.no_room_by_key++;
    atomic_fetch_add(&sonde__agent.unawaited, 1);
}

static void lose(const struct sonde_event *e)
{
    if (!(e->flags & SONDE_EVENT_MANY))
        sonde__agent.unmatched_by_key++;
}

static void free_submission(struct submission *s)
{
    s->next = M.submission_free;
    M.submission_free = s;
}

static void forget_submission(struct entry *e)
{
    struct submission *s = e->submission;
    take_out(e);
    free_submission(s);
}

/* Of the submissions of many, those that have long been quiet. */
static void forget_quiet(uint64_t now)
{
    while (M.many_count > MANY_KEPT && now - M.many->heard_ns > QUIET_NS) {
        struct submission *oldest = M.many;
        M.many = oldest->next;
        M.many_count--;
        forget_submission(find(oldest->event.token));
    }
}

void sonde__match_keep(const struct sonde_event *e)
{
    REFILL(M.submission_free, struct submission);
    struct submission *s = M.submission_free;
    if (!s || ((!M.entries || M.count >= M.mask / 2) && !grow() && (!M.entries || M.count >= M.mask - M.mask / 8))) {
        drop(e);
        return;
    }
    M.submission_free = s->next;
    *s = (struct submission){.event = *e};
    put(e->token, s);
    if (!(e->flags & SONDE_EVENT_MANY))
        return;
    if (!M.many)
        M.many_tail = &M.many;
    s->heard_ns = e->leave_ns;
    *M.many_tail = s;
    M.many_tail = &s->next;
    M.many_count++;
    M.silent++;
}

size_t sonde__match_waiting(void)
{
    return M.count - M.many_count;
}

uint64_t sonde__match_silent(void)
{
    return M.silent;
}

bool sonde__match_over(const struct sonde_event *e, struct sonde_activity *found)
{
    struct entry *under = find(e->token);
    REFILL(M.submission_free, struct submission);
    struct submission *s = under ? M.submission_free : NULL;
    if (s) {
        M.submission_free = s->next;
        *s = (struct submission){.event = *e, .over = under->submission->over};
        under->submission->over = s;
        return false;
    }
    *found = (struct sonde_activity){.event = *e, .parts = SONDE_ACT_OP, .result = SONDE_POLL_NO_TIMES};
    if (M.done[e->token % DONE_KEPT].key == e->token) {
        found->times = M.done[e->token % DONE_KEPT].times;
        found->result = (uint16_t)M.done[e->token % DONE_KEPT].result;
    }
    return true;
}

/* ---- completions --------------------------------------------------------------------- */

/* Those that stand over it end with it. */
static void deliver_over(struct submission *s, const struct sonde_completion *c)
{
    for (struct submission *next; s; s = next) {
        const struct sonde_activity found = {.event = s->event, .times = c->times, .parts = SONDE_ACT_OP,
                                             .result = (uint16_t)c->result};
        next = s->over;
        free_submission(s);
        sonde__monitor_take(&found);
    }
}

static void remember(const struct sonde_completion *c)
{
    M.done[c->key % DONE_KEPT].key = c->key;
    M.done[c->key % DONE_KEPT].times = c->times;
    M.done[c->key % DONE_KEPT].result = c->result;
}

struct sonde_thread *sonde__context_of_reports(void)
{
    if (!M.contexts && (M.contexts = sonde__heap_get(&sonde__agent.heap, sizeof *M.contexts)))
        memset(M.contexts, 0, offsetof(struct sonde_thread, native));
    return M.contexts;
}

static void deliver(struct entry *entry, const struct sonde_completion *c)
{
    struct submission *s = entry->submission;
    struct sonde_activity found = {.event = s->event, .times = c->times, .parts = SONDE_ACT_OP,
                                   .result = (uint16_t)c->result};
    struct sonde_event *e = &found.event;
    e->lane = c->lane;
    e->kind = (uint16_t)c->kind;
    e->bytes = c->bytes;
    e->work = c->work;
    if (c->object && c->object != e->object)
        sonde__objects_used(e->enter_ns, &c->object, 1);
    e->object = c->object ? c->object : e->object;
    e->flags = 0;
    e->op_node = sonde__context_report(e->api_node, c->origin, c->kind, c->name);
    if (s->event.flags & SONDE_EVENT_MANY) {
        sonde__agent.seen_by_report++;
        s->heard_ns = sonde__agent.now_ns;
        M.silent -= !s->heard;
        s->heard = true;
        sonde__monitor_take(&found);
        return;
    }
    struct submission *over = s->over;
    forget_submission(entry);
    remember(c);
    sonde__monitor_take(&found);
    deliver_over(over, c);
}

/* Of a submission that found no room, as far as one can tell: it is counted already. */
static bool is_of_dropped(void)
{
    if (!atomic_load_explicit(&sonde__agent.unawaited, memory_order_relaxed))
        return false;
    atomic_fetch_sub(&sonde__agent.unawaited, 1); /* only here, under harvest_lock */
    return true;
}

static void keep_early(const struct sonde_completion *c)
{
    REFILL(M.early_free, struct early);
    struct early *e = M.early_free;
    if (!e && is_of_dropped())
        return;
    if (!e) {
        sonde__agent.seen_by_report++;
        sonde__agent.no_room_by_key++;
        return;
    }
    M.early_free = e->next;
    *e = (struct early){.since_ns = sonde__agent.now_ns, .completion = *c};
    if (!M.early)
        M.early_tail = &M.early;
    *M.early_tail = e;
    M.early_tail = &e->next;
}

void sonde_complete(const struct sonde_completion *completion)
{
    struct entry *e = find(completion->key);
    if (e)
        deliver(e, completion);
    else
        keep_early(completion);
}

void sonde_unplaced(const char *what)
{
    sonde__agent.header->ledger.unplaced++;
    if (what)
        sonde_note("unplaced, and in no other figure: %s, reported by the runtime but made by no call that is known", what);
}

void sonde_vendor_overhead(uint64_t ns)
{
    sonde__agent.header->ledger.vendor_ns += ns;
}

/* What was reported of work that nobody submitted while recording: enqueued just
 * outside the range, or by a call that no hook knows, which the ledger says. */
static void judge_stranger(const struct sonde_completion *c)
{
    if (c->times.start_ns < atomic_load(&sonde__agent.range_since_ns))
        return;
    if (is_of_dropped())
        return;
    sonde__agent.seen_by_report++;
    sonde__agent.unmatched_by_key++;
}

static void retry_early(bool all)
{
    struct early **link = &M.early;
    while (*link) {
        struct early *e = *link;
        struct entry *known = find(e->completion.key);
        if (!known && !all && sonde__agent.now_ns - e->since_ns < EARLY_NS) {
            link = &e->next;
            continue;
        }
        *link = e->next;
        if (known)
            deliver(known, &e->completion);
        else
            judge_stranger(&e->completion);
        e->next = M.early_free;
        M.early_free = e;
    }
    M.early_tail = link;
}

void sonde__match_turn(enum sonde_collect how)
{
    sonde__agent.now_ns = sonde_now_ns();
    if (M.early)
        retry_early(false);
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->collect)
            sonde_backends[i]->collect(how);
    if (M.many_count > MANY_KEPT)
        forget_quiet(sonde__agent.now_ns);
}

void sonde__match_abandon(void)
{
    uint32_t silent = 0;
    retry_early(true);
    for (uint32_t i = 0; M.entries && i <= M.mask; i++)
        for (const struct submission *s = M.entries[i].submission; s; s = s->over) {
            lose(&s->event);
            silent += (s->event.flags & SONDE_EVENT_MANY) && !s->heard;
        }
    if (silent)
        sonde_note("nothing was reported of %u launches of graphs or batches: they were running when the program "
                   "ended, or made nothing", silent);
    if (M.entries)
        memset(M.entries, 0, (M.mask + 1) * sizeof *M.entries);
    M.count = M.many_count = 0;
    M.many = NULL;
}

void sonde__match_forget(void)
{
    memset(&M, 0, sizeof M);
}
