/* analyze.c - unit tests of src/analyze on measurements made by hand, in memory.
 *
 * The expected numbers are worked out in the comments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/memory/objects.h"
#include "analyze/answers/memory/work.h"
#include "analyze/model/totals.h"
#include "analyze/profile/profile.h"
#include "analyze/symbols/symbols.h"

/* ---- a process made by hand ---------------------------------------------------------- */

enum {
    STRINGS = 64,
    FRAMES = 16,
    ROWS = 16,
};

struct hand {
    struct sonde_process process;
    struct sonde_string strings[STRINGS];
    struct sonde_row_frame frames[FRAMES];
    struct sonde_row_module modules[4];
    struct sonde_row_pycode pycodes[4];
    struct sonde_row_profile profiles[ROWS];
    struct sonde_row_histogram histograms[ROWS * 8];
    struct sonde_row_symbol symbols[ROWS];
    struct sonde_row_object objects[ROWS];
    struct sonde_row_lane lanes[4];
    struct sonde_row_node nodes[2][16];
    struct sonde_node_block blocks[2];
};

static uint32_t string(struct hand *h, const char *text)
{
    h->strings[h->process.string_count] = (struct sonde_string){text, (uint32_t)strlen(text)};
    return h->process.string_count++;
}

static struct hand *hand_create(void)
{
    struct hand *h = calloc(1, sizeof *h);
    struct sonde_process *p = &h->process;
    p->name = "hand-1-0";
    p->strings = h->strings;
    p->frames = h->frames;
    p->modules = h->modules;
    p->pycodes = h->pycodes;
    p->profiles = h->profiles;
    p->histograms = h->histograms;
    p->symbols = h->symbols;
    p->objects = h->objects;
    p->lanes = h->lanes;
    p->node_blocks = h->blocks;
    p->frame_count = p->module_count = p->pycode_count = p->profile_count = p->histogram_count = 1;
    p->object_count = p->lane_count = 1;
    string(h, "");
    for (uint32_t i = 0; i < 2; i++)
        h->blocks[i] = (struct sonde_node_block){(i + 1) << SONDE_NODE_SHIFT, 0, i + 1, h->nodes[i]};
    p->node_block_count = 2;
    return h;
}

static uint32_t frame(struct hand *h, uint16_t kind, uint32_t module, uint64_t offset, uint16_t op, const char *name)
{
    h->frames[h->process.frame_count] = (struct sonde_row_frame){
        .kind = kind,
        .op = op,
        .module = module,
        .offset = offset,
        .name = *name ? string(h, name) : 0,
    };
    return h->process.frame_count++;
}

static void symbol(struct hand *h, uint32_t frame_id, uint32_t depth, const char *function, const char *file, uint32_t line,
                   const char *module)
{
    h->symbols[h->process.symbol_count++] = (struct sonde_row_symbol){
        frame_id, depth, string(h, function), string(h, file), line, string(h, module)};
}

static uint32_t node(struct hand *h, uint32_t slot, uint32_t parent, uint32_t frame_id)
{
    struct sonde_node_block *block = &h->blocks[slot - 1];
    h->nodes[slot - 1][block->count] = (struct sonde_row_node){parent, frame_id};
    return block->first + block->count++;
}

/* Durations into an accumulator, with textbook formulas over all values at once. */
static void account(struct hand *h, uint32_t node_id, uint32_t lane, const uint64_t *ns, uint32_t count, uint64_t bytes)
{
    struct sonde_row_profile *row = &h->profiles[h->process.profile_count++];
    *row = (struct sonde_row_profile){
        .node = node_id,
        .lane = lane,
        .count = count,
        .min_ns = UINT64_MAX,
        .timed = lane ? count : 0,
        .bytes = bytes,
    };
    for (uint32_t i = 0; i < count; i++) {
        row->sum_ns += ns[i];
        row->min_ns = ns[i] < row->min_ns ? ns[i] : row->min_ns;
        row->max_ns = ns[i] > row->max_ns ? ns[i] : row->max_ns;
        uint32_t octave = 0;
        while (ns[i] >> (octave + 1))
            octave++;
        if (!row->histogram[octave])
            row->histogram[octave] = h->process.histogram_count++;
        h->histograms[row->histogram[octave]].count[(ns[i] - (1ull << octave)) * 16 >> octave]++;
    }
    row->mean_ns = (double)row->sum_ns / count;
    for (uint32_t i = 0; i < count; i++)
        row->m2 += ((double)ns[i] - row->mean_ns) * ((double)ns[i] - row->mean_ns);
}

