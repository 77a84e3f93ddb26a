/* totals.h - what every report begins and ends with: the run, its devices, its ledger. */
#ifndef SONDE_ANALYZE_MODEL_TOTALS_H
#define SONDE_ANALYZE_MODEL_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "format/reader.h"

struct sonde_device_use {    /* one device as one process used it */
    uint32_t process, device;
    uint64_t wall_ns;        /* of the process, without the pauses of recording; 0 unknown */
    uint64_t operations;     /* in the profile */
    bool timed;              /* the next three are known */
    uint64_t busy_ns;        /* union of all operations' intervals */
    uint64_t kernel_ns, copy_ns; /* unions; the two may overlap */
};

/* Wall time of `sonde record` around the program's run, from the manifest: none of it is in the run. */
struct sonde_around {
    bool known;              /* it is not there before record's end */
    uint64_t before_ns;      /* until the program was started */
    uint64_t program_ns;     /* from then to its end */
    uint64_t after_ns;       /* from then on; the next four are parts of it */
    uint64_t seal_ns, symbols_ns, code_ns, summary_ns;
};

struct sonde_totals {
    struct sonde_ledger ledger;   /* sums over the processes */
    uint64_t dropped_operations;  /* enqueued, and in no figure of this measurement */
    uint64_t dropped_trace_rows;  /* in the profile, missing in the trace */
    uint64_t in_flight;           /* enqueued, not finished when the program ended */
    uint64_t clock_bound_ns;      /* the largest; 0 = the devices' clocks are the host's */
    bool clock_known;             /* there are device times, and pairs of clocks for all that have them */
    uint64_t wall_ns;             /* first process's start to last process's end; 0 unknown */
    uint64_t process_wall_ns;     /* sum over processes: what overhead is a share of */
    uint32_t threads;             /* that used the GPU runtime */
    uint32_t exited, killed, off; /* processes by how they ended */
    uint32_t notes;
    uint32_t damaged_chunks;
    uint64_t damaged_bytes;
    bool traced;                  /* at least one process */
    uint64_t held_ns;             /* sum over processes: threads stood still for the agent's start, its flushes, and room; 0 unknown */
    struct sonde_around around;
    SONDE_VECTOR(struct sonde_device_use) devices; /* by process, device; only used ones */
};

/* Zeroed *out in. 0 or SONDE_ENOMEM; fini in either case. */
int sonde_totals_compute(const struct sonde_measurement *m, struct sonde_totals *out);
void sonde_totals_fini(struct sonde_totals *totals);

/* Run time of a process, 0 unknown. */
uint64_t sonde_process_wall_ns(const struct sonde_process *p);
/* Operations that a process enqueued. The agent adds them up now and then: one that
 * was killed in between may have finished more than it had counted; these count. */
uint64_t sonde_process_seen(const struct sonde_process *p);

/* Is the error bound of its device times known? Not where it has none. */
bool sonde_process_clock_known(const struct sonde_process *p);

#endif
