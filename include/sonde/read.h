/* read.h - libsonde: a measurement as typed columns.
 *
 *     struct sonde_read *m;
 *     struct sonde_read_error error;
 *     struct ArrowSchema schema;
 *     struct ArrowArray array;
 *     if (sonde_read_open("heat.sonde", &m, &error))
 *         return fprintf(stderr, "%s\n", error.sentence), 1;
 *     static const char *const columns[] = {"name", "start_ns", "end_ns", NULL};
 *     const struct sonde_read_rows some = {.size = sizeof some, .process = -1, .to_ns = 1000000000, .columns = columns};
 *     if (!sonde_read_rows(m, "operations", &some, &schema, &array, &error)) {
 *         const int64_t *start_ns = array.children[1]->buffers[1]; // [array.length]
 *         ...
 *         array.release(&array);
 *         schema.release(&schema);
 *     }
 *     sonde_read_close(m);
 *
 * Answers are arrays of the Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): one struct whose
 * children are the columns. Whoever reads that (pyarrow, pandas, Polars, DuckDB, R, ...) takes them over without a copy. They own
 * their memory: release gives it back, before or after sonde_read_close.
 *
 * Formats of columns: l (int64), L (uint64), I (uint32), g (double), b (boolean), U (large UTF-8), and dictionaries: i (int32) of
 * U. Answers of views nest: +s (object), +L (list; of trees, lists of lists, as deep as they are, and n below the leaves) and +m
 * (object whose names are data). Null is unknown, which is not zero. A column's metadata has `definition`, and `unit` where its
 * name does not end with it. Bytes of names that are not UTF-8 become U+FFFD.
 *
 * Times are nanoseconds since the run began (its first process; hosts by their wall clocks), as in `sonde report --from`. The
 * column `origin_ns` of the table `processes` leads from there to CLOCK_MONOTONIC_RAW of the process's host, which exports have.
 *
 * Errors: 0, or a negative enum sonde_error with a sentence. What was damaged is left out, and counted in `processes`.
 * Opening and reading never change a measurement; one that is being written is read as far as it was when it was opened.
 *
 * Threads: any number may read an open measurement at once; who closes it is the last.
 *
 * Compatibility: functions keep their versions (SONDE_1). Structs begin with their size, which the caller sets; a field that a
 * caller does not know is not touched, and one that the library does not know must be zero.
 */
#ifndef SONDE_READ_H
#define SONDE_READ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};
#endif

struct sonde_read; /* an open measurement */

struct sonde_read_error {
    int code;            /* enum sonde_error of sonde/error.h; 0: none */
    char sentence[1020]; /* what went wrong, where, why and what to do; without a full stop */
};

/* "0.1.0". Never NULL. */
const char *sonde_read_version(void);

/* Open the measurement at `path`, a folder. ENOTFOUND, EFORMAT, EVERSION, EIO, ENOMEM. `error` may be NULL, here and below. */
int sonde_read_open(const char *path, struct sonde_read **out, struct sonde_read_error *error);
/* Arrays stay valid. NULL is ignored. */
void sonde_read_close(struct sonde_read *m);

/* ---- what there is ------------------------------------------------------------------------------- */

struct sonde_read_table {
    size_t size;
    const char *name;    /* constants, all of them */
    const char *summary; /* what a row is */
    int64_t rows;        /* of this measurement, damaged ones included; -1: not counted yet */
    int timed;           /* rows have times: those of a window can be asked for */
};
/* Table number `index`, from 0. ENOTFOUND: there are not so many. */
int sonde_read_table(const struct sonde_read *m, uint32_t index, struct sonde_read_table *out);

struct sonde_read_column {
    size_t size;
    const char *name, *format, *definition; /* as in the schema */
    const char *unit;                       /* NULL: none, or its name ends with it */
    int nullable;
    int asked_for;                          /* only there where its name is asked for: it costs time */
};
/* Column number `index` of a table. ENOTFOUND: there is no such table, or it has not so many. */
int sonde_read_column(const char *table, uint32_t index, struct sonde_read_column *out);

struct sonde_read_view {
    size_t size;
    const char *name;
    const char *summary;
    int single; /* its answer is one row */
};
/* View number `index`, as `sonde report` has them. ENOTFOUND: there are not so many. */
int sonde_read_view_named(uint32_t index, struct sonde_read_view *out);

/* ---- what is in it ------------------------------------------------------------------------------- */

struct sonde_read_rows {
    size_t size;
    int64_t from_ns, to_ns;     /* of timed tables: rows that overlap [from_ns, to_ns), and instants in it; both 0: all */
    const char *const *columns; /* names, NULL at the end: these, in this order; NULL: all that need not be asked for */
    int32_t process;            /* row of the table `processes`; -1: all */
    uint32_t lane;              /* of that process (column `lane` of `lanes`); 0: all */
};
/* Rows of a table, process after process and lane after lane, as they were recorded. Several threads of the library's own
 * read them (SONDE_THREADS in the environment says how many). `rows` NULL: all. ENOTFOUND, EINVALID, ENOMEM. */
int sonde_read_rows(struct sonde_read *m, const char *table, const struct sonde_read_rows *rows, struct ArrowSchema *schema,
                    struct ArrowArray *array, struct sonde_read_error *error);

struct sonde_read_option {
    const char *name;  /* of an option of `sonde report`, without its dashes; NULL ends */
    const char *value; /* as on the command line; NULL: it takes none */
};
/* The answer of a view: rows and columns of `sonde report VIEW --json`. `options` NULL: none. ENOTFOUND, EINVALID, EEMPTY,
 * EUNSUPPORTED (a tree in it is deeper than 128 levels), ENOMEM. */
int sonde_read_view(struct sonde_read *m, const char *view, const struct sonde_read_option *options, struct ArrowSchema *schema,
                    struct ArrowArray *array, struct sonde_read_error *error);

/* What that answer's figures lack, and why: a row with a `note` for each, which may be none. It may read the whole trace. Errors as
 * above, but for EEMPTY. */
int sonde_read_missing(struct sonde_read *m, const char *view, const struct sonde_read_option *options, struct ArrowSchema *schema,
                       struct ArrowArray *array, struct sonde_read_error *error);

/* The same answer once more, for another owner: of the same memory, which goes when both are released. `schema` and `array` came
 * from here, and are not released yet. ENOMEM. */
int sonde_read_share(const struct ArrowSchema *schema, const struct ArrowArray *array, struct ArrowSchema *schema_out,
                     struct ArrowArray *array_out);

#ifdef __cplusplus
}
#endif
#endif
