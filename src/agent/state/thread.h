/* thread.h - what a program's thread has of the agent: its contexts, channels, ranges and samples.
 *
 * All is the thread's own but for what is said otherwise; state.h says who else writes what.
 */
#ifndef SONDE_AGENT_STATE_THREAD_H
#define SONDE_AGENT_STATE_THREAD_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/backend.h>

#include "agent/stack/python.h"
#include "agent/stack/unwind.h"
#include "agent/stack/unwind_trails.h"
#include "channel.h"
#include "format/rows.h"
#include "guest/heap.h"
#include "guest/map.h"
#include "paths.h"

#define SONDE_CHECK_EVERY 4096  /* contexts between two that are compared with a full walk */
#define SONDE_RANGES_MAX  64    /* open ranges of a thread that become frames; deeper ones are only counted */
#define SONDE_PYTHON_MAX  512
#define SONDE_PATH_MAX    (SONDE_STACK_MAX + SONDE_PYTHON_MAX + SONDE_RANGES_MAX + 8) /* frames of one context */

struct sonde_counts { /* written by one thread, read by the monitor; what each call counts comes first */
    _Atomic uint64_t seen, calls, unwinds, python_walks, hook_ticks, call_ns, unwind_failed, unwind_truncated,
        unwind_checked, unwind_mismatched, python_failed, folded, calls_dropped, waited_ns;
    _Atomic uint64_t dropped[SONDE_DROP_COUNT];
};

/* Add to a counter that only this thread writes: a plain add, no lock prefix. */
static inline void sonde__count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* Ranges of one thread (range.c). All are the thread's own, but for what the
 * monitor reads of those that are open at the end. */
struct sonde_range_event {
    struct sonde_row_range row;
    uint32_t lane, reserved;
};
struct sonde_open_range {
    uint32_t frame, place;    /* the range stands before frame `place` of the stack; */
    uint32_t anchor;          /* the node of the frames before that */
    uint64_t sum;             /* of these and of the outer ranges (context/ranges.c) */
    uint32_t domain, name;
    bool recorded;            /* begun while recording */
    _Atomic uint64_t row[sizeof(struct sonde_row_range) / 8];
};
struct sonde_ranges {
    uintptr_t link_within;
    uint32_t link_frame, link_name; /* frame ids; 0 none */
    _Atomic uint32_t depth;       /* open ones, with those that are only counted */
    uint32_t ignored;             /* of a signal handler that came within a hook */
    _Atomic uint64_t lost;        /* no room in the channel, nested too deep, or from a handler within a hook */
    uint64_t counted;             /* monitor's: of `lost`, in the ledger */
    struct sonde_channel ended;   /* of struct sonde_range_event */
};

/* Calls of one thread that came before (replay.h). */
#define SONDE_REPLAY_BLOCKS 16u /* 1 MiB of a thread's replays */
struct sonde_replays {
    struct sonde_replay **table;  /* in the first block: by sums */
    uint32_t epoch;               /* pointers of another one are void */
    uint32_t blocks, current, used;
    bool full;
    unsigned char *block[SONDE_REPLAY_BLOCKS];
};

/* Samples of one thread (samples.c): a ring that its signal handler fills. */
#define SONDE_SAMPLES_MAX 256u
struct sonde_sample {
    uint64_t time_ns, cpu_ns; /* SLEPT: from when, how long; COUNTED: -, how many samples (0: the monitor has them) */
    uint32_t node, lane;      /* lane 0: the thread had none yet */
    uint16_t flags, kind;     /* SONDE_SAMPLE_*; SLEPT: enum sonde_sleep_kind; COUNTED: number of the counter */
};
enum { /* in the ring only: no sample, but */
       SONDE_SAMPLE_SLEPT = 0x8000,   /* a SLEEP row */
       SONDE_SAMPLE_COUNTED = 0x4000, /* samples of a counter of the CPU */
};
#define SONDE_CPU_COUNTERS_MAX 8u
struct sonde_samples {
    _Atomic uint32_t written, taken; /* taken: monitor's */
    _Atomic uint64_t cpu_ns;         /* the thread's CPU time at its last sample; the monitor sets it before there is one */
    uint64_t since_ns;               /* when the thread was seen first; 0: by its first hook */
    uint64_t waits_since_ns;         /* when one was left to the end of a call; */
    uint64_t waits_cpu_ns;           /* the CPU time that its sample goes up to */
    uint32_t waits_counted[SONDE_CPU_COUNTERS_MAX]; /* samples of counters that were left to the end of a call */
    _Atomic uint64_t lost_counted[SONDE_CPU_COUNTERS_MAX]; /* as struct sonde_counts */
    struct { _Atomic uint64_t taken, deferred, held, lost, own_ns, counted; } count; /* as struct sonde_counts; held: signals within calls; counted: signals of counters */
};

