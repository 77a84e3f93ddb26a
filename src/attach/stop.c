/* stop.c - threads of another process stop, make a system call for us, and go on as if nothing had been.
 *
 * A thread is seized and interrupted (PTRACE_SEIZE, PTRACE_INTERRUPT): no signal is sent. It stops within the kernel's
 * handling of signals, where a system call that it was waiting in has ended with one of the kernel's own numbers (ERESTARTSYS and
 * so on). With its registers as they were, it leaves the stop through the same code, which begins that call again, with what is
 * left of its timeout. A system call of ours takes it through a stop at the call's end; so it is interrupted once more after that, and
 * gets its registers back where the first stop was. Some calls end with EINTR whenever their thread is stopped (signal(7)); if no
 * signal has come, those begin again by what the kernel has for others: with all of their timeout.
 *
 * What the process ignores comes to it while the thread that it is sent for is traced (sig_ignored() of the kernel), and the
 * kernel wakes any other thread for it, which may end such a call with EINTR: SIGCHLD is sent for the thread that made the child, signals
 * to the process for its first thread. So those stop last, when no other thread is left to be woken, and go on first.
 */
#include "parts.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 200    /* for a thread to stop: a thread in the kernel that cannot be interrupted does not, a vfork's for one */
#define TURNS   100    /* of looking whether a thread has stopped, which takes microseconds, before it is waited for with naps */
#define ROUNDS   50    /* of looking for threads that have started meanwhile */
#define ERESTARTNOHAND 514
#define SYSCALL_STOP (SIGTRAP | 0x80)
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

