/* call.c - the hooks' side of the backend ABI: what runs in the program's threads.
 *
 * The steady state takes no lock, allocates nothing and makes no system call;
 * tests/unit/agent counts them.
 */
#include "run.h"

#include <errno.h>
#include <time.h>

#include "agent/context/context.h"
#include "agent/context/replay.h"
#include "agent/sample/sample.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"

bool sonde_recording(void)
{
    return !sonde__flag || atomic_load_explicit(sonde__flag, memory_order_relaxed) != SONDE_FLAG_OFF;
}

/* Not simply on: start the agent, restart it in a forked child, or give the
 * calling thread its slot. NULL: pass the call through. */
struct sonde_thread *sonde__enter(void)
{
    /* A signal handler that comes here in the middle would wait for the thread it interrupted. */
    static __thread volatile bool inside __attribute__((tls_model("initial-exec")));
    int saved = errno;
    struct sonde_thread *t = NULL;
    if (inside)
        return NULL;
    inside = true;
    if (sonde__agent_enter()) {
        t = sonde__self;
        if (!t)
            t = sonde__thread_enter();
    }
    inside = false;
    errno = saved;
    return t;
}

/* ---- overhead without waiting ---------------------------------------------------- */

/* Ticks go on while a thread waits for a lock or for a processor, and where
 * hundreds of threads share a few processors that is most of what a hook's ticks
 * show. Waiting is no time of ours: the processor does something else. A thread's
 * first call is held against its CPU clock. So is a later one that took long and
 * met a new context, from when that clock was read last, because reading it at
 * each would cost more than the hook; a long one in a context that was known has
 * waited: it had nothing to compute. */
#define LONG_NS 20000u /* no hook of the steady state computes so long */

struct own { uint64_t wall_ns, cpu_ns; };

/* The CPU clock is a system call, at whose end the thread may lose its processor:
 * the other clock is read on that side where this shows as waiting. */
static struct own own_begin(void)
{
    const uint64_t wall_ns = sonde_now_ns();
    return (struct own){wall_ns, sonde__thread_cpu_ns()};
}

static struct own own_end(void)
{
    const uint64_t cpu_ns = sonde__thread_cpu_ns();
    return (struct own){sonde_now_ns(), cpu_ns};
}

static uint64_t waited_since(const struct own *then, const struct own *now)
{
    const uint64_t wall_ns = now->wall_ns - then->wall_ns, cpu_ns = now->cpu_ns - then->cpu_ns;
    return wall_ns > cpu_ns ? wall_ns - cpu_ns : 0;
}

static void checked(struct sonde_thread *t, const struct own *now)
{
    t->own.wall_ns = now->wall_ns;
    t->own.cpu_ns = now->cpu_ns;
}

static __attribute__((noinline, cold)) void judge_long(struct sonde_thread *t, uint64_t own_ns)
{
    const uint64_t known_ns = t->own.judged_ns + LONG_NS;
    t->own.judged_ns = 0;
    if (own_ns <= known_ns)
        return;
    if (t->own.new_at + 1 != atomic_load_explicit(&t->count.calls, memory_order_relaxed)) {
        sonde__count(&t->count.waited_ns, own_ns - known_ns);
        return;
    }
    const struct own now = own_end(), then = t->own.wall_ns ? (struct own){t->own.wall_ns, t->own.cpu_ns} : now;
    const uint64_t waited_ns = waited_since(&then, &now), most_ns = own_ns - known_ns;
    sonde__count(&t->count.waited_ns, waited_ns < most_ns ? waited_ns : most_ns);
    checked(t, &now);
}

static inline void count_own(struct sonde_thread *t, uint64_t ticks, uint64_t call_ns)
{
    const double per_ns = atomic_load_explicit(&sonde__agent.ticks_per_ns, memory_order_relaxed);
    sonde__count(&t->count.hook_ticks, ticks);
    if (__builtin_expect((double)(int64_t)ticks > (double)(int64_t)(call_ns + LONG_NS) * per_ns, 0) && per_ns > 0)
        judge_long(t, (uint64_t)((double)ticks / per_ns) - call_ns);
}

/* ---- calls -------------------------------------------------------------------------- */

void sonde_op_unrecorded(void)
{
    if (!sonde__self && sonde__flag && atomic_load_explicit(sonde__flag, memory_order_relaxed) == SONDE_FLAG_ON &&
        !atomic_load_explicit(&sonde__agent.closed, memory_order_relaxed))
        atomic_fetch_add_explicit(&sonde__agent.without_slot.operations, 1, memory_order_relaxed);
}

