/* sample.c - the CPU side: the signal, its handler, and what becomes of samples (docs/developers/sampling.md).
 *
 * The kernel sends a signal to a thread each time it has used a period of CPU
 * time; the thread's handler walks the stack that was interrupted into the
 * thread's own calling context tree and puts a sample into the thread's ring,
 * which the monitor empties. In the handler no lock is waited for, nothing is
 * allocated but from the agent's own memory, and the loader is not asked: what
 * cannot be had now is missed, and the next sample stands for its time.
 *
 * SIGURG: whoever does not handle it ignores it, so that one too many, or one
 * that is still under way when this ends, harms nobody; it does not queue. A
 * program that wants it gets it, and is not sampled from then on.
 */
#include "sample.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/context/context.h"
#include "agent/preload/preload.h"
#include "agent/stack/unwind_arch.h"
#include "agent/state/clock.h"
#include "agent/state/state.h"
#include "agent/store/store.h"
#include "target.h"

#define LINGER_NS 1000000000u /* after recording went off: until the events go, too */

static struct {
    bool installed, over, armed;
    struct sigaction program;            /* what it had, which means: ignored */
    uint64_t on_ns;                      /* the last turn that found recording on */
    uint64_t process_ns;                 /* CPU time of the program while recording */
    uint64_t process_at_ns;              /* at the last turn, our threads' included; 0: recording was off */
    uint64_t ours_at_ns;
} sampling;

static bool is_asked(void)
{
    return sonde__agent.config.cpu_hz || sonde__counting_asked();
}

/* ---- in the program's threads ---------------------------------------------------- */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A period that is due is found by the next tick that finds the thread running, and the signal comes when the system call is over that
 * the thread is in then. The kernel looks no more until the signal is taken, and starts with the next period from there. */

/* Beside programs that want the same processor the thread may have run through several ticks of others since, or through none. */
static uint64_t since_tick_ns(void)
{
    const uint64_t tick_ns = read_clock(CLOCK_MONOTONIC_COARSE), now_ns = read_clock(CLOCK_MONOTONIC);
    return now_ns > tick_ns ? now_ns - tick_ns : 0;
}

/* The thread's CPU time, now `cpu_ns`, up to which a sample stands for it: when the timer was due last. After a system call what no tick
 * would have found belongs to the next sample. If this one took it, code that is in the kernel for long had the time of what runs
 * before and after it (docs/sampling.md, "What a sample is"). How late ticks find what is due is what they did in user mode, where
 * the signal comes at once. A perf event's signals come in user mode, and none of them late. */
static uint64_t due_ns(struct sonde_target *x, uint64_t cpu_ns, const ucontext_t *context)
{
    const uint64_t first_ns = atomic_load_explicit(&x->due_ns, memory_order_relaxed), period_ns = sonde__sample_period_ns();
    const uint64_t before_ns = atomic_exchange_explicit(&x->signal_ns, cpu_ns, memory_order_relaxed);
    if (!first_ns || cpu_ns < first_ns)
        return cpu_ns;
    const uint64_t last_ns = cpu_ns - (cpu_ns - first_ns) % period_ns;
    uint64_t found_ns = before_ns < first_ns ? first_ns : before_ns - (before_ns - first_ns) % period_ns + period_ns;
    found_ns = found_ns < last_ns ? found_ns : last_ns; /* this signal was for it */
    if (!SONDE__IN_SYSTEM_CALL(context)) {
        atomic_store_explicit(&x->late_ns, cpu_ns - found_ns, memory_order_relaxed);
        return last_ns;
    }
    const uint64_t known_ns = atomic_load_explicit(&x->late_ns, memory_order_relaxed), late_ns = known_ns ? known_ns : since_tick_ns();
    const uint64_t unseen = cpu_ns - last_ns < late_ns ? (late_ns - (cpu_ns - last_ns) + period_ns - 1) / period_ns * period_ns : 0;
    return last_ns >= found_ns + unseen ? last_ns - unseen : found_ns;
}

