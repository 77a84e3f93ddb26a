/* sleep.c - waits in functions of the C library, of which the preload library tells (docs/sampling.md).
 *
 * The thread itself comes here, after its wait, and walks its stack as a sample's
 * handler does: a wait may be anywhere, in a signal handler or a memory allocator
 * too, so no lock is waited for and the loader is not asked. What cannot be had
 * is missed and counted. The row goes the way of the samples.
 */
#include "sample.h"

#include "agent/context/context.h"
#include "agent/preload/preload.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "target.h"

static bool wants(const struct sonde_thread *t)
{
    return sonde__flag && atomic_load_explicit(sonde__flag, memory_order_acquire) == SONDE_FLAG_ON && t && !t->busy &&
           !atomic_load_explicit(&sonde__agent.closed, memory_order_relaxed);
}

static void slept(uint32_t which, uint64_t from_ns, uint64_t to_ns)
{
    struct sonde_thread *t = sonde__self ? sonde__self : sonde__target_mine();
    const struct sonde_shared *shared = sonde__agent_shared();
    if (!wants(t) || which >= shared->sleeper_count || which >= SONDE_SLEEPERS_MAX)
        return; /* a wait within a hooked call is the call's */
    const uint64_t ticks = sonde__ticks();
    sonde__busy(t, SONDE_BUSY);
    sonde__handler = (struct sonde_handler){.on = true};
    uint32_t node = sonde__context_sleep(t, which, shared->sleepers[which].name);
    const bool missed = sonde__handler.missed || !node;
    sonde__handler.on = false;
    if (missed)
        sonde__monitor_wake(); /* it may have something to look up */
    if (missed || !sonde__sample_slept(t, from_ns, to_ns, node, shared->sleepers[which].kind))
        sonde__trace_lost(0, SONDE_TABLE_SLEEP, SONDE_DROP_CHANNEL_FULL, 1);
    sonde__busy(t, 0);
    sonde__count(&t->count.hook_ticks, sonde__ticks() - ticks);
}

void sonde__sleep_connect(struct sonde_shared *shared)
{
    if (shared->sleepers)
        atomic_store(&shared->slept, slept);
    atomic_store(&shared->thread_ends, sonde__sample_ends);
    atomic_store(&shared->thread_starts, sonde__sample_starts);
}
