/* tables.c - the tables of processes: what they are, their devices, lanes, data objects and call paths; filled as views are. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "analyze/profile/object_model.h"
#include "base/kinds.h"
#include "base/nearest.h"
#include "cells.h"
#include "format/tables.h"
#include "own.h"
#include "views/names.h"

static void known_int(struct sonde_view_table *t, uint64_t value)
{
    sonde_cell_int(t, value, value);
}

/* A time, on the axis of the run. */
static void known_time(struct sonde_view_table *t, const struct sonde_read *m, uint32_t process, uint64_t time_ns)
{
    sonde_cell_real(t, time_ns, (double)(int64_t)(time_ns - (uint64_t)m->origins[process]));
}

/* ---- processes -------------------------------------------------------------------------------- */

static const struct sonde_view_column process_columns[] = {
    {.name = "process", .kind = SONDE_CELL_TEXT, .definition = "its name: HOST-PID-N"},
    {.name = "pid", .kind = SONDE_CELL_ID, .definition = "process id on its host"},
    {.name = "executable", .kind = SONDE_CELL_TEXT, .definition = "path of its program"},
    {.name = "state", .kind = SONDE_CELL_TEXT, .definition = "exited, running (or killed), off: recording switched itself off"},
    {.name = "rank", .kind = SONDE_CELL_ID, .definition = "rank in a parallel job"},
    {.name = "ranks", .kind = SONDE_CELL_COUNT, .definition = "ranks of that job"},
    {.name = "traced", .kind = SONDE_CELL_BOOLEAN, .definition = "it has rows with times, not only a profile"},
    {.name = "start_ns", .kind = SONDE_CELL_TIME, .definition = "recording began, since the run began"},
    {.name = "stop_ns", .kind = SONDE_CELL_TIME, .definition = "last sign of life, since the run began"},
    {.name = "origin_ns", .kind = SONDE_CELL_TIME, .definition = "begin of the run on CLOCK_MONOTONIC_RAW of its host, which exports have: their times less this are since the run began"},
    {.name = "clock_bound_ns", .kind = SONDE_CELL_TIME, .definition = "largest error of its device times"},
    {.name = "seen", .kind = SONDE_CELL_COUNT, .definition = "operations that it enqueued while recording was on"},
    {.name = "done", .kind = SONDE_CELL_COUNT, .definition = "of them, completed"},
    {.name = "dropped", .kind = SONDE_CELL_COUNT, .definition = "operations, or rows of them, for which there was no room"},
    {.name = "unmatched", .kind = SONDE_CELL_COUNT, .definition = "completions without a submission, or the reverse"},
    {.name = "damaged_chunks", .kind = SONDE_CELL_COUNT, .definition = "parts of its files that were damaged, as far as they were read"},
};
static const struct sonde_view_columns process_table = SONDE_VIEW_COLUMNS("processes", process_columns);

static void fill_process(const struct sonde_read *m, uint32_t process, struct sonde_view_table *t)
{
    const struct sonde_process *p = &m->query.m->processes[process];
    const struct sonde_live_header *h = &p->header;
    const int64_t origin_ns = m->origins[process];
    uint64_t dropped = 0;
    for (size_t i = 0; i < sizeof h->ledger.dropped / sizeof *h->ledger.dropped; i++)
        dropped += h->ledger.dropped[i];
    sonde_cell_text(t, p->name);
    sonde_cell_int(t, true, h->pid);
    sonde_cell_text(t, h->executable);
    sonde_cell_text(t, sonde_state_text(h->state));
    sonde_cell_int(t, h->rank, h->rank - 1u);
    known_int(t, h->rank_count);
    sonde_cell_boolean(t, p->trace_count > 0);
    known_time(t, m, process, h->start_ns);
    known_time(t, m, process, h->stop_ns);
    if (origin_ns >= 0)
        sonde_cell_int(t, true, (uint64_t)origin_ns);
    else
        sonde_cell_real(t, true, (double)origin_ns);
    sonde_cell_int(t, sonde_process_clock_known(p), h->clock_bound_ns);
    sonde_cell_int(t, true, h->ledger.seen);
    sonde_cell_int(t, true, h->ledger.done);
    sonde_cell_int(t, true, dropped);
    sonde_cell_int(t, true, h->ledger.unmatched);
    sonde_cell_int(t, true, __atomic_load_n(&p->damaged_chunks, __ATOMIC_RELAXED));
}

