/* markdown.c - tables and sentences as GitHub's Markdown (https://github.github.com/gfm/#tables-extension-). */
#include "markdown.h"

#include <string.h>

#include "views/shown.h"

/* Names come from the program: nothing in them is markup, a link or a mention. */
static void add_plain(struct sonde_text *out, const char *text)
{
    struct sonde_text clean = {0};
    sonde_text_add_clean(&clean, text);
    for (const char *c = sonde_text_get(&clean); *c; c++) {
        if (*c == '&' || *c == '<' || *c == '>' || *c == '@')
            sonde_text_format(out, "&#%d;", *c);
        else {
            sonde_text_add(out, strchr("\\`*_{}[]|~#!$", *c) ? "\\" : "");
            sonde_text_add_bytes(out, c, 1);
        }
    }
    sonde_text_fini(&clean);
}

static bool is_right(const struct sonde_view_column *column)
{
    return column->kind != SONDE_CELL_TEXT || column->style & SONDE_STYLE_RIGHT;
}

static void add_table(struct sonde_text *out, const struct sonde_view_table *t)
{
    const size_t width = t->columns->count;
    for (size_t i = 0; i < width; i++)
        if (sonde_view_shows(t, i))
            sonde_text_format(out, "| %s ", sonde_view_title(t->columns, i));
    sonde_text_add(out, "|\n");
    for (size_t i = 0; i < width; i++)
        if (sonde_view_shows(t, i))
            sonde_text_add(out, is_right(&t->columns->items[i]) ? "|---:" : "|---");
    sonde_text_add(out, "|\n");
    for (size_t i = 0; i < t->count; i++) {
        struct sonde_text cell = {0};
        if (sonde_view_shows(t, i % width)) {
            sonde_cell_show(&t->columns->items[i % width], &t->cells[i], &cell);
            sonde_text_add(out, "| ");
            add_plain(out, sonde_text_get(&cell));
            sonde_text_add(out, " ");
        }
        sonde_text_add(out, i % width == width - 1 ? "|\n" : "");
        sonde_text_fini(&cell);
    }
    sonde_text_add(out, "\n");
}

void diff_markdown(const struct sonde_view_data *data, struct sonde_text *out)
{
    for (const struct sonde_view_item *item = data->items; item; item = item->next) {
        const char *mark = item->tone == SONDE_TONE_PLAIN ? "" : "**";
        if (item->table) {
            add_table(out, item->table);
            continue;
        }
        sonde_text_add(out, mark);
        add_plain(out, item->sentence);
        sonde_text_format(out, "%s\n\n", mark);
    }
}
