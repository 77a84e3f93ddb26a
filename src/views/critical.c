/* critical.c - the view `critical`: which activities decided how long the run took.
 *
 * docs/critical-path.md says how each number is computed.
 */
#include "analyze/answers/critical/critical.h"

#include <stdio.h>
#include <string.h>

#include "analyze/answers/summary/caveats.h"
#include "analyze/model/rank.h"
#include "base/number.h"
#include "groups.h"
#include "names.h"
#include "view.h"

enum {
    EVALUATED = 8,
    PLACES_SHOWN = 10,
};

/* ---- columns ------------------------------------------------------------------------------- */

static const struct sonde_view_column part_columns[] = {
    {"ns", NULL, SONDE_CELL_TIME, 0, 0, "time on the path"},
    {"steps", NULL, SONDE_CELL_COUNT, 0, 0, "number of steps on the path"},
};
static const struct sonde_view_columns part = SONDE_VIEW_COLUMNS("part", part_columns);

static const struct sonde_view_column composition_columns[SONDE_PATH_COUNT] = {
    [SONDE_PATH_HOST] = {"host", NULL, SONDE_CELL_OBJECT, 0, 0, "host code between two API calls of a thread", .of = &part},
    [SONDE_PATH_OFF] = {"off_cpu", NULL, SONDE_CELL_OBJECT, 0, 0, "off the CPU in host code, with no known waker", .of = &part},
    [SONDE_PATH_API] = {"api", NULL, SONDE_CELL_OBJECT, 0, 0, "in API calls, excluding what they waited for", .of = &part},
    [SONDE_PATH_LAUNCH] = {"launch", NULL, SONDE_CELL_OBJECT, 0, 0, "submitted and ready, not yet started", .of = &part},
    [SONDE_PATH_GAP] = {"gap", NULL, SONDE_CELL_OBJECT, 0, 0, "predecessor ended, not yet started", .of = &part},
    [SONDE_PATH_KERNEL] = {"kernel", NULL, SONDE_CELL_OBJECT, 0, 0, "kernels, command buffers, whole graphs", .of = &part},
    [SONDE_PATH_COPY] = {"copy", NULL, SONDE_CELL_OBJECT, 0, 0, "copies, maps, migrations", .of = &part},
    [SONDE_PATH_SET] = {"set", NULL, SONDE_CELL_OBJECT, 0, 0, "fills", .of = &part},
    [SONDE_PATH_ORDER] = {"order", NULL, SONDE_CELL_OBJECT, 0, 0, "markers and barriers", .of = &part},
    [SONDE_PATH_UNKNOWN] = {"unknown", NULL, SONDE_CELL_OBJECT, 0, 0,
                            "operations without API call and predecessor: rows are missing", .of = &part},
    [SONDE_PATH_START] = {"start_up", NULL, SONDE_CELL_OBJECT, 0, 0,
                          "before the first API call of the process, when nothing is recorded", .of = &part},
    [SONDE_PATH_PAUSED] = {"paused", NULL, SONDE_CELL_OBJECT, 0, 0,
                           "host code and unrecorded API calls while recording was off", .of = &part},
    [SONDE_PATH_MESSAGE] = {"message", NULL, SONDE_CELL_OBJECT, 0, 0,
                            "in calls of MPI; of the path through all ranks, excluding what they waited for", .of = &part},
};
static const struct sonde_view_columns composition = SONDE_VIEW_COLUMNS("composition", composition_columns);

static const struct sonde_view_column summary_columns[] = {
    /* the composition for people */
    {NULL, "Critical path", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "category of activities"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 0, "time as % of the path length"},
    {NULL, "time", SONDE_CELL_TIME, 0, 0, "time on the path"},
    {NULL, "steps", SONDE_CELL_COUNT, 0, 1, "number of steps on the path"},
};
static const struct sonde_view_columns summary = SONDE_VIEW_COLUMNS("parts", summary_columns);

