/* around.c - what --values and --comm put around an operation.
 *
 * CUPTI's callback before a launch may change the call's parameters: where the kernel has an instrumented copy (code.c), that is
 * launched, with parameters more behind its own: an area to which its threads add what they find (areas.c), and where they
 * mark what they write (coarse.c). The operation is compared around the call.
 *
 * What the program waits for: memory at the first launch, and at the first of each kernel the compiler, which makes a copy of that
 * kernel; with --values=fine once more, when its copy is launched that does not guess.
 */
#include "sonde_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "guest/lock.h"

#define FLOWS_MAX 64u     /* objects of an operation */
#define GRAPHS "cuGraphLaunch" /* for --kernel */

struct sonde_cuda_twins sonde__cuda_twins;

struct sonde_cuda_around {
    struct sonde_cuda_around *next;
    uint32_t operation; /* the node */
    uint32_t count;     /* of such operations that the call makes */
    uint64_t missed;    /* bits, by enum sonde_value_missed */
    bool writes, compares;
    enum sonde_engine engine;   /* by which what the kernel does is known */
    uint32_t group;             /* --comm: of the launches that are looked at */
    struct sonde_cuda_coarse coarse;
    CUkernel twin;              /* that is launched */
    CUdeviceptr area;
    struct sonde_plan_set sets[SONDE_PTX_POINTERS_MAX];
    struct sonde_cuda_reach reach; /* --comm */
    uint32_t objects[SONDE_PTX_POINTERS_MAX];
    uint32_t flows;
    struct {
        uint32_t object;
        uint8_t how; /* SONDE_FLOW_* */
        uint64_t bytes;
    } flow[FLOWS_MAX];   /* what the operation reads and writes */
    CUdeviceptr *variables;
    void *parameters[SONDE_CUDA_PARAMETERS_MAX + 4]; /* the kernel's own, and what the copy has behind them */
};

static struct {
    struct sonde_lock lock;
    struct sonde_cuda_around *spare;
} arounds;

/* ---- the driver ------------------------------------------------------------------------------------ */

const char *sonde__cuda_values_begin(unsigned wanted, char *room, size_t size)
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
    sonde__cuda_twins.coarse = wanted & SONDE_VALUES_COARSE;
    sonde__cuda_twins.fine = wanted & SONDE_VALUES_FINE;
    sonde__cuda_twins.remote = wanted & SONDE_VALUES_REMOTE;
    sonde__cuda_twins.plan = sonde__cuda_twins.remote ? SONDE_PLAN_COUNTS | SONDE_PLAN_REMOTE : 0;
    sonde__cuda_twins.plan |= wanted & SONDE_VALUES_CELLS ? SONDE_PLAN_CELLS : 0u;
    sonde__cuda_twins.plan |= (sonde__cuda_twins.coarse ? SONDE_PLAN_SETS : 0u) | (sonde__cuda_twins.fine ? SONDE_PLAN_COUNTS | SONDE_PLAN_VALUES : 0u);
    sonde__cuda_twins.on = sonde__cuda_twins.plan != 0;
    return NULL;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static const CUlaunchAttributeValue *attribute_in(const CUlaunchConfig *c, CUlaunchAttributeID id)
{
    for (unsigned k = 0; k < c->numAttrs; k++)
        if (c->attrs[k].id == id)
            return &c->attrs[k].value;
    return NULL;
}

