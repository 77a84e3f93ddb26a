/* copies.c - the view `copies`: copies, maps and fills by kind, with bytes and bandwidth. */
#include "analyze/caveats.h"
#include "base/kinds.h"
#include "groups.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column columns[] = {
    {NULL, "Copy", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kind of operation, with its direction where that is known"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation"},
    {"count", "count", SONDE_CELL_COUNT, 0, 2, "operations that finished"},
    {"timed", NULL, SONDE_CELL_COUNT, 0, 0, "of these, with times; all durations are of these"},
    {"failed", NULL, SONDE_CELL_COUNT, 0, 0, "of these, ended with an error"},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 1, "what they moved; unknown where none says so"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "what they moved"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 5, "its part of the time of all rows on the device"},
    {"total_ns", "total", SONDE_CELL_TIME, 0, 0, "sum of the durations on the device"},
    {"mean_ns", "mean", SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 4, "total divided by the number of timed operations"},
    {"min_ns", NULL, SONDE_CELL_TIME, 0, 0, "the shortest"},
    {"max_ns", "max", SONDE_CELL_TIME, 0, 6, "the longest"},
    {"stddev_ns", NULL, SONDE_CELL_TIME, SONDE_STYLE_FRACTION, 0, "standard deviation of the durations, of all and not of a sample"},
    {"p50_ns", NULL, SONDE_CELL_TIME, 0, 0, "the median, less than 5 % off"},
    {"p95_ns", NULL, SONDE_CELL_TIME, 0, 0, "the duration that 95 % of them do not exceed, less than 5 % off"},
    {"p99_ns", NULL, SONDE_CELL_TIME, 0, 0, "the duration that 99 % of them do not exceed, less than 5 % off"},
    {NULL, "GB/s", SONDE_CELL_NUMBER, 0, 3,
     "bytes divided by the time on the device, in powers of 1,000; unknown when one of them has no times", .unit = "GB/s"},
    {"queue_delay", NULL, SONDE_CELL_OBJECT, 0, 0, "sums over all operations of the times that they waited", .of = &sonde_queue_delay},
    {"work", NULL, SONDE_CELL_OBJECT, 0, 0, "the last copy", .of = &sonde_work},
    {"callers", NULL, SONDE_CELL_LIST, 0, 0, "calling contexts, heaviest first", .of = &sonde_callers},
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
                                           "the measurement has operations, but none of this kind"};

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
