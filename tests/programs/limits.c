/* limits.c - little of everything: descriptors, address space, file size, stacks, threads.
 *
 * Where Sonde cannot have what it needs it must leave; the program goes on.
 * The amounts are the least with which PoCL itself works, plus a little.
 *
 * case: descriptors-before nofile-before 16 => any
 * case: descriptors-after nofile-after 4 => kernel=200 read=2
 * case: address-space-before as-before 700 => any
 * case: address-space-after as-after 16 => kernel=200 read=2
 * case: file-size-after fsize-after 0 => any
 * case: file-size-4k fsize-before 4096 => any
 * case: no-more-threads nproc 0 => any ; needs=root
 * case: locked-memory memlock 0 => any
 * case: stack-limit stack 262144 => kernel=100 read=1
 * case: core-limit core 0 => kernel=100 read=1
 * case: thread-stack-64k thread 65536 => kernel=201 read=2
 * case: thread-stack-32k thread 32768 => kernel=201 read=2
 * case: thread-stack-own-memory own 65536 => kernel=201 read=2
 * case: cpu-limit cpu 60 => kernel=100 read=1
 */
#include "guest.h"

#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static struct guest g;

static void limit(int what, rlim_t amount)
{
    struct rlimit now;
    getrlimit(what, &now);
    now.rlim_cur = amount;
    if (setrlimit(what, &now) != 0)
        printf("setrlimit: %s\n", strerror(errno));
}

/* Address space in use now, plus some. */
static rlim_t space_and(long mib)
{
    long  pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        printf("no statm\n");
    if (file)
        fclose(file);
    return (rlim_t)pages * 4096 + (rlim_t)mib * 1048576;
}

static void apply(const char *kind, long amount)
{
    if (strncmp(kind, "nofile", 6) == 0)
        limit(RLIMIT_NOFILE, (rlim_t)amount);
    else if (strncmp(kind, "as", 2) == 0)
        limit(RLIMIT_AS, space_and(amount));
    else if (strncmp(kind, "fsize", 5) == 0)
        limit(RLIMIT_FSIZE, (rlim_t)amount);
    else if (strcmp(kind, "memlock") == 0)
        limit(RLIMIT_MEMLOCK, (rlim_t)amount);
    else if (strcmp(kind, "stack") == 0)
        limit(RLIMIT_STACK, (rlim_t)amount);
    else if (strcmp(kind, "core") == 0)
        limit(RLIMIT_CORE, (rlim_t)amount);
    else if (strcmp(kind, "cpu") == 0)
        limit(RLIMIT_CPU, (rlim_t)amount);
    else if (strcmp(kind, "nproc") == 0) {
        limit(RLIMIT_NPROC, (rlim_t)amount);
        printf("nobody: %d %d\n", setgroups(0, NULL), setuid(65534));
    }
}

static void *enqueue(void *arg)
{
    guest_add(&g, 100);
    CL(clFinish(g.queue));
    return arg;
}

/* The smallest stacks; the launch before warms PoCL's own lazy set-up on the big stack. */
static void small_threads(size_t size, int own)
{
    pthread_attr_t attributes;
    pthread_t      thread;
    guest_open(&g);
    guest_add(&g, 1);
    printf("ran %d\n", guest_read(&g));
    pthread_attr_init(&attributes);
    if (own) {
        char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_attr_setstack(&attributes, stack, size);
    } else if (pthread_attr_setstacksize(&attributes, size) != 0) {
        printf("stack size refused\n");
    }
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, &attributes, enqueue, NULL);
        pthread_join(thread, NULL);
    }
    printf("ran %d\n", guest_read(&g));
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "thread";
    long        amount = argc > 2 ? atol(argv[2]) : 65536;
    int         after = strstr(kind, "after") != NULL;
    if (strcmp(kind, "thread") == 0 || strcmp(kind, "own") == 0) {
        small_threads((size_t)amount, kind[0] == 'o');
        return 0;
    }
    if (!after)
        apply(kind, amount);
    guest_open(&g);
    guest_add(&g, 100);
    printf("ran %d\n", guest_read(&g));
    if (after) {
        apply(kind, amount);
        guest_add(&g, 100);
        printf("ran %d\n", guest_read(&g));
    }
    usleep(100000);
    guest_close(&g);
    return 0;
}
