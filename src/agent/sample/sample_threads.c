/* sample_threads.c - which threads the process has, and what makes the kernel signal each.
 *
 * The number of links of /proc/self/task tells how many threads there are, so a
 * look at each turn is cheap; the folder is read when that number is not the
 * known one, and now and then, because one may have come as another went.
 *
 * A thread that ends and another that gets its number between two readings, with
 * all numbers given out once, would be taken for one.
 *
 * A thread is signalled by a timer on its CPU clock, or by a perf event of its
 * own which counts its CPU time and fires in user mode only; docs/developers/sampling.md
 * says when which, and why neither ends a wait. The events are in the monitor's
 * own descriptor table, which no fork or exec copies.
 */
#include "sample.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "agent/preload/preload.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "target.h"

#define TARGETS_MAX 16384u
#define CHAINS       4096u
#define OF_COUNTER      16   /* of_fd: bits of the target's number */
#define HZ_WITHOUT      199u  /* for what goes by a period where CPU time is not sampled, only counters are */
#define SCAN_NS  100000000u  /* between two readings of the folder, at most */
#define CHECK_NS 1000000000u /* between two looks for threads that block the signal, at most */
#define LOOK_NS     1000000u /* and at least */
#define SCAN_SHARE     20u   /* readings take at most one part in this of a processor */

static struct sonde_target targets[TARGETS_MAX]; /* 0: none. Pages are touched as threads come */
static _Atomic uint32_t of_fd[SONDE_TARGET_FDS_MAX]; /* number of the target whose event this is, and which of its events: sonde__target_signals */
static_assert(TARGETS_MAX <= 1u << OF_COUNTER, "of_fd");
static uint32_t chain[CHAINS];                   /* by tid; under thread_lock */

static struct {
    int folder;            /* /proc/self/task */
    _Atomic uint32_t used, live; /* targets */
    uint32_t free;
    bool full;             /* once there were more threads than targets */
    bool by_timers;        /* in preference to perf events */
    bool open;             /* threads that start may arm themselves; under thread_lock */
    uint64_t phase_ns;     /* CPU time of threads that ended since their last sample, less than a period; under thread_lock */
    uint64_t woken_ns;     /* when a thread that started woke the monitor last; under thread_lock */
    uint64_t scan_at_ns, check_at_ns;
    uint64_t sampled, missed; /* threads that have ended */
} watch = {.folder = -1};

/* ---- the table, under thread_lock ------------------------------------------------- */

static struct sonde_target *find(int tid)
{
    for (uint32_t i = chain[(unsigned)tid % CHAINS]; i; i = targets[i].next)
        if (atomic_load_explicit(&targets[i].tid, memory_order_relaxed) == tid)
            return &targets[i];
    return NULL;
}

static struct sonde_target *target_new(int tid, enum sonde_target_state state)
{
    uint32_t i = watch.free;
    if (i)
        watch.free = targets[i].next;
    else if (watch.used + 1 < TARGETS_MAX)
        i = ++watch.used;
    else
        return NULL;
    struct sonde_target *x = &targets[i];
    x->fd = x->timer = x->ring.fd = -1;
    atomic_store(&x->due_ns, 0);
    x->seen = true;
    x->sampled = x->asked = x->ring_tried = x->counting_tried = x->counting_met = x->counts = false;
    x->phase_ns = 0;
    atomic_store(&x->lane, 0);
    x->since_ns = sonde_now_ns();
    x->checked_cpu_ns = x->checked_taken = x->base_ns = 0;
    atomic_store(&x->wanted, false);
    atomic_store(&x->thread, NULL);
    atomic_store(&x->state, state);
    atomic_store(&x->tid, tid);
    x->next = chain[(unsigned)tid % CHAINS];
    chain[(unsigned)tid % CHAINS] = i;
    watch.live++;
    return x;
}

static void target_free(struct sonde_target *x)
{
    int tid = atomic_exchange(&x->tid, 0);
    uint32_t *link = &chain[(unsigned)tid % CHAINS], i = (uint32_t)(x - targets);
    while (*link != i)
        link = &targets[*link].next;
    *link = x->next;
    x->next = watch.free;
    watch.free = i;
    watch.live--;
}

