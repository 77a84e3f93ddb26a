/* openmetrics.c - see openmetrics.h.
 *
 * All samples of a family stand together, so each family goes over all programs.
 */
#include "openmetrics.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/kinds.h"
#include "metrics_text.h"

struct page {
    struct sonde_text *out;
    const struct sonde_watch *watch;
    enum sonde_metrics_form form;
};

static void add_program(struct sonde_text *out, const char *metric, const struct sonde_watch_process *p)
{
    char number[16];
    sonde_text_add(out, metric);
    sonde__openmetrics_label(out, "{", "process", p->name);
    snprintf(number, sizeof number, "%u", p->pid);
    sonde__openmetrics_label(out, ",", "pid", number);
    sonde__openmetrics_label(out, ",", "program", p->program);
    if (p->rank < 0)
        return;
    snprintf(number, sizeof number, "%d", p->rank);
    sonde__openmetrics_label(out, ",", "rank", number);
}

static void add_device(struct sonde_text *out, const struct sonde_watch_process *p, uint32_t device)
{
    char number[16];
    snprintf(number, sizeof number, "%u", device);
    sonde__openmetrics_label(out, ",", "device", number);
    sonde__openmetrics_label(out, ",", "device_name", p->devices[device].name);
    sonde__openmetrics_label(out, ",", "runtime", p->devices[device].runtime);
}

static void add_count(struct sonde_text *out, uint64_t count)
{
    sonde_text_format(out, "} %llu\n", (unsigned long long)count);
}

static void add_seconds(struct sonde_text *out, uint64_t ns)
{
    sonde_text_format(out, "} %llu.%09llu\n", (unsigned long long)(ns / 1000000000u), (unsigned long long)(ns % 1000000000u));
}

/* ---- families ------------------------------------------------------------------------------ */

struct of_rows {
    const char *name, *unit, *help;
    size_t offset; /* in struct sonde_watch_figures */
};
static const struct of_rows of_rows[] = {
    {"sonde_agent_operations", NULL, "Operations that finished on the device, by kind and kernel.", offsetof(struct sonde_watch_figures, operations)},
    {"sonde_agent_failed_operations", NULL, "Of these, those that ended with an error.", offsetof(struct sonde_watch_figures, failed)},
    {"sonde_agent_timed_operations", NULL, "Of these, those whose times on the device are known.", offsetof(struct sonde_watch_figures, timed)},
    {"sonde_agent_operation_seconds", "seconds", "Their durations on the device, added up: two at once count twice.",
     offsetof(struct sonde_watch_figures, total_ns)},
    {"sonde_agent_operation_bytes", "bytes", "Bytes that copies, fills and maps moved.", offsetof(struct sonde_watch_figures, bytes)},
};

static void add_rows(const struct page *page, const struct of_rows *family)
{
    const struct sonde_watch *watch = page->watch;
    struct sonde_text *out = page->out;
    char metric[64];
    snprintf(metric, sizeof metric, "%s_total", family->name);
    sonde__openmetrics_family(page->out, page->form, family->name, "counter", family->unit, family->help);
    for (size_t i = 0; i < watch->process_count; i++)
        for (size_t k = 0; k < watch->processes[i].row_count; k++) {
            const struct sonde_watch_process *p = &watch->processes[i];
            const struct sonde_watch_row *row = &p->rows[k];
            const uint64_t value = *(const uint64_t *)((const char *)&row->now + family->offset);
            add_program(out, metric, p);
            add_device(out, p, row->device);
            sonde__openmetrics_label(out, ",", "kind", sonde_op_kind_name(row->kind));
            sonde__openmetrics_label(out, ",", "kernel", row->name);
            if (family->offset == offsetof(struct sonde_watch_figures, total_ns))
                add_seconds(out, value);
            else
                add_count(out, value);
        }
}

