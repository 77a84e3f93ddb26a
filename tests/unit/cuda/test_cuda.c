/* test_cuda.c - the CUDA backend under an agent that only notes, and a CUPTI that a test plays.
 *
 * Callbacks and records are made here as CUPTI makes them; what they mean is
 * known. Occupancy is compared with NVIDIA's own calculator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent.h"
#include "backends/cuda/sonde_cuda.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

/* ---- a CUPTI ------------------------------------------------------------------ */

static uint64_t cupti_offset = 5000000;
static double cupti_rate = 1.0;
static uint8_t records[4096];
static size_t records_used, record_sizes[64], record_count;
static uint32_t enabled_runtime;

static CUptiResult CUPTIAPI get_timestamp(uint64_t *ns)
{
    *ns = cupti_offset + (uint64_t)((double)noted.now_ns * cupti_rate);
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

static uint32_t own_stream = 100, later_streams;

static CUptiResult CUPTIAPI get_stream_id(CUcontext context, CUstream stream, uint8_t own, uint32_t *id)
{
    (void)context;
    *id = own ? own_stream : stream ? (uint32_t)(uintptr_t)stream + later_streams : 7;
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI get_node_id(CUgraphNode node, uint64_t *id)
{
    *id = (uintptr_t)node;
    return CUPTI_SUCCESS;
}

/* The buffer's first bytes say how many of the prepared records it stands for. */
static CUptiResult CUPTIAPI next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    (void)buffer;
    uint8_t *at = records;
    size_t i = 0;
    if (*record)
        for (; i < record_count && (CUpti_Activity *)(void *)at <= *record; at += record_sizes[i++])
            ;
    if (i >= record_count || !valid)
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

static uint32_t flushed, forced;

static CUptiResult CUPTIAPI flush_all(uint32_t flag)
{
    flushed++;
    forced += flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
    return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI enable_domain(uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
    (void)on, (void)subscriber;
    enabled_runtime += domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    return CUPTI_SUCCESS;
}

static CUresult CUDAAPI device_get(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return CUDA_SUCCESS;
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

static CUresult CUDAAPI is_capturing(CUstream stream, CUstreamCaptureStatus *status);

/* The memory of these tests is on a device below 0x6000000, pinned below 0x7000000, and else the program's own. */
static CUresult CUDAAPI pointer_attribute(void *data, CUpointer_attribute which, CUdeviceptr pointer)
{
    if (which != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || pointer >= 0x7000000)
        return CUDA_ERROR_INVALID_VALUE;
    *(unsigned *)data = pointer < 0x6000000 ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    return CUDA_SUCCESS;
}

static int play(void **state)
{
    (void)state;
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
    sonde__cudrv.cuDeviceGetName = device_name;
    sonde__cudrv.cuDeviceTotalMem_v2 = device_memory;
    sonde__cudrv.cuDeviceGetAttribute = device_attribute;
    sonde__cudrv.cuDriverGetVersion = driver_version;
    sonde__cudrv.cuStreamIsCapturing = is_capturing;
    sonde__cudrv.cuPointerGetAttribute = pointer_attribute;
    sonde__cuda_clock_forget();
    cupti_rate = 1.0;
    records_used = record_count = 0;
    atomic_store(&sonde__cuda_on, true);
    return 0;
}

/* ---- a program's calls ------------------------------------------------------------ */

#define CONTEXT ((CUcontext)(uintptr_t)1)

static void at(CUpti_ApiCallbackSite site, CUpti_CallbackDomain domain, uint32_t id, const void *params,
               uint32_t correlation, CUresult result)
{
    const CUpti_CallbackData cd = {.callbackSite = site, .functionParams = params, .functionReturnValue = &result,
                                   .context = CONTEXT, .contextUid = 1, .correlationId = correlation};
    sonde__cuda_callback(NULL, domain, id, &cd);
    noted.now_ns += 100;
}

static void driver_call(uint32_t id, const void *params, uint32_t correlation, CUresult result)
{
    at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, id, params, correlation, result);
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, id, params, correlation, result);
}

#define CALL(name, correlation, result, ...)                                            \
    do {                                                                                \
        name##_params params_ = {__VA_ARGS__};                                          \
        driver_call(CUPTI_DRIVER_TRACE_CBID_##name, &params_, correlation, result);     \
    } while (0)

static void launch(uint32_t correlation)
{
    CALL(cuLaunchKernel, correlation, CUDA_SUCCESS, .gridDimX = 1);
}

/* ---- records ------------------------------------------------------------------------ */

static void *record_add(size_t bytes)
{
    void *r = records + records_used;
    memset(r, 0, bytes);
    records_used += bytes;
    record_sizes[record_count++] = bytes;
    return r;
}

/* `bytes`: as large as this version of CUPTI makes it. */
static CUpti_ActivityKernel10 *kernel_record(const char *name, uint32_t correlation, size_t bytes)
{
    CUpti_ActivityKernel10 *k = record_add(bytes);
    k->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    k->name = name;
    k->correlationId = correlation;
    k->contextId = 1;
    k->streamId = 7;
    k->start = cupti_offset + noted.now_ns - 50;
    k->end = cupti_offset + noted.now_ns - 10;
    k->gridX = 10, k->gridY = 2, k->gridZ = 1;
    k->blockX = 128, k->blockY = 1, k->blockZ = 1;
    k->registersPerThread = 32;
    k->dynamicSharedMemory = 1024;
    return k;
}

static void deliver(void)
{
    uint8_t *bytes;
    size_t size, count;
    sonde__cuda_buffer_requested(&bytes, &size, &count);
    assert_non_null(bytes);
    sonde__cuda_buffer_completed(CONTEXT, 0, bytes, size, records_used);
    noted.now_ns += 1000;
    sonde__cuda_collect(false);
    records_used = record_count = 0;
}

/* ---- hooks ----------------------------------------------------------------------------- */

static void launches_and_records_share_keys(void **state)
{
    (void)state;
    launch(42);
    kernel_record("k", 42, sizeof(CUpti_ActivityKernel10));
    deliver();
    assert_int_equal(noted.submits, 1);
    assert_int_equal(noted.completions, 1);
    assert_int_equal(noted.submit[0].kind, SONDE_OP_KERNEL);
    assert_true(noted.submit[0].key != 0 && noted.submit[0].key == noted.completion[0].key);
    assert_int_equal(noted.ends, 1);
}

static void failed_and_empty_calls_make_nothing(void **state)
{
    (void)state;
    CALL(cuLaunchKernel, 1, CUDA_ERROR_INVALID_VALUE, .gridDimX = 0);
    CALL(cuMemcpyHtoD_v2, 2, CUDA_SUCCESS, .ByteCount = 0);
    CALL(cuMemsetD8Async, 3, CUDA_SUCCESS, .N = 0);
    const CUDA_MEMCPY2D flat = {.WidthInBytes = 100, .Height = 0};
    CALL(cuMemcpy2D_v2, 4, CUDA_SUCCESS, .pCopy = &flat);
    assert_int_equal(noted.calls, 4);
    assert_int_equal(noted.submits, 0);
    CALL(cuMemcpyHtoD_v2, 5, CUDA_SUCCESS, .ByteCount = 1);
    assert_int_equal(noted.submits, 1);
}

static void only_the_outermost_call_is_recorded(void **state)
{
    (void)state;
    cuLaunchKernel_params params = {.gridDimX = 1};
    at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_RUNTIME_API, 211, NULL, 9, CUDA_SUCCESS);
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, 10, CUDA_SUCCESS);
    assert_int_equal(noted.submits, 0); /* the call is not over */
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_RUNTIME_API, 211, NULL, 9, CUDA_SUCCESS);
    assert_int_equal(noted.calls, 1);
    assert_int_equal(noted.ends, 1);
    assert_int_equal(noted.submits, 1);
    assert_int_equal((uint32_t)noted.submit[0].key, 10);
}

