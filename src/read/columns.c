/* columns.c - what the tables of rows with times have: names and values are those of the exports csv and json (docs/export.md). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/profile/object_model.h"
#include "base/kinds.h"
#include "format/tables.h"
#include "own.h"

enum { CALLED_FROM_FRAMES = 4 };

typedef const struct sonde__place place;
#define OP(field) SONDE_FIELD(sonde_row_op, field)

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- what many tables have ------------------------------------------------------------------------- */

static uint64_t lane_value(place *at, const void *row, bool *known)
{
    (void)row, (void)known;
    return at->lane;
}

static uint64_t process_number(place *at, const void *row, bool *known)
{
    (void)row, (void)known;
    return at->process;
}

static uint64_t process_numbers(const struct sonde_read *m)
{
    return m->query.m->process_count;
}

static const char *process_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)names, (void)room, (void)size;
    return m->query.m->processes[number].name;
}

/* Lanes, launches and strings of all processes have one row of numbers. */
static uint32_t process_of(const struct sonde_read *m, const uint64_t *first, uint64_t number, uint32_t *own)
{
    uint32_t low = 0, high = m->query.m->process_count;
    while (low + 1 < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (first[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    *own = (uint32_t)(number - first[low]);
    return low;
}

static uint64_t lane_number(place *at, const void *row, bool *known)
{
    (void)row;
    *known = at->lane < at->p->lane_count;
    return at->m->lane_first[at->process] + at->lane;
}

static uint64_t lane_numbers(const struct sonde_read *m)
{
    return m->lane_first[m->query.m->process_count];
}

static const char *lane_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    uint32_t lane, process = process_of(m, m->lane_first, number, &lane);
    return sonde_names_lane(names, process, lane, room, size);
}

static const char *lane_device_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)names;
    uint32_t lane, process = process_of(m, m->lane_first, number, &lane);
    const struct sonde_process *p = &m->query.m->processes[process];
    return sonde_names_device(p, p->lanes[lane].device, room, size);
}

static uint64_t known_context(place *at, uint32_t node, bool *known)
{
    const uint32_t context = sonde__read_context(at->m, at->process, node);
    *known = context != 0;
    return context;
}

static uint64_t context_numbers(const struct sonde_read *m)
{
    return m->query.profile->nodes.count;
}

static const char *callers_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)m, (void)room, (void)size;
    return sonde_names_callers(names, (uint32_t)number, CALLED_FROM_FRAMES);
}

static const char *ranges_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)m, (void)room, (void)size;
    return sonde_names_ranges(names, (uint32_t)number);
}

static uint64_t string_number(place *at, uint32_t id, bool *known)
{
    *known = id && id < at->p->string_count;
    return at->m->string_first[at->process] + id;
}

static uint64_t string_numbers(const struct sonde_read *m)
{
    return m->string_first[m->query.m->process_count];
}

static const char *string_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)names, (void)room, (void)size;
    uint32_t id, process = process_of(m, m->string_first, number, &id);
    return sonde_process_string(&m->query.m->processes[process], id);
}

#define PROCESS                                                                                                                 \
    {.name = "process", .format = "i", .how = SONDE__TEXT, .nullable = true, .value = process_number, .numbers = process_numbers, \
     .text = process_text, .definition = "name of the process: HOST-PID-N"}
#define LANE(text) {.name = "lane", .format = "I", .how = SONDE__VALUE, .value = lane_value, .definition = text}
#define TIME(row, field, text)                                                                                          \
    {.name = #field, .format = "l", .how = SONDE__TIME, .offset = offsetof(struct row, field), .definition = text, \
     .fields = SONDE_FIELD(row, field)}
#define COPIED(row, field, column, type, text)                                                                       \
    {.name = column, .format = type, .how = SONDE__COPY, .offset = offsetof(struct row, field), .definition = text, \
     .fields = SONDE_FIELD(row, field)}
