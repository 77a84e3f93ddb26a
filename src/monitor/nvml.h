/* nvml.h - the driver's library NVML, opened at run time, and what the files that read it share. See gpus.h. */
#ifndef SONDE_MONITOR_NVML_H
#define SONDE_MONITOR_NVML_H

#include <nvml.h>

#include "gpus.h"

/* Everything that is called in it. Old drivers lack some: these are NULL. */
#define SONDE_NVML_MAP(X)                        \
    X(nvmlInit_v2)                               \
    X(nvmlShutdown)                              \
    X(nvmlErrorString)                           \
    X(nvmlSystemGetDriverVersion)                \
    X(nvmlDeviceGetCount_v2)                     \
    X(nvmlDeviceGetHandleByIndex_v2)             \
    X(nvmlDeviceGetName)                         \
    X(nvmlDeviceGetUUID)                         \
    X(nvmlDeviceGetPciInfo_v3)                   \
    X(nvmlDeviceGetPowerUsage)                   \
    X(nvmlDeviceGetEnforcedPowerLimit)           \
    X(nvmlDeviceGetTemperature)                  \
    X(nvmlDeviceGetClockInfo)                    \
    X(nvmlDeviceGetUtilizationRates)             \
    X(nvmlDeviceGetEncoderUtilization)           \
    X(nvmlDeviceGetDecoderUtilization)           \
    X(nvmlDeviceGetMemoryInfo_v2)                \
    X(nvmlDeviceGetBAR1MemoryInfo)               \
    X(nvmlDeviceGetCurrPcieLinkGeneration)       \
    X(nvmlDeviceGetCurrPcieLinkWidth)            \
    X(nvmlDeviceGetNvLinkState)                  \
    X(nvmlDeviceGetCurrentClocksEventReasons)    \
    X(nvmlDeviceGetCurrentClocksThrottleReasons) \
    X(nvmlDeviceGetPerformanceState)             \
    X(nvmlDeviceGetFanSpeed)                     \
    X(nvmlDeviceGetFieldValues)                  \
    X(nvmlDeviceGetComputeRunningProcesses_v3)   \
    X(nvmlDeviceGetGraphicsRunningProcesses_v3)  \
    X(nvmlDeviceGetMPSComputeRunningProcesses_v3)\
    X(nvmlDeviceGetProcessUtilization)           \
    X(nvmlGpmQueryDeviceSupport)                 \
    X(nvmlGpmSampleAlloc)                        \
    X(nvmlGpmSampleFree)                         \
    X(nvmlGpmSampleGet)                          \
    X(nvmlGpmMetricsGet)

struct sonde__nvml {
#define X(name) __typeof__(name) *name;
    SONDE_NVML_MAP(X)
#undef X
};

/* A call of a function that the driver may lack. */
#define SONDE_NVML(nvml, function, ...) ((nvml)->function ? (nvml)->function(__VA_ARGS__) : NVML_ERROR_FUNCTION_NOT_FOUND)

/* How often values are asked for: each second, as often as a small share of a processor allows (gpus.c), or at each look. */
enum sonde__gpu_pace {
    SONDE_GPU_SECOND,
    SONDE_GPU_COSTLY,
    SONDE_GPU_LOOK,
    SONDE_GPU_KEPT = SONDE_GPU_LOOK, /* what is read at those before is kept meanwhile */
};

/* A device as it is read, with what is not shown of it. */
struct sonde__gpu_state {
    struct sonde_gpu gpu;
    nvmlDevice_t handle;
    uint64_t without_calls;              /* of gpu_values.c: bits of those that this device does not have */
    bool without_field[64];              /* likewise of its fields */
    bool without_processes[4];           /* of gpu_processes.c: likewise of its calls */
    uint64_t read_ns[SONDE_GPU_KEPT];   /* when what is read at each pace was read last; 0: never */
    double kept[SONDE_GPU_KEPT][SONDE_GPU_METRICS]; /* that, with NAN for the rest */
    uint64_t costly_ns;                    /* what SONDE_GPU_COSTLY took of a processor */
    struct sonde__gpu_window {           /* between two samples of GPM */
        nvmlGpmSample_t sample[2];       /* NULL: no GPM. [0] is the older one */
        uint64_t sampled_ns;             /* when that was taken; 0: never */
    } window[2];                         /* of what is cheap, and of what is not */
    double total[SONDE_GPU_METRICS];     /* of GPM: so far */
    struct sonde__gpu_pm *pm;            /* of gpu_pm.c; NULL: nothing yet */
};

struct sonde__gpu_reader {
    struct sonde__nvml nvml;
    void *library;
    bool begun;
    uint64_t tried_ns;
    struct sonde__gpu_state *states;
    size_t count;
    bool costly_read;                      /* of a device, in this look */
    uint64_t failed, lost;
    char driver[80], why[256];
    struct sonde_text notes;
    const char *sampled;                 /* counters that are wanted; NULL: none */
    uint64_t sampling_ns;
};

/* Judges the answer to a call about a device: true if it has values. Else `*without` is set where it will never have, for which reason
 * nobody has to ask again; a device that is lost is marked so, once; other failures are counted. */
bool sonde__gpu_answered(struct sonde__gpu_reader *reader, struct sonde__gpu_state *state, nvmlReturn_t answer, const char *call, bool *without);

/* gpu_values.c, gpu_gpm.c, gpu_pm.c, gpu_processes.c: each part of a look at a device that is up. */
void sonde__gpu_values(struct sonde__gpu_reader *reader, struct sonde__gpu_state *state, enum sonde__gpu_pace pace);
void sonde__gpu_gpm_begin(struct sonde__gpu_reader *reader, struct sonde__gpu_state *state);
void sonde__gpu_gpm(struct sonde__gpu_reader *reader, struct sonde__gpu_state *state, enum sonde__gpu_pace pace, uint64_t now_ns); /* LOOK or COSTLY */
void sonde__gpu_gpm_end(struct sonde__gpu_reader *reader, struct sonde__gpu_state *state);
void sonde__gpu_pm(struct sonde__gpu_reader *reader, struct sonde__gpu_state *state, uint64_t now_ns);
void sonde__gpu_pm_end(struct sonde__gpu_reader *reader, struct sonde__gpu_state *state); /* also of one that is lost */
void sonde__gpu_processes(struct sonde__gpu_reader *reader, struct sonde__gpu_state *state, enum sonde__gpu_pace pace); /* SECOND: who; COSTLY: how much */

#endif
