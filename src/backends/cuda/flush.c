/* flush.c - asks CUPTI for finished work from time to time, on a thread of its own.
 *
 * By itself CUPTI hands over full buffers only, so that a program that is killed
 * would lose all that no buffer had been filled with. Asked without force it gives
 * every buffer in which all has ended. That may take long, and on a device that
 * is lost it may never come back: nobody waits for this thread but, for a part of
 * the second at the end, the monitor. Gaps grow: a program that crashes soon has
 * left something too.
 */
#include "sanitizer.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define GAP_FIRST_NS 10000000u
#define GAP_MOST_NS 400000000u /* and what is asked for now is stored well within a second */
#define STACK_BYTES   1048576u
#define NAP_NS        100000

static sem_t wanted;
static _Atomic bool busy, all_values; /* the next time, those of all kernels */
static _Atomic bool ends, ended;      /* the thread is to end, and has */
static enum {
    NOT_YET,
    RUNNING,
    CANNOT,
} thread_state; /* the monitor's, as all below */
static uint64_t asked_ns, gap_ns = GAP_FIRST_NS;
static bool asked_last;

static void *flusher_main(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "sonde-cupti");
    sonde_tool_thread();
    sonde__cuda_quiet(true);
    for (;;) {
        while (sem_wait(&wanted) != 0)
            ;
        if (atomic_load(&ends))
            break;
        const bool last = atomic_exchange(&all_values, false);
        sonde__cuda_values_read(last);
        if (sonde__sanitizer_on)
            sonde__patches_read(last);
        sonde__cupti.cuptiActivityFlushAll(0);
        atomic_store_explicit(&busy, false, memory_order_release);
    }
    atomic_store(&ended, true);
    return NULL;
}

/* From the monitor thread, so that signals are blocked there too. */
static bool start(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    if (thread_state != NOT_YET)
        return thread_state == RUNNING;
    sem_init(&wanted, 0, 0);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    const int error = pthread_create(&thread, &attr, flusher_main, NULL);
    pthread_attr_destroy(&attr);
    thread_state = error ? CANNOT : RUNNING;
    if (error)
        sonde_note("cannot start the thread that fetches records from CUPTI: if the program is killed, those that CUPTI "
                   "still holds are lost");
    return !error;
}

void sonde__cuda_flush_turn(void)
{
    const uint64_t now = sonde_now_ns();
    asked_last = false; /* the program goes on */
    if (now - asked_ns < gap_ns || atomic_load_explicit(&busy, memory_order_acquire) || !start())
        return;
    asked_ns = now;
    gap_ns = gap_ns < GAP_MOST_NS / 2 ? 2 * gap_ns : GAP_MOST_NS;
    atomic_store_explicit(&busy, true, memory_order_relaxed);
    sem_post(&wanted);
}

static bool is_idle(uint64_t until_ns)
{
    while (sonde__cuda_flush_busy() && sonde_now_ns() < until_ns)
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    return !sonde__cuda_flush_busy();
}

void sonde__cuda_flush_last(uint64_t patience_ns)
{
    const uint64_t until_ns = sonde_now_ns() + patience_ns;
    if ((!sonde__cuda_twins.on && !sonde__sanitizer_on) || asked_last || !is_idle(until_ns) || !start())
        return;
    asked_last = true;
    atomic_store(&all_values, true);
    atomic_store_explicit(&busy, true, memory_order_relaxed);
    sem_post(&wanted);
    is_idle(until_ns);
}

bool sonde__cuda_flush_end(uint64_t patience_ns)
{
    const uint64_t until_ns = sonde_now_ns() + patience_ns;
    atomic_store(&ends, true);
    if (thread_state == RUNNING)
        sem_post(&wanted);
    while (thread_state == RUNNING && !atomic_load(&ended) && sonde_now_ns() < until_ns)
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    return thread_state != RUNNING || atomic_load(&ended);
}

bool sonde__cuda_flush_busy(void)
{
    return atomic_load_explicit(&busy, memory_order_acquire);
}

void sonde__cuda_flush_forget(void)
{
    atomic_store(&busy, false);
    thread_state = NOT_YET;
    asked_ns = 0;
    asked_last = false;
    gap_ns = GAP_FIRST_NS;
}
