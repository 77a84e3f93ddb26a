/* blame.c - the view `blame`: which CPU code ran while the devices were idle, in the run or a time window of it.
 *
 * docs/blame.md says how each number is computed. Shares are those of the idle
 * time; idle time in which no thread was active, and such of which no context is
 * known, are rows of their own, so that shares add up.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/answers/summary/caveats.h"
#include "analyze/metrics/profile_rows.h"
#include "base/number.h"
#include "groups.h"
#include "labels.h"
#include "names.h"
#include "view.h"

/* ---- columns ------------------------------------------------------------------------------- */

static const struct sonde_view_column side_columns[] = {
    {"waiting_ns", NULL, SONDE_CELL_TIME, 0, 0, "in API calls that wait for the device"},
    {"computing_ns", NULL, SONDE_CELL_TIME, 0, 0, "anywhere else"},
    {"error_ns", NULL, SONDE_CELL_TIME, 0, 0, "standard error of their sum where it is sampled"},
};
static const struct sonde_view_columns side = SONDE_VIEW_COLUMNS("context_blame", side_columns);

static const struct sonde_view_columns contexts; /* a context has such children */
static const struct sonde_view_column context_columns[] = {
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "function, API call, kernel or range; null: unknown"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "source line"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable or library"},
    {"label", NULL, SONDE_CELL_TEXT, 0, 0, "label on the terminal"},
    {"inclusive", NULL, SONDE_CELL_OBJECT, 0, 0, "blame of this frame and its callees", .of = &side},
    {"exclusive", NULL, SONDE_CELL_OBJECT, 0, 0, "blame of this frame alone", .of = &side},
    {"children", NULL, SONDE_CELL_LIST, 0, 0, "callees, largest blame first", .of = &contexts},
};
static const struct sonde_view_columns contexts = SONDE_VIEW_COLUMNS("contexts", context_columns);

static const struct sonde_view_column tree_columns[] = {
    {NULL, "share", SONDE_CELL_SHARE, 0, 1, "inclusive blame as % of the idle time"},
    {NULL, "inclusive", SONDE_CELL_TIME, 0, 0, "blame of this frame and its callees"},
    {NULL, "exclusive", SONDE_CELL_TIME, 0, 2, "blame of this frame alone"},
    {NULL, "waiting", SONDE_CELL_TIME, 0, 3, "part of the inclusive blame in API calls that wait for the device"},
    {NULL, "call path", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "outermost frame first, callees indented below"},
};
static const struct sonde_view_columns tree = SONDE_VIEW_COLUMNS("tree", tree_columns);

static const struct sonde_view_column routine_columns[] = {
    {NULL, "share", SONDE_CELL_SHARE, 0, 0, "exclusive blame of the routine, over all callers, as % of the idle time"},
    {"waiting_ns", "waiting", SONDE_CELL_TIME, 0, 2, "its blame in API calls that wait for the device"},
    {"computing_ns", "computing", SONDE_CELL_TIME, 0, 3, "its blame anywhere else"},
    {NULL, "basis", SONDE_CELL_TEXT, 0, 4, "how most of its call paths are known; with the standard error if above 0.5 %"},
    {"label", "routine", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0,
     "function or API call; in parentheses, idle time without a routine"},
    {NULL, "where", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 1,
     "the place in user code with most of it, innermost frame first, and the number of places"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "function, API call, kernel or range; null: unknown"},
    {"file", NULL, SONDE_CELL_TEXT, 0, 0, "source file"},
    {"line", NULL, SONDE_CELL_ID, 0, 0, "source line"},
    {"module", NULL, SONDE_CELL_TEXT, 0, 0, "path of the executable or library"},
    {"place", NULL, SONDE_CELL_TEXT, 0, 0, "the routine and the nearest user code"},
    {"callers", NULL, SONDE_CELL_LIST, 0, 0,
     "callers on the call path with the most blame, innermost first", .of = &sonde_frames},
    {"places", NULL, SONDE_CELL_COUNT, 0, 0, "number of places in user code (innermost frame and its callers) with blame"},
    {"error_ns", NULL, SONDE_CELL_TIME, 0, 0, "standard error of the sampled and pooled parts; 0: none"},
    {"exact_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame inside API calls, whose call stack was taken"},
    {"sampled_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame covered by a sample"},
    {"pooled_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame in gaps without a sample, divided as in similar gaps with samples"},
    {"inferred_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame given to what the stacks of the API calls before and after share"},
    {"uncovered_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame without a known call path"},
};
static const struct sonde_view_columns routines = SONDE_VIEW_COLUMNS("routines", routine_columns);
enum {
    ROUTINE_SHOWN = 6,
    ROUTINE_ALL = sizeof routine_columns / sizeof *routine_columns,
};

