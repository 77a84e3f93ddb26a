/* json.c - everything of a measurement as one JSON document (docs/schema/export.json).
 *
 * Small objects go through jansson; the rows of the trace are written directly,
 * one per line, so that memory does not grow with their number and line tools
 * can read them.
 */
#include "export.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/values/flow.h"
#include "analyze/model/rank.h"
#include "analyze/trace/trace.h"
#include "base/utf8.h"
#include "format/tables.h"
#include "names.h"

struct writer {
    const struct sonde_measurement *m;
    struct sonde_names names;
    struct sonde_out *out;
    struct sonde_progress *progress;
    struct sonde_export_result *result;
    struct sonde_text clean;
    const struct rows *trace; /* whose rows are written */
    uint32_t process, lane; /* of the row */
    bool first; /* no comma before the next line */
    bool nomem;
};

/* ---- pieces ------------------------------------------------------------------ */

static json_t *text(struct writer *w, const char *s)
{
    return json_string(sonde_utf8_clean(s, &w->clean));
}

/* The same, null for "". */
static json_t *text_or_null(struct writer *w, const char *s)
{
    return *s ? text(w, s) : json_null();
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* For ids and times, where 0 says "none" or "unknown". */
static json_t *number_or_null(uint64_t value)
{
    return value ? number(value) : json_null();
}

static int put_bytes(const char *bytes, size_t size, void *user)
{
    sonde_out_bytes(user, bytes, size);
    return 0;
}

/* Write and drop. NULL (out of memory somewhere) is remembered. */
static void put_json(struct writer *w, json_t *value)
{
    if (!value || json_dump_callback(value, put_bytes, w->out, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)))
        w->nomem = true;
    json_decref(value);
}

static void begin_line(struct writer *w)
{
    sonde_out_text(w->out, w->first ? "\n" : ",\n");
    w->first = false;
}

static void put_line(struct writer *w, json_t *value)
{
    begin_line(w);
    put_json(w, value);
}

static void begin_array(struct writer *w, const char *name)
{
    sonde_out_text(w->out, ",\n\"");
    sonde_out_text(w->out, name);
    sonde_out_text(w->out, "\":[");
    w->first = true;
}

static void end_array(struct writer *w)
{
    sonde_out_text(w->out, "\n]");
}

/* ---- processes ------------------------------------------------------------------ */

static json_t *ledger(const struct sonde_process *p)
{
    const struct sonde_ledger *l = &p->header.ledger;
    json_t *dropped = json_object(), *all = json_object();
    for (uint32_t i = 0; i < SONDE_DROP_COUNT; i++)
        json_object_set_new(dropped, sonde_drop_name(i), number(l->dropped[i]));
    const struct {
        const char *name;
        uint64_t value;
    } lines[] = {
        {"seen", l->seen},
        {"done", l->done},
        {"failed", l->failed},
        {"no_times", l->no_times},
        {"unmatched", l->unmatched},
        {"unplaced", l->unplaced},
        {"silent_launches", l->silent_launches},
        {"bad_time", l->bad_time},
        {"early_in_bound", l->early_in_bound},
        {"api_calls", l->api_calls},
        {"unwinds", l->unwinds},
        {"unwind_failed", l->unwind_failed},
        {"unwind_truncated", l->unwind_truncated},
        {"unwind_checked", l->unwind_checked},
        {"unwind_mismatched", l->unwind_mismatched},
        {"python_walks", l->python_walks},
        {"python_failed", l->python_failed},
        {"contexts_folded", l->contexts_folded},
        {"hook_ns", l->hook_ns},
        {"thread_cpu_ns", l->thread_cpu_ns},
        {"written_bytes", l->written_bytes},
        {"busy_clipped_ns", l->busy_clipped_ns},
        {"busy_left_out", l->busy_left_out},
        {"calls_dropped", l->calls_dropped},
        {"damaged_chunks", p->damaged_chunks},
        {"damaged_bytes", p->damaged_bytes},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        json_object_set_new(all, lines[i].name, number(lines[i].value));
    for (unsigned table = 0; table < SONDE_TABLE_COUNT; table++)
        if (sonde_table_is_trace(table) && table != SONDE_TABLE_OP)
            json_object_set_new(all, sonde_counter_name(sonde_table_info(table)),
                                number(sonde_rows_dropped(&p->header, sonde_table_info(table), 0)));
    json_object_set_new(all, "vendor_ns", number_or_null(l->vendor_ns));
    json_object_set_new(all, "dropped", dropped);
    return all;
}

static json_t *devices(struct writer *w, const struct sonde_process *p)
{
    static const char *const kinds[] = {"unknown", "cpu", "gpu", "accelerator"};
    json_t *all = json_array();
    for (uint32_t i = 1; i < p->device_count; i++) {
        const struct sonde_row_device *d = &p->devices[i];
        json_array_append_new(
            all, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "id", (int)i, "name",
                           text(w, sonde_process_string(p, d->name)), "vendor",
                           text(w, sonde_process_string(p, d->vendor)), "driver",
                           text(w, sonde_process_string(p, d->driver)), "platform",
                           text(w, sonde_process_string(p, d->platform)), "backend",
                           text(w, sonde_process_string(p, d->backend)), "kind", kinds[d->kind < 4 ? d->kind : 0],
                           "memory_bytes", number_or_null(d->memory_bytes), "compute_units",
                           number_or_null(d->compute_units), "busy_ns",
                           i < SONDE_BUSY_DEVICES ? number(p->header.device_busy[i].busy_ns) : json_null()));
    }
    return all;
}

