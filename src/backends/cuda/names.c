/* names.c - names of kernels after code was unloaded.
 *
 * CUPTI's records name a kernel by its handle, and CUPTI knows the name of each handle for ever; the driver gives handles again, so that what is loaded
 * after something was unloaded may run under a name that is gone (CUDA 13.0: of 200 kernels that were loaded, launched and unloaded one after the
 * other all had the first one's). From the first unloading on the driver is asked at launches, once for each handle after each
 * unloading, and what it says replaces what the launch's record says.
 */
#include "sonde_cuda.h"

SONDE__HOT_DATA _Atomic uint32_t sonde__cuda_unloadings;

static struct sonde_shared_map functions; /* handle -> how often code had been unloaded << 32 | name */
static struct sonde_shared_map launches;  /* key -> name */

void sonde__cuda_code_gone(void)
{
    atomic_fetch_add_explicit(&sonde__cuda_unloadings, 1, memory_order_relaxed);
}

/* A launch may name a kernel of a library in place of a function. */
static const char *ask(CUfunction f)
{
    const struct sonde_cudrv *d = &sonde__cudrv;
    const char *name = NULL;
    CUlibrary library;
    if (!d->cuFuncGetName) {
        sonde_note("code was unloaded: kernels that are loaded afterwards may have names of what was there before, since this driver (of before "
                   "CUDA 12.3) does not tell names");
        return NULL;
    }
    if (d->cuKernelGetLibrary && d->cuKernelGetName && d->cuKernelGetLibrary(&library, (CUkernel)f) == CUDA_SUCCESS)
        return d->cuKernelGetName(&name, (CUkernel)f) == CUDA_SUCCESS ? name : NULL;
    if (d->cuFuncGetName(&name, f) == CUDA_SUCCESS)
        return name;
    return d->cuKernelGetName && d->cuKernelGetName(&name, (CUkernel)f) == CUDA_SUCCESS ? name : NULL; /* CUDA 12.3 has no other way to tell */
}

uint32_t sonde__cuda_name_now(CUfunction f)
{
    const uint32_t now = atomic_load_explicit(&sonde__cuda_unloadings, memory_order_relaxed);
    uint64_t known;
    if (sonde__shared_map_get(&functions, (uintptr_t)f, &known) && known >> 32 == now)
        return (uint32_t)known;
    sonde__cuda_quiet(true);
    const char *name = ask(f);
    sonde__cuda_quiet(false);
    const uint32_t id = name ? sonde_string(name, sonde__cuda_plain_name(name)) : 0;
    sonde__shared_map_put(&functions, (uintptr_t)f, (uint64_t)now << 32 | id);
    return id;
}

void sonde__cuda_launched(uint64_t key, CUfunction f)
{
    const uint32_t name = sonde__cuda_name_now(f);
    if (name && !sonde__shared_map_put(&launches, key, name))
        sonde_note("code was unloaded: no memory for the names of all launches since then, and some may be of what was unloaded");
}

uint32_t sonde__cuda_launch_name(uint64_t key)
{
    uint64_t name;
    return sonde__shared_map_take(&launches, key, &name) ? (uint32_t)name : 0;
}
