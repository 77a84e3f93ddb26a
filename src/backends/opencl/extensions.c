/* extensions.c - functions that programs get by address, past every table.
 *
 * clGetExtensionFunctionAddress* hands out the vendor's own function. For one
 * that we hook, the program gets our hook instead, and ours calls the vendor's
 * for the platform that the queue or context belongs to: two platforms may
 * offer the same extension.
 */
#include "hook.h"

#include <string.h>

#include "guest/lock.h"
#include "il.h"

enum { PLATFORMS_MAX = 16 };

struct extensions {
    cl_platform_id platform; /* NULL: asked for without a platform */
#define X(name) name##_fn name;
    SONDE_CL_EXTENSION_MAP(X)
#undef X
};

#define X(name) extern __typeof__(*(name##_fn)0) sonde__##name;
SONDE_CL_EXTENSION_MAP(X)
#undef X

static struct extensions known[PLATFORMS_MAX];
static _Atomic uint32_t known_count;
static struct sonde_lock known_lock;

static struct extensions *extensions_of(cl_platform_id platform)
{
    const uint32_t count = atomic_load_explicit(&known_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (known[i].platform == platform)
            return &known[i];
    return NULL;
}

static struct extensions *extensions_make(cl_platform_id platform)
{
    sonde__lock(&known_lock);
    struct extensions *extensions = extensions_of(platform);
    const uint32_t count = atomic_load_explicit(&known_count, memory_order_relaxed);
    if (!extensions && count < PLATFORMS_MAX) {
        extensions = &known[count];
        extensions->platform = platform;
        atomic_store_explicit(&known_count, count + 1, memory_order_release);
    }
    sonde__unlock(&known_lock);
    return extensions;
}

void *sonde__cl_extension(cl_platform_id platform, const char *name, void *real)
{
    if (!real || !name || sonde_is_attached()) /* the program would have ours for good */
        return real;
#define X(function)                  \
    if (strcmp(name, #function) == 0) \
        return (void *)(uintptr_t)sonde__##function;
    SONDE_CL_TABLE_MAP(X)
#undef X
    struct extensions *extensions = extensions_make(platform);
    if (!extensions)
        return real;
#define X(function)                                  \
    if (strcmp(name, #function) == 0) {              \
        extensions->function = (function##_fn)(uintptr_t)real;  \
        return (void *)(uintptr_t)sonde__##function;            \
    }
    SONDE_CL_EXTENSION_MAP(X)
#undef X
    return real;
}

static cl_platform_id device_platform(cl_device_id device)
{
    cl_platform_id platform = NULL;
    if (device)
        sonde__cl_target(device)->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform,
                                                  &platform, NULL);
    return platform;
}

/* The table in which the function at `offset` is there: the platform's own, or
 * that of functions asked for without a platform, or any. The program has got
 * its pointer through one of them. */
static const struct extensions *extensions_with(cl_platform_id platform, size_t offset)
{
    const struct extensions *const candidates[] = {extensions_of(platform),
                                                   extensions_of(NULL)};
    const struct extensions *found = &known[0];
    for (uint32_t i = atomic_load_explicit(&known_count, memory_order_acquire); i-- > 0;)
        if (*(void *const *)((const char *)&known[i] + offset))
            found = &known[i];
    for (int i = 1; i >= 0; i--)
        if (candidates[i] && *(void *const *)((const char *)candidates[i] + offset))
            found = candidates[i];
    return found;
}

static const struct extensions *queue_extensions(cl_command_queue queue, size_t offset)
{
    cl_device_id device = NULL;
    sonde__cl_target(queue)->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device,
                                                   NULL);
    return extensions_with(device_platform(device), offset);
}

static const struct extensions *context_extensions(cl_context context, size_t offset)
{
    cl_device_id devices[64] = {NULL};
    sonde__cl_target(context)->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices,
                                                devices, NULL);
    return extensions_with(device_platform(devices[0]), offset);
}

/* ---- Intel's unified shared memory ----------------------------------------------- */

/* `taken`: the memory that is the queue's device's from then on. */
#define USM_ENQUEUE(function, parameters, arguments, blocking, taken, ...)                    \
    ENQUEUE_WRITES_WITH(queue_extensions(command_queue, offsetof(struct extensions, function)), \
                        function, parameters, arguments, blocking, WRITES(taken), __VA_ARGS__)
#define TAKES(pointer) .taken = (const void *const[]){pointer}, .taken_bytes = &bytes, .taken_count = bytes > 0
#define MOVES(pointer, host) TAKES(pointer), .by_host = (host)

USM_ENQUEUE(clEnqueueMemcpyINTEL,
            (cl_command_queue command_queue, cl_bool blocking, void *target, const void *source,
             size_t bytes, WAITS),
            (command_queue, blocking, target, source, bytes, WAITED), blocking, TAKES(target),
            between(&enqueue.call, SONDE_OP_SVM_COPY, bytes, sonde__cl_svm_object(source),
                    sonde__cl_svm_object(target)))

USM_ENQUEUE(clEnqueueMemFillINTEL,
            (cl_command_queue command_queue, void *pointer, const void *pattern,
             size_t pattern_bytes, size_t bytes, WAITS),
            (command_queue, pointer, pattern, pattern_bytes, bytes, WAITED), false, TAKES(pointer),
            op(SONDE_OP_SVM_FILL, bytes, sonde__cl_svm_object(pointer)))

USM_ENQUEUE(clEnqueueMigrateMemINTEL,
            (cl_command_queue command_queue, const void *pointer, size_t bytes,
             cl_mem_migration_flags flags, WAITS),
            (command_queue, pointer, bytes, flags, WAITED), false, MOVES(pointer, flags &CL_MIGRATE_MEM_OBJECT_HOST),
            op(SONDE_OP_SVM_MIGRATE, bytes, sonde__cl_svm_object(pointer)))

#define USM_CALL(type, function, parameters, expression, ...)                                 \
    CALL_WITH(context_extensions(context, offsetof(struct extensions, function)), type,       \
              function, parameters, expression, __VA_ARGS__)
#define USM_ALLOC(function, kind, device, parameters, arguments)     \
    USM_CALL(void *, function, parameters, real->function arguments, \
             if (result) sonde__cl_svm_made(made_by, kind, context, device, result, bytes, (kind) == SONDE_OBJECT_MANAGED))

USM_ALLOC(clHostMemAllocINTEL, SONDE_OBJECT_PINNED, NULL,
          (cl_context context, const cl_mem_properties_intel *properties, size_t bytes,
           cl_uint alignment, cl_int *error),
          (context, properties, bytes, alignment, error))

USM_ALLOC(clDeviceMemAllocINTEL, SONDE_OBJECT_DEVICE, device,
          (cl_context context, cl_device_id device, const cl_mem_properties_intel *properties,
           size_t bytes, cl_uint alignment, cl_int *error),
          (context, device, properties, bytes, alignment, error))

USM_ALLOC(clSharedMemAllocINTEL, SONDE_OBJECT_MANAGED, device,
          (cl_context context, cl_device_id device, const cl_mem_properties_intel *properties,
           size_t bytes, cl_uint alignment, cl_int *error),
          (context, device, properties, bytes, alignment, error))

/* It may wait for kernels that write there. */
static cl_int usm_free(clMemFreeINTEL_fn release, cl_context context, void *pointer)
{
    void *ours = sonde__cl_svm_freed(pointer);
    const cl_int status = release(context, pointer);
    if (ours)
        sonde__cl_target(context)->clSVMFree(context, ours);
    return status;
}

#define USM_FREE(function) \
    USM_CALL(cl_int, function, (cl_context context, void *pointer), usm_free(real->function, context, pointer), NOTHING)

USM_FREE(clMemFreeINTEL)
USM_FREE(clMemBlockingFreeINTEL)

cl_int sonde__cl_argument_usm(cl_kernel kernel, cl_uint index, const void *value)
{
    cl_context context = NULL;
    sonde__cl_target(kernel)->clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, &context, NULL);
    const struct extensions *real =
        context_extensions(context, offsetof(struct extensions, clSetKernelArgMemPointerINTEL));
    return real->clSetKernelArgMemPointerINTEL(kernel, index, value);
}

cl_int CL_API_CALL sonde__clSetKernelArgMemPointerINTEL(cl_kernel kernel, cl_uint index,
                                                        const void *value)
{
    const cl_int status = sonde__cl_argument_usm(kernel, index, value);
    if (status == CL_SUCCESS)
        sonde__cl_argument_pointer(kernel, index, value);
    if (status == CL_SUCCESS && sonde_values_wanted(SONDE_VALUES_REMOTE))
        sonde__cl_twin_argument(kernel, index, sizeof value, value, SONDE_CL_SET_USM);
    return status;
}

/* ---- queues of OpenCL 1.2 with properties ------------------------------------------- */

CALL_WITH(context_extensions(context,
                             offsetof(struct extensions, clCreateCommandQueueWithPropertiesKHR)),
          cl_command_queue, clCreateCommandQueueWithPropertiesKHR,
          (cl_context context, cl_device_id device, const cl_queue_properties_khr *properties,
           cl_int *error),
          sonde__cl_queue_make((sonde__cl_queue_maker)real->clCreateCommandQueueWithPropertiesKHR,
                               context, device, (const cl_queue_properties *)properties, error),
          NOTHING)

/* ---- SPIR-V before OpenCL 2.1 ------------------------------------------------------------ */

CALL_WITH(context_extensions(context, offsetof(struct extensions, clCreateProgramWithILKHR)),
          cl_program, clCreateProgramWithILKHR,
          (cl_context context, const void *il, size_t length, cl_int *error),
          real->clCreateProgramWithILKHR(context, il, length, error),
          if (result) sonde__cl_il_made(result))

/* ---- command buffers ------------------------------------------------------------------ */

/* What its commands use is not followed. */
static void buffer_made(const struct sonde_call *made_by, cl_command_buffer_khr buffer, cl_command_queue queue)
{
    sonde__cl_buffer_made(buffer, queue);
    if (made_by)
        sonde_object_uses_hidden();
}

/* The queue that a buffer is made for is the one it runs on when the enqueuing
 * call names none. We note it here: asked for CL_COMMAND_BUFFER_QUEUES_KHR,
 * PoCL 3.1 answers with the address of its list in place of the first queue. */
CALL_WITH(queue_extensions((count && queues) ? queues[0] : NULL,
                           offsetof(struct extensions, clCreateCommandBufferKHR)),
          cl_command_buffer_khr, clCreateCommandBufferKHR,
          (cl_uint count, const cl_command_queue *queues,
           const cl_command_buffer_properties_khr *properties, cl_int *error),
          real->clCreateCommandBufferKHR(count, queues, properties, error),
          if (result) buffer_made(made_by, result, queues[0]))

cl_int CL_API_CALL sonde__clEnqueueCommandBufferKHR(cl_uint count, cl_command_queue *queues,
                                                    cl_command_buffer_khr buffer, WAITS)
{
    const size_t offset = offsetof(struct extensions, clEnqueueCommandBufferKHR);
    cl_command_queue queue = count && queues ? queues[0] : sonde__cl_buffer_queue(buffer);
    const struct extensions *real =
        queue ? queue_extensions(queue, offset) : extensions_with(NULL, offset);
    struct sonde_cl_enqueue enqueue;
    if (!sonde__cl_enqueue_begin(&enqueue, API_clEnqueueCommandBufferKHR, queue, WAITED))
        return sonde__cl_unrecorded(real->clEnqueueCommandBufferKHR(count, queues, buffer, WAITED), event);
    event = enqueue.event;
    sonde__cl_order_unknown(&enqueue, queue);
    sonde__cl_order_waits(&enqueue, &wait_count, &wait_list);
    const cl_int status = real->clEnqueueCommandBufferKHR(count, queues, buffer, WAITED);
    sonde_call_leave(&enqueue.call);
    struct sonde_submit submit = op(SONDE_OP_COMMAND_BUFFER, 0, 0);
    sonde__cl_enqueue_end(&enqueue, status, false, &submit, queue);
    return status;
}
