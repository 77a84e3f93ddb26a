/* out.c - see out.h. A file is written without a name where the file system
 * allows (O_TMPFILE: nothing is left even when we are killed), else, and what a
 * library writes by its name, under a hidden name next to its own; it is linked
 * or renamed into place at the end, a folder exchanged with the one that it replaces.
 */
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

#define OUT_BUFFER_BYTES (1u << 18)

struct sonde_out {
    int fd;
    bool own_fd, direct, force;
    bool named, folder; /* a library writes `temp`: no descriptor */
    int error;      /* errno of the first failure */
    char *path;     /* final name, or what messages call it */
    char *temp;     /* the hidden name; not there while `unnamed` */
    bool unnamed;
    uint64_t flushed;
    size_t used;
    char buffer[OUT_BUFFER_BYTES];
};

static void destroy(struct sonde_out *out)
{
    if (out->own_fd && out->fd >= 0)
        close(out->fd);
    free(out->path);
    free(out->temp);
    free(out);
}

static struct sonde_out *make(const char *path)
{
    struct sonde_out *out = calloc(1, sizeof *out);
    if (!out)
        return NULL;
    out->fd = -1;
    out->path = strdup(path);
    if (!out->path) {
        free(out);
        return NULL;
    }
    return out;
}

int sonde_out_attach(int fd, const char *name, struct sonde_out **result, struct sonde_diag *diag)
{
    struct sonde_out *out = make(name);
    if (!out)
        return sonde_diag_set(diag, SONDE_ENOMEM, name, "cannot write");
    out->fd = fd;
    out->direct = true;
    *result = out;
    return 0;
}

/* The hidden name next to `path`, and its folder (for O_TMPFILE). */
static int name_temp(struct sonde_out *out, char **folder)
{
    const char *slash = strrchr(out->path, '/');
    int length = slash ? (int)(slash - out->path) : 0;
    const char *base = slash ? slash + 1 : out->path;
    *folder = NULL;
    if (asprintf(&out->temp, "%.*s%s.%s.%d.part", length, out->path, slash ? "/" : "", base, (int)getpid()) < 0) {
        out->temp = NULL;
        return -1;
    }
    if (!slash)
        *folder = strdup(".");
    else if (slash == out->path)
        *folder = strdup("/");
    else
        *folder = strndup(out->path, (size_t)length);
    return *folder ? 0 : -1;
}

static int open_temp(struct sonde_out *out)
{
    char *folder;
    if (name_temp(out, &folder) < 0) {
        free(folder);
        errno = ENOMEM;
        return -1;
    }
    out->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    out->unnamed = out->fd >= 0;
    if (out->fd < 0)
        out->fd = open(out->temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    return out->fd < 0 ? -1 : 0;
}

static int refuse(const char *path, const char *hint, struct sonde_diag *diag)
{
    sonde_diag_set(diag, SONDE_EEXISTS, path, "will not overwrite");
    sonde_diag_hint(diag, "%s", hint);
    return SONDE_EEXISTS;
}

static int refuse_without_force(const char *path, struct sonde_diag *diag)
{
    return refuse(path, "use --force to overwrite it, or -o to choose another", diag);
}

static int say_uncreated(const char *path, bool folder, struct sonde_diag *diag)
{
    const int error = errno;
    sonde_diag_set(diag, SONDE_EIO, path, folder ? "cannot create the folder" : "cannot create the file");
    sonde_diag_errno(diag, error);
    return SONDE_EIO;
}

int sonde_out_create(const char *path, bool force, struct sonde_out **result, struct sonde_diag *diag)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    struct sonde_out *out;
    int code;
    if (there && S_ISREG(st.st_mode) && !force)
        return refuse_without_force(path, diag);
    out = make(path);
    if (!out)
        return sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot write");
    out->own_fd = true;
    out->force = force;
    out->direct = there && !S_ISREG(st.st_mode);
    if (out->direct)
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (out->direct ? out->fd < 0 : open_temp(out) < 0) {
        code = say_uncreated(path, false, diag);
        destroy(out);
        return code;
    }
    *result = out;
    return 0;
}

