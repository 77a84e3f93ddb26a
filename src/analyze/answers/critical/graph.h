/* graph.h - what the files of the critical path share: one process's
 * operations and calls in memory, 32 bytes each, and what each waited for.
 * docs/critical-path.md defines the dependencies.
 *
 * Indices of calls and operations count from 0 where they are certain to be
 * there; in fields of type `link` they count from 1, and 0 is none.
 */
#ifndef SONDE_ANALYZE_ANSWERS_CRITICAL_GRAPH_H
#define SONDE_ANALYZE_ANSWERS_CRITICAL_GRAPH_H

#include "analyze/job/needs.h"
#include "analyze/model/recorded.h"
#include "analyze/samples/gaps.h"
#include "base/kinds.h"
#include "base/map.h"
#include "critical.h"

typedef uint32_t link;

struct sonde__cp_call {      /* by entry */
    uint64_t enter, leave;
    uint32_t node;           /* API node of the process */
    link before;             /* the thread's previous call */
    uint32_t thread : 30, waits : 1, message : 1; /* waits: it is in call_waits; message: one of MPI's */
    link after;              /* the thread's next call */
};

struct sonde__cp_op {        /* by lane, then start */
    uint64_t start, end;
    uint32_t node;           /* OP leaf of the process */
    link call;               /* that enqueued it */
    link before;             /* what its queue made it wait for */
    uint32_t lane : 24, kind : 7, waits : 1; /* lane: index in lanes; waits: it is in op_waits */
};
static_assert(sizeof(struct sonde__cp_call) == 32 && sizeof(struct sonde__cp_op) == 32, "memory per row");

enum sonde__cp_what {
    CP_OP,
    CP_LANE,
    CP_DEVICE,
    CP_PROCESS,
    CP_SET, /* a user event */
    CP_MEETING, /* other processes came so far: of a job's graphs only */
};
struct sonde__cp_wait {      /* `target` had to wait for all operations enqueued before `until` of what is named */
    uint64_t until;
    uint32_t target;         /* call or operation; sorted by it */
    uint32_t id;             /* CP_OP: operation; CP_LANE: lane; CP_DEVICE: device id; CP_SET: the call that completed it;
                              * CP_MEETING: of the job's meetings, at `until` */
    uint8_t what, inferred;
};

struct sonde__cp_lane {      /* a queue */
    uint32_t lane, device, context; /* ids of rows */
    uint32_t first, count;   /* its operations */
    bool out_of_order, legacy, non_blocking; /* SONDE_LANE_* */
    link default_lane;       /* the legacy default stream of its context, where it goes with that one */
    uint32_t *by_end;        /* its operations by end, or NULL: they are */
};

struct sonde__cp_sleep {     /* a thread was off the CPU of its own accord */
    uint64_t out, in;
    uint32_t node;           /* of the process: it waited in this function of the C library; 0 in what is not known */
    uint64_t woken;          /* when the waker was last active */
    uint32_t thread;
    link waker;              /* thread */
};

struct sonde__cp_thread {
    uint32_t lane;           /* id of the row */
    link first, last;        /* calls */
    uint32_t first_listed, listed_until, calls;
    uint64_t start_ns;       /* when it was seen first; the beginning of the path for the main thread */
    uint64_t end_ns;         /* 0 unknown */
    bool calls_back;         /* one of the runtime's: the program's code runs in it when an operation has ended */
    uint32_t first_sample, samples, first_switch, switches, first_sleep, sleeps, first_wait, waits;
};

struct sonde__cp_row { uint64_t correlation, start, end; }; /* of an operation, as its row has them: times are not moved */

