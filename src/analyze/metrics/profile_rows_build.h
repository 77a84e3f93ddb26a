/* profile_rows_build.h - between profile_rows.c, profile_rows_flat.c and profile_rows_objects.c: a view while it is made.
 */
#ifndef SONDE_ANALYZE_METRICS_PROFILE_ROWS_BUILD_H
#define SONDE_ANALYZE_METRICS_PROFILE_ROWS_BUILD_H

#include "profile_rows.h"

enum {
    SONDE__INSIDE = 1,
    SONDE__HIDDEN = 2,
};

/* Sums of one side, by metric. */
struct sonde__sums { double of[SONDE_METRIC_COUNT]; };

struct sonde__entity {
    struct sonde_profile_frame frame;
    uint32_t node;
};

struct sonde__rows_maker {
    const struct sonde_profile *profile;
    const struct sonde_profile_rows_config *config;
    struct sonde_profile_rows *view;
    size_t nodes;
    struct sonde__sums *self, *total; /* [tree node]; 0 outside of the root's context */
    uint8_t *state;                   /* [tree node]: SONDE__INSIDE, SONDE__HIDDEN */
    uint32_t *up;                     /* [tree node]: nearest ancestor that is shown; 0 none */
    uint32_t *entity;                 /* [tree node]: number of its routine; 0 none */
    SONDE_VECTOR(struct sonde__entity) entities;
    struct sonde_map by_key;
    uint32_t *owner;                  /* [tree node]: whose figure its own are: by function another node's */
    bool fold;                        /* nameless frames; from the numbering of the routines on */
};

/* A row that competes for its place among others. */
struct sonde__candidate {
    double weight, second, share /* of the whole, 0 to 1 */;
    uint32_t id;
};

void sonde__sums_add(struct sonde__sums *to, const struct sonde__sums *more);

/* Errors of rows that are groups of tree nodes: group[node], UINT32_MAX none; into what `at` says of a row. 0 or ENOMEM. */
int sonde__rows_errors(const struct sonde__rows_maker *v, const uint32_t *group, bool inclusive, size_t groups,
                       struct sonde__sums *(*at)(void *rows, size_t group, bool inclusive), void *rows);

/* The same of one row that is in the view already: those of `sums`, and what is derived from them. */
void sonde__rows_set_errors(const struct sonde__rows_maker *v, size_t row, int side, const struct sonde__sums *sums);

/* Append a row with its values. 0 or ENOMEM; *out its number. */
int sonde__rows_emit(struct sonde__rows_maker *v, uint32_t parent, uint32_t depth, const struct sonde__entity *entity,
                     const struct sonde__sums *inclusive, const struct sonde__sums *exclusive, uint32_t *out);

/* Figure that rows are sorted by. */
struct sonde__candidate sonde__rows_weigh(const struct sonde__rows_maker *v, const struct sonde__sums *inclusive,
                                          const struct sonde__sums *exclusive, uint32_t id);

/* Drop those below min_percent of the whole, which row 0 is, and sort the rest, largest first. Returns how many. */
size_t sonde__rows_rank(struct sonde__rows_maker *v, struct sonde__candidate *list, size_t count);

/* Number the routines of the tree nodes by `by` into v->entity and v->entities. */
int sonde__rows_entities(struct sonde__rows_maker *v, enum sonde_profile_by by);

/* Is `node` in one row with its caller, since both are nameless frames of one module? */
bool sonde__rows_folds(const struct sonde__rows_maker *v, uint32_t node, uint32_t caller);

/* Fill the view after its row 0. 0 or a negative code. */
int sonde__rows_flat(struct sonde__rows_maker *v);
int sonde__rows_bottom_up(struct sonde__rows_maker *v);
int sonde__rows_objects(struct sonde__rows_maker *v, struct sonde_diag *diag);

#endif
