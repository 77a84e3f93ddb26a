/* blame.c - idleness blame of measurements whose blame follows by hand, and of random ones
 * against the definition, applied to each nanosecond by itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/blame/blame.h"
#include "analyze/answers/critical/critical.h"
#include "scene.h"

static uint64_t seed = 1;
static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
}

/* ---- known answers ---------------------------------------------------------------------------- */

struct result {
    struct sonde_measurement *m;
    struct sonde_profile *profile;
    struct sonde_blame blame;
};

static struct result compute(struct sonde_measurement *m, uint32_t threads, uint64_t window_rows)
{
    struct result r = {.m = m};
    const struct sonde_blame_options options = {.threads = threads, .window_rows = window_rows};
    assert_int_equal(sonde_profile_build(m, &r.profile, NULL), 0);
    assert_int_equal(sonde_blame_compute(m, r.profile, &options, &r.blame), 0);
    return r;
}

static void finish(struct result *r)
{
    sonde_blame_fini(&r->blame);
    sonde_profile_destroy(r->profile);
    sonde_measurement_close(r->m);
}

/* Exclusive blame of all contexts with a name; waiting time, or (false) the rest. */
static double of(const struct result *r, const struct sonde_blame_scope *scope, const char *name, bool waiting)
{
    double sum = 0;
    for (size_t i = 0; i < scope->entries.count; i++) {
        const struct sonde_blame_entry *e = &scope->entries.items[i];
        if (e->node && !strcmp(r->profile->nodes.items[e->node].name, name))
            sum += waiting ? e->waiting_ns : e->working_ns;
    }
    return sum;
}

/* The same in which a thread was in it, whatever others did. */
static double whole_of(const struct result *r, const struct sonde_blame_scope *scope, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < scope->entries.count; i++)
        if (scope->entries.items[i].node && !strcmp(r->profile->nodes.items[scope->entries.items[i].node].name, name))
            sum += scope->entries.items[i].whole_ns;
    return sum;
}

static void equal(double a, double b)
{
    if (fabs(a - b) > 1e-6)
        fail_msg("%.9f is not %.9f", a, b);
}

static void calls_alone(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t step = scene_function(s, thread, scene_function(s, thread, 0, "main"), "step");
    const uint32_t finish_call = scene_api(s, thread, step, "clFinish"), enqueue = scene_api(s, thread, step, "clEnqueueNDRangeKernel");
    (void)state;
    scene_op(s, queue, scene_kernel(s, thread, enqueue, "k"), 200, 300, 1);
    scene_call(s, thread, finish_call, 100, 350, 0);
    scene_call(s, thread, enqueue, 400, 450, 1);
    struct result r = compute(scene_open(s), 1, 0);
    assert_int_equal(r.blame.scopes.count, 2);
    assert_int_equal(r.blame.rules[SONDE_BLAME_BY_CALLS], 1);
    for (int i = 0; i < 2; i++) { /* the sum of the processes is that of the only one */
        const struct sonde_blame_scope *all = &r.blame.scopes.items[i];
        equal(all->range_ns, 1000);
        equal(all->idle_ns, 900);
        assert_int_equal(all->intervals, 2);
        equal(all->longest_ns, 700);
        equal(all->nobody_ns, 100 + 550);
        equal(of(&r, all, "clFinish", true), 100 + 50);
        equal(of(&r, all, "clFinish", false), 0);
        equal(of(&r, all, "step", false), 50);
        equal(of(&r, all, "clEnqueueNDRangeKernel", false), 50);
        equal(all->waiting_ns, 150);
        equal(all->working_ns, 100);
        equal(all->source_ns[SONDE_BLAME_EXACT], 200);
        equal(all->source_ns[SONDE_BLAME_INFERRED], 50);
        equal(all->source_ns[SONDE_BLAME_UNCOVERED], 0);
    }
    struct sonde_blame_share *tree = sonde_blame_tree(r.profile, &r.blame.scopes.items[0]);
    for (size_t i = 0; i < r.profile->nodes.count; i++) {
        const struct sonde_cct_node *node = &r.profile->nodes.items[i];
        if (!strcmp(node->name, "main") || !strcmp(node->name, "step")) { /* at every depth */
            equal(tree[i].waiting_ns, 150);
            equal(tree[i].working_ns, 100);
        }
    }
    free(tree);
    finish(&r);
}

/* Calls from two lines of the function that a thread began with: it is what both stacks share. Another one
 * may have returned and been called again: then it is its caller. What comes before the first and after the
 * last call takes what all of them share. */
static void between_two_lines_of_a_function(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t two = scene_line(s, thread, 0, "main", 2), three = scene_line(s, thread, 0, "main", 3);
    const uint32_t below = scene_line(s, thread, three, "below", 7), again = scene_line(s, thread, three, "below", 8);
    (void)state;
    scene_header(s)->cpu_rate_hz = 1000000;
    scene_header(s)->cpu_switches = 1;
    struct sonde_row_lane *lane = synth_row(scene_build(s), SONDE_TABLE_LANE, thread);
    lane->start_ns = 50;
    scene_op(s, queue, 0, 900, 1000, 1);
    scene_call(s, thread, scene_api(s, thread, two, "clCreateBuffer"), 100, 200, 0);
    scene_call(s, thread, scene_api(s, thread, three, "clCreateKernel"), 300, 400, 0);
    scene_call(s, thread, scene_api(s, thread, below, "clFlush"), 550, 600, 0);
    scene_call(s, thread, scene_api(s, thread, again, "clFlush"), 700, 750, 0);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    double lines[4] = {0};
    for (size_t i = 0; i < all->entries.count; i++) {
        const struct sonde_cct_node *node = &r.profile->nodes.items[all->entries.items[i].node];
        if (!strcmp(node->name, "main"))
            lines[node->line] = all->entries.items[i].working_ns;
    }
    equal(lines[2], 100 + 50 + 150); /* after line 2; and the edges, at the first of its lines */
    equal(lines[3], 150 + 100);
    equal(of(&r, all, "below", false), 0);
    equal(all->source_ns[SONDE_BLAME_INFERRED], 550);
    equal(all->nobody_ns, 50);
    finish(&r);
}

/* Two calls on one line are two places of the code: the function may have been left in between, so that its caller is named. */
static void two_calls_on_one_line(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t top = scene_line(s, thread, 0, "main", 3), loop = scene_line(s, thread, top, "loop", 5);
    const uint32_t first = scene_line(s, thread, loop, "step", 7), second = scene_line(s, thread, loop, "step", 7);
    (void)state;
    assert_int_not_equal(first, second);
    scene_op(s, queue, 0, 900, 1000, 1);
    scene_call(s, thread, scene_api(s, thread, first, "clFlush"), 100, 200, 0);
    scene_call(s, thread, scene_api(s, thread, second, "clFinish"), 300, 400, 0);
    scene_call(s, thread, scene_api(s, thread, second, "clFinish"), 450, 500, 0);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    equal(of(&r, all, "loop", false), 100);
    equal(of(&r, all, "step", false), 50); /* one call, made twice */
    finish(&r);
}

