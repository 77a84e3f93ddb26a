/* command.h - what a subcommand is, and what it may use to speak to the user.
 *
 * A new subcommand is one file that defines
 *
 *     const struct sonde_command sonde_command_NAME = { .name = "NAME", ... };
 *
 * and one line X(NAME) in SONDE_COMMAND_MAP below. Parsing, --help, the man
 * page and the shell completion all come from that one object.
 *
 * Only this folder prints. Answers go to standard output; everything else
 * goes to standard error, as one sentence that begins with "sonde: ".
 */
#ifndef SONDE_CMDS_COMMAND_H
#define SONDE_CMDS_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/error.h>

#include "base/nearest.h"
#include "base/option.h"
#include "base/progress.h"
#include "base/vector.h"

/* The commands, in the order in which help shows them. */
#define SONDE_COMMAND_MAP(X) \
    X(record)                \
    X(report)                \
    X(view)                  \
    X(diff)                  \
    X(export)                \
    X(monitor)               \
    X(top)                   \
    X(doctor)                \
    X(help)                  \
    X(man)                   \
    X(completion)

/* Exit statuses. `record` returns its program's instead. */
enum {
    SONDE_EXIT_OK = 0,
    SONDE_EXIT_FAILED = 1, /* understood, but it could not be done */
    SONDE_EXIT_USAGE = 2,  /* the command line was not understood */
    SONDE_EXIT_ABOVE = 3,  /* diff: slower than --fail-above allows */
};

/* ---- commands ---------------------------------------------------------- */

struct sonde_example {
    const char *line; /* "sonde record -- ./heat 2048 500"; NULL ends the table */
    const char *text; /* what it does */
};

enum sonde_operand {
    /* what the first operand is; for completion */
    SONDE_OPERAND_NONE,
    SONDE_OPERAND_MEASUREMENT,
    SONDE_OPERAND_PROGRAM, /* options end at the first operand: the rest is the program's */
    SONDE_OPERAND_COMMAND,
};

struct sonde_command {
    const char *name;
    const char *summary;      /* for lists: "record what a program does on the GPU" */
    const char *usage;        /* after the name: "[OPTION...] [--] PROGRAM [ARG...]" */
    const char *description;  /* paragraphs separated by an empty line */
    const struct sonde_option *options; /* may be NULL */
    const struct sonde_example *examples; /* may be NULL */
    const char *notes;        /* optional paragraphs after the options ("EXIT STATUS" ...); may be NULL */

    size_t options_bytes;     /* size of the options struct; zeroed, then `defaults` copied in */
    const void *defaults;     /* may be NULL */

    enum sonde_operand operand;
    int operands_min, operands_max; /* max < 0: any number */
    /* Words for the operand after a measurement (views), which may stand alone, or for the
     * first (shells), for completion and "did you mean"; returns NULL at the end. May be NULL. */
    const char *(*operand_word)(size_t index);
    /* Print what --help says beside one of these words (a view) in place of the command's help; false: of none of them is there
     * more to say. May be NULL. */
    bool (*help)(int argc, char **argv, int columns);
    bool hidden;              /* left out of lists */
    bool signals;             /* takes signals itself, so it runs in the first thread; others get a stack of ours */

    /* `options` points to the filled options struct; `argv` holds `argc`
     * operands and ends with NULL. Returns the exit status. */
    int (*run)(const void *options, int argc, char **argv);
};

#define X(name) extern const struct sonde_command sonde_command_##name;
SONDE_COMMAND_MAP(X)
#undef X

extern const struct sonde_command *const sonde_commands[]; /* NULL-terminated */

const struct sonde_command *sonde_command_find(const char *name);

/* Parse argv[0..argc) (without the command's name) into `values`, which holds
 * `command->options_bytes`. Operands are moved to the front of argv in order.
 * Returns their number; -1 after a message (exit 2); -2 when --help was asked. */
enum {
    SONDE_PARSE_ERROR = -1,
    SONDE_PARSE_HELP = -2,
};
int sonde_options_parse(const struct sonde_command *command, int argc, char **argv, void *values);

