/* gpus.h - what the driver says of each NVIDIA device of this machine, whoever uses it: NVML's values, GPM's counters, the processes.
 *
 *     struct sonde_gpus *gpus = sonde_gpus_create();
 *     while (...) {
 *         sonde_gpus_read(gpus);                         takes its time: milliseconds, or seconds with a device in trouble
 *         sonde_gpus_show(gpus);                         what was read is in gpus->gpus from here on
 *     }
 *
 * NVML (libnvidia-ml.so.1, the driver's) is opened when it is first read and is not linked. Where there is none, `why` says so and
 * there are no devices; it is tried again each minute. A device that is lost keeps its place with `up` false and no values.
 *
 * Threads: sonde_gpus_read touches nothing that is shown, so one thread may read while others look at what is shown; whoever shows
 * keeps these away meanwhile.
 */
#ifndef SONDE_MONITOR_GPUS_H
#define SONDE_MONITOR_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/error.h>

#include "base/text.h"

/* One line per value of a device: ID, family, labels within the family, 'g'auge or 'c'ounter, unit, help. Lines of a family stand
 * together. The family says whose value it is: NVML's, or GPM's, whose counters begin when the monitor does (a part of a second in
 * which 40 % of the multiprocessors worked counts 0.4 of it). */
#define SONDE_GPU_METRIC_MAP(X)                                                                                                        \
    X(POWER, "nvml_power_watts", NULL, 'g', "watts", "Power that the board draws.")                                                    \
    X(POWER_LIMIT, "nvml_power_limit_watts", NULL, 'g', "watts", "Power that it may draw.")                                            \
    X(ENERGY, "nvml_energy_joules", NULL, 'c', "joules", "Energy that it took since the driver was loaded.")                           \
    X(TEMPERATURE, "nvml_temperature_celsius", "sensor=\"gpu\"", 'g', "celsius", "Temperature.")                                       \
    X(TEMPERATURE_MEMORY, "nvml_temperature_celsius", "sensor=\"memory\"", 'g', "celsius", "Temperature.")                             \
    X(CLOCK_GRAPHICS, "nvml_clock_hertz", "clock=\"graphics\"", 'g', "hertz", "Clock rates.")                                          \
    X(CLOCK_SM, "nvml_clock_hertz", "clock=\"sm\"", 'g', "hertz", "Clock rates.")                                                      \
    X(CLOCK_MEMORY, "nvml_clock_hertz", "clock=\"memory\"", 'g', "hertz", "Clock rates.")                                              \
    X(CLOCK_VIDEO, "nvml_clock_hertz", "clock=\"video\"", 'g', "hertz", "Clock rates.")                                                \
    X(USE_GPU, "nvml_utilization_ratio", "engine=\"gpu\"", 'g', "ratio", "Share of the driver's last sampling period in which it worked: with a kernel, however small; its memory; its encoder; its decoder.")     \
    X(USE_MEMORY, "nvml_utilization_ratio", "engine=\"memory\"", 'g', "ratio", "")                                                     \
    X(USE_ENCODER, "nvml_utilization_ratio", "engine=\"encoder\"", 'g', "ratio", "")                                                   \
    X(USE_DECODER, "nvml_utilization_ratio", "engine=\"decoder\"", 'g', "ratio", "")                                                   \
    X(MEMORY_TOTAL, "nvml_memory_bytes", "state=\"total\"", 'g', "bytes", "Memory of the device: all, of that used by programs, reserved by the driver, and free.") \
    X(MEMORY_USED, "nvml_memory_bytes", "state=\"used\"", 'g', "bytes", "")                                                            \
    X(MEMORY_RESERVED, "nvml_memory_bytes", "state=\"reserved\"", 'g', "bytes", "")                                                    \
    X(MEMORY_FREE, "nvml_memory_bytes", "state=\"free\"", 'g', "bytes", "")                                                            \
    X(BAR1_TOTAL, "nvml_bar1_memory_bytes", "state=\"total\"", 'g', "bytes", "Addresses through which the host reaches its memory: all, and those in use.") \
    X(BAR1_USED, "nvml_bar1_memory_bytes", "state=\"used\"", 'g', "bytes", "")                                                         \
    X(PCIE_REPLAYS, "nvml_pcie_replays", NULL, 'c', NULL, "Packets that PCIe sent again.")                                             \
    X(PCIE_GENERATION, "nvml_pcie_link_generation", NULL, 'g', NULL, "Generation of PCIe that the link runs at.")                      \
    X(PCIE_WIDTH, "nvml_pcie_link_width", NULL, 'g', NULL, "Lanes of the PCIe link.")                                                  \
    X(NVLINK_LINKS, "nvml_nvlink_active_links", NULL, 'g', NULL, "NVLinks that are up.")                                               \
    X(NVLINK_SENT, "nvml_nvlink_transmitted_bytes", NULL, 'c', "bytes", "Bytes of data that it sent over all NVLinks.")                \
    X(NVLINK_RECEIVED, "nvml_nvlink_received_bytes", NULL, 'c', "bytes", "Bytes of data that it received over all NVLinks.")           \
    X(NVLINK_CRC, "nvml_nvlink_errors", "kind=\"crc\"", 'c', NULL, "Errors of all NVLinks.") \
    X(NVLINK_REPLAY, "nvml_nvlink_errors", "kind=\"replay\"", 'c', NULL, "")                                                           \
    X(NVLINK_RECOVERY, "nvml_nvlink_errors", "kind=\"recovery\"", 'c', NULL, "")                                                       \
    X(ECC_CORRECTED, "nvml_ecc_errors", "kind=\"corrected\",since=\"load\"", 'c', NULL, "Memory errors since the driver was loaded, and since ever.") \
    X(ECC_UNCORRECTED, "nvml_ecc_errors", "kind=\"uncorrected\",since=\"load\"", 'c', NULL, "")                                        \
    X(ECC_CORRECTED_EVER, "nvml_ecc_errors", "kind=\"corrected\",since=\"ever\"", 'c', NULL, "")                                       \
    X(ECC_UNCORRECTED_EVER, "nvml_ecc_errors", "kind=\"uncorrected\",since=\"ever\"", 'c', NULL, "")                                   \
    X(ROWS_CORRECTED, "nvml_remapped_rows", "cause=\"corrected\"", 'g', NULL, "Rows of memory that others stand in for, after errors.") \
    X(ROWS_UNCORRECTED, "nvml_remapped_rows", "cause=\"uncorrected\"", 'g', NULL, "")                                                  \
    X(ROWS_PENDING, "nvml_remap_pending", NULL, 'g', NULL, "1: rows will be replaced at the next reset.")                              \
    X(ROWS_FAILED, "nvml_remap_failed", NULL, 'g', NULL, "1: a row could not be replaced.")                                            \
    X(THROTTLE_IDLE, "nvml_throttle_reason", "reason=\"idle\"", 'g', NULL, "1: the clocks are as low as they are for this reason.")    \
    X(THROTTLE_SETTING, "nvml_throttle_reason", "reason=\"application_clocks\"", 'g', NULL, "")                                        \
    X(THROTTLE_SW_POWER, "nvml_throttle_reason", "reason=\"sw_power_cap\"", 'g', NULL, "")                                             \
    X(THROTTLE_HW, "nvml_throttle_reason", "reason=\"hw_slowdown\"", 'g', NULL, "")                                                    \
    X(THROTTLE_SYNC, "nvml_throttle_reason", "reason=\"sync_boost\"", 'g', NULL, "")                                                   \
    X(THROTTLE_SW_THERMAL, "nvml_throttle_reason", "reason=\"sw_thermal\"", 'g', NULL, "")                                             \
    X(THROTTLE_HW_THERMAL, "nvml_throttle_reason", "reason=\"hw_thermal\"", 'g', NULL, "")                                             \
    X(THROTTLE_HW_BRAKE, "nvml_throttle_reason", "reason=\"hw_power_brake\"", 'g', NULL, "")                                           \
    X(THROTTLE_DISPLAY, "nvml_throttle_reason", "reason=\"display_clocks\"", 'g', NULL, "")                                            \
    X(LIMITED_POWER, "nvml_throttled_seconds", "policy=\"power\"", 'c', "seconds", "Time in which the clocks were held down, by policy.") \
    X(LIMITED_THERMAL, "nvml_throttled_seconds", "policy=\"thermal\"", 'c', "seconds", "")                                             \
    X(LIMITED_SYNC, "nvml_throttled_seconds", "policy=\"sync_boost\"", 'c', "seconds", "")                                             \
    X(LIMITED_BOARD, "nvml_throttled_seconds", "policy=\"board_limit\"", 'c', "seconds", "")                                           \
    X(LIMITED_LOW, "nvml_throttled_seconds", "policy=\"low_utilization\"", 'c', "seconds", "") \
    X(LIMITED_RELIABILITY, "nvml_throttled_seconds", "policy=\"reliability\"", 'c', "seconds", "")                                     \
    X(PERFORMANCE_STATE, "nvml_performance_state", NULL, 'g', NULL, "P-state: 0 is the fastest, 15 the slowest.")                      \
    X(FAN, "nvml_fan_speed_ratio", NULL, 'g', "ratio", "Speed of the fan, of its highest.")                                            \
    X(GPM_TIME, "gpm_sampled_seconds", NULL, 'c', "seconds", "Time that GPM's counters are about, but for gpm_active_seconds.")          \
    X(GPM_GRAPHICS_TIME, "gpm_active_sampled_seconds", NULL, 'c', "seconds", "Time that gpm_active_seconds is about.")                 \
    X(GPM_GRAPHICS, "gpm_active_seconds", NULL, 'c', "seconds", "Time in which anything ran.")                                         \
    X(GPM_SM, "gpm_sm_active_seconds", NULL, 'c', "seconds", "Time, times the share of multiprocessors that worked.")                  \
    X(GPM_OCCUPANCY, "gpm_occupancy_seconds", NULL, 'c', "seconds", "Time, times the share of the warps that could be resident.")      \
    X(GPM_INTEGER, "gpm_pipe_active_seconds", "pipe=\"integer\"", 'c', "seconds", "Time, times the share in which the multiprocessors' pipes worked.") \
    X(GPM_FP16, "gpm_pipe_active_seconds", "pipe=\"fp16\"", 'c', "seconds", "")                                                        \
    X(GPM_FP32, "gpm_pipe_active_seconds", "pipe=\"fp32\"", 'c', "seconds", "")                                                        \
    X(GPM_FP64, "gpm_pipe_active_seconds", "pipe=\"fp64\"", 'c', "seconds", "")                                                        \
    X(GPM_TENSOR, "gpm_pipe_active_seconds", "pipe=\"tensor\"", 'c', "seconds", "")                                                    \
    X(GPM_TENSOR_DFMA, "gpm_pipe_active_seconds", "pipe=\"tensor_dfma\"", 'c', "seconds", "")                                          \
    X(GPM_TENSOR_HMMA, "gpm_pipe_active_seconds", "pipe=\"tensor_hmma\"", 'c', "seconds", "")                                          \
    X(GPM_TENSOR_IMMA, "gpm_pipe_active_seconds", "pipe=\"tensor_imma\"", 'c', "seconds", "")                                          \
    X(GPM_DRAM, "gpm_dram_active_seconds", NULL, 'c', "seconds", "Time, times the share of the memory's bandwidth that was used.")     \
    X(GPM_PCIE_SENT, "gpm_pcie_transmitted_bytes", NULL, 'c', "bytes", "Bytes that the device sent over PCIe.")                        \
    X(GPM_PCIE_RECEIVED, "gpm_pcie_received_bytes", NULL, 'c', "bytes", "Bytes that it received over PCIe.")                           \
    X(GPM_NVLINK_SENT, "gpm_nvlink_transmitted_bytes", NULL, 'c', "bytes", "Bytes that it sent over NVLink.")                          \
    X(GPM_NVLINK_RECEIVED, "gpm_nvlink_received_bytes", NULL, 'c', "bytes", "Bytes that it received over NVLink.")

