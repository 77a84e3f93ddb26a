/* decode.c - check a chunk and turn its columns back into rows.
 *
 * The inverse of chunk.c, but it follows what the chunk says about itself and
 * never the encoder's lists of columns.
 * Every number of the input is doubted: any bytes may come here.
 */
#include "decode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/error.h>

#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK_ROWS = 256 };

struct sonde__decoder {
    ZSTD_DCtx *zstd;
    uint64_t values[SONDE_COLUMNS_MAX][BLOCK_ROWS];
    uint8_t payload[SONDE__PAYLOAD_MAX + 8]; /* packed bits are read eight bytes at a time */
};

/* ---- check -------------------------------------------------------------- */

static uint64_t checksum(const uint8_t *data, const struct sonde_chunk *chunk)
{
    struct sonde_chunk h = *chunk;
    XXH3_state_t state;

    h.checksum = 0;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, &h, sizeof h);
    XXH3_64bits_update(&state, data + sizeof h, chunk->stored_bytes);
    return XXH3_64bits_digest(&state);
}

/* Do the header's numbers agree with each other? Also bounds what decoding allocates. */
static int check_sizes(const struct sonde_chunk *h)
{
    uint32_t known = sonde_row_bytes(h->table), room = sonde_chunk_room(h->table);

    if (h->raw_bytes > room + SONDE__DIRECTORY_MAX || h->stored_bytes > h->raw_bytes ||
        (!(h->flags & SONDE_CHUNK_ZSTD) && h->stored_bytes != h->raw_bytes))
        return SONDE_EFORMAT;
    if (h->count > room || (uint64_t)h->count * h->row_bytes > room)
        return SONDE_EFORMAT;
    if (h->first > UINT64_MAX - h->count || h->columns > SONDE_COLUMNS_MAX)
        return SONDE_EFORMAT;
    if (h->table == SONDE_TABLE_STRING)
        return h->columns || h->raw_bytes > room ? SONDE_EFORMAT : 0;
    return known && h->row_bytes != known ? SONDE_EFORMAT : 0;
}

int sonde_chunk_check(const void *data, size_t size, struct sonde_chunk *chunk)
{
    struct sonde_chunk h;

    if (size < sizeof h)
        return SONDE_EFORMAT;
    memcpy(&h, data, sizeof h);
    if (h.magic != SONDE_CHUNK_MAGIC || h.stored_bytes > size - sizeof h)
        return SONDE_EFORMAT;
    /* The checksum before the version: a flipped bit is not another version. */
    if (checksum(data, &h) != h.checksum)
        return SONDE_EFORMAT;
    *chunk = h;
    return h.version != SONDE_FORMAT_VERSION ? SONDE_EVERSION : check_sizes(&h);
}

/* ---- columns ------------------------------------------------------------ */

struct reader {
    const uint8_t *at, *end;
};

static int get_varint(struct reader *r, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return 0;
    }
    return SONDE_EFORMAT;
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

struct entry {
    struct sonde_column column;
    uint32_t planes, shift;
    uint64_t first, least, divisor;
    const uint8_t *plane_at, *packed_at;
    uint64_t last;   /* DELTA, SPARSE, GAP, AFTER: the value before the next block */
    uint32_t chain;  /* index + 1 of the GAP or AFTER whose chain it is in; 0 none */
    bool needed, referred, stored;
};

/* Where the column is in the row. */
static int get_place(struct reader *r, struct sonde_column *c, uint32_t row_bytes)
{
    uint64_t width, offset;
    if (get_varint(r, &width) < 0 || get_varint(r, &offset) < 0 || !width || width > row_bytes ||
        offset > row_bytes - width)
        return SONDE_EFORMAT;
    c->width = (uint16_t)width;
    c->offset = (uint16_t)offset;
    return 0;
}

static bool opens_chain(const struct sonde_column *c)
{
    return c->predictor == SONDE_PREDICT_GAP || c->predictor == SONDE_PREDICT_AFTER;
}

