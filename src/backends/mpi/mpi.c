/* mpi.c - messages between ranks: MPI's functions, by its profiling interface (MPI 4.0, 15.2).
 *
 * Each of these stands before the library's own, which it calls, and then tells the agent what was sent, what has come in, and
 * what all ranks of a communicator did together. They are in the program's way only where the agent is preloaded: in the ranks of a job.
 * Another tool of this kind that comes after us in the loader's order is called as the library would be.
 *
 * Of what is begun and ended by different calls (MPI_Irecv, MPI_Wait), the first is remembered by its request (objects.c). A call that
 * only looks (MPI_Test) is told of when something has come in. docs/mpi.md says what is not followed.
 */
#include "mpi.h"

#include <stdatomic.h>
#include <string.h>

#include "guest/memory.h"

#define EXPORT __attribute__((visibility("default")))
#define FAILED 16 /* no success in any library; for a program that calls a function which its library has not */
#define FEW    32 /* requests of one call that need no memory */

/* Those with a count (counted.h), and all others. */
#define COUNTED_MAP(X) \
    X(Send) X(Bsend) X(Ssend) X(Rsend) X(Isend) X(Ibsend) X(Issend) X(Irsend) X(Recv) X(Irecv) X(Sendrecv) X(Sendrecv_replace) X(Mrecv) X(Imrecv) \
    X(Send_init) X(Bsend_init) X(Ssend_init) X(Rsend_init) X(Recv_init) X(Bcast) X(Reduce) X(Allreduce) X(Scan) X(Exscan) \
    X(Reduce_scatter_block) X(Gather) X(Scatter) X(Allgather) X(Alltoall) X(Ibcast) X(Ireduce) \
    X(Iallreduce) X(Iscan) X(Iexscan) X(Ireduce_scatter_block) X(Igather) X(Iscatter) X(Iallgather) \
    X(Ialltoall)
#define OTHERS_MAP(X) \
    X(Init) X(Init_thread) X(Finalize) X(Probe) X(Mprobe) X(Improbe) X(Start) X(Startall) X(Request_free) X(Wait) X(Waitall) X(Waitany) X(Waitsome) \
    X(Test) X(Testall) X(Testany) X(Testsome) X(Barrier) X(Ibarrier) X(Comm_dup) X(Comm_split) X(Comm_split_type) X(Comm_create) X(Comm_create_group) \
    X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent) X(Intercomm_create) X(Intercomm_merge) X(Comm_free) \
    X(Comm_disconnect) X(Reduce_scatter) X(Gatherv) X(Scatterv) X(Allgatherv) X(Alltoallv) X(Ireduce_scatter) X(Igatherv) X(Iscatterv) X(Iallgatherv) X(Ialltoallv)

/* clang-format off */
enum {
    NONE,
#define X(name) CALL_##name,
    OTHERS_MAP(X)
    COUNTED_MAP(X)
#undef X
#define X(name) CALL_##name##_c,
    COUNTED_MAP(X)
#undef X
    CALLS
};
static const char *const api_names[] = {
    "",
#define X(name) "MPI_" #name,
    OTHERS_MAP(X)
    COUNTED_MAP(X)
#undef X
#define X(name) "MPI_" #name "_c",
    COUNTED_MAP(X)
#undef X
};
/* clang-format on */

#define CALL_OF(name) CALL_OF_(name)
#define CALL_OF_(name) CALL_##name

static uint32_t number_of(uint32_t call)
{
    static _Atomic uint32_t backend;
    uint32_t i = atomic_load_explicit(&backend, memory_order_relaxed);
    if (!i) {
        while (i < SONDE_BACKENDS_MAX - 1 && sonde_backends[i] != &sonde_backend_mpi)
            i++;
        atomic_store_explicit(&backend, i, memory_order_relaxed);
    }
    return i << 24 | call;
}

/* One call: which, and since when (0: nothing is told of it). */
struct call {
    uint32_t which;
    uint64_t enter_ns;
};

