/* patterns.h - what the values of accesses have in common: definitions 3.3 to 3.8 (values.h), from their OR, their AND, the least and
 * the most, and from how many are one value or lie on one line.
 *
 * Threads: any; one at a time per result.
 */
#ifndef SONDE_ANALYZE_ANSWERS_VALUES_PATTERNS_H
#define SONDE_ANALYZE_ANSWERS_VALUES_PATTERNS_H

#include "values.h"

#define SONDE_PATTERN_MAP(X)        \
    X(SINGLE_ZERO, "single_zero")   \
    X(SINGLE_VALUE, "single_value") \
    X(HEAVY_TYPE, "heavy_type")     \
    X(STRUCTURED, "structured")     \
    X(FREQUENT, "frequent")         \
    X(APPROXIMATE, "approximate")

/* clang-format off */
enum sonde_pattern {
#define X(name, text) SONDE_PATTERN_##name,
    SONDE_PATTERN_MAP(X)
#undef X
    SONDE_PATTERN_NONE,
};
/* clang-format on */

#define SONDE_PATTERN_COMMON   0.5 /* of the elements, and more, are one value where it is frequent, unless another share is asked for */
#define SONDE_PATTERN_LINED    0.9 /* of them, and more, lie on one line where they are structured */
#define SONDE_PATTERN_POINTS   4u  /* elements that it takes for either */
#define SONDE_PATTERN_DOUBT    0.05 /* an interval of shares misses the truth in so many of all cases at most */
#define SONDE_PATTERN_MANTISSA 10u /* bits of it, and more, that approximate values agree in unless others are asked for: those of a half */

/* Of one operation and the objects of a site: of all its accesses, or of one where not all of them match. */
struct sonde_value_pattern {
    enum sonde_pattern kind;
    struct sonde_value_accessed of; /* the access; of several: their sums, `line` and `what` those of the first */
    enum sonde_pattern as;        /* approximate: which pattern values have with mantissas of so many bits; else NONE */
    uint32_t accesses;
    uint64_t elements;            /* that match; of these accesses as many as of those compared */
    uint64_t all_elements;        /* of all accesses of the operation to these objects */
    const char *narrower;         /* heavy type, also approximate: the type that would do; else NULL */
    unsigned mantissa;            /* approximate: bits; single values are within 2^-mantissa of each other */
    struct sonde_value_guess guess; /* frequent: the value, of which an access may have several; structured: the line */
    bool exact;
    bool estimated;               /* of some blocks: then `elements` / `all_elements` of all is likely to lie between these */
    double low, high;
};
struct sonde_value_patterns { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_value_pattern) items; /* by bytes accessed, most first */
};

/* The patterns that values may have once their mantissas have K bits (definition 3.8). Of those that are not single, the type, which nearly all numbers have
 * room in then, is looked for only where K was asked for. */
struct sonde_value_asked {
    bool narrow;       /* K was asked for */
    unsigned mantissa; /* K of definition 3.8: approximate values are within 2^-mantissa of each other */
    double common;     /* frequent (3.3) are values that make up more than this share of the elements */
};
/* 0 or SONDE_ENOMEM; fini in either case. */
int sonde_value_patterns_find(const struct sonde_value_site *site, const struct sonde_value_asked *asked, struct sonde_value_patterns *out);
void sonde_value_patterns_fini(struct sonde_value_patterns *p);

/* Of the bytes of one access, those that needed no memory: reads of one value or of what follows from the index, and what a narrower type
 * would not have: it is then in *narrower, which is left alone otherwise. */
double sonde_value_needless_bytes(const struct sonde_value_accessed *a, const char **narrower);

const char *sonde_pattern_name(enum sonde_pattern kind);
/* Are its numbers floats? Else integers. */
bool sonde_value_is_real(const struct sonde_value_accessed *a);
/* The same, or floats of 2 bytes, of which only single values are told. */
bool sonde_value_is_told_as_real(const struct sonde_value_accessed *a);
/* A number of an access, as least and most have it. */
double sonde_value_number(const struct sonde_value_accessed *a, int64_t number);
/* An element's bits, as such a number. */
int64_t sonde_value_of_bits(const struct sonde_value_accessed *a, uint64_t bits);

#endif
