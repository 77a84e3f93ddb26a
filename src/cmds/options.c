/* options.c - reads a command line by a command's option table.
 *
 * The rules are those of GNU's getopt_long, without abbreviations: `--name
 * value`, `--name=value`, `-n value`, `-nvalue`, letters of flags may be
 * joined, `--` ends options. Options and operands mix, except for commands
 * whose first operand is a program: there the first operand ends our options.
 */
#include "command.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sonde_parse_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || errno || !(value >= 0) || text[0] == '-')
        return SONDE_EINVALID;
    if (*end) {
        const char lower[] = "kmgt";
        const char *unit = strchr(units, *end);
        size_t index = unit ? (size_t)(unit - units) : 4;
        const char *small = strchr(lower, *end);
        if (small)
            index = (size_t)(small - lower);
        if (index < 4) {
            for (size_t i = 0; i <= index; i++)
                value *= 1024;
            end++;
            if (*end == 'i')
                end++;
        }
        if (*end == 'B' || *end == 'b')
            end++;
    }
    if (*end || value >= 0x1p63)
        return SONDE_EINVALID;
    *bytes = (uint64_t)value;
    return SONDE_OK;
}

int sonde_parse_duration(const char *text, uint64_t *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {
        {"", 1e9},
        {"ns", 1},
        {"us", 1e3},
        {"ms", 1e6},
        {"s", 1e9},
        {"m", 60e9},
        {"min", 60e9},
        {"h", 3600e9},
    };
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || errno || !(value >= 0) || text[0] == '-')
        return SONDE_EINVALID;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 && value * units[i].ns < 0x1p63) {
            *ns = (uint64_t)llround(value * units[i].ns);
            return SONDE_OK;
        }
    return SONDE_EINVALID;
}

/* ---- storing one value --------------------------------------------------- */

struct parse {
    const struct sonde_command *command;
    char *values;
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

static bool in_range(const struct sonde_option *option, double value)
{
    return option->low == option->high ||
           (value >= (double)option->low && value <= (double)option->high);
}

static int store_number(const struct parse *p, const struct sonde_option *option,
                        const char *name, const char *text)
{
    void *field = p->values + option->offset;
    char *end;
    bool ok, ranged;
    errno = 0;
    if (option->type == SONDE_OPTION_INT) {
        long long value = strtoll(text, &end, 10);
        ok = end != text && !*end && !errno;
        ranged = in_range(option, (double)value);
        *(int64_t *)field = value;
    } else {
        double value = strtod(text, &end);
        ok = end != text && !*end && !errno && isfinite(value);
        ranged = in_range(option, value);
        *(double *)field = value;
    }
    if (!ok)
        return sonde_say_usage(p->command, "%s needs a number, not '%s'", name, text);
    if (!ranged)
        return sonde_say_usage(p->command, "%s must be between %lld and %lld, not %s", name,
                               (long long)option->low, (long long)option->high, text);
    return 0;
}

static int store_choice(const struct parse *p, const struct sonde_option *option,
                        const char *name, const char *text)
{
    char list[256] = "";
    struct sonde_nearest nearest = {.word = text};
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *(int *)(void *)(p->values + option->offset) = i;
            return 0;
        }
        sonde_nearest_try(&nearest, option->choices[i]);
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, option->choices[i], sizeof list - strlen(list) - 1);
    }
    return sonde_say_unknown(p->command, &nearest, "%s must be one of %s, not '%s'", name, list, text);
}

/* 0, or the exit status after a message. */
static int store(const struct parse *p, const struct sonde_option *option,
                 const char *name, const char *text)
{
    void *field = p->values + option->offset;
    switch (option->type) {
    case SONDE_OPTION_FLAG:
        *(int *)field = option->value ? option->value : 1;
        return 0;
    case SONDE_OPTION_INT:
    case SONDE_OPTION_REAL:
        return store_number(p, option, name, text);
    case SONDE_OPTION_SIZE:
        if (sonde_parse_size(text, field) < 0)
            return sonde_say_usage(p->command, "%s needs a size such as 64M or 2G, not '%s'", name, text);
        if (*(uint64_t *)field < (uint64_t)option->low)
            return sonde_say_usage(p->command, "%s needs at least %lldM, not '%s'", name,
                                   (long long)option->low >> 20, text);
        return 0;
    case SONDE_OPTION_DURATION:
        if (sonde_parse_duration(text, field) < 0)
            return sonde_say_usage(p->command, "%s needs a time such as 500ms, 10s or 2m, not '%s'",
                                   name, text);
        return 0;
    case SONDE_OPTION_STRING:
        *(const char **)field = text;
        return 0;
    case SONDE_OPTION_CHOICE:
        return store_choice(p, option, name, text);
    }
    return sonde_say_usage(p->command, "invalid value of %s", name);
}

/* ---- walking the command line -------------------------------------------- */

static const struct sonde_option *find_long(const struct sonde_command *command, const char *name, size_t length)
{
    for (const struct sonde_option *o = command->options; o && o->name; o++)
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static const struct sonde_option *find_letter(const struct sonde_command *command, char letter)
{
    for (const struct sonde_option *o = command->options; o && o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static void unknown_long(const struct parse *p, const char *name, size_t length)
{
    char word[64], known[64];
    snprintf(word, sizeof word, "--%.*s", (int)length, name);
    struct sonde_nearest nearest = {.word = word};
    for (const struct sonde_option *o = p->command->options; o && o->name; o++)
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

    const struct sonde_option *option = find_long(p->command, word, length);
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
