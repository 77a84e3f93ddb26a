/* shared.c - whose the memory is that kernels reach by pointers (sonde record --comm): shared virtual memory and Intel's unified shared memory.
 *
 * Some of it has a place of its own: clDeviceMemAllocINTEL's is the device's, clHostMemAllocINTEL's the host's. The other moves: it is whose kernels, or
 * operations, wrote it last, and nobody's before. That is kept for each four bytes of it by the instrumented kernels themselves (instrument/llvm_remote.h), so
 * that it is right in whatever order they run; what copies, fills, migrations and the host write to mapped memory is put there by a fill of ours in front of
 * the operation, in its queue, which waits for what the operation waits for.
 *
 * The host may write what is not coarse-grained without a word (`silent`): that is the host's at first.
 *
 * Where a context has one device, memory that moves, but is not silent, is that one's: there is nothing to look at.
 */
#include "shared.h"

#include <string.h>

#include "backends/cells/cells.h"
#include "guest/lock.h"
#include "guest/memory.h"

enum { NOBODY,
       HOST,
       DEVICES, /* owners: the context's devices are from DEVICES on */
       OWNERS = SONDE_PLAN_SHARED_OWNERS,
       DEVICES_MAX = OWNERS - DEVICES,
       SLOTS = SONDE_PLAN_REMOTE_SLOTS,
       SLOTS_SITES = SLOTS - OWNERS / 2, /* the others are of owners alone */
       MAPS_MAX = 16,
       SELDOM_NS = 500000000,
       WRITERS_MOST = 1 << 30 }; /* bytes, unless there is --values-memory */

struct stretch { /* what was allocated at once */
    struct stretch *next; /* in the order of addresses */
    cl_context context;
    cl_device_id device;  /* clDeviceMemAllocINTEL's */
    enum sonde_object_kind kind;
    uintptr_t from;
    uint64_t bytes;
    bool silent, lost;    /* lost: no memory for its writers */
    bool hosted;          /* it may be the host's */
    unsigned char *writers;
    struct {
        const void *pointer;
        uint64_t bytes;
    } map[MAPS_MAX];      /* for writing */
};

struct sonde_cl_place {
    struct sonde_cl_place *next;
    cl_context context;   /* NULL: it is no more */
    cl_uint devices;
    cl_device_id device[DEVICES_MAX];
    uint32_t id[DEVICES_MAX];
    bool system[DEVICES_MAX]; /* its kernels may access any memory of the host's */
    bool cpus;            /* all are: others run no copies */
    bool followed;        /* there is room for all devices, and the runtime has what it takes */
    struct slot {
        uint32_t site, owner; /* owner 0: it is free */
    } slots[SLOTS];
    struct table {
        uint64_t version; /* version_now(), as it was; 0: none yet */
        bool any, many, silent;
        cl_mem mem;       /* as the runtime has it */
        struct elements { /* of what the device's kernels access (--comm-elements); NULL: none yet */
            struct sonde_cells cells;
            struct sonde_cell *at;
        } *elements;
    } tables[DEVICES_MAX];
};

static struct {
    struct sonde_lock lock;
    uint64_t version;
    struct stretch *stretches, *free;
    struct sonde_cl_place *places;
    uint64_t writers_bytes; /* and those of cells */
    uint64_t elements_ns;   /* when they were read; 0: never */
    struct sonde_plan_shared table; /* that is made */
} all;

/* ---- what was allocated, under all.lock ---------------------------------------------------------------------- */

static struct stretch *stretch_at(const void *pointer)
{
    const uintptr_t at = (uintptr_t)pointer;
    struct stretch *s = all.stretches;
    while (s && s->from + s->bytes <= at)
        s = s->next;
    return s && s->from <= at ? s : NULL;
}

static struct stretch *take_out(uintptr_t from)
{
    for (struct stretch **at = &all.stretches; *at; at = &(*at)->next)
        if ((*at)->from == from) {
            struct stretch *s = *at;
            *at = s->next;
            all.version++;
            return s;
        }
    return NULL;
}

static uint64_t writers_of(const struct stretch *s)
{
    return (s->bytes >> SONDE_PLAN_SHARED_SHIFT) + 128; /* an access may begin with the last byte */
}

static void put_stretch(struct stretch *s)
{
    all.writers_bytes -= s->writers ? writers_of(s) : 0;
    s->next = all.free;
    all.free = s;
}