/* 0 is unknown, or none. */
#define VALUE(column, type, function, read, text) \
    {.name = column, .format = type, .how = SONDE__VALUE, .nullable = true, .value = function, .fields = read, .definition = text}
/* Of what an operation names: its data object, its launch. */
#define RARE(column, type, function, read, text)                                                                     \
    {.name = column, .format = type, .how = SONDE__VALUE, .nullable = true, .asked_for = true, .loaded = true, .value = function, \
     .fields = read, .definition = text}
#define FLAG(column, function, read, text) \
    {.name = column, .format = "b", .how = SONDE__VALUE, .value = function, .fields = read, .definition = text}
#define TEXT(column, of, count, function, read, text_) \
    {.name = column, .format = "i", .how = SONDE__TEXT, .nullable = true, .value = of, .numbers = count, .text = function, .fields = read, \
     .prepared = true, .definition = text_}
#define ASKED(column, of, count, function, read, text_) \
    {.name = column, .format = "i", .how = SONDE__TEXT, .nullable = true, .value = of, .numbers = count, .text = function, .fields = read, \
     .prepared = true, .asked_for = true, .definition = text_}
#define CONTEXT(function, read, text)                                                                                                \
    {.name = "context", .format = "I", .how = SONDE__VALUE, .nullable = true, .prepared = true, .value = function, .fields = read, \
     .definition = text}

/* ---- operations --------------------------------------------------------------------------------------- */

static const struct sonde_row_op *op_of(const void *row)
{
    return row;
}

/* As in csv.c: what the runtime did not tell is unknown. */
static uint64_t op_time(place *at, const void *row, bool *known, uint64_t time_ns)
{
    *known = !(op_of(row)->flags & SONDE_OP_NO_TIMES) && time_ns;
    return *known ? time_ns - (uint64_t)at->origin_ns : 0;
}

static uint64_t op_queued(place *at, const void *row, bool *known)
{
    return op_time(at, row, known, op_of(row)->queued_ns);
}

static uint64_t op_submit(place *at, const void *row, bool *known)
{
    return op_time(at, row, known, op_of(row)->submit_ns);
}

static uint64_t op_start(place *at, const void *row, bool *known)
{
    return op_time(at, row, known, op_of(row)->start_ns);
}

static uint64_t op_end(place *at, const void *row, bool *known)
{
    return op_time(at, row, known, op_of(row)->end_ns);
}

static uint64_t op_duration(place *at, const void *row, bool *known)
{
    (void)at;
    const struct sonde_row_op *op = row;
    *known = !(op->flags & SONDE_OP_NO_TIMES) && op->start_ns && op->end_ns >= op->start_ns;
    return *known ? op->end_ns - op->start_ns : 0;
}

static uint64_t op_failed(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    return (op_of(row)->flags & SONDE_OP_FAILED) != 0;
}

static uint64_t op_bad_time(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    return (op_of(row)->flags & SONDE_OP_BAD_TIME) != 0;
}

static uint64_t op_kind(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    return op_of(row)->kind;
}

static uint64_t kind_numbers(const struct sonde_read *m)
{
    (void)m;
    return UINT16_MAX + 1u;
}

static const char *kind_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)m, (void)names, (void)room, (void)size;
    return sonde_op_kind_name((uint32_t)number);
}

static uint64_t op_context(place *at, const void *row, bool *known)
{
    return known_context(at, op_of(row)->node, known);
}

/* Its call path, whose leaf has the kernel's name; without one, its kind. */
static uint64_t op_name(place *at, const void *row, bool *known)
{
    const uint64_t context = known_context(at, op_of(row)->node, known);
    const struct sonde_cct_node *node = &at->m->query.profile->nodes.items[context];
    *known = true;
    return context && node->kind == SONDE_FRAME_OP && *node->name ? context : context_numbers(at->m) + op_of(row)->kind;
}

static uint64_t op_name_numbers(const struct sonde_read *m)
{
    return context_numbers(m) + kind_numbers(m);
}

