/* values.c - which values kernels read and write (--values=fine).
 *
 * CUPTI's callback before a launch may change the call's parameters: where the kernel has an instrumented copy (code.c), that is
 * launched, with one parameter more: an area of device memory to which its threads add what they find (instrument/rewrite.h).
 * There is an area for each operation in its calling context and the objects that its parameters point to. What is in an area
 * only grows, so it is read while kernels run, and again: in a stream of ours that waits for no other, by the thread that
 * fetches records (flush.c), and when its context ends.
 *
 * What the program waits for: the area at the first launch, and the compiler at the first of a module.
 */
#include "sonde_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/lock.h"

#define PLACES_MAX 64u
#define PARTS 256u      /* at the least: %smid is below the multiprocessors that the chip was made with */
#define FREE_SHARED 49152 /* bytes of dynamic shared memory that need no leave */

struct sonde_cuda_twins sonde__cuda_twins;

struct place { /* a context */
    uint32_t uid, stream_id, parts;
    CUcontext context;
    CUstream stream; /* ours */
    uint64_t bytes, most;
    bool gone;
};

struct area {
    struct area *next, *alike; /* all; those of the same hash */
    const struct sonde_cuda_kernel *kernel;
    struct place *place;
    uint32_t node;
    _Atomic uint64_t launches;
    uint64_t read_launches;
    CUdeviceptr at;
    unsigned char *host; /* where it is read to, and began */
    size_t bytes;
    uint32_t objects[SONDE_CUDA_POINTERS_MAX]; /* that the kernel's pointers point to */
    uint32_t rows[];     /* of each access; 0: it has none */
};

static struct {
    struct sonde_lock lock; /* of what follows, and of reading */
    struct place place[PLACES_MAX];
    _Atomic uint32_t places; /* that are ready: these numbers stay */
    struct area *areas;
} all;

static struct sonde_shared_map by_hash; /* -> struct area */

/* ---- the driver ------------------------------------------------------------------------------------ */

const char *sonde__cuda_values_begin(char *room, size_t size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!driver)
        return "the driver's library (libcuda.so.1) is not loaded";
#define X(name)                                                                                  \
    if (!(*(void **)&sonde__cuda_twins.name = dlsym(driver, #name))) {                           \
        snprintf(room, size, "the driver is too old: it lacks %s; CUDA 12.5 has all", #name);    \
        return room;                                                                             \
    }
    SONDE_CUDA_TWINS_MAP(X)
#undef X
    sonde__cuda_twins.on = true;
    return NULL;
}

/* ---- contexts ------------------------------------------------------------------------------------- */

static uint64_t most_bytes(void)
{
    CUdevice device;
    size_t bytes = 0;
    if (sonde_values_memory())
        return sonde_values_memory();
    if (sonde__cudrv.cuCtxGetDevice(&device) == CUDA_SUCCESS)
        sonde__cudrv.cuDeviceTotalMem_v2(&bytes, device);
    return bytes / 4;
}

/* Under all.lock, with the context current. */
static struct place *place_of(CUcontext context, uint32_t uid)
{
    const uint32_t count = atomic_load(&all.places);
    for (uint32_t k = 0; k < count; k++)
        if (all.place[k].uid == uid)
            return all.place[k].gone ? NULL : &all.place[k];
    if (count == PLACES_MAX)
        return NULL;
    struct place *p = &all.place[count];
    CUdevice device;
    int multiprocessors = 0;
    if (sonde__cudrv.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        sonde__cudrv.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) != CUDA_SUCCESS ||
        sonde__cuda_twins.cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
        sonde__cupti.cuptiGetStreamIdEx(context, p->stream, 0, &p->stream_id) != CUPTI_SUCCESS)
        return NULL;
    p->context = context;
    p->uid = uid;
    p->parts = (uint32_t)multiprocessors < PARTS ? PARTS : 2 * (uint32_t)multiprocessors;
    p->most = most_bytes();
    atomic_store(&all.places, count + 1);
    return p;
}

bool sonde__cuda_values_own(uint32_t uid, uint32_t stream_id)
{
    const uint32_t count = atomic_load(&all.places);
    for (uint32_t k = 0; k < count; k++)
        if (all.place[k].uid == uid && all.place[k].stream_id == stream_id)
            return true;
    return false;
}

/* ---- areas ------------------------------------------------------------------------------------------ */

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
                .object = a->kernel->pointer[k] ? a->objects[a->kernel->pointer[k] - 1] : 0,
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
    const size_t part = sonde__ptx_area(a->kernel->function, SONDE_CUDA_PLAN);
    if (a->place->bytes + a->bytes > a->place->most || t->cuMemAlloc_v2(&a->at, a->bytes) != CUDA_SUCCESS)
        return false;
    for (uint32_t k = 0; k < a->place->parts; k++)
        sonde__ptx_area_start(a->kernel->function, SONDE_CUDA_PLAN, a->host + k * part);
    a->place->bytes += a->bytes;
    return t->cuMemcpyHtoDAsync_v2(a->at, a->host, a->bytes, a->place->stream) == CUDA_SUCCESS && t->cuStreamSynchronize(a->place->stream) == CUDA_SUCCESS;
}

