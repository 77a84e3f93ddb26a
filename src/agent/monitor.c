/* monitor.c - the monitor thread: harvest, match, accumulate, pass on, keep the ledger.
 */
#include "agent.h"

#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sonde/error.h>

#define TURN_MIN_NS     1000000u  /* between two turns, at the least */
#define TURN_BUSY_NS   16000000u  /* at most, while operations come in */
#define TURN_IDLE_NS   50000000u  /* at most, while nothing happens */
#define TURN_FEW            512u  /* findings of a turn: fewer, and the next may come later; */
#define TURN_MANY          1024u  /* more, and it comes sooner */
#define SLOW_NS       100000000u  /* the ledger */
#define MODULES_NS    200000000u
#define CLOCKS_NS    3000000000u

static uint64_t turns_at_slow, modules_at, clocks_at, clocks_gap, clocks_missing;
enum { STARTING, OPEN, GIVEN_UP };
unsigned sonde__monitor_start_ms = 20000; /* the disk may be busy */
static _Atomic int ready;          /* one of these, or negative: enum sonde_error */
static _Atomic uint64_t cpu_ns;    /* of the monitor thread */
static sem_t wake;                 /* the monitor's alarm */
/* Flushes are numbered, so that one that came too late is no answer to the next. */
static _Atomic unsigned flush_wanted; /* bits 1 << enum sonde_flush */
static _Atomic uint32_t flush_asked, flush_answered;
static __thread bool on_monitor_thread;
static bool range_started, range_ended; /* by --delay, by --duration */

/* ---- one finding ------------------------------------------------------------------ */

/* What is wrong with the times of an operation, and the ledger's counters for it. */
static unsigned judge_times(const struct sonde_event *e, const struct sonde_times *t, struct sonde_lane *lane)
{
    struct sonde_ledger *l = &sonde__agent.header->ledger;
    if (!t->start_ns || !t->end_ns || t->end_ns < t->start_ns || t->start_ns < t->submit_ns) {
        l->bad_time++;
        lane->row->bad_time++;
        return SONDE_OP_BAD_TIME;
    }
    if (t->start_ns >= e->enter_ns)
        return 0;
    if (e->enter_ns - t->start_ns <= __atomic_load_n(&sonde__agent.header->clock_bound_ns, __ATOMIC_RELAXED)) {
        l->early_in_bound++;
        return SONDE_OP_EARLY;
    }
    l->bad_time++;
    lane->row->bad_time++;
    return SONDE_OP_BAD_TIME;
}

static void trace_op(const struct sonde_event *e, const struct sonde_times *t, unsigned flags)
{
    const struct sonde_row_op row = {
        .start_ns = t->start_ns, .end_ns = t->end_ns, .queued_ns = t->queued_ns, .submit_ns = t->submit_ns,
        .enter_ns = e->enter_ns, .bytes = e->bytes, .correlation = e->correlation, .node = e->op_node,
        .work = e->work, .object = e->object, .kind = e->kind, .flags = (uint16_t)flags};
    sonde__trace_row(e->lane, SONDE_TABLE_OP, &row);
}

static void trace_call(const struct sonde_event *e)
{
    const struct sonde_row_call row = {.enter_ns = e->enter_ns, .leave_ns = e->leave_ns,
                                       .correlation = e->correlation, .node = e->api_node, .lane = e->lane};
    sonde__trace_row(e->thread_lane, SONDE_TABLE_CALL, &row);
}

static void trace_wait(const struct sonde_event *e)
{
    const struct sonde_row_wait row = {.enter_ns = e->enter_ns, .waiter = e->correlation, .awaited = e->token,
                                       .lane = e->lane, .device = e->work};
    sonde__trace_row(e->thread_lane, SONDE_TABLE_WAIT, &row);
}

