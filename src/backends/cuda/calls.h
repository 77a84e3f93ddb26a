/* calls.h - the CUDA driver calls that are followed, once, with what each is.
 *
 * Only these are subscribed to: whole domains cost several times as much
 * (docs/performance.md). X(call, what): nothing in its parameters tells whether
 * it does work. N(call, what, field): it does none when `field` is 0. C(call,
 * what): its parameter pCopy describes a rectangle or a box, and it does no work
 * when that is empty. `call` is the name in CUPTI's enumeration.
 */
#ifndef SONDE_CUDA_CALLS_H
#define SONDE_CUDA_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

enum sonde_cuda_what {
    SONDE_CUDA_NOTHING,      /* not followed */
    SONDE_CUDA_CALL,         /* the call alone: creates, destroys, loads */
    SONDE_CUDA_LAUNCH,       /* makes one kernel */
    SONDE_CUDA_LAUNCH_MANY,  /* several kernels, on several devices */
    SONDE_CUDA_COPY,         /* one copy */
    SONDE_CUDA_COPY_MANY,    /* a batch, or what the driver may cut up */
    SONDE_CUDA_SET,
    SONDE_CUDA_GRAPH,        /* all of a graph's nodes */
    SONDE_CUDA_SYNC_STREAM,  /* waits */
    SONDE_CUDA_SYNC_CONTEXT,
    SONDE_CUDA_SYNC_EVENT,
    SONDE_CUDA_RECORD,
    SONDE_CUDA_WAIT,
    SONDE_CUDA_EVENT_GONE,
    SONDE_CUDA_STREAM_MADE,
    SONDE_CUDA_CAPTURE_BEGIN,
    SONDE_CUDA_CAPTURE_END,
    SONDE_CUDA_ALLOC,        /* memory.c knows which */
    SONDE_CUDA_FREE,
    SONDE_CUDA_NODE,         /* puts a node, which may be a kernel, into a graph */
    SONDE_CUDA_EXEC,         /* makes an executable graph, or changes it */
    SONDE_CUDA_EXEC_GONE,
    SONDE_CUDA_LOAD,         /* code, of memory or of a file */
    SONDE_CUDA_UNLOAD,
    SONDE_CUDA_RANGE_ON,     /* cudaProfilerStart */
    SONDE_CUDA_RANGE_OFF,
};

