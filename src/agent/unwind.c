/* unwind.c - walks the calling thread's stack; contract and proof in unwind.h.
 *
 * Why not libunwind: measured, its unw_step costs about 560 ns a frame and the
 * first step from a new place 0.3 to 0.6 ms; its fast unw_backtrace gives no
 * canonical frame addresses, without which part of the last stack cannot be
 * re-used with proof. So the call frame information is interpreted here, once
 * per pc, and libunwind is the independent oracle of the tests.
 *
 * The rules are in unwind_rules.h.
 *
 * Nothing here may fault, whatever lies on the stack: reads stay inside the
 * thread's stack, whose upper end is found without system calls where it can
 * be (struct bounds), and each CFA must lie above the last one.
 */
#include "agent/unwind.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/unwind_cfi.h"
#include "agent/unwind_rules.h"
#include "agent/unwind_trails.h"

#define PAGE ((uintptr_t)4096)
#define MAIN_STACK_MAX ((uintptr_t)120 << 20) /* the kernel keeps 128 MiB below the stack free */
#define THREAD_STACK_MAX ((uintptr_t)256 << 20)
#define EXTEND_MAX ((uintptr_t)4 << 20)
#define SCAN_WORDS 1024
#define FP_GUESS_MAX ((uintptr_t)1 << 20)

/* ---- the stack's bounds ------------------------------------------------ */

/* What this thread may read: [lo, hi). A foreign stack (coroutine, alternate
 * signal stack) has no known end: its pages are probed as the walk reaches
 * them, one system call of 0.1 to 0.4 us per page and walk. */
struct bounds {
    uintptr_t lo, hi;
    bool      foreign;
};

/* This thread's own stack as far as it is known to be mapped, and a range that
 * is known not to be part of it. */
static _Thread_local struct {
    uintptr_t lo, hi, foreign_lo, foreign_hi;
    bool      asked, first; /* first: the process's first thread, whose TCB is not on its stack */
} own;

extern void *__libc_stack_end;

/* Can the page at `address` be read? The kernel reads the new signal set before
 * it looks at `how`, so this changes nothing; no sandbox forbids it. */
static bool readable(uintptr_t address)
{
    address &= ~(PAGE - 1);
    return syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8) == -1 && errno != EFAULT;
}

/* First unreadable page in [from, to); `to` when all can be read. */
static uintptr_t probe(uintptr_t from, uintptr_t to)
{
    uintptr_t page = from & ~(PAGE - 1);
    while (page < to && readable(page))
        page += PAGE;
    return page < to ? page : to;
}

/* The thread control block lies at the top of a thread's stack, so a range
 * readable without a gap from sp to there is this thread's own stack. (A
 * coroutine's stack right below it without a guard page would pass too; then
 * only a walk gone astray could tell the difference.) */
static bool own_stack(uintptr_t sp)
{
    uintptr_t end = (uintptr_t)__libc_stack_end, tp = sonde__thread_pointer();
    if (!own.asked) {
        own.first = syscall(SYS_gettid) == getpid();
        own.asked = true;
    }
    if (sp < end && end - sp < MAIN_STACK_MAX) {
        own.lo = end - MAIN_STACK_MAX;
        own.hi = end;
        return true;
    }
    if (own.first || sp - own.foreign_lo < own.foreign_hi - own.foreign_lo || sp >= tp ||
        tp - sp > THREAD_STACK_MAX)
        return false;
    uintptr_t known = own.hi == tp && sp < own.lo ? own.lo : tp;
    uintptr_t stop = probe(sp, known);
    if (stop != known) {
        own.foreign_lo = sp & ~(PAGE - 1);
        own.foreign_hi = stop;
        return false;
    }
    own.lo = sp & ~(PAGE - 1);
    own.hi = tp & ~(uintptr_t)7;
    return true;
}

