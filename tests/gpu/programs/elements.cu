/* elements.cu - kernels that access some elements of arrays of another GPU, and of the host: the left half of a matrix again and again, each third of
 * wide elements through a table of pointers, counters atomically, single bytes of an array that is too long for a cell each, the middle of pinned memory.
 */
#include "common.h"

enum { ROWS = 128,
       COLUMNS = 256,
       TIMES = 40,
       WIDE = 4096,
       BINS = 7,
       LONG = 4 << 20,
       STRIDE = 48,
       HOST = 1000,
       EDGE = 10 };

extern "C" __global__ void left_half(float *sum, const float *matrix)
{
    const int row = blockIdx.x, column = threadIdx.x;
    if (column < COLUMNS / 2)
        sum[row * COLUMNS + column] += matrix[row * COLUMNS + column];
}

extern "C" __global__ void each_third(uint4 *const *where)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 3 == 0)
        where[1][i] = make_uint4(i, i, i, i);
}

extern "C" __global__ void count(unsigned *bins)
{
    atomicAdd(&bins[threadIdx.x % BINS], 1);
}

extern "C" __global__ void bytes(unsigned char *to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i * STRIDE] = (unsigned char)i;
}

extern "C" __global__ void middle(double *sum, const double *host)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= EDGE && i < HOST - EDGE)
        sum[i] += host[i];
}

template <typename T> static NOINLINE T *zeros(T *p, size_t n)
{
    CK(cudaMemset(p, 0, n * sizeof *p));
    return p;
}

int main()
{
    int devices = 0, can = 0;
    CK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        skip("one GPU only");
    CK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can)
        skip("the GPUs cannot reach each other's memory");
    float *matrix, *sum;
    uint4 *wide, **table;
    unsigned *bins;
    unsigned char *large;
    double *host, *means;
    CK(cudaSetDevice(1));
    CK(cudaMalloc(&matrix, ROWS * COLUMNS * sizeof *matrix)); // LINE matrix
    CK(cudaMalloc(&wide, WIDE * sizeof *wide));               // LINE wide
    CK(cudaMalloc(&bins, 64 * sizeof *bins));                 // LINE bins
    CK(cudaMalloc(&large, LONG));                             // LINE large
    zeros(matrix, ROWS * COLUMNS), zeros(wide, WIDE), zeros(bins, 64), zeros(large, LONG);
    CK(cudaDeviceSynchronize());
    CK(cudaSetDevice(0));
    CK(cudaDeviceEnablePeerAccess(1, 0));
    CK(cudaMallocHost(&host, HOST * sizeof *host)); // LINE host
    CK(cudaMalloc(&sum, ROWS * COLUMNS * sizeof *sum));
    CK(cudaMalloc(&means, HOST * sizeof *means));
    CK(cudaMalloc(&table, 2 * sizeof *table));
    for (int i = 0; i < HOST; i++)
        host[i] = i;
    zeros(sum, ROWS * COLUMNS), zeros(means, HOST);
    uint4 *both[] = {nullptr, wide};
    CK(cudaMemcpy(table, both, sizeof both, cudaMemcpyHostToDevice));
    for (int i = 0; i < TIMES; i++)
        left_half<<<ROWS, COLUMNS>>>(sum, matrix);
    each_third<<<WIDE / 256, 256>>>(table);
    count<<<1, 64 * BINS>>>(bins);
    bytes<<<(LONG / STRIDE + 255) / 256, 256>>>(large, LONG / STRIDE);
    for (int i = 0; i < 3; i++)
        middle<<<4, 256>>>(means, host);
    CK(cudaDeviceSynchronize());
    unsigned counted[BINS];
    CK(cudaMemcpy(counted, bins, sizeof counted, cudaMemcpyDeviceToHost));
    for (unsigned n : counted)
        printf("%u ", n);
    puts("done");
    return 0;
}
