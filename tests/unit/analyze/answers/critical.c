/* critical.c - the critical path of programs whose path is known.
 *
 * Each program is written down with its times; the expected path stands in a
 * comment, as a drawing of what waits for what. Times are in ns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../format/folder.h"
#include "analyze/answers/critical/critical.h"
#include "written.h"

struct result {
    struct written *w;
    struct sonde_critical critical;
    const struct sonde_path *path;
    const struct sonde_profile *profile;
};

static struct result compute_with(struct written *w, struct sonde_critical_options options)
{
    struct result r = {.w = w};
    struct sonde_profile *profile;
    struct sonde_measurement *m = written_open(w, &profile);
    options.segments = true;
    assert_int_equal(sonde_critical_compute(m, profile, &options, NULL, &r.critical), 0);
    assert_int_equal(r.critical.paths.count, 1);
    r.path = &r.critical.paths.items[0];
    r.profile = profile;
    return r;
}

/* The path covers its whole length, without a hole; parts, things and places add up to it. */
static void check_sums(const struct sonde_path *path)
{
    uint64_t parts = 0, things = 0, places = 0, at = path->end_ns;
    for (int i = 0; i < SONDE_PATH_COUNT; i++)
        parts += path->parts[i].ns;
    for (size_t i = 0; i < path->things.count; i++) {
        things += path->things.items[i].ns;
        assert_true(path->things.items[i].saving_ns <= path->things.items[i].ns / 2 + 1);
    }
    for (size_t i = 0; i < path->places.count; i++)
        places += path->places.items[i].ns;
    for (size_t i = 0; i < path->segments.count; i++) {
        assert_int_equal(path->segments.items[i].end_ns, at);
        at = path->segments.items[i].start_ns;
    }
    assert_int_equal(at, path->begin_ns);
    assert_int_equal(parts, path->end_ns - path->begin_ns);
    assert_int_equal(things, parts);
    assert_int_equal(places, parts);
}

static struct result compute(struct written *w)
{
    struct result r = compute_with(w, (struct sonde_critical_options){.evaluate = 100});
    check_sums(r.path);
    return r;
}

static void finish(struct result *r)
{
    sonde_critical_fini(&r->critical);
    written_close(r->w);
}

static uint64_t part(const struct result *r, enum sonde_path_category category)
{
    return r->path->parts[category].ns;
}

static const struct sonde_path_thing *thing(const struct result *r, enum sonde_path_category category, const char *name)
{
    static const struct sonde_path_thing none;
    for (size_t i = 0; i < r->path->things.count; i++)
        if (r->path->things.items[i].category == (uint32_t)category && strcmp(r->path->things.items[i].name, name) == 0)
            return &r->path->things.items[i];
    return &none;
}

/* ---- one queue, back to back ---------------------------------------------------------
 *
 *   host   0 --100[enqueue a]110-120[enqueue b]130-140[finish                    ]1010--1100[release]1110
 *   queue               a: 115 ---------- 500 b: 500 ---------------------- 1000
 *
 * Path: host 0-100, call 100-110, launch 110-115, a, b, finish from 1000 on, host, release.
 */