static inline bool begin(struct sonde_call *call, struct sonde_thread *t, uint32_t api)
{
    if (__builtin_expect(t->busy, 0)) {
        sonde__count(&t->count.dropped[SONDE_DROP_REENTRANT], 1);
        return false;
    }
    sonde__busy(t, SONDE_BUSY_CALL);
    call->thread = t;
    call->api = api;
    call->submitted = false;
    call->node = sonde__context(t, api);
    call->enter_ns = call->leave_ns = sonde__now_ns();
    return true;
}

/* A thread's first call, or the first one of a process. */
static __attribute__((noinline, cold)) bool begin_slowly(struct sonde_call *call, uint32_t api)
{
    if (sonde__flag && atomic_load_explicit(sonde__flag, memory_order_relaxed) == SONDE_FLAG_OFF)
        return false;
    call->tsc = sonde__ticks(); /* on the way here, pages of code were read, perhaps, and the processor lost */
    const struct own then = own_begin();
    struct sonde_thread *t = sonde__enter();
    if (!t && sonde__flag && atomic_load_explicit(sonde__flag, memory_order_relaxed) == SONDE_FLAG_ON)
        atomic_fetch_add_explicit(&sonde__agent.without_slot.calls, 1, memory_order_relaxed);
    if (!t || !begin(call, t, api))
        return false;
    const struct own now = own_end();
    sonde__count(&t->count.waited_ns, waited_since(&then, &now));
    t->own.judged_ns = now.wall_ns - then.wall_ns;
    checked(t, &now);
    return true;
}

__attribute__((hot)) bool sonde_call_begin(struct sonde_call *call, uint32_t api)
{
    struct sonde_thread *t = sonde__self;
    call->tsc = sonde__ticks();
    if (__builtin_expect(!sonde__flag || atomic_load_explicit(sonde__flag, memory_order_acquire) != SONDE_FLAG_ON || !t, 0))
        return begin_slowly(call, api);
    return begin(call, t, api);
}

__attribute__((hot)) void sonde_call_leave(struct sonde_call *call)
{
    call->leave_ns = sonde__now_ns();
}

__attribute__((hot)) static struct sonde_event *event_slot(struct sonde_call *call)
{
    struct sonde_thread *t = call->thread;
    struct sonde_event *e = sonde__channel_slot(&t->channel);
    if (__builtin_expect(!e, 0))
        return NULL;
    e->enter_ns = call->enter_ns;
    e->leave_ns = call->leave_ns;
    e->api_node = call->node;
    e->thread_lane = t->lane;
    return e;
}

/* Count an operation that could not be taken and give its token back. */
static void drop(struct sonde_thread *t, const struct sonde_submit *s, enum sonde_drop cause)
{
    sonde__count(&t->count.dropped[cause], 1);
    if (s->flags & SONDE_SUBMIT_MANY) /* counted when its completions come, of which there will be none */
        sonde__count(&t->count.seen, 1);
    else if (s->key && cause == SONDE_DROP_CHANNEL_FULL)
        atomic_fetch_add(&sonde__agent.unawaited, 1);
    if (s->token) {
        struct sonde_lane *lane = s->lane <= SONDE_LANES_MAX ? atomic_load(&sonde__agent.lanes[s->lane]) : NULL;
        sonde_backends[lane ? lane->backend : 0]->release(s->token);
    }
    if (cause == SONDE_DROP_AFTER_EXIT) /* the monitor has accounted for the last time, perhaps */
        sonde__settle_late();
}

/* `over`: the key of the operation that this one stands over; 0 none. */
__attribute__((hot)) static uint64_t submit_op(struct sonde_call *call, const struct sonde_submit *submit, uint64_t over)
{
    struct sonde_thread *t = call->thread;
    sonde__count(&t->count.seen, !(submit->flags & SONDE_SUBMIT_MANY)); /* those are counted when they come */
    if (__builtin_expect(atomic_load_explicit(&sonde__agent.closed, memory_order_relaxed), 0)) {
        drop(t, submit, SONDE_DROP_AFTER_EXIT);
        return 0;
    }
    struct sonde_event *e = event_slot(call);
    if (__builtin_expect(!e, 0)) {
        drop(t, submit, SONDE_DROP_CHANNEL_FULL);
        return 0;
    }
    e->token = submit->token;
    e->bytes = submit->bytes;
    const uint64_t correlation = e->correlation = (uint64_t)t->slot << 40 | ++t->sequence;
    e->op_node = submit->key ? 0 : sonde__context_op(t, call->node, submit->kind, submit->name);
    e->lane = submit->lane;
    e->object = submit->object;
    e->work = submit->work;
    e->kind = (uint16_t)submit->kind;
    e->flags = call->submitted ? SONDE_EVENT_FURTHER : 0;
    if (submit->key) { /* its completions bring the leaf, the lane and the rest */
        e->token = submit->key;
        e->flags |= submit->flags & SONDE_SUBMIT_MANY ? SONDE_EVENT_KEYED | SONDE_EVENT_MANY : SONDE_EVENT_KEYED;
    } else if (over) {
        e->token = over;
        e->flags |= SONDE_EVENT_OVER;
    }
    sonde__channel_publish(&t->channel);
    call->submitted = true;
    if (submit->object)
        sonde__objects_used(call->enter_ns, &submit->object, 1);
    return correlation;
}

