/* graphed.cu - kernels of graphs, as their machine code, that access the host's memory: captured, added node by node, in a child graph, brought to the device before, with
 * other parameters later, and launched again after memory has come and gone. Launches of each: LAUNCHES. */
#include "common.h"

enum { N = 1024,
       THREADS = 128,
       LAUNCHES = 5 };

__global__ void to_host(float *host)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    host[i] = (float)i; // LINE to_host
}

__global__ void from_host(float *own, const float *host)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    own[i] = host[i] + 1; // LINE from_host
}

__global__ void only_here(float *own)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    own[i] += 1;
}

__global__ void to_other(float *host)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2)
        host[i] = 3; // LINE to_other
}

static float *host_memory()
{
    float *host;
    CK(cudaHostAlloc(&host, N * sizeof(float), cudaHostAllocDefault)); // LINE allocated
    memset(host, 0, N * sizeof(float));
    return host;
}

static cudaGraphNode_t add(cudaGraph_t graph, void *kernel, void **parameters)
{
    cudaGraphNode_t node;
    cudaKernelNodeParams p = {};
    p.func = kernel;
    p.gridDim = dim3(N / THREADS);
    p.blockDim = dim3(THREADS);
    p.kernelParams = parameters;
    CK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p));
    return node;
}

int main(void)
{
    float *host = host_memory(), *other = host_memory(), *own;
    cudaStream_t stream;
    cudaGraph_t captured, made;
    cudaGraphExec_t first, second;
    cudaGraphNode_t child;
    CK(cudaMalloc(&own, N * sizeof(float)));
    CK(cudaMemset(own, 0, N * sizeof(float)));
    CK(cudaStreamCreate(&stream));

    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    to_host<<<N / THREADS, THREADS, 0, stream>>>(host);
    from_host<<<N / THREADS, THREADS, 0, stream>>>(own, host);
    only_here<<<N / THREADS, THREADS, 0, stream>>>(own);
    CK(cudaStreamEndCapture(stream, &captured));
    CK(cudaGraphInstantiate(&first, captured, 0));

    CK(cudaGraphCreate(&made, 0));
    void *parameters[] = {&other};
    const cudaGraphNode_t node = add(made, (void *)to_other, parameters);
    CK(cudaGraphAddChildGraphNode(&child, made, nullptr, 0, captured));
    CK(cudaGraphInstantiate(&second, made, 0));
    CK(cudaGraphUpload(second, stream));

    for (int k = 0; k < LAUNCHES; k++) {
        CK(cudaGraphLaunch(first, stream)); // LINE first
        void *more;
        CK(cudaMalloc(&more, 1 << 16)); // what is known of memory is another then
        CK(cudaGraphLaunch(second, stream)); // LINE second
        CK(cudaStreamSynchronize(stream));
        CK(cudaFree(more));
    }
    float *third = host_memory();
    void *others[] = {&third};
    cudaKernelNodeParams p = {};
    p.func = (void *)to_other;
    p.gridDim = dim3(N / THREADS);
    p.blockDim = dim3(THREADS);
    p.kernelParams = others;
    CK(cudaGraphExecKernelNodeSetParams(second, node, &p));
    CK(cudaGraphLaunch(second, stream));
    to_host<<<N / THREADS, THREADS, 0, stream>>>(third); // by itself, too
    CK(cudaStreamSynchronize(stream));
    float last;
    CK(cudaMemcpy(&last, own + N - 1, sizeof last, cudaMemcpyDeviceToHost));
    printf("%g %g %g %g\n", last, host[N - 1], other[N - 1], third[N - 1]);
    return 0;
}
