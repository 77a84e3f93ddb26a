/* needs.h - which thread or kernel of a rank could not go on before others had come so far: calls of MPI, and collectives of NCCL.
 *
 * docs/critical-path.md, "Through all ranks", says who needs whom. All times are by one clock, which is that of one of the hosts; of hosts whose
 * clocks cannot be aligned with it (clocks.h) nothing is told.
 */
#ifndef SONDE_ANALYZE_JOB_NEEDS_H
#define SONDE_ANALYZE_JOB_NEEDS_H

#include "analyze/profile/profile.h"
#include "clocks.h"

/* Others needed that a thread entered a call, or that a kernel had begun. */
struct sonde_need_point {
    uint32_t process, lane;
    uint64_t ns;
    uint64_t end_ns;               /* 0: a call; else of the kernel, whose queue is any of the process's */
};
struct sonde_need_meeting {        /* it takes place when all of its points are reached */
    size_t first, count, last;     /* of points; the last in time */
};
struct sonde_need {                /* a call could not be left, or a kernel end, before a meeting */
    uint32_t process, lane;
    uint64_t enter_ns, until_ns;   /* of the call, or the kernel; not after its end, before its beginning where it did not wait */
    uint64_t end_ns;               /* as in a point */
    size_t meeting;
};
struct sonde_needs {               /* ready when zeroed; in no order */
    SONDE_VECTOR(struct sonde_need_point) points;
    SONDE_VECTOR(struct sonde_need_meeting) meetings;
    SONDE_VECTOR(struct sonde_need) list;
    struct sonde__clocks clocks;
    SONDE_VECTOR(uint32_t) hosts;  /* [process of the measurement] */
};

/* Threads: one at a time per result. 0 or SONDE_ENOMEM; fini in both cases. */
int sonde_needs_find(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_needs *out);
void sonde_needs_fini(struct sonde_needs *needs);

/* Can a process's times be told by the clock of the needs? */
bool sonde_needs_reach(const struct sonde_needs *needs, uint32_t process);
/* A time on the axis of such a process by that clock, and back: the same where it is the process's own. */
uint64_t sonde_needs_time(const struct sonde_needs *needs, uint32_t process, uint64_t ns);
uint64_t sonde_needs_own_time(const struct sonde_needs *needs, uint32_t process, uint64_t ns);

/* ---- needs.c <-> collectives.c ---- */

/* A new meeting; what follows is about it. */
int sonde__needs_meet(struct sonde_needs *needs);
int sonde__needs_point(struct sonde_needs *needs, struct sonde_need_point point);
/* That one could not go on before it; `until_ns` is set. */
int sonde__needs_add(struct sonde_needs *needs, struct sonde_need need, uint64_t leave_ns);

#endif
