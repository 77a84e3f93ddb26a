/* completion.c - `sonde completion SHELL`: a completion script, from the option tables. The one for bash is here.
 *
 * The scripts carry every option and choice as text, so that pressing Tab
 * starts no process.
 */
#include "completion.h"

#include <stdio.h>
#include <string.h>

bool sonde_completes_folders(const struct sonde_option *option)
{
    return option->type == SONDE_OPTION_STRING && option->argument && strstr(option->argument, "DIR");
}

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
    } else if (sonde_completes_folders(o)) {
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
    for (const struct sonde_option *o = c->options; o && o->name; o = sonde_option_next(o))
        if (!o->hidden && sonde_option_takes_word(o))
            put_values(o);
    fputs("    esac\n    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W \"", stdout);
    for (const struct sonde_option *o = c->options; o && o->name; o = sonde_option_next(o))
        if (!o->hidden)
            printf("--%s ", o->name);
    puts("--help\" -- \"$word\"))\n        return\n    fi");
    if (c->operand_word) {
        fputs(c->operand == SONDE_OPERAND_MEASUREMENT ? "    if ((operand > 0)); then\n" : "    if ((operand == 0)); then\n", stdout);
        fputs("        COMPREPLY=($(compgen -W \"", stdout);
        const char *text;
        for (size_t i = 0; (text = c->operand_word(i)); i++)
            printf("%s%s", i ? " " : "", text);
        puts("\" -- \"$word\"))\n        return\n    fi");
    }
    if (c->operand == SONDE_OPERAND_MEASUREMENT) { /* or, where there are views, one of the newest measurement */
        fputs("    compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\")", stdout);
        const char *view;
        fputs(c->operand_word ? " $(compgen -W \"" : "", stdout);
        for (size_t i = 0; c->operand_word && (view = c->operand_word(i)); i++)
            printf("%s%s", i ? " " : "", view);
        puts(c->operand_word ? "\" -- \"$word\"))" : ")");
    }
    if (c->operand == SONDE_OPERAND_COMMAND) {
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
    for (const struct sonde_option *o = c->options; o && o->name; o = sonde_option_next(o)) {
        if (!sonde_option_takes_word(o))
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
                   "        [[ $word != -* && ${#COMPREPLY[@]} -eq 0 ]] && case $before in\n            ",
                   (*c)->name);
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

void sonde_completion_bash(void)
{
    puts("# bash completion for sonde; generated by `sonde completion bash`");
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        put_command(*c);
    put_main();
}

/* ---- the command ------------------------------------------------------------------ */

static const char *const shells[] = {"bash", "fish", "zsh", NULL};
static void (*const scripts[])(void) = {sonde_completion_bash, sonde_completion_fish, sonde_completion_zsh};

static const char *shell(size_t index)
{
    return shells[index];
}

static int run(const void *options, int argc, char **argv)
{
    struct sonde_nearest nearest = {.word = argv[0]};
    (void)options;
    (void)argc;
    for (size_t i = 0; shells[i]; i++) {
        sonde_nearest_try(&nearest, shells[i]);
        if (strcmp(argv[0], shells[i]) == 0) {
            scripts[i]();
            return SONDE_EXIT_OK;
        }
    }
    return sonde_say_unknown(&sonde_command_completion, &nearest, "no completion for '%s': choose bash, fish or zsh",
                             argv[0]);
}

static const struct sonde_example examples[] = {
    {"source <(sonde completion bash)", "Enable completion in this bash, or in this zsh with `zsh`."},
    {"sonde completion fish | source", "The same in fish."},
    {0},
};

const struct sonde_command sonde_command_completion = {
    .name = "completion",
    .summary = "print a shell completion script",
    .usage = "bash|fish|zsh",
    .description = "Prints a script that completes sonde's commands, options and arguments in the shell. "
                   "`make install` installs those of the three shells.",
    .examples = examples,
    .operands_min = 1,
    .operands_max = 1,
    .operand_word = shell,
    .run = run,
};
