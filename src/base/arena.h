/* arena.h - memory that is given back all at once.
 *
 * One arena per measurement and one per query; nothing in it is freed alone.
 * Threads: an arena belongs to one thread at a time.
 */
#ifndef SONDE_BASE_ARENA_H
#define SONDE_BASE_ARENA_H

#include <stddef.h>

struct sonde_arena {
    struct sonde_arena_block *blocks; /* newest first; private */
};

/* An arena is ready when zeroed; fini gives everything back and makes it ready again. */
void sonde_arena_fini(struct sonde_arena *arena);

/* `bytes` zeroed bytes, aligned for any type; NULL when out of memory. */
void *sonde_arena_alloc(struct sonde_arena *arena, size_t bytes);

/* A copy of `length` bytes with a NUL after them; NULL when out of memory. */
char *sonde_arena_copy(struct sonde_arena *arena, const char *bytes, size_t length);

#endif
