/* typing.c - see typing.h.
 *
 * Elements whose first bit is 0 are in order as numbers without a sign, whatever their type; those whose first bit is 1 as well, but
 * floats backwards. So the least and the most of each kind follow from those of both.
 */
#include "typing.h"

#include <stdlib.h>

#include <sonde/error.h>

/* ---- which rows belong together ------------------------------------------------------------------- */

int sonde_value_typing_find(const struct sonde_process *p, struct sonde_value_typing *out)
{
    const struct sonde_row_bits *bits = p->tables[SONDE_TABLE_BITS].rows;
    const struct sonde_row_type *types = p->tables[SONDE_TABLE_TYPE].rows;
    const struct sonde_row_guess *guesses = p->tables[SONDE_TABLE_GUESS].rows;
    const uint32_t count = p->tables[SONDE_TABLE_ACCESS].count;
    *out = (struct sonde_value_typing){.process = p};
    if (!p->tables[SONDE_TABLE_BITS].count || !p->tables[SONDE_TABLE_TYPE].count || !count)
        return 0;
    if (!(out->of = calloc(count, sizeof *out->of)))
        return SONDE_ENOMEM;
    out->count = count;
    for (uint32_t i = 1; i < p->tables[SONDE_TABLE_BITS].count; i++)
        if (bits[i].access < count)
            out->of[bits[i].access].bits = i;
    for (uint32_t i = 0; i < p->tables[SONDE_TABLE_TYPE].count; i++)
        if (types[i].access < count)
            out->of[types[i].access].type = i + 1;
    for (uint32_t i = 1; i < p->tables[SONDE_TABLE_GUESS].count; i++)
        if (guesses[i].access < count)
            out->of[guesses[i].access].guess = i;
    return 0;
}

void sonde_value_typing_fini(struct sonde_value_typing *b)
{
    free(b->of);
    *b = (struct sonde_value_typing){0};
}

/* ---- numbers ------------------------------------------------------------------------------------------ */

struct extents { /* by the first bit; least above most: none */
    uint64_t least[2], most[2];
};

static int64_t number_of(uint64_t bits, unsigned bytes)
{
    const unsigned unused = 64 - 8 * bytes;
    return (int64_t)(bits << unused) >> unused;
}

/* As struct sonde_row_access has floats. */
static int64_t real_of(uint64_t bits, unsigned bytes)
{
    const int64_t number = number_of(bits, bytes);
    return number < 0 ? number ^ (bytes == 8 ? INT64_MAX : INT32_MAX) : number;
}

/* NaNs lie beyond the infinities, and hide what else is the most there: no number is known then. */
static void read_real(struct sonde_row_access *a, const struct extents *e, bool above, bool below)
{
    const uint64_t infinity = a->element_bytes == 8 ? 0x7ffull << 52 : 0xffull << 23, magnitude = ~(1ull << (8 * a->element_bytes - 1));
    if ((above && e->most[0] > infinity) || (below && (e->most[1] & magnitude) > infinity))
        return;
    a->least = (uint64_t)(below ? real_of(e->most[1], a->element_bytes) : real_of(e->least[0], a->element_bytes));
    a->most = (uint64_t)(above ? real_of(e->most[0], a->element_bytes) : real_of(e->least[1], a->element_bytes));
}

static void read_integer(struct sonde_row_access *a, const struct extents *e, bool above, bool below)
{
    const bool plain = a->type == SONDE_ELEMENT_UNSIGNED && a->element_bytes < 8; /* larger ones have no room above */
    if (plain) {
        a->least = above ? e->least[0] : e->least[1];
        a->most = below ? e->most[1] : e->most[0];
    } else {
        a->least = (uint64_t)(below ? number_of(e->least[1], a->element_bytes) : (int64_t)e->least[0]);
        a->most = (uint64_t)(above ? (int64_t)e->most[0] : number_of(e->most[1], a->element_bytes));
    }
}

