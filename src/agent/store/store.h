/* store.h - what is recorded becomes rows, and rows become files.
 *
 *     table.c     append-only tables: names, devices, lanes and the rest; table.h for who adds rows
 *     objects.c   data objects and their uses
 *     stretches.c parts of objects that the program gave names
 *     values.c    what operations did to the values of objects
 *     last.c      the last seconds alone
 *     remote.c    accesses of kernels to memory of other devices and of the host
 *     counters.c  counters of the hardware, by operation
 *     take.c      one finding, into profile, busy time, ledger and trace
 *     profile.c   accumulators per calling context and lane
 *     busy.c      how long devices were busy
 *     trace.c     lanes on their way to disk
 *     room.c      segments of the live mapping, and their room on disk
 *     recorded.c  since when the program runs, in which job, and when recording was off
 *     files.c     the process's files
 *     available.c how much memory the program could still have
 *
 * What takes table_lock may be called by any thread. The monitor's is under monitor_lock.
 */
#ifndef SONDE_AGENT_STORE_STORE_H
#define SONDE_AGENT_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/state/event.h"
#include "agent/state/thread.h"
#include "format/rows.h"

/* ---- table.c. Each takes table_lock ------------------------------------------------- */

#define SONDE_RANGE_OTHER "(other ranges)"
/* As sonde_string; `left`: how many more strings of their kind may be added. 0 when there are none left. */
uint32_t sonde__string_of_few(const char *bytes, size_t length, uint32_t *left);

int sonde__tables_init(void);                  /* when the agent starts: 0 or SONDE_ENOMEM */
uint64_t sonde__clocks_missing(void);          /* bit per device (by id) that no clock pair is known of. Takes no lock */
uint32_t sonde__device_new(const struct sonde_device_info *info);          /* its id; 0: no room */
uint32_t sonde__lane_new(struct sonde_row_lane row, const char *name);     /* the same */
/* A lane for a thread that has none, and its end. Under thread_lock. */
void sonde__lane_begin(struct sonde_thread *t, int tid, const char *name, uint64_t start_ns);
void sonde__lane_end(const struct sonde_thread *t);
const char *sonde__note_last(void); /* its text, which stays; NULL: nobody has noted anything */
/* Rows of the monitor's tables: append one (zeroed), find one (takes no lock). NULL: no room, or not there. */
void *sonde__table_row(enum sonde_table table, uint32_t row_bytes, uint32_t *id);
void *sonde__table_find(enum sonde_table table, uint32_t row_bytes, uint32_t id);

/* ---- objects.c ------------------------------------------------------------------------- */

void sonde__objects_init(void); /* when the agent starts */
uint32_t sonde__object_site(uint32_t object); /* the one that stands for all of its kind and place; without room it stands for itself. Under table_lock */
void sonde__objects_used(uint64_t enter_ns, const uint32_t *objects, uint32_t count); /* by one operation. Any thread */

/* ---- stretches.c ------------------------------------------------------------------------ */

void sonde__stretches_init(void); /* when the agent starts */
/* sonde_name_memory of sonde/sonde.h. Any thread of the program; takes table_lock. */
void sonde__stretch_name(const void *address, size_t bytes, const char *name, size_t rows, size_t columns, size_t element_bytes);

/* ---- values.c --------------------------------------------------------------------------- */

void sonde__values_init(void); /* when the agent starts */
void sonde__remote_init(void); /* remote.c: the same */
void sonde__migrations_init(void); /* migrations.c: the same */
void sonde__counters_init(void); /* counters.c: the same */
void sonde__stalls_init(void);   /* stalls.c: the same */

/* ---- counters.c, of the CPU: the monitor's. Each takes table_lock ----------------------- */

/* The row of all that it counts; 0: no room. */
uint32_t sonde__tally_new(const char *name, uint64_t period);
void sonde__tally_samples(uint32_t tally, uint32_t node, uint64_t samples);
/* More was counted, in so much more time; samples lost so far. */
void sonde__tally_add(uint32_t tally, uint64_t count, uint64_t enabled_ns, uint64_t running_ns);
void sonde__tally_lost(uint32_t tally, uint64_t samples);

/* ---- available.c --------------------------------------------------------------------------- */

/* Bytes, as /proc and /sys/fs/cgroup of this folder say ("": the machine's); 0: there are none, or it is not known. */
uint64_t sonde__memory_available(const char *root);

/* ---- take.c, profile.c, busy.c: the monitor's -------------------------------------------- */