/* The CPU clock of a thread of this process, as the kernel numbers it. */
static clockid_t clock_of(int tid)
{
    return (clockid_t)(~(uint32_t)tid << 3 | 6);
}

/* CPU time of a thread of this process; 0: it is gone. */
static uint64_t cpu_ns_of(int tid)
{
    struct timespec t;
    if (syscall(SYS_clock_gettime, clock_of(tid), &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* From here on the handler of its thread finds the slot. */
static void give_slot(struct sonde_target *x, struct sonde_thread *t)
{
    t->tid = atomic_load_explicit(&x->tid, memory_order_relaxed);
    atomic_store_explicit(&t->samples.cpu_ns, x->base_ns, memory_order_relaxed);
    t->samples.since_ns = x->since_ns;
    atomic_store_explicit(&x->thread, t, memory_order_release);
}

static bool is_sampled(const struct sonde_target *x)
{
    const uint8_t state = atomic_load(&x->state);
    return state == SONDE_TARGET_PERF || state == SONDE_TARGET_TIMER;
}

/* By the monitor, unless the thread has said meanwhile that it is not the program's. */
static void become(struct sonde_target *x, enum sonde_target_state state)
{
    uint8_t was = atomic_load(&x->state);
    while (was != SONDE_TARGET_OURS && !atomic_compare_exchange_weak(&x->state, &was, state))
        ;
}

struct sonde_thread *sonde__sample_slot(void)
{
    struct sonde_target *x = watch.live ? find((int)syscall(SYS_gettid)) : NULL;
    return x ? atomic_load(&x->thread) : NULL;
}

void sonde__sample_enter(struct sonde_thread *t)
{
    t->tid = (int)syscall(SYS_gettid);
    struct sonde_target *x = watch.live ? find(t->tid) : NULL;
    if (x && !atomic_load(&x->thread))
        give_slot(x, t);
}

/* Under thread_lock: of a thread that called no hook. */
static void vanished(struct sonde_thread *t)
{
    sonde__lane_end(t);
    t->tid = 0;
    sonde__slot_put(t);
}

/* Under thread_lock, as its thread ends. What the monitor has not read yet says whose it is, so that the slot can be another thread's at once. */
static void leave_slot(struct sonde_target *x, struct sonde_thread *t)
{
    const bool is_its = x && atomic_load(&x->thread) == t;
    if (is_its)
        atomic_store(&x->thread, NULL); /* its own handler: not under way now, and puts no more */
    const uint32_t end = atomic_load_explicit(&t->samples.written, memory_order_relaxed);
    uint32_t n = atomic_load_explicit(&t->samples.taken, memory_order_acquire);
    if (n != end && !t->lane) {
        char name[17] = "";
        prctl(PR_GET_NAME, name);
        sonde__lane_begin(t, t->tid, name, t->samples.since_ns);
    }
    for (; n != end; n++) {
        uint32_t *lane = &t->sample[n % SONDE_SAMPLES_MAX].lane;
        if (!*lane)
            __atomic_store_n(lane, t->lane, __ATOMIC_RELAXED);
    }
    if (!is_its)
        return;
    atomic_store(&x->lane, t->lane);
    atomic_store(&x->wanted, true); /* no signal asks for another slot */
    become(x, SONDE_TARGET_ENDED);
}

void sonde__sample_leave(struct sonde_thread *t)
{
    leave_slot(watch.live ? find((int)syscall(SYS_gettid)) : NULL, t);
    t->tid = 0;
}

void sonde__sample_mine(void)
{
    struct sonde_agent *a = &sonde__agent;
    const int tid = (int)syscall(SYS_gettid);
    if (!a->config.cpu_hz && !sonde__counting_asked())
        return;
    sonde__lock(&a->thread_lock);
    struct sonde_target *x = find(tid);
    if (x)
        atomic_store(&x->state, SONDE_TARGET_OURS); /* the monitor sees to the rest */
    else
        target_new(tid, SONDE_TARGET_OURS);
    sonde__unlock(&a->thread_lock);
}

void sonde_tool_thread(void)
{
    static __thread bool said __attribute__((tls_model("initial-exec")));
    if (said || sonde__self || !sonde__agent_here())
        return;
    said = true;
    sonde__sample_mine();
}

void sonde_tool_thread_ran(uint64_t cpu_ns)
{
    atomic_fetch_add(&sonde__agent.backend_cpu_ns, cpu_ns);
}

/* ---- events and timers ------------------------------------------------------------------ */

struct sonde_target *sonde__target_of_signal(const void *siginfo, uint32_t *number)
{
    const siginfo_t *info = siginfo;
    uint32_t i = 0;
    if (info->si_code == SI_TIMER)
        i = (uint32_t)info->si_value.sival_int;
    else if (info->si_code >= POLL_IN && info->si_code <= POLL_HUP && info->si_fd >= 0 && info->si_fd < (int)SONDE_TARGET_FDS_MAX)
        i = atomic_load_explicit(&of_fd[info->si_fd], memory_order_acquire);
    *number = i >> OF_COUNTER;
    i &= (1u << OF_COUNTER) - 1;
    return i && i < TARGETS_MAX ? &targets[i] : NULL;
}

uint64_t sonde__sample_period_ns(void)
{
    return 1000000000u / (sonde__agent.config.cpu_hz ? sonde__agent.config.cpu_hz : HZ_WITHOUT);
}

/* A timer on a CPU clock is looked at by the kernel's tick, so that it cannot be
 * faster. From Linux 5.9 on its signal is made by the thread on its way back to
 * user mode; before, by the interrupt, which ends a wait that is about to begin. */
static bool prefers_timers(void)
{
    struct utsname name;
    struct timespec tick;
    unsigned major, minor;
    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 && (major > 5 || (major == 5 && minor >= 9)) &&
           clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 && tick.tv_sec == 0 && sonde__sample_period_ns() >= (uint64_t)tick.tv_nsec;
}

bool sonde__target_signals(struct sonde_target *x, int fd, uint32_t number)
{
    const struct f_owner_ex owner = {F_OWNER_TID, atomic_load(&x->tid)};
    atomic_store(&of_fd[fd], (uint32_t)(x - targets) | number << OF_COUNTER);
    if (syscall(SYS_fcntl, fd, F_SETOWN_EX, &owner) == 0 && syscall(SYS_fcntl, fd, F_SETSIG, SONDE_SAMPLE_SIGNAL) == 0 &&
        syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0)
        return true;
    atomic_store(&of_fd[fd], 0);
    return false;
}

void sonde__target_silence(int fd)
{
    atomic_store(&of_fd[fd], 0);
    syscall(SYS_close, fd); /* waits until no signal of it is on its way */
}

static bool arm_perf(struct sonde_target *x, int tid)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = sonde__sample_period_ns(),
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return false;
    if (fd < (int)SONDE_TARGET_FDS_MAX && sonde__target_signals(x, fd, 0)) {
        x->fd = fd;
        become(x, SONDE_TARGET_PERF);
        return true;
    }
    syscall(SYS_close, fd);
    return false;
}

static bool arm_timer(struct sonde_target *x, int tid, uint64_t first_ns)
{
    const uint64_t period = sonde__sample_period_ns(), due_ns = cpu_ns_of(tid) + first_ns;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SONDE_SAMPLE_SIGNAL};
    const struct timespec every = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)};
    const struct timespec first = {(time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u)};
    const struct itimerspec times = {every, first};
    int timer;
    event.sigev_value.sival_int = (int)(x - targets);
    event._sigev_un._tid = tid;
    if (syscall(SYS_timer_create, clock_of(tid), &event, &timer) != 0)
        return false;
    atomic_store(&x->signal_ns, 0);
    atomic_store(&x->late_ns, 0);
    atomic_store(&x->due_ns, due_ns); /* the handler may be first */
    if (syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &times, NULL) != 0) {
        atomic_store(&x->due_ns, 0);
        syscall(SYS_timer_delete, timer);
        return false;
    }
    x->timer = timer;
    become(x, SONDE_TARGET_TIMER);
    return true;
}

