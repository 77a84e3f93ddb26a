/* tables.c - what `sonde top` shows: the tables of a view (views/table.h), made of a look at announced programs. */
#include <stdlib.h>
#include <string.h>

#include "base/kinds.h"
#include "top.h"

enum { KERNELS_MOST = 20 }; /* that a terminal shows */

/* ---- columns ------------------------------------------------------------------------------- */

static const struct sonde_view_column process_columns[] = {
    {NULL, "Program", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "file name of the executable, and its rank in a parallel job"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "host, process id and a number that tells programs of one id apart"},
    {"program", NULL, SONDE_CELL_TEXT, 0, 0, "file name of the executable"},
    {"pid", "pid", SONDE_CELL_ID, 0, 0, "process id, as the program sees it"},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "rank in a parallel job; null: none"},
    {"state", "state", SONDE_CELL_TEXT, 0, 0, "running, exited, or killed: it ended without a last word"},
    {"started_s", NULL, SONDE_CELL_NUMBER, 0, 0, "when it first used a device, in seconds since 1970", .unit = "s"},
    {"operations", "operations", SONDE_CELL_COUNT, 0, 0, "operations that it enqueued"},
    {"dropped", "dropped", SONDE_CELL_COUNT, 0, 1, "of these, those that are in no other figure"},
    {"unmatched", "unmatched", SONDE_CELL_COUNT, 0, 2, "of these, those whose end was never seen"},
    {"overhead_ns", "overhead", SONDE_CELL_TIME, 0, 3, "time that Sonde took in the program's threads"},
};
static const struct sonde_view_columns processes = SONDE_VIEW_COLUMNS("processes", process_columns);

static const struct sonde_view_column device_columns[] = {
    {NULL, "Device", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "number and name of the device, and the program that uses it"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process that uses it"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of the device, from 0, as the program counts"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "its name"},
    {"runtime", NULL, SONDE_CELL_TEXT, 0, 0, "cuda or opencl"},
    {"busy", "busy", SONDE_CELL_SHARE, 0, 0, "share of the time since the last look in which it worked for this program; null: there was one look only"},
    {NULL, "recently", SONDE_CELL_TEXT, 0, 3, "the same at the last looks"},
    {"busy_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which it worked for this program, since its start"},
    {"kernel_ns", NULL, SONDE_CELL_TIME, 0, 0, "the same with a kernel"},
    {"copy_ns", NULL, SONDE_CELL_TIME, 0, 0, "the same with a copy, fill or map"},
    {"waiting", "waiting", SONDE_CELL_COUNT, 0, 1, "operations that were enqueued and have not finished; 0 with CUDA, which reports them when they have"},
    {"current", "now", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 2, "the first of these: kernel, or kind of operation; null: none"},
    {"current_ns", "since", SONDE_CELL_TIME, 0, 2, "time since its API call was entered"},
};
static const struct sonde_view_columns devices = SONDE_VIEW_COLUMNS("devices", device_columns);

