/* monitor.c - the monitor thread: harvest, match, accumulate, pass on, keep the ledger.
 */
#include "run.h"

#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <sonde/error.h>

#include "agent/context/context.h"
#include "agent/sample/sample.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"

#define TURN_MIN_NS     1000000u  /* between two turns, at the least */
#define TURN_BUSY_NS   16000000u  /* at most, while operations come in */
#define TURN_IDLE_NS   50000000u  /* at most, while nothing happens */
#define TURN_FEW            512u  /* findings of a turn: fewer, and the next may come later; */
#define TURN_MANY          1024u  /* more, and it comes sooner */
#define SLOW_NS       100000000u  /* the ledger */
#define MODULES_NS    200000000u
#define CLOCKS_NS    3000000000u
#define NAP_MOST_US        2000u  /* of a thread that waits for a flush */

static uint64_t turns_at_slow, modules_at, clocks_at, clocks_gap, clocks_missing;
enum {
    STARTING,
    OPEN,
    GIVEN_UP,
};
unsigned sonde__monitor_start_ms = 20000; /* the disk may be busy */
static _Atomic int ready;          /* one of these, or negative: enum sonde_error */
/* Flushes are numbered, so that one that came too late is no answer to the next. */
static _Atomic unsigned flush_wanted; /* bits 1 << enum sonde_flush */
static _Atomic uint32_t flush_asked, flush_answered;
static bool range_started, range_ended; /* by --delay, by --duration */

/* ---- the thread -------------------------------------------------------------------------- */

static int module_count(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    *(unsigned long long *)out = info->dlpi_adds + info->dlpi_subs * 0x100000000ull;
    return 1;
}

/* A second net under the preload library's dlclose: modules that went away. */
static void watch_modules(void)
{
    static unsigned long long last_subs;
    unsigned long long now = 0;
    sonde__lock(&sonde__agent.fork_lock);
    dl_iterate_phdr(module_count, &now);
    sonde__unlock(&sonde__agent.fork_lock);
    if (now >> 32 != last_subs) {
        last_subs = now >> 32;
        sonde__unwind_modules_changed();
    }
}

/* Pairs every few seconds; for a device that has none yet at once, and again
 * after growing gaps: a backend may know its clock only when an operation of it
 * has finished. */
static void follow_clocks(uint64_t now)
{
    uint64_t missing = sonde__clocks_missing();
    if (missing & ~clocks_missing)
        clocks_gap = 0;
    clocks_missing = missing;
    if (now - clocks_at < (missing ? clocks_gap : CLOCKS_NS))
        return;
    clocks_at = now;
    clocks_gap = clocks_gap ? 2 * clocks_gap : TURN_MIN_NS;
    if (clocks_gap > CLOCKS_NS)
        clocks_gap = CLOCKS_NS;
    sonde__settle_clocks();
}

static void ranges(uint64_t now)
{
    const struct sonde_agent *a = &sonde__agent;
    if (a->config.delay_ms && !range_started && now - a->began.ns >= a->config.delay_ms * 1000000u) {
        range_started = true;
        sonde__agent_set_range(1);
    }
    if (a->config.duration_ms && !range_ended &&
        now - a->began.ns >= (a->config.delay_ms + a->config.duration_ms) * 1000000u) {
        range_ended = true;
        sonde__agent_set_range(0);
    }
}

/* How long until the next turn. A program that waits for each operation is
 * slowed by every wake-up of another thread; one that enqueues in bulk wants its
 * events back while they are in the cache. */
static uint64_t next_nap(uint64_t nap_ns)
{
    uint64_t most = sonde__agent.found || atomic_load(&sonde__agent.outstanding) ? TURN_BUSY_NS : TURN_IDLE_NS;
    if (sonde__agent.found > TURN_MANY)
        nap_ns /= 2;
    else if (sonde__agent.found < TURN_FEW)
        nap_ns *= 2;
    return nap_ns < TURN_MIN_NS ? TURN_MIN_NS : (nap_ns > most ? most : nap_ns);
}

static void turn(void)
{
    struct sonde_agent *a = &sonde__agent;
    sonde__agent.found = 0;
    sonde__room_keep();
    if (!sonde__trylock(&a->monitor_lock))
        return;
    if (sonde__trylock(&a->harvest_lock)) {
        /* Findings of program threads come first: they are older than what is still in the channels. */
        sonde__settle_drain();
        if (atomic_load(&a->closed)) {
            sonde__harvest_late();
        } else {
            sonde__harvest(NULL);
            sonde__match_turn(SONDE_COLLECT_TURN);
        }
        sonde__last_idle(sonde_now_ns());
        sonde__unlock(&a->harvest_lock);
    }
    if (sonde__agent.found)
        sonde__ledger_seen();
    if (!atomic_load(&a->closed))
        sonde__frames_look();
    uint64_t now = sonde_now_ns();
    sonde__sample_turn(now);
    if (now - turns_at_slow >= SLOW_NS) {
        turns_at_slow = now;
        atomic_store(&a->monitor_cpu_ns, sonde__thread_cpu_ns());
        if (now - modules_at >= MODULES_NS) {
            modules_at = now;
            watch_modules();
        }
        sonde__ledger_account();
        sonde__last_turn(now);
    }
    sonde__unlock(&a->monitor_lock);
    ranges(now);
    follow_clocks(now);
}

