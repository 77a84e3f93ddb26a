/* overlap.h - how much of copies and communication is hidden behind computation.
 *
 * Per device, exact: every moment is in one state, the set of what runs then;
 * all figures are sums over states. docs/overlap.md has the definitions (those
 * of PyTorch's Holistic Trace Analysis) and how each number follows.
 */
#ifndef SONDE_ANALYZE_ANSWERS_LANES_OVERLAP_H
#define SONDE_ANALYZE_ANSWERS_LANES_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/kinds.h"
#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

/* What may run at a moment; bits of a state. */
enum {
    SONDE_RUNS_COMPUTE = 1, /* kernels, but those of communication */
    SONDE_RUNS_COMM = 2,    /* collectives, their kernels, copies between devices */
    SONDE_RUNS_COPY = 4,
    SONDE_RUNS_FILL = 8,
    SONDE_RUNS_STATES = 16,
};

struct sonde_overlap_way { uint64_t count, ns, hidden_ns; }; /* ns: union; hidden: of it, while computing */

struct sonde_overlap {       /* one device as one process used it */
    uint32_t process, device;
    uint64_t first_ns, last_ns; /* of its operations */
    uint64_t states[SONDE_RUNS_STATES]; /* time in each, between first and last; [0] is idle */
    uint64_t paused_ns;      /* between first and last: nothing ran that was recorded, and recording was off */
    struct sonde_overlap_way ways[SONDE_WAY_COUNT];
    uint64_t kernels, comm_count, fills; /* operations: computing; kernels and copies of communication; fills */
    uint64_t collectives;    /* operations over kernels of communication */
    uint64_t no_times;       /* left out */
};

struct sonde_overlaps { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_overlap) items; /* by process, device; only devices with operations */
};

/* 0, or a negative error of reading; fini in either case. `window_rows` as in
 * struct sonde_trace_options (0: its default). Rows are the unit of `progress` (may be NULL). */
int sonde_overlap_compute(const struct sonde_measurement *m, uint64_t window_rows, struct sonde_progress *progress,
                          struct sonde_overlaps *out);
void sonde_overlap_fini(struct sonde_overlaps *overlaps);

/* Time in which something of `any` runs and, with `with`, something of that too; `without` must not. */
uint64_t sonde_overlap_ns(const struct sonde_overlap *o, unsigned any, unsigned with, unsigned without);

#endif
