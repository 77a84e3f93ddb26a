/* perfetto.c - a measurement as a Perfetto trace: processes, threads and queues
 * as tracks (perfetto_tracks.h); API calls, waits, ranges and operations as slices; flows
 * between them, also to what waited from what it waited for (deciding.h); samples of the CPU side as instants; counters (perfetto_counters.h).
 *
 * docs/export.md says what becomes what. Slices of one track never overlap
 * (layout.h): those of a lane that do go to further tracks that the viewer
 * merges into one. Operations without usable times become instants at their
 * API call, so that the counts stay those of the ledger.
 */
#include "export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/answers/critical/deciding.h"
#include "analyze/model/rank.h"
#include "analyze/profile/object_model.h"
#include "analyze/trace/trace.h"
#include "base/vector.h"
#include "layout.h"
#include "names.h"
#include "perfetto_counters.h"
#include "perfetto_messages.h"

#define CALLED_FROM_FRAMES 4

/* An open slice at whose end flows end. */
struct receiving {
    uint32_t row;
    uint64_t end_ns;
    const uint64_t *flows;   /* NULL: the one of `wait` */
    size_t flow_count;
    uint64_t wait;
};

struct writer {
    const struct sonde_measurement *m;
    struct sonde_names names;
    struct pf_wire wire;
    struct sonde_layout *layout;
    struct sonde_progress *progress;
    struct sonde_export_result *result;
    uint64_t *called_from, *stacks; /* [tree node]: iid of the text; ~0 = empty */
    uint64_t *works[SONDE_WORK_TEXTS]; /* [work id] of this process */
    uint64_t *strings;                                    /* [string id] of this process */
    uint64_t waits_for[SONDE_SLEEP_KINDS];

    struct pf_tracks tracks; /* of the process, and the lane, now being written */
    int64_t shift_ns;      /* of the process's times */
    bool sampled;          /* the track of the lane's samples is described */
    bool nests;            /* the lane's slices lie within each other */
    SONDE_VECTOR(struct sonde_row_range) ranges; /* of the lane, in the order of by_begin */
    SONDE_VECTOR(struct sonde_row_sleep) sleeps; /* of the lane, in order */
    size_t next_range, next_sleep; /* to be laid out */
    struct pf_messages messages;
    struct sonde_deciding *deciding; /* of this process; NULL: it has no operations */
    SONDE_VECTOR(uint64_t) begun;  /* flows that begin at the event that is being made */
    SONDE_VECTOR(struct receiving) receiving; /* calls that received something, or waited */
};

struct slice {
    enum sonde_table table;
    union {
        struct sonde_row_op op;
        struct sonde_row_call call;
        struct sonde_row_range range;
        struct sonde_row_sleep sleep;
    } row;
};

static const struct sonde_process *process_of(const struct writer *w)
{
    return &w->m->processes[w->tracks.process];
}

static uint64_t time_of(const struct writer *w, uint64_t ns)
{
    return ns + (uint64_t)w->shift_ns;
}

/* ---- slices ------------------------------------------------------------------- */

/* iid of a text that belongs to `key`, made by `text` once. */
static uint64_t once(struct writer *w, uint64_t *iids, size_t key, const char *text)
{
    uint64_t iid = pf_text(&w->wire, text);
    iids[key] = iid ? iid : UINT64_MAX;
    return iid;
}

static uint64_t known(const uint64_t *iids, size_t key)
{
    return iids[key] == UINT64_MAX ? 0 : iids[key];
}

static void add_context(struct writer *w, struct pf_event *event, uint32_t at)
{
    if (!at)
        return;
    if (!w->called_from[at])
        once(w, w->called_from, at, sonde_names_callers(&w->names, at, CALLED_FROM_FRAMES));
    if (!w->stacks[at])
        once(w, w->stacks, at, sonde_names_stack(&w->names, at));
    pf_add_text(event, PF_KEY_called_from, known(w->called_from, at));
    pf_add_text(event, PF_KEY_stack, known(w->stacks, at));
}

