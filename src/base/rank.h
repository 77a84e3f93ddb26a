/* rank.h - which rank of a parallel job this process is, from what launchers put into the environment.
 *
 * MPI, PMIx, Slurm and torchrun each have variables of their own. Where several
 * are set the innermost launcher counts: a torchrun that Slurm starts once per
 * node makes the processes that have ranks.
 */
#ifndef SONDE_BASE_RANK_H
#define SONDE_BASE_RANK_H

#include <stdint.h>

/* Each field plus one; 0 where the launcher does not say. */
struct sonde_rank {
    uint32_t rank, local_rank;
    uint32_t size; /* number of ranks, as it is */
};

/* All zero when no launcher has set a rank. Reads the environment: the program's own thread. */
struct sonde_rank sonde_rank_read(void);

#endif
