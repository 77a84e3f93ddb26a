/* operation.c - the request `operation`: all that is known of one operation of the trace. */
#include <string.h>

#include "analyze/trace/trace.h"
#include "frames.h"
#include "request.h"
#include "views/groups.h"
#include "views/names.h"
#include "which.h"

/* ---- it, and its call ------------------------------------------------------------------- */

struct found {
    const struct sonde_query *q;
    const struct sonde_process *p;
    uint32_t process, lane;
    uint64_t number;
    struct sonde_row_op row;
    uint32_t node;     /* of the tree; 0: its context was lost */
    bool timed;        /* its times on the device are usable */
    bool called;       /* its API call is in the trace: */
    uint32_t call_lane;
    struct sonde_row_call call;
};

/* The call that made it: it was entered then. */
static int find_call(struct found *f)
{
    struct sonde_trace_wanted wanted = {.table = SONDE_TABLE_CALL, .at_ns = &f->row.enter_ns, .correlation = &f->row.correlation};
    uint64_t number;
    int rc = SONDE_ENOTFOUND;
    for (uint32_t lane = 1; lane < f->p->lane_count && f->row.correlation && rc == SONDE_ENOTFOUND; lane++) {
        f->call_lane = wanted.lane = lane;
        if (f->p->lanes[lane].kind == SONDE_LANE_KIND_THREAD)
            rc = sonde_trace_row(f->p, &wanted, &f->call, &number);
    }
    f->called = !rc;
    return rc == SONDE_ENOTFOUND ? 0 : rc;
}

static int find(const struct sonde_session *session, const struct sonde__which *which, struct found *f, struct sonde_problem *problem)
{
    int rc = sonde__which_check(&session->query, which, problem);
    if (rc)
        return rc;
    *f = (struct found){
        .q = &session->query,
        .p = &session->query.m->processes[which->process],
        .process = (uint32_t)which->process,
    };
    rc = sonde__which_find(f->p, which, &f->row, &f->lane, &f->number);
    if (rc == SONDE_ENOTFOUND)
        return sonde_diag_set(&problem->diag, rc, NULL, "the trace has no such operation");
    rc = rc ? rc : find_call(f);
    if (rc)
        return sonde_diag_set(&problem->diag, rc, session->path, "cannot read the trace of");
    f->node = sonde_profile_locate(f->q->profile, f->process, f->row.node);
    f->node = f->node < f->q->profile->nodes.count ? f->node : 0;
    f->timed = sonde_op_has_times(f->row.flags, f->row.start_ns, f->row.end_ns);
    return 0;
}

/* ---- what is known of it ------------------------------------------------------------------ */

static const struct sonde_view_column call_columns[] = {
    {.name = "lane", .kind = SONDE_CELL_ID, .definition = "the thread that made it"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "the API function; null: unknown"},
    {.name = "enter_ns", .kind = SONDE_CELL_TIME, .definition = "its entry, on the process's axis"},
    {.name = "leave_ns", .kind = SONDE_CELL_TIME, .definition = "its return; null: it never returned"},
};
static const struct sonde_view_columns calls = SONDE_VIEW_COLUMNS("call", call_columns);

static const struct sonde_view_column object_columns[] = {
    {.name = "object", .kind = SONDE_CELL_ID, .definition = "number of the data object within its process"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "kind of data object: buffer, image, device"},
    {.name = "bytes", .kind = SONDE_CELL_BYTES, .definition = "its size"},
    {.name = "alloc_ns", .kind = SONDE_CELL_TIME, .definition = "when it was allocated, on the process's axis; null: unknown"},
    {.name = "free_ns", .kind = SONDE_CELL_TIME, .definition = "when it was freed; null: it was alive at the end"},
    {.name = "frames", .kind = SONDE_CELL_LIST, .definition = "the call path that allocated it, innermost first", .of = &sonde__context_frames},
};
static const struct sonde_view_columns objects = SONDE_VIEW_COLUMNS("object", object_columns);

