/* patterns.c - see patterns.h. */
#include "patterns.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/error.h>

/* Of a float of 4 or 8 bytes. */
struct layout {
    unsigned mantissa, exponent; /* bits */
};

static struct layout layout_of(const struct sonde_value_accessed *a)
{
    return a->element_bytes == 8 ? (struct layout){52, 11} : (struct layout){23, 8};
}

bool sonde_value_is_real(const struct sonde_value_accessed *a)
{
    return a->type == SONDE_ELEMENT_FLOAT && a->element_bytes >= 4;
}

/* Of 2 bytes: such values are told, but not compared. */
static bool is_small_real(const struct sonde_value_accessed *a)
{
    return (a->type == SONDE_ELEMENT_FLOAT || a->type == SONDE_ELEMENT_BFLOAT) && a->element_bytes == 2;
}

/* A half (IEEE 754 binary16), or the upper half of a float. */
static double small_number(const struct sonde_value_accessed *a, uint16_t bits)
{
    const struct layout l = a->type == SONDE_ELEMENT_FLOAT ? (struct layout){10, 5} : (struct layout){7, 8};
    const int most = (1 << l.exponent) - 1, exponent = bits >> l.mantissa & most, bias = most / 2, mantissa = bits & ((1 << l.mantissa) - 1);
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == most)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    return sign * ldexp(exponent ? mantissa + (1 << l.mantissa) : mantissa, (exponent ? exponent : 1) - bias - (int)l.mantissa);
}

bool sonde_value_is_told_as_real(const struct sonde_value_accessed *a)
{
    return sonde_value_is_real(a) || is_small_real(a);
}

/* From an integer that is ordered as floats are, to the float's bits; and the other way. */
static int64_t ordered(int64_t bits, unsigned bytes)
{
    return bytes == 8 ? bits ^ ((bits >> 63) & INT64_MAX) : (int32_t)bits ^ (((int32_t)bits >> 31) & INT32_MAX);
}

double sonde_value_number(const struct sonde_value_accessed *a, int64_t number)
{
    if (is_small_real(a))
        return small_number(a, (uint16_t)number);
    if (!sonde_value_is_real(a))
        return (double)number;
    const int64_t bits = ordered(number, a->element_bytes);
    double real;
    float single;
    if (a->element_bytes == 8) {
        memcpy(&real, &bits, sizeof real);
        return real;
    }
    memcpy(&single, &(int32_t){(int32_t)bits}, sizeof single);
    return (double)single;
}

int64_t sonde_value_of_bits(const struct sonde_value_accessed *a, uint64_t bits)
{
    const unsigned unused = 64 - 8u * a->element_bytes;
    const int64_t number = a->type == SONDE_ELEMENT_UNSIGNED ? (int64_t)bits : (int64_t)(bits << unused) >> unused;
    return sonde_value_is_real(a) ? ordered(number, a->element_bytes) : number;
}

/* ---- the patterns ------------------------------------------------------------------------------ */

/* -0.0 is zero, too. */
static bool is_zero(const struct sonde_value_accessed *a)
{
    const uint64_t sign = sonde_value_is_told_as_real(a) ? 1ull << (8u * a->element_bytes - 1) : 0;
    return (a->any & ~sign) == 0;
}

static bool is_single(const struct sonde_value_accessed *a)
{
    return a->any == a->all;
}

static const char *narrower_integer(const struct sonde_value_accessed *a)
{
    static const struct {
        unsigned bytes;
        int64_t least, most;
        const char *name;
    } types[] = {
        {1, INT8_MIN, INT8_MAX, "int8_t"},
        {1, 0, UINT8_MAX, "uint8_t"},
        {2, INT16_MIN, INT16_MAX, "int16_t"},
        {2, 0, UINT16_MAX, "uint16_t"},
        {4, INT32_MIN, INT32_MAX, "int32_t"},
        {4, 0, UINT32_MAX, "uint32_t"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].bytes < a->element_bytes && a->least >= types[i].least && a->most <= types[i].most)
            return types[i].name;
    return NULL;
}

/* Does a float hold each of these doubles? Mantissas end in zeros, and the largest is not too large. That none is too small is known
 * where all have one sign, that none is too large where none is infinite. */
