/* counters.c - counters of the hardware for each launch (--counters), by CUPTI's range profiler. docs/counters.md.
 *
 * In its automatic mode each kernel is a range: CUPTI has it run alone, and the counts are the kernel's own (in the mode of ranges that the
 * tool sets, eight instructions more for each warp were counted on an H100). Ranges come back in the order of launches, so launches
 * go one at a time, and the calling contexts of those that have not been read are kept, ROUND of them in each context of CUDA's. Then, and
 * before a graph is launched, whose kernels would be one range, the profiler is stopped and read. Where their number is not that of
 * the launches, none of them is believed.
 *
 * Kernels have no device times meanwhile: CUPTI's records of them say 0.
 */
#include "sonde_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <cupti_range_profiler.h>

#include "counters/metrics.h"
#include "guest/lock.h"

#define PLACES_MAX 16u
#define ROUND      64u /* an image takes 60 kB for each range */

/* Everything that is called of the range profiler. CUPTI has it since CUDA 12.6. */
#define COUNTERS_MAP(X)                            \
    X(cuptiRangeProfilerEnable)                    \
    X(cuptiRangeProfilerDisable)                   \
    X(cuptiRangeProfilerGetCounterDataSize)        \
    X(cuptiRangeProfilerCounterDataImageInitialize) \
    X(cuptiRangeProfilerSetConfig)                 \
    X(cuptiRangeProfilerStart)                     \
    X(cuptiRangeProfilerStop)                      \
    X(cuptiRangeProfilerDecodeData)                \
    X(cuptiRangeProfilerGetCounterDataInfo)

struct place { /* a context of CUDA's */
    CUcontext context;
    uint32_t uid;
    bool broken;       /* its launches are not measured */
    bool configured, running;
    CUpti_RangeProfiler_Object *object;
    uint8_t *image;
    size_t image_bytes;
    uint32_t count;
    uint32_t nodes[ROUND]; /* of the launches since it was started */
};

bool sonde__cuda_counting;

static struct {
    struct sonde_lock lock; /* over all below, and from before a launch until after it */
    bool prepared, broken, replay;
    struct sonde_metrics wanted;
    uint32_t metrics[SONDE_METRICS_MAX], units[SONDE_METRICS_MAX]; /* strings */
    struct place places[PLACES_MAX];
    uint32_t place_count;
#define X(name) __typeof__(&name) name;
    COUNTERS_MAP(X)
#undef X
    __typeof__(&cuCtxPushCurrent_v2) cuCtxPushCurrent_v2;
    __typeof__(&cuCtxPopCurrent_v2) cuCtxPopCurrent_v2;
} c;

static __thread struct place *launching; /* this thread holds the lock, for a launch that is measured there, */
static __thread bool alone;              /* or for one that is not */

/* ---- what is wanted ------------------------------------------------------------------------------ */

