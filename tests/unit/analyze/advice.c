/* advice.c - a long trace that is looked at window after window gives the advice that it gives in one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../format/folder.h"
#include "analyze/advice.h"
#include "written.h"

enum { US = 1000, ROUNDS = 8000 };

/* On one queue launches that come too late, on a second device copies of pageable memory; the pinned one comes last. */
static struct written *program(void)
{
    struct written *w = written_begin();
    const uint32_t thread = written_thread(w, 0, 0), other = written_thread(w, 0, 0);
    const uint32_t one = written_queue(w, 1, 0), two = written_queue(w, 2, 0);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const uint64_t at = (10 + 10 * i) * US;
        written_op(w, &(struct written_op){.thread = thread, .queue = one, .kind = SONDE_OP_KERNEL, .name = "short",
                                           .enter = at, .leave = at + 5 * US, .start = at + 4 * US, .end = at + 7 * US});
        written_op(w, &(struct written_op){.thread = other, .queue = two, .kind = SONDE_OP_WRITE, .enter = at, .leave = at + 1 * US,
                                           .start = at + 2 * US, .end = at + 8 * US, .bytes = 1000,
                                           .source = i == ROUNDS - 1 ? SONDE_MEMORY_PINNED : SONDE_MEMORY_PAGEABLE,
                                           .target = SONDE_MEMORY_DEVICE});
    }
    const uint64_t at = (10 + 10 * ROUNDS) * US; /* 1 MiB in 1,048 us: 1,000 bytes a us */
    written_op(w, &(struct written_op){.thread = other, .queue = two, .kind = SONDE_OP_WRITE, .enter = at, .leave = at + 1 * US,
                                       .start = at + 2 * US, .end = at + 2 * US + (1 << 20), .bytes = 1 << 20,
                                       .source = SONDE_MEMORY_PINNED, .target = SONDE_MEMORY_DEVICE});
    return w;
}

static const struct sonde_advice *find(const struct sonde_advices *all, const char *rule)
{
    for (size_t i = 0; i < all->items.count; i++)
        if (!strcmp(all->items.items[i].rule, rule))
            return &all->items.items[i];
    return NULL;
}

static void check(const struct sonde_measurement *m, const struct sonde_profile *profile, uint64_t rows_most, uint64_t cuts)
{
    struct sonde_advices all = {0};
    assert_int_equal(sonde_advice_compute(m, profile, NULL, rows_most, &all), 0);
    assert_int_equal(all.rows, all.rows_looked_at);
    assert_true(cuts ? all.windows > cuts : all.windows == 1);
    const struct sonde_advice *late = find(&all, "launch_bound"), *slow = find(&all, "pageable_copies");
    assert_non_null(late);
    assert_non_null(slow);
    /* Each launch but the first finds the device idle for 7 of 10 us. */
    assert_int_equal(late->count, ROUNDS - 1);
    assert_int_equal(late->saving_ns, (uint64_t)(ROUNDS - 1) * 7 * US);
    /* 6 us each, and 1 at the rate of the pinned copy, wherever that is. */
    assert_int_equal(slow->count, ROUNDS - 1);
    assert_in_range(slow->saving_ns, (uint64_t)(ROUNDS - 1) * 5 * US - ROUNDS, (uint64_t)(ROUNDS - 1) * 5 * US + ROUNDS);
    sonde_advice_fini(&all);
}

static void test_windows(void **state)
{
    (void)state;
    struct sonde_profile *profile;
    struct written *w = program();
    struct sonde_measurement *m = written_open(w, &profile);
    check(m, profile, 0, 0);
    check(m, profile, 4000, 2);
    check(m, profile, 1000, 8);
    written_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