struct ids { uint32_t main, step, library, api, op; };

/* main() heat.c:140 > step() heat.c:81 > inlined inner() heat.h:9 > libOpenCL > call > kernel */
static struct ids heat_frames(struct hand *h)
{
    struct ids f;
    h->modules[h->process.module_count++] = (struct sonde_row_module){.path = string(h, "/home/u/heat")};
    h->modules[h->process.module_count++] = (struct sonde_row_module){.path = string(h, "/usr/lib/libOpenCL.so.1")};
    f.main = frame(h, SONDE_FRAME_NATIVE, 1, 0x100, 0, "");
    f.step = frame(h, SONDE_FRAME_NATIVE, 1, 0x200, 0, "");
    f.library = frame(h, SONDE_FRAME_NATIVE, 2, 0x50, 0, "");
    f.api = frame(h, SONDE_FRAME_API, 0, 1, 0, "clEnqueueNDRangeKernel");
    f.op = frame(h, SONDE_FRAME_OP, 0, 0, SONDE_OP_KERNEL, "stencil5");
    symbol(h, f.main, 0, "main", "/src/heat.c", 140, "/home/u/heat");
    symbol(h, f.step, 0, "inner", "/src/heat.h", 9, "/home/u/heat");
    symbol(h, f.step, 1, "step", "/src/heat.c", 81, "/home/u/heat");
    symbol(h, f.library, 0, "clEnqueueNDRangeKernel", "", 0, "/usr/lib/libOpenCL.so.1");
    return f;
}

static uint32_t heat_path(struct hand *h, uint32_t slot, const struct ids *f, uint32_t *api)
{
    uint32_t at = node(h, slot, 0, f->main);
    at = node(h, slot, at, f->step);
    at = node(h, slot, at, f->library);
    *api = node(h, slot, at, f->api);
    return node(h, slot, *api, f->op);
}

/* Two threads of one process and one thread of another run the same code. */
struct scene {
    struct hand *a, *b;
    struct sonde_process processes[2];
    struct sonde_measurement m;
};

static void scene_make(struct scene *s)
{
    static const uint64_t first[] = {10, 20, 30}, second[] = {40}, third[] = {100}, calls[] = {5, 7};
    uint32_t api, op;
    memset(s, 0, sizeof *s);
    s->a = hand_create();
    s->b = hand_create();
    struct ids f = heat_frames(s->a);
    op = heat_path(s->a, 1, &f, &api);
    account(s->a, op, 1, first, 3, 300);
    account(s->a, api, 0, calls, 2, 0);
    op = heat_path(s->a, 2, &f, &api);
    account(s->a, op, 1, second, 1, 100);
    string(s->b, "ids differ between processes");
    f = heat_frames(s->b);
    op = heat_path(s->b, 1, &f, &api);
    account(s->b, op, 2, third, 1, 1000);
    s->processes[0] = s->a->process;
    s->processes[1] = s->b->process;
    s->m = (struct sonde_measurement){.path = "hand.sonde", .processes = s->processes, .process_count = 2};
}

static void scene_free(struct scene *s)
{
    free(s->a);
    free(s->b);
}

/* ---- statistics ------------------------------------------------------------------------- */

