/* test_frozen.c - a monitor that stands still never holds the program up.
 *
 * The test holds the locks that the monitor thread needs for every turn while
 * ten million operations are launched: the program's thread must go on, what
 * finds no room is counted, and the counts add up when the monitor wakes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { LAUNCHES = 500000 };
#else
enum { LAUNCHES = 10000000 };
#endif

static void ten_million_operations_without_a_monitor(void **state)
{
    (void)state;
    const char *const memory[] = {"SONDE_MEMORY=33554432", NULL};
    harness_setup("frozen", memory);
    uint32_t queue = harness_queue(0);
    sonde__lock(&sonde__agent.monitor_lock);
    for (int i = 0; i < LAUNCHES; i++)
        assert_true(harness_launch(queue, SONDE_OP_KERNEL, 0, true));
    sonde__unlock(&sonde__agent.monitor_lock);
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    const struct sonde_ledger *l = &m->processes[0].header.ledger;
    assert_int_equal(l->seen, LAUNCHES);
    assert_true(l->dropped[SONDE_DROP_CHANNEL_FULL] > 0);
    assert_int_equal(l->done + l->dropped[SONDE_DROP_CHANNEL_FULL], LAUNCHES);
    assert_int_equal(atomic_load(&harness_released), l->dropped[SONDE_DROP_CHANNEL_FULL]);
    uint64_t calls = 0;
    for (uint32_t i = 1; i < m->processes[0].profile_count; i++)
        calls += m->processes[0].profiles[i].lane ? 0 : m->processes[0].profiles[i].count;
    assert_true(l->calls_dropped > 0);
    assert_int_equal(calls + l->calls_dropped, l->api_calls);
    /* and it works again */
    assert_true(sonde__agent.heap.next <= sonde__agent.heap.size);
    sonde_measurement_close(m);
    harness_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ten_million_operations_without_a_monitor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
