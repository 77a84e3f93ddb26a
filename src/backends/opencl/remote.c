/* remote.c - accesses of kernels to memory that is not their device's (sonde record --comm).
 *
 * A launch that may have such accesses, by what its arguments point to, or since its code has addresses that it read from memory, runs an instrumented copy
 * of its kernel (twins.h), which is given a table of all such memory (shared.h) and an area, which takes the counts. There is an area for each operation in
 * its calling context; it only grows, and lies in memory of the host, which the monitor reads at any time. All other launches run as they are.
 *
 * What a launch writes that is not looked at, though there is such memory, counts as all of what its arguments point to.
 */
#include "remote.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/map.h"
#include "guest/memory.h"
#include "shared.h"
#include "twins.h"

struct area {
    struct area *next, *alike; /* all; those of the same hash */
    const struct sonde_llvm_kernel *code;
    const struct sonde_cl_place *place;
    uint32_t node, group, device;
    cl_mem mem;
    const unsigned char *host;
    _Atomic uint64_t launches;
    uint64_t read_launches;
    uint32_t rows[]; /* of each slot of each access; 0: none yet */
};

static struct {
    struct sonde_lock lock; /* of making any */
    struct area *areas;
} all;

static struct sonde_shared_map by_hash; /* -> struct area */

static uint32_t plan(void)
{
    return SONDE_PLAN_REMOTE | (sonde_remote_cells() ? SONDE_PLAN_CELLS : 0u);
}

/* ---- areas ---------------------------------------------------------------------------------------------------- */

/* Under all.lock; it is never given back. NULL: no memory. */
static struct area *area_new(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_reach *reach, uint32_t node, uint32_t group)
{
    unsigned char *host = sonde__cl_area_get(t->code, 1);
    cl_mem mem = host ? sonde__cl_area_mem(real, t, host) : NULL;
    struct area *a = mem ? sonde__memory_get(sizeof *a + t->code->plan.accesses * SONDE_PLAN_REMOTE_SLOTS * sizeof *a->rows) : NULL;
    if (!a) {
        if (mem)
            real->clReleaseMemObject(mem);
        if (host)
            sonde__cl_area_put(t->code, host);
        return NULL;
    }
    a->code = t->code;
    a->place = reach->place;
    a->device = reach->device_id;
    a->node = node;
    a->group = group;
    a->mem = mem;
    a->host = host;
    a->next = all.areas;
    all.areas = a;
    return a;
}

static struct area *area_of(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_reach *reach, uint32_t node, uint32_t group)
{
    const void *seed[] = {t->code, reach->place, (void *)((uintptr_t)node << 3 | group)};
    const uint64_t key = XXH3_64bits(seed, sizeof seed) | 1;
    uint64_t first = 0;
    sonde__lock(&all.lock);
    sonde__shared_map_get(&by_hash, key, &first);
    struct area *a = (void *)(uintptr_t)first;
    while (a && (a->code != t->code || a->place != reach->place || a->node != node || a->group != group))
        a = a->alike;
    if (!a && (a = area_new(real, t, reach, node, group))) {
        a->alike = (void *)(uintptr_t)first;
        sonde__shared_map_put(&by_hash, key, (uintptr_t)a);
    }
    sonde__unlock(&all.lock);
    return a;
}

/* ---- what a launch reaches --------------------------------------------------------------------------------------- */

/* Where an argument points to, as far as that is shared memory; NULL: nowhere. */
static const void *pointer_of(const struct sonde_cl_kernel *kernel, uint32_t argument)
{
    const struct sonde_cl_argument *a = &kernel->argument[argument];
    cl_mem mem;
    if (!a->set || !a->value || a->by || a->bytes != sizeof mem)
        return sonde__cl_twin_pointer(kernel, argument);
    memcpy(&mem, a->value, sizeof mem);
    return sonde__cl_mem_object(mem) ? atomic_load(&sonde__cl_mem(mem)->over) : NULL;
}

static const void *pointer_listed(const struct sonde_cl_kernel *kernel, uint32_t i)
{
    struct sonde_object_info known;
    return kernel->indirect.object[i] && sonde_object_find(kernel->indirect.object[i], &known) ? (const void *)(uintptr_t)known.address : NULL;
}

