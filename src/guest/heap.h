/* heap.h - anonymous memory of the agent, taken from the budget in blocks.
 *
 * The address range is reserved once; blocks are handed out by number and come
 * back to a free list. The program's malloc is never called. Any thread.
 *
 * In huge pages where the kernel gives them to who asks: a hook finds the processor's
 * translations gone, too, and each costs more than the line behind it (docs/performance.md).
 */
#ifndef SONDE_GUEST_HEAP_H
#define SONDE_GUEST_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/lock.h"

#define SONDE_HEAP_BLOCK 65536u

struct sonde_heap {
    struct sonde_lock lock;
    unsigned char *base;
    size_t size, next;   /* bytes */
    void *free;          /* list of single blocks, */
    size_t free_bytes;   /* so much */
    _Atomic size_t in_use; /* bytes */
};

/* Reserve up to `bytes` (less when the address space is limited, at least
 * 1 MiB). 0 or SONDE_ENOMEM. */
int sonde__heap_init(struct sonde_heap *h, size_t bytes);
void sonde__heap_fini(struct sonde_heap *h);
/* `bytes` rounded up to blocks; zeroed when fresh, as more than one block always is, not when re-used. NULL when spent,
 * and in a sample's handler also when it would have to wait, or little is left. */
void *sonde__heap_get(struct sonde_heap *h, size_t bytes);
size_t sonde__heap_used(struct sonde_heap *h); /* bytes that were given out once */
/* Are three quarters in use? Takes no lock. */
static inline bool sonde__heap_is_low(struct sonde_heap *h)
{
    return atomic_load_explicit(&h->in_use, memory_order_relaxed) > h->size / 4 * 3;
}
/* A block for what can be done without: NULL also when less than half is left. */
void *sonde__heap_get_spare(struct sonde_heap *h);
void sonde__heap_put(struct sonde_heap *h, void *block, size_t bytes);

/* Pieces of one size, cut from blocks as they are needed. Those that came back go out
 * again first; blocks never go back. One thread at a time: under a lock of the caller's. */
struct sonde_pieces { /* all 0: none yet */
    void *free;          /* list: each begins with a pointer to the next */
    unsigned char *next; /* of the last block: what was never given out, */
    size_t left;         /* so many bytes */
};

/* `bytes`: always the same, a pointer's at least. Not zeroed. NULL when the heap is spent. */
void *sonde__piece_get(struct sonde_pieces *p, struct sonde_heap *h, size_t bytes);
void sonde__piece_put(struct sonde_pieces *p, void *piece);

#endif
