/* play.c - a program with kernels whose accesses are known, on the driver that is made up. play [LAUNCHES] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sanitizer_patching.h>

#include "made.h"

enum { N = 64,
       PC = 0x100 };
#define CODE 0x7f0000000000ull

static struct made_access access_of(int at, unsigned bytes, unsigned flags, unsigned mask)
{
    return (struct made_access){.pc = CODE + (uint64_t)(PC + at * 16), .bytes = bytes, .flags = flags, .mask = mask};
}

/* Each thread of two full warps reads 4 bytes of one and writes 4 of the other: its own number, less 10. */
static void read_zeros(void *data, void **parameters)
{
    const uint64_t from = *(const CUdeviceptr *)parameters[0], to = *(const CUdeviceptr *)parameters[1];
    for (unsigned warp = 0; data && warp < N / 32; warp++) {
        struct made_access load = access_of(0, 4, SANITIZER_MEMORY_DEVICE_FLAG_READ, ~0u), store = access_of(1, 4, SANITIZER_MEMORY_DEVICE_FLAG_WRITE, ~0u);
        for (unsigned lane = 0; lane < 32; lane++) {
            load.address[lane] = from + 4 * (warp * 32 + lane);
            store.address[lane] = to + 4 * (warp * 32 + lane);
            store.value[lane][0] = (uint32_t)((int)(warp * 32 + lane) - 10);
        }
        made_warp(data, 77 * warp, &load);
        made_warp(data, 77 * warp, &store);
    }
}

/* 12 threads of a warp write the same 16 bytes, a double twice; half of them into each buffer, and one where nothing is known to be. */
static void write_same(void *data, void **parameters)
{
    static uint64_t elsewhere[2];
    const uint64_t first = *(const CUdeviceptr *)parameters[0], second = *(const CUdeviceptr *)parameters[1];
    struct made_access store = access_of(2, 16, SANITIZER_MEMORY_DEVICE_FLAG_WRITE, 0x00fff000), atomic = access_of(3, 4, 3, 0xf),
                       async = access_of(4, 16, 0, 0xffff);
    const double value = 2.5;
    for (unsigned lane = 0; lane < 32; lane++) {
        store.address[lane] = (lane % 2 ? second : first) + 16 * (lane % 8);
        memcpy(&store.value[lane][0], &value, sizeof value);
        memcpy(&store.value[lane][1], &value, sizeof value);
        async.address[lane] = lane == 3 ? 0 : first + 128;
        atomic.address[lane] = first;
    }
    store.address[13] = (uintptr_t)elsewhere;
    async.async = true;
    if (data) {
        made_warp(data, 5, &store);
        made_warp(data, 5, &atomic);
        made_warp(data, 5, &async);
    }
}

/* Which instruction of its kernel an access is: MADE_PLACES has them in order, of a kernel that is not of run.py's making. */
static int place_of(unsigned access)
{
    const char *at = getenv("MADE_PLACES");
    for (unsigned i = 0; at && i < access; i++)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return at ? (int)strtol(at, NULL, 10) - PC / 16 : 5 + (int)access;
}

/* A warp's access, each thread to its own elements. */
static void access_all(void *data, unsigned at, unsigned bytes, unsigned flags, uint64_t address, const void *values)
{
    struct made_access a = access_of(place_of(at), bytes, flags, ~0u);
    for (unsigned lane = 0; lane < 32; lane++) {
        a.address[lane] = address + bytes * lane;
        if (values)
            memcpy(a.value[lane], (const char *)values + bytes * lane, bytes);
    }
    if (data)
        made_warp(data, 1, &a);
}

/* Loads of doubles that a float holds, of floats that are nearly one, of vectors of four small integers, of large numbers without a sign, of
 * doubles of which one is infinite; a store of vectors of two floats that are nearly one, and below 0. run.py has the code. */
