/* agent.h - the agent's own structures; nothing outside src/agent includes it.
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
 * objects' addresses, and last the pool's, the heap's or the data file's. loader_lock is taken by the monitor
 * under monitor_lock, and by a fork alone. A program thread in the steady state
 * takes none of them, and a signal handler waits for none. The monitor thread alone does the
 * final flush, which may hold monitor_lock for seconds: whoever comes late gives up after 100 ms.
 */
#ifndef SONDE_AGENT_H
#define SONDE_AGENT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/backend.h>

#include "channel.h"
#include "config.h"
#include "format/rows.h"
#include "guest/heap.h"
#include "guest/hot.h"
#include "guest/lock.h"
#include "guest/map.h"
#include "paths.h"
#include "pool.h"
#include "python.h"
#include "replay.h"
#include "unwind.h"
#include "unwind_trails.h"

#define SONDE_CHECK_EVERY 4096  /* contexts between two that are compared with a full walk */
#define SONDE_THREADS_MAX 16384
#define SONDE_LANES_MAX   32768
#define SONDE_RANGES_MAX  64    /* open ranges of a thread that become frames; deeper ones are only counted */
#define SONDE_PYTHON_MAX  512
#define SONDE_PATH_MAX    (SONDE_STACK_MAX + SONDE_PYTHON_MAX + SONDE_RANGES_MAX + 8) /* frames of one context */

/* ---- what travels from a program thread to the monitor ---------------- */

struct sonde_event { /* one hooked call, and the operation it made */
    uint64_t enter_ns, leave_ns;
    uint64_t token;       /* 0: no device completion to wait for; with EVENT_KEYED: the key */
    uint64_t bytes;
    uint64_t correlation; /* 0: no operation */
    uint32_t api_node, op_node;
    uint32_t lane, thread_lane;
    uint32_t object, work;
    uint16_t kind, flags;  /* flags: SONDE_EVENT_* */
};
enum {
    SONDE_EVENT_KEYED = 1, SONDE_EVENT_MANY = 2,
    SONDE_EVENT_FURTHER = 4, /* of a call that came already */
    SONDE_EVENT_OVER = 8,    /* has the times of the submission with the key `token` */
    SONDE_EVENT_WAIT = 16,   /* a struct sonde_row_wait: enter_ns, correlation (waiter), token (awaited), lane, work (device) */
};

enum { SONDE_ACT_CALL = 1, SONDE_ACT_OP = 2, SONDE_ACT_WAIT = 4, SONDE_ACT_NO_ROOM = 8 /* an operation, dropped */ };
struct sonde_activity { /* what a harvester hands over: the call, its operation, or both */
    struct sonde_event event;
    struct sonde_times times;
    uint16_t parts;  /* SONDE_ACT_* */
    uint16_t result; /* enum sonde_poll */
};

/* ---- threads ------------------------------------------------------------ */

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
    uint32_t frame, place;    /* the range stands before frame `place` of the stack */
    uint32_t domain, name;
    bool     recorded;        /* begun while recording */
    _Atomic uint64_t row[sizeof(struct sonde_row_range) / 8];
};
struct sonde_ranges {
    uintptr_t link_within;
    uint32_t  link_frame, link_name; /* frame ids; 0 none */
    _Atomic uint32_t depth;       /* open ones, with those that are only counted */
    bool      steady;             /* no range has come, gone or moved since the last context, all native */
    uint32_t  ignored;            /* of a signal handler that came within a hook */
    uint32_t  stack_length;       /* of stack[] below; valid while a range is open */
    _Atomic uint64_t lost;        /* no room in the channel, nested too deep, or from a handler within a hook */
    uint64_t  counted;            /* monitor's: of `lost`, in the ledger */
    struct sonde_channel ended;   /* of struct sonde_range_event */
};

