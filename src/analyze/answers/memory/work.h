/* work.h - when a process's devices worked on something that does not name all the memory it uses.
 *
 * A CUDA kernel's arguments are not known, so it may use any memory that is alive
 * meanwhile: between the entry of its API call and its end. Outside of all such
 * intervals, nothing can have used it. docs/memory.md, "Uses that are not seen".
 *
 * Threads: one at a time per struct.
 */
#ifndef SONDE_ANALYZE_ANSWERS_MEMORY_WORK_H
#define SONDE_ANALYZE_ANSWERS_MEMORY_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

/* Union of intervals that come mostly in order of start; exposed for tests. */
struct sonde_interval { uint64_t start, end; };
struct sonde_union { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_interval) closed;
    bool sorted_lost; /* an interval began before an earlier one: sort at the end */
};
int sonde_union_add(struct sonde_union *u, uint64_t start, uint64_t end);
/* Merge what is left: closed.items are then disjoint and in order. Returns the sum of their lengths. */
uint64_t sonde_union_finish(struct sonde_union *u, uint64_t *longest_gap);
void sonde_union_fini(struct sonde_union *u);

struct sonde__work { /* ready when zeroed */
    /* In order, disjoint. A gap in which nothing was allocated and nothing freed is
     * left out, so that there are at most as many as there are allocations and frees. */
    SONDE_VECTOR(struct sonde_interval) spans;
};

/* Does the trace have every operation that the process made while it was recorded? */
bool sonde__work_is_whole(const struct sonde_measurement *m, const struct sonde_process *p);

/* `instants`: the times of allocations and frees, sorted. 0 or a negative code; fini in either case. */
int sonde__work_read(const struct sonde_process *p, const uint64_t *instants, size_t instant_count,
                     struct sonde_progress *progress, struct sonde__work *out);
void sonde__work_fini(struct sonde__work *work);

/* The first and last instant of such work from `from` to `to`, both of them instants of the above; false: there is none. */
bool sonde__work_within(const struct sonde__work *work, uint64_t from_ns, uint64_t to_ns, uint64_t *first_ns, uint64_t *last_ns);

#endif
