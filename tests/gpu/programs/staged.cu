/* staged.cu - copies between two GPUs that were not given access to each other's memory: by way of the host, and in three ways of asking. */
#include "common.h"

#include <vector>

enum { MIB = 1 << 20,
       TIMES = 3 };

int main()
{
    int           devices = 0;
    unsigned char *a, *b;
    cudaStream_t  stream;
    CK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        skip("one GPU only");
    CK(cudaSetDevice(1));
    CK(cudaMalloc(&b, MIB));
    CK(cudaSetDevice(0));
    CK(cudaMalloc(&a, MIB));
    CK(cudaStreamCreate(&stream));
    CK(cudaMemset(a, 5, MIB));
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < TIMES; i++)
        CK(cudaMemcpyPeerAsync(b, 1, a, 0, MIB, stream));
    CK(cudaStreamSynchronize(stream));
    for (int i = 0; i < TIMES; i++)
        CK(cudaMemcpyPeer(b, 1, a, 0, MIB));
    for (int i = 0; i < TIMES; i++)
        CK(cudaMemcpy(b, a, MIB, cudaMemcpyDefault));
    CK(cudaDeviceSynchronize());
    CK(cudaSetDevice(1));
    std::vector<unsigned char> host(MIB);
    CK(cudaMemcpy(host.data(), b, MIB, cudaMemcpyDeviceToHost));
    MUST(host[0] == 5 && host[MIB - 1] == 5);
    puts("staged");
    return 0;
}