void sonde__cl_shared_made(cl_context context, cl_device_id device, enum sonde_object_kind kind, const void *pointer, size_t bytes, bool silent)
{
    if (!sonde_values_wanted(SONDE_VALUES_REMOTE))
        return;
    sonde__lock(&all.lock);
    struct stretch *s = take_out((uintptr_t)pointer), **at = &all.stretches;
    if (s)
        put_stretch(s); /* nobody told us of its end, or its context's */
    s = all.free;
    if (s)
        all.free = s->next;
    else
        s = sonde__memory_get(sizeof *s);
    while (s && *at && (*at)->from < (uintptr_t)pointer)
        at = &(*at)->next;
    if (s) {
        *s = (struct stretch){.next = *at, .context = context, .device = device, .kind = kind, .from = (uintptr_t)pointer, .bytes = bytes, .silent = silent, .hosted = silent};
        *at = s;
        all.version++;
    }
    sonde__unlock(&all.lock);
}

void *sonde__cl_shared_freed(const void *pointer)
{
    if (!sonde_values_wanted(SONDE_VALUES_REMOTE) || !pointer)
        return NULL;
    sonde__lock(&all.lock);
    struct stretch *s = take_out((uintptr_t)pointer);
    void *writers = s ? s->writers : NULL;
    if (s)
        put_stretch(s);
    sonde__unlock(&all.lock);
    return writers;
}

void sonde__cl_shared_context(cl_context context)
{
    if (!sonde_values_wanted(SONDE_VALUES_REMOTE))
        return;
    sonde__lock(&all.lock);
    for (struct sonde_cl_place *p = all.places; p; p = p->next)
        if (p->context == context)
            p->context = NULL; /* an older one, with the same handle; and what it had is gone */
    for (struct stretch **at = &all.stretches; *at;) {
        struct stretch *s = *at;
        if (s->context != context) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        put_stretch(s);
    }
    sonde__unlock(&all.lock);
}

/* ---- contexts, under all.lock ---------------------------------------------------------------------------------- */

static void ask_devices(const cl_icd_dispatch *real, struct sonde_cl_place *p)
{
    cl_uint count = 0;
    p->followed = real->clSVMAlloc && real->clEnqueueSVMMemFill && real->clEnqueueSVMFree &&
                  real->clGetContextInfo(p->context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL) == CL_SUCCESS && count <= DEVICES_MAX &&
                  real->clGetContextInfo(p->context, CL_CONTEXT_DEVICES, sizeof p->device, p->device, NULL) == CL_SUCCESS;
    p->devices = p->followed ? count : 0;
    p->cpus = true;
    for (cl_uint i = 0; i < p->devices; i++) {
        cl_device_type type = 0;
        cl_device_svm_capabilities capabilities = 0;
        real->clGetDeviceInfo(p->device[i], CL_DEVICE_TYPE, sizeof type, &type, NULL);
        p->cpus &= (type & CL_DEVICE_TYPE_CPU) != 0;
        real->clGetDeviceInfo(p->device[i], CL_DEVICE_SVM_CAPABILITIES, sizeof capabilities, &capabilities, NULL);
        p->system[i] = capabilities & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
        p->id[i] = sonde__cl_device_id(p->device[i]);
    }
}

/* NULL: no memory. */
static struct sonde_cl_place *place_of(const cl_icd_dispatch *real, cl_context context)
{
    struct sonde_cl_place *p = all.places;
    while (p && p->context != context)
        p = p->next;
    if (p || !(p = sonde__memory_get(sizeof *p)))
        return p;
    p->context = context;
    p->slots[SONDE_PLAN_SHARED_SYSTEM].owner = HOST;
    ask_devices(real, p);
    p->next = all.places;
    all.places = p;
    return p;
}

/* OWNERS: it is none of them. */
static uint32_t owner_of(const struct sonde_cl_place *p, cl_device_id device)
{
    for (cl_uint i = 0; i < p->devices; i++)
        if (p->device[i] == device)
            return DEVICES + i;
    return OWNERS;
}

/* NOBODY: it moves. */
static uint32_t fixed_owner(const struct sonde_cl_place *p, const struct stretch *s)
{
    return s->kind == SONDE_OBJECT_PINNED ? (uint32_t)HOST : (s->kind == SONDE_OBJECT_DEVICE ? owner_of(p, s->device) : (uint32_t)NOBODY);
}

static bool is_other(const struct sonde_cl_place *p, uint32_t device, const struct stretch *s)
{
    const uint32_t fixed = fixed_owner(p, s);
    return s->context == p->context && (fixed ? fixed != DEVICES + device && fixed < OWNERS : p->devices > 1 || s->silent);
}

static uint64_t writers_most(void)
{
    return sonde_values_memory() ? sonde_values_memory() : WRITERS_MOST;
}

