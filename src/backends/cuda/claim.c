/* claim.c - see claim.h. The file is locked while it is looked at, and stays when nobody has the device. A process is told by its number and when it
 * began (proc(5), field 22 of stat): numbers come again.
 */
#include "claim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100 }; /* to lock the file, a millisecond apart: who has it has it for that long */

const char *sonde__claim_folder = "/dev/shm";

static size_t get(int fd, char *text, size_t size)
{
    const long got = fd < 0 ? 0 : syscall(SYS_read, fd, text, size - 1);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* When a process began; 0: there is none. */
static unsigned long long began(int pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    const size_t length = get(fd, text, sizeof text);
    if (fd >= 0)
        syscall(SYS_close, fd);
    const char *at = length ? strrchr(text, ')') : NULL; /* behind the name, which may hold anything: field 3 */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static int open_at(const char *path, int more)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | more, 0666);
}

static bool lock(int fd)
{
    for (int i = 0; i < TRIES; i++) {
        if (syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

/* The device's file, locked; -1: there can be none, or somebody keeps it. In a folder for all O_CREAT is refused for another user's
 * file (proc(5), protected_regular). */
static int open_locked(uint32_t domain, uint32_t bus, uint32_t device)
{
    char path[256];
    struct stat file;
    snprintf(path, sizeof path, "%s/sonde-samples-%04x-%02x-%02x", sonde__claim_folder, domain, bus, device);
    int fd = open_at(path, 0);
    if (fd < 0) {
        fd = open_at(path, O_CREAT | O_EXCL);
        if (fd >= 0)
            fchmod(fd, 0666); /* any user's process may be the next */
        else
            fd = open_at(path, 0); /* made just now */
    }
    if (fd >= 0 && (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || !lock(fd))) {
        syscall(SYS_close, fd);
        fd = -1;
    }
    return fd;
}

/* A child that was forked meanwhile has the descriptor, too, and would keep the lock. */
static void close_locked(int fd)
{
    syscall(SYS_flock, fd, LOCK_UN);
    syscall(SYS_close, fd);
}

/* Who has it, and still runs; 0 nobody. */
static int owner_of(int fd)
{
    char text[64];
    int pid = 0;
    unsigned long long start = 0;
    if (!get(fd, text, sizeof text) || sscanf(text, "%d %llu", &pid, &start) != 2 || pid <= 0)
        return 0;
    const unsigned long long now = began(pid);
    const bool hidden = !now && (kill(pid, 0) == 0 || errno == EPERM); /* /proc does not show it (hidepid) */
    return now == start || hidden ? pid : 0;
}

bool sonde__claim(uint32_t domain, uint32_t bus, uint32_t device, int *by)
{
    const int self = (int)getpid(), fd = open_locked(domain, bus, device);
    char text[64];
    if (fd < 0)
        return true;
    *by = owner_of(fd);
    const bool free = !*by || *by == self;
    if (free) {
        const int length = snprintf(text, sizeof text, "%d %llu\n", self, began(self));
        syscall(SYS_ftruncate, fd, 0);
        syscall(SYS_pwrite64, fd, text, (size_t)length, 0); /* where there is no room nobody learns of it */
    }
    close_locked(fd);
    return free;
}

void sonde__claim_release(uint32_t domain, uint32_t bus, uint32_t device)
{
    const int fd = open_locked(domain, bus, device);
    if (fd < 0)
        return;
    if (owner_of(fd) == (int)getpid())
        syscall(SYS_ftruncate, fd, 0); /* else it ends with the process */
    close_locked(fd);
}
