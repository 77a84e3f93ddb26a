/* live.c - a consistent copy of live.sonde, while the program may still be writing.
 *
 * Read with pread rather than mapped: the file may be truncated under us, and
 * a mapping would answer that with SIGBUS. A segment's rows are written before
 * its `used` (rows.h), so the header is read first; it is read again after the
 * rows, because the agent may have given the segment to another table.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer.h"

char *sonde__path(const char *dir, const char *file)
{
    char *path;
    return asprintf(&path, "%s/%s", dir, file) < 0 ? NULL : path;
}

void sonde__version_hint(struct sonde_diag *diag, long long version)
{
    sonde_diag_hint(diag, "it has format version %lld, this build reads version %u: read it with the version of Sonde that recorded it",
                    version, SONDE_FORMAT_VERSION);
}

/* 0 when all `size` bytes were read; ENOTFOUND at the end of the file. */
static int read_at(int fd, void *to, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t got = pread(fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? SONDE_EIO : SONDE_ENOTFOUND;
        to = (uint8_t *)to + got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* Whole strings at the start of `bytes`, and the bytes they take. */
static uint32_t whole_strings(const uint8_t *bytes, uint32_t size, uint32_t *used)
{
    uint32_t count = 0, length;
    *used = 0;
    while (size - *used >= sizeof length) {
        memcpy(&length, bytes + *used, sizeof length);
        uint64_t whole = sizeof length + (((uint64_t)length + 3) & ~(uint64_t)3);
        if (whole > size - *used)
            break;
        *used += (uint32_t)whole;
        count++;
    }
    return count;
}

enum verdict {
    EMPTY,
    SOUND,
    UNKNOWN,
    DAMAGED,
};

static enum verdict judge(struct sonde_segment *h)
{
    static const struct sonde_segment nothing;
    const struct sonde_table_info *table = sonde_table_info(h->table);
    uint32_t room;

    if (h->magic != SONDE_SEGMENT_MAGIC)
        return memcmp(h, &nothing, sizeof nothing) ? DAMAGED : EMPTY;
    if (h->table == SONDE_TABLE_FREE || !h->used)
        return EMPTY;
    if (!table)
        return (uint64_t)h->used * h->row_bytes <= SONDE_SEGMENT_ROOM ? UNKNOWN : DAMAGED;
    if (table->properties & SONDE_ROWS_AFTERWARDS || h->row_bytes != table->row_bytes ||
        h->first > UINT64_MAX - SONDE_SEGMENT_BYTES)
        return DAMAGED;
    room = SONDE_SEGMENT_ROOM / table->row_bytes;
    h->used = h->used > room ? room : h->used;
    return SOUND;
}

static bool same_segment(const struct sonde_segment *a, const struct sonde_segment *b)
{
    return a->magic == b->magic && a->table == b->table && a->owner == b->owner && a->first == b->first;
}

/* Copy one segment's rows. 0 with s->block NULL: nothing in it (any more). */
static int copy_segment(int fd, uint64_t offset, struct sonde__live_segment *s)
{
    struct sonde_segment *h = &s->header, again;
    int status;

    s->count = h->used;
    s->block = malloc(SONDE_SEGMENT_HEADER + (size_t)h->used * h->row_bytes);
    if (!s->block)
        return SONDE_ENOMEM;
    s->rows = s->block + SONDE_SEGMENT_HEADER;
    status = read_at(fd, s->rows, (size_t)h->used * h->row_bytes, offset + SONDE_SEGMENT_HEADER);
    if (!status)
        status = read_at(fd, &again, sizeof again, offset);
    if (!status && same_segment(h, &again)) {
        if (h->table == SONDE_TABLE_STRING)
            s->count = whole_strings(s->rows, h->used, &h->used);
        memcpy(s->block, h, sizeof *h);
        if (s->count)
            return 0;
    }
    free(s->block);
    s->block = NULL;
    return status;
}

/* A truncated file ends within this segment: keep the rows that are there. */
static void cut_short(struct sonde_segment *h, uint64_t left, struct sonde__live *live)
{
    if ((uint64_t)h->used * h->row_bytes <= left)
        return;
    h->used = (uint32_t)(left / h->row_bytes);
    live->damaged++;
    live->damaged_bytes += SONDE_SEGMENT_ROOM - left;
}

int sonde__live_add(struct sonde__live *live, const struct sonde__live_segment *s)
{
    if (!(live->count & (live->count - 1))) {
        uint32_t room = live->count ? live->count * 2 : 1;
        void *more = realloc(live->segments, room * sizeof *live->segments);
        if (!more)
            return SONDE_ENOMEM;
        live->segments = more;
    }
    live->segments[live->count++] = *s;
    return 0;
}

/* As far as segments were ever used. The agent says that before it uses one, in order: behind a number that is too small there is a used one. */
static uint64_t used_size(int fd, uint64_t size, const struct sonde__live *live)
{
    static const struct sonde_segment nothing;
    const uint64_t used = (uint64_t)live->header.segment_count * SONDE_SEGMENT_BYTES;
    struct sonde_segment next;
    if (!live->header_valid || !used || used + sizeof next > size)
        return size;
    return read_at(fd, &next, sizeof next, used) == 0 && memcmp(&next, &nothing, sizeof next) == 0 ? used : size;
}

/* Segments that were begun since `size` was found are read, too: rows that were read may be about what is in them. */
static uint64_t used_now(int fd, uint64_t file_size, uint64_t size, struct sonde__live *live)
{
    uint32_t count;
    if (!live->header_valid || read_at(fd, &count, sizeof count, offsetof(struct sonde_live_header, segment_count)) || count <= live->header.segment_count)
        return size;
    live->header.segment_count = count;
    return used_size(fd, file_size, live);
}

/* Tables of sums, and those that name and place them. */
static bool is_of_sums(unsigned table)
{
    switch (table) {
    case SONDE_TABLE_STRING:
    case SONDE_TABLE_FRAME:
    case SONDE_TABLE_NODE:
    case SONDE_TABLE_DEVICE:
    case SONDE_TABLE_LANE:
    case SONDE_TABLE_PROFILE: return true;
    default: return false;
    }
}

static int read_part(int fd, uint64_t at, uint64_t size, struct sonde__live *live)
{
    for (; at + SONDE_SEGMENT_HEADER <= size; at += SONDE_SEGMENT_BYTES) {
        struct sonde__live_segment s;
        enum verdict verdict;
        int status = read_at(fd, &s.header, sizeof s.header, at);
        if (status == SONDE_ENOTFOUND)
            break;
        if (status < 0)
            return status;
        verdict = judge(&s.header);
        if (verdict == EMPTY || (live->sums && verdict == SOUND && !is_of_sums(s.header.table)))
            continue;
        if (verdict == UNKNOWN)
            live->unknown_rows += s.header.used;
        if (verdict == SOUND) {
            cut_short(&s.header, size - at - SONDE_SEGMENT_HEADER, live);
            live->base_at = s.header.table == SONDE_TABLE_BASE ? at : live->base_at;
            status = copy_segment(fd, at, &s);
            if (!status && s.block && (status = sonde__live_add(live, &s)) < 0)
                free(s.block);
            if (status < 0 && status != SONDE_ENOTFOUND)
                return status;
        }
        if (verdict == DAMAGED || status == SONDE_ENOTFOUND) {
            live->damaged++;
            live->damaged_bytes += size - at < SONDE_SEGMENT_BYTES ? size - at : SONDE_SEGMENT_BYTES;
        }
    }
    return 0;
}

/* What was given back while the others were read is older than the times that there are now. */
static void read_base_again(int fd, struct sonde__live *live)
{
    for (uint32_t i = 0; live->base_at && i < live->count; i++) {
        struct sonde__live_segment *s = &live->segments[i];
        if (s->header.table == SONDE_TABLE_BASE)
            (void)read_at(fd, s->rows, (size_t)s->count * s->header.row_bytes, live->base_at + SONDE_SEGMENT_HEADER);
    }
}

static int read_segments(int fd, uint64_t file_size, struct sonde__live *live)
{
    uint64_t at = SONDE_SEGMENT_BYTES, size = used_size(fd, file_size, live);
    int status = 0;
    while (at < size && !status) {
        status = read_part(fd, at, size, live);
        at = size;
        size = used_now(fd, file_size, size, live);
    }
    return status;
}

/* A damaged header costs the header, not the segments behind it. The agent
 * writes the magic number last: one without it was never finished, the process
 * was killed while it made the file, and an empty file was not even given its size. */
static int read_header(int fd, uint64_t size, struct sonde__live *live)
{
    struct sonde_live_header *h = &live->header;
    int status = read_at(fd, h, sizeof *h, 0);
    bool begun = size && (status || h->magic);

    if (!status && h->magic == SONDE_LIVE_MAGIC && h->version != SONDE_FORMAT_VERSION)
        return SONDE_EVERSION;
    live->header_valid = !status && h->magic == SONDE_LIVE_MAGIC && h->segment_bytes == SONDE_SEGMENT_BYTES;
    if (!live->header_valid) {
        memset(h, 0, sizeof *h);
        live->damaged += begun;
        live->damaged_bytes += begun ? sizeof *h : 0;
    }
    h->executable[sizeof h->executable - 1] = '\0';
    return status == SONDE_EIO ? status : 0;
}

bool sonde_process_now(const char *dir, struct sonde_live_header *out)
{
    struct sonde__live live = {0};
    char *path = sonde__path(dir, SONDE_LIVE_FILE);
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    const bool read = fd >= 0 && read_header(fd, sizeof live.header, &live) == 0 && live.header_valid;
    if (read)
        *out = live.header;
    if (fd >= 0)
        close(fd);
    free(path);
    return read;
}

int sonde__live_read(const char *dir, bool sums, struct sonde__live *live, struct sonde_diag *diag)
{
    char *path = sonde__path(dir, SONDE_LIVE_FILE);
    struct stat st;
    int fd, status;

    *live = (struct sonde__live){.sums = sums};
    if (!path)
        return sonde_diag_set(diag, SONDE_ENOMEM, dir, "cannot read the measurement");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        status = sonde_diag_set(diag, fd < 0 && errno == ENOENT ? SONDE_ENOTFOUND : SONDE_EIO, path, "cannot read the measurement");
        sonde_diag_errno(diag, fd < 0 ? errno : EINVAL);
        goto done;
    }
    live->disk_bytes = (uint64_t)st.st_blocks * 512;
    status = read_header(fd, (uint64_t)st.st_size, live);
    if (!status)
        status = read_segments(fd, (uint64_t)st.st_size, live);
    if (!status && !sums) {
        read_base_again(fd, live);
        status = sonde__live_last(live);
    }
    if (!status && !live->header_valid && live->count && !live->damaged)
        live->damaged++; /* no segment comes before its header is finished: that was lost */
    if (!status && !live->header_valid && !live->count)
        status = live->damaged ? SONDE_EFORMAT : SONDE_EEMPTY;
    if (status < 0) {
        sonde_diag_set(diag, status, path, "cannot read the measurement");
        if (status == SONDE_EVERSION)
            sonde__version_hint(diag, live->header.version);
        sonde__live_free(live);
    }
done:
    if (fd >= 0)
        close(fd);
    free(path);
    return status;
}

void sonde__live_free(struct sonde__live *live)
{
    for (uint32_t i = 0; i < live->count; i++)
        free(live->segments[i].block);
    free(live->segments);
    live->segments = NULL;
    live->count = 0;
}
