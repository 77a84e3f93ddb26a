/* blame_sweep.c - unions of intervals against a bitmap, and idle time in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/blame/sweep.h"

static uint64_t seed = 1;
static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
}

static void unions_against_a_bitmap(void **state)
{
    enum { LENGTH = 4000 };
    sonde__spans scratch = {0};
    (void)state;
    for (int round = 0; round < 300; round++) {
        sonde__spans spans = {0}, idle = {0};
        bool busy[LENGTH] = {0};
        const uint64_t count = noise(400), crowd = round % 3 ? LENGTH - 100 : 3; /* many that begin together, too */
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t from = noise(crowd), to = from + 1 + noise(30);
            assert_int_equal(sonde_vector_push(&spans, (struct sonde__span){from, to}), 0);
            memset(busy + from, true, to - from);
        }
        assert_int_equal(sonde__spans_sort(&spans, &scratch), 0);
        assert_int_equal(sonde__spans_gaps(&spans, 0, LENGTH, &idle), 0);
        for (size_t i = 0; i < idle.count; i++)
            for (uint64_t at = idle.items[i].from; at < idle.items[i].to; at++) {
                assert_false(busy[at]);
                busy[at] = true;
            }
        for (int at = 0; at < LENGTH; at++)
            assert_true(busy[at]);
        struct sonde__idle whole = sonde__idle_of(&idle, 0, LENGTH);
        assert_int_equal(sonde__idle_count(&whole), idle.count);
        sonde_vector_fini(&spans);
        sonde_vector_fini(&idle);
    }
    sonde_vector_fini(&scratch);
}

static void gaps_meet(void **state)
{
    enum { LENGTH = 1000 };
    (void)state;
    for (int round = 0; round < 300; round++) {
        sonde__spans gaps[2] = {{0}}, both = {0};
        uint8_t idle[LENGTH] = {0};
        for (int k = 0; k < 2; k++)
            for (uint64_t at = noise(20); at < LENGTH - 40; at += 1 + noise(30)) {
                const uint64_t to = at + 1 + noise(30);
                assert_int_equal(sonde_vector_push(&gaps[k], (struct sonde__span){at, to}), 0);
                for (; at < to; at++)
                    idle[at]++;
            }
        assert_int_equal(sonde__spans_meet(&gaps[0], &gaps[1], &both), 0);
        for (size_t i = 0; i < both.count; i++)
            for (uint64_t at = both.items[i].from; at < both.items[i].to; at++) {
                assert_int_equal(idle[at], 2);
                idle[at] = 0;
            }
        for (int at = 0; at < LENGTH; at++)
            assert_true(idle[at] < 2);
        sonde_vector_fini(&gaps[0]);
        sonde_vector_fini(&gaps[1]);
        sonde_vector_fini(&both);
    }
}

static struct sonde__idle idle_between(const sonde__spans *busy, uint64_t from, uint64_t to)
{
    sonde__spans gaps = {0};
    assert_int_equal(sonde__spans_gaps(busy, from, to, &gaps), 0);
    const struct sonde__idle idle = sonde__idle_of(&gaps, from, to);
    sonde_vector_fini(&gaps);
    return idle;
}

static void idle_of_pieces_is_idle_of_the_whole(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        sonde__spans whole = {0}, scratch = {0};
        struct sonde__idle joined = {0};
        for (uint64_t i = noise(12); i-- > 0;) {
            const uint64_t from = noise(990);
            sonde_vector_push(&whole, (struct sonde__span){from, from + 1 + noise(10)});
        }
        sonde__spans_sort(&whole, &scratch);
        const struct sonde__idle at_once = idle_between(&whole, 0, 1000);
        for (uint64_t from = 0, to; from < 1000; from = to) {
            to = from + 1 + noise(200);
            to = to < 1000 ? to : 1000;
            joined = sonde__idle_join(joined, idle_between(&whole, from, to));
        }
        assert_int_equal(joined.length, at_once.length);
        assert_int_equal(sonde__idle_count(&joined), sonde__idle_count(&at_once));
        assert_int_equal(sonde__idle_longest(&joined), sonde__idle_longest(&at_once));
        sonde_vector_fini(&whole);
        sonde_vector_fini(&scratch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_against_a_bitmap),
        cmocka_unit_test(gaps_meet),
        cmocka_unit_test(idle_of_pieces_is_idle_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
