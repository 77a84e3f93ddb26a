/* decode.c - check a chunk and turn its columns back into rows.
 *
 * The inverse of chunk.c, but it follows what the chunk says about itself and
 * never the encoder's tables, so that chunks of older builds stay readable.
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

#include "columns.h" /* the predictors */

#define ROWS_MAX SONDE_CHUNK_ROWS_MAX

struct sonde__decoder {
    ZSTD_DCtx *zstd;
    uint64_t   values[ROWS_MAX], gaps[ROWS_MAX];
    uint32_t   gap, chain_end; /* columns of the open chain; 0 = none is open */
    uint8_t    payload[SONDE__PAYLOAD_MAX + 8]; /* packed bits are read eight bytes at a time */
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
    uint32_t known = sonde_row_bytes((enum sonde_table)h->table), room = sonde_chunk_room(h->table);

    if (h->raw_bytes > room + SONDE__DIRECTORY_MAX || h->stored_bytes > h->raw_bytes ||
        (!(h->flags & SONDE_CHUNK_ZSTD) && h->stored_bytes != h->raw_bytes))
        return SONDE_EFORMAT;
    if (h->count > room || (uint64_t)h->count * h->row_bytes > room)
        return SONDE_EFORMAT;
    if (h->first > UINT64_MAX - h->count || h->columns > SONDE_COLUMNS_MAX)
        return SONDE_EFORMAT;
    if (h->table == SONDE_TABLE_STRING)
        return h->columns || h->raw_bytes > room ? SONDE_EFORMAT : 0;
    if (known && (!h->row_bytes || h->row_bytes > known || (h->count && known > room / h->count)))
        return SONDE_EFORMAT;
    return 0;
}

int sonde_chunk_check(const void *data, size_t size, struct sonde_chunk *chunk)
{
    struct sonde_chunk h;

    if (size < sizeof h)
        return SONDE_EFORMAT;
    memcpy(&h, data, sizeof h);
    if (h.magic != SONDE_CHUNK_MAGIC || h.stored_bytes > size - sizeof h)
        return SONDE_EFORMAT;
    /* The checksum before the version: a flipped bit is not a newer version. */
    if (checksum(data, &h) != h.checksum)
        return SONDE_EFORMAT;
    if (h.version > SONDE_FORMAT_VERSION) {
        *chunk = h;
        return SONDE_EVERSION;
    }
    if (!h.version || check_sizes(&h) < 0)
        return SONDE_EFORMAT;
    *chunk = h;
    return 0;
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
    *e = (struct entry){ .planes = r->at[0] >> 4, .divisor = 1 };
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

/* The distances of a column: packed bits, the planes above them, the divisor,
 * and the smallest distance. */
static void get_distances(const uint8_t *planes, const uint8_t *packed, const struct entry *e,
                          uint32_t count, uint64_t *values)
{
    uint32_t rest = count - 1;
    uint64_t mask = (1ull << e->shift) - 1, eight;

    values[0] = e->first;
    if (!e->shift)
        memset(values + 1, 0, rest * sizeof *values);
    for (size_t i = 0, bit = 0; e->shift && i < rest; i++, bit += e->shift) {
        memcpy(&eight, packed + bit / 8, sizeof eight);
        values[i + 1] = eight >> bit % 8 & mask;
    }
    for (uint32_t p = 0; p < e->planes; p++, planes += rest) {
        uint32_t shift = e->shift + 8 * p;
        for (uint32_t i = 0; i < rest; i++)
            values[i + 1] |= (uint64_t)planes[i] << shift;
    }
    for (uint32_t i = 1; e->divisor != 1 && i < count; i++)
        values[i] *= e->divisor;
    for (uint32_t i = 1; i < count; i++)
        values[i] += e->least;
}

#define FOR_ROWS(type, ...)                                             \
    for (uint32_t i = 0; i < count; i++, at += stride) {                \
        type v;                                                         \
        __VA_ARGS__;                                                    \
    }                                                                   \
    break

/* values[i] += row i's value of a column */
static void add_column(const uint8_t *at, size_t stride, uint32_t count, uint32_t width, uint64_t *values)
{
    switch (width) {
    case 1: FOR_ROWS(uint8_t, memcpy(&v, at, sizeof v); values[i] += v);
    case 2: FOR_ROWS(uint16_t, memcpy(&v, at, sizeof v); values[i] += v);
    case 4: FOR_ROWS(uint32_t, memcpy(&v, at, sizeof v); values[i] += v);
    default: FOR_ROWS(uint64_t, memcpy(&v, at, sizeof v); values[i] += v);
    }
}

static void store_column(uint8_t *at, size_t stride, uint32_t count, uint32_t width, const uint64_t *values)
{
    switch (width) {
    case 1: FOR_ROWS(uint8_t, v = (uint8_t)values[i]; memcpy(at, &v, sizeof v));
    case 2: FOR_ROWS(uint16_t, v = (uint16_t)values[i]; memcpy(at, &v, sizeof v));
    case 4: FOR_ROWS(uint32_t, v = (uint32_t)values[i]; memcpy(at, &v, sizeof v));
    default: FOR_ROWS(uint64_t, v = values[i]; memcpy(at, &v, sizeof v));
    }
}

struct target {
    uint8_t *rows;
    size_t   stride;
    uint32_t count;
};

static void undo_sparse(uint64_t *values, uint32_t count)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < count; i++)
        if (values[i])
            values[i] = last += unzigzag(values[i] - 1);
}

/* A GAP or AFTER column and its chain need each other row by row. The distances
 * of the chain stand in the rows already. AFTER is a GAP to a column of zeros. */