/* Under all.lock. */
static struct area *area_new(const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *objects, struct place *place)
{
    struct area *a = sonde__memory_get(sizeof *a + k->function->accesses * sizeof *a->rows);
    if (!a)
        return NULL;
    a->kernel = k;
    a->node = node;
    a->place = place;
    memcpy(a->objects, objects, k->pointers * sizeof *objects);
    a->bytes = place->parts * sonde__ptx_area(k->function, SONDE_CUDA_PLAN);
    a->host = sonde__pages_get(a->bytes);
    if (!a->host || !upload(a))
        return NULL;
    add_rows(a);
    a->next = all.areas;
    all.areas = a;
    return a;
}

static bool is_same(const struct area *a, const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *objects, uint32_t uid)
{
    return a->kernel == k && a->node == node && a->place->uid == uid && !memcmp(a->objects, objects, k->pointers * sizeof *objects);
}

/* NULL: no memory. */
static struct area *area_of(const struct sonde_cuda_kernel *k, uint32_t node, const uint32_t *objects, CUcontext context, uint32_t uid)
{
    const uint64_t hash = XXH3_64bits_withSeed(objects, k->pointers * sizeof *objects, (uint64_t)node << 32 ^ (uintptr_t)k ^ uid) | 1;
    uint64_t first = 0;
    sonde__shared_map_get(&by_hash, hash, &first);
    for (struct area *a = (void *)(uintptr_t)first; a; a = a->alike)
        if (is_same(a, k, node, objects, uid))
            return a;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    sonde__lock(&all.lock);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    struct place *place = place_of(context, uid);
    struct area *a = place ? area_new(k, node, objects, place) : NULL;
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    if (a) { /* of two threads that come at once each has its own: their rows are added */
        sonde__shared_map_get(&by_hash, hash, &first);
        a->alike = (void *)(uintptr_t)first;
        sonde__shared_map_put(&by_hash, hash, (uintptr_t)a);
    }
    sonde__unlock(&all.lock);
    return a;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

/* What of a launch's parameters is looked at or changed. */
struct launch {
    CUfunction *function;
    void ***parameters;
    void **extra;
    uint64_t threads, blocks, shared; /* of a block; blocks; bytes */
    CUstream stream;
    bool cooperative, clusters;
};

static bool has_attribute(const CUlaunchConfig *c, CUlaunchAttributeID id)
{
    for (unsigned k = 0; k < c->numAttrs; k++)
        if (c->attrs[k].id == id)
            return true;
    return false;
}

static struct launch launch_of(uint32_t id, void *params)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
        cuLaunchKernel_params *p = params;
        return (struct launch){&p->f, &p->kernelParams, p->extra, (uint64_t)p->blockDimX * p->blockDimY * p->blockDimZ,
                               (uint64_t)p->gridDimX * p->gridDimY * p->gridDimZ, p->sharedMemBytes, p->hStream, false, false};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
        cuLaunchCooperativeKernel_params *p = params;
        return (struct launch){&p->f, &p->kernelParams, NULL, (uint64_t)p->blockDimX * p->blockDimY * p->blockDimZ,
                               (uint64_t)p->gridDimX * p->gridDimY * p->gridDimZ, p->sharedMemBytes, p->hStream, true, false};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
        cuLaunchKernelEx_params *p = params;
        const CUlaunchConfig *c = p->config;
        if (!c)
            return (struct launch){0};
        return (struct launch){&p->f, &p->kernelParams, p->extra, (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ,
                               (uint64_t)c->gridDimX * c->gridDimY * c->gridDimZ, c->sharedMemBytes, c->hStream,
                               has_attribute(c, CU_LAUNCH_ATTRIBUTE_COOPERATIVE), has_attribute(c, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)};
    }
    default: /* as it was before CUDA 4 */
        return (struct launch){0};
    }
}