static void typed(void *data, void **parameters)
{
    float below[32][2];
    for (int i = 0; i < 64; i++)
        below[i / 2][i % 2] = -3.f - (float)i * 1e-6f;
    access_all(data, 0, 8, SANITIZER_MEMORY_DEVICE_FLAG_READ, *(const CUdeviceptr *)parameters[0], NULL);
    access_all(data, 1, 4, SANITIZER_MEMORY_DEVICE_FLAG_READ, *(const CUdeviceptr *)parameters[1], NULL);
    access_all(data, 2, 16, SANITIZER_MEMORY_DEVICE_FLAG_READ, *(const CUdeviceptr *)parameters[2], NULL);
    access_all(data, 3, 8, SANITIZER_MEMORY_DEVICE_FLAG_WRITE, *(const CUdeviceptr *)parameters[3], below);
    access_all(data, 4, 4, SANITIZER_MEMORY_DEVICE_FLAG_READ, *(const CUdeviceptr *)parameters[4], NULL);
    access_all(data, 5, 8, SANITIZER_MEMORY_DEVICE_FLAG_READ, *(const CUdeviceptr *)parameters[5], NULL);
}

/* ---- other memory: the host's ----------------------------------------------------------------------------------- */

static bool is_remote(void)
{
    return getenv("MADE_REMOTE") != NULL;
}

static CUdeviceptr allocate(size_t bytes)
{
    void *host = NULL;
    CUdeviceptr at = 0;
    if (is_remote())
        cuMemHostAlloc(&host, bytes, 0);
    else
        cuMemAlloc_v2(&at, bytes);
    return host ? (uintptr_t)host : at;
}

/* Of each warp the odd lanes go to the device, every fourth to the host's second allocation, and the others to the first: loads of 8 bytes, stores of 2, atomics of 4;
 * 16 lanes copy 16 bytes from the host; bulk copies of three pieces to the host, five from it and two that are added there, and one on the device. */
static void both(void *data, void **parameters)
{
    const uint64_t own = *(const CUdeviceptr *)parameters[0], first = *(const CUdeviceptr *)parameters[1], second = *(const CUdeviceptr *)parameters[2];
    struct made_access load = access_of(10, 8, SANITIZER_MEMORY_DEVICE_FLAG_READ, ~0u), store = access_of(11, 2, SANITIZER_MEMORY_DEVICE_FLAG_WRITE, ~0u),
                       atomic = access_of(12, 4, SANITIZER_MEMORY_DEVICE_FLAG_READ | SANITIZER_MEMORY_DEVICE_FLAG_WRITE, ~0u), async = access_of(13, 16, 0, 0xffff);
    struct made_access bulk[] = {access_of(14, 16, 0, 1), access_of(15, 16, 0, 1), access_of(16, 16, 0, ~0u), access_of(17, 16, 0, 1)};
    for (unsigned lane = 0; lane < 32; lane++) {
        load.address[lane] = (lane % 2 ? own : (lane % 4 ? first : second)) + 8 * lane;
        store.address[lane] = load.address[lane];
        atomic.address[lane] = load.address[lane];
        async.address[lane] = first;
        for (unsigned k = 0; k < 4; k++)
            bulk[k].address[lane] = k == 3 ? own : first;
    }
    async.async = true;
    bulk[0].bulk = bulk[3].bulk = SondeBulkStore;
    bulk[1].bulk = made_bulk_load;
    bulk[2].bulk = SondeBulkAtomic;
    bulk[0].pieces = bulk[3].pieces = 3;
    bulk[1].pieces = 5;
    bulk[2].pieces = 2;
    for (unsigned warp = 0; data && warp < *(const unsigned *)parameters[3]; warp++) {
        made_warp(data, 40 * warp, &load);
        made_warp(data, 40 * warp, &store);
        made_warp(data, 40 * warp, &atomic);
        made_warp(data, 40 * warp, &async);
        for (unsigned k = 0; k < 4; k++)
            made_warp(data, 40 * warp, &bulk[k]);
    }
}

