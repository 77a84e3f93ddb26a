/* areas.c - what the accesses of kernels found (--values=fine).
 *
 * There is an area of device memory for each operation in its calling context and the objects that its parameters point to, to
 * which the threads of the instrumented copies add what they find (instrument/rewrite.h). What is in an area only grows, so it is
 * read while kernels run, and again: in a stream of ours that waits for no other, by the thread that fetches records (flush.c),
 * and when its context ends.
 */
#include "sonde_cuda.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/lock.h"

#define PLAN  (SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES)
#define PARTS 256u /* at the least: %smid is below the multiprocessors that the chip was made with */

struct area {
    struct area *next, *alike; /* all; those of the same hash */
    const struct sonde_cuda_kernel *kernel;
    struct sonde_cuda_place *place;
    uint32_t node;
    _Atomic uint64_t launches;
    uint64_t read_launches;
    CUdeviceptr at;
    unsigned char *host; /* where it is read to, and began */
    size_t bytes;
    uint32_t objects[SONDE_PTX_POINTERS_MAX]; /* that the kernel's pointers point to */
    uint32_t rows[];     /* of each access; 0: it has none */
};

static struct {
    struct sonde_lock lock; /* of what follows */
    struct area *areas;
} all;

static struct sonde_shared_map by_hash; /* -> struct area */

static uint32_t parts_of(const struct sonde_cuda_place *p)
{
    return p->multiprocessors < PARTS ? PARTS : 2 * p->multiprocessors;
}

/* ---- making one ------------------------------------------------------------------------------------- */

static bool has_row(const struct sonde_ptx_access *a)
{
    return a->values.bytes && a->element_bytes <= 8;
}

static void add_rows(struct area *a)
{
    const struct sonde_ptx *p = a->kernel->ptx;
    const struct sonde_ptx_function *f = a->kernel->function;
    for (uint32_t k = 0; k < f->accesses; k++) {
        const struct sonde_ptx_access *access = &p->accesses[f->first_access + k];
        const struct sonde_ptx_place *place = &p->places[p->items[access->item].place];
        const struct sonde_ptx_span file = sonde__ptx_file(p, place->file);
        if (has_row(access))
            a->rows[k] = sonde_value_access_add(&(struct sonde_value_access){
                .operation = a->node,
                .object = a->kernel->flow.pointer[k] ? a->objects[a->kernel->flow.pointer[k] - 1] : 0,
                .file = file.bytes ? sonde_string(p->text + file.at, file.bytes) : 0,
                .line = place->line,
                .number = k,
                .what = (uint8_t)access->op,
                .type = access->type,
                .element_bytes = access->element_bytes,
            });
    }
}

/* Is the area on the device, as it starts? */
static bool upload(struct area *a)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    const struct sonde_plan plan = sonde__ptx_plan(a->kernel->function, PLAN);
    const size_t part = sonde__plan_part(&plan);
    if (a->place->bytes + a->bytes > a->place->most || t->cuMemAlloc_v2(&a->at, a->bytes) != CUDA_SUCCESS)
        return false;
    for (uint32_t k = 0; k < parts_of(a->place); k++)
        sonde__plan_start(&plan, a->host + k * part);
    a->place->bytes += a->bytes;
    return t->cuMemcpyHtoDAsync_v2(a->at, a->host, a->bytes, a->place->stream) == CUDA_SUCCESS && t->cuStreamSynchronize(a->place->stream) == CUDA_SUCCESS;
}

/* Under all.lock. */
static struct area *area_new(const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *objects, struct sonde_cuda_place *place)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    const struct sonde_plan plan = sonde__ptx_plan(k->function, PLAN);
    struct area *a = sonde__memory_get(sizeof *a + k->function->accesses * sizeof *a->rows);
    if (!a)
        return NULL;
    a->kernel = k;
    a->node = node;
    a->place = place;
    memcpy(a->objects, objects, k->flow.pointer_count * sizeof *objects);
    a->bytes = parts_of(place) * sonde__plan_part(&plan);
    a->host = sonde__pages_get(a->bytes);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    const bool there = a->host && upload(a);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    if (!there)
        return NULL;
    add_rows(a);
    a->next = all.areas;
    all.areas = a;
    return a;
}

static bool is_same(const struct area *a, const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *objects, const struct sonde_cuda_place *place)
{
    return a->kernel == k && a->node == node && a->place == place && !memcmp(a->objects, objects, k->flow.pointer_count * sizeof *objects);
}

CUdeviceptr sonde__cuda_area(const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *objects, struct sonde_cuda_place *place)
{
    const uint64_t hash =
        XXH3_64bits_withSeed(objects, k->flow.pointer_count * sizeof *objects, (uint64_t)node << 32 ^ (uintptr_t)k ^ place->uid) | 1;
    uint64_t first = 0;
    sonde__shared_map_get(&by_hash, hash, &first);
    struct area *a = (void *)(uintptr_t)first;
    while (a && !is_same(a, k, node, objects, place))
        a = a->alike;
    if (!a) {
        sonde__lock(&all.lock);
        a = area_new(k, node, objects, place);
        if (a) { /* of two threads that come at once each has its own: their rows are added */
            sonde__shared_map_get(&by_hash, hash, &first);
            a->alike = (void *)(uintptr_t)first;
            sonde__shared_map_put(&by_hash, hash, (uintptr_t)a);
        }
        sonde__unlock(&all.lock);
    }
    if (a)
        atomic_fetch_add(&a->launches, 1);
    return a ? a->at : 0;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

/* What all multiprocessors have found. */
static struct sonde_value_seen sum(const struct area *a, uint32_t access)
{
    const struct sonde_ptx_function *f = a->kernel->function;
    const struct sonde_plan plan = sonde__ptx_plan(f, PLAN);
    const struct sonde_ptx_access *of = &a->kernel->ptx->accesses[f->first_access + access];
    const size_t part = sonde__plan_part(&plan);
    struct sonde_value_seen seen = {.all = UINT64_MAX, .least = INT64_MAX, .most = INT64_MIN};
    for (uint32_t k = 0; k < parts_of(a->place); k++) {
        struct sonde_plan_values v;
        seen.elements += of->elements * sonde__plan_read(&plan, a->host + k * part, of->block, access, &v);
        seen.any |= v.any;
        seen.all &= v.all;
        seen.least = v.least < seen.least ? v.least : seen.least;
        seen.most = v.most > seen.most ? v.most : seen.most;
    }
    return seen;
}

static void read_area(struct area *a, uint64_t launches)
{
    CUresult result = sonde__cuda_twins.cuMemcpyDtoHAsync_v2(a->host, a->at, a->bytes, a->place->stream);
    if (result == CUDA_SUCCESS)
        result = sonde__cuda_twins.cuStreamSynchronize(a->place->stream);
    if (result != CUDA_SUCCESS) {
        if (launches != a->read_launches)
            sonde_note("values: what some kernels found could not be read from the device (error %d)", (int)result);
        return;
    }
    for (uint32_t k = 0; k < a->kernel->function->accesses; k++)
        if (a->rows[k]) {
            const struct sonde_value_seen seen = sum(a, k);
            sonde_value_access_seen(a->rows[k], &seen);
        }
    a->read_launches = launches;
}

void sonde__cuda_areas_read(struct sonde_cuda_place *place, bool last)
{
    sonde__lock(&all.lock);
    struct area *first = all.areas;
    sonde__unlock(&all.lock);
    for (struct area *a = first; a; a = a->next) { /* they are never taken out */
        const uint64_t launches = atomic_load(&a->launches);
        if (a->place == place && (last || launches != a->read_launches))
            read_area(a, launches);
    }
}
