/* figures.h - figures of calling contexts process by process, also those that only the trace tells. Any thread. */
#ifndef SONDE_VIEWS_FIGURES_H
#define SONDE_VIEWS_FIGURES_H

#include "analyze/metrics/profile_rows.h"
#include "analyze/metrics/values.h"
#include "query.h"
#include "table.h"

/* Only who names such a one waits for it. */
bool sonde_figure_needs_trace(uint32_t column);
/* Appended, by process; of standard errors, which are no sums, there is nothing. *known: not so where the trace, or times, are missing. 0, or a negative code
 * with `diag`. */
int sonde_figure_values(const struct sonde_query *q, enum sonde_metric_id metric, sonde_context_values *out, bool *known, struct sonde_diag *diag);
/* Added up over processes: [tree node], caller frees; NULL: no memory. */
double *sonde_figure_sums(const struct sonde_profile *profile, const sonde_context_values *values);
/* For people: which columns of the rows are not known, and why. */
void sonde_figures_say_unknown(const struct sonde_query *q, const struct sonde_profile_rows *rows, struct sonde_view_data *out);

#endif
