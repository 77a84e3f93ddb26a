/* help.c - the help text of a command, made from its table entry. */
#include "command.h"

#include <stdio.h>
#include <string.h>

enum {
    OPTION_COLUMN = 30,
    NARROWEST = 50,
    WIDEST = 100,
};

/* Print `text` from column `at` on, in lines of at most `columns`, indented by
 * `indent`; a line that begins with a space is kept as it is. Ends the line. */
static void print_wrapped(const char *text, int indent, int at, int columns)
{
    bool fresh = true; /* nothing on this line yet */
    while (*text) {
        if (*text == '\n') {
            bool paragraph = text[1] == '\n';
            bool verbatim = text[1] == ' ';
            if (paragraph || verbatim) {
                fputs(paragraph ? "\n\n" : "\n", stdout);
                text += paragraph ? 2 : 1;
                at = 0;
                fresh = true;
                continue;
            }
            text++;
            continue;
        }
        if (fresh && *text == ' ') {
            size_t line = strcspn(text, "\n");
            printf("%*s%.*s", indent - at, "", (int)line, text);
            text += line;
            fresh = false;
            continue;
        }
        size_t word = strcspn(text, " \n");
        if (word) {
            if (!fresh && at + 1 + (int)word > columns) {
                fputc('\n', stdout);
                at = 0;
                fresh = true;
            }
            if (fresh && at < indent) {
                printf("%*s", indent - at, "");
                at = indent;
            } else if (!fresh) {
                fputc(' ', stdout);
                at++;
            }
            printf("%.*s", (int)word, text);
            at += (int)word;
            fresh = false;
        }
        text += word;
        if (*text == ' ')
            text++;
    }
    fputc('\n', stdout);
}

void sonde_help_text(const char *text, int columns)
{
    print_wrapped(text, 0, 0, columns);
}

void sonde_help_entry(const char *head, const char *text, int columns)
{
    int at = printf("%s", head); /* plain letters only */
    if (at + 2 > OPTION_COLUMN) {
        fputc('\n', stdout);
        at = 0;
    }
    print_wrapped(text, OPTION_COLUMN, at, columns);
}

static void print_option(const struct sonde_option *o, int columns)
{
    char head[96];
    int at = o->letter ? snprintf(head, sizeof head, "  -%c, --%s", o->letter, o->name) : snprintf(head, sizeof head, "      --%s", o->name);
    if (o->argument)
        snprintf(head + at, sizeof head - (size_t)at, o->otherwise ? "[=%s]" : " %s", o->argument);
    sonde_help_entry(head, o->help, columns);
}

int sonde_help_columns(int terminal)
{
    return terminal == 0 ? 80 : (terminal < NARROWEST ? NARROWEST : (terminal > WIDEST ? WIDEST : terminal));
}

void sonde_help_print(const struct sonde_command *command, int argc, char **argv, int terminal)
{
    const int columns = sonde_help_columns(terminal);
    if (command->help && command->help(argc, argv, columns))
        return;
    printf("Usage: sonde %s%s%s\n\n", command->name, command->usage && *command->usage ? " " : "",
           command->usage ? command->usage : "");
    if (command->description) {
        print_wrapped(command->description, 0, 0, columns);
        fputc('\n', stdout);
    }
    puts("Options:");
    for (const struct sonde_option *o = command->options; o && o->name; o = sonde_option_next(o))
        if (!o->hidden)
            print_option(o, columns);
    print_option(&(const struct sonde_option){.letter = 'h', .name = "help", .help = "print this help"}, columns);
    if (command->notes) {
        fputc('\n', stdout);
        print_wrapped(command->notes, 0, 0, columns);
    }
    if (command->examples) {
        puts("\nExamples:");
        for (const struct sonde_example *e = command->examples; e->line; e++) {
            printf("  %s\n", e->line);
            print_wrapped(e->text, 6, 0, columns);
        }
    }
}
