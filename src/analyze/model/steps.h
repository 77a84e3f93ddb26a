/* steps.h - the steps of a run: the range that is in no other one of its thread and is most frequent. docs/diff.md, "Steps".
 *
 * Threads: any; one at a time per result.
 */
#ifndef SONDE_ANALYZE_MODEL_STEPS_H
#define SONDE_ANALYZE_MODEL_STEPS_H

#include "base/map.h"
#include "base/vector.h"
#include "format/reader.h"

/* A range that is in no other one of its thread. */
struct sonde_step {
    uint64_t begin_ns, end_ns;   /* on its process's axis */
    uint32_t process, lane;
    uint32_t name;               /* without the number at its end */
};
typedef SONDE_VECTOR(struct sonde_step) sonde_steps; /* ready when zeroed; by process, lane, begin */

/* All such ranges of a run, but NCCL's own. Names are interned. 0, SONDE_ENOMEM, or an error of reading; fini the vector in either case. */
int sonde_steps_read(const struct sonde_measurement *m, struct sonde_intern *names, sonde_steps *out);
/* The name of the steps: the most frequent one that each run has at least twice; 0: there is none. */
uint32_t sonde_steps_choose(const sonde_steps *runs, uint32_t run_count, uint32_t names);

#endif