enum sonde_gpu_metric_id {
#define X(id, ...) SONDE_GPU_##id,
    SONDE_GPU_METRIC_MAP(X)
#undef X
        SONDE_GPU_METRICS
};

struct sonde_gpu_metric {
    const char *family, *labels;
    char type;
    const char *unit, *help;
};
extern const struct sonde_gpu_metric sonde_gpu_metrics[SONDE_GPU_METRICS];

struct sonde_gpu_process {
    unsigned pid;          /* in the namespace of the driver's: a container's may be another */
    char program[64];      /* file name of its executable; "" where it cannot be seen */
    const char *kind;      /* compute, graphics or mps */
    double memory_bytes;   /* NAN: unknown */
    double use;            /* share of the device's sampling period in which its kernels ran; NAN: unknown */
};

enum { SONDE_GPU_COUNTERS_MAX = 32 };

/* What the hardware itself counts (PM sampling), where sonde_gpus_sample asked for it. */
struct sonde_gpu_counter {
    const char *metric; /* CUPTI's name; as long as the gpus */
    char unit[32];      /* "": none, or not known */
    bool adds_up;       /* a sum or an average over units, of what happened: a count. Else a value, such as a share of a peak */
    double total;       /* of a count what was counted, of a value value * s, since sampling began; NAN: the device does not have it */
};

