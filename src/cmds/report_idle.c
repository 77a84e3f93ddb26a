/* report_idle.c - in the summary: what the idle time of each device went to, by kind, and where most of it was. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/verdict.h"
#include "report.h"

enum { ROWS_ALONE = 6, ROWS_EACH = 3 }; /* of the only device, of one of several */

static const char *const whats[SONDE_VERDICT_COUNT] = {
    [SONDE_VERDICT_START_UP] = "start-up",
    [SONDE_VERDICT_HOST] = "host code",
    [SONDE_VERDICT_COMPILES] = "compiling, loading code",
    [SONDE_VERDICT_MEMORY] = "allocating, freeing",
    [SONDE_VERDICT_CALLS] = "other API calls",
    [SONDE_VERDICT_WAITS] = "waits in API calls",
    [SONDE_VERDICT_NOBODY] = "no thread active",
    [SONDE_VERDICT_UNKNOWN] = "not known",
};

/* "host_difference() heat.c", "nanosleep in nap() heat.c", "9.2 % in step() heat.c" where that is less than half, or what the kind is itself. */
static void add_where(const struct report *r, const struct sonde_verdict_part *part, struct sonde_text *out)
{
    char share[SONDE_NUMBER_MAX];
    if (part->kind == SONDE_VERDICT_START_UP)
        sonde_text_add(out, "before the first API call");
    if (!part->node)
        return;
    if (part->most_ns * 2 < part->ns)
        sonde_text_format(out, "%s of it in ", sonde_number_percent(share, part->most_ns, part->ns));
    report_verdict_place(r, out, part);
}

static void add_row(const struct report *r, struct table *t, const struct sonde_verdict_part *part, double wall_ns,
                    const char *device)
{
    struct sonde_text where = {0};
    if (device)
        table_cell(t, device);
    add_where(r, part, &where);
    table_cell(t, whats[part->kind]);
    table_time(t, true, part->ns);
    table_percent(t, part->ns, wall_ns);
    table_cell(t, sonde_text_get(&where));
    sonde_text_fini(&where);
}

static int add_device(const struct report *r, struct table *t, const struct sonde_blame *blame,
                      const struct sonde_device_use *use, bool alone)
{
    const struct sonde_blame_scope *scope = use->timed ? sonde_blame_find(blame, use->process, use->device) : NULL;
    struct sonde_verdict_part parts[SONDE_VERDICT_COUNT];
    struct sonde_text device = {0};
    const int rc = scope ? sonde_verdict_idle(r->q.profile, scope, parts) : 0;
    sonde_name_process_begin(&r->q, &device, use->process);
    sonde_text_format(&device, "%u", use->device ? use->device - 1 : 0); /* its name stands in the table above */
    for (int i = 0; scope && !rc && i < (alone ? ROWS_ALONE : ROWS_EACH); i++)
        if (parts[i].ns > 0 && parts[i].ns * 100 >= r->q.min_percent * (double)use->wall_ns)
            add_row(r, t, &parts[i], (double)use->wall_ns, alone ? NULL : i ? "" : sonde_text_get(&device));
    sonde_text_fini(&device);
    return rc;
}

int report_idle(const struct report *r, const struct sonde_blame *blame, size_t devices, struct sonde_diag *diag)
{
    static const struct table_column columns[] = {
        {"Device", TABLE_LEFT | TABLE_ELASTIC, 0}, {"idle for", TABLE_LEFT, 0}, {"time", TABLE_RIGHT, 3},
        {"of the run", TABLE_RIGHT, 2}, {"most of it in", TABLE_LEFT | TABLE_STACK, 1},
    };
    static const struct table_column columns_alone[] = {
        {"Idle for", TABLE_LEFT, 0}, {"time", TABLE_RIGHT, 1}, {"of the run", TABLE_RIGHT, 0},
        {"most of it in", TABLE_LEFT | TABLE_STACK, 0},
    };
    const bool alone = r->q.totals.devices.count == 1;
    struct table t = {.columns = alone ? columns_alone : columns, .column_count = alone ? 4 : 5};
    int rc = 0;
    for (size_t i = 0; i < devices && !rc; i++)
        rc = add_device(r, &t, blame, &r->q.totals.devices.items[i], alone);
    if (rc)
        return sonde_diag_set(diag, rc, r->q.path, "cannot sum up the idle time of");
    if (t.cells.count) {
        fputc('\n', stdout);
        table_print(&t, r);
    }
    return 0;
}

json_t *report_idle_json(const struct report *r, const struct sonde_blame *blame, const struct sonde_device_use *use)
{
    const struct sonde_blame_scope *scope = use->timed ? sonde_blame_find(blame, use->process, use->device) : NULL;
    struct sonde_verdict_part parts[SONDE_VERDICT_COUNT];
    if (!scope || sonde_verdict_idle(r->q.profile, scope, parts))
        return json_null();
    json_t *array = json_array();
    for (int i = 0; i < SONDE_VERDICT_COUNT; i++)
        if (parts[i].ns > 0)
            json_array_append_new(array, report_verdict_part_json(r, &parts[i]));
    return array;
}
