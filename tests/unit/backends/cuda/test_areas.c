/* test_areas.c - what --values=fine has found of kernels' accesses, and the memory that it takes.
 *
 * The driver is made up: its device's memory is this program's, and the test is the device: between the two callbacks of a launch it adds to
 * the area that the copy was given what a kernel of THREADS threads adds that all store VALUE, or, if it is `mixed`, several values. What the
 * accesses found must follow from that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device.h"

enum { LOOPS = 200,
       THREADS = 32,
       VALUE = 7,
       OBJECT = 4096,
       ROOM = DEVICE_ROOM }; /* the two areas of a kernel, and not one more */

#define NAME   "store"

static const char ptx[] = ".version 8.7\n.target sm_90\n.address_size 64\n"
                          ".visible .entry store(\n.param .u64 store_param_0\n)\n{\n"
                          ".reg .b32 %r<2>;\n.reg .b64 %rd<3>;\n"
                          "ld.param.u64 %rd1, [store_param_0];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, 7;\n"
                          "st.global.u32 [%rd2], %r1;\nret;\n}\n";

static int turn_on(void **state)
{
    play(state);
    device_on(NAME, ptx, 1);
    sonde__cuda_twins.fine = true;
    sonde__cuda_twins.plan = SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES;
    return 0;
}
#undef TEST
#define TEST(name) cmocka_unit_test_setup(name, turn_on)

/* ---- a program ------------------------------------------------------------------------------------------- */

/* Of 32 threads 13 store 100, 11 store 101, 5 store 102 and three each its own. */
static uint32_t stored(uint32_t thread)
{
    return !device.mixed ? VALUE : thread < 13 ? 100
                               : thread < 24   ? 101
                               : thread < 29   ? 102
                                               : 1000 + thread;
}

/* Threads vote on the value that the most store, or compare with the one that stands. */
static void guess(unsigned char *part, const struct sonde_plan *plan)
{
    struct sonde_ptx_guess *g = (void *)(part - sizeof *g);
    struct sonde_plan_found *found = (void *)(part + sonde__plan_found_at(plan));
    const bool stands = g->word;
    for (uint32_t i = 0; i < THREADS && stands; i++)
        found->equal += stored(i) == (uint32_t)g->word;
    if (stands)
        return;
    for (uint32_t i = 0; i < THREADS; i++) {
        g->sample[i].bits = stored(i);
        g->sample[i].index = SONDE_PTX_HIDDEN;
    }
    g->taken = g->written = SONDE_PTX_SAMPLES;
    g->word = 1ull << 32 | 100;
    found->unchecked += THREADS;
}

/* All its threads are on one multiprocessor. `area` NULL: it is the program's own. */
static void run(void *const *area)
{
    const struct sonde_ptx_narrow all = {VALUE, device.mixed ? 2000 : VALUE, 0, 0};
    const struct sonde_plan plan = {SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES | SONDE_PLAN_GUESSES, 1, 1, 0};
    if (!area)
        return;
    unsigned char *part = bytes_at(*(const CUdeviceptr *)*area);
    *(uint64_t *)(void *)part += THREADS;
    memcpy(part + sonde__plan_counts(&plan), &all, sizeof all);
    if (device.mixed)
        guess(part, &plan);
}

/* Did an instrumented copy run? */
static bool launches(CUdeviceptr object)
{
    void *parameters[] = {&object};
    return device_launches(parameters, THREADS, run);
}

/* Of this process, used or not. */
static long pages(void)
{
    long count = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &count), 1);
    fclose(f);
    return count;
}

/* Objects of one site, each for one launch: what is found of all is in two areas, for which there is room. */
static void objects_that_come_and_go_share_areas(void **state)
{
    (void)state;
    const uint32_t first = noted.objects;
    uint64_t elements = 0;
    noted.one_operation = 4711;
    for (uint32_t i = 0; i < LOOPS; i++) {
        CUdeviceptr p = 0x100000 + i * (uint64_t)OBJECT;
        CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = OBJECT);
        assert_true(launches(p));
        CALL(cuMemFree_v2, 1, CUDA_SUCCESS, .dptr = p);
    }
    assert_int_equal(noted.objects - first, LOOPS);
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_NONE), LOOPS);
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_MEMORY), 0);
    for (uint32_t i = first; i < noted.objects; i++)
        assert_true(noted.object[i].looked_at);
    assert_int_equal(noted.accesses, 2); /* of the copy that guesses, and the other */
    sonde__cuda_values_read(false);
    for (uint32_t i = 0; i < noted.accesses; i++) {
        const struct sonde_value_seen *seen = &noted.access[i].seen;
        assert_int_equal(noted.access[i].of.object, first + 1);
        assert_int_equal(noted.access[i].of.operation, 4711);
        assert_int_equal(seen->least, VALUE);
        assert_int_equal(seen->most, VALUE);
        assert_true(seen->any == seen->all);
        elements += seen->elements;
    }
    assert_int_equal(elements, LOOPS * THREADS);
}