static void take_op(const struct sonde_activity *a)
{
    struct sonde_ledger *l = &sonde__agent.header->ledger;
    struct sonde_lane *lane =
        a->event.lane <= SONDE_LANES_MAX ? atomic_load(&sonde__agent.lanes[a->event.lane]) : NULL;
    unsigned flags = 0;
    if (!lane) {
        sonde__agent.unmatched++;
        return;
    }
    lane->row->seen++;
    if (a->result == SONDE_POLL_PENDING) { /* abandoned: it never finished */
        sonde__agent.unmatched++;
        lane->row->unmatched++;
        return;
    }
    lane->row->done++;
    l->done++;
    if (a->result == SONDE_POLL_FAILED) {
        l->failed++;
        flags |= SONDE_OP_FAILED;
    }
    if (a->result == SONDE_POLL_NO_TIMES || (a->result == SONDE_POLL_FAILED && !a->times.end_ns)) {
        l->no_times++;
        flags |= SONDE_OP_NO_TIMES;
    } else {
        flags |= judge_times(&a->event, &a->times, lane);
    }
    sonde__profile_op(&a->event, &a->times, flags);
    if (!(flags & (SONDE_OP_NO_TIMES | SONDE_OP_BAD_TIME)))
        sonde__busy_add(lane->row->device, a->event.kind, a->times.start_ns, a->times.end_ns);
    trace_op(&a->event, &a->times, flags);
}

/* Enqueued and seen; the memory to follow it to its end was not there. */
static void take_dropped(const struct sonde_event *e)
{
    struct sonde_lane *lane = e->lane <= SONDE_LANES_MAX ? atomic_load(&sonde__agent.lanes[e->lane]) : NULL;
    sonde__agent.no_room++;
    if (!lane)
        return;
    lane->row->seen++;
    __atomic_fetch_add(&lane->row->dropped[SONDE_DROP_CHANNEL_FULL], 1, __ATOMIC_RELAXED);
}

static uint64_t found; /* by this turn */

void sonde__monitor_take(const struct sonde_activity *a)
{
    found++;
    if (a->parts & SONDE_ACT_CALL) {
        sonde__profile_call(&a->event);
        trace_call(&a->event);
    }
    if (a->parts & SONDE_ACT_OP)
        take_op(a);
    if (a->parts & SONDE_ACT_NO_ROOM)
        take_dropped(&a->event);
    if (a->parts & SONDE_ACT_WAIT)
        trace_wait(&a->event);
}

void sonde__monitor_drain(void)
{
    struct sonde_agent *a = &sonde__agent;
    uint32_t threads = atomic_load_explicit(&a->thread_count, memory_order_acquire);
    for (uint32_t i = 1; i <= threads; i++) {
        struct sonde_thread *t = atomic_load_explicit(&a->threads[i], memory_order_acquire);
        for (uint64_t n = sonde__channel_waiting(&t->found); n > 0; n--) {
            sonde__monitor_take(sonde__channel_peek(&t->found));
            sonde__channel_next(&t->found);
        }
        sonde__ranges_drain(t);
        sonde__sample_drain(t);
    }
}

/* ---- the ledger ---------------------------------------------------------------------- */

static double ns_per_tick(void)
{
    const struct sonde_agent *a = &sonde__agent;
    uint64_t ticks = sonde__ticks() - a->ticks0, ns = sonde_now_ns() - a->ns0;
    return ticks ? (double)ns / (double)ticks : 1.0;
}

static void add_thread(struct sonde_ledger *sum, const struct sonde_thread *t, uint64_t *ticks, uint64_t *call_ns)
{
#define GET(field) atomic_load_explicit(&t->count.field, memory_order_relaxed)
    sum->seen += GET(seen);
    sum->api_calls += GET(calls);
    sum->unwinds += GET(unwinds);
    sum->unwind_failed += GET(unwind_failed);
    sum->unwind_truncated += GET(unwind_truncated);
    sum->unwind_checked += GET(unwind_checked);
    sum->unwind_mismatched += GET(unwind_mismatched);
    sum->python_walks += GET(python_walks);
    sum->python_failed += GET(python_failed);
    sum->contexts_folded += GET(folded);
    sum->calls_dropped += GET(calls_dropped);
    *ticks += GET(hook_ticks);
    *call_ns += GET(call_ns) + GET(waited_ns);
    sum->dropped[SONDE_DROP_CHANNEL_FULL] += GET(dropped[SONDE_DROP_CHANNEL_FULL]);
    sum->dropped[SONDE_DROP_AFTER_EXIT] += GET(dropped[SONDE_DROP_AFTER_EXIT]);
    sum->dropped[SONDE_DROP_REENTRANT] += GET(dropped[SONDE_DROP_REENTRANT]);
    sum->dropped[SONDE_DROP_AGENT_OFF] += GET(dropped[SONDE_DROP_AGENT_OFF]);
#undef GET
}

