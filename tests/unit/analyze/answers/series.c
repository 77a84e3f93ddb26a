/* series.c - unit tests of what rises and falls over the run: random operations and data objects, and each bin of many ranges and
 * widths computed again from the value at each nanosecond; peaks against the view memory's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/answers/memory/memory.h"
#include "analyze/answers/timeline/own.h"
#include "analyze/answers/timeline/series.h"
#include "analyze/answers/timeline/series_own.h"
#include "scene.h"

enum {
    START = 7000,      /* of the run, on the process's axis */
    LENGTH = 300000,   /* bins of the whole run are several nanoseconds wide */
    DEVICES = 2,
    KINDS = 5,
};

static uint64_t seed = 5;
static uint64_t noise(uint64_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
}

/* ---- the truth: a value at each nanosecond -------------------------------------------------------------- */

static const struct {
    const char *name;
    enum sonde_series_unit unit;
} kinds[KINDS] = {
    {"busy", SONDE_SERIES_SHARE},
    {"operations in flight", SONDE_SERIES_OPERATIONS},
    {"device memory", SONDE_SERIES_BYTES},
    {"shared memory", SONDE_SERIES_BYTES},
    {"pinned host memory", SONDE_SERIES_BYTES},
};
static int64_t truth[DEVICES + 1][KINDS][LENGTH + 1]; /* of busy how many run */

static void raise(uint32_t device, int kind, uint64_t from, uint64_t to, int64_t by)
{
    if (from >= to)
        return;
    if (from < LENGTH)
        truth[device][kind][from] += by;
    if (to < LENGTH)
        truth[device][kind][to] -= by;
}

static void add_up(void)
{
    for (int d = 0; d <= DEVICES; d++)
        for (int k = 0; k < KINDS; k++) {
            for (int i = 1; i < LENGTH; i++)
                truth[d][k][i] += truth[d][k][i - 1];
            truth[d][k][LENGTH] = truth[d][k][LENGTH - 1];
        }
}

static int64_t value_at(uint32_t device, int kind, uint64_t at_ns)
{
    const int64_t value = truth[device][kind][at_ns < LENGTH ? at_ns : LENGTH];
    return kind == 0 ? value > 0 : value;
}

/* ---- a measurement ---------------------------------------------------------------------------------------- */

static void add_op(struct scene *s, uint32_t queue, uint32_t device, uint32_t node, struct sonde_row_op op)
{
    op.node = node;
    op.queued_ns = op.submit_ns = op.enter_ns;
    synth_add(scene_build(s), SONDE_TABLE_OP, queue, &op);
    if (op.flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME))
        return;
    if (op.kind != SONDE_OP_MARKER)
        raise(device, 0, op.start_ns - START, op.end_ns - START, 1);
    raise(device, 1, op.enter_ns - START, op.end_ns - START, 1);
}

/* Bursts that wait for long and gaps; some overlap, some take no time, some have none that is known. */
static void add_operations(struct scene *s, uint32_t queue, uint32_t device, uint32_t node, uint32_t count)
{
    uint64_t now = START + noise(2000);
    for (uint32_t i = 0; i < count; i++) {
        now += noise(200) ? noise(2 * LENGTH / count) : noise(LENGTH / 20);
        const uint64_t length = noise(20) ? noise(30) : noise(3000), wait = noise(50) ? noise(400) : noise(60000);
        struct sonde_row_op op = {
            .correlation = i + 1,
            .enter_ns = now - START > wait ? now - wait : START,
            .start_ns = now,
            .end_ns = now + length,
            .kind = noise(10) ? SONDE_OP_KERNEL : SONDE_OP_MARKER,
        };
        if (now + length >= START + LENGTH)
            return;
        if (i % 500 == 100)
            op = (struct sonde_row_op){.enter_ns = now, .kind = SONDE_OP_KERNEL, .flags = SONDE_OP_NO_TIMES};
        if (i % 500 == 101)
            op = (struct sonde_row_op){.enter_ns = now, .start_ns = now + 5, .end_ns = now - 5, .kind = SONDE_OP_KERNEL, .flags = SONDE_OP_BAD_TIME};
        add_op(s, queue, device, node, op);
    }
}

