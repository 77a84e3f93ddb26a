/* scan.c - find the chunks of data.sonde, by its index or one after the other.
 *
 * Chunks start at multiples of 8 and follow each other. Where none starts, the
 * scan looks for the next place where one does, and counts the stretch between
 * as damage. A file with an index at its end that agrees with the headers it
 * points to is not read through when it is large: its trace chunks are not even
 * touched, but checked when they are decoded. docs/format.md, "Reading data.sonde".
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

/* The chunk is sound; are the bytes that align the next one zero? Returns where they end. */
static uint64_t check_padding(struct sonde__data *data, const struct sonde__chunk_at *chunk)
{
    uint64_t end = chunk->offset + sonde_chunk_size(&chunk->header);
    uint64_t at = chunk->offset + sizeof chunk->header + chunk->header.stored_bytes;
    uint8_t any = 0;

    for (end = end > data->size ? data->size : end; at < end; at++)
        any |= data->bytes[at];
    data->damaged += any != 0;
    data->damaged_bytes += any != 0;
    return end;
}

static int read_through(struct sonde__data *data)
{
    static const uint32_t magic = SONDE_CHUNK_MAGIC;
    uint64_t at = 0, hole = 0;
    size_t room = 0;

    while (data->size - at >= sizeof(struct sonde_chunk)) {
        struct sonde__chunk_at chunk = { .offset = at, .checked = true };
        int status = memcmp(data->bytes + at, &magic, sizeof magic)
                         ? SONDE_EFORMAT
                         : sonde_chunk_check(data->bytes + at, data->size - at, &chunk.header);
        if (status == SONDE_EVERSION)
            return status;
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
        hole = at = check_padding(data, &chunk);
        data->end = chunk.offset + sonde_chunk_size(&chunk.header);
    }
    if (data->size > hole) {
        data->damaged++;
        data->damaged_bytes += data->size - hole;
    }
    return 0;
}

/* ---- index -------------------------------------------------------------- */

/* The last 64 bytes of an indexed file are a chunk header without payload
 * whose `first` is the offset of the index and whose time_max counts its rows. */
size_t sonde__footer_make(void *out, uint64_t at, uint64_t rows)
{
    struct sonde_chunk h = { .magic = SONDE_CHUNK_MAGIC, .version = SONDE_FORMAT_VERSION,
                             .table = SONDE_TABLE_INDEX, .first = at, .time_max = rows,
                             .row_bytes = sizeof(struct sonde_row_index) };
    h.checksum = XXH3_64bits(&h, sizeof h);
    memcpy(out, &h, sizeof h);
    return sizeof h;
}

static bool find_footer(const struct sonde__data *data, struct sonde_chunk *footer)
{
    size_t at = data->size - sizeof *footer;
    return data->size >= sizeof *footer && at % SONDE_CHUNK_ALIGN == 0 &&
           sonde_chunk_check(data->bytes + at, sizeof *footer, footer) == 0 &&
           footer->table == SONDE_TABLE_INDEX && !footer->count && footer->first && footer->first <= at;
}

/* The header of a trace chunk as its index row has it. Whether the chunk that
 * stands there is that one shows when it is read (trace.c). */
static bool header_of_row(const struct sonde_row_index *row, struct sonde_chunk *h)
{
    *h = (struct sonde_chunk){ .magic = SONDE_CHUNK_MAGIC, .version = SONDE_FORMAT_VERSION, .table = row->table,
                               .flags = row->flags, .owner = row->owner, .count = row->count, .first = row->first,
                               .time_min = row->time_min, .time_max = row->time_max,
                               .stored_bytes = row->size - (uint32_t)sizeof *h };
    return row->size >= sizeof *h && h->stored_bytes <= SONDE__PAYLOAD_MAX &&
           row->count <= sonde_chunk_room(row->table) && row->first <= UINT64_MAX - row->count;
}