static void launch_and_read(CUdeviceptr p, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        assert_true(launches(p));
    sonde__cuda_values_read(false);
}

/* The first launch votes; then it and the two other values that more than one thread stored take turns, each with what it counts. */
static void values_are_counted_in_turns(void **state)
{
    (void)state;
    CUdeviceptr p = 0x800000;
    struct sonde_cuda_place *place = sonde__cuda_place_known(1);
    assert_non_null(place);
    const uint64_t most = place->most;
    place->most = 10ull * ROOM;
    device.mixed = true;
    noted.one_operation = 4712;
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = OBJECT);
    launch_and_read(p, 1);
    assert_int_equal(noted.accesses, 1);
    assert_int_equal(noted.access[0].seen.equal, 13); /* of the samples */
    launch_and_read(p, 5); /* turn 1, 2, 0, 1, 2 */
    assert_int_equal(noted.accesses, 3);
    const uint64_t equal[] = {13, 11, 5};
    for (uint32_t i = 0; i < 3; i++) {
        const struct sonde_value_seen *seen = &noted.access[i].seen;
        assert_int_equal(noted.access[i].of.operation, 4712);
        assert_int_equal(seen->value, 100 + i);
        assert_int_equal(seen->elements, 2 * THREADS);
        assert_int_equal(seen->checked, 2 * THREADS);
        assert_int_equal(seen->equal, 2 * equal[i]);
    }
    /* None is of more than half: from now on the kernel does not guess. */
    device.mixed = false;
    launch_and_read(p, 1);
    assert_int_equal(noted.accesses, 4);
    assert_int_equal(noted.access[3].seen.elements, THREADS);
    assert_int_equal(noted.access[3].seen.checked, 0);
    place->most = most;
}

/* What other values would take is left for kernels that are not looked at yet. */
static void other_values_take_no_memory_that_is_scarce(void **state)
{
    (void)state;
    CUdeviceptr p = 0x810000;
    struct sonde_cuda_place *place = sonde__cuda_place_known(1);
    assert_non_null(place);
    const uint64_t most = place->most;
    place->most = place->bytes + ROOM / 2;
    device.mixed = true;
    noted.one_operation = 4713;
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = OBJECT);
    launch_and_read(p, 1);
    launch_and_read(p, 5);
    assert_int_equal(noted.accesses, 1);
    assert_int_equal(noted.access[0].seen.value, 100);
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_MEMORY), 0);
    place->most = most;
}

static void no_device_memory_takes_no_host_memory(void **state)
{
    (void)state;
    CUdeviceptr p = 0x900000;
    struct sonde_cuda_place *place = sonde__cuda_place_known(1);
    assert_non_null(place);
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = OBJECT);
    /* The driver has none: twice at each launch it is asked. */
    const uint64_t most = place->most;
    place->most = UINT64_MAX;
    device.full = true;
    assert_false(launches(p));
    const long before = pages();
    for (uint32_t i = 0; i < LOOPS; i++)
        assert_false(launches(p));
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_MEMORY), LOOPS + 1);
    assert_int_equal(device.allocations, 2 * (LOOPS + 1));
    assert_true(pages() - before < LOOPS / 2);
    /* What --values-memory allows is spent: it is not asked. */
    place->most = place->bytes;
    for (uint32_t i = 0; i < LOOPS; i++)
        assert_false(launches(p));
    assert_int_equal(device.allocations, 2 * (LOOPS + 1));
    assert_true(pages() - before < LOOPS / 2);
    place->most = most;
}

/* What cannot be freed without waiting for the program's kernels is not taken again and again. */
static void device_memory_that_cannot_be_used_is_the_last(void **state)
{
    (void)state;
    CUdeviceptr p = 0xa00000;
    struct sonde_cuda_place *place = sonde__cuda_place_known(1);
    assert_non_null(place);
    const uint64_t bytes = place->bytes, most = place->most;
    CALL(cuMemAlloc_v2, 1, CUDA_SUCCESS, .dptr = &p, .bytesize = OBJECT);
    place->most = 10ull * ROOM;
    device.broken = true;
    for (uint32_t i = 0; i < LOOPS; i++)
        assert_false(launches(p));
    assert_int_equal(device.allocations, 1);
    assert_int_equal(device_missed(SONDE_VALUE_MISSED_MEMORY), LOOPS);
    place->bytes = bytes;
    place->most = most;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(objects_that_come_and_go_share_areas),
        TEST(values_are_counted_in_turns),
        TEST(other_values_take_no_memory_that_is_scarce),
        TEST(no_device_memory_takes_no_host_memory),
        TEST(device_memory_that_cannot_be_used_is_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
