/* views.c - the request `views`: what there is to ask, of which the page makes its menus, tables and explanations. */
#include "describe.h"
#include "request.h"
#include "views/question.h"

static const struct sonde_view_column table_columns[] = {
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "what the rows are, in one word"},
    {.name = "columns", .kind = SONDE_CELL_LIST, .definition = "its columns", .of = &sonde__described_columns},
};
static const struct sonde_view_columns tables = SONDE_VIEW_COLUMNS("tables", table_columns);

static const struct sonde_view_column view_columns[] = {
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "as it stands in a request"},
    {.name = "summary", .kind = SONDE_CELL_TEXT, .definition = "what it shows, in one line"},
    {.name = "description", .kind = SONDE_CELL_TEXT, .definition = "the same in one or two sentences; null: the summary is enough"},
    {.name = "single", .kind = SONDE_CELL_BOOLEAN, .definition = "its JSON is one object, not a list of them"},
    {.name = "needs_operations", .kind = SONDE_CELL_BOOLEAN, .definition = "it has no answer where there is no operation"},
    {.name = "hidden", .kind = SONDE_CELL_BOOLEAN, .definition = "an older name of another view, which lists leave out"},
    {.name = "options", .kind = SONDE_CELL_LIST, .definition = "the options that say something to it", .of = &sonde__described_options},
    {.name = "tables", .kind = SONDE_CELL_LIST, .definition = "first the one that its JSON is, then what else it shows, then what is in the columns of these", .of = &tables},
};
static const struct sonde_view_columns views = SONDE_VIEW_COLUMNS("views", view_columns);

static void table_cells(struct sonde_view_table *t, const struct sonde_view *view)
{
    const struct sonde_view_tables found = sonde_view_tables(view);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < found.count; i++) {
        sonde_cell_text(list, found.list[i]->name);
        struct sonde_view_table *columns = sonde_cell_list(list);
        for (size_t k = 0; k < found.list[i]->count; k++)
            sonde__describe_column(columns, found.list[i], k, &found);
    }
}

static void row(struct sonde_view_table *t, const struct sonde_view *view)
{
    sonde_cell_text(t, view->name);
    sonde_cell_text(t, view->summary);
    sonde_cell_text(t, view->description);
    sonde_cell_boolean(t, view->single);
    sonde_cell_boolean(t, view->needs_operations);
    sonde_cell_boolean(t, view->hidden);
    struct sonde_view_table *options = sonde_cell_list(t);
    for (const struct sonde_option *o = sonde_question_options; o->name; o = sonde_option_next(o))
        if (sonde_question_concerns(o, view))
            sonde__describe_option(options, o);
    table_cells(t, view);
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    struct sonde_view_data data = {0};
    (void)session, (void)argument, (void)options;
    data.root = sonde_view_table(&data, &views);
    for (const struct sonde_view *const *v = sonde_views; *v; v++)
        row(data.root, *v);
    const int rc = sonde__answer_json(&data, false, out, problem);
    sonde_view_data_fini(&data);
    return rc;
}

const struct sonde_request sonde_request_views = {
    .name = "views",
    .summary = "the views, their options, and what their columns mean",
    .answer = answer,
};