/* The critical path has it from the same place: two calls on one line, on two lines, of a function that all began with. */
static void the_critical_path_says_the_same(void **state)
{
    static const struct {
        const char *name;
        double ns;
    } expected[] = {{"loop", 100 + 70}, {"step", 50}, {"main", 40}};
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), top = scene_line(s, thread, 0, "main", 3), other = scene_line(s, thread, 0, "main", 4);
    const uint32_t loop = scene_line(s, thread, top, "loop", 5);
    const uint32_t first = scene_line(s, thread, loop, "step", 7), second = scene_line(s, thread, loop, "step", 7);
    const uint32_t third = scene_line(s, thread, loop, "step", 8);
    const uint32_t calls[] = {scene_api(s, thread, first, "clFlush"), scene_api(s, thread, second, "clFlush"),
                              scene_api(s, thread, third, "clFlush"), scene_api(s, thread, other, "clFlush")};
    struct sonde_critical critical = {0};
    (void)state;
    scene_call(s, thread, calls[0], 100, 200, 0);
    scene_call(s, thread, calls[1], 300, 400, 0);
    scene_call(s, thread, calls[1], 450, 500, 0);
    scene_call(s, thread, calls[2], 570, 600, 0);
    scene_call(s, thread, calls[3], 640, 700, 0);
    struct result r = compute(scene_open(s), 1, 0);
    assert_int_equal(sonde_critical_compute(r.m, r.profile, &(struct sonde_critical_options){0}, NULL, &critical), 0);
    assert_int_equal(critical.paths.count, 1);
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        double sum = 0;
        for (size_t i = 0; i < critical.paths.items[0].things.count; i++) {
            const struct sonde_path_thing *thing = &critical.paths.items[0].things.items[i];
            sum += thing->category == SONDE_PATH_HOST && !strcmp(thing->name, expected[k].name) ? (double)thing->ns : 0;
        }
        equal(sum, expected[k].ns + (k == 2 ? 100 : 0)); /* and before the first call */
    }
    sonde_critical_fini(&critical);
    finish(&r);
}

/* A call that no name gives away waits when a WAIT row says so. */
static void a_blocking_copy_waits(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t read = scene_api(s, thread, scene_function(s, thread, 0, "main"), "clEnqueueReadBuffer");
    (void)state;
    scene_op(s, queue, 0, 200, 300, 1);
    scene_call(s, thread, read, 100, 200, 0);
    scene_call(s, thread, read, 300, 400, 0);
    scene_wait(s, thread, 300);
    struct sonde_row_wait of_an_operation = {.enter_ns = 100, .waiter = 7};
    synth_add(scene_build(s), SONDE_TABLE_WAIT, thread, &of_an_operation);
    struct result r = compute(scene_open(s), 1, 0);
    equal(of(&r, &r.blame.scopes.items[0], "clEnqueueReadBuffer", true), 100);
    equal(of(&r, &r.blame.scopes.items[0], "clEnqueueReadBuffer", false), 100);
    finish(&r);
}

static void each_of_k_threads_gets_a_kth(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu"));
    char name[] = "a";
    (void)state;
    scene_op(s, queue, 0, 900, 1000, 1);
    for (uint64_t i = 0; i < 3; i++, name[0]++) { /* [0, 300), [100, 400), [200, 500) */
        const uint32_t thread = scene_thread(s);
        scene_call(s, thread, scene_api(s, thread, 0, name), i * 100, 300 + i * 100, 0);
    }
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    equal(of(&r, all, "a", false), 100 + 50 + 100.0 / 3);
    equal(of(&r, all, "b", false), 50 + 100.0 / 3 + 50);
    equal(of(&r, all, "c", false), 100.0 / 3 + 50 + 100);
    for (name[0] = 'a'; name[0] < 'd'; name[0]++)
        equal(whole_of(&r, all, name), 300);
    equal(all->nobody_ns, 400);
    equal(all->idle_ns, 900);
    finish(&r);
}

static void devices_apart_and_together(void **state)
{
    struct scene *s = scene_create();
    const uint32_t one = scene_device(s, "one"), two = scene_device(s, "two"), thread = scene_thread(s);
    (void)state;
    scene_op(s, scene_queue(s, one), 0, 0, 300, 1);
    scene_op(s, scene_queue(s, one), 0, 200, 500, 2); /* a second stream of the same device */
    scene_op(s, scene_queue(s, two), 0, 400, 800, 3);
    scene_call(s, thread, scene_api(s, thread, 0, "early"), 0, 450, 0);
    scene_call(s, thread, scene_api(s, thread, 0, "late"), 450, 1000, 0);
    struct result r = compute(scene_open(s), 1, 0);
    assert_int_equal(r.blame.scopes.count, 4);
    const struct sonde_blame_scope *all = sonde_blame_find(&r.blame, 0, SONDE_BLAME_ALL),
                                   *first = sonde_blame_find(&r.blame, 0, one), *second = sonde_blame_find(&r.blame, 0, two);
    equal(all->idle_ns, 200);
    equal(of(&r, all, "late", false), 200);
    equal(first->idle_ns, 500);
    equal(of(&r, first, "early", false), 0);
    equal(of(&r, first, "late", false), 500);
    equal(second->idle_ns, 600);
    equal(of(&r, second, "early", false), 400);
    equal(of(&r, second, "late", false), 200);
    finish(&r);
}

static void samples_hold_half_the_way(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t step = scene_function(s, thread, 0, "step");
    (void)state;
    scene_header(s)->cpu_rate_hz = 10000000; /* every 100 ns */
    scene_op(s, queue, 0, 2000, 2100, 1);
    scene_header(s)->stop_ns = 2100;
    scene_call(s, thread, scene_api(s, thread, step, "clCreateBuffer"), 100, 200, 0);
    scene_sample(s, thread, scene_function(s, thread, step, "f"), 300, 100);
    scene_sample(s, thread, scene_function(s, thread, step, "g"), 500, 100);
    scene_call(s, thread, scene_api(s, thread, step, "clReleaseMemObject"), 900, 1000, 0);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    assert_int_equal(r.blame.rules[SONDE_BLAME_BY_SAMPLES], 1);
    equal(of(&r, all, "f", false), 400 - 250); /* to the call before half a period */
    equal(of(&r, all, "g", false), 550 - 400);
    equal(of(&r, all, "step", false), 50 + 50); /* until 600: then it is not active */
    equal(all->source_ns[SONDE_BLAME_SAMPLED], 300);
    equal(all->source_ns[SONDE_BLAME_INFERRED], 100);
    equal(all->nobody_ns, 100 + 300 + 1000);
    finish(&r);
}

