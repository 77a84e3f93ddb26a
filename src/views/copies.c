/* copies.c - the view `copies`: copies, maps and fills by kind, with bytes and bandwidth. */
#include "analyze/answers/summary/caveats.h"
#include "base/kinds.h"
#include "groups.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column columns[] = {
    {NULL, "Copy", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kind of operation, with its direction if known"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation"},
    {"count", "count", SONDE_CELL_COUNT, 0, 2, "completed operations"},
    {"timed", NULL, SONDE_CELL_COUNT, 0, 0, "those with valid times, to which all durations refer"},
    {"failed", NULL, SONDE_CELL_COUNT, 0, 0, "those that ended with an error"},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 1, "bytes moved; unknown if no operation reports them"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes moved"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 5, "total as % of the total of all rows"},
    {"total_ns", "total", SONDE_CELL_TIME, 0, 0, "sum of the durations on the device"},
    {"mean_ns", "mean", SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 4, "mean duration of the timed operations"},
    {"min_ns", NULL, SONDE_CELL_TIME, 0, 0, "shortest"},
    {"max_ns", "max", SONDE_CELL_TIME, 0, 6, "longest"},
    {"stddev_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "standard deviation of the durations (population, not sample)"},
    {"p50_ns", NULL, SONDE_CELL_TIME, 0, 0, "median, within 5 %"},
    {"p95_ns", NULL, SONDE_CELL_TIME, 0, 0, "95th percentile, within 5 %"},
    {"p99_ns", NULL, SONDE_CELL_TIME, 0, 0, "99th percentile, within 5 %"},
    {NULL, "GB/s", SONDE_CELL_NUMBER, 0, 3,
     "bandwidth in 10^9 bytes per second of device time; unknown if an operation has no times", .unit = "GB/s"},
    {"queue_delay", NULL, SONDE_CELL_OBJECT, 0, 0,
     "time in each stage before the start, summed over all operations", .of = &sonde_queue_delay},
    {"work", NULL, SONDE_CELL_OBJECT, 0, 0, "details of the last copy", .of = &sonde_work},
    {"callers", NULL, SONDE_CELL_LIST, 0, 0, "call paths, largest total first", .of = &sonde_callers},
};
const struct sonde_view_columns sonde_copies = SONDE_VIEW_COLUMNS("copies", columns);
static const struct sonde_view_columns called_from = SONDE_VIEW_COLUMNS_OF("called_from", "Copy", sonde_caller_columns);

static const char *row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group, uint64_t all_ns)
{
    const struct sonde_stat *s = &group->stat;
    const char *name = sonde_name_copy(group);
    sonde_cell_text(t, name);
    sonde_cells_operations(t, group);
    sonde_cell_int(t, s->bytes > 0, s->bytes);
    sonde_cell_int(t, true, s->bytes);
    sonde_cells_times(t, s, all_ns);
    sonde_cell_rate(t, s);
    sonde_cell_queue_delay(t, s);
    sonde_cell_work(t, q, group);
    sonde_cell_callers(t, q, group);
    return name;
}

static const struct sonde_groups groups = {&sonde_copies, &called_from, sonde_op_kind_moves, row,
                                           "no operation of this kind was recorded"};

void sonde_cell_copies(struct sonde_view_table *t, const struct sonde_query *q)
{
    sonde_groups_rows(&groups, q, q->profile->ops.items, q->profile->ops.count, sonde_cell_list(t), NULL);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    (void)diag;
    sonde_groups_make(&groups, q, q->profile->ops.items, q->profile->ops.count, out);
    return 0;
}

const struct sonde_view sonde_view_copies = {
    .name = "copies",
    .summary = "copies, maps and fills: count, bytes, times, bandwidth",
    .tables = (const struct sonde_view_columns *const[]){&sonde_copies, &called_from, NULL},
    .caveats = SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_LINES | SONDE_CAVEAT_PYTHON,
    .needs_operations = true,
    .make = make,
};
