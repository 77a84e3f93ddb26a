/* made.h - a CUDA driver and a Compute Sanitizer that are made up: they call back as NVIDIA's do, and kernels are warps of the CPU. */
#ifndef SONDE_TEST_MADE_H
#define SONDE_TEST_MADE_H

#include <cuda.h>
#include <sanitizer_patching.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct made_access { /* of a warp */
    uint64_t pc;
    unsigned mask, bytes, flags; /* SANITIZER_MEMORY_DEVICE_FLAG_* */
    bool async;
    SanitizerPatchResult (*bulk)(void *user, uint64_t pc, uint64_t at, uint32_t shared, uint32_t pieces); /* NULL: it is none */
    unsigned pieces; /* of 16 bytes: the same for all threads, which have one address */
    uint64_t address[32];
    uint64_t value[32][2]; /* that is written */
};
/* Functions of instrument/patch.cu. */
SanitizerPatchResult SondeBulkStore(void *user, uint64_t pc, uint64_t at, uint32_t shared, uint32_t pieces);
SanitizerPatchResult SondeBulkAtomic(void *user, uint64_t pc, uint64_t at, uint32_t shared, uint32_t pieces);
SanitizerPatchResult made_bulk_load(void *user, uint64_t pc, uint64_t at, uint32_t shared, uint32_t pieces);
void made_warp(void *data, unsigned multiprocessor, const struct made_access *access);

struct made_kernel { /* a CUkernel, and its CUfunction */
    const char *name;
    void (*body)(void *data, void **parameters); /* `data` NULL: not patched, or given none */
};
/* The driver's injection, and a context that is current. */
void made_begin(void);
CUmodule made_module(void); /* loads it, unless it is */
/* What the Sanitizer was told. */
extern int made_patched;
extern int made_remote; /* the functions are those that count accesses to other memory */
extern unsigned made_switches;
extern unsigned made_unset; /* nodes that had what was there */
void made_callback(int domain, uint32_t id, const void *data);
void *made_data(void); /* what the launch under way was given */
/* A graph's kernel is about to be launched: unless it is given something it has whatever was there. */
#define MADE_STALE ((uintptr_t)0xbad1)
extern const Sanitizer_LaunchHandle made_node;
void made_node_begins(void);

#ifdef __cplusplus
}
#endif
#endif
