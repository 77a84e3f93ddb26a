/* overlap.c - the view `overlap`: what of copies and communication is hidden behind computation.
 *
 * docs/overlap.md says how each number is computed.
 */
#include "analyze/answers/lanes/overlap.h"

#include <stdio.h>
#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "view.h"

/* ---- columns -------------------------------------------------------------------------- */

static const struct sonde_view_column hidden_columns[] = {
    {"ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which at least one such operation runs"},
    {"hidden_ns", NULL, SONDE_CELL_TIME, 0, 0, "part of ns while the same device computes"},
    {"exposed_ns", NULL, SONDE_CELL_TIME, 0, 0, "part of ns while the device does not compute"},
    {"hidden_ratio", NULL, SONDE_CELL_SHARE, 0, 0, "hidden_ns / ns"},
};
static const struct sonde_view_columns hidden = SONDE_VIEW_COLUMNS("hidden", hidden_columns);

static const struct sonde_view_column way_columns[] = {
    {"way", NULL, SONDE_CELL_TEXT, 0, 0, "direction of the copies"},
    {NULL, "Copies", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "direction; each row is of all devices together"},
    {"count", "count", SONDE_CELL_COUNT, 0, 2, "number of copies"},
    {"ns", "time", SONDE_CELL_TIME, 0, 0, "time in which at least one of them runs"},
    {"hidden_ns", "hidden", SONDE_CELL_TIME, 0, 1, "part of the time while the same device computes"},
    {"hidden_ratio", "% hidden", SONDE_CELL_SHARE, 0, 0, "hidden as % of the time"},
    {"exposed_ns", "exposed", SONDE_CELL_TIME, 0, 0, "part of the time while the device does not compute"},
};
static const struct sonde_view_columns ways = SONDE_VIEW_COLUMNS("ways", way_columns);

enum { OF_ONE_DEVICE = 11 }; /* columns at the end, unknown of all devices of a process */

static const struct sonde_view_column device_columns[] = {
    {NULL, "Device", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0,
     "a device as one process used it; several devices of a process are followed by their sum"},
    {"span_ns", "span", SONDE_CELL_TIME, 0, 4, "from the first start to the last end, excluding idle time with recording off"},
    {"compute_ns", "compute", SONDE_CELL_TIME, 0, 1, "time in which kernels run, other than communication"},
    {NULL, "comm", SONDE_CELL_TIME, 0, 2,
     "time in which communication runs: collectives, their kernels, copies between devices"},
    {NULL, "% hidden", SONDE_CELL_SHARE, 0, 2, "% of the time of communication while the same device computes"},
    {NULL, "copies", SONDE_CELL_TIME, 0, 0, "time in which other copies, maps or migrations run"},
    {NULL, "% hidden", SONDE_CELL_SHARE, 0, 0, "% of the time of copies while the same device computes"},
    {"exposed_ns", "exposed", SONDE_CELL_TIME, 0, 3, "time in which the device is busy but not computing"},
    {NULL, "idle", SONDE_CELL_SHARE, 0, 5, "% of the span in which nothing runs"},
    {"idle_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which nothing runs"},
    {"busy_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which something runs"},
    {"communication", NULL, SONDE_CELL_OBJECT, 0, 0, "collectives, their kernels, copies between devices", .of = &hidden},
    {"copies", NULL, SONDE_CELL_OBJECT, 0, 0, "all other copies, maps and migrations", .of = &hidden},
    {"fills", NULL, SONDE_CELL_OBJECT, 0, 0, "fills", .of = &hidden},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process that used the device"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of the device, from 0; null: unknown"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "name of the device"},
    {"first_ns", NULL, SONDE_CELL_TIME, 0, 0, "start of the first operation, on the process's time axis"},
    {"last_ns", NULL, SONDE_CELL_TIME, 0, 0, "end of the last operation"},
    {"kernels", NULL, SONDE_CELL_COUNT, 0, 0, "kernels other than communication"},
    {"communications", NULL, SONDE_CELL_COUNT, 0, 0, "communication kernels and copies between devices"},
    {"collectives", NULL, SONDE_CELL_COUNT, 0, 0, "collectives, which consist of such kernels"},
    {"fill_count", NULL, SONDE_CELL_COUNT, 0, 0, "number of fills"},
    {"no_times", NULL, SONDE_CELL_COUNT, 0, 0, "operations without valid times, left out"},
    {"ways", NULL, SONDE_CELL_LIST, 0, 0, "copies by direction", .of = &ways},
};
static const struct sonde_view_columns devices = SONDE_VIEW_COLUMNS("devices", device_columns);

