/* test_sampling.c - the CPU side inside the agent: nodes, calls that samples wait for, slots, forks, bounds.
 *
 * One case per process. What a sample should be is known from the program: the
 * functions spin on the thread's own CPU clock.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/preload/preload.h"
#include "agent/sample/target.h"
#include "harness.h"

/* ThreadSanitizer hands signals over at its next stop: what they interrupted is history then. */
#if defined __SANITIZE_THREAD__
#define PLACES_ARE_EXACT 0
#else
#define PLACES_ARE_EXACT 1
#endif
enum { HZ = 997 };
static const char *const sampled[] = {"SONDE_CPU=997", "SONDE_TRACE=1", NULL};
static uint32_t queue;

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void spin(unsigned ms)
{
    const uint64_t until = cpu_ns() + ms * 1000000ull;
    while (cpu_ns() < until)
        for (volatile int i = 0; i < 5000; i++)
            ;
}

/* Wait by condition: until the agent samples this thread. */
static void until_sampled(void)
{
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    while (!sonde__self || !atomic_load(&sonde__self->samples.count.taken)) {
        spin(2);
        assert_true(time(NULL) < until);
    }
}

/* ---- what was recorded ------------------------------------------------------------- */

struct rows {
    const struct sonde_process *p;
    struct sonde_row_sample *row;
    uint32_t *lane;
    size_t count;
};

static int take(void *user, uint32_t lane, const void *batch, uint32_t n)
{
    struct rows *r = user;
    r->row = realloc(r->row, (r->count + n) * sizeof *r->row);
    r->lane = realloc(r->lane, (r->count + n) * sizeof *r->lane);
    memcpy(r->row + r->count, batch, n * sizeof *r->row);
    for (uint32_t i = 0; i < n; i++)
        r->lane[r->count++] = lane;
    return 0;
}

static struct rows samples_of(const struct sonde_process *p)
{
    struct rows r = {.p = p};
    assert_int_equal(sonde_process_trace(p, SONDE_TABLE_SAMPLE, 0, 0, UINT64_MAX, take, &r), 0);
    return r;
}

static void forget(struct rows *r)
{
    free(r->row);
    free(r->lane);
}

static bool stands_in(const struct sonde_process *p, uint32_t ancestor, uint32_t node)
{
    for (const struct sonde_row_node *n; node; node = n->parent) {
        if (node == ancestor)
            return true;
        if (!(n = sonde_process_node(p, node, NULL)))
            return false;
    }
    return false;
}

/* The profile and the trace must agree, and the ledger with both. */
static void agrees(const struct sonde_process *p, const struct rows *r)
{
    uint64_t sum = 0, profile = 0, count = 0, flagged = 0;
    for (size_t i = 0; i < r->count; i++) {
        sum += r->row[i].cpu_ns;
        flagged += r->row[i].flags & SONDE_SAMPLE_DEFERRED;
        assert_non_null(sonde_process_node(p, r->row[i].node, NULL));
    }
    for (uint32_t i = 1; i < p->profile_count; i++)
        if (p->profiles[i].lane && p->lanes[p->profiles[i].lane].kind == SONDE_LANE_KIND_THREAD) {
            profile += p->profiles[i].sum_ns;
            count += p->profiles[i].count;
        }
    assert_int_equal(profile, sum);
    assert_int_equal(count, r->count);
    assert_int_equal(p->header.cpu.samples, r->count);
    assert_int_equal(p->header.cpu.deferred, flagged);
    assert_int_equal(p->header.cpu.sampled_ns, sum);
    assert_int_equal(p->header.cpu_rate_hz, HZ);
}

/* ---- a sample waits for the call that it landed in ------------------------------------ */

static uint32_t call_node;

/* Up to what CPU time the sample goes that waits for this thread's call; its signal handler writes it. */
static uint64_t waits_up_to(void)
{
    return *(volatile uint64_t *)&sonde__self->samples.waits_cpu_ns;
}

