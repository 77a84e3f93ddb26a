/* caveats.h - what a reader of a report must know about the measurement before believing it:
 * a cut trace, clocks that jumped, files that changed, missing debug information, no
 * CPU side, empty lanes. docs/report.md, "Caveats".
 *
 * Threads: any, one at a time per result.
 */
#ifndef SONDE_ANALYZE_ANSWERS_SUMMARY_CAVEATS_H
#define SONDE_ANALYZE_ANSWERS_SUMMARY_CAVEATS_H

#include <stdint.h>

#include "analyze/profile/profile.h"
#include "base/text.h"
#include "base/vector.h"

enum sonde_caveat_kind {
    /* bits: a view is touched by some */
    SONDE_CAVEAT_TRACE = 1 << 0,   /* rows of the trace are missing, or all of it */
    SONDE_CAVEAT_CPU = 1 << 1,     /* the CPU side was not sampled */
    SONDE_CAVEAT_CLOCK = 1 << 2,   /* a device's clock jumped */
    SONDE_CAVEAT_SYMBOLS = 1 << 3, /* functions are not known: the file changed, or is gone */
    SONDE_CAVEAT_LINES = 1 << 4,   /* functions of the user's code are known, their lines are not */
    SONDE_CAVEAT_LIBRARIES = 1 << 5, /* the same of installed libraries */
    SONDE_CAVEAT_LANES = 1 << 6,   /* nothing happened on a lane */
    SONDE_CAVEAT_PAUSES = 1 << 7,  /* recording was off for a while */
    SONDE_CAVEAT_SAMPLES = 1 << 8, /* of what was sampled: CPU time, samples and waits that are missing */
    SONDE_CAVEAT_PYTHON = 1 << 9,  /* Python's frames are not known, or from some time on */
    SONDE_CAVEAT_VIEWS = 1 << 10, /* the times of host code and what its samples stand for disagree: not in sonde_caveats_compute */
};
enum { SONDE_CAVEAT_ALL = (1 << 11) - 1 };

const char *sonde_caveat_name(enum sonde_caveat_kind kind); /* "trace"; CPU and SAMPLES are both "cpu" */

struct sonde_caveat {
    enum sonde_caveat_kind kind;
    struct sonde_text text; /* one sentence, without a full stop */
};
struct sonde_caveats { /* ready when zeroed; by kind */
    SONDE_VECTOR(struct sonde_caveat) items;
};

/* 0 or SONDE_ENOMEM; fini in either case. */
int sonde_caveats_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                          struct sonde_caveats *out);
void sonde_caveats_fini(struct sonde_caveats *caveats);

#endif
