/* pieces.c - host code in pieces between API calls, of known CPU time, with an idle device.
 *
 * For each length of a gap, from 50 us to 50 ms, two functions compute in each gap, 3 : 1, and a call that does
 * nothing ends it. `pieces MS` uses about MS of CPU time per length; `pieces MS print` says how many turns of the same loop
 * each function made, one `NAME TURNS` per line: their CPU time is in that proportion. tests/report/pieces_test.py compares the
 * views with it. No clock is read in the gaps: beside other processes the kernel takes the processor away there, and the
 * next tick finds another thread (docs/developers/sampling.md, "Timers"). No length is in step with the tick
 * (docs/sampling.md, "In step with the tick").
 *
 * case: pieces 20 => kernel=1
 */
#include "guest.h"

#include <stdint.h>
#include <time.h>

static volatile double sink;
static double turns_per_us;
static int said;

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The loop is all there is, so that samples are in the function itself. */
#define COMPUTES(name)                                     \
    static KEPT void name(long turns)                      \
    {                                                      \
        double x = sink;                                   \
        __asm__ volatile("" : : "r"(#name)); /* no two are one function */ \
        for (long i = 0; i < turns; i++)                   \
            x = x * 0.999999 + 1.0 / (1.0 + x * x);        \
        sink = x;                                          \
    }
/* Each length has functions and a place of its own. */
#define LENGTH(us)                                                         \
    COMPUTES(much_##us)                                                    \
    COMPUTES(little_##us)                                                  \
    static KEPT void gaps_##us(struct guest *g, uint64_t ns)               \
    {                                                                      \
        const long turns = (long)(turns_per_us * us / 4);                  \
        const uint64_t gaps = ns / (us * 1000) + 1;                        \
        for (uint64_t i = 0; i < gaps; i++) {                              \
            much_##us(3 * turns);                                          \
            little_##us(turns);                                            \
            CL(clFlush(g->queue));                                         \
        }                                                                  \
        if (said)                                                          \
            printf("much_" #us " %llu\nlittle_" #us " %llu\n", (unsigned long long)gaps * 3 * turns, (unsigned long long)gaps * turns); \
    }
COMPUTES(warm_up)
LENGTH(50)
LENGTH(300)
LENGTH(2300)
LENGTH(10000)
LENGTH(50000)

int main(int argc, char **argv)
{
    const uint64_t ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 800) * 1000000;
    size_t items = GUEST_ITEMS;
    said = argc > 2;
    struct guest g;
    guest_open(&g);
    CL(clEnqueueNDRangeKernel(g.queue, g.spin, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clFinish(g.queue));
    warm_up(1000000);
    const uint64_t begin = cpu_ns();
    warm_up(10000000);
    turns_per_us = 10000000 / ((double)(cpu_ns() - begin) / 1000);
    gaps_50(&g, ns);
    gaps_300(&g, ns);
    gaps_2300(&g, ns);
    gaps_10000(&g, ns);
    gaps_50000(&g, ns);
    guest_close(&g);
    return 0;
}
