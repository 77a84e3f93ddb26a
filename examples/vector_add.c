/* vector_add.c - c = a + b on N doubles, the smallest complete OpenCL program.
 *
 *     vector_add [N] [THREADS] [QUEUES]     default: 100000 1 1
 *
 * Every thread has its share of the queues, and on each queue adds its own
 * vectors; the result is checked. Exit status 0 when it is right.
 *
 * Known answers, per queue (there are THREADS x QUEUES of them):
 *     write   2   of 8 N bytes each   add() <- worker()
 *     kernel  1   vector_add, N work items, local size chosen by the runtime
 *     read    1   of 8 N bytes        add() <- worker()
 *     data objects: 3 buffers of 8 N bytes
 * worker() is called by main() in the first thread, by the thread's start in others.
 * For `vector_add 100000`: 4 operations, 2,400,000 bytes moved.
 */
#include <math.h>
#include <pthread.h>

#include "common.h"

static const char source[] =
    "kernel void vector_add(global const double *a, global const double *b, global double *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n";

struct task {
    cl_context context;
    cl_device_id device;
    cl_program program;
    size_t count;
    long queues;
    int wrong;
};

/* One sum on one queue. Returns the number of wrong elements. */
static int add(const struct task *task, cl_command_queue queue, double *a, double *b, double *c)
{
    const size_t bytes = task->count * sizeof *a;
    cl_int status;
    cl_mem device_a = clCreateBuffer(task->context, CL_MEM_READ_ONLY, bytes, NULL, &status);
    CHECK(status);
    cl_mem device_b = clCreateBuffer(task->context, CL_MEM_READ_ONLY, bytes, NULL, &status);
    CHECK(status);
    cl_mem device_c = clCreateBuffer(task->context, CL_MEM_WRITE_ONLY, bytes, NULL, &status);
    CHECK(status);
    cl_kernel kernel = clCreateKernel(task->program, "vector_add", &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof device_a, &device_a));
    CHECK(clSetKernelArg(kernel, 1, sizeof device_b, &device_b));
    CHECK(clSetKernelArg(kernel, 2, sizeof device_c, &device_c));

    CHECK(clEnqueueWriteBuffer(queue, device_a, CL_FALSE, 0, bytes, a, 0, NULL, NULL));
    CHECK(clEnqueueWriteBuffer(queue, device_b, CL_FALSE, 0, bytes, b, 0, NULL, NULL));
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &task->count, NULL, 0, NULL, NULL));
    CHECK(clEnqueueReadBuffer(queue, device_c, CL_TRUE, 0, bytes, c, 0, NULL, NULL));

    int wrong = 0;
    for (size_t i = 0; i < task->count; i++)
        wrong += fabs(c[i] - (a[i] + b[i])) > 1e-12;
    CHECK(clReleaseKernel(kernel));
    CHECK(clReleaseMemObject(device_a));
    CHECK(clReleaseMemObject(device_b));
    CHECK(clReleaseMemObject(device_c));
    return wrong;
}

static void *worker(void *argument)
{
    struct task *task = argument;
    double *vectors = malloc(3 * task->count * sizeof *vectors);
    if (!vectors)
        exit(1);
    double *a = vectors, *b = a + task->count, *c = b + task->count;
    for (size_t i = 0; i < task->count; i++) {
        a[i] = (double)i;
        b[i] = 0.5 * (double)i;
    }
    for (long i = 0; i < task->queues; i++) {
        cl_int status;
        cl_command_queue queue = clCreateCommandQueue(task->context, task->device, 0, &status);
        CHECK(status);
        task->wrong += add(task, queue, a, b, c);
        CHECK(clReleaseCommandQueue(queue));
    }
    free(vectors);
    return NULL;
}

int main(int argc, char **argv)
{
    enum { THREADS_MAX = 256 };
    const size_t count = (size_t)number(argc > 1 ? argv[1] : NULL, 100000);
    long threads = number(argc > 2 ? argv[2] : NULL, 1);
    const long queues = number(argc > 3 ? argv[3] : NULL, 1);
    pthread_t others[THREADS_MAX];
    struct task tasks[THREADS_MAX];
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;

    cl_int status;
    cl_device_id device = pick_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_program program = build_program(context, device, source);

    for (long i = 0; i < threads; i++)
        tasks[i] = (struct task){context, device, program, count, queues, 0};
    for (long i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, worker, &tasks[i]) != 0)
            return 1;
    worker(&tasks[0]);
    int wrong = tasks[0].wrong;
    for (long i = 1; i < threads; i++) {
        pthread_join(others[i], NULL);
        wrong += tasks[i].wrong;
    }
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseContext(context));
    printf("%ld sums of %zu elements, %d wrong\n", threads * queues, count, wrong);
    return wrong != 0;
}
