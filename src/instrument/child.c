/* child.c - see child.h. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/memory.h"

enum { STACK = 65536,
       ABOVE_STANDARD = 3 };

/* ---- the process ----------------------------------------------------------------------------------------------- */

struct errand {
    const char *const *words;
    int in, out;
    unsigned char *stack; /* for the second process */
};

static int execute(void *of)
{
    static char *const surroundings[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL}; /* nothing of the program's, or Sonde's */
    static const struct rlimit none = {1, 1}; /* bytes: of a compiler that aborts there is no core, not through a pipe either (core(5)) */
    const struct errand *e = of;
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (dup2(e->in, STDIN_FILENO) < 0 || dup2(e->out, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
        return 1;
    syscall(SYS_close_range, ABOVE_STANDARD, ~0u, 0);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
    syscall(SYS_execve, e->words[0], e->words, surroundings); /* not the preload library's */
    return 1;
}

/* Not the preload library's waitpid: the program waits for nothing. */
static void wait_for(pid_t pid, int options)
{
    while (pid > 0 && syscall(SYS_wait4, pid, NULL, options, NULL) < 0 && errno == EINTR)
        ;
}

static int wait_for_it(void *of)
{
    const struct errand *e = of;
    wait_for(clone(execute, e->stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, of), 0);
    return 0;
}

/* Both share the program's memory, and this thread's errno, while the thread waits; no signal is handled in them. */
static void run(struct errand *e)
{
    unsigned char *stacks = sonde__pages_get(2 * STACK);
    const int before = errno;
    sigset_t all, mask;
    if (!stacks)
        return;
    e->stack = stacks + STACK;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    wait_for(clone(wait_for_it, stacks + STACK, CLONE_VM | CLONE_VFORK, e), __WALL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = before;
    sonde__pages_put(stacks, 2 * STACK);
}

/* ---- its files ---------------------------------------------------------------------------------------------------- */

/* A file in memory; -1: there is none. */
static int memory_file(void)
{
    const int fd = memfd_create("sonde", MFD_CLOEXEC), high = fd < 0 || fd >= ABOVE_STANDARD ? fd : fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_STANDARD);
    if (high != fd)
        close(fd);
    return high;
}

static bool fill(int fd, const unsigned char *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t more = write(fd, data + done, bytes - done);
        if (more <= 0)
            return false;
        done += (size_t)more;
    }
    return lseek(fd, 0, SEEK_SET) == 0;
}

static bool read_all(int fd, struct sonde_child_made *out)
{
    struct stat s;
    size_t done = 0;
    *out = (struct sonde_child_made){0};
    if (fstat(fd, &s) != 0 || s.st_size <= 0 || !(out->data = sonde__pages_get((size_t)s.st_size)))
        return false;
    out->bytes = (size_t)s.st_size;
    for (ssize_t more; done < out->bytes && (more = pread(fd, out->data + done, out->bytes - done, (off_t)done)) > 0;)
        done += (size_t)more;
    if (done == out->bytes)
        return true;
    sonde__pages_put(out->data, out->bytes);
    return false;
}

bool sonde__child_run(const char *const *words, const void *input, size_t bytes, struct sonde_child_made *out)
{
    struct errand e = {.words = words, .in = memory_file(), .out = memory_file()};
    bool done = e.in >= 0 && e.out >= 0 && fill(e.in, input, bytes);
    if (done) {
        run(&e);
        done = read_all(e.out, out);
    }
    if (e.in >= 0)
        close(e.in);
    if (e.out >= 0)
        close(e.out);
    return done;
}
