/* codes.cu - kernels that are launched and compiled in every way that CUDA has. What accesses memory otherwise than by loads and stores
 * is in ways.cu, what is compiled apart in apart.cu. */
#include "codes.h"

#include <cassert>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

enum { CLUSTER = 4, WIDE = 1024,
       HELD = 54,        /* elements that a thread has in registers at once */
       SHARED = 100 * BLOCK * (int)sizeof(int) };

/* ---- launches --------------------------------------------------------------------------------------- */

/* Of what all have written before, each reads another's. */
extern "C" __global__ void cooperative(const int *from, int *between, int *to, unsigned salt)
{
    int i = place();
    between[i] = from[i] + mixed(N - 1 - i + salt);
    cg::this_grid().sync();
    to[i] = between[N - 1 - i];
}

/* Each block hands what it has read to the next of its cluster. */
static __device__ __forceinline__ void through_cluster(const int *from, int *to, unsigned salt)
{
    __shared__ int tile[BLOCK];
    cg::cluster_group cluster = cg::this_cluster();
    int i = place();
    tile[threadIdx.x] = from[i];
    cluster.sync();
    const int *next = cluster.map_shared_rank(tile, (cluster.block_rank() + 1) % cluster.num_blocks());
    to[i] = next[threadIdx.x] + mixed(i + salt) + (int)cluster.num_blocks();
    cluster.sync();
}

extern "C" __global__ void clustered(const int *from, int *to, unsigned salt) { through_cluster(from, to, salt); }
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) clustered_by_code(const int *from, int *to, unsigned salt) { through_cluster(from, to, salt); }

extern "C" __global__ void dynamic_shared(const int *from, int *to, unsigned salt)
{
    extern __shared__ int tile[];
    int i = place();
    tile[threadIdx.x * 100] = from[i];
    __syncthreads();
    to[i] = tile[(BLOCK - 1 - threadIdx.x) * 100] + mixed(i + salt);
}

/* It may begin before the one before it has ended, and waits then. */
extern "C" __global__ void dependent(const int *from, int *to, unsigned salt)
{
    int i = place();
    cudaGridDependencySynchronize();
    to[i] = from[i] + mixed(i + salt);
}

/* ---- registers --------------------------------------------------------------------------------------- */

/* What is read is needed at once, and not before all has been read. */
static __device__ __forceinline__ void hold(const int *from, int *to, unsigned salt)
{
    __shared__ unsigned factor;
    unsigned held[HELD], sum = 0;
#pragma unroll
    for (int k = 0; k < HELD; k++)
        held[k] = (unsigned)from[threadIdx.x + 48 * k];
    if (threadIdx.x == 0)
        factor = salt | 1;
    __syncthreads();
    const unsigned f = factor;
#pragma unroll
    for (int k = 0; k < HELD; k++)
        sum = sum * f + held[k];
    to[place()] = (int)(sum + (unsigned)mixed(place() + salt));
}

/* The sum, without the three that verify() has. */
static int held_more(unsigned salt)
{
    unsigned sum = 0;
    for (int k = 0; k < HELD; k++)
        sum = sum * (salt | 1) + THREE;
    return (int)(sum - THREE);
}

extern "C" __global__ void __launch_bounds__(WIDE) bounded(const int *from, int *to, unsigned salt) { hold(from, to, salt); }
/* As many registers as a thread of such a block may have, or nearly: the compiler does not know. */
extern "C" __global__ void many_registers(const int *from, int *to, unsigned salt) { hold(from, to, salt); }

/* ---- parameters and variables ---------------------------------------------------------------------------- */

struct arrays {
    int       scale;
    const int *from;
    int       *to[2];
};

extern "C" __global__ void by_structure(arrays a, unsigned salt)
{
    int i = place();
    a.to[1][i] = a.from[i] * a.scale + mixed(i + salt);
}

__device__ int   steps = 5;
__constant__ int table[2];
__managed__ int  moved;

extern "C" __global__ void variables(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = from[i] + steps + table[i & 1] + moved + mixed(i + salt);
}

#define TEN(X, d) X(d##0) X(d##1) X(d##2) X(d##3) X(d##4) X(d##5) X(d##6) X(d##7) X(d##8) X(d##9)
#define FORTY(X)  TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4)
#define DECLARE(n) __device__ int variable_##n = 1;
#define ADD(n)     +variable_##n
FORTY(DECLARE)

