/* statistics.c - unit tests of what traces say of routines: exact shares of a run that is
 * worked out in the comments, and of random ones, computed again nanosecond by
 * nanosecond; and time spent waiting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/lanes/statistics.h"
#include "analyze/answers/lanes/sync.h"
#include "scene.h"

enum { END = 1000 };
enum { PERIOD = 50 };

/* A context is in the tree when something was accounted to it. */
static uint32_t account(struct scene *s, uint32_t node, uint32_t lane)
{
    const struct sonde_row_profile row = {
        .node = node,
        .lane = lane,
        .count = 1,
        .timed = 1,
        .sum_ns = 1,
        .min_ns = 1,
        .max_ns = 1,
        .mean_ns = 1,
    };
    synth_add(scene_build(s), SONDE_TABLE_PROFILE, 0, &row);
    return node;
}

struct loaded {
    struct sonde_measurement *m;
    struct sonde_profile *profile;
};

static struct loaded load(struct scene *s)
{
    struct loaded l = {.m = scene_open(s)};
    assert_int_equal(sonde_profile_build(l.m, &l.profile, NULL), 0);
    return l;
}

static void unload(struct loaded *l)
{
    sonde_profile_destroy(l->profile);
    sonde_measurement_close(l->m);
}

static struct sonde_statistics compute(const struct loaded *l, struct sonde_statistics_config config)
{
    struct sonde_statistics st = {0};
    double sum = 0;
    assert_int_equal(sonde_statistics_compute(l->m, l->profile, &config, &st, NULL), 0);
    for (size_t i = 0; i < st.rows.count; i++) {
        sum += st.rows.items[i].queue_ns + st.rows.items[i].thread_ns;
        if (i)
            assert_true(st.rows.items[i].queue_ns + st.rows.items[i].thread_ns <=
                        st.rows.items[i - 1].queue_ns + st.rows.items[i - 1].thread_ns);
    }
    /* 100 % of range and lanes */
    assert_float_equal(sum, (double)(st.to_ns - st.from_ns) * (st.queues + st.threads), 1e-6);
    return st;
}

static struct sonde_share find(const struct sonde_statistics *st, enum sonde_share_kind kind, const char *name)
{
    for (size_t i = 0; i < st->rows.count; i++)
        if (st->rows.items[i].kind == kind && (kind != SONDE_SHARE_ROUTINE || !strcmp(st->rows.items[i].frame.name, name)))
            return st->rows.items[i];
    return (struct sonde_share){0};
}

static void check(const struct sonde_statistics *st, enum sonde_share_kind kind, const char *name, double queue, double thread)
{
    const struct sonde_share share = find(st, kind, name);
    assert_float_equal(share.queue_ns, queue, 1e-9);
    assert_float_equal(share.thread_ns, thread, 1e-9);
}

/* Two queues and a thread that is sampled. */
static struct loaded small(bool switches)
{
    struct scene *s = scene_create();
    struct sonde_live_header *h = scene_header(s);
    uint32_t device = scene_device(s, "gpu"), queue = scene_queue(s, device), idle = scene_queue(s, device);
    uint32_t thread = scene_thread(s), top = scene_function(s, thread, 0, "main");
    uint32_t step = scene_function(s, thread, top, "step");
    uint32_t api = scene_api(s, thread, step, "clEnqueueNDRangeKernel"), inner = scene_api(s, thread, step, "clRetain");
    uint32_t one = scene_kernel(s, thread, api, "one"), two = scene_kernel(s, thread, api, "two");
    (void)idle;
    h->cpu_rate_hz = 1000000000 / PERIOD;
    h->cpu_sampling = SONDE_CPU_PERF;
    h->cpu_switches = switches;
    h->stop_ns = END;
    account(s, one, queue);
    account(s, two, queue);
    account(s, api, 0);
    account(s, inner, 0);
    account(s, top, thread);
    account(s, step, thread);
    scene_op(s, queue, one, 100, 200, 1);
    scene_op(s, queue, two, 150, 250, 2);
    scene_call(s, thread, api, 300, 500, 1);
    scene_call(s, thread, inner, 350, 400, 0);
    scene_sample(s, thread, step, 600, 50);
    scene_sample(s, thread, top, 700, 50);
    scene_switch(s, thread, 800, 900, 0);
    return load(s);
}