static void launch_both(CUstream stream)
{
    static struct made_kernel kernel = {"both", both};
    CUdeviceptr own, first = allocate(512), second = allocate(512);
    cuMemAlloc_v2(&own, 512);
    unsigned warps;
    void *parameters[] = {&own, &first, &second, &warps};
    const unsigned launches = (unsigned)atoi(getenv("MADE_REMOTE"));
    for (unsigned k = 0; k < launches; k++) {
        warps = launches > 2 ? 1 + k * k % 7 : 3; /* run.py knows it */
        cuLaunchKernel((CUfunction)(void *)&kernel, 3, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
    }
}

/* ---- guesses: 16 warps, of which the first eight leave the samples ------------------------------------------- */

enum { WARPS = 16,
       GUESSED = 32 }; /* its first access, behind those of `typed`: run.py has the code of both */

/* Loads and a store, each of all elements of its own buffer. */
static const struct guessed_access {
    unsigned bytes; /* of a thread */
    unsigned flags;
} guessed_accesses[] = {{4, SANITIZER_MEMORY_DEVICE_FLAG_READ}, {4, SANITIZER_MEMORY_DEVICE_FLAG_READ}, {8, SANITIZER_MEMORY_DEVICE_FLAG_READ}, {16, SANITIZER_MEMORY_DEVICE_FLAG_READ}, {2, SANITIZER_MEMORY_DEVICE_FLAG_READ}, {4, SANITIZER_MEMORY_DEVICE_FLAG_READ}, {4, SANITIZER_MEMORY_DEVICE_FLAG_READ}, {8, SANITIZER_MEMORY_DEVICE_FLAG_WRITE}};
enum { ACCESSES = sizeof guessed_accesses / sizeof *guessed_accesses };

static void guessed(void *data, void **parameters)
{
    for (unsigned at = 0; data && at < ACCESSES; at++)
        for (unsigned warp = 0; warp < WARPS; warp++) {
            const unsigned bytes = guessed_accesses[at].bytes;
            struct made_access a = access_of(GUESSED + (int)at, bytes, guessed_accesses[at].flags, ~0u);
            for (unsigned lane = 0; lane < 32; lane++) {
                a.address[lane] = *(const CUdeviceptr *)parameters[at] + bytes * (warp * 32 + lane);
                if (a.flags == SANITIZER_MEMORY_DEVICE_FLAG_WRITE) /* what is there already */
                    memcpy(a.value[lane], (const void *)(uintptr_t)a.address[lane], bytes);
            }
            made_warp(data, 11 * warp, &a);
        }
}

/* Numbers that nothing is common to. */
static int32_t mixed(uint32_t i)
{
    i = (i ^ i >> 16) * 0x7feb352du;
    i = (i ^ i >> 15) * 0x846ca68bu;
    return (int32_t)(i ^ i >> 16);
}

/* Integers of which 60 % are 5; floats, 95 % on a line; doubles, all on one; vectors of four floats, of which 60 % are 2.5; shorts on a
 * line modulo their type; integers of which 40 % are 5; floats, 85 % on a line; integers of 8 bytes, all on one. */
static void launch_guessed(CUstream stream)
{
    static struct made_kernel kernel = {"typed", guessed};
    CUdeviceptr at[ACCESSES];
    void *parameters[ACCESSES];
    for (unsigned k = 0; k < ACCESSES; k++) {
        cuMemAlloc_v2(&at[k], (size_t)WARPS * 32 * guessed_accesses[k].bytes);
        parameters[k] = &at[k];
    }
    for (int i = 0; i < WARPS * 32; i++) {
        ((int32_t *)(uintptr_t)at[0])[i] = i % 10 < 6 ? 5 : mixed((uint32_t)i);
        ((float *)(uintptr_t)at[1])[i] = i % 20 == 7 ? (float)mixed((uint32_t)i) : 3 - 0.5f * (float)i;
        ((double *)(uintptr_t)at[2])[i] = 3 + (0.125 + 0x1p-33) * i;
        ((int16_t *)(uintptr_t)at[4])[i] = (int16_t)(300 * i);
        ((int32_t *)(uintptr_t)at[5])[i] = i % 10 < 4 ? 5 : mixed((uint32_t)i);
        ((float *)(uintptr_t)at[6])[i] = i % 20 % 7 == 2 ? (float)mixed((uint32_t)i) : 3 - 0.5f * (float)i;
        ((int64_t *)(uintptr_t)at[7])[i] = 10000000019 * i - 5;
    }
    for (int i = 0; i < WARPS * 128; i++)
        ((float *)(uintptr_t)at[3])[i] = i % 10 < 6 ? 2.5f : (float)mixed((uint32_t)i);
    for (int k = 0; k < 2; k++)
        cuLaunchKernel((CUfunction)(void *)&kernel, WARPS, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
}

static void launch_typed(CUstream stream)
{
    static struct made_kernel kernel = {"typed", typed};
    CUdeviceptr wide = allocate(32 * 8);
    CUdeviceptr near = allocate(32 * 4);
    CUdeviceptr small = allocate(32 * 16);
    CUdeviceptr below = allocate(32 * 8);
    CUdeviceptr large = allocate(32 * 4);
    CUdeviceptr infinite = allocate(32 * 8);
    for (int i = 0; i < 32; i++) {
        ((double *)(uintptr_t)wide)[i] = i % 2 ? 1 + i * 0.25 : 100.0 + i;
        ((float *)(uintptr_t)near)[i] = 1 + (float)i * 1e-6f;
        ((uint32_t *)(uintptr_t)large)[i] = UINT32_MAX - (uint32_t)i;
        ((double *)(uintptr_t)infinite)[i] = i ? i : (double)INFINITY;
    }
    for (int i = 0; i < 128; i++)
        ((int32_t *)(uintptr_t)small)[i] = i % 121 - 3;
    void *parameters[] = {&wide, &near, &small, &below, &large, &infinite};
    cuLaunchKernel((CUfunction)(void *)&kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
}

/* Eight threads read 8 bytes each; and four threads 2, in a function that kernels call. */
static void added(void *data, void **parameters)
{
    struct made_access load = access_of(0x100, 8, SANITIZER_MEMORY_DEVICE_FLAG_READ, 0xff), called = access_of(0x900, 2, SANITIZER_MEMORY_DEVICE_FLAG_READ, 0xf);
    for (unsigned lane = 0; lane < 32; lane++) {
        load.address[lane] = *(const CUdeviceptr *)parameters[1] + 8 * lane;
        called.address[lane] = *(const CUdeviceptr *)parameters[1] + 2 * lane;
    }
    if (data) {
        made_warp(data, 3, &load);
        made_warp(data, 3, &called);
    }
}

/* Kernels of a graph that is launched twice; where MADE_GRAPHS is set, so often from the second line. */
static void launch_graph(CUstream stream, void **parameters)
{
    static struct made_kernel captured = {"captured", read_zeros}, more = {"added", added};
    CUgraph graph;
    cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cuLaunchKernel((CUfunction)(void *)&captured, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
    cuLaunchKernel((CUfunction)(void *)&more, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
    cuStreamEndCapture(stream, &graph);
    cuGraphLaunch((CUgraphExec)(void *)graph, stream);
    for (int left = getenv("MADE_GRAPHS") ? atoi(getenv("MADE_GRAPHS")) : 1; left; left--)
        cuGraphLaunch((CUgraphExec)(void *)graph, stream);
}

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? atoi(argv[1]) : 3;
    static char bytes[4096];
    CUdeviceptr zeros, numbers, third;
    CUstream stream;
    made_begin();
    struct made_kernel reads = {"read_zeros", read_zeros}, writes = {"write_same", write_same};
    if (argc > 1)
        made_module(); /* else it is loaded late */
    cuStreamCreate(&stream, 0);
    cuMemAlloc_v2(&zeros, N * 4);
    cuMemAlloc_v2(&numbers, N * 4);
    cuMemsetD8Async(zeros, 0, N * 4, stream);
    cuMemcpyHtoDAsync_v2(numbers, bytes, N * 4, stream);
    void *parameters[] = {&zeros, &numbers}, *others[] = {&third, &numbers};
    for (int k = 0; k < launches; k++)
        cuLaunchKernel((CUfunction)(void *)&reads, 2, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
    cuMemAlloc_v2(&third, 256);
    memset((void *)(uintptr_t)third, 0, 256);
    cuLaunchKernel((CUfunction)(void *)&writes, 1, 1, 1, 32, 1, 1, 0, stream, others, NULL);
    launch_graph(stream, parameters);
    cuStreamSynchronize(stream);
    cuMemcpyDtoHAsync_v2(bytes, numbers, N * 4, stream);
    cuStreamSynchronize(stream);
    cuMemFree_v2(third);
    if (getenv("MADE_CODE"))
        launch_typed(stream);
    if (is_remote())
        launch_both(stream);
    if (getenv("MADE_GUESSED"))
        launch_guessed(stream);
    printf("patched %d switches %u unset %u\n", made_patched, made_switches, made_unset);
    return 0;
}
