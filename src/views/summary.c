/* summary.c - the view `summary`, which a person wants first: what the run waited for, how busy each device was
 * and what it was idle for, what to change, what ran, and whether the measurement is whole.
 *
 * Reads the stored profile; the trace, where there is one, only for what the
 * devices were idle for, and where it is not long for advice.
 */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "base/number.h"
#include "groups.h"
#include "labels.h"
#include "ledger.h"
#include "names.h"
#include "notes.h"
#include "view.h"

/* ---- devices ----------------------------------------------------------------------------------- */

static const struct sonde_view_column idle_most_columns[] = {
    {"place", NULL, SONDE_CELL_TEXT, 0, 0, "the routine and the nearest user code"},
    {"blame_ns", NULL, SONDE_CELL_TIME, 0, 0, "blame of the routine"},
};
static const struct sonde_view_columns idle_most = SONDE_VIEW_COLUMNS("idle_most", idle_most_columns);

static const struct sonde_view_column device_columns[] = {
    {NULL, "Device", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "number of the device within its process, and its name"},
    {"process", NULL, SONDE_CELL_TEXT, 0, 0, "directory of the process"},
    {"device", NULL, SONDE_CELL_ID, 0, 0, "number of the device within its process"},
    {"name", NULL, SONDE_CELL_TEXT, 0, 0, "name of the device"},
    {"platform", NULL, SONDE_CELL_TEXT, 0, 0, "platform of the device"},
    {NULL, "busy", SONDE_CELL_SHARE, 0, 0, "% of the wall time with at least one operation running"},
    {NULL, "kernels", SONDE_CELL_SHARE, 0, 2, "% of the wall time with a kernel running; may overlap with copies"},
    {NULL, "copies", SONDE_CELL_SHARE, 0, 3, "% of the wall time with a copy running"},
    {NULL, "idle", SONDE_CELL_SHARE, 0, 1, "% of the wall time with no operation running"},
    {"operations", "operations", SONDE_CELL_COUNT, 0, 4, "completed operations"},
    {"wall_ns", NULL, SONDE_CELL_TIME, 0, 0, "wall time of the process, excluding time with recording off"},
    {"busy_ns", NULL, SONDE_CELL_TIME, 0, 0, "part of wall_ns with at least one operation running"},
    {"kernel_ns", NULL, SONDE_CELL_TIME, 0, 0, "part of wall_ns with a kernel running"},
    {"copy_ns", NULL, SONDE_CELL_TIME, 0, 0, "part of wall_ns with a copy running"},
    {"idle_ns", NULL, SONDE_CELL_TIME, 0, 0, "wall_ns - busy_ns"},
    {"rank", NULL, SONDE_CELL_ID, 0, 0, "rank in the parallel job, as set by its launcher; null: none"},
    {"local_rank", NULL, SONDE_CELL_ID, 0, 0, "rank within the node"},
    {"ranks", NULL, SONDE_CELL_ID, 0, 0, "number of ranks in the job"},
    {"idle_most", NULL, SONDE_CELL_OBJECT, 0, 0,
     "the routine with the most blame for idle_ns (docs/blame.md); null: no trace, or no blame", .of = &idle_most},
    {"idle_for", NULL, SONDE_CELL_LIST, 0, 0, "breakdown of idle_ns, largest first; null: no trace",
     .of = &sonde_verdict_parts},
};
static const struct sonde_view_columns devices = SONDE_VIEW_COLUMNS("devices", device_columns);

static void most_cells(struct sonde_view_table *most, const char *place, double blame_ns)
{
    sonde_cell_text(most, place);
    sonde_cell_real(most, true, blame_ns);
}

/* The routine with the most blame for a device's idle time, or the time before the first API call, where that is more. */
static void most_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame,
                      const struct sonde_device_use *use)
{
    const struct sonde_blame_scope *scope = use->timed ? sonde_blame_find(blame, use->process, use->device) : NULL;
    struct sonde_blame_routine *routines = NULL;
    const bool found = scope && sonde_blame_routines(q->profile, scope, &routines) > 0;
    const double most_ns = found ? routines->waiting_ns + routines->working_ns : 0;
    struct sonde_text place = {0};
    if (scope && scope->before_ns > most_ns) {
        most_cells(sonde_cell_object(t), "start-up (before the first API call)", scope->before_ns);
    } else if (found) {
        sonde_name_place(q, &place, routines->node);
        most_cells(sonde_cell_object(t), sonde_text_get(&place), most_ns);
    } else {
        sonde_cell_unknown(t);
    }
    sonde_text_fini(&place);
    free(routines);
}