static void test_known(void **state)
{
    struct loaded l = small(true);
    struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
    (void)state;
    assert_int_equal(st.queues, 2);
    assert_int_equal(st.threads, 1);
    assert_true(st.traced);
    check(&st, SONDE_SHARE_ROUTINE, "one", 75, 0); /* 50 alone, half of 50 */
    check(&st, SONDE_SHARE_ROUTINE, "two", 75, 0);
    check(&st, SONDE_SHARE_IDLE, "", 850 + 1000, 0);
    check(&st, SONDE_SHARE_ROUTINE, "clEnqueueNDRangeKernel", 0, 150); /* without the call inside it */
    check(&st, SONDE_SHARE_ROUTINE, "clRetain", 0, 50);
    /* 575 to 650, the middle of the samples; half of what no sample reaches after the last call */
    check(&st, SONDE_SHARE_ROUTINE, "step", 0, 75 + 100);
    check(&st, SONDE_SHARE_ROUTINE, "main", 0, 75 + 100);
    assert_float_equal(find(&st, SONDE_SHARE_ROUTINE, "main").sampled_ns, 175, 1e-9);
    assert_float_equal(find(&st, SONDE_SHARE_ROUTINE, "main").pooled_ns, 100, 1e-9);
    check(&st, SONDE_SHARE_OFF, "", 0, 100);
    check(&st, SONDE_SHARE_OUTSIDE, "", 0, 300 + 50); /* a period after its last row it may be gone */
    sonde_statistics_fini(&st);

    st = compute(&l, (struct sonde_statistics_config){.depth = 1});
    check(&st, SONDE_SHARE_ROUTINE, "main", 150, 550);
    sonde_statistics_fini(&st);
    st = compute(&l, (struct sonde_statistics_config){.depth = 2});
    check(&st, SONDE_SHARE_ROUTINE, "step", 150, 375);
    check(&st, SONDE_SHARE_ROUTINE, "main", 0, 175); /* where it is the innermost */
    sonde_statistics_fini(&st);

    const struct sonde_lane_id lanes[] = {{0, 1}, {0, 3}};
    st = compute(&l, (struct sonde_statistics_config){.from_ns = 160, .to_ns = 320, .lanes = lanes, .lane_count = 2});
    assert_int_equal(st.queues, 1);
    check(&st, SONDE_SHARE_ROUTINE, "one", 20, 0);
    check(&st, SONDE_SHARE_ROUTINE, "two", 70, 0);
    check(&st, SONDE_SHARE_IDLE, "", 70, 0);
    check(&st, SONDE_SHARE_ROUTINE, "clEnqueueNDRangeKernel", 0, 20);
    check(&st, SONDE_SHARE_OUTSIDE, "", 0, 140);
    sonde_statistics_fini(&st);

    struct sonde_diag diag = {0};
    assert_int_equal(sonde_statistics_compute(l.m, l.profile, &(struct sonde_statistics_config){.from_ns = 5, .to_ns = 5},
                                              &st, &diag),
                     SONDE_EINVALID);
    assert_true(*diag.what);
    sonde_statistics_fini(&st);
    unload(&l);
}

/* The same where nobody says when the thread slept: it computed for no longer than its samples stand for. */
static void test_sleep_unknown(void **state)
{
    struct loaded l = small(false);
    struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
    (void)state;
    check(&st, SONDE_SHARE_ROUTINE, "step", 0, 75);
    check(&st, SONDE_SHARE_ROUTINE, "main", 0, 75);
    check(&st, SONDE_SHARE_OUTSIDE, "", 0, 300 + 250);
    assert_false(st.checked);
    sonde_statistics_fini(&st);
    unload(&l);
}

/* A sample that came late stands for all that time before it, and for more than others where its gap has no room; one that
 * was taken as its thread ended says nothing of what samples were taken of. */