static const struct sonde_view_column scope_columns[] = {
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "directory of the process; null: all processes together"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of the device; null: all devices together (none busy)"},
    {"name", "Device", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0,
     "a device, all devices of a process (none busy), or all processes"},
    {"range_ns", NULL, SONDE_CELL_TIME, 0, 0, "wall time of the process in the time window, excluding time with recording off"},
    {"paused_ns", NULL, SONDE_CELL_TIME, 0, 0, "time with recording off: not included in any other number"},
    {"idle_ns", "idle", SONDE_CELL_TIME, 0, 0, "time in which no operation ran"},
    {NULL, "% of run", SONDE_CELL_SHARE, 0, 2, "idle time as % of range_ns"},
    {NULL, "waiting", SONDE_CELL_SHARE, 0, 0, "% of the idle time with blame in API calls that wait for the device"},
    {NULL, "computing", SONDE_CELL_SHARE, 0, 0, "% of the idle time with blame anywhere else"},
    {NULL, "no thread", SONDE_CELL_SHARE, 0, 1, "% of the idle time with no thread active"},
    {NULL, "start-up", SONDE_CELL_SHARE, 0, 1, "% of the idle time before the first API call, if the program's start is known"},
    {"intervals", "intervals", SONDE_CELL_COUNT, 0, 4, "number of idle intervals, as cut by the time window"},
    {NULL, "longest", SONDE_CELL_TIME, 0, 3, "longest idle interval"},
    {"longest_ns", NULL, SONDE_CELL_TIME, 0, 0, "longest idle interval; 0: none"},
    {"before_ns", NULL, SONDE_CELL_TIME, 0, 0, "idle time in start-up, before the first API call"},
    {"before_cpu_ns", NULL, SONDE_CELL_TIME, 0, 0, "CPU time of the process in start-up; null: unknown, as where the time window has only a part of it"},
    {"no_thread_ns", NULL, SONDE_CELL_TIME, 0, 0, "idle time with no thread active"},
    {"waiting_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame in API calls that wait for the device"},
    {"computing_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame anywhere else"},
    {"exact_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame inside API calls, whose call stack was taken"},
    {"sampled_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame covered by a sample"},
    {"pooled_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame in gaps without a sample, divided as in similar gaps with samples"},
    {"inferred_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame given to what the stacks of the API calls before and after share"},
    {"uncovered_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame without a known call path"},
    {"routines", NULL, SONDE_CELL_LIST, 0, 0,
     "routines by exclusive blame, largest first, without uncovered_ns", .of = &routines},
    {"contexts", NULL, SONDE_CELL_OBJECT, 0, 0, "the call path tree; null: no blame", .of = &contexts},
};
static const struct sonde_view_columns scopes = SONDE_VIEW_COLUMNS("scopes", scope_columns);

static const struct sonde_view_column rule_columns[] = {
    /* [enum sonde_blame_rule] */
    {"calls", NULL, SONDE_CELL_COUNT, 0, 0, "not sampled: active from a thread's first API call to its last"},
    {"samples", NULL, SONDE_CELL_COUNT, 0, 0, "active inside API calls and within one period of a sample"},
    {"switches", NULL, SONDE_CELL_COUNT, 0, 0, "active while not asleep, and inside API calls"},
};
static const struct sonde_view_columns rules = SONDE_VIEW_COLUMNS("processes_by_rule", rule_columns);

