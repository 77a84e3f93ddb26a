/* unwind_rules.c - see unwind_rules.h. */
#include "unwind_rules.h"

#include <errno.h>
#include <stddef.h>

#include "guest/hot.h"
#include "guest/memory.h"
#include "sonde/error.h"
#include "unwind.h"
#include "unwind_cfi.h"

#define GENERATION_MASK ((UINT64_C(1) << 17) - 1)

struct sonde__rule_entry *sonde__rules;
SONDE__HOT_DATA _Atomic uint64_t sonde__rule_generation = 1;

int sonde__unwind_init(void)
{
    if (sonde__rules)
        return 0;
    sonde__rules = sonde__pages_get(sizeof *sonde__rules << RULE_TABLE_BITS);
    return sonde__rules ? 0 : SONDE_ENOMEM;
}

uint64_t sonde__unwind_generation(void)
{
    return sonde__rules_now();
}

void sonde__unwind_modules_changed(void)
{
    uint64_t now = atomic_fetch_add_explicit(&sonde__rule_generation, 1, memory_order_acq_rel) + 1;
    /* The key holds 17 bits of the generation: when they come round, what is
     * left of the first round must go. */
    if ((now & GENERATION_MASK) == 0 && sonde__rules)
        for (size_t i = 0; i < (size_t)1 << RULE_TABLE_BITS; i++)
            atomic_store_explicit(&sonde__rules[i].check, 0, memory_order_relaxed);
}

static void rule_put(uint64_t key, uint64_t rule)
{
    static _Atomic unsigned turn;
    struct sonde__rule_entry *line = rule_line(key);
    unsigned way = RULE_WAYS;
    for (unsigned i = 0; i < RULE_WAYS && way == RULE_WAYS; i++) {
        uint64_t old = atomic_load_explicit(&line[i].check, memory_order_relaxed) ^
                       atomic_load_explicit(&line[i].rule, memory_order_relaxed);
        if (old >> RULE_GENERATION_SHIFT != key >> RULE_GENERATION_SHIFT) /* empty, or of old modules */
            way = i;
    }
    if (way == RULE_WAYS)
        way = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % RULE_WAYS;
    atomic_store_explicit(&line[way].check, key ^ rule, memory_order_relaxed);
    atomic_store_explicit(&line[way].rule, rule, memory_order_relaxed);
}

__attribute__((noinline, cold)) uint64_t sonde__rule_make(uint64_t key, uintptr_t look)
{
    int error = errno;
    uint64_t rule = look < USER_END ? sonde__rule_learn(look) : SONDE__RULE_NONE;
    if (sonde__rules && look < USER_END)
        rule_put(key, rule);
    errno = error;
    return rule;
}
