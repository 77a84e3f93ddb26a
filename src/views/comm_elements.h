/* comm_elements.h - elements of data objects in the view `comm` (comm.c): for people with --by element, in JSON always. */
#ifndef SONDE_VIEWS_COMM_ELEMENTS_H
#define SONDE_VIEWS_COMM_ELEMENTS_H

#include "analyze/answers/comm/comm.h"
#include "view.h"

extern const struct sonde_view_columns sonde__comm_elements; /* a row for each array and way */
extern const struct sonde_view_columns sonde__comm_picture;  /* for people: one array as rows and columns */

/* Its first `count` arrays, into `table`; with --by element the cells of each, too. */
void sonde__comm_elements_fill(const struct sonde_query *q, const struct sonde_comm *c, size_t count, struct sonde_view_table *table);
/* What people see of it: the table, and a picture of each array that --shape names. */
void sonde__comm_elements_show(const struct sonde_query *q, const struct sonde_comm *c, size_t count, struct sonde_view_table *table, struct sonde_view_data *out);

/* Cells that several tables of the view have. `key`: "0", "host"; of several processes "rank 3: 0"; `way`: "host → 0". */
void sonde__comm_key_cell(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, struct sonde_comm_end end);
void sonde__comm_way_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_comm_pair *p);

#endif
