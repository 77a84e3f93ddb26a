/* statistics_lane.h - between statistics.c and statistics_lane.c: what one lane did in one window.
 */
#ifndef SONDE_ANALYZE_STATISTICS_LANE_H
#define SONDE_ANALYZE_STATISTICS_LANE_H

#include "recorded.h"
#include "statistics.h"
#include "timeline.h"

/* Time by calling context node of a process, of one part of its trace. Ready when zeroed. */
struct sonde__shares {
    struct sonde_map by_node;
    SONDE_VECTOR(struct sonde__node_share) nodes;
    double   other[2][SONDE_SHARE_COUNT]; /* [thread][kind] */
    uint64_t no_times;
    SONDE_VECTOR(struct sonde__running) heap; /* scratch of queues */
    SONDE_VECTOR(struct sonde__open_call) open; /* scratch of threads */
    int rc;                                     /* ENOMEM */
};
struct sonde__node_share { uint32_t node; double queue_ns, thread_ns, sampled_ns; };
struct sonde__running { uint64_t end_ns; double before; uint32_t node; };
struct sonde__open_call { uint64_t leave_ns; uint32_t node; };

struct sonde__lane_life {
    uint64_t from_ns, to_ns, period_ns; /* of a thread; period 0: not sampled */
    const struct sonde_recorded *recorded;
};

/* Add what the lane did in [from_ns, to_ns). */
void sonde__queue_shares(struct sonde__shares *s, const struct sonde_time_lane *lane, uint64_t from_ns, uint64_t to_ns,
                         const struct sonde__lane_life *life);
void sonde__thread_shares(struct sonde__shares *s, const struct sonde_time_lane *lane, uint64_t from_ns, uint64_t to_ns,
                          const struct sonde__lane_life *life);
void sonde__shares_fini(struct sonde__shares *s);

#endif
