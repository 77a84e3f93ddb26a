/* table.c - tables and sentences that fit the terminal.
 *
 * A column is as wide as its widest cell. When that is too much, spare columns
 * are left out, the most dispensable first, until names stay readable; then the
 * widest of the elastic columns is cut, again and again (cut.c). Numbers
 * are never cut; --json has every column. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum {
    GAP = 2,
    READABLE = 20,
    READABLE_STACK = 26,
    READABLE_MAIN = 32,
    NARROWEST = 8,
    COLUMNS_MAX = 130,
};

void table_cell(struct table *t, const char *text)
{
    struct sonde_text clean = {0};
    sonde_text_add_clean(&clean, text);
    char *copy = strdup(sonde_text_get(&clean));
    sonde_text_fini(&clean);
    if (copy && sonde_vector_push(&t->cells, copy))
        free(copy);
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

static bool is_elastic(const struct sonde_view_column *column)
{
    return column->style & (SONDE_STYLE_ELASTIC | SONDE_STYLE_STACK | SONDE_STYLE_MAIN);
}

static bool is_right(const struct sonde_view_column *column)
{
    return column->kind != SONDE_CELL_TEXT || column->style & SONDE_STYLE_RIGHT;
}

/* What an elastic column must have before spare ones are worth their room. */
static int readable(const struct table *t, int c, int room)
{
    const unsigned style = t->columns[c].style;
    const int wanted = style & SONDE_STYLE_MAIN ? room * 2 / 5 : (style & SONDE_STYLE_STACK ? room / 4 : READABLE);
    const int most = style & SONDE_STYLE_MAIN ? READABLE_MAIN : READABLE_STACK;
    return t->readable ? t->readable : (wanted < READABLE ? READABLE : (wanted < most ? wanted : most));
}

