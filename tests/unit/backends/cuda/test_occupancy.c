/* test_occupancy.c - occupancy, which is compared with NVIDIA's own calculator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "played.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

static void compare(const struct sonde_cuda_device *d, const cudaOccDeviceProp *p, int threads, int registers, int shared)
{
    const cudaOccFuncAttributes f = {
        .maxThreadsPerBlock = 1024,
        .numRegs = registers,
        .maxDynamicSharedSizeBytes = 232448,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
    };
    const cudaOccDeviceState s = {.cacheConfig = CACHE_PREFER_SHARED, .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    cudaOccResult r = {0};
    assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(&r, p, &f, &s, threads, (size_t)shared), CUDA_OCC_SUCCESS);
    if (r.activeBlocksPerMultiprocessor == 0)
        return; /* such a kernel does not start, so there is no record of it */
    const struct sonde_occupancy o = sonde__cuda_occupancy(d, (uint64_t)threads, (uint32_t)registers, (uint32_t)shared, 0);
    if ((int)o.blocks != r.activeBlocksPerMultiprocessor)
        fail_msg("%d.%d, %d threads, %d registers, %d bytes: %u blocks, NVIDIA says %d", d->major, d->minor, threads,
                 registers, shared, o.blocks, r.activeBlocksPerMultiprocessor);
    const int warps = (threads + 31) / 32;
    assert_int_equal(o.thousandths, r.activeBlocksPerMultiprocessor * warps * 1000 / (d->max_threads / 32));
}

static void occupancy_is_nvidias(void **state)
{
    (void)state;
    /* Figures of the CUDA programming guide, "Technical Specifications per Compute Capability". */
    static const struct { int major, minor, threads, blocks, shared, block_shared, reserved; } archs[] = {
        {7, 0, 2048, 32, 98304, 98304, 0},
        {7, 5, 1024, 16, 65536, 65536, 0},
        {8, 0, 2048, 32, 167936, 166912, 1024},
        {8, 6, 1536, 16, 102400, 101376, 1024},
        {8, 9, 1536, 24, 102400, 101376, 1024},
        {9, 0, 2048, 32, 233472, 232448, 1024},
        {10, 0, 2048, 32, 233472, 232448, 1024},
        {12, 0, 1536, 24, 102400, 101376, 1024},
    };
    for (unsigned a = 0; a < sizeof archs / sizeof *archs; a++) {
        const struct sonde_cuda_device d = {
            .major = archs[a].major,
            .minor = archs[a].minor,
            .max_threads = archs[a].threads,
            .max_blocks = archs[a].blocks,
            .max_registers = 65536,
            .max_shared = archs[a].shared,
            .reserved_shared = archs[a].reserved,
            .multiprocessors = 100,
        };
        const cudaOccDeviceProp p = {
            .computeMajor = archs[a].major,
            .computeMinor = archs[a].minor,
            .maxThreadsPerBlock = 1024,
            .maxThreadsPerMultiprocessor = archs[a].threads,
            .regsPerBlock = 65536,
            .regsPerMultiprocessor = 65536,
            .warpSize = 32,
            .sharedMemPerBlock = 49152,
            .sharedMemPerMultiprocessor = (size_t)archs[a].shared,
            .numSms = 100,
            .sharedMemPerBlockOptin = (size_t)archs[a].block_shared,
            .reservedSharedMemPerBlock = (size_t)archs[a].reserved,
        };
        for (int threads = 1; threads <= 1024; threads += threads < 64 ? 9 : 61)
            for (int registers = 8; registers <= 255; registers += 13)
                for (int shared = 0; shared <= archs[a].block_shared - 1024; shared += shared < 8192 ? 1000 : 11111)
                    compare(&d, &p, threads, registers, shared);
    }
}

static void the_limit_is_named(void **state)
{
    (void)state;
    const struct sonde_cuda_device h = {
        .major = 9,
        .max_threads = 2048,
        .max_blocks = 32,
        .max_registers = 65536,
        .max_shared = 233472,
        .reserved_shared = 1024,
        .multiprocessors = 132,
    };
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 32, 0, 100000).limiter, SONDE_LIMITER_NONE);
    assert_int_equal(sonde__cuda_occupancy(&h, 32, 32, 0, 100000).limiter, SONDE_LIMITER_BLOCKS);
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 128, 0, 100000).limiter, SONDE_LIMITER_REGISTERS);
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 32, 100000, 100000).limiter, SONDE_LIMITER_SHARED);
    assert_int_equal(sonde__cuda_occupancy(&h, 768, 32, 0, 100000).limiter, SONDE_LIMITER_THREADS);
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 32, 0, 132).limiter, SONDE_LIMITER_GRID);
    assert_int_equal(sonde__cuda_occupancy(&h, 256, 32, 0, 132).thousandths, 1000);
    assert_int_equal(sonde__cuda_occupancy(&h, 0, 32, 0, 1).thousandths, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(occupancy_is_nvidias),
        TEST(the_limit_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
