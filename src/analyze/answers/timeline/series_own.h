/* series_own.h - between the files that make series: steps, and what operations of a device are known.
 */
#ifndef SONDE_ANALYZE_ANSWERS_TIMELINE_SERIES_OWN_H
#define SONDE_ANALYZE_ANSWERS_TIMELINE_SERIES_OWN_H

#include "analyze/answers/blame/sweep.h"
#include "series.h"

/* ---- steps ------------------------------------------------------------------------------------------ */

__extension__ typedef unsigned __int128 sonde__sum;

/* A bin whose mean can still be put together with others'. */
struct sonde__level {
    uint64_t least, most, last;
    sonde__sum sum; /* over its nanoseconds */
};

/* Steps of a value: `from` the time, `to` by how much it changes then (two's complement), sorted by time. Fill `count` bins of
 * 2^level ns from `begin_ns` on, where the value is `value` before its first instant. Steps before `begin_ns` must not be
 * among them, those after the bins are left alone. With `busy` what counts is whether it is above 0. */
void sonde__steps_fill(const struct sonde__span *steps, size_t step_count, uint64_t value, uint64_t begin_ns, uint32_t level, bool busy,
                       struct sonde__level *bins, size_t count);

/* `next` follows `level`; both are as wide. */
static inline void sonde__level_join(struct sonde__level *level, const struct sonde__level *next)
{
    level->least = next->least < level->least ? next->least : level->least;
    level->most = next->most > level->most ? next->most : level->most;
    level->last = next->last;
    level->sum += next->sum;
}

/* ---- operations of a device ------------------------------------------------------------------------------ */

enum sonde__flight_series {
    SONDE__IN_FLIGHT,
    SONDE__DEVICE_BUSY,
    SONDE__FLIGHT_SERIES,
};

struct sonde__flight_chunk {
    uint32_t index;            /* in p->traces */
    uint64_t first_ns, last_ns; /* of all steps of its operations, since the run began; first > last: none */
};

struct sonde__flights { /* of one device, as one process used it */
    const struct sonde_process *p;
    int64_t origin_ns;
    uint32_t device;
    SONDE_VECTOR(struct sonde__flight_chunk) chunks;
    uint64_t rows;             /* in them */
    uint32_t level;            /* of the bins below, which begin with the run */
    size_t count;
    uint32_t steps_most;       /* that are read at once, where bins are not fuller; tests say less */
    bool known;                /* all that follows */
    uint64_t *before[SONDE__FLIGHT_SERIES]; /* [count + 1]: the value before each bin's begin */
    uint32_t *steps;           /* [count]: how many are in each bin, of both */
    struct sonde__level *bins[SONDE__FLIGHT_SERIES]; /* [count] */
};

/* Those of `device`: nothing is read. `length_ns`: of the run, which has 2^shift bins or fewer. 0 or SONDE_ENOMEM; fini in either case. */
int sonde__flights_init(struct sonde__flights *f, const struct sonde_process *p, uint32_t device, int64_t origin_ns, uint64_t length_ns,
                        uint32_t shift);
void sonde__flights_fini(struct sonde__flights *f);
/* Read all of it, once. 0 or SONDE_ENOMEM. */
int sonde__flights_know(struct sonde__flights *f);
/* Rows of the chunks that have to be read for bins of this level from `first` to `last` (numbers). It is known. */
uint64_t sonde__flights_rows(const struct sonde__flights *f, uint32_t level, uint64_t first, uint64_t last);
/* These bins into out[series][0 … last - first]. It is known. 0 or SONDE_ENOMEM. */
int sonde__flights_fill(const struct sonde__flights *f, uint32_t level, uint64_t first, uint64_t last,
                        struct sonde__level *const out[SONDE__FLIGHT_SERIES]);

#endif
