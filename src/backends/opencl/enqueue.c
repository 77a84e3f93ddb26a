/* enqueue.c - hooks of the calls that put an operation on a queue.
 *
 * Each hook is one ENQUEUE: parameters, arguments, whether the call blocks,
 * and what it asks of the device (a struct sonde_submit). The runtime
 * is called with the program's own event, or with ours where the program
 * passed none; ours carries the times and is released by poll().
 *
 * Bytes: regions of rectangles are in bytes already, regions of images are
 * multiplied by the pixel size; every byte counts once per operation.
 */
#include "hook.h"
#include "remote.h"
#include "shared.h"

bool sonde__cl_enqueue_begin(struct sonde_cl_enqueue *enqueue, uint32_t api,
                             cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list,
                             cl_event *event)
{
    sonde__cl_clean_point();
    enqueue->twin = NULL;
    if (!sonde_call_begin(&enqueue->call, api))
        return false;
    enqueue->queue = sonde__cl_queue(queue);
    enqueue->own = NULL;
    enqueue->event = event ? event : &enqueue->own;
    enqueue->wait_count = wait_count;
    enqueue->wait_list = wait_list;
    enqueue->values = NULL;
    enqueue->writes = false;
    enqueue->missed = 0;
    enqueue->operation = enqueue->group = 0;
    enqueue->code = NULL;
    enqueue->mapping = NULL;
    enqueue->svm_mapped = NULL;
    enqueue->gate_count = wait_count;
    enqueue->gate_list = wait_list;
    enqueue->turn = NULL;
    enqueue->copied = false;
    enqueue->behind = enqueue->pinned = enqueue->bit = 0;
    /* The first operation of a device tells its clock. Its record exists from
     * the queue's first operation on; until then nobody knows, so look always. */
    struct sonde_cl_device *device =
        enqueue->queue ? atomic_load_explicit(&enqueue->queue->device, memory_order_relaxed)
                       : NULL;
    enqueue->probing = !device || sonde__cl_clock_wanted(device->clock);
    if (enqueue->probing)
        sonde__cl_bracket_take(&enqueue->before);
    return true;
}

static void probe(struct sonde_cl_enqueue *enqueue, uint64_t token)
{
    struct sonde_cl_device *device =
        atomic_load_explicit(&enqueue->queue->device, memory_order_relaxed);
    if (token && device && !atomic_load_explicit(&enqueue->queue->no_times, memory_order_relaxed) && sonde__cl_clock_wanted(device->clock))
        sonde__cl_clock_probe(device->clock, token, &enqueue->before);
}

/* What the operation `own` waits for, and what the call waited for. An in-order
 * queue orders by itself; that later work waits for a barrier its kind says. */
static void tell_waits(struct sonde_cl_enqueue *enqueue, const struct sonde_submit *submit,
                       uint64_t own, bool blocking)
{
    if (blocking)
        sonde_call_waits(&enqueue->call, &(struct sonde_wait){.op = own});
    if (enqueue->wait_count)
        sonde__cl_events_awaited(&enqueue->call, own, enqueue->wait_count, enqueue->wait_list);
    else if ((submit->kind == SONDE_OP_MARKER || submit->kind == SONDE_OP_BARRIER) &&
             sonde__cl_out_of_order(enqueue->queue))
        sonde_call_waits(&enqueue->call,
                         &(struct sonde_wait){.waiter = own, .lane = submit->lane});
}

