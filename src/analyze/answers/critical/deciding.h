/* deciding.h - of each operation and API call of a process what it waited for, where that decided when it went on.
 *
 * This is the step to which the critical path goes from it (critical.h; docs/critical-path.md, "Dependencies"), and the one that
 * dependencies.h says has decided: at most one. An operation that nothing but its own submission held up waited for nothing, nor
 * did a call within which nothing ended that it waited for.
 *
 * Memory: up to 120 bytes for each operation with its call.
 *
 * Threads: found by one, asked by one.
 */
#ifndef SONDE_ANALYZE_ANSWERS_CRITICAL_DECIDING_H
#define SONDE_ANALYZE_ANSWERS_CRITICAL_DECIDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/progress.h"
#include "format/reader.h"

/* A wait has a number, from 1 on, of those of its process. */
struct sonde_decided {
    uint32_t wait;           /* of the step itself; 0: nothing held it up */
    const uint32_t *ended;   /* the waits that it ended: as long as the struct sonde_deciding */
    size_t ended_count;
};

struct sonde_deciding;
/* `max_rows` as in struct sonde_critical_options: of what is before them nothing is known. 0, SONDE_ENOMEM, or an error of reading. */
int sonde_deciding_find(const struct sonde_measurement *m, uint32_t process, uint64_t max_rows, struct sonde_progress *progress,
                        struct sonde_deciding **out);
void sonde_deciding_destroy(struct sonde_deciding *d); /* NULL is nothing */

/* Of a lane's operation, and of the call that a thread entered then. Those of a lane are found at once when they are asked for by
 * their starts. What is not known has no wait and has ended none. */
struct sonde_decided sonde_deciding_of_op(struct sonde_deciding *d, uint32_t lane, const struct sonde_row_op *row);
struct sonde_decided sonde_deciding_of_call(struct sonde_deciding *d, uint32_t lane, uint64_t enter_ns);

#endif
