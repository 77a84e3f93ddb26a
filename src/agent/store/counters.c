/* counters.c - counters of the hardware (--counters): a row for each metric of an operation in its calling context, on each device. */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "table.h"

static struct sonde_map known; /* hash of what tells rows apart -> row; table_lock */

void sonde__counters_init(void)
{
    memset(&known, 0, sizeof known);
}

/* Under table_lock; NULL: no room. */
static struct sonde_row_counter *row_of(uint32_t operation, uint32_t device, uint32_t metric, uint32_t unit)
{
    /* Nodes have 32 bits; devices are few, and strings are numbered from 1. */
    const uint64_t key = (uint64_t)operation << 32 | (uint64_t)(device & 0xff) << 24 | (metric & 0xffffff), *at = sonde__map_find(&known, key);
    uint32_t id = at ? (uint32_t)*at : 0;
    if (at)
        return sonde__table_find(SONDE_TABLE_COUNTER, sizeof(struct sonde_row_counter), id);
    struct sonde_row_counter *row = sonde__map_room(&known, &sonde__agent.heap) ? ROW_ADD(COUNTER, struct sonde_row_counter, &id) : NULL;
    if (!row)
        return NULL;
    *row = (struct sonde_row_counter){.node = operation, .device = device, .metric = metric, .unit = unit};
    sonde__row_commit(SONDE_TABLE_COUNTER);
    sonde__map_add(&known, &sonde__agent.heap, key, id);
    return row;
}

static void add(uint32_t operation, uint32_t device, uint32_t metric, uint32_t unit, uint64_t operations, double value)
{
    if (!operation || !sonde__agent_here())
        return;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_counter *row = row_of(operation, device, metric, unit);
    if (row) {
        row->least = row->operations && row->least < value ? row->least : value;
        row->most = row->operations && row->most > value ? row->most : value;
        row->sum += value;
        row->operations += operations;
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("counters: no room in --memory for those of all calling contexts");
}

void sonde_counter(uint32_t operation, uint32_t device, uint32_t metric, uint32_t unit, double value)
{
    if (metric)
        add(operation, device, metric, unit, 1, value);
}

void sonde_counter_missed(uint32_t operation, uint32_t device, uint64_t operations)
{
    add(operation, device, 0, 0, operations, 0);
}