/* Ends just after a signal: how much a call uses after its last one is the kernel's choice, many periods beside busy processes. */
__attribute__((noinline)) static void slow_call(unsigned ms)
{
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    struct sonde_call call;
    REQUIRE(sonde_call_begin(&call, API_WAIT));
    call_node = sonde_call_context(&call);
    spin(ms);
    for (const uint64_t last = waits_up_to(); waits_up_to() == last && time(NULL) < until;)
        cpu_ns();
    sonde_call_leave(&call);
    sonde_call_end(&call);
}

static void calls_take_samples(void **state)
{
    (void)state;
    harness_setup("sampling", sampled);
    harness_wait();
    until_sampled();
    const uint64_t before = cpu_ns();
    slow_call(300);
    const uint64_t in_call = cpu_ns() - before;
    spin(50);
    struct sonde_measurement *m = harness_finish();
    const struct sonde_process *p = &m->processes[0];
    struct rows r = samples_of(p);
    agrees(p, &r);
    uint64_t found = 0, of_call = 0, of_next = 0;
    for (size_t i = 0; i < r.count; i++)
        if (r.row[i].node == call_node) {
            assert_true(r.row[i].flags & SONDE_SAMPLE_DEFERRED);
            of_call += r.row[i].cpu_ns;
            of_next = i + 1 < r.count ? r.row[i + 1].cpu_ns : 0;
            found++;
        }
    assert_int_equal(found, 1);
    /* But for the reading itself. What the call uses after its signal is the next sample's. */
    assert_true(of_call + of_next >= in_call - 1000000);
    assert_true(of_call > in_call - in_call / 50);
    assert_true(p->header.cpu.sampled_ns >= of_call);
    forget(&r);
    sonde_measurement_close(m);
    harness_remove();
}

