/* cells.c - see cells.h.
 *
 * Values are those that json.c writes: a time is a whole number unless its style has fractions; a share, a number and a figure
 * are doubles; what is not finite is unknown, of a figure not a number. What nests is built from the rows within all cells of a
 * column, one after the other.
 */
#include "cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow.h"

enum { DEEPEST = 128 }; /* columns within columns: of trees, as deep as the data is; readers of Arrow recurse as we do */

struct row {
    const struct sonde_view_columns *columns;
    const struct sonde_cell *cells; /* NULL: there is no such row */
};

struct rows {
    struct row *items;
    size_t count;
    const struct sonde_view_columns *columns; /* what is known of them without any; of the first one, where there is one */
};

struct within { /* where in the descriptors: columns that contain themselves, which trees do, are found by it */
    const struct sonde_view_columns *of;
    const struct within *outer;
    int depth;
};

static int put_struct(const struct rows *rows, const char *name, bool nullable, const struct sonde__arrow_about *about,
                      const struct within *within, struct ArrowSchema *schema, struct ArrowArray *array);

/* ---- cells of one column ------------------------------------------------------------------ */

static const struct sonde_cell *cell_of(const struct rows *rows, size_t row, size_t column)
{
    const struct row *r = &rows->items[row];
    if (!r->cells || r->columns == rows->columns)
        return r->cells ? &r->cells[column] : NULL;
    const char *name = rows->columns->items[column].name;
    for (size_t i = 0; i < r->columns->count; i++)
        if (r->columns->items[i].name && name && strcmp(r->columns->items[i].name, name) == 0)
            return &r->cells[i];
    return NULL;
}

static bool is_null(const struct sonde_cell *cell)
{
    return !cell || cell->state <= SONDE_CELL_ABSENT || (cell->state == SONDE_CELL_STRING && !*cell->text);
}

static bool has_state(const struct rows *rows, size_t column, enum sonde_cell_state state)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct sonde_cell *cell = cell_of(rows, i, column);
        if (cell && cell->state == state)
            return true;
    }
    return false;
}

const char *sonde__cells_format(const struct sonde_view_column *column)
{
    switch (column->kind) {
    case SONDE_CELL_TEXT: return "U";
    case SONDE_CELL_COUNT:
    case SONDE_CELL_ID:
    case SONDE_CELL_KEY:
    case SONDE_CELL_BYTES: return "l";
    case SONDE_CELL_TIME: return column->style & SONDE_STYLE_FRACTION ? "g" : "l";
    case SONDE_CELL_SHARE:
    case SONDE_CELL_NUMBER:
    case SONDE_CELL_FIGURE: return "g";
    case SONDE_CELL_BOOLEAN: return "b";
    case SONDE_CELL_OBJECT:
    case SONDE_CELL_LIST:
    case SONDE_CELL_MAP: break;
    }
    return NULL;
}

/* Keys are text where one of them is a word, bytes are doubles where one of them is a mean. */
static const char *format_of(const struct rows *rows, size_t column)
{
    const struct sonde_view_column *c = &rows->columns->items[column];
    if (c->kind == SONDE_CELL_KEY && has_state(rows, column, SONDE_CELL_STRING))
        return "U";
    if (c->kind == SONDE_CELL_BYTES && has_state(rows, column, SONDE_CELL_REAL))
        return "g";
    return sonde__cells_format(c);
}

static int64_t whole_of(const struct sonde_cell *cell)
{
    if (cell->state == SONDE_CELL_REAL)
        return cell->real < 9e18 ? llround(cell->real) : INT64_MAX;
    return cell->integer < INT64_MAX ? (int64_t)cell->integer : INT64_MAX;
}

static double real_of(const struct sonde_view_column *column, const struct sonde_cell *cell)
{
    if (column->kind == SONDE_CELL_SHARE)
        return cell->real / cell->more;
    return cell->state == SONDE_CELL_INTEGER ? (double)cell->integer : cell->real;
}

static int put_numbers(const struct rows *rows, size_t column, bool real, struct ArrowArray *array, uint8_t *unknown)
{
    const struct sonde_view_column *c = &rows->columns->items[column];
    int64_t *values = sonde__arrow_memory(rows->count * sizeof *values);
    sonde__arrow_buffer(array, 1, values);
    if (!values)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < rows->count; i++) {
        const struct sonde_cell *cell = cell_of(rows, i, column);
        const double value = real && !is_null(cell) ? real_of(c, cell) : 0;
        unknown[i] = is_null(cell) || (!isfinite(value) && c->kind != SONDE_CELL_FIGURE);
        if (real)
            memcpy(&values[i], &value, sizeof value);
        else
            values[i] = unknown[i] ? 0 : whole_of(cell);
    }
    return 0;
}