static long trace(int request, pid_t tid, const void *address, void *data)
{
    return syscall(SYS_ptrace, request, tid, address, data); /* the function of libc takes an enumeration */
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- stopping and going on -------------------------------------------------------------- */

static int event_of(int status)
{
    return status >> 16;
}

/* Of the calls that say EINTR when their thread was stopped (signal(7)), those that can be begun again. */
static bool says_eintr(uint64_t number)
{
    return number == SYS_epoll_wait || number == SYS_epoll_pwait || number == SYS_semop || number == SYS_semtimedop ||
           number == SYS_rt_sigtimedwait || number == SYS_io_getevents || number == 441 /* epoll_pwait2 */ || number == SYS_recvfrom ||
           number == SYS_recvmsg || number == SYS_accept || number == SYS_accept4;
}

/* The thread is in the stop that it was interrupted for. */
static enum sonde_stopping take_registers(struct sonde_stopped *t)
{
    if (trace(PTRACE_GETREGS, t->tid, NULL, &t->registers) != 0)
        return SONDE_STOP_GONE;
    if ((int64_t)t->registers.orig_rax >= 0 && (int64_t)t->registers.rax == -EINTR && says_eintr(t->registers.orig_rax)) {
        t->registers.rax = (uint64_t)-ERESTARTNOHAND;
        trace(PTRACE_SETREGS, t->tid, NULL, &t->registers);
    }
    return SONDE_STOPPED;
}

static enum sonde_stopping wait_interrupted(struct sonde_stopped *t)
{
    int status;
    for (int waited_ms = 0; waited_ms < WAIT_MS;) {
        const pid_t found = waitpid(t->tid, &status, __WALL | WNOHANG);
        if (found == 0) {
            nap_ms(1);
            waited_ms++;
        } else if (found < 0 || WIFEXITED(status) || WIFSIGNALED(status)) {
            return SONDE_STOP_GONE;
        } else if (event_of(status) == PTRACE_EVENT_STOP) {
            if (WSTOPSIG(status) == SIGTRAP)
                return take_registers(t);
            trace(PTRACE_DETACH, t->tid, NULL, NULL); /* it is stopped by a signal, with its process */
            return SONDE_STOP_LATER;
        } else { /* a signal of the program's, on its way: it gets it, and stops after that */
            trace(PTRACE_CONT, t->tid, NULL, (void *)(uintptr_t)(event_of(status) ? 0 : WSTOPSIG(status)));
        }
    }
    return SONDE_STOP_LATER;
}

/* One that did not stop in time: it can be left only while it is stopped, and its system call and signals are as dear as any's. */
static void leave_late(struct sonde_stopped *t)
{
    for (int waited_ms = 0; waited_ms < 10 * WAIT_MS; waited_ms++) {
        int status;
        const pid_t found = waitpid(t->tid, &status, __WALL | WNOHANG);
        if (found == t->tid && WIFSTOPPED(status)) {
            const bool interrupted = event_of(status) == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
            if (interrupted)
                take_registers(t);
            trace(PTRACE_DETACH, t->tid, NULL, (void *)(uintptr_t)(event_of(status) ? 0 : WSTOPSIG(status)));
        }
        if (found)
            return;
        nap_ms(1);
    }
}

enum sonde_stopping sonde__thread_stop(pid_t tid, struct sonde_stopped *out)
{
    *out = (struct sonde_stopped){.tid = tid};
    if (trace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD) != 0)
        return errno == ESRCH ? SONDE_STOP_GONE : SONDE_STOP_REFUSED;
    if (trace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        return SONDE_STOP_GONE;
    const enum sonde_stopping stopping = wait_interrupted(out);
    if (stopping == SONDE_STOP_LATER)
        leave_late(out);
    return stopping;
}

void sonde__thread_go(const struct sonde_stopped *t)
{
    trace(PTRACE_DETACH, t->tid, NULL, NULL);
}

/* ---- all threads ---------------------------------------------------------------------------- */

enum rank { PLAIN,
            FIRST,   /* signals to the process are sent for it, */
            PARENT,  /* and of the ends of children for this one */
            RANKS };

static enum rank rank_of(pid_t pid, pid_t tid)
{
    return sonde__look_has_children(tid) ? PARENT : tid == pid ? FIRST
                                                               : PLAIN;
}

static bool is_listed(const struct sonde_stopped_list *list, pid_t tid)
{
    for (size_t i = 0; i < list->list.count; i++)
        if (list->list.items[i].tid == tid)
            return true;
    return false;
}

/* True: it stands, or goes on since it has made a child meanwhile; false: it does not stop. */
static bool stop_one(pid_t pid, pid_t tid, enum rank up_to, struct sonde_stopped_list *list)
{
    struct sonde_stopped one;
    const enum sonde_stopping stopping = sonde__thread_stop(tid, &one);
    if (stopping != SONDE_STOPPED)
        return stopping == SONDE_STOP_GONE;
    if (rank_of(pid, tid) > up_to || sonde_vector_push(&list->list, one)) {
        sonde__thread_go(&one);
        return rank_of(pid, tid) > up_to;
    }
    return true;
}

/* Stop those of the folder that do not stand yet and have this rank or a lower one. How many were new; -1: one does not stop. */
static int stop_new(pid_t pid, enum rank up_to, struct sonde_stopped_list *list)
{
    char path[64];
    const size_t before = list->list.count;
    bool whole = true;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && whole && (entry = readdir(folder));) {
        const pid_t tid = atoi(entry->d_name);
        if (tid > 0 && !is_listed(list, tid) && rank_of(pid, tid) <= up_to)
            whole = stop_one(pid, tid, up_to, list);
    }
    if (folder)
        closedir(folder);
    return whole ? (int)(list->list.count - before) : -1;
}

bool sonde__threads_stop(pid_t pid, struct sonde_stopped_list *out)
{
    *out = (struct sonde_stopped_list){0};
    int found = 1;
    for (enum rank up_to = PLAIN; up_to < RANKS && found >= 0; up_to++) {
        found = 1;
        for (int n = 0; n < ROUNDS && found > 0; n++)
            found = stop_new(pid, up_to, out);
    }
    if (found == 0 && out->list.count)
        return true;
    sonde__threads_go(out);
    return false;
}

/* The last first. */
void sonde__threads_go(struct sonde_stopped_list *list)
{
    for (size_t i = list->list.count; i-- > 0;)
        sonde__thread_go(&list->list.items[i]);
    sonde_vector_fini(&list->list);
}

/* ---- system calls ------------------------------------------------------------------------------ */

/* That the first thread of a program has ended is never told while another one that is traced has not been waited for: it is a zombie then. */
bool sonde__thread_wait(pid_t tid, int *status)
{
    for (unsigned turn = 0;; turn++) {
        const pid_t found = waitpid(tid, status, __WALL | WNOHANG);
        if (found == tid)
            return WIFSTOPPED(*status);
        if ((found < 0 && errno != EINTR) || (turn > TURNS && sonde__look_state(tid) == 'Z'))
            return false;
        if (turn > TURNS)
            nap_ms(1);
        else
            sched_yield();
    }
}

