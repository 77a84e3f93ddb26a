/* report_lanes.c - the view `lanes`: each thread and each queue, how busy it was.
 *
 * Busy time and gaps need the trace: with `record --profile` they are unknown.
 * This is the one view that reads every operation.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/lanes.h"
#include "command.h"
#include "report.h"

static int compute(const struct report *r, struct sonde_lanes *lanes, struct sonde_diag *diag)
{
    struct sonde_progress *progress = sonde_progress_begin("reading the trace", false);
    int rc = sonde_lanes_compute(r->q.m, progress, lanes);
    sonde_progress_end(progress);
    return rc ? sonde_diag_set(diag, rc, r->q.path, "cannot read the trace of") : 0;
}

static const struct sonde_row_lane *lane_of(const struct report *r, const struct sonde_lane_use *use)
{
    return &r->q.m->processes[use->process].lanes[use->lane];
}

/* The backend's own number where its name is one, else the queues of the process are counted: as in the exports. */
static const char *queue_number(const struct sonde_process *p, uint32_t lane, char number[SONDE_NUMBER_MAX])
{
    const char *name = sonde_process_string(p, p->lanes[lane].name);
    uint32_t count = 0;
    if (strncmp(name, "queue ", 6) == 0)
        return name + 6;
    for (uint32_t i = 1; i <= lane; i++)
        count += p->lanes[i].kind == SONDE_LANE_KIND_QUEUE;
    snprintf(number, SONDE_NUMBER_MAX, "%u", count);
    return number;
}

static void label(const struct report *r, const struct sonde_lane_use *use, struct sonde_text *out)
{
    const struct sonde_process *p = &r->q.m->processes[use->process];
    const struct sonde_row_lane *lane = lane_of(r, use);
    const char *name = sonde_process_string(p, lane->name);
    char count[SONDE_NUMBER_MAX];
    sonde_name_process_begin(&r->q, out, use->process);
    if (lane->kind == SONDE_LANE_KIND_THREAD) {
        sonde_text_format(out, "thread %u", lane->tid);
        if (lane->threads > 1)
            sonde_text_format(out, " and %u later", lane->threads - 1);
    } else {
        sonde_text_format(out, "queue %s on ", queue_number(p, use->lane, count));
        sonde_name_device_alone(&r->q, out, use->process, lane->device);
    }
    if (*name && (lane->kind == SONDE_LANE_KIND_THREAD || strncmp(name, "queue ", 6) != 0))
        sonde_text_format(out, " “%s”", name);
    if (use->ranges)
        sonde_text_format(out, ", %s range%s", sonde_number_count(count, use->ranges), use->ranges == 1 ? "" : "s");
    sonde_name_process_end(&r->q, out, use->process);
}

/* The tree node of the wait that has most. */
static uint32_t wait_of(const struct report *r, const struct sonde_lane_use *use)
{
    return use->wait ? sonde_profile_locate(r->q.profile, use->process, use->wait) : 0;
}

static void wait_cells(const struct report *r, struct table *t, const struct sonde_lane_use *use)
{
    struct sonde_text place = {0};
    if (wait_of(r, use))
        sonde_name_place(&r->q, &place, wait_of(r, use));
    table_time(t, use->waits > 0, (double)use->waited_ns);
    table_cell(t, sonde_text_get(&place));
    sonde_text_fini(&place);
}

static void lane_row(const struct report *r, struct table *t, const struct sonde_lane_use *use, bool waits)
{
    struct sonde_text name = {0};
    bool queue = lane_of(r, use)->kind == SONDE_LANE_KIND_QUEUE;
    uint64_t span = use->last_ns - use->first_ns;
    label(r, use, &name);
    table_cell(t, sonde_text_get(&name));
    if (queue || use->timed)
        table_count(t, use->count);
    else
        table_cell(t, "-");
    table_time(t, queue || use->timed, (double)use->sum_ns);
    table_time(t, use->timed, (double)span);
    if (use->timed)
        table_percent(t, (double)use->busy_ns, (double)span);
    else
        table_cell(t, "-");
    table_time(t, use->timed, (double)use->longest_gap_ns);
    if (waits)
        wait_cells(r, t, use);
    sonde_text_fini(&name);
}

