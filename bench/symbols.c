/* symbols.c - enqueues operations through functions of a few of very many compilation units (dwarf.py).
 *
 *     bench-dwarf N       one operation through each of N units, evenly chosen
 */
#include "opencl.h"

typedef void (*call)(void *);
extern void (*const entries[])(call, void *);
extern const unsigned entry_count;

struct load {
    cl_command_queue queue;
    cl_kernel kernel;
};

static void enqueue(void *argument)
{
    const struct load *load = argument;
    const size_t one = 1;
    CHECK(clEnqueueNDRangeKernel(load->queue, load->kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    CHECK(clFinish(load->queue));
}

int main(int argc, char **argv)
{
    const unsigned count = argc > 1 ? (unsigned)atol(argv[1]) : 10;
    const char *text = "kernel void empty(int nothing) {}\n";
    cl_device_id device = first_device();
    cl_int status;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    struct load load = {.queue = clCreateCommandQueue(context, device, 0, &status)};
    CHECK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    load.kernel = clCreateKernel(program, "empty", &status);
    CHECK(status);
    CHECK(clSetKernelArg(load.kernel, 0, sizeof(int), &(int){0}));
    for (unsigned i = 0; i < count && i < entry_count; i++)
        entries[(unsigned long)i * entry_count / count](enqueue, &load);
    CHECK(clReleaseKernel(load.kernel));
    CHECK(clReleaseProgram(program));
    CHECK(clReleaseCommandQueue(load.queue));
    CHECK(clReleaseContext(context));
    return 0;
}