static const struct sonde_view_column columns[] = {
    {"from_ns", NULL, SONDE_CELL_TIME, 0, 0, "begin of the time window, since the start of the run"},
    {"to_ns", NULL, SONDE_CELL_TIME, 0, 0, "end of the time window; null: the length of the run is unknown"},
    {"depth", NULL, SONDE_CELL_COUNT, 0, 0, "number of outermost frames considered; null: all"},
    {"traced", NULL, SONDE_CELL_BOOLEAN, 0, 0, "false: no trace, and nothing is known"},
    {"processes_by_rule", NULL, SONDE_CELL_OBJECT, 0, 0,
     "number of processes by the rule that says when a thread is active", .of = &rules},
    {"untimed_operations", NULL, SONDE_CELL_COUNT, 0, 0, "operations of the whole run without valid times, not included in busy time"},
    {"scopes", NULL, SONDE_CELL_LIST, 0, 0,
     "all processes; then each process, all devices together and each of several", .of = &scopes},
};
static const struct sonde_view_columns whole = SONDE_VIEW_COLUMNS("blame", columns);

/* ---- routines -------------------------------------------------------------------------------- */

static double blamed(const struct sonde_blame_scope *scope)
{
    return scope->waiting_ns + scope->working_ns;
}

static void source_cells(struct sonde_view_table *t, const double *source_ns)
{
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sonde_cell_real(t, true, source_ns[i]);
}

/* How the contexts are known, mostly; and the standard error, where it is worth a word. */
static void known_cell(struct sonde_view_table *t, const double *source_ns, double error_ns)
{
    int main_source = 0;
    double sum = 0;
    char number[SONDE_NUMBER_MAX], error[SONDE_NUMBER_MAX + 8] = "", text[2 * SONDE_NUMBER_MAX + 32];
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++) {
        main_source = source_ns[i] > source_ns[main_source] ? i : main_source;
        sum += source_ns[i];
    }
    const char *name = sonde_blame_source_name((enum sonde_blame_source)main_source);
    if (error_ns >= sum * .005)
        snprintf(error, sizeof error, ", ± %s", sonde_number_time(number, error_ns));
    if (source_ns[main_source] < sum * .995)
        snprintf(text, sizeof text, "%s %s%s", sonde_number_percent(number, source_ns[main_source], sum), name, error);
    else
        snprintf(text, sizeof text, "%s%s", name, error);
    sonde_cell_text(t, text);
}

static void routine_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame_routine *routine,
                        double idle_ns)
{
    const struct sonde_cct_node *node = &q->profile->nodes.items[routine->node];
    struct sonde_text name = {0}, most = {0}, place = {0};
    sonde_name_routine(q, &name, node);
    if (routine->places > 1)
        sonde_text_format(&most, "%u places: ", routine->places);
    sonde_name_callers(q, &most, routine->node, 2);
    sonde_name_place(q, &place, routine->node);
    sonde_cell_share(t, routine->waiting_ns + routine->working_ns, idle_ns);
    sonde_cell_real(t, true, routine->waiting_ns);
    sonde_cell_real(t, true, routine->working_ns);
    known_cell(t, routine->source_ns, routine->error_ns);
    sonde_cell_take(t, &name);
    sonde_cell_take(t, &most);
    sonde_cells_frame(t, node);
    sonde_cell_take(t, &place);
    sonde_cell_frames(t, q, routine->node);
    sonde_cell_int(t, true, routine->places);
    sonde_cell_real(t, true, routine->error_ns);
    source_cells(t, routine->source_ns);
}

/* Idle time that no routine has, for people. */
static void other_row(struct sonde_view_table *t, const char *name, const char *why, double ns, const double *waiting_ns,
                      double idle_ns)
{
    if (ns <= 0)
        return;
    sonde_cell_share(t, ns, idle_ns);
    sonde_cell_real(t, waiting_ns, waiting_ns ? *waiting_ns : 0);
    sonde_cell_real(t, waiting_ns, waiting_ns ? ns - *waiting_ns : 0);
    sonde_cell_text(t, "");
    sonde_cell_text(t, name);
    sonde_cell_text(t, why);
    for (int i = ROUTINE_SHOWN; i < ROUTINE_ALL; i++)
        sonde_cell_unknown(t);
}