static int get_entry(struct reader *r, struct entry *e, uint32_t row_bytes)
{
    struct sonde_column *c = &e->column;
    uint8_t flags;

    if (r->end - r->at < 2)
        return SONDE_EFORMAT;
    *e = (struct entry){.planes = r->at[0] >> 4, .divisor = 1};
    c->predictor = r->at[0] & 15;
    flags = r->at[1];
    e->shift = flags & (SONDE__ENTRY_DIVISOR - 1);
    r->at += 2;
    if (get_place(r, c, row_bytes) < 0 || c->predictor > SONDE_PREDICT_AFTER)
        return SONDE_EFORMAT;
    if (c->predictor == SONDE_PREDICT_BYTES)
        return e->planes || flags ? SONDE_EFORMAT : 0;
    if ((c->width & (c->width - 1)) || c->width > 8 || e->planes > 8 || e->shift > SONDE__SHIFT_MAX ||
        e->shift + 8 * e->planes > 8u * c->width)
        return SONDE_EFORMAT;
    if (c->predictor == SONDE_PREDICT_DIFF || c->predictor == SONDE_PREDICT_GAP) {
        if (r->at == r->end)
            return SONDE_EFORMAT;
        c->ref = *r->at++;
    }
    if (opens_chain(c)) {
        if (r->at == r->end)
            return SONDE_EFORMAT;
        c->span = *r->at++;
    }
    if (get_varint(r, &e->first) < 0 || get_varint(r, &e->least) < 0 ||
        ((flags & SONDE__ENTRY_DIVISOR) && get_varint(r, &e->divisor) < 0))
        return SONDE_EFORMAT;
    e->first = unzigzag(e->first);
    e->least = unzigzag(e->least);
    return 0;
}

/* A GAP or AFTER is followed by its chain: DIFF columns, each to the one before it. */
static int check_chain(const struct entry *e, uint32_t gap, uint32_t count)
{
    const struct sonde_column *c = &e[gap].column;

    if (c->width != 8 || (c->predictor == SONDE_PREDICT_GAP && e[c->ref].column.width != 8) || !c->span || c->span >= count - gap)
        return SONDE_EFORMAT;
    for (uint32_t i = gap + 1; i <= gap + c->span; i++)
        if (e[i].column.predictor != SONDE_PREDICT_DIFF || e[i].column.ref != i - 1 || e[i].column.width != 8)
            return SONDE_EFORMAT;
    return 0;
}

/* References go backwards, to numbers. */
static int check_references(const struct entry *e, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde_column *c = &e[i].column;
        if (c->predictor == SONDE_PREDICT_SPARSE && c->width != 8)
            return SONDE_EFORMAT;
        if ((c->predictor == SONDE_PREDICT_DIFF || c->predictor == SONDE_PREDICT_GAP) &&
            (c->ref >= i || e[c->ref].column.predictor == SONDE_PREDICT_BYTES))
            return SONDE_EFORMAT;
        if (opens_chain(c) && check_chain(e, i, count) < 0)
            return SONDE_EFORMAT;
    }
    return 0;
}

static size_t packed_bytes(const struct entry *e, uint32_t count)
{
    return ((size_t)e->shift * (count - 1) + 7) / 8;
}

/* Bytes of a column's planes, or of the fields themselves. */
static size_t plane_bytes(const struct entry *e, uint32_t count)
{
    return e->column.predictor == SONDE_PREDICT_BYTES ? (size_t)e->column.width * count
                                                      : (size_t)e->planes * (count - 1);
}

/* Do the columns fill the payload exactly? Says where each one's bytes are. */
static int split_payload(const struct reader *r, struct entry *e, uint32_t columns, uint32_t count)
{
    size_t planes = 0, bits = 0, size = (size_t)(r->end - r->at);

    for (uint32_t i = 0; i < columns; i++) {
        e[i].plane_at = r->at + planes;
        planes += plane_bytes(&e[i], count);
        bits += packed_bytes(&e[i], count);
    }
    if (planes + bits != size)
        return SONDE_EFORMAT;
    const uint8_t *packed = r->at + planes;
    for (uint32_t i = 0; i < columns; i++) {
        e[i].packed_at = packed;
        packed += packed_bytes(&e[i], count);
    }
    return 0;
}

/* ---- blocks of rows -------------------------------------------------------
 * All columns of a few rows, then the next: what one column needs of another
 * is then still in the first cache, and so are the rows. */