/* Who wrote what of it; false: there is no memory. */
static bool has_writers(const cl_icd_dispatch *real, struct stretch *s)
{
    const uint64_t bytes = writers_of(s);
    if (s->writers || s->lost)
        return s->writers;
    s->writers = all.writers_bytes + bytes <= writers_most() ? real->clSVMAlloc(s->context, CL_MEM_READ_WRITE, bytes, 0) : NULL;
    s->lost = !s->writers;
    all.writers_bytes += s->writers ? bytes : 0;
    if (s->writers)
        memset(s->writers, s->silent ? HOST : NOBODY, bytes);
    return s->writers;
}

/* ---- what is another's of a device, under all.lock ------------------------------------------------------------------ */

/* SLOTS: there is none. What has a slot keeps it. */
static uint32_t slot_in(struct sonde_cl_place *p, uint32_t site, uint32_t owner, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end; k++) {
        if (!p->slots[k].owner)
            p->slots[k] = (struct slot){site, owner};
        if (p->slots[k].owner == owner && p->slots[k].site == site)
            return k;
    }
    return SLOTS;
}

static uint32_t slot_of(struct sonde_cl_place *p, const struct stretch *s, uint32_t owner)
{
    const uint32_t object = sonde__cl_svm_object((void *)s->from);
    uint32_t site = 0;
    if (object)
        sonde_value_sites(&object, 1, &site);
    const uint32_t slot = slot_in(p, site, owner, 0, SLOTS_SITES);
    return slot < SLOTS ? slot : slot_in(p, 0, owner, SLOTS_SITES, SONDE_PLAN_SHARED_SYSTEM);
}

/* In memory of the host, which processors reach wherever it is, and which stays. Without any it has no room; NULL: no memory at all. */
static struct elements *elements_of(struct sonde_cl_place *p, uint32_t device)
{
    struct elements *e = p->tables[device].elements;
    const uint64_t bytes = sonde__cells_bytes(sonde__cells_room());
    if (e || !(e = sonde__memory_get(sizeof *e)))
        return e;
    e->at = all.writers_bytes + bytes <= writers_most() ? sonde__pages_get(bytes) : NULL;
    e->cells.room = e->at ? sonde__cells_room() : 0;
    e->cells.device = p->id[device];
    all.writers_bytes += e->at ? bytes : 0;
    return p->tables[device].elements = e;
}

static uint32_t cells_of(struct sonde_cl_place *p, uint32_t device, const struct stretch *s, uint32_t owner)
{
    const uint32_t object = sonde__cells_room() ? sonde__cl_svm_object((void *)s->from) : 0;
    struct elements *e = object ? elements_of(p, device) : NULL;
    if (e)
        return sonde__cells_of(&e->cells, object, owner >= DEVICES ? p->id[owner - DEVICES] : 0, s->bytes);
    if (sonde__cells_room())
        sonde__cells_missing();
    return 0;
}

static bool add_range(const cl_icd_dispatch *real, struct sonde_cl_place *p, uint32_t device, struct stretch *s)
{
    struct sonde_plan_shared *t = &all.table;
    const uint32_t fixed = fixed_owner(p, s);
    if (t->ranges == SONDE_PLAN_SHARED_RANGES || (!fixed && !has_writers(real, s)))
        return false;
    struct sonde_plan_shared_range *r = &t->range[t->ranges++];
    const uint32_t first = s->hosted ? HOST : DEVICES;
    bool whole = true;
    r->begin = s->from;
    r->bytes = s->bytes;
    r->writers = fixed ? 0 : (uintptr_t)s->writers;
    memset(r->slot, SLOTS, sizeof r->slot);
    memset(r->cells, 0, sizeof r->cells);
    if (fixed) {
        r->slot[0] = (uint8_t)slot_of(p, s, fixed);
        r->cells[0] = cells_of(p, device, s, fixed);
    }
    whole &= !fixed || r->slot[0] < SLOTS;
    for (uint32_t owner = first; !fixed && owner < DEVICES + p->devices; owner++)
        if (owner != DEVICES + device) {
            r->slot[owner] = (uint8_t)slot_of(p, s, owner);
            r->cells[owner] = cells_of(p, device, s, owner);
            whole &= r->slot[owner] < SLOTS;
        }
    return whole;
}

/* Another one when memory came or went, or an object has got its first name; never 0. */
static uint64_t version_now(void)
{
    return all.version + 1 + sonde_objects_named();
}