static void test_late(void **state)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), top = scene_function(s, thread, 0, "main");
    const uint32_t api = account(s, scene_api(s, thread, top, "clFlush"), 0);
    const uint32_t f = account(s, scene_function(s, thread, top, "f"), thread), g = account(s, scene_function(s, thread, top, "g"), thread);
    const uint32_t routine = account(s, scene_function(s, thread, top, "routine"), thread);
    (void)state;
    scene_header(s)->cpu_rate_hz = 1000000000 / 20;
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 1000;
    scene_call(s, thread, api, 0, 100, 0);
    scene_sample(s, thread, g, 110, 20);
    scene_sample(s, thread, f, 310, 200); /* 180 late: from 130 on it was there, and before that the nearer of both */
    scene_sample(s, thread, g, 330, 20);
    scene_call(s, thread, api, 340, 400, 0);
    scene_sample(s, thread, g, 420, 20);
    scene_rest(s, thread, routine, 500, 80);
    struct loaded l = load(s);
    struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
    check(&st, SONDE_SHARE_ROUTINE, "f", 0, 200);                   /* 120 to 320 */
    check(&st, SONDE_SHARE_ROUTINE, "g", 0, 20 + 20 + 120);         /* to the thread's last row and a period */
    check(&st, SONDE_SHARE_ROUTINE, "routine", 0, 0);
    assert_float_equal(find(&st, SONDE_SHARE_ROUTINE, "f").cpu_ns, 200, 1e-9);
    assert_float_equal(find(&st, SONDE_SHARE_ROUTINE, "g").cpu_ns, 60 + 80, 1e-9);
    sonde_statistics_fini(&st);
    unload(&l);
}

/* Where a thread was seen at its end alone, that is what is known. */
static void test_rest_alone(void **state)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), routine = account(s, scene_function(s, thread, 0, "routine"), thread);
    (void)state;
    scene_header(s)->cpu_rate_hz = 1000000000 / 50;
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 500;
    scene_rest(s, thread, routine, 400, 30);
    struct loaded l = load(s);
    struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
    check(&st, SONDE_SHARE_ROUTINE, "routine", 0, 100);
    assert_float_equal(find(&st, SONDE_SHARE_ROUTINE, "routine").cpu_ns, 30, 1e-9);
    sonde_statistics_fini(&st);
    unload(&l);
}

/* Two calls on one line are two places: what comes after the one, and what comes after the other, are gaps of two kinds. */
static void test_two_places_of_a_line(void **state)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), top = scene_line(s, thread, 0, "main", 3), again = scene_line(s, thread, 0, "main", 3);
    const uint32_t api[] = {account(s, scene_api(s, thread, top, "clFlush"), 0), account(s, scene_api(s, thread, again, "clFlush"), 0)};
    const uint32_t of[] = {account(s, scene_function(s, thread, top, "f"), thread), account(s, scene_function(s, thread, top, "g"), thread)};
    (void)state;
    scene_header(s)->cpu_rate_hz = 1000000000 / 200;
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 4010;
    for (uint64_t i = 0; i <= 40; i++)
        scene_call(s, thread, api[i % 2], 100 * i, 100 * i + 10, 0);
    for (uint64_t i = 0; i < 40; i += 3)
        scene_sample(s, thread, of[i % 2], 100 * i + 55, 200);
    struct loaded l = load(s);
    struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
    check(&st, SONDE_SHARE_ROUTINE, "f", 0, 20 * 90);
    check(&st, SONDE_SHARE_ROUTINE, "g", 0, 20 * 90);
    sonde_statistics_fini(&st);
    unload(&l);
}

/* A thread that spends its time in calls and ends: what it leaves need not be of its gaps. */
static void test_rest_of_calls(void **state)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), routine = account(s, scene_function(s, thread, 0, "routine"), thread);
    const uint32_t api = account(s, scene_api(s, thread, routine, "clFinish"), 0);
    (void)state;
    scene_header(s)->cpu_rate_hz = 1000000000 / 20;
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 1000;
    scene_call(s, thread, api, 0, 900, 0);
    scene_rest(s, thread, routine, 980, 800);
    struct loaded l = load(s);
    struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
    const struct sonde_share row = find(&st, SONDE_SHARE_ROUTINE, "routine");
    assert_float_equal(row.sampled_ns, 100, 1e-9);
    assert_float_equal(row.cpu_ns, 800, 1e-9);
    assert_false(row.disagrees);
    sonde_statistics_fini(&st);
    unload(&l);
}

