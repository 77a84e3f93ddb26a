/* test_steady.c - the steady state of a hook takes no lock, allocates nothing and
 * makes no system call.
 *
 * Independent counters: the kernel kills the thread at its first system call
 * (a seccomp filter that allows only exit; strict mode would forbid rdtsc too); malloc is this program's own and counts per thread;
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
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/nccl/abi.h"
#include "harness.h"

enum { WARM = 3000 };
enum { MEASURED = 200000 };

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
extern const struct nccl_profiler_v5 ncclProfiler_v5;
static void *communicator;
static _Atomic int stage; /* 1 warm, 2 measured */
static _Atomic int thread_id;
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
    static const char name[] = "a range";
    sonde_range_push(&(struct sonde_range){.name = sonde_range_name(name, sizeof name - 1)});
    step_b(i + 1);
    sonde_range_pop(0);
    harness_launch(queue, SONDE_OP_READ, 64, true);
    __asm__ volatile("" : : "r"(i) : "memory");
}

/* A collective, as NCCL 2.28 tells of it. */
__attribute__((noinline)) static void collective(void)
{
    const struct nccl_profiler_v5 *p = &ncclProfiler_v5;
    struct nccl_event group = {.type = NCCL_EVENT_GROUP_API}, plan = {.type = NCCL_EVENT_GROUP};
    void *in_group, *in_call, *in_launch, *in_plan, *in_task;
    p->start(communicator, &in_group, &group);
    struct nccl_event call = {.type = NCCL_EVENT_COLL_API, .parent = in_group, .api_v5 = {"AllReduce", 100, "ncclFloat32"}};
    struct nccl_event launch = {.type = NCCL_EVENT_KERNEL_LAUNCH, .parent = in_group};
    p->start(communicator, &in_call, &call);
    p->stop(in_call);
    p->start(communicator, &in_launch, &launch);
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    p->stop(in_launch);
    p->start(communicator, &in_plan, &plan);
    struct nccl_event task = {
        .type = NCCL_EVENT_COLL,
        .parent = in_call,
        .coll_v4 = {.function = "AllReduce", .count = 100, .datatype = "ncclFloat32"},
    };
    p->start(communicator, &in_task, &task);
    p->stop(in_plan);
    p->stop(in_group);
}

static void run(int n)
{
    for (int i = 0; i < n; i++) {
        step_a(i);
        step_b(i);
        if (i % 64 == 0)
            harness_wait();
        if (i % 8 == 0)
            collective();
    }
}

static bool forbid_system_calls(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool thread_lives(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d", atomic_load(&thread_id));
    return access(path, F_OK) == 0;
}

static void *thread_main(void *arg)
{
    (void)arg;
    atomic_store(&thread_id, (int)syscall(SYS_gettid));
    run(WARM);
    atomic_store(&stage, 1);
    while (atomic_load(&stage) != 3)
        usleep(1000); /* the monitor empties the channel; its segments come back */
    run(WARM);
    while (sonde__channel_waiting(&sonde__self->channel) || sonde__channel_waiting(&sonde__self->ranges.ended))
        usleep(1000);
    usleep(100000);
    uint64_t before = 0;
    for (int done = 0; done < MEASURED; done += 500) {
        if (done == 500) { /* the first round met this call site for the first time */
            if (!forbid_system_calls())
                _exit(77);
            before = mallocs;
            locks_before = locks();
        }
        run(250);
        while (sonde__channel_waiting(&sonde__self->channel) ||
               sonde__channel_waiting(&sonde__self->ranges.ended)) /* spin until the monitor has kept up */
            ;
    }
    locks_after = locks();
    mallocs_seen = mallocs - before;
    atomic_store(&stage, 2);
    for (;;)
        syscall(SYS_exit, 0);
}

static uint64_t kind_count(const struct sonde_process *p, enum sonde_op_kind kind)
{
    uint64_t n = 0;
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_node *node = sonde_process_node(p, p->profiles[i].node, NULL);
        if (p->profiles[i].lane && node && p->frames[node->frame].kind == SONDE_FRAME_OP && p->frames[node->frame].op == kind)
            n += p->profiles[i].count;
    }
    return n;
}

static void hooks_take_nothing(void **state)
{
    (void)state;
    pthread_t thread;
    harness_setup("steady", NULL);
    queue = harness_queue(0);
    int events = 0;
    ncclProfiler_v5.init(&communicator, 1, &events, NULL, 1, 2, 0, NULL);
    assert_non_null(communicator);
    assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
    while (atomic_load(&stage) != 1)
        usleep(1000);
    usleep(300000);
    atomic_store(&stage, 3);
    while (atomic_load(&stage) != 2 && thread_lives())
        usleep(10000);
    assert_int_equal(atomic_load(&stage), 2); /* else a system call killed the thread */
    assert_int_equal(mallocs_seen, 0);
    assert_int_equal(locks_after - locks_before, 0);
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    assert_int_equal(m->processes[0].header.ledger.dropped[SONDE_DROP_CHANNEL_FULL], 0);
    assert_int_equal(m->processes[0].header.ledger.seen, m->processes[0].header.ledger.done);
    assert_int_equal(kind_count(&m->processes[0], SONDE_OP_COLLECTIVE), 2 * (WARM / 8) + MEASURED / 500 * 32);
    sonde_measurement_close(m);
    ncclProfiler_v5.finalize(communicator);
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
