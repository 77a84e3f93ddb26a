/* platforms.c - all platforms of the machine at once, taking turns.
 *
 * One device, context and queue on each; every turn is a write, a kernel and a
 * finish on one platform, then on the next, whose input is the result of the
 * one before. Prints what it did in the words of the counting agent. The
 * argument says how many turns.
 */
#include "cl_test.h"

enum {
    ITEMS = 16,
    BYTES = ITEMS * sizeof(cl_int),
    PLATFORMS = 8,
};

struct place {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem;
};

static void open_place(struct place *place, cl_platform_id platform, unsigned number)
{
    cl_device_id device;
    cl_int status;
    char name[256] = "", platform_name[256] = "";
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CHECK(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name, platform_name, NULL));
    CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL));
    cl_device_type type = 0;
    CHECK(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    printf("device %u kind %d %s\n", number,
           type & CL_DEVICE_TYPE_GPU ? 2 : (type & CL_DEVICE_TYPE_CPU ? 1 : 3), name);
    printf("lane %u device %u context %u flags 0 queue %u\n", number, number, number, number);
    place->context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    place->queue = clCreateCommandQueue(place->context, device, 0, &status);
    CHECK(status);
    place->program = program_of(place->context, device,
                                "kernel void add(global int *a) { a[get_global_id(0)] += 1; }");
    place->kernel = clCreateKernel(place->program, "add", &status);
    CHECK(status);
    place->mem = clCreateBuffer(place->context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    CHECK(status);
    CHECK(clSetKernelArg(place->kernel, 0, sizeof place->mem, &place->mem));
}

static void take_turn(const struct place *place, cl_int *values)
{
    const size_t items = ITEMS;
    DO("write", BYTES,
       clEnqueueWriteBuffer(place->queue, place->mem, CL_FALSE, 0, BYTES, values, 0, NULL, NULL));
    DO("kernel", 0,
       clEnqueueNDRangeKernel(place->queue, place->kernel, 1, NULL, &items, &items, 0, NULL,
                              NULL));
    CHECK(clFinish(place->queue));
    DO("read", BYTES,
       clEnqueueReadBuffer(place->queue, place->mem, CL_TRUE, 0, BYTES, values, 0, NULL, NULL));
}

static void close_place(const struct place *place)
{
    CHECK(clReleaseMemObject(place->mem));
    CHECK(clReleaseKernel(place->kernel));
    CHECK(clReleaseProgram(place->program));
    CHECK(clReleaseCommandQueue(place->queue));
    CHECK(clReleaseContext(place->context));
}

int main(int argc, char **argv)
{
    const int turns = argc > 1 ? atoi(argv[1]) : 1;
    cl_platform_id platforms[PLATFORMS];
    struct place places[PLATFORMS];
    cl_int values[ITEMS] = {0};
    cl_uint count = 0;
    CHECK(clGetPlatformIDs(PLATFORMS, platforms, &count));
    printf("platforms %u\n", count);
    for (cl_uint i = 0; i < count; i++)
        open_place(&places[i], platforms[i], i + 1);
    for (int turn = 0; turn < turns; turn++)
        for (cl_uint i = 0; i < count; i++)
            take_turn(&places[i], values);
    printf("added %d\n", values[ITEMS - 1]);
    for (cl_uint i = 0; i < count; i++)
        close_place(&places[i]);
    tell_operations();
    return 0;
}
