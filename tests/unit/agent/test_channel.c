/* test_channel.c - the channel under two threads: order, loss, re-use of segments. */
#include <pthread.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/state/channel.h"

struct element { uint64_t number, inverse, pad[7]; };

static struct sonde_heap heap;
static struct sonde_channel channel;
static alignas(64) unsigned char first[2048];
enum { COUNT = 3000000 };

static void *producer(void *failed)
{
    for (uint64_t i = 0; i < COUNT;) {
        struct element *e = sonde__channel_slot(&channel);
        if (!e) {
            ++*(uint64_t *)failed;
            continue; /* the test's producer waits; the agent's would count a drop */
        }
        e->number = i;
        e->inverse = ~i;
        sonde__channel_publish(&channel);
        i++;
    }
    return NULL;
}

static void every_element_arrives_once_in_order(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t failed = 0, next = 0;
    assert_int_equal(sonde__heap_init(&heap, 2 << 20), 0);
    sonde__channel_init(&channel, &heap, sizeof(struct element), first, sizeof first);
    assert_int_equal(pthread_create(&thread, NULL, producer, &failed), 0);
    while (next < COUNT) {
        for (uint64_t n = sonde__channel_waiting(&channel); n > 0; n--) {
            const struct element *e = sonde__channel_peek(&channel);
            if (e->number != next || e->inverse != ~next)
                fail_msg("element %llu holds %llu", (unsigned long long)next, (unsigned long long)e->number);
            sonde__channel_next(&channel);
            next++;
        }
    }
    pthread_join(thread, NULL);
    assert_int_equal(sonde__channel_waiting(&channel), 0);
    assert_true(heap.next <= heap.size);
    sonde__heap_fini(&heap);
}

static void a_full_budget_is_said_and_empties_again(void **state)
{
    (void)state;
    uint64_t pushed = 0, taken = 0;
    assert_int_equal(sonde__heap_init(&heap, 1 << 20), 0);
    sonde__channel_init(&channel, &heap, sizeof(struct element), first, sizeof first);
    for (struct element *e; (e = sonde__channel_slot(&channel)); pushed++) {
        e->number = pushed;
        sonde__channel_publish(&channel);
    }
    assert_int_equal(pushed, (SONDE_HEAP_BLOCK - sizeof(struct sonde_channel_segment)) / sizeof(struct element) * (heap.size / SONDE_HEAP_BLOCK) +
                                 (sizeof first - sizeof(struct sonde_channel_segment)) / sizeof(struct element));
    for (uint64_t n = sonde__channel_waiting(&channel); n > 0; n--, taken++) {
        assert_int_equal(((const struct element *)sonde__channel_peek(&channel))->number, taken);
        sonde__channel_next(&channel);
    }
    assert_int_equal(taken, pushed);
    assert_non_null(sonde__channel_slot(&channel));
    sonde__heap_fini(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_arrives_once_in_order),
        cmocka_unit_test(a_full_budget_is_said_and_empties_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
