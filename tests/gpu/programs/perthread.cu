/* perthread.cu - eight threads, each with the default stream of its own (--default-stream per-thread). */
#include "common.h"

#include <thread>
#include <vector>

enum { THREADS = 8, EACH = 100 };

extern "C" __global__ void own(int *p) { atomicAdd(p, 1); }

static void work(int *p)
{
    CK(cudaMemsetAsync(p, 0, 4));
    for (int i = 0; i < EACH; i++)
        own<<<1, 32>>>(p);
    CK(cudaStreamSynchronize(0));
}

int main()
{
    int                     *p;
    std::vector<std::thread> threads;
    int                      host[THREADS * 64];
    CK(cudaMalloc(&p, sizeof host));
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(work, p + 64 * i);
    for (auto &t : threads)
        t.join();
    CK(cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < THREADS; i++)
        MUST(host[64 * i] == EACH * 32);
    puts("own streams");
    return 0;
}
