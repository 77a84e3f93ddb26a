/* rules.h - what the files of the advice share: findings, and one process's trace in memory.
 *
 * A rule is one function and one line in the table of advice.c.
 */
#ifndef SONDE_ANALYZE_ANSWERS_ADVICE_RULES_H
#define SONDE_ANALYZE_ANSWERS_ADVICE_RULES_H

#include "advice.h"
#include "analyze/answers/values/values.h"
#include "analyze/model/api.h"
#include "analyze/profile/bandwidth.h"
#include "analyze/profile/object_model.h"
#include "analyze/profile/stalls.h"
#include "base/kinds.h"
#include "base/map.h"

#include <sonde/backend.h> /* SONDE_LANE_OUT_OF_ORDER */

/* ---- findings (advice.c) -------------------------------------------------- */

enum sonde__rule {
    RULE_LAUNCH_BOUND,
    RULE_NEEDLESS_WAIT,
    RULE_SYNC_COPIES,
    RULE_PAGEABLE,
    RULE_SMALL_COPIES,
    RULE_SERIALIZED,
    RULE_SMALL_GRID,
    RULE_COMPILES,
    RULE_ALLOCATES,
    RULE_REDUNDANT,
    RULE_NEEDLESS_BYTES,
    RULE_DUPLICATE,
    RULE_RESENT,
    RULE_BY_HOST,
    RULE_MOVED,
    RULE_REREAD,
    RULE_STALLED,
    RULE_RING,
    RULE_COUNT,
};

struct sonde__finding { /* what a rule found at one place */
    uint32_t rule, process, device, node, leaf; /* leaf: one tree node of what was found */
    uint64_t count, bytes, looked_at_ns, saving_ns;
    double sum;         /* the rule's own: its sentence knows what */
    uint32_t units;     /* small_grid: multiprocessors of the device; no_neighbour: the device that got it, from 1 */
    const char *type;   /* needless_bytes: the narrower type by which most bytes need not be; NULL: by none. stalled_kernels: for what warps wait */
};

typedef SONDE_VECTOR(struct sonde__finding) sonde__findings;

struct sonde__find {
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde_object_model objects;
    struct sonde_values values;
    struct sonde_stalls stalls;
    struct sonde_bandwidths bandwidths; /* of kernels, where counters were recorded */
    struct sonde_intern texts; /* of findings */
    sonde__findings found;
    struct sonde_map places;   /* hash of (rule, process, device, node) -> index */
    struct sonde_map callers;  /* leaf -> the user's node */
};

/* Does this operation's kernel keep the device's memory busy, or a pipe of its multiprocessors, by counters? Then more warps, or kernels beside it, save nothing. */
bool sonde__find_is_bound(const struct sonde__find *f, uint32_t process, uint32_t device, uint32_t node);
/* Add to what the rule found at the place of `leaf` (a tree node). 0 or SONDE_ENOMEM. */
int sonde__find_add(struct sonde__find *f, const struct sonde__finding *more);

/* ---- the trace of one process (trace.c) ------------------------------ */

struct sonde__op {
    uint64_t start, end, enter, bytes, correlation;
    uint64_t ready;         /* it could have started: submitted, its queue free, what it waits for finished */
    uint64_t idle_before;   /* the device had been idle for so long when it started; 0 when it was busy */
    uint32_t node, work, lane, device;
    uint32_t call;          /* index of its call; UINT32_MAX none */
    uint16_t kind, group;
};
struct sonde__call {
    uint64_t enter, leave, correlation;
    uint32_t node, thread;  /* thread: its lane */
    uint32_t lane;          /* queue lane of its operation, or the one it waited for; 0 none known */
    uint32_t op;            /* index of its first operation; UINT32_MAX none, or none with times */
    uint8_t class;          /* enum sonde_api_class */
    bool blocks;            /* it returned only when its own operation had finished */
    bool waits;             /* it returned only when earlier work had finished */
};
struct sonde__span { uint64_t start, end, before; }; /* before: sum of the lengths of earlier ones */

enum {
    TO_DEVICE,
    FROM_DEVICE,
    DIRECTIONS,
};

