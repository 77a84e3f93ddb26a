/* calls.c - what a hooked API call costs when the runtime has almost nothing to do.
 *
 *     calls N D
 *
 * Calls clFlush on an idle queue N times from call depth D and prints
 * nanoseconds per call. No operation, no event, no other thread at work: the
 * difference with and without Sonde is the hook, seen from outside.
 */
#include "opencl.h"

static cl_command_queue queue;

__attribute__((noinline)) static double at_depth(long count, int depth)
{
    double ns;
    if (depth > 0) {
        ns = at_depth(count, depth - 1);
    } else {
        double begin = now_ns();
        for (long i = 0; i < count; i++)
            CHECK(clFlush(queue));
        ns = now_ns() - begin;
    }
    __asm__ volatile("" : : : "memory");
    return ns;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000000;
    int depth = argc > 2 ? atoi(argv[2]) : 20;
    cl_device_id device = first_device();
    cl_int status;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    at_depth(10000, depth);
    printf("%.1f\n", at_depth(count, depth) / (double)count);
    return 0;
}