/* As it is now; `whole`: with what the runtime has of it. */
static void fill_table(const cl_icd_dispatch *real, struct sonde_cl_place *p, uint32_t device, bool whole)
{
    struct table *t = &p->tables[device];
    struct sonde_plan_shared *made = &all.table;
    t->version = version_now();
    t->any = t->many = t->silent = false;
    made->ranges = 0;
    made->own = DEVICES + device;
    for (struct stretch *s = all.stretches; s; s = s->next) {
        if (!is_other(p, device, s))
            continue;
        t->any = true;
        t->silent |= s->silent;
        t->many |= p->cpus && !add_range(real, p, device, s);
    }
    if (t->mem)
        real->clReleaseMemObject(t->mem); /* launches that have it keep it */
    t->mem = NULL;
    if (!whole || t->many || !p->cpus)
        return;
    const struct sonde_plan_shared_range *last = made->ranges ? &made->range[made->ranges - 1] : NULL; /* NULL: there is but the host's own memory */
    cl_int status;
    made->begin = last ? made->range[0].begin : 0;
    made->bytes = last ? last->begin + last->bytes - made->begin : 0;
    made->cells = t->elements ? (uintptr_t)t->elements->at : 0;
    t->mem = real->clCreateBuffer(p->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, offsetof(struct sonde_plan_shared, range) + made->ranges * sizeof *last, made, &status);
    t->many = status != CL_SUCCESS;
}

static bool any_in(cl_context context)
{
    const struct stretch *s = all.stretches;
    while (s && s->context != context)
        s = s->next;
    return s;
}

bool sonde__cl_shared_reach(cl_command_queue queue, struct sonde_cl_reach *out)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    cl_context context = NULL;
    cl_device_id device = NULL;
    *out = (struct sonde_cl_reach){0};
    if (real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
        real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return false;
    sonde__lock(&all.lock);
    struct sonde_cl_place *p = place_of(real, context);
    const uint32_t owner = p ? owner_of(p, device) : (uint32_t)OWNERS;
    if (owner < OWNERS) {
        struct table *t = &p->tables[owner - DEVICES];
        if (t->version != version_now())
            fill_table(real, p, owner - DEVICES, false);
        out->place = p;
        out->device = owner - DEVICES;
        out->device_id = p->id[out->device];
        out->any = t->any;
        out->system = p->system[out->device] && !sonde_is_attached(); /* else shared memory may have been allocated before */
        out->many = t->many;
        out->silent = t->silent;
    } else {
        out->any = out->many = any_in(context);
    }
    sonde__unlock(&all.lock);
    return true;
}

bool sonde__cl_shared_is_other(const struct sonde_cl_reach *reach, const void *pointer, bool *silent)
{
    bool is = false;
    sonde__lock(&all.lock);
    const struct stretch *s = stretch_at(pointer);
    if (s && reach->place && is_other(reach->place, reach->device, s)) {
        is = true;
        *silent |= s->silent;
    }
    sonde__unlock(&all.lock);
    return is;
}

bool sonde__cl_shared_is_system(const struct sonde_cl_reach *reach, const void *pointer)
{
    sonde__lock(&all.lock);
    const bool is = reach->system && !stretch_at(pointer);
    sonde__unlock(&all.lock);
    return is;
}

bool sonde__cl_shared_table(const struct sonde_cl_reach *reach, cl_kernel kernel, cl_uint argument)
{
    const cl_icd_dispatch *real = sonde__cl_target(kernel);
    sonde__lock(&all.lock);
    struct table *t = &reach->place->tables[reach->device];
    if (t->version != version_now() || !t->mem)
        fill_table(real, reach->place, reach->device, true);
    const bool done = t->mem && real->clSetKernelArg(kernel, argument, sizeof t->mem, &t->mem) == CL_SUCCESS;
    sonde__unlock(&all.lock);
    return done;
}

bool sonde__cl_shared_slot(const struct sonde_cl_place *place, uint32_t slot, uint32_t *site, uint32_t *owner)
{
    sonde__lock(&all.lock);
    const struct slot found = place->slots[slot];
    sonde__unlock(&all.lock);
    *site = found.site;
    *owner = found.owner >= DEVICES ? place->id[found.owner - DEVICES] : 0;
    return found.owner;
}

/* Under all.lock: what kernels add meanwhile is read the next time. */
static void read_elements(struct elements *e)
{
    const uint64_t bytes = sonde__cells_bytes(e->cells.room);
    struct sonde_cell *now = e->cells.used ? sonde__pages_get(bytes) : NULL;
    if (!now && e->cells.used)
        sonde_note("comm: no memory to read the elements that kernels accessed: some are missing");
    if (!now)
        return;
    memcpy(now, e->at, sonde__cells_bytes(e->cells.used));
    sonde__cells_tell(&e->cells, e->cells.arrays, now);
}

