/* pool.c - see pool.h. */
#include "pool.h"

#include <string.h>

#include "format/tables.h"

/* Readers need not look behind it. Told before the segment is used. */
static uint32_t next_segment(struct sonde_pool *p)
{
    struct sonde_live_header *header = (struct sonde_live_header *)(void *)p->base;
    const uint32_t number = p->next++;
    __atomic_store_n(&header->segment_count, p->next, __ATOMIC_RELEASE);
    return number;
}

struct sonde_segment *sonde__pool_get(struct sonde_pool *p, enum sonde_table table, uint32_t owner,
                                      uint64_t first, uint32_t row_bytes)
{
    struct sonde_segment *s = NULL;
    int used_before = 0;
    if (!sonde__lock_or_miss(&p->lock))
        return NULL;
    uint32_t left = atomic_load_explicit(&p->left, memory_order_relaxed);
    if (left > (sonde_table_info(table)->properties & SONDE_ROWS_FIRST ? 0 : SONDE_POOL_RESERVE)) {
        uint32_t number;
        if (p->free_count) {
            number = p->free[--p->free_count];
            used_before = 1;
        } else {
            number = next_segment(p);
        }
        s = (struct sonde_segment *)(p->base + (size_t)number * SONDE_SEGMENT_BYTES);
        atomic_store_explicit(&p->left, left - 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&p->in_use, 1, memory_order_relaxed);
    }
    sonde__unlock(&p->lock);
    if (!s)
        return NULL;
    if (used_before)
        memset(s, 0, SONDE_SEGMENT_BYTES);
    s->owner = owner;
    s->first = table == SONDE_TABLE_NODE ? (uint64_t)sonde__pool_number(p, s) << SONDE_NODE_SHIFT : first;
    s->row_bytes = row_bytes;
    s->table = (uint16_t)table;
    __atomic_store_n(&s->magic, SONDE_SEGMENT_MAGIC, __ATOMIC_RELEASE);
    return s;
}

void sonde__pool_put(struct sonde_pool *p, struct sonde_segment *s)
{
    s->table = SONDE_TABLE_FREE;
    __atomic_store_n(&s->used, 0, __ATOMIC_RELEASE);
    sonde__lock(&p->lock);
    p->free[p->free_count++] = sonde__pool_number(p, s);
    atomic_fetch_add_explicit(&p->left, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&p->in_use, 1, memory_order_relaxed);
    sonde__unlock(&p->lock);
}

void sonde__pool_grow(struct sonde_pool *p, uint32_t segments)
{
    sonde__lock(&p->lock);
    atomic_store_explicit(&p->ready, segments, memory_order_release);
    atomic_store_explicit(&p->left, p->free_count + (segments - p->next), memory_order_relaxed);
    sonde__unlock(&p->lock);
}