struct sonde_gpu {
    unsigned number;       /* NVML's, from 0, in the order of PCI addresses: a program's may be another */
    char name[96], uuid[96], bus[32];
    bool up;
    double value[SONDE_GPU_METRICS];  /* NAN: unknown, or the device does not have it */
    double before[SONDE_GPU_METRICS]; /* at the look before */
    uint64_t read_ns, before_ns;      /* CLOCK_MONOTONIC of the two; 0: there was none */
    struct sonde_gpu_process *processes;
    size_t process_count;
    struct sonde_gpu_counter *counters;
    size_t counter_count;
    double sampled_s;      /* of which the counters tell */
};

struct sonde_gpus {
    struct sonde_gpu *gpus;
    size_t count;
    char driver[80];        /* its version */
    char why[256];          /* why there are no devices; "": there are */
    uint64_t failed, lost;  /* reads that failed for no known reason, and devices that went away: since the start */
    struct sonde_text notes; /* what has happened and was not said: lines, each with its end. Whoever says them empties it. */
    struct sonde__gpu_reader *reader;
};

/* NULL: out of memory. */
struct sonde_gpus *sonde_gpus_create(void);
void sonde_gpus_destroy(struct sonde_gpus *gpus);

/* Before the first read: the hardware's counters are read, too, and the devices note them each `interval_ns`. `list`: metrics and sets of record --counters, with
 * commas; kept. Where that does not work, a note says why, and it is tried again each minute. */
void sonde_gpus_sample(struct sonde_gpus *gpus, const char *list, uint64_t interval_ns);
/* It is such a list, of at most SONDE_GPU_COUNTERS_MAX metrics. */
bool sonde_gpus_can_sample(const char *list);

void sonde_gpus_read(struct sonde_gpus *gpus);
/* 0, or SONDE_ENOMEM: then what was shown stays. */
int sonde_gpus_show(struct sonde_gpus *gpus);

/* What a counter of GPM's grew by per second of the time that GPM saw since the look before: of seconds a share; NAN: unknown. */
double sonde_gpu_share(const struct sonde_gpu *gpu, enum sonde_gpu_metric_id id);

#endif
