/* nvml.c - a libnvidia-ml.so.1 that answers as one did on a machine with GPUs: NVML's answers are lines of the file that SONDE_TEST_NVML
 * names, as fixtures/record-nvml.c wrote them there:
 *
 *     FUNCTION DEVICE ARGUMENT STATUS NANOSECONDS VALUES...
 *     field:SCOPE DEVICE FIELD STATUS LATENCY TIME TYPE VALUE
 *     gpm DEVICE METRIC STATUS 0 VALUE
 *     == MOMENT SECONDS                                        the lines below are of another moment
 *
 * SONDE_TEST_NVML_NOW names a file that the test may change at any time. Its lines:
 *
 *     moment N                     the moment that is answered with (else the first)
 *     fail STATUS FUNCTION [DEVICE]    a function that answers so instead; `*`: all that take a device
 *     limit N                      so many processes fit no list
 *     burn MS                      so long a processor works for a device's energy
 *
 * A device's energy is a line of the file that SONDE_TEST_NVML_ENERGY names, if it does, each time it is asked for.
 */
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct line {
    char *name, *argument, *values;
    unsigned device;
    int status;
};
struct moment {
    struct line *lines;
    size_t count, capacity;
    double at_s;
};

static struct moment moments[64]; /* [0]: before the first */
static size_t moment_count;
static size_t moment = 1;
static char changes[4096];

struct nvmlDevice_st {
    unsigned number;
};
struct nvmlGpmSample_st {
    unsigned device;
    size_t moment;
};
static struct nvmlDevice_st devices[16] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15}};

/* ---- what was recorded ------------------------------------------------------------------------- */

static void keep(struct moment *m, const char *text)
{
    char name[128], argument[64];
    struct line line;
    int at = 0;
    if (sscanf(text, "%127s %u %63s %d %*s %n", name, &line.device, argument, &line.status, &at) < 4 || !at)
        return;
    if (m->count == m->capacity && !(m->lines = realloc(m->lines, (m->capacity = m->capacity * 2 + 64) * sizeof *m->lines)))
        abort();
    line.name = strdup(name);
    line.argument = strdup(argument);
    line.values = strdup(text + at);
    line.values[strcspn(line.values, "\n")] = '\0';
    m->lines[m->count++] = line;
}

static void load(void)
{
    char text[8192];
    FILE *file = fopen(getenv("SONDE_TEST_NVML"), "re");
    if (!file || moment_count)
        return;
    while (fgets(text, sizeof text, file))
        if (strncmp(text, "== ", 3) == 0)
            sscanf(text, "== %*s %lf", &moments[++moment_count].at_s);
        else
            keep(&moments[moment_count], text);
    fclose(file);
}

static const struct line *find(size_t when, const char *name, unsigned device, const char *argument)
{
    for (size_t i = 0; i < moments[when].count; i++) {
        const struct line *l = &moments[when].lines[i];
        if (l->device == device && strcmp(l->argument, argument) == 0 && strcmp(l->name, name) == 0)
            return l;
    }
    return when ? find(0, name, device, argument) : NULL;
}

/* ---- what the test wants ------------------------------------------------------------------------ */

static void read_changes(void)
{
    const char *path = getenv("SONDE_TEST_NVML_NOW");
    FILE *file = path ? fopen(path, "re") : NULL;
    *changes = '\0';
    moment = 1;
    if (!file)
        return;
    changes[fread(changes, 1, sizeof changes - 1, file)] = '\0';
    fclose(file);
    const char *at = strstr(changes, "moment ");
    if (at)
        moment = (size_t)atoi(at + 7) + 1;
}

static int failure(const char *function, unsigned device)
{
    for (const char *at = strstr(changes, "fail "); at; at = strstr(at + 1, "fail ")) {
        char name[128];
        unsigned number;
        int status;
        const int got = sscanf(at, "fail %d %127s %u", &status, name, &number);
        if (got >= 2 && (strcmp(name, function) == 0 || *name == '*') && (got == 2 || number == device))
            return status;
    }
    return 0;
}

/* A recorded answer: its status, and its values. */
static nvmlReturn_t answer(const char *function, unsigned device, const char *argument, const char **values)
{
    read_changes();
    *values = "";
    const int failed = failure(function, device);
    if (failed)
        return (nvmlReturn_t)failed;
    const struct line *l = find(moment, function, device, argument);
    if (!l) {
        fprintf(stderr, "nvml.c: nothing was recorded of %s %u %s\n", function, device, argument);
        return NVML_ERROR_UNKNOWN;
    }
    *values = l->values;
    return (nvmlReturn_t)l->status;
}

/* ---- the functions ------------------------------------------------------------------------------- */

