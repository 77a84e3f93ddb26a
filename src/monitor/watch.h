/* watch.h - what announced programs have done so far, by device and kernel: looked at again and again.
 *
 *     struct sonde_watch *watch = sonde_watch_create(folder);
 *     while (...) {
 *         sonde_watch_look(watch, &diag);
 *         for (size_t i = 0; i < watch->process_count; i++) ...
 *     }
 *
 * A look reads the programs' live mappings, also of those that `sonde record --last` keeps; they are neither stopped nor asked. All figures are since the start of the program and
 * never fall; `before` holds those of the look before. An ended program keeps its last figures for SONDE_WATCH_KEEP_NS, and as long as its folder is there.
 *
 * Threads: one at a time.
 */
#ifndef SONDE_MONITOR_WATCH_H
#define SONDE_MONITOR_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/error.h>

#include "base/map.h"

#define SONDE_WATCH_KEEP_NS 300000000000u

/* Operations of one kind, of a kernel: of one name, on one device. */
struct sonde_watch_figures {
    uint64_t operations; /* finished */
    uint64_t failed;     /* of those */
    uint64_t timed;      /* of those, with valid times */
    uint64_t total_ns;   /* durations of these on the device, added up: two at once count twice */
    uint64_t bytes;
};
struct sonde_watch_row {
    uint32_t device;     /* index into the process's devices */
    uint32_t kind;       /* enum sonde_op_kind */
    const char *name;    /* of a kernel, as in its source; "" of others */
    struct sonde_watch_figures now, before;
    double *counted;     /* of each of the watch's counters, so far; NULL: nothing (joined.h) */
};

struct sonde_watch_device {
    const char *name, *runtime;
    uint32_t pci;          /* its address (sonde_parse_pci); 0: unknown */
    uint64_t busy_ns, kernel_ns, copy_ns; /* with any operation, a kernel, a copy: unions of intervals */
    uint64_t busy_before_ns;
    uint64_t waiting;      /* operations that were enqueued and have not finished; 0 where the runtime reports them when they have */
    const char *current;   /* the first of these: a kernel's name, or a kind; "": none */
    uint64_t current_ns;   /* for so long since its API call was entered */
};

enum sonde_watch_state {
    SONDE_WATCH_RUNNING,
    SONDE_WATCH_EXITED,
    SONDE_WATCH_KILLED, /* or exec, _exit without the preload library: without a last word */
};

struct sonde_watch_process {
    char *name;          /* "HOST-PID-N" */
    const char *program; /* file name of the executable */
    uint32_t pid;
    int32_t rank;        /* -1: in no parallel job */
    enum sonde_watch_state state;
    double start_s;      /* since 1970 */
    uint64_t start_ns;   /* CLOCK_MONOTONIC_RAW */
    uint64_t seen, dropped, unmatched; /* operations: enqueued; of those not counted, by want of memory; without an end */
    uint64_t overhead_ns;              /* Sonde's, on the program's threads */
    uint64_t ended_ns;   /* CLOCK_MONOTONIC when that was seen; 0: it runs */
    uint64_t looked_ns, looked_before_ns; /* when these figures, and those before, were read; 0: never before */
    struct sonde_watch_device *devices;
    struct sonde_watch_row *rows;
    size_t device_count, row_count;
};

/* A counter of the hardware (joined.h). */
struct sonde_watch_counter {
    const char *metric; /* CUPTI's name; NULL: none that adds up */
    char unit[32];
};

struct sonde_watch {
    struct sonde_watch_process *processes; /* by start */
    size_t process_count;
    uint64_t looks, unread;  /* folders that could not be read, at all looks together */
    char unread_why[1024];   /* of the last one; empty: none */
    const struct sonde_watch_counter *counters; /* of rows' `counted` */
    size_t counter_count;
    char *folder;
    struct sonde_intern names;
};

/* NULL: out of memory. `folder`: of announced programs (announced.h). */
struct sonde_watch *sonde_watch_create(const char *folder);
void sonde_watch_destroy(struct sonde_watch *watch);

/* 0, or a negative code with `diag`: then the figures are those of the look before, or of a part of the programs newer ones. */
int sonde_watch_look(struct sonde_watch *watch, struct sonde_diag *diag);

/* What a row's operations are called: the kernel's name, or the kind. */
const char *sonde_watch_label(const struct sonde_watch_row *row);

/* Of a device: the share of the time between the last two looks in which it was busy; negative: there was one look only. */
double sonde_watch_busy(const struct sonde_watch_process *process, const struct sonde_watch_device *device);

#endif
