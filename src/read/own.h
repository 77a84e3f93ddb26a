/* own.h - what the files of the library share.
 *
 * Threads: what is computed at first need is computed under a lock; afterwards it is only read.
 */
#ifndef SONDE_READ_OWN_H
#define SONDE_READ_OWN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sonde/error.h>
#include <sonde/read.h>

#include "base/text.h"
#include "export/names.h"
#include "views/query.h"
#include "views/table.h"

struct sonde_read {
    struct sonde_query query; /* the measurement; the rest is there when `prepared` */
    struct sonde_text word;   /* its path as a shell reads it */
    char *path;
    int64_t *origins;         /* [process]: its times less this are since the run began */
    pthread_mutex_t lock;
    bool prepared, failed;    /* by the lock */
    struct sonde_diag why;    /* when failed */
    struct sonde_names names; /* of the same profile */
    uint32_t ***contexts;     /* [process][id / page][id % page]: tree nodes of its call paths; a page may be NULL */
    uint32_t *context_pages;  /* [process] */
    /* Numbers of a process's strings, lanes and launches among those of all: its own number plus this. Prepared. [process + 1] */
    uint64_t *string_first, *lane_first, *work_first;
};

enum { SONDE__CONTEXT_PAGE = 8192 };

/* Read the call paths and what they are called, unless that was done. Any thread. 0, or a negative code with `diag`. */
int sonde__read_prepare(struct sonde_read *m, struct sonde_diag *diag);
/* The sentence of `diag` into `error`, which may be NULL, with `more` lines behind it. Returns diag->code. */
int sonde__read_fail(struct sonde_read_error *error, const struct sonde_diag *diag, const char *more);

/* Tree node of a process's call path; 0 when it was lost. Prepared. */
static inline uint32_t sonde__read_context(const struct sonde_read *m, uint32_t process, uint32_t node)
{
    const uint32_t page = node / SONDE__CONTEXT_PAGE;
    if (page >= m->context_pages[process] || !m->contexts[process][page])
        return 0;
    return m->contexts[process][page][node % SONDE__CONTEXT_PAGE];
}

/* ---- tables of rows with times: columns.c says what is in them, rows.c reads them --------------------- */

/* Where a row is. */
struct sonde__place {
    const struct sonde_read *m;
    const struct sonde_process *p;
    uint32_t process, lane;
    int64_t origin_ns;
};

/* A column is one of: a field as it is; a time, which becomes one since the run began; a value that is computed; a text, of which
 * a number is computed, and what that is called. */
enum sonde__how { SONDE__COPY,
                  SONDE__TIME,
                  SONDE__VALUE,
                  SONDE__TEXT };

struct sonde__column {
    const char *name, *format, *definition, *unit;
    bool nullable, asked_for;
    bool prepared;                /* its numbers or texts need sonde__read_prepare */
    bool loaded;                  /* its values need the process's tables */
    enum sonde__how how;
    uint16_t offset;              /* of the field that is copied, or the time, which is always known */
    uint64_t fields;              /* SONDE_FIELD of what is read of a row */
    /* VALUE: its bits. TEXT: a number below numbers(m). Not known: *known is false. Any thread */
    uint64_t (*value)(const struct sonde__place *at, const void *row, bool *known);
    uint64_t (*numbers)(const struct sonde_read *m);
    /* Of one that occurs; NULL or "" is unknown. Valid until the next call with these `names`. */
    const char *(*text)(const struct sonde_read *m, struct sonde_names *names, uint64_t number, char *room, size_t size);
};

struct sonde__trace {
    const char *name, *summary;
    enum sonde_table table;
    const struct sonde__column *columns;
    uint32_t count;
};
extern const struct sonde__trace sonde__traces[];
extern const uint32_t sonde__trace_count;

int sonde__trace_arrow(struct sonde_read *m, const struct sonde__trace *trace, const struct sonde_read_rows *asked,
                       struct ArrowSchema *schema, struct ArrowArray *array, struct sonde_diag *diag);

/* ---- tables of the processes: tables.c ---------------------------------------------------------------- */

struct sonde__table {
    const char *name, *summary;
    const struct sonde_view_columns *columns;
    bool of_process;              /* filled process by process; else once */
    bool prepared, loaded;        /* as of columns */
    uint64_t (*rows)(const struct sonde_read *m); /* NULL: not known before it was made */
    void (*fill)(const struct sonde_read *m, uint32_t process, struct sonde_view_table *t);
};
extern const struct sonde__table sonde__tables[];
extern const uint32_t sonde__table_count;

int sonde__table_arrow(struct sonde_read *m, const struct sonde__table *table, const struct sonde_read_rows *asked,
                       struct ArrowSchema *schema, struct ArrowArray *array, struct sonde_diag *diag);

#endif
