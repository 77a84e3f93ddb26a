/* gpu_gpm.c - GPM's counters of a device, of Hopper and later. See nvml.h.
 *
 * GPM tells means between two samples, which should lie 100 ms apart at least. Each is added up with the time between them, so that what
 * is shown is a counter: of whatever window somebody takes, the mean is right. One of them, in which time anything ran, takes the library 1.4 ms to compute
 * (driver 580), and the others nothing: it has samples of its own, further apart.
 */
#ifdef SONDE_CUDA
#include <math.h>

#include "nvml.h"

#define LEAST_NS  100000000u
#define DEVICE_NS 30000000u /* further apart the more there are: a sample takes 54 us of a processor, which of eight devices ten times a second would be half a percent */

struct metric {
    enum sonde_gpu_metric_id id;
    unsigned metric;
    double unit; /* of the counter, in a second of the metric */
};
static const struct metric costly[] = {
    {SONDE_GPU_GPM_GRAPHICS, NVML_GPM_METRIC_GRAPHICS_UTIL, .01},
};
static const struct metric metrics[] = {
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

static const struct {
    const struct metric *metrics;
    int count;
    enum sonde_gpu_metric_id time;
} windows[] = {
    {metrics, METRICS, SONDE_GPU_GPM_TIME},
    {costly, sizeof costly / sizeof *costly, SONDE_GPU_GPM_GRAPHICS_TIME},
};
enum { WINDOWS = sizeof windows / sizeof *windows };

void sonde__gpu_gpm_end(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    for (int i = 0; i < 2 * WINDOWS; i++) {
        nvmlGpmSample_t *sample = &s->window[i / 2].sample[i % 2];
        if (*sample)
            SONDE_NVML(&r->nvml, nvmlGpmSampleFree, *sample);
        *sample = NULL;
    }
}

void sonde__gpu_gpm_begin(struct sonde__gpu_reader *r, struct sonde__gpu_state *s)
{
    nvmlGpmSupport_t support = {.version = NVML_GPM_SUPPORT_VERSION};
    for (int i = 0; i < SONDE_GPU_METRICS; i++)
        s->total[i] = NAN;
    if (SONDE_NVML(&r->nvml, nvmlGpmQueryDeviceSupport, s->handle, &support) != NVML_SUCCESS || !support.isSupportedDevice)
        return;
    for (int i = 0; i < 2 * WINDOWS; i++)
        if (SONDE_NVML(&r->nvml, nvmlGpmSampleAlloc, &s->window[i / 2].sample[i % 2]) != NVML_SUCCESS) {
            sonde__gpu_gpm_end(r, s);
            return;
        }
}

/* False: the two are of one of the device's own periods, and tell nothing. */
static bool add_up(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, int w, double seconds)
{
    const struct metric *of = windows[w].metrics;
    const int count = windows[w].count;
    nvmlGpmMetricsGet_t got = {.version = NVML_GPM_METRICS_GET_VERSION, .numMetrics = (unsigned)count, .sample1 = s->window[w].sample[0], .sample2 = s->window[w].sample[1]};
    bool none = false;
    for (int i = 0; i < count; i++)
        got.metrics[i].metricId = of[i].metric;
    if (!sonde__gpu_answered(r, s, SONDE_NVML(&r->nvml, nvmlGpmMetricsGet, &got), "GPM", &none)) {
        if (none)
            sonde__gpu_gpm_end(r, s);
        return true;
    }
    for (int i = 0; i < count; i++)
        if (got.metrics[i].nvmlReturn == NVML_SUCCESS && !isfinite(got.metrics[i].value))
            return false;
    s->total[windows[w].time] += seconds;
    for (int i = 0; i < count; i++)
        if (got.metrics[i].nvmlReturn == NVML_SUCCESS && got.metrics[i].value >= 0)
            s->total[of[i].id] = fmax(s->total[of[i].id], 0) + got.metrics[i].value * of[i].unit * seconds;
    return true;
}

static void look(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, int w, uint64_t now_ns)
{
    struct sonde__gpu_window *of = &s->window[w];
    bool none = false;
    if (!sonde__gpu_answered(r, s, SONDE_NVML(&r->nvml, nvmlGpmSampleGet, s->handle, of->sample[1]), "GPM", &none)) {
        if (none)
            sonde__gpu_gpm_end(r, s);
        return;
    }
    if (isnan(s->total[windows[w].time]))
        s->total[windows[w].time] = 0;
    if (!of->sampled_ns || add_up(r, s, w, (double)(now_ns - of->sampled_ns) / 1e9)) {
        const nvmlGpmSample_t older = of->sample[0];
        of->sample[0] = of->sample[1];
        of->sample[1] = older;
        of->sampled_ns = now_ns;
    }
}

void sonde__gpu_gpm(struct sonde__gpu_reader *r, struct sonde__gpu_state *s, enum sonde__gpu_pace pace, uint64_t now_ns)
{
    const int w = pace == SONDE_GPU_COSTLY;
    const uint64_t least_ns = r->count * DEVICE_NS > LEAST_NS ? r->count * DEVICE_NS : LEAST_NS;
    if (s->window[w].sample[0] && (!s->window[w].sampled_ns || now_ns - s->window[w].sampled_ns >= least_ns))
        look(r, s, w, now_ns);
    for (int i = SONDE_GPU_GPM_TIME; i < SONDE_GPU_METRICS && s->gpu.up; i++)
        s->gpu.value[i] = s->total[i];
}
#endif
