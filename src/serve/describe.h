/* describe.h - what columns, options and notes are, as cells of an answer. Any thread; rules of views/table.h. */
#ifndef SONDE_SERVE_DESCRIBE_H
#define SONDE_SERVE_DESCRIBE_H

#include "base/option.h"
#include "views/columns.h"

/* A row for a column of a table; `among` are the tables that an inner one is looked for in, NULL none. */
extern const struct sonde_view_columns sonde__described_columns;
void sonde__describe_column(struct sonde_view_table *t, const struct sonde_view_columns *columns, size_t index,
                            const struct sonde_view_tables *among);

/* A row for an option. */
extern const struct sonde_view_columns sonde__described_options;
void sonde__describe_option(struct sonde_view_table *t, const struct sonde_option *option);

/* A row for each note of what a view answered. */
extern const struct sonde_view_columns sonde__described_notes;
void sonde__describe_notes(struct sonde_view_table *t, const struct sonde_view_data *shown);

#endif
