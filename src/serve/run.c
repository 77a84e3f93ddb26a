/* run.c - the request `run`: the frame of a time line: processes on one axis, their devices, their lanes, and how many rows of
 * which trace there are from when to when. Nothing of the trace is decoded.
 *
 * The axis of the run is that of the view statistics: wall time since the first process began. A process's own times
 * (CLOCK_MONOTONIC_RAW of its host) are on it less the process's `origin_ns`.
 */
#include <stdlib.h>

#include "analyze/model/rank.h"
#include "analyze/model/recorded.h"
#include "analyze/trace/trace.h"
#include "format/tables.h"
#include "request.h"
#include "views/groups.h"
#include "views/names.h"

/* ---- what is there, by lane --------------------------------------------------------- */

static const struct sonde_view_column extent_columns[] = {
    {.name = "rows", .kind = SONDE_CELL_COUNT, .definition = "how many there are"},
    {.name = "from_ns", .kind = SONDE_CELL_TIME, .definition = "when the first begins, on the process's axis"},
    {.name = "to_ns", .kind = SONDE_CELL_TIME, .definition = "when the last ends"},
};
static const struct sonde_view_columns extent = SONDE_VIEW_COLUMNS("extent", extent_columns);

static const struct sonde_view_column trace_columns[] = {
    {.name = "trace", .kind = SONDE_CELL_TEXT, .definition = "operations, calls, ranges, samples, switches, waits, sleeps or messages"},
    {.name = "extent", .kind = SONDE_CELL_OBJECT, .definition = "its rows on this lane", .of = &extent},
};
static const struct sonde_view_columns traces = SONDE_VIEW_COLUMNS("traces", trace_columns);

static const char *trace_name(unsigned table)
{
    static const char *const names[SONDE_TABLE_COUNT] = {
        /* as in the export json */
        [SONDE_TABLE_OP] = "operations",
        [SONDE_TABLE_CALL] = "calls",
        [SONDE_TABLE_RANGE] = "ranges",
        [SONDE_TABLE_SAMPLE] = "samples",
        [SONDE_TABLE_SWITCH] = "switches",
        [SONDE_TABLE_WAIT] = "waits",
        [SONDE_TABLE_SLEEP] = "sleeps",
        [SONDE_TABLE_MESSAGE] = "messages",
    };
    return names[table] ? names[table] : sonde_table_name(table);
}

struct extents { /* [table] NULL: no trace; each [lane] */
    struct sonde_trace_extent *of[SONDE_TABLE_COUNT];
};

static void free_extents(struct extents *e)
{
    for (unsigned table = 0; table < SONDE_TABLE_COUNT; table++)
        free(e->of[table]);
}

static int find_extents(const struct sonde_process *p, struct extents *e)
{
    for (unsigned table = 0; table < SONDE_TABLE_COUNT; table++)
        if (sonde_table_is_trace(table) && !(e->of[table] = sonde_trace_extents(p, 1 << sonde_table_info(table)->trace)))
            return SONDE_ENOMEM;
    return 0;
}

static void trace_cells(struct sonde_view_table *t, const struct extents *e, uint32_t lane)
{
    struct sonde_view_table *map = sonde_cell_map(t);
    for (unsigned table = 0; table < SONDE_TABLE_COUNT; table++) {
        const struct sonde_trace_extent *there = e->of[table] ? &e->of[table][lane] : NULL;
        if (!there || !there->rows)
            continue;
        sonde_cell_text(map, trace_name(table));
        struct sonde_view_table *cells = sonde_cell_object(map);
        sonde_cell_int(cells, true, there->rows);
        sonde_cell_int(cells, true, there->from_ns);
        sonde_cell_int(cells, true, there->to_ns);
    }
}

/* ---- lanes and devices ---------------------------------------------------------------- */

static const struct sonde_view_column lane_columns[] = {
    {.name = "lane", .kind = SONDE_CELL_ID, .definition = "number of the lane within its process"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "queue or thread"},
    {.name = "title", .kind = SONDE_CELL_TEXT, .definition = "what it is called, without its process"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "name given by the program or the runtime; null: none"},
    {.name = "tid", .kind = SONDE_CELL_ID, .definition = "thread id; null for queues"},
    {.name = "threads", .kind = SONDE_CELL_COUNT, .definition = "threads that shared the lane, one after the other; null for queues"},
    {.name = "device", .kind = SONDE_CELL_ID, .definition = "device of a queue, counted from 0; null: a thread, or unknown"},
    {.name = "context", .kind = SONDE_CELL_ID, .definition = "CUDA or OpenCL context of the queue; null for threads"},
    {.name = "out_of_order", .kind = SONDE_CELL_BOOLEAN, .definition = "the queue executes out of order"},
    {.name = "traces", .kind = SONDE_CELL_MAP, .definition = "by trace, where it has rows", .of = &traces},
};
static const struct sonde_view_columns lanes = SONDE_VIEW_COLUMNS("lanes", lane_columns);

