/* blocks.cu - kernels of which only some blocks are looked at (--values-blocks): what their values have in common follows from the source, and differs from
 * block to block. Prints what share of all that is.
 */
#include "common.h"

enum { BLOCKS = 420, BLOCK = 128, N = BLOCKS * BLOCK, TIMES = 6 };

static __device__ __forceinline__ int block() { return (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)); }
static __device__ __forceinline__ int place() { return block() * (int)blockDim.x + (int)threadIdx.x; }

/* How many of 16 threads have a 7: 15 in five blocks of eight, in no order, and 9 in the others. So whoever guesses, wherever it looks, guesses 7. */
static __host__ __device__ bool is_seven(int i) { return i % 16 < ((((unsigned)(i / BLOCK) * 2246822519u) >> 20 & 7) < 5 ? 15 : 9); }

extern "C" __global__ void some_blocks(const int *a, int *b) { int i = place(); b[i] = a[i] * 40503 + i * i; }
/* Of each block's threads three of four. */
extern "C" __global__ void all_blocks(const int *a, int *b) { int i = place(); b[i] = a[i] * 40503 + i * i; }
extern "C" __global__ void zeros(const double *a, double *b) { int i = place(); b[i] = a[i] + i * 0.37 * i; }
/* One block, the last, has other than zeros. */
extern "C" __global__ void but_one(const int *a, int *b) { int i = place(); b[i] = a[i] + i * i * 3; }

/* Through shared memory, in a loop with a barrier: the blocks that are not looked at must do that, too. */
extern "C" __global__ void reversed(const int *a, int *b)
{
    __shared__ int kept[BLOCK];
    for (int turn = 0; turn < 3; turn++) {
        kept[threadIdx.x] = a[place()] + turn;
        __syncthreads();
        b[place()] = kept[BLOCK - 1 - threadIdx.x] * (place() + turn);
        __syncthreads();
    }
}

template <typename K, typename... A> static void run(const char *name, dim3 grid, const int *to, K kernel, A... arguments)
{
    for (int k = 0; k < TIMES; k++)
        kernel<<<grid, BLOCK>>>(arguments...);
    print(name, to, N);
}

int main()
{
    double *to = filled<double>(N, [](int) { return -1.; });
    int    *whole = filled<int>(N, [](int) { return -1; });
    int     sevens = 0;
    for (int i = 0; i < N; i++)
        sevens += is_seven(i);
    truth("sevens %d", sevens);
    run("some", dim3(7, 10, 6), whole, some_blocks, filled<int>(N, [](int i) { return is_seven(i) ? 7 : i * 7919 + (1 << 30); }), whole);
    run("all", BLOCKS, whole, all_blocks, filled<int>(N, [](int i) { return i % 4 ? 7 : i * 7919 + (1 << 30); }), whole);
    run("zeros", dim3(42, 10), (const int *)to, zeros, filled<double>(N, [](int) { return 0.; }), to);
    run("one", BLOCKS, whole, but_one, filled<int>(N, [](int i) { return i / BLOCK == BLOCKS - 1 ? i : 0; }), whole);
    run("reversed", dim3(1, 420), whole, reversed, filled<int>(N, [](int i) { return i * 40503; }), whole);
    return 0;
}
