/* ranks.h - the processes of a parallel job, rank by rank: what each did, how evenly, and which of them differs from the others, and where.
 * docs/ranks.md defines each number.
 *
 * A rank is all processes that its launcher gave one number (a process and its children), a process without a number is in none.
 */
#ifndef SONDE_ANALYZE_JOB_RANKS_H
#define SONDE_ANALYZE_JOB_RANKS_H

#include "analyze/profile/profile.h"

/* What is known of each rank: X(ID, name in JSON, title, kind). TIME in ns. */
#define SONDE_RANK_METRIC_MAP(X)                               \
    X(WALL, "wall_ns", "recorded", TIME)                       \
    X(BUSY, "busy_ns", "device busy", TIME)                    \
    X(KERNELS, "kernel_ns", "kernels", TIME)                   \
    X(COPIES, "copy_ns", "copies", TIME)                       \
    X(OPERATIONS, "operations", "operations", COUNT)           \
    X(BYTES, "bytes", "bytes copied", BYTES)                   \
    X(API, "api_ns", "in GPU calls", TIME)                     \
    X(WAITING, "waiting_ns", "of it waiting", TIME)            \
    X(CPU, "cpu_ns", "CPU time", TIME)

/* clang-format off */
enum sonde_rank_metric {
#define X(id, ...) SONDE_RANK_##id,
    SONDE_RANK_METRIC_MAP(X)
#undef X
    SONDE_RANK_METRICS
};
/* clang-format on */

struct sonde_rank_of_job {
    uint32_t rank;
    uint32_t process, processes; /* the first of its processes, in the measurement's order; how many */
    uint64_t begin_ns;           /* since the first process of the job began to be recorded, by the hosts' wall clocks */
    uint64_t of[SONDE_RANK_METRICS]; /* sums over its processes; WALL: the longest of them */
    uint32_t group;              /* index below */
    bool twice;                  /* processes on different hosts, or of different jobs, say that they are this rank */
    const char *job, *other_job; /* the launcher's names of the latter; other_job NULL: there is but one job, or none is known */
};

/* Over the ranks. */
struct sonde_rank_spread {
    double least, mean, median, most;
    size_t least_rank, most_rank; /* indices of ranks */
    double imbalance;             /* most / mean - 1; 0 where the mean is 0 */
};

enum sonde_rank_kind {
    SONDE_RANK_DEVICE, /* device time of operations in a calling context */
    SONDE_RANK_CALL,   /* host time in an API call in its context */
    SONDE_RANK_CODE,   /* CPU time of a routine, by samples */
};

/* What else is known of a context, rank by rank: X(ID, name in JSON, kind). */
#define SONDE_RANK_FIGURE_MAP(X) \
    X(COUNT, "count", COUNT)     \
    X(MOVED, "bytes", BYTES)     \
    X(DELAY, "delay_ns", TIME)   \
    X(WAITING, "waiting_ns", TIME)

/* clang-format off */
enum sonde_rank_figure {
#define X(id, ...) SONDE_RANK_FIGURE_##id,
    SONDE_RANK_FIGURE_MAP(X)
#undef X
    SONDE_RANK_FIGURES
};
/* clang-format on */

/* The same code in all ranks. */
struct sonde_rank_context {
    uint32_t node;         /* of the profile's tree */
    enum sonde_rank_kind kind;
    size_t ranks;          /* that have it */
    struct sonde_rank_spread spread; /* of its time; ranks without it count as 0 */
    struct sonde_rank_spread of[SONDE_RANK_FIGURES]; /* likewise; of operations, calls, or samples. DELAY: of operations, between their calls and their begins; WAITING: of calls, in those that are there to wait */
    double lost_ns;        /* most - mean: what all others may wait for the slowest */
};

/* A rank that is far above the others. */
struct sonde_straggler {
    size_t rank;           /* index */
    enum sonde_rank_metric metric;
    double value, median, excess;
    size_t context;        /* index above: where most of it comes from; SIZE_MAX: none is known */
    double context_excess;
};

struct sonde_rank_group { /* ranks that spend their device time alike */
    size_t first, count;   /* the first of them */
};

struct sonde_job {
    SONDE_VECTOR(struct sonde_rank_of_job) ranks; /* by number */
    struct sonde_rank_spread of[SONDE_RANK_METRICS];
    SONDE_VECTOR(struct sonde_rank_context) contexts; /* most lost_ns first */
    SONDE_VECTOR(struct sonde_straggler) stragglers;  /* most excess first */
    SONDE_VECTOR(struct sonde_rank_group) groups;     /* the largest first */
    SONDE_VECTOR(uint32_t) missing;  /* ranks that the launcher counted, and of which nothing is there */
    uint32_t size, other_size;       /* as the launcher said; other_size: another process says otherwise; 0 unknown */
    uint32_t programs;               /* different executables among the ranks, by their paths */
    uint32_t builds;                 /* of one of these, by their build ids; 0: each has one, or none is known */
    size_t other_build;              /* index of the first rank that ran another build than one before it */
    uint32_t hosts;
    uint32_t outside;                /* processes without a rank */
};

/* Ready when zeroed. Without ranks all is empty. 0, or SONDE_ENOMEM; fini in both cases. */
int sonde_job_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, struct sonde_job *out);
void sonde_job_fini(struct sonde_job *job);

/* The index of the rank that a process is of; SIZE_MAX: of none. */
size_t sonde_job_find(const struct sonde_job *job, const struct sonde_process *p);
/* Of a value of each rank, of one at least; sorts them. */
struct sonde_rank_spread sonde_rank_spread_of(double *values, size_t count);

#endif
