/* summary.h - the parts of the summary that other files make, and their tables. Rules of table.h.
 *
 * What has `out` appends what a person reads.
 */
#ifndef SONDE_VIEWS_SUMMARY_H
#define SONDE_VIEWS_SUMMARY_H

#include "query.h"
#include "table.h"

/* Above everything: more than 1 % of the operations is missing (missing.c). */
void sonde_summary_missing(const struct sonde_query *q, struct sonde_view_data *out);

/* OBJECT: what the run waited for, which it also says to a person; unknown where no trace tells (verdict.c). 0, or a negative
 * code with `diag`. */
extern const struct sonde_view_columns sonde_verdict;
int sonde_cell_verdict(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame,
                       struct sonde_diag *diag);

/* LIST: what a device was idle for; unknown where no trace tells. */
extern const struct sonde_view_columns sonde_verdict_parts;
void sonde_cell_idle(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame,
                     const struct sonde_device_use *use);
/* The same of the first `devices` for people, in one of two tables: of the only device, or of several. */
extern const struct sonde_view_columns sonde_idle_alone, sonde_idle_each;
int sonde_summary_idle(const struct sonde_query *q, const struct sonde_blame *blame, size_t devices, struct sonde_view_data *out,
                       struct sonde_diag *diag);

/* The advice that saves most (advice.c). 0, or a negative code with `diag`. */
extern const struct sonde_view_columns sonde_advice_brief;
int sonde_summary_advice(const struct sonde_query *q, const struct sonde_blame *blame, struct sonde_view_data *out,
                         struct sonde_diag *diag);

#endif