static json_t *lanes(struct writer *w, const struct sonde_process *p)
{
    json_t *all = json_array();
    char name[256];
    for (uint32_t i = 1; i < p->lane_count; i++) {
        const struct sonde_row_lane *l = &p->lanes[i];
        bool queue = l->kind == SONDE_LANE_KIND_QUEUE;
        uint64_t dropped = 0;
        if (sonde_lane_is_series(l))
            continue;
        for (size_t k = 0; k < sizeof l->dropped / sizeof *l->dropped; k++)
            dropped += l->dropped[k];
        json_array_append_new(
            all, json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "id", (int)i, "kind",
                           queue ? "queue" : "thread", "name",
                           text(w, sonde_names_lane(&w->names, w->process, i, name, sizeof name)), "device",
                           queue ? number_or_null(l->device) : json_null(), "context",
                           queue ? number_or_null(l->context) : json_null(), "tid",
                           queue ? json_null() : number_or_null(l->tid), "out_of_order",
                           queue && (l->flags & SONDE_LANE_OUT_OF_ORDER), "legacy_default",
                           queue && (l->flags & SONDE_LANE_LEGACY), "non_blocking",
                           queue && (l->flags & SONDE_LANE_NON_BLOCKING), "seen", number(l->seen), "done", number(l->done), "unmatched",
                           number(l->unmatched), "bad_time", number(l->bad_time), "dropped", number(dropped)));
    }
    return all;
}

static json_t *objects(struct writer *w, const struct sonde_process *p)
{
    json_t *all = json_array();
    for (uint32_t i = 1; i < p->object_count; i++) {
        const struct sonde_row_object *o = &p->objects[i];
        json_array_append_new(
            all, json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", (int)i, "kind",
                           sonde_object_kind_name(o->kind), "bytes", number(o->bytes), "address",
                           number_or_null(o->address), "alloc_ns", number_or_null(o->alloc_ns), "free_ns",
                           number_or_null(o->free_ns), "first_use_ns", number_or_null(o->first_use_ns), "last_use_ns",
                           number_or_null(o->last_use_ns), "uses", number(o->uses), "uses_partial", json_boolean(o->flags & SONDE_OBJECT_USES_PARTIAL),
                           "device", number_or_null(o->device), "parent", number_or_null(o->parent), "context",
                           number_or_null(sonde_names_locate(&w->names, w->process, o->node))));
    }
    return all;
}

static json_t *sizes(const uint64_t *values, uint32_t dims)
{
    json_t *all = json_array();
    if (!values[0]) {
        json_decref(all);
        return json_null();
    }
    for (uint32_t i = 0; i < dims && i < 3; i++)
        json_array_append_new(all, number(values[i]));
    return all;
}