static const struct sonde_view_column kernel_columns[] = {
    {"name", "Operation", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "name of the kernel, or kind of operation"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation"},
    {NULL, "program", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "program that enqueues it, and the number of its device"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "process that enqueues it"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of the device, from 0"},
    {"share", "of the time", SONDE_CELL_SHARE, 0, 0,
     "its durations since the last look as share of the time since then, two at once counted twice; null: there was one look only"},
    {"operations_per_s", "per s", SONDE_CELL_NUMBER, 0, 1, "operations per second since the last look", .unit = "1/s"},
    {"operations", "operations", SONDE_CELL_COUNT, 0, 2, "operations since the start of the program"},
    {"failed", NULL, SONDE_CELL_COUNT, 0, 0, "of these, those that ended with an error"},
    {"total_ns", NULL, SONDE_CELL_TIME, 0, 0, "their durations on the device, added up"},
    {"mean_ns", "mean", SONDE_CELL_TIME, 0, 1, "mean duration since the last look; before that, since the start"},
    {"bytes", NULL, SONDE_CELL_BYTES, 0, 0, "bytes that they moved"},
    {"bytes_per_s", "bytes/s", SONDE_CELL_BYTES, 0, 3, "bytes per second since the last look", .unit = "bytes/s"},
};
static const struct sonde_view_columns kernels = SONDE_VIEW_COLUMNS("kernels", kernel_columns);

static const struct sonde_view_column top_columns[] = {
    {"interval_ns", NULL, SONDE_CELL_TIME, 0, 0, "time between the two looks"},
    {"processes", NULL, SONDE_CELL_LIST, 0, 0, "programs", .of = &processes},
    {"devices", NULL, SONDE_CELL_LIST, 0, 0, "devices of each", .of = &devices},
    {"kernels", NULL, SONDE_CELL_LIST, 0, 0, "their operations, most time first", .of = &kernels},
    {"gpus", NULL, SONDE_CELL_LIST, 0, 0, "devices of the machine, as the driver sees them", .of = &top_gpus},
    {"gpu_processes", NULL, SONDE_CELL_LIST, 0, 0, "processes that the driver knows on them", .of = &top_gpu_processes},
};
static const struct sonde_view_columns top_table = SONDE_VIEW_COLUMNS("top", top_columns);
const struct sonde_view top_view = {.name = "top", .single = true};

/* ---- cells --------------------------------------------------------------------------------- */

static const char *state_name(enum sonde_watch_state state)
{
    return state == SONDE_WATCH_RUNNING ? "running" : state == SONDE_WATCH_EXITED ? "exited"
                                                                                  : "killed";
}

static double interval_s(const struct sonde_watch_process *p)
{
    return p->looked_before_ns && p->looked_ns > p->looked_before_ns ? (double)(p->looked_ns - p->looked_before_ns) / 1e9 : 0;
}

static void process_row(struct sonde_view_table *t, const struct sonde_watch_process *p)
{
    struct sonde_text title = {0};
    sonde_text_add(&title, p->program);
    if (p->rank >= 0)
        sonde_text_format(&title, ", rank %d", p->rank);
    sonde_cell_take(t, &title);
    sonde_cell_text(t, p->name);
    sonde_cell_text(t, p->program);
    sonde_cell_int(t, true, p->pid);
    sonde_cell_int(t, p->rank >= 0, (uint64_t)p->rank);
    sonde_cell_text(t, state_name(p->state));
    sonde_cell_real(t, true, p->start_s);
    sonde_cell_int(t, true, p->seen);
    sonde_cell_int(t, true, p->dropped);
    sonde_cell_int(t, true, p->unmatched);
    sonde_cell_int(t, true, p->overhead_ns);
}

struct top_history *top_history_of(const struct top *top, const struct sonde_watch_process *p, size_t device)
{
    for (size_t i = 0; i < top->histories.count; i++)
        if (top->histories.items[i].device == device && strcmp(top->histories.items[i].process, p->name) == 0)
            return &top->histories.items[i];
    return NULL;
}

static void share_cell(struct sonde_view_table *t, double part, double whole)
{
    if (whole > 0)
        sonde_cell_share(t, part, whole);
    else
        sonde_cell_unknown(t);
}

static void device_row(struct sonde_view_table *t, const struct top *top, const struct sonde_watch_process *p, size_t number)
{
    const struct sonde_watch_device *d = &p->devices[number];
    const double busy = sonde_watch_busy(p, d);
    const struct top_history *history = top_history_of(top, p, number);
    struct sonde_text title = {0};
    sonde_text_format(&title, "%zu %s (%s %u)", number, d->name, p->program, p->pid);
    sonde_cell_take(t, &title);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, true, number);
    sonde_cell_text(t, d->name);
    sonde_cell_text(t, d->runtime);
    share_cell(t, busy, busy >= 0);
    sonde_cell_bars(t, history ? history->share : NULL, history ? TOP_HISTORY : 0);
    sonde_cell_int(t, true, d->busy_ns);
    sonde_cell_int(t, true, d->kernel_ns);
    sonde_cell_int(t, true, d->copy_ns);
    sonde_cell_int(t, true, d->waiting);
    sonde_cell_text(t, *d->current ? d->current : NULL);
    sonde_cell_int(t, *d->current, d->current_ns);
}

static void kernel_row(struct sonde_view_table *t, const struct sonde_watch_process *p, const struct sonde_watch_row *row)
{
    const struct sonde_watch_figures *now = &row->now, *before = &row->before;
    const double seconds = interval_s(p), ns = (double)(now->total_ns - before->total_ns);
    const uint64_t timed = now->timed - before->timed;
    struct sonde_text who = {0};
    sonde_text_format(&who, "%s %u: %u", p->program, p->pid, row->device);
    sonde_cell_text(t, sonde_watch_label(row));
    sonde_cell_text(t, sonde_op_kind_name(row->kind));
    sonde_cell_take(t, &who);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, true, row->device);
    share_cell(t, ns, seconds * 1e9);
    sonde_cell_real(t, seconds > 0, (double)(now->operations - before->operations) / (seconds > 0 ? seconds : 1));
    sonde_cell_int(t, true, now->operations);
    sonde_cell_int(t, true, now->failed);
    sonde_cell_int(t, true, now->total_ns);
    if (timed)
        sonde_cell_real(t, true, ns / (double)timed);
    else
        sonde_cell_real(t, now->timed > 0, (double)now->total_ns / (double)(now->timed ? now->timed : 1));
    sonde_cell_int(t, true, now->bytes);
    sonde_cell_real(t, seconds > 0, (double)(now->bytes - before->bytes) / (seconds > 0 ? seconds : 1));
}

