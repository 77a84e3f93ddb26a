/* chunk.c - encode rows as a chunk: columns, predictors, byte planes, zstd.
 *
 * The coding and why it was chosen: docs/developers/format.md, "Columns". Each value is
 * replaced by its distance to a prediction; the smallest distance of a column
 * is taken off, and what remains is divided by its greatest common divisor.
 * The lowest bits of a time are noise that nothing compresses: they are packed
 * as they are. The bits above them go into byte planes, each of which zstd
 * gets as a block of its own, because planes of noise and planes of almost
 * nothing need different Huffman tables.
 *
 * This file runs on the agent's threads inside the measured program: it
 * touches only the caller's memory, takes no lock and little stack.
 */
#include "chunk.h"

#include <stdbool.h>
#include <string.h>

#include <sonde/error.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "decode.h"

#define DIRECTORY_MAX SONDE__DIRECTORY_MAX
#define BORDERS_MAX   (8 * SONDE_COLUMNS_MAX + 2)
#define ROWS_MAX      SONDE_CHUNK_ROWS_MAX
#define WINDOW_LOG    17
#define SMALLEST_BLOCK 64 /* bytes */
#define WEIGHED_ROWS   256u /* enough to tell two predictors apart */

struct scratch {
    uint64_t values[ROWS_MAX];
    uint32_t borders[BORDERS_MAX];
    struct sonde_column columns[SONDE_COLUMNS_MAX];
    uint8_t directory[DIRECTORY_MAX];
    uint8_t packed[SONDE_CHUNK_ROOM + 8];
    uint8_t payload[DIRECTORY_MAX + SONDE_CHUNK_ROOM];
    _Alignas(64) uint8_t context[];
};

static ZSTD_compressionParameters parameters(void)
{
    ZSTD_compressionParameters p = ZSTD_getCParams(1, DIRECTORY_MAX + SONDE_SEGMENT_ROOM, 0);
    p.windowLog = WINDOW_LOG;
    return p;
}

static size_t context_bytes(void)
{
    return (ZSTD_estimateCStreamSize_usingCParams(parameters()) + 63) & ~(size_t)63;
}

size_t sonde_chunk_scratch_bytes(void)
{
    return (sizeof(struct scratch) + 63 + context_bytes()) & ~(size_t)63;
}

size_t sonde_chunk_bound(void)
{
    return sizeof(struct sonde_chunk) + sizeof((struct scratch *)0)->payload + SONDE_CHUNK_ALIGN;
}

/* ---- columns ------------------------------------------------------------ */

static uint64_t load(const uint8_t *at, uint32_t width)
{
    uint64_t value = 0;
    memcpy(&value, at, width);
    return value;
}

static int64_t sign_extend(uint64_t value, uint32_t width)
{
    unsigned unused = 64 - 8 * width;
    return (int64_t)(value << unused) >> unused;
}