static uint64_t process_rows(const struct sonde_read *m)
{
    return m->query.m->process_count;
}

/* ---- devices and lanes --------------------------------------------------------------------------- */

static const struct sonde_view_column device_columns[] = {
    {.name = "process", .kind = SONDE_CELL_TEXT, .definition = "whose it is"},
    {.name = "device", .kind = SONDE_CELL_ID, .definition = "its number within the process, from 1"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "as its driver calls it"},
    {.name = "vendor", .kind = SONDE_CELL_TEXT, .definition = "who made it"},
    {.name = "driver", .kind = SONDE_CELL_TEXT, .definition = "version of its driver"},
    {.name = "platform", .kind = SONDE_CELL_TEXT, .definition = "runtime and platform"},
    {.name = "backend", .kind = SONDE_CELL_TEXT, .definition = "what recorded it: cuda, opencl"},
    {.name = "memory_bytes", .kind = SONDE_CELL_BYTES, .definition = "its memory"},
    {.name = "compute_units", .kind = SONDE_CELL_COUNT, .definition = "compute units; CUDA: multiprocessors"},
};
static const struct sonde_view_columns device_table = SONDE_VIEW_COLUMNS("devices", device_columns);

static void fill_devices(const struct sonde_read *m, uint32_t process, struct sonde_view_table *t)
{
    const struct sonde_process *p = &m->query.m->processes[process];
    for (uint32_t i = 1; i < p->device_count; i++) {
        const struct sonde_row_device *row = &p->devices[i];
        const uint32_t texts[] = {row->name, row->vendor, row->driver, row->platform, row->backend};
        sonde_cell_text(t, p->name);
        sonde_cell_int(t, true, i);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            sonde_cell_text(t, sonde_process_string(p, texts[k]));
        known_int(t, row->memory_bytes);
        known_int(t, row->compute_units);
    }
}

static const struct sonde_view_column lane_columns[] = {
    {.name = "process", .kind = SONDE_CELL_TEXT, .definition = "whose it is"},
    {.name = "lane", .kind = SONDE_CELL_ID, .definition = "its number within the process, from 1"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "queue or thread"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "what it is called"},
    {.name = "device", .kind = SONDE_CELL_ID, .definition = "device of a queue"},
    {.name = "tid", .kind = SONDE_CELL_ID, .definition = "thread id"},
    {.name = "out_of_order", .kind = SONDE_CELL_BOOLEAN, .definition = "the queue executes out of order"},
    {.name = "operations", .kind = SONDE_CELL_COUNT, .definition = "operations enqueued there; unknown: a thread"},
};
static const struct sonde_view_columns lane_table = SONDE_VIEW_COLUMNS("lanes", lane_columns);

static void fill_lanes(const struct sonde_read *m, uint32_t process, struct sonde_view_table *t)
{
    const struct sonde_process *p = &m->query.m->processes[process];
    char room[256];
    for (uint32_t i = 1; i < p->lane_count; i++) {
        const struct sonde_row_lane *row = &p->lanes[i];
        const bool queue = row->kind == SONDE_LANE_KIND_QUEUE;
        if (sonde_lane_is_series(row))
            continue;
        sonde_cell_text(t, p->name);
        sonde_cell_int(t, true, i);
        sonde_cell_text(t, queue ? "queue" : "thread");
        sonde_cell_text(t, sonde_names_lane(&m->names, process, i, room, sizeof room));
        sonde_cell_int(t, queue && row->device, row->device);
        sonde_cell_int(t, !queue && row->tid, row->tid);
        sonde_cell_boolean(t, queue && (row->flags & SONDE_LANE_OUT_OF_ORDER));
        sonde_cell_int(t, queue, row->seen);
    }
}

/* ---- data objects ---------------------------------------------------------------------------------- */