/* Of more than one block. */
static bool has_clusters(const CUlaunchConfig *c)
{
    const CUlaunchAttributeValue *v = attribute_in(c, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    return v && (v->clusterDim.x > 1 || v->clusterDim.y > 1 || v->clusterDim.z > 1);
}

struct sonde_cuda_launch sonde__cuda_launch(uint32_t id, void *params)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
        cuLaunchKernel_params *p = params;
        return (struct sonde_cuda_launch){&p->f, &p->kernelParams, &p->extra, (uint64_t)p->blockDimX * p->blockDimY * p->blockDimZ,
                                          (uint64_t)p->gridDimX * p->gridDimY * p->gridDimZ, p->sharedMemBytes, p->hStream, false, false};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
        cuLaunchCooperativeKernel_params *p = params;
        return (struct sonde_cuda_launch){&p->f, &p->kernelParams, NULL, (uint64_t)p->blockDimX * p->blockDimY * p->blockDimZ,
                                          (uint64_t)p->gridDimX * p->gridDimY * p->gridDimZ, p->sharedMemBytes, p->hStream, true, false};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
        cuLaunchKernelEx_params *p = params;
        const CUlaunchConfig *c = p->config;
        if (!c)
            return (struct sonde_cuda_launch){0};
        return (struct sonde_cuda_launch){&p->f, &p->kernelParams, &p->extra, (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ,
                                          (uint64_t)c->gridDimX * c->gridDimY * c->gridDimZ, c->sharedMemBytes, c->hStream,
                                          attribute_in(c, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) != NULL, has_clusters(c)};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch: /* as it was before CUDA 4: calls before this one have set the rest */
        return (struct sonde_cuda_launch){.function = &((cuLaunch_params *)params)->f};
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
        return (struct sonde_cuda_launch){.function = &((cuLaunchGrid_params *)params)->f};
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
        return (struct sonde_cuda_launch){.function = &((cuLaunchGridAsync_params *)params)->f, .stream = ((cuLaunchGridAsync_params *)params)->hStream};
    default:
        return (struct sonde_cuda_launch){0};
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
static void copy_leave(CUkernel twin, const struct sonde_cuda_launch *l)
{
    CUdevice device;
    if (l->shared && l->shared > (uint64_t)attribute((CUfunction)twin, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) &&
        sonde__cudrv.cuCtxGetDevice(&device) == CUDA_SUCCESS)
        sonde__cuda_twins.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               attribute(*l->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), twin, device);
}

/* Do its blocks fit, with more registers than the program's? NULL: it is none. */
static bool fits(CUkernel twin, const struct sonde_cuda_launch *l)
{
    int blocks = 0;
    if (!twin || (uint64_t)attribute((CUfunction)twin, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) < l->threads)
        return false;
    if (!l->cooperative)
        return true;
    CUdevice device;
    int multiprocessors = 0;
    return sonde__cudrv.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
           sonde__cudrv.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) == CUDA_SUCCESS &&
           sonde__cuda_twins.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (CUfunction)twin, (int)l->threads, l->shared) == CUDA_SUCCESS &&
           (uint64_t)blocks * (uint64_t)multiprocessors >= l->blocks;
}

uint64_t sonde__cuda_pointer_of(const struct sonde_cuda_kernel *k, void *const *parameters, uint32_t i)
{
    uint64_t address;
    memcpy(&address, (const char *)parameters[k->flow.pointers[i].origin.parameter - 1] + k->flow.pointers[i].origin.offset, sizeof address);
    return address;
}

typedef void visitor(void *user, uint64_t word);

static void each_of(const char *at, uint64_t bytes, visitor *visit, void *user)
{
    uint64_t word;
    for (uint64_t k = 0; k + sizeof word <= bytes; k += sizeof word) {
        memcpy(&word, at + k, sizeof word);
        visit(user, word);
    }
}

void sonde__cuda_each_word(const struct sonde_cuda_kernel *k, void *const *parameters, visitor *visit, void *user)
{
    for (uint32_t i = 0; parameters && i < k->parameters; i++)
        each_of(parameters[i], k->parameter[i].bytes, visit, user);
}

static void may_write(void *around, uint64_t word)
{
    struct sonde_cuda_around *a = around;
    sonde__cuda_coarse_add(&a->coarse, word, 0, 0, true);
}

/* ---- what the operation reads and writes, for the value flow graph ----------------------------------- */

/* `bytes` 0: all of the object. */
static void add_flow(struct sonde_cuda_around *a, uint32_t object, uint64_t bytes, unsigned how)
{
    struct sonde_object_info info;
    uint32_t i = 0;
    if (!object)
        return;
    while (i < a->flows && a->flow[i].object != object)
        i++;
    if (i == FLOWS_MAX)
        return;
    if (i == a->flows) {
        a->flow[a->flows++].object = object;
        a->flow[i].how = 0;
        a->flow[i].bytes = bytes ? bytes : (sonde_object_find(object, &info) ? info.bytes : 0);
    }
    a->flow[i].how |= (uint8_t)how;
}

