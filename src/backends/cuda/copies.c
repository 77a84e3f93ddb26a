/* copies.c - what copies and sets name: their data objects, what they write, and whether the call waits for its own work.
 *
 * By NVIDIA's word (CUDA Driver API, "API synchronization behavior") a call whose
 * name does not end in Async returns when its copy is done, unless both ends are
 * on a device; one that does end so returns then only where it writes to pageable
 * memory of the host. Sets do not wait, but for those of memory that the host
 * reaches, which are not told apart here. A copy from pageable memory may be
 * staged and still run when its call returns: its own times say so.
 *
 * What is written is a box: a stretch has one row, a rectangle one slice. Of batches and of boxes between peers nothing is known here.
 */
#include "sonde_cuda.h"

enum where {
    NOWHERE,
    HOST,
    DEVICE,
    ARRAY,
    UNIFIED, /* any: the driver finds out */
};

struct ends {
    uint8_t to, from;
    uint8_t to_at, from_at;
    bool waits;
    uint8_t count_at, unit; /* how many units of so many bytes are written; unit 0: not one stretch */
    uint8_t row_unit;       /* of a rectangle that is set: its width is so many, its height is behind it, and its pitch behind the address */
    uint8_t stream_at;      /* 0: the default stream */
};
#define IDS 1024u

