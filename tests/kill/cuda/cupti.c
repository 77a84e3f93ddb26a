/* cupti.c - see device.h. What the program does, and a libcupti.so that tells of it. */
#include "device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>
#include <cupti.h>

#define PUBLIC __attribute__((visibility("default")))
#define RECORD sizeof(CUpti_ActivityKernel9)
#define CONTEXT ((CUcontext)(uintptr_t)0x1000)

enum { FLYING = 1 << 20 }; /* more than are ever under way */

/* A buffer of Sonde's, in the order in which they were asked for. */
struct buffer {
    struct buffer *next;
    uint8_t *bytes;
    size_t room, used;
    uint64_t first;
};

static struct {
    pthread_mutex_t lock;
    CUpti_CallbackFunc subscriber;
    void *user;
    CUpti_BuffersCallbackRequestFunc requested;
    CUpti_BuffersCallbackCompleteFunc completed;
    bool reports;
    struct buffer *oldest, **newest; /* the last one is being filled */
    uint64_t end_ns[FLYING];         /* of kernel n, at n % FLYING */
    uint64_t launched, ended;        /* ended: the kernels before this one, all of them */
    uint64_t free_ns;                /* when the queue's last kernel ends */
    uint32_t correlation;
    uint64_t hold_ns;
} D = {.lock = PTHREAD_MUTEX_INITIALIZER, .newest = &D.oldest};

uint64_t device_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- buffers; under D.lock ------------------------------------------------------------ */

static uint64_t ended(void)
{
    const uint64_t now = device_now_ns();
    while (D.ended < D.launched && D.end_ns[D.ended % FLYING] <= now)
        D.ended++;
    return D.ended;
}

static bool has_room(const struct buffer *b)
{
    return b->used + RECORD <= b->room;
}

/* Buffers whose kernels have all ended; `all`: the one that is being filled, too; `forced`: whatever runs on. */
static void hand_over(bool all, bool forced)
{
    for (struct buffer **link = &D.oldest; *link;) {
        struct buffer *b = *link;
        const bool over = forced || b->first + b->used / RECORD <= ended();
        if (!over || (!all && has_room(b))) {
            link = &b->next;
            continue;
        }
        for (size_t i = 0; i < b->used / RECORD; i++) {
            CUpti_ActivityKernel9 *k = (void *)(b->bytes + i * RECORD);
            if (D.end_ns[(b->first + i) % FLYING] > device_now_ns())
                k->start = k->end = 0;
        }
        *link = b->next;
        if (D.newest == &b->next)
            D.newest = link;
        pthread_mutex_unlock(&D.lock);
        D.completed(CONTEXT, 0, b->bytes, b->room, b->used);
        pthread_mutex_lock(&D.lock);
        free(b);
        link = &D.oldest; /* the list may have changed */
    }
}

static uint8_t *record_place(void)
{
    struct buffer *b = D.oldest;
    while (b && b->next)
        b = b->next;
    if (!b || !has_room(b)) {
        size_t most;
        b = calloc(1, sizeof *b);
        if (!b)
            abort();
        D.requested(&b->bytes, &b->room, &most);
        if (!b->bytes)
            abort();
        b->first = D.launched;
        *D.newest = b;
        D.newest = &b->next;
    }
    uint8_t *at = b->bytes + b->used;
    b->used += RECORD;
    return at;
}

/* CUPTI's thread. */
static void *worker(void *unused)
{
    const struct timespec pause = {0, 5000000};
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&D.lock);
        hand_over(false, false);
        pthread_mutex_unlock(&D.lock);
    }
    return unused;
}

/* ---- the program's side ---------------------------------------------------------------- */

