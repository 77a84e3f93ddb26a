/* database.h - the figures of each look in a database of SQLite, for a while: docs/monitor.md has the schema.
 *
 * Threads: one at a time.
 */
#ifndef SONDE_MONITOR_DATABASE_H
#define SONDE_MONITOR_DATABASE_H

#include <stdint.h>
#include <time.h>

#include <sonde/error.h>

#include "openmetrics.h"

struct sonde_database;

/* The file is made where it is missing. What is older than `keep_ns` is removed. 0, or a negative code with `diag`: EIO, ENOMEM, EUNSUPPORTED
 * for a database that is not ours. */
int sonde_database_open(const char *path, uint64_t keep_ns, struct sonde_database **out, struct sonde_diag *diag);
void sonde_database_close(struct sonde_database *database);

/* Add the samples of `text` (samples.h), which is taken apart, as figures of `time` (CLOCK_REALTIME), and count them. 0, or a negative
 * code with `diag`: then none was stored. */
int sonde_database_put(struct sonde_database *database, char *text, const struct timespec *time, struct sonde_store_count *count,
                       struct sonde_diag *diag);

#endif
