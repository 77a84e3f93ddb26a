/* waits.c - what waits for what, and which objects operations use, told by the program itself.
 *
 * It numbers its operations from 1 in the order of the calls, queues by their first
 * operation, objects by their creation, and prints what a measurement must say, in
 * the words of the counting agent: `wait WAITER op OPERATION`, `wait WAITER lane
 * LANE` (WAITER 0 is the call), `used OBJECT COUNT`. Shares no code with the backend.
 */
#include "cl_test.h"

enum {
    ITEMS = 64,
    BYTES = ITEMS * 4,
    HANDLES = 64,
    OBJECTS = 16,
};

static struct world {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue first, second, loose, idle; /* in order but for the third; nothing comes to the last */
    cl_program program;
    cl_kernel one, two;
    cl_mem a, b;
    int host[ITEMS];
} w;

static unsigned operations, uses[OBJECTS];

static unsigned operation(cl_int status)
{
    CHECK(status);
    return ++operations;
}

static void waits_for(unsigned waiter, unsigned op)
{
    printf("wait %u op %u\n", waiter, op);
}

static void waits_for_lane(unsigned waiter, unsigned lane)
{
    printf("wait %u lane %u\n", waiter, lane);
}

/* Numbers of user events count from 2^62. */
static void waits_for_user(unsigned waiter, unsigned user)
{
    printf("wait %u op %llu\n", waiter, (1ull << 62) + user);
}

static void completes_user(unsigned user)
{
    printf("wait %llu device 0\n", (1ull << 62) + user);
}

static const size_t global = ITEMS;

static unsigned launch(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
    uses[1]++; /* `a`, its only argument */
    return operation(clEnqueueNDRangeKernel(queue, w.one, 1, NULL, &global, NULL, count, list, event));
}

/* ---- lists of events ------------------------------------------------------------ */

/* Two queues, and a diamond: one, then two beside each other, then one that waits for both. */
static void diamond(void)
{
    cl_event top, left, right, bottom;
    const unsigned t = launch(w.first, 0, NULL, &top);
    const unsigned l = launch(w.first, 1, &top, &left);
    const unsigned r = launch(w.second, 1, &top, &right);
    waits_for(l, t);
    waits_for(r, t);
    const cl_event both[2] = {left, right};
    const unsigned b = launch(w.second, 2, both, &bottom);
    waits_for(b, l);
    waits_for(b, r);
    const cl_event ends[2] = {bottom, top};
    CHECK(clWaitForEvents(2, ends));
    waits_for(0, b);
    waits_for(0, t);
    for (int i = 0; i < 4; i++)
        CHECK(clReleaseEvent((cl_event[]){top, left, right, bottom}[i]));
}

/* User events have numbers of their own; also where an operation's event was before. What completes one says so. */
static void user_events(void)
{
    cl_event event, user[HANDLES];
    cl_int status;
    launch(w.first, 0, NULL, &event);
    CHECK(clFinish(w.first));
    waits_for_lane(0, 1);
    CHECK(clReleaseEvent(event));
    for (int i = 0; i < HANDLES; i++) {
        user[i] = clCreateUserEvent(w.context, &status);
        CHECK(status);
    }
    const unsigned held = launch(w.first, HANDLES, user, NULL);
    for (unsigned i = 0; i < HANDLES; i++)
        waits_for_user(held, i + 1);
    for (unsigned i = 0; i < HANDLES; i++) {
        CHECK(clSetUserEventStatus(user[i], CL_COMPLETE));
        completes_user(i + 1);
    }
    CHECK(clWaitForEvents(HANDLES, user));
    for (unsigned i = 0; i < HANDLES; i++)
        waits_for_user(0, i + 1);
    CHECK(clFinish(w.first));
    waits_for_lane(0, 1);
    for (int i = 0; i < HANDLES; i++)
        CHECK(clReleaseEvent(user[i]));
}

/* A handle stands for what it was made for last. */
static void handles_used_again(void)
{
    for (int i = 0; i < 50; i++) {
        cl_event event;
        const unsigned from = launch(w.first, 0, NULL, &event);
        waits_for(launch(w.second, 1, &event, NULL), from);
        CHECK(clWaitForEvents(1, &event));
        waits_for(0, from);
        CHECK(clReleaseEvent(event));
    }
}

/* What fails waits for nothing, and a queue without work has nothing to wait for. */
static void nothing(void)
{
    cl_event event;
    launch(w.first, 0, NULL, &event);
    if (clEnqueueReadBuffer(w.first, w.a, CL_TRUE, BYTES, 64, w.host, 1, &event, NULL) == CL_SUCCESS ||
        clWaitForEvents(0, NULL) == CL_SUCCESS || clFinish(NULL) == CL_SUCCESS)
        exit(1);
    CHECK(clFinish(w.idle));
    CHECK(clFlush(w.first));
    CHECK(clReleaseEvent(event));
}

