/* man.c - `sonde man [COMMAND]`: manual pages in roff, from the same tables that print --help.
 *
 * Hidden: the build runs it to make sonde.1 and sonde-COMMAND.1. The macros
 * are those of man(7).
 */
#include "command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Text with roff's special characters made harmless; a line must not begin
 * with a dot or a quote, and a dash that a user types must stay a minus. */
static void put_text(const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        line_start = *text == '\n';
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            fputc(*text, stdout);
    }
}

static void put_upper(const char *text)
{
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), stdout);
}

/* Paragraphs are separated by empty lines; lines that begin with a space stand as they are. */
static void put_paragraphs(const char *text)
{
    bool verbatim = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        bool plain = line[0] == ' ';
        if (plain != verbatim)
            puts(plain ? ".nf" : ".fi");
        verbatim = plain;
        if (!length)
            puts(".PP");
        else {
            put_text(line);
            fputc('\n', stdout);
        }
        text += length;
        if (*text == '\n')
            text++;
    }
    if (verbatim)
        puts(".fi");
}

static void put_option(char letter, const char *name, const char *argument, const char *help)
{
    puts(".TP");
    if (letter)
        printf("\\fB\\-%c\\fR, ", letter);
    fputs("\\fB\\-\\-", stdout);
    put_text(name);
    fputs("\\fR", stdout);
    if (argument) {
        fputs(" \\fI", stdout);
        put_text(argument);
        fputs("\\fR", stdout);
    }
    fputc('\n', stdout);
    put_text(help);
    fputc('\n', stdout);
}

static void put_header(const char *name)
{
    fputs(".TH ", stdout);
    put_upper(name);
    printf(" 1 \"\" \"Sonde %s\" \"User Commands\"\n", SONDE_VERSION);
}

static void put_page(const struct sonde_command *c)
{
    char name[64];
    snprintf(name, sizeof name, "sonde-%s", c->name);
    put_header(name);
    fputs(".SH NAME\n", stdout);
    put_text(name);
    fputs(" \\- ", stdout);
    put_text(c->summary);
    printf("\n.SH SYNOPSIS\n\\fBsonde %s\\fR ", c->name);
    put_text(c->usage ? c->usage : "");
    puts("\n.SH DESCRIPTION");
    put_paragraphs(c->description ? c->description : c->summary);
    puts(".SH OPTIONS");
    for (const struct sonde_option *o = c->options; o && o->name; o++)
        if (!o->hidden)
            put_option(o->letter, o->name, o->argument, o->help);
    put_option('h', "help", NULL, "print this help");
    if (c->notes) {
        puts(".SH NOTES");
        put_paragraphs(c->notes);
    }
    if (c->examples) {
        puts(".SH EXAMPLES");
        for (const struct sonde_example *e = c->examples; e->line; e++) {
            puts(".TP");
            fputs("\\fB", stdout);
            put_text(e->line);
            puts("\\fR");
            put_text(e->text);
            fputc('\n', stdout);
        }
    }
    puts(".SH SEE ALSO\n\\fBsonde\\fR(1)");
}

static void put_overview(void)
{
    put_header("sonde");
    puts(".SH NAME\nsonde \\- measure GPU programs");
    puts(".SH SYNOPSIS\n\\fBsonde\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARG\\fR...]");
    puts(".SH DESCRIPTION");
    puts("Sonde measures unmodified programs that use a GPU, and answers where their time went.\n.SH COMMANDS");
    for (const struct sonde_command *const *c = sonde_commands; *c; c++) {
        if ((*c)->hidden)
            continue;
        printf(".TP\n\\fBsonde\\-%s\\fR(1)\n", (*c)->name);
        put_text((*c)->summary);
        fputc('\n', stdout);
    }
}

static int run(const void *options, int argc, char **argv)
{
    (void)options;
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
    .operand = SONDE_OPERAND_COMMAND,
    .operands_max = 1,
    .hidden = true,
    .run = run,
};
