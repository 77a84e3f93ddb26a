/* nccl.c - NCCL's collectives, by the interface that NCCL has for profiler plugins.
 *
 * NCCL tells of an operation when its kernel has been launched (COLL and P2P):
 * what it is, how many elements of which type, on which communicator. In the
 * same thread, so the latest call is the launch, and the operation stands over
 * its kernel: same calling context, same times. From NCCL 2.28 on it also tells
 * of the program's calls and brackets the launch, which becomes a range: a frame
 * in the kernel's calling context, and a slice. docs/nccl.md is for users.
 *
 * Where NCCL's work is handed over by a host function in a stream (graphs with
 * network traffic, and what follows them) the operation comes in a thread of
 * CUDA's own, when the kernel is on its way: it is counted there, without times.
 */
#include <sonde/backend.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "guest/memory.h"

#define OLDEST 22300 /* the first NCCL that loads a profiler, as ncclGetVersion counts */

/* Made by NCCL's init, gone with its finalize. Its calls come from one thread at a time. */
struct communicator {
    uint32_t device;
    uint32_t ranks; /* 0: not told */
    _Atomic uint32_t lane; /* 0 until the first operation */
    char label[128];
    /* what the program has asked of it in the group that is being gathered or launched */
    const void *group;
    const char *function, *datatype; /* texts of NCCL's; datatype NULL: several */
    uint64_t bytes;
    /* how the last operation was carried out: texts of NCCL's, and their row */
    struct how {
        const char *algorithm, *protocol;
        uint32_t channels, rank, peer;
    } how;
    uint32_t work;
};

static const char domain[] = "nccl";
static const char several[] = "group", pairs[] = "SendRecv";
static char bracket; /* its address is the handle of what ends with a range */

/* ---- what is recorded ----------------------------------------------------------------- */

/* "ncclBfloat16" is 2 bytes. NCCL says Unknown of its 8-bit unsigned integers. */
static uint64_t size_of(const char *datatype)
{
    const char *digits = datatype + strcspn(datatype, "0123456789");
    return *digits ? strtoull(digits, NULL, 10) / 8 : 1;
}

#define FUNCTION_MAX 40u
#define TYPE_MAX     20u
#define NAME_MAX_BYTES (FUNCTION_MAX + 1 + TYPE_MAX)

/* "AllReduce float32", its length. By hand: snprintf would take as long as all the rest. */
static size_t name_of(char name[NAME_MAX_BYTES], const char *function, const char *datatype)
{
    const char *type = !datatype ? "" : (strncmp(datatype, "nccl", 4) == 0 ? datatype + 4 : "uint8");
    const size_t length = strnlen(function, FUNCTION_MAX), more = strnlen(type, TYPE_MAX);
    memcpy(name, function, length);
    if (!more)
        return length;
    name[length] = ' ';
    memcpy(name + length + 1, type, more);
    name[length + 1] |= 0x20; /* NCCL writes Float32 */
    return length + 1 + more;
}

static uint32_t lane_of(struct communicator *c)
{
    uint32_t lane = atomic_load_explicit(&c->lane, memory_order_relaxed);
    if (!lane) {
        lane = sonde_lane_add(c->device, 0, 0, c->label);
        atomic_store_explicit(&c->lane, lane, memory_order_relaxed);
    }
    return lane;
}

static uint32_t call_number(void)
{
    for (uint32_t i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i] == &sonde_backend_nccl)
            return i << 24 | 1;
    return 0;
}

/* In a thread of CUDA's own: the hand-over is the call. */
static void submit_alone(const struct sonde_submit *submit)
{
    struct sonde_call call;
    if (!sonde_call_begin(&call, call_number()))
        return;
    sonde_call_leave(&call);
    sonde_call_submit(&call, submit);
    sonde_call_end(&call);
}

/* Of a communicator nearly all are carried out alike. */
static uint32_t work_of(struct communicator *c, const struct how *how)
{
    struct sonde_work work = {.channels = how->channels, .rank = how->rank, .ranks = c->ranks, .peer = how->peer};
    const struct how *last = &c->how;
    if (c->work && last->algorithm == how->algorithm && last->protocol == how->protocol && last->channels == how->channels && last->rank == how->rank &&
        last->peer == how->peer)
        return c->work;
    work.algorithm = how->algorithm ? sonde_string(how->algorithm, strnlen(how->algorithm, FUNCTION_MAX)) : 0;
    work.protocol = how->protocol ? sonde_string(how->protocol, strnlen(how->protocol, FUNCTION_MAX)) : 0;
    c->how = *how;
    return c->work = sonde_work_intern(&work);
}

