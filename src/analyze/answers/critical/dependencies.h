/* dependencies.h - what one operation or API call waited for, and what waited for it.
 *
 * These are the edges of the critical path (critical.h), of one step at a time, and the deciding one is that over which the
 * path goes: docs/critical-path.md, "Dependencies". Order within a thread is not among them.
 *
 * The graph of the process that was asked about last is kept, since questions come one after the other: up to 96 bytes for
 * each operation with its call.
 *
 * Threads: any; a question waits for the one before.
 */
#ifndef SONDE_ANALYZE_ANSWERS_CRITICAL_DEPENDENCIES_H
#define SONDE_ANALYZE_ANSWERS_CRITICAL_DEPENDENCIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "format/reader.h"

/* Why one waited for the other; name in JSON, what it says. Append only. */
#define SONDE_DEPENDENCY_MAP(X)                                                                                     \
    X(SUBMISSION, "submission", "the API call that enqueued it")                                                    \
    X(QUEUE, "queue", "order of an in-order queue")                                                                 \
    X(BARRIER, "barrier", "barrier or marker of an out-of-order queue")                                             \
    X(WAIT_LIST, "wait_list", "wait list")                                                                          \
    X(EVENT, "event", "event that stands for the earlier work of a queue")                                          \
    X(DEFAULT_STREAM, "default_stream", "legacy default stream of CUDA")                                            \
    X(USER_EVENT, "user_event", "user event, completed by this API call")                                           \
    X(CALL_WAIT, "call_wait", "the API call waits for the operation")                                               \
    X(CALL_QUEUE, "call_queue", "the API call waits for the queue")                                                 \
    X(CALL_DEVICE, "call_device", "the API call waits for the device")

/* Why nothing is known of an operation or call; the same. Append only. */
#define SONDE_DEPENDENCY_UNKNOWN_MAP(X)                                                                             \
    X(UNTIMED, "untimed", "its times are unknown")                                                                  \
    X(POINT, "point", "it is a place in its queue: it stands for the work before it, or holds back what comes next") \
    X(SYNCHRONIZE, "synchronize", "it is its API call")                                                             \
    X(COLLECTIVE, "collective", "it runs as a kernel, which is an operation of its own")                            \
    X(EARLIER, "earlier", "only the last part of the run was examined")                                             \
    X(UNREAD, "unread", "its row was damaged, or is of a kind that this version does not know")

/* clang-format off */
enum sonde_dependency_reason {
#define X(name, json, text) SONDE_DEPENDENCY_##name,
    SONDE_DEPENDENCY_MAP(X)
#undef X
    SONDE_DEPENDENCY_COUNT
};
enum sonde_dependency_unknown {
    SONDE_DEPENDENCY_KNOWN,
#define X(name, json, text) SONDE_DEPENDENCY_##name,
    SONDE_DEPENDENCY_UNKNOWN_MAP(X)
#undef X
};
/* clang-format on */
const char *sonde_dependency_reason_name(enum sonde_dependency_reason reason);    /* "wait_list" */
const char *sonde_dependency_unknown_name(enum sonde_dependency_unknown unknown); /* "untimed"; NULL: it is known */

/* An operation, or an API call. Times are those of its row, but that a call ends where its thread's next one begins. */
struct sonde_dependency_step {
    bool is_call;
    uint32_t lane, node;         /* of the process */
    uint64_t correlation;        /* 0 none */
    uint64_t begin_ns, end_ns;
};

struct sonde_dependency {
    struct sonde_dependency_step step; /* the other end */
    uint32_t reasons;            /* 1 << enum sonde_dependency_reason, at least one */
    bool inferred;               /* no row says it: docs/critical-path.md, "Inferred waits" */
    bool decided;                /* of all that had to finish first it finished last */
    uint64_t slack_ns;           /* how much later it could have finished before it had decided; 0 of the one that did */
};

struct sonde_dependencies_of {   /* ready when zeroed */
    enum sonde_dependency_unknown unknown; /* then nothing else is there but `step` */
    struct sonde_dependency_step step;
    bool has_delay;              /* an operation, of which something decided: */
    uint64_t delay_ns;           /* from then to its start */
    bool dropped;                /* rows of the trace were dropped while recording: there may be others */
    SONDE_VECTOR(struct sonde_dependency) before; /* the deciding one first, then by slack, least first */
    SONDE_VECTOR(struct sonde_dependency) after;  /* in the order in which they went on: start of an operation, end of a call */
    uint64_t before_left_out, after_left_out;     /* beyond the limit */
};
void sonde_dependencies_of_fini(struct sonde_dependencies_of *of);

struct sonde_dependencies;
/* `max_rows` as in struct sonde_critical_options; with the same the answers agree with the path. 0 or SONDE_ENOMEM. */
int sonde_dependencies_create(const struct sonde_measurement *m, uint64_t max_rows, struct sonde_dependencies **out);
void sonde_dependencies_destroy(struct sonde_dependencies *d); /* NULL is nothing */

/* Of the operation that a lane's row is. `limit`: how many of each side. 0, or a negative error of reading. fini `of` in either case. */
int sonde_dependencies_of_op(struct sonde_dependencies *d, uint32_t process, uint32_t lane, const struct sonde_row_op *row,
                             uint32_t limit, struct sonde_dependencies_of *of);
/* Of the call that a thread was in at a time of its process; SONDE_ENOTFOUND: in none that is known. */
int sonde_dependencies_of_call(struct sonde_dependencies *d, uint32_t process, uint32_t lane, uint64_t at_ns, uint32_t limit,
                               struct sonde_dependencies_of *of);

#endif
