/* clocks.h - clocks of several hosts, aligned by what happened on one before something on another: a message is not received before it is sent.
 *
 * Each such pair bounds the difference of two clocks from one side, messages back from the other. The difference and its drift are a line between both sets of
 * bounds, over time: Duda, Harrus, Haddad and Bernard, "Estimating global time in distributed systems" (ICDCS 1987), the convex hull method. Of all such lines the one
 * is taken that goes through the middle of what they reach at the first and at the last message; half of what they reach there is the bound, since lines are nowhere
 * further apart in between. Hosts are aligned by way of others where that tells their clocks better, or nothing else does; the two that are known best come first.
 *
 * Threads: one at a time per structure.
 */
#ifndef SONDE_ANALYZE_JOB_CLOCKS_H
#define SONDE_ANALYZE_JOB_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vector.h"

struct sonde__clock_pair;
struct sonde__clock {            /* of a host: a time of its own is at_ns + (time - at_ns) * (1 + drift) + shift_ns on its parent's */
    uint32_t parent;             /* 0: it is the one that others are told by, or is not aligned */
    bool known;
    int64_t shift_ns;
    double drift;
    uint64_t at_ns, last_ns;     /* first and last time of what aligns it */
    uint64_t root_ns;            /* what the clock that all are told by shows at at_ns, however many there are in between, */
    double root_drift;           /* and how it drifts away */
    uint64_t bound_ns;           /* right to within that in between, if clocks drift evenly; with those of its parents */
    double unsure;               /* outside so much more for each nanosecond away from there */
};
struct sonde__clocks {           /* ready when zeroed */
    SONDE_VECTOR(struct sonde__clock) hosts; /* [host] */
    SONDE_VECTOR(struct sonde__clock_pair *) pairs;
    struct sonde_map by_hosts;
    struct sonde_intern names;   /* of hosts */
    uint32_t root;               /* the host that others are told by; 0: none is */
};

/* The host of a process directory's name "HOST-PID-N", from 1. 0: out of memory. */
uint32_t sonde__clocks_host(struct sonde__clocks *c, const char *process_name);

/* What `from` did at from_ns came before what `to` did at to_ns: each by its own clock; hosts count from 1. 0 or SONDE_ENOMEM. */
int sonde__clocks_before(struct sonde__clocks *c, uint32_t from, uint64_t from_ns, uint32_t to, uint64_t to_ns);
/* Once all is told. 0 or SONDE_ENOMEM. */
int sonde__clocks_align(struct sonde__clocks *c);
/* Do the bounds of two hosts leave no line between them, over the whole time? Then one of the clocks was set, or jumped, meanwhile. The first such two, by name
 * (until fini). */
bool sonde__clocks_contradict(const struct sonde__clocks *c, const char **one, const char **other);
/* The host whose clock is taken for all that agree with it: the one that others are told by, else the first. */
uint32_t sonde__clocks_reference(const struct sonde__clocks *c);
/* May times of the two be compared? */
bool sonde__clocks_agree(const struct sonde__clocks *c, uint32_t a, uint32_t b);
/* A time of one host by the other's clock; they agree. */
uint64_t sonde__clocks_move(const struct sonde__clocks *c, uint32_t from, uint64_t ns, uint32_t to);
/* By how much more than the bound a time may be wrong, since it lies before or after all that aligns the host with the reference. */
uint64_t sonde__clocks_unsure(const struct sonde__clocks *c, uint32_t host, uint64_t ns);
/* What times of any two of those that are aligned are right to within, between the first and the last of what aligns them; 0: none is. */
uint64_t sonde__clocks_bound(const struct sonde__clocks *c);
void sonde__clocks_fini(struct sonde__clocks *c);

#endif
