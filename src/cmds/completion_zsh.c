/* completion_zsh.c - the completion script for zsh, from the option tables. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

/* Text inside single quotes and, in a specification of _arguments, inside brackets. */
static void put_text(const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]\\:", *text))
            printf("\\%c", *text);
        else
            putchar(*text == '\n' ? ' ' : *text);
}

static void put_action(const struct sonde_option *o)
{
    if (o->type == SONDE_OPTION_FLAG)
        return;
    putchar(':');
    put_text(o->argument ? o->argument : "value");
    putchar(':');
    if (o->type == SONDE_OPTION_CHOICE) {
        putchar('(');
        for (int i = 0; o->choices[i]; i++)
            printf("%s%s", i ? " " : "", o->choices[i]);
        putchar(')');
    } else if (sonde_completes_folders(o)) {
        fputs("_files -/", stdout);
    } else if (o->type == SONDE_OPTION_STRING) {
        fputs("_files", stdout);
    }
}

static void put_spelling(const struct sonde_option *o, bool letter)
{
    const bool value = o->type != SONDE_OPTION_FLAG;
    fputs("            '", stdout);
    if (letter)
        printf("-%c%s[", o->letter, value ? "+" : "");
    else
        printf("--%s%s[", o->name, value ? "=" : "");
    put_text(o->help);
    putchar(']');
    put_action(o);
    puts("' \\");
}

static void put_words(const struct sonde_command *c)
{
    const char *word;
    for (size_t i = 0; (word = c->operand_word(i)); i++)
        printf("%s%s", i ? " " : "", word);
}

static void put_operands(const struct sonde_command *c)
{
    switch (c->operand) {
    case SONDE_OPERAND_PROGRAM:
        puts("            '(-)1:program:_command_names -e' '*::arguments:_normal'");
        return;
    case SONDE_OPERAND_MEASUREMENT:
        if (!c->operand_word) {
            puts("            '1:measurement:_files -/'");
            return;
        }
        fputs("            '1:measurement or view:_sonde_first ", stdout);
        put_words(c);
        fputs("' '2:view:(", stdout);
        put_words(c);
        puts(")'");
        return;
    case SONDE_OPERAND_COMMAND:
        fputs("            '1:command:(", stdout);
        for (const struct sonde_command *const *k = sonde_commands; *k; k++)
            if (!(*k)->hidden)
                printf("%s ", (*k)->name);
        puts(")'");
        return;
    case SONDE_OPERAND_NONE:
        break;
    }
    if (c->operand_word) {
        fputs("            '1:word:(", stdout);
        put_words(c);
        fputs(")'", stdout);
    }
    puts("");
}

void sonde_completion_zsh(void)
{
    puts("#compdef sonde\n# zsh completion for sonde; made by `sonde completion zsh`\n"
         "_sonde_first() {\n    _alternative 'measurements:measurement:_files -/' \"views:view:($*)\"\n}\n"
         "_sonde() {\n    local -a commands\n    commands=(");
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        if (!(*c)->hidden) {
            printf("        '%s:", (*c)->name);
            put_text((*c)->summary);
            puts("'");
        }
    puts("        '--help:print the list of commands' '--version:print the version'\n    )\n"
         "    if ((CURRENT == 2)); then\n        _describe -t commands command commands\n        return\n    fi\n"
         "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n    case $command in");
    for (const struct sonde_command *const *c = sonde_commands; *c; c++) {
        printf("    %s)\n        _arguments -S \\\n            '(- *)'{-h,--help}'[print this help]' \\\n", (*c)->name);
        for (const struct sonde_option *o = (*c)->options; o && o->name; o++) {
            if (!o->hidden)
                put_spelling(o, false);
            if (!o->hidden && o->letter)
                put_spelling(o, true);
        }
        put_operands(*c);
        puts("        ;;");
    }
    puts("    esac\n}\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then _sonde \"$@\"; else compdef _sonde sonde; fi");
}
