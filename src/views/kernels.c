/* kernels.c - the view `kernels`: kernels by name, with percentiles. */
#include <stdio.h>
#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "analyze/profile/bandwidth.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column source_columns[] = {
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "line where the kernel begins"},
};
static const struct sonde_view_columns source = SONDE_VIEW_COLUMNS("source", source_columns);

static const struct sonde_view_column counter_columns[] = {
    {"metric", NULL, SONDE_CELL_TEXT, 0, 0, "name that the device's maker gives the counter"},
    {"unit", NULL, SONDE_CELL_TEXT, 0, 0, "what it counts; null: a number, or not known"},
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "launches of which it is known"},
    {"total", NULL, SONDE_CELL_NUMBER, 0, 0, "sum over these; null: it is no count, so that a sum says nothing"},
    {"mean", NULL, SONDE_CELL_NUMBER, 0, 0, "mean of one launch; of what is no count, over time: of the time in which they ran"},
};
static const struct sonde_view_columns counters = SONDE_VIEW_COLUMNS("counters", counter_columns);

static const struct sonde_view_column columns[] = {
    {NULL, "Kernel", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0,
     "kernel name without return type and namespaces, and its source if known"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "full kernel name"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation"},
    {"count", "count", SONDE_CELL_COUNT, 0, 1, "completed operations"},
    {"timed", NULL, SONDE_CELL_COUNT, 0, 0, "those with valid times, to which all durations refer"},
    {"failed", NULL, SONDE_CELL_COUNT, 0, 0, "those that ended with an error"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 5, "total as % of the total of all kernels"},
    {"total_ns", "total", SONDE_CELL_TIME, 0, 0, "sum of the durations on the device"},
    {"mean_ns", "mean", SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 2, "mean duration of the timed operations"},
    {"min_ns", "min", SONDE_CELL_TIME, 0, 8, "shortest"},
    {"max_ns", "max", SONDE_CELL_TIME, 0, 4, "longest"},
    {"stddev_ns", "std dev", SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 9,
     "standard deviation of the durations (population, not sample)"},
    {"p50_ns", "p50", SONDE_CELL_TIME, 0, 7, "median, within 5 %"},
    {"p95_ns", "p95", SONDE_CELL_TIME, 0, 3, "95th percentile, within 5 %"},
    {"p99_ns", "p99", SONDE_CELL_TIME, 0, 6, "99th percentile, within 5 %"},
    {NULL, "registers", SONDE_CELL_COUNT, 0, 11, "registers per thread at the last launch, if the runtime reports them"},
    {NULL, "occupancy", SONDE_CELL_TEXT, 0, 10,
     "theoretical occupancy at the last launch and what limits it"},
    {"memory_bytes", "memory", SONDE_CELL_BYTES, 0, 1, "bytes between the device and its memory, read and written, of one launch on average (record --counters, --counter-series); null: not counted"},
    {"memory_bytes_per_s", NULL, SONDE_CELL_NUMBER, 0, 0, "these bytes per second of the kernel's time; null: not counted", .unit = "bytes/s"},
    {NULL, "GB/s", SONDE_CELL_NUMBER, 0, 1, "10^9 of these bytes per second of the kernel's time", .unit = "GB/s"},
    {"memory_share", "of peak", SONDE_CELL_SHARE, 0, 1, "how much of what the memory can at most was used, on average while the kernel ran (metric dram__throughput); null: not counted"},
    {"pipe", NULL, SONDE_CELL_TEXT, 0, 0, "of the multiprocessors' pipes that were counted, the one nearest to its peak: fma, tensor, ...; null: none was"},
    {"pipe_share", NULL, SONDE_CELL_SHARE, 0, 0, "how near, on average while the kernel ran"},
    {NULL, "pipe", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 1, "of the multiprocessors' pipes that were counted, the one nearest to its peak, and how near"},
    {"counters", NULL, SONDE_CELL_LIST, 0, 0, "what the hardware counted for it, metric by metric (record --counters, --counter-series); empty: nothing", .of = &counters},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes moved, where known"},
    {"source", NULL, SONDE_CELL_OBJECT, 0, 0, "source of the kernel; absent without line information in the device code",
     .of = &source},
    {"queue_delay", NULL, SONDE_CELL_OBJECT, 0, 0,
     "time in each stage before the start, summed over all operations", .of = &sonde_queue_delay},
    {"work", NULL, SONDE_CELL_OBJECT, 0, 0, "configuration of the last launch", .of = &sonde_work},
    {"callers", NULL, SONDE_CELL_LIST, 0, 0, "call paths, largest total first", .of = &sonde_callers},
};
const struct sonde_view_columns sonde_kernels = SONDE_VIEW_COLUMNS("kernels", columns);
static const struct sonde_view_columns called_from = SONDE_VIEW_COLUMNS_OF("called_from", "Kernel", sonde_caller_columns);

/* Where the kernel's own code is, when it was compiled with line tables; NULL unknown. */
static const struct sonde_cct_node *source_of(const struct sonde_query *q, const struct sonde_group *group)
{
    const struct sonde_cct_node *found = NULL;
    for (size_t i = 0; i < group->leaves.count; i++) {
        const struct sonde_cct_node *node = &q->profile->nodes.items[group->leaves.items[i]];
        if (found && *node->file && (node->file != found->file || node->line != found->line))
            return NULL; /* of two programs */
        if (*node->file)
            found = node;
    }
    return found;
}

static void title_cell(struct sonde_view_table *t, const char *name, const struct sonde_cct_node *code)
{
    struct sonde_text title = {0};
    sonde_text_add(&title, name);
    if (code)
        sonde_text_format(&title, " %s:%u", sonde_path_base(code->file), code->line);
    sonde_cell_take(t, &title);
}

static void launch_cells(struct sonde_view_table *t, const struct sonde_row_work *w)
{
    char text[64], limiter[32] = "";
    sonde_cell_int(t, w, w ? w->registers : 0);
    if (w && w->occupancy && w->limiter)
        snprintf(limiter, sizeof limiter, " %s", sonde_limiter_name(w->limiter));
    if (w && w->occupancy)
        snprintf(text, sizeof text, "%.0f %%%s", w->occupancy / 10.0, limiter);
    sonde_cell_text(t, w && w->occupancy ? text : NULL);
}

static void bandwidth_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group)
{
    struct sonde_bandwidth b = {.share = -1, .pipe_share = -1};
    struct sonde_text pipe = {0}, both = {0};
    char share[SONDE_NUMBER_MAX];
    const bool known = q->bandwidths && sonde_bandwidth_sum(q->bandwidths, group->name, &b) && b.bytes > 0 && b.operations;
    const bool rated = known && b.ns > 0;
    sonde_cell_real(t, known, known ? b.bytes / (double)b.operations : 0);
    sonde_cell_real(t, rated, rated ? b.bytes / b.ns * 1e9 : 0);
    sonde_cell_real(t, rated, rated ? b.bytes / b.ns : 0);
    sonde_cell_share(t, b.share, b.share >= 0);
    if (b.pipe) {
        sonde_text_format(&pipe, "%.*s", b.pipe_length, b.pipe);
        sonde_text_format(&both, "%.*s %s", b.pipe_length, b.pipe, sonde_number_percent(share, b.pipe_share, 1));
    }
    sonde_cell_text(t, b.pipe ? sonde_text_get(&pipe) : NULL);
    sonde_cell_share(t, b.pipe_share, b.pipe != NULL);
    sonde_cell_text(t, b.pipe ? sonde_text_get(&both) : NULL);
    sonde_text_fini(&pipe);
    sonde_text_fini(&both);
}

