/* comm.h - which device, or the host, sent how many bytes to which: by pair, by the line that asked, by data object.
 *
 * Of copies and migrations, as the runtime reported them, and of accesses of kernels that were counted (record --comm). Where only a sample of
 * launches was looked at, it is estimated beside that how much all of them accessed (sample.c). An end of which the runtime did not say where it lies is unknown, and counts as that. docs/communication.md defines each number.
 *
 * Threads: any, one at a time per result.
 */
#ifndef SONDE_ANALYZE_ANSWERS_COMM_COMM_H
#define SONDE_ANALYZE_ANSWERS_COMM_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/profile/object_model.h"
#include "analyze/profile/profile.h"
#include "analyze/profile/stretches.h"
#include "base/kinds.h"
#include "base/progress.h"
#include "base/vector.h"
#include "format/reader.h"

enum sonde_comm_where {
    SONDE_COMM_UNKNOWN,
    SONDE_COMM_HOST,
    SONDE_COMM_DEVICE,
};
struct sonde_comm_end {
    uint32_t where;  /* enum sonde_comm_where */
    uint32_t device; /* of its process; else 0 */
    uint32_t other;  /* a device of another process than the pair's: that one, from 1; else 0 */
};

enum sonde_comm_kind {
    SONDE_COMM_COPY,
    SONDE_COMM_MIGRATION, /* the runtime was asked to move an object, and may have found it there */
    SONDE_COMM_LOAD,      /* of a kernel's threads, from memory that is not their device's */
    SONDE_COMM_STORE,
    SONDE_COMM_ATOMIC,    /* from the device that asks for it: its bytes count once */
    SONDE_COMM_COLLECTIVE, /* of NCCL: what a rank sends, by its algorithm */
};
const char *sonde_comm_kind_name(uint32_t kind);
static inline bool sonde_comm_is_of_kernel(uint32_t kind)
{
    return kind >= SONDE_COMM_LOAD && kind <= SONDE_COMM_ATOMIC;
}

struct sonde_comm_pair { /* one way, in one process */
    uint32_t process;
    struct sonde_comm_end from, to;
    uint32_t kind;       /* enum sonde_comm_kind */
};
/* Whose device an end of the pair is. */
static inline uint32_t sonde_comm_process(const struct sonde_comm_pair *pair, struct sonde_comm_end end)
{
    return end.other ? end.other - 1 : pair->process;
}

struct sonde_comm_sum {
    uint64_t operations, bytes; /* of a kernel: accesses of single threads */
    uint64_t timed, ns;  /* of the operations: those with device times, and these added up */
    uint64_t flags;      /* bytes beside these that a link carries for them: NCCL's */
    struct sonde_comm_estimate {
        double bytes, error;   /* what launches that were not chosen (--comm-sample) have beside these, and its standard error; errors add up, since all of a
                                * launch may be more at once */
        uint64_t freedom;      /* the least of those of which it is made; 0: of none */
        bool unknown;          /* some launches were left out for other reasons, so that it is not known how much they have */
        bool single;           /* of some kernel one launch alone was looked at: its error is not known */
    } more;
};
void sonde_comm_add(struct sonde_comm_sum *sum, const struct sonde_comm_sum *more);
/* All bytes, as far as they can be told, and their interval of 95 %. False: not known, or, of the interval, not known. */
bool sonde_comm_estimated(const struct sonde_comm_sum *sum, double *bytes);
bool sonde_comm_interval(const struct sonde_comm_sum *sum, double *low, double *high);

struct sonde_comm_line { /* what one line of the user's asked for */
    struct sonde_comm_pair pair;
    uint32_t node;       /* tree node of the line's frame, in the first of its call paths; 0 unknown */
    const char *kernel;  /* whose accesses these are; NULL: none, the frame's line asked for copies */
    const char *file;    /* of its source; NULL unknown */
    uint32_t line;
    bool exact;          /* all launches of the kernel were looked at; also of copies */
    struct sonde_comm_sum sum;
};

struct sonde_comm_kernel { /* what one kernel accessed, by whatever line */
    struct sonde_comm_pair pair;
    const char *name;    /* NULL: no kernel did, the host asked for it */
    bool exact;          /* as in struct sonde_comm_line */
    struct sonde_comm_sum sum;
};

