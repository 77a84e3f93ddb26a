/* values.cu - kernels whose accesses have values that follow from the source, one pattern each, and kernels that cannot be looked at. */
#include "common.h"

enum { N = 4096, BLOCK = 256 };

__device__ int steps = 3; /* of the module */

extern "C" __global__ void read_zeros(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + i * 65537; // LINE zeros
}

extern "C" __global__ void read_same(const float *from, float *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] * (float)(1.0 / (i + 3)); // LINE same
}

extern "C" __global__ void read_small(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] * 19088743 + i; // LINE small
}

extern "C" __global__ void read_wide(const double *from, double *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] / 3.0; // LINE wide
}

extern "C" __global__ void read_near(const float *from, float *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] * (float)(i * 0.123); // LINE near
}

/* A tenth of its threads write. */
extern "C" __global__ void some_threads(int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 10 == 0)
        to[i] = 7; // LINE some
}

extern "C" __global__ void needs_variable(int *to)
{
    to[threadIdx.x] = steps;
}

extern "C" __global__ void much_shared(const int *from, int *to)
{
    extern __shared__ int tile[];
    tile[threadIdx.x * 64] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = tile[(BLOCK - 1 - threadIdx.x) * 64]; // LINE shared
}

extern "C" __global__ void captured(int *p) { p[threadIdx.x] += 1; }

template <typename T> static T *filled(T (*of)(int))
{
    T *host = (T *)malloc(N * sizeof(T)), *device;
    for (int i = 0; i < N; i++)
        host[i] = of(i);
    CK(cudaMalloc(&device, N * sizeof(T)));
    CK(cudaMemcpy(device, host, N * sizeof(T), cudaMemcpyHostToDevice));
    free(host);
    return device;
}

/* All bytes that a kernel left, as one number. */
template <typename T> static void print(const char *name, const T *device)
{
    unsigned char *host = (unsigned char *)malloc(N * sizeof(T));
    unsigned long long sum = 14695981039346656037ull;
    CK(cudaMemcpy(host, device, N * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < N * sizeof(T); i++)
        sum = (sum ^ host[i]) * 1099511628211ull;
    printf("%s %016llx\n", name, sum);
    free(host);
}

static void graph(int *p)
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    CK(cudaStreamCreate(&s));
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    captured<<<1, BLOCK, 0, s>>>(p);
    CK(cudaStreamEndCapture(s, &g));
    CK(cudaGraphInstantiate(&e, g, 0));
    for (int i = 0; i < 3; i++)
        CK(cudaGraphLaunch(e, s));
    CK(cudaStreamSynchronize(s));
}

int main()
{
    int *zeros = filled<int>([](int) { return 0; });
    int *small = filled<int>([](int i) { return i % 121 - 3; });
    int *whole = filled<int>([](int) { return 0; });
    float *same = filled<float>([](int) { return 2.5f; });
    float *near = filled<float>([](int i) { return 1.0f + (float)i * 1e-7f; });
    float *real = filled<float>([](int) { return 0.f; });
    double *wide = filled<double>([](int i) { return 1.0 + i * 0.25; });
    double *doubled = filled<double>([](int) { return 0.; });
    for (int k = 0; k < 5; k++)
        read_zeros<<<N / BLOCK, BLOCK>>>(zeros, whole);
    print("zeros", whole);
    read_same<<<N / BLOCK, BLOCK>>>(same, real);
    print("same", real);
    read_small<<<N / BLOCK, BLOCK>>>(small, whole);
    print("small", whole);
    read_wide<<<N / BLOCK, BLOCK>>>(wide, doubled);
    print("wide", doubled);
    read_near<<<N / BLOCK, BLOCK>>>(near, real);
    print("near", real);
    some_threads<<<N / BLOCK, BLOCK>>>(whole);
    print("some", whole);
    needs_variable<<<1, BLOCK>>>(whole);
    CK(cudaFuncSetAttribute(much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, BLOCK * 64 * 4));
    much_shared<<<1, BLOCK, BLOCK * 64 * 4>>>(small, whole);
    CK(cudaGetLastError());
    print("shared", whole);
    graph(whole);
    print("captured", whole);
    return 0;
}
