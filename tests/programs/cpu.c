/* cpu.c - a program that would notice being sampled: its waits, its signals, its stacks.
 *
 * Waits are counted that ended with EINTR; signals that arrive at handlers of its
 * own; what it asks the system about signals is printed. Between the waits the
 * threads use the processor, so that there is something to sample.
 *
 * case: waits waits => kernel=1 read=1; record=--cpu=1999
 * case: asked asked => kernel=1 read=1; record=--cpu=1999
 * case: wants-the-signal wants => kernel=1 read=1; record=--cpu=1999
 * case: takes-the-signal-behind-libc wants-late => kernel=1 read=1; record=--cpu=1999
 * case: had-the-signal had => kernel=1 read=1; record=--cpu=1999
 * case: interval-profiler profiler => kernel=1 read=1; record=--cpu=1999
 * case: sends-the-signal sends => kernel=1 read=1; record=--cpu=1999
 * case: all-blocked blocked => kernel=1 read=1; record=--cpu=1999
 * case: alternate-stack altstack => kernel=1 read=1; record=--cpu=1999
 * case: short-threads short => kernel=1 read=1; record=--cpu=1999
 * case: loading loading => kernel=1 read=1; record=--cpu=1999
 * case: forking forking => kernel=1 read=1; record=--cpu=1999
 * case: errno-and-cancel cancel => kernel=1 read=1; record=--cpu=1999
 * case: exit-under-samples leave => kernel=1 read=1; record=--cpu=10000
 *
 * The same at a rate that the kernel's tick can serve, where timers sample.
 * case: waits-by-timers waits => kernel=1 read=1; record=--cpu=250
 * case: wants-the-signal-by-timers wants => kernel=1 read=1; record=--cpu=250
 * case: all-blocked-by-timers blocked => kernel=1 read=1; record=--cpu=250
 * case: short-threads-by-timers short => kernel=1 read=1; record=--cpu=250
 * case: forking-by-timers forking => kernel=1 read=1; record=--cpu=250
 * case: own-timers timers => kernel=1 read=1; record=--cpu=250
 * case: exit-under-timers leave => kernel=1 read=1; record=--cpu=250
 *
 * With counters of the CPU: each page fault is a signal, and each wait is just behind one; with samples of CPU time, and alone.
 * case: waits-by-counters waits => kernel=1 read=1; record=--cpu-counters=minor-faults@1,major-faults@1
 * case: waits-by-counters-alone waits => kernel=1 read=1; record=--cpu=0 --cpu-counters=page-faults@1
 * case: asked-by-counters asked => kernel=1 read=1; record=--cpu=0 --cpu-counters=minor-faults@1
 * case: wants-the-signal-by-counters wants => kernel=1 read=1; record=--cpu-counters=minor-faults@1
 * case: takes-the-signal-behind-libc-by-counters wants-late => kernel=1 read=1; record=--cpu=0 --cpu-counters=minor-faults@1
 * case: all-blocked-by-counters blocked => kernel=1 read=1; record=--cpu-counters=minor-faults@1
 * case: alternate-stack-by-counters altstack => kernel=1 read=1; record=--cpu-counters=minor-faults@1
 * case: short-threads-by-counters short => kernel=1 read=1; record=--cpu-counters=minor-faults@1
 * case: loading-by-counters loading => kernel=1 read=1; record=--cpu-counters=minor-faults@1
 * case: forking-by-counters forking => kernel=1 read=1; record=--cpu-counters=minor-faults@1
 * case: errno-and-cancel-by-counters cancel => kernel=1 read=1; record=--cpu=0 --cpu-counters=minor-faults@1
 * case: exit-under-counters leave => kernel=1 read=1; record=--cpu-counters=minor-faults@1
 */
#include "guest.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

enum { THREADS = 4, MANY = 1000 };

static struct guest g;
static _Atomic int  stop;
static volatile sig_atomic_t arrived[65], from_kernel;

/* A page fault of this thread. */
static void fault(void)
{
    static __thread char *page;
    if (!page)
        page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(page, 4096, MADV_DONTNEED);
    *(volatile char *)page = 1;
}

/* Use `ms` of this thread's own CPU time. */
static __attribute__((noinline)) void burn(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    const long long until = t.tv_sec * 1000000000LL + t.tv_nsec + ms * 1000000LL;
    do {
        for (volatile int i = 0; i < 20000; i++)
            ;
        fault();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000000000LL + t.tv_nsec < until);
}

static void *burn_in_rounds(void *ms)
{
    for (int i = 0; i < 10; i++)
        burn(*(int *)ms / 10);
    return NULL;
}

static void with_threads(void *(*run)(void *), void *arg)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, arg);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- waits ------------------------------------------------------------------- */

static _Atomic int interrupted[7], others;

static void ended(int which, int failed)
{
    if (failed && errno == EINTR)
        interrupted[which]++;
    else if (failed && errno != ETIMEDOUT && errno != EAGAIN)
        others++;
}

