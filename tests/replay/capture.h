/* capture.h - the file of what CUPTI told on a GPU machine, and how its parts are laid out.
 *
 * Written by capture.c (a CUPTI that passes everything on and notes it), or made
 * by synthetic.c; played by replay.c (a CUPTI that has no driver). After the
 * magic number come entries in the order in which things happened, each a
 * struct entry and its bytes. All is in the machine's own byte order and in the
 * layout of the headers that both sides were compiled with.
 */
#ifndef SONDE_TESTS_REPLAY_CAPTURE_H
#define SONDE_TESTS_REPLAY_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cupti.h>

#include "backends/cuda/calls.h"

#define CAPTURE_MAGIC 0x3150414344534f53ull

enum entry_kind {
    ENTRY_VERSION = 1, /* u32: CUPTI's version */
    ENTRY_NAME,        /* struct name_entry, text: a callback's name */
    ENTRY_DEVICE,      /* struct device_entry */
    ENTRY_ANSWER,      /* struct answer_entry: what CUPTI said when asked */
    ENTRY_CLOCK,       /* u64: its clock, read at the entry's time */
    ENTRY_CALL,        /* struct call_entry, parameters, what they point to */
    ENTRY_RESOURCE,    /* struct resource_entry, its descriptor */
    ENTRY_STRING,      /* u64 address, text: names that records point to */
    ENTRY_BUFFER,      /* struct buffer_entry, u32 size of each record, records */
};

struct entry {
    uint32_t kind, bytes; /* bytes follow, without padding */
    uint32_t thread;      /* thread id */
    uint32_t reserved;
    uint64_t host_ns;     /* CLOCK_MONOTONIC_RAW */
};
struct name_entry { uint32_t domain, id; };
#define CAPTURE_ATTRIBUTES 160
struct device_entry {
    uint64_t memory_bytes;
    uint32_t driver_version, reserved;
    char name[128];
    int32_t attribute[CAPTURE_ATTRIBUTES];
};
enum answer_to {
    ANSWER_CONTEXT_ID = 1,
    ANSWER_DEVICE_ID,
    ANSWER_STREAM_ID,
    ANSWER_NODE_ID,
};
struct answer_entry {
    uint32_t to, status;
    uint64_t of, of_too, value;
};
struct call_entry {
    uint32_t domain, id, site, correlation, context_uid;
    int32_t result;      /* CUresult, at exit */
    uint64_t context;
    uint32_t params_bytes, has_result;
};
struct resource_entry {
    uint32_t id, bytes;
    uint64_t context, stream;
};
struct buffer_entry {
    uint64_t context;
    uint32_t stream, records;
    uint64_t bytes;
};

/* The headers have no such types: calls without parameters, and one like another. */
typedef uint64_t cuCtxSynchronize_params, cuProfilerStart_params, cuProfilerStop_params;
typedef cuMemHostAlloc_params cuMemHostAlloc_v2_params;

/* Size of the parameters of a driver call, 0 for those that are not followed. */
static inline size_t capture_params_bytes(uint32_t id)
{
    if (id == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize || id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart ||
        id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop)
        return 0;
    switch (id) {
#define X(name, what) case CUPTI_DRIVER_TRACE_CBID_##name: return sizeof(name##_params);
#define N(name, what, field) X(name, what)
#define C(name, what) X(name, what)
        SONDE_CUDA_CALL_MAP(X, N, C)
#undef X
#undef N
#undef C
    default: return 0;
    }
}

/* What parameters point to, as far as the backend looks: pointer in the parameters, bytes behind it. */
struct pointed {
    uint32_t id;
    uint32_t offset, bytes;
};
#define POINTED(call, field, type) {CUPTI_DRIVER_TRACE_CBID_##call, offsetof(call##_params, field), sizeof(type)}
static const struct pointed capture_pointed[] = {
    POINTED(cuMemAlloc_v2, dptr, CUdeviceptr),
    POINTED(cuMemAllocPitch_v2, dptr, CUdeviceptr),
    POINTED(cuMemAllocPitch_v2, pPitch, size_t),
    POINTED(cuMemAllocManaged, dptr, CUdeviceptr),
    POINTED(cuMemAllocHost_v2, pp, void *),
    POINTED(cuMemHostAlloc, pp, void *),
    POINTED(cuMemHostAlloc_v2, pp, void *),
    POINTED(cuMemAllocAsync, dptr, CUdeviceptr),
    POINTED(cuMemAllocAsync_ptsz, dptr, CUdeviceptr),
    POINTED(cuMemAllocFromPoolAsync, dptr, CUdeviceptr),
    POINTED(cuMemAllocFromPoolAsync_ptsz, dptr, CUdeviceptr),
    POINTED(cuArrayCreate_v2, pHandle, CUarray),
    POINTED(cuArrayCreate_v2, pAllocateArray, CUDA_ARRAY_DESCRIPTOR),
    POINTED(cuArray3DCreate_v2, pHandle, CUarray),
    POINTED(cuArray3DCreate_v2, pAllocateArray, CUDA_ARRAY3D_DESCRIPTOR),
    POINTED(cuMipmappedArrayCreate, pHandle, CUmipmappedArray),
    POINTED(cuMipmappedArrayCreate, pMipmappedArrayDesc, CUDA_ARRAY3D_DESCRIPTOR),
    POINTED(cuMemcpy2D_v2, pCopy, CUDA_MEMCPY2D),
    POINTED(cuMemcpy2D_v2_ptds, pCopy, CUDA_MEMCPY2D),
    POINTED(cuMemcpy2DUnaligned_v2, pCopy, CUDA_MEMCPY2D),
    POINTED(cuMemcpy2DUnaligned_v2_ptds, pCopy, CUDA_MEMCPY2D),
    POINTED(cuMemcpy2DAsync_v2, pCopy, CUDA_MEMCPY2D),
    POINTED(cuMemcpy2DAsync_v2_ptsz, pCopy, CUDA_MEMCPY2D),
    POINTED(cuMemcpy3D_v2, pCopy, CUDA_MEMCPY3D),
    POINTED(cuMemcpy3D_v2_ptds, pCopy, CUDA_MEMCPY3D),
    POINTED(cuMemcpy3DAsync_v2, pCopy, CUDA_MEMCPY3D),
    POINTED(cuMemcpy3DAsync_v2_ptsz, pCopy, CUDA_MEMCPY3D),
};
#define CAPTURE_POINTED (sizeof capture_pointed / sizeof *capture_pointed)

/* Where in a record the address of a text is; -1: nowhere. */
static inline int capture_text_at(uint32_t record_kind)
{
    return record_kind == CUPTI_ACTIVITY_KIND_KERNEL || record_kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
               ? (int)offsetof(CUpti_ActivityKernel9, name)
               : -1;
}

#endif
