/* report_summary.c - the view a person wants first: what the run waited for, how busy each device was
 * and what it was idle for, what to change, what ran, and whether the measurement is whole.
 *
 * Reads the stored profile; the trace, where there is one, only for what the
 * devices were idle for, and where it is not long for advice.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/profile_rows.h"
#include "report.h"
#include "views/summary.h"

static void plural(struct sonde_text *out, uint64_t n, const char *one, const char *many)
{
    char number[SONDE_NUMBER_MAX];
    sonde_text_format(out, "%s %s", sonde_number_count(number, n), n == 1 ? one : many);
}

/* What was recorded; a long command line is cut to one line of the terminal. */
static void add_command(const struct report *r, struct sonde_text *line)
{
    struct sonde_text command = {0};
    report_command(r, &command);
    const char *text = sonde_text_get(&command);
    size_t columns = r->columns > 2 ? (size_t)r->columns - 2 : 1;
    bool fits = sonde_text_columns(text) <= columns;
    sonde_text_add_bytes(line, text, fits ? strlen(text) : sonde_text_prefix(text, columns));
    sonde_text_add(line, fits ? "" : "…");
    sonde_text_fini(&command);
}

static void print_title(const struct report *r)
{
    const struct sonde_totals *t = &r->q.totals;
    char number[SONDE_NUMBER_MAX], rank[SONDE_RANK_MAX];
    struct sonde_text line = {0};
    add_command(r, &line);
    sonde_text_add(&line, " · ");
    plural(&line, r->q.m->process_count, "process", "processes");
    if (r->q.m->process_count == 1 && *sonde_rank_text(&r->q.m->processes[0], rank))
        sonde_text_format(&line, " (%s)", rank);
    sonde_text_add(&line, ", ");
    plural(&line, t->threads, "thread", "threads");
    sonde_text_add(&line, " · ");
    plural(&line, t->devices.count, "device", "devices");
    if (t->devices.count == 1) {
        struct sonde_text device = {0};
        sonde_name_device_alone(&r->q, &device, t->devices.items[0].process, t->devices.items[0].device);
        const char *space = strchr(sonde_text_get(&device), ' ');
        sonde_text_format(&line, " (%s)", space ? space + 1 : sonde_text_get(&device));
        sonde_text_fini(&device);
    }
    if (t->wall_ns)
        sonde_text_format(&line, " · %s", sonde_number_time(number, (double)t->wall_ns));
    if (t->killed)
        sonde_text_format(&line, t->killed == r->q.m->process_count ? " · ended without an exit (killed?)"
                                                                  : " · %u processes ended without an exit",
                          t->killed);
    fputs(r->colors ? "\033[1m" : "", stdout);
    report_say(r, "%s", sonde_text_get(&line));
    fputs(r->colors ? "\033[0m" : "", stdout);
    sonde_text_fini(&line);
}

static size_t shown(const struct report *r, size_t all)
{
    return r->q.limit && r->q.limit < all ? r->q.limit : all;
}

/* The routine with the most blame for a device's idle time; false: none, or not known. */
static bool most_idle(const struct report *r, const struct sonde_blame *blame, const struct sonde_device_use *use,
                      struct sonde_blame_routine *out)
{
    const struct sonde_blame_scope *scope = use->timed ? sonde_blame_find(blame, use->process, use->device) : NULL;
    struct sonde_blame_routine *routines = NULL;
    const bool found = scope && sonde_blame_routines(r->q.profile, scope, &routines) > 0;
    if (found)
        *out = routines[0];
    free(routines);
    return found;
}

/* The time before the first API call, where that is more than any routine's blame; else 0. */
static double idle_before(const struct sonde_blame *blame, const struct sonde_device_use *use,
                          const struct sonde_blame_routine *most)
{
    const struct sonde_blame_scope *scope = use->timed ? sonde_blame_find(blame, use->process, use->device) : NULL;
    const double before_ns = scope ? scope->before_ns : 0;
    return before_ns > (most ? most->waiting_ns + most->working_ns : 0) ? before_ns : 0;
}

#define BEFORE_TEXT "start-up (before the first API call)"