/* Samples of one thread (sample.c): a ring that its signal handler fills. */
#define SONDE_SAMPLES_MAX 256u
struct sonde_sample {
    uint64_t time_ns, cpu_ns; /* SLEPT: from when, how long */
    uint32_t node, lane;      /* lane 0: the thread had none yet */
    uint16_t flags, kind;     /* SONDE_SAMPLE_*; SLEPT: enum sonde_sleep_kind */
};
enum { SONDE_SAMPLE_SLEPT = 0x8000 }; /* in the ring only: no sample, but a SLEEP row */
struct sonde_samples {
    _Atomic uint32_t written, taken; /* taken: monitor's */
    _Atomic uint64_t cpu_ns;         /* the thread's CPU time at its last sample; the monitor sets it before there is one */
    uint64_t since_ns;               /* when the thread was seen first; 0: by its first hook */
    uint64_t waits_since_ns;         /* when one was left to the end of a call; */
    uint64_t waits_cpu_ns;           /* the CPU time that its sample goes up to */
    struct { _Atomic uint64_t taken, deferred, lost, own_ns; } count; /* as struct sonde_counts */
};

enum { SONDE_AT_END_SAMPLE = 1, SONDE_AT_END_DIE = 2 };
enum { SONDE_BUSY = 1, SONDE_BUSY_CALL = 2 }; /* in a hooked call, the runtime's part included */
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
    struct sonde_ranges  ranges;
    alignas(64) uint64_t sequence; /* of operations; low bits of the correlation */
    struct { uint64_t key, enter_ns, leave_ns; bool submitted; } last_call;
    uint32_t last_op_key_kind, last_op_key_name, last_op_frame;
    alignas(64) struct sonde_counts  count;
    alignas(64) struct sonde_channel channel; /* of struct sonde_event */
    struct sonde_channel found;   /* of struct sonde_activity: this thread's place in the multiplexer */

    struct { uint64_t wall_ns, cpu_ns; /* when the CPU clock was read last */
             uint64_t judged_ns;       /* of this call, already */
             uint64_t new_at;          /* calls before the last one that met a new context */ } own; /* call.c */
    uint32_t next_free;
    bool     adopted;         /* its thread has a pthread key's destructor for it */
    _Atomic int tid;          /* of its thread; 0: none. Under thread_lock */
    uint32_t last_lane;       /* of its threads before */
    struct sonde_samples samples;

    /* calling contexts */
    struct sonde_map children;    /* (parent << 32 | frame) -> node */
    uint32_t node_next, node_end; /* the run of node ids this thread may use */
    uint32_t path_length;         /* of the last context */
    uint32_t native_length;
    uint64_t frame_generation;
    bool     resumable;           /* token_before[], python_before[] and known_python[] are of the last walk */
    uint32_t known_pythons;       /* of known_python[] */
    struct sonde_paths paths;
    struct sonde_replays replays;
    struct sonde_trails trails;   /* of `stack`, once the thread has made some calls */
    struct { uint32_t frame, name, before; uintptr_t within; } known_link; /* in token[], before this native frame */
    struct sonde_stack stack;
    struct sonde_stack *check;                 /* for checking re-use; NULL until needed */
    uint32_t native[SONDE_STACK_MAX];          /* frame ids, outermost first */
    uint32_t path[SONDE_PATH_MAX];             /* merged frame ids, outermost first */
    uint32_t node[SONDE_PATH_MAX];             /* context node of path[0..i] */
    struct sonde_pyframe python[SONDE_PYTHON_MAX];
    /* A context without ranges as words (paths.h), outermost first; node[] is of these then. */
    uint64_t token[SONDE_PATH_MAX];
    uint16_t token_before[SONDE_STACK_MAX + 1], python_before[SONDE_STACK_MAX + 1]; /* each native frame */
    struct { uint64_t key; uintptr_t place; } known_python[SONDE_PYTHON_MAX]; /* outermost first */
    uint64_t known_word[2 * SONDE_PYTHON_MAX + 3]; /* known.c */
    struct sonde_open_range open[SONDE_RANGES_MAX];
    struct sonde_sample sample[SONDE_SAMPLES_MAX];
    /* Of the last context or opened range, without ranges: frame ids, and what
     * tells functions apart: the pc, or a code object's address and CODE_PYTHON. */
    uint32_t range_stack[SONDE_PATH_MAX];
    uint64_t range_code[SONDE_PATH_MAX];
    /* Where its channels and its map begin: as much as the slot's last block has left. */
    alignas(64) unsigned char first_events[8192], first_found[4096], first_ranges[2048];
    struct sonde_map_entry first_children[512];
};
static_assert(sizeof(struct sonde_thread) <= 3 * SONDE_HEAP_BLOCK, "a slot is three blocks");

