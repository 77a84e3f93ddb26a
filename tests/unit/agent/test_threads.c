/* test_threads.c - 100,000 short-lived threads leave memory flat. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { FIRST = 2000, ALL = 6000 };
#else
enum { FIRST = 5000, ALL = 100000 };
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_stays_flat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
