/* values.c - what --values costs: kernels of six kinds, each launched again and again.
 *
 *     bench-values ITEMS LAUNCHES
 *
 * Prints, for each kernel, its name and the median of its launches' times in nanoseconds, by the runtime's own clock. Its first launch
 * is left out.
 */
#include "opencl.h"

enum { GROUP = 64,
       LAUNCHES_MAX = 1000 };

static const char source[] =
    "kernel void copy(global const float *a, global float *b, global int *c, int n) { int i = get_global_id(0); b[i] = a[i]; }\n"
    "kernel void stencil(global const float *a, global float *b, global int *c, int n)\n"
    "{ int i = get_global_id(0); if (i > 0 && i < n - 1) b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1]; }\n"
    "kernel void reduce(global const float *a, global float *b, global int *c, int n)\n"
    "{ local float t[64]; int i = get_global_id(0), l = get_local_id(0); t[l] = a[i];\n"
    "  for (int s = 32; s; s /= 2) { barrier(CLK_LOCAL_MEM_FENCE); if (l < s) t[l] += t[l + s]; }\n"
    "  if (l == 0) b[get_group_id(0)] = t[0]; }\n"
    "kernel void product(global const float *a, global float *b, global int *c, int n)\n"
    "{ int i = get_global_id(0); float sum = 0; for (int k = 0; k < 32; k++) sum += a[(i & ~31) + k] * a[(k * 32 + (i & 31)) % n]; b[i] = sum; }\n"
    "kernel void bodies(global const float *a, global float *b, global int *c, int n)\n"
    "{ int i = get_global_id(0); float x = a[i], force = 0;\n"
    "  for (int k = 0; k < 64; k++) { float d = a[(i + k) % n] - x; force += d * rsqrt(d * d + 0.01f); } b[i] = force; }\n"
    "kernel void histogram(global const float *a, global float *b, global int *c, int n)\n"
    "{ int i = get_global_id(0); atomic_inc(&c[(int)(a[i] * 1000) & 1023]); }\n";

static int by_size(const void *a, const void *b)
{
    const cl_ulong x = *(const cl_ulong *)a, y = *(const cl_ulong *)b;
    return x < y ? -1 : x > y;
}

static cl_ulong time_of(cl_command_queue queue, cl_kernel kernel, size_t items)
{
    const size_t group = GROUP;
    cl_event event;
    cl_ulong start, end;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, &event));
    CHECK(clFinish(queue));
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
    CHECK(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
    CHECK(clReleaseEvent(event));
    return end - start;
}

int main(int argc, char **argv)
{
    const size_t items = argc == 3 ? strtoul(argv[1], NULL, 10) / GROUP * GROUP : 0;
    const int launches = argc == 3 ? atoi(argv[2]) : 0;
    const char *text = source;
    const cl_int n = (cl_int)items;
    cl_ulong took[LAUNCHES_MAX];
    cl_kernel kernels[16];
    cl_uint count;
    cl_int status;
    if (!items || launches < 1 || launches > LAUNCHES_MAX)
        return 2;
    const cl_device_id device = first_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
    CHECK(status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
    CHECK(clCreateKernelsInProgram(program, sizeof kernels / sizeof *kernels, kernels, &count));
    float *numbers = malloc(items * sizeof *numbers);
    for (size_t i = 0; i < items; i++)
        numbers[i] = (float)(i * 2654435761u % 1000003) / 1000003;
    cl_mem buffer[3];
    for (int b = 0; b < 3; b++) {
        buffer[b] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, items * sizeof *numbers, numbers, &status);
        CHECK(status);
    }
    for (cl_uint k = 0; k < count; k++) {
        char name[64];
        CHECK(clGetKernelInfo(kernels[k], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
        for (cl_uint b = 0; b < 3; b++)
            CHECK(clSetKernelArg(kernels[k], b, sizeof buffer[b], &buffer[b]));
        CHECK(clSetKernelArg(kernels[k], 3, sizeof n, &n));
        time_of(queue, kernels[k], items);
        for (int i = 0; i < launches; i++)
            took[i] = time_of(queue, kernels[k], items);
        qsort(took, (size_t)launches, sizeof *took, by_size);
        printf("%s %llu\n", name, (unsigned long long)took[launches / 2]);
    }
    free(numbers);
    return 0;
}
