/* channel.c - see channel.h. */
#include "channel.h"

#include <string.h>

void sonde__channel_init(struct sonde_channel *c, struct sonde_heap *heap, uint32_t element_bytes)
{
    memset(c, 0, sizeof *c);
    c->heap = heap;
    c->element_bytes = element_bytes;
    c->per_segment =
        (uint32_t)((SONDE_HEAP_BLOCK - sizeof(struct sonde_channel_segment)) / element_bytes);
}

static struct sonde_channel_segment *take_spare(struct sonde_channel *c)
{
    for (int i = 0; i < SONDE_CHANNEL_SPARES; i++)
        if (atomic_load_explicit(&c->spare[i], memory_order_relaxed)) {
            struct sonde_channel_segment *s =
                atomic_exchange_explicit(&c->spare[i], NULL, memory_order_acquire);
            if (s)
                return s;
        }
    return NULL;
}

bool sonde__channel_extend(struct sonde_channel *c)
{
    struct sonde_channel_segment *s = take_spare(c);
    if (!s)
        s = sonde__heap_get(c->heap, SONDE_HEAP_BLOCK);
    if (!s)
        return false;
    atomic_store_explicit(&s->next, NULL, memory_order_relaxed);
    /* Before the first element of `s` is published through `written`, so the
     * consumer that sees the element sees the link as well. */
    if (c->tail)
        atomic_store_explicit(&c->tail->next, s, memory_order_release);
    else
        c->head = s;
    c->tail = s;
    c->tail_used = 0;
    return true;
}

static void give_back(struct sonde_channel *c, struct sonde_channel_segment *s)
{
    for (int i = 0; i < SONDE_CHANNEL_SPARES; i++) {
        struct sonde_channel_segment *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&c->spare[i], &none, s, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    sonde__heap_put(c->heap, s, SONDE_HEAP_BLOCK);
}

const void *sonde__channel_peek(struct sonde_channel *c)
{
    if (c->head_used == c->per_segment) {
        struct sonde_channel_segment *done = c->head;
        c->head = atomic_load_explicit(&done->next, memory_order_acquire);
        c->head_used = 0;
        give_back(c, done);
    }
    return c->head->bytes + (size_t)c->head_used * c->element_bytes;
}

void sonde__channel_next(struct sonde_channel *c)
{
    c->head_used++;
    atomic_store_explicit(&c->taken, atomic_load_explicit(&c->taken, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}