nvmlReturn_t nvmlInit_v2(void)
{
    read_changes();
    const int failed = failure("nvmlInit_v2", 0);
    if (!failed)
        load();
    return (nvmlReturn_t)failed;
}

nvmlReturn_t nvmlShutdown(void)
{
    for (size_t m = 0; m <= moment_count; m++) {
        for (size_t i = 0; i < moments[m].count; i++) {
            free(moments[m].lines[i].name);
            free(moments[m].lines[i].argument);
            free(moments[m].lines[i].values);
        }
        free(moments[m].lines);
        moments[m] = (struct moment){0};
    }
    moment_count = 0;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_ERROR_NO_PERMISSION:
        return "Insufficient Permissions";
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case NVML_ERROR_GPU_IS_LOST:
        return "GPU is lost";
    default:
        return "Unknown Error";
    }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    snprintf(version, length, "%s", getenv("SONDE_TEST_NVML_DRIVER") ? getenv("SONDE_TEST_NVML_DRIVER") : "580.0");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    const char *values;
    const nvmlReturn_t status = answer("nvmlDeviceGetCount_v2", 0, "-", &values);
    *count = (unsigned)atoi(values);
    return status;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    read_changes();
    *device = &devices[index & 15];
    return (nvmlReturn_t)failure("nvmlDeviceGetHandleByIndex_v2", index);
}

static nvmlReturn_t text(const char *function, nvmlDevice_t device, char *out, unsigned length)
{
    const char *values;
    const nvmlReturn_t status = answer(function, device->number, "-", &values);
    if (status == NVML_SUCCESS)
        snprintf(out, length, "%s", values);
    return status;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    return text("nvmlDeviceGetName", device, name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    return text("nvmlDeviceGetUUID", device, uuid, length);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    const char *values;
    const nvmlReturn_t status = answer("nvmlDeviceGetPciInfo_v3", device->number, "-", &values);
    memset(pci, 0, sizeof *pci);
    sscanf(values, "%31s", pci->busId);
    return status;
}

#define NUMBER(function, type)                                                          \
    nvmlReturn_t function(nvmlDevice_t device, type *out)                               \
    {                                                                                   \
        const char *values;                                                             \
        const nvmlReturn_t status = answer(#function, device->number, "-", &values);    \
        if (status == NVML_SUCCESS)                                                     \
            *out = (type)strtoull(values, NULL, 10);                                    \
        return status;                                                                  \
    }
NUMBER(nvmlDeviceGetPowerUsage, unsigned)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned)
NUMBER(nvmlDeviceGetFanSpeed, unsigned)
NUMBER(nvmlDeviceGetPerformanceState, nvmlPstates_t)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long)

#define NUMBER_OF(function, argument_type, type)                                        \
    nvmlReturn_t function(nvmlDevice_t device, argument_type argument, type *out)       \
    {                                                                                   \
        const char *values;                                                             \
        char word[32];                                                                  \
        snprintf(word, sizeof word, "%u", (unsigned)argument);                          \
        const nvmlReturn_t status = answer(#function, device->number, word, &values);   \
        if (status == NVML_SUCCESS)                                                     \
            *out = (type)strtoull(values, NULL, 10);                                    \
        return status;                                                                  \
    }
NUMBER_OF(nvmlDeviceGetTemperature, nvmlTemperatureSensors_t, unsigned)
NUMBER_OF(nvmlDeviceGetClockInfo, nvmlClockType_t, unsigned)
NUMBER_OF(nvmlDeviceGetNvLinkState, unsigned, nvmlEnableState_t)

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
    const char *values;
    const nvmlReturn_t status = answer("nvmlDeviceGetUtilizationRates", device->number, "-", &values);
    sscanf(values, "%u %u", &out->gpu, &out->memory);
    return status;
}