static void other_rows(struct sonde_view_table *t, const struct sonde_blame_scope *scope)
{
    const struct sonde_blame_entry *lost = scope->entries.count && !scope->entries.items[0].node ? scope->entries.items : NULL;
    char used[SONDE_NUMBER_MAX], start[SONDE_NUMBER_MAX + 64];
    if (lost)
        other_row(t, "(unknown)", "threads without a known call path", lost->waiting_ns + lost->working_ns, &lost->waiting_ns,
                  scope->idle_ns);
    other_row(t, "(no thread active)", "", scope->nobody_ns, &(double){0}, scope->idle_ns);
    /* Nothing was recorded then; what the process did is known by its CPU time alone. */
    snprintf(start, sizeof start, "with %s of CPU time",
             scope->before_cpu_ns > 0 ? sonde_number_time(used, scope->before_cpu_ns) : "an unknown amount");
    other_row(t, "(start-up)", start, scope->before_ns, NULL, scope->idle_ns);
}

static int routine_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame_scope *scope,
                        struct sonde_diag *diag)
{
    struct sonde_blame_routine *list = NULL;
    const long count = sonde_blame_routines(q->profile, scope, &list);
    if (count < 0)
        return sonde_diag_set(diag, (int)count, q->path, "cannot compute the blame of");
    const size_t all = (size_t)count, shown = sonde_query_rows(q, all);
    for (size_t i = 0; i < shown; i++)
        routine_row(t, q, &list[i], scope->idle_ns);
    if (!q->complete)
        other_rows(t, scope);
    t->left_out = all - shown;
    free(list);
    return 0;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* The tree, at every call depth: the profile's rows with two columns of ours. */
static int build_tree(const struct sonde_query *q, const struct sonde_blame_scope *scope, const struct sonde_columns *none,
                      struct sonde_profile_rows **rows, struct sonde_diag *diag)
{
    const size_t nodes = q->profile->nodes.count;
    double *blame = calloc(nodes + 1, sizeof *blame), *waiting = calloc(nodes + 1, sizeof *waiting);
    struct sonde_profile_rows_config config = {
        .shape = SONDE_PROFILE_TOP_DOWN,
        .by = SONDE_BY_LINE,
        .columns = none,
        .sort = SONDE_METRIC_BLAME,
        .sort_side = SONDE_INCLUSIVE,
        .share = SONDE_METRIC_BLAME,
        .min_percent = q->min_percent,
        .all_frames = q->complete,
        .fold_nameless = !q->complete,
        .blame_estimate = &scope->estimate,
        .given = {[SONDE_METRIC_BLAME] = blame, [SONDE_METRIC_SYNC] = waiting},
        .m = q->m,
    };
    int rc = SONDE_ENOMEM;
    for (size_t i = 0; i < scope->entries.count && blame && waiting; i++) {
        const struct sonde_blame_entry *entry = &scope->entries.items[i];
        blame[entry->node] = entry->waiting_ns + entry->working_ns;
        waiting[entry->node] = entry->waiting_ns;
    }
    if (blame && waiting)
        rc = sonde_profile_rows_build(q->profile, &config, rows, diag);
    free(blame);
    free(waiting);
    return rc && !diag->code ? sonde_diag_set(diag, rc, q->path, "cannot compute the blame of") : rc;
}

static double value(const struct sonde_profile_rows *rows, size_t row, enum sonde_metric_id metric, int of)
{
    return sonde_profile_rows_get(rows, row, metric, of).value;
}

static void side_cell(struct sonde_view_table *t, const struct sonde_profile_rows *rows, size_t row, int of)
{
    const double waiting_ns = value(rows, row, SONDE_METRIC_SYNC, of);
    struct sonde_view_table *one = sonde_cell_object(t);
    sonde_cell_real(one, true, waiting_ns);
    sonde_cell_real(one, true, value(rows, row, SONDE_METRIC_BLAME, of) - waiting_ns);
    sonde_cell_real(one, true, value(rows, row, SONDE_METRIC_BLAME_ERROR, of));
}

/* Returns the table of its children. */
static struct sonde_view_table *context_row(struct sonde_view_table *t, const struct sonde_query *q,
                                            const struct sonde_profile_rows *rows, size_t row)
{
    struct sonde_text label = {0};
    sonde_row_label(q, rows, row, &label);
    sonde_cells_frame(t, &q->profile->nodes.items[rows->rows.items[row].node]);
    sonde_cell_take(t, &label);
    side_cell(t, rows, row, SONDE_INCLUSIVE);
    side_cell(t, rows, row, SONDE_EXCLUSIVE);
    return sonde_cell_list(t);
}

/* For programs: nested. Rows come with their parents before them. */
static int context_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame_scope *scope,
                        struct sonde_diag *diag)
{
    struct sonde_columns none = {0};
    struct sonde_profile_rows *rows = NULL;
    int rc = build_tree(q, scope, &none, &rows, diag);
    struct sonde_view_table **children = rc ? NULL : calloc(rows->rows.count, sizeof *children); /* [row]; NULL: left out */
    if (!rc && !children)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot show the blame of");
    for (size_t i = 0; !rc && i < rows->rows.count; i++) {
        struct sonde_view_table *parent = i ? children[rows->rows.items[i].parent] : t;
        if (parent && (!i || value(rows, i, SONDE_METRIC_BLAME, SONDE_INCLUSIVE) > 0))
            children[i] = context_row(parent, q, rows, i);
    }
    free(children);
    sonde_profile_rows_destroy(rows);
    return rc;
}

