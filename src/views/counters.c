/* counters.c - the view `counters`: what the hardware counted for kernels, and in which calling contexts; for devices over time, and of
 * that for which operations; and in threads of the CPU (counters_cpu.c). docs/counters.md. */
#include "analyze/profile/counter_series.h"
#include "analyze/profile/counters.h"

#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
#include "counters_cpu.h"
#include "groups.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column kernel_columns[] = {
    {NULL, "Kernel", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kernel, and its device if there are several"},
    {"kernel", NULL, SONDE_CELL_TEXT, 0, 0, "name of the kernel"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of its device, from 0"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
    {"metric", "metric", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "name that the device's maker gives the counter"},
    {"unit", "unit", SONDE_CELL_TEXT, 0, 3, "what it counts; null: a number, or not known"},
    {"operations", "launches", SONDE_CELL_COUNT, 0, 2, "launches that were measured"},
    {"total", "total", SONDE_CELL_NUMBER, 0, 0, "sum over these; null: it is no count, so that a sum says nothing"},
    {"mean", "mean", SONDE_CELL_NUMBER, 0, 0, "mean of one launch"},
    {"least", "least", SONDE_CELL_NUMBER, 0, 4, "least of one launch"},
    {"most", "most", SONDE_CELL_NUMBER, 0, 4, "most of one launch"},
};
static const struct sonde_view_columns kernels = SONDE_VIEW_COLUMNS("kernels", kernel_columns);

static const struct sonde_view_column context_columns[] = {
    {NULL, "In context", SONDE_CELL_TEXT, SONDE_STYLE_STACK | SONDE_STYLE_MAIN, 0, "kernel, and the nearest frames of the user's code that launched it"},
    {"kernel", NULL, SONDE_CELL_TEXT, 0, 0, "name of the kernel"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of its device, from 0"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
    {"metric", "metric", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "name that the device's maker gives the counter"},
    {"unit", NULL, SONDE_CELL_TEXT, 0, 0, "what it counts; null: a number, or not known"},
    {"operations", "launches", SONDE_CELL_COUNT, 0, 2, "launches that were measured"},
    {"total", "total", SONDE_CELL_NUMBER, 0, 0, "sum over these; null: it is no count, so that a sum says nothing"},
    {"mean", "mean", SONDE_CELL_NUMBER, 0, 0, "mean of one launch"},
    {"least", NULL, SONDE_CELL_NUMBER, 0, 0, "least of one launch"},
    {"most", NULL, SONDE_CELL_NUMBER, 0, 0, "most of one launch"},
    {"node", NULL, SONDE_CELL_ID, 0, 0, "number of the context in this tree"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of the user's code, innermost first", .of = &sonde_frames},
};
static const struct sonde_view_columns contexts = SONDE_VIEW_COLUMNS("contexts", context_columns);

static const struct sonde_view_column series_columns[] = {
    {NULL, "Over time", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "metric, and its device if there are several"},
    {"metric", NULL, SONDE_CELL_TEXT, 0, 0, "name that the device's maker gives the counter"},
    {"unit", "unit", SONDE_CELL_TEXT, 0, 2, "what it counts; null: a number, or not known"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of its device, from 0"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process that used the device meanwhile"},
    {"samples", "samples", SONDE_CELL_COUNT, 0, 3, "times at which the counter was read"},
    {"known_ns", "known", SONDE_CELL_TIME, 0, 4, "time that these tell of"},
    {"total", "total", SONDE_CELL_NUMBER, 0, 0, "sum over it; null: the metric is no count, so that a sum says nothing"},
    {"mean", "mean", SONDE_CELL_NUMBER, 0, 0, "mean over it: of a count per second"},
    {"most", "most", SONDE_CELL_NUMBER, 0, 0, "most between two readings: of a count per second"},
    {"idle", "no operation", SONDE_CELL_NUMBER, 0, 1, "of the total, between readings where no operation of the process ran there; null: no count"},
};
static const struct sonde_view_columns series_list = SONDE_VIEW_COLUMNS("series", series_columns);

static const struct sonde_view_column part_columns[] = {
    {NULL, "Operation, by time", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "operation, and its device if there are several"},
    {"operation", NULL, SONDE_CELL_TEXT, 0, 0, "name of the kernel, or kind of operation"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of its device, from 0"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process"},
    {"metric", "metric", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "name that the device's maker gives the counter"},
    {"unit", "unit", SONDE_CELL_TEXT, 0, 3, "what it counts; null: a number, or not known"},
    {"operations", "operations", SONDE_CELL_COUNT, 0, 2, "operations that ran while the counter was read"},
    {"ns", "time", SONDE_CELL_TIME, 0, 1, "their time, added up"},
    {"value", "value", SONDE_CELL_NUMBER, 0, 0, "of a count, their part: where several ran at once, by the time of each; else the mean while they ran"},
    {"least", "at least", SONDE_CELL_NUMBER, 0, 0, "of a count, what was counted while nothing else ran between two readings; else the least reading"},
    {"most", "at most", SONDE_CELL_NUMBER, 0, 0, "of a count, all that was counted between readings in which they ran; else the largest reading"},
    {"per_operation", "each", SONDE_CELL_NUMBER, 0, 0, "value of one operation; null: no count"},
};
static const struct sonde_view_columns parts_list = SONDE_VIEW_COLUMNS("parts", part_columns);

static const struct sonde_view_column columns[] = {
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "launches that were measured"},
    {"missed", NULL, SONDE_CELL_COUNT, 0, 0, "launches that were not"},
    {"kernels", NULL, SONDE_CELL_LIST, 0, 0, "metrics of kernels, in all contexts together", .of = &kernels},
    {"contexts", NULL, SONDE_CELL_LIST, 0, 0, "metrics of kernels by calling context", .of = &contexts},
    {"series", NULL, SONDE_CELL_LIST, 0, 0, "metrics of devices over time", .of = &series_list},
    {"parts", NULL, SONDE_CELL_LIST, 0, 0, "what operations had of these", .of = &parts_list},
    {"cpu", NULL, SONDE_CELL_LIST, 0, 0, "counters of the CPU, in the program's threads", .of = &sonde_tallies_all},
    {"cpu_routines", NULL, SONDE_CELL_LIST, 0, 0, "what of these routines had, in all contexts together", .of = &sonde_tallies_routines},
    {"cpu_contexts", NULL, SONDE_CELL_LIST, 0, 0, "and calling contexts", .of = &sonde_tallies_contexts},
};
static const struct sonde_view_columns counters = SONDE_VIEW_COLUMNS("counters", columns);

static void who_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_counted *c)
{
    sonde_cell_text(t, c->kernel);
    sonde_cell_int(t, c->device > 0, c->device - 1);
    sonde_cell_text(t, q->m->processes[c->process].name);
    sonde_cell_text(t, c->metric);
    sonde_cell_text(t, *c->unit ? c->unit : NULL);
}

static void value_cells(struct sonde_view_table *t, const struct sonde_counted *c)
{
    sonde_cell_int(t, true, c->operations);
    sonde_cell_real(t, c->adds_up, c->sum);
    sonde_cell_real(t, true, c->sum / (double)c->operations);
    sonde_cell_real(t, true, c->least);
    sonde_cell_real(t, true, c->most);
}

static bool several_devices(const struct sonde_counters *c)
{
    for (size_t i = 1; i < c->kernels.count; i++)
        if (c->kernels.items[i].device != c->kernels.items[0].device || c->kernels.items[i].process != c->kernels.items[0].process)
            return true;
    return false;
}

static void add_kernel(const struct sonde_query *q, struct sonde_text *title, const struct sonde_counted *c, bool several)
{
    sonde_text_add(title, c->kernel);
    if (several) {
        sonde_text_add(title, " on ");
        sonde_name_device(q, title, c->process, c->device);
    }
}

static void kernel_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_counted *c, bool several)
{
    struct sonde_text title = {0};
    add_kernel(q, &title, c, several);
    sonde_cell_take(t, &title);
    who_cells(t, q, c);
    value_cells(t, c);
}

