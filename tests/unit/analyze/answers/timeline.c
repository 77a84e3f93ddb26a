/* timeline.c - unit tests of what is drawn of lanes: random rows, and each bin and interval of many ranges and widths computed
 * again from them; what threads did against the view statistics.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/answers/timeline/own.h"
#include "format/files.h"
#include "scene.h"

enum {
    KERNELS = 6,
    PATHS = 2 * KERNELS, /* each is launched at two places */
    MOST = 120000,
};

static uint64_t seed = 11;
static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
}

/* ---- queues: rows that are known ---------------------------------------------------------------- */

struct row {
    uint64_t begin, end, correlation;
    uint32_t lane, path, label;
}; /* numbers: of the kernel's call path, of its name */
static struct {
    struct row items[MOST];
    uint32_t count, nodes[PATHS]; /* of the profile's tree, by call path */
    uint64_t start; /* of the run, on the process's axis; times above are after it */
} truth;

static const char *const kernel_names[KERNELS] = {"a", "b", "c", "d", "e", "f"};

struct loaded {
    struct sonde_measurement *m;
    struct sonde_profile *profile;
    struct sonde_timeline *timeline;
};

static struct loaded load(struct scene *s)
{
    struct loaded l = {.m = scene_open(s)};
    assert_int_equal(sonde_profile_build(l.m, &l.profile, NULL), 0);
    assert_int_equal(sonde_timeline_create(l.m, l.profile, 0, &l.timeline), 0);
    return l;
}

static void unload(struct loaded *l)
{
    sonde_timeline_destroy(l->timeline);
    sonde_profile_destroy(l->profile);
    sonde_measurement_close(l->m);
}

static void add(struct scene *s, uint32_t lane, const uint32_t *kernels, uint64_t begin, uint64_t end)
{
    struct row *row = &truth.items[truth.count++];
    *row = (struct row){begin, end, truth.count, lane, (uint32_t)noise(PATHS), 0};
    row->label = row->path / 2;
    scene_op(s, lane, kernels[row->path], truth.start + begin, truth.start + end, row->correlation);
}

/* Bursts and gaps; many short rows, some without length, a few that last long, overlapping and out of order. */
static struct loaded random_queues(uint64_t start, uint32_t rows, uint32_t queues, bool in_order)
{
    struct scene *s = scene_create();
    const uint32_t device = scene_device(s, "gpu"), thread = scene_thread(s);
    const uint32_t apis[] = {scene_api(s, thread, 0, "launch"), scene_api(s, thread, 0, "again")};
    uint32_t kernels[PATHS], lanes[8];
    uint64_t now[8] = {0};
    truth.count = 0;
    truth.start = start;
    for (uint32_t i = 0; i < PATHS; i++)
        kernels[i] = scene_kernel(s, thread, apis[i % 2], kernel_names[i / 2]);
    for (uint32_t i = 0; i < queues; i++)
        lanes[i] = scene_queue(s, device);
    scene_header(s)->start_ns = start;
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t k = (uint32_t)noise(queues);
        now[k] += noise(50) ? noise(40) : noise(30000);
        const uint64_t begin = in_order ? now[k] : now[k] - (now[k] > 5000 ? noise(5000) : 0);
        const uint64_t length = noise(9) ? noise(60) : (noise(40) ? 0 : noise(20000));
        add(s, lanes[k], kernels, begin, begin + length);
        now[k] = in_order ? begin + length : now[k];
        if (i % 100 == 50) { /* not drawn: its times cannot be */
            struct sonde_row_op bad = {.correlation = rows + i, .enter_ns = start + now[k], .kind = SONDE_OP_KERNEL, .flags = SONDE_OP_BAD_TIME, .start_ns = start + noise(100000), .end_ns = start};
            synth_add(scene_build(s), SONDE_TABLE_OP, lanes[k], &bad);
        }
    }
    scene_header(s)->stop_ns = start;
    for (uint32_t i = 0; i < truth.count; i++)
        if (start + truth.items[i].end > scene_header(s)->stop_ns)
            scene_header(s)->stop_ns = start + truth.items[i].end;
    const struct loaded l = load(s);
    for (uint32_t i = 0; i < PATHS; i++)
        truth.nodes[i] = sonde_profile_locate(l.profile, 0, kernels[i]);
    return l;
}

static uint32_t kernel_of(const struct sonde_timeline_answer *a, uint32_t label)
{
    for (uint32_t i = 0; i < KERNELS; i++)
        if (strcmp(a->labels.items[label].frame.name, kernel_names[i]) == 0)
            return i;
    fail_msg("label %s", a->labels.items[label].frame.name);
    return 0;
}

/* What of a row lies in [from, to). */
static uint64_t within(const struct row *row, uint64_t from, uint64_t to)
{
    const uint64_t begin = row->begin > from ? row->begin : from, end = row->end < to ? row->end : to;
    return begin < end ? end - begin : 0;
}

static bool overlaps(const struct row *row, uint64_t from, uint64_t to)
{
    return row->begin < to && (row->end > from || row->begin >= from);
}

struct bin {
    uint64_t time[KERNELS], paths[PATHS], rows;
    bool there;
};