static void an_exit_alone_is_ignored(void **state)
{
    (void)state;
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, NULL, 3, CUDA_SUCCESS);
    assert_int_equal(noted.submits + noted.ends, 0);
    launch(4);
    assert_int_equal(noted.submits, 1);
}

static void nothing_is_recorded_while_off(void **state)
{
    (void)state;
    noted.off = true;
    launch(1);
    assert_int_equal(noted.calls + noted.submits + noted.ends, 0);
    noted.off = false;
    launch(2);
    assert_int_equal(noted.submits, 1);
}

static void correlation_ids_wrap(void **state)
{
    (void)state;
    uint64_t last = 0;
    /* From where the other tests are, in steps, past 2^32 twice. */
    for (uint64_t id = 1000; id < 3ull << 32; id += 1 << 28) {
        launch((uint32_t)id);
        const uint64_t key = noted.submit[(noted.submits - 1) % NOTED_MAX].key;
        assert_true(key > last);
        assert_int_equal((uint32_t)key, (uint32_t)id);
        last = key;
    }
    kernel_record("late", (uint32_t)last - 100, sizeof(CUpti_ActivityKernel10)); /* before the newest */
    deliver();
    assert_true(noted.completion[0].key == last - 100);
}

/* ---- what waits for what ---------------------------------------------------------------- */

static void must_wait(uint32_t i, uint64_t waiter, uint64_t op, uint32_t lane, uint32_t device)
{
    const struct sonde_wait *w = &noted.wait[i];
    if (i >= noted.waits || w->waiter != waiter || w->op != op || w->lane != lane || w->device != device)
        fail_msg("wait %u of %u: %d for %d, lane %u, device %u", i, noted.waits, (int)w->waiter, (int)w->op, w->lane, w->device);
}

static void waits_name_the_record_that_they_wait_for(void **state)
{
    (void)state;
    CUevent event = (CUevent)(uintptr_t)0x1000, other = (CUevent)(uintptr_t)0x2000;
    CUstream first = (CUstream)(uintptr_t)20, second = (CUstream)(uintptr_t)21;
    CALL(cuStreamWaitEvent, 1, CUDA_SUCCESS, .hStream = second, .hEvent = event); /* nothing was recorded in it */
    CALL(cuEventRecord, 2, CUDA_SUCCESS, .hEvent = event, .hStream = first);
    CALL(cuEventRecord, 3, CUDA_SUCCESS, .hEvent = other, .hStream = first);
    CALL(cuStreamWaitEvent, 4, CUDA_SUCCESS, .hStream = second, .hEvent = event);
    CALL(cuEventRecordWithFlags, 5, CUDA_SUCCESS, .hEvent = event, .hStream = first);
    CALL(cuStreamWaitEvent, 6, CUDA_SUCCESS, .hStream = second, .hEvent = event);
    CALL(cuEventRecord, 7, CUDA_ERROR_INVALID_VALUE, .hEvent = event, .hStream = first);
    CALL(cuEventSynchronize, 8, CUDA_SUCCESS, .hEvent = event);
    CALL(cuEventSynchronize, 9, CUDA_SUCCESS, .hEvent = other);
    assert_int_equal(noted.submits, 8); /* numbered from 1 */
    assert_int_equal(noted.submit[1].kind, SONDE_OP_EVENT_RECORD);
    assert_int_equal(noted.submit[3].kind, SONDE_OP_EVENT_WAIT);
    assert_int_equal(noted.submit[7].kind, SONDE_OP_SYNCHRONIZE);
    assert_true(noted.submit[1].lane && noted.submit[1].lane != noted.submit[3].lane);
    assert_int_equal(noted.submit[1].bytes, 0);
    must_wait(0, 4, 2, 0, 0);
    must_wait(1, 6, 5, 0, 0);
    must_wait(2, 0, 5, 0, 0);
    must_wait(3, 0, 3, 0, 0);
    assert_int_equal(noted.waits, 4);
}