static const struct sonde_view_column process_columns[] = {
    {"span_ns", NULL, SONDE_CELL_TIME, 0, 0, "from the first start to the last end; this and all below: sum over its devices"},
    {"compute_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which kernels run, other than communication"},
    {"exposed_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which a device is busy but not computing"},
    {"idle_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which nothing runs"},
    {"busy_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which something runs"},
    {"communication", NULL, SONDE_CELL_OBJECT, 0, 0, "collectives, their kernels, copies between devices", .of = &hidden},
    {"copies", NULL, SONDE_CELL_OBJECT, 0, 0, "all other copies, maps and migrations", .of = &hidden},
    {"fills", NULL, SONDE_CELL_OBJECT, 0, 0, "fills", .of = &hidden},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "directory of the process"},
    {"devices", NULL, SONDE_CELL_COUNT, 0, 0, "number of devices it used"},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "rank in the parallel job, as set by its launcher; null: none"},
    {"local_rank", NULL, SONDE_CELL_ID, 0, 0, "rank within the node"},
    {"ranks", NULL, SONDE_CELL_ID, 0, 0, "number of ranks in the job"},
};
static const struct sonde_view_columns processes = SONDE_VIEW_COLUMNS("processes", process_columns);

static const struct sonde_view_column columns[] = {
    {"devices", NULL, SONDE_CELL_LIST, 0, 0, "each device as one process used it", .of = &devices},
    {"processes", NULL, SONDE_CELL_LIST, 0, 0, "each process, over all its devices", .of = &processes},
};
static const struct sonde_view_columns overlap = SONDE_VIEW_COLUMNS("overlap", columns);

/* ---- figures ---------------------------------------------------------------------------- */

/* What a row says, of one device or of all of a process. */
struct figures {
    uint64_t span, idle, compute, busy, exposed;
    struct part { uint64_t ns, hidden; } comm, copy, fill;
};

static struct figures figures_of(const struct sonde_overlap *o)
{
    struct figures f = {
        .span = o->last_ns - o->first_ns - o->paused_ns,
        .idle = o->states[0],
        .compute = sonde_overlap_ns(o, SONDE_RUNS_COMPUTE, 0, 0),
        .busy = sonde_overlap_ns(o, ~0u, 0, 0),
        .exposed = sonde_overlap_ns(o, ~0u, 0, SONDE_RUNS_COMPUTE),
        .comm = {sonde_overlap_ns(o, SONDE_RUNS_COMM, 0, 0), sonde_overlap_ns(o, SONDE_RUNS_COMM, SONDE_RUNS_COMPUTE, 0)},
        .copy = {sonde_overlap_ns(o, SONDE_RUNS_COPY, 0, 0), sonde_overlap_ns(o, SONDE_RUNS_COPY, SONDE_RUNS_COMPUTE, 0)},
        .fill = {sonde_overlap_ns(o, SONDE_RUNS_FILL, 0, 0), sonde_overlap_ns(o, SONDE_RUNS_FILL, SONDE_RUNS_COMPUTE, 0)},
    };
    return f;
}

static void add(struct figures *sum, const struct figures *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

/* Devices of one process from `first` on; their sum in *sum. */
static size_t process_end(const struct sonde_overlaps *o, size_t first, struct figures *sum)
{
    size_t i = first;
    memset(sum, 0, sizeof *sum);
    for (; i < o->items.count && o->items.items[i].process == o->items.items[first].process; i++) {
        const struct figures f = figures_of(&o->items.items[i]);
        add(sum, &f);
    }
    return i;
}

static int compute(const struct sonde_query *q, struct sonde_overlaps *overlaps, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_query_begin(q, "reading the trace");
    const int rc = sonde_overlap_compute(q->m, 0, progress, overlaps);
    sonde_query_end(q, progress);
    if (rc)
        return sonde_diag_set(diag, rc, q->path, "cannot read the trace of");
    if (overlaps->items.count)
        return 0;
    sonde_diag_set(diag, SONDE_EEMPTY, q->path, "there is no trace in");
    snprintf(diag->why, sizeof diag->why, "overlap needs the times of each operation");
    sonde_diag_hint(diag, "record with --trace");
    return SONDE_EEMPTY;
}

/* ---- cells ------------------------------------------------------------------------------- */

static void part_cells(struct sonde_view_table *t, const struct part *part)
{
    sonde_cell_int(t, true, part->ns);
    sonde_cell_share(t, (double)part->hidden, (double)part->ns);
}

static void hidden_cell(struct sonde_view_table *t, const struct part *part)
{
    struct sonde_view_table *object = sonde_cell_object(t);
    sonde_cell_int(object, true, part->ns);
    sonde_cell_int(object, true, part->hidden);
    sonde_cell_int(object, true, part->ns - part->hidden);
    sonde_cell_share(object, (double)part->hidden, (double)part->ns);
}

/* `device`: with the columns that only the table of devices has between them. */
static void figure_cells(struct sonde_view_table *t, const struct figures *f, bool device)
{
    sonde_cell_int(t, true, f->span);
    sonde_cell_int(t, true, f->compute);
    if (device) {
        part_cells(t, &f->comm);
        part_cells(t, &f->copy);
    }
    sonde_cell_int(t, true, f->exposed);
    if (device)
        sonde_cell_share(t, (double)f->idle, (double)f->span);
    sonde_cell_int(t, true, f->idle);
    sonde_cell_int(t, true, f->busy);
    hidden_cell(t, &f->comm);
    hidden_cell(t, &f->copy);
    hidden_cell(t, &f->fill);
}

static void way_row(struct sonde_view_table *t, unsigned way, const struct sonde_overlap_way *w)
{
    if (!w->count)
        return;
    sonde_cell_text(t, sonde_way_name(way));
    sonde_cell_text(t, sonde_way_text(way));
    sonde_cell_int(t, true, w->count);
    sonde_cell_int(t, true, w->ns);
    sonde_cell_int(t, true, w->hidden_ns);
    sonde_cell_share(t, (double)w->hidden_ns, (double)w->ns);
    sonde_cell_int(t, true, w->ns - w->hidden_ns);
}

static void device_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_overlap *o)
{
    const struct sonde_process *p = &q->m->processes[o->process];
    const struct figures f = figures_of(o);
    struct sonde_text title = {0};
    sonde_name_device(q, &title, o->process, o->device);
    sonde_cell_take(t, &title);
    figure_cells(t, &f, true);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, o->device > 0, o->device - 1);
    sonde_cell_text(t, o->device && o->device < p->device_count ? sonde_process_string(p, p->devices[o->device].name) : "");
    sonde_cell_int(t, true, o->first_ns);
    sonde_cell_int(t, true, o->last_ns);
    sonde_cell_int(t, true, o->kernels);
    sonde_cell_int(t, true, o->comm_count);
    sonde_cell_int(t, true, o->collectives);
    sonde_cell_int(t, true, o->fills);
    sonde_cell_int(t, true, o->no_times);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (unsigned way = 0; way < SONDE_WAY_COUNT; way++)
        way_row(list, way, &o->ways[way]);
}

