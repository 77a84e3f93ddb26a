/* alive.cu - the program ends while its last kernel has five seconds to go. */
#include "common.h"

extern "C" __global__ void brief(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void forever(int *p)
{
    wait_ns(5000000000u);
    atomicAdd(p, 1);
}

int main()
{
    int *p;
    CK(cudaMalloc(&p, 4));
    for (int i = 0; i < 5; i++)
        brief<<<1, 1>>>(p);
    CK(cudaDeviceSynchronize());
    forever<<<1, 1>>>(p);
    CK(cudaGetLastError());
    puts("leaving");
    return 0;
}
