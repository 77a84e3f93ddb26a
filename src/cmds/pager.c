/* pager.c - what a command prints on a terminal goes through the user's pager, as with git.
 *
 * The text is made first, in memory, and then shown: nothing is drawn over the pager by a
 * progress line, a pager that is left early stops nothing half-way, and where none can be
 * started the text is printed as it is.
 */
#include "command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 127 };

/* NULL: none. "": the default. */
static const char *wanted_pager(void)
{
    const char *term = getenv("TERM"), *pager = getenv("SONDE_PAGER");
    if (!pager)
        pager = getenv("PAGER");
    if (!isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
        return NULL;
    if (tcgetpgrp(STDOUT_FILENO) != getpgrp())
        return NULL; /* in the background, or at a terminal that is not ours, a pager would wait for a keyboard in vain */
    return !pager ? "" : (!*pager || strcmp(pager, "cat") == 0 ? NULL : pager);
}

void sonde_pager_begin(struct sonde_pager *p, bool wanted)
{
    *p = (struct sonde_pager){.terminal = -1, .text = -1, .command = wanted ? wanted_pager() : NULL};
    if (!p->command)
        return;
    fflush(stdout);
    p->terminal = dup(STDOUT_FILENO);
    p->text = memfd_create("sonde-report", MFD_CLOEXEC);
    if (p->terminal < 0 || p->text < 0 || dup2(p->text, STDOUT_FILENO) < 0)
        p->command = NULL;
}

_Noreturn static void become_pager(const struct sonde_pager *p)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    if (dup2(p->text, STDIN_FILENO) >= 0 && *p->command)
        execl("/bin/sh", "sh", "-c", p->command, (char *)NULL);
    else
        execlp("less", "less", "-FRX", (char *)NULL);
    _exit(NOT_STARTED);
}

/* Keys that end the pager's search or its wait are not for us. False: it did not start. */
static bool show(const struct sonde_pager *p)
{
    void (*const interrupt)(int) = signal(SIGINT, SIG_IGN), (*const quit)(int) = signal(SIGQUIT, SIG_IGN);
    const pid_t pid = fork();
    int status = 0;
    if (pid == 0)
        become_pager(p);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED);
}

static void print_as_it_is(const struct sonde_pager *p)
{
    char block[16384];
    lseek(p->text, 0, SEEK_SET);
    for (ssize_t n; (n = read(p->text, block, sizeof block)) > 0;)
        fwrite(block, 1, (size_t)n, stdout);
}

void sonde_pager_end(struct sonde_pager *p)
{
    if (p->command) {
        fflush(stdout);
        dup2(p->terminal, STDOUT_FILENO);
        const off_t length = lseek(p->text, 0, SEEK_CUR);
        lseek(p->text, 0, SEEK_SET);
        if (length > 0 && !show(p))
            print_as_it_is(p);
    }
    if (p->terminal >= 0)
        close(p->terminal);
    if (p->text >= 0)
        close(p->text);
}
