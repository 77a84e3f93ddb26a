/* codes.h - what the programs share whose kernels are code of every kind: each kernel reads an array of threes, so that what is found of it
 * is known, and adds numbers that nothing is common to, so that nothing else is. */
#ifndef SONDE_TESTS_GPU_CODES_H
#define SONDE_TESTS_GPU_CODES_H

#include "common.h"

enum { N = 4096,
       BLOCK = 256,
       THREE = 3 };

/* Numbers that nothing is common to, each another one. */
static __host__ __device__ inline int mixed(unsigned i)
{
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return (int)(i ^ i >> 16);
}

static inline int *threes()
{
    return filled<int>(N, [](int) { return (int)THREE; });
}

/* Without contents, so that nothing written there can be what was there. */
template <typename T>
static T *room(int n)
{
    T *device;
    CK(cudaMalloc(&device, n * sizeof(T)));
    return device;
}

/* The place of a thread in a grid of one dimension. */
static __device__ __forceinline__ int place()
{
    return (int)(blockIdx.x * blockDim.x + threadIdx.x);
}

/* After each kernel: is element i of `n`, in `step`s, a three and its own number, and `more`? */
static inline void verify(const char *kernel, const int *device, unsigned salt, int more = 0, int n = N, int step = 1)
{
    static int host[N];
    cudaError_t error = cudaGetLastError();
    error = error ? error : cudaMemcpy(host, device, n * sizeof(int), cudaMemcpyDeviceToHost);
    if (error) {
        fprintf(stderr, "%s: %s\n", kernel, cudaGetErrorString(error));
        exit(2);
    }
    for (int i = 0; i < n; i += step)
        if ((unsigned)host[i] != (unsigned)mixed(i + salt) + THREE + (unsigned)more) {
            fprintf(stderr, "%s: element %d is %d, not %d\n", kernel, i, host[i], (int)((unsigned)mixed(i + salt) + THREE + (unsigned)more));
            exit(3);
        }
    printf("%s is right\n", kernel);
}

#endif
