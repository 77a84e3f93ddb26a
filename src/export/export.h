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

#include "analyze/profile/profile.h"
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

enum sonde_export_form {
    SONDE_EXPORT_STREAM, /* bytes, one after the other */
    SONDE_EXPORT_FILE,   /* a file that a library writes by its name: sonde_out_path */
    SONDE_EXPORT_FOLDER, /* the same, a folder */
};

struct sonde_export_format {
    const char *name;      /* as --to takes it */
    const char *extension; /* of the default file name, without the dot */
    const char *what;      /* one line for help */
    const char *open_with; /* what to do with the file, for the closing line */
    enum sonde_export_form form;
    const char *mark;      /* FOLDER: what each has within, by which it is known (out.h) */
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
    X(sqlite)               \
    X(chrome)               \
    X(otf2)                 \
    X(tau)                  \
    X(speedscope)           \
    X(pprof)                \
    X(folded)               \
    X(dot)                  \
    X(parquet)

#define X(name) extern const struct sonde_export_format sonde_export_##name;
SONDE_EXPORT_MAP(X)
#undef X

extern const struct sonde_export_format *const sonde_export_formats[]; /* NULL-terminated */

/* NULL when there is none of that name. */
const struct sonde_export_format *sonde_export_find(const char *name);

/* For formats of operations: 0 when `m` holds a trace, else EEMPTY with what to do. */
int sonde__export_needs_trace(const struct sonde_measurement *m, struct sonde_diag *diag);

/* What profiles have of each context. */
struct sonde_export_value {
    const char *name, *unit; /* pprof's: "device", "nanoseconds"; "count", "bytes" */
    const char *title;       /* "device time" */
    bool sampled;            /* not known unless the CPU side was sampled */
    uint64_t (*of)(const struct sonde_metrics *metrics);
};
extern const struct sonde_export_value sonde_export_values[]; /* until name NULL */

static inline bool sonde_export_value_known(const struct sonde_export_value *value, const struct sonde_profile *profile)
{
    return !value->sampled || profile->sampled;
}

/* For formats of profiles: the names, and the counts of `result`. 0, and names to be given back; EEMPTY when no context has any value; ENOMEM. */
struct sonde_names;
int sonde__export_begin_profile(struct sonde_names *names, const struct sonde_measurement *m, struct sonde_export_result *result,
                                struct sonde_diag *diag);

/* The frames that led to `at`, with it, outermost first, without the root; ready when zeroed, `nodes.items` are the caller's. 0 or ENOMEM. */
struct sonde_export_path {
    SONDE_VECTOR(uint32_t) nodes;
};
int sonde__export_path(const struct sonde_profile *profile, uint32_t at, struct sonde_export_path *path);

/* What to add to the times of `p`: processes of one host share a clock, another host's is tied to that of the first process by the wall clocks. */
int64_t sonde__export_shift_ns(const struct sonde_measurement *m, const struct sonde_process *p);
/* The pid of process `index`. Viewers tell processes apart by pid: one that came before (another host, a container,
 * re-use) gets a number beyond the kernel's (2^22). */
int32_t sonde__export_pid(const struct sonde_measurement *m, uint32_t index);

#endif
