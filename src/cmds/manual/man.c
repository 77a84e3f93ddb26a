/* man.c - `sonde man [COMMAND]`: manual pages in roff, from the same tables that print --help.
 *
 * Hidden: the build runs it to make sonde.1 and sonde-COMMAND.1. The macros
 * are those of man(7).
 */
#include "cmds/command.h"
#include "cmds/report/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Where the page goes: standard output, or a file of --all. */
static FILE *page;

static void put_line(const char *text)
{
    fprintf(page, "%s\n", text);
}

/* Text with roff's special characters made harmless; a line must not begin
 * with a dot or a quote, and a dash that a user types must stay a minus. */
static void put_bytes(const char *text, size_t length)
{
    bool line_start = true;
    for (; length > 0; text++, length--) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", page);
        line_start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", page);
        else if (*text == '-')
            fputs("\\-", page);
        else
            fputc(*text, page);
    }
}

static void put_text(const char *text)
{
    put_bytes(text, strlen(text));
}

static void put_upper(const char *text)
{
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), page);
}

/* Paragraphs are separated by empty lines; lines that begin with a space stand as they are. */
static void put_paragraphs(const char *text)
{
    bool verbatim = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        bool plain = *text == ' ';
        if (plain != verbatim)
            put_line(plain ? ".nf" : ".fi");
        verbatim = plain;
        if (!length)
            put_line(".PP");
        else {
            put_bytes(text, length);
            fputc('\n', page);
        }
        text += length;
        if (*text == '\n')
            text++;
    }
    if (verbatim)
        put_line(".fi");
}

static void put_option(const struct sonde_option *o)
{
    put_line(".TP");
    if (o->letter)
        fprintf(page, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", page);
    put_text(o->name);
    fputs("\\fR", page);
    if (o->argument) {
        fputs(o->otherwise ? "[=\\fI" : " \\fI", page);
        put_text(o->argument);
        fputs(o->otherwise ? "\\fR]" : "\\fR", page);
    }
    fputc('\n', page);
    put_text(o->help);
    fputc('\n', page);
}

static void put_header(const char *name)
{
    fputs(".TH ", page);
    put_upper(name);
    fprintf(page, " 1 \"\" \"Sonde %s\" \"User Commands\"\n", SONDE_VERSION);
}

static void put_page(const struct sonde_command *c)
{
    char name[64];
    snprintf(name, sizeof name, "sonde-%s", c->name);
    put_header(name);
    fputs(".SH NAME\n", page);
    put_text(name);
    fputs(" \\- ", page);
    put_text(c->summary);
    fprintf(page, "\n.SH SYNOPSIS\n\\fBsonde %s\\fR ", c->name);
    put_text(c->usage ? c->usage : "");
    put_line("\n.SH DESCRIPTION");
    put_paragraphs(c->description ? c->description : c->summary);
    put_line(".SH OPTIONS");
    for (const struct sonde_option *o = c->options; o && o->name; o = sonde_option_next(o))
        if (!o->hidden)
            put_option(o);
    put_option(&(const struct sonde_option){.letter = 'h', .name = "help", .help = "print this help"});
    if (c->notes) {
        put_line(".SH NOTES");
        put_paragraphs(c->notes);
    }
    if (c->examples) {
        put_line(".SH EXAMPLES");
        for (const struct sonde_example *e = c->examples; e->line; e++) {
            put_line(".TP");
            fputs("\\fB", page);
            put_text(e->line);
            put_line("\\fR");
            put_text(e->text);
            fputc('\n', page);
        }
    }
    put_line(".SH SEE ALSO\n\\fBsonde\\fR(1)");
}

static void put_overview(void)
{
    put_header("sonde");
    put_line(".SH NAME\nsonde \\- measure GPU programs");
    put_line(".SH SYNOPSIS\n\\fBsonde\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARG\\fR...]");
    put_line(".SH DESCRIPTION");
    put_line("Sonde measures unmodified GPU programs and shows where their time went.\n.SH COMMANDS");
    for (const struct sonde_command *const *c = sonde_commands; *c; c++) {
        if ((*c)->hidden)
            continue;
        fprintf(page, ".TP\n\\fBsonde\\-%s\\fR(1)\n", (*c)->name);
        put_text((*c)->summary);
        fputc('\n', page);
    }
}

/* One file per page in `folder`, for the build. */
static int write_all(const char *folder)
{
    char path[4096];
    const struct sonde_command *const *c = sonde_commands;
    for (bool overview = true;; overview = false) {
        if (!overview && !*c)
            return SONDE_EXIT_OK;
        if (!overview && (*c)->hidden) {
            c++;
            continue;
        }
        snprintf(path, sizeof path, "%s/sonde%s%s.1", folder, overview ? "" : "-", overview ? "" : (*c)->name);
        page = fopen(path, "we");
        if (!page) {
            sonde_say("cannot write %s: %s", path, strerror(errno));
            return SONDE_EXIT_FAILED;
        }
        if (overview)
            put_overview();
        else
            put_page(*c++);
        if (fclose(page) != 0) {
            sonde_say("cannot write %s: %s", path, strerror(errno));
            return SONDE_EXIT_FAILED;
        }
    }
}

struct man_options {
    const char *all;
    int columns;
};

/* clang-format off */
static const struct sonde_option options[] = {
    {.name = "all", .type = SONDE_OPTION_STRING, .argument = "DIR", .offset = offsetof(struct man_options, all),
     .help = "write all pages into DIR, as sonde.1 and sonde-COMMAND.1"},
    {.name = "columns", .type = SONDE_OPTION_FLAG, .offset = offsetof(struct man_options, columns),
     .help = "print docs/columns.md: the columns of the views"},
    {0},
};
/* clang-format on */

static int run(const void *values, int argc, char **argv)
{
    const struct man_options *o = values;
    if (o->all)
        return write_all(o->all);
    if (o->columns) {
        report_help_page();
        return SONDE_EXIT_OK;
    }
    page = stdout;
    if (argc == 0) {
        put_overview();
        return SONDE_EXIT_OK;
    }
    const struct sonde_command *c = sonde_command_find(argv[0]);
    if (!c)
        return sonde_say_usage(&sonde_command_man, "there is no command '%s'", argv[0]);
    put_page(c);
    return SONDE_EXIT_OK;
}

const struct sonde_command sonde_command_man = {
    .name = "man",
    .summary = "print a manual page in roff",
    .usage = "[COMMAND]",
    .description = "Prints the manual page of a command, or of sonde itself. Read it with: sonde man record | man -l -",
    .options = options,
    .options_bytes = sizeof(struct man_options),
    .operand = SONDE_OPERAND_COMMAND,
    .operands_max = 1,
    .hidden = true,
    .run = run,
};
