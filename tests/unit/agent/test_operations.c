/* test_operations.c - operations through the whole agent into files and back. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

enum { THREADS = 8 };
enum { EACH = 5000 };
static uint32_t queue[THREADS];

static void *launcher(void *arg)
{
    uintptr_t n = (uintptr_t)arg;
    for (int i = 0; i < EACH; i++) {
        harness_launch(queue[n], i % 5 ? SONDE_OP_KERNEL : SONDE_OP_WRITE, 8, i % 3 != 0);
        if (i % 100 == 0) {
            harness_complete_all();
            harness_wait();
        }
    }
    return NULL;
}

struct seen {
    uint64_t ops, calls, last_correlation;
    uint64_t bad;
};

static int on_ops(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    struct seen *s = user;
    const struct sonde_row_op *op = rows;
    (void)lane;
    for (uint32_t i = 0; i < count; i++) {
        s->ops++;
        s->bad += op[i].end_ns - op[i].start_ns != 5000 || op[i].start_ns - op[i].enter_ns != 1000 ||
                  op[i].correlation <= s->last_correlation;
        s->last_correlation = op[i].correlation;
    }
    return 0;
}

static int on_calls(void *user, uint32_t lane, const void *rows, uint32_t count)
{
    struct seen *s = user;
    const struct sonde_row_call *call = rows;
    (void)lane;
    for (uint32_t i = 0; i < count; i++) {
        s->calls++;
        s->bad += call[i].leave_ns < call[i].enter_ns;
    }
    return 0;
}

static void every_operation_is_in_profile_and_trace(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    harness_setup("operations", NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        queue[i] = harness_queue(i == 7 ? SONDE_LANE_OUT_OF_ORDER : 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, launcher, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    harness_complete_all();
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    assert_int_equal(m->process_count, 1);
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_ledger *l = &p->header.ledger;
    assert_int_equal(l->seen, THREADS * EACH);
    assert_int_equal(l->done, THREADS * EACH);
    assert_int_equal(l->unmatched, 0);
    assert_int_equal(l->bad_time, 0);
    for (int i = 0; i < 16; i++)
        assert_int_equal(l->dropped[i], 0);

    uint64_t count = 0, bytes = 0, calls = 0;
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_profile *r = &p->profiles[i];
        if (r->lane) {
            count += r->count;
            bytes += r->bytes;
            assert_int_equal(r->min_ns, 5000);
            assert_int_equal(r->max_ns, 5000);
            assert_true(fabs(r->mean_ns - 5000) < 1e-6);
            assert_int_equal(r->sum_ns, 5000 * r->count);
        } else {
            calls += r->count;
        }
    }
    assert_int_equal(count, THREADS * EACH);
    assert_int_equal(bytes, THREADS * EACH * 8);
    assert_int_equal(calls, l->api_calls);

    for (int i = 0; i < THREADS; i++) {
        struct seen s = {0};
        if (i < 7) { /* in order: correlations ascend */
            assert_int_equal(sonde_process_trace(p, SONDE_TABLE_OP, queue[i], 0, UINT64_MAX, on_ops, &s), 0);
            assert_int_equal(s.ops, EACH);
            assert_int_equal(s.bad, 0);
        }
    }
    struct seen all = {0};
    assert_int_equal(sonde_process_trace(p, SONDE_TABLE_CALL, 0, 0, UINT64_MAX, on_calls, &all), 0);
    assert_int_equal(all.calls, l->api_calls);
    assert_int_equal(all.bad, 0);
    sonde_measurement_close(m);
    harness_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_operation_is_in_profile_and_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
