/* threads.c - the agent is told of each thread as it starts and ends, in the thread itself.
 *
 * pthread_create does what libc's does, with a start routine of ours that calls
 * the program's. What it needs for that lies in a place of a fixed number, until
 * the thread has read it: nothing is allocated. With all places taken, and in a
 * process without an agent, the thread starts as without us, and the agent finds
 * it in /proc. A thread that is cancelled or calls pthread_exit has no end here.
 */
#include "preload.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

extern struct sonde_shared sonde__shared;
void *sonde__preload_libc(const char *name);

enum { PLACES = 256 };
static struct start {
    _Atomic bool taken;
    void *(*routine)(void *);
    void *arg;
} starts[PLACES];

static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((constructor)) static void find(void)
{
    *(void **)&real_create = sonde__preload_libc("pthread_create");
}

static struct start *take(void)
{
    static _Atomic unsigned next;
    for (unsigned n = 0; n < PLACES; n++) {
        struct start *s = &starts[atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % PLACES];
        if (!atomic_exchange_explicit(&s->taken, true, memory_order_acquire))
            return s;
    }
    return NULL;
}

static void *run(void *place)
{
    struct start *s = place;
    void *(*const routine)(void *) = s->routine;
    void *const arg = s->arg;
    atomic_store_explicit(&s->taken, false, memory_order_release);
    void (*starts_now)(void) = atomic_load(&sonde__shared.thread_starts);
    if (starts_now) {
        const int error = errno;
        starts_now();
        errno = error;
    }
    void *const result = routine(arg);
    void (*ends_now)(void *(*)(void *)) = atomic_load(&sonde__shared.thread_ends);
    if (ends_now)
        ends_now(routine);
    return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *arg)
{
    if (!real_create) /* another library's constructor was first */
        find();
    struct start *s = atomic_load(&sonde__shared.thread_starts) ? take() : NULL;
    if (!s)
        return real_create(thread, attr, routine, arg);
    s->routine = routine;
    s->arg = arg;
    const int error = real_create(thread, attr, run, s);
    if (error)
        atomic_store_explicit(&s->taken, false, memory_order_release);
    return error;
}