static void print_devices(const struct report *r, size_t count)
{
    static const struct table_column columns[] = {
        {"Device", TABLE_LEFT | TABLE_ELASTIC, 0}, {"busy", TABLE_RIGHT, 0}, {"kernels", TABLE_RIGHT, 2},
        {"copies", TABLE_RIGHT, 3}, {"idle", TABLE_RIGHT, 1}, {"operations", TABLE_RIGHT, 4},
    };
    struct table t = {.columns = columns, .column_count = 6};
    for (size_t i = 0; i < count; i++) {
        const struct sonde_device_use *use = &r->q.totals.devices.items[i];
        double wall = use->timed ? (double)use->wall_ns : 0, busy = (double)use->busy_ns; /* 0: unknown */
        struct sonde_text name = {0};
        sonde_name_device(&r->q, &name, use->process, use->device);
        table_cell(&t, sonde_text_get(&name));
        table_percent(&t, busy, wall);
        table_percent(&t, (double)use->kernel_ns, wall);
        table_percent(&t, (double)use->copy_ns, wall);
        table_percent(&t, wall > busy ? wall - busy : 0, wall);
        table_count(&t, use->operations);
        sonde_text_fini(&name);
    }
    fputc('\n', stdout);
    table_print(&t, r);
    report_more(r, "summary", count, r->q.totals.devices.count);
}

enum shown { KERNELS, COPIES, COLLECTIVES };

static bool in_group(const struct sonde_group *group, enum shown shown)
{
    return shown == KERNELS  ? sonde_op_kind_group(group->op) == SONDE_GROUP_KERNEL
           : shown == COPIES ? sonde_op_kind_moves(group->op)
                             : sonde_op_kind_is(group->op, SONDE_KIND_COLLECTIVE);
}

static void kernel_row(const struct report *r, struct table *t, const struct sonde_group *group)
{
    const struct sonde_stat *s = &group->stat;
    struct sonde_text callers = {0};
    double p95 = 0;
    bool known = sonde_stat_percentile(s, .95, &p95);
    sonde_name_group_callers(&r->q, &callers, group);
    table_cell(t, sonde_name_group_title(&r->q, group));
    table_count(t, s->count);
    table_time(t, s->timed > 0, (double)s->sum_ns);
    table_time(t, s->timed > 0, s->mean_ns);
    table_time(t, known, p95);
    table_cell(t, sonde_text_get(&callers));
    sonde_text_fini(&callers);
}

static void copy_row(const struct report *r, struct table *t, const struct sonde_group *group)
{
    const struct sonde_stat *s = &group->stat;
    struct sonde_text callers = {0};
    char rate[SONDE_NUMBER_MAX];
    sonde_name_group_callers(&r->q, &callers, group);
    table_cell(t, sonde_name_copy(group));
    table_count(t, s->count);
    table_bytes(t, s->bytes > 0, (double)s->bytes);
    table_time(t, s->timed > 0, (double)s->sum_ns);
    table_cell(t, s->bytes && s->sum_ns && s->timed == s->count
                      ? sonde_number_plain(rate, (double)s->bytes / (double)s->sum_ns) : "-");
    table_cell(t, sonde_text_get(&callers));
    sonde_text_fini(&callers);
}