static void operation(struct communicator *c, const char *function, const char *datatype, uint64_t bytes, const struct how *how)
{
    char name[NAME_MAX_BYTES];
    if (!c || !function || !sonde_recording() || !sonde_enter())
        return;
    const size_t length = name_of(name, function, datatype);
    const struct sonde_submit submit = {
        .kind = SONDE_OP_COLLECTIVE,
        .lane = lane_of(c),
        .bytes = bytes,
        .name = sonde_string(name, length),
        .work = work_of(c, how),
    };
    if (submit.lane && sonde_submit_over(&submit) == SONDE_OVER_NO_CALL)
        submit_alone(&submit);
}

static void *begin_range(const struct communicator *c, const char *function, const char *datatype, uint64_t bytes)
{
    char name[NAME_MAX_BYTES];
    if (!sonde_enter())
        return NULL;
    const size_t length = name_of(name, function, datatype);
    const struct sonde_range range = {
        .name = sonde_range_name(name, length),
        .domain = sonde_string(domain, sizeof domain - 1),
        .category = sonde_string(c->label, strlen(c->label)),
        .payload_type = 1,
        .payload = bytes,
    };
    sonde_range_push(&range);
    return &bracket;
}

/* ---- groups of calls --------------------------------------------------------------------- */

static bool is_pair(const char *function)
{
    return strcmp(function, "Send") == 0 || strcmp(function, "Recv") == 0 || function == pairs;
}

static void gather(struct communicator *c, const struct nccl_event *e)
{
    const struct nccl_api_v5 *a = &e->api_v5;
    if (!c || !a->function || !a->datatype)
        return;
    const uint64_t bytes = a->count * size_of(a->datatype);
    if (c->group != e->parent || !c->function) {
        c->group = e->parent;
        c->function = a->function;
        c->datatype = a->datatype;
        c->bytes = bytes;
        return;
    }
    c->bytes += bytes;
    if (strcmp(c->function, a->function) != 0)
        c->function = is_pair(c->function) && is_pair(a->function) ? pairs : several;
    if (c->datatype && strcmp(c->datatype, a->datatype) != 0)
        c->datatype = NULL;
}

static void *launch(const struct communicator *c, const struct nccl_event *e)
{
    if (!c)
        return NULL;
    const bool known = c->function && c->group == e->parent;
    return begin_range(c, known ? c->function : several, known ? c->datatype : NULL, known ? c->bytes : 0);
}

/* ---- events ---------------------------------------------------------------------------------- */

struct task { /* what COLL and P2P say, in each version */
    const char *function, *datatype;
    size_t count;
    uint64_t comm; /* before v4 */
    const char *comm_name;
    struct how how;
};

static void label(struct communicator *c, const char *name, uint64_t id, int rank, int ranks)
{
    const int n = snprintf(c->label, sizeof c->label, "NCCL %.60s%s0x%" PRIx64 " rank %d", name ? name : "",
                           name && *name ? " " : "", id, rank);
    if (ranks > 0 && n > 0 && (size_t)n < sizeof c->label)
        snprintf(c->label + n, sizeof c->label - (size_t)n, " of %d", ranks);
}

/* Does it have a root, and one that is a rank's number? Others leave that field as it is. */
static uint32_t root_of(const char *function, int root)
{
    const bool has = function && (strcmp(function, "Broadcast") == 0 || strcmp(function, "Reduce") == 0);
    return has && root >= 0 ? (uint32_t)root + 1 : 0;
}

static uint32_t peer_of(int peer)
{
    return peer >= 0 ? (uint32_t)peer + 1 : 0;
}

static struct how how_of(const struct nccl_how *how, const char *function, int root)
{
    return (struct how){.algorithm = how->algorithm, .protocol = how->protocol, .channels = how->channels, .peer = root_of(function, root)};
}

static void task_done(struct communicator *c, struct task *t, int rank)
{
    if (!c || !t->function || !t->datatype)
        return;
    t->how.rank = rank >= 0 ? (uint32_t)rank : 0;
    if (!c->label[0])
        label(c, t->comm_name, t->comm, rank, 0);
    operation(c, t->function, t->datatype, t->count * size_of(t->datatype), &t->how);
}

/* Without a handle for the group there would be no tasks. */
static void *group_handle(uint64_t type)
{
    static char group;
    return type == NCCL_EVENT_GROUP ? &group : NULL;
}

static const char *text_of(const char *const *texts, size_t count, uint8_t number)
{
    return number < count ? texts[number] : NULL;
}