/* Other tables are read at once anyway, so their checksums are verified here. */
static bool header_at_row(const struct sonde__data *data, const struct sonde_row_index *row, struct sonde_chunk *h)
{
    return sonde_chunk_check(data->bytes + row->offset, row->size, h) == 0 && h->table == row->table &&
           h->owner == row->owner && h->count == row->count && h->first == row->first &&
           row->size == sizeof *h + (uint64_t)h->stored_bytes;
}

static bool accept_row(struct sonde__data *data, size_t *room, const struct sonde_row_index *row, uint64_t limit)
{
    struct sonde__chunk_at chunk = { .offset = row->offset, .checked = !sonde_table_is_trace(row->table) };

    if (row->offset != data->end || row->offset > limit || row->size > limit - row->offset)
        return false; /* the index leaves something out */
    if (!(chunk.checked ? header_at_row(data, row, &chunk.header) : header_of_row(row, &chunk.header)))
        return false;
    data->end = row->offset + sonde_chunk_size(&chunk.header);
    return add_chunk(data, room, &chunk) == 0;
}

/* The chunks of the index and its footer, at the end of the list. */
static bool list_index(struct sonde__data *data, size_t *room, uint64_t at)
{
    while (at < data->size) {
        struct sonde__chunk_at chunk = { .offset = at, .checked = true };
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

/* Everything the index says must hold, or it is not used at all. */
static bool read_index(struct sonde__data *data)
{
    struct sonde__decoder *decoder = sonde__decoder_create();
    struct sonde_row_index *rows = malloc(SONDE_SEGMENT_ROOM);
    struct sonde_chunk footer;
    size_t room = 0;
    bool good = decoder && rows && find_footer(data, &footer) &&
                accept_rows(data, &room, &footer, decoder, rows) && list_index(data, &room, footer.first);

    if (good) {
        data->index_at = footer.first;
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
    return order ? order : x->offset < y->offset ? -1 : x->offset > y->offset;
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
    struct sonde_chunk key = { .table = s->header.table, .owner = s->header.owner, .first = s->header.first };
    bool by_content = key.table == SONDE_TABLE_CLOCK || key.table == SONDE_TABLE_NOTE;

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

static int map_file(const char *path, struct sonde__data *data, struct sonde_diag *diag)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status = 0;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        status = fd < 0 && errno == ENOENT ? SONDE_ENOTFOUND : SONDE_EIO;
        sonde_diag_set(diag, status, path, "cannot read the measurement");
        sonde_diag_errno(diag, fd < 0 ? errno : EINVAL);
    } else if ((data->size = (size_t)st.st_size) > 0) {
        void *bytes = mmap(NULL, data->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
            status = sonde_diag_set(diag, SONDE_EIO, path, "cannot read the measurement");
            sonde_diag_errno(diag, errno);
            data->size = 0;
        } else {
            data->bytes = bytes;
        }
    }
    if (fd >= 0)
        close(fd);
    return status;
}

static void version_hint(struct sonde_diag *diag)
{
    sonde_diag_hint(diag, "this build reads format versions up to %u: use a newer Sonde", SONDE_FORMAT_VERSION);
}

int sonde__data_open(const char *dir, bool eager, struct sonde__data *data, struct sonde_diag *diag)
{
    char *path = sonde__path(dir, SONDE__DATA_FILE);
    int status;

    memset(data, 0, sizeof *data);
    if (!path)
        return sonde_diag_set(diag, SONDE_ENOMEM, dir, "cannot read the measurement");
    status = map_file(path, data, diag);
    if (!status && data->size) {
        if (eager || data->size <= sonde__read_through_bytes || !read_index(data))
            status = read_through(data);
        if (!status && !data->count)
            status = SONDE_EFORMAT;
        if (status < 0) {
            sonde_diag_set(diag, status, path, "cannot read the measurement");
            if (status == SONDE_EVERSION)
                version_hint(diag);
            sonde__data_close(data);
        }
    }
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
