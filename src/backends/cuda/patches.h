/* patches.h - what the files that patch machine code share (patches.c, patches_graphs.c). See sanitizer.h. */
#ifndef SONDE_CUDA_PATCHES_H
#define SONDE_CUDA_PATCHES_H

#include "sanitizer.h"

#ifdef SONDE_SANITIZER

#include "guest/lock.h"

struct sonde_patched_module {
    bool patched;
    bool stays;    /* patched: putting patches in takes longer than they do, or graphs have its kernels */
    bool switched; /* they have been taken out once: a graph may have what was there before, or after */
    uint32_t skips;
};

struct sonde_patched_kernel { /* of a context */
    const char *text;    /* its name, as long as its module is loaded */
    uint32_t name;
    bool asked;          /* where its code is */
    CUmodule module;     /* 0: not known yet */
    uint64_t pc, bytes;  /* of its code on the device; 0: not known */
};

struct sonde_patched_node { /* a kernel of a graph: of one operation */
    struct sonde_patched_node *next;
    struct sonde_patched_graph *graph;
    uint32_t operation;
    bool counts; /* it is asked for, and has patches */
    struct sonde_patched_kernel kernel;
};

struct sonde_patched_graph { /* what one call launches, in one group */
    struct sonde_patched_node *first; /* its kernels, */
    uint32_t fresh;  /* and how many of which it is not known yet where their code is */
    uint32_t called; /* the operation of what several kernels call; 0: there are not several */
    uint8_t group;
    _Atomic bool outdated; /* a module of its kernels was unloaded: another has its place */
};

struct sonde_patched_context {
    struct sonde_lock lock;      /* of what is made for launches */
    struct sonde_cuda_place *place;
    _Atomic uint64_t launches;
    CUdeviceptr table, ranges, chunk;
    size_t chunk_left;
    struct sonde_patch_launch launch; /* what all of them have, but for what follows */
    uint64_t version;            /* of the ranges */
    uint32_t range_count;
    struct sonde_patch_range *room;
    /* Of who reads: one thread at a time (places.c). */
    void *host, *state; /* the table; what becomes of it */
    uint64_t read_launches;
    /* Of patches_graphs.c. */
    struct sonde_lock naming;    /* of what follows; held within the driver, so that nothing waits for the driver under it */
    struct sonde_patched_graph *graphs;
    struct sonde_patched_node *fresh; /* of which it is not known yet where their code is */
    _Atomic uint32_t graph_count, graph_room; /* those that have a call; those that are on the device, */
    CUdeviceptr graph_launches;      /* one behind the other, */
    uint64_t graph_version;          /* with these ranges */
};

extern const struct sonde_patches_for *sonde__patches; /* what for */
extern bool sonde__patches_choosing;                   /* not all launches are looked at */

/* NULL: Sonde does not know it, or has not patched it. */
struct sonde_patched_module *sonde__patched_module(CUmodule module);
/* Of this context, as it was made; NULL: it was not. */
struct sonde_patched_context *sonde__patched_known(const struct sonde_cuda_place *place);
/* The k-th; NULL: there are no more. */
struct sonde_patched_context *sonde__patched_at(uint32_t k);
/* Made, if need be; NULL: no room, or nothing is patched. Outside of the driver, and it locks. */
struct sonde_patched_context *sonde__patched_context(const CUpti_CallbackData *cd);
/* Under the context's lock: what all launches have is on the device, as it is now. */
bool sonde__patched_ready(struct sonde_patched_context *context);
/* The same: the bytes on the device, for good; 0: no memory. */
CUdeviceptr sonde__patched_upload(struct sonde_patched_context *context, const void *data, size_t bytes);
/* A sonde_patch_launch of it. */
struct sonde_patch_launch sonde__patched_launch(const struct sonde_patched_context *context, uint32_t operation, uint32_t group);
/* Outside of the driver, behind a launch: where its code is, by which accesses have the same number in each run. */
void sonde__patched_ask(struct sonde_patched_kernel *kernel);
static inline bool sonde__patched_has(const struct sonde_patched_kernel *kernel, uint64_t pc)
{
    return pc >= kernel->pc && pc - kernel->pc < kernel->bytes;
}
/* Is it, in a table, the number of a graph's launches? Then what that and the program counter stand for: `operation` 0: it does not count; `kernel` NULL: a function that
 * kernels call. False: it is not known yet where all kernels are, and the answer is the best there is. */
bool sonde__patched_is_graph(uint32_t operation);
bool sonde__patched_in_graph(struct sonde_patched_context *context, uint64_t pc, uint32_t *operation, uint32_t *group, const struct sonde_patched_kernel **kernel);
/* What is launched from a module that comes to be in its place is another kernel. */
void sonde__patched_graphs_unload(CUmodule module);

#endif
#endif