static const char *op_name_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    const uint64_t contexts = context_numbers(m);
    return number < contexts ? sonde_names_op(names, (uint32_t)number, 0) : kind_text(m, names, number - contexts, room, size);
}

static uint64_t op_object(place *at, const void *row, bool *known)
{
    *known = sonde_object_row(at->p, op_of(row)->object) != NULL;
    return *known ? op_of(row)->object : 0;
}

static uint64_t op_object_bytes(place *at, const void *row, bool *known)
{
    const struct sonde_row_object *object = sonde_object_row(at->p, op_of(row)->object);
    *known = object != NULL;
    return object ? object->bytes : 0;
}

static uint64_t op_work(place *at, const void *row, bool *known)
{
    *known = op_of(row)->work && op_of(row)->work < at->p->work_count;
    return at->m->work_first[at->process] + op_of(row)->work;
}

static uint64_t work_numbers(const struct sonde_read *m)
{
    return m->work_first[m->query.m->process_count];
}

static const char *work_text(const struct sonde_read *m, uint64_t number, enum sonde_work_text which, char *room, size_t size)
{
    uint32_t work, process = process_of(m, m->work_first, number, &work);
    return sonde_names_work(&m->query.m->processes[process], work, which, room, size);
}

#define WORK_TEXT(name, which)                                                                                                           \
    static const char *name(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size) \
    {                                                                                                                                    \
        (void)names;                                                                                                                     \
        return work_text(m, number, which, room, size);                                                                                  \
    }
WORK_TEXT(global_text, SONDE_WORK_GLOBAL)
WORK_TEXT(local_text, SONDE_WORK_LOCAL)
WORK_TEXT(cluster_text, SONDE_WORK_CLUSTER)
WORK_TEXT(limiter_text, SONDE_WORK_LIMITER)
WORK_TEXT(source_text, SONDE_WORK_SOURCE)
WORK_TEXT(target_text, SONDE_WORK_TARGET)
WORK_TEXT(source_device_text, SONDE_WORK_SOURCE_DEVICE)
WORK_TEXT(target_device_text, SONDE_WORK_TARGET_DEVICE)

static const struct sonde_row_work *launch_of(place *at, const void *row, bool *known)
{
    const struct sonde_row_work *launch = sonde_names_launch(at->p, op_of(row)->work);
    *known = launch != NULL;
    return launch;
}

static uint64_t op_registers(place *at, const void *row, bool *known)
{
    const struct sonde_row_work *launch = launch_of(at, row, known);
    return launch ? launch->registers : 0;
}

static uint64_t op_static_shared(place *at, const void *row, bool *known)
{
    const struct sonde_row_work *launch = launch_of(at, row, known);
    return launch ? launch->static_shared : 0;
}

static uint64_t op_dynamic_shared(place *at, const void *row, bool *known)
{
    const struct sonde_row_work *launch = launch_of(at, row, known);
    return launch ? launch->dynamic_shared : 0;
}

static uint64_t op_local_bytes(place *at, const void *row, bool *known)
{
    const struct sonde_row_work *launch = launch_of(at, row, known);
    return launch ? launch->local_bytes : 0;
}

static uint64_t op_occupancy(place *at, const void *row, bool *known)
{
    const struct sonde_row_work *launch = launch_of(at, row, known);
    *known = launch && launch->occupancy;
    return bits_of(*known ? launch->occupancy / 1000.0 : 0);
}

