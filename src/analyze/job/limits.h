/* limits.h - from how many bytes on a message waits for its receiver, as the MPI library of each rank said (table SETTING; docs/mpi.md). */
#ifndef SONDE_ANALYZE_JOB_LIMITS_H
#define SONDE_ANALYZE_JOB_LIMITS_H

#include "messages.h"

/* What all ranks said, into out->limits and its texts. 0 or SONDE_ENOMEM. */
int sonde__limits_read(const struct sonde_measurement *m, struct sonde_messages *out);
/* Of the messages of one process; 0: not known. */
uint64_t sonde__limit_of(const struct sonde_process *p, bool network);

#endif
