/* sqlite.c - all of a measurement as a database of SQLite; docs/export.md has the schema, and queries.
 *
 * A new file needs neither a journal nor syncs: it gets its name when it is whole. All rows are one transaction
 * (sqlite.org/faq.html#q19), and each index is made at the end, by one sort.
 */
#include "export.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "analyze/profile/object_model.h"
#include "analyze/trace/trace.h"
#include "base/utf8.h"
#include "format/tables.h"
#include "names.h"

/* clang-format off */
#define SQLITE_TABLE_MAP(X)                                                                                                     \
    X(meta, "key TEXT PRIMARY KEY, value TEXT")                                                                                 \
    X(process, "id INTEGER PRIMARY KEY, name TEXT, pid INTEGER, executable TEXT, state TEXT, rank INTEGER, ranks INTEGER, "     \
               "traced INTEGER, start_ns INTEGER, stop_ns INTEGER, shift_ns INTEGER, wall_offset_ns INTEGER, clock_bound_ns INTEGER") \
    X(device, "process INTEGER, id INTEGER, name TEXT, vendor TEXT, driver TEXT, platform TEXT, backend TEXT, "                 \
              "memory_bytes INTEGER, compute_units INTEGER, busy_ns INTEGER, PRIMARY KEY (process, id)")                        \
    X(lane, "process INTEGER, id INTEGER, kind TEXT, name TEXT, device INTEGER, tid INTEGER, out_of_order INTEGER, "            \
            "seen INTEGER, done INTEGER, PRIMARY KEY (process, id)")                                                            \
    X(context, "id INTEGER PRIMARY KEY, parent INTEGER, kind TEXT, name TEXT, file TEXT, line INTEGER, module TEXT, "           \
               "operation_kind TEXT, prepared_in INTEGER, operations INTEGER, timed INTEGER, failed INTEGER, device_ns INTEGER, " \
               "queue_ns INTEGER, bytes INTEGER, calls INTEGER, host_ns INTEGER, samples INTEGER, cpu_ns INTEGER, "             \
               "sleeps INTEGER, slept_ns INTEGER")                                                                              \
    X(operation_total, "kind TEXT, name TEXT, count INTEGER, timed INTEGER, failed INTEGER, bytes INTEGER, total_ns INTEGER, "  \
                       "min_ns INTEGER, max_ns INTEGER, mean_ns REAL, stddev_ns REAL")                                          \
    X(call_total, "name TEXT, count INTEGER, total_ns INTEGER, min_ns INTEGER, max_ns INTEGER, mean_ns REAL, stddev_ns REAL")   \
    X(ledger, "process INTEGER, name TEXT, value INTEGER, PRIMARY KEY (process, name)")                                         \
    X(note, "process INTEGER, at_ns INTEGER, text TEXT")                                                                        \
    X(work, "process INTEGER, id INTEGER, global_size TEXT, local_size TEXT, cluster TEXT, registers INTEGER, "                 \
            "static_shared_bytes INTEGER, dynamic_shared_bytes INTEGER, local_bytes INTEGER, occupancy REAL, "                  \
            "occupancy_limiter TEXT, source TEXT, target TEXT, source_device INTEGER, target_device INTEGER, PRIMARY KEY (process, id)") \
    X(object, "process INTEGER, id INTEGER, kind TEXT, bytes INTEGER, address INTEGER, alloc_ns INTEGER, free_ns INTEGER, "     \
              "first_use_ns INTEGER, last_use_ns INTEGER, uses INTEGER, device INTEGER, parent INTEGER, context INTEGER, "      \
              "PRIMARY KEY (process, id)")                                                                                      \
    X(operation, "process INTEGER, lane INTEGER, kind TEXT, context INTEGER, correlation INTEGER, enter_ns INTEGER, "           \
                 "queued_ns INTEGER, submit_ns INTEGER, start_ns INTEGER, end_ns INTEGER, bytes INTEGER, work INTEGER, "        \
                 "object INTEGER, failed INTEGER, bad_time INTEGER")                                                            \
    X(call, "process INTEGER, lane INTEGER, context INTEGER, correlation INTEGER, enter_ns INTEGER, leave_ns INTEGER, queue INTEGER") \
    X(range, "process INTEGER, lane INTEGER, name TEXT, domain TEXT, category TEXT, begin_ns INTEGER, end_ns INTEGER, "         \
             "mark INTEGER, across INTEGER, payload")                                                                           \
    X(wait, "process INTEGER, lane INTEGER, enter_ns INTEGER, waiter INTEGER, operation INTEGER, user_event INTEGER, "          \
            "completes_user_event INTEGER, queue INTEGER, device INTEGER")                                                      \
    X(sample, "process INTEGER, lane INTEGER, time_ns INTEGER, cpu_ns INTEGER, context INTEGER, deferred INTEGER")              \
    X(switch, "process INTEGER, lane INTEGER, out_ns INTEGER, in_ns INTEGER, preempted INTEGER")                                \
    X(sleep, "process INTEGER, lane INTEGER, from_ns INTEGER, to_ns INTEGER, context INTEGER, waits_for TEXT")                  \
    X(message, "process INTEGER, lane INTEGER, enter_ns INTEGER, leave_ns INTEGER, posted_ns INTEGER, context INTEGER, "        \
               "kind TEXT, communicator TEXT, peer INTEGER, tag INTEGER, bytes INTEGER")                                        \
    X(series, "process INTEGER, lane INTEGER, device INTEGER, metric TEXT, from_ns INTEGER, to_ns INTEGER, value REAL")         \
    X(pause, "process INTEGER, from_ns INTEGER, to_ns INTEGER")