/* Elements of half the size: OR and AND of both halves. */
static void halve(struct sonde_row_access *a)
{
    const unsigned bits = 4u * a->element_bytes;
    const uint64_t half = (1ull << bits) - 1;
    a->any = (a->any | a->any >> bits) & half;
    a->all = a->all & a->all >> bits & half;
    a->elements *= 2;
    a->element_bytes /= 2;
}

/* What was guessed of elements of `bytes`, of which this row's may be halves; of smaller parts nothing is. */
static void read_guess(struct sonde_row_access *row, const struct sonde_row_guess *g, unsigned bytes)
{
    const bool real = row->type == SONDE_ELEMENT_FLOAT, halves = bytes == 8 && row->element_bytes == 4;
    if (!g || (row->element_bytes != bytes && !halves)) {
        row->checked = row->equal = 0;
        return;
    }
    if (halves) {
        row->checked = g->checked4;
        row->equal = g->equal4;
        row->value = g->value4;
    }
    if (row->element_bytes < 4 && (real || row->type == SONDE_ELEMENT_BFLOAT))
        return;
    row->lined = halves ? (real ? g->reals4 : g->lined4) : (real ? g->reals : g->lined);
    row->slope = halves ? (real ? g->slope4_real : g->slope4) : (real ? g->slope_real : g->slope);
    row->offset = halves ? (real ? g->offset4_real : g->offset4) : (real ? g->offset_real : g->offset);
}

static bool is_small_real(const struct sonde_row_type *t)
{
    return (t->type == SONDE_ELEMENT_FLOAT || t->type == SONDE_ELEMENT_BFLOAT) && t->element_bytes == 2;
}

/* Is it a type of such elements, or of what halves of them are kept? Files may be damaged. */
static bool fits(const struct sonde_row_access *row, const struct sonde_row_type *t)
{
    const unsigned bytes = row->element_bytes;
    if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || t->type > SONDE_ELEMENT_BFLOAT || t->type == SONDE_ELEMENT_BITS)
        return false;
    return is_small_real(t) ? bytes >= 2 : t->element_bytes == bytes || (t->element_bytes == 4 && bytes == 8);
}

void sonde_value_typing_read(const struct sonde_value_typing *b, uint32_t id, struct sonde_row_access *row)
{
    const struct sonde_value_typing_of *of = id < b->count ? &b->of[id] : NULL;
    if (!of || !of->bits || !of->type || row->type != SONDE_ELEMENT_BITS)
        return;
    const struct sonde_row_bits *r = &((const struct sonde_row_bits *)b->process->tables[SONDE_TABLE_BITS].rows)[of->bits];
    const struct sonde_row_type *type = &((const struct sonde_row_type *)b->process->tables[SONDE_TABLE_TYPE].rows)[of->type - 1];
    const struct sonde_row_guess *guesses = b->process->tables[SONDE_TABLE_GUESS].rows;
    const unsigned bytes = row->element_bytes;
    const bool halves = bytes == 8 && type->element_bytes == 4;
    const struct extents e = {{halves ? r->least4 : r->least, halves ? r->least4_set : r->least_set}, {halves ? r->most4 : r->most, halves ? r->most4_set : r->most_set}};
    const bool above = e.least[0] <= e.most[0], below = e.least[1] <= e.most[1];
    if (!fits(row, type) || (!above && !below))
        return;
    while (row->element_bytes > type->element_bytes)
        halve(row);
    row->type = type->type;
    read_guess(row, of->guess ? &guesses[of->guess] : NULL, bytes);
    row->least = (uint64_t)INT64_MAX;
    row->most = (uint64_t)INT64_MIN;
    if (is_small_real(type))
        row->least = row->most = row->any; /* no order is known of these: one value is all that is told of them */
    else if (row->type == SONDE_ELEMENT_FLOAT)
        read_real(row, &e, above, below);
    else
        read_integer(row, &e, above, below);
}
