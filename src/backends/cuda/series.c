/* series.c - counters of the hardware over time (--counter-series), by CUPTI's PM sampling: the device counts all the time, whoever uses it, and
 * notes the counts at each interval, beside the program. docs/counters.md.
 *
 * One thread of ours (aside.h) begins it on each device that the program uses, and takes what the devices have noted from time to time; the monitor
 * brings it to the host's axis. Reading would keep the program's records waiting there (a millisecond a call, and 20 to 40 µs a sample, on an H100).
 *
 * What was found on an H100 (driver 580, CUDA 13.0): samples have times of CUPTI's clock; the first of each start is older than it; a set with a
 * metric whose unit the machine lacks (NVLink on one with a single device) gives no samples at all, and no error, unless CUPTI is told which there are; no
 * memory of the device is taken. Of two counters of the multiprocessors some of both is lost in long samples (docs/counters.md); of one alone
 * nothing.
 */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#include <cupti_pmsampling.h>

#include "aside.h"
#include "guest/lock.h"

#define SERIES_MAP(X)                               \
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

#define DEVICES_MAX    16u
#define SAMPLES        512u      /* of an image: about 27 kB each; a fuller buffer is read in several turns */
#define RING           8192u     /* samples on their way to the monitor, which comes for them every few milliseconds */
#define BUFFER_BYTES   (64u << 20)
#define TURN_NS        50000000  /* between two looks at the devices */
#define SURE_NS        100000u   /* samples so long hold several counters of multiprocessors */
#define CYCLES_A_MICROSECOND 1500u /* of the system's clock, about: for devices that count intervals in it */

struct device { /* the thread's, but for what is said otherwise */
    _Atomic uint32_t wanted;          /* its number, plus one; the program's threads */
    bool open, broken, first;
    CUpti_PmSampling_Object *object;
    struct sonde_cuda_metrics metrics;
    uint8_t *availability, *image;
    size_t availability_bytes, image_bytes;
    uint8_t *ring;                    /* RING samples: from, to, and a value for each metric */
    _Atomic uint32_t head, tail;      /* the monitor's, the thread's */
    _Atomic uint64_t lost;            /* samples that found no room */
    _Atomic bool ready;               /* `metrics` and `ring` are there to be read */
    uint32_t lanes[SONDE_METRICS_MAX]; /* the monitor's, as all below */
    bool named;
    uint64_t cupti_ns, host_ns;       /* the end of the last sample, on both axes */
};

static struct {
    bool on;
    uint64_t interval_ns;
    char list[1024];
    struct sonde_lock lock;           /* of what follows: the program's threads */
    uint32_t count;
    struct device devices[DEVICES_MAX];
#define X(name) __typeof__(&name) name;
    SERIES_MAP(X)
#undef X
} s;

static void work(bool last);
static struct sonde_cuda_aside aside = {.name = "sonde-series", .what = "counters", .work = work};

