/* run.h - between basis.c, which knows what all ranges of a process share, blame.c, which sweeps over one, and sums.c, which adds
 * up what it found.
 */
#ifndef SONDE_ANALYZE_ANSWERS_BLAME_RUN_H
#define SONDE_ANALYZE_ANSWERS_BLAME_RUN_H

#include <pthread.h>

#include "analyze/model/recorded.h"
#include "analyze/samples/gaps.h"
#include "analyze/trace/trace.h"
#include "base/map.h"
#include "blame.h"
#include "sweep.h"
#include "thread.h"

enum {
    NODE_CACHE = 4096,
    SLOT_CACHE = 4096,
    RECENT = 64,
};

/* What blame is added up by. In a part: node << 8 | source << 1 | waiting; SAMPLED | gathered pair << 32 | node; LEFT |
 * gathered pair. Of all parts the pair's pool plus one stands for it, or (LEFT without one) what is inferred. Nodes are of the
 * tree. */
#define KEY_SAMPLED  (1ull << 63)
#define KEY_LEFT     (1ull << 62)
#define KEY_WAITING  1u
#define PAIRS_MOST   (1u << 29)

struct sonde__blame_tree { /* what the sweep needs of the profile's nodes, close together */
    const struct sonde_profile *profile;
    uint32_t *parents;
    uint8_t *waits;  /* an API call that waits, by its name */
    uint8_t *code;   /* enum sonde_device_code */
    bool any_device; /* of them is the device's */
};

/* What all contexts of a lane share, so far: their deepest common ancestor, and below it the
 * function that all begin with, if they do; `child` is the first of its nodes in the tree, 0 none. */
struct sonde__blame_trunk {
    uint32_t node, child, recent[RECENT];
    bool known;
};

/* Segments that are blamed together have one slot. */
struct sonde__blame_slots {
    SONDE_VECTOR(uint64_t) keys; /* [slot] */
    uint64_t *joined;            /* [slot]: the same key in every part */
    struct sonde_map index;      /* key -> slot */
    struct remembered {
        uint32_t node, after, kind, slot;
        bool used;
    } *cache; /* [SLOT_CACHE]: of segments */
};

struct sonde__blame_part {
    struct cached { uint32_t id, node; } *cache; /* [NODE_CACHE]: nodes of the process, nodes of the tree */
    struct sonde__blame_trunk *trunks;      /* [lane of the trace], where grounds */
    sonde__spans *gaps;        /* [scope]: when it was idle in this window; 0: all devices */
    struct sonde__idle *idle;  /* [scope] */
    bool *timed;               /* [scope]: an operation ran */
    sonde__spans busy, scratch; /* of one device */
    sonde__segments segments;  /* of one thread */
    struct sonde__thread_scratch thread;
    struct sonde__gathered gathered;
    struct sonde__blame_slots slots;
    struct sonde__sweep sweep;
    uint64_t untimed;
};

/* Of a process, whatever range of it is looked at. */
struct sonde__blame_ground {
    struct sonde_recorded recorded;
    struct sonde__alive *alive; /* [lane] */
    bool *of_device;           /* [lane]: the runtime of a CPU device began its thread; NULL: of none */
    /* The rest is known once its whole trace was read. */
    bool read;
    struct sonde__pools pools;
    struct sonde__blame_trunk *trunks; /* [lane of the trace] */
    bool *timed;               /* [scope]: an operation ran */
    uint64_t untimed;
};

struct sonde_blame_basis {
    const struct sonde_measurement *m;
    struct sonde__blame_tree tree;
    uint64_t run_begin_ns, run_length_ns;
    pthread_mutex_t lock;      /* while a ground is not read yet */
    struct sonde__blame_ground *grounds; /* [process] */
};

struct sonde__blame_run {      /* one reading of a process's trace */
    const struct sonde__blame_tree *tree;
    const struct sonde_process *process;
    struct sonde__blame_ground *ground;
    uint32_t index;
    bool grounds, sweeps;      /* what it is for: what the ground needs of all of the trace; blame */
    const struct sonde_recorded *recorded; /* in the range */
    struct sonde__thread_rule rule;
    struct sonde_trace_reader trace;
    uint32_t scopes;           /* all devices, and each of the trace */
    struct sonde__blame_part *parts; /* the trace's states */
};

/* What is known without a trace: of the profile, and (under the lock) of a process. 0 or SONDE_ENOMEM. */
int sonde__blame_basis_begin(struct sonde_blame_basis *basis);
int sonde__blame_ground_begin(struct sonde_blame_basis *basis, uint32_t index);
/* What a run over all of a trace found goes into its ground. 0 or SONDE_ENOMEM: it counts as not read. */
int sonde__blame_settle(struct sonde__blame_run *run);
/* One more context of a lane. */
void sonde__blame_add_to_trunk(const struct sonde__blame_tree *tree, struct sonde__blame_trunk *trunk, uint32_t node);
/* The scopes of a process that was swept over. 0 or SONDE_ENOMEM. */
int sonde__blame_add_results(const struct sonde__blame_run *run, struct sonde_blame *out);
/* Entries of one context become one; in order. */
void sonde__blame_fold(struct sonde_blame_scope *scope);

#endif
