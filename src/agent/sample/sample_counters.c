/* sample_counters.c - what the CPU counts for each thread: perf events which signal the thread once in so many (record --cpu-counters).
 *
 * Each sampled thread has an event for each counter, which is opened by the monitor in its own descriptor table as those that
 * sample CPU time are. It counts in user mode only, so that no signal is made while the thread is in the kernel; docs/developers/sampling.md,
 * "Counters of the CPU", says for which events that holds how well. The thread's handler puts the call path in its ring (samples.c). The
 * event itself is read each second and before it is closed, also when its thread has ended by then: what it has counted in all
 * stands beside what samples say.
 */
#include "sample.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/stack/unwind_arch.h"
#include "agent/store/store.h"
#include "target.h"

#define READ_NS    1000000000u /* between two readings of all events */
#define FDS_LEFT           64u /* of RLIMIT_NOFILE, for all else that the monitor opens */

static struct counter {
    char name[32];
    uint32_t type;
    uint64_t config, period;
    uint32_t tally; /* its row; 0: none yet */
    bool refused;   /* by the kernel, for all threads */
} counters[SONDE_CPU_COUNTERS_MAX];

static struct {
    uint32_t count;
    bool read_list;
    uint64_t read_at_ns;
    uint32_t without;             /* threads that lack events, for want of descriptors; */
    uint64_t missed;              /* that had none, and have ended */
    _Atomic uint64_t interrupted; /* waits of the program that a counter of the hardware ended */
} counting;

/* "page-faults:1:2:1000,...": perf's name, type and config of each, and its period. */
static void read_list(void)
{
    const char *at = sonde__agent.config.cpu_counters;
    counting.read_list = true;
    while (*at && counting.count < SONDE_CPU_COUNTERS_MAX) {
        struct counter c = {.tally = 0};
        int used = 0;
        unsigned long long config, period;
        if (sscanf(at, "%31[^:,]:%u:%llu:%llu%n", c.name, &c.type, &config, &period, &used) != 4 || !period)
            return;
        c.config = config;
        c.period = period;
        counters[counting.count++] = c;
        at += used;
        at += *at == ',';
    }
}

bool sonde__counting_asked(void)
{
    return *sonde__agent.config.cpu_counters;
}

/* ---- in the thread, or its signal handler -------------------------------------------------------- */

/* An event of the hardware is noticed a little late. Where the thread has entered the kernel meanwhile the signal may end a wait. */
void sonde__counting_seen(uint32_t counter, const ucontext_t *context)
{
    if (counters[counter].type != PERF_TYPE_SOFTWARE && SONDE__INTERRUPTED(context))
        atomic_fetch_add_explicit(&counting.interrupted, 1, memory_order_relaxed);
}

void sonde__counting_held(struct sonde_thread *t, uint32_t counter)
{
    if (!(atomic_load_explicit(&t->at_end, memory_order_relaxed) & SONDE_AT_END_COUNTED))
        memset(t->samples.waits_counted, 0, sizeof t->samples.waits_counted);
    t->samples.waits_counted[counter]++;
    atomic_fetch_or_explicit(&t->at_end, SONDE_AT_END_COUNTED, memory_order_relaxed);
}

void sonde__counting_deferred(struct sonde_thread *t, uint32_t node)
{
    atomic_fetch_and_explicit(&t->at_end, ~(uint32_t)SONDE_AT_END_COUNTED, memory_order_relaxed);
    for (uint32_t i = 0; i < SONDE_CPU_COUNTERS_MAX; i++)
        if (t->samples.waits_counted[i])
            sonde__sample_counted(t, node, i, t->samples.waits_counted[i]);
}

/* ---- the monitor's: events of a thread ----------------------------------------------------------- */

/* Refused for all threads, which is said once. */
static void refuse(struct counter *c, int why)
{
    if (why == ENOENT || why == ENODEV || why == EOPNOTSUPP || why == EINVAL) {
        c->refused = true;
        sonde_note("%s is not counted: this machine's kernel has no such counter (sonde doctor says more)", c->name);
        return;
    }
    for (uint32_t i = 0; i < counting.count; i++)
        counters[i].refused = true;
    sonde_note("the CPU's counters are not read: perf events are refused (error %d; sonde doctor says more)", why);
}

static bool is_too_many(int fd)
{
    struct rlimit limit;
    return fd >= (int)SONDE_TARGET_FDS_MAX || (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (rlim_t)fd + FDS_LEFT > limit.rlim_cur);
}

/* The descriptor; -1: none can be had, with errno. */
static int open_event(const struct counter *c, int tid, bool on)
{
    struct perf_event_attr attr = {
        .type = c->type,
        .size = sizeof attr,
        .config = c->config,
        .sample_period = c->period,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = !on,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    const int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 || !is_too_many(fd))
        return fd;
    syscall(SYS_close, fd);
    errno = EMFILE;
    return -1;
}

