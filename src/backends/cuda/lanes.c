/* lanes.c - contexts, streams, devices and events, as records and as hooks name them.
 *
 * Records name a stream by two numbers that CUPTI never uses twice in a process:
 * a context made after another was destroyed has new ones, and so new lanes. A
 * program names it by handles, which are used again: what a handle stands for is
 * kept until the stream is destroyed.
 */
#include "sanitizer.h"

#include <stdio.h>
#include <string.h>

static struct sonde_lock making;
static struct sonde_cuda_device devices[SONDE_CUDA_DEVICES_MAX];
static uint32_t numbers[SONDE_CUDA_DEVICES_MAX]; /* under `making`; [ordinal]: the device's row, 0 none yet */
static struct sonde_shared_map lanes;   /* context << 32 | stream -> lane */
static struct sonde_shared_map handles; /* context and CUstream -> stream */
static struct sonde_shared_map owners;  /* context -> device << 32 | default stream + 1 */
static struct sonde_shared_map events;  /* CUevent -> its last record's correlation */
static struct sonde_shared_map apart;   /* context << 32 | stream + 1: does not block */

/* ---- devices ------------------------------------------------------------------------- */

static char kernel_module[32]; /* "580.159.04, ", or nothing */

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159  Tue ..." and its open variant. */
void sonde__cuda_read_driver(void)
{
    char line[256];
    FILE *f = fopen("/proc/driver/nvidia/version", "re");
    const char *at = f && fgets(line, sizeof line, f) ? strstr(line, "  ") : NULL;
    if (f)
        fclose(f);
    while (at && *at && (*at < '0' || *at > '9'))
        at++;
    if (at && *at)
        snprintf(kernel_module, sizeof kernel_module, "%.*s, ", (int)strcspn(at, " \n"), at);
}

static int attribute(CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    sonde__cudrv.cuDeviceGetAttribute(&value, which, device);
    return value;
}

static uint32_t make_device(struct sonde_cuda_device *d, uint32_t ordinal)
{
    char name[256] = "CUDA device", driver[64];
    size_t memory = 0;
    int cuda = 0;
    CUdevice device;
    if (sonde__cudrv.cuDeviceGet(&device, (int)ordinal) != CUDA_SUCCESS)
        return 0;
    sonde__cudrv.cuDeviceGetName(name, sizeof name, device); /* of a MIG slice: with its profile */
    sonde__cudrv.cuDeviceTotalMem_v2(&memory, device);
    sonde__cudrv.cuDriverGetVersion(&cuda);
    snprintf(driver, sizeof driver, "%sCUDA %d.%d", kernel_module, cuda / 1000, cuda % 1000 / 10);
    d->major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    d->minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    d->multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    d->max_threads = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    d->max_blocks = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    d->max_registers = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    d->max_shared = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    d->reserved_shared = attribute(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    const int domain = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID), bus = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    const int slot = attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    return sonde_device_add(&(struct sonde_device_info){.backend = &sonde_backend_cuda,
                                                        .platform = "CUDA",
                                                        .name = name,
                                                        .vendor = "NVIDIA",
                                                        .driver = driver,
                                                        .kind = 2,
                                                        .memory_bytes = memory,
                                                        .compute_units = (uint32_t)d->multiprocessors,
                                                        .pci = (uint32_t)domain << 16 | (uint32_t)bus << 8 | (uint32_t)slot << 3});
}

/* Devices are numbered as CUDA numbers them, whichever the program uses first: those below it have rows, too. */
struct sonde_cuda_device *sonde__cuda_device(uint32_t ordinal)
{
    if (ordinal >= SONDE_CUDA_DEVICES_MAX)
        return NULL;
    struct sonde_cuda_device *d = &devices[ordinal];
    if (__builtin_expect(atomic_load_explicit(&d->id, memory_order_acquire) != 0, 1))
        return d;
    sonde__cuda_quiet(true);
    sonde__lock(&making);
    for (uint32_t i = 0; i <= ordinal; i++)
        if (!numbers[i])
            numbers[i] = make_device(&devices[i], i);
    atomic_store_explicit(&d->id, numbers[ordinal], memory_order_release);
    sonde__unlock(&making);
    sonde__cuda_quiet(false);
    return atomic_load_explicit(&d->id, memory_order_relaxed) ? d : NULL;
}

