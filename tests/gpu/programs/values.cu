/* values.cu - kernels whose accesses have values that follow from the source, one pattern each, and kernels that cannot be looked at. */
#include "common.h"

#include <unistd.h>

enum { N = 4096, BLOCK = 256,
       MANY = 4 << 20, /* more threads than any device runs at once */
       TIMES = 6 };

__device__ int steps = 3; /* of the module */

/* Numbers that nothing is common to, each another one. */
__host__ __device__ static int mixed(unsigned i)
{
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return (int)(i ^ i >> 16);
}

/* 0 to N - 1, each once, on no line. */
static int turned(int i)
{
    int out = 0;
    for (int bit = 1; bit < N; bit *= 2)
        out = 2 * out + !!(i & bit);
    return out;
}

extern "C" __global__ void read_zeros(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + mixed(i); // LINE zeros
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

/* Seven of ten are the same; launched some times, and once on many. */
extern "C" __global__ void read_often(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + mixed(i); // LINE often
}

extern "C" __global__ void read_often_once(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + mixed(i); // LINE often-once
}

/* Four of ten. */
extern "C" __global__ void read_seldom(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + mixed(i); // LINE seldom
}

/* 15 of 16 are on a line; once all of many. */
extern "C" __global__ void read_ramp(const float *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = (int)(from[i] * 1.5f) + mixed(i); // LINE ramp
}

extern "C" __global__ void read_ramp_once(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + mixed(i); // LINE ramp-once
}

/* Eight of ten. */
extern "C" __global__ void read_bent(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + mixed(i); // LINE bent
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

static void guessed(int *to)
{
    int *often = filled<int>(N, [](int i) { return i % 10 < 7 ? 5 : mixed(i); });
    int *seldom = filled<int>(N, [](int i) { return i % 10 < 4 ? 5 : mixed(i); });
    float *ramp = filled<float>(N, [](int i) { return i % 16 == 5 ? (float)mixed(i) : 3.0f - 0.5f * (float)i; });
    int *bent = filled<int>(N, [](int i) { return i % 10 < 8 ? 7 - 3 * i : mixed(i); });
    for (int k = 0; k < TIMES; k++)
        read_ramp<<<N / BLOCK, BLOCK>>>(ramp, to);
    print("ramp", to, N);
    for (int k = 0; k < TIMES; k++)
        read_often<<<N / BLOCK, BLOCK>>>(often, to);
    print("often", to, N);
    for (int half = 0; half < 2; half++) { /* by the second it is known that they show nothing */
        for (int k = 0; k < TIMES; k++) {
            read_seldom<<<N / BLOCK, BLOCK>>>(seldom, to);
            read_bent<<<N / BLOCK, BLOCK>>>(bent, to);
        }
        print("bent", to, N);
        usleep(half ? 0 : 1000000);
    }
    int *often_many = filled<int>(MANY, [](int i) { return i % 10 < 7 ? 5 : mixed(i); });
    int *ramp_many = filled<int>(MANY, [](int i) { return 3 * i + 7; });
    int *to_many = filled<int>(MANY, [](int) { return 0; });
    read_often_once<<<MANY / BLOCK, BLOCK>>>(often_many, to_many);
    print("often many", to_many, MANY);
    read_ramp_once<<<MANY / BLOCK, BLOCK>>>(ramp_many, to_many);
    print("ramp many", to_many, MANY);
}

int main()
{
    int *zeros = filled<int>(N, [](int) { return 0; });
    int *small = filled<int>(N, [](int i) { return i % 121 - 3; });
    int *whole = filled<int>(N, [](int) { return 0; });
    float *same = filled<float>(N, [](int) { return 2.5f; });
    float *near = filled<float>(N, [](int i) { return 1.0f + (float)turned(i) * 1e-7f; });
    float *real = filled<float>(N, [](int) { return 0.f; });
    double *wide = filled<double>(N, [](int i) { return 1.0 + turned(i) * 0.25; });
    double *doubled = filled<double>(N, [](int) { return 0.; });
    for (int k = 0; k < 5; k++)
        read_zeros<<<N / BLOCK, BLOCK>>>(zeros, whole);
    print("zeros", whole, N);
    read_same<<<N / BLOCK, BLOCK>>>(same, real);
    print("same", real, N);
    read_small<<<N / BLOCK, BLOCK>>>(small, whole);
    print("small", whole, N);
    read_wide<<<N / BLOCK, BLOCK>>>(wide, doubled);
    print("wide", doubled, N);
    read_near<<<N / BLOCK, BLOCK>>>(near, real);
    print("near", real, N);
    some_threads<<<N / BLOCK, BLOCK>>>(whole);
    print("some", whole, N);
    needs_variable<<<1, BLOCK>>>(whole);
    CK(cudaFuncSetAttribute(much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, BLOCK * 64 * 4));
    much_shared<<<1, BLOCK, BLOCK * 64 * 4>>>(small, whole);
    CK(cudaGetLastError());
    print("shared", whole, N);
    graph(whole);
    print("captured", whole, N);
    guessed(whole);
    return 0;
}