static void events_that_are_gone_are_forgotten(void **state)
{
    (void)state;
    CUevent event = (CUevent)(uintptr_t)0x3000;
    CUstream stream = (CUstream)(uintptr_t)22;
    CALL(cuEventRecord, 1, CUDA_SUCCESS, .hEvent = event, .hStream = stream);
    CALL(cuEventDestroy_v2, 2, CUDA_SUCCESS, .hEvent = event);
    CALL(cuEventSynchronize, 3, CUDA_SUCCESS, .hEvent = event);
    CALL(cuEventRecord, 4, CUDA_SUCCESS, .hEvent = event, .hStream = stream);
    noted.off = true;
    CALL(cuEventRecord, 5, CUDA_SUCCESS, .hEvent = event, .hStream = stream); /* not recorded, and the last one */
    noted.off = false;
    CALL(cuEventSynchronize, 6, CUDA_SUCCESS, .hEvent = event);
    assert_int_equal(noted.waits, 0);
}

static void synchronizations_name_what_they_wait_for(void **state)
{
    (void)state;
    CALL(cuStreamSynchronize, 1, CUDA_SUCCESS, .hStream = (CUstream)(uintptr_t)23);
    driver_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, NULL, 2, CUDA_SUCCESS);
    CALL(cuCtxSynchronize_v2, 3, CUDA_SUCCESS, .ctx = NULL);
    CALL(cuStreamSynchronize, 4, CUDA_ERROR_INVALID_HANDLE, .hStream = (CUstream)(uintptr_t)23);
    must_wait(0, 0, 0, noted.submit[0].lane, 0);
    must_wait(1, 0, 0, 0, atomic_load(&sonde__cuda_device(0)->id));
    must_wait(2, 0, 0, 0, atomic_load(&sonde__cuda_device(0)->id));
    assert_int_equal(noted.waits, 3);
}

/* NVIDIA's rules, by the two ends and the name. */
static void copies_that_wait_say_so(void **state)
{
    (void)state;
    const uint32_t first = noted.objects;
    CUdeviceptr device = 0x5000000;
    void *pinned = (void *)(uintptr_t)0x6000000, *pageable = (void *)(uintptr_t)0x9000000;
    const CUdeviceptr host = (uintptr_t)pageable;
    CUarray array = (CUarray)(uintptr_t)0x7000000;
    const CUDA_ARRAY3D_DESCRIPTOR box = {.Width = 64, .Height = 8, .Depth = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &device, .bytesize = 4096);
    CALL(cuMemHostAlloc, 2, CUDA_SUCCESS, .pp = &pinned, .bytesize = 4096);
    CALL(cuArray3DCreate_v2, 3, CUDA_SUCCESS, .pHandle = &array, .pAllocateArray = &box);
    uint32_t n = 0;
    uint64_t waiting[20];
#define COPY(waits_, name, ...)                                         \
    do {                                                                \
        CALL(name, 10 + noted.submits, CUDA_SUCCESS, __VA_ARGS__);      \
        if (waits_)                                                     \
            waiting[n++] = noted.submits;                               \
    } while (0)
    COPY(true, cuMemcpyHtoD_v2, .dstDevice = device + 100, .srcHost = pageable, .ByteCount = 8);
    COPY(true, cuMemcpyHtoD_v2_ptds, .dstDevice = device, .srcHost = pinned, .ByteCount = 8);
    COPY(false, cuMemcpyHtoDAsync_v2, .dstDevice = device, .srcHost = pageable, .ByteCount = 8);
    COPY(true, cuMemcpyDtoH_v2, .dstHost = pinned, .srcDevice = device, .ByteCount = 8);
    COPY(true, cuMemcpyDtoHAsync_v2, .dstHost = pageable, .srcDevice = device, .ByteCount = 8);
    COPY(false, cuMemcpyDtoHAsync_v2, .dstHost = (char *)pinned + 8, .srcDevice = device, .ByteCount = 8);
    COPY(false, cuMemcpyDtoD_v2, .dstDevice = device, .srcDevice = device + 8, .ByteCount = 8);
    COPY(false, cuMemcpy, .dst = device, .src = device + 8, .ByteCount = 8); /* the driver says that both are on a device */
    COPY(true, cuMemcpy, .dst = device, .src = host, .ByteCount = 8);
    COPY(true, cuMemcpy, .dst = host, .src = device, .ByteCount = 8);
    COPY(true, cuMemcpyAsync_ptsz, .dst = host, .src = device, .ByteCount = 8);
    COPY(false, cuMemcpyAsync, .dst = device, .src = host, .ByteCount = 8);
    COPY(false, cuMemcpyPeer, .dstDevice = device, .srcDevice = device, .ByteCount = 8);
    COPY(true, cuMemcpyHtoA_v2, .dstArray = array, .srcHost = pageable, .ByteCount = 8);
    const CUDA_MEMCPY2D down = {.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pageable, .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = array, .WidthInBytes = 8, .Height = 2};
    const CUDA_MEMCPY2D across = {.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device,
                                  .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .WidthInBytes = 8, .Height = 2};
    COPY(true, cuMemcpy2D_v2, .pCopy = &down);
    COPY(false, cuMemcpy2D_v2, .pCopy = &across);
    COPY(true, cuMemcpy2DAsync_v2, .pCopy = &down);
    COPY(false, cuMemsetD8_v2, .dstDevice = device + 4095, .N = 1);
    COPY(false, cuMemsetD8_v2, .dstDevice = device + 4096, .N = 1); /* behind it */
    assert_int_equal(noted.waits, n);
    for (uint32_t i = 0; i < n; i++)
        must_wait(i, 0, waiting[i], 0, 0);
    uint32_t named[3] = {0};
    for (uint32_t i = 0; i < noted.submits; i++)
        if (noted.submit[i].object)
            named[noted.submit[i].object - 1 - first]++;
    /* Alone in an operation, or with the other end. */
    assert_int_equal(named[0] + noted.object[first].uses, 15);
    assert_int_equal(named[1] + noted.object[first + 1].uses, 3);
    assert_int_equal(named[2] + noted.object[first + 2].uses, 4);
    assert_int_equal(noted.object[first + 1].uses, 3);
    CALL(cuMemFree_v2, 90, CUDA_SUCCESS, .dptr = device);
    CALL(cuMemFreeHost, 91, CUDA_SUCCESS, .p = pinned);
    CALL(cuArrayDestroy, 92, CUDA_SUCCESS, .hArray = array);
}

