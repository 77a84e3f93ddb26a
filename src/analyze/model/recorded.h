/* recorded.h - which part of a process's life was recorded.
 *
 * It ran from `begin_ns` to `end_ns`; before `start_ns` nothing was recorded,
 * because the agent comes with the first call of a GPU runtime, and in a pause
 * nothing new. docs/report.md, "What was recorded".
 *
 * Threads: compute in one; read from any.
 */
#ifndef SONDE_ANALYZE_MODEL_RECORDED_H
#define SONDE_ANALYZE_MODEL_RECORDED_H

#include <stdbool.h>

#include "base/vector.h"
#include "format/reader.h"

struct sonde_pause { uint64_t from_ns, to_ns; };

struct sonde_recorded {           /* ready when zeroed */
    uint64_t begin_ns;            /* start of the program; start_ns where that is unknown */
    uint64_t start_ns;            /* the agent's start, or begin_ns where a pause covers what came before */
    uint64_t end_ns;              /* last sign of life; of a process that was killed, its last API call */
    uint64_t before_cpu_ns;       /* CPU time of the process between begin_ns and start_ns; 0 unknown */
    SONDE_VECTOR(struct sonde_pause) pauses; /* within begin_ns and end_ns, in order, apart */
    uint64_t paused_ns;
};

/* 0 or SONDE_ENOMEM; fini in either case. */
int sonde_recorded_compute(const struct sonde_measurement *m, const struct sonde_process *p, struct sonde_recorded *out);
void sonde_recorded_fini(struct sonde_recorded *recorded);

/* From begin to end without the pauses. */
uint64_t sonde_recorded_ns(const struct sonde_recorded *recorded);
/* Number of the first pause that ends after `at_ns`; pauses.count: none. */
size_t sonde_recorded_pause(const struct sonde_recorded *recorded, uint64_t at_ns);
/* [from_ns, to_ns) in the parts in which recording was off, and those in which it was not, in order. */
void sonde_recorded_divide(const struct sonde_recorded *recorded, uint64_t from_ns, uint64_t to_ns,
                           void (*part)(void *user, uint64_t from_ns, uint64_t to_ns, bool paused), void *user);

/* What of it lies in [from_ns, to_ns), which may be nothing: begin_ns and end_ns are the same then. How much CPU time was used in
 * a part of the start-up is not known. 0 or SONDE_ENOMEM; fini of `out` in either case. */
int sonde_recorded_clip(const struct sonde_recorded *recorded, uint64_t from_ns, uint64_t to_ns, struct sonde_recorded *out);

/* When the program began, on the process's axis, as far as it is known. */
uint64_t sonde_process_begin(const struct sonde_process *p);

/* When the first process began and the last one ended, on the wall clock (hosts have axes of their own). */
void sonde_run_range(const struct sonde_measurement *m, uint64_t *begin_ns, uint64_t *end_ns);
/* `at_ns` after the run began, on the process's axis; 0 where that lies before it. */
uint64_t sonde_process_instant(const struct sonde_process *p, uint64_t run_begin_ns, uint64_t at_ns);

#endif
