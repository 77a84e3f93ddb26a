/* queries.c - prints every answer by which a program could see that it is measured.
 *
 * Run with and without the agent, its output must be identical. It asks only
 * at points where the answer without us is certain: before anything was
 * enqueued, while work waits for a user event, and after it has settled (the
 * runtime gives its own references back a moment after clFinish).
 */
#include <pthread.h>
#include <unistd.h>

#include "../../../programs/quiet.h"
#include "cl_test.h"

static pthread_t main_thread;
static _Atomic int settled_callbacks;

/* A runtime's thread lets go of a finished event a moment after the wait for it ends. */
static void settle(void)
{
    quiet_wait();
}

static void show_queue(const char *when, cl_command_queue queue)
{
    cl_command_queue_properties bits = 0xdead;
    cl_queue_properties array[16];
    cl_uint count = 0;
    size_t size = 77;
    cl_int status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof bits, &bits, &size);
    printf("%s: properties %d %llx size %zu", when, status, (unsigned long long)bits, size);
    status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, 1, &bits, NULL);
    printf(", too small %d", status);
    status = clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL);
    printf(", references %d %u\n", status, count);
    size = 77;
    status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof array, array, &size);
    printf("    array %d size %zu:", status, size);
    for (size_t i = 0; status == CL_SUCCESS && i < size / sizeof *array; i++)
        printf(" %llx", (unsigned long long)array[i]);
    printf(", too small %d",
           clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 1, array, NULL));
    printf(", unknown question %d\n", clGetCommandQueueInfo(queue, 0x7777, 8, &bits, NULL));
}

static void show_counts(const char *when, cl_context context, cl_mem mem, cl_program program,
                        cl_kernel kernel, cl_event event)
{
    cl_uint counts[5] = {0};
    CHECK(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, 4, &counts[0], NULL));
    CHECK(clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, 4, &counts[1], NULL));
    CHECK(clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, 4, &counts[2], NULL));
    CHECK(clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, 4, &counts[3], NULL));
    if (event)
        CHECK(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, 4, &counts[4], NULL));
    printf("%s: context %u mem %u program %u kernel %u event %u\n", when, counts[0], counts[1],
           counts[2], counts[3], counts[4]);
}

/* Answers of a profiled queue are times, so only whether there are any is shown. */
static void show_profiling(const char *when, cl_event event)
{
    static const cl_profiling_info infos[] = {
        CL_PROFILING_COMMAND_QUEUED,
        CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START,
        CL_PROFILING_COMMAND_END,
        CL_PROFILING_COMMAND_COMPLETE,
    };
    cl_ulong value;
    size_t size;
    printf("%s: profiling", when);
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        value = 0x5555;
        size = 77;
        const cl_int status =
            clGetEventProfilingInfo(event, infos[i], sizeof value, &value, &size);
        printf(" %d/%s/%zu", status, value == 0x5555 ? "untouched" : "time", size);
    }
    printf(", too small %d", clGetEventProfilingInfo(event, infos[0], 1, &value, NULL));
    printf(", no value %d", clGetEventProfilingInfo(event, infos[0], 0, NULL, NULL));
    printf(", unknown question %d\n",
           clGetEventProfilingInfo(event, 0x7777, sizeof value, &value, NULL));
}

static void CL_CALLBACK context_died(cl_context context, void *data)
{
    (void)context;
    printf("context %s died, %s\n", (const char *)data,
           pthread_equal(pthread_self(), main_thread) ? "here" : "elsewhere");
}

static void CL_CALLBACK mem_died(cl_mem mem, void *data)
{
    (void)mem;
    printf("memory object %s died, %s\n", (const char *)data,
           pthread_equal(pthread_self(), main_thread) ? "here" : "elsewhere");
}

static void CL_CALLBACK event_done(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
    settled_callbacks++;
}

struct world {
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem;
};