static const char *narrower_real(const struct sonde_value_accessed *a, bool *exact)
{
    const double least = sonde_value_number(a, a->least), most = sonde_value_number(a, a->most);
    const uint64_t mantissa = (1ull << 29) - 1;
    if (a->element_bytes != 8 || a->least > a->most || a->any & mantissa || (least < -FLT_MAX && !isinf(least)) || (most > FLT_MAX && !isinf(most)))
        return NULL;
    *exact = (least >= FLT_MIN || most <= -FLT_MIN) && !isinf(least) && !isinf(most);
    return "float";
}

static const char *narrower_of(const struct sonde_value_accessed *a, bool *exact)
{
    if (sonde_value_is_real(a))
        return narrower_real(a, exact);
    return a->type == SONDE_ELEMENT_UNSIGNED || a->type == SONDE_ELEMENT_SIGNED ? narrower_integer(a) : NULL;
}

/* No infinity and no NaN, and all of one sign: then the least and the most differ by 2^-K of the larger or less, and one number of K bits of
 * mantissa is as near to each. `mantissa` gets the largest K. Cut at K bits, 0.9999 and 1.0001 would agree in none. Of numbers on both sides of 2
 * the bits that were added up may look like a NaN: they are not found. */
static bool is_approximate(const struct sonde_value_accessed *a, unsigned *mantissa)
{
    const struct layout l = layout_of(a);
    const uint64_t exponents = (1ull << l.exponent) - 1;
    const double least = sonde_value_number(a, a->least), most = sonde_value_number(a, a->most);
    const unsigned fewest = *mantissa;
    int exponent;
    if (!sonde_value_is_real(a) || (a->any >> l.mantissa & exponents) == exponents || a->least > a->most || (least <= 0 && most >= 0))
        return false;
    const double fraction = frexp((most - least) / fmax(fabs(least), fabs(most)), &exponent); /* 0 is of single values */
    const int bits = fraction > 0 ? (fraction > 0.5 ? 0 : 1) - exponent : (int)l.mantissa;
    *mantissa = bits < (int)l.mantissa ? (unsigned)bits : l.mantissa;
    return *mantissa >= fewest;
}

/* With mantissas of so many bits: what type has them, and the exponents? Those of small numbers are known where all have one sign, and that none is too large
 * where none is infinite. NULL: no narrower one, or it would do in any case. */
static const char *narrower_cut(const struct sonde_value_accessed *a, unsigned mantissa, bool *exact)
{
    static const struct {
        const char *name;
        unsigned bytes, mantissa;
        double most, least; /* that is finite; that is normal */
    } types[] = {{"half", 2, 10, 65504, 0x1p-14}, {"bfloat16", 2, 7, 0x1.fep127, FLT_MIN}, {"float", 4, 23, (double)FLT_MAX, FLT_MIN}};
    const double least = sonde_value_number(a, a->least), most = sonde_value_number(a, a->most), largest = fmax(fabs(least), fabs(most));
    bool whole;
    if (!sonde_value_is_real(a) || a->least > a->most || isinf(largest))
        return NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].bytes < a->element_bytes && mantissa <= types[i].mantissa && largest <= types[i].most) {
            *exact = least >= types[i].least || most <= -types[i].least;
            return types[i].bytes == 4 && narrower_real(a, &whole) ? NULL : types[i].name;
        }
    return NULL;
}

static bool agree(const struct sonde_value_accessed *a, unsigned mantissa, uint64_t bits, uint64_t other)
{
    const unsigned cut = layout_of(a).mantissa - mantissa;
    return bits >> cut == other >> cut;
}

/* Of the values that were counted, those that are one if their mantissas are cut: the value of which most are, and how many there are together, at the least, in
 * parts of the elements. False: no two of them are. */
static bool is_often(const struct sonde_value_accessed *a, unsigned mantissa, double least, uint64_t *value, double *share)
{
    *share = 0;
    for (unsigned one = 0; one < SONDE_VALUE_COMMON; one++) {
        double sum = 0;
        unsigned values = 0;
        for (unsigned other = 0; other < SONDE_VALUE_COMMON; other++)
            if (a->common[one].checked && a->common[other].checked && agree(a, mantissa, a->common[one].value, a->common[other].value)) {
                sum += (double)a->common[other].matching / (double)a->common[other].checked;
                values += a->common[other].matching > 0;
            }
        if (values > 1 && sum > *share) {
            *share = fmin(sum, 1);
            *value = a->common[one].value;
        }
    }
    return *share > least;
}

