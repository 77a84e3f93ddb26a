/* hostcopies.c - room in the host's memory for copies for which the device has none (--values-host-memory).
 *
 * Kernels reach page-locked memory by its own address, over the bus: what is there is copied and compared by the same kernels, in the
 * program's stream, and nobody waits for it. Freeing such memory would wait for what the device does, so it stays until its context ends, and
 * is used again: in the stream that had it last at once, since what comes there comes behind the comparison; in others once a kernel of ours
 * behind the comparison has told its ticket, in the memory itself, behind the copy.
 */
#include "sonde_cuda.h"

#include <string.h>

#include "guest/lock.h"

#define COPIES_MAX 256u /* of a context */

struct sonde_cuda_host_copies {
    struct sonde_lock lock; /* of what follows */
    CUdeviceptr sums;       /* for the kernel that tells: struct sonde_ptx_told of each copy */
    uint64_t refused;       /* as many bytes the driver did not give; 0: none yet */
    struct sonde_cuda_host_copy copy[COPIES_MAX];
};

/* The kernel that hashes reads nothing where there are no bytes. */
static bool tell(CUstream stream, uint64_t sums, uint64_t told, uint64_t ticket)
{
    uint64_t none = 0;
    return sonde__cuda_twins.cuLaunchKernel((CUfunction)sonde__cuda_own()->digest, 1, 1, 1, 32, 1, 1, 0, stream,
                                            (void *[]){&none, &none, &none, &sums, &told, &ticket}, NULL) == CUDA_SUCCESS;
}

/* With a launch of that kernel: the driver loads it now, and not while one of the program's waits for the host (coarse.c). */
void sonde__cuda_host_ready(struct sonde_cuda_place *p)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    const size_t bytes = (COPIES_MAX + 1) * sizeof(struct sonde_ptx_told);
    struct sonde_cuda_host_copies *h = p->host ? NULL : sonde__pages_get(sizeof *h);
    if (!h)
        return;
    if (t->cuMemAlloc_v2(&h->sums, bytes) == CUDA_SUCCESS && t->cuMemsetD8Async(h->sums, 0, bytes, p->stream) == CUDA_SUCCESS &&
        tell(p->stream, h->sums, h->sums + COPIES_MAX * sizeof(struct sonde_ptx_told), 0))
        p->host = h;
    else
        sonde__pages_put(h, sizeof *h);
}

/* ---- one of them ------------------------------------------------------------------------------------ */

static bool is_over(const struct sonde_cuda_host_copy *c)
{
    const struct sonde_ptx_told *told = (const void *)(uintptr_t)(c->at + c->bytes);
    return __atomic_load_n(&told->ticket, __ATOMIC_ACQUIRE) == c->ticket;
}

/* The smallest that there is. */
static struct sonde_cuda_host_copy *find(struct sonde_cuda_host_copies *h, uint64_t key, uint64_t bytes)
{
    struct sonde_cuda_host_copy *best = NULL;
    for (uint32_t i = 0; i < COPIES_MAX; i++) {
        struct sonde_cuda_host_copy *c = &h->copy[i];
        if (!c->used && c->bytes >= bytes && (!best || c->bytes < best->bytes) && (c->key == key || is_over(c)))
            best = c;
    }
    return best;
}

/* A place for another; NULL: none is left, or the driver would not give it. */
static struct sonde_cuda_host_copy *find_empty(struct sonde_cuda_host_copies *h, uint64_t bytes)
{
    for (uint32_t i = 0; i < COPIES_MAX && (!h->refused || bytes < h->refused); i++)
        if (!h->copy[i].used && !h->copy[i].bytes)
            return &h->copy[i];
    return NULL;
}

/* Of another size than is asked for, as the next one may be larger; of that size, if there is no more. 0: none. */
static uint64_t take(uint64_t bytes)
{
    const uint64_t room = sonde__room_bytes(bytes);
    if (sonde_values_host_take(room))
        return room;
    return sonde_values_host_take(bytes) ? bytes : 0;
}

static bool make(struct sonde_cuda_host_copies *h, struct sonde_cuda_host_copy *c, uint64_t bytes)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread's capture forbids nothing here */
    const uint64_t room = take(bytes);
    void *at = NULL;
    if (!room)
        return false;
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    const CUresult result = sonde__cuda_twins.cuMemHostAlloc(&at, room + sizeof(struct sonde_ptx_told), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    sonde__cuda_twins.cuThreadExchangeStreamCaptureMode(&mode);
    if (result != CUDA_SUCCESS) {
        sonde_values_host_give(room);
        sonde__lock(&h->lock);
        h->refused = h->refused && h->refused < bytes ? h->refused : bytes;
        sonde__unlock(&h->lock);
        return false;
    }
    memset((char *)at + room, 0, sizeof(struct sonde_ptx_told));
    c->at = (uintptr_t)at;
    c->bytes = room;
    return true;
}

struct sonde_cuda_host_copy *sonde__cuda_host_get(struct sonde_cuda_place *p, uint64_t key, uint64_t bytes)
{
    struct sonde_cuda_host_copies *h = p->host;
    if (!h)
        return NULL;
    sonde__lock(&h->lock);
    struct sonde_cuda_host_copy *c = find(h, key, bytes);
    const bool there = c;
    c = c ? c : find_empty(h, bytes);
    if (c)
        c->used = true;
    sonde__unlock(&h->lock);
    if (!c || there || make(h, c, bytes))
        return c;
    sonde__lock(&h->lock);
    c->used = false;
    sonde__unlock(&h->lock);
    return NULL;
}

void sonde__cuda_host_put(struct sonde_cuda_place *p, CUstream stream, uint64_t key, struct sonde_cuda_host_copy *c)
{
    struct sonde_cuda_host_copies *h = p->host;
    tell(stream, h->sums + (size_t)(c - h->copy) * sizeof(struct sonde_ptx_told), c->at + c->bytes, c->ticket + 1);
    sonde__lock(&h->lock);
    c->ticket++;
    c->key = stream == CU_STREAM_PER_THREAD ? 0 : key; /* by that name each thread has another */
    c->used = false;
    sonde__unlock(&h->lock);
}

/* ---- ends ------------------------------------------------------------------------------------------- */

void sonde__cuda_host_stream_gone(uint32_t uid, CUstream stream)
{
    const struct sonde_cuda_place *p = sonde__cuda_place_known(uid);
    struct sonde_cuda_host_copies *h = p ? p->host : NULL;
    const uint64_t key = sonde__cuda_coarse_stream(stream, false, uid);
    if (!h)
        return;
    sonde__lock(&h->lock);
    for (uint32_t i = 0; i < COPIES_MAX; i++)
        if (h->copy[i].key == key)
            h->copy[i].key = 0;
    sonde__unlock(&h->lock);
}

/* The driver frees all. */
void sonde__cuda_host_gone(struct sonde_cuda_place *p)
{
    struct sonde_cuda_host_copies *h = p->host;
    uint64_t bytes = 0;
    if (!h)
        return;
    sonde__lock(&h->lock);
    for (uint32_t i = 0; i < COPIES_MAX; i++)
        bytes += h->copy[i].bytes;
    sonde__unlock(&h->lock);
    sonde_values_host_give(bytes);
}