static void sum_row(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, const struct figures *sum)
{
    struct sonde_text title = {0};
    sonde_name_process_begin(q, &title, process);
    sonde_text_add(&title, "all devices");
    sonde_name_process_end(q, &title, process);
    sonde_cell_take(t, &title);
    figure_cells(t, sum, true);
    for (int i = 0; i < OF_ONE_DEVICE; i++)
        sonde_cell_unknown(t);
}

static void process_row(struct sonde_view_table *t, const struct sonde_process *p, size_t count, const struct figures *sum)
{
    figure_cells(t, sum, false);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, true, count);
    sonde_cells_rank(t, p);
}

/* Over all devices, for people. */
static void show_ways(struct sonde_view_data *out, const struct sonde_overlaps *overlaps)
{
    struct sonde_view_table *t = sonde_view_table(out, &ways);
    for (unsigned way = 0; way < SONDE_WAY_COUNT; way++) {
        struct sonde_overlap_way sum = {0};
        for (size_t i = 0; i < overlaps->items.count; i++) {
            const struct sonde_overlap_way *one = &overlaps->items.items[i].ways[way];
            sum.count += one->count;
            sum.ns += one->ns;
            sum.hidden_ns += one->hidden_ns;
        }
        way_row(t, way, &sum);
    }
    if (sonde_view_rows(t))
        sonde_view_show(out, t, true);
}

static void show(struct sonde_view_data *out, const struct sonde_view_table *device_table, const struct sonde_overlaps *overlaps)
{
    uint64_t no_times = 0;
    char count[SONDE_NUMBER_MAX];
    for (size_t i = 0; i < overlaps->items.count; i++)
        no_times += overlaps->items.items[i].no_times;
    sonde_view_show(out, device_table, false);
    show_ways(out, overlaps);
    sonde_view_say(out, true, "hidden: while the same device computes. exposed: busy but not computing. Copies between devices "
                              "count as communication.");
    if (no_times)
        sonde_view_say(out, false, "%s operation%s without valid times %s left out.", sonde_number_count(count, no_times),
                       no_times == 1 ? "" : "s", no_times == 1 ? "is" : "are");
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_overlaps overlaps = {0};
    const int rc = compute(q, &overlaps, diag);
    const size_t all = overlaps.items.count, shown = sonde_query_rows(q, all);
    out->root = sonde_view_table(out, &overlap);
    struct sonde_view_table *device_table = sonde_cell_list(out->root), *process_table = sonde_cell_list(out->root);
    for (size_t first = 0, end; first < all && !rc; first = end) {
        const uint32_t process = overlaps.items.items[first].process;
        struct figures sum;
        end = process_end(&overlaps, first, &sum);
        for (size_t i = first; i < end && i < shown; i++)
            device_row(device_table, q, &overlaps.items.items[i]);
        if (!q->complete && end > first + 1 && end <= shown)
            sum_row(device_table, q, process, &sum);
        process_row(process_table, &q->m->processes[process], end - first, &sum);
    }
    device_table->left_out = all - shown;
    show(out, device_table, &overlaps);
    sonde_overlap_fini(&overlaps);
    return rc;
}

const struct sonde_view sonde_view_overlap = {
    .name = "overlap",
    .summary = "copies and communication hidden behind computation, per device and rank",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&overlap, NULL},
    .caveats = SONDE_CAVEAT_TRACE | SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_PAUSES,
    .needs_operations = true,
    .make = make,
};
