/* seal.c - after the program ended: live.sonde becomes chunks at the end of data.sonde.
 *
 * Order makes it safe to be killed anywhere: chunks are only added, a segment
 * that is in data.sonde already is not added again, and live.sonde is removed
 * last. docs/developers/format.md, "Sealing".
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

struct writer {
    int fd;
    char *path;
    uint64_t at;                   /* the file's length now, */
    uint64_t whole;                /* and up to its last whole chunk */
    struct sonde__data data;       /* what was there before; its bytes stay valid */
    struct sonde_row_index *index; /* every chunk of the file */
    size_t count, room;
    void *scratch;
    uint8_t *out;
};

static int write_all(struct writer *w, const void *bytes, size_t size)
{
    for (const uint8_t *from = bytes; size;) {
        ssize_t put = pwrite(w->fd, from, size, (off_t)w->at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            errno = put ? errno : ENOSPC;
            return SONDE_EIO;
        }
        from += put;
        size -= (size_t)put;
        w->at += (uint64_t)put;
    }
    return 0;
}

static int list_chunk(struct writer *w, const struct sonde_chunk *h, uint64_t offset)
{
    if (w->count == w->room) {
        size_t room = w->room ? w->room * 2 : 256;
        void *more = realloc(w->index, room * sizeof *w->index);
        if (!more)
            return SONDE_ENOMEM;
        w->index = more;
        w->room = room;
    }
    w->index[w->count++] = sonde__index_row(h, offset);
    return 0;
}

static int put_chunk(struct writer *w, enum sonde_table table, uint32_t owner, uint64_t first,
                     const void *rows, uint32_t count)
{
    struct sonde_chunk h;
    uint64_t at = w->at;
    long size = sonde_chunk_encode(table, owner, first, rows, count, w->scratch, w->out, sonde_chunk_bound());
    int status = size < 0 ? (int)size : write_all(w, w->out, (size_t)size);

    memcpy(&h, w->out, sizeof h);
    if (status < 0)
        return status;
    w->whole = w->at;
    return list_chunk(w, &h, at);
}

/* Bytes of whole strings that fit a chunk. */
static uint32_t fit_strings(const uint8_t *bytes, uint32_t size, uint32_t *strings)
{
    uint64_t at = 0;
    uint32_t length;

    for (*strings = 0; size - at >= sizeof length; (*strings)++) {
        memcpy(&length, bytes + at, sizeof length);
        uint64_t next = at + sizeof length + (((uint64_t)length + 3) & ~(uint64_t)3);
        if (next > size || next > SONDE_SEGMENT_ROOM)
            break;
        at = next;
    }
    return (uint32_t)at;
}

static int put_rows(struct writer *w, enum sonde_table table, uint64_t first, const void *rows, uint32_t count)
{
    uint32_t width = sonde_row_bytes(table), part, ids;
    int status = 0;

    for (const uint8_t *from = rows; count && !status; from += (size_t)part * width, count -= part, first += ids) {
        ids = part = count < SONDE_SEGMENT_ROOM / width ? count : SONDE_SEGMENT_ROOM / width;
        if (table == SONDE_TABLE_STRING)
            part = fit_strings(from, count, &ids);
        status = part ? put_chunk(w, table, 0, first, from, part) : SONDE_EINVALID;
    }
    return status;
}

/* The index of all chunks so far, and the footer that says where it is. The
 * footer is a chunk without payload, so a reader without an index steps over it. */
static int put_index(struct writer *w)
{
    uint32_t most = SONDE_SEGMENT_ROOM / sizeof *w->index;
    size_t rows = w->count;
    uint64_t at = w->at;
    int status = 0;

    for (size_t i = 0; i < rows && !status; i += most)
        status = put_chunk(w, SONDE_TABLE_INDEX, 0, i, w->index + i, (uint32_t)(rows - i < most ? rows - i : most));
    if (status < 0)
        return status;
    return write_all(w, w->out, sonde__footer_make(w->out, at, rows));
}

