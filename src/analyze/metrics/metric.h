/* metric.h - the columns that a profile can have, and formulas over them.
 *
 * A value is known, unknown, or an error; zero is a known value. docs/profile.md
 * says how each column is computed. Any thread.
 */
#ifndef SONDE_ANALYZE_METRICS_METRIC_H
#define SONDE_ANALYZE_METRICS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/error.h>

#include "analyze/profile/profile.h"
#include "base/vector.h"

enum sonde_validity {
    SONDE_UNKNOWN,
    SONDE_KNOWN,
    SONDE_ERROR,
};
struct sonde_value {
    double value;
    enum sonde_validity validity;
}; /* value is 0 unless known */

enum sonde_unit {
    SONDE_UNIT_NONE,
    SONDE_UNIT_COUNT,
    SONDE_UNIT_NS,
    SONDE_UNIT_BYTES,
};

/* What a value needs to be known. */
enum sonde_metric_needs {
    SONDE_NEEDS_NOTHING,
    SONDE_NEEDS_TIMES,   /* device times: unknown where operations have none */
    SONDE_NEEDS_SAMPLES, /* a sampled CPU side */
    SONDE_NEEDS_GIVEN,   /* an array of sonde_profile_rows_config.given */
    SONDE_NEEDS_ESTIMATE, /* an estimate of sonde_profile_rows_config: these are no sums */
};

/* One column is one line. The value is an expression of `m`, a struct
 * sonde_metrics; where an array is given, its values count instead.
 *   id       name       unit   needs    value             what it is */
#define SONDE_METRIC_MAP(X)                                                                              \
    X(GPU,     "gpu",     NS,    TIMES,   m->device_ns,  "time of operations on the device")              \
    X(OPS,     "ops",     COUNT, NOTHING, m->operations, "operations")                                    \
    X(BYTES,   "bytes",   BYTES, NOTHING, m->bytes,      "bytes that operations moved")                   \
    X(API,     "api",     NS,    NOTHING, m->api_ns,     "host time in API calls")         \
    X(SYNC,    "sync",    NS,    NOTHING, m->sync_ns,    "part of api in calls that wait for the device")     \
    X(QUEUE,   "queue",   NS,    TIMES,   m->queue_ns,   "time from the API call to the start on the device")      \
    X(CPU,     "cpu",     NS,    SAMPLES, m->cpu_ns,     "CPU time, from samples")                          \
    X(BLAME,   "blame",   NS,    GIVEN,   0,             "device idle time blamed on this code") \
    X(CALLS,   "calls",   COUNT, NOTHING, m->api_calls,  "API calls")                      \
    X(SAMPLES, "samples", COUNT, SAMPLES, m->samples,    "samples of the CPU side")                       \
    X(SLEPT,   "slept",   NS,    NOTHING, m->slept_ns,   "time waiting in C library functions")     \
    X(TIMED,   "timed",   COUNT, NOTHING, m->timed,      "operations with device times")                  \
    X(FAILED,  "failed",  COUNT, NOTHING, m->failed,     "operations that ended with an error")            \
    X(PEERS,   "peers",   NS,    GIVEN,   0,             "time waiting for other ranks, in MPI and NCCL")    \
    X(CPU_ERROR, "cpu_error", NS, ESTIMATE, 0,           "standard error of cpu")                         \
    X(BLAME_ERROR, "blame_error", NS, ESTIMATE, 0,       "standard error of blame")

/* clang-format off */
enum sonde_metric_id {
#define X(id, name, unit, needs, value, text) SONDE_METRIC_##id,
    SONDE_METRIC_MAP(X)
#undef X
    SONDE_METRIC_COUNT
};
/* clang-format on */

struct sonde_metric {
    const char *name, *text;
    enum sonde_unit unit;
    enum sonde_metric_needs needs;
    double (*value)(const struct sonde_metrics *m);
};
extern const struct sonde_metric sonde_metric_table[SONDE_METRIC_COUNT];

/* Id of a name, -1 when there is none. */
int sonde_metric_find(const char *name, size_t length);

/* ---- columns: metrics, and formulas over columns ------------------------------ */

struct sonde_formula;

enum { SONDE_DERIVED_MAX = 32 };
struct sonde_derived {
    char *name, *text;
    struct sonde_formula *formula;
};

/* Columns by number: first the metrics, by id, then the derived ones. */
struct sonde_columns { /* ready when zeroed */
    SONDE_VECTOR(uint32_t) shown;              /* in the order of the table */
    SONDE_VECTOR(struct sonde_derived) derived;
};

static inline uint32_t sonde_columns_count(const struct sonde_columns *c)
{
    return SONDE_METRIC_COUNT + (uint32_t)c->derived.count;
}
const char *sonde_columns_name(const struct sonde_columns *c, uint32_t column);
enum sonde_unit sonde_columns_unit(const struct sonde_columns *c, uint32_t column);

/* Number of the column of this name; -1 when there is none. */
int sonde_columns_find(const struct sonde_columns *c, const char *name, size_t length);

/* Show the metrics of a list, "gpu,ops". 0, ENOMEM, or EINVAL with `diag` and in
 * *at the byte of `list` where it was not understood. */
int sonde_columns_show(struct sonde_columns *c, const char *list, struct sonde_diag *diag, size_t *at);

/* Define and show derived columns: "name=formula", several separated by ";".
 * A formula has numbers, names of columns, + - * / ( ) and min(a,b), max(a,b);
 * times are in nanoseconds. Errors as above. */
int sonde_columns_derive(struct sonde_columns *c, const char *text, struct sonde_diag *diag, size_t *at);

void sonde_columns_fini(struct sonde_columns *c);

/* EINVAL with `diag`: there is no column of this name, but others. */
int sonde__columns_unknown(const struct sonde_columns *c, const char *name, size_t length, struct sonde_diag *diag);

/* Fill values[SONDE_METRIC_COUNT ...] from those of the metrics. Division by
 * zero is unknown; a result that is no finite number is an error. Unknown
 * operands make an unknown result, and an error an error. */
void sonde_columns_compute(const struct sonde_columns *c, struct sonde_value *values);

#endif