static void print_operations(const struct report *r, enum shown shown)
{
    static const struct table_column kernel_columns[] = {
        {"Kernel", TABLE_LEFT | TABLE_MAIN, 0}, {"count", TABLE_RIGHT, 1}, {"total", TABLE_RIGHT, 0},
        {"mean", TABLE_RIGHT, 2}, {"p95", TABLE_RIGHT, 3}, {"called from", TABLE_LEFT | TABLE_STACK, 0},
    };
    static const struct table_column copy_columns[] = {
        {"Copy", TABLE_LEFT | TABLE_MAIN, 0}, {"count", TABLE_RIGHT, 2}, {"bytes", TABLE_RIGHT, 1},
        {"total", TABLE_RIGHT, 0}, {"GB/s", TABLE_RIGHT, 3}, {"called from", TABLE_LEFT | TABLE_STACK, 0},
    };
    static const struct table_column collective_columns[] = {
        {"Collective", TABLE_LEFT | TABLE_MAIN, 0}, {"count", TABLE_RIGHT, 2}, {"bytes", TABLE_RIGHT, 1},
        {"total", TABLE_RIGHT, 0}, {"GB/s", TABLE_RIGHT, 3}, {"called from", TABLE_LEFT | TABLE_STACK, 0},
    };
    static const struct table_column *const columns[] = {kernel_columns, copy_columns, collective_columns};
    static const char *const views[] = {"kernels", "copies", "summary"};
    struct table t = {.columns = columns[shown], .column_count = 6, .fold = true};
    size_t all = 0, printed = 0;
    for (size_t i = 0; i < r->q.profile->ops.count; i++) {
        const struct sonde_group *group = &r->q.profile->ops.items[i];
        if (!in_group(group, shown))
            continue;
        if (!r->q.limit || all < r->q.limit) {
            printed++;
            if (shown == KERNELS)
                kernel_row(r, &t, group);
            else
                copy_row(r, &t, group);
        }
        all++;
    }
    if (!all)
        return;
    fputc('\n', stdout);
    table_print(&t, r);
    report_more(r, views[shown], printed, all);
}

/* ---- the CPU side ----------------------------------------------------------------------- */

struct cpu_side {
    bool     sampled, known; /* known: there is a process */
    uint32_t rate_hz;        /* 0: unknown, or processes differ */
    struct sonde_metrics all;
    struct sonde_profile_rows *view; /* flat by function, most exclusive CPU time first; NULL: nothing */
};

static int cpu_side(const struct report *r, struct cpu_side *out, struct sonde_diag *diag)
{
    static const struct sonde_columns columns;
    struct sonde_estimate estimate = {0};
    const struct sonde_profile_rows_config config = {
        .shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_FUNCTION, .columns = &columns, .sort = SONDE_METRIC_CPU,
        .sort_side = SONDE_EXCLUSIVE, .cpu_estimate = &estimate};
    bool same = true;
    *out = (struct cpu_side){.sampled = r->q.profile->sampled, .all = r->q.profile->nodes.items[0].total};
    for (uint32_t i = 0; i < r->q.m->process_count; i++) {
        const struct sonde_live_header *h = &r->q.m->processes[i].header;
        out->known = true;
        same &= !out->rate_hz || !h->cpu_rate_hz || h->cpu_rate_hz == out->rate_hz;
        out->rate_hz = h->cpu_rate_hz ? h->cpu_rate_hz : out->rate_hz;
    }
    out->rate_hz = same ? out->rate_hz : 0;
    if (!out->all.cpu_ns)
        return 0;
    const int rc = sonde_estimate_cpu(r->q.m, r->q.profile, &estimate)
                       ? sonde_diag_set(diag, SONDE_ENOMEM, r->q.path, "cannot make the profile of")
                       : sonde_profile_rows_build(r->q.profile, &config, &out->view, diag);
    sonde_estimate_fini(&estimate);
    return rc;
}

static double top_value(const struct cpu_side *cpu, uint32_t column)
{
    return sonde_profile_rows_get(cpu->view, 1, column, SONDE_EXCLUSIVE).value;
}

/* "63.2 % ± 4.1 % in work() work.c" */
static void add_top(const struct report *r, const struct cpu_side *cpu, struct sonde_text *line)
{
    const double all_ns = (double)cpu->all.cpu_ns, error_ns = top_value(cpu, SONDE_METRIC_CPU_ERROR);
    char number[SONDE_NUMBER_MAX];
    sonde_text_format(line, " · %s", sonde_number_percent(number, top_value(cpu, SONDE_METRIC_CPU), all_ns));
    if (error_ns >= .005 * all_ns)
        sonde_text_format(line, " ± %s", sonde_number_percent(number, error_ns, all_ns));
    sonde_text_add(line, " in ");
    sonde_row_label(&r->q, cpu->view, 1, line);
}

