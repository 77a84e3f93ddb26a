/* range_rows.c - what becomes of ranges: rows of the trace. See range_rows.h. */
#include "range_rows.h"

#include "agent/store/store.h"
#include "run.h"

__thread uint32_t sonde__ranges_outer __attribute__((tls_model("initial-exec")));
struct sonde_across sonde__across[SONDE_ACROSS_MAX];

struct sonde_row_range sonde__range_load(_Atomic uint64_t *words)
{
    struct sonde_row_range row;
    uint64_t plain[5];
    for (int i = 0; i < 5; i++)
        plain[i] = atomic_load_explicit(&words[i], memory_order_relaxed);
    memcpy(&row, plain, sizeof row);
    return row;
}

void sonde__range_lost(struct sonde_thread *t)
{
    if (sonde__agent.config.trace && sonde__is_recording())
        atomic_fetch_add_explicit(t ? &t->ranges.lost : &sonde__agent.ranges_lost, 1, memory_order_relaxed);
}

void sonde__range_send(struct sonde_thread *t, const struct sonde_row_range *row, uint32_t lane)
{
    if (!sonde__agent.config.trace)
        return;
    struct sonde_range_event *e = sonde__channel_slot(&t->ranges.ended);
    if (__builtin_expect(!e, 0)) {
        sonde__range_lost(t);
        return;
    }
    *e = (struct sonde_range_event){.row = *row, .lane = lane};
    sonde__channel_publish(&t->ranges.ended);
}

void sonde__ranges_of_ended(struct sonde_thread *t)
{
    const uint32_t n = sonde__open_ranges(t);
    for (uint32_t i = 0; i < n; i++) {
        struct sonde_row_range row = sonde__range_load(t->open[i].row);
        sonde__range_send(t, &row, t->lane);
    }
    atomic_store(&t->ranges.depth, 0);
}

/* ---- the monitor's side ------------------------------------------------------------------------ */

static void count_lost(struct sonde_thread *t)
{
    uint64_t lost = atomic_load_explicit(&t->ranges.lost, memory_order_relaxed);
    if (lost != t->ranges.counted)
        sonde__trace_lost(t->lane, SONDE_TABLE_RANGE, SONDE_DROP_CHANNEL_FULL, lost - t->ranges.counted);
    t->ranges.counted = lost;
}

void sonde__ranges_drain(struct sonde_thread *t)
{
    for (uint64_t n = sonde__channel_waiting(&t->ranges.ended); n > 0; n--) {
        const struct sonde_range_event *e = sonde__channel_peek(&t->ranges.ended);
        sonde__trace_row(e->lane, SONDE_TABLE_RANGE, &e->row);
        sonde__channel_next(&t->ranges.ended);
    }
    count_lost(t);
    const uint64_t of_none = atomic_load_explicit(&sonde__agent.ranges_lost, memory_order_relaxed);
    if (of_none)
        sonde__trace_lost(0, SONDE_TABLE_RANGE, SONDE_DROP_CHANNEL_FULL, atomic_exchange(&sonde__agent.ranges_lost, 0));
}

static void last_of_thread(struct sonde_thread *t)
{
    uint32_t n = atomic_load_explicit(&t->ranges.depth, memory_order_acquire);
    for (uint32_t i = 0; i < n && i < SONDE_RANGES_MAX; i++) {
        const struct sonde_row_range row = sonde__range_load(t->open[i].row);
        sonde__trace_row(t->lane, SONDE_TABLE_RANGE, &row);
    }
}

void sonde__ranges_last(void)
{
    struct sonde_agent *a = &sonde__agent;
    for (uint32_t i = 1; i <= atomic_load(&a->thread_count); i++) {
        struct sonde_thread *t = atomic_load(&a->threads[i]);
        last_of_thread(t);
        count_lost(t);
    }
    for (uint32_t i = 0; i < SONDE_ACROSS_MAX; i++)
        if (atomic_load_explicit(&sonde__across[i].id, memory_order_acquire) > SONDE_ACROSS_TAKEN) {
            const struct sonde_row_range row = sonde__range_load(sonde__across[i].row);
            sonde__trace_row(atomic_load(&sonde__across[i].lane), SONDE_TABLE_RANGE, &row);
        }
}

void sonde__ranges_forget(void)
{
    for (uint32_t i = 0; i < SONDE_ACROSS_MAX; i++)
        atomic_store(&sonde__across[i].id, 0);
    sonde__ranges_outer = 0;
}