static const struct sonde_view_column duration_columns[] = {
    {.name = "from_ns", .kind = SONDE_CELL_NUMBER, .unit = "ns", .definition = "of at least this"},
    {.name = "to_ns", .kind = SONDE_CELL_NUMBER, .unit = "ns", .definition = "and less than this; the longest of all may be longer"},
    {.name = "count", .kind = SONDE_CELL_COUNT, .definition = "so many took"},
};
static const struct sonde_view_columns durations = SONDE_VIEW_COLUMNS("durations", duration_columns);

static const struct sonde_view_column alike_columns[] = {
    {.name = "count", .kind = SONDE_CELL_COUNT, .definition = "completed operations of this kind and name in the run, this one included"},
    {.name = "timed", .kind = SONDE_CELL_COUNT, .definition = "those with valid times, to which all durations refer"},
    {.name = "mean_ns", .kind = SONDE_CELL_TIME, .style = SONDE_STYLE_FRACTION, .definition = "mean duration"},
    {.name = "min_ns", .kind = SONDE_CELL_TIME, .definition = "shortest"},
    {.name = "max_ns", .kind = SONDE_CELL_TIME, .definition = "longest"},
    {.name = "p50_ns", .kind = SONDE_CELL_TIME, .definition = "median, within 5 %"},
    {.name = "p95_ns", .kind = SONDE_CELL_TIME, .definition = "95th percentile, within 5 %"},
    {.name = "p99_ns", .kind = SONDE_CELL_TIME, .definition = "99th percentile, within 5 %"},
    {.name = "durations", .kind = SONDE_CELL_LIST, .definition = "how many took how long, shortest first; without those that none took", .of = &durations},
};
static const struct sonde_view_columns alike = SONDE_VIEW_COLUMNS("alike", alike_columns);

static const struct sonde_view_column operation_columns[] = {
    {.name = "process", .kind = SONDE_CELL_ID, .definition = "number of the process, from 0"},
    {.name = "lane", .kind = SONDE_CELL_ID, .definition = "its queue"},
    {.name = "number", .kind = SONDE_CELL_ID, .definition = "its place in the lane, from 0"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "full name of the kernel, or the kind of operation"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "kind of operation"},
    {.name = "device", .kind = SONDE_CELL_ID, .definition = "the device of its queue, counted from 0; null: unknown"},
    {.name = "correlation", .kind = SONDE_CELL_ID, .definition = "what its API call is told by; null: none"},
    {.name = "start_ns", .kind = SONDE_CELL_TIME, .definition = "start on the device, on the process's axis; null: unknown"},
    {.name = "end_ns", .kind = SONDE_CELL_TIME, .definition = "end on the device"},
    {.name = "duration_ns", .kind = SONDE_CELL_TIME, .definition = "from start to end"},
    {.name = "enter_ns", .kind = SONDE_CELL_TIME, .definition = "entry of its API call"},
    {.name = "queued_ns", .kind = SONDE_CELL_TIME, .definition = "when the runtime queued it; null: it does not tell"},
    {.name = "submit_ns", .kind = SONDE_CELL_TIME, .definition = "when the runtime submitted it to the device; null: it does not tell"},
    {.name = "queue_ns", .kind = SONDE_CELL_TIME, .definition = "from the API call to the start on the device; null: unknown"},
    {.name = "queue_delay", .kind = SONDE_CELL_OBJECT, .definition = "its parts; null: unknown", .of = &sonde_queue_delay},
    {.name = "bytes", .kind = SONDE_CELL_BYTES, .definition = "bytes moved; null: none, or unknown"},
    {.name = "gb_per_s", .kind = SONDE_CELL_NUMBER, .unit = "GB/s", .definition = "bytes by duration"},
    {.name = "failed", .kind = SONDE_CELL_BOOLEAN, .definition = "it ended with an error"},
    {.name = "bad_time", .kind = SONDE_CELL_BOOLEAN, .definition = "the runtime told times that cannot be: they are unknown here"},
    {.name = "early", .kind = SONDE_CELL_BOOLEAN, .definition = "it seems to start before its API call, by no more than the error bound of the clock"},
    {.name = "work", .kind = SONDE_CELL_OBJECT, .definition = "configuration of the launch or copy; null: unknown", .of = &sonde_work},
    {.name = "object", .kind = SONDE_CELL_OBJECT, .definition = "the data object that it named; null: none", .of = &objects},
    {.name = "call", .kind = SONDE_CELL_OBJECT, .definition = "the API call that made it; null: not in the trace", .of = &calls},
    {.name = "alike", .kind = SONDE_CELL_OBJECT, .definition = "all operations of its kind and name; null: unknown", .of = &alike},
    {.name = "frames", .kind = SONDE_CELL_LIST, .definition = "its call path, innermost first: the operation, its API call, then code", .of = &sonde__context_frames},
};
static const struct sonde_view_columns operations = SONDE_VIEW_COLUMNS("operation", operation_columns);