static void add_work(struct writer *w, struct pf_event *event, uint32_t work)
{
    static const enum pf_key keys[] = {
        [SONDE_WORK_GLOBAL] = PF_KEY_global_size,
        [SONDE_WORK_LOCAL] = PF_KEY_local_size,
        [SONDE_WORK_CLUSTER] = PF_KEY_cluster,
        [SONDE_WORK_LIMITER] = PF_KEY_occupancy_limiter,
        [SONDE_WORK_SOURCE] = PF_KEY_source,
        [SONDE_WORK_TARGET] = PF_KEY_target,
        [SONDE_WORK_SOURCE_DEVICE] = PF_KEY_source_device,
        [SONDE_WORK_TARGET_DEVICE] = PF_KEY_target_device,
    };
    const struct sonde_row_work *launch = sonde_names_launch(process_of(w), work);
    char text[192];
    if (work == 0 || work >= process_of(w)->work_count)
        return;
    for (enum sonde_work_text i = 0; i < SONDE_WORK_TEXTS; i++) {
        if (!w->works[i][work])
            once(w, w->works[i], work, sonde_names_work(process_of(w), work, i, text, sizeof text));
        pf_add_text(event, keys[i], known(w->works[i], work));
    }
    if (!launch)
        return;
    pf_add_number(event, PF_KEY_registers, launch->registers);
    pf_add_number(event, PF_KEY_static_shared_bytes, launch->static_shared);
    pf_add_number(event, PF_KEY_dynamic_shared_bytes, launch->dynamic_shared);
    pf_add_number(event, PF_KEY_local_bytes, launch->local_bytes);
    if (launch->occupancy)
        pf_add_real(event, PF_KEY_occupancy, launch->occupancy / 1000.0);
}

/* The parts of the queue delay whose both ends are known. */
static void add_delay(struct pf_event *event, enum pf_key key, uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns && to_ns >= from_ns)
        pf_add_number(event, key, to_ns - from_ns);
}

/* Correlation ids take 64 bits and are unique within a process only: mixed
 * with the process, so that two flows of one trace meet once in 2^64. */
static uint64_t flow_of(const struct writer *w, uint64_t correlation)
{
    return correlation ? sonde_hash_mix(sonde_hash_mix(0, w->tracks.process + 1), correlation) : 0;
}

static uint64_t flow_of_wait(const struct writer *w, uint32_t wait)
{
    return wait ? sonde_hash_mix(sonde_hash_mix(1, w->tracks.process + 1), wait) : 0;
}

/* `own`: the flow from a call to its operations; 0 none. */
static void begin_flows(struct writer *w, struct pf_event *event, uint64_t own, const struct sonde_decided *decided)
{
    w->begun.count = 0;
    if (own && sonde_vector_push(&w->begun, own))
        w->wire.nomem = true;
    for (size_t i = 0; i < decided->ended_count; i++)
        if (sonde_vector_push(&w->begun, flow_of_wait(w, decided->ended[i])))
            w->wire.nomem = true;
    event->flows = w->begun.items;
    event->flow_count = w->begun.count;
}

static bool has_times(const struct sonde_row_op *op)
{
    return !(op->flags & SONDE_OP_NO_TIMES) && op->start_ns && op->end_ns >= op->start_ns;
}

static enum pf_category category_of(uint32_t kind)
{
    switch (sonde_op_kind_group(kind)) {
    case SONDE_GROUP_KERNEL: return PF_CATEGORY_kernel;
    case SONDE_GROUP_COPY: return PF_CATEGORY_copy;
    case SONDE_GROUP_SET: return PF_CATEGORY_set;
    default: return PF_CATEGORY_order;
    }
}

static const char *status_of(const struct sonde_row_op *op)
{
    return op->flags & SONDE_OP_FAILED     ? "failed"
           : op->flags & SONDE_OP_NO_TIMES ? "no device times"
           : op->flags & SONDE_OP_BAD_TIME ? "invalid times"
           : op->flags & SONDE_OP_EARLY    ? "starts before its API call, within the maximum clock error"
           : has_times(op)                 ? ""
                                           : "invalid times";
}

