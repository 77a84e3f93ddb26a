/* harvest.c - finding out which operations have finished.
 *
 * One thread at a time harvests (harvest_lock): mostly the monitor thread, and
 * a program thread when it has much outstanding at a wait, when it asks for a
 * reference count, or at exit. A program thread hands what it finds to the
 * monitor through its own channel; these channels together are the operation
 * multiplexer (Grubisic 2021, section 4.1).
 *
 * Operations of an in-order queue finish in order, so only the first
 * outstanding one of such a lane is asked about.
 */
#include "run.h"

#include <string.h>

#include "agent/state/state.h"
#include "agent/store/store.h"
#include "base/kinds.h"

#define HARVEST_BACKLOG 16384 /* outstanding operations at which a waiting program thread helps */

static const struct sonde_backend *backend_of(const struct sonde_lane *lane)
{
    return sonde_backends[lane ? lane->backend : 0];
}

static struct sonde_lane *lane_of(uint32_t id)
{
    return id <= SONDE_LANES_MAX ? atomic_load_explicit(&sonde__agent.lanes[id], memory_order_acquire) : NULL;
}

static enum sonde_poll poll_runtime(const struct sonde_backend *b, uint64_t token, uint32_t lane, struct sonde_times *times)
{
    sonde__enter_runtime();
    const enum sonde_poll answer = b->poll(token, lane, times);
    sonde__leave_runtime();
    return answer;
}

static void release(const struct sonde_lane *lane, uint64_t token)
{
    sonde__enter_runtime();
    backend_of(lane)->release(token);
    sonde__leave_runtime();
}

/* Hand a finding over: to the monitor directly, or through the finder's channel. */
static void hand_over(struct sonde_thread *finder, const struct sonde_activity *found)
{
    if (!finder) {
        sonde__take(found);
        return;
    }
    struct sonde_activity *slot = sonde__channel_slot(&finder->found);
    if (!slot) {
        sonde__count(&finder->count.dropped[SONDE_DROP_CHANNEL_FULL],
                     (found->parts & (SONDE_ACT_OP | SONDE_ACT_NO_ROOM)) != 0);
        sonde__count(&finder->count.calls_dropped, (found->parts & SONDE_ACT_CALL) != 0);
        sonde__trace_lost(0, SONDE_TABLE_WAIT, SONDE_DROP_CHANNEL_FULL, (found->parts & SONDE_ACT_WAIT) != 0);
        sonde__trace_lost(0, SONDE_TABLE_MESSAGE, SONDE_DROP_CHANNEL_FULL, (found->parts & SONDE_ACT_MESSAGE) != 0);
        return;
    }
    *slot = *found;
    sonde__channel_publish(&finder->found);
}

/* What somebody who looks at the live mapping learns of an outstanding operation. */
static void show_oldest(const struct sonde_lane *lane)
{
    lane->row->oldest = lane->head ? lane->head->event.op_node : 0;
    lane->row->oldest_ns = lane->head ? lane->head->event.enter_ns : 0;
}

/* Keep an unfinished operation with its lane. */
static void keep(struct sonde_lane *lane, const struct sonde_event *e, struct sonde_thread *finder)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_pending *p = sonde__piece_get(&a->pendings, &a->heap, sizeof *p);
    if (!p) {
        release(lane, e->token);
        const struct sonde_activity lost = {.event = *e, .parts = SONDE_ACT_NO_ROOM};
        hand_over(finder, &lost);
        return;
    }
    p->event = *e;
    p->next = NULL;
    *lane->tail = p;
    lane->tail = &p->next;
    lane->row->waiting++;
    if (lane->head == p)
        show_oldest(lane);
    atomic_fetch_add_explicit(&a->outstanding, 1, memory_order_relaxed);
    if (!lane->listed) {
        lane->listed = true;
        lane->next_waiting = a->waiting;
        a->waiting = lane->id;
    }
}

