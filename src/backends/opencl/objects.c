/* objects.c - what the runtime's handles stand for.
 *
 * Queues and memory objects are noted when they are made, whether the agent
 * records or not; what the agent must be told (lanes, devices, names, launch
 * configurations) is told at the first operation that needs it, so that an
 * object which is never used costs nothing. Handles that were made before we
 * got hold of the runtime are asked about when first met.
 */
#include "opencl.h"

#include <stdio.h>
#include <string.h>

#include "guest/lock.h"
#include "guest/memory.h"
#include "guest/records.h"
#include "shared.h"

struct sonde_cl_work {
    const struct sonde_cl_work *next; /* same hash */
    uint32_t id;
    cl_uint dims;
    bool has_local;
    size_t global[3], local[3];
};

struct command_buffer {
    _Atomic cl_command_queue queue;
};

struct work_bucket {
    const struct sonde_cl_work *_Atomic first;
};

struct context {
    _Atomic uint32_t number;
};

enum { LANE_BLOCK = 1024 };
enum { LANE_BLOCKS = 4096 };
typedef struct sonde_cl_device *_Atomic lane_slot;

static struct sonde_records queues, kernels, mems, svms, works, contexts, devices, buffers;
static struct sonde_lock slow_lock; /* first use of anything */
static struct sonde_cl_device *_Atomic device_list;
static lane_slot *_Atomic lane_devices[LANE_BLOCKS];
static uint32_t context_count, queue_count;

/* The handle this thread used last. Records are for good, so this never goes stale. */
static _Thread_local struct {
    cl_command_queue handle;
    struct sonde_cl_queue *record;
} last_queue;
static _Thread_local struct {
    cl_kernel handle;
    struct sonde_cl_kernel *record;
} last_kernel;

/* ---- devices ------------------------------------------------------------ */

static void device_text(const cl_icd_dispatch *real, cl_device_id device, cl_device_info what,
                        char *text, size_t size)
{
    text[0] = '\0';
    if (real->clGetDeviceInfo(device, what, size, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    text[size - 1] = '\0';
}

static uint32_t device_kind(const cl_icd_dispatch *real, cl_device_id device)
{
    cl_device_type type = 0;
    real->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return type & CL_DEVICE_TYPE_GPU           ? 2
           : type & CL_DEVICE_TYPE_CPU         ? 1
           : type & CL_DEVICE_TYPE_ACCELERATOR ? 3
                                               : 0;
}

static uint32_t device_tell(cl_device_id device)
{
    const cl_icd_dispatch *real = sonde__cl_target(device);
    char platform[128] = "", name[160], vendor[128], driver[128];
    cl_platform_id platform_id = NULL;
    cl_device_id parent = NULL;
    cl_ulong memory_bytes = 0;
    cl_uint units = 0;
    real->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform_id, &platform_id, NULL);
    if (platform_id)
        real->clGetPlatformInfo(platform_id, CL_PLATFORM_NAME, sizeof platform, platform, NULL);
    platform[sizeof platform - 1] = '\0';
    device_text(real, device, CL_DEVICE_NAME, name, sizeof name - sizeof " (sub-device)");
    device_text(real, device, CL_DEVICE_VENDOR, vendor, sizeof vendor);
    device_text(real, device, CL_DRIVER_VERSION, driver, sizeof driver);
    real->clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory_bytes, &memory_bytes,
                          NULL);
    real->clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    real->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL);
    if (parent)
        strcat(name, " (sub-device)");
    return sonde_device_add(&(struct sonde_device_info){
        .platform = platform,
        .name = name,
        .vendor = vendor,
        .driver = driver,
        .kind = device_kind(real, device),
        .memory_bytes = memory_bytes,
        .compute_units = units,
    });
}

/* With slow_lock held, inside a recorded call. */
static struct sonde_cl_device *device_get(cl_device_id handle)
{
    bool made;
    struct sonde_cl_device *device =
        sonde__records_make(&devices, (uintptr_t)handle, sizeof *device, &made);
    if (!device || !made)
        return device;
    device->handle = handle;
    device->id = device_tell(handle);
    device->clock = sonde__cl_clock_create(handle);
    device->next = atomic_load_explicit(&device_list, memory_order_relaxed);
    atomic_store_explicit(&device_list, device, memory_order_release);
    return device;
}

