/* report_critical.c - the view `critical`: which activities decided how long the run took.
 *
 * docs/critical-path.md says how each number is computed.
 */
#include <stdio.h>

#include <string.h>

#include "analyze/critical.h"
#include "command.h"
#include "report.h"

enum { EVALUATED = 8 };

static int compute(const struct report *r, struct sonde_critical *critical, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_progress_begin("reading the trace", false);
    int rc = sonde_critical_compute(r->q.m, r->q.profile, &(struct sonde_critical_options){.evaluate = EVALUATED}, progress,
                                    critical);
    sonde_progress_end(progress);
    return rc ? sonde_diag_set(diag, rc, r->q.path, "cannot find the critical path of") : 0;
}

static uint64_t length(const struct sonde_path *path)
{
    return path->end_ns - path->begin_ns;
}

/* ---- text --------------------------------------------------------------------------- */

static const char *name_of(const struct sonde_path_thing *thing)
{
    if (*thing->name)
        return strncmp(thing->name, "void ", 5) == 0 ? thing->name + 5 : thing->name;
    if (thing->category >= SONDE_PATH_KERNEL && thing->category <= SONDE_PATH_ORDER)
        return sonde_op_kind_name(thing->op);
    return thing->category == SONDE_PATH_HOST ? "unknown code" : sonde_path_text(thing->category);
}

static void thing_label(const struct report *r, const struct sonde_path_thing *thing, struct sonde_text *out)
{
    const char *nameless = *thing->name ? "" : thing->file;
    if (thing->category == SONDE_PATH_HOST && (*thing->name || *thing->file))
        sonde_name_routine(&r->q, out, &(struct sonde_cct_node){.kind = SONDE_FRAME_NATIVE, .name = thing->name, .module = nameless,
                                                     .file = *thing->name ? thing->file : ""});
    else
        sonde_text_add(out, name_of(thing));
}

/* One row for each process; what it is made of in groups. */
static void print_processes(const struct report *r, const struct sonde_critical *critical)
{
    static const struct table_column columns[] = {
        {"Process", TABLE_LEFT | TABLE_ELASTIC, 0}, {"length", TABLE_RIGHT, 0}, {"host", TABLE_RIGHT, 2},
        {"off CPU", TABLE_RIGHT, 3}, {"API", TABLE_RIGHT, 3}, {"delays", TABLE_RIGHT, 4}, {"kernels", TABLE_RIGHT, 1},
        {"copies", TABLE_RIGHT, 1}, {"start-up", TABLE_RIGHT, 4},
    };
    struct table t = {.columns = columns, .column_count = 9};
    size_t all = critical->paths.count, shown = r->q.limit && r->q.limit < all ? r->q.limit : all;
    for (size_t i = 0; i < shown; i++) {
        const struct sonde_path *path = &critical->paths.items[i];
        const struct sonde_path_part *p = path->parts;
        const double whole = (double)length(path);
        struct sonde_text name = {0};
        sonde_name_process(&name, &r->q.m->processes[path->process]);
        table_cell(&t, sonde_text_get(&name));
        table_time(&t, true, whole);
        table_percent(&t, (double)p[SONDE_PATH_HOST].ns, whole);
        table_percent(&t, (double)p[SONDE_PATH_OFF].ns, whole);
        table_percent(&t, (double)p[SONDE_PATH_API].ns, whole);
        table_percent(&t, (double)(p[SONDE_PATH_LAUNCH].ns + p[SONDE_PATH_GAP].ns), whole);
        table_percent(&t, (double)p[SONDE_PATH_KERNEL].ns, whole);
        table_percent(&t, (double)(p[SONDE_PATH_COPY].ns + p[SONDE_PATH_SET].ns), whole);
        table_percent(&t, (double)p[SONDE_PATH_START].ns, whole);
        sonde_text_fini(&name);
    }
    table_print(&t, r);
    report_more(r, "critical", shown, all);
    fputc('\n', stdout);
}

static void print_parts(const struct report *r, const struct sonde_path *path)
{
    static const struct table_column columns[] = {
        {"Critical path", TABLE_LEFT | TABLE_ELASTIC, 0}, {"share", TABLE_RIGHT, 0}, {"time", TABLE_RIGHT, 0},
        {"steps", TABLE_RIGHT, 1},
    };
    struct table t = {.columns = columns, .column_count = 4};
    for (int i = 0; i < SONDE_PATH_COUNT; i++) {
        if (!path->parts[i].count)
            continue;
        table_cell(&t, sonde_path_text((enum sonde_path_category)i));
        table_percent(&t, (double)path->parts[i].ns, (double)length(path));
        table_time(&t, true, (double)path->parts[i].ns);
        table_count(&t, path->parts[i].count);
    }
    table_print(&t, r);
    fputc('\n', stdout);
}