/* Help of one command, as `--help` prints it, or of a word of it. On a terminal of `columns`; 0: it is none. */
void sonde_help_print(const struct sonde_command *command, int argc, char **argv, int columns);
/* Parts of it: an entry of a list, a paragraph. `columns` is what sonde_help_columns gave. */
int sonde_help_columns(int terminal);
void sonde_help_entry(const char *head, const char *text, int columns);
void sonde_help_text(const char *text, int columns);

/* ---- speaking ------------------------------------------------------------ */

/* "sonde: TEXT\n" on standard error. */
void sonde_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same from a diagnosis: "sonde: WHAT WHERE: WHY; HINT". Returns SONDE_EXIT_FAILED. */
int sonde_say_diag(const struct sonde_diag *diag);

/* What is wrong with the manifest of a measurement that is read all the same; nothing when it is sound. */
struct sonde_measurement;
void sonde_say_manifest(const struct sonde_measurement *m);

/* "sonde NAME: TEXT; try 'sonde NAME --help'". Returns SONDE_EXIT_USAGE. */
int sonde_say_usage(const struct sonde_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "sonde NAME: TEXT; did you mean 'KNOWN'?", or as sonde_say_usage when nothing is near. Returns SONDE_EXIT_USAGE. */
int sonde_say_unknown(const struct sonde_command *command, const struct sonde_nearest *nearest, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The folder of the measurement that the user means (find.c): `given`, `given`.sonde, or for NULL the newest
 * here. `word` (may be NULL): what else could have been meant. 0, or a negative code with `diag`. */
int sonde_find_measurement(const char *given, const char *(*word)(size_t index), char path[PATH_MAX],
                           struct sonde_diag *diag);
bool sonde_is_measurement(const char *path);

/* The measurements of one side of a comparison: "A1,A2,A3", each found as above, none twice. 0, or a negative code with `diag`;
 * fini in either case. */
struct sonde_side { SONDE_VECTOR(char *) paths; };
int sonde_side_find(const char *names, struct sonde_side *out, struct sonde_diag *diag);
void sonde_side_fini(struct sonde_side *side);

/* The path of one of Sonde's own files (installed.c): `name` is below the folder above that of the running binary, such as
 * "lib/sonde/libsonde-agent.so". 0; ENOTFOUND, also for a name that is not there, or EIO, with `diag`. */
int sonde_find_installed(const char *name, char path[PATH_MAX], struct sonde_diag *diag);

/* From begin on, what goes to standard output is shown by the user's pager at the end (pager.c);
 * nothing happens where standard output is no terminal, or no pager is wanted. */
struct sonde_pager {
    int terminal, text;
    const char *command;
};
void sonde_pager_begin(struct sonde_pager *pager, bool wanted);
void sonde_pager_end(struct sonde_pager *pager);

/* --color of a command: auto, always or never. */
enum sonde_color {
    SONDE_COLOR_AUTO,
    SONDE_COLOR_ALWAYS,
    SONDE_COLOR_NEVER,
};
extern const char *const sonde_color_names[];
bool sonde_colors(enum sonde_color color, int fd);

/* Terminal: columns of `fd` ($COLUMNS first; 0 when it is no terminal), and
 * whether colours are wanted (terminal, no NO_COLOR, TERM not dumb). */
int sonde_terminal_columns(int fd);
bool sonde_terminal_colors(int fd);

/* Long work begins: from now on, when it lasts, "TEXT … 42 %" stands on the
 * terminal of standard error until the end. NULL (which end takes too) when
 * `quiet`, or when nobody would see it. Print nothing in between. */
struct sonde_progress *sonde_progress_begin(const char *text, bool quiet);
void sonde_progress_end(struct sonde_progress *progress);

/* Close standard output and say if anything printed was lost (full disk).
 * `status` stays unless output was lost. main calls it for every command. */
int sonde_output_finish(int status);

#endif
