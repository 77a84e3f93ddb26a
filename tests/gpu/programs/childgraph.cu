/* childgraph.cu - graphs within a graph: a child between two kernels, and one that has a child itself. */
#include "common.h"

enum { REPLAYS = 100 };

static int *x;

extern "C" __global__ void top_first(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void top_last(int *p) { atomicAdd(p, 10); }
extern "C" __global__ void inner_one(int *p) { atomicAdd(p, 100); }
extern "C" __global__ void inner_two(int *p) { atomicAdd(p, 1000); }
extern "C" __global__ void outer_own(int *p) { atomicAdd(p, 10000); }
extern "C" __global__ void innermost(int *p) { atomicAdd(p, 100000); }

/* In the function that calls, so that a node is linked to it. */
#define ADD_KERNEL(graph, kernel, after)                                                                          \
    do {                                                                                                          \
        void                *args_[] = {&x};                                                                      \
        cudaKernelNodeParams p_ = {};                                                                             \
        cudaGraphNode_t      node_;                                                                               \
        p_.func = (void *)kernel, p_.gridDim = dim3(1), p_.blockDim = dim3(1), p_.kernelParams = args_;           \
        CK(cudaGraphAddKernelNode(&node_, graph, &(after), (after) ? 1 : 0, &p_));                                \
        (after) = node_;                                                                                          \
    } while (0)
#define ADD_CHILD(graph, child, after)                                                                            \
    do {                                                                                                          \
        cudaGraphNode_t node_;                                                                                    \
        CK(cudaGraphAddChildGraphNode(&node_, graph, &(after), (after) ? 1 : 0, child));                          \
        (after) = node_;                                                                                          \
    } while (0)

NOINLINE static cudaGraph_t capture_inner(cudaStream_t stream)
{
    cudaGraph_t graph;
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    inner_one<<<1, 1, 0, stream>>>(x);
    inner_two<<<1, 1, 0, stream>>>(x);
    CK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

NOINLINE static cudaGraph_t capture_innermost(cudaStream_t stream)
{
    cudaGraph_t graph;
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    innermost<<<1, 1, 0, stream>>>(x);
    CK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

NOINLINE static cudaGraph_t build_outer(cudaGraph_t child)
{
    cudaGraph_t     graph;
    cudaGraphNode_t last = nullptr;
    CK(cudaGraphCreate(&graph, 0));
    ADD_CHILD(graph, child, last);
    ADD_KERNEL(graph, outer_own, last);
    return graph;
}

NOINLINE static cudaGraph_t build_whole(cudaGraph_t inner, cudaGraph_t outer)
{
    cudaGraph_t     graph;
    cudaGraphNode_t last = nullptr;
    CK(cudaGraphCreate(&graph, 0));
    ADD_KERNEL(graph, top_first, last);
    ADD_CHILD(graph, inner, last);
    ADD_CHILD(graph, outer, last);
    ADD_KERNEL(graph, top_last, last);
    return graph;
}

NOINLINE static void replay(cudaGraphExec_t exec, cudaStream_t stream)
{
    for (int i = 0; i < REPLAYS; i++)
        CK(cudaGraphLaunch(exec, stream));
    CK(cudaStreamSynchronize(stream));
}

int main()
{
    cudaStream_t    stream;
    cudaGraph_t     whole;
    cudaGraphExec_t exec, again;
    int             sum = 0;
    CK(cudaMalloc(&x, 4));
    CK(cudaMemset(x, 0, 4));
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CK(cudaDeviceSynchronize());

    whole = build_whole(capture_inner(stream), build_outer(capture_innermost(stream)));
    CK(cudaGraphInstantiate(&exec, whole, 0));
    CK(cudaGraphInstantiate(&again, whole, 0));
    replay(exec, stream);
    replay(again, stream);

    CK(cudaMemcpy(&sum, x, 4, cudaMemcpyDeviceToHost));
    MUST(sum == 2 * REPLAYS * 111111);
    printf("sum %d\n", sum);
    return 0;
}