static bool worth_a_row(const struct report *r, uint64_t ns, const struct sonde_path *path)
{
    return (double)ns * 100 >= r->q.min_percent * (double)length(path);
}

/* What it saves reaches the end of the run over a step that is inferred, mostly. */
static bool is_behind(const struct sonde_path_thing *thing)
{
    return thing->evaluated && thing->saving_ns && thing->behind_ns * 2 > thing->ns;
}

static void saving_cell(struct table *t, const struct sonde_path_thing *thing)
{
    char time[SONDE_NUMBER_MAX], text[SONDE_NUMBER_MAX + 8];
    if (!is_behind(thing)) {
        table_time(t, thing->evaluated, (double)thing->saving_ns);
        return;
    }
    snprintf(text, sizeof text, "(%s)", sonde_number_time(time, (double)thing->saving_ns));
    table_cell(t, text);
}

static void thing_row(const struct report *r, struct table *t, const struct sonde_path *path, const struct sonde_path_thing *thing)
{
    const bool operation = thing->category >= SONDE_PATH_KERNEL && thing->category <= SONDE_PATH_ORDER;
    struct sonde_text label = {0};
    thing_label(r, thing, &label);
    table_cell(t, sonde_text_get(&label));
    table_cell(t, sonde_path_text(thing->category));
    table_percent(t, (double)thing->ns, (double)length(path));
    table_estimate(t, (double)thing->ns, thing->error_ns);
    table_count(t, thing->count);
    table_time(t, operation, (double)thing->delay_ns);
    saving_cell(t, thing);
    sonde_text_fini(&label);
}

static void print_things(const struct report *r, const struct sonde_path *path)
{
    static const struct table_column columns[] = {
        {"On it", TABLE_LEFT | TABLE_MAIN, 0}, {"what", TABLE_LEFT, 3}, {"share", TABLE_RIGHT, 1},
        {"time", TABLE_RIGHT, 0}, {"steps", TABLE_RIGHT, 4}, {"delay before", TABLE_RIGHT, 5},
        {"2× faster saves", TABLE_RIGHT, 0},
    };
    struct table t = {.columns = columns, .column_count = 7};
    size_t shown = 0, all = 0;
    for (size_t i = 0; i < path->things.count; i++) {
        if (!worth_a_row(r, path->things.items[i].ns, path))
            continue;
        if (!r->q.limit || all < r->q.limit) {
            thing_row(r, &t, path, &path->things.items[i]);
            shown++;
        }
        all++;
    }
    table_print(&t, r);
    report_more(r, "critical", shown, all);
    fputc('\n', stdout);
}

/* How the context is known: by the activity's own stack, a sample, or what the stacks around it share. */
static const char *known_by(const struct sonde_path_place *place)
{
    if (!place->node)
        return "-";
    if (place->inferred_ns * 2 > place->ns)
        return "inferred";
    if (place->pooled_ns * 2 > place->ns)
        return "pooled";
    return place->category == SONDE_PATH_HOST ? "sampled" : "exact";
}

static void print_places(const struct report *r, const struct sonde_path *path)
{
    enum { MOST = 10 };
    static const struct table_column columns[] = {
        {"share", TABLE_RIGHT, 0}, {"time", TABLE_RIGHT, 1}, {"what", TABLE_LEFT, 2}, {"known", TABLE_LEFT, 3},
        {"calling context", TABLE_LEFT | TABLE_STACK, 0},
    };
    struct table t = {.columns = columns, .column_count = 5};
    size_t most = r->q.limit && r->q.limit < MOST ? r->q.limit : MOST;
    for (size_t i = 0; i < path->places.count && (i < most || !r->q.limit); i++) {
        const struct sonde_path_place *place = &path->places.items[i];
        struct sonde_text context = {0};
        if (!worth_a_row(r, place->ns, path))
            break;
        table_percent(&t, (double)place->ns, (double)length(path));
        table_estimate(&t, (double)place->ns, place->error_ns);
        table_cell(&t, sonde_path_text(place->category));
        table_cell(&t, known_by(place));
        if (place->node)
            sonde_name_callers(&r->q, &context, place->node, 3);
        table_cell(&t, place->node ? sonde_text_get(&context) : "-");
        sonde_text_fini(&context);
    }
    table_print(&t, r);
    fputc('\n', stdout);
}

