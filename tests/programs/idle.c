/* idle.c - a device that is idle for known reasons. tests/report/blame_test.py measures it.
 *
 * The device is idle
 *     while build_next() computes, a fixed amount of work before each of ROUNDS kernels,
 *     while rest() sleeps, longer, after each of them: then no thread is active,
 *     and for as long as it takes to start one kernel, with the thread in clFinish.
 * With `sync` nothing else happens than what was found in Nyx: kernel, clFinish, small copy.
 *
 * case: idle => kernel=10
 * case: idle-sync sync => kernel=300 read=300
 */
#include "guest.h"

#include <math.h>
#include <time.h>

enum { ROUNDS = 10, SYNC_ROUNDS = 300, REST_MS = 15 };

static volatile double sink;

/* Some twenty milliseconds of a processor; the loop is all there is, so that samples are in this function. */
__attribute__((noinline)) static void build_next(void)
{
    double x = sink;
    for (int i = 0; i < 8000000; i++)
        x = x * 0.999999 + 1.0 / (1.0 + x * x);
    sink = x;
}

__attribute__((noinline)) static void rest(void)
{
    struct timespec left = {.tv_nsec = REST_MS * 1000000L};
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

__attribute__((noinline)) static void launch(struct guest *g)
{
    size_t items = GUEST_ITEMS;
    CL(clEnqueueNDRangeKernel(g->queue, g->spin, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clFinish(g->queue));
}

__attribute__((noinline)) static void fetch(struct guest *g)
{
    int values[4];
    CL(clEnqueueReadBuffer(g->queue, g->buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
}

int main(int argc, char **argv)
{
    const int sync = argc > 1 && !strcmp(argv[1], "sync");
    struct guest g;
    guest_open(&g);
    for (int i = 0; i < (sync ? SYNC_ROUNDS : ROUNDS); i++) {
        if (!sync)
            build_next();
        launch(&g);
        if (sync)
            fetch(&g);
        else
            rest();
    }
    printf("rounds %d, rest %d ms\n", sync ? SYNC_ROUNDS : ROUNDS, REST_MS);
    guest_close(&g);
    return 0;
}
