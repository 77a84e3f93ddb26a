/* test_remote.c - accesses of kernels to memory that is not their device's (--comm): which launches need a copy, what the copy is given, and what is told of it.
 *
 * The driver is made up (device.h). The kernel stores through its first parameter, and through pointers that it reads from a table, its second; the
 * test is the device and counts as instrument/rewrite_remote.c has it: with the table that it was given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "device.h"

enum { THREADS = 32,
       BYTES = 4096,
       HOST = 0x6000000, /* pinned (played.h) */
       ACCESSES = 3 };   /* store through the parameter, load of the table, store through what it holds */

#define NAME "scatter"

static const char ptx[] = ".version 8.7\n.target sm_90\n.address_size 64\n"
                          ".visible .entry scatter(\n.param .u64 scatter_param_0,\n.param .u64 scatter_param_1\n)\n{\n"
                          ".reg .b32 %r<2>;\n.reg .b64 %rd<8>;\n"
                          "ld.param.u64 %rd1, [scatter_param_0];\nld.param.u64 %rd2, [scatter_param_1];\nmov.u32 %r1, 7;\n"
                          "st.global.u32 [%rd1], %r1;\nld.global.u64 %rd3, [%rd2];\nst.global.u32 [%rd3], %r1;\nret;\n}\n";

static CUresult CUDAAPI pointer_attribute(void *value, CUpointer_attribute which, CUdeviceptr at)
{
    if (which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)value = at < HOST ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    else if (which == CU_POINTER_ATTRIBUTE_IS_MANAGED)
        *(int *)value = 0;
    else if (which == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        *(int *)value = at >= 0x500000;
    return at ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int turn_on(void **state)
{
    play(state);
    noted.cells = 0;
    device_on(NAME, ptx, 2);
    device.room = 10 * DEVICE_ROOM;
    sonde__cudrv.cuPointerGetAttribute = pointer_attribute;
    sonde__cuda_twins.remote = true;
    sonde__cuda_twins.plan = SONDE_PLAN_COUNTS | SONDE_PLAN_REMOTE;
    return 0;
}

static int turn_elements_on(void **state)
{
    turn_on(state);
    sonde__cuda_twins.plan |= SONDE_PLAN_CELLS;
    noted.cells = 256; /* of 16 bytes each */
    noted.arrays = noted.runs = 0;
    return 0;
}
#undef TEST
#define TEST(name) cmocka_unit_test_setup(name, turn_on)

/* ---- the device -------------------------------------------------------------------------------------- */

static struct {
    CUdeviceptr to;             /* the first parameter */
    CUdeviceptr where[THREADS]; /* that each thread read from the table */
    const struct sonde_plan_remote *table;
} now;

static const struct sonde_plan_remote_range *range_of(uint64_t at)
{
    for (uint32_t k = 0; k < SONDE_PLAN_REMOTE_RANGES; k++)
        if (at >= now.table->range[k].begin && at < now.table->range[k].end)
            return &now.table->range[k];
    return NULL;
}

/* A thread's store of 4 bytes. */
static void add_to_cell(const struct sonde_plan_remote_range *r, uint64_t at)
{
    const uint64_t first = r->cells & ~(SONDE_PLAN_CELL_STEP - 1), cell = first + ((at - r->begin) >> r->cells % SONDE_PLAN_CELL_STEP);
    if (r->cells)
        ((uint64_t *)(void *)bytes_at(now.table->cells))[SONDE_CELL_KINDS * cell + 1] += 4;
}

static void run(void *const *more)
{
    const struct sonde_plan plan = {SONDE_PLAN_COUNTS | SONDE_PLAN_REMOTE, 1, ACCESSES, 1};
    now.table = more ? more[1] : NULL;
    if (!more)
        return;
    unsigned char *part = bytes_at(*(const CUdeviceptr *)more[0]);
    *(uint64_t *)(void *)part += THREADS;
    for (uint32_t i = 0; i < THREADS; i++) {
        const struct sonde_plan_remote_range *r = now.where[i] ? range_of(now.where[i]) : NULL;
        assert_true(!r || now.where[i] - now.table->home >= now.table->home_bytes); /* no search is left out that would find it */
        if (r)
            add_to_cell(r, now.where[i]);
        if (range_of(now.to))
            add_to_cell(range_of(now.to), now.to);
        if (r)
            ++*(uint64_t *)(void *)(part + sonde__plan_counts(&plan) + r->slot * sizeof(uint64_t));
    }
}

/* Every thread stores to `to`, and `threads` of them to `elsewhere`, which the table holds. */
static bool launches(CUdeviceptr to, CUdeviceptr elsewhere, uint32_t threads)
{
    CUdeviceptr table = 0x100000;
    void *parameters[] = {&to, &table};
    now.to = to;
    for (uint32_t i = 0; i < THREADS; i++)
        now.where[i] = i < threads ? elsewhere : 0;
    return device_launches(parameters, THREADS, run);
}

/* ---- the program --------------------------------------------------------------------------------------- */

static CUdeviceptr allocated(CUdeviceptr p)
{
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = BYTES);
    return p;
}

/* Of another device: from a pool of it, of which the call does not say that. */
static CUdeviceptr allocated_there(CUdeviceptr p)
{
    CALL(cuMemAllocFromPoolAsync, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = BYTES);
    return p;
}

static CUdeviceptr pinned(CUdeviceptr p)
{
    void *at = (void *)(uintptr_t)p;
    CALL(cuMemHostAlloc, 1, CUDA_SUCCESS, .pp = &at, .bytesize = BYTES);
    return p;
}

static uint64_t threads_of(uint32_t number, uint32_t owner)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < noted.remotes; i++)
        if (noted.remote[i].access.operation == noted.one_operation && noted.remote[i].access.number == number && noted.remote[i].access.owner == owner)
            sum += noted.remote[i].threads;
    return sum;
}

