/* sampling.c - see sampling.h. */
#ifdef SONDE_CUDA
#include "sampling.h"

#include <string.h>

#include "guest/memory.h"

#define SAMPLING_MAP(X)                             \
    X(cuptiPmSamplingGetCounterAvailability)        \
    X(cuptiPmSamplingEnable)                        \
    X(cuptiPmSamplingDisable)                       \
    X(cuptiPmSamplingSetConfig)                     \
    X(cuptiPmSamplingGetCounterDataSize)            \
    X(cuptiPmSamplingCounterDataImageInitialize)    \
    X(cuptiPmSamplingStart)                         \
    X(cuptiPmSamplingStop)                          \
    X(cuptiPmSamplingDecodeData)                    \
    X(cuptiPmSamplingGetCounterDataInfo)            \
    X(cuptiPmSamplingCounterDataGetSampleInfo)

#define SAMPLES        512u      /* of an image: about 27 kB each; a fuller buffer is read in several turns */
#define BUFFER_BYTES   (64u << 20)
#define SURE_NS        100000u   /* samples so long hold several counters of multiprocessors */
#define CYCLES_A_MICROSECOND 1500u /* of the system's clock, about: for devices that count intervals in it */

static struct {
#define X(name) __typeof__(&name) name;
    SAMPLING_MAP(X)
#undef X
} cupti;

