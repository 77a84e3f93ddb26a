/* verdict.c - in the summary: what the run waited for, in one sentence, and what each device was idle for. */
#include "analyze/answers/summary/verdict.h"

#include "base/number.h"
#include "names.h"
#include "summary.h"

enum {
    WORTH_SAYING = 5,              /* percent of the run, of what comes second */
    ROWS_ALONE = 6,
    ROWS_EACH = 3, /* of the only device, of one of several */
};

/* ---- parts ----------------------------------------------------------------------------------- */

static const struct sonde_view_column part_columns[] = {
    {"kind", NULL, SONDE_CELL_TEXT, 0, 0, "busy, or what went on while no device was busy (docs/report.md)"},
    {"ns", NULL, SONDE_CELL_TIME, 0, 0, "wall time"},
    {"place", NULL, SONDE_CELL_TEXT, 0, 0, "the routine with the largest part of ns"},
    {"place_ns", NULL, SONDE_CELL_TIME, 0, 0, "time of that routine"},
    {"error_ns", NULL, SONDE_CELL_TIME, 0, 0, "standard error of place_ns where it rests on samples; else 0"},
    {"waited_ns", NULL, SONDE_CELL_TIME, 0, 0, "time in it waiting in C library functions (host_code)"},
    {"waits_in", NULL, SONDE_CELL_TEXT, 0, 0, "the C library function with most of waited_ns; null: none"},
};
const struct sonde_view_columns sonde_verdict_parts = SONDE_VIEW_COLUMNS("parts", part_columns);

static void part_cells(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_verdict_part *part)
{
    struct sonde_text place = {0};
    if (part->node && part->kind != SONDE_VERDICT_BUSY)
        sonde_name_place(q, &place, part->node);
    sonde_cell_text(t, sonde_verdict_name(part->kind));
    sonde_cell_real(t, true, part->ns);
    sonde_cell_text(t, sonde_text_get(&place));
    sonde_cell_real(t, place.length > 0, part->most_ns);
    sonde_cell_real(t, place.length > 0, part->error_ns);
    sonde_cell_real(t, place.length > 0, part->waited_ns);
    sonde_cell_text(t, part->wait ? q->profile->nodes.items[part->wait].name : NULL);
    sonde_text_fini(&place);
}

/* ---- what the run waited for ------------------------------------------------------------------ */

static const struct sonde_view_column verdict_columns[] = {
    {"sentence", NULL, SONDE_CELL_TEXT, 0, 0, "the same in words"},
    {"range_ns", NULL, SONDE_CELL_TIME, 0, 0, "wall time of all processes, excluding time with recording off"},
    {"parts", NULL, SONDE_CELL_LIST, 0, 0, "breakdown of range_ns, largest first", .of = &sonde_verdict_parts},
};
const struct sonde_view_columns sonde_verdict = SONDE_VIEW_COLUMNS("verdict", verdict_columns);

static void add_share(struct sonde_text *out, const struct sonde_verdict *v, double ns)
{
    char share[SONDE_NUMBER_MAX];
    sonde_text_add(out, sonde_number_percent(share, ns, v->range_ns));
}

static void add_time(struct sonde_text *out, const struct sonde_verdict *v, double ns)
{
    char time[SONDE_NUMBER_MAX];
    add_share(out, v, ns);
    sonde_text_format(out, " of %s", sonde_number_time(time, v->range_ns));
}

static void add_part_place(const struct sonde_query *q, struct sonde_text *out, const struct sonde_verdict_part *part)
{
    if (part->waited_ns * 2 > part->most_ns)
        sonde_text_format(out, "%s in ", q->profile->nodes.items[part->wait].name);
    sonde_name_place(q, out, part->node);
}

/* "mostly in build() heat.c:20", where one place has more than half. */
static void add_place(const struct sonde_query *q, const struct sonde_verdict_part *part, struct sonde_text *out)
{
    char share[SONDE_ESTIMATE_MAX];
    if (!part->node)
        return;
    if (part->most_ns * 2 > part->ns)
        sonde_text_add(out, ", mostly in ");
    else
        sonde_text_format(out, ", %s of it in ", sonde_number_percent_estimate(share, part->most_ns, part->error_ns, part->ns));
    add_part_place(q, out, part);
}

static void add_busy_with(const struct sonde_query *q, const struct sonde_verdict *v, const struct sonde_verdict_part *part,
                          struct sonde_text *out)
{
    const struct sonde_cct_node *node = &q->profile->nodes.items[part->node];
    if (!part->node)
        return;
    sonde_text_format(out, ", mostly with %s, led by %s", v->copy_ns > v->kernel_ns ? "copies" : "kernels",
                      *node->name ? node->name : sonde_op_kind_name(node->op));
}