static const struct sonde_view_column thing_columns[] = {
    {NULL, "Activity", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0,
     "all steps with one name: a kernel, an API function, a routine, all gaps"},
    {NULL, "category", SONDE_CELL_TEXT, 0, 3, "category of the activity"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 1, "time as % of the path length"},
    {"ns", "time", SONDE_CELL_TIME, 0, 0, "time on the path"},
    {"steps", "steps", SONDE_CELL_COUNT, 0, 4, "number of steps on the path"},
    {"delay_ns", "delay before", SONDE_CELL_TIME, 0, 5, "launch delays and gaps directly before it on the path; operations only"},
    {NULL, "saved if 2× faster", SONDE_CELL_TEXT, SONDE_STYLE_RIGHT, 0,
     "upper bound of the time saved if all of it were twice as fast; in brackets: the saving reaches the end of the run only "
     "over an inferred step"},
    {NULL, "mostly in", SONDE_CELL_TEXT, 0, 2, "of the path through all ranks: the rank with most of the time"},
    {"category", NULL, SONDE_CELL_TEXT, 0, 0, "a name of the composition"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "kernel, API function, routine or kind"},
    {"operation", NULL, SONDE_CELL_TEXT, 0, 0, "kind of operation; null: not an operation"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file of a routine"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "module of a routine without a name: all code of the module"},
    {"error_ns", NULL, SONDE_CELL_TIME, 0, 0, "standard error of ns, if it is sampled; else 0"},
    {"inferred_ns", NULL, SONDE_CELL_TIME, 0, 0,
     "part of ns where the routine is inferred from the stacks of the surrounding API calls"},
    {"behind_inferred_ns", NULL, SONDE_CELL_TIME, 0, 0,
     "part of ns from which the path reaches the end of the run over an inferred step"},
    {"half_ns", NULL, SONDE_CELL_TIME, 0, 0, "half of ns: the most that twice the speed can save"},
    {"saving_ns", NULL, SONDE_CELL_TIME, 0, 0, "time saved if all of it were twice as fast; null: not evaluated"},
    {"most_rank", NULL, SONDE_CELL_ID, 0, 0, "of the path through all ranks: the rank with most of ns; null: of a process"},
    {"most_ns", NULL, SONDE_CELL_TIME, 0, 0, "how much of ns that is"},
};
static const struct sonde_view_columns things = SONDE_VIEW_COLUMNS("things", thing_columns);

static const struct sonde_view_column place_columns[] = {
    {NULL, "share", SONDE_CELL_SHARE, 0, 0, "time as % of the path length"},
    {"ns", "time", SONDE_CELL_TIME, 0, 1, "time on the path"},
    {NULL, "category", SONDE_CELL_TEXT, 0, 2, "category of the activity"},
    {NULL, "basis", SONDE_CELL_TEXT, 0, 3,
     "exact: a stack taken there; sampled; pooled: from samples of similar gaps; inferred: from the surrounding API calls' "
     "stacks"},
    {NULL, "call path", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, "nearest frames of user code, innermost first"},
    {"category", NULL, SONDE_CELL_TEXT, 0, 0, "a name of the composition"},
    {"error_ns", NULL, SONDE_CELL_TIME, 0, 0, "standard error of ns, if it is sampled; else 0"},
    {"pooled_ns", NULL, SONDE_CELL_TIME, 0, 0, "part of ns in gaps without a sample"},
    {"inferred_ns", NULL, SONDE_CELL_TIME, 0, 0,
     "part of ns where the call path is inferred from the stacks of the surrounding API calls"},
    {"steps", NULL, SONDE_CELL_COUNT, 0, 0, "number of steps on the path"},
    {"frames", NULL, SONDE_CELL_LIST, 0, 0, "frames, innermost first; empty: unknown", .of = &sonde_frames},
};
static const struct sonde_view_columns places = SONDE_VIEW_COLUMNS("contexts", place_columns);

static const struct sonde_view_column stay_part_columns[] = {
    {"category", NULL, SONDE_CELL_TEXT, 0, 0, "a name of the composition"},
    {"ns", NULL, SONDE_CELL_TIME, 0, 0, "time of the path"},
};
static const struct sonde_view_columns stay_parts = SONDE_VIEW_COLUMNS("parts", stay_part_columns);

static const struct sonde_view_column stay_columns[] = {
    {NULL, "Path in", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "rank and name of the process"},
    {NULL, "share", SONDE_CELL_SHARE, 0, 0, "time as % of the path length"},
    {"ns", "time", SONDE_CELL_TIME, 0, 0, "time of the path in this process"},
    {"count", "visits", SONDE_CELL_COUNT, 0, 1, "how often the path comes to it from another one, or ends in it"},
    {NULL, "host", SONDE_CELL_SHARE, 0, 2, "% of the time here in host code"},
    {NULL, "API", SONDE_CELL_SHARE, 0, 3, "% of the time here in API calls"},
    {NULL, "MPI", SONDE_CELL_SHARE, 0, 2, "% of the time here in calls of MPI"},
    {NULL, "delays", SONDE_CELL_SHARE, 0, 4, "% of the time here in launch delays and gaps between operations"},
    {NULL, "kernels", SONDE_CELL_SHARE, 0, 1, "% of the time here in kernels"},
    {NULL, "copies", SONDE_CELL_SHARE, 0, 1, "% of the time here in copies and fills"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "directory of the process"},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "rank in the parallel job, as set by its launcher"},
    {"composition", NULL, SONDE_CELL_MAP, 0, 0, "time by category; the sum is ns", .of = &stay_parts},
};
static const struct sonde_view_columns stays = SONDE_VIEW_COLUMNS("stays", stay_columns);

