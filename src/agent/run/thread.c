/* thread.c - the program's threads get their slots and give them back.
 *
 * A thread gets a slot at its first hooked call, whether or not anyone saw it
 * made, and gives it back when it ends (a pthread key's destructor). Threads that
 * call no hook get theirs from the monitor, to be sampled (sample_threads.c),
 * which takes it back when they are gone.
 */
#include "run.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/sample/sample.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "guest/once.h"

static pthread_key_t ended_key;
static bool ended_key_made;

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
    sonde__lane_end(t);
    sonde__slot_put(t);
    sonde__unlock(&a->thread_lock);
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
        t = sonde__slot_take();
    if (t) {
        char name[17] = "";
        prctl(PR_GET_NAME, name);
        sonde__lane_begin(t, (int)syscall(SYS_gettid), name, t->samples.since_ns ? t->samples.since_ns : sonde_now_ns());
        t->adopted = true;
        sonde__sample_enter(t);
    }
    sonde__unlock(&a->thread_lock);
    if (!t && sonde__once(&spent))
        sonde_note("some threads are not recorded: more than %u at once", atomic_load(&a->thread_count));
    if (t && ended_key_made)
        pthread_setspecific(ended_key, t);
    sonde__self = t;
    return t;
}

void sonde__thread_key_delete(void)
{
    if (ended_key_made)
        pthread_key_delete(ended_key);
    ended_key_made = false;
}

void sonde__thread_forget_all(void)
{
    /* In a forked child: the slots lie in the parent's heap, which goes away. */
    sonde__self = NULL;
    if (ended_key_made)
        pthread_setspecific(ended_key, NULL);
}
