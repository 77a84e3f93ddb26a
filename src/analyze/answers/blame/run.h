/* run.h - between blame.c, which sweeps over a process, and sums.c, which adds up what it found.
 */
#ifndef SONDE_ANALYZE_ANSWERS_BLAME_RUN_H
#define SONDE_ANALYZE_ANSWERS_BLAME_RUN_H

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

/* What blame is added up by: node << 8 | source << 1 | waiting; SAMPLED | gathered pair << 32 | node; LEFT |
 * gathered pair, for the pool of that. Nodes are of the tree. */
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
    struct sonde_map index;      /* key -> slot */
    struct remembered {
        uint32_t node, after, kind, slot;
        bool used;
    } *cache; /* [SLOT_CACHE]: of segments */
};

struct sonde__blame_part {
    struct cached { uint32_t id, node; } *cache; /* [NODE_CACHE]: nodes of the process, nodes of the tree */
    struct sonde__blame_trunk *trunks;      /* [lane of the trace] */
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

struct sonde__blame_run {
    const struct sonde__blame_tree *tree;
    const struct sonde_process *process;
    uint32_t index;
    struct sonde_recorded recorded;
    struct sonde__thread_rule rule;
    struct sonde_trace_reader trace;
    struct sonde__alive *alive; /* [lane] */
    bool *of_device;           /* [lane]: the runtime of a CPU device began its thread; NULL: of none */
    struct sonde__pools pools;
    uint32_t scopes;           /* all devices, and each of the trace */
    struct sonde__blame_part *parts; /* the trace's states */
};

void sonde__blame_join_trunk(const struct sonde__blame_tree *tree, struct sonde__blame_trunk *trunk,
                             const struct sonde__blame_trunk *more);
/* The scopes of a process that was swept over. 0 or SONDE_ENOMEM. */
int sonde__blame_add_results(struct sonde__blame_run *run, struct sonde_blame *out);

#endif