enum table {
#define X(name, columns) TABLE_##name,
    SQLITE_TABLE_MAP(X)
#undef X
    TABLES
};

static const struct {
    const char *name, *columns;
} tables[TABLES] = {
#define X(name, columns) {#name, columns},
    SQLITE_TABLE_MAP(X)
#undef X
};
/* clang-format on */

static const char *const indices[] = {
    "CREATE INDEX context_parent ON context(parent)",
    "CREATE INDEX operation_start ON operation(start_ns)",
    "CREATE INDEX operation_context ON operation(context)",
    "CREATE INDEX operation_call ON operation(process, correlation)",
    "CREATE INDEX call_enter ON call(enter_ns)",
    "CREATE INDEX call_context ON call(context)",
    "CREATE INDEX call_operation ON call(process, correlation)",
    "CREATE INDEX sample_context ON sample(context)",
    "CREATE INDEX range_name ON range(name)",
    "CREATE INDEX message_enter ON message(enter_ns)",
    /* What one asks first: operations and calls with their names. */
    "CREATE VIEW named_operation AS SELECT operation.rowid AS id, ifnull(context.name, operation.kind) AS name, "
    "end_ns - start_ns AS duration_ns, operation.* FROM operation LEFT JOIN context ON context.id = operation.context",
    "CREATE VIEW named_call AS SELECT call.rowid AS id, ifnull(context.name, 'API call') AS name, leave_ns - enter_ns AS duration_ns, "
    "call.* FROM call LEFT JOIN context ON context.id = call.context",
};

struct writer {
    const struct sonde_measurement *m;
    struct sonde_names names;
    struct sonde_out *out;
    struct sonde_progress *progress;
    struct sonde_export_result *result;
    struct sonde_text clean;
    sqlite3 *db;
    sqlite3_stmt *insert[TABLES];
    sqlite3_stmt *row; /* the one being filled */
    int column;
    bool failed;
    uint32_t process, lane; /* whose rows are written */
};

/* ---- rows -------------------------------------------------------------------------- */

/* What the system said, for the diagnosis; SQLite has it for calls that failed. */
static void fail(struct writer *w, int rc)
{
    const int error = rc == SQLITE_FULL ? ENOSPC : rc == SQLITE_NOMEM ? ENOMEM
                                                                      : sqlite3_system_errno(w->db);
    if (!w->failed)
        sonde_out_fail(w->out, error);
    w->failed = true;
}

static void begin_row(struct writer *w, enum table table)
{
    w->row = w->insert[table];
    w->column = 0;
}

static void end_row(struct writer *w)
{
    const int rc = sqlite3_step(w->row);
    if (rc != SQLITE_DONE)
        fail(w, rc);
    sqlite3_reset(w->row);
}

static void put_null(struct writer *w)
{
    sqlite3_bind_null(w->row, ++w->column);
}

static void put_real(struct writer *w, double value)
{
    sqlite3_bind_double(w->row, ++w->column, value);
}