/* Ask about the outstanding operations of one lane. */
static void poll_lane(struct sonde_lane *lane, struct sonde_thread *finder)
{
    const struct sonde_backend *b = backend_of(lane);
    struct sonde_pending **link = &lane->head;
    while (*link) {
        struct sonde_pending *p = *link;
        struct sonde_activity found = {.parts = SONDE_ACT_OP};
        enum sonde_poll r = poll_runtime(b, p->event.token, lane->id, &found.times);
        if (r == SONDE_POLL_PENDING) {
            if (!lane->out_of_order)
                break;
            link = &p->next;
            continue;
        }
        found.event = p->event;
        found.result = (uint16_t)r;
        *link = p->next;
        sonde__piece_put(&sonde__agent.pendings, p);
        lane->row->waiting--;
        atomic_fetch_sub_explicit(&sonde__agent.outstanding, 1, memory_order_relaxed);
        hand_over(finder, &found);
    }
    if (!lane->head)
        lane->tail = &lane->head;
    else if (!*link) /* went to the end; an in-order lane that stopped early keeps its tail */
        lane->tail = link;
}

static void poll_waiting(struct sonde_thread *finder)
{
    uint32_t *link = &sonde__agent.waiting;
    while (*link) {
        struct sonde_lane *lane = lane_of(*link);
        poll_lane(lane, finder);
        show_oldest(lane);
        if (lane->head) {
            link = &lane->next_waiting;
        } else {
            *link = lane->next_waiting;
            lane->listed = false;
        }
    }
}

static void take_event(const struct sonde_event *e, struct sonde_thread *finder)
{
    struct sonde_activity found = {.event = *e, .parts = e->flags & SONDE_EVENT_FURTHER ? 0 : SONDE_ACT_CALL};
    struct sonde_lane *lane = e->op_node ? lane_of(e->lane) : NULL;
    if (e->flags & (SONDE_EVENT_WAIT | SONDE_EVENT_MESSAGE)) {
        found.parts = e->flags & SONDE_EVENT_WAIT ? SONDE_ACT_WAIT : SONDE_ACT_MESSAGE;
        hand_over(finder, &found);
        return;
    }
    if (e->flags & SONDE_EVENT_OVER) {
        if (sonde__match_over(e, &found))
            hand_over(finder, &found);
        return;
    }
    if (e->flags & SONDE_EVENT_KEYED)
        sonde__match_keep(e);
    if (e->op_node && e->token && lane) {
        bool behind = lane->head && !lane->out_of_order;
        enum sonde_poll r = behind ? SONDE_POLL_PENDING : poll_runtime(backend_of(lane), e->token, e->lane, &found.times);
        if (r == SONDE_POLL_PENDING) {
            hand_over(finder, &found);
            keep(lane, e, finder);
            return;
        }
        found.result = (uint16_t)r;
        found.parts |= SONDE_ACT_OP;
    } else if (e->op_node) {
        if (e->token) /* its lane found no room */
            release(NULL, e->token);
        found.result = SONDE_POLL_NO_TIMES;
        if (sonde_op_kind_is(e->kind, SONDE_KIND_CALL)) {
            found.result = SONDE_POLL_DONE;
            found.times = (struct sonde_times){e->enter_ns, e->enter_ns, e->enter_ns, e->leave_ns};
        }
        found.parts |= SONDE_ACT_OP;
    }
    hand_over(finder, &found);
}

size_t sonde__harvest(struct sonde_thread *finder)
{
    struct sonde_agent *a = &sonde__agent;
    poll_waiting(finder);
    uint32_t threads = atomic_load_explicit(&a->thread_count, memory_order_acquire);
    for (uint32_t i = 1; i <= threads; i++) {
        struct sonde_thread *t = atomic_load_explicit(&a->threads[i], memory_order_acquire);
        for (uint64_t n = sonde__channel_waiting(&t->channel); n > 0; n--) {
            take_event(sonde__channel_peek(&t->channel), finder);
            sonde__channel_next(&t->channel);
        }
    }
    return atomic_load_explicit(&a->outstanding, memory_order_relaxed) + sonde__match_waiting();
}