/* May `path` be replaced, or made? */
static int check_named(const char *path, bool force, const char *mark, struct sonde_diag *diag)
{
    struct stat st;
    struct sonde_text inside = {0};
    if (lstat(path, &st) < 0)
        return 0;
    const bool alike = mark ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode);
    if (!alike)
        return refuse(path, mark ? "this format is a folder; use -o to choose another name" : "this format is written as a regular file only; use -o to choose one", diag);
    sonde_text_format(&inside, "%s/%s", path, mark ? mark : "");
    const bool ours = !mark || lstat(sonde_text_get(&inside), &st) == 0;
    sonde_text_fini(&inside);
    if (!ours)
        return refuse(path, "it is a folder that no such export made; use -o to choose another name", diag);
    return force ? 0 : refuse_without_force(path, diag);
}

static int create_named(const char *path, bool force, const char *mark, struct sonde_out **result, struct sonde_diag *diag)
{
    struct sonde_out *out;
    char *folder = NULL;
    int code, fd = -1;
    if (strcmp(path, "-") == 0) {
        code = sonde_diag_set(diag, SONDE_EUNSUPPORTED, "standard output", "cannot write");
        sonde_diag_hint(diag, "this format is a %s; use -o to name it", mark ? "folder" : "file");
        return code;
    }
    out = make(path);
    if (!out)
        return sonde_diag_set(diag, SONDE_ENOMEM, path, "cannot write");
    for (size_t length = strlen(out->path); length > 1 && out->path[length - 1] == '/'; length--)
        out->path[length - 1] = 0;
    code = check_named(out->path, force, mark, diag);
    if (code) {
        destroy(out);
        return code;
    }
    out->force = force;
    out->named = true;
    out->folder = mark != NULL;
    errno = ENOMEM;
    if (name_temp(out, &folder) < 0 || (mark ? mkdir(out->temp, 0777) : (fd = open(out->temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666))) < 0) {
        code = say_uncreated(out->path, mark != NULL, diag);
        destroy(out);
        out = NULL;
    }
    free(folder);
    if (fd >= 0)
        close(fd);
    *result = out;
    return code;
}

int sonde_out_create_file(const char *path, bool force, struct sonde_out **out, struct sonde_diag *diag)
{
    return create_named(path, force, NULL, out, diag);
}

int sonde_out_create_folder(const char *path, bool force, const char *mark, struct sonde_out **out, struct sonde_diag *diag)
{
    return create_named(path, force, mark, out, diag);
}

const char *sonde_out_path(const struct sonde_out *out)
{
    return out->temp;
}

void sonde_out_fail(struct sonde_out *out, int error)
{
    if (!out->error)
        out->error = error ? error : EIO;
}

/* The bytes of all files below `path`; they are removed with `away`. */
static uint64_t walk_tree(char *path, bool away)
{
    char *const roots[] = {path, NULL};
    uint64_t bytes = 0;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && (entry = fts_read(tree));) {
        if (entry->fts_info == FTS_F)
            bytes += (uint64_t)entry->fts_statp->st_size;
        if (away && entry->fts_info != FTS_D)
            remove(entry->fts_accpath);
    }
    if (tree)
        fts_close(tree);
    return bytes;
}

static void write_all(struct sonde_out *out, const char *bytes, size_t size)
{
    while (size && !out->error) {
        ssize_t n = write(out->fd, bytes, size);
        if (n == 0 || (n < 0 && errno != EINTR))
            out->error = n ? errno : EIO;
        if (n <= 0)
            continue;
        bytes += n;
        size -= (size_t)n;
        out->flushed += (uint64_t)n;
    }
}

static void flush(struct sonde_out *out)
{
    write_all(out, out->buffer, out->used);
    out->used = 0;
}

static void close_member(struct sonde_out *out)
{
    flush(out);
    if (out->fd >= 0 && close(out->fd) < 0)
        sonde_out_fail(out, errno);
    out->fd = -1;
}

