/* exec.c - the program replaces itself: what was found must be safe before.
 *
 * exec ends all our threads at once, and with them what they had not stored
 * yet. Each function of the family tells the agent, then does what the real one
 * does; a vfork child, which shares our memory, is told apart by its pid.
 */
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* preload.c */
void *sonde__preload_libc(const char *name);
void sonde__preload_before_exec(void);

#define FORWARD(name, parameters, arguments)                                              \
    EXPORT int name parameters                                                            \
    {                                                                                     \
        int (*real) parameters = (int (*) parameters)(uintptr_t)sonde__preload_libc(#name); \
        if (!real) {                                                                      \
            errno = ENOSYS;                                                               \
            return -1;                                                                    \
        }                                                                                 \
        sonde__preload_before_exec();                                                     \
        return real arguments;                                                            \
    }

FORWARD(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
FORWARD(execv, (const char *path, char *const argv[]), (path, argv))
FORWARD(execvp, (const char *file, char *const argv[]), (file, argv))
FORWARD(execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp))
FORWARD(fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp))

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