struct sonde_cl_device *sonde__cl_devices(void)
{
    return atomic_load_explicit(&device_list, memory_order_acquire);
}

uint32_t sonde__cl_device_id(cl_device_id handle)
{
    sonde__lock(&slow_lock);
    const struct sonde_cl_device *device = device_get(handle);
    sonde__unlock(&slow_lock);
    return device ? device->id : 0;
}

/* ---- queues --------------------------------------------------------------- */

struct sonde_cl_queue *sonde__cl_queue(cl_command_queue handle)
{
    if (handle && last_queue.handle == handle)
        return last_queue.record;
    struct sonde_cl_queue *queue = sonde__records_find(&queues, (uintptr_t)handle);
    if (queue) {
        last_queue.handle = handle;
        last_queue.record = queue;
    }
    return queue;
}

static void queue_fill(struct sonde_cl_queue *queue, cl_command_queue_properties asked,
                       const cl_queue_properties *array, bool forced)
{
    uint32_t count = 0;
    if (array) {
        while (array[count] && count + 2 < sizeof queue->array / sizeof *queue->array)
            count += 2;
        memcpy(queue->array, array, count * sizeof *array);
        queue->array[count++] = 0;
    }
    queue->array_count = count;
    sonde__cl_order_fresh(queue->handle);
    atomic_store_explicit(&queue->values, NULL, memory_order_relaxed); /* of another queue, which had this handle */
    atomic_store_explicit(&queue->has_array, array != NULL, memory_order_relaxed);
    atomic_store_explicit(&queue->asked, asked, memory_order_relaxed);
    atomic_store_explicit(&queue->forced, forced, memory_order_relaxed);
    atomic_store_explicit(&queue->no_times, !forced && !(asked & CL_QUEUE_PROFILING_ENABLE),
                          memory_order_relaxed);
    atomic_store_explicit(&queue->device, NULL, memory_order_relaxed);
    atomic_store_explicit(&queue->lane, 0, memory_order_release);
}

void sonde__cl_queue_made(cl_command_queue handle, cl_command_queue_properties asked,
                          const cl_queue_properties *array, bool forced)
{
    struct sonde_cl_queue *queue =
        sonde__records_make(&queues, (uintptr_t)handle, sizeof *queue, NULL);
    if (!queue)
        return;
    queue->handle = handle;
    queue_fill(queue, asked, array, forced);
}

/* A queue that was made where we did not see it. With slow_lock held. */
static struct sonde_cl_queue *queue_met(const cl_icd_dispatch *real, cl_command_queue handle)
{
    bool made;
    struct sonde_cl_queue *queue =
        sonde__records_make(&queues, (uintptr_t)handle, sizeof *queue, &made);
    if (queue && made) {
        cl_command_queue_properties asked = 0;
        real->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof asked, &asked, NULL);
        queue->handle = handle;
        queue_fill(queue, asked, NULL, false);
    }
    return queue;
}

static uint32_t context_number(cl_context handle)
{
    struct context *context = sonde__records_make(&contexts, (uintptr_t)handle, sizeof *context, NULL);
    if (!context)
        return 0;
    uint32_t number = atomic_load_explicit(&context->number, memory_order_relaxed);
    if (number == 0) {
        number = ++context_count;
        atomic_store_explicit(&context->number, number, memory_order_relaxed);
    }
    return number;
}

void sonde__cl_context_made(cl_context handle)
{
    struct context *context = sonde__records_find(&contexts, (uintptr_t)handle);
    if (context)
        atomic_store_explicit(&context->number, 0, memory_order_relaxed);
    sonde__cl_shared_context(handle);
}

static void lane_remember(uint32_t lane, struct sonde_cl_device *device)
{
    if (lane / LANE_BLOCK >= LANE_BLOCKS)
        return;
    lane_slot *_Atomic *block = &lane_devices[lane / LANE_BLOCK];
    if (!atomic_load_explicit(block, memory_order_relaxed))
        atomic_store_explicit(block, sonde__memory_get(LANE_BLOCK * sizeof(lane_slot)),
                              memory_order_release);
    lane_slot *slots = atomic_load_explicit(block, memory_order_relaxed);
    if (slots)
        atomic_store_explicit(&slots[lane % LANE_BLOCK], device, memory_order_release);
}