/* From one stop to the next; signals are blocked in it, so that all stops are of the system call. */
static bool step(pid_t tid, int *status)
{
    return trace(PTRACE_SYSCALL, tid, NULL, NULL) == 0 && sonde__thread_wait(tid, status);
}

/* A thread in the middle of a restartable sequence would not be told that it was interrupted, once it has been elsewhere. */
static bool in_sequence(const struct sonde_attach *a, const struct sonde_stopped *t)
{
    struct {
        uint64_t area;
        uint32_t size, signature, flags, pad;
    } where = {0};
    struct {
        uint32_t version, flags;
        uint64_t start, bytes, abort;
    } sequence = {0};
    uint64_t at = 0;
    if (trace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, (void *)sizeof where, &where) < 0 || !where.area)
        return false;
    return !sonde__remote_read(a, where.area + 8, &at, sizeof at) ||
           (at && (!sonde__remote_read(a, at, &sequence, sizeof sequence) || t->registers.rip - sequence.start < sequence.bytes));
}

bool sonde__thread_is_plain(const struct sonde_attach *a, const struct sonde_stopped *t)
{
    uint64_t self = 0;
    return t->registers.cs == 0x33 /* 64 bits */ && t->registers.fs_base && /* and a thread of glibc's, whose TCB begins like this: */
           sonde__remote_read(a, t->registers.fs_base + 16, &self, sizeof self) && self == t->registers.fs_base && !in_sequence(a, t);
}

/* Threads that wait first: those stop at once, and are nowhere in the middle of something; of them those that no signal of others is sent for. */
enum sonde_stopping sonde__thread_borrow(const struct sonde_attach *a, struct sonde_stopped *out)
{
    char path[64];
    enum sonde_stopping last = SONDE_STOP_GONE;
    snprintf(path, sizeof path, "/proc/%d/task", a->pid);
    for (int round = 0; round < 3; round++) {
        DIR *folder = opendir(path);
        for (struct dirent *entry; folder && (entry = readdir(folder));) {
            const pid_t tid = atoi(entry->d_name);
            if (tid <= 0 || (round < 2 && sonde__look_state(tid) != 'S') || (round < 1 && rank_of(a->pid, tid) != PLAIN))
                continue;
            last = sonde__thread_stop(tid, out);
            if (last == SONDE_STOPPED && sonde__thread_is_plain(a, out)) {
                closedir(folder);
                return last;
            }
            if (last == SONDE_STOPPED) {
                sonde__thread_go(out);
                last = SONDE_STOP_LATER;
            }
        }
        if (folder)
            closedir(folder);
    }
    return last;
}

int64_t sonde__thread_syscall(pid_t tid, uint64_t instruction, long number, const uint64_t argument[6], pid_t *clone)
{
    struct user_regs_struct r;
    unsigned long made = 0;
    int status;
    bool whole = false;
    if (trace(PTRACE_GETREGS, tid, NULL, &r) != 0)
        return -ESRCH;
    r.rip = instruction;
    r.rax = (uint64_t)number;
    r.orig_rax = UINT64_MAX; /* it is in no system call that could be begun again */
    r.rdi = argument[0], r.rsi = argument[1], r.rdx = argument[2], r.r10 = argument[3], r.r8 = argument[4], r.r9 = argument[5];
    if (trace(PTRACE_SETREGS, tid, NULL, &r) != 0 || !step(tid, &status) || WSTOPSIG(status) != SYSCALL_STOP)
        return -ESRCH;
    while (!whole) {
        if (!step(tid, &status))
            return -ESRCH; /* it has ended, as by exit */
        whole = !event_of(status);
        if (event_of(status) == PTRACE_EVENT_CLONE && clone && trace(PTRACE_GETEVENTMSG, tid, NULL, &made) == 0)
            *clone = (pid_t)made;
    }
    if (trace(PTRACE_GETREGS, tid, NULL, &r) != 0 || trace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 ||
        trace(PTRACE_CONT, tid, NULL, NULL) != 0 || !sonde__thread_wait(tid, &status))
        return -ESRCH;
    return (int64_t)r.rax;
}
