/* json.c - writes the tables of a view as JSON: an array of objects, or one object; one space per level.
 *
 * A number that is whole is written so; others have 15 significant digits and a dot or an exponent, so
 * that a reader takes them for what they are.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static void line(struct sonde_text *out, int depth)
{
    sonde_text_add(out, "\n");
    for (int i = 0; i < depth; i++)
        sonde_text_add(out, " ");
}

static void put_text(struct sonde_text *out, const char *text)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    struct sonde_text room = {0};
    sonde_text_add(out, "\"");
    for (const char *c = sonde_utf8_clean(text, &room); *c; c++) {
        const char *special = strchr(plain, *c);
        if (special)
            sonde_text_format(out, "\\%c", letter[special - plain]);
        else if ((unsigned char)*c < 0x20)
            sonde_text_format(out, "\\u%04X", (unsigned)*c);
        else
            sonde_text_add_bytes(out, c, 1);
    }
    sonde_text_add(out, "\"");
    sonde_text_fini(&room);
}

static void put_real(struct sonde_text *out, double value)
{
    char text[40];
    if (!isfinite(value)) { /* JSON has no word for it */
        sonde_text_add(out, "null");
        return;
    }
    snprintf(text, sizeof text, "%.15g", value);
    char *e = strchr(text, 'e');
    if (!e && !strchr(text, '.'))
        strcat(text, ".0");
    if (e) { /* e+05, e-05 -> e5, e-5 */
        char *to = e + 1 + (e[1] == '-'), *from = e + 2;
        from += strspn(from, "0");
        memmove(to, from, strlen(from) + 1);
    }
    sonde_text_add(out, text);
}

static void put_whole(struct sonde_text *out, uint64_t value) /* what does not fit is the largest number that does */
{
    sonde_text_format(out, "%" PRIu64, value < INT64_MAX ? value : (uint64_t)INT64_MAX);
}

static void put_figure(struct sonde_text *out, const char *unit, double value)
{
    if (!isfinite(value))
        sonde_text_add(out, "\"error\"");
    else if (unit && value == floor(value) && fabs(value) <= 0x1p62)
        sonde_text_format(out, "%lld", (long long)value);
    else
        put_real(out, value);
}

static void put_table(struct sonde_text *out, const struct sonde_view_table *t, bool single, int depth);
static void put_map(struct sonde_text *out, const struct sonde_view_table *t, int depth);

static void put_number(struct sonde_text *out, const struct sonde_view_column *column, const struct sonde_cell *cell)
{
    if (column->kind == SONDE_CELL_SHARE)
        put_real(out, cell->real / cell->more);
    else if (column->kind == SONDE_CELL_FIGURE)
        put_figure(out, column->unit, cell->real);
    else if (column->kind == SONDE_CELL_BOOLEAN)
        sonde_text_add(out, cell->integer ? "true" : "false");
    else if (cell->state == SONDE_CELL_INTEGER)
        put_whole(out, cell->integer);
    else if (column->kind == SONDE_CELL_TIME && !(column->style & SONDE_STYLE_FRACTION))
        sonde_text_format(out, "%lld", cell->real < 9e18 ? llround(cell->real) : (long long)INT64_MAX);
    else
        put_real(out, cell->real);
}

static bool is_null(const struct sonde_cell *cell)
{
    return cell->state <= SONDE_CELL_ABSENT || (cell->state == SONDE_CELL_STRING && !*cell->text);
}

static void put_cell(struct sonde_text *out, const struct sonde_view_column *column, const struct sonde_cell *cell, int depth)
{
    if (is_null(cell))
        sonde_text_add(out, "null");
    else if (cell->state == SONDE_CELL_STRING)
        put_text(out, cell->text);
    else if (column->kind == SONDE_CELL_MAP)
        put_map(out, cell->inner, depth);
    else if (cell->state == SONDE_CELL_INNER)
        put_table(out, cell->inner, column->kind == SONDE_CELL_OBJECT, depth);
    else
        put_number(out, column, cell);
}

static void put_object(struct sonde_text *out, const struct sonde_view_table *t, size_t row, int depth)
{
    bool begun = false;
    sonde_text_add(out, "{");
    for (size_t i = 0; i < t->columns->count; i++) {
        const struct sonde_view_column *column = &t->columns->items[i];
        const struct sonde_cell *cell = &t->cells[row * t->columns->count + i];
        if (!column->name || cell->state == SONDE_CELL_ABSENT)
            continue;
        sonde_text_add(out, begun ? "," : "");
        line(out, depth + 1);
        put_text(out, column->name);
        sonde_text_add(out, ": ");
        put_cell(out, column, cell, depth + 1);
        begun = true;
    }
    if (begun)
        line(out, depth);
    sonde_text_add(out, "}");
}

static void put_map(struct sonde_text *out, const struct sonde_view_table *t, int depth)
{
    sonde_text_add(out, "{");
    for (size_t i = 0; i + 1 < t->count; i += 2) {
        sonde_text_add(out, i ? "," : "");
        line(out, depth + 1);
        put_text(out, t->cells[i].text);
        sonde_text_add(out, ": ");
        put_cell(out, &t->columns->items[1], &t->cells[i + 1], depth + 1);
    }
    if (t->count)
        line(out, depth);
    sonde_text_add(out, "}");
}

static void put_table(struct sonde_text *out, const struct sonde_view_table *t, bool single, int depth)
{
    const size_t rows = sonde_view_rows(t);
    const bool bare = t->columns->count == 1 && !t->columns->items[0].name;
    if (single) {
        put_object(out, t, 0, depth);
        return;
    }
    sonde_text_add(out, "[");
    for (size_t i = 0; i < rows; i++) {
        sonde_text_add(out, i ? "," : "");
        line(out, depth + 1);
        if (bare)
            put_cell(out, t->columns->items, &t->cells[i], depth + 1);
        else
            put_object(out, t, i, depth + 1);
    }
    if (rows)
        line(out, depth);
    sonde_text_add(out, "]");
}

void sonde_view_json(const struct sonde_view *view, const struct sonde_view_data *data, struct sonde_text *out)
{
    put_table(out, data->root, view->single, 0);
    sonde_text_add(out, "\n");
}
