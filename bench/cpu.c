/* cpu.c - fixed amounts of work at call depth 20, for the cost of samples: in user mode, or (`faults`) one page fault after the other, in two threads at once.
 *
 * For each line of standard input, a number of rounds: the CPU time that so many
 * took, in seconds, by the thread's own clock. Not wall time: a signal's delivery
 * and its handler are charged to the thread that they interrupt, and other
 * programs are not. Of faults that of all threads, Sonde's included.
 */
#include "opencl.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096,
       PAGES = 1000 };

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static __attribute__((noinline)) uint64_t work(int depth, uint64_t x)
{
    if (depth > 0) {
        x = work(depth - 1, x + (uint64_t)depth);
        __asm__ volatile("" : "+r"(x));
        return x + 1;
    }
    for (int i = 0; i < 100000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static __attribute__((noinline)) void touch(int depth, volatile char *at)
{
    if (depth > 0)
        touch(depth - 1, at);
    else
        for (long i = 0; i < PAGES; i++)
            at[i * PAGE] = 1;
    __asm__ volatile("" : : : "memory");
}

static pthread_barrier_t begin_block, end_block;
static long block; /* rounds; 0: the end */

static void faults(void)
{
    char *at = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(4);
    madvise(at, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    for (long i = block; i > 0; i--) {
        touch(20, at);
        madvise(at, (size_t)PAGES * PAGE, MADV_DONTNEED);
    }
    munmap(at, (size_t)PAGES * PAGE);
}

static void *other(void *arg)
{
    for (;;) {
        pthread_barrier_wait(&begin_block);
        if (!block)
            return arg;
        faults();
        pthread_barrier_wait(&end_block);
    }
}

/* A block in both threads. */
static double of_faults(long rounds)
{
    const double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    block = rounds;
    pthread_barrier_wait(&begin_block);
    faults();
    pthread_barrier_wait(&end_block);
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

int main(int argc, char **argv)
{
    const int with_faults = argc > 1 && strcmp(argv[1], "faults") == 0;
    pthread_t thread;
    char line[32];
    uint64_t x = 1;
    cl_int status;
    cl_device_id device = first_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof x, NULL, &status);
    CHECK(status);
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof x, &x, 0, NULL, NULL)); /* the agent starts */
    pthread_barrier_init(&begin_block, NULL, 2);
    pthread_barrier_init(&end_block, NULL, 2);
    if (with_faults && pthread_create(&thread, NULL, other, NULL) != 0)
        return 3;
    while (fgets(line, sizeof line, stdin)) {
        if (with_faults) {
            printf("%.9f\n", of_faults(atol(line)));
            fflush(stdout);
            continue;
        }
        const double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (long i = atol(line); i > 0; i--)
            x = work(20, x);
        printf("%.9f\n", seconds(CLOCK_THREAD_CPUTIME_ID) - begin);
        fflush(stdout);
    }
    block = 0;
    if (with_faults) {
        pthread_barrier_wait(&begin_block);
        pthread_join(thread, NULL);
    }
    return x == 0;
}