static void test_back_to_back(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "a", .function = "step", .enter = 100, .leave = 110, .start = 115, .end = 500});
    written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "b", .function = "step", .enter = 120, .leave = 130, .start = 500, .end = 1000});
    written_call(w, t, "clFinish", "step", 140, 1010);
    written_wait(w, t, 140, 0, 0, q, 0);
    written_call(w, t, "clReleaseMemObject", "clean", 1100, 1110);
    struct result r = compute(w);
    assert_int_equal(r.path->begin_ns, WRITTEN_START);
    assert_int_equal(r.path->end_ns, WRITTEN_START + 1110);
    assert_int_equal(part(&r, SONDE_PATH_HOST), 100 + 90);
    assert_int_equal(part(&r, SONDE_PATH_API), 10 + 10 + 10);
    assert_int_equal(part(&r, SONDE_PATH_LAUNCH), 5);
    assert_int_equal(part(&r, SONDE_PATH_GAP), 0);
    assert_int_equal(part(&r, SONDE_PATH_KERNEL), 385 + 500);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "a")->ns, 385);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "a")->delay_ns, 5);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "b")->ns, 500);
    /* Nothing else is in the way: half of each is saved. a's 385 are halved downwards. */
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "a")->saving_ns, 192);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "b")->saving_ns, 250);
    /* Before the first call the outermost frame; between step and clean what both share. */
    assert_int_equal(thing(&r, SONDE_PATH_HOST, "main")->ns, 190);
    assert_int_equal(thing(&r, SONDE_PATH_HOST, "main")->saving_ns, 95);
    assert_int_equal(r.path->waits_recorded, 1);
    assert_int_equal(r.path->waits_inferred, 0);
    finish(&r);
}

/* ---- launches that the device waits for -------------------------------------------------
 *
 * Each call lasts 100, its kernel starts 60 into it and ends 10 into the next one. The queue runs dry
 * each time: the path is the thread's, and the launches twice as fast save half of their time but for
 * the last kernel's.
 */
static void test_launch_bound(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    for (uint64_t i = 0; i < 10; i++)
        written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "k", .enter = 110 * i, .leave = 110 * i + 100, .start = 110 * i + 60, .end = 110 * i + 120});
    struct result r = compute(w);
    assert_int_equal(part(&r, SONDE_PATH_KERNEL), 60);
    assert_int_equal(part(&r, SONDE_PATH_API), 9 * 100 + 60);
    assert_int_equal(part(&r, SONDE_PATH_HOST), 9 * 10);
    assert_int_equal(thing(&r, SONDE_PATH_API, "clEnqueueNDRangeKernel")->saving_ns, (9 * 100 + 60) / 2);
    finish(&r);
}

/* ---- a loop of kernel, synchronize, small copy (the Nyx pattern) -----------------------
 *
 *   host  [enqueue 10][finish ............. until kernel + 20][read, blocking ... until copy + 5] 15 of host code
 *
 * Per turn (200): enqueue 0-10, kernel 12-112, finish 20-130, read 135-180 with its copy 150-170.
 * Path: enqueue 10, launch 2, kernel 100, finish 112-130 = 18, host 5, read's call until the copy
 * starts 15, copy 20, the call's end 10, host 20.
 */
static void nyx(struct written *w, bool rows)
{
    uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t at = 200 * i;
        written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "advance", .enter = at, .leave = at + 10, .start = at + 12, .end = at + 112});
        written_call(w, t, "clFinish", "", at + 20, at + 130);
        uint64_t copy = written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_READ, .enter = at + 135, .leave = at + 180, .start = at + 150, .end = at + 170});
        if (rows) {
            written_wait(w, t, at + 20, 0, 0, q, 0);
            written_wait(w, t, at + 135, 0, copy, 0, 0);
        }
    }
}

static void check_nyx(const struct result *r)
{
    assert_int_equal(part(r, SONDE_PATH_KERNEL), 1000);
    assert_int_equal(part(r, SONDE_PATH_COPY), 200);
    assert_int_equal(part(r, SONDE_PATH_LAUNCH), 20);
    assert_int_equal(part(r, SONDE_PATH_API), 10 * (10 + 18 + 15 + 10));
    assert_int_equal(part(r, SONDE_PATH_HOST), 10 * 5 + 9 * 20);
    assert_int_equal(thing(r, SONDE_PATH_API, "clFinish")->ns, 180);
    assert_int_equal(thing(r, SONDE_PATH_KERNEL, "advance")->saving_ns, 500);
    assert_int_equal(r->path->waits_recorded + r->path->waits_inferred, 20);
}

static void test_nyx(void **state)
{
    (void)state;
    struct written *w = written_begin();
    nyx(w, true);
    struct result r = compute(w);
    check_nyx(&r);
    assert_int_equal(r.path->waits_inferred, 0);
    finish(&r);
}