static int put_booleans(const struct rows *rows, size_t column, struct ArrowArray *array, uint8_t *unknown)
{
    uint8_t *bytes = malloc(rows->count + 8);
    for (size_t i = 0; bytes && i < rows->count; i++) {
        const struct sonde_cell *cell = cell_of(rows, i, column);
        unknown[i] = is_null(cell);
        bytes[i] = !unknown[i] && cell->integer;
    }
    const int rc = bytes ? sonde__arrow_bits(array, 1, bytes) : SONDE_ENOMEM;
    free(bytes);
    return rc;
}

static int put_texts(const struct rows *rows, size_t column, struct ArrowArray *array, uint8_t *unknown)
{
    struct sonde__arrow_texts texts = {0};
    char number[24];
    for (size_t i = 0; i < rows->count; i++) {
        const struct sonde_cell *cell = cell_of(rows, i, column);
        unknown[i] = is_null(cell);
        if (!unknown[i] && cell->state == SONDE_CELL_INTEGER) {
            snprintf(number, sizeof number, "%" PRIu64, cell->integer);
            sonde__arrow_text(&texts, number);
        } else
            sonde__arrow_text(&texts, unknown[i] ? NULL : cell->text);
    }
    return sonde__arrow_texts_end(&texts, array);
}

/* ---- what nests ---------------------------------------------------------------------------- */

static bool is_bare(const struct sonde_view_columns *columns)
{
    return columns->count == 1 && !columns->items[0].name;
}

/* The rows within the cells of a column, those of each cell from offsets[i] on; of an object there is one for each cell. */
static int rows_within(const struct rows *rows, size_t column, bool one, struct rows *out, int64_t *offsets)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct sonde_cell *cell = cell_of(rows, i, column);
        count += one ? 1 : (is_null(cell) ? 0 : sonde_view_rows(cell->inner));
    }
    *out = (struct rows){calloc(count + 1, sizeof *out->items), 0, rows->columns->items[column].of};
    if (!out->items)
        return SONDE_ENOMEM;
    bool first = true;
    for (size_t i = 0; i < rows->count; i++) {
        const struct sonde_cell *cell = cell_of(rows, i, column);
        const size_t all = is_null(cell) ? 0 : sonde_view_rows(cell->inner);
        offsets[i] = (int64_t)out->count;
        if (all && first) {
            out->columns = cell->inner->columns;
            first = false;
        }
        for (size_t k = 0; k < (one ? 1 : all); k++)
            out->items[out->count++] = k < all ? (struct row){cell->inner->columns, &cell->inner->cells[k * cell->inner->columns->count]}
                                               : (struct row){0};
    }
    offsets[rows->count] = (int64_t)out->count;
    return 0;
}

static int put_column(const struct rows *rows, size_t column, const char *name, bool nullable, const struct within *within,
                      struct ArrowSchema *schema, struct ArrowArray *array);

/* Keys and values: a struct of both, whose fields have the names that Arrow gives them. */
static int put_entries(const struct rows *rows, const struct within *within, struct ArrowSchema *schema, struct ArrowArray *array)
{
    int rc = sonde__arrow_schema(schema, "entries", "+s", false, 2, NULL);
    rc = rc ? rc : sonde__arrow_array(array, (int64_t)rows->count, 1, 2);
    rc = rc ? rc : put_column(rows, 0, "key", false, within, schema->children[0], array->children[0]);
    return rc ? rc : put_column(rows, 1, "value", true, within, schema->children[1], array->children[1]);
}

static int put_map_offsets(struct ArrowArray *array, const int64_t *offsets, size_t count)
{
    int32_t *narrow = sonde__arrow_memory((count + 1) * sizeof *narrow);
    sonde__arrow_buffer(array, 1, narrow);
    for (size_t i = 0; narrow && i <= count; i++)
        narrow[i] = (int32_t)offsets[i];
    return narrow && offsets[count] <= INT32_MAX ? 0 : SONDE_ENOMEM;
}

static bool is_tree(const struct within *within)
{
    for (const struct within *w = within->outer; w; w = w->outer)
        if (w->of == within->of)
            return true;
    return false;
}

static int put_list(const struct rows *rows, size_t column, const struct within *within, struct ArrowSchema *schema,
                    struct ArrowArray *array, uint8_t *unknown)
{
    const bool map = rows->columns->items[column].kind == SONDE_CELL_MAP;
    int64_t *offsets = sonde__arrow_memory((rows->count + 1) * sizeof *offsets);
    struct rows inner = {0};
    int rc = offsets ? rows_within(rows, column, false, &inner, offsets) : SONDE_ENOMEM;
    for (size_t i = 0; !rc && i < rows->count; i++)
        unknown[i] = is_null(cell_of(rows, i, column));
    if (!rc && map)
        rc = put_map_offsets(array, offsets, rows->count);
    else if (!rc) {
        sonde__arrow_buffer(array, 1, offsets);
        offsets = NULL;
    }
    if (!rc && map)
        rc = put_entries(&inner, within, schema->children[0], array->children[0]);
    else if (!rc && !inner.count && is_tree(within)) { /* below its leaves: of lists without any item the type is null */
        rc = sonde__arrow_schema(schema->children[0], "item", "n", true, 0, NULL);
        rc = rc ? rc : sonde__arrow_array(array->children[0], 0, 0, 0);
    } else if (!rc && is_bare(inner.columns))
        rc = put_column(&inner, 0, "item", true, within, schema->children[0], array->children[0]);
    else if (!rc)
        rc = put_struct(&inner, "item", false, NULL, within, schema->children[0], array->children[0]);
    free(offsets);
    free(inner.items);
    return rc;
}