static uint8_t *put_varint(uint8_t *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

struct source {
    const uint8_t *rows;
    uint32_t count, stride;
    const struct sonde_column *columns;
};

/* The distance of SPARSE. Zero stays zero whatever stands around it. */
static uint64_t sparse(uint64_t value, uint64_t *last)
{
    uint64_t distance = value ? zigzag((int64_t)(value - *last)) + 1 : 0;
    *last = value ? value : *last;
    return distance;
}

/* values[i] = row i's distance to its prediction, modulo 2^64. Rows before the
 * first count as zero. */
static void predict(const struct source *s, uint32_t index, uint64_t *values)
{
    const struct sonde_column *c = &s->columns[index];
    const struct sonde_column *ref = &s->columns[c->ref], *last = c + c->span;
    const uint8_t *row = s->rows;
    uint64_t previous = 0;

    for (uint32_t i = 0; i < s->count; i++, row += s->stride) {
        uint64_t value = load(row + c->offset, c->width), other;
        switch (c->predictor) {
        case SONDE_PREDICT_DELTA:
            values[i] = value - previous;
            previous = value;
            break;
        case SONDE_PREDICT_DIFF:
            values[i] = value - load(row + ref->offset, ref->width);
            break;
        case SONDE_PREDICT_GAP:
            other = load(row + ref->offset, ref->width);
            values[i] = value - (previous > other ? previous : other);
            previous = load(row + last->offset, last->width);
            break;
        case SONDE_PREDICT_AFTER:
            values[i] = value - previous;
            previous = load(row + last->offset, last->width);
            break;
        case SONDE_PREDICT_SPARSE:
            values[i] = sparse(value, &previous);
            break;
        default:
            values[i] = value;
        }
    }
}

/* ---- from distances to bits --------------------------------------------- */

static uint32_t bit_length(uint64_t value)
{
    return value ? 64 - (uint32_t)__builtin_clzll(value) : 0;
}

/* The largest number that divides all; almost always 1 after a few rows. */
static uint64_t common_divisor(const uint64_t *values, uint32_t count)
{
    uint64_t divisor = 0;
    for (uint32_t i = 1; i < count && divisor != 1; i++)
        for (uint64_t other = values[i]; other;) {
            uint64_t rest = divisor % other;
            divisor = other;
            other = rest;
        }
    return divisor ? divisor : 1;
}

/* Turn distances into what lies above the smallest, in units of their common
 * divisor. The first row stands in the directory and has no part in it: it has
 * no row before it, so its distance is of another size. */
static uint64_t level(uint64_t *values, uint32_t count, uint32_t width, int64_t *least)
{
    int64_t smallest = count > 1 ? INT64_MAX : 0;
    uint64_t divisor;

    for (uint32_t i = 1; i < count; i++) {
        int64_t distance = sign_extend(values[i], width);
        values[i] = (uint64_t)distance;
        smallest = distance < smallest ? distance : smallest;
    }
    for (uint32_t i = 1; i < count; i++)
        values[i] -= (uint64_t)smallest;
    divisor = common_divisor(values, count);
    for (uint32_t i = 1; divisor > 1 && i < count; i++)
        values[i] /= divisor;
    *least = smallest;
    return divisor;
}

/* How the values of a column become bits: `shift` low bits packed, `planes`
 * byte planes above them. */
struct layout {
    uint32_t shift, planes;
};

/* Bits that one plane and the packed bits below it take: the plane's entropy
 * of order zero, and what its Huffman table costs. */
static float estimate(const uint64_t *values, uint32_t count, uint32_t shift)
{
    uint32_t seen[256] = {0}, above = 0, symbols = 0;
    float bits = (float)shift * (float)(count - 1), total = (float)(count - 1);

    for (uint32_t i = 1; i < count; i++) {
        seen[values[i] >> shift & 255]++;
        above += values[i] >> shift > 255;
    }
    for (uint32_t k = 0; k < 256; k++) {
        if (!seen[k])
            continue;
        /* log2 of the ratio, from the exponent and a chord of the mantissa. */
        union {
            float f;
            uint32_t u;
        } ratio = {.f = total / (float)seen[k]};
        bits += (float)seen[k] * ((float)ratio.u * 0x1p-23f - 126.957f);
        symbols++;
    }
    return bits + 4 * (float)symbols + 10 * (float)above;
}

/* Ids repeat, and what repeats belongs to zstd whole. Distances of times are
 * noise: the plane gets 16 to 64 steps of what is common, so that its Huffman
 * code and table are short, and the bits below are packed. What is common may
 * be a matter of taste (two kernels of different length): then estimates decide. */
static struct layout choose_layout(const uint64_t *values, uint32_t count, const struct sonde_column *c)
{
    uint32_t lengths[65] = {0}, sum = 0, half = 0, most = 0, largest = 0;
    struct layout l = {0, 0};

    for (uint32_t i = 1; i < count; i++)
        lengths[bit_length(values[i])]++;
    for (uint32_t k = 0; k <= 64; k++) {
        sum += lengths[k];
        largest = lengths[k] ? k : largest;
        half = sum * 2 < count ? k + 1 : half;
        most = sum * 20 < count * 19 ? k + 1 : most;
    }
    if (c->predictor != SONDE_PREDICT_ZERO && c->predictor != SONDE_PREDICT_SPARSE && largest > 6) {
        uint32_t low = half > 5 ? half - 5 : 0, high = most > 6 ? most - 6 : 0;
        low = low < high ? low : high;
        l.shift = low == high || estimate(values, count, high) < estimate(values, count, low) ? high : low;
        /* A coarse clock leaves few different values: packing would part what is alike. */
        if (l.shift && most < 10 && estimate(values, count, 0) < estimate(values, count, l.shift))
            l.shift = 0;
    }
    l.planes = (largest - (l.shift < largest ? l.shift : largest) + 7) / 8;
    if (l.shift + 8 * l.planes > 8u * c->width || l.shift > SONDE__SHIFT_MAX)
        l = (struct layout){0, (largest + 7) / 8};
    return l;
}

struct sink {
    uint8_t *directory, *planes, *packed;
    uint32_t *borders, border_count; /* where zstd begins a new block, counted from the first plane */
    uint8_t *planes_start;
};

static void put_border(struct sink *k)
{
    k->borders[k->border_count++] = (uint32_t)(k->planes - k->planes_start);
}

/* The low `shift` bits of each value, one after the other, lowest first. */
static void put_packed(struct sink *k, const uint64_t *values, uint32_t count, uint32_t shift)
{
    uint64_t mask = (1ull << shift) - 1, pending = 0;
    uint32_t bits = 0;
    uint8_t *to = k->packed;

    for (uint32_t i = 1; i < count && shift; i++) {
        pending |= (values[i] & mask) << bits;
        bits += shift;
        for (; bits >= 8; bits -= 8, pending >>= 8)
            *to++ = (uint8_t)pending;
    }
    if (bits)
        *to++ = (uint8_t)pending;
    k->packed = to;
}

static void put_planes(struct sink *k, const uint64_t *values, uint32_t count, struct layout l)
{
    for (uint32_t p = 0; p < l.planes; p++) {
        uint32_t shift = l.shift + 8 * p;
        uint8_t *to = k->planes;
        for (uint32_t i = 1; i < count; i++)
            *to++ = (uint8_t)(values[i] >> shift);
        k->planes = to;
        put_border(k);
    }
    put_packed(k, values, count, l.shift);
}

static void put_column(const struct source *s, uint32_t index, uint64_t *values, struct sink *k)
{
    const struct sonde_column *c = &s->columns[index];
    uint8_t *d = k->directory;
    uint64_t divisor;
    int64_t least;
    struct layout l;

    if (c->predictor == SONDE_PREDICT_BYTES) {
        *d++ = c->predictor;
        *d++ = 0;
        d = put_varint(d, c->width);
        k->directory = put_varint(d, c->offset);
        for (uint32_t i = 0; i < s->count; i++, k->planes += c->width)
            memcpy(k->planes, s->rows + (size_t)i * s->stride + c->offset, c->width);
        put_border(k);
        return;
    }
    predict(s, index, values);
    divisor = level(values, s->count, c->width, &least);
    l = choose_layout(values, s->count, c);
    *d++ = (uint8_t)(c->predictor | l.planes << 4);
    *d++ = (uint8_t)(l.shift | (divisor > 1 ? SONDE__ENTRY_DIVISOR : 0));
    d = put_varint(d, c->width);
    d = put_varint(d, c->offset);
    if (c->predictor == SONDE_PREDICT_DIFF || c->predictor == SONDE_PREDICT_GAP)
        *d++ = c->ref;
    if (c->predictor == SONDE_PREDICT_GAP || c->predictor == SONDE_PREDICT_AFTER)
        *d++ = c->span;
    d = put_varint(d, zigzag(sign_extend(values[0], c->width)));
    d = put_varint(d, zigzag(least));
    k->directory = divisor > 1 ? put_varint(d, divisor) : d;
    put_planes(k, values, s->count, l);
}

/* Bits of the distances of some columns in the first rows. */
static uint64_t weigh(const struct source *s, uint32_t index, uint32_t count, uint64_t *values)
{
    struct source few = *s;
    uint64_t bits = 0;
    int64_t least;

    few.count = s->count < WEIGHED_ROWS ? s->count : WEIGHED_ROWS;
    for (uint32_t k = index; k < index + count; k++) {
        predict(&few, k, values);
        level(values, few.count, s->columns[k].width, &least);
        for (uint32_t i = 1; i < few.count; i++)
            bits += bit_length(values[i]);
    }
    return bits;
}

/* The one distance that SPARSE cannot tell from 0 does not occur in a
 * correlation id; rows that hold it all the same are stored as they are. */
static bool sparse_fits(const struct source *s, const struct sonde_column *c)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t value = load(s->rows + (size_t)i * s->stride + c->offset, c->width);
        if (value && sparse(value, &last) == 0)
            return false;
    }
    return true;
}

