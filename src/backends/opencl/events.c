/* events.c - which operation an event stands for, and what waits for what.
 *
 * A program names what it waits for by events; a measurement names operations by
 * their correlations. Every event that a program gets is noted here, if only to
 * forget what its handle stood for before: handles are used again, and of an
 * event's end nobody tells us. What is forgotten or was never known (events of OpenGL,
 * events of calls that were not recorded) makes no row: docs/waits.md. A user event has
 * a number of its own, which is no operation's.
 *
 * The cache is lossy and takes no lock. No two threads write about one handle at once:
 * to be made again it must have been released.
 */
#include "opencl.h"

#include "guest/pairs.h"
#include "guest/process.h"

enum { KNOWN = 32768 };

static _Alignas(64) struct sonde_pair pairs[KNOWN];
static const struct sonde_pairs known = {pairs, KNOWN - 1};

/* A forked child knows nothing of the parent's events. */
static uint64_t key_of(cl_event event)
{
    return (uintptr_t)event ^ (uint64_t)sonde__process() << 56;
}

void sonde__cl_event_made(cl_event event, uint64_t correlation)
{
    sonde__cl_order_fresh(event);
    if (correlation)
        sonde__pairs_put(known, key_of(event), correlation);
    else
        sonde__pairs_drop(known, key_of(event));
}

void sonde__cl_events_awaited(struct sonde_call *call, uint64_t waiter, cl_uint count,
                              const cl_event *events)
{
    for (cl_uint i = 0; events && i < count; i++) {
        uint64_t operation;
        if (sonde__pairs_find(known, key_of(events[i]), &operation))
            sonde_call_waits(call, &(struct sonde_wait){.waiter = waiter, .op = operation});
    }
}

void sonde__cl_user_event_made(cl_event event)
{
    static _Atomic uint64_t made;
    sonde__cl_event_made(event, SONDE_WAIT_USER_EVENT | (atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1));
}

void sonde__cl_user_event_done(struct sonde_call *call, cl_event event)
{
    uint64_t number;
    if (sonde__pairs_find(known, key_of(event), &number) && number & SONDE_WAIT_USER_EVENT)
        sonde_call_waits(call, &(struct sonde_wait){.waiter = number});
}