/* ---- every call that takes a list --------------------------------------------------- */

static cl_event event;
static unsigned from; /* of `event` */
#define LIST 1, &event, NULL

static void listed(cl_int status)
{
    waits_for(operation(status), from);
}

/* And one that blocks: it tells of itself first. */
static void blocked(cl_int status)
{
    const unsigned own = operation(status);
    waits_for(0, own);
    waits_for(own, from);
}

static void buffers(void)
{
    const size_t origin[3] = {0}, region[3] = {16, 2, 1};
    const int pattern = 7;
    cl_int status;
    listed(clEnqueueReadBuffer(w.second, w.a, CL_FALSE, 0, 64, w.host, LIST));
    blocked(clEnqueueReadBuffer(w.second, w.a, CL_TRUE, 0, 64, w.host, LIST));
    listed(clEnqueueWriteBuffer(w.second, w.a, CL_FALSE, 0, 64, w.host, LIST));
    blocked(clEnqueueWriteBuffer(w.second, w.a, CL_TRUE, 0, 64, w.host, LIST));
    blocked(clEnqueueReadBufferRect(w.second, w.a, CL_TRUE, origin, origin, region, 16, 0, 16, 0, w.host, LIST));
    listed(clEnqueueWriteBufferRect(w.second, w.a, CL_FALSE, origin, origin, region, 16, 0, 16, 0, w.host, LIST));
    uses[1] += 6;
    listed(clEnqueueCopyBuffer(w.second, w.a, w.b, 0, 0, 64, LIST));
    listed(clEnqueueCopyBufferRect(w.second, w.a, w.b, origin, origin, region, 16, 0, 16, 0, LIST));
    listed(clEnqueueMigrateMemObjects(w.second, 2, (cl_mem[]){w.a, w.b}, 0, LIST));
    listed(clEnqueueCopyBuffer(w.second, w.b, w.b, 0, 64, 64, LIST)); /* one object, once */
    listed(clEnqueueFillBuffer(w.second, w.b, &pattern, sizeof pattern, 0, 64, LIST));
    uses[1] += 3;
    uses[2] += 5;
    void *mapped = clEnqueueMapBuffer(w.second, w.b, CL_TRUE, CL_MAP_READ, 0, 64, LIST, &status);
    blocked(status);
    listed(clEnqueueUnmapMemObject(w.second, w.b, mapped, LIST));
    mapped = clEnqueueMapBuffer(w.second, w.b, CL_FALSE, CL_MAP_READ, 0, 64, LIST, &status);
    listed(status);
    CHECK(clFinish(w.second));
    waits_for_lane(0, 2);
    operation(clEnqueueUnmapMemObject(w.second, w.b, mapped, 0, NULL, NULL));
    uses[2] += 4;
}

static cl_mem image;

static void images(void)
{
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    const size_t origin[3] = {0}, region[3] = {4, 2, 1};
    const float colour[4] = {0};
    size_t pitch;
    cl_int status;
    image = clCreateImage(w.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &status);
    CHECK(status);
    blocked(clEnqueueWriteImage(w.second, image, CL_TRUE, origin, region, 0, 0, w.host, LIST));
    listed(clEnqueueReadImage(w.second, image, CL_FALSE, origin, region, 0, 0, w.host, LIST));
    listed(clEnqueueFillImage(w.second, image, colour, origin, region, LIST));
    listed(clEnqueueCopyImageToBuffer(w.second, image, w.a, origin, region, 0, LIST));
    listed(clEnqueueCopyBufferToImage(w.second, w.a, image, 0, origin, region, LIST));
    void *mapped = clEnqueueMapImage(w.second, image, CL_TRUE, CL_MAP_READ, origin, region, &pitch, NULL, LIST, &status);
    blocked(status);
    listed(clEnqueueUnmapMemObject(w.second, image, mapped, LIST));
    uses[1] += 2;
    uses[3] += 7;
}

