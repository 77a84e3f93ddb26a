/* run.c - starts the program, behaves towards signals and job control as if it were not there.
 *
 * Program and record share one process group, as the commands of a pipeline
 * do, so the terminal treats both alike. Record blocks every signal and takes
 * them one by one with sigwaitinfo: it needs no handler, so the program
 * inherits dispositions and mask unchanged.
 *
 *   - What the kernel sends (Ctrl-C, Ctrl-Z, hangup) went to the whole group:
 *     the program has it already. Record only waits for what it makes of it.
 *   - What another process sends to record is passed on; but not what the
 *     program and its children send, who address the whole group, nor, with
 *     --last, SIGUSR1, which is for record (last.c).
 *   - When the program stops, record stops by the same signal, so that the
 *     shell sees a stopped job; when record is continued, so is the program.
 *
 * Two things remain visible: the program's parent is record, and a signal that
 * a stranger sends to the whole process group can reach the program twice.
 */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The tightest of a few tries: an interrupt between the readings loosens one. */
void record_now(struct record_times *times)
{
    times->bound_ns = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t wall = clock_ns(CLOCK_REALTIME);
        uint64_t monotonic = clock_ns(CLOCK_MONOTONIC);
        uint64_t after = clock_ns(CLOCK_MONOTONIC_RAW);
        if (after - before < times->bound_ns)
            *times = (struct record_times){before + (after - before) / 2, wall, monotonic, after - before};
    }
}

uint64_t record_clock_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC_RAW);
}

static struct sigaction file_limit; /* SIGXFSZ's disposition, as record inherited it */
static bool file_limit_begun;

void record_file_limit_begin(void)
{
    file_limit_begun = sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &file_limit) == 0;
}

void record_file_limit_end(void)
{
    if (file_limit_begun)
        sigaction(SIGXFSZ, &file_limit, NULL);
    file_limit_begun = false;
}

static struct sigaction asked; /* SIGUSR1's disposition, likewise */
static bool asked_begun;

void record_signal_begin(void)
{
    if (!asked_begun)
        asked_begun = sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_IGN}, &asked) == 0;
}

void record_signal_restore(void)
{
    if (asked_begun)
        sigaction(SIGUSR1, &asked, NULL);
}

/* What SIGUSR1 does while the program runs: it is blocked then, and waited for; what is ignored would be lost. */
static void hear_signal(bool hear)
{
    if (asked_begun)
        sigaction(SIGUSR1, &(struct sigaction){.sa_handler = hear ? SIG_DFL : SIG_IGN}, NULL);
}

void record_signal_await(void)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGUSR1);
    sigprocmask(SIG_BLOCK, &only, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); /* what is ignored would be lost */
}

bool record_signal_came(void)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGUSR1);
    return sigtimedwait(&only, NULL, &(struct timespec){0}) == SIGUSR1;
}

/* ---- the child ------------------------------------------------------------- */

struct start {
    const char *path;
    char **argv, **environment;
    sigset_t mask;               /* as record inherited it */
    struct sigaction child;      /* SIGCHLD's disposition, likewise */
    int report;                  /* where a failed exec writes its errno; closes on success */
};

int record_exec(const char *path, char **argv, char **environment)
{
    execve(path, argv, environment);
    const int why = errno;
    if (why != ENOEXEC)
        return why;
    /* A script without "#!": shells run it with sh, and so does execvp. */
    size_t count = 0;
    while (argv[count])
        count++;
    char **with_shell = calloc(count + 2, sizeof *with_shell);
    if (with_shell) {
        with_shell[0] = (char *)(uintptr_t)"sh";
        with_shell[1] = (char *)(uintptr_t)path;
        memcpy(with_shell + 2, argv + 1, count * sizeof *with_shell);
        execve("/bin/sh", with_shell, environment);
        free(with_shell);
    }
    return why;
}

