/* waits.c - what the preloaded library's functions cost where a wait is over at once: each beside libc's own, by turns.
 *
 *     sonde record -o DIR -- bench-waits [ROUNDS]     a line per function: its name, CPU time of libc's, and how much more (medians)
 *
 * The program calls the runtime, so that the agent is there and wants to know of waits. None of these lasts
 * long enough to be told of. Without Sonde both are libc's, and the difference is the error.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 500 };
enum { ROUNDS_MOST = 10000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int ends[2];

/* Both ways to each function; what undoes it is libc's in both. */
static int (*mutex_lock[2])(pthread_mutex_t *) = {NULL, pthread_mutex_lock};
static int (*rdlock[2])(pthread_rwlock_t *) = {NULL, pthread_rwlock_rdlock};
static int (*semaphore_wait[2])(sem_t *) = {NULL, sem_wait};
static int (*do_poll[2])(struct pollfd *, nfds_t, int) = {NULL, poll};
static ssize_t (*do_read[2])(int, void *, size_t) = {NULL, read};
static ssize_t (*put)(int, const void *, size_t);

static void by_mutex(int way)
{
    mutex_lock[way](&lock);
    pthread_mutex_unlock(&lock);
}

static void by_rwlock(int way)
{
    rdlock[way](&rwlock);
    pthread_rwlock_unlock(&rwlock);
}

static void by_semaphore(int way)
{
    sem_post(&semaphore);
    semaphore_wait[way](&semaphore);
}

static void by_poll(int way)
{
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    do_poll[way](&one, 1, 0);
}

static void by_read(int way)
{
    char byte = 0;
    if (put(ends[1], &byte, 1) != 1 || do_read[way](ends[0], &byte, 1) != 1)
        abort();
}

static const struct {
    const char *name;
    void (*call)(int way);
} functions[] = {
    {"pthread_mutex_lock", by_mutex},
    {"pthread_rwlock_rdlock", by_rwlock},
    {"sem_wait", by_semaphore},
    {"poll", by_poll},
    {"read", by_read},
};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* other programs do not count */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double ns_each(void (*call)(int way), int way)
{
    const double begin = cpu_ns();
    for (int i = 0; i < CALLS; i++)
        call(way);
    return (cpu_ns() - begin) / CALLS;
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static void find(void *libc, const char *name, void *to)
{
    *(void **)to = dlsym(libc, name);
    if (!*(void **)to)
        abort();
}

int main(int argc, char **argv)
{
    static double libc_ns[ROUNDS_MOST], more_ns[ROUNDS_MOST];
    const int rounds = argc > 1 && atoi(argv[1]) < ROUNDS_MOST ? atoi(argv[1]) : 400;
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    cl_platform_id platform;
    cl_device_id device;
    if (!libc || rounds < 1 || pipe(ends) || sem_init(&semaphore, 0, 0))
        return 1;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    clReleaseContext(clCreateContext(NULL, 1, &device, NULL, NULL, NULL));
    find(libc, "pthread_mutex_lock", &mutex_lock[0]);
    find(libc, "pthread_rwlock_rdlock", &rdlock[0]);
    find(libc, "sem_wait", &semaphore_wait[0]);
    find(libc, "poll", &do_poll[0]);
    find(libc, "read", &do_read[0]);
    find(libc, "write", &put);
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (int i = 0; i < rounds; i++) {
            libc_ns[i] = ns_each(functions[f].call, 0);
            more_ns[i] = ns_each(functions[f].call, 1) - libc_ns[i];
        }
        const double more = median(more_ns, rounds);
        printf("%-22s %8.1f ns %+8.1f ns\n", functions[f].name, median(libc_ns, rounds), more);
    }
    return 0;
}