static void shared_memory(void)
{
    const int pattern = 3;
    cl_int status;
    char *p = clSVMAlloc(w.context, CL_MEM_READ_WRITE, 1024, 0);
    void *q = clSVMAlloc(w.context, CL_MEM_READ_WRITE, 512, 0);
    const void *both[2] = {p, q};
    if (!p || !q)
        exit(1);
    blocked(clEnqueueSVMMap(w.second, CL_TRUE, CL_MAP_WRITE, p, 1024, LIST));
    listed(clEnqueueSVMUnmap(w.second, p, LIST));
    listed(clEnqueueSVMMemFill(w.second, p + 256, &pattern, sizeof pattern, 256, LIST));
    blocked(clEnqueueSVMMemcpy(w.second, CL_TRUE, q, p, 128, LIST));
    listed(clEnqueueSVMMemcpy(w.second, CL_FALSE, p + 512, w.host, 128, LIST)); /* from the program's own memory */
    listed(clEnqueueSVMMigrateMem(w.second, 2, both, NULL, 0, LIST));
    uses[4] += 6;
    uses[5] += 2;
    CHECK(clSetKernelArgSVMPointer(w.one, 0, p + 128)); /* somewhere within it */
    operation(clEnqueueNDRangeKernel(w.second, w.one, 1, NULL, &global, NULL, 0, NULL, NULL));
    uses[4]++;
    CHECK(clSetKernelExecInfo(w.one, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof both, both));
    operation(clEnqueueNDRangeKernel(w.second, w.one, 1, NULL, &global, NULL, 0, NULL, NULL));
    uses[4]++; /* both argument and in the list */
    uses[5]++;
    CHECK(clSetKernelArg(w.one, 0, sizeof w.a, &w.a));
    cl_kernel again = clCreateKernel(w.program, "one", &status);
    CHECK(status);
    CHECK(clFinish(w.second));
    waits_for_lane(0, 2);
    CHECK(clReleaseKernel(w.one));
    w.one = again;
    CHECK(clSetKernelArg(w.one, 0, sizeof w.a, &w.a));
    listed(clEnqueueSVMFree(w.second, 2, (void *[]){p, q}, NULL, NULL, LIST));
    uses[4]++;
    uses[5]++;
}

static void CL_CALLBACK native(void *argument)
{
    (void)argument;
}

static void natives(void)
{
    cl_device_exec_capabilities can = 0;
    struct { void *first, *second; } arguments = {0};
    const void *locations[2] = {&arguments.first, &arguments.second};
    CHECK(clGetDeviceInfo(w.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL));
    if (!(can & CL_EXEC_NATIVE_KERNEL))
        return;
    listed(clEnqueueNativeKernel(w.second, native, &arguments, sizeof arguments, 2, (cl_mem[]){w.a, w.b}, locations, LIST));
    uses[1]++;
    uses[2]++;
}

static void command_buffer(void)
{
    cl_int status = CL_SUCCESS;
    const clCreateCommandBufferKHR_fn create =
        (clCreateCommandBufferKHR_fn)(uintptr_t)clGetExtensionFunctionAddressForPlatform(w.platform, "clCreateCommandBufferKHR");
    const clFinalizeCommandBufferKHR_fn finalize =
        (clFinalizeCommandBufferKHR_fn)(uintptr_t)clGetExtensionFunctionAddressForPlatform(w.platform, "clFinalizeCommandBufferKHR");
    const clEnqueueCommandBufferKHR_fn enqueue =
        (clEnqueueCommandBufferKHR_fn)(uintptr_t)clGetExtensionFunctionAddressForPlatform(w.platform, "clEnqueueCommandBufferKHR");
    const clReleaseCommandBufferKHR_fn let_go =
        (clReleaseCommandBufferKHR_fn)(uintptr_t)clGetExtensionFunctionAddressForPlatform(w.platform, "clReleaseCommandBufferKHR");
    const clCommandFillBufferKHR_fn fill =
        (clCommandFillBufferKHR_fn)(uintptr_t)clGetExtensionFunctionAddressForPlatform(w.platform, "clCommandFillBufferKHR");
    if (!create || !finalize || !enqueue || !let_go || !fill)
        return;
    cl_command_buffer_khr buffer = create(1, &w.second, NULL, &status);
    CHECK(status);
    puts("hidden_uses 1"); /* what is in it is not followed */
    CHECK(fill(buffer, NULL, w.b, &(int){1}, sizeof(int), 0, 64, 0, NULL, NULL, NULL));
    CHECK(finalize(buffer));
    listed(enqueue(0, NULL, buffer, LIST));
    CHECK(clFinish(w.second));
    waits_for_lane(0, 2);
    CHECK(let_go(buffer));
}

/* ---- markers and barriers -------------------------------------------------------------- */

static void order(void)
{
    cl_event marker;
    operation(clEnqueueMarkerWithWaitList(w.second, 0, NULL, NULL)); /* in order: nothing to say */
    operation(clEnqueueBarrierWithWaitList(w.second, 0, NULL, NULL));
    listed(clEnqueueMarkerWithWaitList(w.second, LIST));
    listed(clEnqueueBarrierWithWaitList(w.second, LIST));
    launch(w.loose, 0, NULL, NULL);
    launch(w.loose, 0, NULL, NULL); /* beside it: no row */
    waits_for_lane(operation(clEnqueueMarkerWithWaitList(w.loose, 0, NULL, NULL)), 3);
    waits_for_lane(operation(clEnqueueBarrierWithWaitList(w.loose, 0, NULL, NULL)), 3);
    waits_for_lane(operation(clEnqueueBarrier(w.loose)), 3);
    const unsigned own = operation(clEnqueueMarker(w.loose, &marker));
    waits_for_lane(own, 3);
    listed(clEnqueueBarrierWithWaitList(w.loose, LIST));
    CHECK(clWaitForEvents(1, &marker));
    waits_for(0, own);
    CHECK(clReleaseEvent(marker));
    CHECK(clFinish(w.loose));
    waits_for_lane(0, 3);
}

