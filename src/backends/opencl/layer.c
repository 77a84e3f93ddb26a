/* layer.c - how the backend takes hold of the runtime, and its ops table.
 *
 * Two ways, of which a process uses one (the second one also where the agent comes into a program that runs, and then undone again):
 *  - as a layer: a loader that knows OPENCL_LAYERS calls clInitLayer, in its
 *    own initialization and under its lock. We keep its table, give ours, and
 *    do nothing else; the agent starts at the first hooked call.
 *  - by patching: for loaders without layers, the preloaded library calls
 *    sonde__attach_dispatch with the platforms that the loader found. Every
 *    object begins with a pointer to its vendor's table (cl_khr_icd); our hooks
 *    are written over its entries, and reach the vendor's functions through a
 *    copy that is found by the object's table.
 */
#include "opencl.h"

#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/lock.h"

#define EXPORT __attribute__((visibility("default")))
enum { TABLES_MAX = 8 };

const cl_icd_dispatch *_Atomic sonde__cl_layer_target;

static cl_icd_dispatch layer_table;

static struct patched {
    void *table;
    cl_icd_dispatch originals;
} patched[TABLES_MAX];
static _Atomic uint32_t patched_count;
static struct sonde_lock patch_lock;

/* ---- as a layer ------------------------------------------------------------------ */

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info info, size_t size, void *value,
                                         size_t *size_ret)
{
    static const char name[] = "sonde";
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *answer = info == CL_LAYER_NAME ? (const void *)name : &version;
    const size_t bytes = info == CL_LAYER_NAME ? sizeof name : sizeof version;
    if ((info != CL_LAYER_NAME && info != CL_LAYER_API_VERSION) || (value && size < bytes))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, answer, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
                                      cl_uint *entries_ret, const cl_icd_dispatch **layer)
{
    if (!target || !entries_ret || !layer)
        return CL_INVALID_VALUE;
    if (entries * sizeof(void *) < sizeof layer_table)
        return CL_INVALID_VALUE; /* older than OpenCL 3.0: patching serves it */
    layer_table = *target;
    if (atomic_load(&patched_count) == 0) {
#define X(name) layer_table.name = sonde__##name;
        SONDE_CL_TABLE_MAP(X)
#undef X
        atomic_store_explicit(&sonde__cl_layer_target, target, memory_order_release);
    }
    *entries_ret = sizeof layer_table / sizeof(void *);
    *layer = &layer_table;
    return CL_SUCCESS;
}

/* The loader cuts OPENCL_LAYERS at its colons, for good. The preloaded library
 * remembers the whole and puts it back, so that the program and its children
 * see what they were given. */
static void layers_repair(void)
{
    void (*repair)(void);
    *(void **)&repair = dlsym(RTLD_DEFAULT, "sonde__layers_repair");
    if (repair)
        repair();
}

void sonde__cl_clean_point(void)
{
    static _Atomic bool seen;
    if (atomic_load_explicit(&seen, memory_order_relaxed) ||
        atomic_exchange_explicit(&seen, true, memory_order_acq_rel))
        return;
    layers_repair();
}

/* ---- by patching -------------------------------------------------------------------- */

const cl_icd_dispatch *sonde__cl_originals(const void *object)
{
    const uint32_t count = atomic_load_explicit(&patched_count, memory_order_acquire);
    const void *table = object ? *(void *const *)object : NULL;
    for (uint32_t i = 0; i < count; i++)
        if (patched[i].table == table)
            return &patched[i].originals;
    return &patched[0].originals;
}

/* How much of cl_icd_dispatch a platform's table has: vendors built for an
 * older version end earlier, and what follows is not theirs. */
