/* ranks.cu - one rank of a job: 10 kernels more for each rank. The rank comes from the launcher's environment. */
#include "common.h"

extern "C" __global__ void ranked(int *p) { atomicAdd(p, 1); }

int main()
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    if (!text)
        text = getenv("PMI_RANK");
    if (!text)
        text = getenv("RANK");
    int  rank = text ? atoi(text) : 0, devices = 0, host = 0;
    int *p;
    CK(cudaGetDeviceCount(&devices));
    CK(cudaSetDevice(rank % devices));
    CK(cudaMalloc(&p, 4));
    CK(cudaMemset(p, 0, 4));
    for (int i = 0; i < 10 * (rank + 1); i++)
        ranked<<<1, 1>>>(p);
    CK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
    MUST(host == 10 * (rank + 1));
    return 0;
}