static void may_use(void *around, uint64_t word)
{
    add_flow(around, word ? sonde_object_at(word) : 0, 0, SONDE_FLOW_READ | SONDE_FLOW_WRITE | SONDE_FLOW_MAYBE);
}

static void add_kernel_flow(struct sonde_cuda_around *a, const struct sonde_cuda_kernel *k, const struct sonde_cuda_launch *l)
{
    if (!k->flow.origins || k->flow.pointer_count > SONDE_PTX_POINTERS_MAX || !*l->parameters) {
        sonde__cuda_each_word(k, *l->parameters, may_use, a);
        return;
    }
    for (uint32_t i = 0; i < k->flow.pointer_count; i++) {
        const struct sonde_ptx_pointer *p = &k->flow.pointers[i];
        const uint64_t address = sonde__cuda_pointer_of(k, *l->parameters, i);
        const uint32_t object = address ? sonde_object_at(address) : 0;
        if (p->loaded && !sonde__cuda_twins.fine) /* else each access has a row of its own */
            sonde_value_read(a->operation, object, p->loaded);
        add_flow(a, object, 0, (p->reads ? SONDE_FLOW_READ : 0u) | (p->grain ? SONDE_FLOW_WRITE : 0u));
    }
}

/* What is not compared counts as written. */
static void note_writes(const struct sonde_cuda_around *a, uint64_t stream_key)
{
    for (uint32_t i = 0; i < a->flows; i++)
        if (a->flow[i].how & SONDE_FLOW_WRITE)
            sonde__cuda_coarse_wrote(a->flow[i].object, stream_key);
}

/* What is only read comes first. */
static void tell_flow(const struct sonde_cuda_around *a)
{
    for (unsigned writes = 0; writes <= SONDE_FLOW_WRITE; writes += SONDE_FLOW_WRITE)
        for (uint32_t i = 0; i < a->flows; i++)
            if ((a->flow[i].how & SONDE_FLOW_WRITE) == writes)
                sonde_value_flow(a->operation, a->flow[i].object, a->flow[i].bytes, a->flow[i].how);
}

/* On which line the kernel writes the object, where its module has lines. */
static void tell_line(const struct sonde_cuda_around *a, const struct sonde_ptx *ptx, const struct sonde_ptx_pointer *p, uint32_t object)
{
    const struct sonde_ptx_span file = p->line ? sonde__ptx_file(ptx, p->file) : (struct sonde_ptx_span){0};
    if (p->lines)
        sonde_value_written(a->operation, object, file.bytes ? sonde_string(ptx->text + file.at, file.bytes) : 0, file.bytes ? p->line : 0);
}

/* The objects that the kernel writes, by its code. */
static void add_written(struct sonde_cuda_around *a, const struct sonde_cuda_kernel *k, void *const *parameters)
{
    const bool elsewhere = k->flow.writes_unknown;
    for (uint32_t i = 0; i < k->flow.pointer_count; i++) {
        const struct sonde_ptx_pointer *p = &k->flow.pointers[i];
        const uint64_t address = p->grain ? sonde__cuda_pointer_of(k, parameters, i) : 0;
        const struct sonde_cuda_target *t = p->grain ? sonde__cuda_coarse_add(&a->coarse, address, 0, p->grain, elsewhere) : NULL;
        if (t && !elsewhere) /* it may write that object through a pointer that it read, too */
            tell_line(a, k->ptx, p, t->object);
    }
    if (elsewhere)
        a->missed |= 1ull << SONDE_VALUE_MISSED_POINTERS;
}

