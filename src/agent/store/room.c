/* room.c - segments of the live mapping, and their room on disk.
 *
 * Only the monitor has the file (files.c), so only it makes room: ahead of need,
 * in its turns. A program that meets new call paths faster than the monitor gets a
 * processor waits for it; nothing is lost that the budget has room for.
 */
#include "store.h"

#include <sonde/error.h>

#include "agent/state/clock.h"
#include "agent/state/state.h"

#define AHEAD    32u         /* segments at the least, and an eighth of what there is */
#define LITTLE   16u         /* segments: the next call path waits */
#define WAIT_NS  1000000000u /* the monitor is not heard of: this much room has to do */

static uint32_t ahead(uint32_t ready)
{
    return AHEAD + ready / 8;
}

/* Also under table_lock, so it says nothing. */
static void make_room(struct sonde_pool *p)
{
    const uint32_t ready = atomic_load(&p->ready);
    if (!sonde__on_monitor || ready >= p->limit || atomic_load(&p->left) > ahead(ready))
        return;
    if (sonde__files_grow((uint64_t)(ready + 64 + ready / 4) * SONDE_SEGMENT_BYTES) == SONDE_EIO) {
        p->limit = ready;
        p->disk_full = true;
        sonde__trace_off(SONDE_DROP_DISK_FULL);
    }
}

void sonde__room_keep(void)
{
    struct sonde_pool *p = &sonde__agent.pool;
    make_room(p);
    if (!p->disk_full)
        return;
    p->disk_full = false;
    sonde_note("no space left for the measurement: new call paths are merged into their caller, the trace ends");
}

struct sonde_segment *sonde__room_get(enum sonde_table table, uint32_t owner, uint64_t first, uint32_t row_bytes)
{
    make_room(&sonde__agent.pool);
    return sonde__pool_get(&sonde__agent.pool, table, owner, first, row_bytes);
}

bool sonde__room_await(void)
{
    struct sonde_pool *p = &sonde__agent.pool;
    const uint32_t ready = atomic_load(&p->ready), left = atomic_load(&p->left);
    if (ready >= p->limit || left > ahead(ready) / 2 || sonde__on_monitor)
        return true;
    sonde__monitor_wake();
    if (left > LITTLE || ready == atomic_load(&p->in_vain))
        return true;
    if (sonde__handler.on) {
        sonde__handler.missed = true;
        return false;
    }
    const uint64_t begin_ns = sonde_now_ns();
    while (atomic_load(&p->ready) == ready && ready < p->limit && ready != atomic_load(&p->in_vain)) {
        sonde__nap(50);
        if (sonde_now_ns() - begin_ns > WAIT_NS)
            atomic_store(&p->in_vain, ready);
    }
    sonde__count_held(begin_ns);
    return true;
}
