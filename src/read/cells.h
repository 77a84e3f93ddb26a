/* cells.h - a table of a view as an array of Arrow. Any thread. */
#ifndef SONDE_READ_CELLS_H
#define SONDE_READ_CELLS_H

#include <sonde/read.h>

#include "views/table.h"

/* All rows of `t` as one struct with a child for each column that has a name. 0; SONDE_EUNSUPPORTED: a tree in it is too deep;
 * SONDE_ENOMEM. Nothing is left to be released then. */
int sonde__cells_arrow(const struct sonde_view_table *t, struct ArrowSchema *schema, struct ArrowArray *array);

/* Format of a column that nothing is in; NULL: it nests. */
const char *sonde__cells_format(const struct sonde_view_column *column);

#endif
