/* api.c - the view `api`: calls of the GPU runtime, by their time on the host. */
#include "analyze/answers/summary/caveats.h"
#include "groups.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column columns[] = {
    {NULL, "API call", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "function of the GPU API"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "function of the GPU API; null: unknown"},
    {"count", "count", SONDE_CELL_COUNT, 0, 1, "completed API calls"},
    {"failed", NULL, SONDE_CELL_COUNT, 0, 0, "those that returned an error"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 4, "total as % of the total of all API calls"},
    {"total_ns", "total", SONDE_CELL_TIME, 0, 0, "sum of the times that threads spent in it"},
    {"mean_ns", "mean", SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 2, "mean time"},
    {"min_ns", NULL, SONDE_CELL_TIME, 0, 0, "shortest"},
    {"max_ns", "max", SONDE_CELL_TIME, 0, 5, "longest"},
    {"stddev_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "standard deviation of the times (population, not sample)"},
    {"p50_ns", NULL, SONDE_CELL_TIME, 0, 0, "median, within 5 %"},
    {"p95_ns", "p95", SONDE_CELL_TIME, 0, 3, "95th percentile, within 5 %"},
    {"p99_ns", NULL, SONDE_CELL_TIME, 0, 0, "99th percentile, within 5 %"},
    {"callers", NULL, SONDE_CELL_LIST, 0, 0, "call paths, largest total first", .of = &sonde_callers},
};
static const struct sonde_view_columns calls = SONDE_VIEW_COLUMNS("calls", columns);
static const struct sonde_view_columns called_from = SONDE_VIEW_COLUMNS_OF("called_from", "API call", sonde_caller_columns);

static const char *row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group, uint64_t all_ns)
{
    const char *name = sonde_name_group(group);
    sonde_cell_text(t, name);
    sonde_cell_text(t, group->name);
    sonde_cell_int(t, true, group->stat.count);
    sonde_cell_int(t, true, group->stat.failed);
    sonde_cells_times(t, &group->stat, all_ns);
    sonde_cell_callers(t, q, group);
    return name;
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    static const struct sonde_groups view = {&calls, &called_from, NULL, row, "no API call was recorded"};
    (void)diag;
    sonde_groups_make(&view, q, q->profile->apis.items, q->profile->apis.count, out);
    return 0;
}

const struct sonde_view sonde_view_api = {
    .name = "api",
    .summary = "GPU API calls: count and host time",
    .tables = (const struct sonde_view_columns *const[]){&calls, &called_from, NULL},
    .caveats = SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON,
    .make = make,
};