static void choose_columns(struct source *s, enum sonde_table table, struct scratch *scratch)
{
    const struct sonde_table_info *info = sonde_table_info(table);
    struct sonde_column *columns = scratch->columns;

    memcpy(columns, info->columns, info->column_count * sizeof *columns);
    s->columns = columns;
    for (uint32_t i = 0; i < SONDE__OTHER_COLUMNS; i++) {
        const struct sonde_other_columns *other = &sonde__other_columns[i];
        struct sonde_column usual[SONDE__OTHER_WIDEST];
        if (other->table != (uint32_t)table)
            continue;
        uint64_t bits = weigh(s, other->index, other->count, scratch->values);
        memcpy(usual, &columns[other->index], other->count * sizeof *usual);
        memcpy(&columns[other->index], other->columns, other->count * sizeof *columns);
        if (bits <= weigh(s, other->index, other->count, scratch->values))
            memcpy(&columns[other->index], usual, other->count * sizeof *columns);
    }
    for (uint32_t i = 0; i < info->column_count; i++)
        if (columns[i].predictor == SONDE_PREDICT_SPARSE && !sparse_fits(s, &columns[i]))
            columns[i].predictor = SONDE_PREDICT_ZERO;
}

/* ---- compression -------------------------------------------------------- */

/* Every parameter that decides on memory, so that it is what was asked for. */
static bool set_parameters(ZSTD_CCtx *zstd)
{
    ZSTD_compressionParameters p = parameters();
    return !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, (int)p.windowLog)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_hashLog, (int)p.hashLog)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_chainLog, (int)p.chainLog)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_searchLog, (int)p.searchLog)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_minMatch, (int)p.minMatch)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_targetLength, (int)p.targetLength)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_strategy, (int)p.strategy));
}

