/* blocks.c - kernels of which only some work-groups are looked at (--values-blocks): what their values have in common follows from this source, and differs
 * from group to group.
 *
 *     blocks blocks
 *
 * Each kernel is launched LAUNCHES times. Prints how many elements are 7, and a checksum of all that was computed.
 */
#include "texts.h"

#include <stdbool.h>
#include <stdint.h>

enum { GROUPS = 420,
       GROUP = 16,
       N = GROUPS * GROUP,
       LAUNCHES = 12 };

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static uint64_t checksum = 14695981039346656037u;

/* How many of a group's 16 elements are 7: 15 in five groups of eight, in no order, and 9 in the others. So whoever guesses, wherever it looks, guesses 7. */
static bool is_seven(int i)
{
    return i % GROUP < (((uint32_t)(i / GROUP) * 2246822519u >> 20 & 7) < 5 ? 15 : 9);
}

static int other(int i)
{
    return (int)(0x40000000u + (uint32_t)i * 7919u);
}

static int of_some(int i)
{
    return is_seven(i) ? 7 : other(i);
}

static int of_each(int i)
{
    return i % 4 ? 7 : other(i);
}

static int none(int i)
{
    return 0 * i;
}

static int but_one(int i)
{
    return i / GROUP == GROUPS - 1 ? i : 0;
}

static void launch_often(const char *name, int (*element)(int), const size_t range[3], const size_t group[3])
{
    static int numbers[N];
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
        CL(clEnqueueNDRangeKernel(queue, kernel, 3, NULL, range, group, 0, NULL, NULL));
        CL(clFinish(queue));
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
    const size_t flat[] = {N, 1, 1}, flat_group[] = {GROUP, 1, 1}, deep[] = {7 * 4, 10 * 2, 6 * 2}, deep_group[] = {4, 2, 2};
    cl_platform_id platform;
    cl_device_id device;
    int sevens = 0;
    if (argc > 2 && !strcmp(argv[1], "texts"))
        return text_write(argv[2]);
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CLP(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, device, 0, &status));
    program = text_program(context, "blocks");
    CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
    for (int i = 0; i < N; i++)
        sevens += is_seven(i);
    launch_often("some_groups", of_some, deep, deep_group);
    launch_often("all_groups", of_each, flat, flat_group);
    launch_often("zeros", none, flat, flat_group);
    launch_often("but_one", but_one, flat, flat_group);
    launch_often("reversed", other, flat, flat_group);
    launch_often("table", other, flat, flat_group);
    launch_often("as_it_likes", none, flat, NULL);
    printf("sevens %d\nchecksum %016llx\n", sevens, (unsigned long long)checksum);
    return 0;
}
