/* completion_fish.c - the completion script for fish, from the option tables. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

/* A string within single quotes, of which only two characters mean something to fish. */
static void put_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++)
        if (*text == '\n')
            putchar(' ');
        else
            printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
    putchar('\'');
}

static void put_option(const struct sonde_command *c, const struct sonde_option *o)
{
    printf("complete -c sonde -n '__sonde_in %s' -l %s", c->name, o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (o->type == SONDE_OPTION_CHOICE) {
        fputs(" -x -a '", stdout);
        for (int i = 0; o->choices[i]; i++)
            printf("%s%s", i ? " " : "", o->choices[i]);
        putchar('\'');
    } else if (sonde_completes_folders(o)) {
        fputs(" -x -a '(__fish_complete_directories (commandline -ct))'", stdout);
    } else if (o->type == SONDE_OPTION_STRING) {
        fputs(" -r -F", stdout);
    } else if (o->type != SONDE_OPTION_FLAG) {
        fputs(" -x", stdout);
    }
    fputs(" -d ", stdout);
    put_quoted(o->help);
    putchar('\n');
}

static void put_operands(const struct sonde_command *c)
{
    const char *word;
    if (c->operand == SONDE_OPERAND_PROGRAM) {
        printf("complete -c sonde -n '__sonde_in %s; or __sonde_program %s' -x -a '(__fish_complete_subcommand --fcs-skip=2 ", c->name, c->name);
        for (const struct sonde_option *o = c->options; o && o->name; o++)
            if (o->type != SONDE_OPTION_FLAG)
                printf(o->letter ? "--%s -%c " : "--%s ", o->name, o->letter);
        puts(")'");
    }
    if (c->operand == SONDE_OPERAND_MEASUREMENT)
        printf("complete -c sonde -n '__sonde_first %s' -a '(__fish_complete_directories (commandline -ct))'\n", c->name);
    for (size_t i = 0; c->operand_word && (word = c->operand_word(i)); i++)
        printf("complete -c sonde -n '__sonde_in %s' -a %s\n", c->name, word);
    for (const struct sonde_command *const *k = sonde_commands; c->operand == SONDE_OPERAND_COMMAND && *k; k++)
        if (!(*k)->hidden)
            printf("complete -c sonde -n '__sonde_in %s' -a %s\n", c->name, (*k)->name);
}

/* __sonde_in COMMAND: it is the command, and its own options may follow; __sonde_first: its first operand, too;
 * __sonde_program: the rest is the program's. */
static void put_functions(void)
{
    fputs("# fish completion for sonde; made by `sonde completion fish`\n"
          "function __sonde_where\n"
          "    set -l words (commandline -opc)\n"
          "    set -l takes", stdout);
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        for (const struct sonde_option *o = (*c)->options; (*c)->operand == SONDE_OPERAND_PROGRAM && o && o->name; o++)
            if (o->type != SONDE_OPTION_FLAG)
                printf(o->letter ? " --%s -%c" : " --%s", o->name, o->letter);
    puts("\n"
         "    test (count $words) -gt 1; or return\n"
         "    set -l command $words[2]\n"
         "    set -l skip 0\n"
         "    for word in $words[3..-1]\n"
         "        if test $skip = 1\n"
         "            set skip 0\n"
         "        else if test $word = --\n"
         "            echo program $command; return\n"
         "        else if contains -- $word $takes\n"
         "            set skip 1\n"
         "        else if not string match -q -- '-*' $word\n"
         "            echo operand $command; return\n"
         "        end\n"
         "    end\n"
         "    echo options $command\n"
         "end");
    fputs("function __sonde_in\n"
          "    set -l at (string split ' ' -- (__sonde_where))\n"
          "    test \"$at[2]\" = $argv[1]; or return\n"
          "    test $at[1] = options; or begin; test $at[1] = operand; and not contains -- $argv[1]", stdout);
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        if ((*c)->operand == SONDE_OPERAND_PROGRAM)
            printf(" %s", (*c)->name);
    puts("; end\nend\n"
         "function __sonde_first\n"
         "    string match -q -- \"options $argv[1]\" (__sonde_where)\n"
         "end\n"
         "function __sonde_program\n"
         "    set -l at (string split ' ' -- (__sonde_where))\n"
         "    test \"$at[2]\" = $argv[1]; and test $at[1] != options\n"
         "end\n"
         "complete -c sonde -f\n"
         "complete -c sonde -n '__fish_is_first_token' -l help -l version");
}

void sonde_completion_fish(void)
{
    put_functions();
    for (const struct sonde_command *const *c = sonde_commands; *c; c++) {
        if (!(*c)->hidden) {
            printf("complete -c sonde -n '__fish_is_first_token' -a %s -d ", (*c)->name);
            put_quoted((*c)->summary);
            putchar('\n');
        }
        for (const struct sonde_option *o = (*c)->options; o && o->name; o++)
            if (!o->hidden)
                put_option(*c, o);
        printf("complete -c sonde -n '__sonde_in %s' -l help -s h -d 'print this help'\n", (*c)->name);
        put_operands(*c);
    }
}
