/* report_overlap.c - the view `overlap`: what of copies and communication is hidden behind computation.
 *
 * docs/overlap.md says how each number is computed.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/overlap.h"
#include "command.h"
#include "report.h"

static int compute(const struct report *r, struct sonde_overlaps *overlaps, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_progress_begin("reading the trace", false);
    int rc = sonde_overlap_compute(r->q.m, 0, progress, overlaps);
    sonde_progress_end(progress);
    if (rc)
        return sonde_diag_set(diag, rc, r->q.path, "cannot read the trace of");
    if (overlaps->items.count)
        return 0;
    sonde_diag_set(diag, SONDE_EEMPTY, r->q.path, "no trace is in");
    snprintf(diag->why, sizeof diag->why, "what ran at the same time is known of a trace only");
    sonde_diag_hint(diag, "record with --trace");
    return SONDE_EEMPTY;
}

/* What a row says, of one device or of all of a process. */
struct figures {
    uint64_t span, idle, compute, busy, exposed;
    struct { uint64_t ns, hidden; } comm, copy, fill;
};

static struct figures figures_of(const struct sonde_overlap *o)
{
    struct figures f = {
        .span = o->last_ns - o->first_ns - o->paused_ns, .idle = o->states[0],
        .compute = sonde_overlap_ns(o, SONDE_RUNS_COMPUTE, 0, 0), .busy = sonde_overlap_ns(o, ~0u, 0, 0),
        .exposed = sonde_overlap_ns(o, ~0u, 0, SONDE_RUNS_COMPUTE),
        .comm = {sonde_overlap_ns(o, SONDE_RUNS_COMM, 0, 0), sonde_overlap_ns(o, SONDE_RUNS_COMM, SONDE_RUNS_COMPUTE, 0)},
        .copy = {sonde_overlap_ns(o, SONDE_RUNS_COPY, 0, 0), sonde_overlap_ns(o, SONDE_RUNS_COPY, SONDE_RUNS_COMPUTE, 0)},
        .fill = {sonde_overlap_ns(o, SONDE_RUNS_FILL, 0, 0), sonde_overlap_ns(o, SONDE_RUNS_FILL, SONDE_RUNS_COMPUTE, 0)},
    };
    return f;
}