static void write_op(struct writer *w, uint32_t row, const struct sonde_row_op *op)
{
    const struct sonde_process *p = process_of(w);
    uint32_t at = sonde_names_locate(&w->names, w->tracks.process, op->node);
    bool timed = has_times(op) && row != SONDE_LAYOUT_NO_ROW;
    struct pf_event event = {.category = category_of(op->kind)};
    const struct sonde_decided decided = w->deciding ? sonde_deciding_of_op(w->deciding, w->tracks.lane, op) : (struct sonde_decided){0};
    event.name = pf_name(&w->wire, sonde_names_op(&w->names, at, op->kind));
    pf_end_flow(&event, flow_of(w, op->correlation));
    pf_end_flow(&event, flow_of_wait(w, decided.wait));
    begin_flows(w, &event, 0, &decided);
    event.track = pf_row_track(&w->tracks, timed ? row : 0);
    pf_add_number(&event, PF_KEY_correlation, op->correlation);
    if (op->bytes)
        pf_add_number(&event, PF_KEY_bytes, op->bytes);
    add_work(w, &event, op->work);
    const struct sonde_row_object *object = sonde_object_row(p, op->object);
    if (object) {
        pf_add_number(&event, PF_KEY_object, op->object);
        pf_add_number(&event, PF_KEY_object_bytes, object->bytes);
    }
    if (has_times(op)) {
        add_delay(&event, PF_KEY_call_to_queued_ns, op->enter_ns, op->queued_ns);
        add_delay(&event, PF_KEY_queued_to_submit_ns, op->queued_ns, op->submit_ns);
        add_delay(&event, PF_KEY_submit_to_start_ns, op->submit_ns, op->start_ns);
    }
    if (*status_of(op))
        pf_add_text(&event, PF_KEY_status, pf_text(&w->wire, status_of(op)));
    add_context(w, &event, at);
    event.at_ns = time_of(w, timed ? op->start_ns : op->enter_ns);
    if (timed)
        pf_send_slice(&w->wire, &event, time_of(w, op->end_ns));
    else
        pf_send_instant(&w->wire, &event);
    w->result->operations++;
    w->result->without_times += !has_times(op);
}

/* What a call waited for may have begun long after it: that flow leads to its end. */
static void note_waited(struct writer *w, uint32_t row, const struct sonde_row_call *call, uint32_t wait)
{
    const struct receiving one = {.row = row, .end_ns = call->leave_ns, .flow_count = 1, .wait = flow_of_wait(w, wait)};
    if (wait && sonde_vector_push(&w->receiving, one))
        w->wire.nomem = true;
}

static void write_call(struct writer *w, uint32_t row, const struct sonde_row_call *call)
{
    uint32_t at = sonde_names_locate(&w->names, w->tracks.process, call->node);
    struct pf_event event = {.category = PF_CATEGORY_api, .at_ns = time_of(w, call->enter_ns)};
    const struct sonde_decided decided =
        w->deciding ? sonde_deciding_of_call(w->deciding, w->tracks.lane, call->enter_ns) : (struct sonde_decided){0};
    event.name = pf_name(&w->wire, sonde_names_call(&w->names, at));
    begin_flows(w, &event, flow_of(w, call->correlation), &decided);
    event.track = pf_row_track(&w->tracks, row == SONDE_LAYOUT_NO_ROW ? 0 : row);
    if (call->correlation)
        pf_add_number(&event, PF_KEY_correlation, call->correlation);
    if (call->lane && call->lane < process_of(w)->lane_count)
        pf_add_number(&event, PF_KEY_queue, w->names.ordinals[w->tracks.process][call->lane]);
    add_context(w, &event, at);
    if (row == SONDE_LAYOUT_NO_ROW || call->leave_ns < call->enter_ns)
        pf_send_instant(&w->wire, &event);
    else {
        pf_send_begin(&w->wire, &event); /* end_slice ends it */
        note_waited(w, row, call, decided.wait);
    }
    w->result->calls++;
}

static void add_string(struct writer *w, struct pf_event *event, enum pf_key key, uint32_t id)
{
    if (!id || id >= process_of(w)->string_count)
        return;
    if (!w->strings[id])
        once(w, w->strings, id, sonde_process_string(process_of(w), id));
    pf_add_text(event, key, known(w->strings, id));
}

static void add_payload(struct pf_event *event, const struct sonde_row_range *range)
{
    double real;
    memcpy(&real, &range->payload, sizeof real);
    if (range->payload_type == 1)
        pf_add_number(event, PF_KEY_payload, range->payload);
    else if (range->payload_type == 2)
        pf_add_signed(event, PF_KEY_payload, (int64_t)range->payload);
    else if (range->payload_type == 3)
        pf_add_real(event, PF_KEY_payload, real);
}

/* A range that has not ended lasts as long as its process. */
static uint64_t end_of(const struct writer *w, const struct sonde_row_range *range)
{
    uint64_t stop_ns = process_of(w)->header.stop_ns;
    return range->end_ns ? range->end_ns : (stop_ns > range->begin_ns ? stop_ns : range->begin_ns);
}

