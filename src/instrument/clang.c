/* clang.c - see clang.h. */
#include "clang.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/memory.h"
#include "llvm.h"

enum { OLDEST = 15, /* of older ones pointers have types */
       NEWEST = 30,
       OPTIONS_MAX = 1024,
       STACK = 65536,
       ABOVE_STANDARD = 3 };

static char path[PATH_MAX]; /* of clang */
static unsigned found;      /* its version; 0: none */

/* ---- a process ------------------------------------------------------------------------------------------------ */

struct errand {
    char *const *words;
    int in, out;
    unsigned char *stack; /* for the second process */
};

static int execute(void *of)
{
    static char *const surroundings[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL}; /* nothing of the program's, or Sonde's */
    const struct errand *e = of;
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (dup2(e->in, STDIN_FILENO) < 0 || dup2(e->out, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
        return 1;
    syscall(SYS_close_range, ABOVE_STANDARD, ~0u, 0);
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

/* ---- clang ------------------------------------------------------------------------------------------------------ */

/* A file along PATH that can be executed. */
static bool find(const char *name)
{
    const char *at = getenv("PATH");
    for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; *at; at += strcspn(at, ":"), at += *at == ':') {
        const int length = (int)strcspn(at, ":");
        if (*at == '/' && snprintf(path, sizeof path, "%.*s/%s", length, at, name) < (int)sizeof path && access(path, X_OK) == 0)
            return true;
    }
    path[0] = 0;
    return false;
}

static bool open_llvm(unsigned version)
{
    static void *library; /* of the version that was found */
    static const char *const names[] = {"libLLVM-%u.so.1", "libLLVM.so.%u.1", "libLLVM-%u.so"};
    char name[64];
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
        snprintf(name, sizeof name, names[i], version);
        library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        if (library && !sonde__llvm_open(library))
            library = NULL;
    }
    return library && sonde__llvm_open(library);
}

/* The oldest: what a runtime's own LLVM reads is what older ones wrote. */
bool sonde__clang_open(void)
{
    char name[32];
    for (unsigned version = found ? found : OLDEST; version <= (found ? found : NEWEST); version++) {
        snprintf(name, sizeof name, "clang-%u", version);
        if (find(name) && open_llvm(version)) {
            found = version;
            return true;
        }
    }
    return false;
}

/* A file in memory; -1: there is none. */
static int memory_file(void)
{
    const int fd = memfd_create("sonde", MFD_CLOEXEC), high = fd < 0 || fd >= ABOVE_STANDARD ? fd : fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_STANDARD);
    if (high != fd)
        close(fd);
    return high;
}

static bool fill(int fd, const char *text, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t more = write(fd, text + done, bytes - done);
        if (more <= 0)
            return false;
        done += (size_t)more;
    }
    return lseek(fd, 0, SEEK_SET) == 0;
}

static bool read_all(int fd, struct sonde_clang_made *out)
{
    struct stat s;
    size_t done = 0;
    *out = (struct sonde_clang_made){0};
    if (fstat(fd, &s) != 0 || s.st_size <= 0 || !(out->bitcode = sonde__pages_get((size_t)s.st_size)))
        return false;
    out->bytes = (size_t)s.st_size;
    for (ssize_t more; done < out->bytes && (more = pread(fd, out->bitcode + done, out->bytes - done, (off_t)done)) > 0;)
        done += (size_t)more;
    if (done == out->bytes)
        return true;
    sonde__pages_put(out->bitcode, out->bytes);
    return false;
}

bool sonde__clang_compile(const char *text, size_t bytes, const char *const *options, struct sonde_clang_made *out)
{
    /* As it is written, with nothing left out; lines of accesses are known in any case. */
    static const char *const always[] = {path, "-x", "cl", "-", "-c", "-o", "-", "-emit-llvm", "-target", "spir64-unknown-unknown", "-O1", "-Xclang",
                                         "-disable-llvm-passes", "-gline-tables-only", "-w"};
    static const char *const untyped[] = {"-Xclang", "-opaque-pointers"}; /* clang 15 gives pointers of SPIR types, later ones none */
    enum { ALWAYS = sizeof always / sizeof *always };
    char *words[ALWAYS + 2 + OPTIONS_MAX + 1];
    size_t count = 0;
    for (; count < ALWAYS; count++)
        words[count] = (char *)(uintptr_t)always[count];
    for (size_t i = 0; found == OLDEST && i < sizeof untyped / sizeof *untyped; i++)
        words[count++] = (char *)(uintptr_t)untyped[i];
    for (; *options && count < ALWAYS + OPTIONS_MAX; options++)
        words[count++] = (char *)(uintptr_t)*options;
    words[count] = NULL;
    struct errand e = {.words = words, .in = memory_file(), .out = memory_file()};
    bool done = !*options && e.in >= 0 && e.out >= 0 && fill(e.in, text, bytes);
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
