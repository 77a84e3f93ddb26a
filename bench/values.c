/* values.c - what --values and --comm cost: kernels of six kinds, each launched again and again.
 *
 *     bench-values ITEMS LAUNCHES [shared|apart]
 *
 * With `shared` their memory is shared virtual memory of two devices: the second one executes them, and the first one wrote what they read. With `apart` it
 * is in buffers of the same context.
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

struct memory { /* one of these */
    cl_mem buffer;
    float *shared;
};

static struct memory make(cl_context context, cl_command_queue writer, size_t bytes, const float *numbers, int shared)
{
    struct memory m = {0};
    cl_int status;
    if (shared) {
        m.shared = clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, 0);
        if (!m.shared)
            exit(1);
        CHECK(clEnqueueSVMMemcpy(writer, CL_TRUE, m.shared, numbers, bytes, 0, NULL, NULL));
    } else {
        m.buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
        CHECK(status);
        CHECK(clEnqueueWriteBuffer(writer, m.buffer, CL_TRUE, 0, bytes, numbers, 0, NULL, NULL));
    }
    return m;
}

static void measure(cl_command_queue queue, cl_kernel kernel, size_t items, int launches, const struct memory memory[3])
{
    static cl_ulong took[LAUNCHES_MAX];
    const cl_int n = (cl_int)items;
    char name[64];
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
    for (cl_uint b = 0; b < 3; b++)
        CHECK(memory[b].shared ? clSetKernelArgSVMPointer(kernel, b, memory[b].shared) : clSetKernelArg(kernel, b, sizeof memory[b].buffer, &memory[b].buffer));
    CHECK(clSetKernelArg(kernel, 3, sizeof n, &n));
    time_of(queue, kernel, items);
    for (int i = 0; i < launches; i++)
        took[i] = time_of(queue, kernel, items);
    qsort(took, (size_t)launches, sizeof *took, by_size);
    printf("%s %llu\n", name, (unsigned long long)took[launches / 2]);
}

int main(int argc, char **argv)
{
    const size_t items = argc >= 3 ? strtoul(argv[1], NULL, 10) / GROUP * GROUP : 0;
    const int launches = argc >= 3 ? atoi(argv[2]) : 0, shared = argc == 4 && strcmp(argv[3], "shared") == 0;
    const cl_uint used = argc == 4 ? 2 : 1; /* devices; the last one executes kernels */
    const char *text = source;
    cl_platform_id platform;
    cl_device_id devices[2];
    cl_command_queue queues[2];
    cl_kernel kernels[16];
    cl_uint count;
    cl_int status;
    if (!items || launches < 1 || launches > LAUNCHES_MAX)
        return 2;
    if (used > 1)
        setenv("POCL_DEVICES", "pthread pthread", 0);
    CHECK(clGetPlatformIDs(1, &platform, NULL));
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, used, devices, &count));
    if (count < used)
        return 3;
    cl_context context = clCreateContext(NULL, used, devices, NULL, NULL, &status);
    CHECK(status);
    for (cl_uint i = 0; i < used; i++) {
        queues[i] = clCreateCommandQueue(context, devices[i], CL_QUEUE_PROFILING_ENABLE, &status);
        CHECK(status);
    }
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    CHECK(status);
    CHECK(clBuildProgram(program, used, devices, "", NULL, NULL));
    CHECK(clCreateKernelsInProgram(program, sizeof kernels / sizeof *kernels, kernels, &count));
    float *numbers = malloc(items * sizeof *numbers);
    for (size_t i = 0; i < items; i++)
        numbers[i] = (float)(i * 2654435761u % 1000003) / 1000003;
    struct memory memory[3];
    for (int b = 0; b < 3; b++)
        memory[b] = make(context, queues[0], items * sizeof *numbers, numbers, shared);
    for (cl_uint k = 0; k < count; k++)
        measure(queues[used - 1], kernels[k], items, launches, memory);
    free(numbers);
    return 0;
}
