/* clock.h - the clock of all times, and the counter of ticks. Any thread, and a signal handler. */
#ifndef SONDE_AGENT_STATE_CLOCK_H
#define SONDE_AGENT_STATE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* The kernel's own function, once it was found: libc's way to it leads over three more pages, which a hook finds cold. */
extern int (*_Atomic sonde__read_clock)(clockid_t clock, struct timespec *t) __attribute__((visibility("hidden")));

/* Looks for that function. Before the first hook; no harm before that. */
void sonde__clock_find(void);

/* sonde_now_ns, for a hook. */
static inline uint64_t sonde__now_ns(void)
{
    struct timespec t;
    atomic_load_explicit(&sonde__read_clock, memory_order_relaxed)(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of the calling thread. A system call. */
static inline uint64_t sonde__thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The cycle counter, for own cost only; never a time in a record. */
static inline uint64_t sonde__ticks(void)
{
#if defined __x86_64__
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined __aarch64__
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return sonde__now_ns();
#endif
}

/* Both read at one moment, as far as the processor was not lost between them each time. */
struct sonde_moment { uint64_t ticks, ns; };
struct sonde_moment sonde__moment(void);

#endif
