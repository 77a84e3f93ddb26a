/* exec.c - the program replaces itself: what was found must be safe before.
 *
 * exec ends all our threads at once, and with them what they had not stored
 * yet. Each function of the family tells the agent, then does what the real one
 * does; a vfork child, which shares our memory, is told apart by its pid.
 *
 * A launcher of MPI's ranks gives each its number in the environment. Such a program gets the agent preloaded, which stands before MPI's functions then
 * (src/backends/mpi); in all others they are out of the program's sight. The environment is put together on the stack, for a vfork child has no other
 * memory of its own.
 */
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* preload.c */
void *sonde__preload_libc(const char *name);
void sonde__preload_before_exec(void);
const char *sonde__preload_agent(void);

/* Of Open MPI and what is built on PMIx, of MPICH and its children. */
static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "MV2_COMM_WORLD_RANK="};
static const char list_name[] = "LD_PRELOAD=";

/* The entry that a rank's program needs longer; NULL: none, or it has the agent in it. */
static const char *too_short(char *const envp[], const char *agent)
{
    const char *preloaded = NULL;
    bool rank = false;
    if (!agent || strpbrk(agent, " :"))
        return NULL;
    for (; envp && *envp; envp++) {
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
            rank |= strncmp(*envp, ranks[i], strlen(ranks[i])) == 0;
        if (strncmp(*envp, list_name, sizeof list_name - 1) == 0)
            preloaded = *envp;
    }
    return rank && preloaded && strstr(preloaded, "libsonde-preload.so") && !strstr(preloaded, agent) ? preloaded : NULL;
}

static size_t entries(char *const envp[])
{
    size_t n = 0;
    while (envp && envp[n])
        n++;
    return n;
}

/* `longer` in the place of `entry`, which it begins with. */
static void lengthen(char *const envp[], size_t n, const char *entry, const char *agent, char *longer, char **list)
{
    strcpy(longer, entry);
    strcat(longer, ":");
    strcat(longer, agent);
    for (size_t i = 0; i <= n; i++)
        list[i] = envp[i] == entry ? longer : envp[i];
}

/* `name` is the libc's, and is called as it is; `in` is the same with an environment, for what needs another one than `envp`. */
#define FORWARD(name, parameters, arguments, in, which, what, envp)                              \
    EXPORT int name parameters                                                                   \
    {                                                                                            \
        int (*real) parameters, (*real_in)(what, char *const *, char *const *) = NULL;           \
        *(void **)&real = sonde__preload_libc(#name);                                            \
        if (!real) {                                                                             \
            errno = ENOSYS;                                                                      \
            return -1;                                                                           \
        }                                                                                        \
        sonde__preload_before_exec();                                                            \
        const char *agent = sonde__preload_agent(), *entry = too_short(envp, agent);             \
        if (entry)                                                                               \
            *(void **)&real_in = sonde__preload_libc(#in);                                       \
        if (!real_in)                                                                            \
            return real arguments;                                                               \
        const size_t n = entries(envp);                                                          \
        char longer[strlen(entry) + strlen(agent) + 2], *list[n + 1];                            \
        lengthen(envp, n, entry, agent, longer, list);                                           \
        return real_in(which, argv, list);                                                       \
    }

FORWARD(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp), execve, path, const char *, envp)
FORWARD(execv, (const char *path, char *const argv[]), (path, argv), execve, path, const char *, environ)
FORWARD(execvp, (const char *file, char *const argv[]), (file, argv), execvpe, file, const char *, environ)
FORWARD(execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp), execvpe, file, const char *, envp)
FORWARD(fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp), fexecve, fd, int, envp)

/* The list forms: the arguments up to NULL, as an array on this stack. */
static size_t count(va_list args)
{
    size_t n = 1;
    while (va_arg(args, char *))
        n++;
    return n;
}

static void collect(const char **argv, size_t n, const char *first, va_list args)
{
    argv[0] = first;
    for (size_t i = 1; i <= n; i++)
        argv[i] = va_arg(args, const char *);
}

#define LIST(name, has_environment, call)                                                  \
    EXPORT int name(const char *path, const char *first, ...)                              \
    {                                                                                      \
        va_list args;                                                                      \
        va_start(args, first);                                                             \
        const size_t n = count(args);                                                      \
        va_end(args);                                                                      \
        const char *list[n + 1];                                                           \
        va_start(args, first);                                                             \
        collect(list, n, first, args);                                                     \
        char *const *environment = has_environment ? va_arg(args, char *const *) : environ; \
        va_end(args);                                                                      \
        char *const *argv = (char *const *)(uintptr_t)list;                                \
        (void)environment;                                                                 \
        return call;                                                                       \
    }

LIST(execl, 0, execv(path, argv))
LIST(execlp, 0, execvp(path, argv))
LIST(execle, 1, execve(path, argv, environment))
