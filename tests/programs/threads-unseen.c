/* threads-unseen.c - threads whose start Sonde cannot have seen.
 *
 * The first kind exists before OpenCL (and so the agent) is loaded, and
 * enqueues later. The second comes from a bare clone() without a thread
 * control block of its own: it makes system calls only, while others enqueue.
 *
 * case: early early => kernel=80 read=1
 * case: clone clone => kernel=200 read=1
 * case: detached detached => kernel=80 read=1
 */
#include "guest.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static struct guest      g;
static pthread_barrier_t gate;
static _Atomic int       finished;
static _Atomic long      ticks;
static _Atomic int       stop;

static void *enqueue(void *arg)
{
    pthread_barrier_wait(&gate); /* opened only after OpenCL is up */
    guest_add(&g, 20);
    finished++;
    return arg;
}

static void early(int detached)
{
    pthread_t threads[4];
    pthread_barrier_init(&gate, NULL, 5);
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, enqueue, NULL);
        if (detached)
            pthread_detach(threads[i]);
    }
    guest_open(&g);
    pthread_barrier_wait(&gate);
    for (int i = 0; i < 4 && !detached; i++)
        pthread_join(threads[i], NULL);
    while (finished < 4)
        usleep(1000);
}

/* Runs on the parent's thread control block: no libc calls here, not even errno. */
static int bare(void *arg)
{
    (void)arg;
    while (!stop) {
        long result;
        __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_sched_yield) : "rcx", "r11", "memory");
        ticks++;
    }
    return 0;
}

static void cloned(void)
{
    const size_t size = 65536;
    static int   child_tid = 1;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    int   flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;
    clone(bare, stack + size, flags, NULL, NULL, NULL, &child_tid);
    guest_open(&g);
    guest_add(&g, 200);
    while (ticks == 0)
        usleep(1000);
    stop = 1;
    while (*(volatile int *)&child_tid != 0)
        usleep(1000);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "early";
    if (strcmp(kind, "clone") == 0)
        cloned();
    else
        early(strcmp(kind, "detached") == 0);
    printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
