/* metrics.c - see metrics.h. CUPTI has all of this since CUDA 12.6. */
#ifdef SONDE_CUDA
#include "metrics.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <sonde/kinds.h>

#include "guest/memory.h"

#define METRICS_MAP(X)                     \
    X(cuptiGetResultString)                \
    X(cuptiProfilerInitialize)             \
    X(cuptiDeviceGetChipName)              \
    X(cuptiProfilerHostInitialize)         \
    X(cuptiProfilerHostDeinitialize)       \
    X(cuptiProfilerHostConfigAddMetrics)   \
    X(cuptiProfilerHostGetConfigImageSize) \
    X(cuptiProfilerHostGetConfigImage)     \
    X(cuptiProfilerHostGetNumOfPasses)     \
    X(cuptiProfilerHostGetMetricProperties) \
    X(cuptiProfilerHostEvaluateToGpuValues)

static struct {
    struct sonde_metrics_cupti in;
#define X(name) __typeof__(&name) name;
    METRICS_MAP(X)
#undef X
} cupti;

static const struct {
    const char *name, *metrics;
} sets[] = {
#define X(name, metrics) {name, metrics},
    SONDE_COUNTER_SET_MAP(X)
#undef X
};

void *sonde__metrics_function(const char *name, char *room, size_t size)
{
    void *found = dlsym(cupti.in.library, name);
    if (!found)
        snprintf(room, size, "%s has no %s; CUDA 12.6 and later have it", cupti.in.path, name);
    return found;
}

void sonde__metrics_use(const struct sonde_metrics_cupti *in)
{
    cupti.in = *in;
}

const char *sonde__metrics_begin(char *room, size_t size)
{
#define X(name)                                                                      \
    if (!(*(void **)&cupti.name = sonde__metrics_function(#name, room, size)))       \
        return room;
    METRICS_MAP(X)
#undef X
    return NULL;
}

const struct sonde_metrics_cupti *sonde__metrics_user(void)
{
    return &cupti.in;
}

bool sonde__metrics_worked(CUptiResult result, const char *what)
{
    const char *why = "";
    if (result == CUPTI_SUCCESS)
        return true;
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES || result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES) {
        sonde__metrics_note("counters: this user may not read the device's; run as root, or let the administrator load the driver with "
                            "NVreg_RestrictProfilingToAdminUsers=0");
        return false;
    }
    if (result == CUPTI_ERROR_HARDWARE_BUSY) {
        sonde__metrics_note("counters: another tool has this device's counters now (sonde monitor --counters, record --counter-series, Nsight): %s", what);
        return false;
    }
    cupti.cuptiGetResultString(result, &why);
    sonde__metrics_note("counters: %s: %s (%d)", what, why, (int)result);
    return false;
}

/* ---- names ------------------------------------------------------------------------------------- */

static bool add_names(struct sonde_metrics *m, const char *list, size_t *used)
{
    while (*list) {
        const size_t length = strcspn(list, ",");
        bool known = length == 0;
        for (size_t i = 0; i < m->count && !known; i++)
            known = strlen(m->names[i]) == length && strncmp(m->names[i], list, length) == 0;
        if (!known) {
            if (m->count == SONDE_METRICS_MAX || *used + length + 1 > sizeof m->list)
                return false;
            memcpy(m->list + *used, list, length);
            m->list[*used + length] = '\0';
            m->names[m->count++] = m->list + *used;
            *used += length + 1;
        }
        list += length + (list[length] == ',');
    }
    return true;
}

bool sonde__metrics_expand(struct sonde_metrics *m, const char *list)
{
    size_t used = 0;
    m->count = 0;
    while (*list) {
        const size_t length = strcspn(list, ",");
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)length, list);
        const char *names = word;
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
            if (strcmp(sets[i].name, word) == 0)
                names = sets[i].metrics;
        if (!add_names(m, names, &used))
            return false;
        list += length + (list[length] == ',');
    }
    return m->count > 0;
}

/* ---- what a device makes of them ------------------------------------------------------------------ */

static bool add(const struct sonde_metrics *m, const char **names, size_t count)
{
    CUpti_Profiler_Host_ConfigAddMetrics_Params metrics = {
        .structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE, .pHostObject = m->host, .ppMetricNames = names, .numMetrics = count};
    return cupti.cuptiProfilerHostConfigAddMetrics(&metrics) == CUPTI_SUCCESS;
}

