/* profile_rows.h - a profile as rows: top-down, bottom-up or flat, with any columns.
 *
 * One function makes the rows from a config; nothing is printed. docs/profile.md
 * defines inclusive and exclusive for each shape, and what recursion does.
 *
 *     struct sonde_profile_rows_config config = {.shape = SONDE_PROFILE_FLAT, .by = SONDE_BY_FUNCTION, .columns = &columns};
 *     rc = sonde_profile_rows_build(profile, &config, &view, diag);
 *     sonde_profile_rows_get(view, row, SONDE_METRIC_GPU, SONDE_INCLUSIVE).value ...
 *     sonde_profile_rows_destroy(view);
 *
 * Threads: any; a profile may be viewed by several at once.
 */
#ifndef SONDE_ANALYZE_METRICS_PROFILE_ROWS_H
#define SONDE_ANALYZE_METRICS_PROFILE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/profile/profile.h"
#include "base/vector.h"
#include "estimate.h"
#include "metric.h"

enum sonde_profile_shape {
    SONDE_PROFILE_TOP_DOWN,
    SONDE_PROFILE_BOTTOM_UP,
    SONDE_PROFILE_FLAT,
};

/* What makes two calling context nodes one routine. */
enum sonde_profile_by {
    SONDE_BY_LINE,     /* function and line: the frames of the tree */
    SONDE_BY_FUNCTION, /* function, API call, kernel, range */
    SONDE_BY_MODULE,   /* program, library, Python file */
    SONDE_BY_KERNEL,   /* operations by kind and name; the rest is one row. Flat only */
    SONDE_BY_OBJECT,   /* operations by the data object they named, objects by where they were allocated. Flat only */
};
extern const char *const sonde_profile_by_names[]; /* [enum sonde_profile_by]: "line"; ends with NULL */

enum {
    SONDE_INCLUSIVE,
    SONDE_EXCLUSIVE,
    SONDE_PROFILE_SIDES,
};

struct sonde_profile_rows_config {
    enum sonde_profile_shape shape;
    enum sonde_profile_by by;
    const struct sonde_columns *columns;  /* must outlive the view */
    uint32_t sort;          /* column number; rows come largest first */
    int sort_side;          /* SONDE_INCLUSIVE or SONDE_EXCLUSIVE: then bottom-up callers of nothing are left out */
    uint32_t root;          /* tree node whose context becomes the whole; 0 all */
    uint32_t depth;         /* levels below the whole; 0 = all */
    uint32_t share;         /* column whose share in the whole counts; a metric: formulas need not add up */
    double min_percent;     /* rows below this share in that column and in all times shown are left out */
    bool all_frames;        /* false: frames of the runtime without figures of their own are left out */
    bool fold_nameless;     /* native frames without a name that follow each other, or have one parent, are one row per module */
    const double *given[SONDE_METRIC_COUNT]; /* exclusive values per tree node instead of the profile's; NULL none */
    const struct sonde_estimate *cpu_estimate, *blame_estimate; /* for their errors; NULL: unknown */
    const struct sonde_measurement *m;       /* by object: whose trace says which operation named what */
};

enum { SONDE_PROFILE_OBJECT = 255 }; /* kind of a row that is a data object, where there are frame kinds else */

/* What a row shows; texts belong to the profile. Fields that `by` does not tell apart are empty. */
struct sonde_profile_frame {
    uint8_t kind;         /* enum sonde_frame_kind or SONDE_PROFILE_OBJECT; 0: the whole, or what is in no routine */
    uint16_t op;          /* OP: enum sonde_op_kind; by object: enum sonde_object_kind */
    uint32_t line;
    uint64_t offset;
    const char *name, *file, *module;
};

struct sonde_profile_row {
    uint32_t parent;      /* row; 0 is the whole, which has itself */
    uint32_t depth;       /* 0 the whole */
    uint32_t node;        /* one of the tree nodes it stands for; of an object, where it was allocated */
    struct sonde_profile_frame frame;
};

#define SONDE_NO_ROW UINT32_MAX

struct sonde_profile_rows {
    SONDE_VECTOR(struct sonde_profile_row) rows; /* a parent before its children, which come largest first; [0] the whole */
    const struct sonde_columns *columns;
    enum sonde_profile_shape shape;
    enum sonde_profile_by by;
    uint32_t sort, share;
    int sort_side;               /* and that of shares; the whole is inclusive */
    uint64_t cut;                /* rows left out for their small share, without those below them */
    struct sonde_value *values;  /* [row][column][side] */
    size_t value_rows;
    uint32_t *row_of;            /* top-down, [tree node]: the row that has what is exclusive to it, SONDE_NO_ROW where that was left out; else NULL */
};

/* 0, ENOMEM, EINVAL (shape and `by` do not go together), or by object the error of reading. */
int sonde_profile_rows_build(const struct sonde_profile *profile, const struct sonde_profile_rows_config *config,
                             struct sonde_profile_rows **out, struct sonde_diag *diag);
void sonde_profile_rows_destroy(struct sonde_profile_rows *view);

static inline struct sonde_value sonde_profile_rows_get(const struct sonde_profile_rows *v, size_t row, uint32_t column, int side)
{
    return v->values[(row * sonde_columns_count(v->columns) + column) * SONDE_PROFILE_SIDES + (size_t)side];
}

/* Contexts that `text` means: "#57" or "57" a tree node, "heat.c:81" a place,
 * else a function (with or without its parameters), API call, kernel or range.
 * Of contexts below each other (recursion) the outermost counts. Array in *out
 * (caller frees), length returned; ENOMEM. */
long sonde_profile_rows_find(const struct sonde_profile *profile, const struct sonde_profile_rows_config *config, const char *text,
                             uint32_t **out);

#endif