static void sleeping_is_not_active(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s), helper = scene_thread(s);
    const uint32_t step = scene_function(s, thread, 0, "step");
    (void)state;
    scene_header(s)->cpu_rate_hz = 50000000; /* every 20 ns */
    scene_header(s)->cpu_switches = 1;
    scene_op(s, queue, 0, 900, 1000, 1);
    scene_call(s, thread, scene_api(s, thread, step, "clFinish"), 100, 200, 0);
    scene_switch(s, thread, 120, 180, 0);                          /* asleep in a call: it is that call's doing */
    scene_call(s, thread, scene_api(s, thread, step, "clFlush"), 250, 260, 0);
    scene_switch(s, thread, 300, 500, 0);                          /* sleeps */
    scene_switch(s, thread, 600, 650, SONDE_SWITCH_PREEMPTED);     /* would go on */
    scene_switch(s, thread, 700, 0, 0);                            /* ended */
    scene_switch(s, helper, 50, 700, 0);                           /* nothing is known of it but when it slept */
    scene_switch(s, helper, 800, 0, 0);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    assert_int_equal(r.blame.rules[SONDE_BLAME_BY_SWITCHES], 1);
    equal(of(&r, all, "clFinish", true), 100);
    equal(of(&r, all, "clFlush", false), 10);
    equal(of(&r, all, "step", false), 20 + 50 + 40 + 200); /* before and after the calls what both share */
    equal(all->source_ns[SONDE_BLAME_UNCOVERED], 20 + 100);
    equal(all->nobody_ns, 30 + 30 + 200 + 100);
    equal(all->idle_ns, 900);
    finish(&r);
}

/* Threads that share a lane one after the other: a switch that never came back ends where the next one shows up. */
static void the_next_thread_of_a_lane(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t call = scene_api(s, thread, scene_function(s, thread, 0, "work"), "clFlush");
    (void)state;
    scene_header(s)->cpu_rate_hz = 50000000; /* every 20 ns */
    scene_header(s)->cpu_switches = 1;
    scene_op(s, queue, 0, 900, 1000, 1);
    scene_call(s, thread, call, 100, 200, 0);
    scene_switch(s, thread, 200, 0, 0);
    scene_call(s, thread, call, 400, 500, 0);
    scene_switch(s, thread, 600, 0, 0);
    struct sonde_measurement *m = scene_open(s);
    for (uint64_t rows = 1; rows < 10; rows += 4) {
        const struct sonde_blame_options options = {.threads = 2, .window_rows = rows};
        struct result r = {.m = m};
        assert_int_equal(sonde_profile_build(m, &r.profile, NULL), 0);
        assert_int_equal(sonde_blame_compute(m, r.profile, &options, &r.blame), 0);
        const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
        equal(of(&r, all, "clFlush", false), 200);
        equal(of(&r, all, "work", false), 20 + 100);
        equal(all->nobody_ns, 80 + 200 + 300);
        sonde_blame_fini(&r.blame);
        sonde_profile_destroy(r.profile);
    }
    sonde_measurement_close(m);
}

/* A CPU device's thread of whose samples one tells another story, and a thread of the program that runs kernels
 * itself: in idle time of the device, no kernel ran. */
static void kernels_of_a_cpu_device(void **state)
{
    static const char spin[] = "/home/u/.cache/pocl/PB/FGHI/spin/64-1-1-goffs0/spin.so";
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "cpu")), worker = scene_thread(s), thread = scene_thread(s);
    const uint32_t call = scene_api(s, thread, scene_function(s, thread, 0, "step"), "clFlush");
    (void)state;
    scene_header(s)->cpu_rate_hz = 10000000; /* every 100 ns */
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 5000;
    scene_op(s, queue, 0, 4900, 5000, 1);
    scene_sample(s, worker, scene_native(s, worker, 0, "/usr/lib/libodd.so"), 200, 100);
    for (uint64_t at = 1000; at < 2000; at += 500)
        scene_sample(s, worker, scene_native(s, worker, 0, spin), at, 100);
    scene_switch(s, worker, 2000, 0, 0);
    const uint32_t nodes[] = {scene_function(s, thread, 0, "prepare"), scene_native(s, thread, 0, spin)};
    for (uint64_t at = 2500, i = 0; i <= 18; at += 110, i++) { /* a gap that prepares, one with a kernel, one without a sample */
        scene_call(s, thread, call, at, at + 10, 0);
        if (i < 18 && i % 3 < 2)
            scene_sample(s, thread, nodes[i % 3], at + 60, 100);
    }
    scene_switch(s, thread, 4490, 0, 0);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    double prepared = 0;
    for (size_t i = 0; i < all->entries.count; i++) {
        const struct sonde_cct_node *node = &r.profile->nodes.items[all->entries.items[i].node];
        assert_string_not_equal(node->module, spin);
        prepared += strcmp(node->name, "prepare") ? 0 : all->entries.items[i].working_ns;
    }
    equal(prepared, 600 + 600);
    equal(all->source_ns[SONDE_BLAME_POOLED], 600);
    finish(&r);
}

/* Operations lie on the host's axis; the device's own clock, however far off, must not matter. */
static void device_clocks_do_not_count(void **state)
{
    double blame[2];
    (void)state;
    for (int skewed = 0; skewed < 2; skewed++) {
        struct scene *s = scene_create();
        const uint32_t device = scene_device(s, "gpu"), queue = scene_queue(s, device), thread = scene_thread(s);
        struct sonde_row_clock clocks[2] = {
            {.device = device, .host_ns = 0, .device_ns = 0},
            {.device = device, .host_ns = 1000, .device_ns = 1000},
        };
        for (int i = 0; i < 2; i++) {
            clocks[i].device_ns = skewed ? 700000000000 + clocks[i].device_ns * 3 : clocks[i].device_ns;
            synth_add(scene_build(s), SONDE_TABLE_CLOCK, 0, &clocks[i]);
        }
        scene_op(s, queue, 0, 200, 300, 1);
        scene_call(s, thread, scene_api(s, thread, 0, "clFinish"), 100, 350, 0);
        struct result r = compute(scene_open(s), 1, 0);
        blame[skewed] = of(&r, &r.blame.scopes.items[0], "clFinish", true);
        finish(&r);
    }
    equal(blame[0], 150);
    equal(blame[1], 150);
}

static void what_has_no_times_is_not_busy(void **state)
{
    struct scene *s = scene_create();
    const uint32_t device = scene_device(s, "gpu"), queue = scene_queue(s, device), other = scene_queue(s, scene_device(s, "cpu"));
    struct sonde_row_op bad = {.start_ns = 1, .end_ns = 999, .enter_ns = 5, .flags = SONDE_OP_BAD_TIME, .kind = SONDE_OP_KERNEL};
    struct sonde_row_op wait = {.start_ns = 10, .end_ns = 990, .enter_ns = 5, .kind = SONDE_OP_EVENT_WAIT};
    (void)state;
    synth_add(scene_build(s), SONDE_TABLE_OP, queue, &wait);
    synth_add(scene_build(s), SONDE_TABLE_OP, queue, &bad);
    synth_add(scene_build(s), SONDE_TABLE_OP, other, &bad);
    scene_op(s, queue, 0, 200, 300, 1);
    struct result r = compute(scene_open(s), 1, 0);
    assert_int_equal(r.blame.untimed, 2);
    equal(r.blame.scopes.items[0].idle_ns, 900);
    equal(r.blame.scopes.items[0].nobody_ns, 900);
    assert_ptr_equal(sonde_blame_find(&r.blame, 0, 2), sonde_blame_find(&r.blame, 0, SONDE_BLAME_ALL)); /* no idle time is claimed */
    finish(&r);
}