static const char *const spent[SONDE_VERDICT_COUNT] = {
    [SONDE_VERDICT_START_UP] = "in start-up (before the first API call)",
    [SONDE_VERDICT_HOST] = "in host code",
    [SONDE_VERDICT_COMPILES] = "compiling and loading device code",
    [SONDE_VERDICT_MEMORY] = "allocating and freeing memory",
    [SONDE_VERDICT_CALLS] = "in other API calls",
    [SONDE_VERDICT_WAITS] = "waiting in API calls",
    [SONDE_VERDICT_NOBODY] = "with no thread active",
    [SONDE_VERDICT_UNKNOWN] = "in unknown activity",
};

/* "The run spent 40 % of 2 s in host code …", "The device was busy for …" */
static void say_first(const struct sonde_query *q, const struct sonde_verdict *v, struct sonde_text *out)
{
    const struct sonde_verdict_part *part = &v->parts[0];
    const bool one = q->totals.devices.count == 1;
    if (part->kind == SONDE_VERDICT_BUSY) {
        sonde_text_add(out, one ? "The device was busy for " : "At least one device was busy for ");
        add_time(out, v, part->ns);
        add_busy_with(q, v, part, out);
        return;
    }
    sonde_text_add(out, "The run spent ");
    add_time(out, v, part->ns);
    sonde_text_format(out, " %s while %s idle", spent[part->kind], one ? "the device was" : "all devices were");
    add_place(q, part, out);
}

/* What comes second. */
static void say_second(const struct sonde_query *q, const struct sonde_verdict *v, struct sonde_text *out)
{
    const struct sonde_verdict_part *part = &v->parts[1];
    if (part->ns * 100 < v->range_ns * WORTH_SAYING)
        return;
    sonde_text_add(out, "; ");
    add_share(out, v, part->ns);
    sonde_text_format(out, " %s",
                      part->kind != SONDE_VERDICT_BUSY ? spent[part->kind]
                      : q->totals.devices.count == 1   ? "with the device busy"
                                                       : "with a device busy");
    add_place(q, part->kind == SONDE_VERDICT_BUSY ? &(struct sonde_verdict_part){0} : part, out);
}

int sonde_cell_verdict(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame,
                       struct sonde_diag *diag)
{
    struct sonde_verdict v = {0};
    struct sonde_text sentence = {0};
    const int rc = sonde_verdict_compute(q->profile, &q->totals, blame, &v);
    if (rc)
        return sonde_diag_set(diag, rc, q->path, "cannot compute the summary of");
    if (!v.known || v.range_ns <= 0) {
        sonde_cell_unknown(t);
        return 0;
    }
    say_first(q, &v, &sentence);
    say_second(q, &v, &sentence);
    sonde_text_add(&sentence, ".");
    struct sonde_view_table *verdict = sonde_cell_object(t);
    sonde_cell_text(verdict, sonde_text_get(&sentence));
    sonde_cell_real(verdict, true, v.range_ns);
    struct sonde_view_table *parts = sonde_cell_list(verdict);
    for (int i = 0; i < SONDE_VERDICT_COUNT; i++)
        part_cells(parts, q, &v.parts[i]);
    sonde_view_say(t->data, false, "%s", sonde_text_get(&sentence));
    sonde_text_fini(&sentence);
    return 0;
}

/* ---- what a device was idle for ---------------------------------------------------------------- */

#define IDLE_FOR "what the process did while the device was idle"
#define IDLE_TIME "idle time"
#define IDLE_SHARE "idle time as % of the wall time of the process"
#define IDLE_PLACE "the routine with the largest part, and that part if it is less than half"
static const struct sonde_view_column alone_columns[] = {
    {NULL, "Idle during", SONDE_CELL_TEXT, 0, 0, IDLE_FOR},
    {NULL, "time", SONDE_CELL_TIME, 0, 1, IDLE_TIME},
    {NULL, "% of run", SONDE_CELL_SHARE, 0, 0, IDLE_SHARE},
    {NULL, "where", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 0, IDLE_PLACE},
};
static const struct sonde_view_column each_columns[] = {
    {NULL, "Device", SONDE_CELL_TEXT, SONDE_STYLE_ELASTIC, 0, "number of the device within its process"},
    {NULL, "idle during", SONDE_CELL_TEXT, 0, 0, IDLE_FOR},
    {NULL, "time", SONDE_CELL_TIME, 0, 3, IDLE_TIME},
    {NULL, "% of run", SONDE_CELL_SHARE, 0, 2, IDLE_SHARE},
    {NULL, "where", SONDE_CELL_TEXT, SONDE_STYLE_STACK, 1, IDLE_PLACE},
};
const struct sonde_view_columns sonde_idle_alone = SONDE_VIEW_COLUMNS("idle_of_the_device", alone_columns);
const struct sonde_view_columns sonde_idle_each = SONDE_VIEW_COLUMNS("idle_of_devices", each_columns);