/* ---- lanes ---------------------------------------------------------------- */

struct sonde_pending { /* an operation that has not finished */
    struct sonde_pending *next;
    struct sonde_event    event;
};

struct sonde_open_segment {
    struct sonde_segment *segment; /* NULL none */
    uint64_t sequence;             /* of the lane's next row of its table */
};

struct sonde_lane {
    struct sonde_row_lane *row;   /* in the live mapping */
    uint32_t id;
    uint8_t  backend;
    bool     out_of_order;
    bool     listed;              /* in agent.waiting */
    struct sonde_pending *head, **tail; /* harvester's */
    uint32_t next_waiting;
    struct sonde_open_segment open[SONDE_TRACES]; /* monitor's: the segments of its traces that have room */
    uint32_t tracer;              /* 1 .. ; 0 not assigned yet */
};

/* ---- the agent -------------------------------------------------------------- */

enum sonde_flag { /* the one word every hook looks at; zeroed by the kernel in a forked child */
    SONDE_FLAG_LOOK = 0, /* not started, or forked: look closer */
    SONDE_FLAG_ON   = 1,
    SONDE_FLAG_OFF  = 2, /* outside the range, or switched off */
};
enum sonde_state { SONDE_NEW, SONDE_ON, SONDE_DEAD };

struct sonde_agent {
    _Atomic int  state;            /* enum sonde_state */
    _Atomic bool closed;           /* the final flush ran: the runtime is not asked any more */
    bool finished;                 /* exit handlers run: work that they start is not waited for */
    bool early;                    /* a range started this, perhaps before the runtime was there */
    _Atomic int  range;            /* what sonde_start/stop, --delay and --duration say */
    _Atomic int  pid;              /* of the process that began to start this; 0 = nobody yet */
    _Atomic double ticks_per_ns;   /* 0: not known yet */
    struct sonde_config config;
    struct sonde_pool   pool;      /* the live mapping */
    struct sonde_heap   heap;      /* anonymous memory within the budget */
    struct sonde_live_header *header; /* set last, when all of it is there */

    struct sonde_lock table_lock, harvest_lock, monitor_lock, thread_lock;
    struct sonde_lock loader_lock; /* the monitor is inside the loader, whose lock a fork does not reset */

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
    uint8_t  device_backend[256];  /* index in sonde_backends, by device id; table_lock */
    uint64_t unmatched, calls_dropped; /* monitor's */
    uint64_t no_room;              /* operations dropped after their hook: the budget was spent; monitor's */
    uint64_t no_room_by_key;       /* the same of submissions with keys; harvester's */
    _Atomic uint64_t unawaited;    /* completions still to come of submissions that found no room */
    _Atomic uint64_t ranges_lost;  /* of threads without a slot */
    uint64_t seen_by_report;       /* operations that only the runtime's report told of; harvester's */
    uint64_t unmatched_by_key;     /* submissions without report, or the reverse; harvester's */
    uint64_t now_ns;               /* when this turn began; harvester's */
    _Atomic uint64_t range_since_ns; /* when the range of recording began last */
    uint32_t pause;                /* the PAUSE row that is open, 0 none, UINT32_MAX one that is not stored; table_lock */
    _Atomic uint32_t sampled_nodes; /* nodes that samples made */
    uint32_t sampled_nodes_max;
    uint64_t profile_folded;       /* monitor's: operations counted there for want of a profile row */
    size_t   mapped_bytes;         /* of the live mapping; the pool's limit may shrink */
    uint64_t ticks0, ns0;          /* for converting ticks to ns */
    double   reading_ns;           /* what reading the clock and the ticks once costs */
};
extern struct sonde_agent sonde__agent;
extern _Atomic uint32_t *sonde__flag; /* one page of its own, wiped on fork */
extern __thread struct sonde_thread *sonde__self __attribute__((tls_model("initial-exec")));