/* Gaps of 90 ns with a sample of each 200 in every other one: by the pool of the whole run also where a part of it is
 * looked at; the parts sum up to the whole. */
static void test_pooled(void **state)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), top = scene_function(s, thread, 0, "main");
    const uint32_t api = account(s, scene_api(s, thread, top, "clFlush"), 0);
    const uint32_t f = scene_function(s, thread, top, "f"), g = scene_function(s, thread, top, "g");
    double sum = 0;
    (void)state;
    scene_header(s)->cpu_rate_hz = 1000000000 / 200;
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 1010;
    for (uint64_t i = 0; i <= 10; i++)
        scene_call(s, thread, api, 100 * i, 100 * i + 10, 0);
    for (uint64_t i = 0; i < 5; i++)
        scene_sample(s, thread, i % 2 ? g : f, 200 * i + 55, 200);
    struct loaded l = load(s);
    struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
    check(&st, SONDE_SHARE_ROUTINE, "f", 0, 540);
    check(&st, SONDE_SHARE_ROUTINE, "g", 0, 360);
    assert_true(st.checked);
    assert_float_equal(find(&st, SONDE_SHARE_ROUTINE, "f").cpu_ns, 600, 1e-9);
    assert_false(find(&st, SONDE_SHARE_ROUTINE, "f").disagrees);
    sonde_statistics_fini(&st);
    for (uint64_t from = 0; from < 1010; from += 101) {
        st = compute(&l, (struct sonde_statistics_config){.from_ns = from, .to_ns = from + 101});
        sum += find(&st, SONDE_SHARE_ROUTINE, "f").thread_ns;
        sonde_statistics_fini(&st);
    }
    assert_float_equal(sum, 540, 1e-6);
    unload(&l);
}

/* The program runs from 100 on, is recorded from 300 on, and not from 800 to 900. A thread comes at 600. */
static void test_start_and_pause(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), first = scene_thread(s), second = scene_thread(s);
    const uint32_t api = account(s, scene_api(s, first, 0, "clFlush"), 0), late = account(s, scene_api(s, second, 0, "clFinish"), 0);
    const struct sonde_row_pause pause = {.from_ns = 800, .to_ns = 900};
    struct sonde_row_lane *lane = synth_row(scene_build(s), SONDE_TABLE_LANE, second);
    (void)state;
    scene_header(s)->exec_ns = 100;
    scene_header(s)->start_ns = 300;
    lane->start_ns = 600;
    scene_op(s, queue, account(s, scene_kernel(s, first, api, "k"), queue), 400, 500, 1);
    scene_call(s, first, api, 350, 450, 1);
    scene_call(s, second, late, 700, 750, 0);
    synth_add(scene_build(s), SONDE_TABLE_PAUSE, 0, &pause);
    struct loaded l = load(s);
    struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
    assert_int_equal(st.to_ns, 900);
    check(&st, SONDE_SHARE_ROUTINE, "k", 100, 0);
    check(&st, SONDE_SHARE_IDLE, "", 700, 0); /* a device that nobody uses yet is idle, too */
    check(&st, SONDE_SHARE_PAUSED, "", 100, 200);
    check(&st, SONDE_SHARE_BEFORE, "", 0, 400);
    check(&st, SONDE_SHARE_ABSENT, "", 0, 300);
    check(&st, SONDE_SHARE_OUTSIDE, "", 0, 500 + 250);
    check(&st, SONDE_SHARE_ROUTINE, "clFlush", 0, 100);
    check(&st, SONDE_SHARE_ROUTINE, "clFinish", 0, 50);
    sonde_statistics_fini(&st);
    unload(&l);
}

/* ---- random runs ------------------------------------------------------------------------------ */

static uint32_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

enum {
    LONG = 20000,
    OPS = 300,
    CALLS = 200,
    KERNELS = 5,
};

struct truth { double kernel[KERNELS], call[KERNELS], slept, idle, outside, paused[2]; };