static void test_nyx_without_waits(void **state)
{
    (void)state;
    struct written *w = written_begin();
    nyx(w, false);
    struct result r = compute(w);
    check_nyx(&r);
    assert_int_equal(r.path->waits_recorded, 0);
    finish(&r);
}

/* ---- two queues, a diamond by wait lists ----------------------------------------------
 *
 *   queue 1   top 30-100 ----> left 100-400 -----------> bottom 700-800
 *   queue 2                \-> right 110-700 ----------/
 *
 * The path runs through right. Twice as fast, right ends at 405: bottom could begin then, since left
 * ends at 400, so 295 are saved. Twice as fast, left saves nothing.
 */
static void diamond(struct written *w, uint64_t left_end)
{
    uint32_t t = written_thread(w, 0, 0), one = written_queue(w, 1, 0), two = written_queue(w, 1, 0);
    struct written_op op = {.thread = t, .kind = SONDE_OP_KERNEL};
    op = (struct written_op){.thread = t, .queue = one, .kind = SONDE_OP_KERNEL, .name = "top", .enter = 10, .leave = 20, .start = 30, .end = 100};
    uint64_t top = written_op(w, &op);
    op = (struct written_op){.thread = t, .queue = one, .kind = SONDE_OP_KERNEL, .name = "left", .enter = 30, .leave = 35, .start = 100, .end = left_end};
    written_op(w, &op);
    op = (struct written_op){.thread = t, .queue = two, .kind = SONDE_OP_KERNEL, .name = "right", .enter = 40, .leave = 45, .start = 110, .end = 700};
    uint64_t right = written_op(w, &op);
    written_wait(w, t, 40, right, top, 0, 0);
    op = (struct written_op){.thread = t, .queue = one, .kind = SONDE_OP_KERNEL, .name = "bottom", .enter = 50, .leave = 55, .start = 700, .end = 800};
    uint64_t bottom = written_op(w, &op);
    written_wait(w, t, 50, bottom, right, 0, 0);
    written_call(w, t, "clFinish", "", 60, 805);
    written_wait(w, t, 60, 0, 0, one, 0);
}

static void test_diamond(void **state)
{
    (void)state;
    struct written *w = written_begin();
    diamond(w, 400);
    struct result r = compute(w);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "top")->ns, 70);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "right")->ns, 590);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "left")->count, 0);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "bottom")->ns, 100);
    assert_int_equal(part(&r, SONDE_PATH_GAP), 10);
    assert_int_equal(part(&r, SONDE_PATH_LAUNCH), 10);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "right")->saving_ns, 295);
    finish(&r);
}

/* left until 690: right twice as fast saves only what left leaves: 10. */
static void test_parallel_branch_limits(void **state)
{
    (void)state;
    struct written *w = written_begin();
    diamond(w, 690);
    struct result r = compute(w);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "right")->ns, 590);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "right")->saving_ns, 10);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "top")->saving_ns, 35);
    finish(&r);
}

/* ---- an out-of-order queue -----------------------------------------------------------------
 *
 *   x 20-300, y 25-500, [barrier 500-501], z 510-600, then u 520-560 beside it: finish returns at 610.
 *
 * Path: y (not x), the barrier, 9 until z starts (its call left long before), z. Without the barrier
 * z's start has nothing to do with y: then the path goes from z to its call, which left at 80.
 */
static void out_of_order(struct written *w, bool barrier)
{
    uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, SONDE_LANE_OUT_OF_ORDER);
    static const struct {
        const char *name;
        uint64_t enter, leave, start, end;
        uint16_t kind;
    } ops[] = {
        {"x", 0, 10, 20, 300, SONDE_OP_KERNEL},
        {"y", 11, 20, 25, 500, SONDE_OP_KERNEL},
        {"", 30, 40, 500, 501, SONDE_OP_BARRIER},
        {"z", 70, 80, 510, 600, SONDE_OP_KERNEL},
        {"u", 81, 90, 520, 560, SONDE_OP_KERNEL},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (barrier || ops[i].kind == SONDE_OP_KERNEL)
            written_op(w, &(struct written_op){.thread = t,
                                               .queue = q,
                                               .kind = ops[i].kind,
                                               .name = ops[i].name,
                                               .enter = ops[i].enter,
                                               .leave = ops[i].leave,
                                               .start = ops[i].start,
                                               .end = ops[i].end});
    written_call(w, t, "clFinish", "", 100, 610);
    written_wait(w, t, 100, 0, 0, q, 0);
}