static const char *const idle_for[SONDE_VERDICT_COUNT] = {
    [SONDE_VERDICT_START_UP] = "start-up",
    [SONDE_VERDICT_HOST] = "host code",
    [SONDE_VERDICT_COMPILES] = "compiling, loading code",
    [SONDE_VERDICT_MEMORY] = "allocating, freeing",
    [SONDE_VERDICT_CALLS] = "other API calls",
    [SONDE_VERDICT_WAITS] = "waits in API calls",
    [SONDE_VERDICT_NOBODY] = "no thread active",
    [SONDE_VERDICT_UNKNOWN] = "unknown",
};

/* "host_difference() heat.c", "nanosleep in nap() heat.c", "9.2 % of it in step() heat.c" where that is less than half, or
 * what the kind is itself. */
static void add_where(const struct sonde_query *q, const struct sonde_verdict_part *part, struct sonde_text *out)
{
    char share[SONDE_ESTIMATE_MAX];
    if (part->kind == SONDE_VERDICT_START_UP)
        sonde_text_add(out, "before the first API call");
    if (!part->node)
        return;
    if (part->most_ns * 2 < part->ns)
        sonde_text_format(out, "%s of it in ", sonde_number_percent_estimate(share, part->most_ns, part->error_ns, part->ns));
    add_part_place(q, out, part);
}

static void idle_row(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_verdict_part *part,
                     double wall_ns, const char *device)
{
    struct sonde_text where = {0};
    if (device)
        sonde_cell_text(t, device);
    add_where(q, part, &where);
    sonde_cell_text(t, idle_for[part->kind]);
    sonde_cell_real(t, true, part->ns);
    sonde_cell_share(t, part->ns, wall_ns);
    sonde_cell_take(t, &where);
}

static int idle_rows(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame,
                     const struct sonde_device_use *use, bool alone)
{
    const struct sonde_blame_scope *scope = use->timed ? sonde_blame_find(blame, use->process, use->device) : NULL;
    struct sonde_verdict_part parts[SONDE_VERDICT_COUNT];
    struct sonde_text device = {0};
    const int rc = scope ? sonde_verdict_idle(q->profile, scope, parts) : 0;
    sonde_name_process_begin(q, &device, use->process);
    sonde_text_format(&device, "%u", use->device ? use->device - 1 : 0); /* its name stands in the table above */
    for (int i = 0; scope && !rc && i < (alone ? ROWS_ALONE : ROWS_EACH); i++)
        if (parts[i].ns > 0 && parts[i].ns * 100 >= q->min_percent * (double)use->wall_ns)
            idle_row(t, q, &parts[i], (double)use->wall_ns, alone ? NULL : (i ? "" : sonde_text_get(&device)));
    sonde_text_fini(&device);
    return rc;
}

int sonde_summary_idle(const struct sonde_query *q, const struct sonde_blame *blame, size_t devices, struct sonde_view_data *out,
                       struct sonde_diag *diag)
{
    const bool alone = q->totals.devices.count == 1;
    struct sonde_view_table *t = sonde_view_table(out, alone ? &sonde_idle_alone : &sonde_idle_each);
    int rc = 0;
    for (size_t i = 0; i < devices && !rc; i++)
        rc = idle_rows(t, q, blame, &q->totals.devices.items[i], alone);
    if (sonde_view_rows(t))
        sonde_view_show(out, t, true);
    return rc ? sonde_diag_set(diag, rc, q->path, "cannot compute the idle time of") : 0;
}

void sonde_cell_idle(struct sonde_view_table *t, const struct sonde_query *q, const struct sonde_blame *blame,
                     const struct sonde_device_use *use)
{
    const struct sonde_blame_scope *scope = use->timed ? sonde_blame_find(blame, use->process, use->device) : NULL;
    struct sonde_verdict_part parts[SONDE_VERDICT_COUNT];
    if (!scope || sonde_verdict_idle(q->profile, scope, parts)) {
        sonde_cell_unknown(t);
        return;
    }
    struct sonde_view_table *list = sonde_cell_list(t);
    for (int i = 0; i < SONDE_VERDICT_COUNT; i++)
        if (parts[i].ns > 0)
            part_cells(list, q, &parts[i]);
}