void sonde__sample_deferred(struct sonde_thread *t, uint32_t node)
{
    atomic_fetch_and_explicit(&t->at_end, ~(uint32_t)SONDE_AT_END_SAMPLE, memory_order_relaxed);
    if (sonde__sample_put(t, t->samples.waits_since_ns, t->samples.waits_cpu_ns, node, SONDE_SAMPLE_DEFERRED))
        sonde__count(&t->samples.count.deferred, 1);
}

/* 0: it cannot be had now. */
static uint32_t node_of(struct sonde_thread *t, const ucontext_t *context)
{
    const struct sonde_place at = SONDE__PLACE_OF(context);
    sonde__handler = (struct sonde_handler){.on = true};
    const uint32_t node = sonde__context_sample(t, &at);
    const bool missed = sonde__handler.missed || !node;
    sonde__handler.on = false;
    if (missed)
        sonde__monitor_wake(); /* it may have something to look up */
    return missed ? 0 : node;
}

static void count_own(struct sonde_samples *s, uint64_t begin_ns)
{
    const uint64_t own_ns = sonde__thread_cpu_ns() - begin_ns; /* not by ticks: the thread may have lost the processor in between */
    sonde__count(&s->count.own_ns, own_ns);
    sonde__count(&s->cpu_ns, own_ns);
}

static void take(struct sonde_thread *t, const ucontext_t *context, uint64_t begin_ns, uint64_t due_ns)
{
    const uint64_t now = sonde_now_ns();
    const uint32_t node = node_of(t, context);
    atomic_fetch_and_explicit(&t->at_end, ~(uint32_t)SONDE_AT_END_SAMPLE, memory_order_relaxed); /* one that waited for a call that was not the last: its time is in this one's */
    if (node)
        sonde__sample_put(t, now, due_ns, node, 0);
    else
        sonde__count(&t->samples.count.lost, 1);
    count_own(&t->samples, begin_ns);
}

/* A counter has counted another period. */
static void take_counted(struct sonde_thread *t, uint32_t counter, const ucontext_t *context)
{
    const uint64_t begin_ns = sonde__thread_cpu_ns();
    const uint32_t node = node_of(t, context);
    if (node)
        sonde__sample_counted(t, node, counter, 1);
    else
        sonde__count(&t->samples.lost_counted[counter], 1);
    count_own(&t->samples, begin_ns);
}

static void counted(struct sonde_target *x, uint32_t counter, const ucontext_t *context)
{
    struct sonde_thread *t = atomic_load_explicit(&x->thread, memory_order_acquire);
    sonde__counting_seen(counter, context);
    if (t)
        sonde__count(&t->samples.count.counted, 1);
    if (!t) {
        if (!atomic_exchange(&x->wanted, true))
            sonde__monitor_wake();
    } else if (!sonde__sample_on() || atomic_load(&sonde__agent.closed)) {
        return;
    } else if (t->busy == SONDE_BUSY_CALL) {
        sonde__counting_held(t, counter);
    } else if (t->busy) {
        sonde__count(&t->samples.lost_counted[counter], 1);
    } else {
        take_counted(t, counter, context);
    }
}