/* While kernels run this is called again and again: then it is read seldom, and once more when they have ended. */
void sonde__cl_shared_read(void)
{
    const uint64_t now_ns = sonde_now_ns();
    if (!sonde__cells_room() || !sonde__lock_within(&all.lock, 100))
        return;
    if (!all.elements_ns || !sonde_is_waiting() || now_ns - all.elements_ns > SELDOM_NS) {
        all.elements_ns = now_ns;
        for (struct sonde_cl_place *p = all.places; p; p = p->next)
            for (cl_uint i = 0; i < p->devices; i++)
                if (p->tables[i].elements)
                    read_elements(p->tables[i].elements);
    }
    sonde__unlock(&all.lock);
}

/* ---- operations that write it ------------------------------------------------------------------------------------------ */

/* Where the writers of these bytes are, and how many; NULL: nobody asks for them. */
static unsigned char *writers_at(const cl_icd_dispatch *real, cl_context context, cl_device_id device, const void *pointer, bool host, uint64_t *bytes, uint32_t *owner)
{
    struct stretch *s = stretch_at(pointer);
    struct sonde_cl_place *p = s && s->context == context ? place_of(real, context) : NULL;
    if (!p || !p->followed || !p->cpus || fixed_owner(p, s) || !(p->devices > 1 || s->silent) || !has_writers(real, s))
        return NULL;
    const uint64_t from = (uintptr_t)pointer - s->from, most = s->bytes - from, count = *bytes && *bytes < most ? *bytes : most;
    const uint64_t first = from >> SONDE_PLAN_SHARED_SHIFT;
    *bytes = ((from + count - 1) >> SONDE_PLAN_SHARED_SHIFT) - first + 1;
    *owner = host ? (uint32_t)HOST : owner_of(p, device);
    all.version += host && !s->hosted; /* of launches that follow, the table says so */
    s->hosted |= host;
    return *owner < OWNERS ? s->writers + first : NULL;
}

/* Of a queue out of order the operation waits for it. */
static void fill(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, unsigned char *at, uint64_t bytes, unsigned char owner)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    const bool ordered = enqueue->queue && !sonde__cl_out_of_order(enqueue->queue);
    cl_event filled = NULL;
    const cl_uint waits = enqueue->turn ? 1 : enqueue->wait_count;
    const cl_int status = real->clEnqueueSVMMemFill(queue, at, &owner, sizeof owner, bytes, waits, enqueue->turn ? &enqueue->turn : enqueue->wait_list, ordered ? NULL : &filled);
    if (status != CL_SUCCESS)
        return; /* so the operation will be refused, too */
    if (enqueue->turn && filled)
        real->clReleaseEvent(enqueue->turn);
    enqueue->turn = filled ? filled : enqueue->turn;
}

void sonde__cl_shared_take(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const void *pointer, uint64_t bytes, bool host)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    cl_context context = NULL;
    cl_device_id device = NULL;
    uint32_t owner = NOBODY;
    if (real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
        real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return;
    sonde__lock(&all.lock);
    unsigned char *at = writers_at(real, context, device, pointer, host, &bytes, &owner);
    sonde__unlock(&all.lock);
    if (at)
        fill(enqueue, queue, at, bytes, (unsigned char)owner);
}

void sonde__cl_shared_map(const void *pointer, uint64_t bytes)
{
    sonde__lock(&all.lock);
    struct stretch *s = stretch_at(pointer);
    for (int i = 0; s && i < MAPS_MAX; i++)
        if (!s->map[i].pointer || s->map[i].pointer == pointer) {
            s->map[i].pointer = pointer;
            s->map[i].bytes = bytes;
            break;
        }
    sonde__unlock(&all.lock);
}

void sonde__cl_shared_unmap(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const void *pointer)
{
    uint64_t bytes = 0;
    bool written = false;
    sonde__lock(&all.lock);
    struct stretch *s = stretch_at(pointer);
    for (int i = 0; s && i < MAPS_MAX && !written; i++)
        if (s->map[i].pointer == pointer) {
            written = true;
            bytes = s->map[i].bytes;
            s->map[i].pointer = NULL;
        }
    sonde__unlock(&all.lock);
    if (written)
        sonde__cl_shared_take(enqueue, queue, pointer, bytes, false);
}

void sonde__cl_shared_forget(void)
{
    memset(&all.lock, 0, sizeof all.lock);
    all.stretches = NULL; /* the parent's */
    all.places = NULL;
    all.writers_bytes = 0;
    all.version++;
}
