/* extensions.c - calls that few runtimes have, and what the program saw of them.
 *
 * Every call prints its status, whether the runtime has it or not: with the
 * agent it must be the same. What succeeded is tallied in the words of the
 * counting agent. Command buffers run on PoCL itself; pipes, OpenGL, EGL and
 * Intel's unified shared memory succeed on standin.c only. With an argument,
 * functions are asked for without naming the platform.
 */
#include "cl_test.h"

#include <CL/cl_egl.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>
#include <unistd.h>

#include "standin.h"

enum {
    ITEMS = 64,
    BYTES = ITEMS * sizeof(cl_int),
    REPLAYS = 5,
    COMMANDS = 3,
};

struct world {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem plain;
    cl_kernel kernel;
    cl_mem made[16];
    unsigned made_count;
    bool anywhere;
};

static unsigned long objects, object_bytes, objects_freed, buffer_kernels;

static bool said(const char *call, cl_int status)
{
    printf("%s %d\n", call, status);
    return status == CL_SUCCESS;
}

static void *function(const struct world *w, const char *name)
{
    void *found = w->anywhere
                      ? clGetExtensionFunctionAddress(name)
                      : clGetExtensionFunctionAddressForPlatform(w->platform, name);
    printf("%s is %s\n", name, found ? "there" : "absent");
    return found;
}
#define FUNCTION(name) const name##_fn name = (name##_fn)(uintptr_t)function(w, #name)

static void object(unsigned long bytes)
{
    objects++;
    object_bytes += bytes;
}

static void keep(struct world *w, const char *call, cl_mem mem, cl_int status, unsigned long bytes)
{
    size_t size = 0;
    if (!said(call, status))
        return;
    CHECK(clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof size, &size, NULL));
    if (size != bytes)
        printf("%s: %zu bytes\n", call, size);
    w->made[w->made_count++] = mem;
    object(bytes);
}

static void let_go(struct world *w)
{
    while (w->made_count > 0) {
        CHECK(clReleaseMemObject(w->made[--w->made_count]));
        objects_freed++;
    }
}

/* What the program may see of an event that it asked for. A runtime may hold a
 * reference of its own for a moment after the wait. */
static void look_at(cl_event event)
{
    cl_uint references = 0;
    cl_ulong time = 0;
    CHECK(clWaitForEvents(1, &event));
    for (int i = 0; i < 120000 && references != 1; i++) {
        usleep(i ? 1000 : 0);
        CHECK(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references,
                             NULL));
    }
    printf("event: %u references, profiling gave %d\n", references,
           clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
    CHECK(clReleaseEvent(event));
}

static void pipes(struct world *w)
{
    cl_int status = CL_SUCCESS;
    cl_mem pipe = clCreatePipe(w->context, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, 16, 64,
                               NULL, &status);
    keep(w, "clCreatePipe", pipe, status, 16 * 64);
    pipe = clCreatePipe(w->context, CL_MEM_READ_WRITE, 4, 8, NULL, NULL); /* no status asked for */
    if (pipe)
        keep(w, "clCreatePipe", pipe, CL_SUCCESS, 4 * 8);
    let_go(w);
}

static void acquire_and_release(struct world *w, const char *what, clEnqueueAcquireEGLObjectsKHR_fn acquire,
                                clEnqueueReleaseEGLObjectsKHR_fn release)
{
    const cl_mem *shared = w->made_count ? w->made : &w->plain;
    const cl_uint count = w->made_count ? w->made_count : 1;
    cl_event event = NULL;
    printf("%s:\n", what);
    if (said("acquire", acquire(w->queue, count, shared, 0, NULL, NULL)))
        did("acquire", 0);
    said("acquire nothing", acquire(w->queue, 0, shared, 0, NULL, NULL));
    if (said("release", release(w->queue, count, shared, 0, NULL, &event))) {
        did("release", 0);
        look_at(event);
    }
}

/* PoCL 3.1 ends the program in calls for what it does not announce. */
static bool announced(const struct world *w, const char *extension)
{
    char all[8192] = "";
    CHECK(clGetDeviceInfo(w->device, CL_DEVICE_EXTENSIONS, sizeof all - 1, all, NULL));
    printf("%s is %s\n", extension, strstr(all, extension) ? "announced" : "not announced");
    return strstr(all, extension) != NULL;
}

