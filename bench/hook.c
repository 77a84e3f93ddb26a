/* hook.c - what one hooked call costs the program's thread, and its parts.
 *
 * The whole agent in this process under the test harness's backend, whose
 * operations complete at once, so that the runtime's own cost is not in the
 * figures. Prints nanoseconds per call, median of rounds, at several depths;
 * and of stacks whose inner part changes with every call, as a training loop's
 * do, where the same paths come again in turn; and cold, each call by itself
 * after the caches were filled with something else, as a driver and a program leave
 * them: `bench-hook cold` prints this alone. Which lines a hook touches: bench/lines.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tests/unit/agent/harness.h"

enum {
    ROUNDS = 15,
    CALLS = 2000,
    OUTER = 25,
    PATHS = 260,
};

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

static void whole(void)
{
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
}
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
static void context(void)
{
    sonde__context(sonde__self, API_LAUNCH);
}
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

/* ---- cold ---- */

enum {
    COLD_CALLS = 300,
    CACHE_BYTES = 4 << 20,
    PAGES = 8192,
    PAGE = 4096,
};
static unsigned char *other; /* CACHE_BYTES, then PAGES pages */

static void fill_caches(void)
{
    for (size_t at = 0; at < CACHE_BYTES; at += 64)
        other[at]++;
}

static void fill_translations(void) /* and caches: one line of each page, no two in the same set */
{
    for (size_t i = 0; i < PAGES; i++)
        other[CACHE_BYTES + i * PAGE + i % 64 * 64]++;
    fill_caches();
}

static void warm(void) {}

static void (*before_each)(void);
static uint32_t (*cold_part)(void);

/* The runtime's call in the middle leaves as little in the caches as what came before. */
__attribute__((noinline)) static uint32_t cold_hook(void)
{
    struct sonde_call call;
    before_each();
    const uint64_t begin = sonde__ticks();
    const bool begun = sonde_call_begin(&call, API_LAUNCH);
    const uint64_t entered = sonde__ticks();
    before_each();
    const uint64_t left = sonde__ticks();
    if (begun) {
        sonde_call_leave(&call);
        sonde_call_submit(&call, &(struct sonde_submit){.kind = SONDE_OP_KERNEL, .lane = queue, .token = 1ull << 62});
        sonde_call_end(&call);
    }
    return (uint32_t)(entered - begin + sonde__ticks() - left);
}

__attribute__((noinline)) static uint32_t cold_clocks(void)
{
    uint32_t took = 0;
    for (int i = 0; i < 2; i++) {
        before_each();
        const uint64_t begin = sonde__ticks();
        const volatile uint64_t t = sonde_now_ns();
        (void)t;
        took += (uint32_t)(sonde__ticks() - begin);
    }
    return took;
}

static void measure_cold(void)
{
    double per_tick = 0;
    for (int i = 0; i < 200; i++)
        cold_part();
    uint64_t sum[ROUNDS], begin_ns = sonde_now_ns(), begin = sonde__ticks();
    for (int r = 0; r < ROUNDS; r++) {
        uint32_t took[COLD_CALLS / ROUNDS];
        for (int i = 0; i < COLD_CALLS / ROUNDS; i++) {
            took[i] = cold_part();
        }
        for (int i = 1; i < COLD_CALLS / ROUNDS; i++) /* insertion sort */
            for (int k = i; k > 0 && took[k] < took[k - 1]; k--) {
                const uint32_t t = took[k];
                took[k] = took[k - 1];
                took[k - 1] = t;
            }
        sum[r] = took[COLD_CALLS / ROUNDS / 2];
        usleep(3000);
    }
    per_tick = (double)(sonde_now_ns() - begin_ns) / (double)(sonde__ticks() - begin);
    for (int r = 0; r < ROUNDS; r++)
        result[r] = (double)sum[r] * per_tick;
}

static void cold_at_depth(int depth)
{
    if (depth > 0)
        cold_at_depth(depth - 1);
    else
        measure_cold();
    __asm__ volatile("" : : : "memory");
}

static void colds(const int *depths)
{
    static const struct {
        const char *name;
        void (*fill)(void);
    } states[] = {
        {"as it is", warm},
        {"caches filled", fill_caches},
        {"and translations", fill_translations},
    };
    static const struct {
        const char *name;
        uint32_t (*run)(void);
    } parts[] = {{"whole hook", cold_hook}, {"  two clock reads", cold_clocks}};
    other = calloc(1, CACHE_BYTES + (size_t)PAGES * PAGE);
    if (!other)
        return;
    printf("\n%-40s %10s %10s %10s   ns per call, each by itself, at stack depth\n", "", "5", "20", "100");
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (size_t s = 0; s < sizeof states / sizeof *states; s++) {
            printf("%-20s%-20s", parts[p].name, states[s].name);
            for (size_t d = 0; d < 3; d++) {
                cold_part = parts[p].run;
                before_each = states[s].fill;
                cold_at_depth(depths[d]);
                printf(" %10.1f", median());
            }
            puts("");
        }
    free(other);
}

static void nothing(void)
{
    __asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {
        {"whole hook", whole},
        {"  two clock reads", clocks},
        {"  two tick reads", ticks},
        {"  unwind", unwind},
        {"  unwind and context", context},
        {"  channel", channel},
    };
    static const int depths[] = {5, 20, 100};
    const char *const extra[] = {"SONDE_TRACE=1", NULL};
    harness_setup("bench-hook", extra);
    queue = harness_queue(0);
    if (argc > 1 && strcmp(argv[1], "cold") == 0) {
        colds(depths);
        harness_remove();
        return 0;
    }
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
    colds(depths);
    harness_remove();
    return 0;
}
