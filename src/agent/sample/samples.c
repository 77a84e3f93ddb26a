/* samples.c - a thread's ring of samples and waits: its signal handler fills it, the monitor empties it. */
#include "sample.h"

#include <stdio.h>
#include <string.h>

#include "agent/state/state.h"
#include "agent/store/store.h"
#include "target.h"

/* ---- in the thread, or its signal handler ---------------------------------------- */

bool sonde__sample_put(struct sonde_thread *t, uint64_t time_ns, uint64_t cpu_ns, uint32_t node, uint32_t flags)
{
    struct sonde_samples *s = &t->samples;
    const uint32_t n = atomic_load_explicit(&s->written, memory_order_relaxed);
    const uint32_t used = n - atomic_load_explicit(&s->taken, memory_order_acquire);
    if (used == SONDE_SAMPLES_MAX) {
        sonde__count(&s->count.lost, 1);
        return false;
    }
    if (used == SONDE_SAMPLES_MAX / 2)
        sonde__monitor_wake();
    const uint64_t last_ns = atomic_load_explicit(&s->cpu_ns, memory_order_relaxed);
    cpu_ns = cpu_ns > last_ns ? cpu_ns : last_ns;
    t->sample[n % SONDE_SAMPLES_MAX] = (struct sonde_sample){
        .time_ns = time_ns, .cpu_ns = cpu_ns - last_ns, .node = node, .lane = t->lane, .flags = (uint16_t)flags};
    atomic_store_explicit(&s->cpu_ns, cpu_ns, memory_order_relaxed);
    atomic_store_explicit(&s->written, n + 1, memory_order_release);
    sonde__count(&s->count.taken, 1);
    return true;
}

bool sonde__sample_slept(struct sonde_thread *t, uint64_t from_ns, uint64_t to_ns, uint32_t node, uint32_t kind)
{
    struct sonde_samples *s = &t->samples;
    const uint32_t n = atomic_load_explicit(&s->written, memory_order_relaxed);
    const uint32_t used = n - atomic_load_explicit(&s->taken, memory_order_acquire);
    if (used == SONDE_SAMPLES_MAX)
        return false;
    if (used == SONDE_SAMPLES_MAX / 2)
        sonde__monitor_wake();
    t->sample[n % SONDE_SAMPLES_MAX] = (struct sonde_sample){
        .time_ns = from_ns,
        .cpu_ns = to_ns - from_ns,
        .node = node,
        .lane = t->lane,
        .flags = SONDE_SAMPLE_SLEPT,
        .kind = (uint16_t)kind,
    };
    atomic_store_explicit(&s->written, n + 1, memory_order_release);
    return true;
}

#define COUNTED_LEAST_FREE 16u /* of the ring, which samples of CPU time have to themselves */

/* Counters that come again and again at one place are one entry, as long as the monitor has not had it. */
static bool counted_again(struct sonde_thread *t, uint32_t last, uint32_t node, uint32_t counter, uint64_t samples)
{
    struct sonde_sample *s = &t->sample[last % SONDE_SAMPLES_MAX];
    if (s->flags != SONDE_SAMPLE_COUNTED || s->node != node || s->kind != counter)
        return false;
    uint64_t before = __atomic_load_n(&s->cpu_ns, __ATOMIC_RELAXED);
    return before && __atomic_compare_exchange_n(&s->cpu_ns, &before, before + samples, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool sonde__sample_counted(struct sonde_thread *t, uint32_t node, uint32_t counter, uint64_t samples)
{
    struct sonde_samples *s = &t->samples;
    const uint32_t n = atomic_load_explicit(&s->written, memory_order_relaxed);
    const uint32_t used = n - atomic_load_explicit(&s->taken, memory_order_acquire);
    if (used && counted_again(t, n - 1, node, counter, samples))
        return true;
    if (used >= SONDE_SAMPLES_MAX - COUNTED_LEAST_FREE) {
        sonde__count(&s->lost_counted[counter], samples);
        return false;
    }
    if (used == SONDE_SAMPLES_MAX / 2)
        sonde__monitor_wake();
    t->sample[n % SONDE_SAMPLES_MAX] =
        (struct sonde_sample){.cpu_ns = samples, .node = node, .lane = t->lane, .flags = SONDE_SAMPLE_COUNTED, .kind = (uint16_t)counter};
    atomic_store_explicit(&s->written, n + 1, memory_order_release);
    return true;
}

/* ---- the monitor's side ---------------------------------------------------------- */

/* That of its thread, which has something for one; takes thread_lock. */
static uint32_t lane_of(struct sonde_thread *t)
{
    sonde__lock(&sonde__agent.thread_lock);
    if (!t->lane && t->tid) {
        char path[64], name[17] = "";
        snprintf(path, sizeof path, "/proc/self/task/%d/comm", t->tid);
        if (sonde__files_read(path, name, sizeof name) > 0)
            name[strcspn(name, "\n")] = 0;
        sonde__lane_begin(t, t->tid, name, t->samples.since_ns);
    }
    const uint32_t lane = t->lane;
    sonde__unlock(&sonde__agent.thread_lock);
    return lane;
}

/* `lane`: of samples that came before their thread had one. */
static void drain_one(uint32_t lane, struct sonde_sample *s)
{
    const uint32_t own = __atomic_load_n(&s->lane, __ATOMIC_RELAXED);
    lane = own ? own : lane;
    if (s->flags & SONDE_SAMPLE_COUNTED) {
        sonde__counting_take(s->node, s->kind, __atomic_exchange_n(&s->cpu_ns, 0, __ATOMIC_RELAXED));
        return;
    }
    if (s->flags & SONDE_SAMPLE_SLEPT) {
        const struct sonde_row_sleep sleep = {
            .from_ns = s->time_ns, .to_ns = s->time_ns + s->cpu_ns, .node = s->node, .kind = s->kind};
        sonde__profile_sleep(s->node, s->cpu_ns);
        sonde__trace_row(lane, SONDE_TABLE_SLEEP, &sleep);
        return;
    }
    sonde__agent.sampled_ns += s->cpu_ns;
    sonde__profile_sample(lane, s);
    const struct sonde_row_sample row = {.time_ns = s->time_ns, .cpu_ns = s->cpu_ns, .node = s->node, .flags = s->flags};
    sonde__trace_row(lane, SONDE_TABLE_SAMPLE, &row);
}

void sonde__sample_drain(struct sonde_thread *t)
{
    struct sonde_samples *s = &t->samples;
    uint32_t end_at = atomic_load_explicit(&s->written, memory_order_acquire);
    uint32_t n = atomic_load_explicit(&s->taken, memory_order_relaxed);
    if (n == end_at)
        return;
    const uint32_t lane = lane_of(t); /* after `written`: what a thread that has ended left there says whose it is */
    for (; n != end_at; n++)
        drain_one(lane, &t->sample[n % SONDE_SAMPLES_MAX]);
    atomic_store_explicit(&s->taken, n, memory_order_release);
}
