/* lanes.c - the view `lanes`: each thread and each queue, how busy it was.
 *
 * Busy time and gaps need the trace: with `record --profile` they are unknown.
 */
#include "analyze/answers/lanes/lanes.h"

#include "analyze/answers/summary/caveats.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "view.h"

static const struct sonde_view_column columns[] = {
    {NULL, "Lane", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "thread or queue, its name, and the number of ranges on it"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "directory of the process"},
    {"lane", NULL, SONDE_CELL_ID, 0, 0, "number of the lane within its process"},
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "queue or thread"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "name given by the program or the runtime"},
    {"tid", NULL, SONDE_CELL_ID, 0, 0, "thread id; the first, if several threads in succession share the lane; null for queues"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "device of a queue, counted from 0; null: a thread, or unknown"},
    {"context", NULL, SONDE_CELL_ID, 0, 0, "CUDA or OpenCL context of the queue; null for threads"},
    {"out_of_order", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the queue executes out of order"},
    {"count", "count", SONDE_CELL_COUNT, 0, 2, "queue: completed operations; thread: API calls in the trace"},
    {"traced", NULL, SONDE_CELL_COUNT, 0, 0, "number of these in the trace"},
    {"ranges", NULL, SONDE_CELL_COUNT, 0, 0, "thread: ranges and marks in the trace"},
    {"total_ns", "total", SONDE_CELL_TIME, 0, 3, "sum of the durations"},
    {NULL, "span", SONDE_CELL_TIME, 0, 4, "from the start of the first to the end of the last"},
    {NULL, "% busy", SONDE_CELL_SHARE, 0, 1, "busy time as % of the span"},
    {"busy_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in which at least one was running"},
    {"first_ns", NULL, SONDE_CELL_TIME, 0, 0, "start of the first, on the process's time axis"},
    {"last_ns", NULL, SONDE_CELL_TIME, 0, 0, "end of the last"},
    {"longest_gap_ns", "longest gap", SONDE_CELL_TIME, 0, 5, "longest time in which none was running"},
    {"waits", NULL, SONDE_CELL_COUNT, 0, 0, "thread: waits in C library functions outside API calls, in the trace"},
    {NULL, "waited", SONDE_CELL_TIME, 0, 1, "time waiting in C library functions outside API calls; unknown: none"},
    {"waited_ns", NULL, SONDE_CELL_TIME, 0, 0, "thread: time in these waits"},
    {"waits_in", "mostly in", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 1,
     "function with most of the waiting time, and the code that calls it"},
    {"in_flight", "in flight", SONDE_CELL_COUNT, 0, 0, "queue: operations that had been asked for and had not ended when the recording did; of runtimes that report the end of each (CUDA), 0"},
    {"oldest_for_ns", "oldest for", SONDE_CELL_TIME, 0, 0, "how long ago the first of these was asked for; null: none"},
    {"oldest", "by", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "what it is, and where others of its call path ended meanwhile the code that asked for it; null: none"},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "rank in the parallel job, as set by its launcher; null: none"},
    {"local_rank", NULL, SONDE_CELL_ID, 0, 0, "rank within the node"},
    {"ranks", NULL, SONDE_CELL_ID, 0, 0, "number of ranks in the job"},
};
static const struct sonde_view_columns lane_columns = SONDE_VIEW_COLUMNS("lanes", columns);

static void title_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_lane_use *use)
{
    char count[SONDE_NUMBER_MAX];
    struct sonde_text title = {0};
    sonde_name_process_begin(q, &title, use->process);
    sonde_name_lane_alone(q, &title, use->process, use->lane);
    if (use->ranges)
        sonde_text_format(&title, ", %s range%s", sonde_number_count(count, use->ranges), use->ranges == 1 ? "" : "s");
    sonde_name_process_end(q, &title, use->process);
    sonde_cell_take(t, &title);
}

static void wait_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_lane_use *use, bool known)
{
    const uint32_t node = use->wait ? sonde_profile_locate(q->profile, use->process, use->wait) : 0;
    struct sonde_text place = {0};
    if (node)
        sonde_name_place(q, &place, node);
    sonde_cell_int(t, known, use->waits);
    sonde_cell_int(t, use->waits > 0, use->waited_ns);
    sonde_cell_int(t, known, use->waited_ns);
    sonde_cell_take(t, &place);
}

