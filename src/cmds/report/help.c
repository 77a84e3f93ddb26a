/* help.c - what a view shows and what its columns mean: as help, and as a page of the documentation. */
#include <stdio.h>
#include <string.h>

#include "cmds/command.h"
#include "report.h"

enum { MOST_TABLES = 64 };

/* The tables of a view and then what they contain, each once. */
struct found {
    const struct sonde_view_columns *list[MOST_TABLES];
    size_t count;
};

static bool is_bare(const struct sonde_view_columns *c)
{
    return c->count == 1 && !c->items[0].name && !c->items[0].title;
}

static void add(struct found *found, const struct sonde_view_columns *c)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->list[i] == c)
            return;
    if (found->count < MOST_TABLES && !is_bare(c))
        found->list[found->count++] = c;
}

static struct found find_all(const struct sonde_view *view)
{
    struct found found = {.count = 0};
    for (const struct sonde_view_columns *const *t = view->tables; *t; t++)
        add(&found, *t);
    for (size_t i = 0; i < found.count; i++)
        for (size_t k = 0; k < found.list[i]->count; k++)
            if (found.list[i]->items[k].of)
                add(&found, found.list[i]->items[k].of);
    return found;
}

static bool is_on_terminal(const struct sonde_view_columns *c)
{
    bool any = false;
    for (size_t i = 0; i < c->count; i++)
        any |= c->items[i].title != NULL;
    return any;
}

static const char *title_of(const struct sonde_view_columns *c, size_t i)
{
    return c->items[i].title && !*c->items[i].title ? c->subject : c->items[i].title;
}

/* ---- help ------------------------------------------------------------------------------------ */

static void print_column(const struct sonde_view_columns *c, size_t i, int columns)
{
    const struct sonde_view_column *column = &c->items[i];
    const char *title = title_of(c, i);
    char head[96];
    if (title && column->name)
        snprintf(head, sizeof head, "  %s (%s)", title, column->name);
    else
        snprintf(head, sizeof head, title ? "  %s" : "  (%s)", title ? title : column->name);
    sonde_help_entry(head, column->definition, columns);
}

static void print_options(const struct sonde_view *view, const struct sonde_option *options, int columns)
{
    struct sonde_text text = {0};
    sonde_text_add(&text, "Options: --limit, --json, --color, --no-pager");
    for (const struct sonde_option *o = options; o->name; o++)
        for (const char *const *name = view->options; name && *name; name++)
            if (strcmp(*name, o->name) == 0)
                sonde_text_format(&text, ", --%s", o->name);
    sonde_text_add(&text, "; see 'sonde report --help'.");
    fputc('\n', stdout);
    sonde_help_text(sonde_text_get(&text), columns);
    sonde_text_fini(&text);
}

void report_help(const struct sonde_view *view, const struct sonde_option *options, int columns)
{
    const struct found found = find_all(view);
    printf("Usage: sonde report [OPTION...] [DIR] %s\n\n", view->name);
    sonde_help_text(view->description ? view->description : view->summary, columns);
    fputc('\n', stdout);
    sonde_help_text("Columns, with their JSON names in parentheses. A dash, in JSON null, means unknown.", columns);
    for (size_t i = 0; i < found.count; i++) {
        const struct sonde_view_columns *c = found.list[i];
        printf("\n%s%s:\n", c->name, is_on_terminal(c) ? "" : " (JSON only)");
        for (size_t k = 0; k < c->count; k++)
            print_column(c, k, columns);
    }
    print_options(view, options, columns);
}

/* ---- docs/columns.md -------------------------------------------------------------------------- */

static const char *form_of(const struct sonde_view_column *column)
{
    static const char *const names[] = {
        [SONDE_CELL_TEXT] = "text",
        [SONDE_CELL_COUNT] = "count",
        [SONDE_CELL_ID] = "number",
        [SONDE_CELL_TIME] = "time",
        [SONDE_CELL_BYTES] = "bytes",
        [SONDE_CELL_SHARE] = "share",
        [SONDE_CELL_NUMBER] = "number",
        [SONDE_CELL_FIGURE] = "number",
        [SONDE_CELL_BOOLEAN] = "yes or no",
        [SONDE_CELL_OBJECT] = "object",
        [SONDE_CELL_LIST] = "list",
        [SONDE_CELL_MAP] = "map",
    };
    return names[column->kind];
}

static void print_markdown(const struct sonde_view_columns *c)
{
    puts("| Terminal | JSON | Is | Meaning |\n|---|---|---|---|");
    for (size_t i = 0; i < c->count; i++) {
        const struct sonde_view_column *column = &c->items[i];
        const char *title = title_of(c, i), *name = column->name;
        printf("| %s | %s%s%s | %s", title ? title : "", name ? "`" : "", name ? name : "", name ? "`" : "", form_of(column));
        if (column->unit)
            printf(", %s", column->unit);
        if (column->of && is_bare(column->of))
            printf(column->of->items->kind == SONDE_CELL_BYTES ? " of %s" : " of %ss", form_of(column->of->items));
        else if (column->of)
            printf(": `%s`", column->of->name);
        printf(" | %s |\n", column->definition);
    }
    fputc('\n', stdout);
}

void report_help_page(void)
{
    puts("# The columns of the views\n\n"
         "Generated by `sonde man --columns` from the views' own descriptors (`src/views`), which `sonde report --help VIEW` "
         "prints, too. A column without a JSON name is on the terminal only, one without a title in JSON only. In JSON, times "
         "are in nanoseconds and shares from 0 to 1. Unknown is `-` on the terminal and `null` in JSON. "
         "In a map, an object in JSON, the first column names the second.\n");
    for (const struct sonde_view *const *v = sonde_views; *v; v++) {
        const struct found found = find_all(*v);
        printf("## %s\n%s. JSON is %s.\n\n", (*v)->name, (*v)->summary, (*v)->single ? "one object" : "a list");
        for (size_t i = 0; i < found.count; i++) {
            printf("### %s: %s\n", (*v)->name, found.list[i]->name);
            print_markdown(found.list[i]);
        }
    }
}
