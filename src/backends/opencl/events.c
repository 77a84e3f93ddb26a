/* events.c - which operation an event stands for, and what waits for what.
 *
 * A program names what it waits for by events; a measurement names operations by
 * their correlations. Every event that a program gets is noted here, if only to
 * forget what its handle stood for before: handles are used again, and of an
 * event's end nobody tells us. What is forgotten or was never known (events of OpenGL,
 * events of calls that were not recorded) makes no row: docs/waits.md. A user event has
 * a number of its own, which is no operation's.
 *
 * The table is lossy and takes no lock: a set of four entries, one cache line,
 * for each hash. An entry is (key mixed with value, value), so a torn one matches
 * no key (the lock-less transposition table of Hyatt and Mann, ICGA Journal 25,
 * 2002). No two threads write about one handle at once: to be made again it must
 * have been released.
 */
#include "opencl.h"

enum { SETS = 8192, WAYS = 4 };

struct entry {
    _Atomic uint64_t mixed, value;
};
static struct {
    _Alignas(64) struct entry way[WAYS];
} sets[SETS];
static uint64_t generation; /* of this process: a forked child knows nothing of the parent's events */

static uint64_t key_of(cl_event event)
{
    return (uintptr_t)event ^ generation << 56;
}

static struct entry *set_of(uint64_t key)
{
    return sets[key * 0x9e3779b97f4a7c15u >> 51].way;
}

/* Multiplied, because correlations are small numbers: two of them xored into a
 * key could make another key out of a torn entry. */
static uint64_t mix(uint64_t key, uint64_t value)
{
    return key ^ value * 0xbf58476d1ce4e5b9u;
}

static struct entry *find(uint64_t key, uint64_t *value)
{
    struct entry *set = set_of(key);
    for (int i = 0; i < WAYS; i++) {
        *value = atomic_load_explicit(&set[i].value, memory_order_relaxed);
        if (atomic_load_explicit(&set[i].mixed, memory_order_relaxed) == mix(key, *value))
            return &set[i];
    }
    return NULL;
}

/* Where a key that is not there goes: an empty place, or another's. */
static struct entry *place(uint64_t key)
{
    struct entry *set = set_of(key);
    for (int i = 0; i < WAYS; i++)
        if (!atomic_load_explicit(&set[i].mixed, memory_order_relaxed))
            return &set[i];
    return &set[(key >> 8) % WAYS];
}

void sonde__cl_event_made(cl_event event, uint64_t correlation)
{
    const uint64_t key = key_of(event);
    uint64_t old;
    struct entry *entry = find(key, &old);
    if (!entry && correlation)
        entry = place(key);
    if (!entry)
        return;
    atomic_store_explicit(&entry->value, correlation, memory_order_relaxed);
    atomic_store_explicit(&entry->mixed, correlation ? mix(key, correlation) : 0, memory_order_relaxed);
}

void sonde__cl_events_awaited(struct sonde_call *call, uint64_t waiter, cl_uint count,
                              const cl_event *events)
{
    for (cl_uint i = 0; events && i < count; i++) {
        uint64_t operation;
        if (find(key_of(events[i]), &operation))
            sonde_call_waits(call, &(struct sonde_wait){ .waiter = waiter, .op = operation });
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
    if (find(key_of(event), &number) && number & SONDE_WAIT_USER_EVENT)
        sonde_call_waits(call, &(struct sonde_wait){ .waiter = number });
}

void sonde__cl_events_forget(void)
{
    generation++;
}
