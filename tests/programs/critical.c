/* critical.c - programs whose critical path is known: tests/report/critical_test.py says what it must be.
 *
 * case: critical-nyx nyx => kernel=5 read=5
 * case: critical-diamond diamond => kernel=4
 * case: critical-threads threads => kernel=2
 * case: critical-callbacks callbacks => kernel=10
 * case: critical-user-event user-event => kernel=1
 * case: critical-compile compile => kernel=1
 */
#include "guest.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define APART __attribute__((noinline))
enum { TURNS = 5, SHORT = 300000, LONG = 1200000 }; /* rounds of 64 items: some ten milliseconds and four times that */

static struct guest g;

static cl_event spin(cl_command_queue queue, int rounds, cl_uint waits, const cl_event *list)
{
    size_t items = GUEST_ITEMS;
    cl_event event;
    CL(clSetKernelArg(g.spin, 1, sizeof rounds, &rounds));
    CL(clEnqueueNDRangeKernel(queue, g.spin, 1, NULL, &items, &items, waits, list, &event));
    return event;
}

/* Five milliseconds of the processor's. */
APART static void think(void)
{
    struct timespec from, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 5000000);
}

/* Kernel, synchronization, small copy: the synchronization is not needed, and the path runs through it. */
static void nyx(void)
{
    int items[GUEST_ITEMS];
    for (int i = 0; i < TURNS; i++) {
        CL(clReleaseEvent(spin(g.queue, SHORT, 0, NULL)));
        CL(clFinish(g.queue));
        CL(clEnqueueReadBuffer(g.queue, g.buffer, CL_TRUE, 0, sizeof items, items, 0, NULL, NULL));
        think();
    }
}

/* top, then left and right beside each other, then bottom. */
static void diamond(void)
{
    cl_command_queue other;
    CLP(other = clCreateCommandQueue(g.context, g.device, 0, &status));
    cl_event top = spin(g.queue, SHORT, 0, NULL), sides[2];
    sides[0] = spin(g.queue, SHORT, 1, &top);
    sides[1] = spin(other, LONG, 1, &top);
    CL(clFlush(g.queue));
    CL(clFlush(other));
    cl_event bottom = spin(g.queue, SHORT, 2, sides);
    CL(clWaitForEvents(1, &bottom));
    CL(clReleaseEvent(top));
    CL(clReleaseEvent(sides[0]));
    CL(clReleaseEvent(sides[1]));
    CL(clReleaseEvent(bottom));
    CL(clReleaseCommandQueue(other));
}

static void *work(void *unused)
{
    cl_command_queue own;
    cl_kernel kernel; /* arguments of a kernel are of one thread */
    size_t items = GUEST_ITEMS;
    cl_int rounds = LONG;
    (void)unused;
    CLP(kernel = clCreateKernel(g.program, "spin", &status));
    CL(clSetKernelArg(kernel, 0, sizeof g.buffer, &g.buffer));
    CL(clSetKernelArg(kernel, 1, sizeof rounds, &rounds));
    CLP(own = clCreateCommandQueue(g.context, g.device, 0, &status));
    CL(clEnqueueNDRangeKernel(own, kernel, 1, NULL, &items, &items, 0, NULL, NULL));
    CL(clFinish(own));
    CL(clReleaseCommandQueue(own));
    CL(clReleaseKernel(kernel));
    return NULL;
}

/* The main thread has the shorter work, and sleeps until the other has ended. */
static void threads(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, work, NULL))
        _exit(4);
    CL(clReleaseEvent(spin(g.queue, SHORT, 0, NULL)));
    CL(clFinish(g.queue));
    pthread_join(other, NULL);
}

/* Ten one after the other: the end of each calls back, which enqueues the next. */
static sem_t chained;
static int links;

static void CL_CALLBACK chain(cl_event event, cl_int status, void *unused)
{
    (void)event, (void)status, (void)unused;
    if (++links == 10) {
        sem_post(&chained);
        return;
    }
    cl_event next = spin(g.queue, SHORT, 0, NULL);
    CL(clSetEventCallback(next, CL_COMPLETE, chain, NULL));
    CL(clReleaseEvent(next));
    CL(clFlush(g.queue));
}

static void callbacks(void)
{
    sem_init(&chained, 0, 0);
    cl_event first = spin(g.queue, SHORT, 0, NULL);
    CL(clSetEventCallback(first, CL_COMPLETE, chain, NULL));
    CL(clReleaseEvent(first));
    CL(clFlush(g.queue));
    while (sem_wait(&chained) && errno == EINTR)
        continue;
}

/* The kernel waits for an event that another thread completes when it has thought. */
static void *complete(void *event)
{
    for (int i = 0; i < 20; i++)
        think();
    CL(clSetUserEventStatus(event, CL_COMPLETE));
    return NULL;
}

static void user_event(void)
{
    pthread_t other;
    cl_event gate;
    CLP(gate = clCreateUserEvent(g.context, &status));
    cl_event held = spin(g.queue, SHORT, 1, &gate);
    CL(clFlush(g.queue));
    if (pthread_create(&other, NULL, complete, gate))
        _exit(4);
    CL(clWaitForEvents(1, &held));
    pthread_join(other, NULL);
    CL(clReleaseEvent(held));
    CL(clReleaseEvent(gate));
}

/* Another thread builds; the main one looks every millisecond whether it has. */
static atomic_bool built;

static void *build(void *program)
{
    for (int i = 0; i < TURNS; i++)
        CL(clBuildProgram(program, 1, &g.device, "", NULL, NULL));
    atomic_store(&built, true);
    return NULL;
}

static void compile(void)
{
    pthread_t other;
    cl_program program;
    const char *source = guest_source;
    CLP(program = clCreateProgramWithSource(g.context, 1, &source, NULL, &status));
    if (pthread_create(&other, NULL, build, program))
        _exit(4);
    while (!atomic_load(&built))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CL(clReleaseEvent(spin(g.queue, SHORT, 0, NULL)));
    CL(clFinish(g.queue));
    pthread_join(other, NULL);
    CL(clReleaseProgram(program));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "nyx";
    guest_open(&g);
    if (strcmp(what, "diamond") == 0)
        diamond();
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "user-event") == 0)
        user_event();
    else if (strcmp(what, "callbacks") == 0)
        callbacks();
    else if (strcmp(what, "compile") == 0)
        compile();
    else
        nyx();
    guest_close(&g);
    printf("%s done\n", what);
    return 0;
}