static void context_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_counted *c, bool several)
{
    struct sonde_text title = {0};
    add_kernel(q, &title, c, several);
    sonde_text_add(&title, " ← ");
    sonde_name_callers(q, &title, c->leaf, 2);
    sonde_cell_take(t, &title);
    who_cells(t, q, c);
    value_cells(t, c);
    sonde_cell_int(t, true, c->leaf);
    sonde_cell_frames(t, q, c->leaf);
}

/* ---- over time ---------------------------------------------------------------------------------------- */

static bool of_several(const struct sonde_counters_over_time *o)
{
    for (size_t i = 1; i < o->series.count; i++)
        if (o->series.items[i].device != o->series.items[0].device || o->series.items[i].process != o->series.items[0].process)
            return true;
    return false;
}

static void add_title(struct sonde_view_table *t, const struct sonde_query *q, const char *name, const struct sonde_counter_series *s, bool several)
{
    struct sonde_text title = {0};
    sonde_text_add(&title, name);
    if (several) {
        sonde_text_add(&title, " on ");
        sonde_name_device(q, &title, s->process, s->device);
    }
    sonde_cell_take(t, &title);
}

static void series_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_counter_series *s, bool several)
{
    add_title(t, q, s->metric, s, several);
    sonde_cell_text(t, s->metric);
    sonde_cell_text(t, *s->unit ? s->unit : NULL);
    sonde_cell_int(t, s->device > 0, s->device - 1);
    sonde_cell_text(t, q->m->processes[s->process].name);
    sonde_cell_int(t, true, s->samples);
    sonde_cell_int(t, true, s->known_ns);
    sonde_cell_real(t, s->adds_up, s->sum);
    sonde_cell_real(t, true, s->mean);
    sonde_cell_real(t, true, s->most);
    sonde_cell_real(t, s->adds_up, s->idle);
}

