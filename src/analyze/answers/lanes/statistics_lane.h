/* statistics_lane.h - between statistics.c and statistics_lane.c: what one lane did in one window.
 */
#ifndef SONDE_ANALYZE_ANSWERS_LANES_STATISTICS_LANE_H
#define SONDE_ANALYZE_ANSWERS_LANES_STATISTICS_LANE_H

#include "analyze/samples/activity.h"
#include "statistics.h"

/* Time by calling context node of a process, of one part of its trace. Ready when zeroed. */
struct sonde__shares {
    struct sonde_map by_node;
    SONDE_VECTOR(struct sonde__node_share) nodes;
    double other[2][SONDE_SHARE_COUNT]; /* [thread][kind] */
    uint64_t no_times;
    SONDE_VECTOR(struct sonde__running) heap; /* scratch of queues */
    struct sonde__gathered gathered;            /* samples outside of calls */
    SONDE_VECTOR(struct sonde__around_share) around; /* time outside of calls around samples */
    struct sonde_map by_around;                 /* pair << 32 | node -> index */
    SONDE_VECTOR(double) left;                  /* [pair]: time outside of calls that no sample reaches */
    uint32_t pair;                              /* scratch of threads: of the gap that is looked at */
    struct sonde__walk walk;                    /* scratch of threads */
    int rc;                                     /* ENOMEM */
};
/* An operation's share of an instant, of k at once 1/k, in whole numbers: exact for up to 16, and the same wherever the trace is cut. */
__extension__ typedef unsigned __int128 sonde__share_units;
enum { SONDE__SHARE_UNITS = 720720 }; /* of a nanosecond: the least common multiple of 1 to 16 */

struct sonde__node_share {
    uint32_t node;
    sonde__share_units queue;
    double thread_ns;
};
struct sonde__around_share {
    uint32_t pair, node;
    double ns;
};
struct sonde__running {
    uint64_t end_ns;
    sonde__share_units before;
    uint32_t node;
};
/* Add what the lane did in [from_ns, to_ns). */
void sonde__queue_shares(struct sonde__shares *s, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns,
                         const struct sonde__life *life);
void sonde__thread_shares(struct sonde__shares *s, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns,
                          const struct sonde__life *life);
void sonde__shares_fini(struct sonde__shares *s);

#endif
