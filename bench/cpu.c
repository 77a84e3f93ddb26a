/* cpu.c - fixed amounts of work in user mode at call depth 20, for the cost of samples.
 *
 * For each line of standard input, a number of rounds: the CPU time that so many
 * took, in seconds, by the thread's own clock. Not wall time: a signal's delivery
 * and its handler are charged to the thread that they interrupt, and other
 * programs are not.
 */
#include "opencl.h"

#include <stdint.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
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

int main(void)
{
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
    while (fgets(line, sizeof line, stdin)) {
        const double begin = seconds();
        for (long i = atol(line); i > 0; i--)
            x = work(20, x);
        printf("%.9f\n", seconds() - begin);
        fflush(stdout);
    }
    return x == 0;
}
