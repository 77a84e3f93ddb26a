/* machine.cu - kernels of which there is machine code only, as libraries have it; what they access follows from the source. machine [LAUNCHES]
 *
 * Their types are known from what the code does with values.
 */
#include "common.h"

enum { N = 4096, BLOCK = 256 };

__device__ int steps = 3; /* of the module */

extern "C" __global__ void read_zeros(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + i * 65537;
}

extern "C" __global__ void read_same(const float *from, float *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] * (float)(1.0 / (i + 3));
}

extern "C" __global__ void read_wide(const double *from, double *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] / (i + 3);
}

/* Doubles that a float holds. */
extern "C" __global__ void read_fitting(const double *from, double *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] / 3.0;
}

/* Integers that a byte holds. */
extern "C" __global__ void read_small(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] * 19088743 + i;
}

extern "C" __global__ void read_near(const float *from, float *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] * (float)(i * 0.123);
}

/* Loads of 16 bytes: of four elements each, if their type is known. */
extern "C" __global__ void read_vectors(const float4 *from, float *to)
{
    int    i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = from[i];
    to[i] = v.x * (i + 1) + v.y * (i + 2) + v.z * (i + 3) + v.w * (i + 5);
}

/* A tenth of its threads write. */
extern "C" __global__ void some_threads(int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 10 == 0)
        to[i] = 7;
}

/* One load reads two objects, each thread one of them: a third the first. */
extern "C" __global__ void read_either(const int *first, const int *second, int *to)
{
    int        i = blockIdx.x * blockDim.x + threadIdx.x;
    const int *from = i % 3 == 0 ? first : second;
    to[i] = from[i] + i * 65537;
}

extern "C" __global__ void read_variable(int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = *(volatile int *)&steps + i * 65537;
}

extern "C" __global__ void captured(int *p) { p[threadIdx.x] += 1; }

static void graph(int *p)
{
    cudaStream_t    s;
    cudaGraph_t     g;
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

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? atoi(argv[1]) : 5;
    int      *zeros = filled<int>(N, [](int) { return 0; });
    int      *small = filled<int>(N, [](int i) { return i % 121 - 3; });
    int      *whole;
    float    *same = filled<float>(N, [](int) { return 2.5f; });
    float4   *vectors = filled<float4>(N, [](int) { return make_float4(2.5f, 2.5f, 2.5f, 2.5f); });
    double   *wide = filled<double>(N, [](int) { return 0.1; });
    double   *fitting = filled<double>(N, [](int i) { return 1.0 + i * 0.25; });
    float    *near = filled<float>(N, [](int i) { return 1.0f + (float)i * 1e-7f; });
    CK(cudaMalloc(&whole, N * sizeof(double)));
    CK(cudaMemset(whole, 0, N * sizeof(double)));
    for (int k = 0; k < launches; k++)
        read_zeros<<<N / BLOCK, BLOCK>>>(zeros, whole);
    print("zeros", whole, N);
    read_same<<<N / BLOCK, BLOCK>>>(same, (float *)whole);
    print("same", whole, N);
    read_wide<<<N / BLOCK, BLOCK>>>(wide, (double *)whole);
    print("wide", (double *)whole, N);
    read_fitting<<<N / BLOCK, BLOCK>>>(fitting, (double *)whole);
    print("fitting", (double *)whole, N);
    read_small<<<N / BLOCK, BLOCK>>>(small, whole);
    print("small", whole, N);
    read_near<<<N / BLOCK, BLOCK>>>(near, (float *)whole);
    print("near", (float *)whole, N);
    read_vectors<<<N / BLOCK, BLOCK>>>(vectors, (float *)whole);
    print("vectors", whole, N);
    some_threads<<<N / BLOCK, BLOCK>>>(whole);
    print("some", whole, N);
    read_either<<<N / BLOCK, BLOCK>>>(zeros, small, whole);
    print("either", whole, N);
    read_variable<<<N / BLOCK, BLOCK>>>(whole);
    print("variable", whole, N);
    graph(whole);
    print("captured", whole, N);
    return 0;
}