/* Every interval is what the rows say, and every row is in one. */
static void check_lane(const struct sonde_timeline_answer *a, const struct sonde_timeline_lane *lane, uint64_t skip_from, uint64_t skip_to)
{
    const uint64_t from = a->from_ns, to = a->to_ns, width = a->bin_ns;
    const size_t bins = (size_t)((to - from) / width);
    struct bin *expected = calloc(bins, sizeof *expected);
    uint64_t time[KERNELS] = {0}, rows[KERNELS] = {0}, longs = 0, seen_longs = 0, seen_bins = 0, expected_bins = 0;
    assert_int_equal((to - from) % width, 0);
    for (uint32_t i = 0; i < truth.count; i++) {
        const struct row *row = &truth.items[i];
        if (row->lane != lane->id.lane || !overlaps(row, from, to) || (row->correlation >= skip_from && row->correlation < skip_to))
            continue;
        time[row->label] += within(row, from, to);
        if (row->end - row->begin >= width) {
            longs++;
            rows[row->label]++;
            continue;
        }
        const uint64_t last = row->end > row->begin ? row->end - 1 : row->begin;
        for (uint64_t at = row->begin / width; at <= last / width; at++) {
            if (at * width < from || at * width >= to)
                continue;
            struct bin *bin = &expected[at - from / width];
            bin->time[row->label] += within(row, at * width, (at + 1) * width);
            bin->paths[row->path] += within(row, at * width, (at + 1) * width);
            bin->rows += at == row->begin / width;
            rows[row->label] += at == row->begin / width;
            bin->there = true;
        }
    }
    for (size_t i = 0; i < bins; i++)
        expected_bins += expected[i].there;
    for (size_t i = 0; i < lane->intervals.count; i++) {
        const struct sonde_timeline_interval *one = &lane->intervals.items[i];
        assert_true(!i || one->begin_ns >= one[-1].begin_ns);
        assert_int_equal(one->track, 0);
        assert_int_equal(one->kind, SONDE_DRAWN_OPERATION);
        if (!one->merged) {
            assert_in_range(one->correlation, 1, truth.count);
            const struct row *row = &truth.items[one->correlation - 1];
            assert_int_equal(one->begin_ns, row->begin);
            assert_int_equal(one->end_ns, row->end);
            assert_int_equal(one->rows, 1);
            assert_int_equal(one->time_ns, within(row, from, to));
            assert_int_equal(kernel_of(a, one->label), row->label);
            assert_int_equal(one->node, truth.nodes[row->path]);
            seen_longs++;
            continue;
        }
        const struct bin *bin = &expected[(one->begin_ns - from) / width];
        const uint32_t label = kernel_of(a, one->label);
        uint64_t all = 0;
        assert_int_equal(one->end_ns - one->begin_ns, width);
        for (uint32_t k = 0; k < KERNELS; k++) {
            assert_true(bin->time[k] <= bin->time[label]);
            all += bin->time[k];
        }
        assert_int_equal(one->time_ns, bin->time[label]);
        const uint32_t path = 2 * label + (one->node == truth.nodes[2 * label + 1]); /* that with most of it */
        assert_int_equal(one->node, truth.nodes[path]);
        assert_true(bin->paths[path] >= bin->paths[path ^ 1]);
        assert_int_equal(one->all_ns, all);
        assert_int_equal(one->rows, bin->rows);
        assert_true(bin->there);
        seen_bins++;
    }
    assert_int_equal(seen_longs, longs);
    assert_int_equal(seen_bins, expected_bins);
    for (size_t i = 0; i < lane->totals.count; i++) {
        const uint32_t label = kernel_of(a, lane->totals.items[i].label);
        assert_int_equal(lane->totals.items[i].time_ns, time[label]);
        assert_int_equal(lane->totals.items[i].rows, rows[label]);
        time[label] = rows[label] = 0;
    }
    for (uint32_t k = 0; k < KERNELS; k++)
        assert_int_equal(time[k] + rows[k], 0);
    free(expected);
}

static void same(const struct sonde_timeline_answer *a, const struct sonde_timeline_answer *b)
{
    assert_int_equal(a->from_ns, b->from_ns);
    assert_int_equal(a->to_ns, b->to_ns);
    assert_int_equal(a->lanes.count, b->lanes.count);
    for (size_t i = 0; i < a->lanes.count; i++) {
        const struct sonde_timeline_lane *one = &a->lanes.items[i], *other = &b->lanes.items[i];
        assert_int_equal(one->intervals.count, other->intervals.count);
        assert_int_equal(one->totals.count, other->totals.count);
        for (size_t k = 0; k < one->intervals.count; k++) {
            const struct sonde_timeline_interval *x = &one->intervals.items[k], *y = &other->intervals.items[k];
            assert_int_equal(x->begin_ns, y->begin_ns);
            assert_int_equal(x->end_ns, y->end_ns);
            assert_int_equal(x->time_ns, y->time_ns);
            assert_int_equal(x->all_ns, y->all_ns);
            assert_int_equal(x->correlation, y->correlation);
            assert_int_equal(x->node, y->node);
            assert_int_equal(x->rows, y->rows);
            assert_int_equal(x->kind, y->kind);
            assert_int_equal(x->track, y->track);
            assert_ptr_equal(a->labels.items[x->label].frame.name, b->labels.items[y->label].frame.name);
        }
        for (size_t k = 0; k < one->totals.count; k++)
            assert_int_equal(one->totals.items[k].time_ns, other->totals.items[k].time_ns);
    }
}

static void ask(const struct loaded *l, struct sonde_timeline_question q, struct sonde_timeline_answer *a)
{
    *a = (struct sonde_timeline_answer){0};
    assert_int_equal(sonde_timeline_ask(l->timeline, &q, a, NULL), 0);
    assert_true(a->from_ns <= q.from_ns);
    assert_true(!q.to_ns || a->to_ns >= q.to_ns);
}