/* At every turn, so that what a killed program had enqueued is counted. */
static void count_seen(void)
{
    const struct sonde_agent *a = &sonde__agent;
    uint64_t seen = a->seen_by_report;
    const uint32_t threads = atomic_load(&a->thread_count);
    for (uint32_t i = 1; i <= threads; i++)
        seen += atomic_load_explicit(&atomic_load(&a->threads[i])->count.seen, memory_order_relaxed);
    a->header->ledger.seen = seen;
}

void sonde__monitor_account(void)
{
    struct sonde_agent *a = &sonde__agent;
    struct sonde_ledger *l = &a->header->ledger, sum = {0};
    uint64_t ticks = 0, call_ns = 0;
    uint32_t threads = atomic_load(&a->thread_count);
    for (uint32_t i = 1; i <= threads; i++)
        add_thread(&sum, atomic_load(&a->threads[i]), &ticks, &call_ns);
    /* The readings that bracket the call are ours too, but fall within it: half
     * of each clock read, and the reading of the ticks themselves. */
    const double tick_ns = ns_per_tick();
    atomic_store_explicit(&a->ticks_per_ns, 1 / tick_ns, memory_order_relaxed);
    double hook_ns = (double)ticks * tick_ns - (double)call_ns + (double)sum.api_calls * a->reading_ns;
    const uint64_t unheard = atomic_load(&a->without_slot.operations), unheard_calls = atomic_load(&a->without_slot.calls);
    l->seen = sum.seen + a->seen_by_report + unheard;
    l->unmatched = a->unmatched + a->unmatched_by_key;
    l->silent_launches = sonde__match_silent();
    l->api_calls = sum.api_calls + unheard_calls;
    l->calls_dropped = sum.calls_dropped + a->calls_dropped + unheard_calls;
    l->unwinds = sum.unwinds;
    l->unwind_failed = sum.unwind_failed;
    l->unwind_truncated = sum.unwind_truncated;
    l->unwind_checked = sum.unwind_checked;
    l->unwind_mismatched = sum.unwind_mismatched;
    l->python_walks = sum.python_walks;
    l->python_failed = sum.python_failed;
    l->contexts_folded = sum.contexts_folded + a->profile_folded;
    l->dropped[SONDE_DROP_CHANNEL_FULL] = sum.dropped[SONDE_DROP_CHANNEL_FULL] + a->no_room + a->no_room_by_key + unheard;
    l->dropped[SONDE_DROP_AFTER_EXIT] = sum.dropped[SONDE_DROP_AFTER_EXIT];
    l->dropped[SONDE_DROP_REENTRANT] = sum.dropped[SONDE_DROP_REENTRANT];
    l->dropped[SONDE_DROP_AGENT_OFF] = sum.dropped[SONDE_DROP_AGENT_OFF];
    l->hook_ns = hook_ns > 0 ? (uint64_t)hook_ns : 0;
    l->thread_cpu_ns = atomic_load(&cpu_ns) + sonde__trace_cpu_ns();
    sonde__sample_account(a->header);
    l->written_bytes = sonde__files_written();
    a->header->stop_ns = sonde_now_ns();
    sonde__busy_settle(a->header);
}

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
    sonde__lock(&sonde__agent.loader_lock);
    dl_iterate_phdr(module_count, &now);
    sonde__unlock(&sonde__agent.loader_lock);
    if (now >> 32 != last_subs) {
        last_subs = now >> 32;
        sonde__unwind_modules_changed();
    }
}

/* Keep room on disk ahead of need; the program's threads cannot make it. */
bool sonde__monitor_make_room(void)
{
    struct sonde_agent *a = &sonde__agent;
    uint32_t ready_now = atomic_load(&a->pool.ready);
    if (!on_monitor_thread || ready_now >= a->pool.limit || sonde__pool_left(&a->pool) > 32 + ready_now / 8)
        return false;
    if (sonde__files_grow((uint64_t)(ready_now + 64 + ready_now / 4) * SONDE_SEGMENT_BYTES) == SONDE_EIO) {
        sonde_note("no room left for the measurement: contexts fold, the trace ends");
        a->pool.limit = ready_now;
        sonde__trace_off(SONDE_DROP_DISK_FULL);
        return false;
    }
    return true;
}

