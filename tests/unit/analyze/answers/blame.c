/* blame.c - idleness blame of measurements whose blame follows by hand. */
#include "analyze/answers/critical/critical.h"
#include "blame_result.h"

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