static void pause_at(struct scene *s, uint64_t from_ns, uint64_t to_ns)
{
    const struct sonde_row_pause row = {.from_ns = from_ns, .to_ns = to_ns};
    synth_add(scene_build(s), SONDE_TABLE_PAUSE, 0, &row);
}

/* What came before the agent is idle time of its own; a pause is in no figure, and parts idle intervals. */
static void before_the_first_call_and_in_pauses(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    (void)state;
    scene_header(s)->exec_ns = 1000;
    scene_header(s)->start_ns = 1500;
    scene_header(s)->stop_ns = 3000;
    scene_header(s)->cpu.before_ns = 400;
    scene_op(s, queue, 0, 1700, 1800, 1);
    scene_op(s, queue, 0, 2050, 2150, 2); /* was under way when recording went off */
    scene_call(s, thread, scene_api(s, thread, 0, "clFinish"), 1600, 1900, 0);
    scene_call(s, thread, scene_api(s, thread, 0, "clFlush"), 2450, 2550, 0);
    pause_at(s, 2100, 2500);
    pause_at(s, 2900, 0);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    equal(all->range_ns, 1900 - 400);
    equal(all->paused_ns, 500);
    equal(all->before_ns, 500);
    equal(all->before_cpu_ns, 400);
    equal(all->idle_ns, 500 + 200 + 250 + 400);
    assert_int_equal(all->intervals, 3);
    equal(all->longest_ns, 700);
    equal(of(&r, all, "clFinish", true), 100 + 100);
    equal(of(&r, all, "clFlush", false), 50);
    equal(all->nobody_ns, 100 + 350); /* between the calls: nothing that both stacks share is active, but not known */
    equal(all->source_ns[SONDE_BLAME_UNCOVERED], 150);
    finish(&r);
}

/* Recording that was off from the start was not wanted before either. */
static void recorded_from_later_on(void **state)
{
    struct scene *s = scene_create();
    (void)state;
    scene_header(s)->exec_ns = 1000;
    scene_header(s)->start_ns = 1500;
    scene_header(s)->stop_ns = 3000;
    scene_header(s)->cpu.before_ns = 400;
    scene_op(s, scene_queue(s, scene_device(s, "gpu")), 0, 2200, 2300, 1);
    pause_at(s, 1500, 2000);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    equal(all->range_ns, 1000);
    equal(all->paused_ns, 1000);
    equal(all->before_ns, 0);
    equal(all->before_cpu_ns, 0);
    equal(all->idle_ns, 900);
    assert_int_equal(all->intervals, 2);
    equal(all->longest_ns, 700);
    finish(&r);
}

/* Rows of a damaged measurement: in no order, over each other, reversed, beyond the end, of nothing. */
static void odd_pauses(void **state)
{
    static const uint64_t rows[][2] = {{700, 800}, {500, 600}, {550, 580}, {590, 650}, {400, 300}, {0, 0}, {0, 90}, {5000, 6000}, {950, UINT64_MAX}};
    struct scene *s = scene_create();
    (void)state;
    scene_op(s, scene_queue(s, scene_device(s, "gpu")), 0, 100, 200, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        pause_at(s, rows[i][0], rows[i][1]);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    equal(all->paused_ns, 100 + 150 + 50);
    equal(all->range_ns, 1000 - 300);
    equal(all->idle_ns, 600);
    assert_int_equal(all->intervals, 4); /* to 100, 200 to 500, 650 to 700, 800 to 950 */
    equal(all->longest_ns, 300);
    finish(&r);
}

/* Twenty gaps between one call and the next, 100 ns each, of which a sample of each 250 finds five: three times in f,
 * twice in g. A sample holds its gap, and what it has no room for is spread over the fifteen others. */
static void short_gaps_are_pooled(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t step = scene_function(s, thread, 0, "step"), call = scene_api(s, thread, step, "clFlush");
    const uint32_t f = scene_function(s, thread, step, "f"), g = scene_function(s, thread, step, "g");
    (void)state;
    scene_header(s)->cpu_rate_hz = 4000000; /* every 250 ns */
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 3000;
    scene_op(s, queue, 0, 2900, 3000, 1);
    for (uint64_t i = 0; i <= 20; i++)
        scene_call(s, thread, call, i * 110, i * 110 + 10, 0);
    for (uint64_t i = 0; i < 5; i++) /* in the middle of gaps 1, 5, 9, ... */
        scene_sample(s, thread, i % 2 ? g : f, (4 * i + 1) * 110 + 60, 250);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    equal(of(&r, all, "f", false), 300 + 1500 * 3.0 / 5);
    equal(of(&r, all, "g", false), 200 + 1500 * 2.0 / 5);
    equal(all->source_ns[SONDE_BLAME_SAMPLED], 500);
    equal(all->source_ns[SONDE_BLAME_POOLED], 1500);
    equal(all->source_ns[SONDE_BLAME_INFERRED], 250); /* after the last call no sample was taken */
    struct sonde_blame_routine *routines;
    const long count = sonde_blame_routines(r.profile, all, &routines);
    bool found = false;
    for (long i = 0; i < count; i++) {
        if (strcmp(r.profile->nodes.items[routines[i].node].name, "f") != 0)
            continue;
        /* Wilson: a part of 3/5 from 5 samples, and around them from 500/250. */
        const double pooled = 1500 * sqrt(.24 / 5 + 1. / 100) / (1 + 1. / 5), near = 500 * sqrt(.24 / 2 + 1. / 16) / (1 + 1. / 2);
        equal(routines[i].error_ns, pooled + near);
        found = true;
    }
    assert_true(found);
    free(routines);
    finish(&r);
}

/* Each of five pairs of calls has one sample: they are pooled where their callers meet, and so are the pairs
 * there that have none. */
static void pairs_with_few_samples_are_pooled_together(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t top = scene_function(s, thread, 0, "top"), work = scene_function(s, thread, top, "work");
    char name[] = "a0";
    (void)state;
    scene_header(s)->cpu_rate_hz = 4000000;
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 2000;
    scene_op(s, queue, 0, 1900, 2000, 1);
    for (uint64_t i = 0; i < 9; i++, name[1]++) {
        scene_call(s, thread, scene_api(s, thread, top, name), 200 * i, 200 * i + 100, 0);
        if (i % 2 == 0 && i < 8)
            scene_sample(s, thread, work, 200 * i + 150, 250);
    }
    scene_sample(s, thread, top, 200 * 5 + 150, 250);
    struct result r = compute(scene_open(s), 1, 0);
    const struct sonde_blame_scope *all = &r.blame.scopes.items[0];
    equal(of(&r, all, "work", false), 400 + 300 * 4.0 / 5);
    equal(of(&r, all, "top", false), 100 + 300 * 1.0 / 5 + 200);
    equal(all->source_ns[SONDE_BLAME_POOLED], 300);
    equal(all->source_ns[SONDE_BLAME_INFERRED], 200);
    finish(&r);
}

static void nothing_to_blame(void **state)
{
    struct scene *s = scene_create();
    (void)state;
    struct result r = compute(scene_open(s), 1, 0);
    assert_false(r.blame.traced);
    assert_int_equal(r.blame.scopes.count, 0);
    finish(&r);
    s = scene_create();
    scene_call(s, scene_thread(s), 0, 1, 2, 0);
    r = compute(scene_open(s), 1, 0); /* a trace without operations */
    assert_true(r.blame.traced);
    assert_int_equal(r.blame.scopes.count, 1);
    equal(r.blame.scopes.items[0].idle_ns, 0);
    finish(&r);
}

/* ---- random programs against the definition ------------------------------------------------------ */

enum {
    THREADS = 5,
    DEVICES = 3,
    STOPS_MOST = 1200,
    END = 12000,
    MOST = 400,
    PERIOD = 80,
    DEPTH = 6,
    PATHS = 60,
};

struct event {
    uint64_t from, to;
    uint32_t path;
    bool flag; /* of a sample: taken as its thread ended */
    uint64_t cpu;
};
struct list {
    struct event items[STOPS_MOST];
    uint32_t count;
};

static struct program {
    enum sonde_blame_rule rule;
    bool sleepy;
    struct list ops[DEVICES], calls[THREADS], samples[THREADS], switches[THREADS], sleeps[THREADS], pauses;
    struct list parts[THREADS]; /* of sleeps: what lies outside of calls */
    struct list stops[THREADS]; /* calls and parts */
    struct {
        uint32_t node, parent;
        bool api, waits;
        char name[24];
    } paths[THREADS][PATHS + 1]; /* [0]: the root */
    uint64_t first[THREADS], last[THREADS]; /* rows */
} P;

/* Answers: by name (names are unique per thread and path), and the rest. */
static struct expected {
    double waiting[THREADS][PATHS + 1], working[THREADS][PATHS + 1], whole[THREADS][PATHS + 1];
    double source[SONDE_BLAME_SOURCES], nobody, idle;
} expected[DEVICES + 1];

static void make_paths(struct scene *s, uint32_t lane, int t)
{
    for (uint32_t i = 1; i <= PATHS; i++) {
        uint32_t parent;
        do
            parent = (uint32_t)noise(i); /* a parent that is no call */
        while (P.paths[t][parent].api);
        P.paths[t][i].parent = parent;
        P.paths[t][i].api = i > 3 && noise(2);
        P.paths[t][i].waits = P.paths[t][i].api && noise(3) == 0;
        const uint32_t node = P.paths[t][parent].node;
        if (P.paths[t][i].waits)
            snprintf(P.paths[t][i].name, sizeof P.paths[t][i].name, "clFinish");
        else
            snprintf(P.paths[t][i].name, sizeof P.paths[t][i].name, "f%d_%u", t, i);
        P.paths[t][i].node = P.paths[t][i].api ? scene_api(s, lane, node, P.paths[t][i].name)
                                               : scene_function(s, lane, node, P.paths[t][i].name);
    }
}

static uint32_t random_path(int t, bool api)
{
    uint32_t path;
    do
        path = 1 + (uint32_t)noise(PATHS);
    while (P.paths[t][path].api != api);
    return path;
}

/* All times are even, so that half ways are whole numbers; no two samples are at one time, nor one
 * at the end of a call: what is nearest is then the same for both. */
static void make_list(struct list *list, uint64_t from, uint64_t gap, uint64_t length)
{
    list->count = 0;
    for (uint64_t at = from; list->count < MOST - 1; list->count++) {
        struct event *e = &list->items[list->count];
        at += 4 * noise(noise(10) ? gap : 10 * gap) + (length ? 0 : 4);
        e->from = at;
        e->to = at += length ? 4 * noise(noise(10) ? length : 10 * length) : 0;
        if (at >= END)
            break;
    }
}

static const struct event *at_instant(const struct list *list, uint64_t t)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].from <= t && t < list->items[i].to)
            return &list->items[i];
    return NULL;
}

