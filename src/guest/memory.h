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
#include <stdint.h>

/* Zeroed pages. NULL: there are none. */
void *sonde__pages_get(size_t bytes);
void sonde__pages_put(void *pages, size_t bytes); /* as many as were got; NULL is none */

/* For an agent that leaves (src/agent/run/attach.c). What there is by now stays with it; all that was got since, of both kinds, goes back. */
void sonde__pages_keep(void);
void sonde__pages_put_all(void);

/* Zeroed memory that is never given back, aligned for anything; small pieces share pages. NULL: there is none. */
void *sonde__memory_get(size_t bytes);

/* What is made for so many bytes, that it need not be made anew for a few more: 64 KiB, and about a half more as often as that is too little;
 * a multiple of 64, but for what is beyond all memory. */
static inline uint64_t sonde__room_bytes(uint64_t bytes)
{
    uint64_t room = 65536;
    while (room < bytes && room <= UINT64_MAX / 2)
        room += room / 128 * 64;
    return room < bytes ? bytes : room;
}

#endif