/* Where the copy marks what is written. */
static void fill_sets(struct sonde_cuda_around *a, const struct sonde_cuda_kernel *k, void *const *parameters)
{
    memset(a->sets, 0, k->flow.sets * sizeof *a->sets);
    for (uint32_t i = 0; i < k->flow.pointer_count; i++) {
        const struct sonde_ptx_pointer *p = &k->flow.pointers[i];
        const uint64_t address = p->grain ? sonde__cuda_pointer_of(k, parameters, i) : 0;
        for (uint32_t t = 0; address && t < a->coarse.targets; t++) {
            const struct sonde_cuda_target *target = &a->coarse.target[t];
            if (target->marks && address - target->address < target->bytes)
                a->sets[p->set] = (struct sonde_plan_set){target->address, target->bytes, target->marks};
        }
    }
}

void **sonde__cuda_parameters(const struct sonde_cuda_kernel *k, void **extra, void **list)
{
    char *buffer = NULL;
    for (void **e = extra; e && *e != CU_LAUNCH_PARAM_END; e += 2)
        if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = e[1];
    if (!buffer || !k->parameters)
        return NULL;
    for (uint32_t i = 0; i < k->parameters; i++)
        list[i] = buffer + k->parameter[i].offset;
    return list;
}

static void take_parameters(struct sonde_cuda_around *a, const struct sonde_cuda_kernel *k, const struct sonde_cuda_launch *l)
{
    void **list = *l->parameters || !l->extra ? NULL : sonde__cuda_parameters(k, *l->extra, a->parameters);
    if (!list)
        return;
    *l->parameters = list;
    *l->extra = NULL;
}

/* Can a copy run, if it fits? */
static enum sonde_value_missed check(struct sonde_cuda_around *a, struct sonde_cuda_kernel *k, const struct sonde_cuda_launch *l, const struct sonde_cuda_place *place)
{
    if (k->why)
        return k->why;
    if (!*l->parameters && k->flow.parameters)
        return SONDE_VALUE_MISSED_BUFFER;
    if (l->clusters || attribute(*l->function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH))
        return SONDE_VALUE_MISSED_CLUSTER; /* more registers may leave no room for a whole one, and then the launch would fail */
    a->variables = k->flow.variables.count ? sonde__cuda_variables(k, place->uid) : NULL;
    return k->flow.variables.count && !a->variables ? SONDE_VALUE_MISSED_VARIABLE : SONDE_VALUE_MISSED_NONE;
}

/* The copy that guesses, unless it does not fit or need not; and its area. */
static enum sonde_value_missed choose_fine(struct sonde_cuda_around *a, struct sonde_cuda_kernel *k, const struct sonde_cuda_launch *l, struct sonde_cuda_place *place)
{
    struct sonde_cuda_area *area = NULL;
    uint32_t sites[SONDE_PTX_POINTERS_MAX];
    bool fitted = false;
    for (uint32_t i = 0; i < k->flow.pointer_count; i++) {
        const uint64_t address = sonde__cuda_pointer_of(k, *l->parameters, i);
        a->objects[i] = address ? sonde_object_at(address) : 0;
    }
    sonde_value_sites(a->objects, k->flow.pointer_count, sites);
    for (int guesses = 1; guesses >= 0 && (!area || sonde__cuda_area_passes(area)); guesses--) {
        CUkernel twin = sonde__cuda_twin(k, guesses);
        const bool fit = fits(twin, l);
        struct sonde_cuda_area *other = fit ? sonde__cuda_area(k, a->operation, sites, place, guesses) : NULL;
        fitted |= fit;
        a->twin = other ? twin : a->twin;
        area = other ? other : area;
    }
    if (!area)
        return fitted ? SONDE_VALUE_MISSED_MEMORY : SONDE_VALUE_MISSED_REGISTERS;
    sonde_value_looked_at(a->objects, k->flow.pointer_count);
    a->area = sonde__cuda_area_launch(area);
    return SONDE_VALUE_MISSED_NONE;
}

static enum sonde_value_missed choose(struct sonde_cuda_around *a, struct sonde_cuda_kernel *k, const struct sonde_cuda_launch *l, struct sonde_cuda_place *place)
{
    const enum sonde_value_missed why = check(a, k, l, place);
    if (why || sonde__cuda_twins.fine)
        return why ? why : choose_fine(a, k, l, place);
    a->twin = sonde__cuda_twin(k, false);
    return fits(a->twin, l) ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_REGISTERS;
}

