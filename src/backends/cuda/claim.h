/* claim.h - a device that one process at a time may sample (stalls.c).
 *
 * CUPTI does not refuse a second one: reading then fails in it, its records of kernels with it, and its calls may, too. So each device has a file
 * of a line in /dev/shm, with the process that has it. Nothing is kept open, and a process that is killed has it no more.
 *
 * Threads: any, by system calls.
 */
#ifndef SONDE_CUDA_CLAIM_H
#define SONDE_CUDA_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

/* Where devices are; a test's own. */
extern const char *sonde__claim_folder;

/* The device at this PCI address is this process's. False: `by` says whose. True as well where that cannot be known (no /dev/shm,
 * a process of another PID namespace). Takes a tenth of a second at the most. */
bool sonde__claim(uint32_t domain, uint32_t bus, uint32_t device, int *by);
/* It is no more. */
void sonde__claim_release(uint32_t domain, uint32_t bus, uint32_t device);

#endif