static void add(struct figures *sum, const struct figures *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

/* Devices of one process from `first` on; their sum in *sum. */
static size_t process_end(const struct sonde_overlaps *o, size_t first, struct figures *sum)
{
    size_t i = first;
    memset(sum, 0, sizeof *sum);
    for (; i < o->items.count && o->items.items[i].process == o->items.items[first].process; i++) {
        const struct figures f = figures_of(&o->items.items[i]);
        add(sum, &f);
    }
    return i;
}

/* ---- text ---------------------------------------------------------------------------- */

static void figures_row(struct table *t, const char *name, const struct figures *f)
{
    table_cell(t, name);
    table_time(t, true, (double)f->span);
    table_time(t, true, (double)f->compute);
    table_time(t, true, (double)f->comm.ns);
    if (f->comm.ns)
        table_percent(t, (double)f->comm.hidden, (double)f->comm.ns);
    else
        table_cell(t, "-");
    table_time(t, true, (double)f->copy.ns);
    if (f->copy.ns)
        table_percent(t, (double)f->copy.hidden, (double)f->copy.ns);
    else
        table_cell(t, "-");
    table_time(t, true, (double)f->exposed);
    table_percent(t, (double)f->idle, (double)f->span);
}

static void print_devices(const struct report *r, const struct sonde_overlaps *overlaps)
{
    static const struct table_column columns[] = {
        {"Device", TABLE_LEFT | TABLE_ELASTIC, 0}, {"first to last", TABLE_RIGHT, 4}, {"computing", TABLE_RIGHT, 1},
        {"communicating", TABLE_RIGHT, 2}, {"hidden", TABLE_RIGHT, 2}, {"copying", TABLE_RIGHT, 0}, {"hidden", TABLE_RIGHT, 0},
        {"exposed", TABLE_RIGHT, 3}, {"idle", TABLE_RIGHT, 5},
    };
    struct table t = {.columns = columns, .column_count = 9};
    size_t all = overlaps->items.count, shown = r->q.limit && r->q.limit < all ? r->q.limit : all;
    for (size_t first = 0; first < shown;) {
        struct figures sum;
        const size_t end = process_end(overlaps, first, &sum);
        for (size_t i = first; i < end && i < shown; i++) {
            struct sonde_text name = {0};
            const struct figures f = figures_of(&overlaps->items.items[i]);
            sonde_name_device(&r->q, &name, overlaps->items.items[i].process, overlaps->items.items[i].device);
            figures_row(&t, sonde_text_get(&name), &f);
            sonde_text_fini(&name);
        }
        if (end > first + 1 && end <= shown) {
            struct sonde_text name = {0};
            sonde_name_process_begin(&r->q, &name, overlaps->items.items[first].process);
            sonde_text_add(&name, "all devices");
            sonde_name_process_end(&r->q, &name, overlaps->items.items[first].process);
            figures_row(&t, sonde_text_get(&name), &sum);
            sonde_text_fini(&name);
        }
        first = end;
    }
    table_print(&t, r);
    report_more(r, "overlap", shown, all);
    fputc('\n', stdout);
}

static void way_row(struct table *t, const char *name, const struct sonde_overlap_way *way)
{
    table_cell(t, name);
    table_count(t, way->count);
    table_time(t, true, (double)way->ns);
    table_time(t, true, (double)way->hidden_ns);
    if (way->ns)
        table_percent(t, (double)way->hidden_ns, (double)way->ns);
    else
        table_cell(t, "-");
    table_time(t, true, (double)(way->ns - way->hidden_ns));
}

static void print_ways(const struct report *r, const struct sonde_overlaps *overlaps)
{
    static const struct table_column columns[] = {
        {"Copies", TABLE_LEFT | TABLE_ELASTIC, 0}, {"count", TABLE_RIGHT, 2}, {"time", TABLE_RIGHT, 0}, {"hidden", TABLE_RIGHT, 1},
        {"of it", TABLE_RIGHT, 0}, {"exposed", TABLE_RIGHT, 0},
    };
    struct table t = {.columns = columns, .column_count = 6};
    for (unsigned way = 0; way < SONDE_WAY_COUNT; way++) {
        struct sonde_overlap_way sum = {0};
        for (size_t i = 0; i < overlaps->items.count; i++) {
            const struct sonde_overlap_way *one = &overlaps->items.items[i].ways[way];
            sum.count += one->count;
            sum.ns += one->ns;
            sum.hidden_ns += one->hidden_ns;
        }
        if (sum.count)
            way_row(&t, sonde_way_text((enum sonde_way)way), &sum);
    }
    if (t.cells.count) {
        table_print(&t, r);
        fputc('\n', stdout);
    }
}

int report_overlap_text(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_overlaps overlaps = {0};
    int rc = compute(r, &overlaps, diag);
    uint64_t no_times = 0;
    char count[SONDE_NUMBER_MAX];
    for (size_t i = 0; i < overlaps.items.count; i++)
        no_times += overlaps.items.items[i].no_times;
    if (!rc) {
        print_devices(r, &overlaps);
        print_ways(r, &overlaps);
        report_say(r, "hidden: while the same device computes. exposed: busy, and nothing computes. Copies between "
                      "devices count as communication.");
        if (no_times)
            report_say(r, "%s operation%s without usable times %s left out.", sonde_number_count(count, no_times),
                       no_times == 1 ? "" : "s", no_times == 1 ? "is" : "are");
    }
    sonde_overlap_fini(&overlaps);
    return rc;
}

/* ---- JSON ------------------------------------------------------------------------------ */

static json_t *hidden_json(uint64_t ns, uint64_t hidden)
{
    return json_pack("{s:I, s:I, s:I, s:o}", "ns", (json_int_t)ns, "hidden_ns", (json_int_t)hidden,
                     "exposed_ns", (json_int_t)(ns - hidden),
                     "hidden_ratio", ns ? json_real((double)hidden / (double)ns) : json_null());
}

static json_t *figures_json(const struct figures *f)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "span_ns", (json_int_t)f->span,
                     "idle_ns", (json_int_t)f->idle, "busy_ns", (json_int_t)f->busy, "compute_ns", (json_int_t)f->compute,
                     "exposed_ns", (json_int_t)f->exposed, "communication", hidden_json(f->comm.ns, f->comm.hidden),
                     "copies", hidden_json(f->copy.ns, f->copy.hidden), "fills", hidden_json(f->fill.ns, f->fill.hidden));
}

