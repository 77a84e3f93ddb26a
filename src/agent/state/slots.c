/* slots.c - places for the program's threads (thread.h).
 *
 * A slot keeps its contexts, channel and caches for the next thread, so a program
 * that makes 100,000 short threads uses the memory of those that live at once.
 */
#include "state.h"
#include "thread.h"

__thread struct sonde_thread *sonde__self __attribute__((tls_model("initial-exec")));

static struct sonde_thread *slot_new(struct sonde_agent *a)
{
    uint32_t slot = atomic_load(&a->thread_count) + 1;
    if (slot > SONDE_THREADS_MAX)
        return NULL;
    struct sonde_thread *t = sonde__heap_get(&a->heap, sizeof *t);
    if (!t)
        return NULL;
    t->slot = slot; /* the rest is 0: more than a block has not been used before (heap.h) */
    sonde__channel_init(&t->channel, &a->heap, sizeof(struct sonde_event), t->first_events, sizeof t->first_events);
    sonde__channel_init(&t->found, &a->heap, sizeof(struct sonde_activity), t->first_found, sizeof t->first_found);
    sonde__channel_init(&t->ranges.ended, &a->heap, sizeof(struct sonde_range_event), t->first_ranges,
                        sizeof t->first_ranges);
    sonde__map_lend(&t->children, t->first_children, sizeof t->first_children / sizeof *t->first_children);
    atomic_store_explicit(&a->threads[slot], t, memory_order_release);
    atomic_store_explicit(&a->thread_count, slot, memory_order_release);
    return t;
}

struct sonde_thread *sonde__slot_take(void)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_thread *t = NULL;
    if (a->thread_free) {
        t = atomic_load(&a->threads[a->thread_free]);
        a->thread_free = t->next_free;
    } else {
        t = slot_new(a);
    }
    if (!t)
        return NULL;
    t->last_lane = t->lane ? t->lane : t->last_lane;
    t->lane = 0;
    t->busy = 0;
    atomic_store(&t->at_end, 0);
    t->samples.since_ns = 0;
    t->stack.count = t->stack.shared = 0; /* nothing to re-use of another thread's stack */
    t->native_length = t->last_context = 0;
    t->resumable = t->last_call.submitted = false;
    t->replay = NULL;
    t->own.wall_ns = t->own.cpu_ns = t->own.judged_ns = 0;
    t->check_in = a->config.check ? 1 : SONDE_CHECK_EVERY;
    atomic_store(&t->ranges.depth, 0);
    t->ranges.ignored = t->ranges.link_frame = t->ranges.link_name = 0;
    return t;
}

/* How much of the heap the slots of threads that call no hook may leave others:
 * three quarters, or half when such a thread is known to use the processor. */
struct sonde_thread *sonde__slot_for_samples(bool wanted)
{
    struct sonde_agent *a = &sonde__agent;
    if (!a->thread_free && sonde__heap_used(&a->heap) > a->heap.size / (wanted ? 2 : 4))
        return NULL;
    return sonde__slot_take();
}

void sonde__slot_put(struct sonde_thread *t)
{
    t->adopted = false;
    t->next_free = sonde__agent.thread_free;
    sonde__agent.thread_free = t->slot;
}
