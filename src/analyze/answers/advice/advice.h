/* advice.h - what to change in a program, with evidence, place and what it could save.
 *
 * Rules over the profile and the trace; docs/advice.md defines each with its
 * numbers. A saving is an upper bound on the time of the run, seen alone: two
 * of them may be about the same time, and do not add up.
 *
 * Threads: one at a time per struct.
 */
#ifndef SONDE_ANALYZE_ANSWERS_ADVICE_ADVICE_H
#define SONDE_ANALYZE_ANSWERS_ADVICE_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/answers/blame/blame.h"
#include "analyze/answers/blame/host_code.h"
#include "analyze/model/totals.h"
#include "analyze/profile/profile.h"
#include "base/text.h"
#include "base/vector.h"

struct sonde_advice {
    const char *rule;          /* for scripts: "launch_bound" */
    const char *title;         /* "the device waits for launches" */
    const char *change;        /* what to do about it */
    uint32_t process, device; /* device 0: not about one */
    uint32_t node;             /* tree node of the heaviest place; 0 unknown */
    uint32_t places;           /* how many places are in the numbers */
    uint64_t count, bytes;     /* of what the rule is about; 0 where it has none */
    uint64_t looked_at_ns;     /* time that it found there */
    uint64_t saving_ns;        /* at most */
    double error_ns;           /* its standard error, and that of looked_at_ns; 0: they do not rest on samples */
    struct sonde_host_piece pieces[SONDE_HOST_PIECES]; /* host_code: what of it is in functions right below */
    uint32_t piece_count;
    struct sonde_text evidence; /* a sentence with the numbers */
};

struct sonde_advices { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_advice) items; /* most to save first */
    bool traced;          /* false: rules that need a trace could not be asked */
    uint64_t rows_looked_at, rows; /* of the traces; fewer are looked at when a window has too many */
    uint64_t windows; /* of time, that the traces were looked at in: what spans two of one process is seen in neither */
};

/* 0, or a negative error of reading. `blame` is that of the whole measurement; NULL: it is computed here.
 * `rows_most`: operations and calls of a process that are looked at together; 0: four million. */
int sonde_advice_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                         const struct sonde_blame *blame, uint64_t rows_most, struct sonde_advices *out);
void sonde_advice_fini(struct sonde_advices *advices);

#endif
