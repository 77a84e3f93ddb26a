/* migrations.c - managed memory that the driver moved: a row for each way that the objects of one site went, and for each processor's page faults. */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "guest/once.h"
#include "table.h"

static struct sonde_map sums; /* site << 24 | from << 14 | to << 4 | faults -> row; table_lock */

void sonde__migrations_init(void)
{
    memset(&sums, 0, sizeof sums);
}

/* Under table_lock; NULL: no room. */
static struct sonde_row_migration *sum_of(uint32_t site, const struct sonde_migration *m)
{
    const uint64_t key = (uint64_t)site << 24 | (uint64_t)(m->from & 1023) << 14 | (m->to & 1023) << 4 | m->faults, *known = sonde__map_find(&sums, key);
    uint32_t id = known ? (uint32_t)*known : 0;
    if (known)
        return sonde__table_find(SONDE_TABLE_MIGRATION, sizeof(struct sonde_row_migration), id);
    struct sonde_row_migration *row = sonde__map_room(&sums, &sonde__agent.heap) ? ROW_ADD(MIGRATION, struct sonde_row_migration, &id) : NULL;
    if (!row)
        return NULL;
    *row = (struct sonde_row_migration){.object = site, .from = m->from, .to = m->to, .faults = m->faults};
    sonde__row_commit(SONDE_TABLE_MIGRATION);
    sonde__map_add(&sums, &sonde__agent.heap, key, id);
    return row;
}

void sonde_migrated(const struct sonde_migration *m)
{
    static struct sonde_once said;
    uint32_t site = 0;
    if (!sonde__agent_here())
        return;
    sonde_value_sites(&m->object, 1, &site);
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_migration *row = sum_of(site, m);
    if (row) {
        row->count += m->count;
        row->bytes += m->bytes;
        row->ns += m->ns;
    }
    sonde__unlock(&sonde__agent.table_lock);
    if (!row && sonde__once(&said))
        sonde_note("no room in --memory for all that was moved of managed memory");
}