static void test_stat_merge(void **state)
{
    struct scene s;
    struct sonde_stat stat = {0};
    struct sonde_arena arena = {0};
    double ns = 0;
    (void)state;
    scene_make(&s);
    assert_false(sonde_stat_percentile(&stat, .5, &ns));
    for (int p = 0; p < 2; p++)
        for (uint32_t i = 1; i < s.processes[p].profile_count; i++)
            if (s.processes[p].profiles[i].lane)
                assert_int_equal(sonde_stat_add_row(&stat, &arena, &s.processes[p], &s.processes[p].profiles[i]), 0);
    /* 10 20 30 40 100: mean 40; squared distances 900+400+100+0+3600 = 5000; / 5 = 1000 */
    assert_int_equal(stat.count, 5);
    assert_int_equal(stat.sum_ns, 200);
    assert_int_equal(stat.min_ns, 10);
    assert_int_equal(stat.max_ns, 100);
    assert_int_equal(stat.bytes, 1400);
    assert_float_equal(sonde_stat_mean(&stat), 40, 1e-9);
    assert_float_equal(sonde_stat_stddev(&stat), 31.622776601683793, 1e-9);
    /* Ranks: p50 is the 3rd, in [30, 31): 30.5. p95 the 5th, in [100, 104), at most the largest. p1 the 1st, [10, 10.5). */
    assert_true(sonde_stat_percentile(&stat, .50, &ns));
    assert_float_equal(ns, 30.5, 1e-9);
    assert_true(sonde_stat_percentile(&stat, .95, &ns));
    assert_float_equal(ns, 100, 1e-9);
    assert_true(sonde_stat_percentile(&stat, .01, &ns));
    assert_float_equal(ns, 10.25, 1e-9);
    sonde_arena_fini(&arena);
    scene_free(&s);
}

/* Percentiles of many values are within 5 % of the exact ones (nearest rank on the sorted values). */
static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void test_percentile_error(void **state)
{
    enum { MANY = 5000 };
    static uint64_t values[MANY];
    uint64_t seed = 42;
    struct hand *h = hand_create();
    struct sonde_stat stat = {0};
    struct sonde_arena arena = {0};
    (void)state;
    for (int i = 0; i < MANY; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = 100 + (seed >> 40) % 100000 * ((seed >> 33) % 50 + 1); /* 100 ns to 5 ms, skewed */
    }
    account(h, 1, 1, values, MANY, 0);
    assert_int_equal(sonde_stat_add_row(&stat, &arena, &h->process, &h->profiles[1]), 0);
    qsort(values, MANY, sizeof *values, by_value);
    for (int percent = 1; percent <= 99; percent++) {
        double ns, exact = (double)values[(percent * MANY + 99) / 100 - 1];
        assert_true(sonde_stat_percentile(&stat, percent / 100.0, &ns));
        assert_float_equal(ns / exact, 1, 0.05);
    }
    sonde_arena_fini(&arena);
    free(h);
}

/* ---- the merged tree ----------------------------------------------------------------------- */

static const struct sonde_cct_node *only_child(const struct sonde_profile *p, const struct sonde_cct_node *node)
{
    assert_int_not_equal(node->first_child, 0);
    const struct sonde_cct_node *child = &p->nodes.items[node->first_child];
    assert_int_equal(child->next_sibling, 0);
    return child;
}

static void test_merge(void **state)
{
    static const struct {
        const char *name;
        uint32_t line;
        uint64_t device_ns;
    } path[] = {
        {"main", 140, 0},
        {"step", 81, 0},
        {"inner", 9, 0},
        {"clEnqueueNDRangeKernel", 0, 0},
        {"clEnqueueNDRangeKernel", 0, 0},
        {"stencil5", 0, 200},
    };
    struct scene s;
    struct sonde_profile *p;
    (void)state;
    scene_make(&s);
    assert_int_equal(sonde_profile_build(&s.m, &p, NULL), 0);
    const struct sonde_cct_node *at = &p->nodes.items[0];
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        assert_int_equal(at->total.device_ns, 200);
        assert_int_equal(at->total.operations, 5);
        at = only_child(p, at);
        assert_string_equal(at->name, path[i].name);
        assert_int_equal(at->line, path[i].line);
        assert_int_equal(at->self.device_ns, path[i].device_ns);
    }
    assert_int_equal(p->nodes.items[0].total.api_calls, 2);
    assert_int_equal(p->nodes.items[0].total.api_ns, 12);
    assert_int_equal(p->operations[SONDE_OP_KERNEL], 5);
    assert_int_equal(p->ops.count, 1);
    assert_int_equal(p->ops.items[0].leaves.count, 1);
    assert_int_equal(p->apis.count, 1);
    assert_int_equal(p->apis.items[0].stat.max_ns, 7);
    assert_int_equal(p->unknown_nodes, 0);

    /* Who launched it: not libOpenCL; the inlined function first. */
    uint32_t nodes[4];
    assert_int_equal(sonde_profile_callers(p, p->ops.items[0].leaves.items[0], nodes, 4), 3);
    assert_string_equal(p->nodes.items[nodes[0]].name, "inner");
    assert_string_equal(p->nodes.items[nodes[1]].name, "step");
    assert_string_equal(p->nodes.items[nodes[2]].name, "main");
    sonde_profile_destroy(p);
    scene_free(&s);
}

