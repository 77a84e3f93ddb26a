/* metric.c - the table of columns; formulas are read in formula.c. */
#include "metric.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

#define X(id, name, unit, needs, expression, text)                     \
    static double value_of_##id(const struct sonde_metrics *m)         \
    {                                                                  \
        (void)m;                                                       \
        return (double)(expression);                                   \
    }
SONDE_METRIC_MAP(X)
#undef X

const struct sonde_metric sonde_metric_table[SONDE_METRIC_COUNT] = {
#define X(id, name, unit, needs, expression, text) {name, text, SONDE_UNIT_##unit, SONDE_NEEDS_##needs, value_of_##id},
    SONDE_METRIC_MAP(X)
#undef X
};

static bool is(const char *wanted, const char *name, size_t length)
{
    return strlen(wanted) == length && memcmp(wanted, name, length) == 0;
}

int sonde_metric_find(const char *name, size_t length)
{
    for (int i = 0; i < SONDE_METRIC_COUNT; i++)
        if (is(sonde_metric_table[i].name, name, length))
            return i;
    return -1;
}

int sonde_columns_find(const struct sonde_columns *c, const char *name, size_t length)
{
    for (size_t i = 0; i < c->derived.count; i++)
        if (is(c->derived.items[i].name, name, length))
            return SONDE_METRIC_COUNT + (int)i;
    return sonde_metric_find(name, length);
}

const char *sonde_columns_name(const struct sonde_columns *c, uint32_t column)
{
    return column < SONDE_METRIC_COUNT ? sonde_metric_table[column].name
                                       : c->derived.items[column - SONDE_METRIC_COUNT].name;
}

enum sonde_unit sonde_columns_unit(const struct sonde_columns *c, uint32_t column)
{
    (void)c;
    return column < SONDE_METRIC_COUNT ? sonde_metric_table[column].unit : SONDE_UNIT_NONE;
}

/* What could have been meant: the nearest name, or all. */
static void suggest_columns(const struct sonde_columns *c, const char *name, size_t length, struct sonde_diag *diag)
{
    char word[64];
    struct sonde_nearest nearest = {.word = word};
    size_t used = 0;
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), name);
    for (uint32_t i = 0; i < sonde_columns_count(c); i++)
        sonde_nearest_try(&nearest, sonde_columns_name(c, i));
    if (*nearest.known) {
        snprintf(diag->hint, sizeof diag->hint, "did you mean '%s'?", nearest.known);
        return;
    }
    for (uint32_t i = 0; i < sonde_columns_count(c) && used < sizeof diag->hint; i++)
        used += (size_t)snprintf(diag->hint + used, sizeof diag->hint - used, "%s%s", i ? ", " : "columns are ",
                                 sonde_columns_name(c, i));
}

int sonde__columns_unknown(const struct sonde_columns *c, const char *name, size_t length, struct sonde_diag *diag)
{
    sonde_diag_set(diag, SONDE_EINVALID, NULL, "there is no column '%.*s'", length < 64 ? (int)length : 64, name);
    if (diag)
        suggest_columns(c, name, length, diag);
    return SONDE_EINVALID;
}

static bool is_shown(const struct sonde_columns *c, uint32_t column)
{
    for (size_t i = 0; i < c->shown.count; i++)
        if (c->shown.items[i] == column)
            return true;
    return false;
}

int sonde_columns_show(struct sonde_columns *c, const char *list, struct sonde_diag *diag, size_t *at)
{
    for (const char *word = list;; word++) {
        size_t length = strcspn(word, ",");
        int column = sonde_columns_find(c, word, length);
        *at = (size_t)(word - list);
        if (column < 0)
            return sonde__columns_unknown(c, word, length, diag);
        if (!is_shown(c, (uint32_t)column) && sonde_vector_push(&c->shown, (uint32_t)column))
            return sonde_diag_set(diag, SONDE_ENOMEM, NULL, "cannot choose columns");
        word += length;
        if (!*word)
            return 0;
    }
}
