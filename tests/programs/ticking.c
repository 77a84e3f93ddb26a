/* ticking.c - an operation every 5 ms, each waited for, and a line for each in a file: when it was asked for and when it was over, by
 * CLOCK_MONOTONIC_RAW. In the first half of the time these are kernels `spin`, then kernels `add`. tests/report/last_test.py runs it.
 *
 *     ticking SECONDS FILE [exit|kill|abort|hang|stuck [MILLISECONDS [OPERATIONS]]]
 *
 * MILLISECONDS 0: as fast as it can. OPERATIONS: longer than SECONDS, if need be, until there were so many.
 *
 * case: ticking 0 /dev/null => kernel=1
 */
#include "guest.h"

#include <signal.h>
#include <stdint.h>
#include <time.h>

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
    struct guest g;
    FILE *log = argc > 2 ? fopen(argv[2], "w") : NULL;
    const uint64_t length_ns = argc > 1 ? (uint64_t)(atof(argv[1]) * 1e9) : 0;
    const long nap_ns = (argc > 4 ? atol(argv[4]) : 5) * 1000000, enough = argc > 5 ? atol(argv[5]) : 0;
    long count = 0;
    if (!log)
        return 2;
    setvbuf(log, NULL, _IOLBF, 0);
    guest_open(&g);
    const uint64_t begin = now();
    do {
        const uint64_t before = now();
        const int late = before - begin > length_ns / 2;
        guest_launch(&g, g.queue, late ? g.add : g.spin, 1);
        CL(clFinish(g.queue));
        fprintf(log, "%llu %llu %s\n", (unsigned long long)before, (unsigned long long)now(), late ? "add" : "spin");
        if (nap_ns)
            nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
    } while (++count < enough || now() - begin < length_ns);
    if (argc > 3 && strcmp(argv[3], "kill") == 0)
        raise(SIGKILL);
    if (argc > 3 && strcmp(argv[3], "abort") == 0)
        abort();
    if (argc > 3 && strcmp(argv[3], "hang") == 0)
        sleep(3);
    if (argc > 3 && strcmp(argv[3], "stuck") == 0) { /* what it waits for never comes */
        cl_event never;
        const int number = 1;
        CLP(never = clCreateUserEvent(g.context, &status));
        CL(clEnqueueWriteBuffer(g.queue, g.buffer, CL_FALSE, 0, sizeof number, &number, 1, &never, NULL));
        CL(clFlush(g.queue));
        sleep(3);
        raise(SIGKILL);
    }
    return 0;
}
