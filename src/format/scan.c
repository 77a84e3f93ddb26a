/* scan.c - find the chunks of data.sonde, by its index or one after the other.
 *
 * Chunks start at multiples of 8 and follow each other. Where none starts, the
 * scan looks for the next place where one does, and counts the stretch between
 * as damage. A file with a sound index at its end is not read through when it is
 * large: its chunks are not even touched, but checked when they are decoded.
 * docs/developers/format.md, "Reading data.sonde".
 *
 * Somebody who seals may cut the file behind its last sound chunk meanwhile, and
 * touching a page of a mapping that lies behind the end is death by SIGBUS. So
 * what is not known to be sound is looked at in a copy; of the mapping only sound
 * chunks are touched, which nobody takes away again.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sonde__read_through_bytes = 64u << 20;

static int add_chunk(struct sonde__data *data, size_t *room, const struct sonde__chunk_at *chunk)
{
    if (data->count == *room) {
        size_t wanted = *room ? *room * 2 : 64;
        void *more = realloc(data->chunks, wanted * sizeof *data->chunks);
        if (!more)
            return SONDE_ENOMEM;
        data->chunks = more;
        *room = wanted;
    }
    data->chunks[data->count++] = *chunk;
    return 0;
}

/* A part of the file, copied. */
#define WINDOW_BYTES (1u << 20)
#define CHUNK_MAX    (sizeof(struct sonde_chunk) + SONDE__PAYLOAD_MAX + SONDE_CHUNK_ALIGN)
static_assert(CHUNK_MAX < WINDOW_BYTES, "a chunk with its padding is in one window");

struct window {
    int fd;
    uint64_t from;
    size_t count;
    uint8_t *bytes;
};

static ssize_t read_at(int fd, void *bytes, size_t size, uint64_t at)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, (uint8_t *)bytes + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (!n)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* The bytes from `at` on, *count of them: a whole chunk at least, or all that there are.
 * data->size becomes less when the file has. NULL: reading failed. */
static const uint8_t *look(struct window *w, struct sonde__data *data, uint64_t at, size_t *count)
{
    uint64_t wanted = data->size - at < CHUNK_MAX ? data->size - at : CHUNK_MAX;

    if (at < w->from || at + wanted > w->from + w->count) {
        uint64_t left = data->size - at;
        ssize_t n = read_at(w->fd, w->bytes, left < WINDOW_BYTES ? left : WINDOW_BYTES, at);
        if (n < 0)
            return NULL;
        w->from = at;
        w->count = (size_t)n;
        if (w->count < left && w->count < WINDOW_BYTES)
            data->size = at + w->count;
    }
    *count = (size_t)(w->from + w->count - at);
    return w->bytes + (at - w->from);
}

/* The chunk at `bytes` is sound; are those that align the next one zero? Returns where they end. */
static uint64_t check_padding(struct sonde__data *data, const struct sonde__chunk_at *chunk, const uint8_t *bytes)
{
    uint64_t size = sonde_chunk_size(&chunk->header), left = data->size - chunk->offset;
    uint64_t end = size < left ? size : left;
    uint8_t any = 0;

    for (uint64_t at = sizeof chunk->header + chunk->header.stored_bytes; at < end; at++)
        any |= bytes[at];
    data->damaged += any != 0;
    data->damaged_bytes += any != 0;
    return chunk->offset + end;
}