/* For people: line by line, without what is too little. */
static int tree_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame_scope *scope,
                     struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_columns none = {0};
    struct sonde_profile_rows *rows = NULL;
    char number[SONDE_NUMBER_MAX];
    int rc = build_tree(q, scope, &none, &rows, diag);
    char **labels = rc ? NULL : sonde_row_labels(q, rows);
    if (!rc && !labels)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot show the blame of");
    for (size_t i = 1; !rc && i < rows->rows.count; i++) {
        const double inclusive_ns = value(rows, i, SONDE_METRIC_BLAME, SONDE_INCLUSIVE);
        if (inclusive_ns <= 0)
            continue;
        sonde_cell_share(t, inclusive_ns, scope->idle_ns);
        sonde_cell_estimate(t, inclusive_ns, value(rows, i, SONDE_METRIC_BLAME_ERROR, SONDE_INCLUSIVE));
        sonde_cell_estimate(t, value(rows, i, SONDE_METRIC_BLAME, SONDE_EXCLUSIVE),
                            value(rows, i, SONDE_METRIC_BLAME_ERROR, SONDE_EXCLUSIVE));
        sonde_cell_real(t, true, value(rows, i, SONDE_METRIC_SYNC, SONDE_INCLUSIVE));
        sonde_cell_tree(t, rows->rows.items[i].depth - 1, labels[i]);
    }
    if (!rc && rows->cut)
        sonde_view_say(out, false, "… %s below %.3g %% left out: --min-percent 0 shows all",
                       sonde_number_count(number, rows->cut), q->min_percent);
    sonde_row_labels_free(labels, rows);
    sonde_profile_rows_destroy(rows);
    return rc;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static void scope_name(const struct sonde_query *q, const struct sonde_blame_scope *scope, struct sonde_text *out)
{
    uint32_t device = 0, devices = 0;
    if (scope->process == SONDE_BLAME_ALL) {
        sonde_text_add(out, "all processes");
        return;
    }
    for (size_t i = 0; i < q->totals.devices.count; i++)
        if (q->totals.devices.items[i].process == scope->process && q->totals.devices.items[i].timed) {
            device = q->totals.devices.items[i].device;
            devices++;
        }
    if (scope->device == SONDE_BLAME_ALL && devices > 1) {
        sonde_name_process_begin(q, out, scope->process);
        sonde_text_add(out, "no device busy");
        sonde_name_process_end(q, out, scope->process);
        return;
    }
    sonde_name_device(q, out, scope->process, scope->device == SONDE_BLAME_ALL ? device : scope->device);
}

