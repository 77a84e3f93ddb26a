/* stop.c - see stop.h.
 *
 * A terminal that goes sends SIGHUP to the job in its foreground, and to others only if their shell does so. So it is watched,
 * too: after its end, poll() says POLLHUP of /dev/tty.
 */
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

static bool is_ignored(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int sonde_stop_begin(struct sonde_stop *stop, struct sonde_diag *diag)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!is_ignored(numbers[i]))
            sigaddset(&set, numbers[i]);
    stop->terminal = is_ignored(SIGHUP) ? -1 : open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    stop->signals = sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_CLOEXEC) : -1;
    if (stop->signals >= 0)
        return 0;
    sonde_diag_set(diag, SONDE_EIO, NULL, "cannot wait for signals");
    sonde_diag_errno(diag, errno);
    return SONDE_EIO;
}

int sonde_stop_wait(const struct sonde_stop *stop, int timeout_ms, void (*child_ended)(void *user), void *user)
{
    for (;;) {
        struct pollfd wait[] = {{.fd = stop->signals, .events = POLLIN}, {.fd = stop->terminal}};
        struct signalfd_siginfo got;
        const int ready = poll(wait, 2, timeout_ms);
        if (!ready)
            return 0;
        if (ready < 0)
            continue; /* a stop and its end, as by Ctrl-Z and fg */
        if (wait[1].revents)
            return SIGHUP;
        if (read(stop->signals, &got, sizeof got) != (ssize_t)sizeof got)
            continue;
        if (got.ssi_signo != SIGCHLD)
            return (int)got.ssi_signo;
        if (child_ended)
            child_ended(user);
    }
}
