/* config.c - the configuration file of `sonde monitor`: a part of TOML 1.0, whose keys are the long options. See docs/monitor.md.
 *
 * There are no tables. A value is a string of one line, a number, or an array of these, which is what the option's
 * value is with commas between them. What was said on the command line stays.
 */
#include "monitor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/command.h"

enum { MOST_BYTES = 1 << 20,
       MOST_OPTIONS = 32 };

struct config {
    const char *path;
    const char *at; /* in the file's text, which ends with NUL */
    unsigned line;
    struct monitor_options read;
    const struct monitor_options *unset;
    bool seen[MOST_OPTIONS];
    bool failed;
};

static void wrong(struct config *c, const char *what, const char *near)
{
    if (!c->failed)
        sonde_say("%s:%u: %s%s%s%s", c->path, c->line, what, near && *near ? "; did you mean '" : "", near ? near : "", near && *near ? "'?" : "");
    c->failed = true;
}

/* ---- TOML --------------------------------------------------------------------------------------- */

static void skip_blanks(struct config *c)
{
    c->at += strspn(c->at, " \t");
}

/* Comments and ends of lines, too. */
static void skip_lines(struct config *c)
{
    for (;;) {
        skip_blanks(c);
        if (*c->at == '#')
            c->at += strcspn(c->at, "\n");
        if (c->at[0] == '\r' && c->at[1] == '\n')
            c->at++;
        if (*c->at != '\n')
            return;
        c->at++;
        c->line++;
    }
}

static void end_line(struct config *c)
{
    const unsigned line = c->line;
    skip_lines(c);
    if (*c->at && c->line == line)
        wrong(c, "there is more behind the value", NULL);
}

/* "basic" or 'literal', of one line. */
static void read_string(struct config *c, struct sonde_text *out)
{
    static const char letters[] = "btnfr\"\\", means[] = "\b\t\n\f\r\"\\";
    const char quote = *c->at++;
    for (; *c->at != quote; c->at++) {
        if (!*c->at || *c->at == '\n') {
            wrong(c, "the string does not end on its line", NULL);
            return;
        }
        if (*c->at != '\\' || quote == '\'') {
            sonde_text_add_bytes(out, c->at, 1);
            continue;
        }
        const char *letter = *++c->at ? strchr(letters, *c->at) : NULL;
        if (!letter) {
            wrong(c, "unknown escape in a string; 'single quotes' have none", NULL);
            return;
        }
        sonde_text_add_bytes(out, &means[letter - letters], 1);
    }
    c->at++;
}

static void read_word(struct config *c, struct sonde_text *out)
{
    if (*c->at == '"' || *c->at == '\'') {
        read_string(c, out);
        return;
    }
    const size_t length = strspn(c->at, "0123456789.");
    if (!length || strchr("+-_eExob", c->at[length] ? c->at[length] : ' '))
        wrong(c, "a value is a \"string\", a number or an [array] of these", NULL);
    sonde_text_add_bytes(out, c->at, length);
    c->at += length;
}

static void read_array(struct config *c, struct sonde_text *out)
{
    c->at++;
    for (skip_lines(c); *c->at != ']' && !c->failed; skip_lines(c)) {
        if (out->length)
            sonde_text_add(out, ",");
        read_word(c, out);
        skip_lines(c);
        if (*c->at == ',')
            c->at++;
        else if (*c->at != ']')
            wrong(c, "the array lacks a comma, or its ]", NULL);
    }
    if (!c->failed)
        c->at++;
}

/* ---- keys ----------------------------------------------------------------------------------------- */

static const struct sonde_option *find_key(struct config *c, const char *name, size_t length)
{
    struct sonde_text what = {0};
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    struct sonde_nearest nearest = {.word = word};
    const struct sonde_option *found = NULL;
    for (const struct sonde_option *o = monitor_options_table; o->name; o++) {
        if (!o->value) { /* --config and --check are of the command line alone */
            sonde_nearest_try(&nearest, o->name);
            if (strcmp(o->name, word) == 0 && strlen(o->name) == length)
                found = o;
        }
    }
    if (!found) {
        sonde_text_format(&what, "there is no key '%s'", word);
        wrong(c, sonde_text_get(&what), nearest.known);
        sonde_text_fini(&what);
    }
    return found;
}