static bool is_armed(const struct sonde_target *x)
{
    return x->fd >= 0 || x->timer >= 0 || x->counts;
}

static void disarm(struct sonde_target *x)
{
    sonde__ring_close(x);
    sonde__counting_close(x);
    if (x->fd >= 0)
        sonde__target_silence(x->fd);
    if (x->timer >= 0)
        syscall(SYS_timer_delete, x->timer);
    x->fd = x->timer = -1;
    atomic_store(&x->due_ns, 0);
    if (is_sampled(x))
        become(x, SONDE_TARGET_NEW);
}

/* Does it block the signal? Then it is not sampled: the signal would wait until
 * the program unblocks it, asks what is pending, or takes it with sigwait. */
static bool blocks(int tid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    sonde__files_read(path, text, sizeof text);
    const char *mask = strstr(text, "SigBlk:");
    return mask && (strtoull(mask + 7, NULL, 16) >> (SONDE_SAMPLE_SIGNAL - 1) & 1);
}

/* Looked at again after as long as it is known: every new thread blocks all signals in its first steps. */
static void leave_alone(struct sonde_target *x, uint64_t now)
{
    const uint64_t known_ns = now > x->since_ns ? now - x->since_ns : 0;
    x->look_at_ns = now + (known_ns < LOOK_NS ? LOOK_NS : (known_ns > CHECK_NS ? CHECK_NS : known_ns));
    become(x, SONDE_TARGET_BLOCKED);
}