/* Calls of MPI lie among the ranges: name, bytes (payload), communicator (domain), the other rank, from 1 (category). */
#define OF_MPI 0x8000u

/* Of what the lane's call sent, or received. */
static const uint64_t *flows_of(const struct writer *w, uint64_t enter_ns, bool received, size_t *count)
{
    return pf_messages_of(&w->messages, &(struct pf_message_end){w->tracks.process, w->tracks.lane, enter_ns, received}, count);
}

/* A message may have been sent long after the call that received it began: its flow leads to the end. */
static void note_received(struct writer *w, uint32_t row, const struct sonde_row_range *call)
{
    struct receiving one = {.row = row, .end_ns = call->end_ns};
    one.flows = flows_of(w, call->begin_ns, true, &one.flow_count);
    if (one.flow_count && sonde_vector_push(&w->receiving, one))
        w->wire.nomem = true;
}

static void write_message(struct writer *w, uint32_t row, const struct sonde_row_range *call)
{
    struct pf_event event = {.category = PF_CATEGORY_message, .at_ns = time_of(w, call->begin_ns)};
    event.name = pf_name(&w->wire, sonde_process_string(process_of(w), call->name));
    event.track = pf_row_track(&w->tracks, row == SONDE_LAYOUT_NO_ROW ? 0 : row);
    add_string(w, &event, PF_KEY_communicator, call->domain);
    if (call->category)
        pf_add_number(&event, PF_KEY_peer, call->category - 1);
    if (call->payload)
        pf_add_number(&event, PF_KEY_bytes, call->payload);
    event.flows = flows_of(w, call->begin_ns, false, &event.flow_count);
    if (row == SONDE_LAYOUT_NO_ROW) {
        pf_send_instant(&w->wire, &event);
        return;
    }
    pf_send_begin(&w->wire, &event);
    note_received(w, row, call);
}

static void write_range(struct writer *w, uint32_t row, const struct sonde_row_range *range)
{
    if (range->flags & OF_MPI) {
        write_message(w, row, range);
        return;
    }
    const char *name = sonde_process_string(process_of(w), range->name);
    bool mark = range->flags & SONDE_RANGE_MARK, reversed = end_of(w, range) < range->begin_ns;
    struct pf_event event = {.category = mark ? PF_CATEGORY_mark : PF_CATEGORY_range};
    event.at_ns = time_of(w, range->begin_ns);
    event.name = pf_name(&w->wire, *name ? name : (mark ? "mark" : "range"));
    event.track = pf_row_track(&w->tracks, row == SONDE_LAYOUT_NO_ROW ? 0 : row);
    add_string(w, &event, PF_KEY_domain, range->domain);
    add_string(w, &event, PF_KEY_category, range->category);
    add_payload(&event, range);
    if (!range->end_ns || reversed)
        pf_add_text(&event, PF_KEY_status, pf_text(&w->wire, reversed ? "invalid times" : "not ended"));
    if (mark || reversed || row == SONDE_LAYOUT_NO_ROW)
        pf_send_instant(&w->wire, &event);
    else if (w->nests)
        pf_send_begin(&w->wire, &event);
    else
        pf_send_slice(&w->wire, &event, time_of(w, end_of(w, range)));
    w->result->ranges++;
}

static void write_sleep(struct writer *w, uint32_t row, const struct sonde_row_sleep *sleep)
{
    const uint32_t at = sonde_names_locate(&w->names, w->tracks.process, sleep->node);
    struct pf_event event = {.category = PF_CATEGORY_wait, .at_ns = time_of(w, sleep->from_ns)};
    event.name = pf_name(&w->wire, sonde_names_sleep(&w->names, at));
    event.track = pf_row_track(&w->tracks, row == SONDE_LAYOUT_NO_ROW ? 0 : row);
    if (!w->waits_for[sleep->kind < SONDE_SLEEP_KINDS ? sleep->kind : 0])
        once(w, w->waits_for, sleep->kind < SONDE_SLEEP_KINDS ? sleep->kind : 0, sonde_sleep_text(sleep->kind));
    pf_add_text(&event, PF_KEY_waits_for, known(w->waits_for, sleep->kind < SONDE_SLEEP_KINDS ? sleep->kind : 0));
    add_context(w, &event, at);
    if (row == SONDE_LAYOUT_NO_ROW)
        pf_send_instant(&w->wire, &event);
    else
        pf_send_begin(&w->wire, &event);
}

