/* peers.cu - copies between two GPUs, by the two ways of asking for them. */
#include "common.h"

#include <vector>

enum { MIB = 1 << 20 };

extern "C" __global__ void pull(int *to, const int *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[i] + 1;
}

int main()
{
    int  devices = 0, can = 0, back = 0;
    int *a, *b;
    CK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        skip("one GPU only");
    CK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (can)
        CK(cudaDeviceCanAccessPeer(&back, 1, 0));
    if (!can || !back)
        skip("the GPUs cannot reach each other's memory");
    CK(cudaSetDevice(1));
    CK(cudaMalloc(&b, 4 * MIB));
    CK(cudaDeviceEnablePeerAccess(0, 0));
    CK(cudaSetDevice(0));
    CK(cudaMalloc(&a, 4 * MIB));
    CK(cudaDeviceEnablePeerAccess(1, 0));
    CK(cudaMemset(a, 0, 4 * MIB));
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < 10; i++)
        CK(cudaMemcpyPeerAsync(b, 1, a, 0, 1 * MIB));
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < 5; i++)
        CK(cudaMemcpyPeer(a, 0, b, 1, 1 * MIB));
    for (int i = 0; i < 3; i++)
        CK(cudaMemcpy(b, a, 4 * MIB, cudaMemcpyDefault));
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < 20; i++)
        pull<<<MIB / 256, 256>>>(a, b, MIB);
    CK(cudaDeviceSynchronize());
    CK(cudaSetDevice(1));
    for (int i = 0; i < 30; i++)
        pull<<<MIB / 256, 256>>>(b, a, MIB);
    CK(cudaDeviceSynchronize());
    std::vector<int> host(MIB);
    CK(cudaMemcpy(host.data(), b, 4 * MIB, cudaMemcpyDeviceToHost));
    for (int i = 0; i < MIB; i++)
        MUST(host[i] == 2);
    puts("peers");
    return 0;
}
