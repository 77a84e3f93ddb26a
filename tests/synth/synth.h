/* synth.h - measurements with known contents, written through the real format code.
 *
 * For tests and benchmarks of everything that reads measurements. The totals
 * are added up while the operations are made up, not from what was written.
 */
#ifndef SONDE_TESTS_SYNTH_H
#define SONDE_TESTS_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/error.h>
#include <sonde/kinds.h>

#include "format/rows.h"

struct synth_options {
    uint64_t operations;
    uint32_t lanes, threads, processes;
    uint64_t seed;
    /* 0 of these is the least: one device, one path of two functions, no CPU side, no waits. */
    uint32_t devices;    /* queues and threads are dealt out to them; at most 62 */
    uint32_t depth, paths; /* functions from main to a call; how many ways there are, per thread */
    uint32_t cpu_hz;     /* samples of the threads, and when they were off the CPU */
    uint32_t waits;      /* every so many operations of a thread one waits for that before it, in another queue */
    uint64_t compute_ns; /* what a thread computes between batches, on average */
    bool ranks;        /* each process is a rank of a job */
    /* Of ranks, at least two (messages.c): every so many operations of each thread they send each other messages, on so many hosts with clocks of their
     * own, and one rank is late for that by late_ns; compute_ns is as much as that takes then. */
    uint32_t messages, hosts;
    uint64_t late_ns;
    bool unsealed;     /* leave live.sonde, as a program that was killed does */
    bool profile;      /* no trace rows */
};

enum { SYNTH_KERNELS = 4 };

struct synth_totals {
    uint64_t operations[SONDE_OP_KIND_COUNT], kind_ns[SONDE_OP_KIND_COUNT], kind_bytes[SONDE_OP_KIND_COUNT];
    struct {
        char name[16];
        uint64_t count, total_ns, min_ns, max_ns;
    } kernels[SYNTH_KERNELS];
    uint64_t seen, calls, api_ns;
    uint64_t device_busy_ns, disk_bytes;
    uint64_t samples, switches, off_ns, waits;
    uint64_t messages, message_bytes, late_sender_ns, all_to_all_ns; /* by the time of the job; the waits of all ranks */
    uint64_t start_ns, end_ns; /* first start and last end of an operation, of all processes */
};

/* Write a measurement at `path`, which must not exist. 0 or a negative code. */
int synth_write(const char *path, const struct synth_options *options, struct synth_totals *totals,
                struct sonde_diag *diag);

/* Of jobs with messages: the rank that is late; what the clock of a rank's host shows at a time of the job. */
uint32_t synth_slow_rank(const struct synth_options *options);
uint64_t synth_clock_ns(const struct synth_options *options, uint32_t rank, uint64_t ns);

/* Put zeros in place of the chunks of a process, from 0, that are of tables of which `which` says so, as if they were damaged (empty.c). How many. */
uint32_t synth_empty(const char *path, uint32_t process, bool (*which)(uint32_t table));

/* ---- build.c: rows into the files of a process ---------------------------- */

struct synth_build;

struct synth_build *synth_build_create(const char *dir);
/* Next id of a table; rows get it in the order they are added. */
uint32_t synth_next_id(const struct synth_build *b, enum sonde_table table);
/* Add a row of any table but STRING; returns its id (NODE, and tables with ids) or sequence number.
 * Traces: a full chunk is written to data.sonde, as in the agent. */
uint64_t synth_add(struct synth_build *b, enum sonde_table table, uint32_t owner, const void *row);
uint32_t synth_add_string(struct synth_build *b, const char *text);
/* A row that was added, to change it; NULL for traces and strings. */
void *synth_row(struct synth_build *b, enum sonde_table table, uint64_t id);
/* Write live.sonde and close. */
int synth_build_finish(struct synth_build *b, const struct sonde_live_header *header);

#endif
