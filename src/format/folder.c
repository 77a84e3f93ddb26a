/* folder.c - see folder.h.
 *
 * The kernel is called directly wherever there is a descriptor: the agent is in somebody's program, which, like another
 * tool or a sanitizer, may have wrapped open and write, and must neither see nor mix up our descriptors.
 */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int sonde_folder_make(const char *path)
{
    if (mkdir(path, 0700) != 0)
        return -1;
    chmod(path, 0700); /* the umask may have taken our own rights away */
    return 0;
}

int sonde_file_make(const char *path, int flags)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        syscall(SYS_fchmod, fd, 0600);
    return fd;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const long n = syscall(SYS_write, fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

int sonde_file_replace(const char *path, const char *part, const void *bytes, size_t size)
{
    const int fd = sonde_file_make(part, O_WRONLY | O_TRUNC);
    if (fd < 0)
        return -1;
    const bool written = write_all(fd, bytes, size) == 0;
    if (syscall(SYS_close, fd) == 0 && written && rename(part, path) == 0)
        return 0;
    const int why = errno;
    unlink(part);
    errno = why;
    return -1;
}