/* agent.c */
bool sonde__agent_enter(void);                 /* start, or restart in a forked child; true = on */
void sonde__agent_off(const char *reason);     /* fail open */
bool sonde__agent_here(void);                  /* its tables may be written: false also where they are the parent's */
void sonde__agent_runtime_is_there(void);      /* a device is known */
void sonde__agent_set_range(int on);
void sonde__agent_apply_range(void);
enum sonde_flush {
    SONDE_FLUSH_STORE  = 3, /* store what has finished; wait for nothing */
    SONDE_FLUSH_FINISH = 1, /* main returned or exit was called: wait for work under way, stay open */
    SONDE_FLUSH_CLOSE  = 2, /* the last moment at which the runtime may be asked */
    SONDE_FLUSH_DEATH  = 5, /* a signal kills the program: what can be had within a moment */
    SONDE_FLUSH_SIGNAL = 4, /* no flush: give the samples' signal back to the program */
};
void sonde__agent_flush(enum sonde_flush how);  /* waits for the monitor, within a bound */
void sonde__agent_settle(enum sonde_flush how); /* the monitor's part of it */
struct sonde_shared *sonde__agent_shared(void); /* with the preload library; NULL: it is not there */
void sonde__agent_die(void);                    /* of the signal that waited for the end of a call */
void sonde__agent_late(void);                   /* after it: count what came too late. Any thread */

/* In or out of a hook, as the thread's own signal handler sees it. */
static inline void sonde__busy(struct sonde_thread *t, uint32_t busy)
{
    atomic_signal_fence(memory_order_seq_cst);
    t->busy = busy;
    atomic_signal_fence(memory_order_seq_cst);
}

/* thread.c */
struct sonde_thread *sonde__thread_enter(void); /* slot of the calling thread; NULL: no room */
/* Monitor's: a slot for a thread that calls no hook, and the end of one. NULL: no room to spare. */
struct sonde_thread *sonde__thread_for_samples(bool wanted);
void sonde__thread_lane(struct sonde_thread *t, int tid, const char *name, uint64_t start_ns); /* if it has none */
void sonde__thread_vanished(struct sonde_thread *t);
void sonde__thread_forget_all(void);

/* table.c and frame.c: names, frames and the rest of the append-only tables */
int      sonde__tables_init(void);
uint32_t sonde__frame_of_pc(uintptr_t pc);     /* lock-free once known; SONDE_FRAME_ID_* */
uint32_t sonde__frame_of_place(uintptr_t pc);  /* in a sample's handler: an interrupted place; 0: not now, or no room */
void     sonde__frames_look(void);             /* monitor's: modules that samples met first */
uint32_t sonde__frame_of_python(const struct sonde_pyframe *f);
uint64_t sonde__frame_python_key(const struct sonde_pyframe *f); /* equal keys: one frame */
#define SONDE_TOKEN_PYTHON (1ull << 63) /* alone: a call of the eval loop without a frame */
static inline uint64_t sonde__python_token(const struct sonde_pyframe *f)
{
    return f->code ? sonde__frame_python_key(f) | SONDE_TOKEN_PYTHON : SONDE_TOKEN_PYTHON;
}
uint32_t sonde__frame_of_api(uint32_t api);
uint32_t sonde__frame_of_sleep(uint32_t which, const char *name); /* a function of libc; 0: not now, or no room */
uint32_t sonde__frame_of_op(enum sonde_op_kind kind, uint32_t name);
uint32_t sonde__frame_of_link(uint32_t node);
/* The frame of a key (below 2^62), which is `row`'s; sonde__frame_find: only when it is there. */
uint32_t sonde__frame_intern(uint64_t key, struct sonde_row_frame row);
bool     sonde__frame_find(uint64_t key, uint32_t *id);
#define SONDE_RANGE_OTHER "(other ranges)"
uint32_t sonde__frame_of_kind(enum sonde_frame_kind kind);
void     sonde__tables_executable(const char *path);
uint64_t sonde__clocks_missing(void);          /* bit per device (by id) that no clock pair is known of */
uint32_t sonde__lane_new(struct sonde_row_lane row, const char *name);
/* Rows of the monitor's tables: append one (zeroed), find one. */
void    *sonde__table_row(enum sonde_table table, uint32_t row_bytes, uint32_t *id);
void    *sonde__table_find(enum sonde_table table, uint32_t row_bytes, uint32_t id);
#define SONDE_FRAME_ID_SKIP 0xffffffffu /* ours, or the runtime's loader: left out when innermost */
#define SONDE_FRAME_ID_EVAL 0xfffffffeu /* the Python interpreter's loop: replaced by Python frames */