/* Two collectives that one kernel carries out: its time is in the tree once, and in the statistics of each. */
static void test_collective(void **state)
{
    static const uint64_t times[] = {1000, 3000};
    struct hand *h = hand_create();
    struct ids f = heat_frames(h);
    struct sonde_profile *p;
    uint32_t api, kernel = heat_path(h, 1, &f, &api);
    (void)state;
    account(h, kernel, 1, times, 2, 0);
    account(h, node(h, 1, api, frame(h, SONDE_FRAME_OP, 0, 0, SONDE_OP_COLLECTIVE, "Send float32")), 2, times, 2, 64);
    account(h, node(h, 1, api, frame(h, SONDE_FRAME_OP, 0, 0, SONDE_OP_COLLECTIVE, "Recv float32")), 2, times, 2, 32);
    struct sonde_measurement m = {.path = "x", .processes = &h->process, .process_count = 1};
    assert_int_equal(sonde_profile_build(&m, &p, NULL), 0);
    assert_int_equal(p->nodes.items[0].total.device_ns, 4000);
    assert_int_equal(p->nodes.items[0].total.operations, 6);
    assert_int_equal(p->nodes.items[0].total.bytes, 96);
    assert_int_equal(p->operations[SONDE_OP_COLLECTIVE], 4);
    assert_int_equal(p->ops.count, 3);
    for (size_t i = 0; i < p->ops.count; i++)
        assert_int_equal(p->ops.items[i].stat.sum_ns, 4000);
    sonde_profile_destroy(p);
    free(h);
}

static void test_damaged_context(void **state)
{
    static const uint64_t times[] = {10};
    struct hand *h = hand_create();
    struct sonde_profile *p;
    (void)state;
    account(h, 99999, 1, times, 1, 0); /* its nodes were lost */
    struct sonde_measurement m = {.path = "x", .processes = &h->process, .process_count = 1};
    assert_int_equal(sonde_profile_build(&m, &p, NULL), 0);
    assert_int_equal(p->unknown_nodes, 1);
    assert_int_equal(p->nodes.items[0].total.operations, 1); /* counted nevertheless */
    assert_int_equal(p->ops.items[0].stat.count, 1);
    sonde_profile_destroy(p);

    /* A circle of parents ends. */
    uint32_t f = frame(h, SONDE_FRAME_UNKNOWN, 0, 0, 0, ""), first = h->blocks[0].first;
    node(h, 1, first + 1, f);
    node(h, 1, first, f);
    account(h, first, 1, times, 1, 0);
    assert_int_equal(sonde_profile_build(&m, &p, NULL), 0);
    assert_int_equal(p->nodes.items[0].total.operations, 2);
    sonde_profile_destroy(p);
    free(h);
}

