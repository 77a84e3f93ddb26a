/* pack.h - the files of a measurement in one piece, for a page that holds it (docs/developers/viewer.md, "The container").
 *
 *     rc = sonde_pack_create(m, limit_bytes, &pack, &diag);
 *     rc = sonde_pack_write(pack, put, user, &diag);
 *     sonde_pack_destroy(pack);
 *
 * Only what a reader needs is in it. Where all of it is more than the limit, rows of traces are left out, the last ones of the run
 * first; the header of their process counts them (SONDE_DROP_PAGE), so that whoever reads the piece is told. The measurement itself
 * is not changed.
 */
#ifndef SONDE_FORMAT_PACK_H
#define SONDE_FORMAT_PACK_H

#include "reader.h"

struct sonde_pack;

/* Of an open measurement, which must stay open. 0, or a negative code with `diag`: also where more than traces would have to go. */
int sonde_pack_create(const struct sonde_measurement *m, uint64_t limit_bytes, struct sonde_pack **out, struct sonde_diag *diag);
void sonde_pack_destroy(struct sonde_pack *pack);

/* One file more, which is nowhere else; it counts in no limit. 0 or SONDE_ENOMEM. */
int sonde_pack_add(struct sonde_pack *pack, const char *name, const char *bytes, size_t size);

uint64_t sonde_pack_bytes(const struct sonde_pack *pack);
/* Rows of a trace that are left out. */
uint64_t sonde_pack_left_out(const struct sonde_pack *pack, enum sonde_trace trace);

/* Hand all bytes, in their order, to `put`. 0, or EIO where a file changed meanwhile or cannot be read. */
typedef void (*sonde_pack_put)(void *user, const void *bytes, size_t size);
int sonde_pack_write(const struct sonde_pack *pack, sonde_pack_put put, void *user, struct sonde_diag *diag);

#endif
