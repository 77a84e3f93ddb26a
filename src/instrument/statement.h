/* statement.h - a statement of PTX taken apart, for the files that read PTX (ptx.c).
 *
 * Threads: any.
 */
#ifndef SONDE_INSTRUMENT_STATEMENT_H
#define SONDE_INSTRUMENT_STATEMENT_H

#include <string.h>

#include "ptx.h"

struct span_reader { /* within one item */
    const char *at, *end;
};

#define MODIFIERS_MAX 16u

struct instruction {
    struct sonde_ptx_span predicate;
    bool negated;
    struct sonde_ptx_span name, modifier[MODIFIERS_MAX]; /* "ld", "global", "shared::cta", "v4", "f32" */
    uint32_t modifiers;
    struct span_reader operands;
};

static inline struct span_reader sonde__ptx_reader(const struct sonde_ptx *p, struct sonde_ptx_span s)
{
    return (struct span_reader){p->text + s.at, p->text + s.at + s.bytes};
}

static inline bool sonde__ptx_is(const struct sonde_ptx *p, struct sonde_ptx_span s, const char *word)
{
    return s.bytes == strlen(word) && memcmp(p->text + s.at, word, s.bytes) == 0;
}

/* False: no instruction, but a declaration (.reg) or the like. */
bool sonde__ptx_parse(const struct sonde_ptx *p, struct sonde_ptx_span text, struct instruction *out);
/* Does no instruction of this name access memory of the device, as far as is known (instructions.c)? */
bool sonde__ptx_needs_no_memory(const struct sonde_ptx *p, struct sonde_ptx_span name);
/* A name, a register, a number without a sign; empty: something else is there. */
struct sonde_ptx_span sonde__ptx_word(const struct sonde_ptx *p, struct span_reader *r);
/* Is the next character this one? Then behind it. */
bool sonde__ptx_char(struct span_reader *r, char c);
/* A register, a constant, or braces around several. */
struct sonde_ptx_span sonde__ptx_operand(const struct sonde_ptx *p, struct span_reader *r);

#endif
