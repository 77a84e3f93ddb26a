/* test_forks.c - fork at any moment: every process measures itself, and right.
 *
 * Each case runs in a process of its own, since the agent starts once; the
 * measurement is read by a process that the agent is not in.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

enum { SECONDS_MAX = 2 * HARNESS_PATIENCE_S }; /* a grandchild that hangs is killed, which fails the test */

/* AddressSanitizer of GCC 12 holds no lock of its allocator over a fork: a child
 * that is made while another thread allocates waits for ever at its next
 * allocation, whatever the agent does. */
static void skip_where_the_allocator_cannot_fork(void)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
}

static uint32_t new_queue(void)
{
    harness_wait(); /* starts the agent of this process */
    uint32_t device = sonde_device_add(&(struct sonde_device_info){.platform = "test", .name = "test device"});
    return sonde_lane_add(device, 1, 0, "queue");
}

static void launch(uint32_t queue, int n)
{
    for (int i = 0; i < n; i++)
        REQUIRE(harness_launch(queue, SONDE_OP_KERNEL, 0, true));
}

static void waited(pid_t pid)
{
    int status;
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static pid_t raw_fork(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static _Noreturn void done(void)
{
    harness_flush();
    _exit(0);
}

/* How many processes' measurements say exactly `n` operations, everywhere. */
static uint32_t processes_with(const struct sonde_measurement *m, uint64_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->process_count; i++) {
        const struct sonde_process *p = &m->processes[i];
        const struct sonde_ledger *l = &p->header.ledger;
        fprintf(stderr, "  process %u: %llu seen, %llu done, %llu in the profile\n", p->header.pid,
                (unsigned long long)l->seen, (unsigned long long)l->done, (unsigned long long)harness_profile_count(p));
        count += l->seen == n && l->done == n && harness_profile_count(p) == n && !l->unmatched && !m->damaged_chunks;
    }
    return count;
}

static void run(const char *name, void (*body)(void), uint32_t processes, const uint64_t *counts, int count_kinds)
{
    const char *const none[] = {NULL};
    harness_setup(name, none);
    assert_int_equal(harness_in_child(body), 0);
    struct sonde_measurement *m = harness_open();
    assert_non_null(m);
    assert_int_equal(m->process_count, processes);
    uint32_t right = 0;
    for (int i = 0; i < count_kinds; i++)
        right += processes_with(m, counts[i]);
    assert_int_equal(right, processes);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- one generation after the other -------------------------------------------- */

/* More queues and operations than the parent had, so that whatever the child
 * would take for free that the parent's copy still calls used shows. */
static void generation(int depth, int n, pid_t (*make)(void))
{
    uint32_t queue = new_queue(), queues[40];
    launch(queue, n / 2);
    if (depth > 0) {
        pid_t pid = make();
        if (pid == 0) {
            alarm(SECONDS_MAX);
            generation(depth - 1, n + 1000, make);
            done();
        }
        waited(pid);
    }
    for (int i = 0; i < 40; i++)
        queues[i] = sonde_lane_add(1, 1, 0, "another");
    for (int i = 0; i < n - n / 2; i++)
        REQUIRE(harness_launch(queues[i % 40], (enum sonde_op_kind)(i % 2), 0, true));
}

static void by_fork(void)
{
    generation(2, 4000, fork);
    done();
}

static void by_clone(void)
{
    generation(2, 4000, raw_fork);
    done();
}

static const uint64_t generations[] = {4000, 5000, 6000};

static void test_generations(void **state)
{
    (void)state;
    run("fork", by_fork, 3, generations, 3);
}

static void test_generations_without_handlers(void **state)
{
    (void)state;
    run("clone", by_clone, 3, generations, 3);
}

/* ---- a child that comes by without a hooked call ----------------------------------- */

static void strange_child(void)
{
    uint32_t queue = new_queue();
    struct sonde_call call;
    launch(queue, 10);
    REQUIRE(sonde_call_begin(&call, API_ALLOC));
    sonde_call_leave(&call);
    uint32_t object = sonde_object_add(&call, SONDE_OBJECT_BUFFER, 64, 4096);
    sonde_call_end(&call);
    REQUIRE(object);
    sonde__lock(&sonde__agent.table_lock); /* for ever, in the child's copy */
    pid_t pid = raw_fork();
    if (pid == 0) {
        alarm(SECONDS_MAX);
        const size_t size = 7;
        REQUIRE(!sonde_string("strange", 7) && !sonde_work_add(1, &size, NULL));
        REQUIRE(!sonde_device_add(&(struct sonde_device_info){.name = "strange"}));
        REQUIRE(!sonde_lane_add(1, 1, 0, "strange"));
        sonde_object_free(object);
        sonde_clock_pair(1, 1, 1, 12345);
        sonde_note("strange");
        _exit(0);
    }
    sonde__unlock(&sonde__agent.table_lock);
    waited(pid);
}

static void test_child_leaves_the_parents_tables(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    harness_setup("strange", none);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS_MAX);
        strange_child();
        done();
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct sonde_measurement *m = harness_open();
    assert_non_null(m);
    assert_int_equal(m->process_count, 1);
    const struct sonde_process *p = &m->processes[0];
    assert_int_equal(p->device_count, 2); /* with row 0 */
    assert_int_equal(p->lane_count, 3);
    assert_int_equal(p->work_count, 1);
    assert_int_equal(p->note_count, 0);
    assert_int_equal(p->header.clock_bound_ns, 0);
    assert_int_equal(p->object_count, 2);
    assert_int_equal(p->objects[1].free_ns, 0);
    for (uint32_t i = 1; i < p->string_count; i++)
        assert_string_not_equal(p->strings[i].bytes, "strange");
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- while other threads launch ----------------------------------------------------- */

static _Atomic bool stop;

static void *launching(void *arg)
{
    uint32_t queue = *(const uint32_t *)arg;
    while (!atomic_load(&stop)) {
        harness_launch(queue, SONDE_OP_KERNEL, 0, true);
        usleep(20);
    }
    return NULL;
}

enum { FORKS = 40 };

static void fork_among_threads(void)
{
    uint32_t queue = new_queue();
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&t[i], NULL, launching, &queue) == 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(SECONDS_MAX);
            launch(new_queue(), 1234);
            done();
        }
        waited(pid);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    done();
}