static __attribute__((noinline, cold)) void bounds_find(struct bounds *b, uintptr_t sp)
{
    int error = errno;
    b->lo = sp;
    b->foreign = !own_stack(sp);
    b->hi = own.hi;
    if (b->foreign)
        b->hi = readable(sp) ? (sp & ~(PAGE - 1)) + PAGE : sp;
    errno = error;
}

static inline void bounds_get(struct bounds *b, uintptr_t sp)
{
    b->lo = sp;
    b->hi = own.hi;
    b->foreign = false;
    if (UNLIKELY(sp - own.lo >= own.hi - own.lo))
        bounds_find(b, sp);
}

static __attribute__((noinline, cold)) bool bounds_extend(struct bounds *b, uintptr_t to)
{
    int error = errno;
    if (b->foreign && to > b->hi && to - b->hi < EXTEND_MAX) {
        uintptr_t end = (to + PAGE - 1) & ~(PAGE - 1);
        b->hi = probe(b->hi, end);
    }
    errno = error;
    return to <= b->hi;
}

/* Is [at, at + 8 * words) readable stack? */
static inline bool inside(struct bounds *b, uintptr_t at, uintptr_t words)
{
    if (at < b->lo || (at & 7) || at + 8 * words < at)
        return false;
    return LIKELY(at + 8 * words <= b->hi) || bounds_extend(b, at + 8 * words);
}

SONDE__RAW static inline uintptr_t word(uintptr_t at) { return *(const uintptr_t *)at; }

/* ---- one step ---------------------------------------------------------- */

/* Low bits of a frame's fp_slot: how it was found, when not by a plain rule. */
enum {
    BY_STEP = 1, /* depends on more than the two slots: step again to compare */
    EXACT = 2,   /* pc is the next instruction to run, not a return address */
    GUESSED = 4,
    FLAGS = 7,
};

struct frame {
    uintptr_t pc, cfa, fp, fp_slot;
};

struct walk {
    struct bounds bounds;
    uint64_t      generation;
    uint32_t      guessed;
};

enum step { STEP_OK, STEP_OUTERMOST, STEP_LOST };

static inline uintptr_t look_at(const struct frame *f)
{
    return f->pc - !(f->fp_slot & EXACT);
}

/* The bounds at an interrupted sp. Epilogues keep describing a popped register
 * by its slot, which then lies in the red zone below sp (the kernel leaves it). */
static void bounds_interrupted(struct bounds *b, uintptr_t sp)
{
    int error = errno;
    bounds_get(b, sp);
    if (((sp ^ (sp - SONDE__RED_ZONE)) & ~(PAGE - 1)) == 0 || readable(sp - SONDE__RED_ZONE))
        b->lo = sp - SONDE__RED_ZONE;
    errno = error;
}

/* Registers of frame `f`, by stepping there in full from this place. Needed
 * only where a rule uses another register (glibc's _dl_runtime_resolve, some
 * prologues): seen in no steady state. */
SONDE__RAW static __attribute__((noinline)) bool registers_of(const struct frame *f,
                                                              struct sonde__regs *regs)
{
    struct sonde__cfi cfi;
    struct sonde__cfi_row row;
    struct sonde__cfi_range range;
    struct bounds bounds;
    bool exact = true, outermost = false;
    SONDE__REGS_HERE(regs);
    regs->known = SONDE__REGS_HERE_KNOWN;
    bounds_get(&bounds, regs->sp);
    for (unsigned i = 0; i < SONDE_STACK_MAX + 64; i++) {
        uintptr_t pc = regs->reg[SONDE__RIP], sp = regs->sp;
        if (pc == f->pc && sp == f->cfa)
            return true;
        if (sonde__cfi_find(pc - !exact, &cfi) != SONDE__CFI_FOUND ||
            !sonde__cfi_row(&cfi, pc - !exact, &row))
            return false;
        if (!bounds_extend(&bounds, sp + PAGE) && bounds.hi <= sp)
            return false;
        range = (struct sonde__cfi_range){bounds.lo, bounds.hi};
        if (!sonde__cfi_apply(&cfi, &row, &range, regs, &outermost) || outermost)
            return false;
        exact = cfi.signal;
        if (exact)
            bounds_interrupted(&bounds, regs->sp);
        else if (regs->sp <= sp)
            return false;
    }
    return false;
}