/* recorded.c */
void sonde__recorded_start(struct sonde_live_header *header); /* what came before the agent; header->start_ns is set */
void sonde__recorded_pause(uint64_t from_ns);                 /* recording goes off. Any thread */
void sonde__recorded_resume(uint64_t to_ns);                  /* it has gone on */

/* objects.c */
void sonde__objects_init(void); /* when the agent starts */
void sonde__objects_used(uint64_t enter_ns, const uint32_t *objects, uint32_t count); /* by one operation. Any thread */

/* context.c */
/* known.c: nodes of calls that came before, `pythons` frames in python[]. sonde__known_node gives 0 when it is not known. */
bool     sonde__known_may(const struct sonde_thread *t);
uint32_t sonde__known_node(struct sonde_thread *t, const struct sonde_trail *trail, uint32_t api, uint32_t pythons);
void     sonde__known_keep(struct sonde_thread *t, uint32_t api, uint32_t pythons, uint32_t leaf); /* after the last walk */

uint32_t sonde__context(struct sonde_thread *t, uint32_t api); /* API node of the caller's stack */
void     sonde__context_stack(struct sonde_thread *t); /* brings range_stack up to date with the caller's stack */
uint32_t sonde__context_op(struct sonde_thread *t, uint32_t api_node, enum sonde_op_kind kind, uint32_t name);

/* In a sample's handler: node of the interrupted place. 0, or sonde__handler.missed: none this time. */
uint32_t sonde__context_sample(struct sonde_thread *t, const struct sonde_place *at);

/* After a wait, as in a handler: node of the function, number `which`, that this thread has waited in. 0 as above. */
uint32_t sonde__context_routine(struct sonde_thread *t, uintptr_t routine); /* as a thread ends: of its start routine */
uint32_t sonde__context_sleep(struct sonde_thread *t, uint32_t which, const char *name);

struct sonde_thread *sonde__context_of_reports(void); /* where the monitor makes nodes; NULL: no room */
/* The operation's leaf below `parent`, prepared in `origin` (0 none). Under harvest_lock. */
uint32_t sonde__context_report(uint32_t parent, uint32_t origin, enum sonde_op_kind kind, uint32_t name);

/* match.c (harvester's): submissions with keys, and the completions that name them */
void   sonde__match_keep(const struct sonde_event *e);
/* An operation over another one. True: `found` is what to hand over now. */
bool   sonde__match_over(const struct sonde_event *e, struct sonde_activity *found);
void   sonde__match_turn(enum sonde_collect how); /* the runtimes' reports; monitor, under harvest_lock */
void   sonde__match_abandon(void);     /* count what was never reported */
void   sonde__match_forget(void);
size_t sonde__match_waiting(void);
uint64_t sonde__match_silent(void);    /* submissions of many, of which nothing has been reported */

/* range.c */
void sonde__clock_find(void);                             /* call.c: before the first hook; no harm before that */
struct sonde_thread *sonde__enter(void);                  /* call.c: the calling thread's slot; may start the agent */
void sonde__ranges_cut(struct sonde_thread *t, uint32_t place);
void sonde__ranges_drain(struct sonde_thread *t);         /* ended ones to the trace; under monitor_lock */
void sonde__ranges_last(void);                            /* those that are open at the end; under monitor_lock */
void sonde__ranges_of_ended(struct sonde_thread *t);       /* in a thread that ends: what it has left open */
void sonde__ranges_forget(void);                          /* in a forked child */

