/* comm_sample.c - what a sample of launches says of all: the interval holds the truth nineteen times of twenty, and is no wider than it must be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/answers/comm/comm.h"

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Bytes of a launch: most a few, some many. */
static uint64_t launch(void)
{
    const uint64_t number = next();
    return 1000 + number % 4096 + (number >> 32 & 15 ? 0 : 20000);
}

enum { LAUNCHES = 2000,
       EVERY = 10,
       RUNS = 2000 };

static void the_truth_lies_in_the_interval(void **unused)
{
    (void)unused;
    unsigned within = 0;
    double width = 0, truths = 0, estimates = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        struct sonde__comm_sample sample = {0};
        struct sonde_comm_sum sum = {0};
        uint64_t bytes[SONDE_REMOTE_GROUPS] = {0}, truth = 0;
        for (unsigned k = 0; k < LAUNCHES; k++) {
            const uint64_t one = launch();
            const unsigned group = k / EVERY % SONDE_REMOTE_GROUPS;
            truth += one;
            if (k % EVERY) {
                sample.left_out++;
                continue;
            }
            sample.launches[group]++;
            bytes[group] += one;
            sum.bytes += one;
        }
        double low, high, all;
        sum.more = sonde__comm_estimate(&sample, bytes);
        assert_true(sonde_comm_estimated(&sum, &all) && sonde_comm_interval(&sum, &low, &high));
        within += low <= (double)truth && (double)truth <= high;
        width += high - low;
        truths += (double)truth;
        estimates += all;
    }
    assert_in_range(within, RUNS * 93 / 100, RUNS * 97 / 100);
    assert_true(fabs(estimates / truths - 1) < .01);
    assert_true(width / truths < .6);
}

static void what_is_alike_is_known(void **unused)
{
    (void)unused;
    struct sonde__comm_sample sample = {.launches = {2, 1, 1}, .left_out = 76};
    struct sonde_comm_sum sum = {.bytes = 400};
    double low, high, all;
    sum.more = sonde__comm_estimate(&sample, (const uint64_t[SONDE_REMOTE_GROUPS]){200, 100, 100});
    assert_true(sonde_comm_estimated(&sum, &all) && all == 8000);
    assert_true(sonde_comm_interval(&sum, &low, &high) && low == 8000 && high == 8000);
    sum.more = sonde__comm_estimate(&(struct sonde__comm_sample){.launches = {4}}, (const uint64_t[SONDE_REMOTE_GROUPS]){400});
    assert_true(sonde_comm_interval(&sum, &low, &high) && low == 400 && high == 400);
}

static void what_is_not_known_is_not_said(void **unused)
{
    (void)unused;
    struct sonde_comm_sum sum = {.bytes = 100};
    const uint64_t bytes[SONDE_REMOTE_GROUPS] = {100};
    double low, high, all;
    sum.more = sonde__comm_estimate(&(struct sonde__comm_sample){.launches = {1}, .left_out = 9}, bytes);
    assert_true(sonde_comm_estimated(&sum, &all) && all == 1000);
    assert_false(sonde_comm_interval(&sum, &low, &high)); /* of one launch */
    sum.more = sonde__comm_estimate(&(struct sonde__comm_sample){.launches = {1, 1}, .others = 1}, bytes);
    assert_false(sonde_comm_estimated(&sum, &all));
    sum.more = sonde__comm_estimate(&(struct sonde__comm_sample){.left_out = 1}, (const uint64_t[SONDE_REMOTE_GROUPS]){0});
    assert_false(sonde_comm_estimated(&sum, &all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_lies_in_the_interval),
        cmocka_unit_test(what_is_alike_is_known),
        cmocka_unit_test(what_is_not_known_is_not_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
