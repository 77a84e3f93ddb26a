/* paused.c - events across parts of the run that are not recorded; prints what waits must be known.
 *
 * An event that was made while nothing was recorded stands for no operation of the
 * measurement, not even where another's handle was used again for it. Operations
 * are numbered, and lines written, as in tests/unit/backends/opencl/waits.c.
 */
#include <sonde/sonde.h>

#include "../unit/backends/opencl/cl_test.h"

enum { PAUSES = 20 };
enum { EVENTS = 8 };

static cl_context context;
static cl_command_queue first, second;
static cl_kernel kernel;
static unsigned operations, used;

static unsigned launch(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event, bool recorded)
{
    const size_t global = 1;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, count, list, event));
    used += recorded;
    return recorded ? ++operations : 0;
}

static void pause_once(void)
{
    cl_event event[EVENTS], unseen[EVENTS];
    unsigned from[EVENTS];
    cl_uint references;
    for (int i = 0; i < EVENTS; i++)
        from[i] = launch(first, 0, NULL, &event[i], true);
    CHECK(clFinish(first));
    printf("wait 0 lane 1\n");
    const unsigned waiter = launch(second, EVENTS, event, NULL, true);
    for (int i = 0; i < EVENTS; i++)
        printf("wait %u op %u\n", waiter, from[i]);
    CHECK(clFinish(second));
    printf("wait 0 lane 2\n");
    for (int i = 0; i < EVENTS; i++)
        CHECK(clReleaseEvent(event[i]));
    /* Whoever keeps finished events lets go of them before it answers this. */
    CHECK(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references, NULL));
    sonde_stop();
    for (int i = 0; i < EVENTS; i++) /* where those were, perhaps */
        launch(first, 0, NULL, &unseen[i], false);
    CHECK(clFinish(first));
    sonde_start();
    launch(second, EVENTS, unseen, NULL, true);
    CHECK(clWaitForEvents(EVENTS, unseen));
    CHECK(clFinish(second));
    printf("wait 0 lane 2\n");
    for (int i = 0; i < EVENTS; i++)
        CHECK(clReleaseEvent(unseen[i]));
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device = first_device(&platform);
    cl_int status;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    first = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    second = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &status);
    CHECK(status);
    cl_program program = program_of(context, device, "kernel void one(global int *a) { a[0] = 1; }");
    kernel = clCreateKernel(program, "one", &status);
    CHECK(status);
    CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = 0; i < PAUSES; i++)
        pause_once();
    printf("used 1 %u\n", used);
    return 0;
}