static int list_chunks(struct sonde__data *data, struct window *w)
{
    static const uint32_t magic = SONDE_CHUNK_MAGIC;
    uint64_t at = 0, hole = 0;
    size_t room = 0;

    while (data->size - at >= sizeof(struct sonde_chunk)) {
        struct sonde__chunk_at chunk = {.offset = at, .checked = true};
        size_t count;
        const uint8_t *bytes = look(w, data, at, &count);
        if (!bytes)
            return SONDE_EIO;
        if (count < sizeof(struct sonde_chunk))
            break;
        int status = memcmp(bytes, &magic, sizeof magic) ? SONDE_EFORMAT
                                                         : sonde_chunk_check(bytes, count, &chunk.header);
        if (status == SONDE_EVERSION) {
            data->version = chunk.header.version;
            return status;
        }
        if (status < 0) {
            at += SONDE_CHUNK_ALIGN;
            continue;
        }
        if (at > hole) {
            data->damaged++;
            data->damaged_bytes += at - hole;
        }
        if (add_chunk(data, &room, &chunk) < 0)
            return SONDE_ENOMEM;
        hole = at = check_padding(data, &chunk, bytes);
        data->end = chunk.offset + sonde_chunk_size(&chunk.header);
    }
    if (data->size > hole) {
        data->damaged++;
        data->damaged_bytes += data->size - hole;
    }
    return 0;
}

static int read_through(struct sonde__data *data, int fd)
{
    struct window w = {.fd = fd, .bytes = malloc(WINDOW_BYTES)};
    int status = w.bytes ? list_chunks(data, &w) : SONDE_ENOMEM;
    free(w.bytes);
    return status;
}

/* ---- index -------------------------------------------------------------- */

/* The last 64 bytes of an indexed file are a chunk header without payload
 * whose `first` is the offset of the index and whose time_max counts its rows. */
size_t sonde__footer_make(void *out, uint64_t at, uint64_t rows)
{
    struct sonde_chunk h = {
        .magic = SONDE_CHUNK_MAGIC,
        .version = SONDE_FORMAT_VERSION,
        .table = SONDE_TABLE_INDEX,
        .first = at,
        .time_max = rows,
        .row_bytes = sizeof(struct sonde_row_index),
    };
    h.checksum = XXH3_64bits(&h, sizeof h);
    memcpy(out, &h, sizeof h);
    return sizeof h;
}

struct sonde_row_index sonde__index_row(const struct sonde_chunk *h, uint64_t offset)
{
    return (struct sonde_row_index){
        .offset = offset,
        .size = (uint32_t)sizeof *h + h->stored_bytes,
        .table = h->table,
        .flags = h->flags,
        .owner = h->owner,
        .count = h->count,
        .first = h->first,
        .time_min = h->time_min,
        .time_max = h->time_max,
    };
}

static bool find_footer(const struct sonde__data *data, int fd, struct sonde_chunk *footer)
{
    size_t at = data->size - sizeof *footer;
    uint8_t bytes[sizeof *footer];
    return data->size >= sizeof *footer && at % SONDE_CHUNK_ALIGN == 0 &&
           read_at(fd, bytes, sizeof bytes, at) == (ssize_t)sizeof bytes &&
           sonde_chunk_check(bytes, sizeof bytes, footer) == 0 &&
           footer->table == SONDE_TABLE_INDEX && !footer->count && footer->first && footer->first <= at;
}

/* The header of a chunk as its index row has it. Whether the chunk that stands
 * there is that one shows when it is read (process.c, trace.c). */
static bool header_of_row(const struct sonde_row_index *row, struct sonde_chunk *h)
{
    *h = (struct sonde_chunk){
        .magic = SONDE_CHUNK_MAGIC,
        .version = SONDE_FORMAT_VERSION,
        .table = row->table,
        .flags = row->flags,
        .owner = row->owner,
        .count = row->count,
        .first = row->first,
        .time_min = row->time_min,
        .time_max = row->time_max,
        .stored_bytes = row->size - (uint32_t)sizeof *h,
    };
    return row->size >= sizeof *h && h->stored_bytes <= SONDE__PAYLOAD_MAX &&
           row->count <= sonde_chunk_room(row->table) && row->first <= UINT64_MAX - row->count;
}

static bool accept_row(struct sonde__data *data, size_t *room, const struct sonde_row_index *row, uint64_t limit)
{
    struct sonde__chunk_at chunk = {.offset = row->offset};

    if (row->offset != data->end || row->offset > limit || row->size > limit - row->offset)
        return false; /* the index leaves something out */
    if (!header_of_row(row, &chunk.header))
        return false;
    data->end = row->offset + sonde_chunk_size(&chunk.header);
    return add_chunk(data, room, &chunk) == 0;
}