/* A bit for each argument that points to memory of the host's which nobody allocated as shared. */
static cl_ulong system_pointers(const struct sonde_cl_reach *reach, const struct sonde_cl_kernel *kernel)
{
    cl_ulong bits = 0;
    for (uint32_t i = 0; i < kernel->argument_count && i < 64; i++) {
        const void *pointer = sonde__cl_twin_pointer(kernel, i);
        bits |= pointer && sonde__cl_shared_is_system(reach, pointer) ? 1ull << i : 0;
    }
    return bits;
}

static bool points(const struct sonde_cl_reach *reach, const struct sonde_cl_kernel *kernel, bool *silent)
{
    bool any = false;
    for (uint32_t i = 0; i < kernel->argument_count; i++) {
        const void *pointer = pointer_of(kernel, i);
        any |= pointer && sonde__cl_shared_is_other(reach, pointer, silent);
    }
    for (uint32_t i = 0; i < kernel->indirect.count; i++) {
        const void *pointer = pointer_listed(kernel, i);
        any |= pointer && sonde__cl_shared_is_other(reach, pointer, silent);
    }
    return any;
}

/* Does it access what none of its parameters is known to point to? */
static bool reads_pointers(const struct sonde_llvm_kernel *code)
{
    bool any = false;
    for (uint32_t k = 0; k < code->plan.accesses; k++)
        any |= !code->accesses[k].parameter && !code->accesses[k].several;
    return any;
}

/* What it writes, and is not looked at, is the device's, all of it. */
static void take_all(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel handle, struct sonde_cl_kernel *kernel)
{
    const struct sonde_cl_twin *t = sonde__cl_twin_of(sonde__cl_target(queue), queue, handle, kernel, plan());
    enqueue->code = t && t->code && t->code->accesses ? t->code : NULL;
    for (uint32_t i = 0; i < kernel->argument_count; i++) {
        const void *pointer = pointer_of(kernel, i);
        if (pointer && (!enqueue->code || sonde__cl_code_how(enqueue, i) & SONDE_FLOW_WRITE))
            sonde__cl_shared_take(enqueue, queue, pointer, 0, false);
    }
    for (uint32_t i = 0; i < kernel->indirect.count; i++) {
        const void *pointer = pointer_listed(kernel, i);
        if (pointer && (!enqueue->code || enqueue->code->writes_unknown))
            sonde__cl_shared_take(enqueue, queue, pointer, 0, false);
    }
}

/* ---- launches ------------------------------------------------------------------------------------------------------ */

/* Under the copy's lock: the list of what the kernel reaches by pointers in memory. */
static bool put_list(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_kernel *kernel)
{
    enum { MOST = 256 };
    const void *list[MOST];
    uint32_t count = 0;
    for (uint32_t i = 0; i < kernel->indirect.count && count < MOST; i++) {
        const void *pointer = pointer_listed(kernel, i);
        if (pointer)
            list[count++] = pointer;
    }
    return !count || (kernel->indirect.count <= MOST && real->clSetKernelExecInfo(t->kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, count * sizeof *list, list) == CL_SUCCESS);
}

static bool set_arguments(const cl_icd_dispatch *real, const struct sonde_cl_twin *t, const struct sonde_cl_kernel *kernel, const struct sonde_cl_reach *reach,
                          cl_ulong system, const struct area *a)
{
    const cl_uint at = sonde__cl_area_at(t->code);
    return sonde__cl_twin_arguments(real, t, kernel) && put_list(real, t, kernel) && real->clSetKernelArg(t->kernel, at, sizeof a->mem, &a->mem) == CL_SUCCESS &&
           sonde__cl_shared_table(reach, t->kernel, at + 1) && real->clSetKernelArg(t->kernel, at + 2, sizeof system, &system) == CL_SUCCESS;
}

