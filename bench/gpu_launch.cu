/* gpu_launch.cu - kernels: gpu_launch launches N | graph NODES REPLAYS | steady SECONDS | kernels add|stencil|gather N
 *
 * Prints GPULAUNCH and nanoseconds per launch or replay, until the device has finished; `steady` the number of launches. All are
 * empty but for those of `kernels`, which go over 64 MB of numbers, the same each time.
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#define CK(call)                                                                            \
    do {                                                                                    \
        cudaError_t ck_ = (call);                                                           \
        if (ck_ != cudaSuccess) {                                                           \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(ck_));                    \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

__global__ void empty() {}

__global__ void add(const float *from, float *to, int)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] + to[i];
}

__global__ void stencil(const float *from, float *to, int side)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * side + x;
    if (x > 0 && x < side - 1 && blockIdx.y > 0 && (int)blockIdx.y < side - 1)
        to[i] = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - side] + from[i + side]);
}

__global__ void gather(const float *from, float *to, int n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned k = 0; k < (i & 15); k++)
        sum += from[(i * 2654435761u + k * 97) % (unsigned)n];
    to[i] = sum;
}

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void some(int count, cudaStream_t stream)
{
    for (int i = 0; i < count; i++)
        empty<<<1, 1, 0, stream>>>();
}

static void launches(int count)
{
    some(1000, nullptr);
    CK(cudaDeviceSynchronize());
    double begin = now_ns();
    some(count, nullptr);
    CK(cudaDeviceSynchronize());
    printf("GPULAUNCH %.1f\n", (now_ns() - begin) / count);
}

static void graph(int nodes, int replays)
{
    cudaStream_t    stream;
    cudaGraph_t     made;
    cudaGraphExec_t exec;
    CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    some(nodes, stream);
    CK(cudaStreamEndCapture(stream, &made));
    CK(cudaGraphInstantiate(&exec, made, 0));
    for (int i = 0; i < 10; i++)
        CK(cudaGraphLaunch(exec, stream));
    CK(cudaStreamSynchronize(stream));
    double begin = now_ns();
    for (int i = 0; i < replays; i++)
        CK(cudaGraphLaunch(exec, stream));
    CK(cudaStreamSynchronize(stream));
    printf("GPULAUNCH %.1f\n", (now_ns() - begin) / replays);
}

static void steady(double seconds)
{
    long   count = 0;
    double end = now_ns() + 1e9 * seconds;
    while (now_ns() < end) {
        some(1000, nullptr);
        CK(cudaDeviceSynchronize());
        count += 1000;
    }
    printf("GPULAUNCH %ld\n", count);
}

static void kernels(const char *kind, int count)
{
    const int side = 4096, n = side * side;
    float    *from, *to;
    CK(cudaMalloc(&from, n * sizeof(float)));
    CK(cudaMalloc(&to, n * sizeof(float)));
    CK(cudaMemset(from, 1, n * sizeof(float)));
    CK(cudaMemset(to, 1, n * sizeof(float)));
    double begin = 0;
    for (int i = -10; i < count; i++) { /* the first ones compile */
        if (i == 0) {
            CK(cudaDeviceSynchronize());
            begin = now_ns();
        }
        if (!strcmp(kind, "add"))
            add<<<n / 256, 256>>>(from, to, n);
        else if (!strcmp(kind, "stencil"))
            stencil<<<dim3(side / 256, side), 256>>>(from, to, side);
        else
            gather<<<n / 256, 256>>>(from, to, n);
    }
    CK(cudaDeviceSynchronize());
    printf("GPULAUNCH %.1f\n", (now_ns() - begin) / count);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "launches"))
        launches(atoi(argv[2]));
    else if (argc == 4 && !strcmp(argv[1], "graph"))
        graph(atoi(argv[2]), atoi(argv[3]));
    else if (argc == 3 && !strcmp(argv[1], "steady"))
        steady(atof(argv[2]));
    else if (argc == 4 && !strcmp(argv[1], "kernels"))
        kernels(argv[2], atoi(argv[3]));
    else
        return 2;
    return 0;
}
