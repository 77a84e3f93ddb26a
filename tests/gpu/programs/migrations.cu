// migrations.cu - managed memory goes to whoever touches it, and by a prefetch; what stays where it was first touched goes nowhere.
//
// With a number: so many rounds of host and device in turn, timed.
#include "common.h"

#include <chrono>
#include <cstdlib>

enum { MIB = 1 << 20, WORDS = 16 * MIB };

extern "C" __global__ void add(unsigned *a, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        a[i] += 1;
}

static unsigned *managed(size_t bytes)
{
    unsigned *a;
    CK(cudaMallocManaged(&a, bytes)); // LINE managed
    return a;
}

static void on(int device, unsigned *a, int n)
{
    CK(cudaSetDevice(device));
    add<<<264, 256>>>(a, n);
    CK(cudaDeviceSynchronize());
}

static void expect(const unsigned *a, int n, unsigned value)
{
    unsigned wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += a[i] != value;
    MUST(wrong == 0);
}

static void prefetch(unsigned *a, size_t bytes, int device)
{
#if CUDART_VERSION >= 13000
    cudaMemLocation where = {cudaMemLocationTypeDevice, device};
    CK(cudaMemPrefetchAsync(a, bytes, where, 0, 0));
#else
    CK(cudaMemPrefetchAsync(a, bytes, device, 0));
#endif
    CK(cudaDeviceSynchronize());
}

static void time_rounds(unsigned *a, int rounds)
{
    double best = 1e9;
    for (int i = 0; i < rounds; i++) {
        const auto begin = std::chrono::steady_clock::now();
        for (int k = 0; k < WORDS; k += 1024)
            a[k] += 1;
        on(0, a, WORDS);
        const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        best = s < best ? s : best;
    }
    fprintf(stderr, "%.6f s\n", best);
}

int main(int argc, char **argv)
{
    int devices = 0;
    CK(cudaGetDeviceCount(&devices));
    unsigned *moved = managed(WORDS * 4ul), *left = managed(MIB * 16ul);
    for (int i = 0; i < WORDS; i++)
        moved[i] = 1;
    if (argc > 1) {
        time_rounds(moved, atoi(argv[1]));
        return 0;
    }
    if (devices < 2)
        skip("one GPU only");
    on(0, moved, WORDS);
    expect(moved, WORDS, 2);
    CK(cudaSetDevice(0));
    prefetch(moved, WORDS * 4ul, 0);
    on(1, moved, WORDS);
    on(1, left, MIB * 4);
    expect(moved, WORDS, 3);
    CK(cudaFree(left));
    CK(cudaFree(moved));
    puts("migrations");
    return 0;
}
