/* counters.c - counters of the hardware: a row for each metric of an operation in its calling context, on each device (--counters);
 * a lane for each metric of a device over time (--counter-series); and a row for each counter of the CPU, in all and in each calling context
 * in which it was sampled (--cpu-counters). */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "table.h"

static struct sonde_map known; /* hash of what tells rows apart -> row; table_lock */
static struct sonde_map tallies; /* node and row of the counter -> row; the same */

void sonde__counters_init(void)
{
    memset(&known, 0, sizeof known);
    memset(&tallies, 0, sizeof tallies);
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

/* ---- of the CPU --------------------------------------------------------------------------------------- */

static struct sonde_row_tally *tally(uint32_t id)
{
    return sonde__table_find(SONDE_TABLE_TALLY, sizeof(struct sonde_row_tally), id);
}

uint32_t sonde__tally_new(const char *name, uint64_t period)
{
    uint32_t id = 0;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_tally *row = ROW_ADD(TALLY, struct sonde_row_tally, &id);
    if (row) {
        *row = (struct sonde_row_tally){.name = sonde__text_id(name), .period = period};
        sonde__row_commit(SONDE_TABLE_TALLY);
    }
    sonde__unlock(&sonde__agent.table_lock);
    return row ? id : 0;
}

/* Under table_lock; NULL: no room. */
static struct sonde_row_tally *tally_of(const struct sonde_row_tally *all, uint32_t number, uint32_t node)
{
    const uint64_t key = (uint64_t)node << 32 | number, *at = sonde__map_find(&tallies, key);
    uint32_t id;
    if (at)
        return tally((uint32_t)*at);
    struct sonde_row_tally *row = sonde__map_room(&tallies, &sonde__agent.heap) ? ROW_ADD(TALLY, struct sonde_row_tally, &id) : NULL;
    if (!row)
        return NULL;
    *row = (struct sonde_row_tally){.node = node, .name = all->name, .period = all->period};
    sonde__row_commit(SONDE_TABLE_TALLY);
    sonde__map_add(&tallies, &sonde__agent.heap, key, id);
    return row;
}

void sonde__tally_samples(uint32_t number, uint32_t node, uint64_t samples)
{
    sonde__lock(&sonde__agent.table_lock);
    const struct sonde_row_tally *all = tally(number);
    struct sonde_row_tally *row = all ? tally_of(all, number, node) : NULL;
    if (row) {
        row->samples += samples;
        row->count += samples * row->period;
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row)
        sonde_note("CPU counters: no room in --memory for those of all calling contexts");
}

void sonde__tally_add(uint32_t number, uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_tally *row = tally(number);
    if (row) {
        row->count += count;
        row->enabled_ns += enabled_ns;
        row->running_ns += running_ns;
    }
    sonde__unlock(&sonde__agent.table_lock);
}

void sonde__tally_lost(uint32_t number, uint64_t samples)
{
    struct sonde_row_tally *row = tally(number);
    if (row)
        row->samples = samples;
}

/* ---- over time ---------------------------------------------------------------------------------------- */

uint32_t sonde_series_add(uint32_t device, const char *metric, const char *unit)
{
    if (!sonde__agent_here())
        return 0;
    return sonde__lane_new((struct sonde_row_lane){.kind = SONDE_LANE_KIND_SERIES, .device = device, .context = sonde_string(unit, strlen(unit))},
                           metric);
}

void sonde_series_value(uint32_t series, uint64_t from_ns, uint64_t to_ns, double value)
{
    if (series && from_ns < to_ns)
        sonde__trace_row(series, SONDE_TABLE_SERIES, &(struct sonde_row_series){.from_ns = from_ns, .to_ns = to_ns, .value = value});
}

void sonde_series_lost(uint32_t series, uint64_t values)
{
    if (series)
        sonde__trace_lost(series, SONDE_TABLE_SERIES, SONDE_DROP_CHANNEL_FULL, values);
}
