/* unwind.c - what a stack walk costs, beside libunwind.
 *
 * Prints ns per walk at call depths 5, 20 and 100 (frames below main's caller
 * included), the lowest of several rounds:
 *   unchanged   the same place again: all frames are proved, none walked
 *   inner 3     the three innermost frames are others than the last time
 *   full        every frame by its rule, rules known
 *   new         every rule is learnt anew (after a module change)
 * and libunwind's unw_backtrace (per-thread cache) and unw_step, warm.
 *
 * Build: gcc -O2 -Iinclude -Isrc bench/unwind.c src/agent/stack/unwind*.c src/guest/{lock,memory,process}.c -lunwind
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "agent/stack/unwind.h"

#define NOINLINE __attribute__((noinline))
#define ROUNDS 7

static struct sonde_stack *stack;
static volatile int sink;
static int how;
static unsigned laps;
static double best;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum {
    UNCHANGED,
    INNER,
    FULL,
    NEW,
    EMPTY,
    BACKTRACE,
    STEP,
};

static NOINLINE void one_walk(void)
{
    static void *pcs[SONDE_STACK_MAX];
    unw_context_t context;
    unw_cursor_t cursor;
    switch (how) {
    case FULL: sonde__unwind_full(stack); break;
    case NEW:
        sonde__unwind_modules_changed();
        sonde__unwind(stack, false);
        break;
    case BACKTRACE: sink += unw_backtrace(pcs, SONDE_STACK_MAX); break;
    case STEP:
        unw_getcontext(&context);
        unw_init_local(&cursor, &context);
        while (unw_step(&cursor) > 0)
            sink++;
        break;
    case EMPTY: break;
    default: sonde__unwind(stack, false);
    }
    sink++;
}

/* Two ways of three frames each. */
static NOINLINE void a2(void)
{
    one_walk();
    sink++;
}
static NOINLINE void a1(void)
{
    a2();
    sink++;
}
static NOINLINE void b2(void)
{
    volatile char room[40];
    room[0] = 1;
    one_walk();
    sink += room[0];
}
static NOINLINE void b1(void)
{
    b2();
    sink++;
}

static NOINLINE void leaf(void)
{
    double start = now_ns();
    if (how == INNER || how == EMPTY)
        for (unsigned i = 0; i < laps; i += 2) {
            a1();
            b1();
        }
    else
        for (unsigned i = 0; i < laps; i++)
            one_walk();
    double ns = (now_ns() - start) / laps;
    if (ns < best)
        best = ns;
}

/* Distinct functions, so that each frame has its own rule; sizes vary. */
#define FUNCTIONS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
static void go(unsigned depth);
#define X(n)                                                                  \
    static NOINLINE void f##n(unsigned depth)                                 \
    {                                                                         \
        volatile char room[8 + 24 * n];                                       \
        room[0] = n;                                                          \
        go(depth - 1);                                                        \
        sink += room[0];                                                      \
    }
FUNCTIONS(X)
#undef X
static void (*const functions[])(unsigned) = {
#define X(n) f##n,
    FUNCTIONS(X)
#undef X
};

static inline __attribute__((always_inline)) void go(unsigned depth)
{
    if (depth == 0)
        leaf();
    else
        functions[depth % 16](depth);
    sink++;
}

static double measure(int what, unsigned depth, unsigned count)
{
    how = what;
    laps = count;
    best = 1e30;
    for (int i = 0; i < ROUNDS; i++)
        go(depth);
    return best;
}

int main(void)
{
    static const unsigned depths[] = {5, 20, 100};
    stack = calloc(1, sizeof *stack);
    if (!stack || sonde__unwind_init() != 0)
        return 1;
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    how = FULL;
    sonde__unwind(stack, false);
    unsigned base = stack->count + 3; /* main and outwards, measure, leaf and one_walk */
    printf("%-6s %10s %10s %10s %10s %14s %12s\n", "depth", "unchanged", "inner 3", "full", "new",
           "unw_backtrace", "unw_step");
    for (int d = 0; d < 3; d++) {
        unsigned depth = depths[d] > base ? depths[d] - base : 0;
        double empty = measure(EMPTY, depth, 200000);
        printf("%-6u %10.1f", depths[d], measure(UNCHANGED, depth, 400000));
        printf(" %10.1f", measure(INNER, depth, 400000) - empty);
        printf(" %10.1f", measure(FULL, depth, 100000));
        printf(" %10.0f", measure(NEW, depth, 2000));
        printf(" %14.1f", measure(BACKTRACE, depth, 20000));
        printf(" %12.0f\n", measure(STEP, depth, 1000));
    }
    free(stack);
    return 0;
}