static void swap(struct sonde_cuda_around *a, const struct sonde_cuda_kernel *k, const struct sonde_cuda_launch *l)
{
    uint32_t count = k->flow.parameters;
    copy_leave(a->twin, l);
    memmove(a->parameters, *l->parameters, count * sizeof *a->parameters); /* they may be there */
    if (sonde__cuda_twins.fine || sonde__cuda_twins.remote)
        a->parameters[count++] = &a->area;
    if (sonde__cuda_twins.coarse && k->flow.sets)
        a->parameters[count++] = a->sets;
    if (sonde__ptx_takes_table(k->function, &k->flow, sonde__cuda_twins.plan))
        a->parameters[count++] = &a->reach.table;
    if (k->flow.variables.count)
        a->parameters[count++] = a->variables;
    *l->parameters = a->parameters;
    *l->function = (CUfunction)a->twin;
}

static void before_launch(struct sonde_cuda_around *a, const struct sonde_cuda_launch *l, struct sonde_cuda_kernel *k, struct sonde_cuda_place *place, bool own_default)
{
    const bool coarse = sonde__cuda_twins.coarse;
    const enum sonde_value_missed why = choose(a, k, l, place);
    a->engine = why ? SONDE_ENGINE_NONE : SONDE_ENGINE_PTX;
    const bool reads_only = !why && !sonde__cuda_twins.fine && !k->flow.sets && !k->flow.writes_unknown;
    if (reads_only)
        return;
    if (why && sonde__cuda_twins.fine)
        a->missed |= 1ull << why;
    if (coarse) {
        a->compares = true;
        sonde__cuda_coarse_begin(&a->coarse, place, l->stream, own_default, &a->missed);
        if (why)
            sonde__cuda_each_word(k, *l->parameters, may_write, a);
        else
            add_written(a, k, *l->parameters);
        sonde__cuda_coarse_copy(&a->coarse);
        if (!why)
            fill_sets(a, k, *l->parameters);
    }
    if (!why)
        swap(a, k, l);
    if (!why && sonde__cuda_twins.fine && sonde_values_every() > 1)
        sonde_value_blocks(a->operation, l->blocks, sonde__plan_looked_at(l->blocks, sonde_values_every()));
}

/* ---- accesses to other memory (--comm) ----------------------------------------------------------- */

/* The copy that counts, and its area; none: the launch has no such accesses. */
static enum sonde_value_missed choose_remote(struct sonde_cuda_around *a, struct sonde_cuda_kernel *k, const struct sonde_cuda_launch *l, struct sonde_cuda_place *place)
{
    const enum sonde_value_missed many = sonde__cuda_remote_reach(&a->reach, place);
    enum sonde_value_missed why = check(a, k, l, place);
    a->twin = NULL;
    if (why || many) /* nothing is missed where there is no other memory */
        return a->reach.table.bytes || many ? (why ? why : many) : SONDE_VALUE_MISSED_NONE;
    sonde__cuda_remote_point(&a->reach, k, *l->parameters, place);
    if (!sonde__cuda_remote_needs(&a->reach, k))
        return SONDE_VALUE_MISSED_NONE;
    if (!sonde__cuda_remote_fits(k))
        return SONDE_VALUE_MISSED_ARGUMENTS;
    why = sonde__cuda_swaps(place);
    CUkernel twin = why ? NULL : sonde__cuda_twin(k, false);
    if (why || !twin)
        return why ? why : SONDE_VALUE_MISSED_COMPILE;
    if (!fits(twin, l))
        return SONDE_VALUE_MISSED_REGISTERS;
    struct sonde_cuda_remote_area *area = sonde__cuda_remote_area(k, a->operation, a->group, &a->reach, place);
    if (!area)
        return SONDE_VALUE_MISSED_MEMORY;
    a->twin = twin;
    a->area = sonde__cuda_remote_launch(area);
    return SONDE_VALUE_MISSED_NONE;
}

