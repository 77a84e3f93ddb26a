/* counters.c - the view `counters`: what the hardware counted for kernels, and in which calling contexts. docs/counters.md. */
#include "analyze/profile/counters.h"

#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
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

static const struct sonde_view_column columns[] = {
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "launches that were measured"},
    {"missed", NULL, SONDE_CELL_COUNT, 0, 0, "launches that were not"},
    {"kernels", NULL, SONDE_CELL_LIST, 0, 0, "metrics of kernels, in all contexts together", .of = &kernels},
    {"contexts", NULL, SONDE_CELL_LIST, 0, 0, "metrics of kernels by calling context", .of = &contexts},
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

static void fill(const struct sonde_query *q, const struct sonde_counters *c, struct sonde_view_data *out)
{
    struct sonde_view_table *t = out->root = sonde_view_table(out, &counters);
    char measured[SONDE_NUMBER_MAX], missed[SONDE_NUMBER_MAX];
    const bool several = several_devices(c);
    sonde_cell_int(t, true, c->operations);
    sonde_cell_int(t, true, c->missed);
    struct sonde_view_table *of_kernels = sonde_cell_list(t), *of_contexts = sonde_cell_list(t);
    const size_t kernel_count = sonde_query_rows(q, c->kernels.count), context_count = sonde_query_rows(q, c->contexts.count);
    for (size_t i = 0; i < c->kernels.count && i < kernel_count; i++)
        kernel_row(of_kernels, q, &c->kernels.items[i], several);
    for (size_t i = 0; i < c->contexts.count && i < context_count; i++)
        context_row(of_contexts, q, &c->contexts.items[i], several);
    of_kernels->left_out = c->kernels.count > kernel_count ? c->kernels.count - kernel_count : 0;
    of_contexts->left_out = c->contexts.count > context_count ? c->contexts.count - context_count : 0;
    if (!c->operations && !c->missed) {
        sonde_view_say(out, false, "no counters were recorded: sonde record --counters has them");
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
    const int rc = sonde_counters_compute(q->m, q->profile, &c);
    if (!rc)
        fill(q, &c, out);
    sonde_counters_fini(&c);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot add up the counters of") : 0;
}

const struct sonde_view sonde_view_counters = {
    .name = "counters",
    .summary = "counters of the hardware: what kernels executed, read and wrote",
    .description = "What the hardware counted for each kernel (record --counters): instructions, bytes, cycles and whatever else was asked for, "
                   "by kernel and by calling context.",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&counters, NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON,
    .needs_operations = true,
    .make = make,
};