/* Of those compared: how many of all are likely to match. */
static uint64_t matching(const struct sonde_value_accessed *a, const struct sonde_value_guess *guess)
{
    if (guess->checked >= a->elements)
        return guess->matching;
    return (uint64_t)((double)a->elements * (double)guess->matching / (double)guess->checked);
}

static bool is_guessed(const struct sonde_value_guess *guess, double least)
{
    return guess->checked >= SONDE_PATTERN_POINTS && (double)guess->matching > least * (double)guess->checked;
}

/* Of how many values an access may match it. */
static unsigned most_of(enum sonde_pattern kind)
{
    return kind == SONDE_PATTERN_FREQUENT ? SONDE_VALUE_COMMON : (kind == SONDE_PATTERN_APPROXIMATE ? 3 : 1);
}

/* Does more than the least share match what was guessed? Then that is what the pattern is of. */
static bool put_guess(struct sonde_value_pattern *p, const struct sonde_value_guess *guess, double least)
{
    if (!is_guessed(guess, least))
        return false;
    p->guess = *guess;
    p->elements = matching(&p->of, guess);
    p->exact = guess->checked >= p->of.elements;
    return true;
}

/* Single values; numbers of a narrower type; values that are frequent together. By turns, of which the last two are for what is not single. */
static bool put_approximate(struct sonde_value_pattern *p, unsigned which, const struct sonde_value_asked *asked)
{
    static const enum sonde_pattern each[] = {SONDE_PATTERN_SINGLE_VALUE, SONDE_PATTERN_HEAVY_TYPE, SONDE_PATTERN_FREQUENT};
    const struct sonde_value_accessed *a = &p->of;
    unsigned bits = asked->mantissa;
    const bool single = is_approximate(a, &bits);
    double share;
    p->as = each[which];
    if (which == 0) {
        p->mantissa = bits;
        return single;
    }
    if (single || !sonde_value_is_real(a) || asked->mantissa > layout_of(a).mantissa)
        return false;
    if (p->as == SONDE_PATTERN_HEAVY_TYPE)
        return asked->narrow && (p->narrower = narrower_cut(a, asked->mantissa, &p->exact));
    if (!is_often(a, asked->mantissa, asked->common, &p->guess.value, &share))
        return false;
    p->guess.checked = a->elements;
    p->elements = p->guess.matching = (uint64_t)(share * (double)a->elements);
    p->exact = false;
    return true;
}

/* One pattern, if the access matches it: kind NONE otherwise. A single value is also frequent and of a narrow type: that is not said. `which`: of
 * its values. */
static struct sonde_value_pattern pattern_of(const struct sonde_value_accessed *a, enum sonde_pattern kind, unsigned which, const struct sonde_value_asked *asked)
{
    struct sonde_value_pattern p = {.kind = kind, .as = SONDE_PATTERN_NONE, .of = *a, .exact = true, .elements = a->elements, .mantissa = asked->mantissa};
    bool is = false;
    if (kind != SONDE_PATTERN_SINGLE_ZERO && (is_zero(a) || (is_single(a) && kind != SONDE_PATTERN_SINGLE_VALUE))) {
        p.kind = SONDE_PATTERN_NONE;
        return p;
    }
    switch (kind) {
    case SONDE_PATTERN_SINGLE_ZERO:
        is = is_zero(a);
        break;
    case SONDE_PATTERN_SINGLE_VALUE:
        is = is_single(a);
        break;
    case SONDE_PATTERN_HEAVY_TYPE:
        is = (p.narrower = narrower_of(a, &p.exact)) != NULL;
        break;
    case SONDE_PATTERN_STRUCTURED:
        is = put_guess(&p, &a->linear, SONDE_PATTERN_LINED);
        break;
    case SONDE_PATTERN_FREQUENT:
        is = put_guess(&p, &a->common[which], asked->common);
        break;
    case SONDE_PATTERN_APPROXIMATE:
        is = put_approximate(&p, which, asked);
        break;
    default:
        break;
    }
    p.kind = is ? kind : SONDE_PATTERN_NONE;
    return p;
}