/* Beyond the sizes, only what the runtime told. */
static json_t *work(const struct sonde_row_work *row, uint32_t id)
{
    json_t *all = json_pack("{s:i, s:o, s:o}", "id", (int)id, "global", sizes(row->global, row->dims), "local",
                            sizes(row->local, row->dims));
    if (row->registers) {
        json_object_set_new(all, "registers", number(row->registers));
        json_object_set_new(all, "static_shared_bytes", number(row->static_shared));
        json_object_set_new(all, "dynamic_shared_bytes", number(row->dynamic_shared));
        json_object_set_new(all, "local_bytes", number(row->local_bytes));
    }
    if (row->cluster[0])
        json_object_set_new(all, "cluster",
                            json_pack("[i, i, i]", (int)row->cluster[0], (int)row->cluster[1], (int)row->cluster[2]));
    if (row->occupancy) {
        json_object_set_new(all, "occupancy", json_real(row->occupancy / 1000.0));
        json_object_set_new(all, "occupancy_limiter", json_string(sonde_limiter_name(row->limiter)));
    }
    if (row->source || row->target) {
        json_object_set_new(all, "source", json_string(sonde_memory_name(row->source)));
        json_object_set_new(all, "target", json_string(sonde_memory_name(row->target)));
    }
    if (row->source_device) {
        json_object_set_new(all, "source_device", number(row->source_device));
        json_object_set_new(all, "target_device", number(row->target_device));
    }
    return all;
}

static json_t *works(const struct sonde_process *p)
{
    json_t *all = json_array();
    for (uint32_t i = 1; i < p->work_count; i++)
        json_array_append_new(all, work(&p->works[i], i));
    return all;
}

static json_t *notes(struct writer *w, const struct sonde_process *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->note_count; i++)
        if (p->notes[i].text[0])
            json_array_append_new(all, json_pack("{s:o, s:o}", "at_ns", number(p->notes[i].at_ns), "text",
                                                 text(w, p->notes[i].text)));
    return all;
}

static json_t *pauses(const struct sonde_process *p)
{
    json_t *all = json_array();
    for (uint32_t i = 1; i < p->pause_count; i++)
        if (p->pauses[i].from_ns)
            json_array_append_new(all, json_pack("{s:o, s:o}", "from_ns", number(p->pauses[i].from_ns), "to_ns",
                                                 number_or_null(p->pauses[i].to_ns)));
    return all;
}

static json_t *process(struct writer *w, uint32_t index)
{
    const struct sonde_process *p = &w->m->processes[index];
    const struct sonde_live_header *h = &p->header;
    w->process = index;
    json_t *all = json_pack("{s:i, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:o, s:o}", "id", (int)index, "name",
                            text(w, p->name), "pid", number(h->pid), "executable", text_or_null(w, h->executable),
                            "state", sonde_state_text(h->state), "trace", (int)h->trace, "start_ns",
                            number(h->start_ns), "stop_ns", number_or_null(h->stop_ns), "wall_offset_ns",
                            number(h->wall_offset_ns), "clock_bound_ns",
                            sonde_process_clock_known(p) ? number(h->clock_bound_ns) : json_null());
    sonde_rank_json(p, all);
    json_object_set_new(all, "program_start_ns", number_or_null(h->exec_ns));
    json_object_set_new(all, "pauses", pauses(p));
    json_object_set_new(all, "devices", devices(w, p));
    json_object_set_new(all, "lanes", lanes(w, p));
    json_object_set_new(all, "works", works(p));
    json_object_set_new(all, "objects", objects(w, p));
    json_object_set_new(all, "notes", notes(w, p));
    json_object_set_new(all, "ledger", ledger(p));
    return all;
}

/* ---- the tree, and totals by name ----------------------------------------------------- */

static json_t *context(struct writer *w, uint32_t at)
{
    static const char *const kinds[] = {"root", "native", "python", "api", "operation", "unknown", "cut", "link", "range"};
    const struct sonde_cct_node *node = &w->names.profile->nodes.items[at];
    const struct sonde_metrics *self = &node->self;
    json_t *all = json_pack("{s:i, s:o, s:s, s:o, s:o, s:o, s:o}", "id", (int)at, "parent",
                            at ? number(node->parent) : json_null(), "kind", kinds[node->kind < 9 ? node->kind : 5],
                            "name", text_or_null(w, node->name), "file", text_or_null(w, node->file), "line",
                            number_or_null(node->line), "module", text_or_null(w, node->module));
    if (node->kind == SONDE_FRAME_LINK)
        json_object_set_new(all, "prepared_in", number_or_null(node->offset));
    if (node->kind == SONDE_FRAME_NATIVE && !*node->name)
        json_object_set_new(all, "offset", number(node->offset));
    if (node->kind == SONDE_FRAME_OP) {
        json_object_set_new(all, "operation", json_string(sonde_op_kind_name(node->op)));
        json_object_set_new(all, "operations", number(self->operations));
        json_object_set_new(all, "device_ns", number(self->device_ns));
        json_object_set_new(all, "queue_ns", number(self->queue_ns));
        json_object_set_new(all, "bytes", number(self->bytes));
    }
    if (node->kind == SONDE_FRAME_API) {
        json_object_set_new(all, "calls", number(self->api_calls));
        json_object_set_new(all, "host_ns", number(self->api_ns));
    }
    if (self->samples) {
        json_object_set_new(all, "samples", number(self->samples));
        json_object_set_new(all, "cpu_ns", number(self->cpu_ns));
    }
    if (self->sleeps) {
        json_object_set_new(all, "sleeps", number(self->sleeps));
        json_object_set_new(all, "slept_ns", number(self->slept_ns));
    }
    return all;
}

