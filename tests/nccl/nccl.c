/* nccl.c - does to a profiler plugin what NCCL does, in the order in which NCCL does it, with
 * an OpenCL kernel where NCCL has its own.
 *
 *   nccl MODE VERSION [LIBRARY]    VERSION of the interface, 1 to 6; with LIBRARY,
 *                                  a stand-in for libnccl.so.2, through its frames
 *
 * The order of calls was read off NCCL: ncclLaunchKernel, hostStreamPlanTask
 * (src/enqueue.cc), collTaskAppend, p2pTaskAppend, doLaunches (src/group.cc) and
 * src/plugin/profiler.cc in 2.30.7 (v5 and v6), 2.27.7 (v4), 2.26.2 (v3), 2.24.3
 * (v2) and 2.23.4 (v1). Where its fields lie stands below as numbers, which a C++
 * program printed from NCCL's own headers of those versions. collectives.py
 * knows what must come of it.
 */
#include "../programs/guest.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline))
#define STAY() __asm__ volatile("" ::: "memory") /* no tail call */

enum {
    GROUP = 1,
    COLL = 2,
    P2P = 4,
    GROUP_API = 256,
    COLL_API = 512,
    P2P_API = 1024,
    LAUNCH = 2048,
    CE_COLL = 4096,
};
enum {
    AT_PARENT = 8,
    AT_RANK = 16,
    API_FUNCTION = 24,
    API_COUNT = 32,
    API_TYPE = 40,
};

struct places { int name, hash, function, count, type, peer /* or root */, channels, algorithm, protocol; };
static const struct places coll_at[7] = {
    {0},
    {24, 32, 48, 72, 84, 80, 0, 0, 0},
    {24, 32, 48, 72, 88, 80, 104, 112, 120},
    {24, 32, 48, 72, 88, 80, 96, 104, 112},
    {0, 0, 32, 56, 72, 64, 80, 88, 96},
    {0, 0, 32, 56, 72, 64, 80, 88, 96},
    {0, 0, 32, 56, 72, 64, 80, 88, 96},
};
static const struct places p2p_at[7] = {
    {0},
    {24, 32, 40, 64, 56, 72, 0, 0, 0},
    {24, 32, 40, 64, 56, 72, 0, 0, 0},
    {24, 32, 40, 64, 56, 72, 0, 0, 0},
    {0, 0, 24, 48, 40, 56, 60, 0, 0},
    {0, 0, 24, 48, 40, 56, 60, 0, 0},
    {0, 0, 24, 48, 40, 56, 60, 0, 0},
};

static struct guest g;
static int version;

/* ---- the plugin -------------------------------------------------------------------- */

struct event { unsigned char bytes[192]; };
struct plugin {
    const char *name;
    int (*init)(void);
    int (*start)(void *context, void **handle, struct event *event);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, void *arguments);
    int (*finalize)(void *context);
};
static const struct plugin *plugin;
static int mask;

struct comm {
    void *context;
    const char *name;
    uint64_t hash;
    int rank, ranks;
};

static void put_pointer(struct event *e, int at, const void *pointer)
{
    memcpy(e->bytes + at, &pointer, sizeof pointer);
}

static void put_number(struct event *e, int at, uint64_t number)
{
    memcpy(e->bytes + at, &number, sizeof number);
}

/* NCCL's own numbers, of version 1. */
static int number_of(const char *text)
{
    static const struct {
        const char *text;
        int number;
    } all[] = {
        {"Broadcast", 0},
        {"AllGather", 2},
        {"AllReduce", 4},
        {"Send", 6},
        {"Recv", 7},
        {"ncclInt8", 0},
        {"Unknown", 1},
        {"ncclInt64", 4},
        {"ncclFloat32", 7},
        {"ncclFloat64", 8},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(text, all[i].text) == 0)
            return all[i].number;
    exit(4);
}

static void put_text(struct event *e, int at, const char *text)
{
    if (version == 1)
        e->bytes[at] = (unsigned char)number_of(text);
    else
        put_pointer(e, at, text);
}

static struct event event_of(int type, const struct comm *c, const void *parent)
{
    struct event e;
    memset(e.bytes, version < 5 ? 0xaa : 0, sizeof e.bytes); /* the adapters of NCCL leave gaps as they are */
    if (version < 5)
        e.bytes[0] = (unsigned char)type;
    else
        put_number(&e, 0, (uint64_t)type);
    put_pointer(&e, AT_PARENT, parent);
    memcpy(e.bytes + AT_RANK, &c->rank, sizeof c->rank);
    return e;
}

static void *start(const struct comm *c, struct event *e)
{
    void *handle = NULL;
    if (plugin && plugin->start(c->context, &handle, e))
        exit(4);
    return handle;
}