struct block {
    uint32_t first, count; /* rows; of the chunk */
    uint32_t rows;         /* of the chunk, in all */
};

/* Distances without divisor and least of `count` rows, the first at `index` of
 * the column's own count, which leaves out the chunk's first row. */
static void unpack(const struct entry *e, uint32_t index, uint32_t count, uint32_t rows, uint64_t *restrict to)
{
    const uint8_t *plane = e->plane_at + index;
    const uint64_t mask = (1ull << e->shift) - 1;
    uint64_t eight;
    size_t bit = (size_t)index * e->shift;

    if (!e->shift && e->planes == 1) {
        for (uint32_t i = 0; i < count; i++)
            to[i] = plane[i];
        return;
    }
    if (!e->shift)
        memset(to, 0, count * sizeof *to);
    else if (e->planes)
        for (uint32_t i = 0; i < count; i++, bit += e->shift) {
            memcpy(&eight, e->packed_at + bit / 8, sizeof eight);
            to[i] = (eight >> bit % 8 & mask) | (uint64_t)plane[i] << e->shift;
        }
    else
        for (uint32_t i = 0; i < count; i++, bit += e->shift) {
            memcpy(&eight, e->packed_at + bit / 8, sizeof eight);
            to[i] = eight >> bit % 8 & mask;
        }
    for (uint32_t p = e->shift ? 1 : 0; p < e->planes; p++) {
        const uint32_t shift = e->shift + 8 * p;
        plane = e->plane_at + (size_t)p * (rows - 1) + index;
        for (uint32_t i = 0; i < count; i++)
            to[i] |= (uint64_t)plane[i] << shift;
    }
}

static void get_distances(const struct entry *e, const struct block *b, uint64_t *values)
{
    const uint32_t skip = b->first == 0; /* row 0 has its distance in the directory */
    uint64_t *rest = values + skip;
    const uint32_t count = b->count - skip;

    values[0] = e->first;
    if (!e->shift && !e->planes) {
        for (uint32_t i = 0; i < count; i++)
            rest[i] = e->least;
        return;
    }
    unpack(e, b->first + skip - 1, count, b->rows, rest);
    for (uint32_t i = 0; e->divisor != 1 && i < count; i++)
        rest[i] *= e->divisor;
    for (uint32_t i = 0; e->least && i < count; i++)
        rest[i] += e->least;
}

static void undo_sparse(uint64_t *values, uint32_t count, uint64_t *last)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i])
            values[i] = *last += unzigzag(values[i] - 1);
}

/* A GAP or AFTER column and its chain need each other row by row; until now all
 * hold their distances. AFTER is a GAP to a column of zeros. */
static void close_chain(struct entry *e, uint64_t (*values)[BLOCK_ROWS], uint32_t gap, uint32_t count)
{
    const struct sonde_column *c = &e[gap].column;
    const uint64_t *ref = c->predictor == SONDE_PREDICT_GAP ? values[c->ref] : NULL;
    uint64_t value = e[gap].last;

    for (uint32_t i = 0; i < count; i++) {
        value = values[gap][i] + (ref && ref[i] > value ? ref[i] : value);
        values[gap][i] = value;
        for (uint32_t k = gap + 1; k <= gap + c->span; k++)
            value = values[k][i] += value;
    }
    e[gap].last = value;
}

/* The values of a column in a block; those of a chain when its last column is done. */
static void get_values(struct entry *all, uint32_t index, const struct block *b, uint64_t (*values)[BLOCK_ROWS])
{
    struct entry *e = &all[index];
    uint64_t *to = values[index];
    const uint64_t *ref = values[e->column.ref];

    get_distances(e, b, to);
    if (e->chain) {
        if (index == e->chain - 1 + all[e->chain - 1].column.span)
            close_chain(all, values, e->chain - 1, b->count);
        return;
    }
    if (e->column.predictor == SONDE_PREDICT_DELTA)
        for (uint32_t i = 0; i < b->count; i++)
            to[i] = e->last += to[i];
    if (e->column.predictor == SONDE_PREDICT_SPARSE)
        undo_sparse(to, b->count, &e->last);
    if (e->column.predictor == SONDE_PREDICT_DIFF)
        for (uint32_t i = 0; i < b->count; i++)
            to[i] += ref[i];
    if (e->column.width < 8 && e->referred) {
        const uint64_t mask = (1ull << 8 * e->column.width) - 1;
        for (uint32_t i = 0; i < b->count; i++)
            to[i] &= mask;
    }
}

