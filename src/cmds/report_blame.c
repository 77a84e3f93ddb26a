/* report_blame.c - the view `blame`: which CPU code ran while the devices were idle.
 *
 * docs/blame.md says how each number is computed. Shares are those of the idle
 * time; idle time in which no thread was active, and such of which no context is
 * known, are rows of their own, so that shares add up.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/profile_rows.h"
#include "command.h"
#include "report.h"

/* A table with nothing to say about idle time: why. NULL: there is something. */
static const char *reason_for_nothing(const struct sonde_blame *blame)
{
    if (!blame->traced)
        return "recorded with --profile: when the devices were idle is unknown; blame needs --trace";
    return blame->scopes.count < 2 ? "no operation has times of its device: when that was idle is unknown" : NULL;
}

static double blamed(const struct sonde_blame_scope *scope)
{
    return scope->waiting_ns + scope->working_ns;
}

/* ---- text: scopes ---------------------------------------------------------------------- */

static void scope_name(const struct report *r, const struct sonde_blame_scope *scope, struct sonde_text *out)
{
    const struct sonde_process *p = scope->process == SONDE_BLAME_ALL ? NULL : &r->q.m->processes[scope->process];
    uint32_t device = 0, devices = 0;
    if (!p) {
        sonde_text_add(out, "all processes");
        return;
    }
    for (size_t i = 0; i < r->q.totals.devices.count; i++)
        if (r->q.totals.devices.items[i].process == scope->process && r->q.totals.devices.items[i].timed) {
            device = r->q.totals.devices.items[i].device;
            devices++;
        }
    if (scope->device == SONDE_BLAME_ALL && devices > 1) {
        sonde_name_process_begin(&r->q, out, scope->process);
        sonde_text_add(out, "no device busy");
        sonde_name_process_end(&r->q, out, scope->process);
        return;
    }
    sonde_name_device(&r->q, out, scope->process, scope->device == SONDE_BLAME_ALL ? device : scope->device);
}

static void scope_row(const struct report *r, struct table *t, const struct sonde_blame_scope *scope, bool started)
{
    struct sonde_text name = {0};
    scope_name(r, scope, &name);
    table_cell(t, sonde_text_get(&name));
    table_time(t, true, scope->idle_ns);
    table_percent(t, scope->idle_ns, scope->range_ns);
    table_percent(t, scope->waiting_ns, scope->idle_ns);
    table_percent(t, scope->working_ns, scope->idle_ns);
    table_percent(t, scope->nobody_ns, scope->idle_ns);
    if (started)
        table_percent(t, scope->before_ns, scope->idle_ns);
    table_count(t, scope->intervals);
    table_time(t, scope->intervals > 0, scope->longest_ns);
    sonde_text_fini(&name);
}

/* The sum over the processes says nothing new where there is one. */
static size_t first_scope(const struct sonde_blame *blame)
{
    size_t last = blame->scopes.count - 1;
    return blame->scopes.items[last].process == blame->scopes.items[1].process;
}

static void print_scopes(const struct report *r, const struct sonde_blame *blame)
{
    static const struct table_column started_columns[] = {
        {"Device", TABLE_LEFT | TABLE_ELASTIC, 0}, {"idle", TABLE_RIGHT, 0}, {"of the run", TABLE_RIGHT, 2},
        {"waiting", TABLE_RIGHT, 0}, {"computing", TABLE_RIGHT, 0}, {"no thread", TABLE_RIGHT, 1},
        {"start-up", TABLE_RIGHT, 1}, {"intervals", TABLE_RIGHT, 4}, {"longest", TABLE_RIGHT, 3},
    };
    static const struct table_column columns[] = { /* of a process whose start is not known */
        {"Device", TABLE_LEFT | TABLE_ELASTIC, 0}, {"idle", TABLE_RIGHT, 0}, {"of the run", TABLE_RIGHT, 2},
        {"waiting", TABLE_RIGHT, 0}, {"computing", TABLE_RIGHT, 0}, {"no thread", TABLE_RIGHT, 1},
        {"intervals", TABLE_RIGHT, 4}, {"longest", TABLE_RIGHT, 3},
    };
    const bool started = blame->scopes.items[0].before_ns > 0;
    struct table t = {.columns = started ? started_columns : columns, .column_count = started ? 9 : 8};
    const size_t first = first_scope(blame), all = blame->scopes.count - first;
    const size_t shown = r->q.limit && r->q.limit < all ? r->q.limit : all;
    for (size_t i = 0; i < shown; i++)
        scope_row(r, &t, &blame->scopes.items[first + i], started);
    table_print(&t, r);
    report_more(r, "blame", shown, all);
}

