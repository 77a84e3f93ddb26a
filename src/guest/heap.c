/* heap.c - see heap.h. */
#include "guest/heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include <sonde/error.h>

#define HUGE (2u << 20) /* a page's size and alignment; other sizes of other machines lose no more than this */

int sonde__heap_init(struct sonde_heap *h, size_t bytes)
{
    for (; bytes >= 1u << 20; bytes /= 2) {
        unsigned char *p = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            const size_t before = -(uintptr_t)p % HUGE;
            if (before)
                munmap(p, before);
            munmap(p + before + bytes, HUGE - before);
            madvise(p + before, bytes, MADV_HUGEPAGE);
            *h = (struct sonde_heap){.base = p + before, .size = bytes};
            return 0;
        }
    }
    return SONDE_ENOMEM;
}

void sonde__heap_fini(struct sonde_heap *h)
{
    if (h->base)
        munmap(h->base, h->size);
    *h = (struct sonde_heap){0};
}

static size_t blocks_bytes(size_t bytes)
{
    return (bytes + SONDE_HEAP_BLOCK - 1) / SONDE_HEAP_BLOCK * SONDE_HEAP_BLOCK;
}

static void count_use(struct sonde_heap *h)
{
    atomic_store_explicit(&h->in_use, h->next - h->free_bytes, memory_order_relaxed);
}

void *sonde__heap_get(struct sonde_heap *h, size_t bytes)
{
    void *p = NULL;
    bytes = blocks_bytes(bytes);
    if (!sonde__lock_or_miss(&h->lock))
        return NULL;
    if (sonde__handler.on && h->next > h->size / 4 * 3) {
        p = NULL; /* the last quarter is not for samples */
    } else if (bytes == SONDE_HEAP_BLOCK && h->free) {
        p = h->free;
        h->free = *(void **)p;
        h->free_bytes -= SONDE_HEAP_BLOCK;
        *(void **)p = NULL;
    } else if (h->size - h->next >= bytes) {
        p = h->base + h->next;
        h->next += bytes;
    }
    count_use(h);
    sonde__unlock(&h->lock);
    return p;
}

size_t sonde__heap_used(struct sonde_heap *h)
{
    sonde__lock(&h->lock);
    const size_t used = h->next;
    sonde__unlock(&h->lock);
    return used;
}

void *sonde__heap_get_spare(struct sonde_heap *h)
{
    return sonde__heap_used(h) < h->size / 2 ? sonde__heap_get(h, SONDE_HEAP_BLOCK) : NULL;
}

void sonde__heap_put(struct sonde_heap *h, void *block, size_t bytes)
{
    if (!block)
        return;
    if (!sonde__lock_or_miss(&h->lock))
        return; /* a handler's; so rare that the blocks may stay lost */
    for (size_t at = 0; at < blocks_bytes(bytes); at += SONDE_HEAP_BLOCK) {
        void *one = (unsigned char *)block + at;
        *(void **)one = h->free;
        h->free = one;
        h->free_bytes += SONDE_HEAP_BLOCK;
    }
    count_use(h);
    sonde__unlock(&h->lock);
}

void *sonde__piece_get(struct sonde_pieces *p, struct sonde_heap *h, size_t bytes)
{
    void *piece = p->free;
    if (piece) {
        p->free = *(void **)piece;
        return piece;
    }
    if (p->left < bytes) {
        p->next = sonde__heap_get(h, SONDE_HEAP_BLOCK);
        p->left = p->next ? SONDE_HEAP_BLOCK : 0;
        if (!p->next)
            return NULL;
    }
    piece = p->next;
    p->next += bytes;
    p->left -= bytes;
    return piece;
}

void sonde__piece_put(struct sonde_pieces *p, void *piece)
{
    *(void **)piece = p->free;
    p->free = piece;
}