/* ---- streams ----------------------------------------------------------------------------- */

static void each_thread_has_its_own_default_stream(void **state)
{
    (void)state;
    CALL(cuStreamSynchronize, 1, CUDA_SUCCESS, .hStream = NULL);
    own_stream = 200;
    CALL(cuStreamSynchronize_ptsz, 2, CUDA_SUCCESS, .hStream = NULL);
    own_stream = 201; /* another thread's */
    CALL(cuStreamSynchronize_ptsz, 3, CUDA_SUCCESS, .hStream = NULL);
    CALL(cuStreamSynchronize, 4, CUDA_SUCCESS, .hStream = CU_STREAM_PER_THREAD);
    assert_int_equal(noted.submits, 4);
    assert_true(noted.submit[0].lane != noted.submit[1].lane);
    assert_true(noted.submit[1].lane != noted.submit[2].lane);
    assert_int_equal(noted.submit[2].lane, noted.submit[3].lane);
}

static void resource(CUpti_CallbackId id, CUstream stream)
{
    const CUpti_ResourceData data = {.context = CONTEXT, .resourceHandle.stream = stream};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

static void a_stream_handle_used_again_is_another_stream(void **state)
{
    (void)state;
    CUstream handle = (CUstream)(uintptr_t)30;
    CALL(cuStreamSynchronize, 1, CUDA_SUCCESS, .hStream = handle);
    CALL(cuStreamSynchronize, 2, CUDA_SUCCESS, .hStream = handle);
    resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, handle);
    later_streams = 500; /* CUPTI numbers no two streams alike */
    CALL(cuStreamSynchronize, 3, CUDA_SUCCESS, .hStream = handle);
    later_streams = 0;
    assert_true(noted.submit[0].lane != 0);
    assert_int_equal(noted.submit[1].lane, noted.submit[0].lane);
    assert_true(noted.submit[2].lane != 0 && noted.submit[2].lane != noted.submit[0].lane);
}

static uint32_t flags_of(CUstream stream)
{
    CALL(cuStreamSynchronize, 60, CUDA_SUCCESS, .hStream = stream);
    return noted.lane[(noted.submit[noted.submits - 1].lane - 1) % NOTED_MAX].flags;
}

static void make_stream(CUstream stream, unsigned flags)
{
    const cuStreamCreateWithPriority_params params = {.flags = flags};
    at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority, &params, 50, CUDA_SUCCESS);
    resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, stream);
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority, &params, 50, CUDA_SUCCESS);
}

static void lanes_say_how_they_stand_to_the_default_stream(void **state)
{
    (void)state;
    make_stream((CUstream)(uintptr_t)40, CU_STREAM_DEFAULT);
    make_stream((CUstream)(uintptr_t)41, CU_STREAM_NON_BLOCKING);
    noted.off = true; /* streams are followed also then */
    make_stream((CUstream)(uintptr_t)42, CU_STREAM_NON_BLOCKING);
    noted.off = false;
    assert_int_equal(flags_of(NULL), SONDE_LANE_LEGACY);
    assert_int_equal(flags_of((CUstream)(uintptr_t)40), 0);
    assert_int_equal(flags_of((CUstream)(uintptr_t)41), SONDE_LANE_NON_BLOCKING);
    assert_int_equal(flags_of((CUstream)(uintptr_t)42), SONDE_LANE_NON_BLOCKING);
    own_stream = 300;
    assert_int_equal(flags_of(CU_STREAM_PER_THREAD), 0);
}

/* ---- graphs -------------------------------------------------------------------------------- */

