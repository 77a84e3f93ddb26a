/* test_edges.c - what happens at the edges of a process's life and of the agent's tables. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

/* ---- clock pairs ----------------------------------------------------------------- */

enum { EARLY = 0 };
enum { LATE = 9 };
static const uint64_t EVERY_NS = 3000000000u; /* between two pairs in the middle of a run */

static void pair_at_start(void)
{
    atomic_store(&harness_clock_late, 3); /* its clock is known later than the device */
    harness_setup("clock-start", NULL);
    uint64_t begin = sonde_now_ns();
    harness_launch(harness_queue(0), SONDE_OP_KERNEL, 0, true);
    while (atomic_load(&harness_clock_requests) <= 3)
        usleep(1000);
    uint64_t took = sonde_now_ns() - begin;
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m && m->processes[0].clock_count >= 1);
    sonde_measurement_close(m);
    harness_remove();
    _exit(took < EVERY_NS ? EARLY : LATE);
}

/* Without a pair at the start the fourth request would come after 12 s; a machine
 * that stands still for 3 s gets more tries. */
static void first_pair_comes_with_the_device(void **state)
{
    (void)state;
    int status = LATE;
    for (int n = 0; n < 5 && status == LATE; n++)
        status = harness_in_child(pair_at_start);
    assert_int_equal(status, EARLY);
}

static void pair_at_end(void)
{
    harness_setup("clock-end", NULL);
    harness_launch(harness_queue(0), SONDE_OP_KERNEL, 0, true);
    while (!atomic_load(&harness_clock_requests))
        usleep(1000);
    atomic_store(&harness_clock_bound_ns, 77);
    uint64_t before = sonde_now_ns();
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    REQUIRE(p->clock_count >= 2);
    REQUIRE(p->clocks[p->clock_count - 1].host_ns >= before && p->clocks[p->clock_count - 1].bound_ns == 77);
    REQUIRE(p->header.clock_bound_ns == 77);
    uint64_t requests = atomic_load(&harness_clock_requests);
    sonde__agent_flush(SONDE_FLUSH_CLOSE); /* the runtime may be gone: nothing is asked again */
    REQUIRE(atomic_load(&harness_clock_requests) == requests);
    sonde_measurement_close(m);
    harness_remove();
}

static void last_pair_comes_with_the_end(void **state)
{
    (void)state;
    assert_int_equal(harness_in_child(pair_at_end), 0);
}

/* ---- after the final flush ---------------------------------------------------------- */

static uint64_t lost(const struct sonde_ledger *l)
{
    return l->unmatched + l->dropped[SONDE_DROP_AFTER_EXIT] + l->dropped[SONDE_DROP_CHANNEL_FULL];
}

/* Operations that a thread publishes just when the final flush has asked for the last time. */
static void too_late(void)
{
    enum {
        DONE = 100,
        LATE_OPS = 10,
        LATE_CALLS = 3,
    };
    harness_setup("late", NULL);
    uint32_t queue = harness_queue(0);
    for (int i = 0; i < DONE; i++)
        harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    sonde__agent_flush(SONDE_FLUSH_FINISH);
    sonde__lock(&sonde__agent.monitor_lock); /* no turn now */
    for (int i = 0; i < LATE_OPS; i++)
        harness_launch(queue, SONDE_OP_KERNEL, 0, i % 2);
    atomic_store(&sonde__agent.closed, true);
    uint64_t polls = atomic_load(&harness_polls);
    sonde__unlock(&sonde__agent.monitor_lock);
    for (int i = 0; i < LATE_CALLS; i++)
        harness_wait();
    harness_launch(queue, SONDE_OP_KERNEL, 0, true); /* refused at once */
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_ledger *l = &p->header.ledger;
    REQUIRE(l->seen == DONE + LATE_OPS + 1 && l->done == DONE);
    REQUIRE(l->unmatched == LATE_OPS && l->dropped[SONDE_DROP_AFTER_EXIT] == 1);
    REQUIRE(l->calls_dropped == LATE_OPS + LATE_CALLS + 1);
    REQUIRE(p->lanes[queue].seen == DONE + LATE_OPS && p->lanes[queue].unmatched == LATE_OPS);
    REQUIRE(atomic_load(&harness_polls) == polls); /* the runtime was not asked */
    sonde_measurement_close(m);
    harness_remove();
}

