/* pauses.c - a program that has recording paused, and uses the device meanwhile.
 *
 * With `say` it prints, in nanoseconds, between which bounds the time lies for which recording was
 * off; tests/report/start_test.py compares.
 *
 * case: pauses => kernel=4 read=1
 */
#include "guest.h"

#include <inttypes.h>
#include <stdbool.h>
#include <time.h>
#include <sonde/sonde.h>

enum { ROUNDS = 3, PAUSE_MS = 40 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void unrecorded(struct guest *g)
{
    struct timespec left = {.tv_nsec = PAUSE_MS * 1000000L};
    guest_add(g, 1);
    CL(clFinish(g->queue));
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

int main(int argc, char **argv)
{
    uint64_t least = 0, most = 0;
    struct guest g;
    guest_open(&g);
    for (int i = 0; i < ROUNDS; i++) {
        guest_add(&g, 1);
        CL(clFinish(g.queue));
        const uint64_t before = now_ns();
        sonde_stop();
        const uint64_t off = now_ns();
        unrecorded(&g);
        least += now_ns() - off;
        sonde_start();
        most += now_ns() - before;
    }
    guest_add(&g, 1);
    printf("ran %d\n", guest_read(&g));
    if (argc > 1 && !strcmp(argv[1], "say"))
        printf("paused: %" PRIu64 " to %" PRIu64 "\n", least, most);
    guest_close(&g);
    return 0;
}
