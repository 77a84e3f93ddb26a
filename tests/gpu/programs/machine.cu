/* machine.cu - kernels of which there is machine code only, as libraries have it; what they access follows from the source. machine [LAUNCHES]
 *
 * Their types are known from what the code does with values.
 */
#include "common.h"

enum { N = 4096, BLOCK = 256,
       TIMES = 6 }; /* launches of what is guessed about, at the least: threads of the first ones guess */

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
    to[i] = from[i] + mixed(i);
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
    to[i] = from[i] / 3.0 + mixed(i);
}

/* Integers that a byte holds. */
extern "C" __global__ void read_small(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] * 19088743 + mixed(i);
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
    to[i] = v.x * (float)mixed(i) + v.y * (i + 2) + v.z * (i + 3) + v.w * (i + 5);
}

/* Frequent values, of 60 % of the elements and of 40 %; lines on which 95 % lie, and 85 %. Vectors: all lie on one. */
#define READ(name, type)                                                  \
    extern "C" __global__ void name(const type *from, type *to)           \
    {                                                                     \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                    \
        to[i] = from[i] * (type)3 + (type)mixed(i);                       \
    }
#define READ_ALL(type)         \
    READ(often_##type, type)   \
    READ(seldom_##type, type)  \
    READ(ramp_##type, type)    \
    READ(bent_##type, type)
READ_ALL(int)
READ_ALL(float)
READ_ALL(double)

#define READ_VECTORS(name)                                                               \
    extern "C" __global__ void name(const float4 *from, float *to)                       \
    {                                                                                    \
        int    i = blockIdx.x * blockDim.x + threadIdx.x;                                \
        float4 v = from[i];                                                              \
        to[i] = v.x * (float)mixed(i) + v.y * 5.f + v.z * 7.f + v.w * 11.f;              \
    }
READ_VECTORS(often_vectors)
READ_VECTORS(ramp_vectors)

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
    to[i] = from[i] + mixed(i);
}

extern "C" __global__ void read_variable(int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = *(volatile int *)&steps + mixed(i);
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

template <typename T> static void launch(const char *name, void (*kernel)(const T *, T *), T (*of)(int), int times)
{
    T *from = filled<T>(N, of);
    T *to = filled<T>(N, [](int) { return (T)0; });
    for (int k = 0; k < times; k++)
        kernel<<<N / BLOCK, BLOCK>>>(from, to);
    print(name, to, N);
    CK(cudaFree(from));
    CK(cudaFree(to));
}

static void launch_vectors(const char *name, void (*kernel)(const float4 *, float *), float (*of)(int), int times)
{
    float *from = filled<float>(4 * N, of);
    float *to = filled<float>(N, [](int) { return 0.f; });
    for (int k = 0; k < times; k++)
        kernel<<<N / BLOCK, BLOCK>>>((const float4 *)from, to);
    print(name, to, N);
    CK(cudaFree(from));
    CK(cudaFree(to));
}

static void guessed(int times)
{
    launch<int>("often int", often_int, [](int i) { return i % 10 < 6 ? 5 : mixed(i); }, times);
    launch<int>("seldom int", seldom_int, [](int i) { return i % 10 < 4 ? 5 : mixed(i); }, times);
    launch<int>("ramp int", ramp_int, [](int i) { return i % 20 == 7 ? mixed(i) : 7 - 3 * i; }, times);
    launch<int>("bent int", bent_int, [](int i) { return i % 20 % 7 == 2 ? mixed(i) : 7 - 3 * i; }, times);
    launch<float>("often float", often_float, [](int i) { return i % 10 < 6 ? 2.5f : (float)mixed(i); }, times);
    launch<float>("seldom float", seldom_float, [](int i) { return i % 10 < 4 ? 2.5f : (float)mixed(i); }, times);
    launch<float>("ramp float", ramp_float, [](int i) { return i % 20 == 7 ? (float)mixed(i) : 3.0f - 0.5f * (float)i; }, times);
    launch<float>("bent float", bent_float, [](int i) { return i % 20 % 7 == 2 ? (float)mixed(i) : 3.0f - 0.5f * (float)i; }, times);
    launch<double>("often double", often_double, [](int i) { return i % 10 < 6 ? 0.1 : (double)mixed(i); }, times);
    launch<double>("seldom double", seldom_double, [](int i) { return i % 10 < 4 ? 0.1 : (double)mixed(i); }, times);
    launch<double>("ramp double", ramp_double, [](int i) { return i % 20 == 7 ? (double)mixed(i) : 2.0 + 0.125 * i; }, times);
    launch<double>("bent double", bent_double, [](int i) { return i % 20 % 7 == 2 ? (double)mixed(i) : 2.0 + 0.125 * i; }, times);
    launch_vectors("often vectors", often_vectors, [](int i) { return i % 10 < 6 ? 2.5f : (float)mixed(i); }, times);
    launch_vectors("ramp vectors", ramp_vectors, [](int i) { return 1.0f + 0.25f * (float)i; }, times);
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
    double   *fitting = filled<double>(N, [](int i) { return 1.0 + turned(i) * 0.25; });
    float    *near = filled<float>(N, [](int i) { return 1.0f + (float)turned(i) * 1e-7f; });
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
    guessed(launches > TIMES ? launches : TIMES);
    return 0;
}
