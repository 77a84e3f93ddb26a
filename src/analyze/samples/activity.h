/* activity.h - what a thread did, instant by instant, in one window of a trace.
 *
 * Inside calls the innermost one, and inside waits in functions of the C library, these. Outside of both
 * time off the CPU as the kernel told it, and what samples say (gaps.h). One place for all that asks, so
 * that they cannot disagree; docs/statistics.md, "Shares".
 *
 *     struct sonde__walk walk = {.user = sums, .each = add};
 *     rc = sonde__walk_thread(&walk, lane, from_ns, to_ns, &life);   // window after window
 *     sonde__walk_fini(&walk);
 *
 * Threads: a walk belongs to one.
 */
#ifndef SONDE_ANALYZE_SAMPLES_ACTIVITY_H
#define SONDE_ANALYZE_SAMPLES_ACTIVITY_H

#include "analyze/model/recorded.h"
#include "gaps.h"

/* A lane's thread, or the threads that followed each other on it, as far as is known. */
struct sonde__life {
    uint64_t from_ns, to_ns, period_ns;     /* period 0: not sampled */
    struct sonde__alive alive;              /* when what it did can be told from samples */
    const struct sonde_recorded *recorded;
};
struct sonde__life sonde__life_of(const struct sonde_process *p, uint32_t lane, const struct sonde__alive *alive,
                                  const struct sonde_recorded *recorded);

enum sonde__activity_kind {
    SONDE__IN_CALL,
    SONDE__IN_WAIT,
    SONDE__SAMPLED,    /* near a sample: the context is its */
    SONDE__UNREACHED,  /* on the CPU where no sample reaches: its gap's pool tells */
    SONDE__OFF_CPU,
    SONDE__UNKNOWN,    /* not sampled there */
    SONDE__NOT_ALIVE,
    SONDE__STARTING,   /* before the agent began */
    SONDE__NOT_RECORDED, /* recording was off */
};
struct sonde__activity {
    enum sonde__activity_kind kind;
    uint64_t from_ns, to_ns;                /* within the window */
    uint32_t node;                          /* of the process: in a call, in a wait, sampled */
    const struct sonde_row_call *row;       /* in a call or a wait: with its times, as far as it lies outside of calls */
};

struct sonde__open_stop {
    const struct sonde_row_call *row;
    bool slept;
};
struct sonde__walk { /* user and the two functions are the caller's; the rest is ready when zeroed */
    void *user;
    /* Instants of the window, in order, without a hole; 0, or an error, which stops. */
    int (*each)(void *user, const struct sonde__activity *activity);
    /* Of a sampled thread, before what lies in the gap: samples of the window in it. NULL: nobody wants to know. */
    int (*gap)(void *user, const struct sonde__gap *gap, const sonde__gap_samples *samples);
    SONDE_VECTOR(struct sonde__open_stop) open; /* scratch */
    sonde__pieces pieces;
    sonde__gap_samples samples;
};
int sonde__walk_thread(struct sonde__walk *walk, const struct sonde_trace_lane *lane, uint64_t from_ns, uint64_t to_ns,
                       const struct sonde__life *life);
void sonde__walk_fini(struct sonde__walk *walk);

#endif
