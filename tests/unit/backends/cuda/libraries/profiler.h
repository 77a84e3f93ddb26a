/* profiler.h - what a test sets of the range profiler that is made up, and what came of it. */
#ifndef SONDE_TEST_CUDA_PROFILER_H
#define SONDE_TEST_CUDA_PROFILER_H

#include <stdbool.h>
#include <stddef.h>

struct made_profiler {
    size_t passes;          /* that the metrics need */
    int refuses;            /* Enable answers so; 0: it does not */
    size_t lost;            /* ranges that get lost */
    bool running;
    size_t starts, configs, ranges, replay, most; /* most: ranges between a start and a stop */
    double value[4096];     /* of each range, between a start and a stop */
};

/* A kernel that runs: a range, if the profiler does. */
void made_profiler_runs(double value);

#endif
