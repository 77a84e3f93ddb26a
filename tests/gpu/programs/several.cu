/* several.cu - kernels that read several frequent values, one, and none, in how many parts follows from the source. A value is spread evenly: any
 * neighbours hold each about as often as all do. */
#include "common.h"

#include <unistd.h>

enum { N = 4096,
       BLOCK = 256,
       STEP = 2531, /* N times the golden section, odd */
       FIRST = 2,
       LATER = 10 };

static int rank_of(int i) { return i * STEP % N; }

/* Numbers that nothing is common to, each another one. */
__host__ __device__ static int mixed(unsigned i)
{
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return (int)(i ^ i >> 16);
}

/* 1638, 1434, 614 and 410 of 4096. */
static int of_several(int i)
{
    return rank_of(i) < 1638 ? 11 : rank_of(i) < 3072 ? 22 : rank_of(i) < 3686 ? 33 : 44;
}

/* 2253 of 4096. */
static double of_one(int i) { return rank_of(i) < 2253 ? 5.5 : (double)mixed(i); }

extern "C" __global__ void several(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + mixed(i); // LINE several
}

/* Not when its threads end, but when they have it. */
extern "C" __global__ void in_loop(const int *from, int *to)
{
    int sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)
        sum += from[i] * i; // LINE loop
    to[blockIdx.x * blockDim.x + threadIdx.x] = sum + mixed(sum);
}

extern "C" __global__ void one(const double *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = (int)(from[i] * 0.001) + mixed(i); // LINE one
}

extern "C" __global__ void none(const int *from, int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + mixed(i + N); // LINE none
}

int main()
{
    int *many = filled<int>(N, of_several);
    double *single = filled<double>(N, of_one);
    int *all = filled<int>(N, [](int i) { return mixed(i); });
    int *to = filled<int>(N, [](int) { return 0; });
    for (int half = 0; half < 2; half++) { /* by the second it is known what those who voted saw */
        for (int k = 0; k < (half ? LATER : FIRST); k++) {
            several<<<N / BLOCK, BLOCK>>>(many, to);
            in_loop<<<4, BLOCK>>>(many, to);
            one<<<N / BLOCK, BLOCK>>>(single, to);
            none<<<N / BLOCK, BLOCK>>>(all, to);
        }
        print("none", to, N);
        usleep(half ? 0 : 1500000);
    }
    return 0;
}