/* An operation of which nothing more will be heard. */
static void lose(const struct sonde_event *e)
{
    struct sonde_lane *lane = lane_of(e->lane);
    sonde__agent.unmatched++;
    if (!lane)
        return;
    lane->row->seen++;
    lane->row->unmatched++;
}

void sonde__harvest_abandon(void)
{
    struct sonde_agent *a = &sonde__agent;
    for (uint32_t id = a->waiting; id;) {
        struct sonde_lane *lane = lane_of(id);
        for (struct sonde_pending *p = lane->head; p; p = p->next) {
            lose(&p->event);
            if (a->leaves) /* else the process ends, and the runtime may be gone */
                release(lane, p->event.token);
        }
        lane->head = NULL;
        lane->tail = &lane->head;
        lane->row->waiting = 0;
        show_oldest(lane);
        lane->listed = false;
        id = lane->next_waiting;
    }
    a->waiting = 0;
    atomic_store(&a->outstanding, 0);
}

/* Only counted: the runtime may be gone, and the thread may be one of the
 * program's, which must not start tracing threads. Tokens stay with the runtime, unless the program goes on. */
static void take_late(const struct sonde_event *e)
{
    if (e->op_node) {
        lose(e);
        if (e->token && sonde__agent.leaves)
            release(lane_of(e->lane), e->token);
    } else if ((e->flags & SONDE_EVENT_KEYED) && !(e->flags & SONDE_EVENT_MANY))
        sonde__agent.unmatched_by_key++;
    sonde__trace_lost(0, SONDE_TABLE_MESSAGE, SONDE_DROP_AFTER_EXIT, (e->flags & SONDE_EVENT_MESSAGE) != 0);
    sonde__agent.calls_dropped += !(e->flags & (SONDE_EVENT_FURTHER | SONDE_EVENT_WAIT | SONDE_EVENT_MESSAGE));
}

void sonde__harvest_late(void)
{
    struct sonde_agent *a = &sonde__agent;
    sonde__harvest_abandon(); /* a program thread that was harvesting may have kept some */
    uint32_t threads = atomic_load_explicit(&a->thread_count, memory_order_acquire);
    for (uint32_t i = 1; i <= threads; i++) {
        struct sonde_thread *t = atomic_load_explicit(&a->threads[i], memory_order_acquire);
        for (uint64_t n = sonde__channel_waiting(&t->channel); n > 0; n--) {
            take_late(sonde__channel_peek(&t->channel));
            sonde__channel_next(&t->channel);
        }
    }
}

static bool agent_is_on(void)
{
    return sonde__flag && atomic_load_explicit(sonde__flag, memory_order_acquire) != SONDE_FLAG_LOOK &&
           atomic_load(&sonde__agent.state) == SONDE_ON && !atomic_load(&sonde__agent.closed);
}

static uint64_t backlog(const struct sonde_thread *t)
{
    return sonde__channel_waiting(&t->channel);
}

size_t sonde_harvest(bool all)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_thread *t = sonde__self;
    if (!agent_is_on() || !t || (!all && backlog(t) < HARVEST_BACKLOG))
        return 0;
    if (!(all ? sonde__lock_within(&a->harvest_lock, 100) : sonde__trylock(&a->harvest_lock)))
        return atomic_load(&a->outstanding);
    size_t left = sonde__harvest(t);
    sonde__unlock(&a->harvest_lock);
    return left;
}

bool sonde_token_held(uint64_t token)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_thread *t = sonde__self;
    bool held = false;
    if (!agent_is_on() || !t || !sonde__lock_within(&a->harvest_lock, 100))
        return false;
    sonde__harvest(t);
    for (uint32_t id = a->waiting; id && !held; id = lane_of(id)->next_waiting)
        for (const struct sonde_pending *p = lane_of(id)->head; p && !held; p = p->next)
            held = p->event.token == token;
    sonde__unlock(&a->harvest_lock);
    return held;
}