static void opengl(struct world *w)
{
    cl_int status = CL_SUCCESS;
    if (!announced(w, "cl_khr_gl_sharing"))
        return;
    cl_mem mem = clCreateFromGLBuffer(w->context, CL_MEM_READ_WRITE, 1, &status);
    keep(w, "clCreateFromGLBuffer", mem, status, STANDIN_BYTES);
#define TEXTURE(name)                                                            \
    mem = name(w->context, CL_MEM_READ_WRITE, 0x0DE1, 0, 2, &status);            \
    keep(w, #name, mem, status, STANDIN_IMAGE_BYTES)
    TEXTURE(clCreateFromGLTexture);
    TEXTURE(clCreateFromGLTexture2D);
    TEXTURE(clCreateFromGLTexture3D);
    mem = clCreateFromGLRenderbuffer(w->context, CL_MEM_READ_WRITE, 3, &status);
    keep(w, "clCreateFromGLRenderbuffer", mem, status, STANDIN_IMAGE_BYTES);
    acquire_and_release(w, "OpenGL", clEnqueueAcquireGLObjects, clEnqueueReleaseGLObjects);
    let_go(w);
}

static void egl(struct world *w)
{
    cl_int status = CL_SUCCESS;
    FUNCTION(clCreateFromEGLImageKHR);
    FUNCTION(clEnqueueAcquireEGLObjectsKHR);
    FUNCTION(clEnqueueReleaseEGLObjectsKHR);
    if (!announced(w, "cl_khr_egl_image"))
        return;
    cl_mem mem = clCreateFromEGLImageKHR(w->context, NULL, NULL, CL_MEM_READ_WRITE, NULL, &status);
    keep(w, "clCreateFromEGLImageKHR", mem, status, STANDIN_IMAGE_BYTES);
    acquire_and_release(w, "EGL", clEnqueueAcquireEGLObjectsKHR, clEnqueueReleaseEGLObjectsKHR);
    let_go(w);
}

/* Events of others, which wait for nothing that we know. */
static void foreign_events(struct world *w)
{
    cl_int status = CL_SUCCESS;
    cl_event events[2];
    const cl_api_clCreateEventFromGLsyncKHR clCreateEventFromGLsyncKHR =
        (cl_api_clCreateEventFromGLsyncKHR)(uintptr_t)function(w, "clCreateEventFromGLsyncKHR");
    FUNCTION(clCreateEventFromEGLSyncKHR);
    if (!announced(w, "cl_khr_egl_image") || !clCreateEventFromGLsyncKHR || !clCreateEventFromEGLSyncKHR)
        return;
    events[0] = clCreateEventFromGLsyncKHR(w->context, NULL, &status);
    said("clCreateEventFromGLsyncKHR", status);
    events[1] = clCreateEventFromEGLSyncKHR(w->context, NULL, NULL, &status);
    said("clCreateEventFromEGLSyncKHR", status);
    DO("marker", 0, clEnqueueMarkerWithWaitList(w->queue, 2, events, NULL));
    CHECK(clFinish(w->queue));
    CHECK(clReleaseEvent(events[0]));
    CHECK(clReleaseEvent(events[1]));
}

static void *usm_made(const char *call, void *pointer, cl_int status)
{
    if (said(call, status))
        object(BYTES);
    return pointer;
}

static void unified_memory(struct world *w)
{
    cl_int status = CL_SUCCESS;
    const cl_char seven = 7;
    cl_event event;
    FUNCTION(clHostMemAllocINTEL);
    FUNCTION(clDeviceMemAllocINTEL);
    FUNCTION(clSharedMemAllocINTEL);
    FUNCTION(clMemFreeINTEL);
    FUNCTION(clMemBlockingFreeINTEL);
    FUNCTION(clEnqueueMemcpyINTEL);
    FUNCTION(clEnqueueMemFillINTEL);
    FUNCTION(clEnqueueMigrateMemINTEL);
    FUNCTION(clSetKernelArgMemPointerINTEL);
    if (!clHostMemAllocINTEL || !clEnqueueMemcpyINTEL)
        return;
    char *host = usm_made("host", clHostMemAllocINTEL(w->context, NULL, BYTES, 0, &status), status);
    char *device = usm_made(
        "device", clDeviceMemAllocINTEL(w->context, w->device, NULL, BYTES, 0, &status), status);
    char *shared = usm_made(
        "shared", clSharedMemAllocINTEL(w->context, w->device, NULL, BYTES, 0, &status), status);
    DO("svm_fill", BYTES,
       clEnqueueMemFillINTEL(w->queue, device, &seven, 1, BYTES, 0, NULL, &event));
    look_at(event);
    DO("svm_migrate", BYTES,
       clEnqueueMigrateMemINTEL(w->queue, shared, BYTES, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    DO("svm_copy", BYTES / 2,
       clEnqueueMemcpyINTEL(w->queue, CL_TRUE, host, device, BYTES / 2, 0, NULL, NULL));
    printf("copied %d\n", host[0] + host[BYTES / 2 - 1]);
    said("copy to nothing",
         clEnqueueMemcpyINTEL(w->queue, CL_TRUE, NULL, device, BYTES, 0, NULL, NULL));
    CHECK(clSetKernelArgMemPointerINTEL(w->kernel, 0, shared + 16));
    DO("kernel", 0, clEnqueueTask(w->queue, w->kernel, 0, NULL, NULL));
    CHECK(clSetKernelArg(w->kernel, 0, sizeof w->plain, &w->plain));
    CHECK(clFinish(w->queue));
    printf("used %lu 1\nused %lu 2\nused %lu 2\n", objects - 2, objects - 1, objects);
    CHECK(clMemFreeINTEL(w->context, host));
    CHECK(clMemFreeINTEL(w->context, device));
    CHECK(clMemBlockingFreeINTEL(w->context, shared));
    objects_freed += 3;
}

static void queues(struct world *w)
{
    const cl_queue_properties_khr asked[] = {CL_QUEUE_PROPERTIES,
                                             CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_command_queue_properties seen = 0;
    cl_int status = CL_SUCCESS;
    FUNCTION(clCreateCommandQueueWithPropertiesKHR);
    if (!clCreateCommandQueueWithPropertiesKHR)
        return;
    cl_command_queue queue =
        clCreateCommandQueueWithPropertiesKHR(w->context, w->device, asked, &status);
    if (!said("queue with properties", status))
        return;
    CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof seen, &seen, NULL));
    printf("its properties: %#llx\n", (unsigned long long)seen);
    DO("marker", 0, clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
    CHECK(clFinish(queue));
    CHECK(clReleaseCommandQueue(queue));
}

/* One operation for each replay, on the queue that the buffer was made for, or
 * on one that the call names; nothing for what fails. */
static void command_buffers(struct world *w)
{
    const size_t items = ITEMS;
    cl_int status = CL_SUCCESS;
    cl_event event;
    FUNCTION(clCreateCommandBufferKHR);
    FUNCTION(clFinalizeCommandBufferKHR);
    FUNCTION(clReleaseCommandBufferKHR);
    FUNCTION(clCommandNDRangeKernelKHR);
    FUNCTION(clEnqueueCommandBufferKHR);
    if (!clCreateCommandBufferKHR || !clEnqueueCommandBufferKHR)
        return;
    cl_command_buffer_khr buffer = clCreateCommandBufferKHR(1, &w->queue, NULL, &status);
    if (!said("clCreateCommandBufferKHR", status))
        return;
    for (int i = 0; i < COMMANDS; i++)
        CHECK(clCommandNDRangeKernelKHR(buffer, NULL, NULL, w->kernel, 1, NULL, &items, &items, 0,
                                        NULL, NULL, NULL));
    said("not finalized", clEnqueueCommandBufferKHR(0, NULL, buffer, 0, NULL, NULL));
    CHECK(clFinalizeCommandBufferKHR(buffer));
    for (int i = 0; i < REPLAYS; i++) {
        DO("command_buffer", 0,
           clEnqueueCommandBufferKHR(i % 2, i % 2 ? &w->queue : NULL, buffer, 0, NULL, NULL));
        CHECK(clFinish(w->queue));
    }
    DO("command_buffer", 0, clEnqueueCommandBufferKHR(0, NULL, buffer, 0, NULL, &event));
    look_at(event);
    buffer_kernels = (REPLAYS + 1) * COMMANDS;
    CHECK(clReleaseCommandBufferKHR(buffer));
}

static void open_world(struct world *w)
{
    cl_int status;
    w->device = first_device(&w->platform);
    w->context = clCreateContext(NULL, 1, &w->device, NULL, NULL, &status);
    CHECK(status);
    w->queue = clCreateCommandQueue(w->context, w->device, 0, &status);
    CHECK(status);
    cl_program program =
        program_of(w->context, w->device,
                   "kernel void add(global int *a) { a[get_global_id(0)] += 1; }");
    w->kernel = clCreateKernel(program, "add", &status);
    CHECK(status);
    CHECK(clReleaseProgram(program));
    w->plain = clCreateBuffer(w->context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    CHECK(status);
    object(BYTES);
    CHECK(clSetKernelArg(w->kernel, 0, sizeof w->plain, &w->plain));
    DO("fill", BYTES,
       clEnqueueFillBuffer(w->queue, w->plain, &(cl_int){0}, sizeof(cl_int), 0, BYTES, 0, NULL,
                           NULL));
}

int main(int argc, char **argv)
{
    (void)argv;
    cl_int result[ITEMS];
    struct world w = {.anywhere = argc > 1};
    open_world(&w);
    pipes(&w);
    opengl(&w);
    egl(&w);
    foreign_events(&w);
    unified_memory(&w);
    queues(&w);
    command_buffers(&w);
    DO("read", BYTES,
       clEnqueueReadBuffer(w.queue, w.plain, CL_TRUE, 0, BYTES, result, 0, NULL, NULL));
    printf("kernels in command buffers: %d of %lu\n", result[ITEMS - 1], buffer_kernels);
    CHECK(clReleaseMemObject(w.plain));
    objects_freed++;
    CHECK(clReleaseKernel(w.kernel));
    CHECK(clReleaseCommandQueue(w.queue));
    CHECK(clReleaseContext(w.context));
    tell_operations();
    printf("objects %lu\nobject_bytes %lu\nobjects_freed %lu\n", objects, object_bytes,
           objects_freed);
    return 0;
}
