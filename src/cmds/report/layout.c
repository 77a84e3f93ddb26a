/* layout.c - what a view answered, on the terminal: its tables, sentences and notes one below the other. */
#include <stdio.h>

#include "report.h"
#include "views/shown.h"

/* Indented no further than names stay readable; deeper ones say how much deeper. */
static void add_depth(struct sonde_text *label, uint32_t depth, const struct report *r)
{
    const uint32_t most = (uint32_t)r->columns / 8;
    for (uint32_t i = 0; i < depth && i < most; i++)
        sonde_text_add(label, "  ");
    if (depth > most)
        sonde_text_format(label, "+%u ", depth - most);
}

static void add_cell(struct table *out, const struct sonde_view_column *column, const struct sonde_cell *cell, const struct report *r)
{
    struct sonde_text text = {0};
    if (cell->state == SONDE_CELL_STRING)
        add_depth(&text, cell->depth, r);
    sonde_cell_show(column, cell, &text);
    table_cell(out, sonde_text_get(&text));
    sonde_text_fini(&text);
}

static void print_table(const struct report *r, const char *view, const struct sonde_view_table *t)
{
    char number[SONDE_NUMBER_MAX];
    struct sonde_view_column *columns = calloc(t->columns->count, sizeof *columns);
    struct table out = {.columns = columns, .readable = t->readable};
    for (size_t i = 0; columns && i < t->columns->count; i++) {
        if (!sonde_view_shows(t, i))
            continue;
        struct sonde_view_column *c = &columns[out.column_count++];
        *c = t->columns->items[i];
        c->title = sonde_view_title(t->columns, i);
    }
    for (size_t i = 0; out.column_count && i < t->count; i++) {
        const size_t column = i % t->columns->count;
        if (sonde_view_shows(t, column))
            add_cell(&out, &t->columns->items[column], &t->cells[i], r);
    }
    if (out.column_count)
        table_print(&out, r);
    if (t->left_out)
        report_say(r, "… %s more: sonde report %s %s --limit 0", sonde_number_count(number, t->left_out), r->word,
                   t->left_out_view ? t->left_out_view : view);
    free(columns);
}

static void print_sentence(const struct report *r, const struct sonde_view_item *item)
{
    static const char *const colors[] = {
        [SONDE_TONE_PLAIN] = "",
        [SONDE_TONE_TITLE] = "\033[1m",
        [SONDE_TONE_WARNING] = "\033[1;31m",
        [SONDE_TONE_ERROR] = "",
    };
    const bool colored = r->colors && item->tone != SONDE_TONE_PLAIN;
    const size_t room = sonde_text_prefix(item->sentence, r->columns > 2 ? (size_t)r->columns - 2 : 1);
    const bool fits = item->head <= room;
    struct sonde_text command = {0};
    if (item->command)
        sonde_text_format(&command, ": sonde report %s %s", r->word, item->command);
    fputs(colored ? colors[item->tone] : "", stdout);
    report_say(r, "%.*s%s%s%s", (int)(fits ? item->head : room), item->sentence, fits ? "" : "…", item->sentence + item->head,
               sonde_text_get(&command));
    fputs(colored ? "\033[0m" : "", stdout);
    sonde_text_fini(&command);
}

static void print_others(const struct report *r, const struct sonde_view *view)
{
    struct sonde_text line = {0};
    const char *between = " ";
    sonde_text_format(&line, "more: sonde report %s", r->word);
    for (const struct sonde_view *const *v = sonde_views; *v && !(*v)->hidden; v++) {
        if (*v == view)
            continue;
        sonde_text_format(&line, "%s%s", between, (*v)->name);
        between = " | ";
    }
    report_say(r, "%s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

void report_lay_out(const struct report *r, const struct sonde_view *view, const struct sonde_view_data *data)
{
    for (const struct sonde_view_item *item = data->items; item; item = item->next) {
        if (item->gap)
            fputc('\n', stdout);
        if (item->table)
            print_table(r, view->name, item->table);
        else if (item->sentence)
            print_sentence(r, item);
        else
            print_others(r, view);
    }
    for (const struct sonde_view_note *note = data->notes; note; note = note->next) {
        if (note == data->notes)
            fputc('\n', stdout);
        report_say(r, "note: %s", note->text);
    }
}
