/* guest.h - what the small programs of tests/programs share.
 *
 * Each program is an ordinary OpenCL program with one unusual habit; it must
 * behave, byte for byte, as if Sonde were not there. Its header comment holds
 * `case:` lines, which tests/guest/run.py reads:
 *
 *     case: NAME [argument...] => kernel=10 read=1
 *     case: NAME [argument...] => nothing      (no OpenCL: no process folder)
 *     case: NAME [argument...] => counted      (compare with the counting layer)
 *     case: NAME [argument...] => any          (Sonde may have had to leave)
 *
 * Options follow after semicolons: needs=root, stdin=TEXT, stdout=closed,
 * stderr=closed, relative-out (the measurement is named by a relative path),
 * own-cache, own-layer (the user's own OPENCL_LAYERS), check-unwinds, whole-stacks,
 * outlives (a child outlives the program: the runner waits for it too),
 * memory=few|many, module=PYTHON-MODULE, record=OPTION, late (operations after
 * the end may be counted as lost), killed (operations may still be in flight).
 *
 * Output must not depend on time, addresses or process ids.
 */
#ifndef GUEST_H
#define GUEST_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GUEST_ITEMS = 64 };

/* Each run of `add` adds one to every item, so that the buffer knows how many ran. */
static const char guest_source[] =
    "kernel void add(global int *a) { a[get_global_id(0)] += 1; }\n"
    "kernel void spin(global int *a, int n) {\n"
    "    int x = a[get_global_id(0)];\n"
    "    for (int i = 0; i < n; i++) x = x * 1664525 + 1013904223;\n"
    "    a[get_global_id(0)] = x; }\n";

struct guest {
    cl_platform_id   platform;
    cl_device_id     device;
    cl_context       context;
    cl_command_queue queue;
    cl_program       program;
    cl_kernel        add, spin;
    cl_mem           buffer;
};

static inline void guest_check(cl_int status, const char *call)
{
    if (status == CL_SUCCESS)
        return;
    printf("%s gave %d\n", call, status);
    fflush(stdout);
    _exit(3);
}
#define CL(call) guest_check((call), #call)
/* For calls that give their status through a last parameter: CLP(x = clCreate...(..., &status)). */
#define CLP(statement)                    \
    do {                                  \
        cl_int status = CL_SUCCESS;       \
        statement;                        \
        guest_check(status, #statement);  \
    } while (0)

static inline void guest_args(struct guest *g)
{
    cl_int rounds = 20000;
    CL(clSetKernelArg(g->add, 0, sizeof g->buffer, &g->buffer));
    CL(clSetKernelArg(g->spin, 0, sizeof g->buffer, &g->buffer));
    CL(clSetKernelArg(g->spin, 1, sizeof rounds, &rounds));
}

/* Platform to kernel arguments; enqueues nothing. */
static inline void guest_open_with(struct guest *g, cl_command_queue_properties properties)
{
    static int  zero[GUEST_ITEMS];
    const char *source = guest_source;
    CL(clGetPlatformIDs(1, &g->platform, NULL));
    CL(clGetDeviceIDs(g->platform, CL_DEVICE_TYPE_ALL, 1, &g->device, NULL));
    CLP(g->context = clCreateContext(NULL, 1, &g->device, NULL, NULL, &status));
    CLP(g->queue = clCreateCommandQueue(g->context, g->device, properties, &status));
    CLP(g->program = clCreateProgramWithSource(g->context, 1, &source, NULL, &status));
    CL(clBuildProgram(g->program, 1, &g->device, "", NULL, NULL));
    CLP(g->add = clCreateKernel(g->program, "add", &status));
    CLP(g->spin = clCreateKernel(g->program, "spin", &status));
    CLP(g->buffer = clCreateBuffer(g->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, zero, &status));
    guest_args(g);
}

static inline void guest_open(struct guest *g)
{
    guest_open_with(g, 0);
}

/* `count` launches of a kernel, none waited for. */
static inline void guest_launch(struct guest *g, cl_command_queue queue, cl_kernel kernel, int count)
{
    size_t items = GUEST_ITEMS, group = GUEST_ITEMS;
    (void)g;
    for (int i = 0; i < count; i++)
        CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL));
}

static inline void guest_add(struct guest *g, int count)
{
    guest_launch(g, g->queue, g->add, count);
}

/* One blocking read; says how many `add` have run. */
static inline int guest_read(struct guest *g)
{
    int items[GUEST_ITEMS];
    CL(clEnqueueReadBuffer(g->queue, g->buffer, CL_TRUE, 0, sizeof items, items, 0, NULL, NULL));
    for (int i = 1; i < GUEST_ITEMS; i++)
        if (items[i] != items[0])
            return -1;
    return items[0];
}

static inline void guest_close(struct guest *g)
{
    CL(clReleaseMemObject(g->buffer));
    CL(clReleaseKernel(g->add));
    CL(clReleaseKernel(g->spin));
    CL(clReleaseProgram(g->program));
    CL(clReleaseCommandQueue(g->queue));
    CL(clReleaseContext(g->context));
}

/* The whole of an ordinary program: count launches and one read. */
static inline void guest_work(int count)
{
    struct guest g;
    guest_open(&g);
    guest_add(&g, count);
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
}

/* How a child ended, without its process id. */
static inline void guest_wait(pid_t pid, const char *who)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        printf("%s died by signal %d\n", who, WTERMSIG(status));
    else
        printf("%s ended with %d\n", who, WEXITSTATUS(status));
    fflush(stdout);
}

#endif
