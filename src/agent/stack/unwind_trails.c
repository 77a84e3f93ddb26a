/* unwind_trails.c - see unwind_trails.h. */
#include "unwind_trails.h"

#include "unwind.h"
#include "unwind_cfi.h"
#include "unwind_rules.h"

/* A place for a new trail, 0 when there is none: of memory not used yet, else the oldest's. */
static uint32_t trail_new(struct sonde_trails *t)
{
    if (t->used == t->blocks * SONDE_TRAILS_PER_BLOCK && !t->full) {
        struct sonde_trail *block = t->blocks < SONDE_TRAILS_BLOCKS ? t->more() : NULL;
        t->full = !block;
        if (block)
            t->block[t->blocks++] = block;
        for (uint32_t i = 0; block && i < SONDE_TRAILS_PER_BLOCK; i++)
            block[i].count = block[i].next = block[i].other = 0;
    }
    if (t->used < t->blocks * SONDE_TRAILS_PER_BLOCK)
        return ++t->used;
    if (!t->used || ++t->refused % SONDE_TRAILS_RELUCTANT)
        return 0;
    t->turn = t->turn % t->used + 1;
    return t->turn;
}

static bool trail_add(struct sonde_trail *t, uintptr_t pc, uintptr_t cfa, uintptr_t slot, unsigned how)
{
    const uintptr_t to_cfa = cfa - t->base, to_slot = slot ? slot - t->base : 0;
    if (t->count == SONDE_TRAIL_ENTRIES || to_cfa > INT32_MAX || to_slot > INT32_MAX || (slot && slot <= t->base))
        return false;
    t->entry[t->count++] = (struct sonde_trail_entry){pc, (uint32_t)to_cfa, (uint32_t)to_slot | how};
    t->top = to_cfa > t->top ? (uint32_t)to_cfa : t->top;
    return true;
}

/* Where a rule reads the CFA: what has to be there, and the frame pointer by which it is found. */
static bool trail_add_word(struct sonde_trail *t, const struct sonde_stack *s, uint32_t i)
{
    uint64_t rule = rule_get(t->generation, s->pc[i - 1] - 1);
    uintptr_t at = (uintptr_t)sonde__rule_cfa_offset(rule);
    if (sonde__rule_kind(rule) != SONDE__RULE_FP_DEREF && sonde__rule_kind(rule) != SONDE__RULE_SP_DEREF)
        return false;
    at += sonde__rule_kind(rule) == SONDE__RULE_FP_DEREF ? s->fp[i - 1] : s->cfa[i - 1];
    return trail_add(t, s->fp[i - 1], s->cfa[i - 1], 0, SONDE_TRAIL_FP) &&
           trail_add(t, s->cfa[i] - (uintptr_t)sonde__rule_second(rule), at + 8, 0, SONDE_TRAIL_WORD);
}

/* Frame `i` of the stack, and what its place depends on but for its return address and saved frame pointer. */
static bool trail_add_frame(struct sonde_trail *t, const struct sonde_stack *s, uint32_t i)
{
    uintptr_t slot = s->fp_slot[i];
    unsigned how = 0;
    if (slot & (EXACT | GUESSED))
        return false;
    if (slot & BY_STEP)
        how = trail_add_word(t, s, i) ? SONDE_TRAIL_AFTER_WORD : SONDE_TRAIL_FP;
    else if (slot & FROM_FP)
        how = s->fp[i - 1] == s->cfa[i] - 16                                 ? SONDE_TRAIL_FROM_FP
              : trail_add(t, s->fp[i - 1], s->cfa[i - 1], 0, SONDE_TRAIL_FP) ? SONDE_TRAIL_AFTER_FP
                                                                             : SONDE_TRAIL_FP;
    return how != SONDE_TRAIL_FP && trail_add(t, s->pc[i], s->cfa[i], slot & ~(FROM_FP | FLAGS), how);
}

uint32_t sonde__trail_keep(struct sonde_trails *t, const struct sonde_stack *s)
{
    const uint32_t number = trail_new(t);
    if (!number)
        return 0;
    struct sonde_trail *trail = sonde__trail(t, number);
    uint32_t *begins = &t->begins[sonde__trail_begins(s->cfa[0])], i = 1;
    trail->generation = s->generation;
    trail->serial = ++t->serial;
    trail->base = s->cfa[0] - 8;
    trail->count = trail->top = 0;
    trail->other = *begins != number ? *begins : 0;
    trail->known = false;
    trail->replay = NULL;
    trail_add(trail, s->pc[0], s->cfa[0], 0, 0);
    while (i < s->count && trail_add_frame(trail, s, i))
        i++;
    trail->frames = i == s->count && s->end == SONDE_UNWIND_OUTERMOST ? i : 0;
    *begins = number;
    return number;
}