static void node_event(CUpti_CallbackId id, uintptr_t node, uintptr_t original)
{
    CUpti_GraphData graph = {.node = (CUgraphNode)node, .originalNode = (CUgraphNode)original};
    const CUpti_ResourceData data = {.context = CONTEXT, .resourceDescriptor = &graph};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

static void captured_launches_make_nodes_and_no_work(void **state)
{
    (void)state;
    cuLaunchKernel_params params = {.gridDimX = 1};
    at(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, 1, CUDA_SUCCESS);
    node_event(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0x100, 0);
    at(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, 1, CUDA_SUCCESS);
    assert_int_equal(noted.submits, 0);
    node_event(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 0x200, 0x100); /* instantiated */
    node_event(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 0x300, 0x200); /* and cloned again */
    CALL(cuGraphLaunch, 2, CUDA_SUCCESS, .hStream = NULL);
    assert_int_equal(noted.submits, 1);
    assert_int_equal(noted.submit[0].flags, SONDE_SUBMIT_MANY);
    for (int i = 0; i < 3; i++)
        kernel_record("node", 2, sizeof(CUpti_ActivityKernel10))->graphNodeId = i == 2 ? 0x999 : 0x200 + 0x100 * (uint64_t)i;
    deliver();
    assert_int_equal(noted.completions, 3);
    assert_int_equal(noted.completion[0].origin, 1000); /* the first call's context */
    assert_int_equal(noted.completion[1].origin, 1000);
    assert_int_equal(noted.completion[2].origin, 0);
    assert_true(noted.completion[0].key == noted.submit[0].key && noted.completion[2].key == noted.submit[0].key);
}

static CUstream captured[4]; /* as the driver knows them */
static uint32_t questions;

static CUresult CUDAAPI is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    questions++;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    for (int i = 0; i < 4; i++)
        if (stream && captured[i] == stream)
            *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

static void begin_capture(CUstream stream)
{
    captured[0] = stream;
    CALL(cuStreamBeginCapture_v2, 200, CUDA_SUCCESS, .hStream = stream);
}

static void end_capture(CUstream stream, CUresult result)
{
    if (result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        memset(captured, 0, sizeof captured);
    CALL(cuStreamEndCapture, 201, result, .hStream = stream);
}

static void captured_events_are_no_operations(void **state)
{
    (void)state;
    CUstream a = (CUstream)(uintptr_t)0x8010, b = (CUstream)(uintptr_t)0x8020, aside = (CUstream)(uintptr_t)0x8030;
    CUevent event = (CUevent)(uintptr_t)0x8100, other = (CUevent)(uintptr_t)0x8200;
    questions = 0;
    CALL(cuEventRecord, 1, CUDA_SUCCESS, .hEvent = event, .hStream = a);
    assert_int_equal(questions, 0); /* nothing is captured */
    begin_capture(a);
    CALL(cuEventRecord, 2, CUDA_SUCCESS, .hEvent = event, .hStream = a);
    captured[1] = b; /* it joins */
    CALL(cuStreamWaitEvent, 3, CUDA_SUCCESS, .hStream = b, .hEvent = event);
    CALL(cuEventRecord, 4, CUDA_SUCCESS, .hEvent = other, .hStream = aside); /* not captured */
    assert_int_equal(noted.submits, 2);
    assert_int_equal(noted.waits, 0);
    end_capture(a, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CALL(cuEventRecord, 5, CUDA_SUCCESS, .hEvent = event, .hStream = a); /* it goes on */
    assert_int_equal(noted.submits, 2);
    end_capture(a, CUDA_SUCCESS);
    questions = 0;
    CALL(cuEventSynchronize, 6, CUDA_SUCCESS, .hEvent = event); /* what was recorded before does not count any more */
    assert_int_equal(noted.waits, 0);
    CALL(cuEventSynchronize, 7, CUDA_SUCCESS, .hEvent = other);
    must_wait(0, 0, 2, 0, 0);
    CALL(cuEventRecord, 8, CUDA_SUCCESS, .hEvent = event, .hStream = a);
    CALL(cuStreamWaitEvent, 9, CUDA_SUCCESS, .hStream = b, .hEvent = event);
    must_wait(1, 6, 5, 0, 0);
    assert_int_equal(questions, 0);
}

static void captures_end_with_their_streams(void **state)
{
    (void)state;
    CUstream a = (CUstream)(uintptr_t)0x8040, own = CU_STREAM_PER_THREAD;
    CUevent event = (CUevent)(uintptr_t)0x8300;
    begin_capture(a);
    noted.off = true; /* captures are followed also then */
    resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, a);
    begin_capture(a);
    end_capture(a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    captured[0] = own;
    CALL(cuStreamBeginCapture_v2_ptsz, 1, CUDA_SUCCESS, .hStream = NULL);
    noted.off = false;
    CALL(cuEventRecord_ptsz, 2, CUDA_SUCCESS, .hEvent = event, .hStream = NULL);
    assert_int_equal(noted.submits, 0);
    memset(captured, 0, sizeof captured);
    CALL(cuStreamEndCapture, 3, CUDA_SUCCESS, .hStream = own);
    begin_capture(a);
    const CUpti_ResourceData gone = {.context = CONTEXT};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &gone);
    questions = 0;
    CALL(cuEventRecord, 4, CUDA_SUCCESS, .hEvent = event, .hStream = a);
    assert_int_equal(questions, 0);
    assert_int_equal(noted.submits, 1);
    memset(captured, 0, sizeof captured);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void allocations_become_objects_until_freed(void **state)
{
    (void)state;
    const uint32_t first = noted.objects;
    CUdeviceptr device = 0x10000, pool = 0x20000;
    void *host = (void *)(uintptr_t)0x30000;
    CUarray array = (CUarray)(uintptr_t)0x40000;
    const CUDA_ARRAY3D_DESCRIPTOR box = {.Width = 64, .Height = 8, .Depth = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &device, .bytesize = 4096);
    CALL(cuMemAllocAsync, 2, CUDA_SUCCESS, .dptr = &pool, .bytesize = 512);
    CALL(cuMemHostAlloc, 3, CUDA_SUCCESS, .pp = &host, .bytesize = 100);
    CALL(cuArray3DCreate_v2, 4, CUDA_SUCCESS, .pHandle = &array, .pAllocateArray = &box);
    CALL(cuMemMap, 5, CUDA_SUCCESS, .ptr = 0x100000, .size = 0x1000);
    CALL(cuMemMap, 6, CUDA_SUCCESS, .ptr = 0x101000, .size = 0x1000);
    CALL(cuMemAlloc_v2, 7, CUDA_ERROR_OUT_OF_MEMORY, .dptr = &device, .bytesize = 1);
    assert_int_equal(noted.objects - first, 6);
    const struct { enum sonde_object_kind kind; uint64_t bytes; } expected[] = {
        {SONDE_OBJECT_DEVICE, 4096}, {SONDE_OBJECT_POOL, 512}, {SONDE_OBJECT_PINNED, 100},
        {SONDE_OBJECT_ARRAY, 64 * 8 * 4 * 4 * 2}, {SONDE_OBJECT_VIRTUAL, 0x1000}, {SONDE_OBJECT_VIRTUAL, 0x1000}};
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(noted.object[first + i].kind, expected[i].kind);
        assert_int_equal(noted.object[first + i].bytes, expected[i].bytes);
        assert_int_equal(noted.object[first + i].device != 0, i == 0 || i == 1 || i == 3); /* not pinned, not mapped */
    }
    CALL(cuMemFree_v2, 8, CUDA_SUCCESS, .dptr = device);
    CALL(cuMemFree_v2, 9, CUDA_SUCCESS, .dptr = 0x7777); /* nobody saw it allocated */
    CALL(cuMemFreeAsync, 10, CUDA_SUCCESS, .dptr = pool);
    CALL(cuArrayDestroy, 11, CUDA_SUCCESS, .hArray = array);
    CALL(cuMemUnmap, 12, CUDA_SUCCESS, .ptr = 0x100000, .size = 0x2000); /* both at once */
    assert_int_equal(noted.frees, 5);
    assert_false(noted.object[first + 2].freed);
    const CUpti_ResourceData gone = {.context = CONTEXT};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &gone);
    assert_true(noted.object[first + 2].freed);
}

/* ---- records ----------------------------------------------------------------------------------- */

static void older_and_newer_records_are_read(void **state)
{
    (void)state;
    launch(1), launch(2), launch(3);
    kernel_record("old", 1, sizeof(CUpti_ActivityKernel9));
    kernel_record("new", 2, sizeof(CUpti_ActivityKernel10))->clusterX = 2;
    kernel_record("newer", 3, sizeof(CUpti_ActivityKernel10) + 64);
    deliver();
    assert_int_equal(noted.completions, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(noted.completion[i].key == noted.submit[i].key);
        assert_int_equal(noted.completion[i].kind, SONDE_OP_KERNEL);
        assert_int_equal(noted.completion[i].result, SONDE_POLL_DONE);
    }
    const struct sonde_work *w = &noted.work[noted.completion[1].work - 1];
    assert_int_equal(w->dims, 2);
    assert_int_equal(w->global[0], 1280);
    assert_int_equal(w->global[1], 2);
    assert_int_equal(w->local[0], 128);
    assert_int_equal(w->registers, 32);
    assert_int_equal(w->dynamic_shared, 1024);
    assert_int_equal(w->cluster[0], 2);
    assert_int_equal(w->occupancy, 1000);
    assert_string_equal(noted.string[noted.completion[2].name - 1], "newer");
}

static void copies_say_what_they_join(void **state)
{
    (void)state;
    static const struct { uint8_t copy, from, to; enum sonde_op_kind kind; uint16_t source, target; } cases[] = {
        {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
         SONDE_OP_WRITE, SONDE_MEMORY_PAGEABLE, SONDE_MEMORY_DEVICE},
        {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
         SONDE_OP_READ, SONDE_MEMORY_DEVICE, SONDE_MEMORY_PINNED},
        {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY,
         SONDE_OP_COPY, SONDE_MEMORY_MANAGED, SONDE_MEMORY_ARRAY},
        {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
         SONDE_OP_HOST_COPY, SONDE_MEMORY_PINNED, SONDE_MEMORY_PINNED},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        CUpti_ActivityMemcpy6 *m = record_add(sizeof(CUpti_ActivityMemcpy6));
        m->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
        m->copyKind = cases[i].copy, m->srcKind = cases[i].from, m->dstKind = cases[i].to;
        m->bytes = 100 + i, m->contextId = 1, m->streamId = 7, m->correlationId = 50 + i, m->start = m->end = 1;
    }
    CUpti_ActivityMemcpyPtoP4 *p = record_add(sizeof *p);
    p->kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    p->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    p->contextId = 1, p->streamId = 7, p->srcDeviceId = 1, p->dstDeviceId = 2, p->correlationId = 60, p->bytes = 9;
    deliver();
    assert_int_equal(noted.completions, 5);
    for (unsigned i = 0; i < 4; i++) {
        const struct sonde_work *w = &noted.work[noted.completion[i].work - 1];
        assert_int_equal(noted.completion[i].kind, cases[i].kind);
        assert_int_equal(noted.completion[i].bytes, 100 + i);
        assert_int_equal(w->source, cases[i].source);
        assert_int_equal(w->target, cases[i].target);
    }
    assert_int_equal(noted.completion[4].kind, SONDE_OP_PEER_COPY);
    const struct sonde_work *w = &noted.work[noted.completion[4].work - 1];
    assert_true(w->source_device && w->target_device && w->source_device != w->target_device);
    assert_int_equal(noted.completion[4].result, SONDE_POLL_NO_TIMES); /* it had none */
}

static void names_that_move_are_noticed(void **state)
{
    (void)state;
    char place[16] = "first";
    kernel_record(place, 70, sizeof(CUpti_ActivityKernel10));
    deliver();
    strcpy(place, "second");
    kernel_record(place, 71, sizeof(CUpti_ActivityKernel10));
    deliver();
    assert_string_equal(noted.string[noted.completion[0].name - 1], "first");
    assert_string_equal(noted.string[noted.completion[1].name - 1], "second");
}

static void buffers_of_others_are_left_alone(void **state)
{
    (void)state;
    static uint8_t foreign[64];
    kernel_record("k", 80, sizeof(CUpti_ActivityKernel10));
    sonde__cuda_buffer_completed(CONTEXT, 0, foreign, sizeof foreign, sizeof foreign);
    sonde__cuda_collect(false);
    assert_int_equal(noted.completions, 0);
}

static void the_end_is_asked_for_with_force_at_last(void **state)
{
    (void)state;
    flushed = forced = 0;
    sonde__cuda_collect(true);
    assert_int_equal(flushed, 1);
    assert_int_equal(forced, 0);
    noted.now_ns += 1000; /* at once again: not worth it */
    sonde__cuda_collect(true);
    assert_int_equal(flushed, 1);
    noted.now_ns += 900000000;
    sonde__cuda_collect(true);
    assert_int_equal(forced, 1);
    /* What has not ended is not an operation yet. */
    CUpti_ActivityKernel10 *k = kernel_record("running", 90, sizeof *k);
    k->end = 0;
    uint8_t *bytes;
    size_t size, count;
    sonde__cuda_buffer_requested(&bytes, &size, &count);
    sonde__cuda_buffer_completed(CONTEXT, 0, bytes, size, records_used);
    sonde__cuda_collect(true);
    assert_int_equal(noted.completions, 0);
    sonde__cuda_collect(false); /* the program goes on after all: patience begins anew */
    noted.now_ns += 10000000;
    sonde__cuda_collect(true);
    assert_int_equal(forced, 1);
}

/* ---- clock --------------------------------------------------------------------------------------- */

static uint64_t error_of(uint64_t host_ns)
{
    const uint64_t found = sonde__cuda_clock_host(cupti_offset + (uint64_t)((double)host_ns * cupti_rate));
    return found > host_ns ? found - host_ns : host_ns - found;
}

static void times_are_interpolated_between_pairs(void **state)
{
    (void)state;
    cupti_rate = 1.0001; /* 100 ppm: 100 us in a second */
    noted.now_ns = 1000000000;
    sonde__cuda_clock_pair();
    for (int i = 0; i < 10; i++) {
        noted.now_ns += 1000000000;
        sonde__cuda_clock_pair();
    }
    for (uint64_t ns = 1000000000; ns < 11000000000; ns += 123456789)
        assert_true(error_of(ns) <= 30); /* half of what a reading takes, and rounding */
    assert_int_equal(noted.notes, 0);
}

static void a_step_of_the_clock_is_said(void **state)
{
    (void)state;
    sonde__cuda_clock_pair();
    noted.now_ns += 1000000000;
    cupti_offset += 50000000; /* 50 ms */
    sonde__cuda_clock_pair();
    assert_int_equal(noted.notes, 1);
    sonde__cuda_device(0);
    sonde__cuda_clock_sync();
    assert_true(noted.pairs >= 1);
    cupti_offset -= 50000000;
}

/* ---- table ------------------------------------------------------------------------------------------ */

static bool is_odd(const struct sonde_cuda_entry *entry, void *user)
{
    (void)user;
    return entry->value & 1;
}

static void the_table_agrees_with_an_array(void **state)
{
    (void)state;
    enum { KEYS = 4000 };
    static struct sonde_cuda_table t = SONDE_CUDA_TABLE_INITIALIZER;
    static uint64_t truth[KEYS + 1]; /* 0: absent */
    uint64_t seed = 12345, value;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        const uint64_t key = 1 + (seed >> 33) % KEYS;
        if (seed >> 62) {
            truth[key] = (uint64_t)i + 1;
            assert_true(sonde__cuda_table_put(&t, key << 20, truth[key]));
        } else {
            assert_int_equal(sonde__cuda_table_take(&t, key << 20, &value), truth[key] != 0);
            truth[key] = 0;
        }
    }
    sonde__cuda_table_sweep(&t, is_odd, NULL);
    for (uint64_t key = 1; key <= KEYS; key++) {
        const bool expected = truth[key] && !(truth[key] & 1);
        assert_int_equal(sonde__cuda_table_get(&t, key << 20, &value), expected);
        if (expected)
            assert_int_equal(value, truth[key]);
    }
    assert_false(sonde__cuda_table_put(&t, 0, 1));
}

