/* steady.c - enqueues for ever and keeps a log, in a shared mapping, of what had completed when.
 *
 * The log outlives SIGKILL, so the runner knows what a measurement must hold.
 * usage: steady LOG
 */
#include "../programs/guest.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

enum { ENTRIES = 1 << 19, BATCH = 20 };

/* Read by run.py; all numbers are little-endian on the only machine we run on. */
struct log {
    uint64_t          pid;
    volatile uint64_t enqueued; /* before the call */
    volatile uint64_t entries;
    struct {
        uint64_t time_ns, completed; /* CLOCK_MONOTONIC_RAW, after clFinish */
    } entry[ENTRIES];
};

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static struct log *open_log(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(struct log)) != 0)
        exit(2);
    struct log *log = mmap(NULL, sizeof(struct log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (log == MAP_FAILED)
        exit(2);
    log->pid = (uint64_t)getpid();
    return log;
}

int main(int argc, char **argv)
{
    struct guest g;
    struct log  *log = open_log(argc > 1 ? argv[1] : "log");
    const struct timespec pause = {0, 200000};
    uint64_t     completed = 0;
    guest_open(&g);
    while (log->entries < ENTRIES) {
        log->enqueued += BATCH;
        guest_add(&g, BATCH);
        CL(clFinish(g.queue));
        completed += BATCH;
        log->entry[log->entries].completed = completed;
        log->entry[log->entries].time_ns = now_ns();
        log->entries++;
        nanosleep(&pause, NULL);
    }
    return 0;
}
