/* writer.h - what happens to a measurement's files after the program ended: sealing.
 */
#ifndef SONDE_FORMAT_WRITER_H
#define SONDE_FORMAT_WRITER_H

#include <stdbool.h>

#include <sonde/error.h>

#include "rows.h"

/* Turn `dir`/live.sonde (one process directory) into chunks at the end of
 * `dir`/data.sonde, with a PROCESS record of its header and an index footer,
 * and remove it. Torn bytes at the end of data.sonde are cut first. Safe to
 * repeat; does nothing when sealed already. Killed halfway, it loses nothing:
 * live.sonde goes last. */
int sonde_process_seal(const char *dir, struct sonde_diag *diag);

/* What `dir`/live.sonde holds now (all that there is of a recording of the last seconds), of a process that may still be running, sealed in the folder `to`, which is there and empty; a process
 * that still runs counts as one that ended. ENOTFOUND, EEMPTY: there is nothing yet. */
int sonde_process_copy(const char *dir, const char *to, struct sonde_diag *diag);

/* The header of `dir`/live.sonde as it is now. False: there is none. */
bool sonde_process_now(const char *dir, struct sonde_live_header *out);

/* Append rows of a table to a sealed process directory (SYMBOL and STRING
 * rows, after the run). `rows` in the table's in-memory form. */
int sonde_process_append(const char *dir, enum sonde_table table, uint64_t first,
                         const void *rows, uint32_t count, struct sonde_diag *diag);

#endif