static void *waits_of_a_thread(void *arg)
{
    const struct timespec little = {0, 50000};
    int pipes[2], word = 0;
    char byte;
    struct pollfd many[MANY]; /* long in the kernel before it waits: many a sample comes due there */
    if (pipe(pipes) != 0)
        return arg;
    for (int i = 0; i < MANY; i++)
        many[i] = (struct pollfd){.fd = pipes[0], .events = POLLPRI};
    for (int i = 0; i < 1500; i++) {
        struct pollfd p = {.fd = pipes[0], .events = POLLIN};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(pipes[0], &set);
        burn(0);
        fault();
        ended(0, nanosleep(&little, NULL) != 0);
        fault();
        ended(1, ppoll(&p, 1, &little, NULL) < 0);
        fault();
        ended(2, pselect(pipes[0] + 1, &set, NULL, NULL, &little, NULL) < 0);
        fault();
        ended(3, syscall(SYS_futex, &word, FUTEX_WAIT, 0, &little, NULL, 0) != 0);
        fault();
        errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &little, NULL); /* which returns it */
        ended(4, errno != 0);
        fault();
        ended(6, ppoll(many, MANY, &little, NULL) < 0);
        if (i % 10 == 0) {
            alarm(0);
            if (write(pipes[1], "x", 1) != 1)
                others++;
            fault();
            ended(5, read(pipes[0], &byte, 1) != 1);
        }
    }
    close(pipes[0]);
    close(pipes[1]);
    return NULL;
}

static void waits(void)
{
    with_threads(waits_of_a_thread, NULL);
    for (int i = 0; i < 7; i++)
        printf("%d: interrupted %d\n", i, interrupted[i]);
    printf("others %d\n", others);
}

/* ---- signals --------------------------------------------------------------------- */

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    arrived[number]++;
    from_kernel += info->si_code > 0;
}

static void handle(int number)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(number, &action, NULL);
}

static void asked(void)
{
    struct sigaction action;
    sigset_t mask, pending;
    int ms = 100, others_set = 0;
    with_threads(burn_in_rounds, &ms);
    for (int number = 1; number < SIGRTMAX; number++) {
        if (sigaction(number, NULL, &action) != 0 || (number >= 32 && number < SIGRTMIN))
            continue;
        others_set += action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN && number == SIGURG;
    }
    sigpending(&pending);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    printf("SIGURG set by others %d, pending %d, blocked %d\n", others_set, sigismember(&pending, SIGURG),
           sigismember(&mask, SIGURG));
}

/* It takes the signal in the middle; only what it sends itself may arrive. */
static void wants(void)
{
    int ms = 200;
    burn(100);
    handle(SIGURG);
    for (int i = 0; i < 3; i++)
        raise(SIGURG);
    burn(100); /* what was under way would arrive now */
    with_threads(burn_in_rounds, &ms);
    printf("arrived %d, from the kernel %d\n", (int)arrived[SIGURG], (int)from_kernel);
    printf("before: %s\n", signal(SIGURG, SIG_DFL) == SIG_DFL ? "default" : "a handler");
    printf("then: %s\n", signal(SIGURG, SIG_IGN) == SIG_DFL ? "default" : "a handler");
    burn(50);
}

/* The same behind libc's back: what comes before it is noticed is told apart by the program. */
static void wants_late(void)
{
    struct { unsigned long handler, flags, restorer, mask; } action;
    burn(100);
    if (syscall(SYS_rt_sigaction, SIGURG, NULL, &action, 8) == 0) {
        action.handler = (unsigned long)(uintptr_t)SIG_IGN;
        action.flags = 0;
        syscall(SYS_rt_sigaction, SIGURG, &action, NULL, 8);
    }
    burn(300);
    raise(SIGURG);
    puts("still here");
}

static void had(void)
{
    int ms = 200;
    with_threads(burn_in_rounds, &ms);
    raise(SIGURG);
    printf("arrived %d, from the kernel %d\n", (int)arrived[SIGURG], (int)from_kernel);
}

static void profiler(void)
{
    struct itimerval every = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    int ms = 200;
    handle(SIGPROF);
    setitimer(ITIMER_PROF, &every, NULL);
    with_threads(burn_in_rounds, &ms);
    setitimer(ITIMER_PROF, &never, NULL);
    printf("ticks came: %s\n", arrived[SIGPROF] > 10 ? "yes" : "no");
}

static void timers(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    const struct itimerspec every = {{0, 10000000}, {0, 10000000}};
    timer_t own[2];
    int ms = 200;
    handle(SIGUSR1);
    for (int i = 0; i < 2; i++)
        if (timer_create(i ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &event, &own[i]) != 0 ||
            timer_settime(own[i], 0, &every, NULL) != 0)
            others++;
    burn(200);
    with_threads(burn_in_rounds, &ms);
    for (int i = 0; i < 2; i++)
        others += timer_delete(own[i]) != 0;
    printf("ticks came: %s, failed %d\n", arrived[SIGUSR1] > 10 ? "yes" : "no", others);
}

