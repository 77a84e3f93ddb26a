/* played.h - a CUPTI and a driver that a test plays: callbacks and records as CUPTI makes them, whose meaning is known.
 *
 * The answers to what the backend asks stand in `played`, or follow from the
 * handles: context n is device n - 1, a stream's number is its handle, memory
 * below 0x6000000 is on a device, below 0x7000000 pinned, and else the program's.
 */
#ifndef SONDE_TEST_CUDA_PLAYED_H
#define SONDE_TEST_CUDA_PLAYED_H

#include "agent.h"
#include "backends/cuda/sonde_cuda.h"

extern struct played {
    uint64_t offset_ns;      /* of CUPTI's clock to the agent's, */
    double rate;             /* and how much faster it goes */
    _Alignas(8) uint8_t records[16384]; /* that the next buffer holds */
    size_t used, sizes[64], count;
    int current;             /* device of the calling thread; -1: it has none */
    uint32_t own_stream;     /* number of the calling thread's own default stream */
    uint32_t later_streams;  /* what the numbers of streams are greater by */
    _Atomic uint32_t flushed, forced;
    uint32_t runtime_followed; /* callbacks of the runtime's calls were asked for */
    struct {
        uintptr_t node;
        uint64_t id;
    } numbered[16]; /* nodes whose number is not their handle, */
    uint32_t asked;          /* and how often one was asked for */
    CUstream captured[4];    /* as the driver knows them, */
    uint32_t questions;      /* and how often it was asked */
} played;

/* Before each test. */
int play(void **state);
#define TEST(name) cmocka_unit_test_setup(name, play)

/* Streams and contexts as Sonde's own kernels use them: one stream, whose work is over at once. */
void play_streams(struct sonde_cuda_twins *t);

/* ---- a program's calls ---- */

#define CONTEXT ((CUcontext)(uintptr_t)1)

void at(CUpti_ApiCallbackSite site, CUpti_CallbackDomain domain, uint32_t id, const void *params, uint32_t correlation,
        CUresult result);
void driver_call(uint32_t id, const void *params, uint32_t correlation, CUresult result);
#define CALL(name, correlation, result, ...)                                            \
    do {                                                                                \
        name##_params params_ = {__VA_ARGS__};                                          \
        driver_call(CUPTI_DRIVER_TRACE_CBID_##name, &params_, correlation, result);     \
    } while (0)
void launch(uint32_t correlation);
void resource(CUpti_CallbackId id, CUstream stream);

/* ---- records of finished work ---- */

/* Room for one, zeroed. */
void *record_add(size_t bytes);
/* A kernel that has just run. `bytes`: as large as this version of CUPTI makes it. */
CUpti_ActivityKernel10 *kernel_record(const char *name, uint32_t correlation, size_t bytes);
/* CUPTI hands over what was added, and the agent collects it. */
void deliver(void);

#endif
