/* ledger.c - the process's own figures, in the header of the live mapping: what was seen, lost and spent. */
#include "run.h"

#include "agent/sample/sample.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"

static double ns_per_tick(void)
{
    const struct sonde_agent *a = &sonde__agent;
    const struct sonde_moment now = sonde__moment();
    const uint64_t ticks = now.ticks - a->began.ticks;
    return ticks ? (double)(now.ns - a->began.ns) / (double)ticks : 1.0;
}

static void add_thread(struct sonde_ledger *sum, const struct sonde_thread *t, uint64_t *ticks, uint64_t *call_ns)
{
#define GET(field) atomic_load_explicit(&t->count.field, memory_order_relaxed)
    sum->seen += GET(seen);
    sum->api_calls += GET(calls);
    sum->unwinds += GET(unwinds);
    sum->unwind_failed += GET(unwind_failed);
    sum->unwind_truncated += GET(unwind_truncated);
    sum->unwind_checked += GET(unwind_checked);
    sum->unwind_mismatched += GET(unwind_mismatched);
    sum->python_walks += GET(python_walks);
    sum->python_failed += GET(python_failed);
    sum->contexts_folded += GET(folded);
    sum->calls_dropped += GET(calls_dropped);
    *ticks += GET(hook_ticks);
    *call_ns += GET(call_ns) + GET(waited_ns);
    sum->dropped[SONDE_DROP_CHANNEL_FULL] += GET(dropped[SONDE_DROP_CHANNEL_FULL]);
    sum->dropped[SONDE_DROP_AFTER_EXIT] += GET(dropped[SONDE_DROP_AFTER_EXIT]);
    sum->dropped[SONDE_DROP_REENTRANT] += GET(dropped[SONDE_DROP_REENTRANT]);
    sum->dropped[SONDE_DROP_AGENT_OFF] += GET(dropped[SONDE_DROP_AGENT_OFF]);
#undef GET
}

void sonde__ledger_seen(void)
{
    const struct sonde_agent *a = &sonde__agent;
    uint64_t seen = a->seen_by_report;
    const uint32_t threads = atomic_load(&a->thread_count);
    for (uint32_t i = 1; i <= threads; i++)
        seen += atomic_load_explicit(&atomic_load(&a->threads[i])->count.seen, memory_order_relaxed);
    a->header->ledger.seen = seen;
}

void sonde__ledger_account(void)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_ledger *l = &a->header->ledger, sum = {0};
    uint64_t ticks = 0, call_ns = 0;
    uint32_t threads = atomic_load(&a->thread_count);
    for (uint32_t i = 1; i <= threads; i++)
        add_thread(&sum, atomic_load(&a->threads[i]), &ticks, &call_ns);
    /* The readings that bracket the call are ours too, but fall within it: half
     * of each clock read, and the reading of the ticks themselves. */
    const double tick_ns = ns_per_tick();
    atomic_store_explicit(&a->ticks_per_ns, 1 / tick_ns, memory_order_relaxed);
    double hook_ns = (double)ticks * tick_ns - (double)call_ns + (double)sum.api_calls * a->reading_ns;
    const uint64_t unheard = atomic_load(&a->without_slot.operations), unheard_calls = atomic_load(&a->without_slot.calls);
    l->seen = sum.seen + a->seen_by_report + unheard;
    l->unmatched = a->unmatched + a->unmatched_by_key;
    l->silent_launches = sonde__match_silent();
    l->api_calls = sum.api_calls + unheard_calls;
    l->calls_dropped = sum.calls_dropped + a->calls_dropped + unheard_calls;
    l->unwinds = sum.unwinds;
    l->unwind_failed = sum.unwind_failed;
    l->unwind_truncated = sum.unwind_truncated;
    l->unwind_checked = sum.unwind_checked;
    l->unwind_mismatched = sum.unwind_mismatched;
    l->python_walks = sum.python_walks;
    l->python_failed = sum.python_failed;
    l->contexts_folded = sum.contexts_folded + a->profile_folded;
    l->dropped[SONDE_DROP_CHANNEL_FULL] = sum.dropped[SONDE_DROP_CHANNEL_FULL] + a->no_room + a->no_room_by_key + unheard;
    l->dropped[SONDE_DROP_AFTER_EXIT] = sum.dropped[SONDE_DROP_AFTER_EXIT];
    l->dropped[SONDE_DROP_REENTRANT] = sum.dropped[SONDE_DROP_REENTRANT];
    l->dropped[SONDE_DROP_AGENT_OFF] = sum.dropped[SONDE_DROP_AGENT_OFF];
    l->hook_ns = hook_ns > 0 ? (uint64_t)hook_ns : 0;
    l->thread_cpu_ns = atomic_load(&a->monitor_cpu_ns) + sonde__trace_cpu_ns() + atomic_load(&a->backend_cpu_ns);
    sonde__sample_account(a->header);
    l->written_bytes = sonde__files_written();
    a->header->stop_ns = sonde_now_ns();
    sonde__busy_settle(a->header);
}
