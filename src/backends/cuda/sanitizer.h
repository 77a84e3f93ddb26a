/* sanitizer.h - the Compute Sanitizer engine: what kernels access, of which there is machine code only (--values-engine=sanitizer, --comm-engine=sanitizer).
 *
 * NVIDIA allows one of CUPTI and the Sanitizer API in a process. With this engine the Sanitizer's library stands in CUPTI's place:
 * sanitizer.c gives the other files of this folder what they ask CUPTI for (calls, contexts, streams, loaded code), and reports
 * operations as their calls make them. There are no device times. patches.c has functions of Sonde's called before each access to
 * global memory (instrument/patch.h).
 *
 * Compiled to nothing but a sentence where the Sanitizer's headers were missing.
 */
#ifndef SONDE_CUDA_SANITIZER_H
#define SONDE_CUDA_SANITIZER_H

#include "sonde_cuda.h"

/* The Sanitizer's library is attached to; set before the first callback, and for good. */
extern bool sonde__sanitizer_on;

/* Opens the library and subscribes. NULL, or why not (static or in `room`). */
const char *sonde__sanitizer_attach(char *room, size_t size);
/* Then: NULL, or why no kernels will be looked at. */
const char *sonde__sanitizer_values(char *room, size_t size);
/* Within collect: what was reported. */
void sonde__sanitizer_collect(void);
/* Did the call with this key, which is ending in this thread, make work? If it was captured it did not. */
bool sonde__sanitizer_reported(uint64_t key);

#ifdef SONDE_SANITIZER
#include <sanitizer_callbacks.h>
#include <sanitizer_patching.h>

/* Everything that is called in it; none of it is linked. */
#define SONDE_SANITIZER_MAP(X)        \
    X(sanitizerAddPatchesFromFile)    \
    X(sanitizerEnableCallback)        \
    X(sanitizerEnableDomain)          \
    X(sanitizerGetFunctionPcAndSize)  \
    X(sanitizerGetResultString)       \
    X(sanitizerPatchInstructions)     \
    X(sanitizerPatchModule)           \
    X(sanitizerSetLaunchCallbackData) \
    X(sanitizerSubscribe)             \
    X(sanitizerUnpatchModule)

struct sonde_sanitizer {
#define X(name) __typeof__(&name) name;
    SONDE_SANITIZER_MAP(X)
#undef X
};
extern struct sonde_sanitizer sonde__sanitizer;
/* What is known of the calling thread, behind a pointer: of static thread-local memory there is little. Made at its first callback. */
#define SONDE_SANITIZER_CALLS 4u
struct sonde_sanitizer_thread {
    uint32_t depth;
    uint32_t id[SONDE_SANITIZER_CALLS]; /* of the calls under way: a correlation id of ours */
    uint32_t reported;                  /* the last of which work was reported; 0 none */
    bool own_default;                   /* of the last that began: stream 0 is each thread's own */
    uint64_t fill_bytes;                /* of it, when it is a set of one stretch */
    bool patching;                      /* modules that are loaded now are the Sanitizer's */
    /* Of a launch that may be looked at (patches.c). */
    bool under_way, begun;
    uint8_t why;                        /* enum sonde_value_missed */
    uint8_t group;                      /* of the launches that are looked at */
    uint32_t nested;                    /* calls within it */
    uint32_t operation;
    struct sonde_patched_kernel *kernel;
    struct sonde_patched_context *context;
    CUdeviceptr data;                   /* what its patches are given */
    /* Of a graph that is launched (patches_graphs.c). */
    const struct sonde_call *graph_call; /* NULL: none is, or it is not recorded */
    bool graph_ready, graph_begun, graph_sampled;
    uint8_t graph_group;
};
extern __thread struct sonde_sanitizer_thread *sonde__sanitizer_here;
/* In words. */
const char *sonde__sanitizer_text(SanitizerResult result);
/* Did the call of that name succeed? If not, a note says why. */
bool sonde__sanitizer_did(const char *call, SanitizerResult result);
#define SONDE_SANITIZER_DID(call, ...) sonde__sanitizer_did(#call, sonde__sanitizer.call(__VA_ARGS__))

/* ---- patches (patches.c) ------------------------------------------------------------------------- */

/* What they look at. */
#define SONDE_PATCHES_FUNCTIONS 5u
struct sonde_patch_range;
struct sonde_patch_launch;
struct sonde_patches_for {
    const char *option; /* in notes */
    struct sonde_patches_function {
        Sanitizer_InstructionId instruction;
        const char *name;      /* of the function before each (instrument/patch.h); NULL: no more */
        const char *otherwise; /* what is not looked at where there is no such instruction; NULL: nothing is, then */
    } functions[SONDE_PATCHES_FUNCTIONS];
    size_t table_bytes;
    /* How many of the ranges are left, of all memory in order; NULL: all are. Sets what else its launches are given. */
    uint32_t (*choose)(struct sonde_patch_launch *launch, struct sonde_cuda_place *place, struct sonde_patch_range *ranges, uint32_t count);
    uint32_t (*group)(uint32_t operation); /* NULL: launches are in none */
    void (*missed)(uint32_t operation, enum sonde_value_missed why, enum sonde_engine engine, uint32_t group);
    /* Makes rows of a context's table; `state`: NULL at first, its own. False: not of all yet. */
    bool (*read)(struct sonde_cuda_place *place, void **state, void *table, bool last);
};
extern const struct sonde_patches_for sonde__patches_values, sonde__patches_remote;
/* Whose an access of a table is: its operation, the group of its launches and the number of the instruction at `pc` in the kernel, and in a function that this calls something
 * with SONDE_PATCHES_ELSEWHERE. `operation` and `group` as the table has them; afterwards operation 0: it does not count (--kernel). False: a launch has not returned yet, so that it
 * is not known where its code is. */
#define SONDE_PATCHES_ELSEWHERE 0x80000000u
struct sonde_patches_whose {
    uint32_t operation, group, number;
};
bool sonde__patches_whose(const struct sonde_cuda_place *place, uint64_t pc, struct sonde_patches_whose *whose);

const char *sonde__patches_begin(char *room, size_t size);
void sonde__patches_module_loaded(const Sanitizer_ResourceModuleData *module);
void sonde__patches_module_unloading(const Sanitizer_ResourceModuleData *module);
/* Around a call that launches a kernel, and within it. `own_default` as in sonde__cuda_lane_of. */
void sonde__patches_before(uint32_t id, const CUpti_CallbackData *cd, bool own_default, const struct sonde_call *call);
void sonde__patches_launch(const Sanitizer_LaunchData *launch);
void sonde__patches_after(bool made);
/* Around a call that launches a graph, and within it, or where a graph is brought to the device, for each of its kernels. */
void sonde__patches_before_graph(const CUpti_CallbackData *cd, const struct sonde_call *call);
void sonde__patches_node(const Sanitizer_LaunchData *launch, bool launches);
void sonde__patches_after_graph(void);
/* What was found: flush.c's thread, and before a call that ends a context. */
void sonde__patches_read(bool last);
#else
static inline void sonde__patches_read(bool last)
{
    (void)last;
}
#endif

#endif