static void test_out_of_order(void **state)
{
    (void)state;
    struct written *w = written_begin();
    out_of_order(w, true);
    struct result r = compute(w);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "z")->ns, 90);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "y")->ns, 475);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "x")->count, 0);
    assert_int_equal(part(&r, SONDE_PATH_ORDER), 1);
    assert_int_equal(part(&r, SONDE_PATH_GAP), 9);
    /* y would end at 263, but x ends at 300: 200 are saved. z would end at 555, but u at 560. */
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "y")->saving_ns, 200);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "z")->saving_ns, 40);
    finish(&r);
}

static void test_out_of_order_without_barrier(void **state)
{
    (void)state;
    struct written *w = written_begin();
    out_of_order(w, false);
    struct result r = compute(w);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "z")->ns, 90);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "y")->count, 0);
    assert_int_equal(part(&r, SONDE_PATH_LAUNCH), 430);
    finish(&r);
}

/* ---- host code on the path: the device is idle ------------------------------------------------
 *
 * prepare() computes from 200 to 900 between two synchronized kernels; 700 of host code in it.
 * A sample in prepare() at 600 stands for 352 around it: 424 to 776.
 */
static void host_code(struct written *w, bool sampled)
{
    uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "k", .function = "first", .enter = 0, .leave = 10, .start = 10, .end = 190});
    written_call(w, t, "clFinish", "first", 20, 200);
    written_wait(w, t, 20, 0, 0, q, 0);
    written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "k", .function = "second", .enter = 900, .leave = 910, .start = 912, .end = 1000});
    written_call(w, t, "clFinish", "second", 920, 1010);
    written_wait(w, t, 920, 0, 0, q, 0);
    if (sampled) {
        written_header(w)->cpu_rate_hz = 1000000000 / 352;
        written_sample(w, t, "prepare", 600, 352);
    }
}

static void test_host_code(void **state)
{
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        struct written *w = written_begin();
        host_code(w, sampled);
        struct result r = compute(w);
        assert_int_equal(part(&r, SONDE_PATH_HOST), 700);
        assert_int_equal(thing(&r, SONDE_PATH_HOST, "main")->ns, sampled ? 348 : 700);
        assert_int_equal(thing(&r, SONDE_PATH_HOST, "prepare")->ns, sampled ? 352 : 0);
        assert_int_equal(thing(&r, SONDE_PATH_HOST, "main")->saving_ns, sampled ? 174 : 350);
        finish(&r);
    }
}

/* Ten gaps of 90 between calls; five samples, each of which stands for 200, have three times found f and twice g:
 * 90 each around them, and the other five gaps in the same parts. */
static void test_pooled_host_code(void **state)
{
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0);
    (void)state;
    for (uint64_t i = 0; i <= 10; i++)
        written_call(w, t, "clFlush", "step", 100 * i, 100 * i + 10);
    written_header(w)->cpu_rate_hz = 1000000000 / 200;
    for (uint64_t i = 0; i < 5; i++)
        written_sample(w, t, i % 2 ? "g" : "f", 200 * i + 55, 200);
    struct result r = compute(w);
    assert_int_equal(part(&r, SONDE_PATH_HOST), 900);
    assert_int_equal(thing(&r, SONDE_PATH_HOST, "f")->ns, 540);
    assert_int_equal(thing(&r, SONDE_PATH_HOST, "g")->ns, 360);
    assert_int_equal(thing(&r, SONDE_PATH_HOST, "f")->count + thing(&r, SONDE_PATH_HOST, "g")->count, 10);
    assert_in_range(thing(&r, SONDE_PATH_HOST, "f")->saving_ns, 265, 270); /* each gap's half in whole nanoseconds */
    assert_in_range(thing(&r, SONDE_PATH_HOST, "g")->saving_ns, 175, 180);
    /* Wilson: 3/5 of 450 from 5 samples, and of 450 around them from 450/200. */
    assert_in_range((uint64_t)thing(&r, SONDE_PATH_HOST, "f")->error_ns, 212, 215);
    finish(&r);
}