static void device_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame,
                       const struct sonde_device_use *use)
{
    const struct sonde_process *p = &q->m->processes[use->process];
    const struct sonde_row_device *device = use->device < p->device_count ? &p->devices[use->device] : NULL;
    const bool timed = use->timed;
    const double wall = timed ? (double)use->wall_ns : 0, busy = (double)use->busy_ns; /* 0: unknown */
    const uint64_t idle_ns = use->wall_ns > use->busy_ns ? use->wall_ns - use->busy_ns : 0;
    struct sonde_text name = {0};
    sonde_name_device(q, &name, use->process, use->device);
    sonde_cell_take(t, &name);
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, true, use->device ? use->device - 1 : 0);
    sonde_cell_text(t, device ? sonde_process_string(p, device->name) : NULL);
    sonde_cell_text(t, device ? sonde_process_string(p, device->platform) : NULL);
    sonde_cell_share(t, busy, wall);
    sonde_cell_share(t, (double)use->kernel_ns, wall);
    sonde_cell_share(t, (double)use->copy_ns, wall);
    sonde_cell_share(t, (double)idle_ns, wall);
    sonde_cell_int(t, true, use->operations);
    sonde_cell_int(t, use->wall_ns > 0, use->wall_ns);
    sonde_cell_int(t, timed, use->busy_ns);
    sonde_cell_int(t, timed, use->kernel_ns);
    sonde_cell_int(t, timed, use->copy_ns);
    sonde_cell_int(t, use->wall_ns > 0 && timed, idle_ns);
    sonde_cells_rank(t, p);
    if (q->complete) {
        most_cell(t, q, blame, use);
        sonde_cell_idle(t, q, blame, use);
    } else {
        sonde_cell_unknown(t);
        sonde_cell_unknown(t);
    }
}

/* ---- operations ----------------------------------------------------------------------------------- */

#define COUNT "completed operations"
#define TOTAL "sum of the durations on the device"
#define CALLERS "the call path with the largest total, and the number of places"
static const struct sonde_view_column kernel_columns[] = {
    {NULL, "Kernel", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kernel name without return type and namespaces"},
    {NULL, "count", SONDE_CELL_COUNT, 0, 1, COUNT},
    {NULL, "total", SONDE_CELL_TIME, 0, 0, TOTAL},
    {NULL, "mean", SONDE_CELL_TIME, 0, 2, "mean duration of the timed operations"},
    {NULL, "p95", SONDE_CELL_TIME, 0, 3, "95th percentile, within 5 %"},
    {NULL, "called from", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, CALLERS},
};
static const struct sonde_view_column copy_columns[] = {
    {NULL, "", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "kind of operation, with its direction if known"},
    {NULL, "count", SONDE_CELL_COUNT, 0, 2, COUNT},
    {NULL, "bytes", SONDE_CELL_BYTES, 0, 1, "bytes moved; unknown if no operation reports them"},
    {NULL, "total", SONDE_CELL_TIME, 0, 0, TOTAL},
    {NULL, "GB/s", SONDE_CELL_NUMBER, 0, 3,
     "bandwidth in 10^9 bytes per second of device time; unknown if an operation has no times", .unit = "GB/s"},
    {NULL, "called from", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, CALLERS},
};
static const struct sonde_view_columns top_kernels = SONDE_VIEW_COLUMNS("top_kernels", kernel_columns);
static const struct sonde_view_columns top_copies = SONDE_VIEW_COLUMNS_OF("top_copies", "Copy", copy_columns);
static const struct sonde_view_columns collectives = SONDE_VIEW_COLUMNS_OF("collectives", "Collective", copy_columns);

static void callers_cell(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group)
{
    struct sonde_text callers = {0};
    sonde_name_group_callers(q, &callers, group);
    sonde_cell_take(t, &callers);
}

static const char *kernel_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group,
                              uint64_t all_ns)
{
    const struct sonde_stat *s = &group->stat;
    const char *name = sonde_name_group_title(q, group);
    (void)all_ns;
    sonde_cell_text(t, name);
    sonde_cell_int(t, true, s->count);
    sonde_cell_int(t, s->timed > 0, s->sum_ns);
    sonde_cell_real(t, s->timed > 0, sonde_stat_mean(s));
    sonde_cell_percentile(t, s, .95);
    callers_cell(t, q, group);
    return name;
}

