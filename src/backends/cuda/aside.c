/* aside.c - see aside.h. It does nothing but when it is told to: when the program ends the driver does, too. */
#include "aside.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "sonde_cuda.h"

#define NAP_NS      100000
#define STACK_BYTES 1048576u

static void *aside_main(void *user)
{
    struct sonde_cuda_aside *a = user;
    pthread_setname_np(pthread_self(), a->name);
    sonde_tool_thread();
    sonde__cuda_quiet(true);
    for (uint64_t used_ns = 0;;) {
        struct timespec cpu;
        while (sem_wait(&a->told) != 0)
            ;
        a->work(atomic_load(&a->closes));
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
        const uint64_t now_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
        sonde_tool_thread_ran(now_ns - used_ns);
        used_ns = now_ns;
        atomic_store_explicit(&a->busy, false, memory_order_release);
    }
    return NULL;
}

static void start(struct sonde_cuda_aside *a)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    sem_init(&a->told, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    a->cannot = pthread_create(&thread, &attr, aside_main, a) != 0;
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_store(&a->started, !a->cannot);
    if (a->cannot)
        sonde_note("%s: the program can have no more threads, so nothing is sampled", a->what);
}

void sonde__cuda_aside_start(struct sonde_cuda_aside *a)
{
    sonde__lock(&a->lock);
    if (!atomic_load(&a->started) && !a->cannot)
        start(a);
    sonde__unlock(&a->lock);
}

void sonde__cuda_aside_again(struct sonde_cuda_aside *a)
{
    atomic_store(&a->closes, false);
    a->told_last = false;
}

bool sonde__cuda_aside_closes(struct sonde_cuda_aside *a)
{
    return atomic_load(&a->closes);
}

static void tell(struct sonde_cuda_aside *a)
{
    atomic_store_explicit(&a->busy, true, memory_order_relaxed);
    a->told_ns = sonde_now_ns();
    sem_post(&a->told);
}

static bool is_busy(struct sonde_cuda_aside *a)
{
    return atomic_load_explicit(&a->busy, memory_order_acquire);
}

void sonde__cuda_aside_turn(struct sonde_cuda_aside *a, uint64_t every_ns)
{
    if (atomic_load(&a->started) && !atomic_load(&a->closes) && !is_busy(a) && sonde_now_ns() - a->told_ns >= every_ns)
        tell(a);
}

/* Until it is idle. */
static void wait(struct sonde_cuda_aside *a, uint64_t until_ns, void (*meanwhile)(void))
{
    while (is_busy(a) && sonde_now_ns() < until_ns) {
        if (meanwhile)
            meanwhile();
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

void sonde__cuda_aside_last(struct sonde_cuda_aside *a, uint64_t patience_ns, void (*meanwhile)(void))
{
    const uint64_t until_ns = sonde_now_ns() + patience_ns;
    if (!atomic_load(&a->started))
        return;
    atomic_store(&a->closes, true);
    wait(a, until_ns, meanwhile); /* what is under way */
    if (!is_busy(a) && !a->told_last) {
        a->told_last = true;
        tell(a);
        wait(a, until_ns, meanwhile);
    }
    if (meanwhile)
        meanwhile();
}
