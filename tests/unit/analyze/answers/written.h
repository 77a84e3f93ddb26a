/* written.h - small made-up programs as measurements, through the real format code: for
 * tests of what is computed from the trace. Times are after the process's start.
 */
#ifndef SONDE_TESTS_ANALYZE_WRITTEN_H
#define SONDE_TESTS_ANALYZE_WRITTEN_H

#include "analyze/profile/profile.h"
#include "format/reader.h"

#define WRITTEN_START 5000000000ull

struct written;
struct written *written_begin(void);

/* Lanes; thread 1 is the process's main thread. */
uint32_t written_thread(struct written *w, uint64_t start, uint64_t end);
uint32_t written_queue(struct written *w, uint32_t device, uint32_t flags); /* devices count from 1; SONDE_LANE_* */

/* A call of `api` from `function` (called by main; "" is main itself). Returns its node. */
uint32_t written_call(struct written *w, uint32_t thread, const char *api, const char *function, uint64_t enter,
                      uint64_t leave);

struct written_op {
    uint32_t thread, queue;
    uint16_t kind, flags;      /* enum sonde_op_kind, SONDE_OP_* */
    const char *name;          /* of the kernel; NULL none */
    const char *api, *function; /* NULL: an API for the kind; main */
    uint64_t enter, leave, start, end, bytes;
    uint16_t source, target;   /* copies: enum sonde_memory */
    uint32_t source_device, target_device;
    uint32_t object;       /* of written_object; 0 none */
    bool no_call;          /* its CALL row is missing */
};
/* An operation with its call. Returns its correlation. */
uint64_t written_op(struct written *w, const struct written_op *op);

/* A data object of this enum sonde_object_kind, on `device` (0 none), that `function` allocated. Returns its number. */
uint32_t written_object(struct written *w, uint32_t thread, uint32_t kind, uint32_t device, const char *function, uint64_t bytes);

/* The call entered at `enter`, or the operation `waiter`, waited. */
void written_wait(struct written *w, uint32_t thread, uint64_t enter, uint64_t waiter, uint64_t awaited, uint32_t queue,
                  uint32_t device);
void written_pause(struct written *w, uint64_t from, uint64_t to); /* of recording */
void written_sleep(struct written *w, uint32_t thread, uint64_t out, uint64_t in);
void written_nap(struct written *w, uint32_t thread, const char *function, uint64_t from, uint64_t to); /* nanosleep in it */
void written_sample(struct written *w, uint32_t thread, const char *function, uint64_t at, uint64_t cpu_ns);
struct sonde_live_header *written_header(struct written *w);

/* Write and open it. Everything is freed by written_close. */
struct sonde_measurement *written_open(struct written *w, struct sonde_profile **profile);
void written_close(struct written *w);

#endif
