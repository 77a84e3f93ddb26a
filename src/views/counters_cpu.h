/* counters_cpu.h - the part of the view `counters` that is about the CPU.
 *
 * Any thread; rules of table.h.
 */
#ifndef SONDE_VIEWS_COUNTERS_CPU_H
#define SONDE_VIEWS_COUNTERS_CPU_H

#include "analyze/profile/tallies.h"
#include "query.h"
#include "table.h"

/* LIST each: the counters; what routines had of each; and calling contexts. */
extern const struct sonde_view_columns sonde_tallies_all, sonde_tallies_routines, sonde_tallies_contexts;
/* Fills these three, and what people read of them. */
void sonde_tallies_rows(const struct sonde_query *q, const struct sonde_tallies *tallies, struct sonde_view_table *all, struct sonde_view_table *routines,
                        struct sonde_view_table *contexts, struct sonde_view_data *out);

#endif
