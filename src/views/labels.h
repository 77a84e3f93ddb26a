/* labels.h - what the rows of a profile are called. Any thread. */
#ifndef SONDE_VIEWS_LABELS_H
#define SONDE_VIEWS_LABELS_H

#include "analyze/metrics/profile_rows.h"
#include "base/text.h"
#include "query.h"

/* What a row is called: appended. */
void sonde_row_label(const struct sonde_query *q, const struct sonde_profile_rows *rows, size_t row, struct sonde_text *out);
/* What all of them are called, [row], at more length where two of one parent would read alike. NULL: no memory. */
char **sonde_row_labels(const struct sonde_query *q, const struct sonde_profile_rows *rows);
void sonde_row_labels_free(char **labels, const struct sonde_profile_rows *rows);

#endif
