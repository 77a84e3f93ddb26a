/* played.c - see played.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "played.h"

struct played played = {.offset_ns = 5000000, .own_stream = 100};

/* ---- a CUPTI ------------------------------------------------------------------ */

static CUptiResult CUPTIAPI get_timestamp(uint64_t *ns)
{
    *ns = played.offset_ns + (uint64_t)((double)noted.now_ns * played.rate);
    noted.now_ns += 20; /* readings take time */
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI get_context_id(CUcontext context, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)context;
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI get_device_id(CUcontext context, uint32_t *device)
{
    *device = (uint32_t)(uintptr_t)context - 1;
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI get_stream_id(CUcontext context, CUstream stream, uint8_t own, uint32_t *id)
{
    (void)context;
    *id = own ? played.own_stream : (stream ? (uint32_t)(uintptr_t)stream + played.later_streams : 7);
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI get_node_id(CUgraphNode node, uint64_t *id)
{
    *id = (uintptr_t)node;
    played.asked++;
    for (int i = 0; i < 16; i++)
        if (played.numbered[i].node == (uintptr_t)node)
            *id = played.numbered[i].id;
    return CUPTI_SUCCESS;
}

/* The buffer's first bytes say how many of the prepared records it stands for. */
static CUptiResult CUPTIAPI next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    (void)buffer;
    uint8_t *at = played.records;
    size_t i = 0;
    if (*record)
        for (; i < played.count && (CUpti_Activity *)(void *)at <= *record; at += played.sizes[i++])
            ;
    if (i >= played.count || !valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (void *)at;
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI dropped_records(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = 0;
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI flush_all(uint32_t flag)
{
    played.flushed++; /* in any thread */
    played.forced += flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI enable_domain(uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
    (void)on, (void)subscriber;
    played.runtime_followed += domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    return CUPTI_SUCCESS;
}

static CUresult CUDAAPI device_get(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI current_device(CUdevice *device)
{
    launch(999); /* the driver's calls are seen, as a program's are */
    *device = played.current;
    return played.current < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

static CUresult CUDAAPI device_name(char *name, int size, CUdevice device)
{
    (void)device;
    strncpy(name, "a device", (size_t)size);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI device_memory(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = 1u << 30;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI device_attribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR               ? 9
             : which == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR       ? 2048
             : which == CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR        ? 32
             : which == CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR     ? 65536
             : which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR ? 233472
             : which == CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK     ? 1024
             : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                 ? 132
                                                                                 : 0;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI driver_version(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    played.questions++;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    for (int i = 0; i < 4; i++)
        if (stream && played.captured[i] == stream)
            *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}
/* The memory of these tests is on a device below 0x6000000, pinned below 0x7000000, and else the program's own. */
static CUresult CUDAAPI pointer_attribute(void *data, CUpointer_attribute which, CUdeviceptr pointer)
{
    if (which != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || pointer >= 0x7000000)
        return CUDA_ERROR_INVALID_VALUE;
    *(unsigned *)data = pointer < 0x6000000 ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    return CUDA_SUCCESS;
}

int play(void **state)
{
    const struct timespec pause = {0, 1000000};
    (void)state;
    while (sonde__cuda_flush_busy()) /* in a thread of the backend's */
        nanosleep(&pause, NULL);
    noted.now_ns = 1000000000;
    noted_reset();
    sonde__cupti.version = 130001;
    sonde__cupti.cuptiGetTimestamp = get_timestamp;
    sonde__cupti.cuptiGetContextId = get_context_id;
    sonde__cupti.cuptiGetDeviceId = get_device_id;
    sonde__cupti.cuptiGetStreamIdEx = get_stream_id;
    sonde__cupti.cuptiGetGraphNodeId = get_node_id;
    sonde__cupti.cuptiActivityGetNextRecord = next_record;
    sonde__cupti.cuptiActivityGetNumDroppedRecords = dropped_records;
    sonde__cupti.cuptiActivityFlushAll = flush_all;
    sonde__cupti.cuptiEnableDomain = enable_domain;
    sonde__cudrv.cuDeviceGet = device_get;
    sonde__cudrv.cuCtxGetDevice = current_device;
    sonde__cudrv.cuDeviceGetName = device_name;
    sonde__cudrv.cuDeviceTotalMem_v2 = device_memory;
    sonde__cudrv.cuDeviceGetAttribute = device_attribute;
    sonde__cudrv.cuDriverGetVersion = driver_version;
    sonde__cudrv.cuStreamIsCapturing = is_capturing;
    sonde__cudrv.cuPointerGetAttribute = pointer_attribute;
    sonde__cuda_clock_forget();
    played.rate = 1.0;
    played.used = played.count = 0;
    atomic_store(&sonde__cuda_on, true);
    return 0;
}

/* ---- a program's calls ------------------------------------------------------------ */

void at(CUpti_ApiCallbackSite site, CUpti_CallbackDomain domain, uint32_t id, const void *params, uint32_t correlation,
        CUresult result)
{
    const CUpti_CallbackData cd = {
        .callbackSite = site,
        .functionParams = params,
        .functionReturnValue = &result,
        .context = CONTEXT,
        .contextUid = 1,
        .correlationId = correlation,
    };
    sonde__cuda_callback(NULL, domain, id, &cd);
    noted.now_ns += 100;
}

void driver_call(uint32_t id, const void *params, uint32_t correlation, CUresult result)
{
    at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, id, params, correlation, result);
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, id, params, correlation, result);
}

void launch(uint32_t correlation)
{
    CALL(cuLaunchKernel, correlation, CUDA_SUCCESS, .gridDimX = 1);
}

void resource(CUpti_CallbackId id, CUstream stream)
{
    const CUpti_ResourceData data = {.context = CONTEXT, .resourceHandle.stream = stream};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

/* ---- records ------------------------------------------------------------------------ */

void *record_add(size_t bytes)
{
    void *r = played.records + played.used;
    memset(r, 0, bytes);
    played.used += bytes;
    played.sizes[played.count++] = bytes;
    return r;
}

CUpti_ActivityKernel10 *kernel_record(const char *name, uint32_t correlation, size_t bytes)
{
    CUpti_ActivityKernel10 *k = record_add(bytes);
    k->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    k->name = name;
    k->correlationId = correlation;
    k->contextId = 1;
    k->streamId = 7;
    k->start = played.offset_ns + noted.now_ns - 50;
    k->end = played.offset_ns + noted.now_ns - 10;
    k->gridX = 10, k->gridY = 2, k->gridZ = 1;
    k->blockX = 128, k->blockY = 1, k->blockZ = 1;
    k->registersPerThread = 32;
    k->dynamicSharedMemory = 1024;
    return k;
}

void deliver(void)
{
    uint8_t *bytes;
    size_t size, count;
    sonde__cuda_buffer_requested(&bytes, &size, &count);
    assert_non_null(bytes);
    sonde__cuda_buffer_completed(CONTEXT, 0, bytes, size, played.used);
    noted.now_ns += 1000;
    sonde__cuda_collect(SONDE_COLLECT_TURN);
    played.used = played.count = 0;
}

/* ---- streams of Sonde's own ---------------------------------------------------------------------- */

static CUresult CUDAAPI create_stream(CUstream *stream, unsigned flags)
{
    (void)flags;
    *stream = (CUstream)(uintptr_t)90;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI synchronize(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI exchange_mode(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI push(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI pop(CUcontext *context)
{
    *context = CONTEXT;
    return CUDA_SUCCESS;
}

void play_streams(struct sonde_cuda_twins *t)
{
    t->cuStreamCreate = create_stream;
    t->cuStreamSynchronize = synchronize;
    t->cuThreadExchangeStreamCaptureMode = exchange_mode;
    t->cuCtxPushCurrent_v2 = push;
    t->cuCtxPopCurrent_v2 = pop;
}
