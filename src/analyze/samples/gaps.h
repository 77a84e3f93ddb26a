/* gaps.h - what threads did between their API calls, from samples that are much rarer than calls.
 *
 * A wait in a function of the C library (SLEEP row) is like a call here: its context is known, and
 * a gap lies between two of either.
 *
 * One place for all views, so that they cannot disagree; docs/developers/sampling.md, "Between
 * API calls", argues the estimate. A sample stands for one period of its thread's
 * own time, and for more where it came late: first for the time around it, as far as that lies
 * in its own gap; what is left goes to its gap's *pool*, and is spread there over the
 * parts of gaps that no sample reaches.
 *
 *     pieces    of a gap: a sample's context, or left for the pool
 *     gathered  samples by the two calls that their gap lies between
 *     pools     gaps between the same two calls, or more widely where these have few samples
 *
 * Threads: pieces and gathered belong to one each; pools, once made, are read by any.
 */
#ifndef SONDE_ANALYZE_SAMPLES_GAPS_H
#define SONDE_ANALYZE_SAMPLES_GAPS_H

#include "analyze/profile/profile.h"
#include "analyze/trace/trace.h"
#include "base/map.h"
#include "base/vector.h"

/* ---- stops: calls, and waits in functions of the C library ---------------------------------- */

struct sonde__stops {
    const struct sonde_row_call *before, *after; /* of the window: the last that ended, the first that begins; NULL: none */
    const struct sonde_trace_lane *lane;
    uint32_t call, sleep;
    uint64_t done;
    bool odd;
    struct sonde_row_call rooms[4];
};
struct sonde__stop {
    const struct sonde_row_call *row; /* valid until the next but one */
    bool slept;                       /* it is a wait, as far as it lies outside of calls: node and times are its */
    uint64_t next_ns;                 /* of a wait: when the thread calls next; 0: it does not */
};
void sonde__stops_begin(struct sonde__stops *stops, const struct sonde_trace_lane *lane);
/* In order of their beginning; false: there are no more. */
bool sonde__stops_next(struct sonde__stops *stops, struct sonde__stop *stop);

/* ---- pieces ------------------------------------------------------------------------------- */

struct sonde__gap {
    const struct sonde_trace_lane *lane;   /* its samples and switches; `from_ns` and `to_ns` lie in its window */
    const struct sonde_row_call *before, *after; /* calls or waits; NULL: there is none */
    uint64_t from_ns, to_ns;              /* what to look at */
    uint64_t period_ns;                   /* sonde__sample_period; 0: not sampled */
};

struct sonde__piece {
    uint64_t from, to;
    uint32_t node;
    bool sampled;
}; /* node: of the process */
typedef SONDE_VECTOR(struct sonde__piece) sonde__pieces;

struct sonde__gap_sample {
    uint32_t node;
    bool rest;          /* SONDE_SAMPLE_REST: its place is all that is known where there is no other; of the rest only cpu_ns is set */
    uint64_t stands_ns; /* for so much of the thread's time: a period, and what it came late */
    uint64_t open_ns;   /* of that, what its gap has no room for */
    uint64_t unsure_ns; /* of that, where the thread was for certain is not known */
    uint64_t cpu_ns;    /* as in the row */
};
typedef SONDE_VECTOR(struct sonde__gap_sample) sonde__gap_samples;

/* The gap's pieces in [from_ns, to_ns), in order, without a hole, into the emptied `pieces`; samples that lie
 * there into the emptied `samples`. `*first` is where to look for samples, and moves on with the gaps of a
 * window; 0 at first. 0 or SONDE_ENOMEM. */
int sonde__gap_pieces(const struct sonde__gap *gap, uint32_t *first, sonde__pieces *pieces, sonde__gap_samples *samples);

/* Does a sample lie in the gap, or so near that it matters? Moves `*first` as above. */
bool sonde__gap_is_sampled(const struct sonde__gap *gap, uint32_t *first);

/* When a thread that left the processor with number `i` came back. UINT64_MAX: it did not. */
uint64_t sonde__time_back(const struct sonde_trace_lane *lane, uint32_t i);