uint32_t sonde__cuda_device_here(void)
{
    CUdevice ordinal;
    if (!atomic_load(&sonde__cuda_on))
        return 0;
    sonde__cuda_quiet(true);
    const bool known = sonde__cudrv.cuCtxGetDevice(&ordinal) == CUDA_SUCCESS && ordinal >= 0;
    sonde__cuda_quiet(false);
    const struct sonde_cuda_device *device = known ? sonde__cuda_device((uint32_t)ordinal) : NULL;
    return device ? atomic_load(&device->id) : 0;
}

struct sonde_cuda_device *sonde__cuda_device_next(uint32_t *at)
{
    while (*at < SONDE_CUDA_DEVICES_MAX)
        if (atomic_load_explicit(&devices[(*at)++].id, memory_order_acquire))
            return &devices[*at - 1];
    return NULL;
}

bool sonde__cuda_several_devices(void)
{
    uint32_t at = 0;
    return sonde__cuda_device_next(&at) && sonde__cuda_device_next(&at);
}

/* ---- contexts ---------------------------------------------------------------------------- */

static void know_context(CUcontext context, uint32_t uid)
{
    uint32_t ordinal = 0, stream = 0;
    uint64_t known;
    if (sonde__shared_map_get(&owners, uid, &known))
        return;
    sonde__cuda_quiet(true);
    if (sonde__cupti.cuptiGetDeviceId(context, &ordinal) == CUPTI_SUCCESS) {
        const bool named = sonde__cupti.cuptiGetStreamIdEx(context, NULL, 0, &stream) == CUPTI_SUCCESS;
        sonde__shared_map_put(&owners, uid, (uint64_t)ordinal << 32 | (named ? stream + 1 : 0));
    }
    sonde__cuda_quiet(false);
}