static int open_file(struct writer *w, const char *dir, int flags, struct sonde_diag *diag)
{
    int status;

    w->path = sonde__path(dir, SONDE_DATA_FILE);
    if (!w->path)
        return sonde_diag_set(diag, SONDE_ENOMEM, dir, "cannot seal the measurement");
    w->fd = open(w->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (w->fd < 0 && errno == ENOENT && flags & O_CREAT)
        w->fd = sonde_file_make(w->path, O_RDWR | O_NOFOLLOW);
    if (w->fd < 0) {
        status = sonde_diag_set(diag, errno == ENOENT ? SONDE_ENOTFOUND : SONDE_EIO, w->path, "cannot seal the measurement");
        sonde_diag_errno(diag, errno);
        return status;
    }
    if (flock(w->fd, LOCK_EX | LOCK_NB) < 0)
        return sonde_diag_set(diag, SONDE_EBUSY, w->path, "another process is already sealing it");
    return 0;
}

/* Open data.sonde for adding chunks: what follows the last sound one is cut,
 * and its padding is made up for when that was cut off. */
static int writer_init(struct writer *w, const char *dir, int flags, struct sonde_diag *diag)
{
    int status;

    *w = (struct writer){.fd = -1};
    status = open_file(w, dir, flags, diag);
    if (status < 0)
        return status;
    struct stat st;
    const bool through = flags & O_CREAT || (fstat(w->fd, &st) == 0 && (uint64_t)st.st_size <= sonde__read_through_bytes);
    status = sonde__data_open(dir, through, &w->data, diag);
    if (status < 0 && status != SONDE_EFORMAT)
        return status;
    w->scratch = aligned_alloc(64, sonde_chunk_scratch_bytes());
    w->out = malloc(sonde_chunk_bound());
    if (!w->scratch || !w->out || sonde__data_sort(&w->data) < 0)
        return sonde_diag_set(diag, SONDE_ENOMEM, w->path, "cannot seal the measurement");
    for (size_t i = 0; i < w->data.count; i++)
        if (list_chunk(w, &w->data.chunks[i].header, w->data.chunks[i].offset) < 0)
            return sonde_diag_set(diag, SONDE_ENOMEM, w->path, "cannot seal the measurement");
    w->whole = w->at = w->data.end;
    if (ftruncate(w->fd, (off_t)w->at) == 0)
        return 0;
    status = sonde_diag_set(diag, SONDE_EIO, w->path, "cannot seal the measurement");
    sonde_diag_errno(diag, errno);
    return status;
}

static void writer_fini(struct writer *w)
{
    sonde__data_close(&w->data);
    if (w->fd >= 0)
        close(w->fd);
    free(w->path);
    free(w->index);
    free(w->scratch);
    free(w->out);
}

/* Adding failed (a full disk). Whole chunks stay: a report may have mapped them
 * meanwhile, and sealing again goes on after them. */
static int give_up(struct writer *w, int status, struct sonde_diag *diag)
{
    int errnum = errno;
    if (ftruncate(w->fd, (off_t)w->whole) < 0)
        errnum = errno;
    sonde_diag_set(diag, status, w->path, "cannot seal the measurement");
    if (status == SONDE_EIO)
        sonde_diag_errno(diag, errnum);
    sonde_diag_hint(diag, "nothing is lost: it can be read as it is");
    return status;
}

/* ---- sealing ------------------------------------------------------------ */

/* Does the process still map the file? Not its pid but the mapping decides:
 * pids are used again. A process that is not to be seen counts as ended. */
static bool still_mapped(const char *path, uint32_t pid)
{
    char name[64], *line = NULL;
    size_t room = 0;
    struct stat st;
    bool found = false;

    snprintf(name, sizeof name, "/proc/%" PRIu32 "/maps", pid);
    FILE *maps = pid && stat(path, &st) == 0 ? fopen(name, "re") : NULL;
    if (!maps)
        return false;
    /* The device number is no help: some file systems show another one here. */
    while (!found && getline(&line, &room, maps) > 0) {
        uint64_t inode;
        found = sscanf(line, "%*x-%*x %*s %*x %*x:%*x %" SCNu64, &inode) == 1 && inode == st.st_ino &&
                strstr(line, "/" SONDE_LIVE_FILE);
    }
    free(line);
    fclose(maps);
    return found;
}

/* What is to be sealed, segment by segment, in the order of table, owner and first. */
struct unsealed {
    const struct sonde__live_segment **segments;
    uint32_t count;
    uint8_t *rows; /* SONDE_CHUNK_ROOM bytes */
};

static int compare_segments(const void *a, const void *b)
{
    const struct sonde__live_segment *x = *(const struct sonde__live_segment *const *)a;
    const struct sonde__live_segment *y = *(const struct sonde__live_segment *const *)b;
    struct sonde_chunk k = {.table = x->header.table, .owner = x->header.owner, .first = x->header.first};
    struct sonde_chunk l = {.table = y->header.table, .owner = y->header.owner, .first = y->header.first};
    int order = sonde__chunk_compare(&k, &l);
    return order ? order : (x < y ? -1 : x > y);
}

static int list_unsealed(const struct writer *w, const struct sonde__live *live, struct unsealed *u)
{
    struct sonde__decoder *decoder = sonde__decoder_create();

    u->count = 0;
    u->rows = malloc(SONDE_CHUNK_ROOM);
    u->segments = malloc(((size_t)live->count + 1) * sizeof *u->segments);
    if (!decoder || !u->rows || !u->segments) {
        sonde__decoder_destroy(decoder);
        return SONDE_ENOMEM;
    }
    for (uint32_t i = 0; i < live->count; i++)
        if (!sonde__segment_sealed(&w->data, &live->segments[i], decoder, u->rows))
            u->segments[u->count++] = &live->segments[i];
    if (u->count)
        qsort(u->segments, u->count, sizeof *u->segments, compare_segments);
    sonde__decoder_destroy(decoder);
    return 0;
}

/* One chunk of segment `at` and of those after it that go on with the same
 * trace, as many as a chunk may hold. Returns how many, or an error. */
static int put_run(struct writer *w, const struct unsealed *u, uint32_t at)
{
    const struct sonde_segment *h = &u->segments[at]->header;
    enum sonde_table table = (enum sonde_table)h->table;
    uint32_t rows = h->used, end = at + 1, room = sonde_chunk_room(h->table) / h->row_bytes;
    int status;

    for (; sonde_chunk_room(h->table) > SONDE_SEGMENT_ROOM && end < u->count; end++) {
        const struct sonde_segment *n = &u->segments[end]->header;
        if (n->table != h->table || n->owner != h->owner || n->first != h->first + rows || n->used > room - rows)
            break;
        if (end == at + 1)
            memcpy(u->rows, u->segments[at]->rows, (size_t)rows * h->row_bytes);
        memcpy(u->rows + (size_t)rows * h->row_bytes, u->segments[end]->rows, (size_t)n->used * n->row_bytes);
        rows += n->used;
    }
    status = put_chunk(w, table, h->owner, h->first, end == at + 1 ? u->segments[at]->rows : u->rows, rows);
    return status < 0 ? status : (int)(end - at);
}

static int put_live(struct writer *w, const struct sonde__live *live)
{
    struct unsealed u;
    int status = list_unsealed(w, live, &u);

    for (uint32_t i = 0; i < u.count && status >= 0; i += (uint32_t)status)
        status = put_run(w, &u, i);
    free(u.segments);
    free(u.rows);
    return status < 0 ? status : 0;
}

static int put_all(const char *dir, const struct sonde__live *live, struct sonde_diag *diag)
{
    struct writer w;
    int status = writer_init(&w, dir, O_CREAT, diag);

    if (!status) {
        status = put_live(&w, live);
        if (!status && live->header_valid)
            status = put_chunk(&w, SONDE_TABLE_PROCESS, 0, 0, &live->header, 1);
        if (!status)
            status = put_index(&w);
        if (status < 0)
            give_up(&w, status, diag);
    }
    writer_fini(&w);
    return status;
}

static int seal_live(const char *dir, const char *path, const struct sonde__live *live, struct sonde_diag *diag)
{
    int status = put_all(dir, live, diag);
    if (!status && unlink(path) < 0 && errno != ENOENT) {
        status = sonde_diag_set(diag, SONDE_EIO, path, "cannot remove what is sealed");
        sonde_diag_errno(diag, errno);
    }
    return status;
}

/* The process was killed while it made its files: nothing of it is left over, the folder included. */
static int remove_begun(const char *dir, const char *live_path)
{
    char *path = sonde__path(dir, SONDE_DATA_FILE);
    struct stat st;
    int status = !path ? SONDE_ENOMEM : (unlink(live_path) == 0 ? 0 : SONDE_EIO);
    if (!status && stat(path, &st) == 0 && st.st_size == 0)
        unlink(path);
    free(path);
    rmdir(dir); /* it stays where something is in it */
    return status;
}

static int sealed_already(const char *dir, struct sonde_diag *diag)
{
    char *path = sonde__path(dir, SONDE_DATA_FILE);
    int status = !path ? SONDE_ENOMEM : (access(path, F_OK) == 0 || rmdir(dir) == 0 ? 0 : SONDE_ENOTFOUND);
    free(path);
    return status ? sonde_diag_set(diag, status, dir, "cannot seal the measurement") : 0;
}

int sonde_process_seal(const char *dir, struct sonde_diag *diag)
{
    char *path = sonde__path(dir, SONDE_LIVE_FILE);
    struct sonde__live live;
    int status;

    if (!path)
        return sonde_diag_set(diag, SONDE_ENOMEM, dir, "cannot seal the measurement");
    status = sonde__live_read(dir, false, &live, diag);
    if (status == SONDE_ENOTFOUND)
        status = sealed_already(dir, diag);
    else if (status == SONDE_EEMPTY)
        status = remove_begun(dir, path);
    else if (!status && still_mapped(path, live.header.pid))
        status = sonde_diag_set(diag, SONDE_EBUSY, path, "the process is still running");
    else if (!status && live.unknown_rows) {
        status = sonde_diag_set(diag, SONDE_EVERSION, path, "cannot seal the measurement");
        sonde_diag_hint(diag, "it has tables unknown to this version: seal it with the version of Sonde that recorded it");
    } else if (!status)
        status = seal_live(dir, path, &live, diag);
    sonde__live_free(&live);
    free(path);
    return status;
}

int sonde_process_copy(const char *dir, const char *to, struct sonde_diag *diag)
{
    struct sonde__live live;
    int status = sonde__live_read(dir, false, &live, diag);
    if (status)
        return status;
    char *path = sonde__path(dir, SONDE_LIVE_FILE);
    if (path && live.header_valid && live.header.state == SONDE_PROCESS_RUNNING && still_mapped(path, live.header.pid))
        live.header.state = SONDE_PROCESS_EXITED; /* not killed */
    status = put_all(to, &live, diag);
    sonde__live_free(&live);
    free(path);
    return status;
}

int sonde_process_append(const char *dir, enum sonde_table table, uint64_t first,
                         const void *rows, uint32_t count, struct sonde_diag *diag)
{
    char *live = sonde__path(dir, SONDE_LIVE_FILE);
    struct writer w;
    int status;

    if (!live)
        return sonde_diag_set(diag, SONDE_ENOMEM, dir, "cannot add to the measurement");
    status = access(live, F_OK);
    free(live);
    if (!status)
        return sonde_diag_set(diag, SONDE_EBUSY, dir, "cannot add to a measurement that is not sealed");
    if (!count)
        return 0;
    if (!sonde_row_bytes(table))
        return sonde_diag_set(diag, SONDE_EINVALID, dir, "no such table");
    status = writer_init(&w, dir, 0, diag);
    if (!status) {
        status = put_rows(&w, table, first, rows, count);
        if (!status)
            status = put_index(&w);
        if (status < 0)
            give_up(&w, status, diag);
    }
    writer_fini(&w);
    return status;
}