enum {
    SONDE_AT_END_SAMPLE = 1,
    SONDE_AT_END_DIE = 2,
    SONDE_AT_END_COUNTED = 4,
};
enum {
    SONDE_BUSY = 1,
    SONDE_BUSY_CALL = 2, /* in a hooked call, the runtime's part included */
};
struct sonde_thread {
    /* What a hook needs that finds all as it was (replay.h): up to the first words of `ranges`, and the lines that
     * are begun below. */
    uint32_t slot;            /* 1 .. */
    _Atomic uint32_t lane;    /* thread lane; 0: it gets one with its first sample or hook */
    volatile uint32_t busy;   /* inside a hook: a signal handler must not enter again */
    _Atomic uint32_t at_end;  /* SONDE_AT_END_*: what came within the hooked call, and is for its end */
    uint32_t check_in;        /* so many calls from now one is compared with a full walk */
    uint32_t last_context;    /* node of the last hooked call */
    struct sonde_replay *replay; /* that told the last context; NULL: none */
    struct { uint64_t enter_ns, leave_ns; } messages; /* the last call that told of some */
    struct sonde_ranges ranges;
    alignas(64) uint64_t sequence; /* of operations; low bits of the correlation */
    struct {
        uint64_t key, enter_ns, leave_ns;
        bool submitted;
    } last_call;
    uint32_t last_op_key_kind, last_op_key_name, last_op_frame;
    alignas(64) struct sonde_counts count;
    alignas(64) struct sonde_channel channel; /* of struct sonde_event */
    struct sonde_channel found;   /* of struct sonde_activity: this thread's place in the multiplexer */

    struct {
        uint64_t wall_ns, cpu_ns; /* when the CPU clock was read last */
        uint64_t judged_ns;       /* of this call, already */
        uint64_t new_at;          /* calls before the last one that met a new context */
    } own; /* call.c */
    uint32_t next_free;
    bool adopted;             /* its thread has a pthread key's destructor for it */
    _Atomic int tid;          /* of its thread; 0: none. Under thread_lock */
    uint32_t last_lane;       /* of its threads before */
    struct sonde_samples samples;

    /* calling contexts */
    struct sonde_map children;    /* (parent << 32 | frame) -> node */
    uint32_t node_next, node_end; /* the run of node ids this thread may use */
    uint32_t native_length;
    uint64_t frame_generation;
    bool resumable;               /* token_before[], python_before[] and known_python[] are of the last walk */
    uint32_t known_pythons;       /* of known_python[] */
    struct sonde_paths paths;
    struct sonde_replays replays;
    struct sonde_trails trails;   /* of `stack`, once the thread has made some calls */
    struct {
        uint32_t frame, name, before;
        uintptr_t within;
    } known_link; /* in token[], before this native frame */
    struct sonde_stack stack;
    struct sonde_stack *check;                 /* for checking re-use; NULL until needed */
    uint32_t native[SONDE_STACK_MAX];          /* frame ids, outermost first */
    uint32_t path[SONDE_PATH_MAX];             /* frame ids, outermost first, of what is put together frame by frame; */
    uint32_t range_stack[SONDE_PATH_MAX];      /* without links; */
    uint32_t range_anchor[SONDE_PATH_MAX];     /* and of the innermost range's anchor */
    struct sonde_pyframe python[SONDE_PYTHON_MAX];
    /* A context without ranges as words (paths.h), outermost first, and the node of each. */
    uint64_t token[SONDE_PATH_MAX];
    uint32_t node[SONDE_PATH_MAX];
    uint16_t token_before[SONDE_STACK_MAX + 1], python_before[SONDE_STACK_MAX + 1]; /* each native frame */
    struct {
        uint64_t key;
        uintptr_t place;
    } known_python[SONDE_PYTHON_MAX]; /* outermost first */
    uint64_t known_word[2 * SONDE_PYTHON_MAX + 3]; /* known.c */
    struct sonde_open_range open[SONDE_RANGES_MAX];
    struct sonde_sample sample[SONDE_SAMPLES_MAX];
    /* Where its channels and its map begin: as much as the slot's last block has left. */
    alignas(64) unsigned char first_events[8192], first_found[4096], first_ranges[2048];
    struct sonde_map_entry first_children[512];
};
static_assert(sizeof(struct sonde_thread) <= 3 * SONDE_HEAP_BLOCK, "a slot is three blocks");

extern __thread struct sonde_thread *sonde__self __attribute__((tls_model("initial-exec"))); /* the calling thread's; NULL: none yet */

/* In or out of a hook, as the thread's own signal handler sees it. */
static inline void sonde__busy(struct sonde_thread *t, uint32_t busy)
{
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = busy;
    atomic_signal_fence(memory_order_seq_cst);
}

/* Ranges of the thread that are open and frames of its contexts. */
static inline uint32_t sonde__open_ranges(const struct sonde_thread *t)
{
    uint32_t depth = atomic_load_explicit(&t->ranges.depth, memory_order_relaxed);
    return depth < SONDE_RANGES_MAX ? depth : SONDE_RANGES_MAX;
}

/* slots.c, all under thread_lock. A slot without thread, for the one that the caller has; NULL: no room. */
struct sonde_thread *sonde__slot_take(void);
/* The same for a thread that calls no hook; `wanted`: it is known to use the processor. NULL: no room to spare. */
struct sonde_thread *sonde__slot_for_samples(bool wanted);
void sonde__slot_put(struct sonde_thread *t); /* its thread has ended */

#endif