struct sonde__cp_graph {
    const struct sonde_process *process;
    bool for_rows;           /* set before it is loaded: it is asked about single rows, and keeps what tells them; not the CPU side */
    struct sonde__cp_row *op_rows; /* [op] */
    uint64_t *call_keys;     /* [call]: correlation */
    const struct sonde_recorded *recorded;
    uint64_t begin, end;     /* of the path */
    uint64_t bound;          /* of the clocks */
    uint64_t from;           /* rows before were left out; 0 none */
    uint64_t no_times;
    struct sonde__cp_call *calls;
    uint32_t call_count;
    uint32_t *listed;        /* calls by thread, then entry */
    struct sonde__cp_op *ops;
    uint32_t op_count;
    struct sonde__cp_lane *lanes;
    uint32_t lane_count;
    struct sonde__cp_thread *threads;
    uint32_t thread_count;
    link main;               /* thread that is taken to have made the others; 0 none */
    struct sonde__cp_wait *call_waits, *op_waits;
    uint32_t call_wait_count, op_wait_count;
    struct sonde_row_sample *samples; /* by thread, time */
    struct sonde_row_switch *switches; /* the same; of threads that came back */
    struct sonde__cp_sleep *sleeps;   /* in host code only; by thread, time */
    uint32_t sample_count, switch_count, sleep_count;
    struct sonde_row_call *waits;     /* those of the sleeps whose function is known, as calls of it */
};

/* Read a process; `max_rows` as in the options. *g zeroed but for `for_rows` in, fini in either case. */
int sonde__cp_load(const struct sonde_process *p, const struct sonde_recorded *recorded, uint64_t max_rows, struct sonde_progress *progress,
                   struct sonde__cp_graph *g);
void sonde__cp_fini(struct sonde__cp_graph *g);

/* load.c -> waits.c: rows on their way into the graph. */
struct sonde__cp_key {
    uint64_t correlation;
    uint32_t op;
};
struct sonde__cp_point {
    uint64_t correlation, enter;
    uint32_t lane; /* index in lanes */
};
struct sonde__cp_loaded_call {
    struct sonde__cp_call call;
    uint64_t correlation;
};
typedef SONDE_VECTOR(struct sonde__cp_loaded_call) sonde__cp_loaded_calls;
struct sonde__cp_blocked { uint32_t call, lane; }; /* a call known by its name to wait; queue's row id, 0 unknown */
struct sonde__cp_loading {
    struct sonde__cp_graph *g;
    SONDE_VECTOR(struct sonde__cp_key) keys;     /* of operations; by correlation once loaded */
    SONDE_VECTOR(struct sonde__cp_point) points; /* events recorded and waited for; by correlation */
    SONDE_VECTOR(struct sonde__cp_blocked) blocked;
    uint32_t *thread_of, *queue_of;              /* [lane id]: index + 1 */
};
/* Resolve WAIT rows, barriers of out-of-order queues, and what must be inferred. */
int sonde__cp_add_waits(struct sonde__cp_loading *l);
/* Calls of MPI, as far as no other call of their thread lies within them, behind the calls, by entry as these are (messages.c). */
int sonde__cp_add_message_calls(const struct sonde__cp_loading *l, sonde__cp_loaded_calls *calls);
/* The CPU side, with the threads that are taken to have ended sleeps (sleeps.c). */
int sonde__cp_load_cpu(const struct sonde__cp_loading *loading);

/* ---- questions (cause.c) ------------------------------------------- */

struct sonde__cp_cause {     /* what finished last of what had to finish first */
    enum {
        CP_NOTHING,
        CP_CALL,
        CP_OPERATION,
        CP_ELSEWHERE,            /* other processes; id: the meeting */
    } kind;
    uint32_t id;
    uint64_t time;           /* when; not after what it made wait */
    bool inferred;
};
/* Of an operation's being where it is at `at` (its end, or earlier): CP_ELSEWHERE within it, or nothing. */
struct sonde__cp_cause sonde__cp_op_met(const struct sonde__cp_graph *g, uint32_t op, uint64_t at);
/* Of an operation's start. */
struct sonde__cp_cause sonde__cp_op_cause(const struct sonde__cp_graph *g, uint32_t op);
/* Of a call's being where it is at `at` (its leave, or earlier): an operation it waited for, that ended within it, or
 * the call that completed a user event. */
struct sonde__cp_cause sonde__cp_call_cause(const struct sonde__cp_graph *g, uint32_t call, uint64_t at);