static void say_inferred(const struct report *r, const struct sonde_path *path)
{
    char count[SONDE_NUMBER_MAX];
    if (path->waits_inferred)
        report_say(r, "%s of %llu steps from a wait to what was awaited are inferred: the measurement does not say what "
                      "the call waited for.", sonde_number_count(count, path->waits_inferred),
                   (unsigned long long)(path->waits_inferred + path->waits_recorded));
    if (path->wakes_inferred)
        report_say(r, "%s time%s the path goes from a thread that slept to the one taken to have woken it.",
                   sonde_number_count(count, path->wakes_inferred), path->wakes_inferred == 1 ? "" : "s");
    if (path->callbacks_inferred)
        report_say(r, "%s time%s the path goes from a callback to the operation that ended last before it, which is taken to have "
                      "caused it.", sonde_number_count(count, path->callbacks_inferred), path->callbacks_inferred == 1 ? "" : "s");
    if (path->starts_inferred)
        report_say(r, "%s thread%s on it %s taken to have been started by the main thread.",
                   sonde_number_count(count, path->starts_inferred), path->starts_inferred == 1 ? "" : "s",
                   path->starts_inferred == 1 ? "is" : "are");
}

static void say_savings(const struct report *r, const struct sonde_path *path)
{
    bool behind = false;
    for (size_t i = 0; i < path->things.count; i++)
        behind |= is_behind(&path->things.items[i]);
    if (behind)
        report_say(r, "(in brackets): that saving reaches the end of the run only over a step that is inferred.");
}

static void say_limits(const struct report *r, const struct sonde_path *path)
{
    const struct sonde_process *p = &r->q.m->processes[path->process];
    char count[SONDE_NUMBER_MAX], time[SONDE_NUMBER_MAX];
    if (path->limited)
        report_say(r, "Limited: only the last %s, with %s operations and calls, were looked at; there are too many to "
                      "keep in memory.", sonde_number_time(time, (double)length(path)),
                   sonde_number_count(count, path->operations + path->calls));
    if (path->lost)
        report_say(r, "%s step%s led nowhere: operations without their call.", sonde_number_count(count, path->lost),
                   path->lost == 1 ? "" : "s");
    if (path->no_times)
        report_say(r, "%s operation%s without usable times %s left out.", sonde_number_count(count, path->no_times),
                   path->no_times == 1 ? "" : "s", path->no_times == 1 ? "is" : "are");
    if (path->dropped)
        report_say(r, "Rows of the trace were dropped while recording: the path may be another one.");
    if (!p->header.cpu_rate_hz && path->parts[SONDE_PATH_HOST].ns)
        report_say(r, "Host code is given to the function that the calls around it share.");
    if (path->tail_ns)
        report_say(r, "After the last recorded event the process lived for another %s, which is not on the path.",
                   sonde_number_time(time, (double)path->tail_ns));
}

static void print_path(const struct report *r, const struct sonde_path *path)
{
    const struct sonde_process *p = &r->q.m->processes[path->process];
    char time[SONDE_NUMBER_MAX];
    struct sonde_text name = {0};
    sonde_name_process(&name, p);
    report_say(r, "%s: %s from the %s to the last recorded event", sonde_text_get(&name),
               sonde_number_time(time, (double)length(path)),
               path->limited ? "beginning of what was looked at" : p->header.exec_ns ? "program's start" : "agent's start");
    fputc('\n', stdout);
    print_parts(r, path);
    print_things(r, path);
    print_places(r, path);
    say_inferred(r, path);
    say_savings(r, path);
    say_limits(r, path);
    sonde_text_fini(&name);
}

static int no_trace(const struct report *r, struct sonde_diag *diag)
{
    sonde_diag_set(diag, SONDE_EEMPTY, r->q.path, "no trace is in");
    snprintf(diag->why, sizeof diag->why, "the critical path needs to know when each operation ran");
    sonde_diag_hint(diag, "record with --trace");
    return SONDE_EEMPTY;
}