SONDE__RAW static enum step step_registers(struct walk *w, struct frame *f)
{
    struct sonde__regs regs;
    struct sonde__cfi cfi;
    struct sonde__cfi_row row;
    bool outermost;
    uintptr_t sp = f->cfa;
    if (!registers_of(f, &regs) || sonde__cfi_find(look_at(f), &cfi) != SONDE__CFI_FOUND ||
        !sonde__cfi_row(&cfi, look_at(f), &row))
        return STEP_LOST;
    bounds_extend(&w->bounds, sp + PAGE);
    struct sonde__cfi_range range = {w->bounds.lo, w->bounds.hi};
    if (!sonde__cfi_apply(&cfi, &row, &range, &regs, &outermost))
        return STEP_LOST;
    if (outermost)
        return STEP_OUTERMOST;
    if (cfi.signal)
        bounds_interrupted(&w->bounds, regs.sp);
    else if (regs.sp <= sp || !inside(&w->bounds, regs.sp - 8, 1))
        return STEP_LOST;
    f->pc = regs.reg[SONDE__RIP];
    f->cfa = regs.sp;
    if (regs.known >> SONDE__RBP & 1)
        f->fp = regs.reg[SONDE__RBP];
    f->fp_slot = cfi.signal ? BY_STEP | EXACT : BY_STEP;
    return STEP_OK;
}

/* Through a signal handler's frame to what it interrupted, maybe on another stack. */
SONDE__RAW static enum step step_signal(struct walk *w, struct frame *f)
{
    uintptr_t context = f->cfa;
    if (!inside(&w->bounds, context, SONDE__UC_RIP / 8 + 1))
        return STEP_LOST;
    f->pc = word(context + SONDE__UC_RIP);
    f->cfa = word(context + SONDE__UC_RSP);
    f->fp = word(context + SONDE__UC_RBP);
    f->fp_slot = BY_STEP | EXACT;
    if (f->cfa & 7)
        return STEP_LOST;
    bounds_interrupted(&w->bounds, f->cfa);
    return STEP_OK;
}

/* ---- guesses: code without a description ------------------------------- */

/* May `pc` be a return address? True for what was walked through before, for
 * what follows a call in a module, and for what follows a call in memory of no
 * module (JIT-made code). */
SONDE__RAW static bool plausible(struct walk *w, uintptr_t pc, bool module_only)
{
    uint64_t rule;
    if (pc < 0x10000 || pc >= USER_END || (pc >= w->bounds.lo && pc < w->bounds.hi))
        return false;
    if (!module_only && sonde__rules && rule_find(rule_key(w->generation, pc - 1), &rule))
        return true;
    if (sonde__cfi_is_code(pc - 1))
        return sonde__cfi_is_code(pc - 7) && sonde__after_call(pc);
    return !module_only && readable(pc - 7) && readable(pc - 1) && sonde__after_call(pc);
}

/* Does the stack look right one step beyond (pc, sp, fp)? */
SONDE__RAW static bool leads_on(struct walk *w, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    uint64_t rule = rule_get(w->generation, pc - 1);
    uintptr_t cfa;
    switch (sonde__rule_kind(rule)) {
    case SONDE__RULE_SP: cfa = sp; break;
    case SONDE__RULE_FP: cfa = fp; break;
    case SONDE__RULE_OUTERMOST: return true;
    default: return false;
    }
    cfa += (uintptr_t)sonde__rule_cfa_offset(rule);
    return cfa > sp && inside(&w->bounds, cfa - 8, 1) && plausible(w, word(cfa - 8), false);
}