static unsigned bytes_of_type(const char *name)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"int8_t", 1}, {"uint8_t", 1}, {"int16_t", 2}, {"uint16_t", 2}, {"int32_t", 4}, {"uint32_t", 4}, {"float", 4}};
    size_t i = 0;
    while (strcmp(types[i].name, name) != 0)
        i++;
    return types[i].bytes;
}

double sonde_value_needless_bytes(const struct sonde_value_accessed *a, const char **narrower)
{
    const bool reads = a->what == SONDE_ACCESS_LOAD;
    if (reads && (is_zero(a) || is_single(a)))
        return (double)a->elements * a->element_bytes;
    const struct sonde_value_asked asked = {0}; /* neither pattern depends on it */
    const struct sonde_value_pattern line = pattern_of(a, SONDE_PATTERN_STRUCTURED, 0, &asked), heavy = pattern_of(a, SONDE_PATTERN_HEAVY_TYPE, 0, &asked);
    if (reads && line.kind != SONDE_PATTERN_NONE)
        return (double)line.elements * a->element_bytes;
    if (heavy.kind == SONDE_PATTERN_NONE)
        return 0;
    *narrower = heavy.narrower;
    return (double)a->elements * (a->element_bytes - bytes_of_type(heavy.narrower));
}

/* ---- of some blocks ---------------------------------------------------------------------------------- */

/* Kullback's and Leibler's divergence of two coins, which fall on one side in these shares of all cases. */
static double divergence(double share, double other)
{
    return (share > 0 ? share * log(share / other) : 0) + (share < 1 ? (1 - share) * log((1 - share) / (1 - other)) : 0);
}

/* Between `share` and `end`: the farthest that so many blocks may have come from. */
static double farthest(double share, double end, double most)
{
    enum { STEPS = 50 };
    double near = share, far = end;
    for (int step = 0; step < STEPS; step++) {
        const double middle = (near + far) / 2;
        if (divergence(share, middle) > most)
            far = middle;
        else
            near = middle;
    }
    return near;
}

/* Shares of blocks are numbers from 0 to 1, of which some are drawn without putting them back: their mean is as near to that of all as Hoeffding
 * (Probability Inequalities for Sums of Bounded Random Variables, 1963, theorem 1 and section 6) says, whatever they are. In all launches the same blocks
 * are looked at: they count once. What was seen is true, too. */
static void estimate(struct sonde_value_pattern *p)
{
    const struct sonde_value_blocks *b = &p->of.blocks;
    const double share = (double)p->elements / (double)p->all_elements, seen = (double)b->looked_at / (double)b->all;
    const double blocks = fmax((double)b->looked_at / (double)(b->launches ? b->launches : 1), 1), most = log(2 / SONDE_PATTERN_DOUBT) / blocks;
    p->exact = false;
    p->estimated = true;
    p->low = fmax(farthest(share, 0, most), share * seen);
    p->high = fmin(farthest(share, 1, most), 1 - (1 - share) * seen);
}

/* ---- by operation ---------------------------------------------------------------------------------- */

static void join(struct sonde_value_accessed *sum, const struct sonde_value_accessed *a)
{
    sum->elements += a->elements;
    sum->any |= a->any;
    sum->all &= a->all;
    sum->least = a->least < sum->least ? a->least : sum->least;
    sum->most = a->most > sum->most ? a->most : sum->most;
    for (unsigned which = 0; which < SONDE_VALUE_COMMON; which++)
        sonde_value_common_join(sum->common, &a->common[which]);
    sonde_value_linear_join(&sum->linear, &a->linear);
}

static int add(struct sonde_value_patterns *out, struct sonde_value_pattern p, uint32_t accesses, uint64_t all_elements)
{
    p.accesses = accesses;
    p.all_elements = all_elements;
    if (p.kind != SONDE_PATTERN_NONE && sonde_value_is_sample(&p.of.blocks))
        estimate(&p);
    return p.kind == SONDE_PATTERN_NONE ? 0 : sonde_vector_push(&out->items, p);
}

/* How many of its elements were compared with the value or line that the pattern is of. */
static uint64_t checked_of(const struct sonde_value_pattern *p, const struct sonde_value_accessed *a)
{
    if (p->kind == SONDE_PATTERN_STRUCTURED)
        return a->linear.checked;
    for (unsigned which = 0; which < SONDE_VALUE_COMMON; which++)
        if (a->common[which].checked && a->common[which].value == p->guess.value)
            return a->common[which].checked;
    return 0;
}

