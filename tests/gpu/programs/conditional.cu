/* conditional.cu - graphs with conditional nodes: if, else, while, switch, one within another, a body that is captured.
 *
 * Each graph is launched three times. Every kernel counts itself.
 */
#include "common.h"

enum { LAUNCHES = 3 };

static int *counted, *left;
static cudaStream_t stream;

extern "C" __global__ void outside(int *n) { atomicAdd(n, 1); }
extern "C" __global__ void inside_a(int *n) { atomicAdd(n, 1); }
extern "C" __global__ void inside_b(int *n) { atomicAdd(n, 1); }
extern "C" __global__ void inside_else(int *n) { atomicAdd(n, 1); }
extern "C" __global__ void decide(int *n, cudaGraphConditionalHandle handle, unsigned value)
{
    cudaGraphSetConditional(handle, value);
    atomicAdd(n, 1);
}
extern "C" __global__ void refill(int *n, int *rounds, int count)
{
    *rounds = count;
    atomicAdd(n, 1);
}
extern "C" __global__ void repeat(int *n, cudaGraphConditionalHandle handle, int *rounds)
{
    cudaGraphSetConditional(handle, --*rounds > 0);
    atomicAdd(n, 1);
}

static cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNode_t after, void *kernel, void **arguments)
{
    cudaKernelNodeParams p = {};
    cudaGraphNode_t node;
    p.func = kernel, p.gridDim = dim3(1), p.blockDim = dim3(1), p.kernelParams = arguments;
    CK(cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &p));
    return node;
}

NOINLINE static cudaGraphNode_t add_plain(cudaGraph_t graph, cudaGraphNode_t after, void (*kernel)(int *))
{
    void *arguments[] = {&counted};
    return add(graph, after, (void *)kernel, arguments);
}

static cudaGraphNode_t add_decide(cudaGraph_t graph, cudaGraphConditionalHandle handle, unsigned value)
{
    void *arguments[] = {&counted, &handle, &value};
    return add(graph, nullptr, (void *)decide, arguments);
}

static cudaGraphNode_t add_refill(cudaGraph_t graph, int rounds)
{
    void *arguments[] = {&counted, &left, &rounds};
    return add(graph, nullptr, (void *)refill, arguments);
}

static void add_repeat(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle)
{
    void *arguments[] = {&counted, &handle, &left};
    add(graph, after, (void *)repeat, arguments);
}

static cudaGraphConditionalHandle handle_of(cudaGraph_t graph, bool set)
{
    cudaGraphConditionalHandle handle;
    CK(cudaGraphConditionalHandleCreate(&handle, graph, set, set ? cudaGraphCondAssignDefault : 0));
    return handle;
}

static cudaGraph_t *add_conditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                                    cudaGraphConditionalNodeType type, unsigned bodies, cudaGraphNode_t *node)
{
    cudaGraphNodeParams p = {};
    cudaGraphNode_t made;
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = handle, p.conditional.type = type, p.conditional.size = bodies;
    CK(cudaGraphAddNode(&made, graph, after ? &after : nullptr, nullptr, after ? 1 : 0, &p));
    if (node)
        *node = made;
    return p.conditional.phGraph_out;
}

NOINLINE static void launch(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < LAUNCHES; i++)
        CK(cudaGraphLaunch(exec, stream));
    CK(cudaStreamSynchronize(stream));
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));
}

static cudaGraph_t fresh()
{
    cudaGraph_t graph;
    CK(cudaGraphCreate(&graph, 0));
    return graph;
}

NOINLINE static void if_nodes()
{
    for (unsigned taken = 0; taken < 2; taken++) {
        cudaGraph_t graph = fresh();
        cudaGraphConditionalHandle handle = handle_of(graph, false);
        cudaGraphNode_t conditional;
        cudaGraph_t body = add_conditional(graph, add_decide(graph, handle, taken), handle, cudaGraphCondTypeIf, 1, &conditional)[0];
        add_plain(body, add_plain(body, nullptr, inside_a), inside_b);
        add_plain(graph, conditional, outside);
        launch(graph);
    }
    cudaGraph_t graph = fresh();
    cudaGraphConditionalHandle handle = handle_of(graph, false);
    cudaGraph_t *bodies = add_conditional(graph, add_decide(graph, handle, 0), handle, cudaGraphCondTypeIf, 2, nullptr);
    add_plain(bodies[0], nullptr, inside_a);
    add_plain(bodies[1], nullptr, inside_else);
    launch(graph);
}

NOINLINE static void while_nodes()
{
    cudaGraph_t graph = fresh();
    cudaGraphConditionalHandle handle = handle_of(graph, true);
    cudaGraphNode_t conditional;
    cudaGraph_t body = add_conditional(graph, add_refill(graph, 5), handle, cudaGraphCondTypeWhile, 1, &conditional)[0], same;
    add_repeat(body, add_plain(body, nullptr, inside_a), handle);
    add_plain(graph, conditional, outside);
    launch(graph);
    graph = fresh();
    handle = handle_of(graph, true);
    body = add_conditional(graph, add_refill(graph, 4), handle, cudaGraphCondTypeWhile, 1, nullptr)[0];
    CK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
    inside_b<<<1, 1, 0, stream>>>(counted);
    repeat<<<1, 1, 0, stream>>>(counted, handle, left);
    CK(cudaStreamEndCapture(stream, &same));
    launch(graph);
}

NOINLINE static void switch_node()
{
    cudaGraph_t graph = fresh();
    cudaGraphConditionalHandle handle = handle_of(graph, false);
    cudaGraph_t *bodies = add_conditional(graph, add_decide(graph, handle, 2), handle, cudaGraphCondTypeSwitch, 3, nullptr);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k <= i; k++)
            add_plain(bodies[i], nullptr, i == 2 ? inside_b : inside_a);
    launch(graph);
}

NOINLINE static void nested_nodes()
{
    cudaGraph_t graph = fresh();
    cudaGraphConditionalHandle handle = handle_of(graph, true), inner = handle_of(graph, true);
    cudaGraphNode_t conditional;
    cudaGraph_t body = add_conditional(graph, add_refill(graph, 3), handle, cudaGraphCondTypeWhile, 1, nullptr)[0];
    add_plain(add_conditional(body, nullptr, inner, cudaGraphCondTypeIf, 1, &conditional)[0], nullptr, inside_a);
    add_repeat(body, conditional, handle);
    launch(graph);
}

int main()
{
    int result = 0;
    CK(cudaStreamCreate(&stream));
    CK(cudaMalloc(&counted, sizeof *counted));
    CK(cudaMalloc(&left, sizeof *left));
    CK(cudaMemset(counted, 0, sizeof *counted));
    if_nodes();
    while_nodes();
    switch_node();
    nested_nodes();
    CK(cudaMemcpy(&result, counted, sizeof result, cudaMemcpyDeviceToHost));
    MUST(result == 120);
    printf("counted %d\n", result);
    return 0;
}
