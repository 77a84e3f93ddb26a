/* completion.c - `sonde completion bash`: a bash completion script, from the option tables.
 *
 * The script carries every option and choice as text, so that pressing Tab
 * starts no process.
 */
#include "command.h"

#include <stdio.h>
#include <string.h>

static void put_commands(void)
{
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        if (!(*c)->hidden)
            printf(" %s", (*c)->name);
}

/* What Tab offers after an option that takes a value. */
static void put_values(const struct sonde_option *o)
{
    fputs("        ", stdout);
    if (o->letter)
        printf("-%c|", o->letter);
    printf("--%s) ", o->name);
    if (o->type == SONDE_OPTION_CHOICE) {
        fputs("COMPREPLY=($(compgen -W \"", stdout);
        for (int i = 0; o->choices[i]; i++)
            printf("%s%s", i ? " " : "", o->choices[i]);
        fputs("\" -- \"$word\"))", stdout);
    } else if (o->type == SONDE_OPTION_STRING && o->argument && strstr(o->argument, "DIR")) {
        fputs("compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))", stdout);
    } else if (o->type == SONDE_OPTION_STRING) {
        fputs("compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))", stdout);
    } else {
        fputs("COMPREPLY=()", stdout);
    }
    puts("; return ;;");
}

static void put_command(const struct sonde_command *c)
{
    printf("_sonde_%s() {\n    case $before in\n", c->name);
    for (const struct sonde_option *o = c->options; o && o->name; o++)
        if (!o->hidden && o->type != SONDE_OPTION_FLAG)
            put_values(o);
    fputs("    esac\n    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W \"", stdout);
    for (const struct sonde_option *o = c->options; o && o->name; o++)
        if (!o->hidden)
            printf("--%s ", o->name);
    puts("--help\" -- \"$word\"))\n        return\n    fi");
    if (c->operand_word) {
        fputs("    if ((operand > 0)); then\n        COMPREPLY=($(compgen -W \"", stdout);
        const char *text;
        for (size_t i = 0; (text = c->operand_word(i)); i++)
            printf("%s%s", i ? " " : "", text);
        puts("\" -- \"$word\"))\n        return\n    fi");
    }
    if (c->operand == SONDE_OPERAND_MEASUREMENT)
        puts("    compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))");
    else if (c->operand == SONDE_OPERAND_COMMAND) {
        fputs("    COMPREPLY=($(compgen -W \"", stdout);
        put_commands();
        puts("\" -- \"$word\"))");
    }
    puts("}");
}

/* Options of `record` and the like that take a value as a separate word, as a
 * bash pattern: needed to find where the program's name stands. */
static void put_value_pattern(const struct sonde_command *c)
{
    bool first = true;
    for (const struct sonde_option *o = c->options; o && o->name; o++) {
        if (o->type == SONDE_OPTION_FLAG)
            continue;
        printf("%s--%s", first ? "" : "|", o->name);
        if (o->letter)
            printf("|-%c", o->letter);
        first = false;
    }
    if (first)
        fputs("--", stdout);
}

static void put_main(void)
{
    puts("_sonde() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local command=${COMP_WORDS[1]} operand=0 i\n"
         "    if ((COMP_CWORD == 1)); then");
    fputs("        COMPREPLY=($(compgen -W \"--help --version", stdout);
    put_commands();
    puts("\" -- \"$word\"))\n        return\n    fi\n    case $command in");
    for (const struct sonde_command *const *c = sonde_commands; *c; c++) {
        printf("    %s)\n        for ((i = 2; i < COMP_CWORD; i++)); do\n            case ${COMP_WORDS[i]} in\n            ", (*c)->name);
        put_value_pattern(*c);
        puts(") ((i++)) ;;");
        if ((*c)->operand == SONDE_OPERAND_PROGRAM)
            puts("            --) _command_offset $((i + 1)); return ;;\n"
                 "            -*) ;;\n"
                 "            *) _command_offset $i; return ;;");
        else
            puts("            -*) ;;\n            *) ((operand++)) ;;");
        puts("            esac\n        done");
        if ((*c)->operand == SONDE_OPERAND_PROGRAM)
            printf("        _sonde_%s\n"
                   "        [[ $word != -* && ${#COMPREPLY[@]} -eq 0 ]] && case $before in\n            ", (*c)->name);
        else
            printf("        _sonde_%s ;;\n", (*c)->name);
        if ((*c)->operand == SONDE_OPERAND_PROGRAM) {
            put_value_pattern(*c);
            puts(") ;;\n            *) compopt -o filenames; COMPREPLY=($(compgen -c -- \"$word\") $(compgen -f -- \"$word\")) ;;\n"
                 "        esac ;;");
        }
    }
    puts("    esac\n}\ncomplete -F _sonde sonde");
}

static int run(const void *options, int argc, char **argv)
{
    (void)options;
    (void)argc;
    if (strcmp(argv[0], "bash") != 0)
        return sonde_say_usage(&sonde_command_completion, "there is no completion for '%s', only for bash", argv[0]);
    puts("# bash completion for sonde; made by `sonde completion bash`");
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        put_command(*c);
    put_main();
    return SONDE_EXIT_OK;
}

static const struct sonde_example examples[] = {
    {"source <(sonde completion bash)", "Switch completion on in this shell."},
    {0},
};

const struct sonde_command sonde_command_completion = {
    .name = "completion",
    .summary = "print a shell completion script",
    .usage = "bash",
    .description = "Prints a script that makes the shell complete sonde's commands, options and arguments. "
                   "`make install` installs it.",
    .examples = examples,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
