/* operations.c - every kind of operation, counted by the program itself.
 *
 * Prints what it did in the words of the counting agent (`op KIND COUNT bytes
 * BYTES`, `kernel NAME COUNT`, ...), so that the test can compare line by
 * line. Shares no code with the backend. With an argument it repeats that
 * often. What the device cannot do is left out of both.
 */
#include <unistd.h>

#include "cl_test.h"

enum {
    SIDE = 16,
    BYTES = SIDE * SIDE * 4,
    PIXEL = 4,
};

static unsigned long work_items, sub_items;

struct world {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem a, b;
    cl_kernel kernel, other;
    char host[BYTES];
};

static void kernels(struct world *w)
{
    const size_t global[3] = {8, 4, 2}, local[3] = {4, 2, 1};
    cl_event event;
    for (int i = 0; i < 3; i++)
        DO("kernel", 0,
           clEnqueueNDRangeKernel(w->queue, w->kernel, 1, NULL, global, local, 0, NULL, NULL));
    DO("kernel", 0,
       clEnqueueNDRangeKernel(w->queue, w->kernel, 3, NULL, global, local, 0, NULL, &event));
    DO("kernel", 0,
       clEnqueueNDRangeKernel(w->queue, w->other, 2, NULL, global, NULL, 1, &event, NULL));
    DO("kernel", 0, clEnqueueTask(w->queue, w->other, 0, NULL, NULL));
    CHECK(clReleaseEvent(event));
    work_items += 4;
    sub_items += 2;
}

static void CL_CALLBACK native(void *argument)
{
    (void)argument;
}

static void natives(struct world *w)
{
    cl_device_exec_capabilities can = 0;
    int argument = 1;
    CHECK(clGetDeviceInfo(w->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL));
    if (can & CL_EXEC_NATIVE_KERNEL)
        DO("native", 0,
           clEnqueueNativeKernel(w->queue, native, &argument, sizeof argument, 0, NULL, NULL, 0,
                                 NULL, NULL));
}

static void buffers(struct world *w)
{
    const size_t origin[3] = {0, 0, 0}, region[3] = {32, 4, 1};
    const int pattern = 7;
    cl_int status;
    DO("write", BYTES,
       clEnqueueWriteBuffer(w->queue, w->a, CL_TRUE, 0, BYTES, w->host, 0, NULL, NULL));
    DO("write", 128,
       clEnqueueWriteBufferRect(w->queue, w->a, CL_FALSE, origin, origin, region, 64, 0, 64, 0,
                                w->host, 0, NULL, NULL));
    DO("copy", 256, clEnqueueCopyBuffer(w->queue, w->a, w->b, 0, 256, 256, 0, NULL, NULL));
    DO("copy", 128,
       clEnqueueCopyBufferRect(w->queue, w->a, w->b, origin, origin, region, 64, 0, 64, 0, 0,
                               NULL, NULL));
    DO("fill", 512,
       clEnqueueFillBuffer(w->queue, w->b, &pattern, sizeof pattern, 0, 512, 0, NULL, NULL));
    DO("read", 64,
       clEnqueueReadBuffer(w->queue, w->b, CL_FALSE, 64, 64, w->host, 0, NULL, NULL));
    DO("read", 128,
       clEnqueueReadBufferRect(w->queue, w->b, CL_TRUE, origin, origin, region, 64, 0, 64, 0,
                               w->host, 0, NULL, NULL));
    void *mapped = clEnqueueMapBuffer(w->queue, w->a, CL_TRUE, CL_MAP_READ, 0, 100, 0, NULL, NULL,
                                      &status);
    CHECK(status);
    did("map", 100);
    DO("unmap", 0, clEnqueueUnmapMemObject(w->queue, w->a, mapped, 0, NULL, NULL));
    mapped = clEnqueueMapBuffer(w->queue, w->b, CL_FALSE, CL_MAP_WRITE, 0, 50, 0, NULL, NULL, NULL);
    did("map", 50);
    CHECK(clFinish(w->queue));
    DO("unmap", 0, clEnqueueUnmapMemObject(w->queue, w->b, mapped, 0, NULL, NULL));
    DO("migrate", 2 * BYTES,
       clEnqueueMigrateMemObjects(w->queue, 2, (cl_mem[]){w->a, w->b}, 0, 0, NULL, NULL));
    /* Calls that fail make nothing. */
    if (clEnqueueReadBuffer(w->queue, w->b, CL_TRUE, BYTES, 64, w->host, 0, NULL, NULL) == CL_SUCCESS)
        did("read", 64);
}

