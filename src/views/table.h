/* table.h - what a view is made of: typed tables whose columns say what they mean, and sentences.
 *
 * A view (view.h) fills a struct sonde_view_data and prints nothing. Who shows it reads the same
 * tables: the terminal (src/cmds/report/layout.c), the JSON writer (json.h), and whatever comes.
 *
 * A table is an array of struct sonde_view_column, one line each, and rows whose cells are appended
 * in the order of that array:
 *
 *     static const struct sonde_view_column site_columns[] = {
 *         {"kind", "Object", SONDE_CELL_TEXT, SONDE_STYLE_MAIN, 0, "buffer, image ..."},
 *         {"count", "count", SONDE_CELL_COUNT, 0, 1, "allocations made there"},
 *         {"frames", NULL, SONDE_CELL_LIST, 0, 0, "nearest frames of the user's code", .of = &sonde_frames},
 *     };
 *     static const struct sonde_view_columns sites = SONDE_VIEW_COLUMNS("sites", site_columns);
 *
 *     struct sonde_view_table *t = sonde_view_table(data, &sites);
 *     for (each site) {
 *         sonde_cell_text(t, sonde_object_kind_name(site->kind));
 *         sonde_cell_int(t, true, site->count);
 *         sonde_cell_frames(t, q, site->node);
 *     }
 *
 * A column with a title is on the terminal, one with a name is in JSON; most have both. A value that
 * one of them shows in another form (a name cut short, "3 of 5") is a column of its own, without the
 * other's. What a column means is said once, in its definition: `sonde report --help VIEW` and
 * docs/columns.md are made from it.
 *
 * No function here fails where it is called: a cell of another kind than its column, a row with too
 * few cells and a lack of memory are kept in data->error, which sonde_view_make returns.
 *
 * Threads: one at a time per data. All memory is the data's arena's.
 */
#ifndef SONDE_VIEWS_TABLE_H
#define SONDE_VIEWS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/error.h>

#include "base/arena.h"
#include "base/text.h"

enum sonde_cell_kind {
    /* in JSON; on the terminal. Unknown is null, and "-" */
    SONDE_CELL_TEXT,    /* text; null where it is empty, which the terminal shows as nothing */
    SONDE_CELL_COUNT,   /* a whole number; 1,504 */
    SONDE_CELL_ID,      /* a whole number that names something: a line, a device; 1504 */
    SONDE_CELL_KEY,     /* what a script tells things apart by: a whole number, or, of what has none, a word. Never on the terminal */
    SONDE_CELL_TIME,    /* nanoseconds; 248 µs. With a standard error: 1.23 s ± 45.0 ms */
    SONDE_CELL_BYTES,   /* bytes; 33.6 MB */
    SONDE_CELL_SHARE,   /* part of a whole, 0 to 1; 81.2 %. Unknown where the whole is 0 */
    SONDE_CELL_NUMBER,  /* any other number, in the column's `unit`; 24.9 */
    SONDE_CELL_FIGURE,  /* what a formula gives, negative, too: "error" where that is not finite; in the column's `unit`, where a
                         * whole one is written so, or without one. Never on the terminal, where such a thing is TEXT */
    SONDE_CELL_BOOLEAN, /* true or false; yes or no */
    SONDE_CELL_OBJECT,  /* an object: a table (`of`) of one row; never on the terminal */
    SONDE_CELL_LIST,    /* an array: a table (`of`); where its one column has no name, of bare values. Never on the terminal */
    SONDE_CELL_MAP,     /* an object: a table (`of`) of two columns; the first, TEXT and known, names the second. Never on
                         * the terminal */
};

/* Numbers stand at the right of their column, the rest at the left, and what is not elastic is never cut. */
enum sonde_view_style {
    SONDE_STYLE_RIGHT = 1,    /* TEXT that reads as a number */
    SONDE_STYLE_ELASTIC = 2,  /* names: cut when the table is wider than the terminal */
    SONDE_STYLE_STACK = 4,    /* elastic, and cut in the middle: "a ← b ← … ← z" */
    SONDE_STYLE_MAIN = 8,     /* elastic, and cut after the others: what the rows are about */
    SONDE_STYLE_FRACTION = 16, /* TIME: JSON has its fractions of a nanosecond, too */
};