/* Nanosecond by nanosecond: a sleep is where no call is. */
static void find_parts(int t)
{
    struct list *parts = &P.parts[t], *stops = &P.stops[t];
    for (uint32_t i = 0; i < P.sleeps[t].count; i++) {
        bool on = false;
        for (uint64_t at = P.sleeps[t].items[i].from; at < P.sleeps[t].items[i].to; at++) {
            if (at_instant(&P.calls[t], at)) {
                on = false;
                continue;
            }
            if (!on)
                parts->items[parts->count++] = (struct event){.from = at, .path = P.sleeps[t].items[i].path};
            on = true;
            parts->items[parts->count - 1].to = at + 1;
        }
    }
    for (uint32_t c = 0, k = 0; c < P.calls[t].count || k < parts->count;) { /* of two at one time the call, which lasts no time, is first */
        const bool part = k < parts->count && (c == P.calls[t].count || parts->items[k].from < P.calls[t].items[c].from);
        assert_true(stops->count < STOPS_MOST && parts->count < STOPS_MOST);
        stops->items[stops->count++] = part ? parts->items[k++] : P.calls[t].items[c++];
    }
}

/* No call or sleep begins or ends, and no sample is taken, while a thread does not run. */
static void keep_possible(int t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < P.switches[t].count; i++) {
        const struct event away = P.switches[t].items[i];
        bool possible = true;
        for (uint32_t k = 0; k < P.calls[t].count; k++) {
            possible &= P.calls[t].items[k].from <= away.from || P.calls[t].items[k].from >= away.to;
            possible &= P.calls[t].items[k].to <= away.from || P.calls[t].items[k].to >= away.to;
        }
        for (uint32_t k = 0; k < P.sleeps[t].count; k++) {
            possible &= P.sleeps[t].items[k].from <= away.from || P.sleeps[t].items[k].from >= away.to;
            possible &= P.sleeps[t].items[k].to <= away.from || P.sleeps[t].items[k].to >= away.to;
        }
        for (uint32_t k = 0; k < P.samples[t].count; k++)
            possible &= P.samples[t].items[k].from <= away.from || P.samples[t].items[k].from >= away.to;
        if (possible)
            P.switches[t].items[kept++] = away;
    }
    P.switches[t].count = kept;
}

