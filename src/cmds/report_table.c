/* report_table.c - tables and sentences that fit the terminal.
 *
 * A column is as wide as its widest cell. When that is too much, spare columns
 * are left out, the most dispensable first, until names stay readable; then the
 * widest of the elastic columns is cut, again and again. Numbers are never cut;
 * --json has every column. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

enum { GAP = 2, READABLE = 20, NARROWEST = 8, COLUMNS_MAX = 130 };

void table_cell(struct table *t, const char *text)
{
    struct sonde_text clean = {0};
    sonde_text_add_clean(&clean, text);
    char *copy = strdup(sonde_text_get(&clean));
    sonde_text_fini(&clean);
    if (copy && sonde_vector_push(&t->cells, copy))
        free(copy);
}

void table_count(struct table *t, uint64_t n)
{
    char number[SONDE_NUMBER_MAX];
    table_cell(t, sonde_number_count(number, n));
}

void table_time(struct table *t, bool known, double ns)
{
    char number[SONDE_NUMBER_MAX];
    table_cell(t, known ? sonde_number_time(number, ns) : "-");
}

void table_bytes(struct table *t, bool known, double bytes)
{
    char number[SONDE_NUMBER_MAX];
    table_cell(t, known ? sonde_number_bytes(number, bytes) : "-");
}

void table_percent(struct table *t, double part, double whole)
{
    char number[SONDE_NUMBER_MAX];
    table_cell(t, sonde_number_percent(number, part, whole));
}

static void measure(const struct table *t, int *width)
{
    for (int c = 0; c < t->column_count; c++)
        width[c] = (int)sonde_text_columns(t->columns[c].title);
    for (size_t i = 0; i < t->cells.count; i++) {
        int columns = (int)sonde_text_columns(t->cells.items[i]);
        int *w = &width[i % (size_t)t->column_count];
        *w = columns > *w ? columns : *w;
    }
}

enum { LEFT_OUT = -1 };

/* Width of the table when no elastic column takes more than `elastic_most`. */
static int total_width(const struct table *t, const int *width, int elastic_most)
{
    int total = -GAP;
    for (int c = 0; c < t->column_count; c++) {
        bool cut = t->columns[c].style & TABLE_ELASTIC && width[c] > elastic_most;
        total += width[c] == LEFT_OUT ? 0 : (cut ? elastic_most : width[c]) + GAP;
    }
    return total;
}

static int most_spare(const struct table *t, const int *width)
{
    int most = -1;
    for (int c = 0; c < t->column_count; c++)
        if (width[c] != LEFT_OUT && t->columns[c].spare > (most < 0 ? 0 : t->columns[most].spare))
            most = c;
    return most;
}

static int widest_elastic(const struct table *t, const int *width)
{
    int widest = -1;
    for (int c = 0; c < t->column_count; c++)
        if (t->columns[c].style & TABLE_ELASTIC && width[c] > NARROWEST && (widest < 0 || width[c] > width[widest]))
            widest = c;
    return widest;
}

static void fit(const struct table *t, int *width, int room)
{
    const int readable = t->readable ? t->readable : READABLE;
    for (int c; total_width(t, width, readable) > room && (c = most_spare(t, width)) >= 0;)
        width[c] = LEFT_OUT;
    int total = total_width(t, width, INT_MAX);
    for (int c; total > room && (c = widest_elastic(t, width)) >= 0; total--)
        width[c]--;
}

static void print_cell(const struct table_column *column, const char *text, int width, bool last)
{
    int columns = (int)sonde_text_columns(text);
    if (columns > width) {
        size_t bytes = sonde_text_prefix(text, (size_t)width - 1);
        printf("%.*s…", (int)bytes, text);
        columns = width;
    } else if (column->style & TABLE_RIGHT) {
        printf("%*s%s", width - columns, "", text);
        columns = width;
    } else {
        fputs(text, stdout);
    }
    if (!last)
        printf("%*s", width - columns + GAP, "");
}

static void print_row(const struct table *t, const int *width, char *const *cells)
{
    int last = t->column_count - 1; /* nothing, not even spaces, after the last text */
    while (last > 0 && (width[last] == LEFT_OUT || !*cells[last]))
        last--;
    for (int c = 0; c <= last; c++)
        if (width[c] != LEFT_OUT)
            print_cell(&t->columns[c], cells[c], width[c], c == last);
}

void table_print(struct table *t, const struct report *r)
{
    int width[COLUMNS_MAX] = {0};
    char *titles[COLUMNS_MAX];
    measure(t, width);
    fit(t, width, r->columns);
    for (int c = 0; c < t->column_count; c++)
        titles[c] = (char *)t->columns[c].title;
    fputs(r->colors ? "\033[1m" : "", stdout);
    print_row(t, width, titles);
    fputs(r->colors ? "\033[0m\n" : "\n", stdout);
    for (size_t i = 0; i + (size_t)t->column_count <= t->cells.count; i += (size_t)t->column_count) {
        print_row(t, width, t->cells.items + i);
        fputc('\n', stdout);
    }
    for (size_t i = 0; i < t->cells.count; i++)
        free(t->cells.items[i]);
    sonde_vector_fini(&t->cells);
}

/* Bytes of `line` for a line of `room` columns: all, or up to a space; best one
 * between parts (", ", " · ", " | "), unless half of the line would stay empty. */
static size_t fitting(const char *line, size_t room)
{
    size_t most = sonde_text_prefix(line, room), part = 0, word = 0;
    if (!line[most])
        return most;
    for (size_t at = 1; line[at] && (at <= most || !word); at++) {
        if (line[at] != ' ')
            continue;
        word = at;
        if (line[at - 1] == ',' || line[at + 1] == '|' || strncmp(line + at, " · ", strlen(" · ")) == 0)
            part = at;
    }
    return part > most / 2 ? part : word ? word : strlen(line);
}

void report_say(const struct report *r, const char *format, ...)
{
    struct sonde_text clean = {0};
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0)
        sonde_text_add_clean(&clean, text);
    va_end(args);
    free(text);
    const char *line = sonde_text_get(&clean);
    size_t room = (size_t)r->columns;
    for (size_t bytes; *line; line += bytes) {
        bytes = fitting(line, room);
        printf("%.*s%s", (int)bytes, line, line[bytes] ? "\n " : ""); /* what follows begins with a space of its own */
        room = (size_t)r->columns - 1;
    }
    fputc('\n', stdout);
    sonde_text_fini(&clean);
}

void report_more(const struct report *r, const char *view, size_t shown, size_t all)
{
    char number[SONDE_NUMBER_MAX];
    if (shown < all)
        report_say(r, "… %s more: sonde report %s %s --limit 0", sonde_number_count(number, all - shown), r->word, view);
}