static int start_v1(void *context, void **handle, struct nccl_event *e)
{
    static const char *const functions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce",
                                            "SendRecv", "Send", "Recv"};
    static const char *const types[] = {"ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32", "ncclInt64", "ncclUint64",
                                        "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
    const uint8_t type = (uint8_t)e->type;
    const bool coll = type == NCCL_EVENT_COLL;
    *handle = group_handle(type);
    if (!coll && type != NCCL_EVENT_P2P)
        return 0;
    const struct nccl_coll_v1 *a = &e->coll_v1;
    const struct nccl_p2p_v1 *b = &e->p2p_v1;
    struct task task = {
        .function = text_of(functions, sizeof functions / sizeof *functions, coll ? a->function : b->function),
        .datatype = text_of(types, sizeof types / sizeof *types, coll ? a->datatype : b->datatype),
        .count = coll ? a->count : b->count,
        .comm = a->comm,
        .comm_name = a->comm_name,
    };
    task.how.peer = coll ? root_of(task.function, a->root) : peer_of(b->peer);
    task_done(context, &task, e->rank);
    return 0;
}

static int task_v2(void *context, void **handle, struct nccl_event *e, const struct nccl_how *how)
{
    const uint8_t type = (uint8_t)e->type;
    const struct nccl_coll_v2 *a = &e->coll_v2;
    const struct nccl_p2p_v2 *b = &e->p2p_v2;
    *handle = group_handle(type);
    if (type == NCCL_EVENT_COLL)
        task_done(context, &(struct task){a->function, a->datatype, a->count, a->comm, a->comm_name, how_of(how, a->function, a->root)}, e->rank);
    else if (type == NCCL_EVENT_P2P)
        task_done(context, &(struct task){b->function, b->datatype, b->count, b->comm, b->comm_name, {.peer = peer_of(b->peer)}}, e->rank);
    return 0;
}

static int start_v2(void *context, void **handle, struct nccl_event *e)
{
    return task_v2(context, handle, e, &e->coll_v2.v2.how);
}

static int start_v3(void *context, void **handle, struct nccl_event *e)
{
    return task_v2(context, handle, e, &e->coll_v2.how_v3);
}

/* `asked`: the data type of the program's call, where NCCL says it. */
static void task_v4(void *context, const struct nccl_event *e, uint64_t type, const char *asked)
{
    const struct nccl_coll_v4 *a = &e->coll_v4;
    const struct nccl_p2p_v4 *b = &e->p2p_v4;
    if (type == NCCL_EVENT_P2P) {
        task_done(context, &(struct task){.function = b->function, .datatype = b->datatype, .count = b->count, .how = {.channels = b->channels, .peer = peer_of(b->peer)}},
                  e->rank);
    } else if (a->datatype) {
        const uint64_t bytes = a->count * size_of(a->datatype);
        const char *datatype = asked ? asked : a->datatype;
        task_done(context,
                  &(struct task){.function = a->function,
                                 .datatype = datatype,
                                 .count = (size_t)(bytes / size_of(datatype)),
                                 .how = how_of(&a->how, a->function, a->root)},
                  e->rank);
    }
}

static int start_v4(void *context, void **handle, struct nccl_event *e)
{
    const uint8_t type = (uint8_t)e->type;
    *handle = group_handle(type);
    if (type == NCCL_EVENT_COLL || type == NCCL_EVENT_P2P)
        task_v4(context, e, type, NULL);
    return 0;
}

/* A group's handle is its number; that of a call its data type, which its task then has. */
static int start_v5(void *context, void **handle, struct nccl_event *e)
{
    static _Atomic uintptr_t groups = 2;
    struct communicator *c = context;
    *handle = NULL;
    switch (e->type) {
    case NCCL_EVENT_GROUP_API:
        *handle = (void *)atomic_fetch_add_explicit(&groups, 2, memory_order_relaxed);
        break;
    case NCCL_EVENT_COLL_API:
        *handle = (void *)(uintptr_t)e->api_v5.datatype;
        gather(c, e);
        break;
    case NCCL_EVENT_P2P_API:
        gather(c, e);
        break;
    case NCCL_EVENT_KERNEL_LAUNCH:
        *handle = launch(c, e);
        break;
    case NCCL_EVENT_CE_COLL:
        if (c && e->coll_v4.function && e->coll_v4.datatype)
            *handle = begin_range(c, e->coll_v4.function, e->parent ? e->parent : e->coll_v4.datatype,
                                  e->coll_v4.count * size_of(e->coll_v4.datatype));
        break;
    case NCCL_EVENT_COLL:
        task_v4(context, e, NCCL_EVENT_COLL, e->parent);
        break;
    case NCCL_EVENT_P2P:
        task_v4(context, e, NCCL_EVENT_P2P, NULL);
        break;
    default:
        *handle = group_handle(e->type);
        break;
    }
    return 0;
}

static int stop(void *handle)
{
    if (handle == &bracket)
        sonde_range_pop(sonde_string(domain, sizeof domain - 1));
    return 0;
}

