/* named.cu - a kernel that reads parts of the host's memory that have names: a matrix by its halves and a line, beside others in one of two segments that
 * one line allocated.
 */
#include "../../../include/sonde/sonde.h"

#include "common.h"

enum { SEGMENT = 65536,
       WEIGHTS = 4096, /* where they begin */
       ROWS = 40,
       COLUMNS = 50,
       BIAS = 16384,
       REST = 32768,
       LONG = 100 };

extern "C" __global__ void upper_half(float *sum, const float *weights)
{
    const int row = blockIdx.x, column = threadIdx.x;
    if (row < ROWS / 2)
        sum[column] += weights[row * COLUMNS + column];
}

extern "C" __global__ void line(float *sum, const float *from)
{
    sum[threadIdx.x] += from[threadIdx.x];
}

static NOINLINE char *segment()
{
    char *p;
    CK(cudaMallocHost(&p, SEGMENT)); // LINE segment
    memset(p, 0, SEGMENT);
    return p;
}

static float *at(char *segment, int offset)
{
    return (float *)(segment + offset);
}

int main()
{
    float *sum;
    char *segments[2];
    for (char *&s : segments)
        s = segment();
    char *const one = segments[0], *const other = segments[1];
    CK(cudaMalloc(&sum, SEGMENT));
    CK(cudaMemset(sum, 0, SEGMENT));
    sonde_name_memory(one + WEIGHTS, ROWS * COLUMNS * sizeof(float), "old", 0, 0, 4);
    sonde_name_memory(one + WEIGHTS, ROWS * COLUMNS * sizeof(float), "weights", ROWS, COLUMNS, 4);
    sonde_name_memory(one + BIAS, LONG * sizeof(float), "bias", 1, LONG, 4);
    for (int i = 0; i < 3; i++)
        upper_half<<<ROWS, COLUMNS>>>(sum, at(one, WEIGHTS));
    line<<<1, LONG>>>(sum, at(one, BIAS));
    line<<<1, LONG>>>(sum, at(one, REST));
    line<<<1, LONG>>>(sum, at(other, WEIGHTS));
    CK(cudaDeviceSynchronize());
    CK(cudaFree(sum));
    CK(cudaFreeHost(one));
    CK(cudaFreeHost(other));
    puts("done");
    return 0;
}