void sonde__monitor_clocks(void)
{
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->sync_clocks && !atomic_load(&sonde__agent.closed))
            sonde_backends[i]->sync_clocks();
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
    sonde__monitor_clocks();
}

static void ranges(uint64_t now)
{
    const struct sonde_agent *a = &sonde__agent;
    if (a->config.delay_ms && !range_started && now - a->ns0 >= a->config.delay_ms * 1000000u) {
        range_started = true;
        sonde__agent_set_range(1);
    }
    if (a->config.duration_ms && !range_ended &&
        now - a->ns0 >= (a->config.delay_ms + a->config.duration_ms) * 1000000u) {
        range_ended = true;
        sonde__agent_set_range(0);
    }
}

/* How long until the next turn. A program that waits for each operation is
 * slowed by every wake-up of another thread; one that enqueues in bulk wants its
 * events back while they are in the cache. */
static uint64_t next_nap(uint64_t nap_ns)
{
    uint64_t most = found || atomic_load(&sonde__agent.outstanding) ? TURN_BUSY_NS : TURN_IDLE_NS;
    if (found > TURN_MANY)
        nap_ns /= 2;
    else if (found < TURN_FEW)
        nap_ns *= 2;
    return nap_ns < TURN_MIN_NS ? TURN_MIN_NS : nap_ns > most ? most : nap_ns;
}

static void turn(void)
{
    struct sonde_agent *a = &sonde__agent;
    found = 0;
    if (!sonde__trylock(&a->monitor_lock))
        return;
    if (sonde__trylock(&a->harvest_lock)) {
        /* Findings of program threads come first: they are older than what is still in the channels. */
        sonde__monitor_drain();
        if (atomic_load(&a->closed)) {
            sonde__harvest_late();
        } else {
            sonde__harvest(NULL);
            sonde__match_turn(SONDE_COLLECT_TURN);
        }
        sonde__unlock(&a->harvest_lock);
    }
    if (found)
        count_seen();
    sonde__monitor_make_room();
    if (!atomic_load(&a->closed))
        sonde__frames_look();
    uint64_t now = sonde_now_ns();
    sonde__sample_turn(now);
    if (now - turns_at_slow >= SLOW_NS) {
        turns_at_slow = now;
        struct timespec cpu;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
        atomic_store(&cpu_ns, (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec);
        if (now - modules_at >= MODULES_NS) {
            modules_at = now;
            watch_modules();
        }
        sonde__monitor_account();
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
    h->trace = a->config.trace;
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
    sonde__tables_executable(path);
    __atomic_store_n(&h->magic, SONDE_LIVE_MAGIC, __ATOMIC_RELEASE);
    __atomic_store_n(&a->header, h, __ATOMIC_RELEASE);
}

static void nap(uint64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    sem_clockwait(&wake, CLOCK_MONOTONIC, &until);
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
            sonde__agent_settle(order[i]);
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
    on_monitor_thread = true;
    sonde__sample_mine();
    for (uint64_t nap_ns = TURN_MIN_NS;;) {
        nap(nap_ns);
        answer_flushes();
        turn();
        if (!found)
            sonde__trace_idle();
        nap_ns = next_nap(nap_ns);
    }
    return NULL;
}

void sonde__monitor_wake(void)
{
    sem_post(&wake);
}

/* The monitor does the final flush itself: it alone can make room on disk. */
bool sonde__monitor_flush(enum sonde_flush how, unsigned bound_ms)
{
    if (on_monitor_thread || atomic_load(&ready) != OPEN)
        return false;
    uint64_t until = sonde_now_ns() + bound_ms * (uint64_t)1000000;
    atomic_fetch_or(&flush_wanted, 1u << how);
    uint32_t mine = atomic_fetch_add(&flush_asked, 1) + 1;
    sem_post(&wake);
    while ((int32_t)(atomic_load(&flush_answered) - mine) < 0) {
        if (sonde_now_ns() > until)
            return false;
        sonde__nap(50);
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
    sem_init(&wake, 0, 0);
    atomic_store(&flush_asked, 0);
    atomic_store(&flush_answered, 0);
    turns_at_slow = modules_at = clocks_gap = clocks_missing = 0;
    atomic_store(&cpu_ns, 0);
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