void sonde__cl_enqueue_end(struct sonde_cl_enqueue *enqueue, cl_int status, bool blocking,
                           struct sonde_submit *submit, cl_command_queue queue)
{
    cl_event event = *enqueue->event;
    uint64_t own = 0;
    if (status == CL_SUCCESS && !enqueue->queue)
        enqueue->queue = sonde__cl_queue_used(queue);
    if (status == CL_SUCCESS && enqueue->queue) {
        submit->lane = sonde__cl_queue_lane(enqueue->queue);
        submit->token = (uintptr_t)event;
        if (event && event != enqueue->own)
            sonde__cl_target(event)->clRetainEvent(event);
        if (enqueue->probing)
            probe(enqueue, submit->token);
        sonde__cl_order_enqueued(enqueue, event);
        own = sonde_call_submit(&enqueue->call, submit);
        if (own)
            tell_waits(enqueue, submit, own, blocking);
    } else if (enqueue->own) {
        sonde__cl_target(enqueue->own)->clReleaseEvent(enqueue->own);
    }
    if (status == CL_SUCCESS && enqueue->event != &enqueue->own)
        sonde__cl_event_made(event, own);
    if (status == CL_SUCCESS)
        sonde__cl_order_made(enqueue, queue, submit->kind, enqueue->event != &enqueue->own ? event : NULL);
    if (enqueue->svm_mapped)
        sonde__cl_values_mapped(enqueue, status == CL_SUCCESS ? enqueue->svm_mapped : NULL);
    if (sonde_values_wanted(SONDE_VALUES_REMOTE))
        sonde__cl_remote_after(enqueue, own != 0);
    if (enqueue->writes)
        sonde__cl_values_after(enqueue, own != 0, queue, submit);
    sonde__cl_order_end(enqueue, queue);
    if (blocking)
        sonde_harvest(false);
    sonde_call_end(&enqueue->call);
}

static uint64_t region_items(const size_t *region)
{
    return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t image_bytes(cl_mem image, const size_t *region)
{
    return region_items(region) * sonde__cl_pixel_bytes(image);
}

/* The one object that an operation is about; 0 where there are several, which are then used.
 * `nth`: an object of the list. */
static uint32_t only_one(const struct sonde_call *call, cl_uint count, const void *list,
                         uint32_t (*nth)(const void *list, cl_uint i))
{
    enum { MOST = 64 };
    uint32_t used[MOST];
    if (count == 1 && list)
        return nth(list, 0);
    for (cl_uint i = 0, n = 0; list && i < count; i++) {
        used[n++] = nth(list, i);
        if (n == MOST || i + 1 == count) {
            sonde_call_uses(call, used, n);
            n = 0;
        }
    }
    return 0;
}

static uint32_t nth_object(const void *list, cl_uint i)
{
    return sonde__cl_mem_used(((const cl_mem *)list)[i]);
}

static uint32_t nth_pointer(const void *list, cl_uint i)
{
    return sonde__cl_svm_object(((const void *const *)list)[i]);
}

/* ---- kernels -------------------------------------------------------------- */

static struct sonde_submit launch(const struct sonde_call *call, cl_kernel handle, cl_uint dims,
                                  const size_t *global, const size_t *local)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(handle);
    sonde__cl_kernel_uses(call, kernel);
    return (struct sonde_submit){
        .kind = SONDE_OP_KERNEL,
        .name = sonde__cl_kernel_name(handle, kernel),
        .work = sonde__cl_kernel_work(kernel, dims, global, local),
    };
}

/* Work-items of a launch; whatever the runtime will say of its sizes. */
static uint64_t items_of(cl_uint dims, const size_t *global)
{
    uint64_t items = 1;
    for (cl_uint i = 0; global && i < dims && i < 3; i++)
        items *= global[i];
    return items;
}

ENQUEUE_WRITES(clEnqueueNDRangeKernel,
               (cl_command_queue command_queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                const size_t *global, const size_t *local, WAITS),
               (command_queue, sonde__cl_twin_kernel(&enqueue, kernel), dims, offset, global, local, WAITED), false, WRITES(.kernel = kernel, .items = items_of(dims, global)),
               launch(&enqueue.call, kernel, dims, global, local))

static const size_t single = 1;

ENQUEUE_WRITES(clEnqueueTask, (cl_command_queue command_queue, cl_kernel kernel, WAITS),
               (command_queue, sonde__cl_twin_kernel(&enqueue, kernel), WAITED), false, WRITES(.kernel = kernel), launch(&enqueue.call, kernel, 1, &single, &single))

ENQUEUE_WRITES(clEnqueueNativeKernel,
               (cl_command_queue command_queue, void(CL_CALLBACK *function)(void *), void *args,
                size_t args_bytes, cl_uint count, const cl_mem *objects, const void **locations, WAITS),
               (command_queue, function, args, args_bytes, count, objects, locations, WAITED), false, WRITES(.is_native = true, .objects = objects, .object_count = objects ? count : 0),
               op(SONDE_OP_NATIVE, 0, only_one(&enqueue.call, count, objects, nth_object)))

/* ---- buffers ----------------------------------------------------------------- */

