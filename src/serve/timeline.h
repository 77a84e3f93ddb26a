/* timeline.h - the requests `timeline` and `overview`: what is drawn of lanes, and of the whole run, as columns.
 *
 * docs/developers/requests.md defines both.
 *
 * Threads: any.
 */
#ifndef SONDE_SERVE_TIMELINE_H
#define SONDE_SERVE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/answers/timeline/timeline.h"
#include "base/text.h"
#include "views/query.h"

enum { SONDE_TIMELINE_PIXELS_DEFAULT = 1920 };

/* What is asked; the options of the same names. */
struct sonde_timeline_options {
    const char *lanes;      /* "0:1,0:2": index of the process, number of the lane */
    int64_t from_ns, to_ns; /* to_ns 0: the run's end */
    int64_t pixels, depth;
    int exact;
};

/* Append the answer to `out`. 0; EINVAL, ENOTFOUND or ENOMEM with `diag`, and then what was appended is no answer.
 * `timeline` is of q's measurement and profile. */
int sonde_serve_timeline(const struct sonde_query *q, struct sonde_timeline *timeline, const struct sonde_timeline_options *options,
                         struct sonde_text *out, struct sonde_diag *diag);
/* Of the options pixels and exact are used. */
int sonde_serve_overview(const struct sonde_query *q, const struct sonde_timeline_options *options, struct sonde_text *out,
                         struct sonde_diag *diag);

#endif
