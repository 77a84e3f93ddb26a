/* sanitizer.c - the Sanitizer's library in CUPTI's place. See sanitizer.h.
 *
 * Both libraries tell of a call with the same numbers and the same structures of parameters (generated_cuda_meta.h), so each callback
 * is handed on as CUPTI's would be, with a number of ours as its correlation id. What is asked of CUPTI beside that is answered
 * here: numbers of contexts and streams.
 *
 * The Sanitizer says within a call which launches, copies and sets it makes; so a call of which it says nothing was captured, or
 * had nothing to do. They are kept until the monitor collects them, and have no times.
 *
 * No call of the driver within the Sanitizer's callbacks, but for those of API calls, which stand outside of the driver as
 * CUPTI's do: what the driver must be asked is asked there.
 */
#include "sanitizer.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "guest/lock.h"

bool sonde__sanitizer_on;

#ifndef SONDE_SANITIZER

const char *sonde__sanitizer_attach(char *room, size_t size)
{
    (void)room, (void)size;
    return "this Sonde was built without the headers of the Compute Sanitizer API, which the engine sanitizer needs";
}
const char *sonde__sanitizer_values(char *room, size_t size)
{
    (void)room, (void)size;
    return NULL;
}
void sonde__sanitizer_collect(void)
{
}
bool sonde__sanitizer_reported(uint64_t key)
{
    (void)key;
    return true;
}

#else

#include <sanitizer_driver_cbid.h>

#define X(name, what) static_assert((int)CUPTI_DRIVER_TRACE_CBID_##name == (int)SANITIZER_CBID_DRIVER_API_##name, #name);
#define N(name, what, field) X(name, what)
SONDE_CUDA_CALL_MAP(X, N, X)
#undef X
#undef N
static_assert((int)CUPTI_API_ENTER == (int)SANITIZER_API_ENTER && (int)CUPTI_API_EXIT == (int)SANITIZER_API_EXIT, "sites");

#define FIRST_STREAM 7u /* as CUPTI numbers a program's first */

struct sonde_sanitizer sonde__sanitizer;

const char *sonde__sanitizer_text(SanitizerResult result)
{
    const char *text = NULL;
    return sonde__sanitizer.sanitizerGetResultString(result, &text) == SANITIZER_SUCCESS && text ? text : "unknown error";
}

bool sonde__sanitizer_did(const char *call, SanitizerResult result)
{
    if (result != SANITIZER_SUCCESS)
        sonde_note("Compute Sanitizer: %s: %s (%d)", call, sonde__sanitizer_text(result), (int)result);
    return result == SANITIZER_SUCCESS;
}

/* ---- the calling thread ------------------------------------------------------------------------ */

__thread struct sonde_sanitizer_thread *sonde__sanitizer_here;

static struct sonde_sanitizer_thread *here(void)
{
    return sonde__sanitizer_here;
}

static uint32_t id_here(void)
{
    return !here()->depth ? 0 : here()->id[(here()->depth < SONDE_SANITIZER_CALLS ? here()->depth : SONDE_SANITIZER_CALLS) - 1];
}

static void begin_call(void)
{
    static _Atomic uint32_t last;
    uint32_t id = atomic_fetch_add(&last, 1) + 1;
    if (!id) /* it went round */
        id = atomic_fetch_add(&last, 1) + 1;
    if (here()->depth < SONDE_SANITIZER_CALLS)
        here()->id[here()->depth] = id;
    here()->depth++;
}

bool sonde__sanitizer_reported(uint64_t key)
{
    return here()->reported && key == sonde__cuda_extend(here()->reported);
}

/* ---- contexts and streams: what CUPTI would be asked ------------------------------------------- */

static struct sonde_shared_map uids;     /* context -> uid */
static struct sonde_shared_map ordinals; /* uid -> device + 1 */
static struct sonde_shared_map streams;  /* of (uid, stream) -> number */

