/* chrome.c - the trace as JSON trace events, as PyTorch's profiler writes them: for Holistic Trace Analysis and Chrome's viewers.
 *
 * The event format: "Trace Event Format" (Google). Categories, arguments and names of copies are those of Kineto
 * (libkineto/src/output_json.cpp), by which Holistic Trace Analysis tells kernels, copies and launches apart; a queue is
 * its "stream". Times are microseconds, with all digits of the nanosecond, since the first process began.
 */
#include "export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/rank.h"
#include "analyze/trace/trace.h"
#include "layout.h"
#include "names.h"

enum {
    CALLED_FROM_FRAMES = 4,
    QUEUE_TIDS = 1 << 22, /* beyond the kernel's thread ids */
    LANE_TIDS = SONDE_LAYOUT_ROWS,
};

struct writer {
    const struct sonde_measurement *m;
    struct sonde_names names;
    struct sonde_out *out;
    struct sonde_layout *layout;
    struct sonde_progress *progress;
    struct sonde_export_result *result;
    struct sonde_text clean;
    struct sonde_intern callers;
    uint32_t *caller_of; /* [tree node]: its callers' id + 1; 0: not asked yet */
    bool begun, nomem;
    uint32_t process, lane; /* now being written */
    int32_t pid;
    int64_t shift_ns; /* from the times of the process to those of the file */
};

static const struct sonde_process *process_of(const struct writer *w)
{
    return &w->m->processes[w->process];
}

/* ---- pieces ---------------------------------------------------------------------- */

static void put(struct writer *w, const char *text)
{
    sonde_out_text(w->out, text);
}

static void put_number(struct writer *w, const char *key, uint64_t number)
{
    put(w, key);
    sonde_out_u64(w->out, number);
}

static void put_text(struct writer *w, const char *key, const char *text)
{
    put(w, key);
    sonde_out_json(w->out, text, &w->clean);
}

static void put_us(struct writer *w, const char *key, int64_t ns)
{
    const uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    const char part[] = {'.', (char)('0' + size / 100 % 10), (char)('0' + size / 10 % 10), (char)('0' + size % 10)};
    put(w, key);
    if (ns < 0)
        sonde_out_char(w->out, '-');
    sonde_out_u64(w->out, size / 1000);
    sonde_out_bytes(w->out, part, sizeof part);
}

static void put_at(struct writer *w, uint64_t ns)
{
    put_us(w, ",\"ts\":", (int64_t)(ns + (uint64_t)w->shift_ns));
}

/* What tells the events of one process from another's; Kineto's are unique in a file. */
static uint64_t correlation_of(const struct writer *w, uint64_t correlation)
{
    return (uint64_t)w->process << 40 ^ correlation;
}

