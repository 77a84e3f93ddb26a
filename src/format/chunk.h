/* chunk.h - rows to self-describing, compressed, checksummed chunks of columns, and back.
 *
 * Used by the agent's tracing threads (no allocation: the caller brings the
 * scratch memory), by sealing, and by the reader. docs/developers/format.md says how
 * columns are coded.
 */
#ifndef SONDE_FORMAT_CHUNK_H
#define SONDE_FORMAT_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "tables.h"

#define SONDE_CHUNK_MAGIC 0x31434e53u /* "SNC1" */
#define SONDE_CHUNK_ALIGN 8u          /* chunks start at multiples of it; zeros fill the gap */

enum {
    SONDE_CHUNK_SORTED = 1, /* rows are sorted by the times when they began: OP by start_ns */
    SONDE_CHUNK_ZSTD = 2,   /* the payload is one zstd frame; else it is stored as it is */
};

struct sonde_chunk {         /* the header before every chunk's payload */
    uint32_t magic;
    uint16_t version;        /* SONDE_FORMAT_VERSION */
    uint16_t table;          /* enum sonde_table */
    uint32_t owner;          /* as in struct sonde_segment */
    uint32_t count;          /* rows (STRING: strings) */
    uint64_t first;          /* id or sequence number of the first row */
    uint64_t time_min, time_max; /* of a trace: sonde_row_lasts; else 0 */
    uint32_t raw_bytes;      /* payload before compression */
    uint32_t stored_bytes;   /* payload as stored, after this header */
    uint16_t columns;
    uint16_t flags;          /* SONDE_CHUNK_* */
    uint32_t row_bytes;      /* of one row in memory */
    uint64_t checksum;       /* XXH3-64 of this header with checksum = 0, then the payload */
};
static_assert(sizeof(struct sonde_chunk) == 64, "format");

/* Rows of any chunk: the smallest of a trace, and of the other tables. */
#define SONDE_CHUNK_ROWS_MAX (SONDE_CHUNK_ROOM / sizeof(struct sonde_row_sample))
static_assert(SONDE_CHUNK_ROWS_MAX >= SONDE_SEGMENT_ROOM / sizeof(struct sonde_row_node), "the rows of any chunk fit");

/* Bytes of scratch memory that encoding needs; 64-byte aligned. */
size_t sonde_chunk_scratch_bytes(void);

/* Largest chunk (header and payload) that the rows of any chunk can become. */
size_t sonde_chunk_bound(void);

/* Encode `count` rows of `table` (STRING: `count` = bytes used; at most
 * sonde_chunk_room() bytes of rows) into `out` (at least sonde_chunk_bound() bytes), using
 * `scratch` (64-byte aligned). Returns the chunk's size with its padding, or a
 * negative error. No allocation, no lock. */
long sonde_chunk_encode(enum sonde_table table, uint32_t owner, uint64_t first,
                        const void *rows, uint32_t count,
                        void *scratch, void *out, size_t out_bytes);

/* Check the header at `data` (`size` bytes are there): 0 and *chunk filled
 * when magic, version, sizes and checksum are right. SONDE_EVERSION for another
 * version, and *chunk filled; SONDE_EFORMAT for everything else. Never reads past size. */
int sonde_chunk_check(const void *data, size_t size, struct sonde_chunk *chunk);

/* Decode a checked chunk into `rows` (chunk->count rows; STRING: raw_bytes bytes in
 * the segment's form). 0, or SONDE_EFORMAT, SONDE_ENOMEM. */
int sonde_chunk_decode(const void *data, size_t size, const struct sonde_chunk *chunk, void *rows);

/* Bytes a chunk takes in the file, padding included. */
static inline uint64_t sonde_chunk_size(const struct sonde_chunk *chunk)
{
    return sizeof *chunk + (((uint64_t)chunk->stored_bytes + SONDE_CHUNK_ALIGN - 1) & ~(uint64_t)(SONDE_CHUNK_ALIGN - 1));
}

/* Bytes of rows that one chunk of a table may hold: several segments of a trace, one of any other table.
 * (Of a table that is not known it may be either.) */
static inline uint32_t sonde_chunk_room(uint32_t table)
{
    return sonde_table_is_trace(table) || !sonde_table_info(table) ? SONDE_CHUNK_ROOM : SONDE_SEGMENT_ROOM;
}

#endif
