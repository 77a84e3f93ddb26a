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
#include "unwind.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwind_cfi.h"
#include "unwind_rules.h"
#include "unwind_trails.h"

#define PAGE ((uintptr_t)4096)
#define MAIN_STACK_MAX ((uintptr_t)120 << 20) /* the kernel keeps 128 MiB below the stack free */
#define THREAD_STACK_MAX ((uintptr_t)256 << 20)
#define EXTEND_MAX ((uintptr_t)4 << 20)
#define SCAN_WORDS 1024

/* ---- the stack's bounds ------------------------------------------------ */

/* What this thread may read: [lo, hi). A foreign stack (coroutine, alternate
 * signal stack) has no known end: its pages are probed as the walk reaches
 * them, one system call of 0.1 to 0.4 us per page and walk. */
struct bounds {
    uintptr_t lo, hi;
    bool foreign;
};

_Thread_local struct sonde__own sonde__own __attribute__((tls_model("initial-exec")));

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
    if (!sonde__own.asked) {
        sonde__own.first = syscall(SYS_gettid) == getpid();
        sonde__own.asked = true;
    }
    if (sp < end && end - sp < MAIN_STACK_MAX) {
        sonde__own.lo = end - MAIN_STACK_MAX;
        sonde__own.hi = end;
        return true;
    }
    if (sonde__own.first || sp - sonde__own.foreign_lo < sonde__own.foreign_hi - sonde__own.foreign_lo || sp >= tp ||
        tp - sp > THREAD_STACK_MAX)
        return false;
    uintptr_t known = sonde__own.hi == tp && sp < sonde__own.lo ? sonde__own.lo : tp;
    uintptr_t stop = probe(sp, known);
    if (stop != known) {
        sonde__own.foreign_lo = sp & ~(PAGE - 1);
        sonde__own.foreign_hi = stop;
        return false;
    }
    sonde__own.lo = sp & ~(PAGE - 1);
    sonde__own.hi = tp & ~(uintptr_t)7;
    return true;
}

static __attribute__((noinline, cold)) void bounds_find(struct bounds *b, uintptr_t sp)
{
    int error = errno;
    b->lo = sp;
    b->foreign = !own_stack(sp);
    b->hi = sonde__own.hi;
    if (b->foreign)
        b->hi = readable(sp) ? (sp & ~(PAGE - 1)) + PAGE : sp;
    errno = error;
}