static struct loaded random_run(uint32_t from, struct truth *truth)
{
    static const char *const names[] = {"k0", "k1", "k2", "k3", "k4"}, *const apis[] = {"a0", "a1", "a2", "a3", "a4"};
    static uint8_t running[LONG][KERNELS], called[LONG], paused[LONG], asleep[LONG];
    struct scene *s = scene_create();
    uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    uint32_t top = scene_function(s, thread, 0, "main"), api[KERNELS], kernel[KERNELS];
    seed = from;
    memset(running, 0, sizeof running);
    memset(called, 0, sizeof called);
    memset(paused, 0, sizeof paused);
    memset(asleep, 0, sizeof asleep);
    memset(truth, 0, sizeof *truth);
    scene_header(s)->stop_ns = LONG;
    for (uint32_t i = 0; i < KERNELS; i++) {
        api[i] = account(s, scene_api(s, thread, top, apis[i]), 0);
        kernel[i] = account(s, scene_kernel(s, thread, api[i], names[i]), queue);
    }
    for (uint32_t i = 0, at = 0; i < OPS; i++) { /* as they end on an out-of-order queue: in no order of start */
        uint32_t start = below(4) ? at + below(100) : below(LONG), end = start + below(300), which = below(KERNELS);
        end = end < LONG ? end : LONG;
        at = start < LONG - 400 ? start : 0;
        if (start >= end)
            continue;
        scene_op(s, queue, kernel[which], start, end, i + 1);
        for (uint32_t t = start; t < end; t++)
            running[t][which]++;
    }
    for (uint32_t i = 0, at = 100; i < CALLS && at < LONG - 1000; i++) { /* each with a call inside */
        uint32_t outer = below(KERNELS), inner = below(KERNELS), leave = at + 20 + below(60);
        scene_call(s, thread, api[outer], at, leave, 0);
        scene_call(s, thread, api[inner], at + 5, at + 15, 0);
        for (uint32_t t = at; t < leave; t++)
            called[t] = (uint8_t)(1 + (t >= at + 5 && t < at + 15 ? inner : outer));
        at = leave + below(50);
    }
    const uint32_t nap = scene_api(s, thread, scene_function(s, thread, top, "nap"), "nanosleep");
    for (uint32_t at = below(100); at < LONG - 1000;) { /* also within calls, whose time that is, and over them */
        const uint32_t to = at + 1 + below(100);
        scene_sleep(s, thread, nap, at, to);
        memset(asleep + at, 1, to - at);
        at = to + below(200);
    }
    for (uint32_t at = 1 + below(100); from % 2 && at < LONG - 1000;) { /* some runs have times that were not recorded */
        const struct sonde_row_pause row = {.from_ns = at, .to_ns = at + 1 + below(200)};
        synth_add(scene_build(s), SONDE_TABLE_PAUSE, 0, &row);
        memset(paused + row.from_ns, 1, row.to_ns - row.from_ns);
        at = (uint32_t)row.to_ns + 1 + below(500);
    }
    for (uint32_t t = 0; t < LONG; t++) {
        double all = 0;
        for (uint32_t i = 0; i < KERNELS; i++)
            all += running[t][i];
        for (uint32_t i = 0; i < KERNELS && all > 0; i++)
            truth->kernel[i] += running[t][i] / all;
        truth->idle += all == 0 && !paused[t];
        truth->slept += called[t] == 0 && asleep[t];
        truth->outside += called[t] == 0 && !asleep[t] && !paused[t];
        truth->paused[0] += all == 0 && paused[t];
        truth->paused[1] += called[t] == 0 && !asleep[t] && paused[t];
        if (called[t])
            truth->call[called[t] - 1]++;
    }
    return load(s);
}

