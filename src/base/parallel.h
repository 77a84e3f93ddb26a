/* parallel.h - the same work on several threads.
 *
 *     int sum_part(void *user, uint32_t task) { ... user's parts[task] ... return 0; }
 *     rc = sonde_parallel_run(sonde_parallel_threads(), part_count, sum_part, &work);
 *
 * Tasks share nothing but `user`: each writes to a place of its own, and who
 * called merges the places afterwards, in their order, so that the result does
 * not depend on how many threads there were.
 */
#ifndef SONDE_BASE_PARALLEL_H
#define SONDE_BASE_PARALLEL_H

#include <stdint.h>

/* Threads worth starting: SONDE_THREADS from the environment (1 to 1024), else
 * the processors that this process may run on. At least 1. */
uint32_t sonde_parallel_threads(void);

/* Call fn(user, task) once for each task below `tasks`, on at most `threads`
 * threads (the caller's is one of them); returns when all have returned. Tasks
 * begin in their order. A task that returns non-zero keeps later ones from
 * beginning; the code of the first such task is returned, else 0. Where threads
 * cannot be started, fewer do the work. */
int sonde_parallel_run(uint32_t threads, uint32_t tasks, int (*fn)(void *user, uint32_t task), void *user);

#endif