static int record(void *handle, int state, void *arguments)
{
    (void)handle;
    (void)state;
    (void)arguments;
    return 0;
}

/* ---- communicators ------------------------------------------------------------------------------ */

static uint32_t device_here(void)
{
    static _Atomic uint32_t none;
    uint32_t device = 0;
    for (uint32_t i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i] && !device; i++)
        if (sonde_backends[i]->device_here)
            device = sonde_backends[i]->device_here();
    if (!device && !(device = atomic_load(&none))) { /* CUDA is not recorded */
        device = sonde_device_add(&(struct sonde_device_info){.backend = &sonde_backend_nccl,
                                                              .platform = "NCCL",
                                                              .name = "device of NCCL"});
        atomic_store(&none, device);
    }
    return device;
}

static struct communicator *communicator_new(void **context, int *events, int wanted)
{
    const char *out = getenv("SONDE_OUT");
    struct communicator *c = out && *out && sonde_enter() ? sonde__pages_get(sizeof *c) : NULL;
    *context = c;
    *events = c ? wanted : 0;
    if (c)
        c->device = device_here();
    return c;
}

enum {
    TASKS = NCCL_EVENT_COLL | NCCL_EVENT_P2P,
    CALLS = NCCL_EVENT_GROUP_API | NCCL_EVENT_COLL_API | NCCL_EVENT_P2P_API | NCCL_EVENT_KERNEL_LAUNCH,
};

static int init_v1(void **context, int *events)
{
    communicator_new(context, events, TASKS);
    return 0;
}

static int init_v4(void **context, int *events, const char *name, uint64_t comm, int nodes, int ranks, int rank,
                   nccl_logger logger)
{
    struct communicator *c = communicator_new(context, events, TASKS);
    (void)nodes;
    (void)logger;
    if (!c)
        return 0;
    c->ranks = ranks > 0 ? (uint32_t)ranks : 0;
    label(c, name, comm, rank, ranks);
    return 0;
}

static int init_v5(void **context, uint64_t comm, int *events, const char *name, int nodes, int ranks, int rank,
                   nccl_logger logger)
{
    init_v4(context, events, name, comm, nodes, ranks, rank, logger);
    *events |= *events ? CALLS : 0;
    return 0;
}

static int init_v6(void **context, uint64_t comm, int *events, const char *name, int nodes, int ranks, int rank,
                   nccl_logger logger)
{
    init_v5(context, comm, events, name, nodes, ranks, rank, logger);
    *events |= *events ? NCCL_EVENT_CE_COLL : 0;
    return 0;
}

static int finalize(void *context)
{
    sonde__pages_put(context, sizeof(struct communicator));
    return 0;
}

#define EXPORTED __attribute__((visibility("default")))
#define TABLE(version, layout, init, start)                                                              \
    extern EXPORTED const struct nccl_profiler_##layout ncclProfiler_##version;                          \
    const struct nccl_profiler_##layout ncclProfiler_##version = {"Sonde", init, start, stop, record, finalize};
TABLE(v1, v1, init_v1, start_v1)
TABLE(v2, v1, init_v1, start_v2)
TABLE(v3, v1, init_v1, start_v3)
TABLE(v4, v4, init_v4, start_v4)
TABLE(v5, v5, init_v5, start_v5)
TABLE(v6, v5, init_v6, start_v5)

/* ---- for the agent -------------------------------------------------------------------------------- */

/* NCCL is in the program: will it tell us? */
static void module_seen(const char *path)
{
    const char *file = strrchr(path, '/'), *named = getenv("NCCL_PROFILER_PLUGIN"), *agent = getenv("SONDE_AGENT");
    int (*version)(int *number) = NULL, number = 0;
    if (strncmp(file ? file + 1 : path, "libnccl.so", 10) != 0)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library)
        *(void **)&version = dlsym(library, "ncclGetVersion");
    if (version && version(&number) == 0 && number < OLDEST)
        sonde_note("NCCL %d.%d has no profiler plugin interface (2.23 and later have): collectives are recorded as kernels only",
                   number < 10000 ? number / 1000 : number / 10000, number < 10000 ? number / 100 % 10 : number / 100 % 100);
    else if (!named || !agent || strcmp(named, agent) != 0)
        sonde_note("NCCL's collectives are recorded as kernels only: NCCL_PROFILER_PLUGIN is set to %.200s",
                   named && *named ? named : "nothing");
    (void)dlerror(); /* the program's next dlerror is not about us */
}

static const char *const api_names[] = {"", "ncclHostTask"};

const struct sonde_backend sonde_backend_nccl = {
    .size = sizeof(struct sonde_backend),
    .name = "nccl",
    .api_names = api_names,
    .api_count = sizeof api_names / sizeof *api_names,
    .module = module_seen,
};
