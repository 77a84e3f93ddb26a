/* hook.c - what one hooked call costs the program's thread, and its parts.
 *
 * The whole agent in this process under the test harness's backend, whose
 * operations complete at once, so that the runtime's own cost is not in the
 * figures. Prints nanoseconds per call, median of rounds, at several depths;
 * and of stacks whose inner part changes with every call, as a training loop's
 * do, where the same paths come again in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tests/unit/agent/harness.h"

enum { ROUNDS = 15, CALLS = 2000, OUTER = 25, PATHS = 260 };

static uint32_t queue;
static double result[ROUNDS];

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(void)
{
    qsort(result, ROUNDS, sizeof *result, by_value);
    return result[ROUNDS / 2];
}

static void whole(void) { harness_launch(queue, SONDE_OP_KERNEL, 0, true); }
static void clocks(void)
{
    volatile uint64_t t = sonde_now_ns();
    t = sonde_now_ns();
    (void)t;
}
static void ticks(void)
{
    volatile uint64_t t = sonde__ticks();
    t = sonde__ticks();
    (void)t;
}
static void unwind(void)
{
    static struct sonde_stack *s;
    if (!s)
        s = calloc(1, sizeof *s);
    sonde__unwind(s, false);
}
static void context(void) { sonde__context(sonde__self, API_LAUNCH); }
static void channel(void)
{
    static struct sonde_channel c;
    static struct sonde_heap heap;
    if (!heap.base && sonde__heap_init(&heap, 8 << 20) == 0)
        sonde__channel_init(&c, &heap, sizeof(struct sonde_event), NULL, 0);
    struct sonde_event *e = sonde__channel_slot(&c);
    if (e) {
        memset(e, 1, sizeof *e);
        sonde__channel_publish(&c);
        sonde__channel_peek(&c);
        sonde__channel_next(&c);
    }
}

static void (*part)(void);

static void measure(void)
{
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < 200; i++)
            part();
        uint64_t begin = sonde_now_ns();
        for (int i = 0; i < CALLS; i++)
            part();
        result[r] = (double)(sonde_now_ns() - begin) / CALLS;
        usleep(3000); /* the monitor empties the channel, whose segments come back */
    }
}

__attribute__((noinline)) static void at_depth(int depth)
{
    if (depth > 0)
        at_depth(depth - 1);
    else
        measure();
    __asm__ volatile("" : : : "memory");
}

/* ---- stacks that change ---- */

typedef void place(unsigned seed, int depth);
static place *const places[64];

#define PLACE(i)                                                        \
    __attribute__((noinline)) static void place_##i(unsigned seed, int depth) \
    {                                                                   \
        char room[16 + 0##i * 37 % 200];                                \
        __asm__ volatile("" : : "r"(room) : "memory");                  \
        if (depth == 0) {                                               \
            part();                                                     \
        } else {                                                        \
            seed = seed * 1664525u + 1013904223u;                       \
            places[seed >> 26](seed, depth - 1);                        \
            __asm__ volatile("" : : : "memory");                        \
        }                                                               \
    }
#define EIGHT(of, i) of(i##0) of(i##1) of(i##2) of(i##3) of(i##4) of(i##5) of(i##6) of(i##7)
#define ALL(of) EIGHT(of, 0) EIGHT(of, 1) EIGHT(of, 2) EIGHT(of, 3) EIGHT(of, 4) EIGHT(of, 5) EIGHT(of, 6) EIGHT(of, 7)
ALL(PLACE)
#define NAME(i) place_##i,
static place *const places[64] = {ALL(NAME)};

__attribute__((noinline)) static void one_path(int outer, unsigned seed, int inner)
{
    if (outer > 0)
        one_path(outer - 1, seed, inner);
    else
        places[seed >> 26](seed, inner);
    __asm__ volatile("" : : : "memory");
}

/* The lowest of the rounds: differences of two are taken, which noise would drown. */
static double changing(void (*what)(void), int inner)
{
    double lowest = 1e9;
    part = what;
    for (int r = 0; r < 3 * ROUNDS; r++) {
        uint64_t begin = sonde_now_ns();
        for (unsigned i = 0; i < 4 * PATHS; i++)
            one_path(OUTER, i % PATHS * 2654435761u, inner);
        double ns = (double)(sonde_now_ns() - begin) / (4 * PATHS);
        lowest = ns < lowest ? ns : lowest;
        usleep(3000);
    }
    return lowest;
}

static void nothing(void) { __asm__ volatile("" : : : "memory"); }

int main(void)
{
    static const struct { const char *name; void (*run)(void); } parts[] = {
        {"whole hook", whole}, {"  two clock reads", clocks}, {"  two tick reads", ticks},
        {"  unwind", unwind}, {"  unwind and context", context}, {"  channel", channel}};
    static const int depths[] = {5, 20, 100};
    const char *const extra[] = {"SONDE_TRACE=1", NULL};
    harness_setup("bench-hook", extra);
    queue = harness_queue(0);
    printf("%-22s %10s %10s %10s   ns per call, at stack depth\n", "", "5", "20", "100");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        printf("%-22s", parts[i].name);
        for (size_t d = 0; d < 3; d++) {
            part = parts[i].run;
            at_depth(depths[d]);
            printf(" %10.1f", median());
        }
        puts("");
    }
    printf("\n%-22s %10s %10s %10s   ns per call, of %d paths in turn: inner frames that change, %d outer ones do not\n",
           "", "3", "10", "30", PATHS, OUTER);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].run != whole && parts[i].run != unwind && parts[i].run != context)
            continue;
        printf("%-22s", parts[i].name);
        for (size_t d = 0; d < 3; d++)
            printf(" %10.1f", changing(parts[i].run, (const int[]){3, 10, 30}[d]) -
                                  changing(nothing, (const int[]){3, 10, 30}[d]));
        puts("");
    }
    harness_remove();
    return 0;
}
