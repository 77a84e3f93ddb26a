/* recording.c - recording goes on and off, and off for good when something has failed. */
#include "run.h"

#include "agent/state/state.h"
#include "agent/store/store.h"

void sonde__flag_set(uint32_t value)
{
    atomic_store_explicit(sonde__flag, value, memory_order_release);
}

/* A runtime that reports must do so before the first hook that records, and
 * may stop only after the last. */
static void tell_backends(bool on)
{
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->range)
            sonde_backends[i]->range(on);
}

/* Recording is turned on and off by any thread (sonde_start, capture ranges) and
 * by the monitor (--delay, --duration): one at a time, and the last word counts.
 * Who finds the lock taken for long leaves it to whoever has it, who looks again;
 * so does a signal handler that came within this, which must not wait. */
static struct sonde_lock range_lock;
static _Atomic uint32_t range_asked, range_applied; /* how often; the second under the lock */
static __thread volatile bool applying __attribute__((tls_model("initial-exec")));

static void apply_last_word(void)
{
    bool on = atomic_load(&sonde__agent.range);
    if (atomic_load(&sonde__agent.state) != SONDE_ON)
        return;
    if (on) {
        tell_backends(true);
        atomic_store(&sonde__agent.range_since_ns, sonde_now_ns());
        atomic_store(&sonde__agent.range_until_ns, 0);
    } else if (!sonde_is_attached()) { /* of a run whose recording begins later, from the agent's start on */
        sonde__recorded_pause(atomic_load(&sonde__agent.range_since_ns) ? sonde_now_ns()
                                                                        : sonde__agent.header->start_ns);
    }
    sonde__flag_set(on ? SONDE_FLAG_ON : SONDE_FLAG_OFF);
    if (on) {
        sonde__recorded_resume(sonde_now_ns());
    } else {
        atomic_store(&sonde__agent.range_until_ns, sonde_now_ns());
        tell_backends(false);
    }
}

static bool applies_in_time(void)
{
    if (!sonde__lock_within(&range_lock, 1000))
        return false;
    const uint32_t asked = atomic_load(&range_asked);
    apply_last_word();
    atomic_store(&range_applied, asked);
    sonde__unlock(&range_lock);
    return true;
}

void sonde__agent_apply_range(void)
{
    atomic_fetch_add(&range_asked, 1);
    if (applying)
        return;
    bool in_time = true;
    while (in_time && atomic_load(&range_applied) != atomic_load(&range_asked)) {
        applying = true;
        in_time = applies_in_time();
        applying = false;
    }
}

/* The flag is set after the state, and the state before who starts the agent
 * looks at the range: it, or we, see what the other one did. */
static bool has_range(void)
{
    if (!sonde__flag)
        return false;
    if (atomic_load(sonde__flag) == SONDE_FLAG_LOOK && atomic_load(&sonde__starting) == getpid())
        return atomic_load(&sonde__agent.state) == SONDE_ON;
    return atomic_load(sonde__flag) != SONDE_FLAG_LOOK; /* again: the start may have ended between */
}

void sonde__agent_set_range(int on)
{
    atomic_store(&sonde__agent.range, on);
    if (has_range())
        sonde__agent_apply_range();
}

void sonde_recording_set(bool on)
{
    sonde__agent_set_range(on);
}

/* In a forked child, with its one thread. */
void sonde__recording_forget(void)
{
    atomic_store(&range_applied, atomic_load(&range_asked));
    applying = false;
}

void sonde__recording_end(void)
{
    const bool locked = sonde__lock_within(&range_lock, 1000);
    atomic_store(&sonde__agent.range, 0);
    sonde__flag_set(SONDE_FLAG_OFF);
    atomic_store(&sonde__agent.range_until_ns, sonde_now_ns());
    tell_backends(false);
    if (locked)
        sonde__unlock(&range_lock);
}

/* ---- failing open ------------------------------------------------------------------ */

void sonde__agent_off(const char *reason)
{
    struct sonde_agent *a = &sonde__agent;
    if (__atomic_load_n(&a->header, __ATOMIC_ACQUIRE)) { /* a monitor that is late may come by just now */
        sonde_note("Sonde switched itself off: %s", reason);
        a->header->state = SONDE_PROCESS_OFF;
    }
    a->off = reason;
    atomic_store(&a->state, SONDE_DEAD);
    if (sonde__flag)
        sonde__flag_set(SONDE_FLAG_OFF);
}
