/* blame_range.c - idleness blame of ranges whose blame follows by hand, of several threads at once, and cut at a depth. */
#include "base/parallel.h"
#include "blame_result.h"

static struct sonde_blame in_range(const struct result *r, struct sonde_blame_basis *basis, uint64_t from, uint64_t to)
{
    const struct sonde_blame_options options = {.from_ns = from, .to_ns = to, .basis = basis, .threads = 2, .window_rows = 3};
    struct sonde_blame blame = {0};
    assert_int_equal(sonde_blame_compute(r->m, r->profile, &options, &blame), 0);
    return blame;
}

/* The program begins at 1000, which is 0 of the run, and its recording at 1500. */
static void a_part_of_the_start_up(void **state)
{
    static const struct {
        uint64_t from, to;
        double before, cpu, idle, longest, call, nobody;
    } cases[] = {
        {0, 200, 200, 0, 200, 200, 0, 0}, /* what was used of it in a part nobody knows */
        {100, 500, 400, 0, 400, 400, 0, 0},
        {0, 500, 500, 400, 500, 500, 0, 0},
        {200, 800, 300, 0, 500, 500, 100, 100}, /* an interval goes on from the start-up */
        {500, 850, 0, 0, 250, 200, 100 + 50, 100},
        {0, 650, 500, 400, 650, 650, 50, 100},
    };
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    (void)state;
    scene_header(s)->exec_ns = 1000;
    scene_header(s)->start_ns = 1500;
    scene_header(s)->stop_ns = 3000;
    scene_header(s)->cpu.before_ns = 400;
    scene_op(s, queue, 0, 1700, 1800, 1);
    scene_call(s, thread, scene_api(s, thread, 0, "clFinish"), 1600, 1900, 0);
    struct result r = compute(scene_open(s), 1, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result part = r;
        part.blame = in_range(&r, NULL, cases[i].from, cases[i].to);
        const struct sonde_blame_scope *all = &part.blame.scopes.items[1];
        equal(all->range_ns, (double)(cases[i].to - cases[i].from));
        equal(all->before_ns, cases[i].before);
        equal(all->before_cpu_ns, cases[i].cpu);
        equal(all->idle_ns, cases[i].idle);
        equal(all->longest_ns, cases[i].longest);
        equal(all->nobody_ns, cases[i].nobody);
        equal(of(&part, all, "clFinish", true), cases[i].call);
        sonde_blame_fini(&part.blame);
    }
    finish(&r);
}

/* It has none in the range, and is known to be idle, as others are known to be busy. What has no times is said of the run. */
static void a_device_without_operations_there(void **state)
{
    struct scene *s = scene_create();
    const uint32_t one = scene_device(s, "one"), two = scene_device(s, "two"), never = scene_device(s, "never");
    const uint32_t queue = scene_queue(s, one), other = scene_queue(s, two), thread = scene_thread(s);
    const struct sonde_row_op bad = {.start_ns = 1, .end_ns = 999, .enter_ns = 5, .flags = SONDE_OP_BAD_TIME, .kind = SONDE_OP_KERNEL};
    (void)state;
    scene_op(s, queue, 0, 100, 200, 1);
    scene_op(s, other, 0, 600, 800, 2);
    synth_add(scene_build(s), SONDE_TABLE_OP, scene_queue(s, never), &bad);
    scene_call(s, thread, scene_api(s, thread, 0, "clFlush"), 0, 1000, 0);
    struct result r = compute(scene_open(s), 1, 0);
    r.blame = (sonde_blame_fini(&r.blame), in_range(&r, NULL, 550, 700));
    assert_int_equal(r.blame.untimed, 1);
    equal(sonde_blame_find(&r.blame, 0, one)->idle_ns, 150);
    assert_int_equal(sonde_blame_find(&r.blame, 0, one)->intervals, 1);
    equal(sonde_blame_find(&r.blame, 0, two)->idle_ns, 50);
    equal(sonde_blame_find(&r.blame, 0, SONDE_BLAME_ALL)->idle_ns, 50);
    assert_ptr_equal(sonde_blame_find(&r.blame, 0, never), sonde_blame_find(&r.blame, 0, SONDE_BLAME_ALL)); /* no time is claimed */
    finish(&r);
}

/* The process did something after its header's last moment: a range to the end of the run has that, too. */
static void to_the_end(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    (void)state;
    scene_op(s, queue, 0, 100, 200, 1);
    scene_call(s, thread, scene_api(s, thread, 0, "clFlush"), 900, 1200, 0);
    struct result r = compute(scene_open(s), 1, 0);
    equal(r.blame.scopes.items[0].range_ns, 1200);
    for (uint64_t to = 999; to < 1002; to++) {
        struct sonde_blame part = in_range(&r, NULL, 950, to);
        equal(part.scopes.items[0].range_ns, to < 1000 ? 49 : 250);
        sonde_blame_fini(&part);
    }
    finish(&r);
}

