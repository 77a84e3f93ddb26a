/* test_records.c - what the backend makes of records of finished work, and of the times in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "played.h"

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
    static const struct {
        uint8_t copy, from, to;
        enum sonde_op_kind kind;
        uint16_t source, target;
    } cases[] = {
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

static void moved(unsigned kind, uint64_t value, uint64_t address, uint32_t source, uint32_t target, uint64_t start, uint64_t end)
{
    CUpti_ActivityUnifiedMemoryCounter2 *m = record_add(sizeof *m);
    m->kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
    m->counterKind = (CUpti_ActivityUnifiedMemoryCounterKind)kind;
    m->value = value, m->address = address, m->srcId = source, m->dstId = target, m->start = start, m->end = end;
}

static CUptiResult CUPTIAPI two_devices(CUpti_ActivityUnifiedMemoryCounterConfig *config, uint32_t count)
{
    assert_int_equal(count, 5);
    return config[0].deviceId < 2 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_DEVICE;
}

/* Addresses are those of the time at which it was moved: of what was freed since, and not of what was there before. */
static void managed_memory_that_moves_is_told(void **state)
{
    (void)state;
    sonde__cupti.cuptiActivityConfigureUnifiedMemoryCounter = two_devices;
    noted.wants_remote = true;
    sonde__cuda_managed_allocated(0x10000, 0x8000, 11);
    const uint64_t early = noted.now_ns + 10;
    noted.now_ns += 1000;
    sonde__cuda_managed_freed(11);
    noted.now_ns += 1000;
    sonde__cuda_managed_allocated(0x10000, 0x4000, 12);
    const uint64_t late = noted.now_ns + 10;
    noted.now_ns += 1000;
    const uint64_t to_cupti = played.offset_ns;
    moved(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, 4096, 0x10000, 0, 1, early + to_cupti, early + to_cupti + 50);
    moved(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, 100, 0x11000, 1, 0, late + to_cupti, late + to_cupti + 60);
    moved(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD, 200, 0x16000, 1, 2, late + to_cupti, late + to_cupti);
    moved(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, 0x5555123456, 0x10000, 0, 0, late + to_cupti, 0);
    moved(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 12, 0x10000, 1, 0, late + to_cupti, late + to_cupti + 5);
    moved(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING, 12, 0x10000, 1, 0, late + to_cupti, late + to_cupti + 5);
    deliver();
    const struct sonde_migration *m = noted.migration;
    assert_int_equal(noted.migrations, 5);
    assert_true(m[0].object == 11 && !m[0].from && m[0].to && !m[0].faults && m[0].count == 1 && m[0].bytes == 4096 && m[0].ns == 50);
    assert_true(m[1].object == 12 && m[1].from == m[0].to && !m[1].to && m[1].bytes == 100 && m[1].ns == 60);
    assert_true(m[2].object == 0 && m[2].from == m[0].to && m[2].to && m[2].to != m[2].from && m[2].bytes == 200 && m[2].ns == 0);
    assert_true(m[3].object == 12 && m[3].faults && !m[3].from && !m[3].to && m[3].count == 1 && !m[3].bytes);
    assert_true(m[4].object == 12 && m[4].faults && m[4].to == m[0].to && m[4].count == 12 && !m[4].bytes);
    assert_int_equal(noted.completions, 0);
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
    sonde__cuda_collect(SONDE_COLLECT_TURN);
    assert_int_equal(noted.completions, 0);
}

static void finished_work_is_asked_for_again_and_again(void **state)
{
    (void)state;
    played.flushed = played.forced = 0;
    const struct timespec pause = {0, 1000000};
    for (uint32_t turn = 0; turn < 20; turn++) {
        noted.now_ns += 500000000; /* longer than any gap */
        sonde__cuda_collect(SONDE_COLLECT_TURN);
        while (sonde__cuda_flush_busy())
            nanosleep(&pause, NULL);
        assert_int_equal(atomic_load(&played.flushed), turn + 1);
        sonde__cuda_collect(SONDE_COLLECT_TURN); /* and not at every turn */
        assert_false(sonde__cuda_flush_busy());
    }
    assert_int_equal(played.forced, 0);
}

