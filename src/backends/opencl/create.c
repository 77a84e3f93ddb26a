/* create.c - hooks of the calls that make, wait for, and free, without an operation.
 *
 * Waits end with a harvest: what the program waited for has finished, so it is
 * handed over where it is still in the cache.
 */
#include "hook.h"
#include "il.h"

/* ---- waits -------------------------------------------------------------------- */

static void finished(struct sonde_call *made_by, cl_command_queue handle, cl_int status)
{
    const struct sonde_cl_queue *queue = sonde__cl_queue(handle);
    const uint32_t lane =
        queue && status == CL_SUCCESS ? atomic_load_explicit(&queue->lane, memory_order_acquire) : 0;
    if (!made_by)
        return;
    if (lane) /* else it has had no operation */
        sonde_call_waits(made_by, &(struct sonde_wait){.lane = lane});
    sonde_harvest(false);
}

/* An event that failed was waited for as well. */
static void waited(struct sonde_call *made_by, cl_uint count, const cl_event *events, cl_int status)
{
    if (!made_by)
        return;
    if (status == CL_SUCCESS || status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        sonde__cl_events_awaited(made_by, 0, count, events);
    sonde_harvest(false);
}

CALL(cl_int, clFinish, (cl_command_queue queue), (queue), queue, (finished(made_by, queue, result), sonde__cl_values_check(queue)))

CALL(cl_int, clFlush, (cl_command_queue queue), (queue), queue, NOTHING)

CALL(cl_int, clWaitForEvents, (cl_uint count, const cl_event *events), (count, events),
     (count && events) ? events[0] : NULL, waited(made_by, count, events, result))

/* What the event holds back may start within it, and callbacks may run that enqueue: these are calls of
 * their own. So it is an instant, right before. */
cl_int CL_API_CALL sonde__clSetUserEventStatus(cl_event event, cl_int status)
{
    sonde__cl_clean_point();
    struct sonde_call call;
    if (sonde_call_begin(&call, API_clSetUserEventStatus)) {
        sonde_call_leave(&call);
        sonde__cl_user_event_done(&call, event);
        sonde_call_end(&call);
    }
    return sonde__cl_target(event)->clSetUserEventStatus(event, status);
}

/* ---- programs and kernels -------------------------------------------------------- */

typedef void(CL_CALLBACK *program_callback)(cl_program, void *);

CALL_AS(cl_int, clBuildProgram,
        (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
         program_callback callback, void *data),
        program,
        (sonde__cl_il_building(program),
         real->clBuildProgram(program, count, devices, options, callback, data)),
        NOTHING)

CALL(cl_int, clCompileProgram,
     (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
      cl_uint header_count, const cl_program *headers, const char **header_names,
      program_callback callback, void *data),
     (program, count, devices, options, header_count, headers, header_names, callback, data),
     program, NOTHING)

CALL(cl_program, clLinkProgram,
     (cl_context context, cl_uint count, const cl_device_id *devices, const char *options,
      cl_uint program_count, const cl_program *programs, program_callback callback, void *data,
      cl_int *error),
     (context, count, devices, options, program_count, programs, callback, data, error), context,
     NOTHING)

CALL(cl_program, clCreateProgramWithSource,
     (cl_context context, cl_uint count, const char **strings, const size_t *lengths,
      cl_int *error),
     (context, count, strings, lengths, error), context, NOTHING)

CALL(cl_program, clCreateProgramWithBinary,
     (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
      const unsigned char **binaries, cl_int *status, cl_int *error),
     (context, count, devices, lengths, binaries, status, error), context, NOTHING)

CALL(cl_program, clCreateProgramWithBuiltInKernels,
     (cl_context context, cl_uint count, const cl_device_id *devices, const char *names,
      cl_int *error),
     (context, count, devices, names, error), context, NOTHING)

CALL(cl_program, clCreateProgramWithIL,
     (cl_context context, const void *il, size_t length, cl_int *error),
     (context, il, length, error), context,
     if (result) sonde__cl_il_made(result))

CALL(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *error),
     (program, name, error), program, sonde__cl_kernel_made(result))

CALL(cl_kernel, clCloneKernel, (cl_kernel source, cl_int *error), (source, error), source,
     sonde__cl_kernel_made(result), sonde__cl_kernel_cloned(source, result))

/* `count` is room; how many were made may be fewer, and the rest is not ours to read. */
static void kernels_made(const cl_icd_dispatch *real, cl_program program, cl_uint room,
                         const cl_kernel *kernels)
{
    size_t count = 0;
    if (real->clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, NULL) != CL_SUCCESS)
        return;
    for (size_t i = 0; i < count && i < room; i++)
        sonde__cl_kernel_made(kernels[i]);
}

CALL(cl_int, clCreateKernelsInProgram,
     (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count),
     (program, room, kernels, count), program,
     if (result == CL_SUCCESS && kernels) kernels_made(real, program, room, kernels))

