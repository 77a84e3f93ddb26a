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

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum share {
    ALL_REDUCE, /* 2 (P - 1) / P of the bytes */
    OTHERS,     /* P - 1 of them: what each rank contributes, or gets */
    FROM_ROOT,  /* all ranks but the last of the chain send them all */
    TO_ROOT,
};

static bool is_called(const char *name, const char *function)
{
    const size_t length = strlen(function);
    return strncmp(name, function, length) == 0 && (name[length] == ' ' || !name[length]);
}

static bool share_of(const char *name, enum share *out)
{
    static const struct {
        const char *function;
        enum share share;
    } all[] = {{"AllReduce", ALL_REDUCE}, {"AllGather", OTHERS}, {"ReduceScatter", OTHERS}, {"Broadcast", FROM_ROOT}, {"Reduce", TO_ROOT}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_called(name, all[i].function)) {
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
    if (is_called(name, "Send") || is_called(name, "Recv"))
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

/* "NCCL default_pg 0x5f3a rank 0 of 2": up to the rank all of a communicator's lanes are called alike. */
static size_t rank_in(const char *lane, uint32_t *rank)
{
    const char *at = NULL;
    for (const char *next = lane; (next = strstr(next, " rank ")); next++)
        at = next;
    return at && sscanf(at, " rank %u", rank) == 1 ? (size_t)(at - lane) : 0;
}

static const char *lane_name(const struct sonde_process *p, uint32_t lane)
{
    const char *name = lane < p->lane_count ? sonde_process_string(p, p->lanes[lane].name) : "";
    return strncmp(name, "NCCL ", 5) == 0 ? name : NULL;
}

struct sonde_comm_end sonde__comm_rank(const struct sonde_measurement *m, uint32_t process, uint32_t lane, uint32_t rank)
{
    uint32_t found;
    const char *name = lane_name(&m->processes[process], lane);
    const size_t length = name ? rank_in(name, &found) : 0;
    for (uint32_t i = 0; i < m->process_count && length; i++)
        for (uint32_t k = 1; k < m->processes[i].lane_count; k++) {
            const char *other = lane_name(&m->processes[i], k);
            const uint32_t device = m->processes[i].lanes[k].device;
            if (other && rank_in(other, &found) == length && found == rank && strncmp(name, other, length) == 0 && device)
                return (struct sonde_comm_end){.where = SONDE_COMM_DEVICE, .device = device, .other = i == process ? 0 : i + 1};
        }
    return (struct sonde_comm_end){0};
}
