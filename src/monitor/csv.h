/* csv.h - a folder of CSV files with the figures of each look, in the layout of LDMS's store_csv: docs/monitor.md has the files.
 *
 * Threads: one at a time.
 */
#ifndef SONDE_MONITOR_CSV_H
#define SONDE_MONITOR_CSV_H

#include <stdint.h>
#include <time.h>

#include <sonde/error.h>

#include "openmetrics.h"

struct sonde_csv;

/* The folder is made where it is missing. A file is closed at `file_bytes`. 0, or a negative code with `diag`. */
int sonde_csv_open(const char *folder, uint64_t file_bytes, struct sonde_csv **out, struct sonde_diag *diag);
void sonde_csv_close(struct sonde_csv *csv);

/* Append the samples of `text` (samples.h), which is taken apart, as figures of `time` (CLOCK_REALTIME), and count the rows. 0, or a negative
 * code with `diag`: then rows were lost, and no file has a part of one. */
int sonde_csv_put(struct sonde_csv *csv, char *text, const struct timespec *time, struct sonde_store_count *count, struct sonde_diag *diag);

#endif