static void call(CUpti_ApiCallbackSite site, CUpti_CallbackId id, const void *params)
{
    CUresult result = CUDA_SUCCESS;
    static uint64_t slot;
    const CUpti_CallbackData data = {
        .callbackSite = site,
        .functionName = "",
        .functionParams = params,
        .functionReturnValue = &result,
        .context = CONTEXT,
        .contextUid = 1,
        .correlationData = &slot,
        .correlationId = D.correlation,
    };
    if (D.subscriber)
        D.subscriber(D.user, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

void device_open(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*inject)(void) = NULL;
    pthread_t thread;
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library)
        *(void **)&inject = dlsym(library, "InitializeInjection");
    if (inject)
        inject();
    if (D.reports)
        pthread_create(&thread, NULL, worker, NULL);
}

static void launch(uint64_t length_ns, bool beside)
{
    const cuLaunchKernel_params params = {.gridDimX = 1, .blockDimX = 1};
    D.correlation++;
    call(CUPTI_API_ENTER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params);
    pthread_mutex_lock(&D.lock);
    for (const uint64_t begin = device_now_ns(); device_now_ns() - begin < D.hold_ns;)
        ;
    const uint64_t now = device_now_ns() + 2000, start = !beside && D.free_ns > now ? D.free_ns : now;
    if (D.reports) {
        const CUpti_ActivityKernel9 k = {
            .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
            .name = "steady",
            .contextId = 1,
            .streamId = beside ? 8 : 7,
            .correlationId = D.correlation,
            .gridX = 1,
            .gridY = 1,
            .gridZ = 1,
            .blockX = 1,
            .blockY = 1,
            .blockZ = 1,
            .start = start,
            .end = start + length_ns,
        };
        memcpy(record_place(), &k, sizeof k);
    }
    D.end_ns[D.launched++ % FLYING] = start + length_ns;
    D.free_ns = beside ? D.free_ns : start + length_ns;
    pthread_mutex_unlock(&D.lock);
    call(CUPTI_API_EXIT, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params);
}

void device_launch(uint64_t length_ns)
{
    launch(length_ns, false);
}

void device_launch_beside(uint64_t length_ns)
{
    launch(length_ns, true);
}

bool device_told(void)
{
    pthread_mutex_lock(&D.lock);
    const bool told = !D.oldest;
    pthread_mutex_unlock(&D.lock);
    return told;
}

void device_hold(uint64_t ns)
{
    D.hold_ns = ns;
}

void device_wait(void)
{
    const cuStreamSynchronize_params params = {0};
    D.correlation++;
    call(CUPTI_API_ENTER, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &params);
    const struct timespec pause = {0, 20000};
    while (device_ended() < D.launched)
        nanosleep(&pause, NULL);
    call(CUPTI_API_EXIT, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &params);
}

uint64_t device_ended(void)
{
    pthread_mutex_lock(&D.lock);
    const uint64_t count = ended();
    pthread_mutex_unlock(&D.lock);
    return count;
}

/* ---- CUPTI's functions --------------------------------------------------------------------- */

PUBLIC CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_SUCCESS ? "no error" : "an error";
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    *name = domain != CUPTI_CB_DOMAIN_DRIVER_API                ? NULL
            : id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel      ? "cuLaunchKernel"
            : id == CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize ? "cuStreamSynchronize"
                                                                : NULL;
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

PUBLIC CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function, void *user)
{
    D.subscriber = function;
    D.user = user;
    *handle = (CUpti_SubscriberHandle)(void *)&D;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    (void)handle;
    D.subscriber = NULL;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                                CUpti_CallbackId id)
{
    (void)on, (void)handle, (void)domain, (void)id;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
    (void)on, (void)handle, (void)domain;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *ns)
{
    *ns = device_now_ns();
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *id)
{
    (void)context;
    *id = 1;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    (void)context;
    *id = 0;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t own, uint32_t *id)
{
    (void)context, (void)stream, (void)own;
    *id = 7;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    (void)node, (void)id;
    return CUPTI_ERROR_INVALID_PARAMETER;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    D.reports |= kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    D.requested = request;
    D.completed = complete;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + RECORD : buffer;
    if (next + RECORD > buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (void *)next;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    *count = 0;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
    pthread_mutex_lock(&D.lock);
    hand_over(true, flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_unlock(&D.lock);
    return CUPTI_SUCCESS;
}