ENQUEUE_WRITES(clEnqueueReadBuffer,
               (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking, size_t offset,
                size_t bytes, void *host, WAITS),
               (command_queue, buffer, blocking, offset, bytes, host, WAITED), blocking, WRITES(.source = buffer, .bytes = bytes),
               op(SONDE_OP_READ, bytes, sonde__cl_mem_used(buffer)))

ENQUEUE_WRITES(clEnqueueWriteBuffer,
               (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking, size_t offset,
                size_t bytes, const void *host, WAITS),
               (command_queue, buffer, blocking, offset, bytes, host, WAITED), blocking, WRITES(.mem = buffer, .from = offset, .bytes = bytes),
               op(SONDE_OP_WRITE, bytes, sonde__cl_mem_used(buffer)))

ENQUEUE_WRITES(clEnqueueReadBufferRect,
               (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
                const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,
                size_t host_row_pitch, size_t host_slice_pitch, void *host, WAITS),
               (command_queue, buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch,
                host_row_pitch, host_slice_pitch, host, WAITED),
               blocking, WRITES(.source = buffer), op(SONDE_OP_READ, region_items(region), sonde__cl_mem_used(buffer)))

ENQUEUE_WRITES(clEnqueueWriteBufferRect,
               (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
                const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,
                size_t host_row_pitch, size_t host_slice_pitch, const void *host, WAITS),
               (command_queue, buffer, blocking, origin, host_origin, region, row_pitch, slice_pitch,
                host_row_pitch, host_slice_pitch, host, WAITED),
               blocking, WRITES(.mem = buffer, RECTANGLE(origin, region, row_pitch, slice_pitch)), op(SONDE_OP_WRITE, region_items(region), sonde__cl_mem_used(buffer)))

ENQUEUE_WRITES(clEnqueueCopyBuffer,
               (cl_command_queue command_queue, cl_mem source, cl_mem target, size_t source_offset,
                size_t target_offset, size_t bytes, WAITS),
               (command_queue, source, target, source_offset, target_offset, bytes, WAITED), false, WRITES(.source = source, .mem = target, .from = target_offset, .bytes = bytes),
               between(&enqueue.call, SONDE_OP_COPY, bytes, sonde__cl_mem_used(source),
                       sonde__cl_mem_used(target)))

ENQUEUE_WRITES(clEnqueueCopyBufferRect,
               (cl_command_queue command_queue, cl_mem source, cl_mem target,
                const size_t *source_origin, const size_t *target_origin, const size_t *region,
                size_t source_row_pitch, size_t source_slice_pitch, size_t target_row_pitch,
                size_t target_slice_pitch, WAITS),
               (command_queue, source, target, source_origin, target_origin, region, source_row_pitch,
                source_slice_pitch, target_row_pitch, target_slice_pitch, WAITED),
               false, WRITES(.source = source, .mem = target, RECTANGLE(target_origin, region, target_row_pitch, target_slice_pitch)),
               between(&enqueue.call, SONDE_OP_COPY, region_items(region), sonde__cl_mem_used(source),
                       sonde__cl_mem_used(target)))

ENQUEUE_WRITES(clEnqueueFillBuffer,
               (cl_command_queue command_queue, cl_mem buffer, const void *pattern, size_t pattern_bytes,
                size_t offset, size_t bytes, WAITS),
               (command_queue, buffer, pattern, pattern_bytes, offset, bytes, WAITED), false, WRITES(.mem = buffer, .from = offset, .bytes = bytes),
               op(SONDE_OP_FILL, bytes, sonde__cl_mem_used(buffer)))

/* ---- images -------------------------------------------------------------------- */

ENQUEUE_WRITES(clEnqueueReadImage,
               (cl_command_queue command_queue, cl_mem image, cl_bool blocking, const size_t *origin,
                const size_t *region, size_t row_pitch, size_t slice_pitch, void *host, WAITS),
               (command_queue, image, blocking, origin, region, row_pitch, slice_pitch, host, WAITED),
               blocking, WRITES(.source = image), op(SONDE_OP_IMAGE_READ, image_bytes(image, region), sonde__cl_mem_used(image)))