/* ---- contexts and queues ----------------------------------------------------------- */

typedef void(CL_CALLBACK *context_callback)(const char *, const void *, size_t, void *);

/* The platform that context properties name, or NULL. */
static const void *platform_of(const cl_context_properties *properties)
{
    for (; properties && properties[0]; properties += 2)
        if (properties[0] == CL_CONTEXT_PLATFORM)
            return (const void *)properties[1];
    return NULL;
}

CALL(cl_context, clCreateContext,
     (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
      context_callback callback, void *data, cl_int *error),
     (properties, count, devices, callback, data, error), (count && devices) ? devices[0] : NULL,
     sonde__cl_context_made(result))

CALL(cl_context, clCreateContextFromType,
     (const cl_context_properties *properties, cl_device_type type, context_callback callback,
      void *data, cl_int *error),
     (properties, type, callback, data, error), platform_of(properties),
     sonde__cl_context_made(result))

/* Our references to finished events keep their queue and its context alive:
 * give them back first, so that what dies now dies now, in this thread. */
CALL_AS(cl_int, clReleaseContext, (cl_context context), context,
        (sonde_harvest(true), real->clReleaseContext(context)), NOTHING)

CALL_AS(cl_int, clReleaseCommandQueue, (cl_command_queue queue), queue,
        (sonde_harvest(true), sonde__cl_values_released(queue), real->clReleaseCommandQueue(queue)), NOTHING)

enum { PROPERTIES_MAX = 32 };

/* `asked` with profiling on, in `forced`. False: it is on already, or does not fit. */
static bool properties_force(const cl_queue_properties *asked,
                             cl_queue_properties forced[PROPERTIES_MAX])
{
    size_t count = 0;
    bool found = false;
    for (; asked && asked[count]; count += 2) {
        if (count + 5 > PROPERTIES_MAX)
            return false;
        forced[count] = asked[count];
        forced[count + 1] = asked[count + 1];
        if (asked[count] == CL_QUEUE_PROPERTIES) {
            if (asked[count + 1] & CL_QUEUE_PROFILING_ENABLE)
                return false;
            forced[count + 1] |= CL_QUEUE_PROFILING_ENABLE;
            found = true;
        }
    }
    if (!found) {
        forced[count++] = CL_QUEUE_PROPERTIES;
        forced[count++] = CL_QUEUE_PROFILING_ENABLE;
    }
    forced[count] = 0;
    return true;
}

static cl_command_queue_properties properties_bits(const cl_queue_properties *properties)
{
    for (; properties && properties[0]; properties += 2)
        if (properties[0] == CL_QUEUE_PROPERTIES)
            return properties[1];
    return 0;
}

cl_command_queue sonde__cl_queue_make(sonde__cl_queue_maker make, cl_context context,
                                      cl_device_id device, const cl_queue_properties *asked,
                                      cl_int *error)
{
    cl_queue_properties with[PROPERTIES_MAX];
    cl_command_queue queue = NULL;
    const bool force = !sonde_is_attached() && properties_force(asked, with); /* the queue may outlive us */
    if (force)
        queue = make(context, device, with, error);
    const bool forced = queue != NULL;
    if (!queue)
        queue = make(context, device, asked, error);
    if (queue)
        sonde__cl_queue_made(queue, properties_bits(asked), asked, forced);
    return queue;
}

CALL_AS(cl_command_queue, clCreateCommandQueueWithProperties,
        (cl_context context, cl_device_id device, const cl_queue_properties *properties,
         cl_int *error),
        context,
        sonde__cl_queue_make(real->clCreateCommandQueueWithProperties, context, device,
                             properties, error),
        NOTHING)

static cl_command_queue queue_make_plain(const cl_icd_dispatch *real, cl_context context,
                                         cl_device_id device, cl_command_queue_properties asked,
                                         cl_int *error)
{
    cl_command_queue queue = NULL;
    if (!(asked & CL_QUEUE_PROFILING_ENABLE) && !sonde_is_attached())
        queue = real->clCreateCommandQueue(context, device, asked | CL_QUEUE_PROFILING_ENABLE,
                                           error);
    const bool forced = queue != NULL;
    if (!queue)
        queue = real->clCreateCommandQueue(context, device, asked, error);
    if (queue)
        sonde__cl_queue_made(queue, asked, NULL, forced);
    return queue;
}

CALL_AS(cl_command_queue, clCreateCommandQueue,
        (cl_context context, cl_device_id device, cl_command_queue_properties asked,
         cl_int *error),
        context, queue_make_plain(real, context, device, asked, error), NOTHING)

/* ---- memory objects ------------------------------------------------------------------- */

#define CALL_MEM(function, kind, parameters, arguments, object) \
    CALL(cl_mem, function, parameters, arguments, object,       \
         if (result) sonde__cl_mem_made(made_by, result, kind))

