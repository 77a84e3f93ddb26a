/* options.c - reads a command line by a command's option table.
 *
 * The rules are those of GNU's getopt_long, without abbreviations: `--name
 * value`, `--name=value`, `-n value`, `-nvalue`, letters of flags may be
 * joined, `--` ends options. Options and operands mix, except for commands
 * whose first operand is a program: there the first operand ends our options.
 */
#include "command.h"

#include <stdio.h>
#include <string.h>

/* ---- storing one value --------------------------------------------------- */

struct parse {
    const struct sonde_command *command;
    void *values;
};

/* The name as the user wrote it, for messages: "--memory" or "-o". */
struct spelled { char text[64]; };

static struct spelled spell(const struct sonde_option *option, bool letter)
{
    struct spelled s;
    if (letter) {
        s.text[0] = '-';
        s.text[1] = option->letter;
        s.text[2] = 0;
    } else {
        s.text[0] = s.text[1] = '-';
        strncpy(s.text + 2, option->name, sizeof s.text - 3);
        s.text[sizeof s.text - 1] = 0;
    }
    return s;
}

/* 0, or the exit status after a message. */
static int store(const struct parse *p, const struct sonde_option *option, const char *name, const char *text)
{
    struct sonde_text wrong = {0};
    struct sonde_nearest nearest;
    int status = 0;
    if (sonde_option_read(option, name, text, p->values, &wrong, &nearest))
        status = sonde_say_unknown(p->command, &nearest, "%s", sonde_text_get(&wrong));
    sonde_text_fini(&wrong);
    return status;
}

/* ---- walking the command line -------------------------------------------- */

static const struct sonde_option *find_letter(const struct sonde_command *command, char letter)
{
    for (const struct sonde_option *o = command->options; o && o->name; o = sonde_option_next(o))
        if (o->letter == letter)
            return o;
    return NULL;
}

static void unknown_long(const struct parse *p, const char *name, size_t length)
{
    char word[64], known[64];
    snprintf(word, sizeof word, "--%.*s", (int)length, name);
    struct sonde_nearest nearest = {.word = word};
    for (const struct sonde_option *o = p->command->options; o && o->name; o = sonde_option_next(o))
        if (!o->hidden && snprintf(known, sizeof known, "--%s", o->name) > 0)
            sonde_nearest_try(&nearest, known);
    sonde_nearest_try(&nearest, "--help");
    sonde_say_unknown(p->command, &nearest, "there is no option '--%.*s'", (int)length, name);
}

/* Both return how many words of argv they used, or a negative SONDE_PARSE_*. */
static int parse_long(const struct parse *p, int left, char **argv)
{
    const char *word = argv[0] + 2;
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    if (length == 4 && memcmp(word, "help", 4) == 0 && !equals)
        return SONDE_PARSE_HELP;

    const struct sonde_option *option = sonde_option_find(p->command->options, word, length);
    if (!option) {
        unknown_long(p, word, length);
        return SONDE_PARSE_ERROR;
    }
    struct spelled name = spell(option, false);
    if (option->type == SONDE_OPTION_FLAG) {
        if (equals) {
            sonde_say_usage(p->command, "%s takes no value", name.text);
            return SONDE_PARSE_ERROR;
        }
        return store(p, option, name.text, NULL) ? SONDE_PARSE_ERROR : 1;
    }
    if (!equals && option->otherwise)
        return store(p, option, name.text, option->otherwise) ? SONDE_PARSE_ERROR : 1;
    if (!equals && left < 2) {
        sonde_say_usage(p->command, "%s needs a value (%s)", name.text, option->argument);
        return SONDE_PARSE_ERROR;
    }
    if (store(p, option, name.text, equals ? equals + 1 : argv[1]))
        return SONDE_PARSE_ERROR;
    return equals ? 1 : 2;
}

static int parse_letters(const struct parse *p, int left, char **argv)
{
    for (const char *at = argv[0] + 1; *at; at++) {
        const struct sonde_option *option = find_letter(p->command, *at);
        if (!option && *at == 'h')
            return SONDE_PARSE_HELP;
        if (!option) {
            sonde_say_usage(p->command, "there is no option '-%c'", *at);
            return SONDE_PARSE_ERROR;
        }
        struct spelled name = spell(option, true);
        if (option->type == SONDE_OPTION_FLAG) {
            if (store(p, option, name.text, NULL))
                return SONDE_PARSE_ERROR;
            continue;
        }
        if (!at[1] && left < 2) {
            sonde_say_usage(p->command, "%s needs a value (%s)", name.text, option->argument);
            return SONDE_PARSE_ERROR;
        }
        if (store(p, option, name.text, at[1] ? at + 1 : argv[1]))
            return SONDE_PARSE_ERROR;
        return at[1] ? 1 : 2;
    }
    return 1;
}

static int check_operands(const struct sonde_command *command, int operands, char **argv)
{
    if (operands < command->operands_min) {
        sonde_say_usage(command, "missing argument; usage: sonde %s %s", command->name, command->usage);
        return SONDE_PARSE_ERROR;
    }
    if (command->operands_max >= 0 && operands > command->operands_max) {
        sonde_say_usage(command, "unexpected argument '%s'", argv[command->operands_max]);
        return SONDE_PARSE_ERROR;
    }
    return operands;
}

int sonde_options_parse(const struct sonde_command *command, int argc, char **argv, void *values)
{
    struct parse p = {command, values};
    int operands = 0, at = 0;
    bool options = true;
    while (at < argc) {
        char *word = argv[at];
        if (!options || word[0] != '-' || !word[1]) {
            argv[operands++] = word;
            at++;
            options = options && command->operand != SONDE_OPERAND_PROGRAM;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            options = false;
            at++;
            continue;
        }
        int used = word[1] == '-' ? parse_long(&p, argc - at, argv + at)
                                  : parse_letters(&p, argc - at, argv + at);
        if (used < 0)
            return used;
        at += used;
    }
    argv[operands] = NULL;
    return check_operands(command, operands, argv);
}