static void add_objects(struct scene *s, uint32_t count)
{
    static const uint32_t object_kinds[] = {SONDE_OBJECT_DEVICE, SONDE_OBJECT_MANAGED, SONDE_OBJECT_PINNED};
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t from = noise(LENGTH), to = noise(4) ? from + noise(LENGTH - from) : 0;
        const uint32_t class = (uint32_t)noise(3), device = (uint32_t)noise(DEVICES + 2);
        struct sonde_row_object o = {
            .kind = object_kinds[class],
            .bytes = noise(9) ? noise(1000) : UINT64_C(1) << 40,
            .alloc_ns = START + from,
            .free_ns = to ? START + to : 0,
            .device = device,
        };
        if (i % 50 == 10)
            o.parent = i; /* lies in the one before: no bytes of its own */
        if (i % 50 == 20)
            o.free_ns = o.alloc_ns - 1; /* times that cannot be */
        if (i % 50 == 30)
            o.kind = SONDE_OBJECT_NONE;
        synth_add(scene_build(s), SONDE_TABLE_OBJECT, 0, &o);
        if (i % 50 == 10 || i % 50 == 20 || i % 50 == 30)
            continue;
        raise(class == 2 || device > DEVICES ? 0 : device, 2 + (int)class, from, to ? to : LENGTH, (int64_t)o.bytes);
    }
}

static struct sonde_measurement *random_run(uint32_t operations, uint32_t objects)
{
    struct scene *s = scene_create();
    const uint32_t thread = scene_thread(s), node = scene_kernel(s, thread, scene_api(s, thread, 0, "launch"), "k");
    memset(truth, 0, sizeof truth);
    scene_header(s)->start_ns = START;
    scene_header(s)->stop_ns = START + LENGTH;
    for (uint32_t d = 1; d <= DEVICES; d++) {
        const uint32_t device = scene_device(s, "gpu");
        assert_int_equal(device, d);
        for (int queue = 0; queue < 3; queue++)
            add_operations(s, scene_queue(s, device), device, node, operations);
    }
    add_objects(s, objects);
    add_up();
    return scene_open(s);
}

/* ---- each bin --------------------------------------------------------------------------------------------- */

static void check_bin(uint32_t device, int kind, uint64_t begin, uint64_t width, const struct sonde_series_bin *bin)
{
    uint64_t low = UINT64_MAX, high = 0;
    double sum = 0; /* of integers below 2^53 */
    for (uint64_t at = begin; at < begin + width; at++) {
        const uint64_t value = (uint64_t)value_at(device, kind, at);
        low = value < low ? value : low;
        high = value > high ? value : high;
        sum += (double)value;
    }
    assert_int_equal(bin->least, low);
    assert_int_equal(bin->most, high);
    assert_int_equal(bin->last, (uint64_t)value_at(device, kind, begin + width - 1));
    if (high < UINT64_C(1) << 30)
        assert_true(bin->mean == sum / (double)width);
    else
        assert_true(bin->mean >= (double)low && bin->mean <= (double)high);
}

static int kind_of(const struct sonde_series_about *about)
{
    for (int k = 0; k < KINDS; k++)
        if (strcmp(kinds[k].name, about->name) == 0) {
            assert_int_equal(about->unit, kinds[k].unit);
            return k;
        }
    fail_msg("a series called %s", about->name);
    return 0;
}

static void check_answer(const struct sonde_series *series, const struct sonde_series_answer *a)
{
    for (size_t i = 0; i < a->lines.count; i++) {
        const struct sonde_series_line *line = &a->lines.items[i];
        const struct sonde_series_about *about = sonde_series_about(series, line->number);
        if (!line->partial) {
            assert_int_equal(line->from_ns, a->from_ns);
            assert_int_equal(line->bin_ns, a->bin_ns);
            assert_int_equal(line->from_ns + line->bins.count * line->bin_ns, a->to_ns);
        }
        for (size_t k = 0; k < line->bins.count; k++)
            check_bin(about->device, kind_of(about), line->from_ns + k * line->bin_ns, line->bin_ns, &line->bins.items[k]);
    }
}

static void ask(struct sonde_series *series, struct sonde_series_question question, struct sonde_series_answer *a)
{
    *a = (struct sonde_series_answer){0};
    assert_int_equal(sonde_series_ask(series, &question, a, NULL), 0);
    assert_true(a->from_ns <= question.from_ns);
    if (question.to_ns)
        assert_true(a->to_ns >= question.to_ns);
}

