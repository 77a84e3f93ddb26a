/* test_threads.c - 100,000 short-lived threads leave memory flat; hundreds at once have room, or are counted, and so are
 * the rows of their traces. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { FIRST = 2000 };
enum { ALL = 6000 };
#else
enum { FIRST = 5000 };
enum { ALL = 100000 };
#endif

static uint32_t queue;

static void *short_life(void *arg)
{
    (void)arg;
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    return NULL;
}

static void threads(int n)
{
    for (int i = 0; i < n; i += 4) {
        pthread_t t[4];
        for (int k = 0; k < 4; k++)
            assert_int_equal(pthread_create(&t[k], NULL, short_life, NULL), 0);
        for (int k = 0; k < 4; k++)
            pthread_join(t[k], NULL);
    }
}

/* Blocks of the heap that somebody holds. */
static size_t blocks_held(void)
{
    struct sonde_heap *h = &sonde__agent.heap;
    sonde__lock(&h->lock);
    size_t held = h->next / SONDE_HEAP_BLOCK;
    for (void *block = h->free; block; block = *(void **)block)
        held--;
    sonde__unlock(&h->lock);
    return held;
}

/* Is it so, once the monitor has emptied the channels of the last threads? */
static bool comes_down_to(size_t blocks)
{
    for (int nap = 0; nap < HARNESS_PATIENCE_S * 1000; nap++) {
        if (blocks_held() <= blocks)
            return true;
        usleep(1000);
    }
    return false;
}

static void memory_stays_flat(void **state)
{
    (void)state;
    const char *const profile[] = {"SONDE_TRACE=0", NULL};
    harness_setup("threads", profile);
    queue = harness_queue(0);
    threads(FIRST);
    size_t blocks = blocks_held();
    uint32_t slots = atomic_load(&sonde__agent.thread_count), lanes = atomic_load(&sonde__agent.lane_count);
    uint32_t segments = atomic_load(&sonde__agent.pool.in_use);
    threads(ALL - FIRST);
    /* Some: spare segments of channels. A slot per thread would be gigabytes. */
    assert_true(comes_down_to(blocks + 32));
    assert_true(atomic_load(&sonde__agent.thread_count) <= slots + 4);
    assert_true(atomic_load(&sonde__agent.lane_count) <= lanes + 4);
    assert_true(atomic_load(&sonde__agent.pool.in_use) <= segments + 8); /* two for each slot of the four that came late */
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    assert_int_equal(m->processes[0].header.ledger.seen, ALL);
    assert_int_equal(m->processes[0].header.ledger.done, ALL);
    sonde_measurement_close(m);
    harness_remove();
}

/* ---- many at once ---------------------------------------------------------------- */

enum { UNJUDGED_NS = 20000 }; /* a hook that takes no longer may have waited as long */
enum {
    AT_ONCE = 600,
    LAUNCHES_EACH = 20,
    QUEUES_EACH = 4,
};
static pthread_barrier_t all_there;
static uint32_t queues[AT_ONCE][QUEUES_EACH]; /* that the threads launch on, in turn */

static void give_queues(bool of_their_own)
{
    const uint32_t shared = harness_queue(0);
    for (int i = 0; i < AT_ONCE; i++)
        for (int k = 0; k < QUEUES_EACH; k++)
            queues[i][k] = of_their_own ? harness_queue(0) : shared;
}

/* As a backend does that lets the runtime run when the hook takes no part. */
static void launch_or_say(uint32_t on)
{
    if (!harness_launch(on, SONDE_OP_KERNEL, 0, true))
        sonde_op_unrecorded();
}

static void *life_beside_others(void *arg)
{
    const uint32_t *mine = arg;
    launch_or_say(mine[0]);
    pthread_barrier_wait(&all_there);
    for (int i = 1; i < LAUNCHES_EACH; i++)
        launch_or_say(mine[i % QUEUES_EACH]);
    return NULL;
}

static void all_at_once(void)
{
    static pthread_t t[AT_ONCE];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 512 << 10);
    pthread_barrier_init(&all_there, NULL, AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++)
        REQUIRE(pthread_create(&t[i], &small, life_beside_others, queues[i]) == 0);
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(t[i], NULL);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* No operation is lost, and hooks take no longer than they compute. */
static struct sonde_measurement *whole(const char *name)
{
    const uint64_t used_ns = cpu_ns();
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_ledger *l = &m->processes[0].header.ledger;
    fprintf(stderr, "%s: %llu seen, %llu done, %llu dropped, own time %.1f ms, CPU time %.1f ms\n", name,
            (unsigned long long)l->seen, (unsigned long long)l->done,
            (unsigned long long)l->dropped[SONDE_DROP_CHANNEL_FULL], (double)l->hook_ns / 1e6, (double)used_ns / 1e6);
    REQUIRE(l->seen == AT_ONCE * LAUNCHES_EACH && l->done == l->seen);
    REQUIRE(l->dropped[SONDE_DROP_CHANNEL_FULL] == 0);
    REQUIRE(harness_profile_count(&m->processes[0]) == l->done);
    /* Hooks wait for locks and for processors here; they do not compute longer than the process did. */
    REQUIRE(l->hook_ns < used_ns + l->api_calls * UNJUDGED_NS);
    return m;
}

/* With the memory that is the default, and profile only. */
static void hundreds_have_room(void)
{
    const char *const profile[] = {"SONDE_TRACE=0", NULL};
    harness_setup("hundreds", profile);
    give_queues(false);
    all_at_once();
    whole("hundreds");
    harness_remove();
}