/* ---- occupancy ------------------------------------------------------------------------------------------ */

static void compare(const struct sonde_cuda_device *d, const cudaOccDeviceProp *p, int threads, int registers, int shared)
{
    const cudaOccFuncAttributes f = {.maxThreadsPerBlock = 1024, .numRegs = registers, .maxDynamicSharedSizeBytes = 232448,
                                     .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN};
    const cudaOccDeviceState s = {.cacheConfig = CACHE_PREFER_SHARED, .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    cudaOccResult r = {0};
    assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(&r, p, &f, &s, threads, (size_t)shared), CUDA_OCC_SUCCESS);
    if (r.activeBlocksPerMultiprocessor == 0)
        return; /* such a kernel does not start, so there is no record of it */
    const struct sonde_occupancy o = sonde__cuda_occupancy(d, (uint64_t)threads, (uint32_t)registers, (uint32_t)shared, 0);
    if ((int)o.blocks != r.activeBlocksPerMultiprocessor)
        fail_msg("%d.%d, %d threads, %d registers, %d bytes: %u blocks, NVIDIA says %d", d->major, d->minor, threads,
                 registers, shared, o.blocks, r.activeBlocksPerMultiprocessor);
    const int warps = (threads + 31) / 32;
    assert_int_equal(o.thousandths, r.activeBlocksPerMultiprocessor * warps * 1000 / (d->max_threads / 32));
}

