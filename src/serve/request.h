/* request.h - what a request is, for the files that answer one each.
 *
 * A new request is one file that defines
 *
 *     const struct sonde_request sonde_request_NAME = {.name = "NAME", .answer = answer, ...};
 *
 * one line in SONDE_REQUEST_MAP, and its section in docs/developers/requests.md.
 */
#ifndef SONDE_SERVE_REQUEST_H
#define SONDE_SERVE_REQUEST_H

#include "analyze/answers/critical/dependencies.h"
#include "analyze/answers/timeline/series.h"
#include "analyze/answers/timeline/timeline.h"
#include "base/option.h"
#include "session.h"
#include "views/query.h"
#include "views/table.h"

struct sonde_session {
    struct sonde_query query; /* the measurement, and of the question nothing: a request that asks a view takes a copy */
    char *path;
    struct sonde_text word;   /* the path as a shell reads it */
    struct sonde_timeline *timeline;
    struct sonde_dependencies *dependencies;
    struct sonde_series *series;
    struct sonde_comparison *comparison; /* NULL: there is nothing to compare with */
};

struct sonde_problem {         /* why a request has no answer */
    struct sonde_diag diag;    /* its code decides the status: EINVAL 400, ENOTFOUND and EEMPTY 404, others 500 */
    bool internal;             /* 500, whatever the code */
    const char *option;        /* the option that is wrong; NULL: none */
    ptrdiff_t at;              /* the byte of its value at which it is; -1: as a whole */
    struct sonde_text more;    /* lines that say more; given back by who has the problem */
};

struct sonde_request {
    const char *name;
    const char *argument;      /* what stands behind the name and a slash, in one word: "VIEW"; NULL: nothing may */
    const char *summary;       /* one line for lists */
    const struct sonde_option *options; /* may be NULL */
    size_t options_bytes;      /* size of their struct; zeroed, then `defaults` copied in */
    const void *defaults;      /* may be NULL */
    /* Write into out->text what is asked for, and where it is no JSON say so in out->type. 0, or a negative code with
     * `problem`; what was written is not sent then. A lack of memory in out->text is seen by the caller. Any thread. */
    int (*answer)(const struct sonde_session *session, const char *argument, const void *options, struct sonde_answer *out,
                  struct sonde_problem *problem);
};

/* The requests, in the order of the page that specifies them. */
#define SONDE_REQUEST_MAP(X) \
    X(views)                 \
    X(view)                  \
    X(text)                  \
    X(missing)               \
    X(run)                   \
    X(operation)             \
    X(dependencies)          \
    X(partners)              \
    X(find)                  \
    X(source)                \
    X(timeline)              \
    X(overview)              \
    X(series)                \
    X(next)                  \
    X(path)                  \
    X(diff)

#define X(name) extern const struct sonde_request sonde_request_##name;
SONDE_REQUEST_MAP(X)
#undef X

/* Write the root of `data` as JSON: one object, or a list of them. 0; or what went wrong while it was filled, in `problem`. */
int sonde__answer_json(const struct sonde_view_data *data, bool single, struct sonde_answer *out, struct sonde_problem *problem);

#endif