static void test_python(void **state)
{
    static const uint64_t times[] = {10};
    struct hand *h = hand_create();
    struct sonde_profile *p;
    uint32_t nodes[4];
    (void)state;
    h->modules[h->process.module_count++] = (struct sonde_row_module){.path = string(h, "/usr/bin/python3.11")};
    h->pycodes[h->process.pycode_count++] = (struct sonde_row_pycode){
        .name = string(h, "Model.train"),
        .file = string(h, "/home/u/train.py"),
        .first_line = 12,
        .version = 0x030b,
    };
    h->pycodes[h->process.pycode_count++] = (struct sonde_row_pycode){
        .name = string(h, "Queue.finish"),
        .file = string(h, "/usr/lib/python3/dist-packages/pyopencl/__init__.py"),
        .first_line = 3,
        .version = 0x030b,
    };
    uint32_t at = node(h, 1, 0, frame(h, SONDE_FRAME_NATIVE, 1, 0x10, 0, ""));
    at = node(h, 1, at, frame(h, SONDE_FRAME_PYTHON, 1, 0, 0, ""));
    at = node(h, 1, at, frame(h, SONDE_FRAME_PYTHON, 2, 0, 0, ""));
    at = node(h, 1, at, frame(h, SONDE_FRAME_NATIVE, 1, 0x90, 0, ""));
    at = node(h, 1, at, frame(h, SONDE_FRAME_OP, 0, 0, SONDE_OP_READ, ""));
    account(h, at, 1, times, 1, 4096);
    struct sonde_measurement m = {.path = "x", .processes = &h->process, .process_count = 1};
    assert_int_equal(sonde_profile_build(&m, &p, NULL), 0);
    assert_int_equal(sonde_profile_callers(p, p->ops.items[0].leaves.items[0], nodes, 4), 1);
    assert_string_equal(p->nodes.items[nodes[0]].name, "Model.train");
    assert_int_equal(p->nodes.items[nodes[0]].line, 12);
    sonde_profile_destroy(p);
    free(h);
}

static void test_origin(void **state)
{
    static const struct {
        const char *module, *file;
        enum sonde_cct_origin origin;
    } cases[] = {
        {"/home/u/heat", "/home/u/heat.c", SONDE_ORIGIN_USER},
        {"/home/u/heat", "", SONDE_ORIGIN_USER},
        {"/usr/bin/clpeak", "", SONDE_ORIGIN_USER},
        {"/usr/lib/libclblast.so.1", "", SONDE_ORIGIN_LIBRARY},
        {"/usr/lib/x86_64-linux-gnu/libOpenCL.so.1", "", SONDE_ORIGIN_RUNTIME},
        {"/usr/lib/libpocl.so.2", "/src/pocl.c", SONDE_ORIGIN_RUNTIME},
        {"/home/u/a.out", "/usr/include/CL/opencl.hpp", SONDE_ORIGIN_LIBRARY},
        {"", "/home/u/train.py", SONDE_ORIGIN_USER},
        {"", "<frozen importlib._bootstrap>", SONDE_ORIGIN_LIBRARY},
        {"", "<pyopencl invoker for 'twice'>", SONDE_ORIGIN_LIBRARY},
        {"", "<stdin>", SONDE_ORIGIN_USER},
        {"", "/home/u/venv/lib/python3.11/site-packages/x.py", SONDE_ORIGIN_LIBRARY},
        {"", "/home/u/miniconda3/lib/python3.12/threading.py", SONDE_ORIGIN_LIBRARY},
        {"/home/u/miniconda3/lib/python3.12/lib-dynload/_ctypes.cpython-312-x86_64-linux-gnu.so", "callproc.c", SONDE_ORIGIN_RUNTIME},
        {"/usr/bin/python3.11", "", SONDE_ORIGIN_RUNTIME},
        {"/lib/x86_64-linux-gnu/libc.so.6", "", SONDE_ORIGIN_RUNTIME},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sonde_origin_of("step", cases[i].module, cases[i].file), cases[i].origin);
}

/* The CUDA runtime and the C library's start code linked into the program, and what nvcc generates. */
static void test_origin_linked(void **state)
{
    static const struct {
        const char *function, *file;
        enum sonde_cct_origin origin;
    } cases[] = {
        {"cudaMemcpy", "", SONDE_ORIGIN_RUNTIME},
        {"__cudaLaunchKernel", "", SONDE_ORIGIN_RUNTIME},
        {"libcudart_static_1a2b3c", "", SONDE_ORIGIN_RUNTIME},
        {"cudaMemcpy", "/home/u/heat.cu", SONDE_ORIGIN_USER},
        {"__device_stub__Z3addPiii(int*, int, int)", "/home/u/heat.cu", SONDE_ORIGIN_RUNTIME},
        {"cudalike", "", SONDE_ORIGIN_USER},
        {"", "", SONDE_ORIGIN_USER},
        {"main", "", SONDE_ORIGIN_USER},
        {"_start", "", SONDE_ORIGIN_RUNTIME},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sonde_origin_of(cases[i].function, "/home/u/heat", cases[i].file), cases[i].origin);
}

