/* replayed.cu - graphs that write what was there already when they are launched again. */
#include "common.h"

enum { N = 4096, BLOCK = 256, REPLAYS = 5 };

#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x

extern "C" __global__ void make(int *to)
{
    INDEX;
    to[i] = i + 5;
}

extern "C" __global__ void fill_with(int *to, int value)
{
    INDEX;
    to[i] = value;
}

extern "C" __global__ void only_reads(const int *from, int *to)
{
    INDEX;
    if (from[i] == 123456789)
        to[i] = 1;
}

extern "C" __global__ void indirect(int **to)
{
    to[0][threadIdx.x] = 7;
}

static cudaStream_t stream;

/* Everything is written in one stream. */
#define ALLOCATE(p)                                                                                       \
    do {                                                                                                  \
        CK(cudaMalloc((void **)&(p), N * 4));                                                             \
        CK(cudaMemsetAsync(p, 1, N * 4, stream));                                                         \
    } while (0)

static int sum(const int *device)
{
    static int host[N];
    unsigned all = 0;
    CK(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, stream));
    CK(cudaStreamSynchronize(stream));
    for (int x : host)
        all = all * 31 + (unsigned)x;
    return (int)all;
}

static NOINLINE void replay(cudaGraphExec_t exec, int times)
{
    for (int k = 0; k < times; k++)
        CK(cudaGraphLaunch(exec, stream));
    CK(cudaStreamSynchronize(stream));
}

static cudaGraphExec_t instantiated(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static cudaMemsetParams set_of(int *to, size_t count, int value)
{
    cudaMemsetParams set = {};
    set.dst = to, set.elementSize = 4, set.width = count, set.height = 1, set.value = (unsigned)value;
    return set;
}

/* A set, a copy and kernels; only the first launch changes something. */
static void captured()
{
    int *cleared, *copied, *made, *source;
    cudaGraph_t graph;
    ALLOCATE(cleared); // LINE cleared
    ALLOCATE(copied);  // LINE copied
    ALLOCATE(made);    // LINE made
    ALLOCATE(source);  // LINE source
    make<<<N / BLOCK, BLOCK, 0, stream>>>(source);
    CK(cudaStreamSynchronize(stream));
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CK(cudaMemsetAsync(cleared, 0, N * 4, stream));
    CK(cudaMemcpyAsync(copied, source, N * 4, cudaMemcpyDeviceToDevice, stream));
    make<<<N / BLOCK, BLOCK, 0, stream>>>(made);
    only_reads<<<N / BLOCK, BLOCK, 0, stream>>>(copied, source);
    CK(cudaStreamEndCapture(stream, &graph));
    replay(instantiated(graph), REPLAYS);
    printf("captured %d %d %d\n", sum(cleared), sum(copied), sum(made));
}

/* Parameters that change in the executable graph: a kernel's, and a set's. */
static void updated()
{
    int *first, *other, *part;
    cudaGraph_t graph;
    cudaGraphNode_t kernel, set;
    ALLOCATE(first); // LINE first
    ALLOCATE(other); // LINE other
    ALLOCATE(part);  // LINE part
    CK(cudaMemsetAsync(part, 0, N * 4, stream));
    int value = 3;
    void *args[] = {&first, &value};
    cudaKernelNodeParams params = {};
    params.func = (void *)fill_with, params.gridDim = dim3(N / BLOCK), params.blockDim = dim3(BLOCK), params.kernelParams = args;
    cudaMemsetParams half = set_of(part, N / 2, 0);
    CK(cudaGraphCreate(&graph, 0));
    CK(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &params));
    CK(cudaGraphAddMemsetNode(&set, graph, &kernel, 1, &half));
    cudaGraphExec_t exec = instantiated(graph);
    replay(exec, 2);
    value = 4;
    args[0] = &other;
    half = set_of(part + N / 2, N / 2, 1);
    CK(cudaGraphExecKernelNodeSetParams(exec, kernel, &params));
    CK(cudaGraphExecMemsetNodeSetParams(exec, set, &half));
    replay(exec, 2);
    printf("updated %d %d %d\n", sum(first), sum(other), sum(part));
    CK(cudaGraphExecDestroy(exec));
}

static cudaGraph_t capture_set(int *to)
{
    cudaGraph_t graph;
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CK(cudaMemsetAsync(to, 0, N * 4, stream));
    CK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* A graph that is put over another. */
static void put_over()
{
    int *before, *after;
    cudaGraphExecUpdateResultInfo info = {};
    ALLOCATE(before); // LINE before
    ALLOCATE(after);  // LINE after
    cudaGraphExec_t exec = instantiated(capture_set(before));
    replay(exec, 2);
    CK(cudaGraphExecUpdate(exec, capture_set(after), &info));
    replay(exec, 2);
    printf("put over %d %d\n", sum(before), sum(after));
}

/* A graph within a graph. */
static void child()
{
    int *inner;
    cudaGraph_t whole;
    cudaGraphNode_t node;
    ALLOCATE(inner); // LINE inner
    CK(cudaGraphCreate(&whole, 0));
    CK(cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, capture_set(inner)));
    replay(instantiated(whole), REPLAYS);
    printf("child %d\n", sum(inner));
}

/* A rectangle of 16 by 8 numbers, and 8 numbers beside it, of one object. */
static void two_boxes()
{
    int *both, *source;
    cudaGraph_t graph;
    ALLOCATE(both); // LINE both
    ALLOCATE(source);
    make<<<N / BLOCK, BLOCK, 0, stream>>>(source);
    CK(cudaStreamSynchronize(stream));
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CK(cudaMemset2DAsync(both, 32 * 4, 0, 16 * 4, 8, stream));
    CK(cudaMemcpyAsync(both + 20, source, 8 * 4, cudaMemcpyDeviceToDevice, stream));
    CK(cudaStreamEndCapture(stream, &graph));
    replay(instantiated(graph), REPLAYS);
    printf("both %d\n", sum(both));
}

/* All of the object is set, then a kernel writes some of it: what the launch writes is known. */
static void set_and_written()
{
    int *certain;
    cudaGraph_t graph;
    ALLOCATE(certain); // LINE certain
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CK(cudaMemsetAsync(certain, 0, N * 4, stream));
    fill_with<<<1, BLOCK, 0, stream>>>(certain, 9);
    CK(cudaStreamEndCapture(stream, &graph));
    replay(instantiated(graph), REPLAYS);
    printf("certain %d\n", sum(certain));
}

/* Where the kernel writes is not among its parameters. */
static void through_memory()
{
    int *target, **table;
    cudaGraph_t graph;
    ALLOCATE(target); // LINE target
    CK(cudaMalloc((void **)&table, sizeof *table));
    CK(cudaMemcpyAsync(table, &target, sizeof target, cudaMemcpyHostToDevice, stream));
    CK(cudaStreamSynchronize(stream));
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    indirect<<<1, BLOCK, 0, stream>>>(table);
    CK(cudaStreamEndCapture(stream, &graph));
    replay(instantiated(graph), 1);
    printf("target %d\n", sum(target));
}

int main()
{
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    captured();
    updated();
    put_over();
    child();
    two_boxes();
    set_and_written();
    through_memory();
    CK(cudaDeviceSynchronize());
    return 0;
}
