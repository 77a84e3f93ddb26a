/* test_counting.c - counters of the CPU inside the agent (agent/sample/sample_counters.c), by page faults that the test makes itself.
 *
 * One case per process. ThreadSanitizer hands signals over at the thread's next stop, as one for several: there, only what must not be is tested.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/sample/target.h"
#include "harness.h"

#if defined __SANITIZE_THREAD__
#define SIGNALS_ARE_PROMPT 0
#else
#define SIGNALS_ARE_PROMPT 1
#endif
enum { PAGE = 4096,
       PAGES = 2000,
       THREADS = 3 };
static const char *const counted[] = {"SONDE_CPU=0", "SONDE_TRACE=1", "SONDE_CPU_COUNTERS=minor-faults:1:5:1", NULL};
static const char *const both[] = {"SONDE_CPU=997", "SONDE_TRACE=1", "SONDE_CPU_COUNTERS=minor-faults:1:5:1,page-faults:1:2:97", NULL};

static void skip_without_perf(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_PAGE_FAULTS_MIN, .exclude_kernel = 1, .exclude_hv = 1};
    const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        skip();
    close(fd);
}

/* As many faults as pages. */
__attribute__((noinline)) static void touch(unsigned pages)
{
    volatile char *at = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    madvise((void *)(uintptr_t)at, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
    for (unsigned i = 0; i < pages; i++)
        at[i * PAGE] = 1;
    munmap((void *)(uintptr_t)at, (size_t)pages * PAGE);
}

/* Wait by condition: until this thread's faults are counted. */
static void until_counted(void)
{
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    struct sonde_samples *s = sonde__self ? &sonde__self->samples : NULL;
    while (!s || !atomic_load(&s->written)) {
        const struct timespec little = {0, 1000000};
        touch(1);
        nanosleep(&little, NULL);
        assert_true(time(NULL) < until);
        s = sonde__self ? &sonde__self->samples : NULL;
    }
}

struct tally {
    uint64_t count, lost, sampled;
};

static struct tally tally_of(const struct sonde_process *p, const char *name)
{
    const struct sonde_row_tally *rows = p->tables[SONDE_TABLE_TALLY].rows;
    struct tally t = {0};
    unsigned all = 0;
    for (uint32_t i = 1; i < p->tables[SONDE_TABLE_TALLY].count; i++) {
        if (strcmp(sonde_process_string(p, rows[i].name), name) != 0)
            continue;
        if (rows[i].node) {
            assert_non_null(sonde_process_node(p, rows[i].node, NULL));
            assert_int_equal(rows[i].count, rows[i].samples * rows[i].period);
            t.sampled += rows[i].count;
        } else {
            all++;
            t.count += rows[i].count;
            t.lost += rows[i].samples;
            assert_true(rows[i].running_ns == rows[i].enabled_ns);
        }
    }
    assert_int_equal(all, 1);
    assert_true(t.sampled <= t.count);
    return t;
}

static void faults_are_counted(void **state)
{
    (void)state;
    skip_without_perf();
    harness_setup("counting", counted);
    harness_wait();
    until_counted();
    for (int i = 0; i < 10; i++)
        touch(PAGES / 10);
    struct sonde_measurement *m = harness_finish();
    const struct tally t = tally_of(&m->processes[0], "minor-faults");
    assert_true(t.count >= PAGES);
    assert_true(!SIGNALS_ARE_PROMPT || t.sampled + t.lost >= PAGES);
    assert_int_equal(m->processes[0].header.cpu.samples, 0);
    assert_int_equal(m->processes[0].header.cpu_sampling, SONDE_CPU_NONE);
    sonde_measurement_close(m);
    harness_remove();
}

/* All that comes within a call is the call's. */
static void calls_take_counts(void **state)
{
    struct sonde_call call;
    (void)state;
    skip_without_perf();
    harness_setup("counting", both);
    harness_wait();
    until_counted();
    REQUIRE(sonde_call_begin(&call, API_WAIT));
    const uint32_t node = sonde_call_context(&call);
    touch(PAGES);
    getppid(); /* ThreadSanitizer hands signals over here */
    sonde_call_leave(&call);
    sonde_call_end(&call);
    struct sonde_measurement *m = harness_finish();
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_row_tally *rows = p->tables[SONDE_TABLE_TALLY].rows;
    uint64_t of_call = 0;
    for (uint32_t i = 1; i < p->tables[SONDE_TABLE_TALLY].count; i++)
        of_call += rows[i].node == node && rows[i].period == 1 ? rows[i].count : 0;
    assert_true(!SIGNALS_ARE_PROMPT || of_call >= PAGES * 9 / 10); /* some fall together with those of the other counter, or of CPU time */
    assert_true(tally_of(p, "minor-faults").count >= PAGES);
    sonde_measurement_close(m);
    harness_remove();
}

static void *faults_of_a_thread(void *arg)
{
    until_counted();
    for (int i = 0; i < 20; i++) {
        touch(PAGES / 20);
        harness_wait();
    }
    return arg;
}

static void *begins(void *arg)
{
    harness_wait();
    return faults_of_a_thread(arg);
}

/* Threads that fill their rings while the monitor empties them, and end. */
static void threads_are_counted(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    skip_without_perf();
    harness_setup("counting", both);
    harness_wait();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, begins, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct sonde_measurement *m = harness_finish();
    const struct tally minor = tally_of(&m->processes[0], "minor-faults"), page = tally_of(&m->processes[0], "page-faults");
    assert_true(minor.count >= THREADS * PAGES);
    assert_true(page.count >= minor.count * 9 / 10); /* they are opened one after the other */
    assert_true(!SIGNALS_ARE_PROMPT || minor.sampled + minor.lost >= THREADS * PAGES / 2);
    sonde_measurement_close(m);
    harness_remove();
}

/* What is counted while recording is off is in no sample, and in no sum but for what came before the monitor saw it. */
static void ranges_are_followed(void **state)
{
    (void)state;
    skip_without_perf();
    harness_setup("counting", counted);
    harness_wait();
    until_counted();
    sonde_recording_set(false);
    const uint32_t written = atomic_load(&sonde__self->samples.written);
    for (uint32_t turns = 0; turns < 200; turns++) {
        touch(100);
        assert_int_equal(atomic_load(&sonde__self->samples.written), written);
        const struct timespec little = {0, 10000000};
        nanosleep(&little, NULL); /* longer than the monitor's turns, all together */
    }
    struct sonde_measurement *m = harness_finish();
    assert_true(tally_of(&m->processes[0], "minor-faults").count < 200 * 100 / 4); /* after a second without recording events are closed anyway */
    sonde_measurement_close(m);
    harness_remove();
}

/* A list that cannot be read counts nothing. */
static void nonsense_is_nothing(void **state)
{
    static const char *const nonsense[] = {"SONDE_CPU=0", "SONDE_CPU_COUNTERS=minor-faults:1:5", NULL};
    (void)state;
    harness_setup("counting", nonsense);
    harness_wait();
    touch(PAGES);
    struct sonde_measurement *m = harness_finish();
    assert_true(m->processes[0].tables[SONDE_TABLE_TALLY].count <= 1); /* ids begin at 1 */
    sonde_measurement_close(m);
    harness_remove();
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(faults_are_counted), cmocka_unit_test(calls_take_counts), cmocka_unit_test(threads_are_counted),
                                              cmocka_unit_test(ranges_are_followed), cmocka_unit_test(nonsense_is_nothing)};
    const int which = argc > 1 ? atoi(argv[1]) : 0;
    if (which < 0 || which >= (int)(sizeof tests / sizeof *tests))
        return 2;
    return _cmocka_run_group_tests("counting", &tests[which], 1, NULL, NULL);
}
