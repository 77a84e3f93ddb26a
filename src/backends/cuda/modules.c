/* modules.c - code that was loaded onto a device, each piece once.
 *
 * CUPTI shows the code (a cubin: what was in the program, or what the driver
 * compiled just now) only while the load runs, in the program's thread. There it
 * is hashed, and copied when it is new; the monitor thread stores the copies.
 * With lazy loading, the driver's default, only modules that are used come here.
 *
 * Bounded: copies that wait, and what is kept in all.
 */
#include "sonde_cuda.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdio.h>
#include <string.h>

#define WAITING_MAX ((size_t)256 << 20) /* bytes */
#define KEPT_MAX    ((size_t)1 << 30)

struct piece {
    struct piece *next;
    uint64_t hash;
    size_t bytes;
    uint8_t code[];
};

static struct sonde_shared_map seen; /* hash -> bytes */
static struct {
    struct sonde_lock lock;
    struct piece *first, **last;
    size_t waiting, kept;
} loaded;

/* Room among those that wait; the program goes on without when there is none. */
static bool reserve(size_t bytes)
{
    sonde__lock(&loaded.lock);
    const bool fits = loaded.waiting + bytes <= WAITING_MAX && loaded.kept + bytes <= KEPT_MAX;
    if (fits) {
        loaded.waiting += bytes;
        loaded.kept += bytes;
    }
    sonde__unlock(&loaded.lock);
    return fits;
}

static void append(struct piece *p)
{
    sonde__lock(&loaded.lock);
    if (!loaded.first)
        loaded.last = &loaded.first;
    *loaded.last = p;
    loaded.last = &p->next;
    sonde__unlock(&loaded.lock);
}

void sonde__cuda_module_loaded(const CUpti_ModuleResourceData *module)
{
    const size_t bytes = module ? module->cubinSize : 0;
    uint64_t known;
    if (!bytes || !module->pCubin)
        return;
    const uint64_t hash = XXH3_64bits(module->pCubin, bytes) | 1; /* 0 is no key */
    if (sonde__shared_map_get(&seen, hash, &known) || !sonde__shared_map_put(&seen, hash, bytes))
        return;
    struct piece *p = reserve(bytes) ? sonde__pages_get(sizeof *p + bytes) : NULL;
    if (!p) {
        sonde_note("code loaded onto the device is not stored: too much of it");
        return;
    }
    p->hash = hash;
    p->bytes = bytes;
    memcpy(p->code, module->pCubin, bytes);
    append(p);
}

void sonde__cuda_modules_store(void)
{
    sonde__lock(&loaded.lock);
    struct piece *p = loaded.first;
    loaded.first = NULL;
    sonde__unlock(&loaded.lock);
    for (struct piece *next; p; p = next) {
        char name[32];
        const size_t bytes = p->bytes;
        next = p->next;
        snprintf(name, sizeof name, "%016llx.cubin", (unsigned long long)p->hash);
        if (sonde_blob(name, p->code, bytes))
            sonde_note("code loaded onto the device could not be stored");
        sonde__pages_put(p, sizeof *p + bytes);
        sonde__lock(&loaded.lock);
        loaded.waiting -= bytes;
        sonde__unlock(&loaded.lock);
    }
}