static struct world make_world(cl_device_id device, const char *name)
{
    cl_int status;
    struct world w = {.device = device};
    w.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    printf("watch context %d\n",
           clSetContextDestructorCallback(w.context, context_died, (void *)(uintptr_t)name));
    w.program =
        program_of(w.context, device, "kernel void one(global int *a) { a[get_global_id(0)]++; }");
    w.kernel = clCreateKernel(w.program, "one", &status);
    CHECK(status);
    w.mem = clCreateBuffer(w.context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    CHECK(status);
    CHECK(clSetMemObjectDestructorCallback(w.mem, mem_died, "registered first"));
    CHECK(clSetMemObjectDestructorCallback(w.mem, mem_died, "registered second"));
    CHECK(clSetKernelArg(w.kernel, 0, sizeof w.mem, &w.mem));
    return w;
}

static void run(struct world *w, cl_command_queue queue)
{
    const size_t global = 64;
    char host[256] = {0};
    cl_int status;
    cl_event kernel, read;
    cl_event user = clCreateUserEvent(w->context, &status);
    CHECK(status);
    show_counts("nothing enqueued", w->context, w->mem, w->program, w->kernel, user);
    show_profiling("user event", user);
    CHECK(clEnqueueNDRangeKernel(queue, w->kernel, 1, NULL, &global, NULL, 1, &user, &kernel));
    CHECK(clEnqueueNDRangeKernel(queue, w->kernel, 1, NULL, &global, NULL, 1, &user, NULL));
    CHECK(clEnqueueReadBuffer(queue, w->mem, CL_FALSE, 0, sizeof host, host, 1, &user, &read));
    CHECK(clSetEventCallback(read, CL_COMPLETE, event_done, NULL));
    CHECK(clFlush(queue));
    show_profiling("waiting", kernel);
    show_queue("waiting", queue);
    show_counts("waiting", w->context, w->mem, w->program, w->kernel, kernel);
    CHECK(clSetUserEventStatus(user, CL_COMPLETE));
    CHECK(clFinish(queue));
    settle();
    show_counts("finished", w->context, w->mem, w->program, w->kernel, kernel);
    show_queue("finished", queue);
    show_profiling("finished", kernel);
    printf("callbacks %d\n", settled_callbacks);
    CHECK(clReleaseEvent(user));
    CHECK(clReleaseEvent(kernel));
    CHECK(clReleaseEvent(read));
    settle();
    show_counts("events released", w->context, w->mem, w->program, w->kernel, NULL);
    show_queue("events released", queue);
}

static void release_world(struct world *w)
{
    printf("release\n");
    CHECK(clReleaseMemObject(w->mem));
    CHECK(clReleaseKernel(w->kernel));
    CHECK(clReleaseProgram(w->program));
    CHECK(clReleaseContext(w->context));
    printf("released\n");
}

static void with_properties(cl_device_id device, const char *name,
                            const cl_queue_properties *properties)
{
    cl_int status = 12345;
    printf("---- %s\n", name);
    struct world w = make_world(device, name);
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(w.context, device, properties, &status);
    printf("queue %s %d\n", queue ? "made" : "not made", status);
    if (queue) {
        show_queue("made", queue);
        run(&w, queue);
        CHECK(clReleaseCommandQueue(queue));
    }
    release_world(&w);
}

static void plain(cl_device_id device, cl_command_queue_properties properties)
{
    cl_int status;
    printf("---- clCreateCommandQueue %llx\n", (unsigned long long)properties);
    struct world w = make_world(device, "plain");
    cl_command_queue queue = clCreateCommandQueue(w.context, device, properties, &status);
    printf("queue %s %d\n", queue ? "made" : "not made", status);
    if (queue) {
        show_queue("made", queue);
        run(&w, queue);
        CHECK(clReleaseCommandQueue(queue));
    }
    release_world(&w);
}

/* The event goes last: with it the queue and the context. */
static void event_last(cl_device_id device)
{
    cl_int status;
    cl_event event;
    const size_t global = 1;
    printf("---- event last\n");
    struct world w = make_world(device, "event last");
    cl_command_queue queue = clCreateCommandQueue(w.context, device, 0, &status);
    CHECK(status);
    CHECK(clEnqueueNDRangeKernel(queue, w.kernel, 1, NULL, &global, NULL, 0, NULL, &event));
    CHECK(clFinish(queue));
    settle();
    CHECK(clReleaseCommandQueue(queue));
    release_world(&w);
    printf("release the event\n");
    CHECK(clReleaseEvent(event));
    printf("released the event\n");
}

/* Nobody waits: what is over must not be seen to live on in us. */
static void never_waited(cl_device_id device)
{
    cl_int status;
    const size_t global = 1;
    printf("---- never waited\n");
    struct world w = make_world(device, "never waited");
    cl_command_queue queue = clCreateCommandQueue(w.context, device, 0, &status);
    CHECK(status);
    for (int i = 0; i < 10; i++)
        CHECK(clEnqueueNDRangeKernel(queue, w.kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    CHECK(clFlush(queue));
    settle();
    settle();
    show_queue("over", queue);
    show_counts("over", w.context, w.mem, w.program, w.kernel, NULL);
    CHECK(clEnqueueNDRangeKernel(queue, w.kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    CHECK(clFlush(queue));
    settle();
    CHECK(clReleaseCommandQueue(queue));
    release_world(&w);
}

/* The same where only the releases of queue and context could tell. */
static void only_a_queue(cl_device_id device)
{
    cl_int status;
    printf("---- only a queue\n");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    CHECK(clSetContextDestructorCallback(context, context_died, (void *)(uintptr_t)"only a queue"));
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
    CHECK(clFlush(queue));
    settle();
    CHECK(clReleaseCommandQueue(queue));
    printf("release\n");
    CHECK(clReleaseContext(context));
    printf("released\n");
}

static void errors(cl_device_id device)
{
    cl_int status;
    cl_ulong value;
    printf("---- errors\n");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    CHECK(status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    CHECK(status);
    printf("no queue: finish %d, info %d, marker %d, read %d\n", clFinish(NULL),
           clGetCommandQueueInfo(NULL, CL_QUEUE_PROPERTIES, 8, &value, NULL),
           clEnqueueMarkerWithWaitList(NULL, 0, NULL, NULL),
           clEnqueueReadBuffer(NULL, NULL, CL_TRUE, 0, 1, &value, 0, NULL, NULL));
    printf("no event: %d %d %d, wait %d\n", clReleaseEvent(NULL),
           clGetEventInfo(NULL, CL_EVENT_REFERENCE_COUNT, 4, &value, NULL),
           clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, 8, &value, NULL),
           clWaitForEvents(0, NULL));
    printf("no marker without an event: %d\n", clEnqueueMarker(queue, NULL));
    status = 12345;
    cl_command_queue bad = clCreateCommandQueue(NULL, device, 0, &status);
    printf("no context: %s %d\n", bad ? "made" : "not made", status);
    bad = clCreateCommandQueue(context, device, 1 << 20, &status);
    printf("unknown property: %s %d\n", bad ? "made" : "not made", status);
    bad = clCreateCommandQueueWithProperties(context, device,
                                             (cl_queue_properties[]){0x7777, 1, 0}, &status);
    printf("unknown properties: %s %d\n", bad ? "made" : "not made", status);
    void *mapped = clEnqueueMapBuffer(queue, NULL, CL_TRUE, CL_MAP_READ, 0, 1, 0, NULL, NULL,
                                      &status);
    printf("map nothing: %s %d\n", mapped ? "mapped" : "not mapped", status);
    CHECK(clReleaseCommandQueue(queue));
    CHECK(clReleaseContext(context));
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device = first_device(&platform);
    main_thread = pthread_self();
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("layers %s\n", getenv("TEST_LAYERS") && getenv("OPENCL_LAYERS") &&
                                  strcmp(getenv("TEST_LAYERS"), getenv("OPENCL_LAYERS")) != 0
                              ? getenv("OPENCL_LAYERS")
                              : "as they were");
    plain(device, 0);
    plain(device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    plain(device, CL_QUEUE_PROFILING_ENABLE);
    with_properties(device, "no properties", NULL);
    with_properties(device, "empty properties", (cl_queue_properties[]){0});
    with_properties(device, "no bits", (cl_queue_properties[]){CL_QUEUE_PROPERTIES, 0, 0});
    with_properties(device, "out of order",
                    (cl_queue_properties[]){CL_QUEUE_PROPERTIES,
                                            CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0});
    with_properties(device, "profiled",
                    (cl_queue_properties[]){CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0});
    event_last(device);
    never_waited(device);
    only_a_queue(device);
    errors(device);
    return 0;
}