static void images(struct world *w)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = SIDE,
                                .image_height = SIDE};
    const size_t origin[3] = {0, 0, 0}, whole[3] = {SIDE, SIDE, 1}, part[3] = {4, 2, 1};
    const float colour[4] = {0};
    cl_bool can = CL_FALSE;
    cl_int status;
    CHECK(clGetDeviceInfo(w->device, CL_DEVICE_IMAGE_SUPPORT, sizeof can, &can, NULL));
    if (!can)
        return;
    cl_mem x = clCreateImage(w->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    cl_mem y = clCreateImage2D(w->context, CL_MEM_READ_WRITE, &format, SIDE, SIDE, 0, NULL,
                               &status);
    CHECK(status);
    DO("image_write", SIDE * SIDE * PIXEL,
       clEnqueueWriteImage(w->queue, x, CL_TRUE, origin, whole, 0, 0, w->host, 0, NULL, NULL));
    DO("image_copy", 8 * PIXEL,
       clEnqueueCopyImage(w->queue, x, y, origin, origin, part, 0, NULL, NULL));
    DO("image_copy", 8 * PIXEL,
       clEnqueueCopyImageToBuffer(w->queue, x, w->a, origin, part, 0, 0, NULL, NULL));
    DO("image_copy", 8 * PIXEL,
       clEnqueueCopyBufferToImage(w->queue, w->a, y, 0, origin, part, 0, NULL, NULL));
    DO("image_fill", 8 * PIXEL,
       clEnqueueFillImage(w->queue, y, colour, origin, part, 0, NULL, NULL));
    DO("image_read", SIDE * SIDE * PIXEL,
       clEnqueueReadImage(w->queue, y, CL_TRUE, origin, whole, 0, 0, w->host, 0, NULL, NULL));
    size_t pitch;
    void *mapped = clEnqueueMapImage(w->queue, x, CL_TRUE, CL_MAP_READ, origin, part, &pitch, NULL,
                                     0, NULL, NULL, &status);
    CHECK(status);
    did("image_map", 8 * PIXEL);
    DO("unmap", 0, clEnqueueUnmapMemObject(w->queue, x, mapped, 0, NULL, NULL));
    CHECK(clFinish(w->queue));
    CHECK(clReleaseMemObject(x));
    CHECK(clReleaseMemObject(y));
}

static void svm(struct world *w)
{
    cl_device_svm_capabilities can = 0;
    const int pattern = 3;
    if (clGetDeviceInfo(w->device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL) != CL_SUCCESS ||
        !can)
        return;
    void *p = clSVMAlloc(w->context, CL_MEM_READ_WRITE, 1024, 0);
    void *q = clSVMAlloc(w->context, CL_MEM_READ_WRITE, 512, 0);
    const void *both[2] = {p, q};
    DO("svm_map", 1024, clEnqueueSVMMap(w->queue, CL_TRUE, CL_MAP_WRITE, p, 1024, 0, NULL, NULL));
    DO("svm_unmap", 0, clEnqueueSVMUnmap(w->queue, p, 0, NULL, NULL));
    DO("svm_fill", 256,
       clEnqueueSVMMemFill(w->queue, p, &pattern, sizeof pattern, 256, 0, NULL, NULL));
    DO("svm_copy", 128, clEnqueueSVMMemcpy(w->queue, CL_TRUE, q, p, 128, 0, NULL, NULL));
    DO("svm_migrate", 1024 + 512,
       clEnqueueSVMMigrateMem(w->queue, 2, both, NULL, 0, 0, NULL, NULL));
    DO("svm_free", 0, clEnqueueSVMFree(w->queue, 1, &q, NULL, NULL, 0, NULL, NULL));
    CHECK(clFinish(w->queue));
    clSVMFree(w->context, p);
}

