/* report.h - how `sonde report` prints: tables and sentences that fit the terminal.
 *
 * A new view is one file in src/views and one line in its table (views/view.h); nothing here.
 */
#ifndef SONDE_CMDS_REPORT_REPORT_H
#define SONDE_CMDS_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/number.h"
#include "base/text.h"
#include "base/vector.h"
#include "views/question.h"
#include "views/view.h"

struct report_options {
    struct sonde_question question; /* first: the table of its options follows ours */
    int json, color, no_pager;
};

struct report {
    struct sonde_query q;    /* what is asked of the measurement */
    const char *word;        /* its path as a shell reads it, for commands that are suggested */
    int columns;             /* width of a table */
    bool colors;
};

/* Width of a table on standard output: that of its terminal, else $COLUMNS, else 100. */
int report_columns(void);
/* Before anything large is read. What is computed takes tens of megabytes part by part, process by process: pages that were
 * given back would be cleared anew each time. */
void report_keep_memory(void);

/* What a view answered, as tables and sentences on the terminal (layout.c). */
void report_lay_out(const struct report *r, const struct sonde_view *view, const struct sonde_view_data *data);

/* What a view shows and what its columns mean (help.c): for --help, and all views as docs/columns.md. */
struct sonde_option;
void report_help(const struct sonde_view *view, const struct sonde_option *options, int columns);
void report_help_page(void);

/* ---- several processes (team.c) ------------------------------------------ */

/* Where MPI's launcher started several of this command, they read together from now on, and only the first of them prints. An exit
 * status: then there is nothing else to do. */
int report_join_team(void);
void report_leave_team(void); /* before the command ends */
/* What the first of a team says, in all of them: of what may differ from host to host. */
bool report_first(bool here);
/* All of a team call it when each has opened the measurement, or could not (`code`, `diag`). 0, or the code that one of them
 * had, in all. Of one that is being written each would see another state: then the others end here. */
int report_agree(const struct sonde_measurement *m, int code, struct sonde_diag *diag);

/* ---- tables (table.c) ------------------------------------------------ */

struct table { /* ready with columns and column_count set */
    const struct sonde_view_column *columns; /* their titles, as they are shown; kind, style, spare */
    int column_count;
    int readable; /* spare columns go before an elastic one gets narrower than this; 0: by its style */
    SONDE_VECTOR(char *) cells; /* row after row; owned */
};
/* Append one cell (a copy). */
void table_cell(struct table *t, const char *text);
/* Print to standard output within r->columns, and give the cells back. */
void table_print(struct table *t, const struct report *r);

/* Append `cell` in at most `columns`; `stack`: its middle is left out, else its end. */
void table_cut(struct sonde_text *out, const char *cell, size_t columns, bool stack);
/* For each cell what is shown of it; NULL: all. The array is the caller's, and may be NULL without memory. */
char **table_shown(const struct table *t, const int *width);

/* Print a sentence in as many lines as it needs; control characters of foreign names do no harm. */
void report_say(const struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
