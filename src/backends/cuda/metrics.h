/* metrics.h - which counters of the hardware are wanted, and what CUPTI's host side makes of their names: for counters.c, by launch, and
 * series.c, over time. At most one of the two is on.
 *
 * Threads: what changes a struct is under its owner's lock, or on its owner's thread.
 */
#ifndef SONDE_CUDA_METRICS_H
#define SONDE_CUDA_METRICS_H

#include "sonde_cuda.h"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#define SONDE_METRICS_MAX 32u

struct sonde_cuda_metrics { /* ready when zeroed */
    char list[2048];        /* the names, each with its end */
    const char *names[SONDE_METRICS_MAX], *units[SONDE_METRICS_MAX]; /* unit "": none, or not known */
    size_t count;
    CUpti_Profiler_Host_Object *host;
    uint8_t *config;
    size_t config_bytes, passes;
};

/* Find CUPTI's functions. NULL, or why not (static or in `room`). */
const char *sonde__metrics_begin(char *room, size_t size);
/* A function of the CUPTI that is in use; NULL, with `room` saying so: it has none. */
void *sonde__metrics_function(const char *name, char *room, size_t size);
/* CUPTI's profiler is there; the first function of CUPTI's that is called for a device. False: a note says why not. */
bool sonde__metrics_initialize(void);
/* Sets by their names, metrics by theirs, with commas between. False: none, or more than SONDE_METRICS_MAX. */
bool sonde__metrics_expand(struct sonde_cuda_metrics *m, const char *list);
/* Those that a device has, as `type` of profiler; `availability`: an image of CUPTI's, or NULL: what its kind of device has. With `all` one that
 * it lacks is an error, else it is left out; either is noted. False: nothing can be measured, and a note says why. */
bool sonde__metrics_choose(struct sonde_cuda_metrics *m, uint32_t ordinal, CUpti_ProfilerType type, const uint8_t *availability, bool all);
/* Of one range, or sample, of a counter data image. */
bool sonde__metrics_values(const struct sonde_cuda_metrics *m, const uint8_t *image, size_t bytes, size_t index, double *values);
/* True: it is success. Else a note says what could not be done, and why. */
bool sonde__metrics_worked(CUptiResult result, const char *what);

#endif