static const struct sonde_view_column columns[] = {
    {NULL, "Process", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0,
     "rank and name of the process; longest path first, before them the path through all ranks that wait for each other"},
    {"length_ns", "length", SONDE_CELL_TIME, 0, 0, "length of the path, from begin to end"},
    {NULL, "host", SONDE_CELL_SHARE, 0, 2, "% of the length in host code between API calls"},
    {NULL, "off CPU", SONDE_CELL_SHARE, 0, 3, "% of the length off the CPU in host code"},
    {NULL, "API", SONDE_CELL_SHARE, 0, 3, "% of the length in API calls"},
    {NULL, "delays", SONDE_CELL_SHARE, 0, 4, "% of the length in launch delays and gaps between operations"},
    {NULL, "kernels", SONDE_CELL_SHARE, 0, 1, "% of the length in kernels"},
    {NULL, "copies", SONDE_CELL_SHARE, 0, 1, "% of the length in copies and fills"},
    {NULL, "start-up", SONDE_CELL_SHARE, 0, 4, "% of the length before the first API call of the process"},
    {NULL, "MPI", SONDE_CELL_SHARE, 0, 3, "% of the length in calls of MPI"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "directory of the process; null: the path through all ranks"},
    {"begin_ns", NULL, SONDE_CELL_TIME, 0, 0, "start of the process, or of the part that was examined; of ranks on several hosts by the clock of one of them"},
    {"end_ns", NULL, SONDE_CELL_TIME, 0, 0, "last recorded event"},
    {"tail_ns", NULL, SONDE_CELL_TIME, 0, 0, "time from the last recorded event to the end of the process; not on the path"},
    {"operations", NULL, SONDE_CELL_COUNT, 0, 0, "operations examined"},
    {"calls", NULL, SONDE_CELL_COUNT, 0, 0, "API calls examined"},
    {"no_times", NULL, SONDE_CELL_COUNT, 0, 0, "operations left out: no valid times"},
    {"waits_recorded", NULL, SONDE_CELL_COUNT, 0, 0, "steps from a wait to the awaited operation, recorded"},
    {"waits_inferred", NULL, SONDE_CELL_COUNT, 0, 0, "steps from a wait to the awaited operation, inferred"},
    {"starts_inferred", NULL, SONDE_CELL_COUNT, 0, 0, "inferred steps from a thread's start to the main thread"},
    {"wakes_inferred", NULL, SONDE_CELL_COUNT, 0, 0, "inferred steps from a sleeping thread to its waker"},
    {"callbacks_inferred", NULL, SONDE_CELL_COUNT, 0, 0, "inferred steps from a callback to the operation that triggered it"},
    {"messages", NULL, SONDE_CELL_COUNT, 0, 0, "steps from a call of MPI, or a kernel of NCCL, to the process for which it waited"},
    {"clock_bound_ns", NULL, SONDE_CELL_TIME, 0, 0, "of the path through ranks on several hosts: their clocks are aligned to within that; else 0"},
    {"left_out", NULL, SONDE_CELL_COUNT, 0, 0, "of the path through all ranks: ranks whose host's clock cannot be aligned with the others'"},
    {"lost", NULL, SONDE_CELL_COUNT, 0, 0, "steps without a predecessor"},
    {"limited", NULL, SONDE_CELL_BOOLEAN, 0, 0, "only the last part of the run was examined"},
    {"dropped", NULL, SONDE_CELL_BOOLEAN, 0, 0, "rows of the trace were dropped while recording"},
    {"sampled", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the CPU side was sampled"},
    {"composition", NULL, SONDE_CELL_OBJECT, 0, 0, "time by category; the sum is length_ns", .of = &composition},
    {"things", NULL, SONDE_CELL_LIST, 0, 0, "activities, largest ns first; the sum is length_ns", .of = &things},
    {"contexts", NULL, SONDE_CELL_LIST, 0, 0, "call paths, largest ns first; the sum is length_ns", .of = &places},
    {"stays", NULL, SONDE_CELL_LIST, 0, 0, "of the path through all ranks: the processes that it leads through; the sum is length_ns", .of = &stays},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "rank in the parallel job, as set by its launcher; null: none"},
    {"local_rank", NULL, SONDE_CELL_ID, 0, 0, "rank within the node"},
    {"ranks", NULL, SONDE_CELL_ID, 0, 0, "number of ranks in the job"},
};
static const struct sonde_view_columns processes = SONDE_VIEW_COLUMNS("processes", columns);

