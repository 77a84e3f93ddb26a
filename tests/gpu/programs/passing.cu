/* passing.cu - objects that come and go, each for one launch: from one place of cudaMalloc, and from one of a pool. */
#include "common.h"

enum { TIMES = 5000, N = 256 };

extern "C" __global__ void store_seven(int *to)
{
    to[threadIdx.x] = 7; // LINE seven
}

static void check(const int *of)
{
    static int seen[N];
    CK(cudaMemcpy(seen, of, sizeof seen, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        MUST(seen[i] == 7);
}

NOINLINE static void freed()
{
    for (int k = 0; k < TIMES; k++) {
        int *p;
        CK(cudaMalloc(&p, N * sizeof *p));
        store_seven<<<1, N>>>(p);
        if (k == TIMES - 1)
            check(p);
        CK(cudaFree(p));
    }
}

/* Nobody waits: kernels run when their object has been freed, as far as the host is concerned. */
NOINLINE static void pooled()
{
    cudaStream_t s;
    CK(cudaStreamCreate(&s));
    for (int k = 0; k < TIMES; k++) {
        int *p;
        CK(cudaMallocAsync((void **)&p, N * sizeof *p, s));
        store_seven<<<1, N, 0, s>>>(p);
        CK(cudaFreeAsync(p, s));
    }
    CK(cudaStreamSynchronize(s));
}

int main()
{
    freed();
    pooled();
    CK(cudaGetLastError());
    printf("passing: %d objects of %d numbers\n", 2 * TIMES, N);
    return 0;
}
