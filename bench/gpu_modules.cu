/* gpu_modules.cu - 64 kernels of one module, each launched once. Prints GPULAUNCH and nanoseconds from the first launch to the end of the last. */
#include <cuda_runtime.h>

#include <cstdio>
#include <ctime>
#include <utility>

template <int N> __global__ void step(const float *from, float *to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = N;
    for (int k = 0; k < N % 7 + 3; k++)
        sum += from[(i * (2 * N + 1) + k * 97) % n] * (k + N);
    to[i] = sum + sqrtf(from[i]);
}

template <int... N> static void all(const float *from, float *to, std::integer_sequence<int, N...>)
{
    (step<N><<<4, 256>>>(from, to, 1024), ...);
}

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main()
{
    float *from = nullptr, *to = nullptr;
    if (cudaMalloc(&from, 4096) || cudaMalloc(&to, 4096) || cudaMemset(from, 0, 4096) || cudaDeviceSynchronize())
        return 1;
    const double begin = now_ns();
    all(from, to, std::make_integer_sequence<int, 64>());
    if (cudaDeviceSynchronize())
        return 1;
    printf("GPULAUNCH %.0f\n", now_ns() - begin);
    return 0;
}