static void close_chain(const uint64_t *gaps, const struct entry *all, uint32_t gap, const struct target *t)
{
    static const uint8_t zero[8];
    const struct sonde_column *c = &all[gap].column;
    bool after = c->predictor == SONDE_PREDICT_AFTER;
    const uint8_t *ref = after ? zero : t->rows + all[c->ref].column.offset;
    uint64_t value = 0, other;
    uint8_t *row = t->rows;

    for (uint32_t i = 0; i < t->count; i++, row += t->stride, ref += after ? 0 : t->stride) {
        memcpy(&other, ref, sizeof other);
        value = gaps[i] + (value > other ? value : other);
        memcpy(row + c->offset, &value, sizeof value);
        for (uint32_t k = gap + 1; k <= gap + c->span; k++) {
            memcpy(&other, row + all[k].column.offset, sizeof other);
            value += other;
            memcpy(row + all[k].column.offset, &value, sizeof value);
        }
    }
}

/* Bytes of a column's planes, or of the fields themselves. */
static size_t column_bytes(const struct entry *e, uint32_t count)
{
    return e->column.predictor == SONDE_PREDICT_BYTES ? (size_t)e->column.width * count
                                                      : (size_t)e->planes * (count - 1);
}

/* Do the columns fill the payload exactly? `packed` gets where the packed bits begin. */
static int split_payload(const struct reader *r, const struct entry *e, uint32_t columns,
                         uint32_t count, struct reader *packed)
{
    size_t planes = 0, bits = 0, size = (size_t)(r->end - r->at);

    for (uint32_t i = 0; i < columns; i++) {
        planes += column_bytes(&e[i], count);
        bits += packed_bytes(&e[i], count);
    }
    if (planes + bits != size)
        return SONDE_EFORMAT;
    *packed = (struct reader){ r->at + planes, r->end };
    return 0;
}

/* `packed` moves over the column's packed bits, which stand after all planes. */
static void get_column(struct sonde__decoder *d, struct reader *r, struct reader *packed,
                      const struct entry *all, uint32_t index, const struct target *t)
{
    const struct entry *e = &all[index];
    const struct sonde_column *c = &e->column;
    size_t size = column_bytes(e, t->count);
    const uint8_t *from = r->at, *bits = packed->at;
    uint8_t *at = t->rows + c->offset;

    r->at += size;
    packed->at += packed_bytes(e, t->count);
    if (c->predictor == SONDE_PREDICT_BYTES) {
        for (uint32_t i = 0; i < t->count; i++, from += c->width)
            memcpy(at + i * t->stride, from, c->width);
        return;
    }
    get_distances(from, bits, e, t->count, opens_chain(c) ? d->gaps : d->values);
    if (opens_chain(c)) {
        d->gap = index;
        d->chain_end = index + c->span;
        return;
    }
    if (c->predictor == SONDE_PREDICT_DELTA)
        for (uint32_t i = 1; i < t->count; i++)
            d->values[i] += d->values[i - 1];
    if (c->predictor == SONDE_PREDICT_SPARSE)
        undo_sparse(d->values, t->count);
    if (c->predictor == SONDE_PREDICT_DIFF && !d->chain_end)
        add_column(t->rows + all[c->ref].column.offset, t->stride, t->count, all[c->ref].column.width, d->values);
    store_column(at, t->stride, t->count, c->width, d->values);
    if (d->chain_end == index && index) {
        close_chain(d->gaps, all, d->gap, t);
        d->chain_end = 0;
    }
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
    return (size_t)chunk->count * sonde_row_bytes((enum sonde_table)chunk->table);
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

int sonde__decoder_run(struct sonde__decoder *d, const void *data, size_t size,
                       const struct sonde_chunk *chunk, void *rows)
{
    const uint8_t *payload = (const uint8_t *)data + sizeof *chunk;
    struct target t = { rows, sonde_row_bytes((enum sonde_table)chunk->table), chunk->count };
    struct entry entries[SONDE_COLUMNS_MAX];

    if (size < sizeof *chunk || size - sizeof *chunk < chunk->stored_bytes || !t.stride || check_sizes(chunk) < 0)
        return SONDE_EFORMAT;
    if (chunk->flags & SONDE_CHUNK_ZSTD) {
        size_t got = ZSTD_decompressDCtx(d->zstd, d->payload, SONDE__PAYLOAD_MAX, payload, chunk->stored_bytes);
        if (ZSTD_isError(got) || got != chunk->raw_bytes)
            return SONDE_EFORMAT;
    } else {
        memcpy(d->payload, payload, chunk->raw_bytes);
    }
    if (chunk->table == SONDE_TABLE_STRING) {
        memcpy(rows, d->payload, chunk->raw_bytes);
        return check_strings(rows, chunk->raw_bytes, chunk->count);
    }
    if (!chunk->count)
        return 0;

    struct reader r = { d->payload, d->payload + chunk->raw_bytes }, packed;
    for (uint32_t i = 0; i < chunk->columns; i++)
        if (get_entry(&r, &entries[i], chunk->row_bytes) < 0)
            return SONDE_EFORMAT;
    if (check_references(entries, chunk->columns) < 0 ||
        split_payload(&r, entries, chunk->columns, chunk->count, &packed) < 0)
        return SONDE_EFORMAT;
    memset(rows, 0, t.count * t.stride);
    d->chain_end = 0;
    for (uint32_t i = 0; i < chunk->columns; i++)
        get_column(d, &r, &packed, entries, i, &t);
    return 0;
}

int sonde_chunk_decode(const void *data, size_t size, const struct sonde_chunk *chunk, void *rows)
{
    struct sonde__decoder *d = sonde__decoder_create();
    int status = d ? sonde__decoder_run(d, data, size, chunk, rows) : SONDE_ENOMEM;
    sonde__decoder_destroy(d);
    return status;
}