static void lane_row(struct sonde_view_table *t, const struct sonde_query *q, uint32_t process, uint32_t lane, const struct extents *e)
{
    const struct sonde_process *p = &q->m->processes[process];
    const struct sonde_row_lane *row = &p->lanes[lane];
    const bool queue = row->kind == SONDE_LANE_KIND_QUEUE;
    struct sonde_text title = {0};
    sonde_name_lane_alone(q, &title, process, lane);
    sonde_cell_int(t, true, lane);
    sonde_cell_text(t, queue ? "queue" : "thread");
    sonde_cell_take(t, &title);
    sonde_cell_text(t, sonde_process_string(p, row->name));
    sonde_cell_int(t, !queue, row->tid);
    sonde_cell_int(t, !queue, row->threads);
    sonde_cell_int(t, queue && row->device, row->device - 1);
    sonde_cell_int(t, queue, row->context);
    sonde_cell_boolean(t, row->flags & SONDE_LANE_OUT_OF_ORDER);
    trace_cells(t, e, lane);
}

static const struct sonde_view_column device_columns[] = {
    {.name = "device", .kind = SONDE_CELL_ID, .definition = "counted from 0, as lanes have it"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "as its driver calls it"},
    {.name = "vendor", .kind = SONDE_CELL_TEXT, .definition = "whose it is"},
    {.name = "driver", .kind = SONDE_CELL_TEXT, .definition = "version of its driver"},
    {.name = "platform", .kind = SONDE_CELL_TEXT, .definition = "runtime and platform"},
    {.name = "backend", .kind = SONDE_CELL_TEXT, .definition = "what recorded it: cuda, opencl"},
    {.name = "memory_bytes", .kind = SONDE_CELL_BYTES, .definition = "its memory; null: unknown"},
    {.name = "compute_units", .kind = SONDE_CELL_COUNT, .definition = "compute units (CUDA: multiprocessors); null: unknown"},
};
static const struct sonde_view_columns devices = SONDE_VIEW_COLUMNS("devices", device_columns);

