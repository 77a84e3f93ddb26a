/* question.h - what may be asked of a view: a struct, the table of options that fill it from text, and what a view
 * gets of it.
 *
 * Who answers views (`sonde report`, src/serve) has the measurement in a struct sonde_query; a question adds to it what this
 * one answer shall be like:
 *
 *     struct sonde_question asked = SONDE_QUESTION_NOTHING;
 *     ... sonde_option_read(sonde_option_find(sonde_question_options, "min-percent", 11), "min-percent", "5", &asked, ...)
 *     if (sonde_question_misplaced(&asked, view, &meant)) ...
 *     rc = sonde_question_ask(&asked, view, complete, &q, &error);
 *
 * A new option is a field here, its line in the table, what it becomes in sonde_question_ask, and its name among the options
 * of the views that it is for. Any thread.
 */
#ifndef SONDE_VIEWS_QUESTION_H
#define SONDE_VIEWS_QUESTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/option.h"
#include "view.h"

struct sonde_question { /* as it was asked; -1, 0 or NULL where it was not. Texts are not copied */
    double min_percent;
    int64_t limit, depth;
    int shape;              /* profile: 1 + enum sonde_profile_shape, 0 not given */
    int by;                 /* profile: enum sonde_profile_by */
    int ids;
    const char *metric, *derive, *sort, *root;
    const char *rows_columns; /* comm */
    const char *from, *to;  /* statistics, blame */
    const char *lane;       /* statistics */
    double threshold;       /* values: in percent */
    double frequent;        /* values: in percent */
    int64_t mantissa;       /* values: bits */
    const char *object;     /* values */
    int graph;
    int64_t vertex;
    const char *important;
    int64_t events;         /* critical */
};
#define SONDE_QUESTION_NOTHING {.min_percent = -1, .limit = -1, .depth = -1, .by = -1, .threshold = -1, .frequent = -1, .mantissa = -1, .vertex = -1, .events = -1}

/* One for each field; offsets are those in the struct. */
extern const struct sonde_option sonde_question_options[];

/* Does the option say something to this view? */
bool sonde_question_concerns(const struct sonde_option *option, const struct sonde_view *view);

/* The name of an option that was given and says nothing to this view; NULL: there is none. `meant` is the first view that it
 * is for, "" none. */
const char *sonde_question_misplaced(const struct sonde_question *asked, const struct sonde_view *view, const char **meant);

struct sonde_question_error { /* what of a question cannot be asked */
    struct sonde_diag diag;   /* its code, `what` and perhaps `hint` */
    const char *option;       /* the name of the option that is wrong; NULL: several do not go together */
    const char *argument;     /* what was given to it */
    ptrdiff_t at;             /* the byte of the argument at which it is wrong; -1: as a whole */
};

/* Fill what `view` is asked in `q`, in which nothing of it was set: all but the measurement and what sonde_query_prepare
 * computes. `complete` as in struct sonde_query; it decides what is not given. 0, or a negative code with `error`;
 * sonde_question_forget, or sonde_query_fini, in either case. The texts of `asked` must live as long. */
int sonde_question_ask(const struct sonde_question *asked, const struct sonde_view *view, bool complete, struct sonde_query *q,
                       struct sonde_question_error *error);
/* Give back what the above put into a query whose measurement goes on being used; not before what was answered is no longer
 * read. */
void sonde_question_forget(struct sonde_query *q);

#endif
