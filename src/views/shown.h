/* shown.h - what people see of a table: which columns, under which titles, and each cell as text.
 *
 * The terminal (src/cmds/report/layout.c) and the viewer (src/serve/text.c) show the same. Any thread.
 */
#ifndef SONDE_VIEWS_SHOWN_H
#define SONDE_VIEWS_SHOWN_H

#include "table.h"

/* Column `index` of the table: is it shown? */
bool sonde_view_shows(const struct sonde_view_table *t, size_t index);
/* What stands above it: its title, or what the rows are about; NULL: it is in JSON only. */
const char *sonde_view_title(const struct sonde_view_columns *columns, size_t index);

/* Append a cell: "1,504", "248 µs", "81.2 %"; unknown is "-". Text is as the program named it, without its depth in a
 * tree. Not of OBJECT, LIST and MAP, of which nothing is appended. */
void sonde_cell_show(const struct sonde_view_column *column, const struct sonde_cell *cell, struct sonde_text *out);

#endif
