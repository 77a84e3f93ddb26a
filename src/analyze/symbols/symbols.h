/* symbols.h - functions, inlined frames, files and lines of the native frames of a process.
 *
 * Looks at exactly the modules and compilation units that occur. A file whose
 * build id differs from the one that was loaded is never used: its frames stay
 * module + offset, and a note says so.
 */
#ifndef SONDE_ANALYZE_SYMBOLS_SYMBOLS_H
#define SONDE_ANALYZE_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

struct sonde_symbols {
    SONDE_VECTOR(struct sonde_row_symbol) rows;  /* sorted by frame, depth; string ids are of `strings` */
    SONDE_VECTOR(struct sonde_row_note) notes;   /* modules that could not be read, and why */
    SONDE_VECTOR(const char *) partly;           /* paths (the process's) of files that have symbols, but not for all frames */
    struct sonde_intern strings;
};

/* Resolve the native frames of `process` whose function is not stored into
 * *out, which is ready to use zeroed and is given back with fini even after
 * an error. 0 or SONDE_ENOMEM. Any thread, one at a time per `out`; threads of
 * its own look at several modules at once. `progress` counts modules. */
int sonde_symbols_find(const struct sonde_process *process, struct sonde_progress *progress, struct sonde_symbols *out);
void sonde_symbols_fini(struct sonde_symbols *symbols);

/* Resolve process directories (sealed) of one measurement and append SYMBOL, STRING and NOTE rows to
 * them; a file that several have loaded is read once. Does nothing in one where all
 * is resolved already, or whose `error` is set. The error of reading or writing
 * goes into its job; the others are not stopped by it. */
struct sonde_symbols_job {
    const char *dir;
    int error; /* 0, or a negative code with `diag` */
    struct sonde_diag diag;
};
void sonde_symbols_resolve(struct sonde_symbols_job *jobs, size_t count, struct sonde_progress *progress);

/* What this machine says of the files whose frames have no names in `m`, for a page, which has no files (src/wasm/symbols.c): a line with
 * the machine's name, then one for each file that could not be read, as the note says it, and one with SONDE_SYMBOLS_PARTLY and the path
 * of each that has symbols for others of its frames alone. What is not there was read, and has no symbols. 0 or SONDE_ENOMEM. */
#define SONDE_SYMBOLS_FILE   ".symbols" /* its name in a page: a reader of folders passes over it */
#define SONDE_SYMBOLS_PARTLY '+'
struct sonde_text;
int sonde_symbols_missing(const struct sonde_measurement *m, struct sonde_text *out);

/* Strings after the process's own, which is sealed: the id of one is its own plus that of the last before it. 0 or an error code. */
int sonde__symbols_append_strings(const struct sonde_process *p, const struct sonde_intern *strings, struct sonde_diag *diag);

/* Does this note say why a file's symbols could not be read? */
bool sonde_symbols_is_note(const char *text);

/* C++ names (when the machine has the C++ runtime library, whose demangler is used) and
 * Rust names as written in the source; NULL when `name` is not a mangled name or
 * cannot be told. The caller frees it. Any thread. */
char *sonde_demangle(const char *name);
bool sonde_is_mangled(const char *name);

#endif