static size_t table_bytes(const cl_icd_dispatch *table, cl_platform_id platform)
{
    char version[128] = "";
    if (table->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL) != CL_SUCCESS ||
        strncmp(version, "OpenCL ", 7) != 0)
        return 0;
    const char *number = version + 7;
    return strncmp(number, "1.0", 3) == 0   ? offsetof(cl_icd_dispatch, clSetEventCallback)
           : strncmp(number, "1.1", 3) == 0 ? offsetof(cl_icd_dispatch, clCreateSubDevices)
           : strncmp(number, "1.2", 3) == 0
               ? offsetof(cl_icd_dispatch, clCreateCommandQueueWithProperties)
           : strncmp(number, "2.0", 3) == 0 ? offsetof(cl_icd_dispatch, clCloneKernel)
           : strncmp(number, "2.1", 3) == 0
               ? offsetof(cl_icd_dispatch, clSetProgramReleaseCallback)
           : strncmp(number, "2.2", 3) == 0
               ? offsetof(cl_icd_dispatch, clCreateBufferWithProperties)
               : sizeof(cl_icd_dispatch);
}

static bool make_writable(void *start, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t from = (uintptr_t)start & ~(page - 1);
    return mprotect((void *)from, (uintptr_t)start + bytes - from, PROT_READ | PROT_WRITE) == 0;
}

/* A vendor leaves out what it lacks; loaders look for that. */
static void entry_patch(void *entry, const void *hook, size_t offset, size_t bytes)
{
    void *_Atomic *slot = entry;
    if (offset < bytes && atomic_load_explicit(slot, memory_order_relaxed))
        atomic_store_explicit(slot, (void *)(uintptr_t)hook, memory_order_release);
}

/* With patch_lock held. */
static void table_patch(cl_platform_id platform)
{
    cl_icd_dispatch *table = *(cl_icd_dispatch **)platform;
    if (table->clGetPlatformInfo == NULL || table->clFinish == sonde__clFinish)
        return; /* no table, or hooked already */
    const uint32_t count = atomic_load(&patched_count);
    uint32_t slot = 0;
    while (slot < count && patched[slot].table != table) /* a vendor may be loaded anew */
        slot++;
    const size_t bytes = table_bytes(table, platform);
    if (bytes == 0 || slot == TABLES_MAX || !make_writable(table, bytes)) {
        sonde_note("the dispatch table of an OpenCL platform could not be hooked");
        return;
    }
    patched[slot].table = table;
    memcpy(&patched[slot].originals, table, bytes);
    if (slot == count)
        atomic_store(&patched_count, count + 1);
#define X(name)                                                                       \
    entry_patch(&table->name, (const void *)(uintptr_t)sonde__##name,                            \
                offsetof(cl_icd_dispatch, name), bytes);
    SONDE_CL_TABLE_MAP(X)
#undef X
}

/* Called by the preloaded library (src/agent/preload/preload.c), outside of any lock. */
EXPORT void sonde__attach_dispatch(const cl_platform_id *platforms, cl_uint count);
void sonde__attach_dispatch(const cl_platform_id *platforms, cl_uint count)
{
    if (atomic_load(&sonde__cl_layer_target))
        return; /* the loader has hooked us in already */
    sonde__lock(&patch_lock);
    for (cl_uint i = 0; i < count; i++)
        if (platforms[i])
            table_patch(platforms[i]);
    sonde__unlock(&patch_lock);
}

/* ---- in a program that runs ---------------------------------------------------------------- */

/* The loader that the program has; asked as by the program itself, so that it starts if it has not yet. */
static bool attach(void)
{
    cl_platform_id platforms[TABLES_MAX * 2];
    cl_uint count = 0;
    void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
    cl_api_clGetPlatformIDs get = NULL;
    if (loader)
        *(void **)&get = dlsym(loader, "clGetPlatformIDs");
    (void)dlerror();
    if (get && get(TABLES_MAX * 2, platforms, &count) == CL_SUCCESS)
        sonde__attach_dispatch(platforms, count < TABLES_MAX * 2 ? count : TABLES_MAX * 2);
    if (loader)
        dlclose(loader);
    return atomic_load(&patched_count) != 0;
}

