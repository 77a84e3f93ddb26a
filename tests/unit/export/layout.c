/* layout.c - slices of a lane: against a count of what overlaps, made here without rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/layout.h"

struct slice {
    uint64_t start_ns, end_ns;
    uint32_t id;
};

struct seen {
    uint64_t row_end[SONDE_LAYOUT_ROWS];
    uint64_t last_start;
    uint32_t rows, count, without_row, out_of_order;
    uint8_t *once; /* [id] */
};

static void take(void *user, uint32_t row, const void *item)
{
    struct seen *seen = user;
    const struct slice *slice = item;
    seen->count++;
    assert_int_equal(seen->once[slice->id]++, 0);
    seen->out_of_order += slice->start_ns < seen->last_start;
    seen->last_start = slice->start_ns;
    if (row == SONDE_LAYOUT_NO_ROW) {
        seen->without_row++;
        return;
    }
    assert_true(row < SONDE_LAYOUT_ROWS);
    assert_true(slice->start_ns >= seen->row_end[row]);
    seen->row_end[row] = slice->end_ns;
    if (row >= seen->rows)
        seen->rows = row + 1;
}

static struct seen run(const struct slice *slices, uint32_t count)
{
    struct seen seen = {.once = calloc(count, 1)};
    struct sonde_layout *layout = sonde_layout_create(sizeof(struct slice), take, &seen);
    assert_non_null(layout);
    for (uint32_t i = 0; i < count; i++)
        sonde_layout_add(layout, slices[i].start_ns, slices[i].end_ns, &slices[i]);
    sonde_layout_end(layout);
    sonde_layout_destroy(layout);
    free(seen.once);
    assert_int_equal(seen.count, count);
    return seen;
}

/* Most slices open at one moment: a sweep over starts and ends (ends first). */
static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : (int)(x[1] - y[1]);
}

static uint32_t most_at_once(const struct slice *slices, uint32_t count)
{
    int64_t (*edges)[2] = malloc(2 * count * sizeof *edges);
    int64_t now = 0, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        edges[2 * i][0] = (int64_t)slices[i].start_ns;
        edges[2 * i][1] = 1;
        edges[2 * i + 1][0] = (int64_t)slices[i].end_ns;
        edges[2 * i + 1][1] = -1;
    }
    qsort(edges, 2 * count, sizeof *edges, by_time);
    for (uint32_t i = 0; i < 2 * count; i++) {
        now += edges[i][1];
        most = now > most ? now : most;
    }
    free(edges);
    return (uint32_t)most;
}

static struct slice *random_slices(uint32_t count, unsigned seed, uint64_t step, uint64_t length, uint64_t jitter)
{
    struct slice *slices = malloc(count * sizeof *slices);
    srand(seed);
    for (uint32_t i = 0; i < count; i++) {
        slices[i].id = i;
        slices[i].start_ns = 1000000 + i * step + (jitter ? (uint64_t)rand() % jitter : 0);
        slices[i].end_ns = slices[i].start_ns + 1 + (uint64_t)rand() % length;
    }
    return slices;
}

static void one_after_the_other_needs_one_row(void **state)
{
    struct slice *slices = random_slices(100000, 1, 100, 100, 0);
    (void)state;
    struct seen seen = run(slices, 100000);
    assert_int_equal(seen.rows, 1);
    free(slices);
}

static void overlaps_need_as_many_rows_as_there_are_at_once(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct slice *slices = random_slices(30000, seed, 10, 40 * seed, 500);
        struct seen seen = run(slices, 30000);
        assert_int_equal(seen.rows, most_at_once(slices, 30000));
        assert_int_equal(seen.out_of_order, 0);
        assert_int_equal(seen.without_row, 0);
        free(slices);
    }
}

