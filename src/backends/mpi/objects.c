/* objects.c - the MPI library of this process, its communicators and its requests. See mpi.h. */
#include "mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "guest/lock.h"
#include "guest/map.h"
#include "guest/memory.h"
#include "guest/once.h"

#define REQUESTS_MAX 65536u /* under way at once; more are not told of */

/* ---- the library ------------------------------------------------------------------ */

/* clang-format off */
#define MPICH_AND_CHILDREN \
    .handle_bytes = 4, .status_bytes = 20, .source = 2, .tag = 3, .no_process = -1, .in_place = UINTPTR_MAX, .ignore = 1, \
    .world = 0x44000000, .no_comm = 0x04000000, .null = 0x2c000000, .byte = 0x4c00010d
static const struct sonde_mpi_layout layouts[] = {
    {.family = "Open MPI", .handle_bytes = 8, .status_bytes = 24, .source = 0, .tag = 1, .no_process = -2, .in_place = 1, .ignore = 0,
     .world_symbol = "ompi_mpi_comm_world", .no_comm_symbol = "ompi_mpi_comm_null", .null_symbol = "ompi_request_null", .byte_symbol = "ompi_mpi_byte"},
    {.family = "MPICH", MPICH_AND_CHILDREN}, /* MVAPICH and Cray's name it, too */
    {.family = "Intel(R) MPI", MPICH_AND_CHILDREN},
    {0},
};
/* clang-format on */

/* Written once, under the lock; then layout is set. */
static struct {
    struct sonde_lock lock;
    _Atomic int ready; /* 1 yes, -1 no */
    struct sonde_mpi_layout layout;
    int (*comm_group)(mpi_handle, void *);
    int (*remote_group)(mpi_handle, void *);
    int (*test_inter)(mpi_handle, int *);
    int (*group_size)(mpi_handle, int *);
    int (*translate)(mpi_handle, int, const int *, mpi_handle, int *);
    int (*group_free)(void *);
    int (*type_size)(mpi_handle, int64_t *); /* MPI_Count has 64 bits in all of them */
    int (*get_elements)(const void *, mpi_handle, int64_t *);
    int (*test_cancelled)(const void *, int *);
    int (*initialized)(int *);
    int (*library_version)(char *, int *);
} mpi;

/* As the library, or program, in which `address` lies would get it. */
static void *function_of(const char *name, const void *address)
{
    struct link_map *module = NULL;
    Dl_info info;
    void *handle, *found = NULL;
    if (address && dladdr1(address, &info, (void **)&module, RTLD_DL_LINKMAP) && module && module->l_name[0] &&
        (handle = dlopen(module->l_name, RTLD_LAZY | RTLD_NOLOAD))) {
        found = dlsym(handle, name);
        dlclose(handle);
    }
    return found;
}

void *sonde__mpi_function(const char *name, const void *caller)
{
    static void *_Atomic known; /* one of the library's */
    const int error = errno;
    void *found = dlsym(RTLD_NEXT, name);
    /* The caller may have been opened for itself, as Python does, and the library with it. It may also have jumped here, which leaves the address of
     * who called it: as mpi4py ends MPI. */
    found = found ? found : function_of(name, caller);
    found = found ? found : function_of(name, atomic_load_explicit(&known, memory_order_relaxed));
    if (found)
        atomic_store_explicit(&known, found, memory_order_relaxed);
    (void)dlerror(); /* the program's next dlerror is not about us */
    errno = error;
    return found;
}

/* Call sites that were asked about, with the answer in the lowest bit. */
static _Atomic uintptr_t sites[256];

