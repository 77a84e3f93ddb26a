/* timeline.h - the requests `timeline` and `overview`: what is drawn of lanes, and of the whole run, as columns.
 *
 * docs/developers/requests.md defines both. Their options come as pairs of a name and a value, decoded.
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

struct sonde_pair { const char *name, *value; };

enum { SONDE_TIMELINE_PIXELS_DEFAULT = 1920 };

/* What is asked; the options of the same names. */
struct sonde_timeline_options {
    const char *lanes;      /* "0:1,0:2": index of the process, number of the lane */
    uint64_t from_ns, to_ns; /* to_ns 0: the run's end */
    uint32_t pixels, depth;
    bool exact;
};

/* Read them; those that are not there have their defaults. 0; EINVAL with `diag`: an unknown option, or no such value. */
int sonde_timeline_options_read(const struct sonde_pair *pairs, size_t count, struct sonde_timeline_options *out, struct sonde_diag *diag);

/* Append the answer to `out`. 0; EINVAL, ENOTFOUND or ENOMEM with `diag`, and then what was appended is no answer.
 * `timeline` is of q's measurement and profile. */
int sonde_serve_timeline(const struct sonde_query *q, struct sonde_timeline *timeline, const struct sonde_timeline_options *options,
                         struct sonde_text *out, struct sonde_diag *diag);
/* Of the options pixels and exact are used. */
int sonde_serve_overview(const struct sonde_query *q, const struct sonde_timeline_options *options, struct sonde_text *out,
                         struct sonde_diag *diag);

#endif