/* ---- rows in their order -------------------------------------------------------------------- */

struct ranked {
    const struct sonde_watch_process *process;
    const struct sonde_watch_row *row;
};

/* Most time since the last look first, then since the start. */
static int by_time(const void *a, const void *b)
{
    const struct sonde_watch_row *x = ((const struct ranked *)a)->row, *y = ((const struct ranked *)b)->row;
    const uint64_t new_x = x->now.total_ns - x->before.total_ns, new_y = y->now.total_ns - y->before.total_ns;
    if (new_x != new_y)
        return new_x > new_y ? -1 : 1;
    if (x->now.total_ns != y->now.total_ns)
        return x->now.total_ns > y->now.total_ns ? -1 : 1;
    return strcmp(sonde_watch_label(x), sonde_watch_label(y));
}

static void kernel_rows(struct sonde_view_data *data, struct sonde_view_table *t, const struct sonde_watch *watch, size_t most)
{
    SONDE_VECTOR(struct ranked) rows = {0};
    for (size_t i = 0; i < watch->process_count; i++)
        for (size_t k = 0; k < watch->processes[i].row_count; k++)
            if (sonde_vector_push(&rows, (struct ranked){&watch->processes[i], &watch->processes[i].rows[k]}))
                data->error = SONDE_ENOMEM;
    if (rows.count)
        qsort(rows.items, rows.count, sizeof *rows.items, by_time);
    for (size_t i = 0; i < rows.count && i < most; i++)
        kernel_row(t, rows.items[i].process, rows.items[i].row);
    t->left_out = rows.count > most ? rows.count - most : 0;
    sonde_vector_fini(&rows);
}

void top_fill(const struct top *top, struct sonde_view_data *data)
{
    const struct sonde_watch *watch = top->watch;
    struct sonde_view_table *root = data->root = sonde_view_table(data, &top_table);
    sonde_cell_int(root, true, top->interval_ns);
    struct sonde_view_table *programs = sonde_cell_list(root), *used = sonde_cell_list(root), *ran = sonde_cell_list(root);
    struct sonde_view_table *gpus = sonde_cell_list(root), *on_gpus = sonde_cell_list(root);
    for (size_t i = 0; i < watch->process_count; i++) {
        process_row(programs, &watch->processes[i]);
        for (size_t k = 0; k < watch->processes[i].device_count; k++)
            device_row(used, top, &watch->processes[i], k);
    }
    kernel_rows(data, ran, watch, top->all ? SIZE_MAX : KERNELS_MOST);
    top_fill_gpus(top->gpus, gpus, on_gpus);
    if (top->gpus->count) {
        sonde_view_show(data, gpus, false);
        sonde_view_show(data, on_gpus, true);
    }
    if (!watch->process_count)
        sonde_view_say(data, top->gpus->count, "No program is announced in %s: start one with sonde record --light.", watch->folder);
    else {
        sonde_view_show(data, used, top->gpus->count);
        sonde_view_show(data, ran, true);
        sonde_view_show(data, programs, true);
    }
}