/* A long trace is looked at window after window; what one of them has to know of those before it, or of all. */
struct sonde__windows {
    SONDE_VECTOR(uint64_t) cuts;    /* first times of the windows after the first */
    uint64_t rows_most;             /* of each table, in a window */
    uint64_t *device_end, *lane_end; /* [device], [lane]: last end of an operation, so far */
    double (*best)[DIRECTIONS + 1]; /* [device]: bytes per ns that pinned copies reached; where there is one window, 0 */
};

struct sonde__trace {
    const struct sonde_process *p;
    uint32_t index;
    uint64_t from, to;      /* operations that start, and waits of calls that enter, in [from, to) */
    struct sonde__windows *windows;
    /* clang-format off */
    struct sonde__op   *ops;   size_t op_count;     /* with times; by device, then start */
    struct sonde__call *calls; size_t call_count;   /* by thread, then entry */
    struct sonde__span *kernels; size_t kernel_count; /* when kernels ran, of the device under work */
    /* clang-format on */
    struct sonde__number {
        uint64_t correlation;
        uint32_t op;
    } *by_number; /* [op_count], by correlation */
    uint64_t rows, rows_left_out;
};

/* 0 or a negative error; fini in either case. `windows` in the order of time: 0 to cuts.count. */
int sonde__trace_plan(const struct sonde_process *p, uint64_t rows_most, struct sonde__windows *windows);
void sonde__trace_plan_fini(struct sonde__windows *windows);
int sonde__trace_load(const struct sonde_measurement *m, uint32_t process, struct sonde__windows *windows, size_t window,
                      struct sonde__trace *t);
void sonde__trace_fini(struct sonde__trace *t);
/* Best rates of large copies between pinned memory and a device; `best` may know of some (trace_rules.c). */
void sonde__advice_pinned_rate(const struct sonde_process *p, const struct sonde__op *o, double best[DIRECTIONS + 1]);
/* The operation of a call; NULL none. */
static inline const struct sonde__op *sonde__trace_op_of(const struct sonde__trace *t, const struct sonde__call *c)
{
    return c->op != UINT32_MAX ? &t->ops[c->op] : NULL;
}
/* When kernels ran on the device of ops [first, last), for sonde__trace_kernel_ns. */
int sonde__trace_kernels(struct sonde__trace *t, size_t first, size_t last);
/* How long kernels ran within [start, end). */
uint64_t sonde__trace_kernel_ns(const struct sonde__trace *t, uint64_t start, uint64_t end);

/* ---- rules ------------------------------------------------------------------- */

/* Of a process's whole trace (resent.c, by_host.c, ring.c). 0 or a negative error of reading. */
int sonde__advice_resent(struct sonde__find *f, uint32_t process);
int sonde__advice_by_host(struct sonde__find *f, uint32_t process);
int sonde__advice_ring(struct sonde__find *f, uint32_t process);
/* Adds the launches of a calling context (a node of its process) on a device, and their time (elsewhere.c). */
void sonde__find_launches(const struct sonde_process *p, uint32_t node, uint32_t device, uint64_t *count, uint64_t *ns);
/* Of what record --comm counted (elsewhere.c). 0 or SONDE_ENOMEM. */
int sonde__advice_moved(struct sonde__find *f, uint32_t process);
int sonde__advice_reread(struct sonde__find *f, uint32_t process);

/* Of what record --pc sampled (stalled.c). 0 or SONDE_ENOMEM. */
int sonde__advice_stalled(struct sonde__find *f, uint32_t process);

/* Of the profile, and of what record --values found (profile_rules.c). 0 or SONDE_ENOMEM. */
int sonde__advice_compiles(struct sonde__find *f, uint32_t process);
int sonde__advice_allocates(struct sonde__find *f, uint32_t process);
int sonde__advice_redundant(struct sonde__find *f, uint32_t process);
int sonde__advice_duplicates(struct sonde__find *f, uint32_t process);
int sonde__advice_needless_bytes(struct sonde__find *f, uint32_t process);

/* Of one device's operations [first, last) of a trace, and of the calls of a trace (trace_rules.c). 0 or SONDE_ENOMEM. */
int sonde__advice_of_device(struct sonde__find *f, struct sonde__trace *t, size_t first, size_t last);
int sonde__advice_of_calls(struct sonde__find *f, const struct sonde__trace *t);

#endif
