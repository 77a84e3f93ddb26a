/* memory.c - a program whose use of memory is known: tests/report/memory_test.py has the numbers.
 *
 * case: memory-known => fill=9 svm_fill=1 svm_free=1 image_fill=1 kernel=1 read=1
 * case: memory-nothing-freed nothing => fill=1
 * case: memory-freed-at-exit exit => fill=1
 */
#include "guest.h"

#include <stdint.h>

#define APART __attribute__((noinline))

static cl_context context;
static cl_command_queue queue;

APART static cl_mem make(size_t bytes)
{
    cl_mem buffer;
    CLP(buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status));
    return buffer;
}

static void fill(cl_mem buffer, size_t bytes)
{
    const unsigned char zero = 0;
    CL(clEnqueueFillBuffer(queue, buffer, &zero, 1, 0, bytes, 0, NULL, NULL));
    CL(clFinish(queue));
}

/* Five of 1,000 bytes, used once each and forgotten. */
APART static void leak(void)
{
    for (int i = 0; i < 5; i++)
        fill(make(1000), 1000);
}

static cl_mem unused;

APART static void never_used(void)
{
    unused = make(3000);
}

/* The same 700 bytes again and again. */
APART static void again(void)
{
    for (int i = 0; i < 3; i++) {
        cl_mem buffer = make(700);
        fill(buffer, 700);
        CL(clReleaseMemObject(buffer));
    }
}

/* Used only through a part of it. */
APART static void parts(void)
{
    cl_mem whole = make(8192), part;
    const cl_buffer_region region = {4096, 1024};
    CLP(part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
    fill(part, 1024);
    CL(clReleaseMemObject(part));
    CL(clReleaseMemObject(whole));
}

/* Shared virtual memory, and a buffer over it. */
APART static void shared(void)
{
    const unsigned char zero = 0;
    void *memory = clSVMAlloc(context, CL_MEM_READ_WRITE, 2048, 0);
    cl_mem over;
    CL(clEnqueueSVMMemFill(queue, memory, &zero, 1, 2048, 0, NULL, NULL));
    CL(clFinish(queue));
    CLP(over = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 2048, memory, &status));
    CL(clReleaseMemObject(over));
    CL(clEnqueueSVMFree(queue, 1, &memory, NULL, NULL, 0, NULL, NULL));
    CL(clFinish(queue));
}

APART static void picture(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8};
    const cl_uint color[4] = {0};
    const size_t origin[3] = {0}, region[3] = {16, 8, 1};
    cl_mem image;
    CLP(image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status));
    CL(clEnqueueFillImage(queue, image, color, origin, region, 0, NULL, NULL));
    CL(clFinish(queue));
    CL(clReleaseMemObject(image));
}

static cl_mem left;

static void free_left(void)
{
    clReleaseMemObject(left);
}

/* `nothing`: leave all to the end. `exit`: free only then. */
static int one_object(const char *how)
{
    struct guest g;
    if (strcmp(how, "exit") == 0)
        atexit(free_left); /* before OpenCL begins: it runs after whatever OpenCL and its tools do at the end */
    CL(clGetPlatformIDs(1, &g.platform, NULL));
    CL(clGetDeviceIDs(g.platform, CL_DEVICE_TYPE_ALL, 1, &g.device, NULL));
    CLP(context = clCreateContext(NULL, 1, &g.device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, g.device, 0, &status));
    left = make(5000);
    fill(left, 5000);
    puts("one object");
    return 0;
}

int main(int argc, char **argv)
{
    struct guest g;
    if (argc > 1)
        return one_object(argv[1]);
    guest_open(&g);
    context = g.context;
    queue = g.queue;
    cl_mem early = make(50000);
    never_used();
    leak();
    again();
    parts();
    shared();
    picture();
    cl_mem big = make(1000000);
    guest_add(&g, 1);
    CL(clEnqueueReadBuffer(queue, early, CL_TRUE, 0, sizeof g.platform, &g.platform, 0, NULL, NULL));
    CL(clReleaseMemObject(big));
    CL(clReleaseMemObject(unused));
    CL(clReleaseMemObject(early));
    puts("known");
    guest_close(&g);
    return 0;
}
