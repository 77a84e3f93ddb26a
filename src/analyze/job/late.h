/* late.h - what a rank did while others waited for it. Between messages.c and late.c. */
#ifndef SONDE_ANALYZE_JOB_LATE_H
#define SONDE_ANALYZE_JOB_LATE_H

#include "messages.h"

struct sonde__late_span { uint64_t from_ns, to_ns; }; /* on the axis of the rank's host */

/* Sorts the spans and puts those together that overlap; returns how many are left. */
size_t sonde__late_merge(struct sonde__late_span *spans, size_t count);
/* The first of merged spans that ends after `ns`; `count`: none. */
size_t sonde__late_after(const struct sonde__late_span *spans, size_t count, uint64_t ns);
/* What two spans that overlap have in common. */
static inline struct sonde__late_span sonde__late_cut(struct sonde__late_span a, struct sonde__late_span b)
{
    return (struct sonde__late_span){a.from_ns > b.from_ns ? a.from_ns : b.from_ns, a.to_ns < b.to_ns ? a.to_ns : b.to_ns};
}
/* Nanoseconds of [from, to) that lie in merged spans. */
uint64_t sonde__late_within(const struct sonde__late_span *spans, size_t count, uint64_t from_ns, uint64_t to_ns);
/* The function or operation of doing->rank with the most time within merged spans. `idle`, merged, too: when kernels of NCCL's collectives of that rank
 * only waited, which is nothing that its device did. 0 or SONDE_ENOMEM. */
int sonde__late_find(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde__late_span *spans, size_t count,
                     const struct sonde__late_span *idle, size_t idle_count, struct sonde_message_doing *doing);

#endif
