/* graphs.cu - a captured and an explicit graph, replayed a thousand times each; a clone; an updated one. */
#include "common.h"

enum { REPLAYS = 1000, FEW = 100, BYTES = 4096 };

static int *x, *y;

extern "C" __global__ void first(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void second(int *p) { atomicAdd(p, 2); }
extern "C" __global__ void built(int *p) { atomicAdd(p, 4); }
extern "C" __global__ void replaced(int *p) { atomicAdd(p, 8); }

NOINLINE static cudaGraph_t capture_work(cudaStream_t stream)
{
    cudaGraph_t graph;
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    first<<<1, 1, 0, stream>>>(x); // LINE capture
    second<<<1, 1, 0, stream>>>(x);
    second<<<1, 1, 0, stream>>>(x);
    CK(cudaMemsetAsync(y, 0, BYTES, stream));
    CK(cudaMemcpyAsync(y, x, BYTES, cudaMemcpyDeviceToDevice, stream));
    CK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

NOINLINE static cudaGraph_t build_work(cudaGraphNode_t *kernel)
{
    cudaGraph_t           graph;
    cudaGraphNode_t       after;
    void                 *args[] = {&x};
    cudaKernelNodeParams  params = {};
    cudaMemsetParams      set = {};
    params.func = (void *)built, params.gridDim = dim3(2), params.blockDim = dim3(1), params.kernelParams = args;
    set.dst = y, set.elementSize = 1, set.width = BYTES, set.height = 1, set.value = 0;
    CK(cudaGraphCreate(&graph, 0));
    CK(cudaGraphAddKernelNode(kernel, graph, nullptr, 0, &params)); // LINE build
    CK(cudaGraphAddMemsetNode(&after, graph, kernel, 1, &set));
    return graph;
}

NOINLINE static void replay(cudaGraphExec_t exec, int times, cudaStream_t stream)
{
    for (int i = 0; i < times; i++)
        CK(cudaGraphLaunch(exec, stream)); // LINE replay
    CK(cudaStreamSynchronize(stream));
}

NOINLINE static void update(cudaGraphExec_t exec, cudaGraphNode_t node)
{
    void                *args[] = {&x};
    cudaKernelNodeParams params = {};
    params.func = (void *)replaced, params.gridDim = dim3(1), params.blockDim = dim3(1), params.kernelParams = args;
    CK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
}

int main()
{
    cudaStream_t    stream;
    cudaGraph_t     captured, explicit_, clone;
    cudaGraphNode_t node;
    cudaGraphExec_t run_captured, run_explicit, run_clone;
    int             sum = 0;
    CK(cudaMalloc(&x, BYTES));
    CK(cudaMalloc(&y, BYTES));
    CK(cudaMemset(x, 0, BYTES));
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CK(cudaDeviceSynchronize());

    captured = capture_work(stream);
    explicit_ = build_work(&node);
    CK(cudaGraphClone(&clone, captured));
    CK(cudaGraphInstantiate(&run_captured, captured, 0));
    CK(cudaGraphInstantiate(&run_explicit, explicit_, 0));
    CK(cudaGraphInstantiate(&run_clone, clone, 0));
    replay(run_captured, REPLAYS, stream);
    replay(run_explicit, REPLAYS, stream);
    CK(cudaGraphDestroy(captured)); /* the clone and what was instantiated live on */
    replay(run_clone, FEW, stream);
    update(run_explicit, node);
    replay(run_explicit, FEW, stream);

    CK(cudaMemcpy(&sum, y, 4, cudaMemcpyDeviceToHost));
    MUST(sum == 0); /* the explicit graph cleared it last */
    CK(cudaMemcpy(&sum, x, 4, cudaMemcpyDeviceToHost));
    MUST(sum == (REPLAYS + FEW) * 5 + REPLAYS * 8 + FEW * 8);
    CK(cudaGraphExecDestroy(run_captured));
    CK(cudaGraphExecDestroy(run_explicit));
    CK(cudaGraphExecDestroy(run_clone));
    printf("sum %d\n", sum);
    return 0;
}
