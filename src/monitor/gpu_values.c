/* gpu_values.c - NVML's values of a device. See nvml.h.
 *
 * What has a field is asked for in one call, the rest in a call each; what a device does not have is asked for once. Those that take the
 * driver long are asked for less often (energy 2.4 ms on an H100 and 4 ms on an H200, all of it of a processor). Of PCIe's bytes there is nothing here: nvmlDeviceGetPcieThroughput waits for 20 ms, and the fields' counters have 32
 * bits, which a device fills in 78 ms. GPM has them.
 */
#ifdef SONDE_CUDA
#include <math.h>

#include "nvml.h"

/* ---- fields -------------------------------------------------------------------------------- */

enum { ALL_LINKS = -1 };

static const struct field {
    enum sonde_gpu_metric_id id;
    unsigned field;
    int scope;
    double unit; /* of the metric, in the field's */
    enum sonde__gpu_pace pace;
} fields[] = {
    {SONDE_GPU_ENERGY, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, 0, 1e-3, SONDE_GPU_COSTLY},
    {SONDE_GPU_TEMPERATURE_MEMORY, NVML_FI_DEV_MEMORY_TEMP, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_PCIE_REPLAYS, NVML_FI_DEV_PCIE_REPLAY_COUNTER, 0, 1, SONDE_GPU_COSTLY},
    {SONDE_GPU_NVLINK_SENT, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ALL_LINKS, 1024, SONDE_GPU_SECOND},
    {SONDE_GPU_NVLINK_RECEIVED, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ALL_LINKS, 1024, SONDE_GPU_SECOND},
    {SONDE_GPU_NVLINK_CRC, NVML_FI_DEV_NVLINK_ERROR_DL_CRC, ALL_LINKS, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_NVLINK_REPLAY, NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, ALL_LINKS, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_NVLINK_RECOVERY, NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY, ALL_LINKS, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_ECC_CORRECTED, NVML_FI_DEV_ECC_SBE_VOL_TOTAL, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_ECC_UNCORRECTED, NVML_FI_DEV_ECC_DBE_VOL_TOTAL, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_ECC_CORRECTED_EVER, NVML_FI_DEV_ECC_SBE_AGG_TOTAL, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_ECC_UNCORRECTED_EVER, NVML_FI_DEV_ECC_DBE_AGG_TOTAL, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_ROWS_CORRECTED, NVML_FI_DEV_REMAPPED_COR, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_ROWS_UNCORRECTED, NVML_FI_DEV_REMAPPED_UNC, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_ROWS_PENDING, NVML_FI_DEV_REMAPPED_PENDING, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_ROWS_FAILED, NVML_FI_DEV_REMAPPED_FAILURE, 0, 1, SONDE_GPU_SECOND},
    {SONDE_GPU_LIMITED_POWER, NVML_FI_DEV_PERF_POLICY_POWER, 0, 1e-9, SONDE_GPU_SECOND},
    {SONDE_GPU_LIMITED_THERMAL, NVML_FI_DEV_PERF_POLICY_THERMAL, 0, 1e-9, SONDE_GPU_COSTLY},
    {SONDE_GPU_LIMITED_SYNC, NVML_FI_DEV_PERF_POLICY_SYNC_BOOST, 0, 1e-9, SONDE_GPU_SECOND},
    {SONDE_GPU_LIMITED_BOARD, NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT, 0, 1e-9, SONDE_GPU_SECOND},
    {SONDE_GPU_LIMITED_LOW, NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION, 0, 1e-9, SONDE_GPU_SECOND},
    {SONDE_GPU_LIMITED_RELIABILITY, NVML_FI_DEV_PERF_POLICY_RELIABILITY, 0, 1e-9, SONDE_GPU_SECOND},
};
enum { FIELDS = sizeof fields / sizeof *fields };
_Static_assert(FIELDS <= sizeof((struct sonde__gpu_state *)0)->without_field, "without_field has too few");