static enum step guessed(struct walk *w, struct frame *f, uintptr_t cfa, uintptr_t fp)
{
    f->pc = word(cfa - 8);
    f->cfa = cfa;
    f->fp = fp;
    f->fp_slot = BY_STEP | GUESSED;
    w->guessed++;
    return STEP_OK;
}

/* Up the stack for a return address into a module from where the walk leads on.
 * The frame pointer may be lost; made code too pushes it first, so it is tried
 * from below the return address. */
SONDE__RAW static enum step scan(struct walk *w, struct frame *f)
{
    uintptr_t sp = f->cfa, fp = f->fp;
    for (uintptr_t at = sp; at < sp + 8 * SCAN_WORDS && inside(&w->bounds, at, 1); at += 8) {
        uintptr_t pc = word(at);
        if (!plausible(w, pc, true))
            continue;
        if (leads_on(w, pc, at + 8, fp))
            return guessed(w, f, at + 8, fp);
        if (at > sp && leads_on(w, pc, at + 8, word(at - 8)))
            return guessed(w, f, at + 8, word(at - 8));
    }
    return STEP_LOST;
}

SONDE__RAW static __attribute__((noinline, cold)) enum step guess(struct walk *w, struct frame *f)
{
    int error = errno;
    enum step result = STEP_LOST;
    uintptr_t sp = f->cfa, fp = f->fp;
    /* A jump to nowhere: the caller's return address is still on top. */
    if ((f->fp_slot & EXACT) && inside(&w->bounds, sp, 1) && plausible(w, word(sp), true)) {
        result = guessed(w, f, sp + 8, fp);
    } else if (fp >= sp && fp - sp < FP_GUESS_MAX && inside(&w->bounds, fp, 2) &&
               plausible(w, word(fp + 8), false)) {
        result = guessed(w, f, fp + 16, word(fp));
    } else {
        result = scan(w, f);
    }
    errno = error;
    return result;
}

static __attribute__((noinline, cold)) enum step step_rare(struct walk *w, struct frame *f,
                                                           uint64_t rule)
{
    enum step result;
    switch (sonde__rule_kind(rule)) {
    case SONDE__RULE_OUTERMOST: return STEP_OUTERMOST;
    case SONDE__RULE_SIGNAL: result = step_signal(w, f); break;
    case SONDE__RULE_SLOW: result = step_registers(w, f); break;
    default: result = STEP_LOST;
    }
    return result == STEP_LOST ? guess(w, f) : result;
}

/* The CFA where it is read from memory. 0 when that fails. */
SONDE__RAW static uintptr_t cfa_deref(struct walk *w, const struct frame *f, uint64_t rule)
{
    uintptr_t base = sonde__rule_kind(rule) == SONDE__RULE_FP_DEREF ? f->fp : f->cfa;
    uintptr_t at = base + (uintptr_t)sonde__rule_cfa_offset(rule);
    return inside(&w->bounds, at, 1) ? word(at) + (uintptr_t)sonde__rule_second(rule) : 0;
}