/* The same from one that knows nothing yet. */
static void ask_new(const struct loaded *l, struct sonde_timeline_question q, size_t room, struct sonde_timeline_answer *a)
{
    struct loaded fresh = *l;
    assert_int_equal(sonde_timeline_create(l->m, l->profile, room, &fresh.timeline), 0);
    ask(&fresh, q, a);
    sonde_timeline_destroy(fresh.timeline);
}

static const struct sonde_lane_id lanes[] = {{0, 2}, {0, 3}, {0, 4}}; /* lane 1 is the thread */

static void check_questions(const struct loaded *l, uint32_t questions, size_t lane_count)
{
    const uint64_t length = l->m->processes[0].header.stop_ns - truth.start;
    for (uint32_t i = 0; i < questions; i++) {
        const uint64_t from = noise(length), left = length + 1000 - from;
        const uint64_t to = from + 1 + noise(noise(3) ? left : (left < 3000 ? left : 3000));
        const struct sonde_timeline_question q = {.lanes = lanes, .lane_count = lane_count, .from_ns = from, .to_ns = to, .pixels = 1 + (uint32_t)noise(noise(2) ? 3000 : 40)};
        struct sonde_timeline_answer a, again, fresh;
        ask(l, q, &a);
        assert_false(a.partial);
        assert_true((to - from) / a.bin_ns >= q.pixels || a.bin_ns == 1);
        assert_true((a.to_ns - a.from_ns) / a.bin_ns <= 2 * q.pixels + 2);
        for (size_t k = 0; k < lane_count; k++)
            check_lane(&a, &a.lanes.items[k], 0, 0);
        ask(l, q, &again);
        assert_int_equal(again.read_rows, 0);
        same(&a, &again);
        ask_new(l, q, i % 2 ? 1 : 0, &fresh);
        same(&a, &fresh);
        sonde_timeline_answer_fini(&a);
        sonde_timeline_answer_fini(&again);
        sonde_timeline_answer_fini(&fresh);
    }
}

static void rows_of_queues(void **state)
{
    struct loaded l = random_queues(0, 20000, 3, true);
    (void)state;
    check_questions(&l, 150, 3);
    unload(&l);
    l = random_queues(0, 20000, 3, false);
    check_questions(&l, 150, 3);
    unload(&l);
}

static void times_of_64_bits(void **state)
{
    struct loaded l = random_queues((1ull << 62) + 12345, 5000, 3, false);
    (void)state;
    check_questions(&l, 60, 3);
    unload(&l);
}

static void one_long_lane(void **state)
{
    struct loaded l = random_queues(1000, 100000, 1, true);
    (void)state;
    check_questions(&l, 25, 1);
    unload(&l);
}

/* Zooming out by two: what is known is enough. */
static void half_as_fine(void **state)
{
    struct loaded l = random_queues(0, 20000, 3, false);
    struct sonde_timeline_question q = {.lanes = lanes, .lane_count = 3, .from_ns = 0, .to_ns = 1 << 16, .pixels = 1 << 14};
    (void)state;
    for (int i = 0; i < 6; i++, q.pixels /= 2) { /* the last one is one tile */
        struct sonde_timeline_answer a, fresh;
        ask(&l, q, &a);
        assert_int_equal(a.read_rows > 0, i == 0);
        for (size_t k = 0; k < 3; k++)
            check_lane(&a, &a.lanes.items[k], 0, 0);
        ask_new(&l, q, 0, &fresh);
        assert_true(fresh.read_rows > 0);
        same(&a, &fresh);
        sonde_timeline_answer_fini(&a);
        sonde_timeline_answer_fini(&fresh);
    }
    unload(&l);
}

/* By chunks first, and all of it for who asks again. */
static void too_much_at_once(void **state)
{
    struct loaded l = random_queues(0, 20000, 2, true);
    struct sonde_timeline_question q = {.lanes = lanes, .lane_count = 2, .pixels = 100, .rows_most = 1000};
    struct sonde_timeline_answer a;
    uint64_t rows = 0, known = 0;
    (void)state;
    ask(&l, q, &a);
    assert_true(a.partial && a.lanes.items[0].partial && a.lanes.items[1].partial);
    assert_int_equal(a.read_rows, 0);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < a.lanes.items[i].intervals.count; k++) {
            const struct sonde_timeline_interval *one = &a.lanes.items[i].intervals.items[k];
            assert_int_equal(one->kind, SONDE_DRAWN_UNREAD);
            assert_false(a.labels.items[one->label].routine);
            assert_true(!k || one->begin_ns >= one[-1].begin_ns);
            rows += one->rows;
        }
    for (uint32_t i = 0; i < l.m->processes[0].trace_count; i++)
        known += l.m->processes[0].traces[i].table == SONDE_TABLE_OP ? l.m->processes[0].traces[i].count : 0;
    assert_int_equal(rows, known);
    sonde_timeline_answer_fini(&a);
    q.exact = true;
    ask(&l, q, &a);
    assert_false(a.partial);
    check_lane(&a, &a.lanes.items[1], 0, 0);
    sonde_timeline_answer_fini(&a);
    q.exact = false;
    ask(&l, q, &a);
    assert_false(a.partial);
    check_lane(&a, &a.lanes.items[0], 0, 0);
    const uint64_t bin = a.bin_ns;
    sonde_timeline_answer_fini(&a);
    q.to_ns = l.m->processes[0].header.stop_ns / 3, q.pixels = 300; /* a part, finer: by the bins that are known */
    ask(&l, q, &a);
    assert_true(a.partial && a.lanes.items[0].partial && a.lanes.items[1].partial);
    assert_int_equal(a.bin_ns, bin);
    assert_int_equal(a.read_rows, 0);
    check_lane(&a, &a.lanes.items[0], 0, 0);
    sonde_timeline_answer_fini(&a);
    q.exact = true;
    ask(&l, q, &a);
    assert_true(!a.partial && a.bin_ns < bin);
    sonde_timeline_answer_fini(&a);
    unload(&l);
}