/* ---- two threads -------------------------------------------------------------------------------
 *
 *   main    0 ---------------------------- 100[enqueue m]110 [finish 120 ------- 400]  then it ends at 450
 *   other          50 --- 60[enqueue o]70 [finish 80 --------------------------------------- 900]
 *   queues            o 70-880, m 110-390
 *
 * The last event is the other thread's: o, its call, its host code from 50 on, and before that main's.
 */
static void test_two_threads(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t main_thread = written_thread(w, 0, 0), other = written_thread(w, 50, 0);
    uint32_t one = written_queue(w, 1, 0), two = written_queue(w, 1, 0);
    written_op(w, &(struct written_op){.thread = main_thread, .queue = one, .kind = SONDE_OP_KERNEL, .name = "m", .enter = 100, .leave = 110, .start = 110, .end = 390});
    written_call(w, main_thread, "clFinish", "", 120, 400);
    written_wait(w, main_thread, 120, 0, 0, one, 0);
    written_op(w, &(struct written_op){.thread = other, .queue = two, .kind = SONDE_OP_KERNEL, .name = "o", .function = "work", .enter = 60, .leave = 70, .start = 70, .end = 880});
    written_call(w, other, "clFinish", "work", 80, 900);
    written_wait(w, other, 80, 0, 0, two, 0);
    struct result r = compute(w);
    assert_int_equal(r.path->end_ns - r.path->begin_ns, 900);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "o")->ns, 810);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "m")->count, 0);
    assert_int_equal(part(&r, SONDE_PATH_HOST), 60);
    assert_int_equal(part(&r, SONDE_PATH_API), 10 + 20);
    assert_int_equal(r.path->starts_inferred, 1);
    /* o twice as fast ends at 475, the thread at 495: main's 400 does not limit it. */
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "o")->saving_ns, 405);
    /* Nothing is inferred from o to the end; what main did before it made the thread lies behind that guess. */
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "o")->behind_ns, 0);
    assert_int_equal(thing(&r, SONDE_PATH_HOST, "main")->behind_ns, 50);
    finish(&r);
}

/* ---- a thread that sleeps until another has done its work -----------------------------------------
 *
 *   main    [enqueue a 0-10] asleep 20 ------------------------------------------ 800 [release 850-860]
 *   other        30 -- 40[enqueue b]50 [finish 60 ------ 700] 20 of host code, ends at 790
 *
 * Path: release, host 50, asleep 10 (790-800), the other thread's host code 90, its finish's end 10, b,
 * launch 5, call 10, host code from 30 to 40, main's until then: 10 asleep, 10 awake, the call.
 */
