/* columns.c - see columns.h. */
#include "columns.h"

bool sonde_view_is_bare(const struct sonde_view_columns *columns)
{
    return columns->count == 1 && !columns->items[0].name && !columns->items[0].title;
}

static void add(struct sonde_view_tables *found, const struct sonde_view_columns *columns)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->list[i] == columns)
            return;
    if (found->count < SONDE_VIEW_TABLES_MAX && !sonde_view_is_bare(columns))
        found->list[found->count++] = columns;
}

struct sonde_view_tables sonde_view_tables(const struct sonde_view *view)
{
    struct sonde_view_tables found = {.count = 0};
    for (const struct sonde_view_columns *const *t = view->tables; *t; t++)
        add(&found, *t);
    for (size_t i = 0; i < found.count; i++)
        for (size_t k = 0; k < found.list[i]->count; k++)
            if (found.list[i]->items[k].of)
                add(&found, found.list[i]->items[k].of);
    return found;
}
