/* callbacks.c - the program's own callbacks still run, once each, with the right status.
 *
 * case: complete complete => kernel=300 read=1
 * case: every-stage stages => kernel=50 read=1
 * case: on-finished-events finished => kernel=100 read=1
 * case: callback-enqueues enqueue => kernel=100 read=1
 * case: destructor destructor => kernel=10 read=1
 * case: after-main after-main => counted
 * case: native native => native=5
 */
#include "guest.h"

#include <pthread.h>
#include <stdatomic.h>

static struct guest g;
static _Atomic int  calls, wrong, destroyed;

static void CL_CALLBACK done(cl_event event, cl_int status, void *data)
{
    cl_int now = 99;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof now, &now, NULL);
    if (status != CL_COMPLETE || data != &g)
        wrong++;
    calls++;
}

static void CL_CALLBACK stage(cl_event event, cl_int status, void *data)
{
    (void)event;
    if (status > *(cl_int *)data)
        wrong++;
    calls++;
}

static void CL_CALLBACK more(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
    guest_add(&g, 1);
    CL(clFlush(g.queue));
    calls++;
}

static void CL_CALLBACK freed(cl_mem mem, void *data)
{
    (void)mem;
    destroyed = destroyed * 10 + *(int *)data;
}

static void CL_CALLBACK native(void *data)
{
    (*(_Atomic int **)data)[0]++;
}

static cl_event launch(void)
{
    cl_event event;
    size_t   items = GUEST_ITEMS;
    CL(clEnqueueNDRangeKernel(g.queue, g.add, 1, NULL, &items, &items, 0, NULL, &event));
    return event;
}

static void wait_for(int count)
{
    for (int i = 0; i < 300000 && calls < count; i++)
        usleep(1000);
}

static void complete(int count, int finish_first)
{
    for (int i = 0; i < count; i++) {
        cl_event event = launch();
        if (finish_first)
            CL(clFinish(g.queue));
        CL(clSetEventCallback(event, CL_COMPLETE, done, &g));
        if (i % 3 == 0)
            CL(clSetEventCallback(event, CL_COMPLETE, done, &g));
        CL(clReleaseEvent(event));
    }
    CL(clFinish(g.queue));
    wait_for(count + (count + 2) / 3);
}

static void stages(void)
{
    static cl_int kinds[] = {CL_SUBMITTED, CL_RUNNING, CL_COMPLETE};
    for (int i = 0; i < 50; i++) {
        cl_event event = launch();
        for (int k = 0; k < 3; k++)
            CL(clSetEventCallback(event, kinds[k], stage, &kinds[k]));
        CL(clReleaseEvent(event));
    }
    CL(clFinish(g.queue));
    wait_for(150);
}

static void enqueue_from_callback(void)
{
    for (int i = 0; i < 50; i++) {
        cl_event event = launch();
        CL(clSetEventCallback(event, CL_COMPLETE, more, NULL));
        CL(clReleaseEvent(event));
        CL(clFinish(g.queue));
    }
    wait_for(50);
    CL(clFinish(g.queue));
}

static void destructor(void)
{
    static int one = 1, two = 2;
    cl_mem     mem;
    CLP(mem = clCreateBuffer(g.context, CL_MEM_READ_WRITE, 4096, NULL, &status));
    CL(clSetMemObjectDestructorCallback(mem, freed, &one));
    CL(clSetMemObjectDestructorCallback(mem, freed, &two));
    for (int i = 0; i < 10; i++)
        CL(clReleaseEvent(launch()));
    CL(clFinish(g.queue));
    CL(clReleaseMemObject(mem));
    printf("destroyed in order %d\n", destroyed);
}

static void CL_CALLBACK late(cl_event event, cl_int status, void *data)
{
    (void)event, (void)data;
    if (status == CL_COMPLETE && write(1, "late\n", 5) == 5)
        calls++;
}

/* The user event is set in the exit handler, so the callbacks come after main. */
static cl_event user;
static void at_exit_handler(void)
{
    CL(clSetUserEventStatus(user, CL_COMPLETE));
    CL(clFinish(g.queue));
    wait_for(1);
}

static void after_main(void)
{
    cl_event event;
    size_t   items = GUEST_ITEMS;
    CLP(user = clCreateUserEvent(g.context, &status));
    CL(clEnqueueNDRangeKernel(g.queue, g.add, 1, NULL, &items, &items, 1, &user, &event));
    CL(clSetEventCallback(event, CL_COMPLETE, late, NULL));
    atexit(at_exit_handler);
    printf("main returns\n");
    fflush(stdout);
}

static void natives(void)
{
    _Atomic int *counter = &calls;
    cl_device_exec_capabilities can;
    CL(clGetDeviceInfo(g.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL));
    if (!(can & CL_EXEC_NATIVE_KERNEL))
        printf("no native kernels\n");
    for (int i = 0; i < 5; i++)
        CL(clEnqueueNativeKernel(g.queue, native, &counter, sizeof counter, 0, NULL, NULL, 0, NULL, NULL));
    CL(clFinish(g.queue));
    printf("calls %d\n", calls);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "complete";
    guest_open(&g);
    if (strcmp(kind, "after-main") == 0) {
        after_main();
        return 0;
    }
    if (strcmp(kind, "native") == 0) {
        natives();
        return 0;
    }
    if (strcmp(kind, "complete") == 0)
        complete(300, 0);
    if (strcmp(kind, "finished") == 0)
        complete(100, 1);
    if (strcmp(kind, "stages") == 0)
        stages();
    if (strcmp(kind, "enqueue") == 0)
        enqueue_from_callback();
    if (strcmp(kind, "destructor") == 0)
        destructor();
    printf("calls %d, wrong %d, ran %d\n", calls, wrong, guest_read(&g));
    guest_close(&g);
    return 0;
}