#define CODEC(function)                                                                 \
    nvmlReturn_t function(nvmlDevice_t device, unsigned *use, unsigned *period)         \
    {                                                                                   \
        const char *values;                                                             \
        const nvmlReturn_t status = answer(#function, device->number, "-", &values);    \
        sscanf(values, "%u %u", use, period);                                           \
        return status;                                                                  \
    }
CODEC(nvmlDeviceGetEncoderUtilization)
CODEC(nvmlDeviceGetDecoderUtilization)

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *out)
{
    const char *values;
    if (out->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const nvmlReturn_t status = answer("nvmlDeviceGetMemoryInfo_v2", device->number, "-", &values);
    sscanf(values, "%llu %llu %llu %llu", &out->total, &out->reserved, &out->free, &out->used);
    return status;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *out)
{
    const char *values;
    const nvmlReturn_t status = answer("nvmlDeviceGetBAR1MemoryInfo", device->number, "-", &values);
    sscanf(values, "%llu %llu %llu", &out->bar1Total, &out->bar1Free, &out->bar1Used);
    return status;
}

static void asked_for_energy(unsigned device)
{
    const char *path = getenv("SONDE_TEST_NVML_ENERGY"), *burn = strstr(changes, "burn ");
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const double until = burn ? (double)now.tv_sec + (double)now.tv_nsec * 1e-9 + atof(burn + 5) * 1e-3 : 0;
    while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < until)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (file) {
        fprintf(file, "%u\n", device);
        fclose(file);
    }
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields)
{
    read_changes();
    const int failed = failure("nvmlDeviceGetFieldValues", device->number);
    for (int i = 0; i < count && !failed; i++) {
        char name[32], word[32];
        long long time = 0;
        int type = 0;
        if (fields[i].scopeId == ~0u)
            snprintf(name, sizeof name, "field:all");
        else
            snprintf(name, sizeof name, "field:%u", fields[i].scopeId);
        snprintf(word, sizeof word, "%u", fields[i].fieldId);
        if (fields[i].fieldId == NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION)
            asked_for_energy(device->number);
        const struct line *l = find(moment, name, device->number, word);
        fields[i].nvmlReturn = l ? (nvmlReturn_t)l->status : NVML_ERROR_NOT_SUPPORTED;
        if (l && l->status == 0) {
            sscanf(l->values, "%lld %d %llu", &time, &type, &fields[i].value.ullVal);
            fields[i].timestamp = time;
            fields[i].valueType = (nvmlValueType_t)type;
        }
    }
    return (nvmlReturn_t)failed;
}

static nvmlReturn_t processes(const char *function, nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *out)
{
    const char *values, *limit;
    const nvmlReturn_t status = answer(function, device->number, "-", &values);
    const unsigned room = *count, there = (unsigned)atoi(values);
    if (status != NVML_SUCCESS)
        return status;
    *count = there;
    if (there > room || ((limit = strstr(changes, "limit ")) && room <= (unsigned)atoi(limit + 6)))
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < there; i++) {
        values = strchr(values, ' ') + 1;
        sscanf(values, "%u:%llu:%u:%u", &out[i].pid, &out[i].usedGpuMemory, &out[i].gpuInstanceId, &out[i].computeInstanceId);
    }
    return NVML_SUCCESS;
}

#define PROCESSES(function)                                                             \
    nvmlReturn_t function(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *out) \
    {                                                                                   \
        return processes(#function, device, count, out);                                \
    }
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *out, unsigned *count, unsigned long long since)
{
    const char *values;
    const nvmlReturn_t status = answer("nvmlDeviceGetProcessUtilization", device->number, "-", &values);
    const unsigned there = (unsigned)atoi(values);
    unsigned kept = 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double later_us = ((double)now.tv_sec - moments[moment].at_s) * 1e6;
    for (unsigned i = 0; status == NVML_SUCCESS && i < there; i++) {
        nvmlProcessUtilizationSample_t s;
        values = strchr(values, ' ') + 1;
        sscanf(values, "%u:%llu:%u:%u:%u:%u", &s.pid, &s.timeStamp, &s.smUtil, &s.memUtil, &s.encUtil, &s.decUtil);
        s.timeStamp += (unsigned long long)later_us; /* as it would be now */
        if (s.timeStamp > since && kept < *count)
            out[kept++] = s;
    }
    *count = kept;
    return status != NVML_SUCCESS || kept ? status : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
    const char *values;
    if (support->version != NVML_GPM_SUPPORT_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const nvmlReturn_t status = answer("nvmlGpmQueryDeviceSupport", device->number, "-", &values);
    support->isSupportedDevice = (unsigned)atoi(values);
    return status;
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
    return (*sample = calloc(1, sizeof **sample)) ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    free(sample);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
    read_changes();
    *sample = (struct nvmlGpmSample_st){device->number, moment};
    return (nvmlReturn_t)failure("nvmlGpmSampleGet", device->number);
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
    const int failed = failure("nvmlGpmMetricsGet", get->sample2->device);
    if (get->version != NVML_GPM_METRICS_GET_VERSION || get->sample1->device != get->sample2->device)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < get->numMetrics && !failed; i++) {
        char word[32];
        snprintf(word, sizeof word, "%u", get->metrics[i].metricId);
        const struct line *l = find(get->sample2->moment, "gpm", get->sample2->device, word);
        get->metrics[i].nvmlReturn = l ? (nvmlReturn_t)l->status : NVML_ERROR_NOT_SUPPORTED;
        get->metrics[i].value = l ? strtod(l->values, NULL) : 0;
    }
    return (nvmlReturn_t)failed;
}
