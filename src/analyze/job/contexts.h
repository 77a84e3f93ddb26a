/* contexts.h - calling contexts over the ranks of a job: of each row of a top-down profile, inclusive and exclusive, what the ranks have in it.
 * docs/ranks.md, "Each calling context".
 */
#ifndef SONDE_ANALYZE_JOB_CONTEXTS_H
#define SONDE_ANALYZE_JOB_CONTEXTS_H

#include "analyze/metrics/profile_rows.h"
#include "analyze/metrics/values.h"
#include "ranks.h"

struct sonde_rank_contexts { /* ready when zeroed */
    struct sonde_rank_spread *of[SONDE_PROFILE_SIDES]; /* [row]; ranks without it count as 0 */
};
/* `rows` are all rows of a top-down profile. Values of processes without a rank are in none. 0 or SONDE_ENOMEM; fini in both cases. */
int sonde_rank_contexts_compute(const struct sonde_measurement *m, const struct sonde_job *job, const struct sonde_profile_rows *rows,
                                const sonde_context_values *values, struct sonde_rank_contexts *out);
void sonde_rank_contexts_fini(struct sonde_rank_contexts *contexts);

#endif
