/* query.h - what a view answers from: a measurement with all that is computed once, and what was asked.
 *
 * Threads: views read it, any number at once. Who opened the measurement fills it and gives it back.
 */
#ifndef SONDE_VIEWS_QUERY_H
#define SONDE_VIEWS_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/answers/blame/blame.h"
#include "analyze/metrics/metric.h"
#include "analyze/model/totals.h"
#include "analyze/profile/bandwidth.h"
#include "analyze/profile/profile.h"
#include "analyze/profile/stretches.h"
#include "base/kinds.h"
#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

struct sonde_query_time {
    bool given, relative;
    uint64_t ns;
    double percent;
}; /* since the run began; relative: percent of it */

struct sonde_query_range { /* what is asked of views of a time window; zeroed: nothing, and it is the whole run */
    struct sonde_query_time from, to;
    const char *lanes;       /* statistics: as --lane names them, separated by commas; NULL: all */
    uint32_t depth;          /* frames of a context from the outermost on; 0 = all */
};

struct sonde_query_contexts { /* what is asked of the view profile alone; zeroed: nothing, and it chooses */
    int shape, by;               /* 1 + enum sonde_profile_shape, 1 + enum sonde_profile_by; 0: not given */
    struct sonde_columns columns; /* named and derived ones; sonde_query_fini gives them back */
    bool named;                  /* metrics were: no other columns than these and the derived ones, and the first sorts */
    int sort, sort_side;         /* 1 + column number, 1 + SONDE_INCLUSIVE or SONDE_EXCLUSIVE; 0: not given */
    const char *root;            /* a calling context, as sonde_profile_rows_find reads it; NULL: all */
    uint32_t depth;              /* levels of the tree; 0 = all */
    bool ids;                    /* people see the numbers of contexts */
};

struct sonde_query_values { /* what is asked of the view values alone; zeroed: nothing, and it chooses */
    bool threshold_given;
    double threshold;        /* share of what was written from which on a pattern is shown */
    bool frequent_given;
    double frequent;         /* share of the elements, and more, that are a frequent value */
    bool mantissa_given;
    unsigned mantissa;       /* approximate values are within 2^-mantissa of each other */
    bool graph;              /* people see the value flow graph */
    bool vertex_given;
    uint32_t vertex;         /* of the graph: only its slice */
    const char *important;   /* the least of an edge or a vertex, as values_graph.c reads it; NULL: all */
    const char *object;      /* only objects with this in their name, and every operation that wrote them; NULL: all */
};

enum sonde_comm_by {
    SONDE_COMM_BY_ALL, /* all of it, each in brief */
    SONDE_COMM_BY_PAIR,
    SONDE_COMM_BY_LINE,
    SONDE_COMM_BY_KERNEL,
    SONDE_COMM_BY_OBJECT,
    SONDE_COMM_BY_ELEMENT,
};
struct sonde_query_comm { /* what is asked of the view comm alone */
    enum sonde_comm_by by; /* what people see */
    char of[256];          /* objects whose site has this in it are rows and columns: elements of as many bytes as fit */
    uint64_t rows, columns; /* 0: none are */
};

struct sonde_query {
    struct sonde_measurement *m;
    struct sonde_profile *profile;
    struct sonde_totals totals;
    struct sonde_stretches stretches;
    struct sonde_blame_basis *blame_basis; /* who answers many questions keeps one, and gives it back; NULL: nothing is kept */
    SONDE_VECTOR(const char *) modules; /* paths of all that frames are in: names.c shortens them */
    const char *path;        /* of the measurement, for messages */
    bool complete;           /* for programs: also what no terminal shows, and nothing that only it shows */
    uint32_t limit;          /* rows of a table; 0 = all */
    double min_percent;      /* rows below this share of the whole are left out */
    bool limit_given, min_percent_given; /* by who asks; else these are defaults */
    struct sonde_query_range range;
    struct sonde_query_contexts contexts;
    struct sonde_query_values values;
    struct sonde_query_comm comm;
    uint64_t events;         /* of the view critical: operations and calls looked at, at most; 0: it chooses */
    const struct sonde_bandwidths *bandwidths; /* of the view kernels; NULL: not looked for */
    /* Around long work, so that somebody may show how far it is; NULL: nobody does. */
    struct sonde_progress *(*begin)(const char *text);
    void (*end)(struct sonde_progress *progress);
};

/* Compute what all views share of q->m, which is open; fini, which closes it, in either case. 0 or a negative code with
 * `diag`. */
int sonde_query_prepare(struct sonde_query *q, struct sonde_diag *diag);
void sonde_query_fini(struct sonde_query *q);

/* The window of time that was asked for, or the whole run. */
struct sonde_query_window { uint64_t from_ns, to_ns, length_ns; }; /* since the run began; length_ns: of the run */
/* `within`: only as far as it lies in the run. 0, or SONDE_EINVALID with `diag`: it is empty. */
int sonde_query_window(const struct sonde_query *q, bool within, struct sonde_query_window *out, struct sonde_diag *diag);

/* Idleness blame in a window (within the run), or (NULL) of the whole measurement; reads the trace. 0, or a negative code with
 * `diag`; sonde_blame_fini in either case. */
int sonde_query_blame(const struct sonde_query *q, const struct sonde_query_window *window, struct sonde_blame *blame,
                      struct sonde_diag *diag);

/* Rows to show of `all`. */
static inline size_t sonde_query_rows(const struct sonde_query *q, size_t all)
{
    return q->limit && q->limit < all ? q->limit : all;
}

/* "reading the trace". Both take and give NULL where nobody watches. */
struct sonde_progress *sonde_query_begin(const struct sonde_query *q, const char *text);
void sonde_query_end(const struct sonde_query *q, struct sonde_progress *progress);

#endif
