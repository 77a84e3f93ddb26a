/* waits.c - a program whose waits end in every way that a wait can: by their time, by a signal, by cancellation,
 * by siglongjmp, in a child; and whose locks say all that locks can say.
 *
 * case: cancelled cancelled => kernel=9 read=1
 * case: jumped jumped => kernel=21 read=1
 * case: locks locks => kernel=1 read=1
 * case: left-over left => kernel=1 read=1
 * case: in-handlers handlers => kernel=41 read=1
 * case: in-children children => kernel=1 read=1
 */
#include "guest.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

static struct guest g;
static int ends[2]; /* of a socket that nobody writes to */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t never;

static void nap(long us)
{
    const struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* ---- cancelled ---------------------------------------------------------------------- */

static void by_sleep(void) { sleep(100); }
static void by_poll(void) { struct pollfd one = {ends[0], POLLIN, 0}; poll(&one, 1, -1); }
static void by_select(void) { struct timeval time = {100, 0}; select(0, NULL, NULL, NULL, &time); }
static void by_read(void) { char one; if (read(ends[0], &one, 1)) puts("read something"); }
static void by_recv(void) { char one; if (recv(ends[0], &one, 1, 0)) puts("received something"); }
static void by_semaphore(void) { sem_wait(&never); }
static void by_condition(void)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push((void (*)(void *))(uintptr_t)pthread_mutex_unlock, &lock);
    pthread_cond_wait(&condition, &lock);
    pthread_cleanup_pop(1);
}
static void by_naps(void)
{
    for (;;)
        nap(200);
}
static void (*const ways[])(void) = {by_sleep, by_poll, by_select, by_read, by_recv, by_semaphore, by_condition, by_naps};
enum { WAYS = sizeof ways / sizeof *ways };

static _Atomic int cleaned;

static void clean(void *arg)
{
    (void)arg;
    cleaned++;
}

static void *waits_for_ever(void *arg)
{
    pthread_cleanup_push(clean, NULL);
    ways[(uintptr_t)arg]();
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled(void)
{
    for (uintptr_t i = 0; i < WAYS; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, waits_for_ever, (void *)i);
        nap(3000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        guest_add(&g, 1);
        printf("way %d: %s\n", (int)i, result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    }
    printf("cleaned %d, the lock is %s\n", cleaned, pthread_mutex_trylock(&lock) ? "held" : "free");
}

/* ---- left by a jump, from within a wait ------------------------------------------------ */

static sigjmp_buf before_the_wait;

static void jump(int number)
{
    (void)number;
    siglongjmp(before_the_wait, 1);
}

/* Not in a thread of the runtime, which has another stack to jump to: docs/transparency.md. */
static void only_here(bool on)
{
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &alarm, NULL);
}

static void jumped(void)
{
    struct sigaction action = {.sa_handler = jump};
    volatile int jumps = 0;
    sigaction(SIGALRM, &action, NULL);
    for (volatile int i = 0; i < 20; i++) {
        const struct itimerval soon = {.it_value = {0, 1000 + 100 * i}};
        if (sigsetjmp(before_the_wait, 1)) {
            jumps++;
        } else {
            setitimer(ITIMER_REAL, &soon, NULL);
            i % 2 ? by_sleep() : by_poll();
        }
        guest_add(&g, 1);
    }
    printf("jumps %d\n", jumps);
}

/* ---- what locks say ----------------------------------------------------------------------- */

static pthread_mutex_t held; /* of the kind that is looked at */

static void *dies_with_it(void *arg)
{
    printf("another's: %d\n", pthread_mutex_trylock(&held));
    return arg;
}

static void *takes_it(void *arg)
{
    pthread_mutex_lock(arg);
    return NULL;
}

static void *waits_for_it(void *arg)
{
    int got = pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return (void *)(uintptr_t)got;
}

static void say_kind(const char *name, int kind, int robust)
{
    pthread_mutexattr_t attr;
    pthread_t thread;
    void *result;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, kind);
    pthread_mutexattr_setrobust(&attr, robust);
    pthread_mutex_init(&held, &attr);
    printf("%s: %d", name, pthread_mutex_lock(&held));
    if (kind == PTHREAD_MUTEX_ERRORCHECK || kind == PTHREAD_MUTEX_RECURSIVE)
        printf(", again %d", pthread_mutex_lock(&held));
    if (kind == PTHREAD_MUTEX_RECURSIVE)
        printf(", unlocked %d", pthread_mutex_unlock(&held));
    printf("\n");
    if (kind != PTHREAD_MUTEX_ERRORCHECK) {
        pthread_create(&thread, NULL, dies_with_it, NULL);
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, waits_for_it, &held);
        nap(2000);
        pthread_mutex_unlock(&held);
        pthread_join(thread, &result);
        printf("after the wait: %d\n", (int)(uintptr_t)result);
    }
    if (robust == PTHREAD_MUTEX_ROBUST) {
        pthread_create(&thread, NULL, takes_it, &held);
        pthread_join(thread, NULL);
        printf("its owner died: %d\n", pthread_mutex_lock(&held));
        pthread_mutex_unlock(&held);
        printf("not made consistent: %d\n", pthread_mutex_lock(&held));
    }
}