/* False: it is another's by now, who may call ours. */
static bool entry_restore(void *entry, const void *hook, const void *original)
{
    void *_Atomic *slot = entry;
    void *ours = (void *)(uintptr_t)hook;
    if (!original || original == hook)
        return true;
    return atomic_compare_exchange_strong(slot, &ours, (void *)(uintptr_t)original) || ours == original;
}

static bool detach(void)
{
    bool whole = true;
    sonde__lock(&patch_lock);
    for (uint32_t i = 0; i < atomic_load(&patched_count); i++) {
        cl_icd_dispatch *table = patched[i].table;
#define X(name)                                                                                     if (patched[i].originals.name)                                                                  whole &= entry_restore(&table->name, (const void *)(uintptr_t)sonde__##name,                                       (const void *)(uintptr_t)patched[i].originals.name);
        SONDE_CL_TABLE_MAP(X)
#undef X
    }
    sonde__unlock(&patch_lock);
    return whole;
}

/* ---- the ops table -------------------------------------------------------------------- */

static void release(uint64_t token)
{
    cl_event event = (cl_event)(uintptr_t)token;
    for (struct sonde_cl_device *device = sonde__cl_devices(); device; device = device->next)
        sonde__cl_clock_lost(device->clock, token);
    sonde__cl_target(event)->clReleaseEvent(event);
}

static bool times_get(const cl_icd_dispatch *real, cl_event event, struct sonde_times *times)
{
    return real->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED,
                                         sizeof times->queued_ns, &times->queued_ns, NULL) == CL_SUCCESS &&
           real->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_SUBMIT,
                                         sizeof times->submit_ns, &times->submit_ns, NULL) == CL_SUCCESS &&
           real->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
                                         sizeof times->start_ns, &times->start_ns, NULL) == CL_SUCCESS &&
           real->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END,
                                         sizeof times->end_ns, &times->end_ns, NULL) == CL_SUCCESS;
}

static enum sonde_poll poll(uint64_t token, uint32_t lane, struct sonde_times *times)
{
    cl_event event = (cl_event)(uintptr_t)token;
    const cl_icd_dispatch *real = sonde__cl_target(event);
    struct sonde_cl_device *device = sonde__cl_lane_device(lane);
    struct sonde_cl_clock *clock = device ? device->clock : NULL;
    cl_int status = CL_QUEUED;
    if (real->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                             NULL) != CL_SUCCESS)
        status = CL_INVALID_EVENT;
    if (status > CL_COMPLETE)
        return SONDE_POLL_PENDING;
    enum sonde_poll answer = status < 0                      ? SONDE_POLL_FAILED
                             : times_get(real, event, times) ? SONDE_POLL_DONE
                                                             : SONDE_POLL_NO_TIMES;
    if (answer != SONDE_POLL_DONE)
        sonde__cl_clock_lost(clock, token);
    else if (!sonde__cl_clock_convert(device, token, times))
        return SONDE_POLL_PENDING;
    real->clReleaseEvent(event);
    return answer;
}

static void sync_clocks(void)
{
    for (struct sonde_cl_device *device = sonde__cl_devices(); device; device = device->next)
        sonde__cl_clock_sync(device);
}

static void forked(void)
{
    sonde__cl_objects_forget();
    sonde__cl_values_forget();
}

static const char *const api_names[] = {
    [API_none] = NULL,
#define X(name) [API_##name] = #name,
    SONDE_CL_API_MAP(X)
#undef X
};

const struct sonde_backend sonde_backend_opencl = {
    .size = sizeof(struct sonde_backend),
    .name = "opencl",
    .api_names = api_names,
    .api_count = API_COUNT,
    .poll = poll,
    .release = release,
    .sync_clocks = sync_clocks,
    .collect = sonde__cl_values_collect,
    .attach = attach,
    .detach = detach,
    .forked = forked,
};
