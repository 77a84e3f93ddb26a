/* browser.c - see browser.h.
 *
 * xdg-open may become the browser itself, which is to stay when we end: it gets a session of its own, where no key of our
 * terminal reaches it, nothing of ours but the environment, and no output that would disturb the terminal.
 */
#include "browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

bool view_browser_can(void)
{
    return isatty(STDERR_FILENO) && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

pid_t view_browser_open(const char *url, struct sonde_diag *diag)
{
    char program[] = "xdg-open", *address = (char *)(size_t)url, *argv[] = {program, address, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid = -1;
    sigemptyset(&none);
    int error = posix_spawn_file_actions_init(&actions);
    if (!error)
        error = posix_spawnattr_init(&attributes);
    for (int fd = 0; fd <= 2 && !error; fd++)
        error = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (!error)
        error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error)
        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    if (!error)
        error = posix_spawnp(&pid, program, &actions, &attributes, argv, environ);
    if (error) {
        sonde_diag_set(diag, SONDE_EIO, NULL, "no browser was opened: xdg-open");
        sonde_diag_errno(diag, error);
        sonde_diag_hint(diag, "open the address in yours");
        pid = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return pid;
}