static void begin_event(struct writer *w, const char *phase, const char *category, const char *name, uint64_t tid)
{
    put(w, w->begun ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    put(w, phase);
    put(w, "\",\"cat\":\"");
    put(w, category);
    put_text(w, "\",\"name\":", name);
    put_number(w, ",\"pid\":", (uint64_t)w->pid);
    put_number(w, ",\"tid\":", tid);
    w->begun = true;
}

/* From `begin_ns` to `end_ns`; an instant when that cannot be. */
static void begin_slice(struct writer *w, const char *category, const char *name, uint64_t tid, uint64_t begin_ns, uint64_t end_ns, bool slice)
{
    begin_event(w, slice ? "X" : "i", category, name, tid);
    put_at(w, begin_ns);
    if (slice)
        put_us(w, ",\"dur\":", (int64_t)(end_ns - begin_ns));
    else
        put(w, ",\"s\":\"t\"");
    put(w, ",\"args\":{");
}

static void put_flow(struct writer *w, const char *phase, uint64_t correlation, uint64_t tid, uint64_t at_ns)
{
    if (!correlation)
        return;
    begin_event(w, phase, "ac2g", "ac2g", tid);
    put_number(w, ",\"id\":", correlation_of(w, correlation));
    put_at(w, at_ns);
    put(w, *phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

static void put_caller(struct writer *w, uint32_t at)
{
    if (!at)
        return;
    if (!w->caller_of[at]) {
        const char *callers = sonde_names_callers(&w->names, at, CALLED_FROM_FRAMES);
        const uint32_t id = sonde_intern_text(&w->callers, callers);
        w->nomem |= !id && *callers;
        w->caller_of[at] = id + 1;
    }
    if (w->caller_of[at] > 1)
        put_text(w, ",\"called_from\":", sonde_intern_get(&w->callers, w->caller_of[at] - 1));
}

/* ---- operations ------------------------------------------------------------------- */

static bool has_times(const struct sonde_row_op *op)
{
    return !(op->flags & SONDE_OP_NO_TIMES) && op->start_ns && op->end_ns >= op->start_ns;
}

static const char *category_of(uint32_t kind)
{
    switch (sonde_op_kind_group(kind)) {
    case SONDE_GROUP_KERNEL: return "kernel";
    case SONDE_GROUP_COPY: return "gpu_memcpy";
    case SONDE_GROUP_SET: return "gpu_memset";
    case SONDE_GROUP_ORDER: break;
    }
    return "gpu_user_annotation";
}

/* "Memcpy HtoD (Pinned -> Device)" as Kineto has it; where the ends are not known the kind stands for them. */
static void name_copy(const struct sonde_process *p, const struct sonde_row_op *op, char *name, size_t size)
{
    static const char *const ways[SONDE_WAY_COUNT] = {
        [SONDE_WAY_TO_DEVICE] = " HtoD",
        [SONDE_WAY_FROM_DEVICE] = " DtoH",
        [SONDE_WAY_ON_DEVICE] = " DtoD",
        [SONDE_WAY_BETWEEN] = " PtoP",
        [SONDE_WAY_ON_HOST] = " HtoH",
    };
    char source[64], target[64];
    const enum sonde_way way = sonde_op_kind_way(op->kind);
    const char *known = way < SONDE_WAY_COUNT && ways[way] ? ways[way] : "";
    sonde_names_work(p, op->work, SONDE_WORK_SOURCE, source, sizeof source);
    sonde_names_work(p, op->work, SONDE_WORK_TARGET, target, sizeof target);
    if (*source && *target)
        snprintf(name, size, "Memcpy%s (%s -> %s)", known, source, target);
    else
        snprintf(name, size, "Memcpy%s (%s)", known, sonde_op_kind_name(op->kind));
}

static void put_work(struct writer *w, const struct sonde_row_op *op)
{
    static const struct {
        enum sonde_work_text which;
        const char *key;
    } texts[] = {
        {SONDE_WORK_GLOBAL, ",\"global_size\":"},
        {SONDE_WORK_LOCAL, ",\"local_size\":"},
        {SONDE_WORK_CLUSTER, ",\"cluster\":"},
    };
    const struct sonde_row_work *launch = sonde_names_launch(process_of(w), op->work);
    char text[192];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*sonde_names_work(process_of(w), op->work, texts[i].which, text, sizeof text))
            put_text(w, texts[i].key, text);
    if (!launch)
        return;
    put_number(w, ",\"registers per thread\":", launch->registers);
    put_number(w, ",\"shared memory\":", (uint64_t)launch->static_shared + launch->dynamic_shared);
    if (launch->occupancy)
        put_number(w, ",\"est. achieved occupancy %\":", (launch->occupancy + 5) / 10);
}

static void write_op(struct writer *w, uint32_t row, const struct sonde_row_op *op)
{
    const struct sonde_process *p = process_of(w);
    const uint32_t at = sonde_names_locate(&w->names, w->process, op->node);
    const uint32_t device = w->lane < p->lane_count ? p->lanes[w->lane].device : 0;
    const bool timed = has_times(op) && row != SONDE_LAYOUT_NO_ROW;
    const uint64_t tid = QUEUE_TIDS + (uint64_t)w->lane * LANE_TIDS + (timed ? row : 0);
    const char *name = sonde_names_op(&w->names, at, op->kind);
    char copy[160];
    if (sonde_op_kind_group(op->kind) == SONDE_GROUP_COPY) {
        name_copy(p, op, copy, sizeof copy);
        name = copy;
    } else if (sonde_op_kind_group(op->kind) == SONDE_GROUP_SET) {
        name = "Memset (Device)";
    }
    begin_slice(w, category_of(op->kind), name, tid, timed ? op->start_ns : op->enter_ns, op->end_ns, timed);
    put_number(w, "\"device\":", device ? device - 1 : 0);
    put_number(w, ",\"stream\":", w->lane);
    put_number(w, ",\"correlation\":", correlation_of(w, op->correlation));
    put_text(w, ",\"kind\":", sonde_op_kind_name(op->kind));
    if (op->bytes)
        put_number(w, ",\"bytes\":", op->bytes);
    put_work(w, op);
    if (op->flags & SONDE_OP_FAILED)
        put(w, ",\"status\":\"failed\"");
    else if (!has_times(op) || op->flags & SONDE_OP_BAD_TIME)
        put(w, op->flags & SONDE_OP_NO_TIMES ? ",\"status\":\"no device times\"" : ",\"status\":\"invalid times\"");
    put_caller(w, at);
    put(w, "}}");
    if (timed)
        put_flow(w, "f", op->correlation, tid, op->start_ns);
    w->result->operations++;
    w->result->without_times += !has_times(op);
}

static void write_slice(void *user, uint32_t row, const void *item)
{
    write_op(user, row, item);
}

static int must_stop(const struct writer *w)
{
    return w->nomem || sonde_out_failed(w->out);
}

static int take_op(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_op *op = row;
    if (lane != w->lane)
        sonde_layout_end(w->layout);
    w->lane = lane;
    if (has_times(op))
        sonde_layout_add(w->layout, op->start_ns, op->end_ns, op);
    else
        write_op(w, 0, op);
    return must_stop(w);
}

/* ---- threads ---------------------------------------------------------------------- */

static uint64_t tid_of(const struct writer *w, uint32_t lane)
{
    const struct sonde_process *p = process_of(w);
    return lane < p->lane_count ? p->lanes[lane].tid : 0;
}

static int take_call(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_call *call = row;
    const uint32_t at = sonde_names_locate(&w->names, w->process, call->node);
    const char *name = sonde_names_call(&w->names, at);
    const bool driver = strncmp(name, "cu", 2) == 0 && name[2] >= 'A' && name[2] <= 'Z';
    begin_slice(w, driver ? "cuda_driver" : "cuda_runtime", name, tid_of(w, lane), call->enter_ns, call->leave_ns, call->leave_ns >= call->enter_ns);
    put_number(w, "\"correlation\":", call->correlation ? correlation_of(w, call->correlation) : 0);
    put_caller(w, at);
    put(w, "}}");
    put_flow(w, "s", call->correlation, tid_of(w, lane), call->enter_ns);
    w->result->calls++;
    return must_stop(w);
}

static int take_range(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_range *range = row;
    const struct sonde_process *p = process_of(w);
    const uint64_t stop_ns = p->header.stop_ns > range->begin_ns ? p->header.stop_ns : range->begin_ns;
    const uint64_t end_ns = range->end_ns ? range->end_ns : stop_ns;
    const char *name = sonde_process_string(p, range->name), *domain = sonde_process_string(p, range->domain);
    const bool mark = range->flags & SONDE_RANGE_MARK;
    begin_slice(w, "user_annotation", *name ? name : mark ? "mark"
                                                          : "range",
                tid_of(w, lane), range->begin_ns, end_ns, !mark && end_ns >= range->begin_ns);
    if (*domain)
        put_text(w, "\"domain\":", domain);
    if (!range->end_ns)
        put(w, *domain ? ",\"status\":\"not ended\"" : "\"status\":\"not ended\"");
    put(w, "}}");
    w->result->ranges++;
    return must_stop(w);
}

static int take_sleep(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_sleep *sleep = row;
    const uint32_t at = sonde_names_locate(&w->names, w->process, sleep->node);
    begin_slice(w, "wait", sonde_names_sleep(&w->names, at), tid_of(w, lane), sleep->from_ns, sleep->to_ns, sleep->to_ns >= sleep->from_ns);
    put_text(w, "\"waits_for\":", sonde_sleep_text(sleep->kind));
    put(w, "}}");
    return must_stop(w);
}

/* ---- the whole -------------------------------------------------------------------- */

static void put_name(struct writer *w, const char *what, uint64_t tid, const char *name)
{
    begin_event(w, "M", "__metadata", what, tid);
    put_text(w, ",\"ts\":0,\"args\":{\"name\":", name);
    put(w, "}}");
}

static void put_names(struct writer *w)
{
    const struct sonde_process *p = process_of(w);
    struct sonde_text title = {0};
    char name[256];
    sonde_rank_text(p, name);
    sonde_text_format(&title, "%s%s%s", name, *name ? ": " : "", p->name);
    put_name(w, "process_name", 0, sonde_text_get(&title));
    sonde_text_fini(&title);
    for (uint32_t lane = 1; lane < p->lane_count; lane++) {
        const bool queue = p->lanes[lane].kind == SONDE_LANE_KIND_QUEUE;
        if (sonde_lane_is_series(&p->lanes[lane]))
            continue;
        sonde_names_lane(&w->names, w->process, lane, name, sizeof name);
        put_name(w, "thread_name", queue ? QUEUE_TIDS + (uint64_t)lane * LANE_TIDS : p->lanes[lane].tid, name);
    }
}

/* The devices of the first process that has some, and its rank. */
static void put_head(struct writer *w)
{
    const struct sonde_process *first = &w->m->processes[0], *p = first;
    for (uint32_t i = 0; i < w->m->process_count && p->device_count < 2; i++)
        p = &w->m->processes[i];
    put(w, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\"");
    put_number(w, ",\"baseTimeNanoseconds\":", first->header.start_ns + first->header.wall_offset_ns);
    put_text(w, ",\"sonde\":", SONDE_VERSION);
    if (first->header.rank) {
        put_number(w, ",\"distributedInfo\":{\"rank\":", first->header.rank - 1);
        put_number(w, ",\"world_size\":", first->header.rank_count);
        put(w, "}");
    }
    put(w, ",\"deviceProperties\":[");
    for (uint32_t i = 1; i < p->device_count; i++) {
        char name[128];
        put_number(w, i > 1 ? ",{\"id\":" : "{\"id\":", i - 1);
        put_text(w, ",\"name\":", sonde_names_device(p, i, name, sizeof name));
        put_number(w, ",\"totalGlobalMem\":", p->devices[i].memory_bytes);
        put_number(w, ",\"numSms\":", p->devices[i].compute_units);
        put(w, "}");
    }
    put(w, "],\"traceEvents\":[");
}

static int write_process(struct writer *w, uint32_t index)
{
    const struct sonde_process *p = &w->m->processes[index];
    static const struct {
        enum sonde_table table;
        int (*take)(void *user, uint32_t lane, const void *row);
    } tables[] = {
        {SONDE_TABLE_RANGE, take_range},
        {SONDE_TABLE_CALL, take_call},
        {SONDE_TABLE_SLEEP, take_sleep},
        {SONDE_TABLE_OP, take_op},
    };
    w->process = index;
    w->lane = 0;
    w->pid = sonde__export_pid(w->m, index);
    w->shift_ns = (int64_t)((uint64_t)sonde__export_shift_ns(w->m, p) - w->m->processes[0].header.start_ns);
    put_names(w);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const int rc = sonde_trace_each(p, &(struct sonde_trace_stored){.table = tables[i].table, .progress = w->progress}, tables[i].take, w);
        if (rc == SONDE_ENOMEM)
            return rc;
    }
    sonde_layout_end(w->layout);
    return w->nomem ? SONDE_ENOMEM : 0;
}

static int write_chrome(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                        struct sonde_export_result *result, struct sonde_diag *diag)
{
    struct writer w = {.m = m, .out = out, .progress = progress, .result = result};
    int code = sonde__export_needs_trace(m, diag);
    if (!code)
        code = sonde_names_init(&w.names, m, diag);
    if (code)
        return code;
    sonde_progress_expect(progress, sonde_trace_rows(m, SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_RANGES | SONDE_READ_SLEEPS));
    w.layout = sonde_layout_create(sizeof(struct sonde_row_op), write_slice, &w);
    w.caller_of = calloc(w.names.profile->nodes.count + 1, sizeof *w.caller_of);
    code = w.layout && w.caller_of ? 0 : SONDE_ENOMEM;
    put_head(&w);
    for (uint32_t i = 0; !code && i < m->process_count && !sonde_out_failed(out); i++)
        code = write_process(&w, i);
    put(&w, "\n]}\n");
    sonde_layout_destroy(w.layout);
    sonde_text_fini(&w.clean);
    sonde_intern_fini(&w.callers);
    free(w.caller_of);
    sonde_names_fini(&w.names);
    return code ? sonde_diag_set(diag, code, m->path, "cannot export") : 0;
}

const struct sonde_export_format sonde_export_chrome = {
    .name = "chrome",
    .extension = "chrome.json",
    .what = "the trace as JSON trace events, for Holistic Trace Analysis",
    .open_with = "read it with TraceAnalysis(trace_files={0: FILE}), or open it in chrome://tracing",
    .write = write_chrome,
};
