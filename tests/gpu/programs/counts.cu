/* counts.cu - so many kernels, copies and sets, of these sizes, from these functions. */
#include "common.h"

#include <vector>

enum { N = 1 << 20, BYTES = N * 4, MIB = 1 << 20 };

extern "C" __global__ void add(int *p, int n, int by) // LINE kernel
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int all = gridDim.x * gridDim.y * gridDim.z * blockDim.x;
    for (int i = block * blockDim.x + threadIdx.x; i < n; i += all)
        p[i] += by;
}

extern "C" __global__ void twice(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] *= 2;
}

NOINLINE static void launch_adds(int *x, int count)
{
    for (int i = 0; i < count; i++)
        add<<<dim3(64, 2, 2), 128>>>(x, N, 1); // LINE add
}

NOINLINE static void launch_twice(int *x, int count)
{
    for (int i = 0; i < count; i++)
        twice<<<N / 256, 256>>>(x, N); // LINE twice
}

int main()
{
    int             *x, *y, *pinned;
    std::vector<int> host(N);
    for (int i = 0; i < N; i++)
        host[i] = i & 0xffff;
    CK(cudaMalloc(&x, BYTES));
    CK(cudaMalloc(&y, BYTES));
    CK(cudaMallocHost(&pinned, MIB));
    memset(pinned, 0, MIB);

    CK(cudaMemcpy(x, host.data(), BYTES, cudaMemcpyHostToDevice)); // LINE write
    for (int i = 0; i < 10; i++)
        CK(cudaMemcpyAsync(y, pinned, MIB, cudaMemcpyHostToDevice));
    CK(cudaMemset(y, 0, BYTES));
    for (int i = 0; i < 5; i++)
        CK(cudaMemsetAsync(y, 1, 1000));
    launch_adds(x, 100);
    launch_twice(x, 4);
    launch_twice(y, 36);
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < 3; i++)
        CK(cudaMemcpy(y, x, BYTES, cudaMemcpyDeviceToDevice));
    for (int i = 0; i < 7; i++)
        CK(cudaMemcpyAsync(pinned, y, MIB, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(host.data(), y, BYTES, cudaMemcpyDeviceToHost));
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) {
        MUST(host[i] == ((i & 0xffff) + 100) * 16);
        sum += (uint64_t)host[i];
    }
    MUST(pinned[7] == host[7]);
    CK(cudaFree(x));
    CK(cudaFree(y));
    CK(cudaFreeHost(pinned));
    printf("sum %llu\n", (unsigned long long)sum);
    return 0;
}
