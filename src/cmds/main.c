/* main.c - the `sonde` command: finds the subcommand in the table, parses its options, runs it.
 *
 * The table of commands is SONDE_COMMAND_MAP in command.h.
 */
#include "command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stack.h"

/* clang-format off */
const struct sonde_command *const sonde_commands[] = {
#define X(name) &sonde_command_##name,
    SONDE_COMMAND_MAP(X)
#undef X
    NULL,
};
/* clang-format on */

const struct sonde_command *sonde_command_find(const char *name)
{
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

static struct sonde_nearest nearest_command(const char *word)
{
    struct sonde_nearest nearest = {.word = word};
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        if (!(*c)->hidden)
            sonde_nearest_try(&nearest, (*c)->name);
    return nearest;
}

static void print_overview(FILE *out)
{
    fputs("Sonde measures GPU programs.\n\nUsage: sonde COMMAND [OPTION...] [ARG...]\n\nCommands:\n", out);
    for (const struct sonde_command *const *c = sonde_commands; *c; c++)
        if (!(*c)->hidden)
            fprintf(out, "  %-12s%s\n", (*c)->name, (*c)->summary);
    fputs("\nSee 'sonde COMMAND --help' for details; 'sonde --version' prints the version.\n", out);
}

struct invocation {
    const struct sonde_command *command;
    const void *values;
    int argc;
    char **argv;
};

static int invoke(void *user)
{
    const struct invocation *i = user;
    return i->command->run(i->values, i->argc, i->argv);
}

static int run_command(const struct sonde_command *command, int argc, char **argv)
{
    void *values = calloc(1, command->options_bytes ? command->options_bytes : 1);
    if (!values) {
        sonde_say("out of memory");
        return SONDE_EXIT_FAILED;
    }
    if (command->defaults)
        memcpy(values, command->defaults, command->options_bytes);

    int status = SONDE_EXIT_OK;
    int operands = sonde_options_parse(command, argc, argv, values);
    if (operands == SONDE_PARSE_HELP)
        sonde_help_print(command, argc, argv, sonde_terminal_columns(STDOUT_FILENO));
    else if (operands < 0)
        status = SONDE_EXIT_USAGE;
    else if (command->signals)
        status = command->run(values, operands, argv);
    else
        status = sonde_stack_run(invoke, &(struct invocation){command, values, operands, argv});
    free(values);
    return status;
}

/* `sonde help` without a command prints the overview, like `sonde --help`. */
static int run_help(const void *options, int argc, char **argv)
{
    (void)options;
    if (argc == 0) {
        print_overview(stdout);
        return SONDE_EXIT_OK;
    }
    const struct sonde_command *command = sonde_command_find(argv[0]);
    if (!command) {
        const struct sonde_nearest nearest = nearest_command(argv[0]);
        return sonde_say_unknown(&sonde_command_help, &nearest, "there is no command '%s'", argv[0]);
    }
    if (argc > 1 && !command->help)
        return sonde_say_usage(&sonde_command_help, "unexpected argument '%s'", argv[1]);
    sonde_help_print(command, argc - 1, argv + 1, sonde_terminal_columns(STDOUT_FILENO));
    return SONDE_EXIT_OK;
}

const struct sonde_command sonde_command_help = {
    .name = "help",
    .summary = "explain a command",
    .usage = "[COMMAND [VIEW]]",
    .description = "Prints the list of commands, the help of one command, or the columns of a view.",
    .operand = SONDE_OPERAND_COMMAND,
    .operands_max = 2,
    .run = run_help,
};

/* A command started with a standard descriptor closed must not get a file of
 * its own under that number. Close-on-exec: the program that `record` starts
 * finds it closed, as it would without us. */
static void reserve_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            return;
}

int main(int argc, char **argv)
{
    reserve_standard_descriptors();
    if (argc < 2) {
        print_overview(stderr);
        return SONDE_EXIT_USAGE;
    }
    const char *word = argv[1];
    int status;
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("sonde %s\n", SONDE_VERSION);
        status = SONDE_EXIT_OK;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_overview(stdout);
        status = SONDE_EXIT_OK;
    } else {
        const struct sonde_command *command = sonde_command_find(word);
        if (!command) {
            const struct sonde_nearest nearest = nearest_command(word);
            if (*nearest.known)
                sonde_say("there is no command '%s'; did you mean '%s'?", word, nearest.known);
            else
                sonde_say("there is no command '%s'; try 'sonde --help'", word);
            return SONDE_EXIT_USAGE;
        }
        status = run_command(command, argc - 2, argv + 2);
    }
    return sonde_output_finish(status);
}
