/* remote.c - accesses of kernels to memory that is not their device's (--comm).
 *
 * Most launches can have none: no pointer among their parameters points to such memory, and no address is read from memory, or there is no
 * such memory. These run as they are. Of the others a copy counts how often its blocks are executed, which says how often it went to what
 * its parameters point to; accesses whose addresses come from memory are compared with a table of all such memory
 * (instrument/rewrite_remote.c), which is a parameter, too: so it is that of the moment of the launch, and nobody has to keep it.
 *
 * An area of device memory takes the counts, for each operation in its calling context and the sites that its parameters point to. It only
 * grows, and is read while kernels run, in a stream of ours, by the thread that fetches records, and when its context ends.
 *
 * Where elements are asked for, the table names the cells of objects (elements.c).
 */
#include "sonde_cuda.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/lock.h"
#include "guest/memory.h"

#define PARTS        256u /* at the least: %smid is below the multiprocessors that the chip was made with */
#define SLOTS_SITES  (SONDE_PLAN_REMOTE_SLOTS - 8u) /* the others are of owners alone */
#define PLACES_MAX   64u
#define PARAMETERS_MAX_BYTES 4096u

struct slot {
    uint32_t site, owner; /* owner: OWNER(device); 0: the slot is free */
};
#define OWNER(device) ((device) + 1)

struct sonde_cuda_remote_area {
    struct sonde_cuda_remote_area *next, *alike; /* all; those of the same hash */
    const struct sonde_cuda_kernel *kernel;
    struct sonde_cuda_place *place;
    uint32_t node, group;
    struct sonde_plan plan;
    _Atomic uint64_t launches;
    uint64_t read_launches;
    CUdeviceptr at;
    size_t bytes;
    uint32_t sites[SONDE_PTX_POINTERS_MAX], owners[SONDE_PTX_POINTERS_MAX];
    uint32_t rows[]; /* of each access, then of each slot of each that is looked at by its address; 0: none yet */
};

static struct {
    struct sonde_lock lock; /* of what follows */
    struct sonde_cuda_remote_area *areas;
    struct reached {        /* what is remote for a context */
        uint32_t uid;       /* 0: none of the following are used */
        uint64_t version;   /* of the memory and the names of which this is the table */
        struct slot slots[SONDE_PLAN_REMOTE_SLOTS];
        bool many;          /* there is more than the table holds */
        bool no_elements;   /* of which there is no room for elements, too */
        struct sonde_plan_remote table;
    } places[PLACES_MAX];
    struct sonde_patch_range *ranges; /* room for all objects */
    size_t room;
} all;

static struct sonde_shared_map by_hash; /* -> struct sonde_cuda_remote_area */

static struct { /* one is read at a time (places.c) */
    unsigned char *at;
    size_t bytes;
} copied;

/* ---- where memory is --------------------------------------------------------------------------------- */

/* OWNER(device) of an address; 0: nobody knows, or nobody's alone (managed memory moves). */
static uint32_t ask_owner(uint64_t address)
{
    unsigned type = 0;
    int ordinal = 0, managed = 0;
    if (sonde__cudrv.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS ||
        (sonde__cudrv.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && managed))
        return 0;
    if (type == CU_MEMORYTYPE_HOST)
        return OWNER(0);
    if (sonde__cudrv.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != CUDA_SUCCESS)
        return 0;
    const struct sonde_cuda_device *d = sonde__cuda_device((uint32_t)ordinal);
    return d && d->id ? OWNER(d->id) : 0;
}

/* Of pools, and where a handle did not tell, the allocation did not say it: it is asked once. */
static uint32_t owner_of(uint32_t object, const struct sonde_object_info *o)
{
    if (o->kind == SONDE_OBJECT_MANAGED)
        return 0;
    if (o->kind == SONDE_OBJECT_PINNED)
        return OWNER(0);
    if (o->kind == SONDE_OBJECT_IPC) /* the driver names the device that opened it */
        return OWNER(SONDE_REMOTE_OTHERS);
    if (o->device)
        return OWNER(o->device);
    const uint32_t owner = ask_owner(o->address);
    if (owner > OWNER(0))
        sonde_object_place(object, owner - OWNER(0), 0);
    return owner;
}

