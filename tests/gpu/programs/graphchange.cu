/* graphchange.cu - a graph captured anew and put over the old one (cudaGraphExecUpdate), a child graph, a
 * host node, an event node, and a graph whose nodes run side by side. */
#include "common.h"

enum { REPLAYS = 200 };

static int *x;
static int  called; /* host nodes of one stream run one after the other */

extern "C" __global__ void before(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void after(int *p) { atomicAdd(p, 10); }
extern "C" __global__ void side(int *p) { atomicAdd(p, 100); }

static void on_host(void *) { called++; }

static cudaGraph_t capture(cudaStream_t s, bool later)
{
    cudaGraph_t graph;
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    if (later)
        after<<<1, 1, 0, s>>>(x);
    else
        before<<<1, 1, 0, s>>>(x);
    CK(cudaStreamEndCapture(s, &graph));
    return graph;
}

static cudaGraph_t capture_sides(cudaStream_t s, cudaStream_t t)
{
    cudaGraph_t graph;
    cudaEvent_t fork, join;
    CK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    side<<<1, 1, 0, s>>>(x);
    CK(cudaEventRecord(fork, s));
    CK(cudaStreamWaitEvent(t, fork));
    side<<<1, 1, 0, s>>>(x);
    side<<<1, 1, 0, t>>>(x);
    CK(cudaEventRecord(join, t));
    CK(cudaStreamWaitEvent(s, join));
    CK(cudaLaunchHostFunc(s, on_host, nullptr));
    CK(cudaStreamEndCapture(s, &graph));
    return graph;
}

static void replay(cudaGraphExec_t exec, cudaStream_t s)
{
    for (int i = 0; i < REPLAYS; i++)
        CK(cudaGraphLaunch(exec, s));
    CK(cudaStreamSynchronize(s));
}

int main()
{
    cudaStream_t              s, t;
    cudaGraph_t               old_graph, new_graph, sides, whole;
    cudaGraphNode_t           child;
    cudaGraphExec_t           exec, nested;
    cudaGraphExecUpdateResultInfo info = {};
    int                       sum = 0;
    CK(cudaMalloc(&x, 4));
    CK(cudaMemset(x, 0, 4));
    CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CK(cudaDeviceSynchronize());

    old_graph = capture(s, false);
    CK(cudaGraphInstantiate(&exec, old_graph, 0));
    replay(exec, s);
    new_graph = capture(s, true);
    CK(cudaGraphExecUpdate(exec, new_graph, &info));
    replay(exec, s);

    sides = capture_sides(s, t);
    CK(cudaGraphCreate(&whole, 0));
    CK(cudaGraphAddChildGraphNode(&child, whole, nullptr, 0, sides));
    CK(cudaGraphInstantiate(&nested, whole, 0));
    replay(nested, s);

    CK(cudaMemcpy(&sum, x, 4, cudaMemcpyDeviceToHost));
    MUST(sum == REPLAYS * (1 + 10 + 300));
    MUST(called == REPLAYS);
    printf("sum %d, called %d\n", sum, called);
    return 0;
}