static void part_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_counters_over_time *o, const struct sonde_counter_part *part,
                     bool several)
{
    const struct sonde_counter_series *s = &o->series.items[part->series];
    add_title(t, q, part->name, s, several);
    sonde_cell_text(t, part->name);
    sonde_cell_int(t, s->device > 0, s->device - 1);
    sonde_cell_text(t, q->m->processes[s->process].name);
    sonde_cell_text(t, s->metric);
    sonde_cell_text(t, *s->unit ? s->unit : NULL);
    sonde_cell_int(t, true, part->operations);
    sonde_cell_int(t, true, part->ns);
    sonde_cell_real(t, true, part->value);
    sonde_cell_real(t, true, part->least);
    sonde_cell_real(t, true, part->most);
    sonde_cell_real(t, s->adds_up && part->operations, part->value / (double)(part->operations ? part->operations : 1));
}

/* The operations with the most time, of each metric as many. */
static void fill_over_time(const struct sonde_query *q, const struct sonde_counters_over_time *o, struct sonde_view_table *of_devices,
                           struct sonde_view_table *of_operations, struct sonde_view_data *out)
{
    const bool several = of_several(o);
    const size_t each = o->series.count ? sonde_query_rows(q, o->parts.count) / o->series.count + 1 : 0;
    size_t of_this = 0;
    for (size_t i = 0; i < o->series.count; i++)
        series_row(of_devices, q, &o->series.items[i], several);
    for (size_t i = 0; i < o->parts.count; i++) {
        of_this = i && o->parts.items[i].series == o->parts.items[i - 1].series ? of_this + 1 : 0;
        if (of_this < each || q->complete)
            part_row(of_operations, q, o, &o->parts.items[i], several);
        else
            of_operations->left_out++;
    }
    if (!o->series.count)
        return;
    sonde_view_show(out, of_devices, false);
    sonde_view_show(out, of_operations, true);
    sonde_view_say(out, true, "Counters of whole devices, whoever used them, beside operations that ran as they do. What lies between two readings and in several "
                              "operations is divided by their time; see `at least` and `at most`.");
}