/* CPU time between two samples of a thread that comes in time for each; 0: not sampled. */
static inline uint64_t sonde__sample_period(const struct sonde_process *p)
{
    return p->header.cpu_rate_hz ? 1000000000u / p->header.cpu_rate_hz : 0;
}

/* When each lane's thread is taken to have been there: from one period before its first row of a trace to one after
 * its last. [lane_count], caller frees; NULL: out of memory. */
struct sonde__alive {
    uint64_t from, to;
    bool known; /* a call or a sample of it is somewhere */
};
struct sonde__alive *sonde__find_alive(const struct sonde_process *p);

/* ---- samples by calls ------------------------------------------------------------------------ */

/* Nodes of the calls; of a gap before the first or after the last call the lane and one of SONDE__EDGES. */
struct sonde__pair { uint32_t before, after; };
enum {
    SONDE__BEFORE_ALL = 1,
    SONDE__AFTER_ALL = 2,
    SONDE__NO_CALLS = 3,
}; /* no node has such numbers */
static inline bool sonde__pair_is_edge(const struct sonde__pair *pair)
{
    return pair->after <= SONDE__NO_CALLS;
}
struct sonde__pair sonde__pair_of(uint32_t lane, const struct sonde_row_call *before, const struct sonde_row_call *after);

/* Sums over the samples of one context in the gaps of one pair: integers, so that their order does not matter. */
__extension__ typedef unsigned __int128 sonde__squares; /* of nanoseconds */
struct sonde__hits {
    uint64_t count, open;        /* samples; of these, those with something open */
    uint64_t stands_ns, open_ns, cpu_ns;
    uint64_t rests, rest_ns;     /* samples of threads that ended, in none of the others; their CPU time */
    sonde__squares open_squares, unsure_squares;
};
void sonde__hits_add(struct sonde__hits *sum, const struct sonde__hits *more);

struct sonde__gathered_hit {
    uint32_t pair, node;
    struct sonde__hits hits;
};
struct sonde__gathered { /* ready when zeroed */
    SONDE_VECTOR(struct sonde__pair) pairs;
    SONDE_VECTOR(struct sonde__gathered_hit) hits;
    struct sonde_map by_pair, by_hit;
    uint32_t *joined; /* [pair]: index in the pools, once made */
};
int sonde__gathered_pair(struct sonde__gathered *g, struct sonde__pair pair, uint32_t *index); /* 0 or SONDE_ENOMEM */
int sonde__gathered_add(struct sonde__gathered *g, uint32_t pair, const sonde__gap_samples *samples);
void sonde__gathered_fini(struct sonde__gathered *g);

/* ---- pools ----------------------------------------------------------------------------------------- */

struct sonde__pool {
    uint32_t first, count; /* of shares */
    double samples;        /* that the shares rest on; of unlike ones as many as tell as much */
    double hits;           /* all samples in its gaps, */
    double stands_ns;      /* and the time that they stand for */
};
struct sonde__pool_share {
    uint32_t node;
    double part;
}; /* node of the tree; parts add up to 1 */

struct sonde__pools {      /* ready when zeroed */
    SONDE_VECTOR(struct sonde__pair) pairs;     /* in order */
    uint32_t *of;                               /* [pair]: number of its pool plus one; 0: no samples tell */
    uint32_t *below;                            /* [node of the tree]: the same of pairs below it that have few samples */
    SONDE_VECTOR(struct sonde__pool) pools;
    SONDE_VECTOR(struct sonde__pool_share) shares;
};
#define SONDE__POOL_LEAST 5 /* samples that a pool needs */

/* From what was gathered (pairs without samples get their pools, too); sets `joined` of each. The result does
 * not depend on their order. `code` (sonde_device_code, or NULL): what a CPU device did itself goes to no pool.
 * 0 or SONDE_ENOMEM; fini in either case. */
int sonde__pools_make(struct sonde__pools *pools, struct sonde__gathered *const *parts, uint32_t count,
                      const struct sonde_profile *profile, uint32_t process, const uint8_t *code);
void sonde__pools_fini(struct sonde__pools *pools);
/* Number of the pair's pool plus one; 0: none. Also of pairs that were not gathered: no sample is in them. */
uint32_t sonde__pools_find(const struct sonde__pools *pools, struct sonde__pair pair, const struct sonde_profile *profile,
                           uint32_t process);

#endif
