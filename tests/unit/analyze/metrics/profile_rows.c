/* profile_rows.c - unit tests of the views of a profile: known answers on a small recursive
 * program, and on random ones the definitions themselves, computed the slow way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/metrics/profile_rows.h"

static uint32_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* ---- a program made by hand ------------------------------------------------------------ */

enum {
    FUNCTIONS = 8,
    NODES = 1500,
    FIRST = 1 << SONDE_NODE_SHIFT,
};
enum {
    THREAD = 1,
    QUEUE = 2,
}; /* lanes */

struct made {
    struct sonde_process process;
    struct sonde_string strings[2 * FUNCTIONS + 8];
    struct sonde_row_frame frames[4 * FUNCTIONS + 8];
    struct sonde_row_module modules[2];
    struct sonde_row_symbol symbols[4 * FUNCTIONS];
    struct sonde_row_lane lanes[3];
    struct sonde_row_node nodes[NODES];
    struct sonde_row_profile profiles[2 * NODES + 1];
    struct sonde_node_block block;
    uint32_t function[2][FUNCTIONS], api, wait, op[FUNCTIONS]; /* frames; of functions, at two lines */
    struct sonde_measurement m;
};

static uint32_t string(struct made *h, const char *text)
{
    h->strings[h->process.string_count] = (struct sonde_string){text, (uint32_t)strlen(text)};
    return h->process.string_count++;
}

static uint32_t frame(struct made *h, uint16_t kind, uint16_t op, uint64_t offset, uint32_t name)
{
    h->frames[h->process.frame_count] = (struct sonde_row_frame){
        .kind = kind,
        .op = op,
        .module = kind == SONDE_FRAME_NATIVE,
        .offset = offset,
        .name = name,
    };
    return h->process.frame_count++;
}

static uint32_t node(struct made *h, uint32_t parent, uint32_t frame_id)
{
    h->nodes[h->block.count] = (struct sonde_row_node){parent, frame_id};
    return FIRST + h->block.count++;
}

static void account(struct made *h, uint32_t at, uint32_t lane, uint64_t count, uint64_t ns)
{
    h->profiles[h->process.profile_count++] = (struct sonde_row_profile){
        .node = at,
        .lane = lane,
        .count = count,
        .timed = lane == QUEUE ? count : 0,
        .sum_ns = ns,
        .min_ns = 1,
        .max_ns = ns,
        .mean_ns = (double)ns / (double)count,
        .bytes = lane == QUEUE ? 16 * count : 0,
        .submit_start_ns = lane == QUEUE ? 3 * count : 0,
    };
}

static struct made *made_create(void)
{
    static const char *const names[FUNCTIONS] = {"main", "f", "g", "h", "i", "j", "k", "l"};
    struct made *h = calloc(1, sizeof *h);
    struct sonde_process *p = &h->process;
    *p = (struct sonde_process){
        .name = "made-1-0",
        .strings = h->strings,
        .frames = h->frames,
        .modules = h->modules,
        .symbols = h->symbols,
        .lanes = h->lanes,
        .profiles = h->profiles,
        .node_blocks = &h->block,
        .node_block_count = 1,
        .frame_count = 1,
        .module_count = 2,
        .profile_count = 1,
        .lane_count = 3,
    };
    string(h, "");
    h->modules[1].path = string(h, "/home/u/made");
    h->lanes[THREAD].kind = SONDE_LANE_KIND_THREAD;
    h->lanes[QUEUE].kind = SONDE_LANE_KIND_QUEUE;
    h->block = (struct sonde_node_block){FIRST, 0, 1, h->nodes};
    uint32_t file = string(h, "/home/u/made.c");
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        uint32_t name = string(h, names[i]);
        for (uint32_t line = 0; line < 2; line++) {
            h->function[line][i] = frame(h, SONDE_FRAME_NATIVE, 0, 0x100 * i + line, 0);
            h->symbols[p->symbol_count++] = (struct sonde_row_symbol){
                .frame = h->function[line][i],
                .function = name,
                .file = file,
                .line = 10 * i + 1 + line,
                .module = h->modules[1].path,
            };
        }
    }
    h->api = frame(h, SONDE_FRAME_API, 0, 1, string(h, "clEnqueueNDRangeKernel"));
    h->wait = frame(h, SONDE_FRAME_API, 0, 2, string(h, "clFinish"));
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        h->op[i] = frame(h, SONDE_FRAME_OP, SONDE_OP_KERNEL, 0, string(h, names[i]));
    return h;
}

