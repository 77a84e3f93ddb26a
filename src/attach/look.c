/* look.c - which process it is, and what forbids to attach to it: said before anything is tried, with the command that allows it. */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* ---- what /proc says --------------------------------------------------------------- */

static bool read_file(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n >= 0;
}

/* A number of /proc/PID/status: "\nTgid:". -1: it has none. */
static long number_of(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

char sonde__look_state(pid_t pid)
{
    char text[4096];
    const char *at = read_file(pid, "status", text, sizeof text) ? strstr(text, "\nState:") : NULL;
    return at ? at[7 + strspn(at + 7, " \t")] : 0;
}

bool sonde__look_has_children(pid_t tid)
{
    char name[64], children[16];
    snprintf(name, sizeof name, "task/%d/children", tid);
    return read_file(tid, name, children, sizeof children) && children[0]; /* no such file without CONFIG_PROC_CHILDREN */
}

static void name_of(pid_t pid, char name[32])
{
    if (!read_file(pid, "comm", name, 32))
        strcpy(name, "?");
    name[strcspn(name, "\n")] = 0;
}

/* ---- refusals of the kernel ------------------------------------------------------------ */

static const char *user_name(long id, char text[64])
{
    const struct passwd *user = getpwuid((uid_t)id);
    if (user)
        snprintf(text, 64, "%.60s", user->pw_name);
    else
        snprintf(text, 64, "%ld", id);
    return text;
}

static int scope(void)
{
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int value = 0;
    if (file && fscanf(file, "%d", &value) != 1)
        value = 0;
    if (file)
        fclose(file);
    return value;
}

int sonde__look_refused(pid_t pid, int why, struct sonde_diag *diag)
{
    char status[4096], name[64];
    const int yama = scope();
    const long owner = read_file(pid, "status", status, sizeof status) ? number_of(status, "\nUid:") : -1;
    if (why == ESRCH || owner < 0)
        return sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "process %d has ended", pid);
    sonde_diag_set(diag, SONDE_EIO, NULL, "cannot attach to process %d", pid);
    if (geteuid() != 0 && owner != (long)geteuid()) {
        snprintf(diag->why, sizeof diag->why, "it runs as user %s", user_name(owner, name));
        sonde_diag_hint(diag, "sudo sonde record --pid %d", pid);
    } else if (yama == 3) {
        snprintf(diag->why, sizeof diag->why, "kernel.yama.ptrace_scope is 3, which forbids it until the machine starts anew");
    } else if (yama && geteuid() != 0) {
        snprintf(diag->why, sizeof diag->why, "kernel.yama.ptrace_scope is %d", yama);
        sonde_diag_hint(diag, yama == 1 ? "sudo sysctl kernel.yama.ptrace_scope=0" : "sudo sonde record --pid %d", pid);
    } else if (geteuid() == 0) {
        snprintf(diag->why, sizeof diag->why, "this user lacks the capability SYS_PTRACE");
        sonde_diag_hint(diag, "in a container: docker run --cap-add=SYS_PTRACE");
    } else {
        snprintf(diag->why, sizeof diag->why, "it keeps others out of its memory (set-user-ID, or PR_SET_DUMPABLE)");
        sonde_diag_hint(diag, "sudo sonde record --pid %d", pid);
    }
    return SONDE_EIO;
}

/* ---- what it is ---------------------------------------------------------------------------- */

static int refuse(struct sonde_diag *diag, int code, pid_t pid, const char *why)
{
    sonde_diag_set(diag, code, NULL, "cannot attach to process %d", pid);
    snprintf(diag->why, sizeof diag->why, "%s", why);
    return code;
}

/* Its environment as it was given it: sonde record names the folder there. */
static int look_at_environment(pid_t pid, struct sonde_diag *diag)
{
    char path[64], *entry = NULL;
    size_t room = 0;
    int error = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    FILE *file = fopen(path, "re");
    while (file && !error && getdelim(&entry, &room, 0, file) > 0)
        if (strncmp(entry, "SONDE_OUT=", 10) == 0) {
            error = refuse(diag, SONDE_EBUSY, pid, "");
            snprintf(diag->why, sizeof diag->why, "sonde record started it, and records it into %.120s", entry + 10);
        }
    free(entry);
    if (file)
        fclose(file);
    return error;
}

static int look_at_program(pid_t pid, struct sonde_diag *diag)
{
    char path[64];
    Elf64_Ehdr head;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC), why = errno;
    if (fd < 0)
        return why == ENOENT ? refuse(diag, SONDE_EUNSUPPORTED, pid, "it is a thread of the kernel") : sonde__look_refused(pid, why, diag);
    const bool elf = read(fd, &head, sizeof head) == (ssize_t)sizeof head && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
    close(fd);
    if (elf && head.e_ident[EI_CLASS] != ELFCLASS64)
        return refuse(diag, SONDE_EUNSUPPORTED, pid, "it is a 32-bit program");
    if (!elf || head.e_machine != EM_X86_64)
        return refuse(diag, SONDE_EUNSUPPORTED, pid, "it is a program of another architecture");
    return 0;
}

static int look_at_state(pid_t pid, const char *status, struct sonde_diag *diag)
{
    const char state = sonde__look_state(pid);
    const long group = number_of(status, "\nTgid:"), tracer = number_of(status, "\nTracerPid:");
    char name[32];
    if (state == 'Z' || state == 'X')
        return sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "process %d has ended", pid);
    if (group > 0 && group != pid) {
        refuse(diag, SONDE_EINVALID, pid, "it is a thread");
        sonde_diag_hint(diag, "its process: --pid %ld", group);
        return SONDE_EINVALID;
    }
    if (tracer > 0) {
        name_of((pid_t)tracer, name);
        refuse(diag, SONDE_EBUSY, pid, "");
        snprintf(diag->why, sizeof diag->why, "process %ld (%s) traces it", tracer, name);
        return SONDE_EBUSY;
    }
    if (state == 'T') {
        refuse(diag, SONDE_EBUSY, pid, "it is stopped");
        sonde_diag_hint(diag, "kill -CONT %d", pid);
        return SONDE_EBUSY;
    }
    return 0;
}

int sonde__look(pid_t pid, struct sonde_diag *diag)
{
#if !defined __x86_64__
    return refuse(diag, SONDE_EUNSUPPORTED, pid, "on this architecture Sonde cannot attach to programs (only on x86-64)");
#endif
    char status[4096];
    if (pid <= 0 || !read_file(pid, "status", status, sizeof status))
        return sonde_diag_set(diag, SONDE_ENOTFOUND, NULL, "there is no process %d", pid);
    if (number_of(status, "\nSeccomp:") == 1)
        return refuse(diag, SONDE_EUNSUPPORTED, pid, "it has given up all system calls but four (seccomp)");
    int error = look_at_state(pid, status, diag);
    if (!error)
        error = look_at_program(pid, diag);
    return error ? error : look_at_environment(pid, diag);
}