/* SQLite's integers have a sign: the largest become real numbers. */
static void put(struct writer *w, uint64_t value)
{
    if (value > INT64_MAX)
        put_real(w, (double)value);
    else
        sqlite3_bind_int64(w->row, ++w->column, (sqlite3_int64)value);
}

static void put_if(struct writer *w, bool known, uint64_t value)
{
    if (known)
        put(w, value);
    else
        put_null(w);
}

/* Where 0 says "none" or "unknown". */
static void put_known(struct writer *w, uint64_t value)
{
    put_if(w, value != 0, value);
}

/* "" is unknown. */
static void put_text(struct writer *w, const char *text)
{
    if (*text)
        sqlite3_bind_text(w->row, ++w->column, sonde_utf8_clean(text, &w->clean), -1, SQLITE_TRANSIENT);
    else
        put_null(w);
}

/* A text of this program: it stays. */
static void put_word(struct writer *w, const char *text)
{
    sqlite3_bind_text(w->row, ++w->column, text, -1, SQLITE_STATIC);
}

static void put_lane(struct writer *w, enum table table, uint32_t lane)
{
    begin_row(w, table);
    put(w, w->process);
    put(w, lane);
}

/* ---- the trace ---------------------------------------------------------------------- */

static void put_op(struct writer *w, const void *row)
{
    const struct sonde_row_op *op = row;
    const bool timed = !(op->flags & SONDE_OP_NO_TIMES);
    put_word(w, sonde_op_kind_name(op->kind));
    put_known(w, sonde_names_locate(&w->names, w->process, op->node));
    put(w, op->correlation);
    put(w, op->enter_ns);
    put_known(w, timed ? op->queued_ns : 0);
    put_known(w, timed ? op->submit_ns : 0);
    put_known(w, timed ? op->start_ns : 0);
    put_known(w, timed ? op->end_ns : 0);
    put(w, op->bytes);
    put_known(w, op->work);
    put_known(w, op->object);
    put(w, (op->flags & SONDE_OP_FAILED) != 0);
    put(w, (op->flags & SONDE_OP_BAD_TIME) != 0);
    w->result->without_times += !timed || !op->start_ns || op->end_ns < op->start_ns;
    w->result->operations++;
}

static void put_call(struct writer *w, const void *row)
{
    const struct sonde_row_call *call = row;
    put_known(w, sonde_names_locate(&w->names, w->process, call->node));
    put_known(w, call->correlation);
    put(w, call->enter_ns);
    put(w, call->leave_ns);
    put_known(w, call->lane);
    w->result->calls++;
}

static void put_payload(struct writer *w, const struct sonde_row_range *range)
{
    double real;
    memcpy(&real, &range->payload, sizeof real);
    if (range->payload_type == 1)
        put(w, range->payload);
    else if (range->payload_type == 2)
        sqlite3_bind_int64(w->row, ++w->column, (sqlite3_int64)range->payload);
    else if (range->payload_type == 3)
        put_real(w, real);
    else
        put_null(w);
}

static void put_range(struct writer *w, const void *row)
{
    const struct sonde_row_range *range = row;
    const struct sonde_process *p = &w->m->processes[w->process];
    put_text(w, sonde_process_string(p, range->name));
    put_text(w, sonde_process_string(p, range->domain));
    put_text(w, sonde_process_string(p, range->category));
    put(w, range->begin_ns);
    put_known(w, range->end_ns);
    put(w, (range->flags & SONDE_RANGE_MARK) != 0);
    put(w, (range->flags & SONDE_RANGE_ACROSS) != 0);
    put_payload(w, range);
    w->result->ranges++;
}

static void put_wait(struct writer *w, const void *row)
{
    const struct sonde_row_wait *wait = row;
    const bool completes = wait->waiter >= SONDE_WAIT_USER_EVENT, user = wait->awaited >= SONDE_WAIT_USER_EVENT;
    put(w, wait->enter_ns);
    put_known(w, completes ? 0 : wait->waiter);
    put_known(w, user ? 0 : wait->awaited);
    put_if(w, user, wait->awaited - SONDE_WAIT_USER_EVENT);
    put_if(w, completes, wait->waiter - SONDE_WAIT_USER_EVENT);
    put_known(w, wait->lane);
    put_known(w, wait->device);
}