static void sample(struct sonde_target *x, uint32_t flag, const ucontext_t *context)
{
    struct sonde_thread *t = atomic_load_explicit(&x->thread, memory_order_acquire);
    const uint64_t cpu_ns = sonde__thread_cpu_ns(), until_ns = due_ns(x, cpu_ns, context);
    if (!t) {
        if (!atomic_exchange(&x->wanted, true))
            sonde__monitor_wake();
    } else if (flag == SONDE_FLAG_OFF || atomic_load(&sonde__agent.closed)) {
        atomic_store_explicit(&t->samples.cpu_ns, cpu_ns, memory_order_relaxed); /* what comes now belongs to no sample */
    } else if (t->busy == SONDE_BUSY_CALL) {
        t->samples.waits_since_ns = sonde_now_ns();
        t->samples.waits_cpu_ns = until_ns;
        sonde__count(&t->samples.count.held, 1);
        atomic_fetch_or_explicit(&t->at_end, SONDE_AT_END_SAMPLE, memory_order_relaxed);
    } else if (t->busy) {
        sonde__count(&t->samples.count.lost, 1);
    } else {
        take(t, context, cpu_ns, until_ns);
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int saved = errno;
    const uint32_t flag = sonde__flag ? atomic_load_explicit(sonde__flag, memory_order_acquire) : SONDE_FLAG_LOOK;
    uint32_t of = 0;
    struct sonde_target *x = sonde__target_of_signal(info, &of);
    (void)number;
    if (!x || flag == SONDE_FLAG_LOOK || atomic_load_explicit(&x->tid, memory_order_relaxed) != (int)syscall(SYS_gettid))
        ; /* a child's, or one from an earlier life of this number */
    else if (of)
        counted(x, of - 1, context);
    else
        sample(x, flag, context);
    errno = saved;
}

/* ---- threads that start and end, told by the preload library ---------------------------- */

#define REST_LEAST_NS    100000u
#define REST_OF_HOOKS_NS 1000000u /* of a thread that called the runtime: much of it is its calls', which are known */

void sonde__sample_starts(void)
{
    if (sonde__sample_on() && is_asked() && !atomic_load(&sonde__agent.closed))
        sonde__target_starts();
}

/* What the thread has used since its last sample belongs to none yet: it was in its start routine, where is not known. */
void sonde__sample_ends(void *(*routine)(void *))
{
    struct sonde_thread *t = sonde__sample_on() ? sonde__target_mine() : NULL;
    if (!t || t->busy || atomic_load(&sonde__agent.closed))
        return;
    const int error = errno;
    sonde__busy(t, SONDE_BUSY);
    const uint64_t now_ns = sonde__thread_cpu_ns(), last_ns = atomic_load_explicit(&t->samples.cpu_ns, memory_order_relaxed);
    const uint64_t rest_ns = now_ns > last_ns && sonde__agent.config.cpu_hz ? now_ns - last_ns : 0;
    if (rest_ns >= (t->adopted ? REST_OF_HOOKS_NS : REST_LEAST_NS)) {
        sonde__handler = (struct sonde_handler){.on = true};
        const uint32_t node = sonde__context_routine(t, (uintptr_t)routine);
        const bool missed = sonde__handler.missed || !node;
        sonde__handler.on = false;
        if (missed)
            sonde__monitor_wake();
        else
            sonde__sample_put(t, sonde_now_ns(), now_ns, node, SONDE_SAMPLE_REST);
    }
    if (!sonde__target_ends(rest_ns)) /* else the slot may be another thread's by now */
        sonde__busy(t, 0);
    errno = error;
}

/* ---- the signal --------------------------------------------------------------------- */

static bool is_ignored(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

/* What libc does, not what the preload library would tell a program. */
static int disposition(const struct sigaction *set, struct sigaction *old)
{
    int (*real)(int, const struct sigaction *, struct sigaction *) = sigaction;
    struct sonde_shared *shared = sonde__agent_shared();
    if (shared && atomic_load(&shared->libc_sigaction))
        real = atomic_load(&shared->libc_sigaction);
    return real(SONDE_SAMPLE_SIGNAL, set, old);
}

/* False: the program has use for the signal itself. */
static bool install(void)
{
    struct sonde_shared *shared = sonde__agent_shared();
    int nobody = SONDE_SIGNAL_FREE;
    if (disposition(NULL, &sampling.program) != 0 || !is_ignored(&sampling.program) ||
        (shared && !atomic_compare_exchange_strong(&shared->signal_owner, &nobody, SONDE_SIGNAL_AGENT)))
        return false;
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask); /* libc's own signals, too: sigfillset leaves them out */
    if (shared)
        shared->signal_program = sampling.program;
    if (disposition(&ours, &sampling.program) != 0)
        return false;
    if (is_ignored(&sampling.program))
        return true;
    disposition(&sampling.program, NULL); /* it came in between */
    return false;
}

static void uninstall(void)
{
    struct sigaction now;
    struct sonde_shared *shared = sonde__agent_shared();
    int ours = SONDE_SIGNAL_AGENT;
    if (sampling.installed && disposition(NULL, &now) == 0 && is_ours(&now))
        disposition(&sampling.program, NULL);
    if (shared)
        atomic_compare_exchange_strong(&shared->signal_owner, &ours, SONDE_SIGNAL_FREE);
    sampling.installed = false;
}

/* CPU time of the program's threads while recording: what samples should add up to. */
static void follow_process(bool on)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    const uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    const uint64_t ours = sonde__thread_cpu_ns() + sonde__trace_cpu_ns() + atomic_load(&sonde__agent.backend_cpu_ns);
    if (sampling.process_at_ns) {
        uint64_t all = now - sampling.process_at_ns, own = ours - sampling.ours_at_ns;
        sampling.process_ns += all > own ? all - own : 0;
    }
    sampling.process_at_ns = on ? now : 0;
    sampling.ours_at_ns = ours;
}

