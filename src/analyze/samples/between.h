/* between.h - the context of a thread between two API calls of which no sample tells: what their stacks share.
 *
 * docs/blame.md, "What a thread does": a function that both calls were made from has been left and called again in between,
 * for all that is known, if they are two places of it; then its caller is named, unless the program or thread began with it.
 * One place for all views, so that they cannot disagree.
 *
 * Threads: any.
 */
#ifndef SONDE_ANALYZE_SAMPLES_BETWEEN_H
#define SONDE_ANALYZE_SAMPLES_BETWEEN_H

#include "analyze/profile/profile.h"
#include "format/reader.h"

/* The deepest common ancestor of two nodes of the tree; *child_a and *child_b get the nodes below it on the ways to
 * both, 0 where there is none. */
uint32_t sonde__common_caller(const struct sonde_profile *profile, uint32_t a, uint32_t b, uint32_t *child_a, uint32_t *child_b);
/* One function, maybe at different lines, which the program or a thread began with. */
bool sonde__same_entry(const struct sonde_profile *profile, uint32_t a, uint32_t b);
/* Two calls, as nodes of the process with this index. A node of the tree; 0: they share nothing. */
uint32_t sonde__between_calls(const struct sonde_profile *profile, const struct sonde_process *process, uint32_t index,
                              uint32_t before, uint32_t after);

#endif
