/* device.h - a made-up CUDA device and its CUPTI, for programs that are killed: what the program asks of it.
 *
 * Kernels take the time that the program names, one after the other. CUPTI keeps
 * their records as the real one does: in the buffers that Sonde gives it, each
 * until it is full and all in it and before it has ended, or until it is asked for.
 */
#ifndef SONDE_TESTS_KILL_DEVICE_H
#define SONDE_TESTS_KILL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)
/* As cuInit: loads what CUDA_INJECTION64_PATH names. */
void device_open(void);
/* cuLaunchKernel. From one thread. */
void device_launch(uint64_t length_ns);
/* The same on a stream of its own: what is launched later does not wait for it. */
void device_launch_beside(uint64_t length_ns);
/* Have the records of all kernels been handed over? */
bool device_told(void);
/* Launches from now on take so long, and keep CUPTI's lock meanwhile. */
void device_hold(uint64_t ns);
/* cuStreamSynchronize, of which Sonde is told. */
void device_wait(void);
/* How many kernels have ended by now, up to the first that has not. */
uint64_t device_ended(void);
uint64_t device_now_ns(void);
#pragma GCC visibility pop

#endif
