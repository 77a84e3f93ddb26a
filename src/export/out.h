/* out.h - where an export goes: a file that appears whole or not at all, or a stream.
 *
 * Bytes are buffered; the first error sticks, later puts do nothing, and the
 * error comes back from sonde_out_commit(). One thread at a time.
 */
#ifndef SONDE_EXPORT_OUT_H
#define SONDE_EXPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/error.h>

struct sonde_out;

/* Begin `path`. Nothing is seen under that name before commit; an existing
 * regular file is refused with EEXISTS unless `force`. A path that names a
 * device or a pipe is written directly. 0, or EIO, EEXISTS, ENOMEM. */
int sonde_out_create(const char *path, bool force, struct sonde_out **out, struct sonde_diag *diag);
/* Write to an open descriptor, which stays the caller's; `name` is for messages. */
int sonde_out_attach(int fd, const char *name, struct sonde_out **out, struct sonde_diag *diag);

/* Flush, put the file under its name, destroy `out`. 0 or EIO, EEXISTS. */
int sonde_out_commit(struct sonde_out *out, struct sonde_diag *diag);
/* Forget what was written (a stream keeps what it has got), destroy `out`. */
void sonde_out_abandon(struct sonde_out *out);

void sonde_out_bytes(struct sonde_out *out, const void *bytes, size_t size);
void sonde_out_text(struct sonde_out *out, const char *text);
void sonde_out_char(struct sonde_out *out, char c);
void sonde_out_u64(struct sonde_out *out, uint64_t value);

/* True after an error: a long export may stop early. */
bool sonde_out_failed(const struct sonde_out *out);
/* Bytes put so far. */
uint64_t sonde_out_size(const struct sonde_out *out);

#endif