static void before_remote(struct sonde_cuda_around *a, struct sonde_cuda_kernel *k, const struct sonde_cuda_launch *l, const CUpti_CallbackData *cd, bool captured)
{
    struct sonde_cuda_place *place = sonde__cuda_place(cd->context, cd->contextUid);
    const enum sonde_value_missed left_out = sonde_value_choose(a->operation, k->name, l->blocks << 16 ^ l->threads);
    enum sonde_value_missed why = left_out ? left_out : (place ? SONDE_VALUE_MISSED_NONE : SONDE_VALUE_MISSED_MEMORY);
    a->group = why ? 0 : sonde_remote_group(a->operation);
    if (!why && (captured || !l->parameters)) {
        const enum sonde_value_missed many = sonde__cuda_remote_reach(&a->reach, place);
        why = a->reach.table.bytes || many ? (captured ? SONDE_VALUE_MISSED_GRAPH : SONDE_VALUE_MISSED_LAUNCH) : SONDE_VALUE_MISSED_NONE;
    } else if (!why) {
        why = choose_remote(a, k, l, place);
        if (!why && a->twin)
            swap(a, k, l);
    }
    a->engine = why ? SONDE_ENGINE_NONE : SONDE_ENGINE_PTX;
    a->missed |= why ? 1ull << why : 0;
}

/* ---- around any operation -------------------------------------------------------------------------- */

static struct sonde_cuda_around *around_get(void)
{
    sonde__lock(&arounds.lock);
    struct sonde_cuda_around *a = arounds.spare;
    if (a)
        arounds.spare = a->next;
    sonde__unlock(&arounds.lock);
    a = a ? a : sonde__memory_get(sizeof *a);
    if (a) {
        a->operation = a->group = 0;
        a->missed = 0;
        a->count = 1;
        a->writes = a->compares = false;
        a->flows = 0;
        a->engine = SONDE_ENGINE_NONE;
    }
    return a;
}

static void around_put(struct sonde_cuda_around *a)
{
    sonde__lock(&arounds.lock);
    a->next = arounds.spare;
    arounds.spare = a;
    sonde__unlock(&arounds.lock);
}

static void before_kernel(struct sonde_cuda_around *a, uint32_t id, const CUpti_CallbackData *cd, bool own_default, const struct sonde_call *call)
{
    const struct sonde_cuda_launch l = sonde__cuda_launch(id, (void *)(uintptr_t)cd->functionParams);
    struct sonde_cuda_kernel *k = l.function ? sonde__cuda_kernel(*l.function) : NULL;
    if (!k)
        return;
    a->operation = sonde_call_operation(call, SONDE_OP_KERNEL, k->name);
    a->writes = true;
    if (l.parameters)
        take_parameters(a, k, &l);
    const bool captured = sonde__cuda_captures(l.stream, own_default);
    if (sonde__cuda_twins.remote) {
        before_remote(a, k, &l, cd, captured);
        return;
    }
    if (sonde__cuda_twins.coarse && !l.parameters) {
        sonde__cuda_coarse_wrote(0, 0);
    } else if (sonde__cuda_twins.coarse && !captured) {
        add_kernel_flow(a, k, &l);
        note_writes(a, sonde__cuda_coarse_stream(l.stream, own_default, cd->contextUid));
    }
    const enum sonde_value_missed left_out = sonde_value_choose(a->operation, k->name, l.blocks << 16 ^ l.threads);
    if (left_out) {
        a->missed |= 1ull << left_out;
        return;
    }
    if (captured || !l.parameters) {
        a->missed |= 1ull << (captured ? SONDE_VALUE_MISSED_GRAPH : SONDE_VALUE_MISSED_LAUNCH);
        return;
    }
    if (!k->why && !k->function->accesses) { /* there is nothing to see, and nothing that it writes */
        a->engine = SONDE_ENGINE_PTX;
        return;
    }
    struct sonde_cuda_place *place = sonde__cuda_place(cd->context, cd->contextUid);
    const enum sonde_value_missed why = place ? sonde__cuda_swaps(place) : SONDE_VALUE_MISSED_MEMORY;
    if (why)
        a->missed |= 1ull << why;
    else
        before_launch(a, &l, k, place, own_default);
}

