/* gpu_gpm.c - GPM's counters of a device, of Hopper and later. See nvml.h.
 *
 * GPM tells means between two samples, which should lie 100 ms apart at least. Each is added up with the time between them, so that what
 * is shown is a counter: of whatever window somebody takes, the mean is right.
 */
#ifdef SONDE_CUDA
#include <math.h>

#include "nvml.h"

#define LEAST_NS 100000000u

static const struct {
    enum sonde_gpu_metric_id id;
    unsigned metric;
    double unit; /* of the counter, in a second of the metric */
} metrics[] = {
    {SONDE_GPU_GPM_GRAPHICS, NVML_GPM_METRIC_GRAPHICS_UTIL, .01},
    {SONDE_GPU_GPM_SM, NVML_GPM_METRIC_SM_UTIL, .01},
    {SONDE_GPU_GPM_OCCUPANCY, NVML_GPM_METRIC_SM_OCCUPANCY, .01},
    {SONDE_GPU_GPM_INTEGER, NVML_GPM_METRIC_INTEGER_UTIL, .01},
    {SONDE_GPU_GPM_FP16, NVML_GPM_METRIC_FP16_UTIL, .01},
    {SONDE_GPU_GPM_FP32, NVML_GPM_METRIC_FP32_UTIL, .01},
    {SONDE_GPU_GPM_FP64, NVML_GPM_METRIC_FP64_UTIL, .01},
    {SONDE_GPU_GPM_TENSOR, NVML_GPM_METRIC_ANY_TENSOR_UTIL, .01},
    {SONDE_GPU_GPM_TENSOR_DFMA, NVML_GPM_METRIC_DFMA_TENSOR_UTIL, .01},
    {SONDE_GPU_GPM_TENSOR_HMMA, NVML_GPM_METRIC_HMMA_TENSOR_UTIL, .01},
    {SONDE_GPU_GPM_TENSOR_IMMA, NVML_GPM_METRIC_IMMA_TENSOR_UTIL, .01},
    {SONDE_GPU_GPM_DRAM, NVML_GPM_METRIC_DRAM_BW_UTIL, .01},
    {SONDE_GPU_GPM_PCIE_SENT, NVML_GPM_METRIC_PCIE_TX_PER_SEC, 1048576},
    {SONDE_GPU_GPM_PCIE_RECEIVED, NVML_GPM_METRIC_PCIE_RX_PER_SEC, 1048576},
    {SONDE_GPU_GPM_NVLINK_SENT, NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, 1048576},
    {SONDE_GPU_GPM_NVLINK_RECEIVED, NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, 1048576},
};
enum { METRICS = sizeof metrics / sizeof *metrics };

void sonde__gpu_gpm_end(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    for (int i = 0; i < 2; i++) {
        if (s->sample[i])
            SONDE_NVML(&r->nvml, nvmlGpmSampleFree, s->sample[i]);
        s->sample[i] = NULL;
    }
}

void sonde__gpu_gpm_begin(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    nvmlGpmSupport_t support = {.version = NVML_GPM_SUPPORT_VERSION};
    for (int i = 0; i < SONDE_GPU_METRICS; i++)
        s->total[i] = NAN;
    if (SONDE_NVML(&r->nvml, nvmlGpmQueryDeviceSupport, s->handle, &support) != NVML_SUCCESS || !support.isSupportedDevice)
        return;
    for (int i = 0; i < 2; i++)
        if (SONDE_NVML(&r->nvml, nvmlGpmSampleAlloc, &s->sample[i]) != NVML_SUCCESS)
            sonde__gpu_gpm_end(r, s);
}

/* False: the two are of one of the device's own periods, and tell nothing. */
static bool add_up(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, double seconds)
{
    nvmlGpmMetricsGet_t got = {.version = NVML_GPM_METRICS_GET_VERSION, .numMetrics = METRICS, .sample1 = s->sample[0], .sample2 = s->sample[1]};
    bool none = false;
    for (int i = 0; i < METRICS; i++)
        got.metrics[i].metricId = metrics[i].metric;
    if (!sonde__gpu_answered(r, s, SONDE_NVML(&r->nvml, nvmlGpmMetricsGet, &got), "GPM", &none)) {
        if (none)
            sonde__gpu_gpm_end(r, s);
        return true;
    }
    for (int i = 0; i < METRICS; i++)
        if (got.metrics[i].nvmlReturn == NVML_SUCCESS && !isfinite(got.metrics[i].value))
            return false;
    s->total[SONDE_GPU_GPM_TIME] += seconds;
    for (int i = 0; i < METRICS; i++)
        if (got.metrics[i].nvmlReturn == NVML_SUCCESS && got.metrics[i].value >= 0)
            s->total[metrics[i].id] = fmax(s->total[metrics[i].id], 0) + got.metrics[i].value * metrics[i].unit * seconds;
    return true;
}

void sonde__gpu_gpm(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, uint64_t now_ns)
{
    bool none = false;
    if (s->sample[0] && (!s->sampled_ns || now_ns - s->sampled_ns >= LEAST_NS)) {
        if (sonde__gpu_answered(r, s, SONDE_NVML(&r->nvml, nvmlGpmSampleGet, s->handle, s->sample[1]), "GPM", &none)) {
            if (isnan(s->total[SONDE_GPU_GPM_TIME]))
                s->total[SONDE_GPU_GPM_TIME] = 0;
            if (!s->sampled_ns || add_up(r, s, (double)(now_ns - s->sampled_ns) / 1e9)) {
                const nvmlGpmSample_t older = s->sample[0];
                s->sample[0] = s->sample[1];
                s->sample[1] = older;
                s->sampled_ns = now_ns;
            }
        } else if (none) {
            sonde__gpu_gpm_end(r, s);
        }
    }
    for (int i = SONDE_GPU_GPM_TIME; i < SONDE_GPU_METRICS && s->gpu.up; i++)
        s->gpu.value[i] = s->total[i];
}
#endif
