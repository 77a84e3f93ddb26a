/* columns.h - the tables of a view as their descriptors tell, without an answer: for help, for the page of the
 * documentation, for the viewer. Any thread.
 */
#ifndef SONDE_VIEWS_COLUMNS_H
#define SONDE_VIEWS_COLUMNS_H

#include "view.h"

enum { SONDE_VIEW_TABLES_MAX = 64 };

/* The tables of a view, then what they contain, each once. */
struct sonde_view_tables {
    const struct sonde_view_columns *list[SONDE_VIEW_TABLES_MAX];
    size_t count;
};
struct sonde_view_tables sonde_view_tables(const struct sonde_view *view);

/* A list of bare values: it is no table of its own, but a part of its column. */
bool sonde_view_is_bare(const struct sonde_view_columns *columns);

#endif