static void buffers_are_as_large_as_the_work_is_much(void **state)
{
    (void)state;
    uint8_t *bytes;
    size_t size, count, before = 0;
    for (int i = 0; i < 12; i++) { /* full within a millisecond */
        noted.now_ns += 1000000;
        sonde__cuda_buffer_requested(&bytes, &size, &count);
        assert_true(size >= before);
        before = size;
        memset(bytes, 0, size);
        sonde__cuda_buffer_completed(CONTEXT, 0, bytes, size, size);
        sonde__cuda_collect(SONDE_COLLECT_TURN);
    }
    assert_true(before > 250000 && before < 270000);
    for (int i = 0; i < 12; i++) { /* a second lasts each */
        noted.now_ns += 1000000000;
        sonde__cuda_buffer_requested(&bytes, &size, &count);
        assert_true(size <= before);
        before = size;
        sonde__cuda_buffer_completed(CONTEXT, 0, bytes, size, 0);
        sonde__cuda_collect(SONDE_COLLECT_TURN);
    }
    assert_true(before < 20000 && before >= 64 * sizeof(CUpti_ActivityKernel10));
    for (int i = 0; i < 12; i++) { /* handed over at once, with next to nothing in it: nobody filled it */
        noted.now_ns += 1000000;
        sonde__cuda_buffer_requested(&bytes, &size, &count);
        assert_true(i < 2 || size == before);
        before = size;
        sonde__cuda_buffer_completed(CONTEXT, 0, bytes, size, 200);
        sonde__cuda_collect(SONDE_COLLECT_TURN);
    }
    assert_true(before < 20000);
}

static void the_end_is_asked_for_with_force_at_last(void **state)
{
    (void)state;
    played.flushed = played.forced = 0;
    sonde__cuda_collect(SONDE_COLLECT_LAST);
    assert_int_equal(played.flushed, 1);
    assert_int_equal(played.forced, 0);
    noted.now_ns += 1000; /* at once again: not worth it */
    sonde__cuda_collect(SONDE_COLLECT_LAST);
    assert_int_equal(played.flushed, 1);
    noted.now_ns += 900000000;
    sonde__cuda_collect(SONDE_COLLECT_LAST);
    assert_int_equal(played.forced, 1);
    /* What has not ended is not an operation yet. */
    CUpti_ActivityKernel10 *k = kernel_record("running", 90, sizeof *k);
    k->end = 0;
    uint8_t *bytes;
    size_t size, count;
    sonde__cuda_buffer_requested(&bytes, &size, &count);
    sonde__cuda_buffer_completed(CONTEXT, 0, bytes, size, played.used);
    sonde__cuda_collect(SONDE_COLLECT_LAST);
    assert_int_equal(noted.completions, 0);
    sonde__cuda_collect(SONDE_COLLECT_TURN); /* the program goes on after all: patience begins anew */
    noted.now_ns += 10000000;
    sonde__cuda_collect(SONDE_COLLECT_LAST);
    assert_int_equal(played.forced, 1);
}

/* ---- clock --------------------------------------------------------------------------------------- */

static uint64_t error_of(uint64_t host_ns)
{
    const uint64_t found = sonde__cuda_clock_host(played.offset_ns + (uint64_t)((double)host_ns * played.rate));
    return found > host_ns ? found - host_ns : host_ns - found;
}

static void times_are_interpolated_between_pairs(void **state)
{
    (void)state;
    played.rate = 1.0001; /* 100 ppm: 100 us in a second */
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
    played.offset_ns += 50000000; /* 50 ms */
    sonde__cuda_clock_pair();
    assert_int_equal(noted.notes, 1);
    sonde__cuda_device(0);
    sonde__cuda_clock_sync();
    assert_true(noted.pairs >= 1);
    played.offset_ns -= 50000000;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(older_and_newer_records_are_read),
        TEST(copies_say_what_they_join),
        TEST(managed_memory_that_moves_is_told),
        TEST(names_that_move_are_noticed),
        TEST(buffers_of_others_are_left_alone),
        TEST(finished_work_is_asked_for_again_and_again),
        TEST(buffers_are_as_large_as_the_work_is_much),
        TEST(the_end_is_asked_for_with_force_at_last),
        TEST(times_are_interpolated_between_pairs),
        TEST(a_step_of_the_clock_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
