/* memory.c - allocations and frees as data objects.
 *
 * Keyed by the address, or the handle of an array. A free is looked up before
 * the call: afterwards another thread may have been given the same address. A
 * range that is mapped (virtual memory management) is an object from cuMemMap to
 * cuMemUnmap; the physical memory behind it has no address of its own. So is memory of another process while it is open here.
 */
#include "sonde_cuda.h"

static struct sonde_shared_map objects; /* address -> context << 32 | object */
static _Atomic uint64_t version = 1;

/* Bytes of one element of an array. */
static uint64_t element_bytes(CUarray_format format, unsigned channels)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2ull * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4ull * channels;
    default:
        return 0; /* compressed and planar formats: unknown */
    }
}

static uint64_t box_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    return d ? element_bytes(d->Format, d->NumChannels) * d->Width * (d->Height ? d->Height : 1) *
                   (d->Depth ? d->Depth : 1)
             : 0;
}

static uint64_t plane_bytes(const CUDA_ARRAY_DESCRIPTOR *d)
{
    return d ? element_bytes(d->Format, d->NumChannels) * d->Width * (d->Height ? d->Height : 1) : 0;
}

struct object {
    enum sonde_object_kind kind;
    uint64_t address, bytes;
};

#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name
#define PARAMS(name) const name##_params *p = params

/* Of another process's memory the call does not say how much there is. */
static uint64_t bytes_from(uint64_t address)
{
    uint64_t start = 0;
    size_t bytes = 0;
    if (sonde__cudrv.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) != CUDA_SUCCESS ||
        sonde__cudrv.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) != CUDA_SUCCESS)
        return 0;
    return start + bytes - address;
}

static struct object allocated(uint32_t id, const void *params)
{
    switch (id) {
    case ID(cuMemAlloc_v2): {
        PARAMS(cuMemAlloc_v2);
        return (struct object){SONDE_OBJECT_DEVICE, *p->dptr, p->bytesize};
    }
    case ID(cuMemAllocPitch_v2): {
        PARAMS(cuMemAllocPitch_v2);
        return (struct object){SONDE_OBJECT_DEVICE, *p->dptr, *p->pPitch * p->Height};
    }
    case ID(cuMemAllocManaged): {
        PARAMS(cuMemAllocManaged);
        return (struct object){SONDE_OBJECT_MANAGED, *p->dptr, p->bytesize};
    }
    case ID(cuMemAllocHost_v2):
    case ID(cuMemHostAlloc):
    case ID(cuMemHostAlloc_v2): {
        PARAMS(cuMemHostAlloc); /* these begin alike */
        return (struct object){SONDE_OBJECT_PINNED, (uintptr_t)*p->pp, p->bytesize};
    }
    case ID(cuMemHostRegister):
    case ID(cuMemHostRegister_v2): {
        PARAMS(cuMemHostRegister_v2);
        return (struct object){SONDE_OBJECT_PINNED, (uintptr_t)p->p, p->bytesize};
    }
    case ID(cuMemAllocAsync):
    case ID(cuMemAllocAsync_ptsz):
    case ID(cuMemAllocFromPoolAsync):
    case ID(cuMemAllocFromPoolAsync_ptsz): {
        PARAMS(cuMemAllocAsync);
        return (struct object){SONDE_OBJECT_POOL, *p->dptr, p->bytesize};
    }
    case ID(cuMemMap): {
        PARAMS(cuMemMap);
        return (struct object){SONDE_OBJECT_VIRTUAL, p->ptr, p->size};
    }
    case ID(cuIpcOpenMemHandle):
    case ID(cuIpcOpenMemHandle_v2): {
        PARAMS(cuIpcOpenMemHandle); /* these begin alike */
        return (struct object){SONDE_OBJECT_IPC, *p->pdptr, bytes_from(*p->pdptr)};
    }
    case ID(cuArrayCreate_v2): {
        PARAMS(cuArrayCreate_v2);
        return (struct object){SONDE_OBJECT_ARRAY, (uintptr_t)*p->pHandle, plane_bytes(p->pAllocateArray)};
    }
    case ID(cuArray3DCreate_v2): {
        PARAMS(cuArray3DCreate_v2);
        return (struct object){SONDE_OBJECT_ARRAY, (uintptr_t)*p->pHandle, box_bytes(p->pAllocateArray)};
    }
    case ID(cuMipmappedArrayCreate): {
        PARAMS(cuMipmappedArrayCreate);
        return (struct object){SONDE_OBJECT_ARRAY, (uintptr_t)*p->pHandle, box_bytes(p->pMipmappedArrayDesc)};
    }
    default:
        return (struct object){0};
    }
}

uint32_t sonde__cuda_object_named(uint64_t address)
{
    uint64_t value = 0;
    return address && sonde__shared_map_get(&objects, address, &value) ? (uint32_t)value : 0;
}

