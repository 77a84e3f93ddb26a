/* signals.c - a program with handlers of its own for every signal.
 *
 * It sends each to itself in three ways while threads enqueue, counts what
 * arrived on which of its threads, and checks that no thread but its own ever
 * ran a handler and that dispositions and masks are what it set.
 *
 * case: all all => kernel=2000 read=1
 * case: alternate-stack altstack => kernel=500 read=1
 * case: interval-timer timer => kernel=20000 read=1
 * case: sigwait-thread sigwait => kernel=100 read=1
 * case: process-directed directed => kernel=100 read=1
 * case: blocked blocked => kernel=100 read=1
 * case: ignored-child ignored => kernel=100 read=1
 * case: handler-enqueues-nothing-but-jumps jump => kernel=1000 read=1
 * case: jump-by-timer jump-by-timer => kernel=1 read=1; record=--cpu=0
 */
#include "guest.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>

static struct guest            g;
static volatile sig_atomic_t   arrived[65];
static _Atomic int             strangers, off_stack;
static __thread int            mine; /* set in threads of the program */
static char                    alternate[65536];
static int                     expect_alternate;
static sigjmp_buf              landing;

static void on_signal(int number, siginfo_t *info, void *context)
{
    char here;
    (void)info, (void)context;
    arrived[number]++;
    if (!mine)
        strangers++;
    if (expect_alternate && (&here < alternate || &here >= alternate + sizeof alternate))
        off_stack++;
}

static int usable(int number)
{
    return number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN);
}

static void install(int flags)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | flags};
    sigemptyset(&action.sa_mask);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (usable(number))
            sigaction(number, &action, NULL);
}

static void *enqueue(void *arg)
{
    mine = 1;
    for (int i = 0; i < 20; i++) {
        guest_add(&g, 50);
        CL(clFinish(g.queue));
    }
    return arg;
}

static void report(void)
{
    for (int number = 1; number <= SIGRTMAX; number++)
        if (usable(number))
            printf("%d: %d\n", number, (int)arrived[number]);
    printf("handlers on threads that are not ours: %d\n", strangers);
}

static void all(void)
{
    pthread_t threads[2];
    install(0);
    guest_open(&g);
    install(0); /* PoCL's compiler puts its own in place of some */
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, enqueue, NULL);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (usable(number)) {
            raise(number);
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
        }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    report();
}

static void altstack(void)
{
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate}, now;
    sigaltstack(&stack, NULL);
    guest_open(&g);
    install(SA_ONSTACK);
    expect_alternate = 1;
    for (int i = 0; i < 500; i++) {
        guest_add(&g, 1);
        if (i % 5 == 0)
            raise(SIGUSR1);
    }
    CL(clFinish(g.queue));
    sigaltstack(NULL, &now);
    printf("stack still ours: %d, flags %d\n", now.ss_sp == (void *)alternate, now.ss_flags);
    printf("arrived %d, off the alternate stack %d\n", (int)arrived[SIGUSR1], off_stack);
}

static void on_tick(int number)
{
    arrived[number]++;
}

static void timer(void)
{
    struct itimerval  every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    guest_open(&g);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 20; i++) {
        guest_add(&g, 1000);
        CL(clFinish(g.queue));
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("ticks arrived: %s\n", arrived[SIGALRM] > 0 ? "yes" : "no");
}

static void *wait_for_usr2(void *arg)
{
    sigset_t set;
    int      number = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    for (int i = 0; i < 10; i++) {
        sigwait(&set, &number);
        arrived[number]++;
        kill(getpid(), SIGUSR1); /* the answer */
    }
    return arg;
}

/* Both signals are blocked in every thread, so that a thread of ours that did
 * not block them would take them and die. */
