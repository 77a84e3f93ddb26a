/* calls.c - what a hooked API call costs when the runtime has almost nothing to do.
 *
 *     calls N D
 *
 * Calls clFlush on an idle queue N times from call depth D and prints
 * nanoseconds per call. No operation, no event, no other thread at work: the
 * difference with and without Sonde is the hook, seen from outside.
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(call)                                      \
    do {                                                 \
        cl_int status_ = (call);                         \
        if (status_ != CL_SUCCESS) {                     \
            fprintf(stderr, "%s: %d\n", #call, status_); \
            exit(1);                                     \
        }                                                \
    } while (0)

static cl_command_queue queue;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) static double at_depth(long count, int depth)
{
    double ns;
    if (depth > 0) {
        ns = at_depth(count, depth - 1);
    } else {
        double begin = now();
        for (long i = 0; i < count; i++)
            CHECK(clFlush(queue));
        ns = now() - begin;
    }
    __asm__ volatile("" : : : "memory");
    return ns;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000000;
    int depth = argc > 2 ? atoi(argv[2]) : 20;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    at_depth(10000, depth);
    printf("%.1f\n", at_depth(count, depth) / (double)count);
    return 0;
}
