/* remote.h - accesses of kernels to memory that is not their device's (remote.c), around operations. Threads: the one that enqueues; reading is the monitor's.
 */
#ifndef SONDE_OPENCL_REMOTE_H
#define SONDE_OPENCL_REMOTE_H

#include "opencl.h"

/* Before the runtime is called, only if they are wanted: a launch may run its kernel's copy (enqueue->twin), others say whose memory is from then on. */
void sonde__cl_remote_before(struct sonde_cl_enqueue *enqueue, cl_command_queue queue, const struct sonde_cl_written *written);
/* After it was, and before the call ends. `made`: there is an operation. */
void sonde__cl_remote_after(struct sonde_cl_enqueue *enqueue, bool made);
void sonde__cl_remote_read(bool last);
void sonde__cl_remote_forget(void); /* in a forked child */

#endif
