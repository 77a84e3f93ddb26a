/* text.c - the request `text`: a view as people read it, in parts: its sentences, its tables with titled columns and formatted
 * cells, its notes. Beside each formatted number is the number, so that the page can sort.
 */
#include "describe.h"
#include "view.h"
#include "views/shown.h"

/* ---- tables --------------------------------------------------------------------- */

static const struct sonde_view_column cell_columns[] = {
    {.kind = SONDE_CELL_TEXT, .definition = "what is read there; null: nothing"},
};
static const struct sonde_view_columns cells = SONDE_VIEW_COLUMNS("cells", cell_columns);

static const struct sonde_view_column value_columns[] = {
    {.kind = SONDE_CELL_NUMBER, .definition = "the number of which the cell is made; null: unknown, or a text"},
};
static const struct sonde_view_columns values = SONDE_VIEW_COLUMNS("values", value_columns);

static const struct sonde_view_column row_columns[] = {
    {.name = "depth", .kind = SONDE_CELL_COUNT, .definition = "how deep the row stands in a tree; absent: in none, or at its root"},
    {.name = "cells", .kind = SONDE_CELL_LIST, .definition = "what people read, a text for each column", .of = &cells},
    {.name = "values", .kind = SONDE_CELL_LIST, .definition = "the numbers of which the cells are made, one for each column", .of = &values},
};
static const struct sonde_view_columns rows = SONDE_VIEW_COLUMNS("rows", row_columns);

static const struct sonde_view_column table_columns[] = {
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "what the rows are, in one word"},
    {.name = "columns", .kind = SONDE_CELL_LIST, .definition = "those that are shown", .of = &sonde__described_columns},
    {.name = "rows", .kind = SONDE_CELL_LIST, .definition = "its rows", .of = &rows},
    {.name = "left_out", .kind = SONDE_CELL_COUNT, .definition = "rows that the limit left out"},
    {.name = "left_out_view", .kind = SONDE_CELL_TEXT, .definition = "the view that has them; null: this one, with limit=0"},
};
static const struct sonde_view_columns table = SONDE_VIEW_COLUMNS("table", table_columns);

static void value_cell(struct sonde_view_table *t, const struct sonde_view_column *column, const struct sonde_cell *cell)
{
    if (cell->state == SONDE_CELL_INTEGER)
        sonde_cell_int(t, true, cell->integer);
    else if (cell->state == SONDE_CELL_REAL)
        sonde_cell_real(t, true, column->kind == SONDE_CELL_SHARE ? cell->real / cell->more : cell->real);
    else
        sonde_cell_unknown(t);
}

static void row(struct sonde_view_table *t, const struct sonde_view_table *shown, size_t first)
{
    const size_t count = shown->columns->count;
    uint32_t depth = 0;
    for (size_t i = 0; i < count; i++)
        depth = sonde_view_shows(shown, i) && shown->cells[first + i].depth > depth ? shown->cells[first + i].depth : depth;
    if (depth)
        sonde_cell_int(t, true, depth);
    else
        sonde_cell_absent(t);
    struct sonde_view_table *texts = sonde_cell_list(t), *numbers = sonde_cell_list(t);
    for (size_t i = 0; i < count; i++) {
        const struct sonde_view_column *column = &shown->columns->items[i];
        const struct sonde_cell *cell = &shown->cells[first + i];
        struct sonde_text text = {0};
        if (!sonde_view_shows(shown, i))
            continue;
        sonde_cell_show(column, cell, &text);
        sonde_cell_take(texts, &text);
        value_cell(numbers, column, cell);
    }
}

static void fill_table(struct sonde_view_table *t, const struct sonde_view_table *shown)
{
    const size_t count = shown->columns->count;
    sonde_cell_text(t, shown->columns->name);
    struct sonde_view_table *columns = sonde_cell_list(t);
    for (size_t i = 0; i < count; i++)
        if (sonde_view_shows(shown, i))
            sonde__describe_column(columns, shown->columns, i, NULL);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i + count <= shown->count && sonde_view_rows(columns); i += count)
        row(list, shown, i);
    sonde_cell_int(t, true, shown->left_out);
    sonde_cell_text(t, shown->left_out_view);
}

/* ---- what is read, in its order ----------------------------------------------------- */

