/* work.c - what the CPU side must find is known: how much each function used, and how often each thread slept.
 *
 *     work shares MS     main and two threads that never call OpenCL: a, b, c use CPU time 3 : 2 : 1
 *     work kernel MS     a in user mode and k in system calls use CPU time 1 : 2
 *     work naps MS       the same as shares in one thread, a millisecond of work between sleeps as long
 *     work short MS      b is used by threads that live for two milliseconds of it, one after the other
 *     work brief N       N threads, one after the other, of 15 ms of b each
 *     work blocked N     N threads, one after the other: c with all signals blocked, then four times as much b
 *     work waits N       a thread that sleeps N times and gives way N times; one that others push off the CPU
 *     work hands MS      eight threads hand over to each other, and use a few microseconds in between
 *     work named N       N times each: sleeps, and waits for a lock, a condition, a pipe, a thread, of known length
 *     work build         time within a call of OpenCL: the kernel's compilation
 *     work leaves        ends while an operation waits for ever, and a thread sleeps again and again
 *
 * Prints what it found with its own clocks, one `NAME VALUE` per line.
 */
#include "../programs/guest.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

static struct guest g;
static unsigned ms = 1000;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

/* Does `work` until so much CPU time of the thread is used. Its clock is read a few times only, as what is done by then says how much is left
 * to do: a thread that reads it again and again gives the processor up between two ticks where others want it (docs/developers/sampling.md). */
#define SPINS(name, work)                                                        \
    static KEPT uint64_t name(uint64_t ns)                                       \
    {                                                                            \
        const uint64_t begin = read_clock(CLOCK_THREAD_CPUTIME_ID);              \
        uint64_t used, done = 0, next = 1;                                       \
        __asm__ volatile("" : : "r"(#name)); /* no two are one function */       \
        do {                                                                     \
            for (uint64_t k = 0; k < next; k++)                                  \
                work;                                                            \
            done += next;                                                        \
            used = read_clock(CLOCK_THREAD_CPUTIME_ID) - begin;                  \
            next = used < ns ? (ns - used) * done / used + 1 : 0;                \
        } while (next);                                                          \
        return used;                                                             \
    }
#define LOOP                                \
    for (volatile int i = 0; i < 20000; i++) \
        ;
static int zero = -1; /* /dev/zero */
static char zeros[1 << 20];
SPINS(spin_a, LOOP)
SPINS(spin_b, LOOP)
SPINS(spin_c, LOOP)
SPINS(warm_up, LOOP) /* until the agent has seen the thread */
SPINS(spin_k, if (read(zero, zeros, sizeof zeros) < 0) abort())

static _Atomic uint64_t used[3];

static KEPT void *shares_of_a_thread(void *arg)
{
    uint64_t of[3] = {0};
    for (unsigned round = 0; round < 10; round++) {
        const uint64_t part = ms * 1000000ull / 60;
        of[0] += spin_a(3 * part);
        of[1] += spin_b(2 * part);
        of[2] += spin_c(part);
    }
    for (int i = 0; i < 3; i++)
        used[i] += of[i];
    printf("used_by_%ld %llu\n", syscall(SYS_gettid), (unsigned long long)(of[0] + of[1] + of[2]));
    return arg;
}

static void *shares_of_a_new_thread(void *arg)
{
    warm_up(100000000);
    return shares_of_a_thread(arg);
}

static void shares(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, shares_of_a_new_thread, NULL);
    shares_of_a_thread(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        printf("spin_%c %llu\n", 'a' + i, (unsigned long long)used[i]);
}

static void kernel(void)
{
    uint64_t a = 0, k = 0;
    zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (unsigned round = 0; round < 10; round++) {
        a += spin_a(ms * 1000000ull / 30);
        k += spin_k(ms * 1000000ull / 15);
    }
    printf("spin_a %llu\nspin_k %llu\n", (unsigned long long)a, (unsigned long long)k);
}

static void naps(void)
{
    const uint64_t begin = read_clock(CLOCK_THREAD_CPUTIME_ID);
    uint64_t of[3] = {0};
    while (of[0] + of[1] + of[2] < ms * 1000000ull) {
        for (int i = 0; i < 3; i++, usleep(1000))
            of[0] += spin_a(1000000);
        for (int i = 0; i < 2; i++, usleep(1000))
            of[1] += spin_b(1000000);
        of[2] += spin_c(1000000);
        usleep(1000);
    }
    const uint64_t all = read_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
    for (int i = 0; i < 3; i++)
        printf("spin_%c %llu\n", 'a' + i, (unsigned long long)of[i]);
    printf("going_to_sleep %llu\n", (unsigned long long)(all - of[0] - of[1] - of[2]));
}

static void *short_thread(void *arg)
{
    used[1] += spin_b(2000000);
    return arg;
}

static void short_threads(void)
{
    used[0] += spin_a(100000000);
    for (unsigned i = 0; i < ms / 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, short_thread, NULL);
        pthread_join(thread, NULL);
    }
    used[0] += spin_a(100000000);
    printf("spin_a %llu\nspin_b %llu\n", (unsigned long long)used[0], (unsigned long long)used[1]);
}

static void *brief_thread(void *arg)
{
    used[1] += spin_b(15000000);
    return arg;
}

static void brief(unsigned threads)
{
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, brief_thread, NULL);
        pthread_join(thread, NULL);
    }
    printf("spin_b %llu\n", (unsigned long long)used[1]);
}