#define STORE(type)                                                     \
    for (uint32_t i = 0; i < count; i++, at += stride) {                \
        const type v = (type)values[i];                                 \
        memcpy(at, &v, sizeof v);                                       \
    }                                                                   \
    break

static void store_values(uint8_t *at, size_t stride, uint32_t count, uint32_t width, const uint64_t *values)
{
    switch (width) {
    case 1: STORE(uint8_t);
    case 2: STORE(uint16_t);
    case 4: STORE(uint32_t);
    default: STORE(uint64_t);
    }
}

static void copy_bytes(uint8_t *at, size_t stride, const struct entry *e, const struct block *b)
{
    const uint32_t width = e->column.width;
    const uint8_t *from = e->plane_at + (size_t)b->first * width;

    for (uint32_t i = 0; i < b->count; i++, at += stride, from += width)
        memcpy(at, from, width);
}

/* ---- which columns ------------------------------------------------------ */

/* Fields of a row as bits (decode.h): those that a column holds. */
static uint64_t field_bits(const struct sonde_column *c)
{
    const uint32_t low = c->offset / 2, high = (c->offset + c->width - 1u) / 2;
    return low > 63 ? 0 : (high >= 63 ? UINT64_MAX : (1ull << (high + 1)) - 1) & ~((1ull << low) - 1);
}

/* Marks what `fields` needs: the columns themselves, what they refer to, and
 * chains whole. References go backwards, so one pass from the end does. */
static void mark_needed(struct entry *e, uint32_t columns, uint64_t fields)
{
    for (uint32_t i = columns; i-- > 0;) {
        const struct sonde_column *c = &e[i].column;
        e[i].stored = fields == SONDE__ALL_FIELDS || (field_bits(c) & fields);
        e[i].needed |= e[i].stored;
        if (opens_chain(c)) {
            for (uint32_t k = i + 1; k <= i + c->span; k++) {
                e[k].chain = i + 1;
                e[i].needed |= e[k].needed;
            }
            for (uint32_t k = i + 1; k <= i + c->span; k++)
                e[k].needed = e[i].needed;
        }
        if (e[i].needed && (c->predictor == SONDE_PREDICT_DIFF || c->predictor == SONDE_PREDICT_GAP))
            e[c->ref].needed = e[c->ref].referred = true;
    }
}

/* Where the columns are in rows that have only the fields `kept`. */
static int move_columns(struct entry *e, uint32_t columns, uint64_t kept)
{
    for (uint32_t i = 0; i < columns; i++) {
        if (!e[i].stored)
            continue;
        if (field_bits(&e[i].column) & ~kept)
            return SONDE_EFORMAT;
        e[i].column.offset = (uint16_t)sonde__kept_before(kept, e[i].column.offset);
    }
    return 0;
}

/* Do the columns hold every byte of a row? */
static bool are_whole(const struct entry *e, uint32_t columns, size_t stride)
{
    uint8_t there[sizeof(struct sonde_live_header)] = {0};

    for (uint32_t i = 0; i < columns; i++)
        memset(there + e[i].column.offset, 1, e[i].column.width);
    return !memchr(there, 0, stride);
}

/* ---- chunks ------------------------------------------------------------- */

struct sonde__decoder *sonde__decoder_create(void)
{
    struct sonde__decoder *d = malloc(sizeof *d);
    if (d && !(d->zstd = ZSTD_createDCtx())) {
        free(d);
        d = NULL;
    }
    return d;
}

void sonde__decoder_destroy(struct sonde__decoder *d)
{
    if (d)
        ZSTD_freeDCtx(d->zstd);
    free(d);
}

size_t sonde__decoded_bytes(const struct sonde_chunk *chunk)
{
    if (chunk->table == SONDE_TABLE_STRING)
        return chunk->raw_bytes;
    return (size_t)chunk->count * sonde_row_bytes(chunk->table);
}

