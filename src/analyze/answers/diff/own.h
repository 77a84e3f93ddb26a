/* own.h - what the files of the comparison share. Private to diff/.
 */
#ifndef SONDE_ANALYZE_ANSWERS_DIFF_OWN_H
#define SONDE_ANALYZE_ANSWERS_DIFF_OWN_H

#include "base/map.h"
#include "diff.h"

/* A copy that lives as long as the answer; NULL: no memory. */
const char *sonde__diff_text(struct sonde_diff *out, const char *text);

/* ---- tests (test.c) ------------------------------------------------------------------------ */

/* Of the difference of two means, from a figure of each run, those before first. `measured` is the difference as it was
 * measured, of which the figures may leave out what is unusual: that widens the interval and makes nothing significant.
 * Unknown with one run on each side. */
struct sonde_diff_effect sonde__effect_of_runs(const double *values, size_t before_count, size_t count, double measured);
/* The same of their ratio, after / before, both > 0. */
struct sonde_diff_effect sonde__ratio_of_runs(const double *values, size_t before_count, size_t count);

/* Durations of one run, cut in their order into pieces of about as many. */
enum { SONDE__PIECES = 20,
       SONDE__PIECES_LEAST = 5 };
struct sonde__pieces { /* ready when zeroed; `expected` is set first */
    uint64_t expected, seen;
    double sum[SONDE__PIECES];
    uint32_t count[SONDE__PIECES];
};
void sonde__pieces_add(struct sonde__pieces *pieces, double ns);

struct sonde__typical {  /* of the durations of one run */
    double ns;           /* median of the pieces' means */
    double spread_ns;    /* their spread as a standard deviation, from the median deviation */
    uint32_t pieces;     /* below SONDE__PIECES_LEAST the spread says nothing; 0: nothing is known */
};
struct sonde__typical sonde__pieces_typical(const struct sonde__pieces *pieces);

struct sonde__single {   /* a side of one run */
    uint64_t count;      /* operations or calls with times */
    double total_ns;
    struct sonde__typical typical;
};
/* Of the difference of two total times; of the ratio of two typical ones. */
struct sonde_diff_effect sonde__effect_within(const struct sonde__single *before, const struct sonde__single *after);
struct sonde_diff_effect sonde__ratio_within(const struct sonde__typical *before, const struct sonde__typical *after);
/* Of two numbers of events, each of which stands for `each` of a quantity. */
struct sonde_diff_effect sonde__effect_of_counts(double before, double before_each, double after, double after_each);

/* Which of `count` p-values are significant when the rate of false ones among them is SONDE_DIFF_RATE: those up to the
 * returned one; negative: none. Sorts them. */
double sonde__false_discovery_limit(double *p, size_t count);

/* ---- the two trees (match.c) ---------------------------------------------------------------- */

struct sonde__key {          /* what makes frames the same; strings by id in sonde__trees.strings */
    uint32_t kind, op, name, file, module, line; /* file: its last part */
    uint64_t offset;
};
struct sonde__side_node {
    struct sonde__key key;
    uint32_t parent, first_child, next_sibling; /* 0 is the root and "none" */
    uint32_t partner;        /* node of the other side; UINT32_MAX none */
    uint8_t match, path;     /* enum sonde_diff_match: of this frame; the weakest of its path */
    double operations;       /* of the frame itself, in all runs of the side */
};
struct sonde__side {
    SONDE_VECTOR(struct sonde__side_node) nodes;
    uint32_t runs;
};
struct sonde__trees {        /* ready when zeroed */
    struct sonde__side sides[SONDE_DIFF_SIDES];
    uint32_t **at;           /* [run][node of its profile]: node of its side */
    uint32_t run_count;
    struct sonde_intern strings;
};
/* 0 or SONDE_ENOMEM; fini in either case. */
int sonde__trees_build(struct sonde__trees *trees, const struct sonde_diff_config *config);
void sonde__trees_fini(struct sonde__trees *trees);
/* One number for a node and its partner. */
static inline uint32_t sonde__trees_joint(const struct sonde__trees *trees, int side, uint32_t node)
{
    const uint32_t partner = trees->sides[side].nodes.items[node].partner;
    if (side == SONDE_DIFF_BEFORE)
        return node;
    return partner != UINT32_MAX ? partner : (uint32_t)trees->sides[SONDE_DIFF_BEFORE].nodes.count + node;
}

/* ---- durations (durations.c) ----------------------------------------------------------------- */

/* Durations of a run's operations and waiting calls: pieces[row_of[node of its profile]]; UINT32_MAX: not wanted. 0 or a
 * negative code of reading. Runs may be read side by side. */
int sonde__durations_read(const struct sonde_diff_run *run, const uint32_t *row_of, struct sonde__pieces *pieces);
/* The step of both sides into out->step; 0 or a negative code of reading. */
int sonde__steps_compare(const struct sonde_diff_config *config, struct sonde_diff *out);

/* ---- the ledgers (ledger.c) ------------------------------------------------------------------ */

/* out->ledger and out->warnings, but for those about contexts. 0 or SONDE_ENOMEM. */
int sonde__ledgers_compare(const struct sonde_diff_config *config, struct sonde_diff *out);
int sonde__warn(struct sonde_diff *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
