/* test_waits.c - which calls and operations wait for what, while streams are captured too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "played.h"

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
    const CUDA_MEMCPY2D down = {
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = pageable,
        .srcMemoryType = CU_MEMORYTYPE_ARRAY,
        .srcArray = array,
        .WidthInBytes = 8,
        .Height = 2,
    };
    const CUDA_MEMCPY2D across = {
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = device,
        .srcMemoryType = CU_MEMORYTYPE_ARRAY,
        .srcArray = array,
        .WidthInBytes = 8,
        .Height = 2,
    };
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
    assert_int_equal(noted.object[first + 1].uses, 2); /* written: the device, which was read, is what the copy names */
    CALL(cuMemFree_v2, 90, CUDA_SUCCESS, .dptr = device);
    CALL(cuMemFreeHost, 91, CUDA_SUCCESS, .p = pinned);
    CALL(cuArrayDestroy, 92, CUDA_SUCCESS, .hArray = array);
}

/* ---- captures ---- */

static void begin_capture(CUstream stream)
{
    played.captured[0] = stream;
    CALL(cuStreamBeginCapture_v2, 200, CUDA_SUCCESS, .hStream = stream);
}

static void end_capture(CUstream stream, CUresult result)
{
    if (result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        memset(played.captured, 0, sizeof played.captured);
    CALL(cuStreamEndCapture, 201, result, .hStream = stream);
}

static void captured_events_are_no_operations(void **state)
{
    (void)state;
    CUstream a = (CUstream)(uintptr_t)0x8010, b = (CUstream)(uintptr_t)0x8020, aside = (CUstream)(uintptr_t)0x8030;
    CUevent event = (CUevent)(uintptr_t)0x8100, other = (CUevent)(uintptr_t)0x8200;
    played.questions = 0;
    CALL(cuEventRecord, 1, CUDA_SUCCESS, .hEvent = event, .hStream = a);
    assert_int_equal(played.questions, 0); /* nothing is played.captured */
    begin_capture(a);
    CALL(cuEventRecord, 2, CUDA_SUCCESS, .hEvent = event, .hStream = a);
    played.captured[1] = b; /* it joins */
    CALL(cuStreamWaitEvent, 3, CUDA_SUCCESS, .hStream = b, .hEvent = event);
    CALL(cuEventRecord, 4, CUDA_SUCCESS, .hEvent = other, .hStream = aside); /* not played.captured */
    assert_int_equal(noted.submits, 2);
    assert_int_equal(noted.waits, 0);
    end_capture(a, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CALL(cuEventRecord, 5, CUDA_SUCCESS, .hEvent = event, .hStream = a); /* it goes on */
    assert_int_equal(noted.submits, 2);
    end_capture(a, CUDA_SUCCESS);
    played.questions = 0;
    CALL(cuEventSynchronize, 6, CUDA_SUCCESS, .hEvent = event); /* what was recorded before does not count any more */
    assert_int_equal(noted.waits, 0);
    CALL(cuEventSynchronize, 7, CUDA_SUCCESS, .hEvent = other);
    must_wait(0, 0, 2, 0, 0);
    CALL(cuEventRecord, 8, CUDA_SUCCESS, .hEvent = event, .hStream = a);
    CALL(cuStreamWaitEvent, 9, CUDA_SUCCESS, .hStream = b, .hEvent = event);
    must_wait(1, 6, 5, 0, 0);
    assert_int_equal(played.questions, 0);
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
    played.captured[0] = own;
    CALL(cuStreamBeginCapture_v2_ptsz, 1, CUDA_SUCCESS, .hStream = NULL);
    noted.off = false;
    CALL(cuEventRecord_ptsz, 2, CUDA_SUCCESS, .hEvent = event, .hStream = NULL);
    assert_int_equal(noted.submits, 0);
    memset(played.captured, 0, sizeof played.captured);
    CALL(cuStreamEndCapture, 3, CUDA_SUCCESS, .hStream = own);
    begin_capture(a);
    const CUpti_ResourceData gone = {.context = CONTEXT};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &gone);
    played.questions = 0;
    CALL(cuEventRecord, 4, CUDA_SUCCESS, .hEvent = event, .hStream = a);
    assert_int_equal(played.questions, 0);
    assert_int_equal(noted.submits, 1);
    memset(played.captured, 0, sizeof played.captured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waits_name_the_record_that_they_wait_for),
        TEST(events_that_are_gone_are_forgotten),
        TEST(synchronizations_name_what_they_wait_for),
        TEST(copies_that_wait_say_so),
        TEST(captured_events_are_no_operations),
        TEST(captures_end_with_their_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