/* A chunk that cannot be read is left out and counted; the others are all there. */
static void damage(void **state)
{
    const uint64_t before = sonde__read_through_bytes;
    (void)state;
    sonde__read_through_bytes = 0;
    struct loaded l = random_queues(0, 20000, 1, true);
    struct sonde_process *p = &l.m->processes[0];
    const long page = sysconf(_SC_PAGESIZE);
    uint32_t chunk = 0;
    while (chunk < p->trace_count && (p->traces[chunk].table != SONDE_TABLE_OP || p->traces[chunk].live || !p->traces[chunk].first))
        chunk++;
    assert_true(chunk < p->trace_count); /* the second one */
    uint8_t *at = (uint8_t *)(uintptr_t)p->traces[chunk].data + p->traces[chunk].size / 2;
    void *start = (void *)((uintptr_t)at & ~(uintptr_t)(page - 1));
    assert_int_equal(mprotect(start, (size_t)page, PROT_READ | PROT_WRITE), 0);
    *at ^= 0x55;
    /* Which rows were in it: of a lane's, with those that are not drawn. */
    uint64_t skip_from = 0, skip_to = 0, number = 0;
    for (uint32_t i = 0; i < truth.count; i++) {
        if (number >= p->traces[chunk].first && number < p->traces[chunk].first + p->traces[chunk].count) {
            skip_from = skip_from ? skip_from : i + 1;
            skip_to = i + 2;
        }
        number += 1 + (i % 100 == 50);
    }
    const struct sonde_timeline_question q = {.lanes = lanes, .lane_count = 1, .pixels = 500};
    struct sonde_timeline_answer a;
    ask(&l, q, &a);
    assert_int_equal(p->damaged_chunks, 1);
    check_lane(&a, &a.lanes.items[0], skip_from, skip_to);
    sonde_timeline_answer_fini(&a);
    unload(&l);
    sonde__read_through_bytes = before;
}

static void what_cannot_be_answered(void **state)
{
    struct loaded l = random_queues(0, 100, 2, true);
    const struct sonde_lane_id none[] = {{0, 9}, {1, 1}, {0, 0}}, twice[] = {{0, 2}, {0, 3}, {0, 2}};
    struct sonde_timeline_answer a = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(sonde_timeline_ask(l.timeline, &(struct sonde_timeline_question){.lanes = &none[i], .lane_count = 1, .pixels = 9}, &a, NULL),
                         SONDE_ENOTFOUND);
    struct sonde_timeline_question q = {.lanes = twice, .lane_count = 3, .pixels = 9};
    assert_int_equal(sonde_timeline_ask(l.timeline, &q, &a, NULL), SONDE_EINVALID);
    q = (struct sonde_timeline_question){.lanes = lanes, .lane_count = 1, .pixels = 0};
    assert_int_equal(sonde_timeline_ask(l.timeline, &q, &a, NULL), SONDE_EINVALID);
    q.pixels = SONDE_TIMELINE_PIXELS + 1;
    assert_int_equal(sonde_timeline_ask(l.timeline, &q, &a, NULL), SONDE_EINVALID);
    q.pixels = 1, q.from_ns = 100, q.to_ns = 100;
    assert_int_equal(sonde_timeline_ask(l.timeline, &q, &a, NULL), SONDE_EINVALID);
    sonde_timeline_answer_fini(&a);
    q.from_ns = 1ull << 40, q.to_ns = UINT64_MAX, q.pixels = SONDE_TIMELINE_PIXELS; /* bins are not so wide that they reach back */
    ask(&l, q, &a);
    assert_int_equal(a.to_ns, UINT64_MAX);
    sonde_timeline_answer_fini(&a);
    q.to_ns = 1ull << 41; /* nothing is there */
    ask(&l, q, &a);
    assert_int_equal(a.lanes.items[0].intervals.count, 0);
    assert_int_equal(a.lanes.items[0].totals.count, 0);
    sonde_timeline_answer_fini(&a);
    q = (struct sonde_timeline_question){.pixels = 100}; /* of no lane */
    ask(&l, q, &a);
    assert_int_equal(a.lanes.count, 0);
    sonde_timeline_answer_fini(&a);
    unload(&l);
}

