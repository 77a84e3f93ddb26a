/* channel.h - a wait-free single-producer single-consumer queue that grows by segments.
 *
 * The producer writes elements into the last segment and publishes their
 * number with a release store; the consumer reads up to that number. A segment
 * that the consumer has emptied goes back to the producer through a few spare
 * slots, so the steady state touches no shared allocator; when the budget runs
 * low it goes back to that, for other threads. The first segment is a small one
 * that lies with the thread: most threads of a program with hundreds need no
 * more. Push fails only when the budget is spent; the producer never waits.
 *
 * Elements are fixed-size, given at init. Either side may change hands under a
 * lock of the caller's (thread slots are re-used, harvesters take turns).
 */
#ifndef SONDE_AGENT_STATE_CHANNEL_H
#define SONDE_AGENT_STATE_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/heap.h"

#define SONDE_CHANNEL_SPARES 8

struct sonde_channel_segment {
    struct sonde_channel_segment *_Atomic next;
    uint32_t room; /* elements */
    uint32_t reserved[13];
    unsigned char bytes[];
};

struct sonde_channel {
    uint32_t element_bytes;
    uint32_t tail_room, tail_used;  /* producer's, and so is */
    struct sonde_heap *heap;
    struct sonde_channel_segment *tail;
    _Atomic uint64_t written;
    unsigned char pad[64]; /* the two sides must not share a cache line */

    /* consumer's */
    struct sonde_channel_segment *head;
    uint32_t head_used, head_room;
    _Atomic uint64_t taken;

    struct sonde_channel_segment *_Atomic spare[SONDE_CHANNEL_SPARES];
    struct sonde_channel_segment *_Atomic first; /* the small one, while it is not in use */
    struct sonde_channel_segment *first_segment; /* it; NULL: there is none */
};

/* `first`: memory of `first_bytes` for the first segment, aligned, or NULL: all are from the heap. */
void sonde__channel_init(struct sonde_channel *c, struct sonde_heap *heap, uint32_t element_bytes,
                         void *first, size_t first_bytes);

/* Slow part of sonde__channel_slot: the segment is full, or there is none yet. */
bool sonde__channel_extend(struct sonde_channel *c);

/* Producer: where the next element goes, or NULL when the budget is spent;
 * fill it, then publish. */
static inline void *sonde__channel_slot(struct sonde_channel *c)
{
    if (__builtin_expect(c->tail_used == c->tail_room, 0) && !sonde__channel_extend(c))
        return NULL;
    return c->tail->bytes + (size_t)c->tail_used * c->element_bytes;
}

static inline void sonde__channel_publish(struct sonde_channel *c)
{
    c->tail_used++;
    atomic_store_explicit(&c->written,
                          atomic_load_explicit(&c->written, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* Producer: have the next element's place at hand, which the consumer's processor had last. (Always inline: see replay.h.) */
static inline __attribute__((always_inline)) void sonde__channel_fetch(const struct sonde_channel *c)
{
    const char *next = c->tail ? (const char *)c->tail->bytes + (size_t)c->tail_used * c->element_bytes : NULL;
    if (next && c->tail_used < c->tail_room) {
        __builtin_prefetch(next, 1);
        __builtin_prefetch(next + 64, 1);
    }
}

/* Consumer: how many elements wait. */
static inline uint64_t sonde__channel_waiting(const struct sonde_channel *c)
{
    return atomic_load_explicit(&c->written, memory_order_acquire) -
           atomic_load_explicit(&c->taken, memory_order_relaxed);
}

/* Consumer: the next element, valid until sonde__channel_next; call only when one waits. */
const void *sonde__channel_peek(struct sonde_channel *c);
void sonde__channel_next(struct sonde_channel *c);

#endif