uint32_t sonde__cuda_remote_owner(const struct sonde_cuda_place *place, uint64_t address, uint32_t object)
{
    struct sonde_object_info info;
    const uint32_t owner = object && sonde_object_find(object, &info) ? owner_of(object, &info) : ask_owner(address);
    return owner == OWNER(place->device) ? 0 : owner;
}

/* ---- the table, under all.lock ------------------------------------------------------------------------- */

/* SONDE_PLAN_REMOTE_SLOTS: there is none. What has a slot keeps it. */
static uint32_t slot_in(struct reached *r, uint32_t site, uint32_t owner, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end; k++) {
        if (!r->slots[k].owner)
            r->slots[k] = (struct slot){site, owner};
        if (r->slots[k].owner == owner && r->slots[k].site == site)
            return k;
    }
    return SONDE_PLAN_REMOTE_SLOTS;
}

static uint32_t slot_of(struct reached *r, uint32_t object, uint32_t owner)
{
    uint32_t site;
    sonde_value_sites(&object, 1, &site);
    const uint32_t slot = slot_in(r, site, owner, 0, SLOTS_SITES);
    return slot < SONDE_PLAN_REMOTE_SLOTS ? slot : slot_in(r, 0, owner, SLOTS_SITES, SONDE_PLAN_REMOTE_SLOTS);
}

/* Neighbours of one slot, between which nothing of this device lies, are one range, but where each has cells. */
static uint32_t add_range(struct reached *r, uint32_t count, const struct sonde_patch_range *range, uint32_t slot, uint32_t cells, bool follows)
{
    struct sonde_plan_remote_range *last = count ? &r->table.range[count - 1] : NULL;
    if (last && follows && last->slot == slot && !last->cells && !cells) {
        last->end = range->end;
        return count;
    }
    if (count == SONDE_PLAN_REMOTE_RANGES || slot == SONDE_PLAN_REMOTE_SLOTS) {
        r->many = true;
        return count;
    }
    r->table.range[count] = (struct sonde_plan_remote_range){.begin = range->first, .end = range->end, .slot = slot, .cells = cells};
    return count + 1;
}

/* False: no memory. */
static bool has_ranges(uint32_t count)
{
    if (all.room >= count * sizeof *all.ranges)
        return true;
    sonde__pages_put(all.ranges, all.room);
    all.room = 2 * count * sizeof *all.ranges;
    all.ranges = sonde__pages_get(all.room);
    all.room = all.ranges ? all.room : 0;
    return all.ranges != NULL;
}

void sonde__cuda_home_other(struct sonde_cuda_home *h, uint64_t first, uint64_t end)
{
    if (h->own > h->most || !h->bytes) {
        h->most = h->own;
        h->at = h->since;
        h->bytes = first - h->since;
    }
    h->since = end;
    h->own = 0;
}

/* All ranges of memory, in order: those of other devices and of the host, and in which stretch between them most of this device's lies. */
static void fill_ranges(struct reached *r, struct sonde_cuda_place *place, uint32_t count)
{
    struct sonde_cuda_home home = {0};
    uint32_t found = 0;
    bool follows = false;
    for (uint32_t k = 0; k <= count; k++) {
        const struct sonde_patch_range *range = &all.ranges[k];
        const uint32_t owner = k < count ? sonde__cuda_remote_owner(place, range->first, range->object) : 0;
        if (k == count) {
            sonde__cuda_home_other(&home, UINT64_MAX, UINT64_MAX);
        } else if (owner) {
            found = add_range(r, found, range, slot_of(r, range->object, owner), r->no_elements ? 0 : sonde__cuda_cells(place, range, owner - OWNER(0)), follows);
            sonde__cuda_home_other(&home, range->first, range->end);
        } else {
            home.own += range->end - range->first;
        }
        follows = owner != 0;
    }
    struct sonde_plan_remote *t = &r->table;
    t->home = home.at;
    t->home_bytes = home.bytes;
    sonde__plan_remote_close(t, found);
    t->cells = sonde__cuda_cells_at(place);
}