/* ---- totals, unions, objects -------------------------------------------------------------------- */

static void test_totals(void **state)
{
    struct sonde_process p[2];
    struct sonde_totals t = {0};
    struct sonde_row_lane lanes[3] = {{0}, {.kind = SONDE_LANE_KIND_THREAD, .threads = 3}, {.kind = SONDE_LANE_KIND_QUEUE}};
    (void)state;
    memset(p, 0, sizeof p);
    for (int i = 0; i < 2; i++) {
        struct sonde_live_header *h = &p[i].header;
        p[i].lanes = lanes;
        p[i].lane_count = 3;
        h->ledger = (struct sonde_ledger){.seen = 100, .done = 80, .unmatched = 1, .hook_ns = 10};
        h->ledger.dropped[SONDE_DROP_CHANNEL_FULL] = 7;
        h->ledger.dropped[SONDE_DROP_MAX_SIZE] = 30;
        h->start_ns = 1000;
        h->exec_ns = i ? 0 : 900;
        h->stop_ns = 2000;
        h->wall_offset_ns = i ? 5500 : 5000;
        h->state = i ? SONDE_PROCESS_RUNNING : SONDE_PROCESS_EXITED;
        h->clock_bound_ns = i ? 50 : 20;
        h->device_busy[1].count = 80;
        h->device_busy[1].busy_ns = 600;
    }
    struct sonde_measurement m = {.path = "x", .processes = p, .process_count = 2};
    assert_int_equal(sonde_totals_compute(&m, &t), 0);
    assert_int_equal(t.ledger.seen, 200);
    assert_int_equal(t.dropped_operations, 14);  /* 2 * 7: max_size loses trace rows only */
    assert_int_equal(t.dropped_trace_rows, 60);
    assert_int_equal(t.in_flight, 24);           /* 2 * (100 - 80 - 7 - 1) */
    assert_int_equal(t.threads, 6);
    assert_int_equal(t.wall_ns, 1600);           /* 5900 .. 7500 on the wall clock */
    assert_int_equal(t.process_wall_ns, 2100);   /* 1100 + 1000 */
    assert_int_equal(t.killed, 1);
    assert_int_equal(t.clock_bound_ns, 50);
    assert_true(t.clock_known);
    assert_int_equal(t.devices.count, 2);
    assert_int_equal(t.devices.items[0].wall_ns, 1100);
    sonde_totals_fini(&t);

    /* A bound of 0 is known only by pairs, of every device with times in every process. */
    struct sonde_row_clock pair[1] = {{.device = 1}};
    p[0].header.clock_bound_ns = p[1].header.clock_bound_ns = 0;
    p[0].clocks = p[1].clocks = pair;
    for (uint32_t pairs = 0; pairs < 4; pairs++) {
        p[0].clock_count = pairs & 1;
        p[1].clock_count = pairs >> 1;
        assert_int_equal(sonde_totals_compute(&m, &t), 0);
        assert_int_equal(t.clock_known, pairs == 3);
        sonde_totals_fini(&t);
    }
    p[1].header.device_busy[2].count = 1;
    assert_int_equal(sonde_totals_compute(&m, &t), 0);
    assert_false(t.clock_known);
    sonde_totals_fini(&t);
}

/* Against a plain array of marks. */
static void test_union(void **state)
{
    enum { LENGTH = 3000 };
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 200; round++) {
        static unsigned char covered[LENGTH];
        struct sonde_union u = {0};
        uint64_t gap, last_start = 0, expected = 0;
        memset(covered, 0, sizeof covered);
        for (int i = 0; i < 40; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t start = round % 2 ? last_start + (seed >> 33) % 60 : (seed >> 33) % (LENGTH - 100);
            uint64_t length = (seed >> 50) % 90;
            last_start = start;
            assert_int_equal(sonde_union_add(&u, start, start + length), 0);
            memset(covered + start, 1, length);
        }
        for (int i = 0; i < LENGTH; i++)
            expected += covered[i];
        assert_int_equal(sonde_union_finish(&u, &gap), expected);
        for (size_t i = 1; i < u.closed.count; i++)
            assert_true(u.closed.items[i].start > u.closed.items[i - 1].end);
        sonde_union_fini(&u);
    }
}

