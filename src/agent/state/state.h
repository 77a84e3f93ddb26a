/* state.h - the agent's state, which all its rooms share; nothing outside src/agent includes it.
 *
 * Who writes what:
 *   a program thread     its own struct sonde_thread: contexts, the producer's side of
 *                        its channels, open ranges; its samples, from a signal handler
 *   the harvester        every channel's consumer side, the lanes' outstanding
 *                        operations, submissions that wait for their report; one at a
 *                        time, by agent.harvest_lock
 *   the monitor          profile, trace segments, header, the samples' targets; one at a
 *                        time, by agent.monitor_lock (the monitor thread; the header's
 *                        figures also a program thread whose operation comes after the end)
 *   a tracing thread     the segments handed to it, data.sonde
 *   anyone, rarely       tables of names and frames, under agent.table_lock; slots of
 *                        threads, under agent.thread_lock
 *
 * Lock order: monitor_lock, harvest_lock, thread_lock, table_lock, that of the
 * objects' addresses, and last the pool's, the heap's or the data file's. fork_lock is taken by the monitor
 * under monitor_lock and harvest_lock, by the start, and by a fork alone. A program thread in the steady state
 * takes none of them, and a signal handler waits for none. The monitor thread alone does the
 * final flush, which may hold monitor_lock for seconds: whoever comes late gives up after 100 ms.
 */
#ifndef SONDE_AGENT_STATE_STATE_H
#define SONDE_AGENT_STATE_STATE_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "config.h"
#include "event.h"
#include "format/rows.h"
#include "guest/heap.h"
#include "guest/lock.h"
#include "pool.h"

#define SONDE_THREADS_MAX 16384
#define SONDE_LANES_MAX   32768

struct sonde_shared;
struct sonde_thread;

/* ---- lanes ---------------------------------------------------------------- */

struct sonde_pending { /* an operation that has not finished */
    struct sonde_pending *next;
    struct sonde_event event;
};

struct sonde_open_segment {
    struct sonde_segment *segment; /* NULL none */
    uint64_t sequence;             /* of the lane's next row of its table */
};

struct sonde_lane {
    struct sonde_row_lane *row;   /* in the live mapping */
    uint32_t id;
    uint8_t backend;
    bool out_of_order;
    bool listed;                  /* in agent.waiting */
    struct sonde_pending *head, **tail; /* harvester's */
    uint32_t next_waiting;
    struct sonde_open_segment open[SONDE_TRACES]; /* monitor's: the segments of its traces that have room */
    uint32_t tracer;              /* 1 .. ; 0 not assigned yet */
};

/* ---- the agent -------------------------------------------------------------- */

enum sonde_flag {
    /* the one word every hook looks at; zeroed by the kernel in a forked child */
    SONDE_FLAG_LOOK = 0, /* not started, or forked: look closer */
    SONDE_FLAG_ON = 1,
    SONDE_FLAG_OFF = 2,  /* outside the range, or switched off */
};
enum sonde_state {
    SONDE_NEW,
    SONDE_ON,
    SONDE_DEAD,
};

struct sonde_agent {
    _Atomic int state;             /* enum sonde_state */
    _Atomic bool closed;           /* the final flush ran: the runtime is not asked any more */
    bool finished;                 /* exit handlers run: work that they start is not waited for */
    const char *off;               /* why it switched itself off; NULL: it did not */
    bool leaves;                   /* the program goes on without us: what it gave us is given back */
    bool early;                    /* a range started this, perhaps before the runtime was there */
    _Atomic int range;             /* what sonde_start/stop, --delay and --duration say */
    _Atomic int pid;               /* of the process that began to start this; 0 = nobody yet */
    _Atomic double ticks_per_ns;   /* 0: not known yet */
    struct sonde_config config;
    struct sonde_pool pool;        /* the live mapping */
    struct sonde_heap heap;        /* anonymous memory within the budget */
    struct sonde_live_header *header; /* set last, when all of it is there */

    struct sonde_lock table_lock, harvest_lock, monitor_lock, thread_lock;
    struct sonde_lock fork_lock; /* a thread of ours is where the C library or a runtime has a lock that a fork does not reset */
    uint32_t in_runtime;         /* the monitor is, so often over: it has fork_lock */