const char *sonde__cuda_counters_begin(const char *list, bool replay, char *room, size_t size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    const char *why = driver ? sonde__cupti_counters() : "the driver is not loaded";
    if (!why)
        why = sonde__metrics_begin(room, size);
    if (why)
        return why;
#define X(name)                                                                  \
    if (!(*(void **)&c.name = sonde__metrics_function(#name, room, size)))       \
        return room;
    COUNTERS_MAP(X)
#undef X
    *(void **)&c.cuCtxPushCurrent_v2 = dlsym(driver, "cuCtxPushCurrent_v2");
    *(void **)&c.cuCtxPopCurrent_v2 = dlsym(driver, "cuCtxPopCurrent_v2");
    if (!c.cuCtxPushCurrent_v2 || !c.cuCtxPopCurrent_v2)
        return "the driver is too old";
    c.prepared = c.broken = false;
    c.place_count = 0;
    c.wanted = (struct sonde_metrics){.count = 0};
    if (!sonde__metrics_expand(&c.wanted, list)) {
        snprintf(room, size, "%s is no list of at most %u metrics", list, SONDE_METRICS_MAX);
        return room;
    }
    c.replay = replay;
    sonde__cuda_counting = true;
    return NULL;
}

/* At the first launch: a context is current. */
static bool prepare(CUdevice device)
{
    struct sonde_metrics *m = &c.wanted;
    c.prepared = true;
    if (!sonde__metrics_choose(m, (uint32_t)device, CUPTI_PROFILER_TYPE_RANGE_PROFILER, NULL, true))
        return false;
    for (size_t i = 0; i < m->count; i++) {
        c.metrics[i] = sonde_string(m->names[i], strlen(m->names[i]));
        c.units[i] = *m->units[i] ? sonde_string(m->units[i], strlen(m->units[i])) : 0;
    }
    if (m->passes > 1 && !c.replay) {
        sonde_note("counters: these metrics need %zu passes, one was made of none: ask for fewer, or run each kernel %zu times with --replay", m->passes,
                   m->passes);
        return false;
    }
    return true;
}

/* ---- a context ---------------------------------------------------------------------------------- */

static bool enable(struct place *p)
{
    CUpti_RangeProfiler_Enable_Params enabled = {.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE, .ctx = p->context};
    if (!sonde__metrics_worked(c.cuptiRangeProfilerEnable(&enabled), "cannot measure in this context"))
        return false;
    p->object = enabled.pRangeProfilerObject;
    CUpti_RangeProfiler_GetCounterDataSize_Params size = {
        .structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object, .pMetricNames = c.wanted.names, .numMetrics = c.wanted.count, .maxNumOfRanges = ROUND, .maxNumRangeTreeNodes = ROUND};
    if (!sonde__metrics_worked(c.cuptiRangeProfilerGetCounterDataSize(&size), "cannot tell what counters take"))
        return false;
    p->image_bytes = size.counterDataSize;
    p->image = sonde__pages_get(p->image_bytes);
    if (!p->image)
        sonde_note("counters: no memory for them");
    return p->image != NULL;
}

static struct place *place_of(CUcontext context, uint32_t uid)
{
    for (uint32_t i = 0; i < c.place_count; i++)
        if (c.places[i].uid == uid && c.places[i].context)
            return &c.places[i];
    struct place *p = NULL;
    for (uint32_t i = 0; i < c.place_count && !p; i++)
        p = c.places[i].context ? NULL : &c.places[i];
    if (!p && c.place_count == PLACES_MAX) {
        sonde_note("counters: in no more than %u contexts at once", PLACES_MAX);
        return NULL;
    }
    p = p ? p : &c.places[c.place_count++];
    *p = (struct place){.context = context, .uid = uid};
    p->broken = !enable(p);
    return p;
}

static bool start(struct place *p)
{
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params empty = {.structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE,
                                                                    .pRangeProfilerObject = p->object,
                                                                    .counterDataSize = p->image_bytes,
                                                                    .pCounterData = p->image};
    CUpti_RangeProfiler_SetConfig_Params config = {
        .structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object, .configSize = c.wanted.config_bytes, .pConfig = c.wanted.config, .counterDataImageSize = p->image_bytes, .pCounterDataImage = p->image, .range = CUPTI_AutoRange, .replayMode = CUPTI_KernelReplay, .maxRangesPerPass = ROUND, .numNestingLevels = 1, .minNestingLevel = 1};
    CUpti_RangeProfiler_Start_Params begin = {.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object};
    if (!sonde__metrics_worked(c.cuptiRangeProfilerCounterDataImageInitialize(&empty), "cannot empty the counters") ||
        (!p->configured && !sonde__metrics_worked(c.cuptiRangeProfilerSetConfig(&config), "the device does not take these metrics")))
        return false;
    p->configured = true;
    p->running = sonde__metrics_worked(c.cuptiRangeProfilerStart(&begin), "cannot begin to measure");
    return p->running;
}

static void missed(const struct place *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        sonde_counter_missed(p->nodes[i], sonde__cuda_context_device(p->uid), 1);
}

static bool evaluate(const struct place *p, size_t range, uint32_t node)
{
    double values[SONDE_METRICS_MAX] = {0};
    if (!sonde__metrics_values(&c.wanted, p->image, p->image_bytes, range, values))
        return false;
    for (size_t i = 0; i < c.wanted.count; i++)
        sonde_counter(node, sonde__cuda_context_device(p->uid), c.metrics[i], c.units[i], values[i]);
    return true;
}

/* Stops, and reads what was measured since the start. */
static void take(struct place *p)
{
    CUpti_RangeProfiler_Stop_Params stop = {.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object};
    CUpti_RangeProfiler_DecodeData_Params decode = {.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object};
    CUpti_RangeProfiler_GetCounterDataInfo_Params info = {.structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE,
                                                          .pCounterDataImage = p->image,
                                                          .counterDataImageSize = p->image_bytes};
    if (!p->running)
        return;
    p->running = false;
    bool good = sonde__metrics_worked(c.cuptiRangeProfilerStop(&stop), "cannot stop") && sonde__metrics_worked(c.cuptiRangeProfilerDecodeData(&decode), "cannot read them") &&
                sonde__metrics_worked(c.cuptiRangeProfilerGetCounterDataInfo(&info), "cannot read them");
    if (good && info.numTotalRanges != p->count) {
        sonde_note("counters: of %u launches there are %zu ranges, so it is not known which is whose: they are left out", p->count, info.numTotalRanges);
        good = false;
    }
    for (uint32_t i = 0; i < p->count && good; i++)
        if (!evaluate(p, i, p->nodes[i]))
            sonde_counter_missed(p->nodes[i], sonde__cuda_context_device(p->uid), 1);
    if (!good)
        missed(p);
    p->count = 0;
}

/* ---- launches ------------------------------------------------------------------------------------- */

static bool ready(void)
{
    CUdevice device = 0;
    if (!c.prepared) {
        sonde__cudrv.cuCtxGetDevice(&device);
        c.broken = !prepare(device);
    }
    return !c.broken;
}

/* The place where the launch will be a range; NULL: it will not be measured. */
static struct place *place_for(const CUpti_CallbackData *cd)
{
    struct place *p = ready() ? place_of(cd->context, cd->contextUid) : NULL;
    if (!p || p->broken)
        return NULL;
    if (p->count == ROUND)
        take(p);
    if (!p->running && !start(p)) {
        p->broken = true;
        return NULL;
    }
    return p;
}

static void take_all(void)
{
    for (uint32_t i = 0; i < c.place_count; i++)
        if (c.places[i].context)
            take(&c.places[i]);
}

/* CUPTI's name of it may be another's after code was unloaded (names.c). */
static uint32_t name_of(const CUpti_CallbackData *cd, CUfunction f)
{
    const char *name = cd->symbolName ? cd->symbolName : "";
    const uint32_t now = f && atomic_load_explicit(&sonde__cuda_unloadings, memory_order_relaxed) ? sonde__cuda_name_now(f) : 0;
    return now ? now : sonde_string(name, strlen(name));
}

void sonde__cuda_counters_before(enum sonde_cuda_what what, const CUpti_CallbackData *cd, CUfunction f, bool captured, const struct sonde_call *call)
{
    if (captured || launching || alone)
        return;
    const uint32_t node = call && what == SONDE_CUDA_LAUNCH ? sonde_call_operation(call, SONDE_OP_KERNEL, name_of(cd, f)) : 0;
    sonde__cuda_quiet(true);
    sonde__lock(&c.lock);
    struct place *p = what == SONDE_CUDA_LAUNCH && call ? place_for(cd) : NULL;
    if (p)
        p->nodes[p->count++] = node;
    else
        take_all(); /* what is not measured must be no range either */
    sonde__cuda_quiet(false);
    if (!p && node)
        sonde_counter_missed(node, sonde__cuda_context_device(cd->contextUid), 1);
    launching = p;
    alone = !p;
}

void sonde__cuda_counters_after(bool success)
{
    if (!launching && !alone)
        return;
    if (launching && !success && launching->count)
        launching->count--; /* it made no range */
    launching = NULL;
    alone = false;
    sonde__unlock(&c.lock);
}

/* ---- ends ------------------------------------------------------------------------------------------- */

void sonde__cuda_counters_context_gone(CUcontext context)
{
    if (!sonde__cuda_counting || launching || alone)
        return;
    sonde__cuda_quiet(true);
    sonde__lock(&c.lock);
    for (uint32_t i = 0; i < c.place_count; i++)
        if (c.places[i].context == context) {
            struct place *p = &c.places[i];
            CUpti_RangeProfiler_Disable_Params off = {.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object};
            take(p);
            if (p->object)
                c.cuptiRangeProfilerDisable(&off);
            sonde__pages_put(p->image, p->image_bytes);
            *p = (struct place){0};
        }
    sonde__unlock(&c.lock);
    sonde__cuda_quiet(false);
}

void sonde__cuda_counters_last(void)
{
    CUcontext popped;
    if (!sonde__cuda_counting || sonde__cuda_broken() || !sonde__lock_within(&c.lock, 1000))
        return;
    for (uint32_t i = 0; i < c.place_count; i++)
        if (c.places[i].context && c.places[i].running && c.cuCtxPushCurrent_v2(c.places[i].context) == CUDA_SUCCESS) {
            take(&c.places[i]);
            c.cuCtxPopCurrent_v2(&popped);
        }
    sonde__unlock(&c.lock);
}
