/* manystreams.cu - a thousand streams. */
#include "common.h"

#include <vector>

enum { STREAMS = 1000, EACH = 3 };

extern "C" __global__ void one(int *p) { atomicAdd(p, 1); }

int main()
{
    std::vector<cudaStream_t> streams(STREAMS);
    std::vector<int>          host(STREAMS);
    int                      *p;
    CK(cudaMalloc(&p, STREAMS * 4));
    for (auto &s : streams)
        CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int i = 0; i < STREAMS; i++)
        CK(cudaMemsetAsync(p + i, 0, 4, streams[i]));
    for (int k = 0; k < EACH; k++)
        for (int i = 0; i < STREAMS; i++)
            one<<<1, 1, 0, streams[i]>>>(p + i);
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(host.data(), p, STREAMS * 4, cudaMemcpyDeviceToHost));
    for (int v : host)
        MUST(v == EACH);
    for (auto &s : streams)
        CK(cudaStreamDestroy(s));
    puts("streams");
    return 0;
}
