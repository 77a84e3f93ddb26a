/* shown.c - see shown.h. */
#include "shown.h"

#include "base/number.h"

bool sonde_view_shows(const struct sonde_view_table *t, size_t index)
{
    return t->columns->items[index].title && !(index < 64 && t->hidden >> index & 1);
}

const char *sonde_view_title(const struct sonde_view_columns *columns, size_t index)
{
    const char *title = columns->items[index].title;
    return title && !*title ? columns->subject : title;
}

static void show_number(enum sonde_cell_kind kind, const struct sonde_cell *cell, struct sonde_text *out)
{
    const double value = cell->state == SONDE_CELL_INTEGER ? (double)cell->integer : cell->real;
    char number[SONDE_ESTIMATE_MAX];
    if (kind == SONDE_CELL_COUNT)
        sonde_text_add(out, sonde_number_count(number, cell->integer));
    else if (kind == SONDE_CELL_TIME)
        sonde_text_add(out, sonde_number_estimate(number, value, cell->more));
    else if (kind == SONDE_CELL_BYTES)
        sonde_text_add(out, sonde_number_bytes(number, value));
    else if (kind == SONDE_CELL_SHARE)
        sonde_text_add(out, sonde_number_percent(number, cell->real, cell->more));
    else if (kind == SONDE_CELL_NUMBER)
        sonde_text_add(out, sonde_number_plain(number, value));
    else if (kind == SONDE_CELL_BOOLEAN)
        sonde_text_add(out, cell->integer ? "yes" : "no");
    else
        sonde_text_format(out, "%llu", (unsigned long long)cell->integer);
}

void sonde_cell_show(const struct sonde_view_column *column, const struct sonde_cell *cell, struct sonde_text *out)
{
    if (cell->state <= SONDE_CELL_ABSENT)
        sonde_text_add(out, "-");
    else if (cell->state == SONDE_CELL_STRING)
        sonde_text_add(out, cell->text);
    else if (cell->state != SONDE_CELL_INNER)
        show_number(column->kind, cell, out);
}
