/* columns.h - answers that are typed columns: what a page draws from, without reading numbers as text.
 *
 * docs/developers/requests.md, "Columns", is the specification.
 *
 *     struct sonde_packed packed;
 *     sonde_packed_begin(&packed);
 *     uint64_t *begin_ns = sonde_packed_column(&packed, "begin_ns", SONDE_PACKED_U64, count);
 *     ... if (begin_ns) begin_ns[i] = ..., i < count ...
 *     json_object_set_new(packed.header, "from_ns", json_integer(0));
 *     rc = sonde_packed_write(&packed, &text);      // appended
 *     sonde_packed_fini(&packed);
 *
 * Threads: one at a time.
 */
#ifndef SONDE_SERVE_COLUMNS_H
#define SONDE_SERVE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <sonde/error.h>

#include "base/text.h"
#include "base/vector.h"

#define SONDE_PACKED_MEDIA_TYPE "application/octet-stream" /* of such an answer */

#define SONDE_PACKED_MAGIC "SNDCOLS1"

enum sonde_packed_type {
    SONDE_PACKED_F64,
    SONDE_PACKED_U64,
    SONDE_PACKED_U32,
    SONDE_PACKED_U16,
    SONDE_PACKED_U8,
};

struct sonde_packed {
    json_t *header; /* members of the caller's; "columns" is added as it is written. NULL: no memory */
    SONDE_VECTOR(struct sonde__packed_column) columns;
    int failed;     /* ENOMEM: at some time */
};
struct sonde__packed_column {
    const char *name;
    enum sonde_packed_type type;
    size_t count;
    void *values;
};

void sonde_packed_begin(struct sonde_packed *packed);
void sonde_packed_fini(struct sonde_packed *packed);

/* Room for `count` values, zero at first and valid until fini; aligned for the type. `name` is a constant. NULL: no memory,
 * which sonde_packed_write says too. */
void *sonde_packed_column(struct sonde_packed *packed, const char *name, enum sonde_packed_type type, size_t count);
/* Foreign text as a member of the header: bytes that are no UTF-8 become U+FFFD. */
json_t *sonde_packed_text(const char *text);
/* Append the whole to `out`. 0 or ENOMEM. */
int sonde_packed_write(struct sonde_packed *packed, struct sonde_text *out);

#endif