/* The chunks of the index and its footer, at the end of the list. */
static bool list_index(struct sonde__data *data, size_t *room, uint64_t at)
{
    while (at < data->size) {
        struct sonde__chunk_at chunk = {.offset = at, .checked = true};
        if (sonde_chunk_check(data->bytes + at, data->size - at, &chunk.header) < 0 ||
            chunk.header.table != SONDE_TABLE_INDEX || add_chunk(data, room, &chunk) < 0)
            return false;
        at += sonde_chunk_size(&chunk.header);
    }
    return at == data->size;
}

static bool accept_rows(struct sonde__data *data, size_t *room, const struct sonde_chunk *footer,
                        struct sonde__decoder *decoder, struct sonde_row_index *rows)
{
    uint64_t at = footer->first, stop = data->size - sizeof *footer;

    while (at < stop) {
        struct sonde_chunk h;
        if (sonde_chunk_check(data->bytes + at, stop - at, &h) < 0 || h.table != SONDE_TABLE_INDEX ||
            sonde__decoder_run(decoder, data->bytes + at, stop - at, &h, rows) < 0)
            return false;
        for (uint32_t i = 0; i < h.count; i++)
            if (!accept_row(data, room, &rows[i], footer->first))
                return false;
        at += sonde_chunk_size(&h);
    }
    return at == stop && data->count == footer->time_max && data->end == footer->first;
}

/* Everything the index says must hold, or it is not used at all. A file that
 * ends in a footer is sound to its end, as far as it may be mapped at all. */
static bool read_index(struct sonde__data *data, const struct sonde_chunk *footer)
{
    struct sonde__decoder *decoder = sonde__decoder_create();
    struct sonde_row_index *rows = malloc(SONDE_SEGMENT_ROOM);
    size_t room = 0;
    bool good = decoder && rows && accept_rows(data, &room, footer, decoder, rows) &&
                list_index(data, &room, footer->first);

    if (good) {
        data->index_at = footer->first;
        data->end = data->size;
    } else {
        free(data->chunks);
        data->chunks = NULL;
        data->count = 0;
        data->end = 0;
    }
    sonde__decoder_destroy(decoder);
    free(rows);
    return good;
}

/* ---- finding a chunk ---------------------------------------------------- */

bool sonde__chunk_is(const void *bytes, size_t size, const struct sonde_chunk *as, struct sonde_chunk *found)
{
    return sonde_chunk_check(bytes, size, found) == 0 && found->table == as->table && found->owner == as->owner &&
           found->count == as->count && found->first == as->first && found->time_min == as->time_min &&
           found->time_max == as->time_max && found->stored_bytes == as->stored_bytes;
}

int sonde__chunk_compare(const struct sonde_chunk *a, const struct sonde_chunk *b)
{
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return 0;
}

static int compare_order(const void *a, const void *b)
{
    const struct sonde__chunk_at *x = *(struct sonde__chunk_at *const *)a, *y = *(struct sonde__chunk_at *const *)b;
    int order = sonde__chunk_compare(&x->header, &y->header);
    return order ? order : (x->offset < y->offset ? -1 : x->offset > y->offset);
}

int sonde__data_sort(struct sonde__data *data)
{
    free(data->order);
    data->order = malloc((data->count + 1) * sizeof *data->order);
    if (!data->order)
        return SONDE_ENOMEM;
    for (size_t i = 0; i < data->count; i++)
        data->order[i] = &data->chunks[i];
    if (data->count)
        qsort(data->order, data->count, sizeof *data->order, compare_order);
    return 0;
}