struct sonde_cl_device *sonde__cl_lane_device(uint32_t lane)
{
    if (lane / LANE_BLOCK >= LANE_BLOCKS)
        return NULL;
    lane_slot *slots =
        atomic_load_explicit(&lane_devices[lane / LANE_BLOCK], memory_order_acquire);
    return slots ? atomic_load_explicit(&slots[lane % LANE_BLOCK], memory_order_acquire) : NULL;
}

/* With slow_lock held. */
static uint32_t lane_make(const cl_icd_dispatch *real, struct sonde_cl_queue *queue)
{
    cl_device_id device_handle = NULL;
    cl_context context = NULL;
    real->clGetCommandQueueInfo(queue->handle, CL_QUEUE_DEVICE, sizeof device_handle,
                                &device_handle, NULL);
    real->clGetCommandQueueInfo(queue->handle, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    struct sonde_cl_device *device = device_get(device_handle);
    uint32_t flags = 0;
    if (sonde__cl_out_of_order(queue))
        flags |= SONDE_LANE_OUT_OF_ORDER;
    if (atomic_load_explicit(&queue->no_times, memory_order_relaxed))
        flags |= SONDE_LANE_NO_TIMES;
    char name[32];
    snprintf(name, sizeof name, "queue %u", ++queue_count);
    uint32_t lane = sonde_lane_add(device ? device->id : 0, context_number(context), flags, name);
    lane_remember(lane, device);
    atomic_store_explicit(&queue->device, device, memory_order_relaxed);
    atomic_store_explicit(&queue->lane, lane, memory_order_release);
    return lane;
}

uint32_t sonde__cl_queue_lane(struct sonde_cl_queue *queue)
{
    uint32_t lane = atomic_load_explicit(&queue->lane, memory_order_acquire);
    if (lane)
        return lane;
    sonde__lock(&slow_lock);
    lane = atomic_load_explicit(&queue->lane, memory_order_acquire);
    if (!lane)
        lane = lane_make(sonde__cl_target(queue->handle), queue);
    sonde__unlock(&slow_lock);
    return lane;
}

struct sonde_cl_queue *sonde__cl_queue_used(cl_command_queue handle)
{
    struct sonde_cl_queue *queue = sonde__cl_queue(handle);
    if (!queue && handle) {
        sonde__lock(&slow_lock);
        queue = queue_met(sonde__cl_target(handle), handle);
        sonde__unlock(&slow_lock);
    }
    return queue;
}

void sonde__cl_buffer_made(cl_command_buffer_khr handle, cl_command_queue queue)
{
    struct command_buffer *buffer =
        sonde__records_make(&buffers, (uintptr_t)handle, sizeof *buffer, NULL);
    if (buffer)
        atomic_store_explicit(&buffer->queue, queue, memory_order_relaxed);
}

cl_command_queue sonde__cl_buffer_queue(cl_command_buffer_khr handle)
{
    struct command_buffer *buffer = sonde__records_find(&buffers, (uintptr_t)handle);
    return buffer ? atomic_load_explicit(&buffer->queue, memory_order_relaxed) : NULL;
}

/* ---- kernels ---------------------------------------------------------------- */

struct sonde_cl_kernel *sonde__cl_kernel(cl_kernel handle)
{
    if (handle && last_kernel.handle == handle)
        return last_kernel.record;
    struct sonde_cl_kernel *kernel =
        sonde__records_make(&kernels, (uintptr_t)handle, sizeof *kernel, NULL);
    if (kernel) {
        last_kernel.handle = handle;
        last_kernel.record = kernel;
    }
    return kernel;
}

void sonde__cl_kernel_made(cl_kernel handle)
{
    sonde__cl_twin_keep(handle);
    struct sonde_cl_kernel *kernel = sonde__records_find(&kernels, (uintptr_t)handle);
    if (!kernel)
        return;
    kernel->arguments.count = kernel->indirect.count = kernel->parameters_known = 0;
    sonde__cl_twin_made(kernel);
    atomic_store_explicit(&kernel->named, false, memory_order_release);
}

uint32_t sonde__cl_kernel_name(cl_kernel handle, struct sonde_cl_kernel *kernel)
{
    if (!kernel)
        return 0;
    if (atomic_load_explicit(&kernel->named, memory_order_acquire))
        return atomic_load_explicit(&kernel->name, memory_order_relaxed);
    char text[1024];
    size_t length = 0;
    uint32_t name = 0;
    if (sonde__cl_target(handle)->clGetKernelInfo(handle, CL_KERNEL_FUNCTION_NAME, sizeof text,
                                                  text, &length) == CL_SUCCESS &&
        length > 1)
        name = sonde_string(text, length - 1);
    atomic_store_explicit(&kernel->name, name, memory_order_relaxed);
    atomic_store_explicit(&kernel->named, true, memory_order_release);
    return name;
}

static bool work_equal(const struct sonde_cl_work *work, cl_uint dims, const size_t *global,
                       const size_t *local)
{
    const size_t bytes = dims * sizeof(size_t);
    return work->dims == dims && work->has_local == (local != NULL) &&
           memcmp(work->global, global, bytes) == 0 &&
           (!local || memcmp(work->local, local, bytes) == 0);
}

static uintptr_t work_hash(cl_uint dims, const size_t *global, const size_t *local)
{
    uint64_t hash = dims + (local ? 8 : 0);
    for (cl_uint i = 0; i < dims; i++) {
        hash = (hash ^ global[i]) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ (hash >> 29) ^ (local ? local[i] : 0)) * 0xbf58476d1ce4e5b9u;
    }
    return (uintptr_t)(hash >> 1 | 1); /* never 0, which is no key */
}

