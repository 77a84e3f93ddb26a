/* gpu_launch.cu - empty kernels: gpu_launch launches N | graph NODES REPLAYS | steady SECONDS
 *
 * Prints GPULAUNCH and nanoseconds per launch or replay, until the device has finished; `steady` the number of launches.
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

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "launches"))
        launches(atoi(argv[2]));
    else if (argc == 4 && !strcmp(argv[1], "graph"))
        graph(atoi(argv[2]), atoi(argv[3]));
    else if (argc == 3 && !strcmp(argv[1], "steady"))
        steady(atof(argv[2]));
    else
        return 2;
    return 0;
}
