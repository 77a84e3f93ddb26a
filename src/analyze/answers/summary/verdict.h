/* verdict.h - what the run waited for, all processes together: the one thing that a person wants to know first.
 *
 * The time of the run is divided, without a rest, by what happened in it: devices busy, or, while
 * none was, what the host did (blame.h). docs/report.md defines the parts.
 *
 * Threads: any.
 */
#ifndef SONDE_ANALYZE_ANSWERS_SUMMARY_VERDICT_H
#define SONDE_ANALYZE_ANSWERS_SUMMARY_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/answers/blame/blame.h"
#include "analyze/model/totals.h"
#include "analyze/profile/profile.h"

/* Name in JSON. Append only. */
#define SONDE_VERDICT_MAP(X)                                                              \
    X(BUSY, "busy")             /* a device was; all others: none was, and */             \
    X(START_UP, "start_up")     /* nothing was recorded yet */                            \
    X(HOST, "host_code")        /* threads had something of their own to do or wait for */ \
    X(COMPILES, "compiles")     /* in API calls that make or load device code */          \
    X(MEMORY, "memory")         /* in API calls that allocate and free */                 \
    X(CALLS, "api_calls")       /* in others that are not there to wait */                \
    X(WAITS, "waits")           /* in those: what starting and noticing the end take */   \
    X(NOBODY, "no_thread")      /* no thread was active */                                \
    X(UNKNOWN, "unknown")       /* a thread was, but in what is not known */

/* clang-format off */
enum sonde_verdict_kind {
#define X(name, json) SONDE_VERDICT_##name,
    SONDE_VERDICT_MAP(X)
#undef X
    SONDE_VERDICT_COUNT
};
/* clang-format on */

struct sonde_verdict_part {
    enum sonde_verdict_kind kind;
    double ns;
    uint32_t node;     /* tree node: the function or API call that has most of it; 0 none. Of BUSY: an operation of the heaviest */
    double most_ns;    /* of it; 0 unknown */
    double error_ns;   /* standard error of most_ns; 0 where it rests on no samples */
    double waited_ns; /* HOST: of most_ns, in waits of the C library, */
    uint32_t wait;     /* mostly in this one; tree node, 0 none */
};

struct sonde_verdict {  /* ready when zeroed */
    bool known;         /* there is a trace with operations that have times */
    double range_ns;    /* of all processes, without the pauses of recording */
    double kernel_ns, copy_ns; /* of all devices; what keeps them busy is mostly the larger */
    struct sonde_verdict_part parts[SONDE_VERDICT_COUNT]; /* most first; they add up to range_ns */
};

/* What the idle time of one scope went to, most first; that of BUSY is 0. 0 or SONDE_ENOMEM. */
int sonde_verdict_idle(const struct sonde_profile *profile, const struct sonde_blame_scope *scope,
                       struct sonde_verdict_part parts[SONDE_VERDICT_COUNT]);
/* 0 or SONDE_ENOMEM. */
int sonde_verdict_compute(const struct sonde_profile *profile, const struct sonde_totals *totals,
                          const struct sonde_blame *blame, struct sonde_verdict *out);
const char *sonde_verdict_name(enum sonde_verdict_kind kind);

#endif