void sonde__take(const struct sonde_activity *a);

int sonde__profile_init(void);
void sonde__profile_reserve(void); /* when the agent starts, after the nodes of last resort were made */
void sonde__profile_call(const struct sonde_event *e);
void sonde__profile_op(const struct sonde_event *e, const struct sonde_times *t, unsigned flags);
void sonde__profile_sleep(uint32_t node, uint64_t ns);
void sonde__profile_sample(uint32_t lane, const struct sonde_sample *s);

/* The union of intervals, and the header's figures of it. */
void sonde__busy_add(uint32_t device, enum sonde_op_kind kind, uint64_t start_ns, uint64_t end_ns);
void sonde__busy_settle(struct sonde_live_header *header);
void sonde__busy_forget(void); /* in a forked child */

/* ---- trace.c: the monitor's, but for what is said otherwise -------------------------------- */

void sonde__trace_init(void (*thread_begins)(void)); /* when the agent starts; each tracing thread calls it first */
/* Append a row of a trace, or count it as lost. */
void sonde__trace_row(uint32_t lane, enum sonde_table table, const void *row);
/* Count rows that are missing; lane 0: of no lane that is known. Any thread, and a sample's handler. */
void sonde__trace_lost(uint32_t lane, enum sonde_table table, enum sonde_drop cause, uint64_t rows);
/* No further row; true: it was on. Takes no lock. Also a tracing thread. */
bool sonde__trace_off(enum sonde_drop cause);
void sonde__trace_idle(void);                 /* a good moment to encode */
uint64_t sonde__trace_cpu_ns(void);           /* of the tracing threads. Any thread */
void sonde__trace_end(void);            /* the threads write what they have, and end. The monitor */
void sonde__trace_forget(void);               /* in a forked child */
/* Of segments with room left, of operations, calls and waits; both under harvest_lock. Give those back in which all ended before a time: how many. When the
 * last row of the oldest of them ended; 0: there is none. */
uint32_t sonde__trace_give_idle(uint64_t until_ns);
uint64_t sonde__trace_oldest(void);
void sonde__trace_give(struct sonde_segment *s); /* back; its rows count as lost */

/* ---- last.c: the last seconds alone (--last) ---------------------------------------------------- */

void sonde__last_init(void);                       /* when the agent starts */
bool sonde__last_on(void);
void sonde__last_keep(struct sonde_segment *s);    /* a full one of a trace: until it is too old. As sonde__trace_row */
bool sonde__last_give(void);                       /* makes room for what is newer. False: there is nothing old. As that */
void sonde__last_turn(uint64_t now_ns);            /* after the ledger was accounted. The monitor */
void sonde__last_idle(uint64_t now_ns);            /* gives back what is old in segments that are not full. Under harvest_lock */

/* ---- room.c: segments of the live mapping ----------------------------------------------------- */

/* As sonde__pool_get; the monitor makes room first where it has to. Any thread, and a sample's handler. */
struct sonde_segment *sonde__room_get(enum sonde_table table, uint32_t owner, uint64_t first, uint32_t row_bytes);
void sonde__room_keep(void);  /* make room on disk ahead of need, or say that there is none. The monitor */
/* Before a new call path: where there is little room, wait for the monitor to make some, or until it is clear that it
 * does not. False: a sample's handler, which does not wait; the sample is missed. Any thread that has no lock. */
bool sonde__room_await(void);

/* ---- recorded.c ------------------------------------------------------------------------------ */

void sonde__recorded_start(struct sonde_live_header *header); /* what came before the agent; header->start_ns is set. Monitor */
void sonde__recorded_job(const char *name);                   /* which of a launcher's it is part of. Monitor */
void sonde__recorded_pause(uint64_t from_ns);                 /* recording goes off. Any thread */
void sonde__recorded_resume(uint64_t to_ns);                  /* it has gone on */

/* ---- files.c: the monitor thread's, but for what is said otherwise. 0 or a negative error -------- */

int sonde__files_open(void);       /* private descriptors, process directory, live and data files */
int sonde__files_grow(uint64_t live_bytes); /* make room in live.sonde that is really on disk */
int sonde__files_append(const void *bytes, size_t size); /* to data.sonde; any of our threads */
uint64_t sonde__files_written(void); /* any thread */
bool sonde__files_shared(void);      /* the descriptor table is the program's. Any thread */
long sonde__files_read(const char *path, char *text, size_t size); /* bytes of a small file of the kernel's, a NUL after them; 0: none */

#endif