/* ---- text: routines and contexts --------------------------------------------------------- */

/* How the contexts are known, mostly; and the standard error, where it is worth a word. */
static void known_cell(struct table *t, const double *source_ns, double error_ns)
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
    table_cell(t, text);
}

static void other_row(struct table *t, const char *name, double ns, double waiting_ns, double idle_ns, const char *why)
{
    if (ns <= 0)
        return;
    table_percent(t, ns, idle_ns);
    table_time(t, true, waiting_ns);
    table_time(t, true, ns - waiting_ns);
    table_cell(t, "");
    table_cell(t, name);
    table_cell(t, why);
}

/* Nothing was recorded then; what the process did is known by its CPU time alone. */
static void before_row(struct table *t, const struct sonde_blame_scope *scope)
{
    char used[SONDE_NUMBER_MAX], text[SONDE_NUMBER_MAX + 64];
    if (scope->before_ns <= 0)
        return;
    snprintf(text, sizeof text, "%s of CPU time: start-up, loading",
             scope->before_cpu_ns > 0 ? sonde_number_time(used, scope->before_cpu_ns) : "unknown amount");
    table_percent(t, scope->before_ns, scope->idle_ns);
    table_cell(t, "-");
    table_cell(t, "-");
    table_cell(t, "");
    table_cell(t, "(before the first API call)");
    table_cell(t, text);
}

static void routine_row(const struct report *r, struct table *t, const struct sonde_blame_routine *routine, double idle_ns)
{
    const struct sonde_cct_node *node = &r->q.profile->nodes.items[routine->node];
    struct sonde_text name = {0}, place = {0};
    sonde_name_routine(&r->q, &name, node);
    if (routine->places > 1)
        sonde_text_format(&place, "%u places: ", routine->places);
    sonde_name_callers(&r->q, &place, routine->node, 2);
    table_percent(t, routine->waiting_ns + routine->working_ns, idle_ns);
    table_time(t, true, routine->waiting_ns);
    table_time(t, true, routine->working_ns);
    known_cell(t, routine->source_ns, routine->error_ns);
    table_cell(t, sonde_text_get(&name));
    table_cell(t, sonde_text_get(&place));
    sonde_text_fini(&name);
    sonde_text_fini(&place);
}

static int print_routines(const struct report *r, const struct sonde_blame_scope *scope, struct sonde_diag *diag)
{
    static const struct table_column columns[] = {
        {"share", TABLE_RIGHT, 0}, {"waiting", TABLE_RIGHT, 2}, {"computing", TABLE_RIGHT, 3}, {"known", TABLE_LEFT, 4},
        {"routine", TABLE_LEFT | TABLE_MAIN, 0}, {"most of it in", TABLE_LEFT | TABLE_STACK, 1},
    };
    struct table t = {.columns = columns, .column_count = 6};
    struct sonde_blame_routine *routines;
    const long count = sonde_blame_routines(r->q.profile, scope, &routines);
    if (count < 0)
        return sonde_diag_set(diag, (int)count, r->q.path, "cannot sum up the blame of");
    const size_t all = (size_t)count, shown = r->q.limit && r->q.limit < all ? r->q.limit : all;
    for (size_t i = 0; i < shown; i++)
        routine_row(r, &t, &routines[i], scope->idle_ns);
    const struct sonde_blame_entry *lost = scope->entries.count && !scope->entries.items[0].node ? scope->entries.items : NULL;
    if (lost)
        other_row(&t, "(not known)", lost->waiting_ns + lost->working_ns, lost->waiting_ns, scope->idle_ns,
                  "threads of which no context is known");
    other_row(&t, "(no thread active)", scope->nobody_ns, 0, scope->idle_ns, "");
    before_row(&t, scope);
    fputc('\n', stdout);
    table_print(&t, r);
    report_more(r, "blame", shown, all);
    free(routines);
    return 0;
}

