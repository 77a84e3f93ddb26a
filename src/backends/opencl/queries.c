/* queries.c - what the program asks, answered as without us.
 *
 * We change three things that a program could see: queues have profiling on,
 * finished events live until they are harvested, and with them their queue and
 * its context. Each query that would show it is answered as the program knows
 * its objects, with the runtime's own argument checks where it makes any.
 * docs/transparency-opencl.md lists them, and what cannot be hidden.
 */
#include "opencl.h"

#include <string.h>

/* The program watches contexts or memory objects die: releases must then be exact. */
static _Atomic bool deaths_watched;

/* Give back what we hold of finished events before a count is answered. */
static void settle(void)
{
    sonde__cl_clean_point();
    sonde_harvest(true);
}

#define PASS_QUERY(function, parameters, arguments, object)    \
    cl_int CL_API_CALL sonde__##function parameters            \
    {                                                          \
        sonde__cl_clean_point();                               \
        return sonde__cl_target(object)->function arguments;   \
    }

/* A query of which one answer, `count`, is a reference count that events hold up. */
#define COUNT_QUERY(function, handle_type, info_type, count)                                 \
    cl_int CL_API_CALL sonde__##function(handle_type handle, info_type info, size_t size,    \
                                         void *value, size_t *size_ret)                      \
    {                                                                                        \
        if (info == (count))                                                                 \
            settle();                                                                        \
        return sonde__cl_target(handle)->function(handle, info, size, value, size_ret);      \
    }

COUNT_QUERY(clGetContextInfo, cl_context, cl_context_info, CL_CONTEXT_REFERENCE_COUNT)
COUNT_QUERY(clGetDeviceInfo, cl_device_id, cl_device_info, CL_DEVICE_REFERENCE_COUNT)
COUNT_QUERY(clGetMemObjectInfo, cl_mem, cl_mem_info, CL_MEM_REFERENCE_COUNT)
COUNT_QUERY(clGetProgramInfo, cl_program, cl_program_info, CL_PROGRAM_REFERENCE_COUNT)
COUNT_QUERY(clGetKernelInfo, cl_kernel, cl_kernel_info, CL_KERNEL_REFERENCE_COUNT)

/* The program's first calls, often: nothing of ours in them but the clean point. */
PASS_QUERY(clGetPlatformIDs, (cl_uint count, cl_platform_id *platforms, cl_uint *found),
           (count, platforms, found), NULL)
PASS_QUERY(clGetDeviceIDs,
           (cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id *devices,
            cl_uint *found),
           (platform, type, count, devices, found), platform)

/* ---- queues ------------------------------------------------------------------------ */

/* Answer a query with `bytes` bytes of `answer`, as the specification says it is done. */
static cl_int answer_with(const void *answer, size_t bytes, size_t size, void *value,
                          size_t *size_ret)
{
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value && bytes)
        memcpy(value, answer, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

cl_int CL_API_CALL sonde__clGetCommandQueueInfo(cl_command_queue handle,
                                                cl_command_queue_info info, size_t size,
                                                void *value, size_t *size_ret)
{
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    const struct sonde_cl_queue *queue = sonde__cl_queue(handle);
    if (info == CL_QUEUE_REFERENCE_COUNT)
        settle();
    const bool bits = info == CL_QUEUE_PROPERTIES, array = info == CL_QUEUE_PROPERTIES_ARRAY;
    if (!sonde__cl_queue_hidden(queue) || (!bits && !array))
        return real->clGetCommandQueueInfo(handle, info, size, value, size_ret);
    /* Does the runtime know the question at all? Without a value it only says so. */
    const cl_int known = real->clGetCommandQueueInfo(handle, info, 0, NULL, NULL);
    if (known != CL_SUCCESS)
        return known;
    if (array)
        return answer_with(queue->array, queue->array_count * sizeof *queue->array, size, value,
                           size_ret);
    const cl_command_queue_properties asked =
        atomic_load_explicit(&queue->asked, memory_order_relaxed);
    return answer_with(&asked, sizeof asked, size, value, size_ret);
}

/* OpenCL 1.0 may change properties. We keep profiling on and note what it would be. */
cl_int CL_API_CALL sonde__clSetCommandQueueProperty(cl_command_queue handle,
                                                    cl_command_queue_properties properties,
                                                    cl_bool enable,
                                                    cl_command_queue_properties *old)
{
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    struct sonde_cl_queue *queue = sonde__cl_queue(handle);
    if (!queue)
        return real->clSetCommandQueueProperty(handle, properties, enable, old);
    const cl_command_queue_properties before =
        atomic_load_explicit(&queue->asked, memory_order_relaxed);
    const bool keep = !enable && !atomic_load_explicit(&queue->no_times, memory_order_relaxed);
    cl_command_queue_properties passed = properties;
    if (keep)
        passed &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
    const cl_int status = real->clSetCommandQueueProperty(handle, passed, enable, old);
    if (status != CL_SUCCESS)
        return status;
    if (old)
        *old = before;
    atomic_store_explicit(&queue->asked, enable ? before | properties : before & ~properties,
                          memory_order_relaxed);
    if (keep && (properties & CL_QUEUE_PROFILING_ENABLE))
        atomic_store_explicit(&queue->forced, true, memory_order_relaxed);
    return status;
}

/* ---- events ------------------------------------------------------------------------- */

/* While an operation is under way, one of the references is ours, or two. They may be
 * given back between the two questions: then ask again. */
cl_int CL_API_CALL sonde__clGetEventInfo(cl_event event, cl_event_info info, size_t size,
                                         void *value, size_t *size_ret)
{
    const cl_icd_dispatch *real = sonde__cl_target(event);
    if (info != CL_EVENT_REFERENCE_COUNT)
        return real->clGetEventInfo(event, info, size, value, size_ret);
    sonde__cl_clean_point();
    cl_uint count = 0, held, still;
    cl_int status;
    do {
        held = sonde_token_held((uintptr_t)event) + sonde__cl_order_holds(event);
        status = real->clGetEventInfo(event, info, sizeof count, &count, NULL);
        still = sonde_token_held((uintptr_t)event) + sonde__cl_order_holds(event);
    } while (status == CL_SUCCESS && held != still);
    if (status != CL_SUCCESS)
        return status;
    count -= held;
    return answer_with(&count, sizeof count, size, value, size_ret);
}

cl_int CL_API_CALL sonde__clGetEventProfilingInfo(cl_event event, cl_profiling_info info,
                                                  size_t size, void *value, size_t *size_ret)
{
    const cl_icd_dispatch *real = sonde__cl_target(event);
    cl_command_queue queue = NULL;
    if (real->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) == CL_SUCCESS &&
        queue && sonde__cl_queue_hidden(sonde__cl_queue(queue)))
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return real->clGetEventProfilingInfo(event, info, size, value, size_ret);
}