static void locks(void)
{
    struct timespec past = {1, 0};
    say_kind("normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
    say_kind("recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
    say_kind("checked", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
    say_kind("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED);
    say_kind("robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_lock(&lock);
    printf("a time that is over: %d\n", pthread_cond_timedwait(&condition, &lock, &past));
    pthread_mutex_unlock(&lock);
    errno = 4711;
    printf("semaphore: %d, %s\n", sem_timedwait(&never, &past), errno == ETIMEDOUT ? "timed out" : "another error");
}

/* ---- what is left of a wait that a signal ended -------------------------------------------- */

static void nothing(int number) { (void)number; }

static void left(void)
{
    const struct itimerval soon = {.it_value = {0, 20000}};
    struct sigaction action = {.sa_handler = nothing};
    struct timespec time = {100, 0}, rest = {0};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    errno = 4711;
    const int result = nanosleep(&time, &rest);
    printf("nanosleep %d, %s, %s\n", result, errno == EINTR ? "interrupted" : "another error",
           rest.tv_sec == 99 ? "99 s left" : "another time left");
    setitimer(ITIMER_REAL, &soon, NULL);
    rest = (struct timespec){0};
    printf("clock_nanosleep %s, ", clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &rest) == EINTR ? "interrupted" : "another end");
    printf("%s\n", rest.tv_sec == 99 ? "99 s left" : "another time left");
    setitimer(ITIMER_REAL, &soon, NULL);
    printf("sleep: %u s left\n", sleep(100));
    errno = 4711;
    nap(300);
    usleep(300);
    poll(NULL, 0, 1);
    printf("errno after waits that went well: %d\n", errno);
}

/* ---- waits in handlers, which interrupt calls of the runtime, too ----------------------------- */

static volatile sig_atomic_t handled;

static void waits_too(int number)
{
    const int error = errno;
    (void)number;
    nap(300);
    poll(NULL, 0, 1);
    handled++;
    errno = error;
}

static void handlers(void)
{
    struct sigaction action = {.sa_handler = waits_too, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 4000}, {0, 1000}}, off = {0};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 40 || handled < 5; i++)
        if (i < 40)
            guest_add(&g, 1);
        else
            nap(1000);
    setitimer(ITIMER_REAL, &off, NULL);
    puts("handlers waited");
}

static void children(void)
{
    for (volatile int i = 0; i < 5; i++) {
        int status = 0;
        const pid_t child = i % 2 ? vfork() : fork();
        if (!child) {
            nap(2000);
            poll(NULL, 0, 1);
            _exit(40 + i);
        }
        waitpid(child, &status, 0);
        printf("child %d: %d\n", i, WEXITSTATUS(status));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"cancelled", cancelled}, {"jumped", jumped}, {"locks", locks}, {"left", left},
                 {"handlers", handlers}, {"children", children}};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || sem_init(&never, 0, 0))
        return 2;
    only_here(true); /* threads that begin meanwhile have it so */
    guest_open(&g);
    guest_add(&g, 1);
    only_here(false);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && !strcmp(argv[1], kinds[i].name))
            kinds[i].run();
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
