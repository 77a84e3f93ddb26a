/* remote.c - accesses of kernels to memory of other devices and of the host (--comm): a row for each access and what it went to, for each
 * kernel in its calling context how many launches were looked at, and what was accessed of memory, cell by cell (--comm-elements).
 */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "table.h"

static struct sonde_map looks;  /* node << 32 | group << 16 | engine << 8 | reason -> row; table_lock */
static struct sonde_map groups; /* node -> launches that were put into groups; table_lock */

void sonde__remote_init(void)
{
    memset(&looks, 0, sizeof looks);
    memset(&groups, 0, sizeof groups);
}

static void say_full(void)
{
    sonde_note("comm: no room in --memory for all accesses of kernels to other memory");
}

uint32_t sonde_remote_add(const struct sonde_remote_access *a)
{
    uint32_t id = 0;
    if (!a->operation || !a->device || !sonde__agent_here())
        return 0;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_remote *row = ROW_ADD(REMOTE, struct sonde_row_remote, &id);
    if (row) {
        *row = (struct sonde_row_remote){
            .node = a->operation,
            .object = a->object,
            .file = a->file,
            .line = a->line,
            .number = a->number,
            .what = a->what,
            .bytes = a->bytes,
            .engine = a->engine,
            .missed = a->group,
            .device = a->device,
            .owner = a->owner,
        };
        sonde__row_commit(SONDE_TABLE_REMOTE);
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        say_full();
    return row ? id : 0;
}

void sonde_remote_seen(uint32_t id, uint64_t threads)
{
    if (!id || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_remote *row = sonde__table_find(SONDE_TABLE_REMOTE, sizeof *row, id);
    if (row)
        row->count = threads;
    sonde__unlock(&sonde__agent.table_lock);
}

uint64_t sonde_remote_cells(void)
{
    return sonde__agent.config.comm_cells;
}

uint32_t sonde_remote_array_add(const struct sonde_remote_array *a)
{
    uint32_t id = 0;
    if (!sonde__agent_here())
        return 0;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_array *row = ROW_ADD(ARRAY, struct sonde_row_array, &id);
    if (row) {
        *row = (struct sonde_row_array){
            .object = a->object,
            .device = a->device,
            .owner = a->owner,
            .shift = (uint16_t)a->shift,
            .flags = a->alone ? SONDE_ARRAY_ALONE : 0,
            .bytes = a->bytes,
        };
        sonde__row_commit(SONDE_TABLE_ARRAY);
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        say_full();
    return row ? id : 0;
}

bool sonde_remote_run_add(uint32_t array, enum sonde_cell_accesses kind, uint32_t first, uint32_t count, uint64_t bytes)
{
    uint32_t id;
    if (!array || !sonde__agent_here())
        return false;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_cell *row = ROW_ADD(CELL, struct sonde_row_cell, &id);
    if (row) {
        *row = (struct sonde_row_cell){.array = array, .kind = kind, .first = first, .count = count, .bytes = bytes};
        sonde__row_commit(SONDE_TABLE_CELL);
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        say_full();
    return row != NULL;
}

void sonde_remote_array_read(uint32_t id)
{
    if (!id || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_array *row = sonde__table_find(SONDE_TABLE_ARRAY, sizeof *row, id);
    if (row)
        row->flags |= SONDE_ARRAY_READ;
    sonde__unlock(&sonde__agent.table_lock);
}

/* Under table_lock; NULL: no room. */
static struct sonde_row_remote *look_for(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine, uint32_t group)
{
    const uint64_t key = (uint64_t)operation << 32 | group << 16 | (uint64_t)engine << 8 | why, *known = sonde__map_find(&looks, key);
    uint32_t id = known ? (uint32_t)*known : 0;
    if (known)
        return sonde__table_find(SONDE_TABLE_REMOTE, sizeof(struct sonde_row_remote), id);
    struct sonde_row_remote *row = sonde__map_room(&looks, &sonde__agent.heap) ? ROW_ADD(REMOTE, struct sonde_row_remote, &id) : NULL;
    if (!row)
        return NULL;
    *row = (struct sonde_row_remote){.node = operation, .what = (uint8_t)group, .missed = (uint8_t)why, .engine = (uint8_t)engine};
    sonde__row_commit(SONDE_TABLE_REMOTE);
    sonde__map_add(&looks, &sonde__agent.heap, key, id);
    return row;
}

uint32_t sonde_remote_group(uint32_t operation)
{
    uint32_t group = 0;
    if (!sonde__agent.config.values_first || !operation || !sonde__agent_here())
        return 0;
    sonde__lock(&sonde__agent.table_lock);
    uint64_t *known = sonde__map_find(&groups, operation);
    if (known)
        group = (uint32_t)((*known)++ % SONDE_REMOTE_GROUPS);
    else if (sonde__map_room(&groups, &sonde__agent.heap))
        sonde__map_add(&groups, &sonde__agent.heap, operation, 1);
    sonde__unlock(&sonde__agent.table_lock);
    return group;
}

void sonde_remote_missed(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine, uint32_t group)
{
    if (!operation || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_remote *row = look_for(operation, why, engine, group);
    if (row)
        row->count++;
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        say_full();
}