static struct sonde_profile *build(struct made *h)
{
    struct sonde_profile *profile = NULL;
    h->m = (struct sonde_measurement){.path = "made.sonde", .processes = &h->process, .process_count = 1};
    assert_int_equal(sonde_profile_build(&h->m, &profile, NULL), 0);
    return profile;
}

static struct sonde_profile_rows *view_of(const struct sonde_profile *profile, const struct sonde_profile_rows_config *wanted)
{
    static const struct sonde_columns columns;
    struct sonde_profile_rows_config config = *wanted;
    struct sonde_profile_rows *view = NULL;
    if (!config.columns)
        config.columns = &columns;
    assert_int_equal(sonde_profile_rows_build(profile, &config, &view, NULL), 0);
    return view;
}

/* Row of `name` below `parent`; 0 none. */
static size_t row_of(const struct sonde_profile_rows *v, uint32_t parent, const char *name, uint8_t kind)
{
    for (size_t i = 1; i < v->rows.count; i++)
        if (v->rows.items[i].parent == parent && v->rows.items[i].frame.kind == kind &&
            strcmp(v->rows.items[i].frame.name, name) == 0)
            return i;
    return 0;
}

static void check(const struct sonde_profile_rows *v, size_t row, uint32_t column, double inclusive, double exclusive)
{
    struct sonde_value a = sonde_profile_rows_get(v, row, column, SONDE_INCLUSIVE);
    struct sonde_value b = sonde_profile_rows_get(v, row, column, SONDE_EXCLUSIVE);
    assert_int_equal(a.validity, SONDE_KNOWN);
    assert_int_equal(b.validity, SONDE_KNOWN);
    assert_float_equal(a.value, inclusive, 1e-9);
    assert_float_equal(b.value, exclusive, 1e-9);
}

/* main 1 ┬ f 2 ┬ f 4 ── g 8 ┬ f 16
 *        │     │            └ clEnqueueNDRangeKernel (50 in the call) ── kernel f, 3 in 300
 *        │     └ clFinish (70)
 *        └ g 32
 * The numbers at functions are CPU time of as many samples. */
static struct made *recursive(void)
{
    struct made *h = made_create();
    uint32_t top = node(h, 0, h->function[0][0]), f1 = node(h, top, h->function[0][1]);
    uint32_t f2 = node(h, f1, h->function[0][1]), g1 = node(h, f2, h->function[0][2]);
    uint32_t f3 = node(h, g1, h->function[1][1]), g2 = node(h, top, h->function[0][2]);
    uint32_t api = node(h, g1, h->api);
    const struct {
        uint32_t at;
        uint64_t n;
    } samples[] = {{top, 1}, {f1, 2}, {f2, 4}, {g1, 8}, {f3, 16}, {g2, 32}};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        account(h, samples[i].at, THREAD, samples[i].n, samples[i].n);
    account(h, api, 0, 3, 50);
    account(h, node(h, f1, h->wait), 0, 1, 70);
    account(h, node(h, api, h->op[1]), QUEUE, 3, 300);
    return h;
}

static void test_samples_are_no_operations(void **state)
{
    struct made *h = recursive();
    struct sonde_profile *p = build(h);
    const struct sonde_metrics *all = &p->nodes.items[0].total;
    (void)state;
    assert_true(p->sampled);
    assert_int_equal(all->operations, 3);
    assert_int_equal(all->api_calls, 4);
    assert_int_equal(all->api_ns, 120);
    assert_int_equal(all->sync_ns, 70);
    assert_int_equal(all->cpu_ns, 63);
    assert_int_equal(all->samples, 63);
    assert_int_equal(p->ops.count, 1);
    assert_int_equal(p->apis.count, 2);
    assert_int_equal(p->unknown_nodes, 0);
    sonde_profile_destroy(p);
    free(h);
}