bool sonde__mpi_is_fortran(const void *caller)
{
    _Atomic uintptr_t *site = &sites[((uintptr_t)caller >> 3 ^ (uintptr_t)caller >> 11) & 255];
    const uintptr_t known = atomic_load_explicit(site, memory_order_relaxed);
    Dl_info info;
    if (__builtin_expect(known >> 1 == (uintptr_t)caller, 1))
        return known & 1;
    const char *name = dladdr(caller, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    const bool found = name && strncmp(name, "/libmpi_mpifh.", 14) == 0;
    atomic_store_explicit(site, (uintptr_t)caller << 1 | found, memory_order_relaxed);
    return found;
}

/* An object of the library's may lie in the program: the linker copies those that it names. */
static mpi_handle address_of(const char *object, const void *caller)
{
    void *found = dlsym(RTLD_DEFAULT, object);
    return (mpi_handle)(found ? found : sonde__mpi_function(object, caller));
}

static bool know(const struct sonde_mpi_layout *known, const void *caller)
{
    mpi.layout = *known;
    if (known->world_symbol)
        mpi.layout.world = address_of(known->world_symbol, caller);
    if (known->no_comm_symbol)
        mpi.layout.no_comm = address_of(known->no_comm_symbol, caller);
    if (known->null_symbol)
        mpi.layout.null = address_of(known->null_symbol, caller);
    if (known->byte_symbol)
        mpi.layout.byte = address_of(known->byte_symbol, caller);
    return mpi.layout.world && mpi.layout.no_comm && mpi.layout.null && mpi.layout.byte;
}

static bool look(const void *caller)
{
    const struct {
        void *function;
        const char *name;
    } wanted[] = {
        {&mpi.comm_group, "PMPI_Comm_group"},
        {&mpi.remote_group, "PMPI_Comm_remote_group"},
        {&mpi.test_inter, "PMPI_Comm_test_inter"},
        {&mpi.group_size, "PMPI_Group_size"},
        {&mpi.translate, "PMPI_Group_translate_ranks"},
        {&mpi.group_free, "PMPI_Group_free"},
        {&mpi.type_size, "PMPI_Type_size_x"},
        {&mpi.get_elements, "PMPI_Get_elements_x"},
        {&mpi.test_cancelled, "PMPI_Test_cancelled"},
        {&mpi.initialized, "PMPI_Initialized"},
        {&mpi.library_version, "PMPI_Get_library_version"},
    };
    char version[8192]; /* MPI_MAX_LIBRARY_VERSION_STRING: 256 in Open MPI, 8192 in MPICH */
    int length = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(*(void **)wanted[i].function = sonde__mpi_function(wanted[i].name, caller)))
            return false;
    if (mpi.library_version(version, &length) || length <= 0 || (size_t)length >= sizeof version)
        return false;
    version[length] = 0;
    for (const struct sonde_mpi_layout *l = layouts; l->family; l++)
        if (strstr(version, l->family))
            return know(l, caller);
    sonde_note("messages of this MPI library are not recorded: %.100s", version);
    return false;
}

bool sonde__mpi_ready(const void *caller)
{
    int ready = atomic_load_explicit(&mpi.ready, memory_order_acquire);
    if (__builtin_expect(ready != 0, 1))
        return ready > 0;
    sonde__lock(&mpi.lock);
    ready = atomic_load(&mpi.ready);
    if (!ready) {
        ready = look(caller) ? 1 : -1;
        atomic_store_explicit(&mpi.ready, ready, memory_order_release);
    }
    sonde__unlock(&mpi.lock);
    return ready > 0;
}

const struct sonde_mpi_layout *sonde__mpi_layout(void)
{
    return &mpi.layout;
}

static mpi_handle key_of(mpi_handle handle)
{
    return mpi.layout.handle_bytes == 4 ? (uint32_t)handle : handle;
}

mpi_handle sonde__mpi_handle_at(const void *array, uint32_t i)
{
    return mpi.layout.handle_bytes == 4 ? ((const uint32_t *)array)[i] : ((const mpi_handle *)array)[i];
}

bool sonde__mpi_is_null_request(mpi_handle request)
{
    return key_of(request) == mpi.layout.null;
}

