/* standin.c - a layer below the agent that offers what no runtime of the tests does.
 *
 * Pipes, objects shared with OpenGL and EGL, Intel's unified shared memory, and
 * queues with properties by extension: each is served by the nearest thing that
 * the runtime below has (a buffer, an image, a marker, SVM). So the hooks of these
 * calls meet calls that succeed, with work that runs and objects that live and
 * die. How a vendor's own functions behave it cannot tell.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>
#include <CL/cl_ext.h>

#include <string.h>

#include "../../../layer.h"
#include "standin.h"

/* ---- objects ------------------------------------------------------------- */

static cl_mem CL_API_CALL pipe_make(cl_context context, cl_mem_flags flags, cl_uint packet_bytes,
                                    cl_uint packets, const cl_pipe_properties *properties,
                                    cl_int *error)
{
    (void)flags, (void)properties;
    return real->clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)packet_bytes * packets, NULL,
                                error);
}

static cl_mem CL_API_CALL gl_buffer(cl_context context, cl_mem_flags flags, cl_GLuint buffer,
                                    int *error)
{
    (void)buffer;
    return real->clCreateBuffer(context, flags, STANDIN_BYTES, NULL, error);
}

static cl_mem image(cl_context context, cl_mem_flags flags, cl_int *error)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = STANDIN_SIDE,
                                .image_height = STANDIN_SIDE};
    return real->clCreateImage(context, flags, &format, &desc, NULL, error);
}

static cl_mem CL_API_CALL gl_texture(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                     cl_GLint level, cl_GLuint texture, cl_int *error)
{
    (void)target, (void)level, (void)texture;
    return image(context, flags, error);
}

static cl_mem CL_API_CALL gl_renderbuffer(cl_context context, cl_mem_flags flags,
                                          cl_GLuint buffer, cl_int *error)
{
    (void)buffer;
    return image(context, flags, error);
}

static cl_mem CL_API_CALL egl_image(cl_context context, CLeglDisplayKHR display,
                                    CLeglImageKHR egl, cl_mem_flags flags,
                                    const cl_egl_image_properties_khr *properties, cl_int *error)
{
    (void)display, (void)egl, (void)properties;
    return image(context, flags, error);
}

static cl_int CL_API_CALL share(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                cl_uint waits, const cl_event *list, cl_event *event)
{
    if (!count != !objects)
        return CL_INVALID_VALUE;
    return real->clEnqueueMarkerWithWaitList(queue, waits, list, event);
}

/* An event of somebody else's: it has happened already. */
static cl_event CL_API_CALL gl_event(cl_context context, cl_GLsync sync, cl_int *error)
{
    (void)sync;
    cl_event event = real->clCreateUserEvent(context, error);
    if (event)
        real->clSetUserEventStatus(event, CL_COMPLETE);
    return event;
}

static cl_event CL_API_CALL egl_event(cl_context context, CLeglSyncKHR sync, CLeglDisplayKHR display, cl_int *error)
{
    (void)display;
    return gl_event(context, (cl_GLsync)sync, error);
}

/* ---- unified shared memory --------------------------------------------------- */

static void *usm_alloc(cl_context context, size_t bytes, cl_uint alignment, cl_int *error)
{
    void *pointer = real->clSVMAlloc(context, CL_MEM_READ_WRITE, bytes, alignment);
    if (error)
        *error = pointer ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
    return pointer;
}

static void *CL_API_CALL usm_host(cl_context context, const cl_mem_properties_intel *properties,
                                  size_t bytes, cl_uint alignment, cl_int *error)
{
    (void)properties;
    return usm_alloc(context, bytes, alignment, error);
}

static void *CL_API_CALL usm_device(cl_context context, cl_device_id device,
                                    const cl_mem_properties_intel *properties, size_t bytes,
                                    cl_uint alignment, cl_int *error)
{
    (void)device, (void)properties;
    return usm_alloc(context, bytes, alignment, error);
}

