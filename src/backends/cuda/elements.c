/* elements.c - where in an object accesses to other memory are (--comm-elements): a context has cells of its own for the objects that kernels of it reach
 * (instrument/plan.h). Whoever puts code into kernels names them to it, as numbers; they are read when all ends.
 */
#include "sonde_cuda.h"

#include "guest/lock.h"
#include "guest/memory.h"

#define PLACES_MAX    64u
#define ARRAYS_MAX    256u
#define WHOLE_OBJECTS 16u /* for so many there are as many cells as one may have */

struct array { /* of objects of one site and size; alone: of one object, which has names */
    uint32_t object, owner, cells; /* as in struct sonde_plan_remote_range */
    uint32_t count, row;
    uint64_t bytes;
    bool alone;
};

struct elements { /* of a context */
    CUdeviceptr at;
    uint32_t used, room;                /* cells */
    uint64_t (*told)[SONDE_CELL_KINDS]; /* as they were when they were read; NULL: not yet */
    uint32_t arrays;
    struct array array[ARRAYS_MAX];
};

static struct {
    struct sonde_lock lock;
    struct {
        uint32_t uid; /* 0: none */
        struct elements *elements;
    } of[PLACES_MAX];
} all;

/* NULL: none was made. Under the lock. */
static struct elements *known(const struct sonde_cuda_place *place)
{
    for (uint32_t k = 0; k < PLACES_MAX; k++)
        if (all.of[k].uid == place->uid)
            return all.of[k].elements;
    return NULL;
}

static uint64_t bytes_of(uint32_t cells)
{
    return cells * (uint64_t)(SONDE_CELL_KINDS * sizeof(uint64_t));
}

/* Without memory for its cells it has no room. NULL: no memory at all. Under the lock. */
static struct elements *elements_of(struct sonde_cuda_place *place)
{
    struct elements *e = known(place);
    const uint32_t room = (uint32_t)sonde_remote_cells() * WHOLE_OBJECTS;
    for (uint32_t k = 0; !e && k < PLACES_MAX; k++) {
        if (all.of[k].uid)
            continue;
        if (!(e = sonde__memory_get(sizeof *e)))
            return NULL;
        e->at = sonde__cuda_zeros(place, bytes_of(room));
        e->room = e->at ? room : 0;
        all.of[k].elements = e;
        all.of[k].uid = place->uid;
    }
    return e;
}

/* What struct sonde_plan_remote_range has of it; 0: no room. */
static uint32_t cells_of(struct elements *e, struct array a, uint32_t device)
{
    uint32_t shift = SONDE_PLAN_CELL_LEAST;
    for (uint32_t k = 0; k < e->arrays; k++)
        if (e->array[k].object == a.object && e->array[k].alone == a.alone && e->array[k].owner == a.owner && e->array[k].bytes == a.bytes)
            return e->array[k].cells;
    while ((a.bytes - 1) >> shift >= sonde_remote_cells())
        shift++;
    a.count = (uint32_t)((a.bytes - 1) >> shift) + 1;
    const uint32_t taken = (a.count + SONDE_PLAN_CELL_STEP - 1) / SONDE_PLAN_CELL_STEP * SONDE_PLAN_CELL_STEP;
    if (e->arrays == ARRAYS_MAX || taken > e->room - e->used)
        return 0;
    a.row = sonde_remote_array_add(
        &(struct sonde_remote_array){.object = a.object, .alone = a.alone, .device = device, .owner = a.owner, .shift = shift, .bytes = a.bytes});
    if (!a.row)
        return 0;
    a.cells = e->used | shift;
    e->array[e->arrays] = a;
    e->used += taken;
    return e->array[e->arrays++].cells;
}

/* An object that has names has cells of its own, where there is room for them; else they are those of its site. */
static uint32_t cells_of_object(struct elements *e, uint32_t object, uint32_t owner, uint64_t bytes, uint32_t device)
{
    uint32_t site;
    const uint32_t own = sonde_object_is_named(object) ? cells_of(e, (struct array){.object = object, .alone = true, .owner = owner, .bytes = bytes}, device) : 0;
    if (own)
        return own;
    sonde_value_sites(&object, 1, &site);
    return cells_of(e, (struct array){.object = site, .owner = owner, .bytes = bytes}, device);
}

uint32_t sonde__cuda_cells(struct sonde_cuda_place *place, const struct sonde_patch_range *range, uint32_t owner)
{
    struct sonde_object_info o;
    uint32_t cells = 0;
    if (!sonde_remote_cells())
        return 0;
    if (range->object && sonde_object_find(range->object, &o) && o.address == range->first && o.bytes && o.bytes == range->end - range->first) {
        sonde__lock(&all.lock);
        struct elements *e = elements_of(place);
        cells = e ? cells_of_object(e, range->object, owner, o.bytes, place->device) : 0;
        sonde__unlock(&all.lock);
    }
    if (!cells)
        sonde_note("comm: no room for the elements of all data objects in other memory: of some none are counted");
    return cells;
}

CUdeviceptr sonde__cuda_cells_at(const struct sonde_cuda_place *place)
{
    sonde__lock(&all.lock);
    const struct elements *e = known(place);
    sonde__unlock(&all.lock);
    return e ? e->at : 0;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

/* What was added to the cells since they were read, in runs. False: no room for them. */
static bool tell_array(const struct array *a, const struct elements *e, uint64_t (*now)[SONDE_CELL_KINDS])
{
    const uint32_t first = a->cells & ~(SONDE_PLAN_CELL_STEP - 1);
    bool whole = true;
    for (enum sonde_cell_accesses kind = 0; kind < SONDE_CELL_KINDS; kind++)
        for (uint32_t k = 0, until; k < a->count; k = until) {
            const uint64_t bytes = now[first + k][kind] - (e->told ? e->told[first + k][kind] : 0);
            for (until = k + 1; until < a->count; until++)
                if (now[first + until][kind] - (e->told ? e->told[first + until][kind] : 0) != bytes)
                    break;
            whole &= !bytes || sonde_remote_run_add(a->row, kind, k, until - k, bytes);
        }
    return whole;
}

void sonde__cuda_cells_read(struct sonde_cuda_place *place)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    sonde__lock(&all.lock);
    struct elements *e = known(place); /* stays; cells that come meanwhile are read the next time */
    const uint32_t used = e ? e->used : 0, arrays = e ? e->arrays : 0;
    sonde__unlock(&all.lock);
    if (!used)
        return;
    uint64_t (*now)[SONDE_CELL_KINDS] = sonde__pages_get(bytes_of(e->room));
    if (!now || t->cuMemcpyDtoHAsync_v2(now, e->at, bytes_of(used), place->stream) != CUDA_SUCCESS || t->cuStreamSynchronize(place->stream) != CUDA_SUCCESS) {
        sonde_note("comm: the elements that kernels accessed could not be read from the device: they are missing");
        sonde__pages_put(now, bytes_of(e->room));
        return;
    }
    for (uint32_t k = 0; k < arrays; k++)
        if (tell_array(&e->array[k], e, now))
            sonde_remote_array_read(e->array[k].row);
    sonde__pages_put(e->told, bytes_of(e->room));
    e->told = now;
}