/* Width of the table; with a `room`, of one whose elastic columns are only as wide as they must be. */
static int total_width(const struct table *t, const int *width, int room)
{
    int total = -GAP;
    for (int c = 0; c < t->column_count; c++) {
        const bool less = room && is_elastic(&t->columns[c]) && width[c] > readable(t, c, room);
        total += width[c] == LEFT_OUT ? 0 : (less ? readable(t, c, room) : width[c]) + GAP;
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

/* How much of an elastic column there is to give: a main one keeps half as much again as the others. */
static int excess(const struct table *t, const int *width, int c)
{
    return t->columns[c].style & SONDE_STYLE_MAIN ? width[c] * 2 / 3 : width[c];
}

static int widest_elastic(const struct table *t, const int *width)
{
    int widest = -1;
    for (int c = 0; c < t->column_count; c++)
        if (is_elastic(&t->columns[c]) && width[c] > NARROWEST &&
            (widest < 0 || excess(t, width, c) > excess(t, width, widest)))
            widest = c;
    return widest;
}

static void fit(const struct table *t, int *width, int room)
{
    for (int c; total_width(t, width, room) > room && (c = most_spare(t, width)) >= 0;)
        width[c] = LEFT_OUT;
    int total = total_width(t, width, 0);
    for (int c; total > room && (c = widest_elastic(t, width)) >= 0; total--)
        width[c]--;
}

static void print_cell(const struct sonde_view_column *column, const char *text, int width, bool last)
{
    const int columns = (int)sonde_text_columns(text);
    if (is_right(column))
        printf("%*s%s", width - columns, "", text);
    else
        fputs(text, stdout);
    if (!last)
        printf("%*s", (is_right(column) ? 0 : width - columns) + GAP, "");
}

static void print_row(const struct table *t, const int *width, const char *const *cells)
{
    int last = t->column_count - 1; /* nothing, not even spaces, after the last text */
    while (last > 0 && (width[last] == LEFT_OUT || !*cells[last]))
        last--;
    for (int c = 0; c <= last; c++)
        if (width[c] != LEFT_OUT)
            print_cell(&t->columns[c], cells[c], width[c], c == last);
}

static void row_cells(const struct table *t, char *const *shown, size_t at, const char **cells)
{
    for (int c = 0; c < t->column_count; c++)
        cells[c] = shown && shown[at + (size_t)c] ? shown[at + (size_t)c] : t->cells.items[at + (size_t)c];
}

static bool same_row(const struct table *t, const int *width, const char *const *a, const char *const *b)
{
    for (int c = 0; c < t->column_count; c++)
        if (width[c] != LEFT_OUT && strcmp(a[c], b[c]) != 0)
            return false;
    return true;
}

/* How many rows from cell `at` on look the same. */
static size_t alike(const struct table *t, const int *width, char *const *shown, size_t at)
{
    const size_t columns = (size_t)t->column_count;
    const char *cells[COLUMNS_MAX], *next[COLUMNS_MAX];
    size_t count = 1;
    row_cells(t, shown, at, cells);
    for (at += columns; at + columns <= t->cells.count; at += columns, count++) {
        row_cells(t, shown, at, next);
        if (!same_row(t, width, cells, next))
            break;
    }
    return count;
}

/* What is printed behind a row for so many: "  ×3". */
static int times(char text[32], size_t count)
{
    snprintf(text, 32, "  ×%zu", count);
    return count > 1 ? (int)sonde_text_columns(text) : 0;
}

/* The widest of these; 0: no two rows look the same. */
static int times_width(const struct table *t, const int *width, char *const *shown)
{
    char text[32];
    int most = 0;
    for (size_t i = 0, count; i + (size_t)t->column_count <= t->cells.count; i += count * (size_t)t->column_count) {
        const int columns = times(text, count = alike(t, width, shown, i));
        most = columns > most ? columns : most;
    }
    return most;
}

static void print_rows(const struct table *t, const int *width, char *const *shown)
{
    const char *cells[COLUMNS_MAX];
    char text[32];
    for (size_t i = 0, count; i + (size_t)t->column_count <= t->cells.count; i += count * (size_t)t->column_count) {
        row_cells(t, shown, i, cells);
        print_row(t, width, cells);
        if (times(text, count = alike(t, width, shown, i)))
            fputs(text, stdout);
        fputc('\n', stdout);
    }
}

static void free_shown(const struct table *t, char **shown)
{
    for (size_t i = 0; i < t->cells.count && shown; i++)
        free(shown[i]);
    free(shown);
}

void table_print(struct table *t, const struct report *r)
{
    int width[COLUMNS_MAX] = {0};
    const char *titles[COLUMNS_MAX];
    measure(t, width);
    fit(t, width, r->columns);
    char **shown = table_shown(t, width);
    const int more = times_width(t, width, shown);
    if (more && total_width(t, width, 0) + more > r->columns) {
        free_shown(t, shown);
        fit(t, width, r->columns - more);
        shown = table_shown(t, width);
    }
    for (int c = 0; c < t->column_count; c++)
        titles[c] = t->columns[c].title;
    fputs(r->colors ? "\033[1m" : "", stdout);
    print_row(t, width, titles);
    fputs(r->colors ? "\033[0m\n" : "\n", stdout);
    print_rows(t, width, shown);
    free_shown(t, shown);
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
    for (size_t at = strspn(line, " ") + 1; line[at] && (at <= most || !word); at++) {
        if (line[at] != ' ')
            continue;
        word = at;
        if (line[at - 1] == ',' || line[at + 1] == '|' || strncmp(line + at, " · ", strlen(" · ")) == 0)
            part = at;
    }
    return part > most / 2 ? part : (word ? word : strlen(line));
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
    const int indent = (int)strspn(line, " ") > 2 ? (int)strspn(line, " ") : 2;
    size_t room = (size_t)r->columns;
    for (size_t bytes; *line; line += bytes) {
        bytes = fitting(line, room);
        printf("%.*s", (int)bytes, line);
        if (line[bytes]) /* what follows begins with a space of its own */
            printf("\n%*s", indent - 1, "");
        room = (size_t)(r->columns - indent + 1);
    }
    fputc('\n', stdout);
    sonde_text_fini(&clean);
}
