/* events.c - user events, failed wait lists, events across queues, out-of-order queues.
 *
 * case: user-event user => kernel=8 read=1
 * case: failed-wait-list negative => kernel=8
 * case: failed-wait-list-values negative => kernel=8; record=--values
 * case: failed-wait-lists-values failing => kernel=400; record=--values
 * case: across-queues-values across => kernel=40 read=1; record=--values
 * case: queues-released-values released => kernel=500; record=--values
 * case: released-with-user-event-values released-user => kernel=20; record=--values
 * case: across-queues across => kernel=40 read=1
 * case: out-of-order ooo => kernel=100 marker=1 barrier=10 read=1
 * case: out-of-order-unwaited ooo-free => kernel=100 read=1
 * case: out-of-order-values ooo => kernel=100 marker=1 barrier=10 read=1; record=--values
 * case: out-of-order-unwaited-values ooo-free => kernel=100 read=1; record=--values=all
 * case: failed-wait-list-out-of-order-values ooo-negative => kernel=8; record=--values
 * case: kept kept => kernel=2000 read=1
 * case: queues-released released => kernel=500
 * case: released-with-user-event released-user => kernel=20
 * case: old-forms old => kernel=10 marker=2 barrier=2 read=1
 */
#include "guest.h"
#include "quiet.h"

static struct guest g;

static cl_event launch_after(cl_command_queue queue, cl_uint count, const cl_event *list)
{
    cl_event event;
    size_t items = GUEST_ITEMS;
    CL(clEnqueueNDRangeKernel(queue, g.add, 1, NULL, &items, &items, count, count ? list : NULL, &event));
    return event;
}

static void show(cl_event event)
{
    cl_int state = 99;
    cl_ulong end = 0;
    CL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    cl_int profiling = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    printf("state %d profiling %d\n", state, profiling);
}

/* All eight launches hang on one user event. */
static void user(cl_int outcome)
{
    cl_event gate, events[8];
    CLP(gate = clCreateUserEvent(g.context, &status));
    for (int i = 0; i < 8; i++)
        events[i] = launch_after(g.queue, 1, &gate);
    CL(clFlush(g.queue));
    quiet_wait();
    if (outcome >= 0)
        show(events[0]);
    CL(clSetUserEventStatus(gate, outcome));
    printf("wait gave %d\n", clWaitForEvents(8, events));
    for (int i = 0; i < 8; i++) {
        show(events[i]);
        CL(clReleaseEvent(events[i]));
    }
    CL(clReleaseEvent(gate));
}

static void across(void)
{
    cl_command_queue queues[4];
    cl_event last = NULL;
    for (int i = 0; i < 4; i++)
        CLP(queues[i] = clCreateCommandQueue(g.context, g.device, 0, &status));
    for (int i = 0; i < 40; i++) {
        cl_event event = launch_after(queues[i % 4], last ? 1 : 0, &last);
        CL(clFlush(queues[i % 4]));
        if (last)
            CL(clReleaseEvent(last));
        last = event;
    }
    CL(clWaitForEvents(1, &last));
    show(last);
    CL(clReleaseEvent(last));
    for (int i = 0; i < 4; i++)
        CL(clReleaseCommandQueue(queues[i]));
}

/* For launches that nothing orders. */
static void add_atomically(void)
{
    const char *source = "kernel void add(global int *a) { atomic_inc(&a[get_global_id(0)]); }\n";
    cl_program program;
    CLP(program = clCreateProgramWithSource(g.context, 1, &source, NULL, &status));
    CL(clBuildProgram(program, 1, &g.device, "", NULL, NULL));
    CL(clReleaseKernel(g.add));
    CLP(g.add = clCreateKernel(program, "add", &status));
    CL(clReleaseProgram(program));
    CL(clSetKernelArg(g.add, 0, sizeof g.buffer, &g.buffer));
}

static void out_of_order(int ordered)
{
    cl_event events[10], marker;
    if (!ordered)
        add_atomically();
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 10; k++)
            events[k] = launch_after(g.queue, k > 0 && ordered ? 1 : 0, &events[k > 0 ? k - 1 : 0]);
        if (ordered)
            CL(clEnqueueBarrierWithWaitList(g.queue, 0, NULL, NULL));
        else
            CL(clWaitForEvents(10, events));
        for (int k = 0; k < 10; k++)
            CL(clReleaseEvent(events[k]));
    }
    if (!ordered)
        return;
    CL(clEnqueueMarkerWithWaitList(g.queue, 0, NULL, &marker));
    CL(clWaitForEvents(1, &marker));
    CL(clReleaseEvent(marker));
}

static void kept(void)
{
    static cl_event events[2000];
    for (int i = 0; i < 2000; i++)
        events[i] = launch_after(g.queue, 0, NULL);
    CL(clFinish(g.queue));
    show(events[0]);
    show(events[1999]);
    for (int i = 0; i < 2000; i++)
        CL(clReleaseEvent(events[i]));
}

static void released(int with_user_event)
{
    cl_event gate = NULL;
    if (with_user_event)
        CLP(gate = clCreateUserEvent(g.context, &status));
    for (int i = 0; i < 10; i++) {
        cl_command_queue queue;
        CLP(queue = clCreateCommandQueue(g.context, g.device, 0, &status));
        if (with_user_event)
            for (int k = 0; k < 2; k++)
                CL(clReleaseEvent(launch_after(queue, 1, &gate)));
        else
            guest_launch(&g, queue, g.spin, 50);
        CL(clFlush(queue));
        if (with_user_event && i == 9)
            CL(clSetUserEventStatus(gate, CL_COMPLETE));
        CL(clReleaseCommandQueue(queue));
    }
    if (gate)
        CL(clReleaseEvent(gate));
    guest_close(&g);
    printf("all released\n");
    quiet_wait();
}

static void old_forms(void)
{
    cl_event markers[2];
    guest_add(&g, 5);
    CL(clEnqueueMarker(g.queue, &markers[0]));
    CL(clEnqueueBarrier(g.queue));
    guest_add(&g, 5);
    CL(clEnqueueMarker(g.queue, &markers[1]));
    CL(clEnqueueBarrier(g.queue));
    CL(clFinish(g.queue));
    show(markers[0]);
    for (int i = 0; i < 2; i++)
        CL(clReleaseEvent(markers[i]));
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "user";
    guest_open_with(&g, strncmp(kind, "ooo", 3) == 0 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    if (strncmp(kind, "released", 8) == 0) {
        released(kind[8] != '\0');
        return 0;
    }
    if (strcmp(kind, "failing") == 0) {
        for (int i = 0; i < 50; i++) {
            CLP(g.queue = clCreateCommandQueue(g.context, g.device, 0, &status));
            user(-5);
        }
        return 0; /* as below */
    }
    if (strcmp(kind, "negative") == 0 || strcmp(kind, "ooo-negative") == 0) {
        user(-5);
        return 0; /* PoCL never finishes a queue whose wait list failed */
    }
    if (strcmp(kind, "user") == 0)
        user(CL_COMPLETE);
    if (strcmp(kind, "across") == 0)
        across();
    if (strncmp(kind, "ooo", 3) == 0)
        out_of_order(kind[3] == '\0');
    if (strcmp(kind, "kept") == 0)
        kept();
    if (strcmp(kind, "old") == 0)
        old_forms();
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
