/* messages.h - messages between the ranks of a job (MPI, and collectives of NCCL): who sent what to whom, what all did together, and who waited for
 * whom. A kernel of NCCL is in its collective as a call of MPI is in its own. docs/mpi.md and docs/nccl.md define each number. The states of waiting are Scalasca's (Geimer et al., "The Scalasca performance toolset architecture",
 * CCPE 22(6), 2010; its manual's "Late Sender", "Late Receiver", "Wait at Barrier", "Wait at NxN", "Late Broadcast", "Early Reduce").
 *
 * Times of ranks on different hosts are compared as far as their messages align their clocks (clocks.h).
 */
#ifndef SONDE_ANALYZE_JOB_MESSAGES_H
#define SONDE_ANALYZE_JOB_MESSAGES_H

#include "analyze/metrics/values.h"
#include "base/map.h"

/* X(ID, name in JSON, text) */
#define SONDE_MESSAGE_WAIT_MAP(X)                                                                  \
    X(LATE_SENDER, "late_sender", "late sender")         /* received before it was sent */         \
    X(LATE_RECEIVER, "late_receiver", "late receiver")   /* sent, but not before it was received */ \
    X(BARRIER, "barrier", "barrier")                     /* the last one has not come */           \
    X(ALL_TO_ALL, "all_to_all", "all-to-all")            /* the last one has not come */           \
    X(LATE_ROOT, "late_root", "late root")               /* the root has not come */               \
    X(EARLY_ROOT, "early_root", "early root")            /* the root has, the last one has not */

/* clang-format off */
enum sonde_message_wait {
#define X(id, ...) SONDE_MESSAGE_WAIT_##id,
    SONDE_MESSAGE_WAIT_MAP(X)
#undef X
    SONDE_MESSAGE_WAITS
};
/* clang-format on */

/* One to one, from a rank to another. */
struct sonde_message_pair {
    uint32_t from, to;          /* ranks */
    uint64_t count, bytes;      /* sent */
    uint64_t largest;           /* bytes of one */
};

struct sonde_message_rank {
    uint32_t rank;
    uint64_t calls_ns;          /* in MPI's calls that are followed, of all its threads */
    uint64_t wall_ns;           /* recorded */
    uint64_t wait_ns[SONDE_MESSAGE_WAITS]; /* of calls_ns */
    uint64_t nccl_ns, nccl_wait_ns;        /* a kernel of a collective of NCCL ran, or waited */
    uint64_t sent, sent_bytes, received, received_bytes;
};

/* What the awaited rank did meanwhile, most of the time. */
enum sonde_message_cause {
    SONDE_MESSAGE_CAUSE_UNKNOWN,  /* nothing is known of it: no sample, no operation */
    SONDE_MESSAGE_CAUSE_CODE,     /* its threads ran: a function of the user's, with what it called, by samples */
    SONDE_MESSAGE_CAUSE_DEVICE,   /* its device did: an operation */
    SONDE_MESSAGE_CAUSE_MESSAGES, /* it waited itself, for another rank */
};

/* Waiting in one place. */
struct sonde_message_place {
    uint32_t node;              /* of the profile's tree: the call, or the collective */
    const char *comm;           /* NCCL's communicator; "": a call of MPI */
    enum sonde_message_wait kind;
    uint64_t count, ns;         /* calls that waited; all ranks */
    uint32_t most_rank;         /* that waited most there, */
    uint64_t most_ns;
    uint64_t share_ns, share_of_ns; /* in the steps of that rank (or, where there are none, while it was recorded) it waited so long there */
    uint32_t for_rank;          /* and the rank for which all of them waited most, */
    uint64_t for_ns;
    /* What that rank did in for_ns; of the SONDE_MESSAGE_CAUSES longest places, else UNKNOWN. Where it waited itself, root is what
     * is at the end of that chain. */
    struct sonde_message_doing {
        uint32_t rank;
        enum sonde_message_cause cause;
        uint32_t node;  /* of the profile's tree: the function, the operation, the call in which it waited */
        uint64_t ns;    /* so much of it: CPU time of all its threads, or time of the device, or of waiting */
    } doing, root;
};
#define SONDE_MESSAGE_CAUSES 16u

/* What ranks do together, by function and communicator. */
struct sonde_message_collective {
    const char *function, *comm; /* comm "" unknown */
    bool nccl;
    uint64_t count;              /* calls of all ranks */
    uint64_t bytes, ns, wait_ns; /* summed over them; of those that are one kernel of NCCL it counts once */
    uint32_t most_rank, for_rank; /* as of places; where wait_ns is 0 there are none */
    uint64_t most_ns, for_ns;
};

/* What the libraries of so many ranks say: from how many bytes on a message waits for its receiver. */
struct sonde_message_limit {
    uint32_t library, variable;  /* in struct sonde_messages's texts: "MPICH 4.0.2"; 0 not known */
    bool network;                /* to ranks of other hosts; else to those of the same one */
    uint64_t bytes;              /* 0 not known */
    uint32_t ranks;
};

struct sonde_messages {
    SONDE_VECTOR(struct sonde_message_rank) ranks;   /* by number */
    SONDE_VECTOR(struct sonde_message_pair) pairs;   /* most bytes first */
    SONDE_VECTOR(struct sonde_message_place) places; /* longest first */
    SONDE_VECTOR(struct sonde_message_collective) collectives; /* longest first */
    uint32_t step;           /* name of the steps (analyze/model/steps.h); 0: there are none */
    bool nccl;               /* there are collectives of NCCL */
    SONDE_VECTOR(struct sonde_message_limit) limits; /* of most ranks first */
    struct sonde_intern comms, step_names, texts;
    uint64_t large_ns;       /* of the waiting for late receivers, in calls that sent so much or more */
    uint64_t unlimited_ns;   /* and where that is not known */
    uint64_t messages;       /* sent, or received where the sender is not known */
    uint64_t apart;          /* of messages and calls: their ranks were on different hosts whose clocks could not be aligned */
    uint32_t hosts;
    char contradict[2][256]; /* of the apart: two hosts whose clocks contradict each other, since one was set meanwhile; "": none are known to */
    uint64_t clock_bound_ns; /* those that could are right to within that; 0: there is one */
    uint64_t alone;          /* sent and not received, or the reverse, as far as is known */
    uint64_t lost;           /* rows that found no room */
    uint64_t mixed;          /* collective calls on a communicator whose ranks do not agree on which comes when */
};

/* What began in [from_ns, to_ns) on the wall clock: a call, a kernel of NCCL, a message with the call that sent it. What ranks waited for may have begun before. */
struct sonde_message_window { uint64_t from_ns, to_ns; };
/* Ready when zeroed. `window` NULL: of the whole run. 0, or SONDE_ENOMEM; fini in both cases. */
int sonde_messages_compute(const struct sonde_measurement *m, const struct sonde_profile *profile, const struct sonde_message_window *window,
                           struct sonde_messages *out);
void sonde_messages_fini(struct sonde_messages *messages);

/* How long other ranks were waited for in each calling context, exclusively: appended, by process. The same errors. */
int sonde_message_values(const struct sonde_measurement *m, const struct sonde_profile *profile, sonde_context_values *out);

#endif