/* One kernel, on several devices. */
static void before_many(struct sonde_cuda_around *a, const CUpti_CallbackData *cd, const struct sonde_call *call)
{
    const cuLaunchCooperativeKernelMultiDevice_params *p = cd->functionParams;
    const struct sonde_cuda_kernel *k = p->launchParamsList && p->numDevices ? sonde__cuda_kernel(p->launchParamsList->function) : NULL;
    if (!k)
        return;
    a->operation = sonde_call_operation(call, SONDE_OP_KERNEL, k->name);
    a->count = p->numDevices;
    a->writes = true;
    const enum sonde_value_missed left_out = sonde_value_choose(a->operation, k->name, 0);
    a->missed = 1ull << (left_out ? left_out : SONDE_VALUE_MISSED_LAUNCH);
}

static void before_copy(struct sonde_cuda_around *a, uint32_t id, const CUpti_CallbackData *cd, bool own_default, const struct sonde_call *call)
{
    const struct sonde_cuda_moved m = sonde__cuda_moved(id, cd->functionParams);
    a->operation = sonde_call_operation(call, m.kind, 0);
    a->writes = m.writes;
    const bool captured = sonde__cuda_captures(m.stream, own_default);
    if (!captured && m.bytes) {
        add_flow(a, m.from, m.bytes, SONDE_FLOW_READ);
        add_flow(a, m.to, m.bytes, SONDE_FLOW_WRITE);
        note_writes(a, sonde__cuda_coarse_stream(m.stream, own_default, cd->contextUid));
    }
    if (!m.writes)
        return;
    const enum sonde_value_missed why = captured ? SONDE_VALUE_MISSED_GRAPH : m.missed;
    struct sonde_cuda_place *place = why ? NULL : sonde__cuda_place(cd->context, cd->contextUid);
    if (!place) {
        a->missed |= 1ull << (why ? why : SONDE_VALUE_MISSED_MEMORY);
        return;
    }
    a->compares = true;
    sonde__cuda_coarse_begin(&a->coarse, place, m.stream, own_default, &a->missed);
    sonde__cuda_coarse_boxes(&a->coarse, &m.box);
    sonde__cuda_coarse_copy(&a->coarse);
}

/* As a launch that is captured: its graph is compared, but not what this kernel does. */
static void before_node(struct sonde_cuda_around *a, uint32_t id, const CUpti_CallbackData *cd, const struct sonde_call *call)
{
    const CUfunction f = sonde__cuda_node_kernel(id, cd->functionParams);
    const struct sonde_cuda_kernel *k = f ? sonde__cuda_kernel(f) : NULL;
    if (!k)
        return;
    a->operation = sonde_call_operation(call, SONDE_OP_KERNEL, k->name);
    a->writes = true;
    a->missed = 1ull << SONDE_VALUE_MISSED_GRAPH;
}

static void compare_graph(struct sonde_cuda_around *a, struct sonde_cuda_place *place, CUstream stream, bool own_default, const struct sonde_cuda_exec_writes *w)
{
    a->compares = true;
    sonde__cuda_coarse_begin(&a->coarse, place, stream, own_default, &a->missed);
    for (uint32_t i = 0; i < w->count; i++) {
        const struct sonde_cuda_exec_object *o = &w->object[i];
        struct sonde_cuda_target *t =
            o->boxes ? sonde__cuda_coarse_boxes(&a->coarse, o->boxes) : sonde__cuda_coarse_add(&a->coarse, o->address, 0, 0, true);
        if (t)
            t->element_bytes = o->element_bytes;
    }
    sonde__cuda_coarse_copy(&a->coarse);
}

