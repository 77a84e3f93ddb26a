/* process.h - which process this is: what a parent's threads held, said or knew by this number is not a forked child's. */
#ifndef SONDE_GUEST_PROCESS_H
#define SONDE_GUEST_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

extern _Atomic uint32_t sonde__process_number; /* 1, and in a forked child one more than in its parent */

static inline uint32_t sonde__process(void)
{
    return atomic_load_explicit(&sonde__process_number, memory_order_relaxed);
}

/* In a forked child, with its one thread, before anything else. */
static inline void sonde__process_forked(void)
{
    atomic_fetch_add_explicit(&sonde__process_number, 1, memory_order_relaxed);
}

#endif