static void make_program(struct scene *s)
{
    uint32_t queues[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        queues[d] = scene_queue(s, scene_device(s, "gpu"));
        make_list(&P.ops[d], 0, 40, 30);
        P.ops[d].items[P.ops[d].count++] = (struct event){.from = END - 2, .to = END}; /* never none */
        for (uint32_t i = 0; i < P.ops[d].count; i++)
            scene_op(s, queues[d], 0, P.ops[d].items[i].from, P.ops[d].items[i].to, i);
    }
    for (int t = 0; t < THREADS; t++) {
        const uint32_t lane = scene_thread(s);
        const uint64_t begin = 4 * noise(END / 8);
        make_paths(s, lane, t);
        P.first[t] = UINT64_MAX, P.last[t] = 0;
        P.samples[t].count = P.switches[t].count = P.calls[t].count = P.sleeps[t].count = 0;
        P.parts[t].count = P.stops[t].count = 0;
        if (t != 1) /* one thread makes no calls */
            make_list(&P.calls[t], begin + 100, 50, 20);
        for (uint32_t i = 0; i < P.calls[t].count; i++) {
            struct event *e = &P.calls[t].items[i];
            e->path = random_path(t, true);
            e->flag = noise(5) == 0 && (!i || e[-1].from < e->from); /* which of two that begin at once waited nobody says */
            scene_call(s, lane, P.paths[t][e->path].node, e->from, e->to, 0);
            if (e->flag)
                scene_wait(s, lane, e->from);
        }
        if (P.sleepy && t) /* one thread never does; another one makes no calls */
            make_list(&P.sleeps[t], begin + 20, 150, 60);
        for (uint32_t i = 0; i < P.sleeps[t].count; i++) {
            struct event *e = &P.sleeps[t].items[i];
            do
                e->path = random_path(t, true);
            while (P.paths[t][e->path].waits);
            scene_sleep(s, lane, P.paths[t][e->path].node, e->from, e->to);
        }
        find_parts(t);
        if (P.rule != SONDE_BLAME_BY_CALLS)
            make_list(&P.samples[t], begin + 50, 60, 0);
        for (uint32_t i = 0; i < P.samples[t].count; i++) {
            struct event *e = &P.samples[t].items[i];
            e->path = random_path(t, noise(10) == 0);
            e->flag = noise(12) == 0;
            e->cpu = noise(2) ? 4 * noise(PERIOD / 2) : (noise(3) ? PERIOD : 4 * noise(2 * PERIOD));
            (e->flag ? scene_rest : scene_sample)(s, lane, P.paths[t][e->path].node, e->from, e->cpu);
        }
        if (P.rule == SONDE_BLAME_BY_SWITCHES)
            make_list(&P.switches[t], begin, 40, 40);
        keep_possible(t);
        for (uint32_t i = 0; i < P.switches[t].count; i++) {
            struct event *e = &P.switches[t].items[i];
            e->flag = noise(3) == 0;
            scene_switch(s, lane, e->from, e->to, e->flag ? SONDE_SWITCH_PREEMPTED : 0);
        }
        const struct list *all[] = {&P.calls[t], &P.samples[t], &P.switches[t], &P.sleeps[t]};
        for (int k = 0; k < 4; k++)
            for (uint32_t i = 0; i < all[k]->count; i++) {
                P.first[t] = all[k]->items[i].from < P.first[t] ? all[k]->items[i].from : P.first[t];
                P.last[t] = all[k]->items[i].to > P.last[t] ? all[k]->items[i].to : P.last[t];
            }
    }
}

static bool is_active(int t, uint64_t at)
{
    if (at_instant(&P.calls[t], at))
        return true;
    if (at_instant(&P.parts[t], at))
        return false;
    if (P.rule == SONDE_BLAME_BY_CALLS)
        return P.calls[t].count && P.calls[t].items[0].from <= at && at < P.calls[t].items[P.calls[t].count - 1].to;
    if (P.rule == SONDE_BLAME_BY_SAMPLES) {
        for (uint32_t i = 0; i < P.samples[t].count; i++)
            if (P.samples[t].items[i].from <= at + PERIOD && at < P.samples[t].items[i].from + PERIOD)
                return true;
        return false;
    }
    const struct event *away = at_instant(&P.switches[t], at);
    return at + PERIOD >= P.first[t] && at < P.last[t] + PERIOD && (!away || away->flag);
}

/* How long the thread ran between two instants. */
static double own_time(int t, uint64_t instant, double other)
{
    const double from = (double)instant < other ? (double)instant : other, to = (double)instant < other ? other : (double)instant;
    double ran = to - from;
    for (uint32_t i = 0; i < P.switches[t].count; i++) {
        const double out = (double)P.switches[t].items[i].from, in = (double)P.switches[t].items[i].to;
        const double begin = out > from ? out : from, end = in < to ? in : to;
        ran -= end > begin ? end - begin : 0;
    }
    return ran;
}

static uint32_t caller(int t, uint32_t path)
{
    return P.paths[t][path].api ? P.paths[t][path].parent : path;
}

static uint32_t shared(int t, uint32_t a, uint32_t b)
{
    while (a != b)
        if (a > b)
            a = P.paths[t][a].parent;
        else
            b = P.paths[t][b].parent;
    return a;
}

/* ---- pools, by the definition of docs/developers/sampling.md ---- */

enum { LEAST = 5 };
enum { EDGES = 3 };

/* What a gap lies between, as numbers of paths; a gap at an edge has EDGES + PATHS + 1 and so on as its second. */
struct gap {
    uint32_t before, after;
    const struct event *left, *right;
};
static struct pool {
    double part[THREADS][PATHS + 1];
    bool any;
} pools[2000];
static uint32_t pool_count;
static struct sampled {
    int t;
    uint32_t before, after, path;
    double open, stands;
    bool used, rest;
} sampled[THREADS * MOST];
static uint32_t sampled_count;
static struct known {
    int t;
    uint32_t before, after, pool;
} known[THREADS * MOST];
static uint32_t known_count;
static struct { uint32_t members[THREADS * MOST], count; } wider[THREADS][PATHS + 1]; /* residual samples; [0][0] is the root */
static uint32_t wide_pool[THREADS][PATHS + 1];

static struct gap gap_at(int t, double at)
{
    const struct list *calls = &P.stops[t];
    struct gap gap = {0, 0, NULL, NULL};
    for (uint32_t i = 0; i < calls->count; i++) {
        if ((double)calls->items[i].to <= at && (!gap.left || calls->items[i].to >= gap.left->to))
            gap.left = &calls->items[i]; /* a call that lasts no time may be in a sleep */
        gap.right = !gap.right && (double)calls->items[i].from > at ? &calls->items[i] : gap.right;
    }
    gap.before = gap.left && gap.right ? gap.left->path : 0;
    gap.after = gap.left && gap.right ? gap.right->path : PATHS + 1u + (gap.left != NULL) + 2u * (gap.right != NULL);
    return gap;
}

static bool is_edge(const struct gap *gap)
{
    return gap->after > PATHS;
}

/* The samples of the gap next to `at`, before it and after it. */
static void neighbours(int t, const struct gap *gap, double at, const struct event **earlier, const struct event **later)
{
    *earlier = *later = NULL;
    for (uint32_t i = 0; i < P.samples[t].count; i++) {
        const struct event *e = &P.samples[t].items[i];
        if ((gap->left && e->from < gap->left->to) || (gap->right && e->from > gap->right->from))
            continue;
        *earlier = (double)e->from < at ? e : *earlier;
        *later = !*later && (double)e->from > at ? e : *later;
    }
}

/* It stands for a period, and for what it came late. */
static double late(const struct event *sample)
{
    return sample->cpu > PERIOD ? (double)sample->cpu - PERIOD : 0;
}