uint64_t sonde__cuda_ranges_version(void)
{
    return sonde__cuda_memory_version() + sonde_objects_named();
}

static void fill_table(struct reached *r, struct sonde_cuda_place *place)
{
    uint32_t count = 0, room = 256;
    r->version = sonde__cuda_ranges_version();
    r->many = false;
    do {
        room *= 2;
        if (!has_ranges(room)) {
            r->many = true;
            return;
        }
        count = sonde__cuda_memory_ranges(all.ranges, room);
    } while (count == room);
    count = sonde__patch_sort(all.ranges, count);
    r->no_elements = false;
    memset(&r->table, 0, sizeof r->table);
    fill_ranges(r, place, count);
    if (r->many && sonde__cuda_twins.plan & SONDE_PLAN_CELLS) { /* neighbours without cells are fewer ranges */
        sonde_note("comm: no room for the elements of all data objects in other memory: of some none are counted");
        r->many = false;
        r->no_elements = true;
        memset(&r->table, 0, sizeof r->table);
        fill_ranges(r, place, count);
    }
}

static struct reached *reached_of(struct sonde_cuda_place *place)
{
    for (uint32_t k = 0; k < PLACES_MAX; k++) {
        struct reached *r = &all.places[k];
        if (!r->uid)
            r->uid = place->uid;
        if (r->uid != place->uid)
            continue;
        if (r->version != sonde__cuda_ranges_version())
            fill_table(r, place);
        return r;
    }
    return NULL;
}

/* ---- a launch ---------------------------------------------------------------------------------------------- */

enum sonde_value_missed sonde__cuda_remote_reach(struct sonde_cuda_reach *out, struct sonde_cuda_place *place)
{
    sonde__lock(&all.lock);
    const struct reached *r = reached_of(place);
    const bool many = !r || r->many;
    if (r)
        out->table = r->table;
    sonde__unlock(&all.lock);
    out->pointers = 0;
    return many ? SONDE_VALUE_MISSED_OBJECTS : SONDE_VALUE_MISSED_NONE;
}

void sonde__cuda_remote_point(struct sonde_cuda_reach *out, const struct sonde_cuda_kernel *k, void *const *parameters, const struct sonde_cuda_place *place)
{
    uint32_t objects[SONDE_PTX_POINTERS_MAX];
    for (uint32_t i = 0; i < k->flow.pointer_count; i++) {
        const uint64_t address = sonde__cuda_pointer_of(k, parameters, i);
        objects[i] = address ? sonde_object_at(address) : 0;
        out->owners[i] = address ? sonde__cuda_remote_owner(place, address, objects[i]) : 0;
        objects[i] = out->owners[i] ? objects[i] : 0;
        out->pointers += out->owners[i] != 0;
    }
    sonde_value_sites(objects, k->flow.pointer_count, out->sites);
}

bool sonde__cuda_remote_needs(const struct sonde_cuda_reach *reach, const struct sonde_cuda_kernel *k)
{
    return reach->pointers || (reach->table.bytes && sonde__ptx_checked(k->function, &k->flow));
}

bool sonde__cuda_remote_fits(const struct sonde_cuda_kernel *k)
{
    const struct sonde_cuda_parameter *last = k->parameters ? &k->parameter[k->parameters - 1] : NULL;
    const size_t own = last ? ((size_t)last->offset + last->bytes + 7) & ~(size_t)7 : 0;
    return own + sizeof(CUdeviceptr) + sizeof(struct sonde_plan_remote) + k->flow.variables.count * sizeof(CUdeviceptr) <= PARAMETERS_MAX_BYTES;
}

/* ---- areas ---------------------------------------------------------------------------------------------------- */

static uint32_t parts_of(const struct sonde_cuda_place *p)
{
    return p->multiprocessors < PARTS ? PARTS : 2 * p->multiprocessors;
}

