/* collective.c - what a rank sends in a collective of NCCL, by the algorithm that NCCL says it chose, and to whom.
 *
 * In a ring of P ranks each element takes P - 1 steps to be added up and P - 1 to be known everywhere; a step is one rank's sending. So of an
 * all-reduce of N bytes each rank sends 2 (P - 1) / P N, of an all-gather, where each contributes n, (P - 1) n, and of a reduce-scatter that gives each
 * n as much (NCCL's own "bus bandwidth": doc/PERFORMANCE.md of nccl-tests has the same factors). Of a tree that is the mean of its ranks; NCCL has two trees,
 * mirrored, so that of two ranks each sends N. In which order the ranks of a ring stand NCCL does not say: of two there is one.
 *
 * Two protocols send flags with the data: LL 4 bytes with each 4, LL128 8 with each 120 (NCCL, src/include/device.h). They are no bytes of the
 * program's, but a link carries them.
 */
#include "comm.h"

#include <string.h>

#include "analyze/model/nccl.h"

enum share {
    ALL_REDUCE, /* 2 (P - 1) / P of the bytes */
    OTHERS,     /* P - 1 of them: what each rank contributes, or gets */
    FROM_ROOT,  /* all ranks but the last of the chain send them all */
    TO_ROOT,
};

static bool share_of(const char *name, enum share *out)
{
    static const struct {
        const char *function;
        enum share share;
    } all[] = {{"AllReduce", ALL_REDUCE}, {"AllGather", OTHERS}, {"ReduceScatter", OTHERS}, {"Broadcast", FROM_ROOT}, {"Reduce", TO_ROOT}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (sonde_nccl_is(name, all[i].function)) {
            *out = all[i].share;
            return true;
        }
    return false;
}

/* Of two ranks, whatever carries it. */
static struct sonde_comm_sent of_two(enum share share, uint64_t bytes, const struct sonde_row_work *how)
{
    const bool root = how->peer == how->rank + 1;
    struct sonde_comm_sent sent = {.to = 2 - how->rank, .known = true, .exact = true, .bytes = bytes};
    if ((share == FROM_ROOT && !root) || (share == TO_ROOT && root))
        sent.bytes = 0;
    sent.known = share < FROM_ROOT || how->peer;
    return sent;
}

static struct sonde_comm_sent of_many(enum share share, uint64_t bytes, const struct sonde_row_work *how, bool ring)
{
    const uint64_t steps = how->ranks - 1;
    const double part = (double)bytes / how->ranks * (double)steps;
    struct sonde_comm_sent sent = {.known = true, .exact = ring && share <= OTHERS};
    sent.bytes = share == OTHERS ? bytes * steps : (uint64_t)(share == ALL_REDUCE ? 2 * part + .5 : part + .5);
    return sent;
}

static uint64_t flags_of(const char *protocol, uint64_t bytes)
{
    return strcmp(protocol, "LL") == 0 ? bytes : (strcmp(protocol, "LL128") == 0 ? bytes / 15 : 0);
}

struct sonde_comm_sent sonde_comm_sent(const char *name, uint64_t bytes, const char *algorithm, const char *protocol, const struct sonde_row_work *how)
{
    enum share share;
    struct sonde_comm_sent sent;
    if (sonde_nccl_is(name, "Send") || sonde_nccl_is(name, "Recv"))
        return (struct sonde_comm_sent){.bytes = bytes, .to = how ? how->peer : 0, .known = true, .exact = true, .receives = *name == 'R'};
    /* CollNet and NVLS add up in the network: who sends what there is not as here. */
    const bool ring = strcmp(algorithm, "RING") == 0 || strcmp(algorithm, "PAT") == 0, tree = strcmp(algorithm, "TREE") == 0;
    if (!how || how->ranks < 2 || !(ring || tree) || !share_of(name, &share))
        return (struct sonde_comm_sent){0};
    sent = how->ranks == 2 ? of_two(share, bytes, how) : of_many(share, bytes, how, ring);
    sent.flags = flags_of(protocol, sent.bytes);
    return sent;
}

/* ---- whose device a rank is ------------------------------------------------------------ */

struct sonde_comm_end sonde__comm_rank(const struct sonde_measurement *m, uint32_t process, uint32_t lane, uint32_t rank)
{
    struct sonde_nccl_rank own, other;
    const bool known = sonde_nccl_rank(&m->processes[process], lane, &own);
    for (uint32_t i = 0; i < m->process_count && known; i++)
        for (uint32_t k = 1; k < m->processes[i].lane_count; k++) {
            const uint32_t device = m->processes[i].lanes[k].device;
            if (sonde_nccl_rank(&m->processes[i], k, &other) && sonde_nccl_same(&own, &other) && other.rank == rank && device)
                return (struct sonde_comm_end){.where = SONDE_COMM_DEVICE, .device = device, .other = i == process ? 0 : i + 1};
        }
    return (struct sonde_comm_end){0};
}
