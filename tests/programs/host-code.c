/* host-code.c - a device that waits for host code. tests/report/advice_test.py says what must be found.
 *
 * Each round, prepare() computes in three parts that are alike; then one short kernel runs. With `twice`,
 * main itself calls prepare() and compress(), which take about as long. With `beside`, another thread runs
 * compress() all the time, for which nobody waits. With `called-back`, prepare() runs in the callback of an event,
 * in a thread of the runtime's.
 *
 * case: host-code => kernel=20
 * case: host-code-twice twice => kernel=20
 * case: host-code-beside beside => kernel=20
 * case: host-code-called-back called-back => kernel=20
 */
#include "guest.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))
enum { ROUNDS = 20, PART_MS = 4 };

static _Thread_local volatile double sink;

/* Milliseconds of this thread's CPU time. */
static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline __attribute__((always_inline)) void compute(double ms)
{
    const double begin = cpu_ms();
    double used, done = 0, next = 10000;
    do { /* the clock is read a few times only: beside other processes that costs ticks (docs/developers/sampling.md, "Timers") */
        for (long i = 0; i < (long)next; i++)
            sink = sink * 0.999999 + 1.0;
        done += next;
        used = cpu_ms() - begin;
        next = used < ms ? (ms - used) * done / used + 1 : 0;
    } while (next > 0);
}

APART static void split(void) { compute(PART_MS); sink += 1; }
APART static void stem(void)  { compute(PART_MS); sink += 2; }
APART static void count(void) { compute(PART_MS); sink += 3; }

APART static void prepare(void)
{
    split();
    stem();
    count();
    sink += 4;
}

APART static void compress(void) { compute(3 * PART_MS); sink += 5; }

APART static void launch(struct guest *g)
{
    guest_add(g, 1);
    CL(clFinish(g->queue));
}

APART static void epoch(struct guest *g)
{
    for (int i = 0; i < ROUNDS; i++) {
        prepare();
        launch(g);
    }
}

static atomic_bool done;

static void *compress_on(void *unused)
{
    while (!atomic_load(&done))
        compress();
    return unused;
}

static void beside(struct guest *g)
{
    pthread_t other;
    if (pthread_create(&other, NULL, compress_on, NULL))
        _exit(4);
    epoch(g);
    atomic_store(&done, true);
    pthread_join(other, NULL);
}

static sem_t prepared;

static void CL_CALLBACK prepare_next(cl_event event, cl_int status, void *unused)
{
    (void)event, (void)status, (void)unused;
    prepare();
    sem_post(&prepared);
}

static void called_back(struct guest *g)
{
    size_t items = GUEST_ITEMS;
    sem_init(&prepared, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        cl_event event, gate; /* of a kernel that has ended this thread would be called back */
        CLP(gate = clCreateUserEvent(g->context, &status));
        CL(clEnqueueNDRangeKernel(g->queue, g->add, 1, NULL, &items, &items, 1, &gate, &event));
        CL(clSetEventCallback(event, CL_COMPLETE, prepare_next, NULL));
        CL(clFlush(g->queue));
        CL(clSetUserEventStatus(gate, CL_COMPLETE));
        while (sem_wait(&prepared) && errno == EINTR)
            continue;
        CL(clReleaseEvent(event));
        CL(clReleaseEvent(gate));
    }
}

int main(int argc, char **argv)
{
    struct guest g;
    guest_open(&g);
    if (argc > 1 && !strcmp(argv[1], "twice"))
        for (int i = 0; i < ROUNDS; i++) {
            prepare();
            compress();
            launch(&g);
        }
    else if (argc > 1 && !strcmp(argv[1], "beside"))
        beside(&g);
    else if (argc > 1 && !strcmp(argv[1], "called-back"))
        called_back(&g);
    else
        epoch(&g);
    printf("%d rounds\n", ROUNDS);
    guest_close(&g);
    return 0;
}