/* From frame `f` to its caller, in place. */
SONDE__RAW static inline enum step step(struct walk *w, struct frame *f)
{
    uint64_t rule = rule_get(w->generation, look_at(f));
    unsigned kind = sonde__rule_kind(rule), fp_kind = sonde__rule_fp(rule);
    uintptr_t cfa = sonde__rule_cfa_offset(rule), slot = 0, flags = 0;
    if (LIKELY(kind == SONDE__RULE_SP)) {
        cfa += f->cfa;
    } else if (LIKELY(kind == SONDE__RULE_FP)) {
        cfa += f->fp;
    } else if (kind == SONDE__RULE_FP_DEREF || kind == SONDE__RULE_SP_DEREF) {
        cfa = cfa_deref(w, f, rule);
        flags = BY_STEP; /* the proof compares two slots, and this is a third */
    } else {
        return step_rare(w, f, rule);
    }
    if (UNLIKELY(cfa <= f->cfa || !inside(&w->bounds, cfa - 8, 1)))
        return guess(w, f);
    if (LIKELY(fp_kind != SONDE__FP_SAME)) {
        slot = (fp_kind == SONDE__FP_AT_CFA ? cfa : f->fp) + (uintptr_t)sonde__rule_fp_offset(rule);
        if (UNLIKELY(slot < w->bounds.lo || slot > cfa - 8 || (slot & 7)))
            return guess(w, f);
        f->fp = word(slot);
    }
    f->pc = word(cfa - 8);
    f->cfa = cfa;
    f->fp_slot = slot | flags;
    return LIKELY(f->pc != 0) ? STEP_OK : STEP_OUTERMOST;
}

/* ---- the walk ---------------------------------------------------------- */

static inline struct frame kept(const struct sonde_stack *s, uint32_t i)
{
    return (struct frame){s->pc[i], s->cfa[i], s->fp[i], s->fp_slot[i]};
}

/* The same activation? (pc, sp, fp) decide all outer frames' rules; an exact pc
 * looks its rule up differently. */
static inline bool same(const struct sonde_stack *s, uint32_t i, const struct frame *f)
{
    return s->cfa[i] == f->cfa && s->pc[i] == f->pc && s->fp[i] == f->fp &&
           !((s->fp_slot[i] ^ f->fp_slot) & EXACT);
}

/* Given that frame i - 1 holds, the first of the frames i.. whose slots do not
 * hold what they held. Frames that need a step count as such. */
SONDE__RAW static inline uint32_t prove(const struct sonde_stack *s, uint32_t i, uintptr_t hi)
{
    uint32_t count = s->count;
    for (; i < count; i++) {
        uintptr_t cfa = s->cfa[i], slot = s->fp_slot[i];
        if (UNLIKELY(cfa > hi || (slot & FLAGS)))
            break;
        uintptr_t pc = word(cfa - 8);
        uintptr_t fp = slot ? word(slot) : s->fp[i];
        if (UNLIKELY(pc != s->pc[i] || fp != s->fp[i]))
            break;
    }
    return i;
}

/* Frame j of the last stack holds. Goes outwards as far as the last stack can
 * be proved; *f gets the first frame that differs. Returns its index in the
 * last stack, and how the step to it ended. */
static inline uint32_t follow(struct walk *w, struct sonde_stack *s, uint32_t j, struct frame *f,
                              enum step *how)
{
    for (uint32_t i = j + 1;; i++) {
        i = prove(s, i, w->bounds.hi);
        *f = kept(s, i - 1);
        *how = step(w, f);
        if (i == s->count || *how != STEP_OK || !same(s, i, f))
            return i;
    }
}

static void move_kept(struct sonde_stack *s, uint32_t from, uint32_t to)
{
    size_t bytes = (s->count - from) * sizeof s->pc[0];
    memmove(&s->pc[to], &s->pc[from], bytes);
    memmove(&s->cfa[to], &s->cfa[from], bytes);
    memmove(&s->fp[to], &s->fp[from], bytes);
    memmove(&s->fp_slot[to], &s->fp_slot[from], bytes);
    memmove(&s->id[to], &s->id[from], (s->count - from) * sizeof s->id[0]);
}

