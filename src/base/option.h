/* option.h - options of a command or a question: a table that says what each is, and one value read from text.
 *
 * The fields are in a struct of who has the table. Any thread.
 */
#ifndef SONDE_BASE_OPTION_H
#define SONDE_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nearest.h"
#include "text.h"

enum sonde_option_type {
    /* the field at `offset` is a ... */
    SONDE_OPTION_FLAG,     /* int: set to `value` (1 when that is 0) */
    SONDE_OPTION_INT,      /* int64_t, between low and high when these differ */
    SONDE_OPTION_REAL,     /* double, between low and high when these differ */
    SONDE_OPTION_SIZE,     /* uint64_t bytes; K, M, G and T are powers of 1,024 */
    SONDE_OPTION_DURATION, /* uint64_t nanoseconds; us, ms, s (default), m, h; fractions allowed */
    SONDE_OPTION_STRING,   /* const char *, pointing into the text that was read */
    SONDE_OPTION_CHOICE,   /* int: index into `choices` */
};

struct sonde_option {
    const char *name;              /* long name without dashes; NULL ends the table */
    char letter;                   /* short name, 0 = none */
    enum sonde_option_type type;
    const char *argument;          /* name of the argument in help: "DIR", "FILE", "SIZE"; NULL for flags */
    size_t offset;                 /* of the field in the struct of options */
    const char *help;              /* one or two sentences, no final newline */
    int value;                     /* FLAG: what to store */
    int64_t low, high;             /* INT, REAL: range; SIZE: at least low, whole MiB */
    const char *const *choices;    /* CHOICE: NULL-terminated */
    const char *otherwise;         /* the value of --NAME alone: another one comes as --NAME=VALUE, never as the next word; may be NULL */
    bool hidden;                   /* for tests: not in help */
    const struct sonde_option *more; /* in the line that ends the table: options that follow, of the struct at its begin; may be NULL */
};

/* The next line, in this table or in the one that follows it: for (o = table; o && o->name; o = sonde_option_next(o)). */
static inline const struct sonde_option *sonde_option_next(const struct sonde_option *o)
{
    o++;
    return o->name || !o->more ? o : o->more;
}

/* May the next word be its value? */
static inline bool sonde_option_takes_word(const struct sonde_option *o)
{
    return o->type != SONDE_OPTION_FLAG && !o->otherwise;
}

/* NULL: there is none. */
const struct sonde_option *sonde_option_find(const struct sonde_option *table, const char *name, size_t length);

/* Store what `text` (of a FLAG: NULL) says into the struct at `values`. 0, or SONDE_EINVALID with a sentence without a full
 * stop in `wrong`, in which the option is called `spelled`, and in `nearest` what may have been meant. */
int sonde_option_read(const struct sonde_option *option, const char *spelled, const char *text, void *values,
                      struct sonde_text *wrong, struct sonde_nearest *nearest);

/* Number with unit, as options accept them. 0, or SONDE_EINVALID. */
int sonde_parse_size(const char *text, uint64_t *bytes);
int sonde_parse_duration(const char *text, uint64_t *ns);

/* A PCI address, "00000000:1A:00.0", as the format keeps it: domain << 16 | bus << 8 | device << 3. 0: it is none, or NULL. */
uint32_t sonde_parse_pci(const char *address);

#endif