static void by_sigwait(void)
{
    pthread_t thread;
    sigset_t  both, usr1;
    int       number = 0;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    both = usr1;
    sigaddset(&both, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    pthread_create(&thread, NULL, wait_for_usr2, NULL);
    guest_open(&g);
    for (int i = 0; i < 10; i++) {
        guest_add(&g, 10);
        kill(getpid(), SIGUSR2);
        sigwait(&usr1, &number);
        arrived[number]++;
    }
    pthread_join(thread, NULL);
    printf("usr1 %d usr2 %d\n", (int)arrived[SIGUSR1], (int)arrived[SIGUSR2]);
}

/* PoCL's threads are made with everything blocked, then the main thread opens
 * up and the agent starts; later the main thread blocks one signal and sends it
 * to the process. Only a thread that is not the program's could take it now. */
static void directed(void)
{
    sigset_t all_signals, none, usr1;
    sigfillset(&all_signals);
    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &all_signals, NULL);
    CL(clGetPlatformIDs(1, &g.platform, NULL));
    CL(clGetDeviceIDs(g.platform, CL_DEVICE_TYPE_ALL, 1, &g.device, NULL));
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    guest_open(&g);
    install(0);
    guest_add(&g, 100);
    CL(clFinish(g.queue));
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    for (int i = 0; i < 10; i++) {
        kill(getpid(), SIGUSR1);
        usleep(1000);
    }
    printf("arrived %d while blocked, on other threads %d\n", (int)arrived[SIGUSR1], strangers);
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    printf("arrived %d after\n", (int)arrived[SIGUSR1]);
}

static void blocked(void)
{
    sigset_t all_signals, now, pending;
    sigfillset(&all_signals);
    pthread_sigmask(SIG_SETMASK, &all_signals, NULL);
    guest_open(&g);
    for (int number = 1; number < SIGRTMAX; number++)
        if (usable(number))
            kill(getpid(), number);
    guest_add(&g, 100);
    CL(clFinish(g.queue));
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    sigpending(&pending);
    for (int number = 1; number < SIGRTMAX; number++)
        if (usable(number))
            printf("%d blocked %d pending %d\n", number, sigismember(&now, number), sigismember(&pending, number));
}

static void ignored(void)
{
    signal(SIGCHLD, SIG_IGN); /* children vanish by themselves; wait finds none */
    guest_open(&g);
    guest_add(&g, 100);
    CL(clFinish(g.queue));
    int status, gave = (int)wait(&status);
    printf("wait gave %d, errno %d\n", gave, errno);
}

static void leap(int number)
{
    (void)number;
    siglongjmp(landing, 1);
}

static void jump(void)
{
    struct sigaction action = {.sa_handler = leap};
    volatile int     left = 20;
    guest_open(&g);
    sigaction(SIGUSR1, &action, NULL);
    if (sigsetjmp(landing, 1))
        left--;
    if (left > 0) {
        guest_add(&g, 50);
        raise(SIGUSR1);
    }
    printf("jumps left: %d\n", left);
}

/* A signal for the process: the kernel gives it to the main thread unless that blocks it, and then
 * to any other, such as one of the runtime's; there a handler must not jump. A handler of a signal
 * that blocks others, as the samples' does, lets that show (docs/transparency.md). */
static void leap_if_here(int number)
{
    if (!mine) {
        strangers++;
        return;
    }
    siglongjmp(landing, number);
}

static void jump_by_timer(void)
{
    enum { JUMPS = 400 };
    static volatile sig_atomic_t jumps;
    struct sigaction action = {.sa_handler = leap_if_here, .sa_flags = SA_RESTART | SA_NODEFER};
    const struct itimerval every = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
    volatile unsigned sum = 0;
    guest_open(&g);
    guest_add(&g, 1);
    CL(clFinish(g.queue));
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    if (sigsetjmp(landing, 1))
        jumps++;
    while (jumps + strangers < JUMPS)
        sum = sum + 1; /* no call that a jump may not leave */
    setitimer(ITIMER_REAL, &none, NULL); /* a jump out of it comes here again */
    printf("handlers on other threads: %d\n", strangers);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"all", all}, {"altstack", altstack}, {"timer", timer}, {"sigwait", by_sigwait}, {"directed", directed},
                 {"blocked", blocked}, {"ignored", ignored}, {"jump", jump},
                 {"jump-by-timer", jump_by_timer}};
    mine = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run();
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
