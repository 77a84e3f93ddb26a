/* replay.c - see replay.h. */
#include "replay.h"

#include <string.h>

#include "agent/stack/python_replay.h"
#include "agent/stack/python_state.h"
#include "agent/stack/unwind_cfi.h"
#include "agent/stack/unwind_rules.h"
#include "agent/state/state.h"
#include "context.h"

#define SLOTS 1024u /* of the table */
#define MOST  (sizeof(struct sonde_replay) + (SONDE_REPLAY_WORDS + 4) * sizeof(uint16_t) + (SONDE_REPLAY_PYTHONS + 1) * sizeof(uintptr_t))

/* A function of its own, which has all registers: the loop is most of a hook's instructions. */
SONDE__RAW __attribute__((noinline, hot)) static uint64_t stack_sum(const struct sonde_replay *r)
{
    const uint64_t *word = (const uint64_t *)r->here;
    const uint16_t *at = r->at, *const end = at + r->words;
    uint64_t sum = 0, key = SONDE__SUM_KEY;
    for (; at < end; at += 2, key += SONDE__SUM_STEP)
        sum += sonde__sum_of(word[at[0]] ^ key, word[at[1]]);
    return sum;
}

/* Where the innermost one is told (sonde__python_current), and the frames. */
static inline uintptr_t *current_of(struct sonde_replay *r)
{
    return (uintptr_t *)(void *)(r->at + ((r->words + 3u) & ~3u));
}

static inline uintptr_t *pythons_of(struct sonde_replay *r)
{
    return current_of(r) + 1;
}

static inline uint64_t call_sum(const struct sonde_thread *t, uint32_t api)
{
    const uint64_t link = (uint64_t)t->ranges.link_frame << 32 | t->ranges.link_name;
    const uint64_t sum = sonde__sum_of(api ^ SONDE__SUM_KEY, link);
    return link ? sum + sonde__sum_of(t->ranges.link_within ^ SONDE__SUM_STEP, link) : sum;
}

/* Of interpreters whose code objects have no numbers: the frames themselves. */
static __attribute__((noinline)) bool tokens_sum(struct sonde_thread *t, uint64_t *sum)
{
    const int n = sonde__python_walk(t->python, SONDE_PYTHON_MAX);
    uint64_t key = SONDE__SUM_KEY;
    for (int i = 0; i < n; i++, key += SONDE__SUM_STEP)
        *sum += sonde__sum_of(sonde__python_token(&t->python[i]) ^ key, t->python[i].stack | t->python[i].entry);
    *sum += (uint64_t)n;
    return n >= 0;
}

/* What a context is made of but the native stack. */
static inline bool rest_sum(struct sonde_thread *t, struct sonde_replay *r, uint32_t api, uint64_t *sum)
{
    *sum = call_sum(t, api);
    if (sonde__python_is_attached() != ((r->pythons & SONDE_REPLAY_ATTACHED) != 0))
        return false;
    if (!(r->pythons & SONDE_REPLAY_ATTACHED))
        return true;
    if (!sonde__python_can_replay())
        return tokens_sum(t, sum);
    return sonde__python_replay(pythons_of(r), r->pythons & ~SONDE_REPLAY_ATTACHED, *current_of(r), sum);
}

static inline bool rest_is(struct sonde_thread *t, struct sonde_replay *r, uint32_t api)
{
    uint64_t sum;
    return rest_sum(t, r, api, &sum) && sum == r->rest;
}

static uint32_t came(struct sonde_thread *t, struct sonde_replay *r)
{
    t->replay = r;
    return r->node;
}

__attribute__((hot)) uint32_t sonde__replay(struct sonde_thread *t, uint32_t api, uintptr_t here)
{
    struct sonde_replay *last = t->replay;
    if (UNLIKELY(!last))
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        struct sonde_replay *r = last->next[i];
        if (!r || r->here != here || r->generation != sonde__rules_now() || !sonde__own_has(here, r->top))
            continue;
        if (stack_sum(r) != r->stack || !rest_is(t, r, api))
            continue;
        if (i) {
            last->next[1] = last->next[0];
            last->next[0] = r;
        }
        return came(t, r);
    }
    return 0;
}

uint32_t sonde__replay_of(struct sonde_thread *t, struct sonde_trail *trail, uint32_t api)
{
    struct sonde_replay *r = trail->replay_epoch == t->replays.epoch ? trail->replay : NULL, *last = t->replay;
    if (!r || !rest_is(t, r, api))
        return 0;
    if (last && last->next[0] != r)
        last->next[last->next[0] ? 1 : 0] = r;
    return came(t, r);
}

/* ---- keeping ------------------------------------------------------------------- */

/* All are void: their memory will be used again. */
static void forget(struct sonde_replays *p)
{
    p->epoch++;
    p->current = 0;
    p->used = SLOTS * sizeof *p->table;
    memset(p->table, 0, SLOTS * sizeof *p->table);
}

static bool next_block(struct sonde_replays *p)
{
    if (p->current + 1 < p->blocks) {
        p->current++;
        p->used = 0;
        return true;
    }
    if (!p->full && p->blocks < SONDE_REPLAY_BLOCKS) {
        p->block[p->blocks] = sonde__heap_get_spare(&sonde__agent.heap);
        p->full = !p->block[p->blocks];
        if (!p->full) {
            p->current = p->blocks++;
            p->used = 0;
            if (!p->table) {
                p->table = (struct sonde_replay **)(void *)p->block[0];
                forget(p);
            }
            return true;
        }
    }
    if (!p->blocks)
        return false;
    forget(p);
    return true;
}

