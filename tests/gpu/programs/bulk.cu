/* bulk.cu - copies in bulk (sm_90): blocks store shared memory in another GPU's memory, add it there, and load from it. */
#include "common.h"

enum { BLOCKS = 24,
       WORDS = 512, /* of a block */
       TIMES = 3 };

static __device__ uint32_t shared_address(const void *at)
{
    return (uint32_t)__cvta_generic_to_shared(at);
}

static __device__ void fill(uint32_t *words)
{
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
        words[i] = blockIdx.x * WORDS + i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}

static __device__ void finish()
{
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}

extern "C" __global__ void bulk_store(uint32_t *to)
{
    alignas(16) __shared__ uint32_t words[WORDS];
    fill(words);
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + blockIdx.x * WORDS), "r"(shared_address(words)), "n"(WORDS * 4) : "memory"); // LINE bulk_store
        finish();
    }
}

extern "C" __global__ void bulk_add(uint32_t *to)
{
    alignas(16) __shared__ uint32_t words[WORDS];
    fill(words);
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to + blockIdx.x * WORDS), "r"(shared_address(words)), "n"(WORDS * 4) // LINE bulk_add
                     : "memory");
        finish();
    }
}

extern "C" __global__ void bulk_load(uint32_t *own, const uint32_t *from)
{
    alignas(16) __shared__ uint32_t words[WORDS];
    alignas(8) __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "n"(WORDS * 4) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(words)), "l"(from + blockIdx.x * WORDS),
                     "n"(WORDS * 4), "r"(shared_address(&barrier)) // LINE bulk_load
                     : "memory");
    }
    __syncthreads();
    asm volatile("{\n\t.reg .pred p;\nagain_%=:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n\t@!p bra again_%=;\n\t}" ::"r"(shared_address(&barrier)) : "memory");
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
        own[blockIdx.x * WORDS + i] = words[i];
}

int main()
{
    static uint32_t result[BLOCKS * WORDS];
    uint32_t *own, *other;
    int count, can;
    CK(cudaGetDeviceCount(&count));
    if (count < 2)
        return 77;
    CK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can)
        return 77;
    CK(cudaSetDevice(1));
    CK(cudaMalloc(&other, sizeof result)); // LINE other
    CK(cudaMemset(other, 0, sizeof result));
    CK(cudaDeviceSynchronize());
    CK(cudaSetDevice(0));
    CK(cudaDeviceEnablePeerAccess(1, 0));
    CK(cudaMalloc(&own, sizeof result));
    for (int k = 0; k < TIMES; k++) {
        bulk_store<<<BLOCKS, 64>>>(other);
        bulk_add<<<BLOCKS, 64>>>(other);
        bulk_load<<<BLOCKS, 64>>>(own, other);
        bulk_store<<<BLOCKS, 64>>>(own); /* its own memory: nothing to count */
        bulk_load<<<BLOCKS, 64>>>(own, other);
    }
    CK(cudaMemcpy(result, own, sizeof result, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; i < BLOCKS * WORDS; i++)
        MUST(result[i] == 2 * i);
    printf("%u\n", result[BLOCKS * WORDS - 1]);
    return 0;
}
