/* option.c - see option.h. */
#include "option.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/error.h>

/* ---- numbers with units --------------------------------------------------- */

uint32_t sonde_parse_pci(const char *address)
{
    unsigned domain, bus, device;
    if (!address || sscanf(address, "%x:%x:%x", &domain, &bus, &device) != 3)
        return 0;
    return (domain & 0xffff) << 16 | (bus & 0xff) << 8 | (device & 0x1f) << 3;
}

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

/* ---- one value ----------------------------------------------------------- */

struct value {
    const struct sonde_option *option;
    const char *spelled, *text;
    void *field;
    struct sonde_text *wrong;
};

static bool in_range(const struct sonde_option *option, double value)
{
    return option->low == option->high ||
           (value >= (double)option->low && value <= (double)option->high);
}

static int read_number(const struct value *v)
{
    const struct sonde_option *option = v->option;
    char *end;
    bool ok, ranged;
    errno = 0;
    if (option->type == SONDE_OPTION_INT) {
        long long value = strtoll(v->text, &end, 10);
        ok = end != v->text && !*end && !errno;
        ranged = in_range(option, (double)value);
        *(int64_t *)v->field = value;
    } else {
        double value = strtod(v->text, &end);
        ok = end != v->text && !*end && !errno && isfinite(value);
        ranged = in_range(option, value);
        *(double *)v->field = value;
    }
    if (!ok)
        sonde_text_format(v->wrong, "%s needs a number, not '%s'", v->spelled, v->text);
    else if (!ranged)
        sonde_text_format(v->wrong, "%s must be between %lld and %lld, not %s", v->spelled, (long long)option->low,
                          (long long)option->high, v->text);
    return ok && ranged ? 0 : SONDE_EINVALID;
}

static int read_choice(const struct value *v, struct sonde_nearest *nearest)
{
    const char *const *choices = v->option->choices;
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], v->text) == 0) {
            *(int *)v->field = i;
            return 0;
        }
    *nearest = (struct sonde_nearest){.word = v->text};
    sonde_text_format(v->wrong, "%s must be one of ", v->spelled);
    for (int i = 0; choices[i]; i++) {
        sonde_nearest_try(nearest, choices[i]);
        sonde_text_format(v->wrong, "%s%s", i ? ", " : "", choices[i]);
    }
    sonde_text_format(v->wrong, ", not '%s'", v->text);
    return SONDE_EINVALID;
}

static int read_size(const struct value *v)
{
    if (sonde_parse_size(v->text, v->field) < 0) {
        sonde_text_format(v->wrong, "%s needs a size such as 64M or 2G, not '%s'", v->spelled, v->text);
        return SONDE_EINVALID;
    }
    if (*(uint64_t *)v->field >= (uint64_t)v->option->low)
        return 0;
    sonde_text_format(v->wrong, "%s needs at least %lldM, not '%s'", v->spelled, (long long)v->option->low >> 20, v->text);
    return SONDE_EINVALID;
}

int sonde_option_read(const struct sonde_option *option, const char *spelled, const char *text, void *values,
                      struct sonde_text *wrong, struct sonde_nearest *nearest)
{
    const struct value v = {option, spelled, text, (char *)values + option->offset, wrong};
    *nearest = (struct sonde_nearest){.word = ""};
    switch (option->type) {
    case SONDE_OPTION_FLAG:
        *(int *)v.field = option->value ? option->value : 1;
        return 0;
    case SONDE_OPTION_INT:
    case SONDE_OPTION_REAL:
        return read_number(&v);
    case SONDE_OPTION_SIZE:
        return read_size(&v);
    case SONDE_OPTION_DURATION:
        if (sonde_parse_duration(text, v.field) == 0)
            return 0;
        sonde_text_format(wrong, "%s needs a time such as 500ms, 10s or 2m, not '%s'", spelled, text);
        return SONDE_EINVALID;
    case SONDE_OPTION_STRING:
        *(const char **)v.field = text;
        return 0;
    case SONDE_OPTION_CHOICE:
        return read_choice(&v, nearest);
    }
    sonde_text_format(wrong, "invalid value of %s", spelled);
    return SONDE_EINVALID;
}

const struct sonde_option *sonde_option_find(const struct sonde_option *table, const char *name, size_t length)
{
    for (const struct sonde_option *o = table; o && o->name; o = sonde_option_next(o))
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}
