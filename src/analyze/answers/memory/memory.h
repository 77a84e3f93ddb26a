/* memory.h - memory over time by the calling context that allocated it: peaks and
 * who holds them, what was not given back, what was held for nothing.
 *
 * docs/memory.md says how each number is computed. Reads the table of data
 * objects, and the trace only where operations may have used objects unseen.
 *
 * Threads: any, one at a time per result.
 */
#ifndef SONDE_ANALYZE_ANSWERS_MEMORY_MEMORY_H
#define SONDE_ANALYZE_ANSWERS_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/profile/profile.h"
#include "base/kinds.h"
#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

enum {
    SONDE_MEMORY_POINTS = 200,
    SONDE_MEMORY_HOLDERS = 8,
};

struct sonde_memory_site { /* objects of one kind, allocated in one calling context */
    uint32_t node;         /* tree node of the allocation; 0 unknown */
    uint32_t kind;         /* enum sonde_object_kind */
    uint32_t number;       /* in the object model */
    uint64_t count, bytes;
    uint64_t peak_count, peak_bytes;     /* of these, alive at the peak of the space */
    uint64_t most_count;                 /* alive at once */
    uint64_t alive, alive_bytes;         /* not freed when the process ended */
    uint64_t left, left_bytes;           /* of the alive: a later object was made here after their last use */
    uint64_t known;                      /* of count: all uses are known */
    uint64_t bounded;                    /* of count: they are not, but when there can have been some. The sums of
                                          * both are certain: of all objects they are lower bounds */
    uint64_t unused, unused_bytes;       /* no operation used them */
    double unused_held;                  /* byte-nanoseconds of these */
    double early, late;                  /* byte-nanoseconds before the first and after the last use of the used ones */
    uint64_t unnamed, unnamed_bytes;     /* uses not known in full, not among the unused, and no operation names them */
    double unnamed_held;                 /* byte-nanoseconds of these */
    double named_late;                   /* of the others with uses not known in full: between the first that there
                                          * can have been and the first that is known */
    double held;                         /* byte-nanoseconds of all */
    double alloc_ns;                     /* host time in the allocating calls; 0 unknown */
    bool cached;                         /* a caching allocator made them: segments, not blocks */
};

struct sonde_memory_point {
    uint64_t at_ns, bytes;
    uint64_t holders[SONDE_MEMORY_HOLDERS]; /* bytes of sites.items[i], which are by bytes at the peak */
};

/* How a process ended, for what is still alive then. */
enum sonde_memory_end {
    SONDE_MEMORY_ENDED,      /* in order, and it had freed objects */
    SONDE_MEMORY_FREED_NONE, /* in order, and it had freed nothing: it leaves that to its end */
    SONDE_MEMORY_CUT,        /* killed, still running, or the agent switched itself off */
};

struct sonde_memory_space { /* memory of one class on one device, as one process used it */
    uint32_t process, device;  /* device 0: none, or not known which */
    enum sonde_memory_class class;
    enum sonde_memory_end end; /* of the process */
    uint64_t begin_ns, end_ns; /* of the process, or of what is known of it */
    uint64_t count, bytes;
    uint64_t sizeless;         /* objects of unknown size, in no bytes */
    uint64_t freed, freed_late; /* of the freed: while the process was ending */
    uint64_t peak_ns, peak_bytes, peak_count;
    uint64_t cached_bytes, cached_count; /* segments of a caching allocator at the peak */
    SONDE_VECTOR(struct sonde_memory_site) sites;   /* by bytes at the peak, most first */
    SONDE_VECTOR(struct sonde_memory_point) points; /* by time; the peak is one of them */
};

struct sonde_memory_use { /* ready when zeroed */
    SONDE_VECTOR(struct sonde_memory_space) spaces; /* by process, class, device */
    uint64_t parts;     /* objects that lie in others: in no count, their uses are the others' */
    uint64_t bad_times; /* objects freed before they were allocated, by their times */
    double held;        /* byte-nanoseconds of all objects */
    bool incomplete; /* more objects than the table holds: counts and peaks are lower bounds */
};

/* 0 or SONDE_ENOMEM; fini in either case. Rows of the trace are the unit of `progress` (may be NULL). */
int sonde_memory_compute(const struct sonde_measurement *m, const struct sonde_profile *profile,
                         struct sonde_progress *progress, struct sonde_memory_use *out);
void sonde_memory_fini(struct sonde_memory_use *memory);

#endif