/* Legacy and per-thread default streams are different calls. */
#define SONDE_CUDA_CALL_MAP(X, N, C)                                          \
    X(cuLaunchKernel, LAUNCH)                                                 \
    X(cuLaunchKernel_ptsz, LAUNCH)                                            \
    X(cuLaunchKernelEx, LAUNCH)                                               \
    X(cuLaunchKernelEx_ptsz, LAUNCH)                                          \
    X(cuLaunchCooperativeKernel, LAUNCH)                                      \
    X(cuLaunchCooperativeKernel_ptsz, LAUNCH)                                 \
    X(cuLaunchCooperativeKernelMultiDevice, LAUNCH_MANY)                      \
    X(cuLaunch, LAUNCH)                                                       \
    X(cuLaunchGrid, LAUNCH)                                                   \
    X(cuLaunchGridAsync, LAUNCH)                                              \
    X(cuGraphLaunch, GRAPH)                                                   \
    X(cuGraphLaunch_ptsz, GRAPH)                                              \
    N(cuMemcpy, COPY, ByteCount)                                              \
    N(cuMemcpy_ptds, COPY, ByteCount)                                         \
    N(cuMemcpyAsync, COPY, ByteCount)                                         \
    N(cuMemcpyAsync_ptsz, COPY, ByteCount)                                    \
    N(cuMemcpyPeer, COPY_MANY, ByteCount)                                     \
    N(cuMemcpyPeer_ptds, COPY_MANY, ByteCount)                                \
    N(cuMemcpyPeerAsync, COPY_MANY, ByteCount)                                \
    N(cuMemcpyPeerAsync_ptsz, COPY_MANY, ByteCount)                           \
    N(cuMemcpyHtoD_v2, COPY, ByteCount)                                       \
    N(cuMemcpyHtoD_v2_ptds, COPY, ByteCount)                                  \
    N(cuMemcpyHtoDAsync_v2, COPY, ByteCount)                                  \
    N(cuMemcpyHtoDAsync_v2_ptsz, COPY, ByteCount)                             \
    N(cuMemcpyDtoH_v2, COPY, ByteCount)                                       \
    N(cuMemcpyDtoH_v2_ptds, COPY, ByteCount)                                  \
    N(cuMemcpyDtoHAsync_v2, COPY, ByteCount)                                  \
    N(cuMemcpyDtoHAsync_v2_ptsz, COPY, ByteCount)                             \
    N(cuMemcpyDtoD_v2, COPY, ByteCount)                                       \
    N(cuMemcpyDtoD_v2_ptds, COPY, ByteCount)                                  \
    N(cuMemcpyDtoDAsync_v2, COPY, ByteCount)                                  \
    N(cuMemcpyDtoDAsync_v2_ptsz, COPY, ByteCount)                             \
    N(cuMemcpyDtoA_v2, COPY, ByteCount)                                       \
    N(cuMemcpyDtoA_v2_ptds, COPY, ByteCount)                                  \
    N(cuMemcpyAtoD_v2, COPY, ByteCount)                                       \
    N(cuMemcpyAtoD_v2_ptds, COPY, ByteCount)                                  \
    N(cuMemcpyHtoA_v2, COPY, ByteCount)                                       \
    N(cuMemcpyHtoA_v2_ptds, COPY, ByteCount)                                  \
    N(cuMemcpyHtoAAsync_v2, COPY, ByteCount)                                  \
    N(cuMemcpyHtoAAsync_v2_ptsz, COPY, ByteCount)                             \
    N(cuMemcpyAtoH_v2, COPY, ByteCount)                                       \
    N(cuMemcpyAtoH_v2_ptds, COPY, ByteCount)                                  \
    N(cuMemcpyAtoHAsync_v2, COPY, ByteCount)                                  \
    N(cuMemcpyAtoHAsync_v2_ptsz, COPY, ByteCount)                             \
    N(cuMemcpyAtoA_v2, COPY, ByteCount)                                       \
    N(cuMemcpyAtoA_v2_ptds, COPY, ByteCount)                                  \
    C(cuMemcpy2D_v2, COPY_MANY)                                               \
    C(cuMemcpy2D_v2_ptds, COPY_MANY)                                          \
    C(cuMemcpy2DUnaligned_v2, COPY_MANY)                                      \
    C(cuMemcpy2DUnaligned_v2_ptds, COPY_MANY)                                 \
    C(cuMemcpy2DAsync_v2, COPY_MANY)                                          \
    C(cuMemcpy2DAsync_v2_ptsz, COPY_MANY)                                     \
    X(cuMemcpy3D_v2, COPY_MANY)                                               \
    X(cuMemcpy3D_v2_ptds, COPY_MANY)                                          \
    X(cuMemcpy3DAsync_v2, COPY_MANY)                                          \
    X(cuMemcpy3DAsync_v2_ptsz, COPY_MANY)                                     \
    X(cuMemcpy3DPeer, COPY_MANY)                                              \
    X(cuMemcpy3DPeer_ptds, COPY_MANY)                                         \
    X(cuMemcpy3DPeerAsync, COPY_MANY)                                         \
    X(cuMemcpy3DPeerAsync_ptsz, COPY_MANY)                                    \
    X(cuMemcpyBatchAsync, COPY_MANY)                                          \
    X(cuMemcpyBatchAsync_ptsz, COPY_MANY)                                     \
    X(cuMemcpyBatchAsync_v2, COPY_MANY)                                       \
    X(cuMemcpyBatchAsync_v2_ptsz, COPY_MANY)                                  \
    X(cuMemcpy3DBatchAsync, COPY_MANY)                                        \
    X(cuMemcpy3DBatchAsync_ptsz, COPY_MANY)                                   \
    X(cuMemcpy3DBatchAsync_v2, COPY_MANY)                                     \
    X(cuMemcpy3DBatchAsync_v2_ptsz, COPY_MANY)                                \
    X(cuMemPrefetchAsync, CALL)                                               \
    X(cuMemPrefetchAsync_ptsz, CALL)                                          \
    X(cuMemPrefetchAsync_v2, CALL)                                            \
    X(cuMemPrefetchAsync_v2_ptsz, CALL)                                       \
    N(cuMemsetD8_v2, SET, N)                                                  \
    N(cuMemsetD8_v2_ptds, SET, N)                                             \
    N(cuMemsetD16_v2, SET, N)                                                 \
    N(cuMemsetD16_v2_ptds, SET, N)                                            \
    N(cuMemsetD32_v2, SET, N)                                                 \
    N(cuMemsetD32_v2_ptds, SET, N)                                            \
    N(cuMemsetD2D8_v2, SET, Height)                                           \
    N(cuMemsetD2D8_v2_ptds, SET, Height)                                      \
    N(cuMemsetD2D16_v2, SET, Height)                                          \
    N(cuMemsetD2D16_v2_ptds, SET, Height)                                     \
    N(cuMemsetD2D32_v2, SET, Height)                                          \
    N(cuMemsetD2D32_v2_ptds, SET, Height)                                     \
    N(cuMemsetD8Async, SET, N)                                                \
    N(cuMemsetD8Async_ptsz, SET, N)                                           \
    N(cuMemsetD16Async, SET, N)                                               \
    N(cuMemsetD16Async_ptsz, SET, N)                                          \
    N(cuMemsetD32Async, SET, N)                                               \
    N(cuMemsetD32Async_ptsz, SET, N)                                          \
    N(cuMemsetD2D8Async, SET, Height)                                         \
    N(cuMemsetD2D8Async_ptsz, SET, Height)                                    \
    N(cuMemsetD2D16Async, SET, Height)                                        \
    N(cuMemsetD2D16Async_ptsz, SET, Height)                                   \
    N(cuMemsetD2D32Async, SET, Height)                                        \
    N(cuMemsetD2D32Async_ptsz, SET, Height)                                   \
    X(cuStreamSynchronize, SYNC_STREAM)                                       \
    X(cuStreamSynchronize_ptsz, SYNC_STREAM)                                  \
    X(cuCtxSynchronize, SYNC_CONTEXT)                                         \
    X(cuCtxSynchronize_v2, SYNC_CONTEXT)                                      \
    X(cuEventSynchronize, SYNC_EVENT)                                         \
    X(cuEventRecord, RECORD)                                                  \
    X(cuEventRecord_ptsz, RECORD)                                             \
    X(cuEventRecordWithFlags, RECORD)                                         \
    X(cuEventRecordWithFlags_ptsz, RECORD)                                    \
    X(cuStreamWaitEvent, WAIT)                                                \
    X(cuStreamWaitEvent_ptsz, WAIT)                                           \
    X(cuEventDestroy, EVENT_GONE)                                             \
    X(cuEventDestroy_v2, EVENT_GONE)                                          \
    X(cuEventCreate, CALL)                                                    \
    X(cuStreamCreate, STREAM_MADE)                                            \
    X(cuStreamCreateWithPriority, STREAM_MADE)                                \
    X(cuGreenCtxStreamCreate, STREAM_MADE)                                    \
    X(cuStreamDestroy, CALL)                                                  \
    X(cuStreamDestroy_v2, CALL)                                               \
    X(cuStreamBeginCapture, CAPTURE_BEGIN)                                    \
    X(cuStreamBeginCapture_ptsz, CAPTURE_BEGIN)                               \
    X(cuStreamBeginCapture_v2, CAPTURE_BEGIN)                                 \
    X(cuStreamBeginCapture_v2_ptsz, CAPTURE_BEGIN)                            \
    X(cuStreamBeginCaptureToGraph, CAPTURE_BEGIN)                             \
    X(cuStreamBeginCaptureToGraph_ptsz, CAPTURE_BEGIN)                        \
    X(cuStreamEndCapture, CAPTURE_END)                                        \
    X(cuStreamEndCapture_ptsz, CAPTURE_END)                                   \
    X(cuLaunchHostFunc, CALL)                                                 \
    X(cuLaunchHostFunc_ptsz, CALL)                                            \
    X(cuStreamAddCallback, CALL)                                              \
    X(cuStreamAddCallback_ptsz, CALL)                                         \
    X(cuCtxCreate_v2, CALL)                                                   \
    X(cuCtxCreate_v3, CALL)                                                   \
    X(cuCtxCreate_v4, CALL)                                                   \
    X(cuCtxDestroy_v2, CALL)                                                  \
    X(cuDevicePrimaryCtxRetain, CALL)                                         \
    X(cuDevicePrimaryCtxRelease_v2, CALL)                                     \
    X(cuDevicePrimaryCtxReset_v2, CALL)                                       \
    X(cuModuleLoad, LOAD)                                                     \
    X(cuModuleLoadData, LOAD)                                                 \
    X(cuModuleLoadDataEx, LOAD)                                               \
    X(cuModuleLoadFatBinary, LOAD)                                            \
    X(cuModuleUnload, UNLOAD)                                                 \
    X(cuLibraryLoadData, LOAD)                                                \
    X(cuLibraryLoadFromFile, LOAD)                                            \
    X(cuLibraryUnload, UNLOAD)                                                \
    X(cuLinkComplete, CALL)                                                   \
    X(cuFuncLoad, CALL)                                                       \
    X(cuGraphCreate, CALL)                                                    \
    X(cuGraphClone, CALL)                                                     \
    X(cuGraphInstantiate, EXEC)                                               \
    X(cuGraphInstantiate_v2, EXEC)                                            \
    X(cuGraphInstantiateWithFlags, EXEC)                                      \
    X(cuGraphInstantiateWithParams, EXEC)                                     \
    X(cuGraphInstantiateWithParams_ptsz, EXEC)                                \
    X(cuGraphUpload, CALL)                                                    \
    X(cuGraphUpload_ptsz, CALL)                                               \
    X(cuGraphExecUpdate, EXEC)                                                \
    X(cuGraphExecUpdate_v2, EXEC)                                             \
    X(cuGraphExecDestroy, EXEC_GONE)                                          \
    X(cuGraphDestroy, CALL)                                                   \
    X(cuGraphAddKernelNode, NODE)                                             \
    X(cuGraphAddKernelNode_v2, NODE)                                          \
    X(cuGraphAddMemcpyNode, CALL)                                             \
    X(cuGraphAddMemsetNode, CALL)                                             \
    X(cuGraphAddHostNode, CALL)                                               \
    X(cuGraphAddChildGraphNode, CALL)                                         \
    X(cuGraphAddEventRecordNode, CALL)                                        \
    X(cuGraphAddEventWaitNode, CALL)                                          \
    X(cuGraphAddMemAllocNode, CALL)                                           \
    X(cuGraphAddMemFreeNode, CALL)                                            \
    X(cuGraphAddBatchMemOpNode, CALL)                                         \
    X(cuGraphAddNode, NODE)                                                   \
    X(cuGraphAddNode_v2, NODE)                                                \
    X(cuMemAlloc_v2, ALLOC)                                                   \
    X(cuMemAllocPitch_v2, ALLOC)                                              \
    X(cuMemAllocManaged, ALLOC)                                               \
    X(cuMemAllocHost_v2, ALLOC)                                               \
    X(cuMemHostAlloc, ALLOC)                                                  \
    X(cuMemHostAlloc_v2, ALLOC)                                               \
    X(cuMemHostRegister, ALLOC)                                               \
    X(cuMemHostRegister_v2, ALLOC)                                            \
    X(cuMemAllocAsync, ALLOC)                                                 \
    X(cuMemAllocAsync_ptsz, ALLOC)                                            \
    X(cuMemAllocFromPoolAsync, ALLOC)                                         \
    X(cuMemAllocFromPoolAsync_ptsz, ALLOC)                                    \
    X(cuMemMap, ALLOC)                                                        \
    X(cuIpcOpenMemHandle, ALLOC)                                              \
    X(cuIpcOpenMemHandle_v2, ALLOC)                                           \
    X(cuArrayCreate_v2, ALLOC)                                                \
    X(cuArray3DCreate_v2, ALLOC)                                              \
    X(cuMipmappedArrayCreate, ALLOC)                                          \
    X(cuMemCreate, CALL)                                                      \
    X(cuMemRelease, CALL)                                                     \
    X(cuMemPoolCreate, CALL)                                                  \
    X(cuMemPoolDestroy, CALL)                                                 \
    X(cuMemPoolTrimTo, CALL)                                                  \
    X(cuMemFree_v2, FREE)                                                     \
    X(cuMemFreeHost, FREE)                                                    \
    X(cuMemHostUnregister, FREE)                                              \
    X(cuMemFreeAsync, FREE)                                                   \
    X(cuMemFreeAsync_ptsz, FREE)                                              \
    X(cuMemUnmap, FREE)                                                       \
    X(cuIpcCloseMemHandle, FREE)                                              \
    X(cuArrayDestroy, FREE)                                                   \
    X(cuMipmappedArrayDestroy, FREE)                                          \
    X(cuProfilerStart, RANGE_ON)                                              \
    X(cuProfilerStop, RANGE_OFF)