static void gather_samples(void)
{
    sampled_count = 0;
    for (int t = 0; t < THREADS; t++)
        for (uint32_t i = 0; i < P.samples[t].count; i++) {
            const struct event *e = &P.samples[t].items[i], *earlier, *later;
            const struct gap gap = gap_at(t, (double)e->from);
            double open = 0;
            if (at_instant(&P.stops[t], e->from))
                continue;
            neighbours(t, &gap, (double)e->from, &earlier, &later);
            if (earlier ? earlier->flag : gap.left != NULL)
                open += fmax(0, PERIOD / 2 + late(e) - own_time(t, earlier ? earlier->from : gap.left->to, (double)e->from));
            if (later ? later->flag : gap.right != NULL)
                open += fmax(0, PERIOD / 2 - own_time(t, later ? later->from : gap.right->from, (double)e->from));
            sampled[sampled_count++] = (struct sampled){t, gap.before, gap.after, e->path, open,
                                                        e->flag ? (double)e->cpu : PERIOD + late(e), false, e->flag};
        }
}

/* Those that were not taken as a thread ended, which count only where there is nothing else. */
static uint32_t real(const uint32_t *members, uint32_t count)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += !sampled[members[i]].rest;
    return found;
}

static double weight(const struct sampled *s, bool by_open, bool rests)
{
    return s->rest != rests ? 0 : (by_open ? s->open : s->stands);
}

static uint32_t add_pool(const uint32_t *members, uint32_t count)
{
    struct pool *pool = &pools[++pool_count];
    const bool rests = !real(members, count);
    uint32_t open = 0;
    double sum = 0;
    memset(pool, 0, sizeof *pool);
    for (uint32_t i = 0; i < count; i++)
        open += !sampled[members[i]].rest && sampled[members[i]].open > 0;
    for (uint32_t i = 0; i < count; i++)
        sum += weight(&sampled[members[i]], open >= LEAST, rests);
    for (uint32_t i = 0; i < count; i++) {
        const struct sampled *s = &sampled[members[i]];
        pool->part[s->t][s->path] += sum > 0 ? weight(s, open >= LEAST, rests) / sum : 1.0 / count;
    }
    return pool_count;
}

/* Pairs with enough samples; the others' samples go to what their two callers share. */
static void pool_pairs(void)
{
    static uint32_t members[THREADS * MOST];
    known_count = 0;
    for (uint32_t i = 0; i < sampled_count; i++) {
        const struct sampled *s = &sampled[i];
        uint32_t count = 0;
        if (s->used)
            continue;
        for (uint32_t k = i; k < sampled_count; k++)
            if (sampled[k].t == s->t && sampled[k].before == s->before && sampled[k].after == s->after) {
                members[count++] = k;
                sampled[k].used = true;
            }
        if (real(members, count) >= LEAST || s->after > PATHS) {
            known[known_count++] = (struct known){s->t, s->before, s->after, add_pool(members, count)};
            continue;
        }
        const uint32_t at = shared(s->t, caller(s->t, s->before), caller(s->t, s->after));
        for (uint32_t k = 0; k < count; k++)
            wider[at ? s->t : 0][at].members[wider[at ? s->t : 0][at].count++] = members[k];
    }
}

static void make_pools(void)
{
    pool_count = 0;
    memset(wider, 0, sizeof wider);
    memset(wide_pool, 0, sizeof wide_pool);
    gather_samples();
    pool_pairs();
    for (int t = 0; t < THREADS; t++)
        for (uint32_t i = PATHS; i > 0; i--) {
            const uint32_t parent = P.paths[t][i].parent, to = parent ? (uint32_t)t : 0;
            if (real(wider[t][i].members, wider[t][i].count) >= LEAST)
                wide_pool[t][i] = add_pool(wider[t][i].members, wider[t][i].count);
            for (uint32_t k = 0; k < wider[t][i].count && !wide_pool[t][i]; k++)
                wider[to][parent].members[wider[to][parent].count++] = wider[t][i].members[k];
        }
    if (real(wider[0][0].members, wider[0][0].count) >= LEAST)
        wide_pool[0][0] = add_pool(wider[0][0].members, wider[0][0].count);
}

static uint32_t pool_of(int t, const struct gap *gap)
{
    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].t == t && known[i].before == gap->before && known[i].after == gap->after)
            return known[i].pool;
    if (is_edge(gap))
        return 0;
    uint32_t at = shared(t, caller(t, gap->before), caller(t, gap->after));
    while (at && !wide_pool[t][at])
        at = P.paths[t][at].parent;
    return wide_pool[at ? t : 0][at];
}

/* Context of a thread that is active just after `at`: the definition, word by word. 0, and a pool, where it is
 * divided among several. */
static uint32_t context(int t, uint64_t at, enum sonde_blame_source *source, bool *waiting, uint32_t *pool)
{
    const struct event *in = at_instant(&P.calls[t], at), *earlier, *later, *nearest = NULL;
    const double now = (double)at + 0.5;
    uint32_t path = 0;
    *waiting = false;
    *pool = 0;
    *source = SONDE_BLAME_EXACT;
    if (in) {
        *waiting = in->flag || P.paths[t][in->path].waits;
        return in->path;
    }
    const struct gap gap = gap_at(t, now);
    neighbours(t, &gap, now, &earlier, &later);
    earlier = earlier && !earlier->flag ? earlier : NULL;
    later = later && !later->flag ? later : NULL;
    const double since = earlier ? own_time(t, earlier->from, now) : INFINITY;
    const double until = later ? own_time(t, later->from, now) : INFINITY;
    const double reach = earlier && later ? 2 * PERIOD : PERIOD / 2, before = later ? late(later) : 0;
    if (until - before <= since && until - before < reach) /* of two that are equally far, for it did not run, the later one */
        nearest = later;
    else if (since < until - before && since < reach)
        nearest = earlier;
    *source = SONDE_BLAME_SAMPLED;
    if (nearest) {
        *waiting = P.paths[t][nearest->path].waits;
        return nearest->path;
    }
    *source = SONDE_BLAME_POOLED;
    if ((*pool = pool_of(t, &gap)))
        return 0;
    if (!is_edge(&gap)) {
        path = shared(t, caller(t, gap.before), caller(t, gap.after));
    } else {
        bool any = false;
        const struct list *const all[] = {&P.calls[t], &P.samples[t], &P.sleeps[t]};
        for (int k = 0; k < 3; k++)
            for (uint32_t i = 0; i < all[k]->count; i++) {
                const uint32_t one = caller(t, all[k]->items[i].path);
                path = any ? shared(t, path, one) : one;
                any = true;
            }
    }
    *source = path ? SONDE_BLAME_INFERRED : SONDE_BLAME_UNCOVERED;
    return path;
}

static void expect_pooled(int d, const struct pool *pool, double ns)
{
    expected[d].source[SONDE_BLAME_POOLED] += ns;
    for (int t = 0; t < THREADS; t++)
        for (uint32_t i = 1; i <= PATHS; i++) {
            (P.paths[t][i].waits ? expected[d].waiting : expected[d].working)[t][i] += ns * pool->part[t][i];
            expected[d].whole[t][i] += pool->part[t][i];
        }
}