static void gone(uint32_t object)
{
    atomic_fetch_add_explicit(&version, 1, memory_order_relaxed);
    if (sonde__cuda_twins.coarse)
        sonde__cuda_coarse_freed(object);
    sonde__cuda_managed_freed(object);
    sonde_object_free(object);
}

static void forget(uint64_t address)
{
    uint64_t value;
    if (address && sonde__shared_map_take(&objects, address, &value))
        gone((uint32_t)value);
}

/* Of what is mapped here, wherever it was made: the handle says it, also one that came from another process. 0: the host's, or nobody knows. */
static uint32_t device_mapped(CUmemGenericAllocationHandle handle)
{
    CUmemAllocationProp p = {0};
    if (!sonde__cudrv.cuMemGetAllocationPropertiesFromHandle || sonde__cudrv.cuMemGetAllocationPropertiesFromHandle(&p, handle) != CUDA_SUCCESS ||
        p.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return 0;
    const struct sonde_cuda_device *d = sonde__cuda_device((uint32_t)p.location.id);
    return d ? d->id : 0;
}

/* Where it lies: plain memory and arrays on the context's device, as is the current
 * pool. Of another pool the call does not say it; managed memory moves, and pinned
 * memory is the host's. */
static uint32_t device_of(uint32_t id, enum sonde_object_kind kind, uint32_t context, const void *params)
{
    if (id == ID(cuMemMap)) {
        PARAMS(cuMemMap);
        return device_mapped(p->handle);
    }
    const bool here = kind == SONDE_OBJECT_DEVICE || kind == SONDE_OBJECT_ARRAY || id == ID(cuMemAllocAsync) ||
                      id == ID(cuMemAllocAsync_ptsz);
    return here ? sonde__cuda_context_device(context) : 0;
}

void sonde__cuda_allocated(uint32_t id, const void *params, const struct sonde_call *call, uint32_t context)
{
    const struct object o = allocated(id, params);
    if (!o.kind || !o.address)
        return;
    forget(o.address); /* freed while nobody looked */
    const uint32_t object = sonde_object_add(call, o.kind, o.bytes, o.address);
    sonde_object_place(object, device_of(id, o.kind, context, params), 0);
    if (object)
        sonde__shared_map_put(&objects, o.address, (uint64_t)context << 32 | object);
    if (o.kind == SONDE_OBJECT_MANAGED)
        sonde__cuda_managed_allocated(o.address, o.bytes, object);
    atomic_fetch_add_explicit(&version, 1, memory_order_relaxed);
}

struct span { uint64_t first, end; };

static bool in_span(const struct sonde_map_entry *entry, void *user)
{
    const struct span *span = user;
    if (entry->key < span->first || entry->key >= span->end)
        return false;
    gone((uint32_t)entry->value);
    return true;
}

/* It may still be compared, for the last time. */
static void last_look(uint64_t address, uint32_t context)
{
    const uint32_t object = sonde__cuda_twins.coarse ? sonde__cuda_object_named(address) : 0;
    if (!object)
        return;
    sonde__cuda_quiet(true);
    sonde__cuda_duplicates_freeing(object, sonde__cuda_place_known(context));
    sonde__cuda_quiet(false);
}

void sonde__cuda_freeing(uint32_t id, const void *params, uint32_t context)
{
    switch (id) {
    case ID(cuMemUnmap): { /* may span several that were mapped */
        PARAMS(cuMemUnmap);
        uint64_t value;
        if (sonde__shared_map_get(&objects, p->ptr, &value)) {
            struct span span = {p->ptr, p->ptr + p->size};
            sonde__shared_map_sweep(&objects, in_span, &span);
        }
        break;
    }
    default: { /* the address or handle comes first in all of them */
        PARAMS(cuMemFree_v2);
        last_look(p->dptr, context);
        forget(p->dptr);
    }
    }
}

static bool of_context(const struct sonde_map_entry *entry, void *user)
{
    if (entry->value >> 32 != *(const uint32_t *)user)
        return false;
    gone((uint32_t)entry->value);
    return true;
}

void sonde__cuda_context_memory_gone(uint32_t context)
{
    sonde__shared_map_sweep(&objects, of_context, &context);
}

uint64_t sonde__cuda_memory_version(void)
{
    return atomic_load_explicit(&version, memory_order_relaxed);
}

struct ranges {
    struct sonde_patch_range *range;
    uint32_t count, room;
};

/* Takes none out. */
static bool look_at(const struct sonde_map_entry *entry, void *user)
{
    struct ranges *r = user;
    struct sonde_object_info info;
    if (r->count < r->room && sonde_object_find((uint32_t)entry->value, &info) && info.kind != SONDE_OBJECT_ARRAY && info.bytes)
        r->range[r->count++] = (struct sonde_patch_range){entry->key, entry->key + info.bytes, (uint32_t)entry->value, 0};
    return false;
}

uint32_t sonde__cuda_memory_ranges(struct sonde_patch_range *range, uint32_t room)
{
    struct ranges r = {range, 0, room};
    sonde__shared_map_sweep(&objects, look_at, &r);
    return r.count;
}