/* The tree, at every call depth: the profile's view with two columns of ours. */
static int build_tree(const struct report *r, const struct sonde_blame_scope *scope, bool all_frames,
                      struct sonde_columns *columns, struct sonde_profile_rows **view, struct sonde_diag *diag)
{
    const size_t nodes = r->q.profile->nodes.count;
    double *blame = calloc(nodes + 1, sizeof *blame), *waiting = calloc(nodes + 1, sizeof *waiting);
    struct sonde_profile_rows_config config = {
        .shape = SONDE_PROFILE_TOP_DOWN, .by = SONDE_BY_LINE, .columns = columns, .sort = SONDE_METRIC_BLAME,
        .sort_side = SONDE_INCLUSIVE, .share = SONDE_METRIC_BLAME, .min_percent = r->q.min_percent, .all_frames = all_frames,
        .fold_nameless = !all_frames, .blame_estimate = &scope->estimate,
        .given = {[SONDE_METRIC_BLAME] = blame, [SONDE_METRIC_SYNC] = waiting}, .m = r->q.m};
    int rc = SONDE_ENOMEM;
    for (size_t i = 0; i < scope->entries.count && blame && waiting; i++) {
        const struct sonde_blame_entry *entry = &scope->entries.items[i];
        blame[entry->node] = entry->waiting_ns + entry->working_ns;
        waiting[entry->node] = entry->waiting_ns;
    }
    if (blame && waiting)
        rc = sonde_profile_rows_build(r->q.profile, &config, view, diag);
    free(blame);
    free(waiting);
    return rc && !diag->code ? sonde_diag_set(diag, rc, r->q.path, "cannot sum up the blame of") : rc;
}

static double value(const struct sonde_profile_rows *view, size_t row, enum sonde_metric_id metric, int side)
{
    return sonde_profile_rows_get(view, row, metric, side).value;
}

static int print_tree(const struct report *r, const struct sonde_blame_scope *scope, struct sonde_diag *diag)
{
    static const struct table_column columns[] = {
        {"share", TABLE_RIGHT, 1}, {"inclusive", TABLE_RIGHT, 0}, {"exclusive", TABLE_RIGHT, 2}, {"waiting", TABLE_RIGHT, 3},
        {"calling context", TABLE_LEFT | TABLE_ELASTIC, 0},
    };
    struct table t = {.columns = columns, .column_count = 5};
    struct sonde_columns none = {0};
    struct sonde_profile_rows *view = NULL;
    char number[SONDE_NUMBER_MAX];
    int rc = build_tree(r, scope, false, &none, &view, diag);
    char **labels = rc ? NULL : sonde_row_labels(&r->q, view);
    if (!rc && !labels)
        rc = sonde_diag_set(diag, SONDE_ENOMEM, r->q.path, "cannot show the blame of");
    for (size_t i = 1; !rc && i < view->rows.count; i++) {
        const uint32_t depth = view->rows.items[i].depth - 1, most = (uint32_t)r->columns / 8;
        struct sonde_text label = {0};
        if (value(view, i, SONDE_METRIC_BLAME, SONDE_INCLUSIVE) <= 0)
            continue;
        for (uint32_t k = 0; k < depth && k < most; k++)
            sonde_text_add(&label, "  ");
        if (depth > most)
            sonde_text_format(&label, "+%u ", depth - most);
        sonde_text_add(&label, labels[i]);
        table_percent(&t, value(view, i, SONDE_METRIC_BLAME, SONDE_INCLUSIVE), scope->idle_ns);
        table_estimate(&t, value(view, i, SONDE_METRIC_BLAME, SONDE_INCLUSIVE), value(view, i, SONDE_METRIC_BLAME_ERROR, SONDE_INCLUSIVE));
        table_estimate(&t, value(view, i, SONDE_METRIC_BLAME, SONDE_EXCLUSIVE), value(view, i, SONDE_METRIC_BLAME_ERROR, SONDE_EXCLUSIVE));
        table_time(&t, true, value(view, i, SONDE_METRIC_SYNC, SONDE_INCLUSIVE));
        table_cell(&t, sonde_text_get(&label));
        sonde_text_fini(&label);
    }
    if (!rc) {
        fputc('\n', stdout);
        table_print(&t, r);
        if (view->cut)
            report_say(r, "… %s below %.3g %% left out: --min-percent 0 shows all", sonde_number_count(number, view->cut),
                       r->q.min_percent);
    }
    sonde_row_labels_free(labels, view);
    sonde_profile_rows_destroy(view);
    return rc;
}

/* ---- text: how it is known ---------------------------------------------------------------- */

