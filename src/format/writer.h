/* writer.h - what happens to a measurement's files after the program ended: sealing.
 */
#ifndef SONDE_FORMAT_WRITER_H
#define SONDE_FORMAT_WRITER_H

#include <sonde/error.h>

#include "rows.h"

/* Turn `dir`/live.sonde (one process directory) into chunks at the end of
 * `dir`/data.sonde, with a PROCESS record of its header and an index footer,
 * and remove it. Torn bytes at the end of data.sonde are cut first. Safe to
 * repeat; does nothing when sealed already. Killed halfway, it loses nothing:
 * live.sonde goes last. */
int sonde_process_seal(const char *dir, struct sonde_diag *diag);

/* Append rows of a table to a sealed process directory (SYMBOL and STRING
 * rows, after the run). `rows` in the table's in-memory form. */
int sonde_process_append(const char *dir, enum sonde_table table, uint64_t first,
                         const void *rows, uint32_t count, struct sonde_diag *diag);

#endif
