/* habits.cu - every habit that a rule of the advice knows, each in a function of its own and so many times. What must be
 * found of it is written down in known.py. */
#include "common.h"

enum { TURNS = 40, PIECES = 64, PIECE = 1000, LARGE = 4 << 20, COPIES = 10, PINNED_COPIES = 2, THIN = 10, ROUNDS = 20 };
#define TURN_NS 200000ull

extern "C" __global__ void add(int *p)
{
    if (threadIdx.x == 0)
        atomicAdd(p, 1);
}

/* The room that it asks for leaves most of a multiprocessor empty. */
extern "C" __global__ void thin(int *p)
{
    extern __shared__ int room[];
    wait_ns(10000);
    room[threadIdx.x] = 1;
    if (threadIdx.x == 0)
        atomicAdd(p, room[0]);
}

extern "C" __global__ void turn(int *p)
{
    wait_ns(TURN_NS);
    if (threadIdx.x == 0)
        atomicAdd(p, 1);
}

static cudaStream_t stream;
static char        *pageable, *pinned, *device;
static int         *sum;

/* Kernel, wait, small copy: the copy waits for the kernel itself. */
NOINLINE static int waits_for_nothing()
{
    int host = 0;
    for (int i = 0; i < TURNS; i++) {
        add<<<1, 256, 0, stream>>>(sum);
        CK(cudaStreamSynchronize(stream));
        CK(cudaMemcpyAsync(&host, sum, sizeof host, cudaMemcpyDeviceToHost, stream));
    }
    return host;
}

NOINLINE static void copies_piece_by_piece()
{
    for (int i = 0; i < PIECES; i++)
        CK(cudaMemcpyAsync(device + i * PIECE, pinned + i * PIECE, PIECE, cudaMemcpyHostToDevice, stream));
    CK(cudaStreamSynchronize(stream));
}

NOINLINE static void copies_pageable_memory()
{
    for (int i = 0; i < COPIES; i++)
        CK(cudaMemcpy(device, pageable, LARGE, cudaMemcpyHostToDevice));
}

NOINLINE static void copies_pinned_memory()
{
    for (int i = 0; i < PINNED_COPIES; i++)
        CK(cudaMemcpyAsync(device, pinned, LARGE, cudaMemcpyHostToDevice, stream));
    CK(cudaDeviceSynchronize());
}

NOINLINE static void cannot_fill_the_device()
{
    for (int i = 0; i < THIN; i++)
        thin<<<2000, 128, 40000, stream>>>(sum);
    CK(cudaDeviceSynchronize());
}

/* Two streams that could work at once; each kernel of the default stream between them waits for both, and both for it. */
NOINLINE static void takes_turns()
{
    cudaStream_t one, other;
    CK(cudaStreamCreate(&one));
    CK(cudaStreamCreate(&other));
    for (int i = 0; i < ROUNDS; i++) {
        turn<<<1, 256, 0, one>>>(sum);
        turn<<<1, 256>>>(sum);
        turn<<<1, 256, 0, other>>>(sum);
        turn<<<1, 256>>>(sum);
    }
    CK(cudaDeviceSynchronize());
    CK(cudaStreamDestroy(one));
    CK(cudaStreamDestroy(other));
}

NOINLINE static void allocates()
{
    int *scratch;
    for (int i = 0; i < TURNS; i++) {
        CK(cudaMalloc(&scratch, 1 << 20));
        add<<<1, 256, 0, stream>>>(scratch);
        CK(cudaStreamSynchronize(stream));
        CK(cudaFree(scratch));
    }
}

static void tell()
{
    int blocks = 0, threads = 0;
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, thin, 128, 40000));
    CK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    truth("thin.occupancy %d", (int)(1000.0 * blocks * 128 / threads + 0.5));
}

int main()
{
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CK(cudaMalloc(&device, LARGE));
    CK(cudaMalloc(&sum, sizeof *sum));
    CK(cudaMallocHost(&pinned, LARGE));
    pageable = (char *)malloc(LARGE);
    memset(pageable, 1, LARGE);
    memset(pinned, 2, LARGE);
    CK(cudaMemset(sum, 0, sizeof *sum));
    CK(cudaDeviceSynchronize());
    tell();
    MUST(waits_for_nothing() == TURNS);
    copies_piece_by_piece();
    copies_pageable_memory();
    copies_pinned_memory();
    cannot_fill_the_device();
    takes_turns();
    allocates();
    int host = 0;
    char last[2];
    CK(cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(last, device + LARGE - sizeof last, sizeof last, cudaMemcpyDeviceToHost));
    MUST(host == TURNS + THIN * 2000 + 4 * ROUNDS);
    MUST(last[0] == 2 && last[1] == 2);
    CK(cudaFree(sum));
    CK(cudaFree(device));
    CK(cudaFreeHost(pinned));
    free(pageable);
    puts("habits");
    return 0;
}
