/* thread.h - what a thread did in a window: when it was active, and in which context. Private to blame.
 */
#ifndef SONDE_ANALYZE_ANSWERS_BLAME_THREAD_H
#define SONDE_ANALYZE_ANSWERS_BLAME_THREAD_H

#include "analyze/samples/gaps.h"
#include "analyze/trace/trace.h"
#include "blame.h"
#include "sweep.h"

struct sonde__segment {      /* the thread was active, in one context */
    uint64_t from, to;
    uint32_t node;           /* of the process */
    uint32_t after;          /* SAMPLED: the gathered pair of its gap; INFERRED: with `node` the gap's pair */
    uint8_t source;          /* enum sonde_blame_source; INFERRED: to be pooled, if there are samples to pool */
    uint8_t waits;           /* a WAIT row says that this call waited */
    uint64_t next_ns;        /* 0; else it was not active, but slept in a function with a name and called the runtime then */
};
typedef SONDE_VECTOR(struct sonde__segment) sonde__segments;

struct sonde__thread_rule {
    enum sonde_blame_rule rule;
    uint64_t period_ns;          /* between samples of a thread that runs all the time; 0 = not sampled */
    uint64_t from_ns, to_ns;     /* what to look at */
    uint64_t alive_from, alive_to; /* of the thread, as far as it is known */
    bool known;                  /* there is a call or a sample of it somewhere */
    const sonde__spans *idle;    /* in order: outside of these segments need not be told apart; NULL: everywhere */
};

struct sonde__thread_scratch {
    sonde__spans active;
    sonde__pieces pieces;
    sonde__gap_samples samples;
    sonde__segments sleeps;      /* of the lane: in functions with names, between its calls */
};
void sonde__thread_scratch_fini(struct sonde__thread_scratch *scratch);

/* Append the segments of `lane` in order, and gather its samples. 0 or SONDE_ENOMEM. */
int sonde__thread_segments(const struct sonde_trace_lane *lane, const struct sonde__thread_rule *rule,
                           struct sonde__thread_scratch *scratch, struct sonde__gathered *gathered, sonde__segments *out);

#endif