struct sonde_comm_coverage { /* of one kernel (record --comm) */
    const char *name;
    uint64_t looked_at;  /* launches of which all accesses are known; */
    uint64_t silent;     /* of these, such that the host may have written their memory meanwhile: whose it was is not certain */
    uint64_t missed[SONDE_VALUE_MISSED_COUNT]; /* others, by why */
    unsigned engines;    /* 1 << enum sonde_engine */
};

struct sonde_comm_object { /* objects of one kind that one place allocated, in one memory */
    struct sonde_comm_pair pair;
    uint32_t kind;       /* enum sonde_object_kind; NONE: the copy named none */
    uint32_t node;       /* tree node of the user's frame that allocated; 0 unknown */
    struct sonde_comm_end owner;
    struct sonde_comm_sum sum;
};

/* What kernels of one device accessed of objects of one size, by where in the object that was (record --comm-elements). */
struct sonde_comm_run {
    uint64_t first, count; /* cells that follow each other, */
    uint64_t bytes;        /* and what was accessed in each */
};
struct sonde_comm_array {
    struct sonde_comm_pair pair;
    uint32_t kind, node;   /* as in struct sonde_comm_object */
    struct sonde_comm_end owner;
    const struct sonde_stretch *stretch; /* in sonde_comm.stretches: the cells are those that begin in this part of one object; NULL: objects' */
    uint64_t lead;         /* of a stretch: bytes before its first cell */
    uint64_t object_bytes; /* of one object, or of the stretch; */
    uint64_t objects;      /* of so many of one site and size the cells are added */
    uint64_t cell_bytes;   /* the last cell may have fewer */
    uint64_t bytes;        /* that were accessed; */
    uint64_t touched;      /* of the cells in which some were */
    size_t first_run, runs; /* in sonde_comm.runs, by their cells */
};

/* What one rank asked of one communicator, and how NCCL carried it out. */
struct sonde_comm_collective {
    uint32_t process, lane; /* the communicator's */
    const char *name;       /* "AllReduce float32" */
    uint32_t work;          /* row of how: algorithm, protocol, channels, ranks; 0 none */
    struct sonde_comm_sum asked; /* bytes as the program counts them */
    uint64_t sent;          /* bytes that left this rank's device */
    bool sent_known;        /* for all of them */
};

/* Page faults of a processor on the managed memory of one place. */
struct sonde_comm_faults {
    uint32_t process;
    struct sonde_comm_end at; /* the host, or a device */
    uint32_t kind, node;      /* as in struct sonde_comm_object */
    uint64_t count;
};

struct sonde_comm_way { /* one pair */
    struct sonde_comm_pair pair;
    struct sonde_comm_sum sum;
};

/* All NVLinks of a device while the program ran, by the driver's counters: everybody's bytes; and of the pairs those between it and
 * another device. */
struct sonde_comm_link {
    const char *address; /* on PCI, as the driver writes it; the manifest's */
    uint32_t device;     /* as the first process that used it numbers it, from 1; 0: none did */
    uint64_t sent, received, sent_known, received_known;
};

