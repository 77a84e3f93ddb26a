/* table.c - unit tests of what views are made of: cells that do not fit their columns are found, and the
 * JSON writer writes byte for byte what jansson writes of the same values.
 */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "views/json.h"

static const struct sonde_view_column size_columns[] = {{.kind = SONDE_CELL_COUNT, .definition = "one"}};
static const struct sonde_view_columns sizes = SONDE_VIEW_COLUMNS("sizes", size_columns);
static const struct sonde_view_column place_columns[] = {
    {.name = "file", .kind = SONDE_CELL_TEXT, .definition = "where"},
    {.name = "line", .kind = SONDE_CELL_ID, .definition = "where in it"},
};
static const struct sonde_view_columns place = SONDE_VIEW_COLUMNS("place", place_columns);
static const struct sonde_view_column kind_columns[] = {
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "what they are"},
    {.name = "count", .kind = SONDE_CELL_COUNT, .definition = "how many"},
};
static const struct sonde_view_columns kinds = SONDE_VIEW_COLUMNS("kinds", kind_columns);
static const struct sonde_view_column columns[] = {
    {.name = "name", .title = "Name", .kind = SONDE_CELL_TEXT, .definition = "what it is called"},
    {.title = "only here", .kind = SONDE_CELL_TEXT, .definition = "not in JSON"},
    {.name = "count", .kind = SONDE_CELL_COUNT, .definition = "how many"},
    {.name = "total_ns", .kind = SONDE_CELL_TIME, .definition = "a time"},
    {.name = "mean_ns", .kind = SONDE_CELL_TIME, .style = SONDE_STYLE_FRACTION, .definition = "a time with a fraction"},
    {.name = "share", .kind = SONDE_CELL_SHARE, .definition = "part of a whole"},
    {.name = "rate", .kind = SONDE_CELL_NUMBER, .definition = "a number"},
    {.name = "good", .kind = SONDE_CELL_BOOLEAN, .definition = "yes or no"},
    {.name = "figure", .kind = SONDE_CELL_FIGURE, .definition = "a formula's", .unit = "ns"},
    {.name = "place", .kind = SONDE_CELL_OBJECT, .definition = "an object", .of = &place},
    {.name = "sizes", .kind = SONDE_CELL_LIST, .definition = "a list", .of = &sizes},
    {.name = "kinds", .kind = SONDE_CELL_MAP, .definition = "a map", .of = &kinds},
};
static const struct sonde_view_columns table = SONDE_VIEW_COLUMNS("rows", columns);

static double number;   /* of the next row */
static const char *text;
static int wrong;

static int make_rows(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    (void)q;
    (void)diag;
    struct sonde_view_table *t = out->root = sonde_view_table(out, &table);
    for (int i = 0; i < 2; i++) { /* one with everything, one with nothing */
        sonde_cell_text(t, i ? "" : text);
        sonde_cell_text(t, "x");
        sonde_cell_int(t, true, i ? UINT64_MAX : 1504);
        sonde_cell_real(t, !i, number);
        sonde_cell_real(t, !i, number);
        sonde_cell_share(t, 1, i ? 0 : 3);
        sonde_cell_real(t, !i, number);
        sonde_cell_boolean(t, i);
        sonde_cell_figure(t, true, i ? NAN : -5);
        if (i) {
            sonde_cell_absent(t);
            sonde_cell_unknown(t);
            sonde_cell_map(t);
            continue;
        }
        struct sonde_view_table *inner = sonde_cell_object(t), *list = sonde_cell_list(t), *map = sonde_cell_map(t);
        sonde_cell_text(inner, "heat.c");
        sonde_cell_int(inner, false, 0);
        for (uint64_t k = 0; k < 3; k++)
            sonde_cell_int(list, true, k);
        sonde_cell_text(map, text);
        sonde_cell_int(map, true, 7);
        sonde_cell_text(map, "fill");
        sonde_cell_unknown(map);
    }
    return 0;
}

static const struct sonde_view rows = {.name = "rows", .make = make_rows};
static const struct sonde_query query = {.complete = true};