/* What the hardware counted, as far as it is theirs. */
static void add_counted(const struct page *page)
{
    const struct sonde_watch *watch = page->watch;
    sonde__openmetrics_family(page->out, page->form, "sonde_pm_attributed", "counter", NULL, "What the hardware counted, divided among the operations that ended meanwhile, by their times.");
    for (size_t i = 0; i < watch->process_count; i++)
        for (size_t k = 0; k < watch->processes[i].row_count; k++)
            for (size_t c = 0; watch->processes[i].rows[k].counted && c < watch->counter_count; c++) {
                const struct sonde_watch_row *row = &watch->processes[i].rows[k];
                if (!watch->counters[c].metric)
                    continue;
                add_program(page->out, "sonde_pm_attributed_total", &watch->processes[i]);
                add_device(page->out, &watch->processes[i], row->device);
                sonde__openmetrics_label(page->out, ",", "kind", sonde_op_kind_name(row->kind));
                sonde__openmetrics_label(page->out, ",", "kernel", row->name);
                sonde__openmetrics_label(page->out, ",", "metric", watch->counters[c].metric);
                sonde__openmetrics_label(page->out, ",", "unit", watch->counters[c].unit);
                sonde_text_format(page->out, "} %.17g\n", row->counted[c]);
            }
}

struct of_devices {
    const char *name, *type, *unit, *help;
    size_t offset; /* in struct sonde_watch_device */
};
static const struct of_devices of_devices[] = {
    {"sonde_agent_device_busy_seconds", "counter", "seconds", "Time in which the device worked for this program: two operations at once count once.",
     offsetof(struct sonde_watch_device, busy_ns)},
    {"sonde_agent_device_kernel_seconds", "counter", "seconds", "The same with a kernel.", offsetof(struct sonde_watch_device, kernel_ns)},
    {"sonde_agent_device_copy_seconds", "counter", "seconds", "The same with a copy, fill or map.", offsetof(struct sonde_watch_device, copy_ns)},
    {"sonde_agent_device_waiting_operations", "gauge", NULL,
     "Operations that were enqueued and have not finished (0 with CUDA, which reports an operation when it has).",
     offsetof(struct sonde_watch_device, waiting)},
};

static void add_devices(const struct page *page, const struct of_devices *family)
{
    const struct sonde_watch *watch = page->watch;
    struct sonde_text *out = page->out;
    char metric[64];
    snprintf(metric, sizeof metric, "%s%s", family->name, *family->type == 'c' ? "_total" : "");
    sonde__openmetrics_family(page->out, page->form, family->name, family->type, family->unit, family->help);
    for (size_t i = 0; i < watch->process_count; i++)
        for (size_t k = 0; k < watch->processes[i].device_count; k++) {
            const uint64_t value = *(const uint64_t *)((const char *)&watch->processes[i].devices[k] + family->offset);
            add_program(out, metric, &watch->processes[i]);
            add_device(out, &watch->processes[i], (uint32_t)k);
            if (family->unit)
                add_seconds(out, value);
            else
                add_count(out, value);
        }
}

struct of_programs {
    const char *name, *unit, *help;
    size_t offset; /* in struct sonde_watch_process */
};
static const struct of_programs of_programs[] = {
    {"sonde_agent_enqueued_operations", NULL, "Operations that the program enqueued.", offsetof(struct sonde_watch_process, seen)},
    {"sonde_agent_dropped_operations", NULL, "Of these, those that are in no other figure: Sonde's memory budget was spent, or the program was ending.",
     offsetof(struct sonde_watch_process, dropped)},
    {"sonde_agent_unmatched_operations", NULL, "Of these, those whose end was never seen.", offsetof(struct sonde_watch_process, unmatched)},
    {"sonde_agent_overhead_seconds", "seconds", "Time that Sonde took in the program's threads.", offsetof(struct sonde_watch_process, overhead_ns)},
};

static void add_programs(const struct page *page, const struct of_programs *family)
{
    const struct sonde_watch *watch = page->watch;
    struct sonde_text *out = page->out;
    char metric[64];
    snprintf(metric, sizeof metric, "%s_total", family->name);
    sonde__openmetrics_family(page->out, page->form, family->name, "counter", family->unit, family->help);
    for (size_t i = 0; i < watch->process_count; i++) {
        const uint64_t value = *(const uint64_t *)((const char *)&watch->processes[i] + family->offset);
        add_program(out, metric, &watch->processes[i]);
        if (family->unit)
            add_seconds(out, value);
        else
            add_count(out, value);
    }
}

