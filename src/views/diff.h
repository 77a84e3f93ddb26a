/* diff.h - what a comparison (src/analyze/answers/diff) answers, as tables and sentences.
 *
 * It is shown as a view is, though it is of several measurements: sonde_view_diff describes its tables and
 * has no `make`. The terminal, JSON and the viewer read the same data. Any thread.
 */
#ifndef SONDE_VIEWS_DIFF_H
#define SONDE_VIEWS_DIFF_H

#include "analyze/answers/diff/diff.h"
#include "view.h"

extern const struct sonde_view sonde_view_diff;

struct sonde_diff_shown {            /* what is shown, and how */
    const struct sonde_diff *diff;
    const struct sonde_query *const *queries; /* [run_count], prepared: names of contexts come from them */
    uint32_t run_count, before_count;
    uint32_t limit;                  /* rows of a table for people; 0 = all */
};

/* Compare measurements; those before come first, and the first one's `begin` and `end` are around long work. 0, or a negative
 * code with `diag`; sonde_diff_fini `out` in either case. In one thread (it starts others). */
int sonde_diff_queries(const struct sonde_query *const *queries, uint32_t run_count, uint32_t before_count, struct sonde_diff *out,
                       struct sonde_diag *diag);

/* 0, or a negative code with `diag`; fini `out` in either case. */
int sonde_diff_fill(const struct sonde_diff_shown *shown, struct sonde_view_data *out, struct sonde_diag *diag);

/* Slower, faster, or neither for sure: which of total and step decides, and the ratio in words. */
const struct sonde_diff_ratio *sonde_diff_leading(const struct sonde_diff *diff);

#endif