static int scope_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame_scope *scope,
                     struct sonde_diag *diag)
{
    struct sonde_text name = {0};
    scope_name(q, scope, &name);
    sonde_cell_text(t, scope->process == SONDE_BLAME_ALL ? NULL : q->m->processes[scope->process].name);
    sonde_cell_int(t, scope->device != SONDE_BLAME_ALL, scope->device ? scope->device - 1 : 0);
    sonde_cell_take(t, &name);
    sonde_cell_real(t, true, scope->range_ns);
    sonde_cell_real(t, true, scope->paused_ns);
    sonde_cell_real(t, true, scope->idle_ns);
    sonde_cell_share(t, scope->idle_ns, scope->range_ns);
    sonde_cell_share(t, scope->waiting_ns, scope->idle_ns);
    sonde_cell_share(t, scope->working_ns, scope->idle_ns);
    sonde_cell_share(t, scope->nobody_ns, scope->idle_ns);
    sonde_cell_share(t, scope->before_ns, scope->idle_ns);
    sonde_cell_int(t, true, scope->intervals);
    sonde_cell_real(t, scope->intervals > 0, scope->longest_ns);
    sonde_cell_real(t, true, scope->longest_ns);
    sonde_cell_real(t, true, scope->before_ns);
    sonde_cell_real(t, scope->before_cpu_ns > 0, scope->before_cpu_ns);
    sonde_cell_real(t, true, scope->nobody_ns);
    sonde_cell_real(t, true, scope->waiting_ns);
    sonde_cell_real(t, true, scope->working_ns);
    source_cells(t, scope->source_ns);
    int rc = 0;
    if (q->complete)
        rc = routine_rows(sonde_cell_list(t), q, scope, diag);
    else
        sonde_cell_unknown(t);
    if (q->complete && !rc && blamed(scope) > 0)
        rc = context_rows(sonde_cell_object(t), q, scope, diag);
    else
        sonde_cell_unknown(t);
    return rc;
}

/* The sum over the processes says nothing new where there is one. */
static size_t first_scope(const struct sonde_blame *blame)
{
    const size_t last = blame->scopes.count - 1;
    return blame->scopes.items[last].process == blame->scopes.items[1].process;
}

static int scope_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame,
                      struct sonde_diag *diag)
{
    const size_t first = q->complete ? 0 : first_scope(blame), all = blame->scopes.count - first;
    const size_t shown = q->complete ? all : sonde_query_rows(q, all);
    int rc = 0;
    for (size_t i = 0; i < shown && !rc; i++)
        rc = scope_row(t, q, &blame->scopes.items[first + i], diag);
    t->left_out = all - shown;
    if (!(blame->scopes.items[0].before_ns > 0)) /* of a process whose start is not known */
        sonde_view_hide(t, "start-up");
    return rc;
}

/* ---- how it is known --------------------------------------------------------------------------- */

