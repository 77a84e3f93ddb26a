/* empty.c - what one enqueued operation costs the program, in nanoseconds.
 *
 *     empty [--profiling] N B D
 *
 * Enqueues an empty kernel N times from call depth D, finishes after every B
 * of them and at the end, and prints one number: nanoseconds per operation,
 * without the start. The last operations are a kernel that counts, so that a
 * run which did nothing is told apart: exit status 1 when the count is wrong.
 * --profiling: the program switches profiling on by itself.
 */
#include "opencl.h"

enum { WARM_UP = 1000 };
enum { COUNTED = 10 };

static const char source[] = "kernel void empty(int nothing) {}\n"
                             "kernel void count(global int *counter) { *counter += 1; }\n";

struct load {
    cl_command_queue queue;
    cl_kernel kernel;
    long count, batch;
};

static void enqueue_all(const struct load *load)
{
    const size_t one = 1;
    for (long i = 1; i <= load->count; i++) {
        CHECK(clEnqueueNDRangeKernel(load->queue, load->kernel, 1, NULL, &one, &one, 0, NULL,
                                     NULL));
        if (i % load->batch == 0)
            CHECK(clFinish(load->queue));
    }
    CHECK(clFinish(load->queue));
}

static volatile long frames; /* written after each call, so that no call is a jump */

__attribute__((noinline)) static void at_depth(const struct load *load, long depth)
{
    if (depth > 0)
        at_depth(load, depth - 1);
    else
        enqueue_all(load);
    frames++;
}

/* Did the queue run what was enqueued? */
static int counted(cl_context context, cl_program program, struct load load)
{
    cl_int status;
    int value = 0;
    cl_mem counter = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof value, &value, &status);
    CHECK(status);
    load.kernel = clCreateKernel(program, "count", &status);
    CHECK(status);
    CHECK(clSetKernelArg(load.kernel, 0, sizeof counter, &counter));
    load.count = COUNTED;
    enqueue_all(&load);
    CHECK(clEnqueueReadBuffer(load.queue, counter, CL_TRUE, 0, sizeof value, &value, 0, NULL,
                              NULL));
    CHECK(clReleaseKernel(load.kernel));
    CHECK(clReleaseMemObject(counter));
    return value == COUNTED;
}

int main(int argc, char **argv)
{
    const int profiling = argc > 1 && strcmp(argv[1], "--profiling") == 0;
    char **numbers = argv + 1 + profiling;
    if (argc - profiling != 4 || atol(numbers[0]) < 1 || atol(numbers[1]) < 1) {
        fprintf(stderr, "usage: empty [--profiling] N B D\n");
        return 2;
    }
    cl_device_id device = first_device();
    cl_int status;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    struct load load = {
        .queue = clCreateCommandQueue(context, device, profiling ? CL_QUEUE_PROFILING_ENABLE : 0,
                                      &status),
        .count = WARM_UP,
        .batch = WARM_UP,
    };
    CHECK(status);
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    load.kernel = clCreateKernel(program, "empty", &status);
    CHECK(status);
    CHECK(clSetKernelArg(load.kernel, 0, sizeof(int), &(int){0}));

    const long depth = atol(numbers[2]);
    at_depth(&load, depth);
    load.count = atol(numbers[0]);
    load.batch = atol(numbers[1]);
    const double start_ns = now_ns();
    at_depth(&load, depth);
    printf("%.1f\n", (now_ns() - start_ns) / (double)load.count);

    const int right = counted(context, program, load);
    CHECK(clReleaseKernel(load.kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(load.queue));
    CHECK(clReleaseContext(context));
    return !right;
}
