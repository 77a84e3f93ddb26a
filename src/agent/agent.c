/* agent.c - the agent's life: start, ranges, fork, exit, and failing open.
 *
 * Start has two steps. Loading does nothing but set up a word of memory. The
 * rest happens at the first hooked call, in the program's thread that makes
 * it, when the runtime is ready: memory, then the monitor thread, which opens
 * the files. Whatever fails switches the agent off and leaves the program alone.
 */
#include "agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sonde/error.h>

#include "guest/memory.h"
#include "preload/preload.h"

#define EXIT_BOUND_MS   1000 /* how long the final flush waits for work in flight, */
#define DEATH_BOUND_MS  1000 /* when a signal kills the program: how long it is kept from that, */
#define DEATH_PASSES_MS  600 /* and the monitor's part of it, */
#define CALL_BOUND_MS    100 /* after the end of the call that it interrupted, or so long */
#define PASSES_BOUND_MS 2500 /* or a little longer when it is busy asking: less than its caller waits */

struct sonde_agent sonde__agent;
SONDE__HOT_DATA _Atomic uint32_t *sonde__flag;

/* The process in which a thread is starting the agent, 0 = none. Not a lock:
 * what a child finds in it after a fork may be its parent's. */
static _Atomic int starting;
static struct sonde_shared *shared; /* the preload library's, if it is there */

/* ---- ranges --------------------------------------------------------------------- */

static void flag_set(uint32_t value)
{
    atomic_store_explicit(sonde__flag, value, memory_order_release);
}

/* A runtime that reports must do so before the first hook that records, and
 * may stop only after the last. */
static void tell_backends(bool on)
{
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->range)
            sonde_backends[i]->range(on);
}

/* Recording is turned on and off by any thread (sonde_start, capture ranges) and
 * by the monitor (--delay, --duration): one at a time, and the last word counts.
 * Who finds the lock taken for long leaves it to whoever has it, who looks again;
 * so does a signal handler that came within this, which must not wait. */
static struct sonde_lock range_lock;
static _Atomic uint32_t range_asked, range_applied; /* how often; the second under the lock */
static __thread volatile bool applying __attribute__((tls_model("initial-exec")));

static void apply_last_word(void)
{
    bool on = atomic_load(&sonde__agent.range);
    if (atomic_load(&sonde__agent.state) != SONDE_ON)
        return;
    if (on) {
        tell_backends(true);
        atomic_store(&sonde__agent.range_since_ns, sonde_now_ns());
    } else { /* of a run whose recording begins later, from the agent's start on */
        sonde__recorded_pause(atomic_load(&sonde__agent.range_since_ns) ? sonde_now_ns()
                                                                        : sonde__agent.header->start_ns);
    }
    flag_set(on ? SONDE_FLAG_ON : SONDE_FLAG_OFF);
    if (on)
        sonde__recorded_resume(sonde_now_ns());
    else
        tell_backends(false);
}

static bool applies_in_time(void)
{
    if (!sonde__lock_within(&range_lock, 1000))
        return false;
    const uint32_t asked = atomic_load(&range_asked);
    apply_last_word();
    atomic_store(&range_applied, asked);
    sonde__unlock(&range_lock);
    return true;
}

void sonde__agent_apply_range(void)
{
    atomic_fetch_add(&range_asked, 1);
    if (applying)
        return;
    bool in_time = true;
    while (in_time && atomic_load(&range_applied) != atomic_load(&range_asked)) {
        applying = true;
        in_time = applies_in_time();
        applying = false;
    }
}

/* The flag is set after the state, and the state before who starts the agent
 * looks at the range: it, or we, see what the other one did. */
static bool has_range(void)
{
    if (!sonde__flag)
        return false;
    if (atomic_load(sonde__flag) == SONDE_FLAG_LOOK && atomic_load(&starting) == getpid())
        return atomic_load(&sonde__agent.state) == SONDE_ON;
    return atomic_load(sonde__flag) != SONDE_FLAG_LOOK; /* again: the start may have ended between */
}

void sonde__agent_set_range(int on)
{
    atomic_store(&sonde__agent.range, on);
    if (has_range())
        sonde__agent_apply_range();
}