/* ---- things ---------------------------------------------------------------------------------- */

static uint64_t length(const struct sonde_path *path)
{
    return path->end_ns - path->begin_ns;
}

static bool worth_a_row(const struct sonde_query *q, uint64_t ns, const struct sonde_path *path)
{
    return q->complete || (double)ns * 100 >= q->min_percent * (double)length(path);
}

static bool is_operation(const struct sonde_path_thing *thing)
{
    return thing->category >= SONDE_PATH_KERNEL && thing->category <= SONDE_PATH_ORDER;
}

static const char *name_of(const struct sonde_path_thing *thing)
{
    if (*thing->name)
        return strncmp(thing->name, "void ", 5) == 0 ? thing->name + 5 : thing->name;
    if (is_operation(thing))
        return sonde_op_kind_name(thing->op);
    return thing->category == SONDE_PATH_HOST ? "unknown code" : sonde_path_text(thing->category);
}

static void label_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path_thing *thing)
{
    struct sonde_text label = {0};
    const struct sonde_cct_node routine = {
        .kind = SONDE_FRAME_NATIVE,
        .name = thing->name,
        .module = *thing->name ? "" : thing->file,
        .file = *thing->name ? thing->file : "",
    };
    if (thing->category == SONDE_PATH_HOST && (*thing->name || *thing->file))
        sonde_name_routine(q, &label, &routine);
    else
        sonde_text_add(&label, name_of(thing));
    sonde_cell_take(t, &label);
}

/* What it saves reaches the end of the run over a step that is inferred, mostly. */
static bool is_behind(const struct sonde_path_thing *thing)
{
    return thing->evaluated && thing->saving_ns && thing->behind_ns * 2 > thing->ns;
}

static void saving_cell(struct sonde_view_table *t, const struct sonde_path_thing *thing)
{
    char time[SONDE_NUMBER_MAX], text[SONDE_NUMBER_MAX + 8];
    snprintf(text, sizeof text, is_behind(thing) ? "(%s)" : "%s", sonde_number_time(time, (double)thing->saving_ns));
    sonde_cell_text(t, thing->evaluated ? text : NULL);
}

static bool is_job(const struct sonde_path *path)
{
    return path->stays.count > 0;
}

/* "rank 3", or what tells the process from others. */
static void most_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path, const struct sonde_path_thing *thing)
{
    char rank[SONDE_RANK_MAX] = "";
    if (is_job(path))
        sonde_rank_text(&q->m->processes[thing->most_process], rank);
    sonde_cell_text(t, *rank ? rank : NULL);
}

