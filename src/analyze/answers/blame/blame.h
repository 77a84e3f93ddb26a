/* blame.h - GPU idleness blame: which CPU code ran while no stream of a device was busy, in a run or a range of it.
 *
 * The definition is that of Zhou et al., "Measurement and analysis of
 * GPU-accelerated applications with HPCToolkit", section 5.1, with intervals
 * instead of pixels. docs/blame.md says how each number is computed.
 *
 * Threads: compute in one (it starts others); read from any.
 */
#ifndef SONDE_ANALYZE_ANSWERS_BLAME_BLAME_H
#define SONDE_ANALYZE_ANSWERS_BLAME_BLAME_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/metrics/estimate.h"
#include "analyze/profile/profile.h"
#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

enum sonde_blame_source {
    /* how the context of an active thread is known */
    SONDE_BLAME_EXACT,     /* inside an API call: its stack */
    SONDE_BLAME_SAMPLED,   /* a sample is in force */
    SONDE_BLAME_POOLED,    /* by the shares that the samples of such gaps say (gaps.h) */
    SONDE_BLAME_INFERRED,  /* what the stacks of the calls before and after share */
    SONDE_BLAME_UNCOVERED, /* not at all */
    SONDE_BLAME_SOURCES
};

enum sonde_blame_rule {
    /* when a thread counts as active outside of API calls */
    SONDE_BLAME_BY_CALLS,    /* not sampled: between its first and its last call */
    SONDE_BLAME_BY_SAMPLES,  /* within a period of a sample */
    SONDE_BLAME_BY_SWITCHES, /* while it did not sleep */
    SONDE_BLAME_RULES
};

struct sonde_blame_entry {   /* exclusive blame of one calling context */
    uint32_t node;           /* of the profile's tree; 0: uncovered */
    double waiting_ns;       /* in a call that waits for the device */
    double working_ns;       /* in anything else */
    double source_ns[SONDE_BLAME_SOURCES]; /* the same sum by source */
    double whole_ns, whole_inferred_ns; /* idle time in which a thread was in it, whatever others did, and of that inferred;
                                             of several threads at once each counts */
};

struct sonde_blame_scope {   /* the idle time of one device, or of all together */
    uint32_t process;        /* index; SONDE_BLAME_ALL: sums over the processes */
    uint32_t device;         /* id in the process; SONDE_BLAME_ALL: no stream of any device busy */
    double range_ns;         /* of the process, as far as it lies in the range, without the pauses of recording */
    double paused_ns;
    double idle_ns;
    uint64_t intervals;      /* maximal ones, within the range */
    double longest_ns;
    double before_ns;        /* of the idle time: before the first API call, when nothing was recorded; */
    double before_cpu_ns;    /* the process's CPU time then, 0 unknown, as where only a part of it lies in the range */
    double nobody_ns;        /* of the idle time: no thread was active */
    double waiting_ns, working_ns; /* the rest */
    double source_ns[SONDE_BLAME_SOURCES]; /* the same rest by source */
    SONDE_VECTOR(struct sonde_blame_entry) entries; /* by node; their sum is the rest */
    struct sonde_estimate estimate, whole_estimate; /* of what is sampled and pooled: in the entries' blame, in their whole_ns */
};
#define SONDE_BLAME_ALL UINT32_MAX

struct sonde_blame {          /* ready when zeroed */
    bool traced;              /* at least one process has a trace; without one there is nothing else here */
    uint32_t rules[SONDE_BLAME_RULES]; /* processes by rule */
    uint64_t untimed;         /* operations without usable times, of the whole run: in no busy time */
    /* [0] is that of all processes, when there is any; then each process: all its devices, then each of several. */
    SONDE_VECTOR(struct sonde_blame_scope) scopes;
};

struct sonde_blame_basis;

struct sonde_blame_options { /* zeroed: defaults, the whole run */
    uint64_t from_ns, to_ns;  /* since the run began (sonde_run_range); to_ns 0: to its end. From 0 to its end is all of it */
    struct sonde_blame_basis *basis; /* of this measurement and profile, or NULL */
    uint32_t threads;         /* 0 = sonde_parallel_threads() */
    uint64_t window_rows;     /* as in struct sonde_trace_options */
    struct sonde_progress *progress;
};

/* 0, or SONDE_ENOMEM; fini in either case. Processes without trace or timed operations, or not in the range, have no scope. */
int sonde_blame_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                        const struct sonde_blame_options *options, struct sonde_blame *out);
void sonde_blame_fini(struct sonde_blame *blame);

/* What the blame of every range rests on, kept from one to the next: the pools of the whole run's samples above all. The first
 * that is computed with it reads all of the trace; later ones the windows of their range. Any number of threads at once may
 * compute with one. `m` and `profile` must live as long. NULL: out of memory. */
struct sonde_blame_basis *sonde_blame_basis_create(const struct sonde_measurement *m, const struct sonde_profile *profile);
void sonde_blame_basis_destroy(struct sonde_blame_basis *basis);

/* Call paths cut at a depth (sonde_profile_cut): what was of those below is of the frame there, in every scope. 0: as they
 * are. 0, or SONDE_ENOMEM. */
int sonde_blame_cut(struct sonde_blame *blame, const struct sonde_profile *profile, uint32_t depth);

/* Inclusive blame of every node of the profile's tree. */
struct sonde_blame_share { double waiting_ns, working_ns; };
/* [profile->nodes.count], caller frees; NULL when out of memory. */
struct sonde_blame_share *sonde_blame_tree(const struct sonde_profile *profile, const struct sonde_blame_scope *scope);

/* Exclusive blame by routine: an API call by its name, a function wherever it was called from. */
struct sonde_blame_routine {
    uint32_t node;     /* a context of it at the place with the most */
    uint32_t places;   /* contexts of the user's code (innermost frame and its callers) that have some */
    double most_ns;    /* of that place */
    double waiting_ns, working_ns, source_ns[SONDE_BLAME_SOURCES];
    double error_ns; /* standard error of what is sampled or pooled; 0 where nothing is */
};
/* Array in *out (caller frees), most first; length returned, or SONDE_ENOMEM. What is uncovered is in none. */
long sonde_blame_routines(const struct sonde_profile *profile, const struct sonde_blame_scope *scope,
                          struct sonde_blame_routine **out);

/* The scope of a device as a report lists it (that of all devices, where the process has one); NULL: none. */
const struct sonde_blame_scope *sonde_blame_find(const struct sonde_blame *blame, uint32_t process, uint32_t device);

const char *sonde_blame_source_name(enum sonde_blame_source source);

#endif
