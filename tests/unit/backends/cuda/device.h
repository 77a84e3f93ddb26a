/* device.h - a made-up driver for kernels that are looked at: its device's memory is the test's, and the test is the device. Between the two callbacks of
 * a launch it does what the kernel, or its copy, would do.
 */
#ifndef SONDE_TEST_CUDA_DEVICE_H
#define SONDE_TEST_CUDA_DEVICE_H

#include "played.h"

#define DEVICE_ROOM   100000
#define DEVICE_KERNEL ((CUfunction)(uintptr_t)77)

extern struct device {
    bool full, broken;    /* there is no memory for areas; what is copied to it gets lost */
    unsigned room;        /* bytes for areas, when the first kernel is launched: DEVICE_ROOM */
    unsigned allocations; /* that were asked for */
    bool mixed;           /* its kernel guesses, and stores several values */
    const char *name;     /* of its kernel */
    unsigned parameters;  /* of 8 bytes each, that it has */
} device;

unsigned char *bytes_at(uint64_t address);
/* The driver has one module of one kernel, which is loaded at the first call. Behind play(). */
void device_on(const char *name, const char *ptx, unsigned parameters);
/* The program launches it. `run` is the device: with what the copy has behind the kernel's parameters; NULL: it is the program's own. Was it the copy? */
bool device_launches(void **parameters, unsigned threads, void (*run)(void *const *more));
/* How often it was said. */
uint32_t device_missed(enum sonde_value_missed why);

#endif