struct sonde_comm { /* ready when zeroed; each list adds up to `all`, most bytes first */
    struct sonde_comm_sum all;
    struct sonde_comm_sum unknown;      /* of all: at least one end is not known */
    struct sonde_comm_sum managed;      /* of all: managed memory that the driver moved by itself */
    SONDE_VECTOR(struct sonde_comm_way) pairs;
    SONDE_VECTOR(struct sonde_comm_way) matrix; /* the same of all kinds, and, where no end is a device, of all processes: its kind
                                                 * is COPY then, its process the first */
    SONDE_VECTOR(struct sonde_comm_line) lines;
    SONDE_VECTOR(struct sonde_comm_kernel) kernels;
    SONDE_VECTOR(struct sonde_comm_object) objects;
    SONDE_VECTOR(struct sonde_comm_link) links;        /* as the driver numbers devices; of the whole run */
    SONDE_VECTOR(struct sonde_comm_coverage) coverage; /* by launches, most first */
    SONDE_VECTOR(struct sonde_comm_faults) faults; /* most first */
    SONDE_VECTOR(struct sonde_comm_collective) collectives; /* most bytes sent first */
    SONDE_VECTOR(struct sonde_comm_array) arrays; /* most bytes first; of the whole run, or none */
    SONDE_VECTOR(struct sonde_comm_run) runs;
    struct sonde_stretches stretches;
    uint32_t unread;                    /* arrays of which it is not known what was accessed: their program was killed, or there was no room */
    bool partial;                       /* of some kernels not all launches: then their kinds' sums are the least that there was */
    bool blind;                         /* of some for another reason than --comm-sample, so that it is not known what they have */
    bool roughly;                       /* of some collectives it is not known exactly what a rank sends */
    bool silent;                        /* of some launches it is not certain whose memory they accessed */
    bool paused;                        /* nor of any of OpenCL's: recording was off for a time, in which others may have written it */
    bool unmoved;                       /* there was managed memory, and nobody asked what was moved of it */
    bool moved;                         /* managed memory was moved, or missed: of the whole run, so nothing of it in a part */
    bool counted;                       /* accesses of kernels were: of the whole run, so none of a part of it */
    uint32_t untraced;                  /* processes of which the profile alone is known */
};

struct sonde_comm_config { /* zeroed: the whole run */
    uint64_t from_ns, to_ns; /* operations that begin in [from, to), by the wall clock, as sonde_run_range has it; to_ns 0: no end.
                              * Those without times count where their API call was entered. What has no trace is left out, but of
                              * the whole run */
    struct sonde_progress *progress; /* in rows; may be NULL */
};

/* 0, or a negative error of reading; fini in either case. */
int sonde_comm_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_comm_config *config,
                       struct sonde_comm *out);
void sonde_comm_fini(struct sonde_comm *comm);

/* Between the files of this folder: fills comm->links from the manifest and the pairs. 0 or SONDE_ENOMEM. */
int sonde__comm_links(const struct sonde_measurement *m, struct sonde_comm *comm);

/* Where a row of REMOTE or ARRAY says `device` or `owner`; unknown for SONDE_REMOTE_OTHERS. */
struct sonde_comm_end sonde__comm_end_on(uint32_t device);

/* How the launches of an operation, in one calling context, were chosen (sample.c). */
struct sonde__comm_sample {
    uint64_t launches[SONDE_REMOTE_GROUPS]; /* that were looked at, by group */
    uint64_t left_out, others;              /* not chosen; not looked at for other reasons */
};
/* What all launches have beside what those that were looked at did, whose bytes are given by group. */
struct sonde_comm_estimate sonde__comm_estimate(const struct sonde__comm_sample *sample, const uint64_t *bytes);

/* And comm->stretches, comm->arrays and its runs. */
int sonde__comm_arrays(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_object_model *model, struct sonde_comm *comm);

/* What a rank sends in a collective (collective.c). */
struct sonde_comm_sent {
    uint64_t bytes, flags;
    uint32_t to;  /* rank, from 1; 0: several, or not known which */
    bool known;   /* else `bytes` is 0 */
    bool exact;   /* else the mean of all ranks */
    bool receives; /* a Recv: its bytes are what comes from rank `to` */
};
struct sonde_comm_sent sonde_comm_sent(const char *name, uint64_t bytes, const char *algorithm, const char *protocol, const struct sonde_row_work *how);
/* Between the files of this folder: the device of a rank of the communicator whose lane this is; unknown where nobody recorded it. */
struct sonde_comm_end sonde__comm_rank(const struct sonde_measurement *m, uint32_t process, uint32_t lane, uint32_t rank);

/* The ends of an operation of `kind` on a queue of `device`, by what the runtime said of it (`work`; NULL: nothing).
 * False: it moves nothing from here to there. */
bool sonde_comm_ends(uint32_t kind, const struct sonde_row_work *work, uint32_t device, struct sonde_comm_end *from,
                     struct sonde_comm_end *to);
bool sonde_comm_end_equal(struct sonde_comm_end a, struct sonde_comm_end b);

#endif
