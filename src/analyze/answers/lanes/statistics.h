/* statistics.h - the exact share of each routine in a time range, some lanes, and a call depth.
 *
 * What trace viewers estimate by counting pixels (Zhou et al., "Measurement and
 * analysis of GPU-accelerated applications with HPCToolkit", section 5), by
 * integrating intervals. docs/statistics.md says how each number is computed.
 *
 * Threads: compute in one (it starts others).
 */
#ifndef SONDE_ANALYZE_ANSWERS_LANES_STATISTICS_H
#define SONDE_ANALYZE_ANSWERS_LANES_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/metrics/profile_rows.h"
#include "analyze/profile/profile.h"
#include "base/progress.h"
#include "base/vector.h"

/* What a lane did that no routine did; name in JSON, text in tables. */
#define SONDE_SHARE_MAP(X)                                                                     \
    X(ROUTINE, "routine", "")                                                                  \
    X(IDLE, "idle", "idle")                                         /* queue: no operation */  \
    X(OFF, "off_cpu", "off the CPU")                                /* outside of calls */     \
    X(ABSENT, "absent", "thread not alive")                                                    \
    X(OUTSIDE, "outside_calls", "outside API calls, not sampled")                              \
    X(BEFORE, "before", "start-up")                                 /* thread: not recorded */ \
    X(PAUSED, "paused", "recording off")                                                       \
    X(LOST, "lost", "call path lost")

/* clang-format off */
enum sonde_share_kind {
#define X(id, name, text) SONDE_SHARE_##id,
    SONDE_SHARE_MAP(X)
#undef X
    SONDE_SHARE_COUNT
};
/* clang-format on */
const char *sonde_share_name(enum sonde_share_kind kind);
const char *sonde_share_text(enum sonde_share_kind kind);

struct sonde_share {
    enum sonde_share_kind kind;
    struct sonde_profile_frame frame;   /* ROUTINE: without line */
    uint32_t node;                   /* ROUTINE: of its tree nodes that with most time of threads */
    double queue_ns, thread_ns;      /* time of lanes of each kind */
    double sampled_ns;               /* of thread_ns: known from samples, the rest from calls */
    double pooled_ns;                /* of sampled_ns: where no sample reaches, by those of gaps like it (gaps.h) */
    double error_ns;                 /* standard error of sampled_ns */
    double cpu_ns, cpu_error_ns;     /* what the samples outside of calls stand for; when `checked` */
    double rest_ns;                  /* of cpu_ns: of samples that threads left as they ended, where is not known */
    bool disagrees;                  /* more than chance makes of the two: the sum of times, and what samples stand for */
};

struct sonde_lane_id { uint32_t process, lane; };

struct sonde_statistics_config {
    uint64_t from_ns, to_ns;         /* since the run began (sonde_run_begin); to_ns 0: its end */
    const struct sonde_lane_id *lanes; /* NULL: all */
    size_t lane_count;
    uint32_t depth;                  /* frames from the outermost on; 0 = all */
    struct sonde_progress *progress; /* in rows; may be NULL */
};

struct sonde_statistics {            /* ready when zeroed */
    SONDE_VECTOR(struct sonde_share) rows; /* most time first; their sum is range * lanes */
    uint64_t from_ns, to_ns;         /* since the run began */
    uint32_t queues, threads;        /* lanes looked at */
    uint64_t no_times;               /* operations in them without usable times: in no row */
    bool traced;                     /* at least one of the processes; else everything reads as idle */
    bool checked;                    /* the whole run and all threads were looked at, and when they slept is known: cpu_ns is set */
};

/* 0, EINVAL (an empty range) with `diag`, or ENOMEM; fini in either case. */
int sonde_statistics_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                             const struct sonde_statistics_config *config, struct sonde_statistics *out,
                             struct sonde_diag *diag);
void sonde_statistics_fini(struct sonde_statistics *statistics);

#endif