static const struct sonde_view_column object_columns[] = {
    {.name = "process", .kind = SONDE_CELL_TEXT, .definition = "whose it is"},
    {.name = "object", .kind = SONDE_CELL_ID, .definition = "its number within the process, from 1"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "buffer, image, device memory ..."},
    {.name = "bytes", .kind = SONDE_CELL_BYTES, .definition = "its size"},
    {.name = "alloc_ns", .kind = SONDE_CELL_TIME, .definition = "when it was allocated, since the run began"},
    {.name = "free_ns", .kind = SONDE_CELL_TIME, .definition = "when it was freed; unknown: alive at the end"},
    {.name = "first_use_ns", .kind = SONDE_CELL_TIME, .definition = "entry of the API call of the first operation that used it"},
    {.name = "last_use_ns", .kind = SONDE_CELL_TIME, .definition = "the same of the last one"},
    {.name = "uses", .kind = SONDE_CELL_COUNT, .definition = "operations that named it, or a part of it"},
    {.name = "device", .kind = SONDE_CELL_ID, .definition = "device that it lies on; unknown: the host, or whichever uses it"},
    {.name = "parent", .kind = SONDE_CELL_ID, .definition = "object that it is a part of"},
    {.name = "context", .kind = SONDE_CELL_ID, .definition = "call path of its allocation: id in the table contexts"},
};
static const struct sonde_view_columns object_table = SONDE_VIEW_COLUMNS("objects", object_columns);

static void fill_objects(const struct sonde_read *m, uint32_t process, struct sonde_view_table *t)
{
    const struct sonde_process *p = &m->query.m->processes[process];
    for (uint32_t i = 1; i < p->object_count; i++) {
        const struct sonde_row_object *o = &p->objects[i];
        sonde_cell_text(t, p->name);
        sonde_cell_int(t, true, i);
        sonde_cell_text(t, sonde_object_kind_name(o->kind));
        sonde_cell_int(t, true, o->bytes);
        known_time(t, m, process, o->alloc_ns);
        known_time(t, m, process, o->free_ns);
        known_time(t, m, process, o->first_use_ns);
        known_time(t, m, process, o->last_use_ns);
        sonde_cell_int(t, true, o->uses);
        known_int(t, o->device);
        known_int(t, o->parent);
        known_int(t, sonde__read_context(m, process, o->node));
    }
}

/* ---- what the program named ------------------------------------------------------------------------- */

static const struct sonde_view_column name_columns[] = {
    {.name = "process", .kind = SONDE_CELL_TEXT, .definition = "whose it is"},
    {.name = "object", .kind = SONDE_CELL_ID, .definition = "data object in which it lies; unknown: in none that was known"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "as the program calls it"},
    {.name = "offset", .kind = SONDE_CELL_ID, .definition = "where it begins, in bytes from the beginning of the object; of no object its address"},
    {.name = "bytes", .kind = SONDE_CELL_BYTES, .definition = "its size"},
    {.name = "rows", .kind = SONDE_CELL_COUNT, .definition = "rows of its elements; unknown: the program does not say, or it has holes"},
    {.name = "columns", .kind = SONDE_CELL_COUNT, .definition = "elements of a row"},
    {.name = "element_bytes", .kind = SONDE_CELL_BYTES, .definition = "bytes of an element"},
    {.name = "at_ns", .kind = SONDE_CELL_TIME, .definition = "when it was named last: of several names of a byte the latest stands"},
};
static const struct sonde_view_columns name_table = SONDE_VIEW_COLUMNS("names", name_columns);

static void fill_names(const struct sonde_read *m, uint32_t process, struct sonde_view_table *t)
{
    const struct sonde_process *p = &m->query.m->processes[process];
    const struct sonde_row_stretch *rows = p->tables[SONDE_TABLE_STRETCH].rows;
    for (uint32_t i = 1; i < p->tables[SONDE_TABLE_STRETCH].count; i++) {
        sonde_cell_text(t, p->name);
        known_int(t, rows[i].object);
        sonde_cell_text(t, sonde_process_string(p, rows[i].name));
        sonde_cell_int(t, true, rows[i].offset);
        sonde_cell_int(t, true, rows[i].bytes);
        known_int(t, rows[i].rows);
        known_int(t, rows[i].columns);
        known_int(t, rows[i].element_bytes);
        known_time(t, m, process, rows[i].at_ns);
    }
}

/* ---- call paths ------------------------------------------------------------------------------------- */