/* clang-format off */
static const struct sonde__column operations[] = {
    PROCESS,
    LANE("lane of its queue, within the process"),
    TEXT("queue", lane_number, lane_numbers, lane_text, 0, "what the queue is called"),
    TEXT("device", lane_number, lane_numbers, lane_device_text, 0, "what the device is called"),
    {.name = "kind", .format = "i", .how = SONDE__TEXT, .nullable = true, .value = op_kind, .numbers = kind_numbers, .text = kind_text,
     .fields = OP(kind), .definition = "kernel, read, write, fill, marker ..."},
    TEXT("name", op_name, op_name_numbers, op_name_text, OP(node) | OP(kind), "the kernel's name, or the kind"),
    COPIED(sonde_row_op, correlation, "correlation", "L", "number that its API call has, too"),
    TIME(sonde_row_op, enter_ns, "entry of the API call"),
    VALUE("queued_ns", "l", op_queued, OP(queued_ns) | OP(flags), "the runtime took it"),
    VALUE("submit_ns", "l", op_submit, OP(submit_ns) | OP(flags), "it went to the device"),
    VALUE("start_ns", "l", op_start, OP(start_ns) | OP(flags), "it started on the device"),
    VALUE("end_ns", "l", op_end, OP(end_ns) | OP(flags), "it ended on the device"),
    VALUE("duration_ns", "l", op_duration, OP(start_ns) | OP(end_ns) | OP(flags), "from its start to its end"),
    COPIED(sonde_row_op, bytes, "bytes", "l", "moved or filled"),
    ASKED("global_size", op_work, work_numbers, global_text, OP(work), "work-items, or threads: 1024 × 16"),
    ASKED("local_size", op_work, work_numbers, local_text, OP(work), "of one group, or block; unknown: the runtime's choice"),
    RARE("object", "I", op_object, OP(object), "the data object it used, within the process"),
    RARE("object_bytes", "l", op_object_bytes, OP(object), "that object's size"),
    FLAG("failed", op_failed, OP(flags), "it ended with an error"),
    FLAG("bad_time", op_bad_time, OP(flags), "its times are as the runtime gave them, and cannot be"),
    CONTEXT(op_context, OP(node), "its call path: id in the table contexts"),
    ASKED("called_from", op_context, context_numbers, callers_text, OP(node), "up to four frames of your own code, innermost first"),
    ASKED("ranges", op_context, context_numbers, ranges_text, OP(node), "ranges that the call was made in, innermost first"),
    RARE("registers", "l", op_registers, OP(work), "registers per thread"),
    RARE("static_shared_bytes", "l", op_static_shared, OP(work), "static shared memory per block"),
    RARE("dynamic_shared_bytes", "l", op_dynamic_shared, OP(work), "dynamic shared memory per block"),
    RARE("local_bytes", "l", op_local_bytes, OP(work), "local memory per thread"),
    ASKED("cluster", op_work, work_numbers, cluster_text, OP(work), "blocks of a cluster: 2 × 1 × 1"),
    RARE("occupancy", "g", op_occupancy, OP(work), "theoretical occupancy, 0 to 1"),
    ASKED("occupancy_limiter", op_work, work_numbers, limiter_text, OP(work), "what keeps it from being higher"),
    ASKED("source", op_work, work_numbers, source_text, OP(work), "memory that a copy reads"),
    ASKED("target", op_work, work_numbers, target_text, OP(work), "memory that a copy writes"),
    ASKED("source_device", op_work, work_numbers, source_device_text, OP(work), "device that a copy reads from"),
    ASKED("target_device", op_work, work_numbers, target_device_text, OP(work), "device that a copy writes to"),
};
/* clang-format on */

/* ---- API calls ---------------------------------------------------------------------------------------- */

static uint64_t call_context(place *at, const void *row, bool *known)
{
    return known_context(at, ((const struct sonde_row_call *)row)->node, known);
}

static uint64_t call_name(place *at, const void *row, bool *known)
{
    const uint64_t context = call_context(at, row, known);
    *known = true;
    return context; /* 0: the root, which is no call */
}

static const char *call_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)m, (void)room, (void)size;
    return sonde_names_call(names, (uint32_t)number);
}

static uint64_t call_correlation(place *at, const void *row, bool *known)
{
    (void)at;
    const uint64_t correlation = ((const struct sonde_row_call *)row)->correlation;
    *known = correlation != 0;
    return correlation;
}

