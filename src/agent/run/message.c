/* message.c - messages between the ranks of a job (sonde/backend.h): rows of the trace, on the lane of the thread that sent or received.
 *
 * A call of such a library may call the GPU's runtime, whose calls are hooked as always. So nothing is held while it runs: its
 * stack is walked after it, when it is as it was before, and it stands in no account of API calls.
 */
#include "agent/context/context.h"
#include "agent/state/clock.h"
#include "agent/state/event.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "run.h"

static struct sonde_thread *thread_here(void)
{
    struct sonde_thread *t = sonde__self;
    return t && sonde__is_recording() ? t : sonde__enter();
}

uint64_t sonde_messages_begin(void)
{
    if (!sonde__is_recording() && !thread_here())
        return 0;
    return sonde__agent.config.trace && sonde__is_recording() ? sonde_now_ns() : 0;
}

static void send(struct sonde_thread *t, const struct sonde_event *call, const struct sonde_message *m)
{
    struct sonde_event *e = sonde__channel_slot(&t->channel);
    if (__builtin_expect(!e, 0)) {
        sonde__trace_lost(0, SONDE_TABLE_MESSAGE, SONDE_DROP_CHANNEL_FULL, 1);
        return;
    }
    *e = *call;
    e->token = m->posted_ns ? m->posted_ns : call->enter_ns;
    e->bytes = m->bytes;
    e->correlation = (uint64_t)m->comm << 32 | m->tag;
    e->lane = m->peer;
    e->kind = (uint16_t)m->kind;
    sonde__channel_publish(&t->channel);
}

void sonde_messages(uint32_t api, uint64_t enter_ns, const struct sonde_message *list, uint32_t count)
{
    const uint64_t ticks = sonde__ticks(), leave_ns = sonde_now_ns();
    struct sonde_thread *t = enter_ns ? thread_here() : NULL;
    if (!t || t->busy || atomic_load_explicit(&sonde__agent.closed, memory_order_relaxed)) {
        if (enter_ns)
            sonde__trace_lost(0, SONDE_TABLE_MESSAGE, SONDE_DROP_REENTRANT, count ? count : 1);
        return;
    }
    sonde__busy(t, SONDE_BUSY);
    if (t->messages.enter_ns != enter_ns) { /* many messages of one call come in several lists */
        t->messages.enter_ns = enter_ns;
        t->messages.leave_ns = leave_ns;
    }
    const uint32_t last = t->last_context; /* stays that of the latest hooked call */
    const struct sonde_event call = {
        .enter_ns = enter_ns,
        .leave_ns = t->messages.leave_ns,
        .api_node = sonde__context(t, api),
        .thread_lane = t->lane,
        .flags = SONDE_EVENT_MESSAGE,
    };
    t->last_context = last;
    for (uint32_t i = 0; i < count; i++)
        send(t, &call, &list[i]);
    if (!count)
        send(t, &call, &(struct sonde_message){.kind = SONDE_MESSAGE_CALL});
    sonde__busy(t, 0);
    sonde__count(&t->count.hook_ticks, sonde__ticks() - ticks);
}
