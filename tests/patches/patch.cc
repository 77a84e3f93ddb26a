/* patch.cc - instrument/patch.cu for warps of the CPU. */
#include "warp.h"

#include "instrument/patch.cu"

#include <pthread.h>

#include "made.h"

thread_local struct warp *warp_here;
thread_local unsigned warp_lane;

namespace {

/* The lanes are threads of the program, the same ones for all warps, which come one after the other. */
struct {
    pthread_barrier_t begin, end; /* of all lanes, and of who makes the warp */
    bool made;
    struct warp warp;
    void *data;
    const struct made_access *access;
} here;

void access_one(unsigned lane)
{
    const struct made_access *a = here.access;
    void *address = reinterpret_cast<void *>(a->address[lane]);
    if (a->bulk)
        a->bulk(here.data, a->pc, a->address[lane], 0, a->pieces);
    else if (a->async)
        (made_remote ? SondeRemoteAsync : SondeAsync)(here.data, a->pc, address, 0, a->bytes);
    else
        (made_remote ? SondeRemote : SondeAccess)(here.data, a->pc, address, a->bytes, a->flags, a->flags == SANITIZER_MEMORY_DEVICE_FLAG_WRITE ? &a->value[lane] : nullptr);
}

void *run(void *lane)
{
    warp_here = &here.warp;
    warp_lane = static_cast<unsigned>(reinterpret_cast<uintptr_t>(lane));
    for (;;) {
        pthread_barrier_wait(&here.begin);
        if (here.access->mask >> warp_lane & 1)
            access_one(warp_lane);
        pthread_barrier_wait(&here.end);
    }
    return nullptr;
}

void make_lanes()
{
    pthread_t lane;
    here.made = true;
    pthread_barrier_init(&here.begin, nullptr, 33);
    pthread_barrier_init(&here.end, nullptr, 33);
    for (uintptr_t k = 0; k < 32; k++)
        pthread_create(&lane, nullptr, run, reinterpret_cast<void *>(k));
}

} // namespace

extern "C" SanitizerPatchResult made_bulk_load(void *user, uint64_t pc, uint64_t at, uint32_t shared, uint32_t pieces)
{
    return SondeBulkLoad(user, pc, at, shared, 0, pieces, 0);
}

extern "C" void made_warp(void *data, unsigned multiprocessor, const struct made_access *access)
{
    if (!here.made)
        make_lanes();
    here.data = data;
    here.access = access;
    here.warp.mask = access->mask;
    for (unsigned lane = 0; lane < 32; lane++) /* what has nothing to copy does not stay with the others */
        if (access->async && !access->address[lane])
            here.warp.mask &= ~(1u << lane);
    here.warp.multiprocessor = multiprocessor;
    pthread_barrier_init(&here.warp.barrier, nullptr, static_cast<unsigned>(__builtin_popcount(here.warp.mask)));
    pthread_barrier_wait(&here.begin);
    pthread_barrier_wait(&here.end);
    pthread_barrier_destroy(&here.warp.barrier);
}