/* Most of the call's time the signal is blocked, as beside libc's start of a process, but never for long: all of that time is its. */
static void a_call_blocks_signals_for_short(void **state)
{
    const time_t until = time(NULL) + 3; /* looks for threads that block it come each second */
    sigset_t blocked, before;
    struct sonde_call call;
    (void)state;
    harness_setup("sampling", sampled);
    harness_wait();
    until_sampled();
    const uint64_t begin = cpu_ns();
    REQUIRE(sonde_call_begin(&call, API_WAIT));
    const uint32_t node = sonde_call_context(&call);
    sigemptyset(&blocked);
    sigaddset(&blocked, SONDE_SAMPLE_SIGNAL);
    while (time(NULL) <= until) {
        pthread_sigmask(SIG_BLOCK, &blocked, &before);
        spin(9);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        spin(1);
    }
    sonde_call_leave(&call);
    sonde_call_end(&call);
    const uint64_t in_call = cpu_ns() - begin;
    spin(50);
    struct sonde_measurement *m = harness_finish();
    struct rows r = samples_of(&m->processes[0]);
    uint64_t of_call = 0;
    for (size_t i = 0; i < r.count; i++)
        of_call += r.row[i].node == node ? r.row[i].cpu_ns : 0;
    assert_in_range(of_call, in_call / 10 * 9, in_call / 10 * 11);
    forget(&r);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- the same nodes as hooks' --------------------------------------------------------- */

static uint32_t hook_node;

__attribute__((noinline)) static void inner(bool call)
{
    if (call) {
        harness_wait();
        hook_node = sonde_last_context();
    } else {
        spin(400);
    }
    __asm__ volatile("" : : : "memory");
}
__attribute__((noinline)) static void middle(bool call)
{
    inner(call);
    __asm__ volatile("" : : : "memory");
}
__attribute__((noinline)) static void outer(bool call)
{
    middle(call);
    __asm__ volatile("" : : : "memory");
}

/* The node of `node`'s path that lies `down` below what it has in common with `other`'s. */
static uint32_t below_common(const struct sonde_process *p, uint32_t other, uint32_t node, int down)
{
    uint32_t path[200];
    int n = 0;
    for (; node && n < 200 && !stands_in(p, node, other); node = sonde_process_node(p, node, NULL)->parent)
        path[n++] = node;
    assert_true(n >= down);
    return path[n - down];
}

static void samples_share_nodes(void **state)
{
    (void)state;
    harness_setup("sampling", sampled);
    harness_wait();
    const uint32_t direct_node = sonde_last_context();
    until_sampled();
    for (volatile int i = 0; i < 2; i++) /* one place in the source, so that the paths are one */
        outer(i == 0);
    struct sonde_measurement *m = harness_finish();
    const struct sonde_process *p = &m->processes[0];
    struct rows r = samples_of(p);
    agrees(p, &r);
    const uint32_t of_middle = below_common(p, direct_node, hook_node, 3); /* this function, outer, middle */
    size_t below = 0, exact = 0;
    for (size_t i = 0; i < r.count; i++) {
        const struct sonde_row_node *n = sonde_process_node(p, r.row[i].node, NULL);
        below += stands_in(p, of_middle, r.row[i].node);
        exact += p->frames[n->frame].flags == 1;
    }
    if (PLACES_ARE_EXACT) {
        assert_true(below >= 100); /* 400 ms at 997 Hz; the kernel may have kept half of them */
        assert_true(below < r.count);
        assert_true(exact >= below);
    }
    forget(&r);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- hooks and samples in turn, every stack checked --------------------------------------- */

static _Atomic uint64_t launched;
static _Atomic int stop;

__attribute__((noinline)) static void nest(unsigned depth, unsigned seed)
{
    if (depth == 0) {
        launched += harness_launch(queue, SONDE_OP_KERNEL, 0, true);
        return;
    }
    if (seed & 1u)
        sonde_range_push(&(struct sonde_range){.name = sonde_range_name("nested", 6)});
    nest(depth - 1, seed >> 1);
    if (seed & 1u)
        sonde_range_pop(0);
    for (volatile int i = 0; i < 300; i++)
        ;
    __asm__ volatile("" : : : "memory");
}

static void *hooks_until_stopped(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    while (!atomic_load(&stop)) {
        seed = seed * 1664525u + 1013904223u;
        nest(1 + (seed >> 16) % 20, seed >> 8);
    }
    return arg;
}

static void *spins_until_stopped(void *arg)
{
    while (!atomic_load(&stop))
        spin(1);
    return arg;
}

static void hooks_under_samples(void **state)
{
    static const char *const often[] = {"SONDE_CPU=10000", "SONDE_CHECK=1", "SONDE_TRACE=1", NULL};
    pthread_t threads[6];
    (void)state;
    harness_setup("sampling", often);
    queue = harness_queue(0);
    for (uintptr_t i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < 4 ? hooks_until_stopped : spins_until_stopped, (void *)i), 0);
    spin(1500);
    atomic_store(&stop, 1);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    struct sonde_measurement *m = harness_finish();
    const struct sonde_process *p = &m->processes[0];
    assert_int_equal(p->header.ledger.done, launched);
    assert_int_equal(p->header.ledger.unmatched, 0);
    assert_int_equal(p->header.ledger.dropped[SONDE_DROP_REENTRANT], 0);
    if (PLACES_ARE_EXACT)
        assert_int_equal(p->header.ledger.unwind_mismatched, 0);
    assert_true(p->header.cpu.samples > 100);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- threads that come and go ---------------------------------------------------------------- */

static void *short_life(void *arg)
{
    const uintptr_t kind = (uintptr_t)arg % 3;
    if (kind == 1)
        harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    if (kind)
        spin(1);
    if (kind == 2)
        harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    return arg;
}

static void slots_are_used_again(void **state)
{
    enum { THREADS = 1500 };
    enum { AT_ONCE = 6 };
    pthread_t threads[AT_ONCE];
    (void)state;
    harness_setup("sampling", sampled);
    queue = harness_queue(0);
    until_sampled();
    for (uintptr_t i = 0; i < THREADS; i += AT_ONCE) {
        for (uintptr_t k = 0; k < AT_ONCE; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, short_life, (void *)(i + k)), 0);
        for (uintptr_t k = 0; k < AT_ONCE; k++)
            pthread_join(threads[k], NULL);
    }
    struct sonde_measurement *m = harness_finish();
    const struct sonde_process *p = &m->processes[0];
    assert_int_equal(p->header.ledger.done, THREADS / 3 * 2);
    assert_int_equal(p->header.ledger.dropped[SONDE_DROP_CHANNEL_FULL], 0);
    struct rows r = samples_of(p);
    agrees(p, &r);
    for (size_t i = 0; i < r.count; i++) /* a sample lies within the life of its lane, and of no other */
        assert_true(r.row[i].time_ns >= p->lanes[r.lane[i]].start_ns &&
                    (!p->lanes[r.lane[i]].end_ns || p->lanes[r.lane[i]].threads > 1 ||
                     r.row[i].time_ns <= p->lanes[r.lane[i]].end_ns));
    /* Slots wait for the monitor's next look at most, which comes with the number of threads. */
    assert_true(atomic_load(&sonde__agent.thread_count) < THREADS / 2);
    forget(&r);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- a child -------------------------------------------------------------------------------------- */

static void children_begin_anew(void **state)
{
    (void)state;
    harness_setup("sampling", sampled);
    harness_wait();
    until_sampled();
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct sigaction action;
            REQUIRE(sigaction(SIGURG, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
            spin(20);
            REQUIRE(harness_wait());
            uint64_t taken = 0;
            for (int n = 0; n < 10000 && !taken; n++) {
                spin(5);
                taken = atomic_load(&sonde__self->samples.count.taken);
            }
            REQUIRE(taken > 0);
            harness_flush();
            _exit(0);
        }
        int status = -1;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    spin(50);
    struct sonde_measurement *m = harness_finish();
    assert_int_equal(m->process_count, 6);
    for (uint32_t i = 0; i < m->process_count; i++) {
        struct rows r = samples_of(&m->processes[i]);
        assert_true(r.count > 0);
        agrees(&m->processes[i], &r);
        forget(&r);
    }
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- where perf is refused -------------------------------------------------------------------------- */

static bool refuse_perf(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void timers_do_without_perf(void **state)
{
    static const char *const rate[] = {"SONDE_CPU=199", NULL};
    (void)state;
    assert_true(refuse_perf());
    harness_setup("sampling", rate);
    harness_wait();
    until_sampled();
    const uint64_t before = cpu_ns();
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    spin(1000);
    while (atomic_load(&sonde__self->samples.count.taken) <= 50) { /* ticks that others' time takes bring none */
        spin(20);
        assert_true(time(NULL) < until);
    }
    const uint64_t used = cpu_ns() - before;
    struct sonde_measurement *m = harness_finish();
    const struct sonde_live_header *h = &m->processes[0].header;
    assert_int_equal(h->cpu_sampling, SONDE_CPU_TIMERS);
    assert_int_equal(h->cpu_switches, 0);
    assert_true(h->cpu.samples > 50);
    if (PLACES_ARE_EXACT)
        assert_true(h->cpu.sampled_ns > used / 10 * 9);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- little memory ------------------------------------------------------------------------------------ */

static void operations_come_before_samples(void **state)
{
    static const char *const little[] = {"SONDE_CPU=10000", "SONDE_MEMORY=8388608", "SONDE_TRACE=0", NULL};
    pthread_t threads[4];
    (void)state;
    harness_setup("sampling", little);
    queue = harness_queue(0);
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hooks_until_stopped, (void *)i), 0);
    spin(1500);
    atomic_store(&stop, 1);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    struct sonde_measurement *m = harness_finish();
    const struct sonde_process *p = &m->processes[0];
    assert_int_equal(harness_profile_count(p) - p->header.cpu.samples, p->header.ledger.done);
    assert_true(atomic_load(&sonde__agent.sampled_nodes) <= 2 * sonde__agent.sampled_nodes_max + 8);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- off ---------------------------------------------------------------------------------------------- */

static void off_is_off(void **state)
{
    static const char *const none[] = {"SONDE_CPU=0", NULL};
    struct sigaction action;
    (void)state;
    harness_setup("sampling", none);
    harness_wait();
    spin(100);
    assert_int_equal(sigaction(SIGURG, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
    struct sonde_measurement *m = harness_finish();
    assert_int_equal(m->processes[0].header.cpu.samples, 0);
    assert_int_equal(m->processes[0].header.cpu_sampling, SONDE_CPU_NONE);
    sonde_measurement_close(m);
    harness_remove();
}

/* Recording stops and starts: what was used in between is in no sample. */
static void ranges_are_followed(void **state)
{
    (void)state;
    harness_setup("sampling", sampled);
    harness_wait();
    until_sampled();
    sonde_recording_set(false);
    const uint64_t off_since = sonde_now_ns();
    spin(500);
    const uint64_t off_until = sonde_now_ns();
    sonde_recording_set(true);
    spin(100);
    struct sonde_measurement *m = harness_finish();
    struct rows r = samples_of(&m->processes[0]);
    agrees(&m->processes[0], &r);
    size_t after = 0;
    uint64_t longest = 0;
    for (size_t i = 0; i < r.count; i++) {
        assert_false(r.row[i].time_ns > off_since && r.row[i].time_ns < off_until);
        after += r.row[i].time_ns >= off_until;
        longest = r.row[i].time_ns >= off_until && r.row[i].cpu_ns > longest ? r.row[i].cpu_ns : longest;
    }
    assert_true(after > 0);
    assert_true(longest < 250000000); /* half of what was used meanwhile would be too much */
    forget(&r);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- threads that say that they start and end ------------------------------------------------------------- */

static uint64_t of_ended;

static void *starts_and_ends(void *arg)
{
    sonde__sample_starts();
    spin(1);
    of_ended += cpu_ns();
    sonde__sample_ends(starts_and_ends);
    return arg;
}

static void start_and_end(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, starts_and_ends, NULL), 0);
    pthread_join(thread, NULL);
}

/* The modules at the outer end of a thread's stack are looked up by the monitor, after the first thread that meets them. */
static void until_ends_are_known(void)
{
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    for (bool known = false; !known; usleep(10000)) {
        start_and_end();
        for (uint32_t i = 1; i <= atomic_load(&sonde__agent.thread_count); i++) {
            const struct sonde_thread *t = atomic_load(&sonde__agent.threads[i]);
            known |= t != sonde__self && atomic_load(&t->samples.count.taken);
        }
        assert_true(time(NULL) < until);
    }
    of_ended = 0;
}

/* ---- a thread that the monitor met before it could say that it starts ---------------------------------- */

static uint64_t of_late_start;

static uint64_t threads_missed(void)
{
    sonde__lock(&sonde__agent.monitor_lock);
    const uint64_t missed = sonde__agent.header->cpu.threads_missed;
    sonde__unlock(&sonde__agent.monitor_lock);
    return missed;
}

static uint64_t accounted_ns(void)
{
    sonde__lock(&sonde__agent.monitor_lock);
    const uint64_t at_ns = sonde__agent.header->stop_ns;
    sonde__unlock(&sonde__agent.monitor_lock);
    return at_ns;
}

/* Until the monitor has counted threads anew, from begin to end. Of a thread that is about to arm itself it says that it is missed, until
 * the next time. */
static void until_counted(void)
{
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    for (int i = 0; i < 2; i++)
        for (const uint64_t since_ns = sonde_now_ns(); accounted_ns() <= since_ns; usleep(10000))
            assert_true(time(NULL) < until);
}

static void *starts_late(void *arg)
{
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    while (threads_missed() <= *(uint64_t *)arg) { /* signals are blocked, as in the first steps of every thread */
        usleep(10000);
        assert_true(time(NULL) < until);
    }
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    sonde__sample_starts();
    spin(2); /* less than a period: all is left for the end */
    of_late_start = cpu_ns();
    sonde__sample_ends(starts_late);
    return arg;
}

static void threads_that_were_met_are_known(void **state)
{
    static const char *const by_timers[] = {"SONDE_CPU=199", "SONDE_TRACE=1", NULL};
    pthread_t thread;
    sigset_t all, old;
    (void)state;
    harness_setup("sampling", by_timers);
    harness_wait();
    until_sampled();
    until_ends_are_known();
    until_counted();
    const uint32_t mine = sonde__self->lane;
    const uint64_t since_ns = sonde_now_ns();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    uint64_t missed = threads_missed();
    assert_int_equal(pthread_create(&thread, NULL, starts_late, &missed), 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_join(thread, NULL);
    struct sonde_measurement *m = harness_finish();
    struct rows r = samples_of(&m->processes[0]);
    uint64_t found = 0;
    for (size_t i = 0; i < r.count; i++)
        found += r.lane[i] == mine || r.row[i].time_ns < since_ns ? 0 : r.row[i].cpu_ns;
    assert_true(found > of_late_start / 2 && found < of_late_start + 1000000);
    forget(&r);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- threads that end while the monitor gets no processor ------------------------------------------------ */

enum { ENDED = 64 };
static void ended_threads_hold_no_slot(void **state)
{
    static const char *const by_timers[] = {"SONDE_CPU=199", "SONDE_TRACE=1", NULL};
    (void)state;
    harness_setup("sampling", by_timers);
    harness_wait();
    until_sampled();
    until_ends_are_known();
    const uint32_t mine = sonde__self->lane, slots = atomic_load(&sonde__agent.thread_count);
    sonde__lock(&sonde__agent.monitor_lock); /* from here on it makes no turn */
    const uint64_t since_ns = sonde_now_ns();
    for (int i = 0; i < ENDED; i++)
        start_and_end();
    const uint32_t slots_after = atomic_load(&sonde__agent.thread_count);
    sonde__unlock(&sonde__agent.monitor_lock);
    assert_in_range(slots_after, slots, slots + 2);
    struct sonde_measurement *m = harness_finish();
    const struct sonde_process *p = &m->processes[0];
    struct rows r = samples_of(p);
    uint64_t found = 0, lanes = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < r.count; i++)
        if (r.lane[i] != mine && r.row[i].time_ns >= since_ns) {
            found += r.row[i].cpu_ns;
            lanes += r.lane[i] != last;
            last = r.lane[i];
        }
    assert_true(lanes >= ENDED); /* each has its own, though they had one slot */
    assert_true(found > of_ended * 9 / 10 && found < 2 * of_ended);
    forget(&r);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- threads that start while the folder of threads is read first ---------------------------------------- */

static _Atomic int reading; /* 1: the next reading stays under way until it is 3; 2: it does */

/* In place of the C library's, for the agent (the linker's --wrap): what it reads is what there was, and the reading goes on. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Also called where there is no thread of the sanitizer's. */
__attribute__((no_sanitize("address", "thread"))) long __wrap_syscall(long number, ...)
{
    long a[6];
    int expected = 1;
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    const long result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    const int error = errno;
    if (number == SYS_getdents64 && !result && atomic_compare_exchange_strong(&reading, &expected, 2))
        while (atomic_load(&reading) != 3)
            usleep(1000);
    errno = error;
    return result;
}

static void *says_it_starts(void *arg)
{
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    sonde__sample_starts();
    for (const struct sonde_thread *t; !(t = sonde__target_mine()) || !atomic_load(&t->samples.count.taken); spin(2))
        assert_true(time(NULL) < until);
    sonde__sample_ends(says_it_starts);
    return arg;
}

enum { SLOW_MS = 400 };
enum { UNSEEN_MS = 500 };
static void *says_nothing(void *arg)
{
    spin(UNSEEN_MS);
    return arg;
}

/* One that says so is sampled at once; one that does not, as soon as the folder can be read again, which a reading that
 * was slow without using the processor does not put off. */
static void threads_beside_the_first_reading(void **state)
{
    static const char *const by_timers[] = {"SONDE_CPU=199", "SONDE_TRACE=1", NULL};
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    pthread_t one, other;
    (void)state;
    atomic_store(&reading, 1);
    harness_setup("sampling", by_timers);
    harness_wait();
    for (; atomic_load(&reading) != 2; usleep(1000))
        assert_true(time(NULL) < until);
    if (PLACES_ARE_EXACT) { /* ThreadSanitizer's threads have no sample before the monitor has seen to them */
        assert_int_equal(pthread_create(&one, NULL, says_it_starts, NULL), 0);
        pthread_join(one, NULL);
    }
    usleep(SLOW_MS * 1000);
    assert_int_equal(pthread_create(&other, NULL, says_nothing, NULL), 0);
    atomic_store(&reading, 3);
    pthread_join(other, NULL);
    until_sampled();
    const uint32_t mine = sonde__self->lane;
    struct sonde_measurement *m = harness_finish();
    struct rows r = samples_of(&m->processes[0]);
    uint64_t found = 0;
    for (size_t i = 0; i < r.count; i++)
        found += r.lane[i] == mine ? 0 : r.row[i].cpu_ns;
    assert_true(found > UNSEEN_MS * 1000000ull / 2);
    forget(&r);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- a lock that the interrupted thread holds --------------------------------------------------------- */

__attribute__((noinline)) static void spin_below(unsigned depth, unsigned ms)
{
    if (depth)
        spin_below(depth - 1, ms);
    else
        spin(ms);
    __asm__ volatile("" : : : "memory");
}

/* New paths of known frames, while who samples cannot take what new nodes are made under: samples are missed, no call path is merged. */
static void a_held_lock_merges_nothing(void **state)
{
    const time_t until = time(NULL) + HARNESS_PATIENCE_S;
    (void)state;
    harness_setup("sampling", sampled);
    harness_wait();
    until_sampled();
    uint64_t lost = 0, now = 0;
    for (volatile unsigned i = 0; i < 5 || (now < lost + 3 && time(NULL) < until); i++) { /* one call, so that its frames are known */
        spin_below(i < 5 ? 3 : 100 + i, 10); /* more nodes than a thread has in hand */
        now = atomic_load(&sonde__self->samples.count.lost);
        if (i == 4) {
            lost = now;
            sonde__lock(&sonde__agent.table_lock);
        }
    }
    sonde__unlock(&sonde__agent.table_lock);
    struct sonde_measurement *m = harness_finish();
    assert_true(m->processes[0].header.cpu.lost >= lost + 3);
    assert_int_equal(m->processes[0].header.ledger.contexts_folded, 0);
    sonde_measurement_close(m);
    harness_remove();
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_take_samples), cmocka_unit_test(samples_share_nodes), cmocka_unit_test(hooks_under_samples),
        cmocka_unit_test(slots_are_used_again), cmocka_unit_test(children_begin_anew),
        cmocka_unit_test(timers_do_without_perf), cmocka_unit_test(operations_come_before_samples),
        cmocka_unit_test(off_is_off), cmocka_unit_test(ranges_are_followed),
        cmocka_unit_test(threads_that_were_met_are_known), cmocka_unit_test(ended_threads_hold_no_slot),
        cmocka_unit_test(threads_beside_the_first_reading), cmocka_unit_test(a_held_lock_merges_nothing),
        cmocka_unit_test(a_call_blocks_signals_for_short)};
    const int which = argc > 1 ? atoi(argv[1]) : 0;
    if (which < 0 || which >= (int)(sizeof tests / sizeof *tests))
        return 2;
    return _cmocka_run_group_tests("sampling", &tests[which], 1, NULL, NULL);
}