/* Nothing is remote: the kernel runs as it is, and that is all that there is to know. */
static void without_other_memory_it_runs_as_it_is(void **state)
{
    (void)state;
    const CUdeviceptr own = allocated(0x100000);
    assert_false(launches(own, 0, 0));
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_NONE), 1);
    assert_int_equal(noted.misses, 1);
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = own);
}

static void both_ways_are_counted(void **state)
{
    (void)state;
    const CUdeviceptr own = allocated(0x100000), there = allocated_there(0x500000), more = allocated_there(0x510000), host = pinned(HOST);
    noted.one_operation = 4711;
    assert_true(launches(there, more + BYTES - 4, 20)); /* its last number */
    assert_true(launches(own, host, 5));
    assert_true(launches(own, own, THREADS)); /* which it might have */
    assert_true(launches(host, there, 1));
    sonde__cuda_values_read(true);
    assert_int_equal(threads_of(0, 2), THREADS);
    assert_int_equal(threads_of(0, 0), THREADS);
    assert_int_equal(threads_of(2, 2), 20 + 1);
    assert_int_equal(threads_of(2, 0), 5);
    assert_int_equal(threads_of(1, 0) + threads_of(1, 2), 0); /* the table is its own */
    for (uint32_t i = 0; i < noted.remotes; i++) {
        assert_int_equal(noted.remote[i].access.operation, 4711);
        assert_int_equal(noted.remote[i].access.device, 1);
        assert_int_equal(noted.remote[i].access.bytes, 4);
        assert_int_equal(noted.remote[i].access.what, SONDE_ACCESS_STORE);
        assert_true(noted.remote[i].access.object != 0);
    }
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_NONE), 4);
    /* What is gone is not looked for. */
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = there);
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = more);
    CALL(cuMemFreeHost, 1, CUDA_SUCCESS, .p = (void *)(uintptr_t)host);
    assert_false(launches(own, there, THREADS));
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = own);
}

/* Two of one site with nothing of this device between are one stretch; with more stretches than the table has, nothing is claimed. */
static void too_many_stretches_are_said(void **state)
{
    (void)state;
    CUdeviceptr p[2 * SONDE_PLAN_REMOTE_RANGES + 2];
    for (uint32_t i = 0; i < 2 * SONDE_PLAN_REMOTE_RANGES; i++)
        p[i] = allocated_there(0x500000 + i * (uint64_t)BYTES);
    assert_true(launches(p[0], p[1], 1));
    assert_int_equal(now.table->range[1].begin, UINT64_MAX);
    assert_int_equal(now.table->bytes, 2ull * SONDE_PLAN_REMOTE_RANGES * BYTES);
    for (uint32_t i = 0; i < 2 * SONDE_PLAN_REMOTE_RANGES; i++)
        CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = p[i]);
    for (uint32_t i = 0; i < SONDE_PLAN_REMOTE_RANGES + 1; i++) {
        p[2 * i] = allocated_there(0x500000 + 2 * i * (uint64_t)BYTES);
        CUdeviceptr own = 0x500000 + (2 * i + 1) * (uint64_t)BYTES;
        CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &own, .bytesize = BYTES);
        p[2 * i + 1] = own;
    }
    assert_false(launches(p[0], p[2], 1));
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_OBJECTS), 1);
    for (uint32_t i = 0; i < 2 * SONDE_PLAN_REMOTE_RANGES + 2; i++)
        CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = p[i]);
}

static void no_device_memory_is_said(void **state)
{
    (void)state;
    const CUdeviceptr there = allocated_there(0x500000);
    struct sonde_cuda_place *place = sonde__cuda_place_known(1);
    assert_non_null(place);
    const uint64_t most = place->most;
    place->most = place->bytes;
    noted.one_operation = 4712;
    assert_false(launches(there, 0, 0));
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_MEMORY), 1);
    place->most = most;
    assert_true(launches(there, 0, 0));
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = there);
}

static uint64_t bytes_in(uint32_t cell)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < noted.runs; i++)
        if (cell >= noted.run[i].first && cell < noted.run[i].first + noted.run[i].count)
            sum += noted.run[i].bytes;
    return sum;
}