/* Where the next one may go; a header in one line. */
static struct sonde_replay *room(struct sonde_replays *p)
{
    if ((!p->blocks || p->used + MOST > SONDE_HEAP_BLOCK) && !next_block(p))
        return NULL;
    return (struct sonde_replay *)(void *)(p->block[p->current] + p->used);
}

static bool add_word(struct sonde_replay *r, uintptr_t at)
{
    const uintptr_t place = at - r->here;
    if (r->words == SONDE_REPLAY_WORDS || (place & 7) || place / 8 > UINT16_MAX)
        return false;
    r->at[r->words++] = (uint16_t)(place / 8);
    r->top = place + 8 > r->top ? (uint32_t)place + 8 : r->top;
    return true;
}

/* The words of which the trail's proof speaks (trail_prove in unwind.c). Those below `here` lie in our own frames, which
 * are made in one way only; what they hold is the frame address of sonde__context, or the caller's, which is at `here`. */
static bool add_words(struct sonde_replay *r, const struct sonde_trail *trail)
{
    uintptr_t saved = 0; /* 0: in a frame of ours */
    for (uint32_t i = 1; i < trail->count; i++) {
        const struct sonde_trail_entry *e = &trail->entry[i];
        const uint32_t how = e->fp_slot & FLAGS, slot = e->fp_slot - how;
        const uintptr_t at = trail->base + e->cfa - 8;
        const uintptr_t fp = how == SONDE_TRAIL_FP ? e->pc : trail->base + e->cfa - 16;
        if (how == SONDE_TRAIL_FROM_FP || how == SONDE_TRAIL_FP) {
            if (saved ? !add_word(r, saved) : at > r->here + 8 || (fp != r->here && fp > r->here))
                return false;
        }
        if (how == SONDE_TRAIL_FP)
            continue;
        if (at > r->here && !add_word(r, at))
            return false;
        if (how == SONDE_TRAIL_WORD)
            continue;
        if (slot)
            saved = trail->base + slot >= r->here ? trail->base + slot : 0;
    }
    return true;
}

/* Does the walk end there, whatever the registers are? */
static bool ends(const struct sonde_trail *trail)
{
    const struct sonde_trail_entry *e = &trail->entry[trail->count - 1];
    return (e->fp_slot & FLAGS) < SONDE_TRAIL_FP &&
           sonde__rule_kind(rule_get(trail->generation, e->pc - 1)) == SONDE__RULE_OUTERMOST;
}

static bool add_pythons(struct sonde_replay *r)
{
    r->pythons = sonde__python_attached() ? SONDE_REPLAY_ATTACHED : 0;
    *current_of(r) = 0;
    if (!r->pythons || !sonde__python_replayable())
        return true;
    const int n = sonde__python_places(pythons_of(r), SONDE_REPLAY_PYTHONS);
    if (n < 0)
        return false;
    r->pythons |= (uint16_t)n;
    const uintptr_t current = sonde__python_current();
    if (n > 0 && current - r->here < r->top) /* in a frame of which the words speak */
        *current_of(r) = current;
    return true;
}

static struct sonde_replay *make(struct sonde_thread *t, const struct sonde_trail *trail, uint32_t api, uintptr_t here)
{
    struct sonde_replay *r = room(&t->replays);
    if (!r)
        return NULL;
    *r = (struct sonde_replay){.here = here, .generation = trail->generation};
    if (!ends(trail) || !add_words(r, trail))
        return NULL;
    if (r->words & 1) { /* one comes twice: stack_sum takes them by two */
        r->at[r->words] = r->at[r->words - 1];
        r->words++;
    }
    if (!sonde__own_has(here, r->top) || !add_pythons(r) || !rest_sum(t, r, api, &r->rest))
        return NULL;
    r->stack = stack_sum(r);
    return r;
}

void sonde__replay_keep(struct sonde_thread *t, struct sonde_trail *trail, uint32_t number, uint32_t api, uint32_t node,
                        uintptr_t here)
{
    struct sonde_replays *p = &t->replays;
    const uint32_t epoch = p->epoch;
    struct sonde_replay *last = t->replay, *r = make(t, trail, api, here);
    t->replay = NULL;
    if (!r)
        return;
    struct sonde_replay **slot = &p->table[(r->stack ^ r->rest) % SLOTS], *known = *slot;
    if (known && known->stack == r->stack && known->rest == r->rest && known->here == here && known->generation == r->generation &&
        known->words == r->words && !memcmp(known->at, r->at, r->words * sizeof *r->at)) {
        r = known;
    } else {
        const size_t bytes = (size_t)((char *)(pythons_of(r) + (r->pythons & ~SONDE_REPLAY_ATTACHED)) - (char *)r);
        p->used += (uint32_t)(bytes + 63) & ~63u;
        r->node = node;
        r->trail = number;
        *slot = r;
    }
    if (last && epoch == p->epoch && last->next[0] != r)
        last->next[last->next[0] ? 1 : 0] = r;
    trail->replay = r;
    trail->replay_epoch = p->epoch;
    t->replay = r;
}