/* The known configuration, or a new one told to the agent; NULL when memory is spent. */
static const struct sonde_cl_work *work_get(cl_uint dims, const size_t *global,
                                            const size_t *local)
{
    struct work_bucket *bucket =
        sonde__records_make(&works, work_hash(dims, global, local), sizeof *bucket, NULL);
    if (!bucket)
        return NULL;
    const struct sonde_cl_work *first = atomic_load_explicit(&bucket->first, memory_order_acquire);
    for (const struct sonde_cl_work *work = first; work; work = work->next)
        if (work_equal(work, dims, global, local))
            return work;
    uint32_t id = sonde_work_add(dims, global, local);
    struct sonde_cl_work *made = id ? sonde__memory_get(sizeof *made) : NULL;
    if (!made)
        return NULL;
    made->id = id;
    made->dims = dims;
    made->has_local = local != NULL;
    memcpy(made->global, global, dims * sizeof *global);
    if (local)
        memcpy(made->local, local, dims * sizeof *local);
    do
        made->next = first;
    while (!atomic_compare_exchange_weak(&bucket->first, &first, made));
    return made;
}

uint32_t sonde__cl_kernel_work(struct sonde_cl_kernel *kernel, cl_uint dims, const size_t *global,
                               const size_t *local)
{
    if (!kernel || !global || dims < 1 || dims > 3)
        return 0;
    const struct sonde_cl_work *work = atomic_load_explicit(&kernel->last, memory_order_acquire);
    if (work && work_equal(work, dims, global, local))
        return work->id;
    work = work_get(dims, global, local);
    if (work)
        atomic_store_explicit(&kernel->last, work, memory_order_release);
    return work ? work->id : 0;
}

/* ---- memory objects ----------------------------------------------------------- */

struct sonde_cl_mem *sonde__cl_mem(cl_mem handle)
{
    return sonde__records_make(&mems, (uintptr_t)handle, sizeof(struct sonde_cl_mem), NULL);
}

static void object_drop(struct sonde_cl_mem *mem)
{
    uint32_t object = atomic_exchange_explicit(&mem->object, 0, memory_order_relaxed);
    if (object)
        sonde_object_free(object);
}

/* The only device of a context; 0 where it has several. Inside a recorded call. */
static uint32_t only_device(const cl_icd_dispatch *real, cl_context context)
{
    cl_uint count = 0;
    cl_device_id handle = NULL;
    if (real->clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL) != CL_SUCCESS ||
        count != 1 ||
        real->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof handle, &handle, NULL) != CL_SUCCESS)
        return 0;
    return sonde__cl_device_id(handle);
}

/* The object whose memory this one shares: what it is a part or an image of, or
 * the shared virtual memory that it was laid over. */
static uint32_t parent_of(const cl_icd_dispatch *real, cl_mem handle)
{
    cl_mem whole = NULL;
    void *host = NULL;
    if (real->clGetMemObjectInfo(handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof whole, &whole, NULL) == CL_SUCCESS &&
        whole)
        return sonde__cl_mem_object(whole);
    if (real->clGetMemObjectInfo(handle, CL_MEM_HOST_PTR, sizeof host, &host, NULL) == CL_SUCCESS && host)
        return sonde__cl_svm_object(host);
    return 0;
}