static void end_slice(void *user, uint32_t row, uint64_t end_ns)
{
    struct writer *w = user;
    struct receiving found = {0};
    for (size_t i = w->receiving.count; i-- > 0 && !found.flow_count;)
        if (w->receiving.items[i].row == row && w->receiving.items[i].end_ns == end_ns) {
            found = w->receiving.items[i];
            w->receiving.items[i] = w->receiving.items[--w->receiving.count];
        }
    pf_send_end(&w->wire, pf_row_track(&w->tracks, row), time_of(w, end_ns), found.flows ? found.flows : &found.wait,
                found.flow_count);
}

static void write_slice(void *user, uint32_t row, const void *item)
{
    struct writer *w = user;
    const struct slice *slice = item;
    if (slice->table == SONDE_TABLE_CALL)
        write_call(w, row, &slice->row.call);
    else if (slice->table == SONDE_TABLE_RANGE)
        write_range(w, row, &slice->row.range);
    else if (slice->table == SONDE_TABLE_SLEEP)
        write_sleep(w, row, &slice->row.sleep);
    else
        write_op(w, row, &slice->row.op);
}

static void end_lane(struct writer *w)
{
    sonde_layout_end(w->layout);
    pf_tracks_lane(&w->tracks, 0);
}

static void begin_lane(struct writer *w, uint32_t lane)
{
    if (lane == w->tracks.lane)
        return;
    end_lane(w);
    pf_tracks_lane(&w->tracks, lane);
}

static int must_stop(const struct writer *w)
{
    return w->wire.nomem || sonde_out_failed(w->wire.out);
}

static void take_rows(struct writer *w, enum sonde_table table, uint32_t lane,
                      int (*take)(void *user, uint32_t lane, const void *row))
{
    const struct sonde_trace_stored which = {.table = table, .lane = lane, .progress = w->progress};
    if (sonde_trace_each(process_of(w), &which, take, w) < 0)
        w->wire.nomem = true;
}

static int take_op(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_op *op = row;
    struct slice slice = {.table = SONDE_TABLE_OP, .row.op = *op};
    begin_lane(w, lane);
    if (has_times(op))
        sonde_layout_add(w->layout, op->start_ns, op->end_ns, &slice);
    else
        write_op(w, 0, op);
    return must_stop(w);
}

/* Ranges of the lane that begin no later; of them those that may end elsewhere when it is their turn. */
static void lay_ranges(struct writer *w, uint64_t until_ns)
{
    for (; w->next_range < w->ranges.count; w->next_range++) {
        const struct sonde_row_range *range = &w->ranges.items[w->next_range];
        struct slice slice = {.table = SONDE_TABLE_RANGE, .row.range = *range};
        bool across = range->flags & SONDE_RANGE_ACROSS;
        if (across != w->tracks.across || (!across && range->begin_ns > until_ns))
            return;
        sonde_layout_add(w->layout, range->begin_ns, end_of(w, range), &slice);
    }
}

/* Ranges and waits of the lane that are due before a call; it lies within those that begin with it. */
static void lay_until(struct writer *w, uint64_t until_ns)
{
    for (; w->next_sleep < w->sleeps.count && w->sleeps.items[w->next_sleep].from_ns <= until_ns; w->next_sleep++) {
        const struct sonde_row_sleep *sleep = &w->sleeps.items[w->next_sleep];
        struct slice slice = {.table = SONDE_TABLE_SLEEP, .row.sleep = *sleep};
        lay_ranges(w, sleep->from_ns);
        sonde_layout_add(w->layout, sleep->from_ns, sleep->to_ns, &slice);
    }
    lay_ranges(w, until_ns);
}

static int take_call(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_call *call = row;
    struct slice slice = {.table = SONDE_TABLE_CALL, .row.call = *call};
    (void)lane;
    lay_until(w, call->enter_ns);
    if (call->leave_ns >= call->enter_ns)
        sonde_layout_add(w->layout, call->enter_ns, call->leave_ns, &slice);
    else
        write_call(w, 0, call);
    return must_stop(w);
}

/* Ranges come in the order of their ends, so those of a lane are kept and sorted;
 * what has no length needs no place. */
static int take_range(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_range *range = row;
    (void)lane;
    if (range->flags & SONDE_RANGE_MARK || end_of(w, range) < range->begin_ns)
        write_range(w, 0, range);
    else if (sonde_vector_push(&w->ranges, *range))
        w->wire.nomem = true;
    return must_stop(w);
}