static double number_of(const nvmlFieldValue_t *v)
{
    switch (v->valueType) {
    case NVML_VALUE_TYPE_DOUBLE:
        return v->value.dVal;
    case NVML_VALUE_TYPE_UNSIGNED_INT:
        return v->value.uiVal;
    case NVML_VALUE_TYPE_UNSIGNED_LONG:
        return (double)v->value.ulVal;
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
        return (double)v->value.ullVal;
    case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
        return (double)v->value.sllVal;
    case NVML_VALUE_TYPE_SIGNED_INT:
        return v->value.siVal;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT:
        return v->value.usVal;
    default:
        return NAN;
    }
}

static void read_fields(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, enum sonde__gpu_pace pace)
{
    nvmlFieldValue_t values[FIELDS] = {0};
    const struct field *of[FIELDS];
    int count = 0;
    for (int i = 0; i < FIELDS; i++)
        if (!s->without_field[i] && fields[i].pace == pace) {
            values[count].fieldId = fields[i].field;
            values[count].scopeId = (unsigned)fields[i].scope;
            of[count++] = &fields[i];
        }
    bool none = false;
    if (!count || !sonde__gpu_answered(r, s, SONDE_NVML(&r->nvml, nvmlDeviceGetFieldValues, s->handle, count, values), "nvmlDeviceGetFieldValues", &none)) {
        for (int i = 0; i < FIELDS; i++)
            s->without_field[i] |= none && fields[i].pace == pace;
        return;
    }
    for (int i = 0; i < count && s->gpu.up; i++)
        if (sonde__gpu_answered(r, s, values[i].nvmlReturn, sonde_gpu_metrics[of[i]->id].family, &s->without_field[of[i] - fields]))
            s->gpu.value[of[i]->id] = number_of(&values[i]) * of[i]->unit;
}

/* ---- calls --------------------------------------------------------------------------------- */

typedef nvmlReturn_t read_function(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value);

/* A call for one number, with or without an argument. */
#define NUMBER(name, function, id, unit)                                                                        \
    static nvmlReturn_t name(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)                \
    {                                                                                                           \
        unsigned number = 0;                                                                                    \
        const nvmlReturn_t answer = SONDE_NVML(nvml, function, device, &number);                                \
        if (answer == NVML_SUCCESS)                                                                             \
            value[id] = number * (unit);                                                                        \
        return answer;                                                                                          \
    }
#define NUMBER_OF(name, function, argument, id, unit)                                                           \
    static nvmlReturn_t name(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)                \
    {                                                                                                           \
        unsigned number = 0;                                                                                    \
        const nvmlReturn_t answer = SONDE_NVML(nvml, function, device, argument, &number);                      \
        if (answer == NVML_SUCCESS)                                                                             \
            value[id] = number * (unit);                                                                        \
        return answer;                                                                                          \
    }
NUMBER(power, nvmlDeviceGetPowerUsage, SONDE_GPU_POWER, 1e-3)
NUMBER(power_limit, nvmlDeviceGetEnforcedPowerLimit, SONDE_GPU_POWER_LIMIT, 1e-3)
NUMBER(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration, SONDE_GPU_PCIE_GENERATION, 1)
NUMBER(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, SONDE_GPU_PCIE_WIDTH, 1)
NUMBER(fan, nvmlDeviceGetFanSpeed, SONDE_GPU_FAN, .01)
NUMBER_OF(temperature, nvmlDeviceGetTemperature, NVML_TEMPERATURE_GPU, SONDE_GPU_TEMPERATURE, 1)
NUMBER_OF(clock_graphics, nvmlDeviceGetClockInfo, NVML_CLOCK_GRAPHICS, SONDE_GPU_CLOCK_GRAPHICS, 1e6)
NUMBER_OF(clock_sm, nvmlDeviceGetClockInfo, NVML_CLOCK_SM, SONDE_GPU_CLOCK_SM, 1e6)
NUMBER_OF(clock_memory, nvmlDeviceGetClockInfo, NVML_CLOCK_MEM, SONDE_GPU_CLOCK_MEMORY, 1e6)
NUMBER_OF(clock_video, nvmlDeviceGetClockInfo, NVML_CLOCK_VIDEO, SONDE_GPU_CLOCK_VIDEO, 1e6)