    struct sonde_thread *_Atomic threads[SONDE_THREADS_MAX + 1];
    _Atomic uint32_t thread_count;
    uint32_t thread_free;          /* slot number, under thread_lock */
    uint32_t thread_lanes;
    struct { _Atomic uint64_t calls, operations; } without_slot; /* of threads that found none */

    struct sonde_lane *_Atomic lanes[SONDE_LANES_MAX + 1];
    _Atomic uint32_t lane_count;
    uint32_t waiting;              /* list of lanes with outstanding operations; harvester's */
    struct sonde_pieces pendings;
    _Atomic uint64_t outstanding;

    struct sonde_segment *node_segment; /* where the next run of node ids comes from; table_lock */
    uint32_t folded_node[SONDE_OP_KIND_COUNT]; /* contexts that found no room */
    uint32_t folded_sample;        /* samples that found no room in the profile */
    uint8_t device_backend[256];   /* index in sonde_backends, by device id; table_lock */
    uint64_t unmatched, calls_dropped; /* monitor's */
    uint64_t no_room;              /* operations dropped after their hook: the budget was spent; monitor's */
    uint64_t no_room_by_key;       /* the same of submissions with keys; harvester's */
    _Atomic uint64_t unawaited;    /* completions still to come of submissions that found no room */
    _Atomic uint64_t ranges_lost;  /* of threads without a slot */
    uint64_t seen_by_report;       /* operations that only the runtime's report told of; harvester's */
    uint64_t unmatched_by_key;     /* submissions without report, or the reverse; harvester's */
    uint64_t now_ns;               /* when this turn began; harvester's */
    _Atomic uint64_t range_since_ns; /* when the range of recording began last */
    _Atomic uint64_t range_until_ns; /* when it ended since; 0: not yet */
    uint32_t pause;                /* the PAUSE row that is open, 0 none, UINT32_MAX one that is not stored; table_lock */
    _Atomic uint32_t sampled_nodes; /* nodes that samples made */
    uint32_t sampled_nodes_max;
    uint64_t profile_folded;       /* monitor's: operations counted there for want of a profile row */
    size_t mapped_bytes;           /* of the live mapping; the pool's limit may shrink */
    struct sonde_moment began;     /* for converting ticks to ns */
    double reading_ns;             /* what reading the clock and the ticks once costs */

    sem_t wake;                    /* the monitor's alarm */
    uint64_t found;                /* findings of this turn; monitor's */
    uint64_t sampled_ns;           /* CPU time that samples stand for; monitor's */
    _Atomic uint64_t monitor_cpu_ns; /* of the monitor thread, a while ago */
    _Atomic uint64_t backend_cpu_ns; /* of threads of the backends' own */
    _Atomic uint32_t range_frames; /* frames of ranges made so far */
    struct sonde_thread *reports;  /* where nodes of reported operations are made; harvester's */
};
extern struct sonde_agent sonde__agent;
extern _Atomic uint32_t *sonde__flag; /* one page of its own, wiped on fork */
/* The process in which a thread is starting the agent, 0 = none. Not a lock: what a
 * child finds in it after a fork may be its parent's. */
extern _Atomic int sonde__starting;
/* This thread is the monitor: it alone makes room on disk. */
extern __thread bool sonde__on_monitor __attribute__((tls_model("initial-exec")));

/* Is recording on, as far as a hook has to know? Any thread. */
static inline bool sonde__is_recording(void)
{
    return sonde__flag && atomic_load_explicit(sonde__flag, memory_order_relaxed) == SONDE_FLAG_ON;
}

/* May its tables be written? False also where they are the parent's. Any thread. */
bool sonde__agent_here(void);

/* The calling thread of the program has stood still for us since begin_ns. */
void sonde__count_held(uint64_t begin_ns);

/* What is shared with the preload library (preload/preload.h); NULL: it is not there, or was not looked for yet. */
struct sonde_shared *sonde__agent_shared(void);
void sonde__agent_shared_find(void); /* once, before there is more than one thread of ours */

/* A turn of the monitor soon. Any thread, and a sample's handler. */
static inline void sonde__monitor_wake(void)
{
    sem_post(&sonde__agent.wake);
}

#endif
