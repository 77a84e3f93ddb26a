/* reset.cu - the device is reset in the middle, and once more at the end. */
#include "common.h"

extern "C" __global__ void early(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void late(int *p) { atomicAdd(p, 1); }

NOINLINE static int part(bool second, int launches)
{
    int *p, host = 0;
    CK(cudaMalloc(&p, 4));
    CK(cudaMemset(p, 0, 4));
    for (int i = 0; i < launches; i++)
        if (second)
            late<<<1, 32>>>(p);
        else
            early<<<1, 32>>>(p);
    CK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
    return host;
}

int main()
{
    int a = part(false, 50);
    CK(cudaDeviceReset());
    int b = part(true, 70);
    CK(cudaDeviceReset());
    MUST(a == 50 * 32 && b == 70 * 32);
    printf("%d %d\n", a, b);
    return 0;
}
