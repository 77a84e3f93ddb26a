/* notes.h - what a reader must know about the measurement before believing a view. Any thread. */
#ifndef SONDE_VIEWS_NOTES_H
#define SONDE_VIEWS_NOTES_H

#include "analyze/answers/summary/caveats.h"
#include "query.h"

/* The caveats of the measurement; with SONDE_CAVEAT_VIEWS in `kinds` also what only a comparison of views tells, which
 * reads the trace, unless it is long: of twenty million rows, or `quick`, of a million. 0 or a negative code;
 * sonde_caveats_fini in either case. */
int sonde_query_caveats(const struct sonde_query *q, unsigned kinds, bool quick, struct sonde_caveats *out);

#endif