static void fill(const struct sonde_query *q, const struct sonde_counters *c, const struct sonde_counters_over_time *o, const struct sonde_tallies *cpu,
                 struct sonde_view_data *out)
{
    struct sonde_view_table *t = out->root = sonde_view_table(out, &counters);
    char measured[SONDE_NUMBER_MAX], missed[SONDE_NUMBER_MAX];
    const bool several = several_devices(c);
    sonde_cell_int(t, true, c->operations);
    sonde_cell_int(t, true, c->missed);
    struct sonde_view_table *of_kernels = sonde_cell_list(t), *of_contexts = sonde_cell_list(t);
    struct sonde_view_table *of_devices = sonde_cell_list(t), *of_operations = sonde_cell_list(t);
    struct sonde_view_table *of_cpu = sonde_cell_list(t), *of_routines = sonde_cell_list(t), *of_cpu_contexts = sonde_cell_list(t);
    fill_over_time(q, o, of_devices, of_operations, out);
    sonde_tallies_rows(q, cpu, of_cpu, of_routines, of_cpu_contexts, out);
    const size_t kernel_count = sonde_query_rows(q, c->kernels.count), context_count = sonde_query_rows(q, c->contexts.count);
    for (size_t i = 0; i < c->kernels.count && i < kernel_count; i++)
        kernel_row(of_kernels, q, &c->kernels.items[i], several);
    for (size_t i = 0; i < c->contexts.count && i < context_count; i++)
        context_row(of_contexts, q, &c->contexts.items[i], several);
    of_kernels->left_out = c->kernels.count > kernel_count ? c->kernels.count - kernel_count : 0;
    of_contexts->left_out = c->contexts.count > context_count ? c->contexts.count - context_count : 0;
    if (!c->operations && !c->missed) {
        if (!o->series.count && !cpu->all.count)
            sonde_view_say(out, false, "no counters were recorded: sonde record --counters has them by launch, --counter-series over time, --cpu-counters of the CPU");
        return;
    }
    sonde_view_show(out, of_kernels, false);
    sonde_view_show(out, of_contexts, true);
    sonde_view_say(out, true, "%s launch%s measured, %s not. Kernels ran one after the other meanwhile.",
                   sonde_number_count(measured, c->operations), c->operations == 1 ? "" : "es", sonde_number_count(missed, c->missed));
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_counters c = {0};
    struct sonde_counters_over_time over_time = {0};
    struct sonde_tallies cpu = {0};
    int rc = sonde_counters_compute(q->m, q->profile, &c);
    rc = rc ? rc : sonde_counters_over_time_compute(q->m, q->profile, &over_time);
    rc = rc ? rc : sonde_tallies_compute(q->m, q->profile, &cpu);
    if (!rc)
        fill(q, &c, &over_time, &cpu, out);
    sonde_counters_fini(&c);
    sonde_counters_over_time_fini(&over_time);
    sonde_tallies_fini(&cpu);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot add up the counters of") : 0;
}

const struct sonde_view sonde_view_counters = {
    .name = "counters",
    .summary = "counters of the hardware: what kernels executed, read and wrote",
    .description = "What the hardware counted for each kernel (record --counters): instructions, bytes, cycles and whatever else was asked for, "
                   "by kernel and by calling context; or for each device over time (record --counter-series), and of that for each operation. "
                   "And what the CPU counted in the program's threads (record --cpu-counters), by routine and by calling context.",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&counters, NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON,
    .make = make,
};
