/* signals.c - the samples' signal belongs to the program as soon as it wants it; and handlers of ours are hidden.
 *
 * The agent samples with a signal that is ignored by default. These functions do
 * what libc's do; before a program sets that signal's disposition the agent is
 * told, and sends none any more. Asked for it, they answer as if no agent were
 * there. The same for signals that kill (deaths.c). They are called in signal handlers and in children between fork and
 * exec, so libc's functions are looked up when this library is loaded.
 */
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern struct sonde_shared sonde__shared;
void *sonde__preload_libc(const char *name);
int sonde__preload_owner(void);
const struct sigaction *sonde__preload_deadly(int number, const struct sigaction *wanted);
void sonde__preload_hide(struct sigaction *old);

typedef void (*handler)(int);

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);

/* The functions that take a signal and a handler. */
#define HANDLER_MAP(X) X(signal) X(sysv_signal) X(__sysv_signal) X(ssignal) X(sigset)

#define X(name) static handler (*real_##name)(int, handler);
HANDLER_MAP(X)
#undef X
static int (*real_sigignore)(int);

__attribute__((constructor)) static void find(void)
{
    *(void **)&real_sigaction = sonde__preload_libc("sigaction");
#define X(name) *(void **)&real_##name = sonde__preload_libc(#name);
    HANDLER_MAP(X)
#undef X
    *(void **)&real_sigignore = sonde__preload_libc("sigignore");
    atomic_store(&sonde__shared.libc_sigaction, real_sigaction);
}

static int is_here(int number)
{
    return number == SONDE_SAMPLE_SIGNAL && sonde__preload_owner() == getpid();
}

/* The program sets this signal's disposition. */
static void wants(int number)
{
    if (!is_here(number))
        return;
    const int error = errno;
    if (atomic_exchange(&sonde__shared.signal_owner, SONDE_SIGNAL_PROGRAM) == SONDE_SIGNAL_AGENT)
        (atomic_load(&sonde__shared.release_signal))();
    errno = error;
}

EXPORT int sigaction(int number, const struct sigaction *restrict set, struct sigaction *restrict old)
{
    if (!real_sigaction) /* another library's constructor was first */
        find();
    if (set)
        wants(number);
    const int status = real_sigaction(number, sonde__preload_deadly(number, set), old);
    if (old && !status)
        sonde__preload_hide(old);
    if (!set && old && !status && is_here(number) && atomic_load(&sonde__shared.signal_owner) == SONDE_SIGNAL_AGENT)
        *old = sonde__shared.signal_program;
    return status;
}

EXPORT int sigignore(int number)
{
    if (!real_sigignore)
        find();
    wants(number);
    return real_sigignore(number);
}

/* They have set `set`, and say that `before` was there. */
static handler handed_over(int number, handler set, handler before)
{
    const int error = errno;
    const struct sigaction wanted = {.sa_handler = set};
    const struct sigaction *use = sonde__preload_deadly(number, &wanted);
    struct sigaction was = {.sa_flags = SA_SIGINFO};
    if (use != &wanted && before != SIG_ERR)
        real_sigaction(number, use, NULL);
    errno = error;
    was.sa_handler = before;
    if (before != SIG_ERR)
        sonde__preload_hide(&was);
    return was.sa_handler;
}

#define X(name)                                                          \
    EXPORT handler name(int number, handler set);                        \
    handler name(int number, handler set)                                \
    {                                                                    \
        if (!real_##name)                                                \
            find();                                                      \
        wants(number);                                                   \
        return handed_over(number, set, real_##name(number, set));       \
    }
HANDLER_MAP(X)
#undef X