static const char *copy_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_group *group,
                            uint64_t all_ns)
{
    const struct sonde_stat *s = &group->stat;
    const char *name = sonde_name_copy(group);
    (void)all_ns;
    sonde_cell_text(t, name);
    sonde_cell_int(t, true, s->count);
    sonde_cell_int(t, s->bytes > 0, s->bytes);
    sonde_cell_int(t, s->timed > 0, s->sum_ns);
    sonde_cell_rate(t, s);
    callers_cell(t, q, group);
    return name;
}

static bool is_collective(uint32_t op)
{
    return sonde_op_kind_is(op, SONDE_KIND_COLLECTIVE);
}

static void show_operations(const struct sonde_query *q, struct sonde_view_data *out)
{
    static const struct {
        struct sonde_groups groups;
        const char *view;
    } tables[] = {
        {{.columns = &top_kernels, .choose = sonde_op_kind_runs, .row = kernel_row}, "kernels"},
        {{.columns = &top_copies, .choose = sonde_op_kind_moves, .row = copy_row}, "copies"},
        {{.columns = &collectives, .choose = is_collective, .row = copy_row}, NULL},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct sonde_view_table *t = sonde_view_table(out, tables[i].groups.columns);
        t->left_out_view = tables[i].view;
        sonde_groups_rows(&tables[i].groups, q, q->profile->ops.items, q->profile->ops.count, t, NULL);
        if (sonde_view_rows(t))
            sonde_view_show(out, t, true);
    }
}

/* ---- the CPU side ----------------------------------------------------------------------------------- */

static const struct sonde_view_column top_columns[] = {
    {"routine", NULL, SONDE_CELL_TEXT, 0, 0, "label of the routine"},
    {"cpu_ns", NULL, SONDE_CELL_TIME, 0, 0, "exclusive CPU time"},
    {"error_ns", NULL, SONDE_CELL_TIME, 0, 0, "standard error of cpu_ns"},
};
static const struct sonde_view_columns top = SONDE_VIEW_COLUMNS("top", top_columns);

static const struct sonde_view_column cpu_columns[] = {
    {"sampled", NULL, SONDE_CELL_BOOLEAN, 0, 0, "the CPU side was sampled"},
    {"rate_hz", NULL, SONDE_CELL_NUMBER, 0, 0,
     "samples per second of a thread's CPU time; null: unknown, or processes differ", .unit = "Hz"},
    {"samples", NULL, SONDE_CELL_COUNT, 0, 0, "number of samples"},
    {"cpu_ns", NULL, SONDE_CELL_TIME, 0, 0, "CPU time covered by samples"},
    {"top", NULL, SONDE_CELL_OBJECT, 0, 0, "the routine with the most exclusive CPU time", .of = &top},
};
static const struct sonde_view_columns cpu = SONDE_VIEW_COLUMNS("cpu_side", cpu_columns);

struct cpu_side {
    bool sampled, known;     /* known: there is a process */
    uint32_t rate_hz;        /* 0: unknown, or processes differ */
    struct sonde_metrics all;
    struct sonde_profile_rows *rows; /* flat by function, most exclusive CPU time first; NULL: nothing */
};

