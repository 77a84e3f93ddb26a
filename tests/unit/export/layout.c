/* layout.c - slices of a lane: against a count of what overlaps, made here without rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/layout.h"

struct slice { uint64_t start_ns, end_ns; uint32_t id; };

struct seen {
    uint64_t row_end[SONDE_LAYOUT_ROWS];
    uint64_t last_start;
    uint32_t rows, count, without_row, out_of_order;
    uint8_t *once; /* [id] */
};

static void take(void *user, uint32_t row, const void *item)
{
    struct seen        *seen = user;
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
    int64_t(*edges)[2] = malloc(2 * count * sizeof *edges);
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
    uint32_t      count = 4 * SONDE_LAYOUT_WINDOW;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other_needs_one_row),
        cmocka_unit_test(overlaps_need_as_many_rows_as_there_are_at_once),
        cmocka_unit_test(nothing_overlaps_when_the_window_is_too_small),
        cmocka_unit_test(equal_starts_and_empty_slices_keep_their_order),
        cmocka_unit_test(more_at_once_than_rows_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