#define METRICS(prefix, of)                                                                                             \
    {.name = prefix "operations", .kind = SONDE_CELL_COUNT, .definition = "operations " of},                            \
    {.name = prefix "device_ns", .kind = SONDE_CELL_TIME, .definition = "their device time"},                           \
    {.name = prefix "queue_ns", .kind = SONDE_CELL_TIME, .definition = "from their API calls to their starts, summed"}, \
    {.name = prefix "bytes", .kind = SONDE_CELL_BYTES, .definition = "bytes that they moved"},                          \
    {.name = prefix "calls", .kind = SONDE_CELL_COUNT, .definition = "API calls " of},                                  \
    {.name = prefix "host_ns", .kind = SONDE_CELL_TIME, .definition = "host time in them"},                             \
    {.name = prefix "samples", .kind = SONDE_CELL_COUNT, .definition = "CPU samples " of},                              \
    {.name = prefix "cpu_ns", .kind = SONDE_CELL_TIME, .definition = "CPU time that they stand for"}

static const struct sonde_view_column context_columns[] = {
    {.name = "context", .kind = SONDE_CELL_ID, .definition = "its number: the row of this table"},
    {.name = "parent", .kind = SONDE_CELL_ID, .definition = "number of the caller, which comes before it; unknown: the root"},
    {.name = "kind", .kind = SONDE_CELL_TEXT, .definition = "root, native, python, api, operation, unknown, cut, link, range"},
    {.name = "label", .kind = SONDE_CELL_TEXT, .definition = "what reports call it: step() heat.c:81"},
    {.name = "name", .kind = SONDE_CELL_TEXT, .definition = "function, API call, kernel or range"},
    {.name = "file", .kind = SONDE_CELL_TEXT, .definition = "source file"},
    {.name = "line", .kind = SONDE_CELL_ID, .definition = "source line"},
    {.name = "module", .kind = SONDE_CELL_TEXT, .definition = "path of the executable or library; of a range its domain"},
    {.name = "code", .kind = SONDE_CELL_TEXT, .definition = "whose code it is: user, library or runtime"},
    {.name = "operation", .kind = SONDE_CELL_TEXT, .definition = "kind of a leaf that is an operation"},
    METRICS("", "of this frame alone"),
    METRICS("inclusive_", "of this frame and its callees"),
};
static const struct sonde_view_columns context_table = SONDE_VIEW_COLUMNS("contexts", context_columns);

static void put_metrics(struct sonde_view_table *t, const struct sonde_metrics *metrics)
{
    const uint64_t values[] = {metrics->operations, metrics->device_ns, metrics->queue_ns, metrics->bytes,
                               metrics->api_calls, metrics->api_ns, metrics->samples, metrics->cpu_ns};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sonde_cell_int(t, true, values[i]);
}

static void fill_contexts(const struct sonde_read *m, uint32_t process, struct sonde_view_table *t)
{
    (void)process;
    for (uint32_t i = 0; i < m->query.profile->nodes.count; i++) {
        const struct sonde_cct_node *node = &m->query.profile->nodes.items[i];
        struct sonde_text label = {0};
        if (i)
            sonde_name_frame(&m->query, &label, node);
        sonde_cell_int(t, true, i);
        sonde_cell_int(t, i, node->parent);
        sonde_cell_text(t, sonde_name_frame_kind(node->kind));
        sonde_cell_take(t, &label);
        sonde_cell_text(t, node->name);
        sonde_cell_text(t, node->file);
        known_int(t, node->line);
        sonde_cell_text(t, node->module);
        sonde_cell_text(t, i ? sonde_name_code(node) : NULL);
        sonde_cell_text(t, node->kind == SONDE_FRAME_OP ? sonde_op_kind_name(node->op) : NULL);
        put_metrics(t, &node->self);
        put_metrics(t, &node->total);
    }
}

/* ---- all of them -------------------------------------------------------------------------------------- */