static void thing_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path,
                      const struct sonde_path_thing *thing)
{
    label_cell(t, q, thing);
    sonde_cell_text(t, sonde_path_text(thing->category));
    sonde_cell_share(t, (double)thing->ns, (double)length(path));
    sonde_cell_estimate(t, (double)thing->ns, thing->error_ns);
    sonde_cell_int(t, true, thing->count);
    sonde_cell_int(t, is_operation(thing), thing->delay_ns);
    saving_cell(t, thing);
    most_cell(t, q, path, thing);
    sonde_cell_text(t, sonde_path_name(thing->category));
    sonde_cell_text(t, name_of(thing));
    sonde_cell_text(t, is_operation(thing) ? sonde_op_kind_name(thing->op) : NULL);
    sonde_cell_text(t, *thing->name ? thing->file : "");
    sonde_cell_text(t, *thing->name ? "" : thing->file);
    sonde_cell_int(t, true, (uint64_t)thing->error_ns);
    sonde_cell_int(t, true, thing->inferred_ns);
    sonde_cell_int(t, true, thing->behind_ns);
    sonde_cell_int(t, true, thing->ns / 2);
    sonde_cell_int(t, thing->evaluated, thing->saving_ns);
    const uint32_t rank = is_job(path) ? q->m->processes[thing->most_process].header.rank : 0;
    sonde_cell_int(t, rank, rank - 1);
    sonde_cell_int(t, is_job(path), thing->most_ns);
}

static void thing_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path)
{
    size_t all = 0;
    for (size_t i = 0; i < path->things.count; i++)
        if (worth_a_row(q, path->things.items[i].ns, path) && all++ < sonde_query_rows(q, SIZE_MAX))
            thing_row(t, q, path, &path->things.items[i]);
    t->left_out = all - sonde_view_rows(t);
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* How the context is known: by the activity's own stack, a sample, or what the stacks around it share. */
static const char *known_by(const struct sonde_path_place *place)
{
    if (!place->node)
        return NULL;
    if (place->inferred_ns * 2 > place->ns)
        return "inferred";
    if (place->pooled_ns * 2 > place->ns)
        return "pooled";
    return place->category == SONDE_PATH_HOST ? "sampled" : "exact";
}

static void place_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path,
                      const struct sonde_path_place *place)
{
    struct sonde_text context = {0};
    if (place->node)
        sonde_name_callers(q, &context, place->node, 3);
    sonde_cell_share(t, (double)place->ns, (double)length(path));
    sonde_cell_estimate(t, (double)place->ns, place->error_ns);
    sonde_cell_text(t, sonde_path_text(place->category));
    sonde_cell_text(t, known_by(place));
    sonde_cell_text(t, place->node ? sonde_text_get(&context) : NULL);
    sonde_cell_text(t, sonde_path_name(place->category));
    sonde_cell_int(t, true, (uint64_t)place->error_ns);
    sonde_cell_int(t, true, place->pooled_ns);
    sonde_cell_int(t, true, place->inferred_ns);
    sonde_cell_int(t, true, place->count);
    sonde_cell_frames(t, q, place->node);
    sonde_text_fini(&context);
}

static void place_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path)
{
    const size_t most = q->limit && !q->complete ? sonde_query_rows(q, PLACES_SHOWN) : sonde_query_rows(q, SIZE_MAX);
    for (size_t i = 0; i < path->places.count && i < most && worth_a_row(q, path->places.items[i].ns, path); i++)
        place_row(t, q, path, &path->places.items[i]);
}

/* ---- a path ------------------------------------------------------------------------------------ */

static void composition_cell(struct sonde_view_table *t, const struct sonde_path *path)
{
    struct sonde_view_table *parts = sonde_cell_object(t);
    for (int i = 0; i < SONDE_PATH_COUNT; i++) {
        struct sonde_view_table *one = sonde_cell_object(parts);
        sonde_cell_int(one, true, path->parts[i].ns);
        sonde_cell_int(one, true, path->parts[i].count);
    }
}

static uint64_t delays_ns(const uint64_t parts_ns[SONDE_PATH_COUNT])
{
    return parts_ns[SONDE_PATH_LAUNCH] + parts_ns[SONDE_PATH_GAP];
}

static uint64_t copies_ns(const uint64_t parts_ns[SONDE_PATH_COUNT])
{
    return parts_ns[SONDE_PATH_COPY] + parts_ns[SONDE_PATH_SET];
}

