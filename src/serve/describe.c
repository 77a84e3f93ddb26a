/* describe.c - see describe.h. */
#include "describe.h"

#include "analyze/answers/summary/caveats.h"
#include "views/shown.h"

/* ---- columns ------------------------------------------------------------------------ */

static const char *kind_name(enum sonde_cell_kind kind)
{
    static const char *const names[] = {
        [SONDE_CELL_TEXT] = "text",
        [SONDE_CELL_COUNT] = "count",
        [SONDE_CELL_ID] = "id",
        [SONDE_CELL_KEY] = "key",
        [SONDE_CELL_TIME] = "time",
        [SONDE_CELL_BYTES] = "bytes",
        [SONDE_CELL_SHARE] = "share",
        [SONDE_CELL_NUMBER] = "number",
        [SONDE_CELL_FIGURE] = "figure",
        [SONDE_CELL_BOOLEAN] = "boolean",
        [SONDE_CELL_OBJECT] = "object",
        [SONDE_CELL_LIST] = "list",
        [SONDE_CELL_MAP] = "map",
    };
    return names[kind];
}

static const struct sonde_view_column style_columns[] = {
    {.kind = SONDE_CELL_TEXT, .definition = "right, elastic, stack, main or fraction"},
};
static const struct sonde_view_columns styles = SONDE_VIEW_COLUMNS("styles", style_columns);

static const struct sonde_view_column column_columns[] = {
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "its name in JSON; null: people alone see it"},
    {.name = "shown", .kind = SONDE_CELL_BOOLEAN, .definition = "people see it; else it is in JSON alone"},
    {.name = "title", .kind = SONDE_CELL_TEXT, .definition = "what stands above it; null: nothing"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "text, count, id, key, time, bytes, share, number, figure, boolean, object, list or map"},
    {.name = "style", .kind = SONDE_CELL_LIST, .definition = "how it is laid out", .of = &styles},
    {.name = "spare", .kind = SONDE_CELL_COUNT, .definition = "0: always there; others are left out where there is no room, the highest first"},
    {.name = "unit", .kind = SONDE_CELL_TEXT, .definition = "of a number; null: what the kind says, or none"},
    {.name = "definition", .kind = SONDE_CELL_TEXT, .definition = "what it means"},
    {.name = "table", .kind = SONDE_CELL_ID, .definition = "object, list, map: the number of the table that is in it, among those of the view from 0"},
    {.name = "of", .kind = SONDE_CELL_TEXT, .definition = "list of bare values: their kind"},
};
const struct sonde_view_columns sonde__described_columns = SONDE_VIEW_COLUMNS("columns", column_columns);

static void style_cell(struct sonde_view_table *t, unsigned style)
{
    static const struct {
        enum sonde_view_style bit;
        const char *name;
    } names[] = {
        {SONDE_STYLE_RIGHT, "right"},
        {SONDE_STYLE_ELASTIC, "elastic"},
        {SONDE_STYLE_STACK, "stack"},
        {SONDE_STYLE_MAIN, "main"},
        {SONDE_STYLE_FRACTION, "fraction"},
    };
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (style & names[i].bit)
            sonde_cell_text(list, names[i].name);
}

static void inner_cells(struct sonde_view_table *t, const struct sonde_view_columns *of, const struct sonde_view_tables *among)
{
    size_t at = 0;
    while (among && of && at < among->count && among->list[at] != of)
        at++;
    sonde_cell_int(t, among && of && at < among->count, at);
    sonde_cell_text(t, of && sonde_view_is_bare(of) ? kind_name(of->items->kind) : NULL);
}

void sonde__describe_column(struct sonde_view_table *t, const struct sonde_view_columns *columns, size_t index,
                            const struct sonde_view_tables *among)
{
    const struct sonde_view_column *column = &columns->items[index];
    sonde_cell_text(t, column->name);
    sonde_cell_boolean(t, column->title);
    sonde_cell_text(t, sonde_view_title(columns, index));
    sonde_cell_text(t, kind_name(column->kind));
    style_cell(t, column->style);
    sonde_cell_int(t, true, (uint64_t)column->spare);
    sonde_cell_text(t, column->unit);
    sonde_cell_text(t, column->definition);
    inner_cells(t, column->of, among);
}

/* ---- options ------------------------------------------------------------------------- */

static const struct sonde_view_column choice_columns[] = {
    {.kind = SONDE_CELL_TEXT, .definition = "a word"},
};
static const struct sonde_view_columns choices = SONDE_VIEW_COLUMNS("choices", choice_columns);

static const struct sonde_view_column option_columns[] = {
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "as it stands in a request"},
    {.name = "type", .kind = SONDE_CELL_TEXT, .definition = "flag, which takes no value; integer, real, size, duration, text or choice"},
    {.name = "argument", .kind = SONDE_CELL_TEXT, .definition = "what its value is called; null: a flag"},
    {.name = "low", .kind = SONDE_CELL_COUNT, .definition = "integer, real: the least; null: no bound"},
    {.name = "high", .kind = SONDE_CELL_COUNT, .definition = "integer, real: the most; null: no bound"},
    {.name = "choices", .kind = SONDE_CELL_LIST, .definition = "choice: its words", .of = &choices},
    {.name = "help", .kind = SONDE_CELL_TEXT, .definition = "what it does, as sonde report --help says it"},
};
const struct sonde_view_columns sonde__described_options = SONDE_VIEW_COLUMNS("options", option_columns);

void sonde__describe_option(struct sonde_view_table *t, const struct sonde_option *option)
{
    static const char *const types[] = {
        [SONDE_OPTION_FLAG] = "flag",
        [SONDE_OPTION_INT] = "integer",
        [SONDE_OPTION_REAL] = "real",
        [SONDE_OPTION_SIZE] = "size",
        [SONDE_OPTION_DURATION] = "duration",
        [SONDE_OPTION_STRING] = "text",
        [SONDE_OPTION_CHOICE] = "choice",
    };
    const bool bound = option->low != option->high;
    sonde_cell_text(t, option->name);
    sonde_cell_text(t, types[option->type]);
    sonde_cell_text(t, option->argument);
    sonde_cell_int(t, bound, (uint64_t)option->low);
    sonde_cell_int(t, bound, (uint64_t)option->high);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (const char *const *c = option->choices; c && *c; c++)
        sonde_cell_text(list, *c);
    sonde_cell_text(t, option->help);
}

/* ---- notes ------------------------------------------------------------------------------ */

static const struct sonde_view_column note_columns[] = {
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "what it is about, as the view ledger names it"},
    {.name = "text", .kind = SONDE_CELL_TEXT, .definition = "what the figures lack, and why: one sentence without a full stop"},
};
const struct sonde_view_columns sonde__described_notes = SONDE_VIEW_COLUMNS("notes", note_columns);

void sonde__describe_notes(struct sonde_view_table *t, const struct sonde_view_data *shown)
{
    for (const struct sonde_view_note *note = shown->notes; note; note = note->next) {
        sonde_cell_text(t, sonde_caveat_name((enum sonde_caveat_kind)note->kind));
        sonde_cell_text(t, note->text);
    }
}
