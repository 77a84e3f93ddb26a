/* plain.cu - kernels that an instrumented copy is made of though they are out of the ordinary, and kernels of which none is, each for another reason. */
#include "common.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

enum { N = 32,
       SHARED = 40000 }; /* bytes, beside 20480 static ones: together more than a kernel has unasked */

#define KERNEL extern "C" __global__ void
#define ADDRESS(of) ((unsigned)__cvta_generic_to_shared(of))

/* ---- with a copy ---- */

KERNEL sines(double *o) { o[threadIdx.x] = sin(1e12 * threadIdx.x + 1); } /* the slow way, which is a function and reads a table */

extern "C" __device__ __noinline__ int cube(int k) { return k * k * k + (k >> 3); }
KERNEL cubes(int *o) { o[threadIdx.x] = cube(threadIdx.x); }

KERNEL assembly(int *o)
{
    int r;
    asm volatile("{\n .reg .u32 t;\n .reg .pred p;\n mov.u32 t, %%laneid;\n setp.eq.u32 p, t, 0;\n @p add.u32 t, t, 7;\n mov.u32 %0, t;\n}" : "=r"(r));
    o[threadIdx.x] = r;
}

KERNEL copies(const int *from, int *o)
{
    __shared__ __align__(16) int s[4 * N];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\ncp.async.wait_all;" ::"r"(ADDRESS(s + 4 * threadIdx.x)), "l"(from + 4 * threadIdx.x) : "memory");
    o[threadIdx.x] = s[4 * threadIdx.x + 1];
}

KERNEL both_shared(int *o)
{
    __shared__ int still[5120];
    extern __shared__ int moving[];
    for (int i = threadIdx.x; i < 5120; i += N)
        still[i] = moving[i] = 3 * i;
    __syncthreads();
    o[threadIdx.x] = still[5119 - threadIdx.x] + moving[5000 - threadIdx.x];
}

/* Without accesses: all of it is looked at. */
KERNEL nothing(int k)
{
    __shared__ int s[N];
    s[threadIdx.x] = k;
    __syncthreads();
    if (s[N - 1 - threadIdx.x] == 77)
        __trap();
}

/* ---- without one ---- */

KERNEL textures(float *o, cudaTextureObject_t t) { o[threadIdx.x] = tex1Dfetch<float>(t, N - 1 - threadIdx.x); }

KERNEL lengths(const int *from, int *o, int bytes)
{
    __shared__ __align__(16) int s[4 * N];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;\ncp.async.wait_all;" ::"r"(ADDRESS(s + 4 * threadIdx.x)), "l"(from + 4 * threadIdx.x), "r"(bytes) : "memory");
    o[threadIdx.x] = s[4 * threadIdx.x + 1];
}

typedef int (*function)(int);
__device__ function table[2] = {cube, cube};
KERNEL pointers(int *o, int k) { o[threadIdx.x] = table[k](threadIdx.x); }

extern "C" __device__ __noinline__ int __internal_mine(const int *p, int k) { return p[k] * 3; } /* not the compiler's, for all its name */
KERNEL functions(const int *from, int *o) { o[threadIdx.x] = __internal_mine(from, threadIdx.x); }

KERNEL __cluster_dims__(2, 1, 1) required(int *o)
{
    cg::this_cluster().sync();
    o[blockIdx.x * N + threadIdx.x] = cg::this_cluster().block_rank();
}

KERNEL clusters(int *o)
{
    cg::this_cluster().sync();
    o[blockIdx.x * N + threadIdx.x] = cg::this_cluster().block_rank();
}

KERNEL alone(int *o) /* clusters of one block: with a copy */
{
    cg::this_cluster().sync();
    o[blockIdx.x * N + threadIdx.x] = cg::this_cluster().block_rank() + 5;
}

template <class K> static void launch_in_clusters(K kernel, unsigned of, int *o)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = of;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(4);
    config.blockDim = dim3(N);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CK(cudaLaunchKernelEx(&config, kernel, o));
}

static int counted(int i) { return i; }
static float halves(int i) { return i / 2.f; }
template <class T> static T zero(int) { return 0; }

int main()
{
    int major = 0;
    CK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9)
        skip("clusters need compute capability 9.0");
    int *from = filled(4 * N, counted), *o = filled(4 * N, zero<int>);
    double *wide = filled(N, zero<double>);
    float *real = filled(N, halves), *to = filled(N, zero<float>);

    sines<<<1, N>>>(wide);
    print("sines", wide, N);
    cubes<<<1, N>>>(o);
    print("cubes", o, N);
    assembly<<<1, N>>>(o);
    print("assembly", o, N);
    copies<<<1, N>>>(from, o);
    print("copies", o, N);
    CK(cudaFuncSetAttribute(both_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    both_shared<<<1, N, SHARED>>>(o);
    CK(cudaGetLastError());
    print("both_shared", o, N);
    nothing<<<1, N>>>(3);

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = real;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = N * sizeof(float);
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    CK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    textures<<<1, N>>>(to, texture);
    print("textures", to, N);
    lengths<<<1, N>>>(from, o, 16);
    print("lengths", o, N);
    pointers<<<1, N>>>(o, 1);
    print("pointers", o, N);
    functions<<<1, N>>>(from, o);
    print("functions", o, N);
    required<<<4, N>>>(o);
    CK(cudaGetLastError());
    print("required", o, 4 * N);
    launch_in_clusters(clusters, 2, o);
    print("clusters", o, 4 * N);
    launch_in_clusters(alone, 1, o);
    print("alone", o, 4 * N);
    CK(cudaDeviceSynchronize());
    return 0;
}
