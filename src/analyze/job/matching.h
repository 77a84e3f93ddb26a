/* matching.h - calls of MPI of all ranks, and which belong together: who received what was sent, and what all of a communicator did together.
 *
 * The k-th message that one rank sent another on a communicator with a tag is the k-th that this one received so (MPI 4.0, 3.5: they do not overtake),
 * in the order in which it began to receive them; the k-th collective call of a rank on a communicator belongs to the k-th of the others.
 *
 * Rows have the times of their own host's clock. Those of several hosts are aligned by what belongs together (clocks.h), before it is told.
 */
#ifndef SONDE_ANALYZE_JOB_MATCHING_H
#define SONDE_ANALYZE_JOB_MATCHING_H

#include "base/map.h"
#include "clocks.h"
#include "messages.h"

/* A row, with what of it is the same in all ranks. Of NCCL's collectives (collectives.h): the kernel, from its start to its end. */
struct sonde__matched {
    uint64_t enter_ns, leave_ns, posted_ns, bytes;
    uint32_t process, lane, node; /* node: of the profile's tree */
    uint32_t rank, peer;          /* peer UINT32_MAX: none */
    uint32_t comm, tag, host;     /* comm, host: interned */
    uint32_t kind;
    uint32_t for_rank, for_host;  /* for whom it waited, and where that is: */
    uint64_t wait_ns;
    enum sonde_message_wait wait;
    bool nccl;
};
typedef SONDE_VECTOR(struct sonde__matched) sonde__matched_list;

struct sonde__matching {          /* ready when zeroed but for m, profile, comms, clocks and what is called */
    const struct sonde_measurement *m;
    const struct sonde_profile *profile;
    struct sonde_intern *comms;
    struct sonde__clocks *clocks; /* aligned by what is matched here, and by NCCL's collectives */
    /* Called for what belongs together, on one host or on several whose clocks agree; waits are known then. A message; `look`: the call that looked for it before it was received, or NULL. */
    int (*pair)(void *user, struct sonde__matched *sent, struct sonde__matched *received, struct sonde__matched *look);
    /* What several ranks did together; `root`: one of them, or NULL. */
    int (*together)(void *user, struct sonde__matched *const *calls, size_t count, const struct sonde__matched *root);
    void *user;                   /* either may be NULL */
    sonde__matched_list all;
    uint64_t messages, apart, alone, lost, mixed; /* as in struct sonde_messages */
    uint32_t hosts;               /* of ranks */
    bool aligns;                  /* only the clocks are wanted, now */
    struct sonde_map by_rank;     /* of what only aligns: rank + 1 -> its host; 0: it has several */
    struct sonde_map looks;       /* process and entry of calls that looked for a message -> index + 1 */
    uint32_t process, rank, host; /* whose rows are read */
};

/* Read all rows into `all`; then match them. 0, SONDE_ENOMEM, or what was called returned (non-zero stops). */
int sonde__matching_read(struct sonde__matching *k);
int sonde__matching_match(struct sonde__matching *k);
/* Only align the clocks, of several hosts: instead of matching. `profile` may be NULL. 0, SONDE_ENOMEM, or an error of reading. */
int sonde__matching_align(struct sonde__matching *k);
void sonde__matching_fini(struct sonde__matching *k);

static inline bool sonde__matched_is_sent(const struct sonde__matched *one)
{
    return one->kind == SONDE_MESSAGE_SEND;
}
static inline bool sonde__matched_is_collective(const struct sonde__matched *one)
{
    return one->kind > SONDE_MESSAGE_RECEIVE;
}

#endif