static void end(const char *why)
{
    if (sampling.installed)
        follow_process(false);
    sonde__targets_open(false); /* from here on no thread arms itself */
    sonde__targets_disarm();
    sonde__counting_end();
    uninstall();
    sampling.armed = false;
    sampling.over = true;
    if (why)
        sonde_note("the CPU side %s: %s", sonde__agent.header->cpu_sampling ? "ends early" : "is not sampled", why);
}

void sonde__sample_give_up(void)
{
    if (!sampling.over)
        end("the program handles " SONDE_SAMPLE_SIGNAL_NAME " itself");
}

void sonde__sample_stop(void)
{
    if (!sampling.over && is_asked())
        end(NULL);
}

/* ---- the monitor's turn -------------------------------------------------------------- */

static bool begin(void)
{
    const char *why = NULL;
    sampling.installed = install();
    if (!sampling.installed)
        why = "the program handles " SONDE_SAMPLE_SIGNAL_NAME " itself";
    else if (sonde__files_shared())
        why = "this kernel gives Sonde's threads no file descriptor table of their own";
    else if (!sonde__targets_begin())
        why = "the list of threads in /proc cannot be read";
    if (why)
        end(why);
    return !why;
}

void sonde__sample_turn(uint64_t now)
{
    struct sonde_agent *a = &sonde__agent;
    const bool on = sonde__sample_on();
    struct sigaction action;
    if (!is_asked() || sampling.over || atomic_load(&a->closed) || (!sampling.installed && (!on || !begin())))
        return;
    if (disposition(NULL, &action) == 0 && !is_ours(&action)) {
        sonde__sample_give_up();
        return;
    }
    follow_process(on);
    sampling.on_ns = on ? now : sampling.on_ns;
    if (now - sampling.on_ns > LINGER_NS) {
        if (sampling.armed)
            sonde__targets_disarm();
        sampling.armed = false;
        return;
    }
    if (!sampling.armed)
        sonde__targets_open(true); /* before the folder of threads is read: one that starts meanwhile arms itself */
    sonde__targets_turn(now, !sampling.armed, on);
    sampling.armed = true;
}

void sonde__sample_account(struct sonde_live_header *h)
{
    struct sonde_agent *a = &sonde__agent;
    uint64_t taken = 0, deferred = 0, lost = 0, own_ns = 0;
    sonde__counting_account();
    if (!a->config.cpu_hz)
        return;
    for (uint32_t i = 1; i <= atomic_load(&a->thread_count); i++) {
        const struct sonde_samples *s = &atomic_load(&a->threads[i])->samples;
        taken += atomic_load_explicit(&s->count.taken, memory_order_relaxed);
        deferred += atomic_load_explicit(&s->count.deferred, memory_order_relaxed);
        lost += atomic_load_explicit(&s->count.lost, memory_order_relaxed);
        own_ns += atomic_load_explicit(&s->count.own_ns, memory_order_relaxed);
    }
    h->cpu.samples = taken;
    h->cpu.deferred = deferred;
    h->cpu.lost = lost;
    h->cpu.handler_ns = own_ns;
    h->cpu.process_ns = sampling.process_ns;
    h->cpu.sampled_ns = a->sampled_ns;
    sonde__targets_account(h);
}

void sonde__sample_forget(void)
{
    uninstall(); /* the child's own copy of the disposition */
    sonde__targets_forget();
    sonde__counting_forget();
    memset(&sampling, 0, sizeof sampling);
    sonde__handler = (struct sonde_handler){.on = false};
}