static void random_bins(void **state)
{
    struct sonde_measurement *m = random_run(9000, 400);
    struct sonde_series *series;
    (void)state;
    assert_int_equal(sonde_series_create(m, &series), 0);
    assert_int_equal(sonde_series_count(series), DEVICES * 4 + 3); /* what names no device that is known, and pinned memory */
    for (int i = 0; i < 60; i++) {
        struct sonde_series_answer a;
        const uint64_t from = i ? noise(LENGTH) : 0, to = i ? from + 1 + noise(i % 2 ? 3000 : LENGTH + 500 - from) : 0;
        ask(series, (struct sonde_series_question){.from_ns = from, .to_ns = to, .pixels = 1 + (uint32_t)noise(i % 3 ? 3000 : 16384)}, &a);
        assert_false(a.partial);
        check_answer(series, &a);
        sonde_series_answer_fini(&a);
    }
    sonde_series_destroy(series);
    sonde_measurement_close(m);
}

/* What is read at once is a small part of it: more parts, the same bins. */
static void many_parts(void **state)
{
    struct sonde_measurement *m = random_run(4000, 0);
    (void)state;
    for (uint32_t device = 1; device <= DEVICES; device++) {
        struct sonde__flights f;
        assert_int_equal(sonde__flights_init(&f, &m->processes[0], device, START, LENGTH, device == 1 ? 16 : 10), 0);
        f.steps_most = 100;
        assert_int_equal(sonde__flights_know(&f), 0);
        for (int i = 0; i < 20; i++) {
            const uint32_t level = (uint32_t)noise(f.level + 3);
            const uint64_t first = noise(LENGTH) >> level, count = 1 + noise((LENGTH >> level) + 1);
            struct sonde__level *levels = malloc(2 * count * sizeof *levels);
            assert_int_equal(sonde__flights_fill(&f, level, first, first + count - 1, (struct sonde__level *const[]){levels, levels + count}), 0);
            for (uint64_t k = 0; k < 2 * count; k++) {
                const struct sonde_series_bin bin = {levels[k].least, levels[k].most, levels[k].last, (double)levels[k].sum / (double)(1ull << level)};
                check_bin(device, k < count, (first + k % count) << level, 1ull << level, &bin);
            }
            free(levels);
        }
        sonde__flights_fini(&f);
    }
    sonde_measurement_close(m);
}

/* Without `exact`: nothing before all was read once; then bins of the whole run, and what they say is true. */
static void too_much_at_once(void **state)
{
    struct sonde_measurement *m = random_run(9000, 50);
    struct sonde_series *series;
    struct sonde_series_answer a;
    (void)state;
    assert_int_equal(sonde_series_create(m, &series), 0);
    const struct sonde_series_question fine = {.from_ns = 1000, .to_ns = 3000, .pixels = 2000, .rows_most = 100};
    struct sonde_series_question exact = fine;
    exact.exact = true;
    ask(series, fine, &a);
    assert_true(a.partial);
    assert_int_equal(a.read_rows, 0);
    for (size_t i = 0; i < a.lines.count; i++) {
        const bool memory = sonde_series_about(series, a.lines.items[i].number)->unit == SONDE_SERIES_BYTES;
        assert_int_equal(a.lines.items[i].partial, !memory);
        assert_int_equal(a.lines.items[i].bins.count > 0, memory);
    }
    sonde_series_answer_fini(&a);
    ask(series, exact, &a);
    assert_false(a.partial);
    assert_true(a.read_rows > 100);
    check_answer(series, &a);
    sonde_series_answer_fini(&a);
    ask(series, fine, &a); /* all was read once: now there are wide bins */
    assert_true(a.partial);
    assert_int_equal(a.read_rows, 0);
    for (size_t i = 0; i < a.lines.count; i++)
        assert_true(a.lines.items[i].bins.count > 0 && (!a.lines.items[i].partial || a.lines.items[i].bin_ns > a.bin_ns));
    check_answer(series, &a);
    sonde_series_answer_fini(&a);
    ask(series, (struct sonde_series_question){.pixels = 100, .rows_most = 100}, &a); /* nothing has to be read */
    assert_false(a.partial);
    check_answer(series, &a);
    sonde_series_answer_fini(&a);
    sonde_series_destroy(series);
    sonde_measurement_close(m);
}