static void add_lives(const struct page *page)
{
    const struct sonde_watch *watch = page->watch;
    struct sonde_text *out = page->out;
    sonde__openmetrics_family(page->out, page->form, "sonde_agent_running", "gauge", NULL, "1: the program runs; 0: it has ended, and these are its last figures.");
    for (size_t i = 0; i < watch->process_count; i++) {
        add_program(out, "sonde_agent_running", &watch->processes[i]);
        add_count(out, watch->processes[i].state == SONDE_WATCH_RUNNING);
    }
    sonde__openmetrics_family(page->out, page->form, "sonde_agent_start_time_seconds", "gauge", "seconds", "When it was first seen to use a device, since 1970.");
    for (size_t i = 0; i < watch->process_count; i++) {
        add_program(out, "sonde_agent_start_time_seconds", &watch->processes[i]);
        sonde_text_format(out, "} %.3f\n", watch->processes[i].start_s);
    }
}

static void add_stores(const struct page *page, const struct sonde_openmetrics_own *own, const char *name, const char *help, size_t offset)
{
    sonde__openmetrics_family(page->out, page->form, name, "counter", NULL, help);
    for (size_t i = 0; i < SONDE_STORES && own->stores[i].store; i++) {
        sonde_text_format(page->out, "%s_total", name);
        sonde__openmetrics_label(page->out, "{", "store", own->stores[i].store);
        add_count(page->out, *(const uint64_t *)((const char *)&own->stores[i] + offset));
    }
}

static void add_conditions(const struct page *page, const struct sonde_openmetrics_own *own)
{
    sonde__openmetrics_family(page->out, page->form, "sonde_monitor_asked_writes", "counter", NULL, "Recordings of --last that it asked for, by condition.");
    for (size_t i = 0; i < own->condition_count; i++) {
        sonde_text_add(page->out, "sonde_monitor_asked_writes_total");
        sonde__openmetrics_label(page->out, "{", "condition", own->conditions[i].condition);
        add_count(page->out, own->conditions[i].asked);
    }
}

static void add_own(const struct page *page, const struct sonde_openmetrics_own *own)
{
    const struct sonde_watch *watch = page->watch;
    struct sonde_text *out = page->out;
    sonde__openmetrics_family(page->out, page->form, "sonde_monitor_looks", "counter", NULL, "Looks at all programs.");
    sonde_text_format(out, "sonde_monitor_looks_total %llu\n", (unsigned long long)watch->looks);
    sonde__openmetrics_family(page->out, page->form, "sonde_monitor_unread_programs", "counter", NULL, "Programs that could not be read, at all looks together.");
    sonde_text_format(out, "sonde_monitor_unread_programs_total %llu\n", (unsigned long long)watch->unread);
    sonde__openmetrics_family(page->out, page->form, "sonde_monitor_look_seconds", "counter", "seconds", "Time that looks took.");
    sonde_text_format(out, "sonde_monitor_look_seconds_total %.6f\n", own->look_s);
    sonde__openmetrics_family(page->out, page->form, "sonde_monitor_cpu_seconds", "counter", "seconds", "CPU time of the monitor.");
    sonde_text_format(out, "sonde_monitor_cpu_seconds_total %.6f\n", own->cpu_s);
    add_stores(page, own, "sonde_monitor_stored_rows", "Rows that a store took.", offsetof(struct sonde_store_count, kept));
    add_stores(page, own, "sonde_monitor_lost_rows", "Rows that it could not take: a full disk, mostly.", offsetof(struct sonde_store_count, lost));
    add_conditions(page, own);
}

#define EACH(table, add)                                         \
    for (size_t f = 0; f < sizeof(table) / sizeof *(table); f++) \
        add(&page, &(table)[f])

void sonde_openmetrics_write(const struct sonde_watch *watch, const struct sonde_openmetrics_own *own, enum sonde_metrics_form form,
                             struct sonde_text *out)
{
    const struct page page = {.out = out, .watch = watch, .form = form};
    EACH(of_rows, add_rows);
    add_counted(&page);
    EACH(of_devices, add_devices);
    EACH(of_programs, add_programs);
    add_lives(&page);
    add_own(&page, own);
    if (form == SONDE_METRICS_OPEN)
        sonde_text_add(out, "# EOF\n");
}
