/* elements.c - the cells of a context (cells.h): memory of its device, which is read when all ends. */
#include "sonde_cuda.h"

#include "backends/cells/cells.h"
#include "guest/lock.h"
#include "guest/memory.h"

#define PLACES_MAX 64u

struct elements {
    CUdeviceptr at;
    struct sonde_cells cells;
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

/* Without memory for its cells it has no room. NULL: no memory at all. Under the lock. */
static struct elements *elements_of(struct sonde_cuda_place *place)
{
    struct elements *e = known(place);
    for (uint32_t k = 0; !e && k < PLACES_MAX; k++) {
        if (all.of[k].uid)
            continue;
        if (!(e = sonde__memory_get(sizeof *e)))
            return NULL;
        e->at = sonde__cuda_zeros(place, sonde__cells_bytes(sonde__cells_room()));
        e->cells.room = e->at ? sonde__cells_room() : 0;
        e->cells.device = place->device;
        all.of[k].elements = e;
        all.of[k].uid = place->uid;
    }
    return e;
}

uint32_t sonde__cuda_cells(struct sonde_cuda_place *place, const struct sonde_patch_range *range, uint32_t owner)
{
    struct sonde_object_info o;
    uint32_t cells = 0;
    if (!sonde__cells_room())
        return 0;
    if (!range->object || !sonde_object_find(range->object, &o) || o.address != range->first || !o.bytes || o.bytes != range->end - range->first) {
        sonde__cells_missing();
        return 0;
    }
    sonde__lock(&all.lock);
    struct elements *e = elements_of(place);
    if (e)
        cells = sonde__cells_of(&e->cells, range->object, owner, o.bytes);
    else
        sonde__cells_missing();
    sonde__unlock(&all.lock);
    return cells;
}

CUdeviceptr sonde__cuda_cells_at(const struct sonde_cuda_place *place)
{
    sonde__lock(&all.lock);
    const struct elements *e = known(place);
    sonde__unlock(&all.lock);
    return e ? e->at : 0;
}

void sonde__cuda_cells_read(struct sonde_cuda_place *place)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    sonde__lock(&all.lock);
    struct elements *e = known(place); /* stays; cells that come meanwhile are read the next time */
    const uint32_t used = e ? e->cells.used : 0, arrays = e ? e->cells.arrays : 0;
    sonde__unlock(&all.lock);
    if (!used)
        return;
    const uint64_t room = sonde__cells_bytes(e->cells.room);
    struct sonde_cell *now = sonde__pages_get(room);
    if (!now || t->cuMemcpyDtoHAsync_v2(now, e->at, sonde__cells_bytes(used), place->stream) != CUDA_SUCCESS || t->cuStreamSynchronize(place->stream) != CUDA_SUCCESS) {
        sonde_note("comm: the elements that kernels accessed could not be read from the device: they are missing");
        sonde__pages_put(now, room);
        return;
    }
    sonde__cells_tell(&e->cells, arrays, now);
}