/* Peak and its instant are those of the view memory. */
static void as_the_view_memory(void **state)
{
    struct sonde_measurement *m = random_run(10, 300);
    struct sonde_profile *profile;
    struct sonde_memory_use use = {0};
    struct sonde_series *series;
    struct sonde_series_answer a;
    size_t spaces = 0;
    (void)state;
    assert_int_equal(sonde_profile_build(m, &profile, NULL), 0);
    assert_int_equal(sonde_memory_compute(m, profile, NULL, &use), 0);
    assert_int_equal(sonde_series_create(m, &series), 0);
    ask(series, (struct sonde_series_question){.pixels = 16384}, &a);
    for (size_t i = 0; i < a.lines.count; i++) {
        const struct sonde_series_about *about = sonde_series_about(series, a.lines.items[i].number);
        uint64_t most = 0, at = 0;
        for (size_t k = 0; k < a.lines.items[i].bins.count; k++)
            if (a.lines.items[i].bins.items[k].most > most) {
                most = a.lines.items[i].bins.items[k].most;
                at = a.lines.items[i].from_ns + k * a.lines.items[i].bin_ns;
            }
        for (size_t s = 0; s < use.spaces.count && about->unit == SONDE_SERIES_BYTES; s++) {
            const struct sonde_memory_space *space = &use.spaces.items[s];
            if (space->device != about->device || (int)space->class != kind_of(about) - 2)
                continue;
            assert_int_equal(most, space->peak_bytes);
            assert_in_range(space->peak_ns - START, at, at + a.lines.items[i].bin_ns - 1);
            spaces++;
        }
    }
    assert_int_equal(spaces, use.spaces.count);
    sonde_series_answer_fini(&a);
    sonde_series_destroy(series);
    sonde_memory_fini(&use);
    sonde_profile_destroy(profile);
    sonde_measurement_close(m);
}

static void what_cannot_be_answered(void **state)
{
    struct sonde_measurement *m = random_run(100, 10);
    struct sonde_series *series;
    const uint32_t twice[] = {0, 1, 0}, none[] = {999};
    const struct {
        struct sonde_series_question question;
        int rc;
    } cases[] = {
        {{.pixels = 0}, SONDE_EINVALID},
        {{.pixels = SONDE_TIMELINE_PIXELS + 1}, SONDE_EINVALID},
        {{.pixels = 10, .from_ns = LENGTH}, SONDE_EINVALID},
        {{.pixels = 10, .from_ns = 20, .to_ns = 20}, SONDE_EINVALID},
        {{.pixels = 10, .numbers = twice, .count = 3}, SONDE_EINVALID},
        {{.pixels = 10, .numbers = none, .count = 1}, SONDE_ENOTFOUND},
    };
    (void)state;
    assert_int_equal(sonde_series_create(m, &series), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sonde_series_answer a = {0};
        struct sonde_diag diag = {0};
        assert_int_equal(sonde_series_ask(series, &cases[i].question, &a, &diag), cases[i].rc);
        assert_true(*diag.what);
        sonde_series_answer_fini(&a);
    }
    sonde_series_destroy(series);
    sonde_measurement_close(m);
}

static void nothing_to_show(void **state)
{
    struct scene *s = scene_create();
    struct sonde_series *series;
    struct sonde_series_answer a;
    (void)state;
    scene_queue(s, scene_device(s, "gpu"));
    struct sonde_measurement *m = scene_open(s);
    assert_int_equal(sonde_series_create(m, &series), 0);
    assert_int_equal(sonde_series_count(series), 0);
    ask(series, (struct sonde_series_question){.pixels = 10}, &a);
    assert_int_equal(a.lines.count, 0);
    sonde_series_answer_fini(&a);
    sonde_series_destroy(series);
    sonde_measurement_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bins),
        cmocka_unit_test(many_parts),
        cmocka_unit_test(too_much_at_once),
        cmocka_unit_test(as_the_view_memory),
        cmocka_unit_test(what_cannot_be_answered),
        cmocka_unit_test(nothing_to_show),
    };
    setenv("SONDE_THREADS", "4", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