/* The stack is `fresh` frames from s->fresh, then those kept from index `from`. */
static void finish(struct sonde_stack *s, uint32_t fresh, uint32_t from, enum sonde_unwind_end end)
{
    uint32_t shared = s->count - from;
    if (UNLIKELY(fresh + shared > SONDE_STACK_MAX)) {
        s->count = from + (SONDE_STACK_MAX - fresh);
        memset(&s->id[from], 0, (s->count - from) * sizeof s->id[0]);
        end = SONDE_UNWIND_CUT;
    }
    if (from != fresh && s->count > from)
        move_kept(s, from, fresh);
    for (uint32_t i = 0; i < fresh; i++) {
        s->pc[i] = s->fresh[i].pc;
        s->cfa[i] = s->fresh[i].cfa;
        s->fp[i] = s->fresh[i].fp;
        s->fp_slot[i] = s->fresh[i].fp_slot;
        s->id[i] = 0;
    }
    s->count = fresh + (s->count - from);
    s->shared = end == SONDE_UNWIND_CUT ? 0 : shared;
    s->end = (uint8_t)end;
}

static inline void append(struct sonde_stack *s, uint32_t *fresh, const struct frame *f)
{
    s->fresh[*fresh].pc = f->pc;
    s->fresh[*fresh].cfa = f->cfa;
    s->fresh[*fresh].fp = f->fp;
    s->fresh[(*fresh)++].fp_slot = f->fp_slot;
}

static inline enum sonde_unwind_end ended(enum step how)
{
    return how == STEP_OUTERMOST ? SONDE_UNWIND_OUTERMOST : SONDE_UNWIND_LOST;
}

/* ---- trails: what earlier walks found -------------------------------------- */

#define WORTH_A_TRAIL 2u /* frames: fewer are walked as fast */

struct trail {
    const struct sonde_trail *trail; /* NULL: none */
    uint32_t number, at; /* of the trail; frames of it that the stack bears out */
    bool     left;       /* the stack went another way than the trail */
};

static inline bool begins_here(const struct sonde_trail *t, const struct walk *w, const struct frame *f)
{
    return t->count && t->base == f->cfa && t->frame[0].pc == f->pc && t->frame[0].fp == f->fp &&
           t->generation == w->generation;
}

static inline void trail_choose(struct trail *on, const struct sonde_trails *t, const struct walk *w, const struct frame *f)
{
    const uint32_t numbers[] = {t->last ? sonde__trail(t, t->last)->next : 0, t->begins[sonde__trail_begins(f->cfa)]};
    for (unsigned i = 0; i < 2 && !on->trail; i++) {
        const struct sonde_trail *trail = numbers[i] ? sonde__trail(t, numbers[i]) : NULL;
        if (!trail || !begins_here(trail, w, f))
            continue;
        for (uint32_t k = 2; k < trail->count; k += 3) /* a cache line holds not quite three */
            __builtin_prefetch(&trail->frame[k]);
        on->trail = trail;
        on->number = numbers[i];
    }
}

/* Frame `f` is the trail's number i - 1. To number i, if that is where the stack leads. */
SONDE__RAW static inline bool trail_step(const struct sonde_trail *t, uint32_t i, const struct walk *w, struct frame *f)
{
    const struct sonde_trail_frame *next = &t->frame[i];
    uintptr_t cfa = t->base + next->cfa, slot = next->fp_slot ? t->base + next->fp_slot : 0;
    if (UNLIKELY(cfa > w->bounds.hi || word(cfa - 8) != next->pc || (slot ? word(slot) : f->fp) != next->fp))
        return false;
    *f = (struct frame){next->pc, cfa, next->fp, slot};
    return true;
}

/* Frame `f` is the trail's frame 0. Goes outwards as far as the trail can be
 * proved; *f gets the last frame that was, the inner ones are appended. */
SONDE__RAW static inline void trail_follow(struct trail *on, struct sonde_stack *s, const struct walk *w, struct frame *f,
                                           uint32_t *fresh)
{
    const struct sonde_trail *t = on->trail;
    uint32_t i = 1;
    for (struct frame inner = *f; i < t->count && trail_step(t, i, w, f); i++, inner = *f)
        append(s, fresh, &inner);
    on->at = i;
    on->left = i < t->count;
}

static inline void trail_came(struct sonde_trails *t, uint32_t number)
{
    if (t->last)
        sonde__trail(t, t->last)->next = number;
    t->last = number;
}