static uint64_t call_queue(place *at, const void *row, bool *known)
{
    (void)at;
    *known = ((const struct sonde_row_call *)row)->lane != 0;
    return ((const struct sonde_row_call *)row)->lane;
}

static const struct sonde__column calls[] = {
    PROCESS,
    LANE("lane of its thread"),
    TEXT("thread", lane_number, lane_numbers, lane_text, 0, "what the thread is called"),
    TEXT("name", call_name, context_numbers, call_text, 0, "the function of the runtime"),
    VALUE("correlation", "L", call_correlation, 0, "number that its operation has, too; unknown: it enqueued none"),
    TIME(sonde_row_call, enter_ns, "entry"),
    TIME(sonde_row_call, leave_ns, "return"),
    VALUE("queue", "I", call_queue, 0, "lane of its operation"),
    CONTEXT(call_context, 0, "its call path: id in the table contexts"),
    ASKED("called_from", call_context, context_numbers, callers_text, 0, "up to four frames of your own code, innermost first"),
};

/* ---- ranges ------------------------------------------------------------------------------------------- */

static const struct sonde_row_range *range_of(const void *row)
{
    return row;
}

static uint64_t range_name(place *at, const void *row, bool *known)
{
    return string_number(at, range_of(row)->name, known);
}

static uint64_t range_domain(place *at, const void *row, bool *known)
{
    return string_number(at, range_of(row)->domain, known);
}

static uint64_t range_category(place *at, const void *row, bool *known)
{
    return string_number(at, range_of(row)->category, known);
}

static uint64_t range_end(place *at, const void *row, bool *known)
{
    *known = range_of(row)->end_ns != 0;
    return *known ? range_of(row)->end_ns - (uint64_t)at->origin_ns : 0;
}

static uint64_t range_payload(place *at, const void *row, bool *known)
{
    (void)at;
    const struct sonde_row_range *range = row;
    double value = 0;
    if (range->payload_type == 1)
        value = (double)range->payload;
    else if (range->payload_type == 2)
        value = (double)(int64_t)range->payload;
    else if (range->payload_type == 3)
        memcpy(&value, &range->payload, sizeof value);
    *known = range->payload_type >= 1 && range->payload_type <= 3 && isfinite(value);
    return bits_of(*known ? value : 0);
}

static uint64_t range_mark(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    return (range_of(row)->flags & SONDE_RANGE_MARK) != 0;
}

static uint64_t range_across(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    return (range_of(row)->flags & SONDE_RANGE_ACROSS) != 0;
}

static const struct sonde__column ranges[] = {
    PROCESS,
    LANE("lane of the thread that began it"),
    TEXT("name", range_name, string_numbers, string_text, 0, "as the program named it"),
    TEXT("domain", range_domain, string_numbers, string_text, 0, "its domain; unknown: the default one"),
    TEXT("category", range_category, string_numbers, string_text, 0, "its category"),
    TIME(sonde_row_range, begin_ns, "begin"),
    VALUE("end_ns", "l", range_end, 0, "end; unknown: it did not end; of a mark its begin"),
    VALUE("payload", "g", range_payload, 0, "the number that came with it"),
    FLAG("mark", range_mark, 0, "a mark: an instant"),
    FLAG("across", range_across, 0, "it may end on another thread"),
};

/* ---- waits ------------------------------------------------------------------------------------------- */

static uint64_t wait_operation(uint64_t number, bool *known)
{
    *known = number && number < SONDE_WAIT_USER_EVENT;
    return *known ? number : 0;
}

static uint64_t wait_event(uint64_t number, bool *known)
{
    *known = number > SONDE_WAIT_USER_EVENT;
    return *known ? number - SONDE_WAIT_USER_EVENT : 0;
}

static uint64_t wait_waiter(place *at, const void *row, bool *known)
{
    (void)at;
    return wait_operation(((const struct sonde_row_wait *)row)->waiter, known);
}

