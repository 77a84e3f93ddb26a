/* gpu_metrics.c - see gpu_metrics.h. */
#include "gpu_metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/kinds.h"
#include "metrics_text.h"

struct page {
    const struct sonde_gpus *gpus;
    enum sonde_metrics_form form;
    struct sonde_text *out;
};

static void add_device(struct sonde_text *out, const struct sonde_gpu *gpu)
{
    char number[16];
    snprintf(number, sizeof number, "%u", gpu->number);
    sonde__openmetrics_label(out, "{", "device", number);
    sonde__openmetrics_label(out, ",", "device_name", gpu->name);
    sonde__openmetrics_label(out, ",", "uuid", gpu->uuid);
}

/* Doubles hold counts up to 2^53 exactly. */
static void add_number(struct sonde_text *out, double value)
{
    if (value == floor(value) && fabs(value) < 9007199254740992.)
        sonde_text_format(out, "} %.0f\n", value);
    else
        sonde_text_format(out, "} %.9g\n", value);
}

static void add_sample(const struct page *page, const struct sonde_gpu *gpu, const struct sonde_gpu_metric *metric, double value)
{
    if (isnan(value))
        return;
    sonde_text_format(page->out, "sonde_%s%s", metric->family, metric->type == 'c' ? "_total" : "");
    add_device(page->out, gpu);
    if (metric->labels)
        sonde_text_format(page->out, ",%s", metric->labels);
    add_number(page->out, value);
}

/* The lines of one family, from `first`; returns the line behind them. */
static int add_family(const struct page *page, int first)
{
    const struct sonde_gpu_metric *m = &sonde_gpu_metrics[first];
    char name[96];
    int behind = first;
    while (behind < SONDE_GPU_METRICS && strcmp(sonde_gpu_metrics[behind].family, m->family) == 0)
        behind++;
    snprintf(name, sizeof name, "sonde_%s", m->family);
    sonde__openmetrics_family(page->out, page->form, name, m->type == 'c' ? "counter" : "gauge", m->unit, m->help);
    for (size_t i = 0; i < page->gpus->count; i++)
        for (int k = first; k < behind; k++)
            add_sample(page, &page->gpus->gpus[i], &sonde_gpu_metrics[k], page->gpus->gpus[i].value[k]);
    return behind;
}

static void add_devices(const struct page *page)
{
    const struct sonde_gpus *gpus = page->gpus;
    struct sonde_text *out = page->out;
    sonde__openmetrics_family(out, page->form, "sonde_nvml_device_up", "gauge", NULL, "1: the device answers; 0: it is lost.");
    for (size_t i = 0; i < gpus->count; i++) {
        sonde_text_add(out, "sonde_nvml_device_up");
        add_device(out, &gpus->gpus[i]);
        sonde__openmetrics_label(out, ",", "pci_bus_id", gpus->gpus[i].bus);
        sonde__openmetrics_label(out, ",", "driver", gpus->driver);
        add_number(out, gpus->gpus[i].up);
    }
}

static void add_process(const struct page *page, const char *metric, const struct sonde_gpu *gpu, const struct sonde_gpu_process *p, double value)
{
    char number[16];
    if (isnan(value))
        return;
    snprintf(number, sizeof number, "%u", p->pid);
    sonde_text_add(page->out, metric);
    add_device(page->out, gpu);
    sonde__openmetrics_label(page->out, ",", "pid", number);
    sonde__openmetrics_label(page->out, ",", "program", p->program);
    sonde__openmetrics_label(page->out, ",", "kind", p->kind);
    add_number(page->out, value);
}

static void add_processes(const struct page *page)
{
    const struct sonde_gpus *gpus = page->gpus;
    sonde__openmetrics_family(page->out, page->form, "sonde_nvml_process_memory_bytes", "gauge", "bytes", "Memory of the device that a process holds.");
    for (size_t i = 0; i < gpus->count; i++)
        for (size_t k = 0; k < gpus->gpus[i].process_count; k++)
            add_process(page, "sonde_nvml_process_memory_bytes", &gpus->gpus[i], &gpus->gpus[i].processes[k],
                        gpus->gpus[i].processes[k].memory_bytes);
    sonde__openmetrics_family(page->out, page->form, "sonde_nvml_process_utilization_ratio", "gauge", "ratio",
                              "Share of the driver's last sampling period in which kernels of a process ran.");
    for (size_t i = 0; i < gpus->count; i++)
        for (size_t k = 0; k < gpus->gpus[i].process_count; k++)
            add_process(page, "sonde_nvml_process_utilization_ratio", &gpus->gpus[i], &gpus->gpus[i].processes[k], gpus->gpus[i].processes[k].use);
}