static json_t *total(struct writer *w, const struct sonde_group *group, bool api)
{
    const struct sonde_stat *s = &group->stat;
    json_t *all = json_pack("{s:o, s:o, s:o, s:o}", "name",
                            text(w, *group->name ? group->name : sonde_op_kind_name(group->op)), "count",
                            number(s->count), "timed", number(s->timed), "failed", number(s->failed));
    json_object_set_new(all, "total_ns", s->timed ? number(s->sum_ns) : json_null());
    json_object_set_new(all, "min_ns", s->timed ? number(s->min_ns) : json_null());
    json_object_set_new(all, "max_ns", s->timed ? number(s->max_ns) : json_null());
    json_object_set_new(all, "mean_ns", s->timed ? json_real(sonde_stat_mean(s)) : json_null());
    json_object_set_new(all, "stddev_ns", s->timed > 1 ? json_real(sonde_stat_stddev(s)) : json_null());
    if (!api) {
        json_object_set_new(all, "kind", json_string(sonde_op_kind_name(group->op)));
        json_object_set_new(all, "group", json_string(sonde_group_text(group->op)));
        json_object_set_new(all, "bytes", number(s->bytes));
    }
    return all;
}

static void put_tables(struct writer *w)
{
    const struct sonde_profile *profile = w->names.profile;
    begin_array(w, "processes");
    for (uint32_t i = 0; i < w->m->process_count; i++)
        put_line(w, process(w, i));
    end_array(w);
    begin_array(w, "operation_totals");
    for (size_t i = 0; i < profile->ops.count; i++)
        put_line(w, total(w, &profile->ops.items[i], false));
    end_array(w);
    begin_array(w, "call_totals");
    for (size_t i = 0; i < profile->apis.count; i++)
        put_line(w, total(w, &profile->apis.items[i], true));
    end_array(w);
    begin_array(w, "contexts");
    for (uint32_t i = 0; i < profile->nodes.count && !sonde_out_failed(w->out); i++)
        put_line(w, context(w, i));
    end_array(w);
}

/* ---- the value flow graph ---------------------------------------------------------------- */

static json_t *vertex(const struct sonde_flow_vertex *v)
{
    static const char *const kinds[] = {[SONDE_FLOW_HOST] = "host", [SONDE_FLOW_ALLOCATION] = "allocation", [SONDE_FLOW_OPERATION] = "operation"};
    json_t *all = json_pack("{s:o, s:s, s:o}", "id", number(v->id), "kind", kinds[v->kind], "operations", number(v->operations));
    json_object_set_new(all, "context", v->node ? number(v->node) : json_null());
    json_object_set_new(all, "object", v->kind == SONDE_FLOW_ALLOCATION ? json_string(sonde_object_kind_name(v->object_kind)) : json_null());
    json_object_set_new(all, "device_ns", v->kind == SONDE_FLOW_OPERATION ? number(v->time_ns) : json_null());
    return all;
}

static json_t *edge(const struct sonde_flow *flow, const struct sonde_flow_edge *e)
{
    json_t *all = json_pack("{s:o, s:o, s:s, s:b, s:b, s:b, s:o, s:o}", "from", number(flow->vertices.items[e->from].id), "to",
                            number(flow->vertices.items[e->to].id), "object", sonde_object_kind_name(e->object_kind), "reads",
                            e->how & SONDE_FLOW_READ, "writes", e->how & SONDE_FLOW_WRITE, "exact", !(e->how & SONDE_FLOW_MAYBE), "operations",
                            number(e->operations), "bytes", number(e->bytes));
    json_object_set_new(all, "allocated", e->object_node ? number(e->object_node) : json_null());
    json_object_set_new(all, "elements", e->elements ? number(e->elements) : json_null());
    json_object_set_new(all, "unchanged", e->elements ? number(e->unchanged) : json_null());
    return all;
}

