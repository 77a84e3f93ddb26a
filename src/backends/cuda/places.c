/* places.c - contexts whose values are looked at: a stream of ours in each, and memory. */
#include "sonde_cuda.h"

#include "guest/lock.h"

#define PLACES_MAX 64u

static struct {
    struct sonde_lock lock; /* of making them, and of reading what was found */
    struct sonde_cuda_place place[PLACES_MAX];
    _Atomic uint32_t count; /* that are ready: these stay */
} places;

static uint64_t most_bytes(CUdevice device)
{
    size_t bytes = 0;
    if (sonde_values_memory())
        return sonde_values_memory();
    sonde__cudrv.cuDeviceTotalMem_v2(&bytes, device);
    return bytes / 4;
}

/* Copies come and go in the order of the program's streams; that never makes one wait for another. */
static bool make_pool(struct sonde_cuda_place *p, CUdevice device)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    const CUmemPoolProps properties = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
        .maxSize = p->most,
    };
    uint64_t keep = UINT64_MAX;
    int none = 0;
    return t->cuMemPoolCreate(&p->pool, &properties) == CUDA_SUCCESS &&
           t->cuMemPoolSetAttribute(p->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep) == CUDA_SUCCESS &&
           t->cuMemPoolSetAttribute(p->pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &none) == CUDA_SUCCESS;
}

static bool make(struct sonde_cuda_place *p, CUcontext context, uint32_t uid)
{
    CUdevice device;
    int multiprocessors = 0, concurrent = 0;
    if (sonde__cudrv.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        sonde__cudrv.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) != CUDA_SUCCESS ||
        sonde__cudrv.cuDeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device) != CUDA_SUCCESS ||
        sonde__cuda_twins.cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
        sonde__cupti.cuptiGetStreamIdEx(context, p->stream, 0, &p->stream_id) != CUPTI_SUCCESS)
        return false;
    p->context = context;
    p->uid = uid;
    p->device = sonde__cuda_device_here();
    p->multiprocessors = (uint32_t)multiprocessors;
    p->shares_managed = concurrent;
    p->most = most_bytes(device);
    return !sonde__cuda_twins.coarse || make_pool(p, device);
}

static struct sonde_cuda_place *find(uint32_t uid)
{
    const uint32_t count = atomic_load(&places.count);
    for (uint32_t k = 0; k < count; k++)
        if (places.place[k].uid == uid)
            return &places.place[k];
    return NULL;
}

struct sonde_cuda_place *sonde__cuda_place_known(uint32_t uid)
{
    struct sonde_cuda_place *p = find(uid);
    return p && !p->gone ? p : NULL;
}

struct sonde_cuda_place *sonde__cuda_place(CUcontext context, uint32_t uid)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    struct sonde_cuda_place *p = find(uid);
    if (p)
        return p->gone ? NULL : p;
    sonde__lock(&places.lock);
    const uint32_t count = atomic_load(&places.count);
    p = find(uid);
    if (!p && count < PLACES_MAX) {
        sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
        p = make(&places.place[count], context, uid) ? &places.place[count] : NULL;
        sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
        if (!p) {
            places.place[count].uid = uid;
            places.place[count].gone = true;
            sonde_note("values: the driver gives no stream or memory pool for them: those of one context are not looked at");
        }
        atomic_store(&places.count, count + 1);
    }
    sonde__unlock(&places.lock);
    return p && !p->gone ? p : NULL;
}

CUdeviceptr sonde__cuda_zeros(struct sonde_cuda_place *place, uint64_t bytes)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    CUdeviceptr at = 0;
    t->cuThreadExchangeStreamCaptureMode(&mode);
    const bool there = place->bytes + bytes <= place->most && t->cuMemAlloc_v2(&at, bytes) == CUDA_SUCCESS &&
                       t->cuMemsetD8Async(at, 0, bytes, place->stream) == CUDA_SUCCESS && t->cuStreamSynchronize(place->stream) == CUDA_SUCCESS;
    t->cuThreadExchangeStreamCaptureMode(&mode);
    place->bytes += there ? bytes : 0;
    return there ? at : 0;
}

bool sonde__cuda_values_own(uint32_t uid, uint32_t stream_id)
{
    const struct sonde_cuda_place *p = sonde__cuda_twins.on ? find(uid) : NULL;
    return p && !p->gone && p->stream_id == stream_id;
}

void sonde__cuda_places(uint32_t uid, void (*each)(struct sonde_cuda_place *place, bool last), bool last)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext before;
    sonde__lock(&places.lock);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    for (uint32_t k = 0; k < atomic_load(&places.count); k++) {
        struct sonde_cuda_place *p = &places.place[k];
        if (p->gone || (uid && p->uid != uid) || sonde__cuda_twins.cuCtxPushCurrent_v2(p->context) != CUDA_SUCCESS)
            continue;
        each(p, last);
        sonde__cuda_twins.cuCtxPopCurrent_v2(&before);
    }
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    sonde__unlock(&places.lock);
}

void sonde__cuda_place_gone(uint32_t uid)
{
    sonde__lock(&places.lock);
    struct sonde_cuda_place *p = find(uid);
    if (p && !p->gone)
        sonde__cuda_host_gone(p);
    if (p)
        p->gone = true;
    sonde__unlock(&places.lock);
}