/* Operations without times have a place; what only orders others is not shown for what runs. */
static void odd_operations(void **state)
{
    struct scene *s = scene_create();
    const uint32_t queue = scene_queue(s, scene_device(s, "gpu")), thread = scene_thread(s), api = scene_api(s, thread, 0, "launch");
    const uint32_t kernel = scene_kernel(s, thread, api, "a"), other = scene_kernel(s, thread, api, "b");
    const struct sonde_row_op rows[] = {
        {.correlation = 1, .enter_ns = 700, .flags = SONDE_OP_NO_TIMES, .kind = SONDE_OP_KERNEL, .node = kernel},
        {.correlation = 2, .enter_ns = 1, .start_ns = 0, .end_ns = 90, .kind = SONDE_OP_BARRIER, .node = other},
        {.correlation = 3, .enter_ns = 1, .start_ns = 10, .end_ns = 30, .kind = SONDE_OP_KERNEL, .node = kernel},
    };
    (void)state;
    scene_op(s, queue, kernel, 900, 901, 9);
    scene_op(s, queue, other, 902, 903, 9);
    for (int i = 0; i < 3; i++)
        synth_add(scene_build(s), SONDE_TABLE_OP, queue, &rows[i]);
    scene_header(s)->stop_ns = 1 << 10;
    struct loaded l = load(s);
    const struct sonde_lane_id id = {0, queue};
    struct sonde_timeline_answer a;
    ask(&l, (struct sonde_timeline_question){.lanes = &id, .lane_count = 1, .pixels = 8}, &a); /* bins of 128 */
    assert_int_equal(a.bin_ns, 128);
    const struct sonde_timeline_interval *one = a.lanes.items[0].intervals.items;
    assert_int_equal(a.lanes.items[0].intervals.count, 3);
    assert_int_equal(one[0].rows, 2);
    assert_int_equal(one[0].time_ns, 20);
    assert_int_equal(one[0].all_ns, 20);
    assert_int_equal(one[0].kind, SONDE_DRAWN_OPERATION);
    assert_string_equal(a.labels.items[one[0].label].frame.name, "a");
    assert_int_equal(one[1].begin_ns, 640);
    assert_int_equal(one[1].kind, SONDE_DRAWN_UNTIMED);
    assert_int_equal(one[1].rows, 1);
    assert_int_equal(one[1].time_ns, 0);
    assert_int_equal(one[2].rows, 2);
    sonde_timeline_answer_fini(&a);
    unload(&l);
}

/* ---- threads ------------------------------------------------------------------------------------------ */

enum { THREAD_ROWS = 3000,
       PERIOD = 300 };

/* Calls, some within others, waits, samples and switches, from functions at three depths. */
static struct loaded random_thread(uint64_t start)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), top = scene_function(s, thread, 0, "main");
    uint32_t functions[4] = {top, scene_function(s, thread, top, "step"), scene_function(s, thread, top, "save")}, calls[4], naps[4];
    uint64_t now = start + 100;
    functions[3] = scene_function(s, thread, functions[1], "inner");
    for (int i = 0; i < 4; i++) {
        calls[i] = scene_api(s, thread, functions[i], i % 2 ? "clFinish" : "clEnqueue");
        naps[i] = scene_api(s, thread, functions[i], "nanosleep");
    }
    struct sonde_live_header *h = scene_header(s);
    h->start_ns = start;
    h->cpu_rate_hz = 1000000000 / PERIOD;
    h->cpu_sampling = SONDE_CPU_PERF;
    h->cpu_switches = 1;
    for (uint32_t i = 0; i < THREAD_ROWS; i++) {
        const uint64_t length = noise(20) ? noise(200) : noise(5000);
        const int where = (int)noise(4);
        now += noise(10) ? noise(30) : noise(2000);
        switch (noise(6)) {
        case 0:
            scene_sleep(s, thread, naps[where], now, now + length + 1);
            break;
        case 1:
            scene_sample(s, thread, functions[where], now, PERIOD);
            now += 1;
            continue;
        case 2:
            scene_switch(s, thread, now, now + length + 1, 0);
            now += 1;
            break;
        default:
            scene_call(s, thread, calls[where], now, now + length, 0);
            if (length > 20 && !noise(4))
                scene_call(s, thread, calls[(where + 1) % 4], now + length / 4, now + length / 2, 0);
        }
        now += length;
    }
    h->stop_ns = now + 500;
    return load(s);
}

static uint64_t total_of(const struct sonde_timeline_answer *a, const char *name, bool off)
{
    uint64_t time = 0;
    for (size_t i = 0; i < a->lanes.items[0].totals.count; i++) {
        const struct sonde_timeline_label *label = &a->labels.items[a->lanes.items[0].totals.items[i].label];
        if (off ? !label->routine : label->routine && strcmp(label->frame.name, name) == 0)
            time += a->lanes.items[0].totals.items[i].time_ns;
    }
    return time;
}

/* Pieces follow each other without overlap; of each interval not merged all its time is the label's. */
static void check_pieces(const struct sonde_timeline_answer *a)
{
    const struct sonde_timeline_lane *lane = &a->lanes.items[0];
    uint64_t all = 0, totals = 0, last = 0;
    for (size_t i = 0; i < lane->intervals.count; i++) {
        const struct sonde_timeline_interval *one = &lane->intervals.items[i];
        all += one->all_ns;
        if (one->merged) {
            assert_true(one->all_ns <= a->bin_ns);
            continue;
        }
        assert_true(one->begin_ns >= last);
        assert_true(one->end_ns - one->begin_ns >= a->bin_ns);
        last = one->end_ns;
    }
    for (size_t i = 0; i < lane->totals.count; i++)
        totals += lane->totals.items[i].time_ns;
    assert_int_equal(all, totals);
    assert_true(all <= a->to_ns - a->from_ns);
}