const struct sonde__table sonde__tables[] = {
    {.name = "processes", .summary = "a process of the program", .columns = &process_table, .of_process = true, .rows = process_rows, .fill = fill_process},
    {.name = "devices", .summary = "a device as one process saw it", .columns = &device_table, .of_process = true, .loaded = true, .fill = fill_devices},
    {.name = "lanes", .summary = "a queue or a thread", .columns = &lane_table, .of_process = true, .prepared = true, .fill = fill_lanes},
    {.name = "objects", .summary = "a data object: memory of a device, or that devices use", .columns = &object_table, .of_process = true, .prepared = true, .fill = fill_objects},
    {.name = "names", .summary = "a name that the program gave to a part of a data object", .columns = &name_table, .of_process = true, .prepared = true, .fill = fill_names},
    {.name = "contexts", .summary = "a frame of the calling context tree, of all processes", .columns = &context_table, .prepared = true, .fill = fill_contexts},
};
const uint32_t sonde__table_count = sizeof sonde__tables / sizeof *sonde__tables;

/* ---- one of them as an answer ---------------------------------------------------------------------------- */

static bool is_wanted(const char *const *names, const char *name)
{
    for (size_t i = 0; names && names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return !names;
}

static int check_columns(const struct sonde__table *table, const char *const *names, struct sonde_diag *diag)
{
    for (size_t i = 0; names && names[i]; i++) {
        struct sonde_nearest nearest = {.word = names[i]};
        bool found = false;
        for (size_t k = 0; k < table->columns->count; k++) {
            sonde_nearest_try(&nearest, table->columns->items[k].name);
            found |= strcmp(table->columns->items[k].name, names[i]) == 0;
        }
        if (found)
            continue;
        sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "the table %s has no column '%s'", table->name, names[i]);
        if (*nearest.known)
            sonde_diag_hint(diag, "did you mean '%s'?", nearest.known);
        return SONDE_ENOTFOUND;
    }
    return 0;
}

/* What is not wanted has no name, and is left out. */
static int fill(const struct sonde_read *m, const struct sonde__table *table, const struct sonde_read_rows *asked,
                struct sonde_view_data *data)
{
    const uint32_t count = table->of_process ? m->query.m->process_count : 1;
    const size_t bytes = table->columns->count * sizeof *table->columns->items;
    struct sonde_view_column *items = sonde_arena_alloc(&data->arena, bytes);
    if (!items)
        return SONDE_ENOMEM;
    memcpy(items, table->columns->items, bytes);
    for (size_t i = 0; i < table->columns->count; i++)
        if (!is_wanted(asked->columns, items[i].name))
            items[i].name = NULL;
    const struct sonde_view_columns *columns = sonde_view_columns_copy(data, table->columns, items, table->columns->count);
    if (!columns)
        return SONDE_ENOMEM;
    data->root = sonde_view_table(data, columns);
    for (uint32_t process = 0; process < count; process++) {
        if (table->of_process && asked->process >= 0 && (uint32_t)asked->process != process)
            continue;
        if (table->loaded && sonde_process_load(&m->query.m->processes[process], SONDE_LOAD_ALL))
            return SONDE_ENOMEM;
        table->fill(m, process, data->root);
    }
    return data->error;
}

/* In the order in which they were asked for. */
static void put_in_order(const char *const *names, struct ArrowSchema *schema, struct ArrowArray *array)
{
    for (int64_t i = 0; names && i < schema->n_children && names[i]; i++)
        for (int64_t k = i + 1; k < schema->n_children; k++)
            if (strcmp(schema->children[i]->name, names[i]) != 0 && strcmp(schema->children[k]->name, names[i]) == 0) {
                struct ArrowSchema *s = schema->children[i];
                struct ArrowArray *a = array->children[i];
                schema->children[i] = schema->children[k];
                array->children[i] = array->children[k];
                schema->children[k] = s;
                array->children[k] = a;
            }
}

int sonde__table_arrow(struct sonde_read *m, const struct sonde__table *table, const struct sonde_read_rows *asked,
                       struct ArrowSchema *schema, struct ArrowArray *array, struct sonde_diag *diag)
{
    struct sonde_view_data data = {0};
    int rc = check_columns(table, asked->columns, diag);
    if (!rc && table->prepared)
        rc = sonde__read_prepare(m, diag);
    rc = rc ? rc : fill(m, table, asked, &data);
    rc = rc ? rc : sonde__cells_arrow(data.root, schema, array);
    if (!rc)
        put_in_order(asked->columns, schema, array);
    sonde_view_data_fini(&data);
    if (rc && !diag->code)
        sonde_diag_set(diag, rc, m->path, "cannot read the %s of", table->name);
    return rc;
}
