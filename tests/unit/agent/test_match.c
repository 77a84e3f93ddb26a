/* test_match.c - a runtime that reports: completions find their submissions by key,
 * in any order, early or late, one or many; what finds nothing is counted.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"

enum { N = 20000 };

static uint32_t new_stream(void)
{
    harness_wait();
    uint32_t device = sonde_device_add(&(struct sonde_device_info){
        .backend = &harness_reporting, .platform = "test", .name = "a device that reports"});
    return sonde_lane_add(device, 1, 0, "stream");
}

static void report(uint64_t key, uint32_t lane, uint64_t enter_ns, uint32_t origin, uint32_t name)
{
    harness_report(&(struct sonde_completion){
        .key = key,
        .kind = SONDE_OP_KERNEL,
        .result = SONDE_POLL_DONE,
        .lane = lane,
        .origin = origin,
        .name = name,
        .bytes = 3,
        .times = {.start_ns = enter_ns + 1000, .end_ns = enter_ns + 6000}});
}

/* Sum over the profile rows of operations. */
static uint64_t profile_sum(const struct sonde_process *p, uint32_t lane, uint64_t *bytes)
{
    uint64_t n = 0;
    for (uint32_t i = 1; i < p->profile_count; i++) {
        if (p->profiles[i].lane != lane)
            continue;
        n += p->profiles[i].count;
        *bytes += p->profiles[i].bytes;
    }
    return n;
}

static void check_all_done(struct sonde_measurement *m, uint32_t lane, uint64_t n)
{
    uint64_t bytes = 0;
    assert_non_null(m);
    const struct sonde_process *p = &m->processes[0];
    assert_int_equal(p->header.ledger.seen, n);
    assert_int_equal(p->header.ledger.done, n);
    assert_int_equal(p->header.ledger.unmatched, 0);
    assert_int_equal(p->header.ledger.bad_time, 0);
    assert_int_equal(profile_sum(p, lane, &bytes), n);
    assert_int_equal(bytes, 3 * n);
    sonde_measurement_close(m);
}

/* Reports in an order of their own, far behind or just behind; the table grows and shrinks. */
static void in_any_order(void **state)
{
    (void)state;
    static uint64_t enter[N];
    harness_setup("match-order", NULL);
    uint32_t stream = new_stream();
    for (uint64_t i = 0; i < N; i++)
        assert_true(harness_submit(0x100000000ull + i, 0, NULL, &enter[i]));
    for (uint64_t i = 0; i < N; i++) {
        uint64_t k = (i * 7919) % N; /* 7919 is prime to N: each once */
        report(0x100000000ull + k, stream, enter[k], 0, 0);
    }
    check_all_done(harness_finish(), stream, N);
    harness_remove();
}

/* One case per process: the agent starts once. The case is argv[1]. */

static void early(void **state)
{
    (void)state;
    harness_setup("match-early", NULL);
    uint32_t stream = new_stream();
    uint64_t now = sonde_now_ns() + 1000000000;
    for (uint64_t i = 1; i <= 1000; i++) {
        report(i, stream, now, 0, 0);
        if (i % 100 == 0) /* let the monitor meet some of them first */
            sonde__monitor_flush(SONDE_FLUSH_STORE, 60000);
    }
    for (uint64_t i = 1; i <= 1000; i++)
        assert_true(harness_submit(i, 0, NULL, NULL));
    check_all_done(harness_finish(), stream, 1000);
    harness_remove();
}

static bool under_link(const struct sonde_process *p, uint32_t node, uint32_t origin)
{
    for (const struct sonde_row_node *n; (n = sonde_process_node(p, node, NULL)); node = n->parent) {
        const struct sonde_row_frame *f = &p->frames[n->frame];
        if (f->kind == SONDE_FRAME_LINK && f->offset == origin)
            return true;
    }
    return false;
}

/* A graph: launched often, each launch many kernels, each prepared somewhere else. */
static void many(void **state)
{
    (void)state;
    enum { LAUNCHES = 3000 };
    enum { NODES = 7 };
    harness_setup("match-many", NULL);
    uint32_t stream = new_stream(), origin[2], linked[2] = {0};
    uint64_t enter;
    harness_submit(1, SONDE_SUBMIT_MANY, &origin[0], NULL); /* these make nothing, */
    harness_submit(2, SONDE_SUBMIT_MANY, &origin[1], NULL); /* and are called from other places */
    for (uint64_t i = 0; i < LAUNCHES; i++) {
        assert_true(harness_submit(10 + i, SONDE_SUBMIT_MANY, NULL, &enter));
        for (int n = 0; n < NODES; n++)
            report(10 + i, stream, enter, origin[n % 2], 0);
    }
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    const struct sonde_process *p = &m->processes[0];
    for (uint32_t i = 1; i < p->profile_count; i++)
        for (int o = 0; o < 2; o++)
            if (p->profiles[i].lane == stream && under_link(p, p->profiles[i].node, origin[o]))
                linked[o] += (uint32_t)p->profiles[i].count;
    assert_int_equal(p->note_count, 1); /* two launches made nothing */
    assert_non_null(strstr(p->notes[0].text, "nothing was reported of 2 launches"));
    assert_int_equal(linked[0], LAUNCHES * 4);
    assert_int_equal(linked[1], LAUNCHES * 3);
    check_all_done(m, stream, LAUNCHES * NODES);
    harness_remove();
}