static bool arm_cpu(struct sonde_target *x, int tid)
{
    const uint64_t first_ns = sonde__sample_period_ns();
    return (watch.by_timers && arm_timer(x, tid, first_ns)) || arm_perf(x, tid) || arm_timer(x, tid, first_ns);
}

static void arm(struct sonde_target *x, uint64_t now, bool on)
{
    const int tid = atomic_load(&x->tid);
    if (blocks(tid)) {
        leave_alone(x, now);
        return;
    }
    sonde__counting_open(x, on);
    if (!sonde__agent.config.cpu_hz || !arm_cpu(x, tid)) {
        become(x, x->counts ? SONDE_TARGET_PERF : SONDE_TARGET_REFUSED);
        return;
    }
    if (!x->sampled && !sonde__agent.header->cpu_sampling) {
        sonde__agent.header->cpu_rate_hz = sonde__agent.config.cpu_hz;
        sonde__agent.header->cpu_sampling = x->fd >= 0 ? SONDE_CPU_PERF : SONDE_CPU_TIMERS;
    }
    x->sampled = x->ring_tried = true;
    sonde__ring_open(x);
}

/* ---- slots --------------------------------------------------------------------------------- */

/* The slot of a thread that entered a hook before this side knew it. */
static struct sonde_thread *slot_of(int tid)
{
    struct sonde_agent *a = &sonde__agent;
    for (uint32_t i = 1; i <= atomic_load(&a->thread_count); i++) {
        struct sonde_thread *t = atomic_load(&a->threads[i]);
        if (t->tid == tid)
            return t;
    }
    return NULL;
}

/* Before its first signal, while there is much room; after it otherwise. */
static void make_slot(struct sonde_target *x)
{
    struct sonde_agent *a = &sonde__agent;
    const bool wanted = atomic_load(&x->wanted);
    if (x->asked && !wanted)
        return;
    x->asked = true;
    sonde__lock(&a->thread_lock);
    if (!atomic_load(&x->thread)) { /* it may have entered a hook just now */
        struct sonde_thread *t = slot_of(atomic_load(&x->tid));
        if (!t)
            t = sonde__slot_for_samples(wanted);
        if (t)
            give_slot(x, t);
    }
    sonde__unlock(&a->thread_lock);
    atomic_store(&x->wanted, false);
}

/* ---- threads that start and end ------------------------------------------------------------- */

static __thread struct sonde_target *mine __attribute__((tls_model("initial-exec"))); /* made as the thread started */
static __thread int mine_tid __attribute__((tls_model("initial-exec")));

/* Not where the monitor has given it to another thread, which a forked child and a thread that it took for gone would find. */
static struct sonde_target *still_mine(void)
{
    return mine && atomic_load_explicit(&mine->tid, memory_order_relaxed) == mine_tid ? mine : NULL;
}

