/* values.h - which work left values as they were, by object and operation.
 *
 * Objects are those of one allocation site; an operation is one place in the tree of calling contexts. Patterns are those of
 * Zhou, Hao, Mellor-Crummey, Meng, Liu: ValueExpert: Exploring Value Patterns in GPU-Accelerated Applications (ASPLOS 2022), by
 * their definitions; docs/values.md says how each number is computed.
 *
 * Threads: any; one at a time per result.
 */
#ifndef SONDE_ANALYZE_ANSWERS_VALUES_VALUES_H
#define SONDE_ANALYZE_ANSWERS_VALUES_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/profile/profile.h"
#include "base/vector.h"
#include "format/reader.h"

#define SONDE_VALUES_THRESHOLD 0.33 /* of the elements written, section 5.1 */

/* Redundant values (definition 3.1): what an operation did to the objects of a site. Elements are those of the operation's code,
 * else of other kernels that have the object as an argument, else of 4 bytes. */
struct sonde_value_redundant {
    uint32_t operation;        /* tree node, an OP leaf */
    uint32_t element_bytes;    /* 0: of several sizes */
    bool element_assumed;      /* of some objects no kernel says it */
    bool exact;                /* what it wrote is known, and nobody else wrote meanwhile */
    bool maybe;                /* of some, what they wrote is not known */
    bool several_lines;        /* it writes them on several lines of its source, */
    uint32_t line;             /* or on this one alone; 0: not known */
    const char *file;          /* of that line; of the measurement */
    uint64_t operations;       /* one that wrote several objects counts for each */
    uint64_t elements, unchanged, unchanged_bytes;
};

#define SONDE_VALUE_COMMON 4u /* values of an access that are known: as many as are counted (instrument/plan.h) */

/* Of the launches of an operation that were looked at, so many blocks, and so many of these were (--values-blocks); 0, 0: all. */
struct sonde_value_blocks {
    uint64_t all, looked_at, launches;
};
static inline bool sonde_value_is_sample(const struct sonde_value_blocks *b)
{
    return b->looked_at < b->all;
}

/* One access in the code of a kernel, to the objects of a site: what its elements were (struct sonde_row_access). */
struct sonde_value_accessed {
    uint32_t operation;        /* tree node, an OP leaf */
    uint32_t number;           /* in the kernel's code, from 0 */
    const char *file;          /* of the kernel's source; NULL unknown; of the measurement */
    uint32_t line;
    uint16_t element_bytes;
    uint8_t what, type;        /* enum sonde_access, enum sonde_element */
    uint64_t elements, any, all;
    int64_t least, most;
    struct sonde_value_blocks blocks;
    struct sonde_value_guess {
        uint64_t checked, matching; /* of the elements, so many were compared with it, and so many match */
        uint64_t value;             /* bits; or the line: */
        int64_t slope, offset;      /* integers, or doubles' bits; slope 0: there is none */
    } linear, common[SONDE_VALUE_COMMON]; /* values in no order, each another one; checked 0: there is none */
};

/* Duplicate values (definition 3.2): after an operation, objects of a site held all the values of objects of another, or of the same. */
struct sonde_value_duplicates {
    uint32_t operation;        /* tree node, an OP leaf */
    uint32_t kind, node;       /* the other site, as in struct sonde_value_site */
    uint64_t operations;       /* one after which several pairs were equal counts for each */
    uint64_t bytes;            /* of the objects, summed over the operations */
};

struct sonde_value_site {
    uint32_t kind, node;       /* of the objects; the tree node of their allocation, 0 unknown */
    uint64_t objects, bytes;
    uint64_t wasted;           /* bytes that its patterns left unchanged */
    SONDE_VECTOR(struct sonde_value_redundant) redundant; /* by bytes unchanged, most first; whatever their share */
    SONDE_VECTOR(struct sonde_value_accessed) accesses;     /* by operation and number */
    SONDE_VECTOR(struct sonde_value_duplicates) duplicates; /* by bytes, most first; a pair is at both its sites */
};

/* What two say of the same line; of two lines that with more elements. And what is said of another value, or of one that is known; of more than can
 * be known that with the fewest elements goes. */
void sonde_value_linear_join(struct sonde_value_guess *sum, const struct sonde_value_guess *more);
void sonde_value_common_join(struct sonde_value_guess sum[SONDE_VALUE_COMMON], const struct sonde_value_guess *more);

/* How much was looked at, by operation's name. */
struct sonde_value_coverage {
    const char *name;          /* of the kernel, else of the API call */
    uint64_t operations;       /* in the profile */
    uint64_t whole;            /* of which all that they may have written was compared */
    uint64_t missed[SONDE_VALUE_MISSED_COUNT];
    struct sonde_value_blocks blocks;
    unsigned engines;          /* 1 << enum sonde_engine of each that instrumented some */
    bool maybe;                /* what some wrote is not known: all that they may have written was compared */
    bool raced;                /* what some wrote may have been written by others meanwhile */
};

#define SONDE_VALUE_UNSEEN "not enqueued or not finished while values were compared"
/* Its operations of which no values are known, nor why: SONDE_VALUE_UNSEEN. */
uint64_t sonde_value_unseen(const struct sonde_value_coverage *c);

struct sonde_values { /* ready when zeroed */
    bool coarse, fine;         /* what --values asked for */
    double threshold;          /* share of the elements written from which on they make a pattern */
    SONDE_VECTOR(struct sonde_value_site) sites;         /* by bytes wasted, most first */
    SONDE_VECTOR(struct sonde_value_coverage) coverage;  /* by operations, most first */
};

/* From a share of the elements on; 0: every one. */
static inline bool sonde_value_is_redundant(const struct sonde_value_redundant *r, double threshold)
{
    return (r->elements ? (double)r->unchanged / (double)r->elements : 0) >= threshold;
}

/* What an operation is called: its kernel's name, else its API call's. */
const char *sonde_value_operation_name(const struct sonde_profile *profile, uint32_t leaf);

/* 0 or SONDE_ENOMEM; fini in either case. */
int sonde_values_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, double threshold, struct sonde_values *out);
/* What --values asked for, and the coverage alone. The same. */
int sonde_values_cover(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_values *out);
void sonde_values_fini(struct sonde_values *v);

#endif