static void test_sleep_until_another_is_done(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t main_thread = written_thread(w, 0, 0), other = written_thread(w, 30, 790), q = written_queue(w, 1, 0);
    written_call(w, main_thread, "clCreateBuffer", "", 0, 10);
    written_sleep(w, main_thread, 20, 800);
    written_call(w, main_thread, "clReleaseMemObject", "", 850, 860);
    written_op(w, &(struct written_op){.thread = other, .queue = q, .kind = SONDE_OP_KERNEL, .name = "b", .function = "work", .enter = 40, .leave = 50, .start = 55, .end = 690});
    written_call(w, other, "clFinish", "work", 60, 700);
    written_wait(w, other, 60, 0, 0, q, 0);
    struct result r = compute(w);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "b")->ns, 635);
    assert_int_equal(part(&r, SONDE_PATH_LAUNCH), 5);
    assert_int_equal(part(&r, SONDE_PATH_API), 10 + 10 + 10 + 10);
    assert_int_equal(part(&r, SONDE_PATH_OFF), 10);
    assert_int_equal(part(&r, SONDE_PATH_HOST), 50 + 90 + 10 + 20);
    assert_int_equal(r.path->wakes_inferred, 1);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "b")->saving_ns, 317);
    /* That the other thread woke main is a guess: only the release comes after it for certain, with its host code. */
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "b")->behind_ns, 635);
    assert_int_equal(thing(&r, SONDE_PATH_API, "clReleaseMemObject")->behind_ns, 0);
    finish(&r);
}

/* There and back, as PyTorch's backward thread: the main thread hands work over and sleeps, the other sleeps before.
 *
 *   main    [call 0-10] 20 asleep ------------------------------------------------- 500 [call 520-530]
 *   other   5 asleep ---- 30 - 40[enqueue]50 [finish 60 ---- 410] 480 asleep ...
 *   queue                          55 ------------- 400
 */
static void test_there_and_back(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t main_thread = written_thread(w, 0, 0), other = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    written_call(w, main_thread, "clCreateBuffer", "", 0, 10);
    written_sleep(w, main_thread, 20, 500);
    written_call(w, main_thread, "clReleaseMemObject", "", 520, 530);
    written_sleep(w, other, 5, 30);
    written_op(w, &(struct written_op){.thread = other, .queue = q, .kind = SONDE_OP_KERNEL, .name = "b", .function = "work", .enter = 40, .leave = 50, .start = 55, .end = 400});
    written_call(w, other, "clFinish", "work", 60, 410);
    written_wait(w, other, 60, 0, 0, q, 0);
    written_sleep(w, other, 480, 1000);
    struct result r = compute(w);
    assert_int_equal(part(&r, SONDE_PATH_KERNEL), 345);
    assert_int_equal(part(&r, SONDE_PATH_LAUNCH), 5);
    assert_int_equal(part(&r, SONDE_PATH_API), 4 * 10);
    assert_int_equal(part(&r, SONDE_PATH_OFF), 20 + 10);
    assert_int_equal(part(&r, SONDE_PATH_HOST), 20 + 70 + 10 + 10);
    assert_int_equal(r.path->wakes_inferred, 2);
    assert_int_equal(r.path->starts_inferred, 0);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "b")->saving_ns, 172);
    finish(&r);
}

/* A sleep that nobody is known to have ended is on the path as such, and twice as fast code cannot shorten it. */
static void test_sleep(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0);
    written_call(w, t, "clCreateBuffer", "", 0, 10);
    written_sleep(w, t, 40, 500);
    written_call(w, t, "clReleaseMemObject", "", 600, 610);
    struct result r = compute(w);
    assert_int_equal(part(&r, SONDE_PATH_OFF), 460);
    assert_int_equal(part(&r, SONDE_PATH_HOST), 30 + 100);
    assert_int_equal(thing(&r, SONDE_PATH_HOST, "main")->saving_ns, 65);
    for (size_t i = 0; i < r.path->places.count; i++) { /* where it slept: what the calls around it share */
        const struct sonde_path_place *place = &r.path->places.items[i];
        if (place->category != SONDE_PATH_OFF && place->category != SONDE_PATH_HOST)
            continue;
        assert_string_equal(r.profile->nodes.items[place->node].name, "main");
        assert_int_equal(place->inferred_ns, place->ns);
    }
    finish(&r);
}

