/* il.c - a kernel with constants that are set for its program, which is made of SPIR-V: what it writes follows from them.
 *
 *     il constants
 *     il texts FOLDER: what its kernel is made of
 *
 * Prints what each work-item of the kernel wrote: a number, the bits of a float, a number of 64 bits, and whether.
 */
#include "texts.h"

#include <stdint.h>

enum { N = 1000,
       EACH = 4, /* numbers of a work-item */
       NUMBER = 7,
       REAL,
       LONG,
       WHETHER };

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

static void put(cl_program program, cl_uint constant, size_t bytes, const void *value)
{
    CL(clSetProgramSpecializationConstant(program, constant, bytes, value));
}

static cl_mem launch(cl_program program)
{
    const size_t items = N;
    cl_kernel kernel;
    cl_mem to;
    CLP(kernel = clCreateKernel(program, "special", &status));
    CLP(to = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(cl_long[N][EACH]), NULL, &status));
    CL(clSetKernelArg(kernel, 0, sizeof to, &to));
    CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    CL(clReleaseKernel(kernel));
    return to;
}

static void show(cl_mem to)
{
    static cl_long all[N][EACH];
    CL(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof all, all, 0, NULL, NULL));
    for (int i = 1; i < N; i++)
        if (memcmp(all[i], all[0], sizeof *all) != 0)
            printf("work-item %d wrote something else\n", i);
    printf("%lld %lld %lld %lld\n", (long long)all[0][0], (long long)all[0][1], (long long)all[0][2], (long long)all[0][3]);
    CL(clReleaseMemObject(to));
}

static void build(cl_program program)
{
    CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

/* As the SPIR-V has them; set before it is built, and behind that, which changes nothing; built again with another; and where the program is made by the function of
 * the extension. */
static void constants(const void *il, size_t bytes)
{
    const cl_int number = -42, early = 999, late = 1000;
    const cl_float real = 0.1f;
    const cl_long wide = INT64_MIN + 5;
    const cl_uchar yes = 1;
    cl_platform_id platform;
    cl_program program;
    CLP(program = clCreateProgramWithIL(context, il, bytes, &status));
    build(program);
    show(launch(program));
    CL(clReleaseProgram(program));
    CLP(program = clCreateProgramWithIL(context, il, bytes, &status));
    put(program, NUMBER, sizeof number, &number);
    put(program, REAL, sizeof real, &real);
    put(program, LONG, sizeof wide, &wide);
    put(program, WHETHER, sizeof yes, &yes);
    build(program);
    put(program, NUMBER, sizeof late, &late);
    show(launch(program));
    CL(clReleaseProgram(program));
    CLP(program = clCreateProgramWithIL(context, il, bytes, &status));
    put(program, NUMBER, sizeof early, &early);
    build(program);
    put(program, NUMBER, sizeof late, &late);
    build(program);
    show(launch(program));
    CL(clReleaseProgram(program));
    CL(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    cl_program(CL_API_CALL * make)(cl_context, const void *, size_t, cl_int *);
    *(void **)&make = clGetExtensionFunctionAddressForPlatform(platform, "clCreateProgramWithILKHR");
    CLP(program = make(context, il, bytes, &status));
    put(program, REAL, sizeof real, &real);
    build(program);
    show(launch(program));
    CL(clReleaseProgram(program));
}

int main(int argc, char **argv)
{
    size_t bytes;
    cl_platform_id platform;
    if (argc > 2 && !strcmp(argv[1], "texts"))
        return text_write(argv[2]);
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CLP(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, device, 0, &status));
    void *il = text_il("special", &bytes);
    constants(il, bytes);
    free(il);
    CL(clFinish(queue));
    return 0;
}