/* The payload as one zstd frame. A border closes a block; blocks much smaller
 * than a Huffman table are not worth one. 0 when it does not fit. */
static size_t compress(struct scratch *scratch, const uint8_t *payload, size_t size, size_t directory,
                       const struct sink *k, uint8_t *out, size_t room)
{
    ZSTD_CCtx *zstd = ZSTD_initStaticCCtx(scratch->context, context_bytes());
    ZSTD_inBuffer in = {payload, 0, 0};
    ZSTD_outBuffer to = {out, room, 0};
    size_t left;

    if (!zstd || !set_parameters(zstd) || ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(zstd, size)))
        return 0;
    for (uint32_t i = 0; i < k->border_count; i++) {
        size_t border = directory + k->borders[i];
        if (border < in.size + SMALLEST_BLOCK || border >= size)
            continue;
        in.size = border;
        left = ZSTD_compressStream2(zstd, &to, &in, ZSTD_e_flush);
        if (ZSTD_isError(left) || left)
            return 0;
    }
    in.size = size;
    left = ZSTD_compressStream2(zstd, &to, &in, ZSTD_e_end);
    return ZSTD_isError(left) || left ? 0 : to.pos;
}

/* ---- chunks ------------------------------------------------------------- */

void sonde__chunk_cover(struct sonde_chunk *h, const void *rows, uint32_t count)
{
    bool sorted = true;
    uint64_t last = 0;

    h->time_min = UINT64_MAX;
    h->time_max = 0;
    const struct sonde_table_info *table = sonde_table_info(h->table);
    for (const uint8_t *row = rows, *end = row + (size_t)count * table->row_bytes; row < end; row += table->row_bytes) {
        const struct sonde_lasts l = sonde_row_lasts(table, row);
        const uint64_t begin = load(row + table->from, sizeof begin);
        h->time_min = l.from_ns < h->time_min ? l.from_ns : h->time_min;
        h->time_max = l.to_ns > h->time_max ? l.to_ns : h->time_max;
        sorted &= begin >= last;
        last = begin;
    }
    h->flags |= sorted ? SONDE_CHUNK_SORTED : 0;
}

