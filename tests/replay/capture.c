/* capture.c - a CUPTI between Sonde and the real one: passes everything on, and notes what came.
 *
 * Built as libcupti-capture.so and named in SONDE_CUPTI. SONDE_CAPTURE_CUPTI names
 * the real library, SONDE_CAPTURE_FILE what to write. Only programs that do not
 * load CUPTI themselves can be captured. For a machine with a GPU; see run.py.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backends/cuda/cupti_calls.h"
#include "capture.h"

#define PUBLIC __attribute__((visibility("default")))

static struct {
#define X(name) __typeof__(&name) name;
    SONDE_CUPTI_MAP(X)
#undef X
} real;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *path;
static struct {
    uint8_t bytes[1 << 20];
    size_t used;
    bool ending;
} out;
static CUpti_CallbackFunc subscriber;
static CUpti_BuffersCallbackCompleteFunc completed;
static __thread unsigned inside; /* calls that CUPTI itself makes are no news */

/* ---- writing -------------------------------------------------------------------- */

static uint64_t host_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct part {
    const void *bytes;
    size_t size;
};

/* By name each time: Sonde's threads have a table of descriptors of their own, in which an open file is not. */
static void write_out(const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    for (size_t done = 0; fd >= 0 && done < size;) {
        ssize_t n = write(fd, (const uint8_t *)bytes + done, size - done);
        if (n <= 0)
            abort(); /* half a capture is none */
        done += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
}

static void flush(void)
{
    write_out(out.bytes, out.used);
    out.used = 0;
}

static void append(const void *bytes, size_t size)
{
    if (out.used + size > sizeof out.bytes)
        flush();
    if (size > sizeof out.bytes) {
        write_out(bytes, size);
        return;
    }
    memcpy(out.bytes + out.used, bytes, size);
    out.used += size;
}

static void put(enum entry_kind kind, uint64_t at, const struct part *parts, int count)
{
    struct entry e = {.kind = kind, .thread = (uint32_t)syscall(SYS_gettid), .host_ns = at ? at : host_ns()};
    for (int i = 0; i < count; i++)
        e.bytes += (uint32_t)parts[i].size;
    pthread_mutex_lock(&lock);
    append(&e, sizeof e);
    for (int i = 0; i < count; i++)
        if (parts[i].size)
            append(parts[i].bytes, parts[i].size);
    if (out.ending)
        flush();
    pthread_mutex_unlock(&lock);
}

static void put_answer(enum answer_to to, CUptiResult status, const void *of, const void *of_too, uint64_t value)
{
    struct answer_entry a = {to, status, (uintptr_t)of, (uintptr_t)of_too, value};
    put(ENTRY_ANSWER, 0, &(struct part){&a, sizeof a}, 1);
}

static void put_device(void *driver, int ordinal)
{
    CUresult (*attribute)(int *, CUdevice_attribute, CUdevice), (*version)(int *), (*name)(char *, int, CUdevice);
    CUresult (*memory)(size_t *, CUdevice);
    struct device_entry d = {0};
    int number = 0;
    size_t bytes = 0;
    *(void **)&attribute = dlsym(driver, "cuDeviceGetAttribute");
    *(void **)&version = dlsym(driver, "cuDriverGetVersion");
    *(void **)&name = dlsym(driver, "cuDeviceGetName");
    *(void **)&memory = dlsym(driver, "cuDeviceTotalMem_v2");
    version(&number);
    memory(&bytes, ordinal);
    name(d.name, sizeof d.name, ordinal);
    d.driver_version = (uint32_t)number;
    d.memory_bytes = bytes;
    for (int i = 1; i < CAPTURE_ATTRIBUTES; i++)
        if (attribute(&d.attribute[i], (CUdevice_attribute)i, ordinal) != CUDA_SUCCESS)
            d.attribute[i] = 0;
    put(ENTRY_DEVICE, 0, &(struct part){&d, sizeof d}, 1);
}

/* The driver answers about devices only when it is initialized, which it is at the first call back. */
static void put_devices(void)
{
    static bool done;
    CUresult (*count_of)(int *);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int count = 0;
    if (done || !driver)
        return;
    done = true;
    *(void **)&count_of = dlsym(driver, "cuDeviceGetCount");
    inside++;
    if (count_of(&count) == CUDA_SUCCESS)
        for (int i = 0; i < count; i++)
            put_device(driver, i);
    inside--;
}

__attribute__((constructor)) static void begin(void)
{
    const char *library = getenv("SONDE_CAPTURE_CUPTI"), *file = getenv("SONDE_CAPTURE_FILE");
    void *cupti = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    uint64_t magic = CAPTURE_MAGIC;
    if (!cupti || !file)
        abort(); /* a mistake in how the capture was started */
#define X(name)                                          \
    if (!(*(void **)&real.name = dlsym(cupti, #name)))   \
        abort();
    SONDE_CUPTI_MAP(X)
#undef X
    path = strdup(file);
    unlink(path);
    append(&magic, sizeof magic);
}

/* ---- what comes -------------------------------------------------------------------- */

static void put_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData *d)
{
    struct part parts[2 + CAPTURE_POINTED];
    static const char none[512];
    int count = 2;
    struct call_entry c = {
        .domain = domain,
        .id = id,
        .site = d->callbackSite,
        .correlation = d->correlationId,
        .context_uid = d->contextUid,
        .context = (uintptr_t)d->context,
    };
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && d->functionParams)
        c.params_bytes = (uint32_t)capture_params_bytes(id);
    if (d->callbackSite == CUPTI_API_EXIT && d->functionReturnValue) {
        c.has_result = 1;
        c.result = *(const CUresult *)d->functionReturnValue;
    }
    parts[0] = (struct part){&c, sizeof c};
    parts[1] = (struct part){d->functionParams, c.params_bytes};
    for (size_t i = 0; i < CAPTURE_POINTED && c.params_bytes; i++) {
        const struct pointed *p = &capture_pointed[i];
        if (p->id != id)
            continue;
        const void *to = *(void *const *)((const char *)d->functionParams + p->offset);
        parts[count++] = (struct part){to ? to : none, p->bytes};
    }
    put(ENTRY_CALL, 0, parts, count);
}

/* Libraries bring megabytes; of larger pieces a capture tells only that they were loaded. */
enum { CODE_MAX = 1 << 20 };

static void put_resource(CUpti_CallbackId id, const CUpti_ResourceData *d)
{
    const CUpti_ModuleResourceData *module = d->resourceDescriptor;
    struct resource_entry r = {.id = id, .context = (uintptr_t)d->context, .stream = (uintptr_t)d->resourceHandle.stream};
    const void *what = d->resourceDescriptor;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED ||
        id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED) {
        r.bytes = sizeof(CUpti_GraphData);
    } else if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED && module) {
        what = module->pCubin;
        r.bytes = module->cubinSize <= CODE_MAX ? (uint32_t)module->cubinSize : 0;
    }
    put(ENTRY_RESOURCE, 0, (struct part[]){{&r, sizeof r}, {what, r.bytes}}, 2);
}

