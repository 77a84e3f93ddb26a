/* parallel.c - threads that take one task after the other from a counter. */
#include "parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "stack.h"

enum { MOST_THREADS = 1024 };

uint32_t sonde_parallel_threads(void)
{
    const char *wanted = getenv("SONDE_THREADS");
    const long count = wanted ? strtol(wanted, NULL, 10) : 0;
    cpu_set_t *set;
    int processors = 1;

    if (count >= 1)
        return count < MOST_THREADS ? (uint32_t)count : MOST_THREADS;
    set = CPU_ALLOC(MOST_THREADS);
    if (set && !sched_getaffinity(0, CPU_ALLOC_SIZE(MOST_THREADS), set))
        processors = CPU_COUNT_S(CPU_ALLOC_SIZE(MOST_THREADS), set);
    CPU_FREE(set);
    return processors > 0 ? (uint32_t)processors : 1;
}

struct crew {
    int (*fn)(void *user, uint32_t task);
    void *user;
    uint32_t tasks;
    _Atomic uint32_t next; /* stays small: each thread goes past the end once */
    pthread_mutex_t lock;  /* of the two below */
    uint32_t failed;
    int code;
};

static void fail(struct crew *c, uint32_t task, int code)
{
    pthread_mutex_lock(&c->lock);
    if (!c->code || task < c->failed) {
        c->failed = task;
        c->code = code;
    }
    pthread_mutex_unlock(&c->lock);
    atomic_store(&c->next, c->tasks);
}

static void *work(void *argument)
{
    struct crew *c = argument;
    for (uint32_t task; (task = atomic_fetch_add(&c->next, 1)) < c->tasks;) {
        const int code = c->fn(c->user, task);
        if (code)
            fail(c, task, code);
    }
    return NULL;
}

int sonde_parallel_run(uint32_t threads, uint32_t tasks, int (*fn)(void *user, uint32_t task), void *user)
{
    struct crew c = {.fn = fn, .user = user, .tasks = tasks, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t started[MOST_THREADS];
    uint32_t count = 0, wanted = threads < tasks ? threads : tasks;

    wanted = wanted < MOST_THREADS ? wanted : MOST_THREADS;
    while (count + 1 < wanted && !sonde_stack_thread(&started[count], work, &c))
        count++;
    work(&c);
    while (count)
        pthread_join(started[--count], NULL);
    pthread_mutex_destroy(&c.lock);
    return c.code;
}