static bool blocks_here(void)
{
    uint64_t mask = 0;
    return syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask) != 0 || (mask >> (SONDE_SAMPLE_SIGNAL - 1) & 1);
}

/* Perf events are of the monitor's descriptor table. */
static void wake_monitor(void)
{
    const uint64_t now = sonde_now_ns();
    if (now - watch.woken_ns < LOOK_NS)
        return;
    watch.woken_ns = now;
    sonde__monitor_wake();
}

/* False: the other one does it, or it is not the program's. */
static bool claim(struct sonde_target *x, uint8_t state)
{
    return (state == SONDE_TARGET_NEW || state == SONDE_TARGET_BLOCKED) &&
           atomic_compare_exchange_strong(&x->state, &state, SONDE_TARGET_STARTING);
}

/* Under thread_lock, by the thread itself: it goes on where the threads before it stopped, as if they were one. */
static void arm_mine(struct sonde_target *x, int tid)
{
    const uint64_t period = sonde__sample_period_ns();
    if (!watch.by_timers || !sonde__agent.config.cpu_hz || blocks_here()) {
        wake_monitor();
        become(x, SONDE_TARGET_NEW);
        return;
    }
    x->phase_ns = watch.phase_ns;
    watch.phase_ns = 0;
    x->sampled = arm_timer(x, tid, period - x->phase_ns);
    if (!x->sampled)
        become(x, SONDE_TARGET_NEW);
    else if (sonde__counting_asked())
        wake_monitor();
}

/* This thread's target, under thread_lock, and whether the thread is to arm it. The monitor may have met the thread before it came
 * here, with all signals blocked as every new thread of libc's is in its first steps. NULL: not to be known, or an earlier thread of its number is. */
static struct sonde_target *target_of_start(int tid, bool *arms)
{
    struct sonde_target *x = find(tid);
    if (!x) {
        x = target_new(tid, SONDE_TARGET_STARTING);
        *arms = x;
        if (x)
            x->asked = true; /* for a slot */
        return x;
    }
    const struct sonde_thread *t = atomic_load(&x->thread);
    const uint8_t state = atomic_load(&x->state);
    if (atomic_load(&x->lane) || (t && t->adopted) || state == SONDE_TARGET_OURS || state == SONDE_TARGET_ENDED)
        return NULL;
    *arms = claim(x, state);
    return x;
}

void sonde__target_starts(void)
{
    struct sonde_agent *a = &sonde__agent;
    const int tid = (int)syscall(SYS_gettid);
    bool arms = false;
    sonde__lock(&a->thread_lock);
    struct sonde_target *x = watch.open ? target_of_start(tid, &arms) : NULL;
    struct sonde_thread *t = x && !atomic_load(&x->thread) ? sonde__slot_for_samples(false) : NULL;
    if (t)
        give_slot(x, t);
    if (arms)
        arm_mine(x, tid);
    sonde__unlock(&a->thread_lock);
    mine_tid = tid;
    mine = x;
}

struct sonde_thread *sonde__target_mine(void)
{
    const struct sonde_target *x = still_mine();
    return x ? atomic_load_explicit(&x->thread, memory_order_relaxed) : NULL;
}

bool sonde__target_ends(uint64_t cpu_ns)
{
    struct sonde_agent *a = &sonde__agent;
    sonde__lock(&a->thread_lock);
    struct sonde_target *x = still_mine();
    struct sonde_thread *t = x ? atomic_load(&x->thread) : NULL;
    if (x) {
        watch.phase_ns = (watch.phase_ns + x->phase_ns + cpu_ns) % sonde__sample_period_ns();
        x->phase_ns = 0;
    }
    const bool ended = t && !t->adopted;
    if (ended) {
        leave_slot(x, t);
        vanished(t);
    }
    sonde__unlock(&a->thread_lock);
    return ended;
}

void sonde__targets_open(bool open)
{
    sonde__lock(&sonde__agent.thread_lock);
    watch.open = open;
    sonde__unlock(&sonde__agent.thread_lock);
}