/* What one metric was for a kernel, on all devices. */
struct counted {
    const char *metric, *unit;
    bool adds_up;
    uint64_t operations;
    double sum, weight; /* of what is no count of values, each as often as it weighs */
};
typedef SONDE_VECTOR(struct counted) all_counted;

static void count(all_counted *all, const struct counted *more)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].metric, more->metric) == 0) {
            all->items[i].operations += more->operations;
            all->items[i].sum += more->sum;
            all->items[i].weight += more->weight;
            return;
        }
    if (sonde_vector_push(all, *more))
        return; /* of what there is no memory for nothing is told */
}

static void counter_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    all_counted all = {0};
    for (size_t i = 0; q->bandwidths && i < q->bandwidths->counters.kernels.count; i++) {
        const struct sonde_counted *c = &q->bandwidths->counters.kernels.items[i];
        if (c->operations && strcmp(c->kernel, group->name) == 0)
            count(&all, &(struct counted){c->metric, c->unit, c->adds_up, c->operations, c->sum, (double)c->operations});
    }
    for (size_t i = 0; q->bandwidths && i < q->bandwidths->over_time.parts.count; i++) {
        const struct sonde_counter_part *part = &q->bandwidths->over_time.parts.items[i];
        const struct sonde_counter_series *of = &q->bandwidths->over_time.series.items[part->series];
        if (part->operations && strcmp(part->name, group->name) == 0)
            count(&all, &(struct counted){of->metric, of->unit, of->adds_up, part->operations, of->adds_up ? part->value : part->value * (double)part->ns,
                                          of->adds_up ? (double)part->operations : (double)part->ns});
    }
    for (size_t i = 0; i < all.count; i++) {
        const struct counted *c = &all.items[i];
        sonde_cell_text(list, c->metric);
        sonde_cell_text(list, *c->unit ? c->unit : NULL);
        sonde_cell_int(list, true, c->operations);
        sonde_cell_real(list, c->adds_up, c->sum);
        sonde_cell_real(list, c->weight > 0, c->weight > 0 ? c->sum / c->weight : 0);
    }
    sonde_vector_fini(&all);
}