uint64_t sonde__mpi_bytes(mpi_handle type, int64_t count)
{
    int64_t size = 0;
    return count > 0 && !mpi.type_size(type, &size) && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

/* ---- communicators --------------------------------------------------------------- */

static struct sonde_shared_map comms, hashes; /* handle -> struct; hash of the members -> how many had it */

/* The job's ranks of a group's, from 1. False: the library does not say. */
static bool members_of(mpi_handle group, int count, uint32_t *members)
{
    mpi_handle world = 0;
    bool known = !mpi.comm_group(mpi.layout.world, &world);
    enum { PART = 256 };
    int from[PART], to[PART];
    for (int at = 0; known && at < count; at += PART) {
        const int n = count - at < PART ? count - at : PART;
        for (int i = 0; i < n; i++)
            from[i] = at + i;
        known = !mpi.translate(group, n, from, world, to);
        for (int i = 0; known && i < n; i++)
            members[at + i] = to[i] >= 0 ? (uint32_t)to[i] + 1 : 0; /* MPI_UNDEFINED: of another job */
    }
    if (world)
        mpi.group_free(&world);
    return known;
}

static struct sonde_mpi_comm *of_group(mpi_handle group)
{
    int count = 0;
    if (mpi.group_size(group, &count) || count <= 0)
        return NULL;
    const size_t bytes = sizeof(struct sonde_mpi_comm) + (size_t)count * sizeof(uint32_t);
    struct sonde_mpi_comm *c = sonde__pages_get(bytes);
    if (!c)
        return NULL;
    c->count = c->ranks = (uint32_t)count;
    c->pages_bytes = (uint32_t)bytes;
    if (!members_of(group, count, c->members)) {
        sonde__pages_put(c, bytes);
        return NULL;
    }
    for (uint32_t i = 0; i < c->count; i++)
        c->hash = sonde__map_hash(c->hash + c->members[i]) + i;
    return c;
}

/* Of one between two groups, peers are of the other one; the hash is of both. */
static struct sonde_mpi_comm *comm_new(mpi_handle comm)
{
    mpi_handle group = 0, remote = 0;
    int inter = 0, initialized = 0;
    struct sonde_mpi_comm *c = NULL, *other = NULL;
    if (mpi.initialized(&initialized) || !initialized) /* by sessions alone: there is no MPI_COMM_WORLD */
        return NULL;
    if (mpi.test_inter(comm, &inter) || mpi.comm_group(comm, &group))
        return NULL;
    c = of_group(group);
    mpi.group_free(&group);
    if (!c || !inter)
        return c;
    if (!mpi.remote_group(comm, &remote)) {
        other = of_group(remote);
        mpi.group_free(&remote);
    }
    if (other) {
        other->hash += c->hash;
        other->ranks += c->ranks;
        other->between = true;
    }
    sonde__pages_put(c, c->pages_bytes);
    return other;
}

void sonde__mpi_comm_made(mpi_handle comm)
{
    struct sonde_mpi_comm *c = key_of(comm) == mpi.layout.no_comm ? NULL : comm_new(comm);
    uint64_t before = 0;
    if (!c)
        return;
    c->hash |= 1;
    sonde__shared_map_get(&hashes, c->hash, &before);
    c->which = (uint32_t)before + 1;
    sonde__shared_map_put(&hashes, c->hash, c->which);
    sonde__mpi_comm_freed(comm); /* one that the program gave back in a way that we do not see */
    if (!sonde__shared_map_put(&comms, key_of(comm), (uintptr_t)c))
        sonde__pages_put(c, c->pages_bytes);
}

static struct sonde_mpi_comm *known_comm(mpi_handle comm)
{
    uint64_t known = 0;
    return sonde__shared_map_get(&comms, key_of(comm), &known) ? (struct sonde_mpi_comm *)(uintptr_t)known : NULL;
}

struct sonde_mpi_comm *sonde__mpi_comm(mpi_handle comm)
{
    struct sonde_mpi_comm *c = known_comm(comm);
    if (!c) {
        sonde__mpi_comm_made(comm);
        c = known_comm(comm);
    }
    return c;
}

void sonde__mpi_comm_freed(mpi_handle comm)
{
    uint64_t known = 0;
    if (sonde__shared_map_take(&comms, key_of(comm), &known)) {
        struct sonde_mpi_comm *c = (struct sonde_mpi_comm *)(uintptr_t)known;
        sonde__pages_put(c, c->pages_bytes);
    }
}

uint32_t sonde__mpi_comm_string(struct sonde_mpi_comm *c)
{
    char text[64];
    if (c && !c->string) {
        const int n = snprintf(text, sizeof text, "%u ranks, %08x, %u", c->ranks, (unsigned)(c->hash >> 32 ^ c->hash), c->which);
        c->string = sonde_string(text, (size_t)n);
    }
    return c ? c->string : 0;
}

uint32_t sonde__mpi_member(const struct sonde_mpi_comm *c, int rank)
{
    return c && rank >= 0 && (uint32_t)rank < c->count ? c->members[rank] : 0;
}

/* ---- requests -------------------------------------------------------------------- */

static struct {
    struct sonde_lock lock;
    struct sonde_map map; /* handle -> struct slot */
    struct slot {
        struct sonde_mpi_request request;
        struct slot *next; /* that is free */
    } *spare;
    uint32_t slots;
} requests;

static struct slot *slot_get(void)
{
    struct slot *s = requests.spare;
    if (s) {
        requests.spare = s->next;
    } else if (requests.slots < REQUESTS_MAX && (s = sonde__memory_get(sizeof *s))) {
        requests.slots++;
    }
    return s;
}

static void slot_put(struct slot *s)
{
    s->next = requests.spare;
    requests.spare = s;
}

void sonde__mpi_request_put(mpi_handle request, const struct sonde_mpi_request *what)
{
    static struct sonde_once said;
    struct slot *s = NULL;
    if (sonde__mpi_is_null_request(request))
        return;
    sonde__lock(&requests.lock);
    uint64_t *known = sonde__map_find(&requests.map, key_of(request));
    if (known)
        s = (struct slot *)(uintptr_t)*known;
    else if ((s = slot_get()) && !sonde__map_add(&requests.map, NULL, key_of(request), (uintptr_t)s)) {
        slot_put(s);
        s = NULL;
    }
    if (s)
        s->request = *what;
    sonde__unlock(&requests.lock);
    if (!s && sonde__once(&said))
        sonde_note("more than %u MPI requests under way: what comes in by the others is not recorded", REQUESTS_MAX);
}

bool sonde__mpi_request_take(mpi_handle request, struct sonde_mpi_request *out)
{
    bool found = false;
    sonde__lock(&requests.lock);
    const uint64_t *known = sonde__map_find(&requests.map, key_of(request));
    if (known) {
        struct slot *s = (struct slot *)(uintptr_t)*known;
        *out = s->request;
        found = true;
        if (!s->request.persistent) { /* its handle may be another's from now on */
            sonde__map_take(&requests.map, key_of(request), NULL);
            slot_put(s);
        } else {
            s->request.message.posted_ns = 0; /* until it is started again */
        }
    }
    sonde__unlock(&requests.lock);
    return found && out->message.posted_ns;
}

void sonde__mpi_request_forget(mpi_handle request)
{
    uint64_t known = 0;
    sonde__lock(&requests.lock);
    if (sonde__map_find(&requests.map, key_of(request)) && sonde__map_take(&requests.map, key_of(request), &known))
        slot_put((struct slot *)(uintptr_t)known);
    sonde__unlock(&requests.lock);
}

bool sonde__mpi_request_start(mpi_handle request, uint64_t now_ns, struct sonde_mpi_request *out)
{
    bool found = false;
    sonde__lock(&requests.lock);
    const uint64_t *known = sonde__map_find(&requests.map, key_of(request));
    if (known) {
        struct slot *s = (struct slot *)(uintptr_t)*known;
        s->request.message.posted_ns = now_ns;
        *out = s->request;
        found = true;
    }
    sonde__unlock(&requests.lock);
    return found;
}

void sonde__mpi_received(mpi_handle comm, uint32_t string, const void *status, struct sonde_message *out)
{
    const int *word = status;
    const int source = word[mpi.layout.source];
    int64_t bytes = 0;
    struct sonde_mpi_comm *c = string ? known_comm(comm) : sonde__mpi_comm(comm);
    if (string && c && c->string != string) /* another one has its handle by now */
        c = NULL;
    out->comm = string ? string : sonde__mpi_comm_string(c);
    out->peer = c ? sonde__mpi_member(c, source) : out->peer;
    out->tag = (uint32_t)word[mpi.layout.tag];
    out->bytes = !mpi.get_elements(status, mpi.layout.byte, &bytes) && bytes > 0 ? (uint64_t)bytes : 0; /* its type may have been freed, too */
    out->kind = source == mpi.layout.no_process ? SONDE_MESSAGE_CALL : SONDE_MESSAGE_RECEIVE;
}

bool sonde__mpi_request_ended(const struct sonde_mpi_request *r, const void *status, struct sonde_message *out)
{
    int cancelled = 0;
    *out = r->message;
    if (r->message.kind == SONDE_MESSAGE_RECEIVE && (mpi.test_cancelled(status, &cancelled) || cancelled))
        out->kind = SONDE_MESSAGE_CALL;
    else if (r->message.kind == SONDE_MESSAGE_RECEIVE)
        sonde__mpi_received(r->comm, r->message.comm, status, out);
    return out->kind != SONDE_MESSAGE_CALL && out->kind != SONDE_MESSAGE_SEND;
}

void sonde__mpi_forked(void)
{
    /* MPI knows no forked children: what is there stays the parent's, and a child that calls it nevertheless is told of as it would be. */
    memset(&requests, 0, sizeof requests);
}
