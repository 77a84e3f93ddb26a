/* hooks.c - what CUPTI calls before and after each call that is followed.
 *
 * A call may contain others: the runtime's the driver's (with all calls
 * recorded), and some driver calls enter the driver again. The outermost is the
 * API call that is recorded; what any of them puts on the device belongs to it.
 * Work is submitted when the outermost call has returned, by the correlation id
 * of the driver call that made it.
 *
 * A call on a stream that is being captured makes a node of a graph and no
 * work. CUPTI says so while the call runs (graphs.c), or, of events, the driver
 * when asked (captures.c), so it submits nothing.
 *
 * What waits for what: docs/waits.md.
 */
#include "sanitizer.h"

#include <string.h>

#define MADE_MAX 4
#define IDS      1024u /* driver call numbers */
#define PROOF    256u  /* first keys, kept to prove that records name them */

/* An operation that a call made: work, of which records will come, or what the call itself is, on a lane. */
struct made {
    union {
        uint64_t key;     /* work: its records name it */
        CUevent event;    /* the call recorded it */
        uint64_t awaited; /* the call waits for this operation; 0: for none that is known */
    };
    union {
        uint32_t object;  /* work: the data object, of a copy between two the one that it reads; 0 none */
        uint32_t device;  /* the call waits for it, 0 for none */
    };
    uint32_t lane;        /* of what the call itself is; 0: work */
    uint16_t kind;
    uint8_t flags, what;  /* SONDE_SUBMIT_*; enum sonde_cuda_what of what the call itself is */
    bool waits;           /* the call returned when the work was done */
};

/* Small: it lies in the static thread-local block, of which there is little to spare. What a launch needs comes first. */
static __thread struct {
    uint32_t depth, quiet;
    uint32_t stream_made; /* its number plus one */
    uint8_t count;
    bool begun, captured;
    struct sonde_cuda_nodes nodes;
    struct sonde_call call;
    struct made made[MADE_MAX];
    uint64_t awaited;     /* what was recorded in the event when the call began to wait for it */
    struct sonde_cuda_around *around; /* --values */
    uint32_t around_depth;
} here;

struct follow {
    uint8_t what;      /* enum sonde_cuda_what */
    bool own_default;  /* stream 0 is each thread's own */
    bool rectangle;    /* pCopy says whether there is something to do */
    uint16_t field;    /* offset of a size_t that is 0 when there is nothing to do; 0xffff none */
};

