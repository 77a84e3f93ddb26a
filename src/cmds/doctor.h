/* doctor.h - the two halves of `sonde doctor`: the probe, run in processes of its own, and the checks. */
#ifndef SONDE_CMDS_DOCTOR_H
#define SONDE_CMDS_DOCTOR_H

#include <jansson.h>

/* In the probing process: look at OpenCL and the CUDA driver; with `work` also
 * enqueue a few operations on every device. Prints one JSON object to standard
 * output. Returns the exit status. */
int doctor_probe(int work);

/* Run the probe in a process of its own, with `environment` (NULL: ours), for
 * at most `seconds`. Its answer; NULL with the reason in `why`. */
json_t *doctor_run_probe(int work, char **environment, unsigned seconds, char *why, size_t why_size);

#endif
