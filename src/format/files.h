/* files.h - the two files of a process directory, as sealing and reading see them.
 */
#ifndef SONDE_FORMAT_FILES_H
#define SONDE_FORMAT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/error.h>

#include "chunk.h"
#include "decode.h"
#include "folder.h"

/* ---- live.sonde: a copy, because the program may still be writing -------- */

struct sonde__live_segment {
    struct sonde_segment header; /* `used` bounded by the room */
    uint32_t count;              /* rows; strings */
    uint8_t *rows;               /* in the segment's form, within `block` */
    uint8_t *block;              /* a segment header and the rows, as in the file */
};

struct sonde__live {
    struct sonde_live_header header; /* zero when damaged */
    bool header_valid;
    bool sums; /* no other tables */
    struct sonde__live_segment *segments;
    uint32_t count, damaged;
    uint64_t disk_bytes; /* allocated, not apparent */
    uint64_t damaged_bytes;
    uint64_t base_at;      /* where in the file a segment of BASE is; 0: there is none */
    uint64_t unknown_rows; /* of tables that this build does not know: not among the segments */
};

/* Copy what `dir`/live.sonde holds. `sums`: only sums, their names and lanes; of the last seconds, too, those of all of the run.
 * ENOTFOUND when there is none; EVERSION,
 * EFORMAT when it is none of ours; EEMPTY when nothing was written to it yet;
 * EIO; ENOMEM. */
int sonde__live_read(const char *dir, bool sums, struct sonde__live *live, struct sonde_diag *diag);
void sonde__live_free(struct sonde__live *live);
int sonde__live_add(struct sonde__live *live, const struct sonde__live_segment *s); /* its block is the list's then. ENOMEM */
/* Of a process of which the last seconds were recorded, a trace of these (last.c); of others nothing. ENOMEM. */
int sonde__live_last(struct sonde__live *live);

/* ---- data.sonde: mapped, and the chunks in it ---------------------------- */

struct sonde__chunk_at {
    struct sonde_chunk header;
    uint64_t offset;
    bool checked; /* the checksum was verified */
};

struct sonde__data {
    const uint8_t *bytes;
    size_t size;
    struct sonde__chunk_at *chunks;   /* in the order of the file */
    size_t count;
    struct sonde__chunk_at **order;   /* by table, owner, first; after sonde__data_sort */
    uint64_t end;                     /* of the last sound chunk, with its padding: perhaps just beyond the file */
    uint32_t damaged;                 /* stretches of the file that hold no chunk */
    uint64_t damaged_bytes;
    uint16_t version;                 /* of the chunk that is of another one, when that is the error */
    uint64_t index_at;                /* offset of the index in use; 0 = read without one */
};

/* Measurements whose files have up to so many bytes together are read through, and every checksum verified, when
 * they are opened; larger ones by the files' indices. Only tests change it. */
extern uint64_t sonde__read_through_bytes;

/* Map `dir`/data.sonde and find its chunks. `through`: of all of the file, never by its index.
 * ENOTFOUND when there is no file; EVERSION; EFORMAT when it has bytes but no
 * chunk; EIO; ENOMEM. */
int sonde__data_open(const char *dir, bool through, struct sonde__data *data, struct sonde_diag *diag);
void sonde__data_close(struct sonde__data *data);

/* Is there, at `bytes`, a whole chunk of the table, owner, rows, times and size of `as`? Then it is *found. */
bool sonde__chunk_is(const void *bytes, size_t size, const struct sonde_chunk *as, struct sonde_chunk *found);
/* By table, owner, first. */
int sonde__chunk_compare(const struct sonde_chunk *a, const struct sonde_chunk *b);
int sonde__data_sort(struct sonde__data *data); /* ENOMEM */
/* Position in `order` of the first chunk that is not before `key`. */
size_t sonde__data_find(const struct sonde__data *data, const struct sonde_chunk *key);

/* Is every row of the segment in a chunk of data.sonde? Needs the sorted order. */
bool sonde__segment_sealed(const struct sonde__data *data, const struct sonde__live_segment *s,
                           struct sonde__decoder *decoder, void *rows /* SONDE_SEGMENT_ROOM bytes */);

/* The row of a chunk in an index. */
struct sonde_row_index sonde__index_row(const struct sonde_chunk *h, uint64_t offset);
/* Write the footer of an index of `rows` rows at offset `at` to `out`. Returns its size. */
size_t sonde__footer_make(void *out, uint64_t at, uint64_t rows);

/* What to do about a measurement of another format version. */
void sonde__version_hint(struct sonde_diag *diag, long long version);

/* "dir/file"; to be freed. NULL: out of memory. */
char *sonde__path(const char *dir, const char *file);

#endif
