/* agent.c - the agent's life: start, fork, and the ends of the process.
 *
 * Start has two steps. Loading sets up a word of memory and the handlers of a fork. The
 * rest happens at the first hooked call, in the program's thread that makes
 * it, when the runtime is ready: memory, then the monitor thread, which opens
 * the files. Whatever fails switches the agent off and leaves the program alone.
 */
#include "run.h"

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

#include "agent/context/context.h"
#include "agent/preload/preload.h"
#include "agent/sample/sample.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "guest/memory.h"

#define DEATH_BOUND_MS  1000 /* when a signal kills the program: how long it is kept from that, */
#define CALL_BOUND_MS    100 /* after the end of the call that it interrupted, or so long */

/* ---- the end ------------------------------------------------------------------------- */

void sonde__agent_flush(enum sonde_flush how)
{
    struct sonde_agent *a = &sonde__agent;
    const uint64_t begin_ns = sonde_now_ns();
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* or exit would end here, half done */
    if (sonde__flag && atomic_load(sonde__flag) != SONDE_FLAG_LOOK && atomic_load(&a->state) == SONDE_ON &&
        a->pid == getpid()) {
        if (!sonde__monitor_flush(how, SONDE_EXIT_BOUND_MS + 2000))
            sonde_note("no final flush: the monitor thread did not respond");
        sonde__count_held(begin_ns);
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
        sonde__count_held(begin_ns);
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
    sonde__flag_set(SONDE_FLAG_LOOK);
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
    sonde__recording_forget();
    sonde__settings = NULL; /* whoever attached to the parent did not mean its children */
    memset(a, 0, sizeof *a);
}

/* A child that is made while another thread of ours has a lock of the C library that
 * fork() does not reset (the loader's list, the exit handlers), or one of a runtime, would find it taken for ever.
 * Bounded: the forking thread may itself hold what the other one waits for there. */
static __thread bool held_for_fork __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t forks_waiting;

/* The monitor asks thousands of times in a row: it lets a fork that waits go first. */
void sonde__enter_runtime(void)
{
    if (!sonde__on_monitor || sonde__agent.in_runtime++)
        return;
    for (int i = 0; i < 100 && atomic_load(&forks_waiting); i++)
        sonde__nap(50);
    sonde__lock(&sonde__agent.fork_lock);
}

void sonde__leave_runtime(void)
{
    if (sonde__on_monitor && !--sonde__agent.in_runtime)
        sonde__unlock(&sonde__agent.fork_lock);
}

static void before_fork(void)
{
    atomic_fetch_add(&forks_waiting, 1);
    held_for_fork = sonde__lock_within(&sonde__agent.fork_lock, 100);
    atomic_fetch_sub(&forks_waiting, 1);
}

static void after_fork(void)
{
    if (held_for_fork)
        sonde__unlock(&sonde__agent.fork_lock);
}

static void forked(void)
{
    in_child();
    atomic_store(&forks_waiting, 0);
    atomic_store(&sonde__starting, 0);
}

/* ---- the start --------------------------------------------------------------------------- */

/* At load, while there is nobody who could look: the pointer never changes. The handlers of
 * a fork, too: a fork under way calls none that are registered in its middle. */
__attribute__((constructor)) static void loaded(void)
{
    static _Atomic uint32_t without_memory;
    int saved = errno;
    pthread_atfork(before_fork, after_fork, forked);
    void *page = sonde__pages_get(4096);
    sonde__flag = page ? page : &without_memory;
    if (page)
        madvise(page, 4096, MADV_WIPEONFORK);
    errno = saved;
}

static void folded_nodes(void)
{
    if (!sonde_is_attached() && !sonde__thread_enter()) /* the thread that starts us is one of the program's, but where we were attached */
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

bool sonde__agent_exits;

/* Bounded: whoever has the lock may wait in the runtime for what this thread has there; or it is this thread, the monitor. */
static void look_at_exit(void)
{
    const bool own = sonde__on_monitor && sonde__agent.in_runtime, locked = !own && sonde__lock_within(&sonde__agent.fork_lock, 100);
    atexit(at_exit);
    at_quick_exit(at_exit);
    sonde__agent_exits = true;
    if (locked)
        sonde__unlock(&sonde__agent.fork_lock);
}

static void once_per_program(void)
{
    static bool done;
    if (done)
        return;
    /* Now, not at load: the runtime's own exit handlers were registered before
     * ours, so ours runs while the runtime still works. */
    if (!sonde__agent_exits)
        look_at_exit();
    sonde__clock_find();
    sonde__agent_shared_find();
    done = true;
}

/* Exit handlers run last registered first: those of a runtime that came after
 * ours would take the runtime away before our last look at it. */
static void runtime_is_there(void)
{
    static bool done;
    if (!sonde__agent.early || done)
        return;
    done = true;
    look_at_exit();
}

uint32_t sonde_device_add(const struct sonde_device_info *info)
{
    if (!sonde__agent_here())
        return 0;
    runtime_is_there();
    return sonde__device_new(info);
}

/* In a program's thread that wants the samples' signal; returns when no more of ours come. */
static void release_signal(void)
{
    sonde__monitor_flush(SONDE_FLUSH_SIGNAL, 1000);
}

static void connect_preload(void)
{
    struct sonde_shared *shared = sonde__agent_shared();
    if (!shared)
        return;
    atomic_store(&shared->release_signal, release_signal);
    atomic_store(&shared->at_exit, at_exit);
    atomic_store(&shared->before_exit, before_exit);
    atomic_store(&shared->before_exec, before_exec);
    atomic_store(&shared->before_death, before_death);
    void (*arm)(void) = atomic_load(&shared->arm_deaths);
    if (arm)
        arm();
    atomic_store(&shared->modules_changed, sonde__unwind_modules_changed);
    atomic_store(&shared->set_range, sonde__agent_set_range);
    atomic_store(&shared->name_memory, sonde__stretch_name);
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
    enum { ROUNDS = 8 };
    enum { READINGS = 64 };
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
        sonde__frames_init() || sonde__profile_init())
        return "out of memory";
    sonde__objects_init();
    sonde__stretches_init();
    sonde__values_init();
    sonde__remote_init();
    sonde__migrations_init();
    sonde__counters_init();
    sonde__stalls_init();
    sonde__last_init();
    sonde__trace_init(sonde__sample_mine);
    a->began = sonde__moment();
    a->reading_ns = reading_cost();
    atomic_store(&a->range, !a->config.start_off && !a->config.delay_ms); /* the monitor may turn it on */
    int err = sonde__monitor_start();
    if (err)
        return err == SONDE_EBUSY ? SONDE_MONITOR_LATE : sonde_error_text(err);
    const struct sonde_moment now = sonde__moment();
    atomic_store(&a->ticks_per_ns, (double)(now.ticks - a->began.ticks) / (double)(now.ns - a->began.ns));
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
    sonde__count_held(begin_ns);
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
        if (!atomic_compare_exchange_strong(&sonde__starting, &other, self) &&
            (other == self || !atomic_compare_exchange_strong(&sonde__starting, &other, self))) {
            sonde__nap(50);
            continue;
        }
        if (a->pid && a->pid != self)
            in_child();
        if (atomic_load(&a->state) == SONDE_NEW)
            start_or_off();
        atomic_store(&sonde__starting, 0);
    }
}

bool sonde__agent_enter(void)
{
    if (!sonde__flag || atomic_load(sonde__flag) == SONDE_FLAG_LOOK)
        start_once();
    return sonde__flag && atomic_load(sonde__flag) == SONDE_FLAG_ON;
}
