/* run.h - the agent at work: hooks in the program's threads, and the monitor.
 *
 *     agent.c       start, fork, and the ends of the process
 *     call.c        the hooks' side of the backend ABI
 *     range.c       ranges and marks; range_rows.c: what becomes of them
 *     thread.c      threads get their slots and give them back
 *     recording.c   recording goes on and off
 *     monitor.c     the monitor thread and its turns
 *     settle.c      what a turn does, and the last one
 *     harvest.c     which operations have finished; match.c: of runtimes that report them
 *     ledger.c      the process's own figures
 *     attach.c      into a program that runs, and out of it
 */
#ifndef SONDE_AGENT_RUN_RUN_H
#define SONDE_AGENT_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/backend.h>

#include "agent/state/event.h"
#include "agent/state/thread.h"

/* ---- agent.c ------------------------------------------------------------------------------------- */

/* Around what the monitor asks of a runtime, which has locks of its own: no child is made meanwhile. In other threads nothing. */
void sonde__enter_runtime(void);
void sonde__leave_runtime(void);

/* ---- match.c: submissions with keys, and the completions that name them. Under harvest_lock ---- */

void sonde__match_keep(const struct sonde_event *e);
/* An operation over another one. True: `found` is what to hand over now. */
bool sonde__match_over(const struct sonde_event *e, struct sonde_activity *found);
void sonde__match_turn(enum sonde_collect how); /* the runtimes' reports; monitor */
void sonde__match_abandon(void);       /* count what was never reported */
void sonde__match_forget(void);        /* in a forked child */
size_t sonde__match_waiting(void);
uint64_t sonde__match_silent(void);    /* submissions of many, of which nothing has been reported */

/* ---- harvest.c --------------------------------------------------------------------------------- */

size_t sonde__harvest(struct sonde_thread *finder); /* finder NULL: the monitor itself. Under harvest_lock */
void sonde__harvest_abandon(void);                  /* count what never finished. Under both locks */
void sonde__harvest_late(void);                     /* count what came after the final flush. Under both locks */

/* ---- range_rows.c ------------------------------------------------------------------------------ */

void sonde__ranges_drain(struct sonde_thread *t);         /* ended ones to the trace; under monitor_lock */
void sonde__ranges_last(void);                            /* those that are open at the end; under monitor_lock */
void sonde__ranges_of_ended(struct sonde_thread *t);      /* in a thread that ends: what it has left open */
void sonde__ranges_forget(void);                          /* in a forked child */

/* ---- ledger.c: figures of the header; under monitor_lock ----------------------------------------- */

void sonde__ledger_seen(void);    /* operations: at every turn, so that what a killed program had enqueued is counted */
void sonde__ledger_account(void); /* all of them */

/* ---- settle.c -------------------------------------------------------------------------------------- */

#define SONDE_EXIT_BOUND_MS 1000 /* how long the final flush waits for work in flight */
enum sonde_flush {
    SONDE_FLUSH_STORE = 3,  /* store what has finished; wait for nothing */
    SONDE_FLUSH_FINISH = 1, /* main returned or exit was called: wait for work under way, stay open */
    SONDE_FLUSH_CLOSE = 2,  /* the last moment at which the runtime may be asked */
    SONDE_FLUSH_DEATH = 5,  /* a signal kills the program: what can be had within a moment */
    SONDE_FLUSH_SIGNAL = 4, /* no flush: give the samples' signal back to the program */
};
void sonde__settle_drain(void);           /* the multiplexer; under monitor_lock and harvest_lock */
void sonde__settle_clocks(void);          /* pairs of all devices; asks the runtime. Monitor */
void sonde__settle(enum sonde_flush how); /* the monitor's part of a flush */
void sonde__settle_late(void);            /* after it: count what came too late. Any thread */

/* ---- recording.c. Any thread ------------------------------------------------------------------------- */

void sonde__flag_set(uint32_t value);         /* the word that every hook looks at: enum sonde_flag */
void sonde__agent_off(const char *reason);    /* fail open */
void sonde__agent_set_range(int on);          /* record from now on, or no more */
void sonde__agent_apply_range(void);          /* see that the last word on that holds */
void sonde__recording_forget(void);           /* in a forked child */
void sonde__recording_end(void);              /* off, whatever anybody says from now on */

/* ---- monitor.c --------------------------------------------------------------------------------------- */

#define SONDE_MONITOR_LATE "its monitor thread did not start within 20 s"
extern unsigned sonde__monitor_start_ms; /* those 20 s; tests have less patience */
int sonde__monitor_start(void);          /* SONDE_EBUSY: late */
bool sonde__monitor_flush(enum sonde_flush how, unsigned bound_ms); /* false: it did not answer in time. Any thread */

/* ---- thread.c ----------------------------------------------------------------------------------------- */

struct sonde_thread *sonde__thread_enter(void); /* slot of the calling thread; NULL: no room */
void sonde__thread_forget_all(void);            /* in a forked child */
void sonde__thread_key_delete(void);            /* for attach.c: no thread is told any more that it ends */

/* ---- agent.c ------------------------------------------------------------------------------------------ */

bool sonde__agent_enter(void);                  /* start, or restart in a forked child; true = on */
void sonde__agent_flush(enum sonde_flush how);  /* waits for the monitor, within a bound */
void sonde__agent_die(void);                    /* of the signal that waited for the end of a call */

extern bool sonde__agent_exits;                 /* the handlers of the process's exit are there, which stay */

/* ---- attach.c. The monitor ------------------------------------------------------------------------------ */

bool sonde__attach_is_over(uint64_t now);       /* it came into the running program, and is to go */
void sonde__attach_end(void);                   /* it goes; after this the monitor thread ends */

/* ---- call.c ------------------------------------------------------------------------------------------- */

struct sonde_thread *sonde__enter(void);        /* the calling thread's slot; may start the agent */

#endif