static void CUPTIAPI called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    if (!inside) {
        put_devices();
        if (domain == CUPTI_CB_DOMAIN_RESOURCE)
            put_resource(id, data);
        else if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
            put_call(domain, id, data);
    }
    subscriber(user, domain, id, data);
}

/* Once for each text, as far as a small table remembers; an address may get another text. */
static bool is_told(uint64_t address, const char *text)
{
    static struct {
        uint64_t address;
        char begin[64];
    } told[4096];
    const uint32_t i = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 52);
    char begin[sizeof told->begin] = "";
    snprintf(begin, sizeof begin, "%s", text);
    if (told[i].address == address && memcmp(told[i].begin, begin, sizeof begin) == 0)
        return true;
    told[i].address = address;
    memcpy(told[i].begin, begin, sizeof begin);
    return false;
}

/* Buffers come one at a time. */
static void put_text_of(const CUpti_Activity *record)
{
    int at = capture_text_at(record->kind);
    const char *text = at < 0 ? NULL : *(const char *const *)((const char *)record + at);
    uint64_t address = (uintptr_t)text;
    if (text && !is_told(address, text))
        put(ENTRY_STRING, 0, (struct part[]){{&address, sizeof address}, {text, strlen(text) + 1}}, 2);
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;
    const uint64_t at = host_ns();
    uint32_t count = 0, *sizes = malloc((valid / 8 + 1) * sizeof *sizes);
    const uint8_t *last = buffer;
    inside++;
    while (sizes && real.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (count)
            sizes[count - 1] = (uint32_t)((const uint8_t *)record - last);
        last = (const uint8_t *)record;
        sizes[count++] = 0;
        put_text_of(record);
    }
    inside--;
    if (sizes && count)
        sizes[count - 1] = (uint32_t)(buffer + valid - last);
    struct buffer_entry b = {(uintptr_t)context, stream, count, valid};
    put(ENTRY_BUFFER, at, (struct part[]){{&b, sizeof b}, {sizes, count * sizeof *sizes}, {buffer, valid}}, 3);
    free(sizes);
    completed(context, stream, buffer, size, valid);
}