static void put_sample(struct writer *w, const void *row)
{
    const struct sonde_row_sample *sample = row;
    put(w, sample->time_ns);
    put(w, sample->cpu_ns);
    put_known(w, sonde_names_locate(&w->names, w->process, sample->node));
    put(w, (sample->flags & SONDE_SAMPLE_DEFERRED) != 0);
}

static void put_switch(struct writer *w, const void *row)
{
    const struct sonde_row_switch *off = row;
    put(w, off->out_ns);
    put_known(w, off->in_ns);
    put(w, (off->flags & SONDE_SWITCH_PREEMPTED) != 0);
}

static void put_sleep(struct writer *w, const void *row)
{
    const struct sonde_row_sleep *sleep = row;
    put(w, sleep->from_ns);
    put(w, sleep->to_ns);
    put_known(w, sonde_names_locate(&w->names, w->process, sleep->node));
    put_word(w, sonde_sleep_text(sleep->kind));
}

static void put_message(struct writer *w, const void *row)
{
    const struct sonde_row_message *message = row;
    put(w, message->enter_ns);
    put(w, message->leave_ns);
    put(w, message->posted_ns);
    put_known(w, sonde_names_locate(&w->names, w->process, message->node));
    put_word(w, sonde_message_kind_name(message->kind));
    put_text(w, sonde_process_string(&w->m->processes[w->process], message->comm));
    put_if(w, message->peer, (uint64_t)message->peer - 1);
    put(w, message->tag);
    put(w, message->bytes);
}

/* The lane of a counter over time is in no list: a row says whose it is. */
static void put_series(struct writer *w, const void *row)
{
    const struct sonde_row_series *value = row;
    const struct sonde_process *p = &w->m->processes[w->process];
    const struct sonde_row_lane *lane = &p->lanes[w->lane < p->lane_count ? w->lane : 0];
    put_known(w, lane->device);
    put_text(w, sonde_process_string(p, lane->name));
    put(w, value->from_ns);
    put(w, value->to_ns);
    if (isfinite(value->value))
        put_real(w, value->value);
    else
        put_null(w);
}

static const struct trace {
    enum sonde_table from;
    enum table to;
    void (*put)(struct writer *w, const void *row);
} traces[] = {
    {SONDE_TABLE_OP, TABLE_operation, put_op},
    {SONDE_TABLE_CALL, TABLE_call, put_call},
    {SONDE_TABLE_RANGE, TABLE_range, put_range},
    {SONDE_TABLE_WAIT, TABLE_wait, put_wait},
    {SONDE_TABLE_SAMPLE, TABLE_sample, put_sample},
    {SONDE_TABLE_SWITCH, TABLE_switch, put_switch},
    {SONDE_TABLE_SLEEP, TABLE_sleep, put_sleep},
    {SONDE_TABLE_MESSAGE, TABLE_message, put_message},
    {SONDE_TABLE_SERIES, TABLE_series, put_series},
};

struct copy {
    struct writer *w;
    const struct trace *trace;
};

static int copy_row(void *user, uint32_t lane, const void *row)
{
    const struct copy *copy = user;
    copy->w->lane = lane;
    put_lane(copy->w, copy->trace->to, lane);
    copy->trace->put(copy->w, row);
    end_row(copy->w);
    return copy->w->failed;
}

/* ---- what there is of each process ---------------------------------------------------- */

static void put_process(struct writer *w)
{
    const struct sonde_process *p = &w->m->processes[w->process];
    const struct sonde_live_header *h = &p->header;
    begin_row(w, TABLE_process);
    put(w, w->process);
    put_text(w, p->name);
    put(w, h->pid);
    put_text(w, h->executable);
    put_word(w, sonde_state_text(h->state));
    put_if(w, h->rank, (uint64_t)h->rank - 1);
    put_known(w, h->rank_count);
    put(w, h->trace);
    put(w, h->start_ns);
    put_known(w, h->stop_ns);
    sqlite3_bind_int64(w->row, ++w->column, sonde__export_shift_ns(w->m, p));
    put(w, h->wall_offset_ns);
    put_if(w, sonde_process_clock_known(p), h->clock_bound_ns);
    end_row(w);
}

static void put_pauses(struct writer *w)
{
    const struct sonde_process *p = &w->m->processes[w->process];
    for (uint32_t i = 0; i < p->pause_count; i++) {
        begin_row(w, TABLE_pause);
        put(w, w->process);
        put(w, p->pauses[i].from_ns);
        put_known(w, p->pauses[i].to_ns);
        if (p->pauses[i].from_ns)
            end_row(w);
    }
}