/* The program begins 300 before it is recorded, and is not recorded from 400 to 450; of a sleep in there nothing is said. */
static void test_start_and_pause(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0);
    written_header(w)->start_ns = WRITTEN_START + 300;
    written_call(w, t, "clCreateBuffer", "step", 310, 330);
    written_pause(w, 400, 450);
    written_sleep(w, t, 410, 440);
    written_call(w, t, "clReleaseMemObject", "step", 500, 510);
    struct result r = compute(w);
    assert_int_equal(r.path->end_ns - r.path->begin_ns, 510);
    assert_int_equal(part(&r, SONDE_PATH_START), 300);
    assert_int_equal(part(&r, SONDE_PATH_HOST), 10 + 70 + 50);
    assert_int_equal(part(&r, SONDE_PATH_PAUSED), 50);
    assert_int_equal(part(&r, SONDE_PATH_OFF), 0);
    assert_int_equal(part(&r, SONDE_PATH_API), 30);
    assert_int_equal(thing(&r, SONDE_PATH_START, "")->saving_ns, 150);
    assert_false(thing(&r, SONDE_PATH_PAUSED, "")->evaluated);
    for (size_t i = 0; i < r.path->places.count; i++)
        if (r.path->places.items[i].category == SONDE_PATH_START)
            assert_string_equal(r.profile->nodes.items[r.path->places.items[i].node].name, "main");
    finish(&r);
}

/* ---- events: a queue waits for what another had before the event was recorded ------------------------
 *
 * cuEventRecord on queue 1 after a (10-300), cuStreamWaitEvent on queue 2, then b (310-400) on queue 2.
 */
static void test_events(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0), one = written_queue(w, 1, 0), two = written_queue(w, 1, 0);
    written_op(w, &(struct written_op){.thread = t, .queue = one, .kind = SONDE_OP_KERNEL, .name = "a", .enter = 0, .leave = 8, .start = 10, .end = 300});
    uint64_t record = written_op(w, &(struct written_op){.thread = t, .queue = one, .kind = SONDE_OP_EVENT_RECORD, .api = "cuEventRecord", .enter = 20, .leave = 25, .start = 20, .end = 25});
    written_op(w, &(struct written_op){.thread = t, .queue = one, .kind = SONDE_OP_KERNEL, .name = "later", .enter = 26, .leave = 28, .start = 300, .end = 305});
    uint64_t wait = written_op(w, &(struct written_op){.thread = t, .queue = two, .kind = SONDE_OP_EVENT_WAIT, .api = "cuStreamWaitEvent", .enter = 30, .leave = 35, .start = 30, .end = 35});
    written_wait(w, t, 30, wait, record, 0, 0);
    written_op(w, &(struct written_op){.thread = t, .queue = two, .kind = SONDE_OP_KERNEL, .name = "b", .enter = 40, .leave = 45, .start = 310, .end = 400});
    struct result r = compute(w);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "b")->ns, 90);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "a")->ns, 290);
    assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "later")->count, 0);
    assert_int_equal(part(&r, SONDE_PATH_GAP), 10);
    assert_int_equal(r.path->lost, 0);
    finish(&r);
}

/* ---- a call that waits for a device, or for all of the process ------------------------------------------ */

static void test_device_wide(void **state)
{
    (void)state;
    for (uint32_t device = 0; device < 2; device++) {
        struct written *w = written_begin();
        uint32_t t = written_thread(w, 0, 0), one = written_queue(w, 1, 0), two = written_queue(w, 2, 0);
        written_op(w, &(struct written_op){.thread = t, .queue = one, .kind = SONDE_OP_KERNEL, .name = "a", .enter = 0, .leave = 8, .start = 10, .end = 300});
        written_op(w, &(struct written_op){.thread = t, .queue = two, .kind = SONDE_OP_KERNEL, .name = "b", .enter = 10, .leave = 18, .start = 20, .end = 350});
        written_call(w, t, "cuCtxSynchronize", "", 30, 360);
        written_wait(w, t, 30, 0, 0, 0, device);
        struct result r = compute(w);
        assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "a")->ns, device ? 290 : 0);
        assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "b")->ns, device ? 0 : 330);
        finish(&r);
    }
}

/* ---- clocks, damage, limits -------------------------------------------------------------------------------- */

