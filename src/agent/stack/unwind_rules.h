/* unwind_rules.h - per pc, how to step from a frame to its caller; what the walker's files share.
 *
 * The table is a lossy, lock-free hash table: each entry holds
 * (key ^ value, value), so that an entry torn by two writers matches no key
 * (R. Hyatt and T. Mann, "A lock-less transposition table implementation for
 * parallel search", ICGA Journal 25, 2002). The key carries the module
 * generation, so bumping it voids every rule at once; it is read back out of
 * an entry to see whether that is an old one, which guest/pairs.h does not allow.
 */
#ifndef SONDE_AGENT_STACK_UNWIND_RULES_H
#define SONDE_AGENT_STACK_UNWIND_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define USER_END ((uintptr_t)1 << 47)
/* Low bits of a frame's fp_slot: how it was found, when not by a plain rule. */
enum {
    BY_STEP = 1, /* depends on more than the two slots: step again to compare */
    EXACT = 2,   /* pc is the next instruction to run, not a return address */
    GUESSED = 4,
    FLAGS = 7,
};
#define FROM_FP ((uintptr_t)1 << 63) /* the same: its cfa or fp_slot come from the inner frame's fp */

/* This thread's own stack as far as it is known to be mapped, and a range that
 * is known not to be part of it. */
struct sonde__own {
    uintptr_t lo, hi, foreign_lo, foreign_hi;
    bool asked, first; /* first: the process's first thread, whose TCB is not on its stack */
};
extern _Thread_local struct sonde__own sonde__own __attribute__((tls_model("initial-exec")));

/* Are `bytes` from there on known to be in it? */
static inline bool sonde__own_has(uintptr_t at, uintptr_t bytes)
{
    return at >= sonde__own.lo && at <= sonde__own.hi && bytes <= sonde__own.hi - at;
}

extern _Atomic uint64_t sonde__rule_generation; /* sonde__unwind_generation */

static inline uint64_t sonde__rules_now(void)
{
    return atomic_load_explicit(&sonde__rule_generation, memory_order_relaxed);
}

#define RULE_WAYS 4 /* one cache line */
#define RULE_TABLE_BITS 16
#define RULE_GENERATION_SHIFT 47

struct sonde__rule_entry {
    _Atomic uint64_t check, rule;
};
extern struct sonde__rule_entry *sonde__rules; /* 1 MiB; NULL until sonde__unwind_init */

static inline uint64_t rule_key(uint64_t generation, uintptr_t look)
{
    return look | generation << RULE_GENERATION_SHIFT;
}

static inline struct sonde__rule_entry *rule_line(uint64_t key)
{
    return &sonde__rules[((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - RULE_TABLE_BITS)) & ~(uint64_t)(RULE_WAYS - 1)];
}

static inline bool rule_find(uint64_t key, uint64_t *rule)
{
    struct sonde__rule_entry *line = rule_line(key);
    for (unsigned i = 0; i < RULE_WAYS; i++) {
        uint64_t value = atomic_load_explicit(&line[i].rule, memory_order_relaxed);
        if (LIKELY((atomic_load_explicit(&line[i].check, memory_order_relaxed) ^ value) == key)) {
            *rule = value;
            return true;
        }
    }
    return false;
}

/* Learn the rule of `look`, and keep it. Preserves errno. */
uint64_t sonde__rule_make(uint64_t key, uintptr_t look);

static inline uint64_t rule_get(uint64_t generation, uintptr_t look)
{
    uint64_t rule, key = rule_key(generation, look);
    if (LIKELY(sonde__rules && look < USER_END && rule_find(key, &rule)))
        return rule;
    return sonde__rule_make(key, look);
}

#endif
