/* problem.h - a request that has no answer is answered by the reason. Any thread. */
#ifndef SONDE_SERVE_PROBLEM_H
#define SONDE_SERVE_PROBLEM_H

#include "base/nearest.h"
#include "request.h"

/* A sentence in problem->diag, and as its hint what may have been meant. Returns `code`. */
int sonde__problem_unknown(struct sonde_problem *problem, int code, const struct sonde_nearest *nearest, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The answer that says it, in place of what `out` holds. */
void sonde__problem_answer(const struct sonde_problem *problem, int code, struct sonde_answer *out);

#endif