static bool open_one(struct sonde_target *x, uint32_t number, bool on)
{
    struct counter *c = &counters[number];
    struct sonde_counting *own = &x->counting[number];
    if (!c->tally && !(c->tally = sonde__tally_new(c->name, c->period)))
        return false;
    own->fd = open_event(c, atomic_load(&x->tid), on);
    if (own->fd >= 0 && sonde__target_signals(x, own->fd, number + 1))
        return true;
    if (own->fd >= 0)
        syscall(SYS_close, own->fd);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        x->uncounted = true;
    else if (errno != ESRCH)
        refuse(c, errno);
    own->fd = -1;
    return false;
}

void sonde__counting_open(struct sonde_target *x, bool on)
{
    if (!counting.read_list)
        read_list();
    x->counting_tried = x->counting_met = true;
    x->counting_on = on;
    x->uncounted = false;
    for (uint32_t i = 0; i < counting.count; i++) {
        x->counting[i] = (struct sonde_counting){.fd = -1};
        if (!counters[i].refused && !x->uncounted)
            x->counts |= open_one(x, i, on);
    }
    counting.without += x->uncounted;
}

/* Also what a thread that has ended left. */
static void read_events(struct sonde_target *x)
{
    for (uint32_t i = 0; i < counting.count && x->counts; i++) {
        struct { uint64_t count, enabled_ns, running_ns; } now;
        struct sonde_counting *own = &x->counting[i];
        if (own->fd < 0 || syscall(SYS_read, own->fd, &now, sizeof now) != (long)sizeof now)
            continue;
        sonde__tally_add(counters[i].tally, now.count - own->count, now.enabled_ns - own->enabled_ns, now.running_ns - own->running_ns);
        own->count = now.count;
        own->enabled_ns = now.enabled_ns;
        own->running_ns = now.running_ns;
    }
}

void sonde__counting_close(struct sonde_target *x)
{
    if (atomic_load(&x->state) != SONDE_TARGET_OURS)
        read_events(x);
    for (uint32_t i = 0; i < counting.count && x->counts; i++)
        if (x->counting[i].fd >= 0)
            sonde__target_silence(x->counting[i].fd);
    x->counts = x->counting_tried = false;
}

void sonde__counting_ended(const struct sonde_target *x)
{
    counting.missed += !x->counting_met && atomic_load(&x->state) != SONDE_TARGET_OURS;
}

void sonde__counting_tend(struct sonde_target *x, uint64_t now, bool on)
{
    for (uint32_t i = 0; i < counting.count && x->counts && x->counting_on != on; i++)
        if (x->counting[i].fd >= 0)
            syscall(SYS_ioctl, x->counting[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    x->counting_on = on;
    if (now >= counting.read_at_ns)
        read_events(x);
}

/* After those of all threads were tended. */
void sonde__counting_turn(uint64_t now)
{
    if (now >= counting.read_at_ns)
        counting.read_at_ns = now + READ_NS;
}

void sonde__counting_take(uint32_t node, uint32_t counter, uint64_t samples)
{
    if (counter < counting.count && counters[counter].tally)
        sonde__tally_samples(counters[counter].tally, node, samples);
}

/* ---- the end of a second, or of the process -------------------------------------------------------- */

void sonde__counting_account(void)
{
    struct sonde_agent *a = &sonde__agent;
    uint64_t lost[SONDE_CPU_COUNTERS_MAX] = {0};
    for (uint32_t i = 1; i <= atomic_load(&a->thread_count) && counting.count; i++)
        for (uint32_t k = 0; k < counting.count; k++)
            lost[k] += atomic_load_explicit(&atomic_load(&a->threads[i])->samples.lost_counted[k], memory_order_relaxed);
    for (uint32_t k = 0; k < counting.count; k++)
        sonde__tally_lost(counters[k].tally, lost[k]);
}

void sonde__counting_end(void)
{
    const uint64_t interrupted = atomic_load(&counting.interrupted);
    if (counting.without)
        sonde_note("CPU counters: %u threads were not counted, or not in full: too few descriptors (ulimit -n)", counting.without);
    if (counting.missed && sonde__counting_asked())
        sonde_note("CPU counters: %llu threads were not counted: they ended too soon, or blocked SIGURG", (unsigned long long)counting.missed);
    if (interrupted)
        sonde_note("CPU counters: %llu waits of the program ended early, with EINTR, by a signal of a counter (docs/counters.md)", (unsigned long long)interrupted);
}

void sonde__counting_forget(void)
{
    memset(counters, 0, sizeof counters);
    memset((void *)&counting, 0, sizeof counting);
}
