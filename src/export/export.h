/* export.h - measurements in other tools' formats: one table, one file per format.
 *
 * A new format is one file that defines the three parts below, and one line in
 * SONDE_EXPORT_MAP. docs/export.md says for each format what becomes what.
 *
 * Threads: a format may be written by one thread at a time; the measurement is
 * only read. Memory does not grow with the number of operations.
 */
#ifndef SONDE_EXPORT_EXPORT_H
#define SONDE_EXPORT_EXPORT_H

#include <stdint.h>

#include <sonde/error.h>

#include "base/progress.h"
#include "format/reader.h"
#include "out.h"

/* What was written, for the closing line. */
struct sonde_export_result {
    uint64_t operations;  /* rows of the trace written */
    uint64_t calls;       /* API calls written */
    uint64_t ranges;      /* ranges and marks written */
    uint64_t without_times; /* of operations: no usable device times, so no duration */
};

struct sonde_export_format {
    const char *name;      /* as --to takes it */
    const char *extension; /* of the default file name, without the dot */
    const char *what;      /* one line for help */
    const char *open_with; /* what to do with the file, for the closing line */
    /* Write all of `m`; rows of the trace are the unit of `progress` (may be
     * NULL). 0; SONDE_EEMPTY when there is nothing this format can show;
     * SONDE_ENOMEM. Errors of `out` are found by its commit. */
    int (*write)(const struct sonde_measurement *m, struct sonde_out *out, struct sonde_progress *progress,
                 struct sonde_export_result *result, struct sonde_diag *diag);
};

#define SONDE_EXPORT_MAP(X) \
    X(perfetto)             \
    X(json)                 \
    X(csv)                  \
    X(dot)

#define X(name) extern const struct sonde_export_format sonde_export_##name;
SONDE_EXPORT_MAP(X)
#undef X

extern const struct sonde_export_format *const sonde_export_formats[]; /* NULL-terminated */

/* NULL when there is none of that name. */
const struct sonde_export_format *sonde_export_find(const char *name);

/* For formats of operations: 0 when `m` holds a trace, else EEMPTY with what to do. */
int sonde__export_needs_trace(const struct sonde_measurement *m, struct sonde_diag *diag);

#endif