__attribute__((hot)) void sonde__cuda_context_used(CUcontext context, uint32_t uid)
{
    SONDE__HOT_DATA static _Atomic uint64_t seen[16]; /* of the first thousand contexts; later ones are asked about each time */
    _Atomic uint64_t *word = &seen[uid / 64 % 16];
    const uint64_t bit = 1ull << uid % 64;
    uint64_t owner;
    if (uid < 1024 && atomic_load_explicit(word, memory_order_relaxed) & bit)
        return;
    know_context(context, uid);
    if (sonde__shared_map_get(&owners, uid, &owner))
        if (sonde__cuda_device((uint32_t)(owner >> 32)))
            sonde__cuda_series_device((uint32_t)(owner >> 32));
    if (uid < 1024)
        atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

void sonde__cuda_context_created(CUcontext context)
{
    uint32_t uid;
    if (sonde__cupti.cuptiGetContextId(context, &uid) == CUPTI_SUCCESS)
        know_context(context, uid);
}

static uint64_t handle_key(uint32_t context, CUstream stream)
{
    return (uint64_t)(uintptr_t)stream ^ (uint64_t)context << 48 ^ 1ull << 63;
}

static bool of_context(const struct sonde_map_entry *entry, void *user)
{
    return entry->value >> 32 == *(const uint32_t *)user;
}

void sonde__cuda_context_destroyed(CUcontext context)
{
    uint32_t uid;
    if (sonde__cupti.cuptiGetContextId(context, &uid) != CUPTI_SUCCESS)
        return;
    sonde__cuda_values_context_gone(uid);
    sonde__cuda_counters_context_gone(context);
    sonde__cuda_stalls_context_gone(context);
    sonde__shared_map_sweep(&handles, of_context, &uid);
    sonde__shared_map_sweep(&apart, of_context, &uid);
    sonde__cuda_capture_context_gone(uid);
    sonde__cuda_context_memory_gone(uid);
}

uint32_t sonde__cuda_context_device(uint32_t context)
{
    uint64_t owner;
    if (!sonde__shared_map_get(&owners, context, &owner))
        return 0;
    const struct sonde_cuda_device *device = sonde__cuda_device((uint32_t)(owner >> 32));
    return device ? device->id : 0;
}

/* ---- streams -------------------------------------------------------------------------------- */

static uint64_t apart_key(uint32_t context, uint32_t stream)
{
    return (uint64_t)context << 32 | (stream + 1);
}

uint32_t sonde__cuda_stream_made(CUcontext context, CUstream stream)
{
    uint32_t number;
    sonde__cuda_quiet(true);
    const CUptiResult result = sonde__cupti.cuptiGetStreamIdEx(context, stream, 0, &number);
    sonde__cuda_quiet(false);
    return result == CUPTI_SUCCESS ? number + 1 : 0;
}

/* Before anything can come to the stream, and so before its lane is made. */
void sonde__cuda_stream_does_not_block(uint32_t context, uint32_t stream)
{
    sonde__shared_map_put(&apart, apart_key(context, stream), (uint64_t)context << 32 | 1);
}

static uint32_t make_lane(uint32_t ordinal, uint32_t context, uint32_t stream)
{
    uint64_t owner = 0, known_apart;
    uint32_t flags = 0;
    char name[64];
    const struct sonde_cuda_device *device = sonde__cuda_device(ordinal);
    const bool known = sonde__shared_map_get(&owners, context, &owner);
    if (!device)
        return 0;
    if (known && (uint32_t)owner == stream + 1)
        flags = SONDE_LANE_LEGACY;
    else if (sonde__shared_map_get(&apart, apart_key(context, stream), &known_apart))
        flags = SONDE_LANE_NON_BLOCKING;
    if (sonde__sanitizer_on)
        flags |= SONDE_LANE_NO_TIMES;
    snprintf(name, sizeof name, flags & SONDE_LANE_LEGACY ? "default stream %u" : "stream %u", stream);
    return sonde_lane_add(device->id, context, flags, name);
}

uint32_t sonde__cuda_lane(uint32_t ordinal, uint32_t context, uint32_t stream)
{
    const uint64_t key = (uint64_t)context << 32 | stream;
    uint64_t lane = 0;
    if (sonde__shared_map_get(&lanes, key, &lane))
        return (uint32_t)lane;
    static struct sonde_lock adding;
    sonde__lock(&adding);
    if (!sonde__shared_map_get(&lanes, key, &lane)) {
        lane = make_lane(ordinal, context, stream);
        if (lane)
            sonde__shared_map_put(&lanes, key, lane);
    }
    sonde__unlock(&adding);
    return (uint32_t)lane;
}

uint32_t sonde__cuda_lane_of(CUcontext context, uint32_t uid, CUstream stream, bool own)
{
    /* Each thread's own default stream has one handle and many numbers. */
    const bool each = (own && !stream) || stream == CU_STREAM_PER_THREAD;
    uint64_t owner = 0, value = 0;
    uint32_t number = 0;
    if (!context)
        return 0;
    if (!sonde__shared_map_get(&owners, uid, &owner)) {
        know_context(context, uid);
        if (!sonde__shared_map_get(&owners, uid, &owner))
            return 0;
    }
    if (each || !sonde__shared_map_get(&handles, handle_key(uid, stream), &value)) {
        sonde__cuda_quiet(true);
        const CUptiResult result = sonde__cupti.cuptiGetStreamIdEx(context, stream, each, &number);
        sonde__cuda_quiet(false);
        if (result != CUPTI_SUCCESS)
            return 0;
        value = (uint64_t)uid << 32 | number;
        if (!each)
            sonde__shared_map_put(&handles, handle_key(uid, stream), value);
    }
    return sonde__cuda_lane((uint32_t)(owner >> 32), uid, (uint32_t)value);
}

void sonde__cuda_stream_destroyed(CUcontext context, CUstream stream)
{
    uint32_t uid;
    sonde__cuda_capture_stream_gone(stream);
    if (sonde__cupti.cuptiGetContextId(context, &uid) != CUPTI_SUCCESS)
        return;
    sonde__shared_map_take(&handles, handle_key(uid, stream), NULL);
    if (sonde__cuda_twins.coarse)
        sonde__cuda_host_stream_gone(uid, stream);
}

/* ---- events ----------------------------------------------------------------------------------- */

void sonde__cuda_event_record(CUevent event, uint64_t correlation)
{
    if (correlation)
        sonde__shared_map_put(&events, (uintptr_t)event, correlation);
    else
        sonde__shared_map_take(&events, (uintptr_t)event, NULL);
}

uint64_t sonde__cuda_event_recorded(CUevent event)
{
    uint64_t correlation = 0;
    sonde__shared_map_get(&events, (uintptr_t)event, &correlation);
    return correlation;
}