static void put_graph(struct writer *w)
{
    struct sonde_values values = {0};
    struct sonde_flow flow = {0};
    w->nomem |= sonde_values_compute(w->m, w->names.profile, SONDE_VALUES_THRESHOLD, &values) ||
                sonde_flow_compute(w->m, w->names.profile, &values, &flow);
    begin_array(w, "value_vertices");
    for (size_t i = 0; i < flow.vertices.count; i++)
        put_line(w, vertex(&flow.vertices.items[i]));
    end_array(w);
    begin_array(w, "value_edges");
    for (size_t i = 0; i < flow.edges.count; i++)
        put_line(w, edge(&flow, &flow.edges.items[i]));
    end_array(w);
    sonde_flow_fini(&flow);
    sonde_values_fini(&values);
}

/* ---- rows of the trace ------------------------------------------------------------------ */

static void put_field(struct writer *w, const char *name, uint64_t value)
{
    sonde_out_text(w->out, name);
    sonde_out_u64(w->out, value);
}

static void put_field_or_null(struct writer *w, const char *name, uint64_t value)
{
    if (value) {
        put_field(w, name, value);
        return;
    }
    sonde_out_text(w->out, name);
    sonde_out_text(w->out, "null");
}

static void put_string(struct writer *w, const char *s)
{
    sonde_out_json(w->out, s, &w->clean);
}

static void put_op(struct writer *w, const void *row)
{
    const struct sonde_row_op *op = row;
    uint32_t at = sonde_names_locate(&w->names, w->process, op->node);
    bool none = op->flags & SONDE_OP_NO_TIMES;
    sonde_out_text(w->out, ",\"kind\":\"");
    sonde_out_text(w->out, sonde_op_kind_name(op->kind));
    sonde_out_text(w->out, "\",\"name\":");
    put_string(w, sonde_names_op(&w->names, at, op->kind));
    put_field(w, ",\"correlation\":", op->correlation);
    put_field(w, ",\"enter_ns\":", op->enter_ns);
    put_field_or_null(w, ",\"queued_ns\":", none ? 0 : op->queued_ns);
    put_field_or_null(w, ",\"submit_ns\":", none ? 0 : op->submit_ns);
    put_field_or_null(w, ",\"start_ns\":", none ? 0 : op->start_ns);
    put_field_or_null(w, ",\"end_ns\":", none ? 0 : op->end_ns);
    put_field(w, ",\"bytes\":", op->bytes);
    put_field_or_null(w, ",\"work\":", op->work);
    put_field_or_null(w, ",\"object\":", op->object);
    put_field_or_null(w, ",\"context\":", at);
    sonde_out_text(w->out, op->flags & SONDE_OP_FAILED ? ",\"failed\":true" : ",\"failed\":false");
    sonde_out_text(w->out, op->flags & SONDE_OP_BAD_TIME ? ",\"bad_time\":true" : ",\"bad_time\":false");
    w->result->without_times += none || !op->start_ns || op->end_ns < op->start_ns;
    w->result->operations++;
}

static void put_call(struct writer *w, const void *row)
{
    const struct sonde_row_call *call = row;
    uint32_t at = sonde_names_locate(&w->names, w->process, call->node);
    sonde_out_text(w->out, ",\"name\":");
    put_string(w, sonde_names_call(&w->names, at));
    put_field_or_null(w, ",\"correlation\":", call->correlation);
    put_field(w, ",\"enter_ns\":", call->enter_ns);
    put_field(w, ",\"leave_ns\":", call->leave_ns);
    put_field_or_null(w, ",\"queue\":", call->lane);
    put_field_or_null(w, ",\"context\":", at);
    w->result->calls++;
}

static void put_string_or_null(struct writer *w, const char *name, uint32_t id)
{
    const char *s = sonde_process_string(&w->m->processes[w->process], id);
    sonde_out_text(w->out, name);
    if (*s)
        put_string(w, s);
    else
        sonde_out_text(w->out, "null");
}