static int cpu_side(const struct sonde_query *q, struct cpu_side *out, struct sonde_diag *diag)
{
    static const struct sonde_columns columns;
    struct sonde_estimate estimate = {0};
    const struct sonde_profile_rows_config config = {
        .shape = SONDE_PROFILE_FLAT,
        .by = SONDE_BY_FUNCTION,
        .columns = &columns,
        .sort = SONDE_METRIC_CPU,
        .sort_side = SONDE_EXCLUSIVE,
        .cpu_estimate = &estimate,
    };
    bool same = true;
    *out = (struct cpu_side){.sampled = q->profile->sampled, .all = q->profile->nodes.items[0].total};
    for (uint32_t i = 0; i < q->m->process_count; i++) {
        const struct sonde_live_header *h = &q->m->processes[i].header;
        out->known = true;
        same &= !out->rate_hz || !h->cpu_rate_hz || h->cpu_rate_hz == out->rate_hz;
        out->rate_hz = h->cpu_rate_hz ? h->cpu_rate_hz : out->rate_hz;
    }
    out->rate_hz = same ? out->rate_hz : 0;
    if (!out->all.cpu_ns)
        return 0;
    const int rc = sonde_estimate_cpu(q->m, q->profile, &estimate)
                       ? sonde_diag_set(diag, SONDE_ENOMEM, q->path, "cannot compute the profile of")
                       : sonde_profile_rows_build(q->profile, &config, &out->rows, diag);
    sonde_estimate_fini(&estimate);
    return rc;
}

static double top_value(const struct cpu_side *c, uint32_t column)
{
    return sonde_profile_rows_get(c->rows, 1, column, SONDE_EXCLUSIVE).value;
}

/* "63.2 % ± 4.1 % in work() work.c" */
static void add_top(struct sonde_text *line, const struct cpu_side *c, const char *routine)
{
    const double all_ns = (double)c->all.cpu_ns, error_ns = top_value(c, SONDE_METRIC_CPU_ERROR);
    char share[SONDE_ESTIMATE_MAX];
    sonde_text_format(line, " · %s in %s", sonde_number_percent_estimate(share, top_value(c, SONDE_METRIC_CPU), error_ns, all_ns),
                      routine);
}