/* Is this a segment's worth of `count` strings? */
static int check_strings(const uint8_t *bytes, uint32_t size, uint32_t count)
{
    uint64_t at = 0;
    uint32_t length;

    for (; count && size - at >= sizeof length; count--) {
        memcpy(&length, bytes + at, sizeof length);
        at += sizeof length + (((uint64_t)length + 3) & ~(uint64_t)3);
        if (at > size)
            return SONDE_EFORMAT;
    }
    return count || at != size ? SONDE_EFORMAT : 0;
}

/* The payload as the columns are in it. */
static int get_payload(struct sonde__decoder *d, const uint8_t *payload, const struct sonde_chunk *chunk)
{
    if (chunk->flags & SONDE_CHUNK_ZSTD) {
        size_t got = ZSTD_decompressDCtx(d->zstd, d->payload, SONDE__PAYLOAD_MAX, payload, chunk->stored_bytes);
        return ZSTD_isError(got) || got != chunk->raw_bytes ? SONDE_EFORMAT : 0;
    }
    memcpy(d->payload, payload, chunk->raw_bytes);
    return 0;
}

static void get_rows(struct sonde__decoder *d, struct entry *e, uint32_t columns, uint32_t rows, size_t stride, uint8_t *to)
{
    for (struct block b = {.rows = rows}; b.first < rows; b.first += b.count) {
        uint8_t *block = to + b.first * stride;
        b.count = rows - b.first < BLOCK_ROWS ? rows - b.first : BLOCK_ROWS;
        for (uint32_t i = 0; i < columns; i++)
            if (e[i].needed && e[i].column.predictor != SONDE_PREDICT_BYTES)
                get_values(e, i, &b, d->values);
        for (uint32_t i = 0; i < columns; i++)
            if (e[i].stored && e[i].column.predictor == SONDE_PREDICT_BYTES)
                copy_bytes(block + e[i].column.offset, stride, &e[i], &b);
            else if (e[i].stored)
                store_values(block + e[i].column.offset, stride, b.count, e[i].column.width, d->values[i]);
    }
}

int sonde__decoder_fields(struct sonde__decoder *d, const void *data, size_t size, const struct sonde_chunk *chunk,
                          uint64_t fields, uint64_t kept, void *rows)
{
    const size_t stride = sonde_row_bytes(chunk->table);
    struct entry entries[SONDE_COLUMNS_MAX];

    if (size < sizeof *chunk || size - sizeof *chunk < chunk->stored_bytes || !stride || check_sizes(chunk) < 0 ||
        get_payload(d, (const uint8_t *)data + sizeof *chunk, chunk) < 0)
        return SONDE_EFORMAT;
    if (chunk->table == SONDE_TABLE_STRING) {
        memcpy(rows, d->payload, chunk->raw_bytes);
        return check_strings(rows, chunk->raw_bytes, chunk->count);
    }
    if (!chunk->count)
        return 0;

    struct reader r = {d->payload, d->payload + chunk->raw_bytes};
    for (uint32_t i = 0; i < chunk->columns; i++)
        if (get_entry(&r, &entries[i], chunk->row_bytes) < 0)
            return SONDE_EFORMAT;
    if (check_references(entries, chunk->columns) < 0 || split_payload(&r, entries, chunk->columns, chunk->count) < 0 ||
        !are_whole(entries, chunk->columns, stride))
        return SONDE_EFORMAT;
    mark_needed(entries, chunk->columns, fields & kept);
    if (move_columns(entries, chunk->columns, kept) < 0)
        return SONDE_EFORMAT;
    get_rows(d, entries, chunk->columns, chunk->count, sonde__kept_before(kept, stride), rows);
    return 0;
}

int sonde__decoder_run(struct sonde__decoder *d, const void *data, size_t size,
                       const struct sonde_chunk *chunk, void *rows)
{
    return sonde__decoder_fields(d, data, size, chunk, SONDE__ALL_FIELDS, SONDE__ALL_FIELDS, rows);
}

int sonde_chunk_decode(const void *data, size_t size, const struct sonde_chunk *chunk, void *rows)
{
    struct sonde__decoder *d = sonde__decoder_create();
    int status = d ? sonde__decoder_run(d, data, size, chunk, rows) : SONDE_ENOMEM;
    sonde__decoder_destroy(d);
    return status;
}