static void test_flat(void **state)
{
    struct made *h = recursive();
    struct sonde_profile *p = build(h);
    struct sonde_profile_rows *v = view_of(p, &(struct sonde_profile_rows_config){.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_FUNCTION});
    (void)state;
    check(v, 0, SONDE_METRIC_CPU, 63, 0);
    check(v, row_of(v, 0, "main", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 63, 1);
    /* f: below the outermost f 2 + 4 + 8 + 16; its own 2 + 4 + 16. g: below g1 8 + 16, and g2 32; f3 is no g. */
    check(v, row_of(v, 0, "f", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 30, 22);
    check(v, row_of(v, 0, "g", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 56, 40);
    check(v, row_of(v, 0, "f", SONDE_FRAME_NATIVE), SONDE_METRIC_GPU, 300, 0);
    check(v, row_of(v, 0, "f", SONDE_FRAME_OP), SONDE_METRIC_GPU, 300, 300); /* a kernel is a routine of its own */
    check(v, row_of(v, 0, "f", SONDE_FRAME_NATIVE), SONDE_METRIC_SYNC, 70, 0);
    check(v, row_of(v, 0, "clEnqueueNDRangeKernel", SONDE_FRAME_API), SONDE_METRIC_API, 50, 50);
    sonde_profile_rows_destroy(v);

    v = view_of(p, &(struct sonde_profile_rows_config){.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_LINE});
    size_t lines = 0;
    for (size_t i = 1; i < v->rows.count; i++)
        lines += strcmp(v->rows.items[i].frame.name, "f") == 0 && v->rows.items[i].frame.kind == SONDE_FRAME_NATIVE;
    assert_int_equal(lines, 2); /* made.c:11 and :12 */
    sonde_profile_rows_destroy(v);

    v = view_of(p, &(struct sonde_profile_rows_config){.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_MODULE});
    check(v, row_of(v, 0, "", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 63, 63);
    check(v, row_of(v, 0, "", SONDE_FRAME_API), SONDE_METRIC_API, 120, 120);
    check(v, row_of(v, 0, "", SONDE_FRAME_OP), SONDE_METRIC_OPS, 3, 3);
    sonde_profile_rows_destroy(v);

    v = view_of(p, &(struct sonde_profile_rows_config){.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_KERNEL});
    assert_int_equal(v->rows.count, 3); /* all, the kernel, no operation */
    check(v, row_of(v, 0, "f", SONDE_FRAME_OP), SONDE_METRIC_GPU, 300, 300);
    check(v, row_of(v, 0, "", 0), SONDE_METRIC_CPU, 63, 63);
    check(v, row_of(v, 0, "", 0), SONDE_METRIC_GPU, 0, 0);
    sonde_profile_rows_destroy(v);
    sonde_profile_destroy(p);
    free(h);
}

static void test_bottom_up(void **state)
{
    struct made *h = recursive();
    struct sonde_profile *p = build(h);
    struct sonde_profile_rows *v = view_of(p, &(struct sonde_profile_rows_config){.shape = SONDE_PROFILE_BOTTOM_UP,
                                                                                  .by = SONDE_BY_FUNCTION,
                                                                                  .sort = SONDE_METRIC_CPU,
                                                                                  .sort_side = SONDE_EXCLUSIVE});
    (void)state;
    uint32_t g = (uint32_t)row_of(v, 0, "g", SONDE_FRAME_NATIVE), f = (uint32_t)row_of(v, 0, "f", SONDE_FRAME_NATIVE);
    check(v, g, SONDE_METRIC_CPU, 56, 40);
    check(v, row_of(v, g, "f", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 24, 8);
    check(v, row_of(v, g, "main", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 32, 32);
    check(v, f, SONDE_METRIC_CPU, 30, 22);
    /* f called by f: f2 alone; called by g: f3; called by main: f1, with all that is below. */
    check(v, row_of(v, f, "f", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 28, 4);
    check(v, row_of(v, f, "g", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 16, 16);
    check(v, row_of(v, f, "main", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 30, 2);
    assert_int_equal(g, 1); /* the largest exclusive figure comes first */
    sonde_profile_rows_destroy(v);
    sonde_profile_destroy(p);
    free(h);
}

static void test_root(void **state)
{
    struct made *h = recursive();
    struct sonde_profile *p = build(h);
    struct sonde_profile_rows_config config = {.shape = SONDE_PROFILE_TOP_DOWN, .by = SONDE_BY_LINE};
    static const struct sonde_columns columns;
    uint32_t *nodes;
    (void)state;
    config.columns = &columns;
    /* The outermost of f; both of g, one of which is below f. */
    assert_int_equal(sonde_profile_rows_find(p, &config, "f", &nodes), 1); /* the kernel of that name is below it */
    free(nodes);
    assert_int_equal(sonde_profile_rows_find(p, &config, "made.c:11", &nodes), 1);
    config.root = nodes[0];
    free(nodes);
    assert_int_equal(sonde_profile_rows_find(p, &config, "g", &nodes), 2);
    free(nodes);
    assert_int_equal(sonde_profile_rows_find(p, &config, "/home/u/made.c:21", &nodes), 2);
    free(nodes);
    assert_int_equal(sonde_profile_rows_find(p, &config, "#3", &nodes), 1);
    assert_int_equal(nodes[0], 3);
    free(nodes);
    assert_int_equal(sonde_profile_rows_find(p, &config, "99", &nodes), 0);
    free(nodes);
    assert_int_equal(sonde_profile_rows_find(p, &config, "nothing", &nodes), 0);
    free(nodes);

    struct sonde_profile_rows *v = view_of(p, &config);
    check(v, 0, SONDE_METRIC_CPU, 30, 2);
    assert_string_equal(v->rows.items[0].frame.name, "f");
    check(v, row_of(v, 0, "f", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 28, 4);
    sonde_profile_rows_destroy(v);
    config.shape = SONDE_PROFILE_FLAT;
    config.by = SONDE_BY_FUNCTION;
    v = view_of(p, &config);
    assert_int_equal(row_of(v, 0, "main", SONDE_FRAME_NATIVE), 0);
    check(v, row_of(v, 0, "f", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 30, 22);
    check(v, row_of(v, 0, "g", SONDE_FRAME_NATIVE), SONDE_METRIC_CPU, 24, 8);
    sonde_profile_rows_destroy(v);
    sonde_profile_destroy(p);
    free(h);
}

static void test_depth_and_share(void **state)
{
    struct made *h = recursive();
    struct sonde_profile *p = build(h);
    struct sonde_profile_rows_config config = {.shape = SONDE_PROFILE_TOP_DOWN, .sort = SONDE_METRIC_CPU, .share = SONDE_METRIC_CPU};
    (void)state;
    config.depth = 2;
    struct sonde_profile_rows *v = view_of(p, &config);
    for (size_t i = 0; i < v->rows.count; i++)
        assert_true(v->rows.items[i].depth <= 2);
    assert_int_equal(v->rows.count, 4); /* all, main, g, f */
    assert_string_equal(v->rows.items[2].frame.name, "g"); /* 32 against 30 */
    sonde_profile_rows_destroy(v);
    config.depth = 0;
    config.min_percent = 40; /* of 63: 25.2 */
    v = view_of(p, &config);
    assert_int_equal(v->rows.count, 5); /* all, main, g 32, f 30, f 28; not g 24, not clFinish */
    assert_int_equal(v->cut, 2);
    sonde_profile_rows_destroy(v);
    sonde_profile_destroy(p);
    free(h);
}

/* Unknown, zero and error. */
static void test_validity(void **state)
{
    static const uint64_t many = 5;
    struct made *h = made_create();
    uint32_t top = node(h, 0, h->function[0][0]);
    (void)state;
    account(h, node(h, node(h, top, h->api), h->op[0]), QUEUE, many, 0);
    h->profiles[1].timed = 0; /* the runtime gave no times */
    struct sonde_profile *p = build(h);
    struct sonde_columns c = {0};
    struct sonde_diag diag = {0};
    size_t at;
    assert_int_equal(sonde_columns_derive(&c, "a=gpu/ops; b=ops/api ;c=1e300*ops*1e300;d = c+gpu; e=-min(ops,7)*(2-4)", &diag, &at), 0);
    struct sonde_profile_rows *v = view_of(p, &(struct sonde_profile_rows_config){.columns = &c});
    assert_int_equal(sonde_profile_rows_get(v, 0, SONDE_METRIC_GPU, SONDE_INCLUSIVE).validity, SONDE_UNKNOWN);
    assert_int_equal(sonde_profile_rows_get(v, 0, SONDE_METRIC_CPU, SONDE_INCLUSIVE).validity, SONDE_UNKNOWN);
    assert_int_equal(sonde_profile_rows_get(v, 0, SONDE_METRIC_BLAME, SONDE_INCLUSIVE).validity, SONDE_UNKNOWN);
    check(v, 0, SONDE_METRIC_API, 0, 0);
    check(v, 1, SONDE_METRIC_OPS, 5, 0);
    assert_int_equal(sonde_profile_rows_get(v, 0, SONDE_METRIC_COUNT + 0, SONDE_INCLUSIVE).validity, SONDE_UNKNOWN);
    assert_int_equal(sonde_profile_rows_get(v, 0, SONDE_METRIC_COUNT + 1, SONDE_INCLUSIVE).validity, SONDE_UNKNOWN); /* / 0 */
    assert_int_equal(sonde_profile_rows_get(v, 0, SONDE_METRIC_COUNT + 2, SONDE_INCLUSIVE).validity, SONDE_ERROR);
    assert_int_equal(sonde_profile_rows_get(v, 0, SONDE_METRIC_COUNT + 3, SONDE_INCLUSIVE).validity, SONDE_ERROR);
    check(v, 0, SONDE_METRIC_COUNT + 4, 10, 0);
    sonde_profile_rows_destroy(v);

    double *given = calloc(p->nodes.count, sizeof *given);
    given[1] = 12.5;
    v = view_of(p, &(struct sonde_profile_rows_config){.columns = &c, .given = {[SONDE_METRIC_BLAME] = given}});
    check(v, 0, SONDE_METRIC_BLAME, 12.5, 0);
    check(v, 1, SONDE_METRIC_BLAME, 12.5, 12.5);
    sonde_profile_rows_destroy(v);
    free(given);
    sonde_columns_fini(&c);
    sonde_profile_destroy(p);
    free(h);
}

static void test_formulas_that_are_none(void **state)
{
    static const struct {
        const char *text;
        size_t at;
    } cases[] = {
        {"", 0},
        {"x", 1},
        {"x=", 2},
        {"x=gpu+", 6},
        {"x=gpu/(apx+1)", 7},
        {"x=(gpu", 6},
        {"x=gpu)", 5},
        {"x=min(gpu)", 9},
        {"x=1..2", 4},
        {"gpu=1", 0},
        {"1x=2", 0},
        {"x=1;x=2", 4},
        {"x=gpu ops", 6},
        {"x=1e999", 2},
        {"min=1", 0},
        {"x=1;", 4},
        {"x=gpu*/2", 6},
        {"x=\xc3\xa4", 2},
        {"x=nan", 2},
        {"x=0x", 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sonde_columns c = {0};
        struct sonde_diag diag = {0};
        size_t at = 999;
        if (sonde_columns_derive(&c, cases[i].text, &diag, &at) != SONDE_EINVALID || at != cases[i].at || !*diag.what)
            fail_msg("'%s': %s at %zu", cases[i].text, diag.what, at);
        sonde_columns_fini(&c);
    }
    char deep[1000] = "x=";
    memset(deep + 2, '(', sizeof deep - 3);
    struct sonde_columns c = {0};
    size_t at;
    assert_int_equal(sonde_columns_derive(&c, deep, NULL, &at), SONDE_EINVALID);
    sonde_columns_fini(&c);
}

/* Any sequence of words is refused at one of its bytes, or can be computed. */
static void test_formulas_at_random(void **state)
{
    static const char *const words[] = {"gpu", "ops", "x", "min", "max", "(", ")", "(", ")", ",", "+", "-", "*", "/", "=",
                                        ";", "1", ".5", "1e300", " ", "0", "cpu", "%", "\xff"};
    uint32_t understood = 0;
    (void)state;
    seed = 7;
    for (int i = 0; i < 20000; i++) {
        struct sonde_columns c = {0};
        struct sonde_diag diag = {0};
        char text[256] = "y=";
        size_t at = 9999;
        for (uint32_t k = 1 + below(12); k; k--)
            strcat(text, words[below(sizeof words / sizeof *words)]);
        int rc = sonde_columns_derive(&c, text, &diag, &at);
        assert_true(rc == 0 || rc == SONDE_EINVALID);
        assert_true(at <= strlen(text));
        if (!rc) {
            struct sonde_value values[SONDE_METRIC_COUNT + SONDE_DERIVED_MAX];
            for (int k = 0; k < SONDE_METRIC_COUNT; k++)
                values[k] = k == SONDE_METRIC_CPU ? (struct sonde_value){0, SONDE_UNKNOWN} : (struct sonde_value){k, SONDE_KNOWN};
            sonde_columns_compute(&c, values);
            const struct sonde_value v = values[SONDE_METRIC_COUNT];
            assert_true(v.value - v.value == 0 && (v.validity == SONDE_KNOWN || v.value == 0));
            understood++;
        }
        sonde_columns_fini(&c);
    }
    assert_true(understood > 100);
}

/* ---- random programs: the definitions, the slow way ------------------------------------------- */

static struct made *random_program(uint32_t from)
{
    struct made *h = made_create();
    seed = from;
    node(h, 0, h->function[0][0]);
    while (h->block.count < NODES - 2) {
        /* Deep paths of few functions: recursion of every kind. */
        uint32_t back = below(below(4) ? 4 : h->block.count), at = FIRST + h->block.count - 1;
        at = back < h->block.count ? at - back : FIRST;
        if (h->frames[h->nodes[at - FIRST].frame].kind != SONDE_FRAME_NATIVE)
            at = FIRST;
        if (below(3)) {
            uint32_t next = node(h, at, h->function[below(2)][below(FUNCTIONS)]);
            if (below(2))
                account(h, next, THREAD, 1 + below(3), below(100));
        } else {
            uint32_t api = node(h, at, below(2) ? h->api : h->wait);
            account(h, api, 0, 1 + below(5), below(1000));
            if (below(2))
                account(h, node(h, api, h->op[below(FUNCTIONS)]), QUEUE, 1 + below(9), below(5000));
        }
    }
    return h;
}

static bool is_routine(const struct sonde_cct_node *n, const struct sonde_profile_frame *f, enum sonde_profile_by by)
{
    bool same_place = by != SONDE_BY_LINE || n->line == f->line;
    return n->kind == f->kind && (by == SONDE_BY_MODULE || (n->op == f->op && strcmp(n->name, f->name) == 0)) && same_place;
}

/* Does the path from `at` outwards begin with the row's routine and go on as its chain of callers? */
static bool begins_here(const struct sonde_profile *p, const struct sonde_profile_rows *v, size_t row, uint32_t at)
{
    SONDE_VECTOR(size_t) chain = {0}; /* innermost last */
    bool same = true;
    for (; row; row = v->rows.items[row].parent)
        (void)sonde_vector_push(&chain, row);
    for (size_t i = chain.count; i-- > 0 && same; at = p->nodes.items[at].parent)
        same = at && is_routine(&p->nodes.items[at], &v->rows.items[chain.items[i]].frame, v->by);
    sonde_vector_fini(&chain);
    return same;
}

/* All CPU time is that of one thread, which so many samples divide. */
enum { SAMPLES = 40 };

static struct sonde_estimate estimate_of(const struct sonde_profile *p)
{
    struct sonde_estimate e = {0};
    (void)sonde_vector_push(&e.pools, (struct sonde_estimate_pool){.samples = SAMPLES});
    for (uint32_t i = 1; i < p->nodes.count; i++)
        if (p->nodes.items[i].self.cpu_ns)
            (void)sonde_vector_push(&e.items, (struct sonde_estimate_item){0, i, 0, (double)p->nodes.items[i].self.cpu_ns});
    return e;
}

static double error_of(const struct sonde_profile *p, double cpu_ns)
{
    const double all_ns = (double)p->nodes.items[0].total.cpu_ns;
    return cpu_ns > 0 ? all_ns * sonde_share_error(cpu_ns / all_ns * SAMPLES, SAMPLES) : 0;
}

static void check_row_slowly(const struct sonde_profile *p, const struct sonde_profile_rows *v, size_t row)
{
    double cpu[2] = {0}, gpu[2] = {0};
    for (uint32_t i = 1; i < p->nodes.count; i++) {
        const struct sonde_metrics *self = &p->nodes.items[i].self;
        if (!self->cpu_ns && !self->device_ns)
            continue;
        bool on_path = false;
        for (uint32_t at = i; at && !on_path; at = p->nodes.items[at].parent)
            on_path = begins_here(p, v, row, at);
        bool own = begins_here(p, v, row, i);
        cpu[SONDE_INCLUSIVE] += on_path ? (double)self->cpu_ns : 0;
        gpu[SONDE_INCLUSIVE] += on_path ? (double)self->device_ns : 0;
        cpu[SONDE_EXCLUSIVE] += own ? (double)self->cpu_ns : 0;
        gpu[SONDE_EXCLUSIVE] += own ? (double)self->device_ns : 0;
    }
    check(v, row, SONDE_METRIC_CPU, cpu[0], cpu[1]);
    check(v, row, SONDE_METRIC_GPU, gpu[0], gpu[1]);
    check(v, row, SONDE_METRIC_CPU_ERROR, error_of(p, cpu[0]), error_of(p, cpu[1]));
}

/* Exclusive figures of all rows (of a bottom-up view: of the outermost) are the inclusive one of the whole. */
static void check_sums(const struct sonde_profile *p, const struct sonde_profile_rows *v)
{
    const struct sonde_metrics *all = &p->nodes.items[0].total;
    for (uint32_t c = 0; c < SONDE_METRIC_COUNT; c++) {
        if (sonde_metric_table[c].needs == SONDE_NEEDS_ESTIMATE)
            continue; /* errors do not add up */
        double sum = v->shape == SONDE_PROFILE_TOP_DOWN ? sonde_profile_rows_get(v, 0, c, SONDE_EXCLUSIVE).value : 0;
        for (size_t i = 1; i < v->rows.count; i++)
            if (v->shape != SONDE_PROFILE_BOTTOM_UP || v->rows.items[i].depth == 1)
                sum += sonde_profile_rows_get(v, i, c, SONDE_EXCLUSIVE).value;
        assert_float_equal(sum, sonde_profile_rows_get(v, 0, c, SONDE_INCLUSIVE).value, 1e-6);
        assert_float_equal(sum, sonde_metric_table[c].value(all), 1e-6);
    }
}

/* What is exclusive to the nodes of a row is exclusive to it; without any left out each node has one. */
static void check_rows_of(const struct sonde_profile *p, const struct sonde_profile_rows *v)
{
    double *sums = calloc(v->rows.count, sizeof *sums);
    for (uint32_t i = 0; i < p->nodes.count; i++) {
        assert_true(v->row_of[i] < v->rows.count);
        sums[v->row_of[i]] += (double)p->nodes.items[i].self.cpu_ns;
    }
    for (size_t row = 0; row < v->rows.count; row++)
        assert_float_equal(sums[row], sonde_profile_rows_get(v, row, SONDE_METRIC_CPU, SONDE_EXCLUSIVE).value, 1e-6);
    free(sums);
}

static void check_order(const struct sonde_profile_rows *v)
{
    for (size_t i = 1; i < v->rows.count; i++) {
        size_t before = i - 1; /* the elder sibling, if any, is the last row of that depth before it */
        while (before && v->rows.items[before].depth > v->rows.items[i].depth)
            before--;
        if (before && v->rows.items[before].parent == v->rows.items[i].parent &&
            v->rows.items[before].depth == v->rows.items[i].depth)
            assert_true(sonde_profile_rows_get(v, before, v->sort, v->sort_side).value >=
                        sonde_profile_rows_get(v, i, v->sort, v->sort_side).value);
        assert_true(v->rows.items[i].parent < i);
        assert_int_equal(v->rows.items[i].depth, v->rows.items[v->rows.items[i].parent].depth + 1);
    }
}

static void test_random(void **state)
{
    static const struct sonde_profile_rows_config configs[] = {
        {.shape = SONDE_PROFILE_TOP_DOWN, .by = SONDE_BY_LINE},
        {.shape = SONDE_PROFILE_TOP_DOWN, .by = SONDE_BY_FUNCTION},
        {.shape = SONDE_PROFILE_TOP_DOWN, .by = SONDE_BY_MODULE},
        {.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_LINE},
        {.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_FUNCTION, .sort = SONDE_METRIC_CPU},
        {.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_MODULE},
        {.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_KERNEL},
        {.shape = SONDE_PROFILE_BOTTOM_UP, .by = SONDE_BY_FUNCTION},
        {.shape = SONDE_PROFILE_BOTTOM_UP, .by = SONDE_BY_LINE, .sort = SONDE_METRIC_CPU, .sort_side = SONDE_EXCLUSIVE},
        {.shape = SONDE_PROFILE_BOTTOM_UP, .by = SONDE_BY_MODULE},
    };
    (void)state;
    for (uint32_t from = 1; from <= 3; from++) {
        struct made *h = random_program(from);
        struct sonde_profile *p = build(h);
        struct sonde_estimate estimate = estimate_of(p);
        for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
            struct sonde_profile_rows_config config = configs[i];
            config.cpu_estimate = &estimate;
            struct sonde_profile_rows *v = view_of(p, &config);
            check_sums(p, v);
            check_order(v);
            if (configs[i].shape == SONDE_PROFILE_TOP_DOWN)
                check_rows_of(p, v);
            bool slowly = configs[i].shape != SONDE_PROFILE_TOP_DOWN && configs[i].by < SONDE_BY_KERNEL;
            /* Every row of a flat view; of bottom-up ones the first levels, and some of the rest. */
            for (size_t row = 1; slowly && row < v->rows.count; row++)
                if (v->rows.items[row].depth <= 2 || row % 997 == 0)
                    check_row_slowly(p, v, row);
            sonde_profile_rows_destroy(v);
        }
        sonde_estimate_fini(&estimate);
        sonde_profile_destroy(p);
        free(h);
    }
}

/* Trees have no rows of kernels and objects. */
static void test_refused(void **state)
{
    struct made *h = recursive();
    struct sonde_profile *p = build(h);
    static const struct sonde_columns columns;
    struct sonde_profile_rows *v;
    struct sonde_diag diag;
    (void)state;
    const struct sonde_profile_rows_config config = {.shape = SONDE_PROFILE_BOTTOM_UP, .by = SONDE_BY_KERNEL, .columns = &columns};
    assert_int_equal(sonde_profile_rows_build(p, &config, &v, &diag), SONDE_EINVALID);
    sonde_profile_destroy(p);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_are_no_operations),
        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_bottom_up),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_depth_and_share),
        cmocka_unit_test(test_validity),
        cmocka_unit_test(test_formulas_that_are_none),
        cmocka_unit_test(test_formulas_at_random),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