static void tell(const struct call *c, const struct sonde_message *list, uint32_t count)
{
    if (c->enter_ns)
        sonde_messages(number_of(c->which), c->enter_ns, list, count);
}

static void *next_of(void *_Atomic *cache, const char *name, const void *caller)
{
    static char none; /* stands for: the library has no such function */
    void *next = atomic_load_explicit(cache, memory_order_relaxed);
    if (__builtin_expect(!next, 0)) {
        next = sonde__mpi_function(name, caller);
        if (!next && sonde__mpi_ready(caller))
            next = &none;
        atomic_store_explicit(cache, next, memory_order_relaxed);
    }
    return next == &none ? NULL : next;
}

static uint64_t begin(const void *caller)
{
    return sonde__mpi_ready(caller) ? sonde_messages_begin() : 0;
}

static bool is_known(void)
{
    return sonde__mpi_ready(NULL);
}

/* Who called, and by which of the two names. */
static __thread struct {
    const void *caller;
    bool profiling;
} entry __attribute__((tls_model("initial-exec")));

/* Where the library has no such function. */
#define LACKING(name, arguments) FAILED

/* In the function `name`: `caller`, and `next`, the library's own, by the name that was called. */
#define NEXT(name, parameters, arguments) NEXT_(name, parameters, arguments)
#define NEXT_(name, parameters, arguments)                                                           \
    static void *_Atomic caches[2];                                                      \
    const void *caller = entry.caller;                                                   \
    const bool profiling = entry.profiling;                                              \
    int (*next) parameters;                                                              \
    *(void **)&next = next_of(&caches[profiling], profiling ? "PMPI_" #name : "MPI_" #name, caller); \
    if (__builtin_expect(!next, 0))                                                      \
        return LACKING(name, arguments)

/* The function `name`, whose body follows. Open MPI's functions for Fortran call those of C by the names of the profiling interface: only from there
 * they are the program's; from elsewhere (a tool of that interface, the library's own work) they are the library's alone. */
#define DEFINE(name, parameters, arguments) DEFINE_(name, parameters, arguments)
#define DEFINE_(name, parameters, arguments)                                              \
    static int own_##name parameters;                                                    \
    EXPORT int MPI_##name parameters;                                                    \
    int MPI_##name parameters                                                            \
    {                                                                                    \
        entry.caller = __builtin_return_address(0);                                      \
        entry.profiling = false;                                                         \
        return own_##name arguments;                                                     \
    }                                                                                    \
    EXPORT int PMPI_##name parameters;                                                   \
    int PMPI_##name parameters                                                           \
    {                                                                                    \
        static void *_Atomic cache;                                                      \
        int (*next) parameters;                                                          \
        entry.caller = __builtin_return_address(0);                                      \
        entry.profiling = true;                                                          \
        if (sonde__mpi_is_fortran(entry.caller))                                         \
            return own_##name arguments;                                                 \
        *(void **)&next = next_of(&cache, "PMPI_" #name, entry.caller);                  \
        return next ? next arguments : LACKING(name, arguments);                         \
    }                                                                                    \
    static int own_##name parameters

/* The function `name`: `before` and `after` see its parameters and `call`. */
#define WRAP_WITH(name, parameters, arguments, before, after)                            \
    DEFINE(name, parameters, arguments)                                                  \
    {                                                                                    \
        NEXT(name, parameters, arguments);                                                          \
        const struct call call = {CALL_OF(name), begin(caller)};                           \
        before;                                                                          \
        const int failed = next arguments;                                               \
        if (__builtin_expect(failed != 0, 0))                                            \
            tell(&call, NULL, 0);                                                        \
        else                                                                             \
            after;                                                                       \
        return failed;                                                                   \
    }
#define WRAP(name, parameters, arguments, after) WRAP_WITH(name, parameters, arguments, , after)

static void initialized(const struct call *c, const void *caller)
{
    tell(c, NULL, 0);
    sonde__mpi_settings(caller);
}

WRAP(Init, (int *argc, char ***argv), (argc, argv), initialized(&call, caller))
WRAP(Init_thread, (int *argc, char ***argv, int wanted, int *provided), (argc, argv, wanted, provided), initialized(&call, caller))
WRAP(Finalize, (void), (), tell(&call, NULL, 0))

/* ---- one to one ------------------------------------------------------------------------- */

static struct sonde_message to_send(mpi_handle comm, int to, int tag, mpi_handle type, int64_t count)
{
    struct sonde_mpi_comm *c = sonde__mpi_comm(comm);
    return (struct sonde_message){
        .kind = to == sonde__mpi_layout()->no_process ? SONDE_MESSAGE_CALL : SONDE_MESSAGE_SEND,
        .comm = sonde__mpi_comm_string(c),
        .peer = sonde__mpi_member(c, to),
        .tag = (uint32_t)tag,
        .bytes = sonde__mpi_bytes(type, count),
    };
}

static void sent(const struct call *c, mpi_handle comm, int to, int tag, mpi_handle type, int64_t count)
{
    if (!c->enter_ns)
        return;
    const struct sonde_message m = to_send(comm, to, tag, type, count);
    tell(c, &m, 1);
}

/* Its request is another's from now on, that of a send: nothing comes in by it. */
static void sent_by(const struct call *c, const void *request, mpi_handle comm, int to, int tag, mpi_handle type, int64_t count)
{
    if (!is_known())
        return;
    sonde__mpi_request_forget(sonde__mpi_handle_at(request, 0));
    sent(c, comm, to, tag, type, count);
}

/* Where the program wants no status, one of ours. */
static void *status_or(void *status, void *own)
{
    return is_known() && (uintptr_t)status == sonde__mpi_layout()->ignore ? own : status;
}

/* What this thread has found last, and not received yet: it has waited there. */
static __thread struct {
    mpi_handle comm;
    uint64_t enter_ns; /* 0: nothing */
    int source, tag;
} probed __attribute__((tls_model("initial-exec")));

static uint64_t found_since(mpi_handle comm, const int *status)
{
    const struct sonde_mpi_layout *l = sonde__mpi_layout();
    const bool same = probed.enter_ns && probed.comm == comm && probed.source == status[l->source] && probed.tag == status[l->tag];
    const uint64_t since_ns = same ? probed.enter_ns : 0;
    probed.enter_ns = same ? 0 : probed.enter_ns;
    return since_ns;
}

/* `since_ns`: it was found by a call that was entered then; 0: not before. */
static void received(const struct call *c, mpi_handle comm, uint32_t string, const void *status, uint64_t since_ns)
{
    struct sonde_message m = {.kind = SONDE_MESSAGE_RECEIVE};
    if (!c->enter_ns)
        return;
    sonde__mpi_received(comm, string, status, &m);
    m.posted_ns = since_ns;
    tell(c, &m, 1);
}

static void exchanged(const struct call *c, const struct sonde_message *sending, mpi_handle comm, const void *status)
{
    struct sonde_message m[2] = {*sending, {.kind = SONDE_MESSAGE_RECEIVE}};
    sonde__mpi_received(comm, 0, status, &m[1]);
    tell(c, m, 2);
}

/* One that fills a status, which `after` reads. */
#define WRAP_STATUS(name, parameters, arguments, after)                                                                              \
    WRAP_WITH(name, parameters, arguments, int own[MPI_STATUS_BYTES / sizeof(int)]; status = status_or(status, own), {               \
        if (call.enter_ns)                                                                                                           \
            after;                                                                                                                   \
    })
WRAP_STATUS(Probe, (int from, int tag, mpi_handle comm, void *status), (from, tag, comm, status), {
    const int *word = status;
    probed.comm = comm;
    probed.source = word[sonde__mpi_layout()->source];
    probed.tag = word[sonde__mpi_layout()->tag];
    probed.enter_ns = call.enter_ns;
    tell(&call, NULL, 0);
})

/* ---- requests ------------------------------------------------------------------------------ */

static void begun(const struct call *c, const void *request, struct sonde_mpi_request r)
{
    if (!is_known())
        return;
    if (r.persistent || !r.message.posted_ns)
        r.message.posted_ns = r.persistent ? 0 : c->enter_ns;
    if (c->enter_ns)
        sonde__mpi_request_put(sonde__mpi_handle_at(request, 0), &r);
    else
        sonde__mpi_request_forget(sonde__mpi_handle_at(request, 0));
    tell(c, NULL, 0);
}

/* From whom, where that is not whoever comes first. */
static struct sonde_mpi_request to_receive(mpi_handle comm, int from)
{
    struct sonde_mpi_comm *c = sonde__mpi_comm(comm);
    return (struct sonde_mpi_request){
        .message = {.kind = SONDE_MESSAGE_RECEIVE, .comm = sonde__mpi_comm_string(c), .peer = sonde__mpi_member(c, from)},
        .comm = comm,
    };
}

static void receive_begun(const struct call *c, const void *request, mpi_handle comm, int from, bool persistent)
{
    struct sonde_mpi_request r = {.message.kind = SONDE_MESSAGE_RECEIVE};
    if (c->enter_ns)
        r = to_receive(comm, from);
    r.persistent = persistent;
    begun(c, request, r);
}

/* A message that was found is received later, and by no other receive; until then its handle stands for its communicator. */
static void was_found(const struct call *c, const void *message, mpi_handle comm, int from)
{
    if (c->enter_ns) {
        struct sonde_mpi_request r = to_receive(comm, from);
        r.message.posted_ns = c->enter_ns;
        sonde__mpi_request_put(sonde__mpi_handle_at(message, 0), &r);
    }
    tell(c, NULL, 0);
}

WRAP(Mprobe, (int from, int tag, mpi_handle comm, void *message, void *status), (from, tag, comm, message, status), was_found(&call, message, comm, from))
WRAP(Improbe, (int from, int tag, mpi_handle comm, int *flag, void *message, void *status), (from, tag, comm, flag, message, status), {
    if (*flag)
        was_found(&call, message, comm, from);
})

/* Persistent ones: sends are told of as they start. */
static void started(const struct call *c, const void *requests, int count)
{
    struct sonde_mpi_request r;
    uint32_t sends = 0;
    for (int i = 0; i < count && is_known(); i++)
        if (sonde__mpi_request_start(sonde__mpi_handle_at(requests, (uint32_t)i), c->enter_ns, &r) && r.message.kind == SONDE_MESSAGE_SEND) {
            r.message.posted_ns = 0;
            tell(c, &r.message, 1);
            sends++;
        }
    if (!sends)
        tell(c, NULL, 0);
}

WRAP(Start, (void *request), (request), started(&call, request, 1))
WRAP(Startall, (int count, void *requests), (count, requests), started(&call, requests, count))

DEFINE(Request_free, (void *request), (request))
{
    NEXT(Request_free, (void *), (request));
    if (sonde__mpi_ready(caller))
        sonde__mpi_request_forget(sonde__mpi_handle_at(request, 0));
    return next(request);
}

/* Requests that a call may end: what is known of them, and room for their statuses where the program has none. */
struct ending {
    uint32_t count;
    bool own;                /* statuses are ours */
    unsigned char *statuses; /* NULL: none could be had */
    struct sonde_mpi_request *taken;
    mpi_handle *handle;
    void *memory;
    struct sonde_mpi_request few[FEW];
    mpi_handle few_handles[FEW];
    unsigned char few_statuses[FEW * MPI_STATUS_BYTES];
};

/* Memory of the last such call that needed some: the next one has it, instead of the kernel's. */
static void *_Atomic spare; /* it begins with how much it is */

static void *memory_get(size_t bytes)
{
    void *memory = atomic_exchange(&spare, NULL);
    const size_t has = memory ? *(size_t *)memory : 0;
    if (has >= bytes)
        return memory;
    sonde__pages_put(memory, has);
    bytes = (size_t)sonde__room_bytes(bytes);
    memory = sonde__pages_get(bytes);
    if (memory)
        *(size_t *)memory = bytes;
    return memory;
}

static void memory_put(void *memory)
{
    void *before = atomic_exchange(&spare, memory);
    if (before)
        sonde__pages_put(before, *(size_t *)before);
}

/* `take`: they will have ended when the call returns. Else only their handles are kept, since the call overwrites them. */
static void end_begins(struct ending *e, int count, const void *requests, void *statuses, bool take)
{
    const uint32_t n = e->count = count > 0 ? (uint32_t)count : 0, status_bytes = sonde__mpi_layout()->status_bytes;
    e->memory = NULL;
    e->own = (uintptr_t)statuses == sonde__mpi_layout()->ignore;
    e->taken = e->few;
    e->handle = e->few_handles;
    e->statuses = e->own ? e->few_statuses : statuses;
    if (n > FEW) {
        e->memory = memory_get(64 + n * (sizeof *e->taken + sizeof *e->handle + status_bytes));
        if (!e->memory) {
            e->count = 0;
            e->statuses = statuses;
            return;
        }
        e->taken = (struct sonde_mpi_request *)(void *)((char *)e->memory + 64); /* behind how much it is */
        e->handle = (mpi_handle *)(void *)(e->taken + n);
        if (e->own)
            e->statuses = (unsigned char *)(e->handle + n);
    }
    for (uint32_t i = 0; i < n; i++) {
        e->handle[i] = sonde__mpi_handle_at(requests, i);
        if (take && !sonde__mpi_request_take(e->handle[i], &e->taken[i]))
            e->taken[i].message.kind = SONDE_MESSAGE_CALL;
    }
}

/* Those that `which` names (NULL: all) have ended; their statuses lie one after the other. */
static void end_is_told(const struct call *c, struct ending *e, const int *which, int count, bool taken, bool always)
{
    struct sonde_message m[FEW];
    uint32_t n = 0, told = 0;
    for (int k = 0; k < count; k++) {
        const uint32_t i = which ? (uint32_t)which[k] : (uint32_t)k;
        struct sonde_mpi_request *r = &e->taken[i];
        if (i >= e->count || (!taken && !sonde__mpi_request_take(e->handle[i], r)) || r->message.kind == SONDE_MESSAGE_CALL)
            continue;
        n += sonde__mpi_request_ended(r, e->statuses + (size_t)k * sonde__mpi_layout()->status_bytes, &m[n]);
        if (n == FEW) {
            tell(c, m, n);
            told += n;
            n = 0;
        }
    }
    if (n || (always && !told))
        tell(c, m, n);
    if (e->memory)
        memory_put(e->memory);
}

/* A function that ends requests. `taken`: all of them; then `ended` is how many, and `which` NULL. `always`: it is told of even when nothing came in. */
#define WRAP_END(name, parameters, arguments, requests_count, requests, status, take, ended, which, always) \
    DEFINE(name, parameters, arguments)                                                              \
    {                                                                                                \
        NEXT(name, parameters, arguments); \
        if (__builtin_expect(!sonde__mpi_ready(caller), 0))                                          \
            return next arguments;                                                                   \
        const struct call call = {CALL_OF(name), begin(caller)};                               \
        struct ending e;                                                                             \
        end_begins(&e, requests_count, requests, status, take);                                      \
        if (e.own)                                                                                   \
            status = e.statuses;                                                                     \
        const int failed = next arguments;                                                           \
        end_is_told(&call, &e, which, failed ? 0 : (ended), take, always);                           \
        return failed;                                                                               \
    }
WRAP_END(Wait, (void *request, void *status), (request, status), 1, request, status, true, 1, NULL, true)
WRAP_END(Waitall, (int count, void *requests, void *statuses), (count, requests, statuses), count, requests, statuses, true, count, NULL, true)
WRAP_END(Waitany, (int count, void *requests, int *index, void *status), (count, requests, index, status), count, requests, status, false,
         *index >= 0, index, true)
WRAP_END(Waitsome, (int count, void *requests, int *ended, int *indices, void *statuses), (count, requests, ended, indices, statuses), count, requests,
         statuses, false, *ended, indices, true)
WRAP_END(Test, (void *request, int *flag, void *status), (request, flag, status), 1, request, status, false, *flag != 0, NULL, false)
WRAP_END(Testall, (int count, void *requests, int *flag, void *statuses), (count, requests, flag, statuses), count, requests, statuses, false,
         *flag ? count : 0, NULL, false)
WRAP_END(Testany, (int count, void *requests, int *index, int *flag, void *status), (count, requests, index, flag, status), count, requests, status,
         false, *flag && *index >= 0, index, false)
WRAP_END(Testsome, (int count, void *requests, int *ended, int *indices, void *statuses), (count, requests, ended, indices, statuses), count, requests,
         statuses, false, *ended > 0 ? *ended : 0, indices, false)

/* ---- all of a communicator --------------------------------------------------------------------- */

static struct sonde_message of_all(mpi_handle comm, enum sonde_message_kind kind, int root, uint64_t bytes)
{
    struct sonde_mpi_comm *c = sonde__mpi_comm(comm);
    return (struct sonde_message){
        .kind = c && !c->between ? kind : SONDE_MESSAGE_CALL,
        .comm = sonde__mpi_comm_string(c),
        .peer = root >= 0 ? sonde__mpi_member(c, root) : 0,
        .bytes = bytes,
    };
}

/* Within one group. Between two, what some ranks pass is looked at by nobody. */
static bool is_within(mpi_handle comm)
{
    const struct sonde_mpi_comm *c = sonde__mpi_comm(comm);
    return c && !c->between;
}

static void all_did(const struct call *c, mpi_handle comm, enum sonde_message_kind kind, int root, uint64_t bytes)
{
    const struct sonde_message m = of_all(comm, kind, root, bytes);
    tell(c, &m, m.kind != SONDE_MESSAGE_CALL);
}

static void all_begin(const struct call *c, const void *request, mpi_handle comm, enum sonde_message_kind kind, int root, uint64_t bytes)
{
    struct sonde_mpi_request r = {.message.kind = SONDE_MESSAGE_CALL};
    if (c->enter_ns)
        r.message = of_all(comm, kind, root, bytes);
    begun(c, request, r);
}

static bool in_place(const void *buffer)
{
    return (uintptr_t)buffer == sonde__mpi_layout()->in_place;
}

/* What one gives, or, where it gives what it has in the place of what it gets, that. */
static uint64_t given(const void *from, int64_t count, mpi_handle type, int64_t other_count, mpi_handle other_type)
{
    return in_place(from) ? sonde__mpi_bytes(other_type, other_count) : sonde__mpi_bytes(type, count);
}

static uint64_t members(mpi_handle comm)
{
    const struct sonde_mpi_comm *c = sonde__mpi_comm(comm);
    return c ? c->count : 0;
}

static uint64_t sum_of(const int *counts, mpi_handle comm, mpi_handle type)
{
    int64_t sum = 0;
    for (uint64_t i = 0; counts && i < members(comm); i++)
        sum += counts[i];
    return sonde__mpi_bytes(type, sum);
}

/* Each with its sister that only begins. `bytes` is not looked at while nothing is recorded. */
#define PAIR(name, iname, parameters, arguments, with, arguments_with, kind, root, bytes)       \
    WRAP(name, parameters, arguments, {                                                          \
        if (call.enter_ns)                                                                       \
            all_did(&call, comm, SONDE_MESSAGE_##kind, root, is_within(comm) ? (bytes) : 0);     \
    })                                                                                           \
    WRAP(iname, with, arguments_with, {                                                          \
        if (is_known())                                                                          \
            all_begin(&call, request, comm, SONDE_MESSAGE_##kind, root, call.enter_ns && is_within(comm) ? (bytes) : 0); \
    })
#define WITH(...) (__VA_ARGS__, void *request)
#define PUT(...)  (__VA_ARGS__, request)
#define ALL(name, iname, kind, root, bytes, parameters, arguments) \
    PAIR(name, iname, (parameters), (arguments), WITH(parameters), PUT(arguments), kind, root, bytes)
#define P(...) __VA_ARGS__

ALL(Barrier, Ibarrier, BARRIER, -1, 0, P(mpi_handle comm), P(comm))
ALL(Reduce_scatter, Ireduce_scatter, ALL_TO_ALL, -1, sum_of(counts, comm, type),
    P(const void *from, void *to, const int *counts, mpi_handle type, mpi_handle op, mpi_handle comm), P(from, to, counts, type, op, comm))
ALL(Gatherv, Igatherv, TO_ROOT, root, in_place(from) ? 0 : sonde__mpi_bytes(type, count),
    P(const void *from, int count, mpi_handle type, void *to, const int *to_counts, const int *places, mpi_handle to_type, int root, mpi_handle comm),
    P(from, count, type, to, to_counts, places, to_type, root, comm))
ALL(Scatterv, Iscatterv, FROM_ROOT, root, in_place(to) ? 0 : sonde__mpi_bytes(to_type, to_count),
    P(const void *from, const int *counts, const int *places, mpi_handle type, void *to, int to_count, mpi_handle to_type, int root, mpi_handle comm),
    P(from, counts, places, type, to, to_count, to_type, root, comm))
ALL(Allgatherv, Iallgatherv, ALL_TO_ALL, -1, in_place(from) ? 0 : sonde__mpi_bytes(type, count),
    P(const void *from, int count, mpi_handle type, void *to, const int *to_counts, const int *places, mpi_handle to_type, mpi_handle comm),
    P(from, count, type, to, to_counts, places, to_type, comm))
ALL(Alltoallv, Ialltoallv, ALL_TO_ALL, -1, in_place(from) ? sum_of(to_counts, comm, to_type) : sum_of(counts, comm, type),
    P(const void *from, const int *counts, const int *places, mpi_handle type, void *to, const int *to_counts, const int *to_places, mpi_handle to_type,
      mpi_handle comm),
    P(from, counts, places, type, to, to_counts, to_places, to_type, comm))

/* ---- with counts: as ints, and of 64 bits ----------------------------------------------------------- */

#define SEND(name)                                                                                              \
    NARROW(name, (const void *from, COUNT count, mpi_handle type, int to, int tag, mpi_handle comm), (from, count, type, to, tag, comm), count)                                                                                              \
    WRAP(NAME(name), (const void *from, COUNT count, mpi_handle type, int to, int tag, mpi_handle comm),                \
         (from, count, type, to, tag, comm), sent(&call, comm, to, tag, type, count))
#define ISEND(name)                                                                                             \
    NARROW(name, (const void *from, COUNT count, mpi_handle type, int to, int tag, mpi_handle comm, void *request), (from, count, type, to, tag, comm, request), count)                                                                                             \
    WRAP(NAME(name), (const void *from, COUNT count, mpi_handle type, int to, int tag, mpi_handle comm, void *request), \
         (from, count, type, to, tag, comm, request), sent_by(&call, request, comm, to, tag, type, count))
#define SEND_INIT(name)                                                                                         \
    NARROW(name, (const void *from, COUNT count, mpi_handle type, int to, int tag, mpi_handle comm, void *request), (from, count, type, to, tag, comm, request), count)                                                                                         \
    WRAP(NAME(name), (const void *from, COUNT count, mpi_handle type, int to, int tag, mpi_handle comm, void *request), \
         (from, count, type, to, tag, comm, request), {                                                         \
             if (call.enter_ns)                                                                                 \
                 begun(&call, request, (struct sonde_mpi_request){.message = to_send(comm, to, tag, type, count), .persistent = true}); \
         })

#define COUNTED(name, iname, wide, kind, root, bytes, parameters, arguments)     \
    NARROW(name, (parameters), (arguments), wide)                                \
    NARROW(iname, WITH(parameters), PUT(arguments), wide)                        \
    ALL(NAME(name), NAME(iname), kind, root, bytes, P(parameters), P(arguments))

#define COUNT int
#define NAME(name) name
#define NARROW(name, parameters, arguments, wide)
#include "counted.h"
#undef COUNT
#undef NAME
#undef NARROW
#undef LACKING
#define COUNT int64_t
#define NAME(name) name##_c
#define LACKING(name, arguments) LACKING_(name, arguments)
#define LACKING_(name, arguments) narrow_##name arguments
#define NARROW(name, parameters, arguments, wide) \
    static int narrow_##name##_c parameters { return (wide) == (int)(wide) ? own_##name arguments : FAILED; }
#include "counted.h"
#undef LACKING
#define LACKING(name, arguments) FAILED

/* ---- communicators ------------------------------------------------------------------------------- */

static void made(const struct call *c, const void *comm)
{
    const mpi_handle handle = is_known() ? sonde__mpi_handle_at(comm, 0) : 0;
    if (handle)
        sonde__mpi_comm_made(handle);
    tell(c, NULL, 0);
}

#define MAKES(name, parameters, arguments) WRAP(name, (parameters), (arguments), made(&call, out))
MAKES(Comm_dup, P(mpi_handle comm, void *out), P(comm, out))
MAKES(Comm_split, P(mpi_handle comm, int color, int key, void *out), P(comm, color, key, out))
MAKES(Comm_split_type, P(mpi_handle comm, int type, int key, mpi_handle info, void *out), P(comm, type, key, info, out))
MAKES(Comm_create, P(mpi_handle comm, mpi_handle group, void *out), P(comm, group, out))
MAKES(Comm_create_group, P(mpi_handle comm, mpi_handle group, int tag, void *out), P(comm, group, tag, out))
MAKES(Cart_create, P(mpi_handle comm, int n, const int *dims, const int *periods, int reorder, void *out), P(comm, n, dims, periods, reorder, out))
MAKES(Cart_sub, P(mpi_handle comm, const int *remain, void *out), P(comm, remain, out))
MAKES(Graph_create, P(mpi_handle comm, int n, const int *index, const int *edges, int reorder, void *out), P(comm, n, index, edges, reorder, out))
MAKES(Dist_graph_create,
      P(mpi_handle comm, int n, const int *sources, const int *degrees, const int *targets, const int *weights, mpi_handle info, int reorder, void *out),
      P(comm, n, sources, degrees, targets, weights, info, reorder, out))
MAKES(Dist_graph_create_adjacent,
      P(mpi_handle comm, int in, const int *sources, const int *in_weights, int n, const int *targets, const int *weights, mpi_handle info, int reorder,
        void *out),
      P(comm, in, sources, in_weights, n, targets, weights, info, reorder, out))
MAKES(Intercomm_create, P(mpi_handle comm, int leader, mpi_handle peer, int remote, int tag, void *out), P(comm, leader, peer, remote, tag, out))
MAKES(Intercomm_merge, P(mpi_handle comm, int high, void *out), P(comm, high, out))

#define FREES(name)                                                                      \
    DEFINE(name, (void *comm), (comm))                                                   \
    {                                                                                    \
        NEXT(name, (void *), (comm));                                                            \
        if (sonde__mpi_ready(caller))                                                    \
            sonde__mpi_comm_freed(sonde__mpi_handle_at(comm, 0));                        \
        return next(comm);                                                               \
    }
FREES(Comm_free)
FREES(Comm_disconnect)

/* ---- for the agent --------------------------------------------------------------------------------- */

const struct sonde_backend sonde_backend_mpi = {
    .size = sizeof(struct sonde_backend),
    .name = "mpi",
    .api_names = api_names,
    .api_count = CALLS,
    .forked = sonde__mpi_forked,
};
