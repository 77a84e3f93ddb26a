/* launch.cu - launch attributes: shared memory, clusters, cooperative; what the runtime says of each kernel. */
#include "common.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void plain(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void tiny(int *p) { atomicAdd(p, 1); }
extern "C" __global__ void dynamic_shared(int *p)
{
    extern __shared__ int room[];
    room[threadIdx.x] = 1;
    __syncthreads();
    atomicAdd(p, room[(threadIdx.x + 1) % blockDim.x]);
}
extern "C" __global__ void static_shared(int *p)
{
    __shared__ int room[8192];
    room[threadIdx.x] = 1;
    __syncthreads();
    atomicAdd(p, room[(threadIdx.x + 1) % blockDim.x]);
}
extern "C" __global__ void clustered(int *p)
{
    cg::this_cluster().sync();
    atomicAdd(p, 1);
}
extern "C" __global__ void together(int *p)
{
    cg::this_grid().sync();
    atomicAdd(p, 1);
}

/* The truth: what the runtime itself says about the kernel at this launch. */
template <class K> static void tell(const char *name, K kernel, int threads, size_t dynamic)
{
    cudaFuncAttributes a;
    int                blocks = 0, warps = 0;
    CK(cudaFuncGetAttributes(&a, kernel));
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic));
    CK(cudaDeviceGetAttribute(&warps, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    truth("%s.registers %d", name, a.numRegs);
    truth("%s.static_shared %zu", name, a.sharedSizeBytes);
    truth("%s.dynamic_shared %zu", name, dynamic);
    truth("%s.occupancy %d", name, (int)(1000.0 * blocks * threads / warps + 0.5));
}

int main()
{
    int *p, host = 0, major = 0;
    CK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CK(cudaMalloc(&p, 4));
    CK(cudaMemset(p, 0, 4));
    CK(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
    tell("plain", plain, 1024, 0);
    tell("tiny", tiny, 32, 0);
    tell("dynamic_shared", dynamic_shared, 128, 40000);
    tell("static_shared", static_shared, 128, 0);
    for (int i = 0; i < 10; i++) {
        plain<<<1000, 1024>>>(p);
        tiny<<<10000, 32>>>(p);
        dynamic_shared<<<2000, 128, 40000>>>(p);
        static_shared<<<2000, 128>>>(p);
    }
    long expected = 10L * (1000 * 1024 + 10000 * 32 + 2 * 2000 * 128);
    void *args[] = {&p};
    for (int i = 0; i < 10; i++)
        CK(cudaLaunchCooperativeKernel(together, dim3(16), dim3(64), args, 0, nullptr));
    expected += 10L * 16 * 64;
    if (major >= 9) {
        cudaLaunchConfig_t    config = {};
        cudaLaunchAttribute   attribute = {};
        config.gridDim = dim3(64), config.blockDim = dim3(128), config.attrs = &attribute, config.numAttrs = 1;
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = 4, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
        for (int i = 0; i < 10; i++)
            CK(cudaLaunchKernelEx(&config, clustered, p));
        expected += 10L * 64 * 128;
    }
    truth("clusters %d", major >= 9);
    CK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
    MUST(host == (int)expected);
    puts("launched");
    return 0;
}