static void say_cpu_side(struct sonde_view_data *out, const struct cpu_side *c, const char *routine)
{
    struct sonde_text line = {0};
    char number[SONDE_NUMBER_MAX];
    if (c->sampled)
        sonde_text_format(&line, "CPU side: %s in ", sonde_number_time(number, (double)c->all.cpu_ns));
    if (c->sampled)
        sonde_text_format(&line, "%s sample%s", sonde_number_count(number, c->all.samples), c->all.samples == 1 ? "" : "s");
    else
        sonde_text_add(&line, "CPU side: not sampled");
    if (c->rate_hz)
        sonde_text_format(&line, " at %u Hz", c->rate_hz);
    if (routine)
        add_top(&line, c, routine);
    sonde_view_say(out, true, "%s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

static void cpu_cells(struct sonde_view_table *t, const struct cpu_side *c, const char *routine)
{
    sonde_cell_boolean(t, c->sampled);
    sonde_cell_int(t, c->rate_hz, c->rate_hz);
    sonde_cell_int(t, c->sampled, c->all.samples);
    sonde_cell_int(t, c->sampled, c->all.cpu_ns);
    if (!routine) {
        sonde_cell_unknown(t);
        return;
    }
    struct sonde_view_table *most = sonde_cell_object(t);
    sonde_cell_text(most, routine);
    sonde_cell_int(most, true, (uint64_t)top_value(c, SONDE_METRIC_CPU));
    sonde_cell_int(most, true, (uint64_t)top_value(c, SONDE_METRIC_CPU_ERROR));
}

/* Its cell, and the same to a person. */
static int add_cpu_side(struct sonde_view_table *t, const struct sonde_query *q, struct sonde_diag *diag)
{
    struct cpu_side c;
    struct sonde_text routine = {0};
    const int rc = cpu_side(q, &c, diag);
    const bool any = c.rows && c.rows->rows.count > 1;
    if (any)
        sonde_row_label(q, c.rows, 1, &routine);
    if (!rc && c.known) {
        say_cpu_side(t->data, &c, any ? sonde_text_get(&routine) : NULL);
        cpu_cells(sonde_cell_object(t), &c, any ? sonde_text_get(&routine) : NULL);
    } else {
        sonde_cell_unknown(t);
    }
    sonde_profile_rows_destroy(c.rows);
    sonde_text_fini(&routine);
    return rc;
}

/* ---- the first and the last lines --------------------------------------------------------------------- */

static void plural(struct sonde_text *out, uint64_t n, const char *one, const char *many)
{
    char number[SONDE_NUMBER_MAX];
    sonde_text_format(out, "%s %s", sonde_number_count(number, n), n == 1 ? one : many);
}

static void say_title(struct sonde_view_data *out, const struct sonde_query *q, const char *command)
{
    const struct sonde_totals *t = &q->totals;
    char number[SONDE_NUMBER_MAX], rank[SONDE_RANK_MAX];
    struct sonde_text line = {0};
    sonde_text_format(&line, "%s · ", command);
    plural(&line, q->m->process_count, "process", "processes");
    if (q->m->process_count == 1 && *sonde_rank_text(&q->m->processes[0], rank))
        sonde_text_format(&line, " (%s)", rank);
    sonde_text_add(&line, ", ");
    plural(&line, t->threads, "thread", "threads");
    sonde_text_add(&line, " · ");
    plural(&line, t->devices.count, "device", "devices");
    if (t->devices.count == 1) {
        struct sonde_text device = {0};
        sonde_name_device_alone(q, &device, t->devices.items[0].process, t->devices.items[0].device);
        const char *space = strchr(sonde_text_get(&device), ' ');
        sonde_text_format(&line, " (%s)", space ? space + 1 : sonde_text_get(&device));
        sonde_text_fini(&device);
    }
    if (t->wall_ns)
        sonde_text_format(&line, " · %s", sonde_number_time(number, (double)t->wall_ns));
    if (t->killed)
        sonde_text_format(&line,
                          t->killed == q->m->process_count ? " · did not exit normally (killed?)"
                                                           : " · %u processes did not exit normally",
                          t->killed);
    struct sonde_view_item *title = sonde_view_say(out, false, "%s", sonde_text_get(&line));
    title->tone = SONDE_TONE_TITLE;
    title->head = strlen(command);
    sonde_text_fini(&line);
}

static void add_count(struct sonde_text *out, uint64_t n, const char *text)
{
    char number[SONDE_NUMBER_MAX];
    sonde_text_format(out, "%s%s %s", out->length ? ", " : "data: ", sonde_number_count(number, n), text);
}

/* Operations, dropped, unmatched, clock, damage, overhead. */
static void say_ledger(struct sonde_view_data *out, const struct sonde_totals *t)
{
    char own[SONDE_NUMBER_MAX], wall[SONDE_NUMBER_MAX], bound[SONDE_NUMBER_MAX];
    struct sonde_text line = {0};
    add_count(&line, t->ledger.seen, t->ledger.seen == 1 ? "operation" : "operations");
    add_count(&line, t->dropped_operations, "dropped");
    add_count(&line, t->ledger.unmatched, "unmatched");
    if (t->in_flight)
        add_count(&line, t->in_flight, "in flight at exit");
    if (t->ledger.unplaced)
        add_count(&line, t->ledger.unplaced, "unattributed");
    if (t->ledger.busy_clipped_ns)
        sonde_text_add(&line, ", busy times are lower bounds");
    if (t->ledger.bad_time)
        add_count(&line, t->ledger.bad_time, "with invalid times");
    if (t->ledger.failed)
        add_count(&line, t->ledger.failed, "failed");
    if (t->dropped_trace_rows)
        add_count(&line, t->dropped_trace_rows, "missing from the trace");
    if (t->ledger.unwind_failed)
        add_count(&line, t->ledger.unwind_failed, t->ledger.unwind_failed == 1 ? "stack incomplete" : "stacks incomplete");
    if (t->damaged_chunks)
        add_count(&line, t->damaged_chunks, t->damaged_chunks == 1 ? "damaged chunk skipped" : "damaged chunks skipped");
    if (t->clock_known && !t->clock_bound_ns)
        sonde_text_add(&line, " · host clock");
    else if (t->clock_known)
        sonde_text_format(&line, " · clock ± %s", sonde_number_time(bound, (double)t->clock_bound_ns));
    if (t->process_wall_ns)
        sonde_text_format(&line, " · overhead %s of %s",
                          sonde_number_percent(own, (double)t->ledger.hook_ns, (double)t->process_wall_ns),
                          sonde_number_time(wall, (double)t->process_wall_ns));
    if (t->off)
        sonde_text_add(&line, " · Sonde switched itself off (see ledger)");
    sonde_view_say(out, true, "%s", sonde_text_get(&line));
    sonde_text_fini(&line);
}

/* ---- the view ------------------------------------------------------------------------------------------ */

static const struct sonde_view_column summary_columns[] = {
    {"verdict", NULL, SONDE_CELL_OBJECT, 0, 0, "what the run spent its time on; null: no trace", .of = &sonde_verdict},
    {"command", NULL, SONDE_CELL_TEXT, 0, 0, "the recorded command line, quoted for a shell"},
    {"processes", NULL, SONDE_CELL_COUNT, 0, 0, "number of recorded processes"},
    {"threads", NULL, SONDE_CELL_COUNT, 0, 0, "number of threads that made API calls"},
    {"wall_ns", NULL, SONDE_CELL_TIME, 0, 0, "wall time from the first process's start to the last one's end"},
    {"devices", NULL, SONDE_CELL_LIST, 0, 0, "devices, each as one process used it", .of = &devices},
    {"cpu", NULL, SONDE_CELL_OBJECT, 0, 0, "the CPU side; null: unknown whether it was sampled", .of = &cpu},
    {"kernels", NULL, SONDE_CELL_LIST, 0, 0, "as in the view kernels", .of = &sonde_kernels},
    {"copies", NULL, SONDE_CELL_LIST, 0, 0, "as in the view copies", .of = &sonde_copies},
    {"ledger", NULL, SONDE_CELL_OBJECT, 0, 0, "as in the view ledger", .of = &sonde_ledger},
};
static const struct sonde_view_columns summary = SONDE_VIEW_COLUMNS("summary", summary_columns);

/* From why it took so long to what there was: the run, the devices and what they were idle for, what to change, then
 * the operations, and last how far all of it can be trusted. */
static int fill(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame, struct sonde_diag *diag)
{
    struct sonde_view_data *out = t->data;
    const size_t all = q->totals.devices.count, shown = q->complete ? all : sonde_query_rows(q, all);
    struct sonde_text command = {0};
    sonde_name_command(q, &command);
    sonde_summary_missing(q, out);
    say_title(out, q, sonde_text_get(&command));
    int rc = sonde_cell_verdict(t, q, blame, diag);
    sonde_cell_take(t, &command);
    sonde_cell_int(t, true, q->m->process_count);
    sonde_cell_int(t, true, q->totals.threads);
    sonde_cell_int(t, q->totals.wall_ns > 0, q->totals.wall_ns);
    struct sonde_view_table *list = sonde_cell_list(t);
    for (size_t i = 0; i < shown; i++)
        device_row(list, q, blame, &q->totals.devices.items[i]);
    list->left_out = all - shown;
    if (shown)
        sonde_view_show(out, list, true);
    if (!rc && !q->complete)
        rc = sonde_summary_idle(q, blame, shown, out, diag);
    if (!rc && !q->complete)
        rc = sonde_summary_advice(q, blame, out, diag);
    if (!q->complete)
        show_operations(q, out);
    return rc ? rc : add_cpu_side(t, q, diag);
}

static int make(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag)
{
    struct sonde_blame blame = {0};
    struct sonde_view_table *t = sonde_view_table(out, &summary);
    int rc = q->complete || q->totals.devices.count ? sonde_query_blame(q, NULL, &blame, diag) : 0;
    out->root = t;
    if (!rc)
        rc = fill(t, q, &blame, diag);
    sonde_blame_fini(&blame);
    if (rc)
        return rc;
    if (q->complete) {
        sonde_cell_kernels(t, q);
        sonde_cell_copies(t, q);
        return sonde_cell_ledger(t, q, diag);
    }
    for (int i = 0; i < 3; i++)
        sonde_cell_unknown(t);
    say_ledger(out, &q->totals);
    sonde_view_others(out);
    return 0;
}

const struct sonde_view sonde_view_summary = {
    .name = "summary",
    .summary = "where the time went, device utilization, advice, top kernels and copies",
    .single = true,
    .tables = (const struct sonde_view_columns *const[]){&summary, &devices, &sonde_idle_alone, &sonde_idle_each,
                                                         &sonde_advice_brief, &top_kernels, &top_copies, &collectives, NULL},
    .caveats = SONDE_CAVEAT_CLOCK | SONDE_CAVEAT_SYMBOLS | SONDE_CAVEAT_PAUSES | SONDE_CAVEAT_SAMPLES | SONDE_CAVEAT_PYTHON |
               SONDE_CAVEAT_VIEWS,
    .needs_operations = true,
    .make = make,
};
