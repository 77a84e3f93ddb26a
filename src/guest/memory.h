/* memory.h - memory from the kernel. The program's malloc is never called: a hook may run inside of it.
 *
 * What counts in the budget of --memory is the agent's heap (heap.h). This is for
 * what is there before and without it: backends follow a program's objects from the
 * first call on, and a forked child has no heap until it records.
 *
 * Threads: any. errno is preserved.
 */
#ifndef SONDE_GUEST_MEMORY_H
#define SONDE_GUEST_MEMORY_H

#include <stddef.h>

/* Zeroed pages. NULL: there are none. */
void *sonde__pages_get(size_t bytes);
void sonde__pages_put(void *pages, size_t bytes); /* as many as were got; NULL is none */

/* Zeroed memory that is never given back, aligned for anything; small pieces share pages. NULL: there is none. */
void *sonde__memory_get(size_t bytes);

#endif
