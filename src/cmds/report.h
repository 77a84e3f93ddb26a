/* report.h - what the views of `sonde report` share: the measurement with all that is
 * computed once, tables for people, values for scripts.
 *
 * A new view is one file report_NAME.c with two functions and one line in the
 * table of report.c.
 */
#ifndef SONDE_CMDS_REPORT_H
#define SONDE_CMDS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "analyze/blame.h"
#include "analyze/metric.h"
#include "analyze/profile.h"
#include "analyze/rank.h"
#include "analyze/totals.h"
#include "analyze/verdict.h"
#include "base/kinds.h"
#include "base/number.h"
#include "base/text.h"
#include "base/vector.h"
#include "format/reader.h"

struct report_time { bool given, relative; uint64_t ns; double percent; }; /* since the start; relative: percent of the run */

struct report_options { /* as they were given; -1 or NULL where not */
    int         json, color, no_pager;
    double      min_percent;
    int64_t     limit, depth;
    int         shape;      /* profile: 1 + enum sonde_profile_shape, 0 not given */
    int         by;         /* profile: enum sonde_profile_by */
    int         ids;
    const char *metric, *derive, *sort, *root;
    const char *from, *to, *lane; /* statistics */
};
extern const char *const report_by_names[]; /* [enum sonde_profile_by]; ends with NULL */

struct report {
    struct sonde_measurement *m;
    struct sonde_profile     *profile;
    struct sonde_totals       totals;
    SONDE_VECTOR(const char *) modules; /* paths of all that frames are in */
    const char *path;        /* of the measurement */
    const char *word;        /* the same as a shell reads it, for commands that are suggested */
    const struct report_options *options;
    struct sonde_columns columns_chosen; /* of --metric and --derive */
    size_t      derived;                 /* how many of them are derived */
    int         sort, sort_side;         /* of --sort: column number and side; -1 none */
    struct report_time from, to;         /* statistics */
    double      min_percent; /* rows below this share are left out */
    uint32_t    limit;       /* rows of a table; 0 = all */
    int         columns;     /* width of a table */
    bool        colors;
};

struct report_view {
    const char *name;
    const char *summary;
    bool needs_operations;   /* without one operation there is nothing to show: an error */
    bool hidden;             /* an older name of another view: not in lists */
    /* Print for people. 0, or a negative code with `diag`. */
    int (*text)(const struct report *r, struct sonde_diag *diag);
    /* The same for scripts (schemas: docs/schema/); NULL when out of memory or with `diag`. */
    json_t *(*json)(const struct report *r, struct sonde_diag *diag);
};

extern const struct report_view report_views[]; /* ends with name = NULL; the first is the default */

#define REPORT_VIEW_MAP(X) \
    X(summary) X(kernels) X(copies) X(api) X(profile) X(contexts) X(statistics) X(lanes) X(blame) X(critical) X(overlap) \
    X(objects) X(memory) X(advice) X(ledger)
#define X(name)                                                              \
    int     report_##name##_text(const struct report *r, struct sonde_diag *diag); \
    json_t *report_##name##_json(const struct report *r, struct sonde_diag *diag);
REPORT_VIEW_MAP(X)
#undef X

/* What a row of a view is called. */
struct sonde_profile_rows;
void report_view_label(const struct report *r, const struct sonde_profile_rows *view, size_t row, struct sonde_text *out);
/* What all of them are called, [row], at more length where two of one parent would read alike. NULL: no memory. */
char **report_view_labels(const struct report *r, const struct sonde_profile_rows *view);
void report_view_labels_free(char **labels, const struct sonde_profile_rows *view);

/* Idleness blame of the whole measurement; reads the trace. 0, or a negative code with `diag`. */
int  report_compute_blame(const struct report *r, struct sonde_blame *blame, struct sonde_diag *diag);
/* "clFinish in step() heat.c:88", "sort() train.py:14, in numpy.so" without a name, or "build() heat.c:20" for the user's own code. */
void report_blame_place(const struct report *r, struct sonde_text *out, uint32_t node);

/* Read the options about columns into `r`. 0, or the exit status after a message. */
int report_read_columns(struct report *r);
/* The same for --from and --to. */
int report_read_range(struct report *r);

/* After the text of a view: what its figures lack, and why. 0, or a negative code with `diag`. */
int     report_caveats_text(const struct report *r, const char *view, struct sonde_diag *diag);
json_t *report_caveats_json(const struct report *r);
/* What of host code the times between API calls and its samples say differently, in one sentence; nothing where they agree
 * or cannot be compared. Reads the trace (report_statistics.c). 0, or a negative code with `diag`. */
int     report_disagreement(const struct report *r, struct sonde_text *out, struct sonde_diag *diag);

/* ---- tables (report_table.c) ------------------------------------------------ */

enum table_style {
    TABLE_LEFT = 0,
    TABLE_RIGHT = 1,
    TABLE_ELASTIC = 2, /* names: cut when the table is wider than the terminal */
    TABLE_STACK = 4,   /* elastic, and cut in the middle: "a ← b ← … ← z", "call in place" */
    TABLE_MAIN = 8,    /* elastic, and cut after the others: what the rows are about */
};
struct table_column {
    const char *title;
    unsigned    style;
    int         spare; /* 0: always there; else left out of a too wide table, the highest first */
};
struct table { /* ready with columns and column_count set */
    const struct table_column *columns;
    int column_count;
    int readable; /* spare columns go before an elastic one gets narrower than this; 0: by its style */
    bool fold;    /* rows that look the same, one after the other, are printed once: "×3" */
    SONDE_VECTOR(char *) cells; /* row after row; owned */
};
/* Append one cell (a copy). */
void table_cell(struct table *t, const char *text);
void table_count(struct table *t, uint64_t n);
void table_time(struct table *t, bool known, double ns);
void table_bytes(struct table *t, bool known, double bytes);
void table_percent(struct table *t, double part, double whole);
/* A time with its standard error, where that is more than half a percent: "1.23 s ± 45.0 ms". */
void table_estimate(struct table *t, double ns, double error_ns);
/* Print to standard output within r->columns, and give the cells back. */
void table_print(struct table *t, const struct report *r);