static void check_truth(const struct sonde_statistics *st, const struct truth *truth)
{
    static const char *const names[] = {"k0", "k1", "k2", "k3", "k4"}, *const apis[] = {"a0", "a1", "a2", "a3", "a4"};
    for (int i = 0; i < KERNELS; i++) {
        assert_float_equal(find(st, SONDE_SHARE_ROUTINE, names[i]).queue_ns, truth->kernel[i], 1e-6);
        assert_float_equal(find(st, SONDE_SHARE_ROUTINE, apis[i]).thread_ns, truth->call[i], 1e-6);
    }
    assert_float_equal(find(st, SONDE_SHARE_ROUTINE, "nanosleep").thread_ns, truth->slept, 1e-6);
    assert_float_equal(find(st, SONDE_SHARE_IDLE, "").queue_ns, truth->idle, 1e-6);
    assert_float_equal(find(st, SONDE_SHARE_OUTSIDE, "").thread_ns, truth->outside, 1e-6);
    assert_float_equal(find(st, SONDE_SHARE_PAUSED, "").queue_ns, truth->paused[0], 1e-6);
    assert_float_equal(find(st, SONDE_SHARE_PAUSED, "").thread_ns, truth->paused[1], 1e-6);
}

static void test_random(void **state)
{
    (void)state;
    for (uint32_t from = 1; from <= 10; from++) {
        struct truth truth;
        struct loaded l = random_run(from, &truth);
        struct sonde_statistics st = compute(&l, (struct sonde_statistics_config){0});
        check_truth(&st, &truth);
        sonde_statistics_fini(&st);
        unload(&l);
    }
}

/* What lies in two halves of a range is what lies in the whole, wherever it is cut. */
static void test_pieces(void **state)
{
    struct loaded l = small(true);
    struct sonde_statistics whole = compute(&l, (struct sonde_statistics_config){0});
    (void)state;
    for (uint64_t cut = 1; cut < END; cut += 7) {
        struct sonde_statistics a = compute(&l, (struct sonde_statistics_config){.to_ns = cut});
        struct sonde_statistics b = compute(&l, (struct sonde_statistics_config){.from_ns = cut});
        for (size_t i = 0; i < whole.rows.count; i++) {
            const struct sonde_share *row = &whole.rows.items[i];
            struct sonde_share x = find(&a, row->kind, row->frame.name), y = find(&b, row->kind, row->frame.name);
            assert_float_equal(x.queue_ns + y.queue_ns, row->queue_ns, 1e-9);
            assert_float_equal(x.thread_ns + y.thread_ns, row->thread_ns, 1e-9);
        }
        sonde_statistics_fini(&a);
        sonde_statistics_fini(&b);
    }
    sonde_statistics_fini(&whole);
    unload(&l);
}

/* A call that is there to wait, one that waited once of twice, and one that makes an operation wait. */
static void test_sync(void **state)
{
    struct scene *s = scene_create();
    uint32_t thread = scene_thread(s), top = scene_function(s, thread, 0, "main");
    uint32_t finish = account(s, scene_api(s, thread, top, "clFinish"), 0);
    uint32_t read = account(s, scene_api(s, thread, top, "clEnqueueReadBuffer"), 0);
    const struct sonde_row_wait starts = {.enter_ns = 500, .waiter = 7};
    double *sync = NULL, sum = 0;
    (void)state;
    scene_call(s, thread, finish, 100, 130, 0);
    scene_wait(s, thread, 100);
    scene_call(s, thread, read, 200, 250, 0);
    scene_call(s, thread, read, 300, 370, 0);
    scene_wait(s, thread, 300);
    scene_call(s, thread, read, 500, 600, 0);
    synth_add(scene_build(s), SONDE_TABLE_WAIT, thread, &starts);
    struct loaded l = load(s);
    assert_int_equal(sonde_sync_compute(l.m, l.profile, NULL, &sync), 0);
    for (size_t i = 0; i < l.profile->nodes.count; i++)
        sum += sync[i];
    assert_float_equal(sync[sonde_profile_locate(l.profile, 0, read)], 70, 1e-9);
    const uint32_t at = sonde_profile_locate(l.profile, 0, finish); /* what the profile has of it, not the trace */
    assert_float_equal(sync[at], (double)l.profile->nodes.items[at].self.api_ns, 1e-9);
    assert_float_equal(sum, sync[at] + 70, 1e-9);
    free(sync);
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_sleep_unknown), cmocka_unit_test(test_pooled), cmocka_unit_test(test_late),
                                       cmocka_unit_test(test_rest_alone), cmocka_unit_test(test_rest_of_calls), cmocka_unit_test(test_two_places_of_a_line),
                                       cmocka_unit_test(test_start_and_pause), cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_pieces), cmocka_unit_test(test_sync)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
