/* target.h - the parts of the CPU side among themselves (docs/developers/sampling.md).
 *
 *     sample.c          the signal, its handler, the monitor's turn
 *     sleep.c           waits in the C library
 *     samples.c         a thread's ring of samples and waits
 *     sample_threads.c  which threads there are, and what makes each be sampled
 *     sample_switch.c   when a thread was off the CPU
 *     sample_counters.c what the CPU counts for each, and the contexts in which it does
 *
 * A target is a thread of the process. The monitor makes and ends them, under
 * thread_lock; a handler finds its own by its number, and knows it by the tid.
 */
#ifndef SONDE_AGENT_SAMPLE_TARGET_H
#define SONDE_AGENT_SAMPLE_TARGET_H

#include <ucontext.h>

#include "agent/state/state.h"
#include "agent/state/thread.h"

struct sonde_ring { /* context switches of a thread, as the kernel writes them; page NULL: none */
    struct perf_event_mmap_page *_Atomic page; /* the monitor's; its thread looks whether there is one as it ends */
    int fd;
    uint32_t flags;         /* of the row that `out_ns` begins */
    uint32_t lane;          /* of its rows; 0: not known yet */
    uint64_t out_ns;        /* 0: it is on the CPU, or that is not known */
    uint64_t count;         /* records in this second */
    bool full;              /* no more could be written when it was read last */
};

#define SONDE_TARGET_FDS_MAX 65536u

struct sonde_counting { /* a counter of the CPU in a thread, as it was read last */
    int fd;
    uint64_t count, enabled_ns, running_ns;
};

enum sonde_target_state {
    SONDE_TARGET_NEW,
    SONDE_TARGET_STARTING, /* somebody is about to arm it: its thread as it starts, or the monitor */
    SONDE_TARGET_ENDED,    /* its thread has given its slot back, and is all but gone */
    SONDE_TARGET_PERF,
    SONDE_TARGET_TIMER,
    SONDE_TARGET_BLOCKED, /* it blocks the signal: a sigwait of its own would get it */
    SONDE_TARGET_REFUSED, /* by the kernel */
    SONDE_TARGET_OURS,    /* not the program's */
};

struct sonde_target {
    _Atomic int tid; /* 0 free */
    struct sonde_thread *_Atomic thread;
    _Atomic bool wanted;  /* a signal came, but there is no slot yet */
    _Atomic uint8_t state; /* enum sonde_target_state */
    bool seen;              /* by the scan */
    _Atomic bool sampled;   /* ever; by its thread, as it starts, or the monitor: as `timer` */
    bool asked;             /* for a slot */
    bool ring_tried;
    int fd;                 /* of its event */
    _Atomic int timer;
    _Atomic uint64_t due_ns; /* its thread's CPU time when the timer was due first; 0: there is none */
    _Atomic uint64_t signal_ns; /* the same at its last signal; 0: there was none */
    _Atomic uint64_t late_ns; /* how long the timer was due when a tick found it in user mode, the last time; 0: none has */
    uint64_t phase_ns;      /* CPU time of threads before it that its first sample stands in for */
    uint32_t next;          /* in its hash chain, or among the free */
    _Atomic uint32_t lane;  /* its thread's, once that has given its slot back; 0: it has not, or had none */
    uint64_t base_ns;       /* its CPU time when it was seen first */
    uint64_t since_ns;      /* when that was */
    uint64_t look_at_ns;    /* one that blocks the signal: whether it still does */
    uint64_t checked_cpu_ns, checked_taken; /* at the last look for threads that block the signal */
    struct sonde_ring ring;
    bool counting_tried, counting_met, counting_on, uncounted, counts; /* met: tried ever; uncounted: some of these found no room; counts: some have an event */
    struct sonde_counting counting[SONDE_CPU_COUNTERS_MAX];
};

/* Recording, as far as this side goes. */
static inline bool sonde__sample_on(void)
{
    return sonde__flag && atomic_load_explicit(sonde__flag, memory_order_acquire) == SONDE_FLAG_ON;
}

/* samples.c: in the thread, or its handler. False: no room. */
/* `cpu_ns`: the thread's CPU time. Where there is no room the next sample stands for this one's time, too. */
bool sonde__sample_put(struct sonde_thread *t, uint64_t time_ns, uint64_t cpu_ns, uint32_t node, uint32_t flags);
bool sonde__sample_slept(struct sonde_thread *t, uint64_t from_ns, uint64_t to_ns, uint32_t node, uint32_t kind); /* busy */

/* `samples` of a counter; false: no room. */
bool sonde__sample_counted(struct sonde_thread *t, uint32_t node, uint32_t counter, uint64_t samples);

/* sample_threads.c */
uint64_t sonde__sample_period_ns(void);
struct sonde_thread *sonde__target_mine(void);     /* the slot that the calling thread got as it started, or NULL */
void sonde__target_starts(void);                   /* the calling thread */
bool sonde__target_ends(uint64_t cpu_ns);          /* it, when it has a slot; what it used since its last sample. True: the slot is given back */
/* Any thread; NULL: not ours. `number`: 0 its CPU time, or that which sonde__target_signals was given. */
struct sonde_target *sonde__target_of_signal(const void *siginfo, uint32_t *number);
bool sonde__target_signals(struct sonde_target *x, int fd, uint32_t number); /* from here on the perf event of this descriptor signals the thread */
void sonde__target_silence(int fd);                /* closes it */
bool sonde__targets_begin(void);
void sonde__targets_turn(uint64_t now, bool rearm, bool on);
void sonde__targets_disarm(void);
void sonde__targets_open(bool open);               /* threads that start may arm themselves */
void sonde__targets_forget(void);
void sonde__targets_account(struct sonde_live_header *header);

/* sample_counters.c: any thread; two in the thread's handler; the rest the monitor's */
bool sonde__counting_asked(void);
void sonde__counting_seen(uint32_t counter, const ucontext_t *context); /* its signal */
void sonde__counting_held(struct sonde_thread *t, uint32_t counter);    /* it waits for the call's end */
void sonde__counting_open(struct sonde_target *x, bool on);
void sonde__counting_close(struct sonde_target *x);
void sonde__counting_ended(const struct sonde_target *x); /* its thread is gone */
void sonde__counting_tend(struct sonde_target *x, uint64_t now, bool on);
void sonde__counting_turn(uint64_t now);
void sonde__counting_take(uint32_t node, uint32_t counter, uint64_t samples); /* out of a thread's ring */
void sonde__counting_account(void);
void sonde__counting_end(void);
void sonde__counting_forget(void);

/* sample_switch.c */
void sonde__ring_begin(void);
bool sonde__rings_lacking(void);                   /* some thread was or is without one */
bool sonde__ring_open(struct sonde_target *x);
void sonde__ring_last(struct sonde_target *x);    /* a thread that does not come back while we look */
void sonde__ring_drain(struct sonde_target *x);   /* its rows to the thread's lane */
void sonde__ring_close(struct sonde_target *x);
void sonde__rings_bound(struct sonde_target *targets, uint32_t count, uint64_t now); /* after those of all have been drained */

#endif