static uint64_t wait_awaited(place *at, const void *row, bool *known)
{
    (void)at;
    return wait_operation(((const struct sonde_row_wait *)row)->awaited, known);
}

static uint64_t wait_user_event(place *at, const void *row, bool *known)
{
    (void)at;
    return wait_event(((const struct sonde_row_wait *)row)->awaited, known);
}

static uint64_t wait_completes(place *at, const void *row, bool *known)
{
    (void)at;
    return wait_event(((const struct sonde_row_wait *)row)->waiter, known);
}

static uint64_t wait_queue(place *at, const void *row, bool *known)
{
    (void)at;
    *known = ((const struct sonde_row_wait *)row)->lane != 0;
    return ((const struct sonde_row_wait *)row)->lane;
}

static uint64_t wait_device(place *at, const void *row, bool *known)
{
    (void)at;
    *known = ((const struct sonde_row_wait *)row)->device != 0;
    return ((const struct sonde_row_wait *)row)->device;
}

static const struct sonde__column waits[] = {
    PROCESS,
    LANE("lane of the thread that made the call"),
    TIME(sonde_row_wait, enter_ns, "entry of the API call"),
    VALUE("waiter", "L", wait_waiter, 0, "correlation of the operation that could start only then; unknown: the call itself returned only then"),
    VALUE("operation", "L", wait_awaited, 0, "correlation of the operation waited for"),
    VALUE("user_event", "L", wait_user_event, 0, "number of the user event waited for"),
    VALUE("completes_user_event", "L", wait_completes, 0, "number of the user event that this call completes; nothing is waited for"),
    VALUE("queue", "I", wait_queue, 0, "lane of the queue whose earlier work is waited for"),
    VALUE("device", "I", wait_device, 0, "device whose earlier work is waited for"),
};

/* ---- the CPU side ------------------------------------------------------------------------------------- */

static uint64_t sample_context(place *at, const void *row, bool *known)
{
    return known_context(at, ((const struct sonde_row_sample *)row)->node, known);
}

static uint64_t sample_deferred(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    return (((const struct sonde_row_sample *)row)->flags & SONDE_SAMPLE_DEFERRED) != 0;
}

static const struct sonde__column samples[] = {
    PROCESS,
    LANE("lane of the thread"),
    TIME(sonde_row_sample, time_ns, "when it was taken"),
    COPIED(sonde_row_sample, cpu_ns, "cpu_ns", "l", "CPU time of the thread since its last sample"),
    CONTEXT(sample_context, 0, "the innermost frame, or the API call if deferred: id in the table contexts"),
    FLAG("deferred", sample_deferred, 0, "taken inside an API call, whose stack it gets"),
};

static uint64_t switch_in(place *at, const void *row, bool *known)
{
    const struct sonde_row_switch *off = row;
    *known = off->in_ns != 0;
    return *known ? off->in_ns - (uint64_t)at->origin_ns : 0;
}

static uint64_t switch_preempted(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    return (((const struct sonde_row_switch *)row)->flags & SONDE_SWITCH_PREEMPTED) != 0;
}

static const struct sonde__column switches[] = {
    PROCESS,
    LANE("lane of the thread"),
    TIME(sonde_row_switch, out_ns, "it left the CPU"),
    VALUE("in_ns", "l", switch_in, 0, "it was back; unknown: it never was"),
    FLAG("preempted", switch_preempted, 0, "it could have gone on"),
};

static uint64_t sleep_context(place *at, const void *row, bool *known)
{
    return known_context(at, ((const struct sonde_row_sleep *)row)->node, known);
}

static uint64_t sleep_kind(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    const uint32_t kind = ((const struct sonde_row_sleep *)row)->kind;
    return kind < SONDE_SLEEP_KINDS ? kind : 0;
}