void sonde_recording_set(bool on)
{
    sonde__agent_set_range(on);
}

/* A child by a bare clone, before its first hooked call, has its parent's
 * mapping and locks: the flag that the kernel wiped tells. */
bool sonde__agent_here(void)
{
    return sonde__agent.header && sonde__flag &&
           (atomic_load_explicit(sonde__flag, memory_order_acquire) != SONDE_FLAG_LOOK ||
            atomic_load(&starting) == getpid());
}

/* ---- failing open ------------------------------------------------------------------ */

void sonde__agent_off(const char *reason)
{
    struct sonde_agent *a = &sonde__agent;
    if (__atomic_load_n(&a->header, __ATOMIC_ACQUIRE)) { /* a monitor that is late may come by just now */
        sonde_note("the agent switched itself off: %s", reason);
        a->header->state = SONDE_PROCESS_OFF;
    }
    atomic_store(&a->state, SONDE_DEAD);
    if (sonde__flag)
        flag_set(SONDE_FLAG_OFF);
}

/* ---- the end ------------------------------------------------------------------------- */

static bool settled(enum sonde_collect how)
{
    struct sonde_agent *a = &sonde__agent;
    if (!sonde__lock_within(&a->harvest_lock, 100))
        return false;
    sonde__monitor_drain();
    sonde__harvest(NULL);
    sonde__match_turn(how);
    bool all = atomic_load(&a->outstanding) == 0 && sonde__match_waiting() == 0;
    sonde__unlock(&a->harvest_lock);
    return all;
}

/* Ask about everything outstanding once more, in-order or not: a command whose
 * wait list failed never finishes and must not hide those behind it. */
static void last_look(void)
{
    struct sonde_agent *a = &sonde__agent;
    if (!sonde__lock_within(&a->harvest_lock, 100))
        return;
    for (uint32_t i = 1; i <= atomic_load(&a->lane_count); i++)
        atomic_load(&a->lanes[i])->out_of_order = true;
    sonde__unlock(&a->harvest_lock);
    if (settled(SONDE_COLLECT_LAST) || !sonde__lock_within(&a->harvest_lock, 100))
        return;
    sonde__harvest_abandon();
    sonde__unlock(&a->harvest_lock);
}

/* Under monitor_lock. */
static void take_late(void)
{
    if (!sonde__lock_within(&sonde__agent.harvest_lock, 100))
        return;
    sonde__harvest_late();
    sonde__unlock(&sonde__agent.harvest_lock);
}

void sonde__agent_late(void)
{
    if (!sonde__lock_within(&sonde__agent.monitor_lock, 100))
        return;
    take_late();
    sonde__monitor_account();
    sonde__unlock(&sonde__agent.monitor_lock);
}

static bool settles_within_bound(void)
{
    const uint64_t until_ns = sonde_now_ns() + PASSES_BOUND_MS * 1000000ull;
    for (int n = 0; n < EXIT_BOUND_MS * 5 && sonde_now_ns() < until_ns; n++) {
        sonde__nap(200);
        if (settled(SONDE_COLLECT_LAST))
            return true;
    }
    return false;
}

/* Under monitor_lock. */
static void settle_dying(void)
{
    const uint64_t until_ns = sonde_now_ns() + DEATH_PASSES_MS * 1000000ull;
    while (!settled(SONDE_COLLECT_DYING) && sonde_now_ns() < until_ns)
        sonde__nap(1000);
    sonde__monitor_account();
}