static uint32_t add_row(const struct sonde_cuda_remote_area *a, uint32_t k, uint32_t site, uint32_t owner)
{
    const struct sonde_ptx *p = a->kernel->ptx;
    const struct sonde_ptx_access *access = &p->accesses[a->kernel->function->first_access + k];
    const struct sonde_ptx_place place = sonde__ptx_line(p, access->item);
    const struct sonde_ptx_span file = sonde__ptx_file(p, place.file);
    return sonde_remote_add(&(struct sonde_remote_access){
        .operation = a->node,
        .object = site,
        .file = file.bytes ? sonde_string(p->text + file.at, file.bytes) : 0,
        .line = place.line,
        .number = k,
        .what = (uint8_t)access->op,
        .bytes = (uint8_t)(access->element_bytes * access->elements),
        .group = (uint8_t)a->group,
        .device = a->place->device,
        .owner = owner - OWNER(0),
    });
}

/* Under all.lock. Memory of an area that cannot be used stays taken: freeing it would wait for the program's kernels. */
static struct sonde_cuda_remote_area *area_new(const struct sonde_cuda_kernel *k, uint32_t node, uint32_t group, const struct sonde_cuda_reach *reach, struct sonde_cuda_place *place)
{
    const struct sonde_plan plan = sonde__ptx_plan(k->function, &k->flow, sonde__cuda_twins.plan);
    struct sonde_cuda_remote_area *a = sonde__memory_get(sizeof *a + (k->function->accesses + plan.checked * SONDE_PLAN_REMOTE_SLOTS) * sizeof *a->rows);
    if (!a)
        return NULL;
    a->kernel = k;
    a->place = place;
    a->node = node;
    a->group = group;
    a->plan = plan;
    a->bytes = parts_of(place) * sonde__plan_part(&plan);
    memcpy(a->sites, reach->sites, k->flow.pointer_count * sizeof *a->sites);
    memcpy(a->owners, reach->owners, k->flow.pointer_count * sizeof *a->owners);
    if (!(a->at = sonde__cuda_zeros(place, a->bytes)))
        return NULL;
    for (uint32_t i = 0; i < k->function->accesses; i++) {
        const uint32_t pointer = k->flow.pointer[i];
        if (pointer && a->owners[pointer - 1])
            a->rows[i] = add_row(a, i, a->sites[pointer - 1], a->owners[pointer - 1]);
    }
    a->next = all.areas;
    all.areas = a;
    return a;
}

static bool is_same(const struct sonde_cuda_remote_area *a, const struct sonde_cuda_kernel *k, uint32_t node, uint32_t group, const struct sonde_cuda_reach *reach,
                    const struct sonde_cuda_place *place)
{
    const size_t bytes = k->flow.pointer_count * sizeof *a->sites;
    return a->kernel == k && a->node == node && a->group == group && a->place == place && !memcmp(a->sites, reach->sites, bytes) && !memcmp(a->owners, reach->owners, bytes);
}

struct sonde_cuda_remote_area *sonde__cuda_remote_area(const struct sonde_cuda_kernel *k, uint32_t node, uint32_t group, const struct sonde_cuda_reach *reach,
                                                       struct sonde_cuda_place *place)
{
    const size_t bytes = k->flow.pointer_count * sizeof *reach->sites;
    const uint64_t hash =
        (XXH3_64bits_withSeed(reach->sites, bytes, (uint64_t)node << 32 ^ (uint64_t)group << 29 ^ (uintptr_t)k ^ place->uid) ^ XXH3_64bits(reach->owners, bytes)) | 1;
    uint64_t first = 0;
    sonde__shared_map_get(&by_hash, hash, &first);
    struct sonde_cuda_remote_area *a = (void *)(uintptr_t)first;
    while (a && !is_same(a, k, node, group, reach, place))
        a = a->alike;
    if (!a) {
        sonde__lock(&all.lock);
        a = area_new(k, node, group, reach, place);
        if (a) { /* of two threads that come at once each has its own: their rows are added */
            sonde__shared_map_get(&by_hash, hash, &first);
            a->alike = (void *)(uintptr_t)first;
            sonde__shared_map_put(&by_hash, hash, (uintptr_t)a);
        }
        sonde__unlock(&all.lock);
    }
    return a;
}

