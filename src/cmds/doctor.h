/* doctor.h - the two halves of `sonde doctor`: the probe, run in processes of its own, and the checks. */
#ifndef SONDE_CMDS_DOCTOR_H
#define SONDE_CMDS_DOCTOR_H

#include <stdbool.h>

#include <jansson.h>

/* What a probe does: only look at OpenCL and CUDA, or enqueue a few operations
 * on every device of one of them. */
enum doctor_work { DOCTOR_LOOK, DOCTOR_WORK_OPENCL, DOCTOR_WORK_CUDA };

/* In the probing process. Prints one JSON object to standard output. Returns the exit status. */
int doctor_probe(enum doctor_work work);
void doctor_probe_cuda(json_t *answer, bool work);

/* Run the probe in a process of its own, with `environment` (NULL: ours), for
 * at most `seconds`. Its answer; NULL with the reason in `why`. */
json_t *doctor_run_probe(enum doctor_work work, char **environment, unsigned seconds, char *why, size_t why_size);

#endif