static nvmlReturn_t use(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)
{
    nvmlUtilization_t both = {0};
    const nvmlReturn_t answer = SONDE_NVML(nvml, nvmlDeviceGetUtilizationRates, device, &both);
    if (answer == NVML_SUCCESS) {
        value[SONDE_GPU_USE_GPU] = both.gpu / 100.;
        value[SONDE_GPU_USE_MEMORY] = both.memory / 100.;
    }
    return answer;
}

static nvmlReturn_t encoder(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)
{
    unsigned share = 0, period_us = 0;
    const nvmlReturn_t answer = SONDE_NVML(nvml, nvmlDeviceGetEncoderUtilization, device, &share, &period_us);
    if (answer == NVML_SUCCESS)
        value[SONDE_GPU_USE_ENCODER] = share / 100.;
    return answer;
}

static nvmlReturn_t decoder(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)
{
    unsigned share = 0, period_us = 0;
    const nvmlReturn_t answer = SONDE_NVML(nvml, nvmlDeviceGetDecoderUtilization, device, &share, &period_us);
    if (answer == NVML_SUCCESS)
        value[SONDE_GPU_USE_DECODER] = share / 100.;
    return answer;
}

static nvmlReturn_t memory(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)
{
    nvmlMemory_v2_t m = {.version = nvmlMemory_v2};
    const nvmlReturn_t answer = SONDE_NVML(nvml, nvmlDeviceGetMemoryInfo_v2, device, &m);
    if (answer == NVML_SUCCESS) {
        value[SONDE_GPU_MEMORY_TOTAL] = (double)m.total;
        value[SONDE_GPU_MEMORY_USED] = (double)m.used;
        value[SONDE_GPU_MEMORY_RESERVED] = (double)m.reserved;
        value[SONDE_GPU_MEMORY_FREE] = (double)m.free;
    }
    return answer;
}

static nvmlReturn_t bar1(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)
{
    nvmlBAR1Memory_t m = {0};
    const nvmlReturn_t answer = SONDE_NVML(nvml, nvmlDeviceGetBAR1MemoryInfo, device, &m);
    if (answer == NVML_SUCCESS) {
        value[SONDE_GPU_BAR1_TOTAL] = (double)m.bar1Total;
        value[SONDE_GPU_BAR1_USED] = (double)m.bar1Used;
    }
    return answer;
}

/* A device has its links in a row; the first that it does not have ends them. */
static nvmlReturn_t links(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)
{
    nvmlReturn_t answer = NVML_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0, up = 0; i < NVML_NVLINK_MAX_LINKS; i++) {
        nvmlEnableState_t state = NVML_FEATURE_DISABLED;
        answer = SONDE_NVML(nvml, nvmlDeviceGetNvLinkState, device, i, &state);
        if (answer != NVML_SUCCESS)
            return i && (answer == NVML_ERROR_INVALID_ARGUMENT || answer == NVML_ERROR_NOT_SUPPORTED) ? NVML_SUCCESS : answer;
        up += state == NVML_FEATURE_ENABLED;
        value[SONDE_GPU_NVLINK_LINKS] = up;
    }
    return answer;
}