static void stay_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path, const struct sonde_path_stay *stay)
{
    const struct sonde_process *p = &q->m->processes[stay->process];
    const uint64_t *ns = stay->parts_ns;
    const uint64_t shown_ns[] = {ns[SONDE_PATH_HOST] + ns[SONDE_PATH_START], ns[SONDE_PATH_API], ns[SONDE_PATH_MESSAGE],
                                 delays_ns(ns), ns[SONDE_PATH_KERNEL], copies_ns(ns)};
    struct sonde_text name = {0};
    sonde_name_process(&name, p);
    sonde_cell_take(t, &name);
    sonde_cell_share(t, (double)stay->ns, (double)length(path));
    sonde_cell_int(t, true, stay->ns);
    sonde_cell_int(t, true, stay->count);
    for (size_t i = 0; i < sizeof shown_ns / sizeof *shown_ns; i++)
        sonde_cell_share(t, (double)shown_ns[i], (double)stay->ns);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, p->header.rank, p->header.rank - 1);
    struct sonde_view_table *parts = sonde_cell_map(t);
    for (int i = 0; i < SONDE_PATH_COUNT; i++) {
        sonde_cell_text(parts, sonde_path_name((enum sonde_path_category)i));
        sonde_cell_int(parts, true, ns[i]);
    }
}

static void stay_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path)
{
    size_t all = 0;
    for (size_t i = 0; i < path->stays.count; i++)
        if (worth_a_row(q, path->stays.items[i].ns, path) && all++ < sonde_query_rows(q, SIZE_MAX))
            stay_row(t, q, path, &path->stays.items[i]);
    t->left_out = all - sonde_view_rows(t);
}

static void name_path(const struct sonde_query *q, struct sonde_text *out, const struct sonde_path *path)
{
    if (is_job(path))
        sonde_text_add(out, "all ranks");
    else
        sonde_name_process(out, &q->m->processes[path->process]);
}

/* The process, and what its path is made of in groups. */
static void share_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path)
{
    const struct sonde_path_part *p = path->parts;
    const double all_ns = (double)length(path);
    struct sonde_text name = {0};
    name_path(q, &name, path);
    sonde_cell_take(t, &name);
    sonde_cell_int(t, true, length(path));
    sonde_cell_share(t, (double)p[SONDE_PATH_HOST].ns, all_ns);
    sonde_cell_share(t, (double)p[SONDE_PATH_OFF].ns, all_ns);
    sonde_cell_share(t, (double)p[SONDE_PATH_API].ns, all_ns);
    sonde_cell_share(t, (double)(p[SONDE_PATH_LAUNCH].ns + p[SONDE_PATH_GAP].ns), all_ns);
    sonde_cell_share(t, (double)p[SONDE_PATH_KERNEL].ns, all_ns);
    sonde_cell_share(t, (double)(p[SONDE_PATH_COPY].ns + p[SONDE_PATH_SET].ns), all_ns);
    sonde_cell_share(t, (double)p[SONDE_PATH_START].ns, all_ns);
    sonde_cell_share(t, (double)p[SONDE_PATH_MESSAGE].ns, all_ns);
}

/* Of a job only how many ranks it has. */
static void rank_cells(struct sonde_view_table *t, const struct sonde_process *p, bool job)
{
    if (!job) {
        sonde_cells_rank(t, p);
        return;
    }
    sonde_cell_unknown(t);
    sonde_cell_unknown(t);
    sonde_cell_int(t, p->header.rank_count, p->header.rank_count);
}

static void path_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_path *path)
{
    const struct sonde_process *p = &q->m->processes[path->process];
    share_cells(t, q, path);
    sonde_cell_text(t, is_job(path) ? NULL : p->name);
    const uint64_t times_ns[] = {path->begin_ns, path->end_ns, path->tail_ns};
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++)
        sonde_cell_int(t, true, times_ns[i]);
    const uint64_t counts[] = {path->operations, path->calls, path->no_times, path->waits_recorded, path->waits_inferred,
                               path->starts_inferred, path->wakes_inferred, path->callbacks_inferred, path->messages,
                               path->clock_bound_ns, path->apart, path->lost};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        sonde_cell_int(t, true, counts[i]);
    sonde_cell_boolean(t, path->limited);
    sonde_cell_boolean(t, path->dropped);
    sonde_cell_boolean(t, p->header.cpu_rate_hz != 0);
    composition_cell(t, path);
    if (q->complete) {
        thing_rows(sonde_cell_list(t), q, path);
        place_rows(sonde_cell_list(t), q, path);
        stay_rows(sonde_cell_list(t), q, path);
    } else {
        for (int i = 0; i < 3; i++)
            sonde_cell_unknown(t);
    }
    rank_cells(t, p, is_job(path));
}