static void put_devices(struct writer *w)
{
    const struct sonde_process *p = &w->m->processes[w->process];
    for (uint32_t i = 1; i < p->device_count; i++) {
        const struct sonde_row_device *d = &p->devices[i];
        const uint32_t texts[] = {d->name, d->vendor, d->driver, d->platform, d->backend};
        put_lane(w, TABLE_device, i);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            put_text(w, sonde_process_string(p, texts[k]));
        put_known(w, d->memory_bytes);
        put_known(w, d->compute_units);
        put_if(w, i < SONDE_BUSY_DEVICES, i < SONDE_BUSY_DEVICES ? p->header.device_busy[i].busy_ns : 0);
        end_row(w);
    }
}

static void put_lanes(struct writer *w)
{
    const struct sonde_process *p = &w->m->processes[w->process];
    char name[256];
    for (uint32_t i = 1; i < p->lane_count; i++) {
        const struct sonde_row_lane *l = &p->lanes[i];
        const bool queue = l->kind == SONDE_LANE_KIND_QUEUE;
        if (sonde_lane_is_series(l))
            continue;
        put_lane(w, TABLE_lane, i);
        put_word(w, queue ? "queue" : "thread");
        put_text(w, sonde_names_lane(&w->names, w->process, i, name, sizeof name));
        put_known(w, queue ? l->device : 0);
        put_known(w, queue ? 0 : l->tid);
        put_if(w, queue, (l->flags & SONDE_LANE_OUT_OF_ORDER) != 0);
        put(w, l->seen);
        put(w, l->done);
        end_row(w);
    }
}

static void put_works(struct writer *w)
{
    const struct sonde_process *p = &w->m->processes[w->process];
    char text[192];
    for (uint32_t i = 1; i < p->work_count; i++) {
        const struct sonde_row_work *row = &p->works[i];
        const struct sonde_row_work *launch = sonde_names_launch(p, i);
        put_lane(w, TABLE_work, i);
        for (enum sonde_work_text k = SONDE_WORK_GLOBAL; k <= SONDE_WORK_CLUSTER; k++)
            put_text(w, sonde_names_work(p, i, k, text, sizeof text));
        put_if(w, launch, row->registers);
        put_if(w, launch, row->static_shared);
        put_if(w, launch, row->dynamic_shared);
        put_if(w, launch, row->local_bytes);
        if (row->occupancy)
            put_real(w, row->occupancy / 1000.0);
        else
            put_null(w);
        for (enum sonde_work_text k = SONDE_WORK_LIMITER; k <= SONDE_WORK_TARGET; k++)
            put_text(w, sonde_names_work(p, i, k, text, sizeof text));
        put_known(w, row->source_device);
        put_known(w, row->target_device);
        end_row(w);
    }
}

static void put_objects(struct writer *w)
{
    const struct sonde_process *p = &w->m->processes[w->process];
    for (uint32_t i = 1; i < p->object_count; i++) {
        const struct sonde_row_object *o = &p->objects[i];
        const uint64_t known[] = {o->address, o->alloc_ns, o->free_ns, o->first_use_ns, o->last_use_ns};
        put_lane(w, TABLE_object, i);
        put_word(w, sonde_object_kind_name(o->kind));
        put(w, o->bytes);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            put_known(w, known[k]);
        put(w, o->uses);
        put_known(w, o->device);
        put_known(w, o->parent);
        put_known(w, sonde_names_locate(&w->names, w->process, o->node));
        end_row(w);
    }
}

static void put_line(struct writer *w, const char *name, uint64_t value)
{
    begin_row(w, TABLE_ledger);
    put(w, w->process);
    put_text(w, name);
    put(w, value);
    end_row(w);
}