/* Of a call with several messages the first stands for all. */
static int take_message(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_process *p = process_of(w);
    const struct sonde_row_message *m = row;
    struct sonde_row_range *last = w->ranges.count ? &w->ranges.items[w->ranges.count - 1] : NULL;
    const struct sonde_row_frame *function = sonde_process_frame(p, m->node);
    (void)lane;
    if (m->leave_ns >= m->enter_ns && last && last->flags & OF_MPI && last->begin_ns == m->enter_ns) {
        last->end_ns = m->leave_ns > last->end_ns ? m->leave_ns : last->end_ns; /* it went on */
        return must_stop(w);
    }
    if (m->leave_ns < m->enter_ns)
        return must_stop(w);
    const struct sonde_row_range call = {
        .begin_ns = m->enter_ns,
        .end_ns = m->leave_ns,
        .payload = m->bytes,
        .name = function ? function->name : 0,
        .domain = m->comm,
        .category = m->peer,
        .flags = OF_MPI,
    };
    if (sonde_vector_push(&w->ranges, call))
        w->wire.nomem = true;
    return must_stop(w);
}

static int take_sleep(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_sleep *sleep = row;
    (void)lane;
    if (sleep->to_ns >= sleep->from_ns && sonde_vector_push(&w->sleeps, *sleep))
        w->wire.nomem = true;
    return must_stop(w);
}

/* ---- the CPU side ---------------------------------------------------------------- */

/* The innermost frame, without the rest of the stack that an argument has. */
static uint64_t sample_name(struct writer *w, uint32_t at)
{
    struct sonde_text name = {0};
    const char *stack = at ? sonde_names_stack(&w->names, at) : "";
    if (at && w->names.profile->nodes.items[at].kind == SONDE_FRAME_API)
        stack = sonde_names_call(&w->names, at);
    sonde_text_add_bytes(&name, stack, strcspn(stack, "\n"));
    const uint64_t iid = pf_name(&w->wire, name.length ? sonde_text_get(&name) : "unknown code");
    sonde_text_fini(&name);
    return iid;
}

/* Where the thread was: an instant for each, on a track beside its own. */
static int take_sample(void *user, uint32_t lane, const void *row)
{
    struct writer *w = user;
    const struct sonde_row_sample *sample = row;
    const uint32_t at = sonde_names_locate(&w->names, w->tracks.process, sample->node);
    struct pf_event event = {.category = PF_CATEGORY_sample, .at_ns = time_of(w, sample->time_ns)};
    event.track = pf_track(&w->tracks, PF_TRACK_SAMPLES, lane);
    if (!w->sampled) {
        struct sonde_text name = {0};
        char thread[256];
        sonde_text_format(&name, "%s \xc2\xb7 samples",
                          sonde_names_lane(&w->names, w->tracks.process, lane, thread, sizeof thread));
        pf_describe(&w->tracks, event.track, pf_track(&w->tracks, PF_TRACK_PROCESS, 0), sonde_text_get(&name), (int)lane);
        sonde_text_fini(&name);
    }
    w->sampled = true;
    event.name = sample_name(w, at);
    pf_add_number(&event, PF_KEY_cpu_ns, sample->cpu_ns);
    add_context(w, &event, at);
    pf_send_instant(&w->wire, &event);
    return must_stop(w);
}

/* Those of the thread itself come first. */
static int by_begin(const void *left, const void *right)
{
    const struct sonde_row_range *a = left, *b = right;
    int across = (a->flags & SONDE_RANGE_ACROSS) - (b->flags & SONDE_RANGE_ACROSS);
    return across ? across : (a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns);
}

/* API calls, waits and ranges of one thread, then its ranges that may end on another. */
static void write_thread(struct writer *w, uint32_t lane)
{
    begin_lane(w, lane);
    w->ranges.count = w->next_range = w->sleeps.count = w->next_sleep = w->receiving.count = 0;
    take_rows(w, SONDE_TABLE_RANGE, lane, take_range);
    take_rows(w, SONDE_TABLE_MESSAGE, lane, take_message);
    if (w->ranges.count)
        qsort(w->ranges.items, w->ranges.count, sizeof *w->ranges.items, by_begin);
    take_rows(w, SONDE_TABLE_SLEEP, lane, take_sleep);
    w->nests = true;
    sonde_layout_nest(w->layout, end_slice);
    take_rows(w, SONDE_TABLE_CALL, lane, take_call);
    lay_until(w, UINT64_MAX);
    end_lane(w);
    w->nests = false;
    w->tracks.lane = lane;
    w->tracks.across = true;
    lay_ranges(w, UINT64_MAX);
    end_lane(w);
    w->tracks.across = false;
    w->sampled = false;
    take_rows(w, SONDE_TABLE_SAMPLE, lane, take_sample);
}