/* ---- for people ---------------------------------------------------------------------------------- */

static void say_steps(struct sonde_view_data *out, uint64_t steps, const char *what)
{
    char count[SONDE_NUMBER_MAX];
    if (steps)
        sonde_view_say(out, false, "%s step%s %s %s inferred.", sonde_number_count(count, steps), steps == 1 ? "" : "s", what,
                       steps == 1 ? "is" : "are");
}

static void say_inferred(struct sonde_view_data *out, const struct sonde_path *path)
{
    char count[SONDE_NUMBER_MAX];
    if (path->waits_inferred)
        sonde_view_say(out, false, "%s of %llu steps from a wait to the awaited operation are inferred, not recorded.",
                       sonde_number_count(count, path->waits_inferred),
                       (unsigned long long)(path->waits_inferred + path->waits_recorded));
    say_steps(out, path->wakes_inferred, "from a sleeping thread to its waker");
    say_steps(out, path->callbacks_inferred, "from a callback to the operation that triggered it, the last to end before it,");
    say_steps(out, path->starts_inferred, "from a thread's start to the main thread");
}

static void say_savings(struct sonde_view_data *out, const struct sonde_path *path)
{
    bool behind = false;
    for (size_t i = 0; i < path->things.count; i++)
        behind |= is_behind(&path->things.items[i]);
    if (behind)
        sonde_view_say(out, false, "(In brackets): the saving reaches the end of the run only over an inferred step.");
}

static void say_limits(struct sonde_view_data *out, const struct sonde_process *p, const struct sonde_path *path)
{
    char count[SONDE_NUMBER_MAX], time[SONDE_NUMBER_MAX];
    if (path->limited)
        sonde_view_say(out, false, "Limited to the last %s, with %s operations and API calls: --events N looks at more, in more memory.",
                       sonde_number_time(time, (double)length(path)), sonde_number_count(count, path->operations + path->calls));
    if (path->clock_bound_ns)
        sonde_view_say(out, false, "The ranks ran on several hosts, whose clocks are aligned to within %s by what they waited for each other.",
                       sonde_number_time(time, (double)path->clock_bound_ns));
    if (path->apart)
        sonde_view_say(out, false, "%s rank%s left out: nothing aligns the clock of %s with the others'.", sonde_number_count(count, path->apart),
                       path->apart == 1 ? " is" : "s are", path->apart == 1 ? "its host" : "their hosts");
    if (path->lost)
        sonde_view_say(out, false, "%s step%s without a predecessor: operations without their API call.",
                       sonde_number_count(count, path->lost), path->lost == 1 ? "" : "s");
    if (path->no_times)
        sonde_view_say(out, false, "%s operation%s without valid times %s left out.", sonde_number_count(count, path->no_times),
                       path->no_times == 1 ? "" : "s", path->no_times == 1 ? "is" : "are");
    if (path->dropped)
        sonde_view_say(out, false, "Rows of the trace were dropped while recording: the real path may differ.");
    if (!p->header.cpu_rate_hz && path->parts[SONDE_PATH_HOST].ns)
        sonde_view_say(out, false,
                       "Host code is inferred from the stacks of the surrounding API calls: the CPU side was not sampled.");
    if (path->tail_ns)
        sonde_view_say(out, false, is_job(path) ? "The last %s of the last process, after the last recorded event, are not on the path." : "The last %s of the process, after the last recorded event, are not on the path.",
                       sonde_number_time(time, (double)path->tail_ns));
}

static const struct sonde_view_table *summary_table(struct sonde_view_data *out, const struct sonde_path *path)
{
    struct sonde_view_table *t = sonde_view_table(out, &summary);
    for (int i = 0; i < SONDE_PATH_COUNT; i++) {
        if (!path->parts[i].count)
            continue;
        sonde_cell_text(t, sonde_path_text((enum sonde_path_category)i));
        sonde_cell_share(t, (double)path->parts[i].ns, (double)length(path));
        sonde_cell_int(t, true, path->parts[i].ns);
        sonde_cell_int(t, true, path->parts[i].count);
    }
    return t;
}