static nvmlReturn_t reasons(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)
{
    static const struct {
        unsigned long long bit;
        enum sonde_gpu_metric_id id;
    } bits[] = {
        {nvmlClocksEventReasonGpuIdle, SONDE_GPU_THROTTLE_IDLE},
        {nvmlClocksEventReasonApplicationsClocksSetting, SONDE_GPU_THROTTLE_SETTING},
        {nvmlClocksEventReasonSwPowerCap, SONDE_GPU_THROTTLE_SW_POWER},
        {nvmlClocksThrottleReasonHwSlowdown, SONDE_GPU_THROTTLE_HW},
        {nvmlClocksEventReasonSyncBoost, SONDE_GPU_THROTTLE_SYNC},
        {nvmlClocksEventReasonSwThermalSlowdown, SONDE_GPU_THROTTLE_SW_THERMAL},
        {nvmlClocksThrottleReasonHwThermalSlowdown, SONDE_GPU_THROTTLE_HW_THERMAL},
        {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, SONDE_GPU_THROTTLE_HW_BRAKE},
        {nvmlClocksEventReasonDisplayClockSetting, SONDE_GPU_THROTTLE_DISPLAY},
    };
    unsigned long long set = 0;
    nvmlReturn_t answer = SONDE_NVML(nvml, nvmlDeviceGetCurrentClocksEventReasons, device, &set);
    if (answer == NVML_ERROR_FUNCTION_NOT_FOUND) /* its name before driver 535 */
        answer = SONDE_NVML(nvml, nvmlDeviceGetCurrentClocksThrottleReasons, device, &set);
    for (size_t i = 0; answer == NVML_SUCCESS && i < sizeof bits / sizeof *bits; i++)
        value[bits[i].id] = (set & bits[i].bit) != 0;
    return answer;
}

static nvmlReturn_t performance_state(const struct sonde__nvml *nvml, nvmlDevice_t device, double *value)
{
    nvmlPstates_t state = NVML_PSTATE_UNKNOWN;
    const nvmlReturn_t answer = SONDE_NVML(nvml, nvmlDeviceGetPerformanceState, device, &state);
    if (answer == NVML_SUCCESS && state != NVML_PSTATE_UNKNOWN)
        value[SONDE_GPU_PERFORMANCE_STATE] = state;
    return answer;
}

static const struct {
    read_function *read;
    const char *name; /* for people */
    enum sonde__gpu_pace pace;
} calls[] = {
    {power, "power", SONDE_GPU_LOOK},
    {power_limit, "the power limit", SONDE_GPU_LOOK},
    {temperature, "the temperature", SONDE_GPU_LOOK},
    {clock_graphics, "the graphics clock", SONDE_GPU_LOOK},
    {clock_sm, "the multiprocessors' clock", SONDE_GPU_LOOK},
    {clock_memory, "the memory's clock", SONDE_GPU_LOOK},
    {clock_video, "the video clock", SONDE_GPU_LOOK},
    {use, "utilization", SONDE_GPU_LOOK},
    {encoder, "the encoder's utilization", SONDE_GPU_LOOK},
    {decoder, "the decoder's utilization", SONDE_GPU_LOOK},
    {memory, "memory", SONDE_GPU_LOOK},
    {bar1, "BAR1 memory", SONDE_GPU_COSTLY},
    {pcie_generation, "the PCIe generation", SONDE_GPU_SECOND},
    {pcie_width, "the PCIe width", SONDE_GPU_SECOND},
    {links, "the state of NVLinks", SONDE_GPU_SECOND},
    {reasons, "throttle reasons", SONDE_GPU_LOOK},
    {performance_state, "the performance state", SONDE_GPU_LOOK},
    {fan, "the fan", SONDE_GPU_SECOND},
};

void sonde__gpu_values(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, enum sonde__gpu_pace pace)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls && s->gpu.up; i++) {
        bool without = s->without_calls >> i & 1;
        if (!without && calls[i].pace == pace)
            sonde__gpu_answered(r, s, calls[i].read(&r->nvml, s->handle, s->gpu.value), calls[i].name, &without);
        s->without_calls |= (uint64_t)without << i;
    }
    if (s->gpu.up && pace != SONDE_GPU_LOOK)
        read_fields(r, s, pace);
}
#endif