static int put_nested(const struct rows *rows, size_t column, const char *name, bool nullable, const struct within *within,
                      struct ArrowSchema *schema, struct ArrowArray *array)
{
    const struct sonde_view_column *c = &rows->columns->items[column];
    const struct sonde__arrow_about about = {.definition = c->definition};
    const struct within deeper = {c->of, within, within->depth + 1};
    if (deeper.depth > DEEPEST)
        return SONDE_EUNSUPPORTED;
    if (c->kind == SONDE_CELL_OBJECT) {
        int64_t *offsets = sonde__arrow_memory((rows->count + 1) * sizeof *offsets);
        struct rows inner = {0};
        int rc = offsets ? rows_within(rows, column, true, &inner, offsets) : SONDE_ENOMEM;
        rc = rc ? rc : put_struct(&inner, name, nullable, &about, &deeper, schema, array);
        free(offsets);
        free(inner.items);
        return rc;
    }
    uint8_t *unknown = malloc(rows->count + 8);
    int rc = unknown ? sonde__arrow_schema(schema, name, c->kind == SONDE_CELL_MAP ? "+m" : "+L", nullable, 1, &about) : SONDE_ENOMEM;
    rc = rc ? rc : sonde__arrow_array(array, (int64_t)rows->count, 2, 1);
    rc = rc ? rc : put_list(rows, column, &deeper, schema, array, unknown);
    rc = rc ? rc : sonde__arrow_unknown(array, unknown);
    free(unknown);
    return rc;
}

/* ---- columns, and all of them ---------------------------------------------------------------- */

static int put_column(const struct rows *rows, size_t column, const char *name, bool nullable, const struct within *within,
                      struct ArrowSchema *schema, struct ArrowArray *array)
{
    const struct sonde_view_column *c = &rows->columns->items[column];
    const struct sonde__arrow_about about = {.definition = c->definition, .unit = c->unit};
    const char *format = format_of(rows, column);
    if (!format)
        return put_nested(rows, column, name, nullable, within, schema, array);
    uint8_t *unknown = malloc(rows->count + 8);
    int rc = unknown ? sonde__arrow_schema(schema, name, format, nullable, 0, &about) : SONDE_ENOMEM;
    rc = rc ? rc : sonde__arrow_array(array, (int64_t)rows->count, *format == 'U' ? 3 : 2, 0);
    if (!rc && *format == 'U')
        rc = put_texts(rows, column, array, unknown);
    else if (!rc && *format == 'b')
        rc = put_booleans(rows, column, array, unknown);
    else if (!rc)
        rc = put_numbers(rows, column, *format == 'g', array, unknown);
    rc = rc ? rc : sonde__arrow_unknown(array, unknown);
    free(unknown);
    return rc;
}

static int put_struct(const struct rows *rows, const char *name, bool nullable, const struct sonde__arrow_about *about,
                      const struct within *within, struct ArrowSchema *schema, struct ArrowArray *array)
{
    int64_t children = 0, child = 0;
    for (size_t i = 0; i < rows->columns->count; i++)
        children += rows->columns->items[i].name != NULL;
    uint8_t *unknown = malloc(rows->count + 8);
    int rc = unknown ? sonde__arrow_schema(schema, name, "+s", nullable, children, about) : SONDE_ENOMEM;
    rc = rc ? rc : sonde__arrow_array(array, (int64_t)rows->count, 1, children);
    for (size_t i = 0; i < rows->columns->count && !rc; i++)
        if (rows->columns->items[i].name) {
            rc = put_column(rows, i, rows->columns->items[i].name, true, within, schema->children[child], array->children[child]);
            child++;
        }
    for (size_t i = 0; !rc && i < rows->count; i++)
        unknown[i] = rows->items[i].cells == NULL;
    rc = rc ? rc : sonde__arrow_unknown(array, unknown);
    free(unknown);
    return rc;
}

int sonde__cells_arrow(const struct sonde_view_table *t, struct ArrowSchema *schema, struct ArrowArray *array)
{
    const struct within within = {.of = t->columns};
    struct rows rows = {calloc(sonde_view_rows(t) + 1, sizeof *rows.items), sonde_view_rows(t), t->columns};
    *schema = (struct ArrowSchema){0};
    *array = (struct ArrowArray){0};
    for (size_t i = 0; rows.items && i < rows.count; i++)
        rows.items[i] = (struct row){t->columns, &t->cells[i * t->columns->count]};
    const int rc = rows.items ? put_struct(&rows, "", false, NULL, &within, schema, array) : SONDE_ENOMEM;
    if (rc)
        sonde__arrow_release(schema, array);
    free(rows.items);
    return rc;
}