static void stop(void *handle)
{
    if (plugin && handle)
        plugin->stop(handle);
}

static void comm_init(struct comm *c)
{
    typedef int init_v1(void **, int *);
    typedef int init_v4(void **, int *, const char *, uint64_t, int, int, int, void (*)(void));
    typedef int init_v5(void **, uint64_t, int *, const char *, int, int, int, void (*)(void));
    if (!plugin)
        return;
    int failed = version < 4   ? ((init_v1 *)(void (*)(void))plugin->init)(&c->context, &mask)
                 : version < 5 ? ((init_v4 *)(void (*)(void))plugin->init)(&c->context, &mask, c->name, c->hash, 1,
                                                                           c->ranks, c->rank, NULL)
                               : ((init_v5 *)(void (*)(void))plugin->init)(&c->context, c->hash, &mask, c->name, 1,
                                                                           c->ranks, c->rank, NULL);
    if (failed)
        exit(4);
}

static void comm_destroy(struct comm *c)
{
    if (plugin && (version < 5 || c->context))
        plugin->finalize(c->context);
}

/* ---- NCCL ------------------------------------------------------------------------------ */

struct task {
    int type;
    const char *function, *datatype;
    uint64_t count;
    struct comm *comm;
    void *api;
};
static struct {
    struct task task[8];
    int count;
    void *handle;
} group;

static void *group_api(const struct comm *c)
{
    struct event e = event_of(GROUP_API, c, NULL);
    if (!(mask & GROUP_API) || group.handle)
        return group.handle;
    void *handle = start(c, &e);
    if (handle)
        plugin->record(handle, 23, NULL);
    return handle;
}

/* A call of the program joins the group. */
NOINLINE static void append(struct comm *c, int type, const char *function, uint64_t count, const char *datatype)
{
    struct task *t = &group.task[group.count++];
    *t = (struct task){type, function, datatype, count, c, NULL};
    group.handle = group_api(c);
    if (mask & (type == COLL ? COLL_API : P2P_API)) {
        struct event e = event_of(type == COLL ? COLL_API : P2P_API, c, group.handle);
        put_pointer(&e, API_FUNCTION, function);
        put_number(&e, API_COUNT, count);
        put_pointer(&e, API_TYPE, datatype);
        t->api = start(c, &e);
        stop(t->api);
    }
    if (strcmp(function, "AllGather") == 0 || strcmp(function, "Broadcast") == 0) {
        t->count *= strcmp(datatype, "ncclBfloat16") == 0 ? 2 : 1;
        t->datatype = "ncclInt8";
    }
}

static struct comm two;

static void task_event(struct task *t, const void *parent, void **handle)
{
    const struct places *at = t->type == COLL ? &coll_at[version] : &p2p_at[version];
    struct event e = event_of(t->type, t->comm, version < 5 ? parent : t->api);
    if (version < 4) {
        put_pointer(&e, at->name, t->comm->name);
        put_number(&e, at->hash, t->comm->hash);
    }
    put_text(&e, at->function, t->function);
    put_number(&e, at->count, t->count);
    put_text(&e, at->type, t->datatype);
    const int peer = t->type == P2P ? 1 - t->comm->rank : (strcmp(t->function, "Broadcast") == 0 ? 1 : 0);
    memcpy(e.bytes + at->peer, &peer, sizeof peer);
    if (at->channels)
        e.bytes[at->channels] = 8;
    if (at->algorithm) {
        put_pointer(&e, at->algorithm, t->comm == &two ? "TREE" : "RING");
        put_pointer(&e, at->protocol, t->count > 500 ? "SIMPLE" : "LL");
    }
    *handle = start(t->comm, &e);
}

/* After the launch: hand over what is not the kernel's, and tell what was launched. */
NOINLINE static void host_task(struct comm *c)
{
    void *handles[8] = {NULL};
    struct event e = event_of(GROUP, c, NULL);
    void *parent = mask & (COLL | P2P) ? start(c, &e) : NULL;
    for (int i = 0; i < group.count && (version >= 5 || parent); i++)
        if (group.task[i].comm == c && mask & group.task[i].type)
            task_event(&group.task[i], parent, &handles[i]);
    for (int i = 0; i < group.count; i++)
        if (handles[i] || version == 1)
            stop(handles[i]);
    stop(parent);
    STAY();
}

static int launches = 1; /* of a kernel; 0: the stream is being captured */

NOINLINE static void launch_kernel(struct comm *c)
{
    struct event e = event_of(LAUNCH, c, group.handle);
    void *handle = mask & LAUNCH ? start(c, &e) : NULL;
    if (launches)
        guest_add(&g, launches);
    else
        CL(clFinish(g.queue)); /* a call that makes no operation */
    stop(handle);
    STAY();
}

