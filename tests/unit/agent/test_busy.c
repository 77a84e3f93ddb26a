/* test_busy.c - the online union of intervals against a bitmap of the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/state/state.h"
#include "agent/store/store.h"

enum { SPAN = 2000000 };
enum { LANES = 5 };
static unsigned char busy[SPAN], kernel[SPAN];
static struct sonde_live_header header;

static uint64_t count(const unsigned char *bits)
{
    uint64_t n = 0;
    for (int i = 0; i < SPAN; i++)
        n += bits[i];
    return n;
}

/* Five queues, each in order, delivered in batches one queue after the other. */
static void union_equals_bitmap(void **state)
{
    (void)state;
    uint64_t at[LANES];
    srand(7);
    assert_int_equal(sonde__heap_init(&sonde__agent.heap, 64 << 20), 0);
    for (int l = 0; l < LANES; l++)
        at[l] = 1000u + (unsigned)rand() % 500;
    for (int turn = 0; turn < 400; turn++)
        for (int l = 0; l < LANES; l++)
            for (int i = 0; i < 40; i++) {
                uint64_t start = at[l] + (unsigned)rand() % 90, end = start + 1 + (unsigned)rand() % 60;
                if (end >= SPAN)
                    continue;
                bool is_kernel = rand() & 1;
                sonde__busy_add(1, is_kernel ? SONDE_OP_KERNEL : SONDE_OP_READ, start, end);
                memset(busy + start, 1, end - start);
                if (is_kernel)
                    memset(kernel + start, 1, end - start);
                at[l] = end;
            }
    sonde__busy_settle(&header);
    assert_int_equal(header.device_busy[1].busy_ns, count(busy));
    assert_int_equal(header.device_group[1].kernel_ns, count(kernel));
    assert_int_equal(header.device_busy[0].busy_ns, 0);
}

/* Eight threads' channels emptied one after the other, each reaching back to the same start. */
static void one_turn_in_eight_passes(void **state)
{
    (void)state;
    memset(busy, 0, sizeof busy);
    memset(kernel, 0, sizeof kernel);
    for (int t = 0; t < 8; t++)
        for (uint64_t at = 100 + (uint64_t)t * 7, n = 0; n < 2000; n++, at += 900) {
            uint64_t end = at + 50 + (n * 31 + (uint64_t)t * 17) % 200;
            sonde__busy_add(2, SONDE_OP_KERNEL, at, end);
            memset(busy + at, 1, end - at);
        }
    sonde__busy_settle(&header);
    assert_int_equal(header.device_busy[2].busy_ns, count(busy));
    assert_int_equal(header.ledger.busy_clipped_ns, 0);
}

/* What comes more than a second late is clipped, and said to be. */
static void late_intervals_are_counted(void **state)
{
    (void)state;
    const uint64_t second = 1000000000u;
    for (uint64_t i = 0; i < 100; i++)
        sonde__busy_add(3, SONDE_OP_KERNEL, i * second / 10, i * second / 10 + 1000);
    sonde__busy_settle(&header);
    sonde__busy_add(3, SONDE_OP_KERNEL, second + 50000, second + 50700);
    sonde__busy_settle(&header);
    assert_int_equal(header.device_busy[3].busy_ns, 100 * 1000);
    assert_int_equal(header.ledger.busy_clipped_ns, 700);
}

static void order_only_operations_occupy_nothing(void **state)
{
    (void)state;
    uint64_t before = header.device_busy[1].busy_ns;
    sonde__busy_add(1, SONDE_OP_MARKER, 1900000, 1999999);
    sonde__busy_add(1, SONDE_OP_KERNEL, 1999990, 1999999);
    sonde__busy_settle(&header);
    assert_int_equal(header.device_busy[1].busy_ns, before + 9);
}

static void devices_without_a_place_are_counted(void **state)
{
    (void)state;
    sonde__busy_add(63, SONDE_OP_KERNEL, 1000, 1100);
    sonde__busy_add(64, SONDE_OP_KERNEL, 1000, 1100);
    sonde__busy_add(70000, SONDE_OP_READ, 1000, 1100);
    sonde__busy_add(64, SONDE_OP_MARKER, 1000, 1100);
    sonde__busy_settle(&header);
    assert_int_equal(header.device_busy[63].busy_ns, 100);
    assert_int_equal(header.ledger.busy_left_out, 2);
    sonde__busy_forget();
    sonde__busy_settle(&header);
    assert_int_equal(header.ledger.busy_left_out, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(union_equals_bitmap),
        cmocka_unit_test(one_turn_in_eight_passes),
        cmocka_unit_test(late_intervals_are_counted),
        cmocka_unit_test(order_only_operations_occupy_nothing),
        cmocka_unit_test(devices_without_a_place_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
