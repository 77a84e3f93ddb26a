/* profile.h - all calling context trees of a measurement merged into one, with metrics.
 *
 * Frames are the same when they are the same code: a native frame by module,
 * function, file and line (module and offset where no function is known), a
 * Python frame by file, name and line, an API call and an operation by name.
 * A frame with inlined functions becomes one node per function.
 *
 * Threads: build in one thread; read from any.
 */
#ifndef SONDE_ANALYZE_PROFILE_PROFILE_H
#define SONDE_ANALYZE_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "format/reader.h"
#include "stat.h"

struct sonde_metrics {
    uint64_t operations; /* enqueued commands */
    uint64_t timed;      /* of those, with device times */
    uint64_t failed;
    uint64_t device_ns;
    uint64_t bytes;
    uint64_t api_calls;
    uint64_t api_ns;     /* host time inside API calls */
    uint64_t sync_ns;    /* of it, in calls that are there to wait (SONDE_API_WAITS); sync.h has more */
    uint64_t queue_ns;   /* from the enqueue's API call to the start on the device */
    uint64_t samples;    /* of the CPU side */
    uint64_t cpu_ns;     /* CPU time that they stand for */
    uint64_t sleeps;     /* waits in functions of the C library (SLEEP rows), outside of API calls */
    uint64_t slept_ns;
};

enum sonde_cct_origin {
    /* whose code a frame is; decides what "called from" shows */
    SONDE_ORIGIN_USER,
    SONDE_ORIGIN_LIBRARY, /* installed with the system or with Python */
    SONDE_ORIGIN_RUNTIME, /* the GPU runtime, the C library, Python's interpreter, Sonde */
};

struct sonde_cct_node {
    uint32_t parent, first_child, next_sibling; /* indices; 0 is the root and "none" */
    uint32_t line;                              /* 0 unknown */
    uint8_t kind;                               /* enum sonde_frame_kind; 0 the root */
    uint8_t origin;                             /* enum sonde_cct_origin */
    uint16_t op;                                /* OP: enum sonde_op_kind */
    const char *name;                           /* function, API call, kernel or range; "" unknown */
    const char *file;                           /* source file; "" unknown */
    const char *module;                         /* path of the module; "" none */
    uint64_t offset;                            /* native without a function: in the module; LINK: tree node of the context it leads to */
    struct sonde_metrics self, total;           /* exclusive, inclusive */
};

struct sonde_group {       /* operations of one kind and name, or calls of one API function */
    uint16_t op;           /* enum sonde_op_kind; 0 for API calls */
    const char *name;
    struct sonde_stat stat;
    uint32_t work_process, work;    /* last launch configuration: process index, work id; 0 none */
    SONDE_VECTOR(uint32_t) leaves;  /* tree nodes */
};

struct sonde_profile {
    SONDE_VECTOR(struct sonde_cct_node) nodes; /* [0] is the root; a parent comes before its children */
    SONDE_VECTOR(struct sonde_group) ops;      /* by device time, most first */
    SONDE_VECTOR(struct sonde_group) apis;     /* by host time, most first */
    uint64_t operations[SONDE_OP_KIND_COUNT];  /* counts by kind */
    bool sampled;                              /* CPU time is known: at least one process was sampled */
    SONDE_VECTOR(struct sonde_row_note) symbol_notes; /* files whose symbols could not be read now, and why */
    SONDE_VECTOR(const char *) symbols_partly; /* paths of files that have symbols, but not for all frames */
    uint64_t unknown_nodes;                    /* accumulators whose calling context was lost with a damaged chunk */
    struct sonde_arena arena;                  /* private from here on */
    struct sonde_intern strings;
    struct sonde_map children, apis_by_name, ops_by_name;
    struct sonde_map *located;                 /* [process]: its node id -> tree node */
    uint32_t process_count;
};

/* Merge every process of `m`; in a team (base/team.h) each adds a part of them, and all have the same tree. Frames without
 * stored symbols are resolved from the files at hand. 0, or SONDE_ENOMEM. `m` must outlive the profile. */
int sonde_profile_build(const struct sonde_measurement *m, struct sonde_profile **out,
                        struct sonde_diag *diag);
void sonde_profile_destroy(struct sonde_profile *profile);

/* The calling context a user recognizes: from `leaf` outwards, up to `max`
 * nodes of the user's own code (of libraries when there is none, of anything
 * but the runtime after that). Returns how many. */
uint32_t sonde_profile_callers(const struct sonde_profile *profile, uint32_t leaf,
                               uint32_t *nodes, uint32_t max);

/* What stands between a caller that sonde_profile_callers gave and the next: an
 * arrow, or, behind a link, words: who launches the work did not call the code that prepared it. */
const char *sonde_profile_called_by(const struct sonde_profile *profile, uint32_t node);

/* Where a user sees `node`: the first of its callers, as above; `node` itself when there is none. */
uint32_t sonde_profile_place(const struct sonde_profile *profile, uint32_t node);

/* The frame whose routine has the time that is exclusive to `leaf`: `leaf` itself, but for frames of
 * Python's interpreter, what it calls of the C library, and code of a runtime without a name the
 * nearest frame above that is none of these, or, without one, that has a name
 * ("Routines" in docs/profile.md). */
uint32_t sonde_profile_routine(const struct sonde_profile *profile, uint32_t leaf);

/* Call paths cut at a depth: cut[node] is the frame at `depth` of the path to each node of the tree (1: the outermost;
 * 0: the innermost), or the innermost where the path is shorter. Frames of the runtime are levels only where time counts
 * for them (timed[node]), and those whose time counts for another routine are none. 0 or SONDE_ENOMEM. */
int sonde_profile_cut(const struct sonde_profile *profile, uint32_t depth, const bool *timed, uint32_t *cut);

/* Is it a function of the C library that a thread waited in? */
bool sonde_is_wait(const struct sonde_profile *profile, uint32_t node);

/* Contexts of a group that differ in their `depth` (at most 8) nearest frames
 * as sonde_profile_callers gives them, by time, most first; `leaf` is one of each. */
struct sonde_caller {
    uint32_t leaf;
    struct sonde_metrics metrics;
};
/* Array in *out (caller frees), length returned; negative error. */
long sonde_profile_group_callers(const struct sonde_profile *profile, const struct sonde_group *group,
                                 uint32_t depth, struct sonde_caller **out);

/* Whose code is (function, module, file)? "" is unknown. Exposed for tests. */
enum sonde_cct_origin sonde_origin_of(const char *function, const char *module, const char *file);

/* Tree node of a process's calling context node (of an operation in the trace,
 * or of a data object's allocation); 0 when unknown. */
uint32_t sonde_profile_locate(const struct sonde_profile *profile, uint32_t process, uint32_t node);

/* What a row of a process's profile adds to its tree node's own metrics. */
struct sonde_metrics sonde_profile_row_metrics(const struct sonde_process *p, const struct sonde_row_profile *row, const struct sonde_cct_node *node);

void sonde_metrics_add(struct sonde_metrics *sum, const struct sonde_metrics *more);

#endif