static json_t *expected(void)
{
    json_t *whole = json_integer(number < 9e18 ? llround(number) : INT64_MAX);
    return json_pack("[{s:s, s:i, s:o, s:f, s:f, s:f, s:b, s:i, s:{s:s, s:n}, s:[i, i, i], s:{s:i, s:n}}, "
                     "{s:n, s:I, s:n, s:n, s:n, s:n, s:b, s:s, s:n, s:{}}]",
                     "name", text, "count", 1504, "total_ns", whole, "mean_ns", number, "share", 1.0 / 3, "rate", number, "good", 0,
                     "figure", -5, "place", "file", "heat.c", "line", "sizes", 0, 1, 2, "kinds", text, 7, "fill",
                     "name", "count", (json_int_t)INT64_MAX, "total_ns", "mean_ns", "share", "rate", "good", 1, "figure", "error", "sizes",
                     "kinds");
}

static void same_as_jansson(void)
{
    struct sonde_view_data data = {0};
    struct sonde_diag diag = {0};
    struct sonde_text written = {0};
    json_t *value = expected();
    assert_true(value);
    char *dumped = json_dumps(value, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    assert_true(sonde_view_make(&rows, &query, &data, &diag) == 0);
    sonde_view_json(&rows, &data, &written);
    assert_true(!written.failed && dumped);
    const size_t length = strlen(dumped);
    assert_int_equal(written.length, length + 1);
    written.bytes[length] = '\0'; /* the newline at the end */
    assert_string_equal(written.bytes, dumped);
    free(dumped);
    json_decref(value);
    sonde_text_fini(&written);
    sonde_view_data_fini(&data);
}

static void test_json(void **state)
{
    (void)state;
    static const double numbers[] = {0, 1, 12.5, 0.1, 1e-5, 1.5e-300, 123456789012345, 1e15, 1e16, 1e17, 3.5e18, 9.3e18, 1e300, 1.0 / 3};
    static const char *const texts[] = {"plain", "a\"b\\c/d", "tab\tnew\nline\r\b\f", "\x01\x1f\x7f", "größe 数 \xf0\x9f\x8e\x89"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            number = numbers[i];
            text = texts[k];
            same_as_jansson();
        }
    text = "random";
    srand(7);
    for (int i = 0; i < 2000; i++) {
        number = (double)rand() * pow(10, rand() % 40 - 24);
        same_as_jansson();
    }
}

/* ---- what does not fit ------------------------------------------------------------------ */

static int make_wrong(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    (void)q;
    (void)diag;
    struct sonde_view_table *t = out->root = sonde_view_table(out, &place);
    if (wrong == 0)
        sonde_cell_int(t, true, 1); /* a number where a name belongs */
    else
        sonde_cell_text(t, "heat.c");
    if (wrong == 1)
        return 0; /* half a row */
    sonde_cell_int(t, true, 1);
    return 0;
}

static void test_wrong_cells(void **state)
{
    (void)state;
    static const struct sonde_view view = {.name = "wrong", .make = make_wrong};
    for (wrong = 0; wrong < 3; wrong++) {
        struct sonde_view_data data = {0};
        struct sonde_diag diag = {0};
        assert_true(sonde_view_make(&view, &query, &data, &diag) == (wrong < 2 ? SONDE_EINVALID : 0));
        sonde_view_data_fini(&data);
    }
}

/* ---- what the descriptors say ---------------------------------------------------------------- */

static void check_columns(const struct sonde_view_columns *c, int depth)
{
    assert_true(c->count > 0 && c->name);
    for (size_t i = 0; i < c->count; i++) {
        const struct sonde_view_column *column = &c->items[i];
        const bool inner = column->kind >= SONDE_CELL_OBJECT;
        const char *d = column->definition;
        assert_true(d && *d && d[strlen(d) - 1] != '.');
        assert_true(inner == (column->of != NULL) && !(inner && column->title));
        assert_true(column->name || column->title || c->count == 1);
        assert_true(!column->title || *column->title || c->subject);
        for (size_t k = 0; k < i; k++) /* a name is there once */
            assert_true(!column->name || !c->items[k].name || strcmp(column->name, c->items[k].name) != 0);
        if (inner && depth < 8)
            check_columns(column->of, depth + 1);
    }
}

static void test_descriptors(void **state)
{
    (void)state;
    for (const struct sonde_view *const *v = sonde_views; *v; v++) {
        assert_true((*v)->make && (*v)->summary && sonde_view_find((*v)->name) == *v);
        for (const struct sonde_view_columns *const *t = (*v)->tables; *t; t++)
            check_columns(*t, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_wrong_cells),
        cmocka_unit_test(test_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
