/* progress.c - one line on the terminal while long work goes on, gone when it is done.
 *
 * A thread of its own shows the line: work that takes long need not come back
 * now and then. What is short shows nothing. The terminal may hold half a line
 * of the measured program's; so the line begins where the cursor is, is cut at
 * the terminal's edge, and the cursor goes back to where it was.
 */
#include "command.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DELAY_NS = 400000000,
    EVERY_NS = 200000000,
};

#define SAVE_CURSOR "\0337"
#define BACK_TO_IT  "\0338"
#define NO_WRAP     "\033[?7l"
#define WRAP        "\033[?7h"
#define CLEAR_REST  "\033[K"

struct line {
    struct sonde_progress progress; /* the first: callers know nothing else */
    const char *text;
    bool started, drawn, ended;
    pthread_mutex_t lock; /* of `ended` */
    pthread_cond_t changed;
    pthread_t thread;
};

static void draw(struct line *l)
{
    uint64_t done = atomic_load_explicit(&l->progress.done, memory_order_relaxed);
    uint64_t all = atomic_load_explicit(&l->progress.all, memory_order_relaxed);
    char percent[24] = "";
    if (all > 1)
        snprintf(percent, sizeof percent, " %u %%", done < all ? (unsigned)((double)done * 100 / (double)all) : 100);
    dprintf(STDERR_FILENO, SAVE_CURSOR NO_WRAP "%s …%s" CLEAR_REST WRAP BACK_TO_IT, l->text, percent);
    l->drawn = true;
}

static struct timespec later(uint64_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ns += (uint64_t)t.tv_nsec;
    return (struct timespec){t.tv_sec + (time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static void *show(void *user)
{
    struct line *l = user;
    struct timespec at = later(DELAY_NS);
    pthread_mutex_lock(&l->lock);
    while (!l->ended) {
        if (pthread_cond_timedwait(&l->changed, &l->lock, &at) != ETIMEDOUT)
            continue;
        draw(l);
        at = later(EVERY_NS);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Somebody looks at this terminal, it understands the above, and it is ours: a
 * job in the background stays silent. */
static bool watched(void)
{
    const char *term = getenv("TERM");
    pid_t front = tcgetpgrp(STDERR_FILENO); /* -1: not our controlling terminal; then nobody else's either */
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && (front < 0 || front == getpgrp());
}

static bool start(struct line *l)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&l->thread, NULL, show, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

struct sonde_progress *sonde_progress_begin(const char *text, bool quiet)
{
    struct line *l = quiet || !watched() ? NULL : calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->text = text;
    const char *when = getenv("SONDE_PROGRESS"); /* "now" is for tests, whose work is short */
    if (when && strcmp(when, "now") == 0)
        draw(l);
    l->started = start(l);
    return &l->progress;
}

void sonde_progress_end(struct sonde_progress *progress)
{
    struct line *l = (struct line *)(void *)progress;
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->ended = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    if (l->started)
        pthread_join(l->thread, NULL);
    if (l->drawn)
        dprintf(STDERR_FILENO, CLEAR_REST);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