/* What hangs, where the program does. */
static void flight_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_process *p, uint32_t process, const struct sonde_row_lane *lane)
{
    const bool some = lane->kind == SONDE_LANE_KIND_QUEUE && lane->waiting;
    const uint32_t leaf = some ? sonde_profile_locate(q->profile, process, (uint32_t)lane->oldest) : 0;
    const bool known = some && lane->oldest_ns && p->header.stop_ns > lane->oldest_ns;
    struct sonde_text text = {0};
    const struct sonde_row_frame *frame = some ? sonde_process_frame(p, (uint32_t)lane->oldest) : NULL;
    if (frame && frame->kind == SONDE_FRAME_OP) {
        const char *name = sonde_process_string(p, frame->name);
        sonde_text_add(&text, *name ? name : sonde_op_kind_name(frame->op));
    }
    if (leaf && text.length) { /* one of a call path of which some have ended */
        sonde_text_add(&text, " ← ");
        sonde_name_callers(q, &text, leaf, 2);
    }
    sonde_cell_int(t, true, some ? lane->waiting : 0);
    sonde_cell_int(t, known, known ? p->header.stop_ns - lane->oldest_ns : 0);
    sonde_cell_text(t, text.length ? sonde_text_get(&text) : NULL);
    sonde_text_fini(&text);
}

static void row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_lane_use *use)
{
    const struct sonde_process *p = &q->m->processes[use->process];
    const struct sonde_row_lane *lane = &p->lanes[use->lane];
    const bool queue = lane->kind == SONDE_LANE_KIND_QUEUE, timed = use->timed;
    const uint64_t span = use->last_ns - use->first_ns;
    title_cell(t, q, use);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, true, use->lane);
    sonde_cell_text(t, queue ? "queue" : "thread");
    sonde_cell_text(t, sonde_process_string(p, lane->name));
    sonde_cell_int(t, !queue, lane->tid);
    sonde_cell_int(t, queue && lane->device, lane->device - 1);
    sonde_cell_int(t, queue, lane->context);
    sonde_cell_boolean(t, lane->flags & SONDE_LANE_OUT_OF_ORDER);
    sonde_cell_int(t, queue || timed, use->count);
    sonde_cell_int(t, true, use->traced);
    sonde_cell_int(t, !queue, use->ranges);
    sonde_cell_int(t, queue || timed, use->sum_ns);
    sonde_cell_int(t, timed, span);
    sonde_cell_share(t, (double)use->busy_ns, timed ? (double)span : 0);
    sonde_cell_int(t, timed, use->busy_ns);
    sonde_cell_int(t, timed, use->first_ns);
    sonde_cell_int(t, timed, use->last_ns);
    sonde_cell_int(t, timed, use->longest_gap_ns);
    wait_cells(t, q, use, !queue && q->totals.traced);
    flight_cells(t, q, p, use->process, lane);
    sonde_cells_rank(t, p);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_lanes lanes = {0};
    struct sonde_view_table *t = out->root = sonde_view_table(out, &lane_columns);
    struct sonde_progress *progress = sonde_query_begin(q, "reading the trace");
    const int rc = sonde_lanes_compute(q->m, progress, &lanes);
    sonde_query_end(q, progress);
    const size_t shown = sonde_query_rows(q, lanes.items.count);
    bool waits = false, flies = false;
    for (size_t i = 0; i < shown && !rc; i++) {
        const struct sonde_lane_use *use = &lanes.items.items[i];
        row(t, q, use);
        waits |= use->waits > 0;
        flies |= q->m->processes[use->process].lanes[use->lane].kind == SONDE_LANE_KIND_QUEUE && q->m->processes[use->process].lanes[use->lane].waiting;
    }
    t->left_out = lanes.items.count - shown;
    if (!waits) {
        sonde_view_hide(t, "waited");
        sonde_view_hide(t, "mostly in");
    }
    if (!flies) {
        sonde_view_hide(t, "in flight");
        sonde_view_hide(t, "oldest for");
        sonde_view_hide(t, "by");
    }
    sonde_view_show(out, t, false);
    if (!q->totals.traced)
        sonde_view_say(out, false, "recorded with --profile: busy times of lanes are unknown");
    sonde_lanes_fini(&lanes);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot read the trace of") : 0;
}

const struct sonde_view sonde_view_lanes = {
    .name = "lanes",
    .summary = "threads and queues, and how busy each was",
    .tables = (const struct sonde_view_columns *const[]){&lane_columns, NULL},
    .caveats = SONDE_CAVEAT_TRACE | SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_LANES | SONDE_CAVEAT_PAUSES,
    .make = make,
};
