/* recorders.c - see recorders.h. A file is HEAD, and the measurement's path up to its end; its name begins with a word of its own, and is nobody's again. */
#include "recorders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAME "recorder-"
#define HEAD "sonde record --last, layout 1\n"
enum { HEAD_LENGTH = sizeof HEAD - 1 };

/* ---- of a recorder ------------------------------------------------------------------------------ */

static int fails(struct sonde_diag *diag, const char *path)
{
    const int error = errno;
    sonde_diag_set(diag, SONDE_EIO, path, "'sonde monitor' cannot ask for what --last has: cannot make");
    sonde_diag_errno(diag, error);
    return SONDE_EIO;
}

/* Its contents, and the lock, before it has its name. */
static bool fill(int fd, const char *output)
{
    const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const size_t length = strlen(output);
    return write(fd, HEAD, HEAD_LENGTH) == HEAD_LENGTH && write(fd, output, length) == (ssize_t)length && fcntl(fd, F_SETLK, &whole) == 0;
}

int sonde_recorder_begin(const char *folder, const char *output, struct sonde_recorder *own, int *fd, struct sonde_diag *diag)
{
    char hidden[PATH_MAX];
    struct timespec now;
    *fd = -1;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    const int name = snprintf(own->file, sizeof own->file, "%s/" NAME "%d-%lld%09ld", folder, (int)getpid(), (long long)now.tv_sec, now.tv_nsec);
    const int other = snprintf(hidden, sizeof hidden, "%s/." NAME "%d-%lld%09ld", folder, (int)getpid(), (long long)now.tv_sec, now.tv_nsec);
    const int path = snprintf(own->output, sizeof own->output, "%s", output);
    if (name < 0 || name >= (int)sizeof own->file || other >= (int)sizeof hidden || path >= (int)sizeof own->output)
        return sonde_diag_set(diag, SONDE_EINVALID, folder, "the path is too long:");
    const int made = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (made < 0)
        return fails(diag, hidden);
    if (!fill(made, output) || rename(hidden, own->file) != 0) {
        const int code = fails(diag, hidden);
        unlink(hidden);
        close(made);
        return code;
    }
    *fd = made;
    return 0;
}

void sonde_recorder_end(const struct sonde_recorder *own, int fd)
{
    if (fd < 0)
        return;
    unlink(own->file);
    close(fd); /* with the lock */
}

/* ---- of who asks ---------------------------------------------------------------------------------- */

/* Who holds the lock: 0 somebody of another namespace, or it is not known; negative nobody. */
static pid_t holder(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_GETLK, &lock) != 0)
        return 0;
    return lock.l_type == F_UNLCK ? -1 : lock.l_pid > 0 ? lock.l_pid
                                                        : 0;
}

static int open_file(const char *path)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* False: it is none of this layout, or has ended. */
static bool read_file(struct sonde_recorder *recorder)
{
    char text[HEAD_LENGTH + PATH_MAX];
    const int fd = open_file(recorder->file);
    const ssize_t length = fd >= 0 && holder(fd) >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    if (fd >= 0)
        close(fd);
    if (length <= HEAD_LENGTH || memcmp(text, HEAD, HEAD_LENGTH) != 0)
        return false;
    text[length] = '\0';
    return snprintf(recorder->output, sizeof recorder->output, "%s", text + HEAD_LENGTH) < (int)sizeof recorder->output;
}

int sonde_recorders_each(const char *folder, int (*fn)(void *user, const struct sonde_recorder *recorder), void *user)
{
    DIR *dir = opendir(folder);
    struct sonde_recorder recorder;
    int status = 0;
    for (const struct dirent *entry; dir && !status && (entry = readdir(dir));)
        if (strncmp(entry->d_name, NAME, sizeof NAME - 1) == 0 &&
            snprintf(recorder.file, sizeof recorder.file, "%s/%s", folder, entry->d_name) < (int)sizeof recorder.file && read_file(&recorder))
            status = fn(user, &recorder);
    if (dir)
        closedir(dir);
    return status;
}

int sonde_recorder_ask(const struct sonde_recorder *recorder, pid_t *pid)
{
    int code = SONDE_ENOTFOUND;
    const int fd = open_file(recorder->file);
    *pid = fd < 0 ? -1 : holder(fd);
    const int pidfd = *pid > 0 ? (int)syscall(SYS_pidfd_open, *pid, 0) : -1;
    if (*pid > 0 && pidfd < 0 && errno == ENOSYS)
        code = SONDE_EUNSUPPORTED;
    if (pidfd >= 0 && holder(fd) == *pid && syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0) == 0)
        code = 0;
    if (pidfd >= 0)
        close(pidfd);
    if (fd >= 0)
        close(fd);
    return code;
}

void sonde_recorders_sweep(const char *folder)
{
    DIR *dir = opendir(folder);
    char path[PATH_MAX];
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, NAME, sizeof NAME - 1) != 0 || snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        const int fd = open_file(path);
        if (fd >= 0 && holder(fd) == -1)
            unlink(path);
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
}
