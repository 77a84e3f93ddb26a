/* which.h - which operation a request means: the options by which it is told, and its row. Any thread. */
#ifndef SONDE_SERVE_WHICH_H
#define SONDE_SERVE_WHICH_H

#include "request.h"

struct sonde__which {
    int64_t process, lane, number, begin, correlation; /* -1: not given */
};
extern const struct sonde__which sonde__which_none; /* the first process, and nothing else */
extern const struct sonde_option sonde__which_options[];

/* Is enough given, and is there such a lane? 0, or why not in `problem`. */
int sonde__which_check(const struct sonde_query *q, const struct sonde__which *which, struct sonde_problem *problem);
/* The first that it can be, on its lane or on all. 0, SONDE_ENOTFOUND or SONDE_ENOMEM. */
int sonde__which_find(const struct sonde_process *p, const struct sonde__which *which, struct sonde_row_op *row, uint32_t *lane, uint64_t *number);

#endif
