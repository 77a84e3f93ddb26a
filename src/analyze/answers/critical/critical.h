/* critical.h - the critical path of each process, and of a job through its ranks: which activities decided how long it ran.
 *
 * The path runs backwards from the last recorded event and goes, at each point,
 * to the activity that finished last of all that had to finish first; it covers
 * the process's time without a hole, so that its composition adds up to its
 * length. docs/critical-path.md has the dependencies, the definitions and their
 * sources.
 *
 * Threads: one at a time per result; any number of results of one measurement.
 */
#ifndef SONDE_ANALYZE_ANSWERS_CRITICAL_CRITICAL_H
#define SONDE_ANALYZE_ANSWERS_CRITICAL_CRITICAL_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/profile/profile.h"
#include "base/progress.h"
#include "base/vector.h"

/* What the path is made of; name in JSON, text in tables. Append only. */
#define SONDE_PATH_MAP(X)                                                                            \
    X(HOST, "host", "host code")               /* between two calls of a thread */                   \
    X(OFF, "off_cpu", "off the CPU")           /* there, and the thread slept; for what is unknown */ \
    X(API, "api", "API calls")                                                                       \
    X(LAUNCH, "launch", "launch delay")        /* submitted, nothing in its way, not yet started */  \
    X(GAP, "gap", "gap between operations")    /* what it waited for has ended, not yet started */   \
    X(KERNEL, "kernel", "kernels")                                                                   \
    X(COPY, "copy", "copies")                                                                        \
    X(SET, "set", "fills")                                                                           \
    X(ORDER, "order", "markers and barriers")                                                        \
    X(UNKNOWN, "unknown", "unknown")           /* no call, no predecessor: rows are missing */       \
    X(START, "start_up", "start-up")           /* host code before the first call of the process */  \
    X(PAUSED, "paused", "recording off")       /* host code, or calls that nobody recorded */        \
    X(MESSAGE, "message", "MPI")               /* in calls of MPI; of a job's path without what they waited for */

/* clang-format off */
enum sonde_path_category {
#define X(name, json, text) SONDE_PATH_##name,
    SONDE_PATH_MAP(X)
#undef X
    SONDE_PATH_COUNT
};
/* clang-format on */
const char *sonde_path_name(enum sonde_path_category category); /* "host" */
const char *sonde_path_text(enum sonde_path_category category); /* "host code" */

struct sonde_path_part { uint64_t ns, count; };

/* Everything of one name: a kernel, a kind of copy, an API function, a routine
 * of the host; of launch delays and the like there is one for all. */
struct sonde_path_thing {
    uint32_t category;      /* enum sonde_path_category */
    uint16_t op;            /* operations: enum sonde_op_kind */
    uint32_t node;          /* a tree node of it; 0 unknown */
    const char *name;       /* kernel, API function or routine; "" has none */
    const char *file;       /* routines: source file; without a name the module; "" unknown */
    uint64_t ns, count;     /* on the path */
    uint64_t delay_ns;      /* operations: launch delays and gaps before it, on the path */
    bool evaluated;         /* the next is known */
    uint64_t saving_ns;     /* how much shorter the run had been, were all of it twice as fast; at most ns / 2 */
    uint64_t inferred_ns; /* of ns: the routine is that which the stacks around it share */
    uint64_t behind_ns;     /* of ns: from there to the end of the run the path leads over a step that is inferred */
    double error_ns;        /* standard error of ns, where that rests on samples */
    uint32_t most_process;  /* of a job's path: the process with most of ns, */
    uint64_t most_ns;       /* and how much that is */
};

struct sonde_path_place {   /* one calling context (operation's leaf; host code: its innermost frame of the user's) and category */
    uint32_t node, category;
    uint64_t ns, count;
    uint64_t inferred_ns;   /* of ns: `node` is what the stacks around it share */
    uint64_t pooled_ns;     /* of ns: it is the place's part of gaps that no sample reaches (gaps.h) */
    double error_ns;        /* standard error of ns, where that rests on samples */
};

struct sonde_path_segment { /* one step, latest first; two that follow touch, as far as the clocks of their hosts do */
    uint64_t start_ns, end_ns; /* on the axis of its process */
    uint32_t lane;          /* thread or queue; 0 none */
    uint32_t node;          /* tree node; 0 unknown; host code that is pooled: what the stacks around it share */
    uint32_t category;
    uint32_t process;
};

struct sonde_path_stay {    /* how much of a job's path lies in a process */
    uint32_t process;
    uint64_t ns, count;     /* count: how often the path comes to it from another one, or ends in it */
    uint64_t parts_ns[SONDE_PATH_COUNT];
};

struct sonde_path {
    uint32_t process;          /* of a job: the one in which the path begins */
    uint64_t begin_ns, end_ns; /* process's start (or the beginning of what was looked at) to its last event; of a job on several hosts: by the clock of one */
    uint64_t tail_ns;          /* from the last event to the end of the process: not on the path */
    uint64_t operations, calls;  /* looked at */
    uint64_t no_times;           /* operations left out: without usable times */
    uint64_t waits_recorded, waits_inferred; /* steps of the path from a wait to what was awaited */
    uint64_t starts_inferred;    /* steps from a thread's first call to the thread taken to have made it */
    uint64_t wakes_inferred;     /* steps from a thread that slept to the one taken to have woken it */
    uint64_t callbacks_inferred; /* steps from a callback to the operation whose end is taken to have caused it */
    uint64_t messages;           /* steps from a call of MPI to the process for which it waited */
    uint64_t clock_bound_ns;     /* of a job on several hosts: their clocks are aligned to within that */
    uint32_t apart;              /* of a job: ranks left out, since their hosts' clocks cannot be aligned with the others' */
    uint64_t lost;               /* steps to nowhere */
    bool limited;                /* only the last part of the run was looked at: too many rows */
    bool dropped;                /* rows of the trace were dropped while recording */
    struct sonde_path_part parts[SONDE_PATH_COUNT];
    SONDE_VECTOR(struct sonde_path_thing) things;   /* by ns, most first */
    SONDE_VECTOR(struct sonde_path_place) places;   /* by ns, most first */
    SONDE_VECTOR(struct sonde_path_segment) segments; /* when asked for */
    SONDE_VECTOR(struct sonde_path_stay) stays;     /* of a job: by ns, most first */
};

struct sonde_critical_options {
    uint64_t max_rows;  /* operations and calls of a process kept in memory at once; 0: SONDE_CRITICAL_ROWS */
    uint32_t evaluate;  /* how many things are evaluated at twice their speed, those with most time first;
                         * of more than ten million rows at most three */
    bool segments;      /* keep the steps */
    bool alone;         /* of `process` only */
    uint32_t process;
    bool job;           /* also of the job */
};
/* About 32 bytes of memory each; 768 MB more while things are evaluated. */
#define SONDE_CRITICAL_ROWS 40000000u

struct sonde_critical { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_path) paths; /* processes with a trace, the longest path first */
    bool has_job;            /* processes wait for each other, through MPI or NCCL: */
    struct sonde_path job;   /* the path through all of them */
};

/* 0, or a negative error of reading; fini in either case. Rows are the unit of `progress` (may be NULL). */
int sonde_critical_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                           const struct sonde_critical_options *options, struct sonde_progress *progress,
                           struct sonde_critical *out);
void sonde_critical_fini(struct sonde_critical *critical);

#endif
