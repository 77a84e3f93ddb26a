/* oracle.c - see oracle.h. */
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define RAW __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

/* A few blocks, so that trails are overwritten too; had beforehand, since a walk makes no system call. */
static _Thread_local struct oracle *mine;

static void *trails_block(void)
{
    return mine && mine->given < TRAIL_BLOCKS ? mine->room[mine->given++] : NULL;
}

struct oracle *oracle_create(void)
{
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    sonde__unwind_init();
    struct oracle *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    for (unsigned i = 0; i < TRAIL_BLOCKS; i++)
        if (!(o->room[i] = calloc(1, SONDE_TRAILS_BLOCK)))
            return NULL;
    mine = o;
    o->trails.more = trails_block;
    o->last.trails = &o->trails;
    return o;
}

void oracle_destroy(struct oracle *o)
{
    for (unsigned i = 0; o && i < TRAIL_BLOCKS; i++)
        free(o->room[i]);
    mine = NULL;
    free(o);
}

static void print_frame(const char *who, int i, uintptr_t pc, uintptr_t sp)
{
    fprintf(stderr, "  %-9s %3d pc %#lx sp %#lx\n", who, i, (unsigned long)pc, (unsigned long)sp);
}

static bool differ(struct oracle *o, const char *what, int i, uintptr_t pc, uintptr_t sp)
{
    o->mismatches++;
    if (o->quiet)
        return false;
    fprintf(stderr, "%s at frame %d; expected pc %#lx sp %#lx\n", what, i, (unsigned long)pc,
            (unsigned long)sp);
    for (uint32_t k = 0; k < o->last.count && k < 200; k++)
        print_frame("shared", (int)k, o->last.pc[k], o->last.cfa[k]);
    for (uint32_t k = 0; k < o->full.count && k < 200; k++)
        print_frame("full", (int)k, o->full.pc[k], o->full.cfa[k]);
    return false;
}

/* What is said to be known without a walk, against the full walk. */
static bool compare_known(struct oracle *o)
{
    const struct sonde_trail *t = &o->trail;
    uint32_t frame = 0;
    if (!o->is_known)
        return true;
    o->known++;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sonde_trail_entry *e = &t->entry[i];
        uintptr_t cfa = t->base + e->cfa;
        if ((e->fp_slot & 7) >= SONDE_TRAIL_FP)
            continue;
        if (frame >= o->full.count || cfa != o->full.cfa[frame] || (frame && e->pc != o->full.pc[frame]))
            return differ(o, "a trail and the full walk differ", (int)frame, e->pc, cfa);
        frame++;
    }
    if (frame != o->full.count || o->full.end != SONDE_UNWIND_OUTERMOST)
        return differ(o, "a trail and the full walk differ in length", (int)frame, o->full.end, o->full.count);
    return true;
}

/* Does the next frame come from this one's frame pointer? */
static bool fp_counts(const struct sonde_stack *s, uint32_t i)
{
    return i + 1 < s->count && s->fp_slot[i + 1] >> 63;
}

/* The two walks are made at two places of one function: frame 0 differs in pc. */
static bool compare_self(struct oracle *o)
{
    const struct sonde_stack *a = &o->last, *b = &o->full;
    o->walks++;
    o->shared += a->shared;
    o->frames += a->count;
    o->guessed += b->guessed;
    if (a->count != b->count || a->end != b->end)
        return differ(o, "shared and full walk differ in length", (int)b->count, b->end, a->end);
    if (a->guessed != b->guessed)
        return differ(o, "shared and full walk differ in guesses", 0, b->guessed, a->guessed);
    for (uint32_t i = 1; i < a->count; i++)
        if (a->pc[i] != b->pc[i] || a->cfa[i] != b->cfa[i] || (fp_counts(a, i) && a->fp[i] != b->fp[i]))
            return differ(o, "shared and full walk differ", (int)i, b->pc[i], b->cfa[i]);
    /* ids: what is said to be kept must be what the caller put there */
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t want = i < a->count - a->shared ? 0 : (uint32_t)(a->pc[i] ^ a->cfa[i]) | 1;
        if (a->id[i] != want)
            return differ(o, "a kept frame has another's id", (int)i, a->pc[i], a->cfa[i]);
    }
    for (uint32_t i = 0; i < a->count; i++)
        o->last.id[i] = (uint32_t)(a->pc[i] ^ a->cfa[i]) | 1;
    return true;
}

RAW static bool compare_unwind(struct oracle *o, unw_cursor_t *cursor)
{
    uint32_t i = 0, n = o->last.count;
    for (;; i++) {
        unw_word_t pc, sp;
        unw_get_reg(cursor, UNW_REG_IP, &pc);
        unw_get_reg(cursor, UNW_REG_SP, &sp);
        if (pc == 0)
            break;
        if (i >= n)
            return differ(o, "libunwind has more frames", (int)i, pc, sp);
        if (o->last.cfa[i] != sp || (i && o->last.pc[i] != pc))
            return differ(o, "libunwind differs", (int)i, pc, sp);
        if (unw_step(cursor) <= 0) {
            i++;
            break;
        }
    }
    if (i < n)
        return differ(o, "libunwind has fewer frames", (int)i, 0, 0);
    return true;
}

/* As the agent does: if the stack is not known, it is walked; here it always is. One place, as it is frame 0. */
__attribute__((always_inline, no_sanitize("address", "thread", "undefined"))) static inline void walk_known_too(struct oracle *o)
{
    const struct sonde_trail *trail;
    bool known = true;
    o->is_known = false;
    while ((trail = sonde__unwind(&o->last, known))) {
        memcpy(&o->trail, trail, sizeof o->trail);
        o->is_known = true;
        known = false;
    }
    if (o->trails.here)
        sonde__trail(&o->trails, o->trails.here)->known = true;
}

RAW bool oracle_check(struct oracle *o)
{
    unw_context_t context;
    unw_cursor_t cursor;
    walk_known_too(o);
    sonde__unwind_full(&o->full);
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    return compare_self(o) && compare_known(o) && compare_unwind(o, &cursor);
}

RAW bool oracle_check_self(struct oracle *o)
{
    walk_known_too(o);
    sonde__unwind_full(&o->full);
    return compare_self(o) && compare_known(o);
}

void oracle_modules_changed(void)
{
    unw_flush_cache(unw_local_addr_space, 0, 0);
}

uint64_t oracle_walks(const struct oracle *o)
{
    return o->walks;
}
uint64_t oracle_shared(const struct oracle *o)
{
    return o->shared;
}
uint64_t oracle_mismatches(const struct oracle *o)
{
    return o->mismatches;
}