static json_t *ways_json(const struct sonde_overlap *o)
{
    json_t *list = json_array();
    for (unsigned way = 0; way < SONDE_WAY_COUNT; way++) {
        const struct sonde_overlap_way *w = &o->ways[way];
        if (!w->count)
            continue;
        json_t *value = hidden_json(w->ns, w->hidden_ns);
        json_object_set_new(value, "way", json_string(sonde_way_name((enum sonde_way)way)));
        json_object_set_new(value, "count", json_integer((json_int_t)w->count));
        json_array_append_new(list, value);
    }
    return list;
}

static json_t *device_json(const struct report *r, const struct sonde_overlap *o)
{
    const struct sonde_process *p = &r->q.m->processes[o->process];
    const struct figures f = figures_of(o);
    json_t *value = figures_json(&f);
    const char *name = o->device && o->device < p->device_count ? sonde_process_string(p, p->devices[o->device].name) : "";
    json_object_set_new(value, "process", json_string(p->name));
    json_object_set_new(value, "device", o->device ? json_integer(o->device - 1) : json_null());
    json_object_set_new(value, "name", report_json_text(name));
    json_object_set_new(value, "first_ns", json_integer((json_int_t)o->first_ns));
    json_object_set_new(value, "last_ns", json_integer((json_int_t)o->last_ns));
    json_object_set_new(value, "kernels", json_integer((json_int_t)o->kernels));
    json_object_set_new(value, "communications", json_integer((json_int_t)o->comm_count));
    json_object_set_new(value, "collectives", json_integer((json_int_t)o->collectives));
    json_object_set_new(value, "fill_count", json_integer((json_int_t)o->fills));
    json_object_set_new(value, "no_times", json_integer((json_int_t)o->no_times));
    json_object_set_new(value, "ways", ways_json(o));
    return value;
}

json_t *report_overlap_json(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_overlaps overlaps = {0};
    json_t *value = compute(r, &overlaps, diag) ? NULL : json_object();
    json_t *devices = json_array(), *processes = json_array();
    for (size_t i = 0; value && i < overlaps.items.count && (!r->q.limit || i < r->q.limit); i++)
        json_array_append_new(devices, device_json(r, &overlaps.items.items[i]));
    for (size_t first = 0; value && first < overlaps.items.count;) {
        struct figures sum;
        const size_t end = process_end(&overlaps, first, &sum);
        const struct sonde_process *p = &r->q.m->processes[overlaps.items.items[first].process];
        json_t *process = figures_json(&sum);
        json_object_set_new(process, "process", json_string(p->name));
        json_object_set_new(process, "devices", json_integer((json_int_t)(end - first)));
        sonde_rank_json(p, process);
        json_array_append_new(processes, process);
        first = end;
    }
    if (value) {
        json_object_set(value, "devices", devices);
        json_object_set(value, "processes", processes);
    }
    json_decref(devices);
    json_decref(processes);
    sonde_overlap_fini(&overlaps);
    return value;
}