static void test_among_threads(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    skip_where_the_allocator_cannot_fork();
    harness_setup("among", none);
    assert_int_equal(harness_in_child(fork_among_threads), 0);
    struct sonde_measurement *m = harness_open();
    assert_non_null(m);
    assert_int_equal(m->process_count, FORKS + 1);
    assert_int_equal(processes_with(m, 1234), FORKS);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- while another thread starts the agent --------------------------------------------- */

static void *starting(void *arg)
{
    (void)arg;
    harness_wait();
    return NULL;
}

static unsigned after_us;

/* The C library's own is linked into each library; this one is the agent's. While it runs, its
 * lock may be taken, which fork() does not reset: no process may be made then. */
static _Atomic bool registering;
static bool slowly;

int at_quick_exit(void (*function)(void))
{
    extern int __cxa_at_quick_exit(void (*)(void), void *);
    atomic_store(&registering, true);
    if (slowly)
        usleep(20000);
    int err = __cxa_at_quick_exit(function, NULL);
    atomic_store(&registering, false);
    return err;
}

static void fork_while_registering(void)
{
    pthread_t t;
    slowly = true;
    REQUIRE(pthread_create(&t, NULL, starting, NULL) == 0);
    while (!atomic_load(&registering))
        usleep(100);
    pid_t pid = fork();
    if (pid == 0)
        _exit(atomic_load(&registering));
    waited(pid);
    pthread_join(t, NULL);
    done();
}

static void test_while_registering(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    skip_where_the_allocator_cannot_fork();
    harness_setup("registering", none);
    assert_int_equal(harness_in_child(fork_while_registering), 0);
    harness_remove();
}

/* A runtime has locks, too, which its exit handlers want in the child. The agent asks most of the time here. A fork waits for 100 ms at most: where the
 * machine lets a thread stand still for longer, a child may be made in the middle. */
static void fork_while_asking(void)
{
    uint32_t queue = new_queue();
    int in_the_middle = 0;
    for (int i = 0; i < 20; i++)
        REQUIRE(harness_launch(queue, SONDE_OP_KERNEL, 0, false));
    atomic_store(&harness_ask_us, 2000);
    const uint64_t polls = atomic_load(&harness_polls);
    for (int i = 0; i < FORKS; i++) {
        usleep(200 * (unsigned)i);
        pid_t pid = fork();
        if (pid == 0)
            _exit(atomic_load(&harness_in_runtime) != 0);
        int status;
        REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        in_the_middle += WEXITSTATUS(status);
    }
    fprintf(stderr, "  %d of %d children were made while the agent was in the runtime\n", in_the_middle, FORKS);
    REQUIRE(atomic_load(&harness_polls) > polls);
    REQUIRE(in_the_middle <= FORKS / 10);
    atomic_store(&harness_ask_us, 0);
    harness_complete_all();
    done();
}

static void test_while_asking_the_runtime(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    skip_where_the_allocator_cannot_fork();
    harness_setup("asking", none);
    assert_int_equal(harness_in_child(fork_while_asking), 0);
    harness_remove();
}

static void fork_during_start(void)
{
    pthread_t t;
    REQUIRE(pthread_create(&t, NULL, starting, NULL) == 0);
    usleep(after_us);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS_MAX);
        launch(new_queue(), 100);
        done();
    }
    waited(pid);
    pthread_join(t, NULL);
}

/* By fork() only: after a raw clone of a process with several threads, the C
 * library's own locks may be taken for ever.
 * A try per process, each a little later, so that some meet the start's middle. */
static void test_during_start(void **state)
{
    (void)state;
    const char *const none[] = {NULL};
    skip_where_the_allocator_cannot_fork();
    harness_setup("start", none);
    for (after_us = 0; after_us < 2000; after_us += 50)
        assert_int_equal(harness_in_child(fork_during_start), 0);
    harness_remove();
}

/* ---- ranges ------------------------------------------------------------------------------ */

static void delayed(void)
{
    harness_wait(); /* starts the agent; on a loaded machine for longer than the delay */
    for (int n = 0; n < HARNESS_PATIENCE_S * 1000 && !sonde_recording(); n++)
        usleep(1000);
    launch(new_queue(), 10);
}

static void delayed_family(void)
{
    delayed();
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS_MAX);
        delayed();
        done();
    }
    waited(pid);
    done();
}

static void test_delay(void **state)
{
    (void)state;
    setenv("SONDE_DELAY_MS", "50", 1);
    const uint64_t ten = 10;
    run("delay-fork", delayed_family, 2, &ten, 1);
    unsetenv("SONDE_DELAY_MS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_generations_without_handlers),
        cmocka_unit_test(test_child_leaves_the_parents_tables),
        cmocka_unit_test(test_among_threads),
        cmocka_unit_test(test_during_start),
        cmocka_unit_test(test_while_registering),
        cmocka_unit_test(test_while_asking_the_runtime),
        cmocka_unit_test(test_delay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
