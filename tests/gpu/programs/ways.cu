/* ways.cu - kernels that reach memory in every way that CUDA has, and that call functions. */
#include "codes.h"

#include <mma.h>

enum { TILE = 16, LONG = 16 };

/* ---- textures, surfaces, matrices ---------------------------------------------------------------------- */

extern "C" __global__ void texture(cudaTextureObject_t from, int *to, unsigned salt)
{
    int i = place();
    to[i] = tex1Dfetch<int>(from, i) + mixed(i + salt);
}

/* Rows of 64. */
extern "C" __global__ void surface(const int *from, cudaSurfaceObject_t to, unsigned salt)
{
    int i = place();
    surf2Dwrite(from[i] + mixed(i + salt), to, i % 64 * (int)sizeof(int), i / 64);
}

/* All of `half_ones` are one: each sum is of 16 of them. */
extern "C" __global__ void matrices(const int *from, const half *half_ones, float *sums, int *to, unsigned salt)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, TILE, TILE, TILE, half, row_major> a;
    fragment<matrix_b, TILE, TILE, TILE, half, col_major> b;
    fragment<accumulator, TILE, TILE, TILE, float>        c;
    fill_fragment(c, 0.f);
    load_matrix_sync(a, half_ones, TILE);
    load_matrix_sync(b, half_ones, TILE);
    mma_sync(c, a, b, c);
    store_matrix_sync(sums, c, TILE, mem_row_major);
    to[threadIdx.x] = from[threadIdx.x] + mixed(threadIdx.x + salt);
}

/* ---- inline assembly --------------------------------------------------------------------------------------- */

static __device__ __forceinline__ int scoped_load(const int *at)
{
    int value;
    asm volatile("{\n\t.reg .u64 at;\n\t.reg .s32 v;\n\tcvta.to.global.u64 at, %1;\n\tld.global.s32 v, [at];\n\tmov.s32 %0, v;\n\t}"
                 : "=r"(value) : "l"(at) : "memory");
    return value;
}

/* Names that are declared again and again, each in its scope. */
extern "C" __global__ void scopes(const int *from, int *to, unsigned salt)
{
    int i = place(), value = scoped_load(from + i) + scoped_load(from + (i ^ 1)) + mixed(i + salt);
    asm volatile("{\n\t.reg .s32 v;\n\tmov.s32 v, %1;\n\t{\n\t.reg .u64 v;\n\tcvta.to.global.u64 v, %0;\n\tst.global.s32 [v], %1;\n\t}\n\t}"
                 : : "l"(to + i), "r"(value) : "memory");
}

/* Loads with all that may stand behind ld. */
extern "C" __global__ void hints(const int *from, int *to, unsigned salt)
{
    int      i = place(), v[5], w[2];
    uint64_t at = __cvta_generic_to_global(from + i), even = __cvta_generic_to_global(from + (i & ~1)), policy;
    asm volatile("prefetch.global.L2 [%0];" : : "l"(at));
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.s32 %0, [%1];" : "=r"(v[0]) : "l"(at));
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(v[1]) : "l"(at));
    asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(v[2]) : "l"(at));
    asm volatile("ld.global.L2::cache_hint.s32 %0, [%1], %2;" : "=r"(v[3]) : "l"(at), "l"(policy));
    asm volatile("ld.acquire.sys.global.s32 %0, [%1+0];" : "=r"(v[4]) : "l"(at));
    asm volatile("ld.global.v2.s32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(even));
    to[i] = v[0] + v[1] + v[2] + v[3] + v[4] + w[0] + w[1] + mixed(i + salt);
}

/* ---- copies that run by themselves ------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

extern "C" __global__ void copy_async(const int *from, int *to, unsigned salt)
{
    __shared__ int tile[BLOCK];
    int            i = place();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(shared_at(tile + threadIdx.x)), "l"(__cvta_generic_to_global(from + i)) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" : : : "memory");
    __syncthreads();
    to[i] = tile[BLOCK - 1 - threadIdx.x] + from[i] + mixed(i + salt);
}

/* Odd threads copy nothing: zeros come instead. */
extern "C" __global__ void copy_async_sized(const int *from, int *to, unsigned salt)
{
    __shared__ int tile[BLOCK];
    int            i = place();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 : : "r"(shared_at(tile + threadIdx.x)), "l"(__cvta_generic_to_global(from + i)), "r"(i & 1 ? 0 : 4) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" : : : "memory");
    __syncthreads();
    to[i] = tile[threadIdx.x ^ 1] + tile[threadIdx.x] + mixed(i + salt);
}

/* One thread has the copy engine fetch what the block reads. */
extern "C" __global__ void bulk(const int *from, int *to, unsigned salt)
{
    __shared__ alignas(128) int tile[BLOCK];
    __shared__ uint64_t barrier;
    int                 i = place();
    uint32_t            done = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(shared_at(&barrier)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(shared_at(&barrier)), "r"((int)sizeof tile) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     : : "r"(shared_at(tile)), "l"(__cvta_generic_to_global(from + i)), "r"((int)sizeof tile), "r"(shared_at(&barrier)) : "memory");
    }
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done) : "r"(shared_at(&barrier)) : "memory");
    to[i] = tile[threadIdx.x] + mixed(i + salt);
}

