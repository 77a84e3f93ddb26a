/* blame_sweep.h - intervals, and the share of idle time that falls to each active thread. Private to blame.
 *
 * The share of one thread of k in an idle instant is 1/k. Shares are counted in
 * units of 1/SONDE__UNITS of a nanosecond, an integer per instant, so that sums
 * do not depend on where time was cut or who added them up: exact for up to 16
 * active threads, within k/2^39 beyond.
 */
#ifndef SONDE_ANALYZE_BLAME_SWEEP_H
#define SONDE_ANALYZE_BLAME_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

__extension__ typedef unsigned __int128 sonde__units;
#define SONDE__UNITS (720720ull << 20) /* 720720 is the least common multiple of 1 to 16 */

struct sonde__span { uint64_t from, to; };                      /* [from, to) */
typedef SONDE_VECTOR(struct sonde__span) sonde__spans;

/* Sort by `from`: linear for times that are spread over their range, never worse than n log n. */
int sonde__spans_sort(sonde__spans *spans, sonde__spans *scratch);
/* Sort and merge what touches: disjoint, in order. */
int sonde__spans_unite(sonde__spans *spans, sonde__spans *scratch);
/* What [from, to) has that `busy` (united) does not cover, appended to `idle`. */
int sonde__spans_complement(const sonde__spans *busy, uint64_t from, uint64_t to, sonde__spans *idle);

/* Idle intervals of a longer time that is looked at piece by piece. */
struct sonde__idle {         /* ready when zeroed: of no time at all */
    uint64_t length;
    bool     busy;           /* at least once; else length is all idle */
    uint64_t head, tail;     /* idle at its begin and end */
    uint64_t count, longest; /* intervals between two busy times */
};
struct sonde__idle sonde__idle_of(const sonde__spans *busy, uint64_t from, uint64_t to);
/* `a`, then `b` right after it. */
struct sonde__idle sonde__idle_join(struct sonde__idle a, struct sonde__idle b);
uint64_t sonde__idle_count(const struct sonde__idle *idle);
uint64_t sonde__idle_longest(const struct sonde__idle *idle);

/* The integral of idle(t) / k(t). */
struct sonde__knot { uint64_t at, rate; sonde__units sum; }; /* from `at` on `rate` units per ns; until `at`, `sum` */
struct sonde__share {
    SONDE_VECTOR(struct sonde__knot) knots;
    sonde__units nobody; /* idle while k = 0 */
};
/* Where the number of active threads changes, in order: `from` the time, `to` how many more (modulo 2^64).
 * Before the first change nobody is active. */
int sonde__share_compute(const sonde__spans *idle, const sonde__spans *changes, struct sonde__share *out);
/* The integral up to `at`. *hint, 0 at first, makes calls with rising `at` fast. */
sonde__units sonde__share_until(const struct sonde__share *share, uint64_t at, size_t *hint);

#endif
