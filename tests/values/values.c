/* values.c - operations whose answer follows from this source: what of it each leaves unchanged.
 *
 *     values CASE [argument]
 *     values texts FOLDER: what its kernels are made of (texts.h)
 *
 * Each case is a function of a file beside this one (values.h);
 * tests/values/run.py knows what Sonde must say of it. Prints a checksum of all that was read.
 */
#include "values.h"
#include "texts.h"

cl_context context;
cl_device_id device;
cl_command_queue queue;
cl_program program;
uint64_t checksum = 14695981039346656037u;

cl_mem buffer(size_t bytes)
{
    void *zeros = calloc(bytes, 1);
    cl_mem made;
    CLP(made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, zeros, &status));
    free(zeros);
    return made;
}

void put(cl_mem to, size_t at, const void *from, size_t bytes)
{
    CL(clEnqueueWriteBuffer(queue, to, CL_TRUE, at, bytes, from, 0, NULL, NULL));
}

void take(cl_mem from, size_t bytes)
{
    unsigned char *all = malloc(bytes);
    CL(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, bytes, all, 0, NULL, NULL));
    for (size_t i = 0; i < bytes; i++)
        checksum = (checksum ^ all[i]) * 1099511628211u;
    free(all);
}

cl_kernel kernel(const char *name)
{
    cl_kernel made;
    CLP(made = clCreateKernel(program, name, &status));
    return made;
}

void launch(cl_kernel k, size_t items)
{
    CL(clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, NULL, 0, NULL, NULL));
}

void launch_on(cl_kernel k, cl_mem from, cl_mem to)
{
    CL(clSetKernelArg(k, 0, sizeof from, &from));
    CL(clSetKernelArg(k, 1, sizeof to, &to));
    launch(k, N);
}

void set_to(cl_kernel set, cl_mem a, int value, int n)
{
    CL(clSetKernelArg(set, 0, sizeof a, &a));
    CL(clSetKernelArg(set, 1, sizeof value, &value));
    CL(clSetKernelArg(set, 2, sizeof n, &n));
    launch(set, N);
    CL(clFinish(queue));
}

cl_command_queue out_of_order(void)
{
    cl_command_queue made;
    CLP(made = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
    return made;
}

cl_event gate(void)
{
    cl_event made;
    CLP(made = clCreateUserEvent(context, &status));
    return made;
}

void open_gate(cl_event event)
{
    CL(clSetUserEventStatus(event, CL_COMPLETE));
    CL(clReleaseEvent(event));
}

void count_marked(const unsigned char *there, const unsigned char *other, const unsigned char *marks, size_t bytes, const char *name)
{
    printf("%s", name);
    for (size_t size = 1; size <= 8; size *= 2) {
        size_t same = 0, all = 0;
        for (size_t at = 0; at + size <= bytes; at += size) {
            const bool written = !memchr(marks + at, 0, size);
            all += written;
            same += written && memcmp(there + at, other + at, size) == 0;
        }
        printf(" %zu %zu", all, same);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
#define X(name) {#name, name},
        VALUES_CASES(X)
#undef X
    };
    cl_platform_id platform;
    if (argc > 2 && !strcmp(argv[1], "texts"))
        return text_write(argv[2]);
    CL(clGetPlatformIDs(1, &platform, NULL));
    CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    CLP(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    CLP(queue = clCreateCommandQueue(context, device, 0, &status));
    program = text_program(context, "kernels");
    CL(clBuildProgram(program, 1, &device, "", NULL, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
            cases[i].run();
            CL(clFinish(queue));
            printf("checksum %016llx\n", (unsigned long long)checksum);
            return 0;
        }
    return 2;
}