int record_exec_failed(const char *path, int why, struct sonde_diag *diag)
{
    sonde_diag_set(diag, SONDE_EINVALID, path, "cannot run");
    sonde_diag_errno(diag, why);
    if (why == ENOENT)
        sonde_diag_hint(diag, "its interpreter does not exist");
    return why == ENOENT ? RECORD_EXIT_NOT_FOUND : RECORD_EXIT_NOT_EXECUTABLE;
}

static _Noreturn void become_program(const struct start *s)
{
    sigaction(SIGCHLD, &s->child, NULL);
    record_file_limit_end();
    record_signal_restore();
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    const int why = record_exec(s->path, s->argv, s->environment);
    ssize_t n = write(s->report, &why, sizeof why);
    _exit(n == (ssize_t)sizeof why ? RECORD_EXIT_NOT_EXECUTABLE : RECORD_EXIT_FAILED);
}

/* The program's pid; -1 with *why set. */
static pid_t start_program(struct start *s, int *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *why = errno;
        return -1;
    }
    s->report = ends[1];
    pid_t pid = fork();
    if (pid == 0)
        become_program(s);
    *why = pid < 0 ? errno : 0;
    close(ends[1]);
    if (pid > 0) {
        ssize_t n;
        do
            n = read(ends[0], why, sizeof *why);
        while (n < 0 && errno == EINTR);
        if (n == (ssize_t)sizeof *why) {
            waitpid(pid, NULL, 0);
            pid = -1;
        } else
            *why = 0;
    }
    close(ends[0]);
    return pid;
}

/* ---- waiting ----------------------------------------------------------------- */

/* State letter and parent of a process, from /proc; false when it is gone. */
static bool look_up(pid_t pid, char *state, int *parent)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *name_end = strrchr(text, ')'); /* the name before may hold anything */
    return name_end && sscanf(name_end + 1, " %c %d", state, parent) == 2;
}

static bool is_stopped(pid_t pid)
{
    char state;
    int parent;
    return look_up(pid, &state, &parent) && state == 'T';
}

static bool descends_from(pid_t pid, pid_t ancestor)
{
    char state;
    int parent;
    for (int depth = 0; pid > 1 && depth < 1000; depth++, pid = parent)
        if (pid == ancestor)
            return true;
        else if (!look_up(pid, &state, &parent))
            return false;
    return false;
}

/* While we are stopped, somebody may continue the program alone; then nothing
 * would wake us. A helper outside of our process group looks every 20 ms. */
static pid_t start_waker(pid_t program)
{
    pid_t self = getpid(), waker = fork();
    if (waker != 0)
        return waker;
    setpgid(0, 0);
    do {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (getppid() != self)
            _exit(0);
    } while (is_stopped(program));
    kill(self, SIGCONT);
    _exit(0);
}

static void end_waker(pid_t waker)
{
    if (waker < 0)
        return;
    kill(waker, SIGKILL);
    waitpid(waker, NULL, 0);
}

/* Has the program changed its state since waitpid told us that it stopped? */
static bool has_moved(pid_t pid)
{
    siginfo_t change = {0};
    int error = waitid(P_PID, (id_t)pid, &change, WSTOPPED | WCONTINUED | WEXITED | WNOHANG | WNOWAIT);
    return error != 0 || change.si_pid == pid;
}

/* Stop as the program stopped; returns when somebody continues us. */
static void stop_like(pid_t pid, int signal_number)
{
    pid_t waker = start_waker(pid);
    sigset_t only;
    struct sigaction old, standard = {.sa_handler = SIG_DFL};
    sigemptyset(&only);
    sigaddset(&only, signal_number);
    sigaction(signal_number, &standard, &old);
    raise(signal_number);
    sigprocmask(SIG_UNBLOCK, &only, NULL); /* stops here */
    sigprocmask(SIG_BLOCK, &only, NULL);
    if (signal_number != SIGSTOP)
        sigaction(signal_number, &old, NULL);
    end_waker(waker);

    /* The SIGCONT that woke us must not be passed on later, when it could undo
     * the next stop. `fg` and `bg` send it to the whole group, `kill -CONT`
     * only to us; the group's others may get theirs a moment after us. */
    siginfo_t woken;
    sigemptyset(&only);
    sigaddset(&only, SIGCONT);
    sigtimedwait(&only, &woken, &(struct timespec){0});
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (!has_moved(pid))
        kill(pid, SIGCONT);
}