static void say_sources(struct sonde_view_data *out, const struct sonde_blame_scope *scope)
{
    struct sonde_text line = {0};
    char number[SONDE_NUMBER_MAX];
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sonde_text_format(&line, "%s%s %s", i ? ", " : "", sonde_number_percent(number, scope->source_ns[i], blamed(scope)),
                          sonde_blame_source_name((enum sonde_blame_source)i));
    if (blamed(scope) > 0)
        sonde_view_say(out, false, "basis of the call paths: %s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

static void say_rules(struct sonde_view_data *out, const struct sonde_blame *blame)
{
    static const char *const texts[SONDE_BLAME_RULES] = {
        "the CPU side was not sampled: a thread counts as active from its first to its last API call",
        "context switches were not recorded: outside API calls a thread counts as active within one period of a sample",
        "a thread counts as active while it is not asleep, and inside API calls",
    };
    uint32_t used = 0;
    char number[SONDE_NUMBER_MAX];
    for (int i = 0; i < SONDE_BLAME_RULES; i++)
        used += blame->rules[i] > 0;
    for (int i = 0; i < SONDE_BLAME_RULES; i++)
        if (blame->rules[i] && used == 1)
            sonde_view_say(out, false, "%s", texts[i]);
        else if (blame->rules[i])
            sonde_view_say(out, false, "%u process%s: %s", blame->rules[i], blame->rules[i] == 1 ? "" : "es", texts[i]);
    if (blame->untimed)
        sonde_view_say(out, false, "%s operation%s without valid times: the real idle time may be less than shown",
                       sonde_number_count(number, blame->untimed), blame->untimed == 1 ? "" : "s");
}

/* ---- the view ------------------------------------------------------------------------------------ */

/* Nothing to say about idle time: why. NULL: there is something. */
static const char *reason_for_nothing(const struct sonde_blame *blame, bool window)
{
    if (!blame->traced)
        return "recorded with --profile: idle times are unknown; blame needs --trace";
    if (blame->scopes.count < 2)
        return window ? "no process with device times ran in the time window" : "no operation has device times: idle times are unknown";
    return NULL;
}

/* Returns the table of scopes, which has no rows yet. */
static struct sonde_view_table *whole_row(struct sonde_view_data *out, const struct sonde_query *q, const struct sonde_query_window *window,
                                          const struct sonde_blame *blame)
{
    struct sonde_view_table *t = sonde_view_table(out, &whole);
    out->root = t;
    sonde_cell_int(t, true, window->from_ns);
    sonde_cell_int(t, window->to_ns, window->to_ns);
    sonde_cell_int(t, q->range.depth, q->range.depth);
    sonde_cell_boolean(t, blame->traced);
    struct sonde_view_table *by_rule = sonde_cell_object(t);
    for (int i = 0; i < SONDE_BLAME_RULES; i++)
        sonde_cell_int(by_rule, true, blame->rules[i]);
    sonde_cell_int(t, true, blame->untimed);
    return sonde_cell_list(t);
}

/* What was asked for, where that is not simply the run. */
static void say_what(struct sonde_view_data *out, const struct sonde_query *q, const struct sonde_query_window *window, bool windowed)
{
    char from[SONDE_NUMBER_MAX], to[SONDE_NUMBER_MAX];
    struct sonde_text line = {0};
    if (windowed)
        sonde_text_format(&line, "%s to %s", sonde_number_time(from, (double)window->from_ns), sonde_number_time(to, (double)window->to_ns));
    if (q->range.depth)
        sonde_text_format(&line, "%sdepth %u", windowed ? " · " : "", q->range.depth);
    if (line.length)
        sonde_view_say(out, false, "%s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

/* For people: the devices, then routines and contexts of the first scope. */
static int show(const struct sonde_query *q, const struct sonde_view_table *devices, const struct sonde_blame *blame,
                struct sonde_view_data *out, struct sonde_diag *diag)
{
    const struct sonde_blame_scope *scope = &blame->scopes.items[first_scope(blame)];
    struct sonde_view_table *of_routines = sonde_view_table(out, &routines), *of_contexts = sonde_view_table(out, &tree);
    sonde_view_show(out, devices, false);
    sonde_view_show(out, of_routines, true);
    int rc = routine_rows(of_routines, q, scope, diag);
    if (!rc && blamed(scope) > 0) {
        sonde_view_show(out, of_contexts, true);
        rc = tree_rows(of_contexts, q, scope, out, diag);
    }
    struct sonde_view_item **first = out->items_end;
    say_sources(out, scope);
    say_rules(out, blame);
    if (first && *first)
        (*first)->gap = true;
    return rc;
}

static int compute(const struct sonde_query *q, bool windowed, struct sonde_query_window *window, struct sonde_blame *blame,
                   struct sonde_diag *diag)
{
    struct sonde_diag unknown; /* a run without a length has no empty windows, as long as none is asked for */
    int rc = sonde_query_window(q, true, window, windowed ? diag : &unknown);
    rc = rc && windowed ? rc : sonde_query_blame(q, windowed ? window : NULL, blame, diag);
    if (!rc && sonde_blame_cut(blame, q->profile, q->range.depth))
        rc = sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot compute the blame of");
    return rc;
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    const bool windowed = q->range.from.given || q->range.to.given;
    struct sonde_blame blame = {0};
    struct sonde_query_window window;
    int rc = compute(q, windowed, &window, &blame, diag);
    const char *nothing = reason_for_nothing(&blame, windowed);
    struct sonde_view_table *devices = whole_row(out, q, &window, &blame);
    if (!rc && !nothing)
        rc = scope_rows(devices, q, &blame, diag);
    if (!rc && !q->complete) {
        say_what(out, q, &window, windowed);
        if (nothing)
            sonde_view_say(out, false, "%s", nothing);
        else
            rc = show(q, devices, &blame, out, diag);
    }
    sonde_blame_fini(&blame);
    return rc;
}

const struct sonde_view sonde_view_blame = {
    .name = "blame",
    .summary = "CPU code that ran while the devices were idle",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&whole, &scopes, &routines, &tree, NULL},
    .options = (const char *const[]){"min-percent", "depth", "from", "to", NULL},
    .caveats = SONDE_CAVEAT_ALL & ~(SONDE_CAVEAT_LANES | SONDE_CAVEAT_LIBRARIES),
    .needs_operations = true,
    .make = make,
};
