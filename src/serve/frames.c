/* frames.c - see frames.h. */
#include "frames.h"

#include "views/groups.h"
#include "views/names.h"

static const struct sonde_view_column columns[] = {
    {.name = "node", .kind = SONDE_CELL_ID, .definition = "number of the call path that ends here, as root=#NUMBER takes it"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "native, python, api, operation, unknown, cut, link or range"},
    {.name = "label", .kind = SONDE_CELL_TEXT, .definition = "what it is called in tables"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "function, API call, kernel or range; null: unknown"},
    {.name = "file", .kind = SONDE_CELL_TEXT, .definition = "source file"},
    {.name = "line", .kind = SONDE_CELL_ID, .definition = "source line"},
    {.name = "module", .kind = SONDE_CELL_TEXT, .definition = "path of the executable or library; of a range, its domain"},
    {.name = "offset", .kind = SONDE_CELL_ID, .definition = "native code without a name: where in the module; else absent"},
    {.name = "prepared_in", .kind = SONDE_CELL_ID, .definition = "link: the call path that prepared what is below; else absent"},
    {.name = "code", .kind = SONDE_CELL_TEXT, .definition = "whose it is: user, library or runtime; null: it is no code"},
};
const struct sonde_view_columns sonde__context_frames = SONDE_VIEW_COLUMNS("frames", columns);

static void number_or_absent(struct sonde_view_table *t, bool there, uint64_t value)
{
    if (there)
        sonde_cell_int(t, true, value);
    else
        sonde_cell_absent(t);
}

static void row(struct sonde_view_table *t, const struct sonde_query *q, uint32_t at)
{
    const struct sonde_cct_node *node = &q->profile->nodes.items[at];
    struct sonde_text label = {0};
    sonde_name_frame(q, &label, node);
    sonde_cell_int(t, true, at);
    sonde_cell_text(t, sonde_name_frame_kind(node->kind));
    sonde_cell_take(t, &label);
    sonde_cells_frame(t, node);
    number_or_absent(t, node->kind == SONDE_FRAME_NATIVE && !*node->name, node->offset);
    number_or_absent(t, node->kind == SONDE_FRAME_LINK && node->offset, node->offset);
    sonde_cell_text(t, sonde_name_code(node));
}

void sonde__cell_context(struct sonde_view_table *t, const struct sonde_query *q, uint32_t leaf)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    for (uint32_t at = leaf; at && at < q->profile->nodes.count; at = q->profile->nodes.items[at].parent)
        row(list, q, at);
}