static void identity_cells(struct sonde_view_table *t, const struct found *f)
{
    const struct sonde_cct_node *node = &f->q->profile->nodes.items[f->node];
    const uint32_t device = f->p->lanes[f->lane].device;
    const char *kind = sonde_op_kind_name(f->row.kind);
    sonde_cell_int(t, true, f->process);
    sonde_cell_int(t, true, f->lane);
    sonde_cell_int(t, true, f->number);
    sonde_cell_text(t, f->node && node->kind == SONDE_FRAME_OP && *node->name ? node->name : kind);
    sonde_cell_text(t, kind);
    sonde_cell_int(t, device, device - 1);
    sonde_cell_int(t, f->row.correlation, f->row.correlation);
}

/* A part of the delay; unknown where one end is not known. */
static void part_cell(struct sonde_view_table *t, uint64_t from_ns, uint64_t to_ns)
{
    sonde_cell_int(t, from_ns && to_ns >= from_ns, to_ns - from_ns);
}

static void time_cells(struct sonde_view_table *t, const struct found *f)
{
    const struct sonde_row_op *row = &f->row;
    sonde_cell_int(t, f->timed, row->start_ns);
    sonde_cell_int(t, f->timed, row->end_ns);
    sonde_cell_int(t, f->timed, row->end_ns - row->start_ns);
    sonde_cell_int(t, row->enter_ns, row->enter_ns);
    sonde_cell_int(t, row->queued_ns, row->queued_ns);
    sonde_cell_int(t, row->submit_ns, row->submit_ns);
    if (!f->timed) {
        sonde_cell_unknown(t);
        sonde_cell_unknown(t);
        return;
    }
    part_cell(t, row->enter_ns, row->start_ns);
    struct sonde_view_table *delay = sonde_cell_object(t);
    part_cell(delay, row->enter_ns, row->queued_ns);
    part_cell(delay, row->queued_ns, row->submit_ns);
    part_cell(delay, row->submit_ns, row->start_ns);
}

static void byte_cells(struct sonde_view_table *t, const struct found *f)
{
    const uint64_t bytes = f->row.bytes, ns = f->row.end_ns - f->row.start_ns;
    const bool rated = bytes && f->timed && ns;
    sonde_cell_int(t, bytes, bytes);
    sonde_cell_real(t, rated, rated ? (double)bytes / (double)ns : 0);
    sonde_cell_boolean(t, f->row.flags & SONDE_OP_FAILED);
    sonde_cell_boolean(t, f->row.flags & SONDE_OP_BAD_TIME);
    sonde_cell_boolean(t, f->row.flags & SONDE_OP_EARLY);
}

