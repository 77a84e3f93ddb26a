/* lock.h - a spin lock that gives way, for rare and short sections.
 *
 * Not pthread_mutex: the program may interpose it, and a forked child must be
 * able to take what a thread of its parent held (which may have been half done: a child forgets
 * what it does not want torn). C11 acquire/release, which ThreadSanitizer understands.
 * A sample's signal handler waits for none: what it interrupted may hold it.
 */
#ifndef SONDE_GUEST_LOCK_H
#define SONDE_GUEST_LOCK_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest/process.h"

struct sonde_lock {
    _Atomic uint32_t taken; /* by a thread of the process with this number (process.h) */
    _Atomic unsigned times; /* how often it was taken: tests show that the steady state takes none */
};

static inline bool sonde__trylock(struct sonde_lock *l)
{
    const uint32_t here = sonde__process();
    uint32_t found = atomic_load_explicit(&l->taken, memory_order_relaxed);
    if (found == here || !atomic_compare_exchange_strong_explicit(&l->taken, &found, here, memory_order_acquire,
                                                                  memory_order_relaxed))
        return false;
    atomic_store_explicit(&l->times, atomic_load_explicit(&l->times, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return true;
}

/* Not nanosleep(): that is a cancellation point, and a thread of the
 * program that is cancelled in here would leave with our locks taken. */
static inline void sonde__nap(unsigned us)
{
    const struct timespec nap = {0, (long)us * 1000};
    int saved = errno;
    syscall(SYS_nanosleep, &nap, NULL);
    errno = saved;
}

/* False when it stayed taken for about `bound_ms`. The naps grow: hundreds of
 * threads that look every 50 µs would keep the one that has it from its processor. */
static inline bool sonde__lock_within(struct sonde_lock *l, unsigned bound_ms)
{
    for (unsigned spin = 0; spin < 200; spin++)
        if (sonde__trylock(l))
            return true;
    for (unsigned nap_us = 50, left_us = bound_ms * 1000u + 1; left_us > 0; left_us -= nap_us < left_us ? nap_us : left_us) {
        if (sonde__trylock(l))
            return true;
        sonde__nap(nap_us);
        nap_us = nap_us < 1600 ? 2 * nap_us : nap_us;
    }
    return sonde__trylock(l);
}

static inline void sonde__lock(struct sonde_lock *l)
{
    while (!sonde__lock_within(l, 1000))
        ;
}

/* What a thread's signal handler is about (src/agent/sample/sample.c). */
struct sonde_handler {
    bool on;     /* the thread is in it */
    bool missed; /* what it needs is not to be had now: the next sample may have it */
};
extern __thread struct sonde_handler sonde__handler __attribute__((tls_model("initial-exec")));

/* For what a handler does too: there it fails where it would have to wait. Its
 * own thread may be the one that has the lock; another one has it for short. */
static inline bool sonde__lock_or_miss(struct sonde_lock *l)
{
    if (__builtin_expect(!sonde__handler.on, 1)) {
        sonde__lock(l);
        return true;
    }
    for (unsigned spin = 0; spin < 100; spin++)
        if (sonde__trylock(l))
            return true;
    sonde__handler.missed = true;
    return false;
}

static inline void sonde__unlock(struct sonde_lock *l)
{
    atomic_store_explicit(&l->taken, 0, memory_order_release);
}

#endif