static void header_init(void)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_live_header *h = (struct sonde_live_header *)a->pool.base;
    struct timespec wall;
    h->version = SONDE_FORMAT_VERSION;
    h->segment_bytes = SONDE_SEGMENT_BYTES;
    h->state = SONDE_PROCESS_RUNNING;
    h->pid = (uint32_t)getpid();
    h->trace = a->config.last_ns ? SONDE_RECORDED_LAST : a->config.trace;
    h->rank = a->config.rank.rank;
    h->local_rank = a->config.rank.local_rank;
    h->rank_count = a->config.rank.size;
    h->start_ns = h->stop_ns = sonde_now_ns();
    clock_gettime(CLOCK_REALTIME, &wall);
    h->wall_offset_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec - h->start_ns;
    sonde__recorded_start(h);
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    snprintf(h->executable, sizeof h->executable, "%.*s", (int)sizeof h->executable - 1, path);
    sonde__frames_executable(path);
    __atomic_store_n(&h->magic, SONDE_LIVE_MAGIC, __ATOMIC_RELEASE);
    __atomic_store_n(&a->header, h, __ATOMIC_RELEASE);
    if (*a->config.job)
        sonde__recorded_job(a->config.job);
}

static void nap(uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    sem_clockwait(&sonde__agent.wake, CLOCK_MONOTONIC, &until);
}

static void answer_flushes(void)
{
    static const enum sonde_flush order[] = {SONDE_FLUSH_DEATH, SONDE_FLUSH_STORE, SONDE_FLUSH_FINISH, SONDE_FLUSH_CLOSE};
    uint32_t asked = atomic_load(&flush_asked); /* each of these has set its bit */
    unsigned wanted = atomic_exchange(&flush_wanted, 0);
    if (wanted & 1u << SONDE_FLUSH_SIGNAL)
        sonde__sample_give_up();
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (wanted & 1u << order[i])
            sonde__settle(order[i]);
    sonde__room_keep();
    atomic_store(&flush_answered, asked);
}

static void *monitor_main(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "sonde-monitor");
    int err = sonde__files_open(), starting = STARTING;
    if (!err)
        header_init();
    bool in_time = atomic_compare_exchange_strong(&ready, &starting, err ? err : OPEN);
    if (!in_time && !err)
        sonde__agent_off(SONDE_MONITOR_LATE); /* again: now there is a file that can say so */
    if (!in_time || err)
        return NULL;
    sonde__on_monitor = true;
    sonde__sample_mine();
    for (uint64_t nap_ns = TURN_MIN_NS;;) {
        nap(nap_ns);
        answer_flushes();
        turn();
        if (sonde__attach_is_over(sonde_now_ns())) {
            sonde__attach_end();
            return NULL;
        }
        if (!sonde__agent.found)
            sonde__trace_idle();
        nap_ns = next_nap(nap_ns);
    }
    return NULL;
}

/* The monitor does the final flush itself: it alone can make room on disk. */
bool sonde__monitor_flush(enum sonde_flush how, unsigned bound_ms)
{
    if (sonde__on_monitor || atomic_load(&ready) != OPEN)
        return false;
    const uint64_t begin = sonde_now_ns(), until = begin + bound_ms * (uint64_t)1000000;
    atomic_fetch_or(&flush_wanted, 1u << how);
    uint32_t mine = atomic_fetch_add(&flush_asked, 1) + 1;
    sonde__monitor_wake();
    while ((int32_t)(atomic_load(&flush_answered) - mine) < 0) {
        const uint64_t now = sonde_now_ns(), nap_us = (now - begin) / 16000; /* a sixteenth longer than it takes, at most */
        if (now > until)
            return false;
        sonde__nap(nap_us < 50 ? 50 : (nap_us > NAP_MOST_US ? NAP_MOST_US : (unsigned)nap_us));
    }
    return true;
}

int sonde__monitor_start(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, before;
    atomic_store(&ready, STARTING);
    atomic_store(&flush_wanted, 0);
    sem_init(&sonde__agent.wake, 0, 0);
    atomic_store(&flush_asked, 0);
    atomic_store(&flush_answered, 0);
    turns_at_slow = modules_at = clocks_gap = clocks_missing = 0;
    atomic_store(&sonde__agent.monitor_cpu_ns, 0);
    atomic_store(&sonde__agent.backend_cpu_ns, 0);
    range_started = range_ended = false;
    clocks_at = sonde_now_ns();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int err = pthread_create(&thread, &attr, monitor_main, NULL);
    if (err && pthread_attr_setstacksize(&attr, 8u << 20) == 0) /* much static TLS takes its room from the stack */
        err = pthread_create(&thread, &attr, monitor_main, NULL);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        return SONDE_ENOMEM;
    const uint64_t until_ns = sonde_now_ns() + sonde__monitor_start_ms * 1000000ull;
    while (atomic_load(&ready) == STARTING && sonde_now_ns() < until_ns)
        sonde__nap(50);
    int state = STARTING;
    if (atomic_compare_exchange_strong(&ready, &state, GIVEN_UP))
        return SONDE_EBUSY;
    return state == OPEN ? 0 : state;
}