void sonde__agent_settle(enum sonde_flush how)
{
    struct sonde_agent *a = &sonde__agent;
    if (atomic_load(&a->closed)) {
        sonde__agent_late();
        return;
    }
    if (!sonde__lock_within(&a->monitor_lock, how == SONDE_FLUSH_DEATH ? DEATH_PASSES_MS : 2000))
        return;
    if (how == SONDE_FLUSH_DEATH) {
        settle_dying();
        sonde__unlock(&a->monitor_lock);
        return;
    }
    if (how == SONDE_FLUSH_CLOSE)
        sonde__sample_stop();
    bool all = settled(SONDE_COLLECT_LAST) || (how != SONDE_FLUSH_STORE && !a->finished && settles_within_bound());
    if (how != SONDE_FLUSH_STORE) {
        sonde__monitor_account(); /* in case the runtime does not come back from the next */
        sonde__monitor_clocks();
    }
    if (how == SONDE_FLUSH_CLOSE) {
        if (!all)
            last_look();
        if (sonde__lock_within(&a->harvest_lock, 100)) {
            sonde__match_abandon();
            sonde__unlock(&a->harvest_lock);
        }
        sonde__ranges_last();
        atomic_store(&a->closed, true); /* from here on the runtime may be gone */
        take_late();
    }
    sonde__monitor_account();
    if (how != SONDE_FLUSH_STORE) {
        a->finished = true;
        a->header->state = SONDE_PROCESS_EXITED;
    }
    sonde__unlock(&a->monitor_lock);
}

/* The thread that calls has stood still for us since begin_ns. */
static void count_held(uint64_t begin_ns)
{
    struct sonde_live_header *h = sonde__agent.header;
    if (h)
        __atomic_fetch_add(&h->held_us, (uint32_t)((sonde_now_ns() - begin_ns + 999) / 1000), __ATOMIC_RELAXED);
}

void sonde__agent_flush(enum sonde_flush how)
{
    struct sonde_agent *a = &sonde__agent;
    const uint64_t begin_ns = sonde_now_ns();
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* or exit would end here, half done */
    if (sonde__flag && atomic_load(sonde__flag) != SONDE_FLAG_LOOK && atomic_load(&a->state) == SONDE_ON &&
        a->pid == getpid()) {
        if (!sonde__monitor_flush(how, EXIT_BOUND_MS + 2000))
            sonde_note("the final flush did not happen: the monitor thread did not answer");
        count_held(begin_ns);
    }
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

/* Before any exit handler, where the preload library is there: the runtime's
 * handlers may be registered late, and take away what work under way needs. */
static void before_exit(void)
{
    sonde__agent_flush(SONDE_FLUSH_FINISH);
}

static void before_exec(void)
{
    sonde__agent_flush(SONDE_FLUSH_STORE);
}

static void at_exit(void)
{
    sonde__agent_flush(SONDE_FLUSH_CLOSE);
}

/* A signal that kills has interrupted a hooked call. The runtime may hold there what it needs to tell what has finished,
 * so the signal waits for the call's end, or comes again by a timer. Once in a process. */
static _Atomic bool postponed;
static siginfo_t postponed_info;

static bool postpone(int number, const siginfo_t *info)
{
    struct sonde_thread *t = sonde__self;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    const struct itimerspec bound = {.it_value.tv_nsec = CALL_BOUND_MS * 1000000};
    int timer;
    if (!t || t->busy != SONDE_BUSY_CALL || !info || info->si_pid == getpid() /* raise() must not return */ ||
        atomic_exchange(&postponed, true))
        return false;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0 ||
        syscall(SYS_timer_settime, timer, 0, &bound, NULL) != 0)
        return false;
    postponed_info = *info;
    atomic_fetch_or_explicit(&t->at_end, SONDE_AT_END_DIE, memory_order_relaxed);
    return true;
}

void sonde__agent_die(void)
{
    const int number = postponed_info.si_signo, self = (int)syscall(SYS_gettid);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), self, number, &postponed_info) != 0)
        syscall(SYS_tgkill, getpid(), self, number);
}

/* In a signal's handler, whatever the thread was doing: nothing here takes a lock. */
static int before_death(int number, const siginfo_t *info)
{
    const struct sonde_agent *a = &sonde__agent;
    if (sonde__flag && atomic_load(sonde__flag) != SONDE_FLAG_LOOK && atomic_load(&a->state) == SONDE_ON &&
        a->pid == getpid() && !atomic_load(&a->closed)) {
        if (postpone(number, info))
            return 1;
        const uint64_t begin_ns = sonde_now_ns();
        sonde__monitor_flush(SONDE_FLUSH_DEATH, DEATH_BOUND_MS);
        count_held(begin_ns);
    }
    return 0;
}

