/* take.c - one finding goes into the profile, the busy time of its device, the ledger and the trace. */
#include "store.h"

#include "agent/state/state.h"

/* What is wrong with the times of an operation, and the ledger's counters for it. */
static unsigned judge_times(const struct sonde_event *e, const struct sonde_times *t, struct sonde_lane *lane)
{
    struct sonde_ledger *l = &sonde__agent.header->ledger;
    if (!t->start_ns || !t->end_ns || t->end_ns < t->start_ns || t->start_ns < t->submit_ns) {
        l->bad_time++;
        lane->row->bad_time++;
        return SONDE_OP_BAD_TIME;
    }
    if (t->start_ns >= e->enter_ns)
        return 0;
    if (e->enter_ns - t->start_ns <= __atomic_load_n(&sonde__agent.header->clock_bound_ns, __ATOMIC_RELAXED)) {
        l->early_in_bound++;
        return SONDE_OP_EARLY;
    }
    l->bad_time++;
    lane->row->bad_time++;
    return SONDE_OP_BAD_TIME;
}

static void trace_op(const struct sonde_event *e, const struct sonde_times *t, unsigned flags)
{
    const struct sonde_row_op row = {
        .start_ns = t->start_ns,
        .end_ns = t->end_ns,
        .queued_ns = t->queued_ns,
        .submit_ns = t->submit_ns,
        .enter_ns = e->enter_ns,
        .bytes = e->bytes,
        .correlation = e->correlation,
        .node = e->op_node,
        .work = e->work,
        .object = e->object,
        .kind = e->kind,
        .flags = (uint16_t)flags,
    };
    sonde__trace_row(e->lane, SONDE_TABLE_OP, &row);
}

static void trace_call(const struct sonde_event *e)
{
    const struct sonde_row_call row = {
        .enter_ns = e->enter_ns,
        .leave_ns = e->leave_ns,
        .correlation = e->correlation,
        .node = e->api_node,
        .lane = e->lane,
    };
    sonde__trace_row(e->thread_lane, SONDE_TABLE_CALL, &row);
}

static void trace_wait(const struct sonde_event *e)
{
    const struct sonde_row_wait row = {
        .enter_ns = e->enter_ns,
        .waiter = e->correlation,
        .awaited = e->token,
        .lane = e->lane,
        .device = e->work,
    };
    sonde__trace_row(e->thread_lane, SONDE_TABLE_WAIT, &row);
}

static void trace_message(const struct sonde_event *e)
{
    const struct sonde_row_message row = {
        .enter_ns = e->enter_ns,
        .leave_ns = e->leave_ns,
        .posted_ns = e->token,
        .bytes = e->bytes,
        .node = e->api_node,
        .comm = (uint32_t)(e->correlation >> 32),
        .peer = e->lane,
        .tag = (uint32_t)e->correlation,
        .kind = e->kind,
    };
    sonde__trace_row(e->thread_lane, SONDE_TABLE_MESSAGE, &row);
}

static void take_op(const struct sonde_activity *a)
{
    struct sonde_ledger *l = &sonde__agent.header->ledger;
    struct sonde_lane *lane =
        a->event.lane <= SONDE_LANES_MAX ? atomic_load(&sonde__agent.lanes[a->event.lane]) : NULL;
    unsigned flags = 0;
    if (!lane) {
        sonde__agent.unmatched++;
        return;
    }
    lane->row->seen++;
    if (a->result == SONDE_POLL_PENDING) { /* abandoned: it never finished */
        sonde__agent.unmatched++;
        lane->row->unmatched++;
        return;
    }
    lane->row->done++;
    l->done++;
    if (a->result == SONDE_POLL_FAILED) {
        l->failed++;
        flags |= SONDE_OP_FAILED;
    }
    if (a->result == SONDE_POLL_NO_TIMES || (a->result == SONDE_POLL_FAILED && !a->times.end_ns)) {
        l->no_times++;
        flags |= SONDE_OP_NO_TIMES;
    } else {
        flags |= judge_times(&a->event, &a->times, lane);
    }
    sonde__profile_op(&a->event, &a->times, flags);
    if (!(flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME)))
        sonde__busy_add(lane->row->device, a->event.kind, a->times.start_ns, a->times.end_ns);
    trace_op(&a->event, &a->times, flags);
}

/* Enqueued and seen; the memory to follow it to its end was not there. */
static void take_dropped(const struct sonde_event *e)
{
    struct sonde_lane *lane = e->lane <= SONDE_LANES_MAX ? atomic_load(&sonde__agent.lanes[e->lane]) : NULL;
    sonde__agent.no_room++;
    if (!lane)
        return;
    lane->row->seen++;
    __atomic_fetch_add(&lane->row->dropped[SONDE_DROP_CHANNEL_FULL], 1, __ATOMIC_RELAXED);
}

void sonde__take(const struct sonde_activity *a)
{
    sonde__agent.found++;
    if (a->parts & SONDE_ACT_CALL) {
        sonde__profile_call(&a->event);
        trace_call(&a->event);
    }
    if (a->parts & SONDE_ACT_OP)
        take_op(a);
    if (a->parts & SONDE_ACT_NO_ROOM)
        take_dropped(&a->event);
    if (a->parts & SONDE_ACT_WAIT)
        trace_wait(&a->event);
    if (a->parts & SONDE_ACT_MESSAGE)
        trace_message(&a->event);
}