static void order(struct world *w)
{
    cl_event user, marker;
    cl_int status;
    user = clCreateUserEvent(w->context, &status);
    CHECK(status);
    DO("marker", 0, clEnqueueMarkerWithWaitList(w->queue, 1, &user, &marker));
    DO("marker", 0, clEnqueueMarkerWithWaitList(w->queue, 0, NULL, NULL));
    DO("barrier", 0, clEnqueueBarrierWithWaitList(w->queue, 0, NULL, NULL));
    DO("barrier", 0, clEnqueueBarrier(w->queue));
    CHECK(clFlush(w->queue));
    CHECK(clSetUserEventStatus(user, CL_COMPLETE));
    CHECK(clWaitForEvents(1, &marker));
    CHECK(clReleaseEvent(marker));
    CHECK(clReleaseEvent(user));
    DO("marker", 0, clEnqueueMarker(w->queue, &marker));
    CHECK(clWaitForEvents(1, &marker));
    CHECK(clReleaseEvent(marker));
}

/* A queue of its own that goes while its work is pending. */
static void short_queue(struct world *w)
{
    const size_t global = 64;
    cl_int status;
    const cl_queue_properties properties[] = {
        CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(w->context, w->device, properties, &status);
    CHECK(status);
    DO("kernel", 0,
       clEnqueueNDRangeKernel(queue, w->other, 1, NULL, &global, NULL, 0, NULL, NULL));
    sub_items++;
    CHECK(clReleaseCommandQueue(queue));
}

static void report(unsigned long rounds)
{
    tell_operations();
    printf("kernel first %lu\nkernel second_kernel %lu\n", work_items, sub_items);
    printf("lanes %lu\n", 1 + rounds);
}

int main(int argc, char **argv)
{
    const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    struct world w;
    cl_platform_id platform;
    cl_int status;
    w.device = first_device(&platform);
    w.context = clCreateContext(NULL, 1, &w.device, NULL, NULL, &status);
    CHECK(status);
    w.queue = clCreateCommandQueue(w.context, w.device, 0, &status);
    CHECK(status);
    cl_program program = program_of(w.context, w.device,
                                    "kernel void first(global int *a) { a[get_global_id(0)] = 1; }"
                                    "kernel void second_kernel(int a) {}");
    w.kernel = clCreateKernel(program, "first", &status);
    CHECK(status);
    w.other = clCreateKernel(program, "second_kernel", &status);
    CHECK(status);
    w.a = clCreateBuffer(w.context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    CHECK(status);
    w.b = clCreateBuffer(w.context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    CHECK(status);
    CHECK(clSetKernelArg(w.kernel, 0, sizeof w.a, &w.a));
    CHECK(clSetKernelArg(w.other, 0, sizeof(int), &(int){0}));
    memset(w.host, 1, sizeof w.host);
    /* PoCL compiles at the first launch of a size, and aborts when exit comes meanwhile. */
    DO("kernel", 0, clEnqueueNDRangeKernel(w.queue, w.other, 1, NULL, &(size_t){64}, NULL, 0, NULL, NULL));
    sub_items++;
    CHECK(clFinish(w.queue));
    for (unsigned long i = 0; i < rounds; i++) {
        kernels(&w);
        natives(&w);
        buffers(&w);
        images(&w);
        svm(&w);
        order(&w);
        short_queue(&w);
    }
    CHECK(clFinish(w.queue));
    report(rounds);
    CHECK(clReleaseMemObject(w.a));
    CHECK(clReleaseMemObject(w.b));
    CHECK(clReleaseKernel(w.kernel));
    CHECK(clReleaseKernel(w.other));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(w.queue));
    CHECK(clReleaseContext(w.context));
    return 0;
}