__attribute__((hot)) uint64_t sonde_call_submit(struct sonde_call *call, const struct sonde_submit *submit)
{
    uint64_t correlation = submit_op(call, submit, 0);
    call->thread->last_call.key = submit->flags & SONDE_SUBMIT_MANY ? 0 : submit->key;
    return correlation;
}

void sonde_call_waits(struct sonde_call *call, const struct sonde_wait *wait)
{
    if (!sonde__agent.config.trace || atomic_load_explicit(&sonde__agent.closed, memory_order_relaxed))
        return;
    struct sonde_event *e = event_slot(call);
    if (__builtin_expect(!e, 0)) {
        sonde__trace_lost(0, SONDE_TABLE_WAIT, SONDE_DROP_CHANNEL_FULL, 1);
        return;
    }
    e->correlation = wait->waiter;
    e->token = wait->op;
    e->lane = wait->lane;
    e->work = wait->device;
    e->op_node = 0;
    e->flags = SONDE_EVENT_WAIT;
    sonde__channel_publish(&call->thread->channel);
}

enum sonde_over sonde_submit_over(const struct sonde_submit *submit)
{
    uint64_t ticks = sonde__ticks();
    struct sonde_thread *t = sonde__self;
    if (!t || !sonde__flag || atomic_load_explicit(sonde__flag, memory_order_relaxed) != SONDE_FLAG_ON || !t->last_context)
        return SONDE_OVER_NO_CALL;
    if (t->busy || !t->last_call.submitted)
        return SONDE_OVER_NOTHING;
    sonde__busy(t, SONDE_BUSY);
    struct sonde_call call = {
        .thread = t,
        .enter_ns = t->last_call.enter_ns,
        .leave_ns = t->last_call.leave_ns,
        .node = t->last_context,
        .submitted = true,
    };
    submit_op(&call,
              &(struct sonde_submit){
                  .kind = submit->kind,
                  .lane = submit->lane,
                  .name = submit->name,
                  .work = submit->work,
                  .object = submit->object,
                  .bytes = submit->bytes,
              },
              t->last_call.key);
    sonde__busy(t, 0);
    sonde__count(&t->count.hook_ticks, sonde__ticks() - ticks);
    return SONDE_OVER_DONE;
}

static __attribute__((noinline, cold)) void at_end(struct sonde_thread *t, uint32_t node)
{
    const uint32_t what = atomic_load_explicit(&t->at_end, memory_order_relaxed);
    if (what & SONDE_AT_END_SAMPLE)
        sonde__sample_deferred(t, node);
    if (what & SONDE_AT_END_COUNTED)
        sonde__counting_deferred(t, node);
    if (what & SONDE_AT_END_DIE)
        sonde__agent_die();
}

__attribute__((hot)) void sonde_call_end(struct sonde_call *call)
{
    struct sonde_thread *t = call->thread;
    if (!call->submitted) {
        bool late = atomic_load_explicit(&sonde__agent.closed, memory_order_relaxed);
        struct sonde_event *e = late ? NULL : event_slot(call);
        if (__builtin_expect(!e, 0)) {
            sonde__count(&t->count.calls_dropped, 1);
        } else {
            e->token = e->bytes = e->correlation = 0;
            e->op_node = e->lane = e->object = e->work = 0;
            e->kind = e->flags = 0;
            sonde__channel_publish(&t->channel);
        }
    }
    t->last_call.enter_ns = call->enter_ns;
    t->last_call.leave_ns = call->leave_ns;
    t->last_call.submitted = call->submitted;
    sonde__count(&t->count.calls, 1);
    sonde__count(&t->count.call_ns, call->leave_ns - call->enter_ns);
    if (__builtin_expect(atomic_load_explicit(&t->at_end, memory_order_relaxed), 0))
        at_end(t, call->node);
    sonde__replay_fetch(t->replay);
    sonde__channel_fetch(&t->channel);
    sonde__busy(t, 0);
    count_own(t, sonde__ticks() - call->tsc, call->leave_ns - call->enter_ns);
}
