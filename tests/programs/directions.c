/* directions.c - copies of every direction between the host and two devices of one context, and to a device of another
 * context: tests/report/comm_test.py has how many bytes go from where to where, once each.
 *
 * PoCL shows two devices where it is asked to; it is, unless somebody else asked for something. Two of one kind: a command of
 * its driver `basic` that waits for one of `pthread` may hang (PoCL 3.1, 2 of 300 runs of this program without Sonde).
 *
 * case: directions => kernel=1 write=5 read=3 copy=5 fill=1 migrate=4 map=3 unmap=3 svm_map=1 svm_unmap=1
 */
#include "guest.h"

enum {
    DEVICES = 2,
    BYTES = 4096,
};

static cl_device_id devices[DEVICES];
static cl_context context, other;
static cl_command_queue queues[DEVICES], far;
static char host[16 * BYTES];

#define APART __attribute__((noinline))

static cl_mem make(cl_context in, size_t bytes)
{
    cl_mem buffer;
    CLP(buffer = clCreateBuffer(in, CL_MEM_READ_WRITE, bytes, NULL, &status));
    return buffer;
}

static void open_all(void)
{
    cl_platform_id platform;
    cl_uint count = 0;
    setenv("POCL_DEVICES", "pthread pthread", 0);
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, devices, &count));
    if (count < DEVICES) {
        printf("one device only\n");
        exit(4);
    }
    CLP(context = clCreateContext(NULL, DEVICES, devices, NULL, NULL, &status));
    CLP(other = clCreateContext(NULL, 1, &devices[1], NULL, NULL, &status));
    for (int i = 0; i < DEVICES; i++)
        CLP(queues[i] = clCreateCommandQueue(context, devices[i], 0, &status));
    CLP(far = clCreateCommandQueue(other, devices[1], 0, &status));
}

/* Host to device 0: 3 of 1 × BYTES; to device 1: 2 × BYTES. */
APART static void to_devices(cl_mem first, cl_mem second)
{
    for (int i = 0; i < 3; i++)
        CL(clEnqueueWriteBuffer(queues[0], first, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
    CL(clEnqueueWriteBuffer(queues[1], second, CL_TRUE, 0, 2 * BYTES, host, 0, NULL, NULL));
}

/* On device 0: 1 and 2 × BYTES; on device 1: 3 × BYTES, in three of one. */
APART static void on_devices(cl_mem first, cl_mem second)
{
    CL(clEnqueueCopyBuffer(queues[0], first, second, 0, 0, BYTES, 0, NULL, NULL));
    CL(clEnqueueCopyBuffer(queues[0], second, first, 0, 0, 2 * BYTES, 0, NULL, NULL));
    CL(clFinish(queues[0]));
    for (int i = 0; i < 3; i++)
        CL(clEnqueueCopyBuffer(queues[1], second, first, 0, 0, BYTES, 0, NULL, NULL));
    CL(clFinish(queues[1]));
}

/* To device 1: 4 × BYTES; to device 0: 8 × BYTES; to the host: 4 × BYTES. That what is not defined comes along is not asked for. */
APART static void migrate(cl_mem first, cl_mem second)
{
    CL(clEnqueueMigrateMemObjects(queues[1], 1, &first, 0, 0, NULL, NULL));
    CL(clFinish(queues[1]));
    const cl_mem both[] = {first, second};
    CL(clEnqueueMigrateMemObjects(queues[0], 2, both, 0, 0, NULL, NULL));
    CL(clFinish(queues[0]));
    CL(clEnqueueMigrateMemObjects(queues[0], 1, &first, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    CL(clEnqueueMigrateMemObjects(queues[0], 1, &second, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL));
    CL(clFinish(queues[0]));
}

static void map_once(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t bytes)
{
    void *mapped;
    CLP(mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, 0, bytes, 0, NULL, NULL, &status));
    if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
        memset(mapped, 0, bytes);
    CL(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    CL(clFinish(queue));
}

/* Read from device 0: 1 × BYTES; replaced on device 1: 2 × BYTES; of 3 × BYTES nobody knows which way they go. */
APART static void map(cl_mem first, cl_mem second)
{
    map_once(queues[0], first, CL_MAP_READ, BYTES);
    map_once(queues[1], second, CL_MAP_WRITE_INVALIDATE_REGION, 2 * BYTES);
    map_once(queues[0], first, CL_MAP_READ | CL_MAP_WRITE, 3 * BYTES);
}

/* Shared virtual memory, read by the host: the queue's device has it then. 5 × BYTES. */
APART static void map_shared(void)
{
    void *shared = clSVMAlloc(context, CL_MEM_READ_WRITE, 5 * BYTES, 0);
    if (!shared)
        exit(5);
    CL(clEnqueueSVMMap(queues[0], CL_TRUE, CL_MAP_READ, shared, 5 * BYTES, 0, NULL, NULL));
    CL(clEnqueueSVMUnmap(queues[0], shared, 0, NULL, NULL));
    CL(clFinish(queues[0]));
    clSVMFree(context, shared);
}

/* From device 0 through the host to device 1 of another context: 4 × BYTES each way. */
APART static void across(cl_mem first)
{
    cl_mem there = make(other, 4 * BYTES);
    CL(clEnqueueReadBuffer(queues[0], first, CL_TRUE, 0, 4 * BYTES, host, 0, NULL, NULL));
    CL(clEnqueueWriteBuffer(far, there, CL_TRUE, 0, 4 * BYTES, host, 0, NULL, NULL));
    CL(clReleaseMemObject(there));
}

/* Device 1 to the host: 2 × 1 × BYTES. A kernel and a fill move nothing from here to there. */
APART static void from_device(cl_mem second)
{
    const char *source = "kernel void add(global int *a) { a[get_global_id(0)] += 1; }\n";
    const size_t items = GUEST_ITEMS;
    const cl_uint zero = 0;
    cl_program program;
    cl_kernel kernel;
    CLP(program = clCreateProgramWithSource(context, 1, &source, NULL, &status));
    CL(clBuildProgram(program, 1, &devices[1], "", NULL, NULL));
    CLP(kernel = clCreateKernel(program, "add", &status));
    CL(clSetKernelArg(kernel, 0, sizeof second, &second));
    CL(clEnqueueFillBuffer(queues[1], second, &zero, sizeof zero, 0, BYTES, 0, NULL, NULL));
    CL(clEnqueueNDRangeKernel(queues[1], kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    for (int i = 0; i < 2; i++)
        CL(clEnqueueReadBuffer(queues[1], second, CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
    printf("%d\n", host[0]);
    CL(clReleaseKernel(kernel));
    CL(clReleaseProgram(program));
}

int main(void)
{
    open_all();
    cl_mem first = make(context, 4 * BYTES), second = make(context, 4 * BYTES);
    to_devices(first, second);
    on_devices(first, second);
    migrate(first, second);
    map(first, second);
    map_shared();
    across(first);
    from_device(second);
    CL(clReleaseMemObject(first));
    CL(clReleaseMemObject(second));
    for (int i = 0; i < DEVICES; i++)
        CL(clReleaseCommandQueue(queues[i]));
    CL(clReleaseCommandQueue(far));
    CL(clReleaseContext(other));
    CL(clReleaseContext(context));
    return 0;
}