static int add_rows(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    (void)lane;
    (void)rows;
    *(uint64_t *)user += count;
    return 0;
}

/* Each operation and each API call is in the trace or counted as missing there. How many are missing. */
static uint64_t missing_rows(const struct sonde_process *p)
{
    const struct sonde_ledger *l = &p->header.ledger;
    uint64_t operations = 0, calls = 0, of_lanes = 0;
    sonde_process_trace(p, SONDE_TABLE_OP, 0, 0, UINT64_MAX, add_rows, &operations);
    sonde_process_trace(p, SONDE_TABLE_CALL, 0, 0, UINT64_MAX, add_rows, &calls);
    for (uint32_t i = 1; i < p->lane_count; i++)
        of_lanes += p->lanes[i].dropped[SONDE_DROP_TRACE_FULL];
    const uint64_t missing = l->dropped[SONDE_DROP_TRACE_FULL] + l->call_rows_dropped;
    fprintf(stderr, "trace: %llu operations, %llu not; %llu of %llu API calls, %llu not\n", (unsigned long long)operations,
            (unsigned long long)l->dropped[SONDE_DROP_TRACE_FULL], (unsigned long long)calls,
            (unsigned long long)l->api_calls, (unsigned long long)l->call_rows_dropped);
    REQUIRE(operations + l->dropped[SONDE_DROP_TRACE_FULL] == l->done);
    REQUIRE(calls + l->call_rows_dropped == l->api_calls);
    REQUIRE(of_lanes == missing);
    return missing;
}

/* The same with a trace, as is the default, of which each thread needs a segment. */
static void hundreds_have_room_in_the_trace(void)
{
    const char *const none[] = {NULL};
    harness_setup("traced", none);
    give_queues(false);
    all_at_once();
    REQUIRE(missing_rows(&whole("traced")->processes[0]) == 0);
    harness_remove();
}

/* Queues of their own need more segments than there are: rows of the trace are missing, and counted; operations and their
 * profile are whole. (What a report says of them: tests/report/caveats_test.py.) */
static void missing_rows_are_counted(void)
{
    const char *const none[] = {NULL};
    harness_setup("queues", none);
    give_queues(true);
    all_at_once();
    REQUIRE(missing_rows(&whole("queues")->processes[0]) > 0);
    harness_remove();
}

/* Threads that found no room, too, are in `seen`. */
static void all_are_counted(void)
{
    const char *const little[] = {"SONDE_TRACE=0", "SONDE_MEMORY=16777216", NULL};
    harness_setup("little", little);
    give_queues(false);
    all_at_once();
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const struct sonde_ledger *l = &m->processes[0].header.ledger;
    fprintf(stderr, "little: %llu seen, %llu done, %llu dropped, %llu calls, %llu of them dropped\n",
            (unsigned long long)l->seen, (unsigned long long)l->done,
            (unsigned long long)l->dropped[SONDE_DROP_CHANNEL_FULL], (unsigned long long)l->api_calls,
            (unsigned long long)l->calls_dropped);
    REQUIRE(l->seen == AT_ONCE * LAUNCHES_EACH);
    REQUIRE(l->dropped[SONDE_DROP_CHANNEL_FULL] > 0 && l->done + l->dropped[SONDE_DROP_CHANNEL_FULL] == l->seen);
    REQUIRE(l->api_calls == AT_ONCE * LAUNCHES_EACH + 1); /* and the one that started the agent */
    harness_remove();
}

/* A hook that waits for another thread's lock computes nothing meanwhile. */
static _Atomic bool waits_now;
static void *first_call(void *cpu)
{
    struct timespec t;
    atomic_store(&waits_now, true);
    harness_launch(queue, SONDE_OP_KERNEL, 0, true);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    *(uint64_t *)cpu = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return NULL;
}

static void waiting_is_no_own_time(void)
{
    const char *const none[] = {NULL};
    pthread_t t;
    uint64_t thread_cpu_ns, before_ns, begun_ns = cpu_ns();
    harness_setup("waiting", none);
    queue = harness_queue(0);
    before_ns = cpu_ns() - begun_ns;
    sonde__lock(&sonde__agent.thread_lock); /* that a thread's first call takes */
    pthread_create(&t, NULL, first_call, &thread_cpu_ns);
    while (!atomic_load(&waits_now))
        usleep(1000);
    usleep(300000);
    sonde__unlock(&sonde__agent.thread_lock);
    pthread_join(t, NULL);
    struct sonde_measurement *m = harness_finish();
    REQUIRE(m);
    const uint64_t hook_ns = m->processes[0].header.ledger.hook_ns;
    fprintf(stderr, "waiting: own time %.3f ms, CPU time %.3f ms\n", (double)hook_ns / 1e6,
            (double)(thread_cpu_ns + before_ns) / 1e6);
    REQUIRE(hook_ns < thread_cpu_ns + before_ns + 3 * UNJUDGED_NS);
    harness_remove();
}

#define CASE(name) \
    static void test_##name(void **state) { (void)state; assert_int_equal(harness_in_child(name), 0); }
CASE(hundreds_have_room)
CASE(hundreds_have_room_in_the_trace)
CASE(missing_rows_are_counted)
CASE(all_are_counted)
CASE(waiting_is_no_own_time)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hundreds_have_room),
                                       cmocka_unit_test(test_hundreds_have_room_in_the_trace),
                                       cmocka_unit_test(test_missing_rows_are_counted), cmocka_unit_test(test_all_are_counted),
                                       cmocka_unit_test(test_waiting_is_no_own_time), cmocka_unit_test(memory_stays_flat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