const char *sonde__sampling_begin(char *room, size_t size)
{
#define X(name)                                                                      \
    if (!(*(void **)&cupti.name = sonde__metrics_function(#name, room, size)))       \
        return room;
    SAMPLING_MAP(X)
#undef X
    return NULL;
}

/* ---- open ------------------------------------------------------------------------------------------- */

static bool find_available(struct sonde_sampling *d, uint32_t ordinal)
{
    CUpti_PmSampling_GetCounterAvailability_Params p = {.structSize = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE, .deviceIndex = ordinal};
    if (!sonde__metrics_worked(cupti.cuptiPmSamplingGetCounterAvailability(&p), "cannot tell what this device counts"))
        return false;
    d->availability_bytes = p.counterAvailabilityImageSize;
    d->availability = p.pCounterAvailabilityImage = sonde__pages_get(d->availability_bytes);
    return d->availability && sonde__metrics_worked(cupti.cuptiPmSamplingGetCounterAvailability(&p), "cannot tell what this device counts");
}

static bool configure(struct sonde_sampling *d)
{
    const struct sonde_metrics *m = &d->metrics;
    CUpti_PmSampling_SetConfig_Params p = {
        .structSize = CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE, .pPmSamplingObject = d->object, .configSize = m->config_bytes, .pConfig = m->config, .hardwareBufferSize = BUFFER_BYTES, .samplingInterval = d->interval_ns, .triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL};
    if (cupti.cuptiPmSamplingSetConfig(&p) == CUPTI_SUCCESS)
        return true;
    p.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL; /* older devices know no other */
    p.samplingInterval = d->interval_ns * CYCLES_A_MICROSECOND / 1000;
    return sonde__metrics_worked(cupti.cuptiPmSamplingSetConfig(&p), "the device does not sample these metrics");
}

static bool empty_image(struct sonde_sampling *d)
{
    CUpti_PmSampling_CounterDataImage_Initialize_Params p = {.structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
                                                             .pPmSamplingObject = d->object,
                                                             .counterDataSize = d->image_bytes,
                                                             .pCounterData = d->image};
    return sonde__metrics_worked(cupti.cuptiPmSamplingCounterDataImageInitialize(&p), "cannot empty the samples");
}

static bool make_room(struct sonde_sampling *d)
{
    CUpti_PmSampling_GetCounterDataSize_Params p = {
        .structSize = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE, .pPmSamplingObject = d->object, .pMetricNames = d->metrics.names, .numMetrics = d->metrics.count, .maxSamples = SAMPLES};
    if (!sonde__metrics_worked(cupti.cuptiPmSamplingGetCounterDataSize(&p), "cannot tell what samples take"))
        return false;
    d->image_bytes = p.counterDataSize;
    d->image = sonde__pages_get(d->image_bytes);
    if (!d->image)
        sonde__metrics_note("counters: no memory for samples");
    return d->image && empty_image(d);
}

/* Of different counters: what follows the dot is made of them afterwards. */
static void warn_of_losses(const struct sonde_sampling *d)
{
    const struct sonde_metrics *m = &d->metrics;
    const char *first = NULL;
    for (size_t i = 0; i < m->count && d->interval_ns > SURE_NS; i++) {
        const char *name = m->names[i];
        if (strncmp(name, "sm", 2) != 0 && strncmp(name, "l1tex", 5) != 0)
            continue;
        if (first && strncmp(first, name, strcspn(name, ".") + 1) != 0) {
            sonde__metrics_note("counters: of several counters of the multiprocessors, samples longer than 100 us may lose some percent: ask for one of "
                                "them (not %s and %s), or for samples of 100us",
                                first, name);
            return;
        }
        first = first ? first : name;
    }
}

static bool never(void)
{
    return false;
}

bool sonde__sampling_open(struct sonde_sampling *d, uint32_t ordinal, const char *list, uint64_t interval_ns, bool (*is_over)(void))
{
    CUpti_PmSampling_Enable_Params enabled = {.structSize = CUpti_PmSampling_Enable_Params_STRUCT_SIZE, .deviceIndex = ordinal};
    CUpti_PmSampling_Start_Params start = {.structSize = CUpti_PmSampling_Start_Params_STRUCT_SIZE};
    if (!is_over)
        is_over = never;
    d->interval_ns = interval_ns;
    if (!sonde__metrics_expand(&d->metrics, list) || !sonde__metrics_initialize() || is_over() || !find_available(d, ordinal) || is_over() ||
        !sonde__metrics_choose(&d->metrics, ordinal, CUPTI_PROFILER_TYPE_PM_SAMPLING, d->availability, false) || is_over())
        return false;
    if (d->metrics.passes > 1) {
        sonde__metrics_note("counters: these metrics need %zu passes, and over time there is one: ask for fewer", d->metrics.passes);
        return false;
    }
    if (!sonde__metrics_worked(cupti.cuptiPmSamplingEnable(&enabled), "cannot sample on this device (another tool may do that)"))
        return false;
    d->object = start.pPmSamplingObject = enabled.pPmSamplingObject;
    if (!configure(d) || is_over() || !make_room(d) || !sonde__metrics_worked(cupti.cuptiPmSamplingStart(&start), "cannot begin to sample"))
        return false;
    warn_of_losses(d);
    return d->started = d->first = true;
}

/* ---- read ------------------------------------------------------------------------------------------- */

static void hand_over(struct sonde_sampling *d, size_t index, sonde_sampling_fn *sample, void *user)
{
    CUpti_PmSampling_CounterData_GetSampleInfo_Params info = {.structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
                                                              .pPmSamplingObject = d->object,
                                                              .pCounterDataImage = d->image,
                                                              .counterDataImageSize = d->image_bytes,
                                                              .sampleIndex = index};
    double values[SONDE_METRICS_MAX] = {0};
    if (cupti.cuptiPmSamplingCounterDataGetSampleInfo(&info) != CUPTI_SUCCESS || !sonde__metrics_values(&d->metrics, d->image, d->image_bytes, index, values))
        return;
    if (!d->first && info.endTimestamp > info.startTimestamp)
        sample(user, info.startTimestamp, info.endTimestamp, values);
    d->first = false;
}

bool sonde__sampling_take(struct sonde_sampling *d, sonde_sampling_fn *sample, void *user)
{
    for (bool more = true; more;) {
        CUpti_PmSampling_DecodeData_Params decode = {.structSize = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
                                                     .pPmSamplingObject = d->object,
                                                     .pCounterDataImage = d->image,
                                                     .counterDataImageSize = d->image_bytes};
        CUpti_PmSampling_GetCounterDataInfo_Params info = {.structSize = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
                                                           .pCounterDataImage = d->image,
                                                           .counterDataImageSize = d->image_bytes};
        if (!sonde__metrics_worked(cupti.cuptiPmSamplingDecodeData(&decode), "cannot read samples") ||
            !sonde__metrics_worked(cupti.cuptiPmSamplingGetCounterDataInfo(&info), "cannot read samples"))
            return false;
        if (decode.overflow)
            sonde__metrics_note("counters: the device's buffer of samples was full, and some are missing: ask for a longer interval or fewer metrics");
        for (size_t i = 0; i < info.numCompletedSamples; i++)
            hand_over(d, i, sample, user);
        more = decode.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
        if (!empty_image(d))
            return false;
    }
    return true;
}

void sonde__sampling_stop(struct sonde_sampling *d, sonde_sampling_fn *sample, void *user)
{
    CUpti_PmSampling_Stop_Params stop = {.structSize = CUpti_PmSampling_Stop_Params_STRUCT_SIZE, .pPmSamplingObject = d->object};
    CUpti_PmSampling_Disable_Params off = {.structSize = CUpti_PmSampling_Disable_Params_STRUCT_SIZE, .pPmSamplingObject = d->object};
    if (d->started && cupti.cuptiPmSamplingStop(&stop) == CUPTI_SUCCESS)
        sonde__sampling_take(d, sample, user);
    if (d->object)
        cupti.cuptiPmSamplingDisable(&off);
    d->started = false;
    d->object = NULL;
}

void sonde__sampling_end(struct sonde_sampling *d, sonde_sampling_fn *sample, void *user)
{
    sonde__sampling_stop(d, sample, user);
    sonde__metrics_end(&d->metrics);
    sonde__pages_put(d->availability, d->availability_bytes);
    sonde__pages_put(d->image, d->image_bytes);
    *d = (struct sonde_sampling){.object = NULL};
}
#endif
