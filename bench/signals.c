/* signals.c - what the kernel takes for samples, by their source, without Sonde: an empty handler, at 199 Hz of CPU time.
 *
 *     bench-signals spin|pass BLOCKS WORK     a line per source: its name, then the CPU time of each block in ns
 *
 * spin: WORK multiplications in user mode. pass: two threads hand a word to each
 * other WORK times, and each sleeps in between. The sources take turns, so that
 * a machine whose speed drifts hurts all alike. A source that is refused is left out.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum source {
    NOTHING,
    TIMERS,
    PERF_EVENTS,
    SWITCH_RECORDS,
    SOURCES,
};
enum {
    BLOCKS_MAX = 10000,
    PERIOD_NS = 1000000000 / 199,
    RING = 5 * 4096,
};

static const char *const names[] = {"nothing", "timers", "perf events", "switch records"};
static uint64_t found[SOURCES][BLOCKS_MAX];

static void on_signal(int number)
{
    (void)number;
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- sources ------------------------------------------------------------------ */

struct armed {
    int fd, timer;
    void *ring;
};

static int event_open(struct perf_event_attr *attr, int tid)
{
    attr->type = PERF_TYPE_SOFTWARE;
    attr->size = sizeof *attr;
    attr->exclude_kernel = attr->exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void arm_timer(struct armed *a, int tid)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    const struct itimerspec times = {{0, PERIOD_NS}, {0, PERIOD_NS}};
    event._sigev_un._tid = tid;
    if (syscall(SYS_timer_create, (clockid_t)(~(uint32_t)tid << 3 | 6), &event, &a->timer) == 0)
        syscall(SYS_timer_settime, a->timer, 0, &times, NULL);
    else
        a->timer = -1;
}

static void arm_perf(struct armed *a, int tid)
{
    struct perf_event_attr attr = {.config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = PERIOD_NS};
    const struct f_owner_ex owner = {F_OWNER_TID, tid};
    a->fd = event_open(&attr, tid);
    fcntl(a->fd, F_SETOWN_EX, &owner);
    fcntl(a->fd, F_SETSIG, SIGURG);
    fcntl(a->fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

static void arm_records(struct armed *a, int tid)
{
    struct perf_event_attr attr = {
        .config = PERF_COUNT_SW_DUMMY,
        .context_switch = 1,
        .sample_id_all = 1,
        .sample_type = PERF_SAMPLE_TIME,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
        .watermark = 1,
        .wakeup_watermark = RING,
    };
    a->fd = event_open(&attr, tid);
    a->ring = a->fd < 0 ? MAP_FAILED : mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
}

static int arm(struct armed *a, enum source source, int tid)
{
    *a = (struct armed){-1, -1, MAP_FAILED};
    switch (source) {
    case TIMERS: arm_timer(a, tid); return a->timer >= 0;
    case PERF_EVENTS: arm_perf(a, tid); return a->fd >= 0;
    case SWITCH_RECORDS: arm_records(a, tid); return a->ring != MAP_FAILED;
    default: return 1;
    }
}

static void disarm(struct armed *a)
{
    if (a->ring != MAP_FAILED)
        munmap(a->ring, RING);
    if (a->fd >= 0)
        close(a->fd);
    if (a->timer >= 0)
        syscall(SYS_timer_delete, a->timer);
}

/* ---- work --------------------------------------------------------------------- */

static uint64_t spin(enum source source, long work)
{
    struct armed a;
    uint64_t x = 1;
    const int armed = arm(&a, source, (int)syscall(SYS_gettid));
    const uint64_t begin = cpu_ns();
    for (long i = 0; i < work; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    const uint64_t took = cpu_ns() - begin;
    disarm(&a);
    return armed ? took : 0;
}

static _Atomic int word;
static _Atomic uint64_t of_both;
static enum source source_of_both;
static long passes;
static pthread_barrier_t ready;

/* It waits until the word is its own, and gives it away. */
static void *player(void *arg)
{
    const int me = (int)(intptr_t)arg;
    struct armed a;
    const int armed = arm(&a, source_of_both, (int)syscall(SYS_gettid));
    pthread_barrier_wait(&ready);
    const uint64_t begin = cpu_ns();
    for (long i = 0; i < passes / 2; i++) {
        for (int seen; (seen = atomic_load(&word)) % 2 != me;)
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        atomic_fetch_add(&word, 1);
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    const uint64_t took = cpu_ns() - begin;
    disarm(&a);
    atomic_fetch_add(&of_both, armed ? took : 0);
    return NULL;
}

static uint64_t pass(enum source source, long work)
{
    pthread_t threads[2];
    source_of_both = source;
    passes = work;
    atomic_store(&word, 0);
    atomic_store(&of_both, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, player, (void *)(intptr_t)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return atomic_load(&of_both);
}

int main(int argc, char **argv)
{
    const int blocks = argc > 2 ? atoi(argv[2]) : 40;
    const long work = argc > 3 ? atol(argv[3]) : 50000000;
    uint64_t (*const run)(enum source, long) = argc > 1 && strcmp(argv[1], "pass") == 0 ? pass : spin;
    if (blocks < 1 || blocks > BLOCKS_MAX)
        return 2;
    signal(SIGURG, on_signal);
    pthread_barrier_init(&ready, NULL, 2);
    run(NOTHING, work);
    for (int block = 0; block < blocks; block++)
        for (int i = 0, first = rand() % SOURCES; i < SOURCES; i++)
            found[(first + i) % SOURCES][block] = run((enum source)((first + i) % SOURCES), work);
    for (int source = 0; source < SOURCES; source++) {
        if (!found[source][0])
            continue;
        printf("%s:", names[source]);
        for (int block = 0; block < blocks; block++)
            printf(" %llu", (unsigned long long)found[source][block]);
        puts("");
    }
    return 0;
}
