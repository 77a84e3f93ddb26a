/* test_calls.c - what the backend makes of calls: operations, lanes, nodes of graphs, objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "played.h"

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

/* ---- streams ----------------------------------------------------------------------------- */

static void each_thread_has_its_own_default_stream(void **state)
{
    (void)state;
    CALL(cuStreamSynchronize, 1, CUDA_SUCCESS, .hStream = NULL);
    played.own_stream = 200;
    CALL(cuStreamSynchronize_ptsz, 2, CUDA_SUCCESS, .hStream = NULL);
    played.own_stream = 201; /* another thread's */
    CALL(cuStreamSynchronize_ptsz, 3, CUDA_SUCCESS, .hStream = NULL);
    CALL(cuStreamSynchronize, 4, CUDA_SUCCESS, .hStream = CU_STREAM_PER_THREAD);
    assert_int_equal(noted.submits, 4);
    assert_true(noted.submit[0].lane != noted.submit[1].lane);
    assert_true(noted.submit[1].lane != noted.submit[2].lane);
    assert_int_equal(noted.submit[2].lane, noted.submit[3].lane);
}

static void a_stream_handle_used_again_is_another_stream(void **state)
{
    (void)state;
    CUstream handle = (CUstream)(uintptr_t)30;
    CALL(cuStreamSynchronize, 1, CUDA_SUCCESS, .hStream = handle);
    CALL(cuStreamSynchronize, 2, CUDA_SUCCESS, .hStream = handle);
    resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, handle);
    played.later_streams = 500; /* CUPTI numbers no two streams alike */
    CALL(cuStreamSynchronize, 3, CUDA_SUCCESS, .hStream = handle);
    played.later_streams = 0;
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
    played.own_stream = 300;
    assert_int_equal(flags_of(CU_STREAM_PER_THREAD), 0);
}

static void the_current_device_is_asked_for_unseen(void **state)
{
    (void)state;
    played.current = 2;
    const uint32_t id = sonde_backend_cuda.device_here();
    assert_true(id != 0 && id == atomic_load(&sonde__cuda_device(2)->id));
    played.current = -1;
    assert_int_equal(sonde_backend_cuda.device_here(), 0);
    played.current = 0;
    atomic_store(&sonde__cuda_on, false);
    assert_int_equal(sonde_backend_cuda.device_here(), 0);
    assert_int_equal(noted.calls, 0);
}

static void devices_are_numbered_as_cuda_numbers_them(void **state)
{
    (void)state;
    const uint32_t sixth = atomic_load(&sonde__cuda_device(5)->id), fourth = atomic_load(&sonde__cuda_device(3)->id);
    assert_int_equal(sixth, fourth + 2);
    assert_int_equal(atomic_load(&sonde__cuda_device(6)->id), sixth + 1);
    assert_true(atomic_load(&sonde__cuda_device(0)->id) < fourth);
    uint32_t at = 0, used = 0; /* one that no context was on is not asked for its clock */
    for (const struct sonde_cuda_device *d; (d = sonde__cuda_device_next(&at));)
        used += d == sonde__cuda_device(3) || atomic_load(&d->id) == fourth + 1;
    assert_int_equal(used, 1);
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
    const struct {
        enum sonde_object_kind kind;
        uint64_t bytes;
    } expected[] = {
        {SONDE_OBJECT_DEVICE, 4096},
        {SONDE_OBJECT_POOL, 512},
        {SONDE_OBJECT_PINNED, 100},
        {SONDE_OBJECT_ARRAY, 64 * 8 * 4 * 4 * 2},
        {SONDE_OBJECT_VIRTUAL, 0x1000},
        {SONDE_OBJECT_VIRTUAL, 0x1000},
    };
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(launches_and_records_share_keys),
        TEST(failed_and_empty_calls_make_nothing),
        TEST(only_the_outermost_call_is_recorded),
        TEST(an_exit_alone_is_ignored),
        TEST(nothing_is_recorded_while_off),
        TEST(each_thread_has_its_own_default_stream),
        TEST(a_stream_handle_used_again_is_another_stream),
        TEST(lanes_say_how_they_stand_to_the_default_stream),
        TEST(the_current_device_is_asked_for_unseen),
        TEST(devices_are_numbered_as_cuda_numbers_them),
        TEST(captured_launches_make_nodes_and_no_work),
        TEST(allocations_become_objects_until_freed),
        TEST(correlation_ids_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