static void what_threads_did(void **state)
{
    struct loaded l = random_thread(7777);
    const uint64_t length = l.m->processes[0].header.stop_ns - 7777;
    const struct sonde_lane_id id = {0, 1};
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        const uint64_t from = noise(length), to = from + 1 + noise(noise(2) ? length - from : 2000);
        const struct sonde_timeline_question q = {.lanes = &id, .lane_count = 1, .from_ns = i ? from : 0, .to_ns = i ? to : length, .pixels = 1 + (uint32_t)noise(1500), .depth = i % 4};
        struct sonde_timeline_answer a, fresh;
        struct sonde_statistics st = {0};
        uint64_t off = 0, routines = 0;
        ask(&l, q, &a);
        check_pieces(&a);
        const struct sonde_statistics_config config = {.from_ns = a.from_ns, .to_ns = a.to_ns, .lanes = &id, .lane_count = 1, .depth = q.depth};
        assert_int_equal(sonde_statistics_compute(l.m, l.profile, &config, &st, NULL), 0);
        for (size_t k = 0; k < st.rows.count; k++) {
            const struct sonde_share *share = &st.rows.items[k];
            if (share->kind == SONDE_SHARE_ROUTINE)
                assert_int_equal(total_of(&a, share->frame.name, false), (uint64_t)(share->thread_ns - share->pooled_ns + 0.5));
            routines += share->kind == SONDE_SHARE_ROUTINE;
            off += share->kind == SONDE_SHARE_OFF ? (uint64_t)share->thread_ns : 0; /* whole numbers: exact */
        }
        assert_int_equal(total_of(&a, NULL, true), off);
        assert_true(routines + 1 >= a.labels.count);
        ask_new(&l, q, 0, &fresh);
        check_pieces(&fresh);
        assert_int_equal(a.labels.count, fresh.labels.count);
        for (size_t k = 0; k < a.lanes.items[0].totals.count; k++)
            assert_int_equal(a.lanes.items[0].totals.items[k].time_ns, fresh.lanes.items[0].totals.items[k].time_ns);
        sonde_statistics_fini(&st);
        sonde_timeline_answer_fini(&a);
        sonde_timeline_answer_fini(&fresh);
    }
    unload(&l);
}

/* One call, cut by nothing: whole, whatever tiles it lies in; an instant has its place. */
static void a_call_is_whole(void **state)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), api = scene_api(s, thread, scene_function(s, thread, 0, "main"), "clFinish");
    (void)state;
    scene_call(s, thread, api, 1000, 9000, 5);
    scene_call(s, thread, api, 9500, 9500, 6);
    scene_header(s)->stop_ns = 10000;
    struct loaded l = load(s);
    const struct sonde_lane_id id = {0, thread};
    struct sonde_timeline_answer a;
    ask(&l, (struct sonde_timeline_question){.lanes = &id, .lane_count = 1, .pixels = 10000}, &a); /* 20 tiles */
    assert_int_equal(a.lanes.items[0].intervals.count, 2);
    const struct sonde_timeline_interval *one = a.lanes.items[0].intervals.items;
    assert_int_equal(one->begin_ns, 1000);
    assert_int_equal(one->end_ns, 9000);
    assert_int_equal(one->rows, 1);
    assert_int_equal(one->correlation, 5);
    assert_int_equal(one->kind, SONDE_DRAWN_CALL);
    assert_string_equal(a.labels.items[one->label].frame.name, "clFinish");
    assert_int_equal(one[1].begin_ns, 9500);
    assert_int_equal(one[1].rows, 1);
    assert_int_equal(one[1].all_ns, 0);
    sonde_timeline_answer_fini(&a);
    ask(&l, (struct sonde_timeline_question){.lanes = &id, .lane_count = 1, .pixels = 10000, .depth = 1}, &a);
    assert_string_equal(a.labels.items[a.lanes.items[0].intervals.items[0].label].frame.name, "main");
    sonde_timeline_answer_fini(&a);
    unload(&l);
}

/* Windows of the trace that end within a call leave it whole: one interval, counted once. */
static void a_call_over_windows(void **state)
{
    enum { SWITCHES = 30000,
           STEP = 300 };
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), api = scene_api(s, thread, scene_function(s, thread, 0, "main"), "clFinish");
    const uint64_t length = (uint64_t)SWITCHES * STEP;
    (void)state;
    for (uint32_t i = 0; i < SWITCHES; i++)
        scene_switch(s, thread, 1000 + i * STEP, 1000 + i * STEP + STEP / 2, 0);
    scene_call(s, thread, api, 500, 500 + length, 5);
    scene_header(s)->stop_ns = length + 10000;
    struct loaded l = load(s);
    const struct sonde_lane_id id = {0, thread};
    for (uint32_t pixels = 3; pixels < 10000; pixels *= 7) {
        struct sonde_timeline_answer a;
        uint64_t rows = 0, longs = 0;
        ask(&l, (struct sonde_timeline_question){.lanes = &id, .lane_count = 1, .pixels = pixels}, &a);
        for (size_t i = 0; i < a.lanes.items[0].intervals.count; i++) {
            const struct sonde_timeline_interval *one = &a.lanes.items[0].intervals.items[i];
            rows += one->kind == SONDE_DRAWN_CALL ? one->rows : 0;
            longs += one->kind == SONDE_DRAWN_CALL && !one->merged && one->begin_ns == 500 && one->end_ns == 500 + length;
        }
        assert_int_equal(rows, 1);
        assert_int_equal(longs, 1);
        sonde_timeline_answer_fini(&a);
    }
    unload(&l);
}

/* ---- ranges ----------------------------------------------------------------------------------------------- */

static void add_range(struct scene *s, uint32_t thread, const char *name, uint64_t begin, uint64_t end)
{
    const struct sonde_row_range row = {.begin_ns = begin, .end_ns = end, .name = synth_add_string(scene_build(s), name)};
    synth_add(scene_build(s), SONDE_TABLE_RANGE, thread, &row);
}

