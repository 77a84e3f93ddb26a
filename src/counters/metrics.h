/* metrics.h - which counters of the hardware are wanted, and what CUPTI's host side makes of their names: for the agent, by launch or over time
 * (src/backends/cuda/counters.c, series.c), and for the monitor, over time (src/monitor/gpu_pm.c).
 *
 * Threads: what changes a struct is under its owner's lock, or on its owner's thread.
 */
#ifndef SONDE_COUNTERS_METRICS_H
#define SONDE_COUNTERS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#define SONDE_METRICS_MAX 32u

/* In which CUPTI its functions are, and how the user is told; as long as the process. */
struct sonde_metrics_cupti {
    void *library;    /* open */
    const char *path; /* for messages */
    void (*note)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

struct sonde_metrics { /* ready when zeroed */
    char list[2048];        /* the names, each with its end */
    const char *names[SONDE_METRICS_MAX], *units[SONDE_METRICS_MAX]; /* unit "": none, or not known */
    size_t count;
    CUpti_Profiler_Host_Object *host;
    uint8_t *config;
    size_t config_bytes, passes;
};

/* Before all else. */
void sonde__metrics_use(const struct sonde_metrics_cupti *in);
/* Find CUPTI's functions. NULL, or why not (in `room`). */
const char *sonde__metrics_begin(char *room, size_t size);
/* Another function of that CUPTI; NULL, with `room` saying so: it has none. */
void *sonde__metrics_function(const char *name, char *room, size_t size);
/* CUPTI's profiler is there; the first function of CUPTI's that is called for a device. False: a note says why not. */
bool sonde__metrics_initialize(void);
/* Sets by their names, metrics by theirs, with commas between. False: none, or more than SONDE_METRICS_MAX. */
bool sonde__metrics_expand(struct sonde_metrics *m, const char *list);
/* Those that a device has, as `type` of profiler; `availability`: an image of CUPTI's, or NULL: what its kind of device has. With `all` one that
 * it lacks is an error, else it is left out; either is noted. False: nothing can be measured, and a note says why. */
bool sonde__metrics_choose(struct sonde_metrics *m, uint32_t ordinal, CUpti_ProfilerType type, const uint8_t *availability, bool all);
/* Let go of CUPTI's objects; zeroed again. */
void sonde__metrics_end(struct sonde_metrics *m);
/* Of one range, or sample, of a counter data image. */
bool sonde__metrics_values(const struct sonde_metrics *m, const uint8_t *image, size_t bytes, size_t index, double *values);
/* What the user is to know, on a line: as sonde_metrics_cupti has it. */
#define sonde__metrics_note(...) sonde__metrics_user()->note(__VA_ARGS__)
const struct sonde_metrics_cupti *sonde__metrics_user(void);
/* True: it is success. Else a note says what could not be done, and why. */
bool sonde__metrics_worked(CUptiResult result, const char *what);

#endif