/* The job's comes first. */
static const struct sonde_path *nth(const struct sonde_critical *critical, size_t n)
{
    if (critical->has_job)
        return n ? &critical->paths.items[n - 1] : &critical->job;
    return &critical->paths.items[n];
}

static void show_path(const struct sonde_query *q, const struct sonde_path *path, bool gap, struct sonde_view_data *out)
{
    const struct sonde_process *p = &q->m->processes[path->process];
    struct sonde_view_table *on_it = sonde_view_table(out, &things), *contexts = sonde_view_table(out, &places);
    char time[SONDE_NUMBER_MAX];
    struct sonde_text name = {0};
    name_path(q, &name, path);
    sonde_view_say(out, gap, is_job(path) ? "%s: %s through the ranks that wait for each other, from the %s to the last recorded event" : "%s: %s from the %s to the last recorded event",
                   sonde_text_get(&name),
                   sonde_number_time(time, (double)length(path)),
                   path->limited ? "start of the examined part" : (p->header.exec_ns ? "program's start" : "agent's start"));
    thing_rows(on_it, q, path);
    place_rows(contexts, q, path);
    sonde_view_show(out, summary_table(out, path), true);
    if (is_job(path)) {
        struct sonde_view_table *in = sonde_view_table(out, &stays);
        stay_rows(in, q, path);
        sonde_view_show(out, in, true);
    } else {
        sonde_view_hide(on_it, "mostly in");
    }
    sonde_view_show(out, on_it, true);
    sonde_view_show(out, contexts, true);
    say_inferred(out, path);
    say_savings(out, path);
    say_limits(out, p, path);
    sonde_text_fini(&name);
}

static void show(const struct sonde_query *q, const struct sonde_critical *critical, struct sonde_view_data *out)
{
    const size_t all = critical->paths.count + critical->has_job, shown = q->limit ? 1 : all;
    if (all > 1)
        sonde_view_show(out, out->root, false);
    for (size_t i = 0; i < shown; i++)
        show_path(q, nth(critical, i), all > 1, out);
    if (shown < all)
        sonde_view_say(out, false, "Details: the %s path only; --limit 0 shows all.", critical->has_job ? "first" : "longest");
    sonde_view_say(out, false, "Saved if 2× faster: upper bound of the time saved if all of the activity were twice as fast and "
                               "nothing else changed; not additive.");
    for (struct sonde_view_item *item = out->items; item && item->next; item = item->next)
        if (item->table)
            item->next->gap = true;
}

/* ---- the view ------------------------------------------------------------------------------------ */

static int compute(const struct sonde_query *q, struct sonde_critical *critical, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_query_begin(q, "reading the trace");
    const int rc = sonde_critical_compute(q->m, q->profile, &(struct sonde_critical_options){.max_rows = q->events, .evaluate = EVALUATED, .job = true},
                                          progress, critical);
    sonde_query_end(q, progress);
    if (rc)
        return sonde_diag_set(diag, rc, q->path, "cannot find the critical path of");
    if (critical->paths.count)
        return 0;
    sonde_diag_set(diag, SONDE_EEMPTY, q->path, "there is no trace in");
    snprintf(diag->why, sizeof diag->why, "the critical path needs the times of each operation");
    sonde_diag_hint(diag, "record with --trace");
    return SONDE_EEMPTY;
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_critical critical = {0};
    const int rc = compute(q, &critical, diag);
    const size_t all = critical.paths.count + critical.has_job, shown = q->complete ? all : sonde_query_rows(q, all);
    out->root = sonde_view_table(out, &processes);
    out->root->left_out = all - shown;
    for (size_t i = 0; i < shown && !rc; i++)
        path_row(out->root, q, nth(&critical, i));
    if (!rc && !q->complete)
        show(q, &critical, out);
    sonde_critical_fini(&critical);
    return rc;
}

const struct sonde_view sonde_view_critical = {
    .name = "critical",
    .summary = "the critical path: what determined the run's length, and what faster parts would save",
    .tables = (const struct sonde_view_columns *const[]){&processes, &summary, &stays, &things, &places, NULL},
    .options = (const char *const[]){"min-percent", "events", NULL},
    .caveats = SONDE_CAVEAT_ALL & ~(SONDE_CAVEAT_LANES | SONDE_CAVEAT_LIBRARIES),
    .needs_operations = true,
    .or_messages = true,
    .make = make,
};
