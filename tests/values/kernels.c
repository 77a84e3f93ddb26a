/* kernels.c - what kernels and functions of the host write, from one thread or two, in contexts and with buffers that come and go: cases of values.c. */
#include "values.h"

#include <pthread.h>

/* `set` writes the same to 600 of 1,000 again and again; `sum` writes 8-byte elements and only reads the others. */
void kernels(void)
{
    const int value = 5, n = 600;
    cl_mem a = buffer(4 * N), b = buffer(8 * N);
    cl_kernel set = kernel("set"), sum = kernel("sum");
    CL(clSetKernelArg(set, 0, sizeof a, &a));
    CL(clSetKernelArg(set, 1, sizeof value, &value));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    CL(clSetKernelArg(sum, 0, sizeof a, &a));
    CL(clSetKernelArg(sum, 1, sizeof b, &b));
    for (int i = 0; i < 4; i++)
        launch(set, N);
    launch(sum, N);
    take(b, 8 * N);
}

/* Which elements kernels write: of one buffer that is two arguments; of a part of another; through one of two pointers, every other element of
 * three; and what is not known, where a group copies. */
void sets(void)
{
    const int seven = 7, n = 100;
    const cl_buffer_region region = {2048, 1024};
    const size_t group = 100, all = N;
    cl_mem a = buffer(4 * N), b = buffer(4 * N), c = buffer(4 * N), d = buffer(4 * N), part;
    CLP(part = clCreateSubBuffer(b, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    launch_on(kernel("look"), a, a);
    for (volatile int i = 0; i < 2; i++) /* unrolled, it would be two places */
        set_to(kernel("set"), part, seven, n);
    launch_on(kernel("either"), c, d);
    take(c, 4 * N);
    take(d, 4 * N);
    cl_kernel copy = kernel("copies");
    CL(clSetKernelArg(copy, 0, sizeof d, &d));
    CL(clSetKernelArg(copy, 1, sizeof c, &c));
    CL(clSetKernelArg(copy, 2, 4 * group, NULL));
    CL(clEnqueueNDRangeKernel(queue, copy, 1, NULL, &all, &group, 0, NULL, NULL));
    take(b, 4 * N);
    take(c, 4 * N);
    CL(clReleaseMemObject(part));
}

/* Eleven work-items write ranges of bytes that overlap: 109 bytes in all, of which the even ones are zero, as they were. */
void overlap(void)
{
    static const int from[] = {5, 10, 0, 40, 40, 41, 55, 100, 105, 90, 133}, to[] = {20, 25, 8, 41, 60, 59, 70, 120, 112, 104, 157};
    cl_mem a = buffer(160), begin = buffer(sizeof from), end = buffer(sizeof to);
    cl_kernel spread = kernel("spread");
    put(begin, 0, from, sizeof from);
    put(end, 0, to, sizeof to);
    CL(clSetKernelArg(spread, 0, sizeof a, &a));
    CL(clSetKernelArg(spread, 1, sizeof begin, &begin));
    CL(clSetKernelArg(spread, 2, sizeof end, &end));
    launch(spread, sizeof from / sizeof *from);
    take(a, 160);
}

/* Reads `a` through a pointer that it might have written through. */
void looks(void)
{
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    cl_kernel count = kernel("count"), look = kernel("look");
    CL(clSetKernelArg(count, 0, sizeof a, &a));
    launch(count, N);
    CL(clSetKernelArg(look, 0, sizeof a, &a));
    CL(clSetKernelArg(look, 1, sizeof b, &b));
    launch(look, N);
    take(b, 4 * N);
}

/* What is not looked at: memory that is mapped in one queue and unmapped in another. */
void missed(void)
{
    cl_mem a = buffer(4 * N);
    cl_command_queue any = out_of_order();
    int *mapped;
    CLP(mapped = clEnqueueMapBuffer(any, a, CL_TRUE, CL_MAP_WRITE, 0, 4 * N, 0, NULL, NULL, &status));
    mapped[0] = 2;
    CL(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL));
    take(a, 4 * N);
    CL(clReleaseCommandQueue(any));
}

struct arguments {
    int *to;
    const int *from;
};

static void CL_CALLBACK half(void *given)
{
    const struct arguments *a = given;
    for (int i = 0; i < N / 2; i++)
        a->to[i] = a->from[i] + i % 2;
}

static void CL_CALLBACK nothing(void *given)
{
    (void)given;
}

/* A function of the host's with two buffers, and one with none. */
void natives(void)
{
    cl_mem a = buffer(4 * N), b = buffer(4 * N);
    struct arguments arguments = {NULL, NULL};
    const cl_mem objects[] = {a, b};
    const void *places[] = {&arguments.to, &arguments.from};
    CL(clEnqueueNativeKernel(queue, half, &arguments, sizeof arguments, 2, objects, places, 0, NULL, NULL));
    CL(clEnqueueNativeKernel(queue, nothing, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
    take(a, 4 * N);
}

/* Two threads launch in one queue, each its own kernel object. */
static cl_command_queue shared;

static void *launcher(void *to)
{
    const size_t items = N;
    cl_kernel count = kernel("count");
    CL(clSetKernelArg(count, 0, sizeof(cl_mem), to));
    for (int i = 0; i < 200; i++)
        CL(clEnqueueNDRangeKernel(shared, count, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clReleaseKernel(count));
    return NULL;
}

void threads(void)
{
    pthread_t thread[2];
    cl_mem a = buffer(4 * N);
    shared = shared ? shared : queue;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, launcher, &a);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    CL(clFinish(shared));
    take(a, 4 * N);
}

void any_threads(void)
{
    shared = out_of_order();
    threads();
    CL(clReleaseCommandQueue(shared));
}

/* Contexts and queues come and go; in each two fills, of which the second changes nothing. */
void contexts(void)
{
    const int one = 1;
    static int zeros[N];
    for (int i = 0; i < 20; i++) {
        cl_context own;
        CLP(own = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
        cl_command_queue line;
        CLP(line = clCreateCommandQueue(own, device, 0, &status));
        cl_mem a;
        CLP(a = clCreateBuffer(own, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &status));
        for (int k = 0; k < 2; k++)
            CL(clEnqueueFillBuffer(line, a, &one, sizeof one, 0, 4 * N, 0, NULL, NULL));
        CL(clFinish(line));
        CL(clReleaseMemObject(a));
        CL(clReleaseCommandQueue(line));
        CL(clReleaseContext(own));
    }
}

/* Buffers that come and go, each for one launch, which may run when it is released. */
void loop(void)
{
    enum { BUFFERS = 20000,
           ITEMS = 10 };
    const int seven = 7, n = ITEMS;
    cl_kernel set = kernel("set");
    CL(clSetKernelArg(set, 1, sizeof seven, &seven));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    for (int i = 0; i < BUFFERS; i++) {
        cl_mem a;
        CLP(a = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof seven * ITEMS, NULL, &status));
        CL(clSetKernelArg(set, 0, sizeof a, &a));
        launch(set, ITEMS);
        if (i % 2)
            CL(clFinish(queue));
        CL(clReleaseMemObject(a));
        CL(clFinish(queue));
    }
}