#define AT(name, field) (uint8_t)offsetof(name##_params, field)
#define END(name, to, to_field, from, from_field, waits, count, unit, row_unit, stream_at) \
    [CUPTI_DRIVER_TRACE_CBID_##name] = {to, from, AT(name, to_field), AT(name, from_field), waits, AT(name, count), unit, row_unit, stream_at}
#define NOW(name, to, to_field, from, from_field)                                        \
    END(name, to, to_field, from, from_field, true, ByteCount, 1, 0, 0),                    \
    END(name##_ptds, to, to_field, from, from_field, true, ByteCount, 1, 0, 0)
#define LATER(name, to, to_field, from, from_field)                                                \
    END(name, to, to_field, from, from_field, false, ByteCount, 1, 0, AT(name, hStream)),             \
    END(name##_ptsz, to, to_field, from, from_field, false, ByteCount, 1, 0, AT(name, hStream))
#define SET(name, count, unit, row_unit)                                                                                \
    END(name##Async, DEVICE, dstDevice, NOWHERE, dstDevice, false, count, unit, row_unit, AT(name##Async, hStream)),    \
    END(name##Async_ptsz, DEVICE, dstDevice, NOWHERE, dstDevice, false, count, unit, row_unit, AT(name##Async, hStream)), \
    END(name##_v2, DEVICE, dstDevice, NOWHERE, dstDevice, false, count, unit, row_unit, 0),                             \
    END(name##_v2_ptds, DEVICE, dstDevice, NOWHERE, dstDevice, false, count, unit, row_unit, 0)

static const struct ends calls[IDS] = {
    NOW(cuMemcpy, UNIFIED, dst, UNIFIED, src),
    LATER(cuMemcpyAsync, UNIFIED, dst, UNIFIED, src),
    NOW(cuMemcpyPeer, DEVICE, dstDevice, DEVICE, srcDevice),
    LATER(cuMemcpyPeerAsync, DEVICE, dstDevice, DEVICE, srcDevice),
    NOW(cuMemcpyHtoD_v2, DEVICE, dstDevice, HOST, srcHost),
    LATER(cuMemcpyHtoDAsync_v2, DEVICE, dstDevice, HOST, srcHost),
    NOW(cuMemcpyDtoH_v2, HOST, dstHost, DEVICE, srcDevice),
    LATER(cuMemcpyDtoHAsync_v2, HOST, dstHost, DEVICE, srcDevice),
    NOW(cuMemcpyDtoD_v2, DEVICE, dstDevice, DEVICE, srcDevice),
    LATER(cuMemcpyDtoDAsync_v2, DEVICE, dstDevice, DEVICE, srcDevice),
    NOW(cuMemcpyDtoA_v2, ARRAY, dstArray, DEVICE, srcDevice),
    NOW(cuMemcpyAtoD_v2, DEVICE, dstDevice, ARRAY, srcArray),
    NOW(cuMemcpyHtoA_v2, ARRAY, dstArray, HOST, srcHost),
    LATER(cuMemcpyHtoAAsync_v2, ARRAY, dstArray, HOST, srcHost),
    NOW(cuMemcpyAtoH_v2, HOST, dstHost, ARRAY, srcArray),
    LATER(cuMemcpyAtoHAsync_v2, HOST, dstHost, ARRAY, srcArray),
    NOW(cuMemcpyAtoA_v2, ARRAY, dstArray, ARRAY, srcArray),
    SET(cuMemsetD8, N, 1, 0),
    SET(cuMemsetD16, N, 2, 0),
    SET(cuMemsetD32, N, 4, 0),
    SET(cuMemsetD2D8, Width, 0, 1),
    SET(cuMemsetD2D16, Width, 0, 2),
    SET(cuMemsetD2D32, Width, 0, 4),
};

struct end {
    enum where where;
    uint64_t address;
};
struct copy {
    struct end to, from;
    bool waits, is_box;
    CUstream stream;
    struct sonde_cuda_box box; /* of memory that is written; no width: nothing is */
};

static struct end end_of(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        return (struct end){HOST, (uintptr_t)host};
    case CU_MEMORYTYPE_ARRAY:
        return (struct end){ARRAY, (uintptr_t)array};
    case CU_MEMORYTYPE_DEVICE:
        return (struct end){DEVICE, device};
    default:
        return (struct end){UNIFIED, device};
    }
}

static CUDA_MEMCPY3D deepened(const CUDA_MEMCPY2D *c)
{
    return (CUDA_MEMCPY3D){
        .srcXInBytes = c->srcXInBytes,
        .srcY = c->srcY,
        .srcMemoryType = c->srcMemoryType,
        .srcHost = c->srcHost,
        .srcDevice = c->srcDevice,
        .srcArray = c->srcArray,
        .srcPitch = c->srcPitch,
        .dstXInBytes = c->dstXInBytes,
        .dstY = c->dstY,
        .dstMemoryType = c->dstMemoryType,
        .dstHost = c->dstHost,
        .dstDevice = c->dstDevice,
        .dstArray = c->dstArray,
        .dstPitch = c->dstPitch,
        .WidthInBytes = c->WidthInBytes,
        .Height = c->Height,
        .Depth = 1,
    };
}

static struct copy deep(const CUDA_MEMCPY3D *c, bool waits, CUstream stream)
{
    const uint64_t slice = c->dstPitch * c->dstHeight;
    struct copy copy = {
        .to = end_of(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray),
        .from = end_of(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray),
        .waits = waits,
        .is_box = true,
        .stream = stream,
        .box = {.width = c->WidthInBytes, .row = c->dstPitch, .rows = c->Height, .slice = slice, .slices = c->Depth},
    };
    copy.box.address = copy.to.address + c->dstZ * slice + c->dstY * c->dstPitch + c->dstXInBytes;
    if (!copy.box.rows || !copy.box.slices)
        copy.box.width = 0;
    return copy;
}

static struct copy flat(const CUDA_MEMCPY2D *c, bool waits, CUstream stream)
{
    const CUDA_MEMCPY3D box = c ? deepened(c) : (CUDA_MEMCPY3D){0};
    return c ? deep(&box, waits, stream) : (struct copy){0};
}

#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name

static struct copy copy_of(uint32_t id, const void *params)
{
    const struct ends *e = &calls[id < IDS ? id : 0];
    struct copy c = {.waits = e->waits};
    const CUDA_MEMCPY3D *box;
    switch (id) {
    case ID(cuMemcpy2D_v2):
    case ID(cuMemcpy2D_v2_ptds):
    case ID(cuMemcpy2DUnaligned_v2):
    case ID(cuMemcpy2DUnaligned_v2_ptds):
        return flat(((const cuMemcpy2D_v2_params *)params)->pCopy, true, NULL);
    case ID(cuMemcpy2DAsync_v2):
    case ID(cuMemcpy2DAsync_v2_ptsz):
        return flat(((const cuMemcpy2DAsync_v2_params *)params)->pCopy, false, ((const cuMemcpy2DAsync_v2_params *)params)->hStream);
    case ID(cuMemcpy3D_v2):
    case ID(cuMemcpy3D_v2_ptds):
        box = ((const cuMemcpy3D_v2_params *)params)->pCopy;
        return box ? deep(box, true, NULL) : (struct copy){0};
    case ID(cuMemcpy3DAsync_v2):
    case ID(cuMemcpy3DAsync_v2_ptsz):
        box = ((const cuMemcpy3DAsync_v2_params *)params)->pCopy;
        return box ? deep(box, false, ((const cuMemcpy3DAsync_v2_params *)params)->hStream) : (struct copy){0};
    default:
        if (e->to)
            c.to = (struct end){e->to, *(const uint64_t *)(const void *)((const char *)params + e->to_at)};
        if (e->from)
            c.from = (struct end){e->from, *(const uint64_t *)(const void *)((const char *)params + e->from_at)};
        return c;
    }
}

/* 0: memory that CUDA does not know, which is pageable. */
static unsigned memory_type(uint64_t address)
{
    unsigned type = 0;
    sonde__cuda_quiet(true);
    const CUresult result = sonde__cudrv.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    sonde__cuda_quiet(false);
    return result == CUDA_SUCCESS ? type : 0;
}

static bool on_device(const struct end *e)
{
    return e->where == DEVICE || e->where == ARRAY || (e->where == UNIFIED && memory_type(e->address) == CU_MEMORYTYPE_DEVICE);
}

static bool is_pageable(const struct end *e, uint32_t object)
{
    return !object && (e->where == HOST || e->where == UNIFIED) && !memory_type(e->address);
}

static uint32_t object_of(const struct end *e)
{
    return e->where == NOWHERE ? 0 : (e->where == ARRAY ? sonde__cuda_object_named(e->address) : sonde_object_at(e->address));
}

struct sonde_cuda_copied sonde__cuda_copied(uint32_t id, const void *params)
{
    const struct copy c = copy_of(id, params);
    struct sonde_cuda_copied said = {.objects = {object_of(&c.to), object_of(&c.from)}};
    if (c.to.where && c.from.where)
        said.waits = c.waits ? !(on_device(&c.to) && on_device(&c.from)) : is_pageable(&c.to, said.objects[0]);
    return said;
}

static uint64_t field_of(const void *params, size_t at)
{
    return *(const uint64_t *)(const void *)((const char *)params + at);
}

/* A stretch of so many bytes. */
static struct sonde_cuda_box stretch(uint64_t address, uint64_t bytes)
{
    return (struct sonde_cuda_box){.address = address, .width = bytes, .row = bytes, .rows = 1, .slice = bytes, .slices = 1};
}

struct sonde_cuda_box sonde__cuda_rectangle(uint64_t address, uint64_t pitch, uint64_t width, uint64_t height)
{
    return (struct sonde_cuda_box){.address = address, .width = height ? width : 0, .row = pitch, .rows = height, .slice = pitch * height, .slices = 1};
}

static struct sonde_cuda_box box_of(const struct ends *e, const struct copy *c, const void *params)
{
    const uint64_t count = e->count_at ? field_of(params, e->count_at) : 0;
    if (c->is_box)
        return c->box;
    if (e->row_unit)
        return sonde__cuda_rectangle(c->to.address, field_of(params, e->to_at + sizeof(CUdeviceptr)), e->row_unit * count, field_of(params, e->count_at + sizeof(size_t)));
    return stretch(c->to.address, e->unit * count);
}

static struct sonde_cuda_moved moved(const struct copy *c, const struct sonde_cuda_box *box, bool known)
{
    const bool reads = c->from.where && on_device(&c->from), to_device = on_device(&c->to);
    return (struct sonde_cuda_moved){
        .stream = c->stream,
        .writes = !c->to.where || (to_device && (box->width || !known)), /* of a call that is not known it may */
        .kind = !c->from.where ? SONDE_OP_FILL : (!reads ? SONDE_OP_WRITE : (to_device ? SONDE_OP_COPY : SONDE_OP_READ)),
        .missed = c->to.where == ARRAY ? SONDE_VALUE_MISSED_IMAGE : (known ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_RECTANGLE),
        .box = *box,
        .bytes = box->width * box->rows * box->slices,
        .to = object_of(&c->to),
        .from = object_of(&c->from),
    };
}

struct sonde_cuda_moved sonde__cuda_moved(uint32_t id, const void *params)
{
    const struct ends *e = &calls[id < IDS ? id : 0];
    struct copy c = copy_of(id, params);
    const struct sonde_cuda_box box = box_of(e, &c, params);
    if (e->stream_at)
        c.stream = (CUstream)(uintptr_t)field_of(params, e->stream_at);
    return moved(&c, &box, c.is_box || e->unit || e->row_unit);
}

struct sonde_cuda_moved sonde__cuda_moved_box(const CUDA_MEMCPY3D *copy)
{
    const struct copy c = deep(copy, false, NULL);
    return moved(&c, &c.box, true);
}