/* Text, since a real needs 17 digits, and integers of 64 bits have more than jansson's. */
static void put_payload(struct writer *w, const struct sonde_row_range *range)
{
    static const char *const types[] = {"null", "\"uint64\"", "\"int64\"", "\"double\""};
    uint16_t type = range->payload_type < 4 ? range->payload_type : 0;
    char text[40] = "null";
    double real;
    memcpy(&real, &range->payload, sizeof real);
    if (type == 1)
        snprintf(text, sizeof text, "%llu", (unsigned long long)range->payload);
    else if (type == 2)
        snprintf(text, sizeof text, "%lld", (long long)range->payload);
    else if (type == 3 && isfinite(real))
        snprintf(text, sizeof text, "%.17g", real);
    sonde_out_text(w->out, ",\"payload\":");
    sonde_out_text(w->out, text);
    sonde_out_text(w->out, ",\"payload_type\":");
    sonde_out_text(w->out, types[type]);
}

static void put_range(struct writer *w, const void *row)
{
    const struct sonde_row_range *range = row;
    put_string_or_null(w, ",\"name\":", range->name);
    put_string_or_null(w, ",\"domain\":", range->domain);
    put_string_or_null(w, ",\"category\":", range->category);
    put_field(w, ",\"begin_ns\":", range->begin_ns);
    put_field_or_null(w, ",\"end_ns\":", range->end_ns);
    put_payload(w, range);
    sonde_out_text(w->out, range->flags & SONDE_RANGE_MARK ? ",\"mark\":true" : ",\"mark\":false");
    sonde_out_text(w->out, range->flags & SONDE_RANGE_ACROSS ? ",\"across\":true" : ",\"across\":false");
    w->result->ranges++;
}

/* User events by their own numbers, which JavaScript can hold. */
static void put_wait(struct writer *w, const void *row)
{
    const struct sonde_row_wait *wait = row;
    put_field(w, ",\"enter_ns\":", wait->enter_ns);
    put_field_or_null(w, ",\"waiter\":", wait->waiter < SONDE_WAIT_USER_EVENT ? wait->waiter : 0);
    put_field_or_null(w, ",\"operation\":", wait->awaited < SONDE_WAIT_USER_EVENT ? wait->awaited : 0);
    put_field_or_null(w, ",\"user_event\":", wait->awaited < SONDE_WAIT_USER_EVENT ? 0 : wait->awaited - SONDE_WAIT_USER_EVENT);
    put_field_or_null(w, ",\"completes_user_event\":", wait->waiter < SONDE_WAIT_USER_EVENT ? 0 : wait->waiter - SONDE_WAIT_USER_EVENT);
    put_field_or_null(w, ",\"queue\":", wait->lane);
    put_field_or_null(w, ",\"device\":", wait->device);
}

static void put_sample(struct writer *w, const void *row)
{
    const struct sonde_row_sample *sample = row;
    put_field(w, ",\"time_ns\":", sample->time_ns);
    put_field(w, ",\"cpu_ns\":", sample->cpu_ns);
    put_field_or_null(w, ",\"context\":", sonde_names_locate(&w->names, w->process, sample->node));
    sonde_out_text(w->out, sample->flags & SONDE_SAMPLE_DEFERRED ? ",\"deferred\":true" : ",\"deferred\":false");
}

static void put_switch(struct writer *w, const void *row)
{
    const struct sonde_row_switch *off = row;
    put_field(w, ",\"out_ns\":", off->out_ns);
    put_field_or_null(w, ",\"in_ns\":", off->in_ns);
    sonde_out_text(w->out, off->flags & SONDE_SWITCH_PREEMPTED ? ",\"preempted\":true" : ",\"preempted\":false");
}

static void put_sleep(struct writer *w, const void *row)
{
    const struct sonde_row_sleep *sleep = row;
    put_field(w, ",\"from_ns\":", sleep->from_ns);
    put_field(w, ",\"to_ns\":", sleep->to_ns);
    put_field_or_null(w, ",\"context\":", sonde_names_locate(&w->names, w->process, sleep->node));
    sonde_out_text(w->out, ",\"for\":\"");
    sonde_out_text(w->out, sonde_sleep_text(sleep->kind));
    sonde_out_text(w->out, "\"");
}