static void put_ledger(struct writer *w)
{
    const struct sonde_process *p = &w->m->processes[w->process];
    const struct sonde_ledger *l = &p->header.ledger;
    struct sonde_text name = {0};
    put_line(w, "seen", l->seen);
    put_line(w, "done", l->done);
    put_line(w, "failed", l->failed);
    put_line(w, "no_times", l->no_times);
    put_line(w, "unmatched", l->unmatched);
    put_line(w, "bad_time", l->bad_time);
    put_line(w, "api_calls", l->api_calls);
    put_line(w, "calls_dropped", l->calls_dropped);
    put_line(w, "hook_ns", l->hook_ns);
    put_line(w, "damaged_chunks", p->damaged_chunks);
    for (uint32_t i = 0; i < SONDE_DROP_COUNT; i++) {
        name.length = 0;
        sonde_text_format(&name, "dropped_%s", sonde_drop_name(i));
        put_line(w, sonde_text_get(&name), l->dropped[i]);
    }
    for (unsigned table = 0; table < SONDE_TABLE_COUNT; table++)
        if (sonde_table_is_trace(table) && table != SONDE_TABLE_OP)
            put_line(w, sonde_counter_name(sonde_table_info(table)), sonde_rows_dropped(&p->header, sonde_table_info(table), 0));
    for (uint32_t i = 0; i < p->note_count; i++) {
        begin_row(w, TABLE_note);
        put(w, w->process);
        put(w, p->notes[i].at_ns);
        put_text(w, p->notes[i].text);
        if (*p->notes[i].text)
            end_row(w);
    }
    sonde_text_fini(&name);
}

/* ---- the tree, and totals by name ---------------------------------------------------- */

static void put_context(struct writer *w, uint32_t at)
{
    static const char *const kinds[] = {"root", "native", "python", "api", "operation", "unknown", "cut", "link", "range"};
    const struct sonde_cct_node *node = &w->names.profile->nodes.items[at];
    const struct sonde_metrics *self = &node->self;
    const bool sampled = w->names.profile->sampled;
    begin_row(w, TABLE_context);
    put(w, at);
    put_if(w, at, node->parent);
    put_word(w, kinds[node->kind < sizeof kinds / sizeof *kinds ? node->kind : SONDE_FRAME_UNKNOWN]);
    if (node->kind == SONDE_FRAME_OP)
        put_text(w, sonde_names_op(&w->names, at, node->op));
    else
        put_text(w, node->name);
    put_text(w, node->file);
    put_known(w, node->line);
    put_text(w, node->module);
    put_text(w, node->kind == SONDE_FRAME_OP ? sonde_op_kind_name(node->op) : "");
    put_known(w, node->kind == SONDE_FRAME_LINK ? node->offset : 0);
    put(w, self->operations);
    put(w, self->timed);
    put(w, self->failed);
    put(w, self->device_ns);
    put(w, self->queue_ns);
    put(w, self->bytes);
    put(w, self->api_calls);
    put(w, self->api_ns);
    put_if(w, sampled, self->samples);
    put_if(w, sampled, self->cpu_ns);
    put(w, self->sleeps);
    put(w, self->slept_ns);
    end_row(w);
}

static void put_times(struct writer *w, const struct sonde_stat *s)
{
    put_if(w, s->timed, s->sum_ns);
    put_if(w, s->timed, s->min_ns);
    put_if(w, s->timed, s->max_ns);
    if (s->timed) {
        put_real(w, sonde_stat_mean(s));
        put_real(w, sonde_stat_stddev(s));
    } else {
        put_null(w);
        put_null(w);
    }
}

static void put_totals(struct writer *w)
{
    const struct sonde_profile *profile = w->names.profile;
    for (size_t i = 0; i < profile->ops.count; i++) {
        const struct sonde_group *group = &profile->ops.items[i];
        begin_row(w, TABLE_operation_total);
        put_word(w, sonde_op_kind_name(group->op));
        put_text(w, *group->name ? group->name : sonde_op_kind_name(group->op));
        put(w, group->stat.count);
        put(w, group->stat.timed);
        put(w, group->stat.failed);
        put(w, group->stat.bytes);
        put_times(w, &group->stat);
        end_row(w);
    }
    for (size_t i = 0; i < profile->apis.count; i++) {
        const struct sonde_group *group = &profile->apis.items[i];
        begin_row(w, TABLE_call_total);
        put_text(w, group->name);
        put(w, group->stat.count);
        put_times(w, &group->stat);
        end_row(w);
    }
}

