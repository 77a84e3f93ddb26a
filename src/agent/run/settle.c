/* settle.c - what was found is taken in: at each turn of the monitor, and for good when the process ends. */
#include "run.h"

#include "agent/sample/sample.h"
#include "agent/state/state.h"
#include "agent/store/store.h"

#define DEATH_PASSES_MS  600 /* when a signal kills the program: the monitor's part of how long it is kept from that */
#define LOOK_NS     10000000 /* threads go on meanwhile: what tells when they were off the CPU holds a thousand records of each */
#define PASSES_BOUND_MS 2500 /* else a little longer than SONDE_EXIT_BOUND_MS when it is busy asking: less than its caller waits */

void sonde__settle_drain(void)
{
    struct sonde_agent *a = &sonde__agent;
    uint32_t threads = atomic_load_explicit(&a->thread_count, memory_order_acquire);
    for (uint32_t i = 1; i <= threads; i++) {
        struct sonde_thread *t = atomic_load_explicit(&a->threads[i], memory_order_acquire);
        for (uint64_t n = sonde__channel_waiting(&t->found); n > 0; n--) {
            sonde__take(sonde__channel_peek(&t->found));
            sonde__channel_next(&t->found);
        }
        sonde__ranges_drain(t);
        sonde__sample_drain(t);
    }
}

void sonde__settle_clocks(void)
{
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->sync_clocks && !atomic_load(&sonde__agent.closed)) {
            sonde__enter_runtime();
            sonde_backends[i]->sync_clocks();
            sonde__leave_runtime();
        }
}

/* ---- the end ------------------------------------------------------------------------- */

bool sonde_is_waiting(void)
{
    return atomic_load(&sonde__agent.outstanding) != 0 || sonde__match_waiting() != 0;
}

static bool settled(enum sonde_collect how)
{
    struct sonde_agent *a = &sonde__agent;
    if (!sonde__lock_within(&a->harvest_lock, 100))
        return false;
    sonde__settle_drain();
    sonde__harvest(NULL);
    sonde__match_turn(how);
    bool all = !sonde_is_waiting();
    sonde__unlock(&a->harvest_lock);
    return all;
}

/* Ask about everything outstanding once more, in-order or not: a command whose
 * wait list failed never finishes and must not hide those behind it. */
static void last_look(void)
{
    struct sonde_agent *a = &sonde__agent;
    if (!sonde__lock_within(&a->harvest_lock, 100))
        return;
    for (uint32_t i = 1; i <= atomic_load(&a->lane_count); i++)
        atomic_load(&a->lanes[i])->out_of_order = true;
    sonde__unlock(&a->harvest_lock);
    if (settled(SONDE_COLLECT_LAST) || !sonde__lock_within(&a->harvest_lock, 100))
        return;
    sonde__harvest_abandon();
    sonde__unlock(&a->harvest_lock);
}

/* Under monitor_lock. */
static void take_late(void)
{
    if (!sonde__lock_within(&sonde__agent.harvest_lock, 100))
        return;
    sonde__harvest_late();
    sonde__unlock(&sonde__agent.harvest_lock);
}

void sonde__settle_late(void)
{
    if (!sonde__lock_within(&sonde__agent.monitor_lock, 100))
        return;
    take_late();
    sonde__ledger_account();
    sonde__unlock(&sonde__agent.monitor_lock);
}

static bool settles_within_bound(void)
{
    uint64_t now = sonde_now_ns(), looked_ns = now;
    const uint64_t until_ns = now + PASSES_BOUND_MS * 1000000ull;
    for (int n = 0; n < SONDE_EXIT_BOUND_MS * 5 && now < until_ns; n++, now = sonde_now_ns()) {
        sonde__nap(200);
        if (settled(SONDE_COLLECT_LAST))
            return true;
        if (now - looked_ns >= LOOK_NS)
            sonde__sample_turn(looked_ns = now);
    }
    return false;
}

/* Under monitor_lock. */
static void settle_dying(void)
{
    const uint64_t until_ns = sonde_now_ns() + DEATH_PASSES_MS * 1000000ull;
    while (!settled(SONDE_COLLECT_DYING) && sonde_now_ns() < until_ns)
        sonde__nap(1000);
    sonde__ledger_account();
}

void sonde__settle(enum sonde_flush how)
{
    struct sonde_agent *a = &sonde__agent;
    if (atomic_load(&a->closed)) {
        sonde__settle_late();
        return;
    }
    if (!sonde__lock_within(&a->monitor_lock, how == SONDE_FLUSH_DEATH ? DEATH_PASSES_MS : 2000))
        return;
    if (how == SONDE_FLUSH_DEATH) {
        settle_dying();
        sonde__unlock(&a->monitor_lock);
        return;
    }
    if (how == SONDE_FLUSH_CLOSE)
        sonde__sample_stop();
    bool all = settled(SONDE_COLLECT_LAST) || (how != SONDE_FLUSH_STORE && !a->finished && settles_within_bound());
    if (how != SONDE_FLUSH_STORE) {
        sonde__ledger_account(); /* in case the runtime does not come back from the next */
        sonde__settle_clocks();
    }
    if (how == SONDE_FLUSH_CLOSE) {
        if (!all)
            last_look();
        if (sonde__lock_within(&a->harvest_lock, 100)) {
            sonde__match_abandon();
            sonde__unlock(&a->harvest_lock);
        }
        sonde__ranges_last();
        atomic_store(&a->closed, true); /* from here on the runtime may be gone */
        take_late();
    }
    sonde__ledger_account();
    if (how != SONDE_FLUSH_STORE) {
        a->finished = true;
        a->header->state = SONDE_PROCESS_EXITED;
    }
    sonde__unlock(&a->monitor_lock);
}