ENQUEUE_WRITES(clEnqueueWriteImage,
               (cl_command_queue command_queue, cl_mem image, cl_bool blocking, const size_t *origin,
                const size_t *region, size_t row_pitch, size_t slice_pitch, const void *host, WAITS),
               (command_queue, image, blocking, origin, region, row_pitch, slice_pitch, host, WAITED),
               blocking, WRITES(PIXELS(image, origin, region)),
               op(SONDE_OP_IMAGE_WRITE, image_bytes(image, region), sonde__cl_mem_used(image)))

ENQUEUE_WRITES(clEnqueueCopyImage,
               (cl_command_queue command_queue, cl_mem source, cl_mem target,
                const size_t *source_origin, const size_t *target_origin, const size_t *region, WAITS),
               (command_queue, source, target, source_origin, target_origin, region, WAITED), false, WRITES(.source = source, PIXELS(target, target_origin, region)),
               between(&enqueue.call, SONDE_OP_IMAGE_COPY, image_bytes(source, region),
                       sonde__cl_mem_used(source), sonde__cl_mem_used(target)))

ENQUEUE_WRITES(clEnqueueFillImage,
               (cl_command_queue command_queue, cl_mem image, const void *colour, const size_t *origin,
                const size_t *region, WAITS),
               (command_queue, image, colour, origin, region, WAITED), false, WRITES(PIXELS(image, origin, region)),
               op(SONDE_OP_IMAGE_FILL, image_bytes(image, region), sonde__cl_mem_used(image)))

ENQUEUE_WRITES(clEnqueueCopyImageToBuffer,
               (cl_command_queue command_queue, cl_mem image, cl_mem buffer, const size_t *origin,
                const size_t *region, size_t offset, WAITS),
               (command_queue, image, buffer, origin, region, offset, WAITED), false, WRITES(.source = image, .mem = buffer, .from = offset, .bytes = image_bytes(image, region)),
               between(&enqueue.call, SONDE_OP_IMAGE_COPY, image_bytes(image, region),
                       sonde__cl_mem_used(image), sonde__cl_mem_used(buffer)))

ENQUEUE_WRITES(clEnqueueCopyBufferToImage,
               (cl_command_queue command_queue, cl_mem buffer, cl_mem image, size_t offset,
                const size_t *origin, const size_t *region, WAITS),
               (command_queue, buffer, image, offset, origin, region, WAITED), false, WRITES(.source = buffer, PIXELS(image, origin, region)),
               between(&enqueue.call, SONDE_OP_IMAGE_COPY, image_bytes(image, region),
                       sonde__cl_mem_used(image), sonde__cl_mem_used(buffer)))

/* ---- maps: they return the pointer, and the status through their last argument -- */

#define ENQUEUE_MAP(function, parameters, arguments, blocking, before, ...)                        \
    void *CL_API_CALL sonde__##function parameters                                         \
    {                                                                                      \
        const cl_icd_dispatch *real = sonde__cl_target(command_queue);                     \
        struct sonde_cl_enqueue enqueue;                                                   \
        cl_int unasked;                                                                    \
        if (!sonde__cl_enqueue_begin(&enqueue, API_##function, command_queue, WAITED)) {   \
            void *const passed = real->function arguments;                                 \
            sonde__cl_unrecorded(passed ? CL_SUCCESS : CL_OUT_OF_RESOURCES, event);        \
            return passed;                                                                 \
        }                                                                                  \
        event = enqueue.event;                                                             \
        if (!status)                                                                       \
            status = &unasked;                                                             \
        *status = CL_SUCCESS;                                                              \
        before;                                                                            \
        sonde__cl_order_waits(&enqueue, &wait_count, &wait_list);                          \
        void *const pointer = real->function arguments;                                    \
        sonde_call_leave(&enqueue.call);                                                   \
        struct sonde_submit submit = { 0 };                                                \
        sonde__cl_values_mapped(&enqueue, *status == CL_SUCCESS ? pointer : NULL);         \
        if (*status == CL_SUCCESS)                                                         \
            submit = __VA_ARGS__;                                                          \
        sonde__cl_enqueue_end(&enqueue, *status, blocking, &submit, command_queue);        \
        return pointer;                                                                    \
    }

static bool maps_for_writing(cl_map_flags flags)
{
    return flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);
}

/* Which way the bytes of a map go, by what the host says that it will do with them: it reads what the device has, or leaves it
 * behind. 0: what it writes goes back at the unmap, besides, or instead: not known. */
