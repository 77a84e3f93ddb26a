/* threads.cu - eight threads launch 200,000 kernels into four streams, two threads to a stream. */
#include "common.h"

#include <thread>
#include <vector>

enum { THREADS = 8, STREAMS = 4, EACH = 25000 };

extern "C" __global__ void empty() {}
extern "C" __global__ void count(int *p) { atomicAdd(p, 1); }

static void work(cudaStream_t stream, int *p)
{
    for (int i = 1; i <= EACH; i++)
        if (i % 100)
            empty<<<1, 1, 0, stream>>>();
        else
            count<<<1, 1, 0, stream>>>(p);
    CK(cudaGetLastError());
}

int main()
{
    cudaStream_t             streams[STREAMS];
    std::vector<std::thread> threads;
    int                     *p, host = 0;
    CK(cudaMalloc(&p, 4));
    CK(cudaMemset(p, 0, 4));
    for (auto &s : streams)
        CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(work, streams[i % STREAMS], p);
    for (auto &t : threads)
        t.join();
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
    MUST(host == THREADS * EACH / 100);
    printf("%d\n", host);
    return 0;
}