static int attribute(CUfunction f, CUfunction_attribute which)
{
    CUdevice device;
    int value = 0;
    if (sonde__cudrv.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
        sonde__cuda_twins.cuKernelGetAttribute(&value, which, (CUkernel)f, device) != CUDA_SUCCESS)
        sonde__cuda_twins.cuFuncGetAttribute(&value, which, f);
    return value;
}

/* As much dynamic shared memory as the program's kernel may have. */
static void copy_leave(const struct sonde_cuda_kernel *k, const struct launch *l)
{
    CUdevice device;
    if (l->shared > FREE_SHARED && sonde__cudrv.cuCtxGetDevice(&device) == CUDA_SUCCESS)
        sonde__cuda_twins.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               attribute(*l->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), k->twin, device);
}

/* Do its blocks fit, with more registers than the program's? */
static bool fits(const struct sonde_cuda_kernel *k, const struct launch *l)
{
    int blocks = 0;
    if ((uint64_t)attribute((CUfunction)k->twin, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) < l->threads)
        return false;
    if (!l->cooperative)
        return true;
    CUdevice device;
    int multiprocessors = 0;
    return sonde__cudrv.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
           sonde__cudrv.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) == CUDA_SUCCESS &&
           sonde__cuda_twins.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (CUfunction)k->twin, (int)l->threads, l->shared) == CUDA_SUCCESS &&
           (uint64_t)blocks * (uint64_t)multiprocessors >= l->blocks;
}

static void find_objects(const struct sonde_cuda_kernel *k, void *const *parameters, uint32_t *objects)
{
    for (uint32_t i = 0; i < k->pointers; i++) {
        uint64_t address;
        memcpy(&address, (const char *)parameters[k->origin[i].parameter - 1] + k->origin[i].offset, sizeof address);
        objects[i] = address ? sonde_object_at(address) : 0;
    }
}

/* The parameters with the area's address behind them; NULL: no memory. They stay until the call returns. */
struct sonde_cuda_swap {
    struct sonde_cuda_swap *next;
    CUdeviceptr area;
    void *parameters[SONDE_CUDA_PARAMETERS_MAX];
    uint32_t objects[SONDE_CUDA_POINTERS_MAX];
};
static struct {
    struct sonde_lock lock;
    struct sonde_cuda_swap *spare;
} swaps;

static struct sonde_cuda_swap *swap_get(void)
{
    sonde__lock(&swaps.lock);
    struct sonde_cuda_swap *s = swaps.spare;
    if (s)
        swaps.spare = s->next;
    sonde__unlock(&swaps.lock);
    return s ? s : sonde__memory_get(sizeof *s);
}

void sonde__cuda_values_launched(struct sonde_cuda_swap *s)
{
    sonde__lock(&swaps.lock);
    s->next = swaps.spare;
    swaps.spare = s;
    sonde__unlock(&swaps.lock);
}