static int print_cpu_side(const struct report *r, struct sonde_diag *diag)
{
    struct cpu_side cpu;
    struct sonde_text line = {0};
    char number[SONDE_NUMBER_MAX];
    int rc = cpu_side(r, &cpu, diag);
    if (rc || !cpu.known)
        return rc;
    if (cpu.sampled)
        sonde_text_format(&line, "CPU side: %s in ", sonde_number_time(number, (double)cpu.all.cpu_ns));
    if (cpu.sampled)
        sonde_text_format(&line, "%s sample%s", sonde_number_count(number, cpu.all.samples), cpu.all.samples == 1 ? "" : "s");
    else
        sonde_text_add(&line, "CPU side: not sampled");
    if (cpu.rate_hz)
        sonde_text_format(&line, " at %u Hz", cpu.rate_hz);
    if (cpu.view && cpu.view->rows.count > 1)
        add_top(r, &cpu, &line);
    fputc('\n', stdout);
    report_say(r, "%s", sonde_text_get(&line));
    sonde_profile_rows_destroy(cpu.view);
    sonde_text_fini(&line);
    return 0;
}

static json_t *cpu_side_json(const struct report *r, struct sonde_diag *diag)
{
    struct cpu_side cpu;
    if (cpu_side(r, &cpu, diag) || !cpu.known)
        return json_null();
    json_t *top = json_null();
    if (cpu.view && cpu.view->rows.count > 1) {
        struct sonde_text label = {0};
        sonde_row_label(&r->q, cpu.view, 1, &label);
        top = json_pack("{s:o, s:I, s:I}", "routine", report_json_text(sonde_text_get(&label)), "cpu_ns",
                        (json_int_t)top_value(&cpu, SONDE_METRIC_CPU), "error_ns",
                        (json_int_t)top_value(&cpu, SONDE_METRIC_CPU_ERROR));
        sonde_text_fini(&label);
    }
    json_t *value = json_pack("{s:b, s:o, s:o, s:o, s:o}", "sampled", (int)cpu.sampled,
        "rate_hz", cpu.rate_hz ? json_integer(cpu.rate_hz) : json_null(),
        "samples", cpu.sampled ? json_integer((json_int_t)cpu.all.samples) : json_null(),
        "cpu_ns", report_json_ns(cpu.sampled, (double)cpu.all.cpu_ns), "top", top);
    sonde_profile_rows_destroy(cpu.view);
    return value;
}

static int print_verdict(const struct report *r, const struct sonde_blame *blame, struct sonde_diag *diag)
{
    struct sonde_text sentence = {0};
    const int rc = report_verdict(r, blame, &sentence, diag);
    if (sentence.length)
        report_say(r, "%s", sonde_text_get(&sentence));
    sonde_text_fini(&sentence);
    return rc;
}

static int print_advice(const struct report *r, const struct sonde_blame *blame, struct sonde_diag *diag)
{
    struct sonde_view_data data = {0};
    int rc = sonde_summary_advice(&r->q, blame, &data, diag);
    if (!rc && data.error)
        rc = sonde_diag_set(diag, data.error, r->q.path, "cannot make the advice for");
    if (!rc)
        report_lay_out(r, report_views->view, &data);
    sonde_view_data_fini(&data);
    return rc;
}

static void print_end(const struct report *r)
{
    struct sonde_text ledger = {0}, more = {0};
    sonde_text_format(&more, "more: sonde report %s", r->word);
    for (const struct report_view *v = report_views + 1; v->view && !v->view->hidden; v++)
        sonde_text_format(&more, "%s%s", v == report_views + 1 ? " " : " | ", v->view->name);
    report_ledger_line(r, &ledger);
    fputc('\n', stdout);
    report_say(r, "%s", sonde_text_get(&ledger));
    report_say(r, "%s", sonde_text_get(&more));
    sonde_text_fini(&ledger);
    sonde_text_fini(&more);
}

/* From why it took so long to what there was: the run, the devices and what they were idle for, what to change, then
 * the operations, and last how far all of it can be trusted. */
