/* patches_remote.c - what patches find of accesses to memory that is not the device's (--comm-engine=sanitizer): how often threads executed each. See sanitizer.h
 * and remote.c, whose words these are.
 *
 * A launch is given the ranges of other memory alone, with the number of a site and owner for an object. Most accesses lie in the stretch that has none.
 */
#include "sanitizer.h"

#ifdef SONDE_SANITIZER

#include "guest/lock.h"
#include "guest/memory.h"
#include "instrument/patch.h"

#define WAYS_MAX (1u << SONDE_PATCH_GROUP)

_Static_assert(SONDE_PATCH_CELL_STEP == SONDE_PLAN_CELL_STEP && SONDE_PATCH_CELL_KINDS == (int)SONDE_CELL_KINDS && SONDE_PATCH_CELL_LOADS == (int)SONDE_CELL_LOADS &&
                   SONDE_PATCH_CELL_STORES == (int)SONDE_CELL_STORES && SONDE_PATCH_CELL_ATOMICS == (int)SONDE_CELL_ATOMICS,
               "cells are those of plan.h");

/* ---- which memory ---------------------------------------------------------------------------------------- */

struct way { /* of a device to other memory */
    uint32_t device, site, owner;
};

static struct {
    struct sonde_lock lock;
    struct way *way; /* room for WAYS_MAX; what is there stays as it is */
    uint32_t count;
} ways;
static struct sonde_shared_map numbers; /* of (device, site, owner) -> number of its way, from 1 on */

static uint32_t way_of(const struct way *w)
{
    const uint64_t key = ((uint64_t)w->site << 32 | (uint64_t)(w->owner & 0xffff) << 16 | (w->device & 0xffff)) + 1;
    uint64_t number = 0;
    if (sonde__shared_map_get(&numbers, key, &number))
        return (uint32_t)number;
    sonde__lock(&ways.lock);
    if (!ways.way)
        ways.way = sonde__pages_get(WAYS_MAX * sizeof *ways.way);
    if (ways.way && ways.count < WAYS_MAX - 1) {
        ways.way[ways.count] = *w;
        number = ++ways.count;
        sonde__shared_map_put(&numbers, key, number);
    }
    sonde__unlock(&ways.lock);
    return (uint32_t)number;
}

static uint32_t choose(struct sonde_patch_launch *launch, struct sonde_cuda_place *place, struct sonde_patch_range *ranges, uint32_t count)
{
    struct sonde_cuda_home home = {0};
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        struct sonde_patch_range r = ranges[k];
        struct way w = {.device = place->device, .owner = sonde__cuda_remote_owner(place, r.first, r.object)};
        if (!w.owner) {
            home.own += r.end - r.first;
            continue;
        }
        sonde__cuda_home_other(&home, r.first, r.end);
        sonde_value_sites(&r.object, 1, &w.site);
        r.cells = sonde__cuda_cells(place, &ranges[k], w.owner - 1);
        if (!(r.object = way_of(&w)))
            sonde_note("comm: more sites of other memory than are told apart: of some no accesses are counted");
        ranges[kept++] = r;
    }
    sonde__cuda_home_other(&home, UINT64_MAX, UINT64_MAX);
    launch->cells = sonde__cuda_cells_at(place);
    launch->home = home.at;
    launch->home_bytes = home.bytes;
    return kept;
}

/* ---- what was found ------------------------------------------------------------------------------------------ */

struct seen { /* an access of an operation by one way */
    struct seen *next;
    uint64_t code, who, threads;
    uint32_t row;
};
struct found { /* in a context */
    struct seen *first;
    struct sonde_shared_map by_tag;
};

/* NULL: no memory. */
static struct seen *seen_of(struct found *f, const struct sonde_patch_count *c)
{
    uint64_t known = 0;
    if (sonde__shared_map_get(&f->by_tag, c->tag, &known))
        return (void *)(uintptr_t)known;
    struct seen *s = sonde__memory_get(sizeof *s);
    if (!s)
        return NULL;
    *s = (struct seen){.next = f->first, .code = c->code, .who = c->who};
    f->first = s;
    sonde__shared_map_put(&f->by_tag, c->tag, (uintptr_t)s);
    return s;
}

static bool tell(const struct sonde_cuda_place *place, struct seen *s, bool last)
{
    static const uint8_t what[] = {SONDE_ACCESS_LOAD, SONDE_ACCESS_STORE, SONDE_ACCESS_ATOMIC, SONDE_ACCESS_COPY};
    struct sonde_patches_whose of = {.operation = (uint32_t)(s->who >> 32), .group = (uint32_t)s->who >> SONDE_PATCH_GROUP};
    if (!s->row && !sonde__patches_whose(place, s->code & ((1ull << SONDE_PATCH_STORE) - 1), &of) && !last)
        return false;
    if (!s->row) {
        const struct way *w = &ways.way[((uint32_t)s->who & (WAYS_MAX - 1)) - 1];
        s->row = sonde_remote_add(&(struct sonde_remote_access){
            .operation = of.operation,
            .object = w->site,
            .number = of.number,
            .what = what[(s->code >> SONDE_PATCH_STORE & SONDE_PATCH_WHAT) % sizeof what],
            .bytes = (uint8_t)(s->code >> SONDE_PATCH_BYTES),
            .engine = SONDE_ENGINE_SANITIZER,
            .group = (uint8_t)of.group,
            .device = w->device,
            .owner = w->owner - 1,
        });
    }
    sonde_remote_seen(s->row, s->threads);
    return true;
}

static bool read_table(struct sonde_cuda_place *place, void **state, void *table, bool last)
{
    static struct sonde_once said;
    const struct sonde_patch_counts *t = table;
    struct found *f = *state ? *state : (*state = sonde__memory_get(sizeof *f));
    bool told = true, whole = f != NULL;
    for (struct seen *s = f ? f->first : NULL; s; s = s->next)
        s->threads = 0;
    for (uint32_t k = 0; f && k < SONDE_PATCH_PARTS * SONDE_PATCH_COUNTS; k++) {
        const struct sonde_patch_count *c = &t->slots[k];
        if (!c->tag || !c->code || !c->who || !c->accesses)
            continue; /* free, or still being made: it will be there the next time */
        struct seen *s = seen_of(f, c);
        whole &= s != NULL;
        if (s)
            s->threads += c->accesses;
    }
    for (struct seen *s = f ? f->first : NULL; s; s = s->next)
        told &= tell(place, s, last);
    if (!whole)
        sonde_note("comm: no memory for all accesses of kernels to other memory");
    if (t->lost && sonde__once(&said))
        sonde_note("comm: more accesses and ways than their table holds: some were not counted");
    return told;
}

const struct sonde_patches_for sonde__patches_remote = {
    .option = "comm",
    .functions = {{SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, SONDE_PATCH_REMOTE, NULL},
                  {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, SONDE_PATCH_REMOTE_ASYNC, "asynchronous copies to shared memory"},
                  {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, SONDE_PATCH_BULK_LOAD, "bulk copies from global memory"},
                  {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL, SONDE_PATCH_BULK_STORE, "bulk copies to global memory"},
                  {SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL, SONDE_PATCH_BULK_ATOMIC, "bulk reductions in global memory"}},
    .table_bytes = sizeof(struct sonde_patch_counts),
    .choose = choose,
    .group = sonde_remote_group,
    .missed = sonde_remote_missed,
    .read = read_table,
};

#endif
