/* decode.h - decoding many chunks with the same memory; the reader's own way in.
 */
#ifndef SONDE_FORMAT_DECODE_H
#define SONDE_FORMAT_DECODE_H

#include "chunk.h"

/* A directory entry is at most 2 bytes, width, offset, reference, span, and three numbers. */
#define SONDE__DIRECTORY_MAX (64u * (2 + 3 + 3 + 2 + 3 * 10))
/* No chunk's payload is larger: its rows and a directory. */
#define SONDE__PAYLOAD_MAX   (SONDE_CHUNK_ROOM + SONDE__DIRECTORY_MAX)
#define SONDE__SHIFT_MAX     56u   /* packed bits: any eight bytes hold them whole */
#define SONDE__ENTRY_DIVISOR 0x80u /* flag beside the shift: a divisor follows */

struct sonde__decoder; /* for one thread at a time */

struct sonde__decoder *sonde__decoder_create(void); /* NULL: out of memory */
void sonde__decoder_destroy(struct sonde__decoder *d);

/* As sonde_chunk_decode. `chunk` must come from sonde_chunk_check. */
int sonde__decoder_run(struct sonde__decoder *d, const void *data, size_t size,
                       const struct sonde_chunk *chunk, void *rows);

/* The same, but only these fields of the rows are filled (bit i: the bytes 2i
 * and 2i + 1 of a row; rows of traces are at most 128 bytes long). What the others
 * hold is anything. Columns that nobody needs are not unpacked. `rows` have only
 * the fields that are `kept`, one after the other; a column that is kept in part
 * is SONDE_EFORMAT. */
#define SONDE__ALL_FIELDS UINT64_MAX
int sonde__decoder_fields(struct sonde__decoder *d, const void *data, size_t size, const struct sonde_chunk *chunk,
                          uint64_t fields, uint64_t kept, void *rows);

/* Where byte `at` of a row is in one that has only the fields `kept`; of a row's end, how long that is. */
static inline size_t sonde__kept_before(uint64_t kept, size_t at)
{
    if (kept == SONDE__ALL_FIELDS)
        return at;
    return 2 * (size_t)__builtin_popcountll(at / 2 < 64 ? kept & ((1ull << at / 2) - 1) : kept) + at % 2;
}

/* Fill the time range of trace rows (h->table is a trace), and the flag that they are sorted. */
void sonde__chunk_cover(struct sonde_chunk *h, const void *rows, uint32_t count);

/* Bytes that decoding a checked chunk writes; 0 for a table this build does not know. */
size_t sonde__decoded_bytes(const struct sonde_chunk *chunk);

#endif