int report_summary_text(const struct report *r, struct sonde_diag *diag)
{
    const size_t devices = shown(r, r->q.totals.devices.count);
    struct sonde_blame blame = {0};
    int rc = r->q.totals.devices.count ? sonde_query_blame(&r->q, &blame, diag) : 0;
    report_missing(r);
    print_title(r);
    rc = rc ? rc : print_verdict(r, &blame, diag);
    if (devices)
        print_devices(r, devices);
    rc = rc ? rc : report_idle(r, &blame, devices, diag);
    rc = rc ? rc : print_advice(r, &blame, diag);
    sonde_blame_fini(&blame);
    print_operations(r, KERNELS);
    print_operations(r, COPIES);
    print_operations(r, COLLECTIVES);
    rc = rc ? rc : print_cpu_side(r, diag);
    print_end(r);
    return rc;
}

static json_t *most_idle_json(const struct report *r, const struct sonde_blame *blame, const struct sonde_device_use *use)
{
    struct sonde_blame_routine most;
    struct sonde_text place = {0};
    const bool known = most_idle(r, blame, use, &most);
    const double before_ns = idle_before(blame, use, known ? &most : NULL);
    if (before_ns > 0)
        return json_pack("{s:s, s:o}", "place", BEFORE_TEXT, "blame_ns", report_json_ns(true, before_ns));
    if (!known)
        return json_null();
    sonde_name_place(&r->q, &place, most.node);
    json_t *value = json_pack("{s:o, s:o}", "place", report_json_text(sonde_text_get(&place)),
                              "blame_ns", report_json_ns(true, most.waiting_ns + most.working_ns));
    sonde_text_fini(&place);
    return value;
}

static json_t *devices_json(const struct report *r, const struct sonde_blame *blame)
{
    json_t *array = json_array();
    for (size_t i = 0; i < r->q.totals.devices.count; i++) {
        const struct sonde_device_use *use = &r->q.totals.devices.items[i];
        const struct sonde_process *p = &r->q.m->processes[use->process];
        bool named = use->device < p->device_count;
        bool wall = use->wall_ns > 0, timed = use->timed;
        json_t *value = json_pack("{s:s, s:i, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
            "process", p->name, "device", use->device ? (int)use->device - 1 : 0,
            "name", report_json_text(named ? sonde_process_string(p, p->devices[use->device].name) : ""),
            "platform", report_json_text(named ? sonde_process_string(p, p->devices[use->device].platform) : ""),
            "operations", (json_int_t)use->operations,
            "wall_ns", report_json_ns(wall, (double)use->wall_ns),
            "busy_ns", report_json_ns(timed, (double)use->busy_ns),
            "kernel_ns", report_json_ns(timed, (double)use->kernel_ns),
            "copy_ns", report_json_ns(timed, (double)use->copy_ns),
            "idle_ns", report_json_ns(wall && timed, use->wall_ns > use->busy_ns
                                                ? (double)(use->wall_ns - use->busy_ns) : 0),
            "idle_most", most_idle_json(r, blame, use), "idle_for", report_idle_json(r, blame, use));
        sonde_rank_json(p, value);
        json_array_append_new(array, value);
    }
    return array;
}

json_t *report_summary_json(const struct report *r, struct sonde_diag *diag)
{
    const struct sonde_totals *t = &r->q.totals;
    struct sonde_text command = {0};
    struct sonde_blame blame = {0};
    if (sonde_query_blame(&r->q, &blame, diag)) {
        sonde_blame_fini(&blame);
        return NULL;
    }
    report_command(r, &command);
    json_t *value = json_pack("{s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}",
        "verdict", report_verdict_json(r, &blame, diag), "command", report_json_text(sonde_text_get(&command)),
        "processes", (int)r->q.m->process_count, "threads", (int)t->threads,
        "wall_ns", report_json_ns(t->wall_ns > 0, (double)t->wall_ns),
        "devices", devices_json(r, &blame), "kernels", report_view_json(r, &sonde_view_kernels, diag),
        "copies", report_view_json(r, &sonde_view_copies, diag), "cpu", cpu_side_json(r, diag),
        "ledger", report_view_json(r, &sonde_view_ledger, diag));
    sonde_text_fini(&command);
    sonde_blame_fini(&blame);
    return value;
}
