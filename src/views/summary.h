/* summary.h - the parts of the summary that other files make: each appends what a person reads. Rules of table.h. */
#ifndef SONDE_VIEWS_SUMMARY_H
#define SONDE_VIEWS_SUMMARY_H

#include "query.h"
#include "table.h"

/* The advice that saves most (advice.c). 0, or a negative code with `diag`. */
extern const struct sonde_view_columns sonde_advice_brief;
int sonde_summary_advice(const struct sonde_query *q, const struct sonde_blame *blame, struct sonde_view_data *out,
                         struct sonde_diag *diag);

#endif
