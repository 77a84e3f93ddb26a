/* cupti.h - NVIDIA's CUPTI and driver, opened by a command of ours at run time; nothing is linked. Programs that are measured have theirs
 * (src/backends/cuda/cupti.c).
 *
 * Threads: one at a time.
 */
#ifndef SONDE_MONITOR_CUPTI_H
#define SONDE_MONITOR_CUPTI_H

/* What SONDE_CUPTI names, else a libcupti.so that the loader or a toolkit has. NULL: there is none. Stays open. */
void *sonde_cupti_open(void);
/* What to say then. */
#define SONDE_CUPTI_MISSING "no libcupti.so found; install CUDA's CUPTI (pip install nvidia-cuda-cupti), or set SONDE_CUPTI to its path"

/* The driver's library, begun (cuInit). NULL: there is none, or no device. Stays open. */
void *sonde_cuda_driver_open(void);

#endif
