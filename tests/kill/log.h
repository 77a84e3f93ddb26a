/* log.h - what a program that will be killed had enqueued, and what of it had completed when, in a shared mapping.
 *
 * It outlives SIGKILL. Read by run.py; all numbers are little-endian on the only
 * machines we run on.
 */
#ifndef SONDE_TESTS_KILL_LOG_H
#define SONDE_TESTS_KILL_LOG_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LOG_ENTRIES = 1 << 19 };

struct log {
    uint64_t pid;
    volatile uint64_t enqueued; /* before the call */
    volatile uint64_t entries;
    struct {
        uint64_t time_ns, completed; /* CLOCK_MONOTONIC_RAW, after it was waited for */
    } entry[LOG_ENTRIES];
};

static inline uint64_t log_now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static inline struct log *log_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(struct log)) != 0)
        exit(2);
    struct log *log = (struct log *)mmap(NULL, sizeof(struct log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (log == MAP_FAILED)
        exit(2);
    log->pid = (uint64_t)getpid();
    return log;
}

static inline void log_completed(struct log *log, uint64_t completed)
{
    log->entry[log->entries].completed = completed;
    log->entry[log->entries].time_ns = log_now_ns();
    log->entries++;
}

#endif