/* Append `cell` in at most `columns`; `stack`: its middle is left out, else its end. */
void table_cut(struct sonde_text *out, const char *cell, size_t columns, bool stack);
/* For each cell what is shown of it; NULL: all. The array is the caller's, and may be NULL without memory. */
char **table_shown(const struct table *t, const int *width);

/* Print a sentence in as many lines as it needs; control characters of foreign names do no harm. */
void report_say(const struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "… 13 more: sonde report DIR api --limit 0" when a table was cut. */
void report_more(const struct report *r, const char *view, size_t shown, size_t all);

/* ---- texts and values (report_text.c) ----------------------------------------- */

/* "step() heat.c:81 <- main() heat.c:140" with an arrow; the nearest `max` frames of the user. */
void report_callers(const struct report *r, struct sonde_text *out, uint32_t leaf, uint32_t max);
/* "step() heat.c:81"; module + offset where no function is known. */
void report_frame(const struct report *r, struct sonde_text *out, const struct sonde_cct_node *node);
/* A module's name, with as much of its path as tells it from others. */
const char *report_module(const struct report *r, const char *path);
int  report_modules_find(struct report *r); /* once, when there is a profile: 0 or SONDE_ENOMEM */
/* "step() heat.c", in every view that sums up by routine: all places of it are one. */
void report_routine(const struct report *r, struct sonde_text *out, const struct sonde_cct_node *node);
/* The heaviest context of a group, and how many others there are. */
void report_group_callers(const struct report *r, struct sonde_text *out, const struct sonde_group *group);
/* Rows of the table below a view's main one: the heaviest contexts of a group. */
#define REPORT_CALLERS_COLUMNS 4
void report_callers_begin(struct table *t, const char *title);
void report_callers_rows(const struct report *r, struct table *t, const struct sonde_group *group, const char *name);
/* Function name without its parameters, with (). */
void report_function(struct sonde_text *out, const char *name);
/* Name of a group: the kernel's, or the kind of operation. */
const char *report_group_name(const struct sonde_group *group);
/* The same for tables: without the return type and the namespaces that many names begin alike with,
 * unless these are all that tells two kernels apart. */
const char *report_group_title(const struct report *r, const struct sonde_group *group);
/* "read device→host": the kind of copy with its direction, where that is known. */
const char *report_copy_name(const struct sonde_group *group);
/* "rank 3 of 8, node2-4711-1": a process of a measurement. */
void report_process(struct sonde_text *out, const struct sonde_process *p);
/* "0 NVIDIA H200". */
void report_device(const struct report *r, struct sonde_text *out, uint32_t process, uint32_t device);
/* "0 NVIDIA H200", whoever uses it. */
void report_device_alone(const struct report *r, struct sonde_text *out, uint32_t process, uint32_t device);
/* Around the name of something that a process has, where there are several processes: what tells it
 * from the others comes first, since cells are cut at their end. "rank 3: " ... " (host-4711-0)". */
void report_process_begin(const struct report *r, struct sonde_text *out, uint32_t process);
void report_process_end(const struct report *r, struct sonde_text *out, uint32_t process);
/* Command line that was recorded, else the program's name. */
void report_command(const struct report *r, struct sonde_text *out);

/* JSON: null for an unknown value. */
json_t *report_json_ns(bool known, double ns);
json_t *report_json_count(uint64_t n); /* what does not fit is the largest number that does */
json_t *report_json_text(const char *text); /* null for "" ; broken UTF-8 is replaced */
json_t *report_json_stat(const struct sonde_stat *stat);   /* object with count ... p99_ns */
json_t *report_json_callers(const struct report *r, const struct sonde_group *group);
json_t *report_json_frame(const struct sonde_cct_node *node);
json_t *report_json_frames(const struct report *r, uint32_t leaf); /* the user's nearest ones, eight at most; leaf 0: none */

/* What the run waited for, in one sentence; nothing where no trace tells (report_verdict.c). 0, or a negative code with `diag`. */
int     report_verdict(const struct report *r, const struct sonde_blame *blame, struct sonde_text *out, struct sonde_diag *diag);
/* "nap() heat.c:20", or "nanosleep in nap() heat.c:20" where that mostly waits. */
void    report_verdict_place(const struct report *r, struct sonde_text *out, const struct sonde_verdict_part *part);
json_t *report_verdict_part_json(const struct report *r, const struct sonde_verdict_part *part);
json_t *report_verdict_json(const struct report *r, const struct sonde_blame *blame, struct sonde_diag *diag);

/* What the first `devices` were idle for, for the summary (report_idle.c). 0, or a negative code with `diag`. */
int     report_idle(const struct report *r, const struct sonde_blame *blame, size_t devices, struct sonde_diag *diag);
json_t *report_idle_json(const struct report *r, const struct sonde_blame *blame, const struct sonde_device_use *use); /* null: not known */

/* Above everything: more than 1 % of the operations is missing (report_missing.c). */
void report_missing(const struct report *r);

/* The advice that saves most, for the summary (report_advice.c). 0, or a negative code with `diag`. */
int report_advice_brief(const struct report *r, const struct sonde_blame *blame, struct sonde_diag *diag);

/* One line: operations, dropped, unmatched, clock, damage, overhead. */
void report_ledger_line(const struct report *r, struct sonde_text *out);

#endif