extern "C" __global__ void forty_variables(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = from[i] + mixed(i + salt) FORTY(ADD);
}

/* ---- what says something, and what accesses nothing -------------------------------------------------------- */

extern "C" __global__ void talks(const int *from, int *to, unsigned salt)
{
    int i = place();
    assert(from[i] == THREE);
    to[i] = from[i] + mixed(i + salt);
    if (i == N - 1)
        printf("the last element is %d\n", from[i]);
}

/* Its sum is in shared memory, and it traps when that is wrong. */
extern "C" __global__ void no_memory(int of, int sum)
{
    __shared__ int tile[BLOCK];
    tile[threadIdx.x] = of * (int)threadIdx.x;
    __syncthreads();
    for (int half = BLOCK / 2; half; half /= 2) {
        if (threadIdx.x < half)
            tile[threadIdx.x] += tile[threadIdx.x + half];
        __syncthreads();
    }
    if (tile[0] != sum)
        __trap();
}

/* ---- the host ------------------------------------------------------------------------------------------------ */

static cudaLaunchConfig_t with(cudaLaunchAttribute *attribute)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(N / BLOCK), config.blockDim = dim3(BLOCK), config.attrs = attribute, config.numAttrs = 1;
    return config;
}

static void launches(const int *from)
{
    int                *to = room<int>(N), *between = room<int>(N);
    unsigned            salt = 1u << 16;
    void               *args[] = {&from, &between, &to, &salt};
    cudaLaunchAttribute cluster = {}, serial = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = CLUSTER, cluster.val.clusterDim.y = 1, cluster.val.clusterDim.z = 1;
    serial.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    serial.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t clusters = with(&cluster), behind = with(&serial);
    CK(cudaLaunchCooperativeKernel(cooperative, dim3(N / BLOCK), dim3(BLOCK), args, 0, nullptr));
    verify("cooperative", to, salt);
    CK(cudaLaunchKernelEx(&clusters, clustered, from, to = room<int>(N), 2u << 16));
    verify("clustered", to, 2u << 16, CLUSTER);
    clustered_by_code<<<N / BLOCK, BLOCK>>>(from, to = room<int>(N), 3u << 16);
    verify("clustered_by_code", to, 3u << 16, CLUSTER);
    CK(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    dynamic_shared<<<N / BLOCK, BLOCK, SHARED>>>(from, to = room<int>(N), 4u << 16);
    verify("dynamic_shared", to, 4u << 16);
    CK(cudaLaunchKernelEx(&behind, dependent, from, to = room<int>(N), 5u << 16));
    verify("dependent", to, 5u << 16);
}

static void registers(const int *from)
{
    cudaFuncAttributes of;
    int               *to = nullptr;
    CK(cudaFuncGetAttributes(&of, many_registers));
    MUST(of.maxThreadsPerBlock >= WIDE);
    truth("many_registers %d", of.numRegs);
    bounded<<<N / WIDE, WIDE>>>(from, to = room<int>(N), 6u << 16);
    verify("bounded", to, 6u << 16, held_more(6u << 16));
    many_registers<<<N / WIDE, WIDE>>>(from, to = room<int>(N), 7u << 16);
    verify("many_registers", to, 7u << 16, held_more(7u << 16));
}

static void names(const int *from)
{
    const int entries[2] = {7, 7};
    arrays    a = {2, from, {nullptr, room<int>(N)}};
    int      *to = nullptr;
    by_structure<<<N / BLOCK, BLOCK>>>(a, 8u << 16);
    verify("by_structure", a.to[1], 8u << 16, THREE);
    CK(cudaMemcpyToSymbol(table, entries, sizeof entries));
    moved = 11;
    variables<<<N / BLOCK, BLOCK>>>(from, to = room<int>(N), 9u << 16);
    verify("variables", to, 9u << 16, 5 + 7 + 11);
    forty_variables<<<N / BLOCK, BLOCK>>>(from, to = room<int>(N), 10u << 16);
    verify("forty_variables", to, 10u << 16, 40);
}

int main()
{
    const int *from = threes();
    int       *to = nullptr;
    launches(from);
    registers(from);
    names(from);
    talks<<<N / BLOCK, BLOCK>>>(from, to = room<int>(N), 11u << 16);
    verify("talks", to, 11u << 16);
    no_memory<<<4, BLOCK>>>(3, 3 * BLOCK * (BLOCK - 1) / 2);
    CK(cudaDeviceSynchronize());
    puts("no_memory is right");
    return 0;
}
