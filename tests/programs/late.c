/* late.c - a program that computes before it calls the GPU runtime for the first time.
 *
 *     late MS [say] [exec|fork]
 *
 * It uses MS milliseconds of its thread's CPU time, then launches one kernel. `say` prints, in
 * nanoseconds, what tests/report/start_test.py compares with: between which bounds the time and
 * the CPU time lie that the program had before the first call. `exec`: it does all that in a
 * program that takes the place of this one, after it has computed as long already; `fork`: in a child.
 *
 * case: late 50 => kernel=1 read=1
 * case: late-exec 20 exec => kernel=1 read=1
 * case: late-fork 20 fork => kernel=1 read=1
 */
#include "guest.h"

#include <inttypes.h>
#include <stdbool.h>
#include <time.h>

static volatile double sink;

static uint64_t now_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void prepare(uint64_t ns)
{
    const uint64_t until = now_of(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (now_of(CLOCK_THREAD_CPUTIME_ID) < until)
        for (int i = 0; i < 1000; i++)
            sink = sink * 0.999999 + 1.0;
}

static void work(uint64_t ns, bool say, uint64_t begin, uint64_t begin_cpu, uint64_t born, uint64_t born_cpu)
{
    struct guest g;
    prepare(ns);
    const uint64_t least = now_of(CLOCK_MONOTONIC) - begin, least_cpu = now_of(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu;
    guest_open(&g); /* the first call of all, and some more: not all are recorded */
    const uint64_t most = now_of(CLOCK_MONOTONIC) - born, most_cpu = now_of(CLOCK_PROCESS_CPUTIME_ID) - born_cpu;
    guest_add(&g, 1);
    printf("ran %d\n", guest_read(&g));
    if (say)
        printf("before: %" PRIu64 " to %" PRIu64 ", on the CPU: %" PRIu64 " to %" PRIu64 "\n", least, most, least_cpu, most_cpu);
    guest_close(&g);
}

int main(int argc, char **argv)
{
    const uint64_t begin = now_of(CLOCK_MONOTONIC), begin_cpu = now_of(CLOCK_PROCESS_CPUTIME_ID);
    const uint64_t ns = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000000u : 0;
    const bool say = argc > 2 && !strcmp(argv[2], "say");
    const char *how = argc > 2 ? argv[argc - 1] : "";
    const char *born = getenv("LATE_BORN"), *born_cpu = getenv("LATE_BORN_CPU"); /* of the one before, or of who started it */
    if (!strcmp(how, "exec")) {
        char text[32];
        prepare(ns);
        snprintf(text, sizeof text, "%" PRIu64, now_of(CLOCK_MONOTONIC));
        setenv("LATE_BORN", text, 1);
        snprintf(text, sizeof text, "%" PRIu64, now_of(CLOCK_PROCESS_CPUTIME_ID));
        setenv("LATE_BORN_CPU", text, 1);
        execl("/proc/self/exe", argv[0], argv[1], say ? "say" : (char *)NULL, (char *)NULL);
        return 4;
    }
    if (!strcmp(how, "fork")) {
        prepare(ns);
        const uint64_t before = now_of(CLOCK_MONOTONIC);
        const pid_t child = fork();
        if (child == 0) {
            work(ns, say, now_of(CLOCK_MONOTONIC), now_of(CLOCK_PROCESS_CPUTIME_ID), before, 0);
            return 0;
        }
        guest_wait(child, "child");
        return 0;
    }
    work(ns, say, begin, begin_cpu, born ? strtoull(born, NULL, 10) : 0, born_cpu ? strtoull(born_cpu, NULL, 10) : 0);
    return 0;
}