/* ---- arguments --------------------------------------------------------------------------- */

static void arguments(void)
{
    const cl_buffer_region half = {0, BYTES / 2};
    const cl_ulong number = 12345;
    cl_int status;
    cl_mem part = clCreateSubBuffer(w.b, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
    CHECK(status);
    CHECK(clSetKernelArg(w.two, 0, sizeof w.a, &w.a));
    CHECK(clSetKernelArg(w.two, 1, sizeof number, &number));
    CHECK(clSetKernelArg(w.two, 2, sizeof part, &part));
    operation(clEnqueueNDRangeKernel(w.second, w.two, 1, NULL, &global, NULL, 0, NULL, NULL));
    uses[1]++;
    uses[6]++;
    CHECK(clSetKernelArg(w.two, 2, sizeof w.a, &w.a)); /* twice the same */
    operation(clEnqueueTask(w.second, w.two, 0, NULL, NULL));
    uses[1]++;
    cl_kernel clone = clCloneKernel(w.two, &status);
    if (status == CL_SUCCESS) {
        CHECK(clSetKernelArg(w.two, 0, sizeof w.b, &w.b)); /* not the clone's */
        operation(clEnqueueNDRangeKernel(w.second, clone, 1, NULL, &global, NULL, 0, NULL, NULL));
        uses[1]++;
        CHECK(clReleaseKernel(clone));
    }
    CHECK(clSetKernelArg(w.two, 0, sizeof(cl_mem), &(cl_mem){NULL}));
    if (clSetKernelArg(w.two, 3, sizeof w.b, &w.b) == CL_SUCCESS)
        exit(1); /* there is no such argument */
    CHECK(clFinish(w.second));
    waits_for_lane(0, 2);
    CHECK(clReleaseMemObject(part));
}

static void make(void)
{
    const cl_queue_properties loose[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_int status[10] = {0};
    w.device = first_device(&w.platform);
    w.context = clCreateContext(NULL, 1, &w.device, NULL, NULL, &status[0]);
    w.first = clCreateCommandQueue(w.context, w.device, 0, &status[1]);
    w.second = clCreateCommandQueue(w.context, w.device, 0, &status[2]);
    w.loose = clCreateCommandQueueWithProperties(w.context, w.device, loose, &status[3]);
    w.idle = clCreateCommandQueue(w.context, w.device, 0, &status[4]);
    w.program = program_of(w.context, w.device,
                           "kernel void one(global int *a) { a[get_global_id(0)] = 1; }"
                           "kernel void two(global int *a, ulong n, global int *b) { if (n == 1) a[0] = b[0]; }");
    w.one = clCreateKernel(w.program, "one", &status[5]);
    w.two = clCreateKernel(w.program, "two", &status[6]);
    w.a = clCreateBuffer(w.context, CL_MEM_READ_WRITE, BYTES, NULL, &status[7]);
    w.b = clCreateBuffer(w.context, CL_MEM_READ_WRITE, BYTES, NULL, &status[8]);
    for (int i = 0; i < 10; i++)
        CHECK(status[i]);
    CHECK(clSetKernelArg(w.one, 0, sizeof w.a, &w.a));
}

static void let_go(void)
{
    CHECK(clReleaseEvent(event));
    CHECK(clReleaseMemObject(image));
    CHECK(clReleaseMemObject(w.a));
    CHECK(clReleaseMemObject(w.b));
    CHECK(clReleaseKernel(w.one));
    CHECK(clReleaseKernel(w.two));
    CHECK(clReleaseProgram(w.program));
    CHECK(clReleaseCommandQueue(w.first));
    CHECK(clReleaseCommandQueue(w.second));
    CHECK(clReleaseCommandQueue(w.loose));
    CHECK(clReleaseCommandQueue(w.idle));
    CHECK(clReleaseContext(w.context));
}

int main(void)
{
    make();
    diamond();
    user_events();
    handles_used_again();
    nothing();
    from = launch(w.first, 0, NULL, &event);
    buffers();
    images();
    shared_memory();
    natives();
    command_buffer();
    order();
    arguments();
    CHECK(clFinish(w.first));
    waits_for_lane(0, 1);
    for (int i = 0; i < OBJECTS; i++)
        if (uses[i])
            printf("used %d %u%s\n", i, uses[i], i == 6 ? " part" : "");
    let_go();
    return 0;
}