/* All its nodes are one operation. */
static void before_graph(struct sonde_cuda_around *a, const CUpti_CallbackData *cd, bool own_default, const struct sonde_call *call)
{
    const cuGraphLaunch_params *p = cd->functionParams;
    struct sonde_cuda_exec *exec;
    a->operation = sonde_call_operation(call, SONDE_OP_GRAPH, 0);
    a->writes = true;
    if (sonde__cuda_captures(p->hStream, own_default)) {
        a->missed |= 1ull << SONDE_VALUE_MISSED_GRAPH;
        return;
    }
    const struct sonde_cuda_exec_writes *w = sonde__cuda_exec_writes(p->hGraph, &exec);
    a->missed |= w ? w->missed : 1ull << SONDE_VALUE_MISSED_NODES;
    if (a->missed & 1ull << SONDE_VALUE_MISSED_NODES)
        sonde__cuda_coarse_wrote(0, 0);
    for (uint32_t i = 0; w && i < w->count; i++)
        sonde__cuda_coarse_wrote(w->object[i].object, sonde__cuda_coarse_stream(p->hStream, own_default, cd->contextUid));
    const enum sonde_value_missed left_out = w ? sonde_value_choose(a->operation, sonde_string(GRAPHS, sizeof GRAPHS - 1), w->number) : SONDE_VALUE_MISSED_NONE;
    struct sonde_cuda_place *place = w && !left_out ? sonde__cuda_place(cd->context, cd->contextUid) : NULL;
    if (left_out)
        a->missed |= 1ull << left_out;
    else if (w && !place)
        a->missed |= 1ull << SONDE_VALUE_MISSED_MEMORY;
    if (place)
        compare_graph(a, place, p->hStream, own_default, w);
    sonde__cuda_exec_put(exec);
}

struct sonde_cuda_around *sonde__cuda_values_before(uint32_t id, enum sonde_cuda_what what, const CUpti_CallbackData *cd, bool own_default,
                                                    const struct sonde_call *call)
{
    const bool kernel = what == SONDE_CUDA_LAUNCH, copy = what == SONDE_CUDA_COPY || what == SONDE_CUDA_COPY_MANY || what == SONDE_CUDA_SET;
    const bool graph = what == SONDE_CUDA_GRAPH, node = what == SONDE_CUDA_NODE, many = what == SONDE_CUDA_LAUNCH_MANY;
    struct sonde_cuda_around *a = kernel || many || node || ((copy || graph) && sonde__cuda_twins.coarse) ? around_get() : NULL;
    if (sonde__cuda_twins.coarse && (many || (graph && !a)))
        sonde__cuda_coarse_wrote(0, 0);
    if (!a)
        return NULL;
    sonde__cuda_quiet(true);
    if (kernel)
        before_kernel(a, id, cd, own_default, call);
    else if (many)
        before_many(a, cd, call);
    else if (graph)
        before_graph(a, cd, own_default, call);
    else if (node)
        before_node(a, id, cd, call);
    else
        before_copy(a, id, cd, own_default, call);
    sonde__cuda_quiet(false);
    if (a->operation)
        return a;
    around_put(a);
    return NULL;
}

void sonde__cuda_values_after(struct sonde_cuda_around *a, bool made)
{
    sonde__cuda_quiet(true);
    if (a->compares)
        sonde__cuda_coarse_end(&a->coarse, made ? a->operation : 0);
    if (made)
        tell_flow(a);
    for (uint32_t why = 0; made && a->writes && why < SONDE_VALUE_MISSED_COUNT; why++)
        for (uint32_t k = 0; k < a->count && (why ? a->missed >> why & 1 : !a->missed); k++)
            if (sonde__cuda_twins.remote)
                sonde_remote_missed(a->operation, (enum sonde_value_missed)why, a->engine, why ? 0 : a->group);
            else
                sonde_value_missed(a->operation, (enum sonde_value_missed)why, a->engine);
    sonde__cuda_quiet(false);
    around_put(a);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void read_place(struct sonde_cuda_place *place, bool last)
{
    sonde__cuda_duplicates_read(place, last);
    sonde__cuda_areas_read(place, last);
    sonde__cuda_coarse_read(place, last);
    sonde__cuda_remote_read(place, last);
}

void sonde__cuda_values_read(bool last)
{
    if (sonde__cuda_twins.on)
        sonde__cuda_places(0, read_place, last);
}

void sonde__cuda_values_context_gone(uint32_t uid)
{
    if (!sonde__cuda_twins.on)
        return;
    sonde__cuda_quiet(true);
    sonde__cuda_places(uid, read_place, true);
    sonde__cuda_place_gone(uid);
    sonde__cuda_quiet(false);
}
