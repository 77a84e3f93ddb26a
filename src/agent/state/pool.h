/* pool.h - the live mapping: a file of segments, shared with whoever reads after us.
 *
 * live.sonde is mapped shared, so what was stored survives any end of the
 * process. Room is made on disk before it is used (files.c), so a full disk
 * never becomes SIGBUS. Segments are handed out under a lock, rarely.
 */
#ifndef SONDE_AGENT_STATE_POOL_H
#define SONDE_AGENT_STATE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "format/rows.h"
#include "guest/lock.h"

#define SONDE_POOL_SEGMENTS_MAX 16384u /* 1 GiB */
#define SONDE_POOL_RESERVE      6u     /* kept for profile, lanes and notes when the rest is spent */

struct sonde_pool {
    struct sonde_lock lock;
    unsigned char *base;       /* segment 0 is the header */
    _Atomic uint32_t limit;    /* segments the budget allows */
    _Atomic uint32_t ready;    /* segments with room on disk, segment 0 included */
    _Atomic uint32_t left;     /* of those, segments that can be had */
    _Atomic uint32_t in_vain;  /* a thread waited for more when so many were ready, and none came */
    bool disk_full;            /* and was not said yet. The monitor's */
    uint32_t next;             /* first never used */
    uint32_t free_count;
    _Atomic uint32_t in_use;
    uint32_t *free;            /* stack of segment numbers */
};

/* A fresh segment of `table`, its rows zero, or NULL. Any thread, and a sample's handler. */
struct sonde_segment *sonde__pool_get(struct sonde_pool *p, enum sonde_table table, uint32_t owner,
                                      uint64_t first, uint32_t row_bytes);
void sonde__pool_put(struct sonde_pool *p, struct sonde_segment *s);
void sonde__pool_grow(struct sonde_pool *p, uint32_t segments); /* so many have room on disk now */

static inline uint32_t sonde__pool_number(const struct sonde_pool *p, const struct sonde_segment *s)
{
    return (uint32_t)(((const unsigned char *)s - p->base) / SONDE_SEGMENT_BYTES);
}
static inline struct sonde_segment *sonde__pool_at(const struct sonde_pool *p, uint32_t number)
{
    return (struct sonde_segment *)(void *)(p->base + (size_t)number * SONDE_SEGMENT_BYTES);
}
static inline void *sonde__segment_rows(struct sonde_segment *s)
{
    return (unsigned char *)s + SONDE_SEGMENT_HEADER;
}

#endif