bool sonde__metrics_initialize(void)
{
    CUpti_Profiler_Initialize_Params begin = {.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    return sonde__metrics_worked(cupti.cuptiProfilerInitialize(&begin), "CUPTI's profiler cannot begin");
}

static bool begin_host(struct sonde_metrics *m, uint32_t ordinal, CUpti_ProfilerType type, const uint8_t *availability)
{
    CUpti_Device_GetChipName_Params chip = {.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE, .deviceIndex = ordinal};
    CUpti_Profiler_Host_Initialize_Params host = {
        .structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE, .profilerType = type, .pCounterAvailabilityImage = availability};
    if (!sonde__metrics_initialize() || !sonde__metrics_worked(cupti.cuptiDeviceGetChipName(&chip), "CUPTI does not know this device"))
        return false;
    host.pChipName = chip.pChipName;
    if (!sonde__metrics_worked(cupti.cuptiProfilerHostInitialize(&host), "CUPTI cannot measure on this device"))
        return false;
    m->host = host.pHostObject;
    return true;
}

static void end_host(struct sonde_metrics *m)
{
    CUpti_Profiler_Host_Deinitialize_Params end = {.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE, .pHostObject = m->host};
    if (m->host)
        cupti.cuptiProfilerHostDeinitialize(&end);
    m->host = NULL;
}

/* In a host object of its own: what is added to one stays, and what is added by itself gets passes of its own. */
static bool has(const struct sonde_metrics *m, uint32_t ordinal, CUpti_ProfilerType type, const uint8_t *availability, size_t metric)
{
    struct sonde_metrics alone = {.host = NULL};
    const bool found = begin_host(&alone, ordinal, type, availability) && add(&alone, (const char **)&m->names[metric], 1);
    end_host(&alone);
    return found;
}

static bool add_metrics(struct sonde_metrics *m, uint32_t ordinal, CUpti_ProfilerType type, const uint8_t *availability, bool all)
{
    size_t kept = 0;
    if (add(m, m->names, m->count))
        return true;
    for (size_t i = 0; i < m->count; i++) {
        if (has(m, ordinal, type, availability, i)) {
            m->names[kept++] = m->names[i];
            continue;
        }
        sonde__metrics_note("counters: this device has no metric %s; %s", m->names[i], all ? "nothing is measured" : "it is left out");
        if (all)
            return false;
    }
    m->count = kept;
    end_host(m);
    if (!kept || !begin_host(m, ordinal, type, availability) || !add(m, m->names, m->count)) {
        sonde__metrics_note("counters: this device cannot measure these metrics together; nothing is measured");
        return false;
    }
    return true;
}

static void find_units(struct sonde_metrics *m)
{
    for (size_t i = 0; i < m->count; i++) {
        CUpti_Profiler_Host_GetMetricProperties_Params about = {
            .structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE, .pHostObject = m->host, .pMetricName = m->names[i]};
        const bool known = cupti.cuptiProfilerHostGetMetricProperties(&about) == CUPTI_SUCCESS && about.pDimUnit;
        const bool share = strstr(m->names[i], ".pct") != NULL; /* the property is that of the metric without its end */
        m->units[i] = share ? "%" : (known ? about.pDimUnit : "");
    }
}

static bool make_config(struct sonde_metrics *m)
{
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE, .pHostObject = m->host};
    if (!sonde__metrics_worked(cupti.cuptiProfilerHostGetConfigImageSize(&size), "cannot measure these metrics together"))
        return false;
    m->config_bytes = size.configImageSize;
    m->config = sonde__pages_get(m->config_bytes);
    CUpti_Profiler_Host_GetConfigImage_Params image = {.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
                                                       .pHostObject = m->host,
                                                       .configImageSize = m->config_bytes,
                                                       .pConfigImage = m->config};
    if (!m->config || !sonde__metrics_worked(cupti.cuptiProfilerHostGetConfigImage(&image), "cannot measure these metrics together"))
        return false;
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
                                                        .configImageSize = m->config_bytes,
                                                        .pConfigImage = m->config};
    if (!sonde__metrics_worked(cupti.cuptiProfilerHostGetNumOfPasses(&passes), "cannot tell the number of passes"))
        return false;
    m->passes = passes.numOfPasses;
    return true;
}

bool sonde__metrics_choose(struct sonde_metrics *m, uint32_t ordinal, CUpti_ProfilerType type, const uint8_t *availability, bool all)
{
    if (!begin_host(m, ordinal, type, availability) || !add_metrics(m, ordinal, type, availability, all))
        return false;
    find_units(m);
    return make_config(m);
}

bool sonde__metrics_values(const struct sonde_metrics *m, const uint8_t *image, size_t bytes, size_t index, double *values)
{
    CUpti_Profiler_Host_EvaluateToGpuValues_Params get = {
        .structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE, .pHostObject = m->host, .pCounterDataImage = image, .counterDataImageSize = bytes, .rangeIndex = index, .ppMetricNames = (const char **)m->names, .numMetrics = m->count, .pMetricValues = values};
    return sonde__metrics_worked(cupti.cuptiProfilerHostEvaluateToGpuValues(&get), "cannot read them");
}

void sonde__metrics_end(struct sonde_metrics *m)
{
    end_host(m);
    sonde__pages_put(m->config, m->config_bytes);
    *m = (struct sonde_metrics){.count = 0};
}
#endif
