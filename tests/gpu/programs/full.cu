/* full.cu - kernels while the device's memory is all but full: first 100 MB are left, then next to nothing. */
#include "codes.h"

#include <vector>

enum { MB = 1 << 20, LARGE = 16 << 20 /* elements */ };

extern "C" __global__ void small_first(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = from[i] + mixed(i + salt);
}

extern "C" __global__ void large(const int *from, int *to)
{
    int i = place();
    to[i] = from[i % N] * i;
}

extern "C" __global__ void small_last(const int *from, int *to, unsigned salt)
{
    int i = place();
    to[i] = from[i] + mixed(i + salt);
}

/* All but so much, in pieces of `piece` bytes. */
static void take(size_t left, size_t piece)
{
    size_t here, all;
    void  *taken;
    CK(cudaMemGetInfo(&here, &all));
    while (here > left + piece && cudaMalloc(&taken, piece) == cudaSuccess)
        CK(cudaMemGetInfo(&here, &all));
    cudaGetLastError(); /* that there is no more */
}

int main()
{
    const int       *from = threes();
    int             *to = room<int>(N), *much = room<int>(LARGE);
    std::vector<int> host(LARGE);
    CK(cudaMemset(much, 0, LARGE * sizeof(int)));
    take((size_t)1100 * MB, (size_t)1000 * MB);
    take((size_t)100 * MB, (size_t)10 * MB);
    for (unsigned k = 1; k <= 3; k++) {
        small_first<<<N / BLOCK, BLOCK>>>(from, to, k << 16);
        verify("small_first", to, k << 16);
        large<<<LARGE / BLOCK, BLOCK>>>(from, much);
        CK(cudaMemcpy(host.data(), much, LARGE * sizeof(int), cudaMemcpyDeviceToHost));
        for (int i = 0; i < LARGE; i++)
            MUST(host[i] == THREE * i);
    }
    take(0, 2 * MB);
    take(0, 64 << 10);
    for (unsigned k = 4; k <= 6; k++) {
        small_last<<<N / BLOCK, BLOCK>>>(from, to, k << 16);
        verify("small_last", to, k << 16);
    }
    return 0;
}