static void put_message(struct writer *w, const void *row)
{
    const struct sonde_row_message *m = row;
    const struct sonde_process *p = &w->m->processes[w->process];
    put_field(w, ",\"enter_ns\":", m->enter_ns);
    put_field(w, ",\"leave_ns\":", m->leave_ns);
    put_field(w, ",\"posted_ns\":", m->posted_ns);
    put_field_or_null(w, ",\"context\":", sonde_names_locate(&w->names, w->process, m->node));
    sonde_out_text(w->out, ",\"kind\":\"");
    sonde_out_text(w->out, sonde_message_kind_name(m->kind));
    sonde_out_text(w->out, "\",\"communicator\":");
    if (m->comm)
        sonde_out_json(w->out, sonde_process_string(p, m->comm), &w->clean);
    else
        sonde_out_text(w->out, "null");
    if (m->peer)
        put_field(w, ",\"peer\":", m->peer - 1);
    else
        sonde_out_text(w->out, ",\"peer\":null");
    put_field(w, ",\"tag\":", m->tag);
    put_field(w, ",\"bytes\":", m->bytes);
}

/* The lane of a counter over time is in no list: a row says whose it is. */
static void put_series(struct writer *w, const void *row)
{
    const struct sonde_row_series *value = row;
    const struct sonde_process *p = &w->m->processes[w->process];
    const struct sonde_row_lane *lane = w->lane < p->lane_count ? &p->lanes[w->lane] : &p->lanes[0];
    char text[40];
    put_field(w, ",\"device\":", lane->device);
    sonde_out_text(w->out, ",\"metric\":");
    sonde_out_json(w->out, sonde_process_string(p, lane->name), &w->clean);
    put_field(w, ",\"from_ns\":", value->from_ns);
    put_field(w, ",\"to_ns\":", value->to_ns);
    snprintf(text, sizeof text, isfinite(value->value) ? ",\"value\":%.17g" : ",\"value\":null", value->value);
    sonde_out_text(w->out, text);
}

static const struct rows {
    const char *name;
    enum sonde_table table;
    void (*put)(struct writer *w, const void *row);
} traces[] = {
    {"operations", SONDE_TABLE_OP, put_op},
    {"calls", SONDE_TABLE_CALL, put_call},
    {"ranges", SONDE_TABLE_RANGE, put_range},
    {"waits", SONDE_TABLE_WAIT, put_wait},
    {"samples", SONDE_TABLE_SAMPLE, put_sample},
    {"switches", SONDE_TABLE_SWITCH, put_switch},
    {"sleeps", SONDE_TABLE_SLEEP, put_sleep},
    {"series", SONDE_TABLE_SERIES, put_series},
    {"messages", SONDE_TABLE_MESSAGE, put_message},
};
#define TRACES (sizeof traces / sizeof *traces)

static int put_row(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    w->lane = lane;
    begin_line(w);
    put_field(w, "{\"process\":", w->process);
    put_field(w, ",\"lane\":", lane);
    w->trace->put(w, row);
    sonde_out_char(w->out, '}');
    return sonde_out_failed(w->out) || w->nomem;
}

static void put_trace(struct writer *w, const struct rows *trace)
{
    int rc = 0;
    begin_array(w, trace->name);
    w->trace = trace;
    for (w->process = 0; w->process < w->m->process_count && !rc; w->process++)
        rc = sonde_trace_each(&w->m->processes[w->process],
                              &(struct sonde_trace_stored){.table = trace->table, .progress = w->progress}, put_row, w);
    w->nomem |= rc == SONDE_ENOMEM;
    end_array(w);
}

static int write_json(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                      struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.m = m, .out = out, .progress = progress, .result = result};
    int code = sonde_names_init(&w.names, m, diag);
    if (code)
        return code;
    sonde_progress_expect(progress, sonde_trace_rows(m, SONDE_READ_ALL));
    sonde_out_text(out, "{\"schema\":\"sonde-export\",\"version\":1,\"sonde\":\"" SONDE_VERSION "\",\n\"manifest\":");
    put_json(&w, m->manifest ? json_incref(m->manifest) : json_null());
    put_tables(&w);
    put_graph(&w);
    for (size_t i = 0; i < TRACES; i++)
        put_trace(&w, &traces[i]);
    sonde_out_text(out, "\n}\n");
    sonde_text_fini(&w.clean);
    sonde_names_fini(&w.names);
    return w.nomem ? sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot export") : 0;
}

const struct sonde_export_format sonde_export_json = {
    .name = "json",
    .extension = "json",
    .what = "the whole trace and profile: processes, devices, lanes, call paths, operations, API calls, ranges, waits, samples, ledger",
    .open_with = "docs/schema/export.json describes it",
    .write = write_json,
};