static void *blocked_at_first(void *arg)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    used[2] += spin_c(40000000);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    used[1] += spin_b(160000000);
    return arg;
}

static void blocked(unsigned threads)
{
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, blocked_at_first, NULL);
        pthread_join(thread, NULL);
    }
    printf("spin_b %llu\nspin_c %llu\n", (unsigned long long)used[1], (unsigned long long)used[2]);
}

static void *waits_of_a_thread(void *arg)
{
    const int count = *(int *)arg;
    struct rusage before, after;
    guest_add(&g, 1);
    warm_up(100000000);
    usleep(300000);
    warm_up(20000000);
    getrusage(RUSAGE_THREAD, &before);
    const uint64_t begin = read_clock(CLOCK_MONOTONIC_RAW);
    for (int i = 0; i < count; i++) {
        usleep(100);
        for (volatile int k = 0; k < 20000; k++)
            ;
        sched_yield();
    }
    const uint64_t end = read_clock(CLOCK_MONOTONIC_RAW);
    getrusage(RUSAGE_THREAD, &after);
    printf("tid %ld\nbegin %llu\nend %llu\nslept %ld\npushed %ld\n", (long)syscall(SYS_gettid), (unsigned long long)begin,
           (unsigned long long)end, after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw);
    return NULL;
}

static void waits(int count)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waits_of_a_thread, &count);
    pthread_join(thread, NULL);
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond[8];
    int turn; /* -1: over */
    long hands;
} passing = {.lock = PTHREAD_MUTEX_INITIALIZER};
#define PLAYERS ((int)(sizeof passing.cond / sizeof *passing.cond))

static void *player(void *arg)
{
    const int me = (int)(intptr_t)arg, next = (me + 1) % PLAYERS;
    pthread_mutex_lock(&passing.lock);
    for (;;) {
        while (passing.turn >= 0 && passing.turn != me)
            pthread_cond_wait(&passing.cond[me], &passing.lock);
        if (passing.turn < 0)
            break;
        for (volatile int i = 0; i < 5000; i++)
            ;
        passing.hands++;
        passing.turn = next;
        pthread_cond_signal(&passing.cond[next]);
    }
    pthread_mutex_unlock(&passing.lock);
    return NULL;
}

