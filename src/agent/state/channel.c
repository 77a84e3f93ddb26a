/* channel.c - see channel.h. */
#include "channel.h"

#include <string.h>

static struct sonde_channel_segment *segment_of(void *memory, size_t bytes, uint32_t element_bytes)
{
    struct sonde_channel_segment *s = memory;
    if (s)
        s->room = (uint32_t)((bytes - sizeof *s) / element_bytes);
    return s;
}

void sonde__channel_init(struct sonde_channel *c, struct sonde_heap *heap, uint32_t element_bytes,
                         void *first, size_t first_bytes)
{
    memset(c, 0, sizeof *c);
    c->heap = heap;
    c->element_bytes = element_bytes;
    c->first_segment = segment_of(first, first_bytes, element_bytes);
    atomic_store(&c->first, c->first_segment);
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
    if (!s && atomic_load_explicit(&c->first, memory_order_relaxed))
        s = atomic_exchange_explicit(&c->first, NULL, memory_order_acquire);
    if (!s)
        s = segment_of(sonde__heap_get(c->heap, SONDE_HEAP_BLOCK), SONDE_HEAP_BLOCK, c->element_bytes);
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
    c->tail_room = s->room;
    c->tail_used = 0;
    return true;
}

static void give_back(struct sonde_channel *c, struct sonde_channel_segment *s)
{
    if (s == c->first_segment) {
        atomic_store_explicit(&c->first, s, memory_order_release);
        return;
    }
    const int spares = sonde__heap_is_low(c->heap) ? 1 : SONDE_CHANNEL_SPARES;
    for (int i = 0; i < spares; i++) {
        struct sonde_channel_segment *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&c->spare[i], &none, s, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    sonde__heap_put(c->heap, s, SONDE_HEAP_BLOCK);
}

const void *sonde__channel_peek(struct sonde_channel *c)
{
    if (!c->head_room)
        c->head_room = c->head->room; /* the first */
    if (c->head_used == c->head_room) {
        struct sonde_channel_segment *done = c->head;
        c->head = atomic_load_explicit(&done->next, memory_order_acquire);
        c->head_used = 0;
        c->head_room = c->head->room;
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