/* Is the whole stack a trail with a place of its own (epoch) and, from where
 * that met the last stack, what the last stack still is? Changes neither. */
SONDE__RAW static inline struct sonde_trail *trail_known(struct sonde_stack *s, struct walk *w, struct frame f,
                                                         uint32_t epoch)
{
    struct sonde_trails *trails = s->trails;
    struct trail on = {0};
    if (!trails || !trails->used)
        return NULL;
    trail_choose(&on, trails, w, &f);
    const struct sonde_trail *t = on.trail;
    if (!t || t->place.epoch != epoch || t->place.outer > s->count)
        return NULL;
    for (uint32_t i = 1; i < t->count; i++)
        if (!trail_step(t, i, w, &f))
            return NULL;
    uint32_t met = s->count - t->place.outer;
    if (!same(s, met, &f))
        return NULL;
    enum step how;
    if (follow(w, s, met, &f, &how) != s->count || how == STEP_OK || s->end != ended(how))
        return NULL;
    trails->followed += t->count;
    trail_came(trails, on.number);
    return sonde__trail(trails, on.number);
}

static inline bool fits(const struct sonde_stack *s, uint32_t i)
{
    uintptr_t base = s->cfa[0], slot = s->fp_slot[i];
    return !(slot & FLAGS) && s->cfa[i] - base < UINT32_MAX && (!slot || (slot > base && slot - base < UINT32_MAX));
}

/* The `fresh` frames and the one where they met the last stack. */
static __attribute__((noinline)) void trail_keep(struct sonde_stack *s, const struct walk *w, struct trail *on, uint32_t fresh)
{
    struct sonde_trails *t = s->trails;
    if (!on->number || on->left)
        on->number = sonde__trail_new(t);
    if (!on->number)
        return;
    struct sonde_trail *trail = sonde__trail(t, on->number);
    const uintptr_t base = s->cfa[0];
    uint32_t n = 0;
    for (; n <= fresh && n < s->count && n < SONDE_TRAIL_FRAMES && (!n || fits(s, n)); n++) {
        uintptr_t slot = n ? s->fp_slot[n] : 0;
        trail->frame[n] = (struct sonde_trail_frame){s->pc[n], s->fp[n], (uint32_t)(s->cfa[n] - base),
                                                     slot ? (uint32_t)(slot - base) : 0};
    }
    trail->generation = w->generation;
    trail->place.epoch = 0;
    trail->base = base;
    trail->count = n;
    t->begins[sonde__trail_begins(base)] = on->number;
}

/* The walk is done, in `s`. What no trail tells is kept; a trail that ended too early goes on. */
static inline void trail_end(struct sonde_stack *s, const struct walk *w, struct trail *on, uint32_t fresh)
{
    struct sonde_trails *t = s->trails;
    if (!t)
        return;
    t->here = 0;
    if (fresh <= WORTH_A_TRAIL)
        return;
    t->followed += on->at;
    if (!on->number || on->left || (on->at <= fresh && on->at < SONDE_TRAIL_FRAMES && on->at < s->count && fits(s, on->at)))
        trail_keep(s, w, on, fresh);
    if (!on->number)
        return;
    trail_came(t, on->number);
    if (sonde__trail(t, on->number)->count == fresh + 1)
        t->here = on->number;
}

static inline struct frame fresh_frame(const struct sonde_stack *s, uint32_t i)
{
    return (struct frame){s->fresh[i].pc, s->fresh[i].cfa, s->fresh[i].fp, s->fresh[i].fp_slot};
}

/* A trail may have gone beyond where it could have met the last stack. */
static inline uint32_t met_before(struct sonde_stack *s, uint32_t j, uint32_t *fresh)
{
    for (; j > 0 && *fresh > 0; j--, --*fresh) {
        struct frame f = fresh_frame(s, *fresh - 1);
        if (!same(s, j - 1, &f))
            break;
        s->fp_slot[j - 1] = f.fp_slot;
    }
    return j;
}

