/* deaths.c - the agent is told of a signal that is about to kill the program.
 *
 * Where the disposition is the default one, which kills, a handler tells the
 * agent, waits until it has stored what has finished (a second at most), and
 * then lets the signal do what it would have done: a fault is met again, anything
 * else is sent again as it came. It is there while the agent is, and whoever asks
 * for the disposition is told that it is the default one. A signal of another
 * process that interrupts a call of the runtime's waits for the call's end, a
 * moment at most: the runtime could not tell what has finished in the middle of it.
 *
 * SIGKILL cannot be seen, and a fault for which the thread has no stack left
 * kills at once, as it does without us.
 */
#include "preload.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define TELLING_MS 1200 /* longer than the agent lets us wait */

extern struct sonde_shared sonde__shared;
int sonde__preload_owner(void);
void *sonde__preload_libc(const char *name);

__attribute__((visibility("default"))) _Noreturn void abort(void);
HIDDEN const struct sigaction *sonde__preload_deadly(int number, const struct sigaction *wanted);
HIDDEN void sonde__preload_hide(struct sigaction *old);

static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGTERM};
#define DEADLY (sizeof deadly / sizeof *deadly)

static _Atomic int armed_in; /* the process whose agent wants to be told */
static _Atomic int telling;  /* 0 nobody has died yet, 1 the agent is being told, 2 it has been */

static void die(int number, siginfo_t *info, void *context);

static const struct sigaction ours = {.sa_sigaction = die, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

static bool is_fault(int number, const siginfo_t *info)
{
    return info->si_code > 0 && (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE);
}

/* Whoever dies while another thread tells (Ctrl-C comes twice) waits for it. True: not now, the signal comes again. */
static bool tell(int number, const siginfo_t *info)
{
    int nobody = 0;
    if (atomic_compare_exchange_strong(&telling, &nobody, 1)) {
        int (*call)(int, const siginfo_t *) = atomic_load(&sonde__shared.before_death);
        const bool later = call && call(number, is_fault(number, info) ? NULL : info);
        atomic_store(&telling, later ? 0 : 2);
        return later;
    }
    const struct timespec pause = {0, 1000000};
    for (int ms = 0; ms < TELLING_MS && atomic_load(&telling) == 1; ms++)
        syscall(SYS_nanosleep, &pause, NULL); /* the function is ours (waits.c) */
    return false;
}

static bool is_here(void)
{
    const int self = getpid();
    return atomic_load(&armed_in) == self && sonde__preload_owner() == self;
}

/* Where the program, or a compiler within it, has a handler for SIGABRT that returns, libc sets the default
 * disposition past us. A handler may also jump out, and the program live on. */
void abort(void)
{
    void (*real)(void) = (void (*)(void))(uintptr_t)sonde__preload_libc("abort");
    int (*call)(int, const siginfo_t *) = is_here() ? atomic_load(&sonde__shared.before_death) : NULL;
    if (call)
        call(SIGABRT, NULL);
    real();
    for (;;)
        syscall(SYS_exit_group, 127); /* never: it does not return */
}

/* The signal is blocked until this returns. */
static void die(int number, siginfo_t *info, void *context)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    const int error = errno;
    (void)context;
    if (is_here() && tell(number, info)) {
        errno = error;
        return;
    }
    (atomic_load(&sonde__shared.libc_sigaction))(number, &by_default, NULL);
    const int self = (int)syscall(SYS_gettid);
    if (!is_fault(number, info) && syscall(SYS_rt_tgsigqueueinfo, getpid(), self, number, info) != 0)
        syscall(SYS_tgkill, getpid(), self, number);
    errno = error;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == die;
}

static bool is_deadly(int number)
{
    for (size_t i = 0; i < DEADLY; i++)
        if (deadly[i] == number)
            return true;
    return false;
}

/* The agent's: from now on. */
static void arm(void)
{
    int (*const set)(int, const struct sigaction *, struct sigaction *) = atomic_load(&sonde__shared.libc_sigaction);
    struct sigaction now;
    for (size_t i = 0; i < DEADLY; i++)
        if (set(deadly[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
            set(deadly[i], &ours, NULL);
    atomic_store(&telling, 0);
    atomic_store(&armed_in, getpid());
}

__attribute__((constructor)) static void offer(void)
{
    atomic_store(&sonde__shared.arm_deaths, arm);
}

/* What to set where the program wants `wanted`: our handler where it wants to be killed. */
const struct sigaction *sonde__preload_deadly(int number, const struct sigaction *wanted)
{
    const bool kills = wanted && !(wanted->sa_flags & SA_SIGINFO) && wanted->sa_handler == SIG_DFL;
    return kills && is_deadly(number) && atomic_load(&armed_in) == getpid() ? &ours : wanted;
}

void sonde__preload_hide(struct sigaction *old)
{
    if (!is_ours(old))
        return;
    memset(old, 0, sizeof *old);
    old->sa_handler = SIG_DFL;
}
