/* gpus.c - what `sonde top` shows of devices themselves, whoever uses them (monitor/gpus.h). */
#include <math.h>
#include <string.h>

#include "top.h"

static const struct sonde_view_column gpu_columns[] = {
    {NULL, "GPU", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "number and name of the device"},
    {"gpu", NULL, SONDE_CELL_ID, 0, 0, "number of the device, from 0, in the driver's order"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "its name"},
    {"uuid", NULL, SONDE_CELL_TEXT, 0, 0, "its UUID"},
    {"pci_bus_id", NULL, SONDE_CELL_TEXT, 0, 0, "where it is on PCIe"},
    {"up", "up", SONDE_CELL_BOOLEAN, 0, 0, "whether it answers: false if it is lost"},
    {"busy", "busy", SONDE_CELL_SHARE, 0, 0, "share of the driver's last sampling period in which a kernel ran, however small (NVML)"},
    {"sm", "SMs", SONDE_CELL_SHARE, 0, 0, "share of the multiprocessors that worked since the last look, on average (GPM); null: the device has no GPM"},
    {"occupancy", NULL, SONDE_CELL_SHARE, 0, 0, "warps that were resident, of those that could be (GPM)"},
    {"tensor", "tensor", SONDE_CELL_SHARE, 0, 4, "share of the time in which tensor pipes worked (GPM)"},
    {"dram", "DRAM", SONDE_CELL_SHARE, 0, 1, "share of the memory's bandwidth that was used (GPM)"},
    {"pcie_sent_per_s", "PCIe out/s", SONDE_CELL_BYTES, 0, 3, "bytes that it sent over PCIe per second since the last look (GPM)", .unit = "bytes/s"},
    {"pcie_received_per_s", "in/s", SONDE_CELL_BYTES, 0, 3, "bytes that it received over PCIe (GPM)", .unit = "bytes/s"},
    {"nvlink_sent_per_s", "NVLink out/s", SONDE_CELL_BYTES, 0, 3, "bytes that it sent over NVLink (GPM)", .unit = "bytes/s"},
    {"nvlink_received_per_s", "in/s", SONDE_CELL_BYTES, 0, 3, "bytes that it received over NVLink (GPM)", .unit = "bytes/s"},
    {"memory_used", "memory", SONDE_CELL_BYTES, 0, 1, "memory that programs hold (NVML)"},
    {"memory_total", "of", SONDE_CELL_BYTES, 0, 2, "all of its memory (NVML)"},
    {"power_w", "W", SONDE_CELL_NUMBER, 0, 1, "power that it draws (NVML)", .unit = "W"},
    {"power_limit_w", NULL, SONDE_CELL_NUMBER, 0, 0, "power that it may draw (NVML)", .unit = "W"},
    {"temperature_c", "°C", SONDE_CELL_NUMBER, 0, 2, "its temperature (NVML)", .unit = "°C"},
    {"sm_clock_hz", NULL, SONDE_CELL_NUMBER, 0, 0, "clock of its multiprocessors (NVML)", .unit = "Hz"},
    {"throttled", "throttled", SONDE_CELL_TEXT, 0, 2, "why its clocks are lower than they could be, if not for idleness (NVML); null: they are not"},
};
const struct sonde_view_columns top_gpus = SONDE_VIEW_COLUMNS("gpus", gpu_columns);

static const struct sonde_view_column process_columns[] = {
    {"program", "On GPUs", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "file name of the executable; null: it cannot be seen from here"},
    {"pid", "pid", SONDE_CELL_ID, 0, 0, "process id, as the driver sees it"},
    {"gpu", "GPU", SONDE_CELL_ID, 0, 0, "number of the device"},
    {"kind", "kind", SONDE_CELL_TEXT, 0, 1, "compute, graphics or mps"},
    {"use", "busy", SONDE_CELL_SHARE, 0, 0, "share of the driver's last sampling period in which its kernels ran (NVML)"},
    {"memory_bytes", "memory", SONDE_CELL_BYTES, 0, 0, "memory of the device that it holds (NVML)"},
};
const struct sonde_view_columns top_gpu_processes = SONDE_VIEW_COLUMNS("gpu_processes", process_columns);