/* The waits of a call or operation: [*first, returned). */
uint32_t sonde__cp_waits(const struct sonde__cp_wait *waits, uint32_t count, uint32_t target, uint32_t *first);
/* The n-th of a lane's operations to end. */
static inline uint32_t sonde__cp_nth_to_end(const struct sonde__cp_lane *q, uint32_t n)
{
    return q->by_end ? q->by_end[n] : q->first + n;
}
/* How many of them ended at or before `limit`. */
uint32_t sonde__cp_ended(const struct sonde__cp_graph *g, uint32_t lane, uint64_t limit);
/* Of a lane's operations enqueued before `until`, the last to end at or before `limit`. */
link sonde__cp_latest(const struct sonde__cp_graph *g, uint32_t lane, uint64_t until, uint64_t limit);
/* Lanes whose earlier work every operation of `lane` waits for without saying so (CUDA's
 * legacy default stream): those of [*first, returned) for which sonde__cp_in_step is true. */
uint32_t sonde__cp_default_lanes(const struct sonde__cp_graph *g, uint32_t lane, uint32_t *first);
bool sonde__cp_in_step(const struct sonde__cp_graph *g, uint32_t lane, uint32_t other);
/* The lanes that a wait for a lane, a device or the process means: those of [*first, returned)
 * for which sonde__cp_covers is true. */
uint32_t sonde__cp_covered(const struct sonde__cp_graph *g, const struct sonde__cp_wait *w, uint32_t *first);
bool sonde__cp_covers(const struct sonde__cp_graph *g, const struct sonde__cp_wait *w, uint32_t lane);
/* Did `op` begin before `other`, so that the path cannot turn back? Of two at one time, one without length did. */
bool sonde__cp_began_earlier(const struct sonde__cp_graph *g, uint32_t op, uint32_t other);
/* When an operation had been submitted by its call, of which it has one: not after its start. */
uint64_t sonde__cp_submitted(const struct sonde__cp_graph *g, uint32_t op);
/* The operation that a row of a queue (by index) became, in a graph for rows; 0: none. */
link sonde__cp_op_of_row(const struct sonde__cp_graph *g, uint32_t lane, const struct sonde_row_op *row);
/* When an operation was enqueued; 0 unknown. */
uint64_t sonde__cp_enqueued(const struct sonde__cp_graph *g, uint32_t op);
/* The operation whose end is taken to have made a thread of the runtime call the program back: the last to end in (from, at]. */
link sonde__cp_called_back(const struct sonde__cp_graph *g, uint32_t thread, uint64_t from, uint64_t at);
/* The last call that the thread entered at or before `at`. */
link sonde__cp_call_at(const struct sonde__cp_graph *g, uint32_t thread, uint64_t at);

/* ---- contexts and things (context.c), host code (host.c) --------------------------------- */

/* A path in the making. */
struct sonde__cp_result {
    struct sonde_path *path;
    struct sonde_map things;     /* hash of what a thing is -> index */
    struct sonde_map places;     /* tree node << 4 | category -> index */
    int rc;                      /* SONDE_ENOMEM once memory was short */
};
void sonde__cp_result_fini(struct sonde__cp_result *r); /* not the path */

/* What a process contributes to it. */
struct sonde__cp_book {
    const struct sonde_profile *profile;
    const struct sonde__cp_graph *g;
    uint32_t process;            /* the graph's */
    struct sonde__cp_result *out;
    struct sonde_map by_node;    /* node << 4 | category -> index; host code: tree nodes, else nodes of the process */
    struct sonde_map between;    /* two API nodes -> tree node, pool << 32 */
    struct sonde__pools pools;   /* of host code between two calls */
    uint32_t *share_things;      /* [share of the pools]: index of its thing */
    sonde__pieces pieces;        /* scratch */
    sonde__gap_samples found;
};
void sonde__cp_book_fini(struct sonde__cp_book *b);
/* What a path leads through: a process, or those of a job that wait for each other. */
struct sonde__cp_process {
    struct sonde__cp_graph g;
    struct sonde_recorded recorded;
    struct sonde__cp_book book;
};
struct sonde__cp_run {           /* ready when zeroed */
    struct sonde__cp_result out;
    struct sonde__cp_process *list;
    uint32_t count;
    uint32_t apart;              /* of a job: ranks left out, since no clock is known for their hosts */
    struct sonde_needs needs;    /* of a job; `process` of points counts in `list`, `lane` is a thread of its graph, or (end_ns) an operation */
};
/* open.c: read the processes (indices of the measurement); `max_rows` of all together. 0, SONDE_ENOMEM, or an error of reading; close in either case. */
int sonde__cp_open(const struct sonde_measurement *m, const struct sonde_profile *profile, const uint32_t *processes, uint32_t count,
                   uint64_t max_rows, struct sonde_progress *progress, struct sonde__cp_run *run);