static uint32_t map_ends(cl_map_flags flags)
{
    const bool reads = flags == CL_MAP_READ, replaces = flags == CL_MAP_WRITE_INVALIDATE_REGION;
    if (!reads && !replaces)
        return 0;
    return sonde_work_intern(&(struct sonde_work){
        .source = reads ? SONDE_MEMORY_DEVICE : SONDE_MEMORY_HOST,
        .target = reads ? SONDE_MEMORY_HOST : SONDE_MEMORY_DEVICE,
    });
}

/* A migration goes to the device of its queue, unless it says otherwise; where the bytes come from, nobody says. */
static struct sonde_submit migration(enum sonde_op_kind kind, cl_mem_migration_flags flags, uint64_t bytes, uint32_t object)
{
    struct sonde_submit submit = op(kind, flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED ? 0 : bytes, object);
    if (flags & CL_MIGRATE_MEM_OBJECT_HOST)
        submit.work = sonde_work_intern(&(struct sonde_work){.target = SONDE_MEMORY_HOST});
    return submit;
}

static struct sonde_submit map(struct sonde_cl_enqueue *enqueue, cl_mem object, cl_map_flags flags, struct sonde_submit submit)
{
    submit.work = map_ends(flags);
    struct sonde_cl_mem *mem = maps_for_writing(flags) ? sonde__cl_mem(object) : NULL;
    if (mem) {
        atomic_store_explicit(&mem->mapped, true, memory_order_relaxed);
        if (!enqueue->mapping)
            sonde__cl_values_host_writes(mem);
    }
    return submit;
}

static struct sonde_submit map_buffer(struct sonde_cl_enqueue *enqueue, cl_mem buffer, cl_map_flags flags, const void *pointer, size_t bytes)
{
    if (maps_for_writing(flags) && sonde_values_wanted(SONDE_VALUES_REMOTE))
        sonde__cl_shared_map(pointer, bytes); /* if it lies over shared memory */
    return map(enqueue, buffer, flags, op(SONDE_OP_MAP, bytes, sonde__cl_mem_used(buffer)));
}

/* Only what was mapped for writing may have been written. */
static cl_mem was_mapped(cl_mem object)
{
    struct sonde_cl_mem *mem = sonde__cl_mem(object);
    return mem && atomic_load_explicit(&mem->mapped, memory_order_relaxed) ? object : NULL;
}

ENQUEUE_MAP(clEnqueueMapBuffer,
            (cl_command_queue command_queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
             size_t offset, size_t bytes, WAITS, cl_int *status),
            (command_queue, buffer, blocking, flags, offset, bytes, WAITED, status), blocking,
            sonde__cl_values_map(&enqueue, command_queue, buffer, flags, offset, bytes),
            map_buffer(&enqueue, buffer, flags, pointer, bytes))

ENQUEUE_MAP(clEnqueueMapImage,
            (cl_command_queue command_queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
             const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch,
             WAITS, cl_int *status),
            (command_queue, image, blocking, flags, origin, region, row_pitch, slice_pitch,
             WAITED, status),
            blocking,
            sonde__cl_values_map_image(&enqueue, command_queue, image, flags),
            map(&enqueue, image, flags, op(SONDE_OP_IMAGE_MAP, image_bytes(image, region), sonde__cl_mem_used(image))))

ENQUEUE_WRITES(clEnqueueUnmapMemObject,
               (cl_command_queue command_queue, cl_mem object, void *pointer, WAITS),
               (command_queue, object, pointer, WAITED), false, WRITES(.mem = was_mapped(object), .is_unmap = true, .unmapped = pointer),
               op(SONDE_OP_UNMAP, 0, sonde__cl_mem_used(object)))

ENQUEUE_WRITES(clEnqueueMigrateMemObjects,
               (cl_command_queue command_queue, cl_uint count, const cl_mem *objects,
                cl_mem_migration_flags flags, WAITS),
               (command_queue, count, objects, flags, WAITED), false, WRITES(.changes = flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED),
               migration(SONDE_OP_MIGRATE, flags, sonde__cl_mem_bytes(count, objects),
                         only_one(&enqueue.call, count, objects, nth_object)))

/* ---- shared virtual memory --------------------------------------------------------- */