static void occupancy_is_nvidias(void **state)
{
    (void)state;
    /* Figures of the CUDA programming guide, "Technical Specifications per Compute Capability". */
    static const struct { int major, minor, threads, blocks, shared, block_shared, reserved; } archs[] = {
        {7, 0, 2048, 32, 98304, 98304, 0},     {7, 5, 1024, 16, 65536, 65536, 0},
        {8, 0, 2048, 32, 167936, 166912, 1024}, {8, 6, 1536, 16, 102400, 101376, 1024},
        {8, 9, 1536, 24, 102400, 101376, 1024}, {9, 0, 2048, 32, 233472, 232448, 1024},
        {10, 0, 2048, 32, 233472, 232448, 1024}, {12, 0, 1536, 24, 102400, 101376, 1024}};
    for (unsigned a = 0; a < sizeof archs / sizeof *archs; a++) {
        const struct sonde_cuda_device d = {.major = archs[a].major, .minor = archs[a].minor, .max_threads = archs[a].threads,
                                            .max_blocks = archs[a].blocks, .max_registers = 65536,
                                            .max_shared = archs[a].shared, .reserved_shared = archs[a].reserved,
                                            .multiprocessors = 100};
        const cudaOccDeviceProp p = {.computeMajor = archs[a].major, .computeMinor = archs[a].minor, .maxThreadsPerBlock = 1024,
                                     .maxThreadsPerMultiprocessor = archs[a].threads, .regsPerBlock = 65536,
                                     .regsPerMultiprocessor = 65536, .warpSize = 32, .sharedMemPerBlock = 49152,
                                     .sharedMemPerMultiprocessor = (size_t)archs[a].shared, .numSms = 100,
                                     .sharedMemPerBlockOptin = (size_t)archs[a].block_shared,
                                     .reservedSharedMemPerBlock = (size_t)archs[a].reserved};
        for (int threads = 1; threads <= 1024; threads += threads < 64 ? 9 : 61)
            for (int registers = 8; registers <= 255; registers += 13)
                for (int shared = 0; shared <= archs[a].block_shared - 1024; shared += shared < 8192 ? 1000 : 11111)
                    compare(&d, &p, threads, registers, shared);
    }
}

