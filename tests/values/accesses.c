/* accesses.c - run each kernel of accesses.cl once, in the order of names, on buffers of its own: accesses.py.
 *
 *     accesses FILE.cl
 *     accesses FILE.spv
 *
 * Prints, for each kernel, its name and a sum of what its buffers hold at the end.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 320,
       GROUP = 32,
       BYTES = 32784,
       BUFFERS = 3,
       KERNELS_MAX = 128 };

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, status);
    exit(1);
}

static uint64_t next(uint64_t *state) /* xorshift64* (Vigna 2016) */
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

static unsigned char bytes[BYTES];

static unsigned char *mix(uint64_t *state)
{
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(next(state) >> 56);
    return bytes;
}

static void run(cl_context context, cl_command_queue queue, cl_kernel kernel, uint64_t *state)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    cl_mem buffer[BUFFERS];
    cl_int status[BUFFERS];
    char name[64];
    uint64_t sum = 0;
    const cl_int items = ITEMS;
    const size_t global = ITEMS, group = GROUP;
    check(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL), "clGetKernelInfo");
    /* Each from a call of its own: accesses are told by where objects were allocated. */
    buffer[0] = clCreateBuffer(context, flags, BYTES, mix(state), &status[0]);
    buffer[1] = clCreateBuffer(context, flags, BYTES, mix(state), &status[1]);
    buffer[2] = clCreateBuffer(context, flags, BYTES, mix(state), &status[2]);
    for (cl_uint b = 0; b < BUFFERS; b++) {
        check(status[b], "clCreateBuffer");
        check(clSetKernelArg(kernel, b, sizeof buffer[b], &buffer[b]), "clSetKernelArg");
    }
    check(clSetKernelArg(kernel, BUFFERS, sizeof items, &items), "clSetKernelArg");
    check(clSetKernelArg(kernel, BUFFERS + 1, GROUP * 128, NULL), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &group, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    for (cl_uint b = 0; b < BUFFERS; b++) {
        check(clEnqueueReadBuffer(queue, buffer[b], CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL), "clEnqueueReadBuffer");
        for (size_t i = 0; i < BYTES; i++)
            sum = 31 * sum + bytes[i];
    }
    printf("%s %016llx\n", name, (unsigned long long)sum);
    for (cl_uint b = 0; b < BUFFERS; b++)
        check(clReleaseMemObject(buffer[b]), "clReleaseMemObject");
}

static int by_name(const void *a, const void *b)
{
    char name[2][64] = {"", ""};
    check(clGetKernelInfo(*(const cl_kernel *)a, CL_KERNEL_FUNCTION_NAME, sizeof name[0], name[0], NULL), "clGetKernelInfo");
    check(clGetKernelInfo(*(const cl_kernel *)b, CL_KERNEL_FUNCTION_NAME, sizeof name[1], name[1], NULL), "clGetKernelInfo");
    return strcmp(name[0], name[1]);
}

int main(int argc, char **argv)
{
    static char source[1 << 20];
    const char *text = source;
    uint64_t state = 88172645463325252u;
    cl_platform_id platform;
    cl_device_id device;
    cl_kernel kernels[KERNELS_MAX];
    cl_uint count;
    cl_int status;
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    const size_t length = f ? fread(source, 1, sizeof source - 1, f) : 0;
    if (!length)
        return 2;
    fclose(f);
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    const bool is_il = strstr(argv[1], ".spv") != NULL;
    cl_program program = is_il ? clCreateProgramWithIL(context, source, length, &status) : clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "the program");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    check(clCreateKernelsInProgram(program, KERNELS_MAX, kernels, &count), "clCreateKernelsInProgram");
    qsort(kernels, count, sizeof *kernels, by_name); /* whatever order the runtime has */
    for (cl_uint i = 0; i < count; i++) {
        run(context, queue, kernels[i], &state);
        clReleaseKernel(kernels[i]);
    }
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
