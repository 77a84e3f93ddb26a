/* estimate.h - times that rest on samples, kept so that the standard error of any sum of them can be said.
 *
 * Of each pool of gaps (gaps.h) it is known how long all of them lasted; samples say how
 * that divides. A part p known from n samples has the standard error sqrt(p(1-p)/n);
 * it is taken from Wilson's interval ("Probable inference, the law of succession, and
 * statistical inference", JASA 22, 1927), which does not call what was
 * never seen impossible. docs/developers/sampling.md, "Between API calls".
 *
 * Threads: read from any once it is made.
 */
#ifndef SONDE_ANALYZE_METRICS_ESTIMATE_H
#define SONDE_ANALYZE_METRICS_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/profile/profile.h"
#include "base/team.h"
#include "base/vector.h"

struct sonde_estimate_item { /* the time of one context in the gaps of one pool */
    uint32_t pool, node;     /* node of the tree */
    double sampled_ns;       /* around its samples */
    double pooled_ns;        /* where no sample reaches */
};
struct sonde_estimate_pool {
    double samples;          /* what divides pooled time; 0: there is none */
    double hits, period_ns;  /* samples in its gaps (0 unknown); one of them stands for so long */
};

struct sonde_estimate {      /* ready when zeroed */
    SONDE_VECTOR(struct sonde_estimate_item) items; /* by pool */
    SONDE_VECTOR(struct sonde_estimate_pool) pools;
};

int sonde_estimate_join(struct sonde_estimate *sum, const struct sonde_estimate *more); /* pools stay apart */
void sonde_estimate_fini(struct sonde_estimate *estimate);
void sonde_estimate_put(struct sonde_text *found, const struct sonde_estimate *estimate); /* base/team.h */
void sonde_estimate_get(struct sonde_found *found, struct sonde_estimate *estimate);

/* CPU time by context: samples of each thread divide what it used. 0 or SONDE_ENOMEM; fini in either case. */
int sonde_estimate_cpu(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_estimate *out);

/* Standard errors of groups of contexts: group[node], UINT32_MAX none. `inclusive`: what a context has, those that its
 * callers are in have too; NULL: not so. [groups], caller frees; NULL: no memory. */
double *sonde_estimate_errors(const struct sonde_estimate *estimate, const uint32_t *group, const struct sonde_profile *inclusive,
                              size_t groups);

/* Standard error of a part that `hits` of `samples` say; both may be fractions. */
double sonde_share_error(double hits, double samples);

#endif