static void the_limit_is_named(void **state)
{
    (void)state;
    const struct sonde_cuda_device h = {.major = 9, .max_threads = 2048, .max_blocks = 32, .max_registers = 65536,
                                        .max_shared = 233472, .reserved_shared = 1024, .multiprocessors = 132};
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 32, 0, 100000).limiter, SONDE_LIMITER_NONE);
    assert_int_equal(sonde__cuda_occupancy(&h, 32, 32, 0, 100000).limiter, SONDE_LIMITER_BLOCKS);
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 128, 0, 100000).limiter, SONDE_LIMITER_REGISTERS);
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 32, 100000, 100000).limiter, SONDE_LIMITER_SHARED);
    assert_int_equal(sonde__cuda_occupancy(&h, 768, 32, 0, 100000).limiter, SONDE_LIMITER_THREADS);
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 32, 0, 132).limiter, SONDE_LIMITER_GRID);
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 32, 0, 132).thousandths, 1000);
    assert_int_equal(sonde__cuda_occupancy(&h, 0, 32, 0, 1).thousandths, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, play)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(launches_and_records_share_keys), TEST(failed_and_empty_calls_make_nothing),
        TEST(only_the_outermost_call_is_recorded), TEST(an_exit_alone_is_ignored), TEST(nothing_is_recorded_while_off),
        TEST(waits_name_the_record_that_they_wait_for), TEST(events_that_are_gone_are_forgotten),
        TEST(synchronizations_name_what_they_wait_for), TEST(copies_that_wait_say_so),
        TEST(lanes_say_how_they_stand_to_the_default_stream), TEST(captured_events_are_no_operations),
        TEST(captures_end_with_their_streams), TEST(each_thread_has_its_own_default_stream),
        TEST(a_stream_handle_used_again_is_another_stream), TEST(captured_launches_make_nodes_and_no_work),
        TEST(allocations_become_objects_until_freed), TEST(older_and_newer_records_are_read),
        TEST(copies_say_what_they_join), TEST(names_that_move_are_noticed), TEST(buffers_of_others_are_left_alone),
        TEST(the_end_is_asked_for_with_force_at_last), TEST(times_are_interpolated_between_pairs),
        TEST(a_step_of_the_clock_is_said), TEST(the_table_agrees_with_an_array), TEST(occupancy_is_nvidias),
        TEST(the_limit_is_named), TEST(correlation_ids_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
