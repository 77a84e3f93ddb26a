/* diff.h - two sides of one or several runs each: what got slower, context by context and kernel by kernel.
 *
 * The calling context trees of both sides are aligned (match.c), their metrics compared, and each
 * difference has an interval and a test (test.c) against what differs between runs, or, with one run a
 * side, within them. docs/diff.md defines every number.
 *
 * Threads: compute in one (it starts others); read from any.
 */
#ifndef SONDE_ANALYZE_ANSWERS_DIFF_DIFF_H
#define SONDE_ANALYZE_ANSWERS_DIFF_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/totals.h"
#include "analyze/profile/profile.h"
#include "base/arena.h"
#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

#define SONDE_DIFF_RATE 0.05       /* of false ones among the significant rows of a metric */
#define SONDE_DIFF_CONFIDENCE 0.95 /* of intervals */

enum { SONDE_DIFF_BEFORE,
       SONDE_DIFF_AFTER,
       SONDE_DIFF_SIDES };

/* Name in JSON, unit, whether it is a time. */
#define SONDE_DIFF_METRIC_MAP(X)                                                     \
    X(TIME, "time", "ns", true)       /* of operations on the device */              \
    X(COUNT, "count", "", false)      /* operations */                               \
    X(BYTES, "bytes", "B", false)     /* that they moved */                          \
    X(WAITING, "waiting", "ns", true) /* host time in API calls that waited */       \
    X(BLAME, "blame", "ns", true)     /* idle time of all devices, blamed on this */ \
    X(CPU, "cpu", "ns", true)         /* CPU time, from samples */

/* clang-format off */
enum sonde_diff_metric {
#define X(id, name, unit, time) SONDE_DIFF_##id,
    SONDE_DIFF_METRIC_MAP(X)
#undef X
    SONDE_DIFF_METRICS
};
/* clang-format on */
const char *sonde_diff_metric_name(enum sonde_diff_metric metric);
const char *sonde_diff_metric_unit(enum sonde_diff_metric metric);
bool sonde_diff_metric_is_time(enum sonde_diff_metric metric);

enum sonde_diff_match {
    /* how a context of one side is one of the other; of a path, the weakest of its frames */
    SONDE_DIFF_SAME,
    SONDE_DIFF_MOVED,   /* the same functions, other lines */
    SONDE_DIFF_RENAMED, /* another name, the same surroundings */
    SONDE_DIFF_NEW,
    SONDE_DIFF_GONE,
};
const char *sonde_diff_match_name(enum sonde_diff_match match);

struct sonde_diff_effect { /* what is said of a difference */
    bool known;            /* there is an interval */
    double low, high;      /* of the difference; of a ratio where that is asked for */
    double p;              /* of a difference as large where there is none */
};

struct sonde_diff_row {
    enum sonde_diff_metric metric;
    enum sonde_diff_match match;
    uint16_t op;                     /* enum sonde_op_kind; 0: host code */
    uint32_t run[SONDE_DIFF_SIDES];  /* index of a run of this side that has the context; UINT32_MAX none */
    uint32_t node[SONDE_DIFF_SIDES]; /* in its profile: the operation, API call or frame */
    uint32_t place;                  /* rows of one place of the user's code have the same */
    double before, after;            /* mean over the runs of a side */
    double device_ns;                /* of the context's operations, both sides together; below 0 unknown */
    struct sonde_diff_effect effect; /* of after - before */
    bool significant;                /* meaningful when the effect is known */
};

struct sonde_diff_ratio {            /* of a time of both sides */
    bool known;
    double before_ns, after_ns;      /* mean over the runs of a side */
    struct sonde_diff_effect effect; /* of after / before */
};

struct sonde_diff_item { const char *name, *before, *after; }; /* of the ledger: what differs, as text */

struct sonde_diff_run {                    /* the caller's, which outlives the answer */
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    const struct sonde_totals *totals;
};

struct sonde_diff_config {
    const struct sonde_diff_run *runs;     /* those before come first */
    uint32_t run_count, before_count;      /* before_count: 1 to run_count - 1 */
    struct sonde_progress *(*begin)(const char *text); /* around long work; NULL: nobody watches */
    void (*end)(struct sonde_progress *progress);
};

struct sonde_diff {                        /* ready when zeroed */
    struct sonde_diff_ratio total;         /* wall time: the first process's start to the last one's end */
    struct sonde_diff_ratio step;          /* the typical time of the most frequent outermost range of both sides */
    const char *step_name;                 /* without the number at its end; "" none */
    double step_count[SONDE_DIFF_SIDES];   /* steps of a run, the mean */
    bool by_runs;                          /* at least one side has several runs: differences between runs are known */
    double common;                         /* share of the operations' time (without times: of their number) in contexts of both sides */
    SONDE_VECTOR(struct sonde_diff_row) rows; /* times first; most difference first */
    SONDE_VECTOR(struct sonde_diff_item) ledger;  /* only what differs */
    SONDE_VECTOR(const char *) warnings;   /* why the sides are hardly comparable: sentences without a full stop */
    struct sonde_arena arena;
};

/* 0 or a negative code of reading; fini in either case. */
int sonde_diff_compute(const struct sonde_diff_config *config, struct sonde_diff *out);
void sonde_diff_fini(struct sonde_diff *diff);

#endif
