/* test_steady.c - the steady state of a hook takes no lock, allocates nothing and
 * makes no system call.
 *
 * Independent counters: the kernel kills a thread in seccomp's strict mode at
 * its first system call; malloc is this program's own and counts per thread;
 * every lock of the agent counts how often it was taken.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

enum { WARM = 3000, MEASURED = 200000 };

static __thread uint64_t mallocs;
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define COUNTS_MALLOC 1
extern void *__libc_malloc(size_t);
void *malloc(size_t size)
{
    mallocs++;
    return __libc_malloc(size);
}
#endif

static uint32_t queue;
static _Atomic int stage; /* 1 warm, 2 measured */
static uint64_t mallocs_seen;
static unsigned locks_before, locks_after;

/* Locks that a program thread could take; the monitor's own work takes the others. */
static unsigned locks(void)
{
    const struct sonde_agent *a = &sonde__agent;
    return atomic_load(&a->thread_lock.times) + atomic_load(&a->heap.lock.times);
}

__attribute__((noinline)) static void step_b(int i)
{
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    __asm__ volatile("" : : "r"(i) : "memory");
}
__attribute__((noinline)) static void step_a(int i)
{
    step_b(i + 1);
    harness_launch(queue, SONDE_OP_READ, 64, true);
    __asm__ volatile("" : : "r"(i) : "memory");
}

static void run(int n)
{
    for (int i = 0; i < n; i++) {
        step_a(i);
        step_b(i);
        if (i % 64 == 0)
            harness_wait();
    }
}

static void *thread_main(void *arg)
{
    (void)arg;
    run(WARM);
    atomic_store(&stage, 1);
    while (atomic_load(&stage) != 3)
        usleep(1000); /* the monitor empties the channel; its segments come back */
    run(WARM);
    uint64_t before = mallocs;
    locks_before = locks();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        _exit(77);
    for (int done = 0; done < MEASURED; done += 500) {
        run(250);
        for (volatile int spin = 0; spin < 400000; spin++) /* let the monitor keep up: waiting would be a system call */
            ;
    }
    locks_after = locks();
    mallocs_seen = mallocs - before;
    atomic_store(&stage, 2);
    for (;;)
        syscall(SYS_exit, 0);
}

static void hooks_take_nothing(void **state)
{
    (void)state;
    pthread_t thread;
    harness_setup("steady", NULL);
    queue = harness_queue(0);
    assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
    while (atomic_load(&stage) != 1)
        usleep(1000);
    usleep(300000);
    atomic_store(&stage, 3);
    for (int i = 0; i < 1200 && atomic_load(&stage) != 2; i++)
        usleep(100000);
    assert_int_equal(atomic_load(&stage), 2); /* else a system call killed the thread */
    assert_int_equal(mallocs_seen, 0);
    assert_int_equal(locks_after - locks_before, 0);
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    assert_int_equal(m->processes[0].header.ledger.dropped[SONDE_DROP_CHANNEL_FULL], 0);
    assert_int_equal(m->processes[0].header.ledger.seen, m->processes[0].header.ledger.done);
    sonde_measurement_close(m);
    harness_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hooks_take_nothing)};
#ifndef COUNTS_MALLOC
    puts("malloc is not counted under a sanitizer");
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
