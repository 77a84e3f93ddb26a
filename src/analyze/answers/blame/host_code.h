/* host_code.h - the functions of the user's that a device waited for: host code during idle time.
 *
 * From the blame of a scope (blame.h). What is a thread's own code counts, and what it waits for in functions
 * of the C library, not what it spends in API calls. docs/advice.md says how the functions are chosen.
 *
 * Threads: any.
 */
#ifndef SONDE_ANALYZE_ANSWERS_BLAME_HOST_CODE_H
#define SONDE_ANALYZE_ANSWERS_BLAME_HOST_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/profile/profile.h"
#include "base/vector.h"
#include "blame.h"

enum { SONDE_HOST_PIECES = 3 };

struct sonde_host_code {
    uint32_t node;        /* the function: the tree node at its line with the most */
    double ns;            /* its blame, inclusive, at most: its own and what it called, outside of API calls */
    double bound_ns;      /* the idle time in which it ran, at most, whatever other threads did: no less than `ns` */
    double waited_ns;     /* of it: in functions of the C library that wait (SLEEP rows) */
    uint32_t wait;        /* the tree node of such a function with the most; 0 none */
    double inferred_ns;   /* of it: known from the calls around alone, and its callers' where those are not sure */
    double error_ns, bound_error_ns; /* standard errors of `ns` and `bound_ns`: of what is sampled or pooled in them */
    struct sonde_host_piece {
        uint32_t node;
        double ns, error_ns;
    } pieces[SONDE_HOST_PIECES]; /* of bound_ns: the user's functions right below, most first */
    uint32_t piece_count;
};
typedef SONDE_VECTOR(struct sonde_host_code) sonde_host_codes;

/* Most first; none of them is within another. 0 or SONDE_ENOMEM. */
int sonde_host_code_find(const struct sonde_profile *profile, const struct sonde_blame_scope *scope, sonde_host_codes *out);

/* Is blame of this node host code, rather than an API call's? */
bool sonde_is_host_code(const struct sonde_profile *profile, uint32_t node);

#endif