/* NONE: all its accesses are known. The copy is locked, if there is one; else it has none to other memory. */
static enum sonde_value_missed swap(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, cl_kernel handle, struct sonde_cl_kernel *kernel,
                                    const struct sonde_cl_reach *reach)
{
    const cl_icd_dispatch *real = sonde__cl_target(queue);
    bool silent = false;
    const cl_ulong system = reach->system ? system_pointers(reach, kernel) : 0;
    const bool pointed = (reach->any && points(reach, kernel, &silent)) || system;
    if (!reach->any && !system)
        return SONDE_VALUE_MISSED_NONE;
    struct sonde_cl_twin *t = sonde__cl_twin_of(real, queue, handle, kernel, plan());
    const bool reads = t && t->code && t->code->accesses && reads_pointers(t->code);
    if (t && t->code && t->code->accesses && !pointed && !reads)
        return SONDE_VALUE_MISSED_NONE;
    if (reach->many)
        return SONDE_VALUE_MISSED_OBJECTS;
    if (!t || t->why || t->code->needs_none)
        return t ? t->why : SONDE_VALUE_MISSED_MEMORY;
    struct area *a = area_of(real, t, reach, enqueue->operation, enqueue->group);
    if (!a)
        return SONDE_VALUE_MISSED_MEMORY;
    sonde__lock(&t->lock);
    if (!set_arguments(real, t, kernel, reach, system, a)) {
        sonde__unlock(&t->lock);
        return SONDE_VALUE_MISSED_ARGUMENTS;
    }
    atomic_fetch_add(&a->launches, 1);
    enqueue->twin = t;
    return silent || (reads && reach->silent) ? SONDE_VALUE_MISSED_SILENT : SONDE_VALUE_MISSED_NONE;
}

static void before_launch(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const struct sonde_cl_written *written)
{
    struct sonde_cl_kernel *kernel = sonde__cl_kernel(written->kernel);
    struct sonde_cl_reach reach;
    if (!kernel || !sonde__cl_shared_reach(queue, &reach))
        return;
    const uint32_t name = sonde__cl_kernel_name(written->kernel, kernel);
    enqueue->operation = sonde_call_operation(&enqueue->call, SONDE_OP_KERNEL, name);
    enum sonde_value_missed why = sonde_value_choose(enqueue->operation, name, written->items);
    enqueue->group = why ? 0 : sonde_remote_group(enqueue->operation);
    why = why ? why : swap(enqueue, queue, written->kernel, kernel, &reach);
    enqueue->missed |= why ? 1ull << why : 0;
    if (why && !enqueue->twin && reach.any)
        take_all(enqueue, queue, written->kernel, kernel);
}

/* Row by row, or slice by slice where nothing is between rows. What the runtime will refuse it may take a part of. */
static void take_rectangle(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const unsigned char *over, uint64_t bytes, const struct sonde_cl_written *w)
{
    if (!w->origin || !w->region || !w->region[0] || !w->region[1])
        return;
    const uint64_t row = w->row_pitch ? w->row_pitch : w->region[0], slice = w->slice_pitch ? w->slice_pitch : row * w->region[1];
    const bool dense = row == w->region[0];
    const uint64_t width = dense ? row * w->region[1] : w->region[0], rows = dense ? 1 : w->region[1];
    if (row < w->region[0] || slice < row)
        return;
    for (uint64_t z = 0; z < w->region[2]; z++)
        for (uint64_t y = 0; y < rows; y++) {
            const uint64_t from = (w->origin[2] + z) * slice + (w->origin[1] + y) * row + w->origin[0];
            if (from >= bytes || width > bytes - from)
                return;
            sonde__cl_shared_take(enqueue, queue, over + from, width, false);
        }
}

/* What an operation writes of a buffer that lies over shared memory. */
static void take_laid(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const struct sonde_cl_written *w)
{
    const struct sonde_cl_mem *mem = w->mem && !w->is_image ? sonde__cl_mem(w->mem) : NULL;
    const unsigned char *over = mem ? atomic_load(&mem->over) : NULL;
    const uint64_t bytes = over ? atomic_load(&mem->bytes) : 0;
    if (over && w->is_rectangle)
        take_rectangle(enqueue, queue, over, bytes, w);
    else if (over && w->bytes && w->from < bytes && w->bytes <= bytes - w->from)
        sonde__cl_shared_take(enqueue, queue, over + w->from, w->bytes, false);
}