/* An access through a parameter and one through an address, each in its cell; what is read again tells only what came since. */
static void elements_fall_into_cells(void **state)
{
    (void)state;
    const CUdeviceptr there = allocated_there(0x500000);
    noted.one_operation = 4713;
    assert_true(launches(there + 32, there + BYTES - 4, 20));
    sonde__cuda_values_read(true);
    assert_int_equal(noted.arrays, 1);
    assert_int_equal(noted.array[0].array.bytes, BYTES);
    assert_int_equal(noted.array[0].array.shift, 4);
    assert_int_equal(noted.array[0].array.device, 1);
    assert_int_equal(noted.array[0].array.owner, 2);
    assert_true(noted.array[0].read);
    assert_int_equal(noted.runs, 2);
    assert_int_equal(bytes_in(2), 4 * THREADS);
    assert_int_equal(bytes_in(BYTES / 16 - 1), 4 * 20);
    assert_int_equal(threads_of(0, 2), THREADS); /* rows are as without */
    assert_int_equal(threads_of(2, 2), 20);
    assert_true(launches(there + 40, 0, 0));
    sonde__cuda_values_read(true);
    assert_int_equal(noted.runs, 3);
    assert_int_equal(bytes_in(2), 2 * 4 * THREADS);
    for (uint32_t i = 0; i < noted.runs; i++)
        assert_int_equal(noted.run[i].kind, 1);
    /* One of the same size and site has the same cells, wherever it is. */
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = there);
    const CUdeviceptr again = allocated_there(0x520000);
    assert_true(launches(again + 4, again + 8, 1));
    sonde__cuda_values_read(true);
    assert_int_equal(noted.arrays, 1);
    assert_int_equal(bytes_in(0), 4 * THREADS + 4);
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = again);
}

/* From when it is named on; what was accessed before stays with the objects of its site. */
static void an_object_that_has_names_has_cells_of_its_own(void **state)
{
    (void)state;
    CUdeviceptr there = 0x500000, other = 0x520000; /* of a size that no object had so far */
    CALL(cuMemAllocFromPoolAsync, 1, CUDA_SUCCESS, .dptr = &there, .bytesize = 2 * BYTES);
    CALL(cuMemAllocFromPoolAsync, 1, CUDA_SUCCESS, .dptr = &other, .bytesize = 2 * BYTES);
    const uint32_t object = sonde_object_at(there);
    noted.one_operation = 4715;
    assert_true(launches(there, other, 3));
    noted.object[object - 1].named = true;
    noted.objects_named++;
    assert_true(launches(there + 32, other, 5));
    sonde__cuda_values_read(true);
    assert_int_equal(noted.arrays, 2);
    assert_false(noted.array[0].array.alone);
    assert_true(noted.array[1].array.alone);
    assert_int_equal(noted.array[1].array.object, object);
    assert_int_equal(noted.array[1].array.bytes, 2 * BYTES);
    uint64_t bytes[3][2] = {0};
    for (uint32_t i = 0; i < noted.runs; i++)
        for (uint32_t k = noted.run[i].first; k < noted.run[i].first + noted.run[i].count && k < 2; k++)
            bytes[noted.run[i].array][k] += noted.run[i].bytes;
    assert_int_equal(bytes[1][0], 4 * THREADS + 4 * 3 + 4 * 5);
    assert_int_equal(bytes[1][1], 0);
    assert_int_equal(bytes[2][0], 0);
    assert_int_equal(bytes[2][1], 4 * THREADS);
    noted.object[object - 1].named = false;
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = there);
    CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = other);
}

/* With more objects than there is room for, in the table or in memory, accesses count all the same, and it is said. */
static void no_room_for_elements_is_said(void **state)
{
    (void)state;
    CUdeviceptr p[SONDE_PLAN_REMOTE_RANGES + 1];
    for (uint32_t i = 0; i < SONDE_PLAN_REMOTE_RANGES + 1; i++)
        p[i] = allocated_there(0x500000 + i * (uint64_t)BYTES);
    noted.one_operation = 4714;
    assert_true(launches(p[0], p[SONDE_PLAN_REMOTE_RANGES], 5));
    assert_int_equal(now.table->range[1].begin, UINT64_MAX); /* all of one site */
    assert_int_equal(now.table->range[0].cells, 0);
    sonde__cuda_values_read(true);
    assert_int_equal(threads_of(2, 2), 5);
    bool said = false;
    for (uint32_t i = 0; i < noted.notes; i++)
        said |= strstr(noted.note[i], "no room for the elements") != NULL;
    assert_true(said);
    for (uint32_t i = 0; i < SONDE_PLAN_REMOTE_RANGES + 1; i++)
        CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = p[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_other_memory_it_runs_as_it_is),
        TEST(both_ways_are_counted),
        TEST(too_many_stretches_are_said),
        TEST(no_device_memory_is_said),
        cmocka_unit_test_setup(elements_fall_into_cells, turn_elements_on),
        cmocka_unit_test_setup(no_room_for_elements_is_said, turn_elements_on),
        cmocka_unit_test_setup(an_object_that_has_names_has_cells_of_its_own, turn_elements_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
