/* files.c - the agent's only contact with the file system.
 *
 * Everything here runs on our own threads. The monitor thread has a descriptor
 * table of its own (close_range with CLOSE_RANGE_UNSHARE), so the program can
 * close or re-use any number without touching our files, and we never take a
 * number of the program's. Where the kernel refuses, every write first checks
 * that the descriptor still is the file that was opened.
 *
 * The kernel is called directly: the program, another tool or a sanitizer may
 * have wrapped open and write, and must neither see nor mix up our descriptors.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ZSTD_STATIC_LINKING_ONLY /* a context in memory of ours, not of the program's malloc */
#include <zstd.h>

#include <sonde/error.h>

#include "agent/state/state.h"
#include "format/folder.h"
#include "guest/memory.h"

struct identity { uint64_t device, inode; };

static struct {
    int live, data;
    bool shared_table;          /* the descriptors are not private */
    struct identity live_is, data_is;
    uint64_t live_bytes;
    _Atomic uint64_t data_bytes;
    struct sonde_lock append;
} opened; /* set anew by sonde__files_open: a forked child begins with its parent's */

static void take_private_table(void)
{
    opened.shared_table = syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) != 0;
    if (opened.shared_table)
        return;
    /* 0 to 2 must not become our files: a library's message would land there. */
    for (int n = 0; n < 3; n++)
        if (syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0) < 0 && syscall(SYS_memfd_create, "sonde-null", 0) < 0)
            return;
}

static int identify(int fd, struct identity *is)
{
    struct statx x;
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &x) != 0)
        return -1;
    *is = (struct identity){(uint64_t)x.stx_dev_major << 32 | x.stx_dev_minor, x.stx_ino};
    return 0;
}

static bool still_ours(int fd, const struct identity *is)
{
    struct identity now;
    return !opened.shared_table || (identify(fd, &now) == 0 && now.device == is->device && now.inode == is->inode);
}

/* OUT/HOST-PID-N, made exclusively: an exec or a container with the same pid gets the next N. */
static int make_directory(char *path, size_t size)
{
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        if (*c == '/')
            *c = '_';
    for (int n = 1; n < 100000; n++) {
        if ((size_t)snprintf(path, size, "%s/" SONDE_PROCESS_FORMAT, sonde__agent.config.out, host, (int)getpid(), n) >= size)
            return SONDE_EINVALID;
        if (sonde_folder_make(path) == 0)
            return 0;
        if (errno != EEXIST)
            return SONDE_EIO;
    }
    return SONDE_EEXISTS;
}

static int open_in(const char *directory, const char *name, int flags)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return sonde_file_make(path, flags | O_EXCL);
}

static int map_live(void)
{
    struct sonde_agent *a = &sonde__agent;
    uint64_t segments = a->config.memory_bytes / 2 / SONDE_SEGMENT_BYTES;
    if (segments > SONDE_POOL_SEGMENTS_MAX)
        segments = SONDE_POOL_SEGMENTS_MAX;
    for (; segments >= 32; segments /= 2) {
        void *base = mmap(NULL, segments * SONDE_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, opened.live, 0);
        if (base == MAP_FAILED)
            continue;
        a->pool.base = base;
        a->mapped_bytes = segments * SONDE_SEGMENT_BYTES;
        a->pool.limit = (uint32_t)segments;
        a->pool.next = 1;
        a->pool.free = sonde__heap_get(&a->heap, segments * sizeof *a->pool.free);
        return a->pool.free ? 0 : SONDE_ENOMEM;
    }
    return SONDE_ENOMEM;
}

/* Blocks on disk for [from, to) of a file, at its end; by writing zeros where
 * the file system cannot reserve. */
static int allocate(int fd, uint64_t from, uint64_t to)
{
    static const char zeros[4096];
    if (syscall(SYS_fallocate, fd, 0, (off_t)from, (off_t)(to - from)) == 0)
        return 0;
    if (errno != EOPNOTSUPP)
        return SONDE_EIO;
    for (; from < to; from += sizeof zeros)
        if (syscall(SYS_pwrite64, fd, zeros, sizeof zeros, (off_t)from) != (long)sizeof zeros)
            return SONDE_EIO;
    return 0;
}

int sonde__files_grow(uint64_t live_bytes)
{
    struct sonde_agent *a = &sonde__agent;
    uint64_t limit = (uint64_t)a->pool.limit * SONDE_SEGMENT_BYTES;
    if (live_bytes > limit)
        live_bytes = limit;
    if (live_bytes <= opened.live_bytes)
        return SONDE_EFULL;
    if (!still_ours(opened.live, &opened.live_is))
        return SONDE_EIO;
    int err = allocate(opened.live, opened.live_bytes, live_bytes);
    if (err)
        return err;
    opened.live_bytes = live_bytes;
    sonde__pool_grow(&a->pool, (uint32_t)(live_bytes / SONDE_SEGMENT_BYTES));
    return 0;
}