static uint32_t uid_of(CUcontext context)
{
    static struct sonde_lock lock;
    static uint32_t last;
    uint64_t uid = 0;
    if (!context || sonde__shared_map_get(&uids, (uintptr_t)context, &uid))
        return (uint32_t)uid;
    sonde__lock(&lock);
    if (!sonde__shared_map_get(&uids, (uintptr_t)context, &uid)) {
        uid = ++last;
        sonde__shared_map_put(&uids, (uintptr_t)context, uid);
    }
    sonde__unlock(&lock);
    return (uint32_t)uid;
}

static CUptiResult get_context_id(CUcontext context, uint32_t *uid)
{
    *uid = uid_of(context);
    return *uid ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

static CUptiResult get_device_id(CUcontext context, uint32_t *ordinal)
{
    uint64_t known = 0;
    const bool is_known = sonde__shared_map_get(&ordinals, uid_of(context), &known);
    *ordinal = (uint32_t)known - 1;
    return is_known ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

/* Each thread's own default stream has one handle. */
static uint64_t stream_key(uint32_t uid, CUstream stream, bool own)
{
    const bool each = (own && !stream) || stream == CU_STREAM_PER_THREAD;
    const uintptr_t handle = each ? (uintptr_t)&sonde__sanitizer_here : (stream == CU_STREAM_LEGACY ? 0 : (uintptr_t)stream);
    return (uint64_t)handle ^ (uint64_t)uid << 48 ^ 1ull << 63;
}

static uint32_t stream_number(uint32_t uid, CUstream stream, bool own)
{
    static struct sonde_lock lock;
    static uint32_t next = FIRST_STREAM;
    const uint64_t key = stream_key(uid, stream, own);
    uint64_t number = 0;
    if (sonde__shared_map_get(&streams, key, &number))
        return (uint32_t)number;
    sonde__lock(&lock);
    if (!sonde__shared_map_get(&streams, key, &number)) {
        number = next++;
        sonde__shared_map_put(&streams, key, number);
    }
    sonde__unlock(&lock);
    return (uint32_t)number;
}

static CUptiResult get_stream_id(CUcontext context, CUstream stream, uint8_t own, uint32_t *number)
{
    const uint32_t uid = uid_of(context);
    *number = uid ? stream_number(uid, stream, own) : 0;
    return uid ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

static uint32_t ordinal_of(CUcontext context)
{
    uint32_t ordinal = 0;
    return get_device_id(context, &ordinal) == CUPTI_SUCCESS ? ordinal : 0;
}

static uint32_t lane_of(CUcontext context, CUstream stream)
{
    const uint32_t uid = uid_of(context);
    return uid ? sonde__cuda_lane(ordinal_of(context), uid, stream_number(uid, stream, here()->own_default)) : 0;
}

/* ---- operations ----------------------------------------------------------------------------------- */

struct report {
    struct report *next;
    bool placed; /* a call is known */
    struct sonde_completion completion;
};

static struct {
    struct sonde_lock lock;
    struct report *first, **last, *spare;
} reports;

static void report(struct sonde_completion c)
{
    const uint32_t id = id_here();
    c.key = id ? sonde__cuda_extend(id) : 0;
    c.result = SONDE_POLL_NO_TIMES;
    here()->reported = id;
    sonde__lock(&reports.lock);
    struct report *r = reports.spare;
    if (r)
        reports.spare = r->next;
    else
        r = sonde__memory_get(sizeof *r);
    if (r) {
        *r = (struct report){.placed = id != 0, .completion = c};
        if (!reports.first)
            reports.last = &reports.first;
        *reports.last = r;
        reports.last = &r->next;
    }
    sonde__unlock(&reports.lock);
    if (!r)
        sonde_note("no memory to keep what Compute Sanitizer reports: some operations are missing");
}

void sonde__sanitizer_collect(void)
{
    sonde__lock(&reports.lock);
    struct report *all = reports.first;
    reports.first = NULL;
    sonde__unlock(&reports.lock);
    for (struct report *r = all, *next; r; r = next) {
        next = r->next;
        if (r->placed)
            sonde_complete(&r->completion);
        else
            sonde_unplaced(r->completion.kind == SONDE_OP_KERNEL ? "a kernel" : "copies or sets");
        sonde__lock(&reports.lock);
        r->next = reports.spare;
        reports.spare = r;
        sonde__unlock(&reports.lock);
    }
}

static uint32_t work_of(const Sanitizer_LaunchData *l)
{
    struct sonde_work w = {
        .global = {(uint64_t)l->gridDim_x * l->blockDim_x, (uint64_t)l->gridDim_y * l->blockDim_y, (uint64_t)l->gridDim_z * l->blockDim_z},
        .local = {l->blockDim_x, l->blockDim_y, l->blockDim_z},
        .cluster = {l->clusterDim_x, l->clusterDim_y, l->clusterDim_z},
    };
    if (l->clusterDim_x * l->clusterDim_y * l->clusterDim_z <= 1)
        memset(w.cluster, 0, sizeof w.cluster);
    w.dims = w.global[2] > 1 ? 3 : (w.global[1] > 1 ? 2 : 1);
    return sonde_work_intern(&w);
}

static void kernel(const Sanitizer_LaunchData *l)
{
    const char *name = l->functionName ? l->functionName : "";
    report((struct sonde_completion){.kind = SONDE_OP_KERNEL,
                                     .lane = lane_of(l->apiContext ? l->apiContext : l->context, l->apiContext ? l->apiStream : l->stream),
                                     .name = sonde_string(name, strlen(name)),
                                     .work = work_of(l)});
}

static uint32_t device_of(CUcontext context)
{
    const struct sonde_cuda_device *d = sonde__cuda_device(ordinal_of(context));
    return d ? d->id : 0;
}

static void copy(const Sanitizer_MemcpyData *m)
{
    struct sonde_work w = {0};
    enum sonde_op_kind kind = SONDE_OP_COPY;
    switch (m->direction) {
    case SANITIZER_MEMCPY_DIRECTION_HOST_TO_HOST:
        kind = SONDE_OP_HOST_COPY;
        break;
    case SANITIZER_MEMCPY_DIRECTION_HOST_TO_DEVICE:
        kind = SONDE_OP_WRITE;
        w.target = SONDE_MEMORY_DEVICE;
        break;
    case SANITIZER_MEMCPY_DIRECTION_DEVICE_TO_HOST:
        kind = SONDE_OP_READ;
        w.source = SONDE_MEMORY_DEVICE;
        break;
    default:
        w.source = w.target = SONDE_MEMORY_DEVICE;
        if (m->srcContext && m->dstContext && ordinal_of(m->srcContext) != ordinal_of(m->dstContext)) {
            kind = SONDE_OP_PEER_COPY;
            w.source_device = device_of(m->srcContext);
            w.target_device = device_of(m->dstContext);
        }
    }
    CUcontext context = m->apiContext ? m->apiContext : (m->srcContext ? m->srcContext : m->dstContext);
    report((struct sonde_completion){.kind = kind,
                                     .lane = lane_of(context, m->apiContext ? m->apiStream : m->srcStream),
                                     .work = sonde_work_intern(&w),
                                     .bytes = m->size ? m->size : m->width * m->height * m->depth});
}

static void set(const Sanitizer_MemsetData *m)
{
    const struct sonde_work w = {.target = SONDE_MEMORY_DEVICE};
    const uint64_t elements = m->width * (m->height ? m->height : 1);
    report((struct sonde_completion){.kind = SONDE_OP_FILL,
                                     .lane = lane_of(m->context, m->stream),
                                     .work = sonde_work_intern(&w),
                                     .bytes = here()->fill_bytes ? here()->fill_bytes : elements * m->elementSize});
}

static void node(const Sanitizer_GraphNodeLaunchData *n)
{
    if (n->nodeType == CU_GRAPH_NODE_TYPE_KERNEL)
        sonde__patches_node(&n->launchData, !n->isGraphUpload);
    if (n->isGraphUpload)
        return;
    if (n->nodeType == CU_GRAPH_NODE_TYPE_KERNEL)
        kernel(&n->launchData);
    else if (n->nodeType == CU_GRAPH_NODE_TYPE_MEMCPY)
        copy(&n->memcpyData);
    else if (n->nodeType == CU_GRAPH_NODE_TYPE_MEMSET)
        set(&n->memsetData);
}

/* ---- calls ------------------------------------------------------------------------------------------ */

/* What patches found in a context is read while its memory is still there. */
static bool ends_contexts(Sanitizer_CallbackId id)
{
    return id == CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2 || id == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2 ||
           id == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2;
}

static void enter(Sanitizer_CallbackId id, const CUpti_CallbackData *cd, enum sonde_cuda_what what, bool own_default)
{
    if (ends_contexts(id)) {
        sonde__cuda_quiet(true);
        sonde__patches_read(true);
        sonde__cuda_quiet(false);
    }
    if (cd->context) /* the driver is asked for the device now, not while it launches */
        sonde__cuda_context_used(cd->context, cd->contextUid);
    here()->own_default = own_default;
    here()->fill_bytes = what == SONDE_CUDA_SET ? sonde__cuda_moved(id, cd->functionParams).bytes : 0;
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, cd);
    const struct sonde_call *call = what == SONDE_CUDA_LAUNCH && cd->context ? sonde__cuda_call_here() : NULL;
    if (call)
        sonde__patches_before(id, cd, own_default, call);
    if (what == SONDE_CUDA_GRAPH && cd->context && sonde__cuda_call_here())
        sonde__patches_before_graph(cd, sonde__cuda_call_here());
}

static void leave(Sanitizer_CallbackId id, const CUpti_CallbackData *cd, enum sonde_cuda_what what)
{
    if (what == SONDE_CUDA_LAUNCH)
        sonde__patches_after(cd->functionReturnValue && *(const CUresult *)cd->functionReturnValue == CUDA_SUCCESS);
    else if (what == SONDE_CUDA_GRAPH)
        sonde__patches_after_graph();
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, id, cd);
}

static void call(Sanitizer_CallbackId id, const Sanitizer_CallbackData *d)
{
    bool own_default;
    const enum sonde_cuda_what what = sonde__cuda_what(id, &own_default);
    const bool enters = d->callbackSite == SANITIZER_API_ENTER;
    if (!enters && !here()->depth)
        return; /* subscribed while it was under way */
    if (enters)
        begin_call();
    const CUpti_CallbackData cd = {
        .callbackSite = (CUpti_ApiCallbackSite)d->callbackSite,
        .functionName = d->functionName,
        .functionParams = d->functionParams,
        .functionReturnValue = (void *)(uintptr_t)d->functionReturnValue,
        .symbolName = d->symbolName,
        .context = d->context,
        .contextUid = uid_of(d->context),
        .correlationId = id_here(),
    };
    if (enters) {
        enter(id, &cd, what, own_default);
        return;
    }
    leave(id, &cd, what);
    here()->depth--;
    here()->reported = 0;
}

static void resource_as_cupti(CUpti_CallbackId id, CUcontext context, CUstream stream, void *descriptor)
{
    const CUpti_ResourceData data = {.context = context, .resourceHandle.stream = stream, .resourceDescriptor = descriptor};
    sonde__cuda_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

/* Also within calls of ours: modules of the program are loaded when something is first asked of their kernels. */
static void module_loaded(const Sanitizer_ResourceModuleData *m)
{
    const CUpti_ModuleResourceData module = {.cubinSize = m->cubinSize, .pCubin = m->pCubin};
    sonde__cuda_module_loaded(&module);
    sonde__patches_module_loaded(m);
}

static void resource(Sanitizer_CallbackId id, const void *data)
{
    const Sanitizer_ResourceContextData *c = data;
    const Sanitizer_ResourceStreamData *s = data;
    switch (id) {
    case SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED:
        sonde__shared_map_put(&ordinals, uid_of(c->context), (uint64_t)c->device + 1);
        resource_as_cupti(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, c->context, NULL, NULL);
        break;
    case SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        resource_as_cupti(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, c->context, NULL, NULL);
        sonde__cuda_place_gone(uid_of(c->context));
        sonde__shared_map_take(&uids, (uintptr_t)c->context, NULL); /* its handle may come again */
        break;
    case SANITIZER_CBID_RESOURCE_STREAM_CREATED:
        resource_as_cupti(CUPTI_CBID_RESOURCE_STREAM_CREATED, s->context, s->stream, NULL);
        break;
    case SANITIZER_CBID_RESOURCE_STREAM_DESTROY_STARTING:
        resource_as_cupti(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, s->context, s->stream, NULL);
        sonde__shared_map_take(&streams, stream_key(uid_of(s->context), s->stream, false), NULL);
        break;
    case SANITIZER_CBID_RESOURCE_MODULE_LOADED:
        module_loaded(data);
        break;
    case SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
        sonde__patches_module_unloading(data);
        break;
    default:
        break;
    }
}

static void launch(Sanitizer_CallbackId id, const Sanitizer_LaunchData *l)
{
    if (id != SANITIZER_CBID_LAUNCH_BEGIN)
        return;
    sonde__patches_launch(l);
    kernel(l);
}

/* What our own calls do is not the program's, but for its modules, of which we load none. */
static bool is_ours(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id)
{
    const bool of_modules = domain == SANITIZER_CB_DOMAIN_RESOURCE &&
                            (id == SANITIZER_CBID_RESOURCE_MODULE_LOADED || id == SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
    return sonde__cuda_is_quiet() && (!of_modules || (here() && here()->patching));
}

static void SANITIZERAPI callback(void *user, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void *data)
{
    (void)user;
    if (!atomic_load_explicit(&sonde__cuda_on, memory_order_relaxed) || is_ours(domain, id) ||
        (!sonde__sanitizer_here && !(sonde__sanitizer_here = sonde__memory_get(sizeof *sonde__sanitizer_here))))
        return;
    if (domain == SANITIZER_CB_DOMAIN_DRIVER_API)
        call(id, data);
    else if (domain == SANITIZER_CB_DOMAIN_RESOURCE)
        resource(id, data);
    else if (domain == SANITIZER_CB_DOMAIN_LAUNCH)
        launch(id, data);
    else if (domain == SANITIZER_CB_DOMAIN_MEMCPY && id == SANITIZER_CBID_MEMCPY_STARTING)
        copy(data);
    else if (domain == SANITIZER_CB_DOMAIN_MEMSET && id == SANITIZER_CBID_MEMSET_STARTING)
        set(data);
    else if (domain == SANITIZER_CB_DOMAIN_GRAPHS && id == SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN)
        node(data);
}

/* ---- in CUPTI's place ------------------------------------------------------------------------------- */

static CUptiResult get_name(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    static const char *const names[] = {
#define X(call, what) [CUPTI_DRIVER_TRACE_CBID_##call] = #call,
#define N(call, what, field) [CUPTI_DRIVER_TRACE_CBID_##call] = #call,
        SONDE_CUDA_CALL_MAP(X, N, X)
#undef X
#undef N
    };
    *name = domain == CUPTI_CB_DOMAIN_DRIVER_API && id < sizeof names / sizeof *names ? names[id] : NULL;
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/* Its clock, its numbers of graphs' nodes and its records are not there; and nothing has to be switched on. */
static CUptiResult no_timestamp(uint64_t *ns)
{
    *ns = 0;
    return CUPTI_ERROR_NOT_SUPPORTED;
}
static CUptiResult no_node(CUgraphNode graph_node, uint64_t *id)
{
    (void)graph_node;
    *id = 0;
    return CUPTI_ERROR_NOT_SUPPORTED;
}
static CUptiResult nothing_to_switch(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}
static CUptiResult nothing_to_flush(uint32_t flags)
{
    (void)flags;
    return CUPTI_SUCCESS;
}

static void stand_in(void)
{
    sonde__cupti.version = CUPTI_API_VERSION;
    sonde__cupti.cuptiGetCallbackName = get_name;
    sonde__cupti.cuptiGetContextId = get_context_id;
    sonde__cupti.cuptiGetDeviceId = get_device_id;
    sonde__cupti.cuptiGetStreamIdEx = get_stream_id;
    sonde__cupti.cuptiGetGraphNodeId = no_node;
    sonde__cupti.cuptiGetTimestamp = no_timestamp;
    sonde__cupti.cuptiActivityEnable = nothing_to_switch;
    sonde__cupti.cuptiActivityDisable = nothing_to_switch;
    sonde__cupti.cuptiActivityFlushAll = nothing_to_flush;
}

static const char *bind(char *room, size_t size)
{
    void *library = sonde__sanitizer_open(sonde__cupti.path, sizeof sonde__cupti.path);
    if (!library)
        return "no libsanitizer-public.so found; install CUDA's Compute Sanitizer (pip install nvidia-cuda-sanitizer-api), or set "
               "SONDE_SANITIZER to its path";
#define X(name)                                                                         \
    if (!(*(void **)&sonde__sanitizer.name = dlsym(library, #name))) {                  \
        snprintf(room, size, "%s has no " #name, sonde__cupti.path);                    \
        return room;                                                                    \
    }
    SONDE_SANITIZER_MAP(X)
#undef X
    return NULL;
}

static SanitizerResult subscribe(void)
{
    static const uint16_t calls[] = {
#define X(name, what) SANITIZER_CBID_DRIVER_API_##name,
#define N(name, what, field) SANITIZER_CBID_DRIVER_API_##name,
        SONDE_CUDA_CALL_MAP(X, N, X)
#undef X
#undef N
    };
    static const Sanitizer_CallbackDomain domains[] = {SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CB_DOMAIN_MEMCPY,
                                                       SANITIZER_CB_DOMAIN_MEMSET, SANITIZER_CB_DOMAIN_GRAPHS};
    Sanitizer_SubscriberHandle subscriber;
    SanitizerResult result = sonde__sanitizer.sanitizerSubscribe(&subscriber, callback, NULL);
    for (size_t i = 0; i < sizeof domains / sizeof *domains && result == SANITIZER_SUCCESS; i++)
        result = sonde__sanitizer.sanitizerEnableDomain(1, subscriber, domains[i]);
    /* What an older driver does not know is refused; that cannot be made either. */
    for (size_t i = 0; i < sizeof calls / sizeof *calls && result == SANITIZER_SUCCESS; i++)
        sonde__sanitizer.sanitizerEnableCallback(1, subscriber, SANITIZER_CB_DOMAIN_DRIVER_API, calls[i]);
    return result;
}

const char *sonde__sanitizer_attach(char *room, size_t size)
{
    const char *why = sonde__cudrv_open();
    if (!why)
        why = bind(room, size);
    if (why)
        return why;
    stand_in();
    sonde__sanitizer_on = true;
    const SanitizerResult result = subscribe();
    if (result != SANITIZER_SUCCESS) {
        snprintf(room, size, "Compute Sanitizer cannot be used: %s (%d); only one tool at a time can use it, CUPTI among them", sonde__sanitizer_text(result),
                 (int)result);
        return room;
    }
    return NULL;
}

const char *sonde__sanitizer_values(char *room, size_t size)
{
    return sonde__patches_begin(room, size);
}
#endif
