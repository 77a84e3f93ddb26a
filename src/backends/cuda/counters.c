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

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "guest/lock.h"

#define METRICS_MAX 32u
#define PLACES_MAX  16u
#define ROUND       64u /* an image takes 60 kB for each range */
#define LIST_MAX    2048u

/* Everything that is called of the profiler. CUPTI has it since CUDA 12.6. */
#define COUNTERS_MAP(X)                            \
    X(cuptiProfilerInitialize)                     \
    X(cuptiDeviceGetChipName)                      \
    X(cuptiProfilerHostInitialize)                 \
    X(cuptiProfilerHostConfigAddMetrics)           \
    X(cuptiProfilerHostGetConfigImageSize)         \
    X(cuptiProfilerHostGetConfigImage)             \
    X(cuptiProfilerHostGetNumOfPasses)             \
    X(cuptiProfilerHostGetMetricProperties)        \
    X(cuptiProfilerHostEvaluateToGpuValues)        \
    X(cuptiRangeProfilerEnable)                    \
    X(cuptiRangeProfilerDisable)                   \
    X(cuptiRangeProfilerGetCounterDataSize)        \
    X(cuptiRangeProfilerCounterDataImageInitialize) \
    X(cuptiRangeProfilerSetConfig)                 \
    X(cuptiRangeProfilerStart)                     \
    X(cuptiRangeProfilerStop)                      \
    X(cuptiRangeProfilerDecodeData)                \
    X(cuptiRangeProfilerGetCounterDataInfo)

static const struct {
    const char *name, *metrics;
} sets[] = {
#define X(name, metrics) {name, metrics},
    SONDE_COUNTER_SET_MAP(X)
#undef X
};

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
    char list[LIST_MAX];    /* the metrics, each with its end */
    const char *names[METRICS_MAX];
    uint32_t metrics[METRICS_MAX], units[METRICS_MAX]; /* strings */
    size_t count;
    CUpti_Profiler_Host_Object *host;
    uint8_t *config;
    size_t config_bytes;
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

static bool add_names(const char *list, size_t *used)
{
    while (*list) {
        const size_t length = strcspn(list, ",");
        bool known = length == 0;
        for (size_t i = 0; i < c.count && !known; i++)
            known = strlen(c.names[i]) == length && strncmp(c.names[i], list, length) == 0;
        if (!known) {
            if (c.count == METRICS_MAX || *used + length + 1 > sizeof c.list)
                return false;
            memcpy(c.list + *used, list, length);
            c.list[*used + length] = '\0';
            c.names[c.count++] = c.list + *used;
            *used += length + 1;
        }
        list += length + (list[length] == ',');
    }
    return true;
}

/* Sets by their names, metrics by theirs. */
static bool expand(const char *list)
{
    size_t used = 0;
    while (*list) {
        const size_t length = strcspn(list, ",");
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)length, list);
        const char *names = word;
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
            if (strcmp(sets[i].name, word) == 0)
                names = sets[i].metrics;
        if (!add_names(names, &used))
            return false;
        list += length + (list[length] == ',');
    }
    return c.count > 0;
}

const char *sonde__cuda_counters_begin(const char *list, bool replay, char *room, size_t size)
{
    void *cupti = dlopen(sonde__cupti.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD), *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!cupti || !driver)
        return "CUPTI or the driver is not loaded";
#define X(name)                                                                                                     \
    if (!(*(void **)&c.name = dlsym(cupti, #name))) {                                                               \
        snprintf(room, size, "%s has no " #name "; CUDA 12.6 and later have it", sonde__cupti.path);                \
        return room;                                                                                                \
    }
    COUNTERS_MAP(X)
#undef X
    *(void **)&c.cuCtxPushCurrent_v2 = dlsym(driver, "cuCtxPushCurrent_v2");
    *(void **)&c.cuCtxPopCurrent_v2 = dlsym(driver, "cuCtxPopCurrent_v2");
    if (!c.cuCtxPushCurrent_v2 || !c.cuCtxPopCurrent_v2)
        return "the driver is too old";
    c.prepared = c.broken = false;
    c.count = c.place_count = 0;
    if (!expand(list)) {
        snprintf(room, size, "%s is no list of at most %u metrics", list, METRICS_MAX);
        return room;
    }
    c.replay = replay;
    sonde__cuda_counting = true;
    return NULL;
}

/* ---- the metrics, once ---------------------------------------------------------------------------- */

static bool worked(CUptiResult result, const char *what)
{
    const char *why = "";
    if (result == CUPTI_SUCCESS)
        return true;
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES || result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES) {
        sonde_note("counters: this user may not read the device's; run as root, or let the administrator load the driver with "
                   "NVreg_RestrictProfilingToAdminUsers=0");
        return false;
    }
    sonde__cupti.cuptiGetResultString(result, &why);
    sonde_note("counters: %s: %s (%d)", what, why, (int)result);
    return false;
}

static bool add(const char **names, size_t count)
{
    CUpti_Profiler_Host_ConfigAddMetrics_Params metrics = {
        .structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE, .pHostObject = c.host, .ppMetricNames = names, .numMetrics = count};
    return c.cuptiProfilerHostConfigAddMetrics(&metrics) == CUPTI_SUCCESS;
}

/* All at once: what is added by itself gets passes of its own. */
static bool add_metrics(void)
{
    size_t unknown = 0;
    if (!add(c.names, c.count)) {
        while (unknown + 1 < c.count && add(&c.names[unknown], 1))
            unknown++;
        sonde_note("counters: this device has no metric %s; nothing is measured", c.names[unknown]);
        return false;
    }
    for (size_t i = 0; i < c.count; i++) {
        CUpti_Profiler_Host_GetMetricProperties_Params about = {
            .structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE, .pHostObject = c.host, .pMetricName = c.names[i]};
        const bool known = c.cuptiProfilerHostGetMetricProperties(&about) == CUPTI_SUCCESS && about.pDimUnit;
        const bool share = strstr(c.names[i], ".pct") != NULL; /* the property is that of the metric without its end */
        const char *unit = share ? "%" : (known ? about.pDimUnit : "");
        c.metrics[i] = sonde_string(c.names[i], strlen(c.names[i]));
        c.units[i] = *unit ? sonde_string(unit, strlen(unit)) : 0;
    }
    return true;
}

static bool make_config(void)
{
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE, .pHostObject = c.host};
    if (!worked(c.cuptiProfilerHostGetConfigImageSize(&size), "cannot measure these metrics together"))
        return false;
    c.config_bytes = size.configImageSize;
    c.config = sonde__pages_get(c.config_bytes);
    CUpti_Profiler_Host_GetConfigImage_Params image = {.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
                                                       .pHostObject = c.host,
                                                       .configImageSize = c.config_bytes,
                                                       .pConfigImage = c.config};
    if (!c.config || !worked(c.cuptiProfilerHostGetConfigImage(&image), "cannot measure these metrics together"))
        return false;
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
                                                        .configImageSize = c.config_bytes,
                                                        .pConfigImage = c.config};
    if (!worked(c.cuptiProfilerHostGetNumOfPasses(&passes), "cannot tell the number of passes"))
        return false;
    if (passes.numOfPasses > 1 && !c.replay) {
        sonde_note("counters: these metrics need %zu passes, one was made of none: ask for fewer, or run each kernel %zu times with --replay",
                   passes.numOfPasses, passes.numOfPasses);
        return false;
    }
    return true;
}