static void say_sources(const struct report *r, const struct sonde_blame_scope *scope)
{
    struct sonde_text line = {0};
    char number[SONDE_NUMBER_MAX];
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        sonde_text_format(&line, "%s%s %s", i ? ", " : "", sonde_number_percent(number, scope->source_ns[i], blamed(scope)),
                          sonde_blame_source_name((enum sonde_blame_source)i));
    if (blamed(scope) > 0)
        report_say(r, "contexts of active threads: %s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

static void say_rules(const struct report *r, const struct sonde_blame *blame)
{
    static const char *const texts[SONDE_BLAME_RULES] = {
        "the CPU side was not sampled: a thread counts as active between its first and its last API call",
        "context switches were not recorded: outside of API calls a thread counts as active within one period of a sample",
        "a thread counts as active while it does not sleep, and inside API calls",
    };
    uint32_t rules = 0;
    char number[SONDE_NUMBER_MAX];
    for (int i = 0; i < SONDE_BLAME_RULES; i++)
        rules += blame->rules[i] > 0;
    for (int i = 0; i < SONDE_BLAME_RULES; i++)
        if (blame->rules[i] && rules == 1)
            report_say(r, "%s", texts[i]);
        else if (blame->rules[i])
            report_say(r, "%u process%s: %s", blame->rules[i], blame->rules[i] == 1 ? "" : "es", texts[i]);
    if (blame->untimed)
        report_say(r, "%s operation%s without usable times: idle time may be less than shown",
                   sonde_number_count(number, blame->untimed), blame->untimed == 1 ? "" : "s");
}

int report_blame_text(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_blame blame = {0};
    int rc = sonde_query_blame(&r->q, &blame, diag);
    const char *nothing = reason_for_nothing(&blame);
    if (!rc && nothing) {
        report_say(r, "%s", nothing);
    } else if (!rc) {
        const struct sonde_blame_scope *scope = &blame.scopes.items[first_scope(&blame)];
        print_scopes(r, &blame);
        rc = print_routines(r, scope, diag);
        if (!rc && blamed(scope) > 0)
            rc = print_tree(r, scope, diag);
        fputc('\n', stdout);
        say_sources(r, scope);
        say_rules(r, &blame);
    }
    sonde_blame_fini(&blame);
    return rc;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static json_t *ns(double value_ns)
{
    return report_json_ns(true, value_ns);
}

static void set_sources(json_t *object, const double *source_ns)
{
    static const char *const keys[SONDE_BLAME_SOURCES] = {"exact_ns", "sampled_ns", "pooled_ns", "inferred_ns", "uncovered_ns"};
    for (int i = 0; i < SONDE_BLAME_SOURCES; i++)
        json_object_set_new(object, keys[i], ns(source_ns[i]));
}

static json_t *routines_json(const struct report *r, const struct sonde_blame_scope *scope)
{
    json_t *array = json_array();
    struct sonde_blame_routine *routines;
    const long count = sonde_blame_routines(r->q.profile, scope, &routines);
    for (long i = 0; i < count && (!r->q.limit || i < (long)r->q.limit); i++) {
        const struct sonde_blame_routine *routine = &routines[i];
        json_t *object = report_json_frame(&r->q.profile->nodes.items[routine->node]);
        struct sonde_text place = {0};
        sonde_name_place(&r->q, &place, routine->node);
        json_object_set_new(object, "place", report_json_text(sonde_text_get(&place)));
        json_object_set_new(object, "callers", report_json_frames(r, routine->node));
        json_object_set_new(object, "places", json_integer(routine->places));
        json_object_set_new(object, "waiting_ns", ns(routine->waiting_ns));
        json_object_set_new(object, "computing_ns", ns(routine->working_ns));
        json_object_set_new(object, "error_ns", ns(routine->error_ns));
        set_sources(object, routine->source_ns);
        json_array_append_new(array, object);
        sonde_text_fini(&place);
    }
    free(routines);
    return count < 0 ? (json_decref(array), NULL) : array;
}

static json_t *context_json(const struct report *r, const struct sonde_profile_rows *view, size_t row)
{
    const struct sonde_profile_row *of = &view->rows.items[row];
    json_t *object = report_json_frame(&r->q.profile->nodes.items[of->node]);
    struct sonde_text label = {0};
    const double inclusive = value(view, row, SONDE_METRIC_BLAME, SONDE_INCLUSIVE);
    const double exclusive = value(view, row, SONDE_METRIC_BLAME, SONDE_EXCLUSIVE);
    const double waiting = value(view, row, SONDE_METRIC_SYNC, SONDE_INCLUSIVE);
    const double waiting_here = value(view, row, SONDE_METRIC_SYNC, SONDE_EXCLUSIVE);
    sonde_row_label(&r->q, view, row, &label);
    json_object_set_new(object, "label", report_json_text(sonde_text_get(&label)));
    json_object_set_new(object, "inclusive", json_pack("{s:o, s:o, s:o}", "waiting_ns", ns(waiting), "computing_ns", ns(inclusive - waiting),
                        "error_ns", ns(value(view, row, SONDE_METRIC_BLAME_ERROR, SONDE_INCLUSIVE))));
    json_object_set_new(object, "exclusive", json_pack("{s:o, s:o, s:o}", "waiting_ns", ns(waiting_here), "computing_ns", ns(exclusive - waiting_here),
                        "error_ns", ns(value(view, row, SONDE_METRIC_BLAME_ERROR, SONDE_EXCLUSIVE))));
    json_object_set_new(object, "children", json_array());
    sonde_text_fini(&label);
    return object;
}

/* The tree of one scope; NULL when it has none. Rows come with their parents before them. */
static json_t *contexts_json(const struct report *r, const struct sonde_blame_scope *scope, struct sonde_diag *diag)
{
    struct sonde_columns none = {0};
    struct sonde_profile_rows *view = NULL;
    json_t *root = NULL, **objects;
    if (blamed(scope) <= 0 || build_tree(r, scope, true, &none, &view, diag))
        return NULL;
    objects = calloc(view->rows.count, sizeof *objects);
    for (size_t i = 0; objects && i < view->rows.count; i++) {
        const uint32_t parent = view->rows.items[i].parent;
        if ((i && !objects[parent]) || (i && value(view, i, SONDE_METRIC_BLAME, SONDE_INCLUSIVE) <= 0))
            continue;
        objects[i] = context_json(r, view, i);
        if (i)
            json_array_append_new(json_object_get(objects[parent], "children"), objects[i]);
    }
    root = objects ? objects[0] : NULL;
    free(objects);
    sonde_profile_rows_destroy(view);
    return root;
}

static json_t *scope_json(const struct report *r, const struct sonde_blame_scope *scope, struct sonde_diag *diag)
{
    const struct sonde_process *p = scope->process == SONDE_BLAME_ALL ? NULL : &r->q.m->processes[scope->process];
    const bool device = scope->device != SONDE_BLAME_ALL;
    struct sonde_text name = {0};
    scope_name(r, scope, &name);
    json_t *routines = routines_json(r, scope), *contexts = routines ? contexts_json(r, scope, diag) : NULL;
    json_t *object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
        "process", p ? report_json_text(p->name) : json_null(),
        "device", device ? json_integer(scope->device ? (json_int_t)scope->device - 1 : 0) : json_null(),
        "name", report_json_text(sonde_text_get(&name)),
        "range_ns", ns(scope->range_ns), "paused_ns", ns(scope->paused_ns), "idle_ns", ns(scope->idle_ns),
        "intervals", (json_int_t)scope->intervals, "longest_ns", ns(scope->longest_ns),
        "before_ns", ns(scope->before_ns), "before_cpu_ns", report_json_ns(scope->before_cpu_ns > 0, scope->before_cpu_ns),
        "no_thread_ns", ns(scope->nobody_ns), "waiting_ns", ns(scope->waiting_ns), "computing_ns", ns(scope->working_ns));
    set_sources(object, scope->source_ns);
    json_object_set_new(object, "routines", routines ? routines : json_null());
    json_object_set_new(object, "contexts", contexts ? contexts : json_null());
    sonde_text_fini(&name);
    if (routines && !diag->code)
        return object;
    json_decref(object);
    return NULL;
}

json_t *report_blame_json(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_blame blame = {0};
    json_t *scopes = json_array(), *root = NULL;
    bool ok = !sonde_query_blame(&r->q, &blame, diag);
    for (size_t i = 0; i < blame.scopes.count && ok && blame.scopes.count > 1; i++)
        ok = !json_array_append_new(scopes, scope_json(r, &blame.scopes.items[i], diag));
    if (ok)
        root = json_pack("{s:b, s:{s:i, s:i, s:i}, s:I, s:O}", "traced", (int)blame.traced,
                         "processes_by_rule", "calls", (int)blame.rules[SONDE_BLAME_BY_CALLS],
                         "samples", (int)blame.rules[SONDE_BLAME_BY_SAMPLES], "switches", (int)blame.rules[SONDE_BLAME_BY_SWITCHES],
                         "untimed_operations", (json_int_t)blame.untimed, "scopes", scopes);
    json_decref(scopes);
    sonde_blame_fini(&blame);
    return root;
}