/* The processes of the measurement that wait for each other: none if there are not two. */
int sonde__cp_open_job(const struct sonde_measurement *m, const struct sonde_profile *profile, uint64_t max_rows,
                       struct sonde_progress *progress, struct sonde__cp_run *run);
void sonde__cp_close(struct sonde__cp_run *run); /* not the path */
/* All times of the process by the clock of the needs, and steps of a path back to those of their processes (move.c). */
void sonde__cp_move(struct sonde__cp_process *p, const struct sonde_needs *needs);
void sonde__cp_move_back(struct sonde_path *path, const struct sonde_needs *needs);

/* Index of the thing that an activity is; `node` as in by_node. */
uint32_t sonde__cp_thing(struct sonde__cp_book *b, uint32_t category, uint32_t node);
/* Name and file of a thing, by its category and node; of a node without any they are "". */
void sonde__cp_name(const struct sonde_profile *profile, struct sonde_path_thing *thing);
enum sonde_path_category sonde__cp_category(unsigned kind); /* of an operation */
static inline enum sonde_path_category sonde__cp_call_category(const struct sonde__cp_call *call)
{
    return call->message ? SONDE_PATH_MESSAGE : SONDE_PATH_API;
}
/* Tell what a thread's host code in [from, to] was, latest first, without waits whose function is known; `before` is
 * the call that it follows. */
struct sonde__cp_span {
    uint64_t from, to;
    uint32_t category;           /* HOST, START or PAUSED */
    uint32_t node;               /* of the tree; POOLED: what INFERRED would have */
    uint32_t pool;               /* of its gap, plus one; 0: none */
    enum {
        CP_SAMPLED,
        CP_POOLED,
        CP_INFERRED,
    } known; /* by a sample, its pool, or what the stacks around it share */
};
/* Make the pools of the process: before anything is asked of its host code. 0 or SONDE_ENOMEM. */
int sonde__cp_make_pools(struct sonde__cp_book *b);
typedef void (*sonde__cp_span_fn)(void *user, const struct sonde__cp_span *span);
void sonde__cp_host_spans(struct sonde__cp_book *b, uint32_t thread, link before, uint64_t from, uint64_t to,
                          sonde__cp_span_fn fn, void *user);

/* The outermost frame of the user's that made the call; nodes of the tree, 0: there is none. */
uint32_t sonde__cp_outermost(const struct sonde__cp_book *b, uint32_t api);
/* Of the thread's host code right before `at`, which follows the call `before`: what the stacks around it share. */
uint32_t sonde__cp_between(struct sonde__cp_book *b, uint32_t thread, link before, uint64_t at);
/* Is its place a node of the tree rather than of the process? */
static inline bool sonde__cp_of_host(uint32_t category)
{
    return category == SONDE_PATH_HOST || category == SONDE_PATH_OFF || category == SONDE_PATH_START ||
           category == SONDE_PATH_PAUSED;
}

/* ---- the walk (critical.c) ------------------------------------------------ */

/* The path through what the run opened. 0 or SONDE_ENOMEM. */
int sonde__cp_compute(struct sonde__cp_run *run, const struct sonde_critical_options *options);

/* ---- twice as fast (whatif.c) ------------------------------------------- */

/* Evaluate the things things[0..count) of the run's path: sets `evaluated` and
 * `saving_ns`. 0 or SONDE_ENOMEM. */
int sonde__cp_evaluate(struct sonde__cp_run *run, const uint32_t *things, uint32_t count);
/* The run's end as the dependencies alone give it, with nothing changed: for tests. */
int sonde__cp_replay(struct sonde__cp_run *run, uint64_t *end);

#endif
