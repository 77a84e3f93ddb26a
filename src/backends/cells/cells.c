/* cells.c - see cells.h. */
#include "cells.h"

#include "guest/memory.h"
#include "instrument/plan.h"

#define WHOLE_OBJECTS 16u /* for so many there are as many cells as one may have */

uint32_t sonde__cells_room(void)
{
    return (uint32_t)sonde_remote_cells() * WHOLE_OBJECTS;
}

/* 0: no room. */
static uint32_t cells_of(struct sonde_cells *c, struct sonde_cells_array a)
{
    uint32_t shift = SONDE_PLAN_CELL_LEAST;
    for (uint32_t k = 0; k < c->arrays; k++)
        if (c->array[k].object == a.object && c->array[k].alone == a.alone && c->array[k].owner == a.owner && c->array[k].bytes == a.bytes)
            return c->array[k].cells;
    while ((a.bytes - 1) >> shift >= sonde_remote_cells())
        shift++;
    a.count = (uint32_t)((a.bytes - 1) >> shift) + 1;
    const uint32_t taken = (a.count + SONDE_PLAN_CELL_STEP - 1) / SONDE_PLAN_CELL_STEP * SONDE_PLAN_CELL_STEP;
    if (c->arrays == SONDE_CELLS_ARRAYS || taken > c->room - c->used)
        return 0;
    a.row = sonde_remote_array_add(
        &(struct sonde_remote_array){.object = a.object, .alone = a.alone, .device = c->device, .owner = a.owner, .shift = shift, .bytes = a.bytes});
    if (!a.row)
        return 0;
    a.cells = c->used | shift;
    c->array[c->arrays] = a;
    c->used += taken;
    return c->array[c->arrays++].cells;
}

void sonde__cells_missing(void)
{
    sonde_note("comm: no room for the elements of all data objects in other memory: of some none are counted");
}

/* An object that has names has cells of its own, where there is room for them; else they are those of its site. */
uint32_t sonde__cells_of(struct sonde_cells *c, uint32_t object, uint32_t owner, uint64_t bytes)
{
    uint32_t site = 0;
    uint32_t cells = sonde_object_is_named(object) ? cells_of(c, (struct sonde_cells_array){.object = object, .alone = true, .owner = owner, .bytes = bytes}) : 0;
    if (!cells) {
        sonde_value_sites(&object, 1, &site);
        cells = cells_of(c, (struct sonde_cells_array){.object = site, .owner = owner, .bytes = bytes});
    }
    if (!cells)
        sonde__cells_missing();
    return cells;
}

static uint64_t added(const struct sonde_cells *c, const struct sonde_cell *now, uint32_t cell, enum sonde_cell_accesses kind)
{
    return now[cell].bytes[kind] - (c->told ? c->told[cell].bytes[kind] : 0);
}

/* In runs of cells that had as much. False: no room for them. */
static bool tell_array(const struct sonde_cells *c, const struct sonde_cells_array *a, const struct sonde_cell *now)
{
    const uint32_t first = a->cells & ~(SONDE_PLAN_CELL_STEP - 1);
    bool whole = true;
    for (enum sonde_cell_accesses kind = 0; kind < SONDE_CELL_KINDS; kind++)
        for (uint32_t k = 0, until; k < a->count; k = until) {
            const uint64_t bytes = added(c, now, first + k, kind);
            for (until = k + 1; until < a->count; until++)
                if (added(c, now, first + until, kind) != bytes)
                    break;
            whole &= !bytes || sonde_remote_run_add(a->row, kind, k, until - k, bytes);
        }
    return whole;
}

void sonde__cells_tell(struct sonde_cells *c, uint32_t arrays, struct sonde_cell *now)
{
    for (uint32_t k = 0; k < arrays; k++) {
        struct sonde_cells_array *a = &c->array[k];
        a->lost |= !tell_array(c, a, now);
        if (!a->lost)
            sonde_remote_array_read(a->row);
    }
    sonde__pages_put(c->told, sonde__cells_bytes(c->room));
    c->told = now;
}