static void hands(void)
{
    pthread_t thread[PLAYERS];
    guest_add(&g, 1);
    for (int i = 0; i < PLAYERS; i++) {
        pthread_cond_init(&passing.cond[i], NULL);
        pthread_create(&thread[i], NULL, player, (void *)(intptr_t)i);
    }
    const uint64_t begin = read_clock(CLOCK_MONOTONIC_RAW), cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    usleep(ms * 1000);
    pthread_mutex_lock(&passing.lock);
    passing.turn = -1;
    for (int i = 0; i < PLAYERS; i++)
        pthread_cond_signal(&passing.cond[i]);
    pthread_mutex_unlock(&passing.lock);
    for (int i = 0; i < PLAYERS; i++)
        pthread_join(thread[i], NULL);
    printf("hands %ld\nwall_ns %llu\ncpu_ns %llu\n", passing.hands, (unsigned long long)(read_clock(CLOCK_MONOTONIC_RAW) - begin),
           (unsigned long long)(read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu));
}

/* ---- waits with names: `nap_...` is the function that waits, after it what for ---------------------- */

static pthread_mutex_t named_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written_lock = PTHREAD_RWLOCK_INITIALIZER, read_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t named_condition = PTHREAD_COND_INITIALIZER;
static sem_t named_semaphore;
static int named_pipe[2];
enum { NAP_US = 3000 };
#define NOT_LAST __asm__ volatile("") /* or a jump would take the place of the call */

static KEPT void nap_nanosleep(void)
{
    const struct timespec time = {.tv_nsec = NAP_US * 1000L};
    nanosleep(&time, NULL);
    NOT_LAST;
}

static KEPT void nap_usleep(void)
{
    usleep(NAP_US);
    NOT_LAST;
}

static KEPT void nap_poll(void)
{
    struct pollfd one = {.fd = named_pipe[0], .events = POLLIN};
    poll(&one, 1, NAP_US / 1000);
    NOT_LAST;
}

static KEPT void nap_condition(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NAP_US * 1000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&named_lock);
    pthread_cond_timedwait(&named_condition, &named_lock, &until);
    pthread_mutex_unlock(&named_lock);
}

/* Once the main thread waits, which may be late where others have the processor, for so long; else it would not have to. */
static void let_it_wait(void)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            abort();
        fclose(file);
        sched_yield();
    }
    usleep(NAP_US);
}

/* What the main thread waits for, with a name, in the other thread. */
static void *holds_the_locks(void *arg)
{
    pthread_mutex_lock(&named_lock);
    pthread_rwlock_wrlock(&written_lock);
    pthread_rwlock_rdlock(&read_lock);
    sem_post(arg);
    let_it_wait();
    pthread_mutex_unlock(&named_lock);
    let_it_wait();
    pthread_rwlock_unlock(&written_lock);
    let_it_wait();
    pthread_rwlock_unlock(&read_lock);
    return NULL;
}

static void *posts_and_writes(void *arg)
{
    let_it_wait();
    sem_post(arg);
    let_it_wait();
    if (write(named_pipe[1], "x", 1) != 1)
        abort();
    let_it_wait();
    return NULL;
}

static KEPT void nap_lock(void)
{
    pthread_mutex_lock(&named_lock);
    pthread_mutex_unlock(&named_lock);
}

static KEPT void nap_rdlock(void)
{
    pthread_rwlock_rdlock(&written_lock);
    pthread_rwlock_unlock(&written_lock);
}

static KEPT void nap_wrlock(void)
{
    pthread_rwlock_wrlock(&read_lock);
    pthread_rwlock_unlock(&read_lock);
}

static KEPT void nap_semaphore(void)
{
    while (sem_wait(&named_semaphore))
        ;
}

static KEPT void nap_read(void)
{
    char one;
    if (read(named_pipe[0], &one, 1) != 1)
        abort();
}

static KEPT void nap_join(pthread_t thread)
{
    pthread_join(thread, NULL);
    NOT_LAST;
}

static uint64_t nap_ns[10];
#define TIMED(which, call)                                          \
    do {                                                            \
        const uint64_t begin = read_clock(CLOCK_MONOTONIC_RAW);     \
        call;                                                       \
        nap_ns[which] += read_clock(CLOCK_MONOTONIC_RAW) - begin;   \
    } while (0)