/* It is ignored by default: nothing may come of it. */
static void sends(void)
{
    int ms = 100;
    for (int i = 0; i < 100; i++) {
        raise(SIGURG);
        kill(getpid(), SIGURG);
        burn(1);
    }
    with_threads(burn_in_rounds, &ms);
    puts("nothing came of it");
}

static void *blocked_thread(void *arg)
{
    sigset_t all, pending;
    const struct timespec now = {0, 0};
    int taken = 0;
    sigfillset(&all);
    for (int i = 0; i < 100; i++) {
        burn(3);
        taken += sigtimedwait(&all, NULL, &now) > 0;
    }
    sigpending(&pending);
    printf("taken %d, pending %d\n", taken, sigismember(&pending, SIGURG));
    return arg;
}

static void blocked(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(&thread, NULL, blocked_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    burn(100);
    pthread_join(thread, NULL);
}

/* ---- stacks ------------------------------------------------------------------------ */

static void *on_small_stacks(void *arg)
{
    static __thread char room[8192];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, now;
    sigaltstack(&stack, NULL);
    burn(100);
    sigaltstack(NULL, &now);
    if (now.ss_sp != (void *)room || now.ss_size != sizeof room || now.ss_flags != 0)
        others++;
    return arg;
}

static void altstack(void)
{
    with_threads(on_small_stacks, NULL);
    printf("stacks that are others: %d\n", others);
}

static void *nothing_much(void *arg)
{
    free(malloc(100));
    return arg;
}

static void short_threads(void)
{
    int ms = 200;
    pthread_t thread, busy;
    pthread_create(&busy, NULL, burn_in_rounds, &ms);
    for (int i = 0; i < 2000; i++) {
        if (pthread_create(&thread, NULL, nothing_much, NULL) != 0)
            others++;
        else
            pthread_join(thread, NULL);
    }
    pthread_join(busy, NULL);
    printf("threads that could not be made: %d\n", others);
}

/* ---- what the handler meets --------------------------------------------------------- */

static void *load_and_unload(void *arg)
{
    static const char *const names[] = {"libz.so.1", "libnsl.so.2", "libthread_db.so.1", "libBrokenLocale.so.1", "libutil.so.1"};
    unsigned i = 0;
    while (!stop) {
        void *handle = dlopen(names[i++ % 5], RTLD_NOW | RTLD_LOCAL);
        if (handle)
            dlclose(handle);
        else
            (void)dlerror();
    }
    return arg;
}

static void *allocate(void *arg)
{
    void *kept[64] = {NULL};
    for (unsigned i = 0; !stop; i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(16 + i % 3000);
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return arg;
}

static void loading(void)
{
    pthread_t loaders[2], allocators[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&loaders[i], NULL, load_and_unload, NULL);
        pthread_create(&allocators[i], NULL, allocate, NULL);
    }
    burn(1500);
    stop = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(loaders[i], NULL);
        pthread_join(allocators[i], NULL);
    }
    puts("all came to an end");
}

static void forking(void)
{
    int ms = 300;
    pthread_t busy[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&busy[i], NULL, burn_in_rounds, &ms);
    for (int i = 0; i < 20; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            struct sigaction action;
            burn(20);
            sigaction(SIGURG, NULL, &action);
            _exit(action.sa_handler == SIG_DFL ? 0 : 1);
        }
        if (i % 5 == 0) {
            guest_wait(pid, "child");
        } else {
            int status;
            waitpid(pid, &status, 0);
            others += status != 0;
        }
    }
    for (int i = 0; i < 2; i++)
        pthread_join(busy[i], NULL);
    printf("children that ended otherwise: %d\n", others);
}

static void *until_cancelled(void *arg)
{
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    for (errno = 4711;;) {
        for (volatile int i = 0; i < 200000; i++)
            ;
        if (errno != 4711)
            others++;
        pthread_testcancel();
    }
    return arg;
}

static void cancel(void)
{
    for (int round = 0; round < 10; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, until_cancelled, NULL);
        burn(30);
        for (int i = 0; i < THREADS; i++) {
            void *result;
            pthread_cancel(threads[i]);
            pthread_join(threads[i], &result);
            others += result != PTHREAD_CANCELED;
        }
    }
    printf("wrong errno, or not cancelled: %d\n", others);
}

/* It ends while its threads run and are sampled. */
static void leave_under_samples(void)
{
    static int ms = 1000000;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, burn_in_rounds, &ms);
    burn(100);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"waits", waits}, {"asked", asked}, {"wants", wants}, {"wants-late", wants_late}, {"had", had},
                 {"profiler", profiler}, {"timers", timers}, {"sends", sends}, {"blocked", blocked}, {"altstack", altstack},
                 {"short", short_threads}, {"loading", loading}, {"forking", forking}, {"cancel", cancel},
                 {"leave", leave_under_samples}};
    if (argc > 1 && strcmp(argv[1], "had") == 0)
        handle(SIGURG);
    guest_open(&g);
    guest_add(&g, 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run();
    printf("ran %d\n", guest_read(&g));
    if (argc > 1 && strcmp(argv[1], "leave") == 0)
        return 0;
    guest_close(&g);
    return 0;
}
