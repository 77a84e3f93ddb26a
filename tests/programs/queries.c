/* queries.c - what the runtime answers about queues, events, references and programs.
 *
 * Sonde turns profiling on and keeps events; nothing here may show it.
 *
 * case: queue-properties properties => kernel=3 read=0
 * case: profiling-refused refused => counted
 * case: profiling-allowed allowed => counted
 * case: references references => counted
 * case: names names => kernel=2
 */
#include "guest.h"
#include "quiet.h"

static struct guest g;

static void show_queue(const char *what, cl_command_queue queue)
{
    cl_command_queue_properties properties = 0;
    cl_uint                     references = 0;
    cl_queue_properties         list[16] = {0};
    size_t                      size = 99;
    CL(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    CL(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL));
    cl_int gave = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size);
    printf("%s: properties %lx references %u array %d size %zu:", what, (unsigned long)properties, references, gave,
           size);
    for (size_t i = 0; gave == 0 && i < size / sizeof *list; i++)
        printf(" %lx", (unsigned long)list[i]);
    cl_int short_gave = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, 1, &properties, NULL);
    printf("; too small a buffer %d\n", short_gave);
}

static cl_command_queue with(const cl_queue_properties *list)
{
    cl_command_queue queue;
    CLP(queue = clCreateCommandQueueWithProperties(g.context, g.device, list, &status));
    return queue;
}

static void properties(void)
{
    const cl_queue_properties lists[][5] = {
        {0},
        {CL_QUEUE_PROPERTIES, 0, 0},
        {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0},
        {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0},
        {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0}};
    const cl_queue_properties wrong[] = {CL_QUEUE_PROPERTIES, 1 << 20, 0};
    cl_int                    gave = 0;
    show_queue("the old form", g.queue);
    show_queue("no list", with(NULL));
    for (int i = 0; i < 5; i++)
        show_queue("a list", with(lists[i]));
    clCreateCommandQueueWithProperties(g.context, g.device, wrong, &gave);
    printf("wrong properties gave %d\n", gave);
    clCreateCommandQueue(g.context, NULL, 0, &gave);
    printf("no device gave %d\n", gave);
    printf("no status wanted: %s\n", clCreateCommandQueue(g.context, g.device, 0, NULL) ? "queue" : "none");
    guest_add(&g, 3);
    CL(clFinish(g.queue));
}

static void profiling(cl_command_queue_properties asked)
{
    cl_event         events[3];
    cl_ulong         times[4] = {0};
    size_t           items = GUEST_ITEMS, size = 99;
    cl_command_queue queue;
    CLP(queue = clCreateCommandQueue(g.context, g.device, asked, &status));
    CL(clEnqueueNDRangeKernel(queue, g.add, 1, NULL, &items, &items, 0, NULL, &events[0]));
    CL(clEnqueueMarkerWithWaitList(queue, 0, NULL, &events[1]));
    CLP(events[2] = clCreateUserEvent(g.context, &status));
    CL(clFinish(queue));
    for (int i = 0; i < 3; i++) {
        int known = 0;
        for (int k = 0; k < 4; k++) {
            cl_int gave = clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_QUEUED + (cl_uint)k, sizeof *times,
                                                  &times[k], &size);
            printf("%d ", gave);
            known += gave == 0 && times[k] != 0;
        }
        printf("event %d: %d times, in order %d, too small a buffer %d, wrong name %d\n", i, known,
               times[0] <= times[1] && times[1] <= times[2] && times[2] <= times[3],
               clGetEventProfilingInfo(events[i], CL_PROFILING_COMMAND_END, 1, times, NULL),
               clGetEventProfilingInfo(events[i], 0x9999, sizeof *times, times, NULL));
    }
    CL(clSetUserEventStatus(events[2], CL_COMPLETE));
}

static cl_uint event_references(cl_event event)
{
    cl_uint count = 0;
    CL(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}

static void references(void)
{
    cl_uint  count = 0;
    cl_event event;
    size_t   items = GUEST_ITEMS;
    cl_int   gave = 0;
    CL(clEnqueueNDRangeKernel(g.queue, g.add, 1, NULL, &items, &items, 0, NULL, &event));
    CL(clFinish(g.queue));
    quiet_wait(); /* PoCL drops its own references a moment later */
    printf("event finished: %u\n", event_references(event));
    CL(clRetainEvent(event));
    printf("event retained: %u\n", event_references(event));
    CL(clReleaseEvent(event));
    cl_command_queue of_event = NULL;
    cl_command_type  type = 0;
    CL(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof of_event, &of_event, NULL));
    CL(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    printf("event's queue is ours %d, type %x\n", of_event == g.queue, type);
    guest_add(&g, 100);
    CL(clFinish(g.queue));
    quiet_wait();
    CL(clGetCommandQueueInfo(g.queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL));
    printf("queue %u\n", count);
    CL(clGetKernelInfo(g.add, CL_KERNEL_REFERENCE_COUNT, sizeof count, &count, NULL));
    printf("kernel %u\n", count);
    CL(clGetMemObjectInfo(g.buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL));
    printf("buffer %u\n", count);
    CL(clGetProgramInfo(g.program, CL_PROGRAM_REFERENCE_COUNT, sizeof count, &count, NULL));
    printf("program %u\n", count);
    CL(clReleaseEvent(event));
    gave = clEnqueueNDRangeKernel(g.queue, g.add, 9, NULL, &items, &items, 0, NULL, NULL);
    printf("nine dimensions gave %d\n", gave);
    gave = clEnqueueReadBuffer(g.queue, g.buffer, CL_TRUE, 0, 1 << 20, &items, 0, NULL, NULL);
    printf("reading too much gave %d\n", gave);
    gave = clEnqueueNDRangeKernel(NULL, g.add, 1, NULL, &items, &items, 0, NULL, NULL);
    printf("no queue gave %d\n", gave);
}

static void names(void)
{
    char   text[256] = "";
    size_t size = 0;
    CL(clGetKernelInfo(g.add, CL_KERNEL_FUNCTION_NAME, sizeof text, text, &size));
    printf("kernel %s, %zu\n", text, size);
    CL(clGetProgramInfo(g.program, CL_PROGRAM_KERNEL_NAMES, sizeof text, text, NULL));
    printf("names %s\n", text);
    guest_launch(&g, g.queue, g.add, 1);
    guest_launch(&g, g.queue, g.spin, 1);
    CL(clFinish(g.queue));
    CL(clGetPlatformInfo(g.platform, CL_PLATFORM_NAME, sizeof text, text, NULL));
    printf("platform %s\n", text);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "properties";
    guest_open(&g);
    if (strcmp(kind, "properties") == 0)
        properties();
    if (strcmp(kind, "refused") == 0)
        profiling(0);
    if (strcmp(kind, "allowed") == 0)
        profiling(CL_QUEUE_PROFILING_ENABLE);
    if (strcmp(kind, "references") == 0)
        references();
    if (strcmp(kind, "names") == 0)
        names();
    return 0;
}
