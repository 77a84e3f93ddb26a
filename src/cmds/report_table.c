/* report_table.c - tables that fit the terminal: columns as wide as their widest
 * cell; when that is too much, the widest elastic column is cut, again and
 * again, then spare columns are left out (--json has them all). */
#include <stdio.h>
#include <string.h>

#include "report.h"

enum { GAP = 2, NARROWEST = 10 };

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

static int total_width(const struct table *t, const int *width)
{
    int total = -GAP;
    for (int c = 0; c < t->column_count; c++)
        total += width[c] == LEFT_OUT ? 0 : width[c] + GAP;
    return total;
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
    int total = total_width(t, width);
    for (int c; total > room && (c = widest_elastic(t, width)) >= 0; total--)
        width[c]--;
    for (int c = t->column_count; c-- > 0 && total > room; total = total_width(t, width))
        if (t->columns[c].style & TABLE_SPARE)
            width[c] = LEFT_OUT; /* numbers are never cut: beyond this a too narrow terminal wraps them */
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

void table_print(struct table *t, const struct report *r)
{
    int width[16] = {0};
    measure(t, width);
    fit(t, width, r->columns);
    if (r->colors)
        fputs("\033[1m", stdout);
    int titles = t->column_count; /* nothing, not even spaces, after the last title */
    while (titles > 1 && !*t->columns[titles - 1].title)
        titles--;
    for (int c = 0; c < titles; c++)
        if (width[c] != LEFT_OUT)
            print_cell(&t->columns[c], t->columns[c].title, width[c], c + 1 == titles);
    fputs(r->colors ? "\033[0m\n" : "\n", stdout);
    for (size_t i = 0; i < t->cells.count; i++) {
        int c = (int)(i % (size_t)t->column_count);
        bool last = c + 1 == t->column_count;
        if (width[c] != LEFT_OUT)
            print_cell(&t->columns[c], t->cells.items[i], width[c], last);
        if (last)
            fputc('\n', stdout);
        free(t->cells.items[i]);
    }
    sonde_vector_fini(&t->cells);
}

void report_more(const struct report *r, const char *view, size_t shown, size_t all)
{
    char number[SONDE_NUMBER_MAX];
    if (shown < all)
        printf("… %s more: sonde report %s %s --limit 0\n",
               sonde_number_count(number, all - shown), r->path, view);
}