static void source_cell(struct sonde_view_table *t, const struct sonde_cct_node *code)
{
    if (!code) {
        sonde_cell_absent(t);
        return;
    }
    struct sonde_view_table *place = sonde_cell_object(t);
    sonde_cell_text(place, code->file);
    sonde_cell_int(place, true, code->line);
}

static const char *row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group, uint64_t all_ns)
{
    const struct sonde_cct_node *code = source_of(q, group);
    const char *name = sonde_name_group_title(q, group);
    title_cell(t, name, code);
    sonde_cells_operations(t, group);
    sonde_cells_times(t, &group->stat, all_ns);
    launch_cells(t, sonde_launch_of(q, group));
    bandwidth_cells(t, q, group);
    counter_cells(t, q, group);
    sonde_cell_int(t, true, group->stat.bytes);
    source_cell(t, code);
    sonde_cell_queue_delay(t, &group->stat);
    sonde_cell_work(t, q, group);
    sonde_cell_callers(t, q, group);
    return name;
}

static const struct sonde_groups groups = {&sonde_kernels, &called_from, sonde_op_kind_runs, row,
                                           "no operation of this kind was recorded"};

void sonde_cell_kernels(struct sonde_view_table *t, const struct sonde_query *q)
{
    sonde_groups_rows(&groups, q, q->profile->ops.items, q->profile->ops.count, sonde_cell_list(t), NULL);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    bool launches = false, bytes = false, shares = false, pipes = false;
    struct sonde_bandwidths bandwidths = {0};
    struct sonde_query own = *q;
    const int rc = sonde_bandwidths_compute(q->m, q->profile, &bandwidths);
    if (rc)
        return sonde_diag_set(diag, rc, q->path, "cannot read");
    own.bandwidths = &bandwidths;
    sonde_groups_make(&groups, &own, q->profile->ops.items, q->profile->ops.count, out);
    for (size_t i = 0; i < bandwidths.items.count; i++) {
        bytes |= bandwidths.items.items[i].bytes > 0;
        shares |= bandwidths.items.items[i].share >= 0;
        pipes |= bandwidths.items.items[i].pipe != NULL;
    }
    sonde_bandwidths_fini(&bandwidths);
    if (!bytes) {
        sonde_view_hide(out->root, "memory");
        sonde_view_hide(out->root, "GB/s");
    }
    if (!shares)
        sonde_view_hide(out->root, "of peak");
    if (!pipes)
        sonde_view_hide(out->root, "pipe");
    for (size_t i = 0; i < q->profile->ops.count && !launches; i++)
        launches = sonde_launch_of(q, &q->profile->ops.items[i]);
    if (!launches) {
        sonde_view_hide(out->root, "registers");
        sonde_view_hide(out->root, "occupancy");
    }
    return 0;
}

const struct sonde_view sonde_view_kernels = {
    .name = "kernels",
    .summary = "kernels: count, times, percentiles, callers",
    .tables = (const struct sonde_view_columns *const[]){&sonde_kernels, &called_from, NULL},
    .caveats = SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON,
    .needs_operations = true,
    .make = make,
};