/* A value or a line must be that of all of them. */
static bool is_of_all(const struct sonde_value_pattern *p, const struct sonde_value_accessed *a, size_t count)
{
    uint64_t checked = 0;
    if (p->as == SONDE_PATTERN_FREQUENT)
        return count == 1;
    if (p->kind != SONDE_PATTERN_STRUCTURED && p->kind != SONDE_PATTERN_FREQUENT)
        return true;
    for (size_t i = 0; i < count; i++) {
        if (!checked_of(p, &a[i]))
            return false;
        checked += checked_of(p, &a[i]);
    }
    return checked == p->guess.checked;
}

/* Does what is found of their sum hold for each? */
static bool match_together(const struct sonde_value_accessed *sum, enum sonde_pattern kind, const struct sonde_value_accessed *a, size_t count,
                           const struct sonde_value_asked *asked)
{
    bool any = false;
    for (unsigned which = 0; which < most_of(kind); which++) {
        const struct sonde_value_pattern p = pattern_of(sum, kind, which, asked);
        if (p.kind != SONDE_PATTERN_NONE && !is_of_all(&p, a, count))
            return false;
        any |= p.kind != SONDE_PATTERN_NONE;
    }
    return any;
}

static int add_all(struct sonde_value_patterns *out, const struct sonde_value_accessed *a, enum sonde_pattern kind, const struct sonde_value_asked *asked,
                   uint32_t accesses, uint64_t all_elements)
{
    int rc = 0;
    for (unsigned which = 0; which < most_of(kind) && !rc; which++)
        rc = add(out, pattern_of(a, kind, which, asked), accesses, all_elements);
    return rc;
}

/* The accesses of one operation, pattern by pattern: together where they are of one type and match together, else each. */
static int find(const struct sonde_value_accessed *a, size_t count, const struct sonde_value_asked *asked, struct sonde_value_patterns *out)
{
    struct sonde_value_accessed sum = a[0];
    bool alike = true;
    int rc = 0;
    for (size_t i = 1; i < count; i++) {
        join(&sum, &a[i]);
        alike &= a[i].type == a[0].type && a[i].element_bytes == a[0].element_bytes;
    }
    for (unsigned kind = 0; kind < SONDE_PATTERN_NONE && !rc; kind++) {
        const bool together = alike && match_together(&sum, kind, a, count, asked);
        if (together)
            rc = add_all(out, &sum, kind, asked, (uint32_t)count, sum.elements);
        for (size_t i = 0; i < count && !together && !rc; i++)
            rc = add_all(out, &a[i], kind, asked, 1, sum.elements);
    }
    return rc;
}

static int by_bytes(const void *left, const void *right)
{
    const struct sonde_value_pattern *a = left, *b = right;
    const uint64_t x = a->elements * a->of.element_bytes, y = b->elements * b->of.element_bytes;
    if (x != y)
        return x < y ? 1 : -1;
    if (a->of.operation != b->of.operation)
        return a->of.operation < b->of.operation ? -1 : 1;
    if (a->of.number != b->of.number)
        return a->of.number < b->of.number ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->guess.value < b->guess.value ? -1 : a->guess.value > b->guess.value;
}

int sonde_value_patterns_find(const struct sonde_value_site *site, const struct sonde_value_asked *asked, struct sonde_value_patterns *out)
{
    int rc = 0;
    for (size_t from = 0, to; from < site->accesses.count && !rc; from = to) {
        for (to = from; to < site->accesses.count && site->accesses.items[to].operation == site->accesses.items[from].operation; to++)
            ;
        rc = find(&site->accesses.items[from], to - from, asked, out);
    }
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, by_bytes);
    return rc;
}

void sonde_value_patterns_fini(struct sonde_value_patterns *p)
{
    sonde_vector_fini(&p->items);
}

const char *sonde_pattern_name(enum sonde_pattern kind)
{
    static const char *const names[] = {
#define X(name, text) text,
        SONDE_PATTERN_MAP(X)
#undef X
    };
    return kind < sizeof names / sizeof *names ? names[kind] : "none";
}
