/* ledger.h - the ledger of a measurement as a cell, for views that have it among their own. Any thread; rules of table.h. */
#ifndef SONDE_VIEWS_LEDGER_H
#define SONDE_VIEWS_LEDGER_H

#include "query.h"
#include "table.h"

/* OBJECT: what the view ledger answers. 0, or a negative code with `diag`. */
extern const struct sonde_view_columns sonde_ledger;
int sonde_cell_ledger(struct sonde_view_table *t, const struct sonde_query *q, struct sonde_diag *diag);

#endif