/* ---- fork ------------------------------------------------------------------------------ */

static void in_child(void)
{
    struct sonde_agent *a = &sonde__agent;
    sonde__process_forked(); /* whatever lock a thread of the parent had */
    if (!a->pid)
        return; /* not even begun to start */
    /* The parent's threads, channels and mapping are not ours. The flag's page
     * was wiped by the kernel, where it can, so no hook is on its way in. */
    flag_set(SONDE_FLAG_LOOK);
    atomic_store(&postponed, false);
    if (a->pool.base)
        munmap(a->pool.base, a->mapped_bytes);
    sonde__heap_fini(&a->heap);
    sonde__thread_forget_all();
    sonde__trace_forget();
    sonde__match_forget();
    sonde__busy_forget();
    sonde__ranges_forget();
    sonde__sample_forget();
    for (int i = 0; i < SONDE_BACKENDS_MAX && sonde_backends[i]; i++)
        if (sonde_backends[i]->forked)
            sonde_backends[i]->forked();
    atomic_store(&range_applied, atomic_load(&range_asked));
    applying = false;
    memset(a, 0, sizeof *a);
}

/* A child that is made while the monitor is inside the loader would find the
 * loader's list locked for ever. Bounded: the forking thread may itself hold
 * what the monitor waits for there. */
static bool held_for_fork;

static void before_fork(void)
{
    held_for_fork = sonde__lock_within(&sonde__agent.loader_lock, 100);
}

static void after_fork(void)
{
    if (held_for_fork)
        sonde__unlock(&sonde__agent.loader_lock);
}

static void forked(void)
{
    in_child();
    atomic_store(&starting, 0);
}

/* ---- the start --------------------------------------------------------------------------- */

/* At load, while there is nobody who could look: the pointer never changes. */
__attribute__((constructor)) static void flag_map(void)
{
    static _Atomic uint32_t without_memory;
    int saved = errno;
    void *page = sonde__pages_get(4096);
    sonde__flag = page ? page : &without_memory;
    if (page)
        madvise(page, 4096, MADV_WIPEONFORK);
    errno = saved;
}

static void folded_nodes(void)
{
    struct sonde_thread *t = sonde__thread_enter();
    if (!t)
        return;
    struct sonde_segment *s =
        sonde__pool_get(&sonde__agent.pool, SONDE_TABLE_NODE, 0, 0, sizeof(struct sonde_row_node));
    if (!s)
        return;
    struct sonde_row_node *row = sonde__segment_rows(s);
    row[0].frame = sonde__frame_of_kind(SONDE_FRAME_CUT);
    for (uint32_t k = 0; k < SONDE_OP_KIND_COUNT; k++) {
        row[1 + k] = (struct sonde_row_node){(uint32_t)s->first, sonde__frame_of_op(k, 0)};
        sonde__agent.folded_node[k] = (uint32_t)s->first + 1 + k;
    }
    sonde__agent.folded_sample = (uint32_t)s->first;
    __atomic_store_n(&s->used, 1 + SONDE_OP_KIND_COUNT, __ATOMIC_RELEASE);
}

static void once_per_program(void)
{
    static bool done;
    if (done)
        return;
    pthread_atfork(before_fork, after_fork, forked);
    /* Now, not at load: the runtime's own exit handlers were registered before
     * ours, so ours runs while the runtime still works. */
    atexit(at_exit);
    at_quick_exit(at_exit);
    sonde__clock_find();
    shared = dlsym(RTLD_DEFAULT, "sonde__shared");
    if (!shared)
        (void)dlerror(); /* the program's next dlerror is not about us */
    done = true;
}

/* Exit handlers run last registered first: those of a runtime that came after
 * ours would take the runtime away before our last look at it. */
void sonde__agent_runtime_is_there(void)
{
    static bool done;
    if (!sonde__agent.early || done)
        return;
    done = true;
    atexit(at_exit);
    at_quick_exit(at_exit);
}

struct sonde_shared *sonde__agent_shared(void)
{
    return shared;
}