static void share(struct sonde_view_table *t, double value)
{
    if (isnan(value))
        sonde_cell_unknown(t);
    else
        sonde_cell_share(t, value > 1 ? 1 : value, 1);
}

static void bytes(struct sonde_view_table *t, double value)
{
    sonde_cell_int(t, !isnan(value), isnan(value) ? 0 : (uint64_t)value);
}

static void number(struct sonde_view_table *t, double value)
{
    sonde_cell_real(t, !isnan(value), value);
}

static void throttled(struct sonde_view_table *t, const struct sonde_gpu *g)
{
    static const struct {
        enum sonde_gpu_metric_id id;
        const char *name;
    } reasons[] = {
        {SONDE_GPU_THROTTLE_SW_POWER, "power"},
        {SONDE_GPU_THROTTLE_HW, "hardware"},
        {SONDE_GPU_THROTTLE_SW_THERMAL, "heat"},
        {SONDE_GPU_THROTTLE_HW_THERMAL, "heat (hardware)"},
        {SONDE_GPU_THROTTLE_HW_BRAKE, "power brake"},
        {SONDE_GPU_THROTTLE_SYNC, "sync boost"},
        {SONDE_GPU_THROTTLE_SETTING, "set clocks"},
        {SONDE_GPU_THROTTLE_DISPLAY, "display clocks"},
    };
    struct sonde_text text = {0};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (g->value[reasons[i].id] == 1)
            sonde_text_format(&text, "%s%s", text.length ? ", " : "", reasons[i].name);
    sonde_cell_take(t, &text);
}

static void gpu_row(struct sonde_view_table *t, const struct sonde_gpu *g)
{
    struct sonde_text title = {0};
    sonde_text_format(&title, "%u %s", g->number, g->name);
    sonde_cell_take(t, &title);
    sonde_cell_int(t, true, g->number);
    sonde_cell_text(t, g->name);
    sonde_cell_text(t, g->uuid);
    sonde_cell_text(t, g->bus);
    sonde_cell_boolean(t, g->up);
    share(t, g->value[SONDE_GPU_USE_GPU]);
    share(t, sonde_gpu_share(g, SONDE_GPU_GPM_SM));
    share(t, sonde_gpu_share(g, SONDE_GPU_GPM_OCCUPANCY));
    share(t, sonde_gpu_share(g, SONDE_GPU_GPM_TENSOR));
    share(t, sonde_gpu_share(g, SONDE_GPU_GPM_DRAM));
    bytes(t, sonde_gpu_share(g, SONDE_GPU_GPM_PCIE_SENT));
    bytes(t, sonde_gpu_share(g, SONDE_GPU_GPM_PCIE_RECEIVED));
    bytes(t, sonde_gpu_share(g, SONDE_GPU_GPM_NVLINK_SENT));
    bytes(t, sonde_gpu_share(g, SONDE_GPU_GPM_NVLINK_RECEIVED));
    bytes(t, g->value[SONDE_GPU_MEMORY_USED]);
    bytes(t, g->value[SONDE_GPU_MEMORY_TOTAL]);
    number(t, g->value[SONDE_GPU_POWER]);
    number(t, g->value[SONDE_GPU_POWER_LIMIT]);
    number(t, g->value[SONDE_GPU_TEMPERATURE]);
    number(t, g->value[SONDE_GPU_CLOCK_SM]);
    throttled(t, g);
}

static void process_row(struct sonde_view_table *t, const struct sonde_gpu *g, const struct sonde_gpu_process *p)
{
    sonde_cell_text(t, *p->program ? p->program : NULL);
    sonde_cell_int(t, true, p->pid);
    sonde_cell_int(t, true, g->number);
    sonde_cell_text(t, p->kind);
    share(t, p->use);
    bytes(t, p->memory_bytes);
}

void top_fill_gpus(const struct sonde_gpus *gpus, struct sonde_view_table *devices, struct sonde_view_table *processes)
{
    for (size_t i = 0; i < gpus->count; i++) {
        gpu_row(devices, &gpus->gpus[i]);
        for (size_t k = 0; k < gpus->gpus[i].process_count; k++)
            process_row(processes, &gpus->gpus[i], &gpus->gpus[i].processes[k]);
    }
}