int report_critical_text(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_critical critical = {0};
    int rc = compute(r, &critical, diag);
    const size_t all = critical.paths.count, shown = r->q.limit && all ? 1 : all;
    if (!rc && !all)
        rc = no_trace(r, diag);
    if (!rc && all > 1)
        print_processes(r, &critical);
    for (size_t i = 0; i < shown && !rc; i++) {
        if (i)
            fputc('\n', stdout);
        print_path(r, &critical.paths.items[i]);
    }
    if (!rc && shown < all)
        report_say(r, "Below the first table: the longest path; --limit 0 shows each.");
    if (!rc)
        report_say(r, "2× faster saves: how much shorter the run had been, at most, were all of that twice as fast and "
                      "nothing else changed. These do not add up.");
    sonde_critical_fini(&critical);
    return rc;
}

/* ---- JSON ----------------------------------------------------------------------------- */

static json_t *number(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *things_json(const struct report *r, const struct sonde_path *path)
{
    json_t *list = json_array();
    for (size_t i = 0; i < path->things.count && (!r->q.limit || i < r->q.limit); i++) {
        const struct sonde_path_thing *t = &path->things.items[i];
        const bool operation = t->category >= SONDE_PATH_KERNEL && t->category <= SONDE_PATH_ORDER;
        json_array_append_new(list, json_pack(
            "{s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o}", "category", sonde_path_name(t->category),
            "name", name_of(t), "operation", operation ? json_string(sonde_op_kind_name(t->op)) : json_null(),
            "file", report_json_text(*t->name ? t->file : ""),
            "module", report_json_text(*t->name ? "" : t->file), "ns", (json_int_t)t->ns, "error_ns", (json_int_t)t->error_ns,
            "inferred_ns", (json_int_t)t->inferred_ns, "behind_inferred_ns", (json_int_t)t->behind_ns, "steps", (json_int_t)t->count,
            "delay_ns", operation ? number(t->delay_ns) : json_null(), "half_ns", (json_int_t)(t->ns / 2),
            "saving_ns", t->evaluated ? number(t->saving_ns) : json_null()));
    }
    return list;
}

static json_t *path_json(const struct report *r, const struct sonde_path *path)
{
    const struct sonde_process *p = &r->q.m->processes[path->process];
    json_t *parts = json_object(), *places = json_array();
    for (int i = 0; i < SONDE_PATH_COUNT; i++)
        json_object_set_new(parts, sonde_path_name((enum sonde_path_category)i),
                            json_pack("{s:I, s:I}", "ns", (json_int_t)path->parts[i].ns,
                                      "steps", (json_int_t)path->parts[i].count));
    for (size_t i = 0; i < path->places.count && (!r->q.limit || i < r->q.limit); i++)
        json_array_append_new(places, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o}",
            "category", sonde_path_name(path->places.items[i].category), "ns", (json_int_t)path->places.items[i].ns,
            "error_ns", (json_int_t)path->places.items[i].error_ns, "pooled_ns", (json_int_t)path->places.items[i].pooled_ns,
            "inferred_ns", (json_int_t)path->places.items[i].inferred_ns,
            "steps", (json_int_t)path->places.items[i].count, "frames", report_json_frames(r, path->places.items[i].node)));
    json_t *value = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o, s:o, s:o}",
        "process", p->name, "begin_ns", (json_int_t)path->begin_ns, "end_ns", (json_int_t)path->end_ns,
        "length_ns", (json_int_t)length(path), "tail_ns", (json_int_t)path->tail_ns,
        "operations", (json_int_t)path->operations, "calls", (json_int_t)path->calls,
        "no_times", (json_int_t)path->no_times, "waits_recorded", (json_int_t)path->waits_recorded,
        "waits_inferred", (json_int_t)path->waits_inferred, "starts_inferred", (json_int_t)path->starts_inferred,
        "wakes_inferred", (json_int_t)path->wakes_inferred,
        "callbacks_inferred", (json_int_t)path->callbacks_inferred, "lost", (json_int_t)path->lost,
        "limited", path->limited, "dropped", path->dropped, "sampled", p->header.cpu_rate_hz != 0,
        "composition", parts, "things", things_json(r, path), "contexts", places);
    sonde_rank_json(p, value);
    return value;
}

json_t *report_critical_json(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_critical critical = {0};
    json_t *array = compute(r, &critical, diag) ? NULL : json_array();
    if (array && !critical.paths.count) {
        no_trace(r, diag);
        json_decref(array);
        array = NULL;
    }
    for (size_t i = 0; array && i < critical.paths.count; i++)
        json_array_append_new(array, path_json(r, &critical.paths.items[i]));
    sonde_critical_fini(&critical);
    return array;
}