static void test_objects(void **state)
{
    struct hand *h = hand_create();
    struct sonde_profile *p;
    struct sonde_objects o = {0};
    (void)state;
    uint32_t at = node(h, 1, 0, frame(h, SONDE_FRAME_API, 0, 2, 0, "clCreateBuffer"));
    const struct sonde_row_object rows[] = {
        {.kind = SONDE_OBJECT_BUFFER, .node = at, .bytes = 100, .alloc_ns = 10, .free_ns = 30},
        {.kind = SONDE_OBJECT_BUFFER, .node = at, .bytes = 50, .alloc_ns = 20, .free_ns = 0},
        {.kind = SONDE_OBJECT_BUFFER, .node = at, .bytes = 100, .alloc_ns = 30, .free_ns = 40}, /* after the first's end */
        {.kind = SONDE_OBJECT_IMAGE, .node = 0, .bytes = 7, .alloc_ns = 50, .free_ns = 51},
    };
    for (size_t i = 0; i < 4; i++)
        h->objects[h->process.object_count++] = rows[i];
    struct sonde_measurement m = {.path = "x", .processes = &h->process, .process_count = 1};
    assert_int_equal(sonde_profile_build(&m, &p, NULL), 0);
    assert_int_equal(sonde_objects_compute(&m, p, &o), 0);
    assert_int_equal(o.count, 4);
    assert_int_equal(o.bytes, 257);
    assert_int_equal(o.peak_bytes, 150);
    assert_int_equal(o.sites.count, 2);
    assert_int_equal(o.sites.items[0].count, 3);
    assert_int_equal(o.sites.items[0].bytes, 250);
    assert_int_equal(o.sites.items[0].alive, 1);
    assert_int_equal(o.sites.items[0].life_ns, 30);
    assert_string_equal(p->nodes.items[o.sites.items[0].node].name, "clCreateBuffer");
    assert_int_equal(o.sites.items[1].node, 0);
    sonde_objects_fini(&o);
    sonde_profile_destroy(p);
    free(h);
}

static void test_demangle(void **state)
{
    (void)state;
    assert_null(sonde_demangle("main"));
    assert_null(sonde_demangle("i"));
    assert_null(sonde_demangle("_Znonsense!"));
    static const struct { const char *mangled, *readable; } rust[] = {
        /* as rustc's own backtraces print them */
        {"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
        {"_ZN4main4main17he714a2e23ed7db23E", "main::main"},
        {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
         "<Test + 'static as foo::Bar<Test>>::bar"},
        {"_ZN28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "{{closure}}"},
        /* Names of Rust's RFC 2603, and with hashes and suffixes as compilers write them. */
        {"_RNvC6_123foo3bar", "123foo::bar"},
        {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        {"_RNCNvC7mycrate3foos_0", "mycrate::foo::{closure#1}"},
        {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
        {"_RNvMNtC7mycrate3fooNtB2_3Foo3new", "<mycrate::foo::Foo>::new"},
        {"_RNvXs_C7mycrateNtB4_3FooNtB4_3Bar3baz", "<mycrate::Foo as mycrate::Bar>::baz"},
        {"_RINvC7mycrate3fooNvB2_3barE.llvm.12345", "mycrate::foo::<mycrate::bar>"},
    };
    for (size_t i = 0; i < sizeof rust / sizeof *rust; i++) {
        char *readable = sonde_demangle(rust[i].mangled);
        assert_non_null(readable);
        assert_string_equal(readable, rust[i].readable);
        free(readable);
    }
    assert_null(sonde_demangle("_RNvC7mycrate")); /* cut */
    assert_null(sonde_demangle("_Read"));
    char *name = sonde_demangle("_ZN6shapes7visibleERKSt6vectorIiSaIiEE");
    if (!name)
        skip(); /* no C++ runtime library on this machine */
    assert_string_equal(name, "shapes::visible(std::vector<int, std::allocator<int> > const&)");
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_merge),
        cmocka_unit_test(test_percentile_error),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_collective),
        cmocka_unit_test(test_damaged_context),
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_origin_linked),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_union),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_demangle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