size_t sonde__data_find(const struct sonde__data *data, const struct sonde_chunk *key)
{
    size_t low = 0, high = data->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sonde__chunk_compare(&data->order[middle]->header, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A chunk of a trace may hold several segments: does the one that begins before
 * `key` hold these rows too? */
static bool within_chunk(const struct sonde__data *data, const struct sonde_chunk *key, uint32_t count)
{
    size_t at = sonde__data_find(data, key);
    const struct sonde_chunk *h = at ? &data->order[at - 1]->header : NULL;
    return h && h->table == key->table && h->owner == key->owner && key->first + count <= h->first + h->count;
}

/* Rows without an id are told apart by what they say. */
bool sonde__segment_sealed(const struct sonde__data *data, const struct sonde__live_segment *s,
                           struct sonde__decoder *decoder, void *rows)
{
    struct sonde_chunk key = {.table = s->header.table, .owner = s->header.owner, .first = s->header.first};
    bool by_content = sonde_table_info(key.table)->properties & SONDE_ROWS_NO_ID;

    if (sonde_chunk_room(key.table) > SONDE_SEGMENT_ROOM && within_chunk(data, &key, s->count))
        return true;
    for (size_t i = sonde__data_find(data, &key); i < data->count; i++) {
        const struct sonde__chunk_at *c = data->order[i];
        if (sonde__chunk_compare(&c->header, &key))
            break;
        if (c->header.count < s->count)
            continue;
        if (!by_content)
            return true;
        if (!sonde__decoder_run(decoder, data->bytes + c->offset, data->size - c->offset, &c->header, rows) &&
            !memcmp(rows, s->rows, (size_t)s->count * s->header.row_bytes))
            return true;
    }
    return false;
}

/* ---- the file ----------------------------------------------------------- */

static int open_file(const char *path, struct sonde__data *data, struct sonde_diag *diag)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        data->size = (size_t)st.st_size;
        return fd;
    }
    status = fd < 0 && errno == ENOENT ? SONDE_ENOTFOUND : SONDE_EIO;
    sonde_diag_set(diag, status, path, "cannot read the measurement");
    sonde_diag_errno(diag, fd < 0 ? errno : EINVAL);
    if (fd >= 0)
        close(fd);
    return status;
}

static bool map_file(struct sonde__data *data, int fd)
{
    void *bytes = mmap(NULL, data->size, PROT_READ, MAP_PRIVATE, fd, 0);
    data->bytes = bytes == MAP_FAILED ? NULL : bytes;
    return data->bytes;
}

static int find_chunks(struct sonde__data *data, int fd, bool through)
{
    struct sonde_chunk footer;
    bool indexed = !through && find_footer(data, fd, &footer);

    if (indexed && !map_file(data, fd))
        return SONDE_EIO;
    if (indexed) /* little of the file is wanted, here and there, and none of what lies between */
        madvise((void *)(uintptr_t)data->bytes, data->size, MADV_RANDOM);
    int status = indexed && read_index(data, &footer) ? 0 : read_through(data, fd);
    if (!status && !data->count)
        status = SONDE_EFORMAT;
    return status || data->bytes || map_file(data, fd) ? status : SONDE_EIO;
}

int sonde__data_open(const char *dir, bool through, struct sonde__data *data, struct sonde_diag *diag)
{
    char *path = sonde__path(dir, SONDE_DATA_FILE);
    int status, fd;

    memset(data, 0, sizeof *data);
    if (!path)
        return sonde_diag_set(diag, SONDE_ENOMEM, dir, "cannot read the measurement");
    fd = open_file(path, data, diag);
    status = fd < 0 ? fd : 0;
    if (!status && data->size) {
        errno = 0;
        status = find_chunks(data, fd, through);
        if (status < 0) {
            int errnum = errno;
            sonde_diag_set(diag, status, path, "cannot read the measurement");
            if (status == SONDE_EIO)
                sonde_diag_errno(diag, errnum);
            if (status == SONDE_EVERSION)
                sonde__version_hint(diag, data->version);
            sonde__data_close(data);
        }
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return status;
}

void sonde__data_close(struct sonde__data *data)
{
    if (data->bytes)
        munmap((void *)(uintptr_t)data->bytes, data->size);
    free(data->chunks);
    free(data->order);
    memset(data, 0, sizeof *data);
}