/* _ptsz, _ptds: built with a default stream of its own for each thread. */
#define OWN(name) (#name[sizeof #name - 6] == '_' && #name[sizeof #name - 5] == 'p' && #name[sizeof #name - 4] == 't')
static const struct follow table[IDS] = {
#define X(name, kind) \
    [CUPTI_DRIVER_TRACE_CBID_##name] = {SONDE_CUDA_##kind, OWN(name), false, 0xffff},
#define N(name, kind, size) \
    [CUPTI_DRIVER_TRACE_CBID_##name] = {SONDE_CUDA_##kind, OWN(name), false, offsetof(name##_params, size)},
#define C(name, kind) \
    [CUPTI_DRIVER_TRACE_CBID_##name] = {SONDE_CUDA_##kind, OWN(name), true, 0xffff},
    SONDE_CUDA_CALL_MAP(X, N, C)
        SONDE_CUDA_VALUES_CALL_MAP(X)
#undef X
#undef N
#undef C
};

void sonde__cuda_quiet(bool on)
{
    here.quiet = on ? here.quiet + 1 : here.quiet - 1;
}

uint32_t sonde__cuda_context_here(void)
{
    return here.begun ? sonde_call_context(&here.call) : 0;
}

const struct sonde_call *sonde__cuda_call_here(void)
{
    return here.begun ? &here.call : NULL;
}

bool sonde__cuda_is_quiet(void)
{
    return here.quiet != 0;
}

enum sonde_cuda_what sonde__cuda_what(CUpti_CallbackId id, bool *own_default)
{
    *own_default = id < IDS && table[id].own_default;
    return id < IDS ? (enum sonde_cuda_what)table[id].what : SONDE_CUDA_NOTHING;
}

struct sonde_cuda_nodes *sonde__cuda_nodes_here(void)
{
    return here.depth ? &here.nodes : NULL;
}

void sonde__cuda_captured(void)
{
    here.captured = true;
}

/* ---- proof that records name these keys ------------------------------------------- */

static _Atomic uint64_t proof[PROOF];
SONDE__HOT_DATA static _Atomic uint32_t proofs;
SONDE__HOT_DATA static _Atomic bool outermost_names; /* records carry the outermost call's id instead */

static void prove(uint64_t key)
{
    if (__builtin_expect(atomic_load_explicit(&proofs, memory_order_relaxed) >= PROOF, 1))
        return;
    const uint32_t place = atomic_fetch_add(&proofs, 1);
    if (place < PROOF)
        atomic_store(&proof[place], key);
}

void sonde__cuda_outermost_names(void)
{
    atomic_store(&outermost_names, true);
}

bool sonde__cuda_any_key(void)
{
    return atomic_load(&proofs) != 0;
}

bool sonde__cuda_key_known(uint64_t key, bool *full)
{
    const uint32_t count = atomic_load(&proofs);
    *full = count >= PROOF;
    for (uint32_t i = 0; i < count && i < PROOF; i++)
        if (atomic_load(&proof[i]) == key)
            return true;
    return false;
}

/* ---- errors that stay ---------------------------------------------------------------- */

static _Atomic bool broken;

bool sonde__cuda_broken(void)
{
    return atomic_load_explicit(&broken, memory_order_relaxed);
}

static void look_at_error(CUresult error)
{
    if (error == CUDA_ERROR_ILLEGAL_ADDRESS || error == CUDA_ERROR_LAUNCH_TIMEOUT || error == CUDA_ERROR_ECC_UNCORRECTABLE ||
        (error >= CUDA_ERROR_ASSERT && error <= CUDA_ERROR_LAUNCH_FAILED && error != CUDA_ERROR_TOO_MANY_PEERS &&
         error != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED && error != CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED))
        atomic_store_explicit(&broken, true, memory_order_relaxed);
}

/* Code, at any time until now: names of kernels may be wrong (names.c). */
static bool was_unloaded(void)
{
    return __builtin_expect(atomic_load_explicit(&sonde__cuda_unloadings, memory_order_relaxed) != 0, 0);
}

/* ---- what a call made ---------------------------------------------------------------- */

__attribute__((hot)) static struct made *add_work(uint64_t key, enum sonde_op_kind kind, unsigned flags)
{
    if (here.count == MADE_MAX) /* further ones: one key for each is more than is known of any call */
        return NULL;
    if (__builtin_expect(sonde__sanitizer_on, 0) && !sonde__sanitizer_reported(key))
        return NULL;
    here.made[here.count] = (struct made){.key = key, .kind = (uint16_t)kind, .flags = (uint8_t)flags};
    prove(key);
    return &here.made[here.count++];
}

static bool nothing_to_do(const struct follow *f, const void *params)
{
    if (f->rectangle) {
        const CUDA_MEMCPY2D *copy = ((const cuMemcpy2D_v2_params *)params)->pCopy;
        return !copy || !copy->WidthInBytes || !copy->Height;
    }
    return f->field != 0xffff && *(const size_t *)((const char *)params + f->field) == 0;
}

/* Of calls that wait for, record, or capture on a stream. */
static CUstream stream_of(const struct follow *f, const void *params)
{
    switch (f->what) {
    case SONDE_CUDA_RECORD:
        return ((const cuEventRecord_params *)params)->hStream;
    case SONDE_CUDA_SYNC_CONTEXT:
    case SONDE_CUDA_SYNC_EVENT:
        return NULL;
    default: /* it comes first */
        return ((const cuStreamSynchronize_params *)params)->hStream;
    }
}

/* The current one, unless the call names another. */
static uint32_t context_waited_for(const CUpti_CallbackData *cd, CUpti_CallbackId id)
{
    uint32_t uid = cd->contextUid;
    const cuCtxSynchronize_v2_params *p = id == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2 ? cd->functionParams : NULL;
    if (p && p->ctx && p->ctx != cd->context && sonde__cupti.cuptiGetContextId(p->ctx, &uid) != CUPTI_SUCCESS)
        return 0;
    return uid;
}

/* Waits, and events recorded and waited for: what the call itself is, on a lane. */
static void add_itself(const struct follow *f, const CUpti_CallbackData *cd, CUpti_CallbackId id)
{
    static const enum sonde_op_kind kinds[] = {
        [SONDE_CUDA_SYNC_STREAM] = SONDE_OP_SYNCHRONIZE,
        [SONDE_CUDA_SYNC_CONTEXT] = SONDE_OP_SYNCHRONIZE,
        [SONDE_CUDA_SYNC_EVENT] = SONDE_OP_SYNCHRONIZE,
        [SONDE_CUDA_RECORD] = SONDE_OP_EVENT_RECORD,
        [SONDE_CUDA_WAIT] = SONDE_OP_EVENT_WAIT,
    };
    const uint32_t lane = sonde__cuda_lane_of(cd->context, cd->contextUid, stream_of(f, cd->functionParams), f->own_default);
    const CUevent event = f->what == SONDE_CUDA_RECORD ? ((const cuEventRecord_params *)cd->functionParams)->hEvent : NULL;
    if (!lane || here.count == MADE_MAX) {
        if (event)
            sonde__cuda_event_record(event, 0);
        return;
    }
    struct made m = {.kind = (uint16_t)kinds[f->what], .lane = lane, .what = f->what, .awaited = here.awaited};
    if (f->what == SONDE_CUDA_RECORD)
        m.event = event;
    else if (f->what == SONDE_CUDA_SYNC_CONTEXT)
        m.device = sonde__cuda_context_device(context_waited_for(cd, id));
    here.made[here.count++] = m;
}

/* Between devices without peer access the driver copies by way of the host: there is a record of each half. */
static bool is_between_devices(const struct sonde_cuda_copied *c)
{
    struct sonde_object_info from, to;
    return c->objects[0] && c->objects[1] && sonde__cuda_several_devices() && sonde_object_find(c->objects[0], &from) && sonde_object_find(c->objects[1], &to) &&
           from.device != to.device;
}

static void add_copy(const struct follow *f, const CUpti_CallbackData *cd, CUpti_CallbackId id, enum sonde_op_kind kind,
                     unsigned flags)
{
    if (nothing_to_do(f, cd->functionParams))
        return;
    const struct sonde_cuda_copied c = sonde__cuda_copied(id, cd->functionParams);
    if (kind == SONDE_OP_COPY && !flags && is_between_devices(&c))
        flags = SONDE_SUBMIT_MANY;
    struct made *m = add_work(sonde__cuda_extend(cd->correlationId), kind, flags);
    if (!m)
        return;
    m->waits = c.waits;
    m->object = c.objects[1] ? c.objects[1] : c.objects[0];
    if (m->object != c.objects[0])
        sonde_call_uses(&here.call, &c.objects[0], 1);
}

/* The runtime's calls and the driver's share no parameters: `f` is a driver call's. */
__attribute__((hot)) static void after_success(const struct follow *f, const CUpti_CallbackData *cd, CUpti_CallbackId id)
{
    const uint64_t key = sonde__cuda_extend(cd->correlationId);
    if (cd->context)
        sonde__cuda_context_used(cd->context, cd->contextUid);
    if (f->what == SONDE_CUDA_LAUNCH) { /* most often, and without the table of a switch, which is cold */
        add_work(key, SONDE_OP_KERNEL, 0);
        return;
    }
    switch (f->what) {
    case SONDE_CUDA_LAUNCH_MANY:
        if (was_unloaded())
            sonde_note("code was unloaded: kernels that were launched on several devices at once may have names of what was unloaded");
        add_work(key, SONDE_OP_KERNEL, SONDE_SUBMIT_MANY);
        break;
    case SONDE_CUDA_COPY:
        add_copy(f, cd, id, SONDE_OP_COPY, 0);
        break;
    case SONDE_CUDA_COPY_MANY:
        add_copy(f, cd, id, SONDE_OP_COPY, SONDE_SUBMIT_MANY);
        break;
    case SONDE_CUDA_SET:
        add_copy(f, cd, id, SONDE_OP_FILL, 0);
        break;
    case SONDE_CUDA_GRAPH:
        sonde__cuda_graph_launched(((const cuGraphLaunch_params *)cd->functionParams)->hGraph, key, here.call.enter_ns);
        add_work(key, SONDE_OP_GRAPH, SONDE_SUBMIT_MANY);
        break;
    case SONDE_CUDA_SYNC_STREAM:
    case SONDE_CUDA_SYNC_CONTEXT:
    case SONDE_CUDA_SYNC_EVENT:
    case SONDE_CUDA_RECORD:
    case SONDE_CUDA_WAIT:
        add_itself(f, cd, id);
        break;
    case SONDE_CUDA_ALLOC:
        sonde__cuda_allocated(id, cd->functionParams, &here.call, cd->contextUid);
        break;
    default:
        break;
    }
}

/* ---- entry and exit ----------------------------------------------------------------------- */

static const struct follow *follow(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    static const struct follow nothing = {.field = 0xffff};
    return domain == CUPTI_CB_DOMAIN_DRIVER_API && id < IDS ? &table[id] : &nothing;
}

/* Does the stream that the call made not wait for the legacy default stream? */
static bool is_apart(CUpti_CallbackId id, const void *params)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreate:
        return ((const cuStreamCreate_params *)params)->Flags & CU_STREAM_NON_BLOCKING;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority:
        return ((const cuStreamCreateWithPriority_params *)params)->flags & CU_STREAM_NON_BLOCKING;
    default: /* of a green context: always */
        return true;
    }
}

/* Streams, captures and events are followed while nothing is recorded, too. True: what the call asked for is captured. */
static bool follow_streams(const struct follow *f, const CUpti_CallbackData *cd, CUpti_CallbackId id, CUresult result)
{
    const void *p = cd->functionParams;
    bool captured = here.captured;
    if (f->what == SONDE_CUDA_CAPTURE_END)
        sonde__cuda_capture_ended(stream_of(f, p), f->own_default);
    if (result != CUDA_SUCCESS)
        return captured;
    if (f->what == SONDE_CUDA_CAPTURE_BEGIN)
        sonde__cuda_capture_begun(cd->contextUid, stream_of(f, p), f->own_default);
    else if (f->what == SONDE_CUDA_STREAM_MADE && here.stream_made && is_apart(id, p))
        sonde__cuda_stream_does_not_block(cd->contextUid, here.stream_made - 1);
    else if (f->what == SONDE_CUDA_RECORD || f->what == SONDE_CUDA_WAIT)
        captured = captured || sonde__cuda_captures(stream_of(f, p), f->own_default);
    if (f->what == SONDE_CUDA_RECORD && (captured || !here.begun)) /* known until now: an older one */
        sonde__cuda_event_record(((const cuEventRecord_params *)p)->hEvent, 0);
    return captured;
}

/* The agent first: it begins with recording off. */
static void start_range(void)
{
    if (sonde_enter() && !sonde_recording())
        sonde_recording_set(true);
}

static void unloads(const void *params)
{
    sonde__cuda_code_gone();
    if (sonde__cuda_twins.on)
        sonde__cuda_code_unloading(params);
}

__attribute__((hot)) static void enter(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *cd)
{
    const struct follow *f = follow(domain, id);
    if (f->what == SONDE_CUDA_FREE) /* before the address can be another's */
        sonde__cuda_freeing(id, cd->functionParams, cd->contextUid);
    else if (f->what == SONDE_CUDA_EVENT_GONE)
        sonde__cuda_event_record(((const cuEventDestroy_v2_params *)cd->functionParams)->hEvent, 0);
    else if (f->what == SONDE_CUDA_SYNC_EVENT)
        here.awaited = sonde__cuda_event_recorded(((const cuEventSynchronize_params *)cd->functionParams)->hEvent);
    else if (f->what == SONDE_CUDA_WAIT)
        here.awaited = sonde__cuda_event_recorded(((const cuStreamWaitEvent_params *)cd->functionParams)->hEvent);
    else if (f->what == SONDE_CUDA_UNLOAD)
        unloads(cd->functionParams);
    else if (f->what == SONDE_CUDA_EXEC_GONE && sonde__cuda_twins.coarse)
        sonde__cuda_exec_gone(((const cuGraphExecDestroy_params *)cd->functionParams)->hGraphExec);
    if (here.depth++ > 0)
        return;
    if (f->what == SONDE_CUDA_RANGE_ON && sonde__cuda_captures_range())
        start_range();
    here.captured = false;
    here.stream_made = 0;
    here.nodes = (struct sonde_cuda_nodes){0};
    here.count = 0;
    here.begun = sonde_call_begin(&here.call, sonde__cuda_api(domain, id));
}

/* With --values: around the call that makes the operation, not those within it. */
static void begin_around(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *cd)
{
    const struct follow *f = follow(domain, id);
    if (!here.begun || here.around || (f->what != SONDE_CUDA_LAUNCH && nothing_to_do(f, cd->functionParams)))
        return;
    here.around = sonde__cuda_values_before(id, f->what, cd, f->own_default, &here.call);
    here.around_depth = here.depth;
}

static void end_around(const CUpti_CallbackData *cd)
{
    if (!here.around || here.around_depth != here.depth)
        return;
    sonde__cuda_values_after(here.around, cd->functionReturnValue && *(const CUresult *)cd->functionReturnValue == CUDA_SUCCESS);
    here.around = NULL;
}

/* After code was unloaded: its name goes before the record can come, and is taken back where none will. */
static void name_launch(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *cd)
{
    if (follow(domain, id)->what != SONDE_CUDA_LAUNCH || sonde__sanitizer_on || atomic_load_explicit(&outermost_names, memory_order_relaxed))
        return;
    const uint64_t key = sonde__cuda_extend(cd->correlationId);
    if (cd->callbackSite == CUPTI_API_ENTER) {
        const struct sonde_cuda_launch l = sonde__cuda_launch(id, (void *)(uintptr_t)cd->functionParams);
        if (here.begun && l.function)
            sonde__cuda_launched(key, *l.function);
    } else if (here.captured || !cd->functionReturnValue || *(const CUresult *)cd->functionReturnValue != CUDA_SUCCESS) {
        sonde__cuda_launch_name(key);
    }
}

/* With --counters: around the driver's own call. */
static void begin_counting(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *cd)
{
    const struct follow *f = follow(domain, id);
    if (f->what == SONDE_CUDA_LAUNCH) {
        const struct sonde_cuda_launch l = sonde__cuda_launch(id, (void *)(uintptr_t)cd->functionParams);
        sonde__cuda_counters_before(f->what, cd, l.function ? *l.function : NULL, sonde__cuda_captures(l.stream, f->own_default), here.begun ? &here.call : NULL);
    } else if (f->what == SONDE_CUDA_LAUNCH_MANY || f->what == SONDE_CUDA_GRAPH) {
        sonde__cuda_counters_before(f->what, cd, NULL, false, NULL);
    }
}

static void end_counting(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *cd)
{
    const enum sonde_cuda_what what = follow(domain, id)->what;
    if (what == SONDE_CUDA_LAUNCH || what == SONDE_CUDA_LAUNCH_MANY || what == SONDE_CUDA_GRAPH)
        sonde__cuda_counters_after(cd->functionReturnValue && *(const CUresult *)cd->functionReturnValue == CUDA_SUCCESS);
}

static void waits_for(uint64_t waiter, uint64_t op, uint32_t lane, uint32_t device)
{
    if (op || lane || device)
        sonde_call_waits(&here.call, &(struct sonde_wait){.waiter = waiter, .op = op, .lane = lane, .device = device});
}

/* What the call itself is. */
static void submit_itself(const struct made *m)
{
    const uint64_t own = sonde_call_submit(&here.call, &(struct sonde_submit){.kind = m->kind, .lane = m->lane});
    if (m->what == SONDE_CUDA_RECORD)
        sonde__cuda_event_record(m->event, own);
    else if (m->what == SONDE_CUDA_WAIT && own)
        waits_for(own, m->awaited, 0, 0);
    else if (m->what == SONDE_CUDA_SYNC_EVENT)
        waits_for(0, m->awaited, 0, 0);
    else if (m->what == SONDE_CUDA_SYNC_STREAM)
        waits_for(0, 0, m->lane, 0);
    else if (m->what == SONDE_CUDA_SYNC_CONTEXT)
        waits_for(0, 0, 0, m->device);
}

__attribute__((hot)) static void submit_all(uint64_t outermost)
{
    const bool renamed = atomic_load_explicit(&outermost_names, memory_order_relaxed);
    for (unsigned i = 0; i < here.count; i++) {
        const struct made *m = &here.made[i];
        if (m->lane) {
            submit_itself(m);
            continue;
        }
        const uint64_t own =
            sonde_call_submit(&here.call, &(struct sonde_submit){.kind = m->kind,
                                                                 .object = m->object,
                                                                 .flags = m->flags,
                                                                 .key = renamed ? outermost : m->key});
        if (m->waits)
            waits_for(0, own, 0, 0);
    }
}

__attribute__((hot)) static void leave(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *cd)
{
    if (here.depth == 0)
        return; /* subscribed while the call was running */
    here.depth--;
    const struct follow *f = follow(domain, id);
    const bool ends = here.depth == 0 && f->what == SONDE_CUDA_RANGE_OFF && sonde__cuda_captures_range();
    if (here.begun && here.depth == 0)
        sonde_call_leave(&here.call);
    if (f->what && cd->functionReturnValue) {
        const CUresult result = *(const CUresult *)cd->functionReturnValue;
        const bool captured = follow_streams(f, cd, id, result);
        if (f->what == SONDE_CUDA_LOAD && result == CUDA_SUCCESS && sonde__cuda_twins.on)
            sonde__cuda_code_loaded(id, cd->functionParams);
        else if (f->what == SONDE_CUDA_EXEC && sonde__cuda_twins.coarse)
            sonde__cuda_exec_changed(id, cd->functionParams, result == CUDA_SUCCESS);
        if (here.begun && result == CUDA_SUCCESS && !captured)
            after_success(f, cd, id);
        else if (here.begun && result != CUDA_SUCCESS)
            look_at_error(result);
    }
    if (here.depth == 0 && here.begun) {
        here.begun = false;
        if (here.count)
            submit_all(sonde__cuda_extend(cd->correlationId));
        sonde_call_end(&here.call);
    }
    if (ends)
        sonde_recording_set(false);
}

static void resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
    switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
        sonde__cuda_context_created(data->context);
        sonde__cuda_stalls_context(data->context);
        break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        sonde__cuda_context_destroyed(data->context);
        sonde__cuda_code_gone(); /* all of it */
        break;
    case CUPTI_CBID_RESOURCE_STREAM_CREATED:
        here.stream_made = sonde__cuda_stream_made(data->context, data->resourceHandle.stream);
        break;
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
        sonde__cuda_stream_destroyed(data->context, data->resourceHandle.stream);
        break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
        sonde__cuda_graph_resource(id, data->resourceDescriptor);
        break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
        sonde__cuda_module_loaded(data->resourceDescriptor);
        sonde__cuda_stalls_module(data->resourceDescriptor);
        break;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING: /* also where no call asked for it */
        sonde__cuda_code_gone();
        break;
    default:
        break;
    }
}

__attribute__((hot)) void CUPTIAPI sonde__cuda_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)user;
    if (__builtin_expect(here.quiet, 0)) {
        sonde__cuda_own_callback(domain, id, data);
        return;
    }
    if (!atomic_load_explicit(&sonde__cuda_on, memory_order_relaxed))
        return;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        resource(id, data);
        return;
    }
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API)
        return;
    const CUpti_CallbackData *cd = data;
    if (cd->callbackSite == CUPTI_API_ENTER) {
        enter(domain, id, cd);
        if (was_unloaded())
            name_launch(domain, id, cd);
        if (__builtin_expect(sonde__cuda_twins.on, 0))
            begin_around(domain, id, cd);
        if (__builtin_expect(sonde__cuda_counting, 0))
            begin_counting(domain, id, cd);
    } else {
        if (__builtin_expect(sonde__cuda_counting, 0))
            end_counting(domain, id, cd);
        end_around(cd);
        if (was_unloaded())
            name_launch(domain, id, cd);
        leave(domain, id, cd);
    }
}