CUdeviceptr sonde__cuda_remote_launch(struct sonde_cuda_remote_area *a)
{
    atomic_fetch_add(&a->launches, 1);
    return a->at;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static uint64_t sum_block(const struct sonde_cuda_remote_area *a, uint32_t block)
{
    const size_t part = sonde__plan_part(&a->plan);
    struct sonde_plan_values none;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < parts_of(a->place); k++)
        sum += sonde__plan_read(&a->plan, copied.at + k * part, block, 0, &none);
    return sum;
}

static uint64_t sum_slot(const struct sonde_cuda_remote_area *a, uint32_t number, uint32_t slot)
{
    const size_t part = sonde__plan_part(&a->plan);
    uint64_t sum = 0;
    for (uint32_t k = 0; k < parts_of(a->place); k++)
        sum += sonde__plan_remote(&a->plan, copied.at + k * part, number, slot);
    return sum;
}

/* What of the slots of a place is known: it stays. */
static struct slot slot_at(const struct sonde_cuda_place *place, uint32_t slot)
{
    struct slot found = {0};
    sonde__lock(&all.lock);
    for (uint32_t k = 0; k < PLACES_MAX; k++)
        if (all.places[k].uid == place->uid)
            found = all.places[k].slots[slot];
    sonde__unlock(&all.lock);
    return found;
}

static void tell_slots(struct sonde_cuda_remote_area *a, uint32_t access, uint32_t number)
{
    uint32_t *rows = a->rows + a->kernel->function->accesses + number * SONDE_PLAN_REMOTE_SLOTS;
    for (uint32_t slot = 0; slot < SONDE_PLAN_REMOTE_SLOTS; slot++) {
        const uint64_t threads = sum_slot(a, number, slot);
        const struct slot of = threads && !rows[slot] ? slot_at(a->place, slot) : (struct slot){0};
        if (of.owner)
            rows[slot] = add_row(a, access, of.site, of.owner);
        sonde_remote_seen(rows[slot], threads);
    }
}

static bool copy_back(const struct sonde_cuda_remote_area *a)
{
    if (copied.bytes < a->bytes) {
        sonde__pages_put(copied.at, copied.bytes);
        copied.at = sonde__pages_get(a->bytes);
        copied.bytes = copied.at ? a->bytes : 0;
    }
    return copied.at && sonde__cuda_twins.cuMemcpyDtoHAsync_v2(copied.at, a->at, a->bytes, a->place->stream) == CUDA_SUCCESS &&
           sonde__cuda_twins.cuStreamSynchronize(a->place->stream) == CUDA_SUCCESS;
}

static void read_area(struct sonde_cuda_remote_area *a, uint64_t launches)
{
    const struct sonde_ptx_function *f = a->kernel->function;
    uint32_t number = 0;
    if (!copy_back(a)) {
        if (launches != a->read_launches)
            sonde_note("comm: what some kernels counted could not be read from the device: their accesses to other memory are missing");
        return;
    }
    for (uint32_t k = 0; k < f->accesses; k++)
        if (a->rows[k])
            sonde_remote_seen(a->rows[k], sum_block(a, a->kernel->ptx->accesses[f->first_access + k].block));
        else if (sonde__ptx_is_checked(&a->kernel->flow, k))
            tell_slots(a, k, number++);
    a->read_launches = launches;
}

void sonde__cuda_remote_read(struct sonde_cuda_place *place, bool last)
{
    if (last)
        sonde__cuda_cells_read(place);
    sonde__lock(&all.lock);
    struct sonde_cuda_remote_area *first = all.areas;
    sonde__unlock(&all.lock);
    for (struct sonde_cuda_remote_area *a = first; a; a = a->next) { /* they are never taken out */
        const uint64_t launches = atomic_load(&a->launches);
        if (a->place == place && (last || launches != a->read_launches))
            read_area(a, launches);
    }
}