static _Atomic bool stop;
static uint32_t shared_queue;

static void *launching(void *arg)
{
    for (uint64_t n = 1; !atomic_load(&stop); n++) {
        harness_launch(shared_queue, SONDE_OP_KERNEL, 0, n % 1000);
        if (n % 64 == 0)
            usleep(50); /* no more than the monitor keeps up with */
    }
    return arg;
}

static void closed_among_launches(void)
{
    pthread_t t[3];
    harness_setup("closed", NULL);
    shared_queue = harness_queue(SONDE_LANE_OUT_OF_ORDER);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&t[i], NULL, launching, NULL) == 0);
    while (!atomic_load(&harness_polls))
        usleep(1000);
    sonde__agent_flush(SONDE_FLUSH_CLOSE);
    usleep(1000);
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_ledger *l = &m->processes[0].header.ledger;
    fprintf(stderr, "%llu seen, %llu done, %llu unmatched, %llu after the end\n", (unsigned long long)l->seen,
            (unsigned long long)l->done, (unsigned long long)l->unmatched,
            (unsigned long long)l->dropped[SONDE_DROP_AFTER_EXIT]);
    REQUIRE(l->done > 0 && l->seen == l->done + lost(l));
    sonde_measurement_close(m);
    harness_remove();
}

static void late_operations_are_counted(void **state)
{
    (void)state;
    assert_int_equal(harness_in_child(too_late), 0);
}

static void every_operation_ends_somewhere(void **state)
{
    (void)state;
    for (int n = 0; n < 10; n++)
        assert_int_equal(harness_in_child(closed_among_launches), 0);
}

/* ---- files that take too long ---------------------------------------------------------- */

static _Atomic bool disk_hangs;
static _Atomic pid_t opener; /* the thread that waits for it */

/* In place of the C library's: what the monitor thread opens its files with. */
int mkdir(const char *path, mode_t mode)
{
    if (atomic_load(&disk_hangs))
        atomic_store(&opener, (pid_t)syscall(SYS_gettid));
    while (atomic_load(&disk_hangs))
        usleep(1000);
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

static bool is_there(pid_t thread)
{
    return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

static void late_monitor(void)
{
    harness_setup("slow-disk", NULL);
    sonde__monitor_start_ms = 20;
    atomic_store(&disk_hangs, true);
    REQUIRE(!harness_wait());
    while (!atomic_load(&opener))
        usleep(1000);
    REQUIRE(!sonde_recording());
    atomic_store(&disk_hangs, false);
    while (is_there(atomic_load(&opener))) /* it notices, and ends */
        usleep(1000);
    REQUIRE(!harness_wait());
    struct sonde_measurement *m = harness_open();
    REQUIRE(m && m->process_count == 1 && m->processes[0].note_count == 1);
    REQUIRE(m->processes[0].header.state == SONDE_PROCESS_OFF);
    REQUIRE(strstr(m->processes[0].notes[0].text, "its monitor thread did not start within 20 s"));
    sonde_measurement_close(m);
    harness_remove();
}

static void a_late_monitor_gives_up(void **state)
{
    (void)state;
    assert_int_equal(harness_in_child(late_monitor), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_pair_comes_with_the_device),
        cmocka_unit_test(last_pair_comes_with_the_end),
        cmocka_unit_test(late_operations_are_counted),
        cmocka_unit_test(every_operation_ends_somewhere),
        cmocka_unit_test(a_late_monitor_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