static enum sonde_value_missed swap(const struct sonde_cuda_kernel *k, uint32_t node, const struct launch *l, CUcontext context, uint32_t uid,
                                    struct sonde_cuda_swap *s)
{
    if (!*l->parameters && k->flow.parameters)
        return SONDE_VALUE_MISSED_BUFFER;
    if (l->clusters || !fits(k, l))
        return SONDE_VALUE_MISSED_REGISTERS;
    find_objects(k, *l->parameters, s->objects);
    struct area *a = area_of(k, node, s->objects, context, uid);
    if (!a)
        return SONDE_VALUE_MISSED_MEMORY;
    copy_leave(k, l);
    memcpy(s->parameters, *l->parameters, k->flow.parameters * sizeof *s->parameters);
    s->area = a->at;
    s->parameters[k->flow.parameters] = &s->area;
    *l->parameters = s->parameters;
    *l->function = (CUfunction)k->twin;
    atomic_fetch_add(&a->launches, 1);
    return SONDE_VALUE_MISSED_NONE;
}

struct sonde_cuda_swap *sonde__cuda_values_launch(uint32_t id, const CUpti_CallbackData *cd, bool own_default, const struct sonde_call *call)
{
    const struct launch l = launch_of(id, (void *)(uintptr_t)cd->functionParams);
    if (!l.function)
        return NULL;
    sonde__cuda_quiet(true);
    const struct sonde_cuda_kernel *k = sonde__cuda_kernel(*l.function);
    struct sonde_cuda_swap *s = k ? swap_get() : NULL;
    if (s) {
        const uint32_t node = sonde_call_operation(call, SONDE_OP_KERNEL, k->name);
        enum sonde_value_missed why = k->why;
        if (!why && sonde__cuda_captures(l.stream, own_default))
            why = SONDE_VALUE_MISSED_GRAPH;
        if (!why)
            why = swap(k, node, &l, cd->context, cd->contextUid, s);
        sonde_value_missed(node, why);
        if (why) {
            sonde__cuda_values_launched(s);
            s = NULL;
        }
    }
    sonde__cuda_quiet(false);
    return s;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

/* What all multiprocessors have found. */
static struct sonde_value_seen sum(const struct area *a, uint32_t access)
{
    const struct sonde_ptx_function *f = a->kernel->function;
    const uint32_t elements = a->kernel->ptx->accesses[f->first_access + access].elements;
    const size_t part = sonde__ptx_area(f, SONDE_CUDA_PLAN);
    struct sonde_value_seen seen = {.all = UINT64_MAX, .least = INT64_MAX, .most = INT64_MIN};
    for (uint32_t k = 0; k < a->place->parts; k++) {
        struct sonde_ptx_values v;
        seen.elements += elements * sonde__ptx_area_read(a->kernel->ptx, f, SONDE_CUDA_PLAN, a->host + k * part, access, &v);
        seen.any |= v.any;
        seen.all &= v.all;
        seen.least = v.least < seen.least ? v.least : seen.least;
        seen.most = v.most > seen.most ? v.most : seen.most;
    }
    return seen;
}

/* Under all.lock, with the context current. */
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

static void read_areas(const struct place *of, bool last)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    for (struct area *a = all.areas; a; a = a->next) {
        const uint64_t launches = atomic_load(&a->launches);
        CUcontext before;
        if (a->place->gone || (of && a->place != of) || (!last && launches == a->read_launches))
            continue;
        if (sonde__cuda_twins.cuCtxPushCurrent_v2(a->place->context) != CUDA_SUCCESS)
            continue;
        read_area(a, launches);
        sonde__cuda_twins.cuCtxPopCurrent_v2(&before);
    }
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
}

void sonde__cuda_values_read(bool last)
{
    if (!sonde__cuda_twins.on)
        return;
    sonde__lock(&all.lock);
    read_areas(NULL, last);
    sonde__unlock(&all.lock);
}

void sonde__cuda_values_context_gone(uint32_t uid)
{
    if (!sonde__cuda_twins.on)
        return;
    sonde__cuda_quiet(true);
    sonde__lock(&all.lock);
    for (uint32_t k = 0; k < atomic_load(&all.places); k++)
        if (all.place[k].uid == uid && !all.place[k].gone) {
            read_areas(&all.place[k], true);
            all.place[k].gone = true;
        }
    sonde__unlock(&all.lock);
    sonde__cuda_quiet(false);
}