/* Events that no operation of ours stands behind, at handles that perhaps one did before. */
#define EVENT_MADE(function, parameters, arguments, object, made)        \
    cl_event CL_API_CALL sonde__##function parameters                    \
    {                                                                    \
        sonde__cl_clean_point();                                         \
        const cl_event event = sonde__cl_target(object)->function arguments; \
        if (event)                                                       \
            made;                                                        \
        return event;                                                    \
    }

EVENT_MADE(clCreateUserEvent, (cl_context context, cl_int *error), (context, error), context,
           sonde__cl_user_event_made(event))
EVENT_MADE(clCreateEventFromGLsyncKHR, (cl_context context, cl_GLsync sync, cl_int *error),
           (context, sync, error), context, sonde__cl_event_made(event, 0))
EVENT_MADE(clCreateEventFromEGLSyncKHR,
           (cl_context context, CLeglSyncKHR sync, CLeglDisplayKHR display, cl_int *error),
           (context, sync, display, error), context, sonde__cl_event_made(event, 0))

/* The last reference to an event may be what keeps a watched context alive. */
cl_int CL_API_CALL sonde__clReleaseEvent(cl_event event)
{
    if (atomic_load_explicit(&deaths_watched, memory_order_relaxed))
        settle();
    return sonde__cl_target(event)->clReleaseEvent(event);
}

/* ---- deaths ---------------------------------------------------------------------------- */

bool sonde__cl_deaths_watched(void)
{
    return atomic_load_explicit(&deaths_watched, memory_order_relaxed);
}

#define DEATH_WATCH(function, handle_type)                                                     \
    cl_int CL_API_CALL sonde__##function(                                                      \
        handle_type handle, void(CL_CALLBACK *callback)(handle_type, void *), void *data)      \
    {                                                                                          \
        atomic_store_explicit(&deaths_watched, true, memory_order_relaxed);                    \
        return sonde__cl_target(handle)->function(handle, callback, data);                     \
    }

DEATH_WATCH(clSetContextDestructorCallback, cl_context)
DEATH_WATCH(clSetMemObjectDestructorCallback, cl_mem)

/* ---- functions by address ------------------------------------------------------------- */

void *CL_API_CALL sonde__clGetExtensionFunctionAddress(const char *name)
{
    sonde__cl_clean_point();
    return sonde__cl_extension(NULL, name,
                               sonde__cl_target(NULL)->clGetExtensionFunctionAddress(name));
}

void *CL_API_CALL sonde__clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                                  const char *name)
{
    sonde__cl_clean_point();
    return sonde__cl_extension(
        platform, name,
        sonde__cl_target(platform)->clGetExtensionFunctionAddressForPlatform(platform, name));
}
