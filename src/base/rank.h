/* rank.h - which rank of a parallel job this process is, from what launchers put into the environment.
 *
 * MPI, PMIx, Slurm and torchrun each have variables of their own. Where several
 * are set the innermost launcher counts: a torchrun that Slurm starts once per
 * node makes the processes that have ranks.
 */
#ifndef SONDE_BASE_RANK_H
#define SONDE_BASE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each field plus one; 0 where the launcher does not say. */
struct sonde_rank {
    uint32_t rank, local_rank;
    uint32_t size; /* number of ranks, as it is */
};

/* All zero when no launcher has set a rank. Reads the environment: the program's own thread. */
struct sonde_rank sonde_rank_read(void);

/* What the launcher that set the rank calls its job, or step. Processes of one rank have one name; two jobs may share one, where a launcher names
 * the allocation alone. False: there is no rank, or its launcher has no name for that (MPICH's). As above. */
bool sonde_rank_job(char *out, size_t size);

#endif
