/* managed.cu - operations that write in part what was there already in managed memory, which the host writes, too. */
#include "common.h"

enum { N = 4096, BLOCK = 256 };

extern "C" __global__ void ramp(int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = i;
}

extern "C" __global__ void seed(int *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = 3;
}

static int sum(const int *p)
{
    unsigned all = 0;
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        all = all * 31 + (unsigned)p[i];
    return (int)all;
}

static NOINLINE void repeat(int *to)
{
    for (int k = 0; k < 3; k++)
        ramp<<<N / BLOCK, BLOCK>>>(to);
    CK(cudaGetLastError());
    printf("repeat %d\n", sum(to));
}

static NOINLINE void once_more(int *to)
{
    for (int i = 0; i < N; i += 2)
        to[i] = -1;
    ramp<<<N / BLOCK, BLOCK>>>(to);
    CK(cudaGetLastError());
    printf("once more %d\n", sum(to));
}

int main()
{
    int concurrent = 0, *managed, *seeded, *zeros;
    CK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
    if (!concurrent)
        skip("the host cannot reach managed memory while the device works");
    CK(cudaMallocManaged((void **)&managed, N * 4)); // LINE managed
    repeat(managed);
    once_more(managed);
    CK(cudaMemset(managed, 0, N * 4));
    printf("set %d\n", sum(managed));
    CK(cudaMalloc((void **)&zeros, N * 4));
    CK(cudaMemset(zeros, 0, N * 4));
    CK(cudaMemcpy(managed, zeros, N * 4, cudaMemcpyDefault));
    printf("copied %d\n", sum(managed));
    CK(cudaMemset2D(managed, 256, 0, 64, N * 4 / 256));
    printf("rows %d\n", sum(managed));
    /* What the host alone has written is not known to have contents. */
    CK(cudaMallocManaged((void **)&seeded, N * 4)); // LINE seeded
    for (int i = 0; i < N; i++)
        seeded[i] = 3;
    seed<<<N / BLOCK, BLOCK>>>(seeded);
    CK(cudaGetLastError());
    printf("seeded %d\n", sum(seeded));
    CK(cudaFree(managed));
    CK(cudaFree(seeded));
    return 0;
}
