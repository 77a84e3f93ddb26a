/* patch.cc - instrument/patch.cu for warps of the CPU. */
#include "warp.h"

#include "instrument/patch.cu"

#include <pthread.h>

#include "made.h"

thread_local struct warp *warp_here;
thread_local unsigned warp_lane;

namespace {

struct thread {
    struct warp *of;
    unsigned lane;
    void *data;
    const struct made_access *access;
};

void *run(void *user)
{
    const struct thread *t = static_cast<const struct thread *>(user);
    const struct made_access *a = t->access;
    warp_here = t->of;
    warp_lane = t->lane;
    void *address = reinterpret_cast<void *>(a->address[t->lane]);
    if (a->async)
        SondeAsync(t->data, a->pc, address, 0, a->bytes);
    else
        SondeAccess(t->data, a->pc, address, a->bytes, a->flags, a->flags == SANITIZER_MEMORY_DEVICE_FLAG_WRITE ? &a->value[t->lane] : nullptr);
    return nullptr;
}

} // namespace

extern "C" void made_warp(void *data, unsigned multiprocessor, const struct made_access *access)
{
    struct warp w = {};
    struct thread threads[32];
    pthread_t made[32];
    unsigned count = 0;
    w.mask = access->mask;
    for (unsigned lane = 0; lane < 32; lane++) /* what has nothing to copy does not stay with the others */
        if (access->async && !access->address[lane])
            w.mask &= ~(1u << lane);
    w.multiprocessor = multiprocessor;
    pthread_barrier_init(&w.barrier, nullptr, static_cast<unsigned>(__builtin_popcount(w.mask)));
    for (unsigned lane = 0; lane < 32; lane++)
        if (access->mask >> lane & 1) {
            threads[count] = {&w, lane, data, access};
            pthread_create(&made[count], nullptr, run, &threads[count]);
            count++;
        }
    while (count)
        pthread_join(made[--count], nullptr);
    pthread_barrier_destroy(&w.barrier);
}
