/* samples.c - see samples.h. */
#include "samples.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sonde_sample_label(const struct sonde_sample *sample, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < sample->label_count; i++)
        if (sample->labels[i].length == length && memcmp(sample->labels[i].name, name, length) == 0)
            return sample->labels[i].value;
    return NULL;
}

/* name="value", without its escapes, which only grow shorter; returns what is behind it. */
static char *take_label(char *at, struct sonde_sample *sample)
{
    struct sonde_sample_label *label = &sample->labels[sample->label_count++];
    label->name = at;
    label->length = strcspn(at, "=");
    char *from = at + label->length + 2, *to = from;
    label->value = to;
    while (*from != '"') {
        if (*from == '\\')
            from++;
        *to++ = *from++;
    }
    *to = 0;
    return from + 1;
}

static void take_apart(char *line, struct sonde_sample *sample)
{
    char *at = line + strcspn(line, "{ ");
    sample->name = line;
    sample->label_count = 0;
    const bool labelled = *at == '{';
    *at++ = 0;
    while (labelled && sample->label_count < SONDE_SAMPLE_LABELS) {
        at = take_label(at, sample);
        if (*at++ == '}')
            break;
    }
    sample->value = at + strspn(at, " ");
}

int sonde_samples_each(char *text, int (*fn)(void *user, const struct sonde_sample *sample), void *user)
{
    struct sonde_sample sample;
    char *rest = NULL;
    int status = 0;
    for (char *line = strtok_r(text, "\n", &rest); line && !status; line = strtok_r(NULL, "\n", &rest)) {
        if (*line == '#')
            continue;
        take_apart(line, &sample);
        status = fn(user, &sample);
    }
    return status;
}

/* ---- which are wanted ------------------------------------------------------------------------ */

/* Call for each word of a list; the next one, or NULL. */
static const char *next_word(const char *list, char *word, size_t size)
{
    if (!list || !*list)
        return NULL;
    const size_t length = strcspn(list, ",");
    snprintf(word, size, "%.*s", (int)length, list);
    return list + length + (list[length] == ',');
}

static bool matches(const char *list, const char *name)
{
    char word[256], total[128];
    snprintf(total, sizeof total, "%s_total", name);
    for (const char *rest = list; (rest = next_word(rest, word, sizeof word));)
        if (fnmatch(word, name, 0) == 0 || fnmatch(word, total, 0) == 0)
            return true;
    return false;
}

/* A sample of an NVIDIA device begins with its number, and has a UUID. */
static bool is_of_other_device(const char *line, size_t length, const char *devices)
{
    char number[16];
    const char *labels = memchr(line, '{', length);
    if (!labels || sscanf(labels, "{device=\"%15[0-9]\"", number) != 1)
        return false;
    return !matches(devices, number);
}

void sonde_samples_choose(const char *text, const char *metrics, const char *devices, struct sonde_text *out)
{
    bool wanted = true;
    for (const char *line = text; *line;) {
        char name[96];
        const size_t length = strcspn(line, "\n") + 1;
        if (sscanf(line, "# TYPE %95s", name) == 1) {
            char *total = strlen(name) > 6 ? name + strlen(name) - 6 : name;
            if (strcmp(total, "_total") == 0) /* in the older form it is a part of the family's name */
                *total = 0;
            wanted = !metrics || matches(metrics, name);
        }
        const bool end = strncmp(line, "# EOF", 5) == 0;
        if (end || (wanted && !(devices && *line != '#' && is_of_other_device(line, length, devices))))
            sonde_text_add_bytes(out, line, length);
        line += length;
    }
}
