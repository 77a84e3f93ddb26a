/* match.c - runtimes that report: submissions by key, and the completions that name them.
 *
 * A submission waits in a map until its completion comes. One that
 * makes many operations (a graph) stays until it has been quiet for long. A
 * completion may overtake its submission, whose call has not returned or whose
 * channel has not been emptied yet; it waits in a list, and is tried again at
 * every turn. An operation that stands over another one (a collective over its
 * kernel) waits with it and shares its fate; one that comes late finds the times
 * among those of the last completions. All under harvest_lock; completions on
 * the monitor thread only.
 */
#include "run.h"

#include <string.h>

#include "agent/context/context.h"
#include "agent/state/state.h"
#include "agent/store/store.h"

#define MANY_KEPT     1024u         /* submissions of many that are never given up */
#define QUIET_NS      10000000000u  /* others are when nothing came for so long */
#define EARLY_NS      30000000000u  /* a completion waits so long for its submission */
#define DONE_KEPT     1024u         /* completions, by the low bits of their keys */

struct submission {
    struct sonde_event event;
    uint64_t heard_ns;          /* of many: when the last completion came */
    struct submission *next;    /* of many: oldest first */
    bool heard;                 /* a completion came */
    struct submission *over;    /* operations that stand over this one */
};

struct early {
    struct early *next;
    uint64_t since_ns;
    struct sonde_completion completion;
};

static struct {
    struct sonde_map waiting;      /* key -> submission */
    struct sonde_pieces submissions, earlies;
    uint64_t first_key;            /* the lowest of a submission so far; 0: there was none */
    uint32_t many_count;
    uint64_t silent;               /* of many, all that there were: nothing came yet */
    struct submission *many, **many_tail;
    struct early *early, **early_tail;
    struct {
        uint64_t key;
        struct sonde_times times;
        enum sonde_poll result;
    } done[DONE_KEPT];
} matching;

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

/* The one that waits with this key. */
static struct submission *find(uint64_t key)
{
    const uint64_t *known = sonde__map_find(&matching.waiting, key);
    return known ? (struct submission *)(uintptr_t)*known : NULL;
}

static void forget_submission(uint64_t key)
{
    uint64_t known;
    if (sonde__map_take(&matching.waiting, key, &known))
        sonde__piece_put(&matching.submissions, (void *)(uintptr_t)known);
}

/* Of the submissions of many, those that have long been quiet. */
static void forget_quiet(uint64_t now)
{
    while (matching.many_count > MANY_KEPT && now - matching.many->heard_ns > QUIET_NS) {
        struct submission *oldest = matching.many;
        matching.many = oldest->next;
        matching.many_count--;
        forget_submission(oldest->event.token);
    }
}

void sonde__match_keep(const struct sonde_event *e)
{
    struct sonde_heap *heap = &sonde__agent.heap;
    const bool room = sonde__map_room(&matching.waiting, heap);
    struct submission *s = room ? sonde__piece_get(&matching.submissions, heap, sizeof *s) : NULL;
    if (!s) {
        drop(e);
        return;
    }
    *s = (struct submission){.event = *e};
    if (!matching.first_key || e->token < matching.first_key)
        matching.first_key = e->token;
    sonde__map_add(&matching.waiting, heap, e->token, (uintptr_t)s);
    if (!(e->flags & SONDE_EVENT_MANY))
        return;
    if (!matching.many)
        matching.many_tail = &matching.many;
    s->heard_ns = e->leave_ns;
    *matching.many_tail = s;
    matching.many_tail = &s->next;
    matching.many_count++;
    matching.silent++;
}

size_t sonde__match_waiting(void)
{
    return matching.waiting.count - matching.many_count;
}

uint64_t sonde__match_silent(void)
{
    return matching.silent;
}

bool sonde__match_over(const struct sonde_event *e, struct sonde_activity *found)
{
    struct submission *under = find(e->token);
    struct submission *s = under ? sonde__piece_get(&matching.submissions, &sonde__agent.heap, sizeof *s) : NULL;
    if (s) {
        *s = (struct submission){.event = *e, .over = under->over};
        under->over = s;
        return false;
    }
    *found = (struct sonde_activity){.event = *e, .parts = SONDE_ACT_OP, .result = SONDE_POLL_NO_TIMES};
    if (matching.done[e->token % DONE_KEPT].key == e->token) {
        found->times = matching.done[e->token % DONE_KEPT].times;
        found->result = (uint16_t)matching.done[e->token % DONE_KEPT].result;
    }
    return true;
}

/* ---- completions --------------------------------------------------------------------- */

