/* openmetrics.h - the figures of announced programs as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/, 1.0),
 * or as the text of Prometheus that came before it (https://prometheus.io/docs/instrumenting/exposition_formats/, 0.0.4): there a
 * counter's family has the name of its samples, and nothing tells units and the end. */
#ifndef SONDE_MONITOR_OPENMETRICS_H
#define SONDE_MONITOR_OPENMETRICS_H

#include "base/text.h"
#include "watch.h"

enum { SONDE_STORES = 2 };

enum sonde_metrics_form {
    SONDE_METRICS_OPEN,
    SONDE_METRICS_CLASSIC,
};
#define SONDE_METRICS_OPEN_TYPE    "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define SONDE_METRICS_CLASSIC_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* What became of rows for a store. */
struct sonde_store_count {
    const char *store; /* "csv"; NULL: there is none */
    uint64_t kept, lost;
};

/* How often recordings of the last seconds were asked for by a condition. */
struct sonde_asked_count {
    const char *condition;
    uint64_t asked;
};

/* What the monitor says of itself. */
struct sonde_openmetrics_own {
    double look_s; /* time that looks took, all together */
    double cpu_s;  /* CPU time of this process */
    struct sonde_store_count stores[SONDE_STORES];
    const struct sonde_asked_count *conditions;
    size_t condition_count;
};

/* Append all of it. Of two programs with equal labels there are none: each has its folder's name. */
void sonde_openmetrics_write(const struct sonde_watch *watch, const struct sonde_openmetrics_own *own, enum sonde_metrics_form form,
                             struct sonde_text *out);

#endif