int report_lanes_text(const struct report *r, struct sonde_diag *diag)
{
    static const struct table_column columns[] = {
        {"Lane", TABLE_LEFT | TABLE_ELASTIC, 0}, {"count", TABLE_RIGHT, 2}, {"time in them", TABLE_RIGHT, 3},
        {"first to last", TABLE_RIGHT, 4}, {"busy of it", TABLE_RIGHT, 1}, {"longest gap", TABLE_RIGHT, 5},
        {"waited", TABLE_RIGHT, 1}, {"mostly in", TABLE_LEFT | TABLE_STACK, 1},
    };
    struct sonde_lanes lanes = {0};
    int rc = compute(r, &lanes, diag);
    size_t all = lanes.items.count, shown = r->q.limit && r->q.limit < all ? r->q.limit : all;
    bool waits = false;
    for (size_t i = 0; i < shown; i++)
        waits |= lanes.items.items[i].waits > 0;
    struct table t = {.columns = columns, .column_count = waits ? 8 : 6};
    for (size_t i = 0; i < shown && !rc; i++)
        lane_row(r, &t, &lanes.items.items[i], waits);
    if (!rc) {
        table_print(&t, r);
        report_more(r, "lanes", shown, all);
        if (!r->q.totals.traced)
            report_say(r, "recorded with --profile: when each lane was busy is unknown");
    }
    sonde_lanes_fini(&lanes);
    return rc;
}

static json_t *lane_json(const struct report *r, const struct sonde_lane_use *use)
{
    const struct sonde_process *p = &r->q.m->processes[use->process];
    const struct sonde_row_lane *lane = lane_of(r, use);
    bool queue = lane->kind == SONDE_LANE_KIND_QUEUE, known = queue || use->timed;
    struct sonde_text place = {0};
    if (wait_of(r, use))
        sonde_name_place(&r->q, &place, wait_of(r, use));
    json_t *value = json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "process", p->name, "lane", (int)use->lane, "kind", queue ? "queue" : "thread",
        "name", report_json_text(sonde_process_string(p, lane->name)),
        "tid", queue ? json_null() : json_integer(lane->tid),
        "device", queue && lane->device ? json_integer(lane->device - 1) : json_null(),
        "context", queue ? json_integer(lane->context) : json_null(),
        "out_of_order", (int)(lane->flags & 1),
        "count", known ? json_integer((json_int_t)use->count) : json_null(),
        "traced", (json_int_t)use->traced,
        "ranges", queue ? json_null() : json_integer((json_int_t)use->ranges),
        "total_ns", report_json_ns(known, (double)use->sum_ns),
        "busy_ns", report_json_ns(use->timed, (double)use->busy_ns),
        "first_ns", use->timed ? json_integer((json_int_t)use->first_ns) : json_null(),
        "last_ns", use->timed ? json_integer((json_int_t)use->last_ns) : json_null(),
        "longest_gap_ns", report_json_ns(use->timed, (double)use->longest_gap_ns),
        "waits", queue || !r->q.totals.traced ? json_null() : json_integer((json_int_t)use->waits),
        "waited_ns", report_json_ns(!queue && r->q.totals.traced, (double)use->waited_ns),
        "waits_in", report_json_text(sonde_text_get(&place)));
    sonde_text_fini(&place);
    sonde_rank_json(p, value);
    return value;
}

json_t *report_lanes_json(const struct report *r, struct sonde_diag *diag)
{
    struct sonde_lanes lanes = {0};
    json_t *array = compute(r, &lanes, diag) ? NULL : json_array();
    for (size_t i = 0; array && i < lanes.items.count && (!r->q.limit || i < r->q.limit); i++)
        json_array_append_new(array, lane_json(r, &lanes.items.items[i]));
    sonde_lanes_fini(&lanes);
    return array;
}
