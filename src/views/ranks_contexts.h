/* ranks_contexts.h - each calling context over the ranks, in the view `ranks` (ranks.c): where --metric asks for it. */
#ifndef SONDE_VIEWS_RANKS_CONTEXTS_H
#define SONDE_VIEWS_RANKS_CONTEXTS_H

#include "analyze/job/ranks.h"
#include "view.h"

extern const struct sonde_view_columns sonde__rank_paths; /* JSON: a row for each context */
extern const struct sonde_view_columns sonde__rank_path;  /* for people, one metric */

/* For programs into `list`, for people as a table of each metric. 0, or a negative code with `diag`. */
int sonde__rank_paths_fill(const struct sonde_query *q, const struct sonde_job *job, struct sonde_view_table *list, struct sonde_view_data *out,
                           struct sonde_diag *diag);

/* What both tables of contexts have of each (ranks.c): a figure over the ranks. */
extern const struct sonde_view_columns sonde__rank_figures;
void sonde__rank_figure_row(struct sonde_view_table *t, const struct sonde_job *job, const char *name, bool known, const struct sonde_rank_spread *s);

#endif
