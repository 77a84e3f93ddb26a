/* faults.c - what counters of the CPU must find is known: how many fresh pages each function touched.
 *
 *     faults shares N   main and two threads that never call OpenCL: a, b, c touch pages 3 : 2 : 1, N of c
 *     faults short N    the same by one thread after the other, each of which ends when it has touched its pages: N of c in all, in 40 threads
 *     faults many N     N threads at a time, which touch 64 pages each
 *     faults off N      as shares in the main thread, before and after the program turns recording off, and while it is off
 *     faults fork N     as shares in the main thread, and again in a child, which calls OpenCL as well
 *     faults blocked N  as shares in a thread that blocks all signals
 *     faults call       pages that are touched within a call of OpenCL: by a callback
 *
 * Prints what it found by getrusage(RUSAGE_THREAD), one `NAME VALUE` per line.
 */
#include "../programs/guest.h"

#include <pthread.h>
#include <signal.h>
#include <sonde/sonde.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

enum { PAGE = 4096, ROUNDS = 10 };

static struct guest g;
static long         pages = 1000;
static _Atomic long touched[3], all;

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

#define TOUCHES(name)                                             \
    static KEPT void name(volatile char *at, long n)              \
    {                                                             \
        __asm__ volatile("" : : "r"(#name)); /* no two are one */ \
        for (long i = 0; i < n; i++)                              \
            at[i * PAGE] = 1;                                     \
    }
TOUCHES(touch_a)
TOUCHES(touch_b)
TOUCHES(touch_c)

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* How many faults the function took. */
static long with_fresh(void (*touch)(volatile char *at, long n), long n)
{
    char *at = mmap(NULL, (size_t)n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        _exit(4);
    madvise(at, (size_t)n * PAGE, MADV_NOHUGEPAGE);
    const long before = faults();
    touch(at, n);
    const long took = faults() - before;
    munmap(at, (size_t)n * PAGE);
    return took;
}

static KEPT void three(long n)
{
    touched[0] += with_fresh(touch_a, 3 * n);
    touched[1] += with_fresh(touch_b, 2 * n);
    touched[2] += with_fresh(touch_c, n);
}

/* Until the agent has seen a thread that is new. */
static void rest(void)
{
    const struct timespec time = {0, 500000000};
    nanosleep(&time, NULL);
}

static KEPT void *shares_of_a_thread(void *arg)
{
    if (arg)
        rest();
    const long before = faults();
    for (int i = 0; i < ROUNDS; i++)
        three(pages / ROUNDS);
    all += faults() - before;
    return NULL;
}

static void shares(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, shares_of_a_thread, &g);
    shares_of_a_thread(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void *short_thread(void *arg)
{
    three(*(long *)arg);
    return NULL;
}

static void short_threads(void)
{
    enum { THREADS = 40 };
    long each = pages / THREADS;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, short_thread, &each);
        pthread_join(thread, NULL);
    }
}

static void blocked(void)
{
    sigset_t every, before;
    pthread_t thread;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pthread_create(&thread, NULL, shares_of_a_thread, &g);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_join(thread, NULL);
}

static pthread_barrier_t together;

static void *one_of_many(void *arg)
{
    pthread_barrier_wait(&together);
    rest();
    with_fresh(touch_a, 64);
    pthread_barrier_wait(&together);
    return arg;
}

static void many(void)
{
    pthread_t *threads = calloc((size_t)pages, sizeof *threads);
    pthread_barrier_init(&together, NULL, (unsigned)pages);
    for (long i = 0; i < pages; i++)
        if (pthread_create(&threads[i], NULL, one_of_many, NULL) != 0)
            _exit(5);
    for (long i = 0; i < pages; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    touched[0] = 64 * pages;
}

static void off(void)
{
    shares_of_a_thread(NULL);
    sonde_stop();
    rest();
    with_fresh(touch_b, 20 * pages);
    sonde_start();
    rest();
    shares_of_a_thread(NULL);
}

static void forks(void)
{
    shares_of_a_thread(NULL);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        struct guest of_child;
        guest_open(&of_child);
        guest_add(&of_child, 1);
        rest();
        shares_of_a_thread(NULL);
        guest_close(&of_child);
        exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        _exit(6);
}

static void CL_CALLBACK released(cl_mem buffer, void *arg)
{
    (void)buffer, (void)arg;
    touched[2] += with_fresh(touch_c, pages);
}

static void call(void)
{
    cl_int error;
    cl_mem buffer = clCreateBuffer(g.context, CL_MEM_READ_WRITE, 4096, NULL, &error);
    CL(clSetMemObjectDestructorCallback(buffer, released, NULL));
    CL(clReleaseMemObject(buffer));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    guest_open(&g);
    guest_add(&g, 1);
    rest();
    pages = argc > 2 ? atol(argv[2]) : pages;
    if (strcmp(what, "shares") == 0)
        shares();
    if (strcmp(what, "short") == 0)
        short_threads();
    if (strcmp(what, "many") == 0)
        many();
    if (strcmp(what, "off") == 0)
        off();
    if (strcmp(what, "fork") == 0)
        forks();
    if (strcmp(what, "blocked") == 0)
        blocked();
    if (strcmp(what, "call") == 0)
        call();
    for (int i = 0; i < 3; i++)
        printf("touch_%c %ld\n", 'a' + i, touched[i]);
    printf("faults %ld\nmain %ld\n", (long)all, faults());
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("process %ld\n", usage.ru_minflt + usage.ru_majflt);
    guest_close(&g);
    return 0;
}
