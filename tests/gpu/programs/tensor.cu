/* tensor.cu - a kernel for one architecture alone (sm_90a): a warp group multiplies matrices that lie in shared memory.
 *
 * All elements of both are one, so that their order, which the descriptors tell, decides nothing: each sum is 16.
 */
#include "codes.h"

#include <cuda_fp16.h>

enum { GROUP = 128, ROWS = 64, COLUMNS = 8, DEPTH = 16 };

static __device__ uint64_t descriptor(const void *tile)
{
    const uint64_t at = __cvta_generic_to_shared(tile);
    return (at & 0x3ffff) >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

extern "C" __global__ void __launch_bounds__(GROUP) warp_group(const int *from, float *sums, int *to, unsigned salt)
{
    __shared__ alignas(1024) half tiles[2][ROWS * DEPTH];
    float sum[4] = {0.f, 0.f, 0.f, 0.f};
    for (int k = threadIdx.x; k < 2 * ROWS * DEPTH; k += GROUP)
        tiles[0][k] = __float2half((float)(from[k] - THREE + 1));
    asm volatile("fence.proxy.async;" : : : "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, 0, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n\t}"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "l"(descriptor(tiles[0])), "l"(descriptor(tiles[1])) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" : : : "memory");
    for (int k = 0; k < 4; k++)
        sums[4 * threadIdx.x + k] = sum[k];
    to[threadIdx.x] = from[threadIdx.x] + mixed(threadIdx.x + salt);
}

int main()
{
    static float host[ROWS * COLUMNS];
    const int   *from = threes();
    float       *sums = room<float>(ROWS * COLUMNS);
    int         *to = room<int>(GROUP), major = 0;
    CK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major != 9)
        skip("warp groups multiply so on devices of compute capability 9.0 only");
    warp_group<<<1, GROUP>>>(from, sums, to, 1u << 16);
    verify("warp_group", to, 1u << 16, 0, GROUP);
    CK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        MUST(host[i] == DEPTH);
    return 0;
}
