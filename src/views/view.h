/* view.h - the views of a measurement: one descriptor each, one function that answers.
 *
 * A new view is one file src/views/NAME.c that defines
 *
 *     const struct sonde_view sonde_view_NAME = {.name = "NAME", .make = make, ...};
 *
 * and one line in SONDE_VIEW_MAP. The terminal, JSON, `sonde report --help NAME` and docs/columns.md
 * come from that one object; its JSON schema, docs/schema/NAME.json, is written by hand, and
 * tests/commands/columns.py compares both.
 */
#ifndef SONDE_VIEWS_VIEW_H
#define SONDE_VIEWS_VIEW_H

#include "query.h"
#include "table.h"

struct sonde_view {
    const char *name;
    const char *summary;         /* one line for lists */
    const char *description;     /* for help: one or two sentences; NULL: the summary is enough */
    bool single;                 /* JSON is one object, not an array of them */
    const struct sonde_view_columns *const *tables; /* all that it shows, JSON's first; NULL ends. What they contain is found
                                                     * through `of` */
    const char *const *options;  /* that say something to this view, besides those of every view; NULL ends. May be NULL */
    unsigned caveats;            /* enum sonde_caveat_kind: which of them touch it */
    bool quick_notes;            /* the profile answers at once: its notes do not read a long trace either */
    bool needs_operations;       /* without one operation there is nothing to show: an error, */
    bool or_messages;            /* but of ranks that sent each other something */
    bool hidden;                 /* an older name of another view: not in lists */
    /* Fill `out`. 0, or a negative code with `diag`, about which sentences in `out` of the tone ERROR may say more. Errors of
     * tables and memory are in out->error. */
    int (*make)(const struct sonde_query *q, struct sonde_view_data *out, struct sonde_diag *diag);
};

/* The views, in the order in which help shows them. */
#define SONDE_VIEW_MAP(X) \
    X(summary)            \
    X(profile)            \
    X(kernels)            \
    X(counters)           \
    X(stalls)             \
    X(copies)             \
    X(api)                \
    X(statistics)         \
    X(lanes)              \
    X(blame)              \
    X(critical)           \
    X(overlap)            \
    X(ranks)              \
    X(messages)           \
    X(comm)               \
    X(objects)            \
    X(memory)             \
    X(values)             \
    X(advice)             \
    X(ledger)             \
    X(contexts)

#define X(name) extern const struct sonde_view sonde_view_##name;
SONDE_VIEW_MAP(X)
#undef X

extern const struct sonde_view *const sonde_views[]; /* NULL-terminated */
/* Is there nothing that the view could show? Then sonde_query_empty says why. */
bool sonde_view_lacks_operations(const struct sonde_view *view, const struct sonde_query *q);
const struct sonde_view *sonde_view_find(const char *name); /* NULL: there is none */

/* Answer, with notes about what is missing unless q->complete. 0, or a negative code with `diag`; fini `out` in either case. */
int sonde_view_make(const struct sonde_view *view, const struct sonde_query *q, struct sonde_view_data *out,
                    struct sonde_diag *diag);
/* Its notes alone. 0 or a negative code; fini `out` in either case. */
int sonde_view_add_notes(const struct sonde_view *view, const struct sonde_query *q, struct sonde_view_data *out);

#endif
