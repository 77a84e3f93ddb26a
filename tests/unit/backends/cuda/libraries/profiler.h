/* profiler.h - what a test sets of the range profiler and of the PM sampling that are made up, and what came of it. */
#ifndef SONDE_TEST_CUDA_PROFILER_H
#define SONDE_TEST_CUDA_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct made_profiler {
    size_t passes;          /* that the metrics need */
    int refuses;            /* Enable answers so; 0: it does not */
    size_t lost;            /* ranges that get lost */
    bool running;
    size_t starts, configs, ranges, replay, most; /* most: ranges between a start and a stop */
    double value[4096];     /* of each range, between a start and a stop */
    /* sampling: the sample of the n-th metric has the value plus n. `samples` of them are there to be read. */
    _Atomic size_t samples, taken;
    struct made_sample {
        uint64_t from, to;
        double value;
    } sample[4096];
    _Atomic bool overflows; /* the device's buffer, at the next reading */
    _Atomic int enabled, disabled;
    uint64_t interval, trigger;
};

/* A kernel that runs: a range, if the profiler does. */
void made_profiler_runs(double value);

#endif
