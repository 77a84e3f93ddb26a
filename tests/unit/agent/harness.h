/* harness.h - the whole agent in a test's own process, under a backend whose
 * completions the test decides. Everything else is real: threads, unwinding,
 * channels, files, and the reader that looks at the result.
 */
#ifndef SONDE_TESTS_AGENT_HARNESS_H
#define SONDE_TESTS_AGENT_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/context/context.h"
#include "agent/run/run.h"
#include "agent/sample/sample.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "format/reader.h"

/* For children: cmocka's assertions belong to the test's own process. */
#define REQUIRE(x)                                                            \
    do {                                                                      \
        if (!(x)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x); \
            _exit(1);                                                         \
        }                                                                     \
    } while (0)

/* Run a case in a process of its own, since the agent starts once. Its exit
 * status, 0 when it returns; -1 when a signal ended it, as one does when it hangs. */
int harness_in_child(void (*body)(void));

/* Operations in the profile of a process. */
uint64_t harness_profile_count(const struct sonde_process *p);

/* Set the environment of `sonde record` with a fresh directory under the
 * current one. `extra` is "NAME=value" pairs ended by NULL. */
const char *harness_setup(const char *name, const char *const *extra);

/* Hooked calls of the test's runtime. */
enum {
    API_LAUNCH = 1,
    API_WAIT = 2,
    API_ALLOC = 3,
};

/* One queue of a device that exists in this process. */
uint32_t harness_queue(uint32_t flags);

/* Launch one operation; it completes at once when `done`, else when
 * harness_complete_all is called. Returns whether the hook took part. */
bool harness_launch(uint32_t lane, enum sonde_op_kind kind, uint64_t bytes, bool done);
void harness_complete_all(void);
bool harness_wait(void); /* an API call without operation */

/* Number of tokens given back without being asked, and of polls. */
extern _Atomic uint64_t harness_released, harness_polls;
/* The monitor stands still, outside of all locks but the one that forks want, from the first of these to the second. */
void harness_hold_monitor(void);
void harness_let_monitor_go(void);
/* So long is the agent in the runtime whenever it asks it something, and so often it is at the moment. */
extern _Atomic unsigned harness_ask_us;
extern _Atomic int harness_in_runtime;
/* Times that the test's device reports, relative to the API call's entry. */
extern _Atomic int64_t harness_start_after, harness_duration;

/* How often the agent asked for clock pairs; what they say of the device's clock, and
 * how many of the first requests find it not known yet. */
extern _Atomic uint64_t harness_clock_requests, harness_clock_bound_ns, harness_clock_late;

/* Called when recording is being turned on or off, by the thread that does it. */
extern void (*_Atomic harness_on_range)(bool on);

/* How long a test waits for what must come: far more than a loaded machine needs. */
enum { HARNESS_PATIENCE_S = 300 };

/* Flush as at exit. */
void harness_flush(void);
/* The same, then open what was written. */
struct sonde_measurement *harness_finish(void);
/* Open without any flush, as after SIGKILL. */
struct sonde_measurement *harness_open(void);
void harness_remove(void);

/* A backend whose completions are reported, by key. */
extern const struct sonde_backend harness_reporting;
bool harness_submit(uint64_t key, uint32_t flags, uint32_t *context, uint64_t *enter_ns);
void harness_report(const struct sonde_completion *completion); /* at the monitor's next turn */

#endif