/* s->count frames of the last stack may be re-used; `f` is the innermost frame. */
SONDE__RAW static inline void walk(struct sonde_stack *s, struct walk *w, struct frame *f)
{
    uint32_t fresh = 0, j = 0;
    enum step how = STEP_OK;
    struct trail on = {0};
    if (s->trails && s->trails->used)
        trail_choose(&on, s->trails, w, f);
    if (on.trail)
        trail_follow(&on, s, w, f, &fresh);
    while (how == STEP_OK && fresh < SONDE_STACK_MAX) {
        while (j < s->count && s->cfa[j] < f->cfa)
            j++;
        if (j == s->count || !same(s, j, f)) {
            append(s, &fresh, f);
            how = step(w, f);
            continue;
        }
        s->fp_slot[j] = f->fp_slot; /* the way to here may have been another */
        uint32_t i = follow(w, s, j, f, &how);
        j = met_before(s, j, &fresh);
        if (LIKELY(i == s->count && how != STEP_OK && s->end == ended(how))) {
            finish(s, fresh, j, ended(how));
            trail_end(s, w, &on, fresh);
            return;
        }
        for (; j < i && fresh < SONDE_STACK_MAX; j++) {
            struct frame k = kept(s, j);
            append(s, &fresh, &k);
        }
        j = i;
    }
    finish(s, fresh, s->count, how == STEP_OK ? SONDE_UNWIND_CUT : ended(how));
    trail_end(s, w, &on, fresh);
}

static void start(struct sonde_stack *stack, struct walk *w, const struct frame *f, bool share)
{
    w->generation = sonde__unwind_generation();
    w->guessed = 0;
    if (!share || stack->generation != w->generation || stack->end == SONDE_UNWIND_CUT)
        stack->count = 0;
    stack->generation = w->generation;
    bounds_get(&w->bounds, f->cfa);
}

/* The function's own frame address tells the caller's pc, sp and fp. */
#define CALLER_FRAME(f)                                                   \
    uintptr_t own_frame = (uintptr_t)__builtin_frame_address(0);          \
    struct frame f = {word(own_frame + 8), own_frame + 16, word(own_frame), own_frame}

SONDE__RAW __attribute__((noinline)) struct sonde_trail *sonde__unwind(struct sonde_stack *stack, uint32_t epoch)
{
    CALLER_FRAME(f);
    struct walk w;
    struct sonde_trail *known;
    start(stack, &w, &f, true);
    if (epoch && (known = trail_known(stack, &w, f, epoch)))
        return known;
    walk(stack, &w, &f);
    stack->guessed = w.guessed;
    return NULL;
}

SONDE__RAW __attribute__((noinline)) void sonde__unwind_full(struct sonde_stack *stack)
{
    CALLER_FRAME(f);
    struct walk w;
    start(stack, &w, &f, false);
    walk(stack, &w, &f);
    stack->guessed = w.guessed;
}

SONDE__RAW __attribute__((noinline)) void sonde__unwind_interrupted(struct sonde_stack *stack,
                                                                    const struct sonde_place *at, bool share)
{
    struct frame f = {at->pc, at->sp, at->fp, BY_STEP | EXACT};
    struct walk w;
    struct sonde_trails *trails = stack->trails;
    stack->trails = NULL; /* they are the hooks' */
    start(stack, &w, &f, share);
    bounds_interrupted(&w.bounds, at->sp);
    walk(stack, &w, &f);
    stack->trails = trails;
    stack->guessed = w.guessed;
}

uintptr_t sonde__unwind_function_start(uintptr_t pc)
{
    struct sonde__cfi cfi;
    return sonde__cfi_find(pc, &cfi) == SONDE__CFI_FOUND ? cfi.start : 0;
}
