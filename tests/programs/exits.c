/* exits.c - every way to end, with everything finished and with work in flight.
 *
 * The exit handler enqueues too: it runs after main, perhaps after Sonde's own,
 * and is then counted as lost. Ends that nobody can see coming lose what was
 * not yet written, so the program waits for that before those, and all must be
 * there: finished, or in flight. Before signals that kill by default it need not wait:
 * Sonde stores what has finished first.
 *
 * case: return return => kernel=100 read=1
 * case: exit exit => kernel=100 read=1
 * case: _exit _exit => kernel=100 read=1
 * case: _Exit _Exit => kernel=100 read=1
 * case: quick_exit quick_exit => kernel=100 read=1
 * case: raw-exit-group raw => kernel=100 read=1
 * case: abort abort => kernel=100 read=1
 * case: sigkill kill => kernel=100 read=1
 * case: sigterm term => kernel=100 read=1
 * case: segfault segv => kernel=100 read=1
 * case: abort-at-once at-once-abort => kernel=100 read=1
 * case: sigterm-at-once at-once-term => kernel=100 read=1
 * case: segfault-at-once at-once-fault => kernel=100 read=1
 * case: default-again again => kernel=100 read=1
 * case: thread-exits thread => kernel=100 read=1
 * case: main-thread-leaves pthread_exit => kernel=150 read=2
 * case: handler-enqueues handler => kernel=120 read=2 ; late
 * case: in-flight-return flight-return => kernel=31
 * case: in-flight-exit flight-exit => kernel=31
 * case: in-flight-_exit flight-_exit => kernel=31
 * case: in-flight-quick_exit flight-quick_exit => kernel=31
 * case: in-flight-abort flight-abort => kernel=31 ; killed
 * case: in-flight-sigkill flight-kill => kernel=31 ; killed
 */
#include "guest.h"
#include "measured.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

/* Few: a twentieth of a second's work, where exit waits for a second. */
enum { FLIGHT = 30 };

static struct guest g;
static int          want_work;
static void        *argument_of_fault; /* NULL, which the compiler does not know */

static void at_exit_handler(void)
{
    if (want_work) {
        guest_add(&g, 20);
        printf("in the exit handler: ran %d\n", guest_read(&g));
    }
    printf("exit handler\n");
    fflush(stdout);
}

static void at_quick_exit_handler(void)
{
    printf("quick exit handler\n");
    fflush(stdout);
}

static void *leave(void *arg)
{
    (void)arg;
    exit(12);
}

static void *outlive(void *arg)
{
    pthread_join(*(pthread_t *)arg, NULL);
    guest_add(&g, 50);
    printf("after the main thread: ran %d\n", guest_read(&g));
    exit(13);
}

static void by_signal(const char *how)
{
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "term") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "fault") == 0)
        *(volatile int *)argument_of_fault = 1;
}

static void handle(int number)
{
    (void)number;
}

static const char *name_of(void (*disposition)(int))
{
    return disposition == SIG_DFL ? "default" : disposition == SIG_IGN ? "ignored" : disposition == handle ? "handled" : "?";
}

/* What it is told of dispositions, which it sets and sets back; then the default one. */
static void ask_and_die(void)
{
    static const int asked[] = {SIGINT, SIGTERM, SIGSEGV, SIGABRT, SIGHUP, SIGUSR1};
    struct sigaction old, handled = {.sa_handler = handle}, by_default = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        sigaction(asked[i], NULL, &old);
        printf("%d: %s %x,", asked[i], name_of(old.sa_handler), (unsigned)old.sa_flags);
        printf(" %s,", name_of(signal(asked[i], handle)));
        printf(" %s,", name_of(signal(asked[i], SIG_DFL)));
        sigaction(asked[i], &handled, &old);
        printf(" %s,", name_of(old.sa_handler));
        sigaction(asked[i], &by_default, &old);
        printf(" %s,", name_of(old.sa_handler));
        printf(" %s\n", name_of(signal(asked[i], SIG_DFL)));
    }
    fflush(stdout);
    raise(SIGTERM);
}

static int end(const char *how)
{
    static pthread_t thread, main_thread;
    main_thread = pthread_self();
    if (strcmp(how, "again") == 0)
        ask_and_die();
    by_signal(strncmp(how, "at-once-", 8) ? how : how + 8);
    if (strcmp(how, "exit") == 0)
        exit(10);
    if (strcmp(how, "_exit") == 0)
        _exit(11);
    if (strcmp(how, "_Exit") == 0)
        _Exit(14);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(15);
    if (strcmp(how, "raw") == 0)
        syscall(SYS_exit_group, 16);
    if (strcmp(how, "thread") == 0) {
        pthread_create(&thread, NULL, leave, NULL);
        pause();
    }
    if (strcmp(how, "pthread_exit") == 0) {
        pthread_create(&thread, NULL, outlive, &main_thread);
        pthread_exit(NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    uint64_t    seen = 101, done = 101;
    atexit(at_exit_handler);
    at_quick_exit(at_quick_exit_handler);
    guest_open(&g);
    if (strncmp(how, "flight-", 7) == 0) {
        how += 7;
        /* PoCL compiles at the first launch, and crashes when exit comes meanwhile. */
        guest_launch(&g, g.queue, g.spin, 1);
        CL(clFinish(g.queue));
        guest_launch(&g, g.queue, g.spin, FLIGHT);
        CL(clFlush(g.queue));
        seen = FLIGHT + 1, done = 0;
        printf("work in flight\n");
    } else {
        guest_add(&g, 100);
        printf("ran %d\n", guest_read(&g));
    }
    want_work = strcmp(how, "handler") == 0;
    fflush(stdout);
    if (strstr("abort kill term segv raw", how))
        measured_wait(seen, done);
    return end(how);
}
