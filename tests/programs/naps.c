/* naps.c - a device that is idle while the thread that feeds it waits, each time in another way. tests/report/sleeps_test.py
 * says what must be named.
 *
 * Between two kernels waits() sleeps (`sleep`), takes a lock that another thread holds (`lock`), takes an item from
 * that thread's queue (`queue`), reads from a pipe that it writes to (`read`), or selects it (`select`). Nothing computes.
 * With `brief` it calls such functions where they have nothing to wait for, BRIEF times each.
 *
 * case: naps-sleep sleep => kernel=12
 * case: naps-queue queue => kernel=12
 * case: naps-brief brief => kernel=12
 */
#include "guest.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/select.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))
enum { ROUNDS = 12, WAIT_MS = 15, BRIEF = 500 };

static const char *way;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static sem_t asked, held;
static int items, ends[2];

static int is(const char *name) { return !strcmp(way, name); }

APART static void nap(void)
{
    struct timespec left = {.tv_nsec = WAIT_MS * 1000000L};
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

static void take(sem_t *semaphore)
{
    while (sem_wait(semaphore) && errno == EINTR)
        continue;
}

APART static void *produce(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        take(&asked);
        if (is("lock")) {
            pthread_mutex_lock(&lock);
            sem_post(&held);
        }
        usleep(WAIT_MS * 1000);
        if (is("queue"))
            pthread_mutex_lock(&lock);
        if (is("queue") || is("lock")) {
            items++;
            pthread_cond_signal(&ready);
            pthread_mutex_unlock(&lock);
        } else if (write(ends[1], "x", 1) != 1) {
            abort();
        }
    }
    return unused;
}

APART static void waits_for_nothing(void)
{
    struct pollfd in = {.fd = ends[0], .events = POLLIN};
    char one = 'x';
    for (int i = 0; i < BRIEF; i++) {
        sem_post(&asked);
        take(&asked);
        poll(&in, 1, 0);
        if (write(ends[1], &one, 1) != 1 || poll(&in, 1, -1) != 1 || read(ends[0], &one, 1) != 1)
            abort();
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
}

APART static void waits(void)
{
    fd_set set;
    char one;
    if (is("sleep")) {
        nap();
        return;
    }
    if (is("brief")) {
        waits_for_nothing();
        return;
    }
    sem_post(&asked);
    if (is("lock"))
        take(&held);
    if (is("select")) {
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        while (select(ends[0] + 1, &set, NULL, NULL, NULL) < 0 && errno == EINTR)
            continue;
    }
    if (is("read") || is("select")) {
        while (read(ends[0], &one, 1) < 0 && errno == EINTR)
            continue;
        return;
    }
    pthread_mutex_lock(&lock);
    while (is("queue") && !items)
        pthread_cond_wait(&ready, &lock);
    items--;
    pthread_mutex_unlock(&lock);
}

APART static void step(struct guest *g)
{
    guest_add(g, 1);
    CL(clFinish(g->queue));
}

APART static void train(struct guest *g)
{
    for (int i = 0; i < ROUNDS; i++) {
        waits();
        step(g);
    }
}

int main(int argc, char **argv)
{
    pthread_t producer;
    struct guest g;
    way = argc > 1 ? argv[1] : "sleep";
    guest_open(&g);
    if (pipe(ends) || sem_init(&asked, 0, 0) || sem_init(&held, 0, 0))
        return 1;
    const int alone = is("sleep") || is("brief");
    if (!alone)
        pthread_create(&producer, NULL, produce, NULL);
    train(&g);
    if (!alone)
        pthread_join(producer, NULL);
    printf("%d rounds of %s\n", ROUNDS, way);
    guest_close(&g);
    return 0;
}
