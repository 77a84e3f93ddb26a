/* series.cu - a device whose counters over time are known: a vector add again and again, of which each warp executes as many instructions as
 * the last and each launch moves the bytes of its arrays; pauses between; two kernels at once; and copies over the bus.
 *
 * `series TURNS [time]`: launches of the vector add (default 4000), and with `time` how long they took (bench/gpu_series.py). */
#include "common.h"

#include <unistd.h>

enum { N = 1 << 24, BLOCKS = 32, THREADS = 128, LOOPS = 2000000 };

__global__ void vadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

template <int KIND> __device__ static void work(float *out, int loops)
{
    float x = threadIdx.x;
    for (int i = 0; i < loops; i++)
        x = x * 0.999f + KIND;
    if (x == 12345)
        *out = x;
}
__global__ void left(float *out, int loops) { work<1>(out, loops); }
__global__ void right(float *out, int loops) { work<2>(out, loops); }

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

int main(int argc, char **argv)
{
    const int turns = argc > 1 ? atoi(argv[1]) : 4000;
    float *a, *b, *c, *host;
    CK(cudaMalloc(&a, N * 4));
    CK(cudaMalloc(&b, N * 4));
    CK(cudaMalloc(&c, N * 4));
    CK(cudaMallocHost(&host, N * 4));
    CK(cudaMemset(a, 0, N * 4));
    CK(cudaMemset(b, 0, N * 4));
    CK(cudaDeviceSynchronize());
    usleep(1500000); // until there are samples
    const double begin = now_ns();
    for (int i = 0; i < turns; i++)
        vadd<<<N / 256, 256>>>(a, b, c, N);
    CK(cudaDeviceSynchronize());
    const double took = now_ns() - begin;
    if (argc > 2)
        printf("GPULAUNCH %.0f\n", took);
    usleep(100000);

    cudaStream_t one, other;
    CK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int i = 0; i < 5; i++) { // beside each other, the one twice as long
        left<<<BLOCKS, THREADS, 0, one>>>(c, LOOPS);
        right<<<BLOCKS, THREADS, 0, other>>>(c, 2 * LOOPS);
        CK(cudaDeviceSynchronize());
    }
    usleep(100000);
    for (int i = 0; i < 10; i++) {
        CK(cudaMemcpy(a, host, N * 4, cudaMemcpyHostToDevice));
        CK(cudaMemcpy(host, c, N * 4, cudaMemcpyDeviceToHost));
    }
    truth("turns %d", turns);
    printf("%d turns\n", turns);
    return 0;
}