ENQUEUE_WRITES(clEnqueueSVMMemcpy,
               (cl_command_queue command_queue, cl_bool blocking, void *target, const void *source,
                size_t bytes, WAITS),
               (command_queue, blocking, target, source, bytes, WAITED), blocking, WRITES(.svm_source = source, .svm = target, .bytes = bytes),
               between(&enqueue.call, SONDE_OP_SVM_COPY, bytes, sonde__cl_svm_object(source),
                       sonde__cl_svm_object(target)))

ENQUEUE_WRITES(clEnqueueSVMMemFill,
               (cl_command_queue command_queue, void *pointer, const void *pattern, size_t pattern_bytes,
                size_t bytes, WAITS),
               (command_queue, pointer, pattern, pattern_bytes, bytes, WAITED), false, WRITES(.svm = pointer, .bytes = bytes),
               op(SONDE_OP_SVM_FILL, bytes, sonde__cl_svm_object(pointer)))

static struct sonde_submit svm_map(const struct sonde_cl_enqueue *enqueue, const void *pointer, cl_map_flags flags, size_t bytes)
{
    uint32_t object;
    struct sonde_object_info whole;
    struct sonde_cl_mem *mem = sonde__cl_svm_around(pointer, &object, &whole);
    if (mem && maps_for_writing(flags)) {
        atomic_store_explicit(&mem->mapped, true, memory_order_relaxed);
        if (!enqueue->mapping)
            sonde__cl_values_svm_writes(object);
    }
    struct sonde_submit submit = op(SONDE_OP_SVM_MAP, bytes, object);
    submit.work = map_ends(flags);
    return submit;
}

/* Only what was mapped for writing may have been written. */
static const void *svm_was_mapped(const void *pointer)
{
    uint32_t object;
    struct sonde_object_info whole;
    const struct sonde_cl_mem *mem = sonde__cl_svm_around(pointer, &object, &whole);
    return mem && atomic_load_explicit(&mem->mapped, memory_order_relaxed) ? pointer : NULL;
}

ENQUEUE_WRITES(clEnqueueSVMMap,
               (cl_command_queue command_queue, cl_bool blocking, cl_map_flags flags, void *pointer,
                size_t bytes, WAITS),
               (command_queue, blocking, flags, pointer, bytes, WAITED), blocking,
               WRITES(.changes = maps_for_writing(flags), .svm_mapped = pointer, .bytes = bytes),
               svm_map(&enqueue, pointer, flags, bytes))

ENQUEUE_WRITES(clEnqueueSVMUnmap, (cl_command_queue command_queue, void *pointer, WAITS),
               (command_queue, pointer, WAITED), false, WRITES(.svm = svm_was_mapped(pointer), .is_unmap = true, .unmapped = pointer),
               op(SONDE_OP_SVM_UNMAP, 0, sonde__cl_svm_object(pointer)))

/* The objects end when the operation has run; we end them where it was asked for. */
static struct sonde_submit svm_free(const struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_uint count, void **pointers)
{
    const uint32_t object = only_one(&enqueue->call, count, pointers, nth_pointer);
    const cl_event event = *enqueue->event;
    for (cl_uint i = 0; i < count; i++) {
        void *ours = sonde__cl_svm_freed(pointers[i]);
        if (ours)
            sonde__cl_target(queue)->clEnqueueSVMFree(queue, 1, &ours, NULL, NULL, event ? 1 : 0, event ? &event : NULL, NULL);
    }
    return op(SONDE_OP_SVM_FREE, 0, object);
}

ENQUEUE_WRITES(clEnqueueSVMFree,
               (cl_command_queue command_queue, cl_uint count, void **pointers,
                void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void **, void *), void *data,
                WAITS),
               (command_queue, count, pointers, function, data, WAITED), false,
               WRITES(.changes = true, .freed = pointers, .freed_count = count), svm_free(&enqueue, command_queue, count, pointers))

ENQUEUE_WRITES(clEnqueueSVMMigrateMem,
               (cl_command_queue command_queue, cl_uint count, const void **pointers,
                const size_t *sizes, cl_mem_migration_flags flags, WAITS),
               (command_queue, count, pointers, sizes, flags, WAITED), false,
               WRITES(.taken = pointers, .taken_bytes = sizes, .taken_count = count, .by_host = flags & CL_MIGRATE_MEM_OBJECT_HOST),
               migration(SONDE_OP_SVM_MIGRATE, flags, sonde__cl_svm_bytes(count, pointers, sizes),
                         only_one(&enqueue.call, count, pointers, nth_pointer)))

