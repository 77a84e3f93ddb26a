/* pcsampling.h - what a test sets of CUPTI's PC sampling that is made up, and what came of it. Reasons, their numbers and how samples are told are those of an
 * H100 (tests/gpu/runs/2026-11-28-h100-stalls.txt is of the real one). */
#ifndef SONDE_TEST_CUDA_PCSAMPLING_H
#define SONDE_TEST_CUDA_PCSAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MADE_WAIT = 36,
       MADE_WAIT_IDLE = 37,
       MADE_SELECTED = 28 };

struct made_pcsampling {
    _Atomic size_t waiting;   /* instructions that are there to be read, each with 5 samples that wait, 2 of these idle, and 3 that went on */
    _Atomic size_t at_end;    /* and that come when it is disabled */
    _Atomic uint64_t elsewhere, dropped, secret; /* samples that come with the next reading; secret: that no instruction has */
    _Atomic int reads_as;     /* what the next readings answer; 0: success */
    _Atomic int disables_as, enables_as;
    _Atomic unsigned slow_ms; /* each reading takes so long */
    _Atomic size_t enabled, disabled, readings;
    uint32_t shift, mode;
    uint64_t given;           /* numbers of instructions so far */
};

#endif
