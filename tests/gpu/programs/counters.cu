/* counters.cu - kernels whose warps, instructions and bytes are known: of a vector add, of one after the other in two streams, from two
 * threads, of a breadth-first search over a graph made here; and launches that are not measured: those of a graph. */
#include "common.h"

#include <thread>
#include <vector>

enum { N = 1 << 24, SMALL = 1 << 18, THREADS_N = 1 << 16, VERTICES = 1 << 15, DEGREE = 8 };

__global__ void vadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void scale(float *a, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] *= by;
}

__global__ void bfs(const int *edges, int *level, int now, int *more)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= VERTICES || level[v] != now)
        return;
    for (int k = 0; k < DEGREE; k++) {
        int w = edges[v * DEGREE + k];
        if (atomicCAS(&level[w], -1, now + 1) == -1)
            *more = 1;
    }
}

NOINLINE static void big(const float *a, const float *b, float *c)
{
    for (int i = 0; i < 3; i++)
        vadd<<<N / 256, 256>>>(a, b, c, N); // LINE big
}

NOINLINE static void small(const float *a, const float *b, float *c)
{
    for (int i = 0; i < 5; i++)
        vadd<<<SMALL / 256, 256>>>(a, b, c, SMALL); // LINE small
}

NOINLINE static int search(const int *edges, int *level, int *more)
{
    int steps = 0;
    for (int found = 1; found; steps++) {
        CK(cudaMemset(more, 0, 4));
        bfs<<<VERTICES / 256, 256>>>(edges, level, steps, more); // LINE bfs
        CK(cudaMemcpy(&found, more, 4, cudaMemcpyDeviceToHost));
    }
    return steps;
}

int main()
{
    float *a, *b, *c;
    CK(cudaMalloc(&a, N * 4));
    CK(cudaMalloc(&b, N * 4));
    CK(cudaMalloc(&c, N * 4));
    CK(cudaMemset(a, 0, N * 4));
    CK(cudaMemset(b, 0, N * 4));
    big(a, b, c);
    small(a, b, c);

    cudaStream_t one, other;
    CK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int i = 0; i < 6; i++)
        scale<<<SMALL / 128, 128, 0, i % 2 ? one : other>>>(i % 2 ? a : b, 2, SMALL); // LINE streams
    CK(cudaDeviceSynchronize());

    auto work = [&](cudaStream_t stream, float *mine) {
        for (int i = 0; i < 20; i++)
            scale<<<THREADS_N / 128, 128, 0, stream>>>(mine, 3, THREADS_N); // LINE threads
        CK(cudaStreamSynchronize(stream));
    };
    std::thread first(work, one, a), second(work, other, b);
    first.join();
    second.join();

    cudaGraph_t     graph;
    cudaGraphExec_t exec;
    CK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    scale<<<SMALL / 128, 128, 0, one>>>(a, 2, SMALL);
    scale<<<SMALL / 128, 128, 0, one>>>(b, 2, SMALL);
    CK(cudaStreamEndCapture(one, &graph));
    CK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        CK(cudaGraphLaunch(exec, one));
    CK(cudaStreamSynchronize(one));

    std::vector<int> edges(VERTICES * DEGREE), levels(VERTICES, -1);
    uint32_t         random = 1;
    for (int i = 0; i < VERTICES * DEGREE; i++)
        edges[i] = (int)((random = random * 1664525u + 1013904223u) >> 8) % VERTICES;
    int *device_edges, *level, *more;
    CK(cudaMalloc(&device_edges, edges.size() * 4));
    CK(cudaMalloc(&level, VERTICES * 4));
    CK(cudaMalloc(&more, 4));
    levels[0] = 0;
    CK(cudaMemcpy(device_edges, edges.data(), edges.size() * 4, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(level, levels.data(), VERTICES * 4, cudaMemcpyHostToDevice));
    int steps = search(device_edges, level, more);
    CK(cudaMemcpy(levels.data(), level, VERTICES * 4, cudaMemcpyDeviceToHost));
    long reached = 0;
    for (int l : levels)
        reached += l >= 0;
    truth("bfs_steps %d", steps);
    printf("reached %ld of %d in %d steps\n", reached, VERTICES, steps);
    return 0;
}