/* Its thread is gone: no handler of it runs any more. */
static void vanish(struct sonde_target *x)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_thread *t = atomic_load(&x->thread);
    sonde__ring_drain(x);
    sonde__counting_ended(x);
    disarm(x);
    if (t)
        sonde__sample_drain(t);
    watch.sampled += x->sampled;
    watch.missed += !x->sampled && atomic_load(&x->state) != SONDE_TARGET_OURS;
    sonde__lock(&a->thread_lock);
    if (t && !t->adopted) /* else its destructor has not run: it may have ended in an unusual way */
        vanished(t);
    target_free(x);
    sonde__unlock(&a->thread_lock);
}

/* ---- which threads there are ----------------------------------------------------------------- */

static uint32_t thread_count(void)
{
    struct statx x;
    if (syscall(SYS_statx, watch.folder, "", AT_EMPTY_PATH, STATX_NLINK, &x) != 0 || x.stx_nlink < 3)
        return 0;
    return x.stx_nlink - 2;
}

static void meet(int tid, bool first)
{
    struct sonde_agent *a = &sonde__agent;
    sonde__lock(&a->thread_lock);
    struct sonde_target *x = find(tid);
    bool is_new = !x;
    if (is_new)
        x = target_new(tid, SONDE_TARGET_NEW);
    if (x)
        x->seen = true;
    watch.missed += !x && !watch.full;
    watch.full |= !x;
    sonde__unlock(&a->thread_lock);
    if (is_new && x && first)
        x->base_ns = cpu_ns_of(tid); /* later ones have begun while we looked */
}

/* False: it cannot be read. */
static bool read_folder(bool first)
{
    char buffer[8192];
    bool any = false;
    if (syscall(SYS_lseek, watch.folder, 0, SEEK_SET) != 0)
        return false;
    for (long n; (n = syscall(SYS_getdents64, watch.folder, buffer, sizeof buffer)) > 0; any = true)
        for (long at = 0; at < n;) {
            const struct dirent64 *entry = (const void *)(buffer + at);
            int tid = atoi(entry->d_name);
            if (tid > 0)
                meet(tid, first);
            at += entry->d_reclen;
        }
    return any;
}

static void scan(bool first)
{
    const uint64_t begun = sonde__thread_cpu_ns(); /* not time: on a busy machine a reading takes as long as others run */
    for (uint32_t i = 1; i <= watch.used; i++)
        targets[i].seen = false;
    if (!read_folder(first))
        return;
    for (uint32_t i = 1; i <= watch.used; i++) {
        const int tid = atomic_load(&targets[i].tid);
        if (tid && !targets[i].seen && !cpu_ns_of(tid)) /* the folder leaves out a living thread now and then when others end meanwhile */
            vanish(&targets[i]);
    }
    watch.scan_at_ns = sonde_now_ns() + (sonde__thread_cpu_ns() - begun) * SCAN_SHARE;
}

static uint64_t signals_of(const struct sonde_thread *t)
{
    return atomic_load_explicit(&t->samples.count.taken, memory_order_relaxed) + atomic_load_explicit(&t->samples.count.held, memory_order_relaxed) +
           atomic_load_explicit(&t->samples.count.lost, memory_order_relaxed) + atomic_load_explicit(&t->samples.count.counted, memory_order_relaxed);
}

/* A thread that has used CPU time, but met no signal: does it block the signal now? */
static void check(struct sonde_target *x, uint64_t now)
{
    struct sonde_thread *t = atomic_load(&x->thread);
    const int tid = atomic_load(&x->tid);
    if (!is_armed(x) || !t)
        return;
    uint64_t cpu_ns = cpu_ns_of(tid);
    const uint64_t taken = signals_of(t);
    if (taken == x->checked_taken && cpu_ns - x->checked_cpu_ns > 4 * sonde__sample_period_ns() && blocks(tid) && signals_of(t) == taken /* no handler of ours is it that blocks all */) {
        disarm(x);
        leave_alone(x, now);
    }
    x->checked_cpu_ns = cpu_ns;
    x->checked_taken = taken;
}

