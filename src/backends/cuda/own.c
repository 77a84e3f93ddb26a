/* own.c - kernels of ours (instrument/compare.h), and whether the driver takes what a callback puts into a launch.
 *
 * That CUPTI's callback may change a call's parameters is nowhere promised. So it is tried with a launch of our own, whose kernel and parameters
 * are others behind the callback, before any of the program's is changed.
 */
#include "sonde_cuda.h"

#include <string.h>

#include "guest/lock.h"

enum { PIECE = 16,
       PATTERN = 0xa5 };

static struct {
    struct sonde_lock lock;
    struct sonde_cuda_own kernels;
    enum { NOT_YET,
           READY,
           CANNOT } loaded,
        swaps;
} own;

static __thread void **instead; /* the parameters of kernels.copy, while that is to be launched in another's place */

static bool load(void)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    CUlibrary library;
    if (t->cuLibraryLoadData(&library, sonde__ptx_compare, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS &&
        t->cuLibraryGetKernel(&own.kernels.copy, library, SONDE_PTX_COPY) == CUDA_SUCCESS &&
        t->cuLibraryGetKernel(&own.kernels.compare, library, SONDE_PTX_COMPARE) == CUDA_SUCCESS &&
        t->cuLibraryGetKernel(&own.kernels.mark, library, SONDE_PTX_MARK) == CUDA_SUCCESS &&
        t->cuLibraryGetKernel(&own.kernels.digest, library, SONDE_PTX_DIGEST) == CUDA_SUCCESS)
        return true;
    sonde_note("values: the driver cannot compile Sonde's kernels: no values are looked at");
    return false;
}

const struct sonde_cuda_own *sonde__cuda_own(void)
{
    sonde__lock(&own.lock);
    if (own.loaded == NOT_YET)
        own.loaded = load() ? READY : CANNOT;
    sonde__unlock(&own.lock);
    return own.loaded == READY ? &own.kernels : NULL;
}

bool sonde__cuda_is_own(const char *name)
{
    static const char *const names[] = {SONDE_PTX_COPY, SONDE_PTX_COMPARE, SONDE_PTX_MARK, SONDE_PTX_DIGEST};
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && sonde__cuda_twins.on; i++)
        is = is || strcmp(name, names[i]) == 0;
    return is;
}

void sonde__cuda_own_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    const CUpti_CallbackData *cd = data;
    if (!instead || domain != CUPTI_CB_DOMAIN_DRIVER_API || id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel || cd->callbackSite != CUPTI_API_ENTER)
        return;
    cuLaunchKernel_params *p = (void *)(uintptr_t)cd->functionParams;
    p->f = (CUfunction)own.kernels.copy;
    p->kernelParams = instead;
}

/* A launch that would add to the first word of `at` copies its second piece to its third. */
static bool try_swap(const struct sonde_cuda_place *place, CUdeviceptr at)
{
    const struct sonde_cuda_twins *t = &sonde__cuda_twins;
    unsigned char seen[3 * PIECE] = {0};
    CUdeviceptr second = at + PIECE, third = at + 2ull * PIECE;
    uint64_t none = 0, one = 1;
    uint32_t grain = 0;
    void *compare[] = {&second, &second, &none, &none, &none, &grain, &at}, *copy[] = {&second, &third, &one, &none, &none};
    if (t->cuMemsetD8Async(at, 0, sizeof seen, place->stream) != CUDA_SUCCESS || t->cuMemsetD8Async(second, PATTERN, PIECE, place->stream) != CUDA_SUCCESS)
        return false;
    instead = copy;
    const CUresult made = t->cuLaunchKernel((CUfunction)own.kernels.compare, 1, 1, 1, 32, 1, 1, 0, place->stream, compare, NULL);
    instead = NULL;
    return made == CUDA_SUCCESS && t->cuMemcpyDtoHAsync_v2(seen, at, sizeof seen, place->stream) == CUDA_SUCCESS &&
           t->cuStreamSynchronize(place->stream) == CUDA_SUCCESS && seen[0] == 0 && seen[2 * PIECE] == PATTERN;
}

static enum sonde_value_missed why_not(void)
{
    return own.swaps == READY ? SONDE_VALUE_MISSED_NONE : (own.swaps == CANNOT ? SONDE_VALUE_MISSED_DRIVER : SONDE_VALUE_MISSED_MEMORY);
}

enum sonde_value_missed sonde__cuda_swaps(const struct sonde_cuda_place *place)
{
    CUdeviceptr at;
    if (own.swaps != NOT_YET)
        return why_not();
    if (!sonde__cuda_own())
        return SONDE_VALUE_MISSED_DRIVER;
    sonde__lock(&own.lock);
    if (own.swaps == NOT_YET && sonde__cuda_twins.cuMemAlloc_v2(&at, 3ull * PIECE) == CUDA_SUCCESS) {
        own.swaps = try_swap(place, at) ? READY : CANNOT;
        sonde__cuda_twins.cuMemFreeAsync(at, place->stream);
        if (own.swaps == CANNOT)
            sonde_note("values: this driver does not take what Sonde changes in a launch: kernels run as they are");
    }
    sonde__unlock(&own.lock);
    return why_not();
}