/* At the first launch: a context is current. */
static bool prepare(CUdevice device)
{
    CUpti_Profiler_Initialize_Params begin = {.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    CUpti_Device_GetChipName_Params chip = {.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE, .deviceIndex = (size_t)device};
    CUpti_Profiler_Host_Initialize_Params host = {.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
                                                  .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER};
    c.prepared = true;
    if (!worked(c.cuptiProfilerInitialize(&begin), "CUPTI's profiler cannot begin") ||
        !worked(c.cuptiDeviceGetChipName(&chip), "CUPTI does not know this device"))
        return false;
    host.pChipName = chip.pChipName;
    if (!worked(c.cuptiProfilerHostInitialize(&host), "CUPTI cannot measure on this device"))
        return false;
    c.host = host.pHostObject;
    return add_metrics() && make_config();
}

/* ---- a context ---------------------------------------------------------------------------------- */

static bool enable(struct place *p)
{
    CUpti_RangeProfiler_Enable_Params enabled = {.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE, .ctx = p->context};
    if (!worked(c.cuptiRangeProfilerEnable(&enabled), "cannot measure in this context"))
        return false;
    p->object = enabled.pRangeProfilerObject;
    CUpti_RangeProfiler_GetCounterDataSize_Params size = {
        .structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object, .pMetricNames = c.names, .numMetrics = c.count, .maxNumOfRanges = ROUND, .maxNumRangeTreeNodes = ROUND};
    if (!worked(c.cuptiRangeProfilerGetCounterDataSize(&size), "cannot tell what counters take"))
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
        .structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object, .configSize = c.config_bytes, .pConfig = c.config, .counterDataImageSize = p->image_bytes, .pCounterDataImage = p->image, .range = CUPTI_AutoRange, .replayMode = CUPTI_KernelReplay, .maxRangesPerPass = ROUND, .numNestingLevels = 1, .minNestingLevel = 1};
    CUpti_RangeProfiler_Start_Params begin = {.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE, .pRangeProfilerObject = p->object};
    if (!worked(c.cuptiRangeProfilerCounterDataImageInitialize(&empty), "cannot empty the counters") ||
        (!p->configured && !worked(c.cuptiRangeProfilerSetConfig(&config), "the device does not take these metrics")))
        return false;
    p->configured = true;
    p->running = worked(c.cuptiRangeProfilerStart(&begin), "cannot begin to measure");
    return p->running;
}

static void missed(const struct place *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        sonde_counter_missed(p->nodes[i], sonde__cuda_context_device(p->uid), 1);
}

static bool evaluate(const struct place *p, size_t range, uint32_t node)
{
    double values[METRICS_MAX] = {0};
    CUpti_Profiler_Host_EvaluateToGpuValues_Params get = {
        .structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE, .pHostObject = c.host, .pCounterDataImage = p->image, .counterDataImageSize = p->image_bytes, .rangeIndex = range, .ppMetricNames = c.names, .numMetrics = c.count, .pMetricValues = values};
    if (!worked(c.cuptiProfilerHostEvaluateToGpuValues(&get), "cannot read them"))
        return false;
    for (size_t i = 0; i < c.count; i++)
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
    bool good = worked(c.cuptiRangeProfilerStop(&stop), "cannot stop") && worked(c.cuptiRangeProfilerDecodeData(&decode), "cannot read them") &&
                worked(c.cuptiRangeProfilerGetCounterDataInfo(&info), "cannot read them");
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

void sonde__cuda_counters_before(enum sonde_cuda_what what, const CUpti_CallbackData *cd, bool captured, const struct sonde_call *call)
{
    const char *name = cd->symbolName ? cd->symbolName : "";
    if (captured || launching || alone)
        return;
    const uint32_t node = call && what == SONDE_CUDA_LAUNCH ? sonde_call_operation(call, SONDE_OP_KERNEL, sonde_string(name, strlen(name))) : 0;
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