static void lost(void **state)
{
    (void)state;
    harness_setup("match-lost", NULL);
    uint32_t stream = new_stream();
    uint64_t enter = 0;
    for (uint64_t i = 1; i <= 100; i++)
        assert_true(harness_submit(i, 0, NULL, &enter));
    for (uint64_t i = 1; i <= 90; i++)
        report(i, stream, enter, 0, 0);
    for (uint64_t i = 201; i <= 205; i++) /* of calls that no hook saw */
        report(i, stream, enter, 0, 0);
    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    const struct sonde_ledger *l = &m->processes[0].header.ledger;
    assert_int_equal(l->seen, 105);
    assert_int_equal(l->done, 90);
    assert_int_equal(l->unmatched, 15);
    sonde_measurement_close(m);
    harness_remove();
}

static enum sonde_over stand_over(uint32_t lane, uint64_t bytes)
{
    return sonde_submit_over(&(struct sonde_submit){.kind = SONDE_OP_COLLECTIVE, .lane = lane, .bytes = bytes, .name = sonde_string("AllReduce", 9)});
}

/* Count, bytes and time of what the profile has on a lane below this API call's node. */
static struct sonde_row_profile sum_below(const struct sonde_process *p, uint32_t lane, uint32_t api_node)
{
    struct sonde_row_profile sum = {0};
    for (uint32_t i = 1; i < p->profile_count; i++) {
        const struct sonde_row_profile *row = &p->profiles[i];
        const struct sonde_row_node *node = sonde_process_node(p, row->node, NULL);
        if (row->lane != lane || !node || node->parent != api_node)
            continue;
        sum.count += row->count;
        sum.timed += row->timed;
        sum.bytes += row->bytes;
        sum.sum_ns += row->sum_ns;
    }
    return sum;
}

/* Operations that stand over others: before the report, after it, over what has no key, over nothing. */
static void over(void **state)
{
    (void)state;
    harness_setup("match-over", NULL);
    uint32_t stream = new_stream(), group = harness_queue(0), context;
    uint64_t enter;
    assert_int_equal(stand_over(group, 1), SONDE_OVER_NOTHING); /* the last call was a wait */
    for (uint64_t i = 1; i <= 100; i++) {
        assert_true(harness_submit(i, 0, &context, &enter));
        assert_int_equal(stand_over(group, 10), SONDE_OVER_DONE);
        if (i % 2)
            assert_int_equal(stand_over(group, 10), SONDE_OVER_DONE);
        report(i, stream, enter, 0, 0);
    }
    assert_true(harness_submit(101, 0, NULL, &enter));
    report(101, stream, enter, 0, 0);
    assert_true(sonde__monitor_flush(SONDE_FLUSH_STORE, HARNESS_PATIENCE_S * 1000u));
    assert_int_equal(stand_over(group, 10), SONDE_OVER_DONE); /* too late to wait with it */
    assert_true(harness_submit(102, SONDE_SUBMIT_MANY, NULL, &enter));
    assert_int_equal(stand_over(group, 10), SONDE_OVER_DONE); /* no operation whose times it could have */
    report(102, stream, enter, 0, 0);
    assert_true(harness_submit(103, 0, NULL, &enter)); /* never reported, */
    assert_int_equal(stand_over(group, 10), SONDE_OVER_DONE); /* so neither ends */

    struct sonde_measurement *m = harness_finish();
    assert_non_null(m);
    const struct sonde_process *p = &m->processes[0];
    const struct sonde_ledger *l = &p->header.ledger;
    assert_int_equal(l->seen, 103 + 153);
    assert_int_equal(l->done, 102 + 152);
    assert_int_equal(l->unmatched, 2);
    assert_int_equal(l->no_times, 1);
    assert_int_equal(l->bad_time, 0);
    const struct sonde_row_profile sum = sum_below(p, group, context);
    assert_int_equal(sum.count, 150);
    assert_int_equal(sum.timed, 150);
    assert_int_equal(sum.bytes, 1500);
    assert_int_equal(sum.sum_ns, 150 * 5000);
    uint64_t bytes = 0;
    assert_int_equal(profile_sum(p, group, &bytes), 152);
    assert_int_equal(profile_sum(p, stream, &bytes), 102);
    sonde_measurement_close(m);
    harness_remove();
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_any_order),
        cmocka_unit_test(early),
        cmocka_unit_test(many),
        cmocka_unit_test(lost),
        cmocka_unit_test(over),
    };
    if (argc < 2)
        return 2;
    const struct CMUnitTest one[] = {tests[atoi(argv[1])]};
    return cmocka_run_group_tests(one, NULL, NULL);
}