static void pass_on(pid_t pid, const siginfo_t *info)
{
    bool from_process = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
    /* A terminal that goes away tells the session's leader alone. */
    bool to_leader = info->si_signo == SIGHUP && getsid(0) == getpid();
    if (!from_process) {
        if (to_leader)
            kill(pid, SIGHUP);
        return;
    }
    if (info->si_pid > 0 && descends_from(info->si_pid, pid))
        return;
    if (info->si_code == SI_QUEUE)
        sigqueue(pid, info->si_signo, info->si_value);
    else
        kill(pid, info->si_signo);
}

/* Discard what came for the group while the program ended: it was meant for
 * the program, and must not kill us before the measurement is closed. */
static void drain_signals(const sigset_t *all)
{
    siginfo_t info;
    const struct timespec none = {0};
    while (sigtimedwait(all, &info, &none) > 0)
        ;
}

/* What a process asks of record, not of the program: its children address the whole group. */
static bool is_for_last(const struct record_last *last, pid_t pid, const siginfo_t *info)
{
    return last && info->si_signo == SIGUSR1 && (info->si_code == SI_USER || info->si_code == SI_QUEUE) && !descends_from(info->si_pid, pid);
}

static int wait_for_end(pid_t pid, const sigset_t *all, struct record_last *last)
{
    for (;;) {
        int status;
        pid_t changed = waitpid(pid, &status, WUNTRACED | WNOHANG);
        if (changed < 0 && errno != EINTR)
            return 0;
        if (changed == pid && WIFSTOPPED(status)) {
            stop_like(pid, WSTOPSIG(status));
            continue;
        }
        if (changed == pid)
            return status;
        siginfo_t info;
        const uint64_t pause_ns = last ? record_last_pause(last) : 0;
        const struct timespec pause = {.tv_sec = (time_t)(pause_ns / 1000000000u), .tv_nsec = (long)(pause_ns % 1000000000u)};
        const int came = pause_ns ? sigtimedwait(all, &info, &pause) : sigwaitinfo(all, &info);
        if (pause_ns)
            record_last_look(last, pid);
        if (came <= 0 || info.si_signo == SIGCHLD)
            continue;
        if (is_for_last(last, pid, &info))
            record_last_take(last, pid);
        else
            pass_on(pid, &info);
    }
}

int record_run(const char *path, char **argv, char **environment, struct record_last *last,
               struct record_result *result, struct sonde_diag *diag)
{
    struct start start = {.path = path, .argv = argv, .environment = environment ? environment : environ};
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &start.mask);
    sigaction(SIGCHLD, &standard, &start.child); /* inherited as ignored, waitpid would see nothing */

    hear_signal(true);
    if (last)
        record_last_begin(last);

    *result = (struct record_result){0};
    record_now(&result->start);
    int why = 0;
    pid_t pid = start_program(&start, &why);
    if (pid > 0)
        result->wait_status = wait_for_end(pid, &all, last);
    record_now(&result->end);
    if (last)
        record_last_end(last);

    hear_signal(false);
    drain_signals(&all);
    sigaction(SIGCHLD, &start.child, NULL);
    sigprocmask(SIG_SETMASK, &start.mask, NULL);
    result->exec_status = pid > 0 ? 0 : record_exec_failed(path, why, diag);
    return pid > 0 ? SONDE_OK : SONDE_EINVALID;
}