static inline void bounds_get(struct bounds *b, uintptr_t sp)
{
    b->lo = sp;
    b->hi = sonde__own.hi;
    b->foreign = false;
    if (UNLIKELY(sp - sonde__own.lo >= sonde__own.hi - sonde__own.lo))
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

SONDE__RAW static inline uintptr_t word(uintptr_t at)
{
    return *(const uintptr_t *)at;
}

/* ---- one step ---------------------------------------------------------- */

struct frame {
    uintptr_t pc, cfa, fp, fp_slot;
};

struct walk {
    struct bounds bounds;
    uint64_t generation;
    uint32_t guessed;
};

enum step {
    STEP_OK,
    STEP_OUTERMOST,
    STEP_LOST,
};

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
    } else if (fp >= sp && inside(&w->bounds, fp, 2) && plausible(w, word(fp + 8), false)) {
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
        flags = FROM_FP;
    } else if (kind == SONDE__RULE_FP_DEREF || kind == SONDE__RULE_SP_DEREF) {
        cfa = cfa_deref(w, f, rule);
        flags = BY_STEP | FROM_FP; /* the proof compares two slots, and this is a third */
    } else {
        return step_rare(w, f, rule);
    }
    if (UNLIKELY(cfa <= f->cfa || !inside(&w->bounds, cfa - 8, 1)))
        return guess(w, f);
    if (LIKELY(fp_kind != SONDE__FP_SAME)) {
        slot = (fp_kind == SONDE__FP_AT_CFA ? cfa : f->fp) + (uintptr_t)sonde__rule_fp_offset(rule);
        flags |= fp_kind == SONDE__FP_AT_CFA ? 0 : FROM_FP;
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

/* The same activation? An exact pc looks its rule up differently. The frame
 * pointer counts where a rule uses it. */
static inline bool same(const struct sonde_stack *s, uint32_t i, const struct frame *f)
{
    return s->cfa[i] == f->cfa && s->pc[i] == f->pc && !((s->fp_slot[i] ^ f->fp_slot) & EXACT);
}

/* Given that frame i - 1 holds, with *fp in the frame pointer, the first of the
 * frames i.. that cannot be proved; *fp is that of the one before. Frames that
 * need a step count as such. Where no rule uses it, a frame's fp may be another
 * than it was: it is read only where one does, and at the end. */
SONDE__RAW static inline uint32_t prove(const struct sonde_stack *s, uint32_t i, uintptr_t hi, uintptr_t *fp)
{
    uint32_t count = s->count;
    uintptr_t saved = (uintptr_t)fp;
    for (; i < count; i++) {
        uintptr_t cfa = s->cfa[i], slot = s->fp_slot[i];
        if (UNLIKELY(slot & (FLAGS | FROM_FP))) {
            if ((slot & FLAGS) || word(saved) != s->fp[i - 1])
                break;
            slot &= ~FROM_FP;
        }
        if (UNLIKELY(cfa > hi || word(cfa - 8) != s->pc[i]))
            break;
        saved = slot ? slot : saved;
    }
    *fp = word(saved);
    return i;
}

/* Frame j of the last stack holds; *f is it, now. Goes outwards as far as the last
 * stack can be proved; *f gets the first frame that differs. Returns its index in
 * the last stack, and how the step to it ended. */
static inline uint32_t follow(struct walk *w, struct sonde_stack *s, uint32_t j, struct frame *f,
                              enum step *how)
{
    for (uint32_t i = j + 1;; i++) {
        uintptr_t fp = f->fp;
        i = prove(s, i, w->bounds.hi, &fp);
        s->fp[i - 1] = fp; /* frame i is stepped to, or left behind */
        *f = kept(s, i - 1);
        *how = step(w, f);
        if (i == s->count || *how != STEP_OK || !same(s, i, f))
            return i;
        s->fp_slot[i] = f->fp_slot;
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

#define TRAIL_TRIES 8u

struct trail {
    const struct sonde_trail *trail; /* NULL: none */
    uint32_t number, at;  /* of the trail; entries of it that the stack bears out */
    uint32_t last;        /* the last of them that is a frame */
    uintptr_t saved;      /* where the frame pointer of that frame is */
};

static inline bool begins_here(const struct sonde_trail *t, const struct walk *w, const struct frame *f)
{
    return t->count && t->base == f->cfa - 8 && t->entry[0].pc == f->pc && t->generation == w->generation &&
           t->base + t->top <= w->bounds.hi;
}

static inline bool is_frame(const struct sonde_trail_entry *e)
{
    return (e->fp_slot & FLAGS) < SONDE_TRAIL_FP;
}

SONDE__RAW static inline bool trail_word(const struct sonde_trail *t, const struct sonde_trail_entry *e)
{
    return word(t->base + e->cfa - 8) == e->pc;
}

/* A frame of the trail; `fp` is that of the one before. */
SONDE__RAW static inline struct frame trail_frame(const struct sonde_trail *t, const struct sonde_trail_entry *e, uintptr_t fp)
{
    static const uintptr_t flags[] = {
        [SONDE_TRAIL_FROM_FP] = FROM_FP,
        [SONDE_TRAIL_AFTER_FP] = FROM_FP,
        [SONDE_TRAIL_AFTER_WORD] = BY_STEP | FROM_FP,
    };
    uintptr_t slot = e->fp_slot & ~(uint32_t)FLAGS;
    slot += slot ? t->base : 0;
    return (struct frame){e->pc, t->base + e->cfa, slot ? word(slot) : fp, slot | flags[e->fp_slot & FLAGS]};
}

/* As far as the stack bears out the trail, given that it does its first entry. The
 * frame pointer of that frame is at `fp`; it is read where it counts. */
SONDE__RAW static inline void trail_prove(struct trail *on, const struct sonde_trail *t, uint32_t number, const uintptr_t *fp)
{
    const uintptr_t base = t->base;
    uintptr_t saved = (uintptr_t)fp;
    uint32_t last = 0, i = 1;
    for (; i < t->count; i++) {
        const struct sonde_trail_entry *e = &t->entry[i];
        const uint32_t how = e->fp_slot & FLAGS, slot = e->fp_slot - how;
        if (how == SONDE_TRAIL_FROM_FP) {
            if (UNLIKELY(word(saved) != base + e->cfa - 16))
                break;
        } else if (UNLIKELY(how >= SONDE_TRAIL_FP)) {
            if (how == SONDE_TRAIL_FP ? word(saved) != e->pc : !trail_word(t, e))
                break;
            continue;
        }
        if (UNLIKELY(!trail_word(t, e)))
            break;
        saved = slot ? base + slot : saved;
        last = i;
    }
    if (i > on->at)
        *on = (struct trail){t, number, i, last, saved};
}

/* The trail that the stack bears out longest, of the one that came after the last
 * and those that began here. */
SONDE__RAW static inline void trail_choose(struct trail *on, const struct sonde_trails *t, const struct walk *w,
                                           const struct frame *here)
{
    uint32_t number = t->last ? sonde__trail(t, t->last)->next : 0;
    for (unsigned tries = 0; tries < TRAIL_TRIES && (number || !tries); tries++) {
        const struct sonde_trail *trail = number ? sonde__trail(t, number) : NULL;
        /* Most other trails can be told by where the best one so far ended. */
        if (trail && begins_here(trail, w, here) &&
            (!on->at || (on->at < trail->count && (!is_frame(&trail->entry[on->at]) || trail_word(trail, &trail->entry[on->at]))))) {
            trail_prove(on, trail, number, &here->fp);
            if (on->at == on->trail->count)
                return;
        }
        number = tries && trail ? trail->other : t->begins[sonde__trail_begins(here->cfa)];
    }
}

SONDE__RAW static inline struct frame trail_last(const struct trail *on)
{
    return trail_frame(on->trail, &on->trail->entry[on->last], word(on->saved));
}

/* The frames of a trail that was proved, but for the last, which *f is on return. */
SONDE__RAW static inline void trail_append(const struct trail *on, struct sonde_stack *s, struct frame *f, uint32_t *fresh)
{
    for (uint32_t i = 1; i <= on->last; i++)
        if (is_frame(&on->trail->entry[i])) {
            append(s, fresh, f);
            *f = trail_frame(on->trail, &on->trail->entry[i], f->fp);
        }
}

/* Is the whole stack a trail of which the caller knows more? */
SONDE__RAW static inline struct sonde_trail *trail_known(struct sonde_trails *t, struct walk *w, const struct frame *here)
{
    struct trail on = {0};
    if (!t || !t->used)
        return NULL;
    trail_choose(&on, t, w, here);
    if (!on.last || on.at < on.trail->count || !on.trail->known)
        return NULL;
    struct frame f = trail_last(&on);
    if (step(w, &f) != STEP_OUTERMOST)
        return NULL;
    t->followed += on.at;
    t->here = on.number;
    return sonde__trail(t, on.number);
}

/* The walk is done, in `s`. What no trail tells is kept. */
static inline void trail_end(struct sonde_stack *s, struct trail *on)
{
    struct sonde_trails *t = s->trails;
    if (!t)
        return;
    t->followed += on->at;
    const struct sonde_trail *trail = on->trail;
    if (!trail || on->at < trail->count || (trail->frames && trail->frames != s->count))
        on->number = s->count ? sonde__trail_keep(t, s) : 0;
    t->here = on->number;
    if (!t->here)
        return;
    sonde__trail_came(t);
    if (sonde__trail(t, t->here)->frames != s->count || s->end != SONDE_UNWIND_OUTERMOST)
        t->here = 0;
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
        s->fp[j - 1] = f.fp;
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
        trail_append(&on, s, f, &fresh);
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
            trail_end(s, &on);
            return;
        }
        for (; j < i && fresh < SONDE_STACK_MAX; j++) {
            struct frame k = kept(s, j);
            append(s, &fresh, &k);
        }
        j = i;
    }
    finish(s, fresh, s->count, how == STEP_OK ? SONDE_UNWIND_CUT : ended(how));
    trail_end(s, &on);
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

SONDE__RAW __attribute__((noinline)) struct sonde_trail *sonde__unwind(struct sonde_stack *stack, bool known)
{
    CALLER_FRAME(f);
    struct walk w;
    struct sonde_trail *trail;
    start(stack, &w, &f, true);
    if (known && (trail = trail_known(stack->trails, &w, &f)))
        return trail;
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