static void ranges_in_each_other(void **state)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s);
    struct sonde_timeline_answer a;
    (void)state;
    add_range(s, thread, "inner", 200, 300); /* as they end */
    add_range(s, thread, "mark", 250, 250);
    add_range(s, thread, "inner", 300, 400);
    add_range(s, thread, "outer", 100, 500);
    add_range(s, thread, "open", 600, 0);
    scene_header(s)->stop_ns = 1000;
    struct loaded l = load(s);
    const struct sonde_lane_id id = {0, thread};
    ask(&l, (struct sonde_timeline_question){.lanes = &id, .lane_count = 1, .pixels = 1000}, &a);
    static const struct {
        const char *name;
        uint64_t begin, end;
        uint32_t track;
    } expected[] = {
        {"outer", 100, 500, 1}, {"open", 600, 1000, 1}, {"inner", 200, 300, 2}, {"inner", 300, 400, 2}, {"mark", 250, 251, 3}};
    assert_int_equal(a.lanes.items[0].tracks, 4);
    assert_int_equal(a.lanes.items[0].intervals.count, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct sonde_timeline_interval *one = &a.lanes.items[0].intervals.items[i];
        assert_string_equal(a.labels.items[one->label].frame.name, expected[i].name);
        assert_int_equal(one->begin_ns, expected[i].begin);
        assert_int_equal(one->end_ns, expected[i].end); /* of the mark its bin */
        assert_int_equal(one->track, expected[i].track);
        assert_int_equal(one->kind, SONDE_DRAWN_RANGE);
        assert_int_equal(one->rows, 1);
    }
    assert_int_equal(a.labels.count, 4);
    sonde_timeline_answer_fini(&a);
    ask(&l, (struct sonde_timeline_question){.lanes = &id, .lane_count = 1, .from_ns = 210, .to_ns = 220, .pixels = 10}, &a);
    assert_int_equal(a.lanes.items[0].intervals.count, 2);
    assert_int_equal(a.lanes.items[0].totals.items[0].time_ns, 10);
    sonde_timeline_answer_fini(&a);
    ask(&l, (struct sonde_timeline_question){.lanes = &id, .lane_count = 1, .pixels = 1}, &a); /* 512: all of it in two bins */
    assert_int_equal(a.lanes.items[0].tracks, 4);
    const struct sonde_timeline_interval *one = a.lanes.items[0].intervals.items;
    assert_int_equal(one[0].begin_ns, 0);
    assert_int_equal(one[0].time_ns, 400);
    assert_int_equal(one[2].time_ns, 200);
    assert_int_equal(one[2].rows, 2);
    sonde_timeline_answer_fini(&a);
    unload(&l);
}

/* Random nesting: of each track the sums are those of the rows of that depth. */
static void random_ranges(void **state)
{
    enum { DEEP = 7,
           ROWS = 2000 };
    struct {
        uint64_t begin, end;
        uint32_t depth;
    } *rows = calloc(ROWS, sizeof *rows);
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s);
    uint64_t open[DEEP], now = 0;
    uint32_t depth = 0, count = 0;
    (void)state;
    while (count < ROWS) {
        now += 1 + noise(50);
        if (depth < DEEP && noise(2)) {
            open[depth++] = now;
        } else if (depth) {
            rows[count].begin = open[--depth];
            rows[count].end = now;
            rows[count].depth = depth;
            add_range(s, thread, depth % 2 ? "odd" : "even", rows[count].begin, now);
            count++;
        }
    }
    scene_header(s)->stop_ns = now;
    struct loaded l = load(s);
    const struct sonde_lane_id id = {0, thread};
    for (int i = 0; i < 60; i++) {
        const uint64_t from = noise(now), to = from + 1 + noise(now - from);
        uint64_t time[DEEP + 1] = {0}, seen[DEEP + 1] = {0};
        struct sonde_timeline_answer a;
        ask(&l, (struct sonde_timeline_question){.lanes = &id, .lane_count = 1, .from_ns = from, .to_ns = to, .pixels = 1 + (uint32_t)noise(500)}, &a);
        for (uint32_t k = 0; k < ROWS; k++) {
            const struct row row = {.begin = rows[k].begin, .end = rows[k].end};
            /* what is still open is no row: its depth is taken by nobody */
            time[rows[k].depth] += within(&row, a.from_ns, a.to_ns);
        }
        for (size_t k = 0; k < a.lanes.items[0].intervals.count; k++) {
            const struct sonde_timeline_interval *one = &a.lanes.items[0].intervals.items[k];
            assert_in_range(one->track, 1, DEEP);
            seen[one->track - 1] += one->all_ns;
        }
        uint64_t all = 0, sum = 0;
        for (int k = 0; k <= DEEP; k++)
            all += time[k], sum += seen[k];
        assert_int_equal(all, sum);
        if (!depth) /* nothing was left open */
            assert_memory_equal(time, seen, sizeof time);
        sonde_timeline_answer_fini(&a);
    }
    unload(&l);
    free(rows);
}

/* ---- several processes ------------------------------------------------------------------------------------- */

static void axes(void **state)
{
    (void)state;
    assert_int_equal(sonde__common_ns(5, 7), 2);
    assert_int_equal(sonde__common_ns(5, 3), 0);
    assert_int_equal(sonde__common_ns(-5, 7), 12);
    assert_int_equal(sonde__common_ns(-5, UINT64_MAX - 2), UINT64_MAX);
    assert_int_equal(sonde__process_ns(5, 3), 8);
    assert_int_equal(sonde__process_ns(-5, 3), 0);
    assert_int_equal(sonde__process_ns(-5, 12), 7);
    assert_int_equal(sonde__process_ns(5, UINT64_MAX - 2), UINT64_MAX);
}

struct sum { uint64_t origin, from, to, time, rows; };

static int add_row(void *user, uint32_t lane, const void *row)
{
    struct sum *sum = user;
    const struct sonde_row_op *op = row;
    const struct row it = {.begin = op->start_ns - sum->origin, .end = op->end_ns - sum->origin};
    (void)lane;
    if (op->flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME))
        return 0;
    sum->time += within(&it, sum->from, sum->to);
    sum->rows += overlaps(&it, sum->from, sum->to);
    return 0;
}