/* ---- pointers and atomics ----------------------------------------------------------------------------------- */

/* Odd threads read shared memory through the same instruction. */
extern "C" __global__ void either(const int *from, int *to, unsigned salt)
{
    __shared__ int tile[BLOCK];
    int            i = place();
    tile[threadIdx.x] = THREE;
    __syncthreads();
    const int *at = i & 1 ? tile + threadIdx.x : from + i;
    to[i] = *(const volatile int *)at + mixed(i + salt);
}

/* Into 16 sums, each of N / 16 threes. */
extern "C" __global__ void atomics(const int *from, int *sums)
{
    int i = place();
    atomicAdd(sums + i % TILE, from[i]);
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

static __device__ __noinline__ int own(const int *p, int i) { return p[i]; }
static __device__ __noinline__ int other(const int *p, int i) { return p[i ^ 1]; }
typedef int reader(const int *, int);
__device__ reader *const readers[] = {own, other};

extern "C" __global__ void calls(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = own(from, i) + mixed(i + salt);
}

extern "C" __global__ void calls_pointer(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = readers[(i + salt) & 1](from, i) + mixed(i + salt);
}

/* Named as the compiler names its own; volatile, so that the load stays where it is. */
extern "C" __device__ __noinline__ int __internal_of_the_user(const volatile int *p) { return *p; }

extern "C" __global__ void calls_internal(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = __internal_of_the_user(from + i) + mixed(i + salt);
}

/* The device's own heap. */
extern "C" __global__ void allocates(const int *from, int *to, unsigned salt)
{
    int  i = place();
    int *p = (int *)malloc(LONG * sizeof(int));
    if (!p)
        __trap();
    p[i % LONG] = from[i];
    to[i] = ((volatile int *)p)[i % LONG] + mixed(i + salt);
    free(p);
}

/* ---- the host ------------------------------------------------------------------------------------------------------ */

static void textures(int *from)
{
    const unsigned        salt = 1u << 16;
    cudaResourceDesc      resource = {};
    cudaTextureDesc       how = {};
    cudaTextureObject_t   object;
    int                  *to = nullptr;
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = from;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = N * sizeof(int);
    CK(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    texture<<<N / BLOCK, BLOCK>>>(object, to = room<int>(N), salt);
    verify("texture", to, salt);
}

static void surfaces(const int *from)
{
    const unsigned        salt = 2u << 16;
    cudaResourceDesc      resource = {};
    cudaSurfaceObject_t   object;
    cudaArray_t           array;
    cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();
    int                  *to = room<int>(N);
    CK(cudaMallocArray(&array, &ints, 64, N / 64, cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CK(cudaCreateSurfaceObject(&object, &resource));
    surface<<<N / BLOCK, BLOCK>>>(from, object, salt);
    CK(cudaMemcpy2DFromArray(to, 64 * sizeof(int), array, 0, 0, 64 * sizeof(int), N / 64, cudaMemcpyDeviceToDevice));
    verify("surface", to, salt);
}

static void sums_of_matrices(const int *from)
{
    static float   host[TILE * TILE];
    const unsigned salt = 3u << 16;
    half          *half_ones = filled<half>(TILE * TILE, [](int) { return half(1.f); });
    float         *sums = room<float>(TILE * TILE);
    int           *to = room<int>(32);
    matrices<<<1, 32>>>(from, half_ones, sums, to, salt);
    CK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < TILE * TILE; i++)
        MUST(host[i] == TILE);
    verify("matrices", to, salt, 0, 32);
}

typedef void kernel(const int *, int *, unsigned);

static void run(const char *name, kernel *k, const int *from, unsigned salt, int more = 0)
{
    int *to = room<int>(N);
    k<<<N / BLOCK, BLOCK>>>(from, to, salt);
    verify(name, to, salt, more);
}

static void sums_of_atomics(const int *from)
{
    int host[TILE], *sums = filled<int>(TILE, [](int i) { return i; });
    atomics<<<N / BLOCK, BLOCK>>>(from, sums);
    CK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < TILE; i++)
        MUST(host[i] == i + THREE * N / TILE);
    puts("atomics is right");
}

int main()
{
    int *from = threes();
    textures(from);
    surfaces(from);
    sums_of_matrices(from);
    run("scopes", scopes, from, 4u << 16, THREE);
    run("hints", hints, from, 5u << 16, 6 * THREE);
    run("copy_async", copy_async, from, 6u << 16, THREE);
    run("copy_async_sized", copy_async_sized, from, 7u << 16);
    run("bulk", bulk, from, 8u << 16);
    run("either", either, from, 9u << 16);
    sums_of_atomics(from);
    run("calls", calls, from, 10u << 16);
    run("calls_pointer", calls_pointer, from, 11u << 16);
    run("calls_internal", calls_internal, from, 12u << 16);
    run("allocates", allocates, from, 13u << 16);
    return 0;
}
