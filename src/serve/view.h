/* view.h - a view, asked through a request. Any thread. */
#ifndef SONDE_SERVE_VIEW_H
#define SONDE_SERVE_VIEW_H

#include "request.h"
#include "views/question.h"

struct sonde__viewed {
    const struct sonde_view *view;
    struct sonde_view_data data;
    struct sonde_query query; /* what it was asked: columns of `data` have names of it */
};

/* Make the view `name`, for programs (`complete`) or for people. 0, or a negative code with `problem`; fini in either case. */
int sonde__view_ask(const struct sonde_session *session, const char *name, const struct sonde_question *asked, bool complete,
                    struct sonde__viewed *out, struct sonde_problem *problem);
void sonde__viewed_fini(struct sonde__viewed *viewed);

extern const struct sonde_question sonde__view_nothing; /* defaults of the options */

#endif