void sonde_out_member(struct sonde_out *out, const char *name)
{
    struct sonde_text path = {0};
    const char *slash = strchr(name, '/');
    close_member(out);
    if (out->error)
        return;
    if (slash) {
        sonde_text_format(&path, "%s/%.*s", out->temp, (int)(slash - name), name);
        if (mkdir(sonde_text_get(&path), 0777) < 0 && errno != EEXIST)
            sonde_out_fail(out, errno);
        path.length = 0;
    }
    sonde_text_format(&path, "%s/%s", out->temp, name);
    out->fd = out->error ? -1 : open(sonde_text_get(&path), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (out->fd < 0)
        sonde_out_fail(out, errno);
    sonde_text_fini(&path);
}

void sonde_out_bytes(struct sonde_out *out, const void *bytes, size_t size)
{
    if (size > OUT_BUFFER_BYTES - out->used)
        flush(out);
    if (size > OUT_BUFFER_BYTES) {
        write_all(out, bytes, size);
        return;
    }
    memcpy(out->buffer + out->used, bytes, size);
    out->used += size;
}

void sonde_out_text(struct sonde_out *out, const char *text)
{
    sonde_out_bytes(out, text, strlen(text));
}

void sonde_out_char(struct sonde_out *out, char c)
{
    sonde_out_bytes(out, &c, 1);
}

void sonde_out_u64(struct sonde_out *out, uint64_t value)
{
    char digits[20];
    char *p = digits + sizeof digits;
    do
        *--p = (char)('0' + value % 10);
    while (value /= 10);
    sonde_out_bytes(out, p, (size_t)(digits + sizeof digits - p));
}

void sonde_out_json(struct sonde_out *out, const char *text, struct sonde_text *room)
{
    const char *plain = sonde_utf8_clean(text, room), *s = plain; /* what can go as it is */
    char escape[8];
    sonde_out_char(out, '"');
    for (;; s++) {
        if ((unsigned char)*s >= 0x20 && *s != '"' && *s != '\\')
            continue;
        sonde_out_bytes(out, plain, (size_t)(s - plain));
        if (!*s)
            break;
        snprintf(escape, sizeof escape, *s == '"' || *s == '\\' ? "\\%c" : "\\u%04x", *s);
        sonde_out_text(out, escape);
        plain = s + 1;
    }
    sonde_out_char(out, '"');
}

bool sonde_out_failed(const struct sonde_out *out)
{
    return out->error != 0;
}

uint64_t sonde_out_size(const struct sonde_out *out)
{
    return out->named ? walk_tree(out->temp, false) + out->used : out->flushed + out->used;
}

/* Exchanged with the one that it replaces, which is removed then. */
static int place_folder(struct sonde_out *out)
{
    if (renameat2(AT_FDCWD, out->temp, AT_FDCWD, out->path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EINVAL) /* a file system without: rename replaces nothing but an empty folder */
        return rename(out->temp, out->path);
    if (errno != EEXIST || !out->force || renameat2(AT_FDCWD, out->temp, AT_FDCWD, out->path, RENAME_EXCHANGE) < 0)
        return -1;
    walk_tree(out->temp, true);
    return 0;
}

/* Give an unnamed file its hidden name or, when nothing is in the way, its own. */
static int place(struct sonde_out *out)
{
    char self[64];
    if (out->folder)
        return place_folder(out);
    snprintf(self, sizeof self, "/proc/self/fd/%d", out->fd);
    if (out->unnamed) {
        if (linkat(AT_FDCWD, self, AT_FDCWD, out->path, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST || !out->force)
            return -1;
        if (linkat(AT_FDCWD, self, AT_FDCWD, out->temp, AT_SYMLINK_FOLLOW) < 0)
            return -1;
        out->unnamed = false;
    }
    if (out->force)
        return rename(out->temp, out->path);
    if (link(out->temp, out->path) == 0)
        return unlink(out->temp);
    /* A file system without hard links: the name was free when we began. */
    if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOTSUP)
        return rename(out->temp, out->path);
    return -1;
}

int sonde_out_commit(struct sonde_out *out, struct sonde_diag *diag)
{
    int code = 0;
    if (out->named)
        close_member(out);
    else
        flush(out);
    if (!out->error && !out->direct && place(out) < 0)
        out->error = errno;
    if (!out->error && out->own_fd) {
        if (close(out->fd) < 0) {
            out->error = errno;
            if (!out->direct)
                unlink(out->path);
        }
        out->fd = -1;
    }
    if (out->error == EEXIST && !out->direct) {
        code = refuse_without_force(out->path, diag);
    } else if (out->error) {
        code = sonde_diag_set(diag, SONDE_EIO, out->path, "cannot write");
        sonde_diag_errno(diag, out->error);
    }
    if (code) {
        sonde_out_abandon(out);
        return code;
    }
    destroy(out);
    return 0;
}

void sonde_out_abandon(struct sonde_out *out)
{
    if (out->named && out->fd >= 0)
        close(out->fd);
    if (!out->direct && !out->unnamed)
        walk_tree(out->temp, true);
    destroy(out);
}