static void nothing_overlaps_when_the_window_is_too_small(void **state)
{
    uint32_t count = 4 * SONDE_LAYOUT_WINDOW;
    struct slice *slices = random_slices(count, 7, 10, 30, 0);
    (void)state;
    for (uint32_t i = 0; i < count / 2; i++) { /* last first */
        struct slice swap = slices[i];
        slices[i] = slices[count - 1 - i];
        slices[count - 1 - i] = swap;
    }
    struct seen seen = run(slices, count);
    assert_true(seen.out_of_order > 0);
    free(slices);
}

/* Nearly in order, then one that is far out of it, wherever the window's first slice lies then. */
static void one_that_is_late_finds_its_place(void **state)
{
    (void)state;
    for (uint32_t before = 1; before < 2 * SONDE_LAYOUT_WINDOW; before += 4099) {
        const uint32_t count = before + 5000;
        struct slice *slices = random_slices(count, before, 100, 90, 300);
        const uint32_t back = before < 30000 ? before : 30000;
        slices[before].start_ns = slices[before - back].start_ns + 50;
        slices[before].end_ns = slices[before].start_ns + 1;
        struct seen seen = run(slices, count);
        assert_int_equal(seen.out_of_order, 0);
        assert_int_equal(seen.rows, most_at_once(slices, count));
        free(slices);
    }
}

static void equal_starts_and_empty_slices_keep_their_order(void **state)
{
    struct slice slices[] = {{10, 20, 0}, {20, 20, 1}, {20, 20, 2}, {20, 30, 3}, {30, 30, 4}};
    (void)state;
    struct seen seen = run(slices, 5);
    assert_int_equal(seen.rows, 1);
}

static void more_at_once_than_rows_is_said(void **state)
{
    struct slice *slices = random_slices(SONDE_LAYOUT_ROWS + 5, 3, 1, 1, 0);
    (void)state;
    for (uint32_t i = 0; i < SONDE_LAYOUT_ROWS + 5; i++)
        slices[i].end_ns = 1u << 30;
    struct seen seen = run(slices, SONDE_LAYOUT_ROWS + 5);
    assert_int_equal(seen.rows, SONDE_LAYOUT_ROWS);
    assert_int_equal(seen.without_row, 5);
    free(slices);
}

/* ---- lanes that nest ------------------------------------------------------------ */

enum { DEEPEST = 512 };

/* What a reader of begins and ends sees: a stack per row. */
struct nested {
    uint64_t last[SONDE_LAYOUT_ROWS], open[SONDE_LAYOUT_ROWS][DEEPEST];
    uint32_t depth[SONDE_LAYOUT_ROWS], rows, begun, ended, without_row, deepest;
};

static void begins(void *user, uint32_t row, const void *item)
{
    struct nested *seen = user;
    const struct slice *slice = item;
    seen->begun++;
    if (row == SONDE_LAYOUT_NO_ROW) {
        seen->without_row++;
        return;
    }
    assert_true(slice->start_ns >= seen->last[row]);
    seen->last[row] = slice->start_ns;
    if (seen->depth[row])
        assert_true(slice->end_ns <= seen->open[row][seen->depth[row] - 1]);
    seen->open[row][seen->depth[row]++] = slice->end_ns;
    seen->rows = row >= seen->rows ? row + 1 : seen->rows;
    seen->deepest = seen->depth[row] > seen->deepest ? seen->depth[row] : seen->deepest;
}

static void ends(void *user, uint32_t row, uint64_t end_ns)
{
    struct nested *seen = user;
    assert_true(seen->depth[row] > 0);
    assert_int_equal(seen->open[row][--seen->depth[row]], end_ns);
    assert_true(end_ns >= seen->last[row]);
    seen->last[row] = end_ns;
    seen->ended++;
}

static struct nested *run_nested(const struct slice *slices, uint32_t count)
{
    struct nested *seen = calloc(1, sizeof *seen);
    struct sonde_layout *layout = sonde_layout_create(sizeof(struct slice), begins, seen);
    assert_non_null(seen);
    assert_non_null(layout);
    sonde_layout_nest(layout, ends);
    for (uint32_t i = 0; i < count; i++)
        sonde_layout_add(layout, slices[i].start_ns, slices[i].end_ns, &slices[i]);
    sonde_layout_end(layout);
    sonde_layout_destroy(layout);
    assert_int_equal(seen->begun, count);
    assert_int_equal(seen->ended, count - seen->without_row);
    return seen;
}

