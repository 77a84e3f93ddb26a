/* nccl.h - what the lanes and the operations of NCCL's collectives are called (docs/nccl.md). Any thread. */
#ifndef SONDE_ANALYZE_MODEL_NCCL_H
#define SONDE_ANALYZE_MODEL_NCCL_H

#include "format/reader.h"

/* A rank of a communicator: "NCCL default_pg 0x5f3a rank 0 of 2". Up to the rank all of a communicator's lanes are called alike. */
struct sonde_nccl_rank {
    const char *name; /* the measurement's */
    size_t length;    /* of the communicator's part */
    uint32_t rank, size;
};
/* False: the lane is none. */
bool sonde_nccl_rank(const struct sonde_process *p, uint32_t lane, struct sonde_nccl_rank *out);
/* Are they of one communicator? */
bool sonde_nccl_same(const struct sonde_nccl_rank *a, const struct sonde_nccl_rank *b);

/* Is the operation "AllReduce float32" of the function "AllReduce"? */
bool sonde_nccl_is(const char *operation, const char *function);

#endif