/* ---- the functions that Sonde calls, passed on ---------------------------------------- */

#define PASS(name, params, args)                        \
    PUBLIC CUptiResult CUPTIAPI name params             \
    {                                                   \
        inside++;                                       \
        CUptiResult result = real.name args;            \
        inside--;                                       \
        return result;                                  \
    }

PASS(cuptiGetResultString, (CUptiResult result_, const char **text), (result_, text))
PASS(cuptiUnsubscribe, (CUpti_SubscriberHandle s), (s))
PASS(cuptiEnableCallback, (uint32_t on, CUpti_SubscriberHandle s, CUpti_CallbackDomain d, CUpti_CallbackId id), (on, s, d, id))
PASS(cuptiEnableDomain, (uint32_t on, CUpti_SubscriberHandle s, CUpti_CallbackDomain d), (on, s, d))
PASS(cuptiActivityEnable, (CUpti_ActivityKind kind), (kind))
PASS(cuptiActivityDisable, (CUpti_ActivityKind kind), (kind))
PASS(cuptiActivityGetNextRecord, (uint8_t *buffer, size_t valid, CUpti_Activity **record), (buffer, valid, record))
PASS(cuptiActivityGetNumDroppedRecords, (CUcontext context, uint32_t stream, size_t *count), (context, stream, count))
PASS(cuptiActivityFlushAll, (uint32_t flag), (flag))

PUBLIC CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    CUptiResult result = real.cuptiGetVersion(version);
    put(ENTRY_VERSION, 0, &(struct part){version, sizeof *version}, 1);
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    struct name_entry n = {domain, id};
    CUptiResult result = real.cuptiGetCallbackName(domain, id, name);
    if (result == CUPTI_SUCCESS && *name)
        put(ENTRY_NAME, 0, (struct part[]){{&n, sizeof n}, {*name, strlen(*name) + 1}}, 2);
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function, void *user)
{
    subscriber = function;
    inside++;
    CUptiResult result = real.cuptiSubscribe(handle, called_back, user);
    inside--;
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *cupti_ns)
{
    const uint64_t before = host_ns();
    CUptiResult result = real.cuptiGetTimestamp(cupti_ns);
    const uint64_t after = host_ns();
    if (result == CUPTI_SUCCESS)
        put(ENTRY_CLOCK, before + (after - before) / 2, &(struct part){cupti_ns, sizeof *cupti_ns}, 1);
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *id)
{
    inside++;
    CUptiResult result = real.cuptiGetContextId(context, id);
    inside--;
    put_answer(ANSWER_CONTEXT_ID, result, context, NULL, result == CUPTI_SUCCESS ? *id : 0);
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    inside++;
    CUptiResult result = real.cuptiGetDeviceId(context, id);
    inside--;
    put_answer(ANSWER_DEVICE_ID, result, context, NULL, result == CUPTI_SUCCESS ? *id : 0);
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t own, uint32_t *id)
{
    inside++;
    CUptiResult result = real.cuptiGetStreamIdEx(context, stream, own, id);
    inside--;
    /* A stream's handle is even; the low bit says which default stream was meant. */
    put_answer(ANSWER_STREAM_ID, result, context, (void *)((uintptr_t)stream << 1 | (own != 0)),
               result == CUPTI_SUCCESS ? *id : 0);
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    inside++;
    CUptiResult result = real.cuptiGetGraphNodeId(node, id);
    inside--;
    put_answer(ANSWER_NODE_ID, result, node, NULL, result == CUPTI_SUCCESS ? *id : 0);
    return result;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    completed = complete;
    return real.cuptiActivityRegisterCallbacks(requested, buffer_completed);
}

/* The last buffers may come while other libraries end: from here on nothing waits. */
__attribute__((destructor)) static void end(void)
{
    pthread_mutex_lock(&lock);
    out.ending = true;
    flush();
    pthread_mutex_unlock(&lock);
}
