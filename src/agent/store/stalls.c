/* stalls.c - samples of where warps of kernels were (--pc): a row for each instruction and reason of each device.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "table.h"

static struct sonde_map known; /* hash of what tells rows apart -> row; table_lock */

void sonde__stalls_init(void)
{
    memset(&known, 0, sizeof known);
}

/* Under table_lock; NULL: no room. */
static struct sonde_row_stall *row_of(const struct sonde_stall *s)
{
    const uint64_t said[] = {(uint64_t)s->kind << 32 | s->device, s->code, s->offset, (uint64_t)s->function << 32 | s->reason};
    const uint64_t key = XXH3_64bits(said, sizeof said) | 1, *at = sonde__map_find(&known, key);
    uint32_t id = at ? (uint32_t)*at : 0;
    if (at)
        return sonde__table_find(SONDE_TABLE_STALL, sizeof(struct sonde_row_stall), id);
    struct sonde_row_stall *row = sonde__map_room(&known, &sonde__agent.heap) ? ROW_ADD(STALL, struct sonde_row_stall, &id) : NULL;
    if (!row)
        return NULL;
    *row = (struct sonde_row_stall){
        .device = s->device, .function = s->function, .file = s->file, .line = s->line, .reason = s->reason, .cycles = s->cycles, .kind = s->kind, .code = s->code, .offset = s->offset};
    sonde__row_commit(SONDE_TABLE_STALL);
    sonde__map_add(&known, &sonde__agent.heap, key, id);
    return row;
}

bool sonde_stalled(const struct sonde_stall *where, uint64_t samples, uint64_t idle)
{
    if (!sonde__agent_here())
        return false;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_stall *row = row_of(where);
    if (row) {
        row->samples += samples;
        row->idle += idle;
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("pc: no room in --memory for samples of all instructions: those are counted as lost");
    return row != NULL;
}