static void device_row(struct sonde_view_table *t, const struct sonde_process *p, uint32_t device)
{
    const struct sonde_row_device *row = &p->devices[device];
    const uint32_t texts[] = {row->name, row->vendor, row->driver, row->platform, row->backend};
    sonde_cell_int(t, true, device - 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sonde_cell_text(t, sonde_process_string(p, texts[i]));
    sonde_cell_int(t, row->memory_bytes, row->memory_bytes);
    sonde_cell_int(t, row->compute_units, row->compute_units);
}

/* ---- processes --------------------------------------------------------------------------- */

static const struct sonde_view_column pause_columns[] = {
    {.name = "from_ns", .kind = SONDE_CELL_TIME, .definition = "begin, on the process's axis"},
    {.name = "to_ns", .kind = SONDE_CELL_TIME, .definition = "end"},
};
static const struct sonde_view_columns pauses = SONDE_VIEW_COLUMNS("pauses", pause_columns);

static const struct sonde_view_column process_columns[] = {
    {.name = "process", .kind = SONDE_CELL_ID, .definition = "number of the process, from 0"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "its directory: HOST-PID-N"},
    {.name = "host", .kind = SONDE_CELL_TEXT, .definition = "the host that it ran on"},
    {.name = "pid", .kind = SONDE_CELL_ID, .definition = "its process id there"},
    {.name = "executable", .kind = SONDE_CELL_TEXT, .definition = "path of the program; null: unknown"},
    {.name = "rank", .kind = SONDE_CELL_ID, .definition = "rank in the parallel job, as set by its launcher; null: none"},
    {.name = "local_rank", .kind = SONDE_CELL_ID, .definition = "rank within the node"},
    {.name = "ranks", .kind = SONDE_CELL_ID, .definition = "number of ranks in the job"},
    {.name = "traced", .kind = SONDE_CELL_BOOLEAN, .definition = "there is a trace of it, not a profile alone"},
    {.name = "origin_ns", .kind = SONDE_CELL_FIGURE, .unit = "ns", .definition = "begin of the run on the process's axis: its times less this are on the axis of the run; null: unknown"},
    {.name = "begin_ns", .kind = SONDE_CELL_TIME, .definition = "begin of the program, on the process's axis; null: unknown"},
    {.name = "recorded_ns", .kind = SONDE_CELL_TIME, .definition = "begin of the recording"},
    {.name = "end_ns", .kind = SONDE_CELL_TIME, .definition = "last sign of life"},
    {.name = "clock_bound_ns", .kind = SONDE_CELL_TIME, .definition = "error bound of device times; null: unknown"},
    {.name = "pauses", .kind = SONDE_CELL_LIST, .definition = "when recording was off", .of = &pauses},
    {.name = "devices", .kind = SONDE_CELL_LIST, .definition = "the devices that it saw", .of = &devices},
    {.name = "lanes", .kind = SONDE_CELL_LIST, .definition = "its queues and threads", .of = &lanes},
};
static const struct sonde_view_columns processes = SONDE_VIEW_COLUMNS("processes", process_columns);

struct axis { /* of the run */
    bool known;
    uint64_t begin_ns, end_ns; /* wall time */
};

static void identity_cells(struct sonde_view_table *t, const struct sonde_process *p, uint32_t index)
{
    struct sonde_text host = {0};
    sonde_text_add_bytes(&host, p->name, sonde_host_length(p->name));
    sonde_cell_int(t, true, index);
    sonde_cell_text(t, p->name);
    sonde_cell_take(t, &host);
    sonde_cell_int(t, true, p->header.pid);
    sonde_cell_text(t, p->header.executable);
    sonde_cells_rank(t, p);
    sonde_cell_boolean(t, p->header.trace);
}

static void time_cells(struct sonde_view_table *t, const struct sonde_process *p, const struct axis *axis,
                       const struct sonde_recorded *recorded)
{
    const bool known = recorded->begin_ns != UINT64_MAX; /* else a header that was lost, and no trace */
    struct sonde_view_table *list;
    sonde_cell_figure(t, axis->known, (double)(int64_t)(axis->begin_ns - p->header.wall_offset_ns));
    sonde_cell_int(t, known, recorded->begin_ns);
    sonde_cell_int(t, known, recorded->start_ns);
    sonde_cell_int(t, known, recorded->end_ns);
    sonde_cell_int(t, sonde_process_clock_known(p), p->header.clock_bound_ns);
    list = sonde_cell_list(t);
    for (size_t i = 0; i < recorded->pauses.count; i++) {
        sonde_cell_int(list, true, recorded->pauses.items[i].from_ns);
        sonde_cell_int(list, true, recorded->pauses.items[i].to_ns);
    }
}

static int process_row(struct sonde_view_table *t, const struct sonde_query *q, uint32_t index, const struct axis *axis)
{
    const struct sonde_process *p = &q->m->processes[index];
    struct sonde_recorded recorded = {0};
    struct extents e = {0};
    int rc = sonde_recorded_compute(q->m, p, &recorded);
    rc = rc ? rc : find_extents(p, &e);
    if (!rc) {
        identity_cells(t, p, index);
        time_cells(t, p, axis, &recorded);
        struct sonde_view_table *list = sonde_cell_list(t);
        for (uint32_t i = 1; i < p->device_count; i++)
            device_row(list, p, i);
        list = sonde_cell_list(t);
        for (uint32_t i = 1; i < p->lane_count; i++)
            if (!sonde_lane_is_series(&p->lanes[i]))
                lane_row(list, q, index, i, &e);
    }
    free_extents(&e);
    sonde_recorded_fini(&recorded);
    return rc;
}

/* ---- the run -------------------------------------------------------------------------------- */

static const struct sonde_view_column run_columns[] = {
    {.name = "sonde", .kind = SONDE_CELL_TEXT, .definition = "version of what answers"},
    {.name = "path", .kind = SONDE_CELL_TEXT, .definition = "of the measurement, as it was opened"},
    {.name = "command", .kind = SONDE_CELL_TEXT, .definition = "the recorded command line, quoted for a shell"},
    {.name = "wall_begin_ns", .kind = SONDE_CELL_TIME, .definition = "begin of the run, since 1970; null: unknown"},
    {.name = "length_ns", .kind = SONDE_CELL_TIME, .definition = "from there to the end of the last process: the axis of the run; null: unknown"},
    {.name = "processes", .kind = SONDE_CELL_LIST, .definition = "its processes, in the order in which all views number them", .of = &processes},
};
static const struct sonde_view_columns run = SONDE_VIEW_COLUMNS("run", run_columns);

static int fill(struct sonde_view_table *t, const struct sonde_session *session)
{
    const struct sonde_query *q = &session->query;
    struct axis axis;
    struct sonde_text command = {0};
    int rc = 0;
    sonde_run_range(q->m, &axis.begin_ns, &axis.end_ns);
    axis.known = axis.end_ns > axis.begin_ns;
    sonde_name_command(q, &command);
    sonde_cell_text(t, SONDE_VERSION);
    sonde_cell_text(t, session->path);
    sonde_cell_take(t, &command);
    sonde_cell_int(t, axis.known, axis.begin_ns);
    sonde_cell_int(t, axis.known, axis.end_ns - axis.begin_ns);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (uint32_t i = 0; i < q->m->process_count && !rc; i++)
        rc = process_row(list, q, i, &axis);
    return rc;
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    struct sonde_view_data data = {0};
    (void)argument, (void)options;
    data.root = sonde_view_table(&data, &run);
    int rc = fill(data.root, session);
    if (rc)
        sonde_diag_set(&problem->diag, rc, session->path, "cannot list what is in");
    else
        rc = sonde__answer_json(&data, true, out, problem);
    sonde_view_data_fini(&data);
    return rc;
}

const struct sonde_request sonde_request_run = {
    .name = "run",
    .summary = "the processes on one axis of time, their devices and lanes",
    .answer = answer,
};