/* While no thread is active: of those that sleep the one that calls next, whatever it calls; of several, the first. */
static uint32_t expect_sleeper(uint64_t at, int *thread)
{
    uint64_t next = UINT64_MAX;
    uint32_t path = 0;
    for (int t = 0; t < THREADS; t++) {
        const struct event *asleep = at_instant(&P.parts[t], at);
        uint64_t call = UINT64_MAX;
        for (uint32_t i = P.calls[t].count; i-- > 0 && asleep;)
            call = P.calls[t].items[i].from > at ? P.calls[t].items[i].from : call;
        if (call < next) {
            next = call;
            path = asleep->path;
            *thread = t;
        }
    }
    return path;
}

static void expect_instant(uint64_t at)
{
    bool busy[DEVICES + 1] = {false}, active[THREADS];
    int k = 0;
    if (at_instant(&P.pauses, at))
        return;
    for (int d = 0; d < DEVICES; d++)
        busy[0] |= busy[d + 1] = at_instant(&P.ops[d], at) != NULL;
    for (int t = 0; t < THREADS; t++)
        k += active[t] = is_active(t, at);
    int sleeper = 0;
    const uint32_t asleep = k ? 0 : expect_sleeper(at, &sleeper);
    for (int d = 0; d <= DEVICES; d++) {
        expected[d].idle += !busy[d];
        expected[d].nobody += !busy[d] && !k && !asleep;
        expected[d].working[sleeper][asleep] += !busy[d] && asleep;
        expected[d].whole[sleeper][asleep] += !busy[d] && asleep;
        expected[d].source[SONDE_BLAME_EXACT] += !busy[d] && asleep;
    }
    for (int t = 0; t < THREADS; t++) {
        enum sonde_blame_source source;
        uint32_t pool;
        bool waiting;
        if (!active[t])
            continue;
        const uint32_t path = context(t, at, &source, &waiting, &pool);
        for (int d = 0; d <= DEVICES; d++) {
            if (busy[d])
                continue;
            if (pool) {
                expect_pooled(d, &pools[pool], 1.0 / k);
                continue;
            }
            (waiting ? expected[d].waiting : expected[d].working)[t][path] += 1.0 / k;
            expected[d].whole[t][path] += 1;
            expected[d].source[source] += 1.0 / k;
        }
    }
}

/* Sums by name: paths of one name (all that wait have the same) count together. */
static void check_scope(const struct result *r, const struct sonde_blame_scope *scope, const struct expected *e)
{
    double waiting = 0, working = 0;
    equal(scope->idle_ns, e->idle);
    equal(scope->nobody_ns, e->nobody);
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        equal(scope->source_ns[i], e->source[i]);
    for (int t = 0; t < THREADS; t++)
        for (uint32_t i = 1; i <= PATHS; i++) {
            waiting += P.paths[t][i].waits ? e->waiting[t][i] : 0;
            working += P.paths[t][i].waits ? e->working[t][i] : 0;
            if (P.paths[t][i].waits)
                continue;
            equal(of(r, scope, P.paths[t][i].name, true), e->waiting[t][i]);
            equal(of(r, scope, P.paths[t][i].name, false), e->working[t][i]);
            equal(whole_of(r, scope, P.paths[t][i].name), e->whole[t][i]);
        }
    equal(of(r, scope, "clFinish", true), waiting);
    equal(of(r, scope, "clFinish", false), working);
}

static void check_same(const struct sonde_blame *a, const struct sonde_blame *b)
{
    assert_int_equal(a->scopes.count, b->scopes.count);
    for (size_t i = 0; i < a->scopes.count; i++) {
        const struct sonde_blame_scope *x = &a->scopes.items[i], *y = &b->scopes.items[i];
        assert_int_equal(x->intervals, y->intervals);
        assert_true(x->longest_ns == y->longest_ns && x->nobody_ns == y->nobody_ns);
        assert_int_equal(x->entries.count, y->entries.count);
        assert_memory_equal(x->entries.items, y->entries.items, x->entries.count * sizeof *x->entries.items);
    }
}

static void random_programs(void **state)
{
    (void)state;
    for (int round = 0; round < 36; round++) {
        struct scene *s = scene_create();
        memset(&P, 0, sizeof P);
        P.rule = (enum sonde_blame_rule)(round % SONDE_BLAME_RULES);
        P.sleepy = round >= 18;
        scene_header(s)->stop_ns = END;
        scene_header(s)->cpu_rate_hz = P.rule == SONDE_BLAME_BY_CALLS ? 0 : 1000000000 / PERIOD;
        scene_header(s)->cpu_switches = P.rule == SONDE_BLAME_BY_SWITCHES;
        make_program(s);
        if (round / SONDE_BLAME_RULES % 2)
            make_list(&P.pauses, 100, 150, 60);
        for (uint32_t i = 0; i < P.pauses.count; i++)
            pause_at(s, P.pauses.items[i].from, P.pauses.items[i].to);
        memset(expected, 0, sizeof expected);
        make_pools();
        for (uint64_t at = 0; at < END; at++)
            expect_instant(at);
        struct result r = compute(scene_open(s), 1, 0);
        assert_int_equal(r.blame.scopes.count, 2 + DEVICES);
        check_scope(&r, &r.blame.scopes.items[0], &expected[0]);
        check_scope(&r, &r.blame.scopes.items[1], &expected[0]);
        for (uint32_t d = 1; d <= DEVICES; d++)
            check_scope(&r, sonde_blame_find(&r.blame, 0, d), &expected[d]);
        static const struct {
            uint32_t threads;
            uint64_t rows;
        } cuts[] = {{1, 500}, {1, 20}, {3, 500}, {4, 50}, {7, 5}, {2, 1}};
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) { /* to the last bit */
            const struct sonde_blame_options options = {.threads = cuts[i].threads, .window_rows = cuts[i].rows};
            struct sonde_blame other = {0};
            assert_int_equal(sonde_blame_compute(r.m, r.profile, &options, &other), 0);
            check_same(&r.blame, &other);
            sonde_blame_fini(&other);
        }
        finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_alone),
        cmocka_unit_test(between_two_lines_of_a_function),
        cmocka_unit_test(two_calls_on_one_line),
        cmocka_unit_test(the_critical_path_says_the_same),
        cmocka_unit_test(a_blocking_copy_waits),
        cmocka_unit_test(each_of_k_threads_gets_a_kth),
        cmocka_unit_test(devices_apart_and_together),
        cmocka_unit_test(samples_hold_half_the_way),
        cmocka_unit_test(short_gaps_are_pooled),
        cmocka_unit_test(pairs_with_few_samples_are_pooled_together),
        cmocka_unit_test(sleeping_is_not_active),
        cmocka_unit_test(the_next_thread_of_a_lane),
        cmocka_unit_test(kernels_of_a_cpu_device),
        cmocka_unit_test(device_clocks_do_not_count),
        cmocka_unit_test(what_has_no_times_is_not_busy),
        cmocka_unit_test(before_the_first_call_and_in_pauses),
        cmocka_unit_test(recorded_from_later_on),
        cmocka_unit_test(odd_pauses),
        cmocka_unit_test(nothing_to_blame),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