static void add_counters_of(const struct page *page, const char *family, bool adding_up, const char *help)
{
    char name[96];
    snprintf(name, sizeof name, "sonde_%s", family);
    sonde__openmetrics_family(page->out, page->form, name, "counter", NULL, help);
    for (size_t i = 0; i < page->gpus->count; i++)
        for (size_t k = 0; k < page->gpus->gpus[i].counter_count; k++) {
            const struct sonde_gpu_counter *c = &page->gpus->gpus[i].counters[k];
            if (c->adds_up != adding_up || isnan(c->total))
                continue;
            sonde_text_format(page->out, "%s_total", name);
            add_device(page->out, &page->gpus->gpus[i]);
            sonde__openmetrics_label(page->out, ",", "metric", c->metric);
            sonde__openmetrics_label(page->out, ",", "unit", c->unit);
            add_number(page->out, c->total);
        }
}

/* What the hardware counts, where that was asked for. */
static void add_counters(const struct page *page)
{
    sonde__openmetrics_family(page->out, page->form, "sonde_pm_sampled_seconds", "counter", "seconds", "Time that the hardware's counters are about.");
    for (size_t i = 0; i < page->gpus->count; i++)
        if (page->gpus->gpus[i].counter_count) {
            sonde_text_add(page->out, "sonde_pm_sampled_seconds_total");
            add_device(page->out, &page->gpus->gpus[i]);
            add_number(page->out, page->gpus->gpus[i].sampled_s);
        }
    add_counters_of(page, "pm_counted", true, "What the hardware counted, by CUPTI's name and in its unit.");
    add_counters_of(page, "pm_value_seconds", false, "Values of the hardware, each times the time that it is of: divided by the time sampled the mean.");
}

static void add_own(const struct page *page, const char *name, const char *help, uint64_t value)
{
    sonde__openmetrics_family(page->out, page->form, name, "counter", NULL, help);
    sonde_text_format(page->out, "%s_total %llu\n", name, (unsigned long long)value);
}

static void add_all(const struct page *page)
{
    add_devices(page);
    for (int i = 0; i < SONDE_GPU_METRICS;)
        i = add_family(page, i);
    add_counters(page);
    add_processes(page);
}

void sonde_metrics_heads(struct sonde_text *out)
{
    const struct sonde_gpus gpus = {0};
    const struct sonde_watch watch = {0};
    const struct sonde_openmetrics_own own = {0};
    add_all(&(struct page){.gpus = &gpus, .form = SONDE_METRICS_OPEN, .out = out});
    sonde_gpu_metrics_write(&gpus, SONDE_METRICS_OPEN, out);
    sonde_openmetrics_write(&watch, &own, SONDE_METRICS_OPEN, out);
}

void sonde_metrics_all(struct sonde_text *out)
{
    struct sonde_gpu_process processes[] = {{.kind = "compute"}, {.kind = "graphics"}, {.kind = "mps"}};
    struct sonde_gpu_counter counters[] = {{.metric = "", .adds_up = true}, {.metric = ""}};
    struct sonde_gpu gpu = {.processes = processes, .process_count = sizeof processes / sizeof *processes, .counters = counters, .counter_count = 2};
    struct sonde_watch_device device = {.name = "", .runtime = ""};
    struct sonde_watch_row rows[SONDE_OP_KIND_COUNT - 1]; /* without NONE, which is 0 */
    const struct sonde_watch_counter counter = {.metric = ""};
    double nothing = 0;
    char nameless[] = "";
    struct sonde_watch_process program = {.name = nameless, .program = "", .devices = &device, .device_count = 1, .rows = rows, .row_count = SONDE_OP_KIND_COUNT - 1};
    const struct sonde_asked_count asked = {.condition = ""};
    const struct sonde_openmetrics_own own = {.stores = {{.store = "csv"}, {.store = "sqlite"}}, .conditions = &asked, .condition_count = 1};
    for (uint32_t kind = 1; kind < SONDE_OP_KIND_COUNT; kind++)
        rows[kind - 1] = (struct sonde_watch_row){.kind = kind, .name = "", .counted = &nothing};
    sonde_gpu_metrics_write(&(struct sonde_gpus){.gpus = &gpu, .count = 1}, SONDE_METRICS_CLASSIC, out);
    sonde_openmetrics_write(&(struct sonde_watch){.processes = &program, .process_count = 1, .counters = &counter, .counter_count = 1}, &own, SONDE_METRICS_CLASSIC, out);
}

void sonde_gpu_metrics_write(const struct sonde_gpus *gpus, enum sonde_metrics_form form, struct sonde_text *out)
{
    const struct page page = {.gpus = gpus, .form = form, .out = out};
    if (gpus->count)
        add_all(&page);
    add_own(&page, "sonde_monitor_failed_reads", "Values of devices that could not be read, at all looks together.", gpus->failed);
    add_own(&page, "sonde_monitor_lost_devices", "Devices that went away.", gpus->lost);
}