/* The shared virtual memory itself, where somebody asks for it. */
static const void *memory_over(const cl_icd_dispatch *real, cl_mem handle)
{
    void *host = NULL;
    return sonde_values_wanted(SONDE_VALUES_REMOTE) && real->clGetMemObjectInfo(handle, CL_MEM_HOST_PTR, sizeof host, &host, NULL) == CL_SUCCESS ? host : NULL;
}

/* From the runtime, in whichever thread let the object die. */
static void CL_CALLBACK mem_died(cl_mem handle, void *record)
{
    (void)handle;
    object_drop(record);
}

void sonde__cl_mem_made(const struct sonde_call *call, cl_mem handle, enum sonde_object_kind kind)
{
    struct sonde_cl_mem *mem = sonde__cl_mem(handle);
    if (!mem)
        return;
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    size_t bytes = 0;
    real->clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    object_drop(mem); /* a stale one, whose death nobody told us */
    atomic_store_explicit(&mem->pixel_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&mem->writer, NULL, memory_order_relaxed);
    atomic_store_explicit(&mem->mapped, false, memory_order_relaxed);
    sonde__cl_values_made(handle, mem, bytes);
    atomic_store_explicit(&mem->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&mem->over, memory_over(real, handle), memory_order_relaxed);
    if (!call)
        return;
    cl_context context = NULL;
    const uint32_t object = sonde_object_add(call, kind, bytes, (uintptr_t)handle);
    real->clGetMemObjectInfo(handle, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    sonde_object_place(object, only_device(real, context), parent_of(real, handle));
    atomic_store_explicit(&mem->object, object, memory_order_relaxed);
    atomic_store_explicit(
        &mem->watched,
        !sonde_is_attached() && real->clSetMemObjectDestructorCallback(handle, mem_died, mem) == CL_SUCCESS,
        memory_order_relaxed);
}

void sonde__cl_mem_released(cl_mem handle)
{
    struct sonde_cl_mem *mem = sonde__records_find(&mems, (uintptr_t)handle);
    cl_uint references = 0;
    if (!mem || atomic_load_explicit(&mem->watched, memory_order_relaxed) ||
        !atomic_load_explicit(&mem->object, memory_order_relaxed))
        return;
    if (sonde__cl_target(handle)->clGetMemObjectInfo(handle, CL_MEM_REFERENCE_COUNT,
                                                     sizeof references, &references, NULL) == CL_SUCCESS &&
        references == 1)
        object_drop(mem);
}

uint32_t sonde__cl_mem_object(cl_mem handle)
{
    struct sonde_cl_mem *mem = sonde__records_find(&mems, (uintptr_t)handle);
    return mem ? atomic_load_explicit(&mem->object, memory_order_relaxed) : 0;
}

/* One that was there before the agent was attached. */
static uint32_t mem_met(cl_mem handle)
{
    const cl_icd_dispatch *real = sonde__cl_target(handle);
    bool made = false;
    size_t bytes = 0;
    cl_mem_object_type type = 0;
    cl_context context = NULL;
    struct sonde_cl_mem *mem = sonde__records_make(&mems, (uintptr_t)handle, sizeof *mem, &made);
    if (!mem || !made)
        return mem ? atomic_load_explicit(&mem->object, memory_order_relaxed) : 0; /* another thread has met it */
    real->clGetMemObjectInfo(handle, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    real->clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof type, &type, NULL);
    real->clGetMemObjectInfo(handle, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    const uint32_t object = sonde_object_met(type == CL_MEM_OBJECT_BUFFER ? SONDE_OBJECT_BUFFER : SONDE_OBJECT_IMAGE, bytes, (uintptr_t)handle);
    sonde_object_place(object, only_device(real, context), parent_of(real, handle));
    atomic_store_explicit(&mem->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&mem->object, object, memory_order_relaxed);
    return object;
}

uint32_t sonde__cl_mem_used(cl_mem handle)
{
    const uint32_t object = sonde__cl_mem_object(handle);
    return object || !handle || !sonde_is_attached() ? object : mem_met(handle);
}

uint64_t sonde__cl_mem_bytes(cl_uint count, const cl_mem *handles)
{
    uint64_t bytes = 0;
    for (cl_uint i = 0; handles && i < count; i++) {
        size_t one = 0;
        sonde__cl_target(handles[i])
            ->clGetMemObjectInfo(handles[i], CL_MEM_SIZE, sizeof one, &one, NULL);
        bytes += one;
    }
    return bytes;
}

size_t sonde__cl_pixel_bytes(cl_mem image)
{
    struct sonde_cl_mem *mem = sonde__cl_mem(image);
    if (!mem)
        return 0;
    uint32_t known = atomic_load_explicit(&mem->pixel_bytes, memory_order_relaxed);
    if (known)
        return known;
    size_t bytes = 0;
    sonde__cl_target(image)->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof bytes, &bytes,
                                            NULL);
    atomic_store_explicit(&mem->pixel_bytes, (uint32_t)bytes, memory_order_relaxed);
    return bytes;
}

/* ---- shared virtual memory ------------------------------------------------------ */

void sonde__cl_svm_made(const struct sonde_call *call, enum sonde_object_kind kind, cl_context context, cl_device_id device,
                        const void *pointer, size_t bytes, bool silent)
{
    sonde__cl_shared_made(context, device, kind, pointer, bytes, silent);
    struct sonde_cl_mem *mem = sonde__records_make(&svms, (uintptr_t)pointer, sizeof *mem, NULL);
    if (!mem)
        return;
    object_drop(mem);
    mem->defined_from = mem->defined_to = 0;
    atomic_store_explicit(&mem->writer, NULL, memory_order_relaxed);
    atomic_store_explicit(&mem->mapped, false, memory_order_relaxed);
    atomic_store_explicit(&mem->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&mem->version, 1, memory_order_relaxed); /* what was known was of other memory */
    if (!call)
        return;
    const uint32_t object = sonde_object_add(call, kind, bytes, (uintptr_t)pointer);
    if (kind != SONDE_OBJECT_PINNED)
        sonde_object_place(object, device ? sonde__cl_device_id(device) : only_device(sonde__cl_target(context), context), 0);
    atomic_store_explicit(&mem->object, object, memory_order_relaxed);
}

void *sonde__cl_svm_freed(const void *pointer)
{
    struct sonde_cl_mem *mem = sonde__records_find(&svms, (uintptr_t)pointer);
    if (mem)
        object_drop(mem);
    return sonde__cl_shared_freed(pointer);
}

struct sonde_cl_mem *sonde__cl_svm(const void *base)
{
    return base ? sonde__records_find(&svms, (uintptr_t)base) : NULL;
}

struct sonde_cl_mem *sonde__cl_svm_around(const void *pointer, uint32_t *object, struct sonde_object_info *whole)
{
    *object = sonde__cl_svm_object(pointer);
    return *object && sonde_object_find(*object, whole) && (uintptr_t)pointer >= whole->address ? sonde__cl_svm((void *)(uintptr_t)whole->address) : NULL;
}

uint32_t sonde__cl_svm_object(const void *pointer)
{
    struct sonde_cl_mem *mem = sonde__records_find(&svms, (uintptr_t)pointer);
    const uint32_t object = mem ? atomic_load_explicit(&mem->object, memory_order_relaxed) : 0;
    return object ? object : sonde_object_at((uintptr_t)pointer); /* somewhere within one */
}

uint64_t sonde__cl_svm_bytes(cl_uint count, const void *const *pointers, const size_t *sizes)
{
    uint64_t bytes = 0;
    for (cl_uint i = 0; pointers && i < count; i++) {
        struct sonde_cl_mem *mem = sonde__records_find(&svms, (uintptr_t)pointers[i]);
        bytes += sizes && sizes[i] ? sizes[i]
                 : mem             ? atomic_load_explicit(&mem->bytes, memory_order_relaxed)
                                   : 0;
    }
    return bytes;
}

/* ---- fork ------------------------------------------------------------------------ */

void sonde__cl_objects_forget(void)
{
    struct sonde_records *const all[] = {&queues, &kernels, &mems, &svms,
                                         &works, &contexts, &devices, &buffers};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sonde__records_forget(all[i]);
    last_queue.handle = NULL;
    last_kernel.handle = NULL;
    atomic_store_explicit(&device_list, NULL, memory_order_relaxed);
    for (size_t i = 0; i < LANE_BLOCKS; i++)
        atomic_store_explicit(&lane_devices[i], NULL, memory_order_relaxed);
    context_count = queue_count = 0;
}
