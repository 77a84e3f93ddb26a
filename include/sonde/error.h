/* error.h - error codes and diagnostics shared by every part of Sonde.
 *
 * Functions return 0 or a negative code from SONDE_ERROR_MAP. A function that
 * can fail for a reason worth telling also takes a `struct sonde_diag *` (may
 * be NULL) and fills it; only src/cmds/ prints it.
 *
 * Threads: everything here may be called from any thread.
 */
#ifndef SONDE_ERROR_H
#define SONDE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/*      name          text */
#define SONDE_ERROR_MAP(X)                                    \
    X(NOMEM, "out of memory")                                 \
    X(IO, "I/O error")                                        \
    X(FORMAT, "not a Sonde measurement, or damaged")          \
    X(VERSION, "written by another version of Sonde")         \
    X(NOTFOUND, "not found")                                  \
    X(EXISTS, "already exists")                               \
    X(INVALID, "invalid argument")                            \
    X(UNSUPPORTED, "not supported")                           \
    X(FULL, "no space left")                                  \
    X(EMPTY, "nothing was recorded")                          \
    X(BUSY, "still in use")

/* clang-format off */
enum sonde_error_index {
    SONDE_ERROR_INDEX_OK,
#define X(name, text) SONDE_ERROR_INDEX_##name,
    SONDE_ERROR_MAP(X)
#undef X
    SONDE_ERROR_COUNT
};
/* clang-format on */

enum sonde_error {
    SONDE_OK = 0,
#define X(name, text) SONDE_E##name = -SONDE_ERROR_INDEX_##name,
    SONDE_ERROR_MAP(X)
#undef X
};

/* One sentence for the user: what went wrong, where, why, and what to do. */
struct sonde_diag {
    int code;         /* enum sonde_error */
    char what[192];   /* "cannot read the measurement" */
    char where[512];  /* path, function or offset; may be empty */
    char why[192];    /* strerror text or reason; may be empty */
    char hint[256];   /* what to do; may be empty */
};

/* Text of a code ("out of memory"); never NULL, static. */
const char *sonde_error_text(int code);

/* Fill `diag` (ignored when NULL) and return `code`, so that a caller can
 * write `return sonde_diag_set(diag, SONDE_EIO, path, "cannot open", ...)`.
 * `where` may be NULL. `what` is a printf format. */
int sonde_diag_set(struct sonde_diag *diag, int code, const char *where,
                   const char *what, ...) __attribute__((format(printf, 4, 5)));

/* Add the reason from errno, and a hint; both keep the code. */
void sonde_diag_errno(struct sonde_diag *diag, int errnum);
void sonde_diag_hint(struct sonde_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