/* Leave no empty process directory behind when there was no room. */
static void remove_files(const char *directory)
{
    static const char *const files[] = {SONDE_PROCESS_FILES};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, files[i]);
        unlink(path);
    }
    rmdir(directory);
}

/* Until the process ends, however it does, and of nobody's but this open file: monitor/announced.h. */
static bool lock_live(void)
{
    const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return syscall(SYS_fcntl, opened.live, F_OFD_SETLK, &whole) == 0;
}

int sonde__files_open(void)
{
    struct sonde_agent *a = &sonde__agent;
    char directory[3700];
    memset(&opened, 0, sizeof opened);
    opened.live = opened.data = -1;
    take_private_table();
    int err = make_directory(directory, sizeof directory);
    if (err)
        return err;
    opened.live = open_in(directory, SONDE_LIVE_FILE, O_RDWR);
    opened.data = open_in(directory, SONDE_DATA_FILE, O_WRONLY | O_APPEND);
    if (opened.live < 0 || opened.data < 0 || identify(opened.live, &opened.live_is) || identify(opened.data, &opened.data_is))
        err = SONDE_EIO;
    if (!err && (a->config.light || a->config.last_ns) && !lock_live() && a->config.light) /* of --last on a file system without locks it is not known that it lives */
        err = SONDE_EIO;
    if (!err)
        err = map_live();
    if (!err)
        err = sonde__files_grow(64u * SONDE_SEGMENT_BYTES);
    if (err) {
        remove_files(directory);
        return err;
    }
    return 0;
}

int sonde__files_append(const void *bytes, size_t size)
{
    int err = 0;
    sonde__lock(&opened.append);
    if (!still_ours(opened.data, &opened.data_is))
        err = SONDE_EIO;
    const char *at = bytes;
    size_t left = size;
    while (!err && left > 0) {
        long n = syscall(SYS_write, opened.data, at, left);
        if (n > 0) {
            at += n;
            left -= (size_t)n;
        } else if (errno != EINTR) {
            err = SONDE_EIO;
        }
    }
    if (err && left < size && syscall(SYS_ftruncate, opened.data, (off_t)atomic_load(&opened.data_bytes)) != 0)
        err = SONDE_EIO; /* a torn chunk stays at the end; readers skip it */
    if (!err)
        atomic_fetch_add(&opened.data_bytes, size);
    sonde__unlock(&opened.append);
    return err;
}

/* ---- files of their own: code that was loaded ------------------------------------ */

/* A file in code/ is whole. Another process may have been faster. */
static int write_blob(const char *path, const void *bytes, size_t size)
{
    char part[4096];
    if ((size_t)snprintf(part, sizeof part, "%s.%d" SONDE_PART_SUFFIX, path, (int)getpid()) >= sizeof part)
        return SONDE_EINVALID;
    return sonde_file_replace(path, part, bytes, size) == 0 ? 0 : SONDE_EIO;
}

int sonde_blob(const char *name, const void *bytes, size_t size)
{
    char path[4000];
    const size_t workspace = ZSTD_estimateCCtxSize(1), room = ZSTD_compressBound(size);
    if (sonde__agent.config.light) /* nobody will ask for source lines */
        return 0;
    if (opened.shared_table) /* the program could close the descriptor while it is written to */
        return SONDE_EIO;
    snprintf(path, sizeof path, "%s/" SONDE_CODE_FOLDER, sonde__agent.config.out);
    sonde_folder_make(path);
    if ((size_t)snprintf(path, sizeof path, "%s/" SONDE_CODE_FOLDER "/%s" SONDE_PACKED_SUFFIX, sonde__agent.config.out, name) >= sizeof path)
        return SONDE_EINVALID;
    if (access(path, F_OK) == 0)
        return 0;
    char *memory = sonde__pages_get(workspace + room);
    if (!memory)
        return SONDE_ENOMEM;
    ZSTD_CCtx *zstd = ZSTD_initStaticCCtx(memory, workspace);
    const size_t stored = zstd ? ZSTD_compressCCtx(zstd, memory + workspace, room, bytes, size, 1) : 0;
    const int err = zstd && !ZSTD_isError(stored) ? write_blob(path, memory + workspace, stored) : SONDE_ENOMEM;
    sonde__pages_put(memory, workspace + room);
    return err;
}

long sonde__files_read(const char *path, char *text, size_t size)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long n = fd < 0 ? 0 : syscall(SYS_read, fd, text, size - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
    n = n > 0 ? n : 0;
    text[n] = 0;
    return n;
}

bool sonde__files_shared(void)
{
    return opened.shared_table;
}

uint64_t sonde__files_written(void)
{
    return atomic_load(&opened.data_bytes);
}