static void put_meta(struct writer *w)
{
    char *manifest = w->m->manifest ? json_dumps(w->m->manifest, JSON_COMPACT) : NULL;
    const char *const rows[][2] = {{"schema", "1"}, {"sonde", SONDE_VERSION}, {"measurement", w->m->path}, {"manifest", manifest ? manifest : ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_row(w, TABLE_meta);
        put_text(w, rows[i][0]);
        put_text(w, rows[i][1]);
        end_row(w);
    }
    free(manifest);
}

/* ---- the whole ---------------------------------------------------------------------- */

static void execute(struct writer *w, const char *sql)
{
    const int rc = w->failed ? SQLITE_OK : sqlite3_exec(w->db, sql, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        fail(w, rc);
}

static void open_tables(struct writer *w)
{
    struct sonde_text sql = {0};
    execute(w, "PRAGMA journal_mode = OFF");
    execute(w, "PRAGMA synchronous = OFF");
    execute(w, "PRAGMA locking_mode = EXCLUSIVE");
    execute(w, "PRAGMA application_id = 1397705284"); /* "SOND" */
    execute(w, "BEGIN");
    for (int i = 0; i < TABLES && !w->failed; i++) {
        sql.length = 0;
        sonde_text_format(&sql, "CREATE TABLE \"%s\" (%s)", tables[i].name, tables[i].columns);
        execute(w, sonde_text_get(&sql));
        sql.length = 0;
        sonde_text_format(&sql, "SELECT * FROM \"%s\"", tables[i].name);
        int rc = w->failed ? SQLITE_ERROR : sqlite3_prepare_v2(w->db, sonde_text_get(&sql), -1, &w->insert[i], NULL);
        const int columns = rc == SQLITE_OK ? sqlite3_column_count(w->insert[i]) : 0;
        sqlite3_finalize(w->insert[i]);
        w->insert[i] = NULL;
        sql.length = 0;
        sonde_text_format(&sql, "INSERT INTO \"%s\" VALUES (?", tables[i].name);
        for (int k = 1; k < columns; k++)
            sonde_text_add(&sql, ",?");
        sonde_text_add(&sql, ")");
        rc = rc == SQLITE_OK ? sqlite3_prepare_v3(w->db, sonde_text_get(&sql), -1, SQLITE_PREPARE_PERSISTENT, &w->insert[i], NULL) : rc;
        if (rc != SQLITE_OK)
            fail(w, rc);
    }
    sonde_text_fini(&sql);
}

static void fill_tables(struct writer *w)
{
    put_meta(w);
    for (uint32_t i = 0; i < w->names.profile->nodes.count && !w->failed; i++)
        put_context(w, i);
    put_totals(w);
    for (w->process = 0; w->process < w->m->process_count && !w->failed; w->process++) {
        put_process(w);
        put_pauses(w);
        put_devices(w);
        put_lanes(w);
        put_works(w);
        put_objects(w);
        put_ledger(w);
        for (size_t i = 0; i < sizeof traces / sizeof *traces && !w->failed; i++) {
            struct copy copy = {w, &traces[i]};
            const struct sonde_trace_stored which = {.table = traces[i].from, .progress = w->progress};
            if (sonde_trace_each(&w->m->processes[w->process], &which, copy_row, &copy) == SONDE_ENOMEM)
                fail(w, SQLITE_NOMEM);
        }
    }
}

static int write_sqlite(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                        struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.m = m, .out = out, .progress = progress, .result = result};
    int code = sonde_names_init(&w.names, m, diag);
    if (code)
        return code;
    sonde_progress_expect(progress, sonde_trace_rows(m, SONDE_READ_ALL));
    code = sqlite3_open_v2(sonde_out_path(out), &w.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) {
        fail(&w, code);
    } else {
        open_tables(&w);
        if (!w.failed)
            fill_tables(&w);
        for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
            execute(&w, indices[i]);
        execute(&w, "COMMIT");
    }
    for (int i = 0; i < TABLES; i++)
        sqlite3_finalize(w.insert[i]);
    sqlite3_close(w.db);
    sonde_text_fini(&w.clean);
    sonde_names_fini(&w.names);
    return 0; /* the rest is said by the commit of `out` */
}

const struct sonde_export_format sonde_export_sqlite = {
    .name = "sqlite",
    .extension = "sqlite",
    .what = "what json has but the value flow graph, as a database with indices",
    .open_with = "query it with sqlite3, or any library of SQLite; docs/export.md has the schema and queries",
    .form = SONDE_EXPORT_FILE,
    .write = write_sqlite,
};
