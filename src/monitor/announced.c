/* announced.c - see announced.h. */
#include "announced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/folder.h"
#include "format/rows.h"
#include "recorders.h"

#define ROOT "/dev/shm" /* POSIX shared memory, on Linux */

static const char *const files[] = {SONDE_PROCESS_FILES};

static int fails(struct sonde_diag *diag, const char *path, const char *what)
{
    const int error = errno;
    sonde_diag_set(diag, SONDE_EIO, path, what);
    sonde_diag_errno(diag, error);
    return SONDE_EIO;
}

int sonde_announced_folder(const char *given, char path[PATH_MAX], struct sonde_diag *diag)
{
    char made[PATH_MAX];
    struct stat st;
    const int length = given ? snprintf(made, sizeof made, "%s", given) : snprintf(made, sizeof made, ROOT "/sonde-%u", (unsigned)getuid());
    if (length < 0 || (size_t)length >= sizeof made)
        return sonde_diag_set(diag, SONDE_EINVALID, given, "the path is too long:");
    if (sonde_folder_make(made) != 0 && errno != EEXIST)
        return fails(diag, made, "cannot make the folder of announced programs,");
    if (lstat(made, &st) != 0 || !realpath(made, path))
        return fails(diag, made, "cannot use the folder of announced programs,");
    if (S_ISDIR(st.st_mode) && st.st_uid == getuid() && !(st.st_mode & 077))
        return 0;
    sonde_diag_set(diag, SONDE_EUNSUPPORTED, made, "programs cannot be announced in");
    snprintf(diag->why, sizeof diag->why, "it is not a folder that belongs to this user alone");
    sonde_diag_hint(diag, "remove it, or give it mode 0700");
    return SONDE_EUNSUPPORTED;
}

/* "folder/name" of a program's folder that holds a live mapping. */
static bool is_program(const char *folder, const char *name, char path[PATH_MAX])
{
    char file[PATH_MAX];
    if (*name == '.' || snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
        return false;
    return snprintf(file, sizeof file, "%s/%s", path, SONDE_LIVE_FILE) < (int)sizeof file && access(file, R_OK) == 0;
}

int sonde_announced_each(const char *folder, int (*fn)(void *user, const char *path, const char *name), void *user, struct sonde_diag *diag)
{
    DIR *dir = opendir(folder);
    char path[PATH_MAX];
    int status = 0;
    if (!dir)
        return fails(diag, folder, "cannot read the folder of announced programs,");
    for (const struct dirent *entry; !status && (entry = readdir(dir));)
        if (is_program(folder, entry->d_name, path))
            status = fn(user, path, entry->d_name);
    closedir(dir);
    return status;
}

static int open_live(const char *path)
{
    char file[PATH_MAX];
    if (snprintf(file, sizeof file, "%s/%s", path, SONDE_LIVE_FILE) >= (int)sizeof file)
        return -1;
    return open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

bool sonde_announced_lives(const char *path)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    const int fd = open_live(path);
    const bool asked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0; /* it asks, and takes none */
    if (fd >= 0)
        close(fd);
    return asked && lock.l_type != F_UNLCK;
}

static uint64_t nanoseconds(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* False before its last word, the magic number, and of what is none. */
static bool read_header(const char *path, struct sonde_live_header *header)
{
    const int fd = open_live(path);
    const bool begun = fd >= 0 && pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header && header->magic;
    if (fd >= 0)
        close(fd);
    return begun;
}

uint64_t sonde_announced_start_ns(const char *path)
{
    struct sonde_live_header header;
    if (!read_header(path, &header))
        return 0;
    return header.start_ns ? header.start_ns : 1; /* damaged, perhaps: who opens it will say so */
}

/* For how long has a program's monitor thread written nothing? Before its first word: how old is the folder? */
static uint64_t quiet_ns(const char *path)
{
    struct sonde_live_header header;
    struct timespec now;
    struct stat st;
    const bool begun = read_header(path, &header) && header.magic == SONDE_LIVE_MAGIC;
    if (!begun && stat(path, &st) != 0)
        return 0;
    clock_gettime(begun ? CLOCK_MONOTONIC_RAW : CLOCK_REALTIME, &now);
    const uint64_t since = begun ? header.stop_ns : nanoseconds(&st.st_mtim);
    return nanoseconds(&now) > since ? nanoseconds(&now) - since : 0;
}

static int sweep_one(void *user, const char *path, const char *name)
{
    char file[PATH_MAX];
    (void)user;
    (void)name;
    if (sonde_announced_lives(path) || quiet_ns(path) < SONDE_ANNOUNCED_KEEP_NS)
        return 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (snprintf(file, sizeof file, "%s/%s", path, files[i]) < (int)sizeof file)
            unlink(file);
    rmdir(path);
    return 0;
}

void sonde_announced_sweep(const char *folder)
{
    (void)sonde_announced_each(folder, sweep_one, NULL, NULL);
    sonde_recorders_sweep(folder);
}