CALL_MEM(clCreateBuffer, SONDE_OBJECT_BUFFER,
         (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error),
         (context, flags, bytes, host, error), context)

CALL_MEM(clCreateBufferWithProperties, SONDE_OBJECT_BUFFER,
         (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
          size_t bytes, void *host, cl_int *error),
         (context, properties, flags, bytes, host, error), context)

CALL_MEM(clCreateSubBuffer, SONDE_OBJECT_BUFFER,
         (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
          cl_int *error),
         (buffer, flags, type, info, error), buffer)

CALL_MEM(clCreateImage, SONDE_OBJECT_IMAGE,
         (cl_context context, cl_mem_flags flags, const cl_image_format *format,
          const cl_image_desc *desc, void *host, cl_int *error),
         (context, flags, format, desc, host, error), context)

CALL_MEM(clCreateImageWithProperties, SONDE_OBJECT_IMAGE,
         (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
          const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *error),
         (context, properties, flags, format, desc, host, error), context)

CALL_MEM(clCreateImage2D, SONDE_OBJECT_IMAGE,
         (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
          size_t height, size_t row_pitch, void *host, cl_int *error),
         (context, flags, format, width, height, row_pitch, host, error), context)

CALL_MEM(clCreateImage3D, SONDE_OBJECT_IMAGE,
         (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,
          size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void *host,
          cl_int *error),
         (context, flags, format, width, height, depth, row_pitch, slice_pitch, host, error),
         context)

CALL_MEM(clCreateFromGLBuffer, SONDE_OBJECT_BUFFER,
         (cl_context context, cl_mem_flags flags, cl_GLuint buffer, int *error),
         (context, flags, buffer, error), context)

#define CALL_GL_TEXTURE(function)                                                          \
    CALL_MEM(function, SONDE_OBJECT_IMAGE,                                                 \
             (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level,    \
              cl_GLuint texture, cl_int *error),                                           \
             (context, flags, target, level, texture, error), context)

CALL_GL_TEXTURE(clCreateFromGLTexture)
CALL_GL_TEXTURE(clCreateFromGLTexture2D)
CALL_GL_TEXTURE(clCreateFromGLTexture3D)

CALL_MEM(clCreateFromGLRenderbuffer, SONDE_OBJECT_IMAGE,
         (cl_context context, cl_mem_flags flags, cl_GLuint buffer, cl_int *error),
         (context, flags, buffer, error), context)

CALL_MEM(clCreateFromEGLImageKHR, SONDE_OBJECT_IMAGE,
         (cl_context context, CLeglDisplayKHR display, CLeglImageKHR image, cl_mem_flags flags,
          const cl_egl_image_properties_khr *properties, cl_int *error),
         (context, display, image, flags, properties, error), context)

CALL_MEM(clCreatePipe, SONDE_OBJECT_PIPE,
         (cl_context context, cl_mem_flags flags, cl_uint packet_bytes, cl_uint packets,
          const cl_pipe_properties *properties, cl_int *error),
         (context, flags, packet_bytes, packets, properties, error), context)

static cl_int mem_release(const cl_icd_dispatch *real, cl_mem mem)
{
    if (sonde__cl_deaths_watched())
        sonde_harvest(true);
    sonde__cl_duplicates_released(mem);
    sonde__cl_mem_released(mem);
    return real->clReleaseMemObject(mem);
}

CALL_AS(cl_int, clReleaseMemObject, (cl_mem mem), mem, mem_release(real, mem), NOTHING)

/* The host writes fine-grained memory without a word. */
static void svm_made(const struct sonde_call *call, cl_context context, cl_svm_mem_flags flags, void *pointer, size_t bytes)
{
    sonde__cl_svm_made(call, SONDE_OBJECT_SVM, context, NULL, pointer, bytes, flags & CL_MEM_SVM_FINE_GRAIN_BUFFER);
    struct sonde_cl_mem *mem = flags & CL_MEM_SVM_FINE_GRAIN_BUFFER ? sonde__cl_svm(pointer) : NULL;
    if (mem)
        sonde__cl_values_host_writes(mem);
}

CALL(void *, clSVMAlloc,
     (cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment),
     (context, flags, bytes, alignment), context,
     if (result) svm_made(made_by, context, flags, result, bytes))

void CL_API_CALL sonde__clSVMFree(cl_context context, void *pointer)
{
    sonde__cl_clean_point();
    struct sonde_call call;
    const bool recorded = sonde_call_begin(&call, API_clSVMFree);
    sonde__cl_values_svm_freeing(NULL, NULL, 1, &pointer);
    void *ours = sonde__cl_svm_freed(pointer);
    sonde__cl_target(context)->clSVMFree(context, pointer);
    if (ours)
        sonde__cl_target(context)->clSVMFree(context, ours);
    if (recorded) {
        sonde_call_leave(&call);
        sonde_call_end(&call);
    }
}