static const struct sonde_view_column name_columns[] = {
    {.kind = SONDE_CELL_TEXT, .definition = "the name of a view"},
};
static const struct sonde_view_columns names = SONDE_VIEW_COLUMNS("names", name_columns);

static const struct sonde_view_column item_columns[] = {
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "table, sentence or others; what the others have is absent"},
    {.name = "gap", .kind = SONDE_CELL_BOOLEAN, .definition = "it stands apart from what is above it"},
    {.name = "table", .kind = SONDE_CELL_OBJECT, .definition = "a table", .of = &table},
    {.name = "tone", .kind = SONDE_CELL_TEXT, .definition = "sentence: plain, title, warning or error"},
    {.name = "head", .kind = SONDE_CELL_TEXT, .definition = "sentence: its begin, a command line, which may be cut; null: none"},
    {.name = "text", .kind = SONDE_CELL_TEXT, .definition = "sentence: the rest of it"},
    {.name = "command", .kind = SONDE_CELL_TEXT, .definition = "sentence: the view, with its options, that shows what it speaks of; null: none"},
    {.name = "views", .kind = SONDE_CELL_LIST, .definition = "others: which other views there are", .of = &names},
};
static const struct sonde_view_columns items = SONDE_VIEW_COLUMNS("items", item_columns);

static const struct sonde_view_column page_columns[] = {
    {.name = "view", .kind = SONDE_CELL_TEXT, .definition = "its name"},
    {.name = "items", .kind = SONDE_CELL_LIST, .definition = "what is read, in its order", .of = &items},
    {.name = "notes", .kind = SONDE_CELL_LIST, .definition = "what must be known before it is believed", .of = &sonde__described_notes},
};
static const struct sonde_view_columns page = SONDE_VIEW_COLUMNS("page", page_columns);

static void absent(struct sonde_view_table *t, int count)
{
    for (int i = 0; i < count; i++)
        sonde_cell_absent(t);
}

static void sentence(struct sonde_view_table *t, const struct sonde_view_item *item)
{
    static const char *const tones[] = {
        [SONDE_TONE_PLAIN] = "plain",
        [SONDE_TONE_TITLE] = "title",
        [SONDE_TONE_WARNING] = "warning",
        [SONDE_TONE_ERROR] = "error",
    };
    struct sonde_text head = {0};
    sonde_text_add_bytes(&head, item->sentence, item->head);
    sonde_cell_text(t, tones[item->tone]);
    sonde_cell_take(t, &head);
    sonde_cell_text(t, item->sentence + item->head);
    sonde_cell_text(t, item->command);
}

static void item_row(struct sonde_view_table *t, const struct sonde_view *view, const struct sonde_view_item *item)
{
    sonde_cell_text(t, item->table ? "table" : (item->sentence ? "sentence" : "others"));
    sonde_cell_boolean(t, item->gap);
    if (item->table) {
        fill_table(sonde_cell_object(t), item->table);
        absent(t, 5);
    } else if (item->sentence) {
        absent(t, 1);
        sentence(t, item);
        absent(t, 1);
    } else {
        absent(t, 5);
        struct sonde_view_table *list = sonde_cell_list(t);
        for (const struct sonde_view *const *v = sonde_views; *v && !(*v)->hidden; v++)
            if (*v != view)
                sonde_cell_text(list, (*v)->name);
    }
}

static void fill(struct sonde_view_table *t, const struct sonde_view *view, const struct sonde_view_data *shown)
{
    sonde_cell_text(t, view->name);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (const struct sonde_view_item *item = shown->items; item; item = item->next)
        item_row(list, view, item);
    sonde__describe_notes(sonde_cell_list(t), shown);
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    struct sonde__viewed viewed;
    struct sonde_view_data data = {0};
    int rc = sonde__view_ask(session, argument, options, false, &viewed, problem);
    if (!rc) {
        data.root = sonde_view_table(&data, &page);
        fill(data.root, viewed.view, &viewed.data);
        rc = sonde__answer_json(&data, true, out, problem);
    }
    sonde_view_data_fini(&data);
    sonde__viewed_fini(&viewed);
    return rc;
}

const struct sonde_request sonde_request_text = {
    .name = "text",
    .argument = "VIEW",
    .summary = "a view for people: its sentences, tables and notes",
    .options = sonde_question_options,
    .options_bytes = sizeof(struct sonde_question),
    .defaults = &sonde__view_nothing,
    .answer = answer,
};