void sonde__cl_remote_before(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const struct sonde_cl_written *written)
{
    if (written->kernel)
        before_launch(enqueue, queue, written);
    else if (written->is_unmap)
        sonde__cl_shared_unmap(enqueue, queue, written->unmapped);
    else if (written->mem)
        take_laid(enqueue, queue, written);
    else if (written->svm && written->bytes)
        sonde__cl_shared_take(enqueue, queue, written->svm, written->bytes, false);
    else if (written->svm_mapped && written->changes)
        sonde__cl_shared_map(written->svm_mapped, written->bytes);
    for (cl_uint i = 0; written->taken && i < written->taken_count; i++)
        sonde__cl_shared_take(enqueue, queue, written->taken[i], written->taken_bytes ? written->taken_bytes[i] : 0, written->by_host);
}

void sonde__cl_remote_after(struct sonde_cl_enqueue *enqueue, bool made)
{
    const bool looked = enqueue->twin;
    sonde__cl_twin_launched(enqueue);
    if (enqueue->turn)
        sonde__cl_target(enqueue->turn)->clReleaseEvent(enqueue->turn);
    enqueue->turn = NULL;
    for (uint32_t why = 0; made && enqueue->operation && why < SONDE_VALUE_MISSED_COUNT; why++)
        if (why ? enqueue->missed >> why & 1 : !enqueue->missed)
            sonde_remote_missed(enqueue->operation, (enum sonde_value_missed)why, looked || !why ? SONDE_ENGINE_LLVM : SONDE_ENGINE_NONE, why && why != SONDE_VALUE_MISSED_SILENT ? 0 : enqueue->group);
}

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static uint64_t sum_of(const struct area *a, uint32_t access, uint32_t slot)
{
    const size_t part = sonde__plan_part(&a->code->plan);
    uint64_t sum = 0;
    for (uint32_t p = 0; p < a->code->parts; p++)
        sum += sonde__plan_remote(&a->code->plan, a->host + p * part, access, slot);
    return sum;
}

static uint32_t add_row(const struct area *a, uint32_t access, uint32_t slot)
{
    const struct sonde_llvm_access *of = &a->code->accesses[access];
    uint32_t site, owner;
    if (!sonde__cl_shared_slot(a->place, slot, &site, &owner))
        return 0;
    return sonde_remote_add(&(struct sonde_remote_access){
        .operation = a->node,
        .object = site,
        .file = of->file ? sonde__cl_code_file(of->file) : 0,
        .line = of->line,
        .number = access,
        .what = of->what,
        .bytes = (uint8_t)(of->element_bytes * of->elements),
        .group = (uint8_t)a->group,
        .device = a->device,
        .owner = owner,
    });
}

static void read_area(struct area *a)
{
    for (uint32_t k = 0; k < a->code->plan.accesses; k++)
        for (uint32_t slot = 0; slot < SONDE_PLAN_REMOTE_SLOTS; slot++) {
            uint32_t *row = &a->rows[k * SONDE_PLAN_REMOTE_SLOTS + slot];
            const uint64_t items = sum_of(a, k, slot);
            if (items && !*row)
                *row = add_row(a, k, slot);
            sonde_remote_seen(*row, items);
        }
}

void sonde__cl_remote_read(bool last)
{
    if (!sonde__lock_within(&all.lock, 100))
        return;
    struct area *first = all.areas;
    sonde__unlock(&all.lock);
    for (struct area *a = first; a; a = a->next) { /* they are never taken out */
        const uint64_t launches = atomic_load(&a->launches);
        if (!last && launches == a->read_launches)
            continue;
        read_area(a);
        a->read_launches = launches;
    }
    if (last)
        sonde__cl_shared_read();
}

void sonde__cl_remote_forget(void)
{
    memset(&all.lock, 0, sizeof all.lock);
    all.areas = NULL; /* the parent's */
    sonde__cl_shared_forget();
}