/* What each thread needs now. */
static void tend(struct sonde_target *x, uint64_t now, bool rearm, bool checking, bool on)
{
    uint8_t state = atomic_load(&x->state);
    if (state == SONDE_TARGET_STARTING)
        return;
    if (state == SONDE_TARGET_ENDED) { /* thousands may come and go between two readings of the folder */
        if (!cpu_ns_of(atomic_load(&x->tid)))
            vanish(x);
        return;
    }
    if (state == SONDE_TARGET_OURS) {
        if (is_armed(x))
            disarm(x);
        return;
    }
    struct sonde_thread *t = atomic_load(&x->thread);
    if (rearm && !is_armed(x)) {
        x->base_ns = cpu_ns_of(atomic_load(&x->tid));
        if (t)
            atomic_store_explicit(&t->samples.cpu_ns, x->base_ns, memory_order_relaxed);
    }
    if (!t && !atomic_load(&x->lane) && state != SONDE_TARGET_BLOCKED && state != SONDE_TARGET_REFUSED)
        make_slot(x);
    if (state == SONDE_TARGET_NEW || state == SONDE_TARGET_BLOCKED) {
        if ((state == SONDE_TARGET_BLOCKED && now < x->look_at_ns) || !claim(x, state))
            return;
        arm(x, now, on);
    } else if (checking) {
        check(x, now);
    }
    if (!x->ring_tried && is_armed(x)) { /* it has armed itself */
        x->ring_tried = true;
        sonde__ring_open(x);
    }
    if (!x->counting_tried && is_armed(x))
        sonde__counting_open(x, on);
    sonde__counting_tend(x, now, on);
    sonde__ring_drain(x);
}

void sonde__targets_turn(uint64_t now, bool rearm, bool on)
{
    const uint32_t count = thread_count();
    const bool again = watch.scan_at_ns != 0;
    if (now >= watch.scan_at_ns + (count == watch.live ? SCAN_NS : 0))
        scan(!again);
    const bool checking = now - watch.check_at_ns >= CHECK_NS;
    if (checking)
        watch.check_at_ns = now;
    for (uint32_t i = 1; i <= watch.used; i++)
        if (atomic_load(&targets[i].tid))
            tend(&targets[i], now, rearm && again, checking, on);
    sonde__counting_turn(now);
    sonde__rings_bound(&targets[1], watch.used, now);
}

bool sonde__targets_begin(void)
{
    watch.folder = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    watch.scan_at_ns = watch.check_at_ns = 0;
    watch.by_timers = prefers_timers();
    sonde__ring_begin();
    return watch.folder >= 0 && thread_count() > 0;
}

void sonde__targets_disarm(void)
{
    for (uint32_t i = 1; i <= watch.used; i++)
        if (atomic_load(&targets[i].tid)) {
            sonde__ring_drain(&targets[i]);
            sonde__ring_last(&targets[i]);
            disarm(&targets[i]);
        }
}

void sonde__targets_account(struct sonde_live_header *h)
{
    uint64_t sampled = watch.sampled, missed = watch.missed;
    bool switches = sonde__agent.config.trace && !sonde__rings_lacking(), armed = false;
    for (uint32_t i = 1; i <= watch.used; i++) {
        const struct sonde_target *x = &targets[i];
        if (!atomic_load(&x->tid) || atomic_load(&x->state) == SONDE_TARGET_OURS)
            continue;
        sampled += x->sampled;
        missed += !x->sampled;
        armed |= is_armed(x);
        switches &= !is_armed(x) || x->ring.page || !x->ring_tried;
    }
    h->cpu.threads = sampled;
    h->cpu.threads_missed = missed;
    if (armed) /* else what was seen last holds */
        h->cpu_switches = switches;
}

/* In a forked child: its descriptors and timers are the parent's. */
void sonde__targets_forget(void)
{
    for (uint32_t i = 1; i <= watch.used; i++) {
        if (targets[i].fd >= 0)
            atomic_store(&of_fd[targets[i].fd], 0);
        for (uint32_t k = 0; k < SONDE_CPU_COUNTERS_MAX && targets[i].counts; k++)
            if (targets[i].counting[k].fd >= 0)
                atomic_store(&of_fd[targets[i].counting[k].fd], 0);
        memset(&targets[i], 0, sizeof targets[i]);
    }
    memset(chain, 0, sizeof chain);
    memset((void *)&watch, 0, sizeof watch);
    watch.folder = -1;
}