static void named(unsigned rounds)
{
    static const char *const names[] = {"nanosleep", "usleep", "poll", "condition", "lock", "semaphore", "read", "join",
                                        "rdlock", "wrlock"};
    if (sem_init(&named_semaphore, 0, 0) || pipe2(named_pipe, O_CLOEXEC))
        abort();
    for (unsigned i = 0; i < rounds; i++) {
        pthread_t thread;
        sem_t ready;
        TIMED(0, nap_nanosleep());
        TIMED(1, nap_usleep());
        TIMED(2, nap_poll());
        TIMED(3, nap_condition());
        sem_init(&ready, 0, 0);
        pthread_create(&thread, NULL, holds_the_locks, &ready);
        while (sem_wait(&ready))
            ;
        TIMED(4, nap_lock());
        TIMED(8, nap_rdlock());
        TIMED(9, nap_wrlock());
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, posts_and_writes, &named_semaphore);
        TIMED(5, nap_semaphore());
        TIMED(6, nap_read());
        TIMED(7, nap_join(thread));
    }
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        printf("nap_%s %llu\n", names[i], (unsigned long long)nap_ns[i]);
}

static void build(void)
{
    const char *source = guest_source;
    cl_program program;
    uint64_t in_calls = 0;
    for (int i = 0; i < 3; i++) {
        char option[40];
        snprintf(option, sizeof option, "-DROUND=%d -DWHEN=%lld", i, (long long)time(NULL));
        CLP(program = clCreateProgramWithSource(g.context, 1, &source, NULL, &status));
        const uint64_t begin = read_clock(CLOCK_THREAD_CPUTIME_ID);
        CL(clBuildProgram(program, 1, &g.device, option, NULL, NULL));
        in_calls += read_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
        CL(clReleaseProgram(program));
    }
    spin_a(50000000);
    printf("in_calls %llu\n", (unsigned long long)in_calls);
}

static void *sleeper(void *arg)
{
    (void)arg;
    printf("sleeper %ld\n", (long)syscall(SYS_gettid));
    fflush(stdout);
    for (;;) {
        const struct timespec nap = {0, 2000000};
        nanosleep(&nap, NULL);
        for (volatile int i = 0; i < 20000; i++)
            ;
    }
    return NULL;
}

static void leaves(void)
{
    static int never;
    cl_int error;
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    usleep(200000);
    cl_event gate = clCreateUserEvent(g.context, &error);
    clEnqueueWriteBuffer(g.queue, g.buffer, CL_FALSE, 0, sizeof never, &never, 1, &gate, NULL);
    printf("tid %ld\nleaves %llu\n", (long)syscall(SYS_gettid), (unsigned long long)read_clock(CLOCK_MONOTONIC_RAW));
    exit(0);
}

int main(int argc, char **argv)
{
    guest_open(&g);
    guest_add(&g, 1);
    warm_up(100000000);
    ms = argc > 2 ? (unsigned)atoi(argv[2]) : ms;
    if (argc > 1 && strcmp(argv[1], "shares") == 0)
        shares();
    if (argc > 1 && strcmp(argv[1], "kernel") == 0)
        kernel();
    if (argc > 1 && strcmp(argv[1], "naps") == 0)
        naps();
    if (argc > 1 && strcmp(argv[1], "short") == 0)
        short_threads();
    if (argc > 1 && strcmp(argv[1], "brief") == 0)
        brief(ms);
    if (argc > 1 && strcmp(argv[1], "blocked") == 0)
        blocked(ms);
    if (argc > 1 && strcmp(argv[1], "waits") == 0)
        waits(argc > 2 ? atoi(argv[2]) : 300);
    if (argc > 1 && strcmp(argv[1], "hands") == 0)
        hands();
    if (argc > 1 && strcmp(argv[1], "named") == 0)
        named(ms);
    if (argc > 1 && strcmp(argv[1], "build") == 0)
        build();
    if (argc > 1 && strcmp(argv[1], "leaves") == 0)
        leaves();
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