/* ---- order ---------------------------------------------------------------------------- */

ENQUEUE(clEnqueueMarkerWithWaitList, (cl_command_queue command_queue, WAITS),
        (command_queue, WAITED), false, op(SONDE_OP_MARKER, 0, 0))

ENQUEUE(clEnqueueBarrierWithWaitList, (cl_command_queue command_queue, WAITS),
        (command_queue, WAITED), false, op(SONDE_OP_BARRIER, 0, 0))

/* The forms of OpenCL 1.1. A marker must be given an event, so a program that
 * gives none must be told so: `event` goes through as it came. */
cl_int CL_API_CALL sonde__clEnqueueMarker(cl_command_queue command_queue, cl_event *event)
{
    const cl_icd_dispatch *real = sonde__cl_target(command_queue);
    struct sonde_cl_enqueue enqueue;
    if (!event || !sonde__cl_enqueue_begin(&enqueue, API_clEnqueueMarker, command_queue, 0, NULL, event))
        return sonde__cl_unrecorded(real->clEnqueueMarker(command_queue, event), event);
    const cl_int status = real->clEnqueueMarker(command_queue, event);
    sonde_call_leave(&enqueue.call);
    struct sonde_submit submit = op(SONDE_OP_MARKER, 0, 0);
    sonde__cl_enqueue_end(&enqueue, status, false, &submit, command_queue);
    return status;
}

/* A barrier has no event in 1.1; the form of 1.2 is the same barrier with one. */
cl_int CL_API_CALL sonde__clEnqueueBarrier(cl_command_queue command_queue)
{
    const cl_icd_dispatch *real = sonde__cl_target(command_queue);
    struct sonde_cl_enqueue enqueue;
    if (!sonde__cl_enqueue_begin(&enqueue, API_clEnqueueBarrier, command_queue, 0, NULL, NULL))
        return real->clEnqueueBarrier(command_queue);
    cl_int status = CL_INVALID_OPERATION;
    if (real->clEnqueueBarrierWithWaitList)
        status = real->clEnqueueBarrierWithWaitList(command_queue, 0, NULL, enqueue.event);
    if (status != CL_SUCCESS)
        status = real->clEnqueueBarrier(command_queue);
    sonde_call_leave(&enqueue.call);
    struct sonde_submit submit = op(SONDE_OP_BARRIER, 0, 0);
    sonde__cl_enqueue_end(&enqueue, status, false, &submit, command_queue);
    return status;
}

/* Has no event, and no newer form that fails in the same ways: counted, without times. */
cl_int CL_API_CALL sonde__clEnqueueWaitForEvents(cl_command_queue command_queue, cl_uint count,
                                                 const cl_event *events)
{
    const cl_icd_dispatch *real = sonde__cl_target(command_queue);
    struct sonde_cl_enqueue enqueue;
    if (!sonde__cl_enqueue_begin(&enqueue, API_clEnqueueWaitForEvents, command_queue, count, events, NULL))
        return real->clEnqueueWaitForEvents(command_queue, count, events);
    const cl_int status = real->clEnqueueWaitForEvents(command_queue, count, events);
    sonde_call_leave(&enqueue.call);
    struct sonde_submit submit = op(SONDE_OP_BARRIER, 0, 0);
    sonde__cl_enqueue_end(&enqueue, status, false, &submit, command_queue);
    return status;
}

/* ---- sharing with OpenGL and EGL --------------------------------------------------------- */

#define ENQUEUE_SHARED(function, kind)                                                         \
    ENQUEUE(function,                                                                          \
            (cl_command_queue command_queue, cl_uint count, const cl_mem *objects, WAITS),     \
            (command_queue, count, objects, WAITED), false,                                    \
            op(kind, 0, only_one(&enqueue.call, count, objects, nth_object)))

ENQUEUE_SHARED(clEnqueueAcquireGLObjects, SONDE_OP_ACQUIRE)
ENQUEUE_SHARED(clEnqueueReleaseGLObjects, SONDE_OP_RELEASE)
ENQUEUE_SHARED(clEnqueueAcquireEGLObjectsKHR, SONDE_OP_ACQUIRE)
ENQUEUE_SHARED(clEnqueueReleaseEGLObjectsKHR, SONDE_OP_RELEASE)