const char *sonde__cuda_series_begin(const char *list, uint64_t interval_ns, char *room, size_t size)
{
    struct sonde_cuda_metrics probe = {.count = 0};
    const char *why = sonde__metrics_begin(room, size);
    if (why)
        return why;
#define X(name)                                                                  \
    if (!(*(void **)&s.name = sonde__metrics_function(#name, room, size)))       \
        return room;
    SERIES_MAP(X)
#undef X
    snprintf(s.list, sizeof s.list, "%s", *list ? list : SONDE_COUNTER_SERIES_DEFAULT);
    if (!sonde__metrics_expand(&probe, s.list)) {
        snprintf(room, size, "%s is no list of at most %u metrics", s.list, SONDE_METRICS_MAX);
        return room;
    }
    s.interval_ns = interval_ns;
    s.count = 0;
    sonde__cuda_aside_again(&aside);
    memset(s.devices, 0, sizeof s.devices);
    s.on = true;
    return NULL;
}

/* ---- a device --------------------------------------------------------------------------------------- */

static bool find_available(struct device *d, uint32_t ordinal)
{
    CUpti_PmSampling_GetCounterAvailability_Params p = {.structSize = CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE, .deviceIndex = ordinal};
    if (!sonde__metrics_worked(s.cuptiPmSamplingGetCounterAvailability(&p), "cannot tell what this device counts"))
        return false;
    d->availability_bytes = p.counterAvailabilityImageSize;
    d->availability = p.pCounterAvailabilityImage = sonde__pages_get(d->availability_bytes);
    return d->availability && sonde__metrics_worked(s.cuptiPmSamplingGetCounterAvailability(&p), "cannot tell what this device counts");
}

static bool configure(struct device *d)
{
    const struct sonde_cuda_metrics *m = &d->metrics;
    CUpti_PmSampling_SetConfig_Params p = {
        .structSize = CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE, .pPmSamplingObject = d->object, .configSize = m->config_bytes, .pConfig = m->config, .hardwareBufferSize = BUFFER_BYTES, .samplingInterval = s.interval_ns, .triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL};
    if (s.cuptiPmSamplingSetConfig(&p) == CUPTI_SUCCESS)
        return true;
    p.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL; /* older devices know no other */
    p.samplingInterval = s.interval_ns * CYCLES_A_MICROSECOND / 1000;
    return sonde__metrics_worked(s.cuptiPmSamplingSetConfig(&p), "the device does not sample these metrics");
}

static bool empty_image(struct device *d)
{
    CUpti_PmSampling_CounterDataImage_Initialize_Params p = {.structSize = CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE,
                                                             .pPmSamplingObject = d->object,
                                                             .counterDataSize = d->image_bytes,
                                                             .pCounterData = d->image};
    return sonde__metrics_worked(s.cuptiPmSamplingCounterDataImageInitialize(&p), "cannot empty the samples");
}

static size_t sample_bytes(const struct device *d)
{
    return 2 * sizeof(uint64_t) + d->metrics.count * sizeof(double);
}

static bool make_room(struct device *d)
{
    CUpti_PmSampling_GetCounterDataSize_Params p = {
        .structSize = CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE, .pPmSamplingObject = d->object, .pMetricNames = d->metrics.names, .numMetrics = d->metrics.count, .maxSamples = SAMPLES};
    if (!sonde__metrics_worked(s.cuptiPmSamplingGetCounterDataSize(&p), "cannot tell what samples take"))
        return false;
    d->image_bytes = p.counterDataSize;
    d->image = sonde__pages_get(d->image_bytes);
    d->ring = sonde__pages_get(RING * sample_bytes(d));
    if (!d->image || !d->ring)
        sonde_note("counters: no memory for samples");
    return d->image && d->ring && empty_image(d);
}

/* The program ends meanwhile, and soon the driver does: it takes half a second to begin. */
static bool is_over(void)
{
    return sonde__cuda_aside_closes(&aside);
}

/* Of different counters: what follows the dot is made of them afterwards. */
static void warn_of_losses(const struct sonde_cuda_metrics *m)
{
    const char *first = NULL;
    for (size_t i = 0; i < m->count && s.interval_ns > SURE_NS; i++) {
        const char *name = m->names[i];
        if (strncmp(name, "sm", 2) != 0 && strncmp(name, "l1tex", 5) != 0)
            continue;
        if (first && strncmp(first, name, strcspn(name, ".") + 1) != 0) {
            sonde_note("counters: of several counters of the multiprocessors, samples longer than 100 us may lose some percent: ask for one of "
                       "them (not %s and %s), or for --counter-series 100us",
                       first, name);
            return;
        }
        first = first ? first : name;
    }
}

static bool open_device(struct device *d, uint32_t ordinal)
{
    CUpti_PmSampling_Enable_Params enabled = {.structSize = CUpti_PmSampling_Enable_Params_STRUCT_SIZE, .deviceIndex = ordinal};
    CUpti_PmSampling_Start_Params start = {.structSize = CUpti_PmSampling_Start_Params_STRUCT_SIZE};
    if (!sonde__metrics_expand(&d->metrics, s.list) || !sonde__metrics_initialize() || is_over() || !find_available(d, ordinal) || is_over() ||
        !sonde__metrics_choose(&d->metrics, ordinal, CUPTI_PROFILER_TYPE_PM_SAMPLING, d->availability, false) || is_over())
        return false;
    if (d->metrics.passes > 1) {
        sonde_note("counters: these metrics need %zu passes, and over time there is one: ask for fewer", d->metrics.passes);
        return false;
    }
    if (!sonde__metrics_worked(s.cuptiPmSamplingEnable(&enabled), "cannot sample on this device (another tool may do that)"))
        return false;
    d->object = start.pPmSamplingObject = enabled.pPmSamplingObject;
    if (!configure(d) || is_over() || !make_room(d) || !sonde__metrics_worked(s.cuptiPmSamplingStart(&start), "cannot begin to sample"))
        return false;
    warn_of_losses(&d->metrics);
    d->first = true;
    atomic_store_explicit(&d->ready, true, memory_order_release);
    return true;
}

static void keep_sample(struct device *d, size_t index)
{
    CUpti_PmSampling_CounterData_GetSampleInfo_Params info = {.structSize = CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE,
                                                              .pPmSamplingObject = d->object,
                                                              .pCounterDataImage = d->image,
                                                              .counterDataImageSize = d->image_bytes,
                                                              .sampleIndex = index};
    const uint32_t tail = atomic_load_explicit(&d->tail, memory_order_relaxed);
    double values[SONDE_METRICS_MAX] = {0};
    if (s.cuptiPmSamplingCounterDataGetSampleInfo(&info) != CUPTI_SUCCESS || !sonde__metrics_values(&d->metrics, d->image, d->image_bytes, index, values))
        return;
    if (d->first || info.endTimestamp <= info.startTimestamp) {
        d->first = false;
        return;
    }
    if (tail - atomic_load_explicit(&d->head, memory_order_acquire) == RING) {
        atomic_fetch_add(&d->lost, 1);
        return;
    }
    uint8_t *to = d->ring + tail % RING * sample_bytes(d);
    memcpy(to, (uint64_t[]){info.startTimestamp, info.endTimestamp}, 2 * sizeof(uint64_t));
    memcpy(to + 2 * sizeof(uint64_t), values, d->metrics.count * sizeof *values);
    atomic_store_explicit(&d->tail, tail + 1, memory_order_release);
}

/* All that the device has noted. */
static void take(struct device *d)
{
    for (bool more = true; more && !d->broken;) {
        CUpti_PmSampling_DecodeData_Params decode = {.structSize = CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE,
                                                     .pPmSamplingObject = d->object,
                                                     .pCounterDataImage = d->image,
                                                     .counterDataImageSize = d->image_bytes};
        CUpti_PmSampling_GetCounterDataInfo_Params info = {.structSize = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
                                                           .pCounterDataImage = d->image,
                                                           .counterDataImageSize = d->image_bytes};
        d->broken = !sonde__metrics_worked(s.cuptiPmSamplingDecodeData(&decode), "cannot read samples") ||
                    !sonde__metrics_worked(s.cuptiPmSamplingGetCounterDataInfo(&info), "cannot read samples");
        if (decode.overflow)
            sonde_note("counters: the device's buffer of samples was full, and some are missing: ask for a longer interval or fewer metrics");
        for (size_t i = 0; i < info.numCompletedSamples && !d->broken; i++)
            keep_sample(d, i);
        more = !d->broken && decode.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
        d->broken = d->broken || !empty_image(d);
    }
}

static void close_device(struct device *d)
{
    CUpti_PmSampling_Stop_Params stop = {.structSize = CUpti_PmSampling_Stop_Params_STRUCT_SIZE, .pPmSamplingObject = d->object};
    CUpti_PmSampling_Disable_Params off = {.structSize = CUpti_PmSampling_Disable_Params_STRUCT_SIZE, .pPmSamplingObject = d->object};
    if (!d->open)
        return;
    if (s.cuptiPmSamplingStop(&stop) == CUPTI_SUCCESS)
        take(d);
    s.cuptiPmSamplingDisable(&off);
    d->open = false;
}

/* ---- the thread ----------------------------------------------------------------------------------------- */

static void look(struct device *d)
{
    const uint32_t wanted = atomic_load_explicit(&d->wanted, memory_order_acquire);
    if (!wanted || d->broken)
        return;
    if (d->open)
        take(d);
    else
        d->broken = !(d->open = open_device(d, wanted - 1));
}

static void work(bool last)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        if (last)
            close_device(&s.devices[i]);
        else
            look(&s.devices[i]);
    }
}

void sonde__cuda_series_device(uint32_t ordinal)
{
    if (!s.on)
        return;
    sonde__lock(&s.lock);
    bool known = false;
    for (uint32_t i = 0; i < s.count && !known; i++)
        known = atomic_load(&s.devices[i].wanted) == ordinal + 1;
    if (!known && s.count < DEVICES_MAX)
        atomic_store_explicit(&s.devices[s.count++].wanted, ordinal + 1, memory_order_release);
    sonde__unlock(&s.lock);
    sonde__cuda_aside_start(&aside);
}

/* ---- the monitor --------------------------------------------------------------------------------------- */

static void name(struct device *d)
{
    const struct sonde_cuda_device *device = sonde__cuda_device(atomic_load(&d->wanted) - 1);
    for (size_t i = 0; i < d->metrics.count && device; i++)
        d->lanes[i] = sonde_series_add(atomic_load(&device->id), d->metrics.names[i], d->metrics.units[i]);
    d->named = true;
}

/* One sample follows the other: so do its times on the host's axis, whatever pair of readings each is brought there with. */
static void hand_on(struct device *d, const uint8_t *sample)
{
    uint64_t times[2];
    double values[SONDE_METRICS_MAX];
    memcpy(times, sample, sizeof times);
    memcpy(values, sample + sizeof times, d->metrics.count * sizeof *values);
    const uint64_t from_ns = times[0] == d->cupti_ns ? d->host_ns : sonde__cuda_clock_host(times[0]), to_ns = sonde__cuda_clock_host(times[1]);
    for (size_t i = 0; i < d->metrics.count; i++)
        sonde_series_value(d->lanes[i], from_ns, to_ns, values[i]);
    d->cupti_ns = times[1];
    d->host_ns = to_ns;
}

static void collect(struct device *d)
{
    uint32_t head = atomic_load_explicit(&d->head, memory_order_relaxed);
    const uint32_t tail = atomic_load_explicit(&d->tail, memory_order_acquire);
    if (!atomic_load_explicit(&d->ready, memory_order_acquire) || head == tail)
        return;
    if (!d->named)
        name(d);
    sonde__cuda_clock_pair(); /* every sample is older than this */
    for (; head != tail; head++)
        hand_on(d, d->ring + head % RING * sample_bytes(d));
    atomic_store_explicit(&d->head, head, memory_order_release);
    const uint64_t lost = atomic_exchange(&d->lost, 0);
    for (size_t i = 0; i < d->metrics.count && lost; i++)
        sonde_series_lost(d->lanes[i], lost);
}

static void collect_all(void)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++)
        collect(&s.devices[i]);
}

void sonde__cuda_series_turn(void)
{
    if (!s.on)
        return;
    sonde__cuda_aside_turn(&aside, TURN_NS);
    collect_all();
}

void sonde__cuda_series_last(uint64_t patience_ns)
{
    if (s.on)
        sonde__cuda_aside_last(&aside, patience_ns, collect_all);
}

void sonde__cuda_series_forget(void)
{
    s.on = false; /* CUDA does not work there */
}