/* With --values, beside these: what changes executable graphs. */
#define SONDE_CUDA_VALUES_CALL_MAP(X)                                         \
    X(cuGraphExecKernelNodeSetParams, EXEC)                                   \
    X(cuGraphExecKernelNodeSetParams_v2, EXEC)                                \
    X(cuGraphExecMemcpyNodeSetParams, EXEC)                                   \
    X(cuGraphExecMemsetNodeSetParams, EXEC)                                   \
    X(cuGraphExecChildGraphNodeSetParams, EXEC)                               \
    X(cuGraphExecBatchMemOpNodeSetParams, EXEC)                               \
    X(cuGraphExecNodeSetParams, EXEC)                                         \
    X(cuGraphNodeSetEnabled, EXEC)

/* Ask for callbacks of these calls, and of contexts, streams, graph nodes and code as
 * they come and go. What an older CUPTI does not know it refuses; that cannot be made either. */
static inline void sonde_cuda_enable_calls(__typeof__(&cuptiEnableCallback) enable, CUpti_SubscriberHandle subscriber)
{
    static const uint16_t calls[] = {
#define X(name, what) CUPTI_DRIVER_TRACE_CBID_##name,
#define N(name, what, field) CUPTI_DRIVER_TRACE_CBID_##name,
#define C(name, what) CUPTI_DRIVER_TRACE_CBID_##name,
        SONDE_CUDA_CALL_MAP(X, N, C)
#undef X
#undef N
#undef C
    };
    static const CUpti_CallbackId resources[] = {
        CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
        CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_STREAM_CREATED,
        CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
        CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
        CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
        CUPTI_CBID_RESOURCE_MODULE_LOADED,
        CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls[i]);
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        enable(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, resources[i]);
}

static inline void sonde_cuda_enable_values_calls(__typeof__(&cuptiEnableCallback) enable, CUpti_SubscriberHandle subscriber)
{
#define X(name, what) enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name);
    SONDE_CUDA_VALUES_CALL_MAP(X)
#undef X
}

#endif