static char *kept_values[MOST_OPTIONS]; /* strings of options point into these, as long as the process lives */

/* The value goes to the option. */
static void set(struct config *c, const struct sonde_option *option, unsigned line, const struct sonde_text *value)
{
    struct sonde_text said = {0};
    struct sonde_nearest nearest = {0};
    char *kept = strdup(sonde_text_get(value));
    c->line = line;
    if (!kept)
        wrong(c, "out of memory", NULL);
    else if (c->seen[option - monitor_options_table])
        wrong(c, "the key stands here for the second time", NULL);
    else if (sonde_option_read(option, option->name, kept, &c->read, &said, &nearest) || monitor_option_check(&c->read, &said, &nearest))
        wrong(c, sonde_text_get(&said), nearest.known);
    if (c->seen[option - monitor_options_table] || option->type != SONDE_OPTION_STRING)
        free(kept);
    else
        kept_values[option - monitor_options_table] = kept;
    c->seen[option - monitor_options_table] = true;
    sonde_text_fini(&said);
}

static void read_pair(struct config *c)
{
    const unsigned line = c->line;
    const char *name = c->at;
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    struct sonde_text value = {0};
    c->at += length;
    skip_blanks(c);
    if (!length || *c->at != '=') {
        wrong(c, *name == '[' ? "there are no tables here: keys are the long options of 'sonde monitor'" : "expected KEY = VALUE", NULL);
        return;
    }
    const struct sonde_option *option = find_key(c, name, length);
    if (!option)
        return;
    c->at++;
    skip_blanks(c);
    if (*c->at == '[')
        read_array(c, &value);
    else
        read_word(c, &value);
    const unsigned behind = c->line;
    if (!c->failed)
        set(c, option, line, &value);
    c->line = c->failed ? c->line : behind;
    if (!c->failed)
        end_line(c);
    sonde_text_fini(&value);
}

/* ---- the file ------------------------------------------------------------------------------------- */

/* NULL, after a message. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = file ? calloc(MOST_BYTES + 1, 1) : NULL;
    const size_t length = text ? fread(text, 1, MOST_BYTES, file) : 0;
    if (!file || !text || ferror(file))
        sonde_say("cannot read the configuration %s: %s", path, strerror(errno));
    else if (length == MOST_BYTES || strlen(text) != length)
        sonde_say("cannot read the configuration %s: it is not a text of less than a megabyte", path);
    else {
        fclose(file);
        return text;
    }
    free(text);
    if (file)
        fclose(file);
    return NULL;
}

/* What the command line left as it was is the file's. */
static void merge(const struct config *c, struct monitor_options *options)
{
    for (const struct sonde_option *o = monitor_options_table; o->name; o++) {
        const size_t size = o->type == SONDE_OPTION_STRING ? sizeof(char *) : sizeof(uint64_t);
        char *to = (char *)options + o->offset;
        if (!o->value && memcmp(to, (const char *)c->unset + o->offset, size) == 0)
            memcpy(to, (const char *)&c->read + o->offset, size);
    }
}

int monitor_config_read(const char *path, const struct monitor_options *unset, struct monitor_options *options)
{
    struct config c = {.path = path, .line = 1, .read = *unset, .unset = unset};
    char *text = read_file(path);
    if (!text)
        return SONDE_EXIT_FAILED;
    c.at = text;
    for (skip_lines(&c); *c.at && !c.failed; skip_lines(&c))
        read_pair(&c);
    if (!c.failed)
        merge(&c, options);
    free(text);
    return c.failed ? SONDE_EXIT_USAGE : SONDE_EXIT_OK;
}