/* Brackets of random depth, in the order of their ends, as ranges are stored. */
static uint32_t make_brackets(struct slice *out, uint32_t depth, uint64_t *now, unsigned breadth)
{
    uint32_t count = 0;
    uint64_t start = *now;
    *now += (uint64_t)rand() % 3;
    for (unsigned i = 0; depth && i < breadth; i++)
        count += make_brackets(out + count, depth - 1, now, (unsigned)rand() % 4);
    *now += (uint64_t)rand() % 3;
    out[count] = (struct slice){start, *now, count};
    return count + 1;
}

static void brackets_need_one_row(void **state)
{
    struct slice *slices = malloc(100000 * sizeof *slices);
    (void)state;
    for (unsigned seed = 1; seed <= 200; seed++) {
        uint64_t now = 1000;
        uint32_t count = 0;
        srand(seed);
        while (count < 2000)
            count += make_brackets(slices + count, 6, &now, 4);
        struct nested *seen = run_nested(slices, count);
        assert_int_equal(seen->rows, 1);
        assert_int_equal(seen->without_row, 0);
        assert_true(seen->deepest >= 4);
        free(seen);
    }
    free(slices);
}

static void what_does_not_nest_goes_to_further_rows(void **state)
{
    struct slice two[] = {{10, 30, 0}, {20, 40, 1}, {22, 28, 2}, {40, 50, 3}};
    (void)state;
    struct nested *seen = run_nested(two, 4);
    assert_int_equal(seen->rows, 2);
    free(seen);
    for (unsigned seed = 1; seed <= 20; seed++) { /* legal, whatever comes */
        struct slice *slices = random_slices(60000, seed, 10, 40 * seed, 1000000 * (seed % 2));
        free(run_nested(slices, 60000));
        free(slices);
    }
}

static void deeper_than_a_row_goes_to_the_next(void **state)
{
    struct slice slices[SONDE_LAYOUT_DEPTH + 10];
    (void)state;
    for (uint32_t i = 0; i < SONDE_LAYOUT_DEPTH + 10; i++)
        slices[i] = (struct slice){i, 10000 - i, i};
    struct nested *seen = run_nested(slices, SONDE_LAYOUT_DEPTH + 10);
    assert_int_equal(seen->rows, 2);
    assert_int_equal(seen->deepest, SONDE_LAYOUT_DEPTH);
    free(seen);
}

/* The next lane does not nest unless it says so. */
static void a_lane_that_nests_leaves_nothing_behind(void **state)
{
    struct seen seen = {.once = calloc(3, 1)};
    struct slice slices[] = {{10, 40, 0}, {20, 30, 1}, {40, 50, 2}};
    struct sonde_layout *layout = sonde_layout_create(sizeof(struct slice), take, &seen);
    (void)state;
    sonde_layout_nest(layout, ends);
    sonde_layout_end(layout);
    for (uint32_t i = 0; i < 3; i++)
        sonde_layout_add(layout, slices[i].start_ns, slices[i].end_ns, &slices[i]);
    sonde_layout_end(layout);
    sonde_layout_destroy(layout);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.rows, 2);
    free(seen.once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other_needs_one_row),
        cmocka_unit_test(overlaps_need_as_many_rows_as_there_are_at_once),
        cmocka_unit_test(nothing_overlaps_when_the_window_is_too_small),
        cmocka_unit_test(one_that_is_late_finds_its_place),
        cmocka_unit_test(equal_starts_and_empty_slices_keep_their_order),
        cmocka_unit_test(more_at_once_than_rows_is_said),
        cmocka_unit_test(brackets_need_one_row),
        cmocka_unit_test(what_does_not_nest_goes_to_further_rows),
        cmocka_unit_test(deeper_than_a_row_goes_to_the_next),
        cmocka_unit_test(a_lane_that_nests_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