/* Those that stand over it end with it. */
static void deliver_over(struct submission *s, const struct sonde_completion *c)
{
    for (struct submission *next; s; s = next) {
        const struct sonde_activity found = {
            .event = s->event,
            .times = c->times,
            .parts = SONDE_ACT_OP,
            .result = (uint16_t)c->result,
        };
        next = s->over;
        sonde__piece_put(&matching.submissions, s);
        sonde__take(&found);
    }
}

static void remember(const struct sonde_completion *c)
{
    matching.done[c->key % DONE_KEPT].key = c->key;
    matching.done[c->key % DONE_KEPT].times = c->times;
    matching.done[c->key % DONE_KEPT].result = c->result;
}

static void deliver(struct submission *s, const struct sonde_completion *c)
{
    struct sonde_activity found = {
        .event = s->event,
        .times = c->times,
        .parts = SONDE_ACT_OP,
        .result = (uint16_t)c->result,
    };
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
        matching.silent -= !s->heard;
        s->heard = true;
        sonde__take(&found);
        return;
    }
    struct submission *over = s->over;
    forget_submission(c->key);
    remember(c);
    sonde__take(&found);
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
    struct early *e = sonde__piece_get(&matching.earlies, &sonde__agent.heap, sizeof *e);
    if (!e && is_of_dropped())
        return;
    if (!e) {
        sonde__agent.seen_by_report++;
        sonde__agent.no_room_by_key++;
        return;
    }
    *e = (struct early){.since_ns = sonde__agent.now_ns, .completion = *c};
    if (!matching.early)
        matching.early_tail = &matching.early;
    *matching.early_tail = e;
    matching.early_tail = &e->next;
}

void sonde_complete(const struct sonde_completion *completion)
{
    struct submission *s = find(completion->key);
    if (s)
        deliver(s, completion);
    else
        keep_early(completion);
}

void sonde_unplaced(const char *what)
{
    sonde__agent.header->ledger.unplaced++;
    if (what)
        sonde_note("unattributed, not included in any other number: %s, reported by the runtime without a known API call", what);
}

void sonde_vendor_overhead(uint64_t ns)
{
    sonde__agent.header->ledger.vendor_ns += ns;
}

/* What was reported of work that nobody submitted while recording: enqueued just
 * outside the range (before the agent came: keys count up), or by a call that no hook knows, which the ledger says. */
static void judge_stranger(const struct sonde_completion *c)
{
    const uint64_t until_ns = atomic_load(&sonde__agent.range_until_ns);
    if (c->times.start_ns < atomic_load(&sonde__agent.range_since_ns) || (until_ns && c->times.start_ns >= until_ns) ||
        (sonde_is_attached() && c->key < matching.first_key))
        return;
    if (is_of_dropped())
        return;
    sonde__agent.seen_by_report++;
    sonde__agent.unmatched_by_key++;
}

static void retry_early(bool all)
{
    struct early **link = &matching.early;
    while (*link) {
        struct early *e = *link;
        struct submission *known = find(e->completion.key);
        if (!known && !all && sonde__agent.now_ns - e->since_ns < EARLY_NS) {
            link = &e->next;
            continue;
        }
        *link = e->next;
        if (known)
            deliver(known, &e->completion);
        else
            judge_stranger(&e->completion);
        sonde__piece_put(&matching.earlies, e);
    }
    matching.early_tail = link;
}

void sonde__match_turn(enum sonde_collect how)
{
    sonde__agent.now_ns = sonde_now_ns();
    if (matching.early)
        retry_early(false);
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->collect) {
            sonde__enter_runtime();
            sonde_backends[i]->collect(how);
            sonde__leave_runtime();
        }
    if (matching.many_count > MANY_KEPT)
        forget_quiet(sonde__agent.now_ns);
}

void sonde__match_abandon(void)
{
    uint32_t silent = 0;
    retry_early(true);
    struct sonde_map *w = &matching.waiting;
    for (uint32_t i = 0; w->entries && i <= w->mask; i++)
        for (const struct submission *s = (const void *)(uintptr_t)w->entries[i].value; s; s = s->over) {
            lose(&s->event);
            silent += (s->event.flags & SONDE_EVENT_MANY) && !s->heard;
        }
    if (silent)
        sonde_note("nothing was reported of %u launches of graphs or batches: they were running when the program "
                   "exited, or enqueued nothing",
                   silent);
    if (w->entries)
        memset(w->entries, 0, ((size_t)w->mask + 1) * sizeof *w->entries);
    w->count = matching.many_count = 0;
    matching.many = NULL;
}

void sonde__match_forget(void)
{
    memset(&matching, 0, sizeof matching);
}