static void *host_thread(void *comm)
{
    host_task(comm);
    return NULL;
}

static void in_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument) || pthread_join(thread, NULL))
        exit(4);
}

static bool by_host_function; /* the tasks are handed over by one, in CUDA's thread */

NOINLINE static void launch_all(void)
{
    for (int i = 0; i < group.count; i++) {
        struct comm *c = group.task[i].comm;
        bool first = true;
        for (int k = 0; k < i; k++)
            first = first && group.task[k].comm != c;
        if (!first)
            continue;
        launch_kernel(c);
        if (by_host_function)
            in_thread(host_thread, c);
        else
            host_task(c);
    }
    STAY();
}

static void *launch_thread(void *argument)
{
    launch_all();
    return argument;
}

static bool not_blocking;

NOINLINE static void group_end(void)
{
    if (group.handle)
        plugin->record(group.handle, 24, NULL);
    if (not_blocking) { /* NCCL tells of the end without waiting for its thread */
        stop(group.handle);
        in_thread(launch_thread, NULL);
    } else {
        launch_all();
        stop(group.handle);
    }
    group.count = 0;
    group.handle = NULL;
    STAY();
}

/* ---- the program ------------------------------------------------------------------------- */

static struct comm one = {.name = "pair", .hash = 0xabcdef0123, .rank = 1, .ranks = 2};
static struct comm two = {.name = NULL, .hash = 0x77, .rank = 0, .ranks = 4};

NOINLINE static void all_reduce(struct comm *c, const char *type, uint64_t count)
{
    append(c, COLL, "AllReduce", count, type);
    group_end();
    STAY();
}

NOINLINE static void all_gather(void)
{
    append(&one, COLL, "AllGather", 500, "ncclBfloat16");
    group_end();
    STAY();
}

NOINLINE static void broadcast(void)
{
    append(&one, COLL, "Broadcast", 300, "Unknown");
    group_end();
    STAY();
}

NOINLINE static void exchange(void)
{
    append(&one, P2P, "Send", 256, "ncclFloat64");
    append(&one, P2P, "Recv", 128, "ncclFloat64");
    group_end();
    STAY();
}

NOINLINE static void mixed(void)
{
    append(&one, COLL, "AllReduce", 10, "ncclFloat32");
    append(&one, COLL, "AllGather", 20, "ncclInt8");
    append(&two, COLL, "AllReduce", 30, "ncclInt64");
    append(&two, COLL, "AllReduce", 40, "ncclFloat32");
    group_end();
    STAY();
}

/* Copies by the copy engines, of version 6. */
NOINLINE static void copied(void)
{
    struct event e = event_of(CE_COLL, &one, NULL);
    put_pointer(&e, coll_at[6].function, "AllGather");
    put_number(&e, coll_at[6].count, 64);
    put_pointer(&e, coll_at[6].type, "ncclInt8");
    void *handle = mask & CE_COLL ? start(&one, &e) : NULL;
    guest_add(&g, 1);
    stop(handle);
    STAY();
}

static void each(void)
{
    for (int i = 0; i < 3; i++)
        all_reduce(&one, "ncclFloat32", 1000);
    all_gather();
    all_gather();
    broadcast();
    exchange();
    all_reduce(&two, "ncclInt64", 7);
    mixed();
    if (version == 6)
        copied();
}

static void host(void)
{
    by_host_function = true;
    each();
}

static void thread(void)
{
    not_blocking = true;
    each();
}

static void captured(void)
{
    launches = 0;
    each();
}

/* A communicator for each call, as programs do that make and forget them. */
static void many(void)
{
    for (int i = 0; i < 300; i++) {
        struct comm c = {.hash = 1000, .rank = 0, .ranks = 2};
        c.hash += (uint64_t)i;
        comm_init(&c);
        all_reduce(&c, "ncclFloat32", 1);
        comm_destroy(&c);
    }
}

typedef void through(void (*body)(void));
static through *through_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *function = library ? dlsym(library, "ncclCall") : NULL;
    if (!function)
        exit(4);
    return (through *)(uintptr_t)function;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        {"each", each},
        {"host", host},
        {"thread", thread},
        {"captured", captured},
        {"many", many},
    };
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    char symbol[32];
    version = argc > 2 ? atoi(argv[2]) : 0;
    if (version < 1 || version > 6)
        return 2;
    guest_open(&g);
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
    void *library = path && strlen(path) < 255 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    plugin = library ? dlsym(library, symbol) : NULL;
    comm_init(&one);
    comm_init(&two);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            argc > 3 ? through_library(argv[3])(modes[i].run) : modes[i].run();
    comm_destroy(&one);
    comm_destroy(&two);
    if (library)
        dlclose(library);
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