/* sample.c: the CPU side. All but what is said otherwise is the monitor's */
void sonde__sample_turn(uint64_t now);                     /* threads that came and went; under monitor_lock */
void sonde__sample_drain(struct sonde_thread *t);          /* under monitor_lock */
uint32_t sonde__sample_lane(struct sonde_thread *t);       /* that of its thread, which has something for one; takes thread_lock */
void sonde__sample_account(struct sonde_live_header *header);
void sonde__sample_stop(void);                             /* no more signals come; under monitor_lock */
void sonde__sample_give_up(void);                          /* the same, because the program wants the signal */
void sonde__sample_release(void);                          /* a program's thread: have the monitor do that */
void sonde__sample_forget(void);                           /* in a forked child */
void sonde__sample_mine(void);                             /* any thread: the calling one is not the program's */
bool sonde__sample_slept(struct sonde_thread *t, uint64_t from_ns, uint64_t to_ns, uint32_t node, uint32_t kind); /* in the thread, busy; false: no room */
void sonde__sample_deferred(struct sonde_thread *t, uint32_t node); /* call.c: the call that a sample waits for ends */
/* Under thread_lock, for the calling thread: the slot that was made for it, or NULL; it has this one from now on. */
struct sonde_thread *sonde__target_mine(void);             /* the slot that the calling thread got as it started, or NULL */
void sonde__target_starts(void);                           /* the calling thread */
bool sonde__target_ends(uint64_t cpu_ns);                  /* it, when it has a slot; what it used since its last sample. True: the slot is given back */
void sonde__sample_starts(void);                           /* the preload library's word: so it has started */
void sonde__sample_ends(void *(*routine)(void *));
struct sonde_thread *sonde__sample_slot(void);
void sonde__sample_enter(struct sonde_thread *t);
void sonde__sample_leave(struct sonde_thread *t);          /* its samples stay in the slot, which may be given to another thread */

/* sleep.c */
struct sonde_shared;
void sonde__sleep_connect(struct sonde_shared *shared);    /* from here on the preload library tells of waits */

/* harvest.c */
size_t sonde__harvest(struct sonde_thread *finder); /* finder NULL: the monitor itself. Under harvest_lock */
void   sonde__harvest_abandon(void);                /* count what never finished. Under both locks */
void   sonde__harvest_late(void);                   /* count what came after the final flush. Under both locks */

/* monitor.c */
#define SONDE_MONITOR_LATE "its monitor thread did not start within 20 s"
extern unsigned sonde__monitor_start_ms; /* those 20 s; tests have less patience */
int  sonde__monitor_start(void);        /* SONDE_EBUSY: late */
void sonde__monitor_take(const struct sonde_activity *a); /* under monitor_lock */
void sonde__monitor_drain(void);                          /* the multiplexer; under monitor_lock */
void sonde__monitor_account(void);                        /* header and ledger; under monitor_lock */
void sonde__monitor_clocks(void);                         /* pairs of all devices; asks the runtime */
bool sonde__monitor_make_room(void);                      /* more segments; false elsewhere, or when there is no room */
bool sonde__monitor_flush(enum sonde_flush how, unsigned bound_ms);
void sonde__monitor_wake(void);                           /* a turn soon; any thread, and a sample's handler */

/* profile.c (monitor's) */
int  sonde__profile_init(void);
void sonde__profile_reserve(void);
void sonde__profile_call(const struct sonde_event *e);
void sonde__profile_op(const struct sonde_event *e, const struct sonde_times *t, unsigned flags);
void sonde__profile_sleep(uint32_t node, uint64_t ns);
void sonde__profile_sample(uint32_t lane, const struct sonde_sample *s);

/* busy.c (monitor's): union of intervals */
void sonde__busy_add(uint32_t device, enum sonde_op_kind kind, uint64_t start_ns, uint64_t end_ns);
void sonde__busy_settle(struct sonde_live_header *header);
void sonde__busy_forget(void);

/* trace.c (monitor's side and the tracing threads) */
/* Append a row of a trace, or count it as lost. On the monitor. */
void sonde__trace_row(uint32_t lane, enum sonde_table table, const void *row);
/* Count rows that are missing; lane 0: of no lane that is known. Any thread, and a sample's handler. */
void sonde__trace_lost(uint32_t lane, enum sonde_table table, enum sonde_drop cause, uint64_t rows);
void sonde__trace_off(enum sonde_drop cause);
void sonde__trace_forget(void);
void sonde__trace_idle(void);     /* a good moment to encode */
uint64_t sonde__trace_cpu_ns(void);

/* files.c (monitor thread's) */
int  sonde__files_open(void);      /* private descriptors, process directory, live and data files */
int  sonde__files_grow(uint64_t live_bytes); /* make room in live.sonde that is really on disk */
int  sonde__files_append(const void *bytes, size_t size); /* to data.sonde; any of our threads */
uint64_t sonde__files_written(void);
bool     sonde__files_shared(void); /* the descriptor table is the program's */

/* ticks: the cycle counter, for own cost only; never a time in a record */
static inline uint64_t sonde__ticks(void)
{
#if defined __x86_64__
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#elif defined __aarch64__
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return sonde_now_ns();
#endif
}

#endif