static int write_threads(struct writer *w)
{
    const struct sonde_process *p = process_of(w);
    struct sonde_trace_extent *traced = sonde_trace_extents(p, ~(SONDE_READ_OPS | SONDE_READ_SERIES));
    for (uint32_t lane = 1; traced && lane < p->lane_count; lane++)
        if (traced[lane].rows)
            write_thread(w, lane);
    free(traced);
    return traced ? 0 : SONDE_ENOMEM;
}

/* ---- the ledger ------------------------------------------------------------------ */

static void add_ledger(struct pf_event *event, const struct sonde_process *p)
{
    const struct sonde_ledger *l = &p->header.ledger;
    const struct {
        enum pf_key key;
        uint64_t value;
    } lines[] = {
        {PF_KEY_seen, l->seen},
        {PF_KEY_done, l->done},
        {PF_KEY_failed, l->failed},
        {PF_KEY_no_times, l->no_times},
        {PF_KEY_unmatched, l->unmatched},
        {PF_KEY_bad_time, l->bad_time},
        {PF_KEY_early_in_bound, l->early_in_bound},
        {PF_KEY_api_calls, l->api_calls},
        {PF_KEY_unwinds, l->unwinds},
        {PF_KEY_unwind_failed, l->unwind_failed},
        {PF_KEY_unwind_mismatched, l->unwind_mismatched},
        {PF_KEY_contexts_folded, l->contexts_folded},
        {PF_KEY_hook_ns, l->hook_ns},
        {PF_KEY_thread_cpu_ns, l->thread_cpu_ns},
        {PF_KEY_busy_clipped_ns, l->busy_clipped_ns},
        {PF_KEY_busy_left_out, l->busy_left_out},
        {PF_KEY_calls_dropped, l->calls_dropped},
        {PF_KEY_call_rows_dropped, l->call_rows_dropped},
        {PF_KEY_range_rows_dropped, l->range_rows_dropped},
        {PF_KEY_damaged_chunks, p->damaged_chunks},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        pf_add_number(event, lines[i].key, lines[i].value);
    if (sonde_process_clock_known(p))
        pf_add_number(event, PF_KEY_clock_bound_ns, p->header.clock_bound_ns);
}

/* One instant at the process's start that carries the ledger as arguments. */
static void write_ledger(struct writer *w)
{
    const struct sonde_process *p = process_of(w);
    const struct sonde_ledger *l = &p->header.ledger;
    uint64_t track = pf_track(&w->tracks, PF_TRACK_LEDGER, 0), dropped = 0;
    struct pf_event event = {.category = PF_CATEGORY_sonde, .track = track};
    struct sonde_text text = {0};
    char name[160];
    pf_describe(&w->tracks, track, pf_track(&w->tracks, PF_TRACK_PROCESS, 0), "Sonde's ledger", 2000);
    add_ledger(&event, p);
    for (uint32_t i = 0; i < SONDE_DROP_COUNT; i++) {
        dropped += l->dropped[i];
        if (l->dropped[i])
            sonde_text_format(&text, "%s%llu %s", text.length ? ", " : "", (unsigned long long)l->dropped[i],
                              sonde_drop_name(i));
    }
    pf_add_text(&event, PF_KEY_dropped, pf_text(&w->wire, dropped ? sonde_text_get(&text) : "0"));
    for (uint32_t i = 0; i < p->note_count && i < 16; i++)
        if (p->notes[i].text[0])
            pf_add_text(&event, PF_KEY_note, pf_text(&w->wire, p->notes[i].text));
    snprintf(name, sizeof name, "ledger: %llu seen, %llu dropped, %llu unmatched", (unsigned long long)l->seen,
             (unsigned long long)dropped, (unsigned long long)l->unmatched);
    event.name = pf_name(&w->wire, name);
    event.at_ns = time_of(w, p->header.start_ns);
    pf_send_instant(&w->wire, &event);
    sonde_text_fini(&text);
}

/* ---- the whole --------------------------------------------------------------------- */

static void forget_texts(struct writer *w)
{
    for (int i = 0; i < SONDE_WORK_TEXTS; i++)
        free(w->works[i]);
    free(w->strings);
}

/* Texts that are numbered by ids of a process. */
static bool begin_texts(struct writer *w)
{
    const struct sonde_process *p = process_of(w);
    bool done = true;
    forget_texts(w);
    for (int i = 0; i < SONDE_WORK_TEXTS; i++)
        done &= (w->works[i] = calloc(p->work_count + 1, sizeof *w->works[i])) != NULL;
    return (w->strings = calloc(p->string_count + 1, sizeof *w->strings)) != NULL && done;
}

static void forget_waits(struct writer *w)
{
    sonde_deciding_destroy(w->deciding);
    w->deciding = NULL;
}

static int write_process(struct writer *w, uint32_t index)
{
    const struct sonde_process *p = &w->m->processes[index];
    w->tracks = (struct pf_tracks){.names = &w->names, .wire = &w->wire, .process = index};
    w->shift_ns = sonde__export_shift_ns(w->m, p);
    if (!begin_texts(w))
        return SONDE_ENOMEM;
    if (sonde_trace_extent(p, SONDE_READ_OPS).rows) {
        const int rc = sonde_deciding_find(w->m, index, 0, w->progress, &w->deciding);
        if (rc)
            return rc;
    }
    pf_tracks_begin(&w->tracks);
    write_ledger(w);
    if (write_threads(w))
        return SONDE_ENOMEM;
    take_rows(w, SONDE_TABLE_OP, 0, take_op);
    end_lane(w);
    forget_waits(w);
    return pf_write_counters(&w->tracks, w->shift_ns) || w->wire.nomem ? SONDE_ENOMEM : 0;
}

static int write_all(struct writer *w, struct sonde_out *out, struct sonde_diag *diag)
{
    const struct sonde_measurement *m = w->m;
    int code = sonde_names_init(&w->names, m, diag);
    if (code)
        return code;
    size_t nodes = w->names.profile->nodes.count + 1;
    w->called_from = calloc(nodes, sizeof *w->called_from);
    w->stacks = calloc(nodes, sizeof *w->stacks);
    w->layout = sonde_layout_create(sizeof(struct slice), write_slice, w);
    pf_begin(&w->wire, out, m->processes[0].header.start_ns,
             m->processes[0].header.start_ns + m->processes[0].header.wall_offset_ns);
    code = w->called_from && w->stacks && w->layout ? pf_messages_find(&w->messages, m, w->names.profile) : SONDE_ENOMEM;
    for (uint32_t i = 0; !code && i < m->process_count && !sonde_out_failed(out); i++)
        code = write_process(w, i);
    pf_fini(&w->wire);
    sonde_layout_destroy(w->layout);
    free(w->called_from);
    free(w->stacks);
    forget_texts(w);
    sonde_vector_fini(&w->ranges);
    sonde_vector_fini(&w->sleeps);
    sonde_vector_fini(&w->receiving);
    sonde_vector_fini(&w->begun);
    forget_waits(w);
    pf_messages_fini(&w->messages);
    sonde_names_fini(&w->names);
    return code ? sonde_diag_set(diag, code, m->path, "cannot export") : 0;
}

static int write_perfetto(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                          struct sonde_export_result *result, struct sonde_diag *diag)
{
    int code = sonde__export_needs_trace(m, diag);
    struct writer *w = code ? NULL : calloc(1, sizeof *w);
    if (code)
        return code;
    if (!w)
        return sonde_diag_set(diag, SONDE_ENOMEM, m->path, "cannot export");
    sonde_progress_expect(progress, sonde_trace_rows(m, SONDE_READ_OPS | SONDE_READ_CALLS | SONDE_READ_RANGES |
                                                            SONDE_READ_SAMPLES | SONDE_READ_SLEEPS));
    sonde_progress_expect(progress, sonde_trace_rows(m, SONDE_READ_OPS | SONDE_READ_CALLS)); /* once more, for what they waited for */
    w->m = m;
    w->progress = progress;
    w->result = result;
    code = write_all(w, out, diag);
    free(w);
    return code;
}

const struct sonde_export_format sonde_export_perfetto = {
    .name = "perfetto",
    .extension = "perfetto-trace",
    .what = "trace for Perfetto's viewer (ui.perfetto.dev) and trace_processor",
    .open_with = "open it at https://ui.perfetto.dev",
    .write = write_perfetto,
};