static void object_cell(struct sonde_view_table *t, const struct found *f)
{
    if (!f->row.object || f->row.object >= f->p->object_count) {
        sonde_cell_unknown(t);
        return;
    }
    const struct sonde_row_object *row = &f->p->objects[f->row.object];
    struct sonde_view_table *object = sonde_cell_object(t);
    sonde_cell_int(object, true, f->row.object);
    sonde_cell_text(object, sonde_object_kind_name(row->kind));
    sonde_cell_int(object, true, row->bytes);
    sonde_cell_int(object, row->alloc_ns, row->alloc_ns);
    sonde_cell_int(object, row->free_ns, row->free_ns);
    sonde__cell_context(object, f->q, sonde_profile_locate(f->q->profile, f->process, row->node));
}

static void call_cell(struct sonde_view_table *t, const struct found *f)
{
    if (!f->called) {
        sonde_cell_unknown(t);
        return;
    }
    const uint32_t node = sonde_profile_locate(f->q->profile, f->process, f->call.node);
    struct sonde_view_table *call = sonde_cell_object(t);
    sonde_cell_int(call, true, f->call_lane);
    sonde_cell_text(call, node && node < f->q->profile->nodes.count ? f->q->profile->nodes.items[node].name : NULL);
    sonde_cell_int(call, true, f->call.enter_ns);
    sonde_cell_int(call, f->call.leave_ns, f->call.leave_ns);
}

static const struct sonde_group *group_of(const struct found *f)
{
    const struct sonde_profile *profile = f->q->profile;
    for (size_t i = 0; i < profile->ops.count && f->node; i++)
        if (profile->ops.items[i].op == f->row.kind && strcmp(profile->ops.items[i].name, profile->nodes.items[f->node].name) == 0)
            return &profile->ops.items[i];
    return NULL;
}

static void durations_cell(struct sonde_view_table *t, const struct sonde_stat *stat)
{
    struct sonde_view_table *list = sonde_cell_list(t);
    for (uint32_t bin = 0; stat->bins && bin < SONDE_STAT_BINS; bin++)
        if (stat->bins[bin]) {
            double from_ns, to_ns;
            sonde_stat_bin(bin, &from_ns, &to_ns);
            sonde_cell_real(list, true, from_ns);
            sonde_cell_real(list, true, to_ns);
            sonde_cell_int(list, true, stat->bins[bin]);
        }
}

static void alike_cell(struct sonde_view_table *t, const struct sonde_group *group)
{
    if (!group) {
        sonde_cell_unknown(t);
        return;
    }
    const struct sonde_stat *stat = &group->stat;
    struct sonde_view_table *cells = sonde_cell_object(t);
    sonde_cell_int(cells, true, stat->count);
    sonde_cell_int(cells, true, stat->timed);
    sonde_cell_real(cells, stat->timed, sonde_stat_mean(stat));
    sonde_cell_int(cells, stat->timed, stat->min_ns);
    sonde_cell_int(cells, stat->timed, stat->max_ns);
    sonde_cell_percentile(cells, stat, .50);
    sonde_cell_percentile(cells, stat, .95);
    sonde_cell_percentile(cells, stat, .99);
    durations_cell(cells, stat);
}

static int answer(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem)
{
    struct sonde_view_data data = {0};
    struct found f = {0};
    (void)argument;
    int rc = find(session, options, &f, problem);
    if (rc)
        return rc;
    struct sonde_view_table *t = data.root = sonde_view_table(&data, &operations);
    identity_cells(t, &f);
    time_cells(t, &f);
    byte_cells(t, &f);
    sonde_cell_work_of(t, f.p, f.row.work);
    object_cell(t, &f);
    call_cell(t, &f);
    alike_cell(t, group_of(&f));
    sonde__cell_context(t, f.q, f.node);
    rc = sonde__answer_json(&data, true, out, problem);
    sonde_view_data_fini(&data);
    return rc;
}

const struct sonde_request sonde_request_operation = {
    .name = "operation",
    .summary = "one operation of the trace, with all that is known of it",
    .options = sonde__which_options,
    .options_bytes = sizeof(struct sonde__which),
    .defaults = &sonde__which_none,
    .answer = answer,
};