/* Sums of each queue are those of the rows as they are stored, of the processes of a run. */
static void processes_side_by_side(void **state)
{
    char path[] = "/tmp/sonde-timeline-XXXXXX", folder[64], command[64];
    struct synth_totals totals;
    struct loaded l = {0};
    SONDE_VECTOR(struct sonde_lane_id) ids = {0};
    uint64_t begin, end;
    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(folder, sizeof folder, "%s/made.sonde", path);
    const struct synth_options options = {.operations = 9000, .lanes = 3, .threads = 2, .processes = 3, .seed = 3, .devices = 2, .cpu_hz = 500};
    assert_int_equal(synth_write(folder, &options, &totals, NULL), 0);
    assert_int_equal(sonde_measurement_open(folder, &l.m, NULL), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", path); /* what is mapped stays */
    assert_int_equal(system(command), 0);
    assert_int_equal(sonde_profile_build(l.m, &l.profile, NULL), 0);
    assert_int_equal(sonde_timeline_create(l.m, l.profile, 0, &l.timeline), 0);
    for (uint32_t i = 0; i < l.m->process_count; i++)
        for (uint32_t lane = 1; lane < l.m->processes[i].lane_count; lane++)
            if (l.m->processes[i].lanes[lane].kind == SONDE_LANE_KIND_QUEUE)
                assert_int_equal(sonde_vector_push(&ids, (struct sonde_lane_id){i, lane}), 0);
    assert_int_equal(ids.count, 3 * l.m->process_count);
    sonde_run_range(l.m, &begin, &end);
    for (uint32_t i = 0; i < 20; i++) {
        const uint64_t from = i ? noise(end - begin) : 0, to = i ? from + 1 + noise(end - begin - from) : end - begin;
        struct sonde_timeline_answer a;
        ask(&l, (struct sonde_timeline_question){.lanes = ids.items, .lane_count = ids.count, .from_ns = from, .to_ns = to, .pixels = 1 + (uint32_t)noise(999)}, &a);
        for (size_t k = 0; k < ids.count; k++) {
            const struct sonde_process *p = &l.m->processes[ids.items[k].process];
            struct sum sum = {.origin = begin - p->header.wall_offset_ns, .from = a.from_ns, .to = a.to_ns};
            uint64_t time = 0;
            const struct sonde_trace_stored which = {.table = SONDE_TABLE_OP, .lane = ids.items[k].lane};
            assert_int_equal(sonde_trace_each(p, &which, add_row, &sum), 0);
            for (size_t t = 0; t < a.lanes.items[k].totals.count; t++)
                time += a.lanes.items[k].totals.items[t].time_ns;
            assert_int_equal(time, sum.time);
            assert_int_equal(a.lanes.items[k].intervals.count > 0, sum.rows > 0);
        }
        sonde_timeline_answer_fini(&a);
    }
    sonde_vector_fini(&ids);
    unload(&l);
}

/* ---- the whole run ------------------------------------------------------------------------------------------ */

static void busy_devices(void **state)
{
    struct loaded l = random_queues(5, 20000, 3, false);
    const uint64_t length = l.m->processes[0].header.stop_ns - 5;
    uint8_t *busy = calloc(length, 1);
    (void)state;
    for (uint32_t i = 0; i < truth.count; i++)
        memset(busy + truth.items[i].begin, 1, truth.items[i].end - truth.items[i].begin);
    for (uint32_t pixels = 1; pixels < 4000; pixels = pixels * 3 + 1) {
        struct sonde_overview o = {0};
        assert_int_equal(sonde_overview_compute(l.m, pixels, false, 0, &o, NULL), 0);
        assert_false(o.partial);
        assert_int_equal(o.to_ns, length);
        assert_int_equal(o.devices.count, 1);
        for (uint32_t i = 0; i < pixels; i++) {
            uint64_t sum = 0;
            for (uint64_t at = sonde_overview_at(&o, i); at < sonde_overview_at(&o, i + 1); at++)
                sum += busy[at];
            assert_int_equal(o.devices.items[0].busy_ns[i], sum);
        }
        sonde_overview_fini(&o);
        assert_int_equal(sonde_overview_compute(l.m, pixels, false, 100, &o, NULL), 0);
        assert_true(o.partial);
        for (uint32_t i = 0; i < pixels; i++)
            for (uint64_t at = sonde_overview_at(&o, i), most = 0; at < sonde_overview_at(&o, i + 1); at++)
                assert_true(o.devices.items[0].busy_ns[i] >= (most += busy[at]));
        sonde_overview_fini(&o);
    }
    struct sonde_overview none = {0};
    assert_int_equal(sonde_overview_compute(l.m, 0, false, 0, &none, NULL), SONDE_EINVALID);
    sonde_overview_fini(&none);
    free(busy);
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_queues),
        cmocka_unit_test(times_of_64_bits),
        cmocka_unit_test(one_long_lane),
        cmocka_unit_test(half_as_fine),
        cmocka_unit_test(too_much_at_once),
        cmocka_unit_test(damage),
        cmocka_unit_test(what_cannot_be_answered),
        cmocka_unit_test(odd_operations),
        cmocka_unit_test(what_threads_did),
        cmocka_unit_test(a_call_is_whole),
        cmocka_unit_test(a_call_over_windows),
        cmocka_unit_test(ranges_in_each_other),
        cmocka_unit_test(random_ranges),
        cmocka_unit_test(axes),
        cmocka_unit_test(processes_side_by_side),
        cmocka_unit_test(busy_devices),
    };
    setenv("SONDE_THREADS", "5", 1); /* few lanes are read in parts, wherever this runs */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
