/* out.h - where an export goes: a file or a folder that appears whole or not at all, or a stream.
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

#include "base/text.h"

struct sonde_out;

/* Begin `path`. Nothing is seen under that name before commit; an existing
 * regular file is refused with EEXISTS unless `force`. A path that names a
 * device or a pipe is written directly. 0, or EIO, EEXISTS, ENOMEM. */
int sonde_out_create(const char *path, bool force, struct sonde_out **out, struct sonde_diag *diag);
/* Begin a file or a folder that a library writes by its name, which is sonde_out_path: a hidden one next to `path`,
 * empty. A folder that is there is refused, with `force` it is replaced when it holds `mark`, a file or folder that
 * all exports of this format have. Devices, pipes and standard output (`path` "-") are refused. Errors as above. */
int sonde_out_create_file(const char *path, bool force, struct sonde_out **out, struct sonde_diag *diag);
int sonde_out_create_folder(const char *path, bool force, const char *mark, struct sonde_out **out, struct sonde_diag *diag);
const char *sonde_out_path(const struct sonde_out *out);
/* What is put from here on is the file `name` of the folder, which may be below a folder of its own: "a/b". */
void sonde_out_member(struct sonde_out *out, const char *name);
/* Such a writer failed, with this errno: as an error of a put. */
void sonde_out_fail(struct sonde_out *out, int error);

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
/* A string of JSON (RFC 8259, 7), with its quotes; bytes that are not UTF-8 become U+FFFD, in `room`. */
void sonde_out_json(struct sonde_out *out, const char *text, struct sonde_text *room);

/* True after an error: a long export may stop early. */
bool sonde_out_failed(const struct sonde_out *out);
/* Bytes put so far; of what a library writes the bytes of its files. */
uint64_t sonde_out_size(const struct sonde_out *out);

#endif