static void cut_at_a_depth(void **state)
{
    static const struct {
        uint32_t depth;
        double main_ns, step_ns, call_ns;
    } cases[] = {{0, 0, 50, 200}, {1, 250, 0, 0}, {2, 0, 250, 0}, {3, 0, 50, 200}, {9, 0, 50, 200}};
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t step = scene_function(s, thread, scene_function(s, thread, 0, "main"), "step");
    (void)state;
    scene_op(s, queue, 0, 200, 300, 1);
    scene_call(s, thread, scene_api(s, thread, step, "clFinish"), 100, 350, 0);
    scene_call(s, thread, scene_api(s, thread, step, "clFlush"), 400, 450, 1);
    struct result r = compute(scene_open(s), 1, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct result cut = r;
        cut.blame = in_range(&r, NULL, 0, 0);
        assert_int_equal(sonde_blame_cut(&cut.blame, r.profile, cases[i].depth), 0);
        for (int k = 0; k < 2; k++) {
            const struct sonde_blame_scope *all = &cut.blame.scopes.items[k];
            equal(of(&cut, all, "main", true) + of(&cut, all, "main", false), cases[i].main_ns);
            equal(of(&cut, all, "step", true) + of(&cut, all, "step", false), cases[i].step_ns);
            equal(of(&cut, all, "clFinish", true) + of(&cut, all, "clFlush", false), cases[i].call_ns);
            equal(all->waiting_ns, 150);
            assert_true(all->entries.count <= 3);
        }
        sonde_blame_fini(&cut.blame);
    }
    finish(&r);
}

/* Samples of two functions called in one: cut there, nothing is left to chance, and its error is that of one that has all. */
static void errors_at_a_depth(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s);
    const uint32_t step = scene_function(s, thread, 0, "step"), f = scene_function(s, thread, step, "f"), g = scene_function(s, thread, step, "g");
    const uint32_t flush = scene_api(s, thread, step, "clFlush");
    struct sonde_blame_routine *list;
    double of_parts = 0;
    (void)state;
    scene_header(s)->cpu_rate_hz = 10000000; /* every 100 ns */
    scene_header(s)->cpu_switches = 1;
    scene_header(s)->stop_ns = 10100;
    scene_op(s, queue, 0, 10000, 10100, 1);
    for (uint64_t i = 0; i < 20; i++) {
        scene_call(s, thread, flush, 500 * i, 500 * i + 100, 0);
        scene_sample(s, thread, i % 2 ? f : g, 500 * i + 300, 100);
    }
    struct result r = compute(scene_open(s), 1, 0);
    for (uint32_t depth = 0; depth < 2; depth++) {
        assert_int_equal(sonde_blame_cut(&r.blame, r.profile, depth), 0);
        const long count = sonde_blame_routines(r.profile, &r.blame.scopes.items[0], &list);
        assert_int_equal(count, depth ? 1 : 3);
        for (long i = 0; i < count; i++) {
            const double error = list[i].error_ns;
            if (depth)
                assert_true(error > 0 && error < of_parts / 2);
            else if (strcmp(r.profile->nodes.items[list[i].node].name, "clFlush"))
                of_parts += error / 2;
        }
        free(list);
    }
    finish(&r);
}

/* ---- several at once ---- */

enum { ASKED = 24 };

struct asking {
    const struct result *r;
    struct sonde_blame_basis *basis;
    struct sonde_blame answers[ASKED];
};

static int ask(void *user, uint32_t i)
{
    struct asking *a = user;
    const struct sonde_blame_options options = {.from_ns = 10 * i, .to_ns = 200 + 30 * i, .basis = a->basis, .threads = 1 + i % 2};
    return sonde_blame_compute(a->r->m, a->r->profile, &options, &a->answers[i]);
}

static void many_with_one_basis(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s), step = scene_function(s, thread, 0, "step");
    (void)state;
    scene_header(s)->cpu_rate_hz = 50000000;
    scene_header(s)->cpu_switches = 1;
    for (uint64_t i = 0; i < 24; i++) {
        scene_op(s, queue, 0, 40 * i + 20, 40 * i + 30, i);
        scene_call(s, thread, scene_api(s, thread, step, i % 3 ? "clFlush" : "clFinish"), 40 * i, 40 * i + 10, i);
        scene_sample(s, thread, scene_function(s, thread, step, "f"), 40 * i + 15, 20);
    }
    struct result r = compute(scene_open(s), 1, 0);
    struct asking asking = {.r = &r, .basis = sonde_blame_basis_create(r.m, r.profile)};
    assert_int_equal(sonde_parallel_run(8, ASKED, ask, &asking), 0);
    for (uint32_t i = 0; i < ASKED; i++) {
        struct sonde_blame alone = in_range(&r, NULL, 10 * i, 200 + 30 * i);
        const struct sonde_blame_scope *x = &alone.scopes.items[0], *y = &asking.answers[i].scopes.items[0];
        assert_true(x->idle_ns > 0 && x->idle_ns == y->idle_ns && x->nobody_ns == y->nobody_ns);
        assert_int_equal(x->entries.count, y->entries.count);
        assert_memory_equal(x->entries.items, y->entries.items, x->entries.count * sizeof *x->entries.items);
        sonde_blame_fini(&alone);
        sonde_blame_fini(&asking.answers[i]);
    }
    sonde_blame_basis_destroy(asking.basis);
    finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_the_start_up),
        cmocka_unit_test(a_device_without_operations_there),
        cmocka_unit_test(to_the_end),
        cmocka_unit_test(cut_at_a_depth),
        cmocka_unit_test(errors_at_a_depth),
        cmocka_unit_test(many_with_one_basis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