static cl_int CL_API_CALL usm_free(cl_context context, void *pointer)
{
    real->clSVMFree(context, pointer);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL usm_copy(cl_command_queue queue, cl_bool blocking, void *target,
                                   const void *source, size_t bytes, cl_uint waits,
                                   const cl_event *list, cl_event *event)
{
    return real->clEnqueueSVMMemcpy(queue, blocking, target, source, bytes, waits, list, event);
}

static cl_int CL_API_CALL usm_fill(cl_command_queue queue, void *pointer, const void *pattern,
                                   size_t pattern_bytes, size_t bytes, cl_uint waits,
                                   const cl_event *list, cl_event *event)
{
    return real->clEnqueueSVMMemFill(queue, pointer, pattern, pattern_bytes, bytes, waits, list,
                                     event);
}

static cl_int CL_API_CALL usm_migrate(cl_command_queue queue, const void *pointer, size_t bytes,
                                      cl_mem_migration_flags flags, cl_uint waits,
                                      const cl_event *list, cl_event *event)
{
    return real->clEnqueueSVMMigrateMem(queue, 1, &pointer, &bytes, flags, waits, list, event);
}

static cl_int CL_API_CALL usm_argument(cl_kernel kernel, cl_uint index, const void *value)
{
    return real->clSetKernelArgSVMPointer(kernel, index, value);
}

/* ---- what it announces -------------------------------------------------------- */

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info info, size_t size,
                                      void *value, size_t *size_ret)
{
    static const char more[] = " cl_khr_gl_sharing cl_khr_egl_image";
    size_t bytes = 0;
    cl_int status = real->clGetDeviceInfo(device, info, size, value, &bytes);
    if (status == CL_SUCCESS && info == CL_DEVICE_EXTENSIONS) {
        bytes += sizeof more - 1;
        if (value && size < bytes)
            return CL_INVALID_VALUE;
        if (value)
            strcat(value, more);
    }
    if (size_ret)
        *size_ret = bytes;
    return status;
}

/* ---- by address ---------------------------------------------------------------- */

static cl_command_queue CL_API_CALL queue_make(cl_context context, cl_device_id device,
                                               const cl_queue_properties_khr *properties,
                                               cl_int *error)
{
    return real->clCreateCommandQueueWithProperties(
        context, device, (const cl_queue_properties *)properties, error);
}

static void *ours(const char *name)
{
    /* Typed, so that the compiler compares each with its declaration. */
    static const clHostMemAllocINTEL_fn host = usm_host;
    static const clDeviceMemAllocINTEL_fn device = usm_device;
    static const clMemFreeINTEL_fn release = usm_free;
    static const clEnqueueMemcpyINTEL_fn copy = usm_copy;
    static const clEnqueueMemFillINTEL_fn fill = usm_fill;
    static const clEnqueueMigrateMemINTEL_fn migrate = usm_migrate;
    static const clSetKernelArgMemPointerINTEL_fn argument = usm_argument;
    static const clCreateCommandQueueWithPropertiesKHR_fn queue = queue_make;
    const struct {
        const char *name;
        const void *function;
    } all[] = {
        {"clHostMemAllocINTEL", &host},
        {"clDeviceMemAllocINTEL", &device},
        {"clSharedMemAllocINTEL", &device},
        {"clMemFreeINTEL", &release},
        {"clMemBlockingFreeINTEL", &release},
        {"clEnqueueMemcpyINTEL", &copy},
        {"clEnqueueMemFillINTEL", &fill},
        {"clEnqueueMigrateMemINTEL", &migrate},
        {"clSetKernelArgMemPointerINTEL", &argument},
        {"clCreateEventFromGLsyncKHR", &layer.clCreateEventFromGLsyncKHR},
        {"clCreateEventFromEGLSyncKHR", &layer.clCreateEventFromEGLSyncKHR},
        {"clCreateCommandQueueWithPropertiesKHR", &queue},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, all[i].name) == 0)
            return *(void *const *)all[i].function;
    return NULL;
}

static void *CL_API_CALL address(cl_platform_id platform, const char *name)
{
    void *function = ours(name);
    return function ? function : real->clGetExtensionFunctionAddressForPlatform(platform, name);
}

static void *CL_API_CALL address_anywhere(const char *name)
{
    void *function = ours(name);
    return function ? function : real->clGetExtensionFunctionAddress(name);
}

static void layer_wrap(void)
{
    layer.clCreatePipe = pipe_make;
    layer.clCreateFromGLBuffer = gl_buffer;
    layer.clCreateFromGLTexture = gl_texture;
    layer.clCreateFromGLTexture2D = gl_texture;
    layer.clCreateFromGLTexture3D = gl_texture;
    layer.clCreateFromGLRenderbuffer = gl_renderbuffer;
    layer.clCreateFromEGLImageKHR = egl_image;
    layer.clCreateEventFromGLsyncKHR = gl_event;
    layer.clCreateEventFromEGLSyncKHR = egl_event;
    layer.clEnqueueAcquireGLObjects = share;
    layer.clEnqueueReleaseGLObjects = share;
    layer.clEnqueueAcquireEGLObjectsKHR = share;
    layer.clEnqueueReleaseEGLObjectsKHR = share;
    layer.clGetDeviceInfo = device_info;
    layer.clGetExtensionFunctionAddress = address_anywhere;
    layer.clGetExtensionFunctionAddressForPlatform = address;
}