struct sonde_view_columns;

struct sonde_view_column {
    const char *name;       /* in JSON, with the unit at its end: total_ns; NULL: only on the terminal */
    const char *title;      /* on the terminal; NULL: only in JSON. "": the table's subject */
    enum sonde_cell_kind kind;
    unsigned style;         /* enum sonde_view_style */
    int spare;              /* terminal: 0 always there, else left out of a too wide table, the highest first */
    const char *definition; /* what it means: one or two sentences, the first without a capital, no full stop at the end */
    const char *unit;       /* NUMBER, FIGURE: "GB/s"; NULL: none, or what the kind says */
    const struct sonde_view_columns *of; /* OBJECT, LIST, MAP: what is in it */
};

/* The columns of one table. */
struct sonde_view_columns {
    const char *name;       /* what the rows are, in one word: "kernels" */
    const char *subject;    /* title of the column whose title is "" */
    const struct sonde_view_column *items;
    size_t count;
};
#define SONDE_VIEW_COLUMNS(name, array) {name, NULL, array, sizeof array / sizeof *array}
#define SONDE_VIEW_COLUMNS_OF(name, subject, array) {name, subject, array, sizeof array / sizeof *array}

enum sonde_cell_state {
    SONDE_CELL_UNKNOWN,
    SONDE_CELL_ABSENT,
    SONDE_CELL_INTEGER,
    SONDE_CELL_REAL,
    SONDE_CELL_STRING,
    SONDE_CELL_INNER,
};

struct sonde_cell { /* its kind is its column's */
    enum sonde_cell_state state;
    uint32_t depth;        /* TEXT: how deep it stands in a tree */
    union {
        uint64_t integer;  /* COUNT, ID, TIME, BYTES, NUMBER, BOOLEAN */
        double real;       /* TIME, BYTES, NUMBER, FIGURE, SHARE: the part */
        const char *text;  /* as the program named it: neither clean nor always UTF-8 */
        struct sonde_view_table *inner; /* OBJECT, LIST, MAP */
    };
    double more;           /* TIME: its standard error, 0 none; SHARE: the whole */
};

struct sonde_view_table {
    const struct sonde_view_columns *columns;
    struct sonde_cell *cells;  /* row after row */
    size_t count, capacity;    /* of cells */
    uint64_t left_out;         /* rows that a limit left out */
    const char *left_out_view; /* where they are; NULL: in this view */
    uint64_t hidden;           /* terminal, bits by column: left out, since no row has anything there */
    int readable;              /* terminal: spare columns go before an elastic one gets narrower; 0: by its style */
    struct sonde_view_data *data;
    struct sonde_view_table *next; /* of all of this data */
};

enum sonde_view_tone {
    SONDE_TONE_PLAIN,
    SONDE_TONE_TITLE,
    SONDE_TONE_WARNING,
    SONDE_TONE_ERROR,
};

struct sonde_view_item { /* a table or a sentence, in the order in which a person reads them */
    const struct sonde_view_table *table; /* NULL: a sentence */
    const char *sentence;                 /* NULL, too: the terminal says which other views there are */
    const char *command;                  /* a view; the sentence ends with the command that shows it. May be NULL */
    size_t head;                          /* its first bytes, cut to one line of a terminal: a command line; 0: none */
    enum sonde_view_tone tone;
    bool gap;                             /* an empty line before it */
    struct sonde_view_item *next;
};

struct sonde_view_note { /* what the figures lack, and why */
    unsigned kind;       /* enum sonde_caveat_kind */
    const char *text;    /* one sentence, without a full stop */
    struct sonde_view_note *next;
};