static void connect_preload(void)
{
    if (!shared)
        return;
    atomic_store(&shared->release_signal, sonde__sample_release);
    atomic_store(&shared->at_exit, at_exit);
    atomic_store(&shared->before_exit, before_exit);
    atomic_store(&shared->before_exec, before_exec);
    atomic_store(&shared->before_death, before_death);
    void (*arm)(void) = atomic_load(&shared->arm_deaths);
    if (arm)
        arm();
    atomic_store(&shared->modules_changed, sonde__unwind_modules_changed);
    atomic_store(&shared->set_range, sonde__agent_set_range);
    sonde__sleep_connect(shared);
    uint32_t word; /* another thread may say one just now, to the library and then to us */
    do {
        word = atomic_load(&shared->range);
        if (word)
            atomic_store(&sonde__agent.range, word == 1);
    } while (atomic_load(&shared->range) != word);
}

/* Nanoseconds of one clock and one tick reading: the least of a few rounds. */
static double reading_cost(void)
{
    enum { ROUNDS = 8, READINGS = 64 };
    uint64_t least = UINT64_MAX;
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t begin = sonde_now_ns();
        for (volatile int i = 0; i < READINGS; i++) {
            sonde_now_ns();
            sonde__ticks();
        }
        uint64_t took = sonde_now_ns() - begin;
        least = took < least ? took : least;
    }
    return (double)least / READINGS;
}

static const char *start(void)
{
    struct sonde_agent *a = &sonde__agent;
    if (!sonde__config_read(&a->config))
        return "no SONDE_OUT";
    once_per_program();
    if (sonde__heap_init(&a->heap, a->config.memory_bytes / 2) || sonde__unwind_init() || sonde__tables_init() ||
        sonde__profile_init())
        return "out of memory";
    a->ticks0 = sonde__ticks();
    a->ns0 = sonde_now_ns();
    a->reading_ns = reading_cost();
    atomic_store(&a->range, !a->config.start_off && !a->config.delay_ms); /* the monitor may turn it on */
    int err = sonde__monitor_start();
    if (err)
        return err == SONDE_EBUSY ? SONDE_MONITOR_LATE : sonde_error_text(err);
    atomic_store(&a->ticks_per_ns, (double)(sonde__ticks() - a->ticks0) / (double)(sonde_now_ns() - a->ns0));
    folded_nodes();
    /* Each may have a profile row, too: an eighth of the room for all. */
    a->sampled_nodes_max = (uint32_t)(a->mapped_bytes / 8 / (sizeof(struct sonde_row_profile) + sizeof(struct sonde_row_node)));
    sonde__profile_reserve();
    connect_preload();
    return NULL;
}

static void start_or_off(void)
{
    struct sonde_agent *a = &sonde__agent;
    const uint64_t begin_ns = sonde_now_ns();
    atomic_store(&a->pid, getpid());
    const char *failed = start();
    if (failed) {
        sonde__agent_off(failed);
        return;
    }
    if (a->config.delay_ms) /* it may be over by now */
        sonde__recorded_pause(a->header->start_ns);
    count_held(begin_ns);
    atomic_store(&a->state, SONDE_ON);
    sonde__agent_apply_range();
}

/* One thread of this process starts the agent, the others wait for it. The
 * wiped flag and the pid of another process mean a child that no handler has
 * seen (a raw clone), or one made while a thread of the parent was here. */
static void start_once(void)
{
    struct sonde_agent *a = &sonde__agent;
    const int self = getpid();
    while (atomic_load(&a->state) == SONDE_NEW || a->pid != self) {
        int other = 0;
        if (!atomic_compare_exchange_strong(&starting, &other, self) &&
            (other == self || !atomic_compare_exchange_strong(&starting, &other, self))) {
            sonde__nap(50);
            continue;
        }
        if (a->pid && a->pid != self)
            in_child();
        if (atomic_load(&a->state) == SONDE_NEW)
            start_or_off();
        atomic_store(&starting, 0);
    }
}

bool sonde__agent_enter(void)
{
    if (!sonde__flag || atomic_load(sonde__flag) == SONDE_FLAG_LOOK)
        start_once();
    return sonde__flag && atomic_load(sonde__flag) == SONDE_FLAG_ON;
}
