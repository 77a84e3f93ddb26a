/* thread.c - slots for the program's threads.
 *
 * A thread gets a slot at its first hooked call, whether or not anyone saw it
 * made, and gives it back when it ends (a pthread key's destructor). Threads that
 * call no hook get theirs from the monitor, to be sampled (sample_threads.c),
 * which takes it back when they are gone. The slot
 * keeps its contexts, channel and caches for the next thread, so a program
 * that makes 100,000 short threads uses the memory of those that live at once.
 */
#include "agent.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/once.h"

/* Threads beyond this many share the lanes of threads that have ended. */
#define OWN_LANES 1024

__thread struct sonde_thread *sonde__self __attribute__((tls_model("initial-exec")));

static pthread_key_t ended_key;
static bool ended_key_made;

/* Under thread_lock. */
static void give_back(struct sonde_thread *t)
{
    t->adopted = false;
    t->next_free = sonde__agent.thread_free;
    sonde__agent.thread_free = t->slot;
}

static void end_lane(const struct sonde_thread *t)
{
    struct sonde_lane *lane = t->lane ? atomic_load(&sonde__agent.lanes[t->lane]) : NULL;
    if (lane)
        lane->row->end_ns = sonde_now_ns();
}

static void thread_ended(void *slot)
{
    struct sonde_thread *t = slot;
    struct sonde_agent *a = &sonde__agent;
    if (sonde__self != t || atomic_load(sonde__flag) == SONDE_FLAG_LOOK)
        return; /* the slot belongs to a parent process, or is gone */
    sonde__self = NULL;
    sonde__ranges_of_ended(t);
    sonde__lock(&a->thread_lock);
    sonde__sample_leave(t);
    end_lane(t);
    give_back(t);
    sonde__unlock(&a->thread_lock);
}

void sonde__thread_vanished(struct sonde_thread *t)
{
    end_lane(t);
    t->tid = 0;
    give_back(t);
}

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

/* A slot without thread, under thread_lock; NULL: no room. */
static struct sonde_thread *slot_take(struct sonde_agent *a)
{
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
    t->path_length = t->native_length = t->last_context = 0;
    t->resumable = t->last_call.submitted = false;
    t->replay = NULL;
    t->own.wall_ns = t->own.cpu_ns = t->own.judged_ns = 0;
    t->check_in = a->config.check ? 1 : SONDE_CHECK_EVERY;
    atomic_store(&t->ranges.depth, 0);
    t->ranges.ignored = t->ranges.link_frame = t->ranges.link_name = 0;
    return t;
}

void sonde__thread_lane(struct sonde_thread *t, int tid, const char *name, uint64_t start_ns)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_lane *old = t->last_lane ? atomic_load(&a->lanes[t->last_lane]) : NULL;
    if (t->lane)
        return;
    if (old && a->thread_lanes >= OWN_LANES) {
        old->row->threads++;
        old->row->end_ns = 0;
        t->lane = t->last_lane;
        return;
    }
    uint32_t lane = sonde__lane_new((struct sonde_row_lane){
        .kind = SONDE_LANE_KIND_THREAD, .tid = (uint32_t)tid, .threads = 1}, name);
    a->thread_lanes++;
    t->lane = lane ? lane : t->last_lane;
    if (lane)
        atomic_load(&a->lanes[lane])->row->start_ns = start_ns;
}

/* How much of the heap the slots of threads that call no hook may leave others:
 * three quarters, or half when such a thread is known to use the processor. */
struct sonde_thread *sonde__thread_for_samples(bool wanted)
{
    struct sonde_agent *a = &sonde__agent;
    if (!a->thread_free && sonde__heap_used(&a->heap) > a->heap.size / (wanted ? 2 : 4))
        return NULL;
    return slot_take(a);
}

struct sonde_thread *sonde__thread_enter(void)
{
    static struct sonde_once spent;
    struct sonde_agent *a = &sonde__agent;
    sonde__lock(&a->thread_lock);
    if (!ended_key_made)
        ended_key_made = pthread_key_create(&ended_key, thread_ended) == 0;
    struct sonde_thread *t = sonde__sample_slot();
    if (!t)
        t = slot_take(a);
    if (t) {
        char name[17] = "";
        prctl(PR_GET_NAME, name);
        sonde__thread_lane(t, (int)syscall(SYS_gettid), name, t->samples.since_ns ? t->samples.since_ns : sonde_now_ns());
        t->adopted = true;
        sonde__sample_enter(t);
    }
    sonde__unlock(&a->thread_lock);
    if (!t && sonde__once(&spent))
        sonde_note("threads are not measured: no room for more than %u at once", atomic_load(&a->thread_count));
    if (t && ended_key_made)
        pthread_setspecific(ended_key, t);
    sonde__self = t;
    return t;
}

void sonde__thread_forget_all(void)
{
    /* In a forked child: the slots lie in the parent's heap, which goes away. */
    sonde__self = NULL;
    if (ended_key_made)
        pthread_setspecific(ended_key, NULL);
}