struct sonde_view_data { /* ready when zeroed; what a view answered */
    struct sonde_view_table *root;       /* what JSON shows: all rows as an array, or (view->single) its one row as an object */
    struct sonde_view_item *items, **items_end;
    struct sonde_view_note *notes, **notes_end;
    int error;                           /* the first thing that went wrong: SONDE_ENOMEM, or SONDE_EINVALID for a wrong cell */
    struct sonde_view_table *tables;     /* all, newest first */
    struct sonde_arena arena;
};

void sonde_view_data_fini(struct sonde_view_data *data);

/* A new table without rows. Never NULL: without memory it is one that takes cells and keeps none. */
struct sonde_view_table *sonde_view_table(struct sonde_view_data *data, const struct sonde_view_columns *columns);
size_t sonde_view_rows(const struct sonde_view_table *t);
/* A copy of columns that are known only when the question is asked; their texts are not copied, and must live as long as the
 * data. `like` has their name and subject. NULL: no memory. */
const struct sonde_view_columns *sonde_view_columns_copy(struct sonde_view_data *data, const struct sonde_view_columns *like,
                                                         const struct sonde_view_column *items, size_t count);
/* Leave the column of this title out on the terminal. */
void sonde_view_hide(struct sonde_view_table *t, const char *title);

/* What a person reads next; the table may be filled later. */
struct sonde_view_item *sonde_view_show(struct sonde_view_data *data, const struct sonde_view_table *t, bool gap);
struct sonde_view_item *sonde_view_say(struct sonde_view_data *data, bool gap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Here the terminal says which other views there are. */
void sonde_view_others(struct sonde_view_data *data);
void sonde_view_note(struct sonde_view_data *data, unsigned kind, const char *text);

/* ---- the next cell of a table's row ------------------------------------------------------ */

void sonde_cell_unknown(struct sonde_view_table *t);
/* As unknown, but JSON leaves out the name, too: this row has no such thing. */
void sonde_cell_absent(struct sonde_view_table *t);
/* Of any kind: the terminal shows nothing there, JSON null. */
void sonde_cell_blank(struct sonde_view_table *t);
/* TEXT, KEY: a copy; NULL is unknown. */
void sonde_cell_text(struct sonde_view_table *t, const char *text);
/* The same of a text that was put together for it, which is given back. */
void sonde_cell_take(struct sonde_view_table *t, struct sonde_text *text);
/* A picture in a line of TEXT: a bar for each height from 0 to 1; below 0: nothing there. */
void sonde_cell_bars(struct sonde_view_table *t, const double *heights, size_t count);
/* The same, in a tree: the terminal indents it. */
void sonde_cell_tree(struct sonde_view_table *t, uint32_t depth, const char *text);
/* COUNT, ID, KEY, TIME, BYTES, NUMBER. */
void sonde_cell_int(struct sonde_view_table *t, bool known, uint64_t value);
/* TIME, BYTES, NUMBER. JSON rounds a time to whole nanoseconds, unless its style has fractions. */
void sonde_cell_real(struct sonde_view_table *t, bool known, double value);
/* FIGURE; an error where the value is not finite. */
void sonde_cell_figure(struct sonde_view_table *t, bool known, double value);
/* TIME with its standard error, which the terminal shows where it is more than half a percent. */
void sonde_cell_estimate(struct sonde_view_table *t, double ns, double error_ns);
void sonde_cell_share(struct sonde_view_table *t, double part, double whole);
void sonde_cell_boolean(struct sonde_view_table *t, bool value);
/* The table in this cell, to be filled now or later: of an OBJECT with one row. */
struct sonde_view_table *sonde_cell_object(struct sonde_view_table *t);
/* The same with columns of sonde_view_columns_copy; those of the descriptor say what they mean. */
struct sonde_view_table *sonde_cell_object_of(struct sonde_view_table *t, const struct sonde_view_columns *columns);
struct sonde_view_table *sonde_cell_list(struct sonde_view_table *t);
struct sonde_view_table *sonde_cell_map(struct sonde_view_table *t);

#endif
