/* several.c - kernels that read several frequent values, one, and none, in how many parts follows from this source.
 *
 *     several several
 *     several texts FOLDER: what its kernels are made of (texts.h)
 *
 * Each kernel is launched LAUNCHES times from one place. Where a value lies is spread evenly: any 32 neighbours hold each value about as often as all do.
 * Prints a checksum of all that was computed.
 */
#include "texts.h"

#include <stdint.h>

enum { N = 4000,
       LAUNCHES = 12,
       STEP = 2473 }; /* N times the golden section, without a divisor of N */

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;
static uint64_t checksum = 14695981039346656037u;

/* What element i is, of N, which are so many of each value. */
static int rank(int i)
{
    return (int)((int64_t)i * STEP % N);
}

static int different(int i)
{
    return (int)(0x40000000u + (uint32_t)i * 7919u);
}

static int of_several(int i)
{
    return rank(i) < 1600 ? 11 : rank(i) < 3000 ? 22
                             : rank(i) < 3600   ? 33
                                                : 44; /* 40 %, 35 %, 15 %, 10 % */
}

static int of_one(int i)
{
    return rank(i) < 2200 ? 55 : different(i); /* 55 % */
}

static void launch_often(const char *name, int (*element)(int))
{
    static int numbers[N];
    const size_t items = N;
    cl_kernel kernel;
    cl_mem from, to;
    for (int i = 0; i < N; i++)
        numbers[i] = element(i);
    CLP(kernel = clCreateKernel(program, name, &status));
    CLP(from = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof numbers, numbers, &status));
    CLP(to = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof numbers, NULL, &status));
    CL(clSetKernelArg(kernel, 0, sizeof from, &from));
    CL(clSetKernelArg(kernel, 1, sizeof to, &to));
    for (int i = 0; i < LAUNCHES; i++) {
        CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        CL(clFinish(queue)); /* what it found decides what the next looks for */
    }
    CL(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof numbers, numbers, 0, NULL, NULL));
    for (int i = 0; i < N; i++)
        checksum = (checksum ^ (uint32_t)numbers[i]) * 1099511628211u;
    CL(clReleaseMemObject(from));
    CL(clReleaseMemObject(to));
    CL(clReleaseKernel(kernel));
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    if (argc > 2 && !strcmp(argv[1], "texts"))
        return text_write(argv[2]);
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CLP(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, device, 0, &status));
    program = text_program(context, "several");
    CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
    launch_often("several", of_several);
    launch_often("one", of_one);
    launch_often("none", different);
    printf("checksum %016llx\n", (unsigned long long)checksum);
    return 0;
}
