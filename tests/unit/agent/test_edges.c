/* test_edges.c - what happens at the edges of a process's life and of the agent's tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

#define REQUIRE(x)                                                            \
    do {                                                                      \
        if (!(x)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x); \
            _exit(1);                                                         \
        }                                                                     \
    } while (0)

/* Each case in a process of its own: the agent starts once. */
static int status_of(void (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- clock pairs ----------------------------------------------------------------- */

enum { EARLY = 0, LATE = 9 };
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
        status = status_of(pair_at_start);
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
    assert_int_equal(status_of(pair_at_end), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_pair_comes_with_the_device),
        cmocka_unit_test(last_pair_comes_with_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