/* A wait for what ended later than the call left, by more than the clocks' bound, is none. */
static void test_times_must_allow_it(void **state)
{
    (void)state;
    for (uint64_t bound = 0; bound <= 20; bound += 20) {
        struct written *w = written_begin();
        uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
        written_header(w)->clock_bound_ns = bound;
        uint64_t a = written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "a", .enter = 0, .leave = 8, .start = 10, .end = 310});
        written_call(w, t, "clWaitForEvents", "", 20, 300);
        written_wait(w, t, 20, 0, a, 0, 0);
        written_call(w, t, "clReleaseEvent", "", 320, 330);
        struct result r = compute(w);
        assert_int_equal(thing(&r, SONDE_PATH_KERNEL, "a")->ns, bound ? 290 : 0);
        assert_int_equal(thing(&r, SONDE_PATH_API, "clWaitForEvents")->ns, bound ? 0 : 280);
        finish(&r);
    }
}

static void test_missing_call(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    written_call(w, t, "clCreateBuffer", "", 0, 10);
    written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "a", .enter = 20, .leave = 28, .start = 30, .end = 310, .no_call = true});
    struct result r = compute(w);
    assert_int_equal(r.path->lost, 1);
    assert_int_equal(part(&r, SONDE_PATH_KERNEL), 280);
    finish(&r);
}

static void test_untimed_is_left_out(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "a", .enter = 20, .leave = 28, .start = 30, .end = 310});
    written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_MARKER, .enter = 40, .leave = 48, .flags = SONDE_OP_NO_TIMES});
    struct result r = compute(w);
    assert_int_equal(r.path->no_times, 1);
    assert_int_equal(r.path->end_ns - r.path->begin_ns, 310);
    finish(&r);
}

/* Chunks hold some thousand rows: of 40,000 only the last are looked at, and it is said. */
static void test_limit(void **state)
{
    (void)state;
    struct written *w = written_begin();
    uint32_t t = written_thread(w, 0, 0), q = written_queue(w, 1, 0);
    for (uint64_t i = 0; i < 20000; i++)
        written_op(w, &(struct written_op){.thread = t, .queue = q, .kind = SONDE_OP_KERNEL, .name = "a", .enter = 100 * i, .leave = 100 * i + 10, .start = 100 * i + 20, .end = 100 * i + 90});
    struct result r = compute_with(w, (struct sonde_critical_options){.max_rows = 20000, .evaluate = 3});
    check_sums(r.path);
    assert_true(r.path->limited);
    assert_true(r.path->begin_ns > WRITTEN_START);
    assert_true(r.path->operations + r.path->calls <= 20000 && r.path->operations > 1000);
    assert_int_equal(r.path->end_ns, WRITTEN_START + 100 * 19999 + 90);
    finish(&r);
}

/* A process without any row of a trace has no path. */
static void test_nothing(void **state)
{
    (void)state;
    struct written *w = written_begin();
    written_thread(w, 0, 0);
    struct sonde_profile *profile;
    struct sonde_measurement *m = written_open(w, &profile);
    struct sonde_critical critical = {0};
    assert_int_equal(sonde_critical_compute(m, profile, &(struct sonde_critical_options){0}, NULL, &critical), 0);
    assert_int_equal(critical.paths.count, 0);
    sonde_critical_fini(&critical);
    written_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back_to_back),
        cmocka_unit_test(test_launch_bound),
        cmocka_unit_test(test_nyx),
        cmocka_unit_test(test_nyx_without_waits),
        cmocka_unit_test(test_diamond),
        cmocka_unit_test(test_parallel_branch_limits),
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_out_of_order_without_barrier),
        cmocka_unit_test(test_host_code),
        cmocka_unit_test(test_pooled_host_code),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_sleep_until_another_is_done),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_start_and_pause),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_device_wide),
        cmocka_unit_test(test_times_must_allow_it),
        cmocka_unit_test(test_missing_call),
        cmocka_unit_test(test_untimed_is_left_out),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_nothing),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    folder_remove_all();
    return rc;
}
