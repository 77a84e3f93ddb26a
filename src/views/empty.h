/* empty.h - measurements without operations. Any thread. */
#ifndef SONDE_VIEWS_EMPTY_H
#define SONDE_VIEWS_EMPTY_H

#include <stdbool.h>

#include "query.h"

bool sonde_query_has_operations(const struct sonde_query *q);

/* EEMPTY with `diag`: why there is none, and what helps. `word` is the measurement's path as a shell reads it. */
int sonde_query_empty(const struct sonde_query *q, const char *word, struct sonde_diag *diag);

#endif
