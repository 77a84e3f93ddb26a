/* trap.cu - a kernel that traps: the error, its message and the exit status are the program's own. */
#include "common.h"

extern "C" __global__ void good(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void bad() { asm volatile("trap;"); }

int main()
{
    int *p;
    CK(cudaMalloc(&p, 4));
    CK(cudaMemset(p, 0, 4));
    for (int i = 0; i < 10; i++)
        good<<<1, 1>>>(p);
    CK(cudaDeviceSynchronize());
    bad<<<1, 1>>>();
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
    fprintf(stderr, "the kernel failed\n");
    return error == cudaSuccess ? 1 : 5;
}