static uint64_t sleep_numbers(const struct sonde_read *m)
{
    (void)m;
    return SONDE_SLEEP_KINDS;
}

static const char *sleep_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)m, (void)names, (void)room, (void)size;
    return sonde_sleep_text((uint32_t)number);
}

static const struct sonde__column sleeps[] = {
    PROCESS,
    LANE("lane of the thread"),
    TIME(sonde_row_sleep, from_ns, "it went into the function"),
    TIME(sonde_row_sleep, to_ns, "it came out of it"),
    TEXT("for", sleep_kind, sleep_numbers, sleep_text, 0, "sleep, lock, queue, I/O or end"),
    CONTEXT(sleep_context, 0, "the function that waits: id in the table contexts"),
};

static uint64_t message_context(place *at, const void *row, bool *known)
{
    return known_context(at, ((const struct sonde_row_message *)row)->node, known);
}

static uint64_t message_kind(place *at, const void *row, bool *known)
{
    (void)at, (void)known;
    const uint32_t kind = ((const struct sonde_row_message *)row)->kind;
    return kind < SONDE_MESSAGE_KINDS ? kind : 0;
}

static uint64_t message_numbers(const struct sonde_read *m)
{
    (void)m;
    return SONDE_MESSAGE_KINDS;
}

static const char *message_text(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size)
{
    (void)m, (void)names, (void)room, (void)size;
    return sonde_message_kind_name((uint32_t)number);
}

static uint64_t message_peer(place *at, const void *row, bool *known)
{
    (void)at;
    const uint32_t peer = ((const struct sonde_row_message *)row)->peer;
    *known = peer != 0;
    return peer - 1;
}

static uint64_t message_comm(place *at, const void *row, bool *known)
{
    return string_number(at, ((const struct sonde_row_message *)row)->comm, known);
}

static const struct sonde__column messages[] = {
    PROCESS,
    LANE("lane of the thread"),
    TIME(sonde_row_message, enter_ns, "the call began in which it was sent, or had come in full"),
    TIME(sonde_row_message, leave_ns, "that call returned"),
    TIME(sonde_row_message, posted_ns, "it was begun: with that call, or earlier, by another one"),
    TEXT("kind", message_kind, message_numbers, message_text, 0, "send, receive, or what all ranks of a communicator do: barrier, all-to-all, from root, to root, prefix; call: none"),
    TEXT("communicator", message_comm, string_numbers, string_text, 0, "the same in all of its ranks"),
    VALUE("peer", "I", message_peer, 0, "the other rank, or the root; unknown: none"),
    COPIED(sonde_row_message, tag, "tag", "I", "its tag"),
    COPIED(sonde_row_message, bytes, "bytes", "l", "its size; of what all do, this rank's part"),
    CONTEXT(message_context, 0, "the call: id in the table contexts"),
};

/* ---- all of them --------------------------------------------------------------------------------------- */

#define TABLE(columns, number, text) {#columns, text, number, columns, sizeof columns / sizeof *columns}
const struct sonde__trace sonde__traces[] = {
    TABLE(operations, SONDE_TABLE_OP, "an operation of a device: a kernel, a copy ..."),
    TABLE(calls, SONDE_TABLE_CALL, "a call of the runtime by the program"),
    TABLE(ranges, SONDE_TABLE_RANGE, "a range or a mark that the program named"),
    TABLE(waits, SONDE_TABLE_WAIT, "what a call, or an operation, waited for"),
    TABLE(samples, SONDE_TABLE_SAMPLE, "a sample of a thread on the CPU"),
    TABLE(switches, SONDE_TABLE_SWITCH, "a time that a thread was off the CPU"),
    TABLE(sleeps, SONDE_TABLE_SLEEP, "a wait in a function of the C library"),
    TABLE(messages, SONDE_TABLE_MESSAGE, "a message between ranks, or a call of all ranks"),
};
const uint32_t sonde__trace_count = sizeof sonde__traces / sizeof *sonde__traces;