/* Strings in `bytes` bytes of a segment; 0 when they do not end where the segment does. */
static uint32_t count_strings(const uint8_t *bytes, uint32_t size)
{
    uint32_t count = 0, at = 0, length;
    while (size - at >= sizeof length) {
        memcpy(&length, bytes + at, sizeof length);
        if (length > size - at - sizeof length)
            return 0;
        at += (uint32_t)sizeof length + ((length + 3) & ~3u);
        count++;
        if (at > size)
            return 0;
    }
    return at == size ? count : 0;
}

static long finish(struct sonde_chunk *h, uint8_t *out, size_t stored)
{
    size_t padding = -stored & (SONDE_CHUNK_ALIGN - 1);

    h->stored_bytes = (uint32_t)stored;
    memset(out + sizeof *h + stored, 0, padding);
    memcpy(out, h, sizeof *h);
    h->checksum = XXH3_64bits(out, sizeof *h + stored);
    memcpy(out + offsetof(struct sonde_chunk, checksum), &h->checksum, sizeof h->checksum);
    return (long)(sizeof *h + stored + padding);
}

static int check_arguments(enum sonde_table table, uint32_t count, size_t out_bytes)
{
    uint32_t width = sonde_row_bytes(table);
    if (!width || !count || count > sonde_chunk_room(table) / width || out_bytes < sonde_chunk_bound())
        return SONDE_EINVALID;
    return 0;
}

long sonde_chunk_encode(enum sonde_table table, uint32_t owner, uint64_t first,
                        const void *rows, uint32_t count,
                        void *scratch_memory, void *out, size_t out_bytes)
{
    struct scratch *scratch = scratch_memory;
    struct sonde_chunk h = {
        .magic = SONDE_CHUNK_MAGIC,
        .version = SONDE_FORMAT_VERSION,
        .table = (uint16_t)table,
        .owner = owner,
        .count = count,
        .first = first,
    };
    if (check_arguments(table, count, out_bytes) < 0)
        return SONDE_EINVALID;

    struct source s = {rows, count, h.row_bytes = sonde_row_bytes(table), NULL};
    struct sink k = {
        .directory = scratch->directory,
        .planes = scratch->payload + DIRECTORY_MAX,
        .packed = scratch->packed,
        .borders = scratch->borders,
        .planes_start = scratch->payload + DIRECTORY_MAX,
    };
    put_border(&k);
    h.columns = (uint16_t)sonde_table_info(table)->column_count;
    if (table == SONDE_TABLE_STRING) {
        h.count = count_strings(rows, count);
        if (!h.count)
            return SONDE_EINVALID;
        memcpy(k.planes, rows, count);
        k.planes += count;
    }
    if (h.columns)
        choose_columns(&s, table, scratch);
    for (uint32_t i = 0; i < h.columns; i++)
        put_column(&s, i, scratch->values, &k);
    if (sonde_table_is_trace(table))
        sonde__chunk_cover(&h, rows, count);

    memcpy(k.planes, scratch->packed, (size_t)(k.packed - scratch->packed));
    k.planes += k.packed - scratch->packed;
    size_t directory = (size_t)(k.directory - scratch->directory);
    uint8_t *payload = scratch->payload + DIRECTORY_MAX - directory;
    memcpy(payload, scratch->directory, directory);
    size_t size = (size_t)(k.planes - payload);
    h.raw_bytes = (uint32_t)size;

    uint8_t *body = (uint8_t *)out + sizeof h;
    size_t stored = compress(scratch, payload, size, directory, &k, body, size);
    if (stored && stored < size) {
        h.flags |= SONDE_CHUNK_ZSTD;
        return finish(&h, out, stored);
    }
    memcpy(body, payload, size);
    return finish(&h, out, size);
}
